"""A recorded game (``examples/``): created and played through a running server, answer by answer, as players would.

It may be broken off at any line: played again, it goes on where it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from api.desk import Desk
from api.letters import Await, Letter, Sent
from api.tokens import Caller
from domain.thrones.language.state import State
from domain.thrones.tables.charters import houses_of
from events.errors import GameExists

EXAMPLE = Path(__file__).parents[1] / "examples" / "six-players.letter"
KEY = "example"


class NotAnExample(ValueError):
    """A file that is no recorded game."""


class Example(msgspec.Struct, frozen=True):
    """The head of the file, and the letter below it."""

    game: str
    edition: str
    players: int
    seed: str
    switches: dict[str, str]
    letter: str


def read(text: str) -> Example:
    """A recorded game from its text. Raises NotAnExample."""
    head, _, letter = text.replace("\r\n", "\n").partition("\n\n")
    pairs = [line.partition(":") for line in head.split("\n") if line.strip() and not line.startswith("#")]
    values = {key.strip(): value.strip() for key, _, value in pairs}
    switches = {key.removeprefix("switch "): value for key, value in values.items() if key.startswith("switch ")}
    known = {key: value for key, value in values.items() if not key.startswith("switch ")}
    try:
        return msgspec.convert({**known, "switches": switches, "letter": letter}, Example, strict=False)
    except msgspec.ValidationError as error:
        raise NotAnExample(f"The head of the recorded game cannot be read: {error}.") from error


class Player:
    """Plays a recorded game at a desk. ``ruling`` waits for the worker."""

    def __init__(self, desk: Desk, example: Example, ruling: Await) -> None:
        self.desk = desk
        self.example = example
        self.ruling = ruling
        self.created = False
        self.sent = 0
        self.total = Letter(desk, example.letter, authorise=self._operator, ruling=ruling).answers()

    def begin(self) -> None:
        """Create the game, or find out how much of it has been played."""
        example = self.example
        houses = houses_of(example.edition, example.players, example.switches)
        try:
            made = self.desk.create(
                edition=example.edition,
                players=example.players,
                switches=example.switches,
                seats={house: house for house in houses},
                game=example.game,
                seed=example.seed,
                key=f"{KEY}-begin",
            )
        except GameExists:
            pass
        else:
            self.created = not made.receipt.again
            self.ruling(made.receipt)
        ours = re.compile(rf"{KEY}-([0-9]+)")
        found = [ours.fullmatch(one.key) for one in self.desk.store.submissions(example.game)]
        self.sent = max((int(match[1]) for match in found if match), default=0)

    def play(self) -> Iterator[Sent]:
        """Send the answers that are not in yet, each after the ruling on the one before."""
        letter = Letter(
            self.desk,
            self.example.letter,
            authorise=self._operator,
            ruling=self.ruling,
            game=self.example.game,
            key=KEY,
            sent=self.sent,
        )
        for sent in letter.send():
            self.sent += 1
            yield sent

    @property
    def state(self) -> State:
        state: State = self.desk.line(self.example.game).state
        return state

    @staticmethod
    def _operator(game: str, seat: str, token: str) -> Caller:
        return Caller("operator")
