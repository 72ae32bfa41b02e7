"""The protocol by which other adjudicators are put to the cases: its messages, and what is asked and compared.

One JSON object is one line; docs/cases.md is written for those who implement the other side, and
:mod:`api.games.thrones.cases.adjudicator` is ours. Everything here is pure: :func:`put` is a generator that
yields requests and takes replies, so that the caller alone knows of pipes and clocks.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from api.games.thrones.cases.cases import (
    Answer,
    Asked,
    Case,
    CaseError,
    Disagreement,
    Expect,
    Moment,
    Step,
    answers_of,
    as_asked,
    check_words,
    holds,
    moments_of,
    questions,
    read_answer,
    stand,
)
from api.games.thrones.cases.comparing import fragment, in_order, nowhere, own_part, plain_fact
from api.games.thrones.cases.positions import Completed, Fight, Partial, PositionError, Where, changes_from
from domain.kernel.commands import Command
from domain.kernel.refusal import Refusal
from domain.thrones.language.evolve import redacted
from domain.thrones.language.state import State
from domain.thrones.language.view import view
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.charter import Charter
from domain.thrones.tables.editions.composed import edition_of
from domain.thrones.tables.variations import words_of

PROTOCOL = "cases/1"

FIELDS = (
    *("round", "units", "garrisons", "neutral", "power_tokens", "orders", "face_down", "tracks", "tokens", "used"),
    *("supply", "power", "bids", "hands", "discards", "westeros_discards", "westeros_cards", "threat", "prohibited"),
    *("control", "victory", "winner"),
)
"""The fields of a position that an adjudicator may report; a case expects nothing else of it."""

MOST_TOLD = 400
"""Characters of one difference that are told."""

Skill = Literal["decisions", "trials", "views", "rules", "notation", "tables", "positions"]
SKILLS: tuple[Skill, ...] = ("decisions", "trials", "views", "rules", "notation", "tables", "positions")
ALL_FACTS = "*"


# Requests


class Request(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """What the driver says; the reply repeats the ``id``."""

    id: int


class Greet(Request, frozen=True, tag="hello"):
    """The first line."""

    protocol: str = PROTOCOL


class Put(Request, frozen=True, tag="case"):
    """A new case in the place of the last one: set the position up and go on until somebody must answer."""

    number: int
    case: str
    title: str
    chapter: str
    charter: dict[str, Any]
    set_up: bool
    position: dict[str, Any]
    draws: dict[str, Any]


class Act(Request, frozen=True, tag="answer"):
    """One answer of a House: rule on it and go on. ``answer`` is null for a text that no answer corresponds to."""

    house: str
    answer: dict[str, Any] | None
    text: str


class Pass(Request, frozen=True, tag="deadline"):
    """A House has missed its deadline: its default answers."""

    house: str


class Try(Act, frozen=True, tag="try"):
    """Would this answer be accepted? Nothing changes."""


class Look(Request, frozen=True, tag="view"):
    """What everybody sees, with a House also what it alone sees."""

    house: str | None


AnyRequest = Greet | Put | Act | Pass | Try | Look

# Replies


class Reply(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """What the adjudicator says."""

    id: int


class Introduction(Reply, frozen=True, tag="hello"):
    """What it can do.

    ``editions``: preset → switch or variation → values that it plays; others must be as the preset has them.
    """

    protocol: str
    editions: dict[str, dict[str, tuple[str, ...]]]
    name: str = ""
    version: str = ""
    position: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    speaks: tuple[Skill, ...] = ()


class Open(msgspec.Struct, frozen=True):
    """A decision that is open."""

    house: str
    kind: str
    ability: str = ""


class Ruled(Reply, frozen=True, tag="ruling"):
    """The verdict, and what the game looks like now.

    ``step_over`` is the position before the game went on to another step of the round, where it did.
    """

    verdict: Literal["accepted", "refused"]
    position: dict[str, Any] | None = None
    step_over: dict[str, Any] | None = None
    open: tuple[Open, ...] = ()
    facts: tuple[dict[str, Any], ...] = ()
    rules: tuple[str, ...] = ()
    reason: str = ""


class Shown(Reply, frozen=True, tag="view"):
    """What may be seen."""

    position: dict[str, Any]
    own: dict[str, Any] = {}


class Skipped(Reply, frozen=True, tag="skip"):
    """This case is beyond it; the next one comes."""

    reason: str = ""


class Mistaken(Reply, frozen=True, tag="error"):
    """It has made a mistake of its own."""

    reason: str = ""


AnyReply = Introduction | Ruled | Shown | Skipped | Mistaken


class Broken(Exception):
    """The other side does not keep to the protocol, or is gone."""


# Scores

Outcome = Literal["passed", "failed", "skipped", "broken"]


class Score(msgspec.Struct, frozen=True):
    """How an adjudicator did in a case.

    ``differences`` is what did not agree first and beside it, ``compared`` how many expectations were looked at,
    ``unseen`` how many could not be, since it does not report such things. ``rules`` are named by the case, ``cited``
    those of them that it cited, where it cites rules at all; they decide nothing.
    """

    number: int
    id: str
    title: str
    chapter: str
    section: str
    edition: str
    outcome: Outcome
    reason: str = ""
    differences: tuple[str, ...] = ()
    compared: int = 0
    unseen: int = 0
    rules: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()


def score_of(case: Case, outcome: Outcome, reason: str = "", **more: Any) -> Score:
    """A score with the case's own particulars."""
    return Score(case.number, case.id, case.title, case.chapter, case.section, case.edition, outcome, reason, **more)


