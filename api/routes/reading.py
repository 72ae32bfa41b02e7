"""Reading a position: what a seat owes, a view of any version, the board as text."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from api import wire
from api.dependencies import caller_of, desk_of, etag, needing, reading, reading_headers, unchanged, version_of
from api.openapi import AT, IF_NONE_MATCH, describe

router = APIRouter()


@router.get(
    "/games/{game}/owed",
    openapi_extra=describe(
        says="What the caller's seat owes, with every legal answer, the default, and answers as text",
        gives={200: wire.Owes, 304: None},
        token="of a seat",
        headers=(AT, IF_NONE_MATCH),
        fails=(400, 401, 403, 404),
    ),
)
def owed(request: Request, game: str, at: str | None = None) -> Response:
    """Empty lists when nothing is owed and nothing can be replaced."""
    desk = desk_of(request)
    caller = caller_of(request, game)
    needing(caller, ("seat",), "a seat")
    assert caller.seat is not None, "a seat's token names it"
    wanted = version_of(request, game, at)
    known = unchanged(request, etag(wanted))
    if known is not None:
        return known
    version, view = desk.view(game, caller, wanted)
    owes, replaceable = (tuple(map(wire.question, some)) for some in (view.owes, view.replaceable))
    told = wire.Owes(game, version, caller.seat, view.house, owes, replaceable)
    return reading(told, etag(version))


@router.get(
    "/games/{game}/view",
    openapi_extra=describe(
        says="The position as the caller may see it, at any version",
        gives={200: wire.SeatView, 304: None},
        token="any",
        headers=(AT, IF_NONE_MATCH),
        fails=(400, 401, 403, 404),
    ),
)
def view(request: Request, game: str, at: str | None = None) -> Response:
    """What the seat, or the public, knew then; for ever the same."""
    desk = desk_of(request)
    caller = caller_of(request, game)
    wanted = version_of(request, game, at)
    known = unchanged(request, etag(wanted))
    if known is not None:
        return known
    version, seen = desk.view(game, caller, wanted)
    owes, replaceable = (tuple(map(wire.question, some)) for some in (seen.owes, seen.replaceable))
    told = wire.SeatView(game, version, seen.house, seen.position, seen.own, owes, replaceable)
    return reading(told, etag(version))


@router.get(
    "/games/{game}/board",
    openapi_extra=describe(
        says="The board as text",
        gives={200: wire.TEXT, 304: None},
        token="any",
        headers=(AT, IF_NONE_MATCH),
        fails=(400, 401, 403, 404),
    ),
)
def board(request: Request, game: str, at: str | None = None) -> Response:
    """For people, and for letters."""
    desk = desk_of(request)
    caller = caller_of(request, game)
    wanted = version_of(request, game, at)
    known = unchanged(request, etag(wanted))
    if known is not None:
        return known
    version, text = desk.board(game, caller, wanted)
    return Response(text.encode() + b"\n", 200, reading_headers(etag(version)), wire.TEXT)
