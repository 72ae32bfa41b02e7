"""Damaged games, and all that reads one: each route, the live stream, each command. Whatever meets damage tells it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fakeredis
import msgspec
import pytest

from api.app import GROUPS, create_app
from api.desk import Desk
from api.doctor import of_games
from api.openapi import operations
from api.routes import arbiter
from api.tokens import Tokens
from events.envelope import number_of, submission
from events.errors import KeptDamaged, RecordDamaged
from events.export import import_game
from events.losses import compare, head_of
from events.store import Store
from tests.api.asgi import Answer, Client
from tests.api.serving import OPERATOR, SIGNER
from tests.api.test_cli import Rookery
from tests.attacks.test_damaged_records import HURT, JUDGE, LINES

SENT = 4
"""The submission that is damaged, ruled on by the entry of this number."""

Damage = Callable[[Store, str], object]


def _entry(store: Store, game: str) -> None:
    _changed(store, store.key(game, "ledger"), HURT, b"digest", b"0" * 64)


def _submission(store: Store, game: str) -> None:
    raw = dict(store.raw_submissions(game))[f"{SENT}-0"]
    _changed(store, store.key(game, "inbox"), SENT, b"submission", raw.replace(b'"seat":"', b'"seat":"x', 1))


def _changed(store: Store, key: str, number: int, field: bytes, value: bytes | None) -> None:
    rows = store.client.xrange(key)
    store.client.delete(key)
    for name, fields in rows:
        if name != b"%d-0" % number:
            store.client.xadd(key, fields, id=name)
        elif value is not None:
            store.client.xadd(key, {**fields, field: value}, id=name)


DAMAGES: dict[str, tuple[dict[str, Any], Damage]] = {
    "entry": ({"entry": HURT}, _entry),
    "missing": (
        {"entry": HURT},
        lambda store, game: _changed(store, store.key(game, "ledger"), HURT, b"", None),
    ),
    "submission": ({"entry": SENT}, _submission),
    "description": (
        {"kept": "the description of the game"},
        lambda store, game: store.client.hdel(store.key(game, "game"), "rules"),
    ),
    "cursor": ({"kept": "the cursor"}, lambda store, game: store.client.hset(store.key(game, "game"), "cursor", "x")),
    "issues": (
        {"kept": "the list of tokens"},
        lambda store, game: store.client.rpush(store.key(game, "issues"), "{"),
    ),
    "arbiters": (
        {"kept": "the list of arbiters"},
        lambda store, game: store.client.hset(store.key(game, "arbiters"), b"\xff", b""),
    ),
    "snapshot": ({}, lambda store, game: store.client.set(store.key(game, "snapshot"), "{")),
}

POWER = {"fact": "PowerChanged", "house": "stark", "by": 1}
NOWHERE = ("/v1/shared", "/v1/shared/{shared_id}", "/v1/shared/{shared_id}/close", "/v1/key", "/v1/charters")
NOWHERE += ("/v1/rules/{rule}", "/readyz", "/healthz", "/v1/games", "/v1/import")
"""Routes that read no game that is there."""

BODIES: dict[str, Any] = {
    "/seats/{seat}/token": None,
    "/organiser/token": None,
    "/arbiters/{name}/token": {},
    "/commands": {"kind": "pass-deadline", "player": "stark", "question": 0},
    "/fork": {"purpose": "analysis", "why": "looking"},
    "/rewind/plan": {"to": 1, "why": "looking"},
    "/rewind": {"to": 1, "reason": "because"},
    "/correct/plan": {"facts": [POWER]},
    "/correct": {"facts": [POWER], "reason": "because"},
    "/rule-on-appeal": {"appeal": 1, "outcome": "declined", "opinion": "no"},
    "/amend": {"reason": "because"},
    "/appeal": {"against": HURT, "statement": "because"},
}
EVERY_ENTRY = {"post /commands", "get /tokens", "get /checkpoint", "get /checkpoints", "post /organiser/token"}
WITHOUT: dict[str, set[str]] = {
    "entry": EVERY_ENTRY,
    "missing": EVERY_ENTRY,
    "description": {"post /commands", "get /tokens", "get /secrets-read", "post /organiser/token"},
}
"""What is asked needs no damaged part: it is answered as ever. Everything else meets it."""
MEETING: dict[str, set[str]] = {
    "submission": {"get /export", "get /bundle"},
    "issues": {"get /tokens"},
    "cursor": set(),  # it is for the worker
    "arbiters": set(),  # counted only where quotas are set
    "snapshot": set(),  # dropped and made anew
}
"""What alone needs the damaged part."""
SEATED = ("/owed", "/appeal")
"""Routes that are asked by a seat, the others by the operator."""


class Server:
    """One server for a whole game and those that are damaged, each in another way."""

    def __init__(self) -> None:
        self.store = Store(fakeredis.FakeRedis())
        self.tokens = Tokens(self.store, OPERATOR)
        self.seat = {}
        for game in ("whole", *DAMAGES):
            import_game(self.store, LINES, game)
            self.seat[game] = self.tokens.issue(game, "alice")
            self.tokens.issue_arbiter(game, "judge")
        for game, (_, damage) in DAMAGES.items():
            damage(self.store, game)
        self.desk = Desk(self.store, self.tokens, None, JUDGE, signer=SIGNER)
        self.app = create_app(self.desk, heartbeat_seconds=0.05)
        self.client = Client(self.app)

    def ask(self, route: str, method: str, game: str) -> Answer:
        """As one who finds a server that has read nothing yet, and a game that nobody has parked."""
        self.desk._forget(game)
        self.store.client.hdel(self.store.key(game, "game"), "parked")
        path = route
        values = {"game": game, "seq": HURT, "inbox": f"{SENT}-0", "number": 1, "seat": "alice", "name": "judge"}
        for name, value in values.items():
            path = path.replace(f"{{{name}}}", str(value))
        if route.endswith("/perspective"):
            path += "?house=stark&why=looking"
        if route.endswith("/events"):
            path += "?after=1"
        end = route.removeprefix("/v1/games/{game}")
        body = msgspec.json.encode(BODIES[end]) if method == "post" and BODIES[end] is not None else b""
        token = self.seat[game] if end in SEATED else OPERATOR
        return asyncio.run(
            self.client.request(
                method.upper(),
                path,
                token,
                body,
                {"if-match": f'"{self.store.version(game)}"'} if method == "post" else {},
                until=(lambda heard: b"id: " in heard) if end == "/events" else None,
            )
        )


ROUTES = sorted(one for one in operations(GROUPS) if one[0] not in NOWHERE)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arbiter, "RULING_SECONDS", 0.0)  # nobody rules here
        yield Server()


def test_every_route_over_every_damage(server: Server) -> None:
    met: dict[str, set[str]] = {damage: set() for damage in DAMAGES}
    asked = {f"{method} {route.removeprefix('/v1/games/{game}')}" for route, method in ROUTES}
    for route, method in ROUTES:
        whole = server.ask(route, method, "whole")
        assert whole.status < 500, (route, whole.body)
        for damage, (place, _) in DAMAGES.items():
            answer = server.ask(route, method, damage)
            told = f"{method} {route.removeprefix('/v1/games/{game}')}"
            if answer.status != 500:
                assert answer.status == whole.status, (told, damage, answer.body)
                continue
            problem = answer.json()
            assert (problem["code"], problem["params"]) == ("record-damaged", place), (told, damage, problem)
            met[damage].add(told)
            parked = server.store.record(damage).parked if damage != "description" else True
            assert parked and server.store.client.hexists(server.store.key(damage, "game"), "parked"), (told, damage)
    for damage, found in met.items():
        due = MEETING[damage] if damage in MEETING else asked - WITHOUT[damage]
        assert found == due, damage


def test_an_open_stream_ends_with_the_reason(server: Server) -> None:
    """Before its first event, and behind it."""
    rows = [(name, dict(fields)) for name, fields in server.store.client.xrange(server.store.key("whole", "ledger"))]
    for number, after in enumerate((len(rows) - 1, len(rows) - 2)):
        game = f"open-{number}"
        import_game(server.store, LINES, game)
        key = server.store.key(game, "ledger")
        server.store.client.delete(key)
        for name, fields in rows[:-1]:
            server.store.client.xadd(key, fields, id=name)
        broken: list[int] = []

        def heard(so_far: bytes, number: int = number, key: str = key, broken: list[int] = broken) -> bool:
            """The last entry comes, damaged, once the stream has said something; nobody hangs up."""
            if not broken and so_far.count(b"id: ") == number and so_far.endswith(b"\n\n"):
                broken.append(1)
                name, fields = rows[-1]
                server.store.client.xadd(key, {**fields, b"digest": b"0" * 64}, id=name)
            return False

        path = f"/v1/games/{game}/events?after={after}"
        answer = asyncio.run(server.client.request("GET", path, OPERATOR, until=heard))
        assert broken and answer.status == 200
        last = answer.body.decode().removesuffix("\n\n").rpartition("\n\n")[2].split("\n")
        problem = msgspec.json.decode(last[1].removeprefix("data: "))
        assert last[0] == "event: problem" and answer.body.count(b"event: entry") == number
        assert (problem["status"], problem["code"], problem["params"]) == (500, "record-damaged", {"entry": len(rows)})
        assert server.store.record(game).parked is not None
        again = asyncio.run(server.client.get(f"/v1/games/{game}/events?after={len(rows) - 1}", OPERATOR))
        assert (again.status, again.json()["code"]) == (500, "record-damaged")


def test_no_receipt_is_signed_again_for_what_is_not_as_it_was_sent(server: Server) -> None:
    """A letter that is sent again under its key, where the submission is gone or is another one."""
    game = "again"
    import_game(server.store, LINES, game)
    said = submission(b'{"kind":"nothing"}', seat="alice", at="", key="once")
    number = number_of(server.store.submit(game, said).inbox)
    assert server.store.submit(game, said).again
    raw = dict(server.store.raw_submissions(game))[f"{number}-0"]
    for value in (raw.replace(b"nothing", b"nothinG"), raw[:-1], None):
        _changed(server.store, server.store.key(game, "inbox"), number, b"submission", value)
        server.store.client.hdel(server.store.key(game, "game"), "parked")
        with pytest.raises(KeptDamaged, match=f"submission {number}"):
            server.store.submit(game, said)
        assert server.store.record(game).parked is not None


def test_what_is_parked_for_damage_is_called_damaged_by_doctor(server: Server) -> None:
    for game, (place, _) in DAMAGES.items():
        server.store.client.hdel(server.store.key(game, "game"), "parked")
        if place:
            damage = RecordDamaged(place["entry"], "x") if "entry" in place else KeptDamaged(place["kept"])
            assert server.store.stop(game, damage)
    server.store.client.hset(server.store.key("issues", "game"), "parked", "{")
    told = [one.says for one in of_games(server.store) if one.level == "problem"]
    for game, (place, _) in DAMAGES.items():
        found = [one for one in told if one.startswith(f"Game {game} is")]
        assert len(found) == bool(place), game
        assert all(one.startswith(f"Game {game} is damaged. ") and ".." not in one for one in found), found
    assert "Game issues is damaged. What is kept as the note of why it is parked cannot be read." in " ".join(told)


def test_a_head_is_compared_though_the_newest_elements_are_damaged(server: Server) -> None:
    """A start compares the heads of all games; one that is damaged does not keep the server from starting."""
    import_game(server.store, LINES, "newest")
    known = head_of(server.store, "newest")
    for what, field in (("inbox", b"submission"), ("ledger", b"digest")):
        key = server.store.key("newest", what)
        (name, fields), *_ = server.store.client.xrevrange(key, count=1)
        server.store.client.xdel(key, name)
        server.store.client.delete(key)
        server.store.client.xadd(key, {**{k: v for k, v in fields.items() if k != field}, b"x": b"\xff"}, id=name)
    (loss,) = compare(server.store, {"newest": known})
    assert set(loss.what) == {"inbox-differs", "ledger-differs"}


@pytest.mark.parametrize("name", ["signing.key", "operator.token", "heads.sqlite"])
def test_a_file_of_the_server_that_cannot_be_read_is_a_finding_among_others(tmp_path: Path, name: str) -> None:
    rookery = Rookery(tmp_path / "data")
    rookery.at_once("new", "--players", "3", "--game", "g")
    assert rookery.data.joinpath(name).exists()
    for junk in (b"\xff\xfe", b"junk junk"):
        rookery.data.joinpath(name).write_bytes(junk)
        checks = rookery.at_once(
            "doctor", "--json", code=0 if name == "operator.token" and junk[:1] == b"j" else 1
        ).json["checks"]
        problems = [one for one in checks if one["level"] == "problem"]
        assert all(name in one["says"] for one in problems), problems
        assert "1 game in the store." in [one["says"] for one in checks]
