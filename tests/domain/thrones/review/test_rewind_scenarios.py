"""Disputes as arbiters meet them, on the six-player game of the examples. Run with ``-s`` to see what is kept."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from domain.kernel import facts as kernel
from domain.kernel.arbiter import Correct, Rewind
from domain.kernel.chance import commitment
from domain.kernel.commands import PassDeadline, StateDraws
from domain.kernel.docket import AnswerOffered, Corrected
from domain.kernel.refusal import Refusal
from domain.kernel.rewinding import NO_LONGER_ASKED, answer_at
from domain.kernel.ruleset import Ruling
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from domain.thrones.language.start import Start
from domain.thrones.review.taking_back import Plan, plan
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.editions.second import SECOND_EDITION
from tests.domain.thrones.given import BARATHEON, CAMP, FIELD, LANNISTER, STARK, battle
from tests.domain.thrones.review.rewinds import Book, bare, end_of_round, entries_with, sample
from tests.domain.thrones.review.test_rewind_properties import raw, rereading

SEED = "ab" * 32


def lost(house: str, area: str, unit: str, count: int = 1) -> dict[str, Any]:
    return raw(f.UnitsDestroyed(house=house, area=area, units={unit: count}))


def planned(book: Book, command: Rewind) -> Plan:
    """The plan of a rewind; making it changes nothing."""
    ruling: Ruling[Any] = THRONES.decide(book.now, command, book)
    return plan(ruling, book.now, command, book, redraw=bool(command.seed))


def settle(book: Book, what: str, struck: int) -> tuple[int, int]:
    """Who is asked anew says what he said before, where that is legal; the numbers of answers kept and asked anew."""
    said = list(book.now.docket.pending)
    said += [one.given for one in offered(book, book.version) if not one.kept]
    first = book.version
    while book.now.docket.pending and not book.now.is_over:
        decision = THRONES.decisions(book.now)[0]
        old = [answer_at(book, given) for given in said]
        again = next((one for one in old if one.kind == decision.kind and fits(decision, one)), None)
        book.take(again or PassDeadline(player=decision.player, question=book.now.question))
    for entry in range(first, book.version + 1):
        rereading(book, entry)
    book.check(first=first)
    offers = [one for entry in range(first, book.version + 1) for one in offered(book, entry)]
    kept = sum(one.kept for one in offers)
    print(f"{what}: {struck} entries struck out, {kept} answers kept, {len(offers) - kept} asked anew")
    return kept, len(offers) - kept


def fits(decision: Any, answer: Any) -> bool:
    if (decision.player, decision.default.about) != (answer.player, answer.about):
        return False
    try:
        decision.check(answer)
    except Refusal:
        return False
    return True


def offered(book: Book, entry: int) -> list[AnswerOffered]:
    return [fact for fact in book.facts(entry) if isinstance(fact, AnswerOffered)]


def combat_ended(house: str, area: str, round_: int) -> int:
    """The entry of the example that ended a combat in an area in some round, with this House holding it."""
    book = sample()
    return next(
        entry
        for entry in entries_with(book, f.CombatEnded)
        if book.state(entry).round == round_
        and book.state(entry).house_in(area) == house
        and any(fact.area == area for fact in book.facts(entry) if isinstance(fact, f.CombatEnded))
    )


def test_a_wrong_battle_result_that_later_marches_do_not_depend_on() -> None:
    ended = combat_ended(STARK, "white-harbor", 7)
    last = end_of_round(sample(), ended)
    book = sample().cut(last)
    marches = sum(isinstance(book.commands[entry], c.MarchOrder) for entry in range(ended + 1, last + 1))
    book.rewind(ended, lost(STARK, "white-harbor", "footman"))
    kept, anew = settle(book, "a battle that nothing depends on", last - ended)
    assert (kept, anew) == (last - ended, 0) and marches >= 5
    assert book.now.house_in("white-harbor") is None
    assert book.now.orders == sample().state(last).orders


def test_a_wrong_battle_result_that_later_marches_depend_on() -> None:
    ended = combat_ended("tyrell", "the-reach", 6)
    last = end_of_round(sample(), ended)
    book = sample().cut(last)
    offers = book.rewind(ended, lost("tyrell", "the-reach", "knight"))
    assert [(one.player, one.kind) for one in offers.anew] == [("tyrell", "march")]
    assert len(offers.kept) >= 10, "what came before Tyrell's march is kept at once"
    kept, anew = settle(book, "a battle that Tyrell's marches depend on", last - ended)
    assert kept >= 20 and 1 <= anew <= 13


def test_a_revealed_house_card() -> None:
    """Both cards have been seen. Where the fight is the same they are kept; where it is not, both choose again."""
    shown = next(e for e in entries_with(sample(), f.HouseCardsRevealed) if sample().state(e).round == 6)
    chosen = [fact.player for entry in (shown - 1, shown) for fact in sample().facts(entry) if is_card(fact)]
    before = shown - 2
    assert len(chosen) == 2 and sample().state(before).combat is not None
    last = end_of_round(sample(), shown)
    book = sample().cut(last)
    command = Rewind(to=before, reason="a test", causal=True)
    found = planned(book, command)
    cards = [one for one in found.exposed if one.what == "House cards"]
    assert cards[0].entry == shown and cards[0].to == ("everybody",)
    assert found.kept == len(found.answers) == last - before and not found.redraw
    book.rewind(before)
    assert bare(book.now) == bare(sample().state(last))
    print(f"a revealed House card, nothing corrected: {last - before} entries struck out, {found.kept} answers kept")

    book = sample().cut(last)
    march = book.state(before).march
    assert march is not None
    unit = next(iter(march.units))
    offers = book.rewind(
        before, raw(f.UnitsDestroyed(house=march.house, area=march.to, units={unit: 1}, marching=True))
    )
    assert sorted(one.player for one in offers.anew) == sorted(chosen)
    assert all("march" in one.differs for one in offers.anew)
    settle(book, "a revealed House card, the fight corrected", last - before)


def is_card(fact: kernel.Fact) -> bool:
    return isinstance(fact, kernel.AnswerTaken) and fact.kind == "house-card"


def bids_of_a_track() -> tuple[int, int]:
    """The entries of the example with the first and the last bid for a track."""
    book = sample()
    last = next(
        entry
        for entry in entries_with(book, f.BidsRevealed)
        if any(isinstance(fact, f.BidsRevealed) and fact.about == "fiefdoms" for fact in book.facts(entry))
    )
    first = last
    while isinstance(book.commands[first - 1], c.InfluenceBid) and book.state(first - 2).bids == {}:
        if book.state(first - 2).question != book.state(last - 1).question:
            break
        first -= 1
    return first, last


def test_a_bid_in_a_clash_of_kings() -> None:
    first, last = bids_of_a_track()
    end = last + 12
    struck = end - first + 1
    book = sample().cut(end)
    book.rewind(first - 1)
    assert bare(book.now) == bare(sample().state(end))
    book = sample().cut(end)
    rich = max(book.state(first - 1).power, key=lambda house: book.state(first - 1).power[house])
    offers = book.rewind(first - 1, raw(f.PowerChanged(house=rich, by=-1)))
    assert {one.kind for one in offers.anew} == {"influence-bid"}, "everybody bids against the Power announced"
    assert all(f"power[{rich}]" in one.differs for one in offers.anew)
    assert not any("bid" in name for one in offers.anew for name in one.differs), "nothing tells what was bid"
    settle(book, "a Clash of Kings, a House's Power corrected", struck)


def test_of_bids_that_were_replaced_the_last_counts() -> None:
    first, _ = bids_of_a_track()
    book = sample().cut(first - 1)
    house, *others = [one.player for one in THRONES.decisions(book.now) if book.now.power[one.player]]
    book.take(c.InfluenceBid(house, "fiefdoms", 0))
    book.take(c.InfluenceBid(others[0], "fiefdoms", 0))
    middle = book.version
    book.take(c.InfluenceBid(house, "fiefdoms", 1))
    before = book.now
    twice = book.cut(book.version)
    offers = book.rewind(first - 1)
    assert len(offers.all) == len(offers.kept) == 2 and bare(book.now) == bare(before)
    offers = twice.rewind(middle)
    assert len(offers.kept) == 1 and bare(twice.now) == bare(before), "it replaces the bid that was in the envelope"


def before_a_westeros_phase() -> tuple[int, int]:
    """An entry of the action phase of round 3, and one in the planning phase of round 4."""
    book = sample()
    drawn = next(e for e in entries_with(book, f.WesterosCardDrawn) if book.state(e).round == 4)
    planned_ = next(e for e in entries_with(book, f.OrdersRevealed) if e > drawn)
    return drawn - 3, planned_


def cards_drawn(book: Book, entry: int) -> list[str]:
    return [fact.card for fact in book.facts(entry) if isinstance(fact, f.WesterosCardDrawn)]


def test_a_rewind_across_a_westeros_phase_with_the_same_draws() -> None:
    to, last = before_a_westeros_phase()
    book = sample().cut(last)
    offers = book.rewind(to)
    assert not offers.anew and bare(book.now) == bare(sample().state(last))
    assert cards_drawn(book, last + 1) == [
        card for entry in range(to + 1, last + 1) for card in cards_drawn(book, entry)
    ]
    print(f"across a Westeros phase, same draws: {last - to} entries struck out, {len(offers.kept)} answers kept")


def test_a_rewind_across_a_westeros_phase_with_other_draws() -> None:
    to, last = before_a_westeros_phase()
    book = sample().cut(last)
    offers = book.rewind(to, seed=SEED)
    committed = [fact.commitment for fact in offers.facts if isinstance(fact, kernel.SeedCommitted)]
    assert committed == [commitment(SEED)] and book.now.hidden.seed == SEED
    assert len([fact for fact in offers.facts if isinstance(fact, f.DeckRedrawn)]) == 4
    settle(book, "across a Westeros phase, other draws", last - to)
    new = [card for entry in range(last + 1, book.version + 1) for card in cards_drawn(book, entry)]
    old = [card for entry in range(to + 1, last + 1) for card in cards_drawn(book, entry)]
    assert new != old
    with pytest.raises(Refusal, match="seed-missing"):
        book.rewind(to, seed=SEED)


def test_after_the_end_the_old_seed_is_open_and_forces_a_redraw() -> None:
    book = sample().cut(sample().version)
    to = next(e for e in range(1, book.version) if book.state(e).round == 10)
    with pytest.raises(Refusal, match="must-redraw"):
        book.rewind(to)
    offers = book.rewind(to, raw(f.PowerChanged(house=STARK, by=1)), seed=SEED)
    assert not book.now.is_over and book.now.winner is None
    settle(book, "after the end of the game, in its last round", sample().version - to)
    book.go_on(1)
    opened = [fact.seed for fact in book.facts(book.version) if isinstance(fact, kernel.SeedOpened)]
    assert opened == [sample().state(1).hidden.seed, SEED], "every draw of the record can be checked"
    assert offers.facts
    with pytest.raises(Refusal, match="must-redraw"):
        book.rewind(to - 1)


def test_nothing_is_drawn_from_a_seed_that_is_known_by_way_of_two_rewinds() -> None:
    book = sample().cut(sample().version)
    book.rewind(400, seed=SEED, causal=False)
    with pytest.raises(Refusal, match="must-redraw"):
        book.rewind(390)
    book.rewind(390, seed="cd" * 32, causal=False)
    assert set(book.now.hidden.former) == {sample().state(1).hidden.seed, SEED}


def test_a_second_mistake_is_found_before_the_first_is_played_out() -> None:
    """Nested rewinds: what still waited to be offered after the first is not lost by the second."""
    ended = combat_ended("tyrell", "the-reach", 6)
    last = end_of_round(sample(), ended)
    book = sample().cut(last)
    book.rewind(ended, lost("tyrell", "the-reach", "knight"))
    waiting = len(book.now.docket.pending)
    assert waiting
    book.rewind(ended - 3, causal=True)
    assert not book.now.docket.pending and bare(book.now) == bare(sample().state(last))
    assert not [one for one in offered(book, book.version) if not one.kept]
    kept = sum(one.kept for one in offered(book, book.version))
    print(f"a rewind behind a rewind: {last - ended + 3} entries of the first line, {kept} answers kept")


def test_answers_whose_question_does_not_come_up_are_let_go() -> None:
    ended = combat_ended("tyrell", "the-reach", 6)
    last = end_of_round(sample(), ended)
    book = sample().cut(last + 20)
    laid = sorted(area for area, placed in book.state(ended).orders.items() if placed.house == LANNISTER)
    gone = [raw(f.OrderRemoved(house=LANNISTER, area=one, order=book.state(ended).orders[one].token)) for one in laid]
    book.rewind(ended, *gone)
    settle(book, "a House's orders taken away", last + 20 - ended)
    let_go = [
        one for e in range(last + 21, book.version + 1) for one in offered(book, e) if NO_LONGER_ASKED in one.differs
    ]
    assert let_go and {one.question for one in let_go} == {0}


def test_drafts_and_missed_deadlines_are_taken_up_again() -> None:
    book = sample().cut(next(e for e in range(1, 500) if asks(sample(), e, "assign-orders")))
    start = book.version
    house = book.now.awaited[0].player
    options = THRONES.decisions(book.now)[0]
    some = dict(list(options.default.orders.items())[:1])
    book.take(c.AssignOrders(house, some, draft=True))
    book.take(PassDeadline(player=house, question=book.now.question))
    other = book.now.awaited[0].player
    book.take(c.AssignOrders(other, {}, draft=True))
    before = book.now
    assert list(before.hidden.drafts) == [house, other]
    offers = book.rewind(start)
    assert len(offers.kept) == 3 and bare(book.now) == bare(before)
    offers = book.rewind(start)
    assert len(offers.kept) == 3 and bare(book.now) == bare(before), "and again"


def asks(book: Book, entry: int, kind: str) -> bool:
    return any(one.kind == kind for one in book.state(entry).awaited)


def given_combat(attacking: str = "2 footman", defending: str = "2 footman", **more: Any) -> Book:
    """A record that begins with a combat, just before the House cards."""
    scene = battle(STARK, LANNISTER, attacking=attacking, defending=defending, **more)
    book = Book()
    start = Start(charter=scene.state.charter, position=scene.state, hidden=scene.state.hidden, reason="a test")
    book.take(start)
    return book


CARDS = {STARK: "greatjon-umber", LANNISTER: "ser-jaime-lannister"}


def fight_on(book: Book) -> list[kernel.Fact]:
    """Cards as in CARDS, everything else by default, to the end of the combat."""
    facts: list[kernel.Fact] = []
    while book.now.combat is not None:
        decision = THRONES.decisions(book.now)[0]
        answer = decision.default
        if decision.kind == "house-card":
            answer = msgspec.structs.replace(answer, choice=CARDS[decision.player])
        facts += book.take(answer)
    return facts


def strengths(facts: list[kernel.Fact]) -> dict[str, int]:
    return {fact.house: fact.total for fact in facts if isinstance(fact, f.StrengthCounted) and fact.stage == "final"}


def test_a_combat_goes_on_with_strength_counted_again_after_a_correction() -> None:
    plain = strengths(fight_on(given_combat()))
    book = given_combat()
    assert book.now.combat is not None
    more = raw(f.UnitsPlaced(house=LANNISTER, area=FIELD, units={"knight": 1}))
    book.take(Correct(facts=(more,), reason="a Knight was left out"))
    assert strengths(fight_on(book)) == {**plain, LANNISTER: plain[LANNISTER] + 2}
    book.check()


def test_a_correction_between_the_cards_leaves_the_one_that_is_in() -> None:
    book = given_combat()
    book.take(THRONES.decisions(book.now)[0].default)
    house = next(iter(book.now.hidden.answers))
    fewer = raw(f.UnitsDestroyed(house=STARK, area=FIELD, units={"footman": 1}, marching=True))
    book.take(Correct(facts=(fewer,), reason="one Footman too many"))
    assert list(book.now.hidden.answers) == [house]
    card = book.now.hidden.answers[house].choice
    book.take(Correct(facts=(raw(f.CardsDiscarded(house=house, cards=(card,))),), reason="that card was spent"))
    assert not book.now.hidden.answers, "a card that is no longer in the hand leaves its envelope"
    fight_on(book.cut(book.version))
    book.check()


def test_the_result_of_a_combat_is_stated_while_casualties_are_due() -> None:
    book = given_combat("footman, knight", "3 knight")
    while THRONES.decisions(book.now)[0].kind != "casualties":
        decision = THRONES.decisions(book.now)[0]
        answer = decision.default
        if decision.kind == "house-card":
            answer = msgspec.structs.replace(answer, choice=CARDS[decision.player])
        book.take(answer)
    combat = book.now.combat
    assert combat is not None and combat.winner == LANNISTER
    decided = f.CombatDecided(winner=STARK, loser=LANNISTER, totals={}, tie=False)
    facts = book.take(Correct(facts=(raw(decided),), reason="the strengths were miscounted"))
    assert any(isinstance(fact, Corrected) for fact in facts)
    fight_on(book)
    assert book.now.house_in(FIELD) == STARK
    book.check()


def test_what_the_board_cannot_hold_is_not_stated() -> None:
    book = given_combat()
    for fact, code in (
        (f.UnitsPlaced(house=BARATHEON, area=CAMP, units={"ship": 1}), "impossible-position"),
        (f.UnitsPlaced(house=STARK, area="winterfell", units={"knight": 6}), "impossible-position"),
        (f.PowerChanged(house=STARK, by=-50), "impossible-position"),
        (f.PowerChanged(house="nobody", by=1), "cannot-be-stated"),
        (f.GameWon(winner=STARK, ranking=(), reason="areas"), "not-a-fact"),
    ):
        with pytest.raises(Refusal) as refusal:
            book.take(Correct(facts=(raw(fact),), reason="a test"))
        assert refusal.value.code == code
    assert book.version == 1


def test_draws_that_were_stated_from_outside_stay_stated() -> None:
    book = given_combat(tides=SECOND_EDITION.tides_deck[:2])
    before = book.now.hidden.stated
    book.take(StateDraws(deck="wildling", cards=("crow-killers",)))
    book.take(THRONES.decisions(book.now)[0].default)
    after = book.now
    book.rewind(1)
    assert bare(book.now) == bare(after) and book.now.hidden.stated != before
    book.rewind(1, seed=SEED)
    assert book.now.hidden.stated == before, "with a redraw they are stated anew"


def test_a_march_asked_anew_holds_back_all_later_ones_until_it_is_given() -> None:
    """Then the rest is offered again: where the next march differs, its House is asked, and so on to the end."""
    ended = combat_ended("tyrell", "the-reach", 6)
    last = end_of_round(sample(), ended)
    book = sample().cut(last)
    command = Rewind(to=ended, reason="a test", causal=True, correction=(lost("tyrell", "the-reach", "knight"),))
    found = planned(book, command)
    assert [one.outcome for one in found.answers].count("asked anew") == 1
    after = [one.outcome for one in found.answers][[one.outcome for one in found.answers].index("asked anew") + 1 :]
    assert len(after) > 10 and set(after) == {"offered later"}
    book.take(command)
    rounds = 0
    while book.now.docket.pending:
        waiting = book.now.docket.pending
        (asked,) = book.now.awaited
        assert (book.now.docket.anew, book.now.docket.question) == ((asked.player,), book.now.question)
        for decision in THRONES.decisions(book.now):
            book.take(decision.default)
        offers = [one.given for one in offered(book, book.version)]
        assert offers and {*offers} <= {*waiting}, "once it is given, the rest is offered"
        assert not any(one.kept for one in offered(book, book.version)[-1:]) or not book.now.docket.pending
        rounds += 1
    print(f"{len(after)} answers were held back; the game asked {rounds} times")
    assert rounds > 1
    book.check(first=last + 1)
