"""How long things are: code lines of files and functions, and what lies beside the code.

A code line is a line of a Python file on which something stands that is neither a comment nor a docstring: a statement
over three lines counts three, a text over five lines that is a value counts five, its empty lines too. A docstring is
any text that stands as a statement of its own, so also the one below a name that it explains.
"""

from __future__ import annotations

import ast
import io
import tokenize
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PACKAGES = ("api", "worker", "events", "domain")
TEMPLATES = {".html", ".css", ".js", ".txt"}
LONG = 300
"""No file of rules has more code lines than this."""

_LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


class Function(NamedTuple):
    """A function or method by its name inside its file; what is defined inside it counts with it."""

    name: str
    lines: int


class Source(NamedTuple):
    """A Python file that was read."""

    path: str
    tree: ast.Module
    code: frozenset[int]

    @property
    def package(self) -> str:
        return self.path.split("/")[0]

    @property
    def module(self) -> str:
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def is_of_rules(self) -> bool:
        """Whether it belongs to a game: ``domain/<game>/…``."""
        parts = self.path.split("/")
        return parts[0] == "domain" and len(parts) > 2 and parts[1] != "kernel"

    def functions(self) -> Iterator[Function]:
        yield from self._functions(self.tree, "", sorted(self.code))

    def _functions(self, node: ast.AST, inside: str, code: list[int]) -> Iterator[Function]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield Function(inside + child.name, bisect_right(code, _end(child)) - bisect_left(code, child.lineno))
            elif isinstance(child, ast.ClassDef):
                yield from self._functions(child, f"{inside}{child.name}.", code)
            else:
                yield from self._functions(child, inside, code)


def code_lines(text: str, tree: ast.Module) -> frozenset[int]:
    """Numbers of the lines that are code."""
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _LAYOUT:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            code.difference_update(range(node.lineno, _end(node) + 1))
    return frozenset(code)


def source(path: str, text: str) -> Source:
    tree = ast.parse(text)
    return Source(path, tree, code_lines(text, tree))


def read(root: Path, *packages: str) -> list[Source]:
    """All Python files of some packages, by path."""
    paths = sorted(path for package in packages for path in (root / package).rglob("*.py"))
    return [source(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")) for path in paths]


def beside(root: Path, package: str) -> dict[str, dict[str, int]]:
    """What a package has beside its code: data and templates, in files, bytes and lines (none if it is packed)."""
    found = {kind: {"files": 0, "bytes": 0, "lines": 0} for kind in ("data", "templates")}
    for path in sorted((root / package).rglob("*")):
        if path.is_dir() or path.suffix in {".py", ".pyc"} or path.name.startswith("."):
            continue
        kind = found["templates" if path.suffix in TEMPLATES else "data"]
        content = path.read_bytes()
        kind["files"] += 1
        kind["bytes"] += len(content)
        kind["lines"] += 0 if b"\0" in content else content.count(b"\n")
    return found


def _end(node: ast.stmt) -> int:
    assert node.end_lineno is not None
    return node.end_lineno
