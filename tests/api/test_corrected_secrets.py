"""What a correction does to sealed answers and drafts depends on nothing that they say: plans, acts and facts alike."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec
import pytest

from domain.kernel import facts as kernel
from domain.kernel.arbiter import Correct, FileAppeal, Rewind
from domain.kernel.docket import AnswerVoided
from domain.kernel.refusal import Refusal
from domain.thrones.language import facts as f
from domain.thrones.notation import parse_line, split_letter
from domain.thrones.ruleset import THRONES
from events.envelope import encode
from examples.search import WORDS
from tests.api.test_noninterference import GAMES, KINDS, Case, position
from tests.api.twins import Side, Step, Twins
from tests.domain.thrones.review.rewinds import Book
from tests.domain.thrones.review.test_rewind_properties import random_correction, raw
from tests.sizes import sized

pytestmark = pytest.mark.slow

SECRETS = ("assign-orders", "influence-bid", "wildling-bid", "house-card", "draft")
PROHIBITED = ("march-plus-1", "raid", "consolidate", "support", "defense")


def corrections(case: Case, chance: random.Random) -> list[dict[str, Any]]:
    """What an arbiter might state to find out what is sealed, and other things."""
    state = position(case.left)
    assert case.owner is not None
    house = case.owner.removeprefix("seat-")
    some: list[kernel.Fact] = [f.PowerChanged(house=house, by=-lost) for lost in range(1, state.power[house] + 1)]
    some += [f.OrdersProhibited(what=what) for what in PROHIBITED]
    some += [f.CardsDiscarded(house=one, cards=(card,)) for one in state.houses for card in state.hands[one]]
    for area, units in state.forces_of(house).items():
        some.append(f.UnitsDestroyed(house=house, area=area, units=units))
    some += [random_correction(state, chance) for _ in range(10)]
    return [raw(one) for one in some]


def cases(kind: str) -> Iterator[Case]:
    return KINDS[kind](tuple(number for numbers in GAMES.values() for number in numbers))


def books(case: Case) -> tuple[Book, Book]:
    """The twins as records: the position, the secret, and an appeal to go back behind."""
    found = []
    for start, body in ((case.left, case.steps[0].left), (case.right, case.steps[0].right)):
        book = Book()
        book.take(start)
        book.take(_read(book, body, case))
        house = next(one for one in book.now.houses if f"seat-{one}" != case.owner)
        book.take(FileAppeal(house=house, against=1, statement="a test"))
        found.append(book)
    return found[0], found[1]


def _read(book: Book, body: bytes, case: Case) -> Any:
    assert case.owner is not None
    if not case.steps[0].is_letter:
        return msgspec.json.decode(body, type=THRONES.command_type)
    [line] = split_letter(body.decode())
    house = case.owner.removeprefix("seat-")
    return parse_line(line, house=house, lexicon=WORDS, open_decisions=THRONES.decisions(book.now))


def told(book: Book, command: Any) -> tuple[Any, ...]:
    """What everybody gets to read of a ruling."""
    try:
        facts = THRONES.decide(book.now, command, book).facts
    except Refusal as refusal:
        return (refusal.code, refusal.params)
    found: list[Any] = []
    for fact in facts:
        if isinstance(fact, kernel.AnswersOpened):
            break  # what was sealed is open from here on
        found.append(encode(fact) if fact.audience is None else (type(fact).__name__, fact.audience))
    return tuple(found)


@pytest.mark.parametrize("kind", SECRETS)
def test_what_becomes_of_a_sealed_answer_is_the_same_whatever_it_says(kind: str) -> None:
    void = kept = 0
    for case in islice(cases(kind), 4):
        left, right = books(case)
        for fact in corrections(case, random.Random(kind)):
            for command in (
                Correct(facts=(fact,), reason="a test", unseen=True),
                Rewind(to=2, reason="a test", correction=(fact,), unseen=True),
                Rewind(to=2, reason="a test", correction=(fact,), causal=True, unseen=True),
                Rewind(to=1, reason="a test", correction=(fact,), causal=True, unseen=True),
            ):
                ours = told(left, command)
                assert ours == told(right, command), (kind, command)
                is_void = any(b'"AnswerVoided"' in one for one in ours if isinstance(one, bytes))
                void, kept = void + is_void, kept + (not is_void and len(ours) > 2)
    assert void > 5 and kept > 5, (void, kept)


@pytest.mark.parametrize("kind", SECRETS)
def test_plans_and_acts_tell_nobody_what_is_sealed(kind: str) -> None:
    """Nor does what the plan of a correction, or of a rewind with one, says of answers that are void."""
    case = next(cases(kind))
    facts = corrections(case, random.Random(kind))
    some = random.Random(kind).sample(facts, min(sized(4, 8), len(facts)))
    twins = Twins(case.owner)
    twins.begin(case.left, case.right)
    seat = next(one for one in twins.left.tokens if one.startswith("seat-") and one != case.owner)
    steps = [case.steps[0], _step(seat, "appeal", against=1, statement="a test")]
    for fact in (*some, _voiding(case, facts)):
        steps.append(_step("operator", "correct/plan", facts=[fact]))
        steps.append(_step("operator", "rewind/plan", to=2, causal=True, correction=[fact]))
    after = [_step("operator", "rewind", 3, to=2, causal=True, correction=[_voiding(case, facts)], reason="a test")]
    asyncio.run(_take(twins, [*steps, *after]))
    assert twins.left.store.version("twin") == 4
    assert any(isinstance(fact, AnswerVoided) for fact in _facts_of(twins, 4))


def _voiding(case: Case, facts: list[dict[str, Any]]) -> dict[str, Any]:
    """A fact that changes what the secret was chosen from."""
    left, _ = books(case)
    for fact in facts:
        found = told(left, Rewind(to=2, reason="a test", correction=(fact,), causal=True, unseen=True))
        if any(b'"AnswerVoided"' in one for one in found if isinstance(one, bytes)):
            return fact
    raise AssertionError("some fact does")


def _step(who: str, path: str, version: int | None = None, **said: Any) -> Step:
    return Step(who, encode(said), encode(said), path=path, version=version)


async def _take(twins: Twins, steps: list[Step]) -> None:
    for number, step in enumerate(steps):
        left = await twins.left.send(step, step.left, f"key-{number}")
        right = await twins.right.send(step, step.right, f"key-{number}")
        assert left.status < 500, left
        if step.who != twins.owner:
            twins.same(f"{step.path} {step.left!r}", left, right)
    twins.left.lines.clear()
    twins.right.lines.clear()
    await twins.look()


def _facts_of(twins: Twins, entry: int) -> tuple[Any, ...]:
    desk = twins.left.desk
    [stored] = desk.store.entries("twin", entry - 1, 1)
    return desk.judge.codec.facts(stored)


def test_a_plan_that_would_open_what_is_sealed_wants_a_reason() -> None:
    """The last House that owes a bid loses its Power: its bid is forced, and all bids leave their envelopes."""
    case = next(one for one in cases("influence-bid") if len(position(one.left).houses) > 2)
    side = Side()
    side.begin(case.left)
    first = THRONES.decisions(_now(side))
    last = next(one for one in reversed(first) if f"seat-{one.player}" != case.owner and one.options.most)
    steps = [
        *(Step(f"seat-{one.player}", encode(one.default), b"") for one in first if one != last),
        _step(f"seat-{last.player}", "appeal", against=1, statement="a test"),
    ]
    for number, step in enumerate(steps):
        assert asyncio.run(side.send(step, step.left, f"key-{number}")).status < 300, step
    version = side.store.version("twin")
    assert _now(side).awaited[0].player == last.player and len(_now(side).awaited) == 1
    fact = raw(f.PowerChanged(house=last.player, by=-last.options.most))
    correction = _step("operator", "correct/plan", facts=[fact])
    planned = asyncio.run(side.send(correction, correction.left, "plan"))
    assert planned.status == 200 and planned.json()["answers"] == []
    assert not any("bid" in sentence for sentence in planned.json()["stated"]), planned.body
    plan = _step("operator", "rewind/plan", to=version - 1, causal=True, correction=[fact])
    answer = asyncio.run(side.send(plan, plan.left, "back"))
    assert (answer.status, answer.json()["code"]) == (422, "why-missing"), answer.body
    assert side.store.version("twin") == version


def _now(side: Side) -> Any:
    return side.desk.line("twin").state
