"""Commands: sending one in, and what became of it."""

from __future__ import annotations

import re

import msgspec
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from api import wire
from api.dependencies import (
    answer,
    body_of,
    caller_of,
    decoded,
    desk_of,
    etag,
    key_of,
    media_type,
    most_of,
    needing,
    reading,
    seen_of,
    unchanged,
    version_of,
    wait_of,
    watch_of,
)
from api.desk import Desk, LogEntry
from api.errors import Edge, RefusedRuling, refused
from api.games.thrones.sentences import Prose
from api.openapi import AT, IF_MATCH, IF_NONE_MATCH, KEY, PREFER, SEEN, describe
from api.tokens import ORGANISER, Caller
from events.envelope import Cause, Receipt, Refused, encode, number_of
from events.errors import StoreAway
from events.limits import MOST_LETTER_BYTES

router = APIRouter()

BEGIN_SECONDS = 5.0
"""How long a letter may wait for the first entry of its game."""

_INBOX = re.compile(r"[1-9][0-9]{0,8}-0")


class _Sent(msgspec.Struct, frozen=True):
    """What a request asks to be taken in."""

    command: bytes
    cause: Cause
    seen: int | None


@router.post(
    "/games/{game}/commands",
    openapi_extra=describe(
        says="Send a command: an answer of a seat, or the organiser's pass-deadline or state-draws",
        takes=wire.AnyCommand,
        letter=True,
        gives={200: wire.Submitted, 201: wire.Submitted, 202: wire.Submitted},
        token="of a seat, the organiser or the operator",
        headers=(KEY, PREFER, IF_MATCH, SEEN),
        fails=(400, 401, 403, 404, 409, 413, 415, 422, 429, 503),
    ),
)
async def send_command(request: Request, game: str, seen: int | None = None) -> Response:
    """Taken in whatever it says, as long as it can be read; what it says is ruled on in the ledger."""
    desk = desk_of(request)
    caller = await run_in_threadpool(caller_of, request, game)
    needing(caller, ("seat", ORGANISER, "operator"), "a seat or the organiser")
    key, version, seconds = key_of(request), seen_of(request, seen), wait_of(request)
    sent = await _read(request, game, caller, key, version)
    correlation: str = request.state.correlation
    receipt = await run_in_threadpool(
        desk.submit, game, caller, sent.command, key=key, seen=sent.seen, cause=sent.cause, correlation=correlation
    )
    request.state.inbox = receipt.inbox
    if seconds is not None:
        try:
            if await watch_of(request).reached(game, number_of(receipt.inbox), seconds):
                # Others read the log, and the reason of a refusal may be its author's secret: there it is "taken in".
                request.state.logged_status = 202
                return await run_in_threadpool(_ruled, desk, caller, receipt, seconds)
        except StoreAway:
            pass  # it is taken in all the same, and the answer must say so
    headers = {"Location": place_of(game, receipt.inbox), "Retry-After": "1"}
    return answer(submitted(receipt, None), 202, headers)


async def _read(request: Request, game: str, caller: Caller, key: str, seen: int | None) -> _Sent:
    """The command of a request, read once: JSON, or a letter of one answer."""
    desk = desk_of(request)
    kind = media_type(request)
    if kind == "text/plain":
        needing(caller, ("seat",), "a seat")
        letter = _text(await body_of(request, MOST_LETTER_BYTES))
        await _begun(request, game)
        return await run_in_threadpool(_letter, desk, game, caller, letter, key, seen)
    if kind != wire.JSON and not kind.endswith("+json"):
        raise Edge(
            415, "wrong-media-type", "A command is JSON, or one answer in the notation as text/plain.", type=kind
        )
    body = await body_of(request, most_of(caller))
    value = decoded(body)
    if caller.role == "seat":
        wire.strictly(value, wire.AnyCommand)
        return _Sent(body, "command", seen)
    command = wire.strictly(value, wire.OrganiserCommand)
    return _Sent(body, "deadline" if isinstance(command, wire.MissedDeadline) else "arbiter", seen)


async def _begun(request: Request, game: str) -> None:
    """A letter is read with what the game asks. One that comes right behind the game's creation waits for its begin."""
    if await run_in_threadpool(desk_of(request).store.version, game):
        return
    if await watch_of(request).reached(game, 1, BEGIN_SECONDS):
        return
    waits = await run_in_threadpool(desk_of(request).waits_to_begin, game)
    if waits:
        detail = f"The game has not begun: its beginning waits for {waits}."
        raise Edge(503, "not-begun", detail, {"Retry-After": "600"})
    detail = "The game is created, and its first ruling is still to come. Send the letter again in a moment."
    raise Edge(503, "not-begun", detail, {"Retry-After": "2"})


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise Edge(400, "malformed-text", f"The letter is not UTF-8 (byte {error.start}).") from error


