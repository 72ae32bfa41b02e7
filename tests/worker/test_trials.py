"""What a worker makes of what trials come to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import fakeredis
import pytest

from events.keys import game_key
from events.ruling import Judge
from events.store import Store
from tests import toy
from tests.recording import JUDGE, new_game, submit
from worker.adjudicate import TRIALS, Spent, Warm, adjudicate
from worker.session import Bell, session
from worker.settings import Settings
from worker.trial import Death, Found, Trial


class Told(Trial):
    """A trial that comes to what it is told."""

    def __init__(self, *found: Found) -> None:
        super().__init__(Settings(store_url="", queue_url=""))
        self.found = list(found)
        self.held = 0

    def hold(self, game: str, must_stop: Callable[[], bool], hold_on: Callable[[], None]) -> Found:
        self.held += 1
        return self.found.pop(0)


def suspect(store: Store, game: str = "toy-1", times: int = 2) -> None:
    """As if so many workers had been killed at it."""
    store.client.hset(game_key(game, "game"), "unreleased", times)


def dead(*, proven: bool) -> Found:
    return Found("died", 0, Death("1-0", "begin", "ProcessEnded", "a trial", proven))


def test_no_trial_is_held_without_suspicion(store: Store) -> None:
    new_game(store)
    for times in (0, 1):
        suspect(store, times=times)
        trial = Told()
        assert adjudicate(store, JUDGE, "toy-1", trial=trial).how == "drained"
        assert trial.held == 0
        submit(store, toy.Bid(by="red", coins=1), "seat-1")


def test_what_is_harmless_is_ruled_on_in_the_usual_way_with_the_same_bytes(store: Store) -> None:
    for game in ("toy-1", "toy-2"):
        new_game(store, game)
        submit(store, toy.Bid(by="red", coins=1), "seat-1", game, key="bid")
    suspect(store)
    trial = Told(Found("undecided", 1), Found("done", 1))
    assert adjudicate(store, JUDGE, "toy-1", trial=trial).ruled == 2
    assert adjudicate(store, JUDGE, "toy-2").ruled == 2
    assert list(store.entries("toy-1")) == list(store.entries("toy-2"))
    assert store.unreleased("toy-1") == 0, "nothing is held against it any more"


@pytest.mark.parametrize(
    "found",
    [
        (Found("undecided"),) * TRIALS,
        (Found("undecided"), dead(proven=False), Found("undecided")),
        (Found("stopped"),),
    ],
)
def test_chance_parks_nobody_and_suspicion_stays(store: Store, found: tuple[Found, ...]) -> None:
    new_game(store)
    suspect(store)
    trial = Told(*found)
    assert adjudicate(store, JUDGE, "toy-1", trial=trial).how == "stopped"
    assert trial.held == len(found)
    assert store.record("toy-1").parked is None
    assert store.unreleased("toy-1") >= 2
    assert store.unruled() == ("toy-1",), "it is taken up again"


@pytest.mark.parametrize("found", [(dead(proven=True),), (dead(proven=False), Found("undecided"), dead(proven=False))])
def test_a_limit_of_ours_parks_at_once_and_any_other_death_the_second_time(
    store: Store, found: tuple[Found, ...]
) -> None:
    new_game(store)
    suspect(store)
    assert adjudicate(store, JUDGE, "toy-1", trial=Told(*found)).how == "parked"
    parked = store.record("toy-1").parked
    assert parked is not None and (parked.inbox, parked.kind, parked.error) == ("1-0", "begin", "ProcessEnded")


def _failing(monkeypatch: pytest.MonkeyPatch, error: Exception, times: int) -> Judge:
    """A judge that lacks memory or depth so many times."""
    judge = Judge(toy.RULES)
    rule = judge.rule
    left = times

    def fail(*args: Any, **named: Any) -> Any:
        nonlocal left
        left -= 1
        if left >= 0:
            raise error
        return rule(*args, **named)

    monkeypatch.setattr(judge, "rule", fail)
    return judge


@pytest.mark.parametrize("error", [MemoryError(), RecursionError()])
def test_memory_or_depth_that_runs_out_in_a_worker_is_a_reason_for_a_trial(
    store: Store, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    new_game(store)
    trial = Told(Found("done", 1))
    warm = Warm()
    warm.put("another", JUDGE.begin())
    outcome = adjudicate(store, _failing(monkeypatch, error, 1), "toy-1", trial=trial, warm=warm)
    assert (outcome.how, outcome.ruled) == ("drained", 1)
    assert warm.get("another") is None, "what else was kept is forgotten"


def test_a_worker_that_fails_at_what_a_child_survives_ends_and_only_after_some_the_game_is_parked(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_game(store)
    for _ in range(4):
        judge = _failing(monkeypatch, MemoryError(), 2)
        with pytest.raises(Spent):
            adjudicate(store, judge, "toy-1", trial=Told(*(Found("done", 1),) * 2))
        assert store.record("toy-1").parked is None
    judge = _failing(monkeypatch, MemoryError(), 2)
    assert adjudicate(store, judge, "toy-1", trial=Told(*(Found("done", 1),) * 2)).how == "parked"


def test_what_may_kill_is_taken_last(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    bell = Bell(fakeredis.FakeRedis(), lambda number: None)
    for game in ("a", "b", "c"):
        new_game(store, game)
        bell.ring(game)
    suspect(store, "a", times=1)
    order: list[str] = []
    acquire = store.acquire

    def noted(game: str, *args: Any) -> Any:
        order.append(game)
        return acquire(game, *args)

    monkeypatch.setattr(store, "acquire", noted)
    assert session(store, {"toy": JUDGE}, bell, linger_seconds=0.01).ruled == 3
    assert list(dict.fromkeys(order)) == ["b", "c", "a"]
