"""A line of a letter as tokens that know their columns, and the ways to take it apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from domain.thrones.spelling.names import NotationError, compact

LONGEST_TEXT = 4000
"""More than any answer needs; longer text is refused unread."""

MOST_TOKENS = 500
"""Words and marks of one answer. The longest of the second edition, a whole set of orders, has some hundred."""

MOST_IN_A_WORD = 24
"""No word of the notation has as many letters, however it is spaced."""

Mark = Literal["word", "->", ",", ";", ":", "@", "(", ")", ">"]

_ARROW = r"[-=]+>|[→⇒➔➜⟶]"
_TOKEN = re.compile(
    rf"(?P<arrow>{_ARROW})|(?P<mark>[,;:@()>\n])|(?P<word>(?:(?!{_ARROW})[^\s,;:@()>\"=#|])+)|(?P<space>[ \t\r\"=]+)"
)
_PLAIN = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "`": "'", "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-"})
_PLAIN.update(str.maketrans({"\u00a0": " ", "“": '"', "”": '"', "„": '"', "…": "."}))
_QUESTION = re.compile(r"\s#([0-9]{1,9})\s*\Z")


@dataclass(frozen=True)
class Token:
    mark: Mark
    text: str
    column: int

    @property
    def end(self) -> int:
        return self.column + len(self.text)


@dataclass(frozen=True)
class Span:
    """Some neighbouring tokens. ``column`` is where they begin, or would if there were any."""

    tokens: tuple[Token, ...]
    column: int

    def __bool__(self) -> bool:
        return bool(self.tokens)

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def text(self) -> str:
        return " ".join(token.text for token in self.tokens)

    @property
    def key(self) -> str:
        """The words as they are compared with words of the notation; nothing, where they are more than any of those."""
        return compact(self.text) if len(self.tokens) <= MOST_IN_A_WORD else ""

    @property
    def end(self) -> int:
        return self.tokens[-1].end if self.tokens else self.column

    def part(self, start: int, stop: int | None = None) -> Span:
        tokens = self.tokens[start:stop]
        if tokens:
            return Span(tokens, tokens[0].column)
        return Span((), self.tokens[start].column if start < len(self.tokens) else self.end)

    def split(self, *marks: Mark) -> list[Span]:
        """The parts between these marks; empty ones are left out."""
        parts, start = [], 0
        for index, token in enumerate(self.tokens):
            if token.mark in marks:
                parts.append(self.part(start, index))
                start = index + 1
        parts.append(self.part(start))
        return [part for part in parts if part]

    def cut(self, *marks: Mark) -> tuple[Span, Span] | None:
        """What stands before and after the first of these marks."""
        for index, token in enumerate(self.tokens):
            if token.mark in marks:
                return self.part(0, index), self.part(index + 1)
        return None

    def without_lead(self, *marks: Mark) -> Span:
        """The rest after a mark that stands in front for the looks only."""
        return self.part(1) if self.tokens and self.tokens[0].mark in marks else self

    def splits(self) -> Iterator[tuple[Span, Span]]:
        """Every way to part the words in two."""
        for index in range(1, len(self.tokens)):
            yield self.part(0, index), self.part(index)


def scan(text: str) -> tuple[Span, int | None]:
    """The tokens of a text and the number of the question at its end (``#41``)."""
    if len(text) > LONGEST_TEXT:
        raise NotationError(f"the text is longer than {LONGEST_TEXT} characters", LONGEST_TEXT + 1)
    plain = text.translate(_PLAIN)
    question = _QUESTION.search(plain)
    body = plain[: question.start()] if question else plain
    tokens = tuple(islice(_tokens(body), MOST_TOKENS + 1))
    if len(tokens) > MOST_TOKENS:
        raise NotationError(f"the text has more than {MOST_TOKENS} words and marks", tokens[-1].column)
    return Span(tokens, len(body) - len(body.lstrip()) + 1), int(question[1]) if question else None


def _tokens(text: str) -> Iterator[Token]:
    position, last = 0, "\n"
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            if text[position] == "#":
                raise NotationError('"#" may only begin the number of the question, at the end: #41', position + 1)
            raise NotationError(f'"{text[position]}" means nothing here', position + 1)
        found, column, position = match[0], position + 1, match.end()
        if match.lastgroup == "arrow":
            yield Token("->", found, column)
        elif found == "\n":
            # The lines of one answer are parted as by a semicolon, unless a mark ends the line already.
            if last.isalnum() or last in "*)'":
                yield Token(";", found, column)
        elif match.lastgroup == "mark":
            yield Token(_MARKS[found], found, column)
        elif match.lastgroup == "word" and found.rstrip(".!"):
            word = found = found.rstrip(".!")
            yield Token("," if word.casefold() in ("and", "&") else "word", word, column)
        last = found[-1] if match.lastgroup != "space" else last


_MARKS: dict[str, Mark] = {",": ",", ";": ";", ":": ":", "@": "@", "(": "(", ")": ")", ">": ">"}
