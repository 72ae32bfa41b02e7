"""What all kinds of answer have in common: whose it is, how it is read from a letter and written in one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, TypeVar

from domain.kernel.bounds import AtMost
from domain.kernel.decision import Answer
from domain.thrones.language.pieces import MOST_AREAS, AreaId, HouseId, Units
from domain.thrones.spelling.names import NotationError
from domain.thrones.spelling.reader import Choose, Read, Reader, asked, with_arrows, word
from domain.thrones.spelling.scan import Span
from domain.thrones.spelling.text import chosen_units
from domain.thrones.spelling.words import NONE

Self = TypeVar("Self", bound="HouseAnswer")

Chosen = Annotated[dict[AreaId, Units], AtMost(MOST_AREAS)]
"""A set of units, by area."""


class HouseAnswer(Answer, frozen=True, kw_only=False):
    """An answer given by a House. Each kind says beside its fields how a letter spells it.

    A class that says its ``usage`` is a kind of answer; the record, the notation and the API know it from then on.
    """

    usage: ClassVar[str]
    """How it is written, for people who wrote it otherwise."""
    form: ClassVar[str] = ""
    """Its canonical text, with fields of the answer."""
    heads: ClassVar[tuple[str, ...]] = ()
    """How it may begin, besides with its kind."""
    also: ClassVar[Mapping[str, Read]] = {}
    """Other beginnings, after which the rest is read in another way."""
    words: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """The closed list that it chooses from: the word of section 26 and what else is understood."""
    choose: ClassVar[Choose | None] = None
    """What it chooses from, where that is no closed list."""
    house: HouseId

    def __init_subclass__(cls, **_more: Any) -> None:
        if "usage" in vars(cls):
            DECLARED.append(cls)

    @property
    def player(self) -> str:
        return self.house

    @property
    def written(self) -> str:
        """The canonical text, without the House."""
        return self.form.format(self)

    def canonical(self: Self) -> Self:
        """The answer that the canonical text is read as."""
        return self

    @classmethod
    def read(cls, reader: Reader, body: Span) -> HouseAnswer:
        """What follows the beginning of the answer. Raises NotationError when it cannot be read, or in two ways."""
        raise NotImplementedError  # every kind says it

    @classmethod
    def chosen(cls, reader: Reader, span: Span) -> str:
        """The one word, name or area that it chooses."""
        return word(span, cls.words) if cls.choose is None else cls.choose(reader, span)

    @classmethod
    def missing(cls, what: str, body: Span, *also: str) -> NotationError:
        """A part of the answer is not there."""
        return NotationError(f"{what} missing", body.column, expected=" or ".join((f'"{cls.usage}"', *also)))


DECLARED: list[type[HouseAnswer]] = []
"""Every kind of answer, in the order of declaration."""


class WordAnswer(HouseAnswer, frozen=True):
    """An answer of one word out of a list."""

    form = "{0.kind} {0.choice}"

    choice: str

    @classmethod
    def read(cls, reader: Reader, body: Span) -> HouseAnswer:
        return cls(house=reader.house, choice=cls.chosen(reader, body))


class UnitsAnswer(HouseAnswer, frozen=True):
    """Units of several areas."""

    units: Chosen

    @property
    def written(self) -> str:
        return f"{self.kind} {chosen_units(self.units)}"

    @classmethod
    def read(cls, reader: Reader, body: Span) -> HouseAnswer:
        if not body:
            raise cls.missing("the units are", body, '"none"')
        return cls(house=reader.house, units={} if body.key in NONE else reader.chosen(body.split(";"), cls.usage))


def each_order(
    answer: type[HouseAnswer], reader: Reader, body: Span, about: str, values: Mapping[str, Any]
) -> dict[str, Any]:
    """``blackwater: stoney-sept attacker, harrenhal withhold``; one word alone is for all orders asked about.

    Gives the fields ``about`` and ``orders`` of an answer; ``values`` are what its words stand for there.
    """
    question = reader.question(answer)
    named, rest = body.cut(":") or (Span((), body.column), body)
    area = reader.area(named) if named else None
    if not named and question is None:
        raise asked(answer.usage, body.column)
    if question is not None and area not in (None, getattr(question, about)):
        question = None
    if not named:
        area, rest = _leading_question(reader, body, getattr(question, about), answer.words, tuple(question.orders))
    orders = {} if named and rest.key in NONE and question is None else _each_order(reader, rest, answer, question)
    return {about: area, "orders": {order: values[orders[order]] for order in sorted(orders)}}


def _each_order(reader: Reader, rest: Span, answer: type[HouseAnswer], question: Any) -> dict[AreaId, str]:
    try:
        alone = word(rest, answer.words)
    except NotationError:
        pass
    else:
        if question is None:
            raise NotationError("the orders are not named", rest.column, expected=f'"{answer.usage}"')
        return dict.fromkeys(question.orders, alone)
    orders: dict[AreaId, str] = {}
    for item in rest.split(",", ";"):
        area, choice = _order_and_word(reader, item, answer)
        if area in orders:
            raise NotationError(f"{area} is named twice", item.column)
        orders[area] = choice
    if not orders:
        raise answer.missing("the orders are", rest)
    return orders


def _leading_question(
    reader: Reader, body: Span, area: AreaId, words: Mapping[str, tuple[str, ...]], orders: tuple[AreaId, ...]
) -> tuple[AreaId, Span]:
    """The open question, and the body without its area where it stands in front of a single word."""
    for one, other in body.splits():
        if reader.lexicon.areas.find(one.text) == (area,) and area not in orders:
            try:
                word(other, words)
            except NotationError:
                continue
            return area, other
    return area, body


def _order_and_word(reader: Reader, item: Span, answer: type[HouseAnswer]) -> tuple[AreaId, str]:
    if cut := with_arrows(item).cut(":", "->"):
        return reader.area(cut[0]), word(cut[1], answer.words)
    if len(item) < 2:
        raise NotationError(f'"{item.text}" can not be read here', item.column, expected=f'"{answer.usage}"')
    return reader.pair(item, reader.area, lambda span: word(span, answer.words), answer.usage)
