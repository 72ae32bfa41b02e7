"""Play-by-mail logs at the command line: one taken in as a game, and a game written as one."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import msgspec

from api.cli.common import DISAGREES, Document, Failure, Out, plain, usage
from api.cli.place import Place
from api.games.thrones.following.charter import settings_of
from api.games.thrones.following.importer import Imported, figures, import_log
from api.games.thrones.following.prose import told
from api.games.thrones.following.replay import Ruled
from api.games.thrones.logs.from_facts import Ruled as Told
from api.games.thrones.logs.from_facts import to_log
from api.games.thrones.logs.reader import read
from api.games.thrones.logs.writer import write
from domain.kernel.arbiter import Correct
from domain.kernel.decision import Answer
from domain.kernel.printing import counted
from domain.thrones.language.start import Start
from domain.thrones.language.state import State
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.charter import Charter
from events.envelope import Submission, submission

NO_TIME = "1970-01-01T00:00"
"""Where a log has no times at all."""


def take_in(here: Place, out: Out, source: bytes, name: str, accept: Sequence[str], *, every: bool) -> Document:
    """Import a log as a game. Raises Failure where an entry is neither adjudicated nor a judged disagreement.

    Where the log goes on from an outcome that is not ours, the game stands before that entry, unless ``accept`` has its
    number or ``all``: then the outcome is recorded as a correction. ``every`` lists every assumption.
    """
    accepted = _accepted(accept)
    began = time.monotonic()
    reading = read(source)
    if not reading.log.entries:
        problems = [plain(one) for one in reading.problems]
        what = "; ".join(f"{one.code}: {one.what}" for one in reading.problems)
        raise Failure(DISAGREES, "no-log", f"This is no play-by-mail log ({what}).", problems=problems)
    imported = import_log(reading)
    seconds = time.monotonic() - began
    _check_accepted(imported, accepted)
    game = name or _game_id(reading.log.game)
    recorded, before = imported.accepted(imported.taken_over if accepted is None else accepted)
    version = _put(here, game, imported, recorded)
    document = {
        "game": game,
        "version": version,
        "seconds": round(seconds, 1),
        "stands_before": before or None,
        **_document(imported),
    }
    for line in told(imported.report, every=every):
        out.say(line)
    out.say(f"Game {game} is here with {counted(version, 'entry', 'entries')}.")
    if before:
        numbers = ", ".join(map(str, imported.taken_over))
        out.say(
            f"It stands before entry {before}, since the log goes on from an outcome that the rules do not give. "
            f"To have it go on, take it in under another id (--as) and accept what the log has as corrections: "
            f"--accept {before}, or --accept all ({numbers})."
        )
    if not imported.report.is_whole or before:
        raise Failure(
            DISAGREES,
            "not-adjudicated",
            _open(len(imported.report.open)),
            **document,
        )
    return document


def _open(count: int) -> str:
    return f"{counted(count, 'entry is', 'entries are')} neither adjudicated nor a judged disagreement."


def _check_accepted(imported: Imported, accepted: Collection[int] | None) -> None:
    """Refuse numbers that there is nothing to accept for, before anything is taken in."""
    for number in sorted({*(accepted or ())} - {*imported.taken_over}):
        others = ", ".join(map(str, imported.taken_over)) or "none"
        judged = {one.entry: one for one in imported.report.disagreements}
        why = (
            "the log itself goes on as we rule, so no outcome of it waits"
            if number in judged
            else "nothing waits there"
        )
        raise usage(f"Entry {number} cannot be accepted: {why}. Entries that can: {others}.", accept=str(number))


def _accepted(words: Sequence[str]) -> Collection[int] | None:
    """Numbers of entries whose outcome is accepted; None for all. Raises Failure for other words."""
    if "all" in words:
        return None
    numbers = [number for word in words for number in word.replace(",", " ").split()]
    wrong = next((number for number in numbers if not number.isdecimal()), None)
    if wrong is not None:
        raise usage(f"--accept takes numbers of entries, or all; {wrong!r} is neither.", accept=wrong)
    return {int(number) for number in numbers}


def _game_id(title: str) -> str:
    found = re.sub(r"[^a-z0-9-]+", "-", title.lower()).strip("-")
    return found or "log"


def _document(imported: Imported) -> dict[str, Any]:
    whole = plain(imported.report)
    return {**whole, "taken_over": imported.taken_over, "figures": dict(figures(imported.report))}


def _put(here: Place, game: str, imported: Imported, recorded: Sequence[Ruled]) -> int:
    """The commands through the inbox, as if they had come in at the times of the log; the version reached."""
    store = here.desk.store
    first, *rest = recorded
    assert isinstance(first.command, Start), "a game starts with its start"
    opening = submission(first.command, seat=None, at=_at(first), cause="system", key="log/1")
    store.create(game, THRONES.name, THRONES.version, opening)
    for number, ruled in enumerate(rest, 2):
        store.submit(game, _submission(ruled, number, imported.charter))
    here.desk.ring(game)
    here.settle(game)
    return store.version(game)


def _submission(ruled: Ruled, number: int, charter: Charter) -> Submission:
    command = ruled.command
    key = f"log/{number}"
    if isinstance(command, Answer):
        seat = next((seat for seat, house in charter.seats.items() if house == command.player), None)
        return submission(command, seat=seat, at=_at(ruled), cause="command", key=key)
    cause: Any = "arbiter" if isinstance(command, Correct) else "system"
    return submission(command, seat=None, at=_at(ruled), cause=cause, key=key)


def _at(ruled: Ruled) -> str:
    return f"{ruled.at or NO_TIME}:00.000000Z"


def as_log(here: Place, game: str) -> str:
    """A game as the format has it: the line of play that stands, from its public facts."""
    desk = here.desk
    state: State = desk.line(game).state
    if not state.charter.edition:
        raise usage("This game has not begun.")
    struck = desk.struck_out(game)
    codec = desk.judge.codec
    ruled = [
        Told(_minutes(stored), tuple(codec.facts(stored)))
        for seq, stored in enumerate(desk.store.entries(game), 1)
        if seq not in struck
    ]
    players = {house: seat for seat, house in state.charter.seats.items()}
    log = to_log(ruled, desk.edition(state), game=game, name=game, players=players, settings=settings_of(state.charter))
    return write(log)


def _minutes(stored: Any) -> str:
    return str(msgspec.json.decode(bytes(stored.public))["at"])[:16]


def source_of(file: str) -> bytes:
    """The bytes of a log file."""
    import sys

    return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
