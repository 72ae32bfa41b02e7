"""Legality written a second time, from the words of the specification alone.

Nothing here calls the engine's rules: only the position, the table of areas and their borders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, product
from typing import Any

from domain.thrones.language import answers as c
from domain.thrones.language.state import State
from tests.domain.thrones.properties import AREAS, DATA, controller, respects_supply

NEIGHBOURS: dict[str, set[str]] = {area: set() for area in AREAS}
for one, other in DATA["links"]:
    NEIGHBOURS[one].add(other)
    NEIGHBOURS[other].add(one)
TOKENS: dict[str, dict[str, Any]] = {token["id"]: token for token in DATA["order_tokens"]}
STARS = {6: (3, 3, 2, 1, 0, 0), 5: (3, 3, 2, 1, 0, 0), 4: (3, 2, 1, 0), 3: (3, 2, 1, 0)}
LIMITS = {"footman": 10, "knight": 5, "ship": 6, "siege-engine": 2}
COSTS = {"footman": 1, "ship": 1, "knight": 2, "siege-engine": 2}


def kind(area: str) -> str:
    return str(AREAS[area]["kind"])


def singles(units: Mapping[str, int]) -> list[str]:
    return [unit for unit in sorted(units) for _ in range(units[unit])]


def choices(units: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Every part of some units, nothing and everything included."""
    names = sorted(units)
    for counts in product(*(range(units[name] + 1) for name in names)):
        yield {name: count for name, count in zip(names, counts, strict=True) if count}


def choices_by_area(forces: Mapping[str, Mapping[str, int]]) -> Iterator[dict[str, dict[str, int]]]:
    """Every part of the units of several areas."""
    areas = sorted(forces)
    for parts in product(*(list(choices(forces[area])) for area in areas)):
        yield {area: part for area, part in zip(areas, parts, strict=True) if part}


def sizes(state: State, house: str) -> Counter[str]:
    found = Counter({area: sum(f.units.values()) for area, f in state.units.items() if f.house == house})
    if state.march and state.march.house == house:
        found[state.march.to] += sum(state.march.units.values())
    return found


def feeds(state: State, house: str, armies: Mapping[str, int]) -> bool:
    return respects_supply(list(armies.values()), state.supply[house])


def reserve(state: State, house: str) -> dict[str, int]:
    left = dict(LIMITS)
    forces = [force.units for force in state.units.values() if force.house == house]
    if state.march and state.march.house == house:
        forces.append(state.march.units)
    for units in forces:
        for unit, count in units.items():
            left[unit.removeprefix("routed-")] -= count
    return left


def impassable(state: State, area: str) -> bool:
    """2E-FEW-2."""
    land = AREAS[area]["land"] if kind(area) == "port" else area
    return state.neutral.get(land) == "impassable"


def shipped(state: State, house: str, one: str, other: str) -> bool:
    """2E-TRN-1: a chain of sea areas with Ships of the House between two land areas."""
    seen: set[str] = set()
    edge = [area for area in NEIGHBOURS[one] if kind(area) == "sea"]
    while edge:
        sea = edge.pop()
        if sea in seen or sea not in state.units or state.units[sea].house != house:
            continue
        seen.add(sea)
        if other in NEIGHBOURS[sea]:
            return True
        edge += [area for area in NEIGHBOURS[sea] if kind(area) == "sea"]
    return False


def can_go(state: State, house: str, origin: str, to: str) -> bool:
    """2E-MAR-2, 2E-MAR-3, 2E-PRT-5, 2E-PRT-6, 2E-FEW-2: by kind and border alone."""
    if to == origin or impassable(state, to):
        return False
    if kind(origin) == "land":
        return kind(to) == "land" and (to in NEIGHBOURS[origin] or shipped(state, house, origin, to))
    if to not in NEIGHBOURS[origin] or kind(to) == "land":
        return False
    return kind(to) != "port" or controller(state, to) == house


def is_contested(state: State, house: str, area: str) -> bool:
    """2E-MAR-5."""
    if area in state.units:
        return state.units[area].house != house
    if area in state.neutral:
        return True
    home = AREAS[area].get("home")
    return area in state.garrisons and home in state.charter.houses and home != house


def strength(unit: str, area: str) -> int:
    """2E-CBT-15 to 2E-CBT-17 for an attacker."""
    if unit.startswith("routed-"):
        return 0
    if unit == "siege-engine":
        return 4 if AREAS[area]["castle"] else 0
    return {"footman": 1, "knight": 2, "ship": 1}[unit]


