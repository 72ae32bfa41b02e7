"""All House cards by id, and what several chapters ask about the cards in play."""

from __future__ import annotations

from domain.thrones.cards import baratheon, greyjoy, lannister, martell, stark, tyrell
from domain.thrones.cards.vocabulary import CardText, Effect, NoCasualties, Noted
from domain.thrones.game import Game
from domain.thrones.pieces import CardId, HouseId
from domain.thrones.state import Combat

TEXTS: dict[CardId, CardText] = {
    text.card: text for house in (baratheon, lannister, stark, martell, greyjoy, tyrell) for text in house.CARDS
}


def text_in_play(combat: Combat, house: HouseId) -> CardText | None:
    """The text of the card that a House has in play, if it has one."""
    card = combat.cards.get(house)
    return TEXTS[card] if card else None


def effects_in_play(combat: Combat, house: HouseId) -> tuple[Effect, ...]:
    text = text_in_play(combat, house)
    return text.effects if text else ()


def is_spared_casualties(combat: Combat, house: HouseId) -> CardText | None:
    """The card that spares its owner casualties, if one is in play."""
    text = text_in_play(combat, house)
    return text if text and any(isinstance(effect, NoCasualties) for effect in text.effects) else None


def noted(game: Game, combat: Combat, house: HouseId, step: str) -> CardText | None:
    """The card whose win-or-lose effect takes place in ``step``; none when the combat was stopped."""
    text = text_in_play(combat, house)
    if text is None or combat.stopped:
        return None
    for effect in text.effects:
        if isinstance(effect, Noted) and effect.step == step and effect.when(game, combat, house):
            return text
    return None