def put(case: Case, other: Introduction) -> Generator[AnyRequest, AnyReply, Score]:
    """Put a case to an adjudicator, request by request.

    Raises :class:`CaseError` for a case that our own engine cannot follow, :class:`Broken` for a reply of the wrong
    kind.
    """
    check_words(case)
    try:
        whole = stand(case)
        moments = list(moments_of(case, whole))
    except (PositionError, Disagreement) as error:
        raise CaseError(f"{case.id}: {error}") from error
    unable = _unable(case, whole.state.charter, other)
    if unable:
        return score_of(case, "skipped", unable)
    return (yield from _Putting(case, other, whole, moments).run())


def introduced(reply: AnyReply) -> Introduction:
    """The reply to the greeting. Raises :class:`Broken`."""
    if not isinstance(reply, Introduction):
        raise Broken("it does not introduce itself")
    if reply.protocol != PROTOCOL:
        raise Broken(f"it speaks {reply.protocol}, and not {PROTOCOL}")
    return reply


def _unable(case: Case, charter: Charter, other: Introduction) -> str:
    """Why the adjudicator cannot play by a charter, by what it said of itself."""
    if charter.edition not in other.editions:
        return f"it does not play {charter.edition}"
    plays = other.editions[charter.edition]
    changes = changes_from(charter)
    if "tables" in changes and "tables" not in other.speaks:
        return "it does not play by tables of a case's own"
    if case.exact is not None and "positions" not in other.speaks:
        return "it does not go on from an exact position"
    for name, value in sorted((changes.get("switches", {}) | changes.get("variations", {})).items()):
        if value not in plays.get(name, ()):
            return f"it does not play {name} = {value}"
    return ""


class _Skip(Exception):
    """The adjudicator passes."""


class _Seen(msgspec.Struct):
    """What the adjudicator said of one step."""

    position: Mapping[str, Any]
    step_over: Mapping[str, Any] | None = None
    open: tuple[Asked, ...] = ()
    facts: tuple[Mapping[str, Any], ...] = ()
    refused: str | None = None
    unread: bool = False


Finding = tuple[str, str | None]
"""What was compared, and what is wrong with it: nothing, or a text; None where it could not be compared."""


