"""A backup: games with everything that lies around them, cut from a running store, and put back.

A file is a row of frames, each its length in four bytes and a document in MessagePack:

    begin            format, when, who signs
    file …           keys and tokens of the data directory
    game             which one, then its parts: streams in order, everything else at once
    part …
    done             how far it goes, and whether its record was found damaged
    shared …         shared seeds, when all games are told
    end              how many games, SHA-256 of all frames before, a note over both by the key that the beginning names

A backup is encrypted to a public key, which says nothing about who made it. So the server signs it: the note at the end
binds every frame, in its order. Whether that key is anybody's is for the reader to know. Format 1 had no signatures.

Every key of a game is taken as it lies in the store, also one that this module has never heard of; left out are its
lease, its snapshot and what is staged. All but the streams and the idempotency keys is read by one script, which also
says how far the streams go: they only grow, so what is read of them afterwards up to there is what they were at that
moment. A game is staged beside its place and put there by one script: half a game is none.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from domain.kernel.printing import counted
from events import codec
from events.chain import Chain
from events.connecting import translated
from events.envelope import Stored, Submission, number_of, stream_id, utc_now
from events.errors import GameExists, RecordDamaged, RecordError
from events.keys import (
    game_key,
    game_part,
    is_game_id,
    shared_written,
    written_shared,
)
from events.losses import Head
from events.notes import NoteInvalid, Signer, Verifier, is_name
from events.staging import Staged, put_shared
from events.store import Store

FORMAT = "rookery-backup/2"
UNSIGNED_FORMAT = "rookery-backup/1"
"""What backups were before they were signed."""

MOST_FRAME = 64 << 20
ROWS = 200

PASSING = ("lease", "snapshot")
"""What a game does without: it comes back by itself."""

PERSONAL = ("tokens", "arbiters", "issues", "maker", "forks")
"""What belongs to people, and does not go along with a copy under another name."""

OF_THIS_STORE = frozenset({b"lost", b"restored"})
"""Fields of a game that say something about the store it lies in."""

Kind = Literal["hash", "list", "set", "string", "zset", "stream"]
Row = tuple[bytes, ...]


class BackupDamaged(RecordError):
    """The file is not as it was written, or no backup at all. Nothing of it was put back."""

    def __init__(self, why: str) -> None:
        super().__init__(f"This is not a whole backup: {why}. Nothing was put back.")
        self.why = why


class BackupChanged(RecordError):
    """The file is not what it was when it was checked, a moment ago."""

    def __init__(self) -> None:
        super().__init__(
            "The backup was changed while it was restored. Nothing was put back that had not been checked; copy the"
            " file to a place where nobody else writes, and begin again in a new directory."
        )


class Begin(msgspec.Struct, frozen=True, tag="begin"):
    format: str
    at: str
    signer: str = ""
    """The public key of whoever signs it, with the server's name; empty for a backup that nobody signs."""


class File(msgspec.Struct, frozen=True, tag="file"):
    name: str
    content: bytes


class Game(msgspec.Struct, frozen=True, tag="game"):
    game: str


class Part(msgspec.Struct, frozen=True, tag="part"):
    what: str
    kind: Kind
    rows: tuple[Row, ...]


class Done(msgspec.Struct, frozen=True, tag="done"):
    game: str
    head: Head
    damaged: str = ""


class Shared(msgspec.Struct, frozen=True, tag="shared"):
    key: str
    kind: Kind
    rows: tuple[Row, ...]


class End(msgspec.Struct, frozen=True, tag="end"):
    games: int
    sha256: str
    note: str = ""


Frame = Begin | File | Game | Part | Done | Shared | End
_frame = msgspec.msgpack.Decoder(Frame)
_encode = msgspec.msgpack.Encoder().encode

