"""Rewinds and corrections on random games: in every kind of pending decision the record stays sound."""

from __future__ import annotations

import random
from contextlib import suppress
from functools import cache
from typing import Any

import msgspec
import pytest

from domain.kernel import facts as kernel
from domain.kernel.arbiter import Correct, Rewind
from domain.kernel.decision import Answer
from domain.kernel.docket import AnswerOffered
from domain.kernel.refusal import Refusal
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from domain.thrones.language import kinds
from domain.thrones.language.evolve import evolve
from domain.thrones.language.pieces import TRACKS
from domain.thrones.language.start import Start
from domain.thrones.language.state import State
from domain.thrones.ruleset import THRONES
from tests.domain.thrones.games import spec
from tests.domain.thrones.given import BARATHEON, LANNISTER, STARK, TYRELL, Scene, battle
from tests.domain.thrones.properties import AREAS
from tests.domain.thrones.review.rereading import rests_on
from tests.domain.thrones.review.rewinds import Book, Offers, bare, book_of, played, problems, with_

pytestmark = pytest.mark.slow

KINDS = (*(kind for kind in kinds.KINDS if kind != "card-ability"), *c.ABILITIES)
"""All kinds of decision; card abilities by their keys."""
GAMES = (*range(8), 33, 86)
ASKING = (61, 104, 34, 35, 109)
"""Games in which all kinds are asked but those of :func:`rare`."""
TO_THE_END = 8
"""Every so-and-so-many-th kind the game is played on to its end, otherwise to the end of its round."""


def raw(fact: kernel.Fact) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(fact))
    return found


def random_correction(state: State, chance: random.Random) -> kernel.Fact:
    """Something an arbiter might state; the position may well forbid it."""
    house = chance.choice(state.houses)
    area = chance.choice(sorted(state.units))
    there = state.units[area]
    unit = chance.choice(sorted(there.units))
    order = tuple(chance.sample(state.houses, len(state.houses)))
    some: list[kernel.Fact] = [
        f.PowerChanged(house=house, by=chance.choice((-2, -1, 1, 2))),
        f.UnitsDestroyed(house=there.house, area=area, units={unit: 1}),
        f.UnitsPlaced(house=there.house, area=area, units={"footman" if AREAS[area]["kind"] == "land" else "ship": 1}),
        f.SupplySet(house=house, supply=chance.randrange(7)),
        f.TrackFilled(track=chance.choice(TRACKS), order=order),
        f.PowerTokenPlaced(house=there.house, area=area),
        f.ThreatMoved(threat=chance.choice((2, 4, 6, 8, 10))),
    ]
    if state.hands[house]:
        some.append(f.CardsDiscarded(house=house, cards=(chance.choice(state.hands[house]),)))
    if state.orders:
        laid = chance.choice(sorted(state.orders))
        some.append(f.OrderRemoved(house=state.orders[laid].house, area=laid, order=state.orders[laid].token))
    if state.combat is not None:
        fight = state.combat.area
        defenders = state.units.get(fight)
        if defenders:
            lost = chance.choice(sorted(defenders.units))
            some += 3 * [f.UnitsDestroyed(house=defenders.house, area=fight, units={lost: 1})]
        if state.march and state.march.units:
            lost = chance.choice(sorted(state.march.units))
            some += 3 * [f.UnitsDestroyed(house=state.march.house, area=fight, units={lost: 1}, marching=True)]
    return chance.choice(some)


class Impossible(Exception):
    """The position forbids a correction."""


def offers_of(book: Book, to: int | None, facts: tuple[dict[str, Any], ...]) -> Offers:
    try:
        return (
            Offers(book.take(Correct(facts=facts, reason="a test", unseen=True)))
            if to is None
            else book.rewind(to, *facts)
        )
    except Refusal as refusal:
        if refusal.code not in ("impossible-position", "cannot-be-stated"):
            raise
        raise Impossible from refusal


