"""Adjudicating a game: take the lease, draw up to date, rule on the inbox until it is empty.

Delivery is at least once: any number of workers may be told of a game any number of times. The effect is
exactly once: an append carries the version it was made for and moves the inbox cursor in the same script.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Literal

import msgspec
import structlog

from events import codec
from events.chain import Chain
from events.envelope import Accepted, Refused, Stored, Submission, number_of, utc_now
from events.errors import (
    EngineLacking,
    FromTheFuture,
    GameUnknown,
    KeptDamaged,
    LeaseLost,
    NewerEntry,
    RecordDamaged,
    StaleAppend,
    StoreAway,
    StoreRefuses,
)
from events.past import Record
from events.ruling import Judge, Line
from events.store import SUSPICIOUS, Lease, Parked, Store, Waits, awaited_schema
from events.upcasters import VERSION
from worker.budget import UNLIMITED, Budget
from worker.figures import FIGURES
from worker.log import logger
from worker.trial import DOUBTFUL, FOLD_STEP, Death, Trial, kind_of, place_of
from worker.waiting import next_submissions

BATCH = 64
"""How many submissions are ruled on before they are appended together: one script, one sync of the disk."""

SNAPSHOT_EVERY = 100
LEASE_SECONDS = 10.0
TRIES = 5
TRIALS = 3
"""How many children are tried before a game is left for the next session."""


class Spent(Exception):
    """This process cannot rule on what a fresh one survives: it should end, and another begin."""


class _Deadly(Exception):
    """A submission that ends whoever rules on it."""

    def __init__(self, death: Death) -> None:
        super().__init__(death.error)
        self.death = death


class _Undecided(Exception):
    """Trials came to no result."""


class Outcome(msgspec.Struct, frozen=True):
    """What became of one attempt.

    ``busy``: somebody else holds the lease and will see to it. ``waits``: another engine than ours rules on the game.
    """

    game: str
    how: Literal["drained", "busy", "parked", "stopped", "waits"]
    ruled: int
    version: int


class Warm:
    """States kept between drains, the least recently used going first. The ledger decides whether they are right."""

    def __init__(self, most: int = 64) -> None:
        self._most = most
        self._lines: OrderedDict[str, Line] = OrderedDict()
        self._kept: dict[str, int] = {}

    def get(self, game: str) -> Line | None:
        line = self._lines.get(game)
        if line is not None:
            self._lines.move_to_end(game)
        return line

    def put(self, game: str, line: Line) -> None:
        self._lines[game] = line
        self._lines.move_to_end(game)
        while len(self._lines) > self._most:
            self._lines.popitem(last=False)

    def drop(self, game: str) -> None:
        self._lines.pop(game, None)

    def clear(self) -> None:
        """Forget everything, for want of memory."""
        self._lines.clear()

    def is_due(self, game: str, every: int) -> bool:
        """Whether the snapshot of a game lags that many entries behind."""
        line = self._lines.get(game)
        return line is not None and line.version - self._kept.get(game, 0) >= every

    def keep(self, store: Store, judge: Judge, game: str) -> None:
        """Save a snapshot of a warm game."""
        line = self._lines[game]
        store.save_snapshot(game, judge, line)
        self._kept[game] = line.version

    def came_from_snapshot(self, game: str, version: int) -> None:
        """A snapshot of that version is in the store."""
        self._kept[game] = version

    def unkept(self) -> list[str]:
        """Games with entries since their last snapshot."""
        return [game for game in self._lines if self.is_due(game, 1)]


class _Mistake(Exception):
    """A bug in the rules, or a record that they cannot fold; then there is no submission to blame."""

    def __init__(self, submission: Submission | None, cause: Exception) -> None:
        super().__init__(type(cause).__name__)
        self.submission = submission
        self.cause = cause


def never() -> bool:
    """Do not stop before the inbox is empty."""
    return False


def adjudicate(
    store: Store,
    judge: Judge,
    game: str,
    *,
    warm: Warm | None = None,
    lease_seconds: float = LEASE_SECONDS,
    snapshot_every: int = SNAPSHOT_EVERY,
    batch: int = BATCH,
    must_stop: Callable[[], bool] = never,
    budget: Budget = UNLIMITED,
    trial: Trial | None = None,
) -> Outcome:
    """Rule on everything in the inbox of a game. Safe to call anywhere, any number of times, at once.

    With a ``trial`` what is suspicious is tried in a child process first. Raises :class:`Spent`.
    """
    alone = warm is None  # then nobody else keeps a snapshot at the end
    warm = Warm() if warm is None else warm
    ruled = 0
    with structlog.contextvars.bound_contextvars(game=game):
        for _ in range(1_000_000):
            lease = store.acquire(game, lease_seconds)
            if lease is None:
                return Outcome(game, "busy", ruled, store.version(game))
            desk = None
            try:
                if lease.unreleased:
                    logger().warning("lease-was-not-released", times=lease.unreleased)
                desk = _Desk(store, judge, lease, warm, lease_seconds, snapshot_every, batch, budget, trial)
                how = "parked" if lease.parked else desk.drain(must_stop)
                ruled += desk.ruled
                if alone and how == "drained" and warm.is_due(game, 1):
                    warm.keep(store, judge, game)
            finally:
                if desk is not None and desk.is_doubtful:
                    store.release(lease, keeps_count=True)
                else:
                    store.release(lease)
            # Whoever was turned away while we held the lease relies on this second look.
            if store.settle(game) or how != "drained":
                return Outcome(game, how, ruled, desk.version)
    raise AssertionError("a game is settled long before")


def leave(store: Store, game: str, rules: str, here: str, lease_seconds: float = LEASE_SECONDS) -> None:
    """Leave a game whose rules are not known here to a worker that knows them."""
    lease = store.acquire(game, lease_seconds)
    if lease is None:
        return
    try:
        if not lease.parked:
            _note_wait(store, lease, rules, here)
    except LeaseLost:
        return
    finally:
        store.release(lease)


def _note_wait(store: Store, lease: Lease, engine: str, here: str) -> None:
    """Say what a game waits for; in the log once."""
    before = store.waits(lease.game)
    waits = Waits(at=utc_now(), engine=engine, here=here, inbox=store.inbox_length(lease.game))
    if before is not None and (before.engine, before.here) == (waits.engine, waits.here):
        waits = msgspec.structs.replace(waits, at=before.at)
    else:
        logger().warning("game-waits-for-engine", engine=engine, here=here)
    store.wait(lease, waits)


def stop(store: Store, game: str, damage: RecordDamaged) -> None:
    """Park a game whose record is damaged, and say so in the log. Nobody comes here for a game that is parked."""
    store.stop(game, damage)
    logger().error(
        "game-parked", seat=None, inbox="", correlation="", kind="", error=RecordDamaged.__name__, where=str(damage)
    )


class _Verdict(msgspec.Struct):
    """Of the public part of an entry, what became of its command."""

    verdict: Accepted | Refused


def _public_code(stored: Stored) -> str:
    """The code of a refusal as everybody may read it; empty where the command was accepted."""
    verdict = msgspec.json.decode(stored.public, type=_Verdict).verdict
    return verdict.code if isinstance(verdict, Refused) else ""


class _Desk:
    """One adjudicator at one game, as long as the lease lasts."""

    def __init__(
        self,
        store: Store,
        judge: Judge,
        lease: Lease,
        warm: Warm,
        lease_seconds: float,
        snapshot_every: int,
        batch: int,
        budget: Budget,
        trial: Trial | None,
    ) -> None:
        self.store = store
        self.judge = judge
        self.lease = lease
        self.game = lease.game
        self.warm = warm
        self.lease_seconds = lease_seconds
        self.snapshot_every = snapshot_every
        self.is_careful = lease.unreleased >= SUSPICIOUS
        self.batch = 1 if self.is_careful and trial is None else batch
        self.budget = budget
        self.trial = trial
        self.is_doubtful = self.is_careful and trial is not None
        """Whether the game is as suspicious as before."""
        self.renewed = time.monotonic()
        self.ruled = 0
        self.version = lease.version
        self.pepper = b""
        self.chain: Chain | None = None

    def drain(self, must_stop: Callable[[], bool]) -> Literal["drained", "parked", "stopped", "waits"]:
        try:
            newest = self.store.inbox_length(self.game)
            if not 0 <= self.lease.taken <= newest:
                raise KeptDamaged("the cursor")
            if self.lease.taken == newest:
                return "drained"
            self.pepper = self.store.pepper(self.game)
            return self._rule_on(must_stop)
        except EngineLacking as lacking:
            return self._wait(lacking.pinned)
        except (FromTheFuture, NewerEntry) as newer:
            return self._wait(awaited_schema(newer.version))
        except _Mistake as mistake:
            if isinstance(mistake.cause, NewerEntry):
                return self._wait(awaited_schema(mistake.cause.version))
            if isinstance(mistake.cause, RecordDamaged):
                return self._stop(mistake.cause)
            self._park(mistake)
            return "parked"
        except RecordDamaged as damage:
            return self._stop(damage)
        except _Deadly as deadly:
            self._park_deadly(deadly.death)
            return "parked"
        except _Undecided:
            return "stopped"
        except LeaseLost as lost:
            logger().warning("lease-lost", token=lost.token, granted=lost.granted)
            self.warm.drop(self.game)
            return "stopped"

    def _rule_on(self, must_stop: Callable[[], bool]) -> Literal["drained", "stopped"]:
        line: Line | None = None
        tries = 0
        while not must_stop():
            most = self._harmless(must_stop)
            try:
                line = self._up_to_date() if line is None else line
                more = self._one_batch(line, most)
            except StaleAppend as stale:
                tries += 1
                logger().warning("stale-append", expected=stale.expected, actual=stale.actual, tries=tries)
                if tries == TRIES:
                    raise
                self.warm.drop(self.game)
                line = None
                continue
            except _Mistake as mistake:
                if self.trial is None or not isinstance(mistake.cause, DOUBTFUL):
                    raise
                self._doubt(mistake)
                line = None
                continue
            except MemoryError as error:
                if self.trial is None:
                    raise
                self._doubt(_Mistake(None, error))
                line = None
                continue
            self.is_doubtful = False
            if more is None:
                return "drained"
            line, tries = more, 0
            if self.warm.is_due(self.game, self.snapshot_every):
                self.warm.keep(self.store, self.judge, self.game)
        return "stopped"

    def _doubt(self, mistake: _Mistake) -> None:
        """Memory or depth ran out, and perhaps by what else is in this process: forget that, and have a trial.

        What a trial found harmless and yet fails here fails because of the process, unless fresh ones fail as well.
        """
        error = type(mistake.cause).__name__
        logger().warning("ruling-failed-here", error=error, inbox=mistake.submission and mistake.submission.inbox)
        self.warm.clear()
        if not self.is_careful:
            self.is_careful = True
            return
        if self.lease.unreleased >= 2 * SUSPICIOUS:
            raise mistake
        self.is_doubtful = True
        raise Spent

    def _harmless(self, must_stop: Callable[[], bool]) -> int:
        """How many of the next submissions may be ruled on here; of a suspicious game those that a child survived."""
        if self.trial is None or not self.is_careful:
            return self.batch
        if not self.store.unruled_tail(self.game):
            return 0
        died = False
        for _ in range(TRIALS):
            found = self.trial.hold(self.game, must_stop, self._hold_on)
            logger().info("trial-held", why=found.why, harmless=found.harmless)
            if found.harmless:
                return found.harmless
            if found.why == "stopped":
                break
            if found.death is not None:
                if found.death.is_proven or died:
                    raise _Deadly(found.death)
                died = True
        else:
            logger().warning("trials-undecided", trials=TRIALS)
        raise _Undecided

    def _up_to_date(self) -> Line:
        """The fold of the ledger to its end: warm, or a snapshot and the entries since."""
        warm = self.warm.get(self.game)
        if warm is not None and warm.version == self.lease.version:
            return warm
        try:
            if warm is None:
                with self.budget.of(self.game, ""):
                    warm = self.store.snapshot(self.game, self.judge)
                self.warm.came_from_snapshot(self.game, 0 if warm is None else warm.version)
            line = self._line(warm)
            if line.version == self.lease.version and line.taken != self.lease.taken:
                raise KeptDamaged("the cursor")
        except (StoreAway, StoreRefuses, GameUnknown):
            raise
        except Exception as error:
            self.warm.drop(self.game)
            raise _Mistake(None, error) from error
        self.warm.put(self.game, line)
        return line

    def _line(self, warm: Line | None) -> Line:
        """What we have kept may be of another game that had this name: then all is read anew."""
        try:
            return self._folded(warm or self.judge.begin())
        except RecordDamaged:
            if warm is None:
                raise
            self.warm.drop(self.game)
            return self._folded(self.judge.begin())

    def _folded(self, line: Line) -> Line:
        """The line at the end of the ledger, some entries within each budget."""
        newest = self.store.version(self.game)
        while True:
            with self.budget.of(self.game, ""):
                upto = max(line.version, min(newest, line.version + FOLD_STEP))
                line = self.store.line(self.game, self.judge, at=upto, warm=line)
            if line.version >= newest:
                return line
            self._hold_on()

    def _one_batch(self, line: Line, most: int) -> Line | None:
        """Rule on the next submissions and append; None when there are none. A mistake stops behind what was ruled."""
        waiting = next_submissions(self.store, self.judge, self.game, line, most, self._hold_on) if most else []
        if not waiting:
            return None
        self._hold_on()
        ahead = line
        entries: list[Stored] = []
        past = Record(self.judge, lambda after, upto: self._record(after, upto, line.version, entries))
        said: list[tuple[Submission, int, str, str]] = []
        mistake: _Mistake | None = None
        for submission in waiting:
            try:
                before = ahead
                past.version = before.version
                with self.budget.of(self.game, submission.inbox):
                    v = self._schema(submission, line, entries)
                    stored, after, kind = self.judge.rule(before, submission, self.pepper, past=past, v=v)
                self._check_in_line(submission, before, stored)
                ahead = after
            except EngineLacking:
                break  # the next look finds out what may go ahead
            except Exception as error:  # noqa: BLE001 - whatever the rules raise is their bug
                mistake = _Mistake(submission, error)
                break
            entries.append(stored)
            said.append((submission, ahead.version, kind, _public_code(stored)))
            self._hold_on()
        if entries:
            self.version = self.store.append(self.lease, line, entries, ahead.taken)
            self.warm.put(self.game, ahead)
            self.ruled += len(entries)
            self._tell(said)
        if mistake is not None:
            raise mistake
        return ahead

    def _schema(self, submission: Submission, line: Line, entries: list[Stored]) -> int:
        """In which schema a submission is answered: one that waited through an upgrade in its own, if it may.

        It came by the clock of its host, so its time may go back, which is damage from schema 2 on. It may as long
        as no entry is newer.
        """
        if submission.v >= VERSION:
            return VERSION
        newest = entries[-1] if entries else self.store.entry(self.game, line.version)
        return submission.v if newest is None else max(submission.v, codec.entry(newest).v)

    def _check_in_line(self, submission: Submission, before: Line, stored: Stored) -> None:
        """Append nothing that a reader would take for damage: an entry repeats parts of its submission as they are.

        So a submission that was written by other hands is to blame. Raises KeptDamaged.
        """
        chain = self.chain
        if chain is None or (chain.version, chain.head) != (before.version, before.head):
            newest = self.store.entry(self.game, before.version)
            chain = Chain.behind(newest, before.version, before.head, before.taken, before.ahead)
        self.chain = None
        try:
            chain.add(stored)
        except RecordDamaged as damage:
            raise KeptDamaged(f"submission {submission.number}") from damage
        self.chain = chain

    def _wait(self, engine: str) -> Literal["waits"]:
        """Leave what was submitted for whoever can rule on it."""
        _note_wait(self.store, self.lease, engine, self.judge.engine)
        self.is_doubtful = False
        return "waits"

    def _record(self, after: int, upto: int, stored: int, new: list[Stored]) -> Iterator[Stored]:
        """Entries of the ledger, then those that this batch has ruled on and not yet appended."""
        if after < stored:
            yield from self.store.entries(self.game, after, min(upto, stored) - after)
        yield from new[max(0, after - stored) : max(0, upto - stored)]

    def _hold_on(self) -> None:
        """Renew the lease when a third of it has passed. The append is safe without, but another may take over."""
        now = time.monotonic()
        if now - self.renewed > self.lease_seconds / 3:
            self.store.renew(self.lease, self.lease_seconds)
            self.renewed = now

    def _stop(self, damage: RecordDamaged) -> Literal["parked"]:
        """Park for damage. Whoever read it may have done so already, and has fenced us off with that."""
        self.warm.drop(self.game)
        stop(self.store, self.game, damage)
        return "parked"

    def _park(self, mistake: _Mistake) -> None:
        cause, submission = mistake.cause, mistake.submission
        parked = Parked(
            at=utc_now(),
            inbox=submission.inbox if submission is not None else "",
            kind=kind_of(self.judge, submission) if submission is not None else "",
            error=type(cause).__name__,
            where=place_of(cause),
        )
        self._put_aside(parked, submission)

    def _park_deadly(self, death: Death) -> None:
        parked = Parked(at=utc_now(), inbox=death.inbox, kind=death.kind, error=death.error, where=death.where)
        number = number_of(death.inbox) if death.inbox else 0
        submission = next(self.store.submissions(self.game, number - 1, 1), None) if number else None
        self._put_aside(parked, submission)

    def _put_aside(self, parked: Parked, submission: Submission | None) -> None:
        self.store.park(self.lease, parked)
        self.is_doubtful = False
        logger().error(
            "game-parked",
            seat=submission.seat if submission is not None else None,
            inbox=parked.inbox,
            correlation=submission.correlation if submission is not None else "",
            kind=parked.kind,
            error=parked.error,
            where=parked.where,
        )

    def _tell(self, said: list[tuple[Submission, int, str, str]]) -> None:
        now = utc_now()
        for submission, entry, kind, code in said:
            FIGURES.ruled(submission.cause, code, submission.at, now)
            logger().info(
                "ruled",
                seat=submission.seat,
                entry=entry,
                correlation=submission.correlation,
                inbox=submission.inbox,
                cause=submission.cause,
                kind=kind,
                accepted=not code,
            )
