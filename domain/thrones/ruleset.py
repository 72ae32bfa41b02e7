"""The game as the ledger knows it: commands in, facts out, and what may be shown of a position."""

from __future__ import annotations

from typing import Any, Union

import msgspec

from domain.kernel import facts as kernel
from domain.kernel.arbiter import (
    AcceptLoss,
    Act,
    Amend,
    AppealLimits,
    Correct,
    FileAppeal,
    Footprint,
    Past,
    ReadSecrets,
    Rewind,
    RuleOnAppeal,
    accept_loss,
    amend,
    file_appeal,
    open_reads,
    read_secrets,
    rule_on_appeal,
)
from domain.kernel.bounds import MOST_NAME
from domain.kernel.chance import commitment, shuffled
from domain.kernel.commands import Command, PassDeadline, StateDraws
from domain.kernel.decision import Answer, Decision
from domain.kernel.docket import Docket, Forked, GameNamed, InDoubt, SharesWanted
from domain.kernel.joint import CloseShares, CommitShare, OpenShare, joint_seed, take_share
from domain.kernel.procedure import Procedure
from domain.kernel.refusal import Refusal
from domain.kernel.rewinding import correct, offer, rewind
from domain.kernel.ruleset import (
    Citations,
    Ruling,
    begin,
    miss_deadline,
    open_decisions,
    resume,
    rule_on,
    state_draws,
)
from domain.kernel.shared import OpenSharedSeed, SharedSeed, Stage, open_shared_seed
from domain.thrones.language.answers import AnyAnswer, HouseAnswer
from domain.thrones.language.evolve import EVOLVERS, evolve, redacted
from domain.thrones.language.facts import (
    STATABLE,
    DeckRedrawn,
    GameCreated,
    GatheringBegan,
    HiddenStated,
    PositionStated,
)
from domain.thrones.language.known import check_names
from domain.thrones.language.pieces import MOST_AREAS
from domain.thrones.language.start import Gather, Start
from domain.thrones.language.state import Hidden, State
from domain.thrones.language.view import view
from domain.thrones.review.doubt import (
    Held,
    answer_of,
    changed_parts,
    doubt_after,
    held,
    held_by_ruling,
    in_doubt,
    value,
)
from domain.thrones.review.footprint import footprint
from domain.thrones.review.forking import on_the_table
from domain.thrones.review.stated import why_absent
from domain.thrones.rules.control import Consequences
from domain.thrones.rules.game import Game
from domain.thrones.rules.invariants import problems
from domain.thrones.rules.setup import Play
from domain.thrones.tables.behaviour import ENGINE, pin
from domain.thrones.tables.charter import AS_PRINTED, Charter
from domain.thrones.tables.edition import Edition
from domain.thrones.tables.editions.composed import compose, edition_of
from domain.thrones.tables.variations import PRESETS, check_variations

EDITIONS: dict[str, Edition] = {name: compose(preset.variations) for name, preset in PRESETS.items()}
"""What each preset plays by; a charter may differ from all of them (:func:`edition_of`)."""

ACTS = (Rewind, Correct, FileAppeal, RuleOnAppeal, Amend, ReadSecrets, AcceptLoss)
"""Commands of the arbiter, and the appeal that brings a matter before him."""

SHARES = (CommitShare, OpenShare, CloseShares)
"""Commands by which server and seats make the seed together, before the game begins."""

STATED: Any = Union[tuple(STATABLE)]  # noqa: UP007  # built from a list

MOST_STATED = 1_000
"""How many shuffles may be stated ahead: whole games from outside state some dozen."""

encoded_view = msgspec.json.Encoder(order="deterministic").encode

CITATIONS = Citations(
    forced=("2E-GEN-14",),
    missed=("2E-GEN-19",),
    given=("2E-DP-43",),
    sealed=("2E-GEN-15",),
    whole=("2E-GEN-13",),
)

_typed = {
    kernel.Answered: kernel.Answered[AnyAnswer],
    kernel.AnswerSealed: kernel.AnswerSealed[AnyAnswer],
    kernel.DraftKept: kernel.DraftKept[AnyAnswer],
}


