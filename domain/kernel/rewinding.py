"""Rewinds and corrections, and what of the struck-out answers is kept.

A rewind restates the position after an earlier entry. With ``causal`` the struck-out answers are offered
again, in order, on the corrected line: an answer is kept when it is still legal and its *footprint* is the
same on both lines, i.e. the options it was chosen from and everything that it and its ruling read. Kept
answers are part of the entry that makes them possible, as forced answers are; the others are asked anew.

An answer is named by the place where its player gave it, however often it has been kept since. Corrections that an
arbiter made in the struck-out entries are offered in their turn, too, where the rewind says so: one is made again when
what it replaced stands as it did then and the corrected position is possible; otherwise it is the arbiter's to decide.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from domain.kernel.arbiter import (
    OPTIONS,
    ArbitersRuleset,
    Correct,
    Footprint,
    Past,
    Rewind,
    check_version,
    close_appeal,
)
from domain.kernel.decision import Answer, Decision
from domain.kernel.docket import (
    AnswerOffered,
    AnswerVoided,
    Corrected,
    CorrectionDecided,
    CorrectionOffered,
    Docket,
    Given,
    Rewound,
)
from domain.kernel.facts import Answered, AnswerSealed, AnswerTaken, DraftKept, DrawsStated, Fact, SeedOpened
from domain.kernel.procedure import Collect
from domain.kernel.refusal import Refusal
from domain.kernel.ruleset import Game, Ruleset, Ruling, State, apply_kept, open_decisions, run_on

S = TypeVar("S", bound=State)

MOST_OFFERS = 5_000

NO_LONGER_ASKED = "no-longer-asked"
"""What differs when the question of an answer has not come up at its time."""

BROKEN = (AssertionError, AttributeError, IndexError, KeyError, StopIteration, TypeError, ValueError)
"""What rules raise in a position that nobody can go on from."""


encode_options = msgspec.json.Encoder(order="deterministic").encode


# Lines


def after_it(docket: Docket, to: int, version: int) -> tuple[int, ...]:
    """Entries that followed ``to``: on its own line, and on the present line where that is another."""
    here, now = docket.line_to(to), docket.line_to(version)
    own = on_its_line(docket, to, version)
    return own if to in now else (*own, *(entry for entry in now if entry not in here))


def on_its_line(docket: Docket, to: int, version: int) -> tuple[int, ...]:
    """Entries that followed ``to`` on the line that it belongs to, up to where a rewind left it."""
    line = docket.line_to(version)
    if to not in line:
        line = docket.line_to(min(last for first, last in docket.struck if first <= to <= last))
    return line[line.index(to) + 1 :]


# Answers on the record


def answers_in(past: Past, entry: int) -> Iterable[Given]:
    """The answers and drafts of an entry, each by the place where it was given; a missed deadline counts as an answer.

    Answers that the rules force are left out: they come by themselves.
    """
    return (given for _, given in _answers_in(past, entry))


def _answers_in(past: Past, entry: int) -> Iterable[tuple[int, Given]]:
    """The same with the numbers of the facts."""
    facts = past.facts(entry)
    for number, fact in enumerate(facts):
        first = number
        if isinstance(fact, AnswerSealed):
            first -= 1
            taken = facts[first]
            how = taken.how if isinstance(taken, AnswerTaken) else "forced"
        elif isinstance(fact, Answered):
            how = fact.how
        elif isinstance(fact, DraftKept):
            how = "kept" if number and _keeps(facts[number - 1], fact) else "given"
        else:
            continue
        if how == "kept":
            offered = facts[first - 1]
            assert isinstance(offered, AnswerOffered)
            yield number, offered.given
        elif how != "forced":
            yield number, Given(entry, number)


def corrections_in(past: Past, entry: int) -> Iterable[Given]:
    """The corrections of an entry, each by the place where it was made first; also those that were left undecided."""
    return (given for _, given in _corrections_in(past, entry))


def _corrections_in(past: Past, entry: int) -> Iterable[tuple[int, Given]]:
    facts = past.facts(entry)
    for number, fact in enumerate(facts):
        before = facts[number - 1] if number else None
        if isinstance(fact, Corrected):
            again = before.given if isinstance(before, CorrectionOffered) and before.made else None
            yield number, again or Given(entry, number)
        elif isinstance(fact, CorrectionOffered) and not fact.made:
            yield number, fact.given


def struck_corrections(docket: Docket, past: Past, to: int) -> tuple[Given, ...]:
    """The corrections behind an entry on its line, in order, then those still waiting from earlier rewinds.

    Whoever goes back to where a rewind had struck out takes that rewind back, and with it the correction that it made.
    """
    later = on_its_line(docket, to, past.version)
    found = [given for entry in later for given in corrections_in(past, entry)]
    waiting = [given for given in docket.pending if is_correction(past, given)]
    there = {given for entry in docket.line_to(to) for given in corrections_in(past, entry)}
    return tuple(given for given in dict.fromkeys((*found, *waiting)) if given not in there)


def is_correction(past: Past, given: Given) -> bool:
    return isinstance(past.facts(given.entry)[given.fact], Corrected)


def correction_at(past: Past, given: Given) -> tuple[Corrected, tuple[Fact, ...]]:
    """A correction on the record: its reason, and the facts that were stated."""
    facts = past.facts(given.entry)
    corrected = facts[given.fact]
    assert isinstance(corrected, Corrected)
    return corrected, facts[given.fact + 1 : given.fact + 1 + corrected.count]


def _keeps(offered: Fact, fact: DraftKept[Any]) -> bool:
    return isinstance(offered, AnswerOffered) and offered.kept and offered.player == fact.player


def _told(past: Past, given: Given) -> Answered[Any] | AnswerSealed[Any] | DraftKept[Any]:
    fact = past.facts(given.entry)[given.fact]
    assert isinstance(fact, Answered | AnswerSealed | DraftKept)
    return fact


def answer_at(past: Past, given: Given) -> Answer:
    """The answer that a place on the record holds."""
    answer: Answer = _told(past, given).answer
    return answer


def state_before(ruleset: Ruleset[S], past: Past, given: Given) -> S:
    """The state in which an answer was given."""
    state: S = past.state(given.entry - 1)
    facts = past.facts(given.entry)
    upto = given.fact - 1 if isinstance(facts[given.fact], AnswerSealed) else given.fact
    for fact in facts[:upto]:
        state = ruleset.evolve(state, fact)
    return state


def struck_out(
    ruleset: Ruleset[S], docket: Docket, past: Past, to: int, corrections: frozenset[Given] = frozenset()
) -> tuple[Given, ...]:
    """The answers to offer again after a rewind to an entry, and the corrections among them that are asked for.

    First those of the line taken back, in order, then those still waiting from earlier rewinds, then those that earlier
    rewinds have let go of: this one may make room for them again.
    """
    there = {given for entry in docket.line_to(to) for given in answers_in(past, entry)}
    later = [given for entry in after_it(docket, to, past.version) for given in _in_order(past, entry, corrections)]
    any_line = [given for entry in range(to + 1, past.version + 1) for given in answers_in(past, entry)]
    waiting = [given for given in docket.pending if given in corrections or not is_correction(past, given)]
    found = [given for given in dict.fromkeys((*later, *waiting, *any_line)) if given not in there]
    last = {_replaces(ruleset, past, given): given for given in found}
    return tuple(given for given in found if last[_replaces(ruleset, past, given)] == given)


def _in_order(past: Past, entry: int, corrections: frozenset[Given]) -> Iterable[Given]:
    """The answers of an entry, and the corrections that are asked for, by where they stand in it."""
    wanted = ((number, given) for number, given in _corrections_in(past, entry) if given in corrections)
    places = sorted((*_answers_in(past, entry), *wanted), key=lambda place: place[0])
    return (given for _, given in places)


def _replaces(ruleset: Ruleset[S], past: Past, given: Given) -> tuple[object, ...]:
    """Of secret answers and drafts of a player to one question only the last counts; other answers have no rival."""
    if is_correction(past, given):
        return (given,)
    fact = _told(past, given)
    if isinstance(fact, Answered):
        return (given,)
    return (type(fact), fact.player, state_before(ruleset, past, given).question)


# Rewinds and corrections


def rewind(ruleset: ArbitersRuleset[S], state: S, command: Rewind, past: Past) -> Ruling[S]:
    """Take the game back. Raises Refusal when there is no such entry or a redraw is due."""
    check_version(command.expected, past)
    if not 1 <= command.to < past.version:
        raise Refusal("no-such-entry", unknown=True, entry=command.to, last=past.version)
    target: S = past.state(command.to)
    if not target.frames and not target.is_over:
        raise Refusal("no-such-entry", unknown=True, entry=command.to, last=past.version)
    if ruleset.must_redraw(state, target, _opened(past)) and not command.seed:
        raise Refusal("must-redraw", entry=command.to)
    struck = struck_corrections(state.docket, past, command.to)
    unknown = sorted({*command.corrections} - {given.entry for given in struck})
    if unknown or (command.corrections and not command.causal):
        raise Refusal("no-such-correction", unknown=True, entries=unknown or list(command.corrections))
    corrections = frozenset(given for given in struck if given.entry in command.corrections)
    game = ruleset.game(state)
    close_appeal(game, command.appeal, "rewound", command.opinion)
    game.emit(
        Rewound(
            to=command.to,
            first=command.to + 1,
            last=past.version,
            reason=command.reason,
            redrawn=bool(command.seed),
            pending=struck_out(ruleset, state.docket, past, command.to, corrections) if command.causal else (),
            unseen=command.unseen is True,
        )
    )
    for fact in ruleset.restated(state, target, command.reason):
        game.emit(fact)
    if command.seed:
        ruleset.redraw(game, command.seed)
    else:
        _state_draws_again(game, past, after_it(state.docket, command.to, past.version))
    if not command.correction:
        return offer(ruleset, run_on(ruleset, game, state.question + 1), past)
    _state_facts(ruleset, game, command, command.correction)
    return offer(ruleset, _go_on(ruleset, game, state.question + 1), past)


def _opened(past: Past) -> frozenset[str]:
    """The seeds that everybody knows."""
    facts = (fact for entry in range(1, past.version + 1) for fact in past.facts(entry))
    return frozenset(fact.seed for fact in facts if isinstance(fact, SeedOpened))


def _state_draws_again(game: Game[Any], past: Past, entries: tuple[int, ...]) -> None:
    """Draws from outside that were stated later have been made all the same."""
    for entry in entries:
        for fact in past.facts(entry):
            if isinstance(fact, DrawsStated):
                game.emit(fact)


def correct(ruleset: ArbitersRuleset[S], state: S, command: Correct, past: Past) -> Ruling[S]:
    """State facts on the present position and go on from there, in the middle of a combat too."""
    check_version(command.expected, past)
    if not command.facts and not command.instead_of:
        raise Refusal("nothing-stated")
    game = ruleset.game(state)
    close_appeal(game, command.appeal, "corrected", command.opinion)
    for entry in command.instead_of:
        decided = [given for given in state.docket.undecided if given.entry == entry]
        if not decided:
            raise Refusal("no-such-correction", unknown=True, entries=[entry])
        for given in decided:
            game.emit(CorrectionDecided(given=given))
    if not command.facts:
        return offer(ruleset, Ruling(tuple(game.facts), game.state), past)
    _state_facts(ruleset, game, command, command.facts)
    return offer(ruleset, _go_on(ruleset, game, state.question + 1), past)


def _state_facts(
    ruleset: ArbitersRuleset[S], game: Game[S], command: Rewind | Correct, raw: tuple[dict[str, Any], ...]
) -> None:
    facts = tuple(ruleset.stated_fact(one) for one in raw)
    _state(ruleset, game, facts, command.reason, unseen=command.unseen is True, present=command.present is True)


def _state(
    ruleset: ArbitersRuleset[S],
    game: Game[S],
    facts: tuple[Fact, ...],
    reason: str,
    *,
    unseen: bool,
    present: bool = False,
) -> None:
    asked = _asked(ruleset, game.state)
    game.emit(Corrected(reason=reason, count=len(facts)))
    for number, fact in enumerate(facts, start=1):
        if present and (problem := ruleset.why_absent(game, fact)):
            raise Refusal("cannot-be-stated", fact=number, problem=problem)
        try:
            game.emit(fact)
        except BROKEN as error:
            raise Refusal("cannot-be-stated", fact=number, problem=str(error)) from error
    try:
        problems = ruleset.problems(game.state)
        if not unseen:
            _void_illegal(ruleset, game)
        elif not problems:
            _void_answers(ruleset, game, asked)
    except BROKEN as error:
        raise Refusal("impossible-position", problems=[f"the rules fail in it ({type(error).__name__})"]) from error
    if problems:
        raise Refusal("impossible-position", problems=list(problems))


def _go_on(ruleset: ArbitersRuleset[S], game: Game[S], number: int) -> Ruling[S]:
    """Run on from a corrected position; one that the rules cannot go on from is refused."""
    try:
        return run_on(ruleset, game, number, ruleset.follows(game))
    except BROKEN as error:
        problem = f"the game cannot go on from it ({type(error).__name__})"
        raise Refusal("impossible-position", problems=[problem]) from error


def _asked(ruleset: Ruleset[S], state: S) -> dict[str, bytes]:
    """By player what answers of the open question are chosen from: kind, subject, options, and that it is secret.

    An answer that waits sealed is never looked at here: what becomes of it must tell nobody what it says.
    """
    if not state.frames:
        return {}
    game = ruleset.game(state)
    frame = game.stack()[-1]
    question = getattr(frame, frame.step)(game)
    if not isinstance(question, Collect):
        return {}
    return {
        one.player: encode_options([one.kind, one.default.about, one.options, one.secret]) for one in question.decisions
    }


def _void_illegal(ruleset: Ruleset[S], game: Game[S]) -> None:
    """The same in old records: sealed answers that a correction had made illegal."""
    if not game.state.answers:
        return
    frame = game.stack()[-1]
    question = getattr(frame, frame.step)(ruleset.game(game.state))
    decisions = {one.player: one for one in question.decisions} if isinstance(question, Collect) else {}
    for player, answer in sorted(game.state.answers.items()):
        decision = decisions.get(player)
        if decision is None or decision.kind != answer.kind or not _is_legal(decision, answer):
            game.emit(AnswerVoided(player=player, kind=answer.kind))


def _is_legal(decision: Decision[Any], answer: Answer) -> bool:
    try:
        decision.check(answer)
    except Refusal:
        return False
    return True


def _void_answers(ruleset: Ruleset[S], game: Game[S], asked: dict[str, bytes]) -> None:
    """Sealed answers and drafts are void where a correction has changed what they were chosen from.

    They leave their envelopes unopened, whatever they say; those that were chosen from the same stay.
    """
    state = game.state
    if not state.answers and not state.drafts:
        return
    now = _asked(ruleset, state)
    gone = [player for player in sorted({*asked, *now}) if asked.get(player) != now.get(player)]
    for player in gone:
        if player in state.answers:
            game.emit(AnswerVoided(player=player, kind=state.answers[player].kind))
        if player in state.drafts:
            game.emit(AnswerVoided(player=player, kind=state.drafts[player].kind, draft=True))


# Offers


class _Offers:
    """Offering struck-out answers in one ruling. Footprints on the old lines are taken once."""

    def __init__(self, ruleset: ArbitersRuleset[S], past: Past) -> None:
        self.ruleset: ArbitersRuleset[Any] = ruleset
        self.past = past
        self._before: dict[Given, Footprint] = {}
        self._occasions: dict[Given, int] = {}

    def next(self, state: Any) -> tuple[Given, int, tuple[str, ...]] | None:
        """The next answer to be offered, the number of the question, and what differs.

        Where several answers would fit a question (a House makes several marches in a round), the one that was
        given to just this question is kept, wherever it stands; if there is none, the first is asked anew.
        """
        docket = state.docket
        if docket.stopping_appeals or not docket.pending:
            return None
        now = self.ruleset.occasion(state)
        for given in docket.pending:
            if state.is_over or self._occasion(given) < now:
                return given, 0, (NO_LONGER_ASKED,)
        first = next((n for n, given in enumerate(docket.pending) if is_correction(self.past, given)), None)
        if first == 0:
            return self._correction(state, docket.pending[0], now)
        pending = docket.pending[:first]
        settled = {*docket.anew, *docket.again} if docket.question == state.question else set()
        asked = [one for one in open_decisions(self.ruleset, state, replaceable=True) if one.player not in settled]
        for given in pending:
            if self._fits(asked, given, now):
                return self._choice(state, asked, given, now, pending)
        return None

    def _correction(self, state: Any, given: Given, now: int) -> tuple[Given, int, tuple[str, ...]] | None:
        """A correction comes in its turn: not while somebody is asked anew what was said before it."""
        asked = {one.player for one in open_decisions(self.ruleset, state)}
        waits = state.docket.question == state.question and asked & {*state.docket.anew}
        return None if waits or self._occasion(given) != now else (given, 0, ())

    def _choice(
        self, state: Any, asked: list[Decision[Any]], first: Given, now: int, pending: tuple[Given, ...]
    ) -> tuple[Given, int, tuple[str, ...]]:
        differs = self.compare(state, first)
        if isinstance(_told(self.past, first), DraftKept):
            return first, 0, differs
        if differs:
            player = answer_at(self.past, first).player
            for given in pending:
                answer = answer_at(self.past, given)
                rival = given != first and answer.player == player and self._fits(asked, given, now)
                if rival and not isinstance(_told(self.past, given), DraftKept) and not self.compare(state, given):
                    return given, state.question, ()
        return first, state.question, differs

    def _occasion(self, given: Given) -> int:
        if given not in self._occasions:
            # The entry of a correction may begin with a rewind.
            before = self.past.state(given.entry - 1)
            if is_correction(self.past, given):
                before = state_before(self.ruleset, self.past, given)
            self._occasions[given] = self.ruleset.occasion(before)
        return self._occasions[given]

    def _fits(self, asked: list[Decision[Any]], given: Given, now: int) -> bool:
        """Whether an open question waits for such an answer, and at the same time of the game."""
        answer = answer_at(self.past, given)
        return self._occasion(given) == now and any(
            one.player == answer.player and one.kind == answer.kind and one.default.about == answer.about
            for one in asked
        )

    def take(self, state: Any, given: Given, question: int, differs: tuple[str, ...]) -> Ruling[Any]:
        """Offer an answer or a correction, and carry it out where it still holds."""
        if is_correction(self.past, given):
            return self.correct(state, given, differs)
        answer = answer_at(self.past, given)
        game = self.ruleset.game(state)
        offered = AnswerOffered(
            given=given, player=answer.player, kind=answer.kind, question=question, kept=not differs, differs=differs
        )
        game.emit(offered)
        return self.keep(game, given) if not differs else Ruling(tuple(game.facts), game.state)

    def compare(self, state: Any, given: Given) -> tuple[str, ...]:
        """What differs between both lines for a struck-out answer; nothing if it is kept.

        That it is no longer legal means that its options differ; why it is not might betray what it says.
        """
        answer, unseen = answer_at(self.past, given), state.docket.unseen
        if given not in self._before:
            before = state_before(self.ruleset, self.past, given)
            self._before[given] = self.ruleset.footprint(before, answer, unseen=unseen)
        try:
            now = self.ruleset.footprint(state, answer, unseen=unseen)
        except Refusal:
            return (OPTIONS,)
        return self._before[given].differs(now)

    def correct(self, state: Any, given: Given, differs: tuple[str, ...]) -> Ruling[Any]:
        """Make a struck-out correction again, or leave it to the arbiter."""
        corrected, stated = correction_at(self.past, given)
        if not differs:
            before = after = state_before(self.ruleset, self.past, given)
            for fact in stated:
                after = self.ruleset.evolve(after, fact)
            differs = self.ruleset.replaced(before, after, state)
        if not differs:
            game = self.ruleset.game(state)
            game.emit(CorrectionOffered(given=given, made=True))
            try:
                _state(self.ruleset, game, stated, corrected.reason, unseen=state.docket.unseen)
                return _go_on(self.ruleset, game, state.question + 1)
            except Refusal as refusal:
                if refusal.code not in ("cannot-be-stated", "impossible-position"):
                    raise
                differs = (refusal.code,)
        game = self.ruleset.game(state)
        game.emit(CorrectionOffered(given=given, made=False, differs=differs))
        return Ruling(tuple(game.facts), game.state)

    def keep(self, game: Game[Any], given: Given) -> Ruling[Any]:
        fact = _told(self.past, given)
        if isinstance(fact, DraftKept):
            game.emit(fact)
            return Ruling(tuple(game.facts), game.state)
        return apply_kept(self.ruleset, game, fact.answer)


def offer(ruleset: ArbitersRuleset[S], ruling: Ruling[S], past: Past) -> Ruling[S]:
    """Offer struck-out answers to the questions that are open now, again and again while one is kept."""
    facts = list(ruling.facts)
    state = ruling.state
    offers = _Offers(ruleset, past)
    for _ in range(MOST_OFFERS):
        found = offers.next(state)
        if found is None:
            break
        try:
            more = offers.take(state, *found)
        except Refusal:
            break  # a draw that comes from outside has not been stated yet; the answer waits for it
        facts += more.facts
        state = more.state
    else:
        raise AssertionError("there are not so many answers in a game")
    return Ruling(tuple(facts), state)
