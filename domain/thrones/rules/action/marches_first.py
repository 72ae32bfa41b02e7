"""March orders by the first edition's book: support against a neutral force is settled after the march is declared."""

from __future__ import annotations

from typing import ClassVar

from domain.kernel.procedure import Do, Next, Wait
from domain.thrones.language import facts as f
from domain.thrones.language.answers import MarchOrder, NeutralSupport
from domain.thrones.language.pieces import AreaId, HouseId, Units, minus
from domain.thrones.language.state import March
from domain.thrones.rules.action.marches import MarchOrders, lines_against_neutral, march_options, neutral_strength
from domain.thrones.rules.choices import YesNo
from domain.thrones.rules.combat.strength import total
from domain.thrones.rules.combat.support import eligible_orders
from domain.thrones.rules.control import Consequences
from domain.thrones.rules.game import Game, decision
from domain.thrones.rules.westeros.supply import Reconcile


class ReconcileMarch(Reconcile, frozen=True, tag=True):
    """Units that stay behind may be more than the declared march would have left there (1E-SUP-5)."""

    why: ClassVar[tuple[str, ...]] = ("1E-SUP-5", "1E-NEUT-6")


class MarchesThenSupport(MarchOrders, frozen=True, tag=True):
    """Units that march against a neutral force wait for support; too weak, they stay where they were (1E-NEUT-6).

    ``force`` are those units, ``leave_power`` what was said of a Power token for the area that they would leave.
    """

    force: Units = {}
    leave_power: bool = False

    def request(self, game: Game) -> Next:
        return self.at("declare")

    def depart(self, game: Game, answer: MarchOrder) -> Next:
        there = march_options(game, answer.house, answer.area).origins[answer.area].to
        attack = next((move for move in answer.moves if there[move.to].contested == "neutral"), None)
        if attack is None:
            # By its name, not by super(): a footprint runs this on an object that stands for the frame.
            return MarchOrders.depart(self, game, answer)
        for move in answer.moves:
            if move is not attack:
                self._enter(game, answer.house, answer.area, move.to, move.units)
        call = self.at("grant", area=answer.area, target=attack.to, force=attack.units, leave_power=answer.leave_power)
        return Do(Consequences(), then=call)

    def grant(self, game: Game) -> Next:
        """Every other House with a Support order next to the force, in turn order (1E-DP-20, 1E-NEUT-2).

        Nobody is asked any more once the force is reached, or out of reach whatever they say: everything that counts
        lies open on the board, and an answer without effect could only tell something about who gave it (2E-GEN-14).
        """
        eligible = eligible_orders(game, self.target)
        if not self._matters(game, eligible):
            return self.at("settle")
        for house in game.turns((*self.asked, self.house), among=eligible):
            answer = NeutralSupport(house=house, target=self.target, orders=dict.fromkeys(eligible[house], False))
            at_once = game.readings.combat.support_for_all_orders
            rules = ("1E-DP-20", "1E-NEUT-2")
            question = decision(answer, YesNo(eligible[house], at_once, rules), *rules, asked_anyway=True)
            return Wait(question, then="answered")
        return self.at("settle")

    def _matters(self, game: Game, eligible: dict[HouseId, tuple[AreaId, ...]]) -> bool:
        """Whether support that was not answered for yet can still decide."""
        required, march = neutral_strength(game, self.target), self._march(game)
        if required is None or march is None:
            return False
        waiting = game.turns((*self.asked, self.house), among=eligible)
        open_orders = tuple(area for house in waiting for area in eligible[house])
        least = total(lines_against_neutral(game, march, self.granted))
        most = total(lines_against_neutral(game, march, (*self.granted, *open_orders)))
        return least < required <= most

    def _march(self, game: Game) -> March | None:
        """The units on their way, unless a correction has taken the order or the units away."""
        placed = game.state.orders.get(self.area)
        if placed is None or not self._still_there(game):
            return None
        return March(self.house, self.area, placed.token, self.target, self.force)

    def settle(self, game: Game) -> Next:
        """Strength against the force: it falls, or nobody moves (1E-NEUT-2, 1E-NEUT-5, 1E-NEUT-6)."""
        over = self.at("finish", target="", force={}, leave_power=False)
        required, march = neutral_strength(game, self.target), self._march(game)
        if required is None or march is None:
            return over
        lines = lines_against_neutral(game, march, self.granted)
        counted = f.StrengthCounted(
            stage="neutral", house=self.house, area=self.target, lines=tuple(lines), total=total(lines)
        )
        weak = total(lines) < required
        rules = ("1E-NEUT-2", "1E-NEUT-3", "1E-NEUT-4", "1E-MARCH-4")
        game.emit(counted, *rules, *(("1E-NEUT-6",) if weak else ()))
        if weak:
            return Do(ReconcileMarch(house=self.house), then=over)
        gone = f.UnitsDeparted(house=self.house, area=self.area, to=self.target, units=self.force, order=march.order)
        game.emit(gone, "1E-MARCH-2", "1E-MARCH-3", *self._way(game, self.area, self.target))
        if self.leave_power:
            game.emit(f.PowerTokenPlaced(house=self.house, area=self.area), "1E-CTRL-3")
        game.emit(f.NeutralForceRemoved(area=self.target), "1E-NEUT-5")
        game.emit(f.UnitsArrived(house=self.house, to=self.target, units=self.force), "1E-NEUT-5")
        return Do(Consequences(), then=over)

    def _still_there(self, game: Game) -> bool:
        try:
            minus(game.state.units_in(self.area), self.force)
        except ValueError:
            return False
        return game.state.house_in(self.area) == self.house
