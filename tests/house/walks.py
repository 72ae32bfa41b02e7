"""What a ruling passes through: modules of ours that are entered, and how often one calls into another.

Each scene of ``scenes.json`` is a position and the commands that are ruled on from there, both as they are stored, so
that neither names a module. They were taken from game 3 of ``tests/domain/thrones/games.py``. A scene is walked through
once before it is counted, because tables are put together once for a process.

A change of module is a call (or the next step of a generator) from a function of one module of ours into a function of
another; calls by a library in between belong to whoever called the library, and coming back is not counted.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import msgspec

from domain.thrones.language.view import view
from domain.thrones.ruleset import THRONES
from events.envelope import Stored, Submission, submission
from events.ruling import Judge, Line
from tests.house.lines import PACKAGES, ROOT

# The one place that knows where the game's entrance is, and that of the record around it.

JUDGE = Judge(THRONES)
PEPPER = bytes(32)


def read_position(raw: bytes) -> Any:
    return msgspec.json.decode(raw, type=THRONES.state_type)


def read_command(raw: bytes) -> Any:
    return msgspec.json.decode(raw, type=THRONES.command_type)


def stored_submission(raw: bytes, number: int) -> Submission:
    """A command of whoever it is for, as the inbox has it."""
    new = submission(raw, seat=None, cause="system", at="2026-01-01T00:00:00Z")
    return msgspec.structs.replace(new, inbox=f"{number}-0")


def ruled(line: Line, one: Submission) -> tuple[Stored, Line]:
    """The next entry, by the engine that the scene was taken from, whatever today's is called."""
    stored, line, _ = JUDGE.rule(line, one, PEPPER, THRONES.pinned(line.state))
    return stored, line


def by_the_rules(state: Any, commands: Sequence[Any]) -> None:
    """The game alone: commands in, facts out."""
    for command in commands:
        state = THRONES.decide(state, command).state


def as_entries(state: Any, submissions: Sequence[Submission]) -> None:
    """The whole ruling as the worker has it made: from stored submissions to the bytes of the entries."""
    line = Line(state, version=1)
    for one in submissions:
        _, line = ruled(line, one)


def look(state: Any, player: str) -> None:
    view(state, player, THRONES.decisions(state, replaceable=True), THRONES.held)


class Scene(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A position, and what is done there; ``view`` names a player who looks at it."""

    about: str
    position: msgspec.Raw
    commands: tuple[msgspec.Raw, ...] = ()
    view: str = ""

    def works(self) -> dict[str, Callable[[], None]]:
        """What is to be measured, by name; words from outside are read before, but for those of a submission."""
        state = read_position(bytes(self.position))
        if self.view:
            return {"": lambda: look(state, self.view)}
        commands = [read_command(bytes(raw)) for raw in self.commands]
        submissions = [stored_submission(bytes(raw), number) for number, raw in enumerate(self.commands, 1)]
        return {
            ", by the rules alone": lambda: by_the_rules(state, commands),
            ", the whole ruling": lambda: as_entries(state, submissions),
        }


class Walk(NamedTuple):
    """``pairs`` are the changes by who calls whom, the most frequent first."""

    modules: tuple[str, ...]
    changes: int
    calls: int
    pairs: dict[str, int]


def scenes() -> dict[str, Scene]:
    return msgspec.json.decode(Path(__file__).with_name("scenes.json").read_bytes(), type=dict[str, Scene])


def walk(work: Callable[[], Any], root: Path = ROOT) -> Walk:
    """Do some work, and say which modules of ours it passes."""
    modules = _Modules(root)
    entered: set[str] = set()
    pairs: Counter[str] = Counter()
    calls = 0

    def profile(frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or not (here := modules.of(frame.f_code)):
            return
        nonlocal calls
        calls += 1
        entered.add(here)
        caller = frame.f_back
        while caller is not None and not modules.of(caller.f_code):
            caller = caller.f_back
        if caller is not None and modules.of(caller.f_code) != here:
            pairs[f"{modules.of(caller.f_code)} -> {here}"] += 1

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    most = dict(sorted(pairs.items(), key=lambda pair: (-pair[1], pair[0])))
    return Walk(tuple(sorted(entered)), pairs.total(), calls, most)


def walks() -> dict[str, Walk]:
    """All scenes, each walked through twice and counted the second time."""
    found = {}
    for name, scene in scenes().items():
        for how, work in scene.works().items():
            work()
            found[name + how] = walk(work)
    return found


class _Modules:
    """Which module of ours a piece of code belongs to, or none."""

    def __init__(self, root: Path) -> None:
        self.inside = tuple(f"{root}/{package}/" for package in PACKAGES)
        self.root = root
        self.known: dict[CodeType, str] = {}

    def of(self, code: CodeType) -> str:
        if code not in self.known:
            is_ours = code.co_filename.startswith(self.inside)
            self.known[code] = code.co_filename.removeprefix(f"{self.root}/") if is_ours else ""
        return self.known[code]
