"""Every read takes a moment, and says there what it said then; what is read by privilege is written down."""

from __future__ import annotations

import asyncio
from typing import Any

import fakeredis
import msgspec
import pytest

from api.app import GROUPS, create_app
from api.bench import Bench
from api.desk import Desk
from api.games.thrones.cases.cases import decode_case, run_case
from api.openapi import AT, operations
from api.proving import prove
from api.tokens import ORGANISER, Caller, Tokens
from domain.kernel.arbiter import Rewind, RuleOnAppeal
from domain.thrones.ruleset import THRONES
from events.envelope import encode
from events.export import EntryLine, Header, SubmissionLine, export_game, import_game, parse
from events.ruling import Judge
from events.store import Store
from tests.api.asgi import Answer, Client
from tests.api.serving import OPERATOR, SIGNER
from worker.adjudicate import adjudicate

GAME = "winter"
JUDGE = Judge(THRONES)
SEATS = {"alice": "stark", "bob": "lannister", "carol": "baratheon"}


class Table:
    """A game in the same process, whose clock goes on by a second with every look at it."""

    def __init__(self, **order: Any) -> None:
        self.seconds = 0
        self.store = Store(fakeredis.FakeRedis())
        tokens = Tokens(self.store, OPERATOR, clock=self._clock)
        self.desk = Desk(self.store, tokens, None, JUDGE, clock=self._clock, signer=SIGNER)
        self.client = Client(create_app(self.desk))
        made = self.desk.create(
            edition="second-edition", players=3, seats=SEATS, game=GAME, seed="5e" * 32, key="begin", **order
        )
        self.tokens = {**made.tokens, ORGANISER: made.organiser, "operator": OPERATOR}
        self.rule()

    def _clock(self) -> str:
        self.seconds += 1
        return f"2025-01-01T12:{self.seconds // 60:02}:{self.seconds % 60:02}.000000Z"

    def rule(self) -> None:
        adjudicate(self.store, JUDGE, GAME)

    def act(self, caller: Caller, command: Any, **said: Any) -> None:
        self.desk.submit(GAME, caller, encode(command), **said)
        self.rule()

    def answer(self) -> None:
        """The first open question gets its default."""
        decision = THRONES.decisions(self.desk.line(GAME).state)[0]
        seat = next(name for name, house in SEATS.items() if house == decision.player)
        self.act(Caller("seat", seat), decision.default)

    def arbiter(self, name: str = "luwin", plays: str = "") -> None:
        self.tokens[name] = self.desk.tokens.issue_arbiter(GAME, name, plays)

    @property
    def version(self) -> int:
        return self.store.version(GAME)

    async def _ruled(self, path: str, token: str | None) -> Answer:
        """An answer; a worker rules meanwhile on what is written down."""
        asked = asyncio.create_task(self.client.get(path, token))
        while not asked.done():
            await asyncio.to_thread(self.rule)
            await asyncio.sleep(0.01)
        return asked.result()

    def get(self, what: str, who: str | None = None) -> Answer:
        token = self.tokens[who] if who is not None else None
        path = f"/v1/games/{GAME}{what}"
        return asyncio.run(self._ruled(path, token) if "secrets=true" in what else self.client.get(path, token))


READS = (
    "/charter",
    "",
    "/view",
    "/board",
    "/log",
    "/log?after=1&limit=2",
    "/export",
    "/bundle",
    "/checkpoint",
    "/checkpoints",
    "/secrets-read",
    "/tokens",
    "/owed",
    "/entries/2",
    "/entries/2/certificate",
    "/commands/2-0",
)


def at(what: str, moment: Any) -> str:
    return f"{what}{'&' if '?' in what else '?'}at={moment}"


def test_every_route_that_reads_a_game_takes_a_moment() -> None:
    reads = {
        path: operation
        for (path, method), operation in operations(GROUPS).items()
        if method == "get" and path.startswith("/v1/games/{game}") and not path.endswith("/events")
    }
    assert {path for path, operation in reads.items() if AT not in operation.headers} == set()
    asked = {what.partition("?")[0].replace("/2-0", "/{inbox}").replace("entries/2", "entries/{seq}") for what in READS}
    assert {path.removeprefix("/v1/games/{game}") for path in reads} - asked == {
        "/perspective",
        "/appeals/{number}/case",
    }


def readers(what: str) -> tuple[str | None, ...]:
    return ("alice", "bob") if what == "/owed" else (None,) if what == "/bundle" else (None, "alice")


