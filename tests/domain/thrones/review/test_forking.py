"""Forks: they go on exactly where they begin, and begin with no more than their maker could know."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from itertools import takewhile
from typing import Any

import msgspec
import pytest

from domain.kernel.commands import PassDeadline, StateDraws
from domain.kernel.docket import Appeal, Docket, Doubt, Forked, Given, Origin, Rewound
from domain.kernel.facts import AnswersOpened, Fact, SeedCommitted, SeedOpened, SeedSealed
from domain.kernel.refusal import Refusal
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from domain.thrones.language.evolve import redacted
from domain.thrones.language.start import Start
from domain.thrones.language.state import Hidden, State
from domain.thrones.review.forking import Memory, start_of_fork
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.charter import Charter, Switches
from domain.thrones.tables.editions.second import SECOND_EDITION
from events.envelope import encode
from tests.domain.thrones.games import Entry, play, spec
from tests.domain.thrones.review.rewinds import Book

GAMES = (87, 86, 19, 4, 11, 2)
"""Random games whose questions are of every kind that bots are ever asked, one with orders laid in turn."""

ORIGIN = Origin("winter", 7, "d1" * 32, "to see what happens")
SEED = "f0" * 32
replace = msgspec.structs.replace


class Place(msgspec.Struct, frozen=True):
    """Where a fork begins: the state after an entry of a random game."""

    game: int
    entry: int

    @property
    def state(self) -> State:
        return entries(self.game)[self.entry].ruling.state

    def memory(self, house: str | None) -> Memory:
        memory = Memory(house)
        for entry in entries(self.game)[: self.entry + 1]:
            memory.read(entry.ruling.facts)
        return memory

    def fork(self, house: str | None = None, *, whole: bool = False, seed: str = SEED) -> Start:
        memory = None if whole else self.memory(house)
        return start_of_fork(SECOND_EDITION, self.state, ORIGIN, seats_of(self.state), seed, memory)


@cache
def entries(game: int) -> tuple[Entry, ...]:
    return tuple(play(spec(game)))


def seats_of(state: State) -> dict[str, str]:
    return {house: house for house in state.houses}


def begun(start: Start) -> State:
    return THRONES.decide(THRONES.blank(), start).state


@cache
def places() -> dict[str, Place]:
    """The last place of every kind of question, in the first game that asks it."""
    found: dict[str, Place] = {}
    for game in GAMES:
        new: dict[str, Place] = {}
        for number, entry in enumerate(entries(game)):
            state = entry.ruling.state
            new |= {one.kind: Place(game, number) for one in state.awaited}
            if state.face_down:
                new["assign-orders, in turn"] = Place(game, number)
            if state.hidden.tides:
                new["Tides cards drawn"] = Place(game, number)
        found = {**new, **found}
    return found


def every(number: int) -> Iterator[Place]:
    """Some places of random games, by chance."""
    chance = random.Random(number)
    for game in GAMES:
        for entry in sorted(chance.sample(range(len(entries(game)) - 1), 12)):
            yield Place(game, entry)


def to_the_end(state: State, chance: random.Random) -> State:
    """Play by chance; most deadlines are missed, so that it does not take long."""
    for _ in range(6000):
        owed = THRONES.decisions(state)
        if not owed:
            return state
        decision = chance.choice(owed)
        command: Any = PassDeadline(player=decision.player, question=state.question)
        if chance.random() < 0.3:
            command = replace(decision.sample(chance.randrange), question=state.question)
        ruling = THRONES.decide(state, command)
        folded = state
        for fact in ruling.facts:
            folded = THRONES.evolve(folded, fact)
        assert folded == ruling.state
        state = ruling.state
    raise AssertionError("a game ends")


# Everything as it was


def test_there_are_places_of_nearly_every_kind() -> None:
    assert len(places()) >= 37, sorted(places())


@pytest.mark.parametrize("kind", sorted(places()))
def test_a_fork_with_everything_as_it_was_goes_on_exactly_there(kind: str) -> None:
    place = places()[kind]
    start = place.fork(whole=True)
    fork = begun(start)
    same = {"charter": fork.charter, "docket": fork.docket, "hidden": replace(place.state.hidden, seed=SEED)}
    assert fork == replace(place.state, **same)
    # The same commands get the same rulings until a deck is shuffled: the fork has a seed of its own.
    state, compared = fork, 0
    for entry in entries(place.game)[place.entry + 1 :]:
        ruling = THRONES.decide(state, entry.command)
        ours, theirs = (list(takewhile(not_by_seed, one.facts)) for one in (ruling, entry.ruling))
        assert ours == theirs
        compared += len(ours)
        if len(ours) < len(ruling.facts):
            break
        state = ruling.state
    assert compared > 2


def not_by_seed(fact: Fact) -> bool:
    return not isinstance(fact, f.DeckShuffled | SeedOpened)


def test_the_seed_of_the_origin_is_nowhere_in_a_fork() -> None:
    for number, place in enumerate(every(1)):
        house = random.Random(number).choice(place.state.houses)
        for start in (place.fork(whole=True), place.fork(house)):
            ruling = THRONES.decide(THRONES.blank(), start)
            assert place.state.hidden.seed.encode() not in encode((start, ruling.facts, ruling.state))
            assert next(one for one in ruling.facts if isinstance(one, SeedSealed)).seed == SEED


def test_a_fork_says_what_it_is_in_its_first_facts() -> None:
    place = places()["march"]
    facts = THRONES.decide(THRONES.blank(), place.fork(whole=True)).facts
    assert isinstance(facts[0], f.GameCreated)
    assert facts[1] == Forked(origin=replace(ORIGIN, hidden=True))
    assert isinstance(facts[3], SeedCommitted)
    assert facts[4] == f.PositionStated(
        position=replace(redacted(place.state), charter=facts[0].charter, docket=Docket()),
        reason="that of winter after entry 7, with all that is hidden",
    )
    fork = begun(place.fork("stark"))
    assert fork.docket == Docket(origin=ORIGIN)
    assert THRONES.public(fork).docket.origin == ORIGIN


def test_what_an_arbiter_did_to_the_origin_stays_there() -> None:
    place = places()["march"]
    docket = Docket(
        struck=((3, 5),),
        pending=(Given(3, 0),),
        undecided=(Given(4, 1),),
        anew=("stark",),
        question=place.state.question,
        appeals=(Appeal(1, 2, "stark", "a test"),),
        doubts=(Doubt(1, everything=True),),
    )
    disputed = replace(place.state, docket=docket)
    start = start_of_fork(SECOND_EDITION, disputed, ORIGIN, seats_of(disputed), SEED)
    assert start.position is not None
    assert start.position.docket == Docket()
    fork = begun(start)
    assert fork.docket == Docket(origin=replace(ORIGIN, hidden=True))
    answer = THRONES.decisions(fork)[0].default
    with pytest.raises(Refusal, match="appeal-open"):
        THRONES.decide(disputed, answer)
    assert THRONES.decide(fork, answer).facts, "the fork goes on, and asks for no record of its origin"


def test_chance_of_a_fork() -> None:
    place = places()["march"]
    seats = seats_of(place.state)
    assert place.fork("stark").charter.chance == "seeded"
    chosen = start_of_fork(SECOND_EDITION, place.state, ORIGIN, seats, SEED, is_stated=True)
    assert chosen.charter.chance == "stated"
    imposed = replace(place.state, charter=replace(place.state.charter, chance="imposed"))
    imposed = THRONES.decide(imposed, StateDraws(deck="tides", cards=("tides-3",))).state
    whole = start_of_fork(SECOND_EDITION, imposed, ORIGIN, seats, SEED)
    assert whole.charter.chance == "imposed"
    assert begun(whole).hidden == replace(imposed.hidden, seed="")
    some = start_of_fork(SECOND_EDITION, imposed, ORIGIN, seats, SEED, place.memory("stark"))
    assert (some.charter.chance, begun(some).hidden.stated) == ("seeded", {})


def test_where_nobody_can_go_on_there_is_no_fork() -> None:
    for state, code in ((THRONES.blank(), "not-started"), (entries(87)[-1].ruling.state, "game-over")):
        with pytest.raises(Refusal) as refused:
            start_of_fork(SECOND_EDITION, state, ORIGIN, {}, SEED)
        assert refused.value.code == code


def test_seats_are_checked_like_those_of_any_game() -> None:
    place = places()["march"]
    start = start_of_fork(SECOND_EDITION, place.state, ORIGIN, {"me": "stark"}, SEED)
    with pytest.raises(Refusal) as refused:
        begun(start)
    assert refused.value.code == "seats-do-not-fit"


# On to the end


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(places()))
def test_forks_in_every_kind_of_question_go_on_to_the_end(kind: str) -> None:
    place = places()[kind]
    chance = random.Random(kind)
    decider = place.state.awaited[0].player
    other = chance.choice([house for house in place.state.houses if house != decider])
    for start in (place.fork(whole=True), place.fork(decider), place.fork(other), place.fork(None)):
        fork = begun(start)
        assert len(fork.awaited) > 0
        assert to_the_end(fork, chance).winner


def test_a_fork_of_a_fork_knows_the_wildling_card_on_the_table() -> None:
    for kind in ("destroy-units", "king-beyond-lower", "crow-killers-degrade"):
        first = places()[kind].fork("stark" if "stark" in places()[kind].state.houses else None)
        ruling = THRONES.decide(THRONES.blank(), first)
        memory = Memory(None)
        memory.read(ruling.facts)
        seats = seats_of(ruling.state)
        again = begun(start_of_fork(SECOND_EDITION, ruling.state, ORIGIN, seats, "0a" * 32, memory))
        assert again.hidden.decks["wildling"][0] == ruling.state.hidden.decks["wildling"][0]
        assert again.hidden.decks["wildling"] != ruling.state.hidden.decks["wildling"]


# What a House knows


@pytest.mark.parametrize("game", GAMES)
def test_what_is_remembered_is_true_and_what_lies_in_the_decks_is_public(game: int) -> None:
    houses = (None, *entries(game)[0].ruling.state.houses)
    memories = [Memory(house) for house in houses]
    for number, entry in enumerate(entries(game)):
        hidden = entry.ruling.state.hidden
        for memory in memories:
            memory.read(entry.ruling.facts)
            for deck, cards in hidden.decks.items():
                told = memory.deck(deck)
                assert len(told) == len(cards)
                assert all(known in (None, card) for known, card in zip(told, cards, strict=True))
            for house, card in hidden.tides.items():
                assert memory.drawn(house) == (card if house == memory.house else None)
        if number % 20 == 0 and not entry.ruling.state.is_over:
            fork = begun(Place(game, number).fork(houses[number % len(houses)])).hidden
            assert sorted(fork.decks) == sorted(hidden.decks)
            for deck, cards in hidden.decks.items():
                assert len(fork.decks[deck]) == len(cards)
                if deck != "tides":
                    assert sorted(fork.decks[deck]) == sorted(cards)


def look(number: int, choice: str) -> tuple[tuple[Entry, ...], int]:
    """A random game up to the entry at which a wildling card was looked at and put back there."""
    for entry, one in enumerate(entries(number)):
        if any(fact == f.WildlingCardReturned(to=choice, rules=fact.rules) for fact in one.ruling.facts):  # type: ignore[arg-type]  # top or bottom
            return entries(number), entry
    raise AssertionError(f"nobody put a card to the {choice} in game {number}")


@pytest.mark.parametrize(("choice", "index"), [("top", 0), ("bottom", -1)])
def test_who_looked_at_a_wildling_card_keeps_knowing_where_it_lies(choice: str, index: int) -> None:
    game = next(number for number in range(120) if _looks(number, choice))
    _, entry = look(game, choice)
    place = Place(game, entry)
    answer = entries(game)[entry].command
    assert isinstance(answer, c.RavenCard | PassDeadline)
    card = place.state.hidden.decks["wildling"][index]
    seeds = [f"{number:064x}" for number in range(1, 30)]
    for house in place.state.houses:
        found = {place.fork(house, seed=seed).hidden.decks["wildling"][index] for seed in seeds}  # type: ignore[union-attr]  # a fork has a hidden part
        assert (found == {card}) == (house == answer.player)


def _looks(number: int, choice: str) -> bool:
    try:
        look(number, choice)
    except AssertionError:
        return False
    return True


def test_everybody_knows_where_used_wildling_cards_lie() -> None:
    place = Place(87, len(entries(87)) - 2)
    known = place.memory(None).deck("wildling")
    assert sum(card is not None for card in known) > 2
    forks = [place.fork(None, seed=f"{number:064x}").hidden for number in range(1, 20)]
    decks = {fork.decks["wildling"] for fork in forks if fork}
    assert all(card is None or {deck[at] for deck in decks} == {card} for at, card in enumerate(known))
    assert len(decks) > 1


def test_its_own_sealed_answer_stays_and_others_are_asked_again() -> None:
    checked = 0
    for place in every(2):
        answers = place.state.hidden.answers
        for house in place.state.houses:
            fork = begun(place.fork(house))
            asked = {one.player for one in fork.awaited}
            forced = {one.player for one in THRONES.decisions(fork, replaceable=True) if one.forced is not None}
            for one, answer in answers.items():
                if one == house or one in forced:
                    assert fork.hidden.answers[one] == answer
                else:
                    assert one in asked or fork.face_down.keys() <= place.state.face_down.keys()
                    assert one not in fork.hidden.answers
            checked += len(answers)
    assert checked > 50


def test_tokens_that_lie_face_down_are_laid_again_unless_they_are_ones_own() -> None:
    place = places()["assign-orders, in turn"]
    laid = set(place.state.face_down.values())
    for house in place.state.houses:
        fork = begun(place.fork(house))
        assert set(fork.face_down.values()) == laid & {house}
        first = next(one for one in fork.turn_order if one != house or house not in laid)
        assert [one.player for one in fork.awaited] == [first]
        ended = to_the_end(fork, random.Random(1))
        assert ended.is_over
    assert begun(place.fork(whole=True)).face_down == place.state.face_down


def test_an_unrevealed_tides_card_of_the_other_side_is_drawn_anew() -> None:
    place = places()["Tides cards drawn"]
    drawn = place.state.hidden.tides
    seeds = [f"{number:064x}" for number in range(1, 40)]
    for house in place.state.houses:
        forks = [begun(place.fork(house, seed=seed)).hidden for seed in seeds]
        for one, card in drawn.items():
            found = {fork.tides[one] for fork in forks}
            assert found == {card} if one == house else len(found) > 1
        for fork in forks:
            assert sorted((*fork.tides.values(), *fork.decks["tides"])) == sorted(SECOND_EDITION.tides_deck)
    assert begun(place.fork(whole=True)).hidden.tides == drawn


def test_a_card_somebody_else_is_looking_at_is_the_top_of_the_new_deck() -> None:
    place = places()["raven-card"]
    (holder,) = place.state.hidden.seen
    for house in place.state.houses:
        hidden = begun(place.fork(house)).hidden
        assert hidden.seen == {holder: hidden.decks["wildling"][0]}
        assert (hidden.seen == place.state.hidden.seen) or house != holder


def secrets_of_others(place: Place, house: str | None, chance: random.Random) -> State:
    """The same position for that House, with everything else that is hidden changed as far as it can be."""
    state, memory = place.state, place.memory(house)
    hidden = state.hidden
    decks = {}
    for deck, cards in hidden.decks.items():
        known = memory.deck(deck)
        if deck == "wildling" and any(frame["procedure"] in WILDLING_CARDS for frame in state.frames):
            known = (cards[0], *known[1:])
        fresh = [card for card, one in zip(cards, known, strict=True) if one is None]
        chance.shuffle(fresh)
        decks[deck] = tuple(one if one is not None else fresh.pop() for one in known)
    questions = {one.player: one for one in THRONES.decisions(state, replaceable=True)}
    answers = {
        one: answer if one == house or one not in questions else questions[one].sample(chance.randrange)
        for one, answer in hidden.answers.items()
    }
    tides = {
        one: card if one == house else chance.choice(SECOND_EDITION.tides_deck) for one, card in hidden.tides.items()
    }
    other = Hidden(
        seed=f"{chance.getrandbits(256):064x}",
        decks=decks,
        answers=answers,
        drafts={one: draft for one, draft in hidden.drafts.items() if one == house},
        seen={one: card if one == house else "somebody-saw-this" for one, card in hidden.seen.items()},
        tides=tides,
        stated={"tides": (("tides-3",),)},
    )
    return replace(state, hidden=other)


WILDLING_CARDS = {one.__struct_config__.tag for one in SECOND_EDITION.wildling_procedures.values()}


@pytest.mark.slow
def test_a_fork_of_a_house_does_not_depend_on_what_that_house_cannot_know() -> None:
    chance = random.Random(3)
    compared = changed = 0
    for place in (*every(3), *places().values()):
        for house in (None, *place.state.houses):
            other = secrets_of_others(place, house, chance)
            memory = place.memory(house)
            starts = [
                start_of_fork(SECOND_EDITION, state, ORIGIN, seats_of(state), SEED, memory)
                for state in (place.state, other)
            ]
            compared += 1
            changed += other.hidden.decks != place.state.hidden.decks
            assert encode(starts[0]) == encode(starts[1])
            assert encode(THRONES.decide(THRONES.blank(), starts[0]).facts) == encode(
                THRONES.decide(THRONES.blank(), starts[1]).facts
            )
    assert changed > compared / 2


# On lines that were struck out


def test_what_was_learned_on_a_struck_out_line_is_not_forgotten() -> None:
    """Westeros cards that were drawn lie again on their decks, and everybody knows them."""
    game = 87
    drawn = next(
        number
        for number, entry in enumerate(entries(game))
        if any(isinstance(fact, f.WesterosCardDrawn) for fact in entry.ruling.facts)
    )
    before = Place(game, drawn - 1)
    memory = Memory(None)
    for entry in entries(game)[: drawn + 1]:
        memory.read(entry.ruling.facts)
    back: tuple[Fact, ...] = (
        Rewound(to=drawn, first=drawn + 1, last=drawn + 1, reason="a mistake"),
        f.PositionStated(position=redacted(before.state), reason="a mistake"),
        f.HiddenStated(hidden=before.state.hidden),
    )
    cards: dict[str, str] = {}
    shuffled: set[str] = set()
    for fact in entries(game)[drawn].ruling.facts:
        if isinstance(fact, f.WesterosCardDrawn):
            cards.setdefault(fact.deck, fact.card)
        if isinstance(fact, f.DeckShuffled):
            shuffled.add(fact.deck)
    memory.read(back)
    assert {deck: memory.deck(deck)[0] for deck in cards} == cards
    start = start_of_fork(SECOND_EDITION, before.state, ORIGIN, seats_of(before.state), SEED, memory)
    assert start.hidden is not None
    assert {deck: start.hidden.decks[deck][0] for deck in cards} == cards
    memory.read((Rewound(to=drawn, first=1, last=1, reason="", redrawn=True), *back[1:]))
    memory.read(f.DeckRedrawn(deck=deck, cards=before.state.hidden.decks[deck]) for deck in cards)
    assert {memory.deck(deck)[0] for deck in cards} == {None}


@pytest.mark.slow
@pytest.mark.parametrize("number", range(4))
def test_what_is_remembered_is_true_across_rewinds(number: int) -> None:
    """Random games of some rounds, taken back again and again, also under new seeds; each place can be forked."""
    chance = random.Random(f"memory/{number}")
    book = Book()
    charter = replace(spec(number).charter, switches=Switches(tides_of_battle="on"), seats={})
    book.take(Start(charter=charter, seed=SEED))
    memories = [Memory(house) for house in (None, *book.now.houses)]
    read = westeros = 0
    for turn in range(60):
        book.go_on(turn, most=chance.randrange(1, 40))
        if book.now.is_over:
            break
        back = chance.randrange(max(1, book.version - 60), book.version)
        book.rewind(back, seed=f"{chance.getrandbits(256):064x}" if chance.random() < 0.3 else "", causal=False)
        for entry in range(read + 1, book.version + 1):
            for memory in memories:
                memory.read(book.facts(entry))
        read = book.version
        hidden = book.now.hidden
        for memory in memories:
            for deck, cards in hidden.decks.items():
                told = memory.deck(deck)
                assert len(told) == len(cards)
                assert all(known in (None, card) for known, card in zip(told, cards, strict=True)), deck
                westeros += deck.startswith("westeros") and any(told)
            assert all(memory.drawn(house) in (None, card) for house, card in hidden.tides.items())
            start = start_of_fork(SECOND_EDITION, book.now, ORIGIN, seats_of(book.now), SEED, memory)
            fork = begun(start)
            assert fork.hidden.former == ()
            assert (fork.frames, fork.question) == (book.now.frames, book.now.question) or hidden.answers
            if memory.house in hidden.seen:
                assert fork.hidden.seen[memory.house] == hidden.seen[memory.house]
            if memory.house in hidden.tides:
                assert fork.hidden.tides[memory.house] == hidden.tides[memory.house]
        whole = begun(start_of_fork(SECOND_EDITION, book.now, ORIGIN, seats_of(book.now), "0c" * 32))
        assert whole.hidden == replace(hidden, seed="0c" * 32, former=())
    assert westeros


def test_a_redraw_leaves_the_wildling_card_on_the_table() -> None:
    for kind in ("destroy-units", "king-beyond-lower", "crow-killers-degrade"):
        place = places()[kind]
        book = Book()
        book.take(place.fork(whole=True))
        top = book.now.hidden.decks["wildling"][0]
        book.take(PassDeadline(player=book.now.awaited[0].player, question=book.now.question))
        book.rewind(1, seed="0d" * 32, causal=False)
        assert book.now.awaited == book.states[1].awaited
        assert book.now.hidden.decks["wildling"][0] == top
        assert begun(place.fork(whole=True)).docket.origin == book.now.docket.origin


def test_the_helpers_see_secrets_open() -> None:
    """The games used here do open sealed answers, draw Westeros cards, and look at wildling cards."""
    kinds = {type(fact) for game in GAMES for entry in entries(game) for fact in entry.ruling.facts}
    assert {AnswersOpened, f.WesterosCardDrawn, f.WildlingCardSeen, f.TidesCardDrawn, f.WildlingCardBuried} <= kinds
    assert Charter("second-edition", ()).chance == "seeded"
