"""One answer of 128 bytes stops everything: commands that are small to send, and large to think about.

Every kind of command and every kind of options, from the types: each number, text, key, list and depth is swollen, one
at a time. Nothing that is decoded holds it, and where it gets past decoding, no check and no ruling works in proportion
to it. docs/design.md, "Bounds of a command".
"""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any, get_args

import msgspec
import pytest
from msgspec import inspect

from api.games.thrones.cases.cases import lexicon_of
from domain.kernel.arbiter import Correct
from domain.kernel.bounds import bounded, briefly
from domain.kernel.commands import StateDraws
from domain.kernel.decision import Answer, Decision, Options, options_of
from domain.kernel.game import MOST_STATED
from domain.kernel.refusal import Refusal
from domain.kernel.ruleset import EndlessRuling
from domain.thrones.language import answers as c
from domain.thrones.language import kinds
from domain.thrones.language.facts import STATABLE
from domain.thrones.language.start import Start
from domain.thrones.language.state import Hidden, State
from domain.thrones.notation import NotationError, parse, split_letter
from domain.thrones.notation.kinds import USAGE
from domain.thrones.rules.armies import minimal_reductions
from domain.thrones.ruleset import THRONES
from domain.thrones.spelling.scan import scan
from domain.thrones.tables.charter import Charter
from domain.thrones.tables.editions.second import SECOND_EDITION
from events.codec import BOUNDED_SINCE, is_shallow
from events.envelope import submission
from events.errors import BadCommand
from events.ruling import Judge, Line
from events.store import Store
from events.upcasters import UPCASTERS, VERSION
from tests.api.test_moments import GAME, Table
from tests.domain.thrones.games import play, spec, spec_of_variations
from tests.domain.thrones.swelling import MANY, hollow, sample, steps, swollen
from tests.recording import new_game, store, submit

__all__ = ["store"]

KINDS: tuple[type[msgspec.Struct], ...] = get_args(THRONES.command_type)
OPTIONS = options_of("domain.thrones")
FIRST = (*map(spec, (0, 57, 19, 52, 47)), *map(spec_of_variations, (53, 51, 14, 10, 43, 56)))
"""Few and quick games in which nearly every kind of decision is met."""

MORE = tuple(game for number in range(60) for game in (spec(number), spec_of_variations(number)))
"""Games that are played where the rules have changed since, until everything has come up again."""

RARE = ("retreat-losses", "mace-footman", "loras-footman")
"""Asked too seldom to be waited for; the answers are chosen from units, and of words, as many others are."""

MOST_STEPS = 25_000
"""More than any honest check takes, and fewer than there are members in a swollen list."""

MOST_BYTES = 4_000_000
"""More than any honest check builds, and less than the swollen thing itself where it is built once more."""

FACTS: Any = tuple[THRONES.fact_type, ...]

MOST_READ = 1_500_000
"""What it takes to part five hundred words in every way; there are no more in an answer."""

decoder = msgspec.json.Decoder(bounded(THRONES.command_type))


