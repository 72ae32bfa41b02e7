"""Evidence: what players kept, held against a record.

A checkpoint says how the chain stood once; a record continues it or is another history. A receipt says that a
submission was there; a record has it unchanged in its place, or lost it. Needs no store and no server.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from domain.kernel.docket import Origin
from domain.kernel.printing import counted
from events import codec
from events.envelope import GENESIS, number_of
from events.errors import FileDamaged, RecordDamaged, RecordError
from events.export import EntryLine, Header, SubmissionLine, parse
from events.notes import Checkpoint, NoteInvalid, SignedReceipt, Verifier, read_checkpoint, read_receipt


class Note(msgspec.Struct, frozen=True):
    """A signed note as somebody hands it in, and what he calls it."""

    name: str
    text: str

    @property
    def is_receipt(self) -> bool:
        """Whether it means to be one, by its fourth line."""
        return self.text.split("\n")[3:4] not in ([], [""])


class Finding(msgspec.Struct, frozen=True):
    """Something that does not hold: in which piece of evidence, and in words. ``entry`` is 0 where none is meant."""

    what: str
    name: str
    entry: int
    detail: str

    def __str__(self) -> str:
        return f"{self.name}: {self.what}: {self.detail}"


class Book(msgspec.Struct, frozen=True):
    """What evidence is held against: a record by numbers. ``submissions`` are hashes of what the file holds.

    ``full`` is what the header says, ``whole`` whether the secret of the game lies open, whatever the header says.
    """

    game: str
    full: bool
    whole: bool
    digests: dict[int, str]
    submissions: dict[int, str]
    rulings: dict[int, int]
    damage: str = ""
    origin: Origin | None = None
    copy_of: str = ""

    @property
    def size(self) -> int:
        return len(self.digests)


def book_of(lines: Iterable[bytes]) -> Book:
    """The numbers of an export; of a damaged one, up to the damage."""
    header: Header | None = None
    digests: dict[int, str] = {}
    submissions: dict[int, str] = {}
    rulings: dict[int, int] = {}
    damage = ""
    whole = False
    try:
        for line in parse(lines):
            if isinstance(line, Header):
                header = line
            elif isinstance(line, SubmissionLine):
                submissions[number_of(line.inbox)] = hashlib.sha256(line.raw).hexdigest()
            elif isinstance(line, EntryLine):
                seq = len(digests) + 1
                stored = line.stored()
                entry = codec.entry(stored)
                whole = whole or codec.raw_pepper(stored, entry) is not None
                rulings[number_of(entry.inbox)] = seq
                digests[seq] = line.digest
    except (RecordDamaged, FileDamaged) as error:
        damage = str(error)
    except (RecordError, msgspec.MsgspecError, ValueError) as error:
        damage = f"Entry {len(digests) + 1}: it cannot be read ({error})"
    if header is None:
        return Book("", False, whole, digests, submissions, rulings, damage=damage)
    return Book(header.game, header.full, whole, digests, submissions, rulings, damage, header.origin, header.copy_of)


class Weighed(msgspec.Struct, frozen=True):
    """What evidence came to: how many notes hold, what does not, and what cannot be told."""

    confirmed: int
    findings: tuple[Finding, ...]
    remarks: tuple[str, ...]


def weigh(notes: Sequence[Note], keys: Sequence[Verifier], book: Book | None) -> Weighed:
    """Hold notes against a record, and against each other. Without a record only the latter."""
    findings: list[Finding] = []
    remarks: list[str] = []
    opened: list[tuple[Note, Checkpoint | SignedReceipt]] = []
    confirmed = 0
    for note in notes:
        try:
            opened.append((note, _open(note, keys)))
        except NoteInvalid as error:
            findings.append(Finding("signature", note.name, 0, error.why))
    findings += _two_histories(opened)
    for note, content in opened if book is not None else ():
        assert book is not None, "there is nothing to hold it against otherwise"
        found = list(_against(note, content, book, remarks))
        findings += found
        confirmed += not found
    return Weighed(confirmed, tuple(findings), tuple(remarks))


def _open(note: Note, keys: Sequence[Verifier]) -> Checkpoint | SignedReceipt:
    why = "there is no key to check it with"
    for key in keys:
        try:
            return read_receipt(note.text, key) if note.is_receipt else read_checkpoint(note.text, key)
        except NoteInvalid as error:
            why = error.why
    raise NoteInvalid(why)


def _checkpoint(content: Checkpoint | SignedReceipt) -> Checkpoint:
    return content.checkpoint if isinstance(content, SignedReceipt) else content


def _two_histories(opened: Sequence[tuple[Note, Checkpoint | SignedReceipt]]) -> Iterator[Finding]:
    """Two notes of one server on one game that no single record can satisfy."""
    roots: dict[tuple[str, int], tuple[str, str]] = {}
    inboxes: dict[tuple[str, str], tuple[str, str]] = {}
    for note, content in opened:
        point = _checkpoint(content)
        other, root = roots.setdefault((point.origin, point.size), (note.name, point.root))
        if root != point.root:
            detail = f"{other} was signed for the same entry with another digest; nobody can show a record for both"
            yield Finding("two histories", note.name, point.size, detail)
        if isinstance(content, SignedReceipt):
            other, sent = inboxes.setdefault((point.origin, content.inbox), (note.name, content.submission))
            if sent != content.submission:
                detail = f"{other} was signed for another submission under the same number {content.inbox}"
                yield Finding("two histories", note.name, number_of(content.inbox), detail)


def _against(note: Note, content: Checkpoint | SignedReceipt, book: Book, remarks: list[str]) -> Iterator[Finding]:
    yield from _prefix(note, _checkpoint(content), book)
    if isinstance(content, SignedReceipt):
        yield from _received(note, content, book, remarks)


def _prefix(note: Note, point: Checkpoint, book: Book) -> Iterator[Finding]:
    """The record begins with what was signed."""
    kind = "receipt" if note.is_receipt else "checkpoint"
    about = "" if point.origin.partition("/")[2] == book.game else f" (it is about {point.origin!r})"
    found = book.digests.get(point.size, GENESIS if point.size == 0 else "")
    if found == point.root:
        return
    if not found:
        detail = f"it was signed for {counted(point.size, 'entry', 'entries')}, and the record has {book.size}{about}"
        yield Finding(kind, note.name, book.size + 1, detail)
        return
    detail = (
        f"it was signed with {point.root[:12]}… after entry {point.size}, and the record has {found[:12]}… there: "
        f"entry {point.size} or one before it is another than was shown{about}"
    )
    yield Finding(kind, note.name, point.size, detail)


def _received(note: Note, receipt: SignedReceipt, book: Book, remarks: list[str]) -> Iterator[Finding]:
    """The submission is there, unchanged, and was ruled on."""
    number = number_of(receipt.inbox)
    kept = book.submissions.get(number)
    entry = book.rulings.get(number, 0)
    if kept is None and book.full:
        yield Finding("receipt", note.name, entry, f"submission {receipt.inbox} is not in the inbox")
    elif kept is None and not entry:
        remarks.append(f"{note.name}: the record does not reach submission {receipt.inbox}, which waits or is missing.")
    elif kept is None:
        remarks.append(f"{note.name}: this file does not hold submission {receipt.inbox}; only its place was checked.")
    elif kept != receipt.submission:
        yield Finding("receipt", note.name, entry, f"submission {receipt.inbox} is another one than was received")
    elif not entry:
        remarks.append(f"{note.name}: submission {receipt.inbox} is in the inbox and waits for a ruling.")
