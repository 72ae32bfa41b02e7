"""Forks, over whichever way they are asked for: who may make which, and what comes of it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec

from api.bench import Bench, Ruled
from api.desk import Desk, NotAllowed, check_seats
from api.quota import Quota
from api.tokens import ORGANISER, Caller
from domain.kernel.docket import Origin
from domain.kernel.refusal import Refusal
from domain.thrones.language.start import Start
from domain.thrones.language.state import State
from domain.thrones.review.forking import Memory, start_of_fork
from events.envelope import Receipt
from events.errors import GameExists
from events.ruling import Line

MOST_PURPOSE = 200


class Fork(msgspec.Struct, frozen=True):
    """A fork just made: its id, where it comes from, and tokens of all its seats, shown only now to its maker."""

    game: str
    origin: Origin
    receipt: Receipt
    organiser: str
    seats: dict[str, str]
    tokens: dict[str, str]


def fork(
    desk: Desk,
    game: str,
    caller: Caller,
    *,
    at: int | None = None,
    purpose: str = "",
    name: str | None = None,
    seats: Mapping[str, str] | None = None,
    why: str = "",
    redraw: bool = False,
    seed: str = "",
    ruled: Ruled = lambda receipt: None,
) -> Fork:
    """Make a new game that begins where ``game`` stood at version ``at``.

    A seat's begins with what the seat could see then. The organiser's and an arbiter's has everything as it was, or
    with ``redraw`` what everybody could see; while the game runs the former needs a ``why``, which goes on its record,
    where ``ruled`` sees to it. Without ``seats`` every House gets one, and all their tokens go to the maker. A ``seed``
    makes the draws known.
    Raises NotAllowed, TooManyForks, Refusal, NoSuchVersion, GameUnknown, GameExists, BadGameId.
    """
    if caller.role == "public":
        raise NotAllowed("a seat or the organiser")
    if name is not None and desk.store.exists(name):
        raise GameExists(name)
    desk.check_room()
    line = desk.line(game, at)
    start = start_for(desk, game, caller, line, purpose=purpose, seats=seats, redraw=redraw, seed=seed)
    desk.check_start(start)  # what cannot begin is refused before anything is written down
    assert start.origin is not None, "a fork names its origin"
    name = name or secrets.token_hex(6)
    with _counted(desk, game, caller, name):
        if start.origin.hidden and not desk.line(game).state.is_disclosed:
            bench = Bench(desk, ruled)
            bench.check_seat(line.state, caller.plays)
            bench.write_down(game, caller, f"a fork of version {line.version} with all that is hidden", why)
        most = 0 if desk.quotas is None or caller.role == "operator" else desk.quotas.fork_bytes
        receipt = desk.begin(name, start, most=most)
    sitting = dict(start.charter.seats)
    tokens = {seat: desk.tokens.issue(name, seat, caller.called) for seat in sitting}
    return Fork(name, start.origin, receipt, desk.tokens.issue(name, ORGANISER, caller.called), sitting, tokens)


@contextmanager
def _counted(desk: Desk, game: str, caller: Caller, name: str) -> Iterator[None]:
    """A fork within what its maker may make; one that comes to nothing does not count."""
    quota = Quota(desk.store)
    maker = quota.maker(game, caller)
    if maker is None:
        yield
        return
    is_new = quota.take(maker, name, desk.most_forks, tell=maker.game == game)
    try:
        yield
    except Exception:
        if is_new:
            quota.give_back(maker, name)
        raise
    quota.sign(maker, name)


def start_for(
    desk: Desk,
    game: str,
    caller: Caller,
    line: Line,
    *,
    purpose: str = "",
    seats: Mapping[str, str] | None = None,
    redraw: bool = False,
    seed: str = "",
) -> Start:
    """The command that begins a fork of ``game`` at ``line``, for what its maker may know."""
    purpose = " ".join(purpose.split()) or "analysis"
    if len(purpose) > MOST_PURPOSE:
        raise Refusal("purpose-too-long", most=MOST_PURPOSE, length=len(purpose))
    state: State = line.state
    given = dict(seats) if seats is not None else {house: house for house in state.houses}
    check_seats(given)
    sees_all = caller.is_organiser or caller.is_arbiter
    memory = None if sees_all and not redraw else _memory(desk, game, desk.house_of(state, caller), line)
    return start_of_fork(
        desk.edition(state),
        state,
        Origin(game, line.version, line.head, purpose),
        given,
        seed or os.urandom(32).hex(),
        memory,
        is_stated=bool(seed),
    )


def _memory(desk: Desk, game: str, house: str | None, line: Line) -> Memory:
    """What a House knows of the record up to a version."""
    memory = Memory(house)
    if line.version:
        for stored in desk.store.entries(game, 0, line.version):
            memory.read(desk.judge.codec.facts(stored))
    return memory


def is_closed(desk: Desk, game: str) -> bool:
    """Whether a game is not for the public: a fork with all that is hidden in a game that still runs.

    So are the forks of such a fork, since their boards tell of it. What does not lie here may still run. And so is a
    table that shares its seed, with its forks, until that seed is open: what it draws, slower tables will draw.
    """
    if _tells_of_tables(desk, game):
        return True
    origin = desk.origin(game)
    known = {game}
    while origin is not None and origin.game not in known:
        found = is_here(desk, origin)
        if origin.hidden and not (found and desk.line(origin.game).state.is_disclosed):
            return True
        if found and _tells_of_tables(desk, origin.game):
            return True
        known.add(origin.game)
        origin = desk.origin(origin.game) if found else None
    return False


def _tells_of_tables(desk: Desk, game: str) -> bool:
    state: State = desk.line(game).state
    return state.shared_stage in ("playing", "ended")


def is_here(desk: Desk, origin: Origin) -> bool:
    """Whether the game that a fork names lies in the same store, and not another one of its name."""
    entry = desk.store.entry(origin.game, origin.version)
    return entry is not None and entry.digest == origin.digest
