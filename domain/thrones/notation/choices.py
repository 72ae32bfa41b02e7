"""Reading answers of one word, card, track or area, and those to House cards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from domain.thrones.language import answers as c
from domain.thrones.language.pieces import AreaId
from domain.thrones.notation import vocabulary as v
from domain.thrones.notation.reader import (
    Read,
    Reader,
    asked,
    is_count_or_unit,
    placed_units,
    read_units,
    single_unit,
    with_arrows,
    word,
)
from domain.thrones.notation.scan import Span
from domain.thrones.notation.words import NotationError, either
from domain.thrones.rules.choices import Words

Choose = Callable[[Reader, Span], str]


def _words(key: str) -> Choose:
    return lambda _reader, span: word(span, v.WORDS[key])


def _or(words: tuple[str, ...], meaning: str, choose: Choose) -> Choose:
    """A word such as "none", or something else."""

    def read(reader: Reader, span: Span) -> str:
        return meaning if span and span.key in words else choose(reader, span)

    return read


def _footman(reader: Reader, span: Span) -> str:
    """Which Footman Renly Baratheon replaces: its area, and whether it is routed."""
    placed = placed_units(span)
    if placed and len(placed) == 1:
        units, place = placed[0]
        area, rest = reader.area(place), units
    else:
        area, rest = _area_first(reader, span)
    if rest:
        return f"{area} {single_unit(read_units(rest), rest)}"
    decision = reader.decision("card-ability")
    offered = decision.options.words if decision is not None and isinstance(decision.options, Words) else ()
    there = [option for option in offered if option.startswith(f"{area} ")]
    if len(there) > 1:
        raise NotationError(f'"{span.text}" could be {either(there)}', span.column)
    return there[0] if there else f"{area} footman"


def _area_first(reader: Reader, span: Span) -> tuple[AreaId, Span]:
    if any(is_count_or_unit(token) for token in span.tokens[1:]):
        return reader.area_then_units(span, "card-ability")
    return reader.area(span), span.part(len(span))


def _one_unit(_reader: Reader, span: Span) -> str:
    return "footman" if span.key == "unrouted" else "routed-footman" if span.key == "routed" else single_unit(
        read_units(span), span
    )  # fmt: skip


CHOICES: dict[str, Choose] = {
    **{kind: _words(kind) for kind in v.WORDS},
    "wildling-tie": Reader.other_house,
    "preemptive-raid-track": Reader.track,
    "massing-discard": Reader.card,
    "king-beyond-raise": Reader.track,
    "king-beyond-lower": Reader.track,
    "mammoth-retrieve": _or(v.NONE, "none", Reader.card),
    "horde-muster-area": _or(v.NONE, "none", Reader.area),
    "house-card": Reader.card,
    "retreat-area": _or(v.LEAVE, "leave", Reader.area),
    "tyrion-replacement": Reader.card,
    "aeron-swap": _or(v.KEEP, "keep", Reader.card),
    "doran-track": Reader.track,
    "mace-footman": _one_unit,
    "queen-of-thorns-order": _or(v.NONE, "none", Reader.area),
    "cersei-order": _or(v.NONE, "none", Reader.area),
    "renly-upgrade": _or(v.NONE, "none", _footman),
    "patchface-discard": _or(v.NONE, "none", Reader.card),
    "luwin-retrieve": _or(v.NONE, "none", Reader.card),
    "asha-order": _or(v.NONE, "none", Reader.area),
    "melisandre-discard": _or(v.NONE, "none", Reader.card),
    "loras-footman": _one_unit,
}
"""What a word answer, or an ability, is chosen from."""


def word_answer(answer: type[c.WordAnswer]) -> Read:
    choose = CHOICES[str(answer.__struct_config__.tag)]
    return lambda reader, body: answer(house=reader.house, choice=choose(reader, body))


def combat_word(answer: type[c.CombatWord]) -> Read:
    kind = str(answer.__struct_config__.tag)

    def read(reader: Reader, body: Span) -> c.HouseAnswer:
        choose = CHOICES[kind]
        if not body.cut(":") and (placed := placed_units(body)):  # play the-hound at blackwater
            named, place = placed[0]
            area, choice = reader.area(place), choose(reader, with_arrows(named).without_lead("->"))
        else:
            area, choice = _area_and_choice(reader, body, choose, reader.question(answer), kind)
        return answer(house=reader.house, area=area, choice=choice)

    return read


def _area_and_choice(reader: Reader, body: Span, choose: Choose, question: Any, kind: str) -> tuple[AreaId, str]:
    """``blackwater: tywin-lannister``, or the choice alone where the combat is clear."""
    body = with_arrows(body)
    if cut := body.cut(":", "->"):
        named, rest = cut
        if named:
            return reader.area(named), choose(reader, rest.without_lead(":", "->"))
        body = rest
    if question is not None:
        try:
            return str(question.area), choose(reader, body)
        except NotationError:
            if len(body) < 2:
                raise
    if len(body) < 2:
        raise asked(kind, body.column)
    return reader.pair(body, reader.area, lambda span: choose(reader, span), v.USAGE[kind])


def ability_answer(reader: Reader, body: Span) -> c.HouseAnswer:
    """``blackwater tyrion-cancel: cancel``; the ability may stand first, or go without saying."""
    question = reader.question(c.CardAbility)
    found = _find_ability(body)
    if question is not None:
        # First as an answer to the open question: the card that replaces another may be one with an ability.
        try:
            return named_ability(question.ability)(reader, body)
        except NotationError:
            if found is None:
                raise
    if found is None:
        raise NotationError("no ability is named here", body.column, expected=either(c.ALL_ABILITIES))
    start, stop, ability = found
    before, after = body.part(0, start), body.part(stop)
    if question is not None and question.ability != ability:
        question = None
    if before:
        before = Span(tuple(token for token in before.tokens if token.mark != ":"), before.column)
        area, choice = reader.area(before), CHOICES[ability](reader, after.without_lead(":"))
    else:
        area, choice = _area_and_choice(reader, after, CHOICES[ability], question, "card-ability")
    return c.CardAbility(house=reader.house, area=area, ability=ability, choice=choice)


def _find_ability(body: Span) -> tuple[int, int, str] | None:
    for start in range(len(body)):
        for stop in range(min(start + 4, len(body)), start, -1):
            part = body.part(start, stop)
            if all(token.mark == "word" for token in part.tokens) and part.key in v.ABILITY_WORDS:
                return start, stop, v.ABILITY_WORDS[part.key]
    return None


def named_ability(ability: str) -> Read:
    """An ability as the first word of the answer."""

    def read(reader: Reader, body: Span) -> c.HouseAnswer:
        question = reader.question(c.CardAbility)
        if question is not None and question.ability != ability:
            question = None
        area, choice = _area_and_choice(reader, body, CHOICES[ability], question, "card-ability")
        return c.CardAbility(house=reader.house, area=area, ability=ability, choice=choice)

    return read
