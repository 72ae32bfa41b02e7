"""Forks over HTTP and the command line: who may make which, what they say they are, and that they cannot deny it."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
import structlog

from api.bundling import bundle
from api.desk import Desk
from api.forking import fork, is_closed, start_for
from api.proving import prove_file
from api.tokens import Caller
from domain.kernel.agreed import Arbitration
from domain.kernel.commands import PassDeadline
from domain.kernel.docket import Origin, PrivilegeUsed, SecretsRead
from domain.thrones.language.evolve import redacted
from domain.thrones.language.start import Start
from domain.thrones.language.state import State
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.charter import Charter
from events import chain, codec
from events.bundle import pack, unpack
from events.envelope import Stored, encode, submission
from events.errors import FileDamaged, RecordDamaged
from events.export import EntryLine, Header, export_game, import_game, parse
from events.store import Store
from events.verify import verify_chain, verify_export, verify_store
from tests.api.asgi import Answer
from tests.api.test_cli import SEATS, Rookery
from tests.api.test_noninterference import KINDS, Case, seat_of, start_from
from tests.api.twins import GAME, JUDGE, OPERATOR, Side, Twins
from tests.domain.thrones.games import Entry, play, spec
from tests.sizes import sized
from worker.adjudicate import adjudicate

CHARTER = Charter("second-edition", ("baratheon", "lannister", "stark"))
SEED = "f0" * 32
replace = msgspec.structs.replace


@pytest.fixture(autouse=True)
def _logging() -> Iterator[None]:
    yield
    structlog.reset_defaults()


class Table:
    """A game on a server in this process, and its forks."""

    def __init__(self, start: Start | None = None) -> None:
        self.side = Side()
        seats = {seat_of(house): house for house in CHARTER.houses}
        self.side.begin(start or Start(charter=replace(CHARTER, seats=seats), seed="5e" * 32))
        self.tokens: dict[tuple[str, str], str] = {(GAME, who): token for who, token in self.side.tokens.items()}

    @property
    def desk(self) -> Desk:
        return self.side.desk

    @property
    def store(self) -> Store:
        return self.side.store

    def rule(self, game: str = GAME) -> State:
        self.side.listening()
        outcome = adjudicate(self.store, JUDGE, game)
        assert outcome.how == "drained", self.store.record(game).parked
        state: State = self.desk.line(game).state
        return state

    def ask(self, who: str, path: str, body: Any = None, game: str = GAME, **headers: str) -> Answer:
        self.side.listening()
        token = OPERATOR if who == "operator" else self.tokens.get((game, who)) or None
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        client = self.side.client
        url = f"/v1/games/{game}{path}"
        return asyncio.run(
            client.get(url, token, named) if body is None else client.post(url, token, encode(body), named)
        )

    def fork(self, who: str, of: str = GAME, **order: Any) -> str:
        """A fork that is made, ruled on, and known by its tokens."""
        answer = self.ask(who, "/fork", order, of)
        assert answer.status == 201, answer.body
        made = answer.json()
        self.tokens |= {(made["game"], seat): token for seat, token in made["tokens"].items()}
        self.tokens[made["game"], "organiser"] = made["organiser"]
        self.rule(made["game"])
        return str(made["game"])

    def send(self, seat: str, command: Any, game: str = GAME) -> None:
        answer = self.ask(seat, "/commands", command, game)
        assert answer.status == 202, answer.body
        self.rule(game)

    def pass_deadlines(self, game: str, chance: random.Random, most: int = 10_000) -> State:
        """Play on by defaults and by chance, up to the end."""
        self.side.listening()
        state = self.rule(game)
        for _ in range(most):
            owed = THRONES.decisions(state)
            if not owed:
                break
            decision = owed[0]
            command: Any = PassDeadline(player=decision.player, question=state.question)
            if chance.random() < 0.2:
                command = replace(decision.sample(chance.randrange), question=state.question)
            sent = submission(command, seat=None, at=self.desk.clock(), cause="deadline")
            self.store.submit(game, sent)
            adjudicate(self.store, JUDGE, game, warm=self.side.warm)
            state = self.desk.line(game).state
        return state


@pytest.fixture
def table() -> Table:
    """A game in which Stark has laid its orders, and the others have not."""
    made = Table()
    state = made.rule()
    orders = next(one for one in THRONES.decisions(state) if one.player == "stark").default
    made.send("seat-stark", orders)
    return made


def problem(answer: Answer, status: int, code: str) -> dict[str, Any]:
    found: dict[str, Any] = answer.json()
    assert (answer.status, found["code"]) == (status, code), answer.body
    return found


def origin_of(table: Table, purpose: str = "analysis", *, hidden: bool = False, at: int = 2) -> Origin:
    entry = table.store.entry(GAME, at)
    assert entry is not None
    return Origin(GAME, at, entry.digest, purpose, hidden)


# A seat


def test_a_seat_makes_a_fork_of_what_it_sees_and_sits_everywhere(table: Table) -> None:
    answer = table.ask("seat-stark", "/fork", {"purpose": "  what if\nI march? "})
    made = answer.json()
    assert answer.status == 201
    assert answer.header("location") == f"/v1/games/{made['game']}"
    assert made["origin"] == msgspec.to_builtins(origin_of(table, "what if I march?"))
    assert made["seats"] == {house: house for house in CHARTER.houses}
    assert sorted(made["tokens"]) == sorted(made["seats"])
    state = table.rule(made["game"])
    assert sorted(state.hidden.answers) == ["stark"]
    assert [one.player for one in state.awaited] == ["baratheon", "lannister"]
    assert state.charter.chance == "seeded"
    other = table.fork("seat-lannister")
    assert table.desk.line(other).state.hidden.answers == {}


def test_a_fork_is_played_with_the_tokens_of_its_maker(table: Table) -> None:
    game = table.fork("seat-stark")
    for house in ("baratheon", "lannister"):
        owed = table.ask(house, "/owed", game=game).json()["owes"]
        table.send(house, {**owed[0]["default"], "question": owed[0]["question"]}, game)
    assert table.desk.line(game).state.awaited[0].kind == "raven"
    passed = PassDeadline(player="baratheon", question=table.desk.line(game).state.question)
    assert table.ask("organiser", "/commands", passed, game).status == 202
    # Tokens of one game are not good in the other.
    assert table.ask("stark", "/view", game=game).status == 200
    table.tokens[GAME, "stark"] = table.tokens[game, "stark"]
    problem(table.ask("stark", "/view"), 403, "token-of-another-game")


def test_an_earlier_version_is_forked_without_hindsight(table: Table) -> None:
    game = table.fork("seat-stark", at=1)
    state: State = table.desk.line(game).state
    assert state.docket.origin == origin_of(table, at=1)
    assert state.hidden.answers == {}


def test_seats_may_be_given(table: Table) -> None:
    seats = {"ann": "stark", "ben": "baratheon", "cat": "lannister"}
    game = table.fork("seat-stark", seats=seats, game="what-if")
    assert game == "what-if"
    assert table.desk.line(game).state.charter.seats == seats
    assert table.ask("ann", "/view", game=game).json()["house"] == "stark"
    order = {"seats": {"ann": "stark"}}
    problem(table.ask("seat-stark", "/fork", order), 422, "seats-do-not-fit")
    order = {"seats": {"organiser": "stark", "ben": "baratheon", "cat": "lannister"}}
    problem(table.ask("seat-stark", "/fork", order), 422, "bad-seat")


def test_the_same_key_makes_one_fork_of_each_maker(table: Table) -> None:
    first = table.ask("seat-stark", "/fork", {}, idempotency_key="once")
    again = table.ask("seat-stark", "/fork", {}, idempotency_key="once")
    other = table.ask("seat-lannister", "/fork", {}, idempotency_key="once")
    assert (first.status, other.status) == (201, 201)
    assert problem(again, 409, "game-exists")["params"]["game"] == first.json()["game"]


@pytest.mark.parametrize(
    ("order", "status", "code"),
    [
        ({"at": 0}, 422, "not-started"),
        ({"at": 99}, 404, "no-such-version"),
        ({"at": -1}, 404, "no-such-version"),
        ({"game": GAME}, 409, "game-exists"),
        ({"game": "no/id"}, 422, "bad-game-id"),
        ({"purpose": "x" * 201}, 422, "wrong-shape"),
        ({"seed": "5e" * 32}, 422, "wrong-shape"),
    ],
)
def test_orders_that_make_no_fork(table: Table, order: dict[str, Any], status: int, code: str) -> None:
    problem(table.ask("seat-stark", "/fork", order), status, code)
    assert table.store.games() == (GAME,)


# Everybody else


def test_the_public_makes_no_forks(table: Table) -> None:
    problem(table.ask("public", "/fork", {}), 401, "token-missing")
    assert table.store.games() == (GAME,)


@pytest.mark.parametrize("who", ["organiser", "operator"])
def test_a_fork_with_everything_is_a_privilege_that_is_written_down(table: Table, who: str) -> None:
    problem(table.ask(who, "/fork", {}), 422, "why-missing")
    problem(table.ask(who, "/fork", {"why": "  "}), 422, "why-missing")
    assert table.store.games() == (GAME,)
    assert table.store.inbox_length(GAME) == 2
    game = table.fork(who, why="a ruling is in doubt")
    table.rule()
    facts = JUDGE.codec.facts(last(table))
    assert facts[0] == PrivilegeUsed(entry=3, sealed=True)
    assert isinstance(facts[1], SecretsRead)
    assert (facts[1].who, facts[1].why) == (who, "a ruling is in doubt")
    assert "a fork of version 2" in facts[1].what
    state: State = table.desk.line(game).state
    true: State = table.desk.line(GAME, 2).state
    assert state.docket.origin == origin_of(table, hidden=True)
    same = {"charter": state.charter, "docket": state.docket, "hidden": replace(true.hidden, seed=state.hidden.seed)}
    assert state == replace(true, **same)
    assert state.hidden.seed != true.hidden.seed


def last(table: Table) -> Stored:
    *_, entry = table.store.entries(GAME)
    return entry


def test_an_arbiter_may_do_the_same_unless_he_plays(table: Table) -> None:
    table.tokens[GAME, "ivo"] = table.desk.tokens.issue_arbiter(GAME, "ivo")
    table.tokens[GAME, "sam"] = table.desk.tokens.issue_arbiter(GAME, "sam", "seat-stark")
    game = table.fork("ivo", why="to look at a line")
    assert table.desk.line(game).state.docket.origin == origin_of(table, hidden=True)
    problem(table.ask("sam", "/fork", {"why": "to look"}), 403, "arbiter-plays")
    assert table.store.games() == tuple(sorted((GAME, game)))
    # What everybody can see, he may have.
    assert table.fork("sam", redraw=True)
    allowed = Table(
        Start(
            charter=replace(
                CHARTER,
                seats={house: house for house in CHARTER.houses},
                arbitration=Arbitration(arbiter_may_play=True),
            ),
            seed=SEED,
        )
    )
    allowed.tokens[GAME, "sam"] = allowed.desk.tokens.issue_arbiter(GAME, "sam", "stark")
    assert allowed.fork("sam", why="we agreed on it")


def test_without_hidden_parts_the_organiser_needs_no_reason(table: Table) -> None:
    game = table.fork("organiser", redraw=True)
    state: State = table.desk.line(game).state
    assert state.docket.origin == origin_of(table)
    assert state.hidden.answers == {}
    assert table.store.inbox_length(GAME) == 2


def test_after_the_end_no_reason_is_needed_and_the_end_itself_is_not_forked() -> None:
    table = Table(start_from(nearly_over()))
    before = table.store.version(GAME)
    assert table.pass_deadlines(GAME, random.Random(1)).is_over
    assert table.fork("organiser", at=before)
    problem(table.ask("seat-stark", "/fork", {}), 422, "game-over")


# How many


def test_everybody_may_make_so_many_forks_of_a_game(table: Table) -> None:
    table.desk.most_forks = 2
    made = [table.fork("seat-stark"), table.fork("seat-stark", at=1)]
    told = problem(table.ask("seat-stark", "/fork", {}), 409, "too-many-forks")
    assert told["params"] == {"most": 2, "forks": sorted(made)}
    assert all(game in told["detail"] for game in made) and "operator" in told["detail"]
    # Others have forks of their own, the operator any number.
    assert table.fork("seat-lannister") and table.fork("organiser", redraw=True)
    assert all(table.fork("operator", redraw=True) for _ in range(3))
    assert len(table.store.games()) == 1 + 2 + 1 + 1 + 3


def test_forks_of_a_fork_count_for_who_made_the_first(table: Table) -> None:
    table.desk.most_forks = 3
    first = table.fork("seat-stark")
    second = table.fork("lannister", first)
    assert table.fork("organiser", second, redraw=True)
    for game, who in ((first, "baratheon"), (second, "stark"), (GAME, "seat-stark")):
        told = problem(table.ask(who, "/fork", {"redraw": who == "organiser"}, game), 409, "too-many-forks")
        assert bool(told["params"]["forks"]) == (game == GAME)
    assert table.fork("seat-lannister")


def test_a_fork_that_comes_to_nothing_does_not_count_and_reads_nothing(table: Table) -> None:
    table.desk.most_forks = 1
    problem(table.ask("organiser", "/fork", {}), 422, "why-missing")
    problem(table.ask("organiser", "/fork", {"game": "Not An Id", "redraw": True}), 422, "bad-game-id")
    problem(table.ask("organiser", "/fork", {"game": GAME, "redraw": True}), 409, "game-exists")
    assert table.fork("organiser", redraw=True)
    before = table.store.inbox_length(GAME)
    problem(table.ask("organiser", "/fork", {"why": "to look"}), 409, "too-many-forks")
    assert table.store.inbox_length(GAME) == before


def test_a_repetition_meets_the_first_fork_also_when_no_more_are_allowed(table: Table) -> None:
    table.desk.most_forks = 1
    first = table.ask("seat-stark", "/fork", {}, idempotency_key="once").json()["game"]
    again = problem(table.ask("seat-stark", "/fork", {}, idempotency_key="once"), 409, "game-exists")
    assert again["params"]["game"] == first


# What a fork with everything would tell


PATHS = ("", "/view", "/board", "/log", "/entries/1", "/export", "/tokens", "/checkpoint")


def test_a_fork_with_everything_is_closed_to_the_public_while_its_origin_runs() -> None:
    table = Table(start_from(nearly_over()))
    whole = table.fork("operator", why="teaching")
    inner = table.fork("organiser", whole, redraw=True)
    drawn = table.fork("organiser", redraw=True)
    for path in PATHS:
        problem(table.ask("public", path, game=whole), 401, "token-missing")
        problem(table.ask("public", path, game=inner), 401, "token-missing")
        assert table.ask("public", path, game=drawn).status in (200, 404)
        assert table.ask("stark", path, game=whole).status in (200, 404)
    problem(table.ask("public", "/commands", {}, game=whole), 401, "token-missing")
    # The fork ends before its origin: what it told is still not for everybody.
    assert table.pass_deadlines(whole, random.Random(2)).is_over
    assert is_closed(table.desk, whole)
    assert table.pass_deadlines(GAME, random.Random(3)).is_over
    for game in (whole, inner):
        assert table.ask("public", "/view", game=game).status == 200


def test_a_fork_of_what_does_not_lie_here_stays_closed(table: Table) -> None:
    whole = table.fork("operator", why="teaching")
    lines = list(export_game(table.store, whole))
    elsewhere = Table()
    import_game(elsewhere.store, lines)
    assert elsewhere.store.exists(GAME), "another game of that name"
    assert is_closed(elsewhere.desk, whole)


# What it is, it says


def test_every_view_says_that_it_is_a_fork(table: Table) -> None:
    game = table.fork("seat-stark", purpose="to learn")
    told = msgspec.to_builtins(origin_of(table, "to learn"))
    for who in ("public", "stark", "organiser"):
        assert table.ask(who, "", game=game).json()["origin"] == told
        for path in ("/view", "/view?at=1"):
            assert table.ask(who, path, game=game).json()["position"]["docket"]["origin"] == told
        board = table.ask(who, "/board", game=game).body.decode()
        assert board.startswith("A fork of twin at entry 2: to learn.\nRound 1")
        entry = table.ask(who, "/entries/1", game=game).json()
        assert {"fact": "Forked", "origin": told} in entry["facts"]
        assert "This game is a fork of twin at entry 2: to learn." in entry["sentences"]
        header = msgspec.json.decode(table.ask(who, "/export", game=game).body.splitlines()[0])
        assert header["origin"] == told
    assert table.ask("public", "").json()["origin"] is None
    assert b"origin" not in table.ask("public", "/export").body.splitlines()[0]


def test_verification_says_of_which_game_version_and_digest_it_is_a_fork(table: Table) -> None:
    game = table.fork("seat-stark")
    report = verify_store(table.store, JUDGE, game)
    assert report.is_confirmed
    assert report.origin == origin_of(table)
    assert verify_export(JUDGE, export_game(table.store, game)).origin == origin_of(table)
    assert verify_store(table.store, JUDGE, GAME).origin is None
    again = Table()
    import_game(again.store, export_game(table.store, game), "under-another-name")
    assert again.desk.origin("under-another-name") == origin_of(table)
    assert verify_store(again.store, JUDGE, "under-another-name").origin == origin_of(table)


def test_a_bundle_says_so_in_its_manifest_and_proves_a_fork_to_its_end(tmp_path: Path) -> None:
    table = Table(start_from(nearly_over()))
    told = origin_of(table, hidden=True, at=1)
    game = table.fork("operator", why="teaching")
    assert table.pass_deadlines(game, random.Random(4)).is_over
    for name, full in (("full.zip", True), ("public.zip", False)):
        path = tmp_path / name
        path.write_bytes(bundle(table.desk, game, full=full))
        assert unpack(path.read_bytes()).manifest.origin == told
        proof = prove_file(path)
        assert proof.is_confirmed, proof.findings
        assert proof.origin == told
        assert f"a fork of twin at entry 1 with the digest {told.digest}: analysis." in proof.remarks[0]
    found = unpack((tmp_path / "full.zip").read_bytes())
    silent = replace(found.manifest, origin=None)
    path.write_bytes(pack({**found.parts, "manifest.json": encode(silent) + b"\n"}))
    assert "origin" in str(prove_file(path).findings)
    path.write_bytes(bundle(table.desk, GAME, full=True))
    assert b"origin" not in unpack(path.read_bytes()).parts["manifest.json"]


def test_the_commitments_of_a_fork_are_its_own(table: Table) -> None:
    games = [GAME, table.fork("operator", why="teaching"), table.fork("operator", why="again", at=2)]
    parts, digests, seeds = set(), set(), set()
    count = 0
    for game in games:
        for stored in table.store.entries(game):
            digests.add(stored.digest)
            parts |= {part.commitment for part in stored.sealed}
            count += len(stored.sealed)
        seeds |= {one["commitment"] for one in facts_of(table.store, game) if one["fact"] == "SeedCommitted"}
    assert len(seeds) == len(games)
    assert len(parts) == count
    assert len(digests) == sum(table.store.version(game) for game in games)


def facts_of(store: Store, game: str) -> list[Any]:
    return [msgspec.json.decode(bytes(raw)) for stored in store.entries(game) for raw in codec.entry(stored).facts]


def test_a_fork_cannot_be_passed_off_as_something_else(table: Table) -> None:
    """Its header, its first entry and its command say what it is; no two of them can be changed without the third."""
    game = table.fork("operator", why="teaching")
    lines = list(export_game(table.store, game))
    header = msgspec.json.decode(lines[0], type=Header)
    entry = next(one for one in parse(lines) if isinstance(one, EntryLine)).stored()
    fact = next(bytes(raw) for raw in codec.entry(entry).facts if bytes(raw).startswith(b'{"fact":"Forked"'))
    plain = replace(header, game=GAME, origin=None)
    # The header alone.
    with pytest.raises(FileDamaged, match="of which game this is a fork"):
        list(parse(sealed(lines, plain, entry)))
    with pytest.raises(FileDamaged, match=f"'{GAME}', and the first entry is that of '{game}'"):
        list(parse(sealed(lines, replace(header, game=GAME), entry)))
    other = replace(header, origin=replace(origin_of(table, hidden=True), game="another"))
    assert isinstance(verify_chain(sealed(lines, other, entry)), FileDamaged)
    # Header and facts, the chain made anew.
    named = encode({"fact": "GameNamed", "game": game})
    without = entry.public.replace(fact + b",", b"").replace(named, encode({"fact": "GameNamed", "game": GAME}))
    assert without != entry.public
    forged = Stored(without, entry.sealed, chain.digest("0" * 64, without, entry.sealed))
    found = verify_export(JUDGE, sealed(lines, plain, forged)).disagreement
    assert found is not None
    assert (found.seq, found.what) == (1, "fact 1")
    # Another origin in both.
    said = encode(replace(JUDGE.codec.fact(fact), origin=other.origin))
    changed = entry.public.replace(fact, said)
    forged = Stored(changed, entry.sealed, chain.digest("0" * 64, changed, entry.sealed))
    found = verify_export(JUDGE, sealed(lines, other, forged)).disagreement
    assert found is not None
    assert (found.seq, found.what) == (1, "fact 2")
    # A changed byte without a new chain.
    with pytest.raises(RecordDamaged):
        import_game(Table().store, sealed(lines, other, Stored(changed, entry.sealed, entry.digest)), "elsewhere")


def sealed(lines: Sequence[bytes], header: Header, entry: Stored) -> list[bytes]:
    """An export with another header and another only entry, whose last line fits."""
    first = EntryLine(msgspec.Raw(entry.public), entry.sealed, entry.digest)
    kept = [encode(header) + b"\n", *lines[1:-2], encode(first) + b"\n"]
    end = {**msgspec.json.decode(lines[-1]), "head": entry.digest}
    end["sha256"] = hashlib.sha256(b"".join(kept)).hexdigest()
    return [*kept, encode(end) + b"\n"]


# On random games


@cache
def entries(game: int) -> tuple[Entry, ...]:
    return tuple(play(spec(game)))


def nearly_over() -> State:
    """A position two rounds before the end."""
    return next(entry.ruling.state for entry in entries(87) if entry.ruling.state.round == 9)


def kinds() -> dict[str, State]:
    """A position for every kind of question, late in a random game."""
    found: dict[str, State] = {}
    for game in (87, 86, 19, 4, 11):
        new = {one.kind: entry.ruling.state for entry in entries(game) for one in entry.ruling.state.awaited}
        found = {**new, **found}
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(kinds()))
def test_replay_verification_and_export_agree_on_forks_in_every_kind_of_question(kind: str) -> None:
    state = kinds()[kind]
    chance = random.Random(kind)
    table = Table(start_from(state))
    seat = chance.choice(sorted(start_from(state).charter.seats))
    for game in (table.fork("operator", why="teaching"), table.fork(seat)):
        table.pass_deadlines(game, chance, sized(12, 40))
        report = verify_store(table.store, JUDGE, game)
        assert report.is_confirmed, report.disagreement
        lines = list(export_game(table.store, game))
        assert verify_export(JUDGE, lines).head == report.head
        again = Table()
        import_game(again.store, lines, "again")
        assert again.desk.line("again").state == table.desk.line(game).state
        origin = report.origin
        assert origin is not None
        entry = table.store.entry(GAME, origin.version)
        assert entry is not None
        assert origin.digest == entry.digest


# Non-interference


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_forks_of_twins_that_differ_in_a_secret_are_the_same_to_everybody_else(kind: str) -> None:
    case: Case = next(KINDS[kind]((0, 1, 4)))
    twins = Twins(case.owner)
    twins.begin(case.left, case.right)
    sides = (twins.left, twins.right)
    differ = False
    for number, step in enumerate((None, *case.steps)):
        if step is not None:
            for side, body in zip(sides, (step.left, step.right), strict=True):
                asyncio.run(side.send(step, body, f"key-{number}"))
        version = twins.left.store.version(GAME)
        for who in twins.observers:
            if not who.startswith("seat-") and who != "public":
                continue
            caller = Caller("seat", who) if who != "public" else Caller()
            for at in {1, version}:
                starts = [start_at(side.desk, caller, at) for side in sides]
                assert encode(starts[0]) == encode(starts[1]), (who, at)
                rulings = [THRONES.decide(THRONES.blank(), start) for start in starts]
                assert encode(rulings[0].facts) == encode(rulings[1].facts)
        whole = [start_for(side.desk, GAME, Caller("operator"), side.desk.line(GAME), seed=SEED) for side in sides]
        differ = differ or whole[0].hidden != whole[1].hidden
    assert differ or kind == "refused", "there was a secret"


def start_at(desk: Desk, caller: Caller, at: int) -> Start:
    """What a fork begins with, but for the digest of the entry, which has salted commitments in it."""
    start = start_for(desk, GAME, caller, desk.line(GAME, at), seed=SEED)
    assert start.origin is not None
    return replace(start, origin=replace(start.origin, digest=""))


def test_the_fork_itself_is_the_command_that_was_compared(table: Table) -> None:
    caller = Caller("seat", "seat-stark")
    made = fork(table.desk, GAME, caller, seed=SEED, name="stated")
    stored = next(iter(table.store.submissions("stated")))
    start = start_for(table.desk, GAME, caller, table.desk.line(GAME), seed=SEED)
    assert bytes(stored.command) == encode(replace(start, game="stated"))
    assert start.charter.chance == "stated"
    assert made.origin == start.origin
    assert start.position is not None
    assert redacted(start.position) == start.position


# The command line


@pytest.fixture
def rookery(tmp_path: Path) -> Rookery:
    return Rookery(tmp_path / "data")


@pytest.mark.server
def test_forks_by_the_command_line(rookery: Rookery, tmp_path: Path) -> None:
    rookery.at_once("new", "--players", "3", "--game", "g", "--seed", "5", *SEATS)
    rookery.at_once("deadline", "g", "lannister")
    made = rookery.at_once("fork", "g", "--seat", "stark", "--purpose", "a lesson", "--as", "lesson", "--json").json
    assert (made["game"], made["origin"]["version"], made["origin"]["hidden"]) == ("lesson", 2, False)
    assert made["seats"] == {"baratheon": "baratheon", "lannister": "lannister", "stark": "stark"}
    board = rookery.at_once("show", "lesson", "--token", made["tokens"]["stark"]).out
    assert "A fork of g at entry 2: a lesson." in board
    assert "a fork of g" in rookery.at_once("games").out
    digest = made["origin"]["digest"]
    confirmed = rookery.at_once("verify", "lesson").out
    assert f"a fork of g at entry 2 with the digest {digest}: a lesson." in confirmed
    for name, options in (("full.jsonl", ("--why", "backup")), ("public.jsonl", ("--public",))):
        rookery.at_once("export", "lesson", tmp_path / name, *options)
        assert digest in rookery.at_once("verify", tmp_path / name).out

    assert "says why" in rookery.at_once("fork", "g", code=3).err
    told = rookery.at_once(
        "fork", "g", "--at", "1", "--why", "teaching", "--as", "whole",
        "--sits", "a=stark", "--sits", "b=lannister", "--sits", "c=baratheon",
    ).out  # fmt: skip
    assert "Game whole is a fork of g at entry 1, with all that was hidden: analysis." in told
    assert "Secrets are read by privilege" in rookery.at_once("log", "g", "--after", "2").out
    assert "with what is not known drawn anew" in rookery.at_once("fork", "g", "--redraw").out
    assert "no seat" in rookery.at_once("fork", "g", "--seat", "nobody", code=2).err
    assert "alice=stark" in rookery.at_once("fork", "g", "--redraw", "--sits", "stark", code=2).err
    assert "given twice" in rookery.at_once("fork", "g", "--redraw", "--sits", "a=stark", "--sits", "a=l", code=2).err
    rookery.at_once("fork", "g", "--redraw", "--as", "g", code=3)
    rookery.at_once("fork", "g", "--redraw", "--at", "77", code=2)
