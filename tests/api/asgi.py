"""A client that talks to an application in the same process and notes every byte: no server's clock between them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec
from starlette.types import ASGIApp, Message


class Answer(msgspec.Struct, frozen=True):
    """Everything that came back."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        return dict(self.headers).get(name.lower())

    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class Client:
    """Sends one request at a time, as numbered in ``x-correlation-id``."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.sent = 0

    async def get(self, path: str, token: str | None = None, headers: Mapping[str, str] | None = None) -> Answer:
        return await self.request("GET", path, token, headers=headers)

    async def events(self, path: str, token: str | None, last: int, headers: Mapping[str, str] | None = None) -> Answer:
        """Listen until the event with the id ``last`` has come."""
        end = b"id: %d\n" % last
        return await self.request(
            "GET", path, token, headers=headers, until=lambda heard: end in heard and heard.endswith(b"\n\n")
        )

    async def post(self, path: str, token: str | None, body: bytes, headers: Mapping[str, str] | None = None) -> Answer:
        return await self.request("POST", path, token, body, headers)

    async def request(
        self,
        method: str,
        path: str,
        token: str | None = None,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        until: Callable[[bytes], bool] | None = None,
    ) -> Answer:
        self.sent += 1
        named = {"host": "test", "x-correlation-id": f"c-{self.sent}", **(headers or {})}
        if token is not None:
            named["authorization"] = f"Bearer {token}"
        if body:
            named.setdefault("content-type", "application/json")
            named["content-length"] = str(len(body))
        parts = urlsplit(path)
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": parts.path,
            "raw_path": parts.path.encode(),
            "root_path": "",
            "query_string": parts.query.encode(),
            "headers": [(name.lower().encode(), value.encode()) for name, value in named.items()],
            "client": ("127.0.0.1", 1),
            "server": ("test", 80),
        }
        return await self._call(scope, body, until)

    async def _call(self, scope: dict[str, Any], body: bytes, until: Callable[[bytes], bool] | None) -> Answer:
        incoming: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        gone = asyncio.Event()
        heard = bytearray()
        start: Message = {}

        async def receive() -> Message:
            if incoming:
                return incoming.pop()
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
                return
            heard.extend(message.get("body", b""))
            if not message.get("more_body", False) or (until is not None and until(bytes(heard))):
                gone.set()

        async with asyncio.timeout(60):  # a bound for a hang, not a measurement
            await self.app(scope, receive, send)
        headers = tuple((name.decode(), value.decode()) for name, value in start["headers"])
        return Answer(start["status"], headers, bytes(heard))
