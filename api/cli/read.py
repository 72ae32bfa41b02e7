"""Commands that read: show, log, replay."""

from __future__ import annotations

import textwrap
import time
from typing import Annotated, Any

import typer

from api.cli.common import Document, GameId, Out, SeatName, TokenText, plain
from api.cli.place import Place, at_place
from api.cli.play import refusal_told, told
from api.desk import NoSuchVersion
from api.games.thrones.diagram import board, not_begun
from api.games.thrones.refusals import explain
from api.games.thrones.sentences import Prose
from api.tokens import Caller
from domain.kernel.facts import Fact
from domain.kernel.printing import counted, one_line
from domain.thrones.language.state import State
from domain.thrones.language.view import Owed, View, view
from domain.thrones.notation import format_answer
from domain.thrones.rules.game import Game
from domain.thrones.ruleset import THRONES
from events.chain import Chain
from events.envelope import Refused


@at_place
def show(
    out: Out,
    here: Place,
    game: GameId,
    seat: SeatName = "",
    at: Annotated[str, typer.Option(help="An entry, or a time: the game as it stood then, without hindsight.")] = "",
    token: TokenText = "",
) -> Document:
    """Show the board, the tracks, the hands and what is awaited."""
    caller = here.enter(game, seat, token)
    version, seen = here.desk.view(game, caller, here.desk.version_at(game, at or None))
    out.say(f"{game}, version {version}" + (f", as {seen.house} sees it" if seen.house else ""))
    out.say(picture(seen))
    for one in seen.owes:
        out.say(_owed(one))
        if one.waits_for:
            out.say(f"  {_waits(seen.position, one)}")
    return {"game": game, "version": version, "view": seen}


def picture(seen: View) -> str:
    """A view as text."""
    state = seen.position
    if not state.charter.edition:
        return not_begun(state)
    rules = THRONES.rules_of(state)
    return board(Game(rules, state, rules.edition), seen)


def ending(prose: Prose, state: State) -> str:
    """Who has won, in a sentence."""
    if state.winner:
        return f"{prose.name(state.winner)} wins."
    return f"{prose.listed(state.drawn)} draw." if state.drawn else "The game is not over."


def _owed(one: Owed) -> str:
    """What a House owes: the question, and the answer that a missed deadline gets."""
    rules = ", ".join(one.rules)
    default = format_answer(one.default)
    state = "is answered and may be answered anew" if one.answered else "waits for your answer"
    return f"\nQuestion {one.question}, {one.kind}, {state} [{rules}]\n  a missed deadline gives: {default}"


def _waits(state: State, one: Owed) -> str:
    """Why a question cannot be answered yet."""
    doubts = sorted({name for held in one.waits_for for name in held.names})
    params = {"appeals": [held.appeal for held in one.waits_for], "doubts": doubts}
    return explain("appeal-open", params, Prose(THRONES.rules_of(state).edition))


@at_place
def log(
    out: Out,
    here: Place,
    game: GameId,
    after: Annotated[int, typer.Option(help="Begin behind this entry.")] = 0,
    count: Annotated[int | None, typer.Option(help="How many entries at most.")] = None,
    at: Annotated[str, typer.Option(help="End with this entry, or with the last one received by this time.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="Tell of facts that are sealed for others, too.")] = False,
    seat: SeatName = "",
    token: TokenText = "",
) -> Document:
    """Print the rulings in English, each with its rules."""
    entries: list[Any] = []
    caller = here.enter(game, seat, token)
    end = here.desk.version_of(game, at or None)
    if not 0 <= after <= end:
        raise NoSuchVersion(after, end)
    prose = here.desk.prose(game)
    for entry in here.desk.log(game, caller, after, count, end):
        if out.json:
            entries.append(plain(entry))
            continue
        who = f"seat {entry.seat}" if entry.seat else entry.cause
        out.say(f"{entry.seq}  {entry.at}  {who}", style="bold strike" if entry.struck else "bold")
        if entry.struck:
            out.say(f"  STRUCK OUT by entry {entry.struck.by}: {one_line(entry.struck.reason)}", style="red")
        if isinstance(entry.verdict, Refused):
            out.say(f"  {refusal_told(entry.verdict, prose)}", style="red")
        for sentence in told(entry, everything):
            out.say(f"  {sentence}", style="strike" if entry.struck else "")
        if entry.checkpoint:
            out.say(textwrap.indent(entry.checkpoint, "    "))
    return {"game": game, "version": end, "entries": entries}


@at_place
def replay(
    out: Out,
    here: Place,
    game: GameId,
    to: Annotated[
        str, typer.Option("--to", "--at", help="Stop at this entry, or at the last one received by this time.")
    ] = "",
    seat: SeatName = "",
    token: TokenText = "",
) -> Document:
    """Fold the ledger from its first entry and print the position that its facts lead to."""
    caller = here.enter(game, seat, token)
    end = here.desk.version_of(game, to or None)
    with out.progress("Entries", end) as progress:
        seen, facts, seconds = _folded(here, game, end, caller, progress)
    out.say(
        f"{game}: {counted(end, 'entry', 'entries')} with {counted(facts, 'fact')} {'leads' if end == 1 else 'lead'} to"
    )
    out.say(picture(seen))
    told_speed = {"seconds": round(seconds, 6), "facts_per_second": round(facts / seconds) if seconds else None}
    return {"game": game, "version": end, "facts": facts, **told_speed, "view": seen}


def _folded(here: Place, game: str, end: int, caller: Caller, progress: Any) -> tuple[View, int, float]:
    """The position after so many entries, no snapshot used; how many facts that took, and how long the fold."""
    judge = here.desk.judge
    state: State = THRONES.blank()
    chain = Chain()
    facts = 0
    seconds = 0.0
    for stored in here.desk.store.entries(game, 0, end) if end else ():
        entry = chain.add(stored)
        began = time.perf_counter()
        read: tuple[Fact, ...] = judge.codec.facts(stored, entry)
        for fact in read:
            state = THRONES.evolve(state, fact)
        seconds += time.perf_counter() - began
        facts += len(read)
        progress(entry.seq)
    return view(state, here.desk.house_of(state, caller), THRONES.decisions(state, replaceable=True)), facts, seconds
