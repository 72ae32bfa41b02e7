"""Backups as files: encrypted to a key by age (https://age-encryption.org), whole or not there, checked first."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from api.tokens import OPERATOR_FILE
from events import backup
from events.backup import BackupDamaged, Contents, Frame, Frames
from events.notes import KEY_FILE

RECIPIENT_FILE = "backup.recipient"
"""In the data directory: the public key that backups are encrypted to when none is named."""

KEPT_FILES = (OPERATOR_FILE, KEY_FILE, RECIPIENT_FILE)
"""What a backup holds of a data directory besides its store."""

AT_ONCE = 1 << 16
_AGE = b"age-encryption.org/"


def _age() -> Any:
    """The library, which only commands about backups load."""
    import pyrage  # type: ignore[import-untyped]  # it has no stubs

    return pyrage


class BadKey(Exception):
    """Not a key for backups. The text is a sentence."""


def make_key() -> tuple[str, str]:
    """A new pair: the text of a private key's file, and the public key."""
    made = _age().x25519.Identity.generate()
    public = str(made.to_public())
    return f"# A key for backups of Rookery, in the form of age.\n# public key: {public}\n{made}\n", public


def recipient(text: str) -> Any:
    """A public key by its text, or in a file. Raises :class:`BadKey`."""
    path = Path(text)
    with suppress(OSError):
        text = path.read_text(encoding="utf-8") if path.is_file() else text
    try:
        return _age().x25519.Recipient.from_str(text.strip())
    except _age().RecipientError as error:
        raise BadKey(f"{text.strip()[:80]!r} is no public key for backups: one begins with age1.") from error


def identity(path: Path) -> Any:
    """The private key of a file. Raises :class:`BadKey`, OSError."""
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    found = [line for line in lines if line and not line.startswith("#")]
    try:
        return _age().x25519.Identity.from_str(found[0] if found else "")
    except _age().IdentityError as error:
        raise BadKey(f"{path} holds no private key for backups.") from error


class _Source(io.RawIOBase):
    """Pieces, made one after the other, as a file to read from."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while not self._rest:
            more = next(self._pieces, None)
            if more is None:
                return b""
            self._rest = more
        size = len(self._rest) if size < 0 else size
        some, self._rest = self._rest[:size], self._rest[size:]
        return some


class _Sink:
    """A file that knows the digest of what was written to it."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.digest = hashlib.sha256()
        self.size = 0

    def write(self, some: bytes) -> int:
        self.digest.update(some)
        self.size += len(some)
        self._file.write(some)
        return len(some)

    def flush(self) -> None:
        self._file.flush()


def write(path: Path, pieces: Iterator[bytes], to: Any | None) -> tuple[int, str]:
    """Write a backup, encrypted ``to`` a public key; its size and digest. By its name it is whole, on the disk."""
    draft = path.with_name(f".{path.name}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            sink = _Sink(file)
            if to is None:
                for piece in pieces:
                    sink.write(piece)
            else:
                _age().encrypt_io(_Source(pieces), sink, [to])
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        _sync(path.parent)
    finally:
        draft.unlink(missing_ok=True)
    return sink.size, sink.digest.hexdigest()


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_encrypted(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_AGE)) == _AGE


def read(path: Path, key: Any | None, sink: Callable[[Frame], None]) -> str:
    """Hand on every frame of a backup; the digest of the file. Raises :class:`BackupDamaged`."""
    frames = Frames(sink)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        if key is None:
            while some := file.read(AT_ONCE):
                frames.write(some)
        else:
            try:
                _age().decrypt_io(file, frames, [key])
            except _age().DecryptError as error:
                raise BackupDamaged(f"it cannot be opened with this key ({error})") from error
            except OSError as error:
                if error.errno is not None:
                    raise
                raise BackupDamaged("it breaks off or was changed") from error
    frames.close()
    return digest


def contents(path: Path, key: Any | None) -> tuple[Contents, str]:
    """What a backup holds, all of it checked, and the digest of the file. Raises :class:`BackupDamaged`."""
    found = Contents()
    digest = read(path, key, found)
    return found, digest


def files_of(directory: Path) -> Iterator[backup.File]:
    """The keys and tokens of a data directory."""
    for name in KEPT_FILES:
        path = directory / name
        if path.is_file():
            yield backup.File(name, path.read_bytes())


def differing(directory: Path, files: Iterable[backup.File]) -> list[str]:
    """Which files of a backup are here already, and are others."""
    return [
        one.name
        for one in files
        if one.name in KEPT_FILES and (path := directory / one.name).exists() and path.read_bytes() != one.content
    ]


def put_files(directory: Path, files: Iterable[backup.File]) -> None:
    """Write the files of a backup that are not here; each is there whole or not at all."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    for one in files:
        path = directory / one.name
        if one.name in KEPT_FILES and not path.exists():
            write(path, iter([one.content]), None)
