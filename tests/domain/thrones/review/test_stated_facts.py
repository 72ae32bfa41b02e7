"""Whatever an arbiter may state, at every kind of decision: it is carried out, or refused in words of the game."""

from __future__ import annotations

import random
from collections import defaultdict
from functools import cache

import pytest

from domain.kernel import facts as kernel
from domain.kernel.arbiter import Correct
from domain.kernel.refusal import Refusal
from domain.kernel.rewinding import BROKEN
from domain.thrones.language import facts as f
from domain.thrones.language.facts import STATABLE
from domain.thrones.ruleset import THRONES
from tests.domain.thrones.review.rewinds import Book, problems, with_
from tests.domain.thrones.review.test_rewind_properties import ASKING, KINDS, moments, played, raw

PYTHON = tuple(f"({one.__name__})" for one in BROKEN)


@cache
def on_record() -> dict[str, tuple[kernel.Fact, ...]]:
    """Facts of random games, by name."""
    found: dict[str, dict[str, kernel.Fact]] = defaultdict(dict)
    for number in ASKING:
        for entry in range(1, played(number).version + 1):
            for fact in played(number).facts(entry):
                if type(fact) in STATABLE:
                    found[type(fact).__name__].setdefault(str(fact), with_(fact, rules=()))
    return {name: tuple(facts.values()) for name, facts in found.items()}


def stated(book: Book, fact: kernel.Fact) -> str:
    """What comes of stating a fact: nothing to say, or the problem."""
    try:
        ruling = THRONES.decide(book.now, Correct(facts=(raw(fact),), reason="a test", unseen=True), book)
    except Refusal as refusal:
        return f"{refusal.code}: {refusal.params}"
    assert problems(ruling.state) == ()
    return ""


def test_facts_of_all_names_are_on_the_record_of_some_game() -> None:
    assert set(on_record()) == {kind.__name__ for kind in STATABLE}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_fact_can_be_planned_at_every_kind_of_decision(kind: str) -> None:
    whole, entry = moments()[kind]
    book, chance, fine = whole.cut(entry), random.Random(f"stated/{kind}"), 0
    for name, facts in sorted(on_record().items()):
        for fact in chance.sample(facts, min(2, len(facts))):
            problem = stated(book, fact)
            assert not problem or problem.startswith(("cannot-be-stated", "impossible-position"))
            assert not any(error in problem for error in PYTHON), (name, fact, problem)
            fine += not problem
    assert fine > 10


def test_while_the_iron_throne_track_is_bid_for_the_order_from_before_counts() -> None:
    """The markers are off; whoever states a fact then has ports and the winner looked at in turn order all the same."""
    whole, entry = next(
        (played(number), entry)
        for number in ASKING
        for entry in range(1, played(number).version)
        if THRONES.decisions(played(number).state(entry))[:1]
        and THRONES.decisions(played(number).state(entry))[0].kind == "influence-bid"
        and not played(number).state(entry).tracks
    )
    book = whole.cut(entry)
    house = book.now.houses[0]
    assert book.now.turn_order == tuple(book.now.frames[-1]["former"]["iron-throne"])
    assert stated(book, f.PowerChanged(house=house, by=1)) == ""
    game = THRONES.rules_of(book.now).game(book.now)
    ports = {game.board.land_of(port) for port in game.board.ports if port in book.now.units}
    free = [area for area in game.board.castles if area not in {*book.now.units, *book.now.power_tokens, *ports}]
    for area in free:
        if game.controller(area) != house and not book.now.is_over:
            token = raw(f.PowerTokenPlaced(house=house, area=area))
            more = raw(f.PowerChanged(house=house, by=1))
            book.take(Correct(facts=(more, token), reason="a test", unseen=True))
    assert book.now.winner == house, "by seven areas, and whoever else stands as high is looked at by the same order"
