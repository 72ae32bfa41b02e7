"""Every number of a rule that an edition's tables state counts as a charter's own tables have it.

A literal of such a number in the code of the rules is a rule that a charter cannot change although it says so. So each
kind of number has a probe, a case that comes out as told with the changed value and not without it; and no other number
stands in the code of the rules than those that are listed here with a reason.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from api.games.thrones.cases.cases import Disagreement, decode_case, holds, moments_of, stand
from api.games.thrones.sentences import Prose
from domain.kernel.refusal import Refusal
from domain.thrones.tables.charter import AS_PRINTED
from domain.thrones.tables.editions.composed import compose, tables_of
from domain.thrones.tables.variations import FIRST_EDITION

RULES = Path(__file__).parents[4] / "domain" / "thrones"


def kinds_in(value: Any, path: str = "") -> Iterator[str]:
    """Every kind of number in a document: its path, rows and keys of the tables' own left out."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from kinds_in(one, f"{path}/{key}")
    elif isinstance(value, list):
        for one in value:
            yield from kinds_in(one, f"{path}/*")
    elif isinstance(value, int) and not isinstance(value, bool):
        path = re.sub(r"(/limits|/neutral_forces)/[^/]+$", r"\1/*", path)
        path = re.sub(r"/(errata_)?units/[^/*]+/[^/*]+$", r"/\1units/*/*", path)
        yield re.sub(r"^/westeros_decks/[^/]+", "/westeros_decks/*", path)


def kinds() -> set[str]:
    both = [json.loads(msgspec.json.encode(tables_of(words))) for words in (AS_PRINTED, FIRST_EDITION)]
    return {kind for tables in both for kind in kinds_in(tables) if not kind.startswith("/assumed/")}


def force(house: str, **units: int) -> dict[str, Any]:
    return {"house": house, "units": {unit.replace("_", "-"): count for unit, count in units.items()}}


def order(house: str, token: str) -> dict[str, str]:
    return {"house": house, "token": token}


def fought(attacker: str = "knight", defender: str = "footman", **more: Any) -> dict[str, Any]:
    """Lannister marches from Stoney Sept into Blackwater against Stark."""
    return {
        "at": {"step": "action/march"},
        "units": {"stoney-sept": force("lannister", **{attacker: 3}), "blackwater": force("stark", **{defender: 2})},
        "orders": {"stoney-sept": order("lannister", "march-0")},
        "tracks": {"iron-throne": ["lannister"]},
        "hands": {"lannister": ["cersei-lannister"], "stark": ["catelyn-stark"]},
        "used": ["valyrian-steel-blade"],
        "empty": ["harrenhal", "crackclaw-point", "riverrun"],
        **more,
    }


def totals(lannister: int, stark: int) -> dict[str, Any]:
    decided = {"fact": "CombatDecided", "totals": {"lannister": lannister, "stark": stark}}
    return {"expect": {"facts": [decided]}, "do": "lannister: march stoney-sept: 3 knight -> blackwater"}


def drawn(threat: int, **cards: str) -> dict[str, Any]:
    decks = {
        "westeros-1": "w1-last-days-of-summer",
        "westeros-2": "w2-last-days-of-summer",
        "westeros-3": "w3-rains-of-autumn",
    }
    return {
        "at": {"step": "westeros"},
        "threat": threat,
        "decks": {deck: [cards.get(deck.replace("-", "_"), card)] for deck, card in decks.items()},
    }


def set_up(**position: Any) -> dict[str, Any]:
    return {"position": position, "set_up": True}


def begins(**expected: Any) -> dict[str, Any]:
    return {"begin": {"position": expected}}


STARK_FOOTMAN = {"winterfell": force("stark", footman=1)}
MUSTER = {
    "at": {"step": "westeros/cards"},
    "westeros_cards": {"westeros-1": "w1-mustering"},
    "tracks": {"iron-throne": ["stark"]},
    "units": STARK_FOOTMAN,
}
SUPPLY = {"at": {"step": "westeros/cards"}, "westeros_cards": {"westeros-1": "w1-supply"}, "units": STARK_FOOTMAN}


