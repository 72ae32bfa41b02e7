"""What a game and a server take in: the sizes of what is sent, and quotas for those who send it.

Sizes are the same everywhere and are checked twice, where a request is read and in the store. Quotas are settings of
a server and bind its guests: whoever comes over HTTP with a token that is not the operator's. ``docs/limits.md`` has
the whole table, with reasons.
"""

from __future__ import annotations

import msgspec

from events.envelope import Cause

KIB, MIB = 1 << 10, 1 << 20

MOST_ANSWER_BYTES = 64 * KIB
"""A command of a seat. The largest that a game can ask for has some 5 kB, an appeal's statement up to 60."""

MOST_DEADLINE_BYTES = 4 * KIB
"""A deadline that is passed. It names a player and a question, and no quota refuses it."""

MOST_ACT_BYTES = 256 * KIB
"""An act of an organiser or an arbiter. A stated position has some 20 kB, an opinion up to 60."""

MOST_START_BYTES = 1 * MIB
"""What begins a game, and what Rookery itself sends: a charter may bring tables of its own, a fork a position."""

MOST_LETTER_BYTES = 16 * KIB
"""A letter with one answer has some hundred."""

MOST_ORDER_BYTES = 4 * KIB
"""A body that only names something: a fork, a shared seed, an arbiter."""

MOST_IMPORTED_BYTES = 64 * MIB
"""A long game has about one million."""

COUNTED_BYTES = 4 * KIB
"""What counts as one submission against quotas; a larger one counts as so many. An answer has some hundred bytes."""

MOST_KEY_LETTERS = 256
"""An idempotency key; over HTTP it has at most 200."""

PAGE_BYTES = 1 * MIB
"""About what is read from a stream at once, sent as one page of a log, or ruled on as one batch."""

_MOST: dict[Cause, int] = {
    "command": MOST_ANSWER_BYTES,
    "deadline": MOST_DEADLINE_BYTES,
    "arbiter": MOST_ACT_BYTES,
    "system": MOST_START_BYTES,
}


def most_bytes(cause: Cause) -> int:
    """The largest command that the store takes from whoever sends it."""
    return _MOST[cause]


class Allowance(msgspec.Struct, frozen=True):
    """What one sender may put into one game. Zero is no limit. ``spare``: how far beyond ``game_bytes``."""

    per_hour: int = 0
    unruled: int = 0
    game_bytes: int = 0
    spare: float = 1.0
    is_closed: bool = False
    """The store has no room for this sender now; a repetition under a known key still gets its receipt."""


UNBOUND = Allowance()


class Quotas(msgspec.Struct, frozen=True, kw_only=True):
    """The settings. Each is a whole number; zero is no limit."""

    seat_per_hour: int = 240
    """Submissions of one seat of a game in an hour, in pieces of ``COUNTED_BYTES``."""
    seat_unruled: int = 40
    """Submissions of one seat that wait for a ruling."""
    acts_per_hour: int = 1200
    """Acts of a game's organiser and arbiters together, in an hour. Deadlines do not count."""
    acts_unruled: int = 200
    """Acts that wait for a ruling."""
    tokens_per_hour: int = 120
    """Tokens issued for one game in an hour."""
    arbiters: int = 32
    """Names of arbiters in one game."""
    game_bytes: int = 32 * MIB
    """Inbox and ledger of one game; its organiser and arbiters may go a quarter beyond, so that they can end it."""
    fork_bytes: int = 4 * MIB
    """The same for a fork that a guest makes: it is his alone, and he may make several."""
    store_bytes: int = 0
    """Memory of the store; zero: what the store itself says (its maxmemory)."""
    disk_reserve_bytes: int = 256 * MIB
    """Free space of the embedded store's disk below which guests are refused."""

    def seat(self) -> Allowance:
        return Allowance(self.seat_per_hour, self.seat_unruled, self.game_bytes)

    def acts(self) -> Allowance:
        return Allowance(self.acts_per_hour, self.acts_unruled, self.game_bytes, 1.25)
