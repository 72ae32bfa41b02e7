"""Commands that need no store: sample, rules, trace."""

from __future__ import annotations

import gzip
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import typer

from api.cli.common import (
    DISAGREES,
    Document,
    EditionName,
    Failure,
    Options,
    Out,
    OwnTables,
    Players,
    SwitchWords,
    command,
    plain,
    usage,
)
from api.cli.place import Place, place
from api.cli.play import ordered, settings
from api.cli.read import ending, picture
from api.games.thrones.coverage import Exemption, Row, coverage, missing
from api.games.thrones.rulebook import parse_rules
from api.games.thrones.sentences import Prose
from api.games.thrones.traces.traces import EXPLANATIONS, Difference, Report, replay
from api.tokens import Caller
from domain.kernel.commands import Command
from domain.kernel.decision import Decision
from domain.kernel.printing import counted
from domain.thrones.bots import TEMPERAMENTS, Bot
from domain.thrones.language.start import Start
from domain.thrones.language.state import State
from domain.thrones.language.view import view
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.charter import Charter
from domain.thrones.tables.charters import SECOND, in_one_line
from domain.thrones.tables.edition import Edition
from domain.thrones.tables.editions.composed import edition_of
from events.envelope import encode

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "tests" / "rules"
SPECIFICATIONS = ROOT / "docs" / "rules"
MOST_ENTRIES = 6000
Answerer = Callable[[State, Decision[Any]], Command]


@command
def sample(
    out: Out,
    players: Players = None,
    seed: Annotated[int, typer.Option(help="The number of the game: draws and choices follow from it.", min=0)] = 1,
    edition: EditionName = SECOND,
    switch: SwitchWords = [],  # noqa: B006 - typer copies it
    tables: OwnTables = "",
    temperament: Annotated[
        list[str], typer.Option(help=f"How the bots feel, in turn: {', '.join(TEMPERAMENTS)}; drawn without it.")
    ] = [],  # noqa: B006 - typer copies it
    store: Annotated[str, typer.Option("--store", help="Play through the store at this URL.")] = "",
    queue: Annotated[str, typer.Option("--queue", help="URL of its queue's server, if that is another one.")] = "",
    data: Annotated[str, typer.Option(help="Play through the store of this data directory.")] = "",
    game: Annotated[str, typer.Option("--game", help="Its id in the store.", show_default="sample-PLAYERS-SEED")] = "",
) -> Document:
    """Let bots play a whole game, in process or through a store, and print how it ends."""
    charter = msgspec.structs.replace(ordered(edition, players, switch, tables), chance="stated")
    played = edition_of(charter)
    moods = _temperaments(temperament, charter.houses, seed)
    answer = _answerer(played, moods, seed)
    began = time.perf_counter()
    with out.progress("Round", played.constants.rounds) as progress:
        if store or data:
            with place(Options(data, store, queue), may_begin=True) as here:
                name = game or _name(charter, seed)
                state, entries = _through(here, name, charter, settings(switch), seed, answer, progress)
        else:
            name = ""
            state, entries = _in_process(charter, seed, answer, progress)
    seconds = time.perf_counter() - began
    assert state.is_over, "a game ends"
    seen = view(state, None)
    out.say(picture(seen))
    out.say()
    how = f"{ending(Prose(played), state)[:-1]} in round {state.round}, after {counted(entries, 'entry', 'entries')}."
    out.say(how, "bold")
    if line := in_one_line(charter):
        out.say(line)
    out.say("Temperaments: " + ", ".join(f"{house} {mood}" for house, mood in moods.items()))
    if name:
        out.say(f"The game is in the store as {name}.")
    return {
        "game": name or None,
        "players": len(charter.houses),
        "seed": seed,
        "temperaments": moods,
        "winner": state.winner,
        "drawn": list(state.drawn or ()),
        "round": state.round,
        "entries": entries,
        "ranking": state.ranking,
        "seconds": round(seconds, 6),
        "entries_per_second": round(entries / seconds),
    }


def _name(charter: Charter, seed: int) -> str:
    """The id of a sample: by its preset, unless that is the one that nobody has to name."""
    preset = "" if charter.edition == SECOND else f"{charter.edition}-"
    return f"sample-{preset}{len(charter.houses)}-{seed}"


def _temperaments(wanted: list[str], houses: tuple[str, ...], seed: int) -> dict[str, str]:
    unknown = sorted(set(wanted) - set(TEMPERAMENTS))
    if unknown:
        raise usage(f"There is no temperament {unknown[0]!r}; there are {', '.join(TEMPERAMENTS)}.")
    chance = random.Random(f"rookery/sample/{seed}")
    drawn = [chance.choice(sorted(TEMPERAMENTS)) for _ in houses]
    return {house: wanted[place % len(wanted)] if wanted else drawn[place] for place, house in enumerate(houses)}


