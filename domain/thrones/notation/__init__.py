"""Answers as text, for letters: :func:`parse` is forgiving, :func:`format_answer` canonical (docs/notation.md)."""

from domain.thrones.notation.format import format_answer
from domain.thrones.notation.letter import (
    Header,
    Line,
    house_in_header,
    parse_letter,
    parse_line,
    split_letter,
)
from domain.thrones.notation.parse import parse
from domain.thrones.spelling.names import Lexicon, NotationError, lexicon, short_order

__all__ = [
    "Header",
    "Lexicon",
    "Line",
    "NotationError",
    "format_answer",
    "house_in_header",
    "lexicon",
    "parse",
    "parse_letter",
    "parse_line",
    "short_order",
    "split_letter",
]
