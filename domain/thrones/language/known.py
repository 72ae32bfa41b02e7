"""Names in an answer: whether they exist at all, which is another mistake than an illegal move."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from domain.kernel.refusal import Refusal
from domain.thrones.language import answers as c
from domain.thrones.language.state import State
from domain.thrones.tables.edition import Edition


def check_names(edition: Edition, state: State, answer: c.HouseAnswer) -> None:
    """Raise an *unknown* refusal when an answer names a House, area, order or unit that does not exist."""
    if answer.house not in edition.houses:
        raise Refusal("unknown-house", unknown=True, house=answer.house, known=sorted(edition.houses))
    if answer.house not in state.houses:
        raise Refusal("house-not-in-play", ("2E-SET-1",), house=answer.house, houses=list(state.houses))
    for area in _areas(answer):
        if area not in edition.board:
            raise Refusal("unknown-area", unknown=True, area=area)
    for order in _orders(answer):
        if order not in edition.tokens:
            raise Refusal("unknown-order", ("2E-ORD-2",), unknown=True, order=order, known=list(edition.tokens))
    for unit in _units(answer):
        if unit not in edition.unit_names:
            raise Refusal("unknown-unit", ("2E-GEN-3",), unknown=True, unit=unit, known=list(edition.unit_names))


def _areas(answer: c.HouseAnswer) -> Iterator[str]:
    for name in ("area", "target", "second", "port"):
        value = getattr(answer, name, None)
        if isinstance(value, str):
            yield value
    for name in ("orders", "units", "replaced", "destroyed"):
        value = getattr(answer, name, None)
        if isinstance(value, dict) and not isinstance(answer, c.CombatLosses):
            yield from value
    if isinstance(answer, c.MarchOrder):
        yield from (move.to for move in answer.moves)
    if isinstance(answer, c.Muster):
        for step in answer.steps:
            yield step.area
            yield step.to


def _orders(answer: c.HouseAnswer) -> Iterator[str]:
    if isinstance(answer, c.AssignOrders):
        yield from answer.orders.values()
    if isinstance(answer, c.Raven) and answer.order is not None:
        yield answer.order


def _units(answer: c.HouseAnswer) -> Iterator[str]:
    if isinstance(answer, c.CombatLosses):
        yield from answer.units
    for name in ("units", "replaced", "destroyed"):
        value: Any = getattr(answer, name, None)
        if isinstance(value, dict) and not isinstance(answer, c.CombatLosses):
            for units in value.values():
                yield from units
    if isinstance(answer, c.MarchOrder):
        for move in answer.moves:
            yield from move.units
    if isinstance(answer, c.Muster):
        for step in answer.steps:
            yield step.unit
            if step.upgrade is not None:
                yield step.upgrade
