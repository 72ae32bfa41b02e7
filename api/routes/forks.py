"""Forks: a new game that begins where another one stood."""

from __future__ import annotations

import hashlib
from typing import Annotated

import msgspec
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from api import wire
from api.dependencies import answer, body_of, caller_of, decoded, desk_of, key_of, needing, wait_of, watch_of
from api.desk import Desk
from api.forking import MOST_PURPOSE, Fork, fork
from api.openapi import KEY, PREFER, describe
from api.tokens import ARBITER, ORGANISER, Caller
from domain.kernel.docket import Origin
from events.limits import MOST_ANSWER_BYTES

router = APIRouter()


class ForkOrder(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A fork to be made, of the present version or of that ``at`` an earlier entry or time.

    ``purpose`` is shown wherever the fork is. ``seats`` maps seat ids to Houses; without it every House gets a seat.
    The fork of the organiser or an arbiter has everything as it was, and needs a ``why`` while the game runs; with
    ``redraw`` it begins with what everybody could see, as a seat's begins with what that seat could see.
    """

    at: int | str | None = None
    purpose: Annotated[str, msgspec.Meta(max_length=MOST_PURPOSE)] = ""
    game: str | None = None
    seats: Annotated[dict[str, str], msgspec.Meta(min_length=1)] | None = None
    why: str = ""
    redraw: bool = False


class ForkMade(msgspec.Struct, frozen=True):
    """A fork. The tokens, those of all seats, are shown this once, to its maker."""

    game: str
    origin: Origin
    seats: dict[str, str]
    tokens: dict[str, str]
    organiser: str


@router.post(
    "/games/{game}/fork",
    openapi_extra=describe(
        says="Make a fork: a new game that begins where this one stood",
        takes=ForkOrder,
        gives={201: ForkMade},
        token="of a seat, an arbiter, the organiser or the operator",
        headers=(KEY, PREFER),
        fails=(400, 401, 403, 404, 409, 413, 422, 503),
    ),
)
async def make_fork(request: Request, game: str) -> Response:
    """With an idempotency key and no id of its own, a repetition meets the first fork."""
    desk = desk_of(request)
    caller = await run_in_threadpool(caller_of, request, game)
    needing(caller, ("seat", ORGANISER, ARBITER, "operator"), "a seat, an arbiter or the organiser")
    order = wire.strictly(decoded(await body_of(request, MOST_ANSWER_BYTES)), ForkOrder)
    made = await run_in_threadpool(_make, desk, game, caller, order, key_of(request))
    seconds = wait_of(request)
    applied = {}
    if seconds is not None and await watch_of(request).reached(made.game, 1, seconds):
        applied = {"Preference-Applied": f"wait={seconds}"}
    told = ForkMade(made.game, made.origin, made.seats, made.tokens, made.organiser)
    return answer(told, 201, {"Location": f"/v1/games/{made.game}", **applied})


def _make(desk: Desk, game: str, caller: Caller, order: ForkOrder, key: str) -> Fork:
    name = order.game
    if name is None and key:
        whose = "\x00".join((game, caller.seat or "", caller.role, key))
        name = hashlib.sha256(b"rookery/fork/1\x00" + whose.encode()).hexdigest()[:12]
    return fork(
        desk,
        game,
        caller,
        at=None if order.at is None else desk.version_of(game, str(order.at)),
        purpose=order.purpose,
        name=name,
        seats=order.seats,
        why=order.why,
        redraw=order.redraw,
    )
