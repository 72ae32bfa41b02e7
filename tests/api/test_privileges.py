"""No privilege leaks: a route asks for the tokens that it names, and nobody else gets anything done."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import fakeredis
import msgspec
import pytest

from api.app import GROUPS, create_app
from api.desk import Desk
from api.openapi import operations
from api.tokens import ORGANISER, Tokens
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.behaviour import ENGINE
from events.ruling import Judge
from events.store import Store
from tests.api.asgi import Answer, Client
from tests.api.serving import OPERATOR
from worker.adjudicate import adjudicate

GAME = "winter"
JUDGE = Judge(THRONES)
SEATS = {"alice": "stark", "bob": "lannister", "carol": "baratheon"}
ROLES = {"seat": "alice", "organiser": ORGANISER, "arbiter": "luwin", "public": None}
NEEDING = sorted(
    (path, method) for (path, method), known in operations(GROUPS).items() if known.token.startswith("of ")
)


class Table:
    """A game whose orders are in; ``robb`` is an arbiter with the seat of Stark, which the charter does not allow."""

    def __init__(self) -> None:
        self.store = Store(fakeredis.FakeRedis())
        self.desk = Desk(self.store, Tokens(self.store, OPERATOR), None, JUDGE)
        self.client = Client(create_app(self.desk))
        made = self.desk.create(edition="second-edition", players=3, seats=SEATS, game=GAME, seed="5e" * 32)
        self.tokens = {**made.tokens, ORGANISER: made.organiser, "operator": OPERATOR}
        self.tokens["luwin"] = self.desk.tokens.issue_arbiter(GAME, "luwin")
        self.tokens["robb"] = self.desk.tokens.issue_arbiter(GAME, "robb", "alice")
        adjudicate(self.store, JUDGE, GAME)

    def ask(self, method: str, path: str, who: str | None, body: Any = None, **headers: str) -> Answer:
        token = None if who is None else self.tokens[who]
        sent = b"" if body is None else msgspec.json.encode(body)
        return asyncio.run(self.client.request(method.upper(), path, token, sent, headers))

    def everything(self) -> tuple[Any, ...]:
        """All that could have been changed: inbox, ledger, tokens, games."""
        return (
            self.store.inbox_length(GAME),
            self.store.version(GAME),
            self.desk.tokens.issues(GAME),
            self.store.games(),
            sorted(key for key in self.store.client.scan_iter("*")),
        )


@pytest.fixture
def table() -> Table:
    return Table()


def address(path: str) -> str:
    named = {"game": GAME, "seat": "alice", "name": "pycelle", "seq": "1", "inbox": "1-0", "number": "1"}
    return re.sub(r"{(\w+)}", lambda found: named.get(found[1], "some"), path)


def test_there_are_routes_that_need_a_token() -> None:
    assert len(NEEDING) >= 15


@pytest.mark.parametrize(("path", "method"), NEEDING)
def test_a_route_asks_for_the_token_that_it_names(table: Table, path: str, method: str) -> None:
    said = operations(GROUPS)[path, method].token
    before = table.everything()
    refused = 0
    for role, who in ROLES.items():
        answer = table.ask(method, address(path), who, {} if method == "post" else None)
        if role in said:
            assert answer.status not in (401, 403), (role, said, answer.body)
            before = table.everything()
        else:
            assert answer.status == (401 if who is None else 403), (role, said, answer.body)
            assert answer.json()["code"] == ("token-missing" if who is None else "not-allowed")
            assert table.everything() == before, role
            refused += 1
    assert refused


POWER = {"fact": "PowerChanged", "house": "stark", "by": 1}
WORK: dict[str, Any] = {
    "rewind/plan": {"to": 0},
    "rewind": {"to": 0, "reason": "because"},
    "correct/plan": {"facts": [POWER]},
    "correct": {"facts": [POWER], "reason": "because"},
    "rule-on-appeal": {"appeal": 1, "outcome": "declined", "opinion": "no"},
    "amend": {"reason": "because"},
    "fork": {"why": "to look", "purpose": "what if"},
    "perspective?house=lannister&why=to+look": None,
    "export?secrets=true&why=to+look": None,
    "appeals/1/case": None,
}


def test_the_list_of_an_arbiters_work_is_whole() -> None:
    known = {what.partition("?")[0].replace("/1/", "/{number}/") for what in WORK}
    named = {
        path.removeprefix("/v1/games/{game}/")
        for (path, _), one in operations(GROUPS).items()
        if "arbiter" in one.token
    }
    assert named == known


@pytest.mark.parametrize("what", sorted(WORK))
def test_an_arbiter_who_plays_is_refused_everywhere(table: Table, what: str) -> None:
    """Though he has a token, from before somebody looked: neither acts nor reads nor forks with what is hidden."""
    body = WORK[what]
    before = table.everything()
    path = f"/v1/games/{GAME}/{what}"
    answer = table.ask("get" if body is None else "post", path, "robb", body, **{"if-match": '"1"'})
    assert (answer.status, answer.json()["code"]) == (403, "arbiter-plays"), answer.body
    assert table.everything() == before


@pytest.mark.parametrize("what", sorted(set(WORK) - {"fork"}))  # a seat's fork has what it could see
def test_no_seat_does_an_arbiters_work(table: Table, what: str) -> None:
    body = WORK[what]
    before = table.everything()
    for who in ("alice", "bob"):
        answer = table.ask(
            "get" if body is None else "post", f"/v1/games/{GAME}/{what}", who, body, **{"if-match": '"1"'}
        )
        assert (answer.status, answer.json()["code"]) == (403, "not-allowed"), answer.body
    assert table.everything() == before


@pytest.mark.parametrize("kind", ["rewind", "correct", "rule-on-appeal", "amend", "read-secrets"])
def test_what_a_seat_sends_as_an_arbiters_command_is_ruled_on_and_refused(table: Table, kind: str) -> None:
    said: dict[str, Any] = {
        "rewind": {"to": 0, "reason": "mine", "by": "luwin"},
        "correct": {"facts": [POWER], "reason": "mine", "by": "luwin"},
        "rule-on-appeal": {"appeal": 1, "outcome": "declined", "opinion": "no", "by": "luwin"},
        "amend": {"engine": f"thrones/{ENGINE}", "reason": "mine", "by": "luwin"},
        "read-secrets": {"who": "arbiter luwin", "what": "everything", "why": "mine"},
    }
    answer = table.ask("post", f"/v1/games/{GAME}/commands", "alice", {"kind": kind, **said[kind]})
    version = table.store.version(GAME)
    if answer.status == 202:
        adjudicate(table.store, JUDGE, GAME)
        told = table.ask("get", f"/v1/games/{GAME}/commands/{answer.json()['inbox']}", "alice").json()
        assert told["refusal"]["code"] == "not-your-seat"
        assert told["ruling"]["facts"] == [] and table.store.version(GAME) == version + 1
    else:
        assert answer.status == 422 and table.store.version(GAME) == version
