"""Other adjudicators: processes that speak the protocol of the cases over their standard input and output.

Whatever such a process does (hang, crash, write garbage, close its output, leave children behind), the outcome is a
sentence about one case: every wait has an end, and a process is killed with its whole group.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import Self

import msgspec

from api.games.thrones.cases.cases import Case, CaseError
from api.games.thrones.cases.protocol import (
    AnyReply,
    AnyRequest,
    Broken,
    Greet,
    Introduction,
    Score,
    introduced,
    put,
    score_of,
)
from domain.kernel.printing import counted

_decoder = msgspec.json.Decoder(AnyReply)
_encode = msgspec.json.Encoder().encode

PIECE = 65536
POLL_SECONDS = 0.01


class NoAdjudicator(Exception):
    """The command cannot be started, or what it starts does not speak the protocol."""


class Limits(msgspec.Struct, frozen=True):
    """How long one waits and how much one reads.

    ``seconds`` for every reply, ``start_seconds`` for the first; ``grace_seconds`` for the end of a process that is
    to end; ``most_bytes`` in a line; after ``give_up`` breakdowns the remaining cases are not tried.
    """

    seconds: float = 10
    start_seconds: float = 30
    grace_seconds: float = 2
    most_bytes: int = 4 << 20
    give_up: int = 10


class Adjudicator:
    """One adjudicator: a command that is started, and started again after it has broken down."""

    def __init__(self, command: Sequence[str], limits: Limits) -> None:
        self.command = list(command)
        self.limits = limits
        self.introduction: Introduction | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the adjudicator
        self._unread = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop(self.limits.grace_seconds if error is None else 0)
        self._errors.close()

    def start(self) -> Introduction:
        """Start the process, unless it runs, and greet it. Raises Broken; OSError when there is no such command."""
        if self._process is not None and self.introduction is not None:
            return self.introduction
        self._unread = b""
        self._process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            bufsize=0,
            start_new_session=True,
        )
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
        self.introduction = introduced(self._exchange(Greet(id=0), self.limits.start_seconds))
        return self.introduction

    def ask(self, request: AnyRequest) -> AnyReply:
        """The reply to a request. Raises Broken."""
        return self._exchange(request, self.limits.seconds)

    def stop(self, grace_seconds: float = 0) -> None:
        """End the process and everything it has started: its input ends, then it has ``grace_seconds``."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        _has_ended(process, grace_seconds)
        # Not reaped yet, so the group cannot be anybody else's.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()

    def _exchange(self, request: AnyRequest, seconds: float) -> AnyReply:
        if self._unread:
            raise Broken(f"it says more than it was asked: {_shortened(self._unread)}")
        until = time.monotonic() + seconds
        self._write(_encode(request) + b"\n", until, seconds)
        line = self._read_line(until, seconds)
        try:
            reply = _decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Broken(f"no reply of the protocol ({error}): {_shortened(line)}") from error
        if reply.id != request.id:
            raise Broken(f"it answers request {reply.id} instead of {request.id}")
        return reply

    def _write(self, data: bytes, until: float, seconds: float) -> None:
        assert self._process is not None and self._process.stdin is not None
        number = self._process.stdin.fileno()
        while data:
            if not select.select((), (number,), (), max(0, until - time.monotonic()))[1]:
                raise Broken(f"it does not read within {seconds:g} seconds")
            try:
                data = data[os.write(number, data) :]
            except BrokenPipeError:
                # It reads no more, but may have answered; what can be read from it tells.
                return

    def _read_line(self, until: float, seconds: float) -> bytes:
        assert self._process is not None and self._process.stdout is not None
        number = self._process.stdout.fileno()
        pieces = [self._unread]
        size = 0
        while b"\n" not in pieces[-1]:
            if size > self.limits.most_bytes:
                raise Broken(
                    f"a line of more than {counted(self.limits.most_bytes, 'byte')}:"
                    f" {_shortened(pieces[0] or pieces[1])}"
                )
            if not select.select((number,), (), (), max(0, until - time.monotonic()))[0]:
                raise Broken(f"no answer within {seconds:g} seconds")
            piece = os.read(number, PIECE)
            if not piece:
                raise Broken(self._ended())
            pieces.append(piece)
            size += len(piece)
        line, _, self._unread = b"".join(pieces).partition(b"\n")
        return line

    def _ended(self) -> str:
        """How the process ended, with the last that it said of it."""
        assert self._process is not None
        code = _has_ended(self._process, self.limits.grace_seconds)
        if code is None:
            return "it has closed its output"
        how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - 2000))
        said = self._errors.read().decode(errors="replace").strip().splitlines()
        return f"it ended, {how}{f': {_shortened(said[-1].encode())}' if said else ''}"


def score_cases(adjudicator: Adjudicator, cases: Iterable[Case]) -> Iterator[Score]:
    """Put cases to an adjudicator, one score each. Raises :class:`NoAdjudicator` when it does not even begin."""
    try:
        adjudicator.start()
    except OSError as error:
        raise NoAdjudicator(f"cannot be started: {error.strerror or error}") from error
    except Broken as error:
        raise NoAdjudicator(f"does not speak the protocol: {error}") from error
    breakdowns = 0
    for case in cases:
        if breakdowns >= adjudicator.limits.give_up:
            yield score_of(case, "broken", f"not tried after {breakdowns} breakdowns")
            continue
        try:
            yield _score(adjudicator, case)
        except CaseError as error:
            yield score_of(case, "broken", f"our own engine cannot follow the case: {error}")
        except (Broken, OSError) as error:
            adjudicator.stop()
            breakdowns += 1
            yield score_of(case, "broken", str(error))


def _score(adjudicator: Adjudicator, case: Case) -> Score:
    putting = put(case, adjudicator.start())
    try:
        request = next(putting)
        while True:
            request = putting.send(adjudicator.ask(request))
    except StopIteration as done:
        score: Score = done.value
        return score


def _has_ended(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    """The exit code, negative for a signal, once it has ended; it stays to be reaped."""
    until = time.monotonic() + seconds
    while True:
        found = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if found is not None:
            return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
        if time.monotonic() >= until:
            return None
        time.sleep(POLL_SECONDS)


def _shortened(line: bytes) -> str:
    text = line.decode(errors="replace").strip()
    return text if len(text) <= 120 else f"{text[:117]}..."
