"""Taking back, correcting, appealing: the acts of an arbiter, as rulings like all others.

A rewind restates the position after an earlier entry. With ``causal`` the struck-out answers are offered
again, in order, on the corrected line: an answer is kept when it is still legal and its *footprint* is the
same on both lines, i.e. the options it was chosen from and everything that it and its ruling read. Kept
answers are part of the entry that makes them possible, as forced answers are; the others are asked anew.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import msgspec

from domain.kernel.commands import Command
from domain.kernel.decision import Answer
from domain.kernel.docket import (
    AnswerOffered,
    AnswerVoided,
    AppealFiled,
    AppealRuled,
    Corrected,
    EngineAmended,
    Given,
    Outcome,
    Rewound,
)
from domain.kernel.facts import Answered, AnswerSealed, AnswerTaken, Fact
from domain.kernel.procedure import Collect
from domain.kernel.refusal import Refusal
from domain.kernel.ruleset import Game, Ruleset, Ruling, State, apply_kept, open_decisions, open_question, run_on

S = TypeVar("S", bound=State)

MOST_OFFERS = 5_000


class Past(Protocol):
    """The record before the entry that is being made."""

    @property
    def version(self) -> int:
        """How many entries there are."""

    def state(self, entry: int) -> Any:
        """The state after an entry; after entry 0 it is blank."""

    def facts(self, entry: int) -> tuple[Fact, ...]:
        """The facts of an entry, sealed ones included."""


class Footprint(msgspec.Struct, frozen=True):
    """What an answer rests on: its options, and what was read when it was ruled on, each by name."""

    options: bytes
    reads: dict[str, Any]

    def differs(self, other: Footprint) -> tuple[str, ...]:
        """Names of what is not the same."""
        changed = [] if self.options == other.options else ["options"]
        names = sorted({*self.reads, *other.reads})
        return (*changed, *(name for name in names if self.reads.get(name) != other.reads.get(name)))


class ArbitersRuleset(Ruleset[S], Protocol[S]):
    """What the acts of an arbiter need of a game besides its rules."""

    def restated(self, position: S, reason: str) -> tuple[Fact, ...]:
        """The facts that replace the state by a position, hidden parts included."""

    def redraw(self, game: Game[S], seed: str) -> None:
        """Put what is still to be drawn under a new seed and its commitment."""

    def stated_fact(self, raw: dict[str, Any]) -> Fact:
        """A fact that an arbiter states. Raises Refusal for what is not one."""

    def problems(self, state: S) -> tuple[str, ...]:
        """Invariants of the board that a position breaks, in words."""

    def footprint(self, state: S, answer: Answer) -> Footprint:
        """What an answer would rest on in a state. Raises Refusal when it is not legal there."""

    def must_redraw(self, state: S) -> bool:
        """Whether the seed is open already."""


class Rewind(Command, frozen=True, tag="rewind"):
    """Take the game back to the state after entry ``to``. ``correction`` states facts there; see :mod:`arbiter`.

    ``seed`` (32 bytes in hexadecimal) redraws everything not yet drawn.
    """

    to: int
    reason: str
    causal: bool = False
    correction: tuple[dict[str, Any], ...] = ()
    seed: str = ""
    appeal: int | None = None
    opinion: str = ""


class Correct(Command, frozen=True, tag="correct"):
    """State facts on the present position, with a reason."""

    facts: tuple[dict[str, Any], ...]
    reason: str
    appeal: int | None = None
    opinion: str = ""


class FileAppeal(Command, frozen=True, tag="appeal"):
    """A player appeals against the ruling of an entry."""

    house: str
    against: int
    statement: str


class RuleOnAppeal(Command, frozen=True, tag="rule-on-appeal"):
    """The arbiter's opinion without taking anything back; rewinds and corrections name their appeal themselves."""

    appeal: int
    outcome: Outcome
    opinion: str


class Amend(Command, frozen=True, tag="amend"):
    """Move a running game to another version of the rules engine."""

    engine: str
    reason: str


