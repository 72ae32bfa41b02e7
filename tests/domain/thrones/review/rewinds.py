"""A record in memory, and what tests of rewinds look at in it."""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec

from domain.kernel import facts as kernel
from domain.kernel.arbiter import Rewind
from domain.kernel.commands import Command, PassDeadline
from domain.kernel.docket import AnswerOffered, Docket
from domain.kernel.ruleset import Ruling
from domain.thrones.bots import TEMPERAMENTS, Bot
from domain.thrones.language.evolve import evolve
from domain.thrones.language.start import Start
from domain.thrones.language.state import State
from domain.thrones.notation import parse_line, split_letter
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.charter import Charter
from domain.thrones.tables.editions.second import SECOND_EDITION
from examples.search import FILE, WORDS
from tests.domain.thrones.games import Spec, play, spec

with_ = msgspec.structs.replace


class Book:
    """A game's record: entry by entry the command, the facts and the state, as rulings that look back see it."""

    def __init__(self) -> None:
        self.commands: list[Command | None] = [None]
        self.states: list[State] = [THRONES.blank()]
        self._facts: list[tuple[kernel.Fact, ...]] = [()]

    @property
    def version(self) -> int:
        return len(self.states) - 1

    @property
    def now(self) -> State:
        return self.states[-1]

    def state(self, entry: int) -> State:
        return self.states[entry]

    def facts(self, entry: int) -> tuple[kernel.Fact, ...]:
        return self._facts[entry]

    def take(self, command: Command) -> tuple[kernel.Fact, ...]:
        """Rule on a command and write it down; a refusal writes nothing."""
        ruling = THRONES.decide(self.now, command, self)
        self.write(command, ruling)
        return ruling.facts

    def write(self, command: Command, ruling: Ruling[State]) -> None:
        self.commands.append(command)
        self._facts.append(ruling.facts)
        self.states.append(ruling.state)

    def cut(self, version: int) -> Book:
        """The first entries of this record, to go on with otherwise."""
        book = Book()
        book.commands = self.commands[: version + 1]
        book.states = self.states[: version + 1]
        book._facts = self._facts[: version + 1]
        return book

    def rewind(self, to: int, *correction: dict[str, Any], seed: str = "", causal: bool = True) -> Offers:
        command = Rewind(to=to, reason="a test", causal=causal, correction=correction, seed=seed, unseen=True)
        facts = self.take(command)
        return Offers(facts)

    def go_on(self, number: int, *, most: int = 6000, stop: int = 10) -> None:
        """Play by bots to the end of the game, or of a round."""
        chance = random.Random(f"rewinds/{number}")
        bots = {
            house: Bot(TEMPERAMENTS[chance.choice(sorted(TEMPERAMENTS))], SECOND_EDITION.board, SECOND_EDITION.tokens)
            for house in self.now.houses
        }
        for _ in range(most):
            owed = THRONES.decisions(self.now)
            if not owed or self.now.round > stop:
                return
            decision = owed[chance.randrange(len(owed))]
            if chance.randrange(40) == 0:
                self.take(PassDeadline(player=decision.player, question=self.now.question))
            else:
                self.take(bots[decision.player].answer(self.now, decision, chance.randrange))

    # Checks

    def check(self, first: int = 1) -> None:
        """Facts alone rebuild every state, commands are ruled on alike again, and questions are numbered upwards."""
        for entry in range(first, self.version + 1):
            facts = stored(self._facts[entry])
            state = self.states[entry - 1]
            for fact in facts:
                state = evolve(state, fact)
            assert state == self.states[entry], f"entry {entry}"
            command = self.commands[entry]
            assert command is not None
            again = THRONES.decide(self.states[entry - 1], through_storage(command), self.cut(entry - 1))
            assert msgspec.json.encode(again.facts) == msgspec.json.encode(facts), f"entry {entry}"
        numbers = [fact.question for facts in self._facts for fact in facts if isinstance(fact, kernel.Awaiting)]
        assert numbers == sorted(numbers)
        opened: set[int] = set()
        for facts in self._facts[1:]:
            for fact in facts:
                if isinstance(fact, kernel.Awaiting) and fact.awaited:
                    opened.add(fact.question)
        assert problems(self.now) == ()


class Offers:
    """What became of the struck-out answers of a rewind, as far as its entry goes."""

    def __init__(self, facts: Iterable[kernel.Fact]) -> None:
        self.facts = tuple(facts)
        self.all = [fact for fact in self.facts if isinstance(fact, AnswerOffered)]

    @property
    def kept(self) -> list[AnswerOffered]:
        return [one for one in self.all if one.kept]

    @property
    def anew(self) -> list[AnswerOffered]:
        return [one for one in self.all if not one.kept]


def problems(state: State) -> tuple[str, ...]:
    return THRONES.rules_of(state).problems(state)


def stored(facts: tuple[kernel.Fact, ...]) -> tuple[kernel.Fact, ...]:
    found: tuple[kernel.Fact, ...] = msgspec.json.decode(msgspec.json.encode(facts), type=tuple[THRONES.fact_type, ...])  # type: ignore[valid-type, name-defined]  # a union built from a table
    return found


def through_storage(command: Command) -> Command:
    found: Command = msgspec.json.decode(msgspec.json.encode(command), type=THRONES.command_type)
    return found


def bare(state: State) -> State:
    """A position without what only counts and tells of acts of the arbiter."""
    return with_(state, docket=Docket(), question=0)


@cache
def played(number: int) -> Book:
    """Game number so-and-so, to its end. Nobody writes into it: cut it first."""
    return book_of(spec(number))


def book_of(game: Spec) -> Book:
    book = Book()
    for entry in play(game):
        book.write(entry.command, entry.ruling)
    return book


@cache
def sample() -> Book:
    """The six-player game of the examples, to its end."""
    head, _, body = FILE.read_text(encoding="utf-8").partition("\n\n")
    named = dict(line.split(": ", 1) for line in head.splitlines() if not line.startswith("#"))
    houses = tuple(sorted(SECOND_EDITION.players(int(named["players"])).houses))
    book = Book()
    book.take(Start(charter=Charter(named["edition"], houses, chance="stated"), seed=named["seed"]))
    for line in split_letter(body):
        book.take(parse_line(line, house=None, lexicon=WORDS, open_decisions=THRONES.decisions(book.now)))
    return book


def entries_with(book: Book, kind: type[kernel.Fact]) -> list[int]:
    """The entries that hold a fact of a type."""
    return [entry for entry in range(1, book.version + 1) if any(isinstance(f, kind) for f in book.facts(entry))]


def end_of_round(book: Book, entry: int) -> int:
    """The last entry of the round that an entry belongs to."""
    same = (one for one in range(entry, book.version) if book.state(one + 1).round > book.state(entry).round)
    return next(same, book.version - 1)
