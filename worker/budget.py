"""What one ruling may cost in the process that rules: time, beyond which the process ends, and memory.

Rulings take milliseconds. One that takes seconds has lost its way, and perhaps in a single step of the interpreter that
lets no other thread run and no signal be handled in Python (a power of large numbers). So the kernel counts the time: a
timer of this process's processor time, with the signal's own default, which is the end. It is processor time because a
machine that stands still, or a store that takes long to answer, is nobody's fault. For what waits without working a
thread counts time as it passes.

The lease is not given back then, so the next one counts it; see :mod:`worker.trial`.
"""

from __future__ import annotations

import faulthandler
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from worker.log import logger

BEYOND = 5
"""The exit code of a process whose ruling waited for too long."""
PATIENCE = 3
"""How many times as long a ruling may take by the clock as by the processor."""


class _Ruling(msgspec.Struct, frozen=True):
    game: str
    inbox: str
    since: float


class Budget:
    """How much processor time a ruling may take. Zero: nothing is counted."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self._now: _Ruling | None = None

    @contextmanager
    def of(self, game: str, inbox: str) -> Iterator[None]:
        """Count the time of one ruling, or of one step of reading the ledger."""
        if not self.seconds:
            yield
            return
        self._now = _Ruling(game, inbox, time.monotonic())
        signal.setitimer(signal.ITIMER_PROF, self.seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            self._now = None

    def watch(self) -> None:
        """Have a thread look after it: it tells of a ruling that takes long, and ends the process when it waits."""
        # The place in the code is told before the end, without values.
        faulthandler.register(signal.SIGPROF, file=2, all_threads=True, chain=True)
        threading.Thread(target=self._watch, daemon=True, name="budget").start()

    def _watch(self) -> None:
        told: _Ruling | None = None
        while True:
            time.sleep(min(1.0, self.seconds / 4))
            now = self._now
            if now is None:
                continue
            took = time.monotonic() - now.since
            if took > self.seconds / 2 and told is not now:
                told = now
                logger().warning("ruling-takes-long", game=now.game, inbox=now.inbox, seconds=round(took, 1))
            if took > self.seconds * PATIENCE and self._now is now:
                logger().error("ruling-beyond-budget", game=now.game, inbox=now.inbox, seconds=round(took, 1))
                sys.stderr.flush()
                os._exit(BEYOND)


UNLIMITED = Budget()


def limit_memory(megabytes: int) -> None:
    """Have this process be refused more memory than that, rather than the machine. Zero: no limit but the given one."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = megabytes << 20 if megabytes else hard
    resource.setrlimit(resource.RLIMIT_DATA, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def limit_processor(seconds: float) -> None:
    """Have the kernel end this process when it has worked for so long from now on.

    The signal's default would also write its memory to a file, and there are secrets in it.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    spent = resource.getrusage(resource.RUSAGE_SELF)
    until = int(spent.ru_utime + spent.ru_stime + seconds + 1)  # the kernel counts whole seconds
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (until, hard))


def words_for(code: int) -> str:
    """What the exit code of a worker says, for a log; "" where it says nothing more."""
    if code == -signal.SIGPROF:
        return "a ruling took more processor time than ROOKERY_RULING_SECONDS allows"
    if code == BEYOND:
        return "a ruling waited for too long"
    return ""
