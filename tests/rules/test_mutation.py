"""A rule that is switched off is noticed by some test: the record of it, and a few mutants run again."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from tests.rules.mutation import DRAWN, RESULTS, Mutant, drawn, run

ENOUGH = {"second-edition": 60, "first-edition": 40}
AGAIN = 2
"""How many mutants of each book are run again here; ``make mutants`` runs all that are drawn."""


@cache
def fresh(edition: str) -> dict[str, tuple[Mutant, dict[str, Any]]]:
    """Killed mutants whose statement is still the one that the record speaks of."""
    record = {one["rule"]: one for one in json.loads(RESULTS.read_text(encoding="utf-8"))}
    found = {}
    for mutant in drawn(edition):
        known = record.get(mutant.rule)
        if known and known["killed_by"] and (known["how"], known["statement"]) == (mutant.how, mutant.statement):
            found[mutant.rule] = (mutant, known)
    return found


@pytest.mark.parametrize("edition", ENOUGH)
def test_enough_rules_are_missed_when_they_are_switched_off(edition: str) -> None:
    """Statements that changed since do not count; when too many did, ``make mutants`` makes the record anew."""
    print(f"{len(fresh(edition))} of {DRAWN[edition]} drawn rules are missed by a test when they are switched off")
    assert len(fresh(edition)) >= ENOUGH[edition]


@pytest.mark.slow
@pytest.mark.parametrize("edition", ENOUGH)
@pytest.mark.parametrize("number", range(AGAIN))
def test_a_recorded_mutant_is_still_killed_by_the_same_test(edition: str, number: int) -> None:
    killed = fresh(edition)
    rules = sorted(rule for rule, (_, known) in killed.items() if "::" in known["killed_by"])
    mutant, known = killed[rules[number * len(rules) // AGAIN]]
    assert run(mutant, (known["killed_by"].split("[")[0],)) is not None, mutant.rule
