"""The worker process: an RQ worker that stays with its jobs, and a sweeper beside it.

``python -m worker.run`` with the environment of :mod:`worker.settings`. It outlives both servers going away.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from rq import SimpleWorker

from events.durability import StoreForgets
from events.errors import RecordError, StoreAway
from events.heads import Heads, HeadsUnusable
from events.layout import LayoutConflict, LayoutNewer
from events.store import LONGEST_WAIT_SECONDS
from worker import figures, jobs, log, pulse
from worker.adjudicate import Warm
from worker.budget import limit_memory
from worker.figures import FIGURES
from worker.remembering import promised, remembering
from worker.session import sweep
from worker.settings import BadSetting, check, setting
from worker.sharing import see_to_shared

RQ_MARGIN = 15
"""RQ waits for a job as long as its worker's time to live less so many seconds."""
REFUSES = 4
"""The exit code of a worker whose store promises too little."""
THOROUGH_EVERY = 12
"""One sweep in so many looks at all games."""


class SessionWorker(SimpleWorker):
    """Runs jobs in its own process, so that states stay warm, and tells the session when it shall end."""

    def request_stop(self, signum: Any, frame: Any) -> None:
        jobs.STOP.set()
        super().request_stop(signum, frame)  # type: ignore[no-untyped-call]  # RQ leaves it untyped


def tidy(here: jobs.Office) -> tuple[str, ...]:
    """Drop what stands under our keys at the queue's server and is not what we write there; the names of these keys.

    That server may forget everything: the durable store lists what waits, and a sweep rings for it again.
    """
    kinds = {pulse.KEY: "zset", figures.KEY: "hash", **jobs.keys_of(here.queue), **here.bell.lists}
    with here.queue_client.pipeline(transaction=False) as asked:
        for key in kinds:
            asked.type(key)
        found = [kind.decode() for kind in asked.execute()]
    wrong = [key for key, kind in zip(kinds, found, strict=True) if kind not in (kinds[key], jobs.NOTHING)]
    for key in wrong:
        here.queue_client.delete(key)
    return (*wrong, *here.bell.drop_endless_watches())


def sweep_for_ever(here: jobs.Office, stop: threading.Event) -> None:
    """Ring for what a crash left behind and see to shared seeds, every few seconds until the process ends.

    Each thing is tried by itself: what is damaged at the queue's server, or in one game, keeps no other from its turn.
    """
    turn = 0
    name = f"{socket.gethostname()}:{os.getpid()}"
    tables = Warm()

    def tidy_up() -> None:
        for key in tidy(here):
            log.logger().warning("queue-key-dropped", key=key)

    def ring() -> None:
        rung = sweep(here.store, here.bell, thorough=turn % THOROUGH_EVERY == 0)
        if rung:
            log.logger().info("swept", rung=rung)

    tasks: dict[str, Callable[[], Any]] = {
        "tidy": tidy_up,
        "heartbeat": lambda: pulse.beat(here.queue_client, name),
        "figures": lambda: FIGURES.tell(here.queue_client),
        "sweep": ring,
        "shared-seeds": lambda: see_to_shared(here.store, here.judges, here.bell.ring, warm=tables),
    }
    while not stop.wait(here.settings.sweep_seconds if turn else 0):
        for task, do in tasks.items():
            try:
                do()
            except Exception as error:  # noqa: BLE001 - a server is away, the next round will tell
                log.logger().warning("sweep-failed", task=task, error=type(error).__name__)
        turn += 1
    with suppress(Exception):  # its server may be gone before us
        pulse.leave(here.queue_client, name)


def begin(here: jobs.Office) -> Heads | None:
    """Ask the store what it promises and compare what was acknowledged with it, as soon as it answers.

    Brings an older store to the layout of this version. Raises StoreForgets, LayoutNewer, LayoutConflict.
    """
    while not jobs.STOP.is_set():
        try:
            promised(here.store, here.settings.store_may)
            if not here.settings.data:
                log.logger().info("heads-not-kept", why="ROOKERY_DATA names no data directory")
                return None
            heads = remembering(Path(here.settings.data), here.store, here.settings.store_url)
            heads.start()
            return heads
        except StoreAway as away:
            log.logger().warning("store-away", detail=str(away))
            jobs.STOP.wait(1.0)
    return None


def make_worker(here: jobs.Office) -> SessionWorker:
    """RQ's worker. It waits for a job for a shorter time than our connections wait for any answer.

    A longer wait would be taken for a hanging server: an idle worker would complain, and stay away for up to a minute.
    """
    return SessionWorker([here.queue], connection=here.queue_client, worker_ttl=RQ_MARGIN + int(LONGEST_WAIT_SECONDS))


def work(here: jobs.Office | None = None) -> None:
    """Work until the process is told to stop."""
    here = here or jobs.office()
    limit_memory(here.settings.worker_memory_mb)
    if here.settings.ruling_seconds:
        here.budget.watch()
    _stop_on_signals()
    heads = begin(here)
    sweeper = threading.Thread(target=sweep_for_ever, args=(here, jobs.STOP), daemon=True, name="sweeper")
    sweeper.start()
    while not jobs.STOP.is_set():
        try:
            worker = make_worker(here)
            worker.work(logging_level="WARNING")  # returns when told to stop, and when the queue's server is away
        except RecordError:
            raise
        except Exception as error:  # noqa: BLE001 - the queue's server is away; it will be back
            log.logger().warning("queue-away", error=type(error).__name__)
        _stop_on_signals()  # RQ's own handlers end with its worker
        jobs.STOP.wait(0.2)
    if heads is not None:
        heads.close()
    with suppress(Exception):  # its server may be gone before us
        FIGURES.tell(here.queue_client)
    log.logger().info("worker-ended")


def _stop_on_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: jobs.STOP.set())


def end_with_parent() -> None:
    """End when the process at the other end of our standard input does, however it ends."""
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    try:
        _main()
    except BadSetting as error:
        print(error, file=sys.stderr)
        sys.exit(2)


def _main() -> None:
    _stop_on_signals()
    check()
    log.configure(setting("ROOKERY_LOG") or "info")
    if setting("ROOKERY_TIED"):
        threading.Thread(target=end_with_parent, daemon=True, name="parent").start()
    log.logger().info("worker-started", pid=os.getpid())
    try:
        work()
    except (StoreForgets, HeadsUnusable, LayoutNewer, LayoutConflict) as error:
        log.logger().error("worker-refuses", why=str(error))
        sys.exit(REFUSES)


if __name__ == "__main__":
    main()
