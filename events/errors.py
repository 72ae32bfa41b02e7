"""What can go wrong with the record, one exception per case, each with a sentence for the reader."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from domain.kernel.printing import counted


class RecordError(Exception):
    """Base of everything the record and its store raise on purpose."""


class StoreAway(RecordError):
    """The store cannot be reached, or not now. Nothing is known about the request under way."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"The store does not answer: {detail}")
        self.detail = detail


class StoreRefuses(RecordError):
    """The store answers, but does not do what it is asked (disk full, read-only, wrong type of key)."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"The store refuses: {detail}")
        self.detail = detail


class GameUnknown(RecordError):
    """No game of this id."""

    def __init__(self, game: str) -> None:
        super().__init__(f"There is no game {game!r}.")
        self.game = game


class GameExists(RecordError):
    """A game of this id is already there."""

    def __init__(self, game: str) -> None:
        super().__init__(f"A game {game!r} already exists.")
        self.game = game


class GameHeld(RecordError):
    """A game lost what was acknowledged; nothing is added to it until its operator has decided."""

    def __init__(self, game: str) -> None:
        super().__init__(
            f"The store has lost a part of game {game!r} that was acknowledged. Nothing is added to it until the"
            " operator has put it back or goes on without it; it can be read."
        )
        self.game = game


class BadGameId(RecordError):
    """Not usable as an id."""

    def __init__(self, game: str) -> None:
        super().__init__(
            f"{game!r} is not a game id: 1 to 64 of a-z, 0-9, '-', '_', '.', beginning with a letter or digit."
        )
        self.game = game


class BadCommand(RecordError):
    """Not JSON, or too large: refused at the edge and not recorded."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"The command cannot be taken: {detail}")
        self.detail = detail


class TooLarge(BadCommand):
    """A command has more bytes than its sender may put into one. Refused at the edge and not recorded."""

    def __init__(self, size: int, most: int) -> None:
        super().__init__(f"it has {counted(size, 'byte')}, and {most} is the most")
        self.most = most


class KeyConflict(RecordError):
    """The idempotency key came with another command before."""

    def __init__(self, key: str, inbox: str) -> None:
        super().__init__(f"The idempotency key {key!r} was used before, for another command (submission {inbox}).")
        self.key = key
        self.inbox = inbox


class OverQuota(RecordError):
    """A sender has used up what he may send. ``quota``: often, unruled or game-full; nothing was stored."""

    def __init__(self, quota: str, most: int, retry_seconds: int) -> None:
        sentence = {
            "often": f"One sender may send {counted(most, 'submission')} to a game in an hour,"
            f" and these have been sent.",
            "unruled": f"One sender may have {counted(most, 'submission')} waiting for a ruling, and so many wait.",
            "game-full": f"This game has filled the {counted(most, 'byte')} that it may take up on this server.",
            "tokens": f"For one game {counted(most, 'token')} may be issued in an hour, and these have been issued.",
            "arbiters": f"A game may have {counted(most, 'arbiter')}, and these are named.",
        }[quota]
        when = "Its operator must help." if quota in ("game-full", "arbiters") else f"Try again in {retry_seconds} s."
        super().__init__(f"{sentence} Nothing was taken in. {when}")
        self.quota = quota
        self.most = most
        self.retry_seconds = retry_seconds


class ServerFull(RecordError):
    """The store has no room for more from this sender; what it keeps in reserve is for rulings."""

    def __init__(self) -> None:
        super().__init__("The server is full: it takes no new submissions until its operator has made room.")


class StaleAppend(RecordError):
    """The ledger is not at the version the append was made for."""

    def __init__(self, game: str, expected: int, actual: int) -> None:
        super().__init__(f"The ledger of {game!r} is at version {actual}, not at {expected} as expected.")
        self.game = game
        self.expected = expected
        self.actual = actual


class LeaseLost(RecordError):
    """Another adjudicator has taken the lease since."""

    def __init__(self, game: str, token: int, granted: int) -> None:
        super().__init__(f"The lease {token} on {game!r} is over; {granted} has been granted since.")
        self.game = game
        self.token = token
        self.granted = granted


class FromTheFuture(RecordError):
    """Written by a newer Rookery than this one."""

    def __init__(self, version: int, current: int) -> None:
        super().__init__(f"The record has schema version {version}; this Rookery reads up to {current}.")
        self.version = version


class EngineLacking(RecordError):
    """The game is ruled by an engine that is not the one of this code; what was submitted waits for it."""

    def __init__(self, pinned: str, own: str) -> None:
        super().__init__(f"The game is ruled by {pinned}; here is {own}.")
        self.pinned = pinned
        self.own = own


class RecordDamaged(RecordError):
    """An entry does not fit the record. ``seq`` is the first such entry."""

    def __init__(self, seq: int, why: str) -> None:
        super().__init__(f"Entry {seq}: {why}")
        self.seq = seq
        self.why = why

    @property
    def place(self) -> str:
        """Where the damage is."""
        return f"entry {self.seq}"


class NewerEntry(RecordDamaged):
    """An entry is as it was written, by a newer Rookery than this one: no damage to whoever can read it."""

    def __init__(self, seq: int, why: str, version: int) -> None:
        super().__init__(seq, why)
        self.version = version


class KeptDamaged(RecordDamaged):
    """What the store keeps of a game besides its entries cannot be read. ``what`` names it and never quotes it."""

    def __init__(self, what: str) -> None:
        RecordError.__init__(self, f"What is kept as {what} cannot be read.")
        self.seq = 0
        self.why = str(self)
        self.what = what

    @property
    def place(self) -> str:
        return self.what


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Around the decoding of what the store keeps: its mistakes are not those of whoever asked."""
    try:
        yield
    except (msgspec.MsgspecError, ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise KeptDamaged(what) from error


class FileDamaged(RecordError):
    """A line of an export that is no entry is not as it was written."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(f"Line {line}: {why}")
        self.line = line
        self.why = why


class SharedSeedError(RecordError):
    """Base of what can be wrong with a shared seed."""

    def __init__(self, shared: str, sentence: str) -> None:
        super().__init__(sentence)
        self.shared = shared


class SharedSeedUnknown(SharedSeedError):
    """No shared seed of this id."""

    def __init__(self, shared: str) -> None:
        super().__init__(shared, f"There is no shared seed {shared!r}.")


class SharedSeedExists(SharedSeedError):
    """A shared seed of this id is already there."""

    def __init__(self, shared: str) -> None:
        super().__init__(shared, f"There is a shared seed {shared!r} already.")


class SharedSeedClosed(SharedSeedError):
    """A shared seed takes no more tables."""

    def __init__(self, shared: str) -> None:
        super().__init__(shared, f"The shared seed {shared!r} takes no more tables.")