def _letter(desk: Desk, game: str, caller: Caller, letter: str, key: str, seen: int | None) -> _Sent:
    """A letter as a command. Sent again under its key it is read as of the same version, so that it says the same."""
    before = desk.sent_before(game, caller, key)
    if before is not None:
        seen = before.seen
    if seen is None:
        seen = desk.store.version(game)
    return _Sent(encode(desk.read_letter(game, caller, letter, seen)), "command", seen)


def place_of(game: str, inbox: str) -> str:
    return f"/v1/games/{game}/commands/{inbox}"


def submitted(receipt: Receipt, ruling: wire.Ruling | None) -> wire.Submitted:
    return wire.Submitted(
        game=receipt.game,
        inbox=receipt.inbox,
        at=receipt.at,
        digest=receipt.digest,
        again=receipt.again,
        status="pending" if ruling is None else "ruled",
        location=place_of(receipt.game, receipt.inbox),
        ruling=ruling,
        receipt=receipt.note,
    )


def _ruled(desk: Desk, caller: Caller, receipt: Receipt, seconds: int) -> Response:
    """The ruling that the author waited for."""
    ruling, refusal = _status(desk, receipt.game, caller, receipt.inbox)
    assert ruling is not None, "the ledger has come to it"
    headers = {"ETag": etag(ruling.seq), "Preference-Applied": f"wait={seconds}"}
    if refusal is not None:
        raise RefusedRuling(msgspec.structs.replace(refusal, receipt=receipt.note), headers)
    place = {"Location": place_of(receipt.game, receipt.inbox)}
    return answer(submitted(receipt, ruling), 200 if receipt.again else 201, {**headers, **place})


@router.get(
    "/games/{game}/commands/{inbox}",
    openapi_extra=describe(
        says="What became of a submission",
        gives={200: wire.SubmissionStatus, 304: None},
        token="any; what was secret and refused is told in full to its author only",
        headers=(AT, IF_NONE_MATCH),
        fails=(400, 401, 403, 404),
    ),
)
def command_status(request: Request, game: str, inbox: str, at: str | None = None) -> Response:
    """Pending, at that version or now, or the ruling as the caller may read it."""
    desk = desk_of(request)
    caller = caller_of(request, game)
    number = int(inbox.partition("-")[0]) if _INBOX.fullmatch(inbox) else 0
    if not 0 < number <= desk.store.inbox_length(game):
        raise Edge(404, "submission-unknown", f"This game has no submission {inbox!r}.", submission=inbox)
    version = None if at is None else version_of(request, game, at)
    ruling, refusal = _status(desk, game, caller, inbox)
    if ruling is None or (version is not None and ruling.seq > version):
        return answer(wire.SubmissionStatus(game, inbox, "pending"), headers={"Retry-After": "1"})
    tag = etag(ruling.seq)
    told = wire.SubmissionStatus(game, inbox, "ruled", ruling, refusal)
    return unchanged(request, tag) or reading(told, tag)


def _status(desk: Desk, game: str, caller: Caller, inbox: str) -> tuple[wire.Ruling | None, wire.Problem | None]:
    """The ruling on a submission for the caller's eyes, and why it was refused if it was."""
    stored = desk.ruling(game, inbox)
    if stored is None:
        return None, None
    state = desk.line(game).state
    prose = desk.prose(game)
    house = desk.house_of(state, caller)
    shown = desk.shown(stored, house)
    read = desk.readable(stored, house, prose)
    ruling = wire.ruling(read, shown)
    if not isinstance(read.verdict, Refused):
        return ruling, None
    return ruling, _refusal(desk, game, caller, read, read.verdict, prose)


def _refusal(desk: Desk, game: str, caller: Caller, read: LogEntry, verdict: Refused, prose: Prose) -> wire.Problem:
    """A refused ruling explained. Its author also gets what would have been legal, as of that entry."""
    alternatives: tuple[wire.Question, ...] = ()
    if caller.seat is not None and caller.seat == read.seat:
        _, view = desk.view(game, caller, read.seq)
        alternatives = tuple(wire.question(owed) for owed in (*view.owes, *view.replaceable))
    place = place_of(game, read.inbox)
    return refused(verdict, prose, entry=read.seq, submission=place, alternatives=alternatives)
