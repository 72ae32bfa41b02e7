"""Raid orders: step 1 of the action phase (section 13.1)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import ClassVar

from msgspec.structs import replace

from domain.kernel.decision import Options
from domain.kernel.procedure import Done, Next, Procedure, Wait
from domain.kernel.refusal import Refusal
from domain.thrones.language import facts as f
from domain.thrones.language.answers import Raid
from domain.thrones.language.pieces import AreaId, HouseId
from domain.thrones.rules.action.turns import next_turn
from domain.thrones.rules.game import Game, decision

PLAIN_TARGETS = ("support", "raid", "consolidate")


class RaidChoices(Options[Raid], frozen=True, tag="raids"):
    """Raid orders and the legal targets of each; no target is always legal (2E-RAID-6)."""

    orders: dict[AreaId, tuple[AreaId, ...]]
    barred: dict[AreaId, dict[AreaId, tuple[str, ...]]] = {}

    def check(self, answer: Raid) -> None:
        if answer.area not in self.orders:
            raise Refusal("no-raid-order-there", ("2E-RAID-1",), area=answer.area, areas=sorted(self.orders))
        if answer.target is not None and answer.target not in self.orders[answer.area]:
            rules = self.barred.get(answer.area, {}).get(answer.target, ("2E-RAID-2", "2E-RAID-5"))
            raise Refusal("cannot-be-raided", rules, target=answer.target, targets=list(self.orders[answer.area]))
        if answer.second is not None and not self.takes_two(answer.area):
            raise Refusal("one-target-only", ("2E-RAID-1",), area=answer.area)

    def takes_two(self, area: AreaId) -> bool:
        """Whether the order of an area may hit two targets in one go."""
        return False

    def every(self, template: Raid) -> Iterator[Raid]:
        for area in sorted(self.orders):
            for target in (*self.orders[area], None):
                yield replace(template, area=area, target=target)


class DoubleRaidChoices(RaidChoices, frozen=True, tag="double-raids"):
    """As raids; the orders in ``double`` may take two targets in one go (1E-RAID-2)."""

    double: tuple[AreaId, ...] = ()

    def takes_two(self, area: AreaId) -> bool:
        return area in self.double

    def check(self, answer: Raid) -> None:
        super().check(answer)
        if answer.second is None:
            return
        if answer.target is None or answer.second == answer.target:
            raise Refusal("two-different-targets", ("1E-RAID-2",), target=answer.target, second=answer.second)
        super().check(replace(answer, target=answer.second, second=None))

    def every(self, template: Raid) -> Iterator[Raid]:
        for answer in super().every(replace(template, second=None)):
            yield answer
            if answer.area in self.double and answer.target is not None:
                for second in self.orders[answer.area]:
                    if second > answer.target:
                        yield replace(answer, second=second)


def reached(game: Game, area: AreaId) -> tuple[AreaId, ...]:
    """Areas a Raid order reaches (2E-RAID-5, 2E-PRT-8)."""
    board = game.board
    near = board.neighbours[area]
    if board.is_land(area):
        return tuple(other for other in near if board.is_land(other))
    if board.is_port(area):
        return (board.sea_of(area),)
    return near


def why_not(game: Game, area: AreaId, target: AreaId) -> tuple[str, ...]:
    """The rules that forbid raiding ``target`` from ``area``; none if it is legal."""
    reading = game.readings.raids
    raider, order = game.state.orders[area], game.state.orders.get(target)
    if order is None or order.house == raider.house:
        return ("2E-RAID-2",)
    if game.board.are_adjacent(area, target) and target not in reached(game, area):
        return (
            ("2E-RAID-5", "2E-PRT-8") if "port" in (game.board[area].kind, game.board[target].kind) else ("2E-RAID-5",)
        )
    if target not in reached(game, area):
        return ("2E-RAID-2", *reading.far, "2E-TRN-7", "2E-MAP-6")
    kind = game.edition.tokens[order.token].type
    if kind in PLAIN_TARGETS:
        return ()
    if kind == "defense" and reading.special_raids_defense and game.edition.tokens[raider.token].star:
        return ()
    return reading.beyond_raids


def targets(game: Game, area: AreaId) -> tuple[AreaId, ...]:
    """Legal targets of the Raid order in an area, ascending."""
    return tuple(sorted(other for other in reached(game, area) if not why_not(game, area, other)))


def is_idle(game: Game, house: HouseId, areas: Collection[AreaId]) -> bool:
    """Whether it is all one which of the House's Raid orders is spent first, none of which has a target (2E-DP-24).

    What is left may still be raided, so that it matters as soon as a Raid order of another House reaches one of them.
    """
    if len(areas) == 1:
        return True
    others = (other for one in game.houses if one != house for other in game.orders_of(one, "raid"))
    return not any(area in areas for other in others for area in reached(game, other))


class Raids(Procedure, frozen=True, tag=True):
    """Houses take turns, in turn order, resolving one Raid order each."""

    turns: ClassVar[tuple[str, ...]] = ("next_house",)

    last_position: int = 0

    def begin(self, game: Game) -> Next:
        game.emit(f.StepBegan(phase="action", step="raid"), "2E-ACT-1")
        return self.at("next_house")

    def next_house(self, game: Game) -> Next:
        house = next_turn(game, self.last_position, "raid")
        if house is None:
            return Done()
        orders = {area: targets(game, area) for area in game.orders_of(house, "raid")}
        answer = Raid(house=house, area=next(iter(orders)))
        barred = {
            area: {
                other: rules
                for other in sorted(game.state.orders)
                if other not in orders[area] and (rules := why_not(game, area, other))
            }
            for area in orders
        }
        # Without any legal target the first order goes unresolved, and nobody is asked, if that is all one (2E-DP-24).
        forced = answer if not any(orders.values()) and is_idle(game, house, orders) else None
        options = RaidChoices(orders, barred)
        if game.readings.raids.twice:
            double = tuple(area for area in orders if game.edition.tokens[game.state.orders[area].token].star)
            options = DoubleRaidChoices(orders, barred, double)
        question = decision(answer, options, "2E-DP-24", "2E-ACT-2", asked_anyway=forced is None, forced=forced)
        return Wait(question, then="resolve")

    def resolve(self, game: Game, answer: Raid) -> Next:
        house, area, target = answer.house, answer.area, answer.target
        raider, reading = game.state.orders[area], game.readings.raids
        why = ("2E-RAID-1",) if target else ("2E-RAID-6",) if targets(game, area) else ("2E-RAID-7", *reading.idle)
        special = reading.special if game.edition.tokens[raider.token].star else ()
        special += reading.twice if answer.second else ()
        game.emit(f.OrderResolved(house=house, area=area, order=raider.token), *why, *special, "2E-ORD-5")
        for raided in (target, answer.second):
            if raided:
                self._raid(game, house, area, raided)
        return self.at("next_house", last_position=game.state.position_of(house, "iron-throne"))

    def _raid(self, game: Game, house: HouseId, area: AreaId, target: AreaId) -> None:
        """One order is removed; a Consolidate Power order is pillaged (2E-RAID-8, 1E-RAID-5)."""
        raided, reading = game.state.orders.get(target), game.readings.raids
        if raided:
            token = game.edition.tokens[raided.token]
            rules = ["2E-RAID-1", "2E-RAID-2", "2E-RAID-5", "2E-RAID-10"]
            rules += ["2E-RAID-4"] if token.type == "defense" else ["2E-RAID-3"]
            rules += ["2E-RAID-9"] if token.type == "raid" else []
            rules += ["2E-PRT-8"] if "port" in (game.board[area].kind, game.board[target].kind) else []
            if token.type == "consolidate" and not game.pool(house):
                # No fact tells a gain of nothing.
                rules += reading.pool_empty
            game.emit(f.OrderRemoved(house=raided.house, area=target, order=raided.token, by=house), *rules)
            # Pillage pays the raider even when the victim has nothing left to lose.
            if token.type == "consolidate":
                game.gain_power(house, 1, reading.pillage)
                if reading.victim_pays:
                    game.lose_power(raided.house, 1, reading.pillage)
