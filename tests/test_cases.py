"""Every case and every worked example, one test each; ``python -m tests.test_cases`` prints the table."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from domain.thrones import commands as c
from domain.thrones.cases import Case, CaseError, CaseReport, Excluded, Expect, decode_case, run_case
from domain.thrones.editions.second import SECOND_EDITION
from domain.thrones.interchange.examples import Example, read_answers, read_setup
from domain.thrones.interchange.worked_examples import examples_in, format_of
from domain.thrones.rulebook import parse_rules
from domain.thrones.state import State
from tests import contents

HERE = Path(__file__).parent
CASES = contents.files()
SOURCES = sorted((HERE / "cases/sources").glob("*.json"))
WORKED = [one for path in SOURCES for one in examples_in(json.loads(path.read_text()))]
EXAMPLES = [example for example, _, kind in WORKED if kind is Example]
IDS = [example["id"] for example, _, _ in WORKED]
RULES = parse_rules((HERE.parent / "docs/rules/second-edition.md").read_text())
FIRST_RULES = parse_rules((HERE.parent / "docs/rules/first-edition.md").read_text())
LAWS = {"second-edition": RULES, "first-edition": FIRST_RULES}
"""Presets that go by one specification; others go by both."""


def run_example(example: dict[str, Any], known_rules: Any = None) -> CaseReport:
    return Example(example, "second-edition", known_rules).run()


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
    files = sorted((HERE / "cases/sources").glob("rulings-*.jsonl"))
    rulings = [json.loads(line)["id"] for path in files for line in path.read_text().splitlines()]
    assert sorted(rulings) == sorted({path.stem[:4] for path in CASES if path.stem.startswith("C")})


def test_files_that_are_no_worked_examples_are_told() -> None:
    others: tuple[Any, ...] = (None, [], {"format": "agot3e"}, {"ruleset": "agot2e"})
    assert not any(format_of(one) for one in others)
    wrong: tuple[dict[str, Any], ...] = ({}, {"ruleset": "agot1e"}, {"ruleset": "agot1e", "cases": [1]})
    for document in wrong:
        with pytest.raises(CaseError):
            list(examples_in(document))
    with pytest.raises(CaseError, match="unknown edition"):
        list(examples_in({"ruleset": "agot1e", "cases": [], "edition": "third-edition"}))
    preset = [one for _, one, _ in examples_in({"ruleset": "agot1e", "cases": [{}], "edition": "mixed-four"})]
    assert preset == ["mixed-four"]


FIRST = next((one, kind) for one, _, kind in WORKED if one["id"] == "1e-ex-march")


@pytest.mark.parametrize(
    "strange",
    [
        {"expected": {"weather": "fine"}},
        {"expected": {"values": {"weather": 1}}},
        {"expected": {"areas": {"lannisport": {"weather": "fine"}}}},
        {"expected": {"legal": [{"do": "sing", "house": "stark"}]}},
        {"expected": {"legal": [{"do": "march", "house": "stark", "from": "essos", "moves": []}]}},
        {"expected": {"legal": [{"do": "march", "house": "stark", "from": "pyke", "moves": [{"to": "essos"}]}]}},
        {"expected": {"illegal": [{"position": "many armies"}]}},
        {"expected": {"illegal": [{"do": "remove-units", "house": "stark", "area": "pyke", "units": {}, "debt": 3}]}},
        {"expected": {"reachable": {"from": "winterfell", "to": []}}},
        {"expected": {"if_defender_loses": {"routed-knight": "kept"}}},
        {"expected": {}},
        {"setup": {"weather": "fine"}},
        {"setup": {"config": {"weather": "fine"}}},
        {"setup": {"areas": {"essos": {}}}},
        {"setup": {"areas": {"pyke": {"units": {"footman": 1}}}}},
        {"actions": [{"do": "sing"}]},
        {"actions": [{"do": "resolve-card", "card": "web-of-lies"}]},
        {"rules": ["2E-MAR-1"]},
        {"weather": "fine"},
    ],
)
def test_an_example_of_the_first_edition_that_is_not_understood_fails(strange: dict[str, Any]) -> None:
    example, kind = FIRST
    assert "not understood" in kind({**example, **strange}, "first-edition", FIRST_RULES).run().disagreement


@pytest.mark.parametrize(
    "wrong",
    [
        {"actions": [{"do": "march", "house": "tyrell", "from": "lannisport"}]},
        {"actions": [*FIRST[0]["actions"], {"do": "support", "house": "stark", "from": "pyke", "side": "lannister"}]},
        {"actions": [*FIRST[0]["actions"], {"do": "consolidate", "house": "stark", "area": "winterfell"}]},
        {"actions": [{"do": "take-power", "house": "stark", "colour": "tyrell"}]},
        {"expected": {"next_step": "raid"}},
        {"expected": {"neutral": {"pyke": None}}},
        {"expected": {"values": {"winner": "stark"}}},
    ],
)
def test_what_does_not_happen_in_an_example_is_told(wrong: dict[str, Any]) -> None:
    example, kind = FIRST
    report = kind({**example, **wrong}, "first-edition", FIRST_RULES).run()
    assert not report.passed
    assert "not understood" not in report.disagreement


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


@pytest.mark.parametrize(("example", "preset", "kind"), WORKED, ids=IDS)
def test_worked_example(example: dict[str, Any], preset: str, kind: type[Example]) -> None:
    report = kind(example, preset, LAWS[preset]).run()
    assert report.passed, f"{report.disagreement}\ncompleted: {'; '.join(report.completed)}"


@pytest.mark.parametrize(("example", "preset", "kind"), WORKED, ids=IDS)
def test_every_expectation_of_a_worked_example_is_compared(
    example: dict[str, Any], preset: str, kind: type[Example]
) -> None:
    for where, wrong in spoiled(example["expected"]):
        assert not kind({**example, "expected": wrong}, preset).run().passed, f"nobody looked at {where}"


def spoiled(value: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """The expectation with one thing in it changed, for every thing in it.

    What is illegal is so with other numbers too.
    """
    if where.startswith("/illegal/") and isinstance(value, int):
        return
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
    elif value is None:
        yield where, 1
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


def example(name: str, **changed: Any) -> dict[str, Any]:
    return {**next(one for one in EXAMPLES if one["id"] == name), **changed}


def test_a_refusal_that_an_example_does_not_expect_ends_it_and_is_told() -> None:
    refused = example("special-orders-limit-enforced", expected={"round": 1})
    told = run_example(
        {**refused, "actions": [*refused["actions"], {"do": "raid", "by": "stark", "from": "winterfell"}]}
    )
    assert re.match(r"refused: [a-z-]+ \[2E-.*\]: [A-Z].*\.", told.disagreement), told.disagreement


FIGHT = {
    "phase": "action/march",
    "players": ["baratheon", "lannister", "stark"],
    "config": {"tides-of-battle": "on"},
    "areas": {
        "winterfell": {"house": "stark", "units": {"knight": 3}, "order": "march-0"},
        "moat-cailin": {"house": "lannister", "units": {"footman": 1}},
    },
}
ATTACK = {"do": "march", "by": "stark", "from": "winterfell", "moves": [{"to": "moat-cailin", "units": {"knight": 3}}]}


@pytest.mark.parametrize(("winner", "passed"), [("stark", True), ("lannister", False)])
def test_draws_that_are_not_stated_are_assumed_and_named(winner: str, passed: bool) -> None:
    report = run_example({"id": "t", "setup": FIGHT, "actions": [ATTACK], "expected": {"combat": {"winner": winner}}})
    assert report.passed is passed, report.disagreement
    assert any(note.startswith("draws of the deck tides (") and "canonical order" in note for note in report.completed)
    assert passed or "not stated, so taken in canonical order: the draws of tides/" in report.disagreement


def test_rules_that_do_not_exist_and_expectations_of_nothing_are_not_understood() -> None:
    known = EXAMPLES[0]
    assert run_example(known, known_rules=RULES).passed
    assert run_example({**known, "rules": ["2E-NO-1"]}, known_rules=RULES).disagreement.endswith(
        "unknown rules: 2E-NO-1"
    )
    nothings: tuple[dict[str, Any], ...] = ({}, {"areas": {}}, {"results": []})
    for nothing in nothings:
        assert run_example({**known, "expected": nothing}).disagreement == "not understood: nothing expected"
    assert "not understood" in run_example({**known, "actions": [{"by": "stark"}]}).disagreement


@pytest.mark.parametrize("expected", [{"areas": {"winterfell": {"garrison": 0}}}, {"garrisons": {"winterfell": 0}}])
def test_a_garrison_of_nothing_is_none(expected: dict[str, Any]) -> None:
    look = {"id": "t", "setup": FIGHT, "actions": [], "expected": expected}
    assert run_example(look).passed
    elsewhere = json.loads(json.dumps(expected).replace("winterfell", "lannisport"))
    assert not run_example({**look, "expected": elsewhere}).passed


@pytest.mark.parametrize(
    ("phase", "step", "at"),
    [
        ("planning", "planning/raven", "planning/raven"),
        ("planning", "raven", "planning/raven"),
        ("", "planning/messenger-raven", "planning/raven"),
        ("planning/raven", "raven", "planning/raven"),
        ("action", "march", "action/march"),
        ("action", "action/march", "action/march"),
        ("", "clean-up", "action/clean-up"),
        ("westeros", "westeros/wildlings", "westeros/wildlings"),
        ("action/march", "action/march/combat/retreat", "combat/retreat"),
        ("action", "march/combat/house-cards", "combat/cards"),
        ("action/march", "retreat", "combat/retreat"),
        ("combat", "support", "combat/support"),
    ],
)
def test_phase_and_step_may_be_written_with_and_without_the_phase(phase: str, step: str, at: str) -> None:
    assert read_setup({"phase": phase, "step": step}, [], SECOND_EDITION).at.step == at


@pytest.mark.parametrize(("phase", "step"), [("planning", "march"), ("westeros", "sing"), ("sing", "march")])
def test_a_step_of_another_phase_is_not_understood(phase: str, step: str) -> None:
    with pytest.raises(CaseError, match="not understood"):
        read_setup({"phase": phase, "step": step}, [], SECOND_EDITION)


def test_routed_units_are_read_wherever_units_are() -> None:
    lying, state = {"routed": {"knight": 1}}, State()
    march = {"do": "march", "by": "stark", "from": "winterfell", "moves": [{"to": "karhold", "units": lying}]}
    assert read_answers(march, state)[0] == c.MarchOrder(
        "stark", "winterfell", (c.Move("karhold", {"routed-knight": 1}),)
    )
    losses = {"do": "casualties", "by": "stark", "destroy": {"footman": 1, **lying}}
    assert read_answers(losses, state)[0] == c.Casualties("stark", "", {"footman": 1, "routed-knight": 1})
    supply = {"do": "reconcile-supply", "by": "stark", "destroy": {"karhold": lying}}
    assert read_answers(supply, state)[0] == c.ReconcileSupply("stark", {"karhold": {"routed-knight": 1}})


def reports() -> Iterator[CaseReport]:
    yield from (run_case(load(path)) for path in CASES)
    yield from (kind(example, preset).run() for example, preset, kind in WORKED)


if __name__ == "__main__":
    for report in reports():
        print(f"{'pass' if report.passed else 'FAIL':5}{report.id:42}{report.title}  {report.disagreement}")
