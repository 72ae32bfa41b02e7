"""Combat clean-up: steps 6f to 6h (section 18.7)."""

from __future__ import annotations

from domain.kernel.procedure import Do, Done, Next, Procedure, Wait
from domain.thrones.language import facts as f
from domain.thrones.language.answers import RetreatLosses
from domain.thrones.language.pieces import CardId, HouseId, size
from domain.thrones.rules.choices import SomeUnits
from domain.thrones.rules.combat.abilities import Abilities
from domain.thrones.rules.combat.cards.vocabulary import noted
from domain.thrones.rules.combat.casualties import default_units
from domain.thrones.rules.combat.hands import refill
from domain.thrones.rules.combat.retreat import returning_loss
from domain.thrones.rules.control import Consequences
from domain.thrones.rules.game import Game, decision


def remove_stray_orders(game: Game) -> None:
    """Orders in areas without units leave the board (2E-CUP-9)."""
    for area, placed in sorted(game.state.orders.items()):
        if area not in game.state.units:
            game.emit(f.OrderRemoved(house=placed.house, area=area, order=placed.token), "2E-CUP-9")


class CombatCleanUp(Procedure, frozen=True, tag=True):
    """Orders, entry, control, cards, abilities after combat, orders without units."""

    no_entry: bool = False
    played: dict[HouseId, CardId] = {}

    def begin(self, game: Game) -> Next:
        combat = game.combat
        if combat.winner == combat.attacker:
            placed = game.state.orders.get(combat.area)
            if placed and placed.house == combat.defender:
                removed = f.OrderRemoved(house=placed.house, area=combat.area, order=placed.token)
                game.emit(removed, "2E-CUP-1")
            return self.at("return_home" if self.no_entry else "enter")
        return self.at("control")

    def enter(self, game: Game) -> Next:
        """The winner's surviving units enter (2E-CUP-2, 2E-CUP-3)."""
        combat = game.combat
        march = game.state.march
        assert march is not None
        if not size(march.units):
            return self.at("nobody_enters")
        game.emit(f.UnitsArrived(house=combat.attacker, to=combat.area, units=march.units), "2E-CUP-2", "2E-CUP-5")
        owner = game.state.power_tokens.get(combat.area)
        if owner and owner != combat.attacker:
            game.emit(f.PowerTokenRemoved(house=owner, area=combat.area), "2E-CUP-3", "2E-CTL-7")
        return self.at("control")

    def return_home(self, game: Game) -> Next:
        """Arianne Martell: the attackers go back and are not routed; supply binds them (2E-HCM-5)."""
        combat = game.combat
        march = game.state.march
        assert march is not None
        loss = returning_loss(game, combat.attacker, combat.origin, size(march.units))
        if not loss:
            return self.at("home")
        answer = RetreatLosses(house=combat.attacker, area=combat.area, units=default_units(march.units, loss))
        rules = ("2E-RET-4", "2E-HCM-5")
        return Wait(decision(answer, SomeUnits(march.units, loss, rules), "2E-DP-39", *rules), then="lose")

    def lose(self, game: Game, answer: RetreatLosses) -> Next:
        lost = f.UnitsDestroyed(house=answer.house, area=answer.area, units=answer.units, marching=True)
        game.emit(lost, "2E-RET-4", "2E-HCM-5", "2E-GEN-9")
        return self.at("home")

    def home(self, game: Game) -> Next:
        combat = game.combat
        march = game.state.march
        assert march is not None
        if size(march.units):
            back = f.UnitsReturned(house=combat.attacker, to=combat.origin, units=march.units, routed=False)
            game.emit(back, "2E-HCM-5", "2E-HCX-10")
        return self.at("nobody_enters")

    def nobody_enters(self, game: Game) -> Next:
        """The Power token of an area that was won but not entered (2E-CUP-4)."""
        combat = game.combat
        owner = game.state.power_tokens.get(combat.area)
        if not owner:
            return self.at("control")
        change = f.PowerTokenKept if game.readings.combat.token_stays else f.PowerTokenRemoved
        game.emit(change(house=owner, area=combat.area), game.readings.combat.nobody_enters)
        return self.at("control")

    def control(self, game: Game) -> Next:
        """Retreat and entry together, then their consequences (2E-CUP-5)."""
        return Do(Consequences(), then=self.at("march_order"))

    def march_order(self, game: Game) -> Next:
        combat = game.combat
        placed = game.state.orders.get(combat.origin)
        if placed and placed.house == combat.attacker and game.edition.tokens[placed.token].type == "march":
            loras = noted(game, combat, combat.attacker, "order-moves")
            if loras and game.state.house_in(combat.area) == combat.attacker:
                moved = f.OrderMoved(house=combat.attacker, area=combat.origin, to=combat.area)
                game.emit(moved, loras.rule)
            else:
                rules = ("2E-CUP-6", "2E-ORD-5", *(("2E-HCT-2", "2E-HCX-11") if loras else ()))
                spent = f.OrderResolved(house=combat.attacker, area=combat.origin, order=placed.token)
                game.emit(spent, *rules)
        return self.at("cards", played=combat.cards)

    def cards(self, game: Game) -> Next:
        """Cards go to the discard piles, then empty hands are refilled (2E-CUP-7)."""
        combat = game.combat
        for house in combat.combatants:
            card = combat.cards.get(house)
            roose = noted(game, combat, house, "back-to-hand")
            if card and roose:
                game.emit(f.CardsTaken(house=house, cards=(card,)), roose.rule, "2E-CUP-7")
            elif card:
                game.emit(f.CardsDiscarded(house=house, cards=(card,)), "2E-CUP-7", "2E-HC-13")
        for house, card in sorted(self.played.items()):
            refill(game, house, (card,))
        return Do(Abilities(timing="after", played=self.played), then=self.at("empty_areas"))

    def empty_areas(self, game: Game) -> Next:
        game.recount(remove_stray_orders)
        game.emit(f.CombatEnded(area=game.combat.area), "2E-CUP-8", "2E-CUP-10")
        return Done()
