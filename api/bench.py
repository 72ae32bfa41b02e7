"""The arbiter's bench: what he may ask before he acts, how he acts, and what is written down about it.

It stands beside the desk, for command line and HTTP alike. Whatever it shows of the hidden side of a game that still
runs is first recorded as an entry of that game: who, what, why.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import takewhile
from typing import Any

import msgspec

from api.apart import AskedAct, AskedCorrection, AskedRewind
from api.desk import Desk, LogEntry, NotAllowed
from api.games.thrones.cases.cases import Case
from api.games.thrones.cases.opinions import as_case
from api.games.thrones.diagram import board, not_begun
from api.games.thrones.sentences import Prose
from api.tokens import ORGANISER, Caller
from domain.kernel.arbiter import (
    Act,
    Amend,
    Correct,
    FileAppeal,
    Past,
    ReadSecrets,
    Rewind,
    RuleOnAppeal,
    is_out_of_date,
)
from domain.kernel.bounds import MOST_PROSE
from domain.kernel.docket import (
    AnswerOffered,
    AnswerVoided,
    Corrected,
    Given,
    PrivilegeUsed,
    Rewound,
    SecretsRead,
    SecretsReadOpened,
)
from domain.kernel.facts import AnswerSealed, AnswersOpened, DraftKept, Fact
from domain.kernel.printing import counted
from domain.kernel.refusal import Refusal
from domain.kernel.rewinding import struck_corrections
from domain.kernel.ruleset import Ruling
from domain.thrones.language import facts as f
from domain.thrones.language.state import Hidden, State
from domain.thrones.language.view import View, view
from domain.thrones.notation import format_answer
from domain.thrones.review.taking_back import Exposed, Offered, OfferedCorrection, plan
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.charter import Charter
from domain.thrones.tables.editions.composed import edition_of
from events import codec
from events.envelope import Receipt, Refused, Stored, encode
from events.past import Record

MAY_AMEND = "the organiser or an arbiter"
"""Who may move a game to another engine: what it is ruled by is agreed among all, not a matter of a dispute alone."""

HOLDS_BACK = "What is asked anew holds back all that is offered later; once it is answered, the rest is offered again."
"""Why a plan cannot tell yet what becomes of the answers behind one that is asked anew."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")

RESERVED = (
    *("operator", "organiser", "organizer", "arbiter", "server", "system", "rookery", "worker"),
    *("deadline", "public", "player", "seat", "house", "everybody", "nobody"),
)
"""Names that a record would read as somebody else's."""

Ruled = Callable[[Receipt], Any]
"""Sees to it that a submission is ruled on, as far as that can be done now."""


class PlanOutOfDate(Exception):
    """Something has been ruled on since a plan was made; nothing was recorded."""

    def __init__(self, expected: int, version: int) -> None:
        super().__init__(
            f"The plan was made for version {expected},"
            f" and the record has {counted(version, 'entry', 'entries')} by now."
        )
        self.expected = expected
        self.version = version


class PlannedAnswer(msgspec.Struct, frozen=True):
    """A struck-out answer: ``kept``, ``asked anew`` with what differs, or ``offered later``.

    ``said`` is the answer itself, where it is public or the reader has given a reason to see it.
    """

    entry: int
    house: str
    kind: str
    said: str
    outcome: str
    differs: tuple[str, ...]


class PlannedCorrection(msgspec.Struct, frozen=True):
    """A struck-out correction: ``made again``, ``offered later``, ``the arbiter's to decide``, or ``struck out``."""

    entry: int
    reason: str
    stated: tuple[str, ...]
    outcome: str
    differs: tuple[str, ...]


class PlanOfRewind(msgspec.Struct, frozen=True):
    """What a rewind would do. ``version`` is the record it was made for; apply it with that version.

    With ``redraw`` new draws are made when it is applied, so what is offered behind the first of them may come out
    otherwise than here. ``void`` are sealed answers and drafts of the restored position that the correction makes void,
    in English: those whose options it changes, whatever they say.
    """

    game: str
    version: int
    to: int
    struck: tuple[int, ...]
    exposed: tuple[Exposed, ...]
    answers: tuple[PlannedAnswer, ...]
    kept: int
    asked_anew: int
    offered_later: int
    corrections: tuple[PlannedCorrection, ...]
    void: tuple[str, ...]
    remarks: tuple[str, ...]
    redraw: bool


