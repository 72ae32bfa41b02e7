"""Junk in every place of a game that a worker reads, on a real store: it is ignored, or stops that game once, or waits.

Nothing is logged again and again, other games go on, and an operator can clear it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import structlog

from events import codec
from events.chain import digest
from events.connecting import connect
from events.embedded import Embedded
from events.envelope import encode
from events.errors import KeptDamaged
from events.inspection import FORMS, KINDS
from events.keys import GAMES, PARKED, UNRULED, game_key, list_keys
from events.store import Store, awaited
from events.verify import verify_store
from tests import toy
from tests.recording import AT, JUDGE, embedded, new_game, real_store, submit  # noqa: F401 - fixtures
from worker.session import Bell, session, sweep

GAME, OTHER = "toy-1", "toy-2"
LOUD = ("warning", "error", "critical")
JUNK: dict[str, bytes] = {
    "nothing": b"",
    "a word": b"rook",
    "no text": b"\xff\xfe",
    "a large number": b"9" * 30,
    "a number that floats": b"9007199254740993",
    "a negative one": b"-7",
    "a spelling": b"007",
    "a space": b" 1",
    "a fraction": b"1.5",
    "an object": b"{}",
    "a pit": b"[" * 100_000,
}
FUTURE = b'{"v":99,"at":"%s","cause":"command","seat":"seat-1","key":"k","seen":null,"command":{"kind":"new"}}'
WRITTEN: dict[str, Any] = {
    "v": (99, 0, -1, 1.5, "2", None, 10**6, 10**30),
    "at": ("", "yesterday", "2024-01-01T00:00:00Z", "2025-01-01T12:00:00", None),
    "cause": ("command", "oracle", None),
    "seat": ("nobody", "x" * 5000, 7),
    "key": ("", "x" * 5000, None),
    "seen": (-1, 10**30, "one"),
    "causation": ("x" * 5000, 7),
    "correlation": ("x" * 5000, 7),
    "command": (None, 7, {}, {"kind": "none"}, {"kind": "bid", "by": "red", "coins": 10**30}),
    "letter": ("x", 7),
    "inbox": ("7-0", 7),
}


def _field(name: str, value: bytes) -> Callable[[Store], Any]:
    return lambda store: store.client.hset(game_key(GAME, "game"), name, value)


def _letter(raw: bytes) -> Callable[[Store], Any]:
    def put(store: Store) -> None:
        number = store.inbox_length(GAME) + 1
        store.client.xadd(game_key(GAME, "inbox"), {"submission": raw}, id=f"{number}-0")

    return put


def _with(name: str, value: Any) -> bytes:
    said: dict[str, Any] = {"v": 2, "at": AT, "cause": "command", "seat": "seat-1", "key": "k", "seen": None}
    said |= {"causation": None, "correlation": "", "command": {"kind": "bid", "by": "red", "coins": 1}, name: value}
    return encode(said)


def _entry_of_schema(version: int) -> Callable[[Store], Any]:
    """The newest entry rewritten as whoever knows that schema would: its digest fits."""

    def put(store: Store) -> None:
        key, newest = game_key(GAME, "ledger"), store.version(GAME)
        stored = store.entry(GAME, newest)
        assert stored is not None
        public = stored.public.replace(b'{"v":2,', b'{"v":%d,' % version, 1)
        prev = codec.entry(stored).prev
        store.client.xdel(key, f"{newest}-0")
        fields = {"public": public, "sealed": codec.write_parts(stored.sealed)}
        fields["digest"] = digest(prev, public, stored.sealed)  # type: ignore[assignment]  # text beside bytes
        store.client.xtrim(key, maxlen=newest)
        rows = store.client.xrange(key)
        store.client.delete(key)
        for name, row in [*rows, (f"{newest}-0", fields)]:
            store.client.xadd(key, row, id=name)

    return put


def _as_list(what: str) -> Callable[[Store], Any]:
    def put(store: Store) -> None:
        store.client.delete(game_key(GAME, what))
        store.client.rpush(game_key(GAME, what), "junk")

    return put


def _places() -> dict[str, Callable[[Store], Any]]:
    found: dict[str, Callable[[Store], Any]] = {}
    for name in (*FORMS, "a field of no game"):
        found |= {f"game.{name} is {kind}": _field(name, value) for kind, value in JUNK.items()}
        found[f"game.{name} is missing"] = lambda store, name=name: store.client.hdel(game_key(GAME, "game"), name)  # type: ignore[misc]
    for name, values in WRITTEN.items():
        found |= {f"letter.{name} is {str(value)[:20]}": _letter(_with(name, value)) for value in values}
    for kind, value in JUNK.items():
        found[f"letter is {kind}"] = _letter(value)
        for what in ("snapshot", "lease"):
            found[f"{what} is {kind}"] = lambda store, what=what, value=value: store.client.set(  # type: ignore[misc]
                game_key(GAME, what), value
            )
        found[f"lists hold {kind}"] = lambda store, value=value: [  # type: ignore[misc]
            store.client.sadd(key, value) for name in (GAMES, UNRULED, PARKED) for key in list_keys(name)
        ]
    found["letter of the future, bare"] = _letter(b'{"v":99}')
    found["letter of the future"] = _letter(FUTURE % AT.encode())
    found["letter without its field"] = lambda store: store.client.xadd(
        game_key(GAME, "inbox"), {"x": "y"}, id=f"{store.inbox_length(GAME) + 1}-0"
    )
    found["letter in a far place"] = lambda store: store.client.xadd(
        game_key(GAME, "inbox"), {"submission": b"{}"}, id="18446744073709551615-1"
    )
    found["lease is held for a year"] = lambda store: store.client.set(game_key(GAME, "lease"), "9 me", ex=31_536_000)
    found["entry in a far place"] = lambda store: store.client.xadd(
        game_key(GAME, "ledger"), {"public": b"{}"}, id="18446744073709551615-1"
    )
    found["entry of the future"] = _entry_of_schema(99)
    found["entry of no schema"] = _entry_of_schema(0)
    for what in (*KINDS, "snapshot", "lease"):
        found[f"{what} is a list"] = _as_list(what)
    return found


PLACES = _places()
WAITS = {
    "letter of the future, bare",
    "letter of the future",
    "letter.v is 99",
    "entry of the future",
    "game.rules is a word",  # there may be a worker that knows that game
    "game.rules is a large number",
    "game.rules is a number that floats",
    "game.rules is a spelling",
    "game.rules is a fraction",
}


class Table:
    """Two games in a store, one with a letter that waits, and a worker's sweeps and sessions."""

    def __init__(self, store: Store, client: Any) -> None:
        self.store = store
        self.bell = Bell(client, lambda number: None, engine=JUDGE.engine)
        new_game(store, GAME)
        new_game(store, OTHER)
        self.work()
        submit(store, toy.Bid(by="red", coins=1), "seat-1", GAME)

    def work(self) -> list[dict[str, Any]]:
        """What a thorough look and a session log above the usual."""
        with structlog.testing.capture_logs() as told:
            sweep(self.store, self.bell, thorough=True)
            session(self.store, {"toy": JUDGE}, self.bell, linger_seconds=0)
        return [dict(one) for one in told if one["log_level"] in LOUD]

    def outcome(self) -> str:
        """What has become of the game; of several things the one that stops it."""
        if GAME in self.store.parked():
            why = self.store.reason(GAME)
            assert why is not None and why.where
            return "parked"
        if self.store.is_held(GAME):
            return "held"
        waits = self.store.waits(GAME)
        if waits is not None:
            assert GAME in self.store.waiting_for_engines()
            return "waits"
        assert self.store.unruled_tail(GAME) == 0, "what waited is ruled on"
        return "ignored"


