"""What is said at a table about disputes and about chance: short games for the words that no board shows.

Each script is one way of coming to what the words say; a word's game is the script by its charter. What is refused is
recorded, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import replace

from domain.kernel.arbiter import Correct, FileAppeal, ReadSecrets, Rewind, RuleOnAppeal
from domain.kernel.chance import commitment
from domain.kernel.commands import Command, PassDeadline, StateDraws
from domain.kernel.facts import Fact
from domain.kernel.joint import CloseShares, CommitShare, OpenShare, share_commitment
from domain.kernel.refusal import Refusal
from domain.kernel.shared import OpenSharedSeed, SharedSeed
from domain.thrones.bots import TEMPERAMENTS
from domain.thrones.language.facts import DeckShuffled
from domain.thrones.language.start import Gather, Start
from domain.thrones.rules.westeros.phase import WINTER_IS_COMING
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.charter import Charter
from tests.domain.thrones.games import Spec, play

FIRST_SEED, SECOND_SEED = "01" * 32, "02" * 32
NUMBER = 7
MOST_ANSWERS = 1_500


class Past:
    """The record before a ruling, for acts that look back."""

    def __init__(self) -> None:
        self.states: list[Any] = [THRONES.blank()]
        self.kept: list[tuple[Fact, ...]] = [()]

    @property
    def version(self) -> int:
        return len(self.states) - 1

    def state(self, entry: int) -> Any:
        return self.states[entry]

    def facts(self, entry: int) -> tuple[Fact, ...]:
        return self.kept[entry]

    def write(self, state: Any, facts: tuple[Fact, ...]) -> None:
        self.states.append(state)
        self.kept.append(facts)


class Table:
    """Says one command after the other, whether it is refused or not."""

    def __init__(self) -> None:
        self.past = Past()
        self.said: list[Command] = []

    @property
    def now(self) -> Any:
        return self.past.states[-1]

    def say(self, command: Command) -> Refusal | None:
        """The refusal, if it is one."""
        self.said.append(command)
        try:
            ruling = THRONES.decide(self.now, command, self.past)
        except Refusal as refusal:
            self.past.write(self.now, ())
            return refusal
        self.past.write(ruling.state, ruling.facts)
        return None

    def go_on(self, most: int = MOST_ANSWERS) -> None:
        """Every question is answered by its default, for so many answers or to the end."""
        for _ in range(most):
            decisions = THRONES.decisions(self.now)
            if not decisions:
                return
            refusal = self.say(decisions[0].default)
            if refusal is not None and refusal.code == "draw-not-stated":
                self.say(StateDraws(deck=refusal.params["deck"], cards=("nothing-like-it",)))
                self.say(decisions[0].default)
                self.say(StateDraws(deck=refusal.params["deck"], cards=()))


def seats(charter: Charter) -> Charter:
    return replace(charter, seats={f"seat-{number}": house for number, house in enumerate(charter.houses)})


def correction(house: str) -> dict[str, Any]:
    return {"fact": "PowerChanged", "house": house, "by": 1}


def disputes(charter: Charter, whole: bool = False) -> list[Command]:
    """Appeals within their limits and beyond, a game that goes on meanwhile, an arbiter who plays, causal rewinds."""
    table = Table()
    known = sorted(TEMPERAMENTS)
    moods = tuple(known[number % len(known)] for number in range(len(charter.houses)))
    for entry in play(Spec(NUMBER, charter, moods)):
        if table.past.version == 34:
            break
        table.say(entry.command)
    first, second, third, *_ = table.now.houses
    table.say(Correct(facts=(correction(first),), reason="One was forgotten.", by="luwin", plays=first))
    table.say(ReadSecrets(who="organiser", what="orders", why="A question."))
    table.say(FileAppeal(house=first, against=2, statement="Not that way."))
    table.say(FileAppeal(house=first, against=table.past.version - 4, statement="Nor that."))
    _answers(table)
    for back in (1, 2, 3):
        table.say(FileAppeal(house=second, against=table.past.version - 2 * back, statement="Nor that."))
    table.say(FileAppeal(house=second, against=30, statement="Nor that."))
    for outcome, appeal in zip(("declined", "upheld", "dismissed", "declined", "upheld"), range(1, 9), strict=False):
        table.say(RuleOnAppeal(appeal=appeal, outcome=outcome, opinion="It was right."))  # type: ignore[arg-type]
    _answers(table)
    for against in (20, 21, 22):
        table.say(FileAppeal(house=third, against=against, statement="And that?"))
        _answers(table)
        table.say(RuleOnAppeal(appeal=len(table.now.docket.appeals), outcome="declined", opinion="It was right."))
    for to in (28, 12, 6):
        back = Rewind(to=to, reason="Again.", causal=True, correction=(correction(second),), unseen=True)
        table.say(back)
        table.go_on(4)
    table.say(Rewind(to=20, reason="Everything anew.", seed=SECOND_SEED))
    table.go_on(MOST_ANSWERS if whole else 3)
    return table.said


def _answers(table: Table) -> None:
    """Everybody who owes an answer tries, and a deadline runs out."""
    for decision in THRONES.decisions(table.now):
        table.say(decision.default)
    for decision in THRONES.decisions(table.now):
        table.say(PassDeadline(player=decision.player, question=table.now.question))


def seeded(charter: Charter) -> list[Command]:
    """Houses are dealt and decks are shuffled; nobody states a draw."""
    table = Table()
    table.say(Start(charter=seats(charter), seed="no seed", deal=True))
    table.say(Start(charter=seats(charter), seed=FIRST_SEED, deal=True))
    table.say(StateDraws(deck="wildling", cards=()))
    table.go_on(60)
    return table.said


def imposed(charter: Charter) -> list[Command]:
    """Decks are stated before the game, later shuffles when they are wanted: Winter comes with the first card."""
    decks = {one.deck: _winter_first(one.cards) for one in _shuffles(replace(charter, chance="seeded"))}
    table = Table()
    table.say(Start(charter=charter))
    table.say(Start(charter=charter, decks=decks))
    table.say(StateDraws(deck="westeros-1", cards=decks["westeros-1"][::-1]))
    table.go_on(60)
    return table.said


def _shuffles(charter: Charter) -> Iterator[DeckShuffled]:
    ruling = THRONES.decide(THRONES.blank(), Start(charter=charter, seed=FIRST_SEED))
    return (fact for fact in ruling.facts if isinstance(fact, DeckShuffled))


def _winter_first(cards: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(cards, key=lambda card: card not in WINTER_IS_COMING))


def shared(charter: Charter) -> list[Command]:
    """A table of several: what the seed may not be, a whole game, and its opening, too early and in time."""
    charter = seats(replace(charter, shared=SharedSeed("cup", commitment(FIRST_SEED))))
    table = Table()
    table.say(Start(charter=charter, seed=SECOND_SEED, deal=True))
    table.say(Gather(charter=charter, seed=FIRST_SEED))
    table.say(Start(charter=charter, seed=FIRST_SEED, deal=True))
    table.go_on(3)
    table.say(OpenSharedSeed(shared="cup"))
    table.go_on()
    table.say(OpenSharedSeed(shared="another"))
    table.say(Rewind(to=4, reason="Over again."))
    table.say(OpenSharedSeed(shared="cup"))
    table.say(OpenSharedSeed(shared="cup"))
    return table.said


def joint(charter: Charter) -> list[Command]:
    """Server and seats make the seed: one seat is bound to nothing, one opens another part, one opens none."""
    charter = seats(charter)
    table = Table()
    table.say(Gather(charter=charter, seed=FIRST_SEED, deal=True))
    parts = {seat: f"{number + 16:x}" * 32 for number, seat in enumerate(sorted(charter.seats))}
    *bound, _ = sorted(parts)
    table.say(OpenShare(seat=bound[0], share=parts[bound[0]]))
    for seat in bound:
        table.say(CommitShare(seat=seat, commitment=share_commitment(seat, parts[seat])))
    table.say(CloseShares())
    table.say(OpenShare(seat=bound[0], share=parts[bound[1]]))
    for seat in reversed(bound[1:]):
        table.say(OpenShare(seat=seat, share=parts[seat]))
    table.say(CloseShares())
    table.go_on(4)
    return table.said


SCRIPTS: dict[str, Callable[[Charter], list[Command]]] = {
    "chance=stated": seeded,
    "chance=imposed": imposed,
    "seed=shared": shared,
    "seed=joint": joint,
}
"""Of the words about chance; those about disputes have :func:`disputes`."""
