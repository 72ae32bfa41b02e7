"""Power from areas and ports: what an order brings, and the income of the cards (sections 11 and 17)."""

from __future__ import annotations

from domain.thrones.language.pieces import AreaId, HouseId
from domain.thrones.rules.game import Game


def is_port_blocked(game: Game, house: HouseId, port: AreaId) -> bool:
    """Whether an enemy Ship lies in the sea area of a port."""
    return game.is_enemy_in(house, game.board.sea_of(port))


def worth(game: Game, house: HouseId, area: AreaId) -> int:
    """The Power that an order in this area is due to bring (2E-CP-3, 2E-CP-4, 2E-CP-7)."""
    if game.board.is_land(area):
        return 1 + game.board[area].power
    return int(game.board.is_port(area) and not is_port_blocked(game, house, area))


def collect(game: Game, house: HouseId, area: AreaId) -> None:
    """The Power that an order in this area brings."""
    power = worth(game, house, area)
    if power:
        game.gain_power(house, power, *(("2E-CP-3",) if game.board.is_land(area) else ("2E-CP-7", "2E-PRT-9")))


def game_of_thrones_income(game: Game, *rules: str, ports: bool) -> None:
    """Every House gains Power for power icons, and for ports where they pay (2E-GOT-1 to 2E-GOT-3)."""
    for house in game.houses:
        icons = sum(game.board[area].power for area in game.controlled(house))
        if icons:
            game.gain_power(house, icons, *rules, "2E-GOT-2", "2E-GOT-3")
        open_ports = [
            port
            for port in game.board.ports
            if game.state.house_in(port) == house and not is_port_blocked(game, house, port)
        ]
        if ports and open_ports:
            game.gain_power(house, len(open_ports), *rules, "2E-PRT-11")
