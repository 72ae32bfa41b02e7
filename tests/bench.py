"""Two figures: facts replayed and commands adjudicated per second, in process and through a real store.

``make bench``. Best of three, since the machine may be busy with other things.
"""

from __future__ import annotations

import logging
import random
import tempfile
import time

import structlog

from api.desk import Desk
from api.tokens import Tokens
from domain.kernel.bots import any_answer
from domain.kernel.commands import Command
from domain.kernel.facts import Fact
from domain.thrones.language.start import Start
from domain.thrones.ruleset import EDITIONS, THRONES
from domain.thrones.tables.charter import Charter
from events.embedded import Embedded
from events.envelope import submission
from events.store import Store
from events.verify import verify_store
from worker.adjudicate import adjudicate

GAMES = 8
TRIES = 3


def play(seed: int) -> tuple[list[Command], list[Fact]]:
    """A whole random game of six: its commands and its facts."""
    chance = random.Random(seed)
    charter = Charter("second-edition", tuple(sorted(EDITIONS["second-edition"].players(6).houses)))
    commands: list[Command] = [Start(charter=charter, seed=chance.randbytes(32).hex())]
    ruling = THRONES.decide(THRONES.blank(), commands[0])
    facts = list(ruling.facts)
    while not ruling.state.is_over:
        answer = any_answer(THRONES.decisions(ruling.state), chance.randrange)
        ruling = THRONES.decide(ruling.state, answer)
        commands.append(answer)
        facts += ruling.facts
    return commands, facts


def replay(games: list[tuple[list[Command], list[Fact]]]) -> int:
    for _, facts in games:
        state = THRONES.blank()
        for fact in facts:
            state = THRONES.evolve(state, fact)
    return sum(len(facts) for _, facts in games)


def decide(games: list[tuple[list[Command], list[Fact]]]) -> int:
    for commands, _ in games:
        state = THRONES.blank()
        for command in commands:
            state = THRONES.decide(state, command).state
    return sum(len(commands) for commands, _ in games)


def through_store(desk: Desk, games: list[tuple[list[Command], list[Fact]]], turn: int) -> int:
    """Inbox to ledger: every command submitted one by one, then drained by an adjudicator."""
    for number, (commands, _) in enumerate(games):
        game = f"bench-{turn}-{number}"
        desk.store.create(game, THRONES.name, THRONES.version, submission(commands[0], seat=None, cause="system"))
        for command in commands[1:]:
            desk.store.submit(game, submission(command, seat=None, cause="system"))
        adjudicate(desk.store, desk.judge, game, warm=desk.warm)
        report = verify_store(desk.store, desk.judge, game)
        assert report.is_confirmed, report
    return sum(len(commands) for commands, _ in games)


def best(name: str, work: object, unit: str) -> None:
    figures = []
    for turn in range(TRIES):
        began = time.perf_counter()
        count = work(turn)  # type: ignore[operator]
        figures.append(count / (time.perf_counter() - began))
    print(f"{name:<44} {max(figures):>10,.0f} {unit}   (of {TRIES}: {', '.join(f'{one:,.0f}' for one in figures)})")


def main() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    games = [play(seed) for seed in range(GAMES)]
    best("facts replayed", lambda turn: replay(games), "facts/s")
    best("commands adjudicated, in process", lambda turn: decide(games), "commands/s")
    with tempfile.TemporaryDirectory() as directory, Embedded(directory) as servers:
        store = Store.connect(servers.store_url)
        desk = Desk(store, Tokens(store), None)
        best(
            "inbox to ledger and verified, real store",
            lambda turn: through_store(desk, games[:3], turn),
            "commands/s",
        )


if __name__ == "__main__":
    main()
