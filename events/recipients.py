"""Keys that backups are encrypted to, in the form of age (https://age-encryption.org)."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any


def age() -> Any:
    """The library, which only what concerns backups loads."""
    import pyrage  # type: ignore[import-untyped]  # it has no stubs

    return pyrage


class BadKey(Exception):
    """Not a key for backups. The text is a sentence, and tells nothing of what may be a private key."""


def recipient(text: str) -> Any:
    """A public key by its text, or in a file. Raises :class:`BadKey`."""
    path, given = Path(text), text
    with suppress(OSError):
        try:
            given = path.read_text(encoding="utf-8") if path.is_file() else text
        except UnicodeDecodeError as error:
            raise BadKey(f"The file {text[:80]!r} holds no public key for backups: it is not text.") from error
    try:
        return age().x25519.Recipient.from_str(given.strip())
    except age().RecipientError as error:
        if given != text:
            raise BadKey(f"The file {text[:80]!r} holds no public key for backups: one begins with age1.") from error
        if "SECRET" in text.upper():
            raise BadKey("This is a private key. Backups go to the public one, which begins with age1.") from error
        raise BadKey(f"{text.strip()[:80]!r} is no public key for backups: one begins with age1.") from error
