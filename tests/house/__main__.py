"""The structure of the house: ``make house`` prints its measures as they were before the redesign and as they are now.

``--json`` prints everything as JSON, lists whole; ``--figures`` prints the figures as ``docs/house.json`` keeps them.
Nothing here is timed: two runs over one tree print the same.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.house import finds, walks
from tests.house.lines import LONG, PACKAGES, ROOT, beside, read

BEFORE = ROOT / "docs" / "house.json"
LONGEST = 15


def measure(root: Path = ROOT) -> dict[str, Any]:
    """All measures: figures, and the lists behind them."""
    sources, tests = read(root, *PACKAGES), read(root, "tests")
    functions = sorted(
        ((one.lines, f"{each.path}:{one.name}") for each in sources for one in each.functions()), reverse=True
    )
    files = sorted(((len(one.code), one.path) for one in sources), reverse=True)
    rules = sorted(((len(one.code), one.path) for one in sources if one.is_of_rules), reverse=True)
    importing = finds.imports_of_games(sources)
    outside = [path for path in importing if not path.startswith(finds.OUTER_HALF)]
    words = finds.words_compared(sources)
    folders: Counter[str] = Counter()
    for one in sources:
        folders["/".join(one.path.split("/")[:-1][:3])] += len(one.code)
    return {
        "code": {
            package: {"files": sum(one.package == package for one in every), "lines": _lines(every, package)}
            for every, packages in ((sources, PACKAGES), (tests, ("tests",)))
            for package in packages
        },
        "beside": {package: beside(root, package) for package in (*PACKAGES, "tests")},
        "folders": dict(sorted(folders.items())),
        "files": files,
        "functions": functions[: 4 * LONGEST],
        "long_rules": [one for one in rules if one[0] > LONG],
        "long_files": [one for one in files if one[0] > LONG],
        "walks": {name: one._asdict() for name, one in walks.walks().items()},
        "unused": list(map(str, finds.unused(sources, tests))),
        "hidden_imports": list(map(str, finds.hidden_imports(sources))),
        "ladders": list(map(str, finds.ladders(sources))),
        "importing_games": importing,
        "importing_games_outside_their_half": outside,
        "words_compared": list(map(str, words)),
    }


def figures(found: dict[str, Any]) -> dict[str, int]:
    """The figures that are compared, by their names."""
    plain = {f"code lines: {package}": one["lines"] for package, one in found["code"].items()}
    plain["code lines: api, worker, events, domain"] = sum(found["code"][package]["lines"] for package in PACKAGES)
    plain["Python files: api, worker, events, domain"] = sum(found["code"][package]["files"] for package in PACKAGES)
    for package, kinds in found["beside"].items():
        for kind, one in kinds.items():
            plain |= {f"{kind}, {unit}: {package}": one[unit] for unit in ("bytes", "lines")}
    plain["longest file"] = found["files"][0][0]
    plain["longest function"] = found["functions"][0][0]
    plain[f"files over {LONG}"] = len(found["long_files"])
    plain[f"files of rules over {LONG}"] = len(found["long_rules"])
    for name, one in found["walks"].items():
        plain |= {f"{name}: modules entered": len(one["modules"]), f"{name}: changes of module": one["changes"]}
    plain["names used nowhere else (candidates)"] = len(found["unused"])
    plain["imports inside functions"] = len(found["hidden_imports"])
    plain["ladders of isinstance without an end"] = len(found["ladders"])
    plain["files outside the domain that import a game"] = len(found["importing_games"])
    plain["of them outside the game's outer half"] = len(found["importing_games_outside_their_half"])
    plain["places where rules ask for a variation's word"] = len(found["words_compared"])
    return plain


def show(found: dict[str, Any], before: dict[str, int]) -> None:
    now = figures(found)
    print("Figures: before -> now. Code lines are without blanks, comments and docstrings (tests/house/lines.py).\n")
    width = max(map(len, (*now, *before)))
    for name in dict.fromkeys((*now, *before)):
        old, new = before.get(name), now.get(name)
        if not (old or new):
            continue
        change = f"{new - old:+,}" if old is not None and new is not None and new != old else ""
        print(f"  {name:<{width}}  {_number(old):>10} -> {_number(new):>10}  {change:>10}".rstrip())
    _table("Folders (code lines)", _numbered((lines, folder) for folder, lines in found["folders"].items()))
    _table(f"The {LONGEST} longest files (code lines)", _numbered(found["files"][:LONGEST]))
    _table(f"The {LONGEST} longest functions (code lines)", _numbered(found["functions"][:LONGEST]))
    _table(f"Files of rules over {LONG}", _numbered(found["long_rules"]))
    _table(f"Files over {LONG}", _numbered(found["long_files"]))
    _table(
        "What is ruled on (tests/house/scenes.json)", (f"{name}: {one.about}" for name, one in walks.scenes().items())
    )
    for name, one in found["walks"].items():
        _table(f"Modules entered: {name}", one["modules"])
        pairs = [(times, pair) for pair, times in one["pairs"].items()]
        _table(f"The most frequent changes of module: {name}", _numbered(pairs[:LONGEST]))
    _table("Names used nowhere else; candidates, (tests) where tests say them", found["unused"])
    _table("Imports inside functions", found["hidden_imports"])
    _table("Ladders of isinstance without an end", found["ladders"])
    _table(
        "Files outside the domain that import a game",
        (f"{path}  {', '.join(modules)}" for path, modules in found["importing_games"].items()),
    )
    _table("Places where rules ask for a variation's word", found["words_compared"])


def _table(title: str, rows: Iterable[str]) -> None:
    rows = list(rows)
    print(f"\n{title}: {len(rows)}\n")
    for row in rows:
        print(f"  {row}")


def _numbered(pairs: Iterable[tuple[int, str]]) -> list[str]:
    return [f"{number:>6,}  {name}" for number, name in pairs]


def _number(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def _lines(sources: Iterable[Any], package: str) -> int:
    return sum(len(one.code) for one in sources if one.package == package)


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tests.house", description=__doc__)
    options.add_argument("--json", action="store_true", help="everything, as JSON")
    options.add_argument("--figures", action="store_true", help="the figures alone, as docs/house.json keeps them")
    said = options.parse_args()
    found = measure()
    if said.json or said.figures:
        print(json.dumps(figures(found) if said.figures else found, indent=1, ensure_ascii=False))
        return
    before = json.loads(BEFORE.read_text(encoding="utf-8"))
    print(before["about"])
    show(found, before["figures"])


if __name__ == "__main__":
    main()
