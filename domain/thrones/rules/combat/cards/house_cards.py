"""All House cards by id."""

from __future__ import annotations

from domain.thrones.language.pieces import CardId
from domain.thrones.rules.combat.cards import baratheon, first_edition, greyjoy, lannister, martell, stark, tyrell
from domain.thrones.rules.combat.cards.vocabulary import CardText

TEXTS: dict[CardId, CardText] = {
    text.card: text for house in (baratheon, lannister, stark, martell, greyjoy, tyrell) for text in house.CARDS
}

FIRST_TEXTS: dict[CardId, CardText] = {text.card: text for text in first_edition.CARDS}
"""The first edition's, some of which go by the same ids."""
