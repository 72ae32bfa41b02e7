"""Where units can go: adjacency and ship transport (sections 2, 14 and 15)."""

from __future__ import annotations

from collections.abc import Callable

from domain.thrones.language.pieces import AreaId, HouseId
from domain.thrones.rules.game import Game
from domain.thrones.tables.board import Board


def carried(game: Game, house: HouseId, area: AreaId) -> tuple[AreaId, ...]:
    """Land areas linked to a land area by a chain of sea areas with Ships of the House (2E-TRN-1 to 2E-TRN-6)."""
    return tuple(sorted(coast(game.board, area, lambda sea: _serves(game, house, sea))))


def coast(board: Board, area: AreaId, serves: Callable[[AreaId], bool]) -> set[AreaId]:
    """Land areas linked to another one by a chain of sea areas that serve for it (2E-TRN-1 to 2E-TRN-6)."""
    seen: set[AreaId] = set()
    linked: set[AreaId] = set()
    waves = [sea for sea in board.neighbours[area] if serves(sea)]
    while waves:
        sea = waves.pop()
        if sea in seen:
            continue
        seen.add(sea)
        for other in board.neighbours[sea]:
            if board.is_land(other):
                linked.add(other)
            elif serves(other):
                waves.append(other)
    return linked - {area}


def _serves(game: Game, house: HouseId, sea: AreaId) -> bool:
    """A sea area with a Ship of the House, routed or not, order or not (2E-TRN-2, 2E-TRN-4)."""
    return game.board.is_sea(sea) and game.state.house_in(sea) == house


def reach(game: Game, house: HouseId, area: AreaId) -> tuple[AreaId, ...]:
    """Areas that units in ``area`` may set out for, by kind of area alone (2E-MAR-2, 2E-MAR-3, 2E-PRT-5).

    Land units reach adjacent land areas and those linked by transport. Ships reach adjacent sea areas and
    ports of their sea; ships in a port only its sea. Whether they may enter is another question.
    """
    board = game.board
    if board.is_land(area):
        near = [other for other in board.neighbours[area] if board.is_land(other)]
        return tuple(sorted({*near, *carried(game, house, area)}))
    if board.is_port(area):
        return (board.sea_of(area),)
    return tuple(other for other in board.neighbours[area] if not board.is_land(other))
