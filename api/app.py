"""The application: FastAPI as a thin frame around the desk.

Bodies go to msgspec as they come in and leave it as they go out; FastAPI routes, and runs what asks the store in
threads. Serve it without an access log of its own: the one written here knows what may be told.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, MutableMapping
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api import errors
from api.desk import Desk
from api.listening import MOST_STREAMS, Tally
from api.openapi import document
from api.readiness import Limits
from api.routes import (
    arbiter,
    certificates,
    charters,
    commands,
    forks,
    games,
    ledger,
    proof,
    reading,
    rules,
    shared,
)
from api.watch import Watch
from api.wire import JSON, STREAM, to_bytes
from worker.figures import Figures
from worker.log import logger

PREFIX = "/v1"
ROUTERS = (
    games.router,
    commands.router,
    reading.router,
    ledger.router,
    forks.router,
    proof.router,
    arbiter.router,
    certificates.router,
    charters.router,
    shared.router,
    rules.router,
)
GROUPS = ((PREFIX, ROUTERS), ("", (rules.health_router,)))

METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
SUBMITTING = "/games/{game}/commands"

_CORRELATION = re.compile(r"[A-Za-z0-9._:-]{1,64}")


def create_app(
    desk: Desk,
    *,
    heartbeat_seconds: float = ledger.HEARTBEAT_SECONDS,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    streams: int = MOST_STREAMS,
    figures: Figures | None = None,
) -> FastAPI:
    """The whole HTTP interface of a desk. What is asked and answered is counted in ``figures``."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    app.state.desk = desk
    app.state.watch = Watch(desk.store)
    app.state.heartbeat_seconds = heartbeat_seconds
    app.state.limits = limits
    app.state.streams = Tally(streams)
    for prefix, routers in GROUPS:
        for router in routers:
            app.include_router(router, prefix=prefix)
    description = to_bytes(document(GROUPS))

    @app.get("/openapi.json")
    def openapi() -> Response:
        return Response(description, 200, {"Cache-Control": "no-cache"}, JSON)

    for kind in (HTTPException, RequestValidationError):
        app.add_exception_handler(kind, _framework_error)
    app.add_middleware(Frame, figures=Figures() if figures is None else figures)
    return app


async def _framework_error(request: Request, error: Exception) -> Response:
    request.state.problem = errors.problem_of(error)[0].code
    return errors.response(error)


class _HeadSent(OSError):
    """A stream whose head was asked for is not read."""


class Frame:
    """Around every request: a correlation id, the answer to exceptions, one line in the log, and the figures.

    HEAD is GET without the body.
    """

    def __init__(self, app: ASGIApp, figures: Figures, make_id: Callable[[], str] = lambda: uuid.uuid4().hex) -> None:
        self.app = app
        self.figures = figures
        self.make_id = make_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        correlation = self._correlation(scope)
        state: MutableMapping[str, Any] = scope.setdefault("state", {})
        state["correlation"] = correlation
        status = 0
        is_stream = False
        head = scope["method"] == "HEAD"
        asked = {**scope, "method": "GET"} if head else scope
        done = False

        async def tagged(message: Message) -> None:
            nonlocal status, is_stream, done
            if head and message["type"] == "http.response.body":
                if not done:
                    done = True
                    await send({"type": "http.response.body", "body": b"", "more_body": False})
                if message.get("more_body"):
                    raise _HeadSent
                return
            if message["type"] == "http.response.start":
                status = message["status"]
                if not head and any(
                    name == b"content-type" and kind.startswith(STREAM.encode()) for name, kind in message["headers"]
                ):
                    is_stream = True
                    self.figures.count("streams")
                message["headers"] = [*message["headers"], (b"x-correlation-id", correlation.encode())]
            await send(message)

        with structlog.contextvars.bound_contextvars(correlation=correlation):
            try:
                await self.app(asked, receive, tagged)
            except ClientDisconnect:
                status = status or 499  # nobody is there to be answered; the number is the one that proxies write down
            except Exception as error:  # noqa: BLE001 - whatever it is, it gets an answer and a line
                if not done:
                    errors.log_ours(error)
                    state["problem"] = errors.problem_of(error)[0].code
                if not status:
                    await errors.response(error)(asked, receive, tagged)
            finally:
                if is_stream:
                    self.figures.count("streams", by=-1)
            self._count(scope["method"], asked, status)
            logger().info(
                "request",
                method=scope["method"],
                route=getattr(asked.get("route"), "path", "none"),
                status=state.get("logged_status", status),
                game=state.get("game"),
                seat=state.get("seat"),
                inbox=state.get("inbox"),
            )

    def _count(self, method: str, asked: Scope, status: int) -> None:
        """One answer more. What a ruling says may be its author's secret, and is a problem of the ledger alone."""
        state = asked["state"]
        route = getattr(asked.get("route"), "path", "none")
        told = state.get("logged_status", status)
        self.figures.count("requests", method if method in METHODS else "other", route, str(told))
        problem = "" if told < 400 else state.get("problem", "")
        if problem:
            self.figures.count("problems", problem)
        if route == SUBMITTING and method == "POST":
            self.figures.count("submissions", "accepted" if state.get("inbox") else problem or "other")

    def _correlation(self, scope: Scope) -> str:
        """The caller's own id where he sends a decent one. It stands in the ledger, for everybody to read."""
        for name, value in scope["headers"]:
            if name == b"x-correlation-id" and _CORRELATION.fullmatch(value.decode("latin-1")):
                return str(value.decode("latin-1"))
        return self.make_id()
