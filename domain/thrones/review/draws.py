"""Draws against their seeds (2E-GEN-17): every shuffle made again from the seed and the occasion.

Somebody who holds every fact checks each shuffle. Somebody who holds the public ones checks, once the seed is open,
the Westeros cards that were drawn; the other decks are not open to him card by card.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from domain.kernel.chance import commitment, shuffled
from domain.kernel.docket import ShareOpened
from domain.kernel.facts import Fact, SeedCommitted, SeedOpened
from domain.kernel.joint import joint_seed
from domain.kernel.shared import SharedSeed
from domain.thrones.language import facts as f
from domain.thrones.language.evolve import evolve
from domain.thrones.language.state import State
from domain.thrones.review.forking import on_the_table
from domain.thrones.rules.westeros.phase import WINTER_IS_COMING
from domain.thrones.tables.charter import Charter
from domain.thrones.tables.edition import Edition

NOT_SHARED = "the seed is not the shared one that the charter names"


class Wrong(msgspec.Struct, frozen=True):
    """A draw, or a seed, that does not come out."""

    entry: int
    what: str


class Drawn(msgspec.Struct, frozen=True):
    """What was found: draws proven by an open seed, drawn from a seed still sealed, stated from outside, and wrong.

    ``awaits`` is a shared seed that is still sealed, since other tables draw from it.
    """

    proven: int
    unproven: int
    imposed: int
    wrong: tuple[Wrong, ...]
    awaits: SharedSeed | None = None


class Draws:
    """Takes all facts of a game, entry by entry, sealed ones included."""

    def __init__(self, edition_of: Callable[[Charter], Edition]) -> None:
        self._edition_of = edition_of
        self._state = State()
        self._commitments: list[str] = []
        self._opened: set[str] = set()
        self._seeds: list[str] = []
        self._imposed = 0
        self._wrong: list[Wrong] = []

    def add(self, entry: int, facts: Iterable[Fact]) -> None:
        for fact in facts:
            problem = self._problem(fact)
            if problem:
                self._wrong.append(Wrong(entry, problem))
            self._state = evolve(self._state, fact)

    def _problem(self, fact: Fact) -> str:
        seed = self._state.hidden.seed
        match fact:
            case SeedCommitted():
                self._commitments.append(fact.commitment)
                if not seed or commitment(seed) != fact.commitment:
                    return "the commitment is not that of the seed"
                shared = self._state.charter.shared_seed
                if shared is not None and self._commitments[0] != shared.commitment:
                    return NOT_SHARED
                return "" if self._is_joint() else "the seed is not the one that server and seats have made together"
            case SeedOpened():
                self._opened.add(fact.seed)
                known = commitment(fact.seed) in self._commitments
                return "" if known else "the seed that was opened is not one that was committed to"
            case f.DeckShuffled():
                if self._state.charter.chance == "imposed" or fact.occasion == "imposed":
                    self._imposed += 1
                    return ""
                return self._shuffle(fact.deck, fact.occasion, fact.cards)
            case f.DeckRedrawn():
                return self._redrawn(fact)
            case f.WesterosCardDrawn():
                return self._top(fact.deck, fact.card)
            case f.WildlingCardRevealed() | f.WildlingCardSeen():
                return self._top("wildling", fact.card)
            case f.TidesCardDrawn():
                return self._top("tides", fact.card)
            case _:
                return ""

    def _redrawn(self, fact: f.DeckRedrawn) -> str:
        """What lay in the deck is shuffled again; a wildling card that was looked at, or is resolved, stays on top."""
        state = self._state
        is_turned = bool(state.hidden.seen) or on_the_table(self._edition_of(state.charter), state) is not None
        drawn = 1 if fact.deck == "wildling" and is_turned else 0
        occasion = f"{fact.deck}/redrawn/{len(state.docket.struck)}"
        problem = self._shuffle(fact.deck, occasion, fact.cards[drawn:])
        before = state.hidden.decks.get(fact.deck, ())
        if sorted(fact.cards) != sorted(before) or fact.cards[:drawn] != before[:drawn]:
            return problem or f"the {fact.deck} deck was redrawn from other cards than lay in it"
        return problem

    def _top(self, deck: str, card: str) -> str:
        pile = self._state.hidden.decks.get(deck, ())
        return "" if pile[:1] == (card,) else f"{card} is not the top card of the {deck} deck"

    def _is_joint(self) -> bool:
        """Whether the first seed of a game is made of all parts, where the seats have added some."""
        joint, former = self._state.docket.joint, self._state.hidden.former
        if joint is None or len(former) != 1 or self._state.round:
            return True
        return self._state.hidden.seed == joint_seed(former[0], joint.shares)

    def _shuffle(self, deck: str, occasion: str, cards: tuple[str, ...]) -> str:
        seed = self._state.hidden.seed
        self._seeds.append(seed)
        right = bool(seed) and shuffled(seed, occasion, tuple(sorted(cards))) == cards
        return "" if right else f"the {deck} deck ({occasion}) does not follow from the seed"

    def drawn(self) -> Drawn:
        """What is found so far."""
        proven = sum(seed in self._opened for seed in self._seeds)
        shared = self._state.charter.shared_seed
        awaits = None if shared is None or shared.commitment in map(commitment, self._opened) else shared
        return Drawn(proven, len(self._seeds) - proven, self._imposed, tuple(self._wrong), awaits)


class PublicDraws:
    """Takes the facts of a game as anybody may read them; whatever is no fact is the place of a sealed one."""

    def __init__(self, edition_of: Callable[[Charter], Edition]) -> None:
        self._edition_of = edition_of
        self._edition: Edition | None = None
        self._chance = ""
        self._shared: SharedSeed | None = None
        self._commitments: list[str] = []
        self._opened: dict[str, str] = {}
        self._server = self._first = ""
        self._shares: dict[str, str] = {}
        self._round = 0
        self._followed = True
        self._cards: list[tuple[int, int, f.WesterosCardDrawn]] = []
        self._wrong: list[Wrong] = []

    def add(self, entry: int, facts: Sequence[Any]) -> None:
        for fact in facts:
            match fact:
                case f.GameCreated():
                    self._edition = self._edition_of(fact.charter)
                    self._chance = fact.charter.chance
                    self._shared = fact.charter.shared_seed
                case f.PositionStated():
                    self._followed = False  # decks that were stated, or drawn anew, follow from no set-up
                case f.RoundBegan():
                    self._round = fact.round
                case f.WesterosCardDrawn() if self._followed:
                    self._cards.append((entry, self._round, fact))
                case SeedCommitted():
                    self._commitments.append(fact.commitment)
                    if self._edition is None:
                        self._server = fact.commitment
                    else:
                        if self._shared is not None and self._shared.commitment != (self._first or fact.commitment):
                            self._wrong.append(Wrong(entry, NOT_SHARED))
                        self._first = self._first or fact.commitment
                case ShareOpened():
                    self._shares[fact.seat] = fact.share
                case SeedOpened():
                    self._opened[commitment(fact.seed)] = fact.seed
                    if commitment(fact.seed) not in self._commitments:
                        what = "the seed that was opened is not one that was committed to"
                        self._wrong.append(Wrong(entry, what))
                case _:
                    pass

    def drawn(self) -> Drawn:
        """Westeros cards, once the seed is open."""
        if self._edition is None or self._chance == "imposed":
            return Drawn(0, 0, len(self._cards), tuple(self._wrong))
        seed = self._opened.get(self._first)
        if seed is None:
            return Drawn(0, len(self._cards), 0, tuple(self._wrong), self._shared)
        wrong = list(self._wrong)
        server = self._opened.get(self._server)
        if server is not None and joint_seed(server, self._shares) != seed:
            wrong.append(Wrong(1, "the seed is not the one that server and seats have made together"))
        told = len(wrong)
        for deck, cards in self._edition.westeros_decks.items():
            wrong += self._westeros(seed, deck, tuple(sorted(cards)))
        return Drawn(len(self._cards) - len(wrong) + told, 0, 0, tuple(wrong))

    def _westeros(self, seed: str, deck: str, pile: tuple[str, ...]) -> Iterable[Wrong]:
        """The deck as the seed gives it, shuffled whole again where it ran out or Winter came."""
        order = list(shuffled(seed, f"{deck}/set-up", pile))
        shuffles: dict[int, int] = {}

        def again(entry: int, round_: int) -> list[str]:
            shuffles[entry] = shuffles.get(entry, 0) + 1
            return list(shuffled(seed, f"{deck}/round-{round_}/{shuffles[entry]}", pile))

        for entry, round_, fact in self._cards:
            if fact.deck != deck:
                continue
            order = order or again(entry, round_)
            if order.pop(0) != fact.card:
                yield Wrong(entry, f"{fact.card} is not the card of deck {deck} that follows from the seed")
                return
            if fact.card in WINTER_IS_COMING:
                order = again(entry, round_)