class PlanOfCorrection(msgspec.Struct, frozen=True):
    """What a correction would state, in English, and what would become of answers that are in."""

    game: str
    version: int
    stated: tuple[str, ...]
    answers: tuple[PlannedAnswer, ...]


class Perspective(msgspec.Struct, frozen=True):
    """A game as one House knew it at a version, beside the truth.

    Seed and order of the decks belong to the truth only once the game has ended.
    """

    game: str
    version: int
    house: str
    known: View
    truth: State
    hidden: Hidden


class ReadOfSecrets(msgspec.Struct, frozen=True):
    """A read by privilege. ``who``, ``what`` and ``why`` are null while they are sealed."""

    entry: int
    at: str
    who: str | None
    what: str | None
    why: str | None


def _is_of_the_organiser(command: Act) -> bool:
    """Whether an act needs no arbiter: to amend, and to end an appeal that was filed in bad faith."""
    return isinstance(command, Amend) or (isinstance(command, RuleOnAppeal) and command.outcome == "dismissed")


class Bench:
    """The arbiter's side of a desk. ``ruled`` is asked to have a submission ruled on before something is shown."""

    def __init__(self, desk: Desk, ruled: Ruled) -> None:
        self.desk = desk
        self.ruled = ruled

    # Who may

    def check(self, game: str, caller: Caller, needed: str = "an arbiter") -> None:
        """Raise unless the caller may do an arbiter's work in a game."""
        if not caller.is_arbiter:
            raise NotAllowed(needed)
        state: State = self.desk.line(game).state
        self.check_seat(state, caller.plays)
        if caller.name:  # a token may be older than the names that are reserved
            self.check_name(self.desk.agreed(game), caller.name, caller.plays)

    @staticmethod
    def check_seat(state: State, seat: str) -> None:
        """Raise when an arbiter plays in the game and its charter does not allow that."""
        if seat and not state.charter.arbitration.arbiter_may_play:
            raise Refusal("arbiter-plays", house=state.charter.seats.get(seat, seat))

    @staticmethod
    def check_name(charter: Charter, name: str, seat: str = "") -> None:
        """Raise Refusal for a name that reads like somebody else's: an office, or a seat or House not declared.

        ``seat`` is the one that the arbiter declares to be his. Dots, hyphens and underscores make no difference.
        """
        if not charter.edition:
            raise Refusal("not-started")
        if not _NAME.fullmatch(name):
            raise Refusal("bad-name", name=name)
        houses = edition_of(charter).houses.values()
        taken = {*RESERVED, *charter.seats, *(one.id for one in houses), *(one.name for one in houses)}
        if seat:
            taken -= {seat, charter.seats.get(seat, "")}
            taken -= {one.name for one in houses if one.id == charter.seats.get(seat)}
        if _bare(name) in map(_bare, taken):
            raise Refusal("reserved-name", name=name)

    # Secrets

    def write_down(self, game: str, caller: Caller, what: str, why: str) -> None:
        """Record that the caller reads what his seat may not see. What he then gets was announced before."""
        if not why.strip():
            raise Refusal("why-missing")
        check_length("reason", why)
        command = ReadSecrets(who=caller.called, what=what, why=why.strip())
        self.ruled(self.desk.submit(game, caller, encode(command), cause="system"))

    def reads(self, game: str, upto: int | None = None) -> tuple[ReadOfSecrets, ...]:
        """Every read by privilege as everybody may know of it now, or could at version ``upto``."""
        found: dict[int, ReadOfSecrets] = {}
        for stored in self.desk.store.entries(game, 0, upto):
            if b'"fact":"PrivilegeUsed"' not in stored.public and b'"fact":"SecretsReadOpened"' not in stored.public:
                continue
            shown = codec.redact(stored, None)
            entry = codec.entry(shown)
            for fact in self.desk.judge.codec.facts(shown, entry):
                match fact:
                    case PrivilegeUsed():
                        found[entry.seq] = ReadOfSecrets(entry.seq, entry.at, None, None, None)
                    case SecretsRead():
                        found[entry.seq] = ReadOfSecrets(entry.seq, entry.at, fact.who, fact.what, fact.why)
                    case SecretsReadOpened():
                        for one in fact.reads:
                            at = found[one.entry].at
                            found[one.entry] = ReadOfSecrets(one.entry, at, one.who, one.what, one.why)
                    case _:
                        pass
        return tuple(found.values())

    def perspective(self, game: str, caller: Caller, house: str, at: int | None, why: str = "") -> Perspective:
        """A game as a House knew it, beside the truth: for everybody once it has ended, else for an arbiter."""
        now: State = self.desk.line(game).state
        if house not in now.houses:
            raise Refusal("unknown-house", unknown=True, house=house, known=list(now.houses))
        line = self.desk.line(game, at)
        if not now.is_disclosed:
            self.check(game, caller)
            self.write_down(game, caller, f"the perspective of {house} at version {line.version}", why)
        state: State = line.state
        hidden = state.hidden
        if not now.is_disclosed:
            hidden = msgspec.structs.replace(hidden, seed="", former=(), decks={}, stated={})
        known = view(state, house, THRONES.decisions(state, replaceable=True), THRONES.held)
        return Perspective(game, line.version, house, known, THRONES.public(state), hidden)

    # Plans

    def _past(self, game: str, at: int | None = None) -> tuple[State, Record]:
        line = self.desk.line(game, at)
        entries = self.desk.store.entries
        past = Record(self.desk.judge, lambda after, upto: entries(game, after, upto - after))
        past.version = line.version
        return line.state, past

    def plan_rewind(
        self, game: str, caller: Caller, command: Rewind, *, redraw: bool = False, why: str = ""
    ) -> PlanOfRewind:
        """What a rewind would do. Nothing is recorded, unless answers have to be opened for it that are still sealed.

        Then a reason must be given; with one, the answers themselves are shown.
        """
        self.check(game, caller)
        command = self._signed(game, caller, command)
        if redraw:
            command = msgspec.structs.replace(command, seed=os.urandom(32).hex())
        made = self._plan_rewind(game, command, redraw)
        if made is None or why.strip():
            state: State = self.desk.line(game).state
            if not state.is_disclosed:
                self.write_down(game, caller, f"the plan of a rewind to entry {command.to}, answers included", why)
            made = self._plan_rewind(game, command, redraw, opened=True)
        assert made is not None, "an opened plan tells everything"
        return made

    def _plan_rewind(self, game: str, command: Rewind, redraw: bool, *, opened: bool = False) -> PlanOfRewind | None:
        if self.desk.apart is None:
            return self.planned_rewind(game, command, redraw, opened=opened)
        found: PlanOfRewind | None = self.desk.apart.ask(
            AskedRewind(game, command, redraw, opened), PlanOfRewind | None
        )
        return found

    def planned_rewind(self, game: str, command: Rewind, redraw: bool, *, opened: bool) -> PlanOfRewind | None:
        """The plan of a signed rewind; None when it would tell of answers that are still sealed."""
        state, past = self._past(game)
        ruling = THRONES.decide(state, command, past)
        made = plan(ruling, state, command, past, redraw=redraw)
        tells = any(_is_sealed(past, one.given) for one in made.answers) or _opens(past, command.to, ruling.facts)
        if tells and not opened and not state.is_disclosed:
            return None
        answers = tuple(self._answer(past, one) for one in made.answers)
        outcomes = [one.outcome for one in answers]
        return PlanOfRewind(
            game=game,
            version=made.version,
            to=made.to,
            struck=made.struck,
            exposed=tuple(self._exposed(past, one, opened) for one in made.exposed),
            answers=answers,
            kept=outcomes.count("kept"),
            asked_anew=outcomes.count("asked anew"),
            offered_later=outcomes.count("offered later"),
            corrections=tuple(self._correction(state, one) for one in made.corrections),
            void=tuple(_void(ruling.facts, Prose(self.desk.edition(state)))),
            remarks=(HOLDS_BACK,) if {"asked anew", "offered later"} <= {*outcomes} else (),
            redraw=redraw,
        )

    def _correction(self, state: State, one: OfferedCorrection) -> PlannedCorrection:
        prose = Prose(self.desk.edition(state))
        stated = tuple(prose.line(fact) or type(fact).__name__ for fact in one.stated)
        return PlannedCorrection(one.given.entry, one.reason, stated, one.outcome, one.differs)

    def corrections(self, game: str, command: Rewind, without: tuple[int, ...]) -> Rewind:
        """A causal rewind that offers again every correction it strikes out, but those of the entries ``without``."""
        if not command.causal:
            return command
        state, past = self._past(game)
        struck = struck_corrections(state.docket, past, command.to) if 0 < command.to < past.version else ()
        entries = sorted({given.entry for given in struck} - {*without})
        return msgspec.structs.replace(command, corrections=tuple(entries))

    def _answer(self, past: Past, one: Offered) -> PlannedAnswer:
        fact: Any = past.facts(one.given.entry)[one.given.fact]
        return PlannedAnswer(
            one.given.entry, one.player, one.kind, format_answer(fact.answer), one.outcome, one.differs
        )

    def _exposed(self, past: Past, one: Exposed, opened: bool) -> Exposed:
        """With the card that a House has seen alone, for a reader who has given a reason."""
        if opened:
            for fact in past.facts(one.entry):
                if isinstance(fact, f.WildlingCardSeen | f.TidesCardDrawn) and one.to == (fact.house,):
                    return msgspec.structs.replace(one, detail=fact.card)
        return one

    def plan_correction(self, game: str, caller: Caller, command: Correct) -> PlanOfCorrection:
        """What a correction of the present position would do."""
        self.check(game, caller)
        command = self._signed(game, caller, command)
        if self.desk.apart is None:
            return self.planned_correction(game, command)
        found: PlanOfCorrection = self.desk.apart.ask(AskedCorrection(game, command), PlanOfCorrection)
        return found

    def planned_correction(self, game: str, command: Correct) -> PlanOfCorrection:
        """The plan of a signed correction."""
        state, past = self._past(game)
        ruling: Ruling[State] = THRONES.decide(state, command, past)
        prose = Prose(self.desk.edition(state))
        facts = ruling.facts
        if state.answers and not state.is_disclosed:
            # Behind the opening of what is sealed now, everything may depend on what it says.
            facts = tuple(takewhile(lambda fact: not isinstance(fact, AnswersOpened), facts))
        return PlanOfCorrection(
            game, past.version, tuple(self._stated(facts, prose)), tuple(self._offered(past, facts))
        )

    def _stated(self, facts: tuple[Fact, ...], prose: Prose) -> Iterator[str]:
        """What the arbiter states, and which answers it makes void; nothing of what the game does with it."""
        at = next((number for number, fact in enumerate(facts) if isinstance(fact, Corrected)), None)
        if at is None:
            return
        corrected = facts[at]
        assert isinstance(corrected, Corrected)
        for number, fact in enumerate(facts):
            if at <= number <= at + corrected.count:
                yield prose.line(fact) or type(fact).__name__
        yield from _void(facts, prose)

    def _offered(self, past: Past, facts: tuple[Fact, ...]) -> Iterator[PlannedAnswer]:
        for fact in facts:
            if isinstance(fact, AnswerOffered):
                outcome = "kept" if fact.kept else "asked anew"
                said = "" if _is_sealed(past, fact.given) else self._said(past, fact.given)
                yield PlannedAnswer(fact.given.entry, fact.player, fact.kind, said, outcome, fact.differs)

    def _said(self, past: Past, given: Given) -> str:
        fact: Any = past.facts(given.entry)[given.fact]
        return format_answer(fact.answer)

    # Acts

    def _signed(self, game: str, caller: Caller, command: Any) -> Any:
        """An act with the name of the arbiter, whatever it said before."""
        state: State = self.desk.line(game).state
        plays = state.charter.seats.get(caller.plays, "") if caller.plays else ""
        signed = msgspec.structs.replace(command, by=caller.name or caller.role, plays=plays)
        return (
            msgspec.structs.replace(signed, unseen=True, present=True)
            if isinstance(signed, Rewind | Correct)
            else signed
        )

    def act(
        self,
        game: str,
        caller: Caller,
        command: Act,
        *,
        expected: int | None = None,
        redraw: bool = False,
        key: str = "",
        correlation: str = "",
    ) -> Receipt:
        """Take an arbiter's act in; the organiser may amend, and dismiss an appeal.

        Raises PlanOutOfDate if things changed since ``expected``.

        Whoever comes in between the check and the ruling makes it a refused entry.
        """
        if caller.role != ORGANISER or not _is_of_the_organiser(command):
            self.check(game, caller, MAY_AMEND if isinstance(command, Amend) else "an arbiter")
        signed = self._signed(game, caller, command)
        if not getattr(signed, "reason", "given").strip():
            raise Refusal("reason-missing")
        for what in ("reason", "opinion"):
            check_length(what, getattr(signed, what, ""))
        if isinstance(signed, Rewind | Correct):
            signed = msgspec.structs.replace(signed, expected=expected)
        if isinstance(signed, Rewind):
            signed = msgspec.structs.replace(signed, seed=os.urandom(32).hex() if redraw else "")
        own_key = f"{caller.called.replace(' ', ':')}:{key}" if key else ""
        known = self.desk.sent_before(game, caller, own_key)
        if known is not None:
            signed = self._as_before(signed, bytes(known.command))
        else:
            if expected is not None:
                self._check_version(game, expected)
            self._try(game, signed)
        return self.desk.submit(
            game, caller, encode(signed), key=own_key, seen=expected, cause="arbiter", correlation=correlation
        )

    def _try(self, game: str, signed: Act) -> None:
        """Rule apart on what a worker would park the game for. Raises BeyondBudget, BrokeOff; a refusal is recorded.

        An opinion or another engine can set struck-out answers free, so it is tried, too. What another engine than
        ours is to rule on only that one can try.
        """
        if self.desk.apart is None or not isinstance(signed, Rewind | Correct | RuleOnAppeal | Amend):
            return
        if isinstance(signed, Amend) or self.desk.judge.lacking(self.desk.line(game).state) is None:
            with suppress(Refusal):
                self.desk.apart.ask(AskedAct(game, signed), None)

    def tried(self, game: str, signed: Act) -> None:
        """Rule on a signed act, and nothing else."""
        state, past = self._past(game)
        THRONES.decide(state, signed, past)

    def _check_version(self, game: str, expected: int) -> None:
        if self.desk.store.version(game) != expected:
            _, past = self._past(game)
            if is_out_of_date(expected, past):
                raise PlanOutOfDate(expected, past.version)

    def _as_before(self, signed: Any, known: bytes) -> Any:
        """Sent again under its key, a rewind has the seed that was drawn the first time, and the same corrections."""
        before = msgspec.json.decode(known)
        if isinstance(signed, Rewind | Correct):
            flags = {flag: before.get(flag, False) for flag in ("unseen", "present")}
            signed = msgspec.structs.replace(signed, **flags)
        if not isinstance(signed, Rewind):
            return signed
        corrections = tuple(before.get("corrections", ()))
        return msgspec.structs.replace(signed, seed=before.get("seed", "") or signed.seed, corrections=corrections)

    def appeal(
        self, game: str, caller: Caller, against: int, statement: str, *, key: str = "", correlation: str = ""
    ) -> Receipt:
        """A seat appeals against an entry."""
        if caller.role != "seat":
            raise NotAllowed("a seat")
        state: State = self.desk.line(game).state
        house = self.desk.house_of(state, caller)
        assert house is not None, "every seat has a House"
        check_length("statement", statement)
        command = FileAppeal(house=house, against=against, statement=statement)
        return self.desk.submit(game, caller, encode(command), key=key, correlation=correlation)

    def case(self, game: str, caller: Caller, number: int, at: int | None = None) -> Case:
        """An appeal that was ruled on, as a case. It says nothing that is not public."""
        self.check(game, caller)
        state, past = self._past(game, at)
        appeal = next((one for one in state.docket.appeals if one.number == number), None)
        if appeal is None:
            known = [one.number for one in state.docket.appeals]
            raise Refusal("no-such-appeal", unknown=True, appeal=number, known=known)
        source = f"opinion on appeal {number} of game {game}, entry {appeal.against}"
        return as_case(game=game, appeal=appeal, past=past, source=source)

    def told(self, game: str, stored: Stored) -> LogEntry:
        """The entry that answers an act, for whoever sent it: also why it was refused, where that is sealed."""
        prose = Prose(self.desk.edition(self.desk.line(game).state))
        shown = self.desk.readable(stored, None, prose)
        entry = codec.entry(stored)
        if isinstance(entry.verdict, Refused) and entry.verdict.sealed is not None:
            body = bytes(stored.sealed[entry.verdict.sealed].body)
            return msgspec.structs.replace(shown, verdict=msgspec.json.decode(body, type=Refused))
        return shown


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def check_length(what: str, text: str) -> None:
    """Raise Refusal for what is too long to be put on the record. Only here: what is on it already stays good."""
    if len(text) > MOST_PROSE:
        raise Refusal("text-too-long", what=what, most=MOST_PROSE, length=len(text))


