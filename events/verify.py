"""Verification: replay a game from its first entry and rule again on every command.

The chain shows that nobody touched the bytes since they were written. Ruling again shows that the bytes are
right, whoever wrote them: a forged fact is found even when the whole chain was computed anew.

Only the version of the engine that ruled on an entry can rule on it again. Of what others have ruled, the chain, the
submissions, the digests and the positions are checked, and the report says where that is so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from domain.kernel.docket import Origin
from events import codec, inspection, notes
from events.chain import Chain, is_bound
from events.envelope import Entry, Part, Stored, Submission, encode, number_of
from events.errors import FileDamaged, RecordDamaged, RecordError
from events.export import Claims, EntryLine, Header, SubmissionLine, parse
from events.past import Record
from events.ruling import Judge, Line
from events.store import Store
from events.upcasters import UPCASTERS


class Disagreement(msgspec.Struct, frozen=True):
    """The first place where record and rules part. ``seq`` is the entry; 0 when it is no entry.

    ``place`` says then what it is, where it is not a line of the file.
    """

    seq: int
    what: str
    detail: str
    place: str = "file"

    def __str__(self) -> str:
        return f"{f'entry {self.seq}' if self.seq else self.place}: {self.what}: {self.detail}"


class Report(msgspec.Struct, frozen=True):
    """What a verification found. ``entries`` and ``facts`` count what was confirmed; ``origin`` is that of a fork.

    ``elsewhere`` are the entries that another version of the engine has ruled on: their bytes, digests and positions
    hold, but whether they were ruled rightly only that version can tell.
    """

    entries: int
    facts: int
    head: str
    engines: tuple[str, ...]
    disagreement: Disagreement | None
    origin: Origin | None = None
    elsewhere: tuple[Elsewhere, ...] = ()

    @property
    def is_confirmed(self) -> bool:
        return self.disagreement is None


class Elsewhere(msgspec.Struct, frozen=True):
    """Entries in a row that were ruled by another version of the engine, and were not adjudicated again."""

    first: int
    last: int
    engine: str

    def __str__(self) -> str:
        if self.first == self.last:
            return (
                f"entry {self.first} was ruled by {self.engine} and was not adjudicated again here; "
                "verify it with that version"
            )
        return (
            f"entries {self.first}–{self.last} were ruled by {self.engine} and were not adjudicated again here; "
            "verify them with that version"
        )


class _Disagrees(Exception):
    def __init__(self, seq: int, what: str, detail: str) -> None:
        super().__init__(what)
        self.found = Disagreement(seq, what, detail)


Progress = Callable[[int], None]
"""Called after every entry with its number."""


class Verifier:
    """Takes the entries of one game in order. ``inbox``, if given, is what was submitted, by number."""

    def __init__(self, judge: Judge, inbox: Mapping[int, Submission] | None = None) -> None:
        self.judge = judge
        self.inbox = inbox
        self.chain = Chain()
        self.line: Line = judge.begin()
        self.pepper = b""
        self.facts = 0
        self.kept: list[Stored] = []
        self.past = Record(judge, lambda after, upto: iter(self.kept[after:upto]))
        self.engines: set[str] = set()
        self.schema = 0
        self.elsewhere: list[Elsewhere] = []

    def add(self, stored: Stored) -> None:
        """Check the next entry; raises when it disagrees."""
        seq = self.chain.version + 1
        entry = self.chain.add(stored)
        if seq == 1:
            self.pepper = codec.raw_pepper(stored, entry) or b""
        raw = codec.raw_command(stored, entry)
        if not self.pepper or raw is None:
            raise _Disagrees(seq, "sealed parts", "they are closed; of a redacted record only the chain can be checked")
        if entry.v < self.schema:
            raise _Disagrees(seq, "schema", f"it is written in schema {entry.v}, and the one before in {self.schema}")
        self.schema = entry.v
        self._check_inbox(entry, raw, stored)
        if self._is_ours(entry, raw, stored):
            self._compare(seq, entry, stored, self._ruled_again(entry, raw, stored))
            self.line = self._folded(seq, entry, stored)
        else:
            self.line = self._folded(seq, entry, stored)
            self._check_engine(entry, raw)
            self._note_elsewhere(entry)
        self.kept.append(stored)
        self.facts += len(entry.facts)
        self.engines.add(entry.engine)

    def _is_ours(self, entry: Entry, raw: bytes, stored: Stored) -> bool:
        """Whether the engine that ruled is the one of this code for the game.

        Before a game is agreed on, the engine as a whole signs refusals, and what the game is moved to its beginning.
        """
        rules = self.judge.rules
        if entry.engine == rules.engine_of(self.line.state):
            return True
        if rules.pinned(self.line.state):
            return False
        # The engine of the game that an entry claims to have begun: whether it may begin so is what ruling again tells.
        if entry.facts and entry.engine == rules.engine_of(self.judge.evolve(self.line, stored, entry).state):
            return True
        try:
            return codec.entry(self._ruled_again(entry, raw, stored, as_ours=True)).engine == entry.engine
        except _Disagrees:
            return False

    def _check_inbox(self, entry: Entry, raw: bytes, stored: Stored) -> None:
        """The entry answers the submission that it names, and binds it; submissions are answered in order.

        Out of turn goes only an act that moves the game to the engine that ruled on it.
        """
        part = codec.submission_part(stored, entry)
        if (part is None) != (entry.v == 1):
            raise _Disagrees(entry.seq, "schema", f"an entry of schema {entry.v} {_binds(part)} its submission")
        number = number_of(entry.inbox)
        if number != self.line.taken + 1 and not self._goes_ahead(entry, raw, number):
            raise _Disagrees(entry.seq, "inbox", f"it answers {entry.inbox} after number {self.line.taken}")
        if self.inbox is None:
            return
        found = self.inbox.get(number_of(entry.inbox))
        if found is None:
            raise _Disagrees(entry.seq, "inbox", self._missing(entry))
        difference = _difference(entry, raw, found, part)
        if difference is not None:
            raise _Disagrees(entry.seq, *difference)

    def _goes_ahead(self, entry: Entry, raw: bytes, number: int) -> bool:
        if number <= self.line.taken or number in self.line.ahead:
            return False
        return may_go_ahead(entry, raw, self.judge.rules.pinned(self.line.state))

    def _missing(self, entry: Entry) -> str:
        assert self.inbox is not None, "it was looked into"
        if self.inbox:
            return f"submission {entry.inbox}, which it answers, is missing; the others are {_spans(self.inbox)}"
        return "all submissions are missing: a whole record has, before its entries, what each of them answers"

    def _check_engine(self, entry: Entry, raw: bytes) -> None:
        """Only the engine that was agreed rules; so no forger calls another one as his witness, for a refusal either.

        Another one rules on nothing but the act that moves the game to it, and may have refused that.
        """
        pinned = self.judge.rules.pinned(self.line.state)
        if pinned in ("", entry.engine) or (entry.v == 1 and not entry.facts):
            return  # what was before schema 2 refused letters under any engine
        if entry.facts or not may_go_ahead(entry, raw, pinned):
            detail = f"it was ruled by {entry.engine}, and the game is to be ruled by {pinned}"
            raise _Disagrees(entry.seq, "engine", detail)

    def _note_elsewhere(self, entry: Entry) -> None:
        last = self.elsewhere[-1] if self.elsewhere else None
        if last is not None and (last.engine, last.last + 1) == (entry.engine, entry.seq):
            self.elsewhere[-1] = msgspec.structs.replace(last, last=entry.seq)
        else:
            self.elsewhere.append(Elsewhere(entry.seq, entry.seq, entry.engine))

    def _ruled_again(self, entry: Entry, raw: bytes, stored: Stored, *, as_ours: bool = False) -> Stored:
        """What the rules make of it. Where the submission is at hand it is bound anew, else as it is on the record."""
        part = codec.submission_part(stored, entry)
        found = None if self.inbox is None else self.inbox.get(number_of(entry.inbox))
        submission = Submission(
            v=entry.v if found is None else found.v,
            at=entry.at,
            cause=entry.cause,
            seat=entry.seat,
            key="",
            seen=entry.seen,
            causation=entry.causation,
            correlation=entry.correlation,
            command=msgspec.Raw(raw) if found is None else found.command,
            inbox=entry.inbox,
            raw=b"" if found is None else codec.write_submission(found),
        )
        try:
            self.past.version = self.line.version
            engine = None if as_ours or not self.judge.rules.pinned(self.line.state) else entry.engine
            return self.judge.rule(
                self.line,
                submission,
                self.pepper,
                engine,
                self.past,
                v=entry.v,
                bound=part if found is None else None,
            )[0]
        except Exception as error:
            raise _Disagrees(entry.seq, "ruling", f"the rules fail on its command ({type(error).__name__})") from error

    def _compare(self, seq: int, entry: Entry, stored: Stored, ruled: Stored) -> None:
        """Byte for byte; what an older schema wrote is lifted first, and its digests cannot be made again."""
        again = codec.entry(ruled)
        pairs: list[tuple[str, Any, Any]] = [("verdict", again.verdict, entry.verdict)]
        ours, theirs = self._facts(ruled, again), self._facts(stored, entry)
        for index in range(max(len(ours), len(theirs))):
            pairs.append((f"fact {index}", _at(ours, index), _at(theirs, index)))
        if UPCASTERS.is_as_today(entry.v):
            for index in range(max(len(ruled.sealed), len(stored.sealed))):
                pairs.append((f"sealed part {index}", _at(ruled.sealed, index), _at(stored.sealed, index)))
            pairs.append(("public state", again.state.public, entry.state.public))
            pairs.append(("hidden state", again.state.hidden, entry.state.hidden))
            pairs.append(("entry", ruled.public, stored.public))
        for what, expected, found in pairs:
            if expected != found:
                raise _Disagrees(seq, what, f"the rules give {_text(expected)}, the record has {_text(found)}")

    def _facts(self, stored: Stored, entry: Entry) -> list[bytes]:
        """Each fact as it reads today, sealed ones opened."""
        found = []
        for raw in map(bytes, entry.facts):
            placeholder = codec.sealed_fact(raw)
            body = raw if placeholder is None else bytes(stored.sealed[placeholder.sealed].body)
            found.append(body if UPCASTERS.is_as_today(entry.v) else encode(self.judge.codec.fact(body, entry.v)))
        return found

    def _folded(self, seq: int, entry: Entry, stored: Stored) -> Line:
        """The facts alone lead to the recorded state."""
        line = self.judge.evolve(self.line, stored)
        if (
            UPCASTERS.is_as_today(entry.v)
            and self.judge.digest_of(line.state, self.pepper, entry.prev, seq) != entry.state
        ):
            raise _Disagrees(seq, "state", "its facts lead to another position")
        return line

    def report(self, disagreement: Disagreement | None = None) -> Report:
        return Report(
            entries=self.line.version,
            facts=self.facts,
            head=self.line.head,
            engines=tuple(sorted(self.engines)),
            disagreement=disagreement,
            origin=codec.origin_of(self.kept[0]) if self.kept else None,
            elsewhere=tuple(self.elsewhere),
        )


def may_go_ahead(entry: Entry, raw: bytes | None, pinned: str = "") -> bool:
    """Whether an entry may answer its submission out of turn: it moves the game to the engine that ruled on it."""
    if raw is None or entry.seat is not None or entry.cause == "command" or entry.engine == pinned:
        return False
    try:
        command = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return isinstance(command, dict) and command.get("kind") == "amend" and command.get("engine") == entry.engine


def _spans(numbers: Iterable[int]) -> str:
    """Numbers as a reader wants them: 1 to 4, 7."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(str(first) if first == last else f"{first} to {last}" for first, last in spans)


