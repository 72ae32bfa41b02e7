"""How much room a store has left: memory as it says itself, and the disk where that is ours.

A store that is filled to the last byte cannot take a ruling either. So those who send are turned away before: guests
first, later whoever runs a game. What is left then is for rulings, deadlines, leases and parking.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import redis

GUESTS_SHARE = 0.80
"""Of the memory, above which guests are refused."""

FULL_SHARE = 0.90
"""Above which everybody is, but for rulings and deadlines."""

FRESH_SECONDS = 1.0


class Level(msgspec.Struct, frozen=True):
    """What is used of a store's memory and what is free on its disk; None where it is not known."""

    used_bytes: int | None = None
    most_bytes: int | None = None
    free_disk_bytes: int | None = None

    @property
    def share(self) -> float:
        """Of the memory; 0 where it has no bounds or does not tell."""
        return self.used_bytes / self.most_bytes if self.used_bytes is not None and self.most_bytes else 0.0


class Room:
    """The room of one store, asked at most once a second. Safe to share between threads."""

    def __init__(
        self,
        client: Any,
        *,
        most_bytes: int = 0,
        directory: Path | None = None,
        reserve_bytes: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._most = most_bytes
        self._directory = directory
        self._reserve = reserve_bytes
        self._clock = clock
        self._lock = threading.Lock()
        self._known: tuple[float, Level] | None = None

    def level(self) -> Level:
        """How full it is, as of a moment ago. What a store does not tell counts as room."""
        with self._lock:
            now = self._clock()
            if self._known is None or now - self._known[0] >= FRESH_SECONDS:
                self._known = (now, self._asked())
            return self._known[1]

    def is_closed_to_guests(self) -> bool:
        """Whether seats are turned away, and games are no longer created."""
        return self._is_beyond(GUESTS_SHARE, self._reserve)

    def is_full(self) -> bool:
        """Whether organisers, arbiters and the operator are turned away, too."""
        return self._is_beyond(FULL_SHARE, self._reserve // 2)

    def _is_beyond(self, share: float, reserve: int) -> bool:
        level = self.level()
        return level.share >= share or (level.free_disk_bytes is not None and level.free_disk_bytes < reserve)

    def _asked(self) -> Level:
        used: int | None = None
        told = 0
        try:
            found = self._client.info("memory")
            used, told = int(found["used_memory"]), int(found.get("maxmemory", 0))
        except (redis.exceptions.RedisError, OSError, KeyError, TypeError, ValueError):
            pass  # whoever then asks for something is told that the store is away
        most = min(one for one in (self._most, told) if one) if self._most or told else None
        try:
            free = None if self._directory is None else shutil.disk_usage(self._directory).free
        except OSError:
            free = None
        return Level(used, most, free)
