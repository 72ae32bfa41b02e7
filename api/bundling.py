"""What a bundle of this game holds besides the ledger: the log as a table, and the board of every round."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from api.desk import Desk, LogEntry, readable
from api.games.thrones import diagram
from api.games.thrones.refusals import explain
from api.games.thrones.sentences import NAMES, Prose
from domain.kernel.printing import printable
from domain.thrones.language.facts import GameCreated, GameDrawn, GameWon, GatheringBegan, RoundBegan
from domain.thrones.language.state import State
from domain.thrones.language.view import view
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.edition import Edition
from domain.thrones.tables.editions.composed import edition_of
from events import codec
from events.bundle import CHECKPOINTS, FORMAT, LEDGER, MANIFEST, NOTE, Manifest, hashes, manifest_line, pack
from events.chain import Chain
from events.envelope import Refused, Stored, encode
from events.export import EndLine, export_game, parse
from events.notes import Checkpoint, join_notes, origin
from events.ruling import Judge

HEADINGS = ("entry", "at", "cause", "seat", "verdict", "text")
LOG = "log.tsv"


def bundle(
    desk: Desk,
    game: str,
    *,
    full: bool,
    player: str | None = None,
    seats: tuple[str, ...] = (),
    at: int | None = None,
) -> bytes:
    """A game as one file: everything, or what a House or the public may see; with ``at`` up to that entry."""
    lines = list(export_game(desk.store, game, full=full, player=player, seats=seats, at=at))
    end = next(one for one in parse(lines) if isinstance(one, EndLine))
    entries = list(desk.store.entries(game, 0, end.entries))
    shown = [one if full else codec.redact(one, player) for one in entries]
    parts = {LEDGER: b"".join(lines), LOG: log_of(desk.judge, shown), **boards_of(desk.judge, entries, player)}
    kept = desk.checkpoints(game, end.entries)
    if kept:
        parts[CHECKPOINTS] = join_notes(one.note for one in kept).encode()
    manifest = Manifest(
        format=FORMAT,
        game=game,
        rules=desk.judge.rules.name,
        engine=codec.entry(entries[-1]).engine if entries else desk.judge.engine,
        full=full,
        player=player,
        entries=end.entries,
        head=end.head,
        key=desk.signer.verifier.text() if desk.signer is not None else "",
        charter=msgspec.Raw(charter_of(desk.judge, entries)),
        origin=desk.origin(game),
        parts=hashes(parts),
    )
    parts[MANIFEST] = encode(manifest) + b"\n"
    if desk.signer is not None:
        signed = Checkpoint(origin(desk.signer.name, game), end.entries, end.head).text()
        parts[NOTE] = desk.signer.sign(signed + manifest_line(parts[MANIFEST])).encode()
    return pack(parts)


def log_of(judge: Judge, shown: Iterable[Stored]) -> bytes:
    """The log as tab-separated text, one row per sentence. Made of what the reader holds, so he can make it again."""
    rows = ["\t".join(HEADINGS)]
    prose = NAMES
    for stored in shown:
        entry = readable(judge, stored, prose)
        edition = _edition(entry)
        if edition is not None:
            prose = Prose(edition)
            entry = readable(judge, stored, prose)
        rows += ["\t".join(map(_cell, row)) for row in _rows(entry, prose)]
    return ("\n".join(rows) + "\n").encode()


def _edition(entry: LogEntry) -> Edition | None:
    for fact in entry.facts:
        if isinstance(fact, GameCreated | GatheringBegan):
            return edition_of(fact.charter)
    return None


def _rows(entry: LogEntry, prose: Prose) -> Iterator[tuple[object, ...]]:
    verdict = entry.verdict
    is_refused = isinstance(verdict, Refused)
    head = (entry.seq, entry.at, entry.cause, entry.seat or "", "refused" if is_refused else "accepted")
    texts = list(entry.sentences)
    if isinstance(verdict, Refused):
        rules = f" [{', '.join(verdict.rules)}]" if verdict.rules else ""
        texts.insert(0, explain(verdict.code, verdict.params, prose) + rules)
    for text in texts or [""]:
        yield (*head, text)


def _cell(value: object) -> str:
    return " ".join(printable(str(value)).split())


def charter_of(judge: Judge, entries: Sequence[Stored]) -> bytes:
    """The charter that the game began with; null until then."""
    for stored in entries:
        for fact in judge.codec.facts(stored):
            if isinstance(fact, GameCreated):
                return encode(fact.charter)
    return b"null"


def boards_of(judge: Judge, entries: Iterable[Stored], player: str | None) -> dict[str, bytes]:
    """The board at the beginning of every round and at the end, as a House or the public saw it. Needs all facts."""
    boards: dict[str, bytes] = {}
    line = judge.begin()
    chain = Chain()
    for stored in entries:
        entry = chain.add(stored)
        line = judge.evolve(line, stored, entry)
        facts = judge.codec.facts(stored, entry)
        rounds = [fact.round for fact in facts if isinstance(fact, RoundBegan)]
        if rounds:
            boards[f"boards/{entry.seq:05}-round-{rounds[-1]:02}.txt"] = _board(line.state, player)
        if any(isinstance(fact, GameWon | GameDrawn) for fact in facts):
            boards[f"boards/{entry.seq:05}-end.txt"] = _board(line.state, player)
    return boards


def _board(state: State, player: str | None) -> bytes:
    seen = view(state, player, THRONES.decisions(state, replaceable=True))
    return diagram.board(THRONES.rules_of(state).game(state), seen).encode() + b"\n"
