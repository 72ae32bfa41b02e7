"""The game as the ledger knows it: commands in, facts out, and what may be shown of a position."""

from __future__ import annotations

from typing import Any, Union

import msgspec

from domain.kernel import facts as kernel
from domain.kernel.arbiter import Footprint, Past
from domain.kernel.chance import shuffled
from domain.kernel.decision import Answer, Decision
from domain.kernel.docket import Docket, Doubt
from domain.kernel.game import COMMANDS, BoardGame, Held, Table
from domain.kernel.procedure import Procedure
from domain.kernel.refusal import Refusal
from domain.kernel.ruleset import Citations, open_decisions
from domain.thrones.language import facts as f
from domain.thrones.language.answers import HouseAnswer
from domain.thrones.language.evolve import EVOLVERS, evolve
from domain.thrones.language.kinds import AnyAnswer
from domain.thrones.language.known import check_names
from domain.thrones.language.start import Gather, Start
from domain.thrones.language.state import Hidden, State
from domain.thrones.language.view import view
from domain.thrones.review.doubt import changed_parts, doubt_after, held, held_by_ruling, in_doubt, value
from domain.thrones.review.footprint import footprint
from domain.thrones.review.forking import on_the_table
from domain.thrones.review.stated import why_absent
from domain.thrones.rules.control import Consequences
from domain.thrones.rules.game import Game
from domain.thrones.rules.invariants import problems
from domain.thrones.rules.setup import Play
from domain.thrones.rules.table import check_charter as check_charter
from domain.thrones.tables.behaviour import ENGINE, pin
from domain.thrones.tables.charter import Charter
from domain.thrones.tables.edition import Edition
from domain.thrones.tables.editions.composed import compose, edition_of
from domain.thrones.tables.variations import PRESETS

EDITIONS: dict[str, Edition] = {name: compose(preset.variations) for name, preset in PRESETS.items()}
"""What each preset plays by; a charter may differ from all of them (:func:`edition_of`)."""

_typed = {
    kernel.Answered: kernel.Answered[AnyAnswer],
    kernel.AnswerSealed: kernel.AnswerSealed[AnyAnswer],
    kernel.DraftKept: kernel.DraftKept[AnyAnswer],
}


class ThronesOf(Table[State]):
    """The rules of one edition, as the kernel needs them."""

    def __init__(self, edition: Edition) -> None:
        self.edition = edition

    citations = Citations(
        forced=("2E-GEN-14",),
        missed=("2E-GEN-19",),
        given=("2E-DP-43",),
        sealed=("2E-GEN-15",),
        whole=("2E-GEN-13",),
        seeds=("2E-GEN-17",),
        created=("2E-SET-1", "2E-SET-2", "2E-GEN-1"),
        gathered=("2E-SET-1", "2E-GEN-17"),
    )
    statable: Any = Union[tuple(f.STATABLE)]  # noqa: UP007  # built from a list
    position_stated = f.PositionStated
    hidden_stated = f.HiddenStated

    @property
    def procedures(self) -> dict[str, type[Procedure]]:
        return self.edition.procedures

    evolve = staticmethod(evolve)

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

    def held(self, state: State, decision: Decision[Any]) -> tuple[Held, ...]:
        return held(self, self.edition, state, decision)

    def held_by_ruling(self, state: State, answer: Answer) -> tuple[Held, ...]:
        return held_by_ruling(self, self.edition, state, answer)

    def in_doubt(self, past: Past, docket: Docket, against: int) -> Doubt:
        return in_doubt(self, self.edition, past, docket, against)

    def doubt_after(self, state: State, facts: tuple[kernel.Fact, ...], doubt: Doubt) -> Doubt:
        return doubt_after(self, self.edition, state, facts, doubt)

    # What the acts of an arbiter need

    def shuffle_again(self, game: Any, seed: str) -> None:
        """What lies in the decks. A wildling card that is being looked at, or resolved, stays on top."""
        hidden = game.state.hidden
        for deck in sorted(hidden.decks):
            is_turned = bool(hidden.seen) or on_the_table(self.edition, game.state) is not None
            drawn = 1 if deck == "wildling" and is_turned else 0
            top, rest = hidden.decks[deck][:drawn], hidden.decks[deck][drawn:]
            order = shuffled(seed, f"{deck}/redrawn/{len(game.state.docket.struck)}", tuple(sorted(rest)))
            game.emit(f.DeckRedrawn(deck=deck, cards=(*top, *order)), "2E-GEN-17")

    def why_absent(self, game: Any, fact: kernel.Fact) -> str:
        return why_absent(game, fact)

    def problems(self, state: State) -> tuple[str, ...]:
        return problems(self.game(state))

    def rests_on(self, state: State, answer: Answer, *, unseen: bool) -> Footprint:
        return footprint(self, self.edition, state, answer, unseen=unseen)

    def view(self, state: State, player: str) -> Any:
        return view(state, player, open_decisions(self, state, replaceable=True))

    def replaced(self, before: State, after: State, now: State) -> tuple[str, ...]:
        """Parts of the position, by name."""
        return tuple(sorted(part for part in changed_parts(before, after) if value(before, part) != value(now, part)))

    def follows(self, game: Any) -> tuple[Procedure, ...]:
        """Control and what follows from it, unless a march is half done: then its end sees to it (2E-CTL-16)."""
        return () if game.state.march or game.state.combat or game.state.is_over else (Consequences(),)

    def root(self, command: Start) -> Procedure:
        return Play(decks=command.decks)

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
    game_created = f.GameCreated
    gathering_began = f.GatheringBegan

    def evolve(self, state: State, fact: kernel.Fact) -> State:
        return evolve(state, fact)

    def rules_of(self, state: State) -> ThronesOf:
        return rules_by(state.charter)

    def rules_for(self, command: Start | Gather) -> ThronesOf:
        return rules_by(command.charter)

    def players(self, state: State) -> tuple[str, ...]:
        return state.houses

    def engine_for(self, charter: Charter) -> str:
        return pin(charter)

    def check_charter(self, charter: Charter) -> None:
        check_charter(charter)

    def dealt(self, command: Start) -> Charter:
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

    def gathered(self, past: Past) -> Start:
        agreed = next(fact for fact in past.facts(1) if isinstance(fact, f.GatheringBegan))
        return Start(charter=agreed.charter, deal=agreed.deal)


THRONES = Thrones()
