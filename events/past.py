"""The record before an entry, for rulings that look back: rewinds, corrections, appeals.

Entries are folded once and their states kept; they share most of their parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from events.envelope import Stored
from events.errors import RecordDamaged
from events.ruling import Judge, Line

Read = Callable[[int, int], Iterator[Stored]]
"""``read(after, upto)`` gives the entries behind one version up to another, all parts open."""


class Record:
    """One game's record as an arbiter's ruling sees it. ``version`` is set by whoever rules."""

    def __init__(self, judge: Judge, read: Read) -> None:
        self._judge = judge
        self._read = read
        self._lines: list[Line] = [judge.begin()]
        self._facts: list[tuple[Any, ...]] = [()]
        self.version = 0

    def state(self, entry: int) -> Any:
        """The state after an entry; after entry 0 it is blank."""
        self._reach(entry)
        return self._lines[entry].state

    def facts(self, entry: int) -> tuple[Any, ...]:
        """The facts of an entry, sealed ones included."""
        self._reach(entry)
        return self._facts[entry]

    def _add(self, stored: Stored) -> None:
        last = self._lines[-1]
        line = self._judge.evolve(last, stored)
        if line.version != last.version + 1:
            raise RecordDamaged(last.version + 1, f"entry {line.version} stands in its place")
        self._lines.append(line)
        self._facts.append(self._judge.codec.facts(stored))

    def _reach(self, entry: int) -> None:
        if entry >= len(self._lines):
            for stored in self._read(len(self._lines) - 1, max(entry, self.version)):
                self._add(stored)
