"""A seed that several tables share: the same decks at each, sealed until the last has ended, then opened at all.

One table of three and one of four Houses are played once, the first to its end and the second part of the way; every
test begins with copies of them.
"""

from __future__ import annotations

import asyncio
import io
import random
import re
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import fakeredis
import msgspec
import pytest
import redis

from api.app import GROUPS, create_app
from api.bench import Bench
from api.desk import Desk
from api.forking import fork, is_closed
from api.openapi import operations
from api.proving import prove
from api.sharing import adopt, close_shared, create_shared, shared
from api.tokens import ORGANISER, Caller, Tokens
from domain.kernel.arbiter import Rewind
from domain.kernel.chance import commitment
from domain.kernel.docket import SharedSeedAwaited
from domain.kernel.facts import SeedOpened
from domain.kernel.refusal import Refusal
from domain.kernel.shared import OpenSharedSeed, SharedSeed
from domain.thrones.language import facts as f
from domain.thrones.language.start import Start
from domain.thrones.ruleset import THRONES
from events import codec
from events.embedded import Embedded
from events.envelope import Refused, Submission, encode, submission
from events.errors import GameExists, SharedSeedClosed, SharedSeedExists, SharedSeedUnknown, StoreAway
from events.export import export_game, import_game
from events.keys import shared_key
from events.shared import SharedRecord, SharedSeeds
from events.store import Store
from tests.api.asgi import Answer, Client
from tests.api.test_cli import Rookery
from tests.api.test_tampering import JUDGE, SIGNER
from tests.recording import embedded, real_store
from worker.adjudicate import Warm, adjudicate
from worker.jobs import Office
from worker.run import sweep_for_ever
from worker.settings import Settings
from worker.sharing import see_to_shared

__all__ = ["embedded", "real_store"]

OPERATOR = "operator-of-the-cup"
SEED = "c0ffee" + "5e" * 29
CUP = SharedRecord(
    id="cup", seed=SEED, commitment=commitment(SEED), created="2025-01-01T12:00:00.000000Z", rules=THRONES.name
)
TABLES = {"winter": 3, "summer": 4}
JUDGES = {THRONES.name: JUDGE}
OWN = "ab" * 32
"""A seed that one table draws from after a rewind."""


class Hall:
    """A server with the tables of a tournament."""

    def __init__(self, store: Store | None = None) -> None:
        self.store = store or Store(fakeredis.FakeRedis())
        times = (f"2025-01-01T12:{minute // 60 % 60:02}:{minute % 60:02}.000000Z" for minute in range(100_000))
        self.desk = Desk(
            self.store, Tokens(self.store, OPERATOR), None, JUDGE, clock=lambda: next(times), signer=SIGNER
        )
        self.seeds = SharedSeeds(self.store)
        self.tables = Warm()

    def adjudicate(self, game: str) -> None:
        outcome = adjudicate(self.store, JUDGE, game, warm=self.desk.warm)
        assert outcome.how == "drained", self.store.record(game).parked

    def new(self, game: str, players: int = 3, **more: Any) -> None:
        self.desk.create(edition="second-edition", players=players, game=game, shared="cup", **more)
        self.adjudicate(game)

    def state(self, game: str) -> Any:
        return self.desk.line(game).state

    def facts(self, game: str, after: int = 0) -> list[Any]:
        return [fact for stored in self.store.entries(game, after) for fact in JUDGE.codec.facts(stored)]

    def play(self, game: str, most: int = 10_000, number: int = 1) -> None:
        """Go on by chance, to the end or so many answers."""
        chance = random.Random(number)
        for _ in range(most):
            state = self.state(game)
            owed = THRONES.decisions(state)
            if not owed:
                return
            decision = chance.choice(owed)
            seat = next(seat for seat, house in state.charter.seats.items() if house == decision.player)
            self.desk.submit(game, Caller("seat", seat), encode(decision.sample(chance.randrange)))
            self.adjudicate(game)

    def send(self, game: str, command: Any) -> str:
        """What becomes of a command of the arbiter or the server: a code when it is refused."""
        receipt = self.desk.submit(game, Caller("operator"), encode(command), cause="system")
        self.adjudicate(game)
        stored = self.desk.ruling(game, receipt.inbox)
        assert stored is not None
        verdict = codec.entry(stored).verdict
        return verdict.code if isinstance(verdict, Refused) else ""

    def look(self) -> int:
        """One look at shared seeds, and what it has rung for is ruled on."""
        rung: set[str] = set()
        left = see_to_shared(self.store, JUDGES, rung.add, warm=self.tables)
        for game in sorted(rung):
            self.adjudicate(game)
        return left

    def opened(self, game: str) -> list[int]:
        """Entries in which the shared seed is opened on the record of a table."""
        return [
            codec.entry(stored).seq for stored in self.store.entries(game) if SeedOpened(seed=SEED) in _bare(stored)
        ]


