"""House cards of Lannister (section 27.2)."""

from __future__ import annotations

from domain.thrones.language import facts as f
from domain.thrones.language.pieces import HouseId
from domain.thrones.language.state import Combat
from domain.thrones.rules.combat.cards.vocabulary import (
    Applies,
    Asks,
    CardText,
    RaisesUnits,
    always,
    has_won,
    is_attacking,
)
from domain.thrones.rules.game import Game


def gain_two_power(game: Game, combat: Combat, house: HouseId) -> None:
    game.gain_power(house, 2, "2E-HCL-1")


def cancel_or_leave(game: Game, combat: Combat, house: HouseId) -> tuple[str, ...]:
    """Tyrion: there must be a card to send back."""
    return ("leave", "cancel") if combat.opponent(house) in combat.cards else ()


def cancel_card(game: Game, combat: Combat, house: HouseId, word: str) -> None:
    opponent = combat.opponent(house)
    if word == "cancel":
        cancelled = f.HouseCardCancelled(house=opponent, card=combat.cards[opponent])
        game.emit(cancelled, "2E-HCL-6", "2E-HC-3", "2E-HC-9", "2E-HCX-5")


def loser_orders(game: Game, combat: Combat, house: HouseId) -> tuple[str, ...]:
    """Cersei: orders of the loser, except those that this combat removes anyway."""
    loser = combat.opponent(house)
    taken = {combat.area, combat.origin if loser == combat.attacker else ""}
    areas = [area for area, placed in sorted(game.state.orders.items()) if placed.house == loser and area not in taken]
    return ("none", *areas) if areas else ()


def remove_order(game: Game, combat: Combat, house: HouseId, word: str) -> None:
    if word != "none":
        placed = game.state.orders[word]
        game.emit(f.OrderRemoved(house=placed.house, area=word, order=placed.token, by=house), "2E-HCL-7")


CARDS = (
    CardText("tywin-lannister", "2E-HCL-1", (Applies("win-or-lose", has_won, gain_two_power),)),
    CardText("ser-gregor-clegane", "2E-HCL-2"),
    CardText("the-hound", "2E-HCL-3"),
    CardText("ser-jaime-lannister", "2E-HCL-4"),
    CardText("ser-kevan-lannister", "2E-HCL-5", (RaisesUnits("footman", is_attacking),)),
    CardText(
        "tyrion-lannister",
        "2E-HCL-6",
        (Asks("cancel", "tyrion-cancel", always, cancel_or_leave, cancel_card, default="leave", asked_anyway=True),),
    ),
    CardText(
        "cersei-lannister",
        "2E-HCL-7",
        (Asks("win-or-lose", "cersei-order", has_won, loser_orders, remove_order, default="none"),),
    ),
)
