"""The envelope: what surrounds a command in the inbox and a ruling in the ledger.

Fields stand in a fixed order and are written in it. ``v`` is the schema version of everything inside an
envelope, the game's own commands and facts included; :mod:`events.upcasters` lifts older ones.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from events.upcasters import VERSION

Cause = Literal["command", "deadline", "arbiter", "system"]
"""Who set it off: a player, a clock, the arbiter, or Rookery itself."""

GENESIS = "0" * 64
"""What stands for the digest before the first entry."""

SECRETLY = "refused-in-secret"
"""The public code of a refusal whose real one could betray the command."""

_STREAM_ID = re.compile(r"[1-9][0-9]{0,14}-0")

_encoder = msgspec.json.Encoder(order="deterministic", enc_hook=str)


def encode(value: Any) -> bytes:
    """Deterministic JSON: fields in their declared order, keys of dicts and members of sets sorted."""
    return _encoder.encode(value)


def utc_now() -> str:
    """The present moment as an RFC 3339 string in UTC."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


class Submission(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One element of the inbox. ``inbox`` is its stream id, known once the store has it and not stored inside.

    ``key`` is the idempotency key, ``seen`` the ledger version the author had before him. ``at`` is the time of the
    store's clock, and never before that of the submission before; empty until the store has it. ``letter`` binds the
    text of the letter that it came in, SHA-256(salt ‖ text) in hexadecimal, where there was one; both lie elsewhere, so
    that they can be erased. ``raw`` are the bytes as they are stored, which the entry binds, perhaps none at all;
    None for what the store does not have yet. Not stored inside either.
    """

    v: int
    at: str
    cause: Cause
    seat: str | None
    key: str
    seen: int | None
    causation: str | None
    correlation: str
    command: msgspec.Raw
    letter: str = ""
    inbox: str = ""
    raw: bytes | None = None

    @property
    def number(self) -> int:
        """The place in the inbox, counted from 1."""
        return number_of(self.inbox)

    @property
    def body_hash(self) -> str:
        """What two submissions under one key must have in common."""
        return hashlib.sha256(bytes(self.command)).hexdigest()


def stream_id(number: int) -> str:
    """The id of the n-th element of an inbox or a ledger."""
    return f"{number}-0"


def number_of(stream_id: str) -> int:
    """The place that a stream id stands for."""
    return int(stream_id.partition("-")[0])


def is_stream_id(text: str) -> bool:
    """Whether a text is the id of a place, in its only spelling."""
    return _STREAM_ID.fullmatch(text) is not None


def submission(
    command: Any,
    *,
    seat: str | None,
    at: str | None = None,
    cause: Cause = "command",
    key: str = "",
    seen: int | None = None,
    causation: str | None = None,
    correlation: str = "",
) -> Submission:
    """A new submission. ``command`` is raw JSON (bytes, taken as they are) or anything msgspec can encode.

    Without ``at`` it gets the time of the store that takes it in.
    """
    raw = command.strip(b" \t\r\n") if isinstance(command, bytes) else encode(command)
    return Submission(
        v=VERSION,
        at=at or "",
        cause=cause,
        seat=seat,
        key=key,
        seen=seen,
        causation=causation,
        correlation=correlation,
        command=msgspec.Raw(raw),
    )


class Receipt(msgspec.Struct, frozen=True):
    """What the author of a submission gets once the store has it. ``digest`` is SHA-256 of the stored submission."""

    game: str
    inbox: str
    at: str
    digest: str
    again: bool
    """Whether the same submission had been received before; the receipt is then the first one."""
    note: str = ""
    """The same, signed by the server together with the head of the chain; empty where nobody signs."""


class Accepted(msgspec.Struct, frozen=True, tag="accepted", tag_field="verdict"):
    """The command was carried out."""


class Refused(msgspec.Struct, frozen=True, tag="refused", tag_field="verdict"):
    """The command was not carried out. ``sealed`` is the index of the part that holds the real reason."""

    code: str
    rules: tuple[str, ...]
    params: dict[str, Any]
    sealed: int | None = None


class SealedFact(msgspec.Struct, frozen=True):
    """What the public part of an entry holds in the place of a fact for some eyes only."""

    sealed: int
    fact: str
    rules: tuple[str, ...]
    audience: tuple[str, ...]
    commitment: str


class SealedCommand(msgspec.Struct, frozen=True):
    """What the public part holds in the place of a secret command."""

    sealed: int
    audience: tuple[str, ...]
    commitment: str


class Seal(msgspec.Struct, frozen=True):
    """The public side of one sealed part. ``of``: pepper, submission, command, verdict or fact."""

    of: str
    audience: tuple[str, ...]
    commitment: str


class StateDigest(msgspec.Struct, frozen=True):
    """Digests of the position after an entry: its public side by SHA-256, its hidden side by HMAC, the key secret."""

    public: str
    hidden: str


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """The public part of one ledger entry. ``at`` is when the submission was received, ``engine`` who ruled on it."""

    v: int
    seq: int
    at: str
    cause: Cause
    inbox: str
    seat: str | None
    causation: str | None
    correlation: str
    engine: str
    seen: int | None
    command: msgspec.Raw
    verdict: Accepted | Refused
    facts: tuple[msgspec.Raw, ...]
    sealed: tuple[Seal, ...]
    state: StateDigest
    prev: str


class Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """One sealed part. A reader has salt (hexadecimal) and body, or neither.

    That of the submission has no body: it is the element of the inbox, as it is stored there.
    """

    audience: tuple[str, ...]
    commitment: str
    salt: str = ""
    body: msgspec.Raw = msgspec.Raw(b"")

    @property
    def is_open(self) -> bool:
        return bool(self.salt)


class Stored(msgspec.Struct, frozen=True):
    """One ledger entry as it is kept: the public bytes (never re-encoded), the sealed parts, the digest over both."""

    public: bytes
    sealed: tuple[Part, ...]
    digest: str