def _bare(stored: Any) -> list[Any]:
    return [msgspec.structs.replace(fact, rules=()) for fact in JUDGE.codec.facts(stored)]


@cache
def played() -> dict[str, tuple[bytes, ...]]:
    """Both tables: winter is over, summer is not; and how summer ends."""
    hall = Hall()
    hall.seeds.create(CUP)
    for game, players in TABLES.items():
        hall.new(game, players, seats=None if players > 3 else {"alice": "stark", "bob": "lannister", "c": "baratheon"})
    hall.play("summer", 120)
    hall.play("winter")
    found = {game: tuple(export_game(hall.store, game)) for game in TABLES}
    hall.play("summer")
    return {**found, "summer at its end": tuple(export_game(hall.store, "summer"))}


def hall_with(winter: str = "winter", summer: str = "summer", store: Store | None = None) -> Hall:
    """A copy of the tables, on a server that keeps their seed."""
    hall = Hall(store)
    hall.seeds.create(CUP)
    for game, lines in (("winter", winter), ("summer", summer)):
        import_game(hall.store, played()[lines])
        hall.seeds.join("cup", game, next(hall.store.submissions(game)))
        hall.store.save_snapshot(game, JUDGE, hall.store.line(game, JUDGE))
        hall.store.settle(game)
    return hall


def ended_hall(store: Store | None = None) -> Hall:
    hall = hall_with(summer="summer at its end", store=store)
    close_shared(hall.desk, "cup")
    return hall


@cache
def dumped() -> dict[bytes, bytes]:
    client = ended_hall().store.client
    return {key: client.dump(key) for key in client.scan_iter()}


def same_hall(client: fakeredis.FakeRedis) -> Hall:
    """The hall where all has ended, many times over."""
    for key, value in dumped().items():
        client.restore(key, 0, value)
    return Hall(Store(client))


# The same decks, the same order


def test_tables_of_a_shared_seed_draw_the_same_on_the_same_occasions_and_others_do_not() -> None:
    hall = hall_with()
    hall.desk.create(edition="second-edition", players=3, game="alone")
    hall.adjudicate("alone")
    orders = {
        game: {(x.deck, x.occasion): x.cards for x in hall.facts(game) if isinstance(x, f.DeckShuffled)}
        for game in (*TABLES, "alone")
    }
    common = orders["winter"].keys() & orders["summer"].keys()
    assert {deck for deck, _ in common} >= {"westeros-1", "westeros-2", "westeros-3", "wildling"}
    assert {at: orders["winter"][at] for at in common} == {at: orders["summer"][at] for at in common}
    assert all(orders["winter"][at] != cards for at, cards in orders["alone"].items())
    named = {game: hall.state(game).charter.shared_seed for game in (*TABLES, "alone")}
    assert named == {"winter": SharedSeed("cup", CUP.commitment), "summer": SharedSeed("cup", CUP.commitment)} | {
        "alone": None
    }


def test_houses_are_dealt_by_the_names_of_the_seats_so_that_one_table_does_not_tell_the_next() -> None:
    hall = Hall()
    hall.seeds.create(CUP)
    dealt = []
    for number in range(6):
        seats = dict(zip((f"a{number}", f"b{number}", f"c{number}"), ("baratheon", "lannister", "stark"), strict=True))
        hall.new(f"table-{number}", seats=seats, deal=True)
        dealt.append(tuple(house for _, house in sorted(hall.state(f"table-{number}").charter.seats.items())))
    assert len(set(dealt)) > 1


# When it is opened


def test_a_table_that_has_ended_keeps_the_seed_sealed_and_says_what_it_waits_for() -> None:
    hall = hall_with()
    last = hall.facts("winter", hall.store.version("winter") - 1)
    assert [fact.shared for fact in last if isinstance(fact, SharedSeedAwaited)] == ["cup"]
    assert not any(isinstance(fact, SeedOpened) for fact in hall.facts("winter"))
    for full in (True, False):
        proof = prove(list(export_game(hall.store, "winter", full=full)))
        assert proof.is_confirmed, proof.findings
        assert proof.drawn.unproven >= 6 and not proof.drawn.proven
        assert any("wait for the shared seed cup" in one and CUP.commitment in one for one in proof.remarks)


