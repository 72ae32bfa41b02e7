"""Facts in English: sentences that read well with one unit as with several."""

from __future__ import annotations

import pytest

from api.games.thrones.diagram import board
from api.games.thrones.sentences import Prose
from domain.kernel.facts import Fact
from domain.thrones.language import facts as f
from domain.thrones.language.state import Standing, State
from domain.thrones.language.view import view
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.charter import Charter, Switches
from domain.thrones.tables.edition import Edition
from domain.thrones.tables.editions.composed import compose
from domain.thrones.tables.editions.second import SECOND_EDITION
from domain.thrones.tables.variations import FIRST_EDITION


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


FIRST = compose(FIRST_EDITION)


@pytest.mark.parametrize(
    ("edition", "number", "words"),
    [
        (SECOND_EDITION, 1, "1 Castle or Stronghold"),
        (SECOND_EDITION, 3, "3 Castles and Strongholds"),
        (FIRST, 1, "1 city or stronghold"),
        (FIRST, 3, "3 cities and strongholds"),
    ],
)
def test_areas_that_win_are_called_as_in_the_book_of_the_board(edition: Edition, number: int, words: str) -> None:
    assert Prose(edition).sentence(f.VictorySet(house="stark", areas=number)) == f"Stark controls {words}."
    one = Standing("stark", 7, 1, 9, 5, 4, 1)
    won = Prose(edition).sentence(f.GameWon(winner="stark", ranking=(one,), reason="areas"))
    assert won == f"Stark controls seven {edition.readings.victory.areas[1]} and wins."


def test_a_house_without_orders_has_none() -> None:
    told = Prose(FIRST).sentence(f.OrdersRevealed(orders={"baratheon": {}, "stark": {"winterfell": "raid-a"}}))
    assert told == "Orders are revealed. Baratheon: none; Stark: Winterfell Raid."


@pytest.mark.parametrize(
    ("tiebreak", "words"),
    [
        ("errata", "1 city or stronghold, 1 land area, supply 5, Iron Throne 2"),
        ("printed", "1 city or stronghold, Strongholds 0, supply 5, Power 4, Iron Throne 2"),
        ("first-edition", "1 city or stronghold, supply 5, Power 4"),
    ],
)
def test_standings_show_what_the_tie_break_counts(tiebreak: str, words: str) -> None:
    houses = ("lannister", "stark")
    switches = Switches(tiebreak=tiebreak)  # type: ignore[arg-type]  # a word of the switch
    charter = Charter("first-edition", houses, switches, variations=FIRST_EDITION)
    ranked = (Standing("stark", 1, 0, 1, 5, 4, 2),)
    state = State(charter=charter, drawn=houses, ranking=ranked)
    told = board(THRONES.rules_of(state).game(state), view(state, None))
    assert told.split("Standings\n")[1].splitlines()[0] == f"  1. {'Stark':<10} {words}"
    assert "cities supply" in told and "castles" not in told
