"""Shared seeds as the operator asks for them: one is made, takes tables, is closed; everybody can look at it."""

from __future__ import annotations

import os
import secrets
from typing import Literal

import msgspec

from api.desk import Desk
from domain.kernel.chance import commitment
from domain.kernel.shared import Stage
from domain.thrones.language.state import State
from domain.thrones.ruleset import THRONES
from events.shared import SharedRecord, SharedSeeds


class Table(msgspec.Struct, frozen=True):
    """A game that draws from a shared seed. ``stage``: it is played, has ended, or has the open seed on its record."""

    game: str
    stage: Stage
    round: int
    winner: str | None


class Shared(msgspec.Struct, frozen=True):
    """A shared seed as everybody may know it.

    ``taking-tables``: more may come; ``closed``: no more; ``open``: all have ended, and ``seed`` is for everybody.
    """

    id: str
    commitment: str
    created: str
    state: Literal["taking-tables", "closed", "open"]
    tables: tuple[Table, ...]
    seed: str = ""


def create_shared(desk: Desk, name: str = "", key: str = "") -> Shared:
    """Make a seed for several tables. Nobody gets to see it. Raises SharedSeedExists, BadGameId."""
    seed = os.urandom(32).hex()
    record = SharedRecord(
        id=name or secrets.token_hex(6),
        seed=seed,
        commitment=commitment(seed),
        created=desk.clock(),
        rules=THRONES.name,
    )
    return _shared(desk, SharedSeeds(desk.store).create(record, key))


def close_shared(desk: Desk, name: str) -> Shared:
    """No more tables: once all have ended, the seed is opened. Raises SharedSeedUnknown."""
    return _shared(desk, SharedSeeds(desk.store).close(name, desk.clock()))


def shared(desk: Desk, name: str) -> Shared:
    """What everybody may know of a shared seed. Raises SharedSeedUnknown."""
    return _shared(desk, SharedSeeds(desk.store).read(name))


def all_shared(desk: Desk) -> tuple[Shared, ...]:
    """Every shared seed of this server."""
    return tuple(shared(desk, name) for name in SharedSeeds(desk.store).names())


def _shared(desk: Desk, record: SharedRecord) -> Shared:
    games = [game for game in SharedSeeds(desk.store).tables(record.id) if desk.store.exists(game)]
    return Shared(
        id=record.id,
        commitment=record.commitment,
        created=record.created,
        state="open" if record.opened else "closed" if record.closed else "taking-tables",
        tables=tuple(_table(desk, game) for game in games),
        seed=record.seed if record.opened else "",
    )


def _table(desk: Desk, game: str) -> Table:
    state: State = desk.line(game).state
    return Table(game, state.shared_stage or "playing", state.round, state.winner)


def adopt(desk: Desk, game: str) -> None:
    """Write down a table that was imported, so that its seed is not opened without it.

    A seed that is not known here is, from now on; it takes tables until it is closed. Raises SharedSeedExists when
    another seed goes by that name.
    """
    state: State = desk.line(game).state
    use = state.charter.shared_seed
    opening = next(desk.store.submissions(game, 0, 1), None)
    if use is None or opening is None:
        return
    seeds = (*state.hidden.former, state.hidden.seed)
    known_since = desk.clock() if state.shared_stage == "open" else ""  # then nobody may draw from it any more
    record = SharedRecord(
        id=use.id,
        seed=next(seed for seed in seeds if commitment(seed) == use.commitment),
        commitment=use.commitment,
        created=desk.clock(),
        rules=THRONES.name,
        closed=known_since,
        opening=known_since,
    )
    SharedSeeds(desk.store).adopt(record, game, opening)
