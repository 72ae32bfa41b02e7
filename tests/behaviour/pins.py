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
from typing import Any, get_args

import msgspec

from domain.kernel.agreed import Arbitration
from domain.kernel.chance import commitment
from domain.kernel.commands import Command
from domain.kernel.facts import Fact
from domain.kernel.refusal import Refusal
from domain.kernel.shared import SharedSeed
from domain.thrones.bots import TEMPERAMENTS
from domain.thrones.language.start import Gather, Start
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.behaviour import (
    ANY_NUMBER,
    JOINT_SEED,
    OWN_SEED,
    SHARED_SEED,
    Behaviour,
    Digests,
    digest,
    words_agreed,
)
from domain.thrones.tables.charter import Chance, Charter, Switches, Variations
from domain.thrones.tables.editions.composed import compose, tables_of
from domain.thrones.tables.variations import PRESETS, VARIATIONS, Preset, unmet, words_of
from tests.behaviour.tables import FIRST_SEED, SCRIPTS, Past, disputes, seeded
from tests.domain.thrones.games import Spec, play
from tests.ledgers import make

HERE = Path(__file__).parent
CORPUS = HERE / "corpus.json.xz"
PINS = Path(__file__).parents[2] / "domain/thrones/tables/editions/behaviour.json"
MOST_COMMANDS = 120
"""How far the game of a word goes, unless the word matters later only; those of presets are whole."""

MOST_GAMES = 20
"""How many games are looked through for one in which a word matters."""

SHAPES = frozenset({"frames", "position", "hidden", "engine"})
"""What a fact says of how the code goes on, of a whole position, and of this very pin: no behaviour of its own."""

LOOKS = frozenset({"name", "assumed", "x", "y", "colour", "map", "source", "text"})
"""What tables say to readers: no rule reads it."""


_ALL = ("first-edition", "mixed-four", "second-edition")
_FIRST, _FOUR = ("first-edition",), ("mixed-four",)
_RARE = "no game of bots that was looked through came to where it matters: add one before changing the rule"

UNREACHED: dict[str, tuple[tuple[str, ...], str]] = {
    "chance=stated": (_ALL, "rules draw from a stated seed as from a sealed one; readers are told whose it is"),
    "seed=joint": (_ALL, "no charter says it: it is another way to begin the same game"),
    "lannister-screen=errata-4plus": (("first-edition", "mixed-four"), "that board has no such Ship"),
    "lannister-screen=printed": (("first-edition", "mixed-four"), "that board has no such Ship"),
    "greyjoy-start=port": (_FOUR, _RARE),
    "lannister-ship=extra": (("second-edition",), _RARE),
    "ability-order=iron-throne": (_FIRST, _RARE),
    "attacker-retreat-supply=ignore": (_ALL, _RARE),
    "dark-wings-ports=yes": (_FIRST, _RARE),
    "full-track=wait": (_FIRST, _RARE),
    "mace-last-unit=end": (_FIRST, _RARE),
    "massing-equal-hand=keep": (_ALL, _RARE),
    "ships-vs-salladhor=turn-order": (_ALL, _RARE),
    "token-after-empty-win=removed": (("first-edition", "mixed-four"), _RARE),
}
"""Words whose games are ruled on as the preset's own word would be: in which presets, and why."""


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


def values_of(charter: Charter) -> dict[str, Any]:
    """The effective values of a charter, by name. Whoever reshapes the tables keeps what this says."""
    assert isinstance(charter.variations, Variations)
    tables = msgspec.to_builtins(tables_of(charter.variations), order="sorted")
    tables["links"] = sorted(map(sorted, tables["links"]))
    return {"tables": canonical(tables, LOOKS), "words": words_agreed(charter)}


# Rulings


def rulings(game: Recorded, rules: Any = THRONES) -> Iterator[Any]:
    """The canonical form of the ruling on each command: verdict, and facts with what is awaited after them."""
    past = Past()
    for raw in game.commands:
        facts: tuple[Fact, ...] = ()
        state = past.states[-1]
        command = msgspec.json.decode(raw, type=rules.command_type)
        said: dict[str, Any] = {}
        try:
            ruling = rules.decide(state, command, past)
        except Refusal as refusal:
            said = {"refused": refusal.code, "rules": list(refusal.rules), "params": _plain(refusal.params)}
        else:
            state, facts = ruling.state, ruling.facts
            said = {"facts": [canonical(_plain(fact), SHAPES) for fact in facts]}
        past.write(state, facts)
        yield said