class ThronesOf:
    """The rules of one edition, as the runner of the kernel needs them."""

    def __init__(self, edition: Edition) -> None:
        self.edition = edition

    citations = CITATIONS

    @property
    def procedures(self) -> dict[str, type[Procedure]]:
        return self.edition.procedures

    def evolve(self, state: State, fact: kernel.Fact) -> State:
        return evolve(state, fact)

    def game(self, state: State) -> Game:
        return Game(self, state, self.edition)

    # What the acts of an arbiter need

    def restated(self, state: State, position: State, reason: str) -> tuple[kernel.Fact, ...]:
        """The position, without the docket, which stays as it is; no seed that was drawn from is forgotten."""
        known = (*position.hidden.former, *state.hidden.former, state.hidden.seed)
        former = tuple(seed for seed in dict.fromkeys(known) if seed not in ("", position.hidden.seed))
        bare = msgspec.structs.replace(redacted(position), docket=Docket())
        hidden = msgspec.structs.replace(position.hidden, former=former)
        facts: list[kernel.Fact] = [PositionStated(position=bare, reason=reason), HiddenStated(hidden=hidden)]
        if hidden.seed != state.hidden.seed:
            facts.append(kernel.SeedCommitted(commitment=commitment(hidden.seed), rules=("2E-GEN-17",)))
        return tuple(facts)

    def redraw(self, game: Any, seed: str) -> None:
        """New seed, new commitment; what lies in the decks is shuffled again, what is discarded or drawn stays.

        A wildling card that is being looked at, or resolved, stays on top. With imposed chance there is nothing to
        shuffle here: draws are stated from now on.
        """
        hidden = game.state.hidden
        if game.state.charter.chance == "imposed":
            return
        if not _is_seed(seed) or seed in (*hidden.former, hidden.seed):
            raise Refusal("seed-missing", ("2E-GEN-17",))
        game.seal_seed(seed)
        for deck in sorted(hidden.decks):
            is_turned = bool(hidden.seen) or on_the_table(self.edition, game.state) is not None
            drawn = 1 if deck == "wildling" and is_turned else 0
            top, rest = hidden.decks[deck][:drawn], hidden.decks[deck][drawn:]
            order = shuffled(seed, f"{deck}/redrawn/{len(game.state.docket.struck)}", tuple(sorted(rest)))
            game.emit(DeckRedrawn(deck=deck, cards=(*top, *order)), "2E-GEN-17")

    def stated_fact(self, raw: dict[str, Any]) -> kernel.Fact:
        try:
            fact: kernel.Fact = msgspec.convert(raw, STATED)
        except msgspec.ValidationError as error:
            raise Refusal("not-a-fact", unknown=True, problem=str(error)) from error
        return msgspec.structs.replace(fact, rules=(*fact.rules, "arbiter"))

    def why_absent(self, game: Any, fact: kernel.Fact) -> str:
        return why_absent(game, fact)

    def problems(self, state: State) -> tuple[str, ...]:
        return problems(self.game(state))

    def footprint(self, state: State, answer: Answer, *, unseen: bool = False) -> Footprint:
        found = footprint(self, self.edition, state, answer, unseen=unseen)
        if state.charter.arbitration.kept_when == "view":
            state = msgspec.structs.replace(state, docket=Docket(), question=0)
            seen = view(state, answer.player, open_decisions(self, state, replaceable=True))
            found = Footprint(found.options, {**found.reads, "view": encoded_view(seen)})
        return found

    def must_redraw(self, state: State, position: State, opened: frozenset[str]) -> bool:
        """Also where a table has ended once, and the seed it shares may be opened at any moment."""
        seed, shared = position.hidden.seed, position.charter.shared_seed
        if shared is not None and (state.is_over or state.docket.shared) and commitment(seed) == shared.commitment:
            return True
        return seed in opened and position.charter.chance != "imposed"

    def replaced(self, before: State, after: State, now: State) -> tuple[str, ...]:
        """Parts of the position, by name."""
        return tuple(sorted(part for part in changed_parts(before, after) if value(before, part) != value(now, part)))

    def follows(self, game: Any) -> tuple[Procedure, ...]:
        """Control and what follows from it, unless a march is half done: then its end sees to it (2E-CTL-16)."""
        return () if game.state.march or game.state.combat or game.state.is_over else (Consequences(),)

    def occasion(self, state: State) -> int:
        """The round."""
        return state.round


