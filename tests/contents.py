"""The table of contents of the cases, in docs/cases.md.

python -m tests.contents     # numbers cases that have no number yet, and writes the table anew
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from api.games.thrones.cases.cases import Case, decode_case

ROOT = Path(__file__).parents[1]
CASES = ROOT / "tests" / "cases"
PAGE = ROOT / "docs" / "cases.md"
MARK = "\n## Contents\n"

_ROW = re.compile(r"^\| (?P<number>\d+) \| \[(?P<id>[^\]]+)\]", re.MULTILINE)
_HEADING = re.compile(r"^###? (?P<section>\d+(?:\.\d+)?)\.? (?P<title>.+)$", re.MULTILINE)


def files() -> list[Path]:
    return [path for path in sorted(CASES.glob("*/*.json")) if path.parent.name != "sources"]


def suite() -> list[Case]:
    """Every case of the suite, by number."""
    return sorted((decode_case(path.read_bytes()) for path in files()), key=lambda case: case.number)


def listed(page: str) -> dict[int, str]:
    """Number → case, as the page has it."""
    return {int(row["number"]): row["id"] for row in _ROW.finditer(page)}


def specification(edition: str) -> str:
    return (ROOT / "docs" / "rules" / f"{edition}.md").read_text(encoding="utf-8")


def sections(edition: str) -> dict[str, str]:
    """The numbered headings of an edition's specification, in its order."""
    return {found["section"]: found["title"] for found in _HEADING.finditer(specification(edition))}


def contents(cases: Iterable[Case]) -> str:
    """The table, without its heading."""
    return "\n".join(_lines(cases))


def _lines(cases: Iterable[Case]) -> Iterator[str]:
    by_edition: dict[str, list[Case]] = {}
    for case in sorted(cases, key=lambda case: case.number):
        by_edition.setdefault(case.edition, []).append(case)
    for edition, some in by_edition.items():
        headings = sections(edition)
        places = list(headings)
        by_section = sorted(some, key=lambda case: places.index(case.section))
        yield f"\n### {edition.replace('-', ' ').capitalize()}"
        for section, chapter in groupby(by_section, key=lambda case: case.section):
            yield f"\n#### {section} {headings[section]}\n"
            yield "| No. | Case | What it settles | Where the books are silent |"
            yield "| --- | --- | --- | --- |"
            yield from (_row(case) for case in chapter)


def _row(case: Case) -> str:
    place = f"[{case.id}](../tests/cases/{case.chapter}/{case.id}.json)"
    return f"| {case.number} | {place} | {_cell(case.title)} | {_cell(_preferred(case))} |"


def _preferred(case: Case) -> str:
    """The declared preference: the entry of the register, the switch, and what was chosen."""
    if case.preference is None:
        return ""
    switch = case.preference.switch
    basis = [case.preference.entry, f"`{switch}`" if switch else ""]
    before = ", ".join(one for one in basis if one) or "our choice"
    return f"{before}: {case.preference.choice}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def number_the_new() -> None:
    """Give the next numbers to cases that have none, in the order of their files."""
    used = {case.number for case in suite()} | set(listed(PAGE.read_text(encoding="utf-8")))
    for path in files():
        if decode_case(path.read_bytes()).number:
            continue
        number = max(used) + 1
        used.add(number)
        document = {"number": number, **json.loads(path.read_text(encoding="utf-8"))}
        path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def moved(page: str, cases: Iterable[Case]) -> list[str]:
    """Numbers of the page that belong to another case now, or to none."""
    now = {case.number: case.id for case in cases}
    return [f"{number} was {name}" for number, name in listed(page).items() if now.get(number) != name]


def main() -> None:
    number_the_new()
    page = PAGE.read_text(encoding="utf-8")
    wrong = moved(page, suite())
    if wrong:
        raise SystemExit(f"A number belongs to one case for ever: {'; '.join(wrong)}.")
    before, _, _ = page.partition(MARK)
    PAGE.write_text(f"{before}{MARK}{contents(suite())}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
