"""Every drawn card names the shuffle and the place that it comes from; once the seed is open, that can be checked."""

from __future__ import annotations

import hashlib
from typing import Any

import fakeredis
import msgspec
import pytest

from api.certificate import as_text, certify
from api.desk import Desk
from api.provenance import CardDrawn, cards_drawn
from api.tokens import PUBLIC, Caller, Tokens
from domain.kernel.chance import commitment, shuffled
from domain.kernel.facts import SeedOpened
from domain.thrones.language import facts as f
from domain.thrones.language.state import State
from domain.thrones.ruleset import THRONES
from events import codec
from events.export import import_game
from events.ruling import Judge
from events.store import Store
from tests.ledgers.test_ledgers import lines

DRAWN = (f.WesterosCardDrawn, f.WildlingCardRevealed, f.WildlingCardSeen, f.TidesCardDrawn, f.TidesRevealed)


class Shelf:
    """A recorded game in a store of its own."""

    def __init__(self, ledger: str) -> None:
        self.store = Store(fakeredis.FakeRedis())
        self.game = import_game(self.store, lines(ledger)).game
        self.desk = Desk(self.store, Tokens(self.store), None, Judge(THRONES))
        self.entries = list(self.store.entries(self.game))
        self.facts = [self.desk.judge.codec.facts(one) for one in self.entries]
        self.opened = tuple(fact.seed for facts in self.facts for fact in facts if isinstance(fact, SeedOpened))

    def cards(self, seq: int, shown: Any = None) -> tuple[CardDrawn, ...]:
        """What the facts of an entry show, to somebody who may read all of them unless said otherwise."""
        state: State = self.desk.line(self.game, seq).state
        facts = self.facts[seq - 1] if shown is None else shown
        prose = self.desk.prose(self.game)
        chance = state.charter.chance
        return cards_drawn(
            self.desk, self.game, seq, state.docket, facts, prose=prose, seeds=self.opened, chance=chance
        )


def drawn_by(fact: Any) -> list[str]:
    return sorted(fact.cards.values()) if isinstance(fact, f.TidesRevealed) else [fact.card]


def check(shelf: Shelf, one: CardDrawn) -> None:
    """By nothing but the record, SHA-256, and the shuffle."""
    assert one.order[one.place - 1] == one.card
    assert hashlib.sha256(bytes.fromhex(one.salt) + one.body.encode()).hexdigest() == one.commitment
    assert one.commitment in {part.commitment for part in shelf.entries[one.entry - 1].sealed}
    body = msgspec.json.decode(one.body)
    assert (body["deck"], tuple(body["cards"])) == (one.deck, one.order)
    follows = [seed for seed in shelf.opened if shuffled(seed, one.occasion, tuple(sorted(one.order))) == one.order]
    follows += [
        seed for seed in shelf.opened if shuffled(seed, one.occasion, tuple(sorted(one.order[1:]))) == one.order[1:]
    ]
    assert len(follows) == 1 and f"seed {follows[0]}" in one.proof and commitment(follows[0]) in one.proof


@pytest.mark.parametrize(
    "ledger", ["five-players-tides", "four-players-rewound", "four-players-disputed", "first-edition"]
)
def test_every_card_of_a_recorded_game(ledger: str) -> None:
    shelf = Shelf(ledger)
    kinds: set[type] = set()
    for seq, facts in enumerate(shelf.facts, start=1):
        wanted = [fact for fact in facts if isinstance(fact, DRAWN)]
        found = shelf.cards(seq)
        assert sorted(one.card for one in found) == sorted(card for fact in wanted for card in drawn_by(fact))
        for one in found:
            assert one.entry <= seq
            check(shelf, one)
        kinds |= {type(fact) for fact in wanted}
    assert f.WesterosCardDrawn in kinds and (ledger != "five-players-tides" or kinds >= {f.TidesRevealed})


def test_while_the_seed_is_sealed_only_the_place_is_told() -> None:
    shelf = Shelf("three-players")
    seq = next(seq for seq, facts in enumerate(shelf.facts, 1) if any(isinstance(one, DRAWN[0]) for one in facts))
    shelf.opened = ()
    one = shelf.cards(seq)[0]
    assert (one.entry, one.occasion, one.place) == (1, f"{one.deck}/set-up", 1)
    assert (one.order, one.salt, one.body) == ((), "", "") and "once the seed is open" in one.proof


def test_a_card_that_one_house_has_seen_is_told_to_nobody_else() -> None:
    shelf = Shelf("five-players-tides")
    seen = [(seq, fact) for seq, facts in enumerate(shelf.facts, 1) for fact in facts if fact.audience is not None]
    seq, fact = next((seq, one) for seq, one in seen if isinstance(one, f.TidesCardDrawn))
    entry = codec.redact(shelf.entries[seq - 1], None)
    assert fact.card not in [one.card for one in shelf.cards(seq, shelf.desk.judge.codec.facts(entry))]
    entry = codec.redact(shelf.entries[seq - 1], fact.house)
    assert fact.card in [one.card for one in shelf.cards(seq, shelf.desk.judge.codec.facts(entry))]


def test_the_certificate_has_the_cards_as_data_and_as_text() -> None:
    shelf = Shelf("three-players")
    seq = next(seq for seq, facts in enumerate(shelf.facts, 1) if any(isinstance(one, DRAWN[0]) for one in facts))
    found = certify(shelf.desk, shelf.game, PUBLIC, seq)
    assert found.cards == shelf.cards(seq)
    text = as_text(found)
    one = found.cards[0]
    told = " ".join(text.split())
    assert f"{one.name}: card {one.place} of the {one.deck} deck as entry 1 shuffled it ({one.deck}/set-up)" in told
    assert f"    body       {one.body}\n" in text and one.salt in text
    before = certify(shelf.desk, shelf.game, Caller(), seq, len(shelf.entries) - 1)
    assert before.cards[0].salt == "" and "once the seed is open" in as_text(before)
