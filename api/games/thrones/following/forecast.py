"""Where units must be, by what a log tells later: pieces counted with few rules, to rank what a muster may have been.

All ways to place a muster are played side by side through the later entries of their House. A unit that marches from
a place where it is not, dies where it is not, or would break the supply limit there speaks against its way. Later
musters branch again; the ways against which least speaks go on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from api.games.thrones.following.evidence import FOOTMAN, NOTHING, Event, Evidence, Way, counts
from api.games.thrones.logs import records as r
from domain.thrones.language.pieces import AreaId, HouseId, Units
from domain.thrones.tables.edition import Edition

UPGRADED = {"knight-upgrade": "knight", "siege-engine-upgrade": "siege-engine"}
COSTS = {"footman": 1, "ship": 1, "siege-engine": 2, "knight": 2}

WIDTH = 72
"""Ways that go on from one muster to the next."""
HORIZON = 6
"""Later musters of the House that are looked at."""
MOST_PLACED = 60
"""Ways to place one later muster that are looked at."""


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
            Way({area: counts(units) for area, units in start.items()}, self.control, self.limit, {number: 0}, 0)
            for number, start in enumerate(starts)
        ]
        # What fell out of the race is worse than what did not, by when it fell.
        against = [1_000] * len(ways)
        for events, muster in self.stages:
            for event in events:
                ways = carried_out(ways, event)
            best: dict[tuple[object, ...], Way] = {}
            for way in sorted(ways, key=lambda one: one.wrong):
                key = way.key()
                best[key] = best[key].joined(way) if key in best else way
            ways = _leading(list(best.values()))
            now: dict[int, int] = {}
            for way in ways:
                for origin, extra in way.origins.items():
                    now[origin] = min(now.get(origin, way.wrong + extra), way.wrong + extra)
            for origin, before in enumerate(against):
                if origin in now:
                    against[origin] = now[origin]
                elif before < 1_000:
                    against[origin] += 50
            if muster is None:
                break
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
        footmen = {one: way.forces.get(one, NOTHING)[FOOTMAN] for one in castles}
        for count, other in enumerate(self._placed(way.copy(), items, 0, 0, castles, points, footmen)):
            if count > MOST_PLACED:
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
            before = way.forces.get(to)
            points[area] -= cost
            footmen[area] -= is_upgrade
            way.put(to, one)
            if is_upgrade:
                way.take(to, (1, 0, 0, 0))
            yield from self._placed(way, items, at + 1, number, castles, points, footmen)
            if before is None:
                way.forces.pop(to, None)
            else:
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
        evidence = Evidence(self.edition, house, dict(self.others))
        events: list[Event] = []
        musters = 0
        for place, entry in enumerate(entries):
            record = entry.record
            events += evidence.events(entry, entries[place + 1 :])
            muster: tuple[AreaId, Mapping[str, int]] | None = None
            match record:
                case r.SpecialMustered() if record.house == house:
                    muster = (record.area, record.units)
                case r.Mustered() if record.house == house:
                    muster = ("", record.units)
                case r.WildlingsBeaten():
                    raised = [one for one in record.effects if isinstance(one, r.UnitsRaised) and one.house == house]
                    muster = ("", raised[0].units) if raised else None
                case _:
                    pass
            if muster is not None:
                self.stages.append((events, muster))
                events = []
                musters += 1
                if musters == HORIZON:
                    return
        self.stages.append((events, None))


def carried_out(ways: list[Way], event: Event) -> list[Way]:
    """The ways after an event, with those it branches into."""
    found = []
    for way in ways:
        branches = event(way)
        if branches is None:
            found.append(way)
        else:
            found.extend(branches)
    return found


def _leading(ways: list[Way]) -> list[Way]:
    """The best ways, several origins among them."""
    if len(ways) <= WIDTH:
        return ways
    by_origin: dict[int, int] = {}
    found = []
    for way in ways:
        if any(by_origin.get(origin, 0) < max(8, WIDTH // 8) for origin in way.origins):
            found.append(way)
            for origin in way.origins:
                by_origin[origin] = by_origin.get(origin, 0) + 1
        if len(found) == WIDTH:
            break
    return found
