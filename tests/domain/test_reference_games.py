"""Whole reference games, played by another implementation of the same rules, replayed on ours.

The games are not ours to ship. They are looked for beside the project (``../shared/traces``) or where
``ROOKERY_REFERENCE`` says; where there are none, one line says what was left out.
"""

from __future__ import annotations

import copy
import gzip
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from domain.thrones.interchange.traces import EXPLANATIONS, Report, replay

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("ROOKERY_REFERENCE", ROOT.parent / "shared" / "traces"))
FILES = sorted(FOLDER.glob("*.json.gz"))

if not FILES:
    print(f"reference games: left out, none in {FOLDER.name}/ beside the project")


@cache
def trace(path: Path) -> dict[str, Any]:
    return dict(json.loads(gzip.decompress(path.read_bytes())))


@cache
def replayed(path: Path) -> Report:
    return replay(trace(path), path.name)


def name(path: Path) -> str:
    return path.name.removesuffix(".json.gz")


if FILES:

    @pytest.mark.parametrize("path", FILES, ids=name)
    def test_every_recorded_position_is_reached_or_its_difference_explained(path: Path) -> None:
        report = replayed(path)
        assert not report.unexplained, report.unexplained[:3]
        assert report.checkpoints + sum(one.what == "end before the combat" for one in report.differences) == len(
            trace(path)["checkpoints"]
        )

    @pytest.mark.parametrize("path", FILES, ids=name)
    def test_every_recorded_set_of_retreat_areas_is_compared(path: Path) -> None:
        report = replayed(path)
        assert (
            report.retreats
            == report.retreats_recorded
            == sum(step["kind"] == "retreat-area" for step in trace(path)["steps"])
        )

    @pytest.mark.parametrize("path", FILES, ids=name)
    def test_every_combat_adds_up_from_its_lines_alone(path: Path) -> None:
        report = replayed(path)
        assert report.combats == sum(step["kind"] == "combat-result" for step in trace(path)["steps"])

    @pytest.mark.parametrize("path", FILES, ids=name)
    def test_the_same_house_wins(path: Path) -> None:
        assert replayed(path).winner == trace(path)["result"]["winner"]

    def test_positions_are_taken_over_once_at_the_most() -> None:
        assert sum(replayed(path).taken_over for path in FILES) <= 1

    def test_every_explanation_is_a_known_difference() -> None:
        for path in FILES:
            assert {one.explained for one in replayed(path).differences} <= set(EXPLANATIONS)

    def changed(path: Path, label: str, key: str, value: Any) -> Report:
        """The report on a reference game whose first position of a kind is falsified."""
        other = copy.deepcopy(trace(path))
        position = next(one for one in other["checkpoints"] if one["label"] == label)["position"]
        position[key] = {**position[key], **value}
        return replay(other, "falsified")

    @pytest.mark.parametrize(
        ("label", "key", "value"),
        [
            ("raids-end", "available_power", {"stark": 19}),
            ("march-end", "units", {"castle-black": {"house": "stark", "knight": 3}}),
            ("combat-end", "discards", {"stark": ["eddard-stark", "robb-stark"]}),
            ("round-end", "supply", {"stark": 6}),
        ],
    )
    def test_a_falsified_position_is_an_unexplained_difference(label: str, key: str, value: Any) -> None:
        report = changed(FILES[0], label, key, value)
        assert [one.what for one in report.unexplained] == [f"{label}: {key}"]

    def test_a_falsified_answer_is_reported_with_our_refusal() -> None:
        other = copy.deepcopy(trace(FILES[0]))
        step = next(one for one in other["steps"] if one["kind"] == "march" and one["answer"]["moves"])
        step["answer"]["moves"][0]["to"] = "the-eyrie"
        report = replay(other, "falsified")
        assert report.unexplained[-1].what == "stuck"
        assert "refused" in report.unexplained[-1].ours

    def test_a_falsified_retreat_is_a_difference() -> None:
        other = copy.deepcopy(trace(FILES[0]))
        step = next(one for one in other["steps"] if one["kind"] == "retreat-area")
        step["answer"]["options"] = [*step["answer"]["options"], "castle-black"]
        assert [one.what for one in replay(other, "falsified").unexplained] == ["retreat areas"]

    def test_after_an_explained_difference_the_recorded_position_is_taken_over() -> None:
        """A made-up difference of a known kind: a Ship in a port, which the recording says it captured late."""
        other = copy.deepcopy(trace(FILES[-1]))
        at = next(number for number, one in enumerate(other["checkpoints"]) if one["label"] == "combat-end")
        checkpoint = other["checkpoints"][at]
        other["notes"] = [{"n": checkpoint["after"], "code": "port-captured-only-after-the-combat"}]
        later = [one["position"] for one in other["checkpoints"][at:] if one["round"] == checkpoint["round"]]
        for position in later:
            position["units"]["port-of-dragonstone"] = {"house": "baratheon", "ship": 1}
        report = replay(other, "made up")
        assert report.taken_over == 1
        assert {one.what for one in report.differences if one.explained == "moment-of-control"} == {"combat-end: units"}
        # The game goes on from there: the next recorded positions agree until the made-up Ship is gone from them.
        assert report.unexplained[0].step > checkpoint["after"]
        assert report.unexplained[0].what != "stuck"

    def test_a_noted_difference_covers_what_it_changes_up_to_the_next_checkpoint_and_no_more() -> None:
        """Made up: a combat that a captured port decided otherwise, so that an answer does not fit any more."""
        other = copy.deepcopy(trace(FILES[0]))
        begin = next(step for step in other["steps"] if step["kind"] == "combat-begin")
        later = [step for step in other["steps"] if step["n"] > begin["n"]]
        result = next(step for step in later if step["kind"] == "combat-result")
        result["answer"]["winner"] = result["answer"]["attacker"]["house"]
        result["answer"]["attacker"]["total"] += 9
        unexplained = replay(other, "made up").unexplained
        assert {one.step for one in unexplained} == {result["n"]}
        other["notes"] = [{"n": result["n"], "code": "port-captured-only-after-the-combat"}]
        assert not replay(other, "made up").unexplained
        card = next(step for step in later if step["kind"] == "house-card")
        card["answer"]["card"] = "the-red-viper"
        report = replay(other, "made up")
        assert report.taken_over == 1
        assert [one.what for one in report.differences if "not fit" in one.what] == ["an answer that does not fit"]
        assert not report.unexplained
