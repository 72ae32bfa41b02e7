"""Rulings apart: what HTTP rules on behalf of a request is ruled on in child processes with hard limits.

Plans of rewinds and corrections, acts of organiser and arbiters before they are taken in, and the first ruling on a
game or a fork that somebody wants to make, run the rules before any worker has. Whatever they run into there, time
without end or memory without measure, ends the child and is an answer to whoever asked; the process that answers all
others does not notice.

A child (``python -m api.apart``) is told one question on each line of its standard input and answers with one line. It
reads from the store and writes nothing there, keeps nothing between two questions, and ends with its parent. The first
is started with the first question and the next waits in it, so a question costs milliseconds and a start of Python only
after a death.
"""

from __future__ import annotations

import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from api.tokens import Tokens
from domain.kernel.arbiter import Amend, Correct, Rewind, RuleOnAppeal
from domain.kernel.refusal import Refusal
from domain.kernel.ruleset import EndlessRuling
from domain.thrones.language.start import Gather, Start
from domain.thrones.ruleset import THRONES
from events.errors import KeptDamaged, RecordDamaged, StoreAway, StoreRefuses
from events.store import Store
from worker.budget import PATIENCE, limit_memory, limit_processor
from worker.log import logger
from worker.settings import Settings
from worker.trial import DOUBTFUL, OUTSIDE, START_SECONDS, place_of

if TYPE_CHECKING:
    from api.desk import Desk

CHILDREN = 2
"""As many rulings apart at once, in one child each."""
MOST_WAITING = 6
"""Who would be one too many does not wait: threads answer everybody else, too."""
MOST_OF_A_GAME = 4
"""What is asked about one game at once, so that nobody there keeps the others from planning and acting."""
MOST_ANSWER_BYTES = 16 << 20
"""What a child may answer. A plan of a long game has about one million bytes."""
MOST_TRIES = 2
"""A child that is ended from outside proves nothing about what it was asked."""


class BeyondBudget(Exception):
    """A ruling needs more time or memory than one may take; asked again, it would again."""

    def __init__(self) -> None:
        super().__init__("This takes more time or memory than one ruling may take here. Nothing was recorded.")


