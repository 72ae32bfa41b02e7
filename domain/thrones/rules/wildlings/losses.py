"""Units that wildling cards destroy or degrade (2E-WLD-13): what may be chosen, and what the cards share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from domain.kernel.decision import Options, Pick
from domain.kernel.procedure import Next, Wait
from domain.kernel.refusal import Refusal
from domain.thrones.language import answers as c
from domain.thrones.language.answers import Chosen
from domain.thrones.language.pieces import UNITS, AreaId, HouseId, Unit, Units, counted, each, minus, plus
from domain.thrones.rules.choices import chosen_subsets, gathered, is_part, shuffle, singles, subsets, total
from domain.thrones.rules.game import Game, decision
from domain.thrones.rules.wildlings.attack import WildlingCardProcedure


class UnitsAnywhere(Options[Any], frozen=True, tag="units-anywhere"):
    """From ``least`` to ``most`` units out of several areas, in the field ``units``."""

    pool: Chosen
    least: int
    most: int
    rules: tuple[str, ...] = ()

    def check(self, answer: Any) -> None:
        if not is_part(answer.units, self.pool):
            raise Refusal("units-not-there", self.rules, units=answer.units, available=self.pool)
        if not self.least <= total(answer.units) <= self.most:
            raise Refusal(
                "wrong-number-of-units", self.rules, chosen=total(answer.units), least=self.least, most=self.most
            )

    def sample(self, template: Any, pick: Pick) -> Any:
        count = self.least + pick(self.most - self.least + 1)
        return replace(template, units=gathered(shuffle(singles(self.pool), pick)[:count]))

    def every(self, template: Any) -> Iterator[Any]:
        for count in range(self.least, self.most + 1):
            for units in chosen_subsets(self.pool, count):
                yield replace(template, units=units)


class UnitsInOneArea(Options[Any], frozen=True, tag="units-in-one-area"):
    """Exactly ``count`` units of one of the areas, in the field ``units``."""

    pool: Chosen
    count: int
    rules: tuple[str, ...] = ()

    def check(self, answer: Any) -> None:
        if len(answer.units) != 1 or not is_part(answer.units, self.pool):
            raise Refusal("units-not-there", self.rules, units=answer.units, available=self.pool)
        if total(answer.units) != self.count:
            raise Refusal("wrong-number-of-units", self.rules, chosen=total(answer.units), required=self.count)

    def sample(self, template: Any, pick: Pick) -> Any:
        area = sorted(self.pool)[pick(len(self.pool))]
        units = counted(shuffle(list(each(self.pool[area])), pick)[: self.count])
        return replace(template, units={area: units})

    def every(self, template: Any) -> Iterator[Any]:
        for area in sorted(self.pool):
            for units in subsets(self.pool[area], self.count):
                yield replace(template, units={area: units})


class Degrades(Options[c.CrowKillersDegrade], frozen=True, tag="degrades"):
    """``count`` Knights become Footmen as far as ``footmen`` in reserve last; the rest is destroyed (2E-WLC-3)."""

    knights: Chosen
    count: int
    footmen: int

    @property
    def replaced(self) -> int:
        return min(self.count, self.footmen)

    def check(self, answer: c.CrowKillersDegrade) -> None:
        if not (is_part(answer.replaced, self.knights) and is_part(answer.destroyed, self.knights)):
            raise Refusal("units-not-there", ("2E-WLC-3",), available=self.knights)
        both = {
            area: plus(answer.replaced.get(area, {}), answer.destroyed.get(area, {}))
            for area in {*answer.replaced, *answer.destroyed}
        }
        if not is_part(both, self.knights):
            raise Refusal("units-not-there", ("2E-WLC-3",), available=self.knights)
        if total(both) != self.count or total(answer.replaced) != self.replaced:
            raise Refusal(
                "wrong-number-of-units",
                ("2E-WLC-3", "2E-LIM-3"),
                replace=self.replaced,
                destroy=self.count - self.replaced,
            )

    def sample(self, template: c.CrowKillersDegrade, pick: Pick) -> c.CrowKillersDegrade:
        taken = shuffle(singles(self.knights), pick)[: self.count]
        return replace(template, replaced=gathered(taken[: self.replaced]), destroyed=gathered(taken[self.replaced :]))

    def every(self, template: c.CrowKillersDegrade) -> Iterator[c.CrowKillersDegrade]:
        for changed in chosen_subsets(self.knights, self.replaced):
            left = {area: minus(units, changed.get(area, {})) for area, units in self.knights.items()}
            for destroyed in chosen_subsets(left, self.count - self.replaced):
                yield replace(template, replaced=changed, destroyed=destroyed)


def in_default_order(pool: dict[AreaId, Units]) -> list[tuple[AreaId, Unit]]:
    """Single units by canonical type order, then by area (2E-DP-41)."""
    return sorted(singles(pool), key=lambda one: (UNITS.index(one[1]), one[0]))


def lose_units(game: Game, house: HouseId, units: c.Chosen, *rules: str) -> None:
    for area in sorted(units):
        game.destroy(house, area, units[area], *rules, "2E-WLD-13", "2E-WLD-12")


class DestroysUnits(WildlingCardProcedure, frozen=True):
    """Shared by the cards that tell a House to destroy units anywhere (2E-DP-12)."""

    def units_to_destroy(self, game: Game) -> int:
        raise NotImplementedError  # every such card says how many

    def destroy(self, game: Game) -> Next:
        house = self.acting(game)
        pool = game.state.forces_of(house)
        number = min(self.units_to_destroy(game), total(pool))
        answer = c.DestroyUnits(house=house, units=gathered(in_default_order(pool)[:number]))
        rules = ("2E-DP-12", self.rule, "2E-WLD-13", "2E-GEN-18", "2E-DP-41")
        options = UnitsAnywhere(pool, number, number, (self.rule, "2E-WLD-13"))
        return Wait(decision(answer, options, *rules), then="destroyed")

    def destroyed(self, game: Game, answer: c.DestroyUnits) -> Next:
        lose_units(game, answer.house, answer.units, self.rule)
        return self.after(answer.house)
