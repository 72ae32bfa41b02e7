"""Shared seeds: made and closed by the operator, looked at by everybody."""

from __future__ import annotations

import hashlib

import msgspec
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from api import wire
from api.dependencies import answer, body_of, check_operator, decoded, desk_of, key_of, token_of
from api.openapi import KEY, describe
from api.sharing import Shared, close_shared, create_shared, shared
from events.limits import MOST_ORDER_BYTES

router = APIRouter()


class SharedOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A seed for several tables. ``id`` is what tables name it by; without it, one is made."""

    id: str = ""


@router.post(
    "/shared",
    openapi_extra=describe(
        says="Make a seed that several tables share",
        takes=SharedOrder,
        gives={201: Shared},
        token="of the operator",
        headers=(KEY,),
        fails=(400, 401, 403, 409, 413, 422),
    ),
)
async def make_shared(request: Request) -> Response:
    """Its commitment is told, the seed is not. With an idempotency key a repetition meets the first one."""
    desk = desk_of(request)
    check_operator(desk, token_of(request))
    order = wire.strictly(decoded(await body_of(request, MOST_ORDER_BYTES)), SharedOrder)
    key = key_of(request)
    name = order.id
    if not name and key:
        name = hashlib.sha256(b"rookery/shared/1\x00" + key.encode()).hexdigest()[:12]
    made = await run_in_threadpool(create_shared, desk, name, key)
    return answer(made, 201, {"Location": f"/v1/shared/{made.id}"})


@router.get(
    "/shared/{shared_id}",
    openapi_extra=describe(says="A shared seed: commitment, state, tables", gives={200: Shared}, fails=(404,)),
)
def read_shared(request: Request, shared_id: str) -> Response:
    """The seed itself once it is open."""
    return answer(shared(desk_of(request), shared_id))


@router.post(
    "/shared/{shared_id}/close",
    openapi_extra=describe(
        says="No more tables: when the last of them has ended, the seed is opened",
        gives={200: Shared},
        token="of the operator",
        fails=(401, 403, 404),
    ),
)
def end_shared(request: Request, shared_id: str) -> Response:
    """Closing it again changes nothing."""
    desk = desk_of(request)
    check_operator(desk, token_of(request))
    return answer(close_shared(desk, shared_id))