def test_what_is_read_of_a_moment_is_what_was_read_then() -> None:
    """With a read of secrets, a rewind and a new token later on; byte by byte, with the same ETag."""
    table = Table(arbitration={"secrets-log": "at-once"})
    then: dict[tuple[int, str, str | None], Answer] = {}

    def note() -> None:
        for what in READS:
            for who in readers(what):
                then[table.version, what, who] = table.get(what, who)

    for step in range(7):
        if step == 3:
            Bench(table.desk, lambda receipt: table.rule()).write_down(GAME, Caller("operator"), "the decks", "a test")
        elif step == 4:
            table.act(
                Caller("operator"), Rewind(to=1, reason="a wrong order", by="luwin", causal=True), cause="arbiter"
            )
        elif step == 5:
            table.arbiter()
            table.answer()
        else:
            table.answer()
        note()
    assert len(then) == 7 * sum(len(readers(what)) for what in READS)
    moments = {entry["seq"]: entry["at"] for entry in table.get("/log").json()["entries"]}
    seen = 0
    for (version, what, who), answer in then.items():
        for moment in (version, moments[version]) if who is None else (version,):
            again = table.get(at(what, moment), who)
            assert again.status == answer.status, (version, what, who, again.body)
            if answer.status == 200:
                assert again.body == answer.body, (version, what, who)
                assert again.header("etag") == answer.header("etag"), (version, what, who)
                seen += 1
    assert seen > 200
    # The rewind is known afterwards, and was not before.
    assert b'"struck"' in table.get("/log").body
    assert b'"struck"' not in table.get("/log?at=4").body


@pytest.mark.parametrize("what", READS)
def test_what_is_no_moment_or_is_to_come_is_told(what: str) -> None:
    table = Table()
    table.answer()
    who = "alice" if what == "/owed" else None
    for moment, status, code in (
        (99, 404, "no-such-version"),
        (-1, 404, "no-such-version"),
        ("noon", 400, "bad-parameter"),
    ):
        answer = table.get(at(what, moment), who)
        assert (answer.status, answer.json()["code"]) == (status, code), (what, moment)


def test_what_an_entry_says_of_the_future_is_not_there_yet() -> None:
    table = Table()
    table.answer()
    assert table.get("/entries/2?at=1").status == table.get("/entries/2/certificate?at=1").status == 404
    assert table.get("/commands/2-0?at=1").json()["status"] == "pending"


def test_an_export_up_to_an_entry_is_a_whole_record_and_goes_on_elsewhere() -> None:
    table = Table()
    for _ in range(4):
        table.answer()
    lines = table.get("/export?at=3&secrets=true&why=the+end+is+disputed", ORGANISER).body.splitlines(keepends=True)
    proof = prove(lines)
    assert proof.is_confirmed and proof.full and proof.entries == 3, proof.findings
    there = Store(fakeredis.FakeRedis())
    assert import_game(there, lines).unruled == 0
    adjudicate(there, JUDGE, GAME)
    assert there.version(GAME) == 3


def test_a_game_is_taken_in_from_elsewhere_by_the_operator() -> None:
    here, there = Table(), Table()
    for _ in range(3):
        here.answer()
    exported = here.get("/export?secrets=true&why=it+moves", ORGANISER).body
    bundled = here.get("/bundle?secrets=true&why=it+moves", ORGANISER).body

    def send(body: bytes, who: str | None, game: str = "") -> Answer:
        path = f"/v1/import{f'?game={game}' if game else ''}"
        return asyncio.run(there.client.post(path, there.tokens[who] if who else None, body))

    assert [send(exported, who).status for who in (None, "alice", ORGANISER)] == [401, 403, 403]
    assert send(exported, "operator").json()["code"] == "game-exists"
    for game, body in (("copy", exported), ("copy-too", bundled)):
        answer = send(body, "operator", game)
        assert (answer.status, answer.header("location")) == (201, f"/v1/games/{game}")
        assert answer.json() == {"game": game, "version": there.store.version(game), "unruled": 0}
        assert any("copy of game winter" in one for one in prove(list(export_game(there.store, game))).remarks)
    assert [one.size for one in there.store.checkpoints("copy-too")][-1] == there.store.version("copy-too")
    games = there.store.games()
    for body in (exported[:-9], bundled[:-9], here.get("/export").body, b"", b"PK", b"x"):
        answer = send(body, "operator", "bad")
        assert (answer.status, answer.json()["code"]) == (422, "record-damaged"), answer.body
    assert there.store.games() == games


ORDERS = {
    "alice": "orders winterfell march+1, white harbor consolidate, shivering sea support",
    "bob": "orders lannisport cp*, stoney sept march, golden sound raid, port of lannisport support",
    "carol": "orders dragonstone support, kingswood defense, shipbreaker bay raid",
}


