"""Consolidate Power: step 3 of the action phase (section 17)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from msgspec.structs import replace

from domain.kernel.decision import Options
from domain.kernel.procedure import Do, Done, Next, Procedure, Wait
from domain.kernel.refusal import Refusal
from domain.thrones.language import facts as f
from domain.thrones.language.answers import Consolidate
from domain.thrones.language.pieces import AreaId, HouseId
from domain.thrones.rules.action.turns import next_turn
from domain.thrones.rules.game import Game, decision
from domain.thrones.rules.westeros.income import collect, is_port_blocked
from domain.thrones.rules.westeros.mustering import MusterIn, can_muster, places_for_a_ship


class ConsolidateChoices(Options[Consolidate], frozen=True, tag="consolidates"):
    """Consolidate Power orders, and what each may be used for."""

    orders: dict[AreaId, tuple[str, ...]]

    def check(self, answer: Consolidate) -> None:
        if answer.area not in self.orders:
            raise Refusal("no-consolidate-order-there", ("2E-CP-1",), area=answer.area, areas=sorted(self.orders))
        if answer.use not in self.orders[answer.area]:
            raise Refusal("cannot-muster-there", ("2E-CP-5", "2E-CP-6", "2E-CP-8"), area=answer.area)

    def every(self, template: Consolidate) -> Iterator[Consolidate]:
        for area in sorted(self.orders):
            for use in self.orders[area]:
                yield replace(template, area=area, use=use)


def uses(game: Game, house: HouseId, area: AreaId) -> tuple[str, ...]:
    """What an order may be used for: Power, or with a star in a Castle or Stronghold a muster (2E-CP-5, 2E-CP-6)."""
    token = game.token(area)
    assert token is not None
    if token.star and game.board.has_castle(area) and can_muster(game, house, area):
        return ("power", "muster")
    return ("power",)


def ports_in_danger(game: Game, house: HouseId, areas: Iterable[AreaId]) -> bool:
    """Whether another House's order may still muster a Ship that would block one of these ports (2E-CP-10)."""
    seas = {game.board.sea_of(area) for area in areas if game.board.is_port(area)}
    if not seas:
        return False
    return any(
        "muster" in uses(game, one, area) and seas & places_for_a_ship(game, one, area)
        for one in game.houses
        if one != house
        for area in game.orders_of(one, "consolidate")
    )


class ConsolidatePower(Procedure, frozen=True, tag=True):
    """Houses take turns, in turn order, resolving one Consolidate Power order each (2E-CP-1)."""

    turns: ClassVar[tuple[str, ...]] = ("next_house",)

    last_position: int = 0

    def begin(self, game: Game) -> Next:
        game.emit(f.StepBegan(phase="action", step="consolidate"), "2E-ACT-1")
        return self.at("next_house")

    def next_house(self, game: Game) -> Next:
        house = next_turn(game, self.last_position, "consolidate")
        if house is None:
            return Done()
        orders = {area: uses(game, house, area) for area in game.orders_of(house, "consolidate")}
        answer = Consolidate(house=house, area=next(iter(orders)))
        may_muster = any("muster" in use for use in orders.values())
        # Where the sequence is idle nobody is asked (2E-CP-10).
        idle = not may_muster and not ports_in_danger(game, house, orders)
        rules = ("2E-DP-29", "2E-CP-1", "2E-CP-10", "2E-ACT-2")
        question = decision(
            answer, ConsolidateChoices(orders), *rules, asked_anyway=may_muster, forced=answer if idle else None
        )
        return Wait(question, then="resolve")

    def resolve(self, game: Game, answer: Consolidate) -> Next:
        house, area = answer.house, answer.area
        placed = game.state.orders[area]
        spent = f.OrderResolved(house=house, area=area, order=placed.token)
        rules = ["2E-CP-2", "2E-ORD-5"]
        rules += ["2E-CP-4"] if game.board.is_sea(area) else []
        if game.board.is_port(area):
            rules += ["2E-CP-8", "2E-PRT-9"]
            rules += ["2E-CP-7"] if is_port_blocked(game, house, area) else []
        game.emit(spent, *rules)
        after = self.at("next_house", last_position=game.state.position_of(house, "iron-throne"))
        if answer.use == "muster":
            return Do(MusterIn(house=house, area=area, instead_of_power=True), then=after)
        collect(game, house, area)
        return after
