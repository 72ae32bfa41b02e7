"""What a case may read from a position that stands in none of its fields: values that the rules work out.

A reading is ``{"read": name, …, "is": value}``; :data:`READS` has the names with the words that each takes, and
docs/cases.md says what they mean. They ask the functions that the rules themselves read the board with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from domain.kernel.refusal import Refusal
from domain.thrones.language import answers as c
from domain.thrones.language.pieces import AreaId, HouseId, Units, is_routed, size
from domain.thrones.language.state import PlacedOrder, State
from domain.thrones.rules.action.marches import march_options
from domain.thrones.rules.action.raids import targets
from domain.thrones.rules.armies import armies, complies
from domain.thrones.rules.combat.strength import support_lines, unit_lines
from domain.thrones.rules.combat.support import eligible_orders
from domain.thrones.rules.game import Game
from domain.thrones.rules.westeros.mustering import MusterOptions, Progress, ship_places
from domain.thrones.ruleset import THRONES


class Reading(NamedTuple):
    """A reading by its words: those that it needs, and those that it may have.

    With ``asked`` it is about a decision that is open, so that it is always read where the game waits.
    """

    value: Callable[..., Any]
    needs: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    asked: bool = False


def problem_of(pattern: Mapping[str, Any]) -> str:
    """What is wrong with the words of a reading; empty if nothing is."""
    reading = READS.get(str(pattern.get("read")))
    if reading is None:
        return f"nothing is read as {pattern.get('read')}; known are {', '.join(READS)}"
    words = set(pattern) - {"read"}
    missing = sorted({*reading.needs, "is"} - words)
    if missing:
        return f"the reading {pattern['read']} needs {', '.join(missing)}"
    strange = sorted(words - {*reading.needs, *reading.may, "is"})
    return f"the reading {pattern['read']} has no {', '.join(strange)}" if strange else ""


def read(state: State, pattern: Mapping[str, Any]) -> Any:
    """The value, as JSON. Raises ``LookupError``, ``TypeError`` or ``ValueError`` for what is not there."""
    words = {f"{name}_" if name in ("from", "is") else name: value for name, value in pattern.items()}
    del words["read"], words["is_"]
    game = THRONES.rules_of(state).game(state)
    return msgspec.json.decode(msgspec.json.encode(READS[pattern["read"]].value(game, **words)))


def readings(patterns: Sequence[Mapping[str, Any]], at: State, waiting: State) -> Iterator[tuple[str, str]]:
    """Compare readings with a position, and with the one in which the game waits: what was read, and what is wrong."""
    for pattern in patterns:
        told = ", ".join(f"{key}={value}" for key, value in pattern.items() if key not in ("read", "is"))
        try:
            found: Any = read(waiting if READS[pattern["read"]].asked else at, pattern)
            wrong = "" if found == pattern["is"] else f"found {found}"
        except (LookupError, TypeError, ValueError, Refusal) as error:
            wrong = f"cannot be read: {type(error).__name__} {error}"
        yield f"{pattern['read']}({told}) = {pattern['is']}", wrong


# Supply


def _limit(game: Game, house: HouseId = "", supply: int | None = None) -> tuple[int, ...]:
    return tuple(game.edition.supply_limit(supply) if supply is not None else game.supply_limit(house))


def _complies(game: Game, sizes: Sequence[int], house: HouseId = "", supply: int | None = None) -> bool:
    return complies(sizes, _limit(game, house, supply))


def _losses(game: Game, house: HouseId) -> int:
    """What is owed where the House is asked now; nothing where it is not."""
    asked = (one.default for one in THRONES.decisions(game.state) if one.player == house)
    return sum(size(units) for one in asked if isinstance(one, c.ReconcileSupply) for units in one.units.values())


# Mustering


def _progress(game: Game, answer: Any) -> Progress:
    muster = msgspec.convert(answer, c.Muster)
    for one in THRONES.decisions(game.state):
        if one.player == muster.house and isinstance(one.options, MusterOptions):
            progress = Progress(one.options)
            for step in muster.steps:
                progress.take(step)
            return progress
    raise ValueError(f"{muster.house} is not asked to muster")


def _points(game: Game, area: AreaId, answer: Any) -> int:
    return _progress(game, answer).points.get(area, 0)


def _steps(game: Game, area: AreaId, answer: Any) -> list[c.MusterStep]:
    return [step for step in _progress(game, answer).legal_steps() if step.area == area]


# Marches and battles


def _reach(game: Game, area: AreaId, unit: str = "") -> list[AreaId]:
    """Areas that one unit of the area may march into: one of this kind, or of any that stands upright."""
    house = game.state.house_in(area)
    if house is None or area not in game.orders_of(house, "march"):
        raise ValueError(f"nobody marches from {area}")
    options = march_options(game, house, area)
    there = options.origins[area]
    units = [unit] if unit else [one for one in there.units if not is_routed(one)]
    return sorted(
        to
        for to in there.to
        if any(options.is_legal(c.MarchOrder(house, area, (c.Move(to, {one: 1}),))) for one in units)
    )


def _seas(game: Game, from_: AreaId, to: AreaId) -> int | None:
    """The length of the shortest chain of seas between two land areas, whoever has Ships there."""
    board = game.board
    reached = {sea for sea in board.neighbours[from_] if board.is_sea(sea)}
    seen, number = set(reached), 1
    while reached:
        if any(to in board.neighbours[sea] for sea in reached):
            return number
        reached = {other for sea in reached for other in board.neighbours[sea] if board.is_sea(other)} - seen
        seen |= reached
        number += 1
    return None


def _supports(game: Game, area: AreaId) -> list[AreaId]:
    """Areas in which a Support order of this area can support; one is laid where none lies."""
    if area not in game.state.orders:
        token = next(token.id for token in game.edition.tokens.values() if token.type == "support")
        orders = dict(sorted({**game.state.orders, area: PlacedOrder(game.houses[0], token)}.items()))
        state = msgspec.structs.replace(game.state, orders=orders)
        game = THRONES.rules_of(state).game(state)
    beside = (one for one in sorted(game.board.neighbours[area]) if not game.board.is_port(one))
    return [one for one in beside if any(area in areas for areas in eligible_orders(game, one).values())]


def _support(game: Game, area: AreaId) -> int:
    """What the Support order of the area gives an attacker beside it."""
    beside = next(iter(_supports(game, area)), None)
    return sum(line.amount for line in support_lines(game, None, area, beside, "attacker")) if beside else 0


def _strength(game: Game, units: Units) -> int:
    """What units count by themselves, in an attack on an area without a castle."""
    target = next(area for area in game.board.land if not game.board.has_castle(area))
    lines = unit_lines(game, None, "units", units, game.houses[0], target, target, "attacker")
    return sum(line.amount for line in lines)


_ICONS: dict[str, Callable[[Any], int]] = {"supply": lambda area: area.supply, "power": lambda area: area.power}

READS: dict[str, Reading] = {
    "icons": Reading(lambda game, area, icon: _ICONS[icon](game.board[area]), ("area", "icon")),
    "pool": Reading(lambda game, house: game.pool(house), ("house",)),
    "stars": Reading(lambda game, house: game.stars(house), ("house",)),
    "castles-to-win": Reading(lambda game: game.victory_areas),
    "supply-limit": Reading(_limit, (), ("house", "supply")),
    "armies": Reading(lambda game, house: armies(game.sizes(house).values()), ("house",)),
    "complies": Reading(_complies, ("sizes",), ("house", "supply")),
    "losses": Reading(_losses, ("house",), asked=True),
    "points-left": Reading(_points, ("area", "answer"), asked=True),
    "further-steps": Reading(_steps, ("area", "answer"), asked=True),
    "ship-places": Reading(lambda game, house, area: ship_places(game, house, area), ("house", "area")),
    "raid-targets": Reading(lambda game, area: targets(game, area), ("area",)),
    "reach": Reading(_reach, ("area",), ("unit",)),
    "seas-between": Reading(_seas, ("from", "to")),
    "supports": Reading(_supports, ("area",)),
    "support": Reading(_support, ("area",)),
    "strength": Reading(_strength, ("units",)),
}