# KEYS anything of one game; ARGV for each 1 where its elements are read later. The types and contents at this moment;
# of a stream its last id.
_CUT = """
local found = {}
for i = 1, #KEYS do
  local kind = redis.call('TYPE', KEYS[i]).ok
  local rows = {}
  if ARGV[i] == '1' then rows = {}
  elseif kind == 'hash' then rows = redis.call('HGETALL', KEYS[i])
  elseif kind == 'list' then rows = redis.call('LRANGE', KEYS[i], 0, -1)
  elseif kind == 'set' then rows = redis.call('SMEMBERS', KEYS[i])
  elseif kind == 'zset' then rows = redis.call('ZRANGE', KEYS[i], 0, -1, 'WITHSCORES')
  elseif kind == 'string' then rows = {redis.call('GET', KEYS[i])}
  elseif kind == 'stream' then
    local tail = redis.call('XREVRANGE', KEYS[i], '+', '-', 'COUNT', 1)
    rows = {tail[1] and tail[1][1] or '0-0'}
  end
  found[i] = {kind, rows}
end
return found
"""


# Writing


def backup(
    store: Store,
    files: Iterable[File],
    told: Callable[[Done], None] = lambda done: None,
    signer: Signer | None = None,
) -> Iterator[bytes]:
    """The frames of a backup of everything. ``told`` hears of each game when it is done."""
    covered = hashlib.sha256()
    games = 0
    for frame in _frames(store, files, signer.verifier.text() if signer is not None else ""):
        raw = _encode(frame)
        framed = len(raw).to_bytes(4, "big") + raw
        covered.update(framed)
        if isinstance(frame, Done):
            games += 1
            told(frame)
        yield framed
    sha256 = covered.hexdigest()
    last = _encode(End(games, sha256, signer.sign(_bound(games, sha256)) if signer is not None else ""))
    yield len(last).to_bytes(4, "big") + last


def _bound(games: int, sha256: str) -> str:
    """What a signature is over. No checkpoint and no receipt reads like it: their first line has no spaces."""
    return f"A backup of Rookery, {FORMAT}\n{games} games\nsha256 {sha256}\n"


def _frames(store: Store, files: Iterable[File], signer: str) -> Iterator[Frame]:
    yield Begin(FORMAT, utc_now(), signer)
    yield from files
    for game, parts in sorted(_parts(store).items()):
        if "game" in parts:
            yield from _game(store, game, sorted(parts))
    for key in _shared_keys(store):
        yield from (Shared(written_shared(key), kind, rows) for kind, rows in _whole(store, [key]))


@translated
def _parts(store: Store) -> dict[str, set[str]]:
    """The keys of all games."""
    found: dict[str, set[str]] = defaultdict(set)
    for key in store.client.scan_iter(match="rookery:{P??}:*:*", count=1000):
        part = game_part(key.decode(errors="replace"))
        if part is not None and _goes_along(part[1]):  # whatever else somebody has put there is none of ours
            found[part[0]].add(part[1])
    return found


def _goes_along(what: str) -> bool:
    """Whether a part of a game of that name is one to be kept."""
    return what not in PASSING and re.fullmatch(r"[!-z]+", what) is not None and not what.startswith("staged:")


@translated
def _shared_keys(store: Store) -> list[str]:
    found = (key.decode(errors="replace") for key in store.client.scan_iter(match="rookery:{SHARED}:*", count=1000))
    return sorted(key for key in found if shared_written(written_shared(key)) == key)


@translated
def _whole(store: Store, keys: Sequence[str], later: Sequence[bool] = ()) -> list[tuple[Kind, tuple[Row, ...]]]:
    """Types and contents of keys of one slot at one moment."""
    args = [int(one) for one in later or [False] * len(keys)]
    answer = store.client.register_script(_CUT)(keys=list(keys), args=args)
    width = {"hash": 2, "zset": 2}
    return [
        (kind.decode(), tuple(zip(*[iter(rows)] * width.get(kind.decode(), 1), strict=True))) for kind, rows in answer
    ]


def _game(store: Store, game: str, parts: Sequence[str]) -> Iterator[Frame]:
    yield Game(game)
    keys = [game_key(game, what) for what in parts]
    cut = dict(zip(parts, _whole(store, keys, [what == "keys" for what in parts]), strict=True))
    ends = {what: number_of(rows[0][0].decode()) for what, (kind, rows) in cut.items() if kind == "stream"}
    chain = _Chained()
    for what, (kind, rows) in cut.items():
        if kind == "stream":
            for page in _stream(store, game, what, ends[what]):
                chain.take(what, page)
                yield Part(what, kind, page)
        elif what == "keys":
            yield from (Part(what, "hash", page) for page in _idempotency(store, game, ends.get("inbox", 0)))
        else:
            kept = tuple(row for row in rows if what != "game" or row[0] not in OF_THIS_STORE)
            chain.take(what, kept)
            yield Part(what, kind, kept)
    yield chain.done(game)


