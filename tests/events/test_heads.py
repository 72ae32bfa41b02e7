"""A store that lost something is found out, game by game, and only those games: real servers, real files, real cuts."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import sqlite3
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from events import losses
from events.embedded import Embedded
from events.errors import GameHeld, StoreAway
from events.heads import EMBEDDED, FILE, File, Heads, HeadsUnusable, name_of_store
from events.keys import game_key
from events.losses import Head, Loss, NotHeld, compare, head_of, held
from events.store import Store
from tests import toy
from tests.recording import JUDGE, SEAT_OF, new_game, played, submit
from worker.adjudicate import adjudicate

pytestmark = pytest.mark.server

GAMES = ("toy-1", "toy-2", "toy-3", "toy-4")


class Table:
    """A data directory with its servers, a store, and the heads that this process keeps."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.told: list[Loss] = []
        self.start()

    def start(self) -> None:
        self.servers = Embedded(self.directory).start()
        self.store = Store.connect(self.servers.store_url, patience_seconds=0.1)
        self.heads = Heads(self.directory, self.store, self.servers.store_url, tell=self.told.append)

    def stop(self) -> None:
        self.heads.close()
        self.store.client.close()
        self.servers.stop()

    @property
    def file(self) -> Path:
        """Where the newest commands are."""
        return max((self.directory / "store" / "appendonlydir").glob("*.incr.aof"))

    def truth(self) -> dict[str, Head]:
        return {game: head_of(self.store, game) for game in self.store.games()}

    def move(self, game: str) -> None:
        """One more submission and its ruling."""
        line = self.store.line(game, JUDGE)
        owed = toy.owed(line.state)
        command = owed[0].sample(lambda most: most - 1)
        submit(self.store, command, SEAT_OF[command.player], game)
        adjudicate(self.store, JUDGE, game)


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    found = Table(tmp_path / "data")
    yield found
    found.stop()


def _begun(table: Table) -> None:
    for game in GAMES:
        new_game(table.store, game)
        adjudicate(table.store, JUDGE, game)
    for _ in range(3):
        for game in GAMES:
            table.move(game)


