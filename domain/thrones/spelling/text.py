"""The small parts of an answer in canonical text."""

from __future__ import annotations

from collections.abc import Mapping

from domain.thrones.language.pieces import AreaId, Unit, Units, in_order


def one_unit(unit: Unit) -> str:
    """``routed knight``, ``siege-engine``."""
    return unit.replace("routed-", "routed ")


def some_units(units: Units) -> str:
    """``2 footman, routed knight``."""
    return ", ".join(f"{count} {one_unit(unit)}" if count > 1 else one_unit(unit) for unit, count in in_order(units))


def chosen_units(chosen: Mapping[AreaId, Units]) -> str:
    """``pyke: ship; seagard: 2 footman``."""
    return "; ".join(f"{area}: {some_units(chosen[area])}" for area in sorted(chosen) if chosen[area]) or "none"


def per_area(words: Mapping[AreaId, str]) -> str:
    """``harrenhal withhold, stoney-sept attacker``."""
    return ", ".join(f"{area} {words[area]}" for area in sorted(words)) or "none"
