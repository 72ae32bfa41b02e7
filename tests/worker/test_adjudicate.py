"""Adjudication: exactly one entry per submission, whatever goes wrong around it."""

from __future__ import annotations

import io
import json
import threading
from typing import Any

import msgspec
import pytest
import structlog

from events import codec
from events.envelope import SECRETLY, Accepted, Refused, submission
from events.errors import StaleAppend
from events.keys import game_key
from events.ruling import Judge
from events.store import Store
from events.verify import verify_store
from tests import toy
from tests.recording import AT, JUDGE, SEATS, new_game, played, submit
from worker import log
from worker.adjudicate import Warm, adjudicate


def _verdicts(store: Store) -> list[str]:
    """Codes of all verdicts, the sealed ones opened."""
    found = []
    for stored in store.entries("toy-1"):
        verdict: Any = codec.entry(stored).verdict
        if isinstance(verdict, Refused) and verdict.sealed is not None:
            assert verdict.code == SECRETLY
            verdict = msgspec.json.decode(bytes(stored.sealed[verdict.sealed].body), type=Refused)
        found.append("accepted" if isinstance(verdict, Accepted) else verdict.code)
    return found


def test_a_whole_game_is_ruled_on_and_confirmed(store: Store) -> None:
    entries = played(store)
    line = store.line("toy-1", JUDGE)
    assert toy.RULES.is_over(line.state)
    assert len(entries) == store.inbox_length("toy-1") == store.cursor("toy-1")
    assert verify_store(store, JUDGE, "toy-1").is_confirmed
    assert store.unruled() == ()


def test_refusals_are_entries_and_change_nothing(store: Store) -> None:
    new_game(store)
    adjudicate(store, JUDGE, "toy-1")
    before = store.line("toy-1", JUDGE).state
    submit(store, toy.Bid(by="red", coins=99), "seat-1")
    submit(store, toy.Bid(by="red", coins=1), "seat-2")
    submit(store, toy.Keep(by="red", keep=True), "seat-1")
    submit(store, toy.PassDeadline(player="red"), "seat-1")
    submit(store, toy.Bid(by="red", coins=1), "seat-9")
    assert adjudicate(store, JUDGE, "toy-1").ruled == 5
    assert _verdicts(store)[1:] == ["too-many-coins", "not-your-seat", "not-asked", "not-your-seat", "not-your-seat"]
    assert store.line("toy-1", JUDGE).state == before


@pytest.mark.parametrize(
    "raw",
    [
        b"{}",
        b"null",
        b'"x"',
        b'{"kind":"nonsense"}',
        b'{"kind":"bid","by":1}',
        b'{"kind":"bid"}',
        b"[" * 90 + b"]" * 90,
    ],
)
def test_a_poisonous_command_is_refused_and_the_game_goes_on(store: Store, raw: bytes) -> None:
    new_game(store)
    submit(store, raw, "seat-1")
    submit(store, toy.Bid(by="red", coins=1), "seat-1")
    adjudicate(store, JUDGE, "toy-1")
    assert _verdicts(store) == ["accepted", "unreadable", "accepted"]
    assert verify_store(store, JUDGE, "toy-1").is_confirmed


def test_junk_put_into_the_inbox_by_other_hands_is_refused_too(store: Store) -> None:
    new_game(store)
    store.client.xadd(game_key("toy-1", "inbox"), {"anything": b"\xff"}, id="2-0")
    submit(store, toy.Bid(by="red", coins=1), "seat-1")
    adjudicate(store, JUDGE, "toy-1")
    assert _verdicts(store) == ["accepted", "unreadable", "accepted"]


def test_the_arbiter_and_the_clock_speak_for_anybody(store: Store) -> None:
    new_game(store)
    for cause in ("deadline", "arbiter"):
        passed = toy.PassDeadline(player="red", question=0)
        store.submit("toy-1", submission(passed, seat=None, cause=cause, at=AT))
    adjudicate(store, JUDGE, "toy-1")
    assert _verdicts(store) == ["accepted", "accepted", "not-awaited"]