def rules_by(charter: Charter) -> ThronesOf:
    """The rules that a charter plays by. Raises Refusal for one that nobody can play."""
    return ThronesOf(edition_of(charter))


class Thrones:
    """A Game of Thrones: The Board Game, all editions: what the event store and the worker plug in."""

    name = "thrones"
    version = ENGINE
    state_type = State
    hidden_type = Hidden
    command_type: Any = Union[
        (AnyAnswer, Start, PassDeadline, StateDraws, Gather, *SHARES, *ACTS, OpenSharedSeed)
    ]  # built from a list
    fact_type: Any = Union[tuple(_typed.get(fact, fact) for fact in EVOLVERS)]  # noqa: UP007  # built from a table

    def rules_of(self, state: State) -> ThronesOf:
        """The rules that a position is played by."""
        return rules_by(state.charter)

    def blank(self) -> State:
        return State()

    def decide(self, state: State, command: Command, past: Past | None = None) -> Ruling[State]:
        """Rule on a command. Raises Refusal; the state given is never changed.

        ``past`` is the record so far; acts of an arbiter look into it.
        """
        try:
            ruling = self._decide(state, command, past)
        except Refusal as refusal:
            if state.charter.edition:
                self.rules_of(state).edition.law.of_refusal(refusal)
            raise
        if ruling.state.docket.pending and not isinstance(command, Rewind | Correct):
            assert past is not None, "struck-out answers are looked up in the record"
            ruling = offer(self.rules_of(ruling.state), ruling, past)
        if ruling.state.is_over and ruling.state.docket.reads and past is not None:
            game = self.rules_of(ruling.state).game(ruling.state)
            open_reads(game, past)
            ruling = Ruling((*ruling.facts, *game.facts), game.state)
        return self._in_doubt(state, ruling, past)

    def _in_doubt(self, state: State, ruling: Ruling[State], past: Past | None) -> Ruling[State]:
        """What open appeals leave in doubt after a ruling, where that has changed and the charter tells it apart."""
        charter = ruling.state.charter
        if charter.arbitration.appeal_stops == "everything" or not ruling.state.docket.stopping_appeals:
            return ruling
        rules = self.rules_of(ruling.state)
        game = rules.game(ruling.state)
        known = {one.appeal: one for one in state.docket.doubts}
        for appeal in ruling.state.docket.stopping_appeals:
            if appeal.number not in known:
                assert past is not None, "an appeal looks into the record"
                doubt = in_doubt(rules, rules.edition, past, state.docket, appeal.against)
            else:
                doubt = doubt_after(rules, rules.edition, state, ruling.facts, known[appeal.number])
            doubt = msgspec.structs.replace(doubt, appeal=appeal.number)
            if doubt != known.get(appeal.number):
                game.emit(InDoubt(doubt=doubt))
        return Ruling((*ruling.facts, *game.facts), game.state)

    def _decide(self, state: State, command: Command, past: Past | None) -> Ruling[State]:
        if isinstance(command, Start):
            return self._start(state, command)
        if isinstance(command, Gather):
            return self._gather(state, command)
        if isinstance(command, SHARES):
            assert past is not None, "what was agreed on is looked up in the record"
            return self._share(state, command, past)
        if not state.charter.edition:
            raise Refusal("not-started")
        rules = self.rules_of(state)
        if isinstance(command, PassDeadline):
            self._check_standstill(state, command.player)
            ruling = miss_deadline(rules, state, command.player, command.question)
            self._check_ruling(state, ruling)
            return ruling
        if isinstance(command, StateDraws):
            if state.charter.chance != "imposed":
                raise Refusal("draws-are-not-stated-here", ("2E-GEN-17",))
            if sum(map(len, state.hidden.stated.values())) >= MOST_STATED:
                raise Refusal("too-many-draws", ("2E-GEN-17",), most=MOST_STATED)
            return state_draws(rules, state, command.deck, command.cards)
        if isinstance(command, OpenSharedSeed):
            return self._open_shared(rules, state, command)
        if isinstance(command, ACTS):
            assert past is not None, "an arbiter looks into the record"
            return self._act(rules, state, command, past)
        assert isinstance(command, HouseAnswer)
        self._check_standstill(state, command.house)
        check_names(rules.edition, state, command)
        ruling = rule_on(rules, state, command)
        self._check_ruling(state, ruling)
        return ruling

    def held(self, state: State, decision: Decision[Any]) -> tuple[Held, ...]:
        """The open appeals that a decision has to wait for, each with what it rests on that is in doubt."""
        if not state.docket.stopping_appeals:
            return ()
        rules = self.rules_of(state)
        return held(rules, rules.edition, state, decision)

    def _check_standstill(self, state: State, player: str) -> None:
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

    def _check_ruling(self, state: State, ruling: Ruling[State]) -> None:
        """Refuse a public answer whose ruling would read what an open appeal leaves in doubt."""
        if state.docket.doubts and (answer := answer_of(ruling.facts)) is not None:
            rules = self.rules_of(state)
            _refuse_held(held_by_ruling(rules, rules.edition, state, answer))

    def _act(self, rules: ThronesOf, state: State, command: Any, past: Past) -> Ruling[State]:
        """An act of the arbiter, or an appeal to him."""
        if isinstance(command, Act) and command.plays and not state.charter.arbitration.arbiter_may_play:
            raise Refusal("arbiter-plays", house=command.plays)
        if isinstance(command, Rewind):
            return rewind(rules, state, command, past)
        if isinstance(command, Correct):
            return correct(rules, state, command, past)
        game = rules.game(state)
        if isinstance(command, FileAppeal):
            if command.house not in state.houses:
                raise Refusal("unknown-house", unknown=True, house=command.house, known=list(state.houses))
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

    def _start(self, state: State, command: Start) -> Ruling[State]:
        if state.charter.edition:
            raise Refusal("already-started")
        check_charter(command.charter)
        game = rules_by(command.charter).game(state)
        if command.charter.chance != "imposed" and not _is_seed(command.seed):
            raise Refusal("seed-missing", game.edition.law.cite(("2E-GEN-17",)))
        _check_shared(command)
        charter = _dealt(command) if command.deal else command.charter
        charter = msgspec.structs.replace(charter, engine=pin(charter))
        game.emit(GameCreated(charter=charter), "2E-SET-1", "2E-SET-2", "2E-GEN-1")
        if command.game:
            game.emit(GameNamed(game=command.game))
        if command.origin is not None:
            game.emit(Forked(origin=command.origin))
        if command.seed and command.charter.chance != "imposed":
            game.seal_seed(command.seed)
        if command.position is None:
            return begin(game, Play(decks=command.decks))
        position = msgspec.structs.replace(redacted(command.position), charter=charter)
        game.emit(PositionStated(position=position, reason=command.reason))
        if command.hidden is not None:
            hidden = msgspec.structs.replace(command.hidden, seed=game.state.hidden.seed)
            game.emit(HiddenStated(hidden=hidden))
        ruling = resume(rules_by(command.charter), game.state)
        return Ruling((*game.facts, *ruling.facts), ruling.state)

    def _open_shared(self, rules: ThronesOf, state: State, command: OpenSharedSeed) -> Ruling[State]:
        """The last table of those that share a seed has ended."""
        game = rules.game(state)
        seeds = (*state.hidden.former, state.hidden.seed)
        open_shared_seed(game, command, state.charter.shared_seed, seeds, "2E-GEN-17")
        return Ruling(tuple(game.facts), game.state)

    def _gather(self, state: State, command: Gather) -> Ruling[State]:
        """Agree on a game and on the server's part of its seed; the seats add theirs before it begins."""
        if state.charter.edition or state.docket.joint is not None:
            raise Refusal("already-started")
        check_charter(command.charter)
        game = rules_by(command.charter).game(state)
        if command.charter.shared_seed is not None:
            raise Refusal("shared-seed-alone", ("2E-GEN-17",))
        if command.charter.chance == "imposed" or not _is_seed(command.seed):
            raise Refusal("seed-missing", game.edition.law.cite(("2E-GEN-17",)))
        game.emit(GatheringBegan(charter=command.charter, deal=command.deal), "2E-SET-1", "2E-GEN-17")
        if command.game:
            game.emit(GameNamed(game=command.game))
        game.emit(SharesWanted(seats=tuple(sorted(command.charter.seats))), "2E-GEN-17")
        game.seal_seed(command.seed)
        return Ruling(tuple(game.facts), game.state)

    def _share(self, state: State, command: CommitShare | OpenShare | CloseShares, past: Past) -> Ruling[State]:
        """A part of the seed; with the last of them the game begins."""
        facts = take_share(state.docket, command)
        agreed = next(fact for fact in past.facts(1) if isinstance(fact, GatheringBegan))
        game = rules_by(agreed.charter).game(state)
        for fact in facts:
            game.emit(fact, "2E-GEN-17")
        joint = game.state.docket.joint
        if joint is None or not joint.done:
            return Ruling(tuple(game.facts), game.state)
        seed = joint_seed(game.state.hidden.seed, joint.shares)
        begun = self._start(game.state, Start(charter=agreed.charter, seed=seed, deal=agreed.deal))
        return Ruling((*game.facts, *begun.facts), begun.state)

    def evolve(self, state: State, fact: kernel.Fact) -> State:
        return evolve(state, fact)

    def public(self, state: State) -> State:
        return redacted(state)

    def hidden(self, state: State) -> Hidden:
        return state.hidden

    def seats(self, state: State) -> dict[str, str]:
        """Who plays for which seat. Before the game begins Houses may still have to be dealt, and a seat is itself."""
        joint = state.docket.joint
        if joint is not None and not state.charter.edition:
            return {seat: seat for seat in joint.seats}
        return state.charter.seats

    def player_of(self, command: Command) -> str | None:
        if isinstance(command, FileAppeal):
            return command.house
        if isinstance(command, CommitShare | OpenShare):
            return command.seat
        return command.player if isinstance(command, Answer) else None

    def pinned(self, state: State) -> str:
        """The engine of the charter, or the one that the game was moved to since."""
        return state.docket.engine or (f"{self.name}/{state.charter.engine}" if state.charter.edition else "")

    def engine_of(self, state: State) -> str:
        """The engine that this code is for a game: its pin for the charter."""
        return f"{self.name}/{pin(state.charter) if state.charter.edition else self.version}"

    def is_over(self, state: State) -> bool:
        return state.is_over

    def shared_seed(self, state: State) -> tuple[SharedSeed, Stage] | None:
        """The seed that a table shares with others, and how far it is with it."""
        shared, stage = state.charter.shared_seed, state.shared_stage
        return None if shared is None or stage is None else (shared, stage)

    def is_secret(self, state: State, command: Command) -> bool:
        """Whether the body of a command may be read by its author only, at least until it is revealed."""
        if isinstance(command, StateDraws):
            return state.charter.chance == "imposed"  # elsewhere it is refused, and says nothing
        if isinstance(command, ReadSecrets):
            return state.charter.arbitration.secrets_log == "at-the-end" and not state.is_over
        if not isinstance(command, Answer):
            return isinstance(command, Start | Gather) or (isinstance(command, Rewind) and bool(command.seed))
        return command.secret

    def decisions(self, state: State, *, replaceable: bool = False) -> tuple[Decision[Any], ...]:
        """What is owed now, with every legal answer; with ``replaceable`` also what may still be answered otherwise."""
        if not state.charter.edition:
            return ()
        rules = self.rules_of(state)
        found = open_decisions(rules, state, replaceable=replaceable)
        return tuple(rules.edition.law.of_decision(one) for one in found) if rules.edition.law else found


