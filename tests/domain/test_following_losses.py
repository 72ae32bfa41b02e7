"""Units given up, and where others stood: what later entries of a log tell of it."""

from __future__ import annotations

from domain.thrones import commands as c
from domain.thrones import facts as f
from domain.thrones.charter import AS_PRINTED
from domain.thrones.editions.composed import compose
from domain.thrones.game import decision
from domain.thrones.interchange.following import losses
from domain.thrones.interchange.following.answers import Pages
from domain.thrones.interchange.following.decks import deal
from domain.thrones.interchange.following.follower import Follower
from domain.thrones.interchange.following.forecast import Forecast
from domain.thrones.interchange.following.hypothesis import Hypothesis
from domain.thrones.interchange.logs import records as r
from domain.thrones.options import UnitsAnywhere
from domain.thrones.pieces import Units
from tests.domain.test_following import entry, planning


def test_units_given_up_are_of_the_told_types_and_not_those_that_march_later() -> None:
    here = Hypothesis(planning())
    forces = here.state.forces_of("stark")
    assert forces["winterfell"]["footman"] == forces["white-harbor"]["footman"] == 1
    told = entry(1, 1, r.WildlingsWon("lannister", (r.UnitsRemoved("stark", {"footman": 1}),)))
    later = entry(2, 1, r.Marched("stark", "white-harbor", "land", (r.Step("widows-watch", {"footman": 1}),)), "MARCH")
    question = decision(c.DestroyUnits(house="stark", units={}), UnitsAnywhere(forces, 1, 1))
    number, ways = losses.choices(Pages((told, later)), here, question)
    assert number == 1
    assert [one.units for one in ways] == [{"white-harbor": {"footman": 1}}, {"winterfell": {"footman": 1}}]
    forecast = Forecast(compose(AS_PRINTED), "stark", (later,), {}, (), 1, {})
    white_harbor, winterfell = forecast.weigh([losses.after(forces, one) for one in ways])
    assert winterfell < white_harbor


def test_who_is_told_to_give_up_units_has_armies_beyond_his_supply() -> None:
    state = planning()
    for removed, kind in (({}, None), ({"footman": 1}, "armies")):
        told = r.Log("", "", (entry(1, 1, r.SupplyCounted("stark", 1, removed)),))
        edition = compose(AS_PRINTED)
        follower = Follower(told, state.charter, edition, deal((), edition))
        misfit = follower._armies(Hypothesis(state), [f.SupplyCounted(house="stark", icons={"winterfell": 1})])
        assert (misfit and misfit.kind) == kind


def weighed(starts: list[dict[str, Units]], *later: r.AnyRecord, house: str = "stark") -> list[int]:
    entries = [entry(number, 2, record, "MARCH") for number, record in enumerate(later, 1)]
    return Forecast(compose(AS_PRINTED), house, entries, {}, ("winterfell",), 6, {}).weigh(starts)


def test_where_others_come_from_there_are_no_units_of_ours() -> None:
    raided = r.Marched("greyjoy", "bay-of-ice", "sea", (r.Step("sunset-sea", {"ship": 1}),))
    in_bay, in_port = weighed([{"bay-of-ice": {"ship": 1}}, {"port-of-winterfell": {"ship": 1}}], raided)
    assert in_port < in_bay


def test_where_others_have_come_a_raid_order_may_be_theirs() -> None:
    came = r.Marched("greyjoy", "bay-of-ice", "sea", (r.Step("sunset-sea", {"ship": 1}),))
    assert weighed([{"winterfell": {"footman": 1}}], came, r.RaidUnusable("sunset-sea")) == [0]
    assert weighed([{"winterfell": {"footman": 1}}], r.RaidUnusable("sunset-sea")) == [1]


def test_ships_in_the_port_of_a_lost_area_are_among_the_dead() -> None:
    attack = r.Attack("", "greyjoy", "stark", "winterfell", "the-stony-shore", {"knight": 1})
    fight = r.Marched("greyjoy", "the-stony-shore", "land", (), attack)
    lost = r.BattleLost("stark", "stuck", None, {"footman": 1, "ship": 1})
    in_port, at_sea = weighed(
        [{"winterfell": {"footman": 1}, port: {"ship": 1}} for port in ("port-of-winterfell", "bay-of-ice")],
        fight,
        lost,
    )
    assert (in_port, at_sea) == (0, 1)


def test_units_given_up_later_may_have_stood_anywhere() -> None:
    starts: list[dict[str, Units]] = [{"winterfell": {"footman": 1}, "karhold": {"footman": 1, "knight": 1}}]
    gone = r.WildlingsWon("stark", (r.UnitsRemoved("stark", {"footman": 1}),))
    for area in ("winterfell", "karhold"):
        assert weighed(starts, gone, r.Marched("stark", area, "land", (r.Step("castle-black", {"footman": 1}),))) == [0]
    nobody = r.Marched("stark", "karhold", "land", (r.Step("castle-black", {"footman": 2}),))
    assert weighed(starts, gone, nobody) == [1]
