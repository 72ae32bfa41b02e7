"""Export and import: one JSON Lines file per game, complete, verifiable without a store.

    header                       format, game, rules, whose view it is, what it is a fork of; nothing that is not
                                 said by the entries, too, so that nothing in it can be changed unnoticed
    submission …                 the inbox: what was ruled on, and what still waits
    entry …                      the ledger: public part as it is stored, sealed parts, digest
    end                          how many of each, the head of the chain, SHA-256 of all lines before

Lines have one spelling. Whatever differs from it is damage, even a space.
"""

from __future__ import annotations

import hashlib
import os
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from domain.kernel.docket import Origin
from events import codec
from events.chain import Chain, is_bound
from events.envelope import GENESIS, Entry, Part, Seal, Stored, Submission, encode, is_stream_id, number_of
from events.errors import FileDamaged, FromTheFuture, RecordDamaged
from events.sealing import PEPPER, SUBMISSION
from events.staging import restore
from events.store import Kept, Store

FORMAT = "rookery-game/2"
FORMATS = ("rookery-game/1", FORMAT)
"""What is read. The first one had when and by which engine the game was created, and its pepper before an entry."""


class Header(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag="header",
    tag_field="line",
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """``player``: whose eyes a redacted file is for, None for the public.

    ``version``, ``created`` and ``pepper`` stand in files of the first format only.

    ``origin``, in a fork, says what its first entry says. ``copy_of`` is the id in the first entry, where the game was
    imported under another one. ``privileged``: it holds what is sealed for any player.
    """

    format: str
    game: str
    rules: str
    version: str | msgspec.UnsetType = msgspec.UNSET
    created: str | msgspec.UnsetType = msgspec.UNSET
    full: bool
    player: str | None
    pepper: str | msgspec.UnsetType | None = msgspec.UNSET
    origin: Origin | None = None
    copy_of: str = ""
    privileged: bool = False


class SubmissionLine(
    msgspec.Struct, frozen=True, tag="submission", tag_field="line", forbid_unknown_fields=True, omit_defaults=True
):
    """``base64`` instead of ``submission`` for what is no JSON, or does not fit into a line."""

    inbox: str
    submission: msgspec.Raw = msgspec.Raw(b"")
    base64: str = ""

    @classmethod
    def of(cls, one: Submission) -> SubmissionLine:
        """A submission as it stands in the inbox, byte for byte."""
        raw = codec.write_submission(one)
        if codec.is_json(raw) and not raw[:1].isspace() and not raw[-1:].isspace() and not {10, 13} & {*raw}:
            return cls(one.inbox, msgspec.Raw(raw))
        return cls(one.inbox, base64=b64encode(raw).decode())

    @property
    def raw(self) -> bytes:
        """The stored bytes. Raises ValueError."""
        return b64decode(self.base64, validate=True) if self.base64 else bytes(self.submission)

    def read(self) -> Submission:
        return codec.read_submission(self.inbox, self.raw)


class EntryLine(msgspec.Struct, frozen=True, tag="entry", tag_field="line", forbid_unknown_fields=True):
    public: msgspec.Raw
    sealed: tuple[Part, ...]
    digest: str

    def stored(self) -> Stored:
        return Stored(bytes(self.public), self.sealed, self.digest)


class EndLine(msgspec.Struct, frozen=True, tag="end", tag_field="line", forbid_unknown_fields=True):
    entries: int
    submissions: int
    head: str
    sha256: str


ExportLine = Header | SubmissionLine | EntryLine | EndLine

_line = msgspec.json.Decoder(ExportLine)


def export_game(
    store: Store,
    game: str,
    *,
    full: bool = True,
    player: str | None = None,
    seats: Collection[str] = (),
    privileged: bool = False,
    at: int | None = None,
) -> Iterator[bytes]:
    """The lines of a file. A redacted one (``full=False``) is for ``player``, with the submissions of ``seats``.

    A full file holds the pepper and with it every secret, also those to come: it is for backup and verification. A
    ``privileged`` one has what is sealed for any player. With ``at`` it ends with that entry, and with the newest
    submission that is answered up to there. It is whole or not begun: raises :class:`RecordDamaged` before the first
    line.
    """
    record = store.record(game)
    entries, submissions = store.version(game), store.inbox_length(game)
    if at is not None and at < entries:
        entries, submissions = at, _answered(store, game, at)
    store.check(game, entries)
    covered = hashlib.sha256()
    head = GENESIS
    kept = 0

    def line(content: ExportLine) -> bytes:
        raw = encode(content) + b"\n"
        covered.update(raw)
        return raw

    first = store.entry(game, 1) if entries else None
    origin = None if first is None else codec.origin_of(first)
    name = "" if first is None else codec.name_of(first)
    copy_of = "" if name == game else name
    yield line(
        Header(
            format=FORMAT,
            game=game,
            rules=record.rules,
            full=full,
            player=None if full or privileged else player,
            origin=origin,
            copy_of=copy_of,
            privileged=privileged and not full,
        )
    )
    for one in store.submissions(game, 0, submissions):
        if full or one.seat in seats:
            kept += 1
            yield line(SubmissionLine.of(one))
    for stored in store.entries(game, 0, entries):
        head = stored.digest
        shown = stored if full else codec.redact(stored, player, privileged)
        yield line(EntryLine(msgspec.Raw(shown.public), shown.sealed, shown.digest))
    yield line(EndLine(entries, kept, head, covered.hexdigest()))


def _answered(store: Store, game: str, at: int) -> int:
    """The largest number of a submission that the entries up to one answer; some go ahead of others."""
    return max((number_of(codec.entry(one).inbox) for one in store.entries(game, 0, at)), default=0)


def parse(lines: Iterable[bytes]) -> Iterator[ExportLine]:
    """The lines of a file, decoded one by one.

    Raises :class:`RecordDamaged` for an entry and :class:`FileDamaged` for any other line that is not as written.
    """
    covered = hashlib.sha256()
    entries = submissions = taken = 0
    head = GENESIS
    number = 0
    ended = False
    header: Header | None = None
    for number, raw in enumerate(lines, 1):
        if ended:
            raise FileDamaged(number, "there is more after the end")
        content = _decoded(number, raw, entries)
        if isinstance(content, Header) != (number == 1):
            raise FileDamaged(number, "the header is the first line, and no other")
        if isinstance(content, SubmissionLine):
            submissions += 1
            if entries:
                raise FileDamaged(number, "submissions stand before entries")
            taken = _behind(number, content, taken)
            _check_form(number, content)
        elif isinstance(content, EntryLine):
            entries += 1
            head = content.digest
            if entries == 1 and header is not None:
                _check_first(content, header)
        elif isinstance(content, EndLine):
            ended = True
            _check_end(number, content, EndLine(entries, submissions, head, covered.hexdigest()))
        elif content.format not in FORMATS:
            raise FileDamaged(number, f"the format is {content.format!r}, not {FORMAT!r}")
        else:
            header = content
        covered.update(raw)
        yield content
    if not ended:
        raise FileDamaged(number + 1, "the file ends before its end")


def _decoded(number: int, raw: bytes, entries: int) -> ExportLine:
    try:
        content = _line.decode(raw)
        if encode(content) + b"\n" == raw:
            return content
        why = "it is not as it was written"
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        why = f"it cannot be read ({error})"
    if b'"entry"' in raw[:20] or b'"public":' in raw[:40]:
        raise RecordDamaged(entries + 1, why)
    raise FileDamaged(number, why)


def _behind(line: int, content: SubmissionLine, last: int) -> int:
    """The number of a submission, which comes behind those before."""
    if not is_stream_id(content.inbox):
        raise FileDamaged(line, f"{content.inbox[:40]!r} is no number of a submission")
    number = number_of(content.inbox)
    if number <= last:
        raise FileDamaged(line, f"submission {content.inbox} stands behind number {last}")
    return number


def _check_form(line: int, content: SubmissionLine) -> None:
    """A submission has one of its two forms, and always the same one."""
    try:
        same = SubmissionLine.of(content.read()) == content
    except (ValueError, FromTheFuture):
        same = False
    if not same:
        raise FileDamaged(line, f"submission {content.inbox} is not as it was written")


def _check_first(first: EntryLine, header: Header) -> None:
    """The header says what the first entry says: which game this is, and of which other one it is a fork."""
    try:
        found, name = codec.origin_of(first.stored()), codec.name_of(first.stored())
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise RecordDamaged(1, f"it cannot be read ({error})") from error
    if found != header.origin:
        raise FileDamaged(1, "it does not say of which game this is a fork, as the first entry does")
    if name != (header.copy_of or header.game) and (name or header.copy_of):
        said = f"a copy of {header.copy_of!r}" if header.copy_of else f"{header.game!r}"
        raise FileDamaged(1, f"it says that this is {said}, and the first entry {_names(name)}")
    if header.copy_of == header.game:
        raise FileDamaged(1, "it says that the game is a copy of itself")


class Claims:
    """What a header says of its file, held against what lies open in it, and which submissions it lacks."""

    def __init__(self, header: Header) -> None:
        self.header = header
        self.whole = False
        """Whether the pepper lies open: then everything can be ruled on again, whatever the header says."""
        self.wrong = self._of_its_format()

    def add(self, entry: Entry, stored: Stored, numbers: Collection[int]) -> None:
        """Take the next entry, with the numbers of the submissions in the file."""
        if entry.seq == 1:
            self.whole = codec.raw_pepper(stored, entry) is not None
            self.wrong = self.wrong or self._of_the_first(entry)
        for seal, part in zip(entry.sealed, stored.sealed, strict=True):
            if part.is_open != self._is_open(seal):
                says = "open" if part.is_open else "closed"
                self.wrong = self.wrong or (
                    f"it says that this is {self._said()}, and a part of entry {entry.seq} ({seal.of}) is {says}"
                )
            if seal.of == SUBMISSION and part.is_open and number_of(entry.inbox) not in numbers:
                self.wrong = self.wrong or f"submission {entry.inbox}, which its reader may have, is missing"

    def _of_its_format(self) -> str:
        old = self.header.format == FORMATS[0]
        given = [one is not msgspec.UNSET for one in (self.header.version, self.header.created, self.header.pepper)]
        fits = all(given) if old else not any(given)
        alone = [self.header.full, self.header.privileged, self.header.player is not None]
        if alone.count(True) > 1:
            return "it says of more than one reader that it is for him"
        return "" if fits else "it is not a header of its format"

    def _of_the_first(self, entry: Entry) -> str:
        """What older headers say besides."""
        header = self.header
        if entry.engine.partition("/")[0] != header.rules:
            return f"it says that this is a game of {header.rules!r}, and the first entry was ruled by {entry.engine}"
        if header.created not in (msgspec.UNSET, entry.at):
            return f"it says that the game was created at {header.created}, and the first entry is of {entry.at}"
        if header.version not in (msgspec.UNSET, entry.engine.partition("/")[2]):
            return f"it says that the engine was {header.version!r}, and the first entry was ruled by {entry.engine}"
        if header.pepper not in (msgspec.UNSET, None):
            return "it holds a secret that only a game without entries has"
        return ""

    def _is_open(self, seal: Seal) -> bool:
        if self.header.full:
            return True
        if seal.of == PEPPER:
            return False
        return bool(seal.audience) if self.header.privileged else self.header.player in seal.audience

    def _said(self) -> str:
        if self.header.full:
            return "the whole record"
        if self.header.privileged:
            return "what an arbiter may read"
        return "public" if self.header.player is None else f"for the eyes of {self.header.player}"


def _names(name: str) -> str:
    return f"is that of {name!r}" if name else "names no game"


def _check_end(number: int, found: EndLine, counted: EndLine) -> None:
    if found.entries != counted.entries or found.head != counted.head:
        raise RecordDamaged(
            min(found.entries, counted.entries) + 1,
            f"the file ends with entry {counted.entries}, but was written with {found.entries}",
        )
    if found != counted:
        raise FileDamaged(number, "the lines before are not those that were written")


class Imported(msgspec.Struct, frozen=True):
    """A game that came into the store: at which version, and how many submissions wait for a ruling."""

    game: str
    version: int
    unruled: int


def import_game(
    store: Store, lines: Iterable[bytes], game: str | None = None, checkpoints: Sequence[Kept] = ()
) -> Imported:
    """Put a full export into a store, under its own id or another; the game goes on where it was.

    Signed ``checkpoints`` of a bundle come along. Raises :class:`RecordDamaged` or :class:`FileDamaged` before anything
    is written, or ``GameExists``. The caller rings.
    """
    header: Header | None = None
    inbox: list[Submission] = []
    entries: list[Stored] = []
    chain = Chain()
    claims: Claims | None = None
    taken = 0
    for number, line in enumerate(parse(lines), 1):
        if isinstance(line, Header):
            header, claims = line, Claims(line)
            if not header.full:
                raise FileDamaged(1, "it is redacted; only a full export can go on")
        elif isinstance(line, SubmissionLine):
            inbox.append(line.read())
            if inbox[-1].number != len(inbox):
                raise FileDamaged(number, f"submission {line.inbox} stands in the place of number {len(inbox)}")
        elif isinstance(line, EntryLine):
            assert claims is not None, "parse gives the header first"
            entries.append(line.stored())
            entry = chain.add(entries[-1])
            taken = max(taken, number_of(entry.inbox))
            claims.add(entry, entries[-1], range(1, len(inbox) + 1))
            _check_bound(entry, entries[-1], inbox)
    assert header is not None and claims is not None, "parse gives the header first"
    if claims.wrong:
        raise FileDamaged(1, claims.wrong)
    if taken > len(inbox):
        raise RecordDamaged(len(entries), f"it answers submission {taken}, and the file has {len(inbox)}")
    name = game or header.game
    cursor = chain.turn or 0  # an act may have gone ahead of what still waits
    restore(store, name, _fields(header, entries, inbox, cursor), entries, inbox, checkpoints)
    return Imported(name, len(entries), len(inbox) - cursor)


def _check_bound(entry: Entry, stored: Stored, inbox: Sequence[Submission]) -> None:
    """The entry binds the submission that it answers, byte for byte."""
    part, number = codec.submission_part(stored, entry), number_of(entry.inbox)
    if part is None or number > len(inbox):
        return
    if not is_bound(part, codec.write_submission(inbox[number - 1])):
        raise RecordDamaged(entry.seq, f"submission {entry.inbox} is not, byte for byte, the one that was ruled on")


def _fields(header: Header, entries: list[Stored], inbox: list[Submission], taken: int) -> dict[str, str]:
    """What the store keeps of a game besides. One without an entry gets another pepper: nothing rests on it yet."""
    if not inbox:
        raise FileDamaged(2, "the submission that began the game is missing")
    first = codec.entry(entries[0]) if entries else None
    pepper = os.urandom(32) if first is None else codec.raw_pepper(entries[0], first)
    if pepper is None:
        raise FileDamaged(1, "the secret that salts come from is missing")
    return {
        "rules": header.rules,
        "version": "" if first is None else first.engine.partition("/")[2],
        "created": inbox[0].at,
        "pepper": pepper.hex(),
        "cursor": str(taken),
    }
