"""Draws of games that were taken back, with new draws and without, several times and in the middle of things.

What :mod:`domain.thrones.review.draws` says of a record is compared with what is written down here once more from
2E-GEN-17: which seed was in force, and the permutation that HMAC-SHA-256 over the occasion makes of it.
"""

from __future__ import annotations

import hashlib
import hmac
import random
from collections.abc import Iterator
from functools import cache

import msgspec
import pytest

from domain.kernel.arbiter import Rewind
from domain.kernel.facts import Fact, SeedCommitted, SeedSealed
from domain.thrones.language import facts as f
from domain.thrones.review.draws import Drawn, Draws
from domain.thrones.ruleset import EDITIONS
from domain.thrones.tables.editions.composed import edition_of
from tests.domain.thrones.review.rewinds import Book, bare, played, with_

pytestmark = pytest.mark.slow

GAMES = (4, 5, 6, 7, 12, 13)
"""Games with Tides of Battle, of three to six players."""

DRAWN = (
    f.DeckShuffled,
    f.DeckRedrawn,
    f.WesterosCardDrawn,
    f.WildlingCardRevealed,
    f.WildlingCardSeen,
    f.TidesCardDrawn,
)
MAGIC = b"rookery/chance/1\x00"


# Once more


def words(seed: str, occasion: str) -> Iterator[int]:
    for block in range(10_000):
        text = MAGIC + occasion.encode() + b"\x00" + block.to_bytes(8, "big")
        digest = hmac.digest(bytes.fromhex(seed), text, "sha256")
        yield from (int.from_bytes(digest[at : at + 8], "big") for at in (0, 8, 16, 24))


def order(seed: str, occasion: str, cards: list[str]) -> list[str]:
    """The cards of an occasion, from the top: Durstenfeld's shuffle of the sorted pile."""
    pile, chance = sorted(cards), words(seed, occasion)
    for last in reversed(range(1, len(pile))):
        fair = 2**64 // (last + 1) * (last + 1)
        other = next(word for word in chance if word < fair) % (last + 1)
        pile[last], pile[other] = pile[other], pile[last]
    return pile


def draws_of(book: Book) -> list[tuple[int, int]]:
    """The entry and number of every fact that draws, or shows, a card."""
    return [
        (entry, number)
        for entry in range(1, book.version + 1)
        for number, fact in enumerate(book.facts(entry))
        if isinstance(fact, DRAWN)
    ]


def check_by_hand(book: Book) -> int:
    """Follow seeds and decks through the record; the number of shuffles."""
    seed, shuffles, rewinds = "", 0, 0
    decks: dict[str, tuple[str, ...]] = {}
    for entry in range(1, book.version + 1):
        command = book.commands[entry]
        rewinds += isinstance(command, Rewind)
        for fact in book.facts(entry):
            match fact:
                case SeedSealed():
                    seed = fact.seed
                case SeedCommitted():
                    assert fact.commitment == hashlib.sha256(MAGIC + bytes.fromhex(seed)).hexdigest()
                case f.HiddenStated():
                    seed, decks = fact.hidden.seed, dict(fact.hidden.decks)
                case f.DeckShuffled():
                    assert list(fact.cards) == order(seed, fact.occasion, list(fact.cards)), (entry, fact.occasion)
                    decks[fact.deck] = fact.cards
                    shuffles += 1
                case f.DeckRedrawn():
                    kept = len(fact.cards) - next(
                        size
                        for size in (len(fact.cards), len(fact.cards) - 1)
                        if list(fact.cards[-size:])
                        == order(seed, f"{fact.deck}/redrawn/{rewinds}", list(fact.cards[-size:]))
                    )
                    assert fact.cards[:kept] == decks[fact.deck][:kept] and (kept == 0 or fact.deck == "wildling")
                    assert sorted(fact.cards) == sorted(decks[fact.deck])
                    decks[fact.deck] = fact.cards
                    shuffles += 1
                case f.WesterosCardDrawn():
                    assert decks[fact.deck][0] == fact.card
                    decks[fact.deck] = decks[fact.deck][1:]
                case f.TidesCardDrawn():
                    assert decks["tides"][0] == fact.card
                    decks["tides"] = decks["tides"][1:]
                case f.WildlingCardRevealed() | f.WildlingCardSeen():
                    assert decks["wildling"][0] == fact.card
                case f.WildlingCardBuried() | f.WildlingCardReturned(to="bottom"):
                    decks["wildling"] = (*decks["wildling"][1:], decks["wildling"][0])
                case _:
                    pass
    return shuffles


def drawn(book: Book, changed: tuple[int, int, Fact] | None = None) -> Drawn:
    """What is found, perhaps with one fact put in the place of another."""
    draws = Draws(edition_of)
    for entry in range(1, book.version + 1):
        facts = list(book.facts(entry))
        if changed is not None and changed[0] == entry:
            facts[changed[1]] = changed[2]
        draws.add(entry, facts)
    return draws.drawn()


# Records


def middles(book: Book, version: int) -> list[int]:
    """Entries in the middle of a combat with Tides cards drawn, of a wildling attack, or of a Westeros phase."""
    found = []
    for entry in range(2, version):
        state = book.state(entry)
        running = {frame["procedure"] for frame in state.frames}
        if state.hidden.tides or state.hidden.seen or state.combat or running & {"WildlingAttack", "WesterosPhase"}:
            found.append(entry)
    return found


