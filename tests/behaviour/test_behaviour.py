"""The pin of behaviour: fresh, moved by what is ruled otherwise, and by nothing else."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
import pytest

from domain.kernel.facts import Awaiting
from domain.thrones.ruleset import THRONES, Thrones
from domain.thrones.tables.behaviour import BEHAVIOUR, Behaviour, digest, parts, pin
from domain.thrones.tables.charter import Charter, Switches
from domain.thrones.tables.variations import PRESETS
from tests.behaviour.pins import (
    PINS,
    Recorded,
    agreed_by,
    behaviour,
    canonical,
    read_corpus,
    rulings,
    words_for,
    written,
)

CORPUS = read_corpus()


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
        variations, switches = agreed_by(PRESETS[name], word)
        charter = Charter(name, (), switches, variations=variations)
        assert None not in parts(charter).values()
        pins.add(pin(charter))
    assert len(pins) == len(wanted), "each word has a pin of its own"


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

    def decide(self, state: Any, command: Any, past: Any = None) -> Any:
        ruling = super().decide(state, command, past)
        facts = [
            msgspec.structs.replace(one, frames=({"name": "Elsewhere"},)) if isinstance(one, Awaiting) else one
            for one in ruling.facts
        ]
        return type(ruling)(tuple(facts), ruling.state)


class FixedFirst(Thrones):
    """One ruling of the first edition cites a rule more."""

    def decide(self, state: Any, command: Any, past: Any = None) -> Any:
        ruling = super().decide(state, command, past)
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
    def changed(variations: Any, switches: Any) -> Any:
        from tests.behaviour.pins import values_of

        found = values_of(variations, switches)
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
