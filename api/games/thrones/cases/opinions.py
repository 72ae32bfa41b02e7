"""Opinions as cases (docs/cases.md): a disputed ruling with its position, to try every engine to come with it.

The position is the exact one. What nobody may see is not written out: what lay face down is in canonical order, except
for the cards that everybody saw turned up by the ruling; and a secret answer is told once it has been opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from api.games.thrones.cases.cases import (
    Case,
    CaseError,
    Excluded,
    Expect,
    Step,
    begin,
    read_answer,
    run_case,
    stand,
)
from api.games.thrones.cases.comparing import plain_fact
from api.games.thrones.cases.positions import Partial, changes_from
from domain.kernel.arbiter import Past
from domain.kernel.docket import DOCKET_FACTS, Appeal, AppealRuled, Corrected, CorrectionOffered, Docket
from domain.kernel.facts import (
    Answered,
    AnswerSealed,
    AnswersOpened,
    AnswerTaken,
    Awaiting,
    Fact,
    SeedCommitted,
    SeedOpened,
)
from domain.kernel.procedure import Collect
from domain.kernel.refusal import Refusal
from domain.kernel.ruleset import open_question
from domain.thrones.language import facts as f
from domain.thrones.language.evolve import evolve
from domain.thrones.language.pieces import CardId, Deck, HouseId
from domain.thrones.language.state import Hidden, State
from domain.thrones.notation import format_answer
from domain.thrones.review.forking import Memory, laid, on_the_table, pool_of
from domain.thrones.ruleset import THRONES, rules_by
from domain.thrones.tables.charter import Charter
from domain.thrones.tables.edition import Edition
from domain.thrones.tables.editions.composed import edition_of

with_ = msgspec.structs.replace

BESIDES = (Awaiting, AnswerTaken, Answered, AnswersOpened, SeedOpened, SeedCommitted)
"""Public facts that tell nothing of what the rules made of an answer."""

FACE_DOWN = "What lay face down is in canonical order here, but for the cards that the ruling turned up."


def as_case(*, game: str, appeal: Appeal, past: Past, source: str) -> Case:
    """The case of an appeal that was ruled on, out of the record up to now.

    Raises Refusal for what cannot be a case, or not yet.
    """
    if appeal.outcome is None:
        raise Refusal("no-opinion-yet", appeal=appeal.number)
    disputed = past.facts(appeal.against)
    before: State = past.state(appeal.against - 1)
    bare = Case(
        id=f"OP-{game}-{appeal.number}",
        title=appeal.opinion or appeal.statement,
        chapter="opinions",
        source=source,
        rules=(),
        steps=(),
        excludes=(),
        note=f"Appeal: {appeal.statement}",
    )
    if before.charter.edition:
        case, found = _played(bare, past, appeal.against, before, tuple(_of_the_game(disputed)))
    else:
        case, found = _set_up(bare, [fact for fact in disputed if not isinstance(fact, DOCKET_FACTS)])
    return _judged(case, appeal, found, _stated(past, appeal))


def _judged(case: Case, appeal: Appeal, found: Sequence[dict[str, Any]], stated: Sequence[dict[str, Any]]) -> Case:
    """The case with what must follow: what was ruled, or what the arbiter stated instead."""
    last = len(case.steps)
    if stated:
        expect = Expect(facts=tuple(stated))
        wrong = Excluded(f"what entry {appeal.against} ruled", last, Expect(facts=tuple(found)))
    elif appeal.outcome in ("upheld", "declined"):
        cited = (rule for one in found for rule in one.get("rules", ()))
        case = with_(case, rules=tuple(dict.fromkeys((*case.rules, *cited))))
        expect = Expect(facts=tuple(found))
        wrong = Excluded(appeal.statement, last, Expect(never=tuple(found[:1])))
    else:
        raise Refusal("not-a-case", problem="the arbiter took it back and stated nothing that everybody may see")
    steps = tuple(with_(step, expect=expect) for step in case.steps)
    case = with_(case, steps=steps, excludes=(wrong,), begin=Expect() if steps else expect)
    try:
        report = run_case(case)
    except CaseError as error:
        raise Refusal("not-a-case", problem=str(error)) from error
    # One that was corrected is for the engine that is to be mended.
    if not stated and not report.passed:
        raise Refusal("not-a-case", problem=report.disagreement)
    return case


def _of_the_game(facts: Sequence[Fact]) -> Iterator[Fact]:
    """What the rules made of a command, up to what an arbiter's hand or its consequences add."""
    for fact in facts:
        if isinstance(fact, DOCKET_FACTS):
            return
        yield fact


