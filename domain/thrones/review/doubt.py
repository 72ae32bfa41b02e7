"""What an open appeal leaves in doubt, where the charter lets everything else go on (docs/taking-back.md).

The position is cut into *parts*, each with a name: the units of an area, who holds it, a House's forces, an order, a
track, a hand, and so on. A ruling is retraced with every part that it reads written down. It falls into sections: the
answer up to the next question or the next turn, then whatever the rules do by themselves. What a section changes is in
doubt when it read something that is in doubt. Everything here follows from what everybody knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import FunctionType, MethodType
from typing import Any

import msgspec

from domain.kernel.arbiter import Past
from domain.kernel.decision import Answer, Decision
from domain.kernel.docket import (
    AnswerOffered,
    AnswerVoided,
    AppealFiled,
    AppealRuled,
    Corrected,
    CorrectionDecided,
    CorrectionOffered,
    Docket,
    Doubt,
    DueSet,
    EngineAmended,
    InDoubt,
    LossAccepted,
    PrivilegeUsed,
    Rewound,
    SecretsRead,
)
from domain.kernel.facts import AnswerSealed, AnswersOpened, DraftKept, DrawsStated, Fact
from domain.kernel.game import Held, answer_of
from domain.kernel.procedure import Collect, Do, Done, Procedure, Wait
from domain.kernel.refusal import GameEnded
from domain.kernel.ruleset import Open, Ruleset, open_question
from domain.thrones.language import facts as f
from domain.thrones.language.pieces import AreaId, HouseId
from domain.thrones.language.state import Hidden, State
from domain.thrones.review.footprint import look_at_fight, look_at_neutral_force
from domain.thrones.rules.game import Game
from domain.thrones.tables.edition import Edition

EVERYTHING: frozenset[str] | None = None
"""What is in doubt where nothing is told apart."""

BY_KEY = (
    *("garrisons", "neutral", "tracks", "tokens", "supply", "power", "bids", "hands", "discards"),
    *("westeros_discards", "westeros_cards"),
)
"""Fields whose entries are parts of their own."""

UNREAD = frozenset(
    {
        *("frames", "question", "awaited", "docket", "charter", "format", "control", "victory", "combats"),
        *("round", "phase", "step", "winner", "ranking", "face_down"),
    }
)
"""Fields that no rule decides by, or that come with the time of the game."""

DERIVED = ("areas", "forces", "holder", "laid", "owned")
"""Parts that follow from others."""

DECKS = {
    f.WildlingCardBuried: "wildling",
    f.WildlingCardReturned: "wildling",
    f.TidesCardDrawn: "tides",
    f.TidesRevealed: "tides",
}
"""Facts that change a deck without naming it."""

FORGOTTEN = ("orders[", "laid[", "used[", "bids[", "prohibited")
"""What the clean-up at the end of a round leaves alike on every line."""

HANDS = (
    *(AnswerOffered, AnswerVoided, Corrected, CorrectionDecided, CorrectionOffered, EngineAmended, Rewound),
    *(f.GameCreated, f.PositionStated),
)
"""Facts of entries that no answer alone has made: behind them nothing is told apart."""

LASTING = (AppealFiled, AppealRuled, DueSet, InDoubt, LossAccepted, PrivilegeUsed, SecretsRead, DrawsStated)
"""Facts that change nothing a rule decides by."""

MOST_STEPS = 20_000


class _Secret(Exception):
    """Something was read that not everybody may see."""


class Parts:
    """Names of the parts that were read."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.silent = 0
        self.public_only = False

    def note(self, name: str, value: Any = None) -> Any:
        if not self.silent:
            self.names.add("used[*]" if name == "used" else name)
        return value


class _Field(Mapping[str, Any]):
    """A field of the position whose entries are noted one by one, and as ``field[*]`` where all are looked at."""

    def __init__(self, name: str, values: Mapping[str, Any], parts: Parts) -> None:
        self._name = name
        self._values = values
        self._parts = parts

    def __getitem__(self, key: str) -> Any:
        self._parts.note(f"{self._name}[{key}]")
        return self._values[key]

    def __contains__(self, key: object) -> bool:
        self._parts.note(f"{self._name}[{key}]")
        return key in self._values

    def __iter__(self) -> Iterator[str]:
        self._parts.note(f"{self._name}[*]")
        return iter(self._values)

    def __len__(self) -> int:
        self._parts.note(f"{self._name}[*]")
        return len(self._values)


