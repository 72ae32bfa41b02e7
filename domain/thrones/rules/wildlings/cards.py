"""The nine wildling cards (section 24.1)."""

from __future__ import annotations

from domain.kernel.procedure import Do, Next, Wait
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from domain.thrones.language.pieces import THRONE, TRACKS, AreaId, CardId, HouseId, Unit, Units, size
from domain.thrones.rules.choices import Words, chosen_subsets, gathered, singles, total
from domain.thrones.rules.combat.hands import discard
from domain.thrones.rules.game import Game, decision
from domain.thrones.rules.westeros.mustering import MusterIn, can_muster
from domain.thrones.rules.westeros.supply import Reconcile, set_supply
from domain.thrones.rules.wildlings.attack import WildlingCardProcedure
from domain.thrones.rules.wildlings.losses import Degrades, DestroysUnits, UnitsAnywhere, UnitsInOneArea, lose_units


class SilenceAtTheWall(WildlingCardProcedure, frozen=True, tag=True):
    """Nothing happens in any case."""

    @property
    def rule(self) -> str:
        return "2E-WLC-1"


class PreemptiveRaid(DestroysUnits, frozen=True, tag=True):
    """The lowest bidder loses two units, or two positions on his best track. A won attack is followed by another."""

    @property
    def rule(self) -> str:
        return "2E-WLC-2"

    def units_to_destroy(self, game: Game) -> int:
        return 2

    def lowest(self, game: Game) -> Next:
        """2E-DP-10."""
        answer = c.PreemptiveRaid(house=self.bidder, choice="lose-influence")
        options = Words(("destroy-units", "lose-influence"), (self.rule,))
        return Wait(decision(answer, options, "2E-DP-10", self.rule, asked_anyway=True), then="chosen")

    def chosen(self, game: Game, answer: c.PreemptiveRaid) -> Next:
        return self.at("destroy" if answer.choice == "destroy-units" else "track")

    def track(self, game: Game) -> Next:
        """2E-DP-11: the holder of the Iron Throne token picks among equally good tracks."""
        best = min(game.state.position_of(self.bidder, track) for track in TRACKS)
        tracks = tuple(track for track in TRACKS if game.state.position_of(self.bidder, track) == best)
        answer = c.PreemptiveRaidTrack(house=game.state.tokens[THRONE], choice=tracks[0])
        rules = ("2E-DP-11", self.rule, "2E-TRK-2")
        # Who is last on all three tracks falls no further, whichever is named.
        forced = answer if best == len(game.state.houses) else None
        return Wait(decision(answer, Words(tracks, (self.rule,)), *rules, forced=forced), then="lowered")

    def lowered(self, game: Game, answer: c.PreemptiveRaidTrack) -> Next:
        position = game.state.position_of(self.bidder, answer.choice) + 2
        game.move_marker(self.bidder, answer.choice, min(position, len(game.state.houses)), self.rule, "2E-FEW-4")
        return self.after(self.bidder)


class CrowKillers(WildlingCardProcedure, frozen=True, tag=True):
    """Knights become Footmen; the highest bidder turns Footmen into Knights."""

    @property
    def rule(self) -> str:
        return "2E-WLC-3"

    def lowest(self, game: Game) -> Next:
        return self.at("degrade")

    def other(self, game: Game, house: HouseId) -> Next:
        return self.at("degrade")

    def degrade(self, game: Game) -> Next:
        """2E-DP-14: all Knights of the lowest bidder, two of everyone else."""
        house = self.acting(game)
        knights = _only(game.state.forces_of(house), ("knight", "routed-knight"))
        number = total(knights) if house == self.bidder else min(2, total(knights))
        options = Degrades(knights, number, game.reserve(house)["footman"])
        # The default is by area (2E-DP-14), not by 2E-DP-41.
        first = singles(knights)[:number]
        answer = c.CrowKillersDegrade(
            house=house, replaced=gathered(first[: options.replaced]), destroyed=gathered(first[options.replaced :])
        )
        return Wait(decision(answer, options, "2E-DP-14", self.rule, "2E-LIM-3"), then="degraded")

    def degraded(self, game: Game, answer: c.CrowKillersDegrade) -> Next:
        for area, unit in singles(answer.replaced):
            new = unit.replace("knight", "footman")
            game.emit(f.UnitReplaced(house=answer.house, area=area, old=unit, new=new), self.rule)
        lose_units(game, answer.house, answer.destroyed, self.rule, "2E-LIM-3")
        return self.after(answer.house)

    def highest(self, game: Game) -> Next:
        """2E-DP-15."""
        footmen = _only(game.state.forces_of(self.bidder), ("footman", "routed-footman"))
        most = min(2, total(footmen), game.reserve(self.bidder)["knight"])
        answer = c.CrowKillersUpgrade(house=self.bidder)
        options = UnitsAnywhere(footmen, 0, most, (self.rule, "2E-LIM-1"))
        return Wait(decision(answer, options, "2E-DP-15", self.rule), then="upgraded")

    def upgraded(self, game: Game, answer: c.CrowKillersUpgrade) -> Next:
        for area, unit in singles(answer.units):
            new = unit.replace("footman", "knight")
            game.emit(f.UnitReplaced(house=answer.house, area=area, old=unit, new=new), self.rule)
        return self.after(answer.house)