def test_a_bug_parks_the_game_keeps_the_command_and_the_operator_lets_it_go_on(store: Store) -> None:
    new_game(store)
    submit(store, toy.Bid(by="red", coins=1), "seat-1")
    submit(store, toy.Crash(), "seat-1")  # the seat check comes first
    store.submit("toy-1", submission(toy.Crash(), seat=None, cause="arbiter", at=AT))
    submit(store, toy.Bid(by="green", coins=1), "seat-2")
    outcome = adjudicate(store, JUDGE, "toy-1")
    assert (outcome.how, outcome.ruled) == ("parked", 3)
    parked = store.record("toy-1").parked
    assert parked is not None
    assert (parked.inbox, parked.kind, parked.error) == ("4-0", "crash", "RuntimeError")
    assert "toy.py" in parked.where
    assert adjudicate(store, JUDGE, "toy-1").how == "parked"
    assert (store.version("toy-1"), store.unruled_tail("toy-1")) == (3, 2)

    class Mended(toy.ToyRules):
        def decide(self, state: Any, command: Any, past: Any = None, at: str = "") -> Any:
            if isinstance(command, toy.Crash):
                raise toy.Refusal("mended")
            return super().decide(state, command)

    store.unpark("toy-1")
    assert adjudicate(store, Judge(Mended()), "toy-1").how == "drained"
    assert _verdicts(store) == ["accepted", "accepted", "not-your-seat", "mended", "accepted"]


def test_a_damaged_ledger_parks_the_game(store: Store) -> None:
    new_game(store)
    adjudicate(store, JUDGE, "toy-1")
    store.drop_snapshot("toy-1")
    rows = store.client.xrange(game_key("toy-1", "ledger"))
    store.client.delete(game_key("toy-1", "ledger"))
    fields = {**rows[0][1], b"public": rows[0][1][b"public"].replace(b'"rounds":3', b'"rounds":9')}
    store.client.xadd(game_key("toy-1", "ledger"), fields, id="1-0")
    submit(store, toy.Bid(by="red", coins=1), "seat-1")
    assert adjudicate(store, JUDGE, "toy-1").how == "parked"
    parked = store.record("toy-1").parked
    assert parked is not None and parked.error == "RecordDamaged" and "Entry 1" in parked.where


def test_snapshots_can_be_deleted_and_come_back_identical(store: Store) -> None:
    played(store)
    submit(store, toy.Keep(by="red", keep=True), "seat-1")
    adjudicate(store, JUDGE, "toy-1")
    first = store.client.get(game_key("toy-1", "snapshot"))
    assert first
    assert store.drop_snapshot("toy-1")
    line = store.line("toy-1", JUDGE)
    store.save_snapshot("toy-1", JUDGE, line)
    assert store.client.get(game_key("toy-1", "snapshot")) == first


def test_play_goes_on_the_same_from_a_snapshot_and_from_the_first_entry(store: Store) -> None:
    new_game(store)
    adjudicate(store, JUDGE, "toy-1")
    other = Store(type(store.client)())
    new_game(other, rounds=3)
    adjudicate(other, JUDGE, "toy-1")
    for coins, player, seat in ((1, "red", "seat-1"), (2, "green", "seat-2"), (0, "blue", "seat-3")):
        for one in (store, other):
            submit(one, toy.Bid(by=player, coins=coins), seat, key=f"{player}")
        other.drop_snapshot("toy-1")
        for one in (store, other):
            adjudicate(one, JUDGE, "toy-1")
    assert list(store.entries("toy-1")) == list(other.entries("toy-1"))


def test_a_stale_append_is_tried_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    new_game(store)
    append = store.append
    stale = []

    def once_stale(*args: Any) -> int:
        if not stale:
            stale.append(1)
            raise StaleAppend("toy-1", 0, 1)
        return append(*args)

    monkeypatch.setattr(store, "append", once_stale)
    assert adjudicate(store, JUDGE, "toy-1").ruled == 1
    assert stale


def test_a_warm_state_that_is_behind_catches_up(store: Store) -> None:
    warm = Warm()
    new_game(store)
    adjudicate(store, JUDGE, "toy-1", warm=warm)
    submit(store, toy.Bid(by="red", coins=1), "seat-1")
    adjudicate(store, JUDGE, "toy-1")  # somebody else
    submit(store, toy.Bid(by="green", coins=1), "seat-2")
    adjudicate(store, JUDGE, "toy-1", warm=warm)
    assert verify_store(store, JUDGE, "toy-1").entries == 3


