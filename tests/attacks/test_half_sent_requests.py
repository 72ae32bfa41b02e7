# ruff: noqa: E501, ISC004 - tables of requests as they are sent
"""Thousands of connections that keep a server waiting, from this machine to itself, while an honest client plays on."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import fakeredis
import httpx
import pytest
import uvicorn

from api.app import create_app
from api.desk import Desk
from api.listening import Limits, Listener, configuration
from api.tokens import Tokens
from domain.thrones.ruleset import THRONES
from events.ruling import Judge
from events.store import Store

QUICK = Limits(
    head_seconds=1, body_seconds=1, idle_seconds=1, write_seconds=1, connections=400, address_connections=300
)
MANY = 1000
HALVES = {
    "nothing": b"",
    "half a head": b"GET /healthz HTTP/1.1\r\nHost: a\r\nX-",
    "half a body": b"POST /v1/games HTTP/1.1\r\nHost: a\r\nContent-Length: 999\r\nContent-Type: application/json\r\n\r\n{",
    "half a chunk": b"POST /v1/games HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{",
    "an answer and no more": b"GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n",
    "many answers that are not read": b"GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n" * 60,
}


@contextmanager
def listening(limits: Limits) -> Iterator[int]:
    """The application behind its own listener, in a thread; its port."""
    store = Store(fakeredis.FakeRedis())
    app = create_app(Desk(store, Tokens(store, "op"), None, Judge(THRONES)), streams=limits.streams)
    listener = Listener(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    listener.keep_a_spare()
    server = uvicorn.Server(configuration(app, limits, grace_seconds=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    until(lambda: server.started, "the server starts")
    try:
        yield int(listener.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(20)
        listener.close()


def until(holds: Callable[[], bool], what: str) -> None:
    for _ in range(1500):
        if holds():
            return
        time.sleep(0.02)
    raise AssertionError(f"it never came about: {what}")


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def caller(port: int, number: int, origin: str = "") -> socket.socket:
    one = socket.socket()
    one.settimeout(20)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    one.bind((origin or f"127.0.1.{1 + number % 200}", 0))
    one.connect(("127.0.0.1", port))
    return one


def healthy(port: int) -> int:
    return httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=30).status_code


@pytest.mark.parametrize("how", HALVES)
def test_an_honest_client_is_answered_while_a_thousand_hang(how: str) -> None:
    with listening(QUICK) as port:
        assert healthy(port) == 200
        until(lambda: quiet(port), "the first answer is over")
        before = descriptors()
        with ExitStack() as open_ones:
            for number in range(MANY // 4 if "answer" in how else MANY):
                one = caller(port, number)
                open_ones.callback(one.close)
                with contextlib.suppress(OSError):
                    one.sendall(HALVES[how])
                if number % 200 == 199:
                    assert healthy(port) == 200
            assert healthy(port) == 200
            # The server lets go of all of them, though none of them closes.
            ours = MANY // 4 if "answer" in how else MANY
            until(lambda: descriptors() <= before + ours + 3, "the server's ends are closed")
            assert healthy(port) == 200
        until(lambda: descriptors() <= before + 3, "nothing is left")


def quiet(port: int) -> bool:
    return healthy(port) == 200


def test_a_byte_now_and_then_does_not_lengthen_the_time_for_a_head() -> None:
    with listening(QUICK) as port:
        one = caller(port, 0)
        sent = 0
        answer = b""
        one.settimeout(0.2)
        for byte in b"GET /healthz HTTP/1.1\r\nHost: " + b"a" * 1000:
            try:
                one.sendall(bytes([byte]))
                sent += 1
                answer = one.recv(1000)
                break
            except TimeoutError:
                continue
            except OSError:
                break
        one.close()
        assert sent < 200, "the server does not wait for all of it"
        assert not answer or answer.startswith(b"HTTP/1.1 408 ")


def test_one_address_has_its_number_of_connections_and_a_new_one_takes_the_place_of_the_slowest() -> None:
    with listening(Limits(address_connections=5)) as port, ExitStack() as open_ones:
        held = []
        for number in range(5):
            one = caller(port, number, "127.0.0.9")
            open_ones.callback(one.close)
            one.sendall(HALVES["half a head"])
            held.append(one)
        sixth = caller(port, 0, "127.0.0.9")
        open_ones.callback(sixth.close)
        sixth.sendall(LAST)
        assert sixth.recv(1000).startswith(b"HTTP/1.1 200 ")
        with contextlib.suppress(ConnectionError):
            assert held[0].recv(1) == b"", "the first of them has waited longest"
        assert healthy(port) == 200


def test_a_listed_proxy_says_for_whom_it_asks_and_nobody_else_is_believed() -> None:
    from api.listening import forwarded, origin
    from worker.settings import setting

    listed = setting("ROOKERY_TRUSTED_PROXIES", {"ROOKERY_TRUSTED_PROXIES": "127.0.0.1, 10.0.0.0/8,fd00::/8"})

    def seen(peer: str, *said: bytes) -> str:
        return forwarded(peer, [(b"x-forwarded-for", one) for one in said], listed)

    assert seen("8.8.8.8", b"1.2.3.4") == "8.8.8.8"
    assert seen("127.0.0.1") == "127.0.0.1"
    assert seen("127.0.0.1", b"1.2.3.4") == "1.2.3.4"
    assert seen("127.0.0.1", b"6.6.6.6, 1.2.3.4") == "1.2.3.4", "what a client writes before is his own invention"
    assert seen("127.0.0.1", b"6.6.6.6", b"1.2.3.4, 10.1.1.1") == "1.2.3.4"
    assert seen("::ffff:10.0.0.1", b"2001:db8::1") == "2001:db8::1"
    for bad in (b"", b"1.2.3", b"1.2.3.4:80", b"unknown", b"1.2.3.4,", b"<x>", b"1.2.3.4\x00"):
        with pytest.raises(ValueError, match=r"."):
            seen("127.0.0.1", bad)
    assert origin("2001:db8::1") == origin("2001:db8::ffff:2") != origin("2001:db8:0:1::1")
    assert origin("::ffff:1.2.3.4") == origin("1.2.3.4")


def test_behind_a_proxy_the_real_address_is_counted() -> None:
    from worker.settings import setting

    proxies = setting("ROOKERY_TRUSTED_PROXIES", {"ROOKERY_TRUSTED_PROXIES": "127.0.0.0/8"})
    with listening(Limits(address_connections=3, proxies=proxies)) as port, ExitStack() as open_ones:
        half = HALVES["half a body"].replace(
            b"Host: a", b"Host: a\r\nAuthorization: Bearer op\r\nX-Forwarded-For: 1.2.3.4"
        )
        for number in range(3):
            one = caller(port, number, "127.0.0.1")
            open_ones.callback(one.close)
            one.sendall(half)

        def asked(who: str) -> int:
            return httpx.get(f"http://127.0.0.1:{port}/healthz", headers={"X-Forwarded-For": who}).status_code

        until(lambda: asked("1.2.3.4") == 429, "the fourth is refused")
        assert asked("1.2.3.5") == 200
        assert asked("9.9.9.9, 1.2.3.4") == 429
        assert asked("nonsense") == 400


def test_without_a_descriptor_the_server_neither_ends_nor_spins(monkeypatch: pytest.MonkeyPatch) -> None:
    import errno

    tries = []
    lacking = True
    real = socket.socket.accept

    def accept(self: socket.socket) -> tuple[socket.socket, object]:
        tries.append(1)
        if lacking and len(tries) % 2:
            raise OSError(errno.EMFILE, "Too many open files")
        return real(self)

    with listening(Limits()) as port:
        before = descriptors()
        monkeypatch.setattr(socket.socket, "accept", accept)
        turned_away = 0
        for _ in range(10):
            one = caller(port, 0)
            one.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            with contextlib.suppress(ConnectionError):
                turned_away += one.recv(100) == b""
            one.close()
        lacking = False
        assert len(tries) < 100, "one try or two for each guest"
        assert healthy(port) == 200
        until(lambda: descriptors() <= before + 3, "no descriptor is lost")


RAW: list[tuple[str, bytes, int]] = [
    ("length and encoding", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("encoding in 1.0", b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("two equal lengths", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", 400),
    ("two lengths", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", 400),
    ("a list of lengths", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\nx", 400),
    ("a length with a sign", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\nx", 400),
    ("a length below nothing", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\nx", 400),
    ("a length of many digits", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + b"9" * 400 + b"\r\n\r\nx", 400),
    ("another encoding", b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
    ("a chunk without size", b"POST /v1/games HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n", 400),
    ("a chunk below nothing", b"POST /v1/games HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n", 400),
    ("a chunk of many digits", b"POST /v1/games HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + b"f" * 40 + b"\r\n", 400),
    ("a folded line", b"GET /healthz HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\n\r\n", 400),
    ("bare line feeds", b"GET /healthz HTTP/1.1\nHost: a\n\n", 400),
    ("a space before the colon", b"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length : 3\r\n\r\n", 400),
    ("no host", b"GET /healthz HTTP/1.1\r\n\r\n", 400),
    ("two hosts", b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    ("a head without end", b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 40_000, 431),
    ("many headers", b"GET /healthz HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 200 + b"\r\n", 431),
    ("a zero byte", b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n", 400),
    ("connect", b"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("no path", b"GET healthz HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("a star", b"GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    ("not HTTP", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
    ("HTTP/0.9", b"GET /healthz\r\n\r\n", 400),
]  # fmt: skip


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with listening(Limits()) as found:
        yield found


def said(port: int, request: bytes) -> bytes:
    """Everything that comes back until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=3) as one:
        one.sendall(request)
        answer = b""
        with contextlib.suppress(ConnectionError):
            while piece := one.recv(65536):
                answer += piece
        return answer


