"""The store: inbox and ledger of every game as Redis Streams, with what lies around them.

Games lie in 64 partitions (docs/layout.md); keys of one partition share a hash slot: ``rookery:{P<nn>}:<game>:…``

    game      hash: rules, version, created, pepper, cursor (inbox number ruled on), fence, parked, lost (what of it is
              missing), bytes (how many lie in inbox and ledger, once somebody has asked), most (how many may, where
              that is less than usual)
              noted (how many checkpoints there are, and a number made of them all)
    inbox     stream of submissions, ids 1-0, 2-0 …
    keys      hash: seat and idempotency key to inbox number and body hash
    checkpoints  stream of signed notes that were handed out, ids <entries signed for>-0
    ledger    stream of entries, ids <seq>-0
    lease     "<token> <holder>", expires
    snapshot  a state and its version; may be deleted at any time
    sent:<seat>  list of what a sender sent lately, the newest first: "<inbox number> <seconds>"; for quotas only
    staged:…  parts of a game that is being imported, expire

Outside of games, in each partition: ``rookery:{P<nn>}:games``, ``…:unruled`` and ``…:parked``, sets of ids. Works on
one server and on a cluster.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec
import redis

from events import codec, scripts
from events.chain import Chain, is_as_written, is_bound
from events.connecting import PROBE_SECONDS, connect, of_kind, translated
from events.envelope import GENESIS, Entry, Receipt, Stored, Submission, encode, number_of, stream_id, utc_now
from events.errors import (
    BadCommand,
    FromTheFuture,
    GameExists,
    GameHeld,
    GameUnknown,
    KeptDamaged,
    KeyConflict,
    LeaseLost,
    NewerEntry,
    OverQuota,
    RecordDamaged,
    ServerFull,
    StaleAppend,
    TooLarge,
    reading,
)
from events.health import Health
from events.keys import (
    GAMES,
    LOST,
    PARKED,
    UNRULED,
    check_game_id,
    field_under,
    game_key,
    is_game_id,
    key_field,
    list_key,
    list_keys,
)
from events.limits import MOST_KEY_LETTERS, PAGE_BYTES, UNBOUND, Allowance, most_bytes
from events.ruling import Judge, Line
from events.upcasters import VERSION

LONGEST_WAIT_SECONDS = 5.0
"""How long one blocking call waits at most."""

PAGE = 200
"""How many elements of a stream are read at once at most; see also ``PAGE_BYTES``."""

FIRST_PAGE = 16
"""How many are read at first, before it is known how large they are."""

_log = logging.getLogger("rookery.record")

SUSPICIOUS = 2
"""After so many leases in a row that ended without release, something in the game may end whoever works at it."""

_FIELD = re.compile(rb"0|[1-9][0-9]{0,14}")


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A state and where in the ledger it stands."""

    v: int
    engine: str
    version: int
    taken: int
    head: str
    state: msgspec.Raw
    ahead: tuple[int, ...] = ()


class Parked(msgspec.Struct, frozen=True, kw_only=True):
    """Why a game waits for its operator. Names the place of the mistake, never what a command said."""

    at: str
    inbox: str
    kind: str
    error: str
    where: str


class Waits(msgspec.Struct, frozen=True, kw_only=True):
    """What was submitted waits for another engine, a newer schema, or somebody who knows the game: see :func:`awaited`.

    ``here`` is the engine that has looked, at so many submissions.
    """

    at: str
    engine: str
    here: str
    inbox: int


_SCHEMA = "schema-"


def awaited_schema(version: int) -> str:
    """In the place of an engine in :class:`Waits`: any that reads a schema newer than ours."""
    return f"{_SCHEMA}{version}"


def awaited(engine: str) -> str:
    """What a game waits for, for people."""
    if engine.startswith(_SCHEMA):
        return f"a newer Rookery, one that reads schema {engine.removeprefix(_SCHEMA)}"
    if "/" not in engine:
        return f"a worker that knows the game {engine}"
    return f"a worker of {engine}, or for rookery amend"


class Kept(msgspec.Struct, frozen=True):
    """A signed checkpoint that was handed out: for how many entries, and the note."""

    size: int
    note: str


class GameRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What the store knows of a game besides its streams."""

    game: str
    rules: str
    version: str
    created: str
    parked: Parked | None
    waits: Waits | None = None
    is_held: bool = False
    """Whether the store lost a part of it; see :mod:`events.losses`."""


class Lease(msgspec.Struct, frozen=True):
    """The right to append, until somebody else is granted a higher token. Carries what was there when it was taken."""

    game: str
    token: int
    holder: str
    version: int
    taken: int
    parked: bool
    unreleased: int = 0
    """How many leases before this one ran out without being given back, with no entry appended since: who held them
    was killed, or hung. Counted by the grant itself, so it costs no write of its own."""

    @property
    def value(self) -> str:
        return f"{self.token} {self.holder}"


class Witness(Protocol):
    """Whoever remembers, outside of the store, what it has acknowledged to this process."""

    def submitted(self, game: str, number: int, digest: str) -> None:
        """A submission is in the inbox; the SHA-256 of its bytes."""

    def appended(self, game: str, version: int, digest: str) -> None:
        """An entry is in the ledger; its digest."""

    def is_behind(self, game: str, version: int) -> bool:
        """Whether a ledger of this length lacks an entry. What is found out is told to the store."""


DESCRIPTION = "the description of the game"


class Store:
    """All games on one server or cluster. Safe to share between threads."""

    def __init__(self, client: Any, probing: Callable[[], Any] | None = None) -> None:
        """``probing`` makes a client of less patience, to look after the server's health."""
        self.client = client
        self.health = Health(probing or (lambda: client))
        self.witness: Witness | None = None
        self.false_snapshots = 0
        """How many snapshots this process has dropped because they told another position than the ledger."""
        register = client.register_script
        self._submit = register(scripts.SUBMIT)
        self._create = register(scripts.CREATE)
        self._append = register(scripts.APPEND)
        self._acquire = register(scripts.ACQUIRE)
        self._renew = register(scripts.RENEW)
        self._release = register(scripts.RELEASE)
        self._park = register(scripts.PARK)
        self._wait = register(scripts.WAIT)
        self._stop = register(scripts.STOP)
        self._unpark = register(scripts.UNPARK)
        self._keep = register(scripts.KEEP)
        self._count = register(scripts.COUNT)
        self._shapes = register(scripts.SHAPES)
        self._hold = register(scripts.HOLD)
        self._accept_loss = register(scripts.ACCEPT_LOSS)

    @classmethod
    def connect(cls, url: str, *, patience_seconds: float = 2.0) -> Store:
        """The store behind a URL. Nothing is sent before it is needed."""

        def probing() -> Any:
            return connect(url, patience_seconds=0.1, answer_seconds=PROBE_SECONDS)

        return cls(connect(url, patience_seconds=patience_seconds), probing)

    @translated
    def ping(self) -> None:
        """Raise :class:`StoreAway` unless the store answers."""
        self.client.ping()

    @translated
    def now(self) -> str:
        """The time of the store's clock, which submissions get: several hosts have one time then."""
        seconds, micros = self.client.time()
        moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=micros)
        return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")

    @contextmanager
    def reading(self, game: str, what: str) -> Iterator[None]:
        """Around the decoding of what is kept of a game. Whoever cannot read it stops the game with that."""
        try:
            with reading(what):
                yield
        except KeptDamaged as damage:
            self.stop(game, damage)
            raise

    # Games

    @translated
    def create(
        self, game: str, rules: str, version: str, opening: Submission, *, pepper: bytes | None = None, most: int = 0
    ) -> Receipt:
        """Create a game; ``opening`` is the first submission of its inbox. Under the same key: the first receipt.

        ``most``: how many bytes guests may fill it with, where that is less than in other games.
        """
        check_game_id(game)
        opening = self._checked(opening)
        self._refuse_held(game)
        fields = {"rules": rules, "version": version, "pepper": (pepper or os.urandom(32)).hex()}
        if most:
            fields["most"] = str(most)
        self.client.sadd(list_key(GAMES, game), game)
        flat = [item for pair in fields.items() for item in pair]
        answer = self._create(
            keys=self._keys(game, "game", "inbox", "keys"),
            args=[key_field(opening), opening.body_hash, *_around_time(opening), *flat],
        )
        if answer[0] == b"exists":
            raise GameExists(game)
        self.client.sadd(list_key(UNRULED, game), game)
        return self._receipt(game, opening, answer)

    def _refuse_held(self, game: str) -> None:
        """Under the id of a game that is lost no other begins: it may still be put back."""
        if self.client.hexists(list_key(LOST, game), game):
            raise GameHeld(game)

    @translated
    def games(self) -> tuple[str, ...]:
        """All games, sorted."""
        return tuple(game for game in self._listed(GAMES) if self.client.exists(game_key(game, "game")))

    def _listed(self, what: str) -> list[str]:
        """The games of a list, sorted; what is no id in it stops nobody."""
        with self.client.pipeline(transaction=False) as asked:
            for key in list_keys(what):
                asked.smembers(key)
            names = {name.decode(errors="replace") for part in asked.execute() for name in part}
        return sorted(filter(is_game_id, names))

    @translated
    def exists(self, game: str) -> bool:
        return bool(self.client.exists(game_key(game, "game")))

    @translated
    def record(self, game: str) -> GameRecord:
        """What is known of a game besides its streams."""
        fields = self._fields(game)
        with self.reading(game, DESCRIPTION):
            return GameRecord(
                game=game,
                rules=fields["rules"],
                version=fields["version"],
                created=fields["created"],
                parked=_parked(fields["parked"]) if "parked" in fields else None,
                is_held="lost" in fields,
                waits=_waits(fields["waits"]) if "waits" in fields else None,
            )

    def _fields(self, game: str) -> dict[str, str]:
        with of_kind(DESCRIPTION):
            found = self.client.hgetall(game_key(game, "game"))
        if not found:
            raise GameUnknown(game)
        return {name.decode(errors="replace"): value.decode(errors="replace") for name, value in found.items()}

    @translated
    def restored_from(self, game: str) -> str:
        """The digest of the backup that a game was put back from; empty for any other."""
        return (self.client.hget(game_key(game, "game"), "restored") or b"").decode()

    # Inbox

    @translated
    def submit(
        self, game: str, submission: Submission, checkpoint: Kept | None = None, allowance: Allowance = UNBOUND
    ) -> Receipt:
        """Put a submission into the inbox. Returns once the store has it as durably as it promises.

        The same key with the same command gives the first receipt; with another one :class:`KeyConflict`. The
        ``checkpoint`` that goes into the receipt is kept in the same step. Raises :class:`TooLarge`,
        :class:`BadCommand`, and :class:`OverQuota` or :class:`ServerFull` for what the ``allowance`` does not cover.
        """
        submission = self._checked(submission)
        kept = Kept(0, "") if checkpoint is None else checkpoint
        keys = [
            *self._keys(game, "game", "inbox", "keys", "checkpoints"),
            game_key(game, f"sent:{submission.seat or ''}"),
        ]
        args = [
            *(key_field(submission), submission.body_hash, *_around_time(submission), kept.size, kept.note),
            *(allowance.unruled, allowance.per_hour, allowance.game_bytes, allowance.spare, int(allowance.is_closed)),
        ]
        answer = self._submit(keys=keys, args=args)
        if answer[0] == b"uncounted":
            self._count(keys=self._keys(game, "game"), args=[self._bytes(game)])
            answer = self._submit(keys=keys, args=args)
        match answer[0]:
            case b"unknown":
                raise GameUnknown(game)
            case b"conflict":
                raise KeyConflict(submission.key, stream_id(answer[1]))
            case b"held":
                raise GameHeld(game)
            case b"full":
                raise ServerFull
            case b"unruled" | b"often" | b"game-full":
                raise OverQuota(answer[0].decode(), int(answer[1]), int(answer[2]))
        self.client.sadd(list_key(UNRULED, game), game)
        return self._receipt(game, submission, answer)

    def _checked(self, submission: Submission) -> Submission:
        """With a key, since a request may be sent twice by the client; raises :class:`BadCommand`."""
        raw = bytes(submission.command)
        most = most_bytes(submission.cause)
        if len(raw) > most:
            raise TooLarge(len(raw), most)
        if len(submission.key) > MOST_KEY_LETTERS:
            raise BadCommand(f"its key has more than {MOST_KEY_LETTERS} letters")
        if not codec.is_shallow(raw):
            raise BadCommand(f"it is nested more than {codec.MOST_NESTED} levels deep")
        if not codec.is_json(raw):
            raise BadCommand("it is not JSON")
        return msgspec.structs.replace(submission, key=submission.key or uuid.uuid4().hex, raw=None)

    def _bytes(self, game: str) -> int:
        """How many bytes lie in the streams of a game."""
        return sum(
            sum(map(len, fields.values())) + 128
            for what in ("inbox", "ledger", "checkpoints")
            for _, fields in self._rows(game, what, 0, None)
        )

    def _receipt(self, game: str, submission: Submission, answer: list[Any]) -> Receipt:
        again, number = answer[0] == b"again", int(answer[1])
        if again:
            raw = self._again(game, number, submission)
            submission = codec.read_submission(stream_id(number), raw)
        else:
            submission = msgspec.structs.replace(submission, at=answer[2].decode())
            raw = codec.write_submission(submission)
        digest = hashlib.sha256(raw).hexdigest()
        if self.witness is not None and not again:
            self.witness.submitted(game, number, digest)
        return Receipt(game, stream_id(number), submission.at, digest, again)

    def _again(self, game: str, number: int, sent: Submission) -> bytes:
        """What came before under the key of ``sent``, as it is stored: its receipt may be signed once more.

        Raises :class:`RecordDamaged` where it is not what was acknowledged, as far as that can be known.
        """
        inbox = stream_id(number)
        name, raw = next(self.raw_submissions(game, number - 1, 1), ("", b""))
        damage: RecordDamaged | None = None
        if name != inbox or codec.read_submission(inbox, raw).body_hash != sent.body_hash:
            damage = KeptDamaged(f"submission {number}")
        else:
            with suppress(NewerEntry):  # whoever can read that tells
                ruled = self.ruling_on(game, inbox)
                damage = None if ruled is None else _unanswered(codec.entry(ruled), ruled, raw)
        if damage is not None:
            self.stop(game, damage)
            raise damage
        return raw

    @translated
    def submission_under(self, game: str, seat: str | None, key: str) -> Submission | None:
        """The submission that came under an idempotency key of a seat."""
        found = self.client.hget(game_key(game, "keys"), field_under(seat, key))
        if found is None:
            return None
        with self.reading(game, "an idempotency key"):
            number = int(found.split()[0])
        return next(self.submissions(game, number - 1, 1), None)

    def submissions(self, game: str, after: int = 0, count: int | None = None) -> Iterator[Submission]:
        """Submissions behind the inbox number ``after``, in order."""
        for inbox, raw in self.raw_submissions(game, after, count):
            yield codec.read_submission(inbox, raw)

    def raw_submissions(self, game: str, after: int = 0, count: int | None = None) -> Iterator[tuple[str, bytes]]:
        """Inbox ids and submissions as they are stored."""
        for name, fields in self._rows(game, "inbox", after, count):
            yield name, fields.get(b"submission", b"")

    @translated
    def fields(self, game: str) -> dict[str, str]:
        """What lies beside the streams of a game, by name."""
        return self._fields(game)

    @translated
    def kind(self, game: str, what: str) -> str:
        """What kind of a key something of a game is; none where it is not there."""
        found: bytes = self.client.type(game_key(game, what))
        return found.decode()

    @translated
    def known_keys(self, game: str) -> dict[bytes, bytes]:
        """What is kept of idempotency keys, as it is stored."""
        found: dict[bytes, bytes] = self.client.hgetall(game_key(game, "keys"))
        return found

    def shapes(self, game: str, what: str) -> Iterator[tuple[str, int]]:
        """Of each element of a stream its id and how many fields it has, one that is there twice counted twice."""
        last = "0-0"
        while page := self._shape_page(game, what, last):
            yield from page
            last = page[-1][0]

    @translated
    def _shape_page(self, game: str, what: str, last: str) -> list[tuple[str, int]]:
        found = self._shapes(keys=[game_key(game, what)], args=[last, PAGE])
        return [(name.decode(), int(number)) for name, number in found]

    @translated
    def inbox_length(self, game: str) -> int:
        """The number of the newest submission."""
        return self._last(game, "inbox")

    @translated
    def cursor(self, game: str) -> int:
        """The number of the newest submission that is ruled on."""
        with self.reading(game, "the cursor"):
            return self._cursor(game)

    def _cursor(self, game: str) -> int:
        number = _number_in(self._of_game(game, "cursor")[0] or b"0")
        if number is None:
            raise KeptDamaged("the cursor")
        return number

    def unruled_tail(self, game: str) -> int:
        """How many submissions wait for a ruling."""
        cursor = self.cursor(game)
        return max(0, self.inbox_length(game) - cursor)

    # Ledger

    @translated
    def version(self, game: str) -> int:
        """The number of the newest entry."""
        return self._last(game, "ledger")

    @translated
    def head(self, game: str) -> tuple[int, str]:
        """The number of the newest entry and its digest."""
        while True:
            version = self._last(game, "ledger")
            if version == 0:
                return 0, GENESIS
            newest = self.entry(game, version)
            if newest is not None:
                return version, newest.digest

    def entries(self, game: str, after: int = 0, count: int | None = None) -> Iterator[Stored]:
        """Entries behind version ``after``, in order, all parts open, each as it was written and behind the one before.

        All that reads the ledger reads it here. Raises :class:`RecordDamaged`; whoever meets damage first, whether it
        reads or rules, stops the game with that.
        """
        for _, stored in self._read(game, after, count, GENESIS if after == 0 else None):
            yield stored

    def _read(self, game: str, after: int, count: int | None, head: str | None) -> Iterator[tuple[Entry, Stored]]:
        """Entries decoded and as they are stored; ``head`` is the digest that the first of them continues."""
        chain = Chain(after, head)
        stored = Stored(b"", (), "")
        try:
            for name, fields in self._rows(game, "ledger", after, count):
                seq = chain.version + 1
                if name != stream_id(seq):
                    raise RecordDamaged(seq, f"{name} stands in its place in the stream")
                stored = _stored(seq, fields)
                yield chain.add(stored), stored
        except RecordDamaged as damage:
            newer = damage.__cause__
            if isinstance(newer, FromTheFuture) and is_as_written(stored):
                raise NewerEntry(damage.seq, damage.why, newer.version) from newer
            self.stop(game, damage)
            raise

    def check(self, game: str, upto: int | None = None) -> None:
        """Read the ledger from its first entry, and what it answers, before something of it is sent.

        Nothing of it is kept. Raises :class:`RecordDamaged`, also for a submission that is not the one ruled on.
        """
        inbox = self.raw_submissions(game)
        overtaken: dict[str, bytes] = {}
        for entry, stored in self._read(game, 0, upto, GENESIS):
            for name, raw in inbox if entry.inbox not in overtaken else ():
                overtaken[name] = raw
                if name == entry.inbox:
                    break
            damage = _unanswered(entry, stored, overtaken.pop(entry.inbox, None))
            if damage is not None:
                self.stop(game, damage)
                raise damage

    def entry(self, game: str, seq: int) -> Stored | None:
        """One entry. Raises :class:`RecordDamaged`."""
        return next(self.entries(game, seq - 1, 1), None) if seq > 0 else None

    @translated
    def append(self, lease: Lease, expected: Line, entries: Sequence[Stored], cursor: int) -> int:
        """Add entries behind ``expected`` and advance the inbox cursor, all or nothing; the new version.

        Raises :class:`StaleAppend` or :class:`LeaseLost`.
        """
        parts: list[Any] = []
        for stored in entries:
            parts += [stored.public, codec.write_parts(stored.sealed), stored.digest]
        answer = self._append(
            keys=self._keys(lease.game, "game", "ledger"),
            args=[lease.token, expected.version, expected.taken, cursor, *parts],
        )
        if answer[0] == b"unknown":
            raise GameUnknown(lease.game)
        if answer[0] == b"fenced":
            raise LeaseLost(lease.game, lease.token, answer[1])
        if answer[0] == b"stale":
            raise StaleAppend(lease.game, expected.version, answer[1])
        if self.witness is not None and entries:
            self.witness.appended(lease.game, int(answer[1]), entries[-1].digest)
        return int(answer[1])

    @translated
    def ruling_on(self, game: str, inbox: str) -> Stored | None:
        """The entry that answers a submission, if there is one yet."""
        number = number_of(inbox)
        found = self.entry(game, number)  # every submission gets one entry, in order
        if found is not None and codec.entry(found).inbox == inbox:
            return found
        return next((one for one in self.entries(game) if codec.entry(one).inbox == inbox), None)

    @translated
    def await_version(self, game: str, version: int, timeout_seconds: float) -> bool:
        """Wait until the ledger has reached a version; False when the time is over first."""
        until = time.monotonic() + timeout_seconds
        key = game_key(game, "ledger")
        while True:
            left = until - time.monotonic()
            if self._last(game, "ledger") >= version:
                return True
            if left <= 0:
                return False
            self.client.xread(
                {key: stream_id(version - 1)}, count=1, block=max(1, int(min(left, LONGEST_WAIT_SECONDS) * 1000))
            )

    @translated
    def pepper(self, game: str) -> bytes:
        """The secret that a game's salts come from: of the first entry, or of its creation while there is none."""
        first = self.entry(game, 1)
        found = codec.raw_pepper(first, codec.entry(first)) if first is not None else None
        if found:
            return found
        fields = self._fields(game)
        with self.reading(game, "the secret of the game"):
            return bytes.fromhex(fields["pepper"])

    # Checkpoints

    @translated
    def keep_checkpoint(self, game: str, kept: Kept) -> None:
        """Keep a signed checkpoint, unless one for as many entries or more is there: nothing is ever replaced."""
        answer = self._keep(keys=self._keys(game, "game", "checkpoints"), args=[kept.size, kept.note])
        if answer[0] == b"unknown":
            raise GameUnknown(game)

    def checkpoints(self, game: str, after: int = 0, count: int | None = None) -> Iterator[Kept]:
        """The signed checkpoints that were handed out, for more than ``after`` entries, in order."""
        for name, fields in self._rows(game, "checkpoints", after, count):
            yield Kept(number_of(name), fields.get(b"note", b"").decode(errors="replace"))

    # Lease and fence

    @translated
    def acquire(self, game: str, ttl_seconds: float, holder: str | None = None) -> Lease | None:
        """Take the lease of a game; None while somebody else holds it."""
        holder = holder or uuid.uuid4().hex
        answer = self._acquire(keys=self._keys(game, "game", "lease", "ledger"), args=[holder, int(ttl_seconds * 1000)])
        if answer[0] == b"unknown":
            raise GameUnknown(game)
        if answer[0] == b"held":
            return None
        stands_still = bool(answer[4])
        if self.witness is not None and not stands_still:
            stands_still = self.witness.is_behind(game, int(answer[2]))
        return Lease(game, int(answer[1]), holder, int(answer[2]), int(answer[3]), stands_still, int(answer[5]))

    @translated
    def renew(self, lease: Lease, ttl_seconds: float) -> bool:
        """Hold on to a lease; False when it has run out."""
        args = [lease.value, int(ttl_seconds * 1000)]
        return bool(self._renew(keys=[game_key(lease.game, "lease")], args=args))

    @translated
    def release(self, lease: Lease, *, keeps_count: bool = False) -> None:
        """Give the lease back. ``keeps_count``: as if it had run out, where the game is as suspicious as before."""
        args = [lease.value, lease.token, int(not keeps_count)]
        self._release(keys=self._keys(lease.game, "lease", "game"), args=args)

    # Parking

    @translated
    def park(self, lease: Lease, parked: Parked) -> None:
        """Stop ruling on a game until :meth:`unpark`; everything submitted stays."""
        answer = self._park(keys=[game_key(lease.game, "game")], args=[lease.token, encode(parked)])
        if answer[0] == b"fenced":
            raise LeaseLost(lease.game, lease.token, answer[1])
        self.client.sadd(list_key(PARKED, lease.game), lease.game)

    def stop(self, game: str, damage: RecordDamaged) -> bool:
        """Park a game whose record is damaged, without its lease; False when it was parked, or there is no such game.

        Whoever holds the lease is fenced off: nothing is ruled over damage. A store that cannot take this down now is
        told by the next who meets the damage.
        """
        parked = Parked(at=utc_now(), inbox="", kind="", error=RecordDamaged.__name__, where=str(damage))
        try:
            answer = self._stop(keys=[game_key(game, "game")], args=[encode(parked)])
            if answer[0] == b"done":
                self.client.sadd(list_key(PARKED, game), game)
        except redis.exceptions.RedisError as error:
            # Where the description itself is of another kind, the list of those that stand still is all there is.
            return "WRONGTYPE" in str(error) and bool(self.client.sadd(list_key(PARKED, game), game))
        if answer[0] == b"done":
            _log.error("game %s is parked, its record is damaged: %s", game, damage.place)
        return bool(answer[0] == b"done")

    @translated
    def unpark(self, game: str) -> bool:
        """Let a parked game go on, with care; False when it was not parked. The caller rings.

        Its description, cursor and ledger are checked first, whatever it was parked for: raises
        :class:`RecordDamaged`, and it stays parked.
        """
        if self._of_game(game, "parked")[0] is not None:
            self.record(game)
            self.cursor(game)
            self.check(game)
        was_parked = bool(self._unpark(keys=[game_key(game, "game")], args=[SUSPICIOUS]))
        self.client.srem(list_key(PARKED, game), game)
        self.client.sadd(list_key(UNRULED, game), game)
        return was_parked

    @translated
    def parked(self) -> tuple[str, ...]:
        """The games that are parked, sorted."""
        return tuple(game for game in self._listed(PARKED) if self._is_stopped(game, "parked"))

    @translated
    def unreleased(self, game: str) -> int:
        """How many leases in a row ended without release; one that is held now does not count."""
        # In this order: what is given back in between makes the number smaller, never larger.
        is_held = bool(self.client.exists(game_key(game, "lease")))
        try:
            found = _number_in(self._of_game(game, "unreleased")[0] or b"0")
        except KeptDamaged:
            return 0  # nobody works at it
        return max(0, found - is_held) if found is not None else SUSPICIOUS

    def suspicious(self) -> tuple[str, ...]:
        """Games where something waits that may end whoever works at it, sorted."""
        return tuple(game for game in self.unruled() if self.unreleased(game) >= SUSPICIOUS)

    @translated
    def why_parked(self) -> tuple[Parked, ...]:
        """Why each of these games is."""
        return tuple(found for game in self.parked() if (found := self.reason(game)) is not None)

    @translated
    def is_held(self, game: str) -> bool:
        """Whether it is written beside a game that a part of it is lost."""
        return self._of_game(game, "lost")[0] is not None

    @translated
    def reason(self, game: str) -> Parked | None:
        """Why a game is parked; None where it is not."""
        try:
            found = self._of_game(game, "parked")[0]
        except KeptDamaged as damage:
            return Parked(at="", inbox="", kind="", error=RecordDamaged.__name__, where=str(damage))
        return None if found is None else _parked(found)

    # Losses: see events.losses

    @translated
    def mark_lost(self, game: str, loss: bytes) -> bool:
        """Hold a game; False when nothing of it is left to be held."""
        return bool(self._hold(keys=[game_key(game, "game")], args=[loss])[0] == b"done")

    @translated
    def accept_loss(self, game: str, said: Submission) -> Receipt:
        """Let a held game go on; ``said`` goes into its inbox in the same step. Raises KeyError when it is not held."""
        said = self._checked(said)
        answer = self._accept_loss(
            keys=self._keys(game, "game", "inbox", "keys"),
            args=[key_field(said), said.body_hash, *_around_time(said)],
        )
        if answer[0] == b"not-held":
            raise KeyError(game)
        self.client.sadd(list_key(UNRULED, game), game)
        return self._receipt(game, said, answer)

    # Engines

    @translated
    def wait(self, lease: Lease, waits: Waits) -> None:
        """Say that a game waits for another engine; what was submitted stays, and the next append takes it back."""
        answer = self._wait(keys=[game_key(lease.game, "game")], args=[lease.token, encode(waits)])
        if answer[0] == b"fenced":
            raise LeaseLost(lease.game, lease.token, answer[1])

    @translated
    def waits(self, game: str) -> Waits | None:
        """Which engine a game waits for, as far as somebody has looked."""
        try:
            found = self._of_game(game, "waits")[0]
        except KeptDamaged:
            return None
        return None if found is None else _waits(found)

    @translated
    def waiting_for_engines(self) -> tuple[str, ...]:
        """Games in which something submitted waits for another engine."""
        return tuple(game for game in self.unruled() if self.waits(game) is not None and not self._is_idle(game))

    # Work

    @translated
    def unruled(self) -> tuple[str, ...]:
        """Games that may have unruled submissions, sorted. Never lacks one with an acknowledged submission."""
        return tuple(self._listed(UNRULED))

    @translated
    def waiting_since(self) -> tuple[str, ...]:
        """Since when the oldest unruled submission of each game waits, where that is for a worker of ours."""
        found = []
        for game in self.unruled():
            if not self._is_idle(game) and self.waits(game) is None:
                with suppress(KeptDamaged, FromTheFuture):  # the worker of the game tells, and here are the others
                    found += [one.at for one in self.submissions(game, self.cursor(game), 1)]
        return tuple(found)

    @translated
    def settle(self, game: str) -> bool:
        """Take a game off the list of unruled ones, unless something waits there; whether it is settled.

        Taken off first and looked at afterwards: a submission in between puts it on the list again.
        """
        self.client.srem(list_key(UNRULED, game), game)
        if self._is_idle(game):
            return True
        self.client.sadd(list_key(UNRULED, game), game)
        return False

    def _is_idle(self, game: str) -> bool:
        if self._is_stopped(game, "parked", "lost") or not self.client.exists(game_key(game, "game")):
            return True
        # What nobody can read, and a cursor beyond the inbox, is for a worker to meet, and stops this game only.
        try:
            return self._cursor(game) == self._last(game, "inbox")
        except KeptDamaged:
            return False

    @translated
    def relist(self) -> int:
        """Look at every game for unruled submissions, for what a crash between two steps left unlisted."""
        games = self.games()
        found = [game for game in games if not self._is_idle(game)]
        for game in found:
            self.client.sadd(list_key(UNRULED, game), game)
        for game in games:
            if self._is_stopped(game, "parked"):
                self.client.sadd(list_key(PARKED, game), game)
        return len(found)

    # Snapshots

    @translated
    def save_snapshot(self, game: str, judge: Judge, line: Line) -> None:
        """Keep a state, so that a cold start does not fold the whole ledger."""
        kept = Snapshot(
            v=VERSION,
            engine=judge.engine,
            version=line.version,
            taken=line.taken,
            head=line.head,
            ahead=line.ahead,
            state=msgspec.Raw(encode(line.state)),
        )
        self.client.set(game_key(game, "snapshot"), encode(kept))

    @translated
    def snapshot(self, game: str, judge: Judge) -> Line | None:
        """The kept state, if it is of this engine and tells the position that the ledger tells at its place.

        The entry there holds the digests of the position. A snapshot that tells another is dropped and reported; one
        whose entry was ruled on by another engine says nothing that could be compared, and is passed over.
        """
        try:
            with of_kind("the snapshot"):
                raw = self.client.get(game_key(game, "snapshot"))
            if raw is None:
                return None
            kept = msgspec.json.decode(raw, type=Snapshot)
            if kept.engine != judge.engine or kept.ahead or not 0 < kept.version < 10**15:
                return None  # where an act has gone ahead, no entry tells what is answered up to it
            line = Line(judge.codec.state(bytes(kept.state), kept.v), kept.version, kept.taken, kept.head, kept.ahead)
        except (msgspec.MsgspecError, ValueError, TypeError, RecursionError, KeptDamaged, FromTheFuture):
            return None
        at = self.entry(game, line.version)
        if at is None or at.digest != line.head:
            return None
        read = codec.entry(at)
        if read.engine != judge.rules.engine_of(line.state):
            return None
        if _tells(judge, line, read, self.pepper(game)):
            return line
        self.false_snapshots += 1
        _log.error("the snapshot of game %s at entry %d tells another position than the ledger", game, line.version)
        self.drop_snapshot(game)
        return None

    @translated
    def drop_snapshot(self, game: str) -> bool:
        """Delete the snapshot; it comes back identical."""
        return bool(self.client.delete(game_key(game, "snapshot")))

    def line(self, game: str, judge: Judge, *, at: int | None = None, warm: Line | None = None) -> Line:
        """The fold of the ledger, up to version ``at`` or to its end. Raises :class:`RecordDamaged`."""
        line = warm if warm is not None else self.snapshot(game, judge)
        if line is None or (at is not None and line.version > at):
            line = judge.begin()
        count = None if at is None else at - line.version
        for entry, stored in self._read(game, line.version, count, None):
            if entry.prev != line.head:  # the line may be of a game that is no more: then the ledger is not to blame
                raise RecordDamaged(entry.seq, f"it does not continue {line.head[:12]}…, which was read before")
            line = judge.evolve(line, stored, entry)
        return line

    # Small things

    def _keys(self, game: str, *what: str) -> list[str]:
        return [game_key(game, one) for one in what]

    def _of_game(self, game: str, *names: str) -> list[bytes | None]:
        """Fields of a game's description."""
        with of_kind(DESCRIPTION):
            found: list[bytes | None] = self.client.hmget(game_key(game, "game"), names)
        return found

    def _is_stopped(self, game: str, *why: str) -> bool:
        """Whether a game stands still for one of these reasons, or since there is no description to write them into."""
        try:
            return any(one is not None for one in self._of_game(game, *why))
        except KeptDamaged:
            return True

    def _last(self, game: str, what: str) -> int:
        with of_kind(f"the {what}"):
            rows = self.client.xrevrange(game_key(game, what), count=1)
        return number_of(rows[0][0].decode()) if rows else 0

    def rows(self, game: str, what: str) -> Iterator[tuple[str, dict[bytes, bytes]]]:
        """All elements of a stream, page by page."""
        return self._rows(game, what, 0, None)

    def _rows(self, game: str, what: str, after: int, count: int | None) -> Iterator[tuple[str, dict[bytes, bytes]]]:
        """Elements of a stream behind a number, page by page."""
        left = count
        most = FIRST_PAGE
        last = stream_id(after)
        while left is None or left > 0:
            size = most if left is None else min(most, left)
            page = self._page(game, what, last, size)
            for name, fields in page:
                yield name.decode(), fields
            if len(page) < size:
                return
            largest = max(sum(map(len, fields.values())) for _, fields in page)
            most = max(1, min(PAGE, 2 * most, PAGE_BYTES // max(1, largest)))
            last = page[-1][0].decode()
            left = None if left is None else left - len(page)

    @translated
    def _page(self, game: str, what: str, last: str, size: int) -> list[tuple[bytes, dict[bytes, bytes]]]:
        """Behind the element ``last``: also one that has no business to be there, such as 5-1."""
        with of_kind(f"the {what}"):
            found: list[tuple[bytes, dict[bytes, bytes]]] = self.client.xrange(
                game_key(game, what), min=f"({last}", count=size
            )
        return found


def _unanswered(entry: Entry, stored: Stored, raw: bytes | None) -> RecordDamaged | None:
    """What is wrong with the bytes of the inbox that an entry answers, if anything is."""
    if raw is None:
        return RecordDamaged(entry.seq, f"submission {entry.inbox}, which it answers, is missing")
    part = codec.submission_part(stored, entry)
    if part is None or is_bound(part, raw):
        return None
    return RecordDamaged(entry.seq, f"submission {entry.inbox} is not, byte for byte, the one that was ruled on")


def _parked(said: str | bytes) -> Parked:
    """Why a game is parked. It is parked all the same if nobody can read why."""
    try:
        return msgspec.json.decode(said, type=Parked)
    except (msgspec.MsgspecError, ValueError):
        return Parked(at="", inbox="", kind="", error=KeptDamaged.__name__, where="the note of why it is parked")


def _waits(said: str | bytes) -> Waits | None:
    """What a game waits for. Whoever looks next says it anew if nobody can read that."""
    try:
        return msgspec.json.decode(said, type=Waits)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _tells(judge: Judge, line: Line, read: Entry, pepper: bytes) -> bool:
    """Whether a position is the one whose digests an entry holds."""
    try:
        is_ruled = line.taken == line.version and number_of(read.inbox) <= line.taken
        return is_ruled and judge.digest_of(line.state, pepper, read.prev, read.seq) == read.state
    except Exception:  # noqa: BLE001 - a forged state fails in any way; the caller reports and drops it
        return False


def noted_of(checkpoints: Iterable[Kept], begun: int = 0) -> str:
    """What a game notes of its checkpoints, as the script that keeps them does; ``begun``: of which size the last was.

    It shows that one is missing or another one. Against somebody who writes to the store on purpose no number in it
    would help: checkpoints are signed, and players hold them.
    """
    count = number = 0
    for kept in checkpoints:
        count += 1
        for byte in f"{kept.size} {kept.note}".encode():
            number = (number * 1000003 + byte) % 4294967291
    return f"{begun} {count} {number}"


def _around_time(submission: Submission) -> tuple[bytes, str, bytes]:
    """The stored form of a submission before and behind its time, and between them the time, if one is stated."""
    timeless = codec.write_submission(msgspec.structs.replace(submission, at=""))
    before, field, behind = timeless.partition(b'"at":"')
    return before + field, submission.at, behind


def _number_in(text: bytes) -> int | None:
    """The number that a field holds, as the scripts read it."""
    return int(text) if _FIELD.fullmatch(text) else None


def _stored(seq: int, fields: dict[bytes, bytes]) -> Stored:
    try:
        return Stored(fields[b"public"], codec.read_parts(fields[b"sealed"]), fields[b"digest"].decode())
    except (KeyError, ValueError, TypeError, RecursionError, msgspec.MsgspecError) as error:
        raise RecordDamaged(seq, f"it cannot be read ({error})") from error
