"""Procedures: the numbered steps of a rulebook, as data on a stack.

A procedure is a frozen record: its step and its locals. A step reads the state, emits facts and says what
comes next. Because a frame is data, a game can be saved, copied, forked and resumed on any machine. Names
of procedures, steps and locals are part of the stored schema.
"""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

import msgspec

from domain.kernel.decision import Decision

P = TypeVar("P", bound="Procedure")


class Procedure(msgspec.Struct, frozen=True, kw_only=True, tag=True, tag_field="procedure", omit_defaults=True):
    """A frame of the stack. ``step`` names the method to run next."""

    step: str = "begin"

    turns: ClassVar[tuple[str, ...]] = ()
    """Steps that seek the next turn: what was ruled on before is over there."""

    def at(self: P, step: str, **locals_: Any) -> P:
        """The same procedure at another step, with some locals changed."""
        return msgspec.structs.replace(self, step=step, **locals_)

    def weighed(self, game: Any) -> None:
        """Read what a secret answer is weighed against besides its options: that much belongs to its footprint."""

    def sealed(self, game: Any, answer: Any) -> None:
        """Called after each answer that is given in turn but stays face down: the place for its public side."""


class Done(msgspec.Struct, frozen=True):
    """The procedure is finished."""


class Do(msgspec.Struct, frozen=True):
    """Carry out ``procedure`` first, then go on as ``then``."""

    procedure: Procedure
    then: Procedure


class Wait(msgspec.Struct, frozen=True):
    """One decision, public as soon as it is made. The answer goes to the method ``then`` of the procedure.

    The step that waits must not emit facts: it is run again whenever somebody asks what is awaited.
    """

    decision: Decision[Any]
    then: str


class Collect(msgspec.Struct, frozen=True):
    """Secret decisions of several players; ``then`` gets all answers by player once the last is in.

    With ``in_turn`` they are asked one after the other in the order given (what was answered stays
    face down), otherwise all at once, and an answer may be replaced until the last one is in.
    """

    decisions: tuple[Decision[Any], ...]
    then: str
    in_turn: bool = False

    def outstanding(self, answered: dict[str, Any]) -> tuple[Decision[Any], ...]:
        """The decisions that are open now."""
        missing = tuple(decision for decision in self.decisions if decision.player not in answered)
        return missing[:1] if self.in_turn else missing


Next = Procedure | Done | Do | Wait | Collect
"""What a step may answer. A procedure means: go on as this."""
