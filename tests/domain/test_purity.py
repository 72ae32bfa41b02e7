"""The domain is pure: no clock, no chance of its own, no environment, no network, no files once it is imported."""

from __future__ import annotations

import ast
import builtins
import io
import os
import random
import secrets
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from domain.thrones.ruleset import THRONES
from tests.domain.thrones.games import play, spec

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "domain").rglob("*.py"))

ALLOWED = {
    "__future__",
    "collections",
    "dataclasses",
    "difflib",
    "domain",
    "functools",
    "hashlib",
    "hmac",
    "itertools",
    "json",
    "msgspec",
    "re",
    "types",
    "typing",
    "unicodedata",
}
"""Everything that the domain may import: data, text, arithmetic."""

TABLES = {f"domain/thrones/tables/editions/{name}.py": {"importlib"} for name in ("composed", "extras")}
TABLES["domain/thrones/tables/behaviour.py"] = {"importlib"}
"""The tables of an edition are read from the package once, when it is imported."""

WORDS = {"open", "input", "print", "exec", "eval", "compile", "id", "hash", "__import__", "breakpoint"}
"""Built-in functions that reach outside, or whose results differ from one process to the next."""


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module
            yield node.module.split(".")[0]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_nothing_that_reaches_outside(path: Path) -> None:
    name = path.relative_to(ROOT).as_posix()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert set(imported(tree)) <= ALLOWED | TABLES.get(name, set())
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not called & WORDS


def test_a_whole_game_runs_with_everything_outside_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = list(play(spec(7)))

    def forbidden(*args: Any, **more: Any) -> Any:
        raise AssertionError("the domain reaches outside")

    for module, names in {
        time: ("time", "time_ns", "monotonic", "perf_counter", "localtime", "gmtime", "sleep"),
        random: ("random", "randrange", "randint", "choice", "shuffle", "getrandbits"),
        secrets: ("token_bytes", "token_hex", "randbelow", "choice"),
        os: ("urandom", "getenv", "getpid", "open", "listdir", "stat"),
        socket: ("socket", "create_connection", "getaddrinfo"),
        io: ("open",),
        builtins: ("open",),
    }.items():
        for name in names:
            monkeypatch.setattr(module, name, forbidden)
    with monkeypatch.context() as patch:
        patch.setattr(os, "environ", {})
        state = THRONES.blank()
        for entry in entries:
            THRONES.decisions(state)
            ruling = THRONES.decide(state, entry.command)
            assert ruling.facts == entry.ruling.facts
            state = ruling.state
        encoded = msgspec.json.encode(state)
    monkeypatch.undo()
    assert state.is_over and encoded
