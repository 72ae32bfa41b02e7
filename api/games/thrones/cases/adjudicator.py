"""Our side of the protocol of the cases: an adjudicator that answers line by line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_args, get_type_hints

import msgspec

from api.games.thrones.cases.cases import CaseError, Moment, as_asked, begin, exactly, read_answer
from api.games.thrones.cases.comparing import plain_fact, rules_in
from api.games.thrones.cases.positions import Completed, Partial, PositionError, complete
from api.games.thrones.cases.protocol import (
    ALL_FACTS,
    FIELDS,
    PROTOCOL,
    SKILLS,
    Act,
    AnyReply,
    AnyRequest,
    Greet,
    Introduction,
    Look,
    Mistaken,
    Open,
    Pass,
    Put,
    Ruled,
    Shown,
    Skipped,
    Try,
    charter_of,
)
from domain.kernel.commands import Command, PassDeadline
from domain.kernel.refusal import Refusal
from domain.thrones.language.state import State
from domain.thrones.language.view import view
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.behaviour import ENGINE
from domain.thrones.tables.charter import Switches, Variations
from domain.thrones.tables.variations import PRESETS

_decoder = msgspec.json.Decoder(AnyRequest)


class CaseAdjudicator:
    """Answers requests; it keeps the position of the last case and nothing else."""

    def __init__(self) -> None:
        self.state: State | None = None

    def answer_line(self, line: bytes) -> bytes:
        """The reply to a line, without its end. What cannot be read is answered with an error."""
        try:
            request = _decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return msgspec.json.encode(Mistaken(id=_id_in(line), reason=f"not a request: {error}"))
        return msgspec.json.encode(self.answer(request))

    def answer(self, request: AnyRequest) -> AnyReply:
        """The reply to a request."""
        match request:
            case Greet() if request.protocol == PROTOCOL:
                return _introduction(request)
            case Greet():
                return Mistaken(id=request.id, reason=f"unknown protocol {request.protocol}; known is {PROTOCOL}")
            case Put():
                return self._put(request)
        if self.state is None:
            return Mistaken(id=request.id, reason="no case has begun")
        match request:
            case Try():
                return self._rule(request, self.state, tries=True)
            case Look():
                return _shown(request, self.state)
        return self._rule(request, self.state)

    def _put(self, request: Put) -> AnyReply:
        self.state = None
        charter = request.charter
        preset = str(charter.get("edition"))
        if preset not in PRESETS:
            return Skipped(id=request.id, reason=f"unknown edition {preset}")
        try:
            whole = _stood(request, preset)
            played = charter_of(whole.state.charter)
            other = sorted(key for key, value in charter.items() if value != played.get(key))
            if other:
                return Skipped(id=request.id, reason=f"a charter with other {', '.join(other)}")
            moment = begin(whole, set_up=request.set_up)
        except (msgspec.ValidationError, PositionError, Refusal) as error:
            return Skipped(id=request.id, reason=str(error))
        return self._go_on(request, moment)

    def _rule(self, request: Act | Pass, state: State, tries: bool = False) -> AnyReply:
        try:
            ruling = THRONES.decide(state, self._command(request, state))
        except Refusal as refusal:
            return _refused(request, state, str(refusal), refusal.rules)
        except CaseError as error:
            return _refused(request, state, str(error), ())
        if tries:
            return Ruled(id=request.id, verdict="accepted")
        return self._go_on(request, Moment(state, ruling.state, ruling.facts))

    def _command(self, request: Act | Pass, state: State) -> Command:
        if isinstance(request, Pass):
            return PassDeadline(player=request.house, question=state.question)
        answer = request.text if request.answer is None else request.answer
        return read_answer(state, answer)

    def _go_on(self, request: AnyRequest, moment: Moment) -> Ruled:
        self.state = moment.after
        decisions = THRONES.decisions(moment.after)
        facts = tuple(plain_fact(fact) for fact in moment.facts)
        asked = [as_asked(decision) for decision in decisions]
        return Ruled(
            id=request.id,
            verdict="accepted",
            position=_position(moment.after),
            step_over=_position(moment.step_over) if moment.goes_on else None,
            open=tuple(Open(one.house, one.kind, one.ability) for one in asked),
            facts=facts,
            rules=_each_once((*rules_in(list(facts)), *(rule for decision in decisions for rule in decision.rules))),
        )


def _stood(request: Put, preset: str) -> Completed:
    """The position that was sent: spelled out, or the exact one, which says so by its format."""
    if "format" in request.position:
        return exactly(msgspec.convert(request.position, State), preset)
    said = {**request.position, **request.draws}
    said |= {key: value for key, value in request.charter.items() if key in Partial.__struct_fields__}
    return complete(msgspec.convert(said, Partial), preset)


def _introduction(request: Greet) -> Introduction:
    words = {**_words(Switches), **_words(Variations)}
    return Introduction(
        id=request.id,
        protocol=PROTOCOL,
        name="Rookery",
        version=ENGINE,
        editions=dict.fromkeys(sorted(PRESETS), words),
        position=FIELDS,
        facts=(ALL_FACTS,),
        speaks=SKILLS,
    )


def _words(settings: type[Switches | Variations]) -> dict[str, tuple[str, ...]]:
    hints = get_type_hints(settings)
    return {field.encode_name: get_args(hints[field.name]) for field in msgspec.structs.fields(settings)}


def _refused(request: AnyRequest, state: State, reason: str, rules: Iterable[str]) -> Ruled:
    asked = [as_asked(decision) for decision in THRONES.decisions(state)]
    still = tuple(Open(one.house, one.kind, one.ability) for one in asked)
    return Ruled(id=request.id, verdict="refused", open=still, rules=_each_once(rules), reason=reason)


def _shown(request: Look, state: State) -> AnyReply:
    if request.house is not None and request.house not in state.houses:
        return Mistaken(id=request.id, reason=f"{request.house} does not play")
    seen = view(state, request.house)
    return Shown(id=request.id, position=_position(seen.position), own=msgspec.to_builtins(seen.own))


def _position(state: State) -> dict[str, Any]:
    return {field: msgspec.to_builtins(getattr(state, field)) for field in FIELDS}


def _each_once(rules: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(rules))


def _id_in(line: bytes) -> int:
    """The number of a request that is wrong otherwise; 0 where there is none to be found."""
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return 0
    number = found.get("id") if isinstance(found, dict) else None
    return number if isinstance(number, int) else 0
