"""What routes share: who asks, the body, the version a request is about, and how answers are wrapped."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec
from fastapi import Request
from starlette.responses import Response

from api.desk import Desk
from api.errors import Edge, unauthenticated
from api.forking import is_closed
from api.tokens import Caller
from api.watch import Watch
from api.wire import JSON, to_bytes
from domain.kernel.bounds import MOST_NUMBER
from domain.kernel.printing import counted
from events.errors import BadGameId, GameUnknown
from events.keys import check_game_id
from events.limits import MOST_ACT_BYTES, MOST_ANSWER_BYTES

MOST_WAIT_SECONDS = 30

_VERSION_TAG = re.compile(r'(?:W/)?"(\d{1,9})"')
_WAIT = re.compile(r"\s*wait\s*=\s*\"?(\d{1,9})\"?\s*", re.IGNORECASE)
_KEY = re.compile(r'"?([\x21\x23-\x7e]{1,200})"?')


def desk_of(request: Request) -> Desk:
    """The desk behind this application."""
    desk: Desk = request.app.state.desk
    return desk


def watch_of(request: Request) -> Watch:
    """Who tells of new entries."""
    watch: Watch = request.app.state.watch
    return watch


def token_of(request: Request) -> str | None:
    """The token that came with a request; None is the public."""
    given = request.headers.get("authorization")
    if given is None:
        return None
    scheme, _, token = given.partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise unauthenticated("token-malformed", "The Authorization header has the form: Bearer TOKEN.")
    return token.strip()


def caller_of(request: Request, game: str) -> Caller:
    """Who asks about a game. Raises GameUnknown, and Edge for a token that is not good here. Asks the store."""
    desk = desk_of(request)
    try:
        check_game_id(game)
    except BadGameId as error:
        raise GameUnknown(game) from error
    request.state.game = game
    if not desk.store.exists(game):
        raise GameUnknown(game)
    token = token_of(request)
    caller = desk.tokens.caller(game, token)
    if caller is None:
        assert token is not None, "without a token one is the public"
        if desk.tokens.is_for_another_game(game, token):
            raise Edge(403, "token-of-another-game", "This token is for another game.")
        raise unauthenticated("token-unknown", "This token is nobody's here. It may have been replaced by a new one.")
    if caller.role == "public" and is_closed(desk, game):
        raise unauthenticated(
            "token-missing", "This game tells of another one that still runs: it needs a token of its own."
        )
    request.state.seat = caller.seat or caller.role
    return caller


def needing(caller: Caller, roles: Iterable[str], whose: str) -> None:
    """Raise unless the caller has one of these roles."""
    if caller.role in roles:
        return
    if caller.role == "public":
        raise unauthenticated("token-missing", f"This needs the token of {whose}.")
    raise Edge(403, "not-allowed", f"This needs the token of {whose}.", needed=whose)


def check_operator(desk: Desk, token: str | None) -> None:
    """Raise unless this is the token of the operator."""
    if token is None:
        raise unauthenticated("token-missing", "This needs the token of the operator.")
    if not desk.tokens.is_operator(token):
        raise Edge(403, "not-allowed", "This needs the token of the operator.", needed="the operator")


def most_of(caller: Caller) -> int:
    """How large a command of this caller may be."""
    return MOST_ANSWER_BYTES if caller.role == "seat" else MOST_ACT_BYTES


async def body_of(request: Request, most: int) -> bytes:
    """The body. Stops reading where it is too large, whether or not its length was told."""
    told = request.headers.get("content-length", "")
    size = int(told) if told.isdecimal() and len(told) < 20 else 0
    pieces: list[bytes] = []
    if size <= most:
        size = 0
        async for piece in request.stream():
            size += len(piece)
            if size > most:
                break
            pieces.append(piece)
    if size > most:
        # The rest is not read, so the connection cannot be used again.
        raise Edge(
            413, "too-large", f"A body has at most {counted(most, 'byte')} here.", {"Connection": "close"}, most=most
        )
    return b"".join(pieces)


def media_type(request: Request) -> str:
    """The type of the body, JSON where it is not told."""
    return request.headers.get("content-type", JSON).partition(";")[0].strip().lower()


def decoded(body: bytes) -> Any:
    """A body as JSON values, with all errors of msgspec."""
    if not body.strip():
        raise Edge(400, "body-missing", "The body is empty.")
    return msgspec.json.decode(body)


def key_of(request: Request) -> str:
    """The idempotency key, quoted or not; empty when there is none."""
    given = request.headers.get("idempotency-key")
    if given is None:
        return ""
    found = _KEY.fullmatch(given.strip())
    if found is None:
        detail = "An Idempotency-Key has 1 to 200 printable ASCII characters without spaces and quotation marks."
        raise Edge(400, "bad-key", detail)
    return found[1]


def seen_of(request: Request, seen: int | None) -> int | None:
    """The version that the author had before him: ``If-Match``, or else the parameter ``seen``."""
    given = request.headers.get("if-match")
    if seen is not None and abs(seen) > MOST_NUMBER:
        raise Edge(400, "bad-version", f"No record has more than {counted(MOST_NUMBER, 'entry', 'entries')}.")
    if given is None or given.strip() == "*":
        return seen
    found = _VERSION_TAG.fullmatch(given.strip())
    if found is None:
        raise Edge(400, "bad-version", 'If-Match takes the ETag of an earlier answer, such as "12".')
    return int(found[1])


def wait_of(request: Request) -> int | None:
    """How long the caller prefers to wait for a ruling (RFC 7240); None when he does not say."""
    for header in request.headers.getlist("prefer"):
        for preference in header.split(","):
            found = _WAIT.fullmatch(preference.partition(";")[0])
            if found:
                return min(int(found[1]), MOST_WAIT_SECONDS)
    return None


# Answers


def etag(version: int, variant: str = "") -> str:
    """A version as an entity tag."""
    return f'"{version}{variant}"'


def reading_headers(tag: str) -> dict[str, str]:
    """For what a caller may keep, but has to ask about each time; others would get something else."""
    return {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Authorization"}


def unchanged(request: Request, tag: str) -> Response | None:
    """304 when the caller has this already."""
    given = [one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")]
    return Response(status_code=304, headers=reading_headers(tag)) if tag in given or given == ["*"] else None


def reading(value: Any, tag: str) -> Response:
    """A document with its version."""
    return Response(to_bytes(value), 200, reading_headers(tag), JSON)


def answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A document that is not to be kept."""
    return Response(to_bytes(value), status, {"Cache-Control": "no-store", **(headers or {})}, JSON)


def version_of(request: Request, game: str, at: str | None) -> int:
    """The version that is asked for by its number or by a time, the present one by default. Asks the store.

    Raises NotAMoment, NoSuchVersion.
    """
    return desk_of(request).version_of(game, at)
