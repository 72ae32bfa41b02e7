"""Reading what orders do: raids, marches, Consolidate Power, support."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from domain.thrones.language import answers as c
from domain.thrones.language.pieces import AreaId
from domain.thrones.notation import vocabulary as v
from domain.thrones.notation.reader import (
    Read,
    Reader,
    asked,
    is_count_or_unit,
    read_units,
    with_arrows,
    word,
)
from domain.thrones.notation.scan import Span
from domain.thrones.notation.words import NotationError, either


def raid(reader: Reader, body: Span) -> c.HouseAnswer:
    cut = with_arrows(body).cut("->", ":")
    if cut is None:
        if len(body) > 1 and body.part(-1).key in v.NOTHING:
            return c.Raid(house=reader.house, area=reader.area(body.part(0, -1)))
        expected = '"raid AREA -> AREA" or "raid AREA -> nothing"'
        raise NotationError(f'"{body.text}" may be the Raid order or its target', body.column, expected=expected)
    area = reader.area(cut[0]) if cut[0] else reader.only_area("raid", body.column)
    if cut[1].key in v.NOTHING:
        return c.Raid(house=reader.house, area=area)
    two = cut[1].cut(",")
    targets = [reader.area(part) for part in two] if two else [reader.area(cut[1])]
    return c.Raid(house=reader.house, area=area, target=targets[0], second=targets[1] if two else None)


def march(reader: Reader, body: Span) -> c.HouseAnswer:
    body = with_arrows(body)
    cut = body.cut(":")
    if cut and (way := cut[0].cut("->")):  # march lannisport -> riverrun: 2 footman
        moves, leave_power = _moves(reader, cut[1], to=reader.area(way[1]))
        return c.MarchOrder(house=reader.house, area=reader.area(way[0]), moves=moves, leave_power=leave_power)
    area, rest = (reader.area(cut[0]), cut[1]) if cut else _marching_area(reader, body)
    moves, leave_power = _moves(reader, rest)
    return c.MarchOrder(house=reader.house, area=area, moves=moves, leave_power=leave_power)


def _marching_area(reader: Reader, body: Span) -> tuple[AreaId, Span]:
    if body and is_count_or_unit(body.tokens[0]) and not body.part(0, 1).key.isalpha():
        return reader.only_area("march", body.column), body
    for index in range(1, len(body)):
        rest = body.part(index)
        if is_count_or_unit(body.tokens[index]) or rest.key in v.NOTHING or rest.key in v.LEAVE_POWER:
            return reader.area(body.part(0, index)), rest
    raise asked("march", body.column)


def _moves(reader: Reader, body: Span, to: AreaId | None = None) -> tuple[tuple[c.Move, ...], bool]:
    """The moves and whether a Power token stays. Units go with the next arrow behind them, or to ``to``."""
    moves: list[c.Move] = []
    leave_power = is_nothing = False
    for piece in body.split(";"):
        waiting: list[Span] = []
        for part in piece.split(","):
            if part.key in v.LEAVE_POWER:
                leave_power = True
            elif part.key in v.NOTHING:
                is_nothing = True
            elif cut := part.cut("->"):
                tokens = tuple(token for some in [*waiting, cut[0]] for token in some.tokens)
                units = Span(tokens, tokens[0].column if tokens else part.column)
                moves.append(c.Move(to=reader.area(cut[1]), units=read_units(units)))
                waiting = []
            else:
                waiting.append(part)
        if waiting:
            tokens = tuple(token for some in waiting for token in some.tokens)
            units = Span(tokens, tokens[0].column)
            held = read_units(units)
            if to is None:
                raise NotationError(f'"{units.text}" has no destination', units.end, expected='"-> AREA"')
            moves.append(c.Move(to=to, units=held))
    if is_nothing and moves:
        raise NotationError('there is a move and "nothing" too', body.column)
    if not (moves or leave_power or is_nothing):
        raise NotationError("the moves are missing", body.column, expected='"UNITS -> AREA" or "nothing"')
    return tuple(moves), leave_power


def request(reader: Reader, body: Span) -> c.HouseAnswer:
    if body.key in v.NOTHING:
        return c.NeutralSupportRequest(house=reader.house)
    cut = with_arrows(body).cut("->", ":")
    if cut is None or not cut[0]:
        raise asked("neutral-support-request", body.column)
    return c.NeutralSupportRequest(house=reader.house, area=reader.area(cut[0]), target=reader.area(cut[1]))


def consolidate(reader: Reader, body: Span) -> c.HouseAnswer:
    def use(span: Span) -> str:
        return word(span, v.WORDS["consolidate"])

    if cut := with_arrows(body).cut(":", "->"):
        area = reader.area(cut[0]) if cut[0] else reader.only_area("consolidate", body.column)
        return _consolidated(reader, area, use(cut[1]))
    if not body:
        return _power_unless_muster(reader, reader.only_area("consolidate", body.column), body)
    try:
        chosen = use(body)
    except NotationError:
        pass
    else:
        return _consolidated(reader, reader.only_area("consolidate", body.column), chosen)
    if reader.lexicon.areas.find(body.text) or len(body) < 2:
        return _power_unless_muster(reader, reader.area(body), body)
    return _consolidated(reader, *reader.pair(body, reader.area, use, v.USAGE["consolidate"]))


def _consolidated(reader: Reader, area: AreaId, use: str) -> c.Consolidate:
    return c.Consolidate(house=reader.house, area=area, use="muster" if use == "muster" else "power")


def _power_unless_muster(reader: Reader, area: AreaId, body: Span) -> c.HouseAnswer:
    """The area alone means Power, but not where the order could muster as well."""
    if reader.is_legal(_consolidated(reader, area, "muster")):
        texts = f'"consolidate {area} power"', f'"consolidate {area} muster"'
        raise NotationError("this order may give Power or muster", body.column, expected=either(texts))
    return _consolidated(reader, area, "power")


# Support


def per_order(
    answer: type[c.HouseAnswer], words: Mapping[str, tuple[str, ...]], values: Mapping[str, Any], about: str
) -> Read:
    """``blackwater: stoney-sept attacker, harrenhal withhold``; one word alone is for all orders asked about."""
    kind = str(answer.__struct_config__.tag)

    def read(reader: Reader, body: Span) -> c.HouseAnswer:
        question = reader.question(answer)
        named, rest = body.cut(":") or (Span((), body.column), body)
        area = reader.area(named) if named else None
        if not named and question is None:
            raise asked(kind, body.column)
        if question is not None and area not in (None, getattr(question, about)):
            question = None
        if not named:
            area, rest = _leading_question(reader, body, getattr(question, about), words, tuple(question.orders))
        orders = {} if named and rest.key in v.NONE and question is None else _each_order(reader, rest, words, question)
        chosen = {order: values[orders[order]] for order in sorted(orders)}
        fields: dict[str, Any] = {about: area, "orders": chosen}
        return answer(house=reader.house, **fields)

    def _each_order(
        reader: Reader, rest: Span, words: Mapping[str, tuple[str, ...]], question: Any
    ) -> dict[AreaId, str]:
        try:
            alone = word(rest, words)
        except NotationError:
            pass
        else:
            if question is None:
                raise NotationError("the orders are not named", rest.column, expected=f'"{v.USAGE[kind]}"')
            return dict.fromkeys(question.orders, alone)
        orders: dict[AreaId, str] = {}
        for item in rest.split(",", ";"):
            area, choice = _order_and_word(reader, item, words, kind)
            if area in orders:
                raise NotationError(f"{area} is named twice", item.column)
            orders[area] = choice
        if not orders:
            raise NotationError("the orders are missing", rest.column, expected=f'"{v.USAGE[kind]}"')
        return orders

    return read


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


def _order_and_word(reader: Reader, item: Span, words: Mapping[str, tuple[str, ...]], kind: str) -> tuple[AreaId, str]:
    if cut := with_arrows(item).cut(":", "->"):
        return reader.area(cut[0]), word(cut[1], words)
    if len(item) < 2:
        raise NotationError(f'"{item.text}" can not be read here', item.column, expected=f'"{v.USAGE[kind]}"')
    return reader.pair(item, reader.area, lambda span: word(span, words), v.USAGE[kind])
