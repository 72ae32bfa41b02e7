"""What the Westeros cards do (section 6.1)."""

from __future__ import annotations

from domain.kernel.procedure import Do, Done, Next, Procedure, Wait
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from domain.thrones.language.pieces import BLADE, FOOTMEN_IN_SUPPORT, RAVEN, THRONE, CardId
from domain.thrones.rules.choices import Words
from domain.thrones.rules.game import Game, decision
from domain.thrones.rules.westeros.bidding import ClashOfKings
from domain.thrones.rules.westeros.income import game_of_thrones_income
from domain.thrones.rules.westeros.mustering import Mustering
from domain.thrones.rules.westeros.supply import Supply


class CardEffect(Procedure, frozen=True):
    """A Westeros card being carried out."""

    def over(self, game: Game) -> Next:
        return Done()

    def carry_out(self, procedure: Procedure) -> Next:
        return Do(procedure, then=self.at("over"))

    def prohibit(self, game: Game, what: str, *rules: str) -> Next:
        """Until the end of this planning phase (2E-WES-7)."""
        game.emit(f.OrdersProhibited(what=what), *rules, "2E-WES-7", "2E-PLN-6")
        return Done()


class SupplyCard(CardEffect, frozen=True, tag=True):
    def begin(self, game: Game) -> Next:
        return self.carry_out(Supply())


class MusteringCard(CardEffect, frozen=True, tag=True):
    def begin(self, game: Game) -> Next:
        return self.carry_out(Mustering())


class AThroneOfBlades(CardEffect, frozen=True, tag=True):
    """2E-DP-1."""

    def begin(self, game: Game) -> Next:
        answer = c.ThroneOfBlades(house=game.state.tokens[THRONE], choice="nothing")
        options = Words(("supply", "mustering", "nothing"), ("2E-WEC-3",))
        return Wait(decision(answer, options, "2E-DP-1", "2E-WEC-3", asked_anyway=True), then="chosen")

    def chosen(self, game: Game, answer: c.ThroneOfBlades) -> Next:
        if answer.choice == "nothing":
            return Done()
        return self.carry_out(Supply() if answer.choice == "supply" else Mustering())


class LastDaysOfSummer(CardEffect, frozen=True, tag=True):
    """No effect besides its icon."""

    def begin(self, game: Game) -> Next:
        return Done()


class ClashOfKingsCard(CardEffect, frozen=True, tag=True):
    def begin(self, game: Game) -> Next:
        return self.carry_out(ClashOfKings())


class GameOfThronesCard(CardEffect, frozen=True, tag=True):
    def begin(self, game: Game) -> Next:
        game_of_thrones_income(game, "2E-GOT-1", "2E-WEC-7", ports=True)
        return Done()


class DarkWingsDarkWords(CardEffect, frozen=True, tag=True):
    """2E-DP-2. The choice does not use up the raven token."""

    def begin(self, game: Game) -> Next:
        answer = c.DarkWings(house=game.state.tokens[RAVEN], choice="nothing")
        options = Words(("clash-of-kings", "collect-power", "nothing"), ("2E-WEC-10",))
        return Wait(decision(answer, options, "2E-DP-2", "2E-WEC-10", asked_anyway=True), then="chosen")

    def chosen(self, game: Game, answer: c.DarkWings) -> Next:
        if answer.choice == "clash-of-kings":
            return self.carry_out(ClashOfKings())
        if answer.choice == "collect-power":
            game_of_thrones_income(game, "2E-WEC-10", ports=game.readings.westeros.dark_wings_pay_ports)
        return Done()


class WildlingsAttackCard(CardEffect, frozen=True, tag=True):
    def begin(self, game: Game) -> Next:
        return self.carry_out(game.edition.chapters.wildlings(cause="card"))


class PutToTheSword(CardEffect, frozen=True, tag=True):
    """2E-DP-3. The choice does not use up the blade token."""

    def begin(self, game: Game) -> Next:
        answer = c.PutToTheSword(house=game.state.tokens[BLADE], choice="no-restriction")
        options = Words(("no-defense", "no-march-plus-1", "no-restriction"), ("2E-WEC-12",))
        return Wait(decision(answer, options, "2E-DP-3", "2E-WEC-12", asked_anyway=True), then="chosen")

    def chosen(self, game: Game, answer: c.PutToTheSword) -> Next:
        if answer.choice == "no-defense":
            return self.prohibit(game, "defense", "2E-WEC-12", "2E-WEC-13")
        if answer.choice == "no-march-plus-1":
            return self.prohibit(game, "march-plus-1", "2E-WEC-12", "2E-WEC-14")
        return Done()


class StormOfSwords(CardEffect, frozen=True, tag=True):
    def begin(self, game: Game) -> Next:
        return self.prohibit(game, "defense", "2E-WEC-13")