def test_it_is_opened_at_every_table_when_it_is_closed_and_the_last_has_ended() -> None:
    hall = hall_with()
    assert hall.look() == 1 and not hall.opened("winter"), "it may still get tables, and summer is played"
    assert close_shared(hall.desk, "cup").state == "closed"
    assert hall.look() == 1 and not hall.opened("winter"), "summer is played"
    hall.play("summer")
    assert hall.look() == 1
    assert hall.look() == 0
    for game in TABLES:
        assert hall.opened(game) == [hall.store.version(game)]
        assert [one.kind for one in _kinds(hall, game)][-1] == "open-shared-seed"
        for full in (True, False):
            proof = prove(list(export_game(hall.store, game, full=full)))
            assert proof.is_confirmed and not proof.drawn.unproven and proof.drawn.proven >= 6, proof.findings[:3]
            assert not any("shared seed" in one for one in proof.remarks)
    found = shared(hall.desk, "cup")
    assert (found.state, found.seed, [one.stage for one in found.tables]) == ("open", SEED, ["open", "open"])
    versions = [hall.store.version(game) for game in TABLES]
    assert hall.look() == 0 and versions == [hall.store.version(game) for game in TABLES]


def _kinds(hall: Hall, game: str) -> Iterator[Any]:
    class Kind(msgspec.Struct):
        kind: str

    for one in hall.store.submissions(game):
        yield msgspec.json.decode(bytes(one.command), type=Kind)


def test_one_that_all_tables_have_left_is_not_opened_before_it_is_closed() -> None:
    hall = hall_with(summer="summer at its end")
    assert hall.look() == 1 and hall.look() == 1
    assert not any(hall.opened(game) for game in TABLES)
    hall.new("late")
    close_shared(hall.desk, "cup")
    assert hall.look() == 1
    assert not any(hall.opened(game) for game in TABLES), "the late table is played"
    with pytest.raises(SharedSeedClosed):
        hall.new("later")
    assert not hall.store.exists("later")


class Dying(fakeredis.FakeRedis):
    """A store that is away after so many calls."""

    calls_left = -1

    def execute_command(self, *args: Any, **options: Any) -> Any:
        if self.calls_left == 0:
            raise redis.exceptions.ConnectionError("killed")
        self.calls_left -= 1
        return super().execute_command(*args, **options)


def test_killed_anywhere_in_between_it_goes_on_and_opens_once() -> None:
    done = False
    killed = 0
    while not done:
        client = Dying()
        hall = same_hall(client)
        rung: set[str] = set()
        client.calls_left = killed
        try:
            see_to_shared(hall.store, JUDGES, rung.add)
            done = client.calls_left > 0
        except StoreAway:
            pass
        client.calls_left = -1
        killed += 1
        assert hall.look() <= 1
        for game in hall.store.unruled():
            hall.adjudicate(game)  # as the sweeper has it done
        assert hall.look() == 0
        for game in TABLES:
            assert hall.opened(game) == [hall.store.version(game)], killed
        assert shared(hall.desk, "cup").state == "open"
    assert killed > 15, "there were so many places to be killed at"


def test_killed_anywhere_while_a_table_is_made_it_is_there_whole_or_not_at_all() -> None:
    outcomes = set()
    for killed in range(100):
        client = Dying()
        hall = Hall(Store(client))
        hall.seeds.create(CUP)
        client.calls_left = killed
        try:
            hall.desk.create(edition="second-edition", players=3, game="third", shared="cup", key="once")
            done = client.calls_left > 0
        except StoreAway:
            done = False
        client.calls_left = -1
        assert not hall.store.exists("third") or "third" in hall.seeds.tables("cup"), "no table is unlisted"
        hall.look()
        assert hall.store.exists("third") == ("third" in hall.seeds.tables("cup"))
        outcomes.add(hall.store.exists("third"))
        if hall.store.exists("third"):
            hall.adjudicate("third")
            assert hall.state("third").charter.shared_seed == SharedSeed("cup", CUP.commitment)
        if done:
            break
    assert outcomes == {True, False} and done


