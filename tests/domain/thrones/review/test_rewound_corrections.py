"""Corrections that an arbiter made in entries that a rewind strikes out: offered again in their turn."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import pytest

from api.games.thrones.sentences import Prose
from domain.kernel.arbiter import Correct, Rewind
from domain.kernel.commands import PassDeadline
from domain.kernel.docket import AnswerOffered, Corrected, CorrectionDecided, CorrectionOffered
from domain.kernel.facts import Fact
from domain.kernel.refusal import Refusal
from domain.kernel.rewinding import struck_corrections
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from domain.thrones.review.taking_back import Plan, plan
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.editions.second import SECOND_EDITION
from tests.domain.thrones.review.rewinds import Book, Offers, bare, played, problems
from tests.domain.thrones.review.test_rewind_properties import Impossible, offers_of, random_correction, raw

pytestmark = pytest.mark.slow

PROSE = Prose(SECOND_EDITION)


def power(house: str, by: int) -> dict[str, Any]:
    return raw(f.PowerChanged(house=house, by=by))


def corrected_at(number: int, entry: int, *facts: dict[str, Any]) -> Book:
    book = played(number).cut(entry)
    book.take(Correct(facts=facts, reason="the first mistake"))
    return book


def replay(book: Book, number: int, first: int, last: int) -> None:
    """Say again what was said in the game, where it is still the next thing to say."""
    for entry in range(first, last + 1):
        command = played(number).commands[entry]
        assert command is not None
        book.take(command)


def back(book: Book, to: int, *correction: dict[str, Any], corrections: tuple[int, ...] | None = None) -> Offers:
    """A causal rewind that offers all struck-out corrections again, or some."""
    struck = struck_corrections(book.now.docket, book, to)
    wanted = tuple(sorted({one.entry for one in struck})) if corrections is None else corrections
    command = Rewind(to=to, reason="a test", causal=True, correction=correction, corrections=wanted)
    return Offers(book.take(command))


def offered(facts: tuple[Fact, ...]) -> list[CorrectionOffered]:
    return [fact for fact in facts if isinstance(fact, CorrectionOffered)]


def planned(book: Book, command: Rewind) -> Plan:
    return plan(THRONES.decide(book.now, command, book), book.now, command, book, redraw=False)


def quiet(number: int, entry: int) -> int:
    """The first march from an entry on that is followed by another one."""
    book = played(number)
    marches = (e for e in range(entry, book.version) if isinstance(book.commands[e], c.MarchOrder))
    return next(e for e in marches if isinstance(book.commands[e + 1], c.MarchOrder))


def test_a_correction_is_made_again_in_its_turn() -> None:
    """Before it and behind it everything is kept, and the game stands as it did."""
    entry = quiet(3, 100)
    house = played(3).state(entry).houses[0]
    book = corrected_at(3, entry, power(house, 1))
    replay(book, 3, entry + 1, entry + 3)
    stood = book.now
    offers = back(book, entry - 4)
    (again,) = offered(offers.facts)
    assert again.made and again.given.entry == entry + 1
    assert not offers.anew and bare(book.now) == bare(stood)
    at = offers.facts.index(again)
    before = [fact for fact in offers.facts[:at] if isinstance(fact, AnswerOffered)]
    assert 0 < len(before) < len(offers.all), "neither first nor last"
    assert isinstance(offers.facts[at + 1], Corrected)
    assert "made again" in PROSE.line(again)
    book.check(first=entry + 1)


def test_it_can_be_left_out_and_a_plain_rewind_leaves_it_out() -> None:
    entry = quiet(3, 100)
    house = played(3).state(entry).houses[0]
    book = corrected_at(3, entry, power(house, 1))
    assert [(one.outcome, len(one.stated)) for one in planned(book, Rewind(to=entry - 2, reason="x")).corrections] == [
        ("struck out", 1)
    ]
    command = Rewind(to=entry - 2, reason="x", causal=True, corrections=(entry + 1,))
    assert [one.outcome for one in planned(book, command).corrections] == ["made again"]
    book.rewind(entry - 2)
    assert bare(book.now) == bare(played(3).state(entry))
    for wrong in ((entry + 1,), (entry + 5,)):
        with pytest.raises(Refusal, match="no-such-correction"):
            book.take(Rewind(to=entry - 2, reason="x", causal=wrong != (entry + 1,), corrections=wrong))


def test_what_it_replaced_stands_otherwise_and_the_arbiter_decides() -> None:
    entry = quiet(3, 100)
    house = played(3).state(entry).houses[0]
    book = corrected_at(3, entry, power(house, 1))
    offers = back(book, entry - 2, power(house, 1))
    (again,) = offered(offers.facts)
    assert not again.made and again.differs == (f"power[{house}]",)
    assert book.now.docket.undecided == (again.given,)
    assert "the arbiter's to decide" in PROSE.line(again)
    with pytest.raises(Refusal, match="no-such-correction"):
        book.take(Correct(facts=(), reason="x", instead_of=(3,)))
    with pytest.raises(Refusal, match="nothing-stated"):
        book.take(Correct(facts=(), reason="x"))
    later = book.cut(book.version)
    facts = book.take(Correct(facts=(), reason="it is right without", instead_of=(entry + 1,)))
    assert [type(fact) for fact in facts] == [CorrectionDecided] and not book.now.docket.undecided
    facts = later.take(Correct(facts=(power(house, 2),), reason="that much", instead_of=(entry + 1,)))
    assert isinstance(facts[0], CorrectionDecided) and not later.now.docket.undecided
    assert later.now.power[house] == book.now.power[house] + 2
    for one in (book, later):
        one.check(first=entry + 1)


def test_an_undecided_correction_comes_up_again_with_the_next_rewind() -> None:
    entry = quiet(3, 100)
    house = played(3).state(entry).houses[0]
    book = corrected_at(3, entry, power(house, 1))
    back(book, entry - 2, power(house, 1))
    assert book.now.docket.undecided
    offers = back(book, entry - 2, corrections=(entry + 1,))
    assert [one.made for one in offered(offers.facts)] == [True] and not book.now.docket.undecided
    book.check(first=entry + 1)


def test_the_corrected_position_would_be_impossible() -> None:
    """A unit that the reserve no longer has; what it replaces is as it was."""
    entry = quiet(3, 100)
    state = played(3).state(entry)
    rules = THRONES.rules_of(state)
    game = rules.game(state)
    house, area = next(
        (house, area)
        for house in state.houses
        for area in state.areas_of(house)
        if game.board.is_land(area) and game.reserve(house)["footman"] >= 2
    )
    elsewhere = next(one for one in state.areas_of(house) if one != area and game.board.is_land(one))
    book = corrected_at(3, entry, raw(f.UnitsPlaced(house=house, area=area, units={"footman": 1})))
    many = game.reserve(house)["footman"]
    offers = back(book, entry - 1, raw(f.UnitsPlaced(house=house, area=elsewhere, units={"footman": many})))
    (again,) = offered(offers.facts)
    assert not again.made and again.differs == ("impossible-position",)
    assert problems(book.now) == ()
    book.check(first=entry + 1)


def test_an_answer_asked_anew_holds_a_correction_back_and_what_follows_it() -> None:
    """Once it is given, the correction is made again, and only then the rest is offered."""
    whole = played(3)
    marches = [e for e in range(60, whole.version - 3) if isinstance(whole.commands[e], c.MarchOrder)]
    entry = next(
        e
        for e in marches
        if whole.commands[e].moves
        and all(e + n in marches for n in (1, 2))  # type: ignore[union-attr]
        and not any(whole.state(e + n).combat for n in (0, 1, 2))
    )
    march = whole.commands[entry]
    assert isinstance(march, c.MarchOrder)
    other = next(house for house in whole.state(entry).houses if house != march.house)
    book = corrected_at(3, entry, power(other, 1))
    replay(book, 3, entry + 1, entry + 2)
    gone = raw(f.OrderRemoved(house=march.house, area=march.area, order=book.state(entry - 1).orders[march.area].token))
    offers = back(book, entry - 1, gone)
    assert not offered(offers.facts)
    waiting = [one.entry for one in book.now.docket.pending]
    assert entry + 1 in waiting
    command = Rewind(to=entry - 1, reason="x", causal=True, correction=(gone,), corrections=(entry + 1,))
    assert {one.outcome for one in planned(corrected_again(entry, other), command).corrections} == {"offered later"}
    for _ in range(12):
        if not any(one.entry == entry + 1 for one in book.now.docket.pending):
            break
        book.take(PassDeadline(player=THRONES.decisions(book.now)[0].player, question=book.now.question))
    found = [one for n in range(entry + 3, book.version + 1) for one in offered(book.facts(n))]
    assert len(found) == 1
    book.check(first=entry + 1)


def corrected_again(entry: int, house: str) -> Book:
    book = corrected_at(3, entry, power(house, 1))
    replay(book, 3, entry + 1, entry + 2)
    return book


def test_taking_a_rewind_back_takes_its_correction_back() -> None:
    book = played(2).cut(160)
    house = book.state(130).houses[0]
    book.rewind(130, power(house, 1))
    rewound = book.version
    assert struck_corrections(book.now.docket, book, 160) == ()
    assert [one.entry for one in struck_corrections(book.now.docket, book, 120)] == [rewound]
    back(book, 160)
    assert bare(book.now) == bare(played(2).state(160))


def test_on_a_line_that_was_struck_out_its_own_corrections_come_back() -> None:
    entry = quiet(3, 100)
    house = played(3).state(entry).houses[0]
    book = corrected_at(3, entry, power(house, 1))
    replay(book, 3, entry + 1, entry + 2)
    stood = book.now
    book.rewind(entry - 6)
    assert not book.now.docket.pending and book.now.power[house] == stood.power[house] - 1
    offers = back(book, entry - 2)
    assert [one.made for one in offered(offers.facts)] == [True] and bare(book.now) == bare(stood)
    book.check(first=entry + 1)


def test_on_random_games_corrections_and_rewinds_of_rewinds_stay_sound() -> None:
    made = undecided = waiting = 0
    for number in (0, 1, 2, 3, 5):
        chance = random.Random(f"corrections/{number}")
        for _ in range(6):
            book = played(number).cut(chance.randrange(60, played(number).version - 40))
            first = book.version
            for _ in range(3):
                some = [*(random_correction(book.now, chance) for _ in range(40)), f.PowerChanged(house="stark", by=1)]
                facts = some[-1:] if chance.randrange(2) else some
                for fact in facts:
                    with suppress(Impossible):
                        offers_of(book, None, (raw(fact),))
                        break
                book.go_on(number, most=chance.randrange(5))
                if book.now.is_over:
                    break
                to = chance.randrange(max(20, first - 10), book.version)
                # While the Iron Throne is bid for nothing can be stated.
                is_stated = chance.randrange(2) and "iron-throne" in book.state(to).tracks
                offers = back(book, to, *((power("stark", 1),) if is_stated else ()))
                made += sum(one.made for one in offered(offers.facts))
                undecided += sum(not one.made for one in offered(offers.facts))
                waiting += len(book.now.docket.pending)
                assert problems(book.now) == ()
            book.check(first=first + 1)
            made_at = [
                (one.given, entry) for entry in range(first, book.version + 1) for one in offered(book.facts(entry))
            ]
            assert len(made_at) == len(set(made_at)), "none twice in one entry"
    print(f"{made} made again, {undecided} left to the arbiter, {waiting} waiting")
    assert made > 20 and undecided > 3
