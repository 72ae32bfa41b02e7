"""Commands on the record: verify, export, import."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from api.bundling import bundle
from api.cli.arbiter import bench
from api.cli.common import (
    DISAGREES,
    REFUSED,
    Document,
    Failure,
    GameId,
    Moment,
    Options,
    Out,
    SeatName,
    TokenText,
    plain,
    usage,
    with_options,
)
from api.cli.place import place
from api.importing import take_in
from api.proving import Proof, prove, prove_file, read_note
from domain.kernel.printing import counted
from domain.thrones.language.state import State
from events.bundle import is_bundle
from events.errors import SharedSeedExists
from events.evidence import Finding, Note
from events.export import export_game
from events.notes import NoteInvalid, Verifier
from events.verify import Report, verify_store

KEY_FORM = "NAME+0123abcd+BASE64"


@with_options
def verify(
    out: Out,
    options: Options,
    game: Annotated[str, typer.Argument(help="A game, an exported file or a bundle.", show_default=False)],
    checkpoint: Annotated[list[str], typer.Option(help="A checkpoint that somebody kept.")] = [],  # noqa: B006 - typer copies it
    receipt: Annotated[list[str], typer.Option(help="A receipt that somebody kept.")] = [],  # noqa: B006 - typer copies it
    key: Annotated[list[str], typer.Option(help="The key of the server that signed, or a file with it.")] = [],  # noqa: B006 - typer copies it
) -> Document:
    """Rule again on every command, compare every fact, digest, draw and signature; name whatever disagrees.

    A file or a bundle needs no server. What players kept, checkpoints and receipts, is held against the record.
    """
    path = Path(game)
    notes = [read_note(Path(name)) for name in (*checkpoint, *receipt)]
    keys = [_key(text) for text in key]
    if path.is_file():
        if notes and not keys and not is_bundle(path):
            raise usage("To check signatures, give the key of the server that made them: --key.")
        with out.progress("Entries", None) as progress:
            proof = prove_file(path, notes, keys, progress)
    else:
        if os.sep in game or path.suffix in (".jsonl", ".zip"):
            raise usage(f"There is no file {game}.")
        with place(options) as here:
            here.enter(game)
            desk = here.desk
            keys = keys or ([desk.key()] if desk.signer is not None else [])
            with out.progress("Entries", desk.store.version(game)) as progress:
                report = verify_store(desk.store, desk.judge, game, progress, keys)
            if report.disagreement is not None:
                _disagree(game, report)
            kept = [Note(f"Checkpoint {one.size} of the store", one.note) for one in desk.store.checkpoints(game)]
            proof = prove(list(export_game(desk.store, game)), notes, keys, None, kept)
    return _conclude(out, game, proof)


def _key(text: str) -> Verifier:
    """A key by itself, or in a file."""
    path = Path(text)
    if path.is_file():
        try:
            return Verifier.parse(path.read_text(encoding="utf-8"))
        except NoteInvalid as error:
            raise usage(f"The file {text} holds no key: {error.why}.") from error
    try:
        return Verifier.parse(text)
    except NoteInvalid as error:
        if "+" in text:
            raise usage(f"{text!r} is no key: {error.why}.") from error
        raise usage(f"There is no file {text}, and a key looks like {KEY_FORM}.") from error


def _conclude(out: Out, game: str, proof: Proof) -> Document:
    if proof.report is not None and proof.report.disagreement is not None:
        _disagree(game, proof.report, proof)
    told = _document(game, proof)
    if proof.findings:
        first = proof.findings[0]
        message = " ".join(_sentence(one) for one in proof.findings)
        if first.what == "record":
            message = f"The record is damaged. {first.detail}"
        raise Failure(DISAGREES, "disagreement", message, **told)
    if proof.report is not None:
        facts = counted(proof.report.facts, "fact")
        elsewhere = sum(one.last - one.first + 1 for one in proof.report.elsewhere)
        if elsewhere:
            again = proof.entries - elsewhere
            out.say(
                f"{game}: the record of {_entries(proof.entries)} holds;"
                f" {counted(again, 'of them comes', 'of them come')} out the same."
            )
        else:
            out.say(
                f"{game}: confirmed. {_entries(proof.entries)} with {facts}"
                f" {'comes' if proof.entries == 1 else 'come'} out the same."
            )
        out.say(f"head {proof.head}, ruled by {', '.join(proof.report.engines) or 'nobody'}")
    else:
        out.say(f"{game}: the chain of {_entries(proof.entries)} holds, head {proof.head}.")
    if proof.drawn.proven:
        out.say(f"{counted(proof.drawn.proven, 'draw follows', 'draws follow')} from the seed, which is open.")
    if proof.evidence:
        out.say(f"{counted(proof.evidence, 'signed note holds', 'signed notes hold')}.")
    for remark in proof.remarks:
        out.say(remark)
    return told


def _disagree(game: str, report: Report, proof: Proof | None = None) -> None:
    found = report.disagreement
    assert found is not None, "there is something to tell"
    where = f"Entry {found.seq}" if found.seq else f"The {found.place}"
    detail = found.detail if len(found.detail) < 600 else found.detail[:600] + "…"
    before = counted(report.entries, "entry before it is", "entries before it are")
    message = f"{where} disagrees ({found.what}): {detail}. {before} confirmed."
    more = _document(game, proof) if proof is not None else {"game": game, "confirmed": False, **plain(report)}
    raise Failure(DISAGREES, "disagreement", message, **more)


def _sentence(found: Finding) -> str:
    where = found.name  # a file, or a part of a bundle: its name stays as it is
    if found.name == "record":
        where = f"Entry {found.entry}" if found.entry else "The record"
    return f"{where} disagrees ({found.what}): {found.detail}."


def _document(game: str, proof: Proof) -> dict[str, Any]:
    report = {} if proof.report is None else plain(proof.report)
    more = {name: plain(getattr(proof, name)) for name in ("drawn", "evidence", "findings", "remarks")}
    told = {"game": game, "confirmed": proof.is_confirmed, "entries": proof.entries, "head": proof.head}
    return {**told, **report, "redacted": not proof.full, "origin": plain(proof.origin), **more}


@with_options
def export(
    out: Out,
    options: Options,
    game: GameId,
    file: Annotated[str, typer.Argument(help="Where to write; standard output without it.")] = "-",
    seat: SeatName = "",
    public: Annotated[bool, typer.Option("--public", help="Only what everybody may see.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if there is one.")] = False,
    token: TokenText = "",
    as_bundle: Annotated[bool, typer.Option("--bundle", help="One file with log, boards and checkpoints.")] = False,
    at: Moment = "",
    format: Annotated[str, typer.Option(help="log: as a play-by-mail log, from what everybody knows.")] = "",
    why: Annotated[str, typer.Option(help="Why every secret of a running game is written out; it is recorded.")] = "",
) -> Document:
    """Write a game as JSON Lines or as a bundle: everything, or what a seat or the public may see."""
    if out.json and file == "-":
        raise usage("With --json, name a file for the game: standard output holds the JSON document.")
    if file != "-" and not force and os.path.lexists(file):
        raise usage(f"{file} is there already. --force overwrites it.", file=file)
    with place(options) as here:
        caller = here.enter(game, seat, token)
        if _is_log(format):
            from api.cli import logs  # readers of logs are large, and few ask for them

            text = logs.as_log(here, game).encode()
            with _sink(file) as sink:
                sink.write(text)
            if file != "-":
                out.say(f"{game}: {counted(len(text), 'byte')} in {file}, as a play-by-mail log.")
            return {"game": game, "file": file, "bytes": len(text), "format": format}
        if at:
            here.desk.version_of(game, at)
        state: State = here.desk.line(game).state
        full = caller.role == "operator" and not public
        if full and state.charter.edition and not state.is_disclosed:
            if not why.strip():
                raise usage(
                    "A full export of a running game holds every secret: say why with --why, which is recorded, or use"
                    " --public or --seat."
                )
            bench(here).write_down(game, caller, "a full export, every secret included", why)
        end = here.desk.version_of(game, at) if at else None
        player = None if public else here.desk.house_of(state, caller)
        seats = (caller.seat,) if caller.seat and not public else ()
        count = 0
        what = "with every secret" if full else f"as {player} sees it" if player else "as everybody sees it"
        if as_bundle:
            with _sink(file) as sink:
                count = sink.write(bundle(here.desk, game, full=full, player=player, seats=seats, at=end))
            if file != "-":
                out.say(f"{game}: {counted(count, 'byte')} in {file}, {what}.")
            return {"game": game, "file": file, "bytes": count, "full": full, "player": player}
        with _sink(file) as sink, out.progress("Lines", None) as progress:
            for line in export_game(here.desk.store, game, full=full, player=player, seats=seats, at=end):
                sink.write(line)
                count += 1
                progress(count)
    if file != "-":
        out.say(f"{game}: {counted(count, 'line')} in {file}, {what}.")
    return {"game": game, "file": file, "lines": count, "full": full, "player": player}


def _is_log(format: str) -> bool:
    """Whether the format is that of play-by-mail logs. Raises Failure for one that nobody knows."""
    if format not in ("", "log"):
        raise usage(f"There is no format {format}; there is: log.", format=format)
    return format == "log"


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


@with_options
def import_(
    out: Out,
    options: Options,
    file: Annotated[str, typer.Argument(help="A full export or bundle; - is standard input.", show_default=False)],
    name: Annotated[str, typer.Option("--as", help="Another id for the game.")] = "",
    format: Annotated[str, typer.Option(help="log: a play-by-mail log of another site.")] = "",
    accept: Annotated[
        list[str],
        typer.Option(
            help="With a log: an entry whose outcome is accepted against our ruling, as a correction; or all."
        ),
    ] = [],  # noqa: B006 - typer copies it
    assumptions: Annotated[bool, typer.Option(help="With a log: list every assumption, not only how many.")] = False,
) -> Document:
    """Take in an exported game; it goes on where it was. Its seats need new tokens.

    A play-by-mail log (--format log) becomes a game of ours: what it leaves out is inferred and listed.
    Where it goes on from an outcome that the rules do not give, the game stands before it until that is accepted.
    """
    if _is_log(format):
        from api.cli import logs  # as above

        source = logs.source_of(file)
        with place(options, may_begin=True) as here:
            return logs.take_in(here, out, source, name, accept, every=assumptions)
    if accept or assumptions:
        raise usage("--accept and --assumptions go with --format log.")
    with place(options, may_begin=True) as here:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        try:
            done = take_in(here.desk, raw, name or None, here.settle)
        except SharedSeedExists as error:
            said = f"The game is here. Another shared seed is called {error.shared!r}: its own stays sealed."
            raise Failure(REFUSED, "shared-seed-exists", said) from error
        version = here.desk.store.version(done.game)
    waited = counted(done.unruled, "submission")
    out.say(f"Game {done.game} is here with {_entries(done.version)}; {waited} waited for a ruling.")
    out.say("Give its seats tokens with: rookery token GAME SEAT")
    return {"game": done.game, "version": version, "imported": done.version, "unruled": done.unruled}


def _entries(number: int) -> str:
    return counted(number, "entry", "entries")
