"""Consolidate Power by the first edition's book (section 16): all at once, nobody is asked."""

from __future__ import annotations

from domain.kernel.procedure import Done, Next, Procedure
from domain.thrones.language import facts as f
from domain.thrones.rules.game import Game


class ConsolidateAtOnce(Procedure, frozen=True, tag=True):
    """Every order that is left brings 1 Power and 1 for each power icon of its area (1E-CP-1 to 1E-CP-3)."""

    def begin(self, game: Game) -> Next:
        game.emit(f.StepBegan(phase="action", step="consolidate"), "1E-ACT-1")
        for house in game.houses:
            for area in game.orders_of(house, "consolidate"):
                placed = game.state.orders[area]
                star = ("1E-CP-3", "1E-ORD-5") if game.edition.tokens[placed.token].star else ()
                game.emit(f.OrderResolved(house=house, area=area, order=placed.token), "1E-CP-1", *star)
                if game.board.is_land(area):
                    game.gain_power(house, 1 + game.board[area].power, "1E-CP-1", *star)
        return Done()
