"""March orders: step 2 of the action phase (section 13.2), neutral forces included (section 16)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from msgspec.structs import replace

from domain.kernel.decision import Options
from domain.kernel.procedure import Do, Done, Next, Procedure, Wait
from domain.kernel.refusal import Refusal
from domain.thrones.language import facts as f
from domain.thrones.language.answers import MarchOrder, NeutralSupport, NeutralSupportRequest
from domain.thrones.language.pieces import LAND_UNITS, AreaId, HouseId, is_routed, size
from domain.thrones.language.state import March
from domain.thrones.rules.action.march_options import Destination, Marches, Origin
from domain.thrones.rules.action.reach import reach
from domain.thrones.rules.action.turns import next_turn
from domain.thrones.rules.choices import YesNo
from domain.thrones.rules.combat.strength import base_value, footmen_do_not_support, support_lines, total, unit_lines
from domain.thrones.rules.combat.support import eligible_orders
from domain.thrones.rules.control import Consequences
from domain.thrones.rules.game import Game, decision


class Requests(Options[NeutralSupportRequest], frozen=True, tag="requests"):
    """March orders and neutral forces that support can be asked for (2E-NEU-6); neither means do not ask."""

    targets: dict[AreaId, tuple[AreaId, ...]]

    def check(self, answer: NeutralSupportRequest) -> None:
        if answer.area is None and answer.target is None:
            return
        if answer.area is None or answer.target not in self.targets.get(answer.area, ()):
            raise Refusal("cannot-ask-for-that", ("2E-NEU-6",), targets=self.targets)

    def every(self, template: NeutralSupportRequest) -> Iterator[NeutralSupportRequest]:
        yield replace(template, area=None, target=None)
        for area in sorted(self.targets):
            for target in self.targets[area]:
                yield replace(template, area=area, target=target)


def contested_by(game: Game, house: HouseId, area: AreaId) -> HouseId | None:
    """The House that an entry would fight: its units are there, or its garrison (2E-MAR-5, 2E-GAR-2)."""
    holder = game.state.house_in(area)
    if holder is not None:
        return holder if holder != house else None
    home = game.shield(area)
    return home if area in game.state.garrisons and home != house else None


def neutral_strength(game: Game, area: AreaId) -> int | None:
    """The value of a neutral force that can be beaten."""
    strength = game.state.neutral.get(area)
    return strength if isinstance(strength, int) else None


def why_closed(game: Game, house: HouseId, origin: AreaId, area: AreaId) -> tuple[str, ...]:
    """The rules that keep units of ``house`` from setting out from ``origin`` for ``area``; none if they may."""
    if game.is_closed(area):
        return ("2E-FEW-2", "2E-NEU-9")
    if area in reach(game, house, origin):
        if game.board.is_port(area) and game.controller(area) != house:
            return ("2E-PRT-6", "2E-PRT-2")
        return ()
    if game.board.is_land(origin) and not game.board.is_land(area):
        return ("2E-MAR-3",)
    if game.board.is_land(area) and not game.board.is_land(origin):
        return ("2E-MAR-3", "2E-MAR-18")
    if game.board.is_land(origin):
        return ("2E-MAR-2", "2E-TRN-1", "2E-TRN-4", "2E-TRN-6", "2E-MAP-2")
    return ("2E-MAR-2", "2E-MAR-17", "2E-PRT-5")


def destination(game: Game, house: HouseId, origin: AreaId, area: AreaId, granted: tuple[AreaId, ...]) -> Destination:
    """What entering an area would mean for a march from ``origin``."""
    if contested_by(game, house, area) is not None:
        return Destination(contested="combat")
    required = neutral_strength(game, area)
    if required is None:
        return Destination(room=game.room(area))
    if not game.readings.marches.weak_attack_is_refused:
        # Support is settled after the declaration there, so that no declaration is too weak (1E-NEUT-6).
        return Destination(contested="neutral")
    token = game.token(origin)
    assert token is not None
    eligible = eligible_orders(game, area)
    own = eligible.get(house, ())
    fighting: tuple[str, ...] = LAND_UNITS if game.board.is_land(area) else ("ship",)
    kinds = [unit for unit in fighting if unit in game.edition.unit_figures]
    support = {
        one: sum(line.amount for line in support_lines(game, None, one, area, "attacker")) for one in (*own, *granted)
    }
    return Destination(
        contested="neutral",
        required=required,
        strength={unit: base_value(game, unit, area, "attacker")[0] for unit in kinds},
        bonus=token.modifier,
        support=support,
        own=own,
        idle=("footman",) if footmen_do_not_support(game) else (),
    )


def why_no_power(game: Game, house: HouseId, area: AreaId) -> tuple[str, ...]:
    """The rules that forbid leaving a Power token in an area all units leave (2E-CTL-4).

    On one's own home area not every book forbids it (1E-CTRL-3).
    """
    if not game.board.is_land(area) or game.state.power[house] < 1:
        return ("2E-CTL-4",)
    if area in game.state.power_tokens:
        return ("2E-CTL-4", "2E-CTL-6")
    at_home = not game.readings.marches.power_left_at_home and game.shield(area) == house
    return ("2E-CTL-4", "2E-CTL-10") if at_home else ()


def march_options(
    game: Game, house: HouseId, only: AreaId = "", target: AreaId = "", granted: tuple[AreaId, ...] = ()
) -> Marches:
    """Every legal declaration of the House's March orders, or of one that support was asked for."""
    origins: dict[AreaId, Origin] = {}
    for area in game.orders_of(house, "march"):
        if only and area != only:
            continue
        there = game.state.units_in(area)
        movable = {unit: count for unit, count in there.items() if not is_routed(unit)}
        to: dict[AreaId, Destination] = {}
        barred: dict[AreaId, tuple[str, ...]] = {}
        for other in sorted({*reach(game, house, area), *game.board.neighbours[area], *_over_sea(game, area)}):
            why = why_closed(game, house, area, other)
            if why:
                barred[other] = why
            else:
                to[other] = destination(game, house, area, other, granted if other == target else ())
        no_power = why_no_power(game, house, area)
        by_land = ("2E-TRN-1", "2E-TRN-4") if game.board.is_land(area) else ("2E-PRT-5",)
        far = ("2E-MAR-2", "2E-MAP-2", *by_land)
        origins[area] = Origin(movable, size(there) - size(movable), to, barred, far, no_power)
    return Marches(origins, game.sizes(house), game.supply_limit(house))


