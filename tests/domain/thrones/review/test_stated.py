"""Stated facts that name what is not there are refused; what the rules themselves do is always there."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from domain.kernel.arbiter import Correct, Rewind
from domain.kernel.facts import Fact
from domain.kernel.refusal import Refusal
from domain.thrones.language import facts as f
from domain.thrones.language.evolve import evolve
from domain.thrones.language.facts import STATABLE
from domain.thrones.language.pieces import UNITS
from domain.thrones.language.state import State
from domain.thrones.review.stated import PRESENT, why_absent
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.editions.second import SECOND_EDITION
from tests.domain.thrones.games import play, spec, spec_of_variations
from tests.domain.thrones.review.nonsense import nonsense
from tests.domain.thrones.review.rewinds import Book, with_
from tests.domain.thrones.review.statable_facts import EXAMPLES
from tests.domain.thrones.review.test_rewind_properties import ASKING, played, raw
from tests.domain.thrones.review.test_rewind_scenarios import given_combat


def test_every_fact_that_may_be_stated_is_looked_at() -> None:
    assert set(PRESENT) == set(STATABLE)


def test_what_the_rules_do_is_there() -> None:
    """Over whole games: no fact of theirs would be refused to an arbiter who states it at its place."""
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


@pytest.mark.slow
@pytest.mark.parametrize("number", range(6))
def test_what_the_rules_of_other_editions_do_is_there(number: int) -> None:
    seen = 0
    for entry in play(spec_of_variations(number)):
        state = entry.before
        for fact in entry.ruling.facts:
            if type(fact) in PRESENT and entry.before.charter.edition:
                assert not why(state, fact), fact
                seen += 1
            state = evolve(state, fact)
    assert seen > 100


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


# Whatever else a fact may say


REMOVING = (
    *(f.NeutralForceRemoved, f.UnitsDestroyed, f.GarrisonRemoved, f.CardsTaken, f.CardsDiscarded),
    *(f.OrderRemoved, f.PowerTokenRemoved),
)
"""Facts that change something wherever what they name is there."""

BEFORE: dict[type[Fact], tuple[Fact, ...]] = {
    f.NeutralForceRemoved: (f.NeutralForcePlaced(area="the-eyrie", strength=6),),
    f.CardsTaken: (f.CardsDiscarded(house="stark", cards=("robb-stark",)),),
    f.PowerTokenRemoved: (f.PowerTokenPlaced(house="stark", area="winterfell"),),
    f.TokensRefreshed: (f.TokenUsed(token="messenger-raven", house="stark"),),
}
"""What happens before an example so that there is what it names."""


@pytest.fixture(scope="module")
def laid() -> State:
    """A game of three whose orders are in."""
    book = Book()
    first = next(play(spec(0)))
    book.write(first.command, first.ruling)
    while not book.now.orders:
        book.take(THRONES.decisions(book.now)[0].default)
    return book.now


def why(state: State, fact: Fact) -> str:
    return why_absent(THRONES.rules_of(state).game(state), fact)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: type(one).__name__)
def test_of_nonsense_only_that_is_taken_which_names_what_there_is(laid: State, example: Fact) -> None:
    state = given_combat().now if isinstance(example, f.CombatDecided) else laid
    for before in BEFORE.get(type(example), ()):
        state = evolve(state, before)
    refused = 0
    for plain in nonsense(example):
        try:
            fact = msgspec.convert(plain, type(example))
        except msgspec.ValidationError:
            continue
        if why(state, fact):
            refused += 1
            continue
        said = {name: value for name, value in plain.items() if name != "fact"}
        assert not _names(list(said.values())) - KNOWN
        assert not isinstance(example, REMOVING) or evolve(state, fact) != state
    assert refused or isinstance(example, f.ProhibitionsLifted | f.ThreatMoved)


KNOWN = {
    *(*SECOND_EDITION.board.areas, *SECOND_EDITION.houses, *SECOND_EDITION.cards, *SECOND_EDITION.tokens, *UNITS),
    *("valyrian-steel-blade", "messenger-raven", "iron-throne-token", "fiefdoms", "raid", "impassable"),
}


def _names(value: Any) -> set[str]:
    match value:
        case str():
            return {value}
        case dict():
            return {*value, *_names(list(value.values()))}
        case list() | tuple():
            return {name for one in value for name in _names(one)}
        case _:
            return set()


@pytest.mark.parametrize(
    "fact",
    [
        f.GarrisonPlaced(area="winterfell", strength=0),
        f.GarrisonPlaced(area="winterfell", strength=-5),
        f.GarrisonPlaced(area="the-shivering-sea", strength=2),
        f.GarrisonPlaced(area="karhold", strength=2),
        f.GarrisonRemoved(area="winterfell", house="lannister"),
        f.NeutralForcePlaced(area="the-eyrie", strength=-1),
        f.NeutralForcePlaced(area="port-of-lannisport", strength=4),
        f.OrdersProhibited(what="raid-star"),
        f.OrdersProhibited(what="march-0"),
        f.PowerChanged(house="stark", by=1, rules=("nobody-knows",)),
        f.PowerChanged(house="stark", by=1, rules=("2E-GEN-8", "\x1b[31mred")),
    ],
    ids=str,
)
def test_what_would_do_nothing_or_mean_nothing_is_refused(laid: State, fact: Fact) -> None:
    assert why(laid, fact)


def test_an_arbiter_may_name_rules_of_the_books(laid: State) -> None:
    assert not why(laid, f.PowerChanged(house="stark", by=1, rules=("2E-GEN-8", "1E-WCARD-11", "arbiter")))


def test_tokens_are_turned_together_so_that_all_used_ones_are_named(laid: State) -> None:
    used = evolve(laid, f.TokenUsed(token="messenger-raven", house="stark"))
    assert "messenger-raven" in why(used, f.TokensRefreshed(tokens=("valyrian-steel-blade",)))
    assert not why(used, f.TokensRefreshed(tokens=("messenger-raven",)))


def test_nonsense_on_old_records_can_be_put_right(laid: State) -> None:
    """Tokens and orders of nobody, a card that has gone: what is there may be taken away, what is nowhere be taken."""
    old = evolve(laid, f.OrderReplaced(house="nobody", area="karhold", old="", new="raid-0-a"))
    old = with_(old, power_tokens={"winterfell": "nobody"})
    card = old.hands["stark"][0]
    old = with_(old, hands={**old.hands, "stark": old.hands["stark"][1:]})
    assert not why(old, f.PowerTokenRemoved(house="nobody", area="winterfell"))
    assert not why(old, f.OrderRemoved(house="nobody", area="karhold", order="raid-0-a"))
    assert not why(old, f.CardsTaken(house="stark", cards=(card,)))
    assert why(old, f.PowerTokenRemoved(house="stark", area="winterfell"))


def test_facts_are_looked_at_one_after_the_other(book: Book) -> None:
    card = book.now.hands["stark"][0]
    gone, back = raw(f.CardsDiscarded(house="stark", cards=(card,))), raw(f.CardsTaken(house="stark", cards=(card,)))
    command = Correct(facts=(gone, back), reason="a test", unseen=True, present=True)
    assert THRONES.decide(book.now, command, book).facts
    with pytest.raises(Refusal) as refused:
        THRONES.decide(book.now, with_(command, facts=(gone, back, back)), book)
    assert refused.value.params["fact"] == 3