class RainsOfAutumn(CardEffect, frozen=True, tag=True):
    def begin(self, game: Game) -> Next:
        return self.prohibit(game, "march-plus-1", "2E-WEC-14")


class SeaOfStorms(CardEffect, frozen=True, tag=True):
    def begin(self, game: Game) -> Next:
        return self.prohibit(game, "raid", "2E-WEC-15")


class WebOfLies(CardEffect, frozen=True, tag=True):
    def begin(self, game: Game) -> Next:
        return self.prohibit(game, "support", "2E-WEC-16")


class FeastForCrows(CardEffect, frozen=True, tag=True):
    def begin(self, game: Game) -> Next:
        return self.prohibit(game, "consolidate", "2E-WEC-17")


CARDS: dict[CardId, type[CardEffect]] = {
    "w1-supply": SupplyCard,
    "w1-mustering": MusteringCard,
    "w1-a-throne-of-blades": AThroneOfBlades,
    "w1-last-days-of-summer": LastDaysOfSummer,
    "w2-clash-of-kings": ClashOfKingsCard,
    "w2-game-of-thrones": GameOfThronesCard,
    "w2-last-days-of-summer": LastDaysOfSummer,
    "w2-dark-wings-dark-words": DarkWingsDarkWords,
    "w3-wildlings-attack": WildlingsAttackCard,
    "w3-put-to-the-sword": PutToTheSword,
    "w3-storm-of-swords": StormOfSwords,
    "w3-rains-of-autumn": RainsOfAutumn,
    "w3-sea-of-storms": SeaOfStorms,
    "w3-web-of-lies": WebOfLies,
    "w3-feast-for-crows": FeastForCrows,
}
"""Winter is Coming has no entry: it is resolved while drawing (2E-WES-3)."""

RULES: dict[CardId, str] = {
    "w1-supply": "2E-WEC-1",
    "w1-mustering": "2E-WEC-2",
    "w1-a-throne-of-blades": "2E-WEC-3",
    "w1-last-days-of-summer": "2E-WEC-4",
    "w2-clash-of-kings": "2E-WEC-6",
    "w2-game-of-thrones": "2E-WEC-7",
    "w2-last-days-of-summer": "2E-WEC-8",
    "w2-dark-wings-dark-words": "2E-WEC-10",
    "w3-wildlings-attack": "2E-WEC-11",
    "w3-put-to-the-sword": "2E-WEC-12",
    "w3-storm-of-swords": "2E-WEC-13",
    "w3-rains-of-autumn": "2E-WEC-14",
    "w3-sea-of-storms": "2E-WEC-15",
    "w3-web-of-lies": "2E-WEC-16",
    "w3-feast-for-crows": "2E-WEC-17",
}
"""The entry of each card in section 6.1."""


# The first edition's decks (section 4 of its book)


class RainsOnFootmen(CardEffect, frozen=True, tag=True):
    """Footmen give no strength in support this round (1E-WCARD-11)."""

    def begin(self, game: Game) -> Next:
        game.emit(f.OrdersProhibited(what=FOOTMEN_IN_SUPPORT), "1E-WCARD-11")
        return Done()


FIRST_CARDS: dict[CardId, type[CardEffect]] = {
    "w1-supply": SupplyCard,
    "w1-mustering": MusteringCard,
    "w1-last-days-of-summer": LastDaysOfSummer,
    "w2-clash-of-kings": ClashOfKingsCard,
    "w2-game-of-thrones": GameOfThronesCard,
    "w2-last-days-of-summer": LastDaysOfSummer,
    "w3-wildling-attack": WildlingsAttackCard,
    "w3-sea-of-storms": SeaOfStorms,
    "w3-storm-of-swords": StormOfSwords,
    "w3-feast-for-crows": FeastForCrows,
    "w3-rains-of-autumn": RainsOnFootmen,
    "w3-last-days-of-summer": LastDaysOfSummer,
}

FIRST_RULES: dict[CardId, str] = {
    "w1-supply": "1E-WCARD-3",
    "w1-mustering": "1E-WCARD-4",
    "w1-last-days-of-summer": "1E-WCARD-2",
    "w2-clash-of-kings": "1E-WCARD-5",
    "w2-game-of-thrones": "1E-WCARD-6",
    "w2-last-days-of-summer": "1E-WCARD-2",
    "w3-wildling-attack": "1E-WCARD-7",
    "w3-sea-of-storms": "1E-WCARD-8",
    "w3-storm-of-swords": "1E-WCARD-9",
    "w3-feast-for-crows": "1E-WCARD-10",
    "w3-rains-of-autumn": "1E-WCARD-11",
    "w3-last-days-of-summer": "1E-WCARD-2",
}
"""The entry of each card in the first edition's section 4."""
