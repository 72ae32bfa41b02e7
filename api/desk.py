"""The desk: what anybody can ask of a server of Rookery, over whichever way he comes.

Command line and HTTP are two faces of this one class. It takes submissions in, reads rulings and
positions, and shows everybody only what he may see.
"""

from __future__ import annotations

import os
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
import redis

from api.apart import Apart, AskedStart
from api.games.thrones import diagram
from api.games.thrones.sentences import Prose
from api.quota import MOST_FORKS
from api.tokens import ARBITER, ORGANISER, Caller, Tokens
from domain.kernel.decision import Decision
from domain.kernel.docket import AppealFiled, AppealRuled, LossAccepted, Origin, PrivilegeUsed, Rewound, SecretsRead
from domain.kernel.facts import Fact
from domain.kernel.printing import counted
from domain.kernel.refusal import Refusal
from domain.kernel.shared import SharedSeed
from domain.thrones.language.answers import HouseAnswer
from domain.thrones.language.facts import GatheringBegan, RoundBegan
from domain.thrones.language.start import Gather, Start
from domain.thrones.language.state import State
from domain.thrones.language.view import Owed, View, view
from domain.thrones.notation import Lexicon, NotationError, lexicon, parse_line, split_letter
from domain.thrones.ruleset import THRONES, check_charter
from domain.thrones.tables.arbitration import arbitration_of
from domain.thrones.tables.charter import Charter
from domain.thrones.tables.charters import new_charter
from domain.thrones.tables.edition import Edition
from domain.thrones.tables.editions.composed import edition_of
from events import codec
from events.envelope import (
    GENESIS,
    Accepted,
    Cause,
    Entry,
    Receipt,
    Refused,
    SealedFact,
    Stored,
    Submission,
    number_of,
    submission,
)
from events.errors import FromTheFuture, GameExists, GameHeld, OverQuota, RecordDamaged, ServerFull
from events.limits import UNBOUND, Allowance, Quotas
from events.notes import Signer, Verifier
from events.room import Room
from events.ruling import Judge, Line
from events.shared import SharedSeeds
from events.store import Kept, Store, awaited
from worker.adjudicate import Warm
from worker.log import logger
from worker.session import Bell

PAST = 32
"""How many earlier positions are kept, so that whoever reads a game from one to the next does not fold it anew."""

MOST_WAITING = 8
"""How many threads wait for a ruling at once. In a parked game none comes, and the threads are for everybody."""

HOUR_SECONDS = 3600


class _Received(msgspec.Struct):
    """Of an entry: its number and when its submission was received."""

    seq: int
    at: str


_received = msgspec.json.Decoder(_Received)

_VERSION = re.compile(r"-?[0-9]{1,9}")

_SEAT = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
"""What a seat may be called. Not "organiser": tokens are kept by seat, beside the organiser's."""


class NotAllowed(Exception):
    """The caller may not do that. ``needed`` says whose token would do."""

    def __init__(self, needed: str) -> None:
        super().__init__(f"This needs the token of {needed}.")
        self.needed = needed


class Unsigned(Exception):
    """This server has no key to sign with: it was not started on a data directory."""

    def __init__(self) -> None:
        super().__init__("This server has no key: it does not work on a data directory.")


class NotAMoment(Exception):
    """Neither the number of an entry nor a time."""

    def __init__(self, at: str) -> None:
        super().__init__(f"{at[:40]!r} is neither the number of an entry nor a time such as 2025-01-31T18:00:00Z.")
        self.at = at


class NoSuchVersion(FromTheFuture):
    """A version was asked for that the ledger does not have."""

    def __init__(self, at: int, current: int) -> None:
        Exception.__init__(self, f"There is no version {at}: the ledger has {counted(current, 'entry', 'entries')}.")
        self.at = at
        self.current = current


class NewGame(msgspec.Struct, frozen=True):
    """A game just created: its id, the receipt of its first entry's command, and tokens shown only now.

    ``seats`` says which House sits where; None while the Houses are still to be dealt, by the first ruling.
    """

    game: str
    receipt: Receipt
    organiser: str
    seats: dict[str, str | None]
    tokens: dict[str, str]