def given_answers(past: Past, first: int, last: int) -> tuple[Given, ...]:
    """Answers that players gave in these entries, kept ones included."""
    found: list[Given] = []
    for entry in range(first, last + 1):
        facts = past.facts(entry)
        for number, fact in enumerate(facts):
            if isinstance(fact, Answered) and fact.how in ("given", "kept"):
                found.append(Given(entry, number))
            if isinstance(fact, AnswerSealed) and number:
                taken = facts[number - 1]
                if isinstance(taken, AnswerTaken) and taken.how in ("given", "kept"):
                    found.append(Given(entry, number))
    return tuple(found)


def answer_at(past: Past, given: Given) -> Answer:
    """The answer that a place on the record holds."""
    fact = past.facts(given.entry)[given.fact]
    assert isinstance(fact, Answered | AnswerSealed)
    answer: Answer = fact.answer
    return answer


def state_before(ruleset: Ruleset[S], past: Past, given: Given) -> S:
    """The state in which an answer was given."""
    state: S = past.state(given.entry - 1)
    facts = past.facts(given.entry)
    upto = given.fact - 1 if isinstance(facts[given.fact], AnswerSealed) else given.fact
    for fact in facts[:upto]:
        state = ruleset.evolve(state, fact)
    return state


def rewind(ruleset: ArbitersRuleset[S], state: S, command: Rewind, past: Past) -> Ruling[S]:
    """Take the game back. Raises Refusal when there is no such entry or a redraw is due."""
    if not 1 <= command.to < past.version:
        raise Refusal("no-such-entry", unknown=True, entry=command.to, last=past.version)
    target: S = past.state(command.to)
    if ruleset.must_redraw(state) and not command.seed:
        raise Refusal("must-redraw", entry=command.to)
    game = ruleset.game(state)
    _close_appeal(game, command.appeal, "rewound", command.opinion)
    first, last = command.to + 1, past.version
    pending = given_answers(past, first, last) if command.causal else ()
    game.emit(
        Rewound(
            to=command.to,
            first=first,
            last=last,
            reason=command.reason,
            redrawn=bool(command.seed),
            pending=_without_replaced(past, pending),
        )
    )
    question = state.question
    for fact in ruleset.restated(target, command.reason):
        game.emit(fact)
    if command.seed:
        ruleset.redraw(game, command.seed)
    if command.correction:
        _state_facts(ruleset, game, command.correction, command.reason)
    ruling = run_on(ruleset, game, question + 1)
    return offer(ruleset, ruling, past)


def _without_replaced(past: Past, pending: tuple[Given, ...]) -> tuple[Given, ...]:
    """Of a secret answer that was replaced before the question closed, only the last counts."""
    kept: list[Given] = []
    for one in pending:
        answer = answer_at(past, one)
        sealed = isinstance(past.facts(one.entry)[one.fact], AnswerSealed)
        if sealed:
            kept = [
                other
                for other in kept
                if not (
                    isinstance(past.facts(other.entry)[other.fact], AnswerSealed)
                    and answer_at(past, other).player == answer.player
                    and past.state(other.entry - 1).question == past.state(one.entry - 1).question
                )
            ]
        kept.append(one)
    return tuple(kept)


def correct(ruleset: ArbitersRuleset[S], state: S, command: Correct, past: Past) -> Ruling[S]:
    """State facts on the present position and go on from there, in the middle of a combat too."""
    if not command.facts:
        raise Refusal("nothing-stated")
    game = ruleset.game(state)
    _close_appeal(game, command.appeal, "corrected", command.opinion)
    _state_facts(ruleset, game, command.facts, command.reason)
    return offer(ruleset, run_on(ruleset, game, state.question + 1), past)


def _state_facts(ruleset: ArbitersRuleset[S], game: Game[S], raw: tuple[dict[str, Any], ...], reason: str) -> None:
    facts = [ruleset.stated_fact(one) for one in raw]
    game.emit(Corrected(reason=reason, count=len(facts)))
    for number, fact in enumerate(facts, start=1):
        try:
            game.emit(fact)
        except (KeyError, ValueError, AssertionError, AttributeError) as error:
            raise Refusal("cannot-be-stated", fact=number, problem=str(error)) from error
    problems = ruleset.problems(game.state)
    if problems:
        raise Refusal("impossible-position", problems=list(problems))
    _void_illegal(ruleset, game)


