"""Proof over HTTP and the command line: keys, checkpoints, receipts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from events.codec import write_submission
from events.embedded import Embedded
from events.envelope import number_of
from events.notes import Verifier, read_checkpoint, read_receipt
from tests.api.serving import SIGNER, Table, ruling, serving, sit_down, store_of

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