def corrected(book: Book, chance: random.Random, to: int | None = None) -> tuple[Book, Offers]:
    """The record with some correction that is possible; a rewind where ``to`` is given."""
    start = book.now if to is None else book.state(to)
    for _ in range(60):
        facts = tuple(raw(random_correction(start, chance)) for _ in range(chance.randrange(1, 3)))
        after = book.cut(book.version)
        with suppress(Impossible):
            return after, offers_of(after, to, facts)
    raise AssertionError("some correction is possible")


@cache
def moments() -> dict[str, tuple[Book, int]]:
    """For each kind of decision a record and an entry after which one is pending, from games of all player counts."""
    found: dict[str, list[tuple[int, int]]] = {}
    for number in ASKING:
        book = played(number)
        for entry in range(1, book.version):
            for decision in THRONES.decisions(book.state(entry)):
                places = found.setdefault(getattr(decision.default, "ability", decision.kind), [])
                if not places or places[-1] != (number, entry):
                    places.append((number, entry))
    chosen = {kind: random.Random(kind).choice(places) for kind, places in found.items()}
    given = {kind: (given_book(scene), 1) for kind, scene in rare().items()}
    return {**given, **{kind: (played(number), entry) for kind, (number, entry) in chosen.items()}}


def rare() -> dict[str, Scene]:
    """Kinds that random games seldom ask."""
    mace = battle(TYRELL, STARK, defending="footman, routed-footman")
    mace.fight({TYRELL: "mace-tyrell", STARK: "greatjon-umber"}, until="mace-footman")
    losses = battle(
        LANNISTER,
        BARATHEON,
        attacking="4 knight",
        defending="2 footman, knight",
        supply={BARATHEON: 0},
        others={"blackwater": "stark: footman", "the-reach": "stark: footman", "highgarden": "stark: footman"},
        power_tokens={"lannisport": BARATHEON},
    )
    losses.fight({LANNISTER: "the-hound", BARATHEON: "brienne-of-tarth"}, until="retreat-losses")
    return {"mace-footman": mace, "retreat-losses": losses}


def given_book(scene: Scene) -> Book:
    """A record that begins with a given position, and goes on for a few entries."""
    book = Book()
    start = Start(charter=scene.state.charter, position=scene.state, hidden=scene.state.hidden, reason="a test")
    book.take(start)
    book.go_on(1, most=8)
    return book


def test_every_kind_of_decision_is_pending_somewhere() -> None:
    assert len(KINDS) == 47 and set(moments()) == set(KINDS)
    assert {len(book.now.houses) for book, _ in moments().values()} == {3, 4, 5, 6}


@pytest.mark.parametrize("number", GAMES)
def test_a_rewind_that_corrects_nothing_keeps_everything(number: int) -> None:
    whole, chance = played(number), random.Random(number)
    for _ in range(2):
        version = chance.randrange(60, whole.version)
        to = chance.randrange(version - 45, version)
        book = whole.cut(version)
        offers = book.rewind(to)
        assert not offers.anew and not book.now.docket.pending, [(one.kind, one.differs) for one in offers.anew]
        assert bare(book.now) == bare(whole.state(version))
        assert book.now.question > whole.state(version).question
        book.check(first=book.version)


def test_the_same_where_the_whole_view_must_be_equal() -> None:
    game = spec(5)
    arbitration = msgspec.structs.replace(game.charter.arbitration, kept_when="view")
    whole = book_of(with_(game, charter=with_(game.charter, arbitration=arbitration)))
    book = whole.cut(150)
    offers = book.rewind(110)
    assert offers.kept and not offers.anew and bare(book.now) == bare(whole.state(150))
    assert corrected(whole.cut(150), random.Random(0), 110)[1].anew, "any change of the board asks everybody anew"


def test_invariants_hold_at_every_entry_of_ordinary_games() -> None:
    for number in ASKING:
        book = played(number)
        assert [found for entry in range(1, book.version + 1) for found in problems(book.state(entry))] == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_game_goes_on_after_a_correction_in_every_kind_of_decision(kind: str) -> None:
    """And after a rewind to it, from some entries later; by facts alone, by ruling again, and by its invariants."""
    whole, entry = moments()[kind]
    nth, chance = KINDS.index(kind), random.Random(f"correction/{kind}")
    for book, last in ((whole.cut(entry), entry), (whole.cut(min(entry + 25, whole.version - 1)), entry)):
        to = None if book.version == last else entry
        after, offers = corrected(book, chance, to)
        rereading(after, after.version)
        first = after.version
        stop = 10 if nth % TO_THE_END == 0 else after.now.round
        after.go_on(nth, stop=stop)
        assert after.now.is_over or after.now.round > stop
        after.check(first=first)
        for later in range(first + 1, after.version + 1):
            rereading(after, later)
        for later in range(first, after.version + 1):
            assert problems(after.state(later)) == ()
        assert offers.facts


