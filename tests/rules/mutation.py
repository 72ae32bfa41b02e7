"""Switch rules off, one at a time, and see whether some test notices.

``python -m tests.rules.mutation`` (``make mutants``) draws implemented rules by a fixed seed, finds for each the
statement that carries it, writes a copy of the package in which that statement does nothing, and runs tests against
the copy until one fails. The result is tests/rules/mutation.json. What "off" means depends on the statement:

* a refusal is never raised; a reason that forbids something is empty;
* a fact, a gain, a loss, a shuffle does not happen; a line of a sum counts nothing, or one more;
* a decision is not asked: its default is applied; a reading of an edition is the second edition's;
* a House card has no text (a card without text has another strength), a Westeros card or a wildling card no effect.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
RESULTS = HERE / "mutation.json"
TABLES = "domain/thrones/tables/editions/second.json"
LAW = "domain/thrones/tables/editions/first-law.json"
SEED = "rookery/mutants"
DRAWN = {"second-edition": 80, "first-edition": 50}
"""How many rules of each book are drawn."""
BOOKS = {"second-edition": "2E-", "first-edition": "1E-"}

CHANGES = {
    "append",
    "destroy",
    "destroy_participating",
    "discard",
    "emit",
    "gain_power",
    "lose_power",
    "lose_units",
    "move_marker",
    "pass_token",
    "set_supply",
    "shuffle",
}
"""Functions whose call is a change of the game."""

STAGES = (
    (
        "tests/domain/thrones/rules/combat/cards",
        "tests/domain/thrones/rules/test_chapters.py",
        "tests/domain/thrones/rules/test_rare_rules.py",
    ),
    ("tests/domain/thrones/rules/test_options.py",),
    ("tests/domain/thrones/test_properties.py::test_properties_hold_at_every_entry[0]",),
)
STAGES_FIRST = (
    (
        "tests/domain/thrones/rules/test_first_edition_rounds.py",
        "tests/domain/thrones/rules/test_first_edition_battle.py",
    ),
    ("tests/domain/thrones/test_properties.py::test_properties_hold_whatever_a_table_plays_by[0]",),
)
"""What is run against a mutant, the quickest first, until something fails."""


SLOW = (
    "tests/domain/thrones/rules/test_options.py",
    "tests/domain/thrones/test_properties.py",
    "tests/domain/test_traces.py",
    "tests/domain/thrones/rules/test_first_edition_battle.py::test_random_games",
)
"""Tests that are not run for a rule just because they carry it."""


class Mutant:
    """One rule switched off: which file becomes what, and a digest of the statement that was there."""

    def __init__(self, rule: str, how: str, file: str, statement: str, text: str) -> None:
        self.rule = rule
        self.how = how
        self.file = file
        self.statement = hashlib.sha256(statement.encode()).hexdigest()[:16]
        self.text = text


class Source:
    """A parsed module in which one statement can be changed."""

    def __init__(self, path: Path) -> None:
        self.file = path.relative_to(ROOT).as_posix()
        self.tree = ast.parse(path.read_text(encoding="utf-8"))
        self.parent: dict[ast.AST, ast.AST] = {}
        for node in ast.walk(self.tree):
            for child in ast.iter_child_nodes(node):
                self.parent[child] = node

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        while node in self.parent:
            node = self.parent[node]
            yield node

    def first(self, node: ast.AST, *kinds: type[ast.AST]) -> Any:
        return next((one for one in self.above(node) if isinstance(one, kinds)), None)

    def places(self, rule: str) -> Iterator[ast.Constant]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Constant) and node.value == rule:
                yield node


def mutants(rule: str) -> list[Mutant]:
    """Every way of switching a rule off, the plainest first."""
    found: list[tuple[int, Mutant]] = []
    for path in sorted((ROOT / "domain/thrones").rglob("*.py")):
        if "notation" in path.parts or "interchange" in path.parts:
            continue
        if rule not in path.read_text(encoding="utf-8"):
            continue
        for index in range(len(list(Source(path).places(rule)))):
            source = Source(path)
            node = list(source.places(rule))[index]
            made = _mutate(source, node, rule)
            if made is not None:
                rank, how, statement = made
                ast.fix_missing_locations(source.tree)
                found.append((rank, Mutant(rule, how, source.file, statement, ast.unparse(source.tree))))
    plain = _plain_card(rule)
    if plain is not None:
        found.append((0, plain))
    return [mutant for _, mutant in sorted(found, key=lambda one: one[0])]


def _mutate(source: Source, node: ast.Constant, rule: str) -> tuple[int, str, str] | None:
    """Change the tree in place; what was done, and the statement as it was."""
    statement = source.first(node, ast.stmt)
    before = ast.unparse(statement)
    call = next((one for one in source.above(node) if isinstance(one, ast.Call) and _name(one) == "CardText"), None)
    if call is not None:
        if len(call.args) < 3:
            return None
        del call.args[2:]
        return 0, "card without text", ast.unparse(call)
    cards = _card_without_effect(source, node)
    if cards:
        return 0, "card without effect", cards
    word = source.first(node, ast.keyword, ast.stmt)
    if source.file.endswith("editions/composed.py") and isinstance(word, ast.keyword):
        reading = source.parent[word]
        assert isinstance(reading, ast.Call)
        reading.keywords.remove(word)
        return 2, "read as by the second edition", before
    line = next((one for one in source.above(node) if isinstance(one, ast.Call) and _name(one) == "Line"), None)
    if line is not None:
        line.args[2] = ast.BinOp(line.args[2], ast.Add(), ast.Constant(1))
        return 1, "line counts one more", before
    decision = _decision(source, node, statement)
    if decision is not None:
        decision.keywords = [word for word in decision.keywords if word.arg != "forced"]
        decision.keywords.append(ast.keyword("forced", decision.args[0]))
        return 3, "default without asking", before
    if isinstance(statement, ast.Raise):
        condition = source.parent[statement]
        if isinstance(condition, ast.If) and statement in condition.body:
            before = ast.unparse(condition)
            condition.test = ast.Constant(False)
            return 0, "never refused", before
        return None
    if isinstance(statement, ast.Return) and statement.value is not None:
        return _reason(statement, before)
    change = statement if _is_change(statement) else _change_by(source, statement)
    if change is not None:
        before = ast.unparse(change)
        _replace(source, change, ast.Pass())
        return 1, "does not happen", before
    return None


def _name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def _is_change(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and _name(statement.value) in CHANGES
    )


def _block(source: Source, statement: ast.stmt) -> list[ast.stmt]:
    parent = source.parent[statement]
    for field in ("body", "orelse"):
        block = getattr(parent, field, [])
        if isinstance(block, list) and statement in block:
            return block
    return []


def _names(statement: ast.stmt) -> set[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _change_by(source: Source, statement: ast.stmt) -> ast.stmt | None:
    """The change that uses what a statement assigns: rules first, then the fact."""
    block = _block(source, statement)
    names = _names(statement)
    if not names:
        return None
    for later in block[block.index(statement) + 1 :]:
        for node in ast.walk(later):
            if isinstance(node, ast.Expr) and _is_change(node) and _uses(node, names):
                return node
    return None


def _uses(node: ast.AST, names: set[str]) -> bool:
    return any(isinstance(one, ast.Name) and one.id in names for one in ast.walk(node))


def _decision(source: Source, node: ast.AST, statement: ast.stmt) -> ast.Call | None:
    """The decision that cites a rule, itself or by a variable of its function."""
    for one in source.above(node):
        if isinstance(one, ast.Call) and _name(one) == "decision":
            return one
    names = _names(statement)
    function = source.first(node, ast.FunctionDef)
    if not names or function is None:
        return None
    for one in ast.walk(function):
        if isinstance(one, ast.Call) and _name(one) == "decision" and _uses(one, names):
            return one
    return None


def _reason(statement: ast.Return, before: str) -> tuple[int, str, str] | None:
    """``return ("2E-…",)`` forbids something; ``return 0, ("2E-…",)`` values something."""
    value = statement.value
    if isinstance(value, ast.IfExp):
        value = value.body
    if not isinstance(value, ast.Tuple) or not value.elts:
        return None
    if all(isinstance(one, ast.Constant) and str(one.value)[:3] in BOOKS.values() for one in value.elts):
        statement.value = ast.Tuple([], ast.Load())
        return 2, "not forbidden", before
    if len(value.elts) == 2 and not isinstance(value.elts[0], ast.Constant | ast.Tuple):
        value.elts[0] = ast.BinOp(value.elts[0], ast.Add(), ast.Constant(1))
        return 2, "counts one more", before
    if isinstance(value.elts[0], ast.Constant) and value.elts[0].value == 0:
        value.elts[0] = ast.Constant(1)
        return 2, "counts one more", before
    return None


def _card_without_effect(source: Source, node: ast.Constant) -> str:
    """A wildling card whose parts do nothing, or a Westeros card that is Last Days of Summer."""
    body = source.first(node, ast.ClassDef)
    function = source.first(node, ast.FunctionDef)
    if body is not None and function is not None and function.name == "rule":
        before = ast.unparse(body)
        body.body = [one for one in body.body if getattr(one, "name", "") not in ("lowest", "other", "highest")]
        return before
    table = source.first(node, ast.Dict)
    if table is None or not source.file.endswith("westeros_cards.py"):
        return ""
    card = table.keys[table.values.index(node)]
    for other in ast.walk(source.tree):
        if isinstance(other, ast.Dict) and other is not table:
            for index, key in enumerate(other.keys):
                if isinstance(key, ast.Constant) and isinstance(card, ast.Constant) and key.value == card.value:
                    before = ast.unparse(other.values[index])
                    if before == "LastDaysOfSummer":
                        return ""
                    other.values[index] = ast.Name("LastDaysOfSummer", ast.Load())
                    return f"{key.value} {before}"
    return ""


def _plain_card(rule: str) -> Mutant | None:
    """A card without text becomes one stronger."""
    from domain.thrones.rules.combat.cards.house_cards import TEXTS

    card = next((one.card for one in TEXTS.values() if one.rule == rule and not one.effects), None)
    if card is None:
        return None
    tables = json.loads((ROOT / TABLES).read_text(encoding="utf-8"))
    entry = next(one for one in tables["house_cards"] if one["id"] == card)
    before = json.dumps(entry)
    entry["strength"] += 1
    return Mutant(rule, "another strength", TABLES, before, json.dumps(tables))


def _replace(source: Source, old: ast.stmt, new: ast.stmt) -> None:
    block = _block(source, old)
    block[block.index(old)] = new


def drawn(edition: str = "second-edition", count: int | None = None) -> list[Mutant]:
    """The plainest mutant of so many implemented rules, drawn by the fixed seed among those that can be mutated."""
    carried = json.loads((HERE / "coverage.json").read_text(encoding="utf-8"))
    rules = sorted(rule for rule in carried if rule.startswith(BOOKS[edition]))
    count = DRAWN[edition] if count is None else count
    random.Random(SEED).shuffle(rules)
    found: list[Mutant] = []
    for rule in rules:
        if len(found) == count:
            break
        found += of_rule(rule)[:1]
    return found


def of_rule(rule: str) -> list[Mutant]:
    """Mutants of a rule; where no code cites it, of what the second edition's rules do that say the same."""
    found = mutants(rule)
    if found or rule.startswith(BOOKS["second-edition"]):
        return found
    law = json.loads((ROOT / LAW).read_text(encoding="utf-8"))
    same = [second for second, first in law.items() if isinstance(first, list) and rule in first]
    found = [mutant for second in same for mutant in mutants(second)]
    for mutant in found:
        mutant.rule = rule
    return found


