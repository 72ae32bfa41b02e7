"""What players keep as proof: the server's key, and signed checkpoints of a game's chain."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from api import wire
from api.dependencies import caller_of, desk_of, etag, reading_headers, unchanged
from api.openapi import IF_NONE_MATCH, describe

router = APIRouter()


@router.get("/key", openapi_extra=describe(says="The public key of this server, one line", gives={200: wire.TEXT}))
def key(request: Request) -> Response:
    """Keep it: what checks a signature must not come with the signature."""
    return Response(desk_of(request).key().text() + "\n", 200, {"Cache-Control": "no-cache"}, wire.TEXT)


@router.get(
    "/games/{game}/checkpoint",
    openapi_extra=describe(
        says="A signed note of how long the ledger is and what its last digest is",
        gives={200: wire.TEXT, 304: None},
        token="any",
        headers=(IF_NONE_MATCH,),
        fails=(401, 403, 404),
    ),
)
def checkpoint(request: Request, game: str) -> Response:
    """Whoever has one can show later that the record was rewritten, if it was."""
    desk = desk_of(request)
    caller_of(request, game)
    version, note = desk.checkpoint(game)
    tag = etag(version)
    return unchanged(request, tag) or Response(note, 200, reading_headers(tag), wire.TEXT)
