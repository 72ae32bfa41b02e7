"""Whole games played by bots, entry by entry: the material that properties are tested on.

Everything follows from a :class:`Spec`, so that a failing game can be named by one number and played again.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import msgspec

from domain.kernel.commands import Command, PassDeadline
from domain.kernel.decision import Decision
from domain.kernel.ruleset import Ruling
from domain.thrones.bots import TEMPERAMENTS, Bot
from domain.thrones.language.answers import AssignOrders
from domain.thrones.language.start import Start
from domain.thrones.language.state import State
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.charter import Charter, Switches, Variations
from domain.thrones.tables.editions.composed import compose, edition_of
from domain.thrones.tables.editions.second import SECOND_EDITION
from domain.thrones.tables.variations import BY_NAME, PRESETS, unmet

MOST_ENTRIES = 6000
CHOICES: dict[str, tuple[str, ...]] = {
    name: tuple(kind.__args__)
    for name, kind in ((field.name, field.type) for field in msgspec.structs.fields(Switches))
}
"""Every switch and its settings, by field name."""

SECOND_CHOICES = CHOICES | {"tiebreak": ("errata", "printed")}
"""Those that the second edition knows."""


class Spec(msgspec.Struct, frozen=True):
    """One random game: its number, its charter and how its bots feel."""

    number: int
    charter: Charter
    temperaments: tuple[str, ...]

    @property
    def seed(self) -> str:
        return f"{self.number:064x}"


class Entry(msgspec.Struct, frozen=True):
    """One command and the ruling on it. ``owed`` are the decisions that were open before it."""

    before: State
    owed: tuple[Decision[Any], ...]
    command: Command
    ruling: Ruling[State]


def spec(number: int) -> Spec:
    """Game number so-and-so: three to six players in turn, switches and temperaments by its own chance.

    Every fourth game has all switches at their defaults; every second game has Tides of Battle.
    """
    chance = random.Random(f"rookery/{number}")
    players = 3 + number % 4
    houses = tuple(sorted(SECOND_EDITION.players(players).houses))
    settings = {name: chance.choice(values) for name, values in SECOND_CHOICES.items()}
    settings["tides_of_battle"] = ("off", "on")[number // 4 % 2]
    switches = Switches() if number % 16 < 4 else Switches(**settings)  # type: ignore[arg-type]  # settings are legal
    temperaments = tuple(chance.choice(sorted(TEMPERAMENTS)) for _ in houses)
    return Spec(number, Charter("second-edition", houses, switches), temperaments)


def spec_of_variations(number: int) -> Spec:
    """Game number so-and-so of those that differ from the second edition.

    Of six in a row three are the first edition with three, four and five Houses, one is the other preset, and two are
    played by some variations that fit together, with any number of Houses and any switches.
    """
    chance = random.Random(f"rookery/variations/{number}")
    kind = number % 6
    preset = PRESETS["mixed-four" if kind == 3 else "first-edition"]
    players, variations, switches, name = 3 + kind, preset.variations, preset.switches, preset.id
    if kind > 3:
        variations, name = some_variations(chance), "second-edition"
        settings = {setting: chance.choice(values) for setting, values in CHOICES.items()}
        counts = [count for count in compose(variations).player_counts if count < 5 or variations.drowned_pyke == "off"]
        players, switches = chance.choice(counts), Switches(**settings)  # type: ignore[arg-type]  # settings are legal
    elif kind == 3:
        players = 4
    houses = tuple(sorted(compose(variations).players(players).houses))
    temperaments = tuple(chance.choice(sorted(TEMPERAMENTS)) for _ in houses)
    return Spec(number, Charter(name, houses, switches, variations=variations), temperaments)


def some_variations(chance: random.Random) -> Variations:
    """A word for each variation; what does not fit the others is drawn again."""
    words = {name.replace("-", "_"): chance.choice(sorted(one.readings)) for name, one in BY_NAME.items()}
    while True:
        variations = Variations(**words)  # type: ignore[arg-type]  # words of the table
        problem = next(unmet(variations), None)
        if problem is None:
            return variations
        name, _, other, fitting = problem
        words[other.replace("-", "_")] = chance.choice(fitting)
        words[name.replace("-", "_")] = chance.choice(sorted(BY_NAME[name].readings))


def play(game: Spec) -> Iterator[Entry]:
    """Play a game to its end. Now and then a deadline is missed or a draft of orders is kept."""
    chance = random.Random(f"rookery/{game.number}/play")
    edition = edition_of(game.charter)
    board, tokens = edition.board, edition.tokens
    bots = {
        house: Bot(TEMPERAMENTS[temperament], board, tokens)
        for house, temperament in zip(game.charter.houses, game.temperaments, strict=True)
    }
    state = THRONES.blank()
    command: Command = Start(charter=game.charter, seed=game.seed)
    owed: tuple[Decision[Any], ...] = ()
    for _ in range(MOST_ENTRIES):
        ruling = THRONES.decide(state, command)
        yield Entry(state, owed, command, ruling)
        state = ruling.state
        owed = THRONES.decisions(state)
        if not owed:
            return
        command = _next_command(bots, state, owed, chance)
    raise AssertionError("a game ends")


def _next_command(
    bots: dict[str, Bot], state: State, owed: tuple[Decision[Any], ...], chance: random.Random
) -> Command:
    decision = owed[chance.randrange(len(owed))]
    answer = bots[decision.player].answer(state, decision, chance.randrange)
    if chance.randrange(60) == 0:
        return PassDeadline(player=decision.player, question=state.question)
    if isinstance(answer, AssignOrders) and chance.randrange(20) == 0:
        some = {area: order for area, order in answer.orders.items() if chance.randrange(2)}
        return msgspec.structs.replace(answer, orders=some, draft=True)
    return answer