def _is_sealed(past: Past, given: Given) -> bool:
    """Whether an answer has never left its envelope."""
    fact = past.facts(given.entry)[given.fact]
    if not isinstance(fact, AnswerSealed):
        return isinstance(fact, DraftKept)
    for entry in range(given.entry, past.version + 1):
        facts = past.facts(entry)[given.fact + 1 if entry == given.entry else 0 :]
        for fact in facts:
            if isinstance(fact, AnswersOpened):
                return False
            if isinstance(fact, Rewound):
                return True
    return True


def _opens(past: Past, to: int, facts: tuple[Fact, ...]) -> bool:
    """Whether a rewind would open answers of the position after ``to`` that have never left their envelopes."""
    sealed = past.state(to).answers
    if not sealed or not any(isinstance(fact, AnswersOpened) for fact in facts):
        return False
    for entry in range(to + 1, past.version + 1):
        for fact in past.facts(entry):
            if isinstance(fact, AnswersOpened):
                return False
            if isinstance(fact, Rewound) or (isinstance(fact, AnswerSealed) and fact.player in sealed):
                return True
    return True


def _void(facts: tuple[Fact, ...], prose: Prose) -> Iterator[str]:
    return (prose.line(fact) for fact in facts if isinstance(fact, AnswerVoided))


def picture(found: Perspective) -> str:
    """A perspective as text: the board as the House saw it, then what it could not see."""
    state = found.known.position
    if not state.charter.edition:
        return not_begun(state)
    game = THRONES.rules_of(state).game(state)
    prose = Prose(game.edition)
    hidden = found.hidden
    rows = [
        f"  {prose.name(house)} has answered: {format_answer(one)}" for house, one in sorted(hidden.answers.items())
    ]
    rows += [f"  {prose.name(house)} has drafted: {format_answer(one)}" for house, one in sorted(hidden.drafts.items())]
    rows += [f"  {prose.name(house)} has seen {prose.name(card)}" for house, card in sorted(hidden.seen.items())]
    rows += [f"  {prose.name(house)} has drawn {prose.name(card)}" for house, card in sorted(hidden.tides.items())]
    rows += [f"  {deck}: {', '.join(map(prose.name, cards))}" for deck, cards in sorted(hidden.decks.items())]
    truth = "\n".join(rows) or "  nothing was hidden"
    return f"As {prose.name(found.house)} knew it\n\n{board(game, found.known)}\n\nThe truth beside it\n{truth}"
