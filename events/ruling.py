"""Ruling: from a submission and the line so far to the bytes of the next entry.

One pure function, :func:`rule`, makes every entry. The worker appends what it returns; verification calls it
again and compares. Time comes with the submission, chance and salts from secrets in the first entry.
"""

from __future__ import annotations

import hashlib
import hmac
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from domain.kernel.arbiter import Amend, Past
from domain.kernel.bounds import briefly
from domain.kernel.commands import PassDeadline
from domain.kernel.game import BoardGame
from domain.kernel.refusal import Refusal
from events import chain
from events.codec import BOUNDED_SINCE, Codec, entry, write_submission
from events.envelope import (
    GENESIS,
    SECRETLY,
    Accepted,
    Entry,
    Part,
    Refused,
    SealedCommand,
    SealedFact,
    StateDigest,
    Stored,
    Submission,
    encode,
    number_of,
)
from events.errors import EngineLacking, RecordDamaged
from events.sealing import PEPPER, Sealer, state_key
from events.upcasters import UPCASTERS, VERSION


class Line(msgspec.Struct, frozen=True):
    """The fold of a ledger up to a version: the state, how much of the inbox is ruled on, and the head of the chain.

    ``ahead`` are the inbox numbers behind ``taken`` that were ruled on out of turn: acts that move a game to another
    engine, since the letters in front of them wait for just that.
    """

    state: Any
    version: int = 0
    taken: int = 0
    head: str = GENESIS
    ahead: tuple[int, ...] = ()

    def after(self, state: Any, number: int, head: str) -> Line:
        """The line one entry on, which answers the submission of that number."""
        if number != self.taken + 1:
            return Line(state, self.version + 1, self.taken, head, tuple(sorted({*self.ahead, number})))
        taken, ahead = number, set(self.ahead)
        while taken + 1 in ahead:
            taken += 1
            ahead.remove(taken)
        return Line(state, self.version + 1, taken, head, tuple(sorted(ahead)))


class Judge:
    """A game's rules with its codec. ``engine`` is that of this code as a whole; each game has its own pin."""

    def __init__(self, rules: BoardGame[Any]) -> None:
        self.rules = rules
        self.codec = Codec(rules)
        self.engine = f"{rules.name}/{rules.version}"

    def begin(self) -> Line:
        """The line before the first entry."""
        return Line(self.rules.blank())

    def evolve(self, line: Line, stored: Stored, read: Entry | None = None) -> Line:
        """The line after an entry that is already in the ledger, all parts open. Raises :class:`RecordDamaged`."""
        read = read or entry(stored)
        state = line.state
        facts = self.codec.facts(stored, read)
        try:
            for fact in facts:
                state = self.rules.evolve(state, fact)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
            raise RecordDamaged(read.seq, f"it does not fit the position ({where})") from error
        return line.after(state, number_of(read.inbox), stored.digest)

    def lacking(self, state: Any) -> EngineLacking | None:
        """The engine that a game waits for, when it is not this one."""
        pinned, own = self.rules.pinned(state), self.rules.engine_of(state)
        return EngineLacking(pinned, own) if pinned not in ("", own) else None

    def may_go_ahead(self, state: Any, submission: Submission) -> bool:
        """Whether a submission is taken up before those in front of it: an act that moves the game to this engine."""
        if submission.seat is not None or submission.cause == "command" or self.lacking(state) is None:
            return False
        try:
            command = self.codec.command(bytes(submission.command), submission.v)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return False
        return isinstance(command, Amend) and command.engine == self.rules.engine_of(state)

    def digest_of(self, state: Any, pepper: bytes, prev: str, seq: int) -> StateDigest:
        """The digests of a position."""
        hidden = hmac.digest(state_key(pepper, prev, seq), encode(self.rules.hidden(state)), "sha256")
        return StateDigest(hashlib.sha256(encode(self.rules.public(state))).hexdigest(), hidden.hex())

    def rule(
        self,
        line: Line,
        submission: Submission,
        pepper: bytes,
        engine: str | None = None,
        past: Past | None = None,
        *,
        v: int = VERSION,
        bound: Part | None = None,
    ) -> tuple[Stored, Line, str]:
        """The entry that answers a submission, the line after it, and the kind of the command as logs may tell it.

        ``past`` is the record up to ``line``, for commands that look back. ``v`` is the schema of the entry, for ruling
        again on older ones. ``bound`` is the part that binds the submission, where its stored bytes are not at hand.

        A refusal is an entry too. Raises EngineLacking where the game is ruled by another engine than this one, or than
        ``engine``. Any other exception is a bug of the rules, and no entry.
        """
        seq = line.version + 1
        sealer = Sealer(pepper, line.head, seq)
        if seq == 1:
            sealer.seal(PEPPER, (), encode(pepper.hex()))
        case = _Case(self, line, submission, past, engine)
        if bound is not None:
            sealer.carry(case.author, bound)
        elif v > 1:
            sealer.bind(case.author, write_submission(submission))
        command = msgspec.Raw(_command(case, sealer))
        verdict: Accepted | Refused = Accepted()
        if case.refusal is not None:
            verdict = _refused(case, case.refusal, sealer)
        facts = tuple(msgspec.Raw(_fact(fact, sealer)) for fact in case.facts)
        read = Entry(
            v=v,
            seq=seq,
            at=submission.at,
            cause=submission.cause,
            inbox=submission.inbox,
            seat=submission.seat,
            causation=submission.causation,
            correlation=submission.correlation,
            engine=engine or self.rules.engine_of(case.state),
            seen=submission.seen,
            command=command,
            verdict=verdict,
            facts=facts,
            sealed=tuple(sealer.seals),
            state=self.digest_of(case.state, pepper, line.head, seq),
            prev=line.head,
        )
        public = encode(read)
        parts = tuple(sealer.parts)
        stored = Stored(public, parts, chain.digest(line.head, public, parts))
        kind = SECRETLY if case.secret and case.refusal is not None else case.kind
        return stored, line.after(case.state, submission.number, stored.digest), kind


