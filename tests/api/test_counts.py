"""Numbers in sentences: whatever is said of two entries can be said of one entry."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.kernel.printing import counted

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path
    for package in ("api", "events", "worker", "domain/kernel")
    for path in (ROOT / package).rglob("*.py")
    if "games" not in path.parts
)
STORED = {("events/backup.py", "games")}
"""What is signed keeps its form: the note of a backup is read again by a pattern."""


def _trees() -> Iterator[tuple[str, ast.AST]]:
    for path in FILES:
        yield str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8"))


def _counted_nouns(tree: ast.AST) -> Iterator[str]:
    """The plurals that a module asks for: their first word."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "counted":
            words = [one.value for one in node.args[1:] if isinstance(one, ast.Constant)]
            plural = words[1] if len(words) > 1 else f"{words[0]}s"
            yield str(plural).split()[0]


def _said(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Words that follow a number, or whatever stands there, in a formatted text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            for value, text in zip(node.values, node.values[1:], strict=False):
                listed = isinstance(value, ast.FormattedValue) and ".join(" in ast.unparse(value)
                if isinstance(value, ast.FormattedValue) and isinstance(text, ast.Constant) and not listed:
                    found = re.match(r" ([A-Za-z]+(?:\(s\))?)", str(text.value))
                    if found:
                        yield node.lineno, found[1]


NOUNS = {noun for _, tree in _trees() for noun in _counted_nouns(tree)} - {"of", "more", "different", "signed"}
"""Words by which a plural is told; an adjective tells none."""


def test_no_number_stands_before_a_plural_that_it_does_not_choose() -> None:
    assert {"entries", "games", "draws"} <= NOUNS
    wrong = [
        f"{name}:{line}: {word}"
        for name, tree in _trees()
        for line, word in _said(tree)
        if (word in NOUNS or word.endswith("(s)")) and (name, word) not in STORED
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("number", "words", "said"),
    [
        (0, ("game",), "0 games"),
        (1, ("game",), "1 game"),
        (2, ("game",), "2 games"),
        (1, ("entry comes", "entries come"), "1 entry comes"),
        (2, ("entry comes", "entries come"), "2 entries come"),
    ],
)
def test_one_is_told_from_many(number: int, words: tuple[str, ...], said: str) -> None:
    assert counted(number, *words) == said
