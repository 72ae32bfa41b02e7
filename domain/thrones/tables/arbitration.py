"""What a charter may say about disputes, in words: the options of :class:`Arbitration` with their readings."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import msgspec

from domain.kernel.agreed import Arbitration
from domain.kernel.refusal import Refusal


class DisputeOption(msgspec.Struct, frozen=True):
    """One option. ``readings`` says what each word means; ``default`` is the word of a charter that says nothing."""

    name: str
    about: str
    readings: dict[str, str]
    default: str


DISPUTES: tuple[DisputeOption, ...] = (
    DisputeOption(
        "appeal-window",
        "how far back an appeal may reach",
        {"0": "to any entry", "N": "to an entry that fewer than N rulings of the game have followed"},
        "0",
    ),
    DisputeOption(
        "appeal-stops",
        "what an open appeal holds up",
        {
            "everything": "the whole game stands still",
            "what-depends-on-it": "only what rests on what the appealed entry has left in doubt",
        },
        "everything",
    ),
    DisputeOption(
        "appeals-open",
        "how many appeals of a seat may be open at once",
        {"3": "three", "N": "N of them"},
        "3",
    ),
    DisputeOption(
        "appeals-lost",
        "how many appeals of a seat may change nothing before its further ones hold nothing up",
        {"3": "three", "N": "N of them; with 0 an appeal never holds the game up"},
        "3",
    ),
    DisputeOption(
        "kept-when",
        "when a causal rewind keeps a struck-out answer",
        {
            "footprint": "when its options and all that its ruling reads are the same",
            "view": "only when all that its author can see is the same, too",
        },
        "footprint",
    ),
    DisputeOption(
        "arbiter-may-play",
        "whether a player of the game may arbitrate it",
        {"false": "no", "true": "yes; the record says which House he plays"},
        "false",
    ),
    DisputeOption(
        "secrets-log",
        "when players learn who has read secrets by privilege, and why",
        {"at-the-end": "when the game ends", "at-once": "at once"},
        "at-the-end",
    ),
)


def arbitration_of(said: Mapping[str, Any]) -> Arbitration:
    """What is agreed about disputes, out of words; numbers and truth values are taken, too. Raises Refusal."""
    known = {one.name: one for one in DISPUTES}
    for name in said:
        if name not in known:
            meant = difflib.get_close_matches(name, known, n=2)
            raise Refusal("unknown-dispute-option", unknown=True, option=name, suggestions=meant, known=[*known])
    for name, word in said.items():
        try:
            msgspec.convert({name: word}, Arbitration, strict=False)
        except msgspec.ValidationError:
            words = [*known[name].readings]
            raise Refusal("unknown-dispute-word", unknown=True, option=name, word=str(word), known=words) from None
    found = msgspec.convert(dict(said), Arbitration, strict=False)
    for name, number, least in (
        ("appeal-window", found.appeal_window, 0),
        ("appeals-open", found.appeals_open, 1),
        ("appeals-lost", found.appeals_lost, 0),
    ):
        if number < least:
            words = [*known[name].readings]
            raise Refusal("unknown-dispute-word", unknown=True, option=name, word=str(number), known=words)
    return found
