"""The command line at a moment: every command that reads takes one, and checkpoints and forks are as over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer.main

from api.cli import app
from api.proving import prove_file
from tests.api.test_cli import Rookery, rookery

__all__ = ["rookery"]  # a fixture

pytestmark = pytest.mark.server

LETTER = """game: g
lannister: orders lannisport cp*, stoney sept march, golden sound raid, port of lannisport support
baratheon: orders dragonstone support, kingswood defense, shipbreaker bay raid
stark: orders winterfell march+1, white harbor consolidate, shivering sea support
"""
ACTS = {
    "new",
    "sample",
    "submit",
    "deadline",
    "token",
    "accept-loss",
    "restore",
    "unpark",
    "verify",  # the whole record, or what a file has of it
    "contribute",
    "appeal",
    "plan",
    "rewind",
    "correct",
    "amend",
    "arbiter",
}
"""Commands on a game that do something to it, or plan to."""


@pytest.fixture
def game(rookery: Rookery) -> Rookery:
    seats = [part for one in ("alice=stark", "bob=lannister", "carol=baratheon") for part in ("--seat", one)]
    rookery.at_once("new", "--game", "g", "--players", "3", "--seed", "5", *seats)
    rookery.at_once("submit", "-", letter=LETTER)
    return rookery


def test_every_command_that_reads_a_game_has_at() -> None:
    commands: dict[str, Any] = getattr(typer.main.get_command(app), "commands")  # noqa: B009 - a group of click
    about = {name for name, one in commands.items() if any(part.name in ("game", "games") for part in one.params)}
    dated = {name for name in about if any("--at" in part.opts for part in commands[name].params)}
    assert about - dated == ACTS
    assert dated >= {"show", "log", "replay", "why", "perspective", "secrets", "checkpoint", "checkpoints", "export"}


def test_what_is_read_at_a_moment(game: Rookery, tmp_path: Path) -> None:
    entries: list[dict[str, Any]] = game.at_once("log", "g", "--json").json["entries"]
    assert len(entries) == 4
    for moment in ("2", entries[1]["at"]):
        assert game.at_once("log", "g", "--at", moment, "--json").json["entries"] == entries[:2]
        assert game.at_once("replay", "g", "--at", moment, "--json").json["version"] == 2
        assert game.at_once("why", "g", moment, "--json").json["entry"] == 2
        assert game.at_once("checkpoint", "g", "--at", moment, "--json").json["version"] == 2
        path = tmp_path / f"{moment}.jsonl"
        assert game.at_once("export", "g", path, "--public", "--at", moment, "--json").json["lines"] == 4
        assert prove_file(path).entries == 2
    game.at_once("export", "g", tmp_path / "two.zip", "--bundle", "--at", "2", "--why", "a dispute")
    proof = prove_file(tmp_path / "two.zip")
    assert proof.is_confirmed and proof.full and proof.entries == 2 and proof.evidence == 2, proof.findings
    for command in (("log", "g"), ("why", "g", "1"), ("secrets", "g"), ("checkpoints", "g"), ("fork", "g"),
                    ("export", "g", tmp_path / "no.jsonl", "--public")):  # fmt: skip
        assert "There is no version 77" in game.at_once(*command, "--at", "77", code=2).err
        assert "neither the number" in game.at_once(*command, "--at", "noon", code=2).err
    assert not (tmp_path / "no.jsonl").exists()


def test_a_log_up_to_an_entry_does_not_know_of_a_later_rewind(game: Rookery) -> None:
    game.at_once("rewind", "g", "3", "--version", "4", "--reason", "too early")
    now = game.at_once("log", "g", "--json").json["entries"]
    then = game.at_once("log", "g", "--at", "4", "--json").json["entries"]
    assert [one["seq"] for one in now if "struck" in one] == [4] and [
        one["seq"] for one in then if "struck" in one
    ] == []
    assert "STRUCK OUT by entry 5" in game.at_once("why", "g", "4").out
    assert "STRUCK OUT" not in game.at_once("why", "g", "4", "--at", "4").out


def test_checkpoints_are_kept_and_verified_and_tell_of_a_record_played_anew(game: Rookery, tmp_path: Path) -> None:
    kept = game.at_once("checkpoints", "g", "--json").json["checkpoints"]
    assert [one["size"] for one in kept] == [1, 2, 3, 4]
    printed = game.at_once("checkpoints", "g").out
    assert all(one["note"] in printed for one in kept)
    assert "4 signed notes hold" in game.at_once("verify", "g").out
    game.at_once("export", "g", tmp_path / "g.zip", "--bundle", "--why", "backup")
    game.at_once("import", tmp_path / "g.zip", "--as", "copy")
    assert [one["size"] for one in game.at_once("checkpoints", "copy", "--at", "4", "--json").json["checkpoints"]] == [
        1,
        2,
        3,
        4,
    ]
    told = game.at_once("verify", "copy").out
    assert "This is a copy of game g under the id copy." in told and "signed notes hold" in told


def test_a_file_under_another_name_is_named(game: Rookery, tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    game.at_once("export", "g", path, "--why", "backup")
    lines = path.read_bytes().splitlines(keepends=True)
    header = msgspec.json.decode(lines[0])
    (tmp_path / "other.jsonl").write_bytes(msgspec.json.encode({**header, "game": "h"}) + b"\n" + b"".join(lines[1:]))
    told = game.at_once("verify", tmp_path / "other.jsonl", code=1).err
    assert "it says that this is 'h', and the first entry is that of 'g'" in told
    assert "'g'" in game.at_once("import", tmp_path / "other.jsonl", code=1).err


def test_a_seat_may_make_so_many_forks(game: Rookery) -> None:
    for name in ("one", "two"):
        game.at_once("fork", "g", "--seat", "alice", "--as", name, "--most", "2")
    told = game.at_once("fork", "g", "--seat", "alice", "--most", "2", "--json", code=3).json
    assert (told["error"], told["forks"], told["most"]) == ("too-many-forks", ["one", "two"], 2)
    game.at_once("fork", "g", "--redraw", "--most", "0")  # the operator is not bound
