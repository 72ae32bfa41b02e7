"""The settings at the end of a log: which of the site's switches were on, and what they say about a charter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from api.games.thrones.logs.records import Problem

Confidence = Literal["named", "records", "assumed"]


class Setting(msgspec.Struct, frozen=True):
    """What one setting means: words of the charter's variations and switches, by name, for YES and for NO.

    ``confidence``: ``named`` where the name of the setting says it, ``records`` where games played by it show it too,
    ``assumed`` where neither does. A setting without words for YES is one that we do not play.
    """

    yes: dict[str, str]
    no: dict[str, str]
    confidence: Confidence
    means: str


def _turns(name: str, yes: str, no: str, confidence: Confidence, means: str) -> Setting:
    return Setting({name: yes}, {name: no}, confidence, means)


def _unplayed(means: str) -> Setting:
    return Setting({}, {}, "named", means)


SETTINGS: dict[str, Setting] = {
    "2nd Edition Garrisons": _turns("garrisons", "on", "off", "named", "garrisons of 2 in home areas"),
    "2nd Edition Greyjoy Start Pos.": _turns("greyjoy-start", "port", "sea", "assumed", "Greyjoy's second Ship"),
    "2nd Edition House Card Return": _turns(
        "card-return", "all-but-last", "all", "records", "which cards come back when the last one is played"
    ),
    "2nd Edition House Cards": _turns("house-cards", "second", "first", "records", "the House cards"),
    "2nd Edition Knights Limit": _turns("knight-limit", "five", "four", "named", "Knights of a House"),
    "2nd Edition Lannister Ship +1": _turns("lannister-ship", "extra", "none", "named", "a Ship more for Lannister"),
    "2nd Edition Map": _turns("map", "second", "first", "records", "the board"),
    "2nd Edition Raid/CP Orders": Setting(
        {"raid-orders": "second", "consolidate-orders": "second"},
        {"raid-orders": "first", "consolidate-orders": "first"},
        "records",
        "special Raid and Consolidate Power orders, and what pillage costs",
    ),
    "2nd Edition SE Limit": _turns("siege-engine-limit", "two", "none", "assumed", "Siege Engines of a House"),
    "2nd Edition Tides Of Battle": _turns("tides-of-battle", "on", "off", "named", "Tides of Battle cards"),
    "2nd Edition Tiebreaker": _turns("tiebreak", "printed", "first-edition", "named", "ties at the end, as printed"),
    "2nd Edition Tiebreaker 2019": Setting({"tiebreak": "errata"}, {}, "named", "ties at the end, by the erratum"),
    "2nd Edition Westeros Cards": _turns("westeros-cards", "second", "first", "records", "the three Westeros decks"),
    "2nd Edition Wildling Cards": Setting(
        {"wildling-cards": "second", "raven": "look"},
        {"wildling-cards": "first", "raven": "replace"},
        "records",
        "nine wildling cards, at which the raven may look",
    ),
    "2nd Edition Wildlings Strength": _turns(
        "wildling-strength", "second", "first", "assumed", "where the wildling track starts and what its end does"
    ),
    "2nd Edition Win Condition": _turns("victory", "seven", "first", "named", "areas that win at once"),
    "ACoK Battle Variant": _unplayed("battles of the expansion"),
    "ACoK Kings Court": _unplayed("the King's Court of the expansion"),
    "ACoK Ports": _turns("ports", "on", "off", "records", "ports"),
    "ACoK Siege Engines": _turns("siege-engines", "on", "off", "records", "Siege Engines"),
    "ACoK Westeros Phase": _unplayed("the Westeros phase of the expansion"),
    "Custom Drowned Pyke": _turns(
        "drowned-pyke", "on", "off", "records", "Pyke is closed, a neutral fleet lies in Ironman's Bay"
    ),
    "Custom Oldtown + Crown": _turns("oldtown-crown", "on", "off", "records", "one power icon more in Oldtown"),
}
"""Every setting that was seen: the one table from the site's names to ours."""

_answers: Mapping[str, bool] = {"yes": True, "no": False, "on": True, "off": False, "true": True, "false": False}
_known: Mapping[str, str] = {"".join(name.lower().split()): name for name in SETTINGS}


def read_settings(lines: Iterable[tuple[int, str, str]]) -> tuple[dict[str, bool], list[Problem]]:
    """Settings by name. One that nobody knows is kept and reported; one that is neither YES nor NO is left out."""
    found: dict[str, bool] = {}
    problems: list[Problem] = []
    for line, written, value in lines:
        name = _known.get("".join(written.lower().split()), written)
        answer = _answers.get(value.strip().lower())
        if answer is None:
            problems.append(Problem(line, "setting-unclear", f"{written}: {value!r}", "left out"))
            continue
        if name not in SETTINGS:
            problems.append(Problem(line, "setting-unknown", written, "kept by its name; it says nothing to a charter"))
        if found.setdefault(name, answer) != answer:
            problems.append(Problem(line, "setting-twice", f"{written} is both", "the first one counts"))
    return found, problems


def words_of(settings: Mapping[str, bool]) -> dict[str, str]:
    """The words of variations and switches that settings choose. Without a setting, its words are not there.

    The tie-break stands in two settings; that of 2019 comes first.
    """
    words: dict[str, str] = {}
    for name, setting in SETTINGS.items():
        if name in settings:
            words |= setting.yes if settings[name] else setting.no
    return words


def unplayed(settings: Mapping[str, bool]) -> tuple[str, ...]:
    """Settings that were on and that no charter can say."""
    return tuple(name for name, on in settings.items() if on and (name not in SETTINGS or not SETTINGS[name].yes))
