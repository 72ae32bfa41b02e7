"""Combat: the frame and steps 2 to 6b (section 18)."""

from __future__ import annotations

from typing import Any

from domain.kernel.decision import Decision
from domain.kernel.procedure import Collect, Do, Done, Next, Procedure, Wait
from domain.thrones.language import facts as f
from domain.thrones.language.answers import BladeRedraw, BladeStrength, HouseCardChoice
from domain.thrones.language.pieces import BLADE, AreaId, HouseId, is_routed
from domain.thrones.rules.choices import Words
from domain.thrones.rules.combat.abilities import Abilities
from domain.thrones.rules.combat.cards.vocabulary import noted
from domain.thrones.rules.combat.casualties import Casualties
from domain.thrones.rules.combat.cleanup import CombatCleanUp
from domain.thrones.rules.combat.retreat import Retreat
from domain.thrones.rules.combat.strength import count, icon_lines, initial_lines
from domain.thrones.rules.combat.support import CallForSupport
from domain.thrones.rules.game import Game, decision


def by_fiefdoms(game: Game, house: HouseId) -> int:
    """Ties go by the Fiefdoms track of the moment (2E-TRK-3)."""
    return game.state.position_of(house, "fiefdoms")


class Combat(Procedure, frozen=True, tag=True):
    """One combat, in the steps of 2E-CBT-2. The attacker's units are on their way (2E-CBT-3)."""

    area: AreaId
    defender: HouseId

    def begin(self, game: Game) -> Next:
        march = game.state.march
        assert march is not None
        began = f.CombatBegan(
            attacker=march.house, defender=self.defender, area=self.area, origin=march.origin, order=march.order
        )
        units = game.state.units_in(self.area)
        lone: tuple[str, ...] = ("2E-GAR-2",) if not units else ()
        if units and all(map(is_routed, units)):
            lone = game.readings.combat.routed_alone
        game.emit(began, "2E-CBT-1", "2E-CBT-2", "2E-CBT-3", "2E-GEN-10", "2E-GEN-12", *lone)
        return Do(CallForSupport(), then=self.at("initial_strength"))

    def initial_strength(self, game: Game) -> Next:
        """Step 2."""
        for house in game.combat.combatants:
            count(game, game.combat, "initial", house)
        if game.readings.combat.tides:
            nth = game.state.combats.count(game.state.combats[-1])
            occasion = f"tides/round-{game.state.round}/{game.state.combats[-1]}/{nth}"
            game.shuffle("tides", game.edition.tides_deck, occasion, "2E-TOB-3", "2E-TOB-1")
        return self.at("cards")

    def weighed(self, game: Game) -> None:
        """The hands, which are open, and the strength before cards."""
        for house in game.combat.combatants:
            game.state.hands.get(house)
            initial_lines(game, game.combat, house)

    def cards(self, game: Game) -> Next:
        """Step 3a: each combatant chooses a card in secret (2E-CBT-21)."""
        questions: list[Decision[Any]] = []
        for house in game.combat.combatants:
            hand = game.edition.in_order(game.state.hands[house])
            if hand:
                answer = HouseCardChoice(house=house, area=self.area, choice=hand[0])
                rules = ("2E-CBT-21", "2E-HC-13")
                questions.append(decision(answer, Words(hand, rules), "2E-DP-32", *rules, "2E-GEN-15"))
        return Collect(tuple(questions), then="reveal")

    def reveal(self, game: Game, answers: dict[HouseId, HouseCardChoice]) -> Next:
        cards = {house: answers[house].choice if house in answers else None for house in game.combat.combatants}
        empty = ("2E-CBT-22",) if None in cards.values() else ()
        game.emit(f.HouseCardsRevealed(cards=cards), "2E-CBT-21", "2E-CBT-23", *empty)
        return Do(Abilities(timing="cancel"), then=self.at("immediately"))

    def immediately(self, game: Game) -> Next:
        """Step 3c."""
        return Do(Abilities(timing="immediately"), then=self.at("tides"))

    def tides(self, game: Game) -> Next:
        """Step 3e: attacker, then defender draw a Tides card, each seen by its drawer alone."""
        if game.combat.stopped:
            return self.at("casualties")
        if not game.readings.combat.tides:
            return self.at("known_strength")
        for house in game.combat.combatants:
            self._draw(game, house, "2E-TOB-4")
        return self.at("redraw")

    def _draw(self, game: Game, house: HouseId, *rules: str) -> None:
        game.emit(f.TidesCardDrawn(house=house, card=game.state.hidden.decks["tides"][0]), *rules, "2E-HID-1")

    def _blade_holder(self, game: Game) -> HouseId | None:
        """The combatant who holds the unused Valyrian Steel Blade (2E-CBT-24)."""
        for house in game.combat.combatants:
            if game.state.holds(house, BLADE) and game.state.is_unused(BLADE):
                return house
        return None

    def redraw(self, game: Game) -> Next:
        """Step 4a."""
        holder = self._blade_holder(game)
        if holder is None:
            return self.at("reveal_tides")
        answer = BladeRedraw(house=holder, area=self.area, choice="keep")
        options = Words(("use", "keep"), ("2E-TOB-5",))
        return Wait(decision(answer, options, "2E-DP-34", "2E-TOB-5", "2E-TRK-4", asked_anyway=True), then="redrawn")

    def redrawn(self, game: Game, answer: BladeRedraw) -> Next:
        if answer.choice == "use":
            game.emit(f.TokenUsed(token=BLADE, house=answer.house), "2E-TOB-5", "2E-TRK-4")
            self._draw(game, answer.house, "2E-TOB-5")
        return self.at("reveal_tides")

    def reveal_tides(self, game: Game) -> Next:
        """Step 4b."""
        cards = {house: game.state.hidden.tides[house] for house in game.combat.combatants}
        game.emit(f.TidesRevealed(cards=cards), "2E-TOB-6")
        return self.at("known_strength")

    def known_strength(self, game: Game) -> Next:
        """Both totals are known before the Blade may be used (2E-CBT-24)."""
        if self._blade_holder(game) is not None:
            for house in game.combat.combatants:
                count(game, game.combat, "known", house)
        return self.at("blade")

    def blade(self, game: Game) -> Next:
        """Step 4, or 4c with Tides of Battle."""
        holder = self._blade_holder(game)
        if holder is None:
            return self.at("final_strength")
        answer = BladeStrength(house=holder, area=self.area, choice="do-not-use")
        options = Words(("use", "do-not-use"), ("2E-CBT-25",))
        tides = ("2E-TOB-7",) if game.readings.combat.tides else ()
        rules = ("2E-DP-35", "2E-CBT-24", "2E-CBT-25", *tides)
        return Wait(decision(answer, options, *rules, asked_anyway=True), then="blade_answered")

    def blade_answered(self, game: Game, answer: BladeStrength) -> Next:
        if answer.choice == "use":
            game.emit(f.TokenUsed(token=BLADE, house=answer.house), "2E-TRK-4")
            game.emit(f.BladeAdded(house=answer.house), "2E-CBT-25")
        return self.at("final_strength")

    def final_strength(self, game: Game) -> Next:
        """Steps 5 and 6a: the higher strength wins, a tie goes by what the edition ranks it by (2E-CBT-28)."""
        fight, reading = game.combat, game.readings.combat
        totals = {house: count(game, fight, "final", house) for house in fight.combatants}
        tie = totals[fight.attacker] == totals[fight.defender]
        winner = min(fight.combatants, key=lambda one: (-totals[one], reading.tie_rank(game, one)))
        decided = f.CombatDecided(winner=winner, loser=fight.opponent(winner), totals=totals, tie=tie)
        game.emit(decided, "2E-CBT-28", *(reading.tie if tie else ()))
        for house in game.combat.combatants:
            swords, fortifications = (
                icon_lines(game, game.combat, house, icon) for icon in ("swords", "fortifications")
            )
            counted = f.IconsCounted(house=house, swords=swords, fortifications=fortifications)
            game.emit(counted, "2E-CAS-5", "2E-HC-11", "2E-HCX-3")
        return Do(Abilities(timing="win-or-lose"), then=self.at("casualties"))

    def casualties(self, game: Game) -> Next:
        """Steps 6c and 6d."""
        return Do(Casualties(), then=self.at("retreat"))

    def retreat(self, game: Game) -> Next:
        """Step 6e; units that Arianne Martell keeps out go back in the clean-up."""
        return Do(Retreat(), then=self.at("clean_up"))

    def clean_up(self, game: Game) -> Next:
        """Steps 6f to 6h."""
        fight = game.combat
        no_entry = noted(game, fight, fight.defender, "no-entry") is not None
        return Do(CombatCleanUp(no_entry=no_entry), then=self.at("over"))

    def over(self, game: Game) -> Next:
        return Done()
