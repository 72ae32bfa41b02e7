"""The walk of docs/arbiter.md, step by step, and what it promises."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.api.test_cli import ROOT, Rookery, rookery

__all__ = ["rookery"]
pytestmark = pytest.mark.server
PAGE = ROOT / "docs" / "arbiter.md"


def walked(rookery: Rookery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Run the page; what each command printed. Files that it shows are there from the start."""
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text(encoding="utf-8")
    for name, body in re.findall(r"^```letter (.+)\n([\s\S]*?)^```$", page, re.MULTILINE):
        Path(name).write_text(body)
    printed = {}
    for body in re.findall(r"^```console\n([\s\S]*?)^```$", page, re.MULTILINE):
        for line in body.splitlines():
            command = line.removeprefix("$ rookery ")
            printed[command] = rookery.at_once(*shlex.split(command)).out
    return printed


def test_the_walk(rookery: Rookery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = walked(rookery, tmp_path, monkeypatch)

    def told(beginning: str) -> str:
        return next(text for command, text in printed.items() if command.startswith(beginning))

    why = told("why winter 6")
    assert "RULING 6 of game winter" in why and "2E-MAR-9:" in why and "BOARD BEFORE" in why
    plan = told("plan")
    assert "strikes out entries 5 to 8" in plan
    assert "Answers: 1 kept, 1 asked anew, 1 offered later." in plan
    assert "What is asked anew holds back all that is offered later" in plan
    rewound = told("rewind")
    assert "Appeal 1: the game is taken back. Opinion: It is in writing." in rewound
    assert "Lannister's answer of entry 5 (raven) rests on nothing that has changed and is kept." in rewound
    assert "Lannister's answer of entry 6 (march) is asked anew" in rewound
    assert "Stark's answer of entry 7 (march) rests on nothing that has changed and is kept." in told("submit third")
    log = told("log")
    assert log.count("STRUCK OUT by entry 9: The handicap was forgotten.") == 3
    assert "struck out: entries 5 to 8, by entry 9" in told("show")
    assert "the ruling is upheld" in told("opinion give")
    assert "This would be stated" in told("correct winter --state")
    assert "opened when the game ends" in told("secrets")
    assert "on what the arbiter (operator) sent" in told("why winter 9")
    assert "confirmed" in told("verify")
    log_now = rookery.at_once("log", "winter", "--json").json["entries"]
    assert [one["seq"] for one in log_now if "struck" in one] == [5, 6, 7]
    case = rookery.at_once("cases", "run", tmp_path / "riverrun.json", "--json").json
    assert (case["passed"], case["failed"]) == (1, 0)


NEW = ("new", "--game", "g", "--players", "3", "--seed", "5")
SEATS = ("--seat", "alice=stark", "--seat", "bob=lannister", "--seat", "carol=baratheon")
ORDERS = """
house: Stark
orders winterfell march+1, white harbor consolidate, shivering sea support
house: Lannister
orders lannisport cp*, stoney sept march, golden sound raid, port of lannisport support
house: Baratheon
orders dragonstone support, kingswood defense, shipbreaker bay raid
"""
POWER = '{"fact": "PowerChanged", "house": "stark", "by": 1}'


@pytest.fixture
def game(rookery: Rookery) -> dict[str, str]:
    """A game whose orders are in; its tokens, the arbiter's among them."""
    made = rookery.at_once(*NEW, *SEATS, "--json").json
    rookery.at_once("submit", "-", "--game", "g", letter=ORDERS)
    arbiter = rookery.at_once("arbiter", "g", "luwin", "--json").json["token"]
    return {**made["tokens"], "organiser": made["organiser"], "arbiter": arbiter}


ACTS = (
    ("plan", "g", "2"),
    ("rewind", "g", "2", "--version", "4", "--reason", "x"),
    ("correct", "g", "--state", POWER),
    ("correct", "g", "--state", POWER, "--version", "4", "--reason", "x"),
    ("opinion", "give", "g", "1", "upheld", "--text", "x"),
    ("amend", "g", "--reason", "x", "--yes"),
    ("perspective", "g", "stark", "--why", "x"),
)


@pytest.mark.parametrize("act", ACTS)
def test_a_seat_and_the_organiser_do_no_arbiters_work(
    rookery: Rookery, game: dict[str, str], act: tuple[str, ...]
) -> None:
    needed = "the organiser or an arbiter" if act[0] == "amend" else "an arbiter"
    for who in ("alice",) if act[0] == "amend" else ("alice", "organiser"):
        assert f"needs the token of {needed}" in rookery.at_once(*act, "--token", game[who], code=3).err
    assert rookery.at_once("games", "--json").json["games"][0]["version"] == 4


def test_the_organiser_may_move_a_game_to_another_engine(rookery: Rookery, game: dict[str, str]) -> None:
    said = ("amend", "g", "--reason", "agreed", "--token", game["organiser"], "--json")
    [told] = rookery.at_once(*said).json["games"]
    assert told["otherwise"]["differing"] == [] and "entry" not in told, "first it is only shown"
    [told] = rookery.at_once(*said, "--yes").json["games"]
    assert (told["entry"]["command"]["kind"], told["entry"]["command"]["by"]) == ("amend", "organiser")
    assert rookery.at_once("amend", "--all", "--reason", "agreed", "--json").json["games"] == []


def test_an_arbiter_acts_with_his_token_and_under_his_name(rookery: Rookery, game: dict[str, str]) -> None:
    token = ("--token", game["arbiter"])
    assert rookery.at_once("plan", "g", "2", "--json", *token).json["version"] == 4
    told = rookery.at_once("rewind", "g", "2", "--version", "4", "--reason", "too soon", "--json", *token).json
    assert told["entry"]["command"]["by"] == "luwin"
    assert "by now" in rookery.at_once("rewind", "g", "2", "--version", "4", "--reason", "x", *token, code=3).err
    assert "there is no entry" in rookery.at_once("plan", "g", "99", *token, code=2).err.lower()
    assert "A fact is JSON" in rookery.at_once("plan", "g", "2", "--state", "no", code=2).err
    assert "comes with its reason" in rookery.at_once("rewind", "g", "2", "--version", "5", "--reason", " ", code=3).err
    assert "not allow" in rookery.at_once("arbiter", "g", "ned", "--seat", "stark", code=3).err
    for name in ("operator", "alice", "stark", "organiser"):
        assert "as if somebody else had acted" in rookery.at_once("arbiter", "g", name, code=3).err
    assert "1 to 64 of a-z" in rookery.at_once("arbiter", "g", "Luwin\x1b", code=3).err


def test_a_moment_is_an_entry_or_a_time(rookery: Rookery, game: dict[str, str]) -> None:
    at = rookery.at_once("log", "g", "--json").json["entries"][1]["at"]
    for moment in ("2", at):
        assert rookery.at_once("show", "g", "--at", moment, "--json").json["version"] == 2
        assert rookery.at_once("replay", "g", "--to", moment, "--json").json["version"] == 2
        entries = rookery.at_once("log", "g", "--at", moment, "--json").json["entries"]
        assert [one["seq"] for one in entries] == [1, 2]
    rookery.at_once("rewind", "g", "1", "--version", "4", "--reason", "hindsight")
    for command in ("show", "log", "why"):
        told = rookery.at_once(command, "g", *(("--at", "2") if command != "why" else ("2", "--at", "2"))).out
        assert "hindsight" not in told and "truck out" not in told.lower(), command
    assert "neither the number of an entry nor a time" in rookery.at_once("show", "g", "--at", "noon", code=2).err
    known = rookery.at_once("perspective", "g", "stark", "--at", "2", "--why", "a dispute", "--json").json
    assert known["version"] == 2 and "stark" in known["hidden"]["answers"]
    known = rookery.at_once("perspective", "g", "bob", "--at", "2", "--why", "a dispute").out
    assert "Stark has answered: orders" in known.partition("The truth beside it")[2]


def test_reads_by_privilege_are_opened_when_the_game_ends(rookery: Rookery) -> None:
    """A finished game is taken back before its last letter, under a new seed, and ends again."""
    told = rookery.at_once(
        "sample", "--players", "3", "--seed", "4", "--data", rookery.data, "--game", "s", "--json"
    ).json
    last = told["entries"]
    free = rookery.at_once("perspective", "s", "stark", "--at", "5", "--json").json
    assert free["hidden"]["seed"] and free["hidden"]["decks"], "after the end nothing is hidden, and nothing recorded"
    assert rookery.at_once("games", "--json").json["games"][0]["version"] == last
    proven = rookery.at_once("why", "s", "1", "--json").json["draws"]
    assert len(proven) == 4 and all("follows from seed" in one["proof"] and one["salt"] for one in proven)
    options = ("--version", str(last), "--reason", "the last letter again")
    assert "needs a new one" in rookery.at_once("rewind", "s", str(last - 1), *options, code=3).err
    again = ("--version", str(last + 1), "--reason", "the last letter again", "--redraw")
    rookery.at_once("rewind", "s", str(last - 1), *again)
    assert "says why" in rookery.at_once("perspective", "s", "stark", code=3).err
    rookery.at_once("perspective", "s", "stark", "--why", "a dispute")
    assert "a dispute" not in rookery.at_once("log", "s", "--after", str(last)).out
    for _ in range(100):
        one = rookery.at_once("games", "--json").json["games"][0]
        if one["winner"]:
            break
        rookery.at_once("deadline", "s", one["awaited"][0].partition(" ")[0])
    assert one["winner"]
    read = rookery.at_once("secrets", "s", "--json").json["reads"]
    assert [(one["who"], one["why"]) for one in read] == [("operator", "a dispute")]
    assert f"Secrets were read by privilege: entry {last + 3}, operator:" in rookery.at_once("log", "s").out
    redrawn = rookery.at_once("why", "s", str(last + 2), "--json").json["draws"]
    assert redrawn and all("follows from seed" in one["proof"] for one in redrawn)
    assert "confirmed" in rookery.at_once("verify", "s").out
