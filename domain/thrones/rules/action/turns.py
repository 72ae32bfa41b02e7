"""Turns of the action phase: they belong to positions of the Iron Throne track, not to Houses (2E-ACT-2, 2E-ACT-4)."""

from __future__ import annotations

from domain.thrones.language.pieces import HouseId
from domain.thrones.rules.game import Game


def next_turn(game: Game, last_position: int, order_type: str) -> HouseId | None:
    """The House whose turn it is after ``last_position``, passing over Houses without an order of the type."""
    houses = game.houses
    for offset in range(len(houses)):
        house = houses[(last_position + offset) % len(houses)]
        if game.orders_of(house, order_type):
            return house
    return None
