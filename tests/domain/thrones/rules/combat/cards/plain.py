"""Cards without a text: printed strength and icons are all they have."""

from __future__ import annotations

from domain.thrones.language import facts as f
from tests.domain.thrones.given import LANNISTER, STARK, battle


def counts_as_printed(house: str, card: str, strength: int, swords: int, fortifications: int, rule: str) -> None:
    """In attack and in defence the card gives what is printed on it, no more, and is discarded."""
    other = STARK if house != STARK else LANNISTER
    other_card = {STARK: "ser-rodrick-cassel", LANNISTER: "ser-kevan-lannister"}[other]
    for scene in (battle(house, other), battle(other, house)):
        scene.fight({house: card, other: other_card})
        assert scene.card_strength(house) == strength
        assert scene.icons(house) == (swords, fortifications)
        assert scene.strength(house) == 2 + strength
        scene.citing(rule).never(f.AbilityResolved, f.AbilityNoted)
        assert card in scene.state.discards[house]
