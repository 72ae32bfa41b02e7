"""Commands on seeds that several tables share: new, close, show."""

from __future__ import annotations

from typing import Annotated

import typer

from api.cli.common import Document, Group, Out
from api.cli.place import Place, at_place
from api.sharing import Shared, all_shared, close_shared, create_shared
from api.sharing import shared as read_shared

shared = typer.Typer(cls=Group, help="A seed that several tables of a tournament share.", no_args_is_help=True)

SharedId = Annotated[str, typer.Argument(help="The id of the shared seed.", show_default=False)]

STATES = {
    "taking-tables": "takes tables",
    "closed": "takes no more tables; opened when the last of them has ended",
    "open": "open",
}
STAGES = {"playing": "not over", "ended": "over, waits for the others", "open": "the seed is open on its record"}


@shared.command("new")
@at_place(may_begin=True)
def new(
    out: Out,
    here: Place,
    name: Annotated[str, typer.Option("--id", help="What it is called.", show_default="a random id")] = "",
) -> Document:
    """Make a seed for several tables; nobody gets to see it. Tables: rookery new --shared ID."""
    made = create_shared(here.desk, name)
    _show(out, made)
    return made


@shared.command("close")
@at_place
def close(out: Out, here: Place, name: SharedId) -> Document:
    """No more tables: when the last of them has ended, the seed is opened on the record of each."""
    close_shared(here.desk, name)
    here.see_to_shared()
    found = read_shared(here.desk, name)
    _show(out, found)
    return found


@shared.command("show")
@at_place
def show(
    out: Out,
    here: Place,
    name: Annotated[str, typer.Argument(help="One of them; all without it.", show_default=False)] = "",
) -> Document:
    """Show a shared seed: its commitment, its tables, and whether it is open."""
    here.see_to_shared()
    found = (read_shared(here.desk, name),) if name else all_shared(here.desk)
    for one in found:
        _show(out, one)
    if not found:
        out.say("There are no shared seeds.")
    return found[0] if name else {"shared": found}


def _show(out: Out, found: Shared) -> None:
    out.say(f"Shared seed {found.id}: {STATES[found.state]}.", style="bold")
    out.say(f"commitment {found.commitment}")
    if found.seed:
        out.say(f"seed {found.seed}")
    if found.tables:
        rows = [(one.game, one.round, one.winner or "-", STAGES[one.stage]) for one in found.tables]
        out.table(("Table", "Round", "Winner", ""), rows)
    else:
        out.say("It has no tables yet.")
