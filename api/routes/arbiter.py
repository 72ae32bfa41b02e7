"""The arbiter: plans, rewinds, corrections, appeals and opinions; and what was read by privilege."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from api import wire
from api.bench import MAY_AMEND, Bench, PlanOfCorrection, PlanOfRewind
from api.dependencies import (
    answer,
    body_of,
    caller_of,
    decoded,
    desk_of,
    etag,
    key_of,
    most_of,
    needing,
    reading,
    seen_of,
    unchanged,
    version_of,
    wait_of,
    watch_of,
)
from api.desk import Desk
from api.errors import Edge, RefusedRuling, refused
from api.games.thrones.cases.cases import Case
from api.games.thrones.sentences import Prose
from api.openapi import AT, IF_NONE_MATCH, KEY, PREFER, Header, describe
from api.routes.commands import place_of, submitted
from api.tokens import ARBITER, ORGANISER, Caller
from domain.kernel.arbiter import Amend, Correct, Rewind, RuleOnAppeal
from domain.thrones.language.state import State
from domain.thrones.ruleset import THRONES
from events.envelope import Receipt, Refused, number_of
from events.limits import MOST_ORDER_BYTES

router = APIRouter()

RULING_SECONDS = 10.0
"""How long the ruling on the record of a read may take before it is shown; it is stored in any case."""

ARBITERS = (ARBITER, "operator")
WHY = Header("why", "query", "the reason to read what is hidden; it is recorded, and told to the players at the end")
HOUSE = Header("house", "query", "a House, or its seat")
PLANNED = Header("If-Match", "header", "the version that the plan was made for, as an ETag; 409 once it has changed")


def bench_of(request: Request) -> Bench:
    """The bench at the desk of this application."""
    desk = desk_of(request)
    return Bench(desk, lambda receipt: desk.ruling(receipt.game, receipt.inbox, RULING_SECONDS))


# Tokens


@router.post(
    "/games/{game}/arbiters/{name}/token",
    openapi_extra=describe(
        says="Issue a token for an arbiter of the game; an old one of the same name is void",
        takes=wire.ArbiterOrder,
        gives={201: wire.NewToken},
        token="of the organiser or the operator",
        fails=(400, 401, 403, 404, 413, 422, 429),
    ),
)
async def arbiter_token(request: Request, game: str, name: str) -> Response:
    """An arbiter who plays in the game gets one only where its charter allows that."""
    caller = await run_in_threadpool(caller_of, request, game)
    needing(caller, (ORGANISER, "operator"), "the organiser or the operator")
    body = await body_of(request, MOST_ORDER_BYTES)
    order = wire.strictly(decoded(body), wire.ArbiterOrder) if body.strip() else wire.ArbiterOrder()
    token = await run_in_threadpool(_issue, desk_of(request), game, name, order.seat, caller)
    return answer(wire.NewToken(game, f"{ARBITER}:{name}", token), 201)


def _issue(desk: Desk, game: str, name: str, seat: str, caller: Caller) -> str:
    state: State = desk.line(game).state
    if seat and seat not in state.charter.seats:
        raise Edge(
            404, "seat-unknown", f"This game has no seat {seat!r}.", seat=seat, seats=sorted(state.charter.seats)
        )
    Bench.check_name(desk.agreed(game), name, seat)
    Bench.check_seat(state, seat)
    desk.check_issue(game, caller, arbiter=name)
    return desk.tokens.issue_arbiter(game, name, seat, caller.role)


# Reading by privilege


@router.get(
    "/games/{game}/perspective",
    openapi_extra=describe(
        says="The game as one House knew it at a moment, beside the truth",
        gives={200: wire.TwoSides, 304: None},
        token="any once the game has ended; before, of an arbiter or the operator, who give a reason",
        headers=(HOUSE, AT, WHY, IF_NONE_MATCH),
        fails=(400, 401, 403, 404, 422),
    ),
)
def perspective(request: Request, game: str, house: str, at: str | None = None, why: str = "") -> Response:
    """Before the end this is recorded as an entry of the game, before it is answered."""
    desk = desk_of(request)
    caller = caller_of(request, game)
    state: State = desk.line(game).state
    if not state.is_disclosed:
        needing(caller, ARBITERS, "an arbiter")
    wanted = version_of(request, game, at)
    tag = etag(wanted, f"-{state.charter.seats.get(house, house)}")
    known = unchanged(request, tag) if state.is_disclosed else None
    if known is not None:
        return known
    found = bench_of(request).perspective(game, caller, state.charter.seats.get(house, house), wanted, why)
    owes, replaceable = (tuple(map(wire.question, some)) for some in (found.known.owes, found.known.replaceable))
    seen = wire.SeatView(game, found.version, found.house, found.known.position, found.known.own, owes, replaceable)
    told = wire.TwoSides(game, found.version, found.house, seen, found.truth, found.hidden)
    return reading(told, tag) if state.is_disclosed else answer(told)


@router.get(
    "/games/{game}/secrets-read",
    openapi_extra=describe(
        says="Who has read secrets by privilege: that it happened, and once it is open, who, what and why",
        gives={200: wire.SecretsReadList, 304: None},
        token="any",
        headers=(AT, IF_NONE_MATCH),
        fails=(400, 401, 403, 404),
    ),
)
def secrets_read(request: Request, game: str, at: str | None = None) -> Response:
    """Open at the end of the game, or at once where the charter says so."""
    caller_of(request, game)
    version = version_of(request, game, at)
    known = unchanged(request, etag(version))
    if known is not None:
        return known
    return reading(wire.SecretsReadList(game, version, bench_of(request).reads(game, version)), etag(version))


@router.get(
    "/games/{game}/appeals/{number}/case",
    openapi_extra=describe(
        says="An appeal that was ruled on as a case, position included, to try every engine with",
        gives={200: Case, 304: None},
        token="of an arbiter or the operator",
        headers=(AT, IF_NONE_MATCH),
        fails=(400, 401, 403, 404, 422),
    ),
)
def appeal_as_case(request: Request, game: str, number: int, at: str | None = None) -> Response:
    """In the format of the cases that come with Rookery."""
    caller = caller_of(request, game)
    needing(caller, ARBITERS, "an arbiter")
    version = version_of(request, game, at)
    found = bench_of(request).case(game, caller, number, version)
    tag = etag(version)
    return unchanged(request, tag) or reading(found, tag)


# Plans


async def _order(request: Request, game: str, kind: Any, roles: tuple[str, ...], whose: str) -> tuple[Caller, Any]:
    """Who asks, and his order."""
    caller = await run_in_threadpool(caller_of, request, game)
    needing(caller, roles, whose)
    return caller, wire.strictly(decoded(await body_of(request, most_of(caller))), kind)


def _rewind(order: wire.RewindOrder) -> Rewind:
    return Rewind(
        to=order.to,
        reason=order.reason,
        causal=order.causal,
        correction=order.correction,
        appeal=order.appeal,
        opinion=order.opinion,
    )


def _correct(order: wire.CorrectionOrder) -> Correct:
    return Correct(
        facts=order.facts,
        reason=order.reason,
        instead_of=order.instead_of,
        appeal=order.appeal,
        opinion=order.opinion,
    )


@router.post(
    "/games/{game}/rewind/plan",
    openapi_extra=describe(
        says="What a rewind would do: entries struck out, secrets that have come to light, answers kept or asked anew",
        takes=wire.RewindOrder,
        gives={200: PlanOfRewind},
        token="of an arbiter or the operator",
        fails=(400, 401, 403, 404, 422, 503),
    ),
)
async def plan_rewind(request: Request, game: str) -> Response:
    """Its ETag is the version to apply it with."""
    caller, order = await _order(request, game, wire.RewindOrder, ARBITERS, "an arbiter")

    def made() -> PlanOfRewind:
        bench = bench_of(request)
        command = bench.corrections(game, _rewind(order), order.without)
        return bench.plan_rewind(game, caller, command, redraw=order.redraw, why=order.why)

    found = await run_in_threadpool(made)
    return answer(found, 200, {"ETag": etag(found.version)})


@router.post(
    "/games/{game}/correct/plan",
    openapi_extra=describe(
        says="What a correction would state, and what would become of answers that are in",
        takes=wire.CorrectionOrder,
        gives={200: PlanOfCorrection},
        token="of an arbiter or the operator",
        fails=(400, 401, 403, 404, 422, 503),
    ),
)
async def plan_correction(request: Request, game: str) -> Response:
    """Its ETag is the version to apply it with."""
    caller, order = await _order(request, game, wire.CorrectionOrder, ARBITERS, "an arbiter")
    found = await run_in_threadpool(bench_of(request).plan_correction, game, caller, _correct(order))
    return answer(found, 200, {"ETag": etag(found.version)})


# Acts


def _acting(says: str, takes: Any, token: str = "of an arbiter or the operator", planned: bool = False) -> Any:
    return describe(
        says=says,
        takes=takes,
        gives={200: wire.Submitted, 201: wire.Submitted, 202: wire.Submitted},
        token=token,
        headers=(KEY, PREFER, *((PLANNED,) if planned else ())),
        fails=(400, 401, 403, 404, 409, 413, 422, *((428,) if planned else ()), 429, 503),
    )


def _planned_for(request: Request) -> int:
    version = seen_of(request, None)
    if version is None:
        detail = "If-Match names the version that the plan was made for: nobody overrules what he has not seen."
        raise Edge(428, "plan-missing", detail)
    return version


@router.post(
    "/games/{game}/rewind",
    openapi_extra=_acting("Take the game back, as planned", wire.RewindOrder, planned=True),
)
async def rewind(request: Request, game: str) -> Response:
    """Refused, and not recorded, when the record has grown since the plan."""
    caller, order = await _order(request, game, wire.RewindOrder, ARBITERS, "an arbiter")
    version = _planned_for(request)
    command = await run_in_threadpool(bench_of(request).corrections, game, _rewind(order), order.without)
    return await _act(request, game, caller, command, version, order.redraw)


@router.post(
    "/games/{game}/correct",
    openapi_extra=_acting("State facts on the present position, as planned", wire.CorrectionOrder, planned=True),
)
async def correct(request: Request, game: str) -> Response:
    """Refused, and not recorded, when the record has grown since the plan."""
    caller, order = await _order(request, game, wire.CorrectionOrder, ARBITERS, "an arbiter")
    return await _act(request, game, caller, _correct(order), _planned_for(request))


@router.post(
    "/games/{game}/rule-on-appeal",
    openapi_extra=_acting(
        "Decline an appeal, uphold the ruling, or dismiss what was filed in bad faith, with an opinion",
        wire.OpinionOrder,
        "of an arbiter or the operator; the organiser may dismiss",
    ),
)
async def rule_on_appeal(request: Request, game: str) -> Response:
    """Rewinds and corrections name their appeal themselves."""
    caller, order = await _order(request, game, wire.OpinionOrder, (ORGANISER, *ARBITERS), "an arbiter")
    command = RuleOnAppeal(appeal=order.appeal, outcome=order.outcome, opinion=order.opinion)
    return await _act(request, game, caller, command, seen_of(request, None))


@router.post(
    "/games/{game}/amend",
    openapi_extra=_acting(
        "Move a running game to the rules engine of this server",
        wire.AmendOrder,
        "of the organiser, an arbiter or the operator",
    ),
)
async def amend(request: Request, game: str) -> Response:
    """With a reason; from the next entry on, and before the letters that wait for it.

    What would come out otherwise is told by ``rookery amend`` on the server.
    """
    caller, order = await _order(request, game, wire.AmendOrder, (ORGANISER, *ARBITERS), MAY_AMEND)
    engine = order.engine or await run_in_threadpool(desk_of(request).engine_of, game)
    engine = engine if "/" in engine else f"{THRONES.name}/{engine}"
    return await _act(request, game, caller, Amend(engine=engine, reason=order.reason), seen_of(request, None))


async def _act(
    request: Request, game: str, caller: Caller, command: Any, expected: int | None, redraw: bool = False
) -> Response:
    key, correlation = key_of(request), request.state.correlation

    def sent() -> Receipt:
        return bench_of(request).act(
            game, caller, command, expected=expected, redraw=redraw, key=key, correlation=correlation
        )

    return await _ruled(request, await run_in_threadpool(sent))


@router.post(
    "/games/{game}/appeal",
    openapi_extra=_acting("Appeal against the ruling of an entry", wire.AppealOrder, "of a seat"),
)
async def appeal(request: Request, game: str) -> Response:
    """Within the window of the charter, three of a seat open at once. The game stands still until it is ruled on."""
    caller, order = await _order(request, game, wire.AppealOrder, ("seat",), "a seat")
    key, correlation = key_of(request), request.state.correlation

    def sent() -> Receipt:
        bench = bench_of(request)
        return bench.appeal(game, caller, order.against, order.statement, key=key, correlation=correlation)

    return await _ruled(request, await run_in_threadpool(sent))


async def _ruled(request: Request, receipt: Receipt) -> Response:
    """The acknowledgement, or the ruling for a caller who waits for it."""
    request.state.inbox = receipt.inbox
    place = {"Location": place_of(receipt.game, receipt.inbox)}
    seconds = wait_of(request)
    if seconds is None or not await watch_of(request).reached(receipt.game, number_of(receipt.inbox), seconds):
        return answer(submitted(receipt, None), 202, {**place, "Retry-After": "1"})
    return await run_in_threadpool(_told, request, receipt, seconds)


def _told(request: Request, receipt: Receipt, seconds: int) -> Response:
    desk = desk_of(request)
    stored = desk.ruling(receipt.game, receipt.inbox)
    if stored is None:  # an act went ahead of it, and the ledger is as long as if it had been ruled on
        again = {"Location": place_of(receipt.game, receipt.inbox), "Retry-After": "1"}
        return answer(submitted(receipt, None), 202, again)
    read = bench_of(request).told(receipt.game, stored)
    headers = {"ETag": etag(read.seq), "Preference-Applied": f"wait={seconds}"}
    place = place_of(receipt.game, receipt.inbox)
    if isinstance(read.verdict, Refused):
        prose = Prose(desk.edition(desk.line(receipt.game).state))
        raise RefusedRuling(refused(read.verdict, prose, entry=read.seq, submission=place), headers)
    told = submitted(receipt, wire.ruling(read, desk.shown(stored, None)))
    return answer(told, 200 if receipt.again else 201, {**headers, "Location": place})
