"""Whether the whole service works is told: a store that is away, a worker that hangs, rulings that are late."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fakeredis
import pytest

from api.app import create_app
from api.desk import Desk
from api.readiness import Limits
from api.tokens import Tokens
from domain.thrones.ruleset import THRONES
from events.connecting import connect
from events.embedded import Embedded
from events.ruling import Judge
from events.store import Store
from tests.api.asgi import Answer, Client
from tests.api.serving import OPERATOR
from worker.adjudicate import adjudicate
from worker.pulse import beat, feel, leave
from worker.session import Bell
from worker.settings import Settings

ROOT = Path(__file__).parents[2]
JUDGE = Judge(THRONES)
NOON, LATER = "2025-01-01T12:00:00Z", "2025-01-01T12:02:00Z"


def asked(desk: Desk, limits: Limits | None = None, method: str = "GET", path: str = "/readyz") -> Answer:
    return asyncio.run(Client(create_app(desk, limits=limits or Limits())).request(method, path))


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> str:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def desk(clock: Clock) -> Desk:
    store = Store(fakeredis.FakeRedis())
    return Desk(store, Tokens(store, OPERATOR), Bell(fakeredis.FakeRedis(), lambda number: None), JUDGE, clock=clock)


def test_a_service_with_a_living_worker_and_nothing_waiting_is_ready(desk: Desk) -> None:
    assert desk.bell is not None
    beat(desk.bell.client, "one")
    found = asked(desk)
    assert (found.status, found.json()["status"], found.json()["problems"]) == (200, "ready", [])
    assert (found.json()["workers"], found.json()["waiting_games"], found.json()["oldest_waiting_seconds"]) == (1, 0, 0)


def test_without_any_worker_it_is_not_ready(desk: Desk) -> None:
    found = asked(desk)
    assert (found.status, found.header("retry-after")) == (503, "5")
    assert found.json()["problems"] == ["no-worker"]
    assert desk.bell is not None
    beat(desk.bell.client, "one")
    leave(desk.bell.client, "one")
    assert asked(desk).json()["problems"] == ["no-worker"]
    desk.bell = None
    assert asked(desk).json()["workers"] is None


def test_rulings_that_are_late_are_told_without_naming_the_game(desk: Desk, clock: Clock) -> None:
    assert desk.bell is not None
    beat(desk.bell.client, "one")
    desk.create(edition="second-edition", players=3, game="secret-table", seed="5e" * 32)
    clock.now = LATER
    found = asked(desk)
    assert (found.status, found.json()["problems"]) == (503, ["rulings-late"])
    assert (found.json()["waiting_games"], found.json()["oldest_waiting_seconds"]) == (1, 120)
    assert b"secret-table" not in found.body
    assert asked(desk, Limits(waiting_seconds=121)).status == 200
    adjudicate(desk.store, JUDGE, "secret-table")
    assert asked(desk).json()["waiting_games"] == 0


def test_stores_that_are_away_are_told_apart(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("events.health.FRESH_SECONDS", 0.0)
    server, queue = fakeredis.FakeServer(), fakeredis.FakeServer()
    store = Store(fakeredis.FakeRedis(server=server))
    away = Desk(store, Tokens(store), Bell(fakeredis.FakeRedis(server=queue), lambda number: None), JUDGE)
    server.connected = False
    assert asked(away).json()["problems"] == ["store-away", "no-worker"]
    server.connected, queue.connected = True, False
    found = asked(away)
    assert (found.status, found.json()["problems"], found.json()["workers"]) == (503, ["queue-away"], None)


def test_who_has_not_been_heard_of_for_long_is_forgotten() -> None:
    client = fakeredis.FakeRedis()
    for name in ("old", "new"):
        beat(client, name)
    client.zadd("rookery:pulse", {"old": 1.0})
    assert len(feel(client).silent_seconds) == 2
    beat(client, "new")
    assert len(feel(client).silent_seconds) == 1


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[Desk, subprocess.Popen[bytes]]]:
    """A desk, and a worker in a process of its own."""
    with Embedded(tmp_path) as embedded:
        settings = Settings(store_url=embedded.store_url, queue_url=embedded.queue_url, sweep_seconds=0.1)
        environment = {**os.environ, **settings.environment(), "PYTHONPATH": str(ROOT), "ROOKERY_LOG": "error"}
        worker = subprocess.Popen([sys.executable, "-m", "worker.run"], env=environment, cwd=ROOT)
        store = Store.connect(embedded.store_url)
        bell = Bell(connect(embedded.queue_url), lambda number: None)
        try:
            yield Desk(store, Tokens(store, OPERATOR), bell, JUDGE), worker
        finally:
            worker.send_signal(signal.SIGCONT)
            worker.terminate()
            worker.wait()


def until(holds: Callable[[], Any]) -> None:
    while not holds():
        time.sleep(0.05)


@pytest.mark.server
def test_a_worker_that_is_frozen_is_noticed_while_the_process_is_healthy(
    place: tuple[Desk, subprocess.Popen[bytes]],
) -> None:
    desk, worker = place
    limits = Limits(silent_seconds=1.0)
    until(lambda: asked(desk, limits).status == 200)
    worker.send_signal(signal.SIGSTOP)
    until(lambda: asked(desk, limits).json()["problems"] == ["worker-silent"])
    assert asked(desk, limits).json()["worker_silent_seconds"] > 1
    assert asked(desk, limits, path="/healthz").status == 200
    worker.send_signal(signal.SIGCONT)
    until(lambda: asked(desk, limits).status == 200)


# HEAD


@pytest.mark.parametrize("path", ["", "/view", "/log", "/export", "/bundle", "/checkpoint", "/events", "/none"])
def test_head_is_get_without_the_body(desk: Desk, path: str) -> None:
    desk.create(edition="second-edition", players=3, game="g", seed="5e" * 32)
    adjudicate(desk.store, JUDGE, "g")
    head = asked(desk, method="HEAD", path=f"/v1/games/g{path}")
    assert head.body == b""
    if path == "/events":
        assert (head.status, head.header("content-type")) == (200, "text/event-stream; charset=utf-8")
        return
    full = asked(desk, path=f"/v1/games/g{path}")
    assert full.body and (head.status, head.headers) == (full.status, full.headers)
