"""Supply (section 7): the card, and reconciling armies with a limit."""

from __future__ import annotations

from typing import ClassVar

from domain.kernel.procedure import Do, Done, Next, Procedure, Wait
from domain.thrones.language import facts as f
from domain.thrones.language.answers import Chosen, ReconcileSupply
from domain.thrones.language.pieces import AreaId, HouseId, Unit, Units, each, size
from domain.thrones.rules.armies import armies, complies
from domain.thrones.rules.game import Game, decision
from domain.thrones.rules.options import MinimalLosses, gathered


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