def test_a_cut_file_names_exactly_the_games_that_lost_something(tmp_path: Path) -> None:
    table = Table(tmp_path / "data")
    _begun(table)
    before = table.truth()
    table.stop()
    whole = tmp_path / "whole"
    shutil.copytree(table.directory, whole)
    size = table.file.stat().st_size
    seen: set[tuple[str, ...]] = set()
    for cut in (0, 1, 40, 700, 1500, 4000, 9000, size // 2, size - 400, size):
        shutil.rmtree(table.directory)
        shutil.copytree(whole, table.directory)
        os.truncate(table.file, size - cut)
        table.told.clear()
        table.start()
        after = table.truth()
        lost = {game for game in GAMES if game not in after or after[game] != before[game]}
        assert {loss.game for loss in table.heads.look()} == lost, f"{cut} bytes cut"
        assert {loss.game for loss in table.told} == lost == set(held(table.store))
        for loss in held(table.store).values():
            now = after.get(loss.game, Head())
            assert loss.acknowledged == before[loss.game] and loss.found == now
            assert ("inbox-shorter" in loss.what) == (0 < now.inbox < before[loss.game].inbox)
            assert ("ledger-shorter" in loss.what) == (now.inbox > 0 and now.version < before[loss.game].version)
            assert ("game-missing" in loss.what) == (loss.game not in after)
            assert loss.game in loss.sentence and loss.acknowledged.submission not in loss.sentence
            if loss.game in after:
                _stands_still(table, loss.game)
        seen |= {loss.what for loss in held(table.store).values()}
        table.stop()
    assert {("ledger-shorter",), ("inbox-shorter", "ledger-shorter"), ("game-missing",)} <= seen


def _stands_still(table: Table, game: str) -> None:
    """Nobody rules on a held game or adds to it; everybody may read it."""
    before = head_of(table.store, game)
    with pytest.raises(GameHeld):
        submit(table.store, toy.Bid(by="red", coins=0), "seat-1", game)
    # A lease may have come back that was given back behind the cut; it runs out.
    table.store.client.delete(game_key(game, "lease"))
    assert adjudicate(table.store, JUDGE, game).how == "parked"
    assert head_of(table.store, game) == before
    assert table.store.record(game).is_held
    assert game not in table.store.unruled() or table.store.settle(game)
    table.store.line(game, JUDGE)


def test_no_false_alarm_after_clean_stops_and_kills(table: Table) -> None:
    _begun(table)
    for turn in range(4):
        os.kill(table.servers.pid("store"), signal.SIGKILL if turn % 2 else signal.SIGTERM)
        _wait_until_gone(table)
        table.servers.revive()
        again = Heads(table.directory, table.store, table.servers.store_url, tell=table.told.append)
        assert again.look() == []
        table.move("toy-1")
        table.heads.close()
        table.heads = again
        again.start()
    assert not table.told and not held(table.store)


def _wait_until_gone(table: Table) -> None:
    while True:
        try:
            table.store.ping()
        except StoreAway:
            return


def test_what_is_written_lags_by_less_than_a_look_and_is_never_ahead(table: Table) -> None:
    table.heads.start()
    _begun(table)
    deadline = threading.Event()
    for _ in range(600):
        kept = File(table.directory).read(EMBEDDED)
        if kept == table.truth():
            break
        deadline.wait(0.05)
    assert kept == table.truth()


def test_a_store_that_comes_back_shorter_is_found_out_while_we_live(table: Table, tmp_path: Path) -> None:
    _begun(table)
    table.heads.start()
    table.servers.stop()
    os.truncate(table.file, table.file.stat().st_size - 3000)
    table.servers.start()
    for _ in range(600):
        if table.told:
            break
        threading.Event().wait(0.05)
    assert {loss.game for loss in table.told} == set(held(table.store)) != set()


def test_a_worker_does_not_rule_on_a_ledger_that_it_knew_longer(table: Table) -> None:
    """No thread has looked yet: the lease itself tells."""
    _begun(table)
    _drop_last_entry(table, "toy-2")
    assert adjudicate(table.store, JUDGE, "toy-2").how == "parked"
    assert held(table.store)["toy-2"].what == ("ledger-shorter",)
    assert adjudicate(table.store, JUDGE, "toy-1").how == "drained"


def _drop_last_entry(table: Table, game: str) -> None:
    client: Any = table.store.client
    version = table.store.version(game)
    client.xdel(game_key(game, "ledger"), f"{version}-0")
    client.hincrby(game_key(game, "game"), "cursor", -1)


def test_another_history_of_the_same_length_is_found_out(table: Table) -> None:
    _begun(table)
    client: Any = table.store.client
    key = game_key("toy-3", "inbox")
    number = table.store.inbox_length("toy-3")
    raw = client.xrange(key, f"{number}-0", f"{number}-0")[0][1][b"submission"]
    client.xdel(key, f"{number}-0")
    client.delete(game_key("toy-3", "copy"))
    kept = client.xrange(key)
    client.delete(key)
    for name, fields in kept:
        client.xadd(key, fields, id=name)
    client.xadd(key, {"submission": raw.replace(b'"at":"2025', b'"at":"2026')}, id=f"{number}-0")
    assert [loss.what for loss in table.heads.look()] == [("inbox-differs",)]


def test_a_game_that_comes_back_whole_goes_on(table: Table) -> None:
    _begun(table)
    client: Any = table.store.client
    key = game_key("toy-1", "ledger")
    version = table.store.version("toy-1")
    fields = client.xrange(key, f"{version}-0")[0][1]
    all_of_it = client.xrange(key)
    client.xdel(key, f"{version}-0")
    assert [loss.game for loss in table.heads.look()] == ["toy-1"]
    client.delete(key)
    for name, one in all_of_it:
        client.xadd(key, one, id=name)
    assert fields and table.heads.look() == [] and not held(table.store)
    table.move("toy-1")


def test_under_the_id_of_a_lost_game_no_other_begins(table: Table) -> None:
    _begun(table)
    client: Any = table.store.client
    client.delete(*client.keys(game_key("toy-4", "*").replace("[", "\\[")))
    assert [loss.what for loss in table.heads.look()] == [("game-missing",)]
    with pytest.raises(GameHeld):
        new_game(table.store, "toy-4")
    table.heads.file.forget(EMBEDDED, "toy-4")
    losses.accept(table.store, held(table.store)["toy-4"], None)
    new_game(table.store, "toy-4")
    assert table.heads.look() == []


def test_two_processes_know_different_parts_and_the_operator_is_told_all(table: Table) -> None:
    """One took the submission in, the other ruled on it."""
    _begun(table)
    other = Store.connect(table.servers.store_url)
    theirs = Heads(table.directory, other, table.servers.store_url)
    submit(other, toy.Bid(by="red", coins=0), "seat-1", "toy-1")
    adjudicate(table.store, JUDGE, "toy-1")
    known = head_of(table.store, "toy-1")
    client: Any = table.store.client
    client.xdel(game_key("toy-1", "ledger"), f"{known.version}-0")
    client.xdel(game_key("toy-1", "inbox"), f"{known.inbox}-0")
    table.heads.look()
    theirs.look()
    found = held(table.store)["toy-1"]
    assert found.acknowledged == known
    assert set(found.what) == {"inbox-shorter", "ledger-shorter"}
    theirs.close()
    other.client.close()


def test_acknowledgements_that_overtake_each_other_are_no_loss(table: Table) -> None:
    _begun(table)
    numbers = range(5, 0, -1)
    digests = {
        int(name.partition("-")[0]): hashlib.sha256(raw).hexdigest()
        for name, raw in table.store.raw_submissions("toy-1")
    }
    last = max(digests)
    table.heads.submitted("toy-1", last, digests[last])
    for number in numbers:
        if number in digests:
            table.heads.submitted("toy-1", number, digests[number])
    table.heads.close()
    assert not table.told and File(table.directory).read(EMBEDDED) == table.truth()


def test_the_file_is_its_users_only_and_has_a_row_for_each_game(table: Table) -> None:
    _begun(table)
    for _ in range(5):
        table.move("toy-1")
    table.heads.close()
    path = table.directory / FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    rows = sqlite3.connect(path)
    assert rows.execute("SELECT count(*) FROM heads").fetchone() == (len(GAMES),)
    rows.close()


def test_a_file_that_cannot_be_used_is_told_and_stops_nobody(table: Table) -> None:
    told: list[str] = []
    heads = Heads(table.directory, table.store, table.servers.store_url, trouble=told.append)
    (table.directory / FILE).write_bytes(b"this is no file of heads" * 100)
    new_game(table.store, "toy-1")
    heads._turn()
    heads._turn()
    assert len(told) == 1 and FILE in told[0]
    with pytest.raises(HeadsUnusable):
        heads.look()
    (table.directory / FILE).unlink()
    heads.close()
    assert File(table.directory).read(EMBEDDED)["toy-1"].inbox == 1


def test_stores_are_told_apart_by_address_without_the_password(tmp_path: Path) -> None:
    assert name_of_store("redis://:hush@db.example:6380/2", tmp_path) == "redis://db.example:6380/2"
    assert name_of_store("rediss://me:hush@db.example/0", tmp_path) == "rediss://db.example:/0"
    file = File(tmp_path)
    file.write("redis://a", {"toy-1": Head(inbox=3, submission="aa")})
    assert file.read("redis://b") == {} and file.stores() == {"redis://a": 1}


def test_of_two_heads_the_larger_stays_and_of_the_same_number_the_first(tmp_path: Path) -> None:
    file = File(tmp_path)
    file.write("s", {"g": Head(inbox=5, submission="five")})
    file.write("s", {"g": Head(inbox=4, submission="four", version=2, digest="two")})
    file.write("s", {"g": Head(inbox=5, submission="other", version=2, digest="other")})
    assert file.read("s") == {"g": Head(inbox=5, submission="five", version=2, digest="two")}


def test_comparing_many_games_takes_few_round_trips(table: Table) -> None:
    played(table.store, "toy-1", rounds=1)
    head = head_of(table.store, "toy-1")
    heads = {f"gone-{number}": Head(inbox=1, submission="x") for number in range(250)} | {"toy-1": head}
    assert len(compare(table.store, heads)) == 250
    assert isinstance(NotHeld("toy-1"), Exception)
