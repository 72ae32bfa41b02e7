"""The acts of an arbiter, as rulings like all others: their commands, appeals, and what they ask of a game.

Rewinds and corrections are carried out in :mod:`domain.kernel.rewinding`.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import msgspec

from domain.kernel.bounds import Prose, Text
from domain.kernel.commands import Command
from domain.kernel.decision import Answer
from domain.kernel.docket import (
    LOST,
    AppealFiled,
    AppealRuled,
    Docket,
    DueSet,
    EngineAmended,
    InDoubt,
    LossAccepted,
    Outcome,
    PrivilegeUsed,
    Read,
    SecretsRead,
    SecretsReadOpened,
)
from domain.kernel.facts import AnswerSealed, AnswerTaken, Awaiting, DraftKept, Fact
from domain.kernel.procedure import Procedure
from domain.kernel.refusal import Refusal
from domain.kernel.ruleset import Game, Ruleset, State

S = TypeVar("S", bound=State)


class AppealLimits(msgspec.Struct, frozen=True):
    """What a charter says of appeals, so that nobody halts a table about nothing.

    ``window`` counts rulings of the game that may have followed (0: any), ``open`` the appeals that one player may have
    open at once, ``lost`` those that may change nothing before his further ones hold nothing up.
    """

    window: int
    open: int
    lost: int


QUIET: tuple[type[Fact], ...] = (PrivilegeUsed, SecretsRead, DueSet, DraftKept, AnswerTaken, AnswerSealed)
"""Facts that change nothing which a plan rests on, as long as nobody else is awaited after them."""

OF_THE_DOCKET: tuple[type[Fact], ...] = (
    AppealFiled,
    AppealRuled,
    InDoubt,
    DueSet,
    EngineAmended,
    SecretsReadOpened,
    LossAccepted,
)
"""Facts that say something about the game, and leave it as it is."""

OPTIONS = "options"
"""What differs between two footprints of an answer that was chosen from something else."""


class Past(Protocol):
    """The record before the entry that is being made."""

    @property
    def version(self) -> int:
        """How many entries there are."""

    def state(self, entry: int) -> Any:
        """The state after an entry; after entry 0 it is blank."""

    def facts(self, entry: int) -> tuple[Fact, ...]:
        """The facts of an entry, sealed ones included."""


class Footprint(msgspec.Struct, frozen=True):
    """What an answer rests on: its options, and what was read when it was ruled on, each by name."""

    options: bytes
    reads: dict[str, Any]

    def differs(self, other: Footprint) -> tuple[str, ...]:
        """Names of what is not the same."""
        changed = [] if self.options == other.options else [OPTIONS]
        names = sorted({*self.reads, *other.reads})
        return (*changed, *(name for name in names if self.reads.get(name) != other.reads.get(name)))


class ArbitersRuleset(Ruleset[S], Protocol[S]):
    """What the acts of an arbiter need of a game besides its rules."""

    def restated(self, state: S, position: S, reason: str) -> tuple[Fact, ...]:
        """The facts that put a position, hidden parts included, in the place of the present state."""

    def redraw(self, game: Game[S], seed: str) -> None:
        """Put what is still to be drawn under a new seed and its commitment."""

    def must_redraw(self, state: S, position: S, opened: frozenset[str]) -> bool:
        """Whether everybody knows, or may know soon, the seed that an earlier position would draw from."""

    def stated_fact(self, raw: dict[str, Any]) -> Fact:
        """A fact that an arbiter states. Raises Refusal for what is not one."""

    def why_absent(self, game: Game[S], fact: Fact) -> str:
        """What a stated fact names that does not exist or is not there, in words; empty if all of it is."""

    def problems(self, state: S) -> tuple[str, ...]:
        """Invariants of the board that a position breaks, in words."""

    def replaced(self, before: S, after: S, now: S) -> tuple[str, ...]:
        """Names of what differs between two states and is not in a third one as it was in the first."""

    def follows(self, game: Game[S]) -> tuple[Procedure, ...]:
        """What follows at once from a corrected board, as procedures to be carried out first."""

    def footprint(self, state: S, answer: Answer, *, unseen: bool = False) -> Footprint:
        """What an answer would rest on in a state. Raises Refusal when it is not asked for there, or not legal.

        With ``unseen`` that of a secret answer never depends on what it says, not even on whether it is legal.
        """

    def occasion(self, state: S) -> int:
        """A number that grows as the game goes on. Answers are offered again on the same occasion only."""


class Act(Command, frozen=True, kw_only=True):
    """What an arbiter does. ``by`` is his name; ``plays`` his House, where he plays in the game himself."""

    by: str = ""
    plays: str = ""


class Rewind(Act, frozen=True, tag="rewind"):
    """Take the game back to the state after entry ``to``. ``correction`` states facts there; see :mod:`rewinding`.

    ``seed`` (32 bytes in hexadecimal) redraws everything not yet drawn. ``expected`` is the version that its plan
    was made for; once more has been ruled on, it is refused. A causal rewind offers the corrections of the entries
    ``corrections`` again, in their turn. ``unseen``: what becomes of secret answers depends on nothing that they say;
    it is absent in old records, where one was asked anew, or void, when it was no longer legal. ``present``: a fact
    that names what is not there is refused; it is absent in old records, where such facts were carried out.
    """

    to: int
    reason: Prose
    causal: bool = False
    correction: tuple[dict[str, Any], ...] = ()
    corrections: tuple[int, ...] = ()
    seed: str = ""
    appeal: int | None = None
    opinion: Prose = ""
    expected: int | None = None
    unseen: bool = False
    present: bool = False


class Correct(Act, frozen=True, tag="correct"):
    """State facts on the present position, with a reason.

    ``instead_of`` are entries whose corrections could not be made again: what is stated, if anything, replaces them.
    ``unseen`` and ``present`` as for rewinds.
    """

    facts: tuple[dict[str, Any], ...]
    reason: Prose
    instead_of: tuple[int, ...] = ()
    appeal: int | None = None
    opinion: Prose = ""
    expected: int | None = None
    unseen: bool = False
    present: bool = False


class FileAppeal(Command, frozen=True, tag="appeal"):
    """A player appeals against the ruling of an entry."""

    house: str
    against: int
    statement: Prose


class RuleOnAppeal(Act, frozen=True, tag="rule-on-appeal"):
    """An opinion without taking anything back; rewinds and corrections name their appeal themselves.

    To dismiss an appeal is the organiser's, too: it ends what was filed in bad faith, and the arbiter may still act.
    """

    appeal: int
    outcome: Outcome
    opinion: Prose


class Amend(Act, frozen=True, tag="amend"):
    """Move a running game to another version of the rules engine."""

    engine: str
    reason: Prose


class ReadSecrets(Command, frozen=True, tag="read-secrets"):
    """Somebody reads what his seat may not see, and says why; the server sends this before it shows anything."""

    who: str
    what: Text
    why: Prose


class AcceptLoss(Command, frozen=True, tag="accept-loss"):
    """The operator goes on with a game whose store has lost a part of it; see :class:`LossAccepted`."""

    who: str
    why: str
    submissions: int
    entries: int
    digest: str
    left_submissions: int
    left_entries: int


def changes(past: Past, entry: int) -> bool:
    """Whether an entry changed anything that a plan of an arbiter rests on.

    Refused entries and reads of secrets change nothing, nor does a draft, or who replaces his sealed answer: what
    becomes of it depends on nothing that it says. So nobody can keep a plan from being applied by sending such entries.
    """
    facts = [fact for fact in past.facts(entry) if not isinstance(fact, QUIET)]
    if not facts:
        return False
    now, *others = facts
    if others or not isinstance(now, Awaiting):
        return True
    before = past.state(entry - 1)
    return (now.frames, now.question, now.awaited) != (before.frames, before.question, before.awaited)


def is_of_play(past: Past, entry: int) -> bool:
    """Whether an entry changed something of the game itself: an answer, a deadline, a rewind, a correction."""
    return changes(past, entry) and not all(isinstance(fact, OF_THE_DOCKET) for fact in past.facts(entry))


def is_out_of_date(expected: int, past: Past) -> bool:
    """Whether something has changed since a version."""
    if expected > past.version or expected < 0:
        return True
    return any(changes(past, entry) for entry in range(expected + 1, past.version + 1))


def check_version(expected: int | None, past: Past) -> None:
    """Whoever was quicker, an arbiter or a player, has changed what this act was planned for."""
    if expected is not None and is_out_of_date(expected, past):
        raise Refusal("plan-out-of-date", expected=expected, version=past.version)


def file_appeal(game: Game[S], command: FileAppeal, past: Past, limits: AppealLimits) -> None:
    """A player appeals within the limits of the charter."""
    if not 1 <= command.against <= past.version:
        raise Refusal("no-such-entry", unknown=True, entry=command.against, last=past.version)
    if limits.window and _is_over(command.against, past, limits.window):
        raise Refusal("too-late-to-appeal", entry=command.against, window=limits.window)
    if not command.statement.strip():
        raise Refusal("statement-missing")
    docket = game.state.docket
    _check_earlier(docket, command, limits.open)
    stops = docket.lost_by(command.house) < limits.lost
    number = len(docket.appeals) + 1
    game.emit(
        AppealFiled(
            number=number, against=command.against, player=command.house, statement=command.statement, stops=stops
        )
    )


def _is_over(against: int, past: Past, window: int) -> bool:
    followed = 0
    for entry in range(past.version, against, -1):
        followed += is_of_play(past, entry)
        if followed >= window:
            return True
    return False


def _check_earlier(docket: Docket, command: FileAppeal, most: int) -> None:
    """Nobody disputes the same twice, or everything at once."""
    own = [appeal for appeal in docket.appeals if appeal.player == command.house]
    for appeal in own:
        if appeal.against == command.against and appeal.outcome is None:
            raise Refusal("appealed-already", entry=command.against, appeal=appeal.number)
        if appeal.against == command.against and appeal.outcome in LOST:
            raise Refusal("appeal-settled", entry=command.against, appeal=appeal.number, outcome=appeal.outcome)
    still = [appeal.number for appeal in own if appeal.outcome is None]
    if len(still) >= most:
        raise Refusal("too-many-appeals", appeals=still, most=most)


def rule_on_appeal(game: Game[S], command: RuleOnAppeal) -> None:
    """Decline an appeal, uphold the ruling, or dismiss what was filed in bad faith, with an opinion."""
    if not command.opinion.strip():
        raise Refusal("opinion-missing")
    if command.outcome not in LOST:
        raise Refusal("rewinds-and-corrections-name-their-appeal", outcome=command.outcome)
    close_appeal(game, command.appeal, command.outcome, command.opinion)


def read_secrets(game: Game[S], command: ReadSecrets, past_version: int, *, sealed: bool) -> None:
    """Write down a read by privilege; with ``sealed`` nobody reads more of it than that, until the game ends."""
    if not command.why.strip():
        raise Refusal("why-missing")
    game.emit(PrivilegeUsed(entry=past_version + 1, sealed=sealed))
    game.emit(SecretsRead(who=command.who, what=command.what, why=command.why, sealed=sealed))


def open_reads(game: Game[S], past: Past) -> None:
    """The game has ended: tell everybody who had read its secrets."""
    reads = tuple(
        Read(entry, fact.who, fact.what, fact.why)
        for entry in game.state.docket.reads
        for fact in past.facts(entry)
        if isinstance(fact, SecretsRead)
    )
    game.emit(SecretsReadOpened(reads=reads))


def accept_loss(game: Game[S], command: AcceptLoss) -> None:
    """Write down what the store lost, and that the game goes on without it."""
    if not command.why.strip():
        raise Refusal("why-missing")
    game.emit(LossAccepted(**msgspec.structs.asdict(command)))


def close_appeal(game: Game[S], number: int | None, outcome: Outcome, opinion: str) -> None:
    if number is None:
        return
    if number not in [appeal.number for appeal in game.state.docket.open_appeals]:
        raise Refusal("no-such-appeal", unknown=True, appeal=number)
    game.emit(AppealRuled(number=number, outcome=outcome, opinion=opinion))


def amend(game: Game[S], command: Amend) -> None:
    """Move the game to another engine; that it is the one that rules is checked where rulings are made."""
    game.emit(EngineAmended(engine=command.engine, reason=command.reason))
