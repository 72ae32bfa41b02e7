"""Commands on the record: verify, export, import."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated

import msgspec
import typer

from api.cli.common import (
    DISAGREES,
    Data,
    Failure,
    GameId,
    Json,
    Out,
    QueueUrl,
    SeatName,
    StoreUrl,
    TokenText,
    plain,
    usage,
)
from api.cli.place import place
from domain.thrones.ruleset import THRONES
from domain.thrones.state import State
from events.export import Header, export_game, import_game
from events.ruling import Judge
from events.verify import Report, verify_chain, verify_export, verify_store


def verify(
    game: Annotated[str, typer.Argument(help="A game, or an exported file.", show_default=False)],
    data: Data = "",
    store: StoreUrl = "",
    queue: QueueUrl = "",
    json: Json = False,
) -> None:
    """Rule again on every command and compare every fact and digest; name the first entry that disagrees."""
    out = Out(json)
    path = Path(game)
    if path.is_file():
        if not _is_full(path):
            _verify_redacted(out, path)
            return
        with path.open("rb") as lines, out.progress("Entries", None) as progress:
            report = verify_export(Judge(THRONES), lines, progress)
    else:
        if os.sep in game or path.suffix == ".jsonl":
            raise usage(f"There is no file {game}.")
        with place(data, store, queue) as here:
            here.caller(game)
            here.settle(game)
            with out.progress("Entries", here.desk.store.version(game)) as progress:
                report = verify_store(here.desk.store, here.desk.judge, game, progress)
    _conclude(out, game, report)


def _conclude(out: Out, game: str, report: Report) -> None:
    told = {"game": game, "confirmed": report.is_confirmed, **plain(report)}
    if report.disagreement is not None:
        found = report.disagreement
        where = f"Entry {found.seq}" if found.seq else "The file"
        detail = found.detail if len(found.detail) < 600 else found.detail[:600] + "…"
        message = f"{where} disagrees ({found.what}): {detail}. {report.entries} entries before it are confirmed."
        raise Failure(DISAGREES, "disagreement", message, **told)
    out.say(f"{game}: confirmed. {report.entries} entries with {report.facts} facts come out the same.")
    out.say(f"head {report.head}, ruled by {', '.join(report.engines) or 'nobody'}")
    out.document(told)


def _is_full(path: Path) -> bool:
    """Whether a file holds everything, as far as its first line says."""
    with path.open("rb") as lines:
        try:
            return msgspec.json.decode(lines.readline(), type=Header).full
        except (msgspec.MsgspecError, ValueError):
            return True  # verification will say what is wrong with it


def _verify_redacted(out: Out, path: Path) -> None:
    with path.open("rb") as lines:
        damage = verify_chain(lines)
    if damage is not None:
        raise Failure(DISAGREES, "disagreement", f"The record is damaged. {damage}", game=str(path), confirmed=False)
    out.say(f"{path}: the chain holds. The file is redacted, so the rulings themselves cannot be checked.")
    out.document({"game": str(path), "confirmed": True, "redacted": True})


def export(
    game: GameId,
    file: Annotated[str, typer.Argument(help="Where to write; standard output without it.")] = "-",
    seat: SeatName = "",
    public: Annotated[bool, typer.Option("--public", help="Only what everybody may see.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if there is one.")] = False,
    token: TokenText = "",
    data: Data = "",
    store: StoreUrl = "",
    queue: QueueUrl = "",
    json: Json = False,
) -> None:
    """Write a game as JSON Lines: everything, or what a seat or the public may see."""
    if json and file == "-":
        raise usage("With --json, name a file for the game: standard output holds the JSON document.")
    if file != "-" and not force and os.path.lexists(file):
        raise usage(f"{file} is there already. --force overwrites it.", file=file)
    out = Out(json)
    with place(data, store, queue) as here:
        caller = here.caller(game, seat, token)
        here.settle(game)
        state: State = here.desk.line(game).state
        full = caller.role == "operator" and not public
        player = None if public else here.desk.house_of(state, caller)
        seats = (caller.seat,) if caller.seat and not public else ()
        count = 0
        with _sink(file) as sink, out.progress("Lines", None) as progress:
            for line in export_game(here.desk.store, game, full=full, player=player, seats=seats):
                sink.write(line)
                count += 1
                progress(count)
    if file != "-":
        what = "with every secret" if full else f"as {player} sees it" if player else "as everybody sees it"
        out.say(f"{game}: {count} lines in {file}, {what}.")
    out.document({"game": game, "file": file, "lines": count, "full": full, "player": player})


@contextmanager
def _sink(file: str) -> Iterator[IO[bytes]]:
    """Where to write. A file is there whole or not at all, and readable by its user only: it may hold secrets."""
    if file == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(file)
    draft = path.with_name(f".{path.name}.new")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as sink:
            yield sink
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def import_(
    file: Annotated[str, typer.Argument(help="A full export; - is standard input.", show_default=False)],
    name: Annotated[str, typer.Option("--as", help="Another id for the game.")] = "",
    data: Data = "",
    store: StoreUrl = "",
    queue: QueueUrl = "",
    json: Json = False,
) -> None:
    """Take in an exported game; it goes on where it was. Its seats need new tokens."""
    out = Out(json)
    with place(data, store, queue, may_begin=True) as here:
        if file == "-":
            done = import_game(here.desk.store, sys.stdin.buffer, name or None)
        else:
            with Path(file).open("rb") as lines:
                done = import_game(here.desk.store, lines, name or None)
        here.desk.ring(done.game)
        here.settle(done.game)
        version = here.desk.store.version(done.game)
    out.say(f"Game {done.game} is here with {done.version} entries; {done.unruled} submissions waited for a ruling.")
    out.say("Give its seats tokens with: rookery token GAME SEAT")
    out.document({"game": done.game, "version": version, "imported": done.version, "unruled": done.unruled})
