"""Bundles: one ZIP file per game, for keeping, checking and moving.

    manifest.json        what the game is and SHA-256 of every other part
    ledger.jsonl         the export
    bundle.note          a checkpoint of its last entry with one more line: SHA-256 of the manifest
    checkpoints.notes    signed checkpoints that were handed out, an empty line between them
    log.tsv, boards/…    for people

Parts stand in one order, with one date and one mode, so that the same game gives the same bytes. Compression may
come out otherwise with another version of zlib; what counts are the parts.
"""

from __future__ import annotations

import hashlib
import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from domain.kernel.docket import Origin
from domain.kernel.printing import counted
from events.envelope import encode
from events.errors import RecordError
from events.export import EntryLine, parse
from events.notes import NoteInvalid, Verifier, read_unsigned, split_notes
from events.store import Kept

FORMAT = "rookery-bundle/1"
MANIFEST, LEDGER, NOTE = "manifest.json", "ledger.jsonl", "bundle.note"
CHECKPOINTS = "checkpoints.notes"
MOST_BYTES = 1 << 28
"""The most that a bundle may unpack to; a game has about one million."""

_DATE = (1980, 1, 1, 0, 0, 0)


class BundleDamaged(RecordError):
    """A part of a bundle is not as it was written."""

    def __init__(self, part: str, why: str) -> None:
        super().__init__(f"{part}: {why}")
        self.part = part
        self.why = why


class PartHash(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    part: str
    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is in a bundle.

    ``player``: whose eyes a redacted one is for. ``key``: who signed, empty when nobody did. ``origin``: of a fork.
    """

    format: str
    game: str
    rules: str
    engine: str
    full: bool
    player: str | None
    entries: int
    head: str
    key: str
    charter: msgspec.Raw
    origin: Origin | None = None
    parts: tuple[PartHash, ...]


class Bundle(msgspec.Struct, frozen=True):
    """A bundle that was read. ``is_packed_alike``: this program would give the same bytes."""

    manifest: Manifest
    parts: dict[str, bytes]
    is_packed_alike: bool

    @property
    def lines(self) -> list[bytes]:
        """The lines of its export."""
        return self.parts[LEDGER].splitlines(keepends=True)

    @property
    def notes(self) -> dict[str, str]:
        """Its checkpoints by what they are called here. Bundles once had a part for each."""
        found: dict[str, str] = {}
        for part, body in sorted(self.parts.items()):
            text = body.decode(errors="replace")
            if part == CHECKPOINTS:
                found |= {f"{part} {number}": note for number, note in enumerate(split_notes(text), 1)}
            elif part.startswith("checkpoints/"):
                found[part] = text
        return found

    @property
    def kept(self) -> tuple[Kept, ...]:
        """Its checkpoints for a store to keep. Raises :class:`BundleDamaged` for one that is not of its ledger."""
        digests: dict[int, str] = {}
        for line in parse(self.lines):
            if isinstance(line, EntryLine):
                digests[len(digests) + 1] = line.digest
        found: list[Kept] = []
        for name, note in self.notes.items():
            try:
                said = read_unsigned(note)
            except NoteInvalid as error:
                raise BundleDamaged(name, error.why) from error
            if digests.get(said.size) != said.root:
                raise BundleDamaged(
                    name,
                    f"the ledger does not begin with the {counted(said.size, 'entry', 'entries')} it was signed for",
                )
            found.append(Kept(said.size, note))
        return tuple(sorted({one.size: one for one in found}.values(), key=lambda one: one.size))

    @property
    def verifier(self) -> Verifier | None:
        """The key that it names itself. Raises NoteInvalid."""
        return Verifier.parse(self.manifest.key) if self.manifest.key else None


def hashes(parts: Mapping[str, bytes]) -> tuple[PartHash, ...]:
    """What the manifest says of the parts."""
    return tuple(PartHash(name, len(body), hashlib.sha256(body).hexdigest()) for name, body in sorted(parts.items()))


def manifest_line(manifest: bytes) -> str:
    """The line of ``bundle.note`` that binds the manifest."""
    return f"manifest {hashlib.sha256(manifest).hexdigest()}\n"


def pack(parts: Mapping[str, bytes]) -> bytes:
    """The ZIP file; the manifest comes first."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(parts, key=lambda name: (name != MANIFEST, name)):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, parts[name])
    return target.getvalue()


def is_bundle(path: Path) -> bool:
    """Whether a file begins like one."""
    with path.open("rb") as file:
        return file.read(2) == b"PK"


def unpack(raw: bytes) -> Bundle:
    """Read a bundle and hold its parts against the manifest. Raises :class:`BundleDamaged`."""
    parts = _parts(raw)
    if MANIFEST not in parts:
        raise BundleDamaged(MANIFEST, "it is missing")
    try:
        manifest = msgspec.json.decode(parts[MANIFEST], type=Manifest)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BundleDamaged(MANIFEST, f"it cannot be read ({error})") from error
    if manifest.format != FORMAT:
        raise BundleDamaged(MANIFEST, f"the format is {manifest.format!r}, not {FORMAT!r}")
    if encode(manifest) + b"\n" != parts[MANIFEST]:
        raise BundleDamaged(MANIFEST, "it is not as it was written")
    listed = {one.part: one for one in manifest.parts}
    found = {one.part: one for one in hashes({name: body for name, body in parts.items() if name not in _UNLISTED})}
    for name in sorted({*listed, *found, LEDGER}):
        if name not in found:
            raise BundleDamaged(name, "it is missing")
        if name not in listed:
            raise BundleDamaged(name, "the manifest does not know it")
        if listed[name] != found[name]:
            raise BundleDamaged(name, "it is not the one that the manifest lists")
    return Bundle(manifest, parts, pack(parts) == raw)


_UNLISTED = (MANIFEST, NOTE)


def _parts(raw: bytes) -> dict[str, bytes]:
    parts: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            entries = archive.infolist()
            if sum(entry.file_size for entry in entries) > MOST_BYTES:
                raise BundleDamaged("archive", "it unpacks to more than a game has")
            for entry in entries:
                if entry.filename in parts:
                    raise BundleDamaged(entry.filename, "it is there twice")
                parts[entry.filename] = archive.read(entry)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, KeyError, NotImplementedError,
            RuntimeError, OverflowError, UnicodeDecodeError, IndexError, struct.error) as error:  # fmt: skip
        raise BundleDamaged("archive", f"it cannot be unpacked ({error})") from error
    return parts
