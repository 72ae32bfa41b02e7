"""Facts in English: sentences that read well with one unit as with several."""

from __future__ import annotations

import pytest

from domain.kernel.facts import Fact
from domain.thrones import facts as f
from domain.thrones.editions.second import SECOND_EDITION
from domain.thrones.prose import Prose


@pytest.mark.parametrize(
    ("fact", "sentence"),
    [
        (
            f.UnitsMoved(house="stark", area="winterfell", to="karhold", units={"knight": 1}),
            "Stark marches a Knight from Winterfell to Karhold.",
        ),
        (
            f.UnitsDeparted(house="stark", area="winterfell", to="karhold", units={"footman": 2}, order="march-0"),
            "Stark sends two Footmen from Winterfell against Karhold.",
        ),
        (f.UnitsArrived(house="stark", to="karhold", units={"knight": 1}), "Stark enters Karhold with a Knight."),
        (f.NeutralForcePlaced(area="karhold", strength="impassable"), "Karhold is impassable."),
        (f.NeutralForcePlaced(area="karhold", strength=6), "A neutral force of 6 stands in Karhold."),
        (
            f.CasualtiesCounted(house="stark", swords=2, fortifications=1, eligible=3, number=1),
            "Stark must give up 1 unit (2 swords, 1 fortification).",
        ),
    ],
)
def test_sentences(fact: Fact, sentence: str) -> None:
    assert Prose(SECOND_EDITION).sentence(fact) == sentence
