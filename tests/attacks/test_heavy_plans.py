"""Plans and forks whose ruling never ends, eats memory or kills: who asked is told, and everybody else is answered."""

from __future__ import annotations

import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, get_args

import httpx
import pytest

from api import apart
from api.apart import Apart
from events.embedded import Embedded
from events.store import Store
from tests.api.serving import JUDGES, OPERATOR, Place, serving
from tests.worker.poison import How
from worker.adjudicate import adjudicate

pytestmark = pytest.mark.server

GAME = "winter"
SEATS = {"alice": "stark", "bob": "lannister", "carol": "baratheon"}
FACTS = [{"fact": "PowerChanged", "house": "stark", "by": 1}]
WAITS: How = "sleeps"
"""The one that does not work; nothing is known of it."""


class Guests:
    """A server with a game, and what guests ask of it."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.http = httpx.Client(base_url=place.url, timeout=300)
        self.seat, self.arbiter = self.begin(GAME)

    def begin(self, game: str) -> tuple[str, str]:
        """A new game: the tokens of a seat and of an arbiter."""
        order = {"edition": "second-edition", "players": 3, "seats": SEATS, "game": game}
        made = self.post("/v1/games", order, OPERATOR)
        assert made.status_code == 201, made.text
        adjudicate(self.place.desk.store, JUDGES["thrones"], game)
        return made.json()["tokens"]["alice"], self.place.desk.tokens.issue_arbiter(game, "luwin")

    def post(self, path: str, said: Any, token: str, **headers: str) -> httpx.Response:
        return self.http.post(path, json=said, headers={"Authorization": f"Bearer {token}", **headers})

    def correct(self, reason: str) -> httpx.Response:
        return self.post(f"/v1/games/{GAME}/correct/plan", {"facts": FACTS, "reason": reason}, self.arbiter)

    def rewind(self, reason: str) -> httpx.Response:
        return self.post(f"/v1/games/{GAME}/rewind/plan", {"to": 1, "reason": reason, "why": "I must"}, self.arbiter)

    def act(self, what: str, **said: Any) -> httpx.Response:
        """An act that nobody has planned."""
        version = self.place.desk.store.version(GAME)
        headers = {"If-Match": f'"{version}"'}
        return self.post(f"/v1/games/{GAME}/{what}", said, self.arbiter, **headers)

    def fork(self, purpose: str) -> httpx.Response:
        return self.post(f"/v1/games/{GAME}/fork", {"purpose": purpose}, self.seat)

    @property
    def apart(self) -> Apart:
        assert self.place.desk.apart is not None
        return self.place.desk.apart

    def others_are_answered(self) -> None:
        found = self.http.get(f"/v1/games/{GAME}/view", headers={"Authorization": f"Bearer {self.seat}"})
        assert found.status_code == 200, found.text


@pytest.fixture(scope="module")
def guests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guests]:
    with Embedded(tmp_path_factory.mktemp("heavy")) as running:
        store = Store.connect(running.store_url)
        ruling = Apart(running.store_url, 0.5, 400, program="tests.worker.poisoned_apart")
        ruling.patience_seconds = None  # a machine may be busy; who waits for ever is looked at below
        with serving(store, None) as place:
            place.desk.apart = ruling
            found = Guests(place)
            yield found
            found.http.close()
        ruling.close()
        assert ruling.pids() == ()
        store.client.close()


def until(holds: Callable[[], bool]) -> None:
    for _ in range(9000):
        if holds():
            return
        time.sleep(0.02)
    raise AssertionError("it never came about")


def test_whatever_a_ruling_runs_into_is_an_answer_and_others_are_answered_meanwhile(guests: Guests) -> None:
    entries = guests.place.desk.store.version(GAME)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for how in get_args(How):
        asked = [guests.fork, guests.correct, guests.rewind][get_args(How).index(how) % 3]
        answers: list[httpx.Response] = []
        thread = threading.Thread(target=lambda asked=asked, how=how, answers=answers: answers.append(asked(how)))
        guests.apart.patience_seconds = 1.0 if how == WAITS else None
        thread.start()
        guests.others_are_answered()
        while thread.is_alive():
            guests.others_are_answered()
            time.sleep(0.2)
        problem = answers[0].json()
        if how == WAITS:
            assert (problem["status"], problem["code"]) == (503, "ruling-broke-off"), (how, problem)
            assert answers[0].headers["Retry-After"]
        else:
            assert (problem["status"], problem["code"]) == (422, "beyond-budget"), (how, problem)
    guests.apart.patience_seconds = None
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 100 << 10, f"{grown} KiB"
    assert guests.place.desk.store.version(GAME) == entries
    assert guests.place.desk.store.games() == (GAME,)
    assert guests.correct("as usual").status_code == 200
    assert guests.fork("as usual").status_code == 201


def test_an_act_without_a_plan_is_tried_before_it_is_taken_in(guests: Guests) -> None:
    """A worker would have parked the game for it. What the rules refuse is taken in and refused on the record."""
    store = guests.place.desk.store
    before = store.inbox_length(GAME)
    dismissal = {"appeal": 1, "outcome": "dismissed"}
    acts: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("correct", "reason", {"facts": FACTS}),
        ("rewind", "reason", {"to": 1}),
        ("rule-on-appeal", "opinion", dismissal),
        ("amend", "reason", {}),
    )
    for what, says, said in acts:
        for how in set(get_args(How)) - {WAITS}:
            told = guests.act(what, **{says: how}, **said)
            assert (told.status_code, told.json()["code"]) == (422, "beyond-budget"), (what, how, told.text)
    assert store.inbox_length(GAME) == before
    refused = guests.act("rewind", reason="as usual", to=77)
    assert refused.status_code == 202, refused.text
    assert store.inbox_length(GAME) == before + 1


def test_a_refusal_comes_through_as_it_is(guests: Guests) -> None:
    told = guests.post(f"/v1/games/{GAME}/correct/plan", {"facts": [], "reason": "r"}, guests.arbiter)
    assert (told.status_code, told.json()["code"]) == (422, "nothing-stated")
    told = guests.post(f"/v1/games/{GAME}/rewind/plan", {"to": 77, "reason": "r"}, guests.arbiter)
    assert (told.status_code, told.json()["params"]) == (
        422,
        {"entry": 77, "last": guests.place.desk.store.version(GAME)},
    )


def test_a_child_that_is_killed_is_replaced(guests: Guests) -> None:
    assert guests.correct("as usual").status_code == 200
    idle = guests.apart.pids()
    assert idle
    for pid in idle:
        os.kill(pid, signal.SIGKILL)
    assert guests.correct("as usual").status_code == 200
    assert not {*idle} & {*guests.apart.pids()}


def test_a_ruling_that_is_killed_from_outside_is_tried_again_and_then_broken_off(guests: Guests) -> None:
    answers: list[httpx.Response] = []
    thread = threading.Thread(target=lambda: answers.append(guests.correct(WAITS)))
    thread.start()
    killed: set[int] = set()
    while thread.is_alive():
        for pid in {*guests.apart.pids()} - killed:
            os.kill(pid, signal.SIGKILL)
            killed.add(pid)
        time.sleep(0.02)
    assert (answers[0].status_code, answers[0].json()["code"]) == (503, "ruling-broke-off")
    assert len(killed) >= apart.MOST_TRIES


def test_who_would_be_one_too_many_of_a_game_or_of_all_does_not_wait(guests: Guests) -> None:
    answers: list[tuple[str, httpx.Response]] = []
    asking: list[threading.Thread] = []

    def ask(game: str, token: str) -> None:
        path, said = f"/v1/games/{game}/correct/plan", {"facts": FACTS, "reason": WAITS}
        thread = threading.Thread(target=lambda: answers.append((game, guests.post(path, said, token))))
        asking.append(thread)
        thread.start()

    summer, autumn = guests.begin("summer")[1], guests.begin("autumn")[1]
    for _ in range(apart.MOST_OF_A_GAME + 1):
        ask(GAME, guests.arbiter)
    until(lambda: len(answers) == 1)
    assert "as many plans and acts of this game as" in answers[0][1].json()["detail"]
    for _ in range(apart.MOST_OF_A_GAME + 1):
        ask("summer", summer)
    until(lambda: len(answers) == 2)
    ask("autumn", autumn)
    until(lambda: len(answers) == 3)
    assert answers[2][0] == "autumn" and "as many plans and acts as" in answers[2][1].json()["detail"]
    guests.others_are_answered()
    while any(thread.is_alive() for thread in asking):
        for pid in guests.apart.pids():
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
    assert {answer.status_code for _, answer in answers} == {503}
    assert guests.correct("as usual").status_code == 200
