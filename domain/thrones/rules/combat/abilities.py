"""Timed abilities of House cards: steps 3b, 3c, 6b and 6g of a combat (section 19)."""

from __future__ import annotations

from domain.kernel.procedure import Done, Next, Procedure, Wait
from domain.thrones.language import facts as f
from domain.thrones.language.answers import CardAbility
from domain.thrones.language.pieces import CardId, HouseId
from domain.thrones.language.state import Combat
from domain.thrones.rules.choices import Words
from domain.thrones.rules.combat.cards.vocabulary import (
    Applies,
    Asks,
    CardText,
    Noted,
    Timing,
    in_ability_order,
    text_for,
    text_of,
    timed,
)
from domain.thrones.rules.game import Game, decision

RULE_OF_TIMING: dict[Timing, str] = {
    "cancel": "2E-HC-3",
    "immediately": "2E-HC-4",
    "win-or-lose": "2E-HC-6",
    "after": "2E-HC-7",
}


class Abilities(Procedure, frozen=True, tag=True):
    """All abilities of one timing, in turn order, which is read again before each (2E-HC-2 to 2E-HC-7, 2E-HCX-1).

    ``played`` has the cards by House when they have left the table already (after combat).
    """

    timing: Timing
    resolved: tuple[CardId, ...] = ()
    played: dict[HouseId, CardId] = {}
    current: CardId = ""

    def begin(self, game: Game) -> Next:
        combat = game.combat
        found = None if combat.stopped else self._next(game, combat)
        if found is None:
            return Done()
        house, text = found
        effect = timed(text, self.timing)
        if isinstance(effect, Asks):
            if effect.words(game, combat, house):
                return self.at("ask", current=text.card)
            resolved = f.AbilityResolved(house=house, card=text.card)
            rules = (RULE_OF_TIMING[self.timing], "2E-GEN-18", "2E-HC-8", *_pairing(game, combat, self))
            game.emit(resolved, text.rule, *rules)
            return self._after(text.card)
        if isinstance(effect, Applies):
            rules = (*self._rules(game, combat), *_pairing(game, combat, self))
            game.emit(f.AbilityResolved(house=house, card=text.card), text.rule, *rules)
            effect.apply(game, combat, house)
        else:
            noted = [one for one in text.effects if isinstance(one, Noted) and one.when(game, combat, house)]
            assert noted and self.timing == "win-or-lose"
            game.emit(f.AbilityNoted(house=house, card=text.card), text.rule, "2E-HC-6")
        return self._after(text.card)

    def _cards(self, combat: Combat) -> dict[HouseId, CardId]:
        return self.played or combat.cards

    def _next(self, game: Game, combat: Combat) -> tuple[HouseId, CardText] | None:
        """The next combatant with an unresolved ability of this timing whose condition holds."""
        cards = self._cards(combat)
        for house in in_ability_order(game, combat):
            text = text_for(game, combat, house, cards[house]) if house in cards else None
            if text is None or text.card in self.resolved:
                continue
            effect = timed(text, self.timing)
            if effect is not None and effect.when(game, combat, house):
                return house, text
            if effect is None and self.timing == "win-or-lose" and _notes(game, combat, house, text):
                return house, text
        return None

    def _rules(self, game: Game, combat: Combat) -> tuple[str, ...]:
        both = all(house in self._cards(combat) for house in combat.combatants)
        order = (game.readings.combat.texts_by_rule,) if both else ()
        return (RULE_OF_TIMING[self.timing], "2E-HC-2", *order)

    def _after(self, card: CardId) -> Procedure:
        return self.at("begin", resolved=(*self.resolved, card), current="")

    def ask(self, game: Game) -> Next:
        combat = game.combat
        house = next((one for one, card in sorted(self._cards(combat).items()) if card == self.current), None)
        effect = timed(text_for(game, combat, house, self.current), self.timing) if house else None
        words = effect.words(game, combat, house) if house and isinstance(effect, Asks) else ()
        if house is None or not isinstance(effect, Asks) or not words:
            # A correction has taken away what there was to decide.
            return self.at("begin", current="")
        text = text_of(game, self.current)
        answer = CardAbility(house=house, area=combat.area, ability=effect.key, choice=effect.default or words[0])
        optional = ("2E-HC-8",) if effect.default in ("none", "keep", "leave") else ()
        rules = ("2E-DP-33", text.rule, RULE_OF_TIMING[self.timing], *optional)
        question = decision(answer, Words(words, (text.rule,)), *rules, asked_anyway=effect.asked_anyway)
        return Wait(question, then="apply")

    def apply(self, game: Game, answer: CardAbility) -> Next:
        combat = game.combat
        text = text_of(game, self.current)
        effect = timed(text, self.timing)
        assert isinstance(effect, Asks)
        resolved = f.AbilityResolved(house=answer.house, card=self.current)
        game.emit(resolved, text.rule, *self._rules(game, combat), *_pairing(game, combat, self))
        effect.apply(game, combat, answer.house, answer.choice)
        if answer.ability == "tyrion-cancel" and answer.choice == "cancel":
            return self.at("replace", resolved=(*self.resolved, self.current), current="")
        return self._after(self.current)

    def replace(self, game: Game) -> Next:
        """The opponent of Tyrion chooses a different card, if he has one (2E-HCL-6)."""
        combat = game.combat
        house, cancelled = next(iter(combat.cancelled.items()))
        words = tuple(card for card in game.edition.in_order(game.state.hands[house]) if card != cancelled)
        if not words:
            return self.at("begin")
        answer = CardAbility(house=house, area=combat.area, ability="tyrion-replacement", choice=words[0])
        rules = ("2E-HCL-6", "2E-HC-9")
        return Wait(decision(answer, Words(words, rules), "2E-DP-33", *rules), then="replaced")

    def replaced(self, game: Game, answer: CardAbility) -> Next:
        game.emit(f.HouseCardReplaced(house=answer.house, card=answer.choice), "2E-HCL-6", "2E-HC-9", "2E-HCX-5")
        return self.at("begin")


def _notes(game: Game, combat: Combat, house: HouseId, text: CardText) -> bool:
    return any(isinstance(effect, Noted) and effect.when(game, combat, house) for effect in text.effects)


PAIRINGS: dict[frozenset[str], str] = {
    frozenset({"roose-bolton", "cersei-lannister"}): "2E-HCX-12",
    frozenset({"roose-bolton", "renly-baratheon"}): "2E-HCX-12",
    frozenset({"roose-bolton", "tywin-lannister"}): "2E-HCX-12",
    frozenset({"doran-martell", "aeron-damphair"}): "2E-HCX-6",
    frozenset({"doran-martell", "mace-tyrell"}): "2E-HCX-6",
    frozenset({"doran-martell", "queen-of-thorns"}): "2E-HCX-6",
    frozenset({"doran-martell", "stannis-baratheon"}): "2E-HCX-7",
    frozenset({"the-blackfish", "mace-tyrell"}): "2E-HCX-13",
    frozenset({"patchface", "aeron-damphair"}): "2E-HCX-15",
    frozenset({"patchface", "roose-bolton"}): "2E-HCX-15",
}
"""Pairs of cards whose order of resolution has an entry of its own in section 27.7."""


def _pairing(game: Game, combat: Combat, abilities: Abilities) -> tuple[str, ...]:
    rule = PAIRINGS.get(frozenset((abilities.played or combat.cards).values()))
    return (rule,) if rule else ()