def _answerer(edition: Edition, moods: dict[str, str], seed: int) -> Answerer:
    chance = random.Random(f"rookery/sample/{seed}/play")
    bots = {house: Bot(TEMPERAMENTS[mood], edition.board, edition.tokens) for house, mood in moods.items()}
    return lambda state, decision: bots[decision.player].answer(state, decision, chance.randrange)


def _in_process(charter: Charter, seed: int, answer: Answerer, progress: Callable[[int], None]) -> tuple[State, int]:
    state = THRONES.decide(THRONES.blank(), Start(charter=charter, seed=f"{seed:064x}")).state
    for entries in range(1, MOST_ENTRIES):
        owed = THRONES.decisions(state)
        if not owed:
            return state, entries
        state = THRONES.decide(state, answer(state, owed[0])).state
        progress(state.round)
    raise AssertionError("a game ends")


def _through(
    here: Place,
    game: str,
    charter: Charter,
    switches: dict[str, str],
    seed: int,
    answer: Answerer,
    progress: Callable[[int], None],
) -> tuple[State, int]:
    """The same game, every answer through inbox, worker and ledger."""
    made = here.desk.create(
        edition=charter.edition,
        players=len(charter.houses),
        switches=switches,
        tables=charter.tables or None,
        game=game,
        seed=f"{seed:064x}",
    )
    here.ruling(made.receipt)
    seat_of = {house: seat for seat, house in made.seats.items()}
    for entries in range(1, MOST_ENTRIES):
        state, owed = here.desk.decisions(game)
        if not owed:
            return state, entries
        progress(state.round)
        caller = Caller("seat", seat_of[owed[0].player])
        receipt = here.desk.submit(game, caller, encode(answer(state, owed[0])), seen=entries)
        here.ruling(receipt)
    raise AssertionError("a game ends")


# Reference games


@command
def trace(
    out: Out,
    files: Annotated[list[Path], typer.Argument(help="Reference games, .json or .json.gz.", show_default=False)],
    jobs: Annotated[int, typer.Option(help="Processes.", min=1)] = os.cpu_count() or 1,
) -> Document:
    """Replay recorded games on our engine and compare every recorded position, retreat and combat."""
    for path in files:
        if not path.is_file():
            raise usage(f"There is no file {path}.")
    reports: list[Report] = []
    with out.progress("Games", len(files)) as progress:
        for report in _replayed(files, jobs):
            reports.append(report)
            progress(len(reports))
    bad = [one for one in reports if one.unexplained or one.unused]
    for report in reports:
        _tell(out, report)
    total = Counter[str]()
    for report in reports:
        total.update(
            steps=report.steps,
            checkpoints=report.checkpoints,
            retreats=report.retreats,
            combats=report.combats,
            taken_over=report.taken_over,
        )
    kinds = Counter(one.explained for report in reports for one in report.differences if one.explained)
    out.say(
        f"\n{counted(len(reports), 'game')}, {counted(total['steps'], 'step')},"
        f" {counted(total['checkpoints'], 'checkpoint')},"
        f" {counted(total['retreats'], 'set of retreat areas', 'sets of retreat areas')},"
        f" {counted(total['combats'], 'combat')}; positions taken over: {total['taken_over']}."
    )
    for kind, number in sorted(kinds.items()):
        out.say(f"  {number} × {_kind(kind)}")
    out.say(
        "Everything else agrees." if not bad else f"{counted(len(bad), 'game disagrees', 'games disagree')}.",
        style="bold" if not bad else "red",
    )
    document = {
        "games": [{**plain(one), "unexplained": len(one.unexplained)} for one in reports],
        "totals": dict(total),
        "explained": dict(kinds),
        "disagree": [one.name for one in bad],
    }
    return document, DISAGREES if bad else 0


def _replayed(files: list[Path], jobs: int) -> Iterator[Report]:
    if jobs == 1 or len(files) < 3:
        yield from map(_replay_file, files)
        return
    with ProcessPoolExecutor(min(jobs, len(files)), mp_context=get_context("spawn")) as pool:
        yield from pool.map(_replay_file, files)


def _replay_file(path: Path) -> Report:
    raw = path.read_bytes()
    try:
        if path.suffix == ".gz":
            raw = gzip.decompress(raw)
        document = msgspec.json.decode(raw)
        name = path.name.removesuffix(".gz").removesuffix(".json")
        if not isinstance(document, dict) or document.get("format") != "reference-trace-1":
            raise usage(f"{path} is no reference game: its format is not reference-trace-1.")
        return replay(document, name)
    except (gzip.BadGzipFile, EOFError, msgspec.DecodeError) as error:
        raise usage(f"{path} cannot be read: {error}.") from error
    except (KeyError, TypeError, IndexError, msgspec.ValidationError) as error:
        raise usage(f"{path} does not hold what a reference game holds: {type(error).__name__} {error}.") from error


def _kind(name: str) -> str:
    rule, number, _ = EXPLANATIONS[name]
    return f"{name.replace('-', ' ')} [{rule}], number {number} of the known differences"


