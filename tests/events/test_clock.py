"""The time of a submission is the store's, and never goes back within a game."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from api.desk import Desk
from api.tokens import Tokens
from domain.thrones.ruleset import THRONES
from events import chain, codec
from events.envelope import Stored, encode, submission
from events.errors import RecordDamaged
from events.keys import game_key
from events.ruling import Judge
from events.store import Store
from tests import toy
from tests.recording import AT, JUDGE, SEATS, SEED, fake_store, new_game, submit
from worker.adjudicate import adjudicate

FUTURE = "2999-12-31T23:59:59.000001Z"
PAST = "1999-01-01T00:00:00.000000Z"


@pytest.fixture(params=["fake", "valkey"])
def any_store(request: pytest.FixtureRequest) -> Store:
    if request.param == "fake":
        return fake_store()
    real: Store = request.getfixturevalue("real_store")
    return real


def _bid(at: str | None = None) -> object:
    return submission(toy.Bid(by="red", coins=1), seat="seat-1", at=at)


@pytest.mark.server
def test_a_submission_has_the_time_of_the_stores_clock_to_the_microsecond(any_store: Store) -> None:
    opening = submission(toy.Begin(seats=SEATS, seed=SEED), seat=None, cause="system")
    before = any_store.now()
    made = any_store.create("toy-1", "toy", "1", opening)
    sent = any_store.submit("toy-1", submission(toy.Bid(by="red", coins=1), seat="seat-1"))
    after = any_store.now()
    assert before <= made.at <= sent.at <= after
    assert any_store.record("toy-1").created == made.at
    assert [one.at for one in any_store.submissions("toy-1")] == [made.at, sent.at]
    again = datetime.fromisoformat(sent.at).isoformat(timespec="microseconds").replace("+00:00", "Z")
    assert again == sent.at, "it has the one spelling"
    assert sent.digest == hashlib.sha256(next(any_store.raw_submissions("toy-1", 1))[1]).hexdigest()


@pytest.mark.server
def test_no_submission_is_earlier_than_the_one_before_it(any_store: Store) -> None:
    opening = submission(toy.Begin(seats=SEATS, seed=SEED), seat=None, cause="system", at=AT)
    any_store.create("toy-1", "toy", "1", opening)
    stated = [None, PAST, FUTURE, None, AT, "2999-12-31T23:59:59Z", "2999-12-31T23:59:59.5Z"]
    for at in stated:
        any_store.submit("toy-1", submission(toy.Bid(by="red", coins=1), seat="seat-1", at=at))
    times = [datetime.fromisoformat(one.at) for one in any_store.submissions("toy-1")]
    assert times == sorted(times)
    assert times[0] == datetime.fromisoformat(AT)
    assert times[3:7] == [datetime.fromisoformat(FUTURE)] * 4
    assert (
        any_store.submit("toy-1", submission(toy.Bid(by="red", coins=2), seat="seat-1")).at == "2999-12-31T23:59:59.5Z"
    )


def test_what_lies_in_an_inbox_and_cannot_be_read_has_no_time() -> None:
    store = fake_store()
    new_game(store)
    for junk in (b"", b"{", b'{"v":1,"at":"soon"}'):
        store.client.xadd(game_key("toy-1", "inbox"), {"submission": junk}, id=f"{store.inbox_length('toy-1') + 1}-0")
        sent = store.submit("toy-1", submission(toy.Bid(by="red", coins=1), seat="seat-1"))
        assert sent.at.startswith("2") and sent.at != FUTURE
        assert datetime.fromisoformat(sent.at)


@pytest.mark.server
def test_every_day_is_spelt_as_the_calendar_has_it(real_store: Store) -> None:
    """The date is reckoned in the script; here it is held against the library for every day of 400 years."""
    from events.scripts import _CLOCK

    days = 365 * 400 + 97
    script = (
        _CLOCK
        + "local found = {} for i = 0, ARGV[1] - 1 do found[i + 1] = stamp(i * 86400 + i % 86400, i) end return found"
    )
    found = real_store.client.eval(script, 0, days)
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    for day in range(days):
        moment = epoch + timedelta(days=day, seconds=day % 86400, microseconds=day)
        assert found[day].decode() == moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def test_hosts_with_different_clocks_agree() -> None:
    store = fake_store()
    made = [Desk(store, Tokens(store), None, Judge(THRONES)).clock() for _ in range(3)]
    assert made == sorted(made)


def test_a_record_whose_times_go_back_shows_nothing_that_came_later() -> None:
    store = fake_store()
    new_game(store)
    opening = next(store.raw_submissions("toy-1"))[1]
    store.client.delete(game_key("toy-1", "inbox"))
    store.client.xadd(game_key("toy-1", "inbox"), {"submission": opening.replace(b'{"v":2,', b'{"v":1,')}, id="1-0")
    times = ["2025-01-01T13:00:00Z", "2025-01-01T12:30:00Z", "2025-01-01T14:00:00Z"]
    for number, at in enumerate(times, 2):  # as an older version would have stored them
        raw = codec.write_submission(submission(toy.Bid(by="red", coins=9), seat="seat-1", at=at, key=f"k{number}"))
        older = raw.replace(b'{"v":2,', b'{"v":1,')
        store.client.xadd(game_key("toy-1", "inbox"), {"submission": older}, id=f"{number}-0")
    adjudicate(store, JUDGE, "toy-1")
    assert [codec.entry(one).at for one in store.entries("toy-1")] == [AT, *times]
    desk = Desk(store, Tokens(store), None, Judge(THRONES))
    asked = {"2025-01-01T11:00:00Z": 0, "2025-01-01T12:45:00Z": 1, "2025-01-01T13:00:00Z": 3, "2025-01-01T15:00:00Z": 4}
    assert {at: desk.version_of("toy-1", at) for at in asked} == asked


def test_a_time_that_goes_back_is_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    store = fake_store()
    new_game(store)
    submit(store, toy.Bid(by="red", coins=1), "seat-1")
    adjudicate(store, JUDGE, "toy-1")
    first, second = store.entries("toy-1")
    forged = msgspec.structs.replace(codec.entry(second), at="2025-01-01T11:59:59.999999Z")
    public = encode(forged)
    back = Stored(public, second.sealed, chain.digest(forged.prev, public, second.sealed))
    monkeypatch.setattr(chain, "IN_ORDER_SINCE", 1)
    assert chain.check([first, second]) is None
    found = chain.check([first, back])
    assert isinstance(found, RecordDamaged) and (found.seq, "before the entry before it" in found.why) == (2, True)
    unreadable = msgspec.structs.replace(forged, at="soon")
    public = encode(unreadable)
    assert (
        chain.check([first, Stored(public, second.sealed, chain.digest(forged.prev, public, second.sealed))])
        is not None
    )
