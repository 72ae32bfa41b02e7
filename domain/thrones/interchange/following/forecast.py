"""Where units must be, by what a log tells later: a count of pieces without rules, to rank what a muster may have been.

A candidate is played through the later entries of its House. Each unit that marches from a place where it is not, or
dies where it is not, speaks against it; units of later musters fill gaps first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from domain.thrones.board import Board
from domain.thrones.interchange.logs import records as r
from domain.thrones.pieces import AreaId, HouseId, Units

Forces = dict[AreaId, dict[str, int]]
KINDS = ("footman", "ship", "siege-engine", "knight")
UPGRADED = {"knight-upgrade": "knight", "siege-engine-upgrade": "siege-engine"}


class Forecast:
    """What later entries ask of one House."""

    def __init__(self, board: Board, house: HouseId, entries: Sequence[r.Entry], others: Mapping[AreaId, HouseId]) -> None:
        self.board = board
        self.house = house
        self.events: list[tuple[str, tuple[object, ...]]] = []
        self.others = others
        self._gather(entries)

    def _gather(self, entries: Sequence[r.Entry]) -> None:
        house = self.house
        fight: r.Attack | None = None
        for entry in entries:
            record = entry.record
            match record:
                case r.Marched():
                    fight = record.attack
                    if record.house == house:
                        self._add("march", record.area, record.steps, fight)
                    else:
                        for step in record.steps:
                            self._add("clear", step.to)
                        if fight is not None and fight.defender == house:
                            self._add("there", fight.area)
                case r.BattleLost() if fight is not None:
                    if record.house == house == fight.defender:
                        self._add("beaten", fight.area, record.to, record.killed, record.how)
                    elif fight.house == house:
                        if record.house == house:
                            self._add("back", record.to or fight.origin, fight.units, record.killed, record.how)
                        else:
                            self._add("won", fight.area, fight.units, record.other)
                    fight = None
                case r.AbilityResolved() if record.house == house:
                    for effect in record.effects:
                        if isinstance(effect, r.UnitUpgraded):
                            self._add("raised", effect.area)
                case r.OrderGivenUp() | r.RavenReplaced() if record.house == house:
                    self._add("there", record.area)
                case r.SpecialMustered() if record.house == house:
                    self._add("special", record.area, record.units)
                case r.Mustered() if record.house == house:
                    self._add("float", record.units)
                case r.WildlingsBeaten():
                    for effect in record.effects:
                        if isinstance(effect, r.UnitsRaised) and effect.house == house:
                            self._add("float", effect.units)
                case r.SupplyCounted() if record.house == house and record.removed:
                    self._add("gone", record.removed)
                case r.RaidUnusable():
                    self._add("perhaps", record.area)
                case r.Raided():
                    for area, _ in record.targets:
                        self._add("foe" if record.house == house else "perhaps", area)
                case _:
                    pass

    def _add(self, what: str, *more: object) -> None:
        self.events.append((what, more))

    def against(self, start: Mapping[AreaId, Units]) -> int:
        """How much speaks against these units, the lower the better."""
        return _Count(self, start).run()


class _Count:
    def __init__(self, forecast: Forecast, start: Mapping[AreaId, Units]) -> None:
        self.forecast = forecast
        self.forces: Forces = {}
        for area, units in start.items():
            for unit, count in units.items():
                kind = unit.removeprefix("routed-")
                there = self.forces.setdefault(area, {})
                there[kind] = there.get(kind, 0) + count
        self.pool: dict[str, int] = {}
        self.ships_to_come: list[AreaId] = []
        self.wrong = 0

    def run(self) -> int:
        weight = 20
        for what, more in self.forecast.events:
            before = self.wrong
            getattr(self, f"_{what}")(*more)
            if self.wrong > before:
                self.wrong += weight
            if weight > 10 and what == "float":
                weight -= 2
        return self.wrong

    def _has(self, area: AreaId) -> bool:
        return any(self.forces.get(area, {}).values())

    def _take(self, area: AreaId, units: Mapping[str, int]) -> None:
        there = self.forces.setdefault(area, {})
        for kind, count in units.items():
            have = there.get(kind, 0)
            missing = count - have
            if missing > 0:
                from_pool = min(missing, self.pool.get(kind, 0))
                if from_pool:
                    self.pool[kind] -= from_pool
                self.wrong += missing - from_pool
                there[kind] = 0
            else:
                there[kind] = have - count

    def _put(self, area: AreaId, units: Mapping[str, int]) -> None:
        there = self.forces.setdefault(area, {})
        for kind, count in units.items():
            there[kind] = there.get(kind, 0) + count

    def _march(self, area: AreaId, steps: Iterable[r.Step], attack: r.Attack | None) -> None:
        for to, units in [
            *((step.to, step.units) for step in steps),
            *([(attack.area, attack.units)] if attack is not None and attack.units else []),
        ]:
            if not self._reaches(area, to):
                self.wrong += 1
            self._take(area, units)
        for step in steps:
            self._put(step.to, step.units)

    def _reaches(self, area: AreaId, to: AreaId) -> bool:
        board = self.forecast.board
        if area not in board or to not in board or board.are_adjacent(area, to) or not board.is_land(area):
            return True
        if self.pool.get("ship"):
            return True
        seen = set()
        waves = [sea for sea in board.neighbours[area] if board.is_sea(sea) and self.forces.get(sea, {}).get("ship")]
        while waves:
            sea = waves.pop()
            if sea in seen:
                continue
            seen.add(sea)
            for other in board.neighbours[sea]:
                if other == to:
                    return True
                if board.is_sea(other) and self.forces.get(other, {}).get("ship"):
                    waves.append(other)
        return False

    def _won(self, area: AreaId, units: Mapping[str, int], lost: Mapping[str, int]) -> None:
        self._put(area, {kind: count - lost.get(kind, 0) for kind, count in units.items() if count > lost.get(kind, 0)})

    def _back(self, to: AreaId, units: Mapping[str, int], killed: Mapping[str, int], how: str) -> None:
        if how != "stuck":
            self._won(to, units, killed)

    def _beaten(self, area: AreaId, to: AreaId | None, killed: Mapping[str, int], how: str) -> None:
        there = self.forces.get(area, {})
        if how == "stuck":
            different = sum(abs(there.get(kind, 0) - killed.get(kind, 0)) for kind in KINDS)
            for kind in KINDS:
                missing = killed.get(kind, 0) - there.get(kind, 0)
                if missing > 0 and self.pool.get(kind, 0) >= missing:
                    self.pool[kind] -= missing
                    different -= missing
            self.wrong += different
            self.forces[area] = {}
            return
        if there.get("siege-engine", 0) > killed.get("siege-engine", 0):
            self.wrong += 1
        self._take(area, killed)
        left = self.forces.pop(area, {})
        if not any(left.values()) and how in ("withdrew", "forced") and not any(self.pool.values()):
            self.wrong += 1
        if to is not None:
            self._put(to, {kind: count for kind, count in left.items() if count and kind != "siege-engine"})

    def _clear(self, area: AreaId) -> None:
        if self._has(area):
            self.wrong += 1
            self.forces[area] = {}

    def _there(self, area: AreaId) -> None:
        board = self.forecast.board
        if not self._has(area) and not any(self.pool.values()):
            home = area in board and board[area].home == self.forecast.house
            self.wrong += 0 if home else 1

    def _foe(self, area: AreaId) -> None:
        if self._has(area):
            self.wrong += 1

    def _perhaps(self, area: AreaId) -> None:
        # Somebody has units there; if nobody else is known to, these are ours.
        if not self._has(area) and area not in self.forecast.others and not any(self.pool.values()):
            self.wrong += 1

    def _raised(self, area: AreaId) -> None:
        self._take(area, {"footman": 1})
        self._put(area, {"knight": 1})

    def _gone(self, units: Mapping[str, int]) -> None:
        for kind, count in units.items():
            for _ in range(count):
                area = max(self.forces, key=lambda one: (self.forces[one].get(kind, 0) > 0, sum(self.forces[one].values())), default="")
                if area and self.forces[area].get(kind, 0):
                    self.forces[area][kind] -= 1

    def _float(self, units: Mapping[str, int]) -> None:
        for kind, count in units.items():
            kind = UPGRADED.get(kind, kind)
            self.pool[kind] = self.pool.get(kind, 0) + count

    def _special(self, area: AreaId, units: Mapping[str, int]) -> None:
        for kind, count in units.items():
            if kind in UPGRADED:
                self._take(area, {"footman": count})
                self._put(area, {UPGRADED[kind]: count})
            elif kind == "ship":
                self.pool["ship"] = self.pool.get("ship", 0) + count
            else:
                self._put(area, {kind: count})
