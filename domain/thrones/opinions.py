"""Opinions as cases (docs/cases.md): a disputed ruling with its position, to try every engine to come with it.

What nobody may see is not written out: the order of the decks is left to the rule of docs/positions.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from domain.kernel.docket import DOCKET_FACTS, Appeal, Corrected, CorrectionOffered
from domain.kernel.facts import Answered, AnswerSealed, AnswersOpened, AnswerTaken, Awaiting, Fact
from domain.kernel.refusal import Refusal
from domain.thrones.cases import Answer, Case, CaseError, Excluded, Expect, Step, plain_fact, run_case
from domain.thrones.editions.composed import edition_of
from domain.thrones.notation import format_answer
from domain.thrones.pieces import TRACKS
from domain.thrones.positions import STEPS, Fight, Partial, PositionError, Where, changes_from, complete
from domain.thrones.ruleset import THRONES
from domain.thrones.start import Start
from domain.thrones.state import State

COMPARED = (
    *("round", "units", "garrisons", "neutral", "power_tokens", "orders", "tracks", "tokens", "used", "supply"),
    *("power", "hands", "discards", "threat", "prohibited", "march", "combat"),
)
"""Fields on which a position and the case made of it must agree."""

_encode = msgspec.json.Encoder(order="deterministic").encode


def as_case(
    *, game: str, appeal: Appeal, before: State, disputed: Sequence[Fact], ruled: Sequence[Fact], source: str
) -> Case:
    """The case of an appeal that was ruled on.

    ``before`` is the state before the disputed entry, ``disputed`` are its facts, ``ruled`` those of the ruling on the
    appeal. Raises Refusal for what cannot be a case.
    """
    if appeal.outcome is None:
        raise Refusal("no-opinion-yet", appeal=appeal.number)
    if not before.charter.edition:
        raise Refusal("not-a-case", problem="nothing had been played before that entry")
    step = _step(before, disputed)
    found = tuple(_pattern(fact) for fact in _followed(disputed))
    if not found:
        raise Refusal("not-a-case", problem="its ruling shows nothing to everybody")
    stated = tuple(_pattern(fact, rules=False) for fact in _stated(ruled))
    if stated:
        expect, wrong = Expect(facts=stated), Excluded(f"what entry {appeal.against} ruled", 1, Expect(facts=found))
    elif appeal.outcome in ("upheld", "declined"):
        expect, wrong = Expect(facts=found), Excluded(appeal.statement, 1, Expect(never=found[:1]))
    else:
        raise Refusal("not-a-case", problem="the arbiter took it back and stated nothing")
    case = Case(
        id=f"OP-{game}-{appeal.number}",
        title=appeal.opinion or appeal.statement,
        chapter="opinions",
        source=source,
        rules=tuple(dict.fromkeys(rule for fact in found for rule in fact.get("rules", ()))),
        steps=(msgspec.structs.replace(step, expect=expect),),
        excludes=(wrong,),
        position=partial_of(before),
        edition=before.charter.edition,
        note=f"Appeal: {appeal.statement}",
    )
    _check(case, must_pass=not stated)
    return case


def _check(case: Case, must_pass: bool) -> None:
    """A ruling that was upheld comes out again; a corrected one is for the engine that is to be mended."""
    try:
        report = run_case(case)
    except CaseError as error:
        raise Refusal("not-a-case", problem=str(error)) from error
    if must_pass and not report.passed:
        raise Refusal("not-a-case", problem=report.disagreement)


def _step(before: State, disputed: Sequence[Fact]) -> Step:
    """What was done: the answers that had to be in, and the one that was ruled on."""
    for number, fact in enumerate(disputed):
        if isinstance(fact, DOCKET_FACTS):
            break
        if isinstance(fact, Answered) and fact.how in ("given", "default"):
            return _done((), fact.answer.player, format_answer(fact.answer, with_house=True), fact.how)
        if isinstance(fact, AnswerTaken) and fact.how in ("given", "default"):
            if not any(isinstance(later, AnswersOpened) for later in disputed[number:]):
                raise Refusal("not-a-case", problem="its answer is still sealed")
            sealed = disputed[number + 1]
            assert isinstance(sealed, AnswerSealed)
            others = [one for house, one in sorted(before.hidden.answers.items()) if house != fact.player]
            earlier = tuple(format_answer(one, with_house=True) for one in others)
            return _done(earlier, fact.player, format_answer(sealed.answer, with_house=True), fact.how)
    raise Refusal("not-a-case", problem="nobody had answered anything there")


def _done(earlier: tuple[Answer, ...], house: str, text: str, how: str) -> Step:
    if how == "default" and not earlier:
        return Step(deadline=house)
    return Step(do=(*earlier, text)) if earlier else Step(do=text)


def _followed(disputed: Sequence[Fact]) -> Iterator[Fact]:
    """What the rules made of the answer, as far as everybody saw it."""
    for fact in disputed:
        if isinstance(fact, DOCKET_FACTS):
            return
        if fact.audience is None and not isinstance(fact, Awaiting | AnswerTaken | Answered | AnswersOpened):
            yield fact


def _stated(ruled: Sequence[Fact]) -> Sequence[Fact]:
    for number, fact in enumerate(ruled, start=1):
        if isinstance(fact, CorrectionOffered):
            return ()  # what he had stated before is made again
        if isinstance(fact, Corrected):
            return ruled[number : number + fact.count]
    return ()


def _pattern(fact: Fact, rules: bool = True) -> dict[str, Any]:
    found = plain_fact(fact)
    kept = [rule for rule in found.pop("rules", ()) if rule != "arbiter"]
    found.pop("audience", None)
    return {**found, "rules": kept} if rules and kept else found


# Positions


def partial_of(state: State) -> Partial:
    """A position as a case says it. Raises Refusal where a case cannot stand there."""
    wanted = _questions(msgspec.structs.replace(state, hidden=msgspec.structs.replace(state.hidden, answers={})))
    for where in _places(state):
        partial = partial_at(state, where)
        try:
            whole = complete(partial, state.charter.edition)
            if any(_encode(getattr(whole.state, name)) != _encode(getattr(state, name)) for name in COMPARED):
                continue
            start = Start(charter=whole.state.charter, position=whole.state, hidden=whole.hidden, reason="case")
            begun = THRONES.decide(THRONES.blank(), start).state
        except (PositionError, Refusal):
            continue
        if _questions(begun) == wanted:
            return partial
    raise Refusal("not-a-case", problem="a case cannot stand at that moment of the game")


def _places(state: State) -> Iterator[Where]:
    for step in STEPS:
        if step.startswith("combat/") != (state.combat is not None):
            continue
        tracks = TRACKS if step == "westeros/clash-of-kings" else ("",)
        for track in tracks:
            for last in ("", *state.houses):
                yield Where(step, last, track)


def _questions(state: State) -> bytes:
    """Who is asked what, with every option; numbers of questions do not count."""
    return _encode([(one.player, one.kind, one.default, one.options) for one in THRONES.decisions(state)])


def partial_at(state: State, where: Where) -> Partial:
    """A position that stands at ``where``, every part of it named but the decks."""
    edition = edition_of(state.charter)
    table = edition.players(len(state.houses))
    named = {*state.units, *state.garrisons, *state.neutral, *state.power_tokens, *state.orders}
    homes = [edition.houses[house].home for house in state.houses]
    cleared = {*table.neutral_forces, *table.impassable, *homes} - named
    return Partial(
        at=where,
        houses=state.houses,
        **changes_from(state.charter),
        round=state.round,
        units=state.units,
        empty=tuple(sorted(cleared)),
        garrisons=state.garrisons,
        neutral=state.neutral,
        power_tokens=state.power_tokens,
        orders=state.orders,
        tracks=state.tracks,
        tokens=state.tokens,
        used=state.used,
        supply=state.supply,
        power=state.power,
        hands=state.hands,
        discards=state.discards,
        westeros_discards=state.westeros_discards,
        westeros_cards=state.westeros_cards,
        threat=state.threat,
        prohibited=state.prohibited,
        fight=_fight(state),
    )


def _fight(state: State) -> Fight | None:
    combat, march = state.combat, state.march
    if combat is None:
        return None
    return Fight(
        attacker=combat.attacker,
        defender=combat.defender,
        area=combat.area,
        origin=combat.origin,
        units=march.units if march is not None else {},
        winner=combat.winner or "",
        cards=combat.cards,
        tides=combat.tides,
        support=combat.support,
    )