def _plain(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=str, order="sorted"))


# All together


NUMBERS = {"appeal-window": 2, "appeals-open": 2, "appeals-lost": 1}
"""Of an option that takes a number, the one that its game is played by."""


def agreed_by(preset: Preset, word: str) -> Charter:
    """A preset, without Houses, with one word said otherwise, and with it no more than what that word needs."""
    charter = Charter(preset.id, (), preset.switches, variations=preset.variations)
    name, _, said = word.partition("=")
    field, change = name.replace("-", "_"), msgspec.structs.replace
    if not word or word == f"seed={JOINT_SEED}":
        return charter
    if name == "seed":
        return change(charter, shared=SharedSeed("cup", commitment(FIRST_SEED)))
    if name == "chance":
        return change(charter, chance=said)
    if field in Switches.__struct_fields__:
        return change(charter, switches=change(charter.switches, **{field: said}))
    if field in Arbitration.__struct_fields__:
        value = NUMBERS[name] if said == ANY_NUMBER else {"true": True, "false": False}.get(said, said)
        return change(charter, arbitration=change(charter.arbitration, **{field: value}))
    variations = change(preset.variations, **{field: said})
    while (problem := next(unmet(variations), None)) is not None:
        needing, _, other, fitting = problem
        if other != name:
            others = {other.replace("-", "_"): fitting[0]}
        else:
            [readings] = [one.readings for one in VARIATIONS if one.name == needing]
            now = words_of(variations)[needing]
            others = {needing.replace("-", "_"): next(one for one in readings if one != now)}
        variations = change(variations, **others)
    return change(charter, variations=variations)


def _words(kind: Any) -> tuple[str, ...]:
    """The words of an option, out of its type."""
    if kind is bool:
        return ("false", "true")
    if kind is int:
        return (ANY_NUMBER,)
    words = get_args(kind)
    assert words and all(isinstance(word, str) for word in words), f"a new kind of option: {kind}"
    return words


def every_word() -> dict[str, tuple[str, ...]]:
    """Every word that a charter can say, by the name of its option, out of the charter's type."""
    kinds = {
        one.encode_name: one.type for of in (Variations, Switches, Arbitration) for one in msgspec.structs.fields(of)
    }
    words = {name: _words(kind) for name, kind in kinds.items()}
    return {**words, "chance": get_args(Chance), "seed": (OWN_SEED, SHARED_SEED, JOINT_SEED)}


def words_for(preset: Preset) -> list[str]:
    """Every word that departs from a preset."""
    usual = words_agreed(agreed_by(preset, ""))
    return sorted(f"{name}={word}" for name, words in every_word().items() for word in words if usual[name] != word)


def read_corpus() -> list[Recorded]:
    """All games that were recorded."""
    return msgspec.json.decode(lzma.decompress(CORPUS.read_bytes()), type=list[Recorded])


def behaviour(corpus: Iterable[Recorded], rules: Any = THRONES, values: Any = values_of) -> Behaviour:
    """What the rules of today make of the corpus."""
    said: dict[tuple[str, str], list[Any]] = {}
    for game in corpus:
        said.setdefault((game.preset, game.word), []).append(digest(list(rulings(game, rules))))

    def digests(preset: Preset, word: str = "") -> Digests:
        return Digests(digest(values(agreed_by(preset, word))), digest(said[preset.id, word]))

    return Behaviour(
        presets={name: digests(preset) for name, preset in PRESETS.items()},
        words={name: {word: digests(preset, word) for word in words_for(preset)} for name, preset in PRESETS.items()},
    )


def written(found: Behaviour) -> bytes:
    """The generated file."""
    return msgspec.json.format(msgspec.json.encode(found, order="sorted"), indent=2) + b"\n"


