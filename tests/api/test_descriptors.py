"""Whatever is tried again and again against a server that is dead or hangs leaves no descriptor behind."""

from __future__ import annotations

import resource
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from api.listening import RESERVE, Limits, fitting, raise_descriptors
from api.running import BadAddress, PortTaken
from api.serve import Server, Worker, _listening
from events import embedded as embedding
from events.connecting import connect
from events.embedded import Embedded, EmbeddedError, External
from events.errors import StoreAway
from events.heads import File, HeadsUnusable
from events.health import Health
from events.losses import Head
from events.store import Store
from worker import jobs, run
from worker.settings import Settings

TIMES = 20


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.fixture
def hanging() -> Iterator[int]:
    """A port that takes connections and answers nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as one:
        yield int(one.getsockname()[1])


@pytest.fixture
def dead() -> int:
    """A port where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])


def impatient(url: str) -> Any:
    return connect(url, patience_seconds=0.1, answer_seconds=0.05)


def tried(again: Callable[[], object]) -> None:
    """Run something until it has what it keeps, then many times more: as many descriptors as before."""
    for _ in range(2):
        again()
    before = descriptors()
    for _ in range(TIMES):
        again()
    assert descriptors() <= before


@pytest.fixture(params=["dead", "hanging"])
def url(request: pytest.FixtureRequest, dead: int, hanging: int) -> str:
    return f"redis://127.0.0.1:{dead if request.param == 'dead' else hanging}"


def test_a_store_that_is_asked_again(url: str) -> None:
    store = Store(impatient(url), lambda: impatient(url))
    health = Health(lambda: impatient(url), clock=iter(range(10_000)).__next__)

    def again() -> None:
        with pytest.raises(StoreAway):
            store.ping()
        assert health.trouble() == "store-away"

    tried(again)


def test_external_servers_that_are_tended(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "connect", lambda url, **_: impatient(url))
    monkeypatch.setattr(embedding, "ASKED_EVERY_SECONDS", 0)
    servers = External(tmp_path, url, url)
    assert [sentence for sentence in servers.tend().problems if "it does not answer" in sentence]
    tried(servers.tend)


def test_an_up_that_finds_no_store(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "connect", lambda url: Store(impatient(url)))

    def again() -> None:
        with pytest.raises(StoreAway):
            Server(tmp_path / "data", store_url=url).start()

    tried(again)


def test_a_worker_that_waits_for_its_stores(
    url: str, hanging: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop of its begin, and the one that makes RQ's worker anew."""
    here = jobs.Office(Settings(store_url=url, queue_url=url, data=str(tmp_path)))
    here.store = Store(impatient(url))
    here.queue_client = impatient(url)
    here.queue.connection = here.queue_client
    is_dead = not url.endswith(f":{hanging}")
    turns: list[int] = []

    class Counted(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            turns.append(descriptors())
            if len(turns) >= TIMES:
                self.set()
            return True

    monkeypatch.setattr(jobs, "STOP", Counted())
    assert run.begin(here) is None
    assert len(turns) == TIMES
    assert turns[-1] <= turns[2]

    def again() -> None:
        with pytest.raises(Exception, match=r"(?i)connect|timeout"):
            run.make_worker(here).work(burst=True)

    if is_dead:  # RQ has its own patience with one that hangs
        tried(again)


def test_embedded_servers_that_do_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A binary that ends at once: each start is refused, and so is each later look."""
    monkeypatch.setattr(embedding, "get_binary_path", lambda: "/bin/false")

    def again() -> None:
        with pytest.raises(EmbeddedError):
            Embedded(tmp_path, patience_seconds=5).start()

    tried(again)


def test_embedded_servers_that_die_and_are_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "ASKED_EVERY_SECONDS", 0)
    monkeypatch.setattr(embedding._Watched, "paused", lambda self, now: None)
    with Embedded(tmp_path, patience_seconds=10) as servers:

        def again() -> None:
            process = servers._processes["queue"]
            process.kill()
            process.wait()
            assert servers.tend().started == ("queue",)

        tried(again)
        monkeypatch.setattr(embedding, "get_binary_path", lambda: "/bin/false")
        servers._processes["queue"].kill()
        servers._processes["queue"].wait()
        tried(servers.tend)
        monkeypatch.undo()
        servers.revive()


def test_workers_that_die_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    worker = Worker(0, {})
    worker.see_to_it()

    def again() -> None:
        assert worker.process is not None
        worker.process.wait()
        worker._pause_seconds = 0
        assert worker.see_to_it()

    tried(again)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")

    def in_vain() -> None:
        with suppress(OSError):
            assert worker.process is not None
            worker.process.wait()
            worker._pause_seconds = 0
            worker.see_to_it()

    tried(in_vain)
    worker.stop(time.monotonic() + 5)


def test_a_port_that_is_taken_and_an_address_that_is_not_ours(hanging: int) -> None:
    def again() -> None:
        with pytest.raises(PortTaken):
            _listening("127.0.0.1", hanging)
        for host, port in (("203.0.113.7", 0), ("a..b", 0), ("127.0.0.1", 2**70)):
            with pytest.raises(BadAddress):
                _listening(host, port)

    tried(again)


def test_a_file_of_heads_that_cannot_be_used(tmp_path: Path) -> None:
    file = File(tmp_path)
    file.path.write_bytes(b"no database" * 1000)

    def again() -> None:
        with pytest.raises(HeadsUnusable):
            file.write("store", {"g": Head(inbox=1, submission="x")})

    tried(again)


def test_a_want_of_descriptors_does_not_end_the_look_after_everything(tmp_path: Path) -> None:
    with Embedded(tmp_path) as servers:
        server = Server(tmp_path)
        server.stores = servers
        server._thread = threading.current_thread()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors() - 1, hard))
        try:
            for _ in range(TIMES):
                servers._tended["store"].asked = servers._tended["queue"].asked = 0
                server.look()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        server.look()
        assert Store.connect(servers.store_url).ping() is None


def test_the_soft_limit_is_raised_and_a_reserve_is_kept() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 1024), hard))
        now = raise_descriptors()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == now >= min(soft, 1024)
        assert now == (min(hard, 65_536) if hard > 0 else 65_536)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert fitting(Limits(connections=1000), 1024).connections == 1024 - RESERVE
    assert fitting(Limits(connections=1000), 65_536).connections == 1000
    assert fitting(Limits(connections=1000), 100).connections == 16
