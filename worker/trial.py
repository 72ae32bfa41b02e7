"""A trial: what waits in a suspicious game is ruled on in a child process with hard limits, and nothing is kept.

A worker that is killed in a ruling cannot say by which submission. After two leases that ended without release the
next one tries before it rules. The child folds the ledger and rules on what waits, one after the other, telling before
each what it is about to do; what it survives is harmless, and its parent rules on it in the usual way. What it dies
of by a limit of ours, or twice by itself, as the first thing that it does, is what kills. A child that is ended from
outside proves nothing.

The child is a program of its own (``python -m worker.trial``), not a fork: the worker has threads, whose locks a fork
would copy as they happen to be, and it may be large. It is told on its standard input which game, so that no list of
processes tells it. It reads from the store and writes nothing there.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from events.envelope import Stored, Submission
from events.errors import StoreAway, StoreRefuses
from events.past import Record
from events.ruling import Judge
from events.store import Store
from worker.budget import PATIENCE, limit_memory, limit_processor
from worker.settings import Settings, judges
from worker.waiting import next_submissions

MOST = 64
"""How many submissions one child tries at most."""
START_SECONDS = 120.0
"""How long a child may take until it begins to read the ledger, on a machine however busy."""
FOLD_STEP = 100
"""How many entries are folded within one budget."""
OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that somebody else sends; our own limit of time is SIGXCPU."""
DOUBTFUL = (MemoryError, RecursionError)
"""Exceptions that may come of the process in which the rules run rather than of the rules."""


class Death(msgspec.Struct, frozen=True):
    """What a child died of, in the words of :class:`events.store.Parked`; ``inbox`` is empty while it folded."""

    inbox: str
    kind: str
    error: str
    where: str
    is_proven: bool
    """Whether a limit of ours ended it; otherwise once is chance."""


class Found(msgspec.Struct, frozen=True):
    """How many submissions from the first waiting one on are harmless, and why it is not known of more."""

    why: Literal["done", "died", "undecided", "stopped"]
    harmless: int = 0
    death: Death | None = None


class Trial:
    """Holds trials for one worker process."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def hold(self, game: str, must_stop: Callable[[], bool], hold_on: Callable[[], None]) -> Found:
        """Start a child and see what becomes of it. ``hold_on`` is called now and then."""
        child = subprocess.Popen(
            [sys.executable, "-m", "worker.trial"],
            env={**os.environ, **self.settings.environment()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a traceback would quote what a command says
        )
        try:
            return _Watched(child, self.settings).see(game, must_stop, hold_on)
        finally:
            if child.poll() is None:
                child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()


class _Watched:
    """One child, as its parent sees it."""

    def __init__(self, child: subprocess.Popen[bytes], settings: Settings) -> None:
        self.child = child
        self.settings = settings
        self.harmless = 0
        self.inbox = ""
        self.kind = ""
        self.is_ready = False
        self.found: Found | None = None

    def see(self, game: str, must_stop: Callable[[], bool], hold_on: Callable[[], None]) -> Found:
        assert self.child.stdin is not None and self.child.stdout is not None, "they are pipes"
        with suppress(BrokenPipeError):
            self.child.stdin.write(game.encode() + b"\n")
            self.child.stdin.flush()
        heard = time.monotonic()
        rest = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self.child.stdout, selectors.EVENT_READ)
            while self.found is None:
                hold_on()
                if must_stop():
                    return Found("stopped")
                if selector.select(0.1):
                    said = os.read(self.child.stdout.fileno(), 65536)
                    if not said:
                        return self._ended(self.child.wait())
                    heard = time.monotonic()
                    *lines, rest = (rest + said).split(b"\n")
                    for line in lines:
                        self._hear(*msgspec.json.decode(line, type=list[str]))
                elif time.monotonic() - heard > self._patience_seconds():
                    self.child.kill()
                    return self._died("OutOfTime", "a trial that waited without working", is_proven=False)
        return self.found

    def _patience_seconds(self) -> float:
        return PATIENCE * self.settings.ruling_seconds if self.is_ready else START_SECONDS

    def _hear(self, word: str, *more: str) -> None:
        match word:
            case "ready":
                self.is_ready = True
            case "trying":
                self.inbox, self.kind = more[0], "unreadable"
            case "kind":
                self.kind = more[0]
            case "harmless":
                self.harmless += 1
            case "done":
                self.found = Found("done", self.harmless)
            case "away":
                self.found = Found("undecided", self.harmless)
            case "dies":
                self.found = self._died(more[0], more[1], is_proven=True)

    def _ended(self, code: int) -> Found:
        """It has ended without having come to an end."""
        if not self.is_ready or -code in OUTSIDE:
            return Found("undecided", self.harmless)
        if code == -signal.SIGXCPU:
            said = f"a trial, at {self.settings.ruling_seconds:g} seconds of processor time"
            return self._died("OutOfTime", said, is_proven=True)
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return self._died("ProcessEnded", f"a trial, with {how}", is_proven=False)

    def _died(self, error: str, where: str, *, is_proven: bool) -> Found:
        return Found("died", self.harmless, Death(self.inbox, self.kind, error, where, is_proven))


def place_of(error: BaseException) -> str:
    """Where in the code an exception was raised."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    if at is None:
        return "unknown"
    code = at.tb_frame.f_code
    return f"{code.co_filename}:{at.tb_lineno} in {code.co_name}"


