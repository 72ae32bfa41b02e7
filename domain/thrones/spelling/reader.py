"""Reading the small parts of an answer: names, numbers, units, words of a closed list."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeVar

from domain.kernel.decision import Answer, Decision, kind_of
from domain.kernel.refusal import Refusal
from domain.thrones.language.pieces import AreaId, CardId, HouseId, OrderId, Unit, Units, counted, each, size
from domain.thrones.spelling.names import Lexicon, Names, NotationError, compact, either
from domain.thrones.spelling.scan import Span, Token
from domain.thrones.spelling.words import NUMBERS, UNIT_WORDS

L = TypeVar("L")
R = TypeVar("R")

PREPOSITIONS = ("at", "for", "from", "in", "into", "of", "on", "with", "by")
_UNIT = "|".join(sorted(UNIT_WORDS, key=len, reverse=True))
_GLUED = re.compile(rf"(?:[0-9]{{1,3}}(?:{_UNIT}))+")
_GLUED_PART = re.compile(rf"([0-9]{{1,3}})({_UNIT})")
MOST_WORDS = 12
"""No two names that stand together have more words."""
MOST_UNITS = 999
"""So many units are counted, and no more: there are a few dozen."""
MOST_LOOKED_AT = 200
"""So many legal answers are looked at to see whether they all name the same area."""


@dataclass(frozen=True)
class Reader:
    """What one line is read with: whose it is, the names, and the questions open to that House."""

    house: HouseId
    lexicon: Lexicon
    open: tuple[Decision[Any], ...] = ()
    used: frozenset[OrderId] = frozenset()

    def decision(self, kind: str) -> Decision[Any] | None:
        """The open decision of a kind, if there is just one."""
        found = [decision for decision in self.open if decision.kind == kind]
        return found[0] if len(found) == 1 else None

    def question(self, answer: type[Answer]) -> Any:
        """The default answer of the open decision, from which what the letter leaves out is taken, or None."""
        decision = self.decision(kind_of(answer))
        return None if decision is None else decision.default

    def is_legal(self, answer: Answer) -> bool:
        """Whether an open decision takes this answer."""
        decision = self.decision(answer.kind)
        try:
            if decision is not None:
                decision.check(answer)
        except Refusal:
            return False
        return decision is not None

    def only_area(self, answer: type[Answer], usage: str, column: int) -> AreaId:
        """The area of the only order that could be meant by an answer which names none."""
        decision = self.decision(kind_of(answer))
        if decision is not None:
            answers = list(islice(decision.options.every(decision.default), MOST_LOOKED_AT))
            areas = {answer.area for answer in answers}
            if len(areas) == 1 and len(answers) < MOST_LOOKED_AT:
                return str(areas.pop())
        raise asked(usage, column)

    # Names

    def area(self, span: Span) -> AreaId:
        return self._name(self.lexicon.areas, span)

    def card(self, span: Span) -> CardId:
        return self._name(self.lexicon.cards, span)

    def other_house(self, span: Span) -> HouseId:
        return self._name(self.lexicon.houses, span)

    def track(self, span: Span) -> str:
        return self._name(self.lexicon.tracks, span)

    def _name(self, names: Names, span: Span) -> str:
        plain = words_only(span, f"the name of {'an' if names.what[0] in 'aeiou' else 'a'} {names.what}")
        return names.resolve(plain.text, plain.column)

    def order(self, span: Span) -> tuple[OrderId, ...]:
        """The token, or the twins of a kind."""
        plain = words_only(span, "an order")
        return self.lexicon.orders.resolve(plain.text, plain.column)

    # Names with something behind them

    def pair(self, span: Span, left: Callable[[Span], L], right: Callable[[Span], R], usage: str) -> tuple[L, R]:
        """Two things that only a space parts. Refused when it can be parted in two ways."""
        if len(span) > MOST_WORDS:
            raise NotationError(f'"{span.text}" is too long', span.column, expected=usage)
        readings: list[tuple[L, R]] = []
        for one, other in span.splits():
            try:
                reading = left(one), right(other)
            except NotationError:
                continue
            if reading not in readings:
                readings.append(reading)
        if len(readings) == 1:
            return readings[0]
        if readings:
            texts = [f"{one} | {other}" for one, other in readings]
            raise NotationError(f'"{span.text}" can be read as {either(texts)}', span.column)
        raise self._no_pair(span, left, right, usage)

    def _no_pair(self, span: Span, left: Callable[[Span], L], right: Callable[[Span], R], usage: str) -> NotationError:
        """The mistake in the half that can not be read, if the other half can."""
        for one, other in reversed(list(span.splits())):
            if _reads(left, one):
                return _mistake(right, other)
        for one, other in span.splits():
            if _reads(right, other):
                return _mistake(left, one)
        return NotationError(f'"{span.text}" can not be read here', span.column, expected=usage)

    def area_then_units(self, span: Span, usage: str) -> tuple[AreaId, Span]:
        """An area and the units behind it, with a colon or without."""
        if cut := span.cut(":"):
            return self.area(cut[0]), cut[1]
        for index in range(1, min(len(span), MOST_WORDS)):
            if is_count_or_unit(span.tokens[index]) and _reads(self.area, span.part(0, index)):
                return self.area(span.part(0, index)), span.part(index)
        if span and not is_count_or_unit(span.tokens[0]):
            first = next((i for i in range(1, len(span)) if is_count_or_unit(span.tokens[i])), len(span))
            self.area(span.part(0, first))
        raise asked(usage, span.column)

    def chosen(self, pieces: Iterable[Span], usage: str) -> dict[AreaId, Units]:
        """Units by area: ``seagard: 2 footman, knight; pyke: ship`` or ``2 footman @ seagard; ship in pyke``."""
        units: dict[AreaId, list[Unit]] = {}
        area = None
        for piece in pieces:
            placed = placed_units(piece)
            if placed is not None:
                for some, place in placed:
                    units.setdefault(self.area(place), []).extend(each(read_units(some)))
                continue
            for segment in piece.split(","):
                if not is_count_or_unit(segment.tokens[0]) or segment.cut(":"):
                    area, segment = self.area_then_units(segment, usage)
                if area is None:
                    raise NotationError(f'"{segment.text}" stands nowhere', segment.column, expected=usage)
                units.setdefault(area, []).extend(each(read_units(segment)))
        return {area: counted(units[area]) for area in sorted(units)}


Read = Callable[[Reader, Span], Any]
"""Reads what follows the beginning of an answer."""

Choose = Callable[[Reader, Span], str]
"""Reads the one word, name or area that an answer chooses."""


def either_or(words: tuple[str, ...], meaning: str, choose: Choose) -> Choose:
    """A word such as "none", or something else."""

    def read(reader: Reader, span: Span) -> str:
        return meaning if span and span.key in words else choose(reader, span)

    return read


def asked(usage: str, column: int) -> NotationError:
    """The answer does not say what it is about, and nothing open makes it clear."""
    return NotationError("this does not say which question it answers", column, expected=f'"{usage}"')


def words_only(span: Span, expected: str) -> Span:
    """The words of a name, without a preposition in front."""
    if len(span) > 1 and span.tokens[0].text.casefold() in PREPOSITIONS:
        span = span.part(1)
    if not span:
        raise NotationError("something is missing here", span.column, expected=expected)
    for token in span.tokens:
        if token.mark != "word":
            raise NotationError(f'"{token.text}" means nothing here', token.column, expected=expected)
    return span


def word(span: Span, words: Mapping[str, Sequence[str]]) -> str:
    """One word of a closed list, or a beginning of it that only one has."""
    plain = words_only(span, either(tuple(words)))
    key = plain.key
    exact = [choice for choice, others in words.items() if key == compact(choice) or key in others]
    started = [choice for choice in words if len(key) >= 3 and compact(choice).startswith(key)]
    found = exact or started
    if len(found) == 1:
        return found[0]
    if found:
        raise NotationError(f'"{plain.text}" could be {either(found)}', plain.column)
    raise NotationError(f'"{plain.text}" is no answer here', plain.column, expected=either(tuple(words)))


def number(span: Span, expected: str = "a number") -> int:
    """A number in digits or in words."""
    plain = words_only(span, expected)
    text = plain.text.casefold()
    if re.fullmatch(r"[0-9]{1,4}", text):
        return int(text)
    if text in NUMBERS:
        return NUMBERS[text]
    raise NotationError(f'"{plain.text}" is no number', plain.column, expected=expected)


def bid_and_rest(body: Span, usage: str) -> tuple[int, Span]:
    """The number in a bid and the words around it: ``fiefdoms 3``, ``3 power on the fiefdoms``."""
    tokens = tuple(
        token
        for token in body.tokens
        if token.mark != ":" and token.text.casefold() not in ("power", "tokens", "token")
    )
    plain = Span(tokens, body.column)
    numbers = [
        i for i, token in enumerate(tokens)
        if token.text.casefold() in NUMBERS or compact(token.text) in ("nothing", "none") or token.text[:1].isdigit()
        or token.text[:1] in "+-"
    ]  # fmt: skip
    if len(numbers) != 1:
        problem = "the number is missing" if not numbers else "there is more than one number"
        raise NotationError(problem, body.column, expected=f'"{usage}"')
    at = numbers[0]
    bid = 0 if compact(tokens[at].text) in ("nothing", "none") else number(plain.part(at, at + 1))
    rest = tokens[:at] + tokens[at + 1 :]
    return bid, Span(rest, rest[0].column if rest else body.column)


def with_arrows(span: Span) -> Span:
    """The word "to" as the arrow it stands for."""
    return replace(
        span,
        tokens=tuple(
            replace(token, mark="->") if token.mark == "word" and token.text.casefold() in ("to", "into") else token
            for token in span.tokens
        ),
    )


# Units


def is_count_or_unit(token: Token) -> bool:
    """Whether a list of units may begin here."""
    text = token.text.casefold()
    key = compact(text).removeprefix("routed")
    return token.mark == "word" and (
        key in UNIT_WORDS or text == "routed" or text in NUMBERS or re.fullmatch(r"[0-9]+x?", text) is not None
        or _GLUED.fullmatch(key) is not None
    )  # fmt: skip


def read_units(span: Span) -> Units:
    """``2 footman, routed knight``, ``2f k``, ``two footmen and a knight``."""
    found: list[Unit] = []
    index = 0
    while index < len(span):
        units, index = _units_at(span, index)
        found += units
        if len(found) > MOST_UNITS:
            raise NotationError(f"more than {MOST_UNITS} units are too many", span.column)
    if not found:
        raise NotationError("something is missing here", span.column, expected="units, such as 2 footman, knight")
    return counted(found)


def single_unit(units: Units, span: Span) -> Unit:
    if size(units) != 1:
        raise NotationError(f'"{span.text}" is more than one unit', span.column, expected="one unit")
    return next(each(units))


def _units_at(span: Span, index: int) -> tuple[list[Unit], int]:
    """The units of one kind that are named from here on, and where the next ones begin."""
    token = span.tokens[index]
    if token.mark == "," or token.text == "+":
        return [], index + 1
    glued = compact(token.text)
    if token.mark == "word" and _GLUED.fullmatch(glued):
        parts = [(int(count), UNIT_WORDS[name]) for count, name in _GLUED_PART.findall(glued)]
        return [unit for count, unit in parts for _ in range(count)], index + 1
    count, index = _count_at(span, index)
    unit, index = _unit_at(span, index)
    return [unit] * count, index


def _count_at(span: Span, index: int) -> tuple[int, int]:
    token = span.tokens[index]
    text = token.text.casefold().removesuffix("x")
    if text in ("a", "an", "the"):
        return 1, index + 1
    if text in NUMBERS:
        return NUMBERS[text], index + 1
    if re.fullmatch(r"[0-9]+", text):
        if len(text) > 3:
            raise NotationError(f'"{token.text}" units are too many', token.column)
        return int(text), index + 1
    return 1, index


def _unit_at(span: Span, index: int) -> tuple[Unit, int]:
    if index >= len(span):
        raise NotationError("something is missing here", span.end, expected="the units that are counted")
    start = span.tokens[index]
    is_routed = start.text.casefold() == "routed"
    index += is_routed
    if index >= len(span):
        raise NotationError('"routed" stands alone', start.column, expected="routed footman, routed knight, …")
    token = span.tokens[index]
    key = compact(token.text)
    if key.startswith("routed"):
        key, is_routed = key.removeprefix("routed"), True
    if token.mark != "word" or key not in UNIT_WORDS:
        close = difflib.get_close_matches(key[:20], list(UNIT_WORDS), 3, 0.6)
        meant = tuple(dict.fromkeys(UNIT_WORDS[word] for word in close))
        expected = "" if meant else "footman, ship, siege-engine or knight"
        raise NotationError(f'no unit "{token.text}"', token.column, expected=expected, suggestions=meant)
    index += 1
    if UNIT_WORDS[key] == "siege-engine" and index < len(span) and span.tokens[index].text.casefold() in (
        "engine", "engines",
    ):  # fmt: skip
        index += 1
    if [token.text.casefold() for token in span.tokens[index : index + 3]] == ["(", "routed", ")"]:
        is_routed, index = True, index + 3
    return ("routed-" if is_routed else "") + UNIT_WORDS[key], index


def placed_units(piece: Span) -> list[tuple[Span, Span]] | None:
    """``2 footman, knight @ seagard`` as units and their place; None where no place follows units."""
    places = [i for i, token in enumerate(piece.tokens) if i and _is_place_mark(token)]
    if not places:
        return None
    if colon := next((token for token in piece.tokens if token.mark == ":"), None):
        raise NotationError('either "AREA: UNITS" or "UNITS @ AREA", not both', colon.column)
    parts, start = [], 0
    for at in places:
        stop = next((i for i in range(at, len(piece)) if piece.tokens[i].mark == ","), len(piece))
        parts.append((piece.part(start, at), piece.part(at + 1, stop)))
        start = stop + 1
    if start < len(piece):
        raise NotationError(f'"{piece.part(start).text}" stands nowhere', piece.part(start).column)
    return parts


def _is_place_mark(token: Token) -> bool:
    return token.mark == "@" or (token.mark == "word" and token.text.casefold() in ("in", "at", "from"))


def _reads(read: Callable[[Span], object], span: Span) -> bool:
    try:
        read(span)
    except NotationError:
        return False
    return True


def _mistake(read: Callable[[Span], object], span: Span) -> NotationError:
    try:
        read(span)
    except NotationError as mistake:
        return mistake
    raise AssertionError("both halves can be read")