def mustering(what: str, legal: bool) -> dict[str, Any]:
    """Whether Stark may muster so in Winterfell."""
    told = [f"stark: muster {what}"]
    return {"position": MUSTER, "steps": [{"expect": {"legal": told} if legal else {"illegal": [{"do": told[0]}]}}]}


PROBES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "/constants/rounds": (
        {"/constants/rounds": 2},
        {
            "position": {"at": {"step": "action/clean-up"}, "round": 2, "units": STARK_FOOTMAN},
            "begin": {"facts": [{"fact": "GameWon", "reason": "rounds"}]},
        },
    ),
    "/constants/victory_areas": (
        {"/constants/victory_areas": 2},
        {
            "position": {
                "at": {"step": "action/march"},
                "units": {"moat-cailin": force("stark", footman=1)},
                "orders": {"moat-cailin": order("stark", "march-0")},
                "power_tokens": {"the-eyrie": "stark"},
                "empty": ["seagard"],
            },
            "steps": [
                {
                    "do": "stark: march moat-cailin: footman -> seagard",
                    "expect": {"facts": [{"fact": "GameWon", "winner": "stark", "reason": "areas"}]},
                }
            ],
        },
    ),
    "/constants/starting_power": ({"/constants/starting_power": 7}, {**set_up(), **begins(power={"stark": 7})}),
    "/constants/power_tokens": (
        {"/constants/power_tokens": 7},
        {
            "position": {
                "at": {"step": "action/consolidate"},
                "units": {"lannisport": force("lannister", footman=1)},
                "orders": {"lannisport": order("lannister", "consolidate-a")},
                "power": dict.fromkeys(("baratheon", "greyjoy", "lannister", "martell", "stark", "tyrell"), 7),
            },
            "begin": {"never": [{"fact": "PowerChanged", "house": "lannister"}]},
        },
    ),
    "/constants/garrison": ({"/constants/garrison": 3}, {**set_up(), **begins(garrisons={"winterfell": 3})}),
    "/constants/port_ships": (
        {"/constants/port_ships": 1},
        {
            "position": {
                "at": {"step": "action/march"},
                "units": {"bay-of-ice": force("stark", ship=2), **STARK_FOOTMAN},
                "orders": {"bay-of-ice": order("stark", "march-0")},
            },
            "steps": [
                {"expect": {"illegal": [{"do": "stark: march bay-of-ice: 2 ship -> port-of-winterfell"}]}},
            ],
        },
    ),
    "/constants/supply_maximum": (
        {"/constants/supply_maximum": 4},
        {
            "position": {
                **SUPPLY,
                "power_tokens": dict.fromkeys(("lannisport", "the-mountains-of-the-moon", "highgarden"), "stark"),
                "empty": ["white-harbor", "highgarden", "lannisport"],
            },
            "steps": [{"expect": {"when": "end", "position": {"supply": {"stark": 4}}}}],
        },
    ),
    "/constants/blade_bonus": (
        {"/constants/blade_bonus": 4},
        {
            "position": fought(used=[], tokens={"valyrian-steel-blade": "lannister"}),
            "steps": [
                {"do": "lannister: march stoney-sept: 3 knight -> blackwater"},
                {
                    "do": "lannister: blade-strength blackwater use",
                    "expect": {"facts": [{"fact": "CombatDecided", "totals": {"lannister": 10, "stark": 2}}]},
                },
            ],
        },
    ),
    "/constants/mustering_points/*": (
        {"/constants/mustering_points": [0, 1, 1]},
        mustering("winterfell: knight", False),
    ),
    "/constants/threat_track/*": (
        {"/constants/threat_track": [0, 2, 4, 6, 9, 10, 12]},
        {"position": drawn(2), "begin": {"facts": [{"fact": "ThreatMoved", "threat": 9}]}},
    ),
    "/constants/threat_start": ({"/constants/threat_start": 4}, {**set_up(), **begins(threat=4)}),
    "/areas/*/castle": ({"/areas/winterfell/castle": 1}, mustering("winterfell: knight", False)),
    "/areas/*/power": (
        {"/areas/winterfell/power": 3},
        {
            "position": {
                "at": {"step": "action/consolidate"},
                "units": STARK_FOOTMAN,
                "orders": {"winterfell": order("stark", "consolidate-a")},
            },
            "begin": {"facts": [{"fact": "PowerChanged", "house": "stark", "by": 4}]},
        },
    ),
    "/areas/*/supply": (
        {"/areas/winterfell/supply": 5},
        {"position": SUPPLY, "steps": [{"expect": {"when": "end", "position": {"supply": {"stark": 5}}}}]},
    ),
    "/houses/*/supply": ({"/houses/stark/supply": 4}, {**set_up(), **begins(supply={"stark": 4})}),
    "/houses/*/limits/*": (
        {"/houses/stark/limits/knight": 1},
        {
            "position": {**MUSTER, "units": {**STARK_FOOTMAN, "karhold": force("stark", knight=1)}},
            "steps": [{"expect": {"illegal": [{"do": "stark: muster winterfell: knight"}]}}],
        },
    ),
    "/houses/*/units/*/*": (
        {"/houses/stark/units/winterfell/knight": 2},
        {**set_up(), **begins(units={"winterfell": force("stark", footman=1, knight=2)})},
    ),
    "/houses/*/errata_units/*/*": (
        {"/houses/lannister/errata_units/port-of-lannisport/ship": 2},
        {**set_up(), **begins(units={"port-of-lannisport": force("lannister", ship=2)})},
    ),
    "/players/*/neutral_forces/*": (
        {"/players/3/neutral_forces/kings-landing": 8},
        {**set_up(), **begins(neutral={"kings-landing": 8})},
    ),
    "/players/*/victory_areas": (
        {"/players/0/victory_areas": 2},
        {
            "edition": "first-edition",
            "position": {
                "at": {"step": "action/march"},
                "houses": ["baratheon", "lannister", "stark"],
                "units": {"moat-cailin": force("stark", footman=1)},
                "orders": {"moat-cailin": order("stark", "march-0")},
                "power_tokens": {"white-harbor": "stark"},
                "empty": ["seagard", "greywater-watch"],
            },
            "steps": [
                {
                    "do": "stark: march moat-cailin: footman -> greywater-watch",
                    "expect": {"facts": [{"fact": "GameWon", "winner": "stark", "reason": "areas"}]},
                }
            ],
        },
    ),
    "/players/*/stars/*": (
        {"/players/3/stars": [0, 0, 0, 0, 0, 0]},
        {
            "position": {"at": {"step": "planning"}, "units": STARK_FOOTMAN, "tracks": {"kings-court": ["stark"]}},
            "steps": [{"expect": {"illegal": [{"do": "stark: orders winterfell march+1"}]}}],
        },
    ),
    "/supply_limits/*/*": (
        {"/supply_limits": [[9, 9]] * 7},
        {
            "position": {
                "at": {"step": "action/march"},
                "units": {"winterfell": force("stark", footman=3), "white-harbor": force("stark", footman=3)},
                "orders": {"winterfell": order("stark", "march-0")},
                "supply": {"stark": 0},
            },
            "steps": [{"expect": {"legal": ["stark: march winterfell: 3 footman -> white-harbor"]}}],
        },
    ),
    "/units/*/muster_cost": ({"/units/knight/muster_cost": 3}, mustering("winterfell: knight", False)),
    "/units/*/upgrade_cost": ({"/units/knight/upgrade_cost": 3}, mustering("winterfell: knight from footman", False)),
    "/units/*/strength": ({"/units/knight/strength": 3}, {"position": fought(), "steps": [totals(9, 2)]}),
    "/order_tokens/*/modifier": (
        {"/order_tokens/march-0/modifier": 2},
        {"position": fought(), "steps": [totals(8, 2)]},
    ),
    "/house_cards/*/strength": (
        {"/house_cards/cersei-lannister/strength": 3},
        {"position": fought(), "steps": [totals(9, 2)]},
    ),
    "/house_cards/*/swords": (
        {"/house_cards/cersei-lannister/swords": 1},
        {
            "position": fought(),
            "steps": [
                {
                    "do": "lannister: march stoney-sept: 3 knight -> blackwater",
                    "expect": {"facts": [{"fact": "CasualtiesCounted", "house": "stark", "number": 1}]},
                }
            ],
        },
    ),
    "/house_cards/*/fortifications": (
        {"/house_cards/catelyn-stark/fortifications": 2},
        {
            "position": fought(hands={"lannister": ["the-hound"], "stark": ["catelyn-stark"]}),
            "steps": [
                {
                    "do": "lannister: march stoney-sept: 3 knight -> blackwater",
                    "expect": {
                        "facts": [
                            {
                                "fact": "IconsCounted",
                                "house": "stark",
                                "fortifications": [
                                    {
                                        "group": "fortifications",
                                        "item": "catelyn-stark",
                                        "amount": 2,
                                        "rules": ["2E-HCS-7", "2E-CAS-5", "2E-HC-11"],
                                    }
                                ],
                            }
                        ]
                    },
                }
            ],
        },
    ),
    "/westeros_decks/*/*/icons": (
        {"/westeros_decks/III/w3-rains-of-autumn/icons": 0},
        {"position": drawn(2), "begin": {"facts": [{"fact": "ThreatMoved", "threat": 6}]}},
    ),
}
"""Kind of number → the tables of a charter that has another one, and a case that comes out so only by them."""

