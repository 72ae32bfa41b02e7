"""One guest asks for much at once, and does not stay for the answers. Others are served meanwhile.

Without a token, from one address: 80 readers of certificates made everybody else wait for 3 s, and 500 requests whose
connections were dropped at once kept the server busy for 5 s after the last of them was gone. An arbiter of a game that
nobody ruled on had all threads wait for rulings, 10 s at a time.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any

import fakeredis
import pytest
from starlette.types import Message, Receive, Scope, Send

from api.desk import MOST_WAITING, Desk
from api.listening import MOST_WORKED_FOR, Doorkeeper, Limits
from api.tokens import Tokens
from domain.thrones.ruleset import THRONES
from events.ruling import Judge
from events.store import Store

READING = "/v1/games/winter/entries/1/certificate"


class Work:
    """An application that works until it is let go."""

    def __init__(self, *, begins: bool = False) -> None:
        self.now: dict[str, int] = {}
        self.most = 0
        self.done = 0
        self.go_on = asyncio.Event()
        self.begins = begins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        who = scope["client"][0]
        self.now[who] = self.now.get(who, 0) + 1
        self.most = max(self.most, self.now[who])
        if self.begins:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        if who == "10.0.0.1":
            await self.go_on.wait()
        if not self.begins:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})
        self.now[who] -= 1
        self.done += 1


async def ask(door: Doorkeeper, who: str, path: str = READING, method: str = "GET") -> int:
    status = 0

    async def send(message: Message) -> None:
        nonlocal status
        status = message.get("status", status)

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    scope = {"type": "http", "method": method, "path": path, "headers": [], "client": (who, 1)}
    await door(scope, receive, send)
    return status


def played(work: Callable[[], Work], story: Callable[[Work, Doorkeeper], Awaitable[Any]]) -> Any:
    async def tell() -> Any:
        app = work()
        return await story(app, Doorkeeper(app, Limits(address_connections=100)))

    return asyncio.run(tell())


async def begun(door: Doorkeeper, count: int, **said: str) -> list[asyncio.Task[int]]:
    asked = [asyncio.create_task(ask(door, "10.0.0.1", **said)) for _ in range(count)]
    for _ in range(5):
        await asyncio.sleep(0)
    return asked


def test_the_readings_of_one_address_are_worked_on_a_few_at_a_time() -> None:
    async def story(app: Work, door: Doorkeeper) -> None:
        asked = await begun(door, 80)
        assert app.now["10.0.0.1"] == MOST_WORKED_FOR
        assert await asyncio.wait_for(ask(door, "10.0.0.2"), 1) == 200
        assert await asyncio.wait_for(ask(door, "10.0.0.2", method="HEAD"), 1) == 200
        app.go_on.set()
        assert set(await asyncio.gather(*asked)) == {200}
        assert app.most == MOST_WORKED_FOR
        assert not door.turns._lines and not door.turns._here and not door.tally.held

    played(Work, story)


def test_what_waits_or_listens_takes_no_turn_and_health_is_told_at_once() -> None:
    async def story(app: Work, door: Doorkeeper) -> None:
        asked = await begun(door, 20)
        for said in (
            {"path": "/v1/games/winter/events"},
            {"path": "/v1/games/winter/commands", "method": "POST"},
            {"path": "/healthz"},
            {"path": "/readyz"},
        ):
            before = app.now["10.0.0.1"]
            asked += await begun(door, 1, **said)
            assert app.now["10.0.0.1"] == before + 1, said
        app.go_on.set()
        await asyncio.gather(*asked)

    played(Work, story)


def test_who_takes_his_time_to_read_keeps_nobody_behind_him_waiting() -> None:
    async def story(app: Work, door: Doorkeeper) -> None:
        asked = await begun(door, 20)
        assert app.now["10.0.0.1"] == 20
        app.go_on.set()
        await asyncio.gather(*asked)

    played(lambda: Work(begins=True), story)


def test_requests_whose_connections_are_gone_are_no_more_than_connections_may_be() -> None:
    async def story(app: Work, door: Doorkeeper) -> None:
        asked = await begun(door, 500)
        refused = [one for one in asked if one.done()]
        assert [one.result() for one in refused] == [429] * 400
        app.go_on.set()
        assert sum(status == 200 for status in await asyncio.gather(*asked)) == 100

    played(Work, story)


def test_a_turn_that_is_given_up_goes_to_the_next() -> None:
    async def story(app: Work, door: Doorkeeper) -> None:
        asked = await begun(door, 10)
        for one in asked[:8]:
            one.cancel()
        await asyncio.gather(*asked[:8], return_exceptions=True)
        app.go_on.set()
        assert await asyncio.gather(*asked[8:]) == [200, 200]
        assert not door.turns._lines and not door.tally.held

    played(Work, story)


def test_few_threads_wait_for_a_ruling_that_does_not_come(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(fakeredis.FakeRedis())
    desk = Desk(store, Tokens(store, "op"), None, Judge(THRONES))
    made = desk.create(edition="second-edition", players=3, game="winter", seed="5e" * 32)
    go_on, asked = threading.Event(), list[float]()

    def waits(game: str, version: int, timeout_seconds: float) -> bool:
        asked.append(timeout_seconds)
        if timeout_seconds:
            go_on.wait(60)
        return False

    monkeypatch.setattr(store, "await_version", waits)
    with ThreadPoolExecutor(40) as threads:
        found = [threads.submit(desk.ruling, "winter", made.receipt.inbox, 10.0) for _ in range(40)]
        done, _ = wait(found, timeout=60, return_when=FIRST_COMPLETED)
        while len(done) < 40 - MOST_WAITING:
            done, _ = wait(found, timeout=0.05)
        go_on.set()
    assert sorted(asked) == [0.0] * (40 - MOST_WAITING) + [10.0] * MOST_WAITING
    assert {one.result() for one in found} == {None}
    asked.clear()
    desk.ruling("winter", made.receipt.inbox, 10.0)
    assert asked == [10.0]
