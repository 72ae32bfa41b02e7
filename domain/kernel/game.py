"""A game as the record, the worker and the interface know it, with all of it that no game does in its own way.

A game says how a table begins, which questions and answers it has, and what its facts change. Here is the rest: an
arbiter takes rulings back and corrects them, open appeals hold the table up, struck-out answers are offered again,
seats make a seed together or share one with other tables, a game stays with its engine.
"""

from __future__ import annotations

import re
from typing import Any, Protocol, TypeVar

import msgspec

from domain.kernel.agreed import Arbitration
from domain.kernel.arbiter import (
    AcceptLoss,
    Act,
    Amend,
    AppealLimits,
    ArbitersRuleset,
    FileAppeal,
    Footprint,
    Past,
    ReadSecrets,
    RuleOnAppeal,
    accept_loss,
    amend,
    file_appeal,
    open_reads,
    read_secrets,
    rule_on_appeal,
)
from domain.kernel.arbiter import Correct as Correct
from domain.kernel.arbiter import Rewind as Rewind
from domain.kernel.chance import commitment
from domain.kernel.commands import Command, PassDeadline, SetDue, StateDraws
from domain.kernel.decision import Answer, Decision
from domain.kernel.docket import Docket, Doubt, DueSet, Forked, GameNamed, InDoubt, SharesWanted
from domain.kernel.facts import Answered, AnswerSealed, AnswerTaken, Fact, SeedCommitted
from domain.kernel.joint import CloseShares, CommitShare, OpenShare, joint_seed, take_share
from domain.kernel.position import redacted
from domain.kernel.procedure import Procedure
from domain.kernel.refusal import Refusal
from domain.kernel.rewinding import correct, offer, rewind
from domain.kernel.ruleset import (
    Game,
    Ruling,
    State,
    begin,
    miss_deadline,
    open_decisions,
    resume,
    rule_on,
    state_draws,
)
from domain.kernel.shared import OpenSharedSeed, SharedSeed, Stage, open_shared_seed

ACTS = (Rewind, Correct, FileAppeal, RuleOnAppeal, Amend, ReadSecrets, AcceptLoss)
"""Commands of the arbiter, and the appeal that brings a matter before him."""

SHARES = (CommitShare, OpenShare, CloseShares)
"""Commands by which server and seats make the seed together, before the game begins."""

COMMANDS = (PassDeadline, SetDue, StateDraws, *SHARES, *ACTS, OpenSharedSeed)
"""The commands that every game takes, besides its answers and those that begin it."""

_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")
"""An instant as the store writes it. All have one length, so that they are compared as text."""

MOST_STATED = 1_000
"""How many shuffles may be stated ahead: whole games from outside state some dozen."""


_encode = msgspec.json.Encoder(order="deterministic").encode


class Agreed(Protocol):
    """What the charter of every game says. ``edition`` is empty before a game has begun."""

    @property
    def edition(self) -> str: ...
    @property
    def engine(self) -> str: ...
    @property
    def chance(self) -> str: ...
    @property
    def seats(self) -> dict[str, str]: ...
    @property
    def arbitration(self) -> Arbitration: ...
    @property
    def shared_seed(self) -> SharedSeed | None: ...


class Position(State, Protocol):
    """What is read here of a game's state. ``seeds`` are all that were drawn from, the present one last."""

    @property
    def charter(self) -> Any: ...
    @property
    def hidden(self) -> Any: ...
    @property
    def seeds(self) -> tuple[str, ...]: ...
    @property
    def shared_stage(self) -> Stage | None: ...


P = TypeVar("P", bound=Position)


class Held(msgspec.Struct, frozen=True, omit_defaults=True):
    """A decision waits for an appeal: what it rests on that is in doubt. No names: nothing is told apart."""

    appeal: int
    names: tuple[str, ...] = ()


