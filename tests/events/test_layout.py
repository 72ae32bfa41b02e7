"""The layout of the keys, and the way from the first one to it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from redis.exceptions import ResponseError

from events import layout
from events.embedded import Embedded
from events.envelope import encode, submission
from events.keys import (
    LAYOUT,
    LOST,
    PARKED,
    PARTITIONS,
    UNRULED,
    game_key,
    game_part,
    is_game_id,
    list_key,
    list_keys,
    partition_of,
    shared_key,
    shared_written,
    written_shared,
)
from events.losses import held
from events.shared import SharedRecord, SharedSeeds
from events.store import Parked, Store
from events.verify import verify_store
from tests import toy
from tests.recording import JUDGE, fake_store, new_game, submit
from worker.adjudicate import adjudicate

GAMES = ("toy-1", "toy-2", "p07", "shared", "a.b_c-d")


def test_the_partition_of_a_game_stays_what_it_is() -> None:
    assert [partition_of(game) for game in ("winter", "toy-1", "a")] == [40, 13, 3]
    assert {partition_of(f"game-{number}") for number in range(1000)} == set(range(PARTITIONS))


def test_keys_are_told_apart() -> None:
    for game in GAMES:
        assert is_game_id(game)
        for what in ("game", "sent:stark", "staged:ab:game"):
            assert game_part(game_key(game, what)) == (game, what)
    others = (*list_keys(UNRULED), shared_key("cup"), LAYOUT, "rookery:{P00}:winter:game", "rookery:{winter}:game")
    assert [key for key in others if game_part(key)] == []
    for key in (shared_key("cup"), shared_key("cup", "tables")):
        assert shared_written(written_shared(key)) == key


def test_each_script_touches_keys_of_one_slot() -> None:
    store = fake_store()
    seen: list[list[str]] = []

    def watched(script: Any) -> Any:
        def call(*, keys: list[str], args: list[Any]) -> Any:
            seen.append(keys)
            return script(keys=keys, args=args)

        return call

    for name, script in list(vars(store).items()):
        if hasattr(script, "sha"):
            setattr(store, name, watched(script))
    new_game(store, "toy-1")
    submit(store, toy.Bid(by="red", coins=0), "seat-1", "toy-1")
    adjudicate(store, JUDGE, "toy-1")
    assert len(seen) >= 4
    for keys in seen:
        assert len({re.findall(r"\{(.*?)\}", key)[0] for key in keys}) == 1, keys


# Migration


def _to_first_layout(store: Store) -> None:
    """Lay a store out as it was before: the names of the keys, and one list of each kind."""
    client = store.client
    for raw in list(client.scan_iter()):
        key = raw.decode()
        if part := game_part(key):
            client.rename(key, f"rookery:{{{part[0]}}}:{part[1]}")
        elif "{SHARED}" in key:
            client.rename(key, written_shared(key))
        elif found := re.fullmatch(r"rookery:\{P\d\d\}:(games|unruled|parked)", key):
            client.sadd(f"rookery:{found[1]}", *client.smembers(key))
            client.delete(key)
        elif key.endswith(f":{LOST}"):
            client.hset(f"rookery:{LOST}", mapping=client.hgetall(key))
            client.delete(key)
    client.delete(LAYOUT)


def _fill(store: Store) -> None:
    for game in GAMES:
        new_game(store, game)
        adjudicate(store, JUDGE, game)
        submit(store, toy.Bid(by="red", coins=0), "seat-1", game)
    store.client.hset(game_key("toy-2", "game"), "parked", encode(Parked(at="", inbox="", kind="", error="", where="")))
    store.client.sadd(list_key(PARKED, "toy-2"), "toy-2")
    store.client.hset(list_key(LOST, "gone"), "gone", "{}")
    seeds = SharedSeeds(store)
    seeds.create(SharedRecord(id="cup", seed="ab", commitment="cd", created="now", rules="toy"))
    seeds.join("cup", "toy-1", submission(toy.Bid(by="red", coins=1), seat=None, cause="system"))


def _dumped(store: Store) -> dict[bytes, bytes]:
    passing = (b":lease", b":snapshot", b":unruled", LAYOUT.encode(), b"rookery:games")
    return {key: store.client.dump(key) for key in store.client.scan_iter() if not key.endswith(passing)}


@pytest.fixture
def old(embedded: Embedded) -> Iterator[tuple[Store, str, dict[bytes, bytes]]]:
    """A store of the first layout, its URL, and what has to be in it afterwards."""
    store = Store.connect(embedded.store_url)
    store.client.flushall()
    _fill(store)
    kept = _dumped(store)
    _to_first_layout(store)
    yield store, embedded.store_url, kept
    store.client.flushall()
    store.client.close()


def _check(store: Store, kept: dict[bytes, bytes]) -> None:
    layout.check(store)
    assert _dumped(store) == kept
    assert store.games() == tuple(sorted(GAMES))
    assert set(store.unruled()) >= set(GAMES) - {"toy-2"} and store.parked() == ("toy-2",)
    assert set(held(store)) == {"gone"}
    seeds = SharedSeeds(store)
    assert seeds.names() == seeds.unopened() == ("cup",) and set(seeds.tables("cup")) == {"toy-1"}
    for game in GAMES:
        assert verify_store(store, JUDGE, game).is_confirmed


def test_an_older_store_is_moved_and_nothing_of_it_is_lost(old: tuple[Store, str, dict[bytes, bytes]]) -> None:
    store, _, kept = old
    with pytest.raises(layout.LayoutOlder, match="rookery up"):
        layout.check(store)
    assert layout.migrate(store) > len(GAMES)
    _check(store, kept)
    assert layout.migrate(store) == 0


def test_a_cluster_gets_copies(old: tuple[Store, str, dict[bytes, bytes]], monkeypatch: pytest.MonkeyPatch) -> None:
    store, _, kept = old
    monkeypatch.setattr(layout, "_move", _refusing(layout._move))
    layout.migrate(store)
    _check(store, kept)


def _refusing(move: Callable[..., bool]) -> Callable[..., bool]:
    """As on a cluster, where no key can be renamed into another slot."""

    class Node:
        def __init__(self, client: Any) -> None:
            self._client = client

        def __getattr__(self, name: str) -> Any:
            return getattr(self._client, name)

        def renamenx(self, *_: str) -> bool:
            raise ResponseError("CROSSSLOT Keys in request don't hash to the same slot")

    return lambda client, *rest: move(Node(client), *rest)


_KILLED = """
import os, signal, sys
from events import layout
from events.store import Parked, Store