PROBES |= {
    f"/tides_cards/*/{figure}": (
        {f"/tides_cards/{row}/{figure}": value},
        {
            "position": fought(switches={"tides-of-battle": "on"}, stated={"tides": [[card, "tides-three"]]}),
            "steps": [{"do": "lannister: march stoney-sept: 3 knight -> blackwater", "expect": told}],
        },
    )
    for figure, row, card, value, told in (
        (
            "strength",
            0,
            "tides-zero",
            5,
            {"facts": [{"fact": "CombatDecided", "totals": {"lannister": 11, "stark": 5}}]},
        ),
        ("swords", 2, "tides-sword", 2, {"facts": [{"fact": "CasualtiesCounted", "house": "stark", "number": 2}]}),
        (
            "fortifications",
            3,
            "tides-fortification",
            2,
            {"facts": [{"fact": "IconsCounted", "fortifications": [{"item": "tides-fortification", "amount": 2}]}]},
        ),
        ("skulls", 1, "tides-skull", 0, {"never": [{"fact": "UnitsDestroyed"}]}),
        ("count", 0, "tides-zero", 0, {"refused": {"code": "draw-impossible", "rules": ["2E-GEN-17"]}}),
    )
}

COPIES = "/westeros_decks/*/*/count"
"""How often a card is in its deck, which no position shows."""

