"""Games of players who plan, as the site would tell them, and the kinds of fault that they showed in imports."""

from __future__ import annotations

import pytest

from api.games.thrones.following.answers import Pages
from api.games.thrones.following.decks import deal
from api.games.thrones.following.hypothesis import Step
from api.games.thrones.following.importer import import_log
from api.games.thrones.following.orders import Demands, demands, lay
from api.games.thrones.following.replay import Replay
from api.games.thrones.logs import records as r
from api.games.thrones.logs.reader import read
from api.games.thrones.logs.writer import write
from domain.thrones.language import answers as c
from domain.thrones.language.start import Start
from domain.thrones.language.state import Combat, State
from domain.thrones.ruleset import THRONES, rules_by
from domain.thrones.tables.charter import AS_PRINTED, Charter
from domain.thrones.tables.editions.composed import compose
from tests.api.games.thrones.following.test_importer import as_the_site_tells_it, entry
from tests.domain.thrones.strategist import game

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("number", [0])
def test_a_game_of_players_who_plan_comes_back_whole(number: int) -> None:
    report = import_log(read(write(as_the_site_tells_it(game("mixed-four", 4, number).log())))).report
    assert report.explained == report.entries > 100
    assert report.corrections == 0


def test_orders_are_found_for_every_round_of_a_game_that_was_played() -> None:
    """Given the true position; game 2 has a plain Consolidate Power order in a Castle beside a special one."""
    played = game("mixed-four", 4, 2)
    rules = rules_by(played.charter)
    whole = as_the_site_tells_it(played.log()).entries
    before = THRONES.decide(THRONES.blank(), Start(charter=played.charter, seed=f"{3:064x}")).state
    planned = set()
    for answer, state in played.answers:
        if isinstance(answer, c.AssignOrders) and before.round not in planned:
            planned.add(before.round)
            told = [one for one in whole if one.round == before.round and one.phase not in ("WESTEROS", "PLANNING")]
            wanted = demands(rules.game(before), told)
            assert not wanted.absent
            assert all(lay(rules.game(before), house, wanted) for house in played.charter.houses)
        before = state
    assert len(planned) == before.round


def asked(*told: r.Record) -> Demands:
    """What a first round of three Houses that tells this asks of its orders."""
    charter = Charter("second-edition", ("baratheon", "lannister", "stark"), chance="imposed")
    state = THRONES.decide(THRONES.blank(), Start(charter=charter, decks=deal((), compose(AS_PRINTED)).decks)).state
    return demands(rules_by(charter).game(state), [entry(n, 1, one, "MARCH") for n, one in enumerate(told, 1)])


def test_where_a_special_raid_finds_nothing_no_defense_lies() -> None:
    plain = asked(r.RaidUnusable("the-golden-sound", "raid"))
    star = asked(r.RaidUnusable("the-golden-sound", "raid-star"))
    assert plain.barred == star.barred
    assert (plain.bare, star.bare) == (frozenset(), star.barred)


def test_a_march_order_taken_along_lies_where_it_was_laid() -> None:
    """Ser Loras Tyrell brings the March order into the area that was won (2E-HCT-5): its number is told there."""
    attack = r.Attack("", "stark", "baratheon", "moat-cailin", "winterfell", {"knight": 1})
    wanted = asked(
        r.Marched("stark", "winterfell", "land", (), attack),
        r.CardChosen("stark", 3, "ser-loras-tyrell"),
        r.BattleLost("baratheon", "stuck", None, {"footman": 1}),
        r.Marched("stark", "moat-cailin", "land", (r.Step("seagard", {"knight": 1}),)),
    )
    assert wanted.carried == {"moat-cailin": "winterfell"}
    assert wanted.fixed["winterfell"] == ("march-0", "march-minus-1", "march-plus-1")
    assert wanted.absent == ()


def test_what_comes_in_a_later_battle_does_not_answer_for_this_one() -> None:
    """Two battles for one area in one round ask the same questions of the same Houses."""
    replay = Replay(compose(AS_PRINTED), Pages(()))
    later = c.Support("lannister", "moat-cailin", {})
    ahead = [Step(c.MarchOrder("lannister", "seagard"), 2), Step(later, 0)]
    assert [step.command for step in replay._soon(ahead)] == [one.command for one in ahead]
    replay.state = State(combat=Combat("moat-cailin", "the-eyrie", "stark", "lannister"))
    assert list(replay._soon(ahead)) == []