def _binds(part: Part | None) -> str:
    return "does not bind" if part is None else "binds"


def _difference(entry: Entry, raw: bytes | None, found: Submission, part: Part | None) -> tuple[str, str] | None:
    """What an entry says otherwise than the submission that it answers; ``raw`` is None where it is sealed."""
    if found.v > entry.v:
        return "schema", f"submission {entry.inbox} is of schema {found.v}, and the entry of {entry.v}"
    if raw is not None and UPCASTERS.lift("command", found.v, bytes(found.command)) != raw:
        return "command", f"submission {entry.inbox} holds another command"
    for field in ("at", "cause", "seat", "seen", "causation", "correlation"):
        if getattr(found, field) != getattr(entry, field):
            return field, f"submission {entry.inbox} says {getattr(found, field)!r}"
    if part is not None and part.is_open and not is_bound(part, codec.write_submission(found)):
        return "submission", f"submission {entry.inbox} is not, byte for byte, the one that was ruled on"
    return None


def _at(items: Any, index: int) -> Any:
    return items[index] if index < len(items) else None


def _text(value: Any) -> str:
    if value is None:
        return "nothing"
    text = value if isinstance(value, str) else (value if isinstance(value, bytes) else encode(value)).decode()
    return text if len(text) <= 300 else text[:300] + "…"


