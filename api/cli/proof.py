"""Commands on what players keep as proof, and on the seed that they make together: key, checkpoint, contribute."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Annotated, Any

import typer

from api.cli.common import (
    REFUSED,
    Document,
    Failure,
    GameId,
    Moment,
    Out,
    SeatName,
    TokenText,
    usage,
)
from api.cli.place import Place, at_place
from api.desk import NotAllowed
from api.games.thrones.refusals import explain
from api.games.thrones.sentences import Prose
from domain.kernel.joint import CloseShares, CommitShare, OpenShare, share_commitment
from domain.thrones.language.state import State
from events.envelope import Refused, encode
from events.notes import join_notes


@at_place(may_begin=True)
def key(out: Out, here: Place) -> Document:
    """Print the public key that this server's receipts and checkpoints are checked with."""
    found = here.desk.key()
    out.say(found.text())
    return {"name": found.name, "key": found.text(), "fingerprint": found.fingerprint}


@at_place
def checkpoint(out: Out, here: Place, game: GameId, at: Moment = "") -> Document:
    """Print a signed checkpoint: how long the record of a game is, and the digest of its last entry."""
    here.enter(game)
    version, note = here.desk.checkpoint(game, here.desk.version_of(game, at) if at else None)
    out.say(note.removesuffix("\n"))
    return {"game": game, "version": version, "checkpoint": note}


@at_place
def checkpoints(out: Out, here: Place, game: GameId, at: Moment = "") -> Document:
    """Print every signed checkpoint that was handed out for a game; the server keeps them and replaces none."""
    here.enter(game)
    version = here.desk.version_of(game, at or None)
    kept = here.desk.checkpoints(game, version)
    out.say(join_notes(one.note for one in kept).removesuffix("\n"))
    return {"game": game, "version": version, "checkpoints": kept}


@at_place
def contribute(
    out: Out,
    here: Place,
    game: GameId,
    seat: SeatName = "",
    close: Annotated[
        bool, typer.Option("--close", help="The organiser's: go on without those who are missing.")
    ] = False,
    file: Annotated[str, typer.Option(help="Where your part is kept.", show_default="GAME-SEAT.share")] = "",
    token: TokenText = "",
) -> Document:
    """Add to the seed of a game made with --joint: first bind yourself to a part made by chance, then open it."""
    caller = here.enter(game, seat, token)
    state: State = here.desk.line(game).state
    if close != caller.is_organiser:
        raise NotAllowed("the organiser" if close else "a seat")
    command = CloseShares() if close else _share(state, caller.seat or "", Path(file or f"{game}-{caller.seat}.share"))
    receipt = here.desk.submit(game, caller, encode(command), cause="arbiter")
    prose = Prose(here.desk.edition(state))
    entry = here.desk.readable(here.ruling(receipt), None, prose)
    if isinstance(entry.verdict, Refused):
        raise Failure(REFUSED, entry.verdict.code, explain(entry.verdict.code, entry.verdict.params, prose))
    for sentence in entry.sentences[:3]:
        out.say(sentence)
    return {"game": game, "entry": entry}


def _share(state: State, seat: str, path: Path) -> Any:
    """The next thing that a seat does: bind itself to its part, or open it."""
    joint = state.docket.joint
    if joint is None or state.charter.edition:
        raise usage("This game takes no parts of a seed, or no more.")
    if seat in joint.commitments:
        return OpenShare(seat, path.read_text(encoding="utf-8").strip())
    share = secrets.token_hex(32)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as kept:
        kept.write(share + "\n")
    return CommitShare(seat, share_commitment(seat, share))
