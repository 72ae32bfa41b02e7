"""Opinions as cases: at every kind of decision, in every edition, and without what was sealed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from api.games.thrones.cases.adjudicator import CaseAdjudicator
from api.games.thrones.cases.cases import Case, CaseError, CaseReport, decode_case, run_case
from api.games.thrones.cases.opinions import as_case
from api.games.thrones.cases.positions import complete
from api.games.thrones.cases.protocol import Greet, Introduction, Score, introduced, put
from domain.kernel import facts as kernel
from domain.kernel.arbiter import Correct, FileAppeal, Rewind, RuleOnAppeal
from domain.kernel.bots import any_answer
from domain.kernel.commands import PassDeadline
from domain.kernel.docket import Appeal, Docket
from domain.kernel.facts import Answered, AnswersOpened, AnswerTaken
from domain.kernel.refusal import Refusal
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from domain.thrones.language.start import Start
from domain.thrones.language.state import Force, State
from domain.thrones.ruleset import THRONES
from tests.domain.thrones.games import spec, spec_of_variations
from tests.domain.thrones.review.rewinds import Book, book_of, played, with_
from tests.domain.thrones.review.test_rewind_properties import KINDS, moments

CASES = Path(__file__).parents[4] / "cases"
VARIED = (0, 1, 2, 3, 4, 5, 9, 15)
"""Games of the first edition with three, four and five Houses, of both books, and of variations mixed."""


def ruled_on(book: Book, against: int, outcome: str = "upheld") -> Book:
    """The record with an appeal against an entry, and the ruling on it."""
    book = book.cut(book.version)
    number = len(book.now.docket.appeals) + 1
    book.take(FileAppeal(house=book.now.houses[0], against=against, statement="Not that way."))
    if outcome != "corrected":
        book.take(RuleOnAppeal(appeal=number, outcome=outcome, opinion="That way."))  # type: ignore[arg-type]  # a word
        return book
    for house in book.now.houses:
        power = {"fact": "PowerChanged", "house": house, "by": 1 if book.now.pool(house, 20) else -1}
        stated = Correct(facts=(power,), reason="a test", appeal=number, opinion="Otherwise.", unseen=True)
        try:
            book.take(stated)
        except Refusal as refusal:
            if refusal.code != "impossible-position":
                raise
        else:
            return book
    raise AssertionError("somebody's Power can be changed")


def exported(book: Book, number: int = 1) -> Case:
    """The case of an appeal, as it comes back from its file."""
    appeal = book.now.docket.appeals[number - 1]
    case = as_case(game="winter", appeal=appeal, past=book, source="a test")
    return decode_case(msgspec.json.encode(case))


def put_to_ours(case: Case, **otherwise: Any) -> Score:
    """How our own side of the protocol does, line by line."""
    ours = CaseAdjudicator()
    other: Introduction = introduced(ours.answer(Greet(id=0)))
    putting = put(case, msgspec.structs.replace(other, **otherwise))
    try:
        request = next(putting)
        while True:
            request = putting.send(ours.answer(request))
    except StopIteration as done:
        found: Score = done.value
        return found


def check(book: Book, against: int) -> None:
    """Upheld or declined it comes out again; corrected it fails, since it demands what the arbiter stated."""
    for outcome in ("upheld", "declined"):
        case = exported(ruled_on(book, against, outcome))
        report: CaseReport = run_case(case)
        assert report.passed and case.steps, report.disagreement
        assert put_to_ours(case).outcome == "passed"
    case = exported(ruled_on(book, against, "corrected"))
    report = run_case(case)
    assert not report.passed
    assert "fact PowerChanged" in report.disagreement or "excluded" in report.disagreement, report.disagreement
    assert put_to_ours(case).outcome == "failed"


def answered(book: Book, kind: str) -> Book:
    """The record with one more answer of this kind, and those that are secret with it."""
    chance, decisions = random.Random(kind), THRONES.decisions(book.now)
    wanted = next(one for one in decisions if getattr(one.default, "ability", one.kind) == kind)
    book.take(any_answer((wanted,), chance.randrange))
    return book


def opened(book: Book) -> Book:
    """The record up to where everybody has answered the question in secret."""
    question = book.now.question
    while book.now.answers and book.now.question == question:
        book.take(any_answer(THRONES.decisions(book.now), random.Random(0).randrange))
    return book


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_an_opinion_on_any_kind_of_decision_is_a_case(kind: str) -> None:
    whole, entry = moments()[kind]
    book = answered(whole.cut(entry), kind)
    check(opened(book), entry + 1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_an_opinion_on_any_missed_deadline_is_a_case(kind: str) -> None:
    whole, entry = moments()[kind]
    book = whole.cut(entry)
    asked = next(one for one in THRONES.decisions(book.now) if getattr(one.default, "ability", one.kind) == kind)
    book.take(PassDeadline(player=asked.player, question=book.now.question))
    case = exported(ruled_on(book, entry + 1))
    assert run_case(case).passed
    assert put_to_ours(case).outcome == "passed"


@pytest.mark.slow
@pytest.mark.parametrize("number", VARIED)
def test_opinions_in_games_of_other_editions_are_cases(number: int) -> None:
    whole = book_of(spec_of_variations(number))
    for against in one_of_each(whole):
        # All that is sealed is open here: the game is over.
        for outcome in ("upheld", "corrected"):
            case = as_case(game="winter", appeal=appeal_of(outcome, against), past=_Ruled(whole, outcome), source="x")
            assert run_case(case).passed is (outcome == "upheld"), run_case(case).disagreement
            assert put_to_ours(case).outcome == ("passed" if outcome == "upheld" else "failed")


def one_of_each(book: Book) -> Iterator[int]:
    """An entry for every kind of answer that was given, once as one of several secret ones and once as the last."""
    seen: set[tuple[str, bool]] = set()
    for entry in range(2, book.version + 1):
        for fact in book.facts(entry):
            if isinstance(fact, Answered | AnswerTaken) and fact.how == "given":
                kind = fact.answer.kind if isinstance(fact, Answered) else fact.kind
                last = any(isinstance(one, AnswersOpened) for one in book.facts(entry))
                if (kind, last) not in seen:
                    yield entry
                seen.add((kind, last))
                break


def appeal_of(outcome: str, against: int) -> Appeal:
    found: Appeal = msgspec.convert(
        {"number": 1, "against": against, "player": "stark", "statement": "Not that way.", "outcome": outcome}, Appeal
    )
    return msgspec.structs.replace(found, opinion="a test")


class _Ruled:
    """A record that has ended, with the ruling on an appeal behind it, which no arbiter could give any more."""

    def __init__(self, book: Book, outcome: str) -> None:
        self.book, self.version = book, book.version + 1
        house = book.now.houses[0]
        before = book.cut(book.version - 1)
        self.ruling = ruled_on(before, before.version, outcome).facts(before.version + 2)
        self.house = house

    def state(self, entry: int) -> State:
        return self.book.state(min(entry, self.book.version))

    def facts(self, entry: int) -> tuple[kernel.Fact, ...]:
        return self.book.facts(entry) if entry < self.version else self.ruling


# Secrets


class _Otherwise:
    """The same record where everything that nobody may see is otherwise."""

    def __init__(self, book: Book) -> None:
        self.book, self.version = book, book.version

    def facts(self, entry: int) -> tuple[kernel.Fact, ...]:
        return self.book.facts(entry)

    def state(self, entry: int) -> State:
        state = self.book.state(entry)
        hidden = state.hidden
        cards = sorted(hidden.decks.get("wildling", ()))
        return with_(
            state,
            hidden=with_(
                hidden,
                seed="ab" * 32,
                former=("cd" * 32,),
                decks={deck: tuple(reversed(pile)) for deck, pile in hidden.decks.items()},
                seen=dict.fromkeys(hidden.seen, cards[-1] if cards else ""),
                tides=dict.fromkeys(hidden.tides, "tides-3"),
                drafts={},
            ),
        )


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_case_says_nothing_of_what_lies_face_down(kind: str) -> None:
    whole, entry = moments()[kind]
    book = ruled_on(opened(answered(whole.cut(entry), kind)), entry + 1)
    appeal = book.now.docket.appeals[0]
    cases = [
        msgspec.json.encode(as_case(game="winter", appeal=appeal, past=past, source="a test"))
        for past in (book, _Otherwise(book))
    ]
    assert cases[0] == cases[1]
    seeds = {book.now.hidden.seed, *book.now.hidden.former} - {""}
    assert not any(seed.encode() in cases[0] for seed in seeds)


def planning() -> Book:
    """A game in which one House has given its orders and the others have not."""
    book = Book()
    game = spec(4)
    charter = with_(game.charter, seats=dict(zip(("ann", "bo", "cy"), game.charter.houses, strict=False)))
    book.take(Start(charter=charter, seed=game.seed))
    book.take(THRONES.decisions(book.now)[0].default)
    return book


def why_not(book: Book, number: int = 1) -> str:
    with pytest.raises(Refusal, match="not-a-case") as refusal:
        exported(book, number)
    return str(refusal.value.params["problem"])


def test_a_secret_answer_is_told_once_it_is_open() -> None:
    book = planning()
    assert "still sealed" in why_not(ruled_on(book, 2))
    house = book.state(1).awaited[0].player
    later = ruled_on(opened(book), 2)
    case = exported(later)
    assert run_case(case).passed and case.exact is not None and case.exact.answers == {}
    assert f'"{house}' in json.dumps(msgspec.to_builtins(case.steps[0].do))
    assert not case.exact.charter.seats


def test_the_answers_of_others_are_not_in_it_unless_the_ruling_opened_them() -> None:
    book = planning()
    book.take(THRONES.decisions(book.now)[0].default)
    later = opened(book)
    among, last = exported(ruled_on(later, 3)), exported(ruled_on(later, later.version))
    assert among.exact is not None and last.exact is not None
    assert among.exact.answers == among.exact.face_down == {}
    assert set(last.exact.answers) == set(later.now.houses) - {last.steps[0].do.partition(":")[0]}  # type: ignore[union-attr]  # one line
    assert set(last.exact.face_down.values()) <= set(last.exact.answers)
    assert run_case(among).passed and run_case(last).passed
    appealed = ruled_on(later, 3)
    appealed.take(any_answer(THRONES.decisions(appealed.now), random.Random(0).randrange))
    again = exported(ruled_on(appealed, appealed.version), 2).exact
    assert again is not None and again.docket == Docket(), "an arbiter's book is no part of a position"


def test_an_order_that_a_draft_has_laid_for_who_missed_the_deadline_is_told_as_an_answer() -> None:
    book = planning()
    while len(THRONES.decisions(book.now)) > 1:
        book.take(THRONES.decisions(book.now)[0].default)
    default = THRONES.decisions(book.now)[0].default
    assert isinstance(default, c.AssignOrders)
    (one, first), (other, second) = sorted(default.orders.items())[:2]
    assert first != second
    book.take(c.AssignOrders(default.house, {one: second, other: first}, draft=True))
    book.take(PassDeadline(player=default.house, question=book.now.question))
    case = exported(ruled_on(book, book.version))
    assert run_case(case).passed and case.steps[0].do and not case.steps[0].deadline


def test_where_houses_give_orders_in_turn_those_before_must_be_open() -> None:
    short = decode_case((CASES / "planning/C131b.json").read_bytes())
    units = {
        **short.position.units,
        "sunspear": Force("martell", {"footman": 1}),
        "winterfell": Force("stark", {"knight": 1}),
    }
    whole = complete(with_(short.position, units=units), short.edition)
    book = Book()
    charter = with_(whole.state.charter, chance="seeded")
    book.take(Start(charter=charter, seed="5a" * 32, position=whole.state, hidden=whole.hidden, reason="a test"))
    chance = random.Random(0)
    assert len(book.now.awaited) == 1
    book.take(any_answer(THRONES.decisions(book.now), chance.randrange))
    missed = book.version + 1
    book.take(PassDeadline(player=book.now.awaited[0].player, question=book.now.question))
    assert "before it are still sealed" in why_not(ruled_on(book, missed))
    while not any(isinstance(fact, AnswersOpened) for fact in book.facts(book.version)):
        book.take(any_answer(THRONES.decisions(book.now), chance.randrange))
    for entry in range(2, book.version + 1):
        assert run_case(exported(ruled_on(book, entry))).passed, entry


def test_one_that_was_replaced_or_taken_back_never_is() -> None:
    book = planning()
    replaced = book.cut(2)
    replaced.take(THRONES.decisions(book.state(1))[0].default)
    assert "still sealed" in why_not(ruled_on(opened(replaced), 2))
    taken_back = book.cut(2)
    taken_back.take(Rewind(to=1, reason="a test"))
    while not any(isinstance(fact, AnswersOpened) for fact in taken_back.facts(taken_back.version)):
        taken_back.take(any_answer(THRONES.decisions(taken_back.now), random.Random(1).randrange))
    assert "still sealed" in why_not(ruled_on(taken_back, 2))


def test_a_deadline_that_was_missed_in_secret_needs_no_waiting() -> None:
    book = planning().cut(1)
    book.take(PassDeadline(player=book.now.awaited[0].player, question=book.now.question))
    case = exported(ruled_on(book, 2))
    assert run_case(case).passed and case.steps[0].deadline


# From the set-up, and what no case can be made of


@pytest.mark.parametrize("game", [spec(3), spec_of_variations(1), spec_of_variations(3)])
def test_an_opinion_on_the_set_up_is_a_case(game: Any) -> None:
    book = Book()
    book.take(Start(charter=game.charter, seed=game.seed))
    case = exported(ruled_on(book, 1))
    assert case.set_up and case.exact is None and run_case(case).passed
    assert put_to_ours(case).outcome == "passed"
    wrong = exported(ruled_on(book, 1, "corrected"))
    assert not run_case(wrong).passed and "PowerChanged" in run_case(wrong).disagreement


def test_what_is_no_case_says_why() -> None:
    book = played(3).cut(40)
    taken_over = Book()
    taken_over.take(
        Start(charter=book.now.charter, seed="5a" * 32, position=book.now, hidden=book.now.hidden, reason="x")
    )
    assert "took over a position" in why_not(ruled_on(taken_over, 1))
    book.take(FileAppeal(house=book.now.houses[0], against=40, statement="Not that way."))
    book.take(RuleOnAppeal(appeal=1, outcome="upheld", opinion="That way."))
    assert "nobody had answered" in why_not(ruled_on(book, 41), 2)
    struck = played(3).cut(40)
    struck.take(FileAppeal(house=struck.now.houses[0], against=40, statement="Not that way."))
    struck.take(Rewind(to=39, reason="a test", causal=False, appeal=1, opinion="Taken back."))
    assert "stated nothing" in why_not(struck)


def test_a_correction_that_only_the_arbiter_sees_is_no_expectation() -> None:
    book = ruled_on(played(3).cut(40), 40, "corrected")
    facts = book.facts(book.version)
    hidden = f.DeckShuffled(deck="1", occasion="a test", cards=())
    changed = tuple(hidden if isinstance(fact, f.PowerChanged) else fact for fact in facts)
    book._facts[book.version] = changed
    assert "stated nothing" in why_not(book)


# Exact positions in files


def an_opinion() -> Case:
    book = played(3).cut(40)
    entry = next(e for e in range(40, 1, -1) if any(isinstance(fact, Answered) for fact in book.facts(e)))
    return exported(ruled_on(book, entry))


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"position": {"round": 3}}, "stands alone"),
        ({"set_up": True}, "stands alone"),
        ({"edition": "first-edition"}, "no game of first-edition"),
        ({"edition": "third-edition"}, "unknown edition"),
        ({"exact": {"frames": [{"procedure": "Dance"}]}}, "names what there is not"),
        ({"exact": {"frames": [{"procedure": "ActionPhase", "step": "dance"}]}}, "cannot go on"),
        ({"exact": {"frames": [{"procedure": "ActionPhase", "step": "weighed"}]}}, "cannot go on"),
        ({"exact": {"frames": [{}]}}, "names what there is not"),
        ({"exact": {"tracks": {}}}, "cannot go on"),
        ({"exact": {"charter": {"edition": "second-edition", "houses": ["ned"]}}}, "names what there is not"),
        ({"exact": {"format": "position/2"}}, "position/2"),
    ],
)
def test_an_exact_position_that_cannot_be_is_an_error(changed: dict[str, Any], problem: str) -> None:
    plain = msgspec.to_builtins(an_opinion())
    exact = {**plain["exact"], **changed.pop("exact", {})}
    with pytest.raises(CaseError, match=problem):
        run_case(decode_case(msgspec.json.encode({**plain, "exact": exact, **changed})))


def test_who_does_not_go_on_from_exact_positions_skips_them() -> None:
    case = an_opinion()
    score = put_to_ours(case, speaks=("decisions",))
    assert (score.outcome, score.reason) == ("skipped", "it does not go on from an exact position")
