"""``rookery diff``: which recorded entries another version of the engine would rule on otherwise."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Annotated

import typer

from api.cli.common import (
    DISAGREES,
    Document,
    Moment,
    Options,
    Out,
    plain,
    usage,
    with_options,
)
from api.cli.place import Place, place
from api.engines import NoEngine, Radius, compare
from domain.kernel.printing import counted
from events.bundle import is_bundle, unpack
from events.export import export_game

MOST_TOLD = 20
"""Entries told per game; the JSON document has all."""


@with_options
def diff(
    out: Out,
    options: Options,
    games: Annotated[list[str], typer.Argument(help="Games or exported files; all games without any.")] = [],  # noqa: B006 - typer copies it
    at: Moment = "",
    engine: Annotated[str, typer.Option(help="Another checkout, or where it is installed.", show_default=False)] = "",
) -> Document:
    """Rule again on recorded games with another version of the engine; list the entries that come out otherwise.

    Nothing is changed. Exit code 1 if anything would come out otherwise.
    """
    if not engine:
        raise usage("Name the other version: --engine PATH.")
    found = [_compare(game, _file(Path(game)), Path(engine)) for game in games if Path(game).is_file()]
    stored = [game for game in games if not Path(game).is_file()]
    if stored or not games:
        with place(options) as here:
            for game in stored or here.desk.store.games():
                here.settle(game)
                found.append(_compare(game, _stored(here, game, at), Path(engine)))
    touched = [one for one in found if one.differing]
    for one in found:
        tell_radius(out, one)
    running = sum(one.running for one in touched)
    out.say(
        f"{len(touched)} of {counted(len(found), 'game')} would come out otherwise;"
        f" {counted(running, 'of them is', 'of them are')} running."
    )
    document = {"engine": engine, "games": plain(found), "touched": len(touched), "running": running}
    return document, DISAGREES if touched else 0


def _compare(game: str, lines: list[bytes], engine: Path) -> Radius:
    try:
        return compare(game, lines, engine)
    except NoEngine as error:
        raise usage(str(error)) from error


def _stored(here: Place, game: str, at: str) -> list[bytes]:
    return list(export_game(here.desk.store, game, at=here.desk.version_of(game, at) if at else None))


def _file(path: Path) -> list[bytes]:
    if is_bundle(path):
        return list(unpack(path.read_bytes()).lines)
    raw = path.read_bytes()
    return (lzma.decompress(raw) if path.suffix == ".xz" else raw).splitlines(keepends=True)


def tell_radius(out: Out, radius: Radius) -> None:
    state = "running" if radius.running else "ended"
    if not radius.differing:
        out.say(
            f"{radius.game} ({state}): {counted(radius.entries, 'entry comes', 'entries come')}"
            f" out the same with {radius.engine}."
        )
        return
    count = len(radius.differing)
    out.say(
        f"{radius.game} ({state}): {count} of {counted(radius.entries, 'entry comes', 'entries come')}"
        f" out otherwise with {radius.engine}."
    )
    for one in radius.differing[:MOST_TOLD]:
        more = f" (and {len(one.what) - 1} more)" if len(one.what) > 1 else ""
        out.say(f"  entry {one.entry}, {one.command}: {one.what[0]}{more}")
    if count > MOST_TOLD:
        out.say(f"  and {counted(count - MOST_TOLD, 'more entry', 'more entries')}")
