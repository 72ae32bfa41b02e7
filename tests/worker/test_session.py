"""Sessions and bells: nothing that was acknowledged waits for ever."""

from __future__ import annotations

import threading

import fakeredis
import pytest

from events.connecting import ANSWER_SECONDS, connect
from events.embedded import Embedded
from events.keys import UNRULED, game_key, list_key
from events.store import Store
from tests import toy
from tests.recording import JUDGE, new_game, submit
from worker import jobs
from worker.adjudicate import Warm
from worker.run import make_worker
from worker.session import Bell, session, sweep
from worker.settings import Settings

JUDGES = {"toy": JUDGE}


class Queue:
    """Stands for RQ's queue: what was put into it."""

    def __init__(self) -> None:
        self.jobs: list[int] = []

    def __call__(self, number: int) -> None:
        self.jobs.append(number)


@pytest.fixture
def queue() -> Queue:
    return Queue()


@pytest.fixture
def bell(queue: Queue) -> Bell:
    return Bell(fakeredis.FakeRedis(), queue)


def _session(store: Store, bell: Bell) -> int:
    return session(store, JUDGES, bell, linger_seconds=0.01).ruled


def test_a_ring_calls_one_session_however_often_it_comes(store: Store, bell: Bell, queue: Queue) -> None:
    new_game(store)
    for _ in range(5):
        bell.ring("toy-1")
    assert queue.jobs == [0]
    done = session(store, JUDGES, bell, linger_seconds=0.01)
    assert (done.ruled, done.drains, done.why) == (1, 1, "silence")


def test_the_next_ring_calls_the_next_session(store: Store, bell: Bell, queue: Queue) -> None:
    new_game(store)
    bell.ring("toy-1")
    assert _session(store, bell) == 1
    submit(store, toy.Bid(by="red", coins=1), "seat-1")
    bell.ring("toy-1")
    assert queue.jobs == [0, 0]
    assert _session(store, bell) == 1


def test_a_ring_while_a_session_ends_calls_another(store: Store, bell: Bell, queue: Queue) -> None:
    new_game(store)

    def ring_and_stop() -> bool:
        bell.ring("toy-1")  # the watch is still held, so this ring alone calls nobody
        return True

    session(store, JUDGES, bell, must_stop=ring_and_stop)
    assert queue.jobs == [0]
    assert _session(store, bell) == 1


def test_one_bell_has_one_session(store: Store, bell: Bell) -> None:
    assert bell.take_watch(0, "somebody")
    assert session(store, JUDGES, bell).why == "watched"


def test_a_session_hands_over_when_others_wait_and_when_it_has_been_long_enough(store: Store, bell: Bell) -> None:
    assert session(store, JUDGES, bell, others_wait=lambda: True).why == "others wait"
    assert session(store, JUDGES, bell, longest_seconds=-1).why == "long enough"


def test_the_sweeper_rings_for_what_a_crash_left_behind(store: Store, bell: Bell, queue: Queue) -> None:
    new_game(store)  # and nobody rang
    assert sweep(store, bell) == 1
    assert queue.jobs == [0]
    assert _session(store, bell) == 1
    assert sweep(store, bell) == 0


def test_a_crash_before_listing_is_found_by_a_thorough_sweep(store: Store, bell: Bell) -> None:
    new_game(store)
    store.client.delete(list_key(UNRULED, "toy-1"))
    assert sweep(store, bell) == 0
    assert sweep(store, bell, thorough=True) == 1


def test_a_session_that_died_is_replaced_once_its_watch_is_over(store: Store, queue: Queue) -> None:
    client = fakeredis.FakeRedis()
    bell = Bell(client, queue)
    new_game(store)
    bell.ring("toy-1")
    bell.take_watch(0, "dead")
    sweep(store, bell)
    assert queue.jobs == [0]
    client.delete("rookery:watch:{0}")  # as if it had run out
    sweep(store, bell)
    assert queue.jobs == [0, 0]


def test_games_come_back_to_their_bell(queue: Queue) -> None:
    bell = Bell(fakeredis.FakeRedis(), queue, bells=4)
    numbers = [bell.number_of(f"game-{n}") for n in range(200)]
    assert numbers == [bell.number_of(f"game-{n}") for n in range(200)]
    assert set(numbers) == {0, 1, 2, 3}


def test_one_game_of_unknown_rules_does_not_hold_up_others(store: Store, bell: Bell) -> None:
    new_game(store, "toy-1")
    store.client.hset(game_key("toy-1", "game"), "rules", "chess")
    new_game(store, "toy-2")
    bell.ring("toy-1")
    bell.ring("toy-2")
    assert _session(store, bell) == 1
    assert store.version("toy-2") == 1


def test_a_session_leaves_snapshots_behind(store: Store, bell: Bell) -> None:
    new_game(store)
    bell.ring("toy-1")
    session(store, JUDGES, bell, warm=Warm(), linger_seconds=0.01)
    found = store.snapshot("toy-1", JUDGE)
    assert found is not None and found.version == 1


def test_settings_travel_through_the_environment() -> None:
    settings = Settings(store_url="redis://a", queue_url="redis://b", rules=("x:y",), bells=3, linger_seconds=0.5)
    assert Settings.from_environment(settings.environment()) == settings
    assert Settings.from_environment({"ROOKERY_STORE": "redis://a"}).queue_url == "redis://a"


@pytest.mark.server
def test_an_idle_worker_waits_for_a_shorter_time_than_its_connections(embedded: Embedded) -> None:
    office = jobs.Office(
        Settings(store_url=embedded.store_url, queue_url=embedded.queue_url, rules=("tests.toy:RULES",))
    )
    assert 0 < make_worker(office).dequeue_timeout < ANSWER_SECONDS
    for one in (office.queue_client, office.store.client):
        one.close()


@pytest.mark.server
def test_rq_hosts_a_session(embedded: Embedded, real_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from rq import SimpleWorker

    settings = Settings(
        store_url=embedded.store_url, queue_url=embedded.queue_url, rules=("tests.toy:RULES",), linger_seconds=0.01
    )
    office = jobs.Office(settings)
    monkeypatch.setattr(jobs, "office", lambda: office)
    client = connect(embedded.queue_url)
    client.flushall()
    new_game(real_store)
    jobs.make_bell(client, engine="toy/1").ring("toy-1")
    worker = SimpleWorker([office.queue], connection=office.queue_client)
    assert threading.current_thread() is threading.main_thread()
    worker.work(burst=True, logging_level="WARNING")
    assert real_store.version("toy-1") == 1
    for one in (client, office.queue_client, office.store.client):
        one.close()
