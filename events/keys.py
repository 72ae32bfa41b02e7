"""The names of the keys in the store, and what may name a game."""

from __future__ import annotations

import re

from events.envelope import Submission
from events.errors import BadGameId

_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")

GAMES = "rookery:games"
UNRULED = "rookery:unruled"
PARKED = "rookery:parked"
LOST = "rookery:lost"
SHARED = "rookery:shared"
UNOPENED = "rookery:shared:unopened"


def game_key(game: str, what: str) -> str:
    """The key of something of a game. All of one game share a hash slot."""
    return f"rookery:{{{game}}}:{what}"


def shared_key(name: str, *what: str) -> str:
    """The key of a shared seed, or of something of it."""
    return ":".join((f"rookery:shared:{{{name}}}", *what))


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
