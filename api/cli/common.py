"""What all commands share: exit codes, what is printed where, and how mistakes are told."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from api.bench import PlanOutOfDate
from api.desk import NoSuchVersion, NotAllowed, NotAMoment, Unsigned
from api.games.thrones.refusals import explain
from api.games.thrones.sentences import NAMES
from api.quota import TooManyForks
from api.saving import NotTrusted
from api.serve import BadAddress, PortTaken
from domain.kernel.printing import one_line, printable, printable_json
from domain.kernel.refusal import Refusal
from domain.thrones.notation import NotationError
from domain.thrones.tables.variations import PRESETS
from events.backup import BackupChanged, BackupDamaged
from events.bundle import BundleDamaged
from events.connecting import STORE_SCHEMES, BadStoreUrl
from events.durability import StoreForgets
from events.embedded import EmbeddedError
from events.envelope import encode
from events.errors import (
    FileDamaged,
    GameExists,
    GameHeld,
    KeptDamaged,
    KeyConflict,
    OverQuota,
    RecordDamaged,
    RecordError,
    ServerFull,
    SharedSeedClosed,
    SharedSeedExists,
    StoreAway,
    StoreRefuses,
)
from events.heads import HeadsUnusable
from events.losses import NotHeld
from worker.settings import BadSetting

DISAGREES, USAGE, REFUSED, AWAY = 1, 2, 3, 4
"""Exit codes: two things do not agree; wrong usage; the rules or the server refuse; the store is away."""

BUG, INTERRUPTED = 70, 130

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Data = Annotated[
    str, typer.Option(envvar="ROOKERY_DATA", help="The data directory.", show_default="~/.local/share/rookery")
]
StoreUrl = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="ROOKERY_STORE",
        help=f"URL of a store instead of a data directory: {STORE_SCHEMES}. With a password, better by the variable.",
    ),
]
QueueUrl = Annotated[
    str, typer.Option("--queue", envvar="ROOKERY_QUEUE", help="URL of its queue's server, if that is another one.")
]
Players = Annotated[int | None, typer.Option(help="How many play.", show_default="as many as can")]
SwitchWords = Annotated[
    list[str], typer.Option(help="What the table plays otherwise, such as tides-of-battle=on or raid-orders=first.")
]
OwnTables = Annotated[
    str, typer.Option("--tables", help="A JSON file of the organiser's own values by their place in the tables.")
]
EditionName = Annotated[str, typer.Option(help=f"The charter to begin from: {', '.join(PRESETS)}.")]
GameId = Annotated[str, typer.Argument(help="The id of the game.", show_default=False)]
Moment = Annotated[
    str, typer.Option("--at", help="An entry, or a time: what there was then, without hindsight.", show_default="now")
]
SeatName = Annotated[str, typer.Option("--seat", help="Speak for and see what this seat sees: its id, or its House.")]
TokenText = Annotated[str, typer.Option("--token", help="Speak for and see what this token's owner sees.")]


class Failure(Exception):
    """A command that ends without having done what it was asked: an exit code and a sentence."""

    def __init__(self, exit_code: int, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.code = code
        self.details = details


def usage(message: str, **details: Any) -> Failure:
    return Failure(USAGE, "usage", message, **details)


def failure(error: Exception) -> Failure:
    """Any exception as a failure with its exit code."""
    match error:
        case Failure():
            return error
        case NotationError():
            place = {"line": error.line, "column": error.column, "suggestions": list(error.suggestions)}
            text = f"{str(error)[:1].upper()}{str(error)[1:]}"
            return Failure(USAGE, "notation", text if text.endswith(("?", "!", ".")) else f"{text}.", **place)
        case Refusal():
            return refused(error)
        case TooManyForks():
            return Failure(REFUSED, "too-many-forks", str(error), most=error.most, forks=list(error.forks))
        case NotAllowed():
            return Failure(REFUSED, "not-allowed", str(error))
        case NotAMoment():
            return usage(str(error), at=error.at)
        case PlanOutOfDate():
            versions = {"expected": error.expected, "version": error.version}
            return Failure(REFUSED, "plan-out-of-date", f"{error} Nothing was recorded; plan anew.", **versions)
        case Unsigned():
            return Failure(USAGE, "no-key", str(error))
        case OverQuota() | ServerFull():
            return Failure(REFUSED, _word(error), str(error))
        case KeyConflict() | GameExists() | SharedSeedExists() | SharedSeedClosed():
            return Failure(REFUSED, _word(error), str(error))
        case PortTaken() | BadAddress():
            return Failure(USAGE, _word(error), str(error))
        case BadSetting() | BadStoreUrl():
            return usage(str(error))
        case GameHeld():
            return Failure(REFUSED, "game-held", f"{error} `rookery doctor` tells what is missing.", game=error.game)
        case StoreAway() | StoreRefuses() | EmbeddedError() | StoreForgets() | HeadsUnusable():
            return Failure(AWAY, _word(error), str(error))
        case BackupDamaged() | BackupChanged():
            return Failure(DISAGREES, _word(error), str(error))
        case NotTrusted():
            return Failure(DISAGREES, "backup-not-trusted", str(error))
        case KeptDamaged():
            return Failure(DISAGREES, "record-damaged", f"The record is damaged. {error}", kept=error.what)
        case RecordDamaged():
            return Failure(DISAGREES, "record-damaged", f"The record is damaged. {_sentence(error)}", entry=error.seq)
        case FileDamaged() | BundleDamaged():
            return Failure(DISAGREES, _word(error), f"The record is damaged. {_sentence(error)}")
        case NotHeld():
            return Failure(REFUSED, "not-held", str(error), game=error.game)
        case RecordError() | NoSuchVersion():
            return Failure(USAGE, _word(error), str(error))
        case UnicodeDecodeError():
            return Failure(USAGE, "not-text", "The file is not text in UTF-8.")
        case OSError():
            name = f"{error.filename}: " if error.filename else ""
            return Failure(USAGE, "file", f"{name}{error.strerror or error}.")
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{frame.filename}:{frame.lineno}"
    return Failure(
        BUG, "bug", f"Rookery made a mistake: {type(error).__name__} at {where}. ROOKERY_DEBUG=1 shows all of it."
    )


def refused(refusal: Refusal) -> Failure:
    """A refusal outside of a game: of a charter, of names."""
    message = explain(refusal.code, refusal.params, NAMES)
    rules = f" [{', '.join(refusal.rules)}]" if refusal.rules else ""
    exit_code = USAGE if refusal.unknown else REFUSED
    return Failure(exit_code, refusal.code, message + rules, rules=list(refusal.rules), params=refusal.params)


def _sentence(error: Exception) -> str:
    told = str(error)
    return told if told.endswith(".") else f"{told}."


def _word(error: Exception) -> str:
    """GameUnknown as game-unknown."""
    name = type(error).__name__
    return "".join(
        f"-{letter.lower()}" if letter.isupper() and at else letter.lower() for at, letter in enumerate(name)
    )


class Out:
    """Where a command prints. With ``json``, standard output holds one JSON document and nothing else."""

    def __init__(self, json: bool = False) -> None:
        self.json = json
        self.console = Console(markup=False, highlight=False, soft_wrap=True)
        self.errors = Console(stderr=True, markup=False, highlight=False, soft_wrap=True)

    def say(self, text: str = "", style: str = "") -> None:
        """A line for people."""
        if not self.json:
            self.console.print(Text(printable(text), style=style))
            sys.stdout.flush()

    def table(self, headings: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
        if self.json:
            return
        table = Table(box=None, pad_edge=False, header_style="bold")
        for heading in headings:
            table.add_column(heading, overflow="fold")
        for row in rows:
            table.add_row(*(Text(one_line(str(cell))) for cell in row))
        wide = Console(markup=False, highlight=False, width=None if self.console.is_terminal else 200)
        wide.print(table)
        sys.stdout.flush()

    def document(self, value: Any) -> None:
        """The JSON document."""
        if self.json:
            sys.stdout.write(printable_json(encode(value).decode()) + "\n")
            sys.stdout.flush()

    @contextmanager
    def progress(self, title: str, total: int | None) -> Iterator[Callable[[int], None]]:
        """A bar on standard error while one waits; the function given sets how far it is."""
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        quiet = self.json or not self.errors.is_terminal
        with Progress(*columns, console=self.errors, transient=True, disable=quiet) as bar:
            task = bar.add_task(title, total=total)
            yield lambda done: bar.update(task, completed=done)


def plain(value: Any) -> Any:
    """A value as plain JSON values."""
    return msgspec.json.decode(encode(value))
