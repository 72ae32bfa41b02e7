"""Proof over HTTP and the command line: keys, checkpoints, receipts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from api.proving import prove_file
from events.codec import write_submission
from events.embedded import Embedded
from events.envelope import number_of
from events.notes import Verifier, read_checkpoint, read_receipt
from tests.api.serving import SIGNER, Table, ruling, serving, sit_down, store_of
from tests.api.test_cli import ROOT, Rookery, rookery, run_page

__all__ = ["rookery"]  # a fixture

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    directory: Path = tmp_path_factory.mktemp("proof")
    with (
        Embedded(directory) as embedded,
        ruling(embedded) as bell,
        serving(store_of(embedded), bell) as place,
        httpx.Client(base_url=place.url, timeout=60) as http,
    ):
        yield sit_down(place, http)


def test_the_server_shows_its_key(table: Table) -> None:
    answer = table.http.get("/v1/key")
    assert Verifier.parse(answer.text) == SIGNER.verifier


def test_a_checkpoint_signs_the_head_for_everybody(table: Table) -> None:
    answer = table.get("/checkpoint")
    found = read_checkpoint(answer.text, SIGNER.verifier)
    entry = table.get(f"/entries/{found.size}").json()
    assert found.origin == f"rookery.test/{table.game}"
    assert found.root == entry["record"]["digest"]
    assert table.get("/checkpoint", If_None_Match=answer.headers["etag"]).status_code == 304


def test_the_log_carries_a_checkpoint_where_a_round_begins(table: Table) -> None:
    first = table.get("/log?limit=1").json()["entries"][0]
    found = read_checkpoint(first["checkpoint"], SIGNER.verifier)
    assert (found.size, found.root) == (1, first["record"]["digest"])


@pytest.mark.parametrize("wait", [None, 20])
def test_every_acknowledgement_is_a_receipt(table: Table, wait: int | None) -> None:
    who = "stark" if wait else "lannister"
    answer = table.send(who, table.letter(who), wait=wait)
    assert answer.status_code == (201 if wait else 202)
    receipt = read_receipt(answer.json()["receipt"], SIGNER.verifier)
    assert receipt.checkpoint.size < number_of(receipt.inbox)
    store = table.place.desk.store
    stored = next(store.submissions(table.game, number_of(receipt.inbox) - 1, 1))
    assert receipt.submission == hashlib.sha256(write_submission(stored)).hexdigest() == answer.json()["digest"]


# The command line


def test_the_examples_of_the_page(rookery: Rookery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "proof.md").read_text(encoding="utf-8")
    (tmp_path / "server.key").write_text(rookery.at_once("key").out)
    done = run_page(rookery, page, tmp_path, monkeypatch)
    assert {"new", "key", "submit", "checkpoint", "export", "verify"} <= done
    receipt = (tmp_path / "receipts" / "winter-2.receipt").read_text()
    shown = re.findall(r"^    (.+)$", page, re.MULTILINE)
    kept = [line for line in receipt.splitlines() if line]
    assert len(shown) == len(kept) == 6
    for line, pattern in zip(kept, shown, strict=True):
        assert line.split(" ")[:-1] == pattern.split(" ")[:-1]
        assert line == pattern or pattern.endswith("…")
    assert rookery.at_once("verify", "winter", "--receipt", tmp_path / "receipts" / "winter-2.receipt").out


def test_what_does_not_fit_is_named_and_ends_with_1(
    rookery: Rookery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rookery.at_once("new", "--game", "one", "--players", "3", "--seat", "a=stark", "--seat", "b=lannister",
                    "--seat", "c=baratheon")  # fmt: skip
    key = rookery.at_once("key", "--json").json["key"]
    note = rookery.at_once("checkpoint", "one", "--json").json["checkpoint"]
    (tmp_path / "true").write_text(note)
    (tmp_path / "false").write_text(note.replace("\n1\n", "\n2\n"))
    rookery.at_once("export", "one", tmp_path / "one.jsonl", "--why", "backup")
    rookery.at_once("export", "one", tmp_path / "one.zip", "--bundle", "--why", "backup")
    told = rookery.at_once("verify", tmp_path / "one.jsonl", "--checkpoint", tmp_path / "true", "--key", key).out
    assert "1 signed note holds" in told
    assert "--key" in rookery.at_once("verify", tmp_path / "one.jsonl", "--checkpoint", tmp_path / "true", code=2).err
    bad = rookery.at_once("verify", tmp_path / "one.zip", "--checkpoint", tmp_path / "false", "--json", code=1).json
    assert [one["what"] for one in bad["findings"]] == ["signature"]
    no_key = rookery.at_once("verify", tmp_path / "one.jsonl", "--key", tmp_path / "no.key", code=2).err
    assert f"There is no file {tmp_path / 'no.key'}, and a key looks like" in no_key
    assert "holds no key" in rookery.at_once("verify", "one", "--key", tmp_path / "true", code=2).err
    assert "is no key" in rookery.at_once("verify", "one", "--key", key[:-8], code=2).err
    (tmp_path / "key").write_text(key)
    monkeypatch.chdir(tmp_path)
    kept = ("--checkpoint", "false", "--key", "key")
    assert rookery.at_once("verify", "one.jsonl", *kept, code=1).err.startswith("false disagrees (signature): ")
    (tmp_path / "cut.zip").write_bytes((tmp_path / "one.zip").read_bytes()[:-30])
    assert "archive" in rookery.at_once("verify", tmp_path / "cut.zip", code=1).err
    assert "archive" in rookery.at_once("import", tmp_path / "cut.zip", "--as", "cut", code=1).err
    assert rookery.at_once("import", tmp_path / "one.zip", "--as", "two", "--json").json["version"] == 3


# Bundles over HTTP


def test_a_bundle_is_redacted_unless_secrets_are_asked_for_with_a_reason(table: Table, tmp_path: Path) -> None:
    for who in ("stark", None, "organiser"):
        path = tmp_path / "seen.zip"
        path.write_bytes(table.get("/bundle", who).content)
        proof = prove_file(path, [], [SIGNER.verifier])
        assert proof.is_confirmed and not proof.full, proof.findings
    assert table.get("/bundle?secrets=true&why=x", "stark").status_code == 403
    assert table.get("/bundle?secrets=true&why=x").status_code == 401
    assert table.get("/bundle?secrets=true", "organiser").json()["code"] == "why-missing"
    before = table.get("").json()["version"]
    answer = table.get("/bundle?secrets=true&why=the+server+moves", "organiser")
    assert table.get("").json()["version"] == before + 1  # written down
    path.write_bytes(answer.content)
    proof = prove_file(path, [], [SIGNER.verifier])
    assert proof.is_confirmed and proof.full and proof.entries == before + 1
