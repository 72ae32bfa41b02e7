"""Signed notes: checkpoints of a game's chain and receipts for submissions, by Ed25519.

The form is that of transparency logs: a text, an empty line, a line with the signature. A checkpoint has
three lines: origin, size, root. The origin names the server and the game, the size is the number of entries,
the root the digest of the last one. A receipt is a checkpoint with two more lines: the inbox id and the
SHA-256 of the submission as it is stored, since it is given before the ruling.

Source: C2SP signed-note and tlog-checkpoint; RFC 8032 (Ed25519).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from events.errors import RecordError

KEY_FILE = "signing.key"
DEFAULT_NAME = "rookery"
_ED25519 = b"\x01"
_DASH = "— "


class NoteInvalid(RecordError):
    """A note that cannot be read, or that nobody known has signed."""

    def __init__(self, why: str) -> None:
        super().__init__(f"The note does not hold: {why}")
        self.why = why


class BadName(RecordError):
    """A server cannot sign by this name."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"This server cannot sign as {name!r}: {why}.")
        self.name = name


class BadKey(RecordError):
    """The file of a server's key is of no use. Says nothing of what is in it."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"The signing key {path} cannot be used: {why}.")


class Checkpoint(msgspec.Struct, frozen=True):
    """The state of a chain: ``size`` entries, ``root`` the digest of the last one (hexadecimal)."""

    origin: str
    size: int
    root: str

    def text(self) -> str:
        return f"{self.origin}\n{self.size}\n{base64.b64encode(bytes.fromhex(self.root)).decode()}\n"


class SignedReceipt(msgspec.Struct, frozen=True):
    """That a submission was received, bound to the chain of that moment."""

    checkpoint: Checkpoint
    inbox: str
    submission: str

    def text(self) -> str:
        return f"{self.checkpoint.text()}inbox {self.inbox}\nsubmission {self.submission}\n"


class Verifier(msgspec.Struct, frozen=True):
    """Somebody's public key with the name he signs by."""

    name: str
    key: bytes

    @property
    def id(self) -> bytes:
        """The first four bytes of SHA-256(name, line feed, algorithm, key)."""
        return hashlib.sha256(self.name.encode() + b"\n" + _ED25519 + self.key).digest()[:4]

    def text(self) -> str:
        """The key as one line to hand round: name, key id, algorithm and key."""
        return f"{self.name}+{self.id.hex()}+{base64.b64encode(_ED25519 + self.key).decode()}"

    @property
    def fingerprint(self) -> str:
        """100 bits of the same digest, to be written down and compared: nobody finds another key that has them."""
        digest = hashlib.sha256(self.name.encode() + b"\n" + _ED25519 + self.key).digest()
        text = base64.b32encode(digest).decode().lower()[:20]
        return "-".join(text[at : at + 4] for at in range(0, 20, 4))

    @classmethod
    def parse(cls, text: str) -> Verifier:
        """Read the line that :meth:`text` writes. Raises :class:`NoteInvalid`."""
        name, _, rest = text.strip().partition("+")
        identity, _, encoded = rest.partition("+")
        try:
            raw = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError) as error:
            raise NoteInvalid("the key is not base64") from error
        found = cls(name, raw[1:])
        if raw[:1] != _ED25519 or len(found.key) != 32 or found.id.hex() != identity or not name:
            raise NoteInvalid("this is not a key")
        return found

    def open(self, note: str) -> str:
        """The text of a note that this key has signed. Raises :class:`NoteInvalid`."""
        text, gap, signatures = note.rpartition("\n\n")
        if not gap:
            raise NoteInvalid("it has no signature")
        text += "\n"
        for line in signatures.splitlines():
            if not line.startswith(f"{_DASH}{self.name} "):
                continue
            try:
                raw = base64.b64decode(line.rpartition(" ")[2], validate=True)
            except (binascii.Error, ValueError):
                continue
            if raw[:4] != self.id:
                continue
            try:
                Ed25519PublicKey.from_public_bytes(self.key).verify(raw[4:], text.encode())
            except InvalidSignature as error:
                raise NoteInvalid(f"the signature of {self.name} does not fit") from error
            return text
        raise NoteInvalid(f"{self.name} has not signed it")