LEFT_OUT = {
    "/areas/*/x": "where a picture has the area",
    "/areas/*/y": "where a picture has the area",
    "/players/*/count": "the name of a row, checked against its Houses",
}
"""Numbers of tables that no rule reads."""


def case(tables: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    position = {**said.get("position", {}), "tables": tables}
    told = {"id": "own", "title": "", "chapter": "", "section": "", "source": "", "rules": [], "steps": []}
    return {**told, "excludes": [], **said, "position": position}


def passes(told: dict[str, Any]) -> bool:
    """Whether all that a case expects is so; it excludes nothing and names no rules."""
    case = decode_case(json.dumps(told).encode())
    expects = (case.begin, *(step.expect for step in case.steps))
    try:
        moments = list(moments_of(case, stand(case)))
        return all(holds(case, expect, moment) for expect, moment in zip(expects, moments, strict=True))
    except Disagreement:
        return False


def test_every_kind_of_number_has_a_probe() -> None:
    assert kinds() == {*PROBES, *LEFT_OUT, COPIES}


@pytest.mark.parametrize("kind", sorted(PROBES))
def test_a_number_of_a_charters_own_tables_counts(kind: str) -> None:
    tables, said = PROBES[kind]
    assert passes(case(tables, said))
    assert not passes(case({}, said)), "it comes out so without it too"


def test_copies_of_a_card_are_those_of_the_tables() -> None:
    deck = compose(AS_PRINTED, {"/westeros_decks/I/w1-supply/count": 5}).westeros_decks["westeros-1"]
    assert deck.count("w1-supply") == 5 and len(deck) == 12


def test_a_row_of_another_number_of_players_is_refused() -> None:
    with pytest.raises(Refusal, match="as many Houses"):
        compose(AS_PRINTED, {"/players/3/count": 7})


def test_numbers_beyond_those_of_the_books_are_told() -> None:
    prose = Prose(compose(AS_PRINTED, {"/order_tokens/march-0/modifier": 3}))
    assert prose.order("march-0") == "March +3"
    assert prose.units({"footman": 11}) == "11 Footmen"


@pytest.mark.parametrize(("own", "total"), [(-3, 6), (-1, 6), (1, 7)])
def test_a_house_card_never_counts_below_nothing(own: int, total: int) -> None:
    """No printed card does; one of a charter's own tables would (2E-CBT-27)."""
    said = {"position": fought(), "steps": [totals(total, 2)]}
    assert passes(case({"/house_cards/cersei-lannister/strength": own}, said))


# Literals

NOT_OF_TABLES = {
    "tables/behaviour.py": "letters of a digest, and a cache",
    "bots.py": "what a bot likes",
    "rules/combat/cards/": "what a card's text says; its printed figures are in the tables",
    "rules/westeros/cards.py": "what a card's text says",
    "rules/wildlings/cards.py": "what a card's text says",
    "tables/editions/composed.py": "the two books' own figures, into which a charter's tables are put; and a cache",
    "tables/editions/own.py": "the largest number of any table, and how many decks and sizes of castles there are",
}
"""Files whose numbers are no numbers of tables."""

LITERALS = {
    ("tables/arbitration.py", "arbitration_of", 2): "how many spellings are suggested",
    ("review/doubt.py", "changed", 2): "two Houses",
    ("review/doubt.py", "_key", 2): "a part of a name",
    ("rules/victory.py", "standing", 2): "what the tables call a Stronghold",
    ("rules/wildlings/assault.py", "", 2): "1E-WILD-6",
    ("rules/wildlings/assault.py", "", 4): "1E-WILD-6",
    ("rules/wildlings/attack.py", "", 6): "Preemptive Raid (2E-WLC-2)",
    ("tables/readings.py", "WesterosReading", 2): "two spaces of the track (2E-WLD-9)",
    ("tables/variations.py", "", 13): "numbers of rules",
    ("tables/variations.py", "", 21): "numbers of rules",
}
"""Every other number above 1 in the code of the rules, with the reason why it is no number of a table."""

TEXT_OR_CHANCE = ("sample", "_some_moves", "chosen", "_frames", "_open_cards", "_round", "_westeros", "_engine_step")
"""Functions that print, suggest spellings, sample answers by chance, or number phases."""


def literals() -> Iterator[tuple[str, str, int, int]]:
    for path in sorted(RULES.rglob("*.py")):
        name = path.relative_to(RULES).as_posix()
        if name.startswith(("notation/", "spelling/", "language/answers/", *NOT_OF_TABLES)):
            continue
        yield from _in(ast.parse(path.read_text(encoding="utf-8")), name, "")


def _is_bound(node: ast.AST) -> bool:
    """A bound on what is decoded or on work: larger than any table, and named so."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in ("Within", "AtMost")
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id[:5] == "MOST_"


def _in(node: ast.AST, file: str, inside: str) -> Iterator[tuple[str, str, int, int]]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        inside = node.name
    if _is_bound(node):
        return
    if isinstance(node, ast.Constant) and type(node.value) is int and node.value > 1:
        yield file, inside, node.value, node.lineno
    for inner in ast.iter_child_nodes(node):
        yield from _in(inner, file, inside)


def test_no_number_of_a_rule_is_written_into_the_code() -> None:
    unknown = [
        one for one in literals() if one[:3] not in LITERALS and one[1] not in TEXT_OR_CHANCE and one[0] != "prose.py"
    ]
    assert not unknown, "take it from the edition's tables, or say here why it is none of theirs"
    assert {one[:3] for one in literals()} >= {*LITERALS}, "reasons for what is not there any more"
