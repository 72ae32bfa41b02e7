"""The first edition's specification is read whole, and every rule of the second edition has its place in it."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from api.games.thrones.rulebook import Rule, cited_in, parse_rules
from domain.thrones.tables.editions.composed import compose
from domain.thrones.tables.variations import BY_SWITCH, FIRST_EDITION, MIXED_FOUR, VARIATIONS, second_alone

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/rules/first-edition.md").read_text(encoding="utf-8")
FIRST = parse_rules(TEXT)
SECOND = parse_rules((ROOT / "docs/rules/second-edition.md").read_text(encoding="utf-8"))
LAW: dict[str, list[str] | str] = json.loads(
    (ROOT / "domain/thrones/tables/editions/first-law.json").read_text(encoding="utf-8")
)

# Counted on the page, section by section.
COUNTED = """
    COMP 4  LIM 5  SETUP 7  ROUND 2  WEST 4  WCARD 12  SUP 6  MUST 6  COK 9  WILD 10  CTRL 8  PLAN 5  ORD 7  RAVEN 2
    MAP 2  ISL 2  RIV 1  ACT 3  RAID 9  MARCH 7  SHIP 5  BAT 13  SUPP 8  HC 10  CAS 4  RET 10  USED 3  CP 3  WIN 5
    NEUT 6  PLAY 6  DP 20
