"""The orders of a round, which a log does not tell: what its entries demand of each House, and the weakest answer.

An area that marched had a March order, one that was raided the order that was told, and so on. What nothing demands
gets an order without consequences. The search is exact for one House and bounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

import msgspec

from api.games.thrones.logs import records as r
from api.games.thrones.logs.names import order_of_token
from domain.thrones.language.pieces import AreaId, HouseId, OrderId
from domain.thrones.language.state import Side
from domain.thrones.rules.action.raids import reached
from domain.thrones.rules.combat.strength import base_value
from domain.thrones.rules.game import Game
from domain.thrones.rules.planning.tokens import legal_tokens, token_limit, tokens_on_land_only
from domain.thrones.rules.westeros.income import worth

Kind = str
"""An order token without the letter of its copy."""

MARCHES: tuple[Kind, ...] = ("march-0", "march-minus-1", "march-plus-1")
RAIDS: tuple[Kind, ...] = ("raid", "raid-star")
QUIET: tuple[Kind, ...] = ("support-0", "defense-plus-1", "support-plus-1", "defense-plus-2")
"""Orders that leave no trace in a log, the weakest first."""
ANY: tuple[Kind, ...] = (*QUIET, "consolidate", *MARCHES, "consolidate-star")
"""For areas whose order went unresolved, because they were lost after the raids."""

TAKES_ALONG = ("ser-loras-tyrell",)
"""Cards that take the March order along into the area that was won (2E-HCT-5)."""

NEARLY = 2
"""How many Power tokens may come back to a House between planning and what its orders bring."""

MOST_NODES = 8_000

Forced = Mapping[AreaId, tuple[Kind, ...]]


class Demands(msgspec.Struct, frozen=True):
    """What a round asks of the orders laid in it.

    ``fixed`` has what an area must have had, ``raids`` for each House the number of the entry and the areas its
    order may lie in, ``power`` what Consolidate Power orders brought (None where the log does not reach so far), and
    ``lost`` areas whose order was, or may have been, not resolved; those ``unresolved`` gave no raid, and those
    ``barred`` nobody could raid, those ``bare`` not even with a star. ``replaced`` has the order that the raven put in
    the place of another, ``apart`` are areas of Consolidate Power orders with an entry of their own, ``idle`` those of
    Raid orders that were given up although they had a target. ``carried`` tells of an area into which a card took a
    March order along where that order was laid, ``sailed`` are areas that units entered or left.
    """

    fixed: dict[AreaId, tuple[Kind, ...]]
    raids: dict[HouseId, tuple[tuple[int, tuple[AreaId, ...], tuple[Kind, ...]], ...]]
    power: dict[HouseId, int] | None
    lost: frozenset[AreaId]
    unresolved: frozenset[AreaId]
    barred: frozenset[AreaId] = frozenset()
    replaced: dict[AreaId, Kind] = {}
    apart: frozenset[AreaId] = frozenset()
    idle: tuple[AreaId, ...] = ()
    absent: tuple[tuple[int, HouseId, AreaId], ...] = ()
    carried: dict[AreaId, AreaId] = {}
    bare: frozenset[AreaId] = frozenset()
    sailed: frozenset[AreaId] = frozenset()


class Laid(msgspec.Struct, frozen=True):
    """Orders of one House, which areas raided for which entry, and how much was assumed."""

    orders: dict[AreaId, Kind]
    sources: dict[int, AreaId]
    cost: int


def demands(game: Game, entries: Sequence[r.Entry]) -> Demands:
    """What the entries of a round (from planning on) ask for, given the units at its planning."""
    state = game.state
    fixed: dict[AreaId, tuple[Kind, ...]] = {}
    raids: dict[HouseId, list[tuple[int, tuple[AreaId, ...], tuple[Kind, ...]]]] = {}
    power: dict[HouseId, int] | None = None
    lost: set[AreaId] = set()
    unresolved: set[AreaId] = set()
    barred: set[AreaId] = set()
    apart: set[AreaId] = set()
    bare: set[AreaId] = set()
    idle: list[AreaId] = []
    absent: list[tuple[int, HouseId, AreaId]] = []
    replaced: dict[AreaId, Kind] = {}
    fight: r.Attack | None = None
    cards: dict[HouseId, str] = {}
    carried: dict[AreaId, AreaId] = {}
    came_from: dict[AreaId, AreaId] = {}

    def fix(area: AreaId, kinds: tuple[Kind, ...], house: HouseId | None = None, number: int = 0) -> None:
        owner = state.house_in(area)
        if owner is None or (house is not None and owner != house):
            absent.append((number, house or "", area))
            return
        if area in replaced:
            return
        now = fixed.get(area)
        fixed[area] = kinds if now is None else tuple(kind for kind in now if kind in kinds) or now

    for entry in entries:
        record = entry.record
        match record:
            case r.RavenReplaced():
                fix(record.area, (record.old,), record.house, entry.number)
                replaced[record.area] = record.new
            case r.Raided():
                for area, order in record.targets:
                    fix(area, (order,), None, entry.number)
                    lost.add(area)
                    unresolved.add(area)
                star = any(order.startswith("defense") for _, order in record.targets) or len(record.targets) > 1
                near = raid_sources(game, record.house, [area for area, _ in record.targets])
                raids.setdefault(record.house, []).append((entry.number, near, ("raid-star",) if star else RAIDS))
            case r.RaidUnusable():
                fix(record.area, (record.order,), None, entry.number)
                unresolved.add(record.area)
                owner = state.house_in(record.area)
                if owner is not None:
                    within = {one for one in reached(game, record.area) if state.house_in(one) not in (None, owner)}
                    barred |= within
                    bare |= within if record.order == "raid-star" else set()
            case r.OrderGivenUp():
                fix(carried.pop(record.area, record.area), (record.order,), record.house, entry.number)
                if record.order in RAIDS:
                    unresolved.add(record.area)
                    idle.append(record.area)
            case r.Marched():
                fix(carried.pop(record.area, record.area), MARCHES, record.house, entry.number)
                fight, cards = record.attack, {}
            case r.CardChosen():
                cards[record.house] = record.card
            case r.SpecialMustered() | r.PowerTaken():
                fix(record.area, ("consolidate-star",), record.house, entry.number)
                apart.add(record.area)
            case r.SupportGiven() if fight is not None:
                area, kind = _supporter(game, record, fight)
                if area and area not in fixed:
                    fix(area, (kind,), record.house, entry.number)
            case r.BattleLost() if fight is not None:
                if record.house == fight.defender:
                    lost.add(fight.area)
                    if cards.get(fight.house) in TAKES_ALONG:
                        carried[fight.area] = came_from[fight.area] = came_from.get(fight.origin, fight.origin)
            case r.AbilityResolved():
                for effect in record.effects:
                    if isinstance(effect, r.OrderTakenOff):
                        fix(effect.area, (effect.order,), None, entry.number)
                        lost.add(effect.area)
            case r.PowerConsolidated():
                power = dict(record.power)
            case _:
                pass
    told = {house: tuple(one) for house, one in raids.items()}
    return Demands(
        fixed,
        told,
        power,
        frozenset(lost),
        frozenset(unresolved),
        frozenset(barred),
        replaced,
        frozenset(apart),
        tuple(idle),
        tuple(absent),
        came_from,
        frozenset(bare),
        frozenset(area for entry in entries for area in _travelled(entry.record)),
    )


def _travelled(record: r.Record) -> tuple[AreaId, ...]:
    """Areas that units enter or leave."""
    if isinstance(record, r.Marched):
        attacked = () if record.attack is None else (record.attack.area,)
        return (record.area, *(step.to for step in record.steps), *attacked)
    return (record.to,) if isinstance(record, r.BattleLost) and record.to else ()


def _supporter(game: Game, record: r.SupportGiven, fight: r.Attack) -> tuple[AreaId, Kind]:
    """The area that gave another House so much support, and by which order; empty where none can have."""
    board = game.board
    if fight.area not in board:
        return "", ""
    side: Side = "attacker" if record.to == fight.house else "defender"
    for bonus, kind in ((0, "support-0"), (1, "support-plus-1")):
        for area in game.state.areas_of(record.house):
            units = game.state.units_in(area)
            strength = sum(base_value(game, unit, fight.area, side)[0] * count for unit, count in units.items()) + bonus
            if board.are_adjacent(area, fight.area) and strength == record.strength:
                return area, kind
    return "", ""


def told_orders(record: r.Record) -> tuple[AreaId, ...]:
    """Areas whose order an entry tells, word for word."""
    match record:
        case r.Raided():
            return tuple(area for area, _ in record.targets)
        case r.RaidUnusable() | r.OrderGivenUp() | r.SpecialMustered() | r.PowerTaken() | r.RavenReplaced():
            return (record.area,)
        case r.AbilityResolved():
            return tuple(one.area for one in record.effects if isinstance(one, r.OrderTakenOff))
        case _:
            return ()


def raid_sources(game: Game, house: HouseId, targets: Iterable[AreaId]) -> tuple[AreaId, ...]:
    """Areas of a House from which all the targets can be raided."""
    wanted = set(targets)
    return tuple(area for area in game.state.areas_of(house) if wanted <= {*reached(game, area)})


def are_idle(game: Game, wanted: Demands, orders: Mapping[AreaId, Kind]) -> bool:
    """Whether each Raid order that a House gave up had something to raid; else the site would have taken it off."""
    for area in wanted.idle:
        house = game.state.house_in(area)
        near = [other for other in reached(game, area) if game.state.house_in(other) not in (None, house)]
        hidden = ("march",) if orders.get(area) == "raid-star" else ("march", "defense")
        if not any(other in orders and not orders[other].startswith(hidden) for other in near):
            return False
    return True


def lay(game: Game, house: HouseId, wanted: Demands, forced: Forced | None = None) -> Laid | None:
    """The orders of a House that assume least and meet every demand; None if there are none."""
    for tight in (True, False) if wanted.barred else (True,):
        found = _cheapest(game, house, wanted, forced or {}, tight=tight)
        if found is not None:
            return found
    told = None if wanted.power is None else wanted.power.get(house, 0)
    if told is not None and game.pool(house) <= told + NEARLY:
        # Who runs out of Power tokens gains less than is due (2E-LIM-2).
        return _cheapest(game, house, wanted, forced or {}, tight=False, is_short=True)
    return None


def _cheapest(
    game: Game, house: HouseId, wanted: Demands, forced: Forced, *, tight: bool, is_short: bool = False
) -> Laid | None:
    """The orders that assume least, whichever areas the raids came from."""
    best: Laid | None = None
    for sources in _sources(wanted.raids.get(house, ()), wanted):
        fixed = {**wanted.fixed, **{area: kinds for _, area, kinds in sources if kinds}}
        found = _Search(game, house, wanted, fixed, forced, tight=tight, is_short=is_short).best()
        if found is not None and (best is None or found[1] < best.cost):
            best = Laid(found[0], {number: area for number, area, _ in sources}, found[1])
            if best.cost == 0:
                break
    return best


def _sources(
    raids: Sequence[tuple[int, tuple[AreaId, ...], tuple[Kind, ...]]], wanted: Demands
) -> Iterator[tuple[tuple[int, AreaId, tuple[Kind, ...]], ...]]:
    """Every choice of areas that the raids of a House came from."""
    choices = []
    for number, near, kinds in raids:
        fitting: list[tuple[int, AreaId, tuple[Kind, ...]]] = []
        for area in near:
            if area in wanted.replaced:
                # The raven has laid the order that raids; the one before it says nothing.
                if wanted.replaced[area] in kinds:
                    fitting.append((number, area, ()))
                continue
            told = wanted.fixed.get(area)
            able = kinds if told is None else tuple(kind for kind in kinds if kind in told)
            if able and area not in wanted.unresolved:
                fitting.append((number, area, able))
        choices.append(fitting)
    for count, chosen in enumerate(product(*choices)):
        if count > 200:
            return
        if len({area for _, area, _ in chosen}) == len(chosen):
            yield chosen


class _Search:
    """Branch and bound over the areas of one House."""

    def __init__(
        self,
        game: Game,
        house: HouseId,
        wanted: Demands,
        fixed: Mapping[AreaId, tuple[Kind, ...]],
        forced: Forced,
        *,
        tight: bool,
        is_short: bool,
    ) -> None:
        self.tight = tight
        self.is_short = is_short
        self.told = {*fixed, *forced}
        self.areas = game.state.areas_of(house)
        tokens = legal_tokens(game)
        self.room: dict[Kind, int] = {}
        self.star: dict[Kind, bool] = {}
        for token, star in tokens.items():
            kind = order_of_token(token)
            self.room[kind] = self.room.get(kind, 0) + 1
            self.star[kind] = star
        self.stars = game.stars(house)
        for area, new in wanted.replaced.items():
            # The token that the raven lays must have been left over, and within the stars.
            if area in self.areas and new in self.room:
                self.room[new] = max(0, self.room[new] - 1)
                old = fixed.get(area, ("",))[0]
                self.stars -= int(self.star[new] and not self.star.get(old, False))
        self.must = 0 if game.readings.planning.may_leave_empty else min(len(self.areas), token_limit(game, house))
        self.power = None if wanted.power is None else wanted.power.get(house, 0)
        self.worth = {area: worth(game, house, area) for area in self.areas}
        land_only = {order_of_token(token) for token in tokens_on_land_only(game)}
        self.domains: dict[AreaId, list[tuple[Kind, int, int]]] = {}
        castle = game.board.has_castle
        for area in self.areas:
            self.domains[area] = [
                (kind, cost, self._brings(area, kind, castle(area), wanted))
                for kind, cost in self._kinds(area, fixed, forced, wanted)
                if kind in self.room and not (kind in land_only and not game.board.is_land(area))
            ]
            is_port = game.board.is_port(area) and area not in wanted.lost | wanted.apart
            if is_port and game.board.sea_of(area) in wanted.sailed:
                # An enemy may sail before the port, or away from it, until its order is resolved (2E-CP-7).
                self.domains[area] += [(kind, cost + 1, 1 - brings) for kind, cost, brings in self.domains[area]
                                       if kind.startswith("consolidate")]  # fmt: skip
        self.order = sorted(self.areas, key=lambda area: (len(self.domains[area]), str(self.domains[area]), area))
        # The least that the areas from one on must cost, for those that must have an order.
        self.rest = [0] * (len(self.order) + 1)
        for place in range(len(self.order) - 1, -1, -1):
            prices = [price for _, price, _ in self.domains[self.order[place]]]
            self.rest[place] = self.rest[place + 1] + min(prices, default=3)
        self.nodes = 0
        self.found: tuple[dict[AreaId, Kind], int] | None = None

    def _kinds(
        self, area: AreaId, fixed: Mapping[AreaId, tuple[Kind, ...]], forced: Forced, wanted: Demands
    ) -> list[tuple[Kind, int]]:
        told = fixed.get(area)
        if area in forced:
            kinds = forced[area] if told is None else tuple(kind for kind in forced[area] if kind in told)
            return [(kind, number) for number, kind in enumerate(kinds)]
        if told is not None:
            return [(kind, number) for number, kind in enumerate(told)]
        # What no Raid order could take off is neither support nor Consolidate Power.
        if area in wanted.barred and self.tight:
            left = () if wanted.power is not None and area not in wanted.lost else MARCHES
            kinds = left if area in wanted.bare else ("defense-plus-1", "defense-plus-2", *left)
            return [(kind, 1 + number * 2) for number, kind in enumerate(kinds)]
        if area in wanted.lost:
            return [(kind, 2 + number) for number, kind in enumerate(ANY)]
        quiet = (*QUIET, "consolidate", "consolidate-star")
        # Where the log does not reach the end of the round, anything may be left unresolved.
        left = () if wanted.power is not None else MARCHES
        return [(kind, 1 + number * 2) for number, kind in enumerate((*quiet, *left))]

    def _brings(self, area: AreaId, kind: Kind, castle: bool, wanted: Demands) -> int:
        kind = wanted.replaced.get(area, kind)
        if area in wanted.lost or area in wanted.apart or not kind.startswith("consolidate"):
            return 0
        # A special order in a Castle has an entry of its own, whatever it is used for.
        return 0 if kind == "consolidate-star" and castle else self.worth[area]

    def best(self) -> tuple[dict[AreaId, Kind], int] | None:
        self._place(0, {}, dict(self.room), self.stars, 0, 0, 0)
        return self.found

    def _place(
        self,
        at: int,
        orders: dict[AreaId, Kind],
        room: dict[Kind, int],
        stars: int,
        cost: int,
        brought: int,
        least: int,
    ) -> None:
        self.nodes += 1
        if self.nodes > MOST_NODES or (self.found is not None and cost + self.rest[at] >= self.found[1]):
            return
        if self.power is not None and brought > self.power and not self.is_short:
            return
        if at == len(self.order):
            if len(orders) >= self.must and (
                self.power is None or brought == self.power or (self.is_short and brought > self.power)
            ):
                self.found = (dict(sorted(orders.items())), cost)
            return
        area = self.order[at]
        domain = self.domains[area]
        # Areas that are alike in everything take their orders in one sequence only.
        first = least if at and domain == self.domains[self.order[at - 1]] else 0
        for number in range(first, len(domain)):
            kind, price, brings = domain[number]
            star = self.star[kind]
            if not room[kind] or (star and not stars):
                continue
            room[kind] -= 1
            orders[area] = kind
            self._place(at + 1, orders, room, stars - star, cost + price, brought + brings, number)
            del orders[area]
            room[kind] += 1
        if area not in self.told and len(orders) + len(self.order) - at - 1 >= self.must:
            self._place(at + 1, orders, room, stars, cost + 3, brought, first)


def as_tokens(orders: Mapping[AreaId, Kind], tokens: Iterable[OrderId]) -> dict[AreaId, OrderId]:
    """Kinds as tokens, copies in their order."""
    left = list(tokens)
    found: dict[AreaId, OrderId] = {}
    for area, kind in sorted(orders.items()):
        token = next(token for token in left if order_of_token(token) == kind)
        left.remove(token)
        found[area] = token
    return found
