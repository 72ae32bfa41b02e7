"""docs/contributing.md names files and names that there are."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/contributing.md").read_text(encoding="utf-8")
PLACE = re.compile(r"`((?:api|domain|events|worker|tests)/[\w/.-]+)`(?: \(`([\w.]+)`\))?")


def test_every_file_and_every_name_in_it_is_there() -> None:
    places = PLACE.findall(PAGE)
    assert len(places) > 40
    for place, name in places:
        assert (ROOT / place).exists(), place
        if name and place.endswith(".py"):
            assert re.search(rf"\b{name.rpartition('.')[2]}\b", (ROOT / place).read_text(encoding="utf-8")), (
                place,
                name,
            )


def test_every_target_of_make_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"`make ([a-z]+)`", PAGE)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
