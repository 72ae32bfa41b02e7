"""Decisions: what the game is waiting for, and every legal answer as data.

Options are the single source of what is legal. The reducer checks an answer with them, the read side
prints them, bots and tests sample them, and refusals name what they say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from domain.kernel.commands import Command
from domain.kernel.refusal import Refusal

A = TypeVar("A", bound="Answer")

Pick = Callable[[int], int]
"""``pick(n)`` names a number from 0 to n-1. The caller owns the chance; nothing here draws."""


class Answer(Command, frozen=True, kw_only=True):
    """A player's answer. The tag is the kind of decision; ``question`` numbers the question it is meant for.

    Without ``question`` the answer is for whatever question of its kind is open.
    """

    secret: ClassVar[bool] = False
    """Whether answers of this kind stay sealed until every decider of the question has answered."""
    question: int | None = None

    @property
    def player(self) -> str:
        """Who answers."""
        raise NotImplementedError(type(self).__name__)  # every game's base class overrides it

    @property
    def kind(self) -> str:
        """The kind of decision this answers."""
        return str(self.__struct_config__.tag)

    @property
    def about(self) -> tuple[str, ...]:
        """What the question is about (an area, a track), so that a late answer cannot meet another question."""
        return ()

    @property
    def tentative(self) -> bool:
        """Whether this is a draft that a missed deadline falls back on, not yet an answer."""
        return False


def kind_of(answer: type[Answer]) -> str:
    """The kind of decision that answers of a class are for."""
    return str(answer.__struct_config__.tag)


class Options(msgspec.Struct, Generic[A], frozen=True, tag=True, tag_field="options"):
    """A description of every legal answer of one decision."""

    def check(self, answer: A) -> None:
        """Raise :class:`~domain.kernel.refusal.Refusal` naming the broken rules unless the answer is legal."""
        raise NotImplementedError(type(self).__name__)  # every kind of options defines it

    def check_draft(self, answer: A) -> None:
        """Raise a refusal unless the answer is legal as far as it goes."""
        raise Refusal("no-drafts", kind=answer.kind)

    def sample(self, template: A, pick: Pick) -> A:
        """Some legal answer; every legal answer can come up. Where there are too many to list, a class builds one."""
        answers = list(self.every(template))
        return answers[pick(len(answers))]

    def every(self, template: A) -> Iterator[A]:
        """All legal answers, lazily and in canonical order."""
        raise NotImplementedError(type(self).__name__)  # every kind of options defines it

    def only(self, template: A) -> A | None:
        """The answer, if exactly one exists."""
        found = None
        for count, answer in enumerate(self.every(template)):
            if count:
                return None
            found = answer
        return found


def options_of(package: str) -> tuple[type[Options[Any]], ...]:
    """Every class of options that a game's package declares; the game must have been imported."""
    found: list[type[Options[Any]]] = []
    below: list[type[Options[Any]]] = [Options]
    for kind in below:
        below += kind.__subclasses__()
        if kind.__module__.startswith(f"{package}."):
            found.append(kind)
    return tuple(found)


class Decision(msgspec.Struct, Generic[A], frozen=True):
    """One decision of one player.

    ``default`` is the answer of a missed deadline and the template that legal answers are made from.
    ``forced`` is the answer if the rules apply it without asking.
    """

    default: A
    options: Options[A]
    rules: tuple[str, ...]
    forced: A | None = None
    facts: dict[str, Any] = {}

    @property
    def player(self) -> str:
        return self.default.player

    @property
    def kind(self) -> str:
        return self.default.kind

    @property
    def secret(self) -> bool:
        """Whether the answer stays sealed until every decider of the question has answered."""
        return self.default.secret

    def sample(self, pick: Pick) -> A:
        """Some legal answer."""
        return self.options.sample(self.default, pick)

    def check(self, answer: A) -> None:
        """Raise a refusal unless the answer is legal."""
        self.options.check(answer)
