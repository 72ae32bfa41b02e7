"""Whether an organiser's own values make tables that a game can be played by.

Types are checked where tables are read; here stands what types cannot say: that names are known and numbers possible.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from domain.thrones.language.pieces import TRACKS
from domain.thrones.tables.edition import Tables

MOST = 99
"""No number of these games is larger."""


def problems_of(tables: Tables, written: Any, base: Tables) -> Iterator[str]:
    """What is wrong, in words. ``written`` is what the tables were read from, ``base`` the tables without it."""
    yield from _unknown_fields(written, msgspec.json.decode(msgspec.json.encode(tables)), "")
    yield from _numbers(written, "")
    yield from _twice(tables)
    yield from _without_rules(tables, base)
    yield from _board(tables)
    yield from _houses(tables)
    yield from _players(tables)
    yield from _pieces(tables)


def _unknown_fields(written: Any, read: Any, path: str) -> Iterator[str]:
    """A misspelt field would otherwise be left out without a word."""
    if isinstance(written, Mapping):
        for name, value in written.items():
            if name not in read:
                yield f"{path}/{name} is not a field"
            else:
                yield from _unknown_fields(value, read[name], f"{path}/{name}")
    elif isinstance(written, list | tuple):
        for number, (one, other) in enumerate(zip(written, read, strict=True)):
            yield from _unknown_fields(one, other, f"{path}/{number}")


def _numbers(value: Any, path: str) -> Iterator[str]:
    """Only what a card or an order adds may be less than nothing; places on the map are free."""
    if isinstance(value, Mapping):
        for name, one in value.items():
            if name not in ("x", "y"):
                may_be_less = name in ("modifier", "strength") and isinstance(one, int)
                yield from _numbers(abs(one) if may_be_less else one, f"{path}/{name}")
    elif isinstance(value, list | tuple):
        for number, one in enumerate(value):
            yield from _numbers(one, f"{path}/{number}")
    elif isinstance(value, int) and not 0 <= value <= MOST:
        yield f"{path} is {value}; possible are 0 to {MOST}"


def _twice(tables: Tables) -> Iterator[str]:
    decks = [card for deck in tables.westeros_decks.values() for card in deck]
    for what in (tables.areas, tables.houses, tables.units, tables.order_tokens, tables.house_cards, decks):
        ids = [one.id for one in what]
        yield from (f"{one} is there twice" for one in sorted({one for one in ids if ids.count(one) > 1}))


def _unknown(what: str, names: Iterable[str | None], known: Iterable[str]) -> Iterator[str]:
    there = {*known}
    yield from (f"{what} {name} is not known" for name in names if name is not None and name not in there)


def _board(tables: Tables) -> Iterator[str]:
    areas = {area.id: area for area in tables.areas}
    yield from _unknown("area", (area for link in tables.links for area in link), areas)
    yield from (f"{one} lies next to itself" for one, other in tables.links if one == other)
    for area in tables.areas:
        if area.kind == "port" and (area.land not in areas or area.sea not in areas):
            yield f"{area.id} needs the land and the sea that it joins"
        if not 0 <= area.castle <= 2:
            yield f"{area.id} has no Castle of size {area.castle}"


def _houses(tables: Tables) -> Iterator[str]:
    areas = {area.id: area for area in tables.areas}
    kinds = {unit.id: unit for unit in tables.units}
    for house in tables.houses:
        yield from _unknown("area", (house.home, *house.units, *house.errata_units), areas)
        yield from _unknown("unit", house.limits, kinds)
        if house.home in areas and areas[house.home].home != house.id:
            yield f"{house.home} is not marked as the home of {house.id}"
        if house.supply > tables.constants.supply_maximum:
            yield f"{house.id} starts with supply {house.supply}, beyond the track"
        for area, units in house.units.items():
            yield from _unknown("unit", units, kinds)
            realm = "land" if area in areas and areas[area].kind == "land" else "sea"
            yield from (
                f"{unit} of {house.id} cannot start in {area}"
                for unit in units
                if unit in kinds and kinds[unit].realm != realm
            )
        for kind, limit in house.limits.items():
            count = sum(units.get(kind, 0) for units in house.units.values())
            if count > limit:
                yield f"{house.id} starts with {count} {kind}, more than it has"


def _players(tables: Tables) -> Iterator[str]:
    known = {house.id for house in tables.houses}
    areas = {area.id for area in tables.areas}
    for count in tables.players:
        yield from _unknown("House", count.houses, known)
        yield from _unknown("area", (*count.neutral_forces, *count.impassable), areas)
        if len(count.houses) != count.count or len({*count.houses}) != count.count:
            yield f"{count.count} players need as many Houses"
        for track in TRACKS:
            if sorted(count.influence.get(track, ())) != sorted(count.houses):
                yield f"the {track} track of {count.count} players lists other Houses than play"
        if len(count.stars) < count.count:
            yield f"special orders of {count.count} players are not stated for every position"
    counts = [count.count for count in tables.players]
    if len({*counts}) != len(counts):
        yield "a number of players is there twice"


def _pieces(tables: Tables) -> Iterator[str]:
    constants = tables.constants
    yield from _unknown("House", (card.house for card in tables.house_cards), (house.id for house in tables.houses))
    for house in tables.houses:
        if not any(card.house == house.id for card in tables.house_cards):
            yield f"{house.id} has no House card"
    if len(tables.supply_limits) <= constants.supply_maximum:
        yield "supply limits are not stated for every space of the track"
    if constants.threat_start not in constants.threat_track:
        yield f"the wildling track has no space {constants.threat_start}"
    if not constants.rounds or not constants.victory_areas:
        yield "a game has at least one round, and somebody can win it"
    if len(tables.westeros_decks) != 3:
        yield "there are three Westeros decks"
    for name, deck in tables.westeros_decks.items():
        if sum(card.count for card in deck) < constants.rounds - 1:
            yield f"Westeros deck {name} has fewer cards than there are rounds to draw for"


def _without_rules(tables: Tables, base: Tables) -> Iterator[str]:
    """What rules know by its name cannot be invented: a card of the decks, an order token, a kind of unit, a House."""

    def cards(of: Tables) -> set[str]:
        return {card.id for deck in of.westeros_decks.values() for card in deck}

    yield from _unknown("Westeros card", sorted(cards(tables)), cards(base))
    for what, ours, theirs in (
        ("wildling card", tables.wildling_cards, base.wildling_cards),
        ("Tides of Battle card", tables.tides_cards, base.tides_cards),
        ("order token", tables.order_tokens, base.order_tokens),
        ("unit", tables.units, base.units),
        ("House", tables.houses, base.houses),
    ):
        yield from _unknown(what, [one.id for one in ours], {one.id for one in theirs})
        if what != "wildling card" and not ours:
            yield f"there is no {what}"
