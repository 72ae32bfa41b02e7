"""The description of the interface: OpenAPI 3.1 made from the records that are sent and received.

Each route carries an :class:`Operation` that says what it takes and gives; the schemas are those of msgspec.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec
from fastapi import APIRouter
from fastapi.routing import APIRoute

from api.wire import JSON, NAMED, PROBLEM, Problem
from domain.thrones.tables.behaviour import ENGINE

_PARAMETER = re.compile(r"{(\w+)(?::\w+)?}")


class Header(msgspec.Struct, frozen=True):
    """A header or query parameter."""

    name: str
    where: str
    says: str
    kind: str = "string"


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """What one route takes and gives. ``gives`` maps statuses to records, or to media types of something else."""

    says: str
    gives: dict[int, Any]
    takes: Any = None
    letter: bool = False
    token: str = ""
    headers: tuple[Header, ...] = ()
    fails: tuple[int, ...] = ()


AT = Header(
    "at", "query", "an entry, or a time (RFC 3339): the game as it stood then, without hindsight; now by default"
)
SEEN = Header("seen", "query", "the ledger version the answer was written against", "integer")
IF_NONE_MATCH = Header("If-None-Match", "header", "an ETag: 304 when nothing has changed since")
IF_MATCH = Header("If-Match", "header", "the same as seen, as an ETag; a stale one is ruled on, not rejected")
KEY = Header("Idempotency-Key", "header", "the same key with the same command is taken once")
PREFER = Header("Prefer", "header", "wait=N: answer with the ruling if it comes within N seconds (at most 30)")
LAST_EVENT = Header("Last-Event-ID", "header", "the last entry that was received")

_ANSWERS = {
    200: "What was asked for",
    201: "Done",
    202: "Taken in; not ruled on yet",
    304: "Unchanged",
}
_FAILURES = {
    400: "Cannot be read",
    401: "No token, or nobody's",
    403: "Somebody else's token",
    404: "Not there",
    409: "Not now: refused by the rules, or taken",
    413: "Too large",
    415: "Neither JSON nor plain text",
    422: "Read, but names or says something that cannot be",
    428: "The version of the plan is missing",
    429: "A quota is used up; see Retry-After",
    503: "The store is away or full; see Retry-After",
}


def describe(**said: Any) -> dict[str, Any]:
    """An operation, as a route carries it."""
    return {"operation": Operation(**said)}


Groups = Iterable[tuple[str, Iterable[APIRouter]]]
"""Routers by the prefix of their paths."""


def operations(groups: Groups) -> dict[tuple[str, str], Operation]:
    """Every operation by path and method."""
    found = {}
    for prefix, routers in groups:
        for router in routers:
            for route in router.routes:
                assert isinstance(route, APIRoute), "routers hold plain routes only"
                for method in sorted(route.methods or ()):
                    found[prefix + route.path, method.lower()] = (route.openapi_extra or {})["operation"]
    return found


def document(groups: Groups) -> dict[str, Any]:
    """The whole description."""
    known = operations(groups)
    kinds: list[Any] = [Problem, *(kind for union in NAMED.values() for kind in union)]
    for operation in known.values():
        kinds += [kind for kind in (operation.takes, *operation.gives.values()) if not _is_plain(kind)]
    schemas, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    named = [(kind, schema) for kind, schema in zip(kinds, schemas, strict=True)]

    def schema_of(kind: Any) -> Any:
        return next(schema for other, schema in named if other is kind)

    components |= {name: {"anyOf": [schema_of(kind) for kind in union]} for name, union in NAMED.items()}
    paths: dict[str, Any] = {}
    for (path, method), operation in sorted(known.items()):
        paths.setdefault(_PARAMETER.sub(r"{\1}", path), {})[method] = _operation(path, operation, schema_of)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Rookery",
            "version": ENGINE,
            "summary": "Adjudication of A Game of Thrones: The Board Game, played by letter",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _is_plain(kind: Any) -> bool:
    return kind is None or isinstance(kind, str)


def _operation(path: str, operation: Operation, schema_of: Any) -> dict[str, Any]:
    said: dict[str, Any] = {"summary": operation.says}
    if operation.token:
        said["description"] = f"Token: {operation.token}."
        said["security"] = [{"token": []}] if operation.token.startswith("of ") else [{}, {"token": []}]
    parameters = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "integer" if name in ("seq", "number") else "string"},
        }
        for name in _PARAMETER.findall(path)
    ]
    parameters += [
        {"name": one.name, "in": one.where, "description": one.says, "schema": {"type": one.kind}}
        for one in operation.headers
    ]
    if parameters:
        said["parameters"] = parameters
    if operation.takes is not None:
        content: dict[str, Any] = {JSON: {"schema": schema_of(operation.takes)}}
        if operation.letter:
            content["text/plain"] = {"schema": {"type": "string"}, "example": "bid wildlings 2"}
        said["requestBody"] = {"required": True, "content": content}
    said["responses"] = _responses(operation, schema_of)
    return said


def _responses(operation: Operation, schema_of: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for status, kind in operation.gives.items():
        found[str(status)] = {"description": _ANSWERS.get(status) or _FAILURES[status]}
        if isinstance(kind, str):
            found[str(status)]["content"] = {kind.partition(";")[0]: {"schema": {"type": "string"}}}
        elif kind is not None:
            found[str(status)]["content"] = {JSON: {"schema": schema_of(kind)}}
    problem = {PROBLEM: {"schema": schema_of(Problem)}}
    for status in sorted({*operation.fails, 503} - set(operation.gives)):
        found[str(status)] = {"description": _FAILURES[status], "content": problem}
    return found
