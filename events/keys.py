"""The names of the keys in the store, and what may name a game."""

from __future__ import annotations

import re
import zlib

from events.envelope import Submission
from events.errors import BadGameId

_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_GAME_KEY = re.compile(r"rookery:\{P\d\d\}:([a-z0-9][a-z0-9._-]{0,63}):(.+)", re.DOTALL)
_FIRST_SHARED = re.compile(r"rookery:shared:\{([a-z0-9][a-z0-9._-]{0,63})\}(?::(.+))?", re.DOTALL)

PARTITIONS = 64
"""Into so many parts the games are divided. The number is part of the layout: another one would be another layout."""

LAYOUT = "rookery:layout"
"""Where the store says how its keys are laid out; see :mod:`events.layout`."""

GAMES, UNRULED, PARKED, LOST = "games", "unruled", "parked", "lost"
"""The lists across games. Each lies in parts, one in each partition."""

_SHARED = "rookery:{SHARED}"
SHARED = f"{_SHARED}:seeds"
UNOPENED = f"{_SHARED}:unopened"


def partition_of(game: str) -> int:
    """The partition of a game: CRC-32 of its id, modulo :data:`PARTITIONS`."""
    return zlib.crc32(game.encode()) % PARTITIONS


def _tagged(partition: int, *what: str) -> str:
    """A key in a partition. Its tag is in capitals, as no game id is: no key of the first layout reads like it."""
    return ":".join((f"rookery:{{P{partition:02}}}", *what))


def game_key(game: str, what: str) -> str:
    """The key of something of a game. All of one partition share a hash slot."""
    return _tagged(partition_of(game), game, what)


def list_key(what: str, game: str) -> str:
    """The part of a list across games that a game stands in."""
    return _tagged(partition_of(game), what)


def list_keys(what: str) -> tuple[str, ...]:
    """All parts of a list across games."""
    return tuple(_tagged(partition, what) for partition in range(PARTITIONS))


def shared_key(name: str, *what: str) -> str:
    """The key of a shared seed, or of something of it. All shared seeds share a hash slot."""
    return ":".join((_SHARED, "seed", name, *what))


def game_part(key: str) -> tuple[str, str] | None:
    """Of which game a key is, and what of it; None for any other."""
    found = _GAME_KEY.fullmatch(key)
    if found is None or game_key(found[1], found[2]) != key:
        return None
    return found[1], found[2]


def written_shared(key: str) -> str:
    """How a key of shared seeds is called in a backup: as in the first layout, so that every version reads it."""
    seed, *what = key.removeprefix(f"{_SHARED}:seed:").split(":")
    lists = {SHARED: "rookery:shared", UNOPENED: "rookery:shared:unopened"}
    return lists.get(key) or ":".join((f"rookery:shared:{{{seed}}}", *what))


def shared_written(name: str) -> str | None:
    """The key for what a backup, or the first layout, calls by this name; None where it is none of shared seeds."""
    lists = {"rookery:shared": SHARED, "rookery:shared:unopened": UNOPENED}
    found = _FIRST_SHARED.fullmatch(name)
    return lists.get(name) or (shared_key(found[1], *filter(None, (found[2],))) if found else None)


def is_game_id(text: str) -> bool:
    """Whether a text can be the id of a game."""
    return _ID.fullmatch(text) is not None


def check_game_id(game: str) -> None:
    """Raise unless ``game`` can be the id of a game."""
    if not is_game_id(game):
        raise BadGameId(game)


def key_field(submission: Submission) -> str:
    """Where a submission is listed by its idempotency key."""
    return field_under(submission.seat, submission.key)


def field_under(seat: str | None, key: str) -> str:
    """Keys belong to a seat, so that no seat meets another's."""
    return f"{seat or ''}\x00{key}"
