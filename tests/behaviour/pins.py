"""The pins of behaviour: digests of what every preset, and every word that departs from it, plays by.

    make pins                                # writes domain/thrones/tables/editions/behaviour.json anew
    python -m tests.behaviour.pins corpus    # plays games for presets and words that have none yet

The corpus is frozen: what was said in each game, and nothing of what came of it. So moving code never moves it, and a
rule that is put right changes the digests of the rulings that it touches, and no others.
"""

from __future__ import annotations

import lzma
import random
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from domain.kernel.facts import Fact
from domain.kernel.refusal import Refusal
from domain.thrones.bots import TEMPERAMENTS
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.behaviour import Behaviour, Digests, digest
from domain.thrones.tables.charter import Charter, Switches, Variations
from domain.thrones.tables.editions.composed import compose, tables_of
from domain.thrones.tables.variations import PRESETS, SWITCHES, VARIATIONS, Preset, unmet, words_of
from tests.domain.thrones.games import Spec, play
from tests.ledgers import make

HERE = Path(__file__).parent
CORPUS = HERE / "corpus.json.xz"
PINS = Path(__file__).parents[2] / "domain/thrones/tables/editions/behaviour.json"
MOST_COMMANDS = 120
"""How far the game of a word goes; those of presets are whole."""

SHAPES = frozenset({"frames", "position", "hidden", "engine"})
"""What a fact says of how the code goes on, of a whole position, and of this very pin: no behaviour of its own."""

LOOKS = frozenset({"name", "assumed", "x", "y", "colour", "map", "source", "text"})
"""What tables say to readers: no rule reads it."""


class Recorded(msgspec.Struct, frozen=True):
    """What was said in one game. ``word`` is how it departs from its preset: ``name=word``, or nothing."""

    preset: str
    word: str
    commands: tuple[msgspec.Raw, ...]


# Values


def canonical(value: Any, without: frozenset[str] = frozenset()) -> Any:
    """Plain data by name: rows by their ids, and nothing that is empty, so that a field to come changes nothing."""
    if isinstance(value, Mapping):
        found = {str(key): canonical(one, without) for key, one in value.items() if key not in without}
        return {key: one for key, one in found.items() if one not in (None, "", False, [], {})}
    if isinstance(value, list | tuple):
        rows = [canonical(one, without) for one in value]
        if rows and all(isinstance(row, dict) and "id" in row for row in rows):
            return {row["id"]: row for row in rows} | {"order": [row["id"] for row in rows]}
        return rows
    return value


def values_of(variations: Variations, switches: Switches) -> dict[str, Any]:
    """The effective values of an edition, by name. Whoever reshapes the tables keeps what this says."""
    tables = msgspec.to_builtins(tables_of(variations), order="sorted")
    tables["links"] = sorted(map(sorted, tables["links"]))
    return {"tables": canonical(tables, LOOKS), "words": words_of(variations) | words_of(switches)}


# Rulings


class Past:
    """The record before a ruling, for acts that look back."""

    def __init__(self) -> None:
        self.states: list[Any] = [THRONES.blank()]
        self.kept: list[tuple[Fact, ...]] = [()]

    @property
    def version(self) -> int:
        return len(self.states) - 1

    def state(self, entry: int) -> Any:
        return self.states[entry]

    def facts(self, entry: int) -> tuple[Fact, ...]:
        return self.kept[entry]


def rulings(game: Recorded, rules: Any = THRONES) -> Iterator[Any]:
    """The canonical form of the ruling on each command: verdict, and facts with what is awaited after them."""
    past = Past()
    for raw in game.commands:
        state, facts = past.states[-1], ()
        command = msgspec.json.decode(raw, type=rules.command_type)
        said: dict[str, Any] = {}
        try:
            ruling = rules.decide(state, command, past)
        except Refusal as refusal:
            said = {"refused": refusal.code, "rules": list(refusal.rules), "params": _plain(refusal.params)}
        else:
            state, facts = ruling.state, ruling.facts
            said = {"facts": [canonical(_plain(fact), SHAPES) for fact in facts]}
        past.states.append(state)
        past.kept.append(facts)
        yield said


def _plain(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=str, order="sorted"))


# All together


