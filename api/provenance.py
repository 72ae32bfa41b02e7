"""Where a drawn card comes from: which shuffle, which place in it, and how to check that once the seed is open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from api.desk import Desk
from api.games.thrones.sentences import Prose
from domain.kernel.chance import commitment, shuffled
from domain.kernel.docket import Docket, Rewound
from domain.thrones.language import facts as f
from events import codec
from events.envelope import Stored

_TELLING = (
    *(b"DeckShuffled", b"DeckRedrawn", b"HiddenStated", b"Rewound", b"WesterosCardDrawn", b"TidesCardDrawn"),
    *(b"WildlingCardRevealed", b"WildlingCardBuried", b"WildlingCardSeen", b"WildlingCardReturned", b"TidesRevealed"),
)
"""Facts that shuffle, draw or move cards; their names stand in an entry even where they are sealed."""

_SHOWING = f.WesterosCardDrawn | f.WildlingCardRevealed | f.WildlingCardSeen | f.TidesCardDrawn | f.TidesRevealed
_SHUFFLES = ("DeckShuffled", "DeckRedrawn")


class CardDrawn(msgspec.Struct, frozen=True):
    """A card that came off a deck: card ``place`` of the order that the deck got in entry ``entry``, counted from 1.

    ``commitment`` = SHA-256(salt ‖ body) binds that order from that entry on; the certificate of the entry has it too.
    Once the seed is open, ``salt``, ``body`` and the whole ``order`` are there. Where a deck was stated and not
    shuffled, ``occasion`` and ``commitment`` are empty.
    """

    card: str
    name: str
    deck: str
    entry: int
    occasion: str
    place: int
    commitment: str
    proof: str
    order: tuple[str, ...] = ()
    salt: str = ""
    body: str = ""


class _Order(msgspec.Struct, frozen=True):
    """An order that a deck got: in which entry, for which occasion, with the sealed part that binds it."""

    entry: int
    occasion: str = ""
    cards: tuple[str, ...] = ()
    commitment: str = ""
    salt: str = ""
    body: str = ""


class _Place(msgspec.Struct, frozen=True):
    """A card's place in an order."""

    order: _Order
    number: int


class _Piles:
    """The decks as facts shuffle, draw and bury: of every card in them, the order that it comes from."""

    def __init__(self) -> None:
        self.decks: dict[str, list[_Place]] = {}
        self.drawn: dict[int, list[tuple[str, _Place]]] = {}
        self._tides: dict[str, _Place] = {}
        self._turned = False

    def add(self, number: int, fact: Any, order: _Order) -> None:
        """Take the facts of the line in turn. What a fact shows is then in ``drawn``, under its number."""
        match fact:
            case f.DeckShuffled():
                self.decks[fact.deck] = _places(order)
            case f.DeckRedrawn():
                # A wildling card that was looked at, or is being resolved, stays on top.
                kept = self.decks[fact.deck][:1] if fact.deck == "wildling" and self._turned else []
                self.decks[fact.deck] = [*kept, *_places(order)[len(kept) :]]
            case f.WesterosCardDrawn():
                self.drawn[number] = [(fact.card, self._top(fact.deck))]
            case f.WildlingCardRevealed() | f.WildlingCardSeen():
                self._turned = True
                self.drawn[number] = [(fact.card, self._top("wildling", stays=True))]
            case f.WildlingCardBuried():
                self._bury()
            case f.WildlingCardReturned():
                self._turned = False
                if fact.to == "bottom":
                    self._bury()
            case f.TidesCardDrawn():
                self._tides[fact.house] = self._top("tides")
                self.drawn[number] = [(fact.card, self._tides[fact.house])]
            case f.TidesRevealed():
                self.drawn[number] = [
                    (fact.cards[house], place) for house, place in sorted(self._tides.items()) if house in fact.cards
                ]
                self._tides = {}
            case _:
                pass

    def state(self, entry: int, decks: Iterable[tuple[str, tuple[str, ...]]]) -> None:
        """Decks that were stated with a position."""
        for deck, cards in decks:
            self.decks[deck] = _places(_Order(entry, cards=cards))

    def _top(self, deck: str, *, stays: bool = False) -> _Place:
        pile = self.decks[deck]
        return pile[0] if stays else pile.pop(0)

    def _bury(self) -> None:
        self._turned = False
        self.decks["wildling"].append(self._top("wildling"))


def _places(order: _Order) -> list[_Place]:
    return [_Place(order, number) for number in range(1, len(order.cards) + 1)]


