"""The made-up decision on its way through everything. Run by ``test_weather.py``, in a process that has the chapter."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import httpx
import msgspec
import pytest
from domain.thrones.rules.weather.answers import Weather
from domain.thrones.rules.weather.steps import Skies

from api.app import GROUPS
from api.openapi import document
from domain.kernel.decision import Decision
from domain.thrones.bots import TEMPERAMENTS, Bot
from domain.thrones.language.state import State
from domain.thrones.notation import NotationError, format_answer, lexicon, parse
from domain.thrones.tables.editions.second import SECOND_EDITION
from events.embedded import Embedded
from tests.api.serving import Table, ruling, serving, sit_down, store_of

LEXICON = lexicon(
    areas={area.id: area.name for area in SECOND_EDITION.board.areas.values()},
    houses={house.id: house.name for house in SECOND_EDITION.houses.values()},
    cards={card.id: card.name for card in SECOND_EDITION.cards.values()},
    tokens=tuple(SECOND_EDITION.tokens.values()),
)


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    with Embedded(tmp_path_factory.mktemp("weather")) as running:
        yield running


@pytest.fixture(scope="module")
def table(embedded: Embedded) -> Iterator[Table]:
    with (
        ruling(embedded) as bell,
        serving(store_of(embedded), bell) as place,
        httpx.Client(base_url=place.url, timeout=60) as http,
    ):
        yield sit_down(place, http, seed="5e" * 32)


def owing(table: Table) -> tuple[str, dict[str, Any]]:
    """Whose turn it is, and what is asked."""
    for house in table.seats.values():
        if owes := table.get("/owed", house).json()["owes"]:
            return house, owes[0]
    raise AssertionError("somebody is asked")


def test_it_is_asked_refused_answered_missed_and_left_to_a_bot(table: Table) -> None:
    first, asked = owing(table)
    assert (asked["kind"], asked["options"]) == ("weather", {"options": "skies", "words": ["sail", "stay"]})
    assert asked["notation"] == {"default": "weather stay #0", "examples": ["weather sail #0", "weather stay #0"]}
    refused = table.send(first, {"kind": "weather", "house": first, "choice": "fly"})
    assert (refused.status_code, refused.json()["code"]) == (409, "no-such-weather")
    assert refused.json()["detail"].startswith("No ship can “fly”. Possible: sail or stay.")
    unread = table.send(first, "weather fly")
    assert unread.json()["code"] == "unreadable-letter"
    assert "sail or stay" in unread.json()["detail"]
    sailed = table.send(first, "skies: aye").json()["ruling"]["sentences"]
    assert "weather sail" in sailed[0]
    assert "gains 1 Power" in sailed[1]

    second, asked = owing(table)
    assert second != first
    missed = {"kind": "pass-deadline", "player": second, "question": asked["question"]}
    told = table.send("organiser", missed).json()["ruling"]["sentences"]
    assert "weather stay (deadline missed: the default)" in told[0]

    third, asked = owing(table)
    decision = Decision(
        default=msgspec.convert(asked["default"], Weather), options=Skies(("sail", "stay")), rules=("W-1",)
    )
    bot = Bot(TEMPERAMENTS["warlike"], SECOND_EDITION.board, SECOND_EDITION.tokens)
    answer = bot.answer(State(), decision, random.Random(1).randrange)
    assert table.send(third, format_answer(answer)).status_code == 201
    assert owing(table)[1]["kind"] == "assign-orders"


def test_it_is_written_and_read_back() -> None:
    for answer in (Weather(house="stark", choice="sail"), Weather(house="stark", choice="stay", question=7)):
        assert parse(format_answer(answer), house="stark", lexicon=LEXICON) == answer
    with pytest.raises(NotationError, match="sail or stay"):
        parse("weather fly", house="stark", lexicon=LEXICON)


def test_openapi_describes_it() -> None:
    schemas = document(GROUPS)["components"]["schemas"]
    assert schemas["Weather"]["properties"]["kind"] == {"enum": ["weather"]}
    assert schemas["Skies"]["properties"]["options"] == {"enum": ["skies"]}
