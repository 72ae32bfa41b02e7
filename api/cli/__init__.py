"""The command line: ``rookery``. Every command is a thin frame around the desk."""

from __future__ import annotations

import os
import sys
import traceback
from importlib import metadata
from typing import Annotated, Any

import typer

from api.cli import arbiter, cases, charters, diff, fork, operating, play, proof, read, record, server, shared, tools
from api.cli.common import BUG, INTERRUPTED, USAGE, Failure, Out, failure
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


app = typer.Typer(
    help=HELP, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
)


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    pass


app.command("up")(server.up)
app.command("worker")(server.worker)
app.command("doctor")(operating.doctor)
app.command("accept-loss")(operating.accept_loss)
app.command("unpark")(operating.unpark)
app.command("backup-key")(operating.backup_key)
app.command("backup")(operating.backup)
app.command("restore")(operating.restore)
app.command("new")(play.new)
app.command("submit")(play.submit)
app.command("deadline")(play.deadline)
app.command("token")(play.token)
app.command("games")(play.games)
app.command("charter")(charters.charter)
app.command("show")(read.show)
app.command("log")(read.log)
app.command("replay")(read.replay)
app.command("verify")(record.verify)
app.command("export")(record.export)
app.command("import")(record.import_)
app.command("fork")(fork.fork)
app.command("key")(proof.key)
app.command("checkpoint")(proof.checkpoint)
app.command("checkpoints")(proof.checkpoints)
app.command("contribute")(proof.contribute)
app.add_typer(shared.shared, name="shared")
app.command("why")(arbiter.why)
app.command("appeal")(arbiter.appeal)
app.command("plan")(arbiter.plan)
app.command("rewind")(arbiter.rewind)
app.command("correct")(arbiter.correct)
app.add_typer(arbiter.opinions, name="opinion")
app.command("amend")(arbiter.amend)
app.command("arbiter")(arbiter.arbiter)
app.command("perspective")(arbiter.perspective)
app.command("secrets")(arbiter.secrets)
app.command("diff")(diff.diff)
app.command("sample")(tools.sample)
app.command("rules")(tools.rules)
app.add_typer(cases.cases, name="cases")
app.command("trace")(tools.trace)

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