def supports(state: State, area: str) -> dict[str, str]:
    """Support orders that may support in an area, with their Houses (2E-CBT-4 to 2E-CBT-7)."""
    from_where = ("land", "sea") if kind(area) == "land" else ("sea", "port")
    return {
        near: state.orders[near].house
        for near in sorted(NEIGHBOURS[area])
        if near in state.orders and TOKENS[state.orders[near].token]["type"] == "support" and kind(near) in from_where
    }


def may_march(state: State, answer: c.MarchOrder, granted: Iterable[str] = ()) -> bool:
    """2E-DP-25."""
    house, origin = answer.house, answer.area
    placed = state.orders.get(origin)
    if placed is None or placed.house != house or TOKENS[placed.token]["type"] != "march":
        return False
    left, after = Counter(state.units[origin].units), sizes(state, house)
    contested, seen = [], set()
    for move in answer.moves:
        if move.to not in AREAS or move.to in seen or not move.units:
            return False
        seen.add(move.to)
        if not can_go(state, house, origin, move.to):
            return False
        for unit, count in move.units.items():
            if count < 1 or unit.startswith("routed-") or left[unit] < count:
                return False
            left[unit] -= count
        after[origin] -= sum(move.units.values())
        after[move.to] += sum(move.units.values())
        if is_contested(state, house, move.to):
            contested.append(move)
        if kind(move.to) == "port" and after[move.to] > 3:
            return False
    if len(contested) > 1:
        return False
    if answer.moves and not feeds(state, house, after):
        return False
    for move in contested:
        if move.to in state.neutral and not _overcomes(state, answer, move, granted):
            return False
    return not answer.leave_power or _may_leave_power(state, house, origin, +left)


def _overcomes(state: State, answer: c.MarchOrder, move: c.Move, granted: Iterable[str]) -> bool:
    """2E-NEU-2 to 2E-NEU-6."""
    total = sum(strength(unit, move.to) * count for unit, count in move.units.items())
    total += TOKENS[state.orders[answer.area].token]["modifier"]
    for area, house in supports(state, move.to).items():
        if house != answer.house and area not in granted:
            continue
        there = Counter(state.units[area].units)
        for other in answer.moves:
            if other.to == area and house == answer.house:
                there.update(other.units)
        total += sum(strength(unit, move.to) * count for unit, count in there.items())
        total += TOKENS[state.orders[area].token]["modifier"]
    return total >= int(state.neutral[move.to])


def _may_leave_power(state: State, house: str, origin: str, left: Mapping[str, int]) -> bool:
    """2E-MAR-8, 2E-CTL-4."""
    return (
        kind(origin) == "land"
        and not left
        and state.power[house] > 0
        and origin not in state.power_tokens
        and AREAS[origin].get("home") != house
    )


def may_muster(state: State, house: str, areas: Iterable[str], steps: Iterable[c.MusterStep]) -> bool:
    """2E-MUS-3 to 2E-MUS-11, step by step."""
    points = {area: int(AREAS[area]["castle"]) for area in areas if controller(state, area) == house}
    left, armies = reserve(state, house), sizes(state, house)
    old = {area: Counter(state.units[area].units) if area in state.units else Counter() for area in points}
    for step in steps:
        bare = step.unit.removeprefix("routed-")
        if step.area not in points or bare not in COSTS:
            return False
        if step.upgrade is not None:
            if bare not in ("knight", "siege-engine") or step.upgrade not in ("footman", "routed-footman"):
                return False
            if step.unit.startswith("routed-") != step.upgrade.startswith("routed-") or step.to != step.area:
                return False
            if old[step.area][step.upgrade] < 1:
                return False
            cost = 1
        else:
            if bare != step.unit or not _may_stand(state, house, step):
                return False
            cost = COSTS[bare]
        if points[step.area] < cost or left[bare] < 1:
            return False
        points[step.area] -= cost
        left[bare] -= 1
        if step.upgrade is not None:
            old[step.area][step.upgrade] -= 1
            left["footman"] += 1
            continue
        armies[step.to] += 1
        if kind(step.to) == "port" and armies[step.to] > 3:
            return False
        if not feeds(state, house, armies):
            return False
    return True


def _may_stand(state: State, house: str, step: c.MusterStep) -> bool:
    """2E-MUS-5 to 2E-MUS-8."""
    if step.unit != "ship":
        return step.to == step.area
    if kind(step.to) == "port":
        return AREAS[step.to]["land"] == step.area
    enemy = step.to in state.units and state.units[step.to].house != house
    return kind(step.to) == "sea" and step.to in NEIGHBOURS[step.area] and not enemy


