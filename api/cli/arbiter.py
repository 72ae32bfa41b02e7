"""Commands of a dispute: why, appeal, plan, rewind, correct, opinion, amend; perspective and secrets."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

import domain
from api.bench import MAY_AMEND, Bench, PlannedAnswer, picture
from api.certificate import as_text, certify
from api.cli.common import (
    REFUSED,
    REPEATED,
    Document,
    Failure,
    GameId,
    Group,
    Moment,
    Options,
    Out,
    SeatName,
    TokenText,
    plain,
    usage,
    with_options,
)
from api.cli.diff import tell_radius
from api.cli.place import Place, at_place, place
from api.cli.play import refusal_told, told
from api.engines import compare
from api.games.thrones.sentences import part_in_words
from api.tokens import ORGANISER, Caller
from domain.kernel.arbiter import Amend, Correct, Rewind, RuleOnAppeal
from domain.kernel.docket import LOST
from domain.kernel.printing import one_line, printable_json
from domain.thrones.ruleset import THRONES
from events.envelope import Receipt, Refused
from events.export import export_game

Entry = Annotated[int, typer.Argument(help="The number of an entry.", show_default=False)]
Reason = Annotated[str, typer.Option(help="Why, for everybody to read.", show_default=False)]
Why = Annotated[str, typer.Option(help="Why you read what is hidden; it is recorded and told at the end.")]
Planned = Annotated[int, typer.Option("--version", help="The version that the plan was made for.", show_default=False)]
Causal = Annotated[bool, typer.Option("--causal", help="Offer the struck-out answers again; keep what still holds.")]
Redraw = Annotated[bool, typer.Option("--redraw", help="Draw anew what is not yet drawn.")]
States = Annotated[list[str], typer.Option("--state", help="A fact as JSON, stated by the arbiter; any number.")]
Facts = Annotated[str, typer.Option("--facts", help="A file with a JSON list of facts.")]
Without = Annotated[list[int], typer.Option("--without", help="Do not make the correction of this entry again.")]
InsteadOf = Annotated[
    list[int], typer.Option("--instead-of", help="The entry of a correction that this decides about.")
]
Number = Annotated[int | None, typer.Option("--appeal", help="The appeal that this rules on.")]
Opinion = Annotated[str, typer.Option("--opinion", help="The opinion on that appeal.")]


def bench(here: Place) -> Bench:
    """The bench of a place. A read is recorded in the inbox even where nobody can rule on it now."""

    def ruled(receipt: Receipt) -> None:
        try:
            here.ruling(receipt)
        except Failure as failed:
            if failed.code != "not-ruled":
                raise

    return Bench(here.desk, ruled)


def _stated(state: list[str], file: str) -> tuple[dict[str, Any], ...]:
    """Facts that the arbiter states, from options and from a file."""
    try:
        found = [msgspec.json.decode(one.encode(), type=dict[str, Any]) for one in state]
        if file:
            found += msgspec.json.decode(Path(file).read_bytes(), type=list[dict[str, Any]])
    except msgspec.MsgspecError as error:
        raise usage(
            f'A fact is JSON such as {{"fact": "PowerChanged", "house": "stark", "by": 1}}: {error}.'
        ) from error
    return tuple(found)


@at_place
def why(
    out: Out,
    here: Place,
    game: GameId,
    entry: Annotated[
        str, typer.Argument(help="An entry, or a time: the last one received by then.", show_default=False)
    ],
    at: Moment = "",
    seat: SeatName = "",
    token: TokenText = "",
) -> Document:
    """Explain one entry: who decided what, by which rules, with which sums and draws, the board before and after."""
    caller = here.enter(game, seat, token)
    seq = here.desk.version_at(game, entry)
    assert seq is not None, "an entry is named"
    found = certify(here.desk, game, caller, seq, here.desk.version_of(game, at) if at else None)
    out.say(as_text(found).rstrip("\n"))
    return found


@at_place
def arbiter(
    out: Out,
    here: Place,
    game: GameId,
    name: Annotated[str, typer.Argument(help="What the arbiter is called.", show_default=False)],
    seat: Annotated[str, typer.Option(help="His seat, or its House, where he plays in the game himself.")] = "",
) -> Document:
    """Issue a token for an arbiter; an old one of the same name is void."""
    here.enter(game)
    plays = here.seat(game, seat) if seat else ""
    Bench.check_name(here.desk.agreed(game), name, plays)
    Bench.check_seat(here.desk.line(game).state, plays)
    issued = here.desk.tokens.issue_arbiter(game, name, plays)
    out.say(issued)
    return {"game": game, "arbiter": name, "seat": plays or None, "token": issued}


@at_place
def perspective(
    out: Out,
    here: Place,
    game: GameId,
    house: Annotated[str, typer.Argument(help="A House, or its seat.", show_default=False)],
    at: Annotated[str, typer.Option(help="An entry, or a time such as 2025-01-31T18:00:00Z.")] = "",
    why: Why = "",
    token: TokenText = "",
) -> Document:
    """Show the game as one House knew it at a moment, beside the truth. Before the end it needs a reason."""
    caller = here.enter(game, token=token)
    wanted = here.desk.version_at(game, at or None)
    found = bench(here).perspective(game, caller, here.house(game, house), wanted, why)
    out.say(f"{game}, version {found.version}")
    out.say(picture(found))
    return found


@at_place
def secrets(out: Out, here: Place, game: GameId, at: Moment = "") -> Document:
    """List who has read secrets by privilege, as everybody may know it now."""
    here.enter(game)
    reads = bench(here).reads(game, here.desk.version_of(game, at or None))
    sealed = "(opened when the game ends)"
    rows = [(one.entry, one.at, one.who or sealed, one.what or "", one.why or "") for one in reads]
    out.table(("Entry", "When", "Who", "What", "Why"), rows)
    if not reads:
        out.say("Nobody has read secrets by privilege.")
    return {"game": game, "reads": reads}


# Plans


def _say_answers(out: Out, answers: tuple[PlannedAnswer, ...], names: Callable[[str | None], str]) -> None:
    for one in answers:
        differs = f": {', '.join(one.differs)}" if one.differs else ""
        out.say(f"  entry {one.entry}  {names(one.house)}, {one.kind}: {one.outcome}{differs}")
        if one.said:
            out.say(f"    {one.said}")


@at_place
def plan(
    out: Out,
    here: Place,
    game: GameId,
    to: Entry,
    causal: Causal = False,
    redraw: Redraw = False,
    state: States = [],  # noqa: B006 - typer copies it
    without: Without = [],  # noqa: B006 - typer copies it
    facts: Facts = "",
    appeal: Number = None,
    why: Why = "",
    token: TokenText = "",
) -> Document:
    """Show what a rewind to the position after an entry would do. It does nothing yet."""
    caller = here.enter(game, token=token)
    command = Rewind(to=to, reason="", causal=causal, correction=_stated(state, facts), appeal=appeal)
    command = bench(here).corrections(game, command, tuple(without))
    found = bench(here).plan_rewind(game, caller, command, redraw=redraw, why=why)
    prose = here.desk.prose(game)
    struck = f"entries {found.struck[0]} to {found.struck[-1]}" if len(found.struck) > 1 else f"entry {found.struck[0]}"
    out.say(f"A rewind of {game} to entry {to} strikes out {struck}.", style="bold")
    out.say("Secrets that have come to light since:" if found.exposed else "No secret has come to light since.")
    for one in found.exposed:
        seen_by = "everybody" if one.to == ("everybody",) else ", ".join(map(prose.name, one.to))
        detail = ", ".join(prose.name(word) for word in one.detail.split(", "))
        out.say(f"  entry {one.entry}  {one.what} ({detail}), seen by {seen_by}")
    if causal:
        out.say(f"Answers: {found.kept} kept, {found.asked_anew} asked anew, {found.offered_later} offered later.")
        _say_answers(out, found.answers, prose.name)
        for remark in found.remarks:
            out.say(remark)
    for sentence in found.void:
        out.say(sentence)
    for corrected in found.corrections:
        differs = (
            f": {', '.join(part_in_words(prose, name) for name in corrected.differs)}" if corrected.differs else ""
        )
        out.say(f"Correction of entry {corrected.entry} ({one_line(corrected.reason)}): {corrected.outcome}{differs}")
        for sentence in corrected.stated:
            out.say(f"    {sentence}")
    if redraw:
        out.say("New draws are made when it is applied; what is offered behind the first may come out otherwise.")
    out.say(f"Apply it with: rookery rewind {game} {to} --version {found.version} --reason … and the same options.")
    return found


# Acts


def _act(
    here: Place, out: Out, game: str, caller: Caller, command: Any, version: int | None = None, redraw: bool = False
) -> Document:
    """Send an act and print what came of it."""
    return _conclude(here, out, game, bench(here).act(game, caller, command, expected=version, redraw=redraw))


def _conclude(here: Place, out: Out, game: str, receipt: Receipt) -> Document:
    return {"game": game, "entry": _concluded(here, out, game, receipt)}


def _concluded(here: Place, out: Out, game: str, receipt: Receipt) -> Any:
    entry = bench(here).told(game, here.ruling(receipt))
    if isinstance(entry.verdict, Refused):
        verdict = entry.verdict
        prose = here.desk.prose(game)
        raise Failure(REFUSED, verdict.code, refusal_told(verdict, prose), entry=plain(entry))
    out.say(f"Entry {entry.seq}:", style="bold")
    for sentence in told(entry):
        out.say(f"  {sentence}")
    return entry


@at_place
def rewind(
    out: Out,
    here: Place,
    game: GameId,
    to: Entry,
    version: Planned,
    reason: Reason,
    causal: Causal = False,
    redraw: Redraw = False,
    state: States = [],  # noqa: B006 - typer copies it
    without: Without = [],  # noqa: B006 - typer copies it
    facts: Facts = "",
    appeal: Number = None,
    opinion: Opinion = "",
    token: TokenText = "",
) -> Document:
    """Take a game back to the position after an entry, as planned. Nothing is removed: entries are struck out."""
    caller = here.enter(game, token=token)
    stated = _stated(state, facts)
    command = Rewind(to=to, reason=reason, causal=causal, correction=stated, appeal=appeal, opinion=opinion)
    command = bench(here).corrections(game, command, tuple(without))
    return _act(here, out, game, caller, command, version, redraw)


@at_place
def correct(
    out: Out,
    here: Place,
    game: GameId,
    reason: Annotated[str, typer.Option(help="Why, for everybody to read.")] = "",
    version: Annotated[int | None, typer.Option(help="The version that the plan was made for.")] = None,
    state: States = [],  # noqa: B006 - typer copies it
    instead_of: InsteadOf = [],  # noqa: B006 - typer copies it
    facts: Facts = "",
    appeal: Number = None,
    opinion: Opinion = "",
    token: TokenText = "",
) -> Document:
    """State facts on the present position. Without --version it only shows what it would do."""
    caller = here.enter(game, token=token)
    stated, decided = _stated(state, facts), tuple(instead_of)
    command = Correct(facts=stated, reason=reason, instead_of=decided, appeal=appeal, opinion=opinion)
    if version is not None:
        return _act(here, out, game, caller, command, version)
    found = bench(here).plan_correction(game, caller, command)
    prose = here.desk.prose(game)
    out.say(f"This would be stated in {game}:", style="bold")
    for sentence in found.stated:
        out.say(f"  {sentence}")
    _say_answers(out, found.answers, prose.name)
    out.say(f"Apply it with the same options and: --version {found.version} --reason …")
    return found


@at_place
def appeal(
    out: Out,
    here: Place,
    game: GameId,
    entry: Entry,
    statement: Annotated[str, typer.Option(help="What is wrong with the ruling.", show_default=False)],
    seat: SeatName = "",
    token: TokenText = "",
) -> Document:
    """Appeal against the ruling of an entry. The game stands still until an arbiter has ruled on it."""
    caller = here.enter(game, seat, token)
    return _conclude(here, out, game, bench(here).appeal(game, caller, entry, statement))


@with_options
def amend(
    out: Out,
    options: Options,
    reason: Reason,
    game: Annotated[str, typer.Argument(help="The game; none with --all.", show_default=False)] = "",
    every: Annotated[bool, typer.Option("--all", help="Every running game that another engine rules.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Amend, without being asked.")] = False,
    token: TokenText = "",
) -> Document:
    """Move a running game to the rules engine that is installed here, from the next entry on.

    First it says what of the record would come out otherwise by this engine; nothing of it changes. Letters that wait
    for the old engine are ruled by the new one.
    """
    if bool(game) == every:
        raise usage("Name a game, or --all.")
    with place(options) as here:
        found = [_compared(here, out, one, token) for one in ([game] if game else _elsewhere(here))]
        for one in found:
            name = str(one["game"])
            if not yes and (out.json or not sys.stdin.isatty() or not typer.confirm(f"Amend {name}?")):
                continue
            command = Amend(engine=here.desk.engine_of(name), reason=reason)
            receipt = bench(here).act(name, here.caller(name, token=token), command)
            one["entry"] = _concluded(here, out, name, receipt)
        if not found:
            out.say("No running game is ruled by another engine.")
        elif not any("entry" in one for one in found):
            out.say("Nothing is amended; --yes amends.")
        out.document({"games": found})


OURS = Path(domain.__file__).parents[1]
"""Where the engine is that is installed here."""


def _elsewhere(here: Place) -> list[str]:
    """Running games that another engine rules."""
    found = []
    for game in here.desk.store.games():
        line = here.desk.line(game)
        if not THRONES.is_over(line.state) and THRONES.pinned(line.state) not in ("", THRONES.engine_of(line.state)):
            found.append(game)
    return found


def _compared(here: Place, out: Out, game: str, token: str) -> dict[str, Any]:
    """Tell what would come out otherwise in a game; what its facts say is for whoever may read all of them."""
    caller = here.caller(game, token=token)
    if caller.role != ORGANISER:
        bench(here).check(game, caller, MAY_AMEND)
    here.settle(game)
    radius = compare(game, list(export_game(here.desk.store, game)), OURS)
    tell_radius(out, radius)
    pinned, own = THRONES.pinned(here.desk.line(game).state), here.desk.engine_of(game)
    out.say(f"An engine is named after how it rules: {radius.engine} on all games, {own} on those played like {game}.")
    if pinned == own:
        out.say(f"{game} is ruled by {pinned} already: amended or not, it goes on as it does.")
    else:
        out.say(f"{game} is ruled by {pinned or 'nobody yet'}; once amended, by {own}, from its next entry on.")
    return {"game": game, "from": pinned, "to": own, "otherwise": plain(radius)}


# Opinions

opinions = typer.Typer(cls=Group, help="Rule on an appeal without taking anything back.", no_args_is_help=True)


@opinions.command("give")
@with_options
def give(
    out: Out,
    options: Options,
    game: GameId,
    appeal: Annotated[int, typer.Argument(help="The number of the appeal.", show_default=False)],
    outcome: Annotated[
        str,
        typer.Argument(help="upheld (the ruling stands), declined, dismissed.", show_default=False),
    ],
    text: Annotated[str, typer.Option(help="The opinion.", show_default=False)],
    token: TokenText = "",
) -> Document:
    """Decline an appeal, uphold the ruling, or dismiss the appeal. Rewinds and corrections name theirs themselves."""
    if outcome not in LOST:
        raise usage(
            f"An appeal is upheld, declined, dismissed here, not {outcome!r}; rewind and correct take --appeal."
        )
    with place(options) as here:
        caller = here.enter(game, token=token)
        command = RuleOnAppeal(appeal=appeal, outcome=outcome, opinion=text)
        return _act(here, out, game, caller, command)


@opinions.command("export")
@at_place(repeated=REPEATED[:-1])
def export(
    out: Out,
    here: Place,
    game: GameId,
    appeal: Annotated[int, typer.Argument(help="The number of the appeal.", show_default=False)],
    file: Annotated[str, typer.Argument(help="Where to write; standard output without it.")] = "-",
    token: TokenText = "",
) -> Document:
    """Write an appeal that was ruled on as a case, position included, to try every engine to come with it."""
    caller = here.enter(game, token=token)
    found = bench(here).case(game, caller, appeal)
    text = printable_json(msgspec.json.format(msgspec.json.encode(found), indent=2).decode()) + "\n"
    if file == "-":
        typer.echo(text, nl=False)
    else:
        Path(file).write_text(text, encoding="utf-8")
