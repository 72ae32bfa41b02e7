"""Damaged games, and all that reads one: each route, the live stream, each command. Whatever meets damage tells it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fakeredis
import msgspec
import pytest
import typer.main

from api.app import GROUPS, create_app
from api.cli import app as cli
from api.cli import place as places
from api.desk import Desk
from api.doctor import of_games
from api.openapi import operations
from api.routes import arbiter
from api.tokens import Tokens
from events.embedded import Embedded
from events.envelope import number_of, submission
from events.errors import KeptDamaged, RecordDamaged
from events.export import import_game
from events.keys import game_key
from events.losses import compare, head_of
from events.store import Store
from tests.api.asgi import Answer, Client
from tests.api.serving import OPERATOR, SIGNER
from tests.api.test_cli import Result, Rookery
from tests.attacks.test_damaged_records import HURT, JUDGE, LINES

SENT = 4
"""The submission that is damaged, ruled on by the entry of this number."""

ENTRIES = sum(line.startswith(b'{"line":"entry"') for line in LINES)

Damage = Callable[[Store, str], object]


def _entry(store: Store, game: str) -> None:
    _changed(store, game_key(game, "ledger"), HURT, b"digest", b"0" * 64)


def _submission(store: Store, game: str) -> None:
    raw = dict(store.raw_submissions(game))[f"{SENT}-0"]
    _changed(store, game_key(game, "inbox"), SENT, b"submission", raw.replace(b'"seat":"', b'"seat":"x', 1))


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
        lambda store, game: _changed(store, game_key(game, "ledger"), HURT, b"", None),
    ),
    "submission": ({"entry": SENT}, _submission),
    "description": (
        {"kept": "the description of the game"},
        lambda store, game: store.client.hdel(game_key(game, "game"), "rules"),
    ),
    "cursor": ({"kept": "the cursor"}, lambda store, game: store.client.hset(game_key(game, "game"), "cursor", "x")),
    "issues": (
        {"kept": "the list of tokens"},
        lambda store, game: store.client.rpush(game_key(game, "issues"), "{"),
    ),
    "arbiters": (
        {"kept": "the list of arbiters"},
        lambda store, game: store.client.hset(game_key(game, "arbiters"), b"\xff", b""),
    ),
    "snapshot": ({}, lambda store, game: store.client.set(game_key(game, "snapshot"), "{")),
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
        self.store.client.hdel(game_key(game, "game"), "parked")
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
            assert parked and server.store.client.hexists(game_key(damage, "game"), "parked"), (told, damage)
    for damage, found in met.items():
        due = MEETING[damage] if damage in MEETING else asked - WITHOUT[damage]
        assert found == due, damage


def test_an_open_stream_ends_with_the_reason(server: Server) -> None:
    """Before its first event, and behind it."""
    rows = [(name, dict(fields)) for name, fields in server.store.client.xrange(game_key("whole", "ledger"))]
    for number, after in enumerate((len(rows) - 1, len(rows) - 2)):
        game = f"open-{number}"
        import_game(server.store, LINES, game)
        key = game_key(game, "ledger")
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
        _changed(server.store, game_key(game, "inbox"), number, b"submission", value)
        server.store.client.hdel(game_key(game, "game"), "parked")
        with pytest.raises(KeptDamaged, match=f"submission {number}"):
            server.store.submit(game, said)
        assert server.store.record(game).parked is not None


def test_what_is_parked_for_damage_is_called_damaged_by_doctor(server: Server) -> None:
    for game, (place, _) in DAMAGES.items():
        server.store.client.hdel(game_key(game, "game"), "parked")
        if place:
            damage = RecordDamaged(place["entry"], "x") if "entry" in place else KeptDamaged(place["kept"])
            assert server.store.stop(game, damage)
    server.store.client.hset(game_key("issues", "game"), "parked", "{")
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
        key = game_key("newest", what)
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


# The command line


class Console(Rookery):
    """Commands on a data directory of their own, whose store runs all the while; each is told with its exit code."""

    code = 0

    def run(self, *arguments: str, letter: str = "") -> tuple[int, Result]:
        for file in self.data.glob("heads.sqlite*"):
            file.unlink()  # what a game was before it was put back is nobody's loss
        result = self.at_once(*arguments, letter=letter)
        return self.code, result

    def _checked(  # type: ignore[override]  # an instance knows its last exit code
        self, arguments: tuple[str | Path, ...], found: int, code: int, result: Result
    ) -> Result:
        self.code = found
        assert "Traceback" not in result.err
        said = [one for one in result.err.strip().splitlines() if not one.startswith("{")]  # what is logged
        assert found in (0, 1, 2, 3, 4) and len(said) <= bool(found), (arguments, found, result.err)
        return result


COMMANDS: dict[str, tuple[str, ...]] = {
    "show": ("show", "G"),
    "log": ("log", "G"),
    "replay": ("replay", "G"),
    "verify": ("verify", "G"),
    "export": ("export", "G", "FILE", "--why", "looking"),
    "export --bundle": ("export", "G", "FILE", "--why", "looking", "--bundle"),
    "export --format": ("export", "G", "FILE", "--format", "log"),
    "why": ("why", "G", "3"),
    "appeal": ("appeal", "G", "3", "--statement", "because", "--seat", "alice"),
    "plan": ("plan", "G", "1", "--why", "looking"),
    "rewind": ("rewind", "G", "1", "--version", str(ENTRIES), "--reason", "because"),
    "correct": ("correct", "G", "--state", '{"fact": "PowerChanged", "house": "stark", "by": 1}'),
    "amend": ("amend", "G", "--reason", "because", "--yes"),
    "arbiter": ("arbiter", "G", "umpire"),
    "perspective": ("perspective", "G", "stark", "--why", "looking"),
    "secrets": ("secrets", "G"),
    "charter": ("charter", "G"),
    "checkpoint": ("checkpoint", "G"),
    "checkpoints": ("checkpoints", "G"),
    "contribute": ("contribute", "G", "--seat", "alice"),
    "fork": ("fork", "G", "--why", "looking"),
    "diff": ("diff", "G", "--engine", "/nowhere"),
    "token": ("token", "G", "alice"),
    "deadline": ("deadline", "G", "stark"),
    "submit": ("submit", "-", "--game", "G", "--seat", "alice"),
    "unpark": ("unpark", "G"),
    "accept-loss": ("accept-loss", "G", "--why", "because"),
    "opinion give": ("opinion", "give", "G", "1", "declined", "--text", "because"),
    "opinion export": ("opinion", "export", "G", "1", "FILE"),
}
ALL_GAMES = {"games", "doctor", "backup"}
"""Commands on all games at once: see the test of their own."""
OTHERS = {
    *("up", "worker"),  # a worker that meets damage: see test_damaged_records
    *("backup-key", "new", "key", "sample", "rules", "trace", "cases run", "cases serve"),
    *("shared new", "shared close", "shared show", "restore", "import"),  # a file that is damaged: see forged records
}
"""Commands that read no game that is there."""


CODES = {
    "contribute": 2,
    "diff": 2,
    "opinion export": 2,
    "deadline": 3,
    "submit": 3,
    "accept-loss": 3,
    "opinion give": 3,
}
"""How commands end that do not end with 0 on a game that is whole."""
WAITING = {"appeal", "rewind", "amend", "fork", "deadline", "submit", "opinion give"}
"""What is taken in and waits for a ruling, where a worker meets the damage: 4."""
NO_ENTRY = {"accept-loss", "checkpoint", "checkpoints", "unpark"}
CONSOLE_MEETS: dict[str, set[str]] = {
    "entry": set(COMMANDS) - NO_ENTRY,
    "description": set(COMMANDS),
    "submission": {"amend", "diff", "export", "export --bundle", "verify"},
    "cursor": {"verify"},
}
"""Which commands meet what is damaged, and end with 1; the others end as on a game that is whole."""


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Console, Store, dict[str, dict[bytes, bytes]]]]:
    console = Console(tmp_path_factory.mktemp("console") / "data")
    with Embedded(console.data) as servers, pytest.MonkeyPatch.context() as patch:
        store = Store.connect(servers.store_url)
        kept: dict[str, dict[bytes, bytes]] = {}
        for game in ("whole", *DAMAGES):
            import_game(store, LINES, game)
            if game in DAMAGES:
                DAMAGES[game][1](store, game)
            names = store.client.keys(game_key(game, "*"))
            kept[game] = {name: store.client.dump(name) for name in names}
        patch.setattr(places, "_own_or_find", lambda directory: servers)
        with pytest.MonkeyPatch.context() as lasting:
            lasting.setattr(servers, "stop", lambda: None)
            yield console, store, kept
        store.client.close()


def _put_back(store: Store, game: str, kept: dict[bytes, bytes]) -> None:
    names = store.client.keys(game_key(game, "*"))
    if names:
        store.client.delete(*names)
    for name, dump in kept.items():
        store.client.restore(name, 0, dump)


def _leaves(commands: Any, before: str = "") -> set[str]:
    found = set()
    for name, one in commands.items():
        inner = getattr(one, "commands", None)
        found |= _leaves(inner, f"{before}{name} ") if inner else {f"{before}{name}"}
    return found


def test_every_command_is_listed() -> None:
    commands = getattr(typer.main.get_command(cli), "commands")  # noqa: B009 - a group of click
    tried = {name.partition(" --")[0] for name in COMMANDS}
    assert _leaves(commands) == tried | ALL_GAMES | OTHERS
    assert not tried & OTHERS and not ALL_GAMES & (tried | OTHERS)


@pytest.mark.server
@pytest.mark.parametrize("damage", [*CONSOLE_MEETS, "missing", "snapshot"])
def test_every_command_over_every_damage(console: Any, tmp_path: Path, damage: str) -> None:
    run, store, kept = console
    where = DAMAGES[damage][0]
    said = f"Entry {where['entry']}" if "entry" in where else where.get("kept", "")
    if damage in CONSOLE_MEETS:
        commands, met = set(COMMANDS), CONSOLE_MEETS[damage]
    else:
        commands = {"show", "verify", "export", "submit"}  # met as an entry is, or as nothing is
        met = commands if where else set()
    for name in sorted(commands):
        _put_back(store, damage, kept[damage])
        file = tmp_path / name.replace(" ", "")
        asked = [{"G": damage, "FILE": str(file)}.get(one, one) for one in COMMANDS[name]]
        code, result = run.run(*asked, letter="stark: orders winterfell march\n")
        if name in met:
            assert code == 1 and said in result.err, (name, code, result.err)
            assert not list(tmp_path.iterdir()), name
        else:
            due = 4 if damage == "cursor" and name in WAITING else CODES.get(name, 0)
            assert code == due, (name, code, result.err)
        if name in met or (damage == "cursor" and name in WAITING):
            assert store.client.hexists(game_key(damage, "game"), "parked"), name
        for left in tmp_path.iterdir():
            left.unlink()


@pytest.mark.server
def test_one_damaged_game_hides_no_other(console: Any, tmp_path: Path) -> None:
    run, store, kept = console
    for game, one in kept.items():
        _put_back(store, game, one)
    code, result = run.run("games", "--json")
    assert code == 0
    assert {one["game"]: bool(one["damaged"]) for one in result.json["games"] if one["game"] in kept} == {
        game: game in ("entry", "missing", "description", "cursor") for game in kept
    }
    code, result = run.run("backup", str(tmp_path / "all"), "--unencrypted", "--json")
    assert code == 0 and set(result.json["games"]) >= set(kept)
    assert {one.partition(":")[0] for one in result.json["damaged"]} >= {"entry", "missing"}
    code, result = run.run("doctor", "--json")
    told = [one["says"] for one in result.json["checks"] if one["name"] == "games"]
    assert code == 1 and told[-1] == f"{len(store.games())} games in the store."
    assert [one.split()[1] for one in told[:-1]] == sorted(("entry", "missing", "description", "cursor"))
    assert all("is damaged. " in one for one in told[:-1]), told
