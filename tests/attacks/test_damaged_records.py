"""Damage of everything that is stored, met by everything that reads: it is told as ours, once, and play stops there."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from functools import cache
from typing import Any

import fakeredis
import msgspec
import pytest

from api.app import GROUPS, create_app
from api.desk import Desk
from api.openapi import operations
from api.routes import arbiter
from api.tokens import ORGANISER, Tokens
from domain.thrones.ruleset import THRONES
from events import codec
from events.chain import digest
from events.envelope import encode
from events.errors import KeptDamaged, RecordDamaged
from events.export import export_game, import_game
from events.keys import game_key
from events.ruling import Judge
from events.store import Snapshot, Store
from events.verify import verify_store
from tests.api.asgi import Answer, Client
from tests.api.serving import OPERATOR, SIGNER
from worker.adjudicate import adjudicate

GAME = "winter"
JUDGE = Judge(THRONES)
SEATS = {"alice": "stark", "bob": "lannister", "carol": "baratheon"}
HURT = 3
"""The entry that is damaged; the game has more."""

STANDING = ("/v1/games/{game}/events", "/readyz", "/healthz", "/v1/shared/{shared_id}")
"""Routes that wait, or read no game."""

READ_ALL = tuple(f"/v1/games/{GAME}/{what}" for what in ("log", "export", "bundle", "view", "board"))
"""Routes that need every entry of a game, when nothing is kept of it."""


def _played() -> tuple[bytes, ...]:
    desk = Desk(Store(fakeredis.FakeRedis()), Tokens(Store(fakeredis.FakeRedis())), None, JUDGE)
    desk.create(edition="second-edition", players=3, seats=SEATS, game=GAME, seed="5e" * 32)
    chance = random.Random(3)
    adjudicate(desk.store, JUDGE, GAME)
    for _ in range(7):
        owed = THRONES.decisions(desk.line(GAME).state)[0]
        seat = next(name for name, house in SEATS.items() if house == owed.player)
        caller = desk.tokens.caller(GAME, desk.tokens.issue(GAME, seat))
        assert caller is not None
        desk.submit(GAME, caller, encode(owed.sample(chance.randrange)))
        adjudicate(desk.store, JUDGE, GAME)
    return tuple(export_game(desk.store, GAME))


LINES = _played()


@pytest.fixture(autouse=True)
def _nobody_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reading that is recorded first would be waited for, and here no worker ever rules on it."""
    monkeypatch.setattr(arbiter, "RULING_SECONDS", 0.0)


class Table:
    """The game in a store of its own, and a server that has read nothing of it yet."""

    def __init__(self) -> None:
        self.store = Store(fakeredis.FakeRedis())
        import_game(self.store, LINES)
        self.tokens = Tokens(self.store, OPERATOR)
        self.alice = self.tokens.issue(GAME, "alice")
        self.organiser = self.tokens.issue(GAME, ORGANISER)
        self.desk = Desk(self.store, self.tokens, None, JUDGE, signer=SIGNER)
        self.client = Client(create_app(self.desk))

    def ask(self, path: str, who: str) -> Answer:
        """As a server that has read nothing yet, of a game that nobody has parked."""
        self.desk._forget(GAME)
        return asyncio.run(self.client.get(path, OPERATOR if who == "operator" else self.alice))

    def key(self, what: str) -> str:
        return game_key(GAME, what)

    def rows(self, what: str) -> list[tuple[bytes, dict[bytes, bytes]]]:
        return [(name, dict(fields)) for name, fields in self.store.client.xrange(self.key(what))]

    def put(self, what: str, rows: list[tuple[bytes, dict[bytes, bytes]]]) -> None:
        self.store.client.delete(self.key(what))
        for name, fields in rows:
            self.store.client.xadd(self.key(what), fields, id=name)

    def hurt(self, change: Callable[[dict[bytes, bytes]], None], seq: int = HURT) -> None:
        rows = self.rows("ledger")
        change(rows[seq - 1][1])
        self.put("ledger", rows)


def _readings() -> list[tuple[str, str]]:
    """Every route that is read with GET, for the damaged entry, and a role that may read it."""
    found = []
    for (path, method), known in operations(GROUPS).items():
        if method.lower() != "get" or path in STANDING:
            continue
        asked = path
        for name, value in {
            "game": GAME,
            "seq": str(HURT),
            "inbox": f"{HURT}-0",
            "number": "1",
            "rule": "2E-DP-24",
        }.items():
            asked = asked.replace(f"{{{name}}}", value)
        role = "operator" if known.token.startswith("of ") and not path.endswith("/owed") else "alice"
        if path.endswith("/perspective"):
            asked, role = f"{asked}?house=stark&why=looking", "operator"
        found.append((asked, role))
    return found


READINGS = _readings()


