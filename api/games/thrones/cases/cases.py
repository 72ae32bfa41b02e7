"""Cases: numbered positions with decisions, what must follow, and the wrong outcome that each excludes.

The format is docs/cases.md. Everything here is pure: it takes decoded cases and returns reports; reading files
and printing tables is the caller's work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Literal

import msgspec

from api.games.thrones.cases.comparing import fragment, in_order, matches, nowhere, own_part, plain_fact, rules_in
from api.games.thrones.cases.positions import Completed, Partial, PositionError, complete
from api.games.thrones.cases.readings import problem_of, readings
from domain.kernel.commands import Command, PassDeadline
from domain.kernel.decision import Decision
from domain.kernel.facts import Fact
from domain.kernel.refusal import Refusal
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from domain.thrones.language.evolve import EVOLVERS, redacted
from domain.thrones.language.kinds import AnyAnswer
from domain.thrones.language.start import Start
from domain.thrones.language.state import State
from domain.thrones.language.view import Own, view
from domain.thrones.notation import Lexicon, NotationError, lexicon, parse
from domain.thrones.rules.game import Game
from domain.thrones.ruleset import THRONES, ThronesOf, check_charter
from domain.thrones.tables.edition import Edition
from domain.thrones.tables.editions.composed import edition_of
from domain.thrones.tables.variations import PRESETS

Answer = str | dict[str, Any]
"""An answer as a line of the notation with its House in front, or as structured JSON."""


class CaseError(ValueError):
    """A case that cannot be tried: a name that does not exist, a text that cannot be read, no wrong outcome."""


class Forbidden(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """An answer that the options must not contain, with rules that its refusal must name."""

    do: Answer
    rules: tuple[str, ...] = ()


class Refused(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A refusal: its code, where that matters, rules that it must name, and in part what else it says."""

    rules: tuple[str, ...]
    code: str = ""
    params: dict[str, Any] = {}


