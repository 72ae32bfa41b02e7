"""Junk under every key of ours at the queue's server, on a real one: what waits in the store is ruled on anyway."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from redis.exceptions import ResponseError

from api.metrics import _labelled
from events.connecting import connect
from events.embedded import Embedded
from events.store import Store
from tests import toy
from tests.recording import embedded, new_game, real_store, submit  # noqa: F401 - fixtures
from worker import figures, jobs, pulse
from worker.figures import FIGURES
from worker.run import sweep_for_ever
from worker.settings import Settings

Junk = Callable[[Any, str], Any]

KINDS: dict[str, Junk] = {
    "text": lambda client, key: client.set(key, b"\xff junk"),
    "list": lambda client, key: client.rpush(key, b"\xff", b""),
    "hash": lambda client, key: client.hset(key, mapping={b"\xff": b"\xfe", "rulings:a:b:c": "1", "rulings": "x"}),
    "sorted set": lambda client, key: client.zadd(key, {b"\xff": 1e300, b"": -1e300}),
    "set": lambda client, key: client.sadd(key, b"\xff"),
}

JOB_ID = 36
"""RQ names a job by a UUID as text."""

JUNK_JOB = "12345678-1234-1234-1234-123456789012"

BELL_KEYS = ("rookery:bell:{toy/1:0}", "rookery:watch:{toy/1:0}")


@pytest.fixture
def office(embedded: Embedded, real_store: Store) -> Iterator[jobs.Office]:  # noqa: F811
    settings = Settings(
        store_url=embedded.store_url,
        queue_url=embedded.queue_url,
        rules=("tests.toy:RULES",),
        sweep_seconds=0.1,
        linger_seconds=0.01,
    )
    found = jobs.Office(settings)
    found.queue_client.flushall()
    new_game(real_store)
    yield found
    for one in (found.queue_client, found.store.client):
        one.close()


def _keys(office: jobs.Office) -> tuple[str, ...]:
    return (pulse.KEY, figures.KEY, office.queue.key, *BELL_KEYS)


def _keys_of_rq(office: jobs.Office) -> tuple[str, ...]:
    """What RQ keeps under names that are known before; the last ones it goes on without."""
    harmless = ("rq:groups", "rq:rl-keys", "rq:clean_groups", f"rq:clean_registries:{office.queue.name}")
    return (*jobs.keys_of(office.queue), *harmless)


def test_these_are_the_keys_that_a_worker_writes(office: jobs.Office) -> None:
    FIGURES.count("rulings", "command", "accepted")
    office.bell.ring("toy-1")
    pulse.beat(office.queue_client, "a worker")
    FIGURES.tell(office.queue_client)
    written = {key.decode() for key in office.queue_client.scan_iter()}
    own = {key for key in written if not key.startswith("rq:") or key == office.queue.key}
    assert own == set(_keys(office))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", range(5))
def test_a_sweep_goes_on_over_junk(office: jobs.Office, place: int, kind: str) -> None:
    KINDS[kind](office.queue_client, _keys(office)[place])
    FIGURES.count("rulings", "command", "accepted")
    stop = threading.Event()
    sweeping = threading.Thread(target=sweep_for_ever, args=(office, stop), daemon=True)
    sweeping.start()
    try:
        for _ in range(2000):
            with suppress(Exception):  # the junk has not been found yet
                is_alive = pulse.feel(office.queue_client).living(60)
                found = figures.told(office.queue_client)
                is_summoned = any(len(job) == JOB_ID for job in office.queue_client.lrange(office.queue.key, 0, -1))
                if is_alive and is_summoned and found.get(("rulings", "command", "accepted")):
                    break
            threading.Event().wait(0.02)
        else:
            pytest.fail("no sign of life, no figure, or no job")
    finally:
        stop.set()
        sweeping.join(20)
    assert _labelled("rookery_rulings", "x", ("cause", "verdict"), figures.by_words(found, "rulings")).samples


def test_a_sign_of_life_from_the_future_is_none(office: jobs.Office) -> None:
    office.queue_client.zadd(pulse.KEY, {"junk": 1e300, "later": time.time() * 1000 + 3_600_000})
    assert pulse.feel(office.queue_client).living(60) == 0
    pulse.beat(office.queue_client, "a worker")
    assert pulse.feel(office.queue_client).living(60) == 1
    assert office.queue_client.zrange(pulse.KEY, 0, -1) == [b"a worker"]


@pytest.mark.server
@pytest.mark.parametrize("kind", KINDS)
def test_a_worker_process_rules_with_junk_under_every_key(office: jobs.Office, real_store: Store, kind: str) -> None:  # noqa: F811
    submit(real_store, toy.Bid(by="red", coins=1), "seat-1")
    for key in {*_keys(office), *_keys_of_rq(office)}:
        KINDS[kind](office.queue_client, key)
    with worker(office):
        assert real_store.await_version("toy-1", 2, 60.0)


@pytest.mark.server
@pytest.mark.parametrize("kind", KINDS)
def test_junk_that_comes_while_a_worker_works_is_dropped(office: jobs.Office, real_store: Store, kind: str) -> None:  # noqa: F811
    """Also a job that is none: its number stands in the queue, and something else where it should be."""
    with worker(office):
        submit(real_store, toy.Bid(by="red", coins=1), "seat-1")
        assert real_store.await_version("toy-1", 2, 60.0)
        KINDS[kind](office.queue_client, f"rq:job:{JUNK_JOB}")
        for key in {*_keys(office), *_keys_of_rq(office)}:
            with office.queue_client.pipeline() as at_once:  # or the worker writes its own in between
                at_once.delete(key)
                KINDS[kind](at_once, key)
                at_once.execute()
        with suppress(ResponseError):  # the queue itself is of another kind
            office.queue_client.rpush(office.queue.key, JUNK_JOB)
        submit(real_store, toy.Bid(by="green", coins=1), "seat-2")
        assert real_store.await_version("toy-1", 3, 60.0)


@pytest.mark.server
def test_these_are_the_names_that_a_worker_process_uses(office: jobs.Office, real_store: Store) -> None:  # noqa: F811
    """All that it says to the queue's server, but names that are made anew for each worker and job."""
    submit(real_store, toy.Bid(by="red", coins=1), "seat-1")
    said: set[str] = set()
    listener = connect(office.settings.queue_url)
    with listener.monitor() as heard:
        with worker(office):
            assert real_store.await_version("toy-1", 2, 60.0)
        office.queue_client.echo("the end")
        for one in heard.listen():
            if one["command"] == "ECHO the end":
                break
            said |= {word for word in one["command"].split() if word.startswith(("rq:", "rookery:"))}
    listener.close()
    named = {word for word in said if not re.search(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}", word)}
    assert named - {office.queue.name} <= {*_keys(office), *_keys_of_rq(office)}
    assert len(named) > 12


@contextmanager
def worker(office: jobs.Office) -> Iterator[None]:
    """A worker's process, which ends in order when it is told to."""
    process = subprocess.Popen(
        [sys.executable, "-m", "worker.run"],
        env=office.settings.environment() | {"PATH": "/usr/bin:/bin", "ROOKERY_LOG": "error"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        yield
        assert process.poll() is None
    finally:
        process.terminate()
        _, told = process.communicate(timeout=60)
    assert process.returncode == 0, told.decode()