class StruckOut(msgspec.Struct, frozen=True):
    """An entry no longer counts: the rewind that has struck it out, and the arbiter's reason."""

    by: int
    reason: str


class LogEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One ledger entry as a caller may read it.

    ``facts`` are plain values; where a part belongs to other eyes, its placeholder with the commitment stands.
    ``sentences`` tell the same in English, each with its rules.
    """

    seq: int
    at: str
    cause: Cause
    seat: str | None
    inbox: str
    correlation: str
    verdict: Accepted | Refused
    command: Any
    facts: tuple[Any, ...]
    sentences: tuple[str, ...]
    digest: str
    checkpoint: str = ""
    """The signed checkpoint after this entry, where a round begins with it."""
    struck: StruckOut | None = None
    """Set where a rewind has taken the entry back, at the moment that is read."""


class Desk:
    """The services of one server, for many threads.

    ``bell`` is None where no worker is told (reading only), ``signer`` where the server has no key. ``quotas`` bind
    guests and ``room`` is what the store has; without them, as on the command line, there are no limits but of size.
    ``apart`` rules on what is asked for, in processes of its own; without it that is done here.
    Without a ``clock`` submissions get the time of the store.
    """

    def __init__(
        self,
        store: Store,
        tokens: Tokens,
        bell: Bell | None,
        judge: Judge | None = None,
        clock: Callable[[], str] | None = None,
        signer: Signer | None = None,
        most_forks: int = MOST_FORKS,
        quotas: Quotas | None = None,
        room: Room | None = None,
        apart: Apart | None = None,
    ) -> None:
        self.store = store
        self.tokens = tokens
        self.bell = bell
        self.judge = judge or Judge(THRONES)
        self.clock = clock or store.now
        self._stated = clock or (lambda: "")
        self.quotas = quotas
        self.room = room
        self.apart = apart
        self.signer = signer
        self.most_forks = most_forks
        self.warm = Warm()
        self._past: OrderedDict[tuple[str, int], Line] = OrderedDict()
        self._origins: dict[str, Origin | None] = {}
        self._lock = threading.Lock()  # for the two above
        self._waiting = threading.BoundedSemaphore(MOST_WAITING)

    # Games

    def create(
        self,
        *,
        edition: str,
        players: int,
        switches: Mapping[str, str] | None = None,
        tables: Mapping[str, Any] | None = None,
        seats: Mapping[str, str] | None = None,
        deal: bool = False,
        game: str | None = None,
        seed: str = "",
        chance: str = "seeded",
        decks: Mapping[str, tuple[str, ...]] | None = None,
        key: str = "",
        arbitration: Mapping[str, Any] | None = None,
        joint: bool = False,
        shared: str = "",
    ) -> NewGame:
        """Create a game with its seats and tokens.

        ``edition`` is the preset to begin from, ``switches`` what is said otherwise: switches and variations by name.
        ``tables`` replaces data by JSON Pointer.
        ``seats`` maps seat ids to Houses; without it every House gets a seat of its own, dealt by chance
        with ``deal``. A ``seed`` (64 hexadecimal digits) makes the draws known to whoever gave it, and the
        charter says so; examples and tests do that. With ``joint`` the seats add parts of their own to the seed
        before the game begins. ``shared`` names a seed that several tables draw from; then there is no other.
        Raises Refusal for a charter that cannot be played, GameExists, BadGameId, SharedSeedUnknown, SharedSeedClosed.
        """
        charter = _seated(new_charter(edition, players, switches, tables), seats, "stated" if seed else chance)
        charter = msgspec.structs.replace(charter, arbitration=arbitration_of(arbitration or {}))
        check_charter(charter)
        game = game or secrets.token_hex(6)
        if shared:
            if seed or joint or decks or chance != "seeded":
                raise Refusal("shared-seed-alone", ("2E-GEN-17",))
            kept = SharedSeeds(self.store).read(shared)
            charter = msgspec.structs.replace(charter, shared=SharedSeed(kept.id, kept.commitment))
            seed = kept.seed
        seed = seed or ("" if chance == "imposed" else os.urandom(32).hex())
        start: Start | Gather = Start(charter=charter, seed=seed, deal=deal, decks=dict(decks or {}))
        if joint:
            start = Gather(charter=charter, seed=seed, deal=deal)
        self.check_start(start)  # what cannot begin is refused before anything is stored
        receipt = self.begin(game, start, key)
        names = sorted(charter.seats)
        issued = {seat: self.tokens.issue(game, seat) for seat in names}
        sitting = {seat: None if deal else house for seat, house in sorted(charter.seats.items())}
        return NewGame(game, receipt, self.tokens.issue(game, ORGANISER), sitting, issued)

    def check_start(self, start: Start | Gather) -> None:
        """Raise Refusal for what no game can begin with."""
        if self.apart is not None:
            self.apart.ask(AskedStart(start), None)
        else:
            THRONES.decide(THRONES.blank(), start)

    def begin(self, game: str, start: Start | Gather, key: str = "", most: int = 0) -> Receipt:
        """Store a game whose first entry will answer ``start``; guests may fill ``most`` bytes of it, if that is set.

        A table of a shared seed is listed there first. Raises ServerFull, GameExists, BadGameId, SharedSeedClosed.
        """
        if not self.store.exists(game):
            self.check_room()
        start = msgspec.structs.replace(start, game=game)
        opening = submission(start, seat=None, at=self._stated(), cause="system", key=key or secrets.token_hex(16))
        shared = start.charter.shared_seed
        if shared is not None:
            opening = SharedSeeds(self.store).join(shared.id, game, opening)
        try:
            taken = self.store.create(game, THRONES.name, THRONES.version, opening, most=most)
        except GameExists:
            if shared is not None:
                SharedSeeds(self.store).leave(shared.id, game, opening)
            raise
        receipt = self._signed(taken, 0, GENESIS)
        self.ring(game)
        return receipt

    def origin(self, game: str) -> Origin | None:
        """Where a fork comes from; None for what is no fork, or has no entry yet."""
        if game not in self._origins:
            first = self.store.entry(game, 1)
            if first is None:
                return None
            self._origins[game] = codec.origin_of(first)
        return self._origins[game]

    def ring(self, game: str) -> None:
        if self.bell is None:
            return
        try:
            self.bell.ring(game)
        except (redis.exceptions.RedisError, OSError) as error:
            logger().warning("no-ring", game=game, error=type(error).__name__)  # the sweeper will ring

    # Commands

    def submit(
        self,
        game: str,
        caller: Caller,
        command: bytes,
        *,
        key: str = "",
        seen: int | None = None,
        cause: Cause = "command",
        correlation: str = "",
    ) -> Receipt:
        """Take a command in. Whatever is well-formed and comes from somebody with a token is ruled on.

        ``seen`` is the version the author had before him, the present one when he does not say.
        Raises NotAllowed without a token, NoSuchVersion, BadCommand, KeyConflict, GameUnknown.
        """
        if caller.role == "public":
            raise NotAllowed("a seat or the organiser")
        cause = "command" if caller.role == "seat" else cause
        # Read before, so that nothing can go wrong once the submission is stored.
        version, root = self.store.head(game)
        sent = submission(
            command,
            seat=caller.seat,
            at=self._stated(),
            cause=cause,
            key=key,
            seen=_seen(seen, version),
            correlation=correlation,
        )
        point = self._point(game, version, root)
        receipt = self._signed(self.store.submit(game, sent, point, self.allowance(caller, cause)), version, root)
        self.ring(game)
        return receipt

    def allowance(self, caller: Caller, cause: Cause) -> Allowance:
        """What a caller may send. Nothing refuses a deadline; the operator is bound by room alone."""
        if cause == "deadline":
            return UNBOUND
        if self.quotas is None or caller.role == "operator":
            granted = UNBOUND
        else:
            granted = self.quotas.seat() if caller.role == "seat" else self.quotas.acts()
        is_guest = caller.role == "seat"
        is_closed = self.room is not None and (self.room.is_closed_to_guests() if is_guest else self.room.is_full())
        return msgspec.structs.replace(granted, is_closed=is_closed)

    def check_room(self) -> None:
        """Whether there is room for another game. Raises ServerFull."""
        if self.room is not None and self.room.is_closed_to_guests():
            raise ServerFull

    def check_issue(self, game: str, caller: Caller, arbiter: str = "") -> None:
        """Whether a token may be issued now, for a new ``arbiter`` too. Raises OverQuota."""
        if self.quotas is None or caller.role == "operator":
            return
        most = self.quotas.arbiters
        names = self.tokens.arbiters(game) if arbiter and most else ()
        if arbiter not in names and len(names) >= most > 0:
            raise OverQuota("arbiters", most, HOUR_SECONDS)
        most = self.quotas.tokens_per_hour
        before = self.tokens.issued_before(game, most) if most else ""
        if before:
            passed = (datetime.fromisoformat(self.clock()) - datetime.fromisoformat(before)).total_seconds()
            if 0 <= passed < HOUR_SECONDS:
                raise OverQuota("tokens", most, int(HOUR_SECONDS - passed) + 1)

    def _signed(self, receipt: Receipt, version: int, root: str) -> Receipt:
        """A receipt with its signed form, bound to the head of the chain."""
        if self.signer is None:
            return receipt
        note = self.signer.receipt(receipt.game, version, root, receipt.inbox, receipt.digest)
        return msgspec.structs.replace(receipt, note=note)

    # Signatures

    def checkpoint(self, game: str, at: int | None = None) -> tuple[int, str]:
        """A version, the present one by default, and its signed checkpoint. That of the present one is kept.

        Raises Unsigned, NoSuchVersion, GameUnknown.
        """
        self.store.record(game)
        version, root = self.store.head(game)
        if at is not None and at != version:
            found = self.store.entry(game, at) if at else None
            if found is None and at:
                raise NoSuchVersion(at, version)
            return at, self._key().checkpoint(game, at, GENESIS if found is None else found.digest)
        note = self._key().checkpoint(game, version, root)
        if version:
            self.store.keep_checkpoint(game, Kept(version, note))
        return version, note

    def checkpoints(self, game: str, at: int | None = None) -> tuple[Kept, ...]:
        """The signed checkpoints that were handed out for the first ``at`` entries, or for all, the present one too."""
        if self.signer is not None:
            self.checkpoint(game)
        return tuple(one for one in self.store.checkpoints(game) if at is None or one.size <= at)

    def _point(self, game: str, version: int, root: str) -> Kept | None:
        """The checkpoint that a receipt contains, for the store to keep."""
        if self.signer is None or not version:
            return None
        return Kept(version, self.signer.checkpoint(game, version, root))

    def checkpoint_at(self, game: str, entry: LogEntry) -> str:
        """The signed checkpoint that the log carries where a round begins; empty elsewhere."""
        if self.signer is None or not any(isinstance(fact, RoundBegan) for fact in entry.facts):
            return ""
        return self.signer.checkpoint(game, entry.seq, entry.digest)

    def key(self) -> Verifier:
        """What signatures of this server are checked with. Raises Unsigned."""
        return self._key().verifier

    def _key(self) -> Signer:
        if self.signer is None:
            raise Unsigned
        return self.signer

    def sent_before(self, game: str, caller: Caller, key: str) -> Submission | None:
        """What a seat, or the organiser, submitted under an idempotency key."""
        return self.store.submission_under(game, caller.seat, key) if key else None

    def read_letter(self, game: str, caller: Caller, text: str, seen: int | None = None) -> HouseAnswer:
        """The one answer that a letter of a seat gives, read with what the seat owed at version ``seen``.

        Raises NotationError, and Refusal before the game has begun.
        """
        state: State = self.line(game, seen).state
        self.check_begun(game, state)
        house = self.house_of(state, caller)
        mine = tuple(one for one in THRONES.decisions(state, replaceable=True) if one.player == house)
        lines = split_letter(text)
        if len(lines) != 1 or lines[0].header is not None:
            raise _not_one_answer(text)
        return parse_line(lines[0], house=house, lexicon=lexicon_of(self.edition(state)), open_decisions=mine)

    def check_begun(self, game: str, state: State) -> None:
        """Raise Refusal where nothing can be answered yet, with what that waits for. Raises GameHeld, too."""
        if not state.charter.edition:
            waits = self.waits_to_begin(game)
            raise Refusal("not-started", waits_for=waits) if waits else Refusal("not-started")

    def waits_to_begin(self, game: str) -> str:
        """What keeps the first ruling of a game from coming, for people; empty where nothing does. Raises GameHeld."""
        record = self.store.record(game)
        if record.is_held:
            raise GameHeld(game)
        if record.parked is not None:
            return "its operator, since it is parked"
        return awaited(record.waits.engine) if record.waits is not None else ""

    def ruling(self, game: str, inbox: str, timeout_seconds: float = 0.0) -> Stored | None:
        """The entry that answers a submission, waiting for it a while; None when there is none yet."""
        number = number_of(inbox)
        if not self._await(game, number, timeout_seconds):
            return None
        return self.store.ruling_on(game, inbox)

    def _await(self, game: str, version: int, timeout_seconds: float) -> bool:
        """Whether the ledger reaches a version. Whoever would be one too many to wait in a thread does not wait."""
        if timeout_seconds and self._waiting.acquire(blocking=False):
            try:
                return self.store.await_version(game, version, timeout_seconds)
            finally:
                self._waiting.release()
        return self.store.await_version(game, version, 0.0)

    # Reading

    def version_at(self, game: str, at: str | None) -> int | None:
        """A version by its number, or by a time (RFC 3339): what had been received by then. None stays None.

        Times do not go back within a game. In records that were written before the store saw to that they may: then an
        entry counts from the latest time of it and of all before it. Raises NotAMoment.
        """
        if at is None:
            return None
        if _VERSION.fullmatch(at.strip()):
            return int(at)
        moment = _time(at)
        self.store.record(game)
        found = 0
        for stored in self.store.entries(game):
            received = _received.decode(stored.public)
            if datetime.fromisoformat(received.at) > moment:
                break
            found = received.seq
        return found

    def moment_of(self, game: str, at: str) -> datetime:
        """A time as it is given, or when the submission was received that an entry answers.

        Before the first entry there is no time of the game. Raises NotAMoment, NoSuchVersion.
        """
        if not _VERSION.fullmatch(at.strip()):
            return _time(at)
        stored = self.store.entry(game, self.version_of(game, at))
        return datetime.min.replace(tzinfo=UTC) if stored is None else _time(_received.decode(stored.public).at)

    def version_of(self, game: str, at: str | None) -> int:
        """The version at a moment, the present one by default. Raises NotAMoment, NoSuchVersion."""
        wanted = self.version_at(game, at)
        current = self.store.version(game)
        if wanted is None:
            return current
        if not 0 <= wanted <= current:
            raise NoSuchVersion(wanted, current)
        return wanted

    def engine_of(self, game: str) -> str:
        """The engine that this server is for a game, as entries name it."""
        return self.judge.rules.engine_of(self.line(game).state)

    def line(self, game: str, at: int | None = None) -> Line:
        """The fold of the ledger, up to version ``at`` or to its end. Raises NoSuchVersion, GameUnknown."""
        self.store.record(game)
        current = self.store.version(game)
        if at is not None and not 0 <= at <= current:
            raise NoSuchVersion(at, current)
        wanted = current if at is None else at
        warm = self._nearest(game, wanted)
        if warm is not None and warm.version == wanted:
            return warm
        try:
            line = self.store.line(game, self.judge, at=wanted, warm=warm)
        except RecordDamaged:
            if warm is None:
                raise
            self._forget(game)  # another game may have taken its place
            line = self.store.line(game, self.judge, at=wanted)
        self._keep(game, line, is_current=at is None or at == current)
        return line

    def _nearest(self, game: str, wanted: int) -> Line | None:
        """The newest position we have kept that is not behind ``wanted``."""
        with self._lock:
            warm = self.warm.get(game)
            kept = [] if warm is None else [warm]
            kept += [line for (name, _), line in self._past.items() if name == game]
        return max((line for line in kept if line.version <= wanted), key=lambda line: line.version, default=None)

    def _keep(self, game: str, line: Line, is_current: bool) -> None:
        with self._lock:
            if is_current:
                self.warm.put(game, line)
                return
            self._past[game, line.version] = line
            self._past.move_to_end((game, line.version))
            while len(self._past) > PAST:
                self._past.popitem(last=False)

    def _forget(self, game: str) -> None:
        with self._lock:
            self.warm.drop(game)
            for key in [key for key in self._past if key[0] == game]:
                del self._past[key]

    def house_of(self, state: State, caller: Caller) -> str | None:
        """The House that a caller plays."""
        return state.charter.seats.get(caller.seat) if caller.seat is not None else None

    def view(self, game: str, caller: Caller, at: int | None = None) -> tuple[int, View]:
        """The version and the position as the caller may see it, then and without hindsight."""
        line = self.line(game, at)
        state: State = line.state
        house = self.house_of(state, caller)
        return line.version, view(state, house, THRONES.decisions(state, replaceable=True), THRONES.held)

    def owes(self, game: str, caller: Caller) -> tuple[int, tuple[Owed, ...]]:
        """The version and what the caller's seat owes now, with every legal answer."""
        version, seen = self.view(game, caller)
        return version, seen.owes

    def board(self, game: str, caller: Caller, at: int | None = None) -> tuple[int, str]:
        """The version and the board as text, as far as the caller may see it."""
        version, seen = self.view(game, caller, at)
        if not seen.position.charter.edition:
            return version, diagram.not_begun(seen.position)
        return version, diagram.board(THRONES.rules_of(seen.position).game(seen.position), seen)

    def decisions(self, game: str) -> tuple[State, tuple[Decision[Any], ...]]:
        """The state and all open decisions, for bots that play every seat."""
        state: State = self.line(game).state
        return state, THRONES.decisions(state)

    def edition(self, state: State) -> Edition:
        """What a game plays by; any book will do before it begins, when there is nothing to be named."""
        return edition_of(state.charter)

    def agreed(self, game: str, at: int | None = None) -> Charter:
        """The charter of a game, also while its seats still make the seed; an empty one before its first entry."""
        line = self.line(game, at)
        state: State = line.state
        first = None if state.charter.edition or line.version == 0 else self.store.entry(game, 1)
        facts = self.judge.codec.facts(first) if first is not None else ()
        return next((fact.charter for fact in facts if isinstance(fact, GatheringBegan)), state.charter)

    def prose(self, game: str) -> Prose:
        """Sentences with the names of what a game is played by."""
        return Prose(edition_of(self.agreed(game)))

    def lexicon(self, game: str) -> Lexicon:
        """The names that letters to a game may use."""
        return lexicon_of(self.edition(self.line(game).state))

    def log(
        self, game: str, caller: Caller, after: int = 0, count: int | None = None, at: int | None = None
    ) -> Iterator[LogEntry]:
        """Ledger entries behind a version as the caller may read them, as far as the record went at ``at``."""
        house = self.house_of(self.line(game).state, caller)
        prose = self.prose(game)
        struck = self.struck_out(game, at)
        if at is not None:
            count = max(0, at - after) if count is None else min(count, max(0, at - after))
        for stored in self.store.entries(game, after, count) if count != 0 else ():
            yield self.marked(game, self.readable(stored, house, prose), struck)

    def marked(self, game: str, read: LogEntry, struck: Mapping[int, StruckOut]) -> LogEntry:
        """An entry with its checkpoint where a round begins, and with the rewind that has struck it out."""
        mark = None if _stands(read) else struck.get(read.seq)
        return msgspec.structs.replace(read, checkpoint=self.checkpoint_at(game, read), struck=mark)

    def struck_out(self, game: str, at: int | None = None) -> dict[int, StruckOut]:
        """Which entries are struck out, at present or as of version ``at``: by which rewind, and why."""
        state: State = self.line(game, at).state
        found: dict[int, StruckOut] = {}
        for one in state.docket.struck_now:
            stored = next(iter(self.store.entries(game, one.by - 1, 1)))
            reason = next(fact.reason for fact in self.judge.codec.facts(stored) if isinstance(fact, Rewound))
            found |= dict.fromkeys(range(one.first, one.last + 1), StruckOut(one.by, reason))
        return found

    def shown(self, stored: Stored, house: str | None) -> Stored:
        """One entry as it is stored, without the parts of other eyes."""
        return codec.redact(stored, house)

    def readable(self, stored: Stored, house: str | None, prose: Prose) -> LogEntry:
        """One entry for the eyes of a House, or of the public with None."""
        return readable(self.judge, self.shown(stored, house), prose)


