"""The forecast of an import: later entries speak against wrong ways to stand, and never against the true one."""

from __future__ import annotations

import pytest

from api.games.thrones.following.evidence import Evidence, Way, counts
from api.games.thrones.following.forecast import Forecast, carried_out
from api.games.thrones.logs import records as r
from domain.thrones.language import answers as c
from domain.thrones.language.pieces import Units
from domain.thrones.ruleset import rules_by
from domain.thrones.tables.charter import AS_PRINTED
from domain.thrones.tables.editions.composed import compose, edition_of
from tests.api.games.thrones.following.test_importer import as_the_site_tells_it
from tests.domain.thrones.strategist import game

EDITION = compose(AS_PRINTED)


def after(units: dict[str, Units], *told: r.Record) -> list[Way]:
    """The ways that Stark's units may stand after these entries, without those that something speaks against."""
    evidence = Evidence(EDITION, "stark", {})
    ways = [Way({area: counts(there) for area, there in units.items()}, frozenset({"winterfell"}), (3, 2), {0: 0}, 0)]
    entries = [r.Entry(number, 2, "MARCH", "", record) for number, record in enumerate(told, 1)]
    for place, entry in enumerate(entries):
        for event in evidence.events(entry, entries[place + 1 :]):
            ways = carried_out(ways, event)
    return [way for way in ways if not way.wrong]


def attack(house: str, defender: str, area: str, origin: str) -> r.Marched:
    return r.Marched(house, origin, "land", (), r.Attack("", house, defender, area, origin, {"knight": 1}))


def test_ships_in_the_port_of_a_lost_area_are_told_with_the_dead() -> None:
    units: dict[str, Units] = {"winterfell": {"footman": 1}, "port-of-winterfell": {"ship": 2}}
    lost = r.BattleLost("stark", "withdrew", "moat-cailin", {"ship": 2})
    (way,) = after(units, attack("greyjoy", "stark", "winterfell", "the-stony-shore"), lost)
    assert way.forces == {"moat-cailin": (1, 0, 0, 0)}
    assert not after({"winterfell": {"footman": 1}}, attack("greyjoy", "stark", "winterfell", "the-stony-shore"), lost)


def test_ships_of_the_beaten_in_a_port_may_be_taken_over() -> None:
    fight = attack("stark", "greyjoy", "pyke", "flints-finger")
    units: dict[str, Units] = {"flints-finger": {"knight": 1}, "ironmans-bay": {"ship": 1}}
    ways = after(units, fight, r.BattleLost("greyjoy", "stuck", None, {"ship": 1}))
    assert {way.forces.get("port-of-pyke") for way in ways} == {None, (0, 1, 0, 0)}


def test_knights_that_crow_killers_make_footmen_may_be_any() -> None:
    exchanged = r.WildlingsWon("stark", (r.UnitsExchanged("stark", 1, "knight", "footman"),))
    ways = after({"winterfell": {"knight": 1}, "karhold": {"knight": 1}}, exchanged)
    assert sorted(sorted(way.forces) for way in ways) == [["karhold", "winterfell"]] * 2
    assert {way.forces["karhold"] for way in ways} == {(1, 0, 0, 0), (0, 0, 0, 1)}


def test_a_raid_comes_from_next_to_its_target() -> None:
    raid = r.Raided("stark", (("bay-of-ice", "support-0"),))
    assert after({"port-of-winterfell": {"ship": 1}}, raid)
    assert not after({"white-harbor": {"footman": 1}}, raid)


def test_where_others_march_out_nobody_else_stands() -> None:
    march = r.Marched("greyjoy", "bay-of-ice", "sea", (r.Step("sunset-sea", {"ship": 1}),))
    assert after({"the-narrow-sea": {"ship": 1}}, march)
    assert not after({"bay-of-ice": {"ship": 1}}, march)


@pytest.mark.parametrize("number", [2])
def test_nothing_speaks_against_what_has_happened(number: int) -> None:
    """From the position after every muster of a game to the next of that House."""
    played = game("mixed-four", 4, number)
    edition = edition_of(played.charter)
    whole = as_the_site_tells_it(played.log()).entries
    seen = 0
    for place, (answer, state) in enumerate(played.answers):
        if not isinstance(answer, c.Muster) or not answer.steps:
            continue
        house, begun = answer.house, len(as_the_site_tells_it(played.log(place + 2)).entries)
        others = {area: force.house for area, force in state.units.items() if force.house != house}
        control = rules_by(played.charter).game(state).controlled(house)
        forecast = Forecast(edition, house, whole[begun:], others, control, state.supply[house], {})
        forecast.stages = [(forecast.stages[0][0], None)]
        assert forecast.weigh([state.forces_of(house)]) == [0]
        seen += 1
    assert seen >= 5


def test_ways_that_come_out_the_same_are_as_good_as_each_other() -> None:
    """What was mustered in one place now, and in another later, may as well have been the other way round."""
    later = (r.Entry(1, 2, "WESTEROS", "", r.Mustered("stark", {"ship": 1})),)
    forecast = Forecast(compose(AS_PRINTED), "stark", later, {}, ("winterfell",), 6, {})
    assert forecast.weigh([{"port-of-winterfell": {"ship": 1}}, {"bay-of-ice": {"ship": 1}}]) == [0, 0]
