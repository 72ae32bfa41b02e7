"""Entries in unknown words, by their phase and the names in them: what they most likely tell.

A guess is an assumption: it moves the game on where nothing else does, and its entry never counts as explained, since
what stands beside ours in the end is the entry as the log has it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

from msgspec.structs import replace

from api.games.thrones.logs import names as n
from api.games.thrones.logs import records as r
from api.games.thrones.logs.meaning import BACK, NOT, march, power, raided, track
from api.games.thrones.logs.said import Said, said

Guess = Callable[[Said], Any]


def guessed(entries: Sequence[r.Entry]) -> tuple[tuple[r.Entry, ...], frozenset[int]]:
    """The entries with guesses in the place of unknown words, and the numbers of those that were guessed."""
    found: list[r.Entry] = []
    numbers = set()
    for place, entry in enumerate(entries):
        if isinstance(entry.record, r.Unknown):
            record = _guess(entry, entries[max(0, place - 4) : place + 5])
            if record is not None:
                entry = replace(entry, record=record)
                numbers.add(entry.number)
        found.append(entry)
    return tuple(found), frozenset(numbers)


def _guess(entry: r.Entry, around: Sequence[r.Entry]) -> r.Record | None:
    """By the phase, the names, and for bids by what the entries around tell."""
    assert isinstance(entry.record, r.Unknown)
    text = said(" ".join(entry.record.text.split("\n")))
    letters = "".join(sorted(text.kinds))
    is_attack = any(isinstance(one.record, r.WildlingBid) for one in around)
    for phases, pattern, read in GUESSES:
        # Who did not do something is told in the same names; only a lost battle is told with what could not be.
        if entry.phase in phases and re.fullmatch(pattern, letters) and (read is _lost or not text.has(NOT)):
            record: r.Record | None = read(text)
            if isinstance(record, r.SupplyCounted) and is_attack:
                return r.WildlingBid(record.house, record.supply)
            if isinstance(record, r.OrdersSet) and not any(isinstance(one.record, r.OrdersSet) for one in around):
                return None
            if record is not None:
                return record
    return None


def _one(kind: str) -> Callable[[Said], Any]:
    return lambda text: text.all(kind)[0]


_house, _area, _order, _number = map(_one, "HAON")


def _attack(text: Said) -> r.Record | None:
    """A march into battle: where from, moves that meet nobody, then who attacks whom where from where with what."""
    match = re.fullmatch(r"HA((?:AU+)*)HHAA(U+)", text.kinds)
    if match is None or _house(text) != text.all("H")[1]:
        return None
    origin = _area(text)
    end = match.end(1)
    steps: list[r.Step] = []
    for letter, name in zip(text.kinds[2:end], text.names[2:end], strict=True):
        if letter == "A":
            steps.append(r.Step(name, {}))
        else:
            steps[-1] = replace(steps[-1], units={**steps[-1].units, name[0]: name[1]})
    units = dict(text.names[match.start(2) :])
    by: Literal["land", "sea"] = "sea" if set(units) == {"ship"} else "land"
    attack = r.Attack("", _house(text), text.all("H")[2], text.names[end + 2], text.names[end + 3], units)
    is_whole = attack.origin == origin and set(units) <= set(n.UNITS)
    return r.Marched(_house(text), origin, by, tuple(steps), attack) if is_whole else None


def _lost(text: Said) -> r.Record | None:
    """Who lost and where to; who cannot withdraw has no area."""
    to = text.one("A") if text.all("A") else None
    killed = text.counted()
    if set(killed) - set(n.UNITS):
        return None
    return r.BattleLost(_house(text), "withdrew" if to else "stuck" if killed else "lost", to, killed)


def _mustered(text: Said) -> r.Record | None:
    return r.Mustered(_house(text), text.counted())


def _chosen(text: Said) -> r.Record | None:
    card, strength = text.all("C")[0]
    return r.CardChosen(_house(text), strength, card) if not text.has(BACK) else None


GUESSES: tuple[tuple[tuple[str, ...], str, Guess], ...] = (
    (("PLANNING",), "H", lambda t: r.OrdersSet(_house(t))),
    (("RAVEN", "RAID"), "AHOO", lambda t: r.RavenReplaced(_house(t), _area(t), *t.all("O"))),
    (("RAID",), "A+HO+", raided),
    (("RAID",), "AO", lambda t: r.RaidUnusable(_area(t), _order(t)) if _order(t).startswith("raid") else None),
    (("MARCH",), "AHO", lambda t: r.OrderGivenUp(_house(t), _area(t), _order(t))),
    (("MARCH",), "A+HHHU+", _attack),
    (("MARCH",), "AA+HU+", march),
    (("BATTLE",), "CH", _chosen),
    (("BATTLE",), "HHN", lambda t: r.SupportGiven(_house(t), t.all("H")[1], _number(t))),
    (("BATTLE",), "A?HU*", _lost),
    (("POWER",), "AHNO?", lambda t: r.PowerTaken(_house(t), _area(t), _number(t))),
    (("POWER",), "AHO?U+", lambda t: r.SpecialMustered(_house(t), _area(t), t.counted())),
    (("POWER",), "H+N+", power),
    (("WESTEROS",), "H+N+W", power),
    (("WESTEROS",), "HNT", lambda t: r.Bid(_house(t), t.all("T")[0], _number(t))),
    (("WESTEROS",), "HH+N+T", track),
    (("WESTEROS",), "HU+", _mustered),
    (("WESTEROS",), "L", lambda t: r.WildlingCardDrawn(t.all("L")[0])),
    (("WESTEROS",), "HN", lambda t: r.SupplyCounted(_house(t), _number(t))),
    (("GAME END",), "HW?", lambda t: r.GameWon(_house(t))),
)
"""By phases and letters of names: what an entry is taken to tell."""