def test_an_opinion_is_exported_as_a_case_that_holds() -> None:
    table = Table()
    table.arbiter()
    for seat, text in ORDERS.items():
        table.act(Caller("seat", seat), table.desk.read_letter(GAME, Caller("seat", seat), text))
    table.answer()  # the raven
    table.answer()
    disputed = table.version
    bench, arbiter = Bench(table.desk, lambda receipt: None), Caller("arbiter", name="luwin")
    bench.appeal(GAME, Caller("seat", "alice"), disputed, "Too late.")
    table.rule()
    told = table.get("/appeals/1/case", "luwin")
    assert told.status == 422
    bench.act(GAME, arbiter, RuleOnAppeal(appeal=1, outcome="upheld", opinion="It was not."))
    table.rule()
    found = table.get("/appeals/1/case", "luwin")
    assert found.status == 200, found.body
    report = run_case(decode_case(found.body))
    assert report.passed and report.agreed, report.disagreement
    assert table.get(f"/appeals/1/case?at={table.version - 1}", "luwin").body == told.body
    assert table.get("/appeals/2/case", "luwin").json()["code"] == "no-such-appeal"
    assert table.get("/appeals/1/case", "alice").status == 403


# Everything, by privilege


def test_a_full_export_is_streamed_to_who_may_have_it_and_written_down_first() -> None:
    table = Table()
    table.answer()
    table.arbiter()
    before = table.version
    for who, status in ((None, 401), ("alice", 403)):
        assert table.get("/export?secrets=true&why=x", who).status == status
    for who in (ORGANISER, "operator", "luwin"):
        answer = table.get("/export?secrets=true", who)
        assert (answer.status, answer.json()["code"]) == (422, "why-missing")
    assert table.version == before
    for number, who in enumerate((ORGANISER, "operator"), 1):
        answer = table.get("/export?secrets=true&why=the+server+moves", who)
        assert answer.status == 200 and answer.header("content-length") is None
        assert table.version == before + number
        proof = prove(answer.body.splitlines(keepends=True))
        assert proof.is_confirmed and proof.full and proof.entries == table.version, proof.findings
        assert proof.report is not None
    reads = table.get("/secrets-read").json()["reads"]
    assert [(one["entry"], one["who"], one["why"]) for one in reads] == [
        (before + 1, None, None),
        (before + 2, None, None),
    ]


def test_an_arbiter_gets_what_is_sealed_for_the_houses_and_nothing_that_is_nobodys() -> None:
    table = Table(arbitration={"secrets-log": "at-once"})
    table.answer()
    table.arbiter()
    answer = table.get("/export?secrets=true&why=a+dispute+about+orders", "luwin")
    lines = answer.body.splitlines(keepends=True)
    header = msgspec.json.decode(lines[0], type=Header)
    assert (header.full, header.player, header.privileged) == (False, None, True)
    proof = prove(lines)
    assert proof.is_confirmed and not proof.full, proof.findings
    parts = [part for line in parse(lines) if isinstance(line, EntryLine) for part in line.sealed]
    assert {part.is_open for part in parts if part.audience} == {True}
    assert {part.is_open for part in parts if not part.audience} == {False}
    assert any(part.audience for part in parts)
    sent = [line.read().seat for line in parse(lines) if isinstance(line, SubmissionLine)]
    assert sent and set(sent) <= set(SEATS)
    for secret in (b"5e" * 32, table.store.pepper(GAME).hex().encode()):
        assert secret not in answer.body
        assert secret in table.get("/export?secrets=true&why=backup", "operator").body
    said = table.get("/secrets-read").json()["reads"][0]
    assert (said["who"], said["why"]) == ("arbiter luwin", "a dispute about orders")


def test_an_export_that_needs_no_privilege_opens_nothing_and_writes_nothing_down() -> None:
    table = Table()
    table.answer()
    before = table.version
    for who in (None, ORGANISER, "operator"):
        lines = table.get("/export", who).body.splitlines(keepends=True)
        assert not any(part.is_open for line in parse(lines) if isinstance(line, EntryLine) for part in line.sealed)
        assert not any(isinstance(line, SubmissionLine) for line in parse(lines))
    assert table.version == before


# Checkpoints


def test_every_checkpoint_that_was_handed_out_is_kept_and_served() -> None:
    table = Table()
    sizes = []
    for _ in range(3):
        sizes.append(table.version)  # each receipt has the checkpoint of the moment before
        table.answer()
    assert [one.size for one in table.store.checkpoints(GAME)] == sizes
    told = table.get("/checkpoints").json()
    assert [one["size"] for one in told["checkpoints"]] == [*sizes, table.version]
    assert told["checkpoints"][-1]["note"] == table.get("/checkpoint").body.decode()
    for one in told["checkpoints"]:
        assert table.get(f"/checkpoint?at={one['size']}").body.decode() == one["note"]
    assert [one["size"] for one in table.get("/checkpoints?at=2").json()["checkpoints"]] == [1, 2]
