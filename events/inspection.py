"""Inspection of a game in the store: whatever lies there and can be derived is derived, and compared.

The ledger itself is checked by :mod:`events.verify`. Here are its streams as streams, and what lies beside them: the
inbox, the idempotency keys, the fields of the game, and the checkpoints.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from domain.kernel.printing import counted
from events import codec
from events.envelope import Stored, Submission, stream_id
from events.errors import FromTheFuture, RecordDamaged
from events.keys import key_field
from events.losses import Loss
from events.notes import NoteInvalid, Verifier, is_exact, read_checkpoint, read_unsigned, signers_of
from events.ruling import Judge, Line
from events.store import Kept, Parked, Store, Waits, noted_of

_NUMBER = re.compile(r"0|[1-9][0-9]{0,14}")
_NOTED = re.compile(r"(0|[1-9][0-9]*) (0|[1-9][0-9]*) (0|[1-9][0-9]*)")


class Wrong(Exception):
    """Something in the store is not what it should be: where, and in words. ``seq`` is 0 for what is no entry."""

    def __init__(self, seq: int, place: str, what: str, detail: str) -> None:
        super().__init__(f"{place}: {what}: {detail}")
        self.seq = seq
        self.place = place
        self.what = what
        self.detail = detail


KINDS = {"game": "hash", "inbox": "stream", "ledger": "stream", "keys": "hash", "checkpoints": "stream"}


def kinds(store: Store, game: str) -> None:
    """Raise :class:`Wrong` where something of a game is a key of another kind, which nobody could read."""
    for what, wanted in KINDS.items():
        found = store.kind(game, what)
        if found not in (wanted, "none"):
            raise Wrong(0, what, "kind", f"it is a {found}, and a {wanted} is right")


def inbox(store: Store, game: str) -> Iterator[Submission]:
    """The submissions of a game, one in every place."""
    _check_shapes(store, game, "inbox", "submission", 1)
    for number, (name, fields) in enumerate(store.rows(game, "inbox"), 1):
        if name != stream_id(number):
            raise Wrong(0, f"submission {number}", "inbox", f"{_brief(name)} stands in its place")
        if set(fields) != {b"submission"}:
            raise Wrong(0, f"submission {number}", "inbox", "it is not stored as a submission is")
        try:
            yield codec.read_submission(name, fields[b"submission"])
        except FromTheFuture as error:
            raise Wrong(0, f"submission {number}", "schema", f"it cannot be read ({error})") from error


def ledger(store: Store, game: str, upto: int) -> Iterator[Stored]:
    """The entries of a game, one in every place. Raises :class:`RecordDamaged`."""
    for number, (name, count) in enumerate(store.shapes(game, "ledger"), 1):
        if number <= upto and (name, count) != (stream_id(number), 3):
            raise RecordDamaged(number, f"{_brief(name)} stands in its place in the stream, with {count} fields")
    yield from store.entries(game, 0, upto)


def beside(
    store: Store,
    judge: Judge,
    game: str,
    entries: Sequence[Stored],
    line: Line,
    submissions: Mapping[int, Submission],
    keys: Sequence[Verifier],
) -> None:
    """Raise :class:`Wrong` for the first thing that lies beside a ledger, which holds, and does not follow from it."""
    _check_keys(store.known_keys(game), submissions)
    kept = list(_checkpoints(store, game, entries, keys))
    _check_game(store, judge, game, entries, line.taken, submissions, kept)


def _check_shapes(store: Store, game: str, what: str, place: str, fields: int) -> None:
    for name, count in store.shapes(game, what):
        if count != fields:
            raise Wrong(0, f"{place} {_brief(name)}", what, f"it has {count} fields, and {fields} are right")


def _check_keys(found: Mapping[bytes, bytes], submissions: Mapping[int, Submission]) -> None:
    """Each submission that can be read is listed under its key, and nothing else is."""
    due = {key_field(one).encode(): b"%d %s" % (number, one.body_hash.encode()) for number, one in submissions.items()}
    junk = {key_field(one).encode() for one in submissions.values() if not codec.is_readable(one)}
    for field, value in due.items():
        number = value.split()[0].decode()
        if found.get(field) != value and field not in junk:
            raise Wrong(0, f"submission {number}", "key", "its idempotency key is not listed as it came")
    if more := sorted({*found} - {*due}):
        detail = f"{len(more)} idempotency keys are those of no submission"
        raise Wrong(0, "keys", "key", detail)


def _checkpoints(store: Store, game: str, entries: Sequence[Stored], keys: Sequence[Verifier]) -> Iterator[Kept]:
    _check_shapes(store, game, "checkpoints", "checkpoint", 1)
    for name, fields in store.rows(game, "checkpoints"):
        place = f"checkpoint {_brief(name)}"
        try:
            note = fields[b"note"].decode()
            said = read_unsigned(note)
        except (KeyError, ValueError, NoteInvalid) as error:
            raise Wrong(0, place, "checkpoint", "it cannot be read") from error
        if stream_id(said.size) != name or said.size > len(entries):
            raise Wrong(
                0, place, "checkpoint", f"it was signed for {counted(said.size, 'entry', 'entries')} of {len(entries)}"
            )
        if entries[said.size - 1].digest != said.root:
            raise Wrong(0, place, "checkpoint", f"entry {said.size} or one before it is another than was signed")
        signers = signers_of(note)
        if {signer for signer, _ in signers} != {said.origin.partition("/")[0]}:
            raise Wrong(0, place, "checkpoint", "it is signed by another name than it says")
        for key in keys:
            if (key.name, key.id) in signers:
                _check_signature(place, note, key)
        yield Kept(said.size, note)


def _check_signature(place: str, note: str, key: Verifier) -> None:
    try:
        read_checkpoint(note, key)
    except NoteInvalid as error:
        raise Wrong(0, place, "signature", error.why) from error
    if not is_exact(note, key):
        raise Wrong(0, place, "signature", "it has lines that nobody has signed")


def _check_game(
    store: Store,
    judge: Judge,
    game: str,
    entries: Sequence[Stored],
    taken: int,
    submissions: Mapping[int, Submission],
    kept: Sequence[Kept],
) -> None:
    fields = store.fields(game)
    missing = [name for name in ("rules", "version", "created", "pepper") if name not in fields]
    if missing:
        raise Wrong(0, "game", missing[0], "it is missing")
    first = codec.entry(entries[0]) if entries else None
    opening = submissions.get(1)
    cursor = fields.get("cursor", "0")
    if cursor != str(taken):
        detail = f"the inbox is ruled on up to {_brief(cursor)}, but the ledger ends with {taken}"
        raise Wrong(len(entries) + 1, "game", "missing", detail)
    if fields["rules"] != judge.rules.name:
        raise Wrong(0, "game", "rules", f"it is said to be a game of {_brief(fields['rules'])!r}")
    if opening is None:
        raise Wrong(0, "submission 1", "inbox", "it is missing")
    if fields["created"] != opening.at:
        raise Wrong(
            0, "game", "created", f"it says {_brief(fields['created'])!r}, and its first submission {opening.at}"
        )
    pepper = codec.raw_pepper(entries[0], first) if first is not None else None
    if pepper is not None and fields["pepper"] != pepper.hex():
        raise Wrong(0, "game", "pepper", "it is not that of the first entry")
    _check_noted(fields.get("noted"), kept, opening)
    for name, value in fields.items():
        if name not in FORMS:
            raise Wrong(0, "game", "field", f"it has a field that no game has: {_brief(name)!r}")
        if not FORMS[name](value):
            raise Wrong(0, "game", name, "it cannot be read")


def _check_noted(noted: str | None, kept: Sequence[Kept], opening: Submission) -> None:
    """What the game notes of its checkpoints. Games of before may have begun to note later, or not at all."""
    if noted is None:
        if opening.v >= 2:
            raise Wrong(0, "game", "noted", "what was noted of its checkpoints is missing")
        return
    found = _NOTED.fullmatch(noted)
    if found is None:
        raise Wrong(0, "game", "noted", "what was noted of its checkpoints cannot be read")
    begun = int(found[1])
    if begun and opening.v >= 2:
        raise Wrong(0, "game", "noted", "not all checkpoints are noted")
    since = [one for one in kept if one.size > begun]
    if int(found[2]) != len(since):
        detail = f"{counted(int(found[2]), 'checkpoint was', 'checkpoints were')} signed and {len(since)} are there"
        raise Wrong(0, "checkpoints", "checkpoint", detail)
    if noted_of(since, begun) != noted:
        raise Wrong(0, "checkpoints", "checkpoint", "they are not those that were signed")


def _is_number(value: str) -> bool:
    return _NUMBER.fullmatch(value) is not None


def _is_hex(value: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{64}", value) is not None


def _is(kind: type[Parked] | type[Loss] | type[Waits]) -> Callable[[str], bool]:
    def reads(value: str) -> bool:
        try:
            msgspec.json.decode(value, type=kind)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return False
        return True

    return reads


FORMS: dict[str, Callable[[str], bool]] = {
    "rules": bool,
    "created": bool,
    "version": lambda value: re.fullmatch(r"([0-9A-Za-z][0-9A-Za-z.+_-]{0,70})?", value) is not None,
    "pepper": _is_hex,
    "cursor": _is_number,
    "noted": bool,
    "fence": _is_number,
    "unreleased": _is_number,
    "bytes": _is_number,
    "most": _is_number,
    "parked": _is(Parked),
    "lost": _is(Loss),
    "waits": _is(Waits),
    "restored": _is_hex,
}
"""The fields of a game. What is not derived above has only a form: docs/record.md says what its change can do."""


def _brief(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"
