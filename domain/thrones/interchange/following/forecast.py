"""Where units must be, by what a log tells later: pieces counted with few rules, to rank what a muster may have been.

All ways to place a muster are played side by side through the later entries of their House. A unit that marches from
a place where it is not, dies where it is not, or would break the supply limit there speaks against its way. Later
musters branch again; the ways against which least speaks go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from domain.thrones.edition import Edition
from domain.thrones.interchange.logs import records as r
from domain.thrones.pieces import AreaId, HouseId, Units

KINDS = ("footman", "ship", "siege-engine", "knight")
PLACE = {kind: number for number, kind in enumerate(KINDS)}
UPGRADED = {"knight-upgrade": "knight", "siege-engine-upgrade": "siege-engine"}
COSTS = {"footman": 1, "ship": 1, "siege-engine": 2, "knight": 2}

WIDTH = 72
"""Ways that go on from one muster to the next."""
HORIZON = 6
"""Later musters of the House that are looked at."""

Count = tuple[int, int, int, int]
Forces = dict[AreaId, Count]
NOTHING: Count = (0, 0, 0, 0)


def counts(units: Mapping[str, int]) -> Count:
    """Units as numbers by type, routed or not."""
    found = [0, 0, 0, 0]
    for unit, count in units.items():
        found[PLACE[unit.removeprefix("routed-")]] += count
    return (found[0], found[1], found[2], found[3])


def _plus(one: Count, other: Count) -> Count:
    return (one[0] + other[0], one[1] + other[1], one[2] + other[2], one[3] + other[3])


class Way:
    """One way in which units may stand: where, the areas under control, and how much speaks against it."""

    __slots__ = ("control", "forces", "limit", "origin", "wrong")

    def __init__(
        self, forces: Forces, control: frozenset[AreaId], limit: tuple[int, ...], origin: int, wrong: int
    ) -> None:
        self.forces = forces
        self.control = control
        self.limit = limit
        self.origin = origin
        self.wrong = wrong

    def copy(self) -> Way:
        return Way(dict(self.forces), self.control, self.limit, self.origin, self.wrong)

    def key(self) -> tuple[object, ...]:
        return (
            tuple(sorted((area, count) for area, count in self.forces.items() if any(count))),
            self.control,
            self.limit,
        )

    def has(self, area: AreaId) -> bool:
        return any(self.forces.get(area, NOTHING))

    def take(self, area: AreaId, units: Count) -> None:
        there = self.forces.get(area, NOTHING)
        left = []
        for have, count in zip(there, units, strict=True):
            if count > have:
                self.wrong += count - have
            left.append(max(0, have - count))
        self.forces[area] = (left[0], left[1], left[2], left[3])

    def put(self, area: AreaId, units: Count) -> None:
        self.forces[area] = _plus(self.forces.get(area, NOTHING), units)

    def fits(self) -> bool:
        sizes = [one for count in self.forces.values() if (one := count[0] + count[1] + count[2] + count[3]) > 1]
        if len(sizes) > len(self.limit):
            return False
        sizes.sort(reverse=True)
        return all(one <= most for one, most in zip(sizes, self.limit, strict=False))


Event = Callable[[Way], None]


class Forecast:
    """What later entries ask of one House."""

    def __init__(
        self,
        edition: Edition,
        house: HouseId,
        entries: Sequence[r.Entry],
        others: Mapping[AreaId, HouseId],
        control: Iterable[AreaId],
        supply: int,
        limits: Mapping[str, int],
    ) -> None:
        self.edition = edition
        self.board = edition.board
        self.house = house
        self.others = others
        self.control = frozenset(control)
        self.limit = edition.supply_limit(supply)
        self.limits = limits
        self.stages: list[tuple[list[Event], tuple[AreaId, Mapping[str, int]] | None]] = []
        self._gather(entries)

    def weigh(self, starts: Sequence[Mapping[AreaId, Units]]) -> list[int]:
        """How much speaks against each of these ways to stand, the lower the better."""
        ways = [
            Way({area: counts(units) for area, units in start.items()}, self.control, self.limit, number, 0)
            for number, start in enumerate(starts)
        ]
        # What fell out of the race is worse than what did not, by when it fell.
        against = [1_000] * len(ways)
        for number, (events, muster) in enumerate(self.stages):
            for way in ways:
                for event in events:
                    event(way)
            best: dict[tuple[object, ...], Way] = {}
            for way in sorted(ways, key=lambda one: (one.wrong, one.origin)):
                best.setdefault((way.key(), way.origin) if number == 0 else (way.key(),), way)
            ways = _leading(list(best.values()))
            for origin in {way.origin for way in ways}:
                against[origin] = min(way.wrong for way in ways if way.origin == origin)
            if muster is None:
                break
            kept = {way.origin for way in ways}
            for origin in range(len(against)):
                if origin not in kept and against[origin] < 1_000:
                    against[origin] += 50
            ways = [other for way in ways for other in self._mustered(way, *muster)]
        return against

    def _mustered(self, way: Way, area: AreaId, units: Mapping[str, int]) -> list[Way]:
        """The ways to place a later muster, those first that break nothing."""
        found: dict[tuple[object, ...], Way] = {}
        items = [
            (UPGRADED.get(kind, kind), kind in UPGRADED)
            for kind in ("knight-upgrade", "siege-engine-upgrade", "siege-engine", "knight", "ship", "footman")
            for _ in range(units.get(kind, 0))
        ]
        castles = [area] if area else [one for one in self.board.castles if one in way.control or way.has(one)]
        points = {one: self.edition.constants.mustering_points[self.board[one].castle] for one in castles}
        footmen = {one: way.forces.get(one, NOTHING)[0] for one in castles}
        for count, other in enumerate(self._placed(way.copy(), items, 0, 0, castles, points, footmen)):
            if count > 60:
                break
            if other.fits():
                found.setdefault(other.key(), other)
        if found:
            return list(found.values())
        lost = way.copy()
        lost.wrong += 2
        return [lost]

    def _placed(
        self,
        way: Way,
        items: list[tuple[str, bool]],
        at: int,
        least: int,
        castles: list[AreaId],
        points: dict[AreaId, int],
        footmen: dict[AreaId, int],
    ) -> Iterator[Way]:
        if at == len(items):
            yield way.copy()
            return
        kind, is_upgrade = items[at]
        cost = 1 if is_upgrade else COSTS[kind]
        one = counts({kind: 1})
        choices = [(area, to) for area in castles for to in self._places(area, kind)]
        first = least if at and items[at - 1] == items[at] else 0
        for number in range(first, len(choices)):
            area, to = choices[number]
            if points[area] < cost or (is_upgrade and not footmen[area]):
                continue
            before = way.forces.get(to, NOTHING)
            points[area] -= cost
            footmen[area] -= is_upgrade
            now = _plus(before, one)
            way.forces[to] = (now[0] - is_upgrade, now[1], now[2], now[3])
            yield from self._placed(way, items, at + 1, number, castles, points, footmen)
            way.forces[to] = before
            points[area] += cost
            footmen[area] += is_upgrade

    def _places(self, area: AreaId, kind: str) -> list[AreaId]:
        if kind != "ship":
            return [area]
        port = self.board.port_of.get(area)
        seas = [sea for sea in self.board.neighbours[area] if self.board.is_sea(sea)]
        return [*([port] if port else []), *seas]

    # What entries ask

    def _gather(self, entries: Sequence[r.Entry]) -> None:
        house = self.house
        fight: r.Attack | None = None
        events: list[Event] = []
        musters = 0
        for entry in entries:
            record = entry.record
            muster: tuple[AreaId, Mapping[str, int]] | None = None
            match record:
                case r.Marched():
                    fight = record.attack
                    if record.house == house:
                        events.append(_march(self, record))
                    else:
                        events.extend(_clear(step.to) for step in record.steps)
                        if fight is not None and fight.defender == house:
                            events.append(_there(self, fight.area, garrison=True))
                case r.BattleLost() if fight is not None:
                    if record.house == house == fight.defender:
                        events.append(_beaten(fight, record))
                    elif fight.house == house:
                        lost = record.killed if record.house == house else record.other
                        if record.how != "stuck" or record.house != house:
                            to = (record.to or fight.origin) if record.house == house else fight.area
                            events.append(_put(to, counts(fight.units), counts(lost)))
                    elif record.house == fight.defender:
                        events.append(_taken(fight.area))
                    fight = None
                case r.AbilityResolved() if record.house == house:
                    events.extend(_raised(one.area) for one in record.effects if isinstance(one, r.UnitUpgraded))
                case r.OrderGivenUp() | r.RavenReplaced() if record.house == house:
                    events.append(_there(self, record.area))
                case r.PowerTaken() if record.house == house:
                    events.append(_there(self, record.area))
                case r.SpecialMustered() if record.house == house:
                    events.append(_there(self, record.area))
                    muster = (record.area, record.units)
                case r.Mustered() if record.house == house:
                    muster = ("", record.units)
                case r.GameOfThronesPower():
                    events.append(_income(self, record.power.get(house, 0)))
                case r.SupplyCounted() if record.house == house:
                    events.append(_icons(self, record.supply))
                    events.append(_limit(self.edition.supply_limit(record.supply), record.removed))
                case r.RaidUnusable():
                    events.append(_perhaps(self, record.area))
                case r.Raided():
                    for area, _ in record.targets:
                        events.append(_foe(area) if record.house == house else _perhaps(self, area))
                case r.WildlingsBeaten() | r.WildlingsWon():
                    for effect in record.effects:
                        if isinstance(effect, r.UnitsRaised) and effect.house == house:
                            muster = ("", effect.units)
                        elif isinstance(effect, r.SupplyLimited) and effect.house == house:
                            events.append(_limit(self.edition.supply_limit(effect.supply), {}))
                case _:
                    pass
            if muster is not None:
                self.stages.append((events, muster))
                events = []
                musters += 1
                if musters == HORIZON:
                    return
        self.stages.append((events, None))


def _leading(ways: list[Way]) -> list[Way]:
    """The best ways, several origins among them."""
    if len(ways) <= WIDTH:
        return ways
    by_origin: dict[int, int] = {}
    found = []
    for way in ways:
        if by_origin.get(way.origin, 0) < max(8, WIDTH // 8):
            found.append(way)
            by_origin[way.origin] = by_origin.get(way.origin, 0) + 1
        if len(found) == WIDTH:
            break
    return found


def _march(forecast: Forecast, record: r.Marched) -> Event:
    moves = [(step.to, counts(step.units)) for step in record.steps]
    attack = record.attack
    area = record.area
    board = forecast.board

    def event(way: Way) -> None:
        for to, units in [*moves, *([(attack.area, counts(attack.units))] if attack is not None else [])]:
            if not _reaches(forecast, way, area, to):
                way.wrong += 1
            way.take(area, units)
        for to, units in moves:
            way.put(to, units)
            if to in board and board.is_land(to):
                way.control |= {to}
        if attack is not None:
            way.put(attack.area, counts(attack.units))
        if not way.fits():
            way.wrong += 1
        if attack is not None:
            way.take(attack.area, counts(attack.units))
        elif moves and area in board and board.has_castle(area) and not way.has(area):
            pass

    return event


def _reaches(forecast: Forecast, way: Way, area: AreaId, to: AreaId) -> bool:
    board = forecast.board
    if area not in board or to not in board or board.are_adjacent(area, to) or not board.is_land(area):
        return True
    seen: set[AreaId] = set()
    waves = [sea for sea in board.neighbours[area] if board.is_sea(sea) and way.forces.get(sea, NOTHING)[1]]
    while waves:
        sea = waves.pop()
        if sea in seen:
            continue
        seen.add(sea)
        for other in board.neighbours[sea]:
            if other == to:
                return True
            if board.is_sea(other) and way.forces.get(other, NOTHING)[1]:
                waves.append(other)
    return False


def _put(area: AreaId, units: Count, lost: Count) -> Event:
    left = tuple(max(0, count - gone) for count, gone in zip(units, lost, strict=True))

    def event(way: Way) -> None:
        way.put(area, (left[0], left[1], left[2], left[3]))
        way.control |= {area}

    return event


def _beaten(fight: r.Attack, record: r.BattleLost) -> Event:
    killed = counts(record.killed)

    def event(way: Way) -> None:
        there = way.forces.pop(fight.area, NOTHING)
        way.control -= {fight.area}
        if record.how in ("stuck", "lost"):
            way.wrong += sum(abs(have - gone) for have, gone in zip(there, killed, strict=True))
            return
        # Siege Engines cannot retreat.
        if there[2] > killed[2]:
            way.wrong += 1
        way.wrong += sum(max(0, gone - have) for have, gone in zip(there, killed, strict=True))
        left = [max(0, have - gone) for have, gone in zip(there, killed, strict=True)]
        if not any(left):
            way.wrong += 1
        if record.to is not None:
            way.put(record.to, (left[0], left[1], 0, left[3]))
            way.control |= {record.to}

    return event


def _clear(area: AreaId) -> Event:
    def event(way: Way) -> None:
        if way.has(area):
            way.wrong += 1
            way.forces.pop(area)
        way.control -= {area}

    return event


def _taken(area: AreaId) -> Event:
    def event(way: Way) -> None:
        way.control -= {area}

    return event


def _there(forecast: Forecast, area: AreaId, *, garrison: bool = False) -> Event:
    """Units that must stand in an area; a garrison may be attacked without."""
    may_be_empty = garrison and area in forecast.board and forecast.board[area].home == forecast.house

    def event(way: Way) -> None:
        if not way.has(area) and not may_be_empty:
            way.wrong += 1

    return event


def _foe(area: AreaId) -> Event:
    def event(way: Way) -> None:
        if way.has(area):
            way.wrong += 1

    return event


def _perhaps(forecast: Forecast, area: AreaId) -> Event:
    # Somebody has units there; if nobody else is known to, these are ours.
    is_known = area in forecast.others

    def event(way: Way) -> None:
        if not is_known and not way.has(area):
            way.wrong += 1

    return event


def _raised(area: AreaId) -> Event:
    def event(way: Way) -> None:
        way.take(area, (1, 0, 0, 0))
        way.put(area, (0, 0, 0, 1))

    return event


def _income(forecast: Forecast, told: int) -> Event:
    """What a Game of Thrones brought: no less than areas with units and ports do, no more than all that may be held."""
    board, house = forecast.board, forecast.house

    def event(way: Way) -> None:
        ports = sum(1 for port in board.ports if way.has(port))
        held = sum(board[area].power for area in board.land if way.has(area) or board[area].home == house)
        most = ports + sum(board[area].power for area in board.land if way.has(area) or area in way.control)
        if held + ports > told:
            way.wrong += held + ports - told
        elif most < told:
            way.wrong += told - most

    return event


def _icons(forecast: Forecast, told: int) -> Event:
    """The same of supply icons."""
    board, house = forecast.board, forecast.house
    most_told = forecast.edition.constants.supply_maximum

    def event(way: Way) -> None:
        held = sum(board[area].supply for area in board.land if way.has(area) or board[area].home == house)
        most = sum(board[area].supply for area in board.land if way.has(area) or area in way.control)
        if (told < most_told and held > told) or most < told:
            way.wrong += 1

    return event


def _limit(limit: tuple[int, ...], removed: Mapping[str, int]) -> Event:
    def event(way: Way) -> None:
        way.limit = limit
        for kind, count in removed.items():
            place = PLACE[kind]
            for _ in range(count):
                fitting = [area for area, there in sorted(way.forces.items()) if there[place]]
                if not fitting:
                    way.wrong += 1
                    continue
                area = max(fitting, key=lambda one: sum(way.forces[one]))
                way.take(area, counts({kind: 1}))
        if not way.fits():
            way.wrong += 1

    return event
