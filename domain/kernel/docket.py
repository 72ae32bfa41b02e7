"""The docket: what an arbiter has done to a game, and what is still to follow from it.

It is part of the state, folded from facts like everything else, but no rewind takes it back: a stated
position replaces the board and leaves the docket as it is.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import msgspec

from domain.kernel.bounds import Prose, Text
from domain.kernel.facts import NOBODY, Fact

Outcome = Literal["declined", "upheld", "dismissed", "corrected", "rewound"]
LOST: tuple[Outcome, ...] = ("declined", "upheld", "dismissed")
"""Outcomes of an appeal that has changed nothing."""


class Given(msgspec.Struct, frozen=True):
    """Where an answer stands on the record: the entry and the number of the fact that holds it, from 0."""

    entry: int
    fact: int


class Appeal(msgspec.Struct, frozen=True, omit_defaults=True):
    """An appeal of a player against the ruling of an entry. While it is open the game stands still.

    Where the charter says so, only what rests on a :class:`Doubt` does. One with ``stops`` unset holds nothing up: its
    player had lost as many appeals as the charter allows.
    """

    number: int
    against: int
    player: str
    statement: Prose
    outcome: Outcome | None = None
    opinion: Prose = ""
    stops: bool = True


class Doubt(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an open appeal leaves in doubt, where the charter lets all else go on: parts of the position, by name."""

    appeal: int = 0
    everything: bool = False
    names: tuple[Text, ...] = ()


class Origin(msgspec.Struct, frozen=True):
    """Where a fork comes from: the game, its version and the digest of that entry, and why it was made.

    ``hidden``: what was hidden there is the same here. Else it was drawn anew.
    """

    game: str
    version: int
    digest: str
    purpose: Text
    hidden: bool = False


class Read(msgspec.Struct, frozen=True):
    """Secrets were read by privilege: in which entry that is written down, by whom, what, and why."""

    entry: int
    who: str
    what: Text
    why: Prose


