"""Worked examples as cases, so that they can be put to other adjudicators (docs/cases.md).

There is one conversion for all formats: the example is played, and what was done becomes the steps of a case. It
expects at the end what the example speaks of: parts of the position, strengths and outcomes of battles, refusals,
trials. The case is then tried with our own engine; an example that says nothing of the kind, or at whose moment no
step of a case ends, is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from domain.kernel.commands import Command, PassDeadline
from domain.kernel.facts import Fact
from domain.kernel.refusal import Refusal
from domain.thrones import commands as c
from domain.thrones import facts as f
from domain.thrones.cases import Case, CaseError, Expect, Forbidden, Refused, Step, try_case
from domain.thrones.interchange.examples import Example
from domain.thrones.interchange.first_examples import FirstExample
from domain.thrones.pieces import TOKEN_OF_TRACK, is_routed
from domain.thrones.positions import Partial, PositionError, changes_from
from domain.thrones.ruleset import THRONES

CHAPTER = "worked-examples"
OF_AREAS = ("units", "garrisons", "neutral", "power_tokens", "orders")
BATTLES = ("combat", "values", "neutral-attack")
"""Expectations that speak of strengths and outcomes."""


def case_of(example: dict[str, Any], preset: str, kind: type[Example]) -> Case | None:
    """The case that says the same. Raises :class:`CaseError` for an example that our own engine does not pass."""
    run = kind(example, preset)
    report = run.run()
    if not report.passed:
        raise CaseError(f"{report.id}: {report.disagreement}")
    if run.assumed_draws or any(action["do"] in BY_HAND for action in run.actions):
        return None
    battles = any(key in run.expected for key in BATTLES)
    steps = [_step(command, facts if battles else ()) for command, facts in run.commands]
    for at in ("step-over", "end"):
        case = _with(run, steps, _expected(run, at))
        if case is not None and _agrees(case):
            return case
    return None


NOTHING = (Expect(), Expect(when="end"))

BY_HAND = ("move-influence", "take-power")
"""What an example does without anybody's answer."""


def _step(command: Command, facts: tuple[Fact, ...]) -> Step:
    expect = Expect(facts=tuple(_of_battles(facts)))
    if isinstance(command, PassDeadline):
        return Step(deadline=command.player, expect=expect)
    return Step(do=msgspec.to_builtins(command), expect=expect)


def _with(run: Example, steps: list[Step], expect: Expect) -> Case | None:
    """The case with this expectation at its end, if it says anything."""
    if steps:
        expect = msgspec.structs.replace(expect, facts=steps[-1].expect.facts)
        steps = [*steps[:-1], msgspec.structs.replace(steps[-1], expect=expect)]
    if all(one in NOTHING for one in (expect, *(step.expect for step in steps))):
        return None
    position = run.partial
    if position is None:
        position = Partial(houses=run.state.houses, **changes_from(run.state.charter))
    return Case(
        id=str(run.example["id"]),
        title=str(run.example.get("title", "")),
        chapter=CHAPTER,
        source=str(run.example.get("source", "")),
        rules=tuple(run.example.get("rules", ())),
        steps=tuple(steps),
        excludes=(),
        edition=run.preset,
        position=position,
        set_up=run.partial is None,
        begin=Expect() if steps else expect,
    )


def _agrees(case: Case) -> bool:
    try:
        return try_case(case).passed
    except (CaseError, PositionError, Refusal):
        return False


def _expected(run: Example, at: Any) -> Expect:
    refused = run.refusal and Refused(tuple(run.refusal.rules))
    legal, illegal = _trials(run) if isinstance(run, FirstExample) else ((), ())
    return Expect(
        refused=refused or None,
        position=_fragment(run),
        when=at,
        legal=legal,
        illegal=illegal,
    )


def _of_battles(facts: tuple[Fact, ...]) -> Iterator[dict[str, Any]]:
    for fact in facts:
        if isinstance(fact, f.StrengthCounted):
            said = {"stage": fact.stage, "house": fact.house, "area": fact.area, "total": fact.total}
            yield {"fact": "StrengthCounted", **said}
        elif isinstance(fact, f.CombatDecided):
            yield {"fact": "CombatDecided", "winner": fact.winner, "loser": fact.loser}
        elif isinstance(fact, f.CasualtiesCounted):
            yield {"fact": "CasualtiesCounted", "house": fact.house, "number": fact.number}


def _trials(run: FirstExample) -> tuple[tuple[dict[str, Any], ...], tuple[Forbidden, ...]]:
    """What is tried where the example ends; what is tried elsewhere is left out."""
    legal = [msgspec.to_builtins(one) for one in _tried(run, "legal")]
    illegal = [Forbidden(msgspec.to_builtins(one)) for one in _tried(run, "illegal")]
    for march, allowed in _marches(run):
        plain = msgspec.to_builtins(march)
        legal, illegal = ([*legal, plain], illegal) if allowed else (legal, [*illegal, Forbidden(plain)])
    return tuple(legal), tuple(illegal)


def _marches(run: FirstExample) -> Iterator[tuple[c.MarchOrder, bool]]:
    """One unit to every land area, where an example lists those that can be reached."""
    said = run.expected.get("reachable")
    if not said or not any(one.kind == "march" for one in THRONES.decisions(run.state)):
        return
    origin = said["from"]
    force = run.state.units[origin]
    unit = next(unit for unit in force.units if not is_routed(unit))
    for area in run.edition.board.land:
        if area != origin:
            yield c.MarchOrder(force.house, origin, (c.Move(area, {unit: 1}),)), area in said["to"]


def _tried(run: FirstExample, word: str) -> Iterator[c.HouseAnswer]:
    for action in run.expected.get(word, ()):
        answer = run.asked_here(action)
        if answer is not None:
            yield answer


def _fragment(run: Example) -> dict[str, Any]:
    """The parts of the position that the expectation speaks of, as they are."""
    state, expected = msgspec.to_builtins(run.shown), run.expected
    found: dict[str, dict[str, Any]] = {}

    def take(field: str, keys: Any) -> None:
        found.setdefault(field, {}).update({key: state[field].get(key) for key in keys})

    for area in expected.get("areas", {}):
        for field in OF_AREAS:
            take(field, [area])
    take("orders", expected.get("removed_orders", ()))
    for key, field in FIELDS.items():
        if isinstance(expected.get(key), dict):
            take(field, expected[key])
    for key in ("tokens", "holders"):
        take("tokens", [TOKENS.get(token, token) for token in expected.get(key, ())])
    fragment: dict[str, Any] = {field: entries for field, entries in found.items() if entries}
    if "wildling-threat" in expected:
        fragment["threat"] = state["threat"]
    if "round" in expected:
        fragment["round"] = state["round"]
    return fragment


TOKENS = {"iron-throne": "iron-throne-token"} | {name: name for name in TOKEN_OF_TRACK.values()}
FIELDS = {
    "power": "power",
    "neutral": "neutral",
    "neutral-forces": "neutral",
    "garrisons": "garrisons",
    "supply": "supply",
    "victory": "victory",
    "tracks": "tracks",
    "hands": "hands",
    "discards": "discards",
    "orders-left": "orders",
    "controller": "control",
}
