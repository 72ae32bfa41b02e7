"""Records as a play-by-mail log: what :func:`~.reader.read` reads comes out the same."""

from __future__ import annotations

from api.games.thrones.logs.dates import entry_date_word
from api.games.thrones.logs.grammar import write_record
from api.games.thrones.logs.records import Entry, Log

COLUMNS = "#\t Turn \t Game Phase \t Player \t Log Entry \t Date "


def write(log: Log) -> str:
    """The log as text, lines ending in a newline."""
    lines = [f'Events of Game {log.game}: "{log.name}"', COLUMNS]
    for entry in log.entries:
        lines += entry_lines(entry)
    if log.ended:
        lines += ["", "END LOG"]
    if log.settings:
        lines += ["Game Setting", *(f"{name} \t{'YES' if on else 'NO'}" for name, on in log.settings.items())]
    if log.notes:
        lines += ["", *log.notes]
    if log.created:
        lines += ["", "", f"Created {log.created}"]
    return "\n".join(lines) + "\n"


def entry_lines(entry: Entry) -> list[str]:
    """The lines of one entry; the time stands behind the last of them."""
    text = [*write_record(entry.record), *entry.rest]
    text[0] = f"{entry.number} \t{entry.round}\t{entry.phase}\t{entry.player}\t{text[0]}"
    if entry.at:
        text[-1] += f"\t{entry_date_word(entry.at)}"
    return text