def check_charter(charter: Charter) -> None:
    """Raise a refusal for a charter that no game can be played by (2E-SET-1, section 0.4)."""
    if charter.edition not in PRESETS:
        raise Refusal("unknown-edition", unknown=True, edition=charter.edition, known=sorted(PRESETS))
    check_variations(charter.variations or AS_PRINTED)
    edition = edition_of(charter)
    _check_sizes(charter, edition)
    try:
        _check_table(charter, edition)
    except Refusal as refusal:
        raise edition.law.of_refusal(refusal) from None


def _check_sizes(charter: Charter, edition: Edition) -> None:
    """Own tables make no board on which a legal answer would be larger than a command may be."""
    tables = edition.tables
    ids = [one.id for rows in (tables.areas, tables.house_cards) for one in rows]
    problem = ""
    if len(tables.areas) > MOST_AREAS:
        problem = f"a board has at most {MOST_AREAS} areas, not {len(tables.areas)}"
    elif any(len(one) > MOST_NAME for one in ids):
        problem = f"an id has at most {MOST_NAME} characters"
    if problem:
        own = {} if charter.tables is msgspec.UNSET else charter.tables
        raise Refusal("own-table-unfit", pointers=sorted(own), problem=problem)


def _check_table(charter: Charter, edition: Edition) -> None:
    """Houses and seats."""
    unknown = sorted(set(charter.houses) - set(edition.houses))
    if unknown:
        raise Refusal("unknown-house", ("2E-SET-1",), unknown=True, houses=unknown, known=sorted(edition.houses))
    if len(charter.houses) not in edition.player_counts:
        raise Refusal("wrong-number-of-players", ("2E-SET-1",), players=len(charter.houses))
    if sorted(charter.houses) != sorted(edition.players(len(charter.houses)).houses):
        table = edition.players(len(charter.houses)).houses
        raise Refusal("houses-do-not-fit", ("2E-SET-1",), houses=sorted(charter.houses), allowed=sorted(table))
    closed = edition.players(len(charter.houses)).impassable
    for house in charter.houses:
        if edition.houses[house].home in closed:
            raise Refusal("home-out-of-play", ("2E-FEW-2",), house=house, area=edition.houses[house].home)
    if tuple(sorted(charter.houses)) != charter.houses:
        raise Refusal("houses-not-in-order", ("2E-GEN-16",), houses=sorted(charter.houses))
    if charter.seats and sorted(charter.seats.values()) != sorted(charter.houses):
        raise Refusal("seats-do-not-fit", ("2E-SET-2",), houses=sorted(charter.houses))


