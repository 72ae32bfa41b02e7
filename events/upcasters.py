"""Upcasters: how what an older Rookery wrote is read today.

Stored bytes are never rewritten: the chain is over them. What is read from them is lifted, one version at a
time, before it is decoded. ``VERSION`` counts up whenever the form of an envelope, a command, a fact or a
state changes; a change comes with an upcaster from the version before and a stored sample in the tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from events.errors import FromTheFuture

VERSION = 2
"""2: an entry binds every byte of the submission that it answers (a sealed part more); the forms are those of 1."""

FARTHEST = 9999
"""A version above that is junk, and not written by any Rookery to come."""

Kind = Literal["submission", "entry", "command", "fact", "state"]
Upcast = Callable[[dict[str, Any]], dict[str, Any]]


class Upcasters:
    """The steps from each version to the next, by what they lift."""

    def __init__(self, current: int = VERSION) -> None:
        self.current = current
        self._steps: dict[tuple[Kind, int], Upcast] = {}

    def register(self, kind: Kind, version: int) -> Callable[[Upcast], Upcast]:
        """Decorate a function that lifts ``kind`` from ``version`` to the next. Each has one at most."""

        def add(step: Upcast) -> Upcast:
            assert (kind, version) not in self._steps, f"two upcasters for {kind} {version}"
            self._steps[kind, version] = step
            return step

        return add

    def is_as_today(self, version: int) -> bool:
        """Whether everything of a version has the form of the current one."""
        return not any(before >= version for _, before in self._steps)

    def lift(self, kind: Kind, version: int, raw: bytes) -> bytes:
        """``raw`` in the form of the current version; the same bytes when nothing has changed."""
        if version > self.current:
            raise FromTheFuture(version, self.current)
        steps = [self._steps[kind, v] for v in range(version, self.current) if (kind, v) in self._steps]
        if not steps:
            return raw
        document = msgspec.json.decode(raw)
        for step in steps:
            document = step(document)
        return msgspec.json.encode(document)


UPCASTERS = Upcasters()
"""The upcasters of this Rookery. There are none yet: what version 2 adds to 1 may be missing."""
