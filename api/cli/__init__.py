"""The command line: ``rookery``. Every command is a thin frame around the desk."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from importlib import import_module, metadata
from typing import Annotated, Any

import typer

from api.cli.common import BUG, INTERRUPTED, USAGE, Failure, Group, Out
from domain.kernel.printing import printable
from domain.thrones.tables.behaviour import ENGINE
from worker import log
from worker.settings import BadSetting, check, setting

HELP = """Rookery adjudicates A Game of Thrones: The Board Game, played by letter.

Commands work on the data directory: through the server that runs there, or by themselves where none does.
Exit codes: 0 done, 1 two things disagree, 2 wrong usage, 3 refused, 4 the store is away.
"""


def _print_version(wanted: bool) -> None:
    if wanted:
        Out().say(f"rookery {_version()}, rules engine {ENGINE}")
        raise typer.Exit


def _version() -> str:
    try:
        return metadata.version("rookery")
    except metadata.PackageNotFoundError:
        return "(not installed)"


COMMANDS: Mapping[str, str] = {
    "up": "server.up",
    "worker": "server.worker",
    "doctor": "operating.doctor",
    "accept-loss": "operating.accept_loss",
    "unpark": "operating.unpark",
    "backup-key": "operating.backup_key",
    "backup": "operating.backup",
    "restore": "operating.restore",
    "new": "play.new",
    "submit": "play.submit",
    "deadline": "play.deadline",
    "token": "play.token",
    "games": "play.games",
    "charter": "charters.charter",
    "show": "read.show",
    "log": "read.log",
    "replay": "read.replay",
    "verify": "record.verify",
    "export": "record.export",
    "import": "record.import_",
    "fork": "fork.fork",
    "key": "proof.key",
    "checkpoint": "proof.checkpoint",
    "checkpoints": "proof.checkpoints",
    "contribute": "proof.contribute",
    "shared": "shared.shared",
    "why": "arbiter.why",
    "appeal": "arbiter.appeal",
    "plan": "arbiter.plan",
    "rewind": "arbiter.rewind",
    "correct": "arbiter.correct",
    "opinion": "arbiter.opinions",
    "amend": "arbiter.amend",
    "arbiter": "arbiter.arbiter",
    "perspective": "arbiter.perspective",
    "secrets": "arbiter.secrets",
    "diff": "diff.diff",
    "sample": "tools.sample",
    "rules": "tools.rules",
    "cases": "cases.cases",
    "trace": "tools.trace",
}
"""Where each command, or group of commands, is: a module here and a name in it."""


class OnDemand(Mapping[str, Any]):
    """The commands by name, each imported when somebody asks for it: most need little of what all need together."""

    def __getitem__(self, name: str) -> Any:
        module, _, attribute = COMMANDS[name].partition(".")
        found = getattr(import_module(f"{__name__}.{module}"), attribute)
        group = found if isinstance(found, typer.Typer) else typer.Typer(rich_markup_mode=None, add_completion=False)
        if group is not found:
            group.command(name)(found)
        command = typer.main.get_command(group)
        command.name = name
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Commands(Group):
    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = OnDemand()  # type: ignore[assignment]  # typer reads it only


app = typer.Typer(
    cls=_Commands,
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    pass


_ClickException: Any = typer.BadParameter.__mro__[2]
"""Base of what typer raises for wrong usage; typer has no public name for it."""


def main() -> None:
    """Run the command line and end the process."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command; its exit code."""
    try:
        check()
    except BadSetting as error:
        return _tell(Failure(USAGE, "bad-setting", str(error)), arguments)
    log.configure(setting("ROOKERY_LOG") or "error")
    try:
        code = app(args=arguments, prog_name="rookery", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except _ClickException as error:
        return _tell(Failure(USAGE, "usage", _usage_text(error)), arguments)
    except (KeyboardInterrupt, typer.Abort):
        return _tell(Failure(INTERRUPTED, "interrupted", "Interrupted. What was acknowledged is kept."), arguments)
    except BrokenPipeError:
        # Whoever read our output has read enough. Nothing more can be said there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001 - the last frame: everything becomes a sentence and an exit code
        from api.cli.failures import failure  # what can go wrong names everything that there is

        return _tell(failure(error), arguments)


def _usage_text(error: Any) -> str:
    text = str(error.format_message()).strip()
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "rookery"
    return f"{text[:-1] if text.endswith('.') else text}. `{path} --help` tells more."


def _tell(failed: Failure, arguments: list[str]) -> int:
    """The mistake in one or two sentences; with --json as the document, too."""
    out = Out("--json" in arguments)
    out.errors.print(printable(str(failed)), style="red" if out.errors.is_terminal else "")
    out.document({"error": failed.code, "message": str(failed), **failed.details})
    if failed.exit_code == BUG and setting("ROOKERY_DEBUG"):
        traceback.print_exc()
    return failed.exit_code