def _stream(store: Store, game: str, what: str, last: int) -> Iterator[tuple[Row, ...]]:
    """A stream up to an element, some at a time."""
    page: list[Row] = []
    size = 0
    for name, fields in store.rows(game, what):
        if number_of(name) > last:
            break
        page.append((name.encode(), *(item for pair in fields.items() for item in pair)))
        size += sum(map(len, page[-1]))
        if len(page) >= ROWS or size > 1 << 20:
            yield tuple(page)
            page, size = [], 0
    yield tuple(page)


def _idempotency(store: Store, game: str, last: int) -> Iterator[tuple[Row, ...]]:
    """Keys of the submissions that come along."""
    cursor = -1
    while cursor:
        cursor, page = _scan(store, game, max(0, cursor))
        yield tuple((field, value) for field, value in page.items() if _number_in(value) <= last)


def _number_in(value: bytes) -> int:
    """Which submission an idempotency key is listed for; 0 where nobody can read it, so that it comes along."""
    number = value.partition(b" ")[0]
    return int(number) if number.isdigit() else 0


@translated
def _scan(store: Store, game: str, cursor: int) -> tuple[int, dict[bytes, bytes]]:
    found: tuple[int, dict[bytes, bytes]] = store.client.hscan(game_key(game, "keys"), cursor, count=ROWS)
    return found


class _Chained:
    """Follows the record of one game while its parts pass."""

    def __init__(self) -> None:
        self.chain = Chain()
        self.head = Head()
        self.damaged = ""
        self.answered = 0
        self.cursor = 0
        self.last_at = ""

    def take(self, what: str, rows: Iterable[Row]) -> None:
        """Take some elements. What cannot be read is damage of this game, and keeps no other from being copied."""
        for row in rows:
            try:
                if what == "game" and row[0] == b"cursor":
                    self.cursor = int(row[1])
                elif what == "inbox":
                    self._submission(row)
                elif what == "ledger" and not self.damaged:
                    self._entry(row)
            except (ValueError, IndexError):
                self.damaged = self.damaged or f"a part of it ({what}) cannot be read"

    def _submission(self, row: Row) -> None:
        number, raw = number_of(row[0].decode()), row[2] if len(row) > 2 else b""
        if number != self.head.inbox + 1:
            self.damaged = self.damaged or f"submission {self.head.inbox + 1} is missing"
        self.head = msgspec.structs.replace(self.head, inbox=number, submission=hashlib.sha256(raw).hexdigest())

    def _entry(self, row: Row) -> None:
        number = number_of(row[0].decode())
        fields = dict(zip(row[1::2], row[2::2], strict=True))
        try:
            if number != self.head.version + 1:
                raise RecordDamaged(self.head.version + 1, "it is missing")
            stored = Stored(fields[b"public"], codec.read_parts(fields[b"sealed"]), fields[b"digest"].decode())
            self.chain.add(stored)
            self.answered = self.chain.turn or 0
        except (RecordDamaged, KeyError, ValueError, msgspec.MsgspecError) as error:
            self.damaged = str(error) if isinstance(error, RecordDamaged) else f"Entry {number}: it cannot be read"
            return
        self.head = msgspec.structs.replace(self.head, version=number, digest=stored.digest)

    def done(self, game: str) -> Done:
        if not self.damaged and not self.answered <= self.cursor <= self.head.inbox:
            self.damaged = (
                f"{counted(self.cursor, 'submission is', 'submissions are')} ruled on, and {self.head.inbox} are there"
            )
        return Done(game, self.head, self.damaged)


# Reading