@pytest.fixture
def table(embedded: Embedded, real_store: Store) -> Any:  # noqa: F811
    client = connect(embedded.queue_url)
    client.flushall()
    real_store.client.config_set("appendfsync", "no")  # some thousand writes
    yield Table(real_store, client)
    real_store.client.config_set("appendfsync", "always")
    client.close()


@pytest.mark.server
def test_junk_is_ignored_or_stops_one_game_once_or_waits(table: Table) -> None:
    store = table.store
    kept = {key: store.client.dump(key) for key in store.client.scan_iter()}
    outcomes: dict[str, str] = {}
    wrong: list[str] = []
    for place, put in PLACES.items():
        store.client.flushdb()
        for key, value in kept.items():
            store.client.restore(key, 0, value)
        put(store)
        submit(store, toy.Bid(by="green", coins=1), "seat-2", OTHER)
        first = table.work()
        again = table.work() + table.work()
        try:
            outcomes[place] = table.outcome()
        except (AssertionError, KeptDamaged) as error:
            wrong.append(f"{place}: no outcome, {error!r}, {first}")
            continue
        if again:
            wrong.append(f"{place}: {outcomes[place]}, but it is said again: {again[0]}")
        if store.unruled_tail(OTHER):
            wrong.append(f"{place}: the other game stands still")
        if outcomes[place] == "parked" and place != "game is a list" and not place.startswith("game.parked"):
            why = store.reason(GAME)
            if why is None or why.error != "RecordDamaged":
                wrong.append(f"{place}: parked for {why}")
        if (outcomes[place] == "waits") != (place in WAITS):
            wrong.append(f"{place}: {outcomes[place]}")
    assert not wrong, "\n".join(wrong)
    assert len(PLACES) > 250 and set(outcomes.values()) == {"ignored", "parked", "waits", "held"}


