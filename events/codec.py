"""Codec: between stored bytes and records. Decodes straight from bytes; lifts what is older first."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from domain.kernel.bounds import bounded
from domain.kernel.docket import Forked, GameNamed, Origin
from domain.kernel.game import BoardGame
from events import sealing
from events.envelope import Entry, Part, Seal, SealedCommand, SealedFact, Stored, Submission, encode
from events.errors import RecordDamaged
from events.upcasters import FARTHEST, UPCASTERS, VERSION, Kind

BOUNDED_SINCE = 2
"""Commands of this version and later keep to the bounds of their types. What was ruled on before is ruled on alike
when it is verified: an old command beyond all bounds was refused by the rules, with their reason, or was accepted."""

NO_TIME = "1970-01-01T00:00:00Z"
"""When a submission was received that nobody can read."""

MOST_NESTED = 100
"""How deep the JSON of a command goes at most; the deepest types go some fifteen."""

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_BRACKETS = re.compile(rb"[\[\]{}]")
_submission = msgspec.json.Decoder(Submission)
_entry = msgspec.json.Decoder(Entry)
_parts = msgspec.json.Decoder(tuple[Part, ...])
_sealed_fact = msgspec.json.Decoder(SealedFact)
_sealed_command = msgspec.json.Decoder(SealedCommand)


class _Versioned(msgspec.Struct):
    v: int


_versioned = msgspec.json.Decoder(_Versioned)


def _lifted(kind: Kind, raw: bytes) -> bytes:
    version = _versioned.decode(raw).v
    if not 1 <= version <= FARTHEST:
        raise ValueError("no version of a schema")
    return UPCASTERS.lift(kind, version, raw)


def is_time(text: str) -> bool:
    """Whether a text is a moment that can be compared with others."""
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def is_json(raw: bytes) -> bool:
    """Whether these bytes are one JSON document that this program can read."""
    try:
        msgspec.json.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False
    return True


def is_shallow(raw: bytes) -> bool:
    """Whether JSON is nested no deeper than anything a command holds.

    How deep a reader gets before it gives up depends on who calls it; a ruling must not.
    """
    if raw.count(b"[") + raw.count(b"{") <= MOST_NESTED:
        return True
    depth = 0
    for mark in _BRACKETS.findall(_STRING.sub(b"", raw)):
        depth += 1 if mark in b"[{" else -1
        if depth > MOST_NESTED:
            return False
    return True


def write_submission(submission: Submission) -> bytes:
    """The stored form, without the inbox id. What was read from a store is given back as it stands there."""
    if submission.raw is not None:
        return submission.raw
    return encode(msgspec.structs.replace(submission, inbox=""))


def read_submission(inbox: str, raw: bytes) -> Submission:
    """An element of the inbox. What nobody can read becomes a command that nobody can read; raises FromTheFuture."""
    try:
        found = _submission.decode(_lifted("submission", raw))
        raw_command = bytes(found.command)
        is_older = found.v < BOUNDED_SINCE
        if (is_older or (is_shallow(raw_command) and is_time(found.at))) and is_json(raw_command):
            return msgspec.structs.replace(found, inbox=inbox, raw=raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    return Submission(
        v=VERSION,
        at=NO_TIME,
        cause="system",
        seat=None,
        key="",
        seen=None,
        causation=None,
        correlation="",
        command=msgspec.Raw(encode({"unreadable": base64.b64encode(raw).decode()})),
        inbox=inbox,
        raw=raw,
    )


def is_readable(read: Submission) -> bool:
    """Whether what :func:`read_submission` gave stands in the inbox; otherwise it was made for what nobody can read."""
    return not bytes(read.command).startswith(b'{"unreadable":')


def entry(stored: Stored) -> Entry:
    """The public part of an entry."""
    return _entry.decode(_lifted("entry", stored.public))


def write_parts(parts: tuple[Part, ...]) -> bytes:
    return encode(parts)


def read_parts(raw: bytes) -> tuple[Part, ...]:
    """Sealed parts. They have one spelling; anything else is damage."""
    parts = _parts.decode(raw)
    if encode(parts) != raw:
        raise ValueError("sealed parts in another spelling")
    return parts


def sealed_fact(raw: bytes) -> SealedFact | None:
    """The placeholder of a sealed fact, or None for an open one. A fact begins with its tag, a placeholder does not."""
    return _sealed_fact.decode(raw) if raw.startswith(b'{"sealed":') else None


def sealed_command(raw: bytes, seals: tuple[Seal, ...]) -> SealedCommand | None:
    """The placeholder of a sealed command, or None when the command is public."""
    return _sealed_command.decode(raw) if any(seal.of == "command" for seal in seals) else None


def redact(stored: Stored, player: str | None, privileged: bool = False) -> Stored:
    """What ``player`` (None: the public) may hold of an entry. ``privileged``: what any of them may hold."""
    return sealing.redact(stored, entry(stored).sealed, player, privileged)


def raw_command(stored: Stored, read: Entry) -> bytes | None:
    """The command that was ruled on, or None when it is sealed to other eyes."""
    placeholder = sealed_command(bytes(read.command), read.sealed)
    if placeholder is None:
        return bytes(read.command)
    return bytes(stored.sealed[placeholder.sealed].body) or None


def submission_part(stored: Stored, read: Entry) -> Part | None:
    """The part that binds the submission which an entry answers; None in entries of schema 1."""
    for seal, part in zip(read.sealed, stored.sealed, strict=True):
        if seal.of == sealing.SUBMISSION:
            return part
    return None


def raw_pepper(stored: Stored, read: Entry) -> bytes | None:
    """The pepper of the game, from its first entry."""
    for seal, part in zip(read.sealed, stored.sealed, strict=True):
        if seal.of == sealing.PEPPER and part.is_open:
            return bytes.fromhex(msgspec.json.decode(bytes(part.body), type=str))
    return None


def origin_of(first: Stored) -> Origin | None:
    """Where a fork comes from, as its first entry says; None for what is no fork."""
    for raw in map(bytes, entry(first).facts):
        if raw.startswith(b'{"fact":"Forked"'):
            return msgspec.json.decode(raw, type=Forked).origin
    return None


def name_of(first: Stored) -> str:
    """The id by which a game was created, as its first entry says; empty where it does not, as older ones."""
    for raw in map(bytes, entry(first).facts):
        if raw.startswith(b'{"fact":"GameNamed"'):
            return msgspec.json.decode(raw, type=GameNamed).game
    return ""


class Codec:
    """Decoders for one game's commands, facts and states."""

    def __init__(self, rules: BoardGame[Any]) -> None:
        self._command: msgspec.json.Decoder[Any] = msgspec.json.Decoder(rules.command_type)
        self._bounds: msgspec.json.Decoder[Any] = msgspec.json.Decoder(bounded(rules.command_type))
        self._fact: msgspec.json.Decoder[Any] = msgspec.json.Decoder(rules.fact_type)
        self._state: msgspec.json.Decoder[Any] = msgspec.json.Decoder(rules.state_type)

    def command(self, raw: bytes, version: int = VERSION) -> Any:
        """A command. Raises MsgspecError for what nobody can read, and for what is beyond its bounds."""
        raw = UPCASTERS.lift("command", version, raw)
        if version >= BOUNDED_SINCE:
            self._bounds.decode(raw)
        return self._command.decode(raw)

    def fact(self, raw: bytes, version: int = VERSION) -> Any:
        return self._fact.decode(UPCASTERS.lift("fact", version, raw))

    def state(self, raw: bytes, version: int = VERSION) -> Any:
        return self._state.decode(UPCASTERS.lift("state", version, raw))

    def facts(self, stored: Stored, read: Entry | None = None) -> tuple[Any, ...]:
        """The facts of an entry in order. Where a part is not open to the reader, its placeholder stands.

        What cannot be read is damage of the record, whoever asked for it: raises :class:`RecordDamaged`.
        """
        read = read or entry(stored)
        try:
            return tuple(self._facts(stored, read))
        except (msgspec.MsgspecError, ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
            raise RecordDamaged(read.seq, f"its facts cannot be read ({type(error).__name__})") from error

    def _facts(self, stored: Stored, read: Entry) -> Iterator[Any]:
        for raw in read.facts:
            placeholder = sealed_fact(bytes(raw))
            if placeholder is None:
                yield self.fact(bytes(raw), read.v)
                continue
            part = stored.sealed[placeholder.sealed]
            yield self.fact(bytes(part.body), read.v) if part.is_open else placeholder
