"""The tables of the second edition agree with the rules in docs/rules, and the board hangs together."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from api.games.thrones.rulebook import parse_rules

ROOT = Path(__file__).parents[4]
TEXT = (ROOT / "docs/rules/second-edition.md").read_text(encoding="utf-8")
RULES = parse_rules(TEXT)
TABLES: dict[str, Any] = json.loads((ROOT / "domain/thrones/tables/editions/second.json").read_text(encoding="utf-8"))

AREAS: dict[str, Any] = {area["id"]: area for area in TABLES["areas"]}
HOUSES: dict[str, Any] = {house["id"]: house for house in TABLES["houses"]}
PLAYERS: dict[int, Any] = {players["count"]: players for players in TABLES["players"]}
CONSTANTS: dict[str, Any] = TABLES["constants"]
LINKS: set[frozenset[str]] = {frozenset(link) for link in TABLES["links"]}
UNIT_LETTERS = {"K": "knight", "F": "footman", "S": "ship"}
HOUSE_LETTERS = {house[0].upper(): house for house in HOUSES}


def rows(text: str) -> list[list[str]]:
    """The body of the table in a text, cell by cell."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def text_of(rule: str) -> str:
    return RULES[rule].text


def numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]


def named_numbers(text: str) -> dict[str, int]:
    """``a 5, b 6; c, d 3 each`` as a number for each name."""
    found: dict[str, int] = {}
    for part in text.split(";"):
        waiting: list[str] = []
        for item in part.split(","):
            match = re.fullmatch(r"\s*(?:and )?([a-z-]+)(?: (\d+))?(?: each)?\.?\s*(?:\(.*\))?", item)
            assert match, item
            waiting.append(match[1])
            if match[2]:
                found |= dict.fromkeys(waiting, int(match[2]))
                waiting = []
        assert not waiting, part
    return found


def units_of(text: str) -> dict[str, dict[str, int]]:
    """``winterfell K F; white-harbor F`` as units by area."""
    found: dict[str, dict[str, int]] = {}
    for part in re.sub(r"\(.*\)", "", text).split(";"):
        area, *letters = part.split()
        found[area] = dict(Counter(UNIT_LETTERS[letter] for letter in letters))
    return found


# Setup


def test_houses_in_play_by_number_of_players() -> None:
    listed = re.fullmatch(
        r".* 6 players — all six; 5 — without (.+); 4 — without (.+); 3 — (.+) only\.", text_of("2E-SET-1")
    )
    assert listed
    without_1, without_2, only = (
        set(re.findall(r"[a-z]+", group.lower().replace(" and ", ", "))) for group in listed.groups()
    )
    assert {count: set(players["houses"]) for count, players in PLAYERS.items()} == {
        6: set(HOUSES),
        5: set(HOUSES) - without_1,
        4: set(HOUSES) - without_2,
        3: only,
    }


def test_neutral_forces() -> None:
    table = {int(count): tokens for count, tokens in rows(text_of("2E-SET-7"))}
    expected: dict[int, dict[str, int]] = {}
    for count in (6, 5, 4):
        base, listed = re.fullmatch(r"(?:as (\d), and )?(.*)", table[count]).groups()  # type: ignore[union-attr]
        expected[count] = (expected[int(base)] if base else {}) | named_numbers(listed)
    forces, impassable = table[3].split("; *impassable* tokens on ")
    expected[3] = named_numbers(forces)
    assert {count: players["neutral_forces"] for count, players in PLAYERS.items()} == expected
    assert PLAYERS[3]["impassable"] == re.sub(r" \(.*", "", impassable).split(", ")
    assert not any(PLAYERS[count]["impassable"] for count in (4, 5, 6))
    assert [len(expected[count]) for count in (5, 4)] == [9, 12]
    assert len(expected[3]) + len(PLAYERS[3]["impassable"]) == 14


def test_influence_tracks_close_up_for_absent_houses() -> None:
    table = {track.lower().replace("'", "").replace(" ", "-"): order for track, *order in rows(text_of("2E-SET-8"))}
    for players in PLAYERS.values():
        assert players["influence"] == {
            track: [house for house in order if house in players["houses"]] for track, order in table.items()
        }