class Frames:
    """Takes the bytes of a backup as they come, and hands every frame on. Holds one frame at a time.

    ``marks`` are the digests at the end of each game and shared seed. With those of a reading before, as ``expected``,
    nothing is handed on that is not what was checked then: the file may have been changed in between.
    """

    def __init__(self, sink: Callable[[Frame], None], expected: Sequence[bytes] | None = None) -> None:
        self.marks: list[bytes] = []
        self.signer: Verifier | None = None
        self._sink = sink
        self._expected = expected
        self._rest = bytearray()
        self._covered = hashlib.sha256()
        self._ended = False
        self._games = 0
        self._began = False

    def write(self, some: bytes) -> int:
        """The next bytes. Raises :class:`BackupDamaged`."""
        self._rest += some
        while len(self._rest) >= 4:
            size = int.from_bytes(self._rest[:4], "big")
            if size > MOST_FRAME or (not self._began and size > 1000):
                raise BackupDamaged("it has not the form of one")
            if len(self._rest) < 4 + size:
                break
            self._take(bytes(self._rest[: 4 + size]))
            del self._rest[: 4 + size]
        return len(some)

    def flush(self) -> None:
        """For whoever takes this for a file."""

    def close(self) -> None:
        """No more bytes come. Raises :class:`BackupDamaged` where some should have."""
        if not self._ended or self._rest:
            raise BackupDamaged("it breaks off" if not self._ended else "there is more behind its end")

    def _take(self, framed: bytes) -> None:
        try:
            frame = _frame.decode(framed[4:])
        except (msgspec.MsgspecError, ValueError) as error:
            raise BackupDamaged(f"a part of it cannot be read ({error})") from error
        if self._ended or isinstance(frame, Begin) == self._began:
            raise BackupDamaged("its parts are out of order")
        if isinstance(frame, Begin):
            self._begin(frame)
        self._began = True
        if isinstance(frame, End):
            self._ended = True
            if (frame.games, frame.sha256) != (self._games, self._covered.hexdigest()):
                raise BackupDamaged("its parts are not those that were written")
            self._check_signature(frame)
        self._games += isinstance(frame, Done)
        self._covered.update(framed)
        if isinstance(frame, Done | Shared | End):
            self._mark()
        self._sink(frame)

    def _begin(self, begin: Begin) -> None:
        if begin.format not in (FORMAT, UNSIGNED_FORMAT):
            raise BackupDamaged(f"its format is {begin.format[:80]!r}, and this Rookery reads {FORMAT!r}")
        if not begin.signer:
            return
        try:
            self.signer = Verifier.parse(begin.signer)
        except NoteInvalid as error:
            raise BackupDamaged("the key at its beginning is none") from error
        if begin.format != FORMAT or not is_name(self.signer.name):
            raise BackupDamaged("nobody signs like that")

    def _check_signature(self, end: End) -> None:
        """The note is by the key of the beginning, over these frames; or there is neither."""
        if self.signer is None:
            if end.note:
                raise BackupDamaged("it has a signature, and does not say whose")
            return
        if not end.note:
            raise BackupDamaged("its signature is missing")
        try:
            signed = self.signer.open(end.note)
        except NoteInvalid as error:
            raise BackupDamaged(f"its signature does not hold ({error.why})") from error
        if signed != _bound(end.games, end.sha256):
            raise BackupDamaged("its signature is that of something else")

    def _mark(self) -> None:
        at = len(self.marks)
        self.marks.append(self._covered.digest())
        if self._expected is not None and self._expected[at : at + 1] != self.marks[at:]:
            raise BackupChanged


