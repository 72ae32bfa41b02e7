"""Properties held by whole random games: 120 of them, all player counts, switches and temperaments mixed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from domain.thrones import commands as c
from tests.domain.games import CHOICES, play, spec
from tests.domain.properties import Reached, check_game

ROOT = Path(__file__).parents[2]
GAMES = 120
CHUNK = 10
REACHING = (87, 86, 19, 4, 11)
"""Games that reach everything together; ``make fuzz`` prints such a list when bots have changed."""


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, GAMES, CHUNK))
def test_properties_hold_at_every_entry(first: int) -> None:
    for number in range(first, first + CHUNK):
        try:
            check_game(spec(number))
        except Exception as error:
            error.add_note(f"game {number}: python -m tests.fuzz --games 1 --seed {number}")
            raise


def test_the_games_mix_player_counts_and_switches() -> None:
    charters = [spec(number).charter for number in range(GAMES)]
    assert {len(charter.houses) for charter in charters} == {3, 4, 5, 6}
    for name, settings in CHOICES.items():
        assert {getattr(charter.switches, name) for charter in charters} == set(settings)
    for players in (3, 4, 5, 6):
        tides = {charter.switches.tides_of_battle for charter in charters if len(charter.houses) == players}
        assert tides == {"off", "on"}


def test_the_games_reach_all_kinds_of_decision_and_all_abilities() -> None:
    assert len(c.KINDS) == 39 and len(c.ABILITIES) == 9
    assert max(REACHING) < GAMES, "games that the properties are tested on"
    reached = Reached()
    for number in REACHING:
        for entry in play(spec(number)):
            reached.note(entry)
    print("never reached:", ", ".join(reached.never()) or "nothing")
    assert reached.never() == []


PLAY = """
import hashlib, msgspec
from tests.domain.games import play, spec
for number in (2, 6, 11, 13):
    digest = hashlib.sha256()
    for entry in play(spec(number)):
        digest.update(msgspec.json.encode((entry.command, entry.ruling.facts, entry.ruling.state)))
    print(number, digest.hexdigest())
"""


def test_the_bytes_do_not_depend_on_the_hash_seed() -> None:
    printed = set()
    for seed in ("0", "1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", PLAY], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
        )
        printed.add(done.stdout)
    assert len(printed) == 1 and len(printed.pop().splitlines()) == 4
