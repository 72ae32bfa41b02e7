"""Nobody can tell from anything he is told what is somebody else's secret (section 23).

From random games positions are taken at which a secret arises. There twins go apart: they differ in that secret and
in nothing else, and go on alike until it is revealed. All that anybody else gets is compared, byte by byte.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import random
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Any

import msgspec
import pytest
import structlog

from api.desk import Desk, LogEntry
from api.games.thrones.sentences import Prose
from api.tokens import Caller, Tokens
from domain.kernel.commands import Command, PassDeadline
from domain.kernel.decision import Decision
from domain.kernel.facts import AnswersOpened
from domain.kernel.refusal import Refusal
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from domain.thrones.language.evolve import redacted
from domain.thrones.language.start import Start
from domain.thrones.language.state import State
from domain.thrones.language.view import View
from domain.thrones.notation import NotationError, format_answer
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.charter import Charter, Switches
from events import codec, sealing
from events.envelope import Receipt, Stored, encode
from events.ruling import Judge
from events.store import Store
from tests.api.twins import AT, GAME, JUDGE, Difference, Side, Step, Twins, blanked
from tests.domain.thrones.games import Entry, play, spec
from tests.sizes import sized
from worker.log import logger

pytestmark = pytest.mark.slow

REVEALS = (f.WesterosCardDrawn, f.WildlingCardRevealed, f.WildlingCardSeen, f.TidesCardDrawn, f.GameWon)
"""Facts that bring something out of a deck to light, or begin to; sealed answers come with AnswersOpened."""


class Case(msgspec.Struct, frozen=True):
    """Twins: whose secret differs (None: nobody's, such as the order of a deck), how they begin and go on."""

    kind: str
    owner: str | None
    left: Start
    right: Start
    steps: tuple[Step, ...]


@pytest.fixture(autouse=True)
def _logging() -> Iterator[None]:
    yield
    structlog.reset_defaults()


def seat_of(house: str) -> str:
    return f"seat-{house}"


def start_from(state: State, **hidden: Any) -> Start:
    """A game that begins at a position of another."""
    charter = msgspec.structs.replace(state.charter, seats={seat_of(house): house for house in state.houses})
    return Start(
        charter=charter,
        seed="5e" * 32,
        position=redacted(state),
        hidden=msgspec.structs.replace(state.hidden, **hidden),
        reason="taken from another game",
    )


@cache
def games(number: int) -> tuple[Entry, ...]:
    """The first rounds of a random game."""
    return tuple(islice(play(spec(number)), 700))


def entries(numbers: Sequence[int]) -> Iterator[Entry]:
    """Entries of several games in an order of chance, so that no phase is preferred."""
    found = [entry for number in numbers for entry in games(number)]
    random.Random(str(numbers)).shuffle(found)
    return iter(found)


def position(start: Start) -> State:
    """The state that a game begins with."""
    return THRONES.decide(THRONES.blank(), start).state


def same_in_public(left: State, right: State) -> bool:
    return encode(THRONES.public(left)) == encode(THRONES.public(right))


def as_step(state: State, answer: c.HouseAnswer, other: c.HouseAnswer, chance: random.Random) -> Step:
    """An answer as a request: structured, or as a letter where that says the same."""
    answers = [msgspec.structs.replace(one, question=state.question) for one in (answer, other)]
    is_letter = chance.random() < 0.5 and all(one.canonical() == one for one in answers)
    bodies = [format_answer(one).encode() if is_letter else encode(one) for one in answers]
    return Step(seat_of(answer.house), bodies[0], bodies[1], is_letter)


def onward(
    left: State, right: State, chance: random.Random, most: int, until: tuple[type, ...] = (AnswersOpened, *REVEALS)
) -> list[Step]:
    """How both sides go on alike by random play, until something would be revealed."""
    steps: list[Step] = []
    while len(steps) < most:
        owed = THRONES.decisions(left)
        if not owed:
            break
        decision = owed[chance.randrange(len(owed))]
        command: Command = decision.sample(chance.randrange)
        step = as_step(left, command, command, chance)
        if chance.random() < 0.1:
            command = PassDeadline(player=decision.player, question=left.question)
            step = Step("organiser", encode(command), encode(command))
        ruling = THRONES.decide(left, command)
        if any(isinstance(fact, until) for fact in ruling.facts):
            break
        left, right = ruling.state, THRONES.decide(right, command).state
        assert same_in_public(left, right), (decision.kind, command)
        steps.append(step)
        if chance.random() < 0.3:
            steps.append(trouble(left, chance))
    return steps


def trouble(state: State, chance: random.Random) -> Step:
    """A command for somebody else's house, or a stale one, for the ledger to refuse."""
    house, other = chance.sample(state.houses, 2)
    body = encode(c.WildlingBid(house if chance.random() < 0.5 else other, 1, question=max(0, state.question - 1)))
    return Step(seat_of(house), body, body)


def secret_answer(kind: str, numbers: Sequence[int], most: int = 4) -> Iterator[Case]:
    """Two answers of one kind, both legal, and still in their envelopes afterwards."""
    for entry in entries(numbers):
        if not isinstance(entry.command, c.HouseAnswer) or entry.command.kind != kind or entry.command.tentative:
            continue
        if any(isinstance(fact, AnswersOpened) for fact in entry.ruling.facts):
            continue
        chance = random.Random(kind)
        other = another(entry, chance)
        if other is None:
            continue
        start = start_from(entry.before)
        begun = position(start)
        left, right = THRONES.decide(begun, entry.command).state, THRONES.decide(begun, other).state
        first = as_step(entry.before, entry.command, other, chance)
        yield Case(kind, first.who, start, start, (first, *onward(left, right, chance, most)))


def another(entry: Entry, chance: random.Random) -> Any:
    """Another legal answer that says the same in public (in turn, tokens are laid where all can see)."""
    decision = next(one for one in entry.owed if one.player == entry.command.player)  # type: ignore[attr-defined]
    for _ in range(40):
        other = decision.sample(chance.randrange)
        if (
            other != entry.command
            and getattr(other, "orders", {}).keys() == getattr(entry.command, "orders", {}).keys()
        ):
            return other
    return None


def draft(numbers: Sequence[int]) -> Iterator[Case]:
    """Two drafts of orders; then the deadline of some is passed, perhaps of the one who has a draft only."""
    for case in secret_answer("assign-orders", numbers):
        chance = random.Random("draft")
        state = position(case.left)
        house = case.owner.removeprefix("seat-") if case.owner else ""
        decision = next(one for one in THRONES.decisions(state) if one.player == house)
        if len(THRONES.decisions(state)) < 2:
            continue
        drafts = [decision.sample(chance.randrange) for _ in range(2)]
        if drafts[0].orders == drafts[1].orders or decision.options.is_short:
            continue
        first, other = (msgspec.structs.replace(one, draft=True) for one in drafts)
        passed = PassDeadline(player=house, question=state.question)
        left, right = (THRONES.decide(THRONES.decide(state, one).state, passed).state for one in (first, other))
        kept = as_step(state, first, other, chance)
        missed = Step("organiser", encode(passed), encode(passed))
        assert case.owner == kept.who
        yield Case("draft", case.owner, case.left, case.left, (kept, missed, *onward(left, right, chance, 4)))


def refused(numbers: Sequence[int]) -> Iterator[Case]:
    """Two answers that would be secret, each refused for another reason, which is its author's secret too."""
    kinds = ("assign-orders", "influence-bid", "wildling-bid", "house-card")
    for entry in entries(numbers):
        if not isinstance(entry.command, c.HouseAnswer) or entry.command.kind not in kinds:
            continue
        house = entry.command.house
        bad: list[Command | bytes] = [
            c.WildlingBid(house, 99),
            c.InfluenceBid(house, "fiefdoms", 98),
            c.AssignOrders(house, {"nowhere": "march-0"}),
            c.AssignOrders(house, {"winterfell": "march-0"}),
            c.HouseCardChoice(house, "winterfell", "nobody"),
            c.WildlingBid(next(one for one in entry.before.houses if one != house), 1),
        ]
        chance = random.Random(entry.before.question)
        start = start_from(entry.before)
        chosen = [one for one in bad if _is_refused(position(start), one)]
        pairs = [chance.sample(chosen, 2) for _ in range(3)]
        steps = [Step(seat_of(house), encode(one), encode(other)) for one, other in pairs]
        yield Case("refused", seat_of(house), start, start, tuple(steps))


def _is_refused(state: State, command: Any) -> bool:
    try:
        THRONES.decide(state, command)
    except Refusal:
        return True
    return bool(command.house not in state.houses)


def raven(numbers: Sequence[int]) -> Iterator[Case]:
    """Two orders of the wildling deck, and the raven's holder looks at the top."""
    for entry in entries(numbers):
        decision = next((one for one in entry.owed if one.kind == "raven"), None)
        if decision is None or "wildling" not in entry.before.hidden.decks:
            continue
        top, *rest = entry.before.hidden.decks["wildling"]
        other = (rest[-1], *rest[:-1], top)
        start = start_from(entry.before)
        twin = start_from(entry.before, decks={**entry.before.hidden.decks, "wildling": other})
        look = c.Raven(decision.player, "look")
        chance = random.Random("raven")
        left, right = (THRONES.decide(position(one), look).state for one in (start, twin))
        assert left.hidden.seen != right.hidden.seen
        first = as_step(entry.before, look, look, chance)
        yield Case("raven", first.who, start, twin, (first, *onward(left, right, chance, sized(5, 8), REVEALS)))


def decks(numbers: Sequence[int]) -> Iterator[Case]:
    """Two seeds, and every deck in another order, which nobody knows."""
    for entry in entries(numbers):
        if (
            entry.command.__struct_config__.tag != "assign-orders"
            or entry.before.charter.switches.tides_of_battle == "on"
        ):
            continue
        chance = random.Random("decks")
        start = start_from(entry.before)
        other = {name: tuple(chance.sample(deck, len(deck))) for name, deck in entry.before.hidden.decks.items()}
        twin = msgspec.structs.replace(start_from(entry.before, decks=other), seed="a1" * 32)
        yield Case(
            "decks", None, start, twin, tuple(onward(position(start), position(twin), chance, sized(6, 12), REVEALS))
        )


def seeds(numbers: Sequence[int]) -> Iterator[Case]:
    """Two seeds from the very beginning: round 1 has no Westeros phase, so all of its actions are alike."""
    for number in numbers:
        houses = spec(number).charter.houses
        charter = Charter("second-edition", houses, Switches(), {seat_of(house): house for house in houses})
        left, right = (Start(charter=charter, seed=f"{number * 2 + one:064x}") for one in (1, 2))
        chance = random.Random(number)
        yield Case(
            "seeds", None, left, right, tuple(onward(position(left), position(right), chance, sized(8, 20), REVEALS))
        )


def tides(numbers: Sequence[int]) -> Iterator[Case]:
    """Two orders of the Tides deck: one combatant draws another card, and the Blade is asked for before the reveal."""
    for entry in entries(numbers):
        if not isinstance(entry.command, c.HouseCardChoice) or not entry.ruling.state.hidden.tides:
            continue
        if entry.ruling.state.awaited[0].kind != "blade-redraw":
            continue
        chance = random.Random("tides")
        deck = entry.before.hidden.decks["tides"]
        drawn = entry.ruling.state.hidden.tides
        owner = min(drawn)
        for _ in range(200):
            order = tuple(chance.sample(deck, len(deck)))
            twin = start_from(entry.before, decks={**entry.before.hidden.decks, "tides": order})
            other = THRONES.decide(position(twin), entry.command).state.hidden.tides
            if {house for house in drawn if drawn[house] != other[house]} == {owner}:
                card = as_step(entry.before, entry.command, entry.command, chance)
                yield Case(
                    "tides", seat_of(owner), start_from(entry.before), twin, (card, trouble(entry.before, chance))
                )
                break


KINDS: dict[str, Callable[[Sequence[int]], Iterator[Case]]] = {
    "assign-orders": lambda numbers: secret_answer("assign-orders", numbers),
    "influence-bid": lambda numbers: secret_answer("influence-bid", numbers),
    "wildling-bid": lambda numbers: secret_answer("wildling-bid", numbers),
    "house-card": lambda numbers: secret_answer("house-card", numbers),
    "draft": draft,
    "refused": refused,
    "raven": raven,
    "decks": decks,
    "seeds": seeds,
    "tides": tides,
}
GAMES = {0: (0, 1, 4), 1: (2, 3, 21)}
"""Random games by the seed of a test: three to six players, Tides of Battle in one of each."""


def compare(case: Case, make_desk: Callable[[Store, Tokens], Desk] | None = None) -> Twins:
    """Play the twins through HTTP and compare all that anybody but the owner gets."""
    twins = Twins(case.owner, make_desk)
    twins.begin(case.left, case.right)
    asyncio.run(twins.play(case.steps))
    return twins


def bodies(side: Side) -> list[bytes]:
    """Everything sealed in a game but the secret its salts come from."""
    return [bytes(part.body) for n, entry in enumerate(side.store.entries(GAME)) for part in entry.sealed[n == 0 :]]


TWINS = [(kind, seed) for at, kind in enumerate(KINDS) for seed in sized((at % len(GAMES),), tuple(GAMES))]
"""As usual each kind of secret in one of the games."""


@pytest.mark.parametrize(("kind", "seed"), TWINS)
def test_twins_that_differ_in_a_secret_look_alike_to_everybody_else(kind: str, seed: int) -> None:
    case = next(KINDS[kind](GAMES[seed]))
    assert case.kind == kind
    assert case.steps
    twins = compare(case)
    assert bodies(twins.left) != bodies(twins.right), "the twins do differ"
    assert twins.compared > 300


def test_only_digests_are_blanked() -> None:
    commitment = "ab" * 32
    seal = f'{{"bid":3,"hidden":{{"seed":"{commitment}"}},"commitment":"{commitment}","digest":"short"}}'
    assert blanked(seal.encode()) == seal.replace(f'"commitment":"{commitment}"', '"commitment":""').encode()
    inside = encode({"public": seal})
    assert blanked(inside).count(commitment.encode()) == 1


# That it can fail: desks that tell too much


class TellsPositions(Desk):
    """Gives the hidden part of the position away."""

    def view(self, game: str, caller: Caller, at: int | None = None) -> tuple[int, View]:
        version, seen = super().view(game, caller, at)
        return version, msgspec.structs.replace(seen, position=self.line(game, at).state)


class TellsEntries(Desk):
    """Gives sealed parts away."""

    def shown(self, stored: Stored, house: str | None) -> Stored:
        return stored


class TellsLengths(Desk):
    """Gives away in the log how long a sealed command is."""

    def readable(self, stored: Stored, house: str | None, prose: Prose) -> LogEntry:
        command = codec.raw_command(stored, codec.entry(stored)) or b""
        entry = super().readable(stored, house, prose)
        return msgspec.structs.replace(entry, sentences=(*entry.sentences, f"{len(command)} bytes."))


class TellsInErrors(Desk):
    """Gives away in the message about an unreadable letter what others have in their envelopes."""

    def read_letter(self, game: str, caller: Caller, text: str, seen: int | None = None) -> c.HouseAnswer:
        try:
            return super().read_letter(game, caller, text, seen)
        except NotationError as error:
            raise NotationError(f"{error} {self.line(game).state.hidden.answers}", 1) from error


class TellsInLog(Desk):
    """Writes a command into the log of the server."""

    def submit(self, game: str, caller: Caller, command: bytes, **rest: Any) -> Receipt:
        logger().info("taken", command=command.decode())
        return super().submit(game, caller, command, **rest)


class TellsWhatIsOwed(Desk):
    """Asks a question of everybody that shows what is in the envelope of one."""

    def view(self, game: str, caller: Caller, at: int | None = None) -> tuple[int, View]:
        version, seen = super().view(game, caller, at)
        told = {"answers": dict(self.line(game, at).state.hidden.answers)}
        return version, msgspec.structs.replace(
            seen, owes=tuple(msgspec.structs.replace(owed, facts=told) for owed in seen.owes)
        )


@pytest.mark.parametrize(
    ("leaky", "kind", "where"),
    [
        (TellsPositions, "wildling-bid", "/view"),
        (TellsEntries, "refused", "/log"),
        (TellsEntries, "raven", "/log"),
        (TellsLengths, "assign-orders", "/log"),
        (TellsInErrors, "house-card", "posts"),
        (TellsInLog, "influence-bid", "log lines"),
        (TellsWhatIsOwed, "wildling-bid", "/view"),
    ],
)
def test_a_desk_that_tells_too_much_is_caught(leaky: type[Desk], kind: str, where: str) -> None:
    caught = ""
    for case in islice(KINDS[kind](GAMES[0]), 5):
        try:
            compare(case, lambda store, tokens: leaky(store, tokens, None, JUDGE, clock=lambda: AT))
        except Difference as difference:
            caught = str(difference)
            break
    assert where in caught


def test_a_server_whose_log_tells_the_kind_of_a_refused_secret_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Judge.rule

    def telling(self: Judge, line: Any, submission: Any, *rest: Any, **more: Any) -> Any:
        stored, after, _ = honest(self, line, submission, *rest, **more)
        return stored, after, msgspec.json.decode(bytes(submission.command))["kind"]

    monkeypatch.setattr(Judge, "rule", telling)
    start = start_from(games(0)[20].before)
    house = start.charter.houses[0]
    bid, card = c.WildlingBid(house, 99), c.HouseCardChoice(house, "winterfell", "nobody")
    case = Case("refused", seat_of(house), start, start, (Step(seat_of(house), encode(bid), encode(card)),))
    with pytest.raises(Difference, match="log lines"):
        compare(case)


# Guessing


def published(side: Side) -> tuple[set[str], list[bytes]]:
    """Every digest that the public gets to see, and everything of it that might have been used as a salt."""
    shown = [codec.redact(entry, None) for entry in side.store.entries(GAME)]
    digests = {found for entry in shown for found in re.findall(r"[0-9a-f]{64}", entry.public.decode() + entry.digest)}
    numbers = [seq.to_bytes(8, "big") for seq in range(len(shown) + 1)]
    words = [b"", bytes(32), GAME.encode(), AT.encode(), *numbers, *(str(n).encode() for n in range(len(shown) + 1))]
    return digests, [*words, *map(bytes.fromhex, digests), *(digest.encode() for digest in digests)]


def digests_of(body: bytes, salts: Sequence[bytes]) -> Iterator[str]:
    """What somebody would compute who tries a guess."""
    for salt in salts:
        yield hashlib.sha256(salt + body).hexdigest()
        yield hashlib.sha256(body + salt).hexdigest()
        yield hmac.digest(salt or bytes(32), body, "sha256").hex()


@pytest.mark.parametrize("kind", ["influence-bid", "wildling-bid", "house-card"])
def test_no_guess_reproduces_a_commitment(kind: str) -> None:
    case = next(KINDS[kind](GAMES[0]))
    side = Side()
    side.begin(case.left)
    asyncio.run(side.send(case.steps[0], case.steps[0].left, "key"))
    digests, salts = published(side)
    entry = list(side.store.entries(GAME))[-1]
    state: State = side.desk.line(GAME).state
    house = str(case.owner).removeprefix("seat-")
    decision: Decision[Any] = next(one for one in THRONES.decisions(position(case.left)) if one.player == house)
    truth = encode(state.hidden.answers[house])
    guesses = {encode(answer): answer for answer in decision.options.every(decision.default)}
    assert truth in guesses
    assert len(guesses) > 1

    (sent,) = side.store.submissions(GAME, codec.entry(entry).seq - 1, 1)
    bound = [bytes(part.body) or codec.write_submission(sent) for part in entry.sealed]
    for guess, answer in guesses.items():
        hidden = msgspec.structs.replace(state.hidden, answers={**state.hidden.answers, house: answer})
        texts = [guess, encode(hidden)]
        texts += [body.replace(truth, guess) for body in bound]
        question = encode(msgspec.structs.replace(answer, question=state.question))
        for body in (*texts, question, format_answer(answer).encode()):
            assert digests.isdisjoint(digests_of(body, salts))

    # What was tried is what was hashed: with the secrets it can be reproduced.
    first = next(iter(side.store.entries(GAME)))
    pepper = codec.raw_pepper(first, codec.entry(first))
    assert pepper is not None
    salted = [bytes.fromhex(part.salt) for part in entry.sealed]
    assert all(sealing.commitment(salt, body) in digests for salt, body in zip(salted, bound, strict=True))
    read = codec.entry(entry)
    key = sealing.state_key(pepper, read.prev, read.seq)
    assert hmac.digest(key, encode(state.hidden), "sha256").hex() == read.state.hidden
    assert any(truth in bytes(part.body) for part in entry.sealed)
