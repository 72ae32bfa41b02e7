"""The names in a text of the log format, whatever its wording: Houses, areas, cards, orders, units, tracks, numbers.

A text becomes its *frame*, small letters in which each name is one capital letter, and the names in their order:
``Stark refused the support of Tyrell.`` is ``H refused the support of H.`` with the Houses stark and tyrell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from api.games.thrones.logs import names as n
from domain.thrones.language.pieces import CardId
from domain.thrones.tables.editions.composed import FIRST, SECOND

HOUSE, AREA, CARD, ORDER, UNITS, TRACK, NUMBER = "HACOUTN"
EVENT, WILDLING, TIDES = "WLD"
"""The letters of a frame. ``EVENT`` is a Westeros card, ``CARD`` a House card."""


class Said(msgspec.Struct, frozen=True):
    """A text as its frame and its names. ``kinds`` has the letters in their order, ``names`` what they stand for."""

    frame: str
    kinds: str
    names: tuple[Any, ...]

    def all(self, kind: str) -> list[Any]:
        return [name for letter, name in zip(self.kinds, self.names, strict=True) if letter == kind]

    def one(self, kind: str) -> Any:
        """The only name of a kind; None where there are none or several."""
        found = self.all(kind)
        return found[0] if len(set(map(repr, found))) == 1 else None

    def counted(self) -> dict[str, int]:
        """All units together."""
        total: dict[str, int] = {}
        for unit, count in self.all(UNITS):
            total[unit] = total.get(unit, 0) + count
        return {unit: total[unit] for unit in n.MUSTERED if total.get(unit)}

    def has(self, pattern: str) -> bool:
        """Whether the frame has words; a pattern begins where a word does."""
        return re.search(rf"\b(?:{pattern})", self.frame) is not None

    def after(self, pattern: str, kind: str) -> Any:
        """The first name of a kind behind words; None without them."""
        match = re.search(rf"\b(?:{pattern})", self.frame)
        if match is None:
            return None
        seen = sum(self.frame[: match.end()].count(letter) for letter in LETTERS)
        rest = zip(self.kinds[seen:], self.names[seen:], strict=True)
        return next((name for letter, name in rest if letter == kind), None)


LETTERS = HOUSE + AREA + CARD + ORDER + UNITS + TRACK + NUMBER + EVENT + WILDLING + TIDES

STRENGTHS: dict[CardId, int] = {card.id: card.strength for tables in (FIRST, SECOND) for card in tables.house_cards}


def _plain(text: str) -> str:
    """Small letters without apostrophes, hyphens inside words as spaces."""
    return re.sub(r"(?<=[a-z])-(?=[a-z])", " ", re.sub(r"['\u2019\"]", "", text.lower()))


def _spelled(ids: Iterable[str]) -> dict[str, str]:
    """All spellings of some names."""
    wanted = set(ids)
    found = {_plain(name.replace("-", " ")): name for name in wanted}
    found |= {_plain(n.word(name)): name for name in wanted}
    found |= {other.replace("-", " "): name for other, name in n.OTHERWISE.items() if name in wanted}
    return found


def _any(spelled: Mapping[str, str]) -> str:
    return "|".join(sorted(map(re.escape, spelled), key=len, reverse=True))


_areas = _spelled(n.AREAS)
_areas |= {
    f"port at {name.removeprefix('port of ')}": area for name, area in _areas.items() if name.startswith("port of ")
}
_cards = _spelled(n.HOUSE_CARDS)
_events = {name: card for name, card in _spelled(n.WESTEROS_CARDS).items() if " " in name}
_wildlings = _spelled(n.WILDLING_CARDS)
_nicknames = {_plain(n.nickname(card)): card for card in n.HOUSE_CARDS if n.nickname(card) != n.word(card)}
_tracks = {"iron throne": "iron-throne", "fiefdoms": "fiefdoms", "fiefdom": "fiefdoms", "kings court": "kings-court"}
_numbers = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_units = {
    **{_plain(word): kind for kind, words in n.UNITS.items() for word in words},
    **{f"upgrades? to (?:an? )?{kind.replace('-', ' ')}s?": f"{kind}-upgrade" for kind in ("knight", "siege-engine")},
}
_unit = "|".join(sorted(_units, key=len, reverse=True))
_kind = "(?:march|defen[sc]e|support|raid|consolidate power)"
_count = r"\d+|an?|one|two|three|four|five|six"


def _unit_of(text: str) -> str:
    return next(kind for word, kind in _units.items() if re.fullmatch(word, text))


def _counted(match: re.Match[str]) -> tuple[str, int] | None:
    """``2 footmen``, ``2x footmen``, ``footmen: 2``; none are no units."""
    count = match["before"] or match["behind"]
    number = _numbers.get(count) or int(count)
    return (_unit_of(match["unit"] or match["other"]), number) if number else None


def _card(match: re.Match[str]) -> tuple[CardId, int]:
    card = _cards[match["card"]]
    strength = match["strength"] or match["behind"]
    return card, int(strength) if strength else STRENGTHS.get(card, 0)


def _order(match: re.Match[str]) -> str | None:
    words = re.sub(r"\s+", "", match["order"]).replace("\u2605", "*")
    return n.order_id(words.split("(")[0] + "(*)" if match["special"] and "(" not in words else words)


_SPOTS: tuple[tuple[str, str, Callable[[re.Match[str]], Any]], ...] = (
    (
        ORDER,
        rf"(?P<special>special )?(?P<order>{_kind} ?\([+-]?[\d*\u2605]\)|{_kind}(?= orders?\b| token))(?: orders?)?",
        _order,
    ),
    (CARD, rf"(?:\((?P<strength>\d)\) ?)?\b(?P<card>{_any(_cards)})s?\b(?: ?\((?P<behind>\d)\))?", _card),
    (
        CARD,
        rf"\b(?P<nick>{_any(_nicknames)})(?=s? (?:special|ability|card text|text|effect)\b)",
        lambda m: (_nicknames[m["nick"]], STRENGTHS.get(_nicknames[m["nick"]], 0)),
    ),
    (AREA, rf"\b(?:the )?(?P<area>{_any(_areas)})s?\b", lambda m: n.id_of(_areas[m["area"]])),
    (EVENT, rf"\b(?P<event>{_any(_events)})\b", lambda m: _events[m["event"]]),
    (WILDLING, rf"\b(?P<wild>{_any(_wildlings)})\b", lambda m: _wildlings[m["wild"]]),
    (TRACK, rf"\b(?P<track>{_any(_tracks)})\b", lambda m: _tracks[m["track"]]),
    (
        UNITS,
        rf"\b(?P<before>{_count}) ?x? (?P<unit>{_unit})\b|\b(?P<other>{_unit}) ?[:x(] ?(?P<behind>\d+)\b\)?",
        _counted,
    ),
    (HOUSE, rf"\b(?:the )?(?:house )?(?P<house>{'|'.join(n.HOUSES)})(?:s(?: house)?)?\b", lambda m: m["house"]),
    (NUMBER, r"(?<![\w.,/:])[\[(]?[+-]?(?P<number>\d+)[\])]?(?![\w/]|:\d)", lambda m: int(m["number"])),
)


def said(text: str) -> Said:
    """The frame and the names of a text."""
    frame = _plain(text)
    found: list[Any] = []

    def keep(letter: str, read: Callable[[re.Match[str]], Any]) -> Callable[[re.Match[str]], str]:
        def stand_in(match: re.Match[str]) -> str:
            name = read(match)
            if name is None:
                return match[0]
            found.append((letter, name))
            return f"\x00{chr(0x100 + len(found))}\x00"

        return stand_in

    for letter, pattern, read in _SPOTS:
        frame = re.sub(pattern, keep(letter, read), frame)
    marks = [ord(mark) - 0x101 for mark in re.findall(r"\x00(.)\x00", frame)]
    frame = re.sub(r"\x00(.)\x00", lambda match: found[ord(match[1]) - 0x101][0], frame)
    return Said(
        " ".join(frame.split()), "".join(found[mark][0] for mark in marks), tuple(found[mark][1] for mark in marks)
    )