class Table(ArbitersRuleset[P], Protocol[P]):
    """The rules that one table plays by. A game that tells nothing apart leaves a table to stand still as a whole.

    ``statable`` is the union of facts that an arbiter may state. Two types of facts are the game's own: that a position
    was stated (``position``, ``reason``), and its hidden part (``hidden``).
    """

    statable: Any
    position_stated: Any
    hidden_stated: Any

    def root(self, command: Any) -> Procedure:
        """The procedure that a whole game is, for the command that begins it."""
        ...

    def rests_on(self, state: P, answer: Answer, *, unseen: bool) -> Footprint:
        """The footprint of an answer; see :meth:`footprint`."""
        ...

    def view(self, state: P, player: str) -> Any:
        """All that a player can see."""
        return redacted(state)

    def shuffle_again(self, game: Game[P], seed: str) -> None:
        """Put what is still to be drawn in another order; what is drawn or discarded stays."""
        return

    def cited(self, refusal: Refusal) -> Refusal:
        """The refusal, with the rules of the book that this table plays."""
        return refusal

    def cited_decision(self, decision: Decision[Any]) -> Decision[Any]:
        """The decision, with the rules of the book that this table plays."""
        return decision

    def check_names(self, state: P, answer: Answer) -> None:
        """Raise an *unknown* refusal for an answer that names what does not exist."""
        return

    def held(self, state: P, decision: Decision[Any]) -> tuple[Held, ...]:
        """The open appeals that an open question waits for, whatever would be answered."""
        return tuple(Held(appeal.number) for appeal in state.docket.stopping_appeals)

    def held_by_ruling(self, state: P, answer: Answer) -> tuple[Held, ...]:
        """The open appeals that an answer waits for because its ruling reads what is in doubt."""
        return ()

    def in_doubt(self, past: Past, docket: Docket, against: int) -> Doubt:
        """What an appeal against an entry leaves in doubt."""
        return Doubt(everything=True)

    def doubt_after(self, state: P, facts: tuple[Fact, ...], doubt: Doubt) -> Doubt:
        """What an appeal leaves in doubt after one more entry."""
        return doubt

    # What the acts of an arbiter need, the same in all games

    def restated(self, state: P, position: Any, reason: str) -> tuple[Fact, ...]:
        """The position, without the docket, which stays as it is; no seed that was drawn from is forgotten."""
        seed = position.hidden.seed
        former = tuple(one for one in dict.fromkeys((*position.hidden.former, *state.seeds)) if one not in ("", seed))
        bare = msgspec.structs.replace(redacted(position), docket=Docket())
        hidden = msgspec.structs.replace(position.hidden, former=former)
        facts = (self.position_stated(position=bare, reason=reason), self.hidden_stated(hidden=hidden))
        if seed == state.seeds[-1]:
            return facts
        return (*facts, SeedCommitted(commitment=commitment(seed), rules=self.citations.seeds))

    def redraw(self, game: Game[P], seed: str) -> None:
        """New seed, new commitment, and what is still to be drawn is shuffled again.

        With imposed chance there is nothing to shuffle here: draws are stated from now on.
        """
        if game.state.charter.chance == "imposed":
            return
        if not is_seed(seed) or seed in game.state.seeds:
            raise Refusal("seed-missing", self.citations.seeds)
        game.seal_seed(seed)
        self.shuffle_again(game, seed)

    def must_redraw(self, state: P, position: Any, opened: frozenset[str]) -> bool:
        """Also where a table has ended once, and the seed it shares may be opened at any moment."""
        seed, shared = position.hidden.seed, position.charter.shared_seed
        if shared is not None and (state.is_over or state.docket.shared) and commitment(seed) == shared.commitment:
            return True
        return seed in opened and position.charter.chance != "imposed"

    def stated_fact(self, raw: dict[str, Any]) -> Fact:
        """A fact that an arbiter states. Raises Refusal for what is not one."""
        try:
            fact: Fact = msgspec.convert(raw, self.statable)
        except msgspec.ValidationError as error:
            raise Refusal("not-a-fact", unknown=True, problem=str(error)) from error
        return msgspec.structs.replace(fact, rules=(*fact.rules, "arbiter"))

    def footprint(self, state: P, answer: Answer, *, unseen: bool = False) -> Footprint:
        """What an answer rests on, and all that its player can see where the charter keeps answers only by that."""
        found = self.rests_on(state, answer, unseen=unseen)
        if state.charter.arbitration.kept_when == "view":
            document: Any = state
            bare = msgspec.structs.replace(document, docket=Docket(), question=0)
            found = Footprint(found.options, {**found.reads, "view": _encode(self.view(bare, answer.player))})
        return found


