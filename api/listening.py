"""Connections: how many, from whom, for how long, and what of HTTP is taken in.

Uvicorn parses (with h11) and runs the application; it has no limit for a head that does not end, a body that does not
come or an answer that is not read. Those are here, in a subclass of its protocol: one timer per connection for what
the client owes, one for what it does not take, and counts by address. A guest who keeps us waiting costs one
connection for some seconds; of as many as there may be, the one that has
kept us waiting longest goes first.
"""

from __future__ import annotations

import asyncio
import errno
import functools
import ipaddress
import os
import re
import resource
import socket
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from typing import Any

import h11
import msgspec
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from api import errors
from api.errors import Edge
from domain.kernel.printing import counted
from worker.log import logger

MOST_HEAD_BYTES = 16 * 1024
MOST_HEADERS = 100
SLOWEST_BYTES_PER_SECOND = 1024
"""A body may take longer than its time, and an answer too, as long as it moves so fast on the average."""

RESERVE = 256
"""Descriptors that are kept from connections: for the stores, files, workers' pipes, libraries."""
ENOUGH_DESCRIPTORS = 65_536
SEND_BYTES = 128 * 1024
"""What the system holds for a client that does not read; by itself it would take megabytes for each."""

_CONTENT_LENGTH = re.compile(rb"^content-length[ \t]*:[ \t]*([^\r]*?)[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_BARE_LINE_FEED = re.compile(rb"(?<!\r)\n")
_FOLDED = re.compile(rb"\n[ \t]")
SHORTAGES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

MOST_STREAMS = 16
"""Event streams of one token, or without token of one address, at once. Setting: ``ROOKERY_STREAMS``."""

MOST_WORKED_FOR = 4
"""Readings of one address that are worked on at once. There is one processor for all of them; the threads are forty."""

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a client may take of the server. Each is a setting; :mod:`worker.settings` says what it is for."""

    head_seconds: float = 10.0
    body_seconds: float = 30.0
    idle_seconds: float = 5.0
    write_seconds: float = 30.0
    connections: int = 1000
    address_connections: int = 100
    streams: int = MOST_STREAMS
    proxies: tuple[Network, ...] = ()


def raise_descriptors() -> int:
    """Raise the soft limit of open files to the hard one; what it is now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, ENOUGH_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return ENOUGH_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft


def fitting(limits: Limits, descriptors: int) -> Limits:
    """The limits with no more connections than there are descriptors for, the reserve left out."""
    most = max(16, descriptors - RESERVE)
    return msgspec.structs.replace(limits, connections=min(limits.connections, most))


def origin(address: str) -> str:
    """What one guest has: an address, or the /64 that a household gets in IPv6."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((int(found) >> 64 << 64, 64)))
    return str(found)


def forwarded(peer: str, headers: list[tuple[bytes, bytes]], proxies: tuple[Network, ...]) -> str:
    """The client's address: the peer's, or what listed proxies say, read from the last hop back to the first stranger.

    Raises ValueError where a listed proxy says what is no address: a guess would count somebody else.
    """
    hops = [
        one.strip()
        for name, value in headers
        if name == b"x-forwarded-for"
        for one in value.decode("latin-1").split(",")
    ]
    client = peer
    while hops and _is_listed(client, proxies):
        client = str(ipaddress.ip_address(hops.pop()))
    return client


def _is_listed(address: str, proxies: tuple[Network, ...]) -> bool:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    found = getattr(found, "ipv4_mapped", None) or found
    return any(found in network for network in proxies)


class Gate:
    """Who is inside: the connections of a server by origin, and those that ask nothing, longest first."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.inside: Counter[str] = Counter()
        self.owing: dict[Guarded, None] = {}

    @property
    def total(self) -> int:
        return self.inside.total()

    def enter(self, origin: str, *, is_proxy: bool) -> Edge | None:
        """Count a connection, after making room where somebody keeps us waiting; why there is no place for it."""
        limits = self.limits
        full = self._is_full(self.total, limits.connections, None)
        if full:
            return Edge(503, "too-many-connections", "The server has as many connections as it may.", _SOON)
        if not is_proxy and self._is_full(self.inside[origin], limits.address_connections, origin):
            detail = f"An address may have {counted(limits.address_connections, 'connection')} at once."
            return Edge(429, "too-many-connections", detail, _SOON)
        self.inside[origin] += 1
        return None

    def _is_full(self, now: int, most: int, origin: str | None) -> bool:
        if now < most:
            return False
        slowest = next((one for one in self.owing if origin in (None, one.origin)), None)
        if slowest is None:
            return True
        slowest.drop()
        return False

    def leave(self, origin: str) -> None:
        self.inside[origin] -= 1
        if self.inside[origin] <= 0:
            del self.inside[origin]


_SOON = {"Retry-After": "5"}


class Tally:
    """How many of something everybody has at once."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.held: Counter[str] = Counter()

    @contextmanager
    def one(self, whose: str, code: str, detail: str) -> Iterator[None]:
        """Raises Edge (429) when there are as many as there may be."""
        if self.held[whose] >= self.most:
            raise Edge(429, code, detail, _SOON, most=self.most)
        self.held[whose] += 1
        try:
            yield
        finally:
            self.held[whose] -= 1
            if not self.held[whose]:
                del self.held[whose]


class Turns:
    """Who is worked for: so many requests of everybody at once, his others after them, in their order."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._here: Counter[str] = Counter()
        self._lines: dict[str, asyncio.Semaphore] = {}

    @asynccontextmanager
    async def one(self, whose: str) -> AsyncIterator[None]:
        line = self._lines.setdefault(whose, asyncio.Semaphore(self.most))
        self._here[whose] += 1
        try:
            async with line:
                yield
        finally:
            self._here[whose] -= 1
            if not self._here[whose]:
                del self._here[whose], self._lines[whose]


class Doorkeeper:
    """Around the application: who asks, no more requests of his at once than connections, and whose turn it is.

    A request whose connection is gone is worked on all the same, so it counts as long as that takes. Readings and plans
    take turns until the answer begins; what waits for a ruling or listens does no work meanwhile. Whether the server is
    well is told at once.
    """

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self.app = app
        self.proxies = limits.proxies
        self.tally = Tally(limits.address_connections)
        self.turns = Turns(MOST_WORKED_FOR)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        client = str(scope["client"][0]) if scope.get("client") else "local"
        if _is_listed(client, self.proxies):
            try:
                client = forwarded(client, scope["headers"], self.proxies)
            except ValueError:
                refusal = Edge(400, "bad-forwarded", "X-Forwarded-For holds what is no address.")
                await errors.response(refusal)(scope, receive, send)
                return
            scope = {**scope, "client": (client, 0)}
        whose = origin(client)
        try:
            with self.tally.one(
                whose, "too-many-connections", f"An address may have {counted(self.tally.most, 'request')} at once."
            ):
                await self._in_turn(whose, scope, receive, send)
        except Edge as refusal:
            await errors.response(refusal)(scope, receive, send)

    async def _in_turn(self, whose: str, scope: Scope, receive: Receive, send: Send) -> None:
        if not _is_work(scope["method"], scope["path"]):
            await self.app(scope, receive, send)
            return
        async with AsyncExitStack() as turn:
            await turn.enter_async_context(self.turns.one(whose))

            async def sending(message: Message) -> None:
                if message["type"] == "http.response.start":
                    await turn.aclose()  # a reader who takes his time keeps nobody behind him waiting
                await send(message)

            await self.app(scope, receive, sending)


def _is_work(method: str, path: str) -> bool:
    """Whether a request makes the server compute, rather than wait or keep something."""
    if not path.startswith("/v1/") or path.endswith("/events"):
        return False
    return method in ("GET", "HEAD") or path.endswith("/plan")


class Strict(h11.Connection):
    """h11, without what two readers of one message could understand differently (RFC 9112, 6.3 and 11.2)."""

    status = 400

    def next_event(self) -> Any:
        try:
            if self.their_state is h11.IDLE:
                _check_head(self.trailing_data[0])
            event = super().next_event()
            return _checked(event) if isinstance(event, h11.Request) else event
        except h11.RemoteProtocolError as error:
            self.status = error.error_status_hint
            raise


def _check_head(received: bytes) -> None:
    head, _, _ = received.partition(b"\r\n\r\n")
    if len(head) > MOST_HEAD_BYTES:
        raise h11.RemoteProtocolError("the head is too large", error_status_hint=431)
    if _BARE_LINE_FEED.search(head):
        raise h11.RemoteProtocolError("a line ends without a carriage return")
    if _FOLDED.search(head):
        raise h11.RemoteProtocolError("a header line is folded")
    lengths = _CONTENT_LENGTH.findall(head)
    if len(lengths) > 1 or any(b"," in one for one in lengths):
        raise h11.RemoteProtocolError("Content-Length comes twice")


def _checked(request: h11.Request) -> h11.Request:
    names = [name for name, _ in request.headers]
    if len(names) > MOST_HEADERS:
        raise h11.RemoteProtocolError("too many headers", error_status_hint=431)
    if request.http_version not in (b"1.0", b"1.1"):
        raise h11.RemoteProtocolError("another version of HTTP", error_status_hint=505)
    if b"transfer-encoding" in names and (b"content-length" in names or request.http_version == b"1.0"):
        raise h11.RemoteProtocolError("the length of the body is told twice")
    target = request.target
    if request.method == b"CONNECT":
        raise h11.RemoteProtocolError("this is no proxy")
    if target[:7].lower() == b"http://" or target[:8].lower() == b"https://":
        target = b"/" + target.split(b"://", 1)[1].partition(b"/")[2]
        return h11.Request(
            method=request.method, headers=request.headers, target=target, http_version=request.http_version
        )
    if not target.startswith(b"/") and not (target == b"*" and request.method == b"OPTIONS"):
        raise h11.RemoteProtocolError("a target that is no path")
    return request


class Guarded(H11Protocol):
    """Uvicorn's protocol with a clock and a counter."""

    def __init__(self, *given: Any, gate: Gate, **named: Any) -> None:
        super().__init__(*given, **named)
        self.gate = gate
        self.conn = self.strict = Strict(h11.SERVER, MOST_HEAD_BYTES)
        self.origin = ""
        self._inside = False
        self._owed: asyncio.TimerHandle | None = None
        self._owes = ""
        self._since = 0.0
        self._received = 0
        self._untaken: asyncio.TimerHandle | None = None
        self._left = 0

    # Coming and going

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn narrows it the same way
        super().connection_made(transport)
        # Whatever the system does not take at once is waited for: so a client that does not read is seen.
        transport.set_write_buffer_limits(high=0)
        peer = transport.get_extra_info("peername")
        address = str(peer[0]) if isinstance(peer, tuple) else "local"
        self.origin = origin(address)
        refusal = self.gate.enter(self.origin, is_proxy=_is_listed(address, self.gate.limits.proxies))
        if refusal is not None:
            self._refuse(refusal)
            return
        self._inside = True
        self._wait_for("head")

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_for("")
        self._forget_untaken()
        self._unset_keepalive_if_required()
        if self._inside:
            self._inside = False
            self.gate.leave(self.origin)
        super().connection_lost(exc)

    def drop(self) -> None:
        """Make room for others, at once."""
        if self._inside:
            self._inside = False
            self.gate.leave(self.origin)
        self._wait_for("")
        self.transport.abort()

    # What the client owes

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._received += len(data)
        if self.conn.their_state is h11.IDLE and self._owes != "head":
            self._wait_for("head")
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    def _look(self) -> None:
        """Begin or end the time for what the client owes now."""
        state = self.conn.their_state
        if self.transport.is_closing():
            self._wait_for("")
        elif state is h11.SEND_BODY:
            if self._owes != "body":
                self._wait_for("body")
        elif self._owes and not (state is h11.IDLE and self._owes == "head"):
            self._wait_for("")
        if state is h11.IDLE and not self._owes and not self.transport.is_closing():
            self.gate.owing[self] = None

    def _wait_for(self, what: str) -> None:
        if self._owed is not None:
            self._owed.cancel()
            self._owed = None
        self.gate.owing.pop(self, None)
        self._owes = what
        self._since, self._received = self.loop.time(), 0
        if what:
            self.gate.owing[self] = None
        if what == "head":
            self._owed = self.loop.call_later(self.gate.limits.head_seconds, self._overdue)
        elif what == "body":
            self._owed = self.loop.call_later(self.gate.limits.body_seconds, self._overdue)

    def _overdue(self) -> None:
        if self._owes == "body" and self._is_coming():
            self._owed = self.loop.call_later(1.0, self._overdue)
            return
        what, self._owed = self._owes, None
        if what == "head" and not self.conn.trailing_data[0]:
            self._leave_it()
            self.transport.close()
        else:
            self._refuse(Edge(408, "too-slow", f"The {what} of the request did not come in time."))

    def _is_coming(self) -> bool:
        """Whether a body is late, but moves; one that nobody asks for any more is not waited for."""
        if self.cycle.response_complete:
            return False
        seconds = self.loop.time() - self._since
        return self.flow.read_paused or self._received >= seconds * SLOWEST_BYTES_PER_SECOND

    # What the client does not take

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._untaken is None:
            self._left = self.transport.get_write_buffer_size()
            self._untaken = self.loop.call_later(self.gate.limits.write_seconds, self._check_taken)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._forget_untaken()

    def _forget_untaken(self) -> None:
        if self._untaken is not None:
            self._untaken.cancel()
            self._untaken = None

    def _check_taken(self) -> None:
        left = self.transport.get_write_buffer_size()
        seconds = self.gate.limits.write_seconds
        if self._left - left < SLOWEST_BYTES_PER_SECOND * seconds:
            self.transport.abort()
            return
        self._left = left
        self._untaken = self.loop.call_later(seconds, self._check_taken)

    # What is not HTTP

    def _should_upgrade(self) -> bool:
        return False  # as the RFC has it: whoever cannot, answers as if it had not been asked

    def send_400_response(self, msg: str) -> None:
        codes = {431: "head-too-large", 501: "not-implemented", 505: "not-implemented"}
        status = self.strict.status
        detail = "This is not a request as RFC 9112 has it; the connection is closed."
        self._refuse(Edge(status, codes.get(status, "bad-request"), detail))

    def _refuse(self, refusal: Edge) -> None:
        """Answer for the application, unless it has begun to answer, and close."""
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request
        if cycle is None or not cycle.response_started or (cycle.response_complete and self._owes != "body"):
            self.transport.write(_raw(errors.response(refusal)))
        self._leave_it()
        self.transport.close()

    def _leave_it(self) -> None:
        """Tell the application that nobody listens any more."""
        self._wait_for("")
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()


def _raw(response: Response) -> bytes:
    lines = [b"HTTP/1.1 %d " % response.status_code, b"connection: close"]
    lines += [name + b": " + value for name, value in response.raw_headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + bytes(response.body)


class Listener(socket.socket):
    """A listening socket that turns a guest away where the process has no descriptor left.

    Otherwise the guest would stay in the queue and the event loop would try again without end.
    """

    _spare = -1

    def __init__(self, *given: int) -> None:
        super().__init__(*given)
        self.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)  # those who come in inherit it

    def keep_a_spare(self) -> None:
        """Hold one descriptor for turning somebody away."""
        if self._spare < 0:
            with suppress(OSError):
                self._spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def accept(self) -> tuple[socket.socket, Any]:
        try:
            return super().accept()
        except OSError as error:
            if error.errno not in SHORTAGES:
                raise
            self._turn_away()
            raise BlockingIOError(errno.EAGAIN, "no descriptor left") from error

    def _turn_away(self) -> None:
        logger().warning("no-descriptors", most=resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        if self._spare >= 0:
            os.close(self._spare)
            self._spare = -1
            with suppress(OSError):
                super().accept()[0].close()
        self.keep_a_spare()

    def close(self) -> None:
        if self._spare >= 0:
            os.close(self._spare)
            self._spare = -1
        super().close()


def configuration(app: ASGIApp, limits: Limits, *, grace_seconds: int) -> Config:
    """Uvicorn's configuration with all of this."""
    http: Any = functools.partial(Guarded, gate=Gate(limits))
    return Config(
        Doorkeeper(app, limits),
        http=http,
        ws="none",
        lifespan="off",
        proxy_headers=False,
        log_config=None,
        access_log=False,
        log_level="error",
        timeout_keep_alive=limits.idle_seconds,  # type: ignore[arg-type]  # a fraction does as well
        timeout_graceful_shutdown=grace_seconds,
    )
