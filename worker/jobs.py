"""The functions that RQ calls. They only join what the process was told with :mod:`worker.session`."""

from __future__ import annotations

import functools
import os
import signal
import threading
from collections.abc import Mapping
from typing import Any

from rq import Queue

from events.connecting import connect
from events.ruling import Judge
from events.store import Store
from worker.adjudicate import Warm
from worker.budget import Budget
from worker.session import SPENT, Bell, Session, session
from worker.settings import Settings, judges
from worker.trial import Trial

QUEUE = "rookery"

STOP = threading.Event()
"""Set when the process has been asked to end; a session then hands over."""


class Office:
    """What one process works with: connections, rules, and the states it keeps warm from session to session."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.store = Store.connect(settings.store_url)
        self.judges = judges(settings.rules)
        self.queue_client: Any = connect(settings.queue_url)
        engine = engine_of(self.judges)
        self.queue = Queue(queue_of(engine), connection=self.queue_client)
        self.bell = make_bell(
            self.queue_client, bells=settings.bells, watch_seconds=settings.watch_seconds, engine=engine
        )
        self.warm = Warm()
        self.budget = Budget(settings.ruling_seconds)
        self.trial = Trial(settings)


def engine_of(judges: Mapping[str, Judge]) -> str:
    """The engine of a process as a whole: whose bells and queue it uses."""
    return "+".join(judge.engine for _, judge in sorted(judges.items()))


def queue_of(engine: str) -> str:
    """The queue of an engine. A job that a worker of another one took would be lost to the games of this."""
    return f"{QUEUE}:{engine}"


NOTHING = "none"
"""The kind of a key that is not there, as the server calls it."""


def keys_of(queue: Queue) -> dict[str, str]:
    """What RQ keeps under names that are known before, for all queues and for this one, with the kind of each.

    A word that suspends all workers is none of ours: whoever wants them to rest ends them.
    """
    of_all = {"rq:queues": "set", "rq:workers": "set", "rq:suspended": NOTHING}
    own = {queue.key: "list", f"{queue.key}:intermediate": "list", f"rq:workers:{queue.name}": "set"}
    registries = ("canceled", "deferred", "failed", "finished", "ready", "scheduled", "wip")
    return {**of_all, **own, **{f"rq:{one}:{queue.name}": "zset" for one in registries}}


def make_bell(queue_client: Any, *, bells: int = 1, watch_seconds: float = 10.0, engine: str = "") -> Bell:
    """A bell whose sessions are jobs of RQ. For whoever submits, and for workers; of the usual engine without one."""
    engine = engine or engine_of(judges())
    queue = Queue(queue_of(engine), connection=queue_client)

    def enqueue(number: int) -> None:
        # No timeout: RQ's would raise in the middle of a ruling. A session ends by itself.
        queue.enqueue(hold_session, number, job_timeout=-1, result_ttl=0, failure_ttl=3600)

    return Bell(queue_client, enqueue, bells=bells, watch_seconds=watch_seconds, engine=engine)


@functools.cache
def office() -> Office:
    """The office of this process, as its environment describes it."""
    return Office(Settings.from_environment())


def hold_session(number: int) -> str:
    """One session at one bell; why it ended."""
    here = office()
    done: Session = session(
        here.store,
        here.judges,
        here.bell,
        number,
        warm=here.warm,
        linger_seconds=here.settings.linger_seconds,
        longest_seconds=here.settings.longest_seconds,
        lease_seconds=here.settings.lease_seconds,
        must_stop=STOP.is_set,
        others_wait=lambda: bool(here.queue_client.llen(here.queue.key)),
        budget=here.budget,
        trial=here.trial,
    )
    if done.why == SPENT:
        os.kill(os.getpid(), signal.SIGTERM)  # in order, and whoever started us starts another
    return done.why