class _Hidden:
    """The hidden part: that it was read, by name."""

    def __init__(self, hidden: Hidden, parts: Parts) -> None:
        self._hidden = hidden
        self._parts = parts

    def __getattr__(self, name: str) -> Any:
        if self._parts.public_only:
            raise _Secret
        found = getattr(self._hidden, name)
        return _Field(name, found, self._parts) if name in ("decks", "answers", "seen", "tides") else found


class _Position:
    """A position that writes down which of its parts are read."""

    def __init__(self, state: State, parts: Parts) -> None:
        self._state = state
        self._parts = parts

    def __getattr__(self, name: str) -> Any:
        told = getattr(State, name, None)
        if isinstance(told, property) and told.fget is not None:
            return told.fget(self)
        if isinstance(told, FunctionType):
            return MethodType(told, self)
        found = getattr(self._state, name)
        if name in UNREAD:
            return found
        if name == "hidden":
            return _Hidden(found, self._parts)
        if isinstance(found, dict):
            return _Field(name, found, self._parts)
        if name == "used":
            return self._parts.note(name, found)
        if name in ("march", "combat") and found is None:
            return None  # between two turns there is none on any line
        return self._parts.note(name, found)

    def house_in(self, area: AreaId) -> HouseId | None:
        found: HouseId | None = self._parts.note(f"holder[{area}]", self._state.house_in(area))
        return found

    def areas_of(self, house: HouseId) -> tuple[AreaId, ...]:
        found: tuple[AreaId, ...] = self._parts.note(f"areas[{house}]", self._state.areas_of(house))
        return found

    def forces_of(self, house: HouseId) -> Any:
        return self._parts.note(f"forces[{house}]", self._state.forces_of(house))

    def tokens_on_board(self, house: HouseId) -> int:
        found: int = self._parts.note(f"owned[{house}]", self._state.tokens_on_board(house))
        return found

    def is_unused(self, token: str) -> bool:
        found: bool = self._parts.note(f"used[{token}]", self._state.is_unused(token))
        return found


class RetracedGame(Game):
    """A game that writes down which parts of the position its rules read."""

    def __init__(self, ruleset: Ruleset[State], state: State, edition: Edition) -> None:
        self.plain = Game(ruleset, state, edition)
        self.reads = Parts()
        super().__init__(ruleset, state, edition)

    @property
    def state(self) -> Any:
        return _Position(self.plain.state, self.reads)

    @state.setter
    def state(self, state: State) -> None:
        self.plain.state = state

    def emit(self, fact: Fact, *rules: str) -> None:
        self.facts.append(fact)
        self.plain.state = self.ruleset.evolve(self.plain.state, fact)

    def recount(self, work: Any) -> Any:
        self.reads.silent += 1
        try:
            return work(self)
        finally:
            self.reads.silent -= 1

    def controlled(self, house: HouseId) -> tuple[AreaId, ...]:
        return self._held(house, self.plain.controlled(house))

    def castles_of(self, house: HouseId) -> tuple[AreaId, ...]:
        return self._held(house, self.plain.castles_of(house))

    def _held(self, house: HouseId, found: tuple[AreaId, ...]) -> tuple[AreaId, ...]:
        """What a House controls follows from where it stands, its Power tokens, and who else stands there."""
        state = self.plain.state
        self.reads.note(f"areas[{house}]")
        self.reads.note(f"owned[{house}]")
        marked = {area for area, owner in state.power_tokens.items() if owner == house}
        for area in sorted(marked | {self.edition.houses[house].home}):
            for field in ("holder", "neutral", "power_tokens"):
                self.reads.note(f"{field}[{area}]")
        return found

    def orders_of(self, house: HouseId, kind: str) -> tuple[AreaId, ...]:
        self.reads.note(f"laid[{house}]")
        return self.plain.orders_of(house, kind)


# What was changed


def changed(before: State, after: State, facts: Iterable[Fact]) -> set[str]:
    """The names of the parts that differ between two positions; of what is hidden, those that facts between touch."""
    found: set[str] = set()
    for area, old, new in _differences(before.units, after.units):
        houses = {force.house for force in (old, new) if force is not None}
        found |= {f"units[{area}]", *(f"forces[{house}]" for house in houses)}
        if len(houses) == 2 or old is None or new is None:
            found |= {f"holder[{area}]", *(f"areas[{house}]" for house in houses)}
    for area, old, new in _differences(before.orders, after.orders):
        found |= {f"orders[{area}]", *(f"laid[{placed.house}]" for placed in (old, new) if placed is not None)}
    for area, old, new in _differences(before.power_tokens, after.power_tokens):
        found |= {f"power_tokens[{area}]", *(f"owned[{house}]" for house in (old, new) if house is not None)}
    for field in BY_KEY:
        found |= {f"{field}[{key}]" for key, _, _ in _differences(getattr(before, field), getattr(after, field))}
    found |= {f"used[{token}]" for token in {*before.used} ^ {*after.used}}
    found |= {name for name in ("threat", "prohibited") if getattr(before, name) != getattr(after, name)}
    found |= {name for name in ("march", "combat") if getattr(before, name) != getattr(after, name)}
    if before.march != after.march:
        found |= {f"forces[{march.house}]" for march in (before.march, after.march) if march is not None}
    return found | set(_hidden(facts))


