"""The runner: how a command becomes facts.

``decide`` holds every rule and ``evolve`` every change. The runner works the stack of procedures: it runs
steps until one waits, applies forced answers by itself, and records at the end what the game now waits
for. A command that ends in a refusal or an exception leaves nothing behind, since the caller only ever
gets facts and state from a finished :class:`Ruling`.
"""

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeVar

import msgspec

from domain.kernel.chance import commitment
from domain.kernel.decision import Answer, Decision
from domain.kernel.docket import Docket
from domain.kernel.facts import (
    Answered,
    AnswerSealed,
    AnswersOpened,
    AnswerTaken,
    Awaited,
    Awaiting,
    DraftKept,
    DrawsStated,
    Fact,
    Frame,
    How,
    SeedCommitted,
    SeedSealed,
)
from domain.kernel.procedure import Collect, Do, Done, Procedure, Wait
from domain.kernel.refusal import GameEnded, Refusal

MOST_STEPS = 20_000
"""A bound on the steps of one command. The longest whole Westeros phases take some hundred."""

MOST_FACTS = 100_000
"""A bound on the facts of one command. A whole game has some thousand, and a rewind may offer all its answers again."""


class EndlessRuling(AssertionError):
    """The rules have gone round in circles: their mistake, and the command is not to blame for what it says."""


class State(Protocol):
    """What the runner reads of a game's state."""

    @property
    def frames(self) -> tuple[Frame, ...]: ...
    @property
    def question(self) -> int: ...
    @property
    def answers(self) -> dict[str, Any]: ...
    @property
    def drafts(self) -> dict[str, Any]: ...
    @property
    def is_over(self) -> bool: ...
    @property
    def docket(self) -> Docket: ...


S = TypeVar("S", bound=State)
Open = Wait | Collect


class Citations(msgspec.Struct, frozen=True):
    """Rules that the runner itself applies, by the identifiers of the game's specification."""

    forced: tuple[str, ...]
    missed: tuple[str, ...]
    given: tuple[str, ...]
    sealed: tuple[str, ...]
    whole: tuple[str, ...]
    seeds: tuple[str, ...]
    created: tuple[str, ...]
    gathered: tuple[str, ...]


class Ruleset(Protocol[S]):
    """A game: how facts change its state, and which procedures and answers it has."""

    @property
    def procedures(self) -> dict[str, type[Procedure]]: ...
    @property
    def citations(self) -> Citations: ...
    def evolve(self, state: S, fact: Fact) -> S: ...
    def game(self, state: S) -> Game[S]: ...


class Ruling(msgspec.Struct, Generic[S], frozen=True):
    """The outcome of one command: what changed, in order, and the state after it."""

    facts: tuple[Fact, ...]
    state: S


class Game(Generic[S]):
    """One command being ruled on: the state so far, and the facts that led to it."""

    def __init__(self, ruleset: Ruleset[S], state: S) -> None:
        self.ruleset = ruleset
        self.state = state
        self.facts: list[Fact] = []

    def emit(self, fact: Fact, *rules: str) -> None:
        """Record a fact with the rules behind it and apply it, so that the next line of a rule sees it."""
        if rules:
            fact = msgspec.structs.replace(fact, rules=rules)
        if len(self.facts) >= MOST_FACTS:
            raise EndlessRuling("a command never has so many facts")
        self.facts.append(fact)
        self.state = self.ruleset.evolve(self.state, fact)

    def seal_seed(self, seed: str) -> None:
        """Take a seed under its public commitment."""
        self.emit(SeedSealed(seed=seed), *self.ruleset.citations.seeds)
        self.emit(SeedCommitted(commitment=commitment(seed)), *self.ruleset.citations.seeds)

    def stack(self) -> list[Procedure]:
        """The procedures of the state, outermost first."""
        known = self.ruleset.procedures
        return [msgspec.convert(frame, known[frame["procedure"]]) for frame in self.state.frames]


def _run(game: Game[Any], frame: Procedure) -> Any:
    return getattr(frame, frame.step)(game)


def open_question(ruleset: Ruleset[S], state: S) -> Open | None:
    """What the game waits for, with options recomputed from the state; None once the game is over."""
    if state.is_over or not state.frames:
        return None
    game = ruleset.game(state)
    result = _run(game, game.stack()[-1])
    assert isinstance(result, Wait | Collect) and not game.facts, "a waiting step only waits"
    return result


