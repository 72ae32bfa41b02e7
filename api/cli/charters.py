"""The command that explains charters: of a game, or of what one would like to play."""

from __future__ import annotations

from typing import Annotated

import typer

from api.cli.common import (
    USAGE,
    Document,
    EditionName,
    Failure,
    Moment,
    Options,
    Out,
    OwnTables,
    Players,
    SwitchWords,
    plain,
    with_options,
)
from api.cli.place import place
from api.cli.play import ordered
from domain.thrones.tables.charter import Charter
from domain.thrones.tables.charters import SECOND, catalogue, explain_charter


@with_options
def charter(
    out: Out,
    options: Options,
    game: Annotated[str, typer.Argument(help="The id of a game; without it, what the options say.")] = "",
    edition: EditionName = SECOND,
    players: Players = None,
    switch: SwitchWords = [],  # noqa: B006 - typer copies it
    tables: OwnTables = "",
    switches: Annotated[bool, typer.Option("--list", help="List every switch with its readings instead.")] = False,
    at: Moment = "",
) -> Document:
    """Explain how a charter differs from its book, what is assumed, and which rules it touches."""
    if switches:
        return _list(out)
    played = _of_game(game, at, options) if game else ordered(edition, players, switch, tables)
    told = explain_charter(played)
    for sentence in told.sentences:
        out.say(sentence)
    return {"game": game or None, "charter": played, **plain(told)}


def _of_game(game: str, at: str, options: Options) -> Charter:
    with place(options) as here:
        here.settle(game)
        agreed = here.desk.agreed(game, here.desk.version_of(game, at or None))
    if not agreed.edition:
        raise Failure(USAGE, "not-started", "The game has no charter yet.")
    return agreed


def _list(out: Out) -> Document:
    found = catalogue()
    for preset in found.presets:
        out.say(f"{preset.id}: {preset.name}, for {', '.join(map(str, preset.players))} players", style="bold")
    for one in found.switches:
        out.say(f"\n{one.name}: {one.about}", style="bold")
        for word, means in one.readings.items():
            needs = "; ".join(f"{other} = {' or '.join(words)}" for other, words in one.needs.get(word, {}).items())
            at = ", ".join(preset for preset, chosen in one.presets.items() if chosen == word)
            out.say(f"  {word}: {means}{f' (needs {needs})' if needs else ''}{f' [{at}]' if at else ''}")
        if one.matters:
            fitting = " and ".join(f"{other} = {' or '.join(words)}" for other, words in one.matters.items())
            out.say(f"  has an effect only with {fitting}")
    for option in found.disputes:
        out.say(f"\n--arbitration {option.name}: {option.about}", style="bold")
        for word, means in option.readings.items():
            out.say(f"  {word}: {means}")
    return found
