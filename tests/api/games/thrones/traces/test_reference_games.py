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
from msgspec.structs import replace

from api.games.thrones.traces.position import differences
from api.games.thrones.traces.traces import EXPLANATIONS, Moment, Report, explanation, replay
from domain.thrones.ruleset import THRONES

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[5]
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

    def inserted(path: Path, before: int, *made_up: dict[str, Any]) -> dict[str, Any]:
        """A reference game with steps put in before the one at an index; numbers behind them count on."""
        other = copy.deepcopy(trace(path))
        at = other["steps"][before]["n"]
        by = len(made_up)
        for step in other["steps"][before:]:
            step["n"] += by
        for one in other["checkpoints"]:
            one["after"] += by * (one["after"] >= at)
        for one in other["notes"]:
            one["n"] += by * (one["n"] >= at)
        other["steps"][before:before] = [{**one, "n": at + number} for number, one in enumerate(made_up)]
        return other

    def test_an_order_that_goes_anyway_is_asked_about_by_the_recording_alone() -> None:
        path = FILES[0]
        end = next(n for n, step in enumerate(trace(path)["steps"]) if step["kind"] == "combat-result") + 1
        asked = {"kind": "card-ability", "house": "lannister", "auto": False, "ability": "cersei-order"}
        report = replay(inserted(path, end, {**asked, "answer": {"use": False}}), "made up")
        assert not report.unexplained and not report.unused
        assert {one.explained for one in report.differences} >= {"no-order-left"}
        assert replay(inserted(path, end, {**asked, "answer": {"use": True, "area": "pyke"}}), "made up").unused

    def test_the_tides_cards_of_a_combat_that_was_not_fought_are_not_drawn_later() -> None:
        path = next(one for one in FILES if "tides" in one.name)
        first = next(one["after"] for one in trace(path)["checkpoints"] if one["label"] == "raids-end")
        drawn = next(step for step in trace(path)["steps"] if step["kind"] == "tides-draw")
        skipped = {key: value for key, value in drawn.items() if key != "n"}
        cards = [f"{card}" for card in reversed(drawn["draws"][0]["drawn"])]
        skipped["draws"] = [{**drawn["draws"][0], "drawn": cards}]
        at = next(n for n, step in enumerate(trace(path)["steps"]) if step["n"] == first)
        assert not replay(inserted(path, at, skipped), "made up").unexplained

    def test_castles_are_compared_up_to_seven() -> None:
        assert not list(differences({"castles": {"stark": 7}}, {"castles": {"stark": 9}}))
        assert list(differences({"castles": {"stark": 6}}, {"castles": {"stark": 7}}))

    def test_knights_that_become_footmen_without_a_word_are_counted() -> None:
        """Where more Knights than Footmen are left only those destroyed are answered; the others follow from them."""
        tried = 0
        for path in FILES:
            steps = [one for one in trace(path)["steps"] if one["kind"] == "crow-killers-degrade"]
            halves = {(one["house"], one["answer"]["part"]) for one in steps}
            for house in {one for one, _ in halves if {(one, "replace"), (one, "destroy")} <= halves}:
                other = copy.deepcopy(trace(path))
                for step in other["steps"]:
                    if step["kind"] == "crow-killers-degrade" and step["house"] == house:
                        step["auto"] = step["answer"]["part"] == "replace"
                        step["kind"] += "-unsaid" if step["auto"] else ""
                assert not replay(other, "made up").unexplained
                tried += 1
        assert tried

    @pytest.mark.parametrize(("area", "known"), [("port-of-pyke", "won-at-once"), ("pyke", "")])
    def test_ships_that_the_recording_asks_for_before_a_win_without_combat_are_known(area: str, known: str) -> None:
        won = replace(THRONES.blank(), winner="stark", step="march")
        ships = ("units", {area: {"house": "greyjoy", "ship": 1}}, {area: None})
        assert won.is_over
        assert explanation(Moment(won, "game-end", (), [ships])) == known
