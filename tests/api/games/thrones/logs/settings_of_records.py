"""The settings block at the end of both records of tables with four Houses."""

from __future__ import annotations

SITE = {
    "2nd Edition Garrisons": True,
    "2nd Edition Greyjoy Start Pos.": False,
    "2nd Edition House Card Return": True,
    "2nd Edition House Cards": True,
    "2nd Edition Knights Limit": True,
    "2nd Edition Lannister Ship +1": False,
    "2nd Edition Map": False,
    "2nd Edition Raid/CP Orders": True,
    "2nd Edition SE Limit": True,
    "2nd Edition Tides Of Battle": False,
    "2nd Edition Tiebreaker": False,
    "2nd Edition Tiebreaker 2019": True,
    "2nd Edition Westeros Cards": True,
    "2nd Edition Wildling Cards": True,
    "2nd Edition Wildlings Strength": True,
    "2nd Edition Win Condition": True,
    "ACoK Battle Variant": False,
    "ACoK Ports": True,
    "ACoK Siege Engines": True,
    "Custom Drowned Pyke": True,
    "Custom Oldtown + Crown": True,
}
