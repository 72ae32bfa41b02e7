"""The tables of docs/charters.md, from the data.

python -m tests.domain.thrones.tables.charter_page     # writes them anew
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from domain.thrones.tables.charters import catalogue
from domain.thrones.tables.editions.composed import FIRST
from domain.thrones.tables.editions.extras import EXTRAS
from domain.thrones.tables.variations import SWITCHES

PAGE = Path(__file__).parents[4] / "docs" / "charters.md"
CONFIDENCE = {"unknown": "no source", "inferred": "inferred", "single-source": "one source, or they differ"}


def tables() -> dict[str, str]:
    """Each table under the name of its place in the page."""
    own = {one.name for one in SWITCHES}
    return {
        "variations": "\n".join(_switches(lambda name: name not in own)),
        "switches": "\n".join(_switches(lambda name: name in own)),
        "disputes": "\n".join(_disputes()),
        "assumed": "\n".join(_assumed()),
    }


def _switches(wanted: Callable[[str], bool]) -> Iterator[str]:
    found = catalogue()
    yield "| Switch | Word | What it means | Needs | Said by |"
    yield "| --- | --- | --- | --- | --- |"
    for one in found.switches:
        if not wanted(one.name):
            continue
        only = " and ".join(f"`{other}` = {' or '.join(ws)}" for other, ws in one.matters.items())
        head = f"**{one.name}**: {one.about}{f' (has an effect only with {only})' if only else ''}"
        for word, means in one.readings.items():
            needs = "; ".join(f"`{other}` = {' or '.join(ws)}" for other, ws in one.needs.get(word, {}).items())
            said = ", ".join(preset for preset, chosen in one.presets.items() if chosen == word)
            yield f"| {head} | `{word}` | {means} | {needs} | {said} |"
            head = ""


def _disputes() -> Iterator[str]:
    yield "| Option | Word | What it means |"
    yield "| --- | --- | --- |"
    for one in catalogue().disputes:
        head = f"**{one.name}**: {one.about}"
        for word, means in one.readings.items():
            yield f"| {head} | `{word}` | {means} |"
            head = ""


def _assumed() -> Iterator[str]:
    yield "| Assumption | About | How sure | Where |"
    yield "| --- | --- | --- | --- |"
    for one in (*FIRST.assumed, *EXTRAS.assumed):
        where = f"`{one.where[0]}`{' …' if len(one.where) > 1 else ''}"
        yield f"| `{one.id}` | {one.about} | {CONFIDENCE[one.confidence]} | {where} |"


def written(page: str) -> str:
    """The page with its tables as the data has them."""
    for name, table in tables().items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        assert begin in page and end in page, name
        page = re.sub(f"{begin}.*?{end}", lambda _, t=table, b=begin, e=end: f"{b}\n{t}\n{e}", page, flags=re.DOTALL)
    return page


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
