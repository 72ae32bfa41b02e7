"""A play-by-mail log, from its bytes to records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from domain.thrones.interchange.logs import names
from domain.thrones.interchange.logs.grammar import read_record
from domain.thrones.interchange.logs.lines import Raw, decode, split
from domain.thrones.interchange.logs.records import Entry, Log, Problem, Reading, Unknown
from domain.thrones.interchange.logs.settings import read_settings

_AREA_FIELDS = ("area", "to", "origin")
_CARD_FIELDS = ("card", "choice")


def read(source: bytes | str) -> Reading:
    """Read a log. Never fails: what is wrong stands in the problems, what is good is in the log."""
    text, problems = decode(source) if isinstance(source, bytes) else (source, [])
    out = split(text)
    problems += out.problems
    if not out.game:
        problems.append(Problem(0, "no-title", "there is no title line", "read without"))
    entries = []
    for raw in out.raw:
        entry, found = _entry(raw)
        entries.append(entry)
        problems += found
    settings, found = read_settings(out.settings)
    problems += found
    if not out.ended:
        problems.append(Problem(0, "cut-off", "the line that ends a log is missing", "kept what there is"))
    if not settings:
        problems.append(Problem(0, "no-settings", "there are no settings", "read without"))
    unknown = sum(isinstance(entry.record, Unknown) for entry in entries)
    if not entries:
        problems.append(Problem(0, "no-entries", "this is no log of this format", "nothing to keep"))
    elif unknown * 2 > len(entries):
        what = f"{unknown} of {len(entries)} entries are not in the format's English"
        problems.append(Problem(0, "other-language", what, "their text is kept"))
    log = Log(out.game, out.name, tuple(entries), settings, tuple(out.notes), out.created, out.ended)
    return Reading(log, tuple(sorted(problems, key=lambda one: (one.line, one.code))))


def _entry(raw: Raw) -> tuple[Entry, list[Problem]]:
    record, rest = read_record(raw.lines)
    problems = []
    if isinstance(record, Unknown):
        problems.append(
            Problem(raw.line, "entry-unknown", f"entry {raw.number}: {record.text[:160]}", "its text is kept")
        )
    for line in rest:
        problems.append(Problem(raw.line, "line-unknown", f"entry {raw.number}: {line[:160]}", "its text is kept"))
    for what, name in _unknown_names(record):
        problems.append(
            Problem(raw.line, f"unknown-{what}", f"entry {raw.number}: {names.word(name)}", "kept by that name")
        )
    return Entry(raw.number, raw.round, raw.phase, raw.player, record, raw.at, rest), problems


def _unknown_names(value: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """Areas and cards in a record that no edition has."""
    if isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from _unknown_names(getattr(value, name), name)
    elif field == "targets":
        for area, _ in value:
            yield from _unknown_names(area, "area")
    elif field == "cards":
        for _, card in value:
            yield from _unknown_names(card, "card")
    elif isinstance(value, tuple):
        for one in value:
            yield from _unknown_names(one)
    elif isinstance(value, str):
        if field in _AREA_FIELDS and value not in ("top", "bottom", *names.AREAS, *names.HOUSES):
            yield "area", value
        elif field in _CARD_FIELDS and value not in _CARDS:
            yield "card", value


_CARDS = {*names.HOUSE_CARDS, *names.WESTEROS_CARDS, *names.WILDLING_CARDS, *names.TIDES_CARDS}
