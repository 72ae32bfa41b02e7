"""Answers as canonical text. It always names its question, so that a late letter cannot answer the wrong one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from domain.thrones.language import answers as c
from domain.thrones.language.pieces import AreaId, Unit, Units, in_order
from domain.thrones.notation.words import short_order


def format_answer(answer: c.HouseAnswer, *, with_house: bool = False) -> str:
    """The canonical text of an answer; ``with_house`` puts ``lannister:`` in front."""
    text = _FORMATS[type(answer)](answer)
    house = f"{answer.house}: " if with_house else ""
    question = "" if answer.question is None else f" #{answer.question}"
    return f"{house}{text}{question}"


def canonical_answer(answer: c.HouseAnswer) -> c.HouseAnswer:
    """The same answer with the twins of every order token in canonical order of areas.

    ``parse`` gives back exactly this for the text of ``answer``.
    """
    if isinstance(answer, c.AssignOrders):
        seen: dict[str, int] = {}
        orders = {}
        for area in sorted(answer.orders):
            short = short_order(answer.orders[area])
            seen[short] = seen.get(short, 0) + 1
            orders[area] = _twin(answer.orders[area], seen[short])
        return msgspec.structs.replace(answer, orders=orders)
    if isinstance(answer, c.Raven) and answer.order is not None:
        return msgspec.structs.replace(answer, order=_twin(answer.order, 1))
    return answer


def _twin(order: str, number: int) -> str:
    return f"{order[:-1]}{'a' if number == 1 else 'b'}" if order.endswith(("-a", "-b")) else order


def one_unit(unit: Unit) -> str:
    """``routed knight``, ``siege-engine``."""
    return unit.replace("routed-", "routed ")


def some_units(units: Units) -> str:
    """``2 footman, routed knight``."""
    return ", ".join(f"{count} {one_unit(unit)}" if count > 1 else one_unit(unit) for unit, count in in_order(units))


def chosen_units(chosen: c.Chosen) -> str:
    """``pyke: ship; seagard: 2 footman``."""
    return "; ".join(f"{area}: {some_units(chosen[area])}" for area in sorted(chosen) if chosen[area]) or "none"


def _per_area(words: Mapping[AreaId, str]) -> str:
    return ", ".join(f"{area} {words[area]}" for area in sorted(words)) or "none"


def _bools(answers: Mapping[AreaId, bool], yes: str, no: str) -> str:
    return _per_area({area: yes if granted else no for area, granted in answers.items()})


def _word(answer: c.WordAnswer) -> str:
    return f"{answer.kind} {answer.choice}"


def _raid(answer: c.Raid) -> str:
    second = f", {answer.second}" if answer.second else ""
    return f"raid {answer.area} -> {answer.target or 'nothing'}{second}"


def _chosen(answer: Any) -> str:
    return f"{answer.kind} {chosen_units(answer.units)}"


def _degrade(answer: c.CrowKillersDegrade) -> str:
    parts = []
    if any(answer.replaced.values()):
        parts.append(f"replace {chosen_units(answer.replaced)}")
    if any(answer.destroyed.values()):
        parts.append(f"destroy {chosen_units(answer.destroyed)}")
    return f"{answer.kind} {'; '.join(parts) or 'none'}"


def _muster(answer: c.Muster) -> str:
    return f"muster {'; '.join(_steps(answer.steps)) or 'nothing'}"


def _steps(steps: Iterable[c.MusterStep]) -> Iterable[str]:
    area = None
    for step in steps:
        paying = "" if step.area == area else f"{step.area}: "
        upgrade = "" if step.upgrade is None else f" from {one_unit(step.upgrade)}"
        place = f" @ {step.to}" if step.to != step.area or step.unit == "ship" else ""
        yield f"{paying}{one_unit(step.unit)}{upgrade}{place}"
        area = step.area


def _tie(answer: c.InfluenceTie) -> str:
    return f"tie {answer.track}: {'; '.join(', '.join(group) for group in answer.groups) or 'none'}"


def _orders(answer: c.AssignOrders) -> str:
    shorts = {area: short_order(token) for area, token in answer.orders.items()}
    return f"{'draft ' if answer.draft else ''}orders {_per_area(shorts)}"


def _raven(answer: c.Raven) -> str:
    if answer.choice != "replace":
        return f"raven {answer.choice}"
    return f"raven replace {answer.area} {short_order(answer.order or '')}"


def _march(answer: c.MarchOrder) -> str:
    parts = [f"{some_units(move.units)} -> {move.to}" for move in answer.moves]
    if answer.leave_power:
        parts.append("leave power")
    return f"march {answer.area}: {'; '.join(parts) or 'nothing'}"


def _request(answer: c.NeutralSupportRequest) -> str:
    return f"{answer.kind} {'nothing' if answer.area is None else f'{answer.area} -> {answer.target}'}"


def _neutral_support(answer: c.NeutralSupport) -> str:
    return f"{answer.kind} {answer.target}: {_bools(answer.orders, 'grant', 'withhold')}"


def _accept(answer: c.AcceptSupport) -> str:
    return f"{answer.kind} {answer.area}: {_bools(answer.orders, 'accept', 'refuse')}"


def _combat_word(answer: c.CombatWord) -> str:
    return f"{answer.kind} {answer.area}: {answer.choice}"


def _ability(answer: c.CardAbility) -> str:
    return f"ability {answer.area} {answer.ability}: {answer.choice}"


_FORMATS: dict[type[c.HouseAnswer], Callable[[Any], str]] = {
    **{answer: _word for answer in c.ANSWERS if issubclass(answer, c.WordAnswer)},
    **{answer: _combat_word for answer in c.ANSWERS if issubclass(answer, c.CombatWord)},
    c.ReconcileSupply: _chosen,
    c.Muster: _muster,
    c.InfluenceBid: lambda answer: f"bid {answer.track} {answer.bid}",
    c.InfluenceTie: _tie,
    c.WildlingBid: lambda answer: f"bid wildlings {answer.bid}",
    c.WildlingTie: lambda answer: f"tie wildlings: {answer.choice}",
    c.DestroyUnits: _chosen,
    c.HordeCastleUnits: _chosen,
    c.CrowKillersDegrade: _degrade,
    c.CrowKillersUpgrade: _chosen,
    c.AssignOrders: _orders,
    c.Raven: _raven,
    c.Raid: _raid,
    c.MarchOrder: _march,
    c.NeutralSupportRequest: _request,
    c.NeutralSupport: _neutral_support,
    c.CaptureShips: lambda answer: f"capture-ships {answer.port} {answer.ships}",
    c.Consolidate: lambda answer: f"consolidate {answer.area} {answer.use}",
    c.Support: lambda answer: f"support {answer.area}: {_per_area(answer.orders)}",
    c.AcceptSupport: _accept,
    c.HouseCardChoice: lambda answer: f"card {answer.area}: {answer.choice}",
    c.CardAbility: _ability,
    c.Casualties: lambda answer: f"losses {answer.area}: {some_units(answer.units)}",
    c.SkullCasualty: lambda answer: f"skull {answer.area}: {some_units(answer.units)}",
    c.RetreatArea: lambda answer: f"retreat {answer.area} -> {answer.choice}",
    c.RetreatLosses: lambda answer: f"retreat-losses {answer.area}: {some_units(answer.units)}",
}
