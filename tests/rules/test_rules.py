"""Every rule of the specification is carried by something while the tests run, or is a definition that is exempt."""

from __future__ import annotations

import ast
import json
import tomllib
from functools import cache
from pathlib import Path

import msgspec
import pytest

from api.games.thrones.coverage import Exemption, coverage, missing
from api.games.thrones.rulebook import parse_rules

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
BOOKS = {
    name: parse_rules((ROOT / f"docs/rules/{name}.md").read_text(encoding="utf-8"))
    for name in ("second-edition", "first-edition")
}
RULES = {rule for book in BOOKS.values() for rule in book}
CARRIED: dict[str, dict[str, str]] = json.loads((HERE / "coverage.json").read_text(encoding="utf-8"))
EXEMPT = msgspec.convert(tomllib.loads((HERE / "exempt.toml").read_text(encoding="utf-8")), dict[str, Exemption])
SIZES = {"second-edition": 478, "first-edition": 204}
MOST_EXEMPT = {"second-edition": 90, "first-edition": 10}


@cache
def functions_in(file: str) -> frozenset[str]:
    """Names of the test functions of a file, methods as ``Class::name``."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}::{one.name}" for one in node.body if isinstance(one, ast.FunctionDef)}
    return frozenset(names)


def exists(test: str) -> bool:
    file, _, name = test.partition("::")
    return (ROOT / file).is_file() and name in functions_in(file)


def test_the_specifications_have_478_and_204_rules() -> None:
    assert {name: len(book) for name, book in BOOKS.items()} == SIZES
    assert len(RULES) == sum(SIZES.values())


@pytest.mark.parametrize("name", BOOKS)
def test_every_rule_is_implemented_or_exempt(name: str) -> None:
    rows = coverage(BOOKS[name], CARRIED, EXEMPT)
    assert missing(rows) == ()
    assert len(rows) == SIZES[name]
    implemented = sum(row.is_implemented for row in rows)
    print(f"{implemented} rules implemented, {sum(row.is_exempt for row in rows)} exempt")


def test_the_record_names_rules_and_tests_that_exist() -> None:
    assert set(CARRIED) <= RULES
    gone = {test for ways in CARRIED.values() for test in ways.values() if not exists(test)}
    assert not gone, f"pytest --write-rules writes the record anew: {sorted(gone)}"


def test_exemptions_are_few_and_name_tests_that_exist() -> None:
    for name, book in BOOKS.items():
        assert len(set(EXEMPT) & set(book)) <= MOST_EXEMPT[name]
    assert set(EXEMPT) <= RULES
    assert not set(EXEMPT) & set(CARRIED), "what is carried needs no exemption"
    assert all(exists(exemption.test) for exemption in EXEMPT.values())


def test_no_source_cites_a_rule_that_does_not_exist() -> None:
    from api.games.thrones.rulebook import cited_in

    for path in sorted((ROOT / "domain").rglob("*.py")):
        strange = [rule for rule in cited_in(path.read_text(encoding="utf-8")) if rule not in RULES]
        assert not strange, path