@cache
def met() -> dict[tuple[str, str], tuple[State, Decision[Any], Answer]]:
    """By kind of answer and of options: a position, what is asked there, and a legal answer that says most."""
    found: dict[tuple[str, str], tuple[State, Decision[Any], Answer]] = {}
    for game in (*FIRST, *MORE):
        if {type(one.options) for _, one, _ in found.values()} == {*OPTIONS} and not missing(found):
            break
        for entry in play(game):
            for one in entry.owed:
                key = (getattr(one.default, "ability", one.kind), type(one.options).__name__)
                for answer in (one.default, entry.command, one.sample(lambda many: many // 2)):
                    if not isinstance(answer, Answer) or (answer.kind, answer.player) != (one.kind, one.player):
                        continue
                    if key not in found or _length(answer) > _length(found[key][2]):
                        found[key] = entry.before, one, answer
    return found


def missing(found: Iterable[tuple[str, str]]) -> set[str]:
    """Kinds of decision that have not come up."""
    return {*kinds.KINDS, *c.ALL_ABILITIES} - {kind for kind, _ in found} - {"card-ability", *RARE}


def _length(answer: Answer) -> int:
    return len(msgspec.json.encode(answer))


def forms(answer: Any) -> Iterator[tuple[str, Any]]:
    return swollen(answer, inspect.type_info(type(answer)))


class Blank:
    """A record before its first entry."""

    version = 0

    def state(self, entry: int) -> Any:
        return State()

    def facts(self, entry: int) -> tuple[Any, ...]:
        return ()


def outcome(state: State, command: Any) -> Any:
    """What is ruled on a command: facts, or why not. Anything else is our mistake."""
    try:
        return THRONES.decide(state, command)
    except Refusal as refusal:
        return briefly(refusal)


# The first wall: nothing swollen is decoded


def test_games_meet_every_kind_of_decision_and_every_kind_of_options() -> None:
    assert {type(one.options) for _, one, _ in met().values()} == {*OPTIONS}
    assert not missing(met())


@pytest.mark.parametrize("kind", KINDS, ids=[str(kind.__struct_config__.tag) for kind in KINDS])
def test_nothing_swollen_is_decoded(kind: type[msgspec.Struct]) -> None:
    honest = sample(inspect.type_info(kind))
    decoder.decode(msgspec.json.encode(honest))
    passed = []
    for place, command in forms(honest):
        try:
            decoder.decode(msgspec.json.encode(command))
        except msgspec.ValidationError:
            continue
        passed.append(place)
    assert not passed


def test_every_legal_answer_is_decoded() -> None:
    for _, _, answer in met().values():
        decoder.decode(msgspec.json.encode(answer))


def test_how_deep_a_command_is_nested_does_not_depend_on_who_reads_it() -> None:
    for depth, shallow in ((90, True), (120, False)):
        assert is_shallow(b'{"kind":' + b"[" * depth + b"]" * depth + b"}") is shallow
    assert is_shallow(json.dumps({"a": "[" * 1000 + '"' + "{" * 1000}).encode()), "brackets in a text are no depth"


def test_what_nobody_knows_is_no_part_of_a_command() -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        decoder.decode(b'{"kind":"wildling-bid","house":"stark","bid":1,"more":[[[[[[]]]]]]}')


ATTACK = (
    b'{"kind":"crow-killers-degrade","house":"lannister","replaced":{"harrenhal":{"knight":1000000000000000}},'
    b'"destroyed":{}}'
)
DEEP = b'{"kind":"rewind","to":1,"reason":"x","correction":[{"a":' + b"[" * 500 + b"]" * 500 + b"}]}"


@pytest.mark.parametrize("raw", [ATTACK, DEEP], ids=["wide", "deep"])
def test_a_swollen_command_is_told_at_the_edge_with_its_place(raw: bytes) -> None:
    table = Table()
    answer = asyncio.run(table.client.post(f"/v1/games/{GAME}/commands", table.tokens["alice"], raw))
    assert (answer.status, answer.json()["code"]) == (422, "wrong-shape")
    assert answer.json()["params"]["at"].startswith("$."), "the place of what is too large"


def test_the_store_takes_nothing_that_is_nested_too_deeply(store: Store) -> None:
    new_game(store)
    with pytest.raises(BadCommand, match="nested"):
        submit(store, msgspec.Raw(DEEP), "seat-1")


@pytest.mark.parametrize("version", sorted({VERSION, BOUNDED_SINCE}))
def test_the_worker_rules_on_a_swollen_command_once(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As unreadable where commands have bounds, by the rules where they had none; the game goes on in either case."""
    monkeypatch.setattr(UPCASTERS, "current", max(VERSION, version))
    state, asked, _ = met()["crow-killers-degrade", "Degrades"]
    judge = Judge(THRONES)
    raw = ATTACK.replace(b"lannister", asked.player.encode())
    sent = submission(msgspec.Raw(raw), seat=None, cause="arbiter", at="2025-01-01T12:00:00.000000Z")
    sent = msgspec.structs.replace(sent, v=version, inbox="8-0")
    _, (stored, line, _) = steps(lambda: judge.rule(Line(state, version=7), sent, bytes(32)), 10 * MOST_STEPS)
    assert line.version == 8 and line.state == state
    assert len(stored.public) < 4_000, "the refusal does not say all of it back"


def test_a_refusal_says_back_what_a_reader_can_use() -> None:
    told = briefly(Refusal("x", one="y" * 10**6, two=[1] * 10**6, three={str(n): n for n in range(10**5)}, four=10**40))
    assert len(msgspec.json.encode(told.params)) < 40_000
    kept = {"text": "short", "many": [1, {"a": 2}], "no": None, "yes": True}
    assert briefly(Refusal("x", **kept)).params == kept


# The second wall: nothing is built before bounds are checked


@pytest.mark.parametrize("kind", OPTIONS, ids=[kind.__name__ for kind in OPTIONS])
def test_no_check_works_in_proportion_to_what_is_swollen(kind: type[Options[Any]]) -> None:
    for state, decision, answer in met().values():
        if type(decision.options) is not kind:
            continue
        for place, other in forms(answer):
            for check in (decision.options.check, decision.options.check_draft):
                _, peak = steps(lambda check=check, other=other: _tried(check, other), MOST_STEPS)  # type: ignore[misc]
                assert peak < MOST_BYTES, f"{place} of {answer.kind}: {peak} bytes"
        assert state.houses


def _tried(check: Any, answer: Any) -> int:
    """The memory that a check takes at most."""
    tracemalloc.start()
    try:
        check(answer)
    except Refusal:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return peak


@pytest.mark.parametrize("name", sorted(missing(())))
def test_no_ruling_works_more_than_once_through_what_is_swollen(name: str) -> None:
    """Names are looked at one after the other until one is not known, and no longer."""
    for (key, _), (state, _, answer) in met().items():
        if key != name:
            continue
        honest, _ = steps(lambda state=state, answer=answer: outcome(state, answer), 10**7)  # type: ignore[misc]
        for place, other in forms(answer):
            most = honest + MOST_STEPS + (30 * MANY if place.endswith(" many") else 0)
            _, found = steps(lambda state=state, other=other: outcome(state, other), most)  # type: ignore[misc]
            if isinstance(found, Refusal):
                assert len(json.dumps(found.params, default=str)) < 100_000, place


def test_what_is_hollow_or_counts_nothing_is_ruled_on_too() -> None:
    """Nothing but a ruling comes of an answer that says nothing where something belongs."""
    for state, _, answer in met().values():
        for other in hollow(answer, inspect.type_info(type(answer))):
            found = outcome(state, other)
            if not isinstance(found, Refusal):
                folded = state
                for fact in msgspec.json.decode(msgspec.json.encode(found.facts), type=FACTS):
                    folded = THRONES.evolve(folded, fact)
                assert folded == found.state


def test_a_stated_fact_is_not_worked_on_unit_by_unit() -> None:
    """Units are routed, stood up and counted by numbers, however many an arbiter states."""
    state = next(iter(met().values()))[0]
    for kind in STATABLE:
        honest = msgspec.structs.replace(sample(inspect.type_info(kind)), rules=())
        for _, fact in forms(honest):
            raw = msgspec.json.decode(msgspec.json.encode(fact))
            steps(lambda raw=raw: _corrected(state, raw), 60 * MANY)  # type: ignore[misc]
    many = {"footman": 10**15}
    placed = {"fact": "UnitsPlaced", "house": "stark", "area": "moat-cailin", "units": many}
    moved = {"fact": "UnitsMoved", "house": "stark", "area": "moat-cailin", "to": "white-harbor", "units": many}
    for facts in ((placed,), (placed, {**moved, "routed": True}), (placed, moved)):
        steps(lambda facts=facts: _corrected(state, *facts), MOST_STEPS)  # type: ignore[misc]


@pytest.mark.parametrize(
    "tables",
    [
        {"/areas/0": {"id": []}, "/areas/1/castle": 1},
        {"/players/0/neutral_forces": {"strength": "impassable"}},
        {f"/areas/{'9' * 90}": 1},
    ],
)
def test_own_tables_are_refused_and_break_nothing(tables: dict[str, Any]) -> None:
    houses = tuple(sorted(SECOND_EDITION.players(3).houses))
    command = Start(charter=Charter("second-edition", houses, tables=tables), seed="5e" * 32)
    assert isinstance(outcome(State(), command), Refusal)


@pytest.mark.parametrize(("ids", "problem"), [(["x" * 101], "characters"), ([f"a{n}" for n in range(200)], "areas")])
def test_own_tables_make_no_board_that_is_larger_than_an_answer(ids: list[str], problem: str) -> None:
    """Else there would be legal answers that nobody can send."""
    houses = tuple(sorted(SECOND_EDITION.players(3).houses))
    land = next(area for area in SECOND_EDITION.tables.areas if area.kind == "land" and not area.home)
    written = msgspec.to_builtins(SECOND_EDITION.tables.areas)
    areas = [*written, *({**msgspec.to_builtins(land), "id": one} for one in ids)]
    command = Start(charter=Charter("second-edition", houses, tables={"/areas": areas}), seed="5e" * 32)
    refused = outcome(State(), command)
    assert isinstance(refused, Refusal) and problem in refused.params["problem"]


def test_shuffles_are_stated_ahead_up_to_a_limit() -> None:
    stated = {"tides": (("x",),) * MOST_STATED}
    charter = Charter("second-edition", tuple(sorted(SECOND_EDITION.players(3).houses)), chance="imposed")
    state = State(charter=charter, hidden=Hidden(stated=stated))
    refused = outcome(state, StateDraws(deck="tides", cards=("x",)))
    assert isinstance(refused, Refusal) and refused.code == "too-many-draws"


def test_rules_that_go_round_in_circles_end() -> None:
    with pytest.raises(EndlessRuling):
        list(minimal_reductions([3] * 40, ()))


def _corrected(state: State, *facts: dict[str, Any]) -> None:
    try:
        THRONES.decide(state, Correct(facts=facts, reason="slip", unseen=True), Blank())
    except Refusal as refusal:
        briefly(refusal)


LETTERS = (
    "\n" * 16_000,
    "x wrote:\n" * 1_600,
    " \n" * 8_000,
    ("march a,\n" * 1_700),
    "game:" + " " * 16_000 + "x",
    "> " * 8_000,
)
"""Letters that say nothing in many lines, or in one that can be parted in many ways."""

FILLERS = ("a ", "2 knight ", "999 knight ", "winterfell: ", "winterfell -> ", "a@b ", "1f1k", "; ", "to ", "the ")
"""What may go on and on behind the beginning of an answer."""


def test_a_letter_is_split_in_so_many_steps() -> None:
    for letter in LETTERS:
        steps(lambda letter=letter: split_letter(letter), 30 * len(letter))  # type: ignore[misc]


@pytest.mark.parametrize("kind", USAGE)
def test_an_answer_is_read_in_so_many_steps(kind: str) -> None:
    """The longest that is read at all, and the longest with as many words as are read."""
    words = lexicon_of(SECOND_EDITION)
    for filler in FILLERS:
        tokens = len(scan(filler)[0])
        for times in (3_900 // len(filler), 490 // tokens):
            text = f"{USAGE[kind].split()[0]} {(filler * times)[:3_900]}"
            steps(lambda text=text: _read(text, words), MOST_READ)  # type: ignore[misc]


def _read(text: str, words: Any) -> None:
    with suppress(NotationError):
        parse(text, house="stark", lexicon=words)