def _in_words(raw: bytes, word: str) -> bytes:
    """Another first letter, or sign, in what stands behind the name of a field."""
    at = raw.index(b'"%s":' % word.encode()) + len(word) + 3
    at += raw[at : at + 1] in b'"[{' and raw[at + 1 : at + 2] not in b"]}"
    return raw[:at] + (b"7" if raw[at : at + 1] != b"7" else b"8") + raw[at + 1 :]


def _damages() -> dict[str, Callable[[dict[bytes, bytes]], None]]:
    found: dict[str, Callable[[dict[bytes, bytes]], None]] = {}
    for word in ("v", "seq", "at", "cause", "inbox", "seat", "engine", "seen", "command", "verdict", "facts", "prev"):
        found[f"public.{word}"] = lambda row, word=word: row.update({b"public": _in_words(row[b"public"], word)})  # type: ignore[misc]
    for field in (b"public", b"sealed", b"digest"):
        name = field.decode()
        found[f"{name} missing"] = lambda row, field=field: row.pop(field) and None  # type: ignore[misc]
        found[f"{name} empty"] = lambda row, field=field: row.update({field: b""})  # type: ignore[misc]
        found[f"{name} no text"] = lambda row, field=field: row.update({field: b"\xff\xfe" + row[field]})  # type: ignore[misc]
        found[f"{name} cut"] = lambda row, field=field: row.update({field: row[field][:-1]})  # type: ignore[misc]
    return found


DAMAGES = _damages()


@cache
def whole() -> dict[str, int]:
    """What every reading answers when nothing is damaged."""
    table = Table()
    found = {path: table.ask(path, role).status for path, role in READINGS}
    assert {found[path] for path in READ_ALL} == {200} and list(found.values()).count(200) > 12, found
    return found


@pytest.mark.parametrize("how", DAMAGES)
def test_whoever_reads_a_damaged_entry_is_told_so_and_the_game_stops(how: str) -> None:
    table = Table()
    table.hurt(DAMAGES[how])
    every = list(DAMAGES).index(how) % 6 == 0  # the others by those that read all
    for path, role in [one for one in READINGS if every or one[0] in READ_ALL]:
        table.store.client.hdel(table.key("game"), "parked")
        answer = table.ask(path, role)
        if answer.status == 500:
            problem = answer.json()
            assert (problem["code"], problem["params"]) == ("record-damaged", {"entry": HURT}), (path, problem)
            parked = table.store.record(GAME).parked
            assert parked is not None and parked.error == "RecordDamaged" and parked.where.startswith(f"Entry {HURT}:")
        else:
            assert answer.status == whole()[path], path
            assert path not in READ_ALL, path
    report = verify_store(table.store, JUDGE, GAME)
    assert report.disagreement is not None and report.disagreement.seq == HURT
    with pytest.raises(RecordDamaged):
        next(iter(export_game(table.store, GAME)))


def test_an_entry_that_is_gone_is_damage() -> None:
    table = Table()
    rows = table.rows("ledger")
    table.put("ledger", [*rows[: HURT - 1], *rows[HURT:]])
    answer = table.ask(f"/v1/games/{GAME}/log", "alice")
    assert (answer.status, answer.json()["params"]) == (500, {"entry": HURT})
    assert table.store.record(GAME).parked is not None


def test_nothing_is_ruled_over_damage_until_it_is_mended() -> None:
    table = Table()
    good = table.rows("ledger")
    version = table.store.version(GAME)
    warm = Desk(table.store, table.tokens, None, JUDGE)
    owed = THRONES.decisions(warm.line(GAME).state)[0]
    seat = next(name for name, house in SEATS.items() if house == owed.player)
    caller = table.tokens.caller(GAME, table.tokens.issue(GAME, seat))
    assert caller is not None
    table.hurt(DAMAGES["digest cut"])
    lease = table.store.acquire(GAME, 30, "a worker in the middle of it")
    assert lease is not None
    assert table.ask(f"/v1/games/{GAME}/log", "alice").status == 500
    again = table.store.acquire(GAME, 30, "a worker in the middle of it")
    assert again is not None and again.parked
    table.store.release(again)
    warm.submit(GAME, caller, encode(owed.default))
    assert adjudicate(table.store, JUDGE, GAME).how == "parked"
    with pytest.raises(RecordDamaged):
        table.store.unpark(GAME)
    assert adjudicate(table.store, JUDGE, GAME).how == "parked" and table.store.version(GAME) == version
    table.put("ledger", good)
    assert table.store.unpark(GAME)
    assert adjudicate(table.store, JUDGE, GAME).ruled == 1


def test_a_worker_that_meets_damage_first_parks() -> None:
    table = Table()
    table.hurt(DAMAGES["public.facts"])
    desk = Desk(table.store, table.tokens, None, JUDGE)
    caller = table.tokens.caller(GAME, table.alice)
    assert caller is not None
    desk.submit(GAME, caller, b'{"kind":"nothing"}')
    assert adjudicate(table.store, JUDGE, GAME).how == "parked"
    parked = table.store.record(GAME).parked
    assert parked is not None and parked.where.startswith(f"Entry {HURT}:")


