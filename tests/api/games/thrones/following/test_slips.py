"""One thing wrong in a log: read otherwise, judged by what follows, and followed to the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from api.games.thrones.following.assumptions import counted
from api.games.thrones.following.importer import Imported, import_log
from api.games.thrones.following.judging import NOTHING_HIDDEN, RULES_ABOUT
from api.games.thrones.following.slips import MOST_READINGS, readings
from api.games.thrones.logs import records as r
from api.games.thrones.logs.reader import read
from api.games.thrones.logs.writer import write
from domain.thrones.tables.editions.composed import compose
from domain.thrones.tables.variations import PRESETS
from tests.api.games.thrones.following.test_importer import SMALL, bots, imported

pytestmark = pytest.mark.slow

SECOND = compose(PRESETS["second-edition"].variations)
HOUSES = ("baratheon", "lannister", "stark")


def in_builtins(record: r.Record) -> list[tuple[Any, ...]]:
    def leaves(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        if isinstance(node, dict):
            return [leaf for key, value in node.items() for leaf in leaves(value, (*path, key))]
        if isinstance(node, list | tuple):
            return [leaf for place, value in enumerate(node) for leaf in leaves(value, (*path, place))]
        return [(*path, node)]

    return leaves(msgspec.to_builtins(record))


@pytest.mark.parametrize(
    "record",
    [
        r.Marched("stark", "winterfell", "land", (r.Step("karhold", {"footman": 1, "knight": 1}),)),
        r.BattleLost("stark", "withdrew", "winterfell", {"ship": 2}),
        r.PowerConsolidated({"stark": 2, "lannister": 1}),
        r.CardChosen("stark", 4, "eddard-stark"),
        r.Bid("stark", "iron-throne", 3),
    ],
)
def test_a_reading_changes_one_thing(record: r.Record) -> None:
    found = readings(record, SECOND, HOUSES)
    assert 0 < len(found) <= MOST_READINGS
    assert record not in found
    for reading in found:
        one, other = set(in_builtins(record)), set(in_builtins(reading))
        assert len(one - other) <= 1
        assert len(other - one) <= 1


def test_the_smallest_changes_come_first() -> None:
    powers = [one.power for one in readings(r.Bid("stark", "iron-throne", 3), SECOND, HOUSES) if one.house == "stark"]  # type: ignore[union-attr]  # a bid
    assert powers[:2] == [2, 4]


def test_a_figure_beyond_all_bounds_is_read_as_one_that_can_be() -> None:
    powers = [one.power for one in readings(r.Bid("stark", "iron-throne", 10**12), SECOND, HOUSES)]  # type: ignore[union-attr]  # a bid
    assert {*range(21)} <= {*powers}
    assert len(powers) <= MOST_READINGS


def test_an_order_of_a_track_is_read_with_two_places_changed() -> None:
    found = readings(r.TrackOrdered("fiefdoms", HOUSES), SECOND, HOUSES)
    assert r.TrackOrdered("fiefdoms", ("lannister", "baratheon", "stark")) in found


# Whole logs


def with_changed(
    kind: type[r.Record], fits: Callable[[Any], bool], change: Callable[[Any], Any]
) -> tuple[int, Imported]:
    """A small game whose log says something else in the first entry that fits: its number, and how it is imported."""
    log = bots(*SMALL)[1]
    number = next(one.number for one in log.entries if isinstance(one.record, kind) and fits(one.record))
    entries = tuple(
        msgspec.structs.replace(one, record=change(one.record)) if one.number == number else one for one in log.entries
    )
    return number, import_log(read(write(msgspec.structs.replace(log, entries=entries))))


replace = msgspec.structs.replace

CHANGES: dict[str, tuple[type[r.Record], Callable[[Any], bool], Callable[[Any], Any]]] = {
    "units of a march": (
        r.Marched,
        lambda one: one.steps and one.steps[0].units == {"footman": 1},
        lambda one: replace(one, steps=(replace(one.steps[0], units={"footman": 3}), *one.steps[1:])),
    ),
    "the House of the first march": (
        r.Marched,
        lambda one: True,
        lambda one: replace(one, house=next(house for house in HOUSES if house != one.house)),
    ),
    "the loser of a battle": (
        r.BattleLost,
        lambda one: one.how == "withdrew",
        lambda one: replace(one, house=next(house for house in HOUSES if house not in (one.house, one.winner))),
    ),
    "Power consolidated": (
        r.PowerConsolidated,
        lambda one: "stark" in one.power,
        lambda one: replace(one, power={**one.power, "stark": 9}),
    ),
    "a bid": (r.Bid, lambda one: one.power == 1, lambda one: replace(one, power=5)),
    "the order of a track": (r.TrackOrdered, lambda one: True, lambda one: replace(one, order=one.order[::-1])),
    "supply": (r.SupplyCounted, lambda one: one.supply < 5, lambda one: replace(one, supply=one.supply + 1)),
    "the winner of the game": (r.GameWon, lambda one: True, lambda one: replace(one, house="baratheon")),
}


@pytest.mark.parametrize("what", sorted(CHANGES))
def test_one_thing_wrong_is_one_disagreement_and_the_log_goes_on(what: str) -> None:
    number, found = with_changed(*CHANGES[what])
    report = found.report
    assert [(one.entry, one.right) for one in report.disagreements] == [(number, "rules")]
    assert report.is_whole
    assert report.explained == report.entries - 1
    assert report.corrections == 0
    assert report.winner == imported(*SMALL, full=True).report.winner
    [told] = report.disagreements
    assert told.rules
    assert told.ours is not None
    assert told.theirs != told.ours


def test_every_assumption_is_listed_with_its_place() -> None:
    report = imported(*SMALL, full=False).report
    assert counted(report.assumed) == report.assumptions
    assert all(one.what for one in report.assumed)
    mustered = [one for one in report.assumed if one.kind == "muster-places"]
    assert mustered
    assert all(one.entry and "muster" in one.what for one in mustered)


def test_rules_are_named_for_everything_that_can_be_judged_without_a_misfit() -> None:
    assert {*NOTHING_HIDDEN} - {*RULES_ABOUT} <= {
        r.BladeUsed,
        r.BladeDeclined,
        r.RavenLooked,
        r.RavenKept,
        r.RavenBuried,
        r.WesterosChoice,
    }


def test_what_was_taken_over_is_recorded_only_when_accepted() -> None:
    log = bots(*SMALL)[1]
    place = next(n for n, one in enumerate(log.entries) if isinstance(one.record, r.Marched) and one.record.steps)
    entry = log.entries[place]
    nowhere = replace(entry.record, steps=(replace(entry.record.steps[0], units={"siege-engine": 7}),))  # type: ignore[union-attr]  # a march
    cut = (*log.entries[:place], replace(entry, record=nowhere), *log.entries[place + 1 : place + 4])
    found = import_log(read(write(replace(log, entries=cut, ended=False))))
    if found.taken_over:
        kept, before = found.accepted(())
        assert before == found.taken_over[0]
        assert len(kept) < len(found.ruled)
        assert not any(one.takes_over for one in kept)
    assert found.accepted(found.taken_over) == (found.ruled, 0)


def test_more_supply_than_there_is_is_a_disagreement_too() -> None:
    number, found = with_changed(r.SupplyCounted, lambda one: True, lambda one: replace(one, supply=23))
    assert [(one.entry, one.right) for one in found.report.disagreements] == [(number, "rules")]