def _over_sea(game: Game, area: AreaId) -> tuple[AreaId, ...]:
    """Land areas on the other side of one sea area, which transport would reach."""
    board = game.board
    seas = [sea for sea in board.neighbours[area] if board.is_land(area) and board.is_sea(sea)]
    return tuple(other for sea in seas for other in board.neighbours[sea] if board.is_land(other) and other != area)


def requests(game: Game, house: HouseId) -> dict[AreaId, tuple[AreaId, ...]]:
    """March orders and the neutral forces they reach against which another House could lend support."""
    found: dict[AreaId, tuple[AreaId, ...]] = {}
    for area in game.orders_of(house, "march"):
        movable = any(not is_routed(unit) for unit in game.state.units_in(area))
        targets = tuple(
            other
            for other in reach(game, house, area)
            if movable
            and neutral_strength(game, other) is not None
            and any(one != house for one in eligible_orders(game, other))
        )
        if targets:
            found[area] = targets
    return found


def _left_alone(game: Game, answer: MarchOrder) -> tuple[str, ...]:
    """The rule that takes control of a land area which all units leave without a Power token (2E-MAR-10)."""
    moving = sum(size(move.units) for move in answer.moves)
    stay = answer.leave_power or answer.area in game.state.power_tokens or game.shield(answer.area) == answer.house
    if stay or not game.board.is_land(answer.area) or moving < size(game.state.units_in(answer.area)):
        return ()
    return ("2E-MAR-10",)


def lines_against_neutral(game: Game, march: March, granted: tuple[AreaId, ...]) -> list[f.Line]:
    """What counts against a neutral force: units, order, own Support orders and those granted (2E-NEU-3, 2E-NEU-5)."""
    token = game.edition.tokens[march.order]
    lines = unit_lines(game, None, "units", march.units, march.house, march.origin, march.to, "attacker")
    lines.append(f.Line("order", token.id, token.modifier, ("2E-NEU-3", "2E-MAR-13"), march.origin))
    own = eligible_orders(game, march.to).get(march.house, ())
    for area in sorted({*own, *granted}):
        lines += support_lines(game, None, area, march.to, "attacker")
    return lines


