"""Proving a game from files alone: the record, its draws, its signatures, and what players have kept.

Nothing here asks a server or a store.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from api.bundling import LOG, boards_of, charter_of, log_of
from domain.kernel.docket import Origin
from domain.kernel.printing import counted, one_line
from domain.thrones.review.draws import Drawn, Draws, PublicDraws
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.editions.composed import edition_of
from events import codec
from events.bundle import MANIFEST, NOTE, Bundle, is_bundle, manifest_line, unpack
from events.chain import Chain
from events.errors import RecordError
from events.evidence import Finding, Note, book_of, weigh
from events.export import EntryLine, Header, parse
from events.notes import NoteInvalid, Verifier, is_exact, origin, read_checkpoint, signers_of
from events.ruling import Judge
from events.verify import Disagreement, Progress, Report, verify_chain, verify_export


class Proof(msgspec.Struct, frozen=True):
    """What was found. ``report`` is None for a redacted file: of it only the chain can be checked.

    ``origin`` is that of a fork.
    ``evidence`` counts the notes that hold; ``findings`` are what does not; ``remarks`` are what cannot be told.
    """

    game: str
    full: bool
    entries: int
    head: str
    report: Report | None
    drawn: Drawn
    evidence: int
    keys: tuple[str, ...]
    findings: tuple[Finding, ...]
    remarks: tuple[str, ...]
    origin: Origin | None = None

    @property
    def is_confirmed(self) -> bool:
        return not self.findings


def prove_file(
    path: Path, notes: Sequence[Note] = (), keys: Sequence[Verifier] = (), progress: Progress | None = None
) -> Proof:
    """Check an export or a bundle. Raises ``BundleDamaged`` for one that cannot be unpacked."""
    if not is_bundle(path):
        with path.open("rb") as lines:
            return prove(list(lines), notes, keys, progress)
    found = unpack(path.read_bytes())
    own, findings = _own_key(found)
    known = tuple(keys) or own
    inside = [Note(name, text) for name, text in found.notes.items()]
    proof = prove(found.lines, notes, known, progress, inside)
    findings += proof.findings
    remarks = list(proof.remarks)
    if not found.manifest.key:
        remarks.append("The bundle is not signed.")
    elif not keys:
        remarks.append(f"Signatures were checked with the key that the bundle names itself: {found.manifest.key}")
    if not found.is_packed_alike:
        remarks.append("The archive is packed otherwise than this program does; its parts are what they should be.")
    findings += (*_signed(found, known), *_described(found, proof), *_derived(found))
    return msgspec.structs.replace(proof, findings=findings, remarks=tuple(remarks))


def prove(
    lines: Sequence[bytes],
    notes: Sequence[Note] = (),
    keys: Sequence[Verifier] = (),
    progress: Progress | None = None,
    kept: Sequence[Note] = (),
) -> Proof:
    """Check an export, given as its lines. ``kept`` are checkpoints that came with it, perhaps by an older key."""
    judge = Judge(THRONES)
    book = book_of(lines)
    findings: list[Finding] = []
    remarks = [] if book.origin is None else [_fork(book.origin)]
    if book.copy_of:
        remarks.append(f"This is a copy of game {book.copy_of} under the id {book.game}.")
    report = None
    # Whatever the header says, what can be ruled on again is; of what has no header, verification says what is wrong.
    full = book.full or book.whole or not book.game
    if full:
        report = verify_export(judge, lines, progress)
        if report.disagreement is not None:
            findings.append(_finding(report.disagreement))
        remarks += [f"{str(one)[:1].upper()}{str(one)[1:]}." for one in report.elsewhere]
    else:
        damage = verify_chain(lines)
        if damage is not None:
            findings.append(Finding("record", "record", getattr(damage, "seq", 0), str(damage)))
        remarks.append("The file is redacted, so the rulings themselves cannot be checked.")
    drawn = _drawn(judge, lines, full)
    findings += [Finding("draw", "record", one.entry, one.what) for one in drawn.wrong]
    if drawn.unproven:
        remarks.append(f"{counted(drawn.unproven, 'draw is', 'draws are')} not proven yet: {_sealed(drawn)}")
    if drawn.imposed:
        remarks.append(
            f"{counted(drawn.imposed, 'draw was', 'draws were')} made elsewhere and stated, without a proof."
        )
    ours = [note for note in kept if _is_by(note, keys)]
    if len(ours) < len(kept):
        remarks.append(
            f"{counted(len(kept) - len(ours), 'checkpoint was', 'checkpoints were')}"
            f" signed with a key that is not given: {_others(kept, keys)}."
        )
    weighed = weigh([*ours, *notes], keys, book)
    return Proof(
        game=book.game,
        full=full,
        entries=book.size,
        head=book.digests.get(book.size, ""),
        report=report,
        drawn=drawn,
        evidence=weighed.confirmed,
        keys=tuple(key.text() for key in keys),
        findings=(*findings, *weighed.findings),
        remarks=(*remarks, *weighed.remarks),
        origin=book.origin,
    )


def _is_by(note: Note, keys: Sequence[Verifier]) -> bool:
    """Whether a note says that one of these keys has signed it. One that names no key at all is looked at, too."""
    said = signers_of(note.text)
    return not said or bool(said & {(key.name, key.id) for key in keys})


def _others(kept: Sequence[Note], keys: Sequence[Verifier]) -> str:
    names = {f"{name} ({key.hex()})" for note in kept if not _is_by(note, keys) for name, key in signers_of(note.text)}
    return ", ".join(sorted(names))


def _fork(origin: Origin) -> str:
    hidden = "as it was there" if origin.hidden else "drawn anew where its maker could not know it"
    where = f"{origin.game} at entry {origin.version} with the digest {origin.digest}"
    return f"This is a fork of {where}: {one_line(origin.purpose)}. What is hidden is {hidden}."


def _sealed(drawn: Drawn) -> str:
    if drawn.awaits is None:
        return "their seed is still sealed."
    named = f"{drawn.awaits.id} (commitment {drawn.awaits.commitment})"
    return f"they wait for the shared seed {named}, which is opened when the last of its tables has ended."


def _finding(found: Disagreement) -> Finding:
    return Finding(found.what, "record", found.seq, found.detail)


def _drawn(judge: Judge, lines: Sequence[bytes], full: bool) -> Drawn:
    """The draws, as far as the record can be read; what stops the reading is told elsewhere."""
    draws, public = Draws(edition_of), PublicDraws(edition_of)
    try:
        chain = Chain()
        for line in parse(lines):
            if isinstance(line, Header) and line.rules != judge.rules.name:
                break
            if isinstance(line, EntryLine):
                stored = line.stored()
                entry = chain.add(stored)
                facts = judge.codec.facts(stored, entry)
                draws.add(entry.seq, facts) if full else public.add(entry.seq, facts)
    except (RecordError, msgspec.MsgspecError, ValueError, LookupError, TypeError, AttributeError):
        pass
    return draws.drawn() if full else public.drawn()


def _own_key(found: Bundle) -> tuple[tuple[Verifier, ...], tuple[Finding, ...]]:
    try:
        own = found.verifier
    except NoteInvalid as error:
        return (), (Finding("key", MANIFEST, 0, error.why),)
    return (own,) if own is not None else (), ()


def _signed(found: Bundle, keys: Sequence[Verifier]) -> tuple[Finding, ...]:
    """The note over the manifest: signed by a known key, about this manifest and this head."""
    note = found.parts.get(NOTE)
    if note is None:
        return (Finding("signature", NOTE, 0, "it is missing"),) if found.manifest.key else ()
    why = "there is no key to check it with"
    for key in keys:
        try:
            point = read_checkpoint(_text(note), key)
            lines = key.open(_text(note)).splitlines(keepends=True)
        except NoteInvalid as error:
            why = error.why
            continue
        if (point.size, point.root) != (found.manifest.entries, found.manifest.head):
            return (Finding("signature", NOTE, point.size, "it was signed for another head than the manifest names"),)
        if lines[3:] != [manifest_line(found.parts[MANIFEST])]:
            return (Finding("signature", NOTE, 0, "it was signed for another manifest"),)
        if not is_exact(_text(note), key) or _text(note).encode() != note:
            return (Finding("signature", NOTE, 0, "it has more than the signature, or is spelled otherwise"),)
        if point.origin != origin(key.name, found.manifest.game):
            return (Finding("signature", NOTE, 0, f"it was signed for {point.origin!r}"),)
        return ()
    return (Finding("signature", NOTE, 0, why),)


def _described(found: Bundle, proof: Proof) -> tuple[Finding, ...]:
    """The manifest says of the ledger what the ledger says of itself."""
    said = found.manifest
    pairs = (
        ("game", said.game, proof.game),
        ("full", said.full, proof.full),
        ("entries", said.entries, proof.entries),
        ("head", said.head, proof.head or said.head),
        ("origin", said.origin, proof.origin),
    )
    return tuple(
        Finding("manifest", MANIFEST, 0, f"it says {ours!r} for {name}, and the ledger {theirs!r}")
        for name, ours, theirs in pairs
        if ours != theirs
    )


def _derived(found: Bundle) -> tuple[Finding, ...]:
    """Log and boards are what the ledger makes them. Of a redacted one the boards rest on the signature alone."""
    judge = Judge(THRONES)
    try:
        entries = [line.stored() for line in parse(found.lines) if isinstance(line, EntryLine)]
        made = {LOG: log_of(judge, entries)}
        charter = charter_of(judge, entries)
        if found.manifest.full:
            made |= boards_of(judge, entries, None)
    except (RecordError, msgspec.MsgspecError, ValueError, LookupError, TypeError, AttributeError):
        return ()  # the record is damaged, which has been told
    kept = {name: body for name, body in found.parts.items() if name == LOG or name.startswith("boards/")}
    if not found.manifest.full:
        kept = {LOG: kept.get(LOG, b"")}
    wrong = [name for name in sorted({*made, *kept}) if made.get(name) != kept.get(name)]
    findings = [Finding("part", name, 0, "it is not what the ledger makes it") for name in wrong]
    if entries and found.manifest.engine != codec.entry(entries[-1]).engine:
        findings.append(Finding("manifest", MANIFEST, len(entries), "its engine is not that of the last entry"))
    header = next(line for line in parse(found.lines) if isinstance(line, Header))
    if (header.rules, header.player) != (found.manifest.rules, found.manifest.player):
        findings.append(Finding("manifest", MANIFEST, 0, "it says another game or reader than the ledger"))
    if bytes(found.manifest.charter) != charter:
        findings.append(Finding("manifest", MANIFEST, 1, "its charter is not the one of the game"))
    return tuple(findings)


def _text(body: bytes) -> str:
    return body.decode(errors="replace")


def read_note(path: Path) -> Note:
    """A note that somebody kept in a file."""
    return Note(str(path), path.read_text(encoding="utf-8"))
