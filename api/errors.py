"""Errors on the wire: every one is made here, as a problem document (RFC 9457).

``code`` is the stable word for programs; ``type`` is that word as a URI. What goes out is what the exception
says about the request, never what an exception of the machine says.
"""

from __future__ import annotations

import traceback
from typing import Any

import msgspec
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from api.apart import BeyondBudget, BrokeOff
from api.bench import PlanOutOfDate
from api.desk import NoSuchVersion, NotAllowed, NotAMoment, Unsigned
from api.games.thrones.refusals import explain
from api.games.thrones.sentences import NAMES, Prose
from api.quota import TooManyForks
from api.wire import PROBLEM, Problem, Question, to_bytes
from domain.kernel.bounds import in_brief
from domain.kernel.printing import counted
from domain.kernel.refusal import Refusal
from domain.thrones.notation import NotationError
from events.envelope import Refused
from events.errors import (
    BadCommand,
    BadGameId,
    GameExists,
    GameHeld,
    GameUnknown,
    KeptDamaged,
    KeyConflict,
    OverQuota,
    RecordDamaged,
    RecordError,
    ServerFull,
    SharedSeedClosed,
    SharedSeedExists,
    SharedSeedUnknown,
    StoreAway,
    StoreRefuses,
    TooLarge,
)
from worker.log import logger

_AWAY = {"Retry-After": "2"}
_BEARER = {"WWW-Authenticate": 'Bearer realm="rookery"'}


