"""Hands and discard piles of House cards (2E-HC-12, 2E-HC-13)."""

from __future__ import annotations

from domain.thrones.language import facts as f
from domain.thrones.language.pieces import CardId, HouseId
from domain.thrones.rules.game import Game


def discard(game: Game, house: HouseId, cards: tuple[CardId, ...], *rules: str) -> None:
    """Cards go to the discard pile; a hand that this empties is refilled."""
    game.emit(f.CardsDiscarded(house=house, cards=cards), *rules, "2E-HC-13")
    refill(game, house, cards)


def refill(game: Game, house: HouseId, last: tuple[CardId, ...], *rules: str) -> None:
    """An empty hand takes the discard pile back, except what was discarded last, unless all is agreed (2E-HC-12)."""
    if game.state.hands[house]:
        return
    stay = last if game.readings.combat.last_discard_stays else ()
    back = tuple(card for card in game.state.discards[house] if card not in stay)
    if back:
        game.emit(f.CardsTaken(house=house, cards=back), *rules, "2E-HC-12", "2E-LIM-5")
