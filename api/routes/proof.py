"""What players keep as proof: the server's key, and signed checkpoints of a game's chain."""

from __future__ import annotations

import threading

from fastapi import APIRouter, Request
from starlette.responses import Response

from api import wire
from api.bench import Bench
from api.bundling import bundle
from api.dependencies import caller_of, desk_of, etag, needing, reading, reading_headers, unchanged, version_of
from api.desk import Desk
from api.errors import Edge
from api.openapi import AT, IF_NONE_MATCH, Header, describe
from api.tokens import ORGANISER, Caller
from domain.thrones.language.state import State
from events.envelope import Receipt, Stored

router = APIRouter()

RULING_SECONDS = 20.0
"""How long a read of secrets waits until it is written down."""

MOST_BUNDLES = 2
"""At a time: one is made in memory, and takes a few times the bytes of its game."""

_bundling = threading.BoundedSemaphore(MOST_BUNDLES)

EVERY_SECRET = "the whole game, every secret included"
SECRETS_OF_ALL = "the whole record with everything that is sealed for any House"

SECRETS = Header("secrets", "query", "what is sealed, too, for those who may; it is written down", "boolean")
WHY = Header("why", "query", "why the secrets are read, for everybody to see after the end")


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
        headers=(AT, IF_NONE_MATCH),
        fails=(400, 401, 403, 404),
    ),
)
def checkpoint(request: Request, game: str, at: str | None = None) -> Response:
    """Whoever has one can show later that the record was rewritten, if it was."""
    desk = desk_of(request)
    caller_of(request, game)
    version, note = desk.checkpoint(game, None if at is None else version_of(request, game, at))
    tag = etag(version)
    return unchanged(request, tag) or Response(note, 200, reading_headers(tag), wire.TEXT)


@router.get(
    "/games/{game}/checkpoints",
    openapi_extra=describe(
        says="The signed checkpoints that this server has handed out, and keeps",
        gives={200: wire.Checkpoints, 304: None},
        token="any",
        headers=(AT, IF_NONE_MATCH),
        fails=(400, 401, 403, 404),
    ),
)
def checkpoints(request: Request, game: str, at: str | None = None) -> Response:
    """One for every receipt and for every one that was asked for; none is ever replaced."""
    desk = desk_of(request)
    caller_of(request, game)
    version = version_of(request, game, at)
    known = unchanged(request, etag(version))
    if known is not None:
        return known
    return reading(wire.Checkpoints(game, version, desk.checkpoints(game, version)), etag(version))


@router.get(
    "/games/{game}/bundle",
    openapi_extra=describe(
        says="The game as one file: ledger, signed checkpoints, log, boards, as far as the caller may see them",
        gives={200: wire.ZIP, 304: None},
        token="any; secrets need that of the organiser or the operator",
        headers=(AT, SECRETS, WHY, IF_NONE_MATCH),
        fails=(400, 401, 403, 404, 409, 422),
    ),
)
def game_bundle(request: Request, game: str, at: str | None = None, secrets: bool = False, why: str = "") -> Response:
    """With ``secrets`` it can be imported by another server and goes on there; that is a read by privilege."""
    desk = desk_of(request)
    caller = caller_of(request, game)
    version = version_of(request, game, at)
    if secrets:
        needing(caller, (ORGANISER, "operator"), "the organiser or the operator")
        write_down(desk, game, caller, EVERY_SECRET, why)
        version = version_of(request, game, at)
    tag = etag(version, "-secrets" if secrets else "")
    known = unchanged(request, tag)
    if known is not None:
        return known
    house = None if secrets else desk.house_of(desk.line(game).state, caller)
    seats = () if secrets or caller.seat is None else (caller.seat,)
    if not _bundling.acquire(blocking=False):
        detail = f"This server makes {MOST_BUNDLES} bundles at a time. Try again in a moment."
        raise Edge(503, "bundles-busy", detail, {"Retry-After": "5"})
    try:
        made = bundle(desk, game, full=secrets, player=house, seats=seats, at=version)
    finally:
        _bundling.release()
    name = {"Content-Disposition": f'attachment; filename="{game}.zip"'}
    return Response(made, 200, {**reading_headers(tag), **name}, wire.ZIP)


def write_down(desk: Desk, game: str, caller: Caller, what: str, why: str) -> None:
    """Record a read by privilege before anything is shown; after the end nothing is secret any more.

    Raises Refusal without a reason, and for an arbiter who plays in the game.
    """
    state: State = desk.line(game).state
    if state.is_disclosed:
        return

    def ruled(receipt: Receipt) -> Stored:
        found = desk.ruling(receipt.game, receipt.inbox, RULING_SECONDS)
        if found is None:
            detail = "The read could not be written down yet, so nothing is shown. Try again in a moment."
            raise Edge(503, "not-written-down", detail, {"Retry-After": "2"})
        return found

    bench = Bench(desk, ruled)
    bench.check_seat(state, caller.plays)
    bench.write_down(game, caller, what, why)
