"""Casualties by swords and skulls: steps 6c and 6d of a combat (section 18.5, 2E-TOB-9)."""

from __future__ import annotations

from domain.kernel.procedure import Done, Next, Procedure, Wait
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from domain.thrones.language.pieces import HouseId, Units, is_routed, size
from domain.thrones.language.state import Combat
from domain.thrones.rules.choices import SomeUnits, subsets
from domain.thrones.rules.combat.cards.vocabulary import destroy_participating, is_spared_casualties, participating
from domain.thrones.rules.combat.strength import icon_lines
from domain.thrones.rules.game import Game, decision


def default_units(units: Units, count: int) -> Units:
    """2E-DP-41 inside one place: the first units in canonical order."""
    return next(subsets(units, count), {})


def eligible(game: Game, combat: Combat, house: HouseId) -> Units:
    """Units that can be casualties: not routed, and no Siege Engine of the loser (2E-CAS-7)."""
    loses = combat.loser == house
    return {
        unit: count
        for unit, count in participating(game, combat, house).items()
        if not is_routed(unit) and not (loses and unit == "siege-engine")
    }


class Casualties(Procedure, frozen=True, tag=True):
    """The garrison, what cannot retreat, then the loser's choice; with Tides of Battle the skulls."""

    skulls: tuple[HouseId, ...] = ()

    def begin(self, game: Game) -> Next:
        combat = game.combat
        loser = combat.loser
        assert loser is not None
        holds_garrison = combat.area in game.state.garrisons and game.shield(combat.area) == loser
        if loser == combat.defender and holds_garrison:
            removed = f.GarrisonRemoved(area=combat.area, house=loser)
            game.emit(removed, "2E-CAS-1", "2E-GAR-3", "2E-GAR-4", "2E-GAR-5")
        # By the first edition's book the routed die when they would have to retreat (1E-CAS-3, 1E-RET-8).
        routed_die = game.readings.combat.routed_die == "as-casualties"
        lost = {
            unit: count
            for unit, count in participating(game, combat, loser).items()
            if (routed_die and is_routed(unit)) or unit == "siege-engine"
        }
        rules = ("2E-CAS-2", "2E-RET-14", "2E-RET-13") if routed_die else ("2E-RET-14",)
        destroy_participating(game, combat, loser, lost, *rules)
        return Done() if combat.stopped else self.at("number")

    def number(self, game: Game) -> Next:
        """Swords of the winner less fortifications of the loser (2E-CAS-3, 2E-CAS-4, 2E-CAS-8)."""
        combat = game.combat
        assert combat.winner is not None
        loser = combat.opponent(combat.winner)
        swords = sum(line.amount for line in icon_lines(game, combat, combat.winner, "swords"))
        walls = sum(line.amount for line in icon_lines(game, combat, loser, "fortifications"))
        able = size(eligible(game, combat, loser))
        number = max(0, min(swords - walls, able))
        spared = is_spared_casualties(game, combat, loser)
        if spared and swords > walls:
            prevented = f.CasualtiesPrevented(house=loser, card=spared.card)
            game.emit(prevented, spared.rule, "2E-HCX-13")
            number = 0
        counted = f.CasualtiesCounted(house=loser, swords=swords, fortifications=walls, eligible=able, number=number)
        game.emit(counted, "2E-CAS-3", "2E-CAS-4", "2E-CAS-5", "2E-CAS-8", "2E-HC-11")
        if number == 0:
            return self.at("skull")
        return self.at("choose")

    def choose(self, game: Game) -> Next:
        combat = game.combat
        assert combat.winner is not None and combat.loser is not None
        swords = sum(line.amount for line in icon_lines(game, combat, combat.winner, "swords"))
        walls = sum(line.amount for line in icon_lines(game, combat, combat.loser, "fortifications"))
        units = eligible(game, combat, combat.loser)
        number = min(max(0, swords - walls), size(units))
        answer = c.Casualties(house=combat.loser, area=combat.area, units=default_units(units, number))
        rules = ("2E-CAS-4", "2E-CAS-6", "2E-CAS-7")
        return Wait(decision(answer, SomeUnits(units, number, rules), "2E-DP-36", *rules, "2E-DP-41"), then="give_up")

    def give_up(self, game: Game, answer: c.Casualties) -> Next:
        destroy_participating(game, game.combat, answer.house, answer.units, "2E-CAS-6", "2E-CAS-7")
        return self.at("skull")

    def skull(self, game: Game) -> Next:
        """First the attacker's card, then the defender's (2E-TOB-10)."""
        combat = game.combat
        for owner in combat.combatants:
            card = combat.tides.get(owner)
            if owner in self.skulls or card is None or not game.edition.tides[card].skulls:
                continue
            struck = combat.opponent(owner)
            spared = is_spared_casualties(game, combat, struck)
            if spared:
                game.emit(f.CasualtiesPrevented(house=struck, card=spared.card), spared.rule, "2E-HCX-13")
            elif eligible(game, combat, struck):
                return self.at("skull_strikes", skulls=(*self.skulls, owner))
            return self.at("skull", skulls=(*self.skulls, owner))
        return Done()

    def skull_strikes(self, game: Game) -> Next:
        combat = game.combat
        struck = combat.opponent(self.skulls[-1])
        units = eligible(game, combat, struck)
        if not units:
            return self.at("skull")
        answer = c.SkullCasualty(house=struck, area=combat.area, units=default_units(units, 1))
        rules = ("2E-TOB-9", "2E-TOB-10")
        return Wait(decision(answer, SomeUnits(units, 1, rules), "2E-DP-37", *rules, "2E-DP-41"), then="skull_taken")

    def skull_taken(self, game: Game, answer: c.SkullCasualty) -> Next:
        destroy_participating(game, game.combat, answer.house, answer.units, "2E-TOB-9", "2E-TOB-10")
        return self.at("skull")
