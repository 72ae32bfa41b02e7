"""Real play-by-mail logs played over to the end. They are not ours to ship; see test_reference_logs.py."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from api.games.thrones.following.importer import Imported, figures, import_log
from api.games.thrones.logs.reader import read
from tests.api.games.thrones.logs.test_real_logs import FILES
from tests.sizes import ALL

pytestmark = pytest.mark.slow

FIGURES = {
    "table-1": {"explained": 453, "assumptions": 342, "corrections": 0, "disagreements": 0, "open": 0},
    "table-3": {"explained": 169, "assumptions": 130, "corrections": 0, "disagreements": 0, "open": 0},
}
"""What was reached: explained may only rise, the others may only fall, unless the rules ask about more."""

OPEN = {"table-4": 349}
"""Games that are not followed to the end yet, and how many of their entries are explained; may only rise."""


@cache
def imported(path: Path) -> Imported:
    return import_log(read(path.read_bytes()))


FOLLOWED = [path for path in FILES if ALL or path.stem not in OPEN]
"""What is not followed to its end yet takes a minute, and is tried with everything else only."""

if FILES:

    @pytest.mark.parametrize("path", FOLLOWED, ids=lambda path: path.stem)
    def test_a_real_game_is_played_to_its_end(path: Path) -> None:
        report = imported(path).report
        assert report.ended
        if path.stem not in OPEN:
            assert report.is_whole
            assert not report.bound_hit

    if ALL:

        @pytest.mark.parametrize("path", [path for path in FOLLOWED if path.stem in OPEN], ids=lambda path: path.stem)
        def test_what_is_not_whole_is_no_worse_than_it_was(path: Path) -> None:
            assert figures(imported(path).report)["explained"] >= OPEN[path.stem]

    @pytest.mark.parametrize("path", [path for path in FILES if path.stem in FIGURES], ids=lambda path: path.stem)
    def test_the_figures_are_no_worse_than_they_were(path: Path) -> None:
        now, before = figures(imported(path).report), FIGURES[path.stem]
        assert now["explained"] >= before["explained"]
        for name in ("assumptions", "corrections", "disagreements", "open"):
            assert now[name] <= before[name], name
