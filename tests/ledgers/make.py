"""Writes golden ledgers: whole games played by bots, as exports, each once and for ever.

    python -m tests.ledgers.make        # writes those that are not there yet

A ledger that exists is never written again: it shows that what an older Rookery recorded is still read and ruled alike.
"""

from __future__ import annotations

import json
import lzma
import random
from pathlib import Path
from typing import Any

import msgspec

from domain.kernel.agreed import Arbitration
from domain.kernel.arbiter import Act, Correct, FileAppeal, Rewind, RuleOnAppeal
from domain.kernel.commands import Command, PassDeadline
from domain.kernel.refusal import Refusal
from domain.kernel.ruleset import Ruling
from domain.thrones.bots import TEMPERAMENTS
from domain.thrones.language import facts as f
from domain.thrones.language.answers import MarchOrder
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.behaviour import pin
from domain.thrones.tables.charters import new_charter
from events.envelope import submission
from events.export import export_game
from events.ruling import Judge
from events.store import Store
from tests.domain.thrones.games import Spec, play, spec
from tests.domain.thrones.review.rewinds import Book, entries_with
from tests.recording import AT, PEPPER, fake_store
from worker import log
from worker.adjudicate import Warm, adjudicate

HERE = Path(__file__).parent
INDEX = HERE / "index.json"
GAMES = {"three-players": 0, "four-players": 17, "five-players-tides": 22, "six-players": 43}
REWOUND = "four-players-rewound"
DISPUTED = "four-players-disputed"
CHARTERS: dict[str, tuple[int, tuple[Any, ...]]] = {
    "first-edition": (46, ("first-edition", 5)),
    "mixed-four": (1, ("mixed-four", 4)),
    "two-books": (
        2,
        (
            "second-edition",
            3,
            {"raid-orders": "first", "consolidate-orders": "first", "combat": "first", "neutral-attack": "first"},
            {"/houses/stark/supply": 2, "/links/-": ["crackclaw-point", "the-stony-shore"]},
        ),
    ),
}
"""Games by other charters: the number of their bots' chance, and what their charter is made of."""


OF_ITS_ENGINE: dict[str, tuple[int, tuple[Any, ...]]] = {
    "second": (3, ("second-edition", 4)),
    "first": (7, ("first-edition", 3)),
}
"""Games that are recorded anew under every engine: as long as that one rules, they are ruled on again."""


def of_this_engine() -> dict[str, tuple[int, tuple[Any, ...]]]:
    """Those games by the name of their ledger, which has the pin of the engine that rules on their charter today."""
    return {
        f"{name}-{pin(new_charter(*made_of))}": (number, made_of) for name, (number, made_of) in OF_ITS_ENGINE.items()
    }


class Golden(msgspec.Struct, frozen=True):
    """What is known of a ledger: how long it is, the head of its chain, and who won."""

    entries: int
    facts: int
    head: str
    winner: str | None
    """None where the game was drawn."""


def commands(number: int) -> list[Command]:
    """What bots say in a game, seats included."""
    return [entry.command for entry in play(spec(number))]


def commands_by(number: int, made_of: tuple[Any, ...]) -> list[Command]:
    """What bots say in a game by another charter."""
    charter = new_charter(*made_of)
    moods = sorted(TEMPERAMENTS) * 2
    return [entry.command for entry in play(Spec(number, charter, tuple(moods[: len(charter.houses)])))]


def rewound(number: int) -> list[Command]:
    """A game in which an arbiter takes a battle back in its middle; then bots play on."""
    book = Book()
    for command in commands(number)[:150]:
        book.take(command)
    ended = [entry for entry in entries_with(book, f.CombatEnded) if entry < 130][-1]
    area, force = next((area, force) for area, force in sorted(book.state(ended).units.items()))
    fact = f.UnitsDestroyed(house=force.house, area=area, units={next(iter(force.units)): 1})
    raw = msgspec.json.decode(msgspec.json.encode(fact))
    book.take(Rewind(to=ended, reason="A unit too many was left standing.", causal=True, correction=(raw,)))
    book.go_on(number)
    return [command for command in book.commands if command is not None]