class BrokeOff(Exception):
    """Nothing is known of a ruling: what rules was ended from outside, cannot be started, waits, or is at work."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"{detail}. Try again in a moment.")


# What is asked and answered


class AskedRewind(msgspec.Struct, frozen=True, tag="rewind"):
    """A plan, or null where it would tell of what is sealed; see :class:`api.bench.Bench`."""

    game: str
    command: Rewind
    redraw: bool
    opened: bool


class AskedCorrection(msgspec.Struct, frozen=True, tag="correction"):
    game: str
    command: Correct


class AskedAct(msgspec.Struct, frozen=True, tag="act"):
    """Whether an act comes to an end, be it in a refusal; null."""

    game: str
    command: Rewind | Correct | RuleOnAppeal | Amend


class AskedStart(msgspec.Struct, frozen=True, tag="start"):
    """Whether a game can begin so; null."""

    command: Start | Gather

    @property
    def game(self) -> str:
        """The game that is forked, or none."""
        origin = self.command.origin if isinstance(self.command, Start) else None
        return "" if origin is None else origin.game


Asked = AskedRewind | AskedCorrection | AskedAct | AskedStart


class _Made(msgspec.Struct, frozen=True, tag="made"):
    answer: msgspec.Raw


class _Refused(msgspec.Struct, frozen=True, tag="refused"):
    code: str
    rules: tuple[str, ...]
    params: dict[str, Any]
    unknown: bool


class _Beyond(msgspec.Struct, frozen=True, tag="beyond"):
    """It came to a limit by itself and ends."""


class _Failed(msgspec.Struct, frozen=True, tag="failed"):
    """A mistake of ours or trouble of the store: its class, and its place in the program."""

    error: str
    where: str = ""
    seq: int = 0
    why: str = ""


_Answer = _Made | _Refused | _Beyond | _Failed


class Apart:
    """A few children, started when they are needed. ``seconds`` of processor and ``megabytes`` bind a ruling."""

    def __init__(self, store_url: str, seconds: float, megabytes: int, program: str = "api.apart") -> None:
        self.patience_seconds = PATIENCE * (seconds + 1) if seconds else None
        self._command = [sys.executable, "-m", program]
        self._environment = {
            **os.environ,
            "ROOKERY_STORE": store_url,
            "ROOKERY_RULING_SECONDS": str(seconds),
            "ROOKERY_WORKER_MEMORY_MB": str(megabytes),
        }
        self._idle: queue.LifoQueue[_Child | None] = queue.LifoQueue()  # the last one used is asked first
        for _ in range(CHILDREN):
            self._idle.put(None)
        self._inside: Counter[str] = Counter()
        """What is asked now, by game."""
        self._counting = threading.Lock()
        self._children: set[_Child] = set()
        self._is_closed = False

    def ask(self, asked: Asked, kind: Any) -> Any:
        """The answer of a child, of a kind. Raises Refusal, RecordDamaged, StoreAway, BeyondBudget, BrokeOff."""
        question = msgspec.json.encode(asked) + b"\n"
        with self._counted(asked.game):
            for _ in range(MOST_TRIES):
                answer = self._asked(question)
                if answer is not None:
                    return _told(answer, kind)
        raise BrokeOff("The ruling was broken off")

    @contextmanager
    def _counted(self, game: str) -> Iterator[None]:
        with self._counting:
            if self._inside.total() >= CHILDREN + MOST_WAITING:
                raise BrokeOff("This server is at work on as many plans and acts as it can be")
            if game and self._inside[game] >= MOST_OF_A_GAME:
                raise BrokeOff("This server is at work on as many plans and acts of this game as it can be")
            self._inside[game] += 1
        try:
            yield
        finally:
            with self._counting:
                self._inside[game] -= 1
                self._inside += Counter()  # what is at nothing is not kept

    def _asked(self, question: bytes) -> _Answer | None:
        """What a child says; None of one that was ended from outside."""
        child = self._idle.get()
        is_alive = False
        try:
            if self._is_closed:
                return None
            if child is None or child.process.poll() is not None:
                self._end(child)
                child = None
                child = _Child(self._command, self._environment)
                self._children.add(child)
            answer = child.answer(question, START_SECONDS, self.patience_seconds)
            is_alive = isinstance(answer, _Made | _Refused | _Failed)
            if isinstance(answer, _Beyond):
                logger().warning("ruling-apart-beyond-budget")
            if isinstance(answer, _Failed):
                logger().error("ruling-apart-failed", error=answer.error, where=answer.where)
            return answer
        except OSError as error:
            raise BrokeOff(f"No process can be started to rule ({error.strerror})") from error
        finally:
            if not is_alive or self._is_closed:
                self._end(child)
                child = None
            self._idle.put(child)

    def _end(self, child: _Child | None) -> None:
        if child is not None:
            child.end()
            self._children.discard(child)

    def pids(self) -> tuple[int, ...]:
        """The children, whether they wait or work."""
        return tuple(sorted(child.process.pid for child in self._children.copy()))

    def close(self) -> None:
        """End them all. Whoever waits for one is told that it broke off."""
        self._is_closed = True
        for child in self._children.copy():
            child.process.kill()
        with suppress(queue.Empty):
            for _ in range(CHILDREN):  # those at work are ended by whoever asked them
                self._end(self._idle.get_nowait())
        for _ in range(CHILDREN):
            self._idle.put(None)


class _Child:
    """One child, as its parent sees it."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a traceback would quote what a command says
            start_new_session=True,  # so that Ctrl-C meets the parent
        )
        self.is_ready = False

    def answer(self, question: bytes, start_seconds: float, seconds: float | None) -> _Answer | None:
        """What it says to a question; None if it was ended from outside before it said anything."""
        if not self.is_ready:
            if self._line(start_seconds) is None:
                return None
            self.is_ready = True
        said = self._line(seconds, question)
        if said is not None:
            return msgspec.json.decode(said, type=_Answer) if len(said) <= MOST_ANSWER_BYTES else _Beyond()
        return None if -self.process.wait() in OUTSIDE else _Beyond()

    def _line(self, seconds: float | None, say: bytes = b"") -> bytes | None:
        """What it says until the end of a line, after it has been told something; None if it has ended without.

        More than it may say is not read to the end. It is told piece by piece as it listens: whoever wrote all at once
        would wait for ever for one that does not. Raises BrokeOff for one that waits without working.
        """
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None and stdout is not None, "they are pipes"
        os.set_blocking(stdin.fileno(), False)
        until = None if seconds is None else time.monotonic() + seconds
        said = bytearray()
        watched = select.poll()
        watched.register(stdout, select.POLLIN)
        if say:
            watched.register(stdin, select.POLLOUT)
        while True:
            left = None if until is None else (until - time.monotonic()) * 1000
            if left is not None and left <= 0:
                raise BrokeOff("The ruling took too long")
            for number, _ in watched.poll(left):
                if number == stdout.fileno():
                    piece = os.read(number, 1 << 16)
                    said += piece
                    if said.endswith(b"\n") or len(said) > MOST_ANSWER_BYTES:
                        return bytes(said)
                    if not piece:
                        return None
                else:
                    try:
                        say = say[os.write(number, say) :]
                    except BrokenPipeError:
                        say = b""
                    if not say:
                        watched.unregister(number)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def _told(answer: _Answer, kind: Any) -> Any:
    match answer:
        case _Made():
            return msgspec.json.decode(answer.answer, type=kind)
        case _Refused():
            raise Refusal(answer.code, answer.rules, unknown=answer.unknown, **answer.params)
        case _Beyond():
            raise BeyondBudget
        case _Failed("StoreAway"):
            raise StoreAway(answer.why)
        case _Failed("StoreRefuses"):
            raise StoreRefuses(answer.why)
        case _Failed("KeptDamaged"):
            raise KeptDamaged(answer.why)
        case _Failed("RecordDamaged"):
            raise RecordDamaged(answer.seq, answer.why)
        case _:
            raise RuntimeError(f"{answer.error} in a ruling apart, {answer.where}")


