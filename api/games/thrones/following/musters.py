"""Where units were mustered, which a log does not tell: every legal way to place them, the likeliest first."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from api.games.thrones.following.forecast import UPGRADED, Forecast
from domain.kernel.refusal import Refusal
from domain.thrones.language.answers import Muster, MusterStep
from domain.thrones.language.pieces import AreaId, HouseId, Units
from domain.thrones.rules.westeros.mustering import MusterOptions

MOST_WAYS = 6_000
"""Ways to place one muster that are looked at."""

Item = tuple[str, bool]


def items_of(units: Mapping[str, int]) -> list[Item]:
    """Single units and whether they are upgrades, upgrades first."""
    items: list[Item] = []
    for kind in ("knight-upgrade", "siege-engine-upgrade", "siege-engine", "knight", "ship", "footman"):
        items += [(UPGRADED.get(kind, kind), kind in UPGRADED)] * units.get(kind, 0)
    return items


def ways(
    house: HouseId, options: MusterOptions, units: Mapping[str, int], doubtful: Collection[AreaId] = ()
) -> Iterator[Muster]:
    """Every muster of exactly these units that has the points, one for each outcome.

    Points of areas that are ``doubtful``, since only a Power token may hold them, are spent last.
    """
    items = items_of(units)
    areas = sorted(options.areas, key=lambda area: (area in doubtful, area))
    points = {area: there.points for area, there in options.areas.items()}
    footmen = {area: there.footmen + there.routed_footmen for area, there in options.areas.items()}
    seen: set[tuple[tuple[AreaId, str, int], ...]] = set()

    def place(at: int, least: int, steps: list[MusterStep]) -> Iterator[list[MusterStep]]:
        if at == len(items):
            yield list(steps)
            return
        kind, is_upgrade = items[at]
        choices = _choices(options, areas, kind, is_upgrade)
        first = least if at and items[at - 1] == items[at] else 0
        for number in range(first, len(choices)):
            area, to = choices[number]
            cost = (options.costs.upgrade if is_upgrade else options.costs.new).get(kind, 0)
            if points[area] < cost or (is_upgrade and not footmen[area]):
                continue
            points[area] -= cost
            footmen[area] -= is_upgrade
            old = None
            if is_upgrade:
                there = options.areas[area]
                old = "footman" if there.footmen else "routed-footman"
            steps.append(MusterStep(area, kind if old != "routed-footman" else f"routed-{kind}", to, old))
            yield from place(at + 1, number, steps)
            steps.pop()
            points[area] += cost
            footmen[area] += is_upgrade

    for count, steps in enumerate(place(0, 0, [])):
        if count > MOST_WAYS:
            return
        found = tuple(sorted((step.to, step.unit, step.upgrade is not None) for step in steps))
        if found not in seen:
            seen.add(found)
            yield Muster(house=house, steps=tuple(steps))


def _choices(options: MusterOptions, areas: list[AreaId], kind: str, is_upgrade: bool) -> list[tuple[AreaId, AreaId]]:
    if kind == "ship" and not is_upgrade:
        return [(area, to) for area in areas for to in options.areas[area].ships_to]
    return [(area, area) for area in areas]


def after(forces: Mapping[AreaId, Units], muster: Muster) -> dict[AreaId, dict[str, int]]:
    """Units of the House once a muster is done."""
    found = {area: dict(units) for area, units in forces.items()}
    for step in muster.steps:
        there = found.setdefault(step.to, {})
        there[step.unit] = there.get(step.unit, 0) + 1
        if step.upgrade:
            there[step.upgrade] = there.get(step.upgrade, 0) - 1
    return found


def ranked(
    options: MusterOptions, forces: Mapping[AreaId, Units], forecast: Forecast, house: HouseId, units: Mapping[str, int]
) -> list[Muster]:
    """Legal musters of exactly these units, those first against which later entries say least."""
    return [muster for _, muster in weighed(options, forces, forecast, house, units)]


def weighed(
    options: MusterOptions,
    forces: Mapping[AreaId, Units],
    forecast: Forecast,
    house: HouseId,
    units: Mapping[str, int],
    doubtful: Collection[AreaId] = (),
) -> list[tuple[int, Muster]]:
    """As :func:`ranked`, with how much speaks against each."""
    musters = [muster for muster in ways(house, options, units, doubtful) if _is_legal(options, muster)]
    if len(musters) < 2:
        return [(0, muster) for muster in musters]
    against = forecast.weigh([after(forces, muster) for muster in musters])
    return sorted(zip(against, musters, strict=True), key=lambda one: one[0])


def _is_legal(options: MusterOptions, muster: Muster) -> bool:
    try:
        options.check(muster)
    except Refusal:
        return False
    return True
