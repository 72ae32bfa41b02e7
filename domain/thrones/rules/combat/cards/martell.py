"""House cards of Martell (section 27.4)."""

from __future__ import annotations

from domain.thrones.language.pieces import TRACKS, HouseId
from domain.thrones.language.state import Combat
from domain.thrones.rules.combat.cards.vocabulary import (
    Asks,
    Bonus,
    CardText,
    Noted,
    always,
    has_lost,
    is_attacking,
    is_defending,
)
from domain.thrones.rules.game import Game


def tracks_to_lower(game: Game, combat: Combat, house: HouseId) -> tuple[str, ...]:
    """Doran: any track; when the opponent is last on all three, there is nothing left to choose."""
    opponent = combat.opponent(house)
    last = len(game.state.houses)
    if all(game.state.position_of(opponent, track) == last for track in TRACKS):
        return ("iron-throne",)
    return TRACKS


def lower_opponent(game: Game, combat: Combat, house: HouseId, word: str) -> None:
    opponent = combat.opponent(house)
    game.move_marker(opponent, word, len(game.state.houses), "2E-HCM-7", "2E-FEW-4")


def defends_and_loses(game: Game, combat: Combat, house: HouseId) -> bool:
    return has_lost(game, combat, house) and combat.defender == house


CARDS = (
    CardText("the-red-viper", "2E-HCM-1"),
    CardText("areo-hotah", "2E-HCM-2"),
    CardText("obara-sand", "2E-HCM-3"),
    CardText("darkstar", "2E-HCM-4"),
    CardText("arianne-martell", "2E-HCM-5", (Noted("no-entry", defends_and_loses),)),
    CardText("nymeria-sand", "2E-HCM-6", (Bonus(is_defending, fortifications=1), Bonus(is_attacking, swords=1))),
    CardText(
        "doran-martell",
        "2E-HCM-7",
        (Asks("immediately", "doran-track", always, tracks_to_lower, lower_opponent, default="iron-throne"),),
    ),
)
