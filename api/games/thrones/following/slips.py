"""Slips: an entry that says one thing wrong, and what it would say for everything behind it to follow.

Where no hidden choice explains an entry, either the table played otherwise than the rules have it, or the log has one
word or number wrong. Then there is a reading of one entry, that differs in one thing, under which the log goes on
without a misfit. Such readings are tried, those first that change least; how far the log can then be followed is the
evidence that a judgement rests on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from api.games.thrones.following.hypothesis import Misfit
from api.games.thrones.following.orders import MARCHES, QUIET, RAIDS
from api.games.thrones.logs import records as r
from domain.thrones.language.pieces import HouseId
from domain.thrones.tables.edition import Edition

MOST_READINGS = 60
"""Readings of one entry that are tried."""
FARTHEST = 4
"""How far off a number may be, at the least; one that is too high by more may be any that is lower."""
MOST_OF_ANYTHING = 20
"""No number of the game is higher: Power, of which there are so many tokens (2E-COMP-2)."""

ORDERS = (*MARCHES, *QUIET, *RAIDS, "consolidate", "consolidate-star")
NOT_OF_THE_GAME = ("record", "effect", "at", "stop", "by", "text", "player", "icon", "choice_icon", "beat_neutral")
"""Fields that say nothing that rules decide, and the tags of types."""
MUSTERED = ("footman", "ship", "knight", "siege-engine", "knight-upgrade", "siege-engine-upgrade")

Path = tuple[Any, ...]


@dataclass(frozen=True)
class Slip:
    """One entry read otherwise: what it says, what it is taken to say, and the misfit that this has mended."""

    entry: r.Entry
    reading: r.Record
    misfit: Misfit


def readings(record: r.Record, edition: Edition, houses: Sequence[HouseId]) -> list[r.Record]:
    """What an entry may have been meant to say, one thing of it changed: the smallest changes first."""
    data = msgspec.to_builtins(record)
    units = MUSTERED if isinstance(record, r.Mustered | r.SpecialMustered | r.WildlingsBeaten) else MUSTERED[:4]
    found: list[tuple[int, int, r.Record]] = []
    for path, leaf in _leaves(data):
        for weight, value in _others(path, leaf, edition, houses, units):
            other = _changed(data, path, leaf, value)
            if other is None:
                continue
            try:
                reading = msgspec.convert(other, type(record))
            except msgspec.ValidationError:
                continue
            if reading != record:
                found.append((weight, len(found), reading))
    return [reading for _, _, reading in sorted(found, key=lambda one: one[:2])[:MOST_READINGS]]


def _leaves(node: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Everything that a record says, with the way to it; keys of tables as well as what stands in them."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            if key not in NOT_OF_THE_GAME:
                yield from _leaves(value, (*path, key))
                if isinstance(value, int) and not isinstance(value, bool) and (key in MUSTERED or len(path) > 0):
                    yield (*path, key), _Key(key)
    elif isinstance(node, list | tuple):
        for place, value in enumerate(node):
            yield from _leaves(value, (*path, place))
        if len(node) > 1 and all(isinstance(value, str) for value in node):
            yield path, list(node)
    else:
        yield path, node


class _Key(str):
    """The key of a table, where another key could stand."""

    __slots__ = ()


def _others(
    path: Path, leaf: Any, edition: Edition, houses: Sequence[HouseId], units: Sequence[str]
) -> Iterator[tuple[int, Any]]:
    """What could stand in a place instead, with how much of a change that is."""
    if isinstance(leaf, _Key):
        names = units if leaf in units else houses if leaf in houses else ()
        yield from ((2, name) for name in names if name != leaf)
    elif isinstance(leaf, bool) or leaf is None:
        return
    elif isinstance(leaf, int):
        near_by = {leaf + by for by in range(-FARTHEST, FARTHEST + 1)} - {leaf}
        lower = range(min(leaf, MOST_OF_ANYTHING + 1))
        yield from ((abs(leaf - value), value) for value in sorted(near_by.union(lower)) if value >= 0)
    elif isinstance(leaf, list):
        for one in range(len(leaf)):
            for other in range(one + 1, len(leaf)):
                swapped = list(leaf)
                swapped[one], swapped[other] = leaf[other], leaf[one]
                yield 2 if other == one + 1 else 3, swapped
    elif leaf in houses:
        yield from ((2, house) for house in houses if house != leaf)
    elif leaf in edition.board:
        near = edition.board.neighbours[leaf]
        yield from ((2, area) for area in near)
        further = {area for one in near for area in edition.board.neighbours[one]} - {leaf, *near}
        yield from ((3, area) for area in sorted(further))
    elif leaf in edition.cards:
        yield from ((2, card) for card in edition.cards_of(edition.cards[leaf].house) if card != leaf)
    elif leaf in ORDERS:
        yield from ((2, order) for order in ORDERS if order != leaf)
    elif path and path[-1] == "track":
        yield from ((2, track) for track in ("iron-throne", "fiefdoms", "kings-court") if track != leaf)


def _changed(data: Any, path: Path, leaf: Any, value: Any) -> Any:
    """The builtins of a record with one thing changed; None where a table would have one key twice."""
    if not path:
        return value
    first, *rest = path
    if not rest and isinstance(leaf, _Key):
        if value in data:
            return None
        return {value if key == first else key: number for key, number in data.items()}
    if isinstance(data, Mapping):
        inner = _changed(data[first], tuple(rest), leaf, value)
        if inner is None:
            return None
        kept = {key: inner if key == first else one for key, one in data.items()}
        # Nobody is told to be killed, raised or paid none.
        return {key: one for key, one in kept.items() if not (key == first and inner == 0 and key in MUSTERED)}
    inner = _changed(data[first], tuple(rest), leaf, value)
    return None if inner is None else [inner if place == first else one for place, one in enumerate(data)]