def test_a_game_of_that_name_that_is_none_of_the_tables_does_not_hold_up_the_others() -> None:
    hall = ended_hall()
    opening = submission(Start(charter=hall.state("winter").charter, seed=SEED), seat=None, cause="system")
    hall.desk.create(edition="second-edition", players=3, game="alone")
    hall.adjudicate("alone")
    hall.store.client.hset(shared_key("cup", "tables"), "alone", codec.write_submission(_keyed(opening)))
    assert hall.look() == 1 and hall.look() == 0
    assert all(hall.opened(game) for game in TABLES)
    assert [one.game for one in shared(hall.desk, "cup").tables] == ["summer", "winter"]


def _keyed(opening: Submission) -> Submission:
    return msgspec.structs.replace(opening, key="k")


def test_the_id_of_another_game_is_refused_and_the_table_is_not_listed() -> None:
    hall = hall_with()
    hall.desk.create(edition="second-edition", players=3, game="alone")
    for game in ("alone", "winter"):
        with pytest.raises(GameExists):
            hall.new(game)
    assert [one.game for one in shared(hall.desk, "cup").tables] == ["summer", "winter"]


# Taken back


def test_a_table_that_has_ended_draws_from_the_seed_no_more() -> None:
    hall = hall_with(summer="summer at its end")
    assert hall.send("winter", Rewind(to=5, reason="an error", by="anne")) == "must-redraw"
    assert not hall.send("winter", Rewind(to=5, reason="an error", by="anne", seed=OWN))
    close_shared(hall.desk, "cup")
    assert hall.look() == 1 and not hall.opened("summer"), "winter is played again"
    # A second rewind, while the game is not over, does not lead back to the shared seed either.
    assert hall.send("winter", Rewind(to=4, reason="an error", by="anne")) == "must-redraw"
    hall.play("winter")
    assert any(fact == SeedOpened(seed=OWN, rules=fact.rules) for fact in hall.facts("winter") if _is_opening(fact))
    assert not hall.opened("winter"), "with its own end only its own seed is opened"
    assert hall.look() == 1 and hall.look() == 0
    for game in TABLES:
        assert len(hall.opened(game)) == 1
        proof = prove(list(export_game(hall.store, game)))
        assert proof.is_confirmed and not proof.drawn.unproven, proof.findings[:3]


def _is_opening(fact: Any) -> bool:
    return isinstance(fact, SeedOpened)


def test_a_running_table_may_be_taken_back_with_or_without_a_redraw() -> None:
    hall = hall_with()
    assert not hall.send("summer", Rewind(to=9, reason="an error", by="anne", seed=OWN))
    assert hall.state("summer").hidden.seed == OWN
    assert not hall.send("summer", Rewind(to=8, reason="an error", by="anne"))
    assert hall.state("summer").hidden.seed == SEED
    hall.play("summer")
    close_shared(hall.desk, "cup")
    hall.look()
    assert hall.look() == 0
    proof = prove(list(export_game(hall.store, "summer")))
    assert proof.is_confirmed and not proof.drawn.unproven, proof.findings[:3]


def test_once_it_is_open_a_rewind_draws_anew() -> None:
    hall = ended_hall()
    hall.look()
    hall.look()
    assert hall.send("winter", Rewind(to=5, reason="an error", by="anne")) == "must-redraw"
    assert not hall.send("winter", Rewind(to=5, reason="an error", by="anne", seed=OWN))
    hall.play("winter")
    proof = prove(list(export_game(hall.store, "winter")))
    assert proof.is_confirmed and not proof.drawn.unproven, proof.findings[:3]
    assert hall.look() == 0


def test_an_end_that_is_taken_back_while_the_seed_is_being_opened_gets_it_on_record_all_the_same() -> None:
    hall = ended_hall()
    hall.desk.submit(
        "winter", Caller("operator"), encode(Rewind(to=5, reason="an error", by="anne", seed=OWN)), cause="arbiter"
    )
    see_to_shared(hall.store, JUDGES, lambda game: None)  # winter had ended as far as could be seen
    for game in TABLES:
        hall.adjudicate(game)
    assert not hall.state("winter").is_over and hall.opened("winter") and hall.opened("summer")
    assert hall.look() == 0


