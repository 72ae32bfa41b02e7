"""Kill -9 at random over players, workers and both servers while bots play.

What was acknowledged is exactly what was ruled on, once. ``ROOKERY_KILLS`` sets how many kills (30), and
``ROOKERY_KILLS_SEED`` which ones (1).
"""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from events import codec
from events.embedded import ROLES, Embedded
from events.store import Store
from events.verify import verify_store
from tests.worker.bot import JUDGE, Journal
from worker.settings import Settings

KILLS = int(os.environ.get("ROOKERY_KILLS", "30"))
SEED = int(os.environ.get("ROOKERY_KILLS_SEED", "1"))
ROOT = Path(__file__).parents[2]
BOTS = 2
WORKERS = 2


class Theatre:
    """All processes of a small Rookery, each of which may be killed and is started again."""

    def __init__(self, home: Path, seed: int) -> None:
        self.home = home
        self.seed = seed
        self.chance = random.Random(seed)
        self.servers = Embedded(home / "data").start()
        settings = Settings(
            store_url=self.servers.store_url,
            queue_url=self.servers.queue_url,
            rules=("domain.thrones.ruleset:THRONES",),
            bells=2,
            linger_seconds=0.5,
            longest_seconds=3.0,
            lease_seconds=1.0,
            watch_seconds=1.0,
            sweep_seconds=0.2,
        )
        self.environment = {**os.environ, **settings.environment(), "PYTHONPATH": str(ROOT)}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.killed: Counter[str] = Counter()
        for number in range(WORKERS):
            self.start(f"worker-{number}")
        for number in range(BOTS):
            self.start(f"bot-{number}")

    def start(self, name: str) -> None:
        if name.startswith("worker"):
            command = ["-m", "worker.run"]
        else:
            urls = [self.servers.store_url, self.servers.queue_url]
            command = [
                "-m",
                "tests.worker.bot",
                *urls,
                str(self.journal(name)),
                str(self.seed),
                str(self.home / "stop"),
            ]
        with (self.home / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, *command], cwd=ROOT, env=self.environment, stdout=log, stderr=log
            )

    def journal(self, name: str) -> Path:
        return self.home / f"{name}.journal"

    def kill_one(self) -> None:
        victim = self.chance.choice([*sorted(self.processes), *ROLES])
        self.killed[victim] += 1
        if victim in self.processes:
            self.processes[victim].kill()
            self.processes[victim].wait()
            self.start(victim)
        else:
            os.kill(self.servers.pid(victim), signal.SIGKILL)  # type: ignore[arg-type]  # a role, by its name
            until(lambda: victim in self.servers.revive())

    def check_alive(self) -> None:
        for name, process in self.processes.items():
            assert process.poll() is None, f"{name} ended by itself: {self.last_words(name)}"

    def last_words(self, name: str) -> str:
        return (self.home / f"{name}.log").read_text()[-2000:]

    def finish(self, store: Store) -> None:
        """Let the bots send what they had begun and the workers rule on the rest."""
        (self.home / "stop").touch()
        for name in [name for name in self.processes if name.startswith("bot")]:
            assert self.processes.pop(name).wait() == 0, self.last_words(name)
        until(lambda: not store.unruled())
        for name, process in self.processes.items():
            process.terminate()
            # One that was started a moment ago is told to stop before it listens for that.
            assert process.wait() in (0, -signal.SIGTERM), self.last_words(name)
        self.processes.clear()

    def close(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()
        self.servers.stop()


def until(holds: Callable[[], bool]) -> None:
    """Wait, for two minutes at most, until something comes about."""
    for _ in range(6000):
        if holds():
            return
        time.sleep(0.02)
    raise AssertionError("it never came about")


@pytest.mark.kills
@pytest.mark.server
@pytest.mark.slow
def test_what_was_acknowledged_is_ruled_on_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    theatre = Theatre(tmp_path, SEED)
    try:
        store = Store.connect(theatre.servers.store_url, patience_seconds=5)
        until(lambda: len(store.games()) >= BOTS)
        for _ in range(KILLS):
            time.sleep(theatre.chance.uniform(0.01, 0.5))
            theatre.check_alive()
            theatre.kill_one()
        theatre.finish(store)
        entries, acknowledged = _check(store, [theatre.journal(f"bot-{number}") for number in range(BOTS)])
        store.client.close()
    finally:
        theatre.close()
    with capsys.disabled():
        told = ", ".join(f"{name} {count}" for name, count in sorted(theatre.killed.items()))
        print(f"\n{KILLS} kills ({told}): {acknowledged} acknowledged, {entries} rulings, seed {SEED}")


def _check(store: Store, journals: list[Path]) -> tuple[int, int]:
    tried: dict[str, tuple[str, str, bytes]] = {}
    acks: dict[str, tuple[str, str]] = {}
    for path in journals:
        tried.update(Journal(path).tried)
        for words in map(str.split, path.read_text().splitlines()):
            if words[0] == "ack" and len(words) == 4:
                assert acks.setdefault(words[1], (words[2], words[3])) == (words[2], words[3]), "one key, two receipts"
    assert set(acks) == set(tried), "the bots finished what they had begun"

    entries = 0
    in_inbox: dict[str, str] = {}
    for game in store.games():
        submissions = list(store.submissions(game))
        raws = dict(store.raw_submissions(game))
        for one in submissions:
            assert one.key not in in_inbox, "accepted twice"
            in_inbox[one.key] = one.inbox
            said_game, said_seat, command = tried[one.key]
            assert (game, one.seat or "-", bytes(one.command)) == (said_game, said_seat, command)
            assert acks[one.key] == (one.inbox, hashlib.sha256(raws[one.inbox]).hexdigest())
        answered = [codec.entry(stored).inbox for stored in store.entries(game)]
        assert answered == [one.inbox for one in submissions], "each submission has one ruling, in order"
        assert store.record(game).parked is None
        report = verify_store(store, JUDGE, game)
        assert report.is_confirmed, report.disagreement
        entries += len(answered)
    assert set(in_inbox) == set(acks), "what was acknowledged is there"
    return entries, len(acks)
