"""The layout of the keys: the store says which one it has, and one of the first layout is brought to this one.

The reasons are in docs/layout.md. A migration may be killed at any point and begun again, by several processes at once:
a key is moved whole, one that was moved is not there any more, and the number of the layout is written last.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import redis

from events.connecting import translated
from events.errors import RecordError
from events.keys import GAMES, LAYOUT, LOST, UNRULED, game_key, is_game_id, list_key, shared_written
from events.store import Store

VERSION = 2

_FIRST_LISTS = ("rookery:unruled", "rookery:parked")
_FIRST_GAMES, _FIRST_LOST = "rookery:games", "rookery:lost"
_FIRST_GAME_KEY = re.compile(r"rookery:\{([^{}]+)\}:(.+)", re.DOTALL)
_TOMBSTONE = "This store has the layout of a newer Rookery; see docs/layout.md there."
"""Stands where the first layout had its set of games: a Rookery that knows no other then refuses instead of reading an
empty store."""

Told = Callable[[str], None]
"""Hears of each step before it is made."""


class LayoutOlder(RecordError):
    """The store has not been brought to this layout yet, and whoever asks only reads."""

    def __init__(self) -> None:
        super().__init__(
            "The keys of this store are laid out as an older Rookery did. Start `rookery up` or `rookery worker` on it"
            " once: that moves them, and then ask again."
        )


class LayoutNewer(RecordError):
    """The store has a layout that this version does not know."""

    def __init__(self, version: int) -> None:
        super().__init__(
            f"The keys of this store have layout {version}, and this Rookery reads layout {VERSION}. Use the newer"
            " version that wrote it, or restore a backup into a new data directory."
        )
        self.version = version


class LayoutConflict(RecordError):
    """Something is under its name of the first layout and, otherwise, under its name of this one."""

    def __init__(self, first: str, now: str) -> None:
        super().__init__(
            f"The store has {first!r} and, with other contents, {now!r}: an older Rookery has written while the store"
            " was moved. Stop it, keep the one that is right, delete the other, and start again."
        )


@translated
def check(store: Store) -> None:
    """Raise :class:`LayoutOlder` or :class:`LayoutNewer` unless this version reads the store."""
    if not _is_current(store.client) and store.client.exists(_FIRST_GAMES):
        raise LayoutOlder


@translated
def migrate(store: Store, told: Told = lambda step: None) -> int:
    """Bring a store to this layout; how many keys were moved. Raises :class:`LayoutNewer`, :class:`LayoutConflict`."""
    client = store.client
    if _is_current(client):
        return 0
    moved = 0
    told("tombstone")
    if client.exists(_FIRST_GAMES):
        client.set(_FIRST_GAMES, _TOMBSTONE)
    while found := _first_keys(client):
        for first, now in found:
            told(f"move {first}")
            moved += _move(client, first, now, told)
    told("lost")
    if client.type(_FIRST_LOST) == b"hash":
        for game, raw in client.hgetall(_FIRST_LOST).items():
            client.hsetnx(list_key(LOST, game.decode(errors="replace")), game, raw)
    told("lists")
    for key in (*_FIRST_LISTS, _FIRST_LOST):
        client.delete(key)
    store.relist()
    told("version")
    client.set(LAYOUT, VERSION)
    return moved


def _is_current(client: Any) -> bool:
    """Whether the store says that it has this layout. What says nothing that can be read, says nothing."""
    found = client.get(LAYOUT) if client.type(LAYOUT) == b"string" else b""
    if not re.fullmatch(rb"[1-9][0-9]{0,8}", found or b""):
        return False
    if int(found) > VERSION:
        raise LayoutNewer(int(found))
    return int(found) == VERSION


def _first_keys(client: Any) -> list[tuple[str, str]]:
    """The keys of the first layout that are left, each with its new name; the hash of a game before its other keys.

    An older process that is still at work finds no game then, and acknowledges nothing.
    """
    found: list[tuple[str, str]] = []
    for raw in client.scan_iter(match="rookery:*", count=1000):
        key = raw.decode(errors="replace")
        part = _FIRST_GAME_KEY.fullmatch(key)
        if part is not None and is_game_id(part[1]):
            found.append((key, game_key(part[1], part[2])))
        elif (shared := shared_written(key)) is not None:
            found.append((key, shared))
    return sorted(found, key=lambda pair: (not pair[0].endswith("}:game"), pair))


def _move(client: Any, first: str, now: str, told: Told) -> bool:
    """Move one key, by its name where one server has both, else by a copy of it."""
    part = _FIRST_GAME_KEY.fullmatch(first)
    if part is not None:
        if part[2] in ("lease", "snapshot") or part[2].startswith("staged:"):
            return bool(client.delete(first))  # it comes back by itself
        if part[2] == "game":
            for listed in (GAMES, UNRULED):
                client.sadd(list_key(listed, part[1]), part[1])
    try:
        if client.renamenx(first, now):
            return True
    except redis.exceptions.RedisClusterException:
        return _copy(client, first, now, told)
    except redis.exceptions.ResponseError as error:
        if "no such key" in str(error):
            return False  # another process was faster
        if "CROSSSLOT" not in str(error):
            raise
        return _copy(client, first, now, told)
    return _settle(client, first, now)


def _copy(client: Any, first: str, now: str, told: Told) -> bool:
    raw, left = client.dump(first), client.pttl(first)
    if raw is None:
        return False
    try:
        client.restore(now, max(0, left), raw)
    except redis.exceptions.ResponseError as error:
        if "BUSYKEY" not in str(error):
            raise
    told(f"copied {first}")
    return _settle(client, first, now)


def _settle(client: Any, first: str, now: str) -> bool:
    """Both names are there: a copy that was not taken away yet, or else something that only a person can decide."""
    raw = client.dump(first)
    if raw is not None and raw != client.dump(now):
        raise LayoutConflict(first, now)
    return bool(client.delete(first))
