"""Forks: a new game that begins where another one stands after one of its entries.

With everything as it was, it goes on exactly there. Otherwise it begins with what one House could know, or everybody:
what they cannot know is drawn anew under the fork's own seed, and secret answers of others are asked for again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from domain.kernel.chance import shuffled
from domain.kernel.docket import Docket, Origin, Rewound
from domain.kernel.facts import Fact
from domain.kernel.refusal import Refusal
from domain.thrones.language import facts as f
from domain.thrones.language.evolve import redacted
from domain.thrones.language.pieces import CardId, Deck, HouseId
from domain.thrones.language.start import Start
from domain.thrones.language.state import Hidden, State
from domain.thrones.tables.charter import Charter
from domain.thrones.tables.edition import Edition

with_ = msgspec.structs.replace


class Places(msgspec.Struct, frozen=True):
    """Cards that lie face down, each under a number of its own: decks from the top, and unrevealed Tides cards."""

    decks: dict[Deck, tuple[int, ...]] = {}
    drawn: dict[HouseId, int] = {}


class Memory:
    """What a House knows of cards that lie face down; ``house`` None is what everybody knows.

    It reads a record entry by entry. A card keeps its number until its deck is shuffled again, so that what was
    learned on a line that an arbiter has struck out still counts where the deck was put back as it had been.
    """

    def __init__(self, house: HouseId | None) -> None:
        self.house = house
        self.places = Places()
        self._names: dict[int, CardId] = {}
        self._after = [self.places]
        self._numbers = 0
        self._is_put_back = False

    def read(self, facts: Iterable[Fact]) -> None:
        """Read the next entry."""
        for fact in facts:
            self._take(fact)
        self._after.append(self.places)

    def deck(self, deck: Deck) -> tuple[CardId | None, ...]:
        """The cards of a deck from the top, None for those that are not known."""
        return self.named(self.places.decks.get(deck, ()))

    def named(self, numbers: Iterable[int]) -> tuple[CardId | None, ...]:
        """The cards that lie, or lay, under these numbers, None for those that are not known."""
        return tuple(self._names.get(number) for number in numbers)

    def drawn(self, house: HouseId) -> CardId | None:
        """The unrevealed Tides card of a House, if it is known."""
        return self._names.get(self.places.drawn.get(house, -1))

    def _take(self, fact: Fact) -> None:
        match fact:
            case f.DeckShuffled() | f.DeckRedrawn():
                self._lay(fact.deck, self._new(len(fact.cards)))
            case f.WesterosCardDrawn():
                self._name_top(fact.deck, fact.card)
                self._lay(fact.deck, self._pile(fact.deck)[1:])
            case f.WildlingCardRevealed():
                self._name_top("wildling", fact.card)
            case f.WildlingCardSeen() if fact.house == self.house:
                self._name_top("wildling", fact.card)
            case f.WildlingCardBuried() | f.WildlingCardReturned(to="bottom"):
                pile = self._pile("wildling")
                self._lay("wildling", (*pile[1:], *pile[:1]))
            case f.TidesCardDrawn():
                self._draw_tides(fact)
            case f.TidesRevealed():
                for house, card in fact.cards.items():
                    if house in self.places.drawn:
                        self._names[self.places.drawn[house]] = card
                decks = {deck: pile for deck, pile in self.places.decks.items() if deck != "tides"}
                self.places = Places(decks)
            case Rewound():
                self.places = self._after[fact.to]
                self._is_put_back = True
            case f.HiddenStated():
                self._state(fact.hidden)
            case _:
                pass

    def _state(self, hidden: Hidden) -> None:
        """The hidden part of a stated position: of a rewind, which was put back already, or of a start."""
        if self._is_put_back:
            self._is_put_back = False
            return
        decks = {deck: self._new(len(cards)) for deck, cards in sorted(hidden.decks.items())}
        drawn = {house: self._new(1)[0] for house in sorted(hidden.tides)}
        self.places = Places(decks, drawn)
        if self.house in hidden.seen:
            self._name_top("wildling", hidden.seen[self.house])
        if self.house in hidden.tides:
            self._names[drawn[self.house]] = hidden.tides[self.house]

    def _draw_tides(self, fact: f.TidesCardDrawn) -> None:
        if fact.house == self.house:
            self._name_top("tides", fact.card)
        pile = self._pile("tides")
        if pile:
            self.places = with_(self.places, drawn={**self.places.drawn, fact.house: pile[0]})
        self._lay("tides", pile[1:])

    def _new(self, count: int) -> tuple[int, ...]:
        self._numbers += count
        return tuple(range(self._numbers - count, self._numbers))

    def _pile(self, deck: Deck) -> tuple[int, ...]:
        return self.places.decks.get(deck, ())

    def _lay(self, deck: Deck, pile: tuple[int, ...]) -> None:
        self.places = with_(self.places, decks={**self.places.decks, deck: pile})

    def _name_top(self, deck: Deck, card: CardId) -> None:
        for number in self._pile(deck)[:1]:
            self._names[number] = card


def start_of_fork(
    edition: Edition,
    state: State,
    origin: Origin,
    seats: Mapping[str, HouseId],
    seed: str,
    memory: Memory | None = None,
    *,
    is_stated: bool = False,
) -> Start:
    """The command that begins a fork at a position. Without ``memory`` everything is as it was.

    ``memory`` has read the record up to the position; then only what it knows stays. The fork draws from its own
    ``seed``, never from that of its origin; ``is_stated`` says that somebody chose it. Raises Refusal for a position
    that nobody can go on from.
    """
    if not state.charter.edition:
        raise Refusal("not-started")
    if state.is_over:
        raise Refusal("game-over")
    if memory is None:
        hidden, who = _all(state.hidden), "with all that is hidden"
    else:
        hidden = _known(edition, state, memory, seed)
        state = with_(state, face_down={a: one for a, one in state.face_down.items() if one in hidden.answers})
        who = f"as {memory.house} knows it" if memory.house else "as everybody knows it"
    keeps_draws = memory is None and state.charter.chance == "imposed"
    charter = _charter(state.charter, seats, "imposed" if keeps_draws else "stated" if is_stated else "seeded")
    return Start(
        charter=charter,
        seed="" if keeps_draws else seed,
        position=with_(redacted(state), charter=charter, docket=Docket()),
        hidden=hidden,
        reason=f"that of {origin.game} after entry {origin.version}, {who}",
        origin=with_(origin, hidden=memory is None),
    )


def _charter(charter: Charter, seats: Mapping[str, HouseId], chance: str) -> Charter:
    """A fork draws from a seed of its own, whatever its origin shares."""
    return with_(charter, seats=dict(sorted(seats.items())), chance=chance, engine="", shared=msgspec.UNSET)


def _all(true: Hidden) -> Hidden:
    """Everything but seeds: those are opened when the fork ends, and its origin may still run."""
    return Hidden(
        decks=true.decks,
        answers=true.answers,
        drafts=true.drafts,
        seen=true.seen,
        tides=true.tides,
        stated=true.stated,
    )


def _known(edition: Edition, state: State, memory: Memory, seed: str) -> Hidden:
    """The hidden part with what is not known drawn anew.

    Of the true one it reads only what everybody can tell: which decks there are, who has drawn or seen a card.
    """
    house, true = memory.house, state.hidden
    known = {deck: memory.deck(deck) for deck in true.decks}
    top = true.seen.get(house) if house in true.seen else on_the_table(edition, state)
    if top is not None:
        known["wildling"] = (top, *known.get("wildling", ())[1:])
    decks = {
        deck: _redrawn(seed, deck, pool_of(edition, state, deck), known[deck])
        for deck in sorted(true.decks)
        if deck != "tides"
    }
    holders = sorted(true.tides)
    tides: tuple[CardId, ...] = ()
    if "tides" in true.decks:
        own = {one: card for one, card in true.tides.items() if one == house}
        places = (*(own.get(holder, memory.drawn(holder)) for holder in holders), *known["tides"])
        tides = _redrawn(seed, "tides", edition.tides_deck, places)
        decks["tides"] = tides[len(holders) :]
    return Hidden(
        decks=decks,
        answers={one: answer for one, answer in true.answers.items() if one == house},
        drafts={one: draft for one, draft in true.drafts.items() if one == house},
        seen=dict.fromkeys(sorted(true.seen), decks.get("wildling", ("",))[0]),
        tides=dict(zip(holders, tides, strict=False)),
    )


def pool_of(edition: Edition, state: State, deck: Deck) -> tuple[CardId, ...]:
    """What lies in a deck by what everybody can see: used wildling cards go back, Westeros cards lie open."""
    if deck == "wildling":
        return edition.wildling_deck
    left = Counter(edition.westeros_decks[deck])
    left.subtract(state.westeros_discards.get(deck, ()))
    left.subtract([state.westeros_cards[deck]] if deck in state.westeros_cards else [])
    return tuple(sorted((+left).elements()))


def on_the_table(edition: Edition, state: State) -> CardId | None:
    """The wildling card that is being resolved; it is turned up and still the top of its deck."""
    running = {frame["procedure"] for frame in state.frames}
    cards = sorted(edition.wildling_procedures.items())
    return next((card for card, one in cards if one.__struct_config__.tag in running), None)


def _redrawn(seed: str, deck: Deck, pool: Iterable[CardId], known: tuple[CardId | None, ...]) -> tuple[CardId, ...]:
    """The cards of a pool in a new order, those known in their places."""
    return laid(pool, known, lambda left: shuffled(seed, f"{deck}/fork", left))


def laid(
    pool: Iterable[CardId],
    known: Sequence[CardId | None],
    order: Callable[[Sequence[CardId]], Sequence[CardId]] = tuple,
) -> tuple[CardId, ...]:
    """The cards of a pool, those known in their places, the others in ``order``, canonical if none is said."""
    left = sorted(pool)
    places: list[CardId | None] = [None] * len(left)
    for place, card in enumerate(known[: len(places)]):
        if card in left:
            left.remove(card)
            places[place] = card
    fresh = iter(order(left))
    return tuple(next(fresh) if card is None else card for card in places)