def _pattern(fact: Fact, rules: bool = True) -> dict[str, Any]:
    found = plain_fact(fact)
    kept = [rule for rule in found.pop("rules", ()) if rule != "arbiter"]
    found.pop("audience", None)
    return {**found, "rules": kept} if rules and kept else found


def _stated(past: Past, appeal: Appeal) -> tuple[dict[str, Any], ...]:
    """The facts that the ruling on an appeal states, as far as everybody may see them."""
    ruled: Sequence[Fact] = ()
    for entry in range(appeal.against, past.version + 1):
        if any(isinstance(fact, AppealRuled) and fact.number == appeal.number for fact in past.facts(entry)):
            ruled = past.facts(entry)
    for number, fact in enumerate(ruled, start=1):
        if isinstance(fact, CorrectionOffered):
            return ()  # what he had stated before is made again
        if isinstance(fact, Corrected):
            facts = ruled[number : number + fact.count]
            return tuple(_pattern(one, rules=False) for one in facts if one.audience is None)
    return ()


# From the set-up


def _set_up(bare: Case, disputed: Sequence[Fact]) -> tuple[Case, tuple[dict[str, Any], ...]]:
    """The case of a game's beginning."""
    created = next((fact for fact in disputed if isinstance(fact, f.GameCreated)), None)
    if created is None:
        raise Refusal("not-a-case", problem="the game had not begun")
    if any(isinstance(fact, f.PositionStated) for fact in disputed):
        problem = "with that entry the game took over a position from elsewhere, and the rules decided nothing"
        raise Refusal("not-a-case", problem=problem)
    charter = created.charter
    case = with_(
        bare, edition=charter.edition, position=Partial(houses=charter.houses, **changes_from(charter)), set_up=True
    )
    begun = begin(stand(case), set_up=True).after
    rules = tuple(dict.fromkeys(rule for one in THRONES.decisions(begun) for rule in one.rules))
    found = (fact for fact in disputed if fact.audience is None and not isinstance(fact, (*BESIDES, f.GameCreated)))
    return with_(case, rules=rules), tuple(_pattern(fact) for fact in found)


# From a decision


class Act(msgspec.Struct, frozen=True):
    """The answer that was ruled on. ``taken`` is the fact that says so; with ``opens`` it was the last secret one."""

    house: HouseId
    answer: Any
    how: str
    taken: Fact
    opens: bool


def _played(
    bare: Case, past: Past, entry: int, before: State, disputed: Sequence[Fact]
) -> tuple[Case, tuple[dict[str, Any], ...]]:
    """The case of an answer."""
    act = _act(disputed)
    question = open_question(rules_by(before.charter), before)
    answers = before.hidden.answers if act.opens else {}
    if isinstance(question, Collect) and not act.opens:
        if act.how == "given" and not _is_open(past, entry, {act.house: act.answer}):
            raise Refusal("not-a-case", problem="its answer is still sealed")
        if question.in_turn:
            # The turn is where it is since the others have answered.
            answers = before.hidden.answers
            if not _is_open(past, entry, answers):
                raise Refusal("not-a-case", problem="the answers before it are still sealed")
    hidden = _hidden(edition_of(before.charter), before, disputed, answers)
    exact = _exact(before, hidden)
    asked = next(one for one in THRONES.decisions(exact) if one.player == act.house)
    found = [fact for fact in disputed if fact.audience is None and not isinstance(fact, BESIDES)]
    case = with_(
        bare,
        edition=exact.charter.edition,
        exact=exact,
        steps=(_step(act, exact, asked.default),),
        rules=asked.rules,
        note=f"{bare.note} ({FACE_DOWN})",
    )
    return case, tuple(_pattern(fact) for fact in found or [act.taken])