def rereading(book: Book, entry: int) -> int:
    """For every answer that an entry keeps: it is legal on both lines, and what it rests on is the same."""
    state, kept = book.state(entry - 1), 0
    for fact in book.facts(entry):
        if isinstance(fact, AnswerOffered) and fact.kept:
            told = book.facts(fact.given.entry)[fact.given.fact]
            assert isinstance(told, kernel.Answered | kernel.AnswerSealed | kernel.DraftKept)
            before = as_given(book, fact)
            for line in (before, state):
                check_legal(line, told.answer)
            if not isinstance(told, kernel.DraftKept):
                old, new = rests_on(before, told.answer), rests_on(state, told.answer)
                assert old == new, (fact, {name for name in old if old[name] != new.get(name)})
            kept += 1
        state = evolve(state, fact)
    return kept


def as_given(book: Book, offered: AnswerOffered) -> State:
    state = book.state(offered.given.entry - 1)
    for fact in book.facts(offered.given.entry)[: offered.given.fact]:
        if not isinstance(fact, kernel.AnswerTaken):
            state = evolve(state, fact)
    return state


def check_legal(state: State, answer: Answer) -> None:
    """The options take the answer, or it is their default, which a missed deadline takes unchecked."""
    owed = THRONES.decisions(state, replaceable=True)
    decision = next(one for one in owed if (one.player, one.kind) == (answer.player, answer.kind))
    if answer.tentative:
        decision.options.check_draft(answer)
    elif answer != decision.default:
        decision.check(answer)


def test_kept_answers_could_not_have_been_refused_and_read_nothing_changed() -> None:
    kept = anew = 0
    for number in (*GAMES, 11, 19):
        whole, chance = played(number), random.Random(f"kept/{number}")
        for _ in range(2):
            version = chance.randrange(80, whole.version)
            to = chance.randrange(version - 60, version)
            book, offers = corrected(whole.cut(version), chance, to)
            kept += rereading(book, book.version)
            anew += len(offers.anew)
            book.check(first=book.version)
    print(f"kept {kept}, asked anew {anew}")
    assert kept > 100 and anew > 10


def test_rewinds_of_rewinds() -> None:
    """Each goes back to anywhere, struck-out lines included; no answer is ever offered twice at one question."""
    for number in GAMES[:5]:
        whole, chance = played(number), random.Random(f"nested/{number}")
        book = whole.cut(120)
        for _ in range(4):
            to = chance.randrange(max(2, book.version - 70), book.version)
            book, _ = corrected(book, chance, to) if chance.randrange(2) else (book, book.rewind(to))
            rereading(book, book.version)
            book.go_on(number, most=chance.randrange(12))
        book.check(first=121)
        on_line = [
            (fact.given, fact.question)
            for facts in map(book.facts, range(121, book.version + 1))
            for fact in facts
            if isinstance(fact, AnswerOffered) and fact.question
        ]
        assert len(on_line) == len(set(on_line))


def test_taking_a_rewind_back() -> None:
    whole = played(2).cut(160)
    book = whole.cut(160)
    book.rewind(130, raw(f.PowerChanged(house=book.state(130).houses[0], by=1)))
    book.rewind(160)
    assert bare(book.now) == bare(whole.now)
    book.rewind(140)
    assert bare(book.now) == bare(whole.now), "what followed on its own line is offered again"


def test_a_rewind_of_a_whole_game_asks_for_a_new_seed() -> None:
    book = played(3).cut(played(3).version)
    with pytest.raises(Refusal, match="must-redraw"):
        THRONES.decide(book.now, Rewind(to=50, reason="a test"), book)
