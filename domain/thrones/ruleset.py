"""The game as the ledger knows it: commands in, facts out, and what may be shown of a position."""

from __future__ import annotations

from typing import Any, Union

import msgspec

from domain.kernel import facts as kernel
from domain.kernel.arbiter import (
    Footprint,
    Past,
)
from domain.kernel.bounds import MOST_NAME
from domain.kernel.chance import commitment, shuffled
from domain.kernel.decision import Answer, Decision
from domain.kernel.docket import Docket, Doubt, Forked, GameNamed, SharesWanted
from domain.kernel.game import COMMANDS, BoardGame, Held, Table, is_seed
from domain.kernel.procedure import Procedure
from domain.kernel.refusal import Refusal
from domain.kernel.ruleset import (
    Citations,
    Ruling,
    begin,
    open_decisions,
    resume,
)
from domain.thrones.language.answers import HouseAnswer
from domain.thrones.language.evolve import EVOLVERS, evolve, redacted
from domain.thrones.language.facts import (
    STATABLE,
    DeckRedrawn,
    GameCreated,
    GatheringBegan,
    HiddenStated,
    PositionStated,
)
from domain.thrones.language.kinds import AnyAnswer
from domain.thrones.language.known import check_names
from domain.thrones.language.pieces import MOST_AREAS
from domain.thrones.language.start import Gather, Start
from domain.thrones.language.state import Hidden, State
from domain.thrones.language.view import view
from domain.thrones.review.doubt import (
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

STATED: Any = Union[tuple(STATABLE)]  # noqa: UP007  # built from a list

encoded_view = msgspec.json.Encoder(order="deterministic").encode

CITATIONS = Citations(
    forced=("2E-GEN-14",),
    missed=("2E-GEN-19",),
    given=("2E-DP-43",),
    sealed=("2E-GEN-15",),
    whole=("2E-GEN-13",),
    seeds=("2E-GEN-17",),
)

_typed = {
    kernel.Answered: kernel.Answered[AnyAnswer],
    kernel.AnswerSealed: kernel.AnswerSealed[AnyAnswer],
    kernel.DraftKept: kernel.DraftKept[AnyAnswer],
}


class ThronesOf(Table[State]):
    """The rules of one edition, as the kernel needs them."""

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

    # The book that a table plays

    def cited(self, refusal: Refusal) -> Refusal:
        return self.edition.law.of_refusal(refusal)

    def cited_decision(self, decision: Decision[Any]) -> Decision[Any]:
        return self.edition.law.of_decision(decision) if self.edition.law else decision

    def check_names(self, state: State, answer: Answer) -> None:
        assert isinstance(answer, HouseAnswer)
        check_names(self.edition, state, answer)

    # What an open appeal holds up

    def held(self, state: State, decision: Decision[Any]) -> tuple[Held, ...]:
        return held(self, self.edition, state, decision)

    def held_by_ruling(self, state: State, answer: Answer) -> tuple[Held, ...]:
        return held_by_ruling(self, self.edition, state, answer)

    def in_doubt(self, past: Past, docket: Docket, against: int) -> Doubt:
        return in_doubt(self, self.edition, past, docket, against)

    def doubt_after(self, state: State, facts: tuple[kernel.Fact, ...], doubt: Doubt) -> Doubt:
        return doubt_after(self, self.edition, state, facts, doubt)

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
        if not is_seed(seed) or seed in (*hidden.former, hidden.seed):
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


class Thrones(BoardGame[State]):
    """A Game of Thrones: The Board Game, all editions: what the event store and the worker plug in."""

    name = "thrones"
    version = ENGINE
    state_type = State
    hidden_type = Hidden
    command_type: Any = Union[(AnyAnswer, Start, Gather, *COMMANDS)]  # built from a list
    fact_type: Any = Union[tuple(_typed.get(fact, fact) for fact in EVOLVERS)]  # noqa: UP007  # built from a table
    beginnings = (Start, Gather)

    def blank(self) -> State:
        return State()

    def evolve(self, state: State, fact: kernel.Fact) -> State:
        return evolve(state, fact)

    def public(self, state: State) -> State:
        return redacted(state)

    def hidden(self, state: State) -> Hidden:
        return state.hidden

    def rules_of(self, state: State) -> ThronesOf:
        return rules_by(state.charter)

    def rules_for(self, command: Start | Gather) -> ThronesOf:
        return rules_by(command.charter)

    def players(self, state: State) -> tuple[str, ...]:
        return state.houses

    def stated_ahead(self, state: State) -> int:
        return sum(map(len, state.hidden.stated.values()))

    def engine_for(self, charter: Charter) -> str:
        return pin(charter)

    def begin(self, state: State, command: Start | Gather) -> Ruling[State]:
        return self._start(state, command) if isinstance(command, Start) else self._gather(state, command)

    def _start(self, state: State, command: Start) -> Ruling[State]:
        if state.charter.edition:
            raise Refusal("already-started")
        check_charter(command.charter)
        game = rules_by(command.charter).game(state)
        if command.charter.chance != "imposed" and not is_seed(command.seed):
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

    def _gather(self, state: State, command: Gather) -> Ruling[State]:
        """Agree on a game and on the server's part of its seed; the seats add theirs before it begins."""
        if state.charter.edition or state.docket.joint is not None:
            raise Refusal("already-started")
        check_charter(command.charter)
        game = rules_by(command.charter).game(state)
        if command.charter.shared_seed is not None:
            raise Refusal("shared-seed-alone", ("2E-GEN-17",))
        if command.charter.chance == "imposed" or not is_seed(command.seed):
            raise Refusal("seed-missing", game.edition.law.cite(("2E-GEN-17",)))
        game.emit(GatheringBegan(charter=command.charter, deal=command.deal), "2E-SET-1", "2E-GEN-17")
        if command.game:
            game.emit(GameNamed(game=command.game))
        game.emit(SharesWanted(seats=tuple(sorted(command.charter.seats))), "2E-GEN-17")
        game.seal_seed(command.seed)
        return Ruling(tuple(game.facts), game.state)

    def gathered(self, past: Past) -> Start:
        agreed = next(fact for fact in past.facts(1) if isinstance(fact, GatheringBegan))
        return Start(charter=agreed.charter, deal=agreed.deal)


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


THRONES = Thrones()
