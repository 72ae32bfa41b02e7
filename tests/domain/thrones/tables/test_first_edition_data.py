"""The tables of the first edition agree with the facts and rules in docs/rules, and the board hangs together.

The facts say how sure each of them is; the tables keep that as assumptions, and both have to name the same values.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from domain.thrones.tables.board import Board
from domain.thrones.tables.edition import Assumption, Tables
from domain.thrones.tables.editions.composed import tables_of
from domain.thrones.tables.editions.extras import EXTRAS
from domain.thrones.tables.variations import FIRST_EDITION

ROOT = Path(__file__).parents[4]
EDITIONS = ROOT / "domain/thrones/tables/editions"
RULES = (ROOT / "docs/rules/first-edition.md").read_text(encoding="utf-8")


def read(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


FACTS = read(ROOT / "docs/rules/facts/agot1e.json")
EXTRA_FACTS = read(ROOT / "docs/rules/facts/charter-extras.json")
FIRST, SECOND, EXTRA_FILE = (read(EDITIONS / f"{name}.json") for name in ("first", "second", "extras"))

TABLES = msgspec.json.decode((EDITIONS / "first.json").read_bytes(), type=Tables)
BOARD = Board(TABLES.areas, TABLES.links)
WITH_EXTRAS = tables_of(
    replace(FIRST_EDITION, ports="on", siege_engines="on", garrisons="on", drowned_pyke="on", oldtown_crown="on")
)
HOUSES = {house.id: house for house in TABLES.houses}
HOUSE_FACTS: dict[str, Any] = {house["id"]: house for house in FACTS["houses"]}
AREA_FACTS: dict[str, Any] = {area["id"]: area for area in FACTS["areas"]}
CASTLES = {"none": 0, "city": 1, "stronghold": 2}
TRACKS = ("iron-throne", "fiefdoms", "kings-court")
DECKS: dict[str, Any] = {deck: facts["cards"] for deck, facts in FACTS["westeros_decks"]["decks"].items()}
DEFAULTS: dict[str, Any] = FACTS["westeros_decks"]["engine_default_assumption"]


def test_the_file_has_the_shape_of_the_second_edition() -> None:
    assert set(FIRST) == set(SECOND) | {"assumed"}
    assert TABLES.id == "first-edition"
    optional = {"land", "sea", "errata_units", "victory_areas"}
    for table in ("areas", "houses", "players", "units", "order_tokens", "house_cards"):
        shape = set(SECOND[table][0])
        assert all(set(row) - optional == shape for row in FIRST[table]), table
    assert set(FIRST["constants"]) == set(SECOND["constants"])
    assert set(FIRST["westeros_decks"]["I"][0]) == set(SECOND["westeros_decks"]["I"][0])


# The board


def test_areas_and_their_icons() -> None:
    assert {
        area.id: (area.name, area.kind, area.castle, area.supply, area.power, area.home) for area in TABLES.areas
    } == {
        id: (fact["name"], fact["kind"], CASTLES[fact["fortification"]], fact["supply"], fact["power"], fact["home_of"])
        for id, fact in AREA_FACTS.items()
    }
    assert len(TABLES.areas) == len(FACTS["areas"])
    counted = re.search(r"\| board \| (\d+) land and (\d+) sea areas", RULES)
    assert counted
    assert Counter(area.kind for area in TABLES.areas) == {"land": int(counted[1]), "sea": int(counted[2])}


def test_a_castle_gives_the_points_that_the_facts_give() -> None:
    points = TABLES.constants.mustering_points
    assert {area.id: points[area.castle] for area in TABLES.areas} == {
        area: fact["mustering_points"] for area, fact in AREA_FACTS.items()
    }


def test_links_are_the_listed_borders_each_pair_once() -> None:
    borders = {frozenset(border["pair"]) for border in FACTS["adjacency"]}
    assert {frozenset(link) for link in TABLES.links} == borders
    assert len(TABLES.links) == len(borders) == len(FACTS["adjacency"])
    assert all(one < other for one, other in TABLES.links)
    assert list(TABLES.links) == sorted(TABLES.links)


def test_every_border_is_crossed_both_ways_and_joins_what_the_facts_say() -> None:
    for border in FACTS["adjacency"]:
        one, other = border["pair"]
        assert other in BOARD.neighbours[one]
        assert one in BOARD.neighbours[other]
        assert sorted(border["kind"].split("-")) == sorted((BOARD[one].kind, BOARD[other].kind))


@pytest.mark.parametrize("dispute", FACTS["adjacency_disputed"], ids=lambda dispute: "/".join(dispute["pair"]))
def test_a_disputed_border_is_there_as_the_facts_decide(dispute: dict[str, Any]) -> None:
    assert BOARD.are_adjacent(*dispute["pair"]) is dispute["in_graph"]


def test_islands_touch_no_land() -> None:
    without = {area for area in BOARD.land if not any(BOARD.is_land(near) for near in BOARD.neighbours[area])}
    assert without == {area for area, fact in AREA_FACTS.items() if fact["island"]}
    assert {BOARD[area].name for area in without} == set(
        re.findall(r"(Dragonstone|Pyke|The Arbor)", RULES.split("**1E-ISL-1**")[1].split("land areas")[0])
    )


def test_the_board_is_one_piece() -> None:
    reached, edge = {"winterfell"}, ["winterfell"]
    while edge:
        new = set(BOARD.neighbours[edge.pop()]) - reached
        reached |= new
        edge += new
    assert reached == set(BOARD.areas)


def test_areas_lie_apart_inside_the_map() -> None:
    places = [(area.x, area.y) for area in (*TABLES.areas, *EXTRAS.ports)]
    assert len(set(places)) == len(places)
    assert FIRST["map"] == SECOND["map"]
    assert all(0 < x < FIRST["map"]["width"] and 0 < y < FIRST["map"]["height"] for x, y in places)


def test_areas_of_both_boards_are_drawn_in_one_place_but_for_the_south() -> None:
    second = {area["id"]: (area["x"], area["y"]) for area in SECOND["areas"]}
    drawn = {area.id: (area.x, area.y) for area in (*TABLES.areas, *EXTRAS.ports)}
    moved = {area for area, place in drawn.items() if place != second.get(area)}
    assert moved == {"dornish-marches", "starfall", "yronwood", "sunspear", "port-of-sunspear", "summer-sea"}


# Houses and setup


def test_houses() -> None:
    assert {house.id: (house.name, house.colour, house.home, house.supply, house.units) for house in TABLES.houses} == {
        id: (
            fact["name"],
            fact["colour"]["value"],
            fact["home"],
            fact["start_supply"]["value"],
            fact["start_units"]["value"],
        )
        for id, fact in HOUSE_FACTS.items()
    }
    assert len(TABLES.houses) == len(FACTS["houses"])
    assert BOARD.home_of == {house.id: house.home for house in TABLES.houses}
    assert {fact["start_power"]["value"] for fact in HOUSE_FACTS.values()} == {TABLES.constants.starting_power}


def test_limits_of_pieces() -> None:
    limits = {unit: limit["value"] for unit, limit in FACTS["unit_limits"].items()}
    assert all(house.limits == limits for house in TABLES.houses)
    listed = re.search(r"at most (\d+) footmen, (\d+) knights and \*\*(\d+) ships\*\*", RULES)
    assert listed
    assert (limits["footman"], limits["knight"], limits["ship"]) == tuple(map(int, listed.groups()))


def test_starting_units_stand_where_they_can_and_fit_the_supply_limit() -> None:
    realms = {unit.id: unit.realm for unit in TABLES.units}
    for house in TABLES.houses:
        assert all(realms[unit] == BOARD[area].kind for area, units in house.units.items() for unit in units)
        armies = sorted(
            (sum(units.values()) for units in house.units.values() if sum(units.values()) > 1), reverse=True
        )
        limit = TABLES.supply_limits[house.supply]
        assert len(armies) <= len(limit)
        assert all(army <= allowed for army, allowed in zip(armies, limit, strict=False))


@pytest.mark.parametrize("players", TABLES.players, ids=lambda players: str(players.count))
class TestNumberOfPlayers:
    def test_houses_in_play(self, players: Any) -> None:
        assert list(players.houses) == sorted(FACTS["game"]["houses_in_play"]["value"][str(players.count)])
        assert len(players.houses) == players.count

    def test_neutral_forces_are_the_tokens_and_the_unplayed_houses(self, players: Any) -> None:
        tokens = {token["area"]: token["value"] for token in FACTS["neutral_forces"]["tokens"]}
        strength = {unit.id: unit.strength for unit in TABLES.units}
        unplayed = {
            area: sum(strength[unit] * number for unit, number in units.items())
            for house in TABLES.houses
            if house.id not in players.houses
            for area, units in house.units.items()
        }
        assert players.neutral_forces == tokens | unplayed
        assert unplayed == FACTS["neutral_forces"]["unplayed_house_units"]["computed"].get(str(players.count), {})
        assert not players.impassable

    def test_influence_tracks_close_up_for_absent_houses(self, players: Any) -> None:
        assert players.influence == {
            track: tuple(sorted(players.houses, key=lambda house: HOUSE_FACTS[house]["influence"][track]["value"]))
            for track in TRACKS
        }

    def test_stars_are_read_off_the_positions_held(self, players: Any) -> None:
        row = [stars for _, stars in sorted(FACTS["kings_court_stars"]["table"].items())]
        assert list(players.stars) == row[: players.count]

    def test_areas_needed_to_win_at_once(self, players: Any) -> None:
        needed = players.victory_areas or TABLES.constants.victory_areas
        assert needed == FACTS["game"]["instant_win"]["value"][str(players.count)]
        assert players.victory_areas != TABLES.constants.victory_areas


def test_numbers_of_players() -> None:
    assert [players.count for players in TABLES.players] == FACTS["game"]["players"]["value"]


# Pieces and numbers


def test_constants() -> None:
    game, track = FACTS["game"], FACTS["wildling_track"]
    assert FIRST["constants"] == SECOND["constants"] | {
        "rounds": game["rounds"]["value"],
        "victory_areas": game["instant_win"]["value"]["5"],
        "power_tokens": game["pieces"]["value"]["power_tokens_per_house"],
        "supply_maximum": max(map(int, FACTS["supply_track"]["table"])),
        "threat_track": track["spaces"]["value"],
        "threat_start": track["start"]["value"],
        "garrison": 0,
        "port_ships": 0,
    }
    assert "There are no siege engines, ports, garrisons, wildling cards or battle-fortune cards." in RULES
    assert (TABLES.wildling_cards, TABLES.tides_cards) == ((), ())
    assert not any(area.kind == "port" for area in TABLES.areas)


def test_supply_limits() -> None:
    assert {str(supply): list(sizes) for supply, sizes in enumerate(TABLES.supply_limits)} == FACTS["supply_track"][
        "table"
    ]


def test_units() -> None:
    facts = {unit: fact for unit, fact in FACTS["units"].items() if unit not in ("confidence", "sources")}
    assert {unit.id: (unit.strength, unit.muster_cost, unit.upgrade_cost, unit.realm) for unit in TABLES.units} == {
        unit: (fact["strength"], fact["cost"], fact.get("upgrade_from_footman"), fact["kind"])
        for unit, fact in facts.items()
    }
    assert FIRST["units"] == [unit for unit in SECOND["units"] if unit["id"] in facts]


def test_order_tokens() -> None:
    assert {token.id: (token.type, token.star, token.modifier) for token in TABLES.order_tokens} == {
        token["id"]: (token["type"], token["star"], token.get("modifier", 0)) for token in FACTS["orders"]["tokens"]
    }
    assert len(TABLES.order_tokens) == FACTS["game"]["pieces"]["value"]["order_tokens_per_house"]
    assert [token.id for token in TABLES.order_tokens] == [token["id"] for token in SECOND["order_tokens"]]


# Cards


def test_house_cards_have_the_listed_strength_and_icons() -> None:
    figures = ("house", "name", "strength", "swords", "fortifications")
    assert {card.id: tuple(getattr(card, figure) for figure in figures) for card in TABLES.house_cards} == {
        card["id"]: tuple(card[figure] for figure in figures) for card in FACTS["house_cards"]
    }
    assert len(TABLES.house_cards) == len(FACTS["house_cards"]) == 35
    strengths = re.search(r"strengths 0-3 \(([\d,]+)\)", RULES)
    assert strengths
    for house in HOUSES:
        printed = sorted(card.strength for card in TABLES.house_cards if card.house == house)
        assert printed == [int(strength) for strength in strengths[1].split(",")]


def test_westeros_decks_have_the_listed_cards_and_the_assumed_copies_and_icons() -> None:
    assert {
        deck: {card.id: (card.name, card.count, card.icons) for card in cards}
        for deck, cards in TABLES.westeros_decks.items()
    } == {
        deck: {
            card["id"]: (
                card["name"],
                DEFAULTS["decks"][deck][card["id"]],
                DEFAULTS["wildling_icons"].get(card["id"], 0),
            )
            for card in cards
        }
        for deck, cards in DECKS.items()
    }
    assert list(TABLES.westeros_decks) == list(DECKS)
    for deck, facts in FACTS["westeros_decks"]["decks"].items():
        assert sum(card.count for card in TABLES.westeros_decks[deck]) == facts["size"]["value"]


def test_every_id_is_used_once() -> None:
    for table in ("areas", "houses", "units", "order_tokens", "house_cards", "assumed"):
        assert max(Counter(row["id"] for row in FIRST[table]).values()) == 1, table
    cards = [card["id"] for deck in FIRST["westeros_decks"].values() for card in deck]
    assert len(set(cards)) == len(cards)


# What is assumed


def pointed_at(document: Any, pointer: str) -> Any:
    """What a JSON pointer leads to. Raises LookupError when it leads nowhere."""
    for part in pointer.split("/")[1:]:
        document = document[int(part)] if isinstance(document, list | tuple) else document[part]
    return document


def row(table: str, identifier: str) -> int:
    return next(number for number, row in enumerate(FIRST[table]) if row["id"] == identifier)


def borders(pairs: Iterable[list[str]]) -> set[str]:
    return {f"/links/{FIRST['links'].index(sorted(pair))}" for pair in pairs}


def of_each_westeros_card(figure: str) -> set[str]:
    return {
        f"/westeros_decks/{deck}/{number}/{figure}"
        for deck, cards in FIRST["westeros_decks"].items()
        for number, card in enumerate(cards)
        if next(fact for fact in DECKS[deck] if fact["id"] == card["id"])[
            figure if figure == "count" else "wildling_icons"
        ]
        is None
    }


def of_doubtful_areas(*figures: str) -> set[str]:
    """The figures of areas with one source, where the second edition has another figure."""
    return {
        f"/areas/{row('areas', area)}/{figure}"
        for area, fact in AREA_FACTS.items()
        if fact["confidence"] != "confirmed"
        for figure in figures
        if FIRST["areas"][row("areas", area)][figure]
        != next(other for other in SECOND["areas"] if other["id"] == area)[figure]
    }


def doubtful_borders(*, conflict: bool) -> set[str]:
    facts = [border for border in FACTS["adjacency"] if border["confidence"] != "confirmed"]
    return borders(border["pair"] for border in facts if ("conflict" in border) is conflict)


def positions_in_doubt(track: str) -> set[str]:
    """The tracks on which two Houses whose positions have one source each stand next to each other."""
    houses = {house for house, fact in HOUSE_FACTS.items() if fact["influence"][track]["confidence"] != "confirmed"}
    return {
        f"/players/{number}/influence/{track}"
        for number, players in enumerate(FIRST["players"])
        if len(houses & set(players["houses"])) > 1
    }


def house_numbers(condition: Any) -> list[int]:
    return [row("houses", house) for house, fact in HOUSE_FACTS.items() if condition(fact)]


DOUBTS: dict[str, tuple[str, set[str]]] = {
    "westeros-copies": ("unknown", of_each_westeros_card("count")),
    "wildling-icons": ("unknown", of_each_westeros_card("icons")),
    "rivers": ("unknown", {"/links"} if FACTS["bridges"]["value"] is None else set()),
    "starting-supply": (
        "inferred",
        {f"/houses/{n}/supply" for n in house_numbers(lambda fact: fact["start_supply"]["confidence"] == "inferred")},
    ),
    "stars-of-few": (
        "inferred",
        {f"/players/{n}/stars" for n, p in enumerate(FIRST["players"]) if p["count"] < len(HOUSE_FACTS)},
    ),
    "ship-limit": (
        FACTS["unit_limits"]["ship"]["confidence"],
        {f"/houses/{number}/limits/ship" for number in house_numbers(bool)},
    ),
    "last-on-the-throne": ("single-source", {pointer for track in TRACKS for pointer in positions_in_doubt(track)}),
    "southern-castles": ("single-source", of_doubtful_areas("castle")),
    "southern-icons": ("single-source", of_doubtful_areas("supply", "power")),
    "southern-borders": ("single-source", doubtful_borders(conflict=False)),
    "oldtown-and-sunset-sea": ("single-source", doubtful_borders(conflict=True)),
    "borders-left-out": ("inferred", {"/links"}),
    "renly-and-davos": (
        "single-source",
        {
            f"/house_cards/{row('house_cards', card['id'])}/fortifications"
            for card in FACTS["house_cards"]
            if card["confidence"] != "confirmed"
        },
    ),
}
"""What the facts themselves mark as unknown, inferred or resting on one source, as far as it stands in the tables."""


def test_what_the_facts_are_not_sure_of_is_marked_as_assumed() -> None:
    assert {assumption.id: (assumption.confidence, set(assumption.where)) for assumption in TABLES.assumed} == DOUBTS
    assert all(where for _, where in DOUBTS.values())


@pytest.mark.parametrize("assumption", [*TABLES.assumed, *EXTRAS.assumed], ids=lambda assumption: assumption.id)
def test_an_assumption_points_at_values_and_says_what_is_assumed(assumption: Assumption) -> None:
    assert assumption.about
    assert assumption.text.endswith(".")
    assert len(set(assumption.where)) == len(assumption.where) > 0
    tables = msgspec.to_builtins(TABLES if assumption in TABLES.assumed else WITH_EXTRAS)
    for pointer in assumption.where:
        pointed_at(tables, pointer)


def test_rivers_are_not_known() -> None:
    assert FIRST["rivers"] is FACTS["bridges"]["value"] is None


def test_borders_left_out_are_named() -> None:
    text = next(assumption.text for assumption in TABLES.assumed if assumption.id == "borders-left-out")
    for dispute in FACTS["adjacency_disputed"]:
        assert dispute["in_graph"] or all(BOARD[area].name in text for area in dispute["pair"])


# Pieces of other editions on this board


def test_ports() -> None:
    assert {port.id: (port.name, port.land, port.sea) for port in EXTRAS.ports} == {
        port["id"]: (port["name"], port["port_of"], port["sea"]) for port in EXTRA_FACTS["ports_on_first_edition_board"]
    }
    assert all(port.kind == "port" and not port.home for port in EXTRAS.ports)
    assert all(port.castle == port.power == port.supply == 0 for port in EXTRAS.ports)
    board = Board(WITH_EXTRAS.areas, WITH_EXTRAS.links)
    assert board.ports == tuple(sorted(port.id for port in EXTRAS.ports))
    for port in board.ports:
        land, sea = board.land_of(port), board.sea_of(port)
        assert board.neighbours[port] == tuple(sorted((land, sea)))
        assert board.is_land(land)
        assert board.is_sea(sea)
        assert board.are_adjacent(land, sea)
        assert board.has_castle(land)
    assert EXTRAS.port_ships == SECOND["constants"]["port_ships"]


def test_siege_engines_and_garrisons_are_those_of_the_second_edition() -> None:
    assert EXTRA_FILE["siege_engine"] in SECOND["units"]
    assert EXTRAS.siege_engine.id == "siege-engine"
    assert EXTRAS.siege_engines == EXTRA_FACTS["siege_engines_on_first_edition_board"]["per_house"]
    assert {house["limits"]["siege-engine"] for house in SECOND["houses"]} == {EXTRAS.siege_engines}
    assert EXTRAS.garrison == EXTRA_FACTS["garrisons_on_first_edition_board"]["strength"]
    assert SECOND["constants"]["garrison"] == EXTRAS.garrison


def test_drowned_pyke() -> None:
    facts = EXTRA_FACTS["drowned_pyke"]
    assert list(EXTRAS.drowned_pyke.impassable) == facts["impassable"]
    fleet = {facts["neutral_fleet"]["area"]: HOUSES["greyjoy"].units[facts["neutral_fleet"]["area"]]["ship"]}
    assert fleet == EXTRAS.drowned_pyke.neutral_forces
    assert facts["neutral_fleet"]["strength"] is None
    four = next(players for players in TABLES.players if players.count == 4)
    assert fleet.items() <= four.neutral_forces.items()


def test_oldtown_crown() -> None:
    facts = EXTRA_FACTS["oldtown_crown"]
    assert {facts["area"]: int(facts["power"])} == EXTRAS.oldtown_crown


def test_what_the_extras_change_is_marked_as_inferred() -> None:
    """Every difference between the tables with and without the extras is pointed at."""
    pointers = [pointer for assumption in EXTRAS.assumed for pointer in assumption.where]
    assert {assumption.confidence for assumption in EXTRAS.assumed} == {"inferred"}
    assert all("inferred" in fact["confidence"] for fact in EXTRA_FACTS.values() if "confidence" in fact)
    with_extras, without = msgspec.to_builtins(WITH_EXTRAS), msgspec.to_builtins(TABLES)
    for number in range(len(without["areas"]), len(with_extras["areas"])):
        assert f"/areas/{number}" in pointers
    for number in range(len(without["links"]), len(with_extras["links"])):
        assert f"/links/{number}" in pointers
    assert {number for number, area in enumerate(without["areas"]) if area != with_extras["areas"][number]} == {
        int(pointer.split("/")[2]) for pointer in pointers if pointer.endswith("/power")
    }
    assert {
        f"/constants/{name}" for name, value in without["constants"].items() if value != with_extras["constants"][name]
    } == {pointer for pointer in pointers if pointer.startswith("/constants")}
    assert with_extras["units"][2]["id"] not in [unit["id"] for unit in without["units"]]


def test_the_table_for_four_is_that_of_the_records() -> None:
    four = next(players for players in TABLES.players if players.count == 4)
    assert list(four.houses) == EXTRA_FACTS["four_player_table"]["houses"]
