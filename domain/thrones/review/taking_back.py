"""What a rewind would do, before it is done: struck-out entries, secrets that have come to light, answers kept."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from domain.kernel.arbiter import Past, Rewind
from domain.kernel.docket import AnswerOffered, CorrectionOffered, Given
from domain.kernel.facts import Fact, SeedOpened
from domain.kernel.rewinding import NO_LONGER_ASKED, answer_at, correction_at, is_correction, struck_corrections
from domain.kernel.ruleset import Ruling
from domain.thrones.language import facts as f
from domain.thrones.language.pieces import HouseId
from domain.thrones.language.state import State

EVERYBODY: tuple[HouseId, ...] = ("everybody",)


class Exposed(msgspec.Struct, frozen=True):
    """A secret that came to light in a struck-out entry: what, whose, and to whom. It cannot be unseen."""

    entry: int
    what: str
    detail: str
    to: tuple[HouseId, ...]


class Offered(msgspec.Struct, frozen=True):
    """A struck-out answer: kept, asked anew with what differs, let go because its time is past, or offered later."""

    given: Given
    player: HouseId
    kind: str
    outcome: str
    differs: tuple[str, ...] = ()


class OfferedCorrection(msgspec.Struct, frozen=True):
    """A struck-out correction: what was stated, and why.

    It is ``made again``, ``offered later``, ``the arbiter's to decide`` with what differs, or only ``struck out``: by a
    rewind that is not causal, or that leaves it out.
    """

    given: Given
    reason: str
    stated: tuple[Fact, ...]
    outcome: str
    differs: tuple[str, ...] = ()


class Plan(msgspec.Struct, frozen=True):
    """A rewind looked at before it is applied; ``version`` is the record it was made for."""

    version: int
    to: int
    struck: tuple[int, ...]
    exposed: tuple[Exposed, ...]
    answers: tuple[Offered, ...]
    corrections: tuple[OfferedCorrection, ...]
    redraw: bool

    @property
    def kept(self) -> int:
        return sum(one.outcome == "kept" for one in self.answers)


def exposed(entry: int, facts: tuple[Fact, ...]) -> Iterator[Exposed]:
    """Secrets that the facts of an entry brought to light."""
    for fact in facts:
        match fact:
            case f.OrdersRevealed():
                yield Exposed(entry, "orders", ", ".join(sorted(fact.orders)), EVERYBODY)
            case f.BidsRevealed():
                yield Exposed(entry, "bids", fact.about, EVERYBODY)
            case f.HouseCardsRevealed():
                yield Exposed(entry, "House cards", ", ".join(sorted(fact.cards)), EVERYBODY)
            case f.TidesRevealed():
                yield Exposed(entry, "Tides cards", ", ".join(sorted(fact.cards)), EVERYBODY)
            case f.WesterosCardDrawn():
                yield Exposed(entry, "deck card", fact.card, EVERYBODY)
            case f.WildlingCardRevealed():
                yield Exposed(entry, "deck card", fact.card, EVERYBODY)
            case f.WildlingCardSeen():
                yield Exposed(entry, "wildling card looked at", "the top card", (fact.house,))
            case f.TidesCardDrawn():
                yield Exposed(entry, "Tides card drawn", "one card", (fact.house,))
            case SeedOpened():
                yield Exposed(entry, "seed", "every draw", EVERYBODY)
            case _:
                pass


def outcome(offered: AnswerOffered) -> str:
    """What became of a struck-out answer, in words."""
    if offered.kept:
        return "kept"
    return "let go" if NO_LONGER_ASKED in offered.differs else "asked anew"


def plan(ruling: Ruling[State], before: State, command: Rewind, past: Past, *, redraw: bool) -> Plan:
    """The plan of a rewind in a state, out of the ruling that it would get."""
    struck = tuple(range(command.to + 1, past.version + 1))
    offers = [fact for fact in ruling.facts if isinstance(fact, AnswerOffered)]
    answers = [Offered(one.given, one.player, one.kind, outcome(one), one.differs) for one in offers]
    for given in ruling.state.docket.pending:
        if is_correction(past, given):
            continue
        answer = answer_at(past, given)
        answers.append(Offered(given, answer.player, answer.kind, "offered later"))
    return Plan(
        version=past.version,
        to=command.to,
        struck=struck,
        exposed=tuple(one for entry in struck for one in exposed(entry, past.facts(entry))),
        answers=tuple(answers),
        corrections=tuple(_corrections(ruling, before, command, past)),
        redraw=redraw,
    )


def _corrections(ruling: Ruling[State], before: State, command: Rewind, past: Past) -> Iterator[OfferedCorrection]:
    offers = {fact.given: fact for fact in ruling.facts if isinstance(fact, CorrectionOffered)}
    for given in struck_corrections(before.docket, past, command.to):
        corrected, stated = correction_at(past, given)
        offered = offers.get(given)
        if offered is not None:
            outcome = "made again" if offered.made else "the arbiter's to decide"
            yield OfferedCorrection(given, corrected.reason, stated, outcome, offered.differs)
        else:
            waits = given in ruling.state.docket.pending
            yield OfferedCorrection(given, corrected.reason, stated, "offered later" if waits else "struck out")