def readable(judge: Judge, shown: Stored, prose: Prose) -> LogEntry:
    """An entry, already redacted, for reading."""
    entry: Entry = codec.entry(shown)
    facts = judge.codec.facts(shown, entry)
    raw = codec.raw_command(shown, entry)
    return LogEntry(
        seq=entry.seq,
        at=entry.at,
        cause=entry.cause,
        seat=entry.seat,
        inbox=entry.inbox,
        correlation=entry.correlation,
        verdict=_verdict(shown, entry),
        command=msgspec.Raw(raw) if raw is not None else None,
        facts=facts,
        sentences=tuple(line for fact in facts if (line := _told(fact, prose))),
        digest=shown.digest,
    )


def _time(at: str) -> datetime:
    """A time with its zone. Raises NotAMoment."""
    try:
        moment = datetime.fromisoformat(at.strip().replace(" ", "+"))  # "+" is a blank in a query
    except ValueError:
        raise NotAMoment(at) from None
    if moment.tzinfo is None:
        raise NotAMoment(at)
    return moment


def _seated(charter: Charter, seats: Mapping[str, str] | None, chance: str) -> Charter:
    """The charter with its seats; every House gets one of its own where none are given. Raises Refusal."""
    given = dict(seats) if seats is not None else {secrets.token_hex(4): house for house in charter.houses}
    check_seats(given)
    return msgspec.structs.replace(charter, seats=given, chance=chance)


