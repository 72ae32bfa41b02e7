"""Appeals that hold up only what depends on them, on random games and in the cases at the edge."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from api.games.thrones.refusals import explain
from api.games.thrones.sentences import Prose
from domain.kernel.agreed import Arbitration
from domain.kernel.arbiter import (
    Amend,
    Correct,
    FileAppeal,
    ReadSecrets,
    Rewind,
    RuleOnAppeal,
    changes,
    is_out_of_date,
)
from domain.kernel.commands import Command, PassDeadline
from domain.kernel.docket import Doubt, InDoubt
from domain.kernel.facts import Answered, Fact
from domain.kernel.game import answer_of
from domain.kernel.refusal import Refusal
from domain.kernel.ruleset import Ruling
from domain.thrones.bots import TEMPERAMENTS, Bot
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from domain.thrones.language.evolve import evolve
from domain.thrones.language.state import State
from domain.thrones.review.doubt import changed, retraced
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.editions.second import SECOND_EDITION
from tests.domain.thrones.games import spec
from tests.domain.thrones.review.rereading import rests_on
from tests.domain.thrones.review.rewinds import Book, Offers, book_of, entries_with, played, with_
from tests.domain.thrones.review.test_rewind_properties import raw
from tests.sizes import sized

pytestmark = pytest.mark.slow

GAMES = (*range(6), 33, 86)
ROUNDS = sized(4, 12)
"""How many appeals are tried in each game."""
MOST = 14
"""How many answers are tried while an appeal is open."""


@cache
def lenient(number: int) -> Book:
    """Game number so-and-so under a charter that lets go on what does not depend on an appeal. Cut it first."""
    game = spec(number)
    arbitration = with_(game.charter.arbitration, appeal_stops="what-depends-on-it")
    return book_of(with_(game, charter=with_(game.charter, arbitration=arbitration)))


def appeal(book: Book, against: int) -> Doubt:
    house = book.now.houses[len(book.now.docket.open_appeals)]  # nobody appeals twice against the same
    book.take(FileAppeal(house=house, against=against, statement="a test"))
    return book.now.docket.doubts[-1]


def appealed(
    number: int, chance: random.Random, wanted: Callable[[Book, int], Any] = lambda book, entry: True
) -> tuple[Book, int]:
    """A game with an appeal against one of its last rulings on an answer."""
    whole = lenient(number)
    last = chance.randrange(30, whole.version - 20)
    against = next(e for e in range(last, 0, -1) if answer_of(whole.facts(e)) and wanted(whole, e))
    book = whole.cut(against + chance.randrange(5))
    appeal(book, against)
    return book, against


def next_answer(book: Book, chance: random.Random) -> Command:
    owed = THRONES.decisions(book.now)
    decision = owed[chance.randrange(len(owed))]
    if chance.randrange(12) == 0:
        return PassDeadline(player=decision.player, question=book.now.question)
    bot = Bot(TEMPERAMENTS[chance.choice(sorted(TEMPERAMENTS))], SECOND_EDITION.board, SECOND_EDITION.tokens)
    return bot.answer(book.now, decision, chance.randrange)


def go_on(book: Book, chance: random.Random) -> tuple[list[int], list[Refusal]]:
    """Try answers while the appeal is open; the entries of those taken, and the refusals."""
    taken, refused = [], []
    for _ in range(MOST):
        if book.now.is_over:
            break
        try:
            book.take(next_answer(book, chance))
            taken.append(book.version)
        except Refusal as refusal:
            if refusal.code != "appeal-open":
                raise
            refused.append(refusal)
    return taken, refused


TURNED_UP = (f.WildlingCardRevealed, f.TidesCardDrawn, f.WesterosCardDrawn)
"""What a ruling does behind a card that nobody could see is followed only afterwards."""

PUT_BACK = (
    *("units", "orders", "power_tokens", "garrisons", "neutral", "tracks", "tokens", "supply", "power", "hands"),
    *("discards", "bids", "westeros_cards", "westeros_discards"),
)


def put_back(state: State, names: tuple[str, ...], before: State) -> State:
    """The position with what is in doubt as it was before the appealed entry, whether that could be so or not."""
    changes: dict[str, Any] = {}
    for name in names:
        field, _, key = name.removesuffix("]").partition("[")
        if field in PUT_BACK:
            changed = dict(changes.get(field, getattr(state, field)))
            old = getattr(before, field).get(key)
            changed.pop(key, None)
            changes[field] = dict(sorted({**changed, key: old}.items())) if old is not None else changed
        elif field in ("threat", "prohibited"):
            changes[field] = getattr(before, field)
        elif field == "used":
            used = {*changes.get("used", state.used)} - {key} | ({key} & {*before.used})
            changes["used"] = tuple(sorted(used))
    return with_(state, **changes)


# What is taken while an appeal is open


def test_rulings_are_retraced_as_they_were_made() -> None:
    """The sections of a ruling, one after the other, are the whole of it."""
    for number in GAMES[:4]:
        book = played(number)
        for entry in range(2, book.version):
            answer = answer_of(book.facts(entry))
            if answer is None:
                continue
            before, rules = book.state(entry - 1), THRONES.rules_of(book.now)
            sections = retraced(rules, rules.edition, before, answer)
            for section, following in pairwise(sections):
                assert section.after == following.before
            counted = {"frames": (), "question": 0, "awaited": ()}
            assert with_(sections[-1].after, **counted) == with_(book.state(entry), **counted), f"entry {entry}"


def test_what_is_taken_rests_on_nothing_that_the_appealed_entry_has_led_to() -> None:
    """With all of that put back as it was, each answer has the same footprint, and rests on the same by the rules."""
    taken_at_all, refused_at_all, put_back_at_all = Counter[str](), Counter[str](), 0
    for number in GAMES:
        chance = random.Random(f"appeals/{number}")
        for _ in range(ROUNDS):
            book, against = appealed(number, chance)
            first = book.version
            taken, refused = go_on(book, chance)
            for entry in taken:
                answer = answer_of(book.facts(entry))
                if answer is None:
                    continue  # a draft
                state = book.state(entry - 1)
                (doubt,) = state.docket.doubts
                other = put_back(state, doubt.names, book.state(against - 1))
                put_back_at_all += other != state
                rules = THRONES.rules_of(state)
                differs = rules.footprint(state, answer).differs(rules.footprint(other, answer))
                if not any(isinstance(fact, TURNED_UP) for fact in book.facts(entry)):
                    assert differs == (), (number, entry)
                assert "options" not in differs
                assert rests_on(state, answer) == rests_on(other, answer), (number, entry)
                taken_at_all[answer.kind] += 1
            refused_at_all.update(THRONES.decisions(book.now)[0].kind for _ in refused)
            book.check(first=first)
    print(f"taken {dict(taken_at_all)}, refused {dict(refused_at_all)}, put back {put_back_at_all}")
    assert min(taken_at_all.total(), refused_at_all.total(), put_back_at_all) > len(GAMES) * ROUNDS / 2
    assert {"march", "assign-orders"} <= taken_at_all.keys()


def undoings(book: Book, entry: int) -> list[Fact]:
    """Corrections behind an entry that touch only parts of the position that it changed."""
    before, after = book.state(entry - 1), book.state(entry)
    parts = changed(before, after, ())
    some: list[Fact] = [f.PowerChanged(house=house, by=by) for house in after.houses for by in (-1, 1)]
    for area, force in sorted(after.units.items()):
        some += [f.UnitsDestroyed(house=force.house, area=area, units={unit: 1}) for unit in sorted(force.units)]
        some += [f.UnitReplaced(house=force.house, area=area, old="footman", new="knight")] * ("footman" in force.units)
    some += [f.OrderRemoved(house=one.house, area=area, order=one.token) for area, one in sorted(after.orders.items())]
    some += [f.SupplySet(house=house, supply=before.supply.get(house, 0)) for house in after.houses]
    return [fact for fact in some if (touched := changed(after, evolve(after, fact), ())) and touched <= parts]


def test_whatever_the_arbiter_then_corrects_of_the_entry_what_was_taken_is_not_asked_anew() -> None:
    """A causal rewind that corrects something that the entry changed: nothing given since the appeal is asked anew."""
    kept = corrected = 0
    for number in GAMES:
        chance = random.Random(f"undone/{number}")
        for _ in range(ROUNDS):
            book, against = appealed(number, chance, undoings)
            filed = book.version
            go_on(book, chance)
            some = undoings(book, against)
            try:
                correction = (raw(chance.choice(some)),)
                facts = book.take(Rewind(to=against, reason="x", causal=True, correction=correction, appeal=1))
            except Refusal as refusal:
                if refusal.code not in ("impossible-position", "cannot-be-stated"):
                    raise
                continue
            offers = Offers(facts)
            corrected += 1
            late = [one for one in offers.all if one.given.entry > filed]
            kept += sum(one.kept for one in late)
            assert all(one.kept for one in late), (number, against, [one for one in late if not one.kept])
            book.check(first=book.version)
    print(f"{corrected} corrections, {kept} of the answers given during the appeal kept at once")
    assert min(corrected, kept) > len(GAMES) * ROUNDS / 6


def test_a_question_says_that_it_waits_and_why_and_only_then_it_is_refused() -> None:
    for number in GAMES[:4]:
        chance = random.Random(f"waits/{number}")
        for _ in range(8):
            book, _ = appealed(number, chance)
            for decision in THRONES.decisions(book.now, replaceable=True):
                held = THRONES.held(book.now, decision)
                passed = PassDeadline(player=decision.player, question=book.now.question)
                if not held:
                    continue
                assert all(one.appeal == 1 for one in held)
                for command in (decision.default, passed):
                    with pytest.raises(Refusal) as refusal:
                        book.take(command)
                    assert refusal.value.code == "appeal-open" and refusal.value.params["appeals"] == [1]
                    told = explain("appeal-open", refusal.value.params, Prose(SECOND_EDITION))
                    assert "until appeal 1 is ruled on" in told


# The edges: where nothing is told apart


def last_march(book: Book) -> int:
    return next(
        e
        for e in range(book.version - 30, 0, -1)
        if isinstance(book.commands[e], c.MarchOrder) and not entries_after(book, e)
    )


def entries_after(book: Book, entry: int) -> bool:
    """Whether a combat follows at once."""
    return book.state(entry).combat is not None


def test_by_default_the_whole_game_stands_still() -> None:
    book = played(3).cut(120)
    book.take(FileAppeal(house=book.now.houses[0], against=115, statement="a test"))
    assert book.now.docket.doubts == () and not any(isinstance(one, InDoubt) for one in book.facts(121))
    for decision in THRONES.decisions(book.now):
        assert [one.appeal for one in THRONES.held(book.now, decision)] == [1]
        with pytest.raises(Refusal, match="appeal-open") as refusal:
            book.take(decision.default)
        assert refusal.value.params == {"appeals": [1]}
    book.take(RuleOnAppeal(appeal=1, outcome="upheld", opinion="a test"))
    assert THRONES.held(book.now, THRONES.decisions(book.now)[0]) == ()


def everything(book: Book, against: int) -> bool:
    return appeal(book.cut(book.version), against).everything


def test_of_what_no_answer_made_nothing_is_told_apart() -> None:
    whole = lenient(3)
    march = last_march(whole)
    book = whole.cut(march)
    assert not everything(book, march)
    assert everything(book, 1), "the set-up"
    book.take(ReadSecrets(who="arbiter", what="x", why="y"))
    assert everything(book, book.version), "an entry that rules on no answer"
    assert not everything(book, march), "it changes nothing in between"
    power = raw(f.PowerChanged(house=book.now.houses[0], by=1))
    book.take(Correct(facts=(power,), reason="a test"))
    assert everything(book, book.version) and everything(book, march), "behind an arbiter's hand"


def test_nor_while_struck_out_answers_wait_or_of_what_is_struck_out() -> None:
    whole = lenient(3)
    march = last_march(whole)
    book = whole.cut(march + 6)
    book.take(Rewind(to=march - 1, reason="a test"))
    assert everything(book, march), "struck out"
    assert everything(book, march - 1), "behind it the arbiter took something back"
    book = whole.cut(march + 12)
    house = book.state(march).houses[0]
    book.rewind(march - 3, raw(f.PowerChanged(house=house, by=1)))
    assert not book.now.docket.pending or everything(book, march - 3)


def test_a_rewind_or_correction_under_another_appeal_leaves_everything_in_doubt() -> None:
    whole = lenient(3)
    march = last_march(whole)
    for act in (
        Rewind(to=march - 1, reason="a test", appeal=2),
        Correct(facts=(raw(f.PowerChanged(house=whole.now.houses[0], by=1)),), reason="a test", appeal=2),
    ):
        book = whole.cut(march)
        appeal(book, march)
        appeal(book, march)
        assert [one.everything for one in book.now.docket.doubts] == [False, False]
        book.take(act)
        assert [(one.appeal, one.everything) for one in book.now.docket.doubts] == [(1, True)]
        book.take(RuleOnAppeal(appeal=1, outcome="declined", opinion="a test"))
        assert book.now.docket.doubts == () and not THRONES.held(book.now, THRONES.decisions(book.now)[0])
    book = whole.cut(march)
    appeal(book, march)
    book.take(Amend(engine="thrones/2", reason="a test"))
    assert book.now.docket.doubts[0].everything


def test_two_appeals_each_hold_up_their_own() -> None:
    whole = lenient(3)
    march = last_march(whole)
    book = whole.cut(march)
    one = appeal(book, march)
    go_on(book, random.Random(1))
    later = next(e for e in range(book.version, 0, -1) if answer_of(book.facts(e)))
    appeal(book, later)
    first, second = book.now.docket.doubts
    assert (first.appeal, second.appeal) == (1, 2) and {*one.names} & {*first.names}
    book.take(RuleOnAppeal(appeal=1, outcome="upheld", opinion="a test"))
    assert [doubt.appeal for doubt in book.now.docket.doubts] == [2]
    book.check(first=march + 1)


def test_an_appealed_march_without_a_fight_lets_the_next_house_go_on() -> None:
    """And holds up the march that would enter where it went."""
    whole = lenient(3)
    marches = [e for e in entries_with(whole, Answered) if isinstance(whole.commands[e], c.MarchOrder)]
    went_on = 0
    for march in marches:
        command = whole.commands[march]
        following = whole.state(march).awaited
        assert isinstance(command, c.MarchOrder)
        if whole.state(march).combat or not following or following[0].kind != "march":
            continue
        book = whole.cut(march)
        doubt = appeal(book, march)
        assert {f"units[{command.area}]" if command.moves else f"orders[{command.area}]"} <= {*doubt.names}
        went_on += not THRONES.held(book.now, THRONES.decisions(book.now)[0])
    print(f"{went_on} of the next marches go on")
    assert went_on > 20


def test_facts_of_doubt_are_in_words() -> None:
    prose = Prose(SECOND_EDITION)
    fact: Fact = InDoubt(doubt=Doubt(1, names=("forces[stark]", "march", "procedure[Combat]", "units[winterfell]")))
    assert prose.line(fact) == (
        "Appeal 1 leaves in doubt: Stark's forces, the march, what it began (Combat), the units in Winterfell."
    )
    assert "everything" in prose.line(InDoubt(doubt=Doubt(1, everything=True)))
    for number in GAMES:
        book, _ = appealed(number, random.Random(number))
        for name in book.now.docket.doubts[0].names:
            assert "[" not in prose.line(InDoubt(doubt=Doubt(1, names=(name,))))


# Windows, repetitions, and plans that others keep growing


def windowed(window: int, **agreed: Any) -> Book:
    """A game of three under a charter with a window for appeals, its first orders in."""
    whole = played(0)
    start = whole.commands[1]
    arbitration = Arbitration(appeal_window=window, **agreed)
    book = Book()
    book.take(with_(start, charter=with_(start.charter, arbitration=arbitration)))  # type: ignore[union-attr,type-var]
    for command in whole.commands[2:6]:
        assert command is not None
        book.take(command)
    return book


def refused(book: Book, command: Any) -> str:
    """The code of a refusal, which stands on the record without facts."""
    try:
        book.take(command)
    except Refusal as refusal:
        book.write(command, Ruling((), book.now))
        return refusal.code
    return ""


def junk(book: Book, house: str) -> None:
    """Entries that change nothing: refused ones, a read by privilege, a sealed answer that is replaced."""
    for _ in range(4):
        assert refused(book, FileAppeal(house=house, against=1, statement="")) in (
            "statement-missing",
            "too-late-to-appeal",
        )
    book.take(ReadSecrets(who="arbiter", what="the view of Stark", why="a test"))


def sealed_answer(book: Book) -> Any:
    """An answer that is in, and may be replaced by itself."""
    owed = {(one.player, one.kind) for one in THRONES.decisions(book.now)}
    for decision in THRONES.decisions(book.now, replaceable=True):
        if (decision.player, decision.kind) not in owed:
            return decision.default
    return None


def test_the_window_counts_rulings_of_the_game_and_nothing_else() -> None:
    book = windowed(3)
    house, entry = book.now.houses[0], book.version
    for _ in range(3):
        junk(book, house)
    assert refused(book.cut(book.version), FileAppeal(house=house, against=entry, statement="unfair")) == ""
    for _ in range(2):
        book.take(THRONES.decisions(book.now)[0].default)
    again = book.cut(book.version)
    assert refused(again, FileAppeal(house=house, against=entry, statement="unfair")) == ""
    book.take(THRONES.decisions(book.now)[0].default)
    assert refused(book, FileAppeal(house=house, against=entry, statement="unfair")) == "too-late-to-appeal"


def test_a_sealed_answer_that_is_replaced_moves_neither_window_nor_plan() -> None:
    whole = played(0)
    entry = next(n for n in range(5, whole.version) if sealed_answer(whole.cut(n)) is not None)
    book = whole.cut(entry)
    version = book.version
    for _ in range(3):
        book.take(sealed_answer(book))
        assert not changes(book, book.version) and not is_out_of_date(version, book)
    book.take(THRONES.decisions(book.now)[0].default)
    assert is_out_of_date(version, book)


def test_a_plan_is_out_of_date_only_if_something_has_changed() -> None:
    book = windowed(0)
    house, version = book.now.houses[0], book.version
    junk(book, house)
    assert not is_out_of_date(version, book) and is_out_of_date(book.version + 1, book)
    power = raw(f.PowerChanged(house=house, by=1))
    act = Correct(facts=(power,), reason="a test", expected=version, unseen=True)
    book.cut(book.version).take(act)
    book.take(THRONES.decisions(book.now)[0].default)
    assert refused(book, act) == "plan-out-of-date"


def test_nobody_disputes_the_same_twice_or_everything_at_once() -> None:
    book = windowed(0)
    house, other = book.now.houses[:2]
    book.take(FileAppeal(house=house, against=2, statement="unfair"))
    assert refused(book, FileAppeal(house=house, against=2, statement="unfair")) == "appealed-already"
    book.take(FileAppeal(house=other, against=2, statement="unfair"))
    book.take(RuleOnAppeal(appeal=1, outcome="declined", opinion="no"))
    assert refused(book, FileAppeal(house=house, against=2, statement="unfair")) == "appeal-settled"
    for against in (3, 4, 5):
        book.take(FileAppeal(house=house, against=against, statement="unfair"))
    assert refused(book, FileAppeal(house=house, against=1, statement="unfair")) == "too-many-appeals"
    book.take(FileAppeal(house=other, against=1, statement="unfair"))


@pytest.mark.parametrize("outcome", ["declined", "upheld", "dismissed"])
@pytest.mark.parametrize("stops", ["everything", "what-depends-on-it"])
def test_a_seat_that_has_lost_its_appeals_halts_the_table_no_more(outcome: Any, stops: Any) -> None:
    book = windowed(0, appeals_lost=2, appeal_stops=stops)
    house, other = book.now.houses[:2]
    asked = THRONES.decisions(book.now)[0]
    for number, against in ((1, 2), (2, 3)):
        book.take(FileAppeal(house=house, against=against, statement="unfair"))
        assert [one.number for one in book.now.docket.stopping_appeals] == [number]
        book.take(RuleOnAppeal(appeal=number, outcome=outcome, opinion="no"))
    book.take(FileAppeal(house=house, against=4, statement="still unfair"))
    assert [one.number for one in book.now.docket.open_appeals] == [3] and not book.now.docket.stopping_appeals
    assert not book.now.docket.doubts
    book.take(asked.default)
    book.take(RuleOnAppeal(appeal=3, outcome="declined", opinion="heard all the same"))
    # The others' appeals count by themselves.
    book.take(FileAppeal(house=other, against=4, statement="unfair"))
    assert [one.number for one in book.now.docket.stopping_appeals] == [4]


def test_the_charter_says_how_many_appeals_a_seat_has_open() -> None:
    book = windowed(0, appeals_open=1, appeals_lost=0)
    house = book.now.houses[0]
    book.take(FileAppeal(house=house, against=2, statement="unfair"))
    assert refused(book, FileAppeal(house=house, against=3, statement="unfair")) == "too-many-appeals"
    book.take(THRONES.decisions(book.now)[0].default)
