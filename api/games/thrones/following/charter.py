"""The charter of a logged table: what its settings say, and what they leave to the books."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from api.games.thrones.logs import records as r
from domain.thrones.language.pieces import AreaId, HouseId
from domain.thrones.tables.charter import AS_PRINTED, Charter, Switches, Variations
from domain.thrones.tables.charters import with_assumptions
from domain.thrones.tables.editions.composed import compose
from domain.thrones.tables.variations import FIRST_EDITION, MIXED_FOUR, PRESETS, unmet

_VARIATIONS: Mapping[str, tuple[tuple[str, ...], str, str]] = {
    "2nd Edition Garrisons": (("garrisons",), "on", "off"),
    "2nd Edition Greyjoy Start Pos.": (("greyjoy_start",), "port", "sea"),
    "2nd Edition House Card Return": (("card_return",), "all-but-last", "all"),
    "2nd Edition House Cards": (("house_cards",), "second", "first"),
    "2nd Edition Knights Limit": (("knight_limit",), "five", "four"),
    "2nd Edition Lannister Ship +1": (("lannister_ship",), "extra", "none"),
    "2nd Edition Map": (("map",), "second", "first"),
    "2nd Edition Raid/CP Orders": (("raid_orders", "consolidate_orders"), "second", "first"),
    "2nd Edition SE Limit": (("siege_engine_limit",), "two", "none"),
    "2nd Edition Westeros Cards": (("westeros_cards",), "second", "first"),
    "2nd Edition Wildling Cards": (("wildling_cards",), "second", "first"),
    "2nd Edition Wildlings Strength": (("wildling_strength",), "second", "first"),
    "2nd Edition Win Condition": (("victory",), "seven", "first"),
    "ACoK Ports": (("ports",), "on", "off"),
    "ACoK Siege Engines": (("siege_engines",), "on", "off"),
    "Custom Drowned Pyke": (("drowned_pyke",), "on", "off"),
    "Custom Oldtown + Crown": (("oldtown_crown",), "on", "off"),
}
"""The settings that are variations of ours: which, and their words for YES and for NO."""

Reading = Literal["site", "books", "own"]
"""What settings do not name: as the site's tables play it, or as the books and our defaults have it.

Logs that we have written name all of it, in settings that begin with :data:`OWN`.
"""
READINGS: tuple[Reading, ...] = ("site", "books")
OWN = "Rookery"

Links = tuple[tuple[AreaId, AreaId], ...]

NOT_PLAYED = ("ACoK Battle Variant", "ACoK Kings Court", "ACoK Westeros Phase")
"""Settings for rules that no charter of ours has."""


UNNAMED: tuple[dict[str, bool], ...] = (
    {
        **{name: True for name in _VARIATIONS if name.startswith("2nd Edition")},
        **{name: True for name in _VARIATIONS if not name.startswith("2nd Edition")},
        "2nd Edition Greyjoy Start Pos.": False,
        "2nd Edition Lannister Ship +1": False,
        "2nd Edition Map": False,
    },
    {name: name.startswith("2nd Edition") and not name.endswith("+1") for name in _VARIATIONS},
)
"""What tables without settings may have played by: four Houses on the first edition's board, the second edition."""


def tables_of(log: r.Log) -> tuple[dict[str, bool], ...]:
    """The settings that a table may have had: those that are told, with what is missing as tables play it."""
    told = log.settings
    if not set(_VARIATIONS) - set(told) or any(name.startswith(f"{OWN} ") for name in told):
        return (told,)
    ways = [
        {**way, **told}
        for way in sorted(UNNAMED, key=lambda way: sum(way.get(name, on) != on for name, on in told.items()))
    ]
    return tuple(way for at, way in enumerate(ways) if way not in ways[:at])


def variations_of(settings: Mapping[str, bool], reading: Reading = "site") -> Variations:
    """What a table plays by its settings. What they do not name goes with the board and the cards they do name."""
    if not settings:
        return AS_PRINTED
    board = settings.get("2nd Edition Map", True)
    all_first = not any(on for name, on in settings.items() if name.startswith("2nd Edition"))
    base = AS_PRINTED if board else FIRST_EDITION if all_first else MIXED_FOUR
    words: dict[str, Any] = {}
    for name, (fields, yes, no) in _VARIATIONS.items():
        if name in settings:
            words.update(dict.fromkeys(fields, yes if settings[name] else no))
    if board:
        # The second edition's board has ports and Siege Engines of its own.
        words.update(ports="on", siege_engines="on", drowned_pyke="off")
    found = replace(base, **words, full_track="wait" if reading == "site" else "attack")
    # A word whose ground another setting has taken away says nothing.
    if found.siege_engines == "off":
        found = replace(found, siege_engine_limit="two")
    if found.ports == "off":
        found = replace(found, greyjoy_start="sea")
    if found.map == "second":
        found = replace(found, house_cards="second", kings_court_errata="off")
    if found.wildling_cards == "first":
        found = replace(found, raven="replace")
    return found


