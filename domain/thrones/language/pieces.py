"""Pieces and their names: units, order tokens, House cards, tracks (2E-GEN-3, 2E-COMP-1 to 2E-COMP-5).

A unit is named by its type, with ``routed-`` in front while it is routed. Several units are a mapping from
that name to a number above zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Literal

import msgspec

from domain.kernel.bounds import AtMost, Within

HouseId = str
AreaId = str
CardId = str
OrderId = str
Unit = str
Count = Annotated[int, Within(-999, 999)]
"""A number of pieces or of Power: none of these games goes beyond 99, and a slip of the pen is still told as one."""

MOST_KINDS = 20
"""Kinds of units, routed ones apart: there are eight."""

MOST_AREAS = 200
"""Areas of a board, and whatever there is one of in an area: there are 58."""

MOST_HOUSES = 20
"""Houses at a table: there are six."""

Units = Annotated[dict[Unit, Count], AtMost(MOST_KINDS)]
Track = Literal["iron-throne", "fiefdoms", "kings-court"]
Deck = str

TRACKS: tuple[Track, ...] = ("iron-throne", "fiefdoms", "kings-court")
TOKEN_OF_TRACK: dict[str, str] = {
    "iron-throne": "iron-throne-token",
    "fiefdoms": "valyrian-steel-blade",
    "kings-court": "messenger-raven",
}
THRONE, BLADE, RAVEN = TOKEN_OF_TRACK.values()

UNIT_TYPES = ("footman", "ship", "siege-engine", "knight")
"""Unit types in canonical order (2E-GEN-16)."""

UNITS: tuple[Unit, ...] = tuple(unit for kind in UNIT_TYPES for unit in (kind, f"routed-{kind}"))
"""Units in canonical order, an unrouted unit before a routed one of its type (2E-GEN-16)."""

LAND_UNITS = ("footman", "siege-engine", "knight")

FOOTMEN_IN_SUPPORT = "footmen-in-support"
"""What Rains of Autumn forbids by the first edition's book (1E-WCARD-11)."""

OrderType = Literal["defense", "support", "consolidate", "raid", "march"]


def unit_type(unit: Unit) -> str:
    """The type of a unit, routed or not."""
    return unit.removeprefix("routed-")


def is_routed(unit: Unit) -> bool:
    return unit.startswith("routed-")


def routed(unit: Unit) -> Unit:
    """The same unit lying routed."""
    return unit if is_routed(unit) else f"routed-{unit}"


def size(units: Mapping[Unit, int]) -> int:
    """How many units, routed ones included (2E-SUP-3)."""
    return sum(units.values())


def in_order(units: Mapping[Unit, int]) -> Iterator[tuple[Unit, int]]:
    """The units in canonical order, without zero counts."""
    for unit in UNITS:
        if units.get(unit, 0) > 0:
            yield unit, units[unit]


def each(units: Mapping[Unit, int]) -> Iterator[Unit]:
    """Every single unit in canonical order."""
    for unit, count in in_order(units):
        for _ in range(count):
            yield unit


def plus(units: Mapping[Unit, int], more: Mapping[Unit, int]) -> Units:
    return {unit: units.get(unit, 0) + more.get(unit, 0) for unit in UNITS if units.get(unit, 0) + more.get(unit, 0)}


def minus(units: Mapping[Unit, int], fewer: Mapping[Unit, int]) -> Units:
    """What is left. Raises ValueError when more is taken than there is."""
    left = {unit: units.get(unit, 0) - fewer.get(unit, 0) for unit in UNITS}
    if any(count < 0 for count in left.values()) or set(fewer) - set(UNITS):
        raise ValueError(f"{dict(fewer)} is not among {dict(units)}")
    return {unit: count for unit, count in left.items() if count}


def counted(units: Iterable[Unit]) -> Units:
    """A list of single units as a mapping."""
    names = list(units)
    return {unit: names.count(unit) for unit in UNITS if unit in names}


def as_routed(units: Mapping[Unit, int]) -> Units:
    """All units routed (2E-RET-13)."""
    return _renamed(units, routed)


def as_standing(units: Mapping[Unit, int]) -> Units:
    """All units standing (2E-CLN-2)."""
    return _renamed(units, unit_type)


def _renamed(units: Mapping[Unit, int], name: Callable[[Unit], Unit]) -> Units:
    """The same units under other names, by numbers: nothing is done once for each of them."""
    found: Units = {}
    for unit, count in in_order(units):
        found[name(unit)] = found.get(name(unit), 0) + count
    return dict(in_order(found))


def by_type(units: Mapping[Unit, int]) -> dict[str, int]:
    """Numbers by type, routed and standing together: what counts against the reserve (2E-COMP-1)."""
    total: dict[str, int] = {}
    for unit, count in units.items():
        total[unit_type(unit)] = total.get(unit_type(unit), 0) + count
    return total


class OrderToken(msgspec.Struct, frozen=True):
    """One of the 15 order tokens of a House (2E-ORD-2). ``modifier`` is its number, 0 where none is printed."""

    id: OrderId
    type: OrderType
    star: bool
    modifier: int


class HouseCard(msgspec.Struct, frozen=True):
    """The figures printed on a House card; what its text does is in :mod:`domain.thrones.rules.combat.cards`."""

    id: CardId
    house: HouseId
    name: str
    strength: int
    swords: int
    fortifications: int


class TidesCard(msgspec.Struct, frozen=True):
    """A Tides of Battle card (2E-TOB-2)."""

    id: CardId
    strength: int
    swords: int
    fortifications: int
    skulls: int
    count: int


class WesterosCard(msgspec.Struct, frozen=True):
    """A Westeros card: how often it is in its deck, and its wildling icons (section 6.1)."""

    id: CardId
    name: str
    count: int
    icons: int
