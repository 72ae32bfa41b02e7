"""House cards of Greyjoy (section 27.5)."""

from __future__ import annotations

from domain.thrones.language import facts as f
from domain.thrones.language.pieces import HouseId
from domain.thrones.language.state import Combat
from domain.thrones.rules.combat.cards.vocabulary import (
    Asks,
    Bonus,
    CardText,
    RaisesUnits,
    ZeroesPrintedStrength,
    always,
    is_attacking,
    is_not_supported,
)
from domain.thrones.rules.game import Game

AERON_COST = 2


def defends_a_castle(game: Game, combat: Combat, house: HouseId) -> bool:
    return combat.defender == house and game.board.has_castle(combat.area)


def cards_to_swap_for(game: Game, combat: Combat, house: HouseId) -> tuple[str, ...]:
    """Aeron: another card of the hand, if the cost can be paid in full (2E-GEN-18)."""
    hand = game.edition.in_order(game.state.hands[house])
    return ("keep", *hand) if hand and game.state.power[house] >= AERON_COST else ()


def swap_card(game: Game, combat: Combat, house: HouseId, word: str) -> None:
    if word == "keep":
        return
    game.lose_power(house, AERON_COST, "2E-HCG-7", "2E-GEN-18")
    game.emit(f.CardsDiscarded(house=house, cards=(combat.cards[house],)), "2E-HCG-7")
    game.emit(f.HouseCardReplaced(house=house, card=word), "2E-HCG-7", "2E-HC-9", "2E-HCX-2")


CARDS = (
    CardText("euron-crows-eye", "2E-HCG-1"),
    CardText("victarion-greyjoy", "2E-HCG-2", (RaisesUnits("ship", is_attacking),)),
    CardText("theon-greyjoy", "2E-HCG-3", (Bonus(defends_a_castle, strength=1, swords=1),)),
    CardText("balon-greyjoy", "2E-HCG-4", (ZeroesPrintedStrength(),)),
    CardText("asha-greyjoy", "2E-HCG-5", (Bonus(is_not_supported, swords=2, fortifications=1),)),
    CardText("dagmar-cleftjaw", "2E-HCG-6"),
    CardText(
        "aeron-damphair",
        "2E-HCG-7",
        (Asks("immediately", "aeron-swap", always, cards_to_swap_for, swap_card, default="keep"),),
    ),
)
