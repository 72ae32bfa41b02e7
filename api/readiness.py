"""Whether the whole service works: the store answers, workers are alive, and nothing waits too long for a ruling."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

import msgspec
import redis

from api.desk import Desk
from events.errors import StoreAway, StoreRefuses
from events.losses import held
from worker.pulse import feel


class Limits(msgspec.Struct, frozen=True):
    """What an operator need not worry about."""

    silent_seconds: float = 30.0
    waiting_seconds: float = 60.0


class Readiness(msgspec.Struct, frozen=True):
    """Ready, or why not. Numbers are null where they could not be had.

    Of the store: ``store-away``, ``store-loading``, ``store-busy``, ``store-out-of-memory``,
    ``store-cannot-write`` (its disk), ``store-read-only``, ``store-refuses`` (it runs no script),
    ``store-full`` (guests are refused).
    ``workers`` are those heard of lately, ``worker_silent_seconds`` since when there was no sign of the liveliest one;
    ``waiting_games`` have submissions without a ruling, the oldest for ``oldest_waiting_seconds``. ``parked_games``
    wait for the operator and are not among them; they make no server unready, or any guest could. ``games_on_trial``
    have ended whoever worked at them, and are tried apart. ``held_games`` lost something that was acknowledged.
    ``waiting_for_engine`` counts games in which something waits for a worker of another engine, or for the game to be
    amended; the server is well all the same, and what waits there is not late.
    """

    status: Literal["ready", "not-ready"]
    problems: tuple[str, ...]
    engine: str
    workers: int | None = None
    worker_silent_seconds: float | None = None
    waiting_games: int | None = None
    oldest_waiting_seconds: float | None = None
    held_games: int | None = None
    waiting_for_engine: int | None = None
    parked_games: int | None = None
    games_on_trial: int | None = None


def readiness(desk: Desk, limits: Limits) -> Readiness:
    """Look at everything that has to work. Never raises for what is away: that is the answer."""
    problems: list[str] = []
    workers: int | None = None
    silent: float | None = None
    waiting: int | None = None
    oldest: float | None = None
    elsewhere: int | None = None
    lost: int | None = None
    parked: int | None = None
    on_trial: int | None = None
    trouble = desk.store.health.trouble()
    if trouble:
        problems.append(trouble)
    elif desk.room is not None and desk.room.is_closed_to_guests():
        problems.append("store-full")
    try:
        since = () if trouble == "store-away" else desk.store.waiting_since()
        lost = None if trouble == "store-away" else len(held(desk.store))
        if lost:
            problems.append("games-held")
        waiting = None if trouble == "store-away" else len(since)
        elsewhere = None if trouble == "store-away" else len(desk.store.waiting_for_engines())
        parked = None if trouble == "store-away" else len(desk.store.parked())
        on_trial = None if trouble == "store-away" else len(desk.store.suspicious())
        now = datetime.fromisoformat(desk.clock()) if since else datetime.now(UTC)
        oldest = max((max(0.0, (now - datetime.fromisoformat(at)).total_seconds()) for at in since), default=0.0)
        if oldest > limits.waiting_seconds:
            problems.append("rulings-late")
    except (StoreAway, StoreRefuses):
        if not trouble:
            problems.append("store-away")
    try:
        pulse = None if desk.bell is None else feel(desk.bell.client)
        if pulse is not None:
            workers = pulse.living(limits.silent_seconds)
            silent = pulse.silent_seconds[0] if pulse.silent_seconds else None
        if not workers:
            problems.append("worker-silent" if silent is not None else "no-worker")
    except (redis.exceptions.RedisError, OSError):
        problems.append("queue-away")
    return Readiness(
        status="not-ready" if problems else "ready",
        problems=tuple(problems),
        engine=desk.judge.engine,
        workers=workers,
        worker_silent_seconds=silent,
        waiting_games=waiting,
        oldest_waiting_seconds=oldest,
        waiting_for_engine=elsewhere,
        held_games=lost,
        parked_games=parked,
        games_on_trial=on_trial,
    )
