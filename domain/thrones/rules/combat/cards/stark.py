"""House cards of Stark (section 27.3)."""

from __future__ import annotations

from domain.thrones.language import facts as f
from domain.thrones.language.pieces import HouseId
from domain.thrones.language.state import Combat
from domain.thrones.rules.combat.cards.vocabulary import (
    Applies,
    CardText,
    DoublesDefense,
    NoCasualties,
    Noted,
    has_lost,
    has_won,
)
from domain.thrones.rules.game import Game


def take_back_discards(game: Game, combat: Combat, house: HouseId) -> None:
    """Roose Bolton: the pile now; the card itself follows in the clean-up instead of being discarded."""
    pile = game.state.discards[house]
    if pile:
        game.emit(f.CardsTaken(house=house, cards=pile), "2E-HCS-3")


CARDS = (
    CardText("eddard-stark", "2E-HCS-1"),
    CardText("robb-stark", "2E-HCS-2", (Noted("retreat-area", has_won),)),
    CardText(
        "roose-bolton",
        "2E-HCS-3",
        (Applies("win-or-lose", has_lost, take_back_discards), Noted("back-to-hand", has_lost)),
    ),
    CardText("greatjon-umber", "2E-HCS-4"),
    CardText("ser-rodrick-cassel", "2E-HCS-5"),
    CardText("the-blackfish", "2E-HCS-6", (NoCasualties(),)),
    CardText("catelyn-stark", "2E-HCS-7", (DoublesDefense(),)),
)
