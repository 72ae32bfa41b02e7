"""Supply (section 7): the card, and reconciling armies with a limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import ClassVar

from msgspec.structs import replace

from domain.kernel.decision import Options, Pick
from domain.kernel.procedure import Do, Done, Next, Procedure, Wait
from domain.kernel.refusal import Refusal
from domain.thrones.language import facts as f
from domain.thrones.language.answers import Chosen, ReconcileSupply
from domain.thrones.language.pieces import AreaId, HouseId, Unit, Units, each, size
from domain.thrones.rules.armies import armies, complies, minimal_reductions
from domain.thrones.rules.choices import gathered, is_part, shuffle, singles, subsets
from domain.thrones.rules.game import Game, decision


class MinimalLosses(Options[ReconcileSupply], frozen=True, tag="minimal-losses"):
    """Every minimal set of units after whose destruction the House complies with its limit (2E-SUP-6)."""

    forces: Chosen
    limit: tuple[int, ...]

    def _sizes(self, lost: Mapping[AreaId, Units]) -> dict[AreaId, int]:
        return {area: size(units) - size(lost.get(area, {})) for area, units in self.forces.items()}

    def check(self, answer: ReconcileSupply) -> None:
        if not is_part(answer.units, self.forces):
            raise Refusal("units-not-there", ("2E-SUP-5",), units=answer.units, available=self.forces)
        sizes = self._sizes(answer.units)
        if not complies(sizes.values(), self.limit):
            raise Refusal("still-over-supply", ("2E-SUP-2", "2E-SUP-5"), limit=list(self.limit))
        for area in sorted(answer.units):
            if area not in sizes:
                raise Refusal("units-not-there", ("2E-SUP-5",), units=answer.units, available=self.forces)
            if complies({**sizes, area: sizes[area] + 1}.values(), self.limit):
                raise Refusal("more-than-needed", ("2E-SUP-6",), area=area, limit=list(self.limit))

    def sample(self, template: ReconcileSupply, pick: Pick) -> ReconcileSupply:
        lost: list[tuple[AreaId, Unit]] = []
        left = singles({area: units for area, units in self.forces.items() if size(units) > 1})
        while not complies(self._sizes(gathered(lost)).values(), self.limit):
            lost.append(left.pop(pick(len(left))))
        for unit in shuffle(lost, pick):
            fewer = list(lost)
            fewer.remove(unit)
            if complies(self._sizes(gathered(fewer)).values(), self.limit):
                lost = fewer
        return replace(template, units=gathered(lost))

    def every(self, template: ReconcileSupply) -> Iterator[ReconcileSupply]:
        areas = sorted(area for area, units in self.forces.items() if size(units) > 1)
        sizes = [size(self.forces[area]) for area in areas]
        for reduction in minimal_reductions(sizes, self.limit):
            choices = [list(subsets(self.forces[area], n)) for area, n in zip(areas, reduction, strict=True)]
            for taken in product(*choices):
                units = {area: units for area, units in zip(areas, taken, strict=True) if units}
                yield replace(template, units=units)


def is_over_limit(game: Game, house: HouseId) -> bool:
    """Whether the armies of a House break its supply limit (2E-SUP-2)."""
    return not complies(game.sizes(house).values(), game.supply_limit(house))


def set_supply(game: Game, house: HouseId, supply: int, *rules: str) -> None:
    """Move a supply marker, which stays between 0 and the end of its track."""
    supply = max(0, min(supply, game.edition.constants.supply_maximum))
    if supply != game.state.supply.get(house):
        game.emit(f.SupplySet(house=house, supply=supply), *rules)


def default_losses(game: Game, house: HouseId) -> Chosen:
    """2E-DP-40: from the largest army the first unit, again and again; then put back what was not needed."""
    limit = game.supply_limit(house)
    forces = game.state.forces_of(house)
    lost: list[tuple[AreaId, Unit]] = []
    left = {area: list(each(units)) for area, units in forces.items()}
    while not complies((len(units) for units in left.values()), limit):
        area = min(left, key=lambda one: (-len(left[one]), one))
        lost.append((area, left[area].pop(0)))
    for area, unit in list(lost):
        sizes = {one: len(units) for one, units in left.items()}
        if complies({**sizes, area: sizes[area] + 1}.values(), limit):
            left[area].append(unit)
            lost.remove((area, unit))
    return gathered(lost)


class Reconcile(Procedure, frozen=True, tag=True):
    """One House destroys units until it complies (2E-SUP-5, 2E-SUP-6)."""

    why: ClassVar[tuple[str, ...]] = ("2E-SUP-5",)

    house: HouseId

    def begin(self, game: Game) -> Next:
        if not is_over_limit(game, self.house):
            return Done()
        forces: dict[AreaId, Units] = game.state.forces_of(self.house)
        answer = ReconcileSupply(house=self.house, units=default_losses(game, self.house))
        options = MinimalLosses(forces, game.supply_limit(self.house))
        facts = {"armies": armies(size(units) for units in forces.values())}
        return Wait(decision(answer, options, "2E-DP-4", *self.why, "2E-DP-40", facts=facts), then="destroy")

    def destroy(self, game: Game, answer: ReconcileSupply) -> Next:
        for area in sorted(answer.units):
            game.destroy(self.house, area, answer.units[area], *self.why, "2E-SUP-6")
        return Done()


class Supply(Procedure, frozen=True, tag=True):
    """The Supply card: markers first, then armies in turn order (2E-SUP-4, 2E-SUP-5)."""

    turns: ClassVar[tuple[str, ...]] = ("reconcile",)

    done: tuple[HouseId, ...] = ()

    def begin(self, game: Game) -> Next:
        for house in game.houses:
            icons = {area: game.board[area].supply for area in game.controlled(house) if game.board[area].supply}
            game.emit(f.SupplyCounted(house=house, icons=icons), "2E-SUP-4", "2E-CTL-3")
            set_supply(game, house, sum(icons.values()), "2E-SUP-4", "2E-SUP-1", "2E-SUP-7")
        return self.at("reconcile")

    def reconcile(self, game: Game) -> Next:
        for house in game.turns(self.done):
            return Do(Reconcile(house=house), then=self.at("reconcile", done=(*self.done, house)))
        return Done()
