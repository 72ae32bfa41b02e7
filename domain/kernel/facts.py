"""Facts: what a ruling changed, in order, each with the rules that produced it.

A fact is a frozen record tagged with its own name. ``evolve`` applies it and holds no rule. A fact
may belong to some eyes only: :attr:`Fact.audience` says whose. Where a ledger is shown to anybody else,
the body is replaced by a commitment and only the name and the rules remain.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

import msgspec

C = TypeVar("C")

Frame = dict[str, Any]
"""A procedure on the stack as plain data: its name, its step and its locals."""

How = Literal["given", "forced", "default", "kept"]
"""Where an answer came from: its decider, the only legal option, a missed deadline, or a struck-out line."""

NOBODY: tuple[str, ...] = ()
"""The audience of what no player may see before it is opened: deck orders and the seed."""


class Fact(msgspec.Struct, frozen=True, kw_only=True, tag=True, tag_field="fact", omit_defaults=True):
    """Something that happened. ``rules`` cites identifiers of the rules specification."""

    rules: tuple[str, ...] = ()

    @property
    def audience(self) -> tuple[str, ...] | None:
        """Players who may read the body; None is everybody, an empty tuple is nobody."""
        return None


class Answered(Fact, Generic[C], frozen=True, tag=True):
    """A public answer to the open question."""

    answer: C
    how: How = "given"


class AnswerTaken(Fact, frozen=True, tag=True):
    """A secret answer is in. That it was given is public; what it says follows in a sealed fact."""

    player: str
    kind: str
    how: How = "given"


class AnswerSealed(Fact, Generic[C], frozen=True, tag=True):
    """The body of a secret answer, kept until all are in."""

    player: str
    answer: C

    @property
    def audience(self) -> tuple[str, ...] | None:
        return (self.player,)


class DraftKept(Fact, Generic[C], frozen=True, tag=True):
    """A tentative answer that a missed deadline falls back on. It does not answer the question."""

    player: str
    answer: C

    @property
    def audience(self) -> tuple[str, ...] | None:
        return (self.player,)


class AnswersOpened(Fact, frozen=True, tag=True):
    """All secret answers to a question are in and leave their envelopes."""

    kind: str


class Awaited(msgspec.Struct, frozen=True):
    """One decider the game waits for."""

    player: str
    kind: str


class Awaiting(Fact, frozen=True, tag=True):
    """What the game waits for at the end of an entry; records the stack, so that facts alone rebuild a state."""

    frames: tuple[Frame, ...]
    question: int
    awaited: tuple[Awaited, ...]


class SeedSealed(Fact, frozen=True, tag=True):
    """The secret seed of every draw; ``SeedCommitted`` binds it in public."""

    seed: str

    @property
    def audience(self) -> tuple[str, ...] | None:
        return NOBODY


class SeedCommitted(Fact, frozen=True, tag=True):
    """SHA-256 of the seed, public from the first entry on."""

    commitment: str


class SeedOpened(Fact, frozen=True, tag=True):
    """The seed, opened with the last entry, so that anybody can check every draw."""

    seed: str


class DrawsStated(Fact, frozen=True, tag=True):
    """Draws imposed from outside: cases, reference games, physical tables."""

    deck: str
    cards: tuple[str, ...]

    @property
    def audience(self) -> tuple[str, ...] | None:
        return NOBODY