def test_a_forged_entry_whose_digest_fits_its_bytes_is_damage_too() -> None:
    """The chain made anew behind it as well: what it says cannot be read, and that is not the reader's mistake."""
    table = Table()
    rows = table.rows("ledger")
    prev = ""
    for number, (_, row) in enumerate(rows, 1):
        stored = next(table.store.entries(GAME, number - 1, 1)) if number < HURT else None
        if stored is not None:
            prev = stored.digest
            continue
        said = row[b"public"]
        if number == HURT:
            at = said.index(b'"facts":[') + len(b'"facts":[')
            said = said[:at] + b'{"fact":"Nonsense"}' + (b"," if said[at : at + 1] != b"]" else b"") + said[at:]
        head = said.index(b'"prev":"') + len(b'"prev":"')
        said = said[:head] + prev.encode() + said[head + 64 :]
        row[b"public"] = said
        prev = digest(prev, said, codec.read_parts(row[b"sealed"]))
        row[b"digest"] = prev.encode()
    table.put("ledger", rows)
    for path, role in READINGS:
        answer = table.ask(path, role)
        if path in READ_ALL and not path.endswith("export"):
            assert answer.status == 500 and answer.json()["code"] == "record-damaged", (path, answer.body)
        assert answer.status != 422, path


KEPT: dict[str, Callable[[Any], None]] = {
    "parked is no JSON": lambda table: table.store.client.hset(table.key("game"), "parked", "{"),
    "parked lacks its fields": lambda table: table.store.client.hset(table.key("game"), "parked", "{}"),
    "parked is no text": lambda table: table.store.client.hset(table.key("game"), "parked", b"\xff"),
    "rules are missing": lambda table: table.store.client.hdel(table.key("game"), "rules"),
    "created is missing": lambda table: table.store.client.hdel(table.key("game"), "created"),
    "a field is no text": lambda table: table.store.client.hset(table.key("game"), b"\xff", b"\xff"),
    "the cursor is no number": lambda table: table.store.client.hset(table.key("game"), "cursor", "x"),
    "tokens are no text": lambda table: table.store.client.hset(table.key("tokens"), b"\xff", b"\xff"),
    "issues are no JSON": lambda table: table.store.client.rpush(table.key("issues"), "{"),
    "the snapshot is no JSON": lambda table: table.store.client.set(table.key("snapshot"), "{"),
    "a checkpoint is no text": lambda table: table.store.client.xadd(
        table.key("checkpoints"), {"note": b"\xff"}, id="99-0"
    ),
}


@pytest.mark.parametrize("what", KEPT)
def test_whatever_else_is_damaged_is_never_the_mistake_of_who_asks(what: str) -> None:
    table = Table()
    KEPT[what](table)
    for path, role in READINGS:
        answer = table.ask(path, role)
        if answer.status != whole()[path]:
            assert (answer.status, answer.json()["code"]) == (500, "record-damaged"), (path, answer.body)
    if what.startswith("parked"):
        assert table.store.record(GAME).parked is not None, "it stays parked if nobody can read why"
        assert table.store.unpark(GAME)


def test_a_cursor_that_is_no_number_or_another_is_a_finding() -> None:
    table = Table()
    table.store.client.hset(table.key("game"), "cursor", "x")
    with pytest.raises(KeptDamaged):
        table.store.cursor(GAME)


def _snapshot(table: Table, **changed: Any) -> None:
    table.store.save_snapshot(GAME, JUDGE, table.store.line(GAME, JUDGE))
    kept = msgspec.json.decode(table.store.client.get(table.key("snapshot")), type=Snapshot)
    table.store.client.set(table.key("snapshot"), encode(msgspec.structs.replace(kept, **changed)))


def test_a_false_snapshot_is_dropped_and_counted() -> None:
    """Each part of the position taken from an earlier one, and the rest as it is."""
    table = Table()
    honest = table.store.line(GAME, JUDGE)
    _snapshot(table)
    assert table.store.snapshot(GAME, JUDGE) == honest
    now, before = (
        msgspec.json.decode(encode(table.store.line(GAME, JUDGE, at=at).state)) for at in (honest.version, 2)
    )
    false: list[dict[str, Any]] = [
        {"state": msgspec.Raw(encode({**now, name: before.get(name)}))}
        for name in now
        if name in before and now[name] != before[name]
    ]
    assert len(false) >= 3
    for number, changed in enumerate([*false, {"taken": honest.taken - 1}], 1):
        _snapshot(table, **changed)
        assert table.store.snapshot(GAME, JUDGE) is None, changed
        assert table.store.line(GAME, JUDGE) == honest
        assert table.store.false_snapshots == number
    _snapshot(table, state=msgspec.Raw(b"{}"))
    assert table.store.line(GAME, JUDGE) == honest