def _act(disputed: Sequence[Fact]) -> Act:
    for number, fact in enumerate(disputed):
        if isinstance(fact, Answered) and fact.how in ("given", "default"):
            return Act(fact.answer.player, fact.answer, fact.how, fact, opens=False)
        if isinstance(fact, AnswerTaken) and fact.how in ("given", "default"):
            sealed = disputed[number + 1]
            assert isinstance(sealed, AnswerSealed)
            opens = any(isinstance(later, AnswersOpened) for later in disputed[number:])
            return Act(fact.player, sealed.answer, fact.how, fact, opens)
    raise Refusal("not-a-case", problem="nobody had answered anything there")


def _step(act: Act, exact: State, default: Any) -> Step:
    """What was done, as a line of the notation where that says all of it."""
    if act.how == "default" and (act.answer == default or not act.opens):
        return Step(deadline=act.house)
    text = format_answer(act.answer, with_house=True)
    try:
        is_read = read_answer(exact, text) == act.answer
    except CaseError:
        is_read = False
    return Step(do=text if is_read else msgspec.to_builtins(act.answer))


def _is_open(past: Past, entry: int, answers: dict[HouseId, Any]) -> bool:
    """Whether secret answers of an entry have left their envelopes since: these ones, and no later ones."""
    if past.state(past.version).is_disclosed:
        return True
    for number in range(entry + 1, past.version + 1):
        state: State = past.state(number - 1)
        for fact in past.facts(number):
            if isinstance(fact, AnswersOpened):
                return all(state.hidden.answers.get(house) == answer for house, answer in answers.items())
            if isinstance(fact, AnswerSealed) and fact.player in answers:
                return False
            state = evolve(state, fact)
    return False


def _exact(before: State, hidden: Hidden) -> State:
    """The position without what is no part of it: who sits where, the arbiter's book, chance."""
    charter = before.charter
    return with_(
        before,
        charter=Charter(
            charter.edition,
            charter.houses,
            charter.switches,
            chance="imposed",
            variations=charter.variations,
            tables=charter.tables,
        ),
        docket=Docket(),
        hidden=hidden,
    )


def _hidden(edition: Edition, before: State, disputed: Sequence[Fact], answers: dict[HouseId, Any]) -> Hidden:
    """The hidden part as far as the ruling has shown it; the rest is canonical.

    Of the true one it reads only what everybody can tell: which decks there are, who has drawn or seen a card.
    """
    true = before.hidden
    memory = Memory(None)
    memory.read([f.HiddenStated(hidden=true)])
    there = memory.places
    shuffled: dict[Deck, list[tuple[tuple[int, ...], tuple[CardId, ...]]]] = {}
    for fact in disputed:
        memory.read([fact])
        if isinstance(fact, f.DeckShuffled):
            pile = memory.places.decks[fact.deck], fact.cards
            shuffled.setdefault(fact.deck, []).append(pile)
    known = {deck: memory.named(numbers) for deck, numbers in there.decks.items()}
    turned = on_the_table(edition, before)
    if turned is not None:
        known["wildling"] = (turned, *known["wildling"][1:])
    decks = {deck: laid(pool_of(edition, before, deck), known[deck]) for deck in sorted(there.decks) if deck != "tides"}
    holders = sorted(there.drawn)
    tides: tuple[CardId, ...] = ()
    if "tides" in there.decks:
        drawn = memory.named(there.drawn[house] for house in holders)
        tides = laid(edition.tides_deck, (*drawn, *known["tides"]))
        decks["tides"] = tides[len(holders) : len(holders) + len(known["tides"])]
    return Hidden(
        decks=decks,
        answers=answers,
        seen=dict.fromkeys(sorted(true.seen), decks.get("wildling", ("",))[0]),
        tides=dict(zip(holders, tides, strict=False)),
        stated={
            deck: tuple(laid(cards, memory.named(numbers)) for numbers, cards in piles)
            for deck, piles in sorted(shuffled.items())
        },
    )