class BoardGame(Protocol[P]):
    """A game. Every method is pure: no clock, no chance, no change of its arguments.

    ``public``, ``hidden`` and ``seats`` also answer for the blank state, since the first command may be refused.
    """

    name: str
    """A short word: "thrones"."""
    version: str
    """The engine of this code as a whole: what signs while no game is agreed on."""
    command_type: Any
    """The msgspec union of all commands, with the tag field "kind"."""
    fact_type: Any
    """The msgspec union of all facts, with the tag field "fact"."""
    state_type: type
    """The game's position document, a frozen msgspec Struct."""
    hidden_type: type
    """The hidden part of the position, a frozen msgspec Struct."""
    beginnings: tuple[type[Command], ...]
    """The commands that begin a game: at once, and, where a game has it, when its seats have made the seed."""
    game_created: Any
    """The fact that a game was created, with its ``charter``."""
    gathering_began: Any
    """The fact that seats make a seed for a ``charter``; ``deal``: players will be dealt by it."""

    # What a game says

    def blank(self) -> P:
        """The state before the first entry."""
        state: P = self.state_type()
        return state

    def evolve(self, state: P, fact: Any) -> P:
        """The state after one fact."""
        ...

    def public(self, state: P) -> P:
        """The position with everything hidden blanked."""
        public: P = redacted(state)
        return public

    def hidden(self, state: P) -> Any:
        """The hidden part: seed, orders of decks, sealed answers."""
        return state.hidden

    def rules_of(self, state: P) -> Table[P]:
        """The rules that a position is played by, once it has begun."""
        ...

    def rules_for(self, command: Any) -> Table[P]:
        """The rules of the game that one of the ``beginnings`` begins."""
        ...

    def check_charter(self, charter: Any) -> None:
        """Raise a refusal for a charter that no game can be played by."""
        ...

    def dealt(self, command: Any) -> Any:
        """The charter of the command that begins a game, with players dealt to its seats by chance."""
        return command.charter

    def gathered(self, past: Past) -> Any:
        """The command, still without its seed, that begins the game for which seats make the seed together."""
        raise Refusal("no-shares-wanted")

    def engine_for(self, charter: Any) -> str:
        """The engine that this code is for a charter, as charters name it."""
        return self.version

    def players(self, state: P) -> tuple[str, ...]:
        """Who plays, sorted."""
        return tuple(sorted(set(state.charter.seats.values())))

    # What is the same in all of them

    def decide(self, state: P, command: Command, past: Past | None = None, at: str = "") -> Ruling[P]:
        """Rule on a command. Raises Refusal; the state given is never changed.

        ``past`` is the record so far; acts of an arbiter look into it. ``at`` is when the command was received, by the
        store's clock, which never goes back within a game; it stands in the entry. Empty where nobody has sent it yet.
        """
        try:
            ruling = self._decide(state, command, past, at)
        except Refusal as refusal:
            if state.charter.edition:
                self.rules_of(state).cited(refusal)
            raise
        if ruling.state.docket.pending and not isinstance(command, Rewind | Correct):
            assert past is not None, "struck-out answers are looked up in the record"
            ruling = offer(self.rules_of(ruling.state), ruling, past)
        if ruling.state.is_over and ruling.state.docket.reads and past is not None:
            game = self.rules_of(ruling.state).game(ruling.state)
            open_reads(game, past)
            ruling = Ruling((*ruling.facts, *game.facts), game.state)
        return self._in_doubt(state, ruling, past)

    def _in_doubt(self, state: P, ruling: Ruling[P], past: Past | None) -> Ruling[P]:
        """What open appeals leave in doubt after a ruling, where that has changed and the charter tells it apart."""
        docket = ruling.state.docket
        if ruling.state.charter.arbitration.appeal_stops == "everything" or not docket.stopping_appeals:
            return ruling
        rules = self.rules_of(ruling.state)
        game = rules.game(ruling.state)
        known = {one.appeal: one for one in state.docket.doubts}
        for appeal in docket.stopping_appeals:
            if appeal.number not in known:
                assert past is not None, "an appeal looks into the record"
                doubt = rules.in_doubt(past, state.docket, appeal.against)
            else:
                doubt = rules.doubt_after(state, ruling.facts, known[appeal.number])
            doubt = msgspec.structs.replace(doubt, appeal=appeal.number)
            if doubt != known.get(appeal.number):
                game.emit(InDoubt(doubt=doubt))
        return Ruling((*ruling.facts, *game.facts), game.state)

    def _decide(self, state: P, command: Any, past: Past | None, at: str) -> Ruling[P]:
        if isinstance(command, self.beginnings):
            start, *_ = self.beginnings
            return self._start(state, command) if isinstance(command, start) else self._gather(state, command)
        if isinstance(command, SHARES):
            assert past is not None, "what was agreed on is looked up in the record"
            return self._share(state, command, past)
        if not state.charter.edition:
            raise Refusal("not-started")
        rules = self.rules_of(state)
        if isinstance(command, PassDeadline):
            self._check_standstill(state, command.player)
            due = state.docket.due
            if due is not None and due.question == command.question == state.question and at < due.at:
                raise Refusal("not-due", rules.citations.missed, due=due.at, at=at)
            return self._checked(state, miss_deadline(rules, state, command.player, command.question))
        if isinstance(command, SetDue):
            return self._set_due(rules, state, command)
        if isinstance(command, StateDraws):
            if state.charter.chance != "imposed":
                raise Refusal("draws-are-not-stated-here", rules.citations.seeds)
            if sum(map(len, state.hidden.stated.values())) >= MOST_STATED:
                raise Refusal("too-many-draws", rules.citations.seeds, most=MOST_STATED)
            return state_draws(rules, state, command.deck, command.cards)
        if isinstance(command, OpenSharedSeed):
            game = rules.game(state)
            open_shared_seed(game, command, state.charter.shared_seed, state.seeds, *rules.citations.seeds)
            return Ruling(tuple(game.facts), game.state)
        if isinstance(command, ACTS):
            assert past is not None, "an arbiter looks into the record"
            return self._act(rules, state, command, past)
        assert isinstance(command, Answer)
        self._check_standstill(state, command.player)
        rules.check_names(state, command)
        return self._checked(state, rule_on(rules, state, command))

    def _set_due(self, rules: Table[P], state: P, command: SetDue) -> Ruling[P]:
        """Until when the open question may be answered."""
        if state.is_over:
            raise Refusal("game-over")
        if command.question != state.question:
            raise Refusal("question-closed", rules.citations.missed, question=command.question, open=state.question)
        if command.due and not _INSTANT.fullmatch(command.due):
            raise Refusal("not-an-instant", unknown=True, due=command.due)
        game = rules.game(state)
        game.emit(DueSet(question=command.question, due=command.due), *rules.citations.missed)
        return Ruling(tuple(game.facts), game.state)

    # How a game begins

    def _start(self, state: P, command: Any) -> Ruling[P]:
        if state.charter.edition:
            raise Refusal("already-started")
        self.check_charter(command.charter)
        rules = self.rules_for(command)
        game = rules.game(state)
        chance = command.charter.chance
        if chance != "imposed" and not is_seed(command.seed):
            raise rules.cited(Refusal("seed-missing", rules.citations.seeds))
        _check_shared(command, rules.citations.seeds)
        charter = self.dealt(command) if command.deal else command.charter
        charter = msgspec.structs.replace(charter, engine=self.engine_for(charter))
        game.emit(self.game_created(charter=charter), *rules.citations.created)
        if command.game:
            game.emit(GameNamed(game=command.game))
        if command.origin is not None:
            game.emit(Forked(origin=command.origin))
        if command.seed and chance != "imposed":
            game.seal_seed(command.seed)
        if command.position is None:
            return begin(game, rules.root(command))
        position = msgspec.structs.replace(redacted(command.position), charter=charter)
        game.emit(rules.position_stated(position=position, reason=command.reason))
        if command.hidden is not None:
            hidden = msgspec.structs.replace(command.hidden, seed=game.state.hidden.seed)
            game.emit(rules.hidden_stated(hidden=hidden))
        ruling = resume(rules, game.state)
        return Ruling((*game.facts, *ruling.facts), ruling.state)

    def _gather(self, state: P, command: Any) -> Ruling[P]:
        """Agree on a game and on the server's part of its seed; the seats add theirs before it begins."""
        if state.charter.edition or state.docket.joint is not None:
            raise Refusal("already-started")
        charter = command.charter
        self.check_charter(charter)
        rules = self.rules_for(command)
        game = rules.game(state)
        if charter.shared_seed is not None:
            raise Refusal("shared-seed-alone", rules.citations.seeds)
        if charter.chance == "imposed" or not is_seed(command.seed):
            raise rules.cited(Refusal("seed-missing", rules.citations.seeds))
        game.emit(self.gathering_began(charter=charter, deal=command.deal), *rules.citations.gathered)
        if command.game:
            game.emit(GameNamed(game=command.game))
        game.emit(SharesWanted(seats=tuple(sorted(charter.seats))), *rules.citations.seeds)
        game.seal_seed(command.seed)
        return Ruling(tuple(game.facts), game.state)

    # Appeals

    def held(self, state: P, decision: Decision[Any]) -> tuple[Held, ...]:
        """The open appeals that a decision has to wait for, each with what it rests on that is in doubt."""
        return self.rules_of(state).held(state, decision) if state.docket.stopping_appeals else ()

    def _check_standstill(self, state: P, player: str) -> None:
        """While an appeal is open nobody answers, and no deadline runs out, unless the charter lets other things go on.

        What a player owes now decides, not what the answer says.
        """
        if not state.docket.stopping_appeals:
            return
        if state.charter.arbitration.appeal_stops == "everything":
            raise Refusal("appeal-open", appeals=[appeal.number for appeal in state.docket.stopping_appeals])
        for decision in self.decisions(state, replaceable=True):
            if decision.player == player:
                _refuse_held(self.held(state, decision))

    def _checked(self, state: P, ruling: Ruling[P]) -> Ruling[P]:
        """The ruling on a public answer, refused where it would read what an open appeal leaves in doubt."""
        if state.docket.doubts and (answer := answer_of(ruling.facts)) is not None:
            _refuse_held(self.rules_of(state).held_by_ruling(state, answer))
        return ruling

    # Acts

    def _act(self, rules: Table[P], state: P, command: Any, past: Past) -> Ruling[P]:
        """An act of the arbiter, or an appeal to him."""
        if isinstance(command, Act) and command.plays and not state.charter.arbitration.arbiter_may_play:
            raise Refusal("arbiter-plays", house=command.plays)
        if isinstance(command, Rewind):
            return rewind(rules, state, command, past)
        if isinstance(command, Correct):
            return correct(rules, state, command, past)
        game = rules.game(state)
        if isinstance(command, FileAppeal):
            known = self.players(state)
            if command.house not in known:
                raise Refusal("unknown-house", unknown=True, house=command.house, known=list(known))
            agreed = state.charter.arbitration
            limits = AppealLimits(agreed.appeal_window, agreed.appeals_open, agreed.appeals_lost)
            file_appeal(game, command, past, limits)
        elif isinstance(command, RuleOnAppeal):
            rule_on_appeal(game, command)
        elif isinstance(command, ReadSecrets):
            read_secrets(game, command, past.version, sealed=self.is_secret(state, command))
        elif isinstance(command, AcceptLoss):
            accept_loss(game, command)
        else:
            amend(game, command)
        return Ruling(tuple(game.facts), game.state)

    # Seeds

    def _share(self, state: P, command: CommitShare | OpenShare | CloseShares, past: Past) -> Ruling[P]:
        """A part of the seed; with the last of them the game begins."""
        facts = take_share(state.docket, command)
        start = self.gathered(past)
        rules = self.rules_for(start)
        game = rules.game(state)
        for fact in facts:
            game.emit(fact, *rules.citations.seeds)
        joint = game.state.docket.joint
        if joint is None or not joint.done:
            return Ruling(tuple(game.facts), game.state)
        seed = joint_seed(game.state.seeds[-1], joint.shares)
        begun = self._start(game.state, msgspec.structs.replace(start, seed=seed))
        return Ruling((*game.facts, *begun.facts), begun.state)

    def shared_seed(self, state: P) -> tuple[SharedSeed, Stage] | None:
        """The seed that a table shares with others, and how far it is with it."""
        shared, stage = state.charter.shared_seed, state.shared_stage
        return None if shared is None or stage is None else (shared, stage)

    # Who, and by which engine

    def seats(self, state: P) -> dict[str, str]:
        """Seat id to player. Before the game begins players may still have to be dealt, and a seat is itself."""
        joint = state.docket.joint
        if joint is not None and not state.charter.edition:
            return {seat: seat for seat in joint.seats}
        seats: dict[str, str] = state.charter.seats
        return seats

    def player_of(self, command: Any) -> str | None:
        """The player a command speaks for; None for commands of the organiser and the system."""
        if isinstance(command, FileAppeal):
            return command.house
        if isinstance(command, CommitShare | OpenShare):
            return command.seat
        return command.player if isinstance(command, Answer) else None

    def pinned(self, state: P) -> str:
        """The engine that a game is to be ruled by, as entries name it; empty where none is agreed.

        It is that of its charter, or the one that the game was moved to since.
        """
        return state.docket.engine or (f"{self.name}/{state.charter.engine}" if state.charter.edition else "")

    def engine_of(self, state: P) -> str:
        """The engine that this code is for a game, as entries name it; for the blank state :attr:`version`."""
        return f"{self.name}/{self.engine_for(state.charter) if state.charter.edition else self.version}"

    def is_over(self, state: P) -> bool:
        """Whether the game has ended."""
        return state.is_over

    def is_secret(self, state: P, command: Any) -> bool:
        """Whether what the command says belongs to its author alone, at least until it is revealed."""
        if isinstance(command, StateDraws):
            imposed: bool = state.charter.chance == "imposed"  # elsewhere it is refused, and says nothing
            return imposed
        if isinstance(command, ReadSecrets):
            return state.charter.arbitration.secrets_log == "at-the-end" and not state.is_over
        if not isinstance(command, Answer):
            return isinstance(command, self.beginnings) or (isinstance(command, Rewind) and bool(command.seed))
        return command.secret

    def decisions(self, state: P, *, replaceable: bool = False) -> tuple[Decision[Any], ...]:
        """What is owed now, with every legal answer; with ``replaceable`` also what may still be answered otherwise."""
        if not state.charter.edition:
            return ()
        rules = self.rules_of(state)
        return tuple(map(rules.cited_decision, open_decisions(rules, state, replaceable=replaceable)))


