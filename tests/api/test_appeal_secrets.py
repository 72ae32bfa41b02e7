"""What an appeal holds up tells nobody a secret: neither a sealed answer nor the order of a deck (section 23)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from domain.kernel.arbiter import FileAppeal
from domain.kernel.commands import Command, PassDeadline
from domain.kernel.facts import AnswersOpened
from domain.kernel.game import answer_of
from domain.kernel.refusal import Refusal
from domain.thrones.language.start import Start
from domain.thrones.ruleset import THRONES
from events.envelope import encode
from tests.api.test_noninterference import REVEALS, Case, as_step, compare, games, same_in_public, seat_of, start_from
from tests.api.twins import Step
from tests.domain.thrones.review.rewinds import Book, with_

pytestmark = pytest.mark.slow

LEAD = 2
"""How many entries of a game go before, the same on either side."""


def begun(number: int, at: int, decks: dict[str, Any] | None = None) -> tuple[Start, Book]:
    """A game that begins where another stood, under a charter that lets other things go on."""
    state = games(number)[at].before
    start = start_from(state, **({} if decks is None else {"decks": decks}))
    arbitration = with_(start.charter.arbitration, appeal_stops="what-depends-on-it")
    charter = with_(start.charter, arbitration=arbitration)
    assert start.position is not None
    start = with_(start, charter=charter, position=with_(start.position, charter=charter))
    book = Book()
    book.take(start)
    return start, book


class Pair:
    """Twin records, and the requests that make them."""

    def __init__(self, left: tuple[Start, Book], right: tuple[Start, Book]) -> None:
        (self.start, self.left), (self.twin, self.right) = left, right
        self.steps: list[Step] = []
        self.refused = self.taken = 0

    def take(self, command: Command, other: Command, chance: random.Random) -> None:
        """Send on either side, whatever comes of it; it must be the same."""
        self.steps.append(self._step(command, other, chance))
        came = [self._ruled(book, one) for book, one in ((self.left, command), (self.right, other))]
        assert came[0] == came[1], (command, came)
        self.refused += came[0] is not None
        self.taken += came[0] is None
        assert same_in_public(self.left.now, self.right.now)

    def _step(self, command: Command, other: Command, chance: random.Random) -> Step:
        if isinstance(command, PassDeadline):
            return Step("organiser", encode(command), encode(other))
        if isinstance(command, FileAppeal):
            body = encode({"against": command.against, "statement": command.statement})
            return Step(seat_of(command.house), body, body, path="appeal")
        return as_step(self.left.now, command, other, chance)  # type: ignore[arg-type]  # answers

    def _ruled(self, book: Book, command: Command) -> Any:
        try:
            book.take(command)
        except Refusal as refusal:
            return refusal.code, refusal.params
        return None

    def reveals(self, command: Command) -> bool:
        try:
            facts = THRONES.decide(self.left.now, command, self.left).facts
        except Refusal:
            return False
        return any(isinstance(fact, (AnswersOpened, *REVEALS)) for fact in facts)

    def appeal(self, against: int, chance: random.Random) -> None:
        command = FileAppeal(house=chance.choice(self.left.now.houses), against=against, statement="a test")
        self.take(command, command, chance)

    def go_on(self, chance: random.Random, most: int) -> None:
        """By random play, what is refused included, until something would be revealed."""
        for _ in range(most):
            owed = THRONES.decisions(self.left.now)
            if not owed:
                return
            decision = owed[chance.randrange(len(owed))]
            command: Command = decision.sample(chance.randrange)
            if chance.random() < 0.2:
                command = PassDeadline(player=decision.player, question=self.left.now.question)
            if not self.reveals(command):
                self.take(command, command, chance)


def lead(pair: Pair, number: int, at: int, chance: random.Random) -> list[int]:
    """What went before in the game; the entries that answers made."""
    for entry in games(number)[at - LEAD : at]:
        pair.take(entry.command, entry.command, chance)
    return [n for n in range(2, pair.left.version + 1) if answer_of(pair.left.facts(n)) is not None]


def sealed(kind: str, numbers: tuple[int, ...], most: int = 10) -> Iterator[tuple[Case, Pair]]:
    """Two answers of one kind, given before or behind the appeal, and still in their envelopes afterwards."""
    for number, at in places(kind, numbers):
        entry, chance = games(number)[at], random.Random(f"{kind}/{number}/{at}")
        decision = next(one for one in entry.owed if one.player == entry.command.player)  # type: ignore[attr-defined]
        other = next((one for _ in range(40) if (one := decision.sample(chance.randrange)) != entry.command), None)
        if other is None or getattr(other, "orders", {}).keys() != getattr(entry.command, "orders", {}).keys():
            continue
        pair = Pair(begun(number, at - LEAD), begun(number, at - LEAD))
        answered = lead(pair, number, at, chance)
        before = chance.randrange(2) == 0
        if before:
            pair.take(entry.command, other, chance)
        if answered:
            pair.appeal(chance.choice(answered), chance)
        if not before:
            pair.take(entry.command, other, chance)
        pair.go_on(chance, most)
        yield Case(kind, seat_of(decision.player), pair.start, pair.twin, tuple(pair.steps)), pair


def places(kind: str, numbers: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Where an answer of a kind is not the last of its question, in an order of chance."""
    found = [
        (number, at)
        for number in numbers
        for at, entry in enumerate(games(number))
        if at > LEAD + 1 and entry.command.__struct_config__.tag == kind and not getattr(entry.command, "draft", False)
        if not any(isinstance(fact, AnswersOpened) for fact in entry.ruling.facts)
    ]
    random.Random(kind).shuffle(found)
    return iter(found)


