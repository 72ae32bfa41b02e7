"""Rules by their identifiers, and whether the server is well."""

from __future__ import annotations

import difflib

from fastapi import APIRouter, Request
from starlette.responses import Response

from api import wire
from api.certificate import rulebook
from api.dependencies import answer, desk_of, etag, reading, unchanged
from api.errors import Edge
from api.openapi import IF_NONE_MATCH, describe
from api.readiness import Readiness, readiness
from domain.thrones.tables.behaviour import ENGINE

router = APIRouter()
health_router = APIRouter()


@router.get(
    "/rules/{rule}",
    openapi_extra=describe(
        says="The text of one rule", gives={200: wire.RuleText, 304: None}, headers=(IF_NONE_MATCH,), fails=(404,)
    ),
)
def rule_text(request: Request, rule: str) -> Response:
    """In our own words, with its sources."""
    found = rulebook().get(rule.upper())
    if found is None:
        close = difflib.get_close_matches(rule.upper()[:40], list(rulebook()), 3, 0.8)
        meant = f" Did you mean {' or '.join(close)}?" if close else ""
        raise Edge(404, "rule-unknown", f"There is no rule {rule[:40]!r}.{meant}", suggestions=close)
    tag = etag(int(ENGINE, 16), f"-{found.id}")
    told = wire.RuleText(found.id, found.section, found.text, found.sources)
    return unchanged(request, tag) or reading(told, tag)


@health_router.get(
    "/readyz",
    openapi_extra=describe(
        says="Whether everything works: store, workers, and how long submissions wait",
        gives={200: Readiness, 503: Readiness},
    ),
)
def ready(request: Request) -> Response:
    """503 with what is wrong. It names no game."""
    found = readiness(desk_of(request), request.app.state.limits)
    if found.problems:
        return answer(found, 503, {"Retry-After": "5"})
    return answer(found)


@health_router.get(
    "/healthz",
    openapi_extra=describe(says="Whether this process and its store answer; not the workers", gives={200: wire.Health}),
)
def health(request: Request) -> Response:
    """503 while the store is away."""
    desk = desk_of(request)
    desk.store.ping()
    return answer(wire.Health("ok", desk.judge.engine))
