"""What a House, or everybody, may see of a position (section 23), and what a House owes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from domain.kernel.decision import Decision
from domain.kernel.game import Held
from domain.thrones.language.evolve import redacted
from domain.thrones.language.pieces import CardId, HouseId
from domain.thrones.language.state import State


class Owed(msgspec.Struct, frozen=True):
    """A decision somebody owes, with every legal answer as data, the rules, and the default of a missed deadline.

    ``answered`` tells that a secret answer is in already; it may be replaced until the last one is. ``waits_for`` are
    the open appeals that have to be ruled on first, each with what the decision rests on that is in doubt.
    """

    question: int
    kind: str
    house: HouseId
    about: tuple[str, ...]
    secret: bool
    rules: tuple[str, ...]
    options: Any
    default: Any
    facts: dict[str, Any]
    answered: bool = False
    waits_for: tuple[Held, ...] = ()


class Own(msgspec.Struct, frozen=True, omit_defaults=True):
    """What only one House may see: its sealed answer, its draft, a wildling card it looked at, its Tides card."""

    answer: Any = None
    draft: Any = None
    seen: CardId | None = None
    tides: CardId | None = None


class View(msgspec.Struct, frozen=True):
    """A position as one House sees it, or everybody (``house`` None).

    ``owes`` are the decisions it has still to answer, ``replaceable`` those whose secret answer is in and may be
    replaced until the last House has answered.
    """

    house: HouseId | None
    position: State
    own: Own
    owes: tuple[Owed, ...] = ()
    replaceable: tuple[Owed, ...] = ()


Waits = Callable[[State, Decision[Any]], tuple[Held, ...]]
"""Which open appeals a decision waits for."""


def _for_nothing(state: State, decision: Decision[Any]) -> tuple[Held, ...]:
    return ()


def owed(state: State, decision: Decision[Any], waits: Waits = _for_nothing) -> Owed:
    """A decision as its decider is told about it."""
    return Owed(
        question=state.question,
        kind=decision.kind,
        house=decision.player,
        about=decision.default.about,
        secret=decision.secret,
        rules=decision.rules,
        options=decision.options,
        default=decision.default,
        facts=decision.facts,
        answered=decision.player in state.hidden.answers,
        waits_for=waits(state, decision),
    )


def view(
    state: State, house: HouseId | None, decisions: tuple[Decision[Any], ...] = (), waits: Waits = _for_nothing
) -> View:
    """The view of a House, or of the public with None. ``decisions`` are those open now.

    Only the House's own decisions come with their options: what others may choose follows from public
    facts, but which of their answers are in their envelopes does not concern anybody else.
    """
    if house is None:
        return View(None, redacted(state), Own())
    hidden = state.hidden
    own = Own(
        answer=hidden.answers.get(house),
        draft=hidden.drafts.get(house),
        seen=hidden.seen.get(house),
        tides=hidden.tides.get(house),
    )
    mine = [owed(state, decision, waits) for decision in decisions if decision.player == house]
    return View(
        house,
        redacted(state),
        own,
        owes=tuple(one for one in mine if not one.answered),
        replaceable=tuple(one for one in mine if one.answered),
    )
