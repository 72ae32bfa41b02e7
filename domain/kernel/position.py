"""The parts of a state that every game has, and what the kernel's facts do to them. No rule lives here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from domain.kernel.chance import commitment
from domain.kernel.docket import DOCKET_FACTS, AnswerVoided, Docket, GameNamed, evolve_docket
from domain.kernel.facts import (
    Answered,
    AnswerSealed,
    AnswersOpened,
    AnswerTaken,
    Awaiting,
    DraftKept,
    DrawsStated,
    Fact,
    SeedCommitted,
    SeedOpened,
    SeedSealed,
)
from domain.kernel.shared import Stage


class _Parts(Protocol):
    """The fields that a game's state declares, in whatever order it is stored."""

    @property
    def charter(self) -> Any: ...
    @property
    def docket(self) -> Docket: ...
    @property
    def hidden(self) -> Any: ...
    @property
    def is_over(self) -> bool: ...
    @property
    def shared_stage(self) -> Stage | None: ...


class BoardState(msgspec.Struct, frozen=True):
    """Base of a game's state: what follows from the parts that every game has.

    They are ``charter``, ``docket``, ``frames``, ``question``, ``awaited``, and ``hidden``. That holds ``seed`` and the
    ``former`` ones, which rewinds have replaced, sealed ``answers``, ``drafts``, and draws ``stated`` ahead, by deck.
    """

    @property
    def answers(self: _Parts) -> dict[str, Any]:
        """The sealed answers to the open question, by player."""
        found: dict[str, Any] = self.hidden.answers
        return found

    @property
    def drafts(self: _Parts) -> dict[str, Any]:
        """Tentative answers that a missed deadline falls back on, by player."""
        found: dict[str, Any] = self.hidden.drafts
        return found

    @property
    def seeds(self: _Parts) -> tuple[str, ...]:
        """All seeds that were drawn from, the present one last."""
        return (*self.hidden.former, self.hidden.seed)

    @property
    def shared_stage(self: _Parts) -> Stage | None:
        """How far a table is with the seed that it shares; None where it shares none."""
        if self.charter.shared_seed is None:
            return None
        if self.docket.shared == "open":
            return "open"
        return "ended" if self.is_over else "playing"

    @property
    def is_disclosed(self: _Parts) -> bool:
        """Whether nothing is secret any more: the game has ended, and so have all tables that share its seed."""
        return self.is_over and self.shared_stage in (None, "open")


def with_hidden(state: Any, **changes: Any) -> Any:
    """The state with something of its hidden part changed."""
    return msgspec.structs.replace(state, hidden=msgspec.structs.replace(state.hidden, **changes))


def redacted(state: Any) -> Any:
    """The state as everybody may see it."""
    return msgspec.structs.replace(state, hidden=type(state.hidden)())


def nothing(state: Any, fact: Any) -> Any:
    """Facts that explain and change nothing."""
    return state


def _docket(state: Any, fact: Fact) -> Any:
    return msgspec.structs.replace(state, docket=evolve_docket(state.docket, fact))


def _seed_opened(state: Any, fact: SeedOpened) -> Any:
    shared = state.charter.shared_seed
    if shared is None or commitment(fact.seed) != shared.commitment:
        return state
    return msgspec.structs.replace(state, docket=msgspec.structs.replace(state.docket, shared="open"))


def _seed_sealed(state: Any, fact: SeedSealed) -> Any:
    former = (*state.hidden.former, state.hidden.seed) if state.hidden.seed else state.hidden.former
    return with_hidden(state, seed=fact.seed, former=former)


def _draws_stated(state: Any, fact: DrawsStated) -> Any:
    pile = (*state.hidden.stated.get(fact.deck, ()), fact.cards)
    return with_hidden(state, stated={**state.hidden.stated, fact.deck: pile})


def _answer_voided(state: Any, fact: AnswerVoided) -> Any:
    field = "drafts" if fact.draft else "answers"
    kept = {player: answer for player, answer in getattr(state.hidden, field).items() if player != fact.player}
    return with_hidden(state, **{field: kept})


EVOLVERS: dict[type[Fact], Callable[[Any, Any], Any]] = {
    Answered: nothing,
    AnswerTaken: nothing,
    AnswerSealed: lambda s, x: with_hidden(s, answers={**s.hidden.answers, x.player: x.answer}),
    DraftKept: lambda s, x: with_hidden(s, drafts={**s.hidden.drafts, x.player: x.answer}),
    AnswersOpened: lambda s, x: with_hidden(s, answers={}, drafts={}),
    Awaiting: lambda s, x: msgspec.structs.replace(s, frames=x.frames, question=x.question, awaited=x.awaited),
    SeedSealed: _seed_sealed,
    SeedCommitted: nothing,
    SeedOpened: _seed_opened,
    DrawsStated: _draws_stated,
    **dict.fromkeys(DOCKET_FACTS, _docket),
    AnswerVoided: _answer_voided,
    GameNamed: nothing,
}
"""By type of fact: a table, as games have theirs."""