def changed_parts(before: State, after: State) -> set[str]:
    """The same without what only follows from other parts."""
    return {name for name in changed(before, after, ()) if name.partition("[")[0] not in DERIVED}


def value(state: State, part: str) -> Any:
    """What a part of the position is."""
    field, _, key = part.removesuffix("]").partition("[")
    found = getattr(state, field)
    if isinstance(found, dict):
        return found.get(key)
    return key in found if key else found


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    if old is not new:
        for key in sorted({*old, *new}):
            if old.get(key) != new.get(key):
                yield key, old.get(key), new.get(key)


def _hidden(facts: Iterable[Fact]) -> Iterator[str]:
    for fact in facts:
        match fact:
            case AnswerSealed():
                yield f"answers[{fact.player}]"
            case f.WildlingCardSeen():
                yield f"seen[{fact.house}]"
            case f.TidesCardDrawn():
                yield f"tides[{fact.house}]"
                yield "decks[tides]"
            case f.DeckShuffled() | f.DeckRedrawn() | f.WesterosCardDrawn():
                yield f"decks[{fact.deck}]"
            case _ if type(fact) in DECKS:
                yield f"decks[{DECKS[type(fact)]}]"
            case _:
                pass


def meets(names: Iterable[str], reads: Iterable[str]) -> tuple[str, ...]:
    """Which of some parts were read."""
    exactly = {*reads}
    wholes = tuple(name.removesuffix("*]") for name in exactly if name.endswith("[*]"))
    return tuple(sorted(name for name in names if name in exactly or name.startswith(wholes or ("\0",))))


# Rulings, section by section


class Section:
    """A part of a ruling: what it read and did, and the procedures that it began or that went on asking.

    ``seeks`` names the procedure where it looks for the next turn. What ``follows`` on such a search comes in its turn,
    and not of the answer before.
    """

    def __init__(self, game: RetracedGame, stack: list[Procedure], *, seeks: str = "", follows: bool = False) -> None:
        self.seeks = seeks
        self.follows = follows
        self.before = game.plain.state
        self.running = tuple(_name(frame) for frame in stack)
        self.low = len(stack)
        self.first = len(game.facts)
        self.reads: set[str] = set()
        self.after = self.before
        self.facts: tuple[Fact, ...] = ()
        self.begun: tuple[str, ...] = ()
        self.left = self.running


def _name(frame: Procedure) -> str:
    return f"procedure[{type(frame).__name__}]"


