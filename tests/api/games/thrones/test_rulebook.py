"""Every rule of the specification is found, with its text, its sources and its heading."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from api.games.thrones.rulebook import Rule, cited_in, parse_rules

TEXT = (Path(__file__).parents[4] / "docs/rules/second-edition.md").read_text(encoding="utf-8")
RULES = parse_rules(TEXT)


def test_the_second_edition_has_478_rules() -> None:
    assert len(RULES) == 478
    assert all(identifier == rule.id for identifier, rule in RULES.items())


def test_every_rule_that_is_cited_exists() -> None:
    assert set(cited_in(TEXT)) == RULES.keys()


def test_the_rules_of_a_chapter_are_numbered_without_gaps() -> None:
    chapters: dict[str, list[int]] = {}
    for identifier in RULES:
        chapter, number = identifier.rsplit("-", 1)
        chapters.setdefault(chapter, []).append(int(number))
    assert all(sorted(numbers) == list(range(1, len(numbers) + 1)) for numbers in chapters.values())


def test_every_text_stands_in_the_specification_as_it_is() -> None:
    assert [rule.id for rule in RULES.values() if not rule.text or rule.text not in TEXT] == []
    assert not any("*Source:*" in rule.text or "\n#" in rule.text for rule in RULES.values())


def test_every_rule_has_a_numbered_heading() -> None:
    assert all(re.match(r"\d+(\.\d+)? ?", rule.section) for rule in RULES.values())


def test_only_decision_points_and_house_cards_leave_their_sources_to_the_head_of_their_section() -> None:
    chapters = {rule.id.rsplit("-", 1)[0] for rule in RULES.values() if not rule.sources}
    assert chapters == {"2E-DP", "2E-HCB", "2E-HCL", "2E-HCS", "2E-HCM", "2E-HCG", "2E-HCT"}


def test_a_paragraph() -> None:
    assert RULES["2E-RAID-4"] == Rule(
        "2E-RAID-4",
        "A special Raid order may instead remove a Defense order, normal or special."
        " No Raid order removes a March order.",
        ("rulebook pp. 14, 22",),
        "13.1 Raid orders",
    )


def test_a_rule_with_a_table_keeps_it() -> None:
    rule = RULES["2E-SUP-1"]
    assert rule.text.endswith("| 6 | 4, 3, 2, 2, 2 |")
    assert rule.sources == ("rulebook p. 8 (rows 2, 3 and 5)", "remaining rows card and S&R")


def test_a_rule_that_is_a_row_of_a_table() -> None:
    assert RULES["2E-DP-2"] == Rule(
        "2E-DP-2",
        "`dark-wings` | holder of the Messenger Raven | Q | clash-of-kings, collect-power, nothing (2E-WEC-10)"
        " | never | nothing",
        (),
        "26.1 Westeros phase",
    )


def test_what_is_written_out_counts_more_than_a_row_that_announces_it() -> None:
    assert RULES["2E-WEC-1"].text == "*Supply*: carry out section 7."
    assert list(RULES).index("2E-WEC-1") == list(RULES).index("2E-WES-8") + 1


def test_a_rule_written_out_twice_is_an_error() -> None:
    twice = "**2E-GEN-1** — One. *Source:* card.\n\n**2E-GEN-1** — Two. *Source:* card.\n"
    with pytest.raises(ValueError, match="2E-GEN-1 is written out twice"):
        parse_rules(twice)


def test_explanation_after_the_sources_is_no_part_of_a_rule() -> None:
    rules = parse_rules("## 1. One\n\n**2E-GEN-1** — Rule. *Source:* card; S&R.\n\nExplanation.\n")
    assert rules["2E-GEN-1"] == Rule("2E-GEN-1", "Rule.", ("card", "S&R"), "1. One")


def test_citations_are_listed_once_in_the_order_of_the_text() -> None:
    assert cited_in("2E-RAID-2 and 2E-GEN-1, see 2E-RAID-2") == ("2E-RAID-2", "2E-GEN-1")
