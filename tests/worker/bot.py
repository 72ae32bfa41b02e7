"""A player who may be killed at any moment: writes down what he sends before, and what was acknowledged after.

Run by test_kills.py: ``python -m tests.worker.bot STORE QUEUE JOURNAL SEED STOP-FILE``.
"""

from __future__ import annotations

import base64
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

from domain.thrones.language import answers as c
from domain.thrones.language.start import Start
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.charter import Charter, Switches
from events.connecting import connect
from events.envelope import Receipt, encode, submission
from events.errors import GameUnknown, StoreAway
from events.ruling import Judge, Line
from events.store import Store
from worker.jobs import make_bell

JUDGE = Judge(THRONES)
HOUSES = ("baratheon", "lannister", "stark")
SEAT_OF = {house: f"seat-{house[0]}" for house in HOUSES}
SEATS = {seat: house for house, seat in SEAT_OF.items()}
CHARTER = Charter("second-edition", HOUSES, Switches(tides_of_battle="on"), SEATS)

PARALLEL = 3
"""Games a bot plays at once."""


class Journal:
    """Lines that are on the disk before the bot goes on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tried: dict[str, tuple[str, str, bytes]] = {}
        self.acknowledged: set[str] = set()
        if path.exists():
            for line in path.read_text().splitlines(keepends=True):
                if line.endswith("\n"):  # the last line may be cut short by a kill
                    self._read(line.split())
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        if path.stat().st_size and not path.read_text().endswith("\n"):
            os.write(self._file, b" cut\n")

    def _read(self, words: list[str]) -> None:
        if words[0] == "try" and len(words) == 5:
            self.tried[words[3]] = (words[1], words[2], base64.b64decode(words[4]))
        elif words[0] == "ack" and len(words) == 4:
            self.acknowledged.add(words[1])

    def write(self, *words: str) -> None:
        os.write(self._file, (" ".join(words) + "\n").encode())
        os.fsync(self._file)


class Bot:
    def __init__(self, store_url: str, queue_url: str, journal: Path, seed: int) -> None:
        self.store = Store.connect(store_url, patience_seconds=0.3)
        self.bell = make_bell(connect(queue_url, patience_seconds=0.1), bells=2, watch_seconds=1.0)
        self.journal = Journal(journal)
        self.chance = random.Random(f"{seed} {len(self.journal.tried)}")
        self.name = journal.stem
        self.lines: dict[str, Line] = {}

    def send(self, game: str, seat: str, key: str, command: bytes) -> None:
        """Until it is acknowledged, however often that takes."""
        while True:
            try:
                receipt = self._send_once(game, seat, key, command)
                break
            except StoreAway:
                time.sleep(0.02)
        self.journal.write("ack", key, receipt.inbox, receipt.digest)
        try:
            self.bell.ring(game)
        except Exception as error:  # noqa: BLE001 - the queue is away; the sweeper will ring
            print("no ring:", type(error).__name__, file=sys.stderr)

    def _send_once(self, game: str, seat: str, key: str, command: bytes) -> Receipt:
        if seat == "-":
            return self.store.create(
                game, THRONES.name, THRONES.version, submission(command, seat=None, cause="system", key=key)
            )
        return self.store.submit(game, submission(command, seat=seat, key=key))

    def begin_and_send(self, game: str, seat: str, command: Any) -> None:
        raw = command if isinstance(command, bytes) else encode(command)
        key = f"{self.name}-{len(self.journal.tried)}"
        self.journal.tried[key] = (game, seat, raw)
        self.journal.write("try", game, seat, key, base64.b64encode(raw).decode())
        self.send(game, seat, key, raw)

    def finish_what_was_begun(self) -> None:
        for key, (game, seat, command) in self.journal.tried.items():
            if key not in self.journal.acknowledged:
                self.send(game, seat, key, command)

    def turn(self) -> None:
        slot = self.chance.randrange(PARALLEL)
        begun = sorted({game for game, seat, _ in self.journal.tried.values() if seat == "-" and f"-{slot}." in game})
        game = begun[-1] if begun else ""
        line = self._line(game) if game else None
        if line is None or THRONES.is_over(line.state):
            opening = Start(charter=CHARTER, seed=f"{self.chance.getrandbits(256):064x}")
            self.begin_and_send(f"{self.name}-{slot}.{len(begun):04}", "-", opening)
            return
        open_now = THRONES.decisions(line.state)
        if not open_now:
            time.sleep(0.01)  # the opening is not ruled on yet
            return
        self._play(game, open_now)

    def _play(self, game: str, open_now: tuple[Any, ...]) -> None:
        decision = self.chance.choice(open_now)
        seat = SEAT_OF[decision.player]
        mood = self.chance.random()
        if mood < 0.08:
            self.begin_and_send(game, seat, c.InfluenceBid(house=decision.player, track="fiefdoms", bid=500))
        elif mood < 0.12:
            self.begin_and_send(game, self.chance.choice(sorted(SEATS)), c.RavenCard(house="stark", choice="top"))
        elif mood < 0.15:
            self.begin_and_send(game, seat, b'{"kind":"nonsense"}')
        else:
            self.begin_and_send(game, seat, decision.sample(self.chance.randrange))

    def _line(self, game: str) -> Line | None:
        while True:
            try:
                self.lines[game] = self.store.line(game, JUDGE, warm=self.lines.get(game))
                return self.lines[game]
            except GameUnknown:
                return None
            except StoreAway:
                time.sleep(0.02)


def main() -> None:
    store_url, queue_url, journal, seed, stop = sys.argv[1:]
    bot = Bot(store_url, queue_url, Path(journal), int(seed))
    bot.finish_what_was_begun()
    while not Path(stop).exists():
        bot.turn()
        time.sleep(0.002)


if __name__ == "__main__":
    main()
