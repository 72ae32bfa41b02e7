"""Who is right where a log and our ruling differ."""

from __future__ import annotations

import pytest

from api.games.thrones.following import driver
from api.games.thrones.following.compare import Pairing
from api.games.thrones.following.decks import deal
from api.games.thrones.following.follower import Follower
from api.games.thrones.following.hypothesis import Hypothesis, Misfit, Step
from api.games.thrones.following.judging import judge
from api.games.thrones.following.slips import Slip
from api.games.thrones.logs import records as r
from domain.thrones.language import answers as c
from domain.thrones.tables.charter import AS_PRINTED
from domain.thrones.tables.editions.composed import compose
from tests.api.games.thrones.following.test_importer import entry, planning

MUSTERED = entry(1, 1, r.SpecialMustered("stark", "winterfell", {"siege-engine-upgrade": 2}), "POWER")
LOST = entry(9, 1, r.BattleLost("stark", "stuck", None, {"siege-engine": 1}), "BATTLE")


def follower(*told: r.Entry) -> Follower:
    edition = compose(AS_PRINTED)
    return Follower(r.Log("", "", told), planning().charter, edition, deal((), edition))


def judged(*wrong: tuple[r.Entry, r.Record, Misfit]) -> list[str]:
    """Who is right on entries that were read otherwise, with explained entries behind each."""
    found = follower()
    pairs = []
    for told, reading, misfit in wrong:
        found.slips[told.number] = Slip(told, reading, misfit)
        pairs.append(Pairing(told, reading, False))
        pairs += [Pairing(entry(told.number + n, 1, r.OrdersSet("tyrell")), None, True) for n in range(1, 8)]
    return [one.right for one in judge(pairs, found, compose(AS_PRINTED), planning())]


def test_two_entries_of_a_house_are_not_both_wrong_where_a_battle_would_have_another_winner() -> None:
    """The misfit of a battle is the winner's; units that were placed wrongly may be those of the loser."""
    muster = (
        MUSTERED,
        r.SpecialMustered("stark", "winterfell", {"siege-engine-upgrade": 1}),
        Misfit("muster", 1, "", "stark"),
    )
    battle = (
        LOST,
        r.BattleLost("stark", "stuck", None, {"footman": 1}),
        Misfit("battle", 9, "", "lannister", foe="stark"),
    )
    assert judged(muster) == judged(battle) == ["rules"]
    assert judged(muster, battle) == ["open", "open"]


def test_a_misfit_is_looked_at_less_far_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that shows only behind its entry would come back after every look."""
    found, here = follower(MUSTERED), Hypothesis(planning())
    found.points = [driver.Point(here, 1, "stark", Step(c.Muster("stark"), 1), ())]
    monkeypatch.setattr(found, "_followed", lambda start, *_: (start, True))
    misfit = Misfit("muster", 1, "", "stark")
    assert found._looked_less_far(here, misfit) is here
    assert found._looked_less_far(here, misfit) is None