def switches_of(settings: Mapping[str, bool], base: Switches) -> Switches:
    tiebreak = base.tiebreak
    if settings.get("2nd Edition Tiebreaker 2019"):
        tiebreak = "errata"
    elif "2nd Edition Tiebreaker" in settings:
        tiebreak = "printed" if settings["2nd Edition Tiebreaker"] else "first-edition"
    tides = settings.get("2nd Edition Tides Of Battle", False)
    return replace(base, tiebreak=tiebreak, tides_of_battle="on" if tides else "off")


def charter_of(log: r.Log, reading: Reading = "site", borders: Links = ()) -> tuple[Charter, list[r.Problem]]:
    """The charter that a log was played by, and what in its settings could not be taken up.

    Games of the site show what no setting names: Dark Wings, Dark Words pays for ports, a full wildling track waits
    for a card, and on the first edition's board supply begins with the barrels of the starting areas, and Crackclaw
    Point lies on The Narrow Sea. ``borders`` are more borders of that board, where marches need them.
    """
    if reading == "own":
        return with_assumptions(_own_charter(log)), []
    variations = variations_of(log.settings, reading)
    preset = next((name for name, one in PRESETS.items() if one.variations == variations), "second-edition")
    problems = [
        r.Problem(0, "setting-not-played", name, "played without it") for name in NOT_PLAYED if log.settings.get(name)
    ]
    houses, seats = _houses(log, compose(variations).players, tuple(compose(variations).player_counts))
    base = Switches(dark_wings_ports="yes" if reading == "site" else "no")
    charter = Charter(
        edition=preset,
        houses=houses,
        switches=switches_of(log.settings, base),
        seats=seats,
        chance="imposed",
    )
    if variations not in (AS_PRINTED,):
        charter = replace(charter, variations=variations)
    if reading == "site" and variations.map == "first":
        charter = replace(charter, tables={**_starting_supply(variations), **_borders(variations, borders)})
    return with_assumptions(charter), problems


def _starting_supply(variations: Variations) -> dict[str, Any]:
    """Barrels in the areas where each House starts, as the organiser's own values."""
    edition = compose(variations)
    own = {}
    for place, house in enumerate(edition.tables.houses):
        icons = sum(edition.board[area].supply for area in house.units if area in edition.board)
        if icons != house.supply:
            own[f"/houses/{place}/supply"] = icons
    return own


def readings_of(log: r.Log) -> tuple[Reading, ...]:
    """The readings that a log may need."""
    return ("own",) if any(name.startswith(f"{OWN} ") for name in log.settings) else READINGS


def _words(chosen: Any, default: Any) -> dict[str, str]:
    """What a charter says otherwise than by default, by name."""
    return {
        field.encode_name: getattr(chosen, field.name)
        for field in msgspec.structs.fields(type(chosen))
        if getattr(chosen, field.name) != getattr(default, field.name)
    }


def _own_charter(log: r.Log) -> Charter:
    """The charter of a log that we have written; words that are none of ours are passed over."""
    edition, variations, switches = "second-edition", AS_PRINTED, Switches()
    for name, on in log.settings.items():
        said = name.split()
        if not on or said[0] != OWN:
            continue
        if len(said) == 2 and said[1] in PRESETS:
            edition = said[1]
        elif len(said) == 3:
            field, word = said[1].replace("-", "_"), said[2]
            for base in (Variations, Switches):
                known = {one.name: getattr(one.type, "__args__", ()) for one in msgspec.structs.fields(base)}
                if word in known.get(field, ()):
                    variations = replace(variations, **{field: word}) if base is Variations else variations
                    switches = replace(switches, **{field: word}) if base is Switches else switches
    if next(unmet(variations), None) is not None:
        variations = AS_PRINTED
    houses, seats = _houses(log, compose(variations).players, tuple(compose(variations).player_counts))
    charter = Charter(edition, houses, switches, seats, "imposed")
    if variations != AS_PRINTED:
        charter = replace(charter, variations=variations)
    tables = {
        **(_starting_supply(variations) if log.settings.get(f"{OWN} supply barrels") else {}),
        **(_borders(variations) if log.settings.get(f"{OWN} borders site") else {}),
    }
    return replace(charter, tables=tables) if tables and variations.map == "first" else charter