def _run(verifier: Verifier, entries: Iterable[Stored], progress: Progress | None) -> Disagreement | None:
    try:
        for stored in entries:
            verifier.add(stored)
            if progress is not None:
                progress(verifier.line.version)
    except _Disagrees as disagrees:
        return disagrees.found
    except RecordDamaged as damage:
        return Disagreement(damage.seq, "record", damage.why)
    except FileDamaged as damage:
        return Disagreement(0, f"line {damage.line}", damage.why)
    except (RecordError, msgspec.MsgspecError, ValueError, IndexError) as error:
        return Disagreement(verifier.line.version + 1, "record", f"it cannot be read ({error})")
    return None


def verify(
    judge: Judge,
    entries: Iterable[Stored],
    *,
    inbox: Mapping[int, Submission] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Check entries from the first on; the report names the first that disagrees."""
    verifier = Verifier(judge, inbox)
    return verifier.report(_run(verifier, entries, progress))


def verify_store(
    store: Store, judge: Judge, game: str, progress: Progress | None = None, keys: Sequence[notes.Verifier] = ()
) -> Report:
    """Check a game in the store: its rulings, its inbox, and what lies beside; ``keys`` are those it signs with."""
    verifier = Verifier(judge, {})
    disagreement: Disagreement | None = None
    try:
        inspection.kinds(store, game)
        version = store.version(game)
        inbox = {one.number: one for one in inspection.inbox(store, game)}
        verifier.inbox = inbox
        disagreement = _run(verifier, inspection.ledger(store, game, version), progress)
        if disagreement is None and not verifier.kept and store.is_held(game):
            disagreement = Disagreement(1, "lost", "the store has lost the record from its beginning", "game")
        if disagreement is None:
            inspection.beside(store, judge, game, verifier.kept, verifier.line, inbox, keys)
    except inspection.Wrong as wrong:
        disagreement = Disagreement(wrong.seq, wrong.what, wrong.detail, wrong.place)
    except RecordDamaged as damage:
        disagreement = Disagreement(damage.seq, "record", damage.why, "game")
    if disagreement is not None:
        with suppress(RecordError):  # what is told here is the first that was found; what is damaged stops the game
            store.check(game)
    return verifier.report(disagreement)


def verify_export(judge: Judge, lines: Iterable[bytes], progress: Progress | None = None) -> Report:
    """Check a full export, offline."""
    inbox: dict[int, Submission] = {}
    verifier = Verifier(judge, inbox)
    claims: Claims | None = None

    def entries() -> Iterable[Stored]:
        nonlocal claims
        for line in parse(lines):
            if isinstance(line, SubmissionLine):
                inbox[number_of(line.inbox)] = line.read()
            elif isinstance(line, EntryLine):
                stored = line.stored()
                yield stored
                if claims is not None:
                    claims.add(codec.entry(stored), stored, inbox)
            elif isinstance(line, Header):
                claims = Claims(line)
                if line.rules != judge.rules.name:
                    raise FileDamaged(1, f"this is a game of {line.rules!r}, not of {judge.rules.name!r}")
        if claims is not None and claims.wrong:
            raise FileDamaged(1, claims.wrong)

    return verifier.report(_run(verifier, entries(), progress))


def verify_chain(lines: Iterable[bytes]) -> RecordError | None:
    """Check the chain of an export, redacted or not, and the submissions that it holds; the first damage, or None."""
    chain = Chain()
    inbox: dict[int, Submission] = {}
    claims: Claims | None = None
    turn = Line(None)
    try:
        for line in parse(lines):
            if isinstance(line, SubmissionLine):
                inbox[number_of(line.inbox)] = line.read()
            elif isinstance(line, EntryLine):
                stored = line.stored()
                entry = chain.add(stored)
                number = number_of(entry.inbox)
                raw = codec.raw_command(stored, entry)
                ahead = number > turn.taken and number not in turn.ahead and may_go_ahead(entry, raw)
                if number != turn.taken + 1 and not ahead:
                    why = f"it answers {entry.inbox}, and the one before it number {turn.taken}"
                    raise RecordDamaged(entry.seq, why)
                turn = turn.after(None, number, stored.digest)
                found = inbox.get(number)
                part = codec.submission_part(stored, entry)
                difference = None if found is None else _difference(entry, raw, found, part)
                if difference is not None:
                    raise RecordDamaged(entry.seq, f"{difference[0]}: {difference[1]}")
                if claims is not None:
                    claims.add(entry, stored, inbox)
            elif isinstance(line, Header):
                claims = Claims(line)
        if claims is not None and claims.wrong:
            raise FileDamaged(1, claims.wrong)
    except (RecordDamaged, FileDamaged) as damage:
        return damage
    except (RecordError, msgspec.MsgspecError, ValueError, IndexError) as error:
        return RecordDamaged(chain.version, f"it cannot be read ({error})")
    return None