def _tell(out: Out, report: Report) -> None:
    winner = f"{report.winner or 'nobody'} wins"
    taken_over = f", {counted(report.taken_over, 'position')} taken over" if report.taken_over else ""
    out.say(f"{report.name}", style="bold")
    out.say(
        f"  {counted(report.steps, 'step')}, {counted(report.checkpoints, 'checkpoint')}, {report.retreats} of"
        f" {counted(report.retreats_recorded, 'set of retreat areas', 'sets of retreat areas')},"
        f" {counted(report.combats, 'combat')}, {counted(report.facts, 'fact')}"
        f"{taken_over}; {winner}"
    )
    for kind, number in sorted(Counter(one.explained for one in report.differences if one.explained).items()):
        out.say(f"  explained: {number} × {_kind(kind)}")
    for one in report.unexplained:
        _tell_difference(out, one)
    if report.unused:
        kinds = Counter(step["kind"] for step in report.unused)
        told = ", ".join(f"{kind} {number}" for kind, number in sorted(kinds.items()))
        out.say(f"  left unused: {told}, first step {report.unused[0]['n']}", style="red")


def _tell_difference(out: Out, one: Difference) -> None:
    out.say(f"  unexplained, behind step {one.step}: {one.what}", style="red")
    out.say(f"    ours:   {encode(one.ours).decode()}")
    out.say(f"    theirs: {encode(one.theirs).decode()}")
    out.say(f"    our rules: {', '.join(one.rules) or 'none'}")


# Rules


@command
def rules(
    out: Out,
    rule: Annotated[str, typer.Argument(help="Only rules whose identifier begins so, such as 2E-RAID.")] = "",
    edition: Annotated[
        Literal["second-edition", "first-edition"],
        typer.Option(help="Whose rules; a RULE that is named says it by itself."),
    ] = "second-edition",
    text: Annotated[bool, typer.Option("--text", help="Print the rules themselves, too.")] = False,
) -> Document:
    """Print a table of all rules: implemented, carried in which test, shown to be tested by a mutant, exempt."""
    book_of = {"1": "first-edition", "2": "second-edition"}
    specification = SPECIFICATIONS / f"{book_of.get(rule[:1], edition)}.md"
    if not specification.is_file() or not (RECORDS / "coverage.json").is_file():
        raise usage("The rules and the record of their tests are not installed; this command needs a checkout.")
    book = parse_rules(specification.read_text(encoding="utf-8"))
    rows = [row for row in _rows(book) if row.rule.startswith(rule.upper())]
    if not rows:
        raise usage(f"There is no rule whose identifier begins with {rule!r}.")
    out.table(
        ("Rule", "Carried by", "Carried in", "Switched off", "Exempt"),
        [(one.rule, ", ".join(one.carried) or "-", one.test or "-", _mutants(one), one.because) for one in rows],
    )
    if text:
        for one in rows:
            out.say(f"\n{one.rule}", style="bold")
            out.say(book[one.rule].text)
    implemented = sum(one.is_implemented for one in rows)
    shown = sum(one.killed for one in rows)
    exempt = sum(one.is_exempt for one in rows)
    lacking = missing(rows)
    out.say(
        f"\n{counted(len(rows), 'rule')}: {implemented} implemented, {shown} shown to be"
        f" tested by mutation, {exempt} exempt, {len(lacking)} missing."
    )
    if len(rows) > 1:
        out.say(
            "Carried in: a test while which a fact, a refusal or a decision carries the rule. Switched off: the test"
            " that was seen to fail without it; what has none may be tested all the same."
        )
    told = {
        "rules": [{**plain(one), "section": book[one.rule].section} for one in rows],
        "implemented": implemented,
        "exempt": exempt,
        "shown_by_mutation": shown,
        "missing": list(lacking),
    }
    if lacking:
        raise Failure(DISAGREES, "missing-rules", f"Neither implemented nor exempt: {', '.join(lacking)}.", **told)
    return told


def _rows(book: Iterable[str]) -> tuple[Row, ...]:
    """The table, from the files beside the tests."""
    carried = msgspec.json.decode((RECORDS / "coverage.json").read_bytes(), type=dict[str, dict[str, str]])
    exempt = msgspec.toml.decode((RECORDS / "exempt.toml").read_bytes(), type=dict[str, Exemption])
    killers: dict[str, list[str]] = {}
    if (RECORDS / "mutation.json").is_file():
        mutants = msgspec.json.decode((RECORDS / "mutation.json").read_bytes(), type=list[dict[str, Any]])
        for one in mutants:
            if one.get("killed_by"):
                killers.setdefault(one["rule"], []).append(one["killed_by"])
    return coverage(book, carried, exempt, killers)


def _mutants(row: Row) -> str:
    """The tests that were seen to fail with the rule switched off; a mutant is run until the first one fails."""
    return f"fails: {', '.join(dict.fromkeys(row.failed))}" if row.failed else ""
