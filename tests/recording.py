"""Helpers for tests of the record: stores, toy games in them, and bots that play."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import fakeredis
import pytest

from events.embedded import Embedded
from events.envelope import Receipt, Stored, submission
from events.ruling import Judge
from events.store import Store
from tests import toy
from worker.adjudicate import Warm, adjudicate

JUDGE = Judge(toy.RULES)
SEATS = {"seat-1": "red", "seat-2": "green", "seat-3": "blue"}
SEAT_OF = {player: seat for seat, player in SEATS.items()}
SEED = "5e" * 32
PEPPER = bytes(range(32))
AT = "2025-01-01T12:00:00.000000Z"


def fake_store() -> Store:
    return Store(fakeredis.FakeRedis())


@pytest.fixture
def store() -> Store:
    return fake_store()


@pytest.fixture(scope="session")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    directory: Path = tmp_path_factory.mktemp("rookery")
    with Embedded(directory) as running:
        yield running


@pytest.fixture
def real_store(embedded: Embedded) -> Iterator[Store]:
    store = Store.connect(embedded.store_url)
    store.client.flushall()
    yield store
    store.client.close()


def new_game(store: Store, game: str = "toy-1", *, rounds: int = 3, seed: str = SEED) -> Receipt:
    opening = toy.Begin(seats=SEATS, seed=seed, rounds=rounds)
    began = submission(opening, seat=None, cause="system", at=AT, key="begin")
    return store.create(game, "toy", "1", began, pepper=PEPPER)


def submit(store: Store, command: object, seat: str | None, game: str = "toy-1", key: str = "") -> Receipt:
    return store.submit(game, submission(command, seat=seat, at=AT, key=key))


def played(store: Store, game: str = "toy-1", *, rounds: int = 3, seed: int = 1, most: int = 10_000) -> list[Stored]:
    """Play a whole game, with a refusal of each kind now and then; its ledger."""
    new_game(store, game, rounds=rounds)
    warm = Warm()
    chance = random.Random(seed)
    for turn in range(most):
        adjudicate(store, JUDGE, game, warm=warm)
        line = warm.get(game)
        assert line is not None
        open_now = toy.owed(line.state)
        if not open_now:
            break
        decision = chance.choice(open_now)
        seat = SEAT_OF[decision.player]
        if turn % 7 == 3:
            submit(store, toy.Bid(by=decision.player, coins=1000), seat, game, f"{turn}-rich")
        if turn % 7 == 5:
            submit(store, toy.Keep(by=decision.player, keep=True), "seat-1", game, f"{turn}-early")
        submit(store, decision.sample(chance.randrange), seat, game, f"{turn}")
    adjudicate(store, JUDGE, game, warm=warm)
    return list(store.entries(game))
