"""Games: creating one, what everybody may know of it, and its tokens."""

from __future__ import annotations

import hashlib
from datetime import datetime

import msgspec
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from api import wire
from api.dependencies import (
    answer,
    body_of,
    caller_of,
    check_operator,
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
from api.errors import Edge
from api.importing import take_in
from api.openapi import AT, IF_NONE_MATCH, KEY, PREFER, Header, describe
from api.tokens import ORGANISER
from domain.thrones.language.state import State
from domain.thrones.tables.arbitration import arbitration_of
from events.bundle import BundleDamaged
from events.errors import FileDamaged, RecordDamaged
from events.limits import MOST_IMPORTED_BYTES, MOST_START_BYTES

router = APIRouter()

FIRST_RULING_SECONDS = 10.0

AS = Header("game", "query", "another id for the game; it then says of which one it is a copy")


@router.post(
    "/games",
    openapi_extra=describe(
        says="Create a game",
        takes=wire.GameOrder,
        gives={201: wire.GameCreated},
        token="of the operator",
        headers=(KEY, PREFER),
        fails=(400, 401, 403, 409, 413, 422, 503),
    ),
)
async def create_game(request: Request) -> Response:
    """The operator creates a game. With an idempotency key and no id of its own, a repetition meets the first game."""
    desk = desk_of(request)
    check_operator(desk, token_of(request))
    raw = decoded(await body_of(request, MOST_START_BYTES))
    if isinstance(raw, dict) and isinstance(raw.get("arbitration"), dict):
        arbitration_of(raw["arbitration"])  # what is unknown there is told with what there is
    order = wire.strictly(raw, wire.GameOrder)
    created = await run_in_threadpool(_create, desk, order, key_of(request))
    request.state.game = created.game
    seconds = wait_of(request)
    applied = {}
    if seconds is not None and await watch_of(request).reached(created.game, 1, seconds):
        applied = {"Preference-Applied": f"wait={seconds}"}
        state: State = (await run_in_threadpool(desk.line, created.game)).state
        created = wire.GameCreated(created.game, dict(state.charter.seats), created.tokens, created.organiser)
    return answer(created, 201, {"Location": f"/v1/games/{created.game}", **applied})


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
        shared=order.shared,
        arbitration=msgspec.to_builtins(order.arbitration),
    )
    return wire.GameCreated(made.game, made.seats, made.tokens, made.organiser)


@router.post(
    "/import",
    openapi_extra=describe(
        says="Take in a game from elsewhere: a full export or bundle, as the body; it goes on where it was",
        gives={201: wire.ImportedGame},
        token="of the operator",
        headers=(AS,),
        fails=(401, 403, 409, 413, 422),
    ),
)
async def import_game(request: Request, game: str | None = None) -> Response:
    """Its seats need new tokens."""
    desk = desk_of(request)
    check_operator(desk, token_of(request))
    await run_in_threadpool(desk.check_room)
    raw = await body_of(request, MOST_IMPORTED_BYTES)

    def settled(name: str) -> None:
        """What has no entry yet is about to get its first."""
        desk.store.await_version(name, 1, FIRST_RULING_SECONDS)

    try:
        done = await run_in_threadpool(take_in, desk, raw, game, settled)
    except (RecordDamaged, FileDamaged, BundleDamaged) as error:
        raise Edge(422, "record-damaged", f"Nothing was taken in. {error}.") from error
    request.state.game = done.game
    told = wire.ImportedGame(done.game, done.version, done.unruled)
    return answer(told, 201, {"Location": f"/v1/games/{done.game}"})


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
    waits = record.waits.engine if record.waits is not None and desk.store.unruled_tail(game) else None
    variant = f"{'-parked' if record.parked else ''}{'-held' if record.is_held else ''}{f'-{waits}' if waits else ''}"
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
        held=record.is_held,
        waits_for_engine=waits,
    )
    return reading(told, etag(line.version, variant))


@router.get(
    "/games/{game}/tokens",
    openapi_extra=describe(
        says="Which tokens were issued, by whom and when (not the tokens)",
        gives={200: wire.TokenIssues},
        token="any",
        headers=(AT,),
        fails=(400, 401, 403, 404),
    ),
)
def token_issues(request: Request, game: str, at: str | None = None) -> Response:
    """For everybody, since whoever can issue a seat's token can sit down there."""
    desk = desk_of(request)
    caller_of(request, game)
    issues = desk.tokens.issues(game)
    if at is not None:
        moment = desk.moment_of(game, at)
        issues = tuple(one for one in issues if datetime.fromisoformat(one.at) <= moment)
    return answer(wire.TokenIssues(game, issues))


@router.post(
    "/games/{game}/seats/{seat}/token",
    openapi_extra=describe(
        says="Issue a new token for a seat; the old one is void",
        gives={201: wire.NewToken},
        token="of the organiser or the operator",
        fails=(401, 403, 404, 429),
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
    desk.check_issue(game, caller)
    return answer(wire.NewToken(game, seat, desk.tokens.issue(game, seat, caller.role)), 201)


@router.post(
    "/games/{game}/organiser/token",
    openapi_extra=describe(
        says="Issue a new token for the organiser; the old one is void",
        gives={201: wire.NewToken},
        token="of the organiser or the operator",
        fails=(401, 403, 404, 429),
    ),
)
def organiser_token(request: Request, game: str) -> Response:
    """For the operator, and for the organiser himself."""
    desk = desk_of(request)
    caller = caller_of(request, game)
    needing(caller, (ORGANISER, "operator"), "the organiser or the operator")
    desk.check_issue(game, caller)
    return answer(wire.NewToken(game, ORGANISER, desk.tokens.issue(game, ORGANISER, caller.role)), 201)