def _only(forces: dict[AreaId, Units], kinds: tuple[Unit, ...]) -> dict[AreaId, Units]:
    some = {area: {unit: count for unit, count in units.items() if unit in kinds} for area, units in forces.items()}
    return {area: units for area, units in some.items() if units}


class RattleshirtsRaiders(WildlingCardProcedure, frozen=True, tag=True):
    """Supply markers go down, or the highest bidder's goes up."""

    @property
    def rule(self) -> str:
        return "2E-WLC-4"

    def _lower(self, game: Game, house: HouseId, by: int) -> Next:
        set_supply(game, house, game.state.supply[house] - by, self.rule, "2E-SUP-9")
        return Do(Reconcile(house=house), then=self.at("reconciled"))

    def lowest(self, game: Game) -> Next:
        return self._lower(game, self.bidder, 2)

    def other(self, game: Game, house: HouseId) -> Next:
        return self._lower(game, house, 1)

    def reconciled(self, game: Game) -> Next:
        return self.after(self.acting(game))

    def highest(self, game: Game) -> Next:
        set_supply(game, self.bidder, game.state.supply[self.bidder] + 1, self.rule, "2E-SUP-9")
        return self.after(self.bidder)


class MassingOnTheMilkwater(WildlingCardProcedure, frozen=True, tag=True):
    """House cards are discarded, or the highest bidder takes his discard pile."""

    @property
    def rule(self) -> str:
        return "2E-WLC-5"

    def lowest(self, game: Game) -> Next:
        hand = game.state.hands[self.bidder]
        strengths = [game.edition.cards[card].strength for card in hand]
        if len(hand) < 2:
            return self.after(self.bidder)
        gone = tuple(
            card for card in game.edition.in_order(hand) if game.edition.cards[card].strength == max(strengths)
        )
        if len(gone) == len(hand) and game.readings.westeros.equal_hand_is_kept:
            return self.after(self.bidder)
        discard(game, self.bidder, gone, self.rule)
        return self.after(self.bidder)

    def other(self, game: Game, house: HouseId) -> Next:
        return self.at("choose") if len(game.state.hands[house]) > 1 else self.after(house)

    def choose(self, game: Game) -> Next:
        """2E-DP-16."""
        house = self.acting(game)
        hand = game.edition.in_order(game.state.hands[house])
        answer = c.MassingDiscard(house=house, choice=hand[0])
        return Wait(decision(answer, Words(hand, (self.rule,)), "2E-DP-16", self.rule), then="chosen")

    def chosen(self, game: Game, answer: c.MassingDiscard) -> Next:
        discard(game, answer.house, (answer.choice,), self.rule)
        return self.after(answer.house)

    def highest(self, game: Game) -> Next:
        pile = game.state.discards[self.bidder]
        if pile:
            game.emit(f.CardsTaken(house=self.bidder, cards=pile), self.rule)
        return self.after(self.bidder)


class AKingBeyondTheWall(WildlingCardProcedure, frozen=True, tag=True):
    """Influence markers go to the bottom, or the highest bidder's to the top of one track."""

    @property
    def rule(self) -> str:
        return "2E-WLC-6"

    def lowest(self, game: Game) -> Next:
        for track in TRACKS:
            game.move_marker(self.bidder, track, len(game.state.houses), self.rule, "2E-FEW-4")
        return self.after(self.bidder)

    def other(self, game: Game, house: HouseId) -> Next:
        return self.at("lower")

    def lower(self, game: Game) -> Next:
        """2E-DP-18."""
        house = self.acting(game)
        tracks = ("fiefdoms", "kings-court")
        last = all(game.state.position_of(house, track) == len(game.state.houses) for track in tracks)
        answer = c.KingBeyondLower(house=house, choice="fiefdoms")
        forced = answer if last else None
        question = decision(
            answer, Words(tracks, (self.rule,)), "2E-DP-18", self.rule, asked_anyway=not last, forced=forced
        )
        return Wait(question, then="lowered")

    def lowered(self, game: Game, answer: c.KingBeyondLower) -> Next:
        game.move_marker(answer.house, answer.choice, len(game.state.houses), self.rule, "2E-FEW-4")
        return self.after(answer.house)

    def highest(self, game: Game) -> Next:
        """2E-DP-17."""
        lower = [track for track in TRACKS if game.state.position_of(self.bidder, track) != 1]
        answer = c.KingBeyondRaise(house=self.bidder, choice=lower[0] if lower else TRACKS[0])
        question = decision(
            answer,
            Words(TRACKS, (self.rule,)),
            "2E-DP-17",
            self.rule,
            asked_anyway=bool(lower),
            forced=None if lower else answer,
        )
        return Wait(question, then="raised")

    def raised(self, game: Game, answer: c.KingBeyondRaise) -> Next:
        game.move_marker(answer.house, answer.choice, 1, self.rule)
        return self.after(answer.house)