class _Retracing:
    """Rules once more on an answer, section by section."""

    def __init__(self, ruleset: Ruleset[State], edition: Edition, state: State) -> None:
        self.game = RetracedGame(ruleset, state, edition)
        self.stack = self.game.stack()
        self.done: list[Section] = []
        self.section = Section(self.game, self.stack)

    def rule(self, answer: Answer) -> list[Section]:
        try:
            question = self._run()
            if isinstance(question, Wait):
                reads = _question_reads(self.game, self.stack, question, answer.player)
                self._open(reads)
                self._settle(getattr(self.stack[-1], question.then)(self.game, answer))
            else:
                assert isinstance(question, Collect)
                self._seal(question, answer)
                if question.outstanding(self.game.plain.state.answers):
                    self._close()
                    return self.done
            self._advance()
        except GameEnded:
            self.stack.clear()
            self._close()
        return self.done

    def _run(self) -> Any:
        return getattr(self.stack[-1], self.stack[-1].step)(self.game)

    def _open(self, reads: Iterable[str] = (), *, seeks: str = "", follows: bool = False) -> None:
        self.section = Section(self.game, self.stack, seeks=seeks, follows=follows)
        self.game.reads.names = {*reads}

    def _close(self, *, asked: bool = False, reads: Iterable[str] | None = None) -> None:
        section = self.section
        section.reads = {*(self.game.reads.names if reads is None else reads)}
        section.after = self.game.plain.state
        section.facts = tuple(self.game.facts[section.first :])
        names = [_name(frame) for frame in self.stack]
        section.left = tuple(names)
        section.begun = (*names[section.low :], *(names[-1:] if asked else ()))
        self.done.append(section)

    def _settle(self, result: Any) -> None:
        if isinstance(result, Done):
            self.stack.pop()
        elif isinstance(result, Do):
            self.stack[-1:] = [result.then, result.procedure]
        else:
            self.stack[-1] = result
        self.section.low = min(self.section.low, len(self.stack))

    def _seal(self, question: Collect, answer: Answer) -> None:
        reads = _question_reads(self.game, self.stack, question, answer.player)
        self._open(reads)
        self.game.emit(AnswerSealed(player=answer.player, answer=msgspec.structs.replace(answer, question=None)))
        if question.in_turn:
            self.stack[-1].sealed(self.game, answer)

    def _advance(self) -> None:
        """As the runner does: until somebody is asked, forced answers included."""
        for _ in range(MOST_STEPS):
            if not self.stack:
                self._close()
                return
            frame = self.stack[-1]
            if frame.step in type(frame).turns:
                self._close()
                self._open(seeks=_name(frame))
            read = {*self.game.reads.names}
            result = self._run()
            if isinstance(result, Wait | Collect):
                if not self._force(result, read):
                    return
            else:
                self._settle(result)
                if self.section.seeks:
                    self._close()
                    self._open(follows=True)
        raise AssertionError("a command never needs so many steps")

    def _force(self, question: Open, read: set[str]) -> bool:
        """Close the section at a question, and go on with its forced answers; False where somebody is asked."""
        is_turn = bool(self.section.seeks)
        self._close(asked=not is_turn, reads=read)
        frame = self.stack[-1]
        if isinstance(question, Wait):
            if question.decision.forced is None:
                return False
            self._open(_question_reads(self.game, self.stack, question, question.decision.player))
            self._settle(getattr(frame, question.then)(self.game, question.decision.forced))
            return True
        answers = self.game.plain.state.answers
        while due := [one for one in question.outstanding(answers) if one.forced is not None]:
            for decision in due:
                assert decision.forced is not None
                self._seal(question, decision.forced)
                self._close()
            answers = self.game.plain.state.answers
        if question.outstanding(answers):
            return False
        self._open(f"answers[{house}]" for house in answers)
        if question.decisions:
            self.game.emit(AnswersOpened(kind=question.decisions[0].kind))
        self._settle(getattr(frame, question.then)(self.game, dict(answers)))
        return True


def _question_reads(game: RetracedGame, stack: list[Procedure], question: Open, player: HouseId) -> set[str]:
    """What a question that has just been asked, and any ruling on its answer in a fight, reads; for one decider.

    Of what the question found out for others, and of the search for the next turn, nothing is his.
    """
    frame = stack[-1]
    found = game.reads.names
    others = {house for house in game.plain.state.houses if house != player}
    if isinstance(question, Collect):
        found = {name for name in found if _key(name) not in others}
    elif frame.step in type(frame).turns:
        found = {name for name in found if not (name.startswith("laid[") and _key(name) in others)}
    game.reads.names = found
    look_at_fight(game)
    look_at_neutral_force(game, stack)
    if isinstance(question, Collect):
        frame.weighed(game)
    found = game.reads.names
    game.reads.names = set()
    if isinstance(question, Collect):
        found |= {f"answers[{house}]" for house in game.plain.state.answers}
    return found


def _key(name: str) -> str:
    return name.partition("[")[2].removesuffix("]")


def retraced(ruleset: Ruleset[State], edition: Edition, state: State, answer: Answer) -> list[Section]:
    """The ruling on an answer, section by section."""
    return _Retracing(ruleset, edition, state).rule(answer)


# Doubt


def spread(names: frozenset[str], sections: Iterable[Section], *, appealed: bool = False) -> frozenset[str]:
    """What is in doubt after a ruling, if ``names`` was before it; of the appealed ruling everything that it did."""
    found = {*names}
    for section in sections:
        rests = not section.seeks and bool({*section.running} & found or meets(found, section.reads))
        if appealed or rests:
            found |= changed(section.before, section.after, section.facts)
        if rests or (appealed and not section.seeks and not section.follows):
            found |= {*section.begun}
        found.discard(section.seeks)
        if any(isinstance(fact, f.OrdersTakenBack) for fact in section.facts):
            found = {name for name in found if not name.startswith(FORGOTTEN)}
        found = {name for name in found if _is_there(name, section)}
    return frozenset(found)


def _is_there(name: str, section: Section) -> bool:
    """Whether a part that comes and goes is still there."""
    field = name.partition("[")[0]
    if field == "procedure":
        return name in section.left
    if field in ("answers", "seen", "tides"):
        return _key(name) in getattr(section.after.hidden, field)
    return field not in ("march", "combat") or getattr(section.after, field) is not None