"""
CHAPTERS = {name: int(count) for name, count in re.findall(r"([A-Z]+) (\d+)", COUNTED)}


def chapter(rule: str) -> str:
    return rule.split("-")[1]


def test_the_first_edition_has_204_rules() -> None:
    assert len(FIRST) == 204 == sum(CHAPTERS.values())
    assert Counter(chapter(rule) for rule in FIRST) == CHAPTERS
    assert all(identifier == rule.id for identifier, rule in FIRST.items())


def test_rules_of_a_chapter_are_numbered_without_gaps() -> None:
    assert {f"1E-{name}-{number}" for name, last in CHAPTERS.items() for number in range(1, last + 1)} == set(FIRST)


def test_every_rule_that_the_first_edition_cites_exists() -> None:
    assert set(cited_in(TEXT)) == set(FIRST)


def test_texts_stand_as_they_are_and_sources_apart() -> None:
    assert [rule.id for rule in FIRST.values() if not rule.text or rule.text not in TEXT] == []
    assert not any("\n" in rule.text or rule.text.endswith("]") for rule in FIRST.values())
    without = {rule.id for rule in FIRST.values() if not rule.sources}
    rows = {rule for rule in FIRST if chapter(rule) == "DP"} | {f"1E-ORD-{number}" for number in range(1, 6)}
    assert without == rows | {"1E-ORD-7"}, "only rows of tables, and a rule that is nothing but its sources"


def test_every_rule_has_a_heading() -> None:
    assert all(re.match(r"(\d+\. )?[A-Z]", rule.section) for rule in FIRST.values())
    assert FIRST["1E-SUPP-8"].section == "Support (SUPP)"


def test_an_item_of_a_list() -> None:
    assert FIRST["1E-USED-2"].sources == ("S p.22",)
    assert FIRST["1E-MARCH-4"] == Rule(
        "1E-MARCH-4",
        "The modifier (-1, 0, +1) affects only the battle or neutral force that this march attacks.",
        ("S p.16, p.18, p.23",),
        "14. Marches (MARCH)",
    )


def test_a_row_of_a_table_below_a_list() -> None:
    assert FIRST["1E-ORD-4"].text == "Raid | two, one target each | one, up to **two** targets"
    assert FIRST["1E-PLAN-5"].text == "Promises between houses bind nobody; unrevealed orders are secret."


def test_sources_are_parted_at_semicolons() -> None:
    assert FIRST["1E-WILD-4"].sources == ("S p.11", "G2")


def test_an_item_written_out_twice_is_an_error() -> None:
    with pytest.raises(ValueError, match="1E-MAP-2 is written out twice"):
        parse_rules("- **1E-MAP-2** One. [S p.1]\n- **1E-MAP-2** Two. [INF]\n")


def test_every_rule_of_the_second_edition_has_a_correspondence() -> None:
    assert list(LAW) == list(SECOND)


def test_correspondences_name_rules_that_exist() -> None:
    for rule, found in LAW.items():
        if isinstance(found, list):
            assert 1 <= len(found) <= 3 and len(set(found)) == len(found), rule
            assert set(found) <= set(FIRST), rule
        else:
            assert found in ("shared", "second"), rule


def test_decision_points_correspond_to_decision_points() -> None:
    points = {rule: found for rule, found in LAW.items() if chapter(rule) == "DP" and isinstance(found, list)}
    assert all(chapter(one) == "DP" for found in points.values() for one in found)
    reached = {one for found in points.values() for one in found}
    assert {rule for rule in FIRST if chapter(rule) == "DP"} - reached == {"1E-DP-7"}, "a question only this book asks"


@pytest.mark.parametrize("name", ["PRT", "GAR", "TOB", "WLC", "HCB", "HCL", "HCS", "HCM", "HCG", "HCT", "HCX"])
def test_chapters_of_pieces_that_the_first_edition_lacks_are_never_cited(name: str) -> None:
    assert {found for rule, found in LAW.items() if chapter(rule) == name} == {"second"}


def test_rules_that_no_correspondence_reaches_are_listed_in_the_notes() -> None:
    notes = (ROOT / "docs/rules/first-edition-notes.md").read_text(encoding="utf-8")
    reached = {one for found in LAW.values() if isinstance(found, list) for one in found}
    listed = set(re.findall(r"^\| (1E-[A-Z]+-\d+) \|", notes, re.MULTILINE))
    assert listed == set(FIRST) - reached


def test_no_source_cites_a_rule_of_the_first_edition_that_does_not_exist() -> None:
    for path in sorted((ROOT / "domain").rglob("*.py")):
        cited = cited_in(path.read_text(encoding="utf-8"))
        assert not [rule for rule in cited if rule.startswith("1E-") and rule not in FIRST], path


def test_the_notes_cite_rules_that_exist_and_list_what_is_shared() -> None:
    notes = (ROOT / "docs/rules/first-edition-notes.md").read_text(encoding="utf-8")
    assert set(cited_in(notes)) <= set(FIRST) | set(SECOND)
    line = next(part for part in notes.split("\n- ") if part.startswith("Shared: "))
    listed: list[str] = []
    for first, last in re.findall(r"(2E-[A-Z]+-\d+)(?: to (2E-[A-Z]+-\d+))?", line.split("Reasons")[0]):
        numbers = range(int(first.split("-")[2]), int((last or first).split("-")[2]) + 1)
        listed += [f"2E-{chapter(first)}-{number}" for number in numbers]
    assert sorted(listed) == sorted(rule for rule, found in LAW.items() if found == "shared")
    for word in ("shared", "second"):
        assert f"`{word}` ({sum(found == word for found in LAW.values())})" in notes


# Tables that mix the books


def test_what_only_the_second_edition_has_belongs_to_a_variation_that_brings_it() -> None:
    alone = {rule for one in VARIATIONS for rule in one.alone} | set(BY_SWITCH)
    assert {LAW[rule] for rule in alone} == {"second"}
    notes = (ROOT / "docs/rules/first-edition-notes.md").read_text(encoding="utf-8")
    table = notes.split("| cited only if | rules |")[1].split("\n\n")[0]
    listed: set[str] = set()
    for first, last in re.findall(r"(2E-[A-Z]+-\d+)(?: to (2E-[A-Z]+-\d+))?", table.split("| `map`")[0]):
        numbers = range(int(first.split("-")[2]), int((last or first).split("-")[2]) + 1)
        listed |= {f"2E-{chapter(first)}-{number}" for number in numbers}
    assert alone - set(BY_SWITCH) <= listed


def test_a_rule_is_cited_where_its_subject_is_played() -> None:
    first, mixed = compose(FIRST_EDITION).law, compose(MIXED_FOUR).law
    assert mixed.cite(["2E-SET-10", "2E-SET-12"]) == ("1E-SETUP-5", "1E-SETUP-7", "2E-SET-12")
    assert first.cite(["2E-SET-10", "2E-SET-12"]) == ("1E-SETUP-5", "1E-SETUP-7")
    assert mixed.cite(["2E-WES-8"]) == ("2E-WES-8",) and mixed.cite(["2E-DP-26"]) == ("2E-DP-26",)
    assert mixed.cite(["2E-TRK-7", "2E-COK-7"]) == ("1E-COK-6",), "stars by the first book"
    assert second_alone(FIRST_EDITION) == set(BY_SWITCH)


def test_a_last_citation_is_never_lost() -> None:
    for rule, found in LAW.items():
        cited = compose(FIRST_EDITION).law.cite([rule])
        assert cited and (found != "second" or cited == (rule,))
