"""The ledger: the log, single entries, the export, and the stream of what happens."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from api import wire
from api.dependencies import (
    caller_of,
    desk_of,
    etag,
    needing,
    reading,
    reading_headers,
    token_of,
    unchanged,
    version_of,
    watch_of,
)
from api.desk import Desk, NoSuchVersion
from api.errors import Edge, log_ours, problem_of
from api.listening import Tally, origin
from api.openapi import AT, IF_NONE_MATCH, LAST_EVENT, Header, describe
from api.routes.proof import EVERY_SECRET, SECRETS, SECRETS_OF_ALL, WHY, write_down
from api.tokens import ARBITER, ORGANISER, Caller
from domain.thrones.language.state import State
from events.errors import StoreAway
from events.export import export_game
from events.limits import PAGE_BYTES

router = APIRouter()

MOST_ENTRIES = 200
HEARTBEAT_SECONDS = 15.0
"""Proxies cut lines that are silent for a minute."""

AFTER = Header("after", "query", "entries behind this version", "integer")
LIMIT = Header("limit", "query", f"at most so many entries, {MOST_ENTRIES} or fewer", "integer")


def _rulings(
    desk: Desk, game: str, caller: Caller, after: int, count: int | None, at: int | None = None
) -> Iterator[wire.Ruling]:
    """Entries for the caller's eyes, marked as struck out where they were at ``at``."""
    state: State = desk.line(game).state
    house = desk.house_of(state, caller)
    prose = desk.prose(game)
    struck = desk.struck_out(game, at)
    for stored in desk.store.entries(game, after, count):
        read = desk.marked(game, desk.readable(stored, house, prose), struck)
        yield wire.ruling(read, desk.shown(stored, house))


@router.get(
    "/games/{game}/log",
    openapi_extra=describe(
        says="Ledger entries in order, as the caller may read them",
        gives={200: wire.Log, 304: None},
        token="any",
        headers=(AFTER, LIMIT, AT, IF_NONE_MATCH),
        fails=(400, 401, 403, 404),
    ),
)
def log(
    request: Request,
    game: str,
    after: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_ENTRIES)] = MOST_ENTRIES,
    at: str | None = None,
) -> Response:
    """Each with its English and its stored bytes; with ``at`` up to that entry, and without later rewinds.

    A page is bounded by bytes too; ``next``, and a ``Link`` header, say where the following one begins.
    """
    desk = desk_of(request)
    caller = caller_of(request, game)
    version = version_of(request, game, at)
    if after > version:
        raise NoSuchVersion(after, version)
    known = unchanged(request, etag(version))
    if known is not None:
        return known
    count = min(limit, version - after)
    entries = tuple(_some(_rulings(desk, game, caller, after, count, version))) if count else ()
    reached = after + len(entries)
    following = reached if reached < version else None
    told = reading(wire.Log(game, version, after, following, entries), etag(version))
    if following is not None:
        told.headers["Link"] = f'<{request.url.include_query_params(after=following)}>; rel="next"'
    return told


@router.get(
    "/games/{game}/entries/{seq}",
    openapi_extra=describe(
        says="One ledger entry",
        gives={200: wire.Ruling, 304: None},
        token="any",
        headers=(AT, IF_NONE_MATCH),
        fails=(400, 401, 403, 404),
    ),
)
def entry(request: Request, game: str, seq: int, at: str | None = None) -> Response:
    """As the caller may read it; with ``at`` without a later rewind that strikes it out."""
    desk = desk_of(request)
    caller = caller_of(request, game)
    version = version_of(request, game, at)
    if not 0 < seq <= version:
        raise NoSuchVersion(seq, version)
    ruling = next(_rulings(desk, game, caller, seq - 1, 1, version))
    tag = etag(seq, f"-struck-{ruling.struck.by}" if ruling.struck else "")
    return unchanged(request, tag) or reading(ruling, tag)


@router.get(
    "/games/{game}/export",
    openapi_extra=describe(
        says="The whole game for the caller's eyes, one JSON document a line, to be checked without a server",
        gives={200: wire.LINES, 304: None},
        token="any; secrets need that of the organiser, the operator or an arbiter",
        headers=(AT, SECRETS, WHY, IF_NONE_MATCH),
        fails=(400, 401, 403, 404, 422),
    ),
)
def export(request: Request, game: str, at: str | None = None, secrets: bool = False, why: str = "") -> Response:
    """A seat gets its own submissions and secrets; with ``at`` up to that entry.

    With ``secrets`` organiser and operator get everything, to be imported elsewhere, and an arbiter what is sealed for
    any House, without seed and decks. That is a read by privilege.
    """
    desk = desk_of(request)
    caller = caller_of(request, game)
    version = version_of(request, game, at)
    if secrets:
        needing(caller, (ORGANISER, "operator", ARBITER), "the organiser or an arbiter")
        write_down(desk, game, caller, SECRETS_OF_ALL if caller.role == ARBITER else EVERY_SECRET, why)
        version = version_of(request, game, at)
    tag = etag(version, "-secrets" if secrets else "")
    known = unchanged(request, tag)
    if known is not None:
        return known
    state: State = desk.line(game).state
    full = secrets and caller.role != ARBITER
    house = desk.house_of(state, caller)
    seats = tuple(state.charter.seats) if secrets else () if caller.seat is None else (caller.seat,)
    lines = export_game(
        desk.store, game, full=full, player=house, seats=seats, privileged=secrets and not full, at=version
    )
    begun = next(lines)  # what is damaged is refused before the first byte
    return StreamingResponse(itertools.chain((begun,), lines), 200, reading_headers(tag), wire.LINES)