def open_decisions(ruleset: Ruleset[S], state: S, *, replaceable: bool = False) -> tuple[Decision[Any], ...]:
    """The decisions that somebody still owes, in the order of the question.

    With ``replaceable`` also those whose answer is in and may be replaced until the last one is.
    """
    question = open_question(ruleset, state)
    if question is None:
        return ()
    if isinstance(question, Wait):
        return (question.decision,)
    if replaceable and not question.in_turn:
        return question.decisions
    return question.outstanding(state.answers)


def begin(game: Game[S], root: Procedure) -> Ruling[S]:
    """Start a game: run from the root procedure until something is awaited."""
    return _advance(game, [root], game.state.question)


def resume(ruleset: Ruleset[S], state: S) -> Ruling[S]:
    """Run the stack that a stated position brought along until something is awaited."""
    game = ruleset.game(state)
    return _advance(game, game.stack(), state.question)


def run_on(ruleset: Ruleset[S], game: Game[S], number: int, first: tuple[Procedure, ...] = ()) -> Ruling[S]:
    """Go on from the stack of a state that an arbiter has stated, under the next number of a question.

    The procedures ``first`` are carried out before anything else.
    """
    return _advance(game, [*game.stack(), *first], number)


def apply_kept(ruleset: Ruleset[S], game: Game[S], answer: Answer) -> Ruling[S]:
    """Take a struck-out answer again; it is legal, its footprint has been compared."""
    question = open_question(ruleset, game.state)
    decision = _addressed(question, game.state, answer, ruleset.citations)
    assert question is not None
    return _take(game, question, decision, answer, "kept")


def rule_on(ruleset: Ruleset[S], state: S, answer: Answer) -> Ruling[S]:
    """Rule on a player's answer. Raises :class:`Refusal`; the checks run in the order they stand here."""
    game = ruleset.game(state)
    question = open_question(ruleset, state)
    decision = _addressed(question, state, answer, ruleset.citations)
    if answer.tentative:
        decision.options.check_draft(answer)
        game.emit(DraftKept(player=answer.player, answer=answer), *ruleset.citations.missed)
        return Ruling(tuple(game.facts), game.state)
    try:
        decision.check(answer)
    except Refusal as refusal:
        refusal.rules = (*refusal.rules, *ruleset.citations.whole)
        raise
    assert question is not None
    return _take(game, question, decision, answer, "given")


def miss_deadline(ruleset: Ruleset[S], state: S, player: str, number: int | None) -> Ruling[S]:
    """Answer question ``number`` of ``player`` with its default, because the deadline ran out. Raises Refusal."""
    question = open_question(ruleset, state)
    if question is None:
        raise Refusal("game-over")
    if number is None:
        raise Refusal("question-missing", ruleset.citations.missed, open=state.question)
    if number != state.question:
        raise Refusal("question-closed", ruleset.citations.missed, question=number, open=state.question)
    owed = (question.decision,) if isinstance(question, Wait) else question.outstanding(state.answers)
    for decision in owed:
        if decision.player == player:
            return _take(ruleset.game(state), question, decision, decision.default, "default")
    raise Refusal("not-awaited", ruleset.citations.missed, player=player, awaited=[one.player for one in owed])


def state_draws(ruleset: Ruleset[S], state: S, deck: str, cards: tuple[str, ...]) -> Ruling[S]:
    """Impose the next draws of a deck, for games whose chance comes from outside."""
    game = ruleset.game(state)
    game.emit(DrawsStated(deck=deck, cards=cards))
    return Ruling(tuple(game.facts), game.state)


def _addressed(question: Open | None, state: State, answer: Answer, citations: Citations) -> Decision[Any]:
    """The decision an answer is meant for."""
    if question is None:
        raise Refusal("game-over")
    if answer.question is not None and answer.question != state.question:
        raise Refusal("question-closed", citations.whole, question=answer.question, open=state.question)
    decisions = (question.decision,) if isinstance(question, Wait) else question.decisions
    kinds = sorted({decision.kind for decision in decisions})
    if answer.kind not in kinds:
        raise Refusal("not-asked", citations.given, kind=answer.kind, open=kinds)
    owed = decisions
    if isinstance(question, Collect) and question.in_turn:
        owed = question.outstanding(state.answers)
    for decision in owed:
        if decision.player == answer.player:
            break
    else:
        raise Refusal("not-your-turn", citations.given, player=answer.player, awaited=[one.player for one in owed])
    if answer.about != decision.default.about:
        raise Refusal(
            "another-question", citations.whole, answered=list(answer.about), open=list(decision.default.about)
        )
    return decision