def test_a_lost_lease_ends_the_work_without_harm(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    new_game(store)
    rule = JUDGE.rule

    def slow(*args: Any, **named: Any) -> Any:
        store.client.delete(game_key("toy-1", "lease"))  # the lease runs out while the rules think
        assert store.acquire("toy-1", 60) is not None
        return rule(*args, **named)

    slow_judge = Judge(toy.RULES)
    monkeypatch.setattr(slow_judge, "rule", slow)
    assert adjudicate(store, slow_judge, "toy-1").how == "stopped"
    assert store.version("toy-1") == 0
    assert store.unruled() == ("toy-1",)


def test_after_two_leases_without_release_what_comes_before_the_killer_is_kept(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_game(store)
    submit(store, toy.Bid(by="red", coins=1), "seat-1")
    store.submit("toy-1", submission(toy.Crash(), seat=None, cause="arbiter", at=AT))
    judge = Judge(toy.RULES)
    rule = judge.rule

    class Killed(BaseException):
        """The end of a process: nothing is appended, nothing released."""

    def fatal(line: Any, sent: Any, *args: Any, **named: Any) -> Any:
        if sent.cause == "arbiter":
            raise Killed
        return rule(line, sent, *args, **named)

    monkeypatch.setattr(judge, "rule", fatal)
    monkeypatch.setattr(store, "release", lambda lease, **_: None)
    versions = []
    for _ in range(3):
        with pytest.raises(Killed):
            adjudicate(store, judge, "toy-1")
        store.client.delete(game_key("toy-1", "lease"))  # it runs out
        versions.append(store.version("toy-1"))
    assert versions == [0, 0, 2], "together twice, then one by one"
    assert store.unruled_tail("toy-1") == 1
    assert store.record("toy-1").parked is None


@pytest.mark.server
def test_adjudicators_at_once_rule_on_everything_once(real_store: Store) -> None:
    new_game(real_store, rounds=1)
    sent = 60
    finished = threading.Event()
    failures: list[BaseException] = []

    def keep_adjudicating() -> None:
        warm = Warm()
        try:
            while not finished.is_set() or real_store.unruled():
                adjudicate(real_store, JUDGE, "toy-1", warm=warm, batch=3)
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=keep_adjudicating) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(sent):
        submit(real_store, toy.Bid(by="red", coins=number % 3), "seat-1")
    finished.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert real_store.version("toy-1") == sent + 1
    assert [codec.entry(one).inbox for one in real_store.entries("toy-1")] == [f"{n}-0" for n in range(1, sent + 2)]
    assert verify_store(real_store, JUDGE, "toy-1").is_confirmed


CANARY = 777_000_777_000_777
"""A secret number that no time of day and no port contains."""


def test_every_line_of_the_log_names_its_game_and_none_a_secret(store: Store) -> None:
    sink = io.StringIO()
    log.configure(stream=sink)
    try:
        new_game(store)
        store.submit("toy-1", submission(toy.Bid(by="red", coins=CANARY), seat="seat-1", at=AT, correlation="c-1"))
        store.submit("toy-1", submission(b'{"kind":"bid","by":"red","coins":"s3cret"}', seat="seat-1", at=AT))
        store.submit("toy-1", submission(toy.Crash(), seat=None, cause="arbiter", at=AT))
        adjudicate(store, JUDGE, "toy-1")
    finally:
        structlog.reset_defaults()
    lines = [json.loads(line) for line in sink.getvalue().splitlines()]
    assert [line["event"] for line in lines] == ["ruled", "ruled", "ruled", "game-parked"]
    assert all(line["game"] == "toy-1" for line in lines)
    assert (lines[1]["seat"], lines[1]["entry"], lines[1]["correlation"], lines[1]["kind"]) == (
        "seat-1",
        2,
        "c-1",
        SECRETLY,
    )
    assert not any(secret in sink.getvalue() for secret in (str(CANARY), "s3cret", SEATS and "5e5e"))
