"""Where the structure leaks: what is used nowhere, ladders without an end, hidden imports, words that rules compare."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import msgspec

from domain.thrones.tables.charter import Switches, Variations
from tests.house.lines import Source

FIELDS = frozenset(field.name for kind in (Variations, Switches) for field in msgspec.structs.fields(kind))
"""What a charter can say otherwise, as attributes."""

RECORDS = frozenset({"variations", "switches"})
"""How the records of these words are called where they are read."""

EDITIONS_ARE_MADE = ("/editions/", "/charter.py", "/charters.py", "/variations.py")
"""Where editions and charters are put together and explained: there words are compared by right."""

OUTER_HALF = "api/games/"
"""The half of a game that may import the pure half."""


class Find(NamedTuple):
    path: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}  {self.what}"


# Names


def unused(sources: list[Source], tests: list[Source]) -> list[Find]:
    """Names at module level and methods that nothing else in these sources uses, not even as a whole text.

    A name at module level is used where its own file says it, where another file imports it from there (if only to hand
    it on, then where that is imported), or where anything of that name is said behind a dot; a method only behind
    a dot. What a decorator hands on (routes, commands), dunder names, fields of records and members of enumerations
    are left out. ``(tests)`` is added where tests say the name.
    """
    here, there = _Uses(sources), _Uses(tests)
    found = []
    for one in sources:
        for name, node, is_method in _defined(one.tree):
            if (name.startswith("__") and name.endswith("__")) or here.has(one, name, is_method):
                continue
            found.append(Find(one.path, node.lineno, f"{name} (tests)" if there.has(one, name, is_method) else name))
    return found


class _Uses:
    """What some sources say, and where they have it from."""

    def __init__(self, sources: list[Source]) -> None:
        self.dotted: set[str] = set()
        self.named: set[tuple[str, str]] = set()
        self.imported: dict[str, set[str]] = defaultdict(set)
        for one in sources:
            for statement in one.tree.body:
                if not (isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__"):
                    for node in ast.walk(statement):
                        self._note(one, node)

    def _note(self, one: Source, node: ast.AST) -> None:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            self.named.add((one.path, node.id))
        elif isinstance(node, ast.Attribute):
            self.dotted.add(node.attr)
        elif isinstance(node, ast.ImportFrom) and node.module and not one.path.endswith("__init__.py"):
            for alias in node.names:
                self.imported[alias.name].add(node.module)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            self.dotted.update(_names_in(node.value))

    def has(self, one: Source, name: str, is_method: bool) -> bool:
        if name in self.dotted or is_method:
            return name in self.dotted
        modules = self.imported[name]
        return (one.path, name) in self.named or any(f"{one.module}.".startswith(f"{each}.") for each in modules)


def _defined(tree: ast.Module) -> Iterator[tuple[str, ast.stmt, bool]]:
    """Names with their statements, and whether each is a method."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if not _is_handed_on(node):
                yield node.name, node, False
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((target.id, node, False) for target in targets if isinstance(target, ast.Name))
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_handed_on(method):
                    yield method.name, method, True


