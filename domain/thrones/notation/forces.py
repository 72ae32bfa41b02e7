"""Reading units that are destroyed, replaced or mustered."""

from __future__ import annotations

from collections.abc import Callable

from domain.thrones.language import answers as c
from domain.thrones.language.pieces import AreaId, Unit, Units, each
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
)
from domain.thrones.notation.scan import Span
from domain.thrones.notation.words import NotationError


def units_by_area(answer: Callable[..., c.HouseAnswer], kind: str) -> Read:
    def read(reader: Reader, body: Span) -> c.HouseAnswer:
        return answer(house=reader.house, units=_chosen(reader, body, kind))

    return read


def _chosen(reader: Reader, body: Span, kind: str) -> c.Chosen:
    if not body:
        raise NotationError("the units are missing", body.column, expected=f'"{v.USAGE[kind]}" or "none"')
    return {} if body.key in v.NONE else reader.chosen(body.split(";"), kind)


def degrade(reader: Reader, body: Span) -> c.HouseAnswer:
    """Knights replaced and Knights destroyed; ``replace`` and ``destroy`` hold until the other one comes."""
    kind = "crow-killers-degrade"
    if not body:
        raise NotationError("the units are missing", body.column, expected=f'"{v.USAGE[kind]}" or "none"')
    if body.key in v.NONE:
        return c.CrowKillersDegrade(house=reader.house)
    parts: dict[str, list[Span]] = {"replace": [], "destroy": []}
    verb = "replace"
    for piece in body.split(";"):
        first = piece.tokens[0].text.casefold()
        if first in parts:
            verb, piece = first, piece.part(1).without_lead(":")
        parts[verb] += [piece] if piece else []
    return c.CrowKillersDegrade(
        house=reader.house,
        replaced=reader.chosen(parts["replace"], kind),
        destroyed=reader.chosen(parts["destroy"], kind),
    )


def combat_units(answer: type[c.CombatLosses]) -> Read:
    kind = str(answer.__struct_config__.tag)

    def read(reader: Reader, body: Span) -> c.HouseAnswer:
        question = reader.question(answer)
        if placed := placed_units(body):
            if len(placed) > 1:
                raise asked(kind, placed[1][0].column)
            return answer(house=reader.house, area=reader.area(placed[0][1]), units=read_units(placed[0][0]))
        if question is not None and body and not body.cut(":"):
            try:
                return answer(house=reader.house, area=question.area, units=read_units(body))
            except NotationError:
                if is_count_or_unit(body.tokens[0]) or len(body) < 2:
                    raise
        area, rest = reader.area_then_units(body, kind)
        return answer(house=reader.house, area=area, units=read_units(rest))

    return read


# Mustering


def muster(reader: Reader, body: Span) -> c.HouseAnswer:
    if not body:
        raise NotationError("the units are missing", body.column, expected=f'"{v.USAGE["muster"]}" or "nothing"')
    if body.key in v.NOTHING:
        return c.Muster(house=reader.house)
    steps: list[c.MusterStep] = []
    area = None
    for piece in body.split(";", ","):
        step = piece
        if step.cut(":") or not _is_step(step):
            area, step = _mustering_area(reader, step)
        if step and step.key not in v.NOTHING:
            if area is None:
                raise asked("muster", step.column)
            steps += _muster_steps(reader, area, step)
    return c.Muster(house=reader.house, steps=tuple(steps))


def _is_step(piece: Span) -> bool:
    return is_count_or_unit(piece.tokens[0]) or piece.tokens[0].text.casefold() in ("a", "an", "upgrade")


def _mustering_area(reader: Reader, piece: Span) -> tuple[AreaId, Span]:
    if cut := piece.cut(":"):
        return reader.area(cut[0]), cut[1]
    for index in range(1, len(piece)):
        if _is_step(piece.part(index)) or piece.part(index).key in v.NOTHING:
            return reader.area(piece.part(0, index)), piece.part(index)
    raise NotationError(f'"{piece.text}" musters nothing', piece.column, expected=f'"{v.USAGE["muster"]}"')


def _muster_steps(reader: Reader, area: AreaId, step: Span) -> list[c.MusterStep]:
    """``2 footman``, ``ship @ port``, ``knight from footman``, ``upgrade footman to knight``."""
    step = with_arrows(step)
    to: AreaId | None = None
    at = next((i for i, token in enumerate(step.tokens) if i and token.text.casefold() in ("@", "at", "in")), None)
    if at is not None:
        to, step = _place(reader, area, step.part(at + 1)), step.part(0, at)
    units, upgrade, span = _upgraded(step)
    several = list(each(units))
    if upgrade is not None and len(several) > 1:
        raise NotationError("one Footman is replaced at a time", span.column, expected="one step for each")
    if to is None and "ship" in units:
        raise NotationError("a Ship needs a place", span.column, expected=f'"ship @ PLACE" for {area}')
    return [c.MusterStep(area=area, unit=unit, to=to or area, upgrade=upgrade) for unit in several]


def _place(reader: Reader, area: AreaId, span: Span) -> AreaId:
    if span.key in ("port", "theport", "harbor", "harbour", "itsport"):
        port = reader.lexicon.areas.port_of(area)
        if port is None:
            raise NotationError(f"{area} has no port", span.column)
        return port
    return reader.area(span)


def _upgraded(step: Span) -> tuple[Units, Unit | None, Span]:
    """The new unit, and the Footman it replaces if there is one."""
    is_upgrade = step.tokens[0].text.casefold() == "upgrade"
    plain = step.part(1) if is_upgrade else step
    if cut := plain.cut("->"):  # footman -> knight
        old, new = cut
        return read_units(new), single_unit(read_units(old), old) if old else "footman", new
    for index, token in enumerate(plain.tokens):
        if index and token.text.casefold() in ("from", "for", "replacing", "instead"):
            new, old = plain.part(0, index), plain.part(index + 1)
            if old and old.tokens[0].text.casefold() == "of":
                old = old.part(1)
            return read_units(new), single_unit(read_units(old), old), new
    return read_units(plain), "footman" if is_upgrade else None, plain
