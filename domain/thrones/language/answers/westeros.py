"""Answers of the Westeros phase (2E-DP-1 to 2E-DP-7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from domain.kernel.bounds import AtMost
from domain.thrones.language.answers.base import HouseAnswer, UnitsAnswer, WordAnswer
from domain.thrones.language.pieces import MOST_AREAS, MOST_HOUSES, AreaId, Count, HouseId, Unit, Units, each
from domain.thrones.spelling.names import NotationError
from domain.thrones.spelling.reader import (
    Reader,
    asked,
    bid_and_rest,
    is_count_or_unit,
    read_units,
    single_unit,
    with_arrows,
)
from domain.thrones.spelling.scan import Span
from domain.thrones.spelling.text import one_unit
from domain.thrones.spelling.words import NONE, NOTHING, PASS


class ThroneOfBlades(WordAnswer, frozen=True, tag="throne-of-blades"):
    """2E-DP-1: supply, mustering, nothing."""

    usage = "throne-of-blades supply|mustering|nothing"
    words = {"supply": (), "mustering": ("muster",), "nothing": PASS}


class DarkWings(WordAnswer, frozen=True, tag="dark-wings"):
    """2E-DP-2: clash-of-kings, collect-power, nothing."""

    usage = "dark-wings clash-of-kings|collect-power|nothing"
    words = {
        "clash-of-kings": ("clash", "cok", "bid", "bidding"),
        "collect-power": ("power", "collect", "gameofthrones"),
        "nothing": PASS,
    }


class PutToTheSword(WordAnswer, frozen=True, tag="put-to-the-sword"):
    """2E-DP-3: no-defense, no-march-plus-1, no-restriction."""

    usage = "put-to-the-sword no-defense|no-march-plus-1|no-restriction"
    words = {
        "no-defense": ("nodefence", "nodefenseorders", "nodefenceorders"),
        "no-march-plus-1": ("nomarch1", "nomarchplusone", "nospecialmarch", "nomarchstar"),
        "no-restriction": ("norestrictions", "none", "nothing"),
    }


class ReconcileSupply(UnitsAnswer, frozen=True, tag="reconcile-supply"):
    """2E-DP-4: a minimal set of units to destroy."""

    usage = "reconcile-supply AREA: UNITS; AREA: UNITS"
    heads = ("destroy", "reconcile", "supply")


class MusterStep(msgspec.Struct, frozen=True, omit_defaults=True):
    """Points of ``area`` bring ``unit`` into ``to``, instead of the Footman ``upgrade`` where that is given."""

    area: AreaId
    unit: Unit
    to: AreaId
    upgrade: Unit | None = None


class Muster(HouseAnswer, frozen=True, tag="muster"):
    """2E-DP-5: an ordered list of steps."""

    usage = "muster AREA: UNIT; UNIT from footman; ship @ PLACE"
    heads = ("recruit",)

    steps: Annotated[tuple[MusterStep, ...], AtMost(MOST_AREAS)] = ()

    @property
    def written(self) -> str:
        return f"muster {'; '.join(_steps(self.steps)) or 'nothing'}"

    @classmethod
    def read(cls, reader: Reader, body: Span) -> HouseAnswer:
        if not body:
            raise cls.missing("the units are", body, '"nothing"')
        if body.key in NOTHING:
            return cls(house=reader.house)
        steps: list[MusterStep] = []
        area = None
        for piece in body.split(";", ","):
            step = piece
            if step.cut(":") or not _is_step(step):
                area, step = _mustering_area(reader, step)
            if step and step.key not in NOTHING:
                if area is None:
                    raise asked(cls.usage, step.column)
                steps += _muster_steps(reader, area, step)
        return cls(house=reader.house, steps=tuple(steps))


def _steps(steps: tuple[MusterStep, ...]) -> Iterator[str]:
    area = None
    for step in steps:
        paying = "" if step.area == area else f"{step.area}: "
        upgrade = "" if step.upgrade is None else f" from {one_unit(step.upgrade)}"
        place = f" @ {step.to}" if step.to != step.area or step.unit == "ship" else ""
        yield f"{paying}{one_unit(step.unit)}{upgrade}{place}"
        area = step.area


def _is_step(piece: Span) -> bool:
    return is_count_or_unit(piece.tokens[0]) or piece.tokens[0].text.casefold() in ("a", "an", "upgrade")


def _mustering_area(reader: Reader, piece: Span) -> tuple[AreaId, Span]:
    if cut := piece.cut(":"):
        return reader.area(cut[0]), cut[1]
    for index in range(1, len(piece)):
        if _is_step(piece.part(index)) or piece.part(index).key in NOTHING:
            return reader.area(piece.part(0, index)), piece.part(index)
    raise NotationError(f'"{piece.text}" musters nothing', piece.column, expected=f'"{Muster.usage}"')


def _muster_steps(reader: Reader, area: AreaId, step: Span) -> list[MusterStep]:
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
    return [MusterStep(area=area, unit=unit, to=to or area, upgrade=upgrade) for unit in several]


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


class InfluenceBid(HouseAnswer, frozen=True, tag="influence-bid"):
    """2E-DP-6: Power for one track."""

    usage = "bid TRACK NUMBER"
    form = "bid {0.track} {0.bid}"
    secret = True

    track: str
    bid: Count

    @property
    def about(self) -> tuple[str, ...]:
        return (self.track,)

    @classmethod
    def read(cls, reader: Reader, body: Span) -> HouseAnswer:
        bid, rest = bid_and_rest(body, cls.usage)
        question = reader.question(cls)
        if not rest and question is None:
            raise asked(cls.usage, body.column)
        return cls(house=reader.house, track=reader.track(rest) if rest else question.track, bid=bid)


class InfluenceTie(HouseAnswer, frozen=True, tag="influence-tie"):
    """2E-DP-7: every group of equal bids in the order chosen, highest bids first."""

    usage = "tie TRACK: HOUSE, HOUSE; HOUSE, HOUSE"

    track: str
    groups: Annotated[tuple[Annotated[tuple[HouseId, ...], AtMost(MOST_HOUSES)], ...], AtMost(MOST_HOUSES)]

    @property
    def about(self) -> tuple[str, ...]:
        return (self.track,)

    @property
    def written(self) -> str:
        return f"tie {self.track}: {'; '.join(', '.join(group) for group in self.groups) or 'none'}"

    @classmethod
    def read(cls, reader: Reader, body: Span) -> HouseAnswer:
        if cut := body.cut(":"):
            track, rest = reader.track(cut[0]), cut[1]
        else:
            track, rest = _track_first(reader, body)
        if rest.key in NONE:
            return cls(house=reader.house, track=track, groups=())
        groups = tuple(tuple(reader.other_house(name) for name in group.split(",", ">")) for group in rest.split(";"))
        if not groups:
            raise cls.missing("the Houses are", rest)
        return cls(house=reader.house, track=track, groups=groups)


def _track_first(reader: Reader, body: Span) -> tuple[str, Span]:
    question = reader.question(InfluenceTie)
    for index in range(min(3, len(body)), 0, -1):
        if reader.lexicon.tracks.find(body.part(0, index).text):
            return reader.track(body.part(0, index)), body.part(index)
    if question is None:
        raise asked(InfluenceTie.usage, body.column)
    return str(question.track), body