def other_decks(numbers: tuple[int, ...], most: int = 10) -> Iterator[tuple[Case, Pair]]:
    """Every deck in another order."""
    for number, at in places("assign-orders", numbers):
        chance = random.Random(f"decks/{number}/{at}")
        hidden = games(number)[at - LEAD].before.hidden
        decks = {name: tuple(chance.sample(deck, len(deck))) for name, deck in hidden.decks.items()}
        if any(pair_reveals(number, at)):
            continue
        pair = Pair(begun(number, at - LEAD), begun(number, at - LEAD, decks))
        answered = lead(pair, number, at, chance)
        if answered:
            pair.appeal(chance.choice(answered), chance)
        pair.go_on(chance, most)
        yield Case("decks", None, pair.start, pair.twin, tuple(pair.steps)), pair


def pair_reveals(number: int, at: int) -> Iterator[bool]:
    """Whether a deck comes to light in what goes before."""
    for entry in games(number)[at - LEAD : at]:
        yield any(isinstance(fact, REVEALS) for fact in entry.ruling.facts)


SECRETS = ("assign-orders", "influence-bid", "wildling-bid", "house-card", "decks")
NUMBERS = (0, 1, 2, 3, 21)


@pytest.mark.parametrize("kind", ["influence-bid", "decks"])
def test_what_stands_still_is_the_same_whatever_is_secret(kind: str) -> None:
    """Some is refused and some goes on; nobody but its author can tell from either what a secret is."""
    cases = other_decks(NUMBERS, 2) if kind == "decks" else sealed(kind, NUMBERS, 2)
    case, _ = next(
        (case, pair)
        for case, pair in cases
        if pair.refused and pair.left.now.docket.doubts and not pair.left.now.docket.doubts[0].everything
        if pair.left.now.hidden != pair.right.now.hidden
    )
    twins = compare(case)
    assert twins.compared > 300


def test_local_rulings_on_twins_agree_in_many_more_places() -> None:
    """Without the server: whatever one side refuses or takes, the other does, and the public position is the same."""
    refused = taken = 0
    for kind in SECRETS[:4]:
        for _, (_, pair) in zip(range(12), sealed(kind, NUMBERS), strict=False):
            refused += pair.refused
            taken += pair.taken
    for _, (_, pair) in zip(range(12), other_decks(NUMBERS), strict=False):
        refused += pair.refused
        taken += pair.taken
    print(f"refused {refused}, taken {taken}")
    assert refused > 200 and taken > 200
