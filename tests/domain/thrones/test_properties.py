"""Properties held by whole random games, all player counts, switches and temperaments mixed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from domain.thrones.language import answers as c
from domain.thrones.language import kinds
from domain.thrones.language.answers import HouseAnswer
from domain.thrones.notation import Lexicon, format_answer, lexicon, parse
from domain.thrones.tables.editions.composed import edition_of
from domain.thrones.tables.variations import BY_NAME, FIRST_EDITION, unmet, words_of
from tests.domain.thrones.games import SECOND_CHOICES, Spec, play, spec, spec_of_variations
from tests.domain.thrones.properties import Reached, check_game
from tests.sizes import sized

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
GAMES = sized(24, 120)
"""As usual so many as cite every rule that the first forty cite, and ask every kind that they ask."""
CHUNK = 8
REACHING = (87, 86, 19, 4, 11, 35)
"""Games that reach everything together; ``make fuzz`` prints such a list when bots have changed.

The last is one in which the Queen of Thorns leaves something to ask.
"""


@cache
def checked(number: int, of: Callable[[int], Spec] = spec) -> Reached:
    """What a game reaches that has every property, checked once however often it is asked for."""
    reached = Reached()
    try:
        check_game(of(number), reached)
    except Exception as error:
        variations = " --variations" if of is spec_of_variations else ""
        error.add_note(f"game {number}: python -m tests.fuzz{variations} --games 1 --seed {number}")
        raise
    return reached


@pytest.mark.parametrize("first", range(0, GAMES, CHUNK))
def test_properties_hold_at_every_entry(first: int) -> None:
    for number in range(first, first + CHUNK):
        checked(number)


def test_the_games_mix_player_counts_and_switches() -> None:
    charters = [spec(number).charter for number in range(GAMES)]
    assert {len(charter.houses) for charter in charters} == {3, 4, 5, 6}
    for name, settings in SECOND_CHOICES.items():
        assert {getattr(charter.switches, name) for charter in charters} == set(settings)
    for players in (3, 4, 5, 6):
        tides = {charter.switches.tides_of_battle for charter in charters if len(charter.houses) == players}
        assert tides == {"off", "on"}


def test_the_games_reach_all_kinds_of_decision_and_all_abilities() -> None:
    assert len(kinds.KINDS) == 39 and len(c.ABILITIES) == 9
    reached = Reached()
    for number in REACHING:
        reached.add(checked(number))
    print("never reached:", ", ".join(reached.never()) or "nothing")
    assert reached.never() == []


# Other books and mixtures

VARIED = sized(12, 24)
REACHING_FIRST = (31, 122, 78, 19, 14)
"""Games by the first edition's book that reach every decision of its section 20 together."""

SECTION_20 = {
    "1E-DP-1": ("reconcile-supply",),
    "1E-DP-2": ("muster",),
    "1E-DP-3": ("influence-bid",),
    "1E-DP-4": ("influence-tie",),
    "1E-DP-5": ("wildling-bid",),
    "1E-DP-6": ("wildling-tie",),
    "1E-DP-7": ("mammoth-retrieve",),
    "1E-DP-8": ("destroy-units",),
    "1E-DP-9": ("assign-orders",),
    "1E-DP-10": ("raven",),
    "1E-DP-11": ("raid",),
    "1E-DP-12": ("march",),
    "1E-DP-13": ("support",),
    "1E-DP-14": ("accept-support",),
    "1E-DP-15": ("house-card",),
    "1E-DP-16": (
        *("luwin-retrieve", "asha-order", "melisandre-discard", "renly-upgrade", "cersei-order", "loras-footman"),
    ),
    "1E-DP-17": ("blade-strength",),
    "1E-DP-18": ("casualties",),
    "1E-DP-19": ("retreat-area", "retreat-losses"),
    "1E-DP-20": ("neutral-support",),
}
"""What is asked at each decision point of the first edition."""


@pytest.mark.parametrize("first", range(0, VARIED, 6))
def test_properties_hold_whatever_a_table_plays_by(first: int) -> None:
    for number in range(first, first + 6):
        checked(number, spec_of_variations)


def test_the_other_games_mix_books_and_player_counts() -> None:
    games = [spec_of_variations(number) for number in range(VARIED)]
    first = [game for game in games if game.charter.edition == "first-edition"]
    assert {len(game.charter.houses) for game in first} == {3, 4, 5}
    assert any(game.charter.edition == "mixed-four" for game in games)
    charters = [spec_of_variations(number).charter.variations for number in range(600)]
    assert not [one for one in charters if list(unmet(one))]
    drawn = [words_of(one) for one in charters]
    for name, variation in BY_NAME.items():
        assert {words[name] for words in drawn} == set(variation.readings), name


def test_games_by_the_first_book_reach_every_decision_of_its_list() -> None:
    reached = Reached()
    for number in REACHING_FIRST:
        assert spec_of_variations(number).charter.variations == FIRST_EDITION
        reached.add(checked(number, spec_of_variations))
    listed = {kind for kinds in SECTION_20.values() for kind in kinds}
    came_up = {kind for kind in reached.kinds if kind != "card-ability"} | set(reached.abilities)
    assert came_up == listed, "these come up and nothing else"
    # Ser Loras asks only where routed Footmen stand beside others; beaten units have mostly nothing to choose.
    assert listed - reached.asked <= {"loras-footman", "retreat-losses"}


def names_of(game: Spec) -> Lexicon:
    tables = edition_of(game.charter).tables
    return lexicon(
        areas={area.id: area.name for area in tables.areas},
        houses={house.id: house.name for house in tables.houses},
        cards={card.id: card.name for card in tables.house_cards},
        tokens=tables.order_tokens,
    )


@pytest.mark.parametrize("number", [2, 3, 5, 8])
def test_every_answer_of_other_games_is_read_as_it_is_printed(number: int) -> None:
    game = spec_of_variations(number)
    names = names_of(game)
    for entry in play(game):
        command = entry.command
        if isinstance(command, HouseAnswer):
            read = parse(format_answer(command), house=command.house, lexicon=names, open_decisions=entry.owed)
            assert read == command.canonical()


PLAY = """
import hashlib, msgspec
from tests.domain.thrones.games import play, spec, spec_of_variations
for game in [*map(spec, (2, 6, 11, 13)), *map(spec_of_variations, (2, 3, 4))]:
    digest = hashlib.sha256()
    for entry in play(game):
        digest.update(msgspec.json.encode((entry.command, entry.ruling.facts, entry.ruling.state)))
    print(game.number, digest.hexdigest())
"""


def test_the_bytes_do_not_depend_on_the_hash_seed() -> None:
    printed = set()
    for seed in sized(("0", "4242"), ("0", "1", "4242")):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", PLAY], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
        )
        printed.add(done.stdout)
    assert len(printed) == 1 and len(printed.pop().splitlines()) == 7
