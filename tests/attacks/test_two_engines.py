"""Two versions of the engine beside each other on one real store: each takes its own games, and nothing is lost."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from domain.kernel.arbiter import Amend
from domain.thrones.language.state import State
from domain.thrones.ruleset import THRONES, Thrones
from events import codec
from events.connecting import connect
from events.embedded import Embedded
from events.envelope import Accepted, submission
from events.ruling import Judge
from events.store import Store
from events.verify import verify_store
from tests.ledgers.make import commands
from tests.recording import AT, embedded, real_store  # noqa: F401 - fixtures
from worker.session import Bell, session, sweep


class Newer(Thrones):
    """The engine after a fix."""

    version = "newer"

    def engine_of(self, state: State) -> str:
        return "thrones/newer"


def say(store: Store, game: str, command: Any) -> None:
    player = getattr(command, "player", None)
    seat, cause = (f"seat-{player}", "command") if player else (None, "system")
    store.submit(game, submission(command, seat=seat, cause=cause, at=AT))  # type: ignore[arg-type]  # one of both


@pytest.mark.server
def test_each_takes_its_own_games_and_an_amended_game_changes_hands(embedded: Embedded, real_store: Store) -> None:  # noqa: F811
    store, client = real_store, connect(embedded.queue_url)
    client.flushall()
    older, newer = Judge(THRONES), Judge(Newer())
    due: list[str] = []
    bells = {
        judge: Bell(client, lambda number, name=judge.engine: due.append(name), engine=judge.engine)  # type: ignore[misc]
        for judge in (older, newer)
    }

    def work(judge: Judge) -> int:
        sweep(store, bells[judge])
        return session(store, {"thrones": judge}, bells[judge], linger_seconds=0.01).ruled

    start, *said = commands(0)[:8]
    charter = start.charter  # type: ignore[attr-defined]  # it begins the game
    seats = {f"seat-{house}": house for house in charter.houses}
    start = msgspec.structs.replace(start, charter=msgspec.structs.replace(charter, seats=seats))  # type: ignore[call-arg]
    for game in ("old", "moved"):
        opening = submission(start, seat=None, cause="system", at=AT)
        store.create(game, "thrones", "x", opening)
    assert work(older) == 2
    assert store.unruled() == ()

    move = Amend(engine="thrones/newer", reason="A fix.", by="luwin")
    for command in said:
        say(store, "old", command)
        say(store, "moved", command)
    assert work(newer) == 0, "no letter is refused, none is ruled on"
    assert sweep(store, bells[newer]) == 0, "and nobody rings for them again and again"
    assert sorted(store.waiting_for_engines()) == ["moved", "old"] and not store.waiting_since()
    store.submit("moved", submission(move, seat=None, cause="arbiter", at=AT))
    assert work(newer) == len(said) + 1
    assert work(older) == len(said)
    assert store.waiting_for_engines() == () and store.unruled_tail("old") == store.unruled_tail("moved") == 0
    for game in ("old", "moved"):
        assert all(isinstance(codec.entry(one).verdict, Accepted) for one in store.entries(game))
    assert verify_store(store, older, "old").engines == (older.rules.engine_of(store.line("old", older).state),)
    for game in ("old", "moved"):
        for judge in (older, newer):
            assert verify_store(store, judge, game).is_confirmed
    client.close()
