"""Deck orders that a log gives away: the Westeros cards of each round, and the wildling deck as it is dealt down."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from api.games.thrones.logs import records as r
from domain.kernel.commands import StateDraws
from domain.thrones.language.pieces import CardId, Deck, TidesCard
from domain.thrones.tables.edition import Edition


class Dealt(msgspec.Struct, frozen=True):
    """The orders of the decks at the start, later shuffles in their order, and cards that were only assumed.

    ``assumed`` names a deck with the round, or 0 for cards that the log never shows.
    """

    decks: dict[Deck, tuple[CardId, ...]]
    shuffles: tuple[StateDraws, ...]
    assumed: tuple[tuple[Deck, int], ...]
    problems: tuple[str, ...] = ()


def deal(log: Sequence[r.Entry], edition: Edition, *, tides: bool = False) -> Dealt:
    """What the decks of a game must have been; with ``tides`` the Tides of Battle cards of each battle too."""
    rounds = max((entry.round for entry in log), default=1)
    decks: dict[Deck, tuple[CardId, ...]] = {}
    shuffles: list[StateDraws] = []
    assumed: list[tuple[Deck, int]] = []
    problems: list[str] = []
    piles = {deck: list(cards) for deck, cards in edition.westeros_decks.items()}
    told = {
        number: westeros_cards([entry.record for entry in log if entry.round == number], edition)
        for number in range(2, rounds + 1)
    }
    for deck, pile in piles.items():
        runs: list[list[CardId]] = [[]]
        for number in range(2, rounds + 1):
            for card in told[number][deck] or [""]:
                if not card:
                    assumed.append((deck, number))
                if len(runs[-1]) >= len(pile):
                    runs.append([])
                runs[-1].append(card)
                if card.endswith("winter-is-coming"):
                    runs.append([])
        for number, run in enumerate(runs):
            order, unfit = _completed(run, pile)
            problems += [f"{card} comes more often from {deck} than the deck has it" for card in unfit]
            if number == 0:
                decks[deck] = order
            else:
                shuffles.append(StateDraws(deck=deck, cards=order))
    if tides:
        drawn = list(_tides(log, edition))
        shuffles += [StateDraws(deck="tides", cards=cards) for cards, _ in drawn]
        assumed += [("tides", number) for _, number in drawn if number]
    if edition.wildling_deck:
        decks["wildling"], unfit = _wildlings(log, edition.wildling_deck)
        problems += unfit
    return Dealt(decks, tuple(shuffles), tuple(assumed), tuple(problems))


def _completed(run: Iterable[CardId], pile: Sequence[CardId]) -> tuple[tuple[CardId, ...], list[CardId]]:
    """A whole deck that begins as told; an empty place takes a card that changes least, and unfit cards stay out."""
    left = sorted(pile, key=lambda card: (not _is_quiet(card), card))
    unfit = []
    order: list[CardId] = []
    wanted = list(run)
    for card in wanted:
        if card and card not in left:
            unfit.append(card)
        elif card:
            left.remove(card)
            order.append(card)
        else:
            order.append("")
    for place, card in enumerate(order):
        if not card:
            order[place] = left.pop(0)
    return (*order, *left), unfit


def _is_quiet(card: CardId) -> bool:
    return card[3:] in ("last-days-of-summer", "feast-for-crows", "web-of-lies", "mustering")


# One Westeros phase


def westeros_cards(records: Sequence[r.Record], edition: Edition) -> dict[Deck, list[CardId]]:
    """The cards that each deck gave in one Westeros phase, Winter is Coming first; empty where nothing tells."""
    known = {deck: {card[3:]: card for card in cards} for deck, cards in edition.westeros_decks.items()}
    found: dict[Deck, list[CardId]] = {deck: [] for deck in known}
    came: dict[Deck, CardId] = {}
    first, second, third = tuple(known)[:3]
    for record in records:
        name = ""
        match record:
            case r.WesterosChoice() | r.WesterosCardShown():
                name = record.card
            case r.SupplyCounted():
                name = "supply"
            case r.Mustered():
                name = "mustering"
            case r.GameOfThronesPower():
                name = "game-of-thrones"
            case r.Bid():
                name = "clash-of-kings"
            case r.WinterCame():
                deck = _deck_of_winter(record.card, known, found)
                if deck:
                    winter = known[deck].get("winter-is-coming")
                    if winter:
                        found[deck].append(winter)
                    came[deck] = known[deck].get(record.card, "")
                continue
            case _:
                continue
        if name == "last-days-of-summer":
            deck = _deck_of_last_days(known, found, came)
            if deck:
                found[deck].append(known[deck][name])
            continue
        for deck in (first, second, third):
            if name in known[deck] and not _shown(found[deck]) and not _is_consequence(name, found):
                found[deck].append(known[deck][name])
    for deck, card in came.items():
        if card and not _shown(found[deck]):
            found[deck].append(card)
    attacks = "wildlings-attack" if "wildlings-attack" in known[third] else "wildling-attack"
    if not _shown(found[third]) and attacks in known[third] and any(isinstance(one, r.WildlingBid) for one in records):
        found[third].append(known[third][attacks])
    if records and not _shown(found[first]) and "mustering" in known[first] and (_shown(found[second])):
        found[first].append(known[first]["mustering"])
    for deck in known:
        if not _shown(found[deck]):
            found[deck].append("")
    return found


def _shown(cards: Iterable[CardId]) -> bool:
    return any(not card.endswith("winter-is-coming") for card in cards)


def _is_consequence(name: str, found: Mapping[Deck, list[CardId]]) -> bool:
    """Whether a choice of another card brought this about."""
    cards = {card[3:] for drawn in found.values() for card in drawn}
    return (name in ("supply", "mustering") and "a-throne-of-blades" in cards) or (
        name in ("clash-of-kings", "game-of-thrones") and "dark-wings-dark-words" in cards
    )


def _deck_of_winter(card: str, known: Mapping[Deck, Mapping[str, CardId]], found: Mapping[Deck, list[CardId]]) -> Deck:
    """The deck that Winter is Coming shuffled: the one that has what came instead, the first of them that is open."""
    fitting = [deck for deck, cards in known.items() if card in cards and "winter-is-coming" in cards]
    return next((deck for deck in fitting if not _shown(found[deck])), fitting[0] if fitting else "")


def _deck_of_last_days(
    known: Mapping[Deck, Mapping[str, CardId]], found: Mapping[Deck, list[CardId]], came: Mapping[Deck, CardId]
) -> Deck:
    """The deck whose Last Days of Summer is shown: where it came after Winter is Coming, or the next one in turn."""
    name = "last-days-of-summer"
    fitting = [deck for deck in known if name in known[deck] and not _shown(found[deck])]
    awaited = [deck for deck in fitting if came.get(deck, "").endswith(name)]
    last = max((number for number, deck in enumerate(known) if _shown(found[deck])), default=-1)
    later = [deck for deck in tuple(known)[last + 1 :] if deck in fitting and not came.get(deck)]
    return next(iter((*awaited, *later, *fitting)), "")


# Tides of Battle


def _tides(log: Sequence[r.Entry], edition: Edition) -> Iterator[tuple[tuple[CardId, ...], int]]:
    """The cards of each battle in turn; where a log does not tell, cards without effect, and the round as assumed."""
    plain = [card for card in edition.tides_deck if _is_plain(edition.tides[card])]
    for place, entry in enumerate(log):
        record = entry.record
        if not isinstance(record, r.Marched) or record.attack is None:
            continue
        told: list[CardId] = []
        for later in log[place + 1 :]:
            if isinstance(later.record, r.Marched | r.OrderGivenUp) or later.round != entry.round:
                break
            if isinstance(later.record, r.TidesDrawn) and later.record.card in edition.tides:
                told.append(later.record.card)
        yield (tuple(told), 0) if told else (tuple(plain[:2]), entry.round)


def _is_plain(card: TidesCard) -> bool:
    return not (card.strength or card.swords or card.fortifications or card.skulls)


# The wildling deck


def _wildlings(log: Iterable[r.Entry], cards: Sequence[CardId]) -> tuple[tuple[CardId, ...], list[str]]:
    """The order that explains every card drawn, given which cards went to the bottom; the rest as they are listed."""
    places = list(range(len(cards)))
    order: dict[int, CardId] = {}
    problems: list[str] = []
    for entry in log:
        record = entry.record
        if isinstance(record, r.RavenBuried):
            places.append(places.pop(0))
        elif isinstance(record, r.WildlingCardDrawn):
            place = places.pop(0)
            places.append(place)
            card = record.card
            if card not in cards or order.get(place, card) != card or (card in order.values() and place not in order):
                problems.append(f"entry {entry.number}: {card} cannot be on top of the wildling deck")
                continue
            order[place] = card
    left = [card for card in cards if card not in order.values()]
    return tuple(order.get(place) or left.pop(0) for place in range(len(cards))), problems