class MammothRiders(DestroysUnits, frozen=True, tag=True):
    """Three units of the lowest bidder, two of everyone else; the highest bidder takes a card back."""

    @property
    def rule(self) -> str:
        return "2E-WLC-7"

    def units_to_destroy(self, game: Game) -> int:
        return 3 if self.acting(game) == self.bidder else 2

    def lowest(self, game: Game) -> Next:
        return self.at("destroy")

    def other(self, game: Game, house: HouseId) -> Next:
        return self.at("destroy")

    def highest(self, game: Game) -> Next:
        """2E-DP-19."""
        pile = game.edition.in_order(game.state.discards[self.bidder])
        answer = c.MammothRetrieve(house=self.bidder, choice="none")
        options = Words(("none", *pile), (self.rule,))
        return Wait(decision(answer, options, "2E-DP-19", self.rule), then="retrieved")

    def retrieved(self, game: Game, answer: c.MammothRetrieve) -> Next:
        if answer.choice != "none":
            game.emit(f.CardsTaken(house=answer.house, cards=(answer.choice,)), self.rule)
        return self.after(answer.house)


class TheHordeDescends(DestroysUnits, frozen=True, tag=True):
    """Two units in one Castle or Stronghold of the lowest bidder, one of everyone else; the highest bidder musters."""

    area: AreaId = ""

    @property
    def rule(self) -> str:
        return "2E-WLC-8"

    def units_to_destroy(self, game: Game) -> int:
        return 2 if self.acting(game) == self.bidder else 1

    def lowest(self, game: Game) -> Next:
        """2E-DP-13, or two units anywhere if no such area holds two."""
        pool = {
            area: units
            for area, units in game.state.forces_of(self.bidder).items()
            if game.board.has_castle(area) and size(units) >= 2
        }
        if not pool:
            return self.at("destroy")
        first = min(pool)
        default = next(chosen_subsets({first: pool[first]}, 2))
        answer = c.HordeCastleUnits(house=self.bidder, units=default)
        options = UnitsInOneArea(pool, 2, (self.rule,))
        return Wait(decision(answer, options, "2E-DP-13", self.rule), then="struck")

    def struck(self, game: Game, answer: c.HordeCastleUnits) -> Next:
        for area in sorted(answer.units):
            game.destroy(answer.house, area, answer.units[area], self.rule)
        return self.after(answer.house)

    def other(self, game: Game, house: HouseId) -> Next:
        return self.at("destroy")

    def highest(self, game: Game) -> Next:
        """2E-DP-20: one area with a Castle or Stronghold, then the muster."""
        areas = tuple(area for area in game.castles_of(self.bidder) if can_muster(game, self.bidder, area))
        answer = c.HordeMusterArea(house=self.bidder, choice="none")
        options = Words(("none", *areas), (self.rule, "2E-MUS-2"))
        return Wait(decision(answer, options, "2E-DP-20", self.rule), then="area_chosen")

    def area_chosen(self, game: Game, answer: c.HordeMusterArea) -> Next:
        if answer.choice == "none":
            return self.after(answer.house)
        muster = MusterIn(house=self.bidder, area=answer.choice)
        return Do(muster, then=self.at("mustered"))

    def mustered(self, game: Game) -> Next:
        return self.after(self.bidder)


class SkinchangerScout(WildlingCardProcedure, frozen=True, tag=True):
    """Available Power is discarded, or the highest bidder gets his bid back."""

    @property
    def rule(self) -> str:
        return "2E-WLC-9"

    def lowest(self, game: Game) -> Next:
        game.lose_power(self.bidder, game.state.power[self.bidder], self.rule, "2E-WLD-10")
        return self.after(self.bidder)

    def other(self, game: Game, house: HouseId) -> Next:
        game.lose_power(house, 2, self.rule, "2E-WLD-10")
        return self.after(house)

    def highest(self, game: Game) -> Next:
        if self.bidder in game.state.bids:
            game.emit(f.BidReturned(house=self.bidder), self.rule)
        return self.after(self.bidder)


CARDS: dict[CardId, type[WildlingCardProcedure]] = {
    "silence-at-the-wall": SilenceAtTheWall,
    "preemptive-raid": PreemptiveRaid,
    "crow-killers": CrowKillers,
    "rattleshirts-raiders": RattleshirtsRaiders,
    "massing-on-the-milkwater": MassingOnTheMilkwater,
    "a-king-beyond-the-wall": AKingBeyondTheWall,
    "mammoth-riders": MammothRiders,
    "the-horde-descends": TheHordeDescends,
    "skinchanger-scout": SkinchangerScout,
}