class Asked(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One decision that must be open; ``ability`` for the card abilities, ``options`` in part, as they are shown."""

    house: str
    kind: str
    ability: str = ""
    options: dict[str, Any] = {}


class Expect(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What must hold after a step; every part that is given must.

    ``facts`` must appear in this order, among others; each names a fact and some of its fields. ``never`` must
    not appear. ``position`` is a fragment of ``position/1``, ``null`` for what must not be there, as of ``when``:
    before the game goes on to another step of the round, or at the end of the entry. ``public`` is the same of what
    everybody may see, ``own`` what each House may see besides. ``asked`` is everybody who owes an answer, ``legal``
    and ``illegal`` are answers that the open decisions must allow or refuse. ``reads`` are values that the rules work
    out of the position (:mod:`~api.games.thrones.cases.readings`), as of ``when``.
    """

    refused: Refused | None = None
    facts: tuple[dict[str, Any], ...] = ()
    never: tuple[dict[str, Any], ...] = ()
    position: dict[str, Any] = {}
    when: Literal["step-over", "end"] = "step-over"
    asked: tuple[Asked, ...] | None = None
    legal: tuple[Answer, ...] = ()
    illegal: tuple[Forbidden, ...] = ()
    public: dict[str, Any] = {}
    own: dict[str, dict[str, Any]] = {}
    reads: tuple[dict[str, Any], ...] = ()


class Step(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Answers in order (all but the last must be accepted), a missed deadline, or nothing but a look."""

    do: Answer | tuple[Answer, ...] = ()
    deadline: str = ""
    expect: Expect = Expect()


class Excluded(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The wrong outcome: what it is in words, and an expectation after ``step`` that must not hold."""

    wrong: str
    step: int
    expect: Expect


class Preference(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What was chosen where the books are silent or contradict each other, in our own words.

    ``entry`` is the entry of the specification's register of ambiguities, ``switch`` the switch of the charter whose
    other values choose otherwise.
    """

    choice: str
    entry: str = ""
    switch: str = ""


class Case(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One case. ``begin`` is what must hold once the position stands, before the first step.

    ``edition`` names the preset that its table began from; the position says what is played otherwise.
    With ``set_up`` the game begins with its set-up instead; of the position Houses, the charter's part and decks count.
    ``exact`` is a whole ``position/1`` instead, with its stack of procedures and its hidden part: nothing is completed.
    ``number`` is its place in the suite for ever (0: it is no part of it), ``section`` the number of the heading of
    the specification that ``chapter`` is a word for.
    """

    id: str
    title: str
    chapter: str
    source: str
    rules: tuple[str, ...]
    steps: tuple[Step, ...]
    excludes: tuple[Excluded, ...]
    edition: str = "second-edition"
    position: Partial = Partial()
    set_up: bool = False
    exact: State | None = None
    begin: Expect = Expect()
    note: str = ""
    number: int = 0
    section: str = ""
    preference: Preference | None = None


class CaseReport(msgspec.Struct, frozen=True):
    """How a case went: what agreed, what was filled in, what did not agree first. ``rules`` were cited on the way."""

    id: str
    title: str
    passed: bool
    agreed: tuple[str, ...]
    completed: tuple[str, ...]
    disagreement: str = ""
    rules: tuple[str, ...] = ()


def decode_case(data: bytes) -> Case:
    """A case from JSON. Raises :class:`CaseError`."""
    try:
        return msgspec.json.decode(data, type=Case)
    except msgspec.DecodeError as error:
        raise CaseError(str(error)) from error


def run_case(case: Case) -> CaseReport:
    """Try a case. Raises :class:`CaseError` when it cannot be tried at all."""
    check_case(case)
    return _Run(case).run()


def holds(case: Case, expect: Expect, moment: Moment) -> bool:
    """Whether our own engine agrees with an expectation in every part, rules included."""
    return all(not problem for _, problem in _Run(case).compare(expect, moment))


def moments_of(case: Case, whole: Completed) -> Iterator[Moment]:
    """What our own engine makes of a case that has been checked: its beginning and every step, compared with nothing.

    Raises :class:`Disagreement` when an answer that must be accepted is refused, :class:`PositionError` when the rules
    cannot go on.
    """
    return _Run(case).moments(whole)


class Moment(msgspec.Struct, frozen=True):
    """What happened in one step: the facts, the states that they led to, a refusal if one ended it.

    ``commands`` is what was done, as far as it could be read.
    """

    before: State
    after: State
    facts: tuple[Fact, ...]
    refusal: Refusal | None = None
    commands: tuple[Command | None, ...] = ()

    @property
    def step_over(self) -> State:
        """The position before the game went on to another step of the round."""
        return self._step_over[0]

    @property
    def goes_on(self) -> bool:
        """Whether it went on to another step of the round."""
        return self._step_over[1]

    @property
    def _step_over(self) -> tuple[State, bool]:
        state = self.before
        for fact in self.facts:
            if goes_on(state, fact):
                return state, True
            state = THRONES.evolve(state, fact)
        return state, False


def goes_on(state: State, fact: Fact) -> bool:
    """Whether with this fact the game goes on from the step of a position to what follows it.

    A step that begins where the position already stands is that step. Routed units that stand up once the last march
    is made (1E-RET-10) have done with that step.
    """
    if isinstance(fact, f.StepBegan):
        return (fact.phase, fact.step) != (state.phase, state.step)
    return isinstance(fact, f.RoundBegan) or (isinstance(fact, f.UnitsStoodUp) and state.step == "march")


def stand(case: Case) -> Completed:
    """The whole position of a case: completed, or the exact one. Raises :class:`PositionError`."""
    if case.exact is None:
        return complete(case.position, case.edition)
    return exactly(case.exact, case.edition)


def exactly(position: State, preset: str) -> Completed:
    """A position of which nothing is left to complete. Raises :class:`PositionError` for one that cannot be."""
    try:
        check_charter(position.charter)
        edition = edition_of(position.charter)
        Game(ThronesOf(edition), position, edition).stack()
    except (Refusal, LookupError, ValueError) as error:
        raise PositionError(f"the exact position names what there is not: {error}") from error
    if position.charter.edition != preset or position.charter.chance != "imposed":
        raise PositionError(f"the exact position is of no game of {preset} with imposed chance")
    return Completed(redacted(position), position.hidden, ())


def begin(whole: Completed, *, set_up: bool = False) -> Moment:
    """The beginning of a case: the position that was stated, and what the rules make of it before anybody is asked.

    Raises :class:`PositionError` when the rules cannot go on from there.
    """
    try:
        return _begun(whole, set_up)
    except BROKEN as error:
        raise PositionError(f"the game cannot go on from that position: {type(error).__name__} {error}") from error


BROKEN = (AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""How rules end that come upon a position which no game leads to."""


def _begun(whole: Completed, set_up: bool) -> Moment:
    blank = THRONES.blank()
    charter = whole.state.charter
    if set_up:
        ruling = THRONES.decide(blank, Start(charter, decks=whole.hidden.decks))
        return Moment(blank, ruling.state, ruling.facts)
    ruling = THRONES.decide(blank, Start(charter, position=whole.state, hidden=whole.hidden, reason="case"))
    # What the start itself states is no step of the game.
    stated = next(i for i, fact in enumerate(ruling.facts) if isinstance(fact, f.HiddenStated)) + 1
    state = blank
    for fact in ruling.facts[:stated]:
        state = THRONES.evolve(state, fact)
    return Moment(state, ruling.state, ruling.facts[stated:])


class Disagreement(Exception):
    """The first thing that does not hold."""


class _Run:
    """One run of a case."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.agreed: list[str] = []
        self.rules: dict[str, None] = {}

    def run(self) -> CaseReport:
        try:
            return self._run(stand(self.case))
        except PositionError as error:
            raise CaseError(f"{self.case.id}: {error}") from error

    def _run(self, whole: Completed) -> CaseReport:
        moments: list[Moment] = []
        failed = ""
        try:
            for number, moment in enumerate(self.moments(whole)):
                self._agree(number, self.case.steps[number - 1].expect if number else self.case.begin, moment)
                moments.append(moment)
            self._exclude(moments)
            self._cited()
        except Disagreement as error:
            failed = str(error)
        return CaseReport(
            id=self.case.id,
            title=self.case.title,
            passed=not failed,
            agreed=tuple(self.agreed),
            completed=whole.notes,
            disagreement=failed,
            rules=tuple(sorted(self.rules)),
        )

    def moments(self, whole: Completed) -> Iterator[Moment]:
        """The beginning, and every step. Raises :class:`PositionError` when the rules cannot go on."""
        try:
            yield from self._moments(whole)
        except (PositionError, CaseError):
            raise
        except BROKEN as error:
            problem = f"the game cannot go on from that position: {type(error).__name__} {error}"
            raise PositionError(problem) from error

    def _moments(self, whole: Completed) -> Iterator[Moment]:
        moment = self._seen(begin(whole, set_up=self.case.set_up))
        yield moment
        for step in self.case.steps:
            moment = self._step(moment.after, step)
            yield moment

    def _step(self, state: State, step: Step) -> Moment:
        commands = list(self._commands(step))
        moment = Moment(state, state, ())
        for position, (text, command) in enumerate(commands):
            answer: Command | None = None
            try:
                missed = PassDeadline(player=text, question=moment.after.question)
                answer = missed if command is None else self._read(moment.after, command)
                ruling = THRONES.decide(moment.after, answer)
            except Refusal as refusal:
                if position + 1 < len(commands):
                    raise Disagreement(f"{text} is refused: {refusal}") from refusal
                done = (*moment.commands, answer)
                return self._seen(Moment(moment.before, moment.after, moment.facts, refusal, done))
            facts = (*moment.facts, *ruling.facts)
            moment = Moment(moment.before, ruling.state, facts, commands=(*moment.commands, answer))
        return self._seen(moment)

    def _commands(self, step: Step) -> Iterator[tuple[str, Answer | None]]:
        if step.deadline:
            yield step.deadline, None
            return
        for answer in answers_of(step):
            yield answer if isinstance(answer, str) else str(answer), answer

    def _read(self, state: State, answer: Answer) -> Command:
        """The command, or the refusal of what is no answer at all, which only :data:`UNREADABLE` expects."""
        try:
            return read_answer(state, answer)
        except CaseError as error:
            raise Refusal(UNREADABLE, unknown=True, detail=str(error)) from error

    def _seen(self, moment: Moment) -> Moment:
        """Keep the rules that were cited, and hold the facts to the state they lead to."""
        state = moment.before
        for fact in moment.facts:
            state = THRONES.evolve(state, fact)
            self.rules.update(dict.fromkeys(rules_in(plain_fact(fact))))
        if moment.refusal:
            self.rules.update(dict.fromkeys(moment.refusal.rules))
        for decision in THRONES.decisions(moment.after):
            self.rules.update(dict.fromkeys(decision.rules))
        if state != moment.after:
            raise Disagreement("the facts do not lead to the state that was ruled")
        return moment

    def _agree(self, number: int, expect: Expect, moment: Moment) -> None:
        """Raise at the first thing that does not hold."""
        where = f"step {number}" if number else "begin"
        for what, problem in self.compare(expect, moment):
            if problem:
                raise Disagreement(f"{where}: {what}: {problem}")
            self.agreed.append(f"{where}: {what}")

    def compare(self, expect: Expect, moment: Moment) -> Iterator[tuple[str, str]]:
        yield _verdict(expect, moment)
        facts = [plain_fact(fact) for fact in moment.facts]
        yield from in_order(expect.facts, facts)
        yield from nowhere(expect.never, facts)
        at = moment.step_over if expect.when == "step-over" else moment.after
        yield from fragment("position", expect.position, msgspec.to_builtins(at))
        yield from fragment("public", expect.public, msgspec.to_builtins(redacted(at)))
        for house, own in sorted(expect.own.items()):
            yield from own_part(house, own, msgspec.to_builtins(view(at, house).own))
        yield from readings(expect.reads, at, moment.after)
        yield from self._owed(expect, moment.after)

    def _owed(self, expect: Expect, state: State) -> Iterator[tuple[str, str]]:
        decisions = THRONES.decisions(state)
        if expect.asked is not None:
            yield questions(expect.asked, [as_asked(decision) for decision in decisions])
        for answer in expect.legal:
            refusal = self._try(state, decisions, answer)
            yield f"legal: {answer}", f"refused: {refusal}" if refusal else ""
        for one in expect.illegal:
            refusal = self._try(state, decisions, one.do)
            if refusal is None:
                yield f"illegal: {one.do}", "it is among the options"
                continue
            self.rules.update(dict.fromkeys(refusal.rules))
            yield f"illegal: {one.do}", _lacking(one.rules, refusal)

    def _try(self, state: State, decisions: Sequence[Decision[Any]], answer: Answer) -> Refusal | None:
        """How the options and ``decide`` answer; they must agree."""
        command = read_answer(state, answer)
        ours = next((one for one in decisions if one.player == command.house and one.kind == command.kind), None)
        allowed = False
        if ours is not None and ours.default.about == command.about:
            try:
                ours.check(command)
                allowed = True
            except Refusal:
                pass
        try:
            THRONES.decide(state, command)
        except Refusal as refusal:
            if allowed:
                raise Disagreement(f"{answer}: the options allow what is refused: {refusal}") from refusal
            return refusal
        if not allowed:
            raise Disagreement(f"{answer}: what the options do not allow is accepted")
        return None

    def _exclude(self, moments: Sequence[Moment]) -> None:
        """Every wrong outcome must fail somewhere."""
        for excluded in self.case.excludes:
            if all(not problem for _, problem in self.compare(excluded.expect, moments[excluded.step])):
                raise Disagreement(f"step {excluded.step}: the excluded outcome holds: {excluded.wrong}")
            self.agreed.append(f"excluded: {excluded.wrong}")

    def _cited(self) -> None:
        missing = [rule for rule in self.case.rules if rule not in self.rules]
        if missing:
            raise Disagreement(f"no fact, refusal or decision cites {', '.join(missing)}")
        if self.case.rules:
            self.agreed.append(f"cited: {', '.join(self.case.rules)}")


# Reading


@cache
def lexicon_of(edition: Edition) -> Lexicon:
    """The names that the table of a case may use."""
    return lexicon(
        areas={area.id: area.name for area in edition.board.areas.values()},
        houses={house.id: house.name for house in edition.houses.values()},
        cards={card.id: card.name for card in edition.cards.values()},
        tokens=tuple(edition.tokens.values()),
    )


def read_answer(state: State, answer: Answer) -> c.HouseAnswer:
    """A command from text or JSON, in the words of the table. Raises :class:`CaseError` when it cannot be read."""
    try:
        if not isinstance(answer, str):
            command: c.HouseAnswer = msgspec.convert(answer, AnyAnswer)
            return command
        words = lexicon_of(edition_of(state.charter))
        return parse(answer, house=None, lexicon=words, open_decisions=THRONES.decisions(state))
    except (NotationError, msgspec.ValidationError) as error:
        raise CaseError(f"{answer}: {error}") from error


UNREADABLE = "unreadable"
"""The code of a refusal for what cannot be read, since no such answer exists."""

FACTS: dict[str, type[Fact]] = {str(fact.__struct_config__.tag): fact for fact in EVOLVERS}


def answers_of(step: Step) -> tuple[Answer, ...]:
    """The answers of a step; none where a deadline is missed or somebody only looks."""
    if step.deadline:
        return ()
    return step.do if isinstance(step.do, tuple) else (step.do,)


def check_case(case: Case) -> None:
    """Raise :class:`CaseError` for a case that names what does not exist, or that excludes nothing."""
    if not case.excludes:
        raise CaseError(f"{case.id}: a case states the wrong outcome that it excludes")
    if not case.rules and case.steps:
        raise CaseError(f"{case.id}: a case in which something is done names the rules that it exercises")
    check_words(case)


def check_words(case: Case) -> None:
    """Raise :class:`CaseError` for a case that names what does not exist."""
    if case.edition not in PRESETS:
        raise CaseError(f"{case.id}: unknown edition {case.edition}")
    if case.exact is not None and (case.set_up or case.position != Partial()):
        raise CaseError(f"{case.id}: an exact position stands alone, without another and without a set-up")
    for excluded in case.excludes:
        if not 0 <= excluded.step <= len(case.steps):
            raise CaseError(f"{case.id}: there is no step {excluded.step}")
        if excluded.expect == Expect():
            raise CaseError(f"{case.id}: an excluded outcome says something")
    expects = [case.begin, *(step.expect for step in case.steps), *(one.expect for one in case.excludes)]
    for expect in expects:
        for pattern in (*expect.facts, *expect.never):
            _check_pattern(case, pattern)
        for wrong in filter(None, map(problem_of, expect.reads)):
            raise CaseError(f"{case.id}: {wrong}")
        unknown = sorted({*expect.position, *expect.public} - set(State.__struct_fields__))
        unknown += sorted({key for own in expect.own.values() for key in own} - set(Own.__struct_fields__))
        if unknown:
            raise CaseError(f"{case.id}: a position has no {', '.join(unknown)}")


def _check_pattern(case: Case, pattern: Mapping[str, Any]) -> None:
    fact = FACTS.get(str(pattern.get("fact")))
    if fact is None:
        raise CaseError(f"{case.id}: there is no fact {pattern.get('fact')}")
    unknown = sorted(set(pattern) - {"fact", "audience", *fact.__struct_fields__})
    if unknown:
        raise CaseError(f"{case.id}: {pattern['fact']} has no {', '.join(unknown)}")


# Comparing


def _verdict(expect: Expect, moment: Moment) -> tuple[str, str]:
    refusal = moment.refusal
    if expect.refused is None:
        return "accepted", f"refused: {refusal}" if refusal else ""
    what = f"refused {expect.refused.code} [{', '.join(expect.refused.rules)}]"
    if refusal is None:
        return what, "accepted"
    # A slip of the pen must not pass for a refusal.
    if (expect.refused.code or refusal.code == UNREADABLE) and expect.refused.code != refusal.code:
        return what, str(refusal)
    if not matches(expect.refused.params, refusal.params):
        return what, f"{refusal} says {refusal.params}"
    return what, _lacking(expect.refused.rules, refusal)


def _lacking(rules: Iterable[str], refusal: Refusal) -> str:
    missing = [rule for rule in rules if rule not in refusal.rules]
    return f"{refusal} does not name {', '.join(missing)}" if missing else ""


def questions(wanted: Sequence[Asked], found: Sequence[Asked]) -> tuple[str, str]:
    """Compare the open decisions: exactly those that are wanted."""
    missing = [one for one in wanted if not any(_is_asked(one, other) for other in found)]
    spare = [
        msgspec.structs.replace(other, options={})
        for other in found
        if not any(_is_asked(one, other) for one in wanted)
    ]
    problem = f"not asked {_listed(missing)}" if missing else f"asked {_listed(spare)} too" if spare else ""
    return f"asked {_listed(wanted)}", problem


def as_asked(decision: Decision[Any]) -> Asked:
    options = msgspec.to_builtins(decision.options)
    return Asked(decision.player, decision.kind, getattr(decision.default, "ability", ""), options)


def _is_asked(wanted: Asked, found: Asked) -> bool:
    same = (wanted.house, wanted.kind) == (found.house, found.kind) and wanted.ability in ("", found.ability)
    return same and matches(wanted.options, found.options)


def _listed(asked: Iterable[Asked]) -> str:
    told = (f"{one.house} {one.ability or one.kind} {one.options or ''}".rstrip() for one in asked)
    return ", ".join(told) or "nobody"