def test_what_is_decided_is_done_though_a_table_is_taken_back_in_between() -> None:
    hall = ended_hall()
    import_game(hall.store, played()["winter"], "winter-2")
    adopt(hall.desk, "winter-2")

    def killed(game: str) -> None:
        raise StoreAway("killed")

    assert see_to_shared(hall.store, JUDGES, killed) == 1
    hall.adjudicate("summer")
    assert not hall.send("winter", Rewind(to=5, reason="an error", by="anne", seed=OWN))
    assert hall.look() == 1
    assert [game for game in ("summer", "winter", "winter-2") if hall.opened(game)] == ["summer", "winter-2"]
    hall.play("winter")
    assert hall.look() == 1 and hall.look() == 0
    assert hall.opened("winter")


@pytest.mark.parametrize(
    ("game", "name", "code"),
    [
        ("summer", "cup", "shared-seed-in-use"),
        ("winter", "mug", "no-such-shared-seed"),
        ("alone", "cup", "no-such-shared-seed"),
    ],
)
def test_nobody_opens_it_early_or_elsewhere(game: str, name: str, code: str) -> None:
    hall = hall_with()
    hall.desk.create(edition="second-edition", players=3, game="alone")
    hall.adjudicate("alone")
    assert hall.send(game, OpenSharedSeed(name)) == code
    assert not hall.opened(game)


def test_it_is_opened_once() -> None:
    hall = ended_hall()
    hall.look()
    assert hall.send("winter", OpenSharedSeed("cup")) == "shared-seed-open"


# Nobody sees it before


def roles(hall: Hall) -> dict[str, str]:
    """A token for everybody who can have one, at either table."""
    found = {"public": "", "operator": OPERATOR}
    for game in TABLES:
        found[f"{game} organiser"] = hall.desk.tokens.issue(game, ORGANISER)
        found[f"{game} arbiter"] = hall.desk.tokens.issue_arbiter(game, "anne")
        for seat in hall.state(game).charter.seats:
            found[f"{game} {seat}"] = hall.desk.tokens.issue(game, seat)
    return found


def filled(path: str, values: dict[str, Any]) -> str:
    """An address with its parameters; 1 for whatever else there may be."""
    return re.sub(r"{(\w+)(?::\w+)?}", lambda found: str(values.get(found[1], 1)), path)


def readable(hall: Hall, game: str) -> Iterator[str]:
    """Every address that can be read, at every place that matters."""
    version = hall.store.version(game)
    for path, method in operations(GROUPS):
        if method != "get" or path.endswith("/events"):
            continue
        for seq in (1, 2, version) if "{seq}" in path else (version,):
            for house in ("stark", "baratheon") if path.endswith("perspective") else ("",):
                values = {"game": game, "seq": seq, "inbox": f"{seq}-0", "shared_id": "cup", "rule": "2E-GEN-17"}
                named = filled(path, values)
                yield named + (f"?house={house}" if house else "")
                if "secrets" in [one.name for one in operations(GROUPS)[path, method].headers]:
                    yield f"{named}?secrets=true"
                if "at" in [one.name for one in operations(GROUPS)[path, method].headers]:
                    yield f"{named}?at=1" + (f"&house={house}" if house else "")


def everything(hall: Hall, tokens: dict[str, str]) -> list[tuple[str, Answer]]:
    """Whatever anybody gets for any address, without giving a reason to read secrets."""
    client = Client(create_app(hall.desk))
    found = []

    async def ask_for_all() -> None:
        for game in TABLES:
            strangers = [who for who in tokens if " " in who and not who.startswith(game)]
            asking = [who for who in tokens if who not in strangers[1:]]  # one of them is enough
            for path in readable(hall, game):
                found.extend([(f"{who} gets {path}", await client.get(path, tokens[who] or None)) for who in asking])
        for path, body in (("/v1/shared/cup/close", b""), ("/v1/shared", b'{"id":"cup"}'), ("/v1/shared", b"{}")):
            found.extend(
                [(f"{who} posts to {path}", await client.post(path, tokens[who] or None, body)) for who in tokens]
            )

    asyncio.run(ask_for_all())
    return found


def unpacked(body: bytes) -> bytes:
    if not body.startswith(b"PK"):
        return body
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        return b"".join(archive.read(name) for name in archive.namelist())


def secrets_of(hall: Hall) -> list[bytes]:
    """The seed, and the order of every deck as JSON has it, quoted or not."""
    tells = [SEED.encode()]
    for fact in hall.facts("summer", 0):
        if isinstance(fact, f.DeckShuffled) and fact.occasion.endswith("/set-up"):
            cards = encode(fact.cards)[1:-1]
            tells += [cards, cards.replace(b'"', b'\\"')]
    return tells


