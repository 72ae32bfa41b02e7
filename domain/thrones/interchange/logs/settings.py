"""The settings at the end of a log: which of the site's switches were on, and what they say about a charter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from domain.thrones.interchange.logs.records import Problem


class Setting(msgspec.Struct, frozen=True):
    """What one setting means: a switch of ours and its value for YES and for NO.

    ``confidence``: ``named`` where the name of the setting says it, ``records`` where games played by it show it,
    ``assumed`` where neither does.
    """

    switch: str
    yes: str
    no: str
    confidence: str
    means: str


SETTINGS: dict[str, Setting] = {
    "2nd Edition Garrisons": Setting("garrisons", "yes", "no", "named", "home areas hold a garrison of 2"),
    "2nd Edition Greyjoy Start Pos.": Setting(
        "greyjoy-start", "second", "first", "named", "Greyjoy's places on the tracks and its second Ship in port"
    ),
    "2nd Edition House Card Return": Setting(
        "house-card-return", "second", "first", "assumed", "when a spent hand comes back, and which cards"
    ),
    "2nd Edition House Cards": Setting("house-cards", "second", "first", "records", "strengths 0 to 4, their texts"),
    "2nd Edition Knights Limit": Setting("knight-limit", "5", "4", "named", "Knights of a House"),
    "2nd Edition Lannister Ship +1": Setting("lannister-ship", "two", "one", "named", "Ships Lannister starts with"),
    "2nd Edition Map": Setting("map", "second", "first", "records", "the board"),
    "2nd Edition Raid/CP Orders": Setting(
        "special-orders", "second", "first", "records", "special Raid takes one order, also Defense; special "
        "Consolidate Power may muster; a pillaged House loses Power"
    ),
    "2nd Edition SE Limit": Setting("siege-engine-limit", "2", "4", "assumed", "Siege Engines of a House"),
    "2nd Edition Tides Of Battle": Setting("tides-of-battle", "on", "off", "named", "Tides of Battle cards"),
    "2nd Edition Tiebreaker": Setting(
        "tiebreak", "printed", "first-edition", "named", "final ties by the printed second edition"
    ),
    "2nd Edition Tiebreaker 2019": Setting("tiebreak", "errata", "", "named", "final ties by the erratum of 2019"),
    "2nd Edition Westeros Cards": Setting("westeros-cards", "second", "first", "records", "the three decks"),
    "2nd Edition Wildling Cards": Setting(
        "wildling-cards", "second", "first", "records", "nine cards instead of the fixed outcome"
    ),
    "2nd Edition Wildlings Strength": Setting(
        "wildlings", "second", "first", "records", "the threat begins at 2 and attacks by itself at 12"
    ),
    "2nd Edition Win Condition": Setting("win-condition", "second", "first", "named", "seven areas for every number"),
    "ACoK Battle Variant": Setting("acok-battles", "yes", "no", "named", "battles of the expansion"),
    "ACoK Kings Court": Setting("acok-kings-court", "yes", "no", "named", "the King's Court of the expansion"),
    "ACoK Ports": Setting("ports", "yes", "no", "records", "eight ports"),
    "ACoK Siege Engines": Setting("siege-engines", "yes", "no", "records", "Siege Engines may be mustered"),
    "ACoK Westeros Phase": Setting("acok-westeros-phase", "yes", "no", "named", "the Westeros phase of the expansion"),
    "Custom Drowned Pyke": Setting(
        "drowned-pyke", "yes", "no", "records", "Pyke is closed, a neutral fleet lies in Ironman's Bay"
    ),
    "Custom Oldtown + Crown": Setting("oldtown-crown", "yes", "no", "records", "Oldtown has one power icon more"),
}  # fmt: skip
"""Every setting that was seen. The switches are stand-ins by topic; this is the one table to change."""

_words: Mapping[str, bool] = {"yes": True, "no": False, "on": True, "off": False, "true": True, "false": False}
_known: Mapping[str, str] = {"".join(name.lower().split()): name for name in SETTINGS}


def read_settings(lines: Iterable[tuple[int, str, str]]) -> tuple[dict[str, bool], list[Problem]]:
    """Settings by name. One that nobody knows is kept and reported; one that is neither YES nor NO is left out."""
    found: dict[str, bool] = {}
    problems: list[Problem] = []
    for line, written, value in lines:
        name = _known.get("".join(written.lower().split()), written)
        answer = _words.get(value.strip().lower())
        if answer is None:
            problems.append(Problem(line, "setting-unclear", f"{written}: {value!r}", "left out"))
            continue
        if name not in SETTINGS:
            problems.append(Problem(line, "setting-unknown", written, "kept by its name; it says nothing to a charter"))
        if found.setdefault(name, answer) != answer:
            problems.append(Problem(line, "setting-twice", f"{written} is both", "the first one counts"))
    return found, problems


def switches(settings: Mapping[str, bool]) -> dict[str, str]:
    """The switches that settings of a log turn, by the table above. Without a setting, its switch is not named.

    The tie-break stands in two settings; that of 2019 comes first.
    """
    turned: dict[str, str] = {}
    for name, meaning in SETTINGS.items():
        if name in settings:
            value = meaning.yes if settings[name] else meaning.no
            if value:
                turned[meaning.switch] = value
    return turned