def new_games() -> Iterator[Recorded]:
    """Games by bots for every preset with every number of Houses, and for every word; and those of the scripts.

    A word's own game begins anew with other bots until it comes to where the word matters.
    """
    for preset in PRESETS.values():
        counts = (4,) if preset.id == "mixed-four" else compose(preset.variations).player_counts
        for number, count in enumerate(counts):
            yield _recorded(preset, "", _played(preset, "", count, number))
        yield _recorded(preset, "", disputes(_few(preset, ""), whole=True))
        yield _recorded(preset, "", seeded(_few(preset, "")))
        for number, word in enumerate(words_for(preset)):
            yield _recorded(preset, word, _said_for(preset, word, number))
    for said in (make.rewound(17), make.disputed(17)):
        yield _recorded(PRESETS["second-edition"], "", said)


def _said_for(preset: Preset, word: str, number: int) -> list[Command]:
    name = word.partition("=")[0]
    if word in SCRIPTS:
        return SCRIPTS[word](_few(preset, word))
    if name.replace("-", "_") in Arbitration.__struct_fields__:
        return disputes(_few(preset, word))
    counts = [count for count in _counts(preset, word) if "drowned" not in word or count < 5]
    for again in range(MOST_GAMES):
        said = _played(preset, word, counts[-1 - again % len(counts)], 100 + number + 100 * again)
        matters = first_difference(_recorded(preset, word, said))
        if matters is not None:
            return said[: max(MOST_COMMANDS, matters + 4)]
    return said[:MOST_COMMANDS]


def _counts(preset: Preset, word: str) -> tuple[int, ...]:
    variations = agreed_by(preset, word).variations
    assert isinstance(variations, Variations)
    return (4,) if preset.id == "mixed-four" else tuple(compose(variations).player_counts)


def _few(preset: Preset, word: str) -> Charter:
    return _with_houses(agreed_by(preset, word), _counts(preset, word)[0])


def _with_houses(charter: Charter, players: int) -> Charter:
    assert isinstance(charter.variations, Variations)
    houses = tuple(sorted(compose(charter.variations).players(players).houses))
    return msgspec.structs.replace(charter, houses=houses)


def _played(preset: Preset, word: str, players: int, number: int) -> list[Command]:
    charter = _with_houses(agreed_by(preset, word), players)
    chance = random.Random(f"rookery/behaviour/{preset.id}/{word}/{players}")
    moods = tuple(chance.choice(sorted(TEMPERAMENTS)) for _ in charter.houses)
    return [one.command for one in play(Spec(number, charter, moods))]


def _recorded(preset: Preset, word: str, said: Iterable[Command]) -> Recorded:
    return Recorded(preset.id, word, tuple(msgspec.Raw(msgspec.json.encode(one)) for one in said))


# What a game shows of its word


def first_difference(game: Recorded) -> int | None:
    """The first command of a word's game on which the preset rules otherwise, the charter itself left aside."""
    preset = PRESETS[game.preset]
    for number, (own, usual) in enumerate(zip(_bare(game), _bare(_unsaid(game, preset)), strict=True)):
        if own != usual:
            return number
    return None


def _bare(game: Recorded) -> Iterator[Any]:
    for said in rulings(game):
        told = [fact for fact in said.get("facts", ()) if fact["fact"] not in ("GameCreated", "GatheringBegan")]
        yield said | {"facts": told}


def _unsaid(game: Recorded, preset: Preset) -> Recorded:
    """The same commands by the preset itself."""
    usual = agreed_by(preset, "")
    commands = []
    for raw in game.commands:
        command = msgspec.json.decode(raw, type=THRONES.command_type)
        if isinstance(command, Start | Gather):
            was = command.charter
            charter = msgspec.structs.replace(usual, houses=was.houses, seats=was.seats)
            command = msgspec.structs.replace(command, charter=charter)
        commands.append(command)
    return _recorded(preset, game.word, commands)


def main() -> None:
    if sys.argv[1:] == ["corpus"]:
        games = read_corpus() if CORPUS.exists() else []
        there = {(game.preset, game.word) for game in games}
        games += [game for game in new_games() if (game.preset, game.word) not in there]
        CORPUS.write_bytes(lzma.compress(msgspec.json.encode(games), preset=9 | lzma.PRESET_EXTREME))
    PINS.write_bytes(written(behaviour(read_corpus())))


if __name__ == "__main__":
    main()