def test_no_answer_to_anybody_holds_a_byte_of_it_before_it_is_open_and_many_do_afterwards() -> None:
    hall = hall_with()
    tokens = roles(hall)
    tells = secrets_of(hall)
    seen: dict[int, int] = {}
    for what, got in everything(hall, tokens):
        seen[got.status] = seen.get(got.status, 0) + 1
        found = [tell for tell in tells if tell in unpacked(got.body) or tell.hex().encode() in got.body]
        assert not found, (what, found)
    assert seen[200] > 300 and seen[401] > 20 and seen[422] > 5, seen
    hall.play("summer")
    for _ in range(2):
        hall.look()
    assert shared(hall.desk, "cup").state == "open", "it was closed above"
    told = {what for what, got in everything(hall, {"public": ""}) if SEED.encode() in unpacked(got.body)}
    for kind in ("/log", "/export", "/bundle", "/v1/shared/cup", "/perspective"):
        assert any(what.startswith("public gets") and kind in what for what in told), kind


def test_secrets_of_a_table_that_has_ended_are_read_with_a_reason_that_is_recorded() -> None:
    hall = hall_with()
    bench = Bench(hall.desk, lambda receipt: hall.adjudicate("winter"))
    with pytest.raises(Refusal, match="why-missing"):
        bench.perspective("winter", Caller("operator"), "stark", 5)
    found = bench.perspective("winter", Caller("operator"), "stark", 5, "a protest")
    assert (found.hidden.seed, found.hidden.former, found.hidden.decks) == ("", (), {})
    assert [one.why for one in bench.reads("winter")] == ["a protest"]


def test_a_table_is_closed_to_the_public_while_others_may_still_draw_the_same() -> None:
    hall = hall_with()
    made = fork(hall.desk, "winter", Caller("seat", "alice"), at=20)
    hall.adjudicate(made.game)
    assert all(is_closed(hall.desk, game) for game in (*TABLES, made.game))
    close_shared(hall.desk, "cup")
    hall.play("summer")
    hall.look()
    assert not any(is_closed(hall.desk, game) for game in (*TABLES, made.game))


@pytest.mark.parametrize("who", [Caller("seat", "alice"), Caller("operator")])
def test_a_fork_has_a_seed_of_its_own_and_opens_no_other(who: Caller) -> None:
    hall = hall_with()
    made = fork(
        hall.desk, "winter", who, at=20, why="a look", seed=OWN, ruled=lambda receipt: hall.adjudicate("winter")
    )
    hall.adjudicate(made.game)
    state = hall.state(made.game)
    assert state.charter.shared_seed is None
    assert (state.hidden.seed, state.hidden.former) == (OWN, ())
    hall.play(made.game)
    record = b"".join(export_game(hall.store, made.game))
    assert OWN.encode() in record and SEED.encode() not in record
    assert made.game not in hall.seeds.tables("cup")
    reads = Bench(hall.desk, lambda receipt: None).reads("winter")
    assert [one.why for one in reads] == (["a look"] if who.role == "operator" else [])
    assert prove(list(export_game(hall.store, made.game))).is_confirmed


# What is wrong is named


def test_a_seed_that_is_opened_wrongly_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    hall = ended_hall()

    def lie(game: Any, *_: Any) -> None:
        game.emit(SeedOpened(seed="66" * 32))

    with monkeypatch.context() as forging:
        forging.setattr("domain.kernel.game.open_shared_seed", lie)
        hall.look()
    last = hall.store.version("winter")
    full = prove(list(export_game(hall.store, "winter")))
    assert full.report is not None and full.report.disagreement is not None and full.report.disagreement.seq == last
    public = prove(list(export_game(hall.store, "winter", full=False)))
    assert [(one.entry, one.detail) for one in public.findings] == [
        (last, "the seed that was opened is not one that was committed to")
    ]
    assert public.drawn.unproven >= 6, "and no draw passes for proven"


def test_a_table_that_draws_from_another_seed_than_its_charter_names_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    hall = hall_with()
    charter = msgspec.structs.replace(hall.state("winter").charter, shared=SharedSeed("cup", CUP.commitment))
    other = Start(charter=charter, seed=OWN)
    with pytest.raises(Refusal, match="shared-seed-differs"):
        THRONES.decide(THRONES.blank(), other)
    with monkeypatch.context() as forging:
        forging.setattr("domain.kernel.game._check_shared", lambda *_: None)
        hall.desk.begin("false", other)
        hall.adjudicate("false")
    full = prove(list(export_game(hall.store, "false")))
    assert full.report is not None and full.report.disagreement is not None and full.report.disagreement.seq == 1
    public = prove(list(export_game(hall.store, "false", full=False)))
    assert [one.detail for one in public.findings] == ["the seed is not the shared one that the charter names"]