def run(mutant: Mutant, tests: tuple[str, ...]) -> str | None:
    """The first test that fails against a mutant; None when all pass."""
    with tempfile.TemporaryDirectory(prefix="rookery-mutant-") as folder:
        copy = Path(folder)
        leave = shutil.ignore_patterns("__pycache__", ".*", "cases", "ledgers")
        shutil.copytree(ROOT / "domain", copy / "domain", ignore=leave)
        shutil.copytree(ROOT / "tests", copy / "tests", ignore=leave)
        shutil.copytree(ROOT / "docs", copy / "docs", ignore=leave)
        shutil.copy(ROOT / "pyproject.toml", copy)
        (copy / mutant.file).write_text(mutant.text, encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "--no-header",
            "-p",
            "no:cacheprovider",
            "--tb=no",
            *tests,
        ]
        done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode == 0:
        return None
    failed = [line.split(" ")[1] for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return failed[0] if failed else "the package cannot be imported"


def judge(mutant: Mutant, most: int = len(STAGES)) -> dict[str, Any]:
    """Run tests until one fails: those that carry the rule, then the stages."""
    carried = json.loads((HERE / "coverage.json").read_text(encoding="utf-8"))
    own = tuple(sorted({test for test in carried[mutant.rule].values() if not test.startswith(SLOW)}))
    stages = STAGES if mutant.rule.startswith(BOOKS["second-edition"]) else STAGES_FIRST
    killer = None
    for stage in (own, *stages[:most]):
        if not stage:
            continue
        killer = run(mutant, stage)
        if killer is not None:
            break
    return {
        "rule": mutant.rule,
        "how": mutant.how,
        "file": mutant.file,
        "statement": mutant.statement,
        "killed_by": killer,
    }


def _line(result: dict[str, Any]) -> str:
    return f"{result['rule']} {result['how']}: {result['killed_by'] or 'SURVIVED'}"


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.rules.mutation", description="Switch rules off.")
    options.add_argument("--rules", type=int, help="how many rules to draw of each book (default 80 and 50)")
    options.add_argument(
        "--edition", choices=sorted(BOOKS), help="draw from this book alone, and keep what is recorded"
    )
    options.add_argument("--jobs", type=int, default=2, help="mutants at a time (default 2)")
    options.add_argument(
        "--stages", type=int, default=len(STAGES), help="how many groups of tests to try (default all)"
    )
    chosen = options.parse_args()
    editions = [chosen.edition] if chosen.edition else sorted(BOOKS)
    todo = [mutant for edition in editions for mutant in drawn(edition, chosen.rules)]
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if chosen.edition else []
    kept = [one for one in kept if not one["rule"].startswith(BOOKS[chosen.edition])]
    results: list[dict[str, Any]] = []
    with ThreadPoolExecutor(chosen.jobs) as pool:
        for done in as_completed([pool.submit(judge, mutant, chosen.stages) for mutant in todo]):
            result = done.result()
            results.append(result)
            print(f"{len(results)} of {len(todo)}: {_line(result)}", flush=True)
    RESULTS.write_text(
        json.dumps(sorted([*kept, *results], key=lambda one: one["rule"]), indent=1) + "\n", encoding="utf-8"
    )
    survived = [result["rule"] for result in results if result["killed_by"] is None]
    print(f"{len(results) - len(survived)} killed, {len(survived)} survived: {', '.join(survived) or 'none'}")
    return 0 if len(results) - len(survived) >= len(results) * 3 // 4 else 1


if __name__ == "__main__":
    sys.exit(main())