@router.get(
    "/games/{game}/events",
    openapi_extra=describe(
        says="Server-sent events: one for every entry, its id the number of the entry",
        gives={200: wire.STREAM},
        token="any",
        headers=(AFTER, LAST_EVENT),
        fails=(400, 401, 403, 404, 429),
    ),
)
async def events(request: Request, game: str, after: Annotated[int | None, Query(ge=0)] = None) -> Response:
    """From the entry behind ``Last-Event-ID`` or ``after``, or from now on."""
    desk = desk_of(request)
    caller = await run_in_threadpool(caller_of, request, game)
    version = await run_in_threadpool(desk.store.version, game)
    start = _start(request, version if after is None else after)
    if start > version:
        raise NoSuchVersion(start, version)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "Vary": "Authorization"}
    # What is damaged is told before the first byte, where that is known by then.
    behind = await run_in_threadpool(_page, desk, game, caller, start) if start < version else []
    lines = _stream(request, desk, game, caller, start, behind)
    return Listened(lines, headers, request.app.state.streams, _listener(request))


class Listened(StreamingResponse):
    """A stream that counts as long as it is sent. Raises Edge (429) instead of beginning one too many."""

    def __init__(self, lines: AsyncIterator[bytes], headers: dict[str, str], tally: Tally, whose: str) -> None:
        super().__init__(lines, 200, headers, wire.STREAM)
        self.tally = tally
        self.whose = whose

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        most = self.tally.most
        with self.tally.one(self.whose, "too-many-streams", f"A token may have {most} event streams at once."):
            await super().__call__(scope, receive, send)


def _listener(request: Request) -> str:
    """Who listens: a token, by its digest, or an address."""
    token = token_of(request)
    if token is not None:
        return hashlib.sha256(token.encode()).hexdigest()
    return origin(request.client.host if request.client is not None else "")


def _start(request: Request, after: int) -> int:
    last = request.headers.get("last-event-id", "").strip()
    if not last:
        return after
    if not (last.isascii() and last.isdecimal() and len(last) < 10):
        raise Edge(400, "bad-version", "Last-Event-ID is the number of an entry.")
    return int(last)


async def _stream(
    request: Request, desk: Desk, game: str, caller: Caller, after: int, behind: list[wire.Ruling]
) -> AsyncIterator[bytes]:
    """Events as long as the caller listens and his token is good, those ``behind`` his place first.

    What else ends it is told by a last event: its head was sent as 200.
    """
    yield b"retry: 2000\n\n"
    for ruling in behind:
        after = ruling.seq
        yield _event(ruling)
    try:
        async for some in _grown(request, desk, game, caller, after):
            yield some
    except Exception as error:  # noqa: BLE001 - whatever it is, the listener is told, and it is written down
        log_ours(error)
        problem, _ = problem_of(error)
        request.state.problem, request.state.logged_status = problem.code, problem.status
        yield b"event: problem\ndata: %s\n\n" % wire.to_bytes(problem)


def _event(ruling: wire.Ruling) -> bytes:
    return b"id: %d\nevent: entry\ndata: %s\n\n" % (ruling.seq, wire.to_bytes(ruling))


async def _grown(request: Request, desk: Desk, game: str, caller: Caller, after: int) -> AsyncIterator[bytes]:
    """What comes behind a version, without end; a line now and then where nothing does."""
    heartbeat: float = request.app.state.heartbeat_seconds
    while True:
        try:
            grown = await watch_of(request).reached(game, after + 1, heartbeat)
            if await run_in_threadpool(desk.tokens.caller, game, token_of(request)) != caller:
                return  # a new token was issued; the old one hears no more
            if not grown:
                yield b": still here\n\n"
                continue
            for ruling in await run_in_threadpool(_page, desk, game, caller, after):
                after = ruling.seq
                yield _event(ruling)
        except StoreAway:
            # An answer of 503 would make a browser give up for good; this line it keeps.
            yield b": the store is away\n\n"
            await asyncio.sleep(min(heartbeat, 1.0))


def _some(rulings: Iterable[wire.Ruling]) -> Iterator[wire.Ruling]:
    """The first of these that have about a page of bytes together; one in any case."""
    size = 0
    for ruling in rulings:
        yield ruling
        size += len(ruling.record.public) + sum(len(part.body) for part in ruling.record.sealed)
        if size >= PAGE_BYTES:
            return


def _page(desk: Desk, game: str, caller: Caller, after: int) -> list[wire.Ruling]:
    return list(_some(_rulings(desk, game, caller, after, MOST_ENTRIES)))
