"""Charters: what a table can play, and how a game's charter differs from its book."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from api import wire
from api.dependencies import caller_of, desk_of, etag, reading, reading_headers, unchanged, version_of
from api.errors import Edge
from api.openapi import AT, IF_NONE_MATCH, Header, describe
from domain.kernel.printing import printable
from domain.thrones.tables.behaviour import ENGINE
from domain.thrones.tables.charters import Catalogue, Explanation, catalogue, explain_charter

router = APIRouter()

ACCEPT = Header("Accept", "header", "text/plain for sentences; else JSON")


@router.get(
    "/charters",
    openapi_extra=describe(
        says="What a charter can say: presets, switches with their readings, what each word needs",
        gives={200: Catalogue, 304: None},
        headers=(IF_NONE_MATCH,),
    ),
)
def charters(request: Request) -> Response:
    """For whoever creates a game: ``edition`` is a preset, ``switches`` are these names and words."""
    tag = etag(int(ENGINE, 16), "-charters")
    return unchanged(request, tag) or reading(catalogue(), tag)


@router.get(
    "/games/{game}/charter",
    openapi_extra=describe(
        says="How the charter of a game differs from its book, and what is assumed",
        gives={200: Explanation, 304: None},
        token="any",
        headers=(ACCEPT, AT, IF_NONE_MATCH),
        fails=(400, 401, 403, 404),
    ),
)
def charter(request: Request, game: str, at: str | None = None) -> Response:
    """404 until there is one; also of a game whose seats still make the seed."""
    desk = desk_of(request)
    caller_of(request, game)
    version = version_of(request, game, at)
    agreed = desk.agreed(game, version)
    if not agreed.edition:
        raise Edge(404, "not-started", "The game has no charter yet.")
    as_plain = "text/plain" in request.headers.get("accept", "")
    tag = etag(version, "-text" if as_plain else "")
    known = unchanged(request, tag)
    if known is not None:
        return known
    told = explain_charter(agreed)
    answer = (
        Response((printable("\n".join(told.sentences)) + "\n").encode(), 200, reading_headers(tag), wire.TEXT)
        if as_plain
        else reading(told, tag)
    )
    answer.headers["Vary"] = "Authorization, Accept"
    return answer
