"""The digest chain: each entry binds the one before it, its own public bytes and its sealed parts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime

import msgspec

from events import codec
from events.envelope import GENESIS, Entry, Part, Stored, is_stream_id, number_of
from events.errors import RecordDamaged, RecordError
from events.sealing import SUBMISSION, commitment

IN_ORDER_SINCE = 2
"""The schema since which times do not go back within a game: the store's clock sees to that."""


def digest(prev: str, public: bytes, sealed: Iterable[Part]) -> str:
    """SHA-256(previous digest ‖ public bytes ‖ commitments of the sealed parts)."""
    covered = hashlib.sha256(bytes.fromhex(prev) + public)
    for part in sealed:
        covered.update(bytes.fromhex(part.commitment))
    return covered.hexdigest()


class Chain:
    """Checks entries one after the other. Works on a redacted record as on the full one."""

    def __init__(self, version: int = 0, head: str | None = GENESIS) -> None:
        """``head`` None: not known to whoever reads from the middle; what comes first is not held against it."""
        self.version = version
        self.head = head
        self._at: datetime | None = None
        self.turn: int | None = None if version else 0
        """How much of the inbox is answered without a gap, where it is known."""
        self._ahead: set[int] = set()
        self._schema = 1

    @classmethod
    def behind(cls, newest: Stored | None, version: int, head: str, taken: int, ahead: Iterable[int]) -> Chain:
        """At the end of a ledger with that newest entry, so much of whose inbox is answered."""
        chain = cls(version, head)
        chain.turn, chain._ahead = taken, set(ahead)
        if newest is not None:
            entry = codec.entry(newest)
            chain._schema = entry.v
            is_in_turn = entry.v >= IN_ORDER_SINCE and number_of(entry.inbox) <= taken and entry.at != codec.NO_TIME
            chain._at = datetime.fromisoformat(entry.at) if is_in_turn else None
        return chain

    def add(self, stored: Stored) -> Entry:
        """Take the next entry; raises :class:`RecordDamaged` naming it."""
        seq = self.version + 1
        try:
            entry = codec.entry(stored)
            fault = self._fault(seq, entry, stored)
            at = datetime.fromisoformat(entry.at) if entry.v >= IN_ORDER_SINCE else None
            at = self._at if entry.at == codec.NO_TIME else at
        except (msgspec.MsgspecError, RecordError, ValueError, TypeError, RecursionError) as error:
            raise RecordDamaged(seq, f"it cannot be read ({error})") from error
        if fault is not None:
            raise RecordDamaged(seq, fault)
        self.version, self.head, self._schema = seq, stored.digest, entry.v
        if self._is_in_turn(entry):
            self._at = at
        return entry

    def _is_in_turn(self, entry: Entry) -> bool:
        """Whether an entry answers the next submission; one that goes ahead was received after those it overtakes."""
        number = number_of(entry.inbox)
        if self.turn is not None and number != self.turn + 1:
            self._ahead.add(number)
            return False
        self.turn = number
        while self.turn + 1 in self._ahead:
            self.turn += 1
            self._ahead.remove(self.turn)
        return True

    def _fault(self, seq: int, entry: Entry, stored: Stored) -> str | None:
        if entry.seq != seq:
            return f"entry {entry.seq} stands in its place"
        if not is_stream_id(entry.inbox):
            return f"it answers {entry.inbox[:40]!r}, which is no submission"
        if entry.v < self._schema:
            return f"it is written in schema {entry.v}, and {self._schema} is the least here"
        if self.head is not None and entry.prev != self.head:
            return f"it continues {entry.prev[:12]}…, but the entry before it is {self.head[:12]}…"
        if digest(entry.prev, stored.public, stored.sealed) != stored.digest:
            return "its digest does not fit its bytes"
        if (
            self._at is not None
            and entry.at != codec.NO_TIME
            and entry.v >= IN_ORDER_SINCE
            and datetime.fromisoformat(entry.at) < self._at
        ):
            return f"it was received at {entry.at}, before the entry before it"
        if [(seal.audience, seal.commitment) for seal in entry.sealed] != [
            (part.audience, part.commitment) for part in stored.sealed
        ]:
            return "its sealed parts are not those it names"
        for index, (seal, part) in enumerate(zip(entry.sealed, stored.sealed, strict=True)):
            if not _is_kept(seal.of, part):
                return f"sealed part {index} does not fit its commitment"
        return None


def _is_kept(of: str, part: Part) -> bool:
    """Whether an open part is what was committed to; a closed one holds nothing, nor does that of the submission."""
    if not part.is_open:
        return not bytes(part.body)
    salt = bytes.fromhex(part.salt)
    if len(salt) != 32 or salt.hex() != part.salt:
        return False
    if of == SUBMISSION:
        return not bytes(part.body)
    return commitment(salt, bytes(part.body)) == part.commitment


def is_bound(part: Part, submitted: bytes) -> bool:
    """Whether an open part binds these bytes of a submission."""
    return commitment(bytes.fromhex(part.salt), submitted) == part.commitment


class _Behind(msgspec.Struct):
    prev: str


def is_as_written(stored: Stored) -> bool:
    """Whether the digest fits the bytes, also of an entry that a newer Rookery wrote and this one cannot read."""
    try:
        prev = msgspec.json.decode(stored.public, type=_Behind).prev
        return digest(prev, stored.public, stored.sealed) == stored.digest
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False


def check(entries: Iterable[Stored]) -> RecordDamaged | None:
    """The first entry that does not fit, or None."""
    chain = Chain()
    try:
        for stored in entries:
            chain.add(stored)
    except RecordDamaged as damage:
        return damage
    return None
