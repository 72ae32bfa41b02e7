"""Answers of the action phase outside combat (2E-DP-24 to 2E-DP-29)."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from domain.kernel.bounds import AtMost
from domain.thrones.language.answers.base import HouseAnswer, each_order
from domain.thrones.language.pieces import MOST_AREAS, AreaId, Count, Units
from domain.thrones.spelling.names import NotationError, compact, either
from domain.thrones.spelling.reader import Reader, asked, is_count_or_unit, number, read_units, with_arrows, word
from domain.thrones.spelling.scan import Span
from domain.thrones.spelling.text import per_area, some_units
from domain.thrones.spelling.words import LEAVE_POWER, NO, NOTHING, YES


class Raid(HouseAnswer, frozen=True, tag="raid"):
    """2E-DP-24: a Raid order and its target or none; ``second`` for an order that takes two (1E-RAID-2)."""

    usage = "raid AREA -> AREA|nothing [, AREA]"

    area: AreaId
    target: AreaId | None = None
    second: AreaId | None = None

    @property
    def written(self) -> str:
        second = f", {self.second}" if self.second else ""
        return f"raid {self.area} -> {self.target or 'nothing'}{second}"

    @classmethod
    def read(cls, reader: Reader, body: Span) -> HouseAnswer:
        cut = with_arrows(body).cut("->", ":")
        if cut is None:
            if len(body) > 1 and body.part(-1).key in NOTHING:
                return cls(house=reader.house, area=reader.area(body.part(0, -1)))
            expected = '"raid AREA -> AREA" or "raid AREA -> nothing"'
            raise NotationError(f'"{body.text}" may be the Raid order or its target', body.column, expected=expected)
        area = reader.area(cut[0]) if cut[0] else reader.only_area(cls, cls.usage, body.column)
        if cut[1].key in NOTHING:
            return cls(house=reader.house, area=area)
        two = cut[1].cut(",")
        targets = [reader.area(part) for part in two] if two else [reader.area(cut[1])]
        return cls(house=reader.house, area=area, target=targets[0], second=targets[1] if two else None)


class Move(msgspec.Struct, frozen=True):
    """Units that go to one destination."""

    to: AreaId
    units: Units


class MarchOrder(HouseAnswer, frozen=True, tag="march"):
    """2E-DP-25: a March order with all its moves."""

    usage = "march AREA: UNITS -> AREA; UNITS -> AREA; leave power"
    heads = ("move",)

    area: AreaId
    moves: Annotated[tuple[Move, ...], AtMost(MOST_AREAS)] = ()
    leave_power: bool = False

    @property
    def written(self) -> str:
        parts = [f"{some_units(move.units)} -> {move.to}" for move in self.moves]
        parts += ["leave power"] if self.leave_power else []
        return f"march {self.area}: {'; '.join(parts) or 'nothing'}"

    @classmethod
    def read(cls, reader: Reader, body: Span) -> HouseAnswer:
        body = with_arrows(body)
        cut = body.cut(":")
        if cut and (way := cut[0].cut("->")):  # march lannisport -> riverrun: 2 footman
            moves, leave_power = _moves(reader, cut[1], to=reader.area(way[1]))
            return cls(house=reader.house, area=reader.area(way[0]), moves=moves, leave_power=leave_power)
        area, rest = (reader.area(cut[0]), cut[1]) if cut else _marching_area(reader, body)
        moves, leave_power = _moves(reader, rest)
        return cls(house=reader.house, area=area, moves=moves, leave_power=leave_power)


def _marching_area(reader: Reader, body: Span) -> tuple[AreaId, Span]:
    if body and is_count_or_unit(body.tokens[0]) and not body.part(0, 1).key.isalpha():
        return reader.only_area(MarchOrder, MarchOrder.usage, body.column), body
    for index in range(1, len(body)):
        rest = body.part(index)
        if is_count_or_unit(body.tokens[index]) or rest.key in NOTHING or rest.key in LEAVE_POWER:
            return reader.area(body.part(0, index)), rest
    raise asked(MarchOrder.usage, body.column)


def _moves(reader: Reader, body: Span, to: AreaId | None = None) -> tuple[tuple[Move, ...], bool]:
    """The moves and whether a Power token stays. Units go with the next arrow behind them, or to ``to``."""
    moves: list[Move] = []
    leave_power = is_nothing = False
    for piece in body.split(";"):
        waiting: list[Span] = []
        for part in piece.split(","):
            if part.key in LEAVE_POWER:
                leave_power = True
            elif part.key in NOTHING:
                is_nothing = True
            elif cut := part.cut("->"):
                tokens = tuple(token for some in [*waiting, cut[0]] for token in some.tokens)
                units = Span(tokens, tokens[0].column if tokens else part.column)
                moves.append(Move(to=reader.area(cut[1]), units=read_units(units)))
                waiting = []
            else:
                waiting.append(part)
        if waiting:
            tokens = tuple(token for some in waiting for token in some.tokens)
            units = Span(tokens, tokens[0].column)
            held = read_units(units)
            if to is None:
                raise NotationError(f'"{units.text}" has no destination', units.end, expected='"-> AREA"')
            moves.append(Move(to=to, units=held))
    if is_nothing and moves:
        raise NotationError('there is a move and "nothing" too', body.column)
    if not (moves or leave_power or is_nothing):
        raise NotationError("the moves are missing", body.column, expected='"UNITS -> AREA" or "nothing"')
    return tuple(moves), leave_power


class NeutralSupportRequest(HouseAnswer, frozen=True, tag="neutral-support-request"):
    """2E-DP-26: the March order in ``area`` against the neutral force in ``target``, or neither."""

    usage = "neutral-support-request AREA -> AREA"
    heads = ("ask", "ask support", "request support")

    area: AreaId | None = None
    target: AreaId | None = None

    @property
    def written(self) -> str:
        return f"{self.kind} {'nothing' if self.area is None else f'{self.area} -> {self.target}'}"

    @classmethod
    def read(cls, reader: Reader, body: Span) -> HouseAnswer:
        if body.key in NOTHING:
            return cls(house=reader.house)
        cut = with_arrows(body).cut("->", ":")
        if cut is None or not cut[0]:
            raise asked(cls.usage, body.column)
        return cls(house=reader.house, area=reader.area(cut[0]), target=reader.area(cut[1]))


class NeutralSupport(HouseAnswer, frozen=True, tag="neutral-support"):
    """2E-DP-27: grant (true) or withhold, per order; ``target`` is the neutral force."""

    usage = "neutral-support AREA: AREA grant|withhold"
    heads = ("grant",)
    words = {"grant": (*YES, "give", "support", "granted"), "withhold": (*NO, "refuse", "deny", "none")}

    target: AreaId
    orders: Annotated[dict[AreaId, bool], AtMost(MOST_AREAS)]

    @property
    def about(self) -> tuple[str, ...]:
        return (self.target,)

    @property
    def written(self) -> str:
        words = {area: "grant" if granted else "withhold" for area, granted in self.orders.items()}
        return f"{self.kind} {self.target}: {per_area(words)}"

    @classmethod
    def read(cls, reader: Reader, body: Span) -> HouseAnswer:
        return cls(house=reader.house, **each_order(cls, reader, body, "target", {"grant": True, "withhold": False}))


class CaptureShips(HouseAnswer, frozen=True, tag="capture-ships"):
    """2E-DP-28: how many Ships to place in a captured port."""

    usage = "capture-ships PORT NUMBER"
    form = "capture-ships {0.port} {0.ships}"
    heads = ("capture",)

    port: AreaId
    ships: Count

    @property
    def about(self) -> tuple[str, ...]:
        return (self.port,)

    @classmethod
    def read(cls, reader: Reader, body: Span) -> HouseAnswer:
        said = (token for token in body.tokens if token.mark != ":" and compact(token.text) not in ("ship", "ships"))
        body = Span(tuple(said), body.column)
        question = reader.question(cls)
        if len(body) == 1 and question is not None:
            return cls(house=reader.house, port=question.port, ships=_ships(body))
        if len(body) < 2:
            raise asked(cls.usage, body.column)
        port, ships = reader.pair(body, reader.area, _ships, cls.usage)
        return cls(house=reader.house, port=port, ships=ships)


def _ships(span: Span) -> int:
    return 0 if span.key in ("none", "nothing") else number(span, "a number of Ships")


class Consolidate(HouseAnswer, frozen=True, tag="consolidate"):
    """2E-DP-29: a Consolidate Power order, for Power or to muster."""

    usage = "consolidate AREA power|muster"
    form = "consolidate {0.area} {0.use}"
    heads = ("consolidate power", "cp", "power")
    words = {"power": ("cp", "collect", "tokens"), "muster": ("mustering", "recruit")}

    area: AreaId
    use: Literal["power", "muster"] = "power"

    @classmethod
    def read(cls, reader: Reader, body: Span) -> HouseAnswer:
        if cut := with_arrows(body).cut(":", "->"):
            area = reader.area(cut[0]) if cut[0] else reader.only_area(cls, cls.usage, body.column)
            return _consolidated(reader, area, word(cut[1], cls.words))
        if not body:
            return _power_unless_muster(reader, reader.only_area(cls, cls.usage, body.column), body)
        try:
            chosen = word(body, cls.words)
        except NotationError:
            pass
        else:
            return _consolidated(reader, reader.only_area(cls, cls.usage, body.column), chosen)
        if reader.lexicon.areas.find(body.text) or len(body) < 2:
            return _power_unless_muster(reader, reader.area(body), body)
        return _consolidated(reader, *reader.pair(body, reader.area, lambda span: word(span, cls.words), cls.usage))


def _consolidated(reader: Reader, area: AreaId, use: str) -> Consolidate:
    return Consolidate(house=reader.house, area=area, use="muster" if use == "muster" else "power")


def _power_unless_muster(reader: Reader, area: AreaId, body: Span) -> HouseAnswer:
    """The area alone means Power, but not where the order could muster as well."""
    if reader.is_legal(_consolidated(reader, area, "muster")):
        texts = f'"consolidate {area} power"', f'"consolidate {area} muster"'
        raise NotationError("this order may give Power or muster", body.column, expected=either(texts))
    return _consolidated(reader, area, "power")
