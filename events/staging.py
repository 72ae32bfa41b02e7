"""Putting a whole game into the store, and keys that lie outside of games.

A game may be larger than one call should be. So its parts are staged beside their places, some elements at a time, and
one script puts them there, all of them or none. What is staged and never finished expires.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from events import codec, scripts
from events.connecting import translated
from events.envelope import Stored, Submission, stream_id
from events.errors import GameExists, StoreRefuses
from events.keys import GAMES, UNRULED, check_game_id, game_key, key_field, list_key
from events.limits import PAGE_BYTES
from events.store import Kept, Store, noted_of

STAGED_SECONDS = 3600
"""How long the parts of a game that is being imported are kept when its import does not come to an end."""


class Staged:
    """The parts of one game that is put together."""

    def __init__(self, store: Store, game: str) -> None:
        self.store = store
        self.game = game
        self._name = f"staged:{uuid.uuid4().hex}"

    def key(self, what: str) -> str:
        """Where a part lies until it is put in its place."""
        return game_key(self.game, f"{self._name}:{what}")

    @translated
    def add(self, what: str, kind: str, rows: Iterable[Sequence[bytes]]) -> None:
        """Add some elements to a part."""
        self.call((_WRITING[kind][0], self.key(what), *_WRITING[kind][1](row)) for row in rows)

    def call(self, calls: Iterable[tuple[Any, ...]]) -> None:
        """Calls that write to staged parts, whose keys expire."""
        _call(self.store, _expiring(calls))

    @translated
    def finish(self, parts: Sequence[str]) -> None:
        """Make a game of the staged parts, the first of them its hash, in one step. Raises :class:`GameExists`."""
        client = self.store.client
        client.sadd(list_key(GAMES, self.game), self.game)
        names = [*(game_key(self.game, part) for part in parts), *(self.key(part) for part in parts)]
        answer = client.register_script(scripts.IMPORT)(keys=names, args=[])
        if answer[0] == b"exists":
            raise GameExists(self.game)
        if answer[0] == b"gone":
            raise StoreRefuses("what was staged of the game is gone")
        client.sadd(list_key(UNRULED, self.game), self.game)


@translated
def restore(
    store: Store,
    game: str,
    fields: dict[str, str],
    entries: Iterable[Stored],
    inbox: Iterable[Submission],
    checkpoints: Sequence[Kept] = (),
) -> None:
    """Put a whole game into the store at once; raises :class:`GameExists`."""
    check_game_id(game)
    if store.exists(game):
        raise GameExists(game)
    staged = Staged(store, game)
    parts = ("game", "inbox", "ledger", "keys", "checkpoints")
    head, waiting, ledger, keys, notes = map(staged.key, parts)

    def calls() -> Iterator[tuple[Any, ...]]:
        described = {**fields, "noted": noted_of(checkpoints)}
        yield ("HSET", head, *(item for pair in described.items() for item in pair))
        for one in inbox:
            raw = codec.write_submission(one)
            yield "XADD", waiting, one.inbox, "submission", raw
            yield "HSET", keys, key_field(one), f"{one.number} {one.body_hash}"
        for number, stored in enumerate(entries, 1):
            parts = ("public", stored.public, "sealed", codec.write_parts(stored.sealed), "digest", stored.digest)
            yield "XADD", ledger, stream_id(number), *parts
        for kept in checkpoints:
            yield "XADD", notes, stream_id(kept.size), "note", kept.note

    staged.call(calls())
    staged.finish(parts)


@translated
def put_shared(store: Store, key: str, kind: str, rows: Iterable[Sequence[bytes]]) -> None:
    """Add elements to a key outside of games; of a hash, what is there stays."""
    name = "HSETNX" if kind == "hash" else _WRITING[kind][0]
    _call(store, ((name, key, *_WRITING[kind][1](row)) for row in rows))


def _call(store: Store, calls: Iterable[tuple[Any, ...]]) -> None:
    """Calls of which nobody needs the answer, some in each round trip."""
    for some in _bounded(calls):
        with store.client.pipeline(transaction=False) as pipe:
            for call in some:
                pipe.execute_command(*call)
            pipe.execute()


_WRITING: dict[str, tuple[str, Callable[[Sequence[bytes]], Sequence[bytes]]]] = {
    "hash": ("HSET", lambda row: row),
    "list": ("RPUSH", lambda row: row),
    "set": ("SADD", lambda row: row),
    "string": ("SET", lambda row: row),
    "zset": ("ZADD", lambda row: (row[1], row[0])),
    "stream": ("XADD", lambda row: row),
}
"""How an element of a key of some type is written."""


def _expiring(calls: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Calls that write; whatever key they make goes by itself after a while, if nobody takes it into use."""
    known: set[str] = set()
    for call in calls:
        yield call
        if call[1] not in known:
            known.add(call[1])
            yield "EXPIRE", call[1], STAGED_SECONDS


def _bounded(calls: Iterable[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    """Calls in groups of about a page."""
    some: list[tuple[Any, ...]] = []
    size = 0
    for call in calls:
        some.append(call)
        size += sum(len(part) for part in call if isinstance(part, bytes | str)) + 64
        if size >= PAGE_BYTES:
            yield some
            some, size = [], 0
    if some:
        yield some
