"""The map: areas and what lies next to what (2E-MAP-1 to 2E-MAP-7). Data, no rule."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Literal

import msgspec

from domain.thrones.language.pieces import AreaId, HouseId


class Area(msgspec.Struct, frozen=True):
    """One area. ``castle`` is 0 none, 1 Castle or city, 2 Stronghold; ports name their land and sea area."""

    id: AreaId
    name: str
    kind: Literal["land", "sea", "port"]
    castle: int = 0
    power: int = 0
    supply: int = 0
    home: HouseId | None = None
    land: AreaId | None = None
    sea: AreaId | None = None
    x: int = 0
    y: int = 0


class Board:
    """Areas by id, and their neighbours in ascending order of ids."""

    def __init__(self, areas: Iterable[Area], links: Iterable[tuple[AreaId, AreaId]]) -> None:
        self.areas: dict[AreaId, Area] = {area.id: area for area in sorted(areas, key=lambda area: area.id)}
        near: dict[AreaId, set[AreaId]] = {area: set() for area in self.areas}
        for one, other in links:
            near[one].add(other)
            near[other].add(one)
        self.neighbours: dict[AreaId, tuple[AreaId, ...]] = {area: tuple(sorted(near[area])) for area in self.areas}
        self._near = near

    def __getitem__(self, area: AreaId) -> Area:
        return self.areas[area]

    def __contains__(self, area: object) -> bool:
        return area in self.areas

    def is_land(self, area: AreaId) -> bool:
        return self.areas[area].kind == "land"

    def is_sea(self, area: AreaId) -> bool:
        return self.areas[area].kind == "sea"

    def is_port(self, area: AreaId) -> bool:
        return self.areas[area].kind == "port"

    def are_adjacent(self, one: AreaId, other: AreaId) -> bool:
        return other in self._near[one]

    def has_castle(self, area: AreaId) -> bool:
        """Whether the area has a Castle or a Stronghold."""
        return self.areas[area].castle > 0

    @cached_property
    def land(self) -> tuple[AreaId, ...]:
        return tuple(area for area in self.areas if self.is_land(area))

    @cached_property
    def ports(self) -> tuple[AreaId, ...]:
        return tuple(area for area in self.areas if self.is_port(area))

    @cached_property
    def castles(self) -> tuple[AreaId, ...]:
        return tuple(area for area in self.areas if self.has_castle(area))

    @cached_property
    def home_of(self) -> dict[HouseId, AreaId]:
        return {area.home: area.id for area in self.areas.values() if area.home}

    @cached_property
    def port_of(self) -> dict[AreaId, AreaId]:
        """Land area to its port."""
        return {str(self.areas[port].land): port for port in self.ports}

    def land_of(self, port: AreaId) -> AreaId:
        return str(self.areas[port].land)

    def sea_of(self, port: AreaId) -> AreaId:
        return str(self.areas[port].sea)