# The child


def _desk(store: Store) -> Desk:
    from api.desk import Desk  # it knows of Apart

    return Desk(store, Tokens(store), None)


def rule(store: Store, asked: Asked) -> Any:
    """The answer to a question. Raises what the rules raise."""
    from api.bench import Bench

    if isinstance(asked, AskedStart):
        THRONES.decide(THRONES.blank(), asked.command)
        return None
    # A desk of its own for each question: what is kept for another one must not count against this one's limits.
    bench = Bench(_desk(store), lambda receipt: None)
    if isinstance(asked, AskedAct):
        return bench.tried(asked.game, asked.command)
    if isinstance(asked, AskedRewind):
        return bench.planned_rewind(asked.game, asked.command, asked.redraw, opened=asked.opened)
    return bench.planned_correction(asked.game, asked.command)


def answered(store: Store, asked: Asked) -> _Answer:
    try:
        return _Made(msgspec.Raw(msgspec.json.encode(rule(store, asked))))
    except Refusal as refusal:
        return _Refused(refusal.code, refusal.rules, refusal.params, refusal.unknown)
    except (*DOUBTFUL, EndlessRuling):
        return _Beyond()
    except KeptDamaged as error:
        return _Failed("KeptDamaged", why=error.what)
    except RecordDamaged as error:
        return _Failed("RecordDamaged", seq=error.seq, why=error.why)
    except (StoreAway, StoreRefuses) as error:
        return _Failed(type(error).__name__, why=str(error))
    except Exception as error:  # noqa: BLE001 - a mistake of ours; what it says may be somebody's secret
        return _Failed(type(error).__name__, place_of(error))


@contextmanager
def _within_limits(settings: Settings) -> Iterator[None]:
    limit_memory(settings.worker_memory_mb)
    if settings.ruling_seconds:
        limit_processor(settings.ruling_seconds)
    try:
        yield
    finally:
        limit_memory(0)  # so that the answer can be told


def main() -> None:
    """Answer questions until there are no more."""
    with suppress(OSError):  # when the machine itself lacks memory, this process goes first
        Path("/proc/self/oom_score_adj").write_text("1000")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    settings = Settings.from_environment()
    store = Store.connect(settings.store_url)
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    answers.write(b"\n")
    answers.flush()
    for line in questions:
        asked = msgspec.json.decode(line, type=Asked)
        with _within_limits(settings):
            answer = answered(store, asked)
        answers.write(msgspec.json.encode(answer) + b"\n")
        answers.flush()


if __name__ == "__main__":
    main()
