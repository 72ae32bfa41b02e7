"""Watching ledgers grow, for whoever waits for a ruling or listens to a game.

However many wait for a game, it is looked at by one task, on the event loop of the application. Looking is a
short read in a thread; a blocking one would hold a thread and a connection for every listener.
"""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.concurrency import run_in_threadpool

from events.store import Store

FIRST_LOOK_SECONDS = 0.003
LONGEST_PAUSE_SECONDS = 0.1


class _Game:
    """One game that somebody waits for."""

    def __init__(self) -> None:
        self.waiting: set[asyncio.Event] = set()
        self.version = 0
        self.failure: Exception | None = None
        self.pause = FIRST_LOOK_SECONDS
        self.task: asyncio.Task[None] | None = None


class Watch:
    """Tells coroutines when a ledger has grown."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._games: dict[str, _Game] = {}

    async def reached(self, game: str, version: int, timeout_seconds: float) -> bool:
        """Wait until the ledger has come to a version; False when the time is over first. Raises as the store does."""
        watched = self._games.setdefault(game, _Game())
        if watched.task is None:
            watched.task = asyncio.create_task(self._look_after(game, watched))
        watched.pause = FIRST_LOOK_SECONDS
        changed = asyncio.Event()
        watched.waiting.add(changed)
        try:
            async with asyncio.timeout(timeout_seconds):
                while watched.version < version:
                    await changed.wait()
                    changed.clear()
                    if watched.failure is not None:
                        raise watched.failure
        except TimeoutError:
            return False
        finally:
            watched.waiting.discard(changed)
        return True

    async def _look_after(self, game: str, watched: _Game) -> None:
        """Look at a game until nobody waits any more."""
        try:
            while watched.waiting:
                version: Any = await run_in_threadpool(self._store.version, game)
                if version != watched.version:
                    watched.version, watched.pause = version, FIRST_LOOK_SECONDS
                    self._tell(watched)
                await asyncio.sleep(watched.pause)
                watched.pause = min(watched.pause * 1.5, LONGEST_PAUSE_SECONDS)
        except Exception as failure:  # noqa: BLE001 - it belongs to those who wait
            watched.failure = failure
            self._tell(watched)
        finally:
            self._games.pop(game, None)

    def _tell(self, watched: _Game) -> None:
        for changed in watched.waiting:
            changed.set()