class Signer:
    """A server's key. ``name`` is part of every origin: server name, without spaces or plus signs."""

    def __init__(self, name: str, key: Ed25519PrivateKey) -> None:
        self.name = name
        self._key = key

    @classmethod
    def of_directory(cls, directory: Path, name: str = "") -> Signer:
        """The key of a data directory and its name, made on first use and readable by its user only.

        A name stays with its key, since notes handed out say it. Raises :class:`BadName` and :class:`BadKey`.
        """
        path = directory / KEY_FILE
        if not path.exists():
            _make_key(path, _checked(name or DEFAULT_NAME))
        try:
            raw, kept = path.read_text().split()
            key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(raw))
        except OSError as error:
            raise BadKey(path, f"it cannot be read ({error.strerror})") from error
        except ValueError as error:
            raise BadKey(path, "it is not a key; put it back from a backup") from error
        if name and name != kept:
            raise BadName(name, f"its key is that of {kept!r} already ({path})")
        return cls(kept, key)

    @property
    def verifier(self) -> Verifier:
        return Verifier(self.name, self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))

    def sign(self, text: str) -> str:
        """A note: the text, an empty line, one signature."""
        signature = base64.b64encode(self.verifier.id + self._key.sign(text.encode())).decode()
        return f"{text}\n{_DASH}{self.name} {signature}\n"

    def checkpoint(self, game: str, size: int, root: str) -> str:
        return self.sign(Checkpoint(origin(self.name, game), size, root).text())

    def receipt(self, game: str, size: int, root: str, inbox: str, submission: str) -> str:
        """A signed receipt: ``submission`` is the SHA-256 of the submission as stored, in hexadecimal."""
        return self.sign(SignedReceipt(Checkpoint(origin(self.name, game), size, root), inbox, submission).text())


def is_name(name: str) -> bool:
    """Whether a server can sign by this name."""
    return re.fullmatch(r"[A-Za-z0-9._-]{1,100}", name) is not None


def _checked(name: str) -> str:
    if not is_name(name):
        raise BadName(name, "a name has 1 to 100 letters, digits, '.', '_' and '-'")
    return name


def _make_key(path: Path, name: str) -> None:
    """Write a new key as a whole; where another process was faster, its key stays."""
    raw = Ed25519PrivateKey.generate().private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    descriptor, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # of mode 0600
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{raw.hex()}\n{name}\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        Path(draft).unlink()


def origin(server: str, game: str) -> str:
    """What a checkpoint is about."""
    return f"{server}/{game}"


def read_checkpoint(note: str, verifier: Verifier) -> Checkpoint:
    """The checkpoint of a signed note; further lines, as receipts have them, are allowed. Raises NoteInvalid."""
    lines = verifier.open(note).splitlines()
    try:
        about, size, root = lines[:3]
        return Checkpoint(about, int(size), base64.b64decode(root, validate=True).hex())
    except (ValueError, binascii.Error) as error:
        raise NoteInvalid("it is not a checkpoint") from error


def is_exact(note: str, verifier: Verifier) -> bool:
    """Whether a note that a key has signed is its text and this one signature, in one spelling, and nothing more."""
    text, gap, signatures = note.rpartition("\n\n")
    encoded = signatures.removeprefix(f"{_DASH}{verifier.name} ").removesuffix("\n")
    try:
        raw = base64.b64decode(encoded, validate=True)
        root = base64.b64decode(text.split("\n")[2], validate=True)
        point = Checkpoint(text.split("\n")[0], int(text.split("\n")[1]), root.hex())
    except (binascii.Error, ValueError, IndexError):
        return False
    again = f"{_DASH}{verifier.name} {base64.b64encode(raw).decode()}\n"
    return f"{text}\n".startswith(point.text()) and f"{text}{gap}{again}" == note


def read_receipt(note: str, verifier: Verifier) -> SignedReceipt:
    """The receipt of a signed note. Raises NoteInvalid."""
    checkpoint = read_checkpoint(note, verifier)
    lines = verifier.open(note).splitlines()
    if len(lines) != 5 or not lines[3].startswith("inbox ") or not lines[4].startswith("submission "):
        raise NoteInvalid("it is not a receipt")
    return SignedReceipt(checkpoint, lines[3].removeprefix("inbox "), lines[4].removeprefix("submission "))


def read_unsigned(note: str) -> Checkpoint:
    """What a note says, whoever has signed it. Raises NoteInvalid."""
    try:
        about, size, root = note.splitlines()[:3]
        return Checkpoint(about, int(size), base64.b64decode(root, validate=True).hex())
    except (ValueError, binascii.Error) as error:
        raise NoteInvalid("it is not a checkpoint") from error


def signers_of(note: str) -> set[tuple[str, bytes]]:
    """By what names and with which keys a note says that it is signed; the keys by their first bytes."""
    found = set()
    for line in note.rpartition("\n\n")[2].splitlines():
        name, _, signature = line.removeprefix(_DASH).rpartition(" ")
        with suppress(binascii.Error, ValueError):
            found.add((name, base64.b64decode(signature, validate=True)[:4]))
    return found


def join_notes(notes: Iterable[str]) -> str:
    """Notes as one text, an empty line between them."""
    return "\n".join(notes)


def split_notes(text: str) -> list[str]:
    """The notes of such a text. What is none comes out as a note that does not hold."""
    pieces = text.removesuffix("\n").split("\n\n") if text else []
    pairs = (pieces[at : at + 2] for at in range(0, len(pieces), 2))
    return ["\n\n".join(pair) + "\n" for pair in pairs]


def is_prefix(checkpoint: Checkpoint, digests: dict[int, str]) -> bool:
    """Whether a record, given as digests by version, continues what a checkpoint has signed."""
    return checkpoint.size == 0 or digests.get(checkpoint.size) == checkpoint.root
