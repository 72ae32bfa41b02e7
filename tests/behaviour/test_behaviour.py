"""The pin of behaviour: fresh, moved by what is ruled otherwise, and by nothing else."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
import pytest

from domain.kernel.agreed import Arbitration
from domain.kernel.facts import Awaiting
from domain.thrones.ruleset import THRONES, Thrones
from domain.thrones.tables.behaviour import BEHAVIOUR, Behaviour, digest, parts, pin, words_agreed
from domain.thrones.tables.charter import Charter, Switches, Variations
from domain.thrones.tables.variations import PRESETS
from tests.behaviour.pins import (
    PINS,
    UNREACHED,
    Recorded,
    agreed_by,
    behaviour,
    canonical,
    every_word,
    first_difference,
    read_corpus,
    rulings,
    values_of,
    words_for,
    written,
)
from tests.behaviour.tables import SCRIPTS
from tests.sizes import ALL

CORPUS = read_corpus()
BOARD = {one.encode_name for of in (Variations, Switches) for one in msgspec.structs.fields(of)}


@cache
def small(preset: str, word: str) -> Recorded:
    return next(game for game in CORPUS if (game.preset, game.word) == (preset, word))


@pytest.mark.slow
def test_the_generated_file_is_fresh() -> None:
    """When this fails, a ruling or a value has changed. Run ``make pins``, and tell players which games it touches."""
    assert PINS.read_bytes() == written(behaviour(CORPUS))


def test_there_is_a_pin_and_a_game_for_every_word_of_every_preset() -> None:
    wanted = {(name, word) for name, preset in PRESETS.items() for word in ("", *words_for(preset))}
    assert {(game.preset, game.word) for game in CORPUS} == wanted
    assert {(name, word) for name, words in BEHAVIOUR.words.items() for word in ("", *words)} == wanted
    pins = set()
    for name, word in wanted:
        charter = agreed_by(PRESETS[name], word)
        assert None not in parts(charter).values()
        pins.add(pin(charter))
    before_the_game = len(PRESETS)  # a joint seed is made before there is a charter, and is part of ENGINE alone
    assert len(pins) == len(wanted) - before_the_game, "each word has a pin of its own"


def test_every_field_of_a_charter_is_pinned_or_says_why_not() -> None:
    """A field, or a word, that is new needs digests; or it stands here, and what it is has no part in a ruling."""
    pinned = {"edition", "switches", "variations", "arbitration", "chance", "shared", "tables"}
    not_pinned = {
        "houses": "the games of a preset are played with every number of Houses",
        "seats": "who plays which House is nothing that rules read",
        "engine": "it is the pin",
        "assumed": "it is told to players, and no rule reads it",
    }
    assert pinned | set(not_pinned) == set(Charter.__struct_fields__)
    names = {one.encode_name for of in (Variations, Switches, Arbitration) for one in msgspec.structs.fields(of)}
    assert set(every_word()) == set(words_agreed(Charter("second-edition", ()))) == names | {"chance", "seed"}


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_the_game_of_a_word_comes_to_where_the_word_matters(preset: str) -> None:
    """By the preset's own word the same is ruled otherwise; where it is not, :data:`UNREACHED` says why.

    Words of the board take their games' whole length to look at: that is done with ``make test-all``.
    """
    tried = {one for one in words_for(PRESETS[preset]) if ALL or one.partition("=")[0] not in BOARD}
    idle = {one.word for one in CORPUS if one.preset == preset and one.word in tried and first_difference(one) is None}
    assert idle == {word for word, (presets, reason) in UNREACHED.items() if preset in presets and reason} & tried


def test_a_number_is_part_of_a_pin() -> None:
    def of(**said: int) -> str:
        return pin(Charter("second-edition", (), arbitration=Arbitration(**said)))

    assert len({of(), of(appeals_open=2), of(appeals_open=4), of(appeals_lost=2), of(appeal_window=2)}) == 5
    assert of(appeals_open=3) == of(), "the usual number"


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_every_way_of_seeding_is_in_the_corpus(preset: str) -> None:
    games = [one for one in CORPUS if one.preset == preset and one.word in ("", *SCRIPTS) and len(one.commands) < 200]
    facts = [fact for one in games for said in rulings(one) for fact in said.get("facts", ())]
    told = {fact["fact"] for fact in facts}
    assert told >= {"DeckRedrawn", "DrawsStated", "SeedOpened", "ShareOpened", "ShareWithheld", "SharedSeedAwaited"}
    occasions = {fact["occasion"] for fact in facts if fact["fact"] == "DeckShuffled"}
    assert "imposed" in occasions and {one.split("/")[1].split("-")[0] for one in occasions if "/" in one} == {
        "set",
        "round",
    }


def test_own_values_are_part_of_a_pin_and_seats_are_not() -> None:
    plain = Charter("second-edition", ())
    assert pin(plain) == pin(msgspec.structs.replace(plain, seats={"a": "stark"}, houses=("stark",)))
    others = [{"/constants/rounds": 9}, {"/constants/rounds": 8}, {"/constants/rounds": 9, "/constants/garrison": 3}]
    assert len({pin(plain), *(pin(msgspec.structs.replace(plain, tables=own)) for own in others)}) == 4
    assert pin(plain) != pin(msgspec.structs.replace(plain, switches=Switches(tides_of_battle="on")))


def digests(game: Recorded, rules: Any = THRONES) -> str:
    return digest(list(rulings(game, rules)))


class Reshaped(Thrones):
    """The same rules after a rearrangement: other procedures on the stack, other names in code."""

    def decide(self, state: Any, command: Any, past: Any = None, at: str = "") -> Any:
        ruling = super().decide(state, command, past, at)
        facts = [
            msgspec.structs.replace(one, frames=({"name": "Elsewhere"},)) if isinstance(one, Awaiting) else one
            for one in ruling.facts
        ]
        return type(ruling)(tuple(facts), ruling.state)


class FixedFirst(Thrones):
    """One ruling of the first edition cites a rule more."""

    def decide(self, state: Any, command: Any, past: Any = None, at: str = "") -> Any:
        ruling = super().decide(state, command, past, at)
        if ruling.state.charter.edition != "first-edition":
            return ruling
        last = ruling.facts[-1]
        return type(ruling)((*ruling.facts[:-1], msgspec.structs.replace(last, rules=("1E-X-1",))), ruling.state)


@pytest.mark.slow
@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_moving_code_changes_no_digest_and_a_fix_touches_its_own_edition_only(preset: str) -> None:
    game = small(preset, "")
    now = digests(game)
    assert digests(game, Reshaped()) == now
    assert (digests(game, FixedFirst()) != now) == (preset == "first-edition")


def test_the_shape_of_tables_is_no_value() -> None:
    """Another order of fields, a field that is new and empty, and what is only looked at."""
    row = {"id": "a", "power": 2, "name": "Castle"}
    moved = {"extra": None, "flag": False, "power": 2, "id": "a", "name": "Burg"}
    without = frozenset({"name"})
    assert digest(canonical({"areas": [row]}, without)) == digest(canonical({"new": [], "areas": [moved]}, without))
    assert digest(canonical([{**row, "power": 3}])) != digest(canonical([row]))


def test_a_changed_value_changes_the_presets_that_have_it() -> None:
    def changed(charter: Charter) -> Any:
        found = values_of(charter)
        if found["words"]["map"] == "first":
            found["tables"]["constants"]["rounds"] = 11
        return found

    said = {(game.preset, game.word) for game in CORPUS}
    empty = [Recorded(preset, word, ()) for preset, word in said]
    before, after = behaviour(empty), behaviour(empty, values=changed)
    touched = {name for name in PRESETS if before.presets[name] != after.presets[name]}
    assert touched == {name for name, preset in PRESETS.items() if preset.variations.map == "first"}
    second = Charter("second-edition", ())
    assert pin(second, before) == pin(second, after)
    assert isinstance(after, Behaviour)