def _void_illegal(ruleset: Ruleset[S], game: Game[S]) -> None:
    """Sealed answers that a correction has made illegal are asked anew."""
    question = open_question(ruleset, game.state)
    decisions = {one.player: one for one in question.decisions} if isinstance(question, Collect) else {}
    for player, answer in sorted(game.state.answers.items()):
        decision = decisions.get(player)
        try:
            if decision is not None and decision.kind == answer.kind:
                decision.check(answer)
                continue
        except Refusal:
            pass
        game.emit(AnswerVoided(player=player, kind=answer.kind))


def offer(ruleset: ArbitersRuleset[S], ruling: Ruling[S], past: Past) -> Ruling[S]:
    """Offer struck-out answers to the questions that are open now, again and again while one is kept."""
    facts = list(ruling.facts)
    state = ruling.state
    for _ in range(MOST_OFFERS):
        found = _next_offer(ruleset, state, past)
        if found is None:
            return Ruling(tuple(facts), state)
        given, answer = found
        differs = compare(ruleset, state, past, given)
        game = ruleset.game(state)
        game.emit(
            AnswerOffered(
                given=given,
                player=answer.player,
                kind=answer.kind,
                question=state.question,
                kept=not differs,
                differs=differs,
            )
        )
        more: Ruling[S] = Ruling(tuple(game.facts), game.state)
        if not differs:
            more = apply_kept(ruleset, game, answer)
        facts += more.facts
        state = more.state
    raise AssertionError("there are not so many answers in a game")


def _next_offer(ruleset: ArbitersRuleset[S], state: S, past: Past) -> tuple[Given, Answer] | None:
    """The first struck-out answer that an open question waits for."""
    if not state.docket.pending:
        return None
    docket = state.docket
    anew = docket.anew if docket.question == state.question else ()
    open_now = [one for one in open_decisions(ruleset, state) if one.player not in anew]
    for given in state.docket.pending:
        answer = answer_at(past, given)
        for decision in open_now:
            same = decision.player == answer.player and decision.kind == answer.kind
            if same and decision.default.about == answer.about:
                return given, answer
    return None


def compare(ruleset: ArbitersRuleset[S], state: S, past: Past, given: Given) -> tuple[str, ...]:
    """What differs between both lines for a struck-out answer; nothing if it is kept."""
    answer = answer_at(past, given)
    before = ruleset.footprint(state_before(ruleset, past, given), answer)
    try:
        now = ruleset.footprint(state, answer)
    except Refusal as refusal:
        return (f"refused: {refusal.code}",)
    return before.differs(now)


def file_appeal(game: Game[S], command: FileAppeal, past_version: int, window: int) -> None:
    """A player appeals within the charter's window, counted in entries (0: no limit)."""
    if not 1 <= command.against <= past_version:
        raise Refusal("no-such-entry", unknown=True, entry=command.against, last=past_version)
    if window and past_version - command.against >= window:
        raise Refusal("too-late-to-appeal", entry=command.against, window=window)
    if not command.statement.strip():
        raise Refusal("statement-missing")
    number = len(game.state.docket.appeals) + 1
    game.emit(AppealFiled(number=number, against=command.against, player=command.house, statement=command.statement))


def rule_on_appeal(game: Game[S], command: RuleOnAppeal) -> None:
    """Decline an appeal, or uphold the ruling, with an opinion."""
    if not command.opinion.strip():
        raise Refusal("opinion-missing")
    if command.outcome not in ("declined", "upheld"):
        raise Refusal("rewinds-and-corrections-name-their-appeal", outcome=command.outcome)
    _close_appeal(game, command.appeal, command.outcome, command.opinion)


def _close_appeal(game: Game[S], number: int | None, outcome: Outcome, opinion: str) -> None:
    if number is None:
        return
    if number not in [appeal.number for appeal in game.state.docket.open_appeals]:
        raise Refusal("no-such-appeal", unknown=True, appeal=number)
    game.emit(AppealRuled(number=number, outcome=outcome, opinion=opinion))


def amend(game: Game[S], command: Amend, known: str) -> None:
    """Move the game to the engine that runs now."""
    if command.engine != known:
        raise Refusal("unknown-engine", unknown=True, engine=command.engine, known=known)
    game.emit(EngineAmended(engine=command.engine, reason=command.reason))
