"""When no hidden choice explains an entry: its outcome is taken over as a correction, and the game goes on.

A correction is the arbiter's act of the kernel, with stated facts; it never counts as explained.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from api.games.thrones.logs import records as r
from domain.kernel.arbiter import Correct
from domain.kernel.facts import Fact
from domain.thrones.language import facts as f
from domain.thrones.language.pieces import AreaId, HouseId, Units, each, in_order, plus, routed, size
from domain.thrones.language.state import State
from domain.thrones.tables.edition import Edition

RULES_OF: Mapping[str, tuple[str, ...]] = {
    "battle": ("2E-CBT-28", "2E-CAS-4", "2E-RET-6"),
    "retreat": ("2E-RET-5", "2E-RET-6"),
    "refused": ("2E-MAR-1",),
    "turn": ("2E-ACT-2",),
    "march-left": ("2E-ACT-3",),
    "absent": ("2E-PLN-2",),
    "orders": ("2E-PLN-2", "2E-PLN-4", "2E-PLN-5"),
    "muster": ("2E-MUS-3", "2E-SUP-8"),
    "power": ("2E-COK-2", "2E-GEN-7"),
    "card": ("2E-CBT-21",),
    "raven": ("2E-RVN-2",),
    "raid": ("2E-RAID-2", "2E-RAID-5"),
    "consolidate": ("2E-CP-1",),
    "income": ("2E-GOT-1",),
    "supply": ("2E-SUP-4",),
    "winner": ("2E-VIC-2", "2E-VIC-5"),
    "track": ("2E-COK-3", "2E-DP-7"),
    "wildlings": ("2E-WLD-4",),
}
"""Rules by which our engine rules where the log does not fit."""


def correction(facts: Iterable[Fact], entry: int) -> Correct:
    """The arbiter's act that states what the log says."""
    stated = tuple(msgspec.to_builtins(fact) for fact in facts)
    return Correct(facts=stated, reason=f"Accepted at the import: the log has it so in its entry {entry}.", by="import")


def outcome(state: State, edition: Edition, march: r.Marched, group: Sequence[r.Entry]) -> list[Fact]:
    """Facts that put the units of a march, and of its battle, where the log leaves them."""
    house = march.house
    forces: dict[AreaId, tuple[HouseId, Units]] = {
        area: (force.house, dict(force.units)) for area, force in state.units.items()
    }

    def take(area: AreaId, units: Units) -> None:
        owner, there = forces.get(area, (house, {}))
        if owner != house:
            return
        left = dict(in_order(there))
        for unit in each(units):
            for name in (unit, routed(unit)):
                if left.get(name):
                    left[name] -= 1
                    break
        forces[area] = (house, {kind: count for kind, count in left.items() if count})

    def put(owner: HouseId, area: AreaId, units: Units) -> None:
        _, there = forces.get(area, (owner, {}))
        if forces.get(area, (owner, {}))[0] != owner:
            there = {}
        forces[area] = (owner, plus(there, units))

    for step in march.steps:
        take(march.area, step.units)
        put(house, step.to, step.units)
    attack = march.attack
    if attack is not None:
        lost = next((one.record for one in group if isinstance(one.record, r.BattleLost)), None)
        if lost is not None and lost.house == attack.defender:
            owner, there = forces.get(attack.area, (attack.defender, {}))
            take(march.area, attack.units)
            left = _without(there, lost.killed) if owner == attack.defender else {}
            forces[attack.area] = (house, dict(attack.units))
            if lost.to and size(left):
                put(attack.defender, lost.to, {routed(unit): count for unit, count in left.items()})
        elif lost is not None:
            take(march.area, attack.units)
            left = _without(attack.units, lost.killed)
            if size(left) and lost.how != "stuck":
                put(house, lost.to or march.area, {routed(unit): count for unit, count in left.items()})
    return _differences(state, edition, forces)


def _without(units: Mapping[str, int], killed: Mapping[str, int]) -> Units:
    left = dict(units)
    for kind, count in killed.items():
        for _ in range(count):
            for name in (kind, routed(kind)):
                if left.get(name):
                    left[name] -= 1
                    break
    return {unit: count for unit, count in left.items() if count}


def _differences(state: State, edition: Edition, forces: Mapping[AreaId, tuple[HouseId, Units]]) -> list[Fact]:
    """Facts from the units of a position to others; what the board does not have is left out."""
    gone: list[Fact] = []
    come: list[Fact] = []
    for area in sorted({*forces, *state.units}):
        if area not in edition.board:
            continue
        owner, units = forces.get(area, ("", {}))
        now = state.units.get(area)
        if now is not None and (now.house != owner or now.units != units):
            gone.append(f.UnitsDestroyed(house=now.house, area=area, units=now.units))
        if size(units) and (now is None or now.house != owner or now.units != units):
            come.append(f.UnitsPlaced(house=owner, area=area, units=dict(in_order(units))))
            placed = state.orders.get(area)
            if placed is not None and placed.house != owner:
                gone.append(f.OrderRemoved(house=placed.house, area=area, order=placed.token))
            if area in state.neutral:
                gone.append(f.NeutralForceRemoved(area=area))
    return [*gone, *come]


def mustered(
    state: State, edition: Edition, house: HouseId, units: Mapping[str, int], castles: Sequence[AreaId]
) -> list[Fact]:
    """Facts for a muster that is not legal as we have it: new units at home or where the House holds a Castle."""
    places = list(castles) or [area for area in state.areas_of(house) if edition.board.is_land(area)]
    facts: list[Fact] = []
    if not places:
        return facts
    home = edition.board.home_of.get(house, "")
    at = home if home in places else places[0]
    for kind, count in units.items():
        for _ in range(count):
            if kind.endswith("-upgrade"):
                area = next((one for one in state.areas_of(house) if state.units_in(one).get("footman")), None)
                if area is not None:
                    facts.append(
                        f.UnitReplaced(house=house, area=area, old="footman", new=kind.removesuffix("-upgrade"))
                    )
                    break
            elif kind == "ship":
                port = edition.board.port_of.get(at)
                sea = next((one for one in edition.board.neighbours[at] if edition.board.is_sea(one)
                            and state.house_in(one) in (None, house)), port)  # fmt: skip
                if sea:
                    facts.append(f.UnitsPlaced(house=house, area=sea, units={"ship": 1}))
            else:
                facts.append(f.UnitsPlaced(house=house, area=at, units={kind: 1}))
    return facts


def missing(state: State, house: HouseId, area: AreaId, units: Mapping[str, int]) -> Any:
    """A fact that puts units where a march needs them."""
    there = state.units_in(area) if state.house_in(area) in (None, house) else {}
    lacking = {kind: count - there.get(kind, 0) for kind, count in units.items() if count > there.get(kind, 0)}
    return f.UnitsPlaced(house=house, area=area, units=lacking) if lacking else None