def answer_of(facts: tuple[Fact, ...]) -> Answer | None:
    """The answer that an entry rules on, as given or for a missed deadline."""
    answer: Answer | None = None
    if facts and isinstance(facts[0], Answered):
        answer = facts[0].answer
    elif len(facts) > 1 and isinstance(facts[0], AnswerTaken) and isinstance(facts[1], AnswerSealed):
        answer = facts[1].answer
    return answer


def is_seed(seed: str) -> bool:
    """Whether this is 32 bytes in hexadecimal."""
    return len(seed) == 64 and all(letter in "0123456789abcdef" for letter in seed)


def _check_shared(command: Any, cited: tuple[str, ...]) -> None:
    """A seed that is shared is the one that was committed to, and nobody chose it or the decks."""
    shared = command.charter.shared_seed
    if shared is None:
        return
    if command.charter.chance != "seeded" or command.decks or command.position is not None:
        raise Refusal("shared-seed-alone", cited)
    if commitment(command.seed) != shared.commitment:
        raise Refusal("shared-seed-differs", cited, shared=shared.id)


def _refuse_held(held: tuple[Held, ...]) -> None:
    if held:
        names = sorted({name for one in held for name in one.names})
        params: dict[str, Any] = {"doubts": names} if names else {}
        raise Refusal("appeal-open", appeals=[one.appeal for one in held], **params)