def test_supply_and_victory_markers() -> None:
    supply, victory = re.search(
        r"start at: (.*)\. Victory .* controlled: (.*), all others 1\.", text_of("2E-SET-9")
    ).groups()  # type: ignore[union-attr]
    assert {house: figures["supply"] for house, figures in HOUSES.items()} == named_numbers(supply)
    castles = {
        house: sum(AREAS[area]["castle"] > 0 for area in {*figures["units"], figures["home"]})
        for house, figures in HOUSES.items()
    }
    assert castles == dict.fromkeys(HOUSES, 1) | named_numbers(victory)


def test_starting_units() -> None:
    table = {house: units_of(units) for house, units in rows(text_of("2E-SET-10"))}
    assert {house: figures["units"] | figures.get("errata_units", {}) for house, figures in HOUSES.items()} == table
    assert all(units.keys() <= AREAS.keys() for units in table.values())


def test_only_the_lannister_port_ship_depends_on_the_printing() -> None:
    assert "Lannister starts with the Ship in port-of-lannisport" in text_of("2E-SET-11")
    errata = {house: figures["errata_units"] for house, figures in HOUSES.items() if "errata_units" in figures}
    assert errata == {"lannister": {"port-of-lannisport": {"ship": 1}}}


def test_home_areas() -> None:
    listed = text_of("2E-GEN-11").split("printed shield: ")[1].rstrip(".").lower()
    homes = dict(pair.split() for pair in listed.split(", "))
    assert {house: figures["home"] for house, figures in HOUSES.items()} == homes
    assert {area["home"]: area["id"] for area in AREAS.values() if area["home"]} == homes


def test_starting_units_fit_the_supply_limit() -> None:
    for figures in HOUSES.values():
        areas = (figures["units"] | figures.get("errata_units", {})).values()
        armies = sorted((sum(units.values()) for units in areas if sum(units.values()) > 1), reverse=True)
        limit = TABLES["supply_limits"][figures["supply"]]
        assert len(armies) <= len(limit)
        assert all(army <= allowed for army, allowed in zip(armies, limit, strict=False))


# Pieces and numbers


def test_limits_of_pieces() -> None:
    footmen, knights, ships, engines = numbers(text_of("2E-COMP-1"))
    limits = {"footman": footmen, "ship": ships, "siege-engine": engines, "knight": knights}
    assert all(figures["limits"] == limits for figures in HOUSES.values())
    assert CONSTANTS["power_tokens"] == numbers(text_of("2E-COMP-2"))[0]


@pytest.mark.parametrize(
    ("rule", "words", "figure"),
    [
        ("2E-RND-1", "at most {} rounds", "rounds"),
        ("2E-VIC-2", "controls {} such areas", "victory_areas"),
        ("2E-SET-13", "takes {} of its own", "starting_power"),
        ("2E-GAR-1", "its strength ({})", "garrison"),
        ("2E-SUP-4", "at most {}.", "supply_maximum"),
        ("2E-CBT-25", "adds {} to his final strength", "blade_bonus"),
        ("2E-SET-3", "on the space numbered {}", "threat_start"),
    ],
)
def test_constants(rule: str, words: str, figure: str) -> None:
    assert words.format(CONSTANTS[figure]) in text_of(rule)


def test_tracks_and_ports() -> None:
    assert "never holds more than three Ships" in text_of("2E-PRT-3")
    assert CONSTANTS["port_ships"] == 3
    assert CONSTANTS["threat_track"] == numbers(text_of("2E-COMP-5").split("numbered ")[1])
    points = re.search(r"A Castle gives (\d) mustering point and a Stronghold (\d)", text_of("2E-MUS-3"))
    assert points
    assert CONSTANTS["mustering_points"] == [0, int(points[1]), int(points[2])]


