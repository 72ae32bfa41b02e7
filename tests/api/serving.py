"""A server for tests: real Valkey, real HTTP on a port, and a worker session in a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import msgspec
import uvicorn
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from fastapi import FastAPI

from api.app import create_app
from api.desk import Desk
from api.tokens import Tokens
from domain.thrones.ruleset import THRONES
from events.connecting import connect
from events.embedded import Embedded
from events.notes import Signer
from events.ruling import Judge
from events.store import Store
from worker.session import Bell, session

OPERATOR = "operator-of-the-tests"
JUDGES = {"thrones": Judge(THRONES)}
HEARTBEAT_SECONDS = 0.2
SIGNER = Signer("rookery.test", Ed25519PrivateKey.from_private_bytes(bytes(range(32))))


class Place(msgspec.Struct, frozen=True):
    """Where an application answers."""

    url: str
    app: FastAPI
    desk: Desk


class Table(msgspec.Struct, frozen=True):
    """A game on a server, with a client and everybody's token."""

    place: Place
    http: httpx.Client
    game: str
    seats: dict[str, str]
    tokens: dict[str, str]
    organiser: str

    @property
    def path(self) -> str:
        return f"/v1/games/{self.game}"

    def seat(self, house: str) -> str:
        return next(seat for seat, one in self.seats.items() if one == house)

    def bearer(self, who: str | None) -> dict[str, str]:
        """The header for a House, the organiser, the operator, or nobody."""
        if who is None:
            return {}
        known = {"organiser": self.organiser, "operator": OPERATOR}
        return {"Authorization": f"Bearer {known.get(who) or self.tokens[self.seat(who)]}"}

    def get(self, what: str, who: str | None = None, **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.http.get(f"{self.path}{what}", headers={**self.bearer(who), **named})

    def send(self, who: str | None, said: Any, wait: int | None = 20, **headers: str) -> httpx.Response:
        """A command: text is a letter, anything else JSON."""
        kind = "text/plain" if isinstance(said, str) else "application/json"
        content = (
            said.encode() if isinstance(said, str) else said if isinstance(said, bytes) else msgspec.json.encode(said)
        )
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        prefer = {} if wait is None else {"prefer": f"wait={wait}"}
        sent = {"content-type": kind, **self.bearer(who), **prefer, **named}
        return self.http.post(f"{self.path}/commands", content=content, headers=sent)

    def letter(self, who: str) -> str:
        """The first legal answer to what a House owes, as text."""
        owes = self.get("/owed", who).json()["owes"]
        return str(owes[0]["notation"]["examples"][0])


def store_of(embedded: Embedded) -> Store:
    return Store.connect(embedded.store_url)


@contextmanager
def serving(store: Store, bell: Bell | None, desk_type: type[Desk] = Desk) -> Iterator[Place]:
    """An application on a free port, in a thread."""
    desk = desk_type(store, Tokens(store, OPERATOR), bell, JUDGES["thrones"], signer=SIGNER)
    app = create_app(desk, heartbeat_seconds=HEARTBEAT_SECONDS)
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, log_config=None, access_log=False, timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server starts"
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield Place(f"http://127.0.0.1:{port}", app, desk)
    finally:
        server.should_exit = True
        thread.join(20)


@contextmanager
def ruling(embedded: Embedded) -> Iterator[Bell]:
    """A bell with a session that listens to it, in a thread."""
    stop = threading.Event()
    bell = Bell(connect(embedded.queue_url), lambda number: None)
    store = store_of(embedded)

    def work() -> None:
        while not stop.is_set():
            session(store, JUDGES, bell, linger_seconds=0.5, must_stop=stop.is_set)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield bell
    finally:
        stop.set()
        thread.join(20)


def sit_down(place: Place, http: httpx.Client, wait: int | None = 20, **order: Any) -> Table:
    """A new game for three, or as ordered."""
    headers = {"Authorization": f"Bearer {OPERATOR}"} | ({} if wait is None else {"Prefer": f"wait={wait}"})
    answer = http.post(f"{place.url}/v1/games", json={"players": 3, **order}, headers=headers)
    assert answer.status_code == 201, answer.text
    made = answer.json()
    return Table(place, http, made["game"], made["seats"], made["tokens"], made["organiser"])