# The child


def _say(*words: str) -> None:
    os.write(1, msgspec.json.encode(words) + b"\n")


def _within_limits(settings: Settings, work: Callable[[], None]) -> None:
    """Do a piece of work within the limits, or end."""
    limit_processor(settings.ruling_seconds)
    try:
        work()
    except DOUBTFUL as error:
        limit_memory(0)  # so that it can be told
        traceback.clear_frames(error.__traceback__)
        _say("dies", type(error).__name__, place_of(error))
        sys.exit()  # nothing is said after that


def _try(settings: Settings, store: Store, judge: Judge, game: str) -> None:
    line = judge.begin()

    def fold() -> None:
        nonlocal line
        line = store.snapshot(game, judge) or line

    _within_limits(settings, fold)
    newest = store.version(game)
    while line.version < newest:

        def step() -> None:
            nonlocal line
            line = store.line(game, judge, at=min(newest, line.version + FOLD_STEP), warm=line)

        _within_limits(settings, step)
    pepper = store.pepper(game)
    new: list[Stored] = []

    def read(after: int, upto: int) -> Iterator[Stored]:
        if after < newest:
            yield from store.entries(game, after, min(upto, newest) - after)
        yield from new[max(0, after - newest) : max(0, upto - newest)]

    past = Record(judge, read)
    for submission in next_submissions(store, judge, game, line, MOST, lambda: None):
        _say("trying", submission.inbox)

        def rule(submission: Submission = submission) -> None:
            nonlocal line
            kind = kind_of(judge, submission)
            _say("kind", kind)
            past.version = line.version
            stored, line, _ = judge.rule(line, submission, pepper, past=past)
            new.append(stored)

        _within_limits(settings, rule)
        _say("harmless")


def kind_of(judge: Judge, submission: Submission) -> str:
    """The kind of a submission's command."""
    try:
        command = judge.codec.command(bytes(submission.command), submission.v)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return "unreadable"
    return str(command.__struct_config__.tag)


def _child() -> None:
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(
            "1000"
        )  # when the machine itself lacks memory, this process goes first
    settings = Settings.from_environment()
    game = sys.stdin.readline().strip()
    store = Store.connect(settings.store_url)
    judge = judges(settings.rules)[store.record(game).rules]
    limit_memory(settings.worker_memory_mb)
    _say("ready")
    try:
        _try(settings, store, judge, game)
    except (StoreAway, StoreRefuses):
        _say("away")
        return
    except DOUBTFUL:
        os._exit(1)
    except Exception:  # noqa: BLE001 - a mistake of the rules kills nobody: whoever rules meets it, too, and parks
        _say("harmless")
    _say("done")


if __name__ == "__main__":
    _child()