@pytest.mark.server
@pytest.mark.parametrize("raw", [b'{"v":99}', FUTURE % AT.encode()])
def test_a_letter_of_the_future_is_told_as_the_wait_for_an_engine_is(table: Table, raw: bytes) -> None:
    """What came before it is ruled on; what came behind it waits with it, and nothing of it is refused or lost."""
    _letter(raw)(table.store)
    submit(table.store, toy.Bid(by="green", coins=1), "seat-2", GAME)
    assert [one["event"] for one in table.work()] == ["game-waits-for-engine"]
    assert table.store.version(GAME) == 2 and table.store.unruled_tail(GAME) == 2
    waits = table.store.record(GAME).waits
    assert waits is not None and "schema 99" in awaited(waits.engine) and "newer" in awaited(waits.engine)
    assert not table.store.waiting_since(), "it is not late"
    assert table.store.record(GAME).parked is None
    assert sweep(table.store, table.bell) == 0, "nobody rings for it again and again"


@pytest.mark.server
@pytest.mark.parametrize(
    ("place", "cure"),
    [("game.cursor is a word", b"1"), ("game.pepper is a word", None), ("game.rules is nothing", b"toy")],
)
def test_an_operator_clears_what_was_parked(table: Table, place: str, cure: bytes | None) -> None:
    name = place.split(".")[1].split()[0]
    good = cure or table.store.client.hget(game_key(GAME, "game"), name)
    PLACES[place](table.store)
    table.work()
    if table.outcome() == "parked":
        _field(name, good)(table.store)
        assert table.store.unpark(GAME)
        table.work()
    assert table.outcome() == "ignored" and table.store.version(GAME) == 2
    _field(name, good)(table.store)
    if name == "cursor":
        _field(name, b"2")(table.store)
    assert verify_store(table.store, JUDGE, GAME).is_confirmed


@pytest.mark.server
@pytest.mark.parametrize("kind", JUNK)
def test_junk_in_the_place_of_the_fence_fences_off_whoever_held_the_game(table: Table, kind: str) -> None:
    before = table.store.acquire(GAME, 30, "before")
    assert before is not None
    _field("fence", JUNK[kind])(table.store)
    table.store.client.delete(game_key(GAME, "lease"))
    after = table.store.acquire(GAME, 30, "after")
    assert after is not None and after.token > before.token
    table.store.release(after)
    assert msgspec.json.decode(table.store.client.hget(game_key(GAME, "game"), "fence")) == after.token
