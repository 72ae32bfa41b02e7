"""The first edition's wildling attack (section 8 of its book): no card decides, the same happens every time."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from domain.kernel.decision import Options, Pick
from domain.kernel.procedure import Do, Done, Next, Wait
from domain.kernel.refusal import Refusal
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from domain.thrones.language.pieces import UNITS, AreaId, HouseId, Unit, unit_type
from domain.thrones.rules.choices import Words, gathered, is_part, shuffle, singles
from domain.thrones.rules.control import Consequences
from domain.thrones.rules.game import Game, decision
from domain.thrones.rules.wildlings.attack import Attack, threat_after

DEBT = 2
LOWEST_DEBT = 4
"""Worth in mustering points that a House loses, and the lowest bidder (1E-WILD-6)."""


class UnitsOfWorth(Options[c.DestroyUnits], frozen=True, tag="units-of-worth"):
    """Every set of units whose worth reaches ``debt`` and from which none could be left out (1E-WILD-8).

    ``pool`` are the House's units by area, ``worth`` the points of each type. Who cannot pay loses all.
    """

    pool: c.Chosen
    debt: int
    worth: dict[str, int]

    def value(self, units: list[tuple[AreaId, Unit]]) -> int:
        return sum(self.worth[unit_type(unit)] for _, unit in units)

    def problem(self, units: list[tuple[AreaId, Unit]]) -> str | None:
        """Why a set does not pay the debt: a code; None if it does."""
        if self.value(units) < min(self.debt, self.value(singles(self.pool))):
            return "worth-too-little"
        for index in range(len(units)):
            if self.value(units[:index] + units[index + 1 :]) >= self.debt:
                return "more-than-needed"
        return None

    def check(self, answer: c.DestroyUnits) -> None:
        if not is_part(answer.units, self.pool):
            raise Refusal("units-not-there", ("1E-WILD-6",), units=answer.units, available=self.pool)
        units = singles(answer.units)
        problem = self.problem(units)
        if problem:
            raise Refusal(problem, ("1E-WILD-6", "1E-WILD-8"), worth=self.value(units), required=self.debt)

    def _trimmed(self, units: list[tuple[AreaId, Unit]]) -> list[tuple[AreaId, Unit]]:
        """Without units that could be left out, the first ones first."""
        for unit in list(units):
            fewer = list(units)
            fewer.remove(unit)
            if self.value(fewer) >= self.debt:
                units = fewer
        return units

    def first(self, units: list[tuple[AreaId, Unit]]) -> list[tuple[AreaId, Unit]]:
        """As many units from the front as pay the debt, none of them needless."""
        taken: list[tuple[AreaId, Unit]] = []
        for unit in units:
            if self.value(taken) >= self.debt:
                break
            taken.append(unit)
        return self._trimmed(taken)

    def sample(self, template: c.DestroyUnits, pick: Pick) -> c.DestroyUnits:
        return replace(template, units=gathered(self.first(shuffle(singles(self.pool), pick))))

    def every(self, template: c.DestroyUnits) -> Iterator[c.DestroyUnits]:
        pool = singles(self.pool)
        seen: list[c.Chosen] = []

        def sets(start: int, taken: list[tuple[AreaId, Unit]]) -> Iterator[list[tuple[AreaId, Unit]]]:
            if self.problem(taken) is None:
                yield taken
            if self.value(taken) < self.debt:
                for index in range(start, len(pool)):
                    yield from sets(index + 1, [*taken, pool[index]])

        for units in sets(0, []):
            chosen = gathered(units)
            if chosen not in seen:
                seen.append(chosen)
                yield replace(template, units=chosen)


class WildlingAssault(Attack, frozen=True, tag=True):
    """Bids, then a card back for the highest bidder, or losses for all (1E-WILD-3 to 1E-WILD-10)."""

    struck: tuple[HouseId, ...] = ()

    def card(self, game: Game) -> Next:
        return self.at("reward" if self.winner == "nights-watch" else "losses")

    def reward(self, game: Game) -> Next:
        """The highest bidder may take a used House card back, if he has one (1E-WILD-5)."""
        pile = game.edition.in_order(game.state.discards[self.bidder])
        answer = c.MammothRetrieve(house=self.bidder, choice="none")
        options = Words(("none", *pile), ("1E-WILD-5",))
        return Wait(decision(answer, options, "1E-DP-7", "1E-WILD-5"), then="rewarded")

    def rewarded(self, game: Game, answer: c.MammothRetrieve) -> Next:
        if answer.choice != "none":
            game.emit(f.CardsTaken(house=answer.house, cards=(answer.choice,)), "1E-WILD-5")
        return self.at("threat")

    def losses(self, game: Game) -> Next:
        """Every House in turn order, the lowest bidder in his normal place (1E-WILD-7)."""
        for house in game.turns(self.struck):
            pool = game.state.forces_of(house)
            if not pool:
                return self.at("losses", struck=(*self.struck, house))
            debt = LOWEST_DEBT if house == self.bidder else DEBT
            worth = {unit.id: unit.muster_cost for unit in game.edition.unit_figures.values()}
            options = UnitsOfWorth(pool, debt, worth)
            order = sorted(singles(pool), key=lambda one: (UNITS.index(one[1]), one[0]))
            answer = c.DestroyUnits(house=house, units=gathered(options.first(order)))
            rules = ("1E-DP-8", "1E-WILD-6", "1E-WILD-7", "1E-WILD-8", "2E-DP-41")
            return Wait(decision(answer, options, *rules), then="lose")
        # Control follows when the card is over: a House lifted to victory by losses before its own has not won.
        return Do(Consequences(), then=self.at("threat"))

    def lose(self, game: Game, answer: c.DestroyUnits) -> Next:
        for area in sorted(answer.units):
            game.destroy(answer.house, area, answer.units[area], "1E-WILD-6", "1E-WILD-8", "1E-WILD-9")
        return self.at("losses", struck=(*self.struck, answer.house))

    def threat(self, game: Game) -> Next:
        """The token goes back (1E-WILD-10)."""
        after = threat_after(game, self.winner)
        if after != game.state.threat:
            game.emit(f.ThreatMoved(threat=after), "1E-WILD-10")
        game.emit(f.BidsDiscarded(houses=tuple(sorted(game.state.bids))), "1E-WILD-3")
        return Done()
