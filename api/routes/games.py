"""Games: creating one, what everybody may know of it, and its tokens."""

from __future__ import annotations

import hashlib

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
    needing,
    reading,
    token_of,
    unchanged,
    version_of,
    wait_of,
    watch_of,
)
from api.desk import Desk
from api.errors import Edge, unauthenticated
from api.openapi import AT, IF_NONE_MATCH, KEY, PREFER, describe
from api.tokens import ORGANISER
from domain.thrones.state import State

router = APIRouter()


@router.post(
    "/games",
    openapi_extra=describe(
        says="Create a game",
        takes=wire.GameOrder,
        gives={201: wire.GameCreated},
        token="of the operator",
        headers=(KEY, PREFER),
        fails=(400, 401, 403, 409, 413, 422),
    ),
)
async def create_game(request: Request) -> Response:
    """The operator creates a game. With an idempotency key and no id of its own, a repetition meets the first game."""
    desk = desk_of(request)
    _check_operator(desk, token_of(request))
    order = wire.strictly(decoded(await body_of(request)), wire.GameOrder)
    created = await run_in_threadpool(_create, desk, order, key_of(request))
    request.state.game = created.game
    seconds = wait_of(request)
    applied = {}
    if seconds is not None and await watch_of(request).reached(created.game, 1, seconds):
        applied = {"Preference-Applied": f"wait={seconds}"}
        state: State = (await run_in_threadpool(desk.line, created.game)).state
        created = wire.GameCreated(created.game, dict(state.charter.seats), created.tokens, created.organiser)
    return answer(created, 201, {"Location": f"/v1/games/{created.game}", **applied})


def _check_operator(desk: Desk, token: str | None) -> None:
    if token is None:
        raise unauthenticated("token-missing", "This needs the token of the operator.")
    if not desk.tokens.is_operator(token):
        raise Edge(403, "not-allowed", "This needs the token of the operator.", needed="the operator")


def _create(desk: Desk, order: wire.GameOrder, key: str) -> wire.GameCreated:
    game = order.game
    if game is None and key:
        game = hashlib.sha256(b"rookery/game/1\x00" + key.encode()).hexdigest()[:12]
    made = desk.create(
        edition=order.edition,
        players=order.players,
        switches=order.switches,
        tables=order.tables,
        seats=order.seats,
        deal=order.deal,
        game=game,
        seed=order.seed,
        chance=order.chance,
        decks=order.decks,
        joint=order.joint,
        arbitration=msgspec.to_builtins(order.arbitration),
    )
    return wire.GameCreated(made.game, made.seats, made.tokens, made.organiser)


@router.get(
    "/games/{game}",
    openapi_extra=describe(
        says="What everybody may know of a game",
        gives={200: wire.Summary, 304: None},
        token="any",
        headers=(AT, IF_NONE_MATCH),
        fails=(400, 401, 403, 404),
    ),
)
def summary(request: Request, game: str, at: str | None = None) -> Response:
    """Charter, round, phase, who is awaited, and the winner."""
    desk = desk_of(request)
    caller_of(request, game)
    record = desk.store.record(game)
    variant = "-parked" if record.parked else ""
    known = unchanged(request, etag(version_of(request, game, at), variant))
    if known is not None:
        return known
    line = desk.line(game, version_of(request, game, at))
    state: State = line.state
    told = wire.Summary(
        game=game,
        version=line.version,
        status="over" if state.is_over else "playing" if state.charter.edition else "beginning",
        parked=record.parked is not None,
        created=record.created,
        charter=state.charter,
        round=state.round,
        phase=state.phase,
        step=state.step,
        question=state.question,
        awaited=state.awaited,
        winner=state.winner,
        ranking=state.ranking,
        origin=state.docket.origin,
        drawn=state.drawn or (),
    )
    return reading(told, etag(line.version, variant))


@router.get(
    "/games/{game}/tokens",
    openapi_extra=describe(
        says="Which tokens were issued, by whom and when (not the tokens)",
        gives={200: wire.TokenIssues},
        token="any",
        fails=(401, 403, 404),
    ),
)
def token_issues(request: Request, game: str) -> Response:
    """For everybody, since whoever can issue a seat's token can sit down there."""
    caller_of(request, game)
    return answer(wire.TokenIssues(game, desk_of(request).tokens.issues(game)))


@router.post(
    "/games/{game}/seats/{seat}/token",
    openapi_extra=describe(
        says="Issue a new token for a seat; the old one is void",
        gives={201: wire.NewToken},
        token="of the organiser or the operator",
        fails=(401, 403, 404),
    ),
)
def seat_token(request: Request, game: str, seat: str) -> Response:
    """Only for seats of the charter."""
    desk = desk_of(request)
    caller = caller_of(request, game)
    needing(caller, (ORGANISER, "operator"), "the organiser or the operator")
    state: State = desk.line(game).state
    if seat not in state.charter.seats:
        raise Edge(
            404, "seat-unknown", f"This game has no seat {seat!r}.", seat=seat, seats=sorted(state.charter.seats)
        )
    return answer(wire.NewToken(game, seat, desk.tokens.issue(game, seat, caller.role)), 201)


@router.post(
    "/games/{game}/organiser/token",
    openapi_extra=describe(
        says="Issue a new token for the organiser; the old one is void",
        gives={201: wire.NewToken},
        token="of the organiser or the operator",
        fails=(401, 403, 404),
    ),
)
def organiser_token(request: Request, game: str) -> Response:
    """For the operator, and for the organiser himself."""
    desk = desk_of(request)
    caller = caller_of(request, game)
    needing(caller, (ORGANISER, "operator"), "the organiser or the operator")
    return answer(wire.NewToken(game, ORGANISER, desk.tokens.issue(game, ORGANISER, caller.role)), 201)
