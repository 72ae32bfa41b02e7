"""Commands that play: new, token, submit, deadline, games."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from api.cli.common import (
    REFUSED,
    USAGE,
    Document,
    EditionName,
    Failure,
    GameId,
    Options,
    Out,
    OwnTables,
    Players,
    SeatName,
    SwitchWords,
    TokenText,
    cited,
    plain,
    usage,
    with_options,
)
from api.cli.failures import failure
from api.cli.place import Place, at_place, place
from api.desk import LogEntry, NotAllowed, lexicon_of
from api.games.thrones.refusals import explain
from api.games.thrones.sentences import Prose
from api.letters import Letter, Sent, Unread
from api.tokens import ORGANISER
from domain.kernel.commands import PassDeadline
from domain.kernel.printing import counted
from domain.kernel.refusal import Refusal
from domain.thrones.language.state import State
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.charter import Charter
from domain.thrones.tables.charters import SECOND, in_one_line, most_players, new_charter
from domain.thrones.tables.editions.composed import edition_of
from events.envelope import Refused, encode, number_of
from events.errors import RecordDamaged
from events.store import SUSPICIOUS, awaited


@with_options
def new(
    out: Out,
    options: Options,
    players: Players = None,
    switch: SwitchWords = [],  # noqa: B006 - typer copies it
    tables: OwnTables = "",
    seat: Annotated[
        list[str], typer.Option(help="A seat and its House, alice=stark; with --deal the seat alone.")
    ] = [],  # noqa: B006 - typer copies it
    deal: Annotated[bool, typer.Option("--deal", help="Deal the Houses to the seats by chance.")] = False,
    seed: Annotated[str, typer.Option(help="A number, or 64 hexadecimal digits: makes all draws known.")] = "",
    joint: Annotated[bool, typer.Option("--joint", help="The seats add to the seed before the game begins.")] = False,
    shared: Annotated[str, typer.Option(help="The id of a seed that several tables share: rookery shared new.")] = "",
    imposed: Annotated[bool, typer.Option("--imposed", help="Draws are made elsewhere and stated.")] = False,
    arbitration: Annotated[
        list[str], typer.Option(help="What is agreed about disputes, such as secrets-log=at-once.")
    ] = [],  # noqa: B006 - typer copies it
    edition: EditionName = SECOND,
    game: Annotated[str, typer.Option("--game", help="The id of the game.", show_default="a random one")] = "",
) -> Document:
    """Create a game and print the tokens of its seats, once."""
    charter = ordered(edition, players, switch, tables)
    with place(options, may_begin=True) as here:
        made = here.desk.create(
            edition=edition,
            players=len(charter.houses),
            switches=settings(switch),
            tables=charter.tables or None,
            seats=_seats(seat, deal, charter) if seat else None,
            deal=deal,
            game=game or None,
            seed=_seed(seed),
            chance="imposed" if imposed else "seeded",
            joint=joint,
            shared=shared,
            arbitration=settings(arbitration),
        )
        ruled = here.desk.readable(here.ruling(made.receipt), None, Prose(here.desk.edition(_state(here, made.game))))
        if isinstance(ruled.verdict, Refused):
            raise Refusal(ruled.verdict.code, ruled.verdict.rules, **ruled.verdict.params)
        seats = THRONES.seats(_state(here, made.game))
    for line in _told_of(charter):
        out.say(line)
    if joint:
        out.say("It begins when every seat has added to the seed, twice each: rookery contribute GAME --token TOKEN")
    out.say(f"Game {made.game} {'is agreed on' if joint else 'has begun'}. These tokens are shown only now:")
    rows = [(name, seats[name], made.tokens[name]) for name in sorted(seats, key=lambda one: seats[one])]
    out.table(("Seat", "House", "Token"), [*rows, (ORGANISER, "", made.organiser)])
    document = {"game": made.game, "seats": seats, "tokens": made.tokens, "organiser": made.organiser}
    return {**document, "receipt": made.receipt}


def ordered(edition: str, players: int | None, switch: list[str], tables: str) -> Charter:
    """The charter that options ask for, without its seats. Raises Refusal, Failure."""
    words = settings(switch)
    own = _tables(tables) if tables else None
    return new_charter(edition, most_players(edition, words) if players is None else players, words, own)


def _tables(file: str) -> dict[str, Any]:
    """Own tables: one JSON object, pointer to value."""
    try:
        found = msgspec.json.decode(_read(file))
    except (msgspec.DecodeError, RecursionError) as error:
        raise usage(f"{file} cannot be read as JSON: {error}.") from error
    if not isinstance(found, dict):
        raise usage(f'{file} holds no object such as {{"/constants/garrison": 3}}.')
    return found


def _told_of(charter: Charter) -> list[str]:
    """What players should know before they begin."""
    line = in_one_line(charter)
    number = len(charter.assumed or ())
    granted = (
        f" {counted(number, 'figure rests', 'figures rest')} on assumptions: rookery charter GAME tells which."
        if number
        else ""
    )
    return [line + granted] if line else []


def settings(switches: list[str]) -> dict[str, str]:
    """``k=v`` options as a mapping, no name given twice."""
    found: dict[str, str] = {}
    for switch in switches:
        name, mark, value = switch.partition("=")
        if not mark:
            raise usage(f"A switch is given as NAME=VALUE, such as tides-of-battle=on, not as {switch!r}.")
        name = name.strip()
        if any(_alike(name) == _alike(other) for other in found):
            raise usage(f"{name!r} is given twice.")
        found[name] = value.strip()
    return found


def _alike(name: str) -> str:
    """A name however it is spelled."""
    return name.replace("_", "-").lower()


def _seats(seats: list[str], deal: bool, charter: Charter) -> dict[str, str]:
    """Seat to House; with ``deal`` any House will do."""
    words = lexicon_of(edition_of(charter))
    houses, players = charter.houses, len(charter.houses)
    if deal:
        named = [seat.partition("=")[0] for seat in seats]
        if len(set(named)) != len(houses):
            raise usage(
                f"With --deal, {counted(players, 'player needs', 'players need')}"
                f" {counted(len(houses), 'different seat')}, not {len(set(named))}."
            )
        return dict(zip(named, houses, strict=True))
    found = {}
    for seat in seats:
        name, mark, house = seat.partition("=")
        if not mark:
            raise usage(f"A seat is given with its House, such as alice=stark, not as {seat!r}. Or let --deal deal.")
        if name in found:
            raise usage(f"The seat {name!r} is given twice.")
        found[name] = words.houses.resolve(house, len(name) + 2)
    return found


def _seed(text: str) -> str:
    """A number, or 64 hexadecimal digits."""
    if not text:
        return ""
    if len(text) < 64 and text.isascii() and text.isdigit():
        return f"{int(text):064x}"
    if len(text) != 64 or set(text.lower()) - set("0123456789abcdef"):
        raise usage(f"A seed is a number or 64 hexadecimal digits, not {text[:70]!r}.")
    return text.lower()


def _state(here: Place, game: str) -> State:
    state: State = here.desk.line(game).state
    return state


@at_place
def token(
    out: Out,
    here: Place,
    game: GameId,
    who: Annotated[str, typer.Argument(help="A seat, its House, or organiser.", show_default=False)],
) -> Document:
    """Issue a new token for a seat or the organiser; the old one is void."""
    here.caller(game)
    name = who if who == ORGANISER else here.seat(game, who)
    issued = here.desk.tokens.issue(game, name)
    out.say(issued)
    return {"game": game, "seat": name, "token": issued}


@with_options
def submit(
    out: Out,
    options: Options,
    file: Annotated[str, typer.Argument(help="A letter; - is standard input.", show_default=False)],
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Do not stop at a line that is refused or cannot be read.")
    ] = False,
    game: Annotated[str, typer.Option("--game", help="The game, where the letter does not say it.")] = "",
    seat: SeatName = "",
    token: TokenText = "",
    key: Annotated[str, typer.Option(help="A word for this letter: sent twice, it counts once.")] = "",
    seen: Annotated[int | None, typer.Option(help="The version of the game that the letter was written on.")] = None,
    receipts: Annotated[str, typer.Option(help="A directory to keep the signed receipts in.")] = "",
) -> Document:
    """Send a letter in, line by line, and print every ruling with its rules."""
    folder = _folder(receipts)
    text = _read(file)
    done: list[Sent] = []
    unread: list[Unread] = []
    with place(options) as here:

        def authorise(of: str, named: str, by: str) -> Any:
            if seat and named and here.seat(of, named) != here.seat(of, seat):
                raise Failure(REFUSED, "not-your-seat", f"You speak for seat {seat!r}, and the letter for {named!r}.")
            return here.caller(of, named, by)

        letter = Letter(
            here.desk,
            text,
            authorise=authorise,
            ruling=here.ruling,
            game=game,
            seat=seat,
            token=token,
            key=key,
            seen=seen,
        )
        if not letter.answers():
            raise usage("The letter holds no answer.")
        problem: Exception | None = None
        try:
            for sent in letter.send_all():
                if isinstance(sent, Unread):
                    unread.append(sent)
                    if not keep_going:
                        raise sent.problem
                    out.say(f"line {sent.line}  Not sent. {failure(sent.problem)}", style="red")
                    continue
                done.append(sent)
                _print(out, sent)
                if folder is not None and sent.receipt:
                    (folder / f"{sent.game}-{number_of(sent.inbox)}.receipt").write_text(sent.receipt, encoding="utf-8")
                if sent.is_refused and not keep_going:
                    break
        except Exception as error:  # noqa: BLE001 - what was ruled before belongs to the answer, and it is raised again
            problem = error
    waits = isinstance(problem, Failure) and problem.code == "not-ruled"  # the last one is in the store
    left = letter.answers() - len(done) - waits - (len(unread) if keep_going else 0)
    told: dict[str, Any] = {
        "sent": [{**plain(one), "refused": one.is_refused} for one in done],
        "refused": sum(one.is_refused for one in done),
        "unread": [_unread(one) for one in unread],
        "left": left,
    }
    if left:
        lines = f"{counted(left, 'line was', 'lines were')} not sent"
        out.say(f"Stopped there: {lines}{', counting the one with the mistake' if problem and not waits else ''}.")
    if problem is not None:
        failed = failure(problem)
        failed.details |= told
        raise failed from problem
    return told, REFUSED if told["refused"] else USAGE if unread else 0


def _unread(line: Unread) -> dict[str, Any]:
    failed = failure(line.problem)
    return {"line": line.line, "error": failed.code, "message": str(failed), **failed.details}


def _read(file: str) -> str:
    if file == "-":
        return sys.stdin.buffer.read().decode()
    return Path(file).read_text(encoding="utf-8")


def _folder(name: str) -> Path | None:
    if name:
        Path(name).mkdir(parents=True, exist_ok=True)
    return Path(name) if name else None


def _print(out: Out, sent: Sent) -> None:
    again = ", received before" if sent.again else ""
    out.say(f"line {sent.line}  {sent.house}: {sent.text}   (entry {sent.entry.seq}{again})", style="bold")
    if sent.is_refused:
        out.say(f"  Refused. {sent.reason}{cited(sent.rules)}", style="red")
    for sentence in told(sent.entry):
        out.say(f"  {sentence}")


def refusal_told(verdict: Refused, prose: Prose) -> str:
    """A refusal within a game: why, and by which rules."""
    return f"Refused. {explain(verdict.code, verdict.params, prose)}{cited(verdict.rules)}"


def told(entry: LogEntry, everything: bool = False) -> list[str]:
    """The sentences of an entry, without what is sealed for others."""
    return [one for one in entry.sentences if everything or not one.startswith("(sealed for ")]


@at_place
def deadline(
    out: Out,
    here: Place,
    game: GameId,
    house: Annotated[str, typer.Argument(help="The House, or its seat.", show_default=False)],
    question: Annotated[
        int | None, typer.Option(help="The number of the question; without it the one that is open now.")
    ] = None,
    token: TokenText = "",
) -> Document:
    """Declare that a House has missed its deadline: the default answers for it."""
    caller = here.caller(game, token=token)
    if not caller.is_organiser:
        raise NotAllowed("the organiser")
    state = _state(here, game)
    name = here.house(game, house)
    command = PassDeadline(player=name, question=state.question if question is None else question)
    receipt = here.desk.submit(game, caller, encode(command), cause="deadline", seen=here.desk.line(game).version)
    prose = Prose(here.desk.edition(state))
    entry = here.desk.readable(here.ruling(receipt), None, prose)
    if isinstance(entry.verdict, Refused):
        verdict = entry.verdict
        raise Failure(REFUSED, verdict.code, refusal_told(verdict, prose), entry=plain(entry))
    for sentence in told(entry):
        out.say(sentence)
    return {"game": game, "house": name, "entry": entry}


@at_place
def games(out: Out, here: Place) -> Document:
    """List all games: how far they are, and whom they wait for."""
    found = []
    names = here.desk.store.games()
    with out.progress("Games", len(names)) as show:
        for number, game in enumerate(names, start=1):
            found.append(_summary_or_damage(here, game))
            show(number)
    out.table(
        ("Game", "Players", "Entries", "Round", "Awaited", "Waiting", ""),
        [
            (
                one["game"],
                _or_dash(one["players"]),
                _or_dash(one["version"]),
                _or_dash(one["round"]),
                ", ".join(one["awaited"]) or "-",
                one["unruled"] or "-",
                _remark(one),
            )
            for one in found
        ],
    )
    if not found:
        out.say("There are no games.")
    return {"games": found}


def _or_dash(figure: int | None) -> int | str:
    return "-" if figure is None else figure


def _remark(one: dict[str, Any]) -> str:
    found = []
    if one["damaged"]:
        found.append(f"damaged: {one['damaged']}")
    if one["fork_of"]:
        found.append(f"a fork of {one['fork_of']}")
    if one["held"]:
        found.append("held: the store lost a part of it, see rookery doctor")
    if one["waits_for_engine"]:
        found.append(f"waits for {awaited(one['waits_for_engine'])}")
    elif one["ruled_by"]:
        found.append(f"ruled by {one['ruled_by']}, another engine than the one here")
    if one["parked"]:
        found.append(f"parked: {one['parked']}")
    elif one["on_trial"]:
        found.append("on trial: workers have died at it")
    elif one["winner"]:
        found.append(f"{one['winner']} has won")
    elif one["drawn"]:
        found.append(f"a draw of {', '.join(one['drawn'])}")
    return ", ".join(found)


def _summary_or_damage(here: Place, game: str) -> dict[str, Any]:
    """One damaged game does not hide the others."""
    try:
        return _summary(here, game)
    except RecordDamaged as error:
        nothing = dict.fromkeys(("version", "round", "winner", "fork_of", "parked", "waits_for_engine", "ruled_by"))
        flags = {"held": False, "on_trial": False}
        lists: dict[str, Any] = {"awaited": [], "drawn": []}
        return {"game": game, "players": None, "unruled": 0, **nothing, **flags, **lists, "damaged": str(error)}


def elsewhere(state: State) -> str | None:
    """The engine that rules on a running game, where it is another one than ours."""
    pinned = THRONES.pinned(state)
    return pinned if not state.is_over and pinned not in ("", THRONES.engine_of(state)) else None


def _summary(here: Place, game: str) -> dict[str, Any]:
    line = here.desk.line(game)
    state: State = line.state
    record = here.desk.store.record(game)
    parked, unruled = record.parked, here.desk.store.unruled_tail(game)
    return {
        "game": game,
        "players": len(state.houses),
        "version": line.version,
        "round": state.round,
        "awaited": [f"{one.player} ({one.kind})" for one in state.awaited] if not state.is_over else [],
        "unruled": unruled,
        "winner": state.winner,
        "drawn": list(state.drawn or ()),
        "fork_of": state.docket.origin.game if state.docket.origin else None,
        "parked": f"{parked.error} at {parked.where}" if parked else None,
        "held": record.is_held,
        "on_trial": here.desk.store.unreleased(game) >= SUSPICIOUS,
        "waits_for_engine": record.waits.engine if record.waits is not None and unruled else None,
        "ruled_by": elsewhere(line.state),
        "damaged": None,
    }
