"""Commands: what somebody asks for. A command changes nothing by itself; a ruling on it does."""

from __future__ import annotations

from typing import Annotated

import msgspec

from domain.kernel.bounds import AtMost


class Command(msgspec.Struct, frozen=True, kw_only=True, tag=True, tag_field="kind", omit_defaults=True):
    """Base of all commands. The tag is the kind; players' answers are :class:`~domain.kernel.decision.Answer`."""


class PassDeadline(Command, frozen=True, tag="pass-deadline"):
    """The organiser or a clock: ``player`` missed the deadline of a question; the default answers for it.

    ``question`` is its number: sent twice, it must not take the next decision away. Without one it is refused; only
    records of older engines hold such commands.
    """

    player: str
    question: int | None = None


class SetDue(Command, frozen=True, tag="set-due"):
    """The service: question ``question`` is due at the instant ``due``, or at none with an empty one.

    The service computes the instant; the record keeps it, and a deadline of that question passes no earlier. An instant
    is written as the store writes times: ``2025-01-31T18:00:00.000000Z``.
    """

    question: int
    due: str


class StateDraws(Command, frozen=True, tag="state-draws"):
    """The organiser of a game with imposed chance: the next shuffle of a deck puts these cards on top, in this order.

    Several may be stated ahead; each shuffle uses up one.
    """

    deck: str
    cards: Annotated[tuple[str, ...], AtMost(200)]