class Contents:
    """What a backup holds; made by reading it once, before anything of it is put back."""

    def __init__(self) -> None:
        self.at = ""
        self.files: list[File] = []
        self.games: dict[str, Done] = {}
        self._now: str | None = None
        self._chain = _Chained()

    def __call__(self, frame: Frame) -> None:
        match frame:
            case Begin():
                self.at = frame.at
            case File():
                self.files.append(frame)
            case Game():
                if self._now is not None or frame.game in self.games or not is_game_id(frame.game):
                    raise BackupDamaged(f"game {frame.game} comes at a wrong place")
                self._now, self._chain = frame.game, _Chained()
            case Part():
                if self._now is None:
                    raise BackupDamaged("a part of no game comes")
                _check_part(frame)
                self._chain.take(frame.what, frame.rows)
            case Done():
                found = self._chain.done(frame.game)
                if frame.game != self._now or found != frame:
                    raise BackupDamaged(f"game {frame.game} is not as it was written")
                self.games[frame.game] = frame
                self._now = None
            case Shared() | End():
                if isinstance(frame, Shared) and not frame.key.startswith("rookery:shared"):
                    raise BackupDamaged("something comes that is neither a game nor a shared seed")
                if self._now is not None:
                    raise BackupDamaged(f"game {self._now} breaks off")


def _check_part(part: Part) -> None:
    """A part of a game has a name and a form, so that it can be put back. Raises :class:`BackupDamaged`."""
    wanted = "hash" if part.what == "game" else part.kind
    widths = {"hash": (2,), "zset": (2,), "stream": range(3, 1000, 2)}.get(part.kind, (1,))
    if not _goes_along(part.what) or part.kind != wanted or any(len(row) not in widths for row in part.rows):
        raise BackupDamaged(f"a part of a game has not the form of one: {part.what[:40]!r}")


class Restore:
    """Puts the games of a backup into a store, frame by frame: all, or one, also under another name.

    ``said`` is added to the inbox of a copy under another name. A game that was put back from the same file before is
    left as it is, so that whoever was interrupted begins again.
    """

    def __init__(
        self, store: Store, digest: str, *, only: str = "", name: str = "", said: Submission | None = None
    ) -> None:
        self.store = store
        self.digest = digest
        self.only = only
        self.name = name
        self.said = said
        self.put_back: dict[str, Done] = {}
        self.there: list[str] = []
        self._staged: Staged | None = None
        self._parts: dict[str, bool] = {}
        self._at = ""

    def __call__(self, frame: Frame) -> None:
        match frame:
            case Game():
                self._begin(frame.game)
            case Part() if self._staged is not None:
                self._part(self._staged, frame)
            case Done() if self._staged is not None:
                self._finish(self._staged, frame)
            case Shared() if not self.only:
                self._shared(frame)
            case _:
                pass

    def _begin(self, game: str) -> None:
        self._staged = None
        if self.only and game != self.only:
            return
        name = self.name or game
        if self.store.exists(name):
            if self.store.restored_from(name) != self.digest:
                raise GameExists(name)
            self.there.append(name)
            return
        self._staged, self._parts, self._at = Staged(self.store, name), {}, ""

    def _part(self, staged: Staged, part: Part) -> None:
        if self.name and (part.what in PERSONAL or part.what.startswith("sent:")):
            return
        if not part.rows:
            return
        self._parts[part.what] = True
        if self.said is not None and part.what == "inbox" and part.kind == "stream":
            self._at = codec.read_submission(part.rows[-1][0].decode(), part.rows[-1][2]).at
        staged.add(part.what, part.kind, part.rows)

    def _finish(self, staged: Staged, done: Done) -> None:
        if self.name and self.said is not None:
            at = max(self.said.at, self._at)
            number = done.head.inbox + 1
            said = msgspec.structs.replace(self.said, at=at)
            raw = codec.write_submission(said)
            done = msgspec.structs.replace(
                done,
                head=msgspec.structs.replace(done.head, inbox=number, submission=hashlib.sha256(raw).hexdigest()),
            )
            key = f"{number} {said.body_hash}".encode()
            row = (stream_id(number).encode(), b"submission", raw)
            staged.add("inbox", "stream", (row,))
            staged.add("keys", "hash", ((f"\x00{said.key}".encode(), key),))
            self._parts["keys"] = True
        staged.add("game", "hash", ((b"restored", self.digest.encode()),))
        staged.finish(sorted(self._parts, key=lambda what: (what != "game", what)))
        self.put_back[staged.game] = done
        self._staged = None

    def _shared(self, frame: Shared) -> None:
        """Shared seeds are as they were; what is here already stays."""
        key = shared_written(frame.key)
        if key is not None:
            put_shared(self.store, key, frame.kind, frame.rows)
