"""The server's own journal: what its operator did that stands in no game. One JSON document a line, never rewritten.

It lies in the data directory, readable by its user only, and no interface over HTTP shows it.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from events.envelope import encode, utc_now

FILE = "journal.jsonl"


class Note(msgspec.Struct, frozen=True):
    """When who (a user of the machine) did what, and its particulars."""

    at: str
    who: str
    what: str
    about: dict[str, Any] = {}


class Journal:
    """The journal of a data directory."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / FILE

    def write(self, what: str, **about: Any) -> Note:
        """Add a line; it is on the disk when this returns."""
        note = Note(utc_now(), _user(), what, about)
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(file, encode(note) + b"\n")
            os.fsync(file)
        finally:
            os.close(file)
        return note

    def notes(self) -> Iterator[Note]:
        """Every line, the oldest first; one that a crash cut short is left out."""
        if self.path.exists():
            with self.path.open("rb") as file:
                for line in file:
                    if line.endswith(b"\n"):
                        yield msgspec.json.decode(line, type=Note)


def _user() -> str:
    """Whoever runs this, also through sudo."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = str(os.getuid())
    behind = os.environ.get("SUDO_USER", "")
    return f"{name} (sudo: {behind})" if behind and behind != name else name
