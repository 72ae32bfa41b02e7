"""House cards of Tyrell (section 27.6)."""

from __future__ import annotations

from domain.thrones.language import facts as f
from domain.thrones.language.pieces import HouseId
from domain.thrones.language.state import Combat
from domain.thrones.rules.combat.cards.vocabulary import (
    Asks,
    CardText,
    NoCasualties,
    Noted,
    always,
    destroy_participating,
    effects_in_play,
    end_if_destroyed,
    has_won,
    participating,
)
from domain.thrones.rules.game import Game


def footmen_to_destroy(game: Game, combat: Combat, house: HouseId) -> tuple[str, ...]:
    """Mace: a participating Footman of the opponent, routed or not; none against The Blackfish (2E-HCX-13)."""
    opponent = combat.opponent(house)
    if any(isinstance(effect, NoCasualties) for effect in effects_in_play(game, combat, opponent)):
        return ()
    units = participating(game, combat, opponent)
    return tuple(unit for unit in ("footman", "routed-footman") if units.get(unit))


def destroy_footman(game: Game, combat: Combat, house: HouseId, word: str) -> None:
    opponent = combat.opponent(house)
    destroy_participating(game, combat, opponent, {word: 1}, "2E-HCT-1", "2E-HCX-8")
    end_if_destroyed(game, combat, opponent, "2E-HCT-1")


def adjacent_orders(game: Game, combat: Combat, house: HouseId) -> tuple[str, ...]:
    """Queen of Thorns: orders of the opponent next to the embattled area, but not the March that began this."""
    opponent = combat.opponent(house)
    return tuple(
        area
        for area in game.board.neighbours[combat.area]
        if (placed := game.state.orders.get(area))
        and placed.house == opponent
        and not (opponent == combat.attacker and area == combat.origin)
    )


def remove_adjacent_order(game: Game, combat: Combat, house: HouseId, word: str) -> None:
    placed = game.state.orders[word]
    removed = f.OrderRemoved(house=placed.house, area=word, order=placed.token, by=house)
    game.emit(removed, "2E-HCT-7", *(("2E-HCX-9",) if word in combat.support else ()))


def attacks_and_wins(game: Game, combat: Combat, house: HouseId) -> bool:
    return has_won(game, combat, house) and combat.attacker == house


CARDS = (
    CardText(
        "mace-tyrell",
        "2E-HCT-1",
        (Asks("immediately", "mace-footman", always, footmen_to_destroy, destroy_footman),),
    ),
    CardText("ser-loras-tyrell", "2E-HCT-2", (Noted("order-moves", attacks_and_wins),)),
    CardText("ser-garlan-tyrell", "2E-HCT-3"),
    CardText("randyll-tarly", "2E-HCT-4"),
    CardText("alester-florent", "2E-HCT-5"),
    CardText("margaery-tyrell", "2E-HCT-6"),
    CardText(
        "queen-of-thorns",
        "2E-HCT-7",
        (Asks("immediately", "queen-of-thorns-order", always, adjacent_orders, remove_adjacent_order),),
    ),
)