def after_ruling(
    ruleset: Ruleset[State],
    edition: Edition,
    state: State,
    facts: tuple[Fact, ...],
    names: frozenset[str],
    *,
    appealed: bool = False,
) -> frozenset[str] | None:
    """What is in doubt after an entry; None (everything) where an arbiter's hand is in it, or it cannot be retraced."""
    answer = answer_of(facts)
    if answer is None:
        harmless = not facts or isinstance(facts[0], DraftKept) or all(isinstance(one, LASTING) for one in facts)
        return names if harmless and not appealed else EVERYTHING
    if any(isinstance(fact, HANDS) for fact in facts):
        return EVERYTHING
    return spread(names, retraced(ruleset, edition, state, answer), appealed=appealed)


def doubt_after(
    ruleset: Ruleset[State], edition: Edition, state: State, facts: tuple[Fact, ...], doubt: Doubt
) -> Doubt:
    """What an appeal leaves in doubt after one more entry."""
    if doubt.everything:
        return doubt
    names = after_ruling(ruleset, edition, state, facts, frozenset(doubt.names))
    return Doubt(everything=True) if names is None else Doubt(names=tuple(sorted(names)))


def in_doubt(ruleset: Ruleset[State], edition: Edition, past: Past, docket: Docket, against: int) -> Doubt:
    """What an appeal against an entry leaves in doubt, followed along the line of the record."""
    line = docket.line_to(past.version)
    if against not in line or docket.pending:
        return Doubt(everything=True)
    names: frozenset[str] = frozenset()
    for entry in line[line.index(against) :]:
        state: State = past.state(entry - 1)
        more = None
        if state.charter.edition:
            more = after_ruling(ruleset, edition, state, past.facts(entry), names, appealed=entry == against)
        if more is None:
            return Doubt(everything=True)
        names = more
    return Doubt(names=tuple(sorted(names)))


def held(ruleset: Ruleset[State], edition: Edition, state: State, decision: Decision[Any]) -> tuple[Held, ...]:
    """The open appeals that an open question waits for, whatever would be answered."""
    doubts = {doubt.appeal: doubt for doubt in state.docket.doubts}
    reads: set[str] = set()
    if any(not doubt.everything for doubt in doubts.values()):
        game = RetracedGame(ruleset, state, edition)
        stack = game.stack()
        question = getattr(stack[-1], stack[-1].step)(game)
        reads = {*_question_reads(game, stack, question, decision.player), *map(_name, stack)}
    found = []
    for appeal in state.docket.stopping_appeals:
        doubt = doubts.get(appeal.number, Doubt(everything=True))
        names = meets(doubt.names, reads)
        if doubt.everything or names:
            found.append(Held(appeal.number, names))
    return tuple(found)


def held_by_ruling(ruleset: Ruleset[State], edition: Edition, state: State, answer: Answer) -> tuple[Held, ...]:
    """The open appeals that an answer waits for because its ruling reads what is in doubt.

    Of secret answers nothing is looked at, and no ruling is followed beyond what is hidden: that an answer is refused
    must not betray what nobody can see yet.
    """
    question = open_question(ruleset, state)
    if not isinstance(question, Wait):
        return ()
    game = RetracedGame(ruleset, state, edition)
    game.reads.public_only = True
    stack = game.stack()
    _follow(game, stack, question, answer)
    if state.combat is None:
        look_at_fight(game)
    look_at_neutral_force(game, stack)
    found = ((doubt.appeal, meets(doubt.names, game.reads.names)) for doubt in state.docket.doubts)
    return tuple(Held(appeal, names) for appeal, names in found if names)


def _follow(game: RetracedGame, stack: list[Procedure], question: Wait, answer: Answer) -> None:
    """Rule on an answer until somebody is asked, the next turn is sought, or what comes then is hidden."""
    try:
        _rule(game, stack, getattr(stack[-1], question.then)(game, answer))
    except (_Secret, GameEnded):
        return


def _rule(game: RetracedGame, stack: list[Procedure], result: Any) -> None:
    for _ in range(MOST_STEPS):
        if isinstance(result, Wait | Collect):
            return
        if isinstance(result, Done):
            stack.pop()
        elif isinstance(result, Do):
            stack[-1:] = [result.then, result.procedure]
        else:
            stack[-1] = result
        if not stack or stack[-1].step in type(stack[-1]).turns:
            return
        result = getattr(stack[-1], stack[-1].step)(game)
    raise AssertionError("a ruling never needs so many steps")