# Over HTTP, and on the move


@pytest.fixture(params=["fake", "real"])
def hall(request: pytest.FixtureRequest) -> Hall:
    return Hall(request.getfixturevalue("real_store") if request.param == "real" else None)


def test_the_operator_makes_one_gives_it_tables_and_closes_it(hall: Hall) -> None:
    client = Client(create_app(hall.desk))

    def post(path: str, body: Any = None, token: str = OPERATOR, key: str = "") -> Answer:
        headers = {"idempotency-key": key} if key else {}
        return asyncio.run(client.post(path, token or None, b"" if body is None else encode(body), headers))

    def code(answer: Answer) -> tuple[int, str]:
        return answer.status, answer.json().get("code", "")

    made = post("/v1/shared", {"id": "cup"}, key="one")
    assert (made.status, made.header("location")) == (201, "/v1/shared/cup")
    assert sorted(made.json()) == ["commitment", "created", "id", "seed", "state", "tables"]
    assert made.json()["seed"] == "" and made.json()["state"] == "taking-tables"
    assert post("/v1/shared", {"id": "cup"}, key="one").json() == made.json()
    assert code(post("/v1/shared", {"id": "cup"}, key="two")) == (409, "shared-seed-exists")
    assert code(post("/v1/shared", {"id": "cup"})) == (409, "shared-seed-exists")
    assert code(post("/v1/shared", {"id": "A cup"})) == (422, "bad-game-id")
    first = post("/v1/shared", {}, key="three").json()
    assert post("/v1/shared", {}, key="three").json() == first
    assert code(post("/v1/shared", {}, token="")) == (401, "token-missing")
    assert code(post("/v1/shared", {}, token="nobody")) == (403, "not-allowed")
    assert code(post("/v1/shared/cup/close", token="")) == (401, "token-missing")
    assert code(post("/v1/shared/mug/close")) == (404, "no-such-shared-seed")
    assert code(asyncio.run(client.get("/v1/shared/mug"))) == (404, "no-such-shared-seed")

    assert post("/v1/games", {"players": 3, "game": "red", "shared": "cup"}).status == 201
    assert post("/v1/games", {"players": 5, "game": "blue", "shared": "cup"}).status == 201
    for wrong in ({"joint": True}, {"seed": OWN}, {"chance": "imposed"}, {"decks": {"I": []}}):
        assert code(post("/v1/games", {"players": 3, "game": "x", "shared": "cup", **wrong})) == (
            422,
            "shared-seed-alone",
        )
    assert code(post("/v1/games", {"players": 3, "game": "x", "shared": "mug"})) == (404, "no-such-shared-seed")
    for game in ("red", "blue"):
        hall.adjudicate(game)
    closed = post("/v1/shared/cup/close").json()
    assert closed["state"] == "closed"
    assert [(one["game"], one["stage"]) for one in closed["tables"]] == [("blue", "playing"), ("red", "playing")]
    assert post("/v1/shared/cup/close").json() == closed
    assert code(post("/v1/games", {"players": 3, "game": "x", "shared": "cup"})) == (409, "shared-seed-closed")
    assert not hall.store.exists("x")
    told = asyncio.run(client.get("/v1/shared/cup")).json()
    assert told == closed
    token = hall.desk.tokens.issue("red", ORGANISER)
    named = asyncio.run(client.get("/v1/games/red", token)).json()["charter"]["shared"]
    assert named == {"id": "cup", "commitment": made.json()["commitment"]}
    assert code(asyncio.run(client.get("/v1/games/red"))) == (401, "token-missing")


def test_what_is_open_is_open_on_a_real_server_too(real_store: Store) -> None:
    hall = ended_hall(real_store)
    assert hall.look() == 1 and hall.look() == 0
    assert all(len(hall.opened(game)) == 1 for game in TABLES)


def test_one_without_tables_is_open_once_it_is_closed() -> None:
    hall = Hall()
    name = create_shared(hall.desk).id
    assert hall.look() == 1
    close_shared(hall.desk, name)
    assert hall.look() == 0
    found = shared(hall.desk, name)
    assert found.state == "open" and commitment(found.seed) == found.commitment