def disputed(number: int) -> list[Command]:
    """A game that goes on under an appeal where nothing depends on it, with corrections that rewinds make again."""
    whole = commands(number)
    start = whole[0]
    arbitration = Arbitration(appeal_stops="what-depends-on-it")
    start = msgspec.structs.replace(start, charter=msgspec.structs.replace(start.charter, arbitration=arbitration))  # type: ignore[attr-defined]  # the first command
    book, said = Book(), [start]
    book.take(start)

    def say(command: Command) -> None:
        said.append(command)
        try:
            book.take(command)
        except Refusal:
            book.write(command, Ruling((), book.now))

    marches = [n for n, one in enumerate(whole) if isinstance(one, MarchOrder) and 60 < n < 120]
    for command in whole[1 : marches[0] + 1]:
        say(command)
    say(FileAppeal(house=book.now.houses[0], against=book.version, statement="Not that way."))
    for _ in range(12):
        decision = THRONES.decisions(book.now)[0]
        say(decision.default)
    for decision in THRONES.decisions(book.now):
        say(PassDeadline(player=decision.player, question=book.now.question))
    say(RuleOnAppeal(appeal=1, outcome="upheld", opinion="That way."))
    power = {"fact": "PowerChanged", "house": book.now.houses[0], "by": 1}
    say(Correct(facts=(power,), reason="One Power was forgotten."))
    corrected = book.version
    for _ in range(3):
        say(THRONES.decisions(book.now)[0].default)
    say(Rewind(to=corrected - 3, reason="A look at it.", causal=True, corrections=(corrected,)))
    again = (power,)
    say(Rewind(to=corrected - 2, reason="Before.", causal=True, correction=again, corrections=(corrected,)))
    say(Correct(facts=(), reason="Once is enough.", instead_of=(corrected,)))
    for number_ in range(2000):
        if book.now.is_over:
            return said
        decision = THRONES.decisions(book.now)[0]
        say(decision.sample(random.Random(f"{number}/{number_}").randrange))
    raise AssertionError("a game ends")


def recorded(game: str, said: list[Command]) -> Store:
    """The commands through inbox and worker of a store in memory."""
    store, warm, judge = fake_store(), Warm(), Judge(THRONES)
    start, *rest = said
    seats = {f"seat-{house}": house for house in start.charter.houses}  # type: ignore[attr-defined]  # the first command
    start = msgspec.structs.replace(start, charter=msgspec.structs.replace(start.charter, seats=seats))  # type: ignore[attr-defined]
    began = submission(start, seat=None, cause="system", at=AT, key="begin")
    store.create(game, "thrones", "1", began, pepper=PEPPER)
    for number, command in enumerate(rest):
        player = THRONES.player_of(command)
        seat = f"seat-{player}" if player is not None else None
        cause = "command" if seat else "arbiter" if isinstance(command, Act) else "deadline"
        store.submit(game, submission(command, seat=seat, cause=cause, at=AT, key=str(number)))
    adjudicate(store, judge, game, warm=warm)
    return store


def write(game: str, said: list[Command]) -> Golden:
    store = recorded(game, said)
    line = store.line(game, Judge(THRONES))
    assert line.state.is_over
    lines = b"".join(export_game(store, game))
    (HERE / f"{game}.jsonl.xz").write_bytes(lzma.compress(lines, preset=9 | lzma.PRESET_EXTREME))
    facts = sum(
        len(json.loads(one)["public"]["facts"]) for one in lines.splitlines() if one.startswith(b'{"line":"entry"')
    )
    return Golden(line.version, facts, line.head, line.state.winner)


def main() -> None:
    log.configure("error")
    index = msgspec.json.decode(INDEX.read_bytes(), type=dict[str, Golden]) if INDEX.exists() else {}
    for game, number in GAMES.items():
        if game not in index:
            index[game] = write(game, commands(number))
    for game, (number, made_of) in {**CHARTERS, **of_this_engine()}.items():
        if game not in index:
            index[game] = write(game, commands_by(number, made_of))
    if REWOUND not in index:
        index[REWOUND] = write(REWOUND, rewound(41))
    if DISPUTED not in index:
        index[DISPUTED] = write(DISPUTED, disputed(17))
    INDEX.write_bytes(msgspec.json.format(msgspec.json.encode(dict(sorted(index.items()))), indent=2) + b"\n")


if __name__ == "__main__":
    main()
