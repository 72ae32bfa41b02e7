"""From a line to an answer: whose it is, which kind, and which question where the line leaves that out."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from domain.kernel.decision import Decision
from domain.thrones.language import answers as c
from domain.thrones.language.pieces import HouseId, OrderId
from domain.thrones.notation.format import format_answer
from domain.thrones.notation.kinds import HEADS, READERS, USAGE
from domain.thrones.spelling.names import Lexicon, NotationError, either
from domain.thrones.spelling.reader import Reader
from domain.thrones.spelling.scan import Span, scan


def parse(
    text: str,
    *,
    house: HouseId | None,
    lexicon: Lexicon,
    open_decisions: Sequence[Decision[Any]] = (),
    used_orders: Collection[OrderId] = (),
) -> c.HouseAnswer:
    """The answer that ``text`` gives. Raises :class:`NotationError` when it can not be read, or in two ways.

    ``house`` is who writes, unless the text begins with a House: ``lannister: march …``. ``open_decisions`` is
    what the game waits for; an answer that leaves out its question is for the only one that fits.
    ``used_orders`` are this House's tokens on the board, so that the raven takes the free twin.
    """
    span, question = scan(text)
    named, body = _house_in_front(span, lexicon)
    if not body:
        raise NotationError("there is no answer here", body.column)
    writer = named or house
    if writer is None:
        before = span.tokens[0].text if len(span) > 1 and span.tokens[1].mark == ":" else ""
        close = [f"{one}:" for one in lexicon.houses.similar(before)]
        expected = "" if close else '"HOUSE: …"'
        raise NotationError("this does not say whose answer it is", body.column, expected=expected, suggestions=close)
    decisions = tuple(decision for decision in open_decisions if decision.player == writer)
    reader = Reader(writer, lexicon, decisions, frozenset(used_orders))
    answer = _read(reader, body)
    return answer if question is None else msgspec.structs.replace(answer, question=question)


def _house_in_front(span: Span, lexicon: Lexicon) -> tuple[HouseId | None, Span]:
    for index in (1, 2):
        if len(span) > index and span.tokens[index].mark == ":":
            name = span.part(0, index)
            found = () if name.key in HEADS else lexicon.houses.find(name.text)
            if len(found) == 1:
                return found[0], span.part(index + 1)
    return None, span


def _read(reader: Reader, span: Span) -> c.HouseAnswer:
    head = _head(span)
    if head is None:
        return _read_without_head(reader, span)
    kinds, body = head
    try:
        return _read_kinds(reader, span, kinds, body)
    except NotationError:
        # "destroy-units" begins an answer, and is one: to Preemptive Raid.
        readings = _readings(reader, span)
        if len(readings) == 1:
            return readings[0]
        raise


def _head(span: Span) -> tuple[tuple[str, ...], Span] | None:
    """The longest beginning that is known, and what follows it."""
    for index in range(min(5, len(span)), 0, -1):
        part = span.part(0, index)
        if all(token.mark == "word" for token in part.tokens) and part.key in HEADS:
            return HEADS[part.key][1], span.part(index).without_lead(":")
    return None


def _read_kinds(reader: Reader, span: Span, kinds: tuple[str, ...], body: Span) -> c.HouseAnswer:
    if len(kinds) > 1:
        asked = [kind for kind in kinds if reader.decision(kind)]
        if len(asked) != 1:
            usages = [f'"{USAGE[kind]}"' for kind in asked or kinds]
            raise NotationError(f'"{span.tokens[0].text}" could be {either(usages)}', span.column)
        kinds = (asked[0],)
    answer: c.HouseAnswer = READERS[kinds[0]](reader, body)
    return answer


def _read_without_head(reader: Reader, span: Span) -> c.HouseAnswer:
    readings = _readings(reader, span)
    if len(readings) > 1:
        readings = [answer for answer in readings if reader.is_legal(answer)] or readings
    if len(readings) == 1:
        return readings[0]
    if readings:
        texts = [f'"{format_answer(answer)}"' for answer in readings]
        raise NotationError(f'"{span.text}" could be {either(texts)}', span.column)
    raise _no_answer(reader, span)


def _readings(reader: Reader, span: Span) -> list[c.HouseAnswer]:
    """What the words mean as an answer to each of the open questions."""
    found: list[c.HouseAnswer] = []
    for kind in dict.fromkeys(decision.kind for decision in reader.open):
        try:
            answer = READERS[kind](reader, span)
        except NotationError:
            continue
        if answer not in found:
            found.append(answer)
    return found


def _no_answer(reader: Reader, span: Span) -> NotationError:
    """The mistake in a text that neither begins like an answer nor fits an open question."""
    meant: list[str] = []
    for index in range(min(3, len(span)), 0, -1):
        key = span.part(0, index).key
        if len(key) <= max(map(len, HEADS)):
            meant += [HEADS[close][0] for close in difflib.get_close_matches(key, list(HEADS), 3, 0.75)]
    first = span.tokens[0]
    if len(span) > 1 and span.tokens[1].mark == ":":
        meant += [f"{house}:" for house in reader.lexicon.houses.similar(first.text)]
    kinds = list(dict.fromkeys(decision.kind for decision in reader.open))
    if not meant and len(kinds) == 1:
        try:
            READERS[kinds[0]](reader, span)
        except NotationError as mistake:
            return mistake
    expected = "" if meant else either([f'"{USAGE[kind]}"' for kind in kinds]) if kinds else "the kind of answer first"
    return NotationError(
        f'"{first.text}" begins no answer', first.column, expected=expected, suggestions=dict.fromkeys(meant)
    )