@pytest.mark.parametrize(("name", "request_bytes", "status"), RAW, ids=[row[0] for row in RAW])
def test_what_two_readers_could_take_differently_is_refused(
    port: int, name: str, request_bytes: bytes, status: int
) -> None:
    # What a smuggler hides behind it is never answered.
    answer = said(port, request_bytes + b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
    assert answer.count(b"HTTP/1.1 ") == 1, name
    told = int(answer.split(b" ")[1])
    assert told == status or (name == "HTTP/2" and told in (400, 505)), answer
    assert b"connection: close" in answer
    assert b'"code":' in answer


LAST = b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(
    ("request_bytes", "statuses"),
    [
        (b"GET http://a/healthz HTTP/1.1\r\nHost: b\r\n\r\n", [200]),
        (b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", [200]),
        (b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n", [200]),
        (b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n" * 5, [200] * 5),
        (b"HEAD /healthz HTTP/1.1\r\nHost: a\r\n\r\n", [200]),
        (b"POST /v1/games HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\nX: y\r\n\r\n", [401]),
        (
            b"POST /v1/games HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer op\r\nExpect: 100-continue\r\n"
            b"Content-Length: 2\r\n\r\n{}",
            [422],
        ),
    ],
)  # fmt: skip
def test_what_is_http_is_answered(port: int, request_bytes: bytes, statuses: list[int]) -> None:
    answer = said(port, request_bytes + LAST)
    told = [int(piece.split(b" ")[0]) for piece in answer.split(b"HTTP/1.1 ")[1:]]
    assert [one for one in told if one != 100] == [*statuses, 200], answer


def test_http_one_point_nought(port: int) -> None:
    answer = said(port, b"GET /healthz HTTP/1.0\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 ")
