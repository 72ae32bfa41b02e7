"""Control of areas and its consequences (sections 21 and 22)."""

from __future__ import annotations

from collections import Counter

from domain.kernel.procedure import Done, Next, Procedure, Wait
from domain.thrones.language import facts as f
from domain.thrones.language.answers import CaptureShips
from domain.thrones.language.pieces import AreaId, HouseId, size
from domain.thrones.rules.armies import complies
from domain.thrones.rules.choices import Amount
from domain.thrones.rules.game import Game, decision
from domain.thrones.rules.victory import declare_winner, fewer_houses


def announce_control(game: Game) -> None:
    """Point (1) of 2E-CTL-16: control is recomputed everywhere."""
    for area in game.board.land:
        old, new = game.state.control.get(area), game.controller(area)
        if old != new:
            game.emit(f.ControlChanged(area=area, old=old, new=new), *_reasons(game, area, new), "2E-CTL-16")


def _reasons(game: Game, area: AreaId, house: HouseId | None) -> tuple[str, ...]:
    """Why a House controls a land area now, or nobody does."""
    if house is None:
        return ("2E-CTL-1", "2E-FEW-3") if game.board[area].home else ("2E-CTL-1",)
    if game.state.house_in(area) == house:
        return ("2E-CTL-1",)
    if game.state.power_tokens.get(area) == house:
        return ("2E-CTL-1", "2E-CTL-12") if game.shield(area) else ("2E-CTL-1", "2E-CTL-7")
    if area in game.state.garrisons:
        return ("2E-CTL-10", "2E-CTL-14")
    return ("2E-CTL-10", "2E-CTL-11")


def announce_victory_markers(game: Game) -> None:
    """Point (2) of 2E-CTL-16: victory markers show the areas with a Castle or Stronghold, at most 7.

    Control has just been announced, so that it is not asked for area by area again.
    """
    castles = Counter(game.state.control.get(area) for area in game.board.castles)
    for house in game.state.houses:
        areas = min(castles[house], game.victory_areas)
        if game.state.victory.get(house) != areas:
            game.emit(f.VictorySet(house=house, areas=areas), "2E-VIC-1", *fewer_houses(game), "2E-CTL-16")


def lost_port(game: Game) -> AreaId | None:
    """The first port with Ships whose land area has another controller (point (4) of 2E-CTL-16)."""
    for port in game.board.ports:
        if game.state.house_in(port) not in (None, game.controller(port)):
            return port
    return None


class Consequences(Procedure, frozen=True, tag=True):
    """What follows a completed group of moves (2E-CTL-16): control, victory, ports."""

    port: AreaId = ""
    removed: int = 0

    def begin(self, game: Game) -> Next:
        game.recount(announce_control)
        game.recount(announce_victory_markers)
        winners = [house for house in game.houses if game.state.victory[house] >= game.victory_areas]
        if winners:
            declare_winner(game, "areas", among=winners)
        return self.at("ports")

    def ports(self, game: Game) -> Next:
        """Point (4), port by port."""
        port = game.recount(lost_port)
        if port is None:
            return Done()
        holder, owner = game.state.house_in(port), game.controller(port)
        assert holder is not None
        units = game.state.units_in(port)
        rules = ("2E-PRT-13", "2E-PRT-16") if owner else ("2E-PRT-15",)
        game.destroy(holder, port, units, *rules, "2E-PRT-1", "2E-PRT-2", "2E-CTL-2")
        order = game.state.orders.get(port)
        if order:
            removed = f.OrderRemoved(house=order.house, area=port, order=order.token)
            game.emit(removed, "2E-PRT-14" if owner else "2E-PRT-15")
        if owner:
            return self.at("capture", port=port, removed=size(units))
        return self.at("ports")

    def capture(self, game: Game) -> Next:
        """The new owner may place Ships of his own (2E-PRT-13)."""
        owner = game.controller(self.port)
        if owner is None or game.state.house_in(self.port) is not None:
            return self.at("ports", port="", removed=0)
        most = self._most(game, owner)
        answer = CaptureShips(house=owner, port=self.port, ships=most)
        options = Amount("ships", most, ("2E-PRT-13", "2E-PRT-3", "2E-SUP-8"))
        return Wait(decision(answer, options, "2E-DP-28", "2E-PRT-13"), then="place")

    def _most(self, game: Game, owner: HouseId) -> int:
        most = min(self.removed, game.reserve(owner)["ship"])
        sizes = game.sizes(owner)
        while most and not complies({**sizes, self.port: most}.values(), game.supply_limit(owner)):
            most -= 1
        return most

    def place(self, game: Game, answer: CaptureShips) -> Next:
        if answer.ships:
            placed = f.UnitsPlaced(house=answer.house, area=self.port, units={"ship": answer.ships})
            game.emit(placed, "2E-PRT-13", "2E-PRT-14")
        return self.at("ports", port="", removed=0)
