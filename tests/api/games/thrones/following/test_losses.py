"""Units given up outside of battles: which it were, later entries of a log tell."""

from __future__ import annotations

from api.games.thrones.following import losses
from api.games.thrones.following.answers import Pages, answer
from api.games.thrones.following.decks import deal
from api.games.thrones.following.follower import Follower
from api.games.thrones.following.forecast import Forecast
from api.games.thrones.following.hypothesis import Hypothesis
from api.games.thrones.logs import records as r
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from domain.thrones.language.pieces import TRACKS
from domain.thrones.rules.choices import Words
from domain.thrones.rules.game import decision
from domain.thrones.rules.wildlings.losses import UnitsAnywhere
from domain.thrones.tables.charter import AS_PRINTED
from domain.thrones.tables.editions.composed import compose
from tests.api.games.thrones.following.test_importer import entry, planning


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


def test_a_marker_of_which_nothing_is_told_was_at_the_top_already() -> None:
    here = Hypothesis(planning())
    house = here.state.tracks["kings-court"][0]
    assert here.state.position_of(house, "iron-throne") != 1
    question = decision(c.KingBeyondRaise(house=house, choice="iron-throne"), Words(TRACKS, ()))
    pages = Pages((entry(1, 1, r.OrdersSet("stark"), "PLANNING"),))
    assert getattr(answer(pages, here, question).command, "choice", "") == "kings-court"


def test_the_highest_bidder_is_who_does_not_bid_against_the_attack_that_follows() -> None:
    told = [entry(number, 1, r.WildlingBid(house, 0)) for number, house in enumerate(("lannister", "stark"), 1)]
    lost = entry(3, 1, r.WildlingsWon("stark", (r.Nothing(),)))
    question = decision(c.WildlingTie(house="stark", choice="stark"), Words(("baratheon", "stark"), ()))
    step = answer(Pages((*told, lost)), Hypothesis(planning()), question)
    assert getattr(step.command, "choice", "") == "baratheon"
