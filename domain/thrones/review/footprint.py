"""Footprints: what an answer rests on. Found by ruling on it with everything that is read written down.

The options it was chosen from and the values of all reads, by name: units of an area, an order, a track, a
hand, a House's Power, a local of a procedure. Two lines of a game on which these are equal rule alike on the
answer. Reading ends where somebody is asked or the next turn is sought; what is looked for all over the board
(control, lost ports, orders without units) is not read for its own sake. docs/taking-back.md has the reasons.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import FunctionType, MethodType
from typing import Any

import msgspec

from domain.kernel.arbiter import Footprint
from domain.kernel.decision import Answer
from domain.kernel.facts import Fact
from domain.kernel.procedure import Collect, Do, Done, Procedure, Wait
from domain.kernel.refusal import GameEnded, Refusal
from domain.kernel.ruleset import Ruleset
from domain.thrones.language.pieces import BLADE
from domain.thrones.language.state import State
from domain.thrones.rules.action.marches import MarchOrders
from domain.thrones.rules.combat.support import eligible_orders
from domain.thrones.rules.game import Game
from domain.thrones.tables.edition import Edition

UNREAD = frozenset({"frames", "question", "awaited", "docket", "charter", "format", "control", "victory", "combats"})
"""Fields that no rule decides by, or that are the same on every line of a game."""

ASKED = (
    *("controller", "controlled", "castles_of", "is_enemy_in", "is_closed", "reserve", "in_play", "supply_limit"),
    *("sizes", "orders_of", "token", "stars", "turns", "shield"),
)
"""Questions of :class:`Game` that are noted with their answer instead of all that they look at."""

MOST_STEPS = 5_000

_encode = msgspec.json.Encoder(order="deterministic").encode


class Reads:
    """Names of what was read, with the first value of each."""

    def __init__(self) -> None:
        self.noted: dict[str, Any] = {}
        self.silent = 0

    def note(self, name: str, value: Any) -> Any:
        if not self.silent:
            self.noted.setdefault(name, _encode(value))
        return value


class TracedMapping(Mapping[str, Any]):
    """A field of the position by key."""

    def __init__(self, name: str, values: Mapping[str, Any], reads: Reads) -> None:
        self._name = name
        self._values = values
        self._reads = reads

    def __getitem__(self, key: str) -> Any:
        self._reads.note(f"{self._name}[{key}]", self._values.get(key))
        return self._values[key]

    def get(self, key: str, default: Any = None) -> Any:
        self._reads.note(f"{self._name}[{key}]", self._values.get(key))
        return self._values.get(key, default)

    def __contains__(self, key: object) -> bool:
        self._reads.note(f"{self._name}[{key}]", self._values.get(str(key)))
        return key in self._values

    def __iter__(self) -> Iterator[str]:
        self._reads.note(self._name, dict(self._values))
        return iter(self._values)

    def __len__(self) -> int:
        self._reads.note(self._name, dict(self._values))
        return len(self._values)


class TracedState:
    """A position that writes down what is read of it."""

    def __init__(self, state: State, reads: Reads) -> None:
        self._state = state
        self._reads = reads

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._state, name)
        if callable(found):
            return self._noting(name, found)
        if name in UNREAD:
            return found
        if name == "hidden":
            return TracedHidden(found, self._reads)
        if isinstance(found, dict):
            return TracedMapping(name, found, self._reads)
        return self._reads.note(name, found)

    def _noting(self, name: str, method: Any) -> Any:
        def call(*args: Any) -> Any:
            return self._reads.note(f"{name}({', '.join(map(str, args))})", method(*args))

        return call


class TracedHidden:
    """The hidden part; names of what was read of it say nothing of the values."""

    def __init__(self, hidden: Any, reads: Reads) -> None:
        self._hidden = hidden
        self._reads = reads

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._hidden, name)
        if isinstance(found, dict):
            return TracedMapping(f"hidden.{name}", found, self._reads)
        return self._reads.note(f"hidden.{name}", found)


class TracedFrame:
    """A procedure whose locals are noted when a step reads them."""

    def __init__(self, frame: Procedure, reads: Reads) -> None:
        self._frame = frame
        self._reads = reads

    def __getattr__(self, name: str) -> Any:
        kind = type(self._frame)
        if name in kind.__struct_fields__:
            return self._reads.note(f"{kind.__name__}.{name}", getattr(self._frame, name))
        if name == "at":
            return self._frame.at
        found = getattr(kind, name)
        if isinstance(found, property):
            return found.__get__(self)
        return MethodType(found, self) if isinstance(found, FunctionType) else found


class TracingGame(Game):
    """A game that writes down what its rules read, and applies facts to the plain position."""

    def __init__(self, ruleset: Ruleset[State], state: State, edition: Edition, reads: Reads) -> None:
        self.plain = Game(ruleset, state, edition)
        self.reads = reads
        super().__init__(ruleset, state, edition)
        for name in ASKED:
            setattr(self, name, self._noting(name))

    def _noting(self, name: str) -> Any:
        def call(*args: Any, **named: Any) -> Any:
            value = getattr(self.plain, name)(*args, **named)
            told = ", ".join([*map(str, args), *(f"{key}={item}" for key, item in named.items())])
            return self.reads.note(f"{name}({told})", value)

        return call

    @property
    def state(self) -> Any:
        return TracedState(self.plain.state, self.reads)

    @state.setter
    def state(self, state: State) -> None:
        self.plain.state = state

    def emit(self, fact: Fact, *rules: str) -> None:
        if rules:
            fact = msgspec.structs.replace(fact, rules=rules)
        self.facts.append(fact)
        self.plain.state = self.ruleset.evolve(self.plain.state, fact)

    def recount(self, work: Any) -> Any:
        """Do something all over the board that is not read for its own sake."""
        self.reads.silent += 1
        try:
            return work(self)
        finally:
            self.reads.silent -= 1


def footprint(
    ruleset: Ruleset[State], edition: Edition, state: State, answer: Answer, *, unseen: bool = False
) -> Footprint:
    """What ``answer`` rests on in ``state``. Raises Refusal when it is not asked for there, or not legal.

    With ``unseen`` nobody looks at what a secret answer says: whether it is legal may betray that.
    """
    reads = Reads()
    game = TracingGame(ruleset, state, edition, reads)
    stack = game.stack()
    question = getattr(stack[-1], stack[-1].step)(game)
    assert isinstance(question, Wait | Collect)
    decisions = (question.decision,) if isinstance(question, Wait) else question.decisions
    decision = next((one for one in decisions if one.player == answer.player and one.kind == answer.kind), None)
    if decision is None or decision.default.about != answer.about:
        raise Refusal("not-asked")
    if isinstance(question, Wait) or not unseen:
        _check(decision, answer)
    # What the question looked at is in its options; of a secret one, others' options too, which are not this player's.
    reads.noted.clear()
    options = _encode([decision.options, decision.secret, decision.facts])
    game.state.hidden.seen.get(answer.player)
    game.state.hidden.tides.get(answer.player)
    look_at_fight(game)
    look_at_neutral_force(game, stack)
    frame: Any = TracedFrame(stack[-1], reads)
    if isinstance(question, Wait):
        _trace(game, stack, getattr(frame, question.then)(game, answer))
        if state.combat is None:
            look_at_fight(game)
        look_at_neutral_force(game, stack)
    else:
        frame.weighed(game)
    return Footprint(options, reads.noted)


def _check(decision: Any, answer: Any) -> None:
    """Raise Refusal for an illegal answer. The default stands even where nobody could give it (2E-CP-6)."""
    if answer.tentative:
        decision.options.check_draft(answer)
    elif answer != decision.default:
        decision.check(answer)


def look_at_fight(game: Any) -> None:
    """Whoever decides in a combat, or begins one, looks at what it will be decided by (2E-CBT-18 to 2E-CBT-28)."""
    state = game.state
    combat = state.combat
    if combat is None:
        return
    game.reads.note("march", game.plain.state.march)
    game.reads.note("used", game.plain.state.used)
    state.units_in(combat.area)
    state.orders.get(combat.area)
    state.garrisons.get(combat.area)
    _look_at_support(game, combat.area)
    state.tracks.get("fiefdoms")
    state.tokens.get(BLADE)


def look_at_neutral_force(game: Any, stack: list[Procedure]) -> None:
    """Whoever asks for support against a neutral force, or is asked, looks at what it would add (2E-NEU-6)."""
    for frame in stack[-1:]:
        if isinstance(frame, MarchOrders) and frame.target:
            game.state.neutral.get(frame.target)
            _look_at_support(game, frame.target)


def _look_at_support(game: Any, target: str) -> None:
    for areas in eligible_orders(game, target).values():
        for area in areas:
            game.state.units_in(area)
            game.state.orders.get(area)


def _trace(game: TracingGame, stack: list[Procedure], result: Any) -> None:
    """Follow the ruling until somebody is awaited or the next turn is sought."""
    try:
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
            result = getattr(TracedFrame(stack[-1], game.reads), stack[-1].step)(game)
    except (GameEnded, Refusal):
        return  # a Refusal: a draw from outside that has not been stated yet
    raise AssertionError("a ruling never needs so many steps")
