"""Figures that a process counts: how many rulings, how long they took, how many refusals by which code.

A process counts in memory and a thread carries what is new to the queue's server every few seconds, where one exporter
reads the sum of all workers. Workers come and go and there may be many on many machines, so nobody has to know their
addresses. That server forgets when it is started anew; whoever reads counters expects that. A worker that is killed
loses its last seconds of counting, and nothing else.

A figure has a name and words from closed lists: no game, seat, player, text or secret is ever one of them.
"""

from __future__ import annotations

import ipaddress
import re
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

import msgspec

SETTING = "ROOKERY_METRICS"
POSSIBLE = "host:port with an address that the public does not reach, such as 127.0.0.1:9642, or unix:/path"

KEY = "rookery:figures"
MOST = 2048
"""Different figures at most; whatever else comes is counted as ``other``. A code of a mistake of ours has no bound."""

BOUNDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Seconds from acceptance to ruling: the upper bounds of the histogram's buckets."""

Figure = tuple[str, ...]
"""A name and its words."""

_WORD = re.compile(r"[A-Za-z0-9/_{}.-]{1,100}")
# A sum that nobody can read begins anew.
_ADD = """
for i = 1, #ARGV, 2 do
  local added = redis.pcall('HINCRBYFLOAT', KEYS[1], ARGV[i], ARGV[i + 1])
  if added.err then redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
end
return 1
"""


class Address(msgspec.Struct, frozen=True):
    """Where figures are told: a port, or a socket's path."""

    host: str = ""
    port: int = 0
    path: str = ""


def address(text: str) -> Address | None:
    """Read a setting; None for an empty one. Raises ValueError."""
    if not text:
        return None
    if text.startswith("unix:/"):
        return Address(path=text.removeprefix("unix:"))
    found = re.fullmatch(r"(?:\[([0-9a-fA-F:]+)\]|([0-9.]+|localhost)):([0-9]{1,5})", text)
    if found is None or int(found[3]) > 65535:
        raise ValueError
    host = found[1] or ("127.0.0.1" if found[2] == "localhost" else found[2])
    ip = ipaddress.ip_address(host)
    if ip.is_unspecified or not (ip.is_loopback or ip.is_private):
        raise ValueError("that address may be reached by the public;")
    return Address(host, int(found[3]))


class Figures:
    """What a process has counted since it last told. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._new: Counter[Figure] = Counter()
        self._known: set[Figure] = set()

    def count(self, name: str, *words: str, by: float = 1) -> None:
        """Count one more of a figure. A word that is none, or comes after too many others, is ``other``."""
        figure = (name, *(word if _WORD.fullmatch(word) else "other" for word in words))
        with self._lock:
            if figure not in self._known and len(self._known) >= MOST:
                figure = (name, *("other" for _ in words))
            self._known.add(figure)
            self._new[figure] += by  # type: ignore[assignment]  # a Counter adds up floats as well

    def ruled(self, cause: str, code: str, accepted_at: str, ruled_at: str) -> None:
        """A ruling, by its cause and the code of its refusal (empty: accepted), and how long it was waited for."""
        self.count("rulings", cause, "refused" if code else "accepted")
        if code:
            self.count("refusals", code)
        try:
            waited = (datetime.fromisoformat(ruled_at) - datetime.fromisoformat(accepted_at)).total_seconds()
        except (ValueError, TypeError):
            return  # a submission of old with a time that is none
        seconds = max(0.0, waited)  # clocks of two machines
        self.count("waited-count")
        self.count("waited-sum", by=seconds)
        for place, bound in enumerate(BOUNDS):
            if seconds <= bound:
                self.count(f"waited-{place}")
                break

    def counted(self) -> dict[Figure, float]:
        """What has been counted and not told, for a process that is asked itself."""
        with self._lock:
            return dict(self._new)

    def tell(self, client: Any) -> None:
        """Add what is new to the sums at the queue's server. What cannot be told now is told the next time."""
        with self._lock:
            new, self._new = self._new, Counter()
        if not new:
            return
        try:
            client.eval(_ADD, 1, KEY, *(part for figure, by in new.items() for part in (":".join(figure), by)))
        except Exception:
            with self._lock:
                self._new.update(new)
            raise


FIGURES = Figures()
"""Those of this process."""


def told(client: Any) -> dict[Figure, float]:
    """The sums of all workers, by name and words. What is no sum is left out."""
    found: dict[Figure, float] = {}
    for field, value in client.hgetall(KEY).items():
        with suppress(ValueError):  # not a number, or not text
            found[tuple(field.decode().split(":"))] = float(value)
    return found


def by_words(found: Mapping[Figure, float], name: str, known: Iterable[str] = ()) -> dict[Figure, float]:
    """One figure by its words; the last word is ``other`` where it is not among ``known``."""
    allowed = frozenset(known)
    sums: Counter[Figure] = Counter()
    for (first, *words), value in found.items():
        if first == name:
            kept = tuple(words) if not allowed or words[-1] in allowed else (*words[:-1], "other")
            sums[kept] += value  # type: ignore[assignment]  # as above
    return dict(sums)