def _take(game: Game[S], question: Open, decision: Decision[Any], answer: Answer, how: How) -> Ruling[S]:
    stack = game.stack()
    number = game.state.question
    if isinstance(question, Wait):
        stack[-1:] = _answered(game, stack[-1], question, answer, how)
        return _advance(game, stack, number + 1)
    _seal(game, question, stack[-1], decision, answer, how)
    if question.outstanding(game.state.answers):
        return _advance(game, stack, number)
    return _advance(game, stack, number + 1)


def _answered(game: Game[S], frame: Procedure, wait: Wait, answer: Answer, how: How) -> list[Procedure]:
    game.emit(
        Answered(answer=msgspec.structs.replace(answer, question=None), how=how),
        *wait.decision.rules,
        *_rules_of(game, how),
    )
    return _settle(frame, getattr(frame, wait.then)(game, answer))


def _seal(game: Game[S], collect: Collect, frame: Procedure, decision: Decision[Any], answer: Answer, how: How) -> None:
    rules = (*decision.rules, *_rules_of(game, how))
    game.emit(AnswerTaken(player=decision.player, kind=decision.kind, how=how), *rules)
    body = msgspec.structs.replace(answer, question=None)
    game.emit(AnswerSealed(player=decision.player, answer=body), *game.ruleset.citations.sealed)
    if collect.in_turn:
        frame.sealed(game, body)


def _rules_of(game: Game[S], how: How) -> tuple[str, ...]:
    citations = game.ruleset.citations
    return {"given": (), "kept": (), "forced": citations.forced, "default": citations.missed}[how]


def _settle(frame: Procedure, result: Any) -> list[Procedure]:
    """The frames that take the place of ``frame`` after a step."""
    if isinstance(result, Done):
        return []
    if isinstance(result, Do):
        return [result.then, result.procedure]
    assert isinstance(result, Procedure), f"{type(frame).__name__}.{frame.step} says what comes next"
    return [result]


def _advance(game: Game[S], stack: list[Procedure], number: int) -> Ruling[S]:
    """Run steps until one waits for somebody, then record what is awaited."""
    awaited: tuple[Awaited, ...] = ()
    try:
        for _ in range(MOST_STEPS):
            if not stack:
                break
            frame = stack[-1]
            result = _run(game, frame)
            if isinstance(result, Wait):
                if result.decision.forced is None:
                    awaited = (Awaited(result.decision.player, result.decision.kind),)
                    break
                stack[-1:] = _answered(game, frame, result, result.decision.forced, "forced")
            elif isinstance(result, Collect):
                owed = _force(game, result, frame)
                if owed:
                    awaited = tuple(Awaited(decision.player, decision.kind) for decision in owed)
                    break
                answers = dict(game.state.answers)
                if result.decisions:
                    game.emit(AnswersOpened(kind=result.decisions[0].kind), *game.ruleset.citations.sealed)
                stack[-1:] = _settle(frame, getattr(frame, result.then)(game, answers))
            else:
                stack[-1:] = _settle(frame, result)
        else:
            raise EndlessRuling("a command never needs so many steps")
    except GameEnded:
        stack = []
    frames = tuple(_plain(frame) for frame in stack)
    game.emit(Awaiting(frames=frames, question=number, awaited=awaited))
    return Ruling(tuple(game.facts), game.state)


def _force(game: Game[S], collect: Collect, frame: Procedure) -> tuple[Decision[Any], ...]:
    """Seal every forced answer that is due; what remains is owed."""
    for _ in range(MOST_STEPS):
        owed = collect.outstanding(game.state.answers)
        due = [(decision, decision.forced) for decision in owed if decision.forced is not None]
        if not due:
            return owed
        for decision, answer in due:
            _seal(game, collect, frame, decision, answer, "forced")
    raise EndlessRuling("forced answers come to an end")


def _plain(frame: Procedure) -> Frame:
    """A frame as it comes back from storage, lists instead of tuples: live and replayed states are equal."""
    plain: Frame = msgspec.json.decode(msgspec.json.encode(frame))
    return plain
