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
from domain.thrones import facts as f
from domain.thrones.charter import Charter
from domain.thrones.edition import Edition
from domain.thrones.evolve import evolve
from domain.thrones.procedures.westeros_phase import WINTER_IS_COMING
from domain.thrones.state import State


class Wrong(msgspec.Struct, frozen=True):
    """A draw, or a seed, that does not come out."""

    entry: int
    what: str


class Drawn(msgspec.Struct, frozen=True):
    """What was found: draws proven by an open seed, drawn from a seed still sealed, stated from outside, and wrong."""

    proven: int
    unproven: int
    imposed: int
    wrong: tuple[Wrong, ...]


class Draws:
    """Takes all facts of a game, entry by entry, sealed ones included."""

    def __init__(self) -> None:
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
                # A wildling card that somebody has looked at stays on top.
                seen = 1 if fact.deck == "wildling" and self._state.hidden.seen else 0
                occasion = f"{fact.deck}/redrawn/{len(self._state.docket.struck)}"
                return self._shuffle(fact.deck, occasion, fact.cards[seen:])
            case _:
                return ""

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
        return Drawn(proven, len(self._seeds) - proven, self._imposed, tuple(self._wrong))


class PublicDraws:
    """Takes the facts of a game as anybody may read them; whatever is no fact is the place of a sealed one."""

    def __init__(self, edition_of: Callable[[Charter], Edition]) -> None:
        self._edition_of = edition_of
        self._edition: Edition | None = None
        self._chance = ""
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
            return Drawn(0, len(self._cards), 0, tuple(self._wrong))
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
