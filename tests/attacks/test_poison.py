"""Commands that kill whoever rules on them: their games are found and parked, and all others go on."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

import pytest

from api.desk import Desk
from api.readiness import Limits, readiness
from api.tokens import Tokens
from events import codec
from events.embedded import Embedded
from events.envelope import submission
from events.keys import game_key
from events.ruling import Judge
from events.store import Parked, Store
from events.verify import verify_store
from tests import toy
from tests.recording import AT, new_game, submit
from tests.sizes import sized
from tests.worker import poison
from worker.adjudicate import adjudicate
from worker.settings import Settings
from worker.trial import Trial

pytestmark = pytest.mark.server

ROOT = Path(__file__).parents[2]
HOWS: tuple[poison.How, ...] = get_args(poison.How)
ERRORS = {"eats": "MemoryError", "bytes": "MemoryError", "recurses": "RecursionError"}
ERRORS |= {"loops": "OutOfTime", "power": "OutOfTime", "sleeps": "OutOfTime"}
ERRORS |= {"ends": "ProcessEnded", "falls": "ProcessEnded"}


def until(holds: Callable[[], bool], what: Callable[[], object] = lambda: "it never came about") -> None:
    """Wait, for minutes at most, until something comes about."""
    for _ in range(9000):
        if holds():
            return
        time.sleep(0.02)
    raise AssertionError(what())


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    with Embedded(tmp_path_factory.mktemp("poisoned")) as running:
        yield running


@pytest.fixture
def real_store(embedded: Embedded) -> Iterator[Store]:
    store = Store.connect(embedded.store_url)
    store.client.flushall()
    yield store
    store.client.close()


def settings_of(servers: Embedded, bells: int = 1, ruling_seconds: float = 2.0) -> Settings:
    return Settings(
        store_url=servers.store_url,
        queue_url=servers.queue_url,
        rules=("tests.worker.poison:RULES",),
        bells=bells,
        linger_seconds=0.5,
        longest_seconds=3.0,
        lease_seconds=1.0,
        watch_seconds=1.0,
        sweep_seconds=0.2,
        ruling_seconds=ruling_seconds,
        worker_memory_mb=400,
    )


class Workers:
    """Worker processes of a small Rookery, each started again when it ends."""

    def __init__(self, servers: Embedded, log: Path, number: int, ruling_seconds: float) -> None:
        settings = settings_of(servers, number, ruling_seconds)
        self.environment = {**os.environ, **settings.environment(), "PYTHONPATH": str(ROOT), "ROOKERY_LOG": "info"}
        self.log = log
        self.processes = [self._start() for _ in range(number)]
        self.codes: list[int] = []

    def _start(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "worker.run"], cwd=ROOT, env=self.environment, stdout=log, stderr=log
            )

    def tend(self) -> None:
        """Start again what has ended, as ``rookery up`` or a service manager does."""
        for place, process in enumerate(self.processes):
            code = process.poll()
            if code is not None:
                self.codes.append(code)
                self.processes[place] = self._start()

    def until(self, holds: Callable[[], bool]) -> None:
        def tended() -> bool:
            self.tend()
            return holds()

        until(tended, lambda: self.log.read_text()[-4000:])

    def children(self) -> list[int]:
        """The trials that are held now."""
        found = []
        for process in self.processes:
            for path in Path(f"/proc/{process.pid}/task").glob("*/children"):
                try:
                    found += [int(pid) for pid in path.read_text().split()]
                except OSError:
                    continue
        return found

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


@contextmanager
def working(servers: Embedded, directory: Path, number: int = 1, ruling_seconds: float = 2.0) -> Iterator[Workers]:
    workers = Workers(servers, directory / "workers.log", number, ruling_seconds)
    try:
        yield workers
    finally:
        workers.close()


def send_poison(store: Store, game: str, how: poison.How) -> str:
    sent = submission(poison.Poison(how), seat=None, cause="arbiter", at=AT)
    return store.submit(game, sent).inbox


def is_ruled_on(store: Store, game: str) -> bool:
    return store.unruled_tail(game) == 0


def poisoned(store: Store, game: str, how: poison.How) -> str:
    """Send poison between two bids; its number in the inbox."""
    submit(store, toy.Bid(by="red", coins=1), "seat-1", game)
    fatal = send_poison(store, game, how)
    submit(store, toy.Bid(by="green", coins=1), "seat-2", game)
    return fatal


def _never(how: poison.How) -> None:
    os.abort()  # no exception, which would be taken for a mistake of the rules


def check_parked(store: Store, game: str, how: poison.How, fatal: str) -> None:
    parked = store.record(game).parked
    assert parked is not None
    assert (parked.inbox, parked.kind, parked.error) == (fatal, "poison", ERRORS[how])
    assert store.version(game) == 2, "what came before is ruled on"
    assert store.unruled_tail(game) == 2, "the command is kept, and what came behind it"


@pytest.mark.parametrize("how", sized(tuple(how for how in HOWS if how != "loops"), HOWS))
def test_a_trial_finds_what_kills_and_the_operator_who_lets_it_go_on_meets_it_again(
    embedded: Embedded, real_store: Store, monkeypatch: pytest.MonkeyPatch, how: poison.How
) -> None:
    store = real_store
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(poison, "take", _never)  # in this process; a child takes it
    new_game(store, "toy-1")
    fatal = poisoned(store, "toy-1", how)
    store.client.hset(game_key("toy-1", "game"), "unreleased", 2)  # two workers were killed at it
    assert store.suspicious() == ("toy-1",)
    trial = Trial(settings_of(embedded, ruling_seconds=1.0 if how == "sleeps" else 2.0))
    judge = Judge(poison.RULES)
    done = adjudicate(store, judge, "toy-1", trial=trial)
    assert (done.how, done.ruled) == ("parked", 2)
    check_parked(store, "toy-1", how, fatal)
    assert store.suspicious() == ()
    if ERRORS[how] == "OutOfTime":
        return  # once is enough
    store.unpark("toy-1")
    done = adjudicate(store, judge, "toy-1", trial=trial)
    assert (done.how, done.ruled) == ("parked", 0)
    check_parked(store, "toy-1", how, fatal)


def test_whatever_kills_workers_is_parked_and_everybody_else_plays_on(
    embedded: Embedded, real_store: Store, tmp_path: Path
) -> None:
    store = real_store
    hows: tuple[poison.How, ...] = sized(("power", "eats", "ends"), HOWS)
    guilty = {f"guilty-{how}": how for how in hows}
    for game in (*guilty, "innocent"):
        new_game(store, game)
    with working(embedded, tmp_path) as workers:
        workers.until(lambda: all(is_ruled_on(store, game) for game in (*guilty, "innocent")))
        fatal = {game: poisoned(store, game, how) for game, how in guilty.items()}
        bid = 0

        def plays_on() -> bool:
            """The innocent game is sent something, whenever it has been ruled on."""
            nonlocal bid
            if is_ruled_on(store, "innocent"):
                bid += 1
                submit(store, toy.Bid(by="red", coins=bid % 2), "seat-1", "innocent")
            return len(store.parked()) == len(guilty)

        workers.until(plays_on)
        workers.until(lambda: is_ruled_on(store, "innocent"))
        assert bid > 1
        assert store.parked() == tuple(sorted(guilty)), "and nobody else"
        for game, how in guilty.items():
            check_parked(store, game, how, fatal[game])
        ended = len(workers.codes)
        assert ended <= 2 * len(guilty), "each costs two workers at most"
        assert -signal.SIGPROF in workers.codes, "the kernel ended the one that lets no thread run"
        for game in guilty:
            assert store.unpark(game)
        workers.until(lambda: len(store.parked()) == len(guilty))
        assert len(workers.codes) == ended, "to find it again costs no worker"


def test_random_kills_park_nobody(embedded: Embedded, real_store: Store, tmp_path: Path) -> None:
    store = real_store
    chance = random.Random(7)
    games = [f"toy-{number}" for number in range(3)]
    for game in games:
        new_game(store, game, rounds=500)
    sent = dict.fromkeys(games, 1)
    died = 0
    with working(embedded, tmp_path, number=2, ruling_seconds=10.0) as workers:
        for turn in range(sized(15, 300)):
            for game in games:
                for _ in range(3):
                    submit(store, toy.Bid(by="red", coins=1), "seat-1", game)
                    sent[game] += 1
            if turn % 3 == 0:  # as if two workers had been killed at it before
                store.client.hset(game_key(chance.choice(games), "game"), "unreleased", 2)
            time.sleep(chance.uniform(0.0, 0.6))
            for pid in chance.sample(workers.children(), k=min(1, len(workers.children()))):
                try:
                    os.kill(pid, signal.SIGKILL)
                    died += 1
                except ProcessLookupError:
                    continue
            if chance.random() < 0.4:
                chance.choice(workers.processes).kill()
            workers.tend()
        workers.until(lambda: all(is_ruled_on(store, game) for game in games))
    assert store.parked() == ()
    judge = Judge(poison.RULES)
    for game in games:
        assert store.record(game).parked is None
        assert len([codec.entry(one) for one in store.entries(game)]) == sent[game]
        assert verify_store(store, judge, game).is_confirmed


def test_readiness_tells_of_parked_games_and_of_games_on_trial(real_store: Store) -> None:
    store = real_store
    desk = Desk(store, Tokens(store, "operator"), None, Judge(poison.RULES))
    new_game(store, "tried")
    new_game(store, "parked")
    for _ in range(2):
        lease = store.acquire("tried", 60)
        assert lease is not None
        assert readiness(desk, Limits()).games_on_trial == 0, "a lease that is held is no sign"
        store.client.delete(game_key("tried", "lease"))  # it ran out
    held = store.acquire("parked", 60)
    assert held is not None
    store.park(held, Parked(at=AT, inbox="1-0", kind="begin", error="OutOfTime", where="a trial"))
    store.release(held)
    found = readiness(desk, Limits())
    assert (found.games_on_trial, found.parked_games) == (1, 1)
    assert "games" not in str(found.problems), "it is for the operator to know, and no reason to be unready"