def site_readings(charter: Charter) -> dict[str, int]:
    """What was read into a charter beyond the settings, as numbers of assumptions."""
    variations = charter.agreed
    tables = charter.tables if isinstance(charter.tables, dict) else {}
    return {
        "ports-pay-with-dark-wings": int(charter.switches.dark_wings_ports == "yes"),
        "full-track-waits": int(variations.full_track == "wait"),
        "starting-supply": sum(pointer.endswith("/supply") for pointer in tables),
        "borders": len(SITE_BORDERS) if {"/links", "/links/-"} & tables.keys() else 0,
    }


def settings_of(charter: Charter) -> dict[str, bool]:
    """The settings of the site that say what a charter plays by, as far as they can."""
    variations = charter.agreed
    found = {name: getattr(variations, fields[0]) == yes for name, (fields, yes, _) in _VARIATIONS.items()}
    words = {**_words(variations, AS_PRINTED), **_words(charter.switches, Switches())}
    found.update({f"{OWN} {name} {word}": True for name, word in words.items()})
    if site_readings(charter)["starting-supply"]:
        found[f"{OWN} supply barrels"] = True
    if site_readings(charter)["borders"]:
        found[f"{OWN} borders site"] = True
    found[f"{OWN} {charter.edition}"] = True
    found["2nd Edition Tides Of Battle"] = charter.switches.tides_of_battle == "on"
    found["2nd Edition Tiebreaker"] = charter.switches.tiebreak == "printed"
    found["2nd Edition Tiebreaker 2019"] = charter.switches.tiebreak == "errata"
    found.update(dict.fromkeys(NOT_PLAYED, False))
    return dict(sorted(found.items()))


SITE_BORDERS: Links = (("crackclaw-point", "the-narrow-sea"),)
"""Borders that the first edition's board has at the site's tables, and that our source for it leaves out."""


DOUBTFUL_BORDERS: Links = (("starfall", "summer-sea"), ("storms-end", "summer-sea"), ("summer-sea", "the-arbor"))
"""Borders that the second edition has and our source for the first leaves out; no log has shown them yet."""


def _borders(variations: Variations, more: Links = ()) -> dict[str, Any]:
    links = compose(variations).tables.links
    missing = [list(link) for link in (*SITE_BORDERS, *more) if link not in links]
    if len(missing) == 1:
        # As a new row: what is assumed of the other borders stays told.
        return {"/links/-": missing[0]}
    return {"/links": [*map(list, links), *missing]} if missing else {}


def _houses(
    log: r.Log, players: Callable[[int], Any], counts: tuple[int, ...]
) -> tuple[tuple[HouseId, ...], dict[str, HouseId]]:
    """The Houses at the table, and who played them: the fewest Houses that include all that are told of."""
    told: dict[HouseId, str] = {}
    acts = Counter(getattr(entry.record, "house", None) for entry in log.entries)
    # Who plays is in many entries; a name that is in hardly one was written for another.
    rare = {house for house, count in acts.items() if count * 20 < max(acts.values())}
    for entry in log.entries:
        house = getattr(entry.record, "house", None)
        if house in rare:
            continue
        if house and (entry.player or house not in told):
            told[house] = told.get(house) or entry.player
        for other in (
            (*getattr(entry.record, "power", {}).keys(),)
            if isinstance(getattr(entry.record, "power", None), dict)
            else getattr(entry.record, "order", ())
            if isinstance(entry.record, r.TrackOrdered)
            else ()
        ):
            told.setdefault(other, "")
    fitting = [count for count in sorted(counts) if set(told) <= set(players(count).houses)]
    houses = tuple(sorted(players(fitting[0] if fitting else max(counts)).houses))
    seats: dict[str, HouseId] = {}
    for house in houses:
        name = told.get(house) or f"seat-{house}"
        seats[name if name not in seats else f"seat-{house}"] = house
    return houses, seats
