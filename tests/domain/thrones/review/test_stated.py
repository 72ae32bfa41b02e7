"""Stated facts that name what is not there are refused; what the rules themselves do is always there."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from domain.kernel.arbiter import Correct, Rewind
from domain.kernel.facts import Fact
from domain.kernel.refusal import Refusal
from domain.thrones.language import facts as f
from domain.thrones.language.facts import STATABLE
from domain.thrones.review.stated import PRESENT, why_absent
from domain.thrones.ruleset import THRONES
from tests.domain.thrones.review.rewinds import Book
from tests.domain.thrones.review.test_rewind_properties import ASKING, played, raw


def test_every_fact_that_may_be_stated_is_looked_at() -> None:
    assert set(PRESENT) == set(STATABLE)


def test_what_the_rules_do_is_there() -> None:
    """Over whole games of all editions: no fact of theirs would be refused to an arbiter who states it at its place."""
    seen: set[type[Fact]] = set()
    for number in ASKING:
        book = played(number)
        for entry in range(2, book.version + 1):
            state = book.state(entry - 1)
            for fact in book.facts(entry):
                if type(fact) in PRESENT and state.charter.edition:
                    game = THRONES.rules_of(state).game(state)
                    assert not why_absent(game, fact), (number, entry, fact)
                    seen.add(type(fact))
                state = THRONES.evolve(state, fact)
    assert len(seen) > len(PRESENT) - 8


def absent() -> dict[str, Fact]:
    """One slip of each kind, on the position after the first entry of a game: no order lies yet, and nobody fights."""
    unknown = {
        "a House": f.SupplySet(house="targaryen", supply=1),
        "an area": f.GarrisonPlaced(area="valyria", strength=2),
        "a unit": f.UnitsPlaced(house="stark", area="winterfell", units={"dragon": 1}),
        "no unit": f.UnitsPlaced(house="stark", area="winterfell", units={}),
        "a count below one": f.UnitsDestroyed(house="stark", area="winterfell", units={"footman": -1}),
        "a card": f.CardsDiscarded(house="stark", cards=("khal-drogo",)),
        "a token": f.TokenTaken(token="iron-bank", house="stark"),
        "a track": f.TrackFilled(track="sweden", order=()),
        "a kind of order": f.OrdersProhibited(what="charge"),
    }
    missing = {
        "more units than there are": f.UnitsDestroyed(house="stark", area="winterfell", units={"footman": 9}),
        "units of another": f.UnitsDestroyed(house="baratheon", area="winterfell", units={"footman": 1}),
        "a march that is not": f.UnitsDestroyed(house="stark", area="winterfell", units={"footman": 1}, marching=True),
        "the unit to be replaced": f.UnitReplaced(house="stark", area="winterfell", old="siege-engine", new="knight"),
        "units that move": f.UnitsMoved(house="stark", area="karhold", to="winterfell", units={"footman": 1}),
        "an order": f.OrderRemoved(house="stark", area="winterfell", order="march-0"),
        "an order to replace": f.OrderReplaced(house="stark", area="winterfell", old="march-0", new="raid-1"),
        "a Power token": f.PowerTokenRemoved(house="stark", area="karhold"),
        "a neutral force": f.NeutralForceRemoved(area="winterfell"),
        "a garrison": f.GarrisonRemoved(area="karhold", house="stark"),
        "a discard": f.CardsTaken(house="stark", cards=("eddard-stark",)),
        "the holder of a token": f.TokenUsed(token="messenger-raven", house="greyjoy"),
        "a combat": f.CombatDecided(winner="stark", loser="greyjoy", totals={}, tie=False),
    }
    return {**unknown, **missing}


@pytest.fixture(scope="module")
def book() -> Book:
    return played(0).cut(1)


@pytest.mark.parametrize("slip", absent())
def test_a_slip_is_refused_with_its_number(book: Book, slip: str) -> None:
    fine, wrong = raw(f.PowerChanged(house="stark", by=1)), raw(absent()[slip])
    commands: tuple[Any, ...] = (Correct(facts=(fine, wrong), reason="a test", unseen=True, present=True),)
    if book.version > 1:
        commands = (*commands, Rewind(to=1, reason="a test", correction=(fine, wrong), unseen=True, present=True))
    for command in commands:
        with pytest.raises(Refusal) as refused:
            THRONES.decide(book.now, command, book)
        assert refused.value.code == "cannot-be-stated"
        assert refused.value.params["fact"] == 2
        assert refused.value.params["problem"]


@pytest.mark.parametrize("slip", ["an order", "a Power token", "a neutral force"])
def test_old_records_carry_such_facts_out(book: Book, slip: str) -> None:
    """An entry of a time when nobody looked is ruled on as it was then."""
    command = Correct(facts=(raw(absent()[slip]),), reason="a test", unseen=True)
    ruling = THRONES.decide(book.now, command, book)
    assert any(type(fact) is type(absent()[slip]) for fact in ruling.facts)


def test_an_old_command_has_no_flag() -> None:
    old = {"kind": "correct", "facts": [], "reason": "r", "unseen": True}
    assert msgspec.convert(old, THRONES.command_type).present is False
