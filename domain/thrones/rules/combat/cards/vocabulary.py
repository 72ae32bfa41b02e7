"""The words that House cards are written in (section 19).

A card's text is a tuple of effects. Continuous effects are asked whenever a value is needed; timed effects
have their moment and either apply by themselves, ask their owner, or are noted for a later step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from domain.thrones.language import facts as f
from domain.thrones.language.pieces import CardId, HouseId, Units, size
from domain.thrones.language.state import Combat
from domain.thrones.rules.game import Game

Timing = Literal["cancel", "immediately", "win-or-lose", "after"]
Condition = Callable[[Game, Combat, HouseId], bool]


def participating(game: Game, combat: Combat, house: HouseId) -> Units:
    """The attacker's marching units, or the defender's in the embattled area (2E-GEN-12)."""
    if house == combat.attacker:
        return game.state.march.units if game.state.march else {}
    return game.state.units_in(combat.area) if game.state.house_in(combat.area) == house else {}


def destroy_participating(game: Game, combat: Combat, house: HouseId, units: Units, *rules: str) -> None:
    """Participating units return to the reserve (2E-GEN-9)."""
    if size(units):
        marching = house == combat.attacker
        gone = f.UnitsDestroyed(house=house, area=combat.area, units=units, marching=marching)
        game.emit(gone, *rules, "2E-GEN-9")


def end_if_destroyed(game: Game, combat: Combat, house: HouseId, *rules: str) -> None:
    """The combat is lost at once by a House whose last unit a card destroyed, where it is played so."""
    reading = game.readings.combat
    if participating(game, combat, house) or not reading.stops_without_units:
        return
    totals = dict.fromkeys(combat.combatants, 0)
    game.emit(f.CombatStopped(house=house), *rules, *reading.stopped)
    decided = f.CombatDecided(winner=combat.opponent(house), loser=house, totals=totals, tie=False)
    game.emit(decided, *rules, reading.decided_without_units)


def in_ability_order(game: Game, combat: Combat) -> tuple[HouseId, ...]:
    """Both combatants, first the one whose card text comes first at this moment (2E-HCX-1, 1E-HC-3)."""
    if game.readings.combat.texts_by == "iron-throne":
        return game.turns((), among=combat.combatants)
    return tuple(house for house in game.state.tracks["fiefdoms"] if house in combat.combatants)


def always(game: Game, combat: Combat, house: HouseId) -> bool:
    return True


def is_attacking(game: Game, combat: Combat, house: HouseId) -> bool:
    return combat.attacker == house


def is_defending(game: Game, combat: Combat, house: HouseId) -> bool:
    return combat.defender == house


def is_supported(game: Game, combat: Combat, house: HouseId) -> bool:
    """Whether a Support order on the board supports the House, whosever and however weak (2E-CBT-13, 2E-HC-10)."""
    return combat.side_of(house) in combat.support.values()


def is_not_supported(game: Game, combat: Combat, house: HouseId) -> bool:
    return not is_supported(game, combat, house)


def has_won(game: Game, combat: Combat, house: HouseId) -> bool:
    return combat.winner == house


def has_lost(game: Game, combat: Combat, house: HouseId) -> bool:
    return combat.winner is not None and combat.winner != house


@dataclass(frozen=True)
class Bonus:
    """More strength or icons while a condition holds."""

    when: Condition
    strength: int = 0
    swords: int = 0
    fortifications: int = 0


@dataclass(frozen=True)
class RaisesUnits:
    """Standing units of a type that belong to the card's owner count one more for his side.

    Not ``in_support``, only those that fight do (1E-HC-5).
    """

    unit: str
    when: Condition
    in_support: bool = True


@dataclass(frozen=True)
class ZeroesShips:
    """Ships of every other House count nothing, on both sides."""

    when: Condition


@dataclass(frozen=True)
class ZeroesShipsInSupport:
    """Ships that support the opponent count nothing."""


@dataclass(frozen=True)
class DoublesDefense:
    """The owner's Defense order in the embattled area counts twice."""


@dataclass(frozen=True)
class ZeroesPrintedStrength:
    """The printed strength of the opponent's card is 0."""


@dataclass(frozen=True)
class NoCasualties:
    """The owner suffers no casualties from card texts, swords or skulls."""


@dataclass(frozen=True)
class Applies:
    """An effect that happens by itself at its moment, while its condition holds."""

    timing: Timing
    when: Condition
    apply: Callable[[Game, Combat, HouseId], None]


@dataclass(frozen=True)
class Asks:
    """An effect that its owner decides: the words to choose from (none: nothing to decide) and what they do.

    ``default`` is the word of a missed deadline, or the first word where it is empty. ``asked_anyway`` keeps
    a single word from being forced.
    """

    timing: Timing
    key: str
    when: Condition
    words: Callable[[Game, Combat, HouseId], tuple[str, ...]]
    apply: Callable[[Game, Combat, HouseId, str], None]
    default: str = ""
    asked_anyway: bool = False


@dataclass(frozen=True)
class Noted:
    """A win-or-lose effect that is noted and takes effect in the later step that ``step`` names."""

    step: Literal["retreat-area", "no-entry", "order-moves", "back-to-hand"]
    when: Condition


Effect = (
    Bonus
    | RaisesUnits
    | ZeroesShips
    | ZeroesShipsInSupport
    | DoublesDefense
    | ZeroesPrintedStrength
    | NoCasualties
    | Applies
    | Asks
    | Noted
)


@dataclass(frozen=True)
class CardText:
    """A card's entry in section 27: the rule that describes it, and what its text does (nothing for most)."""

    card: CardId
    rule: str
    effects: tuple[Effect, ...] = ()


def timed(text: CardText, timing: Timing) -> Applies | Asks | None:
    """The effect of a card at this moment."""
    for effect in text.effects:
        if isinstance(effect, Applies | Asks) and effect.timing == timing:
            return effect
    return None


def text_of(game: Game, card: CardId) -> CardText:
    """What a card's text does in this edition."""
    text: CardText = game.edition.card_texts[card]
    return text


def text_for(game: Game, combat: Combat, house: HouseId, card: CardId) -> CardText:
    """What a card's text does in this combat: nothing when it was cancelled."""
    text = text_of(game, card)
    return replace(text, effects=()) if combat.is_silenced(house) else text


def text_in_play(game: Game, combat: Combat, house: HouseId) -> CardText | None:
    """The text of the card that a House has in play, if it has one."""
    card = combat.cards.get(house)
    return text_for(game, combat, house, card) if card else None


def effects_in_play(game: Game, combat: Combat, house: HouseId) -> tuple[Effect, ...]:
    text = text_in_play(game, combat, house)
    return text.effects if text else ()


def is_spared_casualties(game: Game, combat: Combat, house: HouseId) -> CardText | None:
    """The card that spares its owner casualties, if one is in play."""
    text = text_in_play(game, combat, house)
    return text if text and any(isinstance(effect, NoCasualties) for effect in text.effects) else None


def noted(game: Game, combat: Combat, house: HouseId, step: str) -> CardText | None:
    """The card whose win-or-lose effect takes place in ``step``; none when the combat was stopped."""
    text = text_in_play(game, combat, house)
    if text is None or combat.stopped:
        return None
    for effect in text.effects:
        if isinstance(effect, Noted) and effect.step == step and effect.when(game, combat, house):
            return text
    return None