left = int(sys.argv[2])
def told(step):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
layout.migrate(Store.connect(sys.argv[1]), told)
"""


def test_a_migration_that_is_killed_at_every_step_is_finished_by_the_next(
    old: tuple[Store, str, dict[bytes, bytes]],
) -> None:
    store, url, kept = old
    kills = 0
    # Each start comes a few steps further than the one before, in what is left.
    for step in (1, 2, 3, 5, 7, 4, 8, 2, 9, 6, 3, 100):
        ended = subprocess.run([sys.executable, "-c", _KILLED, url, str(step)], cwd=Path.cwd(), check=False)
        kills += ended.returncode == -signal.SIGKILL
        if ended.returncode == 0:
            break
        with pytest.raises(layout.LayoutOlder):
            layout.check(store)
    assert kills >= 8
    _check(store, kept)


def test_the_last_steps_may_be_killed_too(old: tuple[Store, str, dict[bytes, bytes]]) -> None:
    store, _, kept = old

    class Killed(BaseException):
        pass

    for point in ("tombstone", "lost", "lists", "version"):

        def told(step: str, point: str = point) -> None:
            if step == point:
                raise Killed

        with pytest.raises(Killed):
            layout.migrate(store, told)
        assert not store.client.exists(LAYOUT)
    layout.migrate(store)
    _check(store, kept)


def test_a_newer_store_is_refused_in_a_sentence() -> None:
    store = fake_store()
    store.client.set(LAYOUT, layout.VERSION + 1)
    for act in (layout.check, layout.migrate):
        with pytest.raises(layout.LayoutNewer, match=f"layout {layout.VERSION + 1}, and this Rookery reads layout"):
            act(store)


def test_what_an_older_process_wrote_meanwhile_is_never_written_over(
    old: tuple[Store, str, dict[bytes, bytes]],
) -> None:
    store, _, _ = old
    store.client.set(game_key("toy-1", "inbox"), "other")
    with pytest.raises(layout.LayoutConflict, match="toy-1"):
        layout.migrate(store)
    assert store.client.type("rookery:{toy-1}:inbox") == b"stream"


def test_an_older_rookery_meets_no_empty_store(old: tuple[Store, str, dict[bytes, bytes]]) -> None:
    store, _, _ = old
    layout.migrate(store)
    assert store.client.type("rookery:games") == b"string"