class _Putting:
    """One case, put to one adjudicator, beside the moments that our own engine makes of it."""

    def __init__(self, case: Case, other: Introduction, whole: Completed, moments: Sequence[Moment]) -> None:
        self.case = case
        self.other = other
        self.whole = whole
        self.moments = moments
        self.number = 0
        self.cited: set[str] = set()
        self.compared = 0
        self.unseen = 0

    def run(self) -> Generator[AnyRequest, AnyReply, Score]:
        try:
            differences = yield from self._walk()
        except _Skip as skip:
            return self._score("skipped", str(skip))
        if differences:
            return self._score("failed", differences[0], tuple(differences))
        if not self.compared:
            return self._score("skipped", "it reports nothing that this case is about")
        return self._score("passed")

    def _score(self, outcome: Outcome, reason: str = "", differences: tuple[str, ...] = ()) -> Score:
        named = _named(self.case) if "rules" in self.other.speaks else ()
        return score_of(
            self.case,
            outcome,
            reason,
            differences=differences,
            compared=self.compared,
            unseen=self.unseen,
            rules=named,
            cited=tuple(rule for rule in named if rule in self.cited),
        )

    def _walk(self) -> Generator[AnyRequest, AnyReply, list[str]]:
        """Step by step, until something differs."""
        seen = yield from self._begin()
        for number, moment in enumerate(self.moments):
            expect = self.case.begin
            if number:
                step = self.case.steps[number - 1]
                expect = step.expect
                seen = yield from self._play(step, moment, seen)
            where = f"step {number}" if number else "begin"
            found = yield from self._compare(expect, moment, seen)
            wrong = [f"{where}: {what}: {problem}"[:MOST_TOLD] for what, problem in found if problem]
            self.compared += sum(problem is not None for what, problem in found if what != "accepted")
            self.unseen += sum(problem is None for _, problem in found)
            for excluded in self.case.excludes:
                if excluded.step == number and (yield from self._holds(excluded.expect, moment, seen)):
                    wrong.append(f"{where}: the excluded outcome holds: {excluded.wrong}")
            if wrong:
                return wrong
        return []

    # Asking

    def _ask(self, request: Callable[[int], AnyRequest]) -> Generator[AnyRequest, AnyReply, AnyReply]:
        self.number += 1
        reply = yield request(self.number)
        match reply:
            case Skipped():
                raise _Skip(reply.reason or "it says so")
            case Mistaken():
                raise Broken(f"it made a mistake: {reply.reason or 'it does not say which'}")
        return reply

    def _ruled(self, request: Callable[[int], AnyRequest]) -> Generator[AnyRequest, AnyReply, Ruled]:
        reply = yield from self._ask(request)
        if not isinstance(reply, Ruled):
            raise Broken("it gives no ruling")
        self.cited.update(reply.rules)
        return reply

    def _begin(self) -> Generator[AnyRequest, AnyReply, _Seen]:
        case = self.case
        charter = charter_of(self.whole.state.charter)
        position, draws = spelled_out(case, self.whole)
        ruled = yield from self._ruled(
            lambda number: Put(
                id=number,
                number=case.number,
                case=case.id,
                title=case.title,
                chapter=case.chapter,
                charter=charter,
                set_up=case.set_up,
                position=position,
                draws=draws,
            )
        )
        return self._take(_Seen(position={}), ruled)

    def _play(self, step: Step, moment: Moment, before: _Seen) -> Generator[AnyRequest, AnyReply, _Seen]:
        """Do what a step does; whatever is ruled is taken together."""
        seen = _Seen(position=before.position, open=before.open)
        if step.deadline:
            ruled = yield from self._ruled(lambda number: Pass(id=number, house=step.deadline))
            return self._take(seen, ruled)
        for answer, command in zip(answers_of(step), moment.commands, strict=True):
            if seen.refused is not None:
                break
            if command is None and isinstance(answer, str) and "notation" not in self.other.speaks:
                seen.refused, seen.unread = "it does not read the notation", True
                break
            ruled = yield from self._ruled(_act(Act, answer, command))
            seen = self._take(seen, ruled)
        return seen

    def _take(self, seen: _Seen, ruled: Ruled) -> _Seen:
        if ruled.verdict == "refused":
            seen.refused = ruled.reason or "without a reason"
            return seen
        if ruled.position is None and self.other.position:
            raise Broken("what it accepts leads to no position")
        seen.position = ruled.position or {}
        seen.step_over = seen.step_over if seen.step_over is not None else ruled.step_over
        seen.open = tuple(Asked(one.house, one.kind, one.ability) for one in ruled.open)
        seen.facts = (*seen.facts, *ruled.facts)
        return seen

    # Comparing

    def _holds(self, expect: Expect, moment: Moment, seen: _Seen) -> Generator[AnyRequest, AnyReply, bool]:
        """Whether a wrong outcome holds, where all of it can be seen and more than a rule tells it from ours.

        Ours itself is wrong where an arbiter has corrected it.
        """
        if not self._differs(expect, moment, _are_lined(seen.facts)) and not holds(self.case, expect, moment):
            return False
        found = yield from self._compare(expect, moment, seen)
        return all(problem == "" for _, problem in found)

    def _differs(self, expect: Expect, moment: Moment, lined: bool) -> bool:
        """Whether an expectation disagrees with what our own engine rules, rules and views apart."""
        after = moment.after
        ours = _Seen(
            position=msgspec.to_builtins(after),
            step_over=msgspec.to_builtins(moment.step_over),
            open=tuple(as_asked(decision) for decision in THRONES.decisions(after)),
            facts=tuple(plain_fact(fact) for fact in moment.facts),
            refused=None if moment.refusal is None else str(moment.refusal),
        )
        found = [self._verdict(expect, ours), *self._facts(expect, ours, lined), *self._position(expect, moment, ours)]
        if expect.asked is not None:
            found.append(questions(_plain_questions(expect.asked), ours.open))
        tried = [(one, True) for one in expect.legal] + [(one.do, False) for one in expect.illegal]
        return any(problem for _, problem in found) or any(
            _is_accepted(after, read_answer(after, answer)) != wanted for answer, wanted in tried
        )

    def _compare(self, expect: Expect, moment: Moment, seen: _Seen) -> Generator[AnyRequest, AnyReply, list[Finding]]:
        found = [self._verdict(expect, seen)]
        if found[0][1]:
            return found
        found += self._facts(expect, seen, _are_lined(seen.facts))
        found += self._position(expect, moment, seen)
        found += yield from self._views(expect, moment)
        if expect.asked is not None:
            knows = "decisions" in self.other.speaks
            found.append(questions(_plain_questions(expect.asked), seen.open) if knows else ("asked", None))
            found += [("options", None) for one in expect.asked if one.options]
        found += [(f"reading {one['read']}", None) for one in expect.reads]
        found += yield from self._trials(expect, moment)
        return found

    def _verdict(self, expect: Expect, seen: _Seen) -> Finding:
        if expect.refused is None:
            return "accepted", "" if seen.refused is None else f"refused: {seen.refused}"
        return "refused", None if seen.unread else "accepted" if seen.refused is None else ""

    def _facts(self, expect: Expect, seen: _Seen, lined: bool) -> Iterator[Finding]:
        """Facts of the names that it reports; the rules in them are scored apart, and a sum may come without lines."""
        left_out = ("rules",) if lined else ("rules", "lines")
        yield from in_order([_without(one, left_out) for one in expect.facts if self._reports(one)], seen.facts)
        yield from nowhere([_without(one, left_out) for one in expect.never if self._reports(one)], seen.facts)
        yield from (("fact", None) for one in (*expect.facts, *expect.never) if not self._reports(one))

    def _reports(self, pattern: Mapping[str, Any]) -> bool:
        return ALL_FACTS in self.other.facts or pattern["fact"] in self.other.facts

    def _position(self, expect: Expect, moment: Moment, seen: _Seen) -> Iterator[Finding]:
        """What it reports at the moment that is meant. Without that moment, what has not changed since."""
        there, entries = seen.position, _entries(expect.position)
        if expect.when == "step-over":
            there = seen.position if seen.step_over is None else seen.step_over
        for field, said in entries:
            stays = seen.step_over is not None or expect.when == "end" or _is_same(said, moment.step_over, moment.after)
            if field in self.other.position and stays:
                yield from fragment("position", said, _filled(said, there))
            else:
                yield f"position {field}", None

    def _views(self, expect: Expect, moment: Moment) -> Generator[AnyRequest, AnyReply, list[Finding]]:
        """What may be seen now, where that is what could be seen at the moment that is meant."""
        over, after = (moment.after if expect.when == "end" else moment.step_over), moment.after
        found: list[Finding] = []
        if expect.public:
            shown = yield from self._look(None)
            for field, said in _entries(expect.public):
                known = field in FIELDS and field in self.other.position and shown is not None
                if known and shown is not None and _is_same(said, redacted(over), redacted(after)):
                    found += fragment("public", said, _filled(said, shown.position))
                else:
                    found.append((f"public {field}", None))
        for house, own in sorted(expect.own.items()):
            shown = yield from self._look(house)
            if shown is not None and view(over, house).own == view(after, house).own:
                found += own_part(house, own, shown.own)
            else:
                found.append((f"own {house}", None))
        return found

    def _look(self, house: str | None) -> Generator[AnyRequest, AnyReply, Shown | None]:
        if "views" not in self.other.speaks:
            return None
        reply = yield from self._ask(lambda number: Look(id=number, house=house))
        if not isinstance(reply, Shown):
            raise Broken("it does not show what it was asked for")
        return reply

    def _trials(self, expect: Expect, moment: Moment) -> Generator[AnyRequest, AnyReply, list[Finding]]:
        found: list[Finding] = []
        wanted = [("legal", one) for one in expect.legal] + [("illegal", one.do) for one in expect.illegal]
        for word, answer in wanted:
            if "trials" not in self.other.speaks:
                found.append((word, None))
                continue
            command = read_answer(moment.after, answer)
            ruled = yield from self._ruled(_act(Try, answer, command))
            expected = "accepted" if word == "legal" else "refused"
            problem = "" if ruled.verdict == expected else f"{ruled.verdict} {ruled.reason}".strip()
            found.append((f"{word}: {answer}", problem))
        return found


