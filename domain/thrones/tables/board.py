"""The map: areas and what lies next to what (2E-MAP-1 to 2E-MAP-7). Data, no rule."""

from __future__ import annotations

from collections.abc import Iterable
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
    """Areas by id, and their neighbours in ascending order of ids. Each question is answered from a table made once."""

    def __init__(self, areas: Iterable[Area], links: Iterable[tuple[AreaId, AreaId]]) -> None:
        self.areas: dict[AreaId, Area] = {area.id: area for area in sorted(areas, key=lambda area: area.id)}
        near: dict[AreaId, set[AreaId]] = {area: set() for area in self.areas}
        for one, other in links:
            near[one].add(other)
            near[other].add(one)
        self.neighbours: dict[AreaId, tuple[AreaId, ...]] = {area: tuple(sorted(near[area])) for area in self.areas}
        self._near = near
        places = tuple(self.areas.values())
        self.land: tuple[AreaId, ...] = tuple(area.id for area in places if area.kind == "land")
        self.ports: tuple[AreaId, ...] = tuple(area.id for area in places if area.kind == "port")
        self.castles: tuple[AreaId, ...] = tuple(area.id for area in places if area.castle > 0)
        """Areas with a Castle or a Stronghold."""
        self.home_of: dict[HouseId, AreaId] = {area.home: area.id for area in places if area.home}
        self.shields: dict[AreaId, HouseId] = {area: house for house, area in self.home_of.items()}
        self.port_of: dict[AreaId, AreaId] = {str(self.areas[port].land): port for port in self.ports}
        """Land area to its port."""
        self.is_land = frozenset(self.land).__contains__
        self.is_sea = frozenset(area.id for area in places if area.kind == "sea").__contains__
        self.is_port = frozenset(self.ports).__contains__
        self.has_castle = frozenset(self.castles).__contains__
        self.land_of = {port: str(self.areas[port].land) for port in self.ports}.__getitem__
        self.sea_of = {port: str(self.areas[port].sea) for port in self.ports}.__getitem__

    def __getitem__(self, area: AreaId) -> Area:
        return self.areas[area]

    def __contains__(self, area: object) -> bool:
        return area in self.areas

    def are_adjacent(self, one: AreaId, other: AreaId) -> bool:
        return other in self._near[one]