def agreed_by(preset: Preset, word: str) -> tuple[Variations, Switches]:
    """A preset with one word said otherwise, and with it no more than what that word needs."""
    variations, switches = preset.variations, preset.switches
    name, _, said = word.partition("=")
    field = name.replace("-", "_")
    if not word:
        return variations, switches
    if field in Switches.__struct_fields__:
        return variations, msgspec.structs.replace(switches, **{field: said})
    variations = msgspec.structs.replace(variations, **{field: said})
    while (problem := next(unmet(variations), None)) is not None:
        needing, _, other, fitting = problem
        if other != name:
            change = {other.replace("-", "_"): fitting[0]}
        else:
            [readings] = [one.readings for one in VARIATIONS if one.name == needing]
            now = words_of(variations)[needing]
            change = {needing.replace("-", "_"): next(one for one in readings if one != now)}
        variations = msgspec.structs.replace(variations, **change)
    return variations, switches


def words_for(preset: Preset) -> list[str]:
    """Every word that departs from a preset."""
    usual = words_of(preset.variations) | words_of(preset.switches)
    readings = [(one.name, word) for one in (*VARIATIONS, *SWITCHES) for word in one.readings]
    return sorted(f"{name}={word}" for name, word in readings if usual[name] != word)


def read_corpus() -> list[Recorded]:
    """All games that were recorded."""
    return msgspec.json.decode(lzma.decompress(CORPUS.read_bytes()), type=list[Recorded])


def behaviour(corpus: Iterable[Recorded], rules: Any = THRONES, values: Any = values_of) -> Behaviour:
    """What the rules of today make of the corpus."""
    said: dict[tuple[str, str], list[Any]] = {}
    for game in corpus:
        said.setdefault((game.preset, game.word), []).append(digest(list(rulings(game, rules))))

    def digests(preset: Preset, word: str = "") -> Digests:
        return Digests(digest(values(*agreed_by(preset, word))), digest(said[preset.id, word]))

    return Behaviour(
        presets={name: digests(preset) for name, preset in PRESETS.items()},
        words={name: {word: digests(preset, word) for word in words_for(preset)} for name, preset in PRESETS.items()},
    )


def written(found: Behaviour) -> bytes:
    """The generated file."""
    return msgspec.json.format(msgspec.json.encode(found, order="sorted"), indent=2) + b"\n"


def new_games() -> Iterator[Recorded]:
    """Games by bots for every preset with every number of Houses, and for every word; and two with an arbiter."""
    for preset in PRESETS.values():
        counts = (4,) if preset.id == "mixed-four" else compose(preset.variations).player_counts
        for number, count in enumerate(counts):
            yield _recorded(preset, "", count, number, None)
        for number, word in enumerate(words_for(preset)):
            open_to = compose(agreed_by(preset, word)[0]).player_counts
            fitting = [count for count in open_to if "drowned" not in word or count < 5]
            yield _recorded(preset, word, 4 if preset.id == "mixed-four" else fitting[-1], 100 + number, MOST_COMMANDS)
    for said in (make.rewound(17), make.disputed(17)):
        yield Recorded("second-edition", "", tuple(msgspec.Raw(msgspec.json.encode(one)) for one in said))


def _recorded(preset: Preset, word: str, players: int, number: int, most: int | None) -> Recorded:
    variations, switches = agreed_by(preset, word)
    houses = tuple(sorted(compose(variations).players(players).houses))
    chance = random.Random(f"rookery/behaviour/{preset.id}/{word}/{players}")
    moods = tuple(chance.choice(sorted(TEMPERAMENTS)) for _ in houses)
    charter = Charter(preset.id, houses, switches, variations=variations)
    said = [one.command for one in play(Spec(number, charter, moods))][:most]
    return Recorded(preset.id, word, tuple(msgspec.Raw(msgspec.json.encode(one)) for one in said))


def main() -> None:
    if sys.argv[1:] == ["corpus"]:
        games = read_corpus() if CORPUS.exists() else []
        there = {(game.preset, game.word) for game in games}
        games += [game for game in new_games() if (game.preset, game.word) not in there]
        CORPUS.write_bytes(lzma.compress(msgspec.json.encode(games), preset=9 | lzma.PRESET_EXTREME))
    PINS.write_bytes(written(behaviour(read_corpus())))


if __name__ == "__main__":
    main()