class Edge(Exception):
    """Something that HTTP itself finds wrong with a request."""

    def __init__(
        self, status: int, code: str, detail: str, headers: dict[str, str] | None = None, **params: Any
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = headers or {}
        self.params = params


def log_ours(error: Exception) -> None:
    """A mistake of ours, by its place in the program; what it says may be somebody's secret."""
    problem, _ = problem_of(error)
    if problem.status < 500:
        return
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{frame.filename.rpartition('/')[2]}:{frame.lineno} in {frame.name}"
    logger().error("request-failed", error=type(error).__name__, code=problem.code, where=where)


class RefusedRuling(Exception):
    """A command that was ruled on and refused, for whoever waited for it."""

    def __init__(self, problem: Problem, headers: dict[str, str]) -> None:
        super().__init__(problem.code)
        self.problem = problem
        self.headers = {"Location": problem.submission, **headers}


def refused(
    verdict: Refused,
    prose: Prose,
    *,
    entry: int,
    submission: str,
    alternatives: tuple[Question, ...] = (),
) -> Problem:
    """A refused ruling as a problem, with what would have been legal instead."""
    problem = _problem(status_of(verdict.code), verdict.code, explain(verdict.code, verdict.params, prose))
    return msgspec.structs.replace(
        problem,
        rules=verdict.rules,
        params=verdict.params,
        submission=submission,
        entry=entry,
        alternatives=alternatives,
    )


def status_of(code: str) -> int:
    """Of a refusal: 403 for somebody else's house, 422 for what does not exist, 409 for what is not legal now."""
    if code in ("not-your-seat", "arbiter-plays"):
        return 403
    return 422 if code in ("unreadable", "house-not-in-play") or code.startswith("unknown-") else 409


def response(error: Exception) -> Response:
    """The answer to an exception."""
    problem, headers = problem_of(error)
    return Response(to_bytes(problem), problem.status, {"Cache-Control": "no-store", **headers}, PROBLEM)


def problem_of(error: Exception) -> tuple[Problem, dict[str, str]]:
    """The problem document of an exception, and the headers that belong to it."""
    match error:
        case Edge():
            return _problem(error.status, error.code, error.detail, params=error.params), error.headers
        case RefusedRuling():
            return error.problem, error.headers
        case NotAMoment():
            return _problem(400, "bad-parameter", str(error), params={"at": ["query.at"]}), {}
        case PlanOutOfDate():
            versions = {"expected": error.expected, "version": error.version}
            return _problem(409, "plan-out-of-date", f"{error} Nothing was recorded; plan anew.", params=versions), {}
        case BeyondBudget():
            return _problem(422, "beyond-budget", str(error)), {}
        case BrokeOff():
            return _problem(503, "ruling-broke-off", str(error)), {"Retry-After": "5"}
        case TooManyForks():
            params = {"most": error.most, "forks": list(error.forks)}
            return _problem(409, "too-many-forks", str(error), params=params), {}
        case NotAllowed():
            return _problem(403, "not-allowed", str(error), params={"needed": error.needed}), {}
        case Unsigned():
            return _problem(404, "no-key", str(error)), {}
        case Refusal():
            detail = explain(error.code, error.params, NAMES)
            status = 403 if error.code == "arbiter-plays" else 422
            return _problem(status, error.code, detail, error.rules, error.params), {}
        case NotationError():
            place = {"line": error.line, "column": error.column}
            params = {**place, "expected": error.expected, "suggestions": list(error.suggestions)}
            told = str(error)
            detail = f"{told[:1].upper()}{told[1:]}{'' if told.endswith('?') else '.'}"
            return _problem(422, "unreadable-letter", detail, params=_said(params)), {}
        case msgspec.ValidationError():
            what, at = _what_and_where(error)
            return _problem(422, "wrong-shape", f"{what}, at {at}.", params={"at": at}), {}
        case msgspec.DecodeError() | RecursionError():
            why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            return _problem(400, "malformed-json", f"The body cannot be read as JSON: {why}."), {}
        case RequestValidationError():
            places = [".".join(map(str, one["loc"])) for one in error.errors()]
            said_of = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
            return _problem(400, "bad-parameter", f"{said_of}.", params={"at": places}), {}
        case HTTPException():
            code = {404: "no-such-resource", 405: "method-not-allowed"}.get(error.status_code, "bad-request")
            return _problem(error.status_code, code, f"{error.detail}."), dict(error.headers or {})
        case RecordError():
            return _record_error(error)
        case _:
            return _problem(500, "internal", "This is a mistake of the server. It has been written down."), {}


def _what_and_where(error: msgspec.ValidationError) -> tuple[str, str]:
    """What does not fit, and its place; neither says back more than a reader can use."""
    what, _, where = str(error).removesuffix("`").rpartition(" - at `")
    return (in_brief(what), in_brief(where)) if what else (in_brief(str(error)), "$")


def _record_error(error: RecordError) -> tuple[Problem, dict[str, str]]:
    match error:
        case GameUnknown():
            return _problem(404, "game-unknown", str(error), params={"game": error.game}), {}
        case NoSuchVersion():
            return _problem(
                404, "no-such-version", str(error), params={"version": error.at, "newest": error.current}
            ), {}
        case GameExists():
            return _problem(409, "game-exists", str(error), params={"game": error.game}), {}
        case GameHeld():
            return _problem(503, "game-held", str(error), params={"game": error.game}), {"Retry-After": "600"}
        case SharedSeedUnknown():
            return _problem(404, "no-such-shared-seed", str(error), params={"shared": error.shared}), {}
        case SharedSeedClosed():
            return _problem(409, "shared-seed-closed", str(error), params={"shared": error.shared}), {}
        case SharedSeedExists():
            return _problem(409, "shared-seed-exists", str(error), params={"shared": error.shared}), {}
        case BadGameId():
            return _problem(422, "bad-game-id", str(error), params={"game": error.game}), {}
        case TooLarge():
            return _problem(
                413,
                "too-large",
                f"A command has at most {counted(error.most, 'byte')} here.",
                params={"most": error.most},
            ), {}
        case OverQuota():
            params = {"quota": error.quota, "most": error.most, "retry_after": error.retry_seconds}
            return _problem(429, "over-quota", str(error), params=params), {"Retry-After": str(error.retry_seconds)}
        case ServerFull():
            return _problem(503, "server-full", str(error)), {"Retry-After": "60"}
        case BadCommand():
            return _problem(400, "malformed-json", str(error)), {}
        case KeyConflict():
            params = {"key": error.key, "submission": error.inbox}
            return _problem(422, "key-reused", str(error), params=params), {}
        case StoreAway():
            return _problem(503, "store-away", "The store does not answer. Try again in a moment."), _AWAY
        case StoreRefuses():
            return _problem(503, "store-refuses", "The store does not take this now. Its operator must help."), _AWAY
        case KeptDamaged():
            return _problem(500, "record-damaged", str(error), params={"kept": error.what}), {}
        case RecordDamaged():
            detail = f"Entry {error.seq} of the ledger is not as it was written."
            return _problem(500, "record-damaged", detail, params={"entry": error.seq}), {}
        case _:
            return _problem(500, "internal", "This is a mistake of the server. It has been written down."), {}


def unauthenticated(code: str, detail: str) -> Edge:
    """401 with what the caller is asked for."""
    challenge = (
        _BEARER if code == "token-missing" else {"WWW-Authenticate": 'Bearer realm="rookery", error="invalid_token"'}
    )
    return Edge(401, code, detail, challenge)


def _problem(
    status: int, code: str, detail: str, rules: tuple[str, ...] = (), params: dict[str, Any] | None = None
) -> Problem:
    return Problem(
        type=f"tag:rookery,2025:problem/{code}",
        title=code.replace("-", " ").capitalize(),
        status=status,
        code=code,
        detail=detail,
        rules=rules,
        params=params or {},
    )


def _said(params: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value}
