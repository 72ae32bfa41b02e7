"""The command that makes a fork."""

from __future__ import annotations

from typing import Annotated

import typer

from api.cli.common import Document, GameId, Out, SeatName, TokenText, usage
from api.cli.place import Place, at_place
from api.forking import fork as make
from api.games.thrones.sentences import Prose
from api.quota import MOST_FORKS
from api.tokens import ORGANISER
from domain.kernel.refusal import Refusal
from events.envelope import Refused


@at_place
def fork(
    out: Out,
    here: Place,
    game: GameId,
    at: Annotated[str, typer.Option(help="The entry or the time to begin with.", show_default="the present one")] = "",
    seat: SeatName = "",
    purpose: Annotated[str, typer.Option(help="What it is for; shown wherever the fork is.")] = "analysis",
    name: Annotated[str, typer.Option("--as", help="The id of the fork.", show_default="a random one")] = "",
    why: Annotated[str, typer.Option(help="Why secrets of a running game are read; goes on its record.")] = "",
    redraw: Annotated[
        bool, typer.Option("--redraw", help="Draw all that is hidden anew, instead of keeping it as it was.")
    ] = False,
    sits: Annotated[list[str], typer.Option(help="A seat of the fork and its House, alice=stark.")] = [],  # noqa: B006 - typer copies it
    most: Annotated[
        int, typer.Option(envvar="ROOKERY_FORKS", help="How many forks of a game a seat may make.", min=0)
    ] = MOST_FORKS,
    token: TokenText = "",
) -> Document:
    """Make a new game that begins where this one stood, and print the tokens of its seats, once.

    With --seat it begins with what that seat could see; what it could not is drawn anew.
    """
    caller = here.enter(game, seat, token)
    here.desk.most_forks = most
    made = make(
        here.desk,
        game,
        caller,
        at=here.desk.version_of(game, at) if at else None,
        purpose=purpose,
        name=name or None,
        seats=_seats(here, game, sits) if sits else None,
        why=why,
        redraw=redraw,
        ruled=here.ruling,
    )
    here.settle(game)
    ruled = here.desk.readable(here.ruling(made.receipt), None, Prose(here.desk.edition(here.desk.line(game).state)))
    if isinstance(ruled.verdict, Refused):
        raise Refusal(ruled.verdict.code, ruled.verdict.rules, **ruled.verdict.params)
    origin = made.origin
    hidden = "with all that was hidden" if origin.hidden else "with what is not known drawn anew"
    out.say(f"Game {made.game} is a fork of {origin.game} at entry {origin.version}, {hidden}: {origin.purpose}.")
    out.say("These tokens are shown only now:")
    rows = [(one, made.seats[one], made.tokens[one]) for one in sorted(made.seats, key=lambda one: made.seats[one])]
    out.table(("Seat", "House", "Token"), [*rows, (ORGANISER, "", made.organiser)])
    return made


def _seats(here: Place, game: str, sits: list[str]) -> dict[str, str]:
    """Seats of the fork by their Houses."""
    houses = here.desk.lexicon(game).houses
    found: dict[str, str] = {}
    for one in sits:
        name, mark, house = one.partition("=")
        if not mark:
            raise usage(f"A seat is given with its House, such as alice=stark, not as {one!r}.")
        if name in found:
            raise usage(f"The seat {name!r} is given twice.")
        found[name] = houses.resolve(house, len(name) + 2)
    return found
