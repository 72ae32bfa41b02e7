"""Texts of people, on every way out: the record keeps them as they are, and no terminal carries them out."""

from __future__ import annotations

import asyncio
import json
import zipfile
from pathlib import Path

import pytest

from domain.kernel.bounds import MOST_PROSE
from tests.api.test_arbiter import NEW, ORDERS, POWER, SEATS
from tests.api.test_cli import Rookery, rookery
from tests.api.test_moments import GAME, Table
from tests.domain.kernel.test_printing import is_harmless

__all__ = ["rookery"]
pytestmark = pytest.mark.server

EVIL = "gone \x1b[2J\x07 \u202eback\n9  forged \x9b1m\x7f"
SHOWN = r"gone \x1b[2J\x07 \u202eback 9 forged \x9b1m\x7f"


def test_statements_reasons_and_purposes_are_printed_and_not_carried_out(
    rookery: Rookery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rookery.at_once(*NEW, *SEATS)
    rookery.at_once("submit", "-", "--game", "g", letter=ORDERS)
    rookery.at_once("appeal", "g", "4", "--seat", "bob", "--statement", EVIL)
    rookery.at_once("opinion", "give", "g", "1", "upheld", "--text", EVIL)
    rookery.at_once("correct", "g", "--state", POWER, "--version", "6", "--reason", EVIL)
    rookery.at_once("rewind", "g", "6", "--version", "7", "--reason", EVIL)
    rookery.at_once("perspective", "g", "stark", "--why", EVIL)
    rookery.at_once("fork", "g", "--at", "4", "--as", "f", "--why", "x", "--purpose", EVIL)
    rookery.at_once("export", "g", "g.zip", "--bundle", "--public")
    rookery.at_once("export", "f", "f.jsonl", "--public")
    with zipfile.ZipFile("g.zip") as archive:
        table = archive.read("log.tsv").decode()
    told = [
        table,
        *(rookery.at_once(*arguments).out for arguments in (("log", "g"), ("why", "g", "5"), ("why", "g", "7"))),
        *(rookery.at_once(*arguments).out for arguments in (("show", "f"), ("verify", "f.jsonl"), ("log", "f"))),
    ]
    for text in told:
        assert is_harmless(text) and SHOWN in " ".join(text.split()), text
    quiet = [("show", "g"), ("secrets", "g"), ("opinion", "export", "g", "1"), ("log", "g", "--json")]
    quiet += [("plan", "g", "4", "--causal"), ("games",), ("perspective", "g", "stark", "--why", EVIL)]
    for arguments in quiet:
        assert is_harmless(rookery.at_once(*arguments).out), arguments
    entries = json.loads(rookery.at_once("log", "g", "--json").out)["entries"]
    assert entries[4]["command"]["statement"] == EVIL, "the record has it as it was given"
    assert is_harmless(rookery.at_once("why", "g", "noon\x1b[2J", code=2).err)


def test_texts_have_a_limit(rookery: Rookery) -> None:
    rookery.at_once(*NEW, *SEATS)
    longest, longer = "a" * MOST_PROSE, "a" * (MOST_PROSE + 1)
    at_most = "has at most 20,000 characters, not 20,001."
    appeal = ("appeal", "g", "1", "--seat", "bob", "--statement")
    assert f"A statement {at_most}" in rookery.at_once(*appeal, longer, code=3).err
    rookery.at_once(*appeal, longest)
    opinion = ("opinion", "give", "g", "1", "upheld", "--text", longer)
    assert f"An opinion {at_most}" in rookery.at_once(*opinion, code=3).err
    correct = ("correct", "g", "--state", POWER, "--version", "2", "--reason")
    assert f"A reason {at_most}" in rookery.at_once(*correct, longer, code=3).err
    assert f"A reason {at_most}" in rookery.at_once("perspective", "g", "stark", "--why", longer, code=3).err
    assert rookery.at_once("games", "--json").json["games"][0]["version"] == 2


def test_over_http_too() -> None:
    table = Table()
    body = json.dumps({"against": 1, "statement": "a" * (MOST_PROSE + 1)}).encode()
    answer = asyncio.run(table.client.post(f"/v1/games/{GAME}/appeal", table.tokens["alice"], body))
    assert (answer.status, answer.json()["code"]) == (422, "text-too-long")
