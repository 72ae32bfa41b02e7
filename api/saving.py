"""Backups as files: encrypted to a key by age (https://age-encryption.org), whole or not there, checked first."""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from api.tokens import OPERATOR_FILE
from events import backup
from events.backup import BackupChanged, BackupDamaged, Contents, Frame, Frames
from events.notes import KEY_FILE, NoteInvalid, Signer, Verifier
from events.recipients import BadKey, age

RECIPIENT_FILE = "backup.recipient"
"""In the data directory: the public key that backups are encrypted to when none is named."""

KEPT_FILES = (OPERATOR_FILE, KEY_FILE, RECIPIENT_FILE)
"""What a backup holds of a data directory besides its store."""

AT_ONCE = 1 << 16
_AGE = b"age-encryption.org/"


def make_key() -> tuple[str, str]:
    """A new pair: the text of a private key's file, and the public key."""
    made = age().x25519.Identity.generate()
    public = str(made.to_public())
    return f"# A key for backups of Rookery, in the form of age.\n# public key: {public}\n{made}\n", public


def identity(path: Path) -> Any:
    """The private key of a file. Raises :class:`BadKey`, OSError."""
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    found = [line for line in lines if line and not line.startswith("#")]
    try:
        return age().x25519.Identity.from_str(found[0] if found else "")
    except age().IdentityError as error:
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
                age().encrypt_io(_Source(pieces), sink, [to])
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


def _read(path: Path, key: Any | None, frames: Frames) -> str:
    """Let every frame of a backup pass; the digest of the file. Raises :class:`BackupDamaged`."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        if key is None:
            while some := file.read(AT_ONCE):
                frames.write(some)
        else:
            try:
                age().decrypt_io(file, frames, [key])
            except age().DecryptError as error:
                raise BackupDamaged(f"it cannot be opened with this key ({error})") from error
            except OSError as error:
                if error.errno is not None:
                    raise
                raise BackupDamaged("it breaks off or was changed") from error
    frames.close()
    return digest


class Checked:
    """A backup that was read once as a whole. Raises :class:`BackupDamaged` for one that does not hold."""

    def __init__(self, path: Path, key: Any | None) -> None:
        self.contents = Contents()
        self._path, self._key = path, key
        frames = Frames(self.contents)
        self.digest = _read(path, key, frames)
        self.signer = frames.signer
        """Whose signature holds; None where there is none. That it is anybody's is not said with that."""
        self._marks = frames.marks

    def put(self, sink: Callable[[Frame], None]) -> None:
        """Hand on every frame again, as it was when it was checked. Raises BackupChanged."""
        try:
            _read(self._path, self._key, Frames(sink, self._marks))
        except BackupDamaged as error:
            raise BackupChanged from error


class NotTrusted(Exception):
    """A backup that may be anybody's. The text is a sentence or two. Nothing was put back."""


class SignedBy:
    """Whose backups are believed: a key, in a file or as one line, or its fingerprint. Raises :class:`BadKey`."""

    def __init__(self, text: str) -> None:
        path = Path(text)
        try:
            given = path.read_text(encoding="utf-8").strip() if path.is_file() else text.strip()
        except (OSError, ValueError) as error:
            raise BadKey(f"The file {text[:80]!r} holds no key that can be read.") from error
        plain = given.lower().replace("-", "")
        if re.fullmatch(r"[a-z2-7]{20}", plain):
            self.fingerprint = "-".join(plain[at : at + 4] for at in range(0, 20, 4))
            return
        try:
            self.fingerprint = Verifier.parse(given).fingerprint
        except NoteInvalid as error:
            raise BadKey(
                f"{text[:80]!r} is nobody that signs: it takes the fingerprint that `rookery backup` has told, or the"
                " line of `rookery key`, or a file with one of them."
            ) from error


def check_signer(signer: Verifier | None, signed_by: SignedBy | None, directory: Path | None, unchecked: bool) -> bool:
    """Whether a backup's signer is one that is known here; False where the operator trusts what cannot be checked.

    Known is the one that was named, else the server's own key in the data directory. Raises :class:`NotTrusted`.
    """
    nothing = "Nothing was put back."
    if signer is None:
        if unchecked:
            return False
        raise NotTrusted(
            "This backup is not signed, so whoever has the public key for backups may have written it."
            + ("" if signed_by is not None else " If you know where it comes from, say --trust-unchecked.")
            + f" {nothing}"
        )
    told = f"{signer.name}, key {signer.fingerprint}"
    if signed_by is not None:
        if signer.fingerprint == signed_by.fingerprint:
            return True
        raise NotTrusted(f"This backup is signed by another than {signed_by.fingerprint}: by {told}. {nothing}")
    if directory is not None and (directory / KEY_FILE).exists():
        own = Signer.of_directory(directory).verifier
        if signer == own:
            return True
        raise NotTrusted(
            f"This backup is signed by {told}; the key of {directory} is another, {own.fingerprint}. If you know the"
            f" signer, say --signed-by with what you have written down of him. {nothing}"
        )
    if unchecked:
        return False
    raise NotTrusted(
        f"This backup is signed by {told}, and no key is known here. Compare that with what was written down when"
        f" backups were made, and say --signed-by {signer.fingerprint}; or --trust-unchecked. {nothing}"
    )


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