@cache
def taken_back(number: int) -> Book:
    """Several rewinds in a row, in the middle of things, some with new draws; then the game goes on to its end."""
    whole, chance = played(number), random.Random(f"draws/{number}")
    book = whole.cut(chance.randrange(whole.version // 2, whole.version - 10))
    for nth in range(5):
        choices = middles(book, book.version) if chance.randrange(4) else range(2, book.version)
        redrawn = nth in (1, 3) or chance.randrange(3) == 0
        seed = hashlib.sha256(f"{number}/{nth}".encode()).hexdigest() if redrawn else ""
        book.take(Rewind(to=chance.choice(choices[-60:]), reason="a test", causal=bool(chance.randrange(2)), seed=seed))
        book.go_on(number + nth, most=chance.randrange(14))
    book.go_on(number)
    return book


@pytest.mark.parametrize("number", GAMES)
def test_what_is_confirmed_is_right_by_hand(number: int) -> None:
    book = taken_back(number)
    assert book.now.is_over
    shuffles = check_by_hand(book)
    found = drawn(book)
    assert (found.wrong, found.proven, found.unproven, found.imposed) == ((), shuffles, 0, 0)


def test_rewinds_fall_into_the_middle_of_everything() -> None:
    combats = tides = wildlings = westeros = turned = 0
    for number in GAMES:
        book = taken_back(number)
        for entry, command in enumerate(book.commands):
            if not isinstance(command, Rewind):
                continue
            state = book.state(command.to)
            running = {frame["procedure"] for frame in state.frames}
            combats += state.combat is not None
            tides += bool(state.hidden.tides)
            wildlings += "WildlingAttack" in running
            westeros += "WesterosPhase" in running
            turned += bool(command.seed) and state.hidden.decks.keys() >= {"wildling"} and "WildlingAttack" in running
            assert entry > command.to
    print(f"combats {combats}, Tides drawn {tides}, wildlings {wildlings}, Westeros {westeros}, redrawn there {turned}")
    assert min(combats, wildlings, westeros) > 0


def test_with_a_redraw_while_a_wildling_card_is_resolved_it_stays_on_top() -> None:
    """Everybody has seen the card; new draws begin beneath it."""
    found = 0
    for number in (*GAMES, 0, 1, 2, 3):
        whole = played(number)
        for entry in range(2, whole.version - 1):
            running = {frame["procedure"] for frame in whole.state(entry).frames}
            if not any(frame == "WildlingAttack" for frame in running) or len(running) < 4:
                continue
            book = whole.cut(entry + 1)
            book.take(Rewind(to=entry, reason="a test", seed="ab" * 32))
            assert drawn(book).wrong == (), (number, entry)
            check_by_hand(book)
            found += 1
    print(f"{found} redraws during wildling attacks")
    assert found > 20


def changed_draw(fact: Fact, chance: random.Random) -> Fact | None:
    """The same draw with another card, or with two cards in each other's place."""
    if isinstance(fact, f.DeckShuffled | f.DeckRedrawn):
        pairs = [(a, b) for a in range(len(fact.cards)) for b in range(a) if fact.cards[a] != fact.cards[b]]
        if not pairs:
            return None
        a, b = chance.choice(pairs)
        cards = list(fact.cards)
        cards[a], cards[b] = cards[b], cards[a]
        return with_(fact, cards=tuple(cards))
    assert isinstance(fact, DRAWN)
    decks = EDITIONS["second-edition"]
    cards = [
        *decks.wildling_deck,
        *decks.tides_deck,
        *(card for deck in decks.westeros_decks.values() for card in deck),
    ]
    return with_(fact, card=chance.choice([card for card in cards if card != fact.card]))


@pytest.mark.parametrize("number", GAMES[:4])
def test_any_single_draw_that_was_changed_is_named(number: int) -> None:
    book, chance = taken_back(number), random.Random(f"changed/{number}")
    places = draws_of(book)
    kinds = {type(book.facts(entry)[number]) for entry, number in places}
    assert {f.DeckShuffled, f.DeckRedrawn, f.WesterosCardDrawn} <= kinds
    some = [
        next(place for place in places if type(book.facts(place[0])[place[1]]) is kind)
        for kind in sorted(kinds, key=str)
    ]
    for entry, at in (*some, *chance.sample(places, 12)):
        other = changed_draw(book.facts(entry)[at], chance)
        if other is None:
            continue
        wrong = drawn(book, (entry, at, other)).wrong
        assert wrong and wrong[0].entry == entry, (entry, other)


def test_a_rewind_without_a_redraw_draws_alike() -> None:
    """The same cards under the same labels, however often it is taken back."""
    for number in GAMES[:3]:
        whole, chance = played(number), random.Random(f"alike/{number}")
        version = whole.version - 5
        book = whole.cut(version)
        for to in chance.sample(middles(whole, version), 3):
            book.take(Rewind(to=to, reason="a test", causal=True))
            assert bare(book.now) == bare(whole.state(version))
        assert drawn(book).wrong == () and msgspec.json.encode(book.now.hidden) == msgspec.json.encode(
            whole.state(version).hidden
        )