def _check_shared(command: Start) -> None:
    """A seed that is shared is the one that was committed to, and nobody chose it or the decks."""
    shared = command.charter.shared_seed
    if shared is None:
        return
    if command.charter.chance != "seeded" or command.decks or command.position is not None:
        raise Refusal("shared-seed-alone", ("2E-GEN-17",))
    if commitment(command.seed) != shared.commitment:
        raise Refusal("shared-seed-differs", ("2E-GEN-17",), shared=shared.id)


def _dealt(command: Start) -> Charter:
    """The charter with its Houses dealt to the seats by chance (2E-SET-2).

    Where a seed is shared, the first deal would tell the next one; so the occasion names the seats.
    """
    if command.charter.chance == "imposed":
        law = edition_of(command.charter).law
        raise Refusal("dealing-needs-a-seed", law.cite(("2E-SET-2", "2E-GEN-17")))
    seats = sorted(command.charter.seats)
    occasion = "seats/set-up" if command.charter.shared_seed is None else f"seats/set-up/{','.join(seats)}"
    houses = shuffled(command.seed, occasion, command.charter.houses)
    return msgspec.structs.replace(command.charter, seats=dict(zip(seats, houses, strict=True)))


def _refuse_held(held: tuple[Held, ...]) -> None:
    if held:
        names = sorted({name for one in held for name in one.names})
        params: dict[str, Any] = {"doubts": names} if names else {}
        raise Refusal("appeal-open", appeals=[one.appeal for one in held], **params)


def _is_seed(seed: str) -> bool:
    return len(seed) == 64 and all(letter in "0123456789abcdef" for letter in seed)


THRONES = Thrones()
