"""Bots with a temperament: weights on what the options of a decision let them sample.

A bot knows no strategy. It samples a handful of legal answers and takes one of them, the more gladly the more it
likes it. Everything it reads is the position and the options, so what it answers is legal; chance is the caller's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from domain.kernel.decision import Decision, Pick
from domain.thrones.language import answers as c
from domain.thrones.language.pieces import OrderToken, size, unit_type
from domain.thrones.language.state import State
from domain.thrones.rules.action.march_options import Marches
from domain.thrones.tables.board import Board


class Temperament(msgspec.Struct, frozen=True):
    """What a bot likes. All weights are whole numbers; 1 is indifference, more is liked, 0 is shunned.

    ``orders`` weighs order types, ``star`` special tokens. ``fight``, ``neutral`` and ``spread`` weigh marches into
    combat, against neutral forces and into several areas; ``raid`` raids with a target. ``lavish`` and ``miserly``
    pull bids up and down, ``help`` weighs support for other Houses, ``ability`` a card's text against leaving it.
    ``tries`` is how many answers a bot looks at before it takes one.
    """

    name: str
    orders: Mapping[str, int] = {}
    star: int = 1
    fight: int = 1
    neutral: int = 1
    spread: int = 1
    raid: int = 1
    lavish: int = 1
    miserly: int = 1
    help: int = 1
    ability: int = 1
    tries: int = 5


TEMPERAMENTS: dict[str, Temperament] = {
    temperament.name: temperament
    for temperament in (
        Temperament("careless", tries=1),
        Temperament(
            "warlike", {"march": 6, "support": 3, "defense": 1}, star=2, fight=8, neutral=6, help=3, ability=3, tries=8
        ),
        Temperament(
            "grasping",
            {"march": 4, "support": 2, "consolidate": 4, "raid": 2},
            star=4,
            fight=3,
            neutral=8,
            spread=4,
            raid=6,
            miserly=4,
            ability=2,
            tries=8,
        ),
        Temperament(
            "lordly",
            {"march": 4, "support": 4, "consolidate": 3, "defense": 2},
            star=5,
            fight=3,
            neutral=4,
            spread=3,
            lavish=5,
            help=4,
            ability=3,
            tries=8,
        ),
        Temperament(
            "wary", {"defense": 4, "support": 5, "consolidate": 3, "raid": 3, "march": 2}, raid=3, help=2, tries=4
        ),
    )
}

LEFT_ALONE = ("none", "keep", "leave", "nothing", "do-not-use", "no-restriction")
"""Words that decline."""


class Bot:
    """Answers for one House: samples legal answers and takes one by its temperament."""

    def __init__(self, temperament: Temperament, board: Board, tokens: Mapping[str, OrderToken]) -> None:
        self.temperament = temperament
        self.board = board
        self.tokens = tokens

    def answer(self, state: State, decision: Decision[Any], pick: Pick) -> c.HouseAnswer:
        """A legal answer to a decision. Under 2E-CP-6 something is always mustered."""
        tries = self.temperament.tries
        if isinstance(decision.default, c.AssignOrders | c.MarchOrder):
            tries *= 4 if tries > 1 else 1
        answers: list[c.HouseAnswer] = [decision.sample(pick) for _ in range(max(1, tries))]
        if len(answers) == 1:
            return answers[0]
        weights = [max(0, self.liking(state, decision, answer)) for answer in answers]
        if not any(weights):
            return answers[0]
        mark = pick(sum(weights))
        for answer, weight in zip(answers, weights, strict=True):
            if mark < weight:
                return answer
            mark -= weight
        raise AssertionError("the mark lies inside the sum of the weights")

    def liking(self, state: State, decision: Decision[Any], answer: c.HouseAnswer) -> int:
        """How gladly an answer is given."""
        likes = self.temperament
        match answer:
            case c.AssignOrders():
                return self._orders(state, answer)
            case c.MarchOrder():
                return self._march(state, decision, answer)
            case c.Raid():
                return likes.raid if answer.target else 1
            case c.Muster():
                return 1 + 2 * len(answer.steps)
            case c.Consolidate():
                return likes.star + 1 if answer.use == "muster" else 1
            case c.InfluenceBid() | c.WildlingBid():
                most = state.power.get(answer.house, 0)
                return 1 + (likes.lavish - 1) * answer.bid + (likes.miserly - 1) * (most - answer.bid)
            case c.Support():
                return 1 + sum(likes.help for side in answer.orders.values() if side != "withhold")
            case c.AcceptSupport() | c.NeutralSupport():
                return 1 + sum(likes.help for yes in answer.orders.values() if yes)
            case c.NeutralSupportRequest():
                return likes.neutral if answer.target else 1
            case c.CaptureShips():
                return 1 + answer.ships
            case _:
                declines = getattr(answer, "choice", None) in LEFT_ALONE
                return 1 if declines else likes.ability
        raise AssertionError("every answer is liked or not")

    def _orders(self, state: State, answer: c.AssignOrders) -> int:
        """The fourth power of a sum over the tokens, so that good assignments stand out among many samples."""
        total = 1
        for area, order in answer.orders.items():
            token = self.tokens[order]
            worth = self.temperament.orders.get(token.type, 1)
            total += worth * self._use(state, answer, area) * (self.temperament.star if token.star else 1)
        return int(total**4)

    def _use(self, state: State, answer: c.AssignOrders, area: str) -> int:
        """0 to 4: how much an order can do where it lies, seen from its neighbours."""
        near = self.board.neighbours[area]
        foes = sum(state.house_in(other) not in (None, answer.house) for other in near)
        match self.tokens[answer.orders[area]].type:
            case "march":
                units = size(state.units_in(area))
                prizes = any(
                    self.board.has_castle(other) and state.control.get(other) != answer.house for other in near
                )
                return min(4, 1 + (units > 1) + prizes + (foes > 0))
            case "support":
                friends = sum(self.tokens[answer.orders[one]].type == "march" for one in near if one in answer.orders)
                return min(4, foes + friends)
            case "raid":
                return min(3, foes)
            case "consolidate":
                star = self.tokens[answer.orders[area]].star and self.board.has_castle(area)
                return 0 if self.board.is_sea(area) else 1 + min(2, self.board[area].power) + star
            case "defense":
                return 0 if self.board.is_port(area) else min(3, foes)
        raise AssertionError("there are five order types")

    def _march(self, state: State, decision: Decision[Any], answer: c.MarchOrder) -> int:
        likes = self.temperament
        options = decision.options
        assert isinstance(options, Marches)
        if not answer.moves:
            return 1
        worth = 2 + (likes.spread - 1) * (len(answer.moves) - 1) + 2 * answer.leave_power
        for move in answer.moves:
            contested = options.origins[answer.area].to[move.to].contested
            prize = 1 + (state.house_in(move.to) != answer.house and state.control.get(move.to) != answer.house)
            prize += 2 * self.board[move.to].castle + self.board[move.to].power
            if contested == "combat":
                worth += likes.fight * self._odds(state, move, answer.area) * (prize + size(move.units))
            else:
                worth += (likes.neutral if contested else 2) * prize
        return worth

    def _odds(self, state: State, move: c.Move, origin: str) -> int:
        """0 to 3: how the marching units compare with those they meet, at a glance."""
        mine = sum(self._value(unit) * count for unit, count in move.units.items())
        placed = state.orders.get(origin)
        mine += self.tokens[placed.token].modifier if placed else 0
        other = sum(self._value(unit) * count for unit, count in state.units_in(move.to).items())
        other += state.garrisons.get(move.to, 0)
        defence = state.orders.get(move.to)
        if defence and self.tokens[defence.token].type == "defense":
            other += self.tokens[defence.token].modifier
        return 0 if size(move.units) == 0 else max(0, min(3, mine - other + 2))

    def _value(self, unit: str) -> int:
        if unit.startswith("routed-"):
            return 0
        return {"knight": 2, "siege-engine": 2}.get(unit_type(unit), 1)
