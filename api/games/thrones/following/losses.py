"""Units that a House gives up or exchanges outside of battles: a log tells which types, not where."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from api.games.thrones.following.answers import Pages, effects_of
from api.games.thrones.following.hypothesis import Hypothesis
from api.games.thrones.logs import records as r
from domain.kernel.decision import Decision
from domain.thrones.language import answers as c
from domain.thrones.language.pieces import AreaId, HouseId, Units, minus, plus, size, unit_type

GivenUp = c.ReconcileSupply | c.DestroyUnits | c.HordeCastleUnits | c.CrowKillersDegrade | c.CrowKillersUpgrade
GIVEN_UP = (c.ReconcileSupply, c.DestroyUnits, c.HordeCastleUnits, c.CrowKillersDegrade, c.CrowKillersUpgrade)

MOST_CHOICES = 5_000
"""Choices of units that are looked at."""


def choices(pages: Pages, here: Hypothesis, question: Decision[Any]) -> tuple[int, list[GivenUp]]:
    """The entry that tells of units given up, and every choice of units of the told types."""
    house: HouseId = question.player
    every = islice(question.options.every(question.default), MOST_CHOICES)
    raised = isinstance(question.default, c.CrowKillersUpgrade)
    entry, units, count = 0, None, None
    supply = pages.first(here, r.SupplyCounted, fits=lambda one: one.house == house and bool(one.removed))
    if supply is not None and isinstance(question.default, c.ReconcileSupply):
        entry, units = supply[0].number, supply[1].removed
    for number, effect in effects_of(pages, here, house):
        if isinstance(effect, r.UnitsRemoved):
            entry, units = number, effect.units
        elif isinstance(effect, r.UnitsExchanged) and (units is None or raised):
            entry, count = number, effect.count
    if isinstance(question.default, c.CrowKillersDegrade | c.CrowKillersUpgrade):
        if count is None:
            return 0, []
        return entry, [one for one in every if sum(map(size, _exchanged(one).values())) == count]
    if units is None:
        return 0, []
    return entry, [one for one in every if _types(one.units) == units]


def after(forces: Mapping[AreaId, Units], chosen: GivenUp) -> dict[AreaId, Units]:
    """Where the units of the House stand once these are given up."""
    left = dict(forces)
    gone = {} if isinstance(chosen, c.CrowKillersUpgrade) else getattr(chosen, "units", {})
    if isinstance(chosen, c.CrowKillersDegrade):
        gone = chosen.destroyed
    for area, units in gone.items():
        left[area] = minus(left.get(area, {}), units)
    other = "footman" if isinstance(chosen, c.CrowKillersDegrade) else "knight"
    for area, units in _exchanged(chosen).items():
        left[area] = plus(minus(left.get(area, {}), units), {other: size(units)})
    return left


def _exchanged(chosen: GivenUp) -> Mapping[AreaId, Units]:
    match chosen:
        case c.CrowKillersDegrade():
            return chosen.replaced
        case c.CrowKillersUpgrade():
            return chosen.units
        case _:
            return {}


def _types(chosen: Mapping[AreaId, Units]) -> dict[str, int]:
    """How many of each type, routed or not."""
    found: dict[str, int] = {}
    for units in chosen.values():
        for unit, number in units.items():
            found[unit_type(unit)] = found.get(unit_type(unit), 0) + number
    return found
