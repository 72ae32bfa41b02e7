"""What a battle may hide: order tokens of an unknown strength, support that was or was not given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from api.games.thrones.following.hypothesis import Hypothesis
from api.games.thrones.following.orders import MARCHES, QUIET
from api.games.thrones.logs import records as r
from domain.thrones.language.pieces import AreaId
from domain.thrones.rules.game import Game
from domain.thrones.tables.edition import Edition


@dataclass(frozen=True)
class Change:
    """One hidden thing otherwise than assumed. ``helps`` is the side that gains by it, by how much at the least."""

    orders: dict[AreaId, str] = field(default_factory=dict)
    words: dict[AreaId, str] = field(default_factory=dict)
    helps: int = 0
    cost: int = 1


def changes_for(
    game: Game, here: Hypothesis, edition: Edition, entry: r.Entry, group: Sequence[r.Entry], *, closer: bool = False
) -> list[Change]:
    """Single changes that could turn a battle, or beat a neutral force, the weakest first.

    With ``closer`` they help who lost: a battle may have been nearer than it seems.
    """
    record = entry.record
    if not isinstance(record, r.Marched):
        return []
    state = game.state
    laid = {area: kind for (number, _), orders in here.laid.items() if number == state.round
            for area, kind in orders.items()}  # fmt: skip
    lost = next((one.record.house for one in group if isinstance(one.record, r.BattleLost)), None)
    attack = record.attack
    target = attack.area if attack is not None else next((one.to for one in record.steps if one.beat_neutral), None)
    if target is None or target not in edition.board:
        return []
    attacker_wins = attack is None or lost != attack.house
    attacker_wins = attacker_wins != closer
    sign = 1 if attacker_wins else -1
    told = here.demands.fixed if here.demands is not None else {}
    carried = here.demands.carried if here.demands is not None else {}
    origin = carried.get(record.area, record.area)
    found: list[Change] = []

    barred = here.demands.barred if here.demands is not None else frozenset()
    bare = here.demands.bare if here.demands is not None else frozenset()

    def may_be(area: AreaId, kind: str) -> bool:
        fixed = told.get(area)
        if (
            fixed is None
            and area in barred
            and not kind.startswith(("march",) if area in bare else ("defense", "march"))
        ):
            return False
        return (fixed is None or kind in fixed) and here.pinned.get(area, kind) == kind and laid.get(area) != kind

    values = {"march-minus-1": -1, "march-0": 0, "march-plus-1": 1}
    for kind in MARCHES:
        if may_be(origin, kind):
            gain = (values[kind] - values.get(laid.get(origin, ""), 0)) * sign
            if gain:
                found.append(Change({origin: kind}, helps=gain, cost=1 if kind != "march-plus-1" else 2))
    if attack is not None and target in state.orders and state.orders[target].house == attack.defender:
        defenses = {"defense-plus-1": 1, "defense-plus-2": 2}
        for kind in (*QUIET, "march-0", "consolidate"):
            if may_be(target, kind):
                gain = -(defenses.get(kind, 0) - defenses.get(laid.get(target, ""), 0)) * sign
                if gain > 0:
                    found.append(Change({target: kind}, helps=gain, cost=1 + kind.endswith("2")))
    for near in edition.board.neighbours[target]:
        if near not in state.orders or near == record.area:
            continue
        owner = state.orders[near].house
        supports = laid.get(near, "").startswith("support")
        ours = attack is None or owner == attack.house
        theirs = attack is not None and owner == attack.defender
        units = sum(state.units_in(near).values())
        if attack is None and owner != record.house:
            if supports or may_be(near, "support-0"):
                found.append(Change({} if supports else {near: "support-0"}, {near: "granted"}, units, 4))
            continue
        gain = (1 if ours else -1) * sign * units
        if supports and (ours or theirs):
            if may_be(near, "support-plus-1"):
                found.append(Change({near: "support-plus-1"}, helps=1 if gain > 0 else -1, cost=2))
            if may_be(near, "defense-plus-1"):
                found.append(Change({near: "defense-plus-1"}, helps=-gain, cost=2))
            found.append(Change({}, {near: "withhold"}, -gain, 4))
        elif ours or theirs:
            for kind in ("support-0", "support-plus-1"):
                if may_be(near, kind):
                    found.append(Change({near: kind}, helps=gain, cost=2 + kind.endswith("1")))
        else:
            word = "attacker" if attacker_wins else "defender"
            other = "defender" if attacker_wins else "attacker"
            if supports:
                found.append(Change({}, {near: word}, units, 5))
                found.append(Change({}, {near: other}, -units, 6))
            else:
                for kind in ("support-0", "support-plus-1"):
                    if may_be(near, kind):
                        found.append(Change({near: kind}, {near: word}, units, 6))
    # What does not help whoever won may still change what the cards do.
    found.sort(
        key=lambda one: (one.helps <= 0, one.cost, -one.helps, sorted(one.orders.items()), sorted(one.words.items()))
    )
    return found