def _seen(seen: int | None, current: int) -> int:
    if seen is not None and not 0 <= seen <= current:
        raise NoSuchVersion(seen, current)
    return current if seen is None else seen


def check_seats(seats: Iterable[str]) -> None:
    """Raise Refusal for what no seat may be called."""
    for seat in seats:
        if not _SEAT.fullmatch(seat) or seat in (ORGANISER, ARBITER):
            raise Refusal("bad-seat", seat=seat)


def _stands(entry: LogEntry) -> bool:
    """Appeals and reads of secrets are not taken back by any rewind."""
    lasting = (AppealFiled, AppealRuled, LossAccepted, PrivilegeUsed, SecretsRead, SealedFact)
    return (
        bool(entry.facts)
        and isinstance(entry.facts[0], lasting[:-1])
        and all(isinstance(fact, lasting) for fact in entry.facts)
    )


def lexicon_of(edition: Edition) -> Lexicon:
    """The names of an edition, for reading letters."""
    return lexicon(
        areas={area.id: area.name for area in edition.board.areas.values()},
        houses={house.id: house.name for house in edition.houses.values()},
        cards={card.id: card.name for card in edition.cards.values()},
        tokens=tuple(edition.tokens.values()),
    )


def _not_one_answer(text: str) -> NotationError:
    if not split_letter(text):
        return NotationError("there is no answer here", 1)
    return NotationError("this is more than one line", 1, expected="one answer, without a header")


def _told(fact: Any, prose: Prose) -> str:
    if isinstance(fact, Fact):
        return prose.line(fact)
    audience = ", ".join(prose.name(house) for house in fact.audience) or "nobody"
    rules = f" [{', '.join(fact.rules)}]" if fact.rules else ""
    return f"(sealed for {audience}: {fact.fact}){rules}"


def _verdict(shown: Stored, entry: Entry) -> Accepted | Refused:
    """The verdict with its real reason, where the reader may have it."""
    verdict = entry.verdict
    if isinstance(verdict, Refused) and verdict.sealed is not None and shown.sealed[verdict.sealed].is_open:
        return msgspec.json.decode(bytes(shown.sealed[verdict.sealed].body), type=Refused)
    return verdict
