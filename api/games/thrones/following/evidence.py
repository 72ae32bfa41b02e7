"""What later entries say of where the units of one House stand: each entry as tests and moves of counted pieces.

An event must never speak against what truly happened, or the forecast is led astray where nothing is wrong. Where
an entry leaves open which units it took, an event gives every way on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations_with_replacement

from api.games.thrones.logs import records as r
from domain.thrones.language.pieces import AreaId, HouseId
from domain.thrones.rules.action.reach import coast
from domain.thrones.tables.board import Board
from domain.thrones.tables.edition import Edition

KINDS = ("footman", "ship", "siege-engine", "knight")
PLACE = {kind: number for number, kind in enumerate(KINDS)}
FOOTMAN, SHIP, ENGINE, KNIGHT = range(4)

MOST_LOSSES = 120
"""Ways to give up units that one entry may branch into."""
MACE = "mace-tyrell"
"""A card that kills a Footman of whoever fights its owner, which is not told of a winner."""

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


def _less(one: Count, other: Count) -> Count:
    return (
        max(0, one[0] - other[0]),
        max(0, one[1] - other[1]),
        max(0, one[2] - other[2]),
        max(0, one[3] - other[3]),
    )


class Way:
    """One way in which units may stand: where, the areas under control, and how much speaks against it.

    ``origins`` are the starts from which it is reached, with how much more speaks against each.
    """

    __slots__ = ("control", "forces", "limit", "origins", "wrong")

    def __init__(
        self,
        forces: Forces,
        control: frozenset[AreaId],
        limit: tuple[int, ...],
        origins: Mapping[int, int],
        wrong: int,
    ) -> None:
        self.forces = forces
        self.control = control
        self.limit = limit
        self.origins = origins
        self.wrong = wrong

    def copy(self) -> Way:
        return Way(dict(self.forces), self.control, self.limit, self.origins, self.wrong)

    def joined(self, other: Way) -> Way:
        """This way, also reached from where another that has come out the same began."""
        more = other.wrong - self.wrong
        origins = dict(self.origins)
        for origin, extra in other.origins.items():
            origins[origin] = min(origins.get(origin, extra + more), extra + more)
        return Way(self.forces, self.control, self.limit, origins, self.wrong)

    def key(self) -> tuple[object, ...]:
        return (frozenset(self.forces.items()), self.control, self.limit)

    def has(self, area: AreaId) -> bool:
        return area in self.forces

    def take(self, area: AreaId, units: Count) -> None:
        there = self.forces.get(area, NOTHING)
        short = 0
        for have, count in zip(there, units, strict=True):
            short += max(0, count - have)
        self.wrong += short
        self._set(area, _less(there, units))

    def put(self, area: AreaId, units: Count) -> None:
        self._set(area, _plus(self.forces.get(area, NOTHING), units))

    def _set(self, area: AreaId, units: Count) -> None:
        if any(units):
            self.forces[area] = units
        else:
            self.forces.pop(area, None)

    def fits(self) -> bool:
        sizes = [one for count in self.forces.values() if (one := count[0] + count[1] + count[2] + count[3]) > 1]
        if len(sizes) > len(self.limit):
            return False
        sizes.sort(reverse=True)
        return all(one <= most for one, most in zip(sizes, self.limit, strict=False))


Event = Callable[[Way], "Iterable[Way] | None"]
"""What an entry does to a way; where it branches, all ways on from there."""


@dataclass
class Evidence:
    """The entries of a log read for one House. ``known`` has who is known to stand where, as entries go by."""

    edition: Edition
    house: HouseId
    known: dict[AreaId, HouseId]
    fight: r.Attack | None = None
    cards: dict[HouseId, str] = field(default_factory=dict)

    @property
    def board(self) -> Board:
        return self.edition.board

    def events(self, entry: r.Entry, later: Iterable[r.Entry]) -> Iterator[Event]:
        """What one entry asks of the House. ``later`` are the entries behind it."""
        record, house = entry.record, self.house
        match record:
            case r.Marched():
                yield from self._marched(record)
            case r.CardChosen():
                self.cards[record.house] = record.card
            case r.SupportGiven() if self.fight is not None and record.house == house:
                yield _near(self.board, self.fight.area)
            case r.BattleLost() if self.fight is not None:
                yield from self._lost(record, self.fight)
            case r.AbilityResolved():
                yield from self._ability(record)
            case r.OrderGivenUp() | r.RavenReplaced() | r.PowerTaken() | r.SpecialMustered():
                yield partial(_there, area=record.area) if record.house == house else partial(_absent, area=record.area)
            case r.GameOfThronesPower():
                yield _income(self, record.power.get(house, 0))
            case r.SupplyCounted() if record.house == house:
                yield _icons(self, record.supply)
                yield partial(_removed, units=counts(record.removed))
                yield partial(
                    _limit, limit=self.edition.supply_limit(min(record.supply, self.edition.constants.supply_maximum))
                )
            case r.RaidUnusable():
                yield from self._ordered(record.area, later)
            case r.Raided():
                if record.house == house:
                    yield _raider(self.board, [area for area, _ in record.targets])
                for area, _ in record.targets:
                    if record.house == house:
                        yield partial(_absent, area=area)
                    else:
                        yield from self._ordered(area, later)
            case r.WildlingsBeaten() | r.WildlingsWon():
                yield from self._wildlings(record)
            case _:
                pass

    def _marched(self, record: r.Marched) -> Iterator[Event]:
        self.fight, self.cards = record.attack, {}
        attack, house, known = record.attack, self.house, self.known
        if record.house == house:
            yield _march(self, record)
        else:
            yield partial(_absent, area=record.area)
            if self._is_home(record.area):
                yield partial(_regained, home=record.area)
            for step in record.steps:
                yield _entered(self.board, step.to)
            if attack is not None and attack.defender == house:
                yield partial(_there, area=attack.area, garrison=self._is_home(attack.area))
            elif attack is not None:
                yield partial(_absent, area=attack.area)
        known.pop(record.area, None)
        for step in record.steps:
            known[step.to] = record.house

    def _is_home(self, area: AreaId) -> bool:
        return area in self.board and self.board[area].home == self.house

    def _lost(self, record: r.BattleLost, fight: r.Attack) -> Iterator[Event]:
        """The end of a battle, for whoever fought it and for who stands where others retreat to."""
        house, known, board = self.house, self.known, self.board
        attacker_lost = record.house == fight.house
        maced = MACE in self.cards.values() and self.cards.get(record.house) == MACE
        if fight.house == house:
            gone = counts(record.killed if attacker_lost else record.other)
            to = (record.to or fight.origin) if attacker_lost else fight.area
            if not (attacker_lost and record.how == "stuck"):
                yield _arrives(board, to, _less(counts(fight.units), gone), maced=maced and not attacker_lost)
                port = board.port_of.get(fight.area)
                if not attacker_lost and port is not None and record.killed.get("ship"):
                    yield partial(_captures, port=port, most=record.killed["ship"])
        elif record.house == house:
            yield _beaten(board, fight, record)
        else:
            if fight.defender == house and maced:
                yield partial(_footman_dies, area=fight.area)
            if record.to is not None:
                yield _entered(board, record.to)
        if attacker_lost:
            known[fight.area] = fight.defender
        else:
            known[fight.area] = fight.house
            known.pop(board.port_of.get(fight.area, ""), None)
        if record.to is not None and record.how != "stuck":
            known[record.to] = record.house
        self.fight = None

    def _ability(self, record: r.AbilityResolved) -> Iterator[Event]:
        foes = [house for house in self.cards if house != record.house]
        for effect in record.effects:
            if isinstance(effect, r.UnitUpgraded) and record.house == self.house:
                yield partial(_raised, area=effect.area)
            elif isinstance(effect, r.OrderTakenOff):
                yield partial(_there, area=effect.area) if foes == [self.house] else partial(_absent, area=effect.area)

    def _wildlings(self, record: r.WildlingsBeaten | r.WildlingsWon) -> Iterator[Event]:
        limits = []
        for effect in record.effects:
            if getattr(effect, "house", None) != self.house:
                continue
            if isinstance(effect, r.UnitsExchanged):
                yield partial(_exchanged, old=PLACE[effect.old], new=PLACE[effect.new], count=effect.count)
            elif isinstance(effect, r.UnitsRemoved):
                yield partial(_removed, units=counts(effect.units))
            elif isinstance(effect, r.SupplyLimited):
                limits.append(self.edition.supply_limit(min(effect.supply, self.edition.constants.supply_maximum)))
        yield from (partial(_limit, limit=one) for one in limits)

    def _ordered(self, area: AreaId, later: Iterable[r.Entry]) -> Iterator[Event]:
        """Somebody has an order in an area: who was seen to enter it, or is the next to do something there."""
        owner = self.known.get(area) or next_owner(area, later)
        if owner == self.house:
            yield partial(_there, area=area)
        elif owner is not None:
            yield partial(_absent, area=area)


def next_owner(area: AreaId, later: Iterable[r.Entry]) -> HouseId | None:
    """The House that later entries find in an area where somebody stands; None where they do not say."""
    for entry in later:
        record = entry.record
        match record:
            case r.Marched():
                if record.area == area:
                    return record.house
                if record.attack is not None and record.attack.area == area:
                    return record.attack.defender
                if any(step.to == area for step in record.steps):
                    return None
            case r.OrderGivenUp() | r.RavenReplaced() | r.PowerTaken() | r.SpecialMustered():
                if record.area == area:
                    return record.house
            case r.BattleLost():
                if record.to == area:
                    return None
            case r.Mustered() | r.SupplyCounted():
                return None
            case _:
                pass
    return None


def _march(evidence: Evidence, record: r.Marched) -> Event:
    moves = [(step.to, counts(step.units), step.beat_neutral) for step in record.steps]
    attack = record.attack
    area = record.area
    board = evidence.board
    all_moves = [*moves, *([(attack.area, counts(attack.units), False)] if attack is not None else [])]
    # Ships of others may lie in the ports of what is entered, and be captured.
    ports = [board.port_of[to] for to, _, _ in moves if to in board.port_of and evidence.known.get(to) is None]

    def event(way: Way) -> Iterable[Way] | None:
        for to, units, _ in all_moves:
            if not _reaches(board, way, area, to):
                way.wrong += 1
            way.take(area, units)
        for to, units, _ in moves:
            way.put(to, units)
            if to in board and board.is_land(to):
                way.control |= {to}
        if attack is not None:
            way.put(attack.area, counts(attack.units))
        if not way.fits():
            way.wrong += 1
        if attack is not None:
            way.take(attack.area, counts(attack.units))
        found: list[Way] = [way]
        for port in ports:
            if not way.has(port):
                found = [one for way in found for one in (way, *_captured(way, port, 2))]
        return found if len(found) > 1 else None

    return event


def _captures(way: Way, port: AreaId, most: int) -> Iterable[Way]:
    """Ships of the beaten in the port of an area are replaced by those of whoever takes it, or not (2E-PRT-13)."""
    return (*_captured(way, port, most), way)


def _captured(way: Way, port: AreaId, most: int) -> Iterator[Way]:
    for count in range(1, most + 1):
        other = way.copy()
        other.put(port, (0, count, 0, 0))
        if other.fits():
            yield other


def _reaches(board: Board, way: Way, area: AreaId, to: AreaId) -> bool:
    if area not in board or to not in board or board.are_adjacent(area, to) or not board.is_land(area):
        return True
    return to in coast(board, area, lambda sea: board.is_sea(sea) and bool(way.forces.get(sea, NOTHING)[SHIP]))


def _arrives(board: Board, area: AreaId, units: Count, *, maced: bool) -> Event:
    is_land = area in board and board.is_land(area)

    def event(way: Way) -> Iterable[Way] | None:
        way.put(area, units)
        if is_land:
            way.control |= {area}
        if maced and units[FOOTMAN]:
            other = way.copy()
            way.take(area, (1, 0, 0, 0))
            return (way, other)
        return None

    return event


def _footman_dies(way: Way, area: AreaId) -> Iterable[Way] | None:
    if not way.forces.get(area, NOTHING)[FOOTMAN]:
        return None
    other = way.copy()
    way.take(area, (1, 0, 0, 0))
    return (way, other)


def _beaten(board: Board, fight: r.Attack, record: r.BattleLost) -> Event:
    killed = counts(record.killed)
    port = board.port_of.get(fight.area)

    def event(way: Way) -> None:
        there = way.forces.pop(fight.area, NOTHING)
        way.control -= {fight.area}
        # Ships in the port of a lost area are told with the dead.
        gone = _plus(there, way.forces.pop(port, NOTHING)) if port is not None else there
        if record.how in ("stuck", "lost"):
            way.wrong += sum(abs(have - dead) for have, dead in zip(gone, killed, strict=True))
            return
        # Siege Engines cannot retreat.
        left = [have - dead for have, dead in zip(there, killed, strict=True)]
        if port is not None:
            way.wrong += abs(gone[SHIP] - killed[SHIP])
            left[SHIP] = 0
        way.wrong += sum(max(0, -one) for one in left) + (left[ENGINE] > 0)
        if not any(left):
            way.wrong += 1
        if record.to is not None:
            way.put(record.to, (max(0, left[0]), max(0, left[1]), 0, max(0, left[3])))
            if record.to in board and board.is_land(record.to):
                way.control |= {record.to}

    return event


def _entered(board: Board, area: AreaId) -> Event:
    """Another House enters an area without a fight: nobody of ours is there, and our Ships in its port are lost."""
    port = board.port_of.get(area)

    def event(way: Way) -> None:
        if way.has(area):
            way.wrong += 1
            way.forces.pop(area)
        if port is not None:
            way.forces.pop(port, None)
        way.control -= {area}

    return event


def _regained(way: Way, home: AreaId) -> None:
    """A home area that others leave falls back to its House (2E-CTL-11), unless they have left a Power token."""
    way.control |= {home}


def _there(way: Way, area: AreaId, *, garrison: bool = False) -> None:
    """Units that must stand in an area; a garrison may be attacked without."""
    if not way.has(area) and not garrison:
        way.wrong += 1


def _absent(way: Way, area: AreaId) -> None:
    if way.has(area):
        way.wrong += 1


def _near(board: Board, area: AreaId) -> Event:
    """Support comes from next to a battle."""
    near = board.neighbours[area] if area in board else ()

    def event(way: Way) -> None:
        if near and not any(way.has(one) for one in near):
            way.wrong += 1

    return event


def _raider(board: Board, targets: list[AreaId]) -> Event:
    """A Raid order lies next to all that it raids; on land it reaches no sea."""
    known = [area for area in targets if area in board]
    near = set(board.areas)
    for area in known:
        near &= {one for one in board.neighbours[area] if board.is_land(area) or not board.is_land(one)}

    def event(way: Way) -> None:
        if known and not any(way.has(one) for one in near):
            way.wrong += 1

    return event


def _raised(way: Way, area: AreaId) -> None:
    way.take(area, (1, 0, 0, 0))
    way.put(area, (0, 0, 0, 1))


def _income(evidence: Evidence, told: int) -> Event:
    """What a Game of Thrones brought: at least for areas with units and open ports, at most for all held."""
    board, house = evidence.board, evidence.house
    paying = {area: board[area].power for area in board.land if board[area].power}
    home = board.home_of.get(house, "")
    # A port with enemy Ships before it brings nothing.
    open_ports = [port for port in board.ports if evidence.known.get(board.sea_of(port), house) == house]

    def event(way: Way) -> None:
        ports = sum(1 for port in board.ports if way.has(port))
        held = sum(power for area, power in paying.items() if way.has(area) or (area == home and area in way.control))
        held += sum(1 for port in open_ports if way.has(port))
        most = ports + sum(
            power for area, power in paying.items() if way.has(area) or area in way.control or area == home
        )
        # Nobody holds more Power than there are tokens, so that less may have come than was due.
        if held > told:
            way.wrong += 1
        elif most < told:
            way.wrong += told - most

    return event


def _icons(evidence: Evidence, told: int) -> Event:
    """The same of supply icons."""
    board, house = evidence.board, evidence.house
    most_told = evidence.edition.constants.supply_maximum
    yielding = {area: board[area].supply for area in board.land if board[area].supply}
    home = board.home_of.get(house, "")

    def event(way: Way) -> None:
        held = sum(icons for area, icons in yielding.items() if way.has(area) or (area == home and area in way.control))
        most = sum(icons for area, icons in yielding.items() if way.has(area) or area in way.control or area == home)
        if (told < most_told and held > told) or most < told:
            way.wrong += 1

    return event


def _removed(way: Way, units: Count) -> Iterable[Way] | None:
    """Units given up, from wherever they may stand."""
    if not any(units):
        return None
    found = {way.key(): way}
    for kind, count in enumerate(units):
        if count:
            found = _each_taken(found.values(), kind, count, None)
    return found.values()


def _exchanged(way: Way, old: int, new: int, count: int) -> Iterable[Way]:
    """Units of one type that become another."""
    return _each_taken((way,), old, count, new).values()


def _each_taken(ways: Iterable[Way], kind: int, count: int, other: int | None) -> dict[tuple[object, ...], Way]:
    """Every way to take so many units of a type, and to put as many of another in their places."""
    one = tuple(int(place == kind) for place in range(4))
    more = tuple(int(place == other) for place in range(4))
    found: dict[tuple[object, ...], Way] = {}
    for way in ways:
        areas = [area for area, there in sorted(way.forces.items()) if there[kind]]
        able = False
        for chosen in combinations_with_replacement(areas, count):
            if any(chosen.count(area) > way.forces[area][kind] for area in chosen):
                continue
            able = True
            copy = way.copy()
            for area in chosen:
                copy.take(area, (one[0], one[1], one[2], one[3]))
                if other is not None:
                    copy.put(area, (more[0], more[1], more[2], more[3]))
            found.setdefault(copy.key(), copy)
            if len(found) >= MOST_LOSSES:
                return found
        if not able:
            way.wrong += 1
            found.setdefault(way.key(), way)
    return found


def _limit(way: Way, limit: tuple[int, ...]) -> None:
    way.limit = limit
    if not way.fits():
        way.wrong += 1
