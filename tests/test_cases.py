"""Every case and every worked example, one test each; ``python -m tests.test_cases`` prints the table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from domain.thrones.cases import Case, CaseError, CaseReport, Excluded, Expect, decode_case, run_case
from domain.thrones.interchange.examples import run_example
from domain.thrones.rulebook import parse_rules

HERE = Path(__file__).parent
CASES = sorted((HERE / "cases").glob("*/*.json"))
CASES = [path for path in CASES if path.parent.name != "sources"]
SOURCES = ("rulebook-examples-2e.json", "more-examples-2e.json")
EXAMPLES: list[dict[str, Any]] = [
    example for name in SOURCES for example in json.loads((HERE / "cases/sources" / name).read_text())["cases"]
]
RULES = parse_rules((HERE.parent / "docs/rules/second-edition.md").read_text())


def load(path: Path) -> Case:
    return decode_case(path.read_bytes())


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_case(path: Path) -> None:
    case = load(path)
    assert (case.id, case.chapter) == (path.stem, path.parent.name)
    assert not set(case.rules) - set(RULES), "a rule that the specification does not have"
    report = run_case(case)
    assert report.passed, f"{report.disagreement}\ncompleted: {'; '.join(report.completed)}"


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_a_case_fails_when_its_wrong_outcome_is_expected(path: Path) -> None:
    case = load(path)
    for excluded in case.excludes:
        assert not run_case(with_expectation(case, excluded)).passed, excluded.wrong


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
    rulings = [json.loads(line)["id"] for line in (HERE / "cases/sources/rulings-2e.jsonl").read_text().splitlines()]
    assert sorted(rulings) == sorted({path.stem[:4] for path in CASES})


def test_a_case_without_a_wrong_outcome_is_refused() -> None:
    case = msgspec.structs.replace(load(CASES[0]), excludes=())
    with pytest.raises(CaseError, match="excludes"):
        run_case(case)


@pytest.mark.parametrize("example", EXAMPLES, ids=[example["id"] for example in EXAMPLES])
def test_worked_example(example: dict[str, Any]) -> None:
    report = run_example(example)
    assert report.passed, f"{report.disagreement}\ncompleted: {'; '.join(report.completed)}"


@pytest.mark.parametrize("example", EXAMPLES, ids=[example["id"] for example in EXAMPLES])
def test_every_expectation_of_a_worked_example_is_compared(example: dict[str, Any]) -> None:
    for where, wrong in spoiled(example["expected"]):
        assert not run_example({**example, "expected": wrong}).passed, f"nobody looked at {where}"


def spoiled(value: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """The expectation with one thing in it changed, for every thing in it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            for path, wrong in spoiled(inner, f"{where}/{key}"):
                yield path, {**value, key: wrong}
    elif isinstance(value, list):
        yield where, [*value, "another"]
        for number, inner in enumerate(value):
            for path, wrong in spoiled(inner, f"{where}/{number}"):
                yield path, [*value[:number], wrong, *value[number + 1 :]]
    elif isinstance(value, bool):
        yield where, not value
    else:
        yield where, value + 1 if isinstance(value, int) else "another"


@pytest.mark.parametrize(
    "strange",
    [
        {"expected": {"weather": "fine"}},
        {"expected": {}, "setup": {"weather": "fine"}},
        {"expected": {}, "actions": [{"do": "sing"}]},
        {"expected": {}, "setup": {"areas": {"essos": {}}}, "actions": []},
        {"expected": {}, "weather": "fine"},
    ],
)
def test_an_example_that_is_not_understood_fails(strange: dict[str, Any]) -> None:
    assert "not understood" in run_example({**EXAMPLES[0], **strange}).disagreement


def reports() -> Iterator[CaseReport]:
    yield from (run_case(load(path)) for path in CASES)
    yield from (run_example(example) for example in EXAMPLES)


if __name__ == "__main__":
    for report in reports():
        print(f"{'pass' if report.passed else 'FAIL':5}{report.id:42}{report.title}  {report.disagreement}")