class _Case:
    """One submission before the rules: who sent it, whether it is secret, and what becomes of it."""

    def __init__(self, judge: Judge, line: Line, submission: Submission, past: Past | None, engine: str | None) -> None:
        state = line.state
        self.past = past
        self.was_overtaken = any(submission.number < number for number in line.ahead)
        self.engine = engine or judge.rules.engine_of(state)
        self.submission = submission
        self.state = state
        self.facts: tuple[Any, ...] = ()
        self.refusal: Refusal | None = None
        self.secret = True  # what nobody can read might be a mistyped secret
        self.kind = "unreadable"
        player = judge.rules.seats(state).get(submission.seat) if submission.seat is not None else None
        self.author = () if player is None else (player,)
        try:
            command = judge.codec.command(bytes(submission.command), submission.v)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            self.refusal = Refusal("unreadable", unknown=True, detail=str(error))
            return
        self.kind = str(getattr(type(command), "__struct_config__").tag)  # noqa: B009 - commands are Any here
        self._decide(judge, command)

    def _decide(self, judge: Judge, command: Any) -> None:
        try:
            self.secret = judge.rules.is_secret(self.state, command)
            self._check_seat(judge.rules.player_of(command))
            self._check_engine(judge.rules.pinned(self.state), command)
            if self.was_overtaken and isinstance(command, PassDeadline):
                raise Refusal("game-waited-for-its-engine")  # nobody could be heard while it ran out
            ruling = judge.rules.decide(self.state, command, self.past, _spelled(self.submission.at))
        except Refusal as refusal:
            self.refusal = refusal
        else:
            self.facts, self.state = ruling.facts, ruling.state

    def _check_seat(self, player: str | None) -> None:
        """A seat speaks for its own player only; the arbiter and the system may speak for anybody."""
        cause, seat = self.submission.cause, self.submission.seat
        if seat is None and cause != "command":
            return
        if player is None or (player,) != self.author:
            raise Refusal("not-your-seat", seat=seat, player=player)

    def _check_engine(self, pinned: str, command: Any) -> None:
        """A game is ruled by the engine that was agreed, until it is amended to the one that runs."""
        if isinstance(command, Amend):
            if command.engine != self.engine:
                raise Refusal("unknown-engine", unknown=True, engine=command.engine, known=self.engine)
        elif pinned and pinned != self.engine:
            raise EngineLacking(pinned, self.engine)


def _spelled(at: str) -> str:
    """A time in the store's own spelling, so that rules compare times as text; empty for what is none."""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return ""
    return "" if moment.tzinfo is None else moment.astimezone(UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def _command(case: _Case, sealer: Sealer) -> bytes:
    """The command as it stands in the public part."""
    raw = UPCASTERS.lift("command", case.submission.v, bytes(case.submission.command))
    if not case.secret:
        return raw
    index, bound = sealer.seal("command", case.author, raw)
    return encode(SealedCommand(index, case.author, bound))


def _refused(case: _Case, refusal: Refusal, sealer: Sealer) -> Refused:
    """The verdict; of a secret command it says only that it was refused."""
    if case.submission.v >= BOUNDED_SINCE:
        refusal = briefly(refusal)
    verdict = Refused(refusal.code, refusal.rules, refusal.params)
    if not case.secret:
        return verdict
    index, _ = sealer.seal("verdict", case.author, encode(verdict))
    return Refused(SECRETLY, (), {}, index)


def _fact(fact: Any, sealer: Sealer) -> bytes:
    """A fact as it stands in the public part."""
    body = encode(fact)
    if fact.audience is None:
        return body
    index, bound = sealer.seal("fact", fact.audience, body)
    return encode(SealedFact(index, type(fact).__struct_config__.tag, fact.rules, tuple(fact.audience), bound))