def _plain_questions(asked: Sequence[Asked]) -> list[Asked]:
    """Questions without their options, which are ours alone."""
    return [msgspec.structs.replace(one, options={}) for one in asked]


def _is_accepted(state: State, command: Command) -> bool:
    try:
        THRONES.decide(state, command)
    except Refusal:
        return False
    return True


def _act(kind: type[Act], answer: Answer, command: Command | None) -> Callable[[int], Act]:
    """An answer as it is sent: structured, and as text where the case has a text."""
    text = answer if isinstance(answer, str) else ""
    plain = answer if isinstance(answer, dict) else None
    if command is not None:
        plain = msgspec.to_builtins(command)
    house = plain["house"] if plain else text.partition(":")[0]
    return lambda number: kind(id=number, house=house, answer=plain, text=text)


def _entries(said: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """A fragment of a position in the smallest pieces that are compared."""
    for field, wanted in sorted(said.items()):
        if isinstance(wanted, dict) and wanted:
            yield from ((field, {field: {key: value}}) for key, value in sorted(wanted.items()))
        else:
            yield field, {field: wanted}


def _is_same(said: Mapping[str, Any], one: State, other: State) -> bool:
    """Whether two positions of ours have the same in the place that is spoken of."""
    for field, wanted in said.items():
        first, second = msgspec.to_builtins(getattr(one, field)), msgspec.to_builtins(getattr(other, field))
        if isinstance(wanted, dict) and isinstance(first, dict):
            first, second = ({key: there.get(key) for key in wanted} for there in (first, second))
        if first != second:
            return False
    return True


def _filled(said: Mapping[str, Any], there: Mapping[str, Any]) -> dict[str, Any]:
    """A position of somebody else's, where what is left out or null is empty."""
    empty: dict[type, Any] = {dict: {}, list: [], tuple: []}
    return {
        field: there[field] if there.get(field) is not None else empty.get(type(wanted))
        for field, wanted in said.items()
    }


def _without(pattern: Any, left_out: Sequence[str]) -> Any:
    if isinstance(pattern, dict):
        return {key: _without(value, left_out) for key, value in pattern.items() if key not in left_out}
    if isinstance(pattern, list | tuple):
        return [_without(value, left_out) for value in pattern]
    return pattern


def _are_lined(facts: Sequence[Mapping[str, Any]]) -> bool:
    """Whether it shows what its sums are made of."""
    return any("lines" in fact for fact in facts)


def _named(case: Case) -> tuple[str, ...]:
    """Every rule that a case names."""
    named = dict.fromkeys(case.rules)
    for expect in (case.begin, *(step.expect for step in case.steps)):
        named |= dict.fromkeys(expect.refused.rules if expect.refused else ())
        named |= dict.fromkeys(rule for one in expect.illegal for rule in one.rules)
    return tuple(named)


# Positions as they are sent


def charter_of(charter: Charter) -> dict[str, Any]:
    """What a case is played by: preset, Houses, every switch and variation, and what else a charter says."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(charter))
    plain["variations"] = words_of(charter.agreed)
    return {key: value for key, value in plain.items() if key not in ("seats", "chance", "arbitration", "engine")}


def spelled_out(case: Case, whole: Completed) -> tuple[dict[str, Any], dict[str, Any]]:
    """The position of a case with nothing left to complete, and the draws: whole decks, and what shuffles bring up."""
    draws = {"decks": msgspec.to_builtins(whole.hidden.decks), "stated": msgspec.to_builtins(whole.hidden.stated)}
    if case.set_up:
        return {}, draws
    if case.exact is not None:
        return msgspec.to_builtins(case.exact), draws
    state = whole.state
    if case.position.at.step == "westeros/clash-of-kings":
        state = msgspec.structs.replace(state, tracks=state.frames[-1]["former"])
    partial = partial_at(state, case.position.at)
    plain: dict[str, Any] = {
        name: msgspec.to_builtins(getattr(partial, name))
        for name in Partial.__struct_fields__
        if name not in ("houses", "switches", "variations", "tables", "pool", "decks", "stated")
    }
    return plain, draws


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
