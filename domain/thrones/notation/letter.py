"""A whole letter: lines of answers between headers, comments, quotations and a signature."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from domain.kernel.decision import Decision
from domain.thrones.language import answers as c
from domain.thrones.language.pieces import HouseId
from domain.thrones.notation.parse import parse
from domain.thrones.spelling.names import Lexicon, NotationError

HEADERS = ("game", "seat", "token", "house", "round", "from", "to", "cc", "date", "subject")
_HEADER = re.compile(rf"({'|'.join(HEADERS)})\s*:\s*(.*)", re.IGNORECASE)
_GOES_ON = (",", ";", ":", "->", "=>", "→")


@dataclass(frozen=True)
class Header:
    """``game: …``, ``seat: …``: what the lines below it are for."""

    key: str
    value: str


@dataclass(frozen=True)
class Line:
    """One answer, or header, as it stands in the letter. ``text`` may go over several lines of it."""

    number: int
    text: str
    header: Header | None = None


def split_letter(text: str) -> list[Line]:
    """The lines that say something. An answer goes on in lines that are indented or follow a comma or a colon.

    However long a letter is, each of its lines is looked at once.
    """
    lines: list[Line] = []
    answer: list[tuple[int, str]] = []
    for number, content in _own_lines(text):
        if content.lstrip().startswith("#"):
            _refuse_leading_question(number, content)
        elif header := _HEADER.fullmatch(content.strip()):
            lines += _whole(answer)
            lines.append(Line(number, content, Header(header[1].lower(), header[2])))
            answer = []
        elif content.strip():
            if not (answer and _is_more(*answer[-1], number, content)):
                lines += _whole(answer)
                answer = []
            answer.append((number, content))
    return [*lines, *_whole(answer)]


def _whole(answer: list[tuple[int, str]]) -> list[Line]:
    """The lines of an answer as one, if there are any."""
    return [Line(answer[0][0], "\n".join(content for _, content in answer))] if answer else []


def _is_more(before: int, said: str, number: int, content: str) -> bool:
    """Whether a line belongs to the answer that the line ``before`` is of."""
    return number == before + 1 and (content[0] in " \t" or said.rstrip().endswith(_GOES_ON))


def _own_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that the writer wrote: no quoted mail with its introduction, nothing below ``-- ``."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff").split("\n")
    following = _next_lines(lines)
    for number, line in enumerate(lines, 1):
        if line.rstrip() == "--":
            return
        is_introduction = line.rstrip().endswith("wrote:") and following[number - 1].startswith(">")
        if not line.startswith(">") and not is_introduction:
            yield number, line


def _next_lines(lines: list[str]) -> list[str]:
    """For every line the next one that says something."""
    found, following = [], ""
    for line in reversed(lines):
        found.append(following)
        following = line if line.strip() else following
    return found[::-1]


def _refuse_leading_question(number: int, content: str) -> None:
    """``#41 yes`` may be a comment or an answer."""
    if re.match(r"\s*#[0-9]+\s+\S", content):
        mistake = NotationError(
            'a line that begins with "#" is a comment, and this may be an answer',
            content.index("#") + 1,
            expected="the number of the question at the end of the line, or a space behind the #",
        )
        mistake.line = number
        raise mistake


def parse_letter(
    text: str,
    *,
    house: HouseId | None,
    lexicon: Lexicon,
    open_decisions: Sequence[Decision[Any]] = (),
) -> list[tuple[int, Header | c.HouseAnswer]]:
    """Everything a letter says, each with the number of its line; a header ``house: …`` names the House below it.

    Raises :class:`NotationError` with line and column at the first mistake. Whoever rules on one line before he
    reads the next takes :func:`split_letter` and :func:`parse_line`.
    """
    said: list[tuple[int, Header | c.HouseAnswer]] = []
    for line in split_letter(text):
        if line.header is not None:
            if line.header.key == "house":
                house = house_in_header(line, lexicon)
            said.append((line.number, line.header))
            continue
        said.append((line.number, parse_line(line, house=house, lexicon=lexicon, open_decisions=open_decisions)))
    return said


def house_in_header(line: Line, lexicon: Lexicon) -> HouseId:
    """The House that ``house: …`` names."""
    assert line.header is not None
    column = len(line.text.rstrip()) - len(line.header.value) + 1
    try:
        return lexicon.houses.resolve(line.header.value, column)
    except NotationError as mistake:
        mistake.line = line.number
        raise


def parse_line(
    line: Line, *, house: HouseId | None, lexicon: Lexicon, open_decisions: Sequence[Decision[Any]] = ()
) -> c.HouseAnswer:
    """One line of a letter; mistakes name its place in the letter."""
    try:
        return parse(line.text, house=house, lexicon=lexicon, open_decisions=open_decisions)
    except NotationError as mistake:
        before = line.text[: mistake.column - 1]
        mistake.line = line.number + before.count("\n")
        mistake.column = len(before) - before.rfind("\n")
        raise