def _is_handed_on(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    plain = {"property", "staticmethod", "classmethod", "cached_property", "cache", "lru_cache", "dataclass"}
    plain |= {"contextmanager", "asynccontextmanager", "total_ordering", "abstractmethod", "overload"}
    return any(_last_name(each) not in plain for each in node.decorator_list)


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return _last_name(node.func)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _names_in(text: str) -> Iterator[str]:
    """A text that is a name, or a path to one (``"api.app:create"``, an annotation in quotes)."""
    if len(text) < 200 and not set(text) & set(" \n"):
        yield from (part for part in text.replace(":", ".").replace("[", ".").replace("]", ".").split(".") if part)


# Imports


def hidden_imports(sources: list[Source]) -> list[Find]:
    """Imports inside functions."""
    found = {
        Find(one.path, node.lineno, ast.unparse(node).split("\n")[0])
        for one in sources
        for function in ast.walk(one.tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    return sorted(found)


def games(sources: list[Source]) -> set[str]:
    """Packages of games: what lies in the domain beside the kernel."""
    return {".".join(one.path.split("/")[:2]) for one in sources if one.is_of_rules}


def imports_of_games(sources: list[Source]) -> dict[str, list[str]]:
    """Files outside the domain that import the package of a game, with the modules they import."""
    prefixes = games(sources)
    found: dict[str, set[str]] = defaultdict(set)
    for one in sources:
        if one.package == "domain":
            continue
        for node in ast.walk(one.tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                continue
            said = [name for name in names if any(name == game or name.startswith(f"{game}.") for game in prefixes)]
            if said:
                found[one.path].add(said[0])
    return {path: sorted(modules) for path, modules in sorted(found.items())}


# Ladders


def ladders(sources: list[Source]) -> list[Find]:
    """Two or more questions of ``isinstance`` about one thing, one after the other, and nothing for the rest.

    Either an ``if … elif`` without an ``else``, or several ``if`` in a row that each leave the function, where what
    follows is no ``raise``, ``assert`` or ``assert_never``. A ``match`` over classes without a last case counts too.
    """
    found = []
    for one in sources:
        chained = {id(node.orelse[0]) for node in ast.walk(one.tree) if isinstance(node, ast.If) and _is_elif(node)}
        for node in ast.walk(one.tree):
            if isinstance(node, ast.If) and id(node) not in chained:
                rungs, end = _chain(node)
                subject = _subject(node.test)
                if len(rungs) > 1 and not end and subject and all(_subject(rung.test) == subject for rung in rungs):
                    found.append(Find(one.path, node.lineno, f"{len(rungs)} × elif isinstance({subject})"))
            elif isinstance(node, ast.Match) and _is_open_match(node):
                found.append(Find(one.path, node.lineno, f"match {ast.unparse(node.subject)} without a last case"))
            for body in _bodies(node):
                found += [Find(one.path, at, what) for at, what in _rows(body)]
    return sorted(set(found))


def _is_elif(node: ast.If) -> bool:
    return len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)


def _chain(node: ast.If) -> tuple[list[ast.If], list[ast.stmt]]:
    rungs = [node]
    while _is_elif(rungs[-1]):
        below = rungs[-1].orelse[0]
        assert isinstance(below, ast.If)
        rungs.append(below)
    return rungs, rungs[-1].orelse


def _subject(test: ast.expr) -> str:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        test = test.values[0]
    is_question = isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "isinstance"
    return ast.unparse(test.args[0]) if is_question and isinstance(test, ast.Call) else ""


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        body = getattr(node, name, None)
        if isinstance(body, list):
            yield body


def _rows(body: list[ast.stmt]) -> Iterator[tuple[int, str]]:
    row: list[ast.If] = []
    for node, after in pairwise((*body, None)):
        is_rung = isinstance(node, ast.If) and not node.orelse and _leaves(node.body) and bool(_subject(node.test))
        if is_rung and isinstance(node, ast.If):
            row = [*row, node] if row and _subject(row[0].test) == _subject(node.test) else [node]
            follows = isinstance(after, ast.If) and _subject(after.test) == _subject(row[0].test)
            if len(row) > 1 and not follows and not _is_loud(after):
                yield row[0].lineno, f"{len(row)} × if isinstance({_subject(row[0].test)}) that leave"
        else:
            row = []


def _leaves(body: list[ast.stmt]) -> bool:
    return isinstance(body[-1], ast.Return | ast.Raise | ast.Continue)


def _is_loud(node: ast.stmt | None) -> bool:
    if isinstance(node, ast.Raise | ast.Assert):
        return True
    return node is not None and "assert_never" in ast.unparse(node)


def _is_open_match(node: ast.Match) -> bool:
    last = node.cases[-1].pattern
    is_class = any(isinstance(case.pattern, ast.MatchClass) for case in node.cases)
    return is_class and not (isinstance(last, ast.MatchAs) and last.pattern is None)


# Words of a charter


def words_compared(sources: list[Source]) -> list[Find]:
    """Where code of a game asks for a variation's word, outside the place where editions are put together.

    That is, a field of what is called ``variations`` or ``switches`` is read, or a field of such a name is compared
    with a text.
    """
    found = set()
    for one in sources:
        if not one.is_of_rules or any(part in f"/{one.path}" for part in EDITIONS_ARE_MADE):
            continue
        for node in ast.walk(one.tree):
            if isinstance(node, ast.Attribute) and node.attr in FIELDS and _last_name(node.value) in RECORDS:
                found.add((one.path, node.lineno, node.col_offset, ast.unparse(node)))
            elif isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                texts = [side for side in sides if isinstance(side, ast.Constant) and isinstance(side.value, str)]
                asked = [side for side in sides if isinstance(side, ast.Attribute) and side.attr in FIELDS]
                if texts and asked:
                    found.add((one.path, asked[0].lineno, asked[0].col_offset, ast.unparse(asked[0])))
    return [Find(path, line, what) for path, line, _, what in sorted(found)]