def test_units_cost_and_count_what_the_rules_say() -> None:
    units = {unit["id"]: unit for unit in TABLES["units"]}
    costs = re.findall(r"(Footman|Ship|Knight|Siege Engine) (\d);", text_of("2E-MUS-4"))
    assert {unit["name"]: unit["muster_cost"] for unit in units.values()} == {name: int(cost) for name, cost in costs}
    assert text_of("2E-MUS-4").endswith("by a Knight or a Siege Engine 1.")
    assert {name: unit["upgrade_cost"] for name, unit in units.items()} == {
        "footman": None,
        "ship": None,
        "siege-engine": 1,
        "knight": 1,
    }
    strengths = re.findall(r"(Footman|Ship|Knight|Siege Engine) (\d)", text_of("2E-CBT-15"))
    assert {unit["name"]: unit["strength"] for unit in units.values()} == {name: int(n) for name, n in strengths}
    canonical = re.search(r"unit types ([a-z, -]+) \(", text_of("2E-GEN-16"))
    assert canonical
    assert list(units) == canonical[1].split(", ")


def test_supply_limits() -> None:
    table = {int(supply): numbers(sizes) for supply, sizes in rows(text_of("2E-SUP-1"))}
    assert dict(enumerate(TABLES["supply_limits"])) == table


def test_stars_of_the_kings_court_track() -> None:
    for rule, counts in {"2E-TRK-6": (5, 6), "2E-TRK-7": (3, 4)}.items():
        stars = numbers(text_of(rule).split("give ")[1])
        assert all(PLAYERS[count]["stars"] == stars for count in counts)


def test_order_tokens_in_canonical_order() -> None:
    expected = []
    for ids, kind, star, effect in rows(text_of("2E-ORD-2")):
        modifier = re.search(r"(?:^|with )([+−]\d)", effect)
        for token in ids.split(", "):
            expected.append(
                {
                    "id": token,
                    "type": kind.lower().split()[0],
                    "star": star == "yes",
                    "modifier": int(modifier[1].replace("−", "-")) if modifier else 0,
                }
            )
    assert TABLES["order_tokens"] == expected
    assert len(expected) == 15


# Cards


def test_house_cards_have_the_printed_strength_and_icons() -> None:
    expected = {}
    for identifier, rule in RULES.items():
        if not re.fullmatch(r"2E-HC[BLSMGT]-\d+", identifier):
            continue
        printed = re.match(
            r"`(?P<id>[a-z-]+)` (?P<strength>\d)(?:, (?:S(?P<swords>\d))? ?(?:F(?P<forts>\d))?)?\.", rule.text
        )
        assert printed, rule.text
        house = HOUSE_LETTERS[identifier.removeprefix("2E-HC")[0]]
        expected[printed["id"]] = (
            house,
            int(printed["strength"]),
            int(printed["swords"] or 0),
            int(printed["forts"] or 0),
        )
    assert expected == {
        card["id"]: (card["house"], card["strength"], card["swords"], card["fortifications"])
        for card in TABLES["house_cards"]
    }
    assert Counter(card["house"] for card in TABLES["house_cards"]) == dict.fromkeys(HOUSES, 7)


def test_westeros_decks_have_the_listed_copies_and_icons() -> None:
    table = re.findall(r"^\| (2E-WEC-\d+) \| (I+) \| (\d) \| ([a-z0-9-]+) \| (\d) \|$", TEXT, re.MULTILINE)
    assert len(table) == 17
    listed = [
        (deck, card["id"], card["count"], card["icons"])
        for deck, cards in TABLES["westeros_decks"].items()
        for card in cards
    ]
    assert sorted(listed) == sorted((deck, card, int(copies), int(icons)) for _, deck, copies, card, icons in table)
    assert [sum(card["count"] for card in deck) for deck in TABLES["westeros_decks"].values()] == [10, 10, 10]
    names = {card["id"]: card["name"] for deck in TABLES["westeros_decks"].values() for card in deck}
    for rule, _, _, card, _ in table:
        assert text_of(rule).startswith(f"*{names[card]}*")


def test_wildling_cards() -> None:
    headings = [re.match(r"\*(.+?)\* \(([a-z-]+)\)", text_of(f"2E-WLC-{number}")) for number in range(1, 10)]
    named = {heading[2]: heading[1] for heading in headings if heading}
    assert {card["id"]: card["name"] for card in TABLES["wildling_cards"]} == named
    assert len(named) == 9


