"""The game once more from its beginning, with everything that was found out put where it belongs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from api.games.thrones.following.answers import Pages, answer
from api.games.thrones.following.hypothesis import Hypothesis, Misfit, OutOfEntries, Step, with_
from api.games.thrones.following.orders import as_tokens
from api.games.thrones.logs.names import order_of_token
from domain.kernel.arbiter import Correct
from domain.kernel.commands import Command
from domain.kernel.decision import Answer
from domain.kernel.facts import Fact
from domain.kernel.refusal import Refusal
from domain.thrones.language import answers as c
from domain.thrones.language.state import State
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.edition import Edition

AHEAD = 16
"""How far ahead an open question is looked for before it is answered by itself."""
MOST_SILENT = 40
"""Questions in a row that the log says nothing about."""


TOLD = (
    "influence-bid",
    "influence-tie",
    "wildling-bid",
    "wildling-tie",
    "house-card",
    "card-ability",
    "blade-strength",
    "casualties",
    "retreat-area",
    "retreat-losses",
)
"""Kinds of questions that the log answers also where the way there did not ask them; others get their default."""


class Ruled(msgspec.Struct, frozen=True):
    """One entry of the ledger to be: a command with the time of the log, the entry it comes from, what it brought.

    ``takes_over`` is the entry whose outcome a correction states (0: this is none).
    """

    command: Command
    at: str
    entry: int
    assumed: tuple[str, ...]
    facts: tuple[Fact, ...]
    takes_over: int = 0


class Nobody:
    """The record of a game that is not yet on record: corrections look no further than the present."""

    version = 0

    def state(self, entry: int) -> Any:
        return THRONES.blank()

    def facts(self, entry: int) -> tuple[Fact, ...]:
        return ()


def script(found: Hypothesis, edition: Edition) -> list[Step]:
    """The steps of a hypothesis with what was found out later: orders, and Power tokens left behind."""
    steps = []
    number = 1
    for step in found.in_order():
        command = step.command
        if isinstance(command, c.AssignOrders):
            orders = found.laid.get((number, command.house))
            if orders is not None:
                command = replace(command, orders=as_tokens(orders, edition.tokens))
        elif isinstance(command, c.MarchOrder) and step.entry in found.left:
            command = replace(command, leave_power=found.left[step.entry])
        steps.append(with_(step, command=command))
        if isinstance(command, c.AssignOrders):
            number = step_round(found, steps, number)
    return steps


def step_round(found: Hypothesis, steps: list[Step], number: int) -> int:
    """The round whose orders come next: when the orders of all Houses of one round are in, the next one."""
    houses = {house for one, house in found.laid if one == number}
    laid = [step.command.house for step in steps if isinstance(step.command, c.AssignOrders)]
    done = sum(1 for one, _ in found.laid if one < number)
    return number + 1 if len(laid) - done == len(houses) else number


class Replay:
    """One game being played over."""

    def __init__(self, edition: Edition, pages: Pages) -> None:
        self.edition = edition
        self.pages = pages
        self.entries = entries = pages.by_number
        self.used: set[int] = set()
        self.battle = 0
        self.state: State = THRONES.blank()
        self.ruled: list[Ruled] = []
        self.problems: list[str] = []
        self.at = next((entry.at for entry in entries.values() if entry.at), "")

    def run(self, steps: list[Step]) -> None:
        for place, step in enumerate(steps):
            if not self._take(step, steps[place + 1 : place + AHEAD]):
                return

    def _take(self, step: Step, ahead: list[Step]) -> bool:
        entry = self.entries.get(step.entry)
        if entry is not None and entry.at > self.at:
            self.at = entry.at
        command = step.command
        for _ in range(MOST_SILENT):
            if not isinstance(command, Answer) or self._is_asked(command):
                break
            # What is open may be what comes next; then this answer was forced, or is not needed any more.
            comes = any(isinstance(one.command, Answer) and self._is_asked(one.command) for one in self._soon(ahead))
            if comes or not self._silent():
                self.problems.append(f"entry {step.entry}: {command.kind} of {command.player} is not asked")
                return True
        try:
            self._rule(command, step.entry, step.assumed, step.takes_over)
        except Refusal as refusal:
            if self._adapted(command, step):
                return True
            self.problems.append(f"entry {step.entry}: {command} is refused: {refusal.code} {refusal.params}")
            return self._by_default(command)
        return True

    def _soon(self, ahead: list[Step]) -> Iterator[Step]:
        """Steps that may come before what is open now: within a battle those of this battle alone."""
        for step in ahead:
            if self.state.combat is not None and isinstance(step.command, c.MarchOrder):
                return
            yield step

    def _by_default(self, command: Command) -> bool:
        """Go on where a command is refused: without a correction, with the default of an answer."""
        if isinstance(command, Correct):
            return True
        decisions = THRONES.decisions(self.state)
        if not isinstance(command, Answer) or not decisions:
            return False
        mine = [one for one in decisions if one.player == command.player and one.kind == command.kind]
        if mine:
            self._rule(mine[0].default, 0, ())
        return bool(mine)

    def _adapted(self, command: Command, step: Step) -> bool:
        """Answers whose details depend on what was found out later: support by order, a token left behind."""
        if not isinstance(command, Answer):
            return False
        decision = next(
            (one for one in THRONES.decisions(self.state) if one.player == command.player and one.kind == command.kind),
            None,
        )
        if decision is None:
            return False
        other: Any = None
        if isinstance(command, c.Support):
            words = {area: command.orders.get(area, "withhold") for area in decision.default.orders}
            other = replace(command, orders=words)
        elif isinstance(command, c.Raven) and command.area is not None and command.order is not None:
            kind = order_of_token(command.order)
            options: Any = decision.options
            same = [one for one in options.orders.get(command.area, ()) if order_of_token(one) == kind]
            other = replace(command, order=same[0]) if same else decision.default
        elif isinstance(command, c.AssignOrders):
            other = replace(command, orders=self._orders(command, decision.options))
        elif isinstance(command, c.MarchOrder) and command.leave_power:
            other = replace(command, leave_power=False)
        if other is None:
            return False
        try:
            self._rule(other, step.entry, step.assumed)
        except Refusal:
            return False
        return True

    def _orders(self, command: c.AssignOrders, options: Any) -> dict[str, str]:
        """The orders as far as there are units for them; other areas get what is left over."""
        orders = {area: token for area, token in command.orders.items() if area in options.areas}
        stars = options.stars - sum(options.tokens.get(token, False) for token in orders.values())
        left = [token for token in options.tokens if token not in orders.values()]
        for area in options.areas:
            if area in orders or len(orders) >= options.required:
                continue
            token = next((one for one in left if stars > 0 or not options.tokens[one]), None)
            if token is not None:
                left.remove(token)
                stars -= options.tokens[token]
                orders[area] = token
        return dict(sorted(orders.items()))

    def _is_asked(self, answer: Answer) -> bool:
        return any(
            one.player == answer.player and one.kind == answer.kind and one.default.about == answer.about
            for one in THRONES.decisions(self.state)
        )

    def _silent(self) -> bool:
        """Answer what nobody has planned for, as the log has it or as changes least; False at the end of the game."""
        decisions = THRONES.decisions(self.state)
        if not decisions:
            return False
        if decisions[0].kind in TOLD:
            here = Hypothesis(self.state, used=frozenset(self.used), battle=self.battle)
            try:
                step = answer(self.pages, here, decisions[0])
                self._rule(step.command, step.entry, step.assumed)
            except (Misfit, OutOfEntries, Refusal):
                self._rule(decisions[0].default, 0, ())
            return True
        default: Any = decisions[0].default
        if isinstance(default, c.Support):
            default = replace(default, orders=dict.fromkeys(default.orders, "withhold"))
            self._rule(default, 0, ("support-declined",))
        elif isinstance(default, c.Raid):
            self._rule(replace(default, target=None, second=None), 0, ("raid-unused",))
        else:
            self._rule(default, 0, ())
        return True

    def _rule(self, command: Command, entry: int, assumed: tuple[str, ...], takes_over: int = 0) -> None:
        if entry:
            self.used.add(entry)
        if isinstance(command, c.MarchOrder):
            self.battle = entry
        past = Nobody() if isinstance(command, Correct) else None
        ruling = THRONES.decide(self.state, command, past)
        self.state = ruling.state
        self.ruled.append(Ruled(command, self.at, entry, assumed, ruling.facts, takes_over))