class Joint(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far a joint seed is: who may add to it, who has committed to a part, whose parts are open or withheld."""

    seats: tuple[str, ...]
    commitments: dict[str, str] = {}
    shares: dict[str, str] = {}
    withheld: tuple[str, ...] = ()
    closed: bool = False

    @property
    def done(self) -> bool:
        """Whether nothing is missing any more."""
        return self.closed and set(self.commitments) == {*self.shares, *self.withheld}


class Due(msgspec.Struct, frozen=True):
    """Until when a question may be answered: an instant that the service computed."""

    question: int
    at: str


class Struck(msgspec.Struct, frozen=True):
    """Entries that no longer count, and the rewind that struck them out."""

    first: int
    last: int
    by: int


class Docket(msgspec.Struct, frozen=True, omit_defaults=True):
    """``struck`` are ranges of entries taken back, ``pending`` answers of them still to be offered again.

    ``undecided`` are corrections of them that could not be made again: the arbiter has to decide.
    At the present ``question`` the players ``anew`` are asked anew, and answers of those in ``again`` have been kept;
    nothing more is offered for them there.
    ``reads`` are the entries whose record of a read of secrets is still sealed. ``shared``: the game has ended and its
    shared seed waits for other tables, or is open. ``unseen``: of the last rewind. ``due`` counts while its question is
    open.
    """

    struck: tuple[tuple[int, int], ...] = ()
    pending: tuple[Given, ...] = ()
    undecided: tuple[Given, ...] = ()
    anew: tuple[str, ...] = ()
    again: tuple[str, ...] = ()
    question: int = 0
    appeals: tuple[Appeal, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    engine: str = ""
    origin: Origin | None = None
    reads: tuple[int, ...] = ()
    joint: Joint | None = None
    shared: Literal["", "awaited", "open"] = ""
    unseen: bool = False
    due: Due | None = None

    @property
    def open_appeals(self) -> tuple[Appeal, ...]:
        return tuple(appeal for appeal in self.appeals if appeal.outcome is None)

    @property
    def stopping_appeals(self) -> tuple[Appeal, ...]:
        """The open appeals that hold the game up."""
        return tuple(appeal for appeal in self.open_appeals if appeal.stops)

    def lost_by(self, player: str) -> int:
        """How many appeals of a player have changed nothing."""
        return sum(appeal.player == player and appeal.outcome in LOST for appeal in self.appeals)

    @property
    def struck_now(self) -> tuple[Struck, ...]:
        """What is struck out at present."""
        return self.struck_out(self.struck[-1][1] + 1) if self.struck else ()

    def struck_out(self, version: int) -> tuple[Struck, ...]:
        """What is struck out of the first ``version`` entries, in order.

        A rewind stands right behind the entries it takes back. One that is taken back itself counts no longer.
        """
        line = (0, *self.line_to(version))
        return tuple(Struck(before + 1, entry - 1, entry) for before, entry in pairwise(line) if before < entry - 1)

    def line_to(self, version: int) -> tuple[int, ...]:
        """The entries that lead to a version: what rewinds have struck out is left out, the rewinds are not."""
        back = {last + 1: first - 1 for first, last in self.struck}
        found = []
        entry = version
        while entry > 0:
            found.append(entry)
            entry = back.get(entry, entry - 1)
        return tuple(reversed(found))


class Rewound(Fact, frozen=True, tag=True):
    """The game stands again as after entry ``to``; entries ``first`` to ``last`` are struck out, not removed.

    ``unseen``: what becomes of ``pending`` secret answers depends on nothing that they say.
    """

    to: int
    first: int
    last: int
    reason: str
    redrawn: bool = False
    pending: tuple[Given, ...] = ()
    unseen: bool = False


class Corrected(Fact, frozen=True, tag=True):
    """The arbiter states the facts that follow; ``count`` of them."""

    reason: str
    count: int


class AnswerOffered(Fact, frozen=True, tag=True):
    """A struck-out answer came up again: ``kept`` when nothing it rests on has changed, else its player is asked anew.

    ``differs`` names what has changed, in words that betray no secret. ``question`` is 0 for drafts, and for answers
    whose question has not come up at its time.
    """

    given: Given
    player: str
    kind: str
    question: int
    kept: bool
    differs: tuple[str, ...] = ()


class CorrectionOffered(Fact, frozen=True, tag=True):
    """A struck-out correction came up again: ``made`` again by the facts that follow, else the arbiter has to decide.

    ``given`` is where it was made first, ``differs`` names what no longer stands as it did.
    """

    given: Given
    made: bool
    differs: tuple[str, ...] = ()


class CorrectionDecided(Fact, frozen=True, tag=True):
    """The arbiter has decided about a correction that could not be made again."""

    given: Given


class AnswerVoided(Fact, frozen=True, tag=True):
    """What a sealed answer was chosen from is not the same after a correction: it leaves its envelope unopened.

    Whether it is depends on nothing that the answer says. ``draft``: it was a draft.
    """

    player: str
    kind: str
    draft: bool = False


class AppealFiled(Fact, frozen=True, tag=True):
    """A player has appealed. ``stops``: the game waits for the arbiter."""

    number: int
    against: int
    player: str
    statement: str
    stops: bool = True


class AppealRuled(Fact, frozen=True, tag=True):
    number: int
    outcome: Outcome
    opinion: str


class InDoubt(Fact, frozen=True, tag=True):
    """What an open appeal leaves in doubt from here on."""

    doubt: Doubt


class EngineAmended(Fact, frozen=True, tag=True):
    """From the next entry on the game is ruled by another version of the rules engine."""

    engine: str
    reason: str


class DueSet(Fact, frozen=True, tag=True):
    """Until when the open question may be answered; without ``due`` there is no such instant any more."""

    question: int
    due: str = ""


class PrivilegeUsed(Fact, frozen=True, tag=True):
    """Somebody has read what his seat may not see. Who, what and why follows; ``sealed`` until the game ends."""

    entry: int
    sealed: bool = False


class SecretsRead(Fact, frozen=True, tag=True):
    """Who has read secrets by privilege, what, and why."""

    who: str
    what: str
    why: str
    sealed: bool = False

    @property
    def audience(self) -> tuple[str, ...] | None:
        return NOBODY if self.sealed else None


class SecretsReadOpened(Fact, frozen=True, tag=True):
    """The game has ended: everybody learns who had read its secrets."""

    reads: tuple[Read, ...]


class LossAccepted(Fact, frozen=True, tag=True):
    """The server's store lost a part of this game that it had acknowledged, and the game goes on without it.

    Known to have been there: submissions up to ``submissions`` and entries up to ``entries``, the last of them with
    this ``digest``. What is left: submissions up to ``left_submissions`` and entries up to ``left_entries``. Digests of
    submissions are left out: a bid is guessed from one. Their authors have them, in their receipts.
    """

    who: str
    why: str
    submissions: int
    entries: int
    digest: str
    left_submissions: int
    left_entries: int


class GameNamed(Fact, frozen=True, tag=True):
    """The id by which this game was created, in its first entry: whoever has its record under another one sees that."""

    game: str


class Forked(Fact, frozen=True, tag=True):
    """This game is a fork and says so in its first entry."""

    origin: Origin


class SharesWanted(Fact, frozen=True, tag=True):
    """Server and seats make the seed together; until they have, the game does not begin."""

    seats: tuple[str, ...]


class ShareCommitted(Fact, frozen=True, tag=True):
    """A seat has bound itself to its part of the seed."""

    seat: str
    commitment: str


class SharesClosed(Fact, frozen=True, tag=True):
    """Nobody binds himself any more; those who did now open their parts."""


class ShareOpened(Fact, frozen=True, tag=True):
    """A seat's part of the seed."""

    seat: str
    share: str


class ShareWithheld(Fact, frozen=True, tag=True):
    """A seat has not opened the part that it was bound to; the seed is made without it."""

    seat: str


class SharedSeedAwaited(Fact, frozen=True, tag=True):
    """This table has ended; the seed that it shares stays sealed until the last table has."""

    shared: str


def _joint(joint: Joint, fact: Fact) -> Joint:
    change = msgspec.structs.replace
    match fact:
        case ShareCommitted():
            return change(joint, commitments={**joint.commitments, fact.seat: fact.commitment})
        case SharesClosed():
            return change(joint, closed=True)
        case ShareOpened():
            return change(joint, shares={**joint.shares, fact.seat: fact.share})
        case ShareWithheld():
            return change(joint, withheld=(*joint.withheld, fact.seat))
        case _:
            return joint


def _offered(docket: Docket, fact: AnswerOffered) -> Docket:
    left = tuple(one for one in docket.pending if one != fact.given)
    if not fact.question:
        return msgspec.structs.replace(docket, pending=left)
    same = fact.question == docket.question
    anew, again = (docket.anew, docket.again) if same else ((), ())
    if fact.kept:
        again = (*again, fact.player)
    else:
        anew = (*anew, fact.player)
    return msgspec.structs.replace(docket, pending=left, anew=anew, again=again, question=fact.question)


def _rewound(docket: Docket, fact: Rewound) -> Docket:
    undecided = tuple(one for one in docket.undecided if one not in fact.pending)
    struck = (*docket.struck, (fact.first, fact.last))
    return msgspec.structs.replace(docket, struck=struck, pending=fact.pending, undecided=undecided, unseen=fact.unseen)


def _correction_offered(docket: Docket, fact: CorrectionOffered) -> Docket:
    left = tuple(one for one in docket.pending if one != fact.given)
    undecided = docket.undecided if fact.made else (*docket.undecided, fact.given)
    return msgspec.structs.replace(docket, pending=left, undecided=undecided)


def evolve_docket(docket: Docket, fact: Fact) -> Docket:
    """The docket after a fact of this module."""
    change = msgspec.structs.replace
    match fact:
        case Rewound():
            return _rewound(docket, fact)
        case CorrectionOffered():
            return _correction_offered(docket, fact)
        case CorrectionDecided():
            return change(docket, undecided=tuple(one for one in docket.undecided if one != fact.given))
        case AnswerOffered():
            return _offered(docket, fact)
        case AppealFiled():
            filed = Appeal(fact.number, fact.against, fact.player, fact.statement, stops=fact.stops)
            return change(docket, appeals=(*docket.appeals, filed))
        case AppealRuled():
            ruled = tuple(
                change(one, outcome=fact.outcome, opinion=fact.opinion) if one.number == fact.number else one
                for one in docket.appeals
            )
            return change(
                docket, appeals=ruled, doubts=tuple(one for one in docket.doubts if one.appeal != fact.number)
            )
        case InDoubt():
            others = (one for one in docket.doubts if one.appeal != fact.doubt.appeal)
            return change(docket, doubts=tuple(sorted((*others, fact.doubt), key=lambda one: one.appeal)))
        case EngineAmended():
            return change(docket, engine=fact.engine)
        case DueSet():
            return change(docket, due=Due(fact.question, fact.due) if fact.due else None)
        case PrivilegeUsed():
            return change(docket, reads=(*docket.reads, fact.entry)) if fact.sealed else docket
        case SecretsReadOpened():
            return change(docket, reads=())
        case Forked():
            return change(docket, origin=fact.origin)
        case SharedSeedAwaited():
            return change(docket, shared="awaited")
        case SharesWanted():
            return change(docket, joint=Joint(fact.seats))
        case ShareCommitted() | SharesClosed() | ShareOpened() | ShareWithheld() if docket.joint is not None:
            return change(docket, joint=_joint(docket.joint, fact))
        case _:
            return docket


DOCKET_FACTS: tuple[type[Fact], ...] = (
    Rewound,
    Corrected,
    AnswerOffered,
    CorrectionOffered,
    CorrectionDecided,
    AnswerVoided,
    AppealFiled,
    AppealRuled,
    InDoubt,
    EngineAmended,
    DueSet,
    PrivilegeUsed,
    SecretsRead,
    SecretsReadOpened,
    LossAccepted,
    Forked,
    SharesWanted,
    ShareCommitted,
    SharesClosed,
    ShareOpened,
    ShareWithheld,
    SharedSeedAwaited,
)
