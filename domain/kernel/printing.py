"""What people wrote, for terminals, files and pages: control characters are shown, never carried out.

The record keeps every text as it was given. Whatever prints one asks here first, so that no statement can move a
cursor, ring a bell, or turn the direction of what stands behind it.
"""

from __future__ import annotations

import re


def counted(number: int, one: str, several: str = "") -> str:
    """1 game, 2 games; ``several`` where it is not the word with an s, or more words follow."""
    return f"{number} {one if number == 1 else several or f'{one}s'}"


_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1, but for tab and line feed
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks, embeddings, overrides and isolates of the bidi algorithm
    "\u2028\u2029"  # line and paragraph separator
    "\ud800-\udfff]"  # halves of pairs, which no file can hold
)


def printable(text: str) -> str:
    r"""A text with escapes such as ``\x1b`` and ``\u202e`` for controls; tabs and ends of lines stay."""
    return text if text.isprintable() else _CONTROLS.sub(_escaped, text)


def one_line(text: str) -> str:
    """The same for the middle of a line: what somebody wrote begins no line of ours."""
    return text if text.isprintable() else " ".join(printable(text).split())


def printable_json(text: str) -> str:
    r"""A JSON document that says the same, with ``\u…`` for controls that JSON lets stand raw."""
    return text if text.isprintable() else _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
