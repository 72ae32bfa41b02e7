"""Export and import: one JSON Lines file per game, complete, verifiable without a store.

    header                       format, game, rules, whose view it is, what it is a fork of
    submission …                 the inbox: what was ruled on, and what still waits
    entry …                      the ledger: public part as it is stored, sealed parts, digest
    end                          how many of each, the head of the chain, SHA-256 of all lines before

Lines have one spelling. Whatever differs from it is damage, even a space.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from domain.kernel.docket import Origin
from events import codec
from events.chain import Chain
from events.envelope import GENESIS, Part, Stored, Submission, encode, number_of
from events.errors import FileDamaged, RecordDamaged
from events.store import Kept, Store

FORMAT = "rookery-game/1"


class Header(
    msgspec.Struct, frozen=True, tag="header", tag_field="line", forbid_unknown_fields=True, omit_defaults=True
):
    """``player``: whose eyes a redacted file is for, None for the public. ``pepper`` only while there is no entry.

    ``origin``, in a fork, says what its first entry says. ``copy_of`` is the id in the first entry, where the game was
    imported under another one. ``privileged``: it holds what is sealed for any player.
    """

    format: str
    game: str
    rules: str
    version: str
    created: str
    full: bool
    player: str | None
    pepper: str | None
    origin: Origin | None = None
    copy_of: str = ""
    privileged: bool = False


class SubmissionLine(msgspec.Struct, frozen=True, tag="submission", tag_field="line", forbid_unknown_fields=True):
    inbox: str
    submission: msgspec.Raw

    def read(self) -> Submission:
        return codec.read_submission(self.inbox, bytes(self.submission))


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
    ``privileged`` one has what is sealed for any player. With ``at`` it ends with that entry, and with the submission
    that it answers.
    """
    record = store.record(game)
    entries, submissions = store.version(game), store.inbox_length(game)
    if at is not None and at < entries:
        entries, submissions = at, _answered(store, game, at)
    pepper = store.pepper(game).hex() if full and not entries else None
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
            FORMAT,
            game,
            record.rules,
            record.version,
            record.created,
            full,
            player,
            pepper,
            origin,
            copy_of,
            privileged and not full,
        )
    )
    for one in store.submissions(game, 0, submissions):
        if full or one.seat in seats:
            kept += 1
            yield line(SubmissionLine(one.inbox, msgspec.Raw(codec.write_submission(one))))
    for stored in store.entries(game, 0, entries):
        head = stored.digest
        shown = stored if full else codec.redact(stored, player, privileged)
        yield line(EntryLine(msgspec.Raw(shown.public), shown.sealed, shown.digest))
    yield line(EndLine(entries, kept, head, covered.hexdigest()))


def _answered(store: Store, game: str, at: int) -> int:
    """The number of the submission that an entry answers; 0 before the first."""
    found = store.entry(game, at) if at else None
    return 0 if found is None else number_of(codec.entry(found).inbox)


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
        elif isinstance(content, EntryLine):
            entries += 1
            head = content.digest
            if entries == 1 and header is not None:
                _check_first(content, header)
        elif isinstance(content, EndLine):
            ended = True
            _check_end(number, content, EndLine(entries, submissions, head, covered.hexdigest()))
        elif content.format != FORMAT:
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
    try:
        number = number_of(content.inbox)
    except ValueError as error:
        raise FileDamaged(line, f"{content.inbox[:40]!r} is no number of a submission") from error
    if number <= last:
        raise FileDamaged(line, f"submission {content.inbox} stands behind number {last}")
    return number


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
    taken = 0
    for number, line in enumerate(parse(lines), 1):
        if isinstance(line, Header):
            header = line
            if not header.full:
                raise FileDamaged(1, "it is redacted; only a full export can go on")
        elif isinstance(line, SubmissionLine):
            inbox.append(line.read())
            if inbox[-1].number != len(inbox):
                raise FileDamaged(number, f"submission {line.inbox} stands in the place of number {len(inbox)}")
        elif isinstance(line, EntryLine):
            entries.append(line.stored())
            taken = number_of(chain.add(entries[-1]).inbox)
    assert header is not None, "parse gives the header first"
    if taken > len(inbox):
        raise RecordDamaged(len(entries), f"it answers submission {taken}, and the file has {len(inbox)}")
    name = game or header.game
    store.restore(name, _fields(header, entries, taken), entries, inbox, checkpoints)
    return Imported(name, len(entries), len(inbox) - taken)


def _fields(header: Header, entries: list[Stored], taken: int) -> dict[str, str]:
    pepper = header.pepper
    if entries:
        found = codec.raw_pepper(entries[0], codec.entry(entries[0]))
        pepper = found.hex() if found is not None else None
    if pepper is None:
        raise FileDamaged(1, "the secret that salts come from is missing")
    return {
        "rules": header.rules,
        "version": header.version,
        "created": header.created,
        "pepper": pepper,
        "cursor": str(taken),
    }