def cards_drawn(
    desk: Desk,
    game: str,
    seq: int,
    docket: Docket,
    shown: Sequence[Any],
    *,
    prose: Prose,
    seeds: tuple[str, ...] = (),
    chance: str = "seeded",
) -> tuple[CardDrawn, ...]:
    """Every card that the facts of an entry show to their reader. ``docket`` is that of the state after the entry.

    ``shown`` are the facts of the entry as he may read them, ``seeds`` those that are open to everybody.
    """
    if not any(isinstance(fact, _SHOWING) for fact in shown):
        return ()
    piles = _Piles()
    line = set(docket.line_to(seq))
    for stored in desk.store.entries(game, 0, seq):
        entry = codec.entry(stored)
        if entry.seq in line and any(name in stored.public for name in _TELLING):
            _follow(desk, piles, entry.seq, stored, docket)
    return tuple(
        _told(
            CardDrawn(card, prose.name(card), _deck_of(fact), 0, "", place.number, "", ""), place.order, seeds, chance
        )
        for number, fact in enumerate(shown)
        if isinstance(fact, _SHOWING)
        for card, place in piles.drawn.get(number, ())
    )


def _deck_of(fact: Any) -> str:
    if isinstance(fact, f.WesterosCardDrawn):
        return str(fact.deck)
    return "tides" if isinstance(fact, f.TidesCardDrawn | f.TidesRevealed) else "wildling"


def _follow(desk: Desk, piles: _Piles, entry: int, stored: Stored, docket: Docket) -> None:
    """One entry of the line; what its facts show is numbered by their place in it."""
    piles.drawn = {}
    read = codec.entry(stored)
    facts = desk.judge.codec.facts(stored, read)
    is_rewind = any(isinstance(fact, Rewound) for fact in facts)
    for number, (fact, raw) in enumerate(zip(facts, map(bytes, read.facts), strict=True)):
        order = _Order(entry)
        placeholder = codec.sealed_fact(raw)
        if placeholder is not None and placeholder.fact in _SHUFFLES:
            part = stored.sealed[placeholder.sealed]
            order = _Order(
                entry,
                occasion_of(fact, entry, docket),
                fact.cards,
                part.commitment,
                part.salt,
                bytes(part.body).decode(),
            )
        if isinstance(fact, f.HiddenStated) and not is_rewind:  # a rewind restores the decks that the line has led to
            piles.state(entry, sorted(fact.hidden.decks.items()))
        piles.add(number, fact, order)


def occasion_of(fact: f.DeckShuffled | f.DeckRedrawn, entry: int, docket: Docket) -> str:
    """What a shuffle is drawn for; ``docket`` is that of this entry or of a later one."""
    if isinstance(fact, f.DeckShuffled):
        return fact.occasion
    return f"{fact.deck}/redrawn/{sum(last < entry for _, last in docket.struck)}"


def seed_of(occasion: str, cards: tuple[str, ...], seeds: Iterable[str]) -> str:
    """The open seed that an order follows from; empty where it is not open.

    Of a redrawn wildling deck the top card may have stayed where it was.
    """
    for seed in seeds:
        for kept in (0, 1) if "/redrawn/" in occasion else (0,):
            if shuffled(seed, occasion, tuple(sorted(cards[kept:]))) == cards[kept:]:
                return seed
    return ""


def _told(bare: CardDrawn, order: _Order, seeds: tuple[str, ...], chance: str) -> CardDrawn:
    change = msgspec.structs.replace
    told = change(bare, entry=order.entry, occasion=order.occasion, commitment=order.commitment)
    if not order.occasion:
        return change(told, proof="stated with the position; the game that it comes from has the proof")
    if chance == "imposed":
        return change(told, proof="stated from outside; there is no proof of it")
    if not seeds:
        proof = (
            f"committed to since then; once the seed is open, shuffle the deck for {order.occasion} "
            f"and card {told.place} is this one"
        )
        return change(told, proof=proof)
    seed = seed_of(order.occasion, order.cards, seeds)
    proof = "the seed that it was drawn from has not been opened"
    if seed:
        proof = (
            f"follows from seed {seed}, which was committed to as {commitment(seed)}: "
            f"card {told.place} of the order below, which has the commitment SHA-256(salt ‖ body)"
        )
    return change(told, proof=proof, order=order.cards, salt=order.salt, body=order.body)


def lines_of(cards: Sequence[CardDrawn]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """For a text: a sentence for each card, and the lines that must stay as they are."""
    for one in cards:
        where = f"card {one.place} of the {one.deck} deck as entry {one.entry} "
        where += f"shuffled it ({one.occasion})" if one.occasion else "had it"
        fixed: tuple[str, ...] = (f"commitment {one.commitment}",) if one.commitment else ()
        if one.salt:
            fixed += (f"salt       {one.salt}", f"body       {one.body}")
        yield f"{one.name}: {where}; {one.proof}.", fixed
