"""Certificates: one entry explained, for programs and as a text for people."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from api import wire
from api.certificate import Certificate, as_text, certify
from api.dependencies import caller_of, desk_of, etag, reading, reading_headers, unchanged, version_of
from api.openapi import AT, IF_NONE_MATCH, Header, describe

router = APIRouter()

ACCEPT = Header("Accept", "header", "text/plain for one text that explains itself; else JSON")


@router.get(
    "/games/{game}/entries/{seq}/certificate",
    openapi_extra=describe(
        says="A ruling explained: who, each rule with its text, the arithmetic, the draws, the board before and after",
        gives={200: Certificate, 304: None},
        token="any",
        headers=(ACCEPT, AT, IF_NONE_MATCH),
        fails=(400, 401, 403, 404),
    ),
)
def certificate(request: Request, game: str, seq: int, at: str | None = None) -> Response:
    """As far as the caller may see it; with ``at`` without what later entries say of it."""
    desk = desk_of(request)
    caller = caller_of(request, game)
    as_plain = "text/plain" in request.headers.get("accept", "")
    found = certify(desk, game, caller, seq, None if at is None else version_of(request, game, at))
    proven = "-proven" if any(one.salt for one in found.draws) or any(one.salt for one in found.cards) else ""
    struck = f"-struck-{found.struck.by}" if found.struck else ""
    tag = etag(seq, f"{struck}{proven}{'-text' if as_plain else ''}")
    headers = {**reading_headers(tag), "Vary": "Authorization, Accept"}
    known = unchanged(request, tag)
    if known is not None:
        return known
    if as_plain:
        return Response(as_text(found).encode(), 200, headers, wire.TEXT)
    answer = reading(found, tag)
    answer.headers["Vary"] = headers["Vary"]
    return answer
