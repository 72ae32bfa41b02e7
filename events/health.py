"""Whether a store can do what it is there for: run a script that writes.

PING is answered by a server that is out of memory, that may not write, or that hangs in a script. So the question is
put by a script like those that take in submissions, on a key of no game.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from typing import Any, Literal

import redis

from events.errors import StoreAway
from events.scripts import PROBE

Trouble = Literal[
    "",
    "store-away",
    "store-loading",
    "store-busy",
    "store-out-of-memory",
    "store-cannot-write",
    "store-read-only",
    "store-refuses",
]
"""Public codes; empty: nothing is wrong."""

SENTENCES: dict[Trouble, str] = {
    "store-away": "it does not answer",
    "store-loading": "it is still reading its file",
    "store-busy": "it hangs in a script",
    "store-out-of-memory": "it has no memory left, so it takes nothing; give it more (ROOKERY_STORE_BYTES)",
    "store-cannot-write": "it cannot write its file: the disk may be full",
    "store-read-only": "it may not be written to: it is a replica",
    "store-refuses": "it does not run scripts",
}

FRESH_SECONDS = 1.0
KEY = "rookery:probe"

_SIGNS: tuple[tuple[str, Trouble], ...] = (
    ("used memory > 'maxmemory'", "store-out-of-memory"),
    ("MISCONF", "store-cannot-write"),
    ("Errors writing to the AOF", "store-cannot-write"),
    ("READONLY", "store-read-only"),
    ("read only replica", "store-read-only"),
    ("BUSY", "store-busy"),
    ("busy running a script", "store-busy"),
)


def trouble(connect: Callable[[], Any]) -> Trouble:
    """What is wrong with the server that a client is connected to. Never raises for that."""
    try:
        connect().eval(PROBE, 1, KEY)
    except redis.exceptions.BusyLoadingError:
        return "store-loading"
    except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError, OSError, StoreAway):
        return "store-away"
    except redis.exceptions.ReadOnlyError:
        return "store-read-only"
    except redis.exceptions.OutOfMemoryError:
        return "store-out-of-memory"
    except redis.exceptions.RedisError as error:
        said = str(error)
        return next((code for sign, code in _SIGNS if sign in said), "store-refuses")
    return ""


class Health:
    """The trouble of one server, looked for at most once a second. Safe to share between threads."""

    def __init__(self, connect: Callable[[], Any], clock: Callable[[], float] = time.monotonic) -> None:
        self._connect = functools.cache(connect)
        self._clock = clock
        self._lock = threading.Lock()
        self._known: tuple[float, Trouble] | None = None

    def trouble(self) -> Trouble:
        with self._lock:
            if self._known is None or self._clock() - self._known[0] >= FRESH_SECONDS:
                found = trouble(self._connect)
                self._known = (self._clock(), found)
            return self._known[1]