def test_tides_of_battle_deck() -> None:
    total, listed = re.match(r"The deck has (\d+) cards: (.*)", text_of("2E-TOB-2")).groups()  # type: ignore[union-attr]
    expected = Counter[tuple[int, bool, bool, bool]]()
    for count, strength, icon in re.findall(r"(\d+) with strength (\d)(?: and a (\w+))?", listed):
        expected[int(strength), icon == "sword", icon == "fortification", icon == "skull"] = int(count)
    assert expected == {
        (card["strength"], card["swords"], card["fortifications"], card["skulls"]): card["count"]
        for card in TABLES["tides_cards"]
    }
    assert expected.total() == int(total)


# The board


def test_every_id_is_used_once() -> None:
    for table in ("areas", "houses", "units", "order_tokens", "house_cards", "wildling_cards", "tides_cards"):
        assert max(Counter(row["id"] for row in TABLES[table]).values()) == 1, table


def test_areas_and_their_icons() -> None:
    areas = AREAS.values()
    assert Counter(area["kind"] for area in areas) == {"land": 38, "sea": 12, "port": 8}
    assert Counter(area["castle"] for area in areas) == {0: 38, 1: 10, 2: 10}
    assert (sum(area["supply"] for area in areas), sum(area["power"] for area in areas)) == (24, 19)
    assert all(not area["castle"] + area["supply"] + area["power"] for area in areas if area["kind"] != "land")


def test_areas_lie_apart_inside_the_map() -> None:
    places = [(area["x"], area["y"]) for area in AREAS.values()]
    assert len(set(places)) == len(places)
    assert all(0 <= x <= TABLES["map"]["width"] and 0 <= y <= TABLES["map"]["height"] for x, y in places)


def test_links_name_two_known_areas_each_pair_once() -> None:
    assert len(TABLES["links"]) == len(LINKS) == 143
    assert all(one < other for one, other in TABLES["links"])
    assert frozenset[str]().union(*LINKS) == set(AREAS)


def test_only_links_that_can_exist() -> None:
    kinds = Counter(tuple(sorted(AREAS[area]["kind"] for area in link)) for link in LINKS)
    assert kinds.keys() == {("land", "land"), ("land", "sea"), ("sea", "sea"), ("land", "port"), ("port", "sea")}
    assert kinds["land", "port"] == kinds["port", "sea"] == 8


def test_a_port_touches_exactly_its_land_and_its_sea() -> None:
    ports = [area for area in AREAS.values() if area["kind"] == "port"]
    for port in ports:
        assert {frozenset((port["id"], port["land"])), frozenset((port["id"], port["sea"]))} == {
            link for link in LINKS if port["id"] in link
        }
        assert frozenset((port["land"], port["sea"])) in LINKS, port["id"]
        assert (AREAS[port["land"]]["kind"], AREAS[port["sea"]]["kind"]) == ("land", "sea")
        assert AREAS[port["land"]]["castle"]
    assert len({port["land"] for port in ports}) == len(ports)
    assert all("land" not in area and "sea" not in area for area in AREAS.values() if area["kind"] != "port")


def test_islands_touch_no_land() -> None:
    islands = text_of("2E-MAP-4").split(" are ")[0].replace(" and ", ", ").split(", ")
    without = {
        area
        for area, figures in AREAS.items()
        if figures["kind"] == "land"
        and not any(area in link and all(AREAS[end]["kind"] == "land" for end in link) for link in LINKS)
    }
    assert without == set(islands)


def test_rivers_part_land_areas() -> None:
    for pair in TABLES["rivers"]:
        assert {AREAS[area]["kind"] for area in pair} == {"land"}
        assert frozenset(pair) not in LINKS


def test_the_board_is_one_piece() -> None:
    reached, edge = {"winterfell"}, ["winterfell"]
    while edge:
        area = edge.pop()
        for link in LINKS:
            if area in link:
                edge += link - reached
                reached |= link
    assert reached == set(AREAS)