def test_tables_that_move_take_their_seed_along_and_are_waited_for() -> None:
    there = Hall()
    for game in TABLES:
        import_game(there.store, played()[game])
        adopt(there.desk, game)
        adopt(there.desk, game)
    found = shared(there.desk, "cup")
    assert (found.commitment, found.state, found.seed) == (CUP.commitment, "taking-tables", "")
    assert [(one.game, one.stage) for one in found.tables] == [("summer", "playing"), ("winter", "ended")]
    close_shared(there.desk, "cup")
    assert there.look() == 1 and not there.opened("winter")
    there.play("summer")
    assert there.look() == 1 and there.look() == 0
    assert all(there.opened(game) for game in TABLES)


def test_a_table_that_comes_later_is_opened_too_and_another_seed_of_that_name_is_refused() -> None:
    hall = ended_hall()
    hall.look()
    hall.look()
    import_game(hall.store, played()["winter"], "winter-2")
    adopt(hall.desk, "winter-2")
    assert hall.look() == 1 and hall.look() == 0
    assert hall.opened("winter-2")
    there = Hall()
    import_game(there.store, list(export_game(hall.store, "winter")))
    adopt(there.desk, "winter")
    assert there.look() == 0
    with pytest.raises(SharedSeedClosed):
        there.new("late")
    other = Hall()
    create_shared(other.desk, "cup")
    import_game(other.store, played()["winter"])
    with pytest.raises(SharedSeedExists):
        adopt(other.desk, "winter")
    with pytest.raises(SharedSeedUnknown):
        shared(other.desk, "mug")


# Who sees to it


class Turns:
    """Stops a sweeper after so many turns."""

    def __init__(self, turns: int) -> None:
        self.left = turns

    def wait(self, timeout: float) -> bool:
        self.left -= 1
        return self.left < 0


def test_the_sweeper_of_a_worker_sees_to_it(embedded: Embedded, real_store: Store) -> None:
    hall = ended_hall(real_store)
    office = Office(Settings(store_url=embedded.store_url, queue_url=embedded.queue_url, sweep_seconds=0))
    sweep_for_ever(office, Turns(1))  # type: ignore[arg-type]  # all it asks of an event
    for game in TABLES:
        assert office.bell.next_game(0) in TABLES
        hall.adjudicate(game)
    sweep_for_ever(office, Turns(1))  # type: ignore[arg-type]  # all it asks of an event
    assert shared(hall.desk, "cup").state == "open"
    assert all(len(hall.opened(game)) == 1 for game in TABLES)


@pytest.mark.server
def test_the_command_line_sees_to_it_where_no_server_runs(tmp_path: Path) -> None:
    rookery = Rookery(tmp_path / "data")
    for game, lines in (("winter", "winter"), ("summer", "summer at its end")):
        (tmp_path / f"{game}.jsonl").write_bytes(b"".join(played()[lines]))
        rookery.at_once("import", tmp_path / f"{game}.jsonl")
    told = rookery.at_once("verify", "winter").out
    assert "confirmed" in told and f"wait for the shared seed cup (commitment {CUP.commitment})" in told
    refused = rookery.at_once("export", "winter", tmp_path / "full.jsonl", code=2).err
    assert "--why" in refused and not (tmp_path / "full.jsonl").exists()
    rookery.at_once("export", "winter", tmp_path / "public.jsonl", "--public")
    assert SEED.encode() not in (tmp_path / "public.jsonl").read_bytes()
    assert "takes tables" in rookery.at_once("shared", "show", "cup").out
    rookery.at_once("new", "--shared", "cup", "--joint", "--players", "3", code=3)
    rookery.at_once("new", "--shared", "mug", "--players", "3", code=2)
    rookery.at_once("shared", "new", "--id", "cup", code=3)
    closed = rookery.at_once("shared", "close", "cup", "--json").json
    assert (closed["state"], closed["seed"]) == ("open", SEED)
    assert "draws follow from the seed, which is open" in rookery.at_once("verify", "winter").out
    assert rookery.at_once("shared", "show", "--json").json["shared"] == [closed]
    rookery.at_once("export", "winter", tmp_path / "full.jsonl")
    again = Rookery(tmp_path / "elsewhere")
    again.at_once("shared", "new", "--id", "cup")
    assert "Another shared seed" in again.at_once("import", tmp_path / "winter.jsonl", code=3).err
