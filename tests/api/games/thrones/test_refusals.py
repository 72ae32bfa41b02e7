"""Refusals in English."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.games.thrones.refusals import SENTENCES, explain
from api.games.thrones.sentences import Prose
from domain.kernel.refusal import Refusal
from domain.thrones.language.answers import MarchOrder, Move, Raven
from domain.thrones.rules.planning.raven import Replacements
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.editions.second import SECOND_EDITION

ROOT = Path(__file__).parents[4]
PROSE = Prose(SECOND_EDITION)
NOT_THERE = "These units are not there to choose."


def _codes() -> Iterator[str]:
    for package in ("domain", "events", "worker", "api"):
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                is_refusal = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Refusal"
                is_problem = isinstance(node, ast.Call) and ast.unparse(node.func) == "problems.add"
                if isinstance(node, ast.Call) and (is_refusal or is_problem) and node.args:
                    code = node.args[0]
                    if isinstance(code, ast.Constant):
                        yield str(code.value)


def test_every_refusal_has_a_sentence() -> None:
    codes = set(_codes())
    assert len(codes) > 50
    assert not codes - set(SENTENCES)


@pytest.mark.parametrize(
    ("code", "params", "sentence"),
    [
        (
            "cannot-be-raided",
            {"target": "sunset-sea", "targets": ["ironmans-bay", "bay-of-ice"]},
            "Sunset Sea cannot be raided from there. Possible: Ironman's Bay or Bay of Ice.",
        ),
        ("no-order-there", {"areas": []}, "There is no order to replace there. Possible: nothing."),
        ("out-of-range", {"number": 9, "least": 0, "most": 5}, "9 is not possible: 0 to 5."),
        ("units-not-there", {"available": {"pyke": {"ship": 2}}}, f"{NOT_THERE} There are Pyke: two Ships."),
        ("units-not-there", {"available": {"footman": 1}}, f"{NOT_THERE} There are a Footman."),
        ("not-your-seat", {"seat": "a", "player": "stark"}, "Seat a does not speak for Stark."),
        ("units-not-there", {"another": "version"}, "Units not there (another: version)."),
        (
            "too-many-special-orders",
            {
                "laid": 2,
                "allowed": 1,
                "also": [{"code": "order-prohibited", "rules": ["2E-PLN-6"], "order": "raid-star"}],
            },
            "Special orders laid: 2; allowed: 1. raid* is prohibited this round.",
        ),
        ("of-another-age", {"areas": ["pyke"]}, "Of another age (areas: pyke)."),
    ],
)
def test_sentences(code: str, params: dict[str, object], sentence: str) -> None:
    assert explain(code, params, PROSE) == sentence


def test_a_real_refusal() -> None:
    with pytest.raises(Refusal) as caught:
        THRONES.decide(THRONES.blank(), MarchOrder(house="stark", area="winterfell", moves=(Move("karhold", {}),)))
    assert explain(caught.value.code, caught.value.params, PROSE) == "The game has not begun."


@pytest.mark.parametrize(
    ("order", "code", "rules"),
    [
        ("raid-star", "order-on-the-board", {"2E-RVN-2", "2E-PLN-4"}),
        ("support-0-a", "order-prohibited", {"2E-RVN-2", "2E-PLN-6", "2E-WEC-16"}),
        ("march-plus-1", "star-too-many", {"2E-RVN-2", "2E-PLN-5"}),
    ],
)
def test_a_raven_replacement_is_refused_for_its_own_reason(order: str, code: str, rules: set[str]) -> None:
    options = Replacements(
        {"pyke": ("defense-plus-1-a",)}, laid=("raid-a", "raid-star"), prohibited=("support-0-a", "support-0-b")
    )
    with pytest.raises(Refusal) as caught:
        options.check(Raven(house="greyjoy", choice="replace", area="pyke", order=order))
    assert caught.value.code == code
    assert set(caught.value.rules) == rules
    assert "defense" in explain(code, caught.value.params, PROSE) or code == "order-prohibited"
