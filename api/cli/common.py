"""What all commands share: exit codes, what is printed where, and how mistakes are told."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup

from domain.kernel.printing import one_line, printable, printable_json
from domain.thrones.tables.variations import PRESETS
from events.connecting import STORE_SCHEMES
from events.envelope import encode

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


@dataclass(frozen=True)
class Options:
    """The options that commands repeat, in the order in which --help lists them."""

    data: Data = ""
    store: StoreUrl = ""
    queue: QueueUrl = ""
    json: Json = False

    def directory(self) -> Path:
        """The data directory that is meant, whether or not there is one."""
        from events.embedded import data_directory  # it brings what starts servers, and --help starts none

        return Path(self.data).absolute() if self.data else data_directory().absolute()

    def directory_of_store(self) -> Path | None:
        """The data directory that goes with the store; none where only a store is named."""
        return None if self.store and not self.data else self.directory()


class Failure(Exception):
    """A command that ends without having done what it was asked: an exit code and a sentence."""

    def __init__(self, exit_code: int, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.code = code
        self.details = details


def cited(rules: Sequence[str]) -> str:
    """The rules behind a sentence that rests on them."""
    return f" [{', '.join(rules)}]" if rules else ""


def usage(message: str, **details: Any) -> Failure:
    return Failure(USAGE, "usage", message, **details)


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


Document = Any
"""What a command returns: its JSON document, that and an exit code, or None for neither."""

Opens = Callable[[Options], AbstractContextManager[Any]]


def made(body: Callable[..., Document], repeated: Sequence[str], *opens: Opens) -> Callable[..., int]:
    """A command for typer: the options of a body behind what it works with, then those that commands repeat.

    The body is given its Out and what ``opens`` opens, which is closed before the document is printed.
    """
    hints = get_type_hints(Options, include_extras=True)
    own = [*signature(body, eval_str=True).parameters.values()][1 + len(opens) :]
    added = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=getattr(Options, name), annotation=hints[name])
        for name in repeated
    ]

    def command(**given: Any) -> int:
        options = Options(**{name: given.pop(name) for name in repeated})
        out = Out(options.json)
        with opens[0](options) if opens else nullcontext() as opened:
            found = body(out, opened, **given) if opens else body(out, **given)
        document, code = found if isinstance(found, tuple) else (found, 0)
        if document is not None:
            out.document(document)
        return int(code)

    command.__doc__ = body.__doc__
    command.__module__ = body.__module__
    command.__signature__ = signature(body).replace(parameters=[*own, *added])  # type: ignore[attr-defined]  # as inspect reads it
    command.__annotations__ = {one.name: one.annotation for one in (*own, *added)}
    return command


command = partial(made, repeated=("json",))
"""Makes a command that needs no store of a body that is given its Out."""


def with_options(body: Callable[..., Document]) -> Callable[..., int]:
    """A command whose body is given its Out and Options, and opens a place itself if it needs one."""
    return made(body, REPEATED, nullcontext)


REPEATED = ("data", "store", "queue", "json")

TAKE_VALUES = ("--data", "--store", "--queue", "--game", "--seat", "--token", "--at", "--key", "--seen", "--why")
FLAGS = ("--json",)


def behind_the_command(arguments: list[str]) -> list[str]:
    """The repeated options that stand before a command, behind its name: where the command reads them."""
    at = 0
    while at < len(arguments) and (name := arguments[at].partition("=")[0]) in (*TAKE_VALUES, *FLAGS):
        at += 1 if name in FLAGS or "=" in arguments[at] else 2
    return [*arguments[at : at + 1], *arguments[:at], *arguments[at + 1 :]]


class Group(TyperGroup):
    """Commands whose repeated options may stand before their name as well as behind it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, behind_the_command(args))