class MarchOrders(Procedure, frozen=True, tag=True):
    """Houses take turns, in turn order, resolving one March order each.

    ``last_position`` is that of the House whose turn it is; ``area`` and ``target`` name a march that support
    was asked for, ``granted`` the orders that will support it (2E-NEU-6).
    """

    turns: ClassVar[tuple[str, ...]] = ("next_house",)

    last_position: int = 0
    house: HouseId = ""
    area: AreaId = ""
    target: AreaId = ""
    asked: tuple[HouseId, ...] = ()
    granted: tuple[AreaId, ...] = ()

    def begin(self, game: Game) -> Next:
        game.emit(f.StepBegan(phase="action", step="march"), "2E-ACT-1", *game.readings.raids.over)
        return self.at("next_house")

    def next_house(self, game: Game) -> Next:
        house = next_turn(game, self.last_position, "march")
        if house is None:
            return Done()
        return self.at(
            "request",
            house=house,
            last_position=game.state.position_of(house, "iron-throne"),
            area="",
            target="",
            asked=(),
            granted=(),
        )

    def request(self, game: Game) -> Next:
        """2E-DP-26: name one March order and one neutral force, and ask the other Houses for support."""
        targets = requests(game, self.house)
        if not targets:
            return self.at("declare")
        answer = NeutralSupportRequest(house=self.house)
        question = decision(answer, Requests(targets), "2E-DP-26", "2E-NEU-6", asked_anyway=True)
        return Wait(question, then="requested")

    def requested(self, game: Game, answer: NeutralSupportRequest) -> Next:
        if answer.area is None or answer.target is None:
            return self.at("declare")
        asked = f.NeutralSupportAsked(house=self.house, area=answer.area, target=answer.target)
        game.emit(asked, "2E-NEU-6")
        return self.at("grant", area=answer.area, target=answer.target)

    def grant(self, game: Game) -> Next:
        """2E-DP-27: in turn order, per order, binding for this March order."""
        eligible = eligible_orders(game, self.target)
        for house in game.turns((*self.asked, self.house), among=eligible):
            answer = NeutralSupport(house=house, target=self.target, orders=dict.fromkeys(eligible[house], False))
            at_once = game.readings.combat.support_for_all_orders
            options = YesNo(eligible[house], at_once, ("2E-NEU-5", "2E-NEU-6"))
            rules = ("2E-DP-27", "2E-NEU-5", "2E-NEU-6")
            return Wait(decision(answer, options, *rules, asked_anyway=True), then="answered")
        return self.at("declare")

    def answered(self, game: Game, answer: NeutralSupport) -> Next:
        given = f.NeutralSupportAnswered(house=answer.house, orders=answer.orders)
        game.emit(given, "2E-NEU-5", "2E-NEU-6")
        granted = tuple(area for area, yes in sorted(answer.orders.items()) if yes)
        return self.at("grant", asked=(*self.asked, answer.house), granted=(*self.granted, *granted))

    def declare(self, game: Game) -> Next:
        """2E-DP-25: one March order with all its moves."""
        options = march_options(game, self.house, self.area, self.target, self.granted)
        if not options.origins:
            # A correction has taken the order away.
            return self.at("next_house")
        answer = MarchOrder(house=self.house, area=next(iter(options.origins)))
        rules: tuple[str, ...] = ("2E-DP-25", "2E-MAR-1", "2E-MAR-11", "2E-ACT-2", "2E-ACT-4")
        rules += game.readings.marches.power_left_at_home
        question = decision(answer, options, *rules, asked_anyway=True)
        return Wait(question, then="depart")

    def depart(self, game: Game, answer: MarchOrder) -> Next:
        """2E-MAR-9 (1) and (2): moves without a fight, departure for the fight, the Power token."""
        house, origin = answer.house, answer.area
        options = march_options(game, house, origin, self.target, self.granted)
        there = options.origins[origin].to
        for move in answer.moves:
            if not there[move.to].contested:
                self._enter(game, house, origin, move.to, move.units, *_left_alone(game, answer))
        for move in answer.moves:
            if there[move.to].contested:
                order = game.state.orders[origin].token
                gone = f.UnitsDeparted(house=house, area=origin, to=move.to, units=move.units, order=order)
                rules = ["2E-MAR-9", "2E-MAR-5", "2E-MAR-7", *self._way(game, origin, move.to)]
                rules += ["2E-MAR-17"] if game.board.is_sea(move.to) else []
                rules += ["2E-TRN-5"] if "2E-TRN-1" in rules else []
                game.emit(gone, *rules, *_left_alone(game, answer))
        if answer.leave_power:
            game.emit(f.PowerTokenPlaced(house=house, area=origin), "2E-MAR-8", "2E-CTL-4", "2E-GEN-7")
        return Do(Consequences(), then=self.at("fight", area=origin))

    def _way(self, game: Game, origin: AreaId, to: AreaId) -> tuple[str, ...]:
        """The rules of ship transport where units are carried."""
        carried = game.board.is_land(to) and not game.board.are_adjacent(origin, to)
        return ("2E-TRN-1", "2E-TRN-2", "2E-TRN-3", "2E-MAP-6") if carried else ()

    def _enter(self, game: Game, house: HouseId, origin: AreaId, to: AreaId, units: dict[str, int], *left: str) -> None:
        rules = ["2E-MAR-9", "2E-MAR-2", *self._way(game, origin, to), *left]
        rules += ["2E-PRT-5"] if "port" in (game.board[origin].kind, game.board[to].kind) else []
        rules += ["2E-MAR-16"] if game.board.is_sea(to) and to not in game.state.units else []
        rules += ["2E-MAR-12"] if game.state.order_of(house, to) else []
        rules += ["2E-MAR-15"] if game.state.power_tokens.get(to) == house else []
        game.emit(f.UnitsMoved(house=house, area=origin, to=to, units=units), *rules)
        owner = game.state.power_tokens.get(to)
        if owner and owner != house:
            removed = f.PowerTokenRemoved(house=owner, area=to)
            game.emit(removed, "2E-CTL-8", "2E-CTL-7", "2E-MAR-6")

    def fight(self, game: Game) -> Next:
        """2E-MAR-9 (4): the contested move."""
        march = game.state.march
        if march is None:
            return self.at("finish")
        if neutral_strength(game, march.to) is not None:
            return self.at("beat_neutral_force")
        defender = contested_by(game, march.house, march.to)
        assert defender is not None
        return Do(
            game.edition.chapters.combat(area=march.to, defender=defender),
            then=self.at("next_house", house=""),
        )

    def beat_neutral_force(self, game: Game) -> Next:
        """The strength was tested with the declaration; the force leaves the game (2E-NEU-3 to 2E-NEU-7)."""
        march = game.state.march
        assert march is not None
        granted = self.granted if self.target == march.to else ()
        lines = lines_against_neutral(game, march, granted)
        counted = f.StrengthCounted(
            stage="neutral", house=march.house, area=march.to, lines=tuple(lines), total=total(lines)
        )
        tides = ("2E-TOB-11",) if game.readings.combat.tides else ()
        game.emit(counted, "2E-NEU-2", "2E-NEU-3", "2E-NEU-4", "2E-NEU-5", "2E-NEU-6", "2E-NEU-8", *tides)
        game.emit(f.NeutralForceRemoved(area=march.to), "2E-NEU-7")
        game.emit(f.UnitsArrived(house=march.house, to=march.to, units=march.units), "2E-NEU-7")
        return Do(Consequences(), then=self.at("finish"))

    def finish(self, game: Game) -> Next:
        """2E-MAR-9 (5): the March order is removed."""
        placed = game.state.orders.get(self.area)
        if placed is not None:
            spent = f.OrderResolved(house=placed.house, area=self.area, order=placed.token)
            game.emit(spent, "2E-MAR-9", "2E-MAR-14", "2E-ORD-5")
        return self.at("next_house", house="", area="")
