"""A play-by-mail log, from its bytes to records."""

from __future__ import annotations

from api.games.thrones.logs import names
from api.games.thrones.logs.grammar import read_record
from api.games.thrones.logs.known import unknown_names
from api.games.thrones.logs.lines import Raw, decode, split
from api.games.thrones.logs.records import Entry, Log, Problem, Reading, Unknown
from api.games.thrones.logs.settings import read_settings


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
    for what, name in unknown_names(record):
        problems.append(
            Problem(raw.line, f"unknown-{what}", f"entry {raw.number}: {names.word(name)}", "kept by that name")
        )
    return Entry(raw.number, raw.round, raw.phase, raw.player, record, raw.at, rest), problems