def is_minimal(state: State, house: str, lost: Mapping[str, Mapping[str, int]]) -> bool:
    """2E-SUP-5, 2E-SUP-6."""
    armies = sizes(state, house)
    for area, units in lost.items():
        armies[area] -= sum(units.values())
    if not feeds(state, house, armies):
        return False
    return not any(feeds(state, house, armies + Counter({area: 1})) for area in lost)


def stars(state: State, house: str) -> int:
    return STARS[len(state.charter.houses)][state.tracks["kings-court"].index(house)]


def is_forbidden(state: State, token: str) -> bool:
    """2E-PLN-6, 2E-WEC-13 to 2E-WEC-17."""
    return TOKENS[token]["type"] in state.prohibited or (token == "march-plus-1" and "march-plus-1" in state.prohibited)


def may_assign(state: State, house: str, orders: Mapping[str, str]) -> bool:
    """2E-PLN-2 to 2E-PLN-12."""
    own = [area for area, force in state.units.items() if force.house == house]
    able = [token for token in TOKENS if not is_forbidden(state, token)]
    plain = sum(not TOKENS[token]["star"] for token in able)
    most = plain + min(stars(state, house), len(able) - plain)
    tokens = list(orders.values())
    return (
        set(orders) <= set(own)
        and len(orders) == min(len(own), most)
        and len(set(tokens)) == len(tokens)
        and set(tokens) <= set(able)
        and sum(bool(TOKENS[token]["star"]) for token in tokens) <= stars(state, house)
    )


def may_raid(state: State, answer: c.Raid) -> bool:
    """2E-RAID-1 to 2E-RAID-6."""
    placed = state.orders.get(answer.area)
    if placed is None or placed.house != answer.house or TOKENS[placed.token]["type"] != "raid":
        return False
    if answer.target is None:
        return True
    target = state.orders.get(answer.target)
    if target is None or target.house == answer.house or answer.target not in NEIGHBOURS[answer.area]:
        return False
    reaches = {"land": ("land",), "sea": ("land", "sea", "port"), "port": ("sea",)}[kind(answer.area)]
    if kind(answer.target) not in reaches:
        return False
    what = TOKENS[target.token]["type"]
    return what in ("support", "raid", "consolidate") or (what == "defense" and bool(TOKENS[placed.token]["star"]))


def may_replace(state: State, house: str, area: str, token: str) -> bool:
    """2E-RVN-2."""
    own = {where: placed.token for where, placed in state.orders.items() if placed.house == house}
    if area not in own or token in own.values() or is_forbidden(state, token):
        return False
    after = own | {area: token}
    return sum(bool(TOKENS[one]["star"]) for one in after.values()) <= stars(state, house)


def retreats(state: State, house: str, origin_allowed: bool = False) -> tuple[set[str], int]:
    """2E-RET-5 to 2E-RET-10 (for a beaten attacker 2E-HCS-2): areas of the smallest loss, and that loss."""
    combat = state.combat
    assert combat is not None
    attacks = house == combat.attacker
    units = state.march.units if attacks and state.march else state.units[combat.area].units
    number = sum(units.values())
    losses: dict[str, int] = {}
    for to in AREAS:
        if to == combat.origin:
            barred = not (attacks and origin_allowed)
        else:
            barred = not can_go(state, house, combat.area, to) or not _may_flee_to(state, house, to)
        if not barred:
            losses[to] = _loss(state, house, combat.area, to, number)
    losses = {to: loss for to, loss in losses.items() if loss < number}
    least = min(losses.values(), default=0)
    return {to for to, loss in losses.items() if loss == least}, least


def _may_flee_to(state: State, house: str, to: str) -> bool:
    if to in state.neutral or (to in state.units and state.units[to].house != house):
        return False
    return controller(state, to) in ((house,) if kind(to) == "port" else (None, house))


def _loss(state: State, house: str, field: str, to: str, number: int) -> int:
    armies = sizes(state, house)
    armies[field] = 0
    for loss in range(number):
        after = armies + Counter({to: number - loss})
        if feeds(state, house, after) and (kind(to) != "port" or after[to] <= 3):
            return loss
    return number


def of_size(units: Mapping[str, int], count: int) -> list[dict[str, int]]:
    """Every choice of so many units."""
    found = {tuple(sorted(Counter(some).items())) for some in combinations(singles(units), count)}
    return [dict(some) for some in sorted(found)]
