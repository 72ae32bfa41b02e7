"""Every case, one test each; ``python -m tests.api.games.thrones.cases.test_cases`` prints the table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from api.games.thrones.cases.cases import (
    Asked,
    Case,
    CaseError,
    CaseReport,
    Disagreement,
    Excluded,
    Expect,
    Moment,
    Refused,
    Step,
    answers_of,
    decode_case,
    holds,
    moments_of,
    run_case,
    stand,
)
from api.games.thrones.rulebook import parse_rules
from tests import contents

ROOT = Path(__file__).parents[5]
CASES = contents.files()
RULES = parse_rules((ROOT / "docs/rules/second-edition.md").read_text())
FIRST_RULES = parse_rules((ROOT / "docs/rules/first-edition.md").read_text())
LAWS = {"second-edition": RULES, "first-edition": FIRST_RULES}
"""Presets that go by one specification; others go by both."""


def load(path: Path) -> Case:
    return decode_case(path.read_bytes())


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_case(path: Path) -> None:
    case = load(path)
    assert (case.id, case.chapter) == (path.stem, path.parent.name)
    law = LAWS.get(case.edition, {**RULES, **FIRST_RULES})
    assert not set(case.rules) - set(law), "a rule that its specification does not have"
    report = run_case(case)
    assert report.passed, f"{report.disagreement}\ncompleted: {'; '.join(report.completed)}"


@pytest.mark.slow
@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_a_case_fails_when_its_wrong_outcome_is_expected(path: Path) -> None:
    case = load(path)
    for excluded in case.excludes:
        assert not run_case(with_expectation(case, excluded)).passed, excluded.wrong


@pytest.mark.slow
@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_a_case_fails_when_what_it_expects_is_excluded(path: Path) -> None:
    case = load(path)
    expects = [case.begin, *(step.expect for step in case.steps)]
    for number, expect in enumerate(expects):
        if expect != Expect():
            inverted = (Excluded("inverted", number, expect),)
            assert not run_case(msgspec.structs.replace(case, excludes=inverted)).passed


def with_expectation(case: Case, excluded: Excluded) -> Case:
    """The case with the wrong outcome in the place of what it expects, and nothing excluded but nonsense."""
    nonsense = Excluded("nonsense", 0, Expect(position={"round": -1}))
    if excluded.step == 0:
        return msgspec.structs.replace(case, begin=excluded.expect, excludes=(nonsense,))
    steps = list(case.steps)
    steps[excluded.step - 1] = msgspec.structs.replace(steps[excluded.step - 1], expect=excluded.expect)
    return msgspec.structs.replace(case, steps=tuple(steps), excludes=(nonsense,))


def test_every_ruling_has_a_case() -> None:
    files = sorted((ROOT / "tests/cases/sources").glob("rulings-*.jsonl"))
    rulings = [json.loads(line)["id"] for path in files for line in path.read_text().splitlines()]
    assert sorted(rulings) == sorted({path.stem[:4] for path in CASES if path.stem.startswith("C")})


def test_a_case_without_a_wrong_outcome_is_refused() -> None:
    case = msgspec.structs.replace(load(CASES[0]), excludes=())
    with pytest.raises(CaseError, match="excludes"):
        run_case(case)


def test_every_case_has_a_number_of_its_own_and_a_place_in_the_specification() -> None:
    numbers = [case.number for case in contents.suite()]
    assert len(set(numbers)) == len(numbers)
    assert min(numbers) > 0, "python -m tests.contents numbers the new ones"
    places: dict[tuple[str, str], str] = {}
    for case in contents.suite():
        assert case.source
        assert case.section in contents.sections(case.edition), case.id
        assert places.setdefault((case.edition, case.chapter), case.section) == case.section, case.id


def test_declared_preferences_name_what_the_specification_has() -> None:
    for case in contents.suite():
        preference = case.preference
        if preference is not None:
            text = contents.specification(case.edition)
            assert preference.choice
            assert not preference.entry or f"\n| {preference.entry} |" in text, case.id
            assert not preference.switch or f"\n| `{preference.switch}` |" in text, case.id


def test_the_table_of_contents_is_that_of_the_files() -> None:
    page = contents.PAGE.read_text(encoding="utf-8")
    assert not contents.moved(page, contents.suite())
    before, mark, table = page.partition(contents.MARK)
    assert before
    assert mark
    assert table == f"{contents.contents(contents.suite())}\n", "python -m tests.contents writes it anew"


def test_a_number_that_goes_to_another_case_is_found() -> None:
    first, second, *rest = contents.suite()
    page = contents.PAGE.read_text(encoding="utf-8")
    swapped = [
        msgspec.structs.replace(first, number=second.number),
        msgspec.structs.replace(second, number=first.number),
    ]
    wrong = [f"{first.number} was {first.id}", f"{second.number} was {second.id}"]
    assert sorted(contents.moved(page, [*swapped, *rest])) == wrong
    assert contents.moved(page, [second, *rest]) == wrong[:1]


@pytest.mark.slow
@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_every_value_that_a_case_expects_is_compared(path: Path) -> None:
    case = load(path)
    whole = stand(case)
    moments = list(moments_of(case, whole))
    for number, expect in enumerate((case.begin, *(step.expect for step in case.steps))):
        assert holds(case, expect, moments[number])
        for where, wrong in spoiled(expect):
            assert not is_agreed(case, wrong, moments[number]), f"step {number}: nobody looked at {where}"


def is_agreed(case: Case, expect: Expect, moment: Moment) -> bool:
    try:
        return holds(case, expect, moment)
    except (CaseError, Disagreement):
        return False


def spoiled(expect: Expect) -> Iterator[tuple[str, Expect]]:
    """The expectation with one value in it changed, for every value in what it says of facts, positions and readings.

    What must never happen, or is illegal, is so with other values too.
    """
    plain = msgspec.to_builtins(expect)
    for number, one in enumerate(expect.reads):
        for where, wrong in changed(one["is"], f"reads/{number}"):
            others = (*expect.reads[:number], {**one, "is": wrong}, *expect.reads[number + 1 :])
            yield where, msgspec.structs.replace(expect, reads=others)
    for field in ("refused", "facts", "position", "public", "own", "asked"):
        for where, wrong in changed(plain.get(field), field):
            yield where, msgspec.convert({**plain, field: wrong}, Expect)


def changed(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in ("fact", "read"):
                yield from ((path, {**value, key: wrong}) for path, wrong in changed(inner, f"{where}/{key}"))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            for path, wrong in changed(inner, f"{where}/{number}"):
                yield path, [*value[:number], wrong, *value[number + 1 :]]
    elif isinstance(value, bool):
        yield where, not value
    elif isinstance(value, int):
        yield where, value + 1
    elif isinstance(value, str):
        yield where, "another"


LOOK = Case("look", "", "", "", (), (), (Excluded("nonsense", 0, Expect(position={"round": -1})),))


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ({"read": "weather", "is": "fine"}, "nothing is read as weather; known are icons"),
        ({"is": 1}, "nothing is read as None"),
        ({"read": "stars", "is": 1}, "the reading stars needs house"),
        ({"read": "stars", "house": "stark"}, "the reading stars needs is"),
        ({"read": "stars", "house": "stark", "is": 1, "area": "pyke"}, "the reading stars has no area"),
    ],
)
def test_a_reading_with_words_that_it_does_not_have_is_refused(pattern: dict[str, Any], told: str) -> None:
    with pytest.raises(CaseError, match=told):
        run_case(msgspec.structs.replace(LOOK, begin=Expect(reads=(pattern,))))


@pytest.mark.parametrize(
    "pattern",
    [
        {"read": "stars", "house": "frey", "is": 0},
        {"read": "reach", "area": "essos", "is": []},
        {"read": "reach", "area": "winterfell", "is": []},
        {"read": "icons", "area": "winterfell", "icon": "sword", "is": 1},
        {"read": "complies", "sizes": "many", "supply": 1, "is": True},
        {"read": "supply-limit", "supply": -9, "is": []},
        {"read": "points-left", "area": "winterfell", "answer": {"kind": "raid"}, "is": 0},
        {"read": "points-left", "area": "winterfell", "answer": {"kind": "muster", "house": "stark"}, "is": 0},
        {"read": "strength", "units": {"dragon": 1}, "is": 3},
        {"read": "support", "area": 5, "is": 3},
    ],
)
def test_what_cannot_be_read_fails_and_says_why(pattern: dict[str, Any]) -> None:
    report = run_case(msgspec.structs.replace(LOOK, begin=Expect(reads=(pattern,))))
    assert not report.passed
    assert report.disagreement.startswith(f"begin: {pattern['read']}("), report.disagreement


def test_what_is_asked_may_be_told_with_its_options() -> None:
    case = next(case for case in contents.suite() if case.id == "casualty-counts-units")
    asked = Asked("stark", "casualties", options={"count": 1, "units": {"footman": 1, "knight": 1}})
    right = msgspec.structs.replace(case, begin=msgspec.structs.replace(case.begin, asked=(asked,)))
    assert run_case(right).passed
    less = msgspec.structs.replace(asked, options={"count": 1, "units": {"footman": 1, "knight": 2}})
    wrong = msgspec.structs.replace(case, begin=msgspec.structs.replace(case.begin, asked=(less,)))
    assert "not asked stark casualties" in run_case(wrong).disagreement


def test_draws_that_a_case_does_not_state_and_orders_that_there_are_not_are_refused() -> None:
    case = next(case for case in contents.suite() if case.id == "1e-more-battle")
    fight = msgspec.structs.replace(
        case,
        edition="second-edition",
        rules=("2E-GEN-17",),
        position=msgspec.structs.replace(case.position, switches={"tides-of-battle": "on"}),
        steps=(
            Step(do=answers_of(case.steps[0])[0], expect=Expect(refused=Refused(("2E-GEN-17",), "draw-not-stated"))),
        ),
        excludes=(Excluded("nothing is drawn", 1, Expect(when="end")),),
    )
    report = run_case(fight)
    assert report.passed, report.disagreement
    order = {"kind": "assign-orders", "house": "stark", "orders": {"winterfell": "sing"}}
    unknown = Step(do=order, expect=Expect(refused=Refused(("2E-ORD-2",), "unknown-order", {"order": "sing"})))
    report = run_case(msgspec.structs.replace(LOOK, rules=("2E-ORD-2",), steps=(unknown,)))
    assert report.passed, report.disagreement


def test_a_case_in_which_something_is_done_names_rules() -> None:
    case = msgspec.structs.replace(next(case for case in contents.suite() if case.steps), rules=())
    with pytest.raises(CaseError, match="names the rules"):
        run_case(case)


def reports() -> Iterator[CaseReport]:
    yield from (run_case(load(path)) for path in CASES)


if __name__ == "__main__":
    for report in reports():
        print(f"{'pass' if report.passed else 'FAIL':5}{report.id:42}{report.title}  {report.disagreement}")
