"""The options that commands repeat: they may stand before the command, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer

from api.cli import app, run
from api.cli.common import FLAGS, TAKE_VALUES, behind_the_command


def _commands(command: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    if not hasattr(command, "commands"):
        return [(path, command)]
    return [one for name in command.commands for one in _commands(command.commands[name], (*path, name))]


COMMANDS = _commands(typer.main.get_command(app))


@pytest.mark.parametrize("option", [*TAKE_VALUES, *FLAGS])
def test_each_is_an_option_of_some_command_and_takes_a_value_or_none_as_said(option: str) -> None:
    found = [one for _, command in COMMANDS for one in command.params if option in one.opts]
    assert found
    assert {one.is_flag for one in found} == {option in FLAGS}


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (["games"], ["games"]),
        (["--data", "here", "games"], ["games", "--data", "here"]),
        (["--data=here", "--json", "show", "winter"], ["show", "--data=here", "--json", "winter"]),
        (
            ["--json", "--seat", "alice", "show", "winter", "--at", "3"],
            ["show", "--json", "--seat", "alice", "winter", "--at", "3"],
        ),
        (["--json", "--help"], ["--help", "--json"]),
        (["--data"], ["--data"]),
        ([], []),
    ],
)
def test_what_stands_before_the_command_is_read_behind_its_name(given: list[str], read: list[str]) -> None:
    assert behind_the_command(given) == read


@pytest.mark.parametrize(
    "arguments",
    [
        ("--data", "DIR", "games"),
        ("--data", "DIR", "shared", "show"),
        ("shared", "--data", "DIR", "show"),
        ("shared", "show", "--data", "DIR"),
        ("--data", "elsewhere", "games", "--data", "DIR"),
    ],
)
def test_every_place_names_the_same_directory(
    arguments: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([str(tmp_path) if one == "DIR" else one for one in arguments]) == 2
    assert capsys.readouterr().err.startswith(f"There is no data of Rookery in {tmp_path}.")


def test_an_option_that_the_command_does_not_take_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--seat", "alice", "games"]) == 2
    assert "No such option: --seat" in capsys.readouterr().err


def test_a_document_is_printed_wherever_json_stands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--json", "games", "--data", str(tmp_path)]) == 2
    assert '"error":"usage"' in capsys.readouterr().out
