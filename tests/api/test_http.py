"""HTTP as a client meets it: a real server on a port, a real Valkey, a real worker."""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import pkgutil
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import httpx
import msgspec
import pytest

import domain.thrones
from api import wire
from api.app import GROUPS
from api.desk import Desk
from api.openapi import document, operations
from domain.kernel.decision import options_of
from domain.thrones.tables.behaviour import ENGINE
from domain.thrones.tables.editions.second import SECOND_EDITION
from events import chain, export
from events.embedded import Embedded
from events.errors import StoreAway
from events.limits import MOST_ANSWER_BYTES, MOST_LETTER_BYTES
from events.notes import read_receipt
from events.store import Store
from tests.api.serving import OPERATOR, SIGNER, Place, Table, ruling, serving, sit_down, store_of
from worker import log
from worker.adjudicate import adjudicate

PROBLEM = "application/problem+json"


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    with Embedded(tmp_path_factory.mktemp("http")) as running:
        yield running


@pytest.fixture(autouse=True)
def lines() -> io.StringIO:
    """What the servers and the worker log during one test (the shared fixture puts the defaults back)."""
    sink = io.StringIO()
    log.configure(stream=sink)
    return sink


@pytest.fixture(scope="module")
def place(embedded: Embedded) -> Iterator[Place]:
    with ruling(embedded) as bell, serving(store_of(embedded), bell) as running:
        yield running


@pytest.fixture(scope="module")
def quiet(embedded: Embedded) -> Iterator[Place]:
    """A server that tells no worker."""
    with serving(store_of(embedded), None) as running:
        yield running


@pytest.fixture(scope="module")
def http(place: Place) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=place.url, timeout=60) as client:
        yield client


@pytest.fixture
def table(place: Place, http: httpx.Client) -> Table:
    """A game whose draws are always the same."""
    return sit_down(place, http, seed="5e" * 32)


def orders(table: Table, house: str) -> dict[str, Any]:
    """The default orders of a House, as a structured command."""
    owes = table.get("/owed", house).json()["owes"]
    return {**owes[0]["default"], "question": owes[0]["question"]}


def check_problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert answer.headers["content-type"] == PROBLEM, answer.text
    problem: dict[str, Any] = answer.json()
    assert (answer.status_code, problem["status"], problem["code"]) == (status, status, code), answer.text
    assert problem["type"].endswith(f"/{code}")
    assert problem["title"]
    assert problem["detail"]
    assert "Traceback" not in answer.text
    return problem


def logged(lines: io.StringIO, word: str, count: int) -> list[dict[str, Any]]:
    """The lines of the log with a word in them; the last may come a moment after the answer."""
    for _ in range(1000):
        found = [json.loads(line) for line in lines.getvalue().splitlines() if word in line]
        if len(found) >= count:
            return found
        time.sleep(0.01)
    raise AssertionError(f"{count} lines with {word}")


# From creation to a ruling


def test_a_game_is_created_by_the_operator_with_charter_seats_and_tokens(place: Place, http: httpx.Client) -> None:
    seats = {"red": "lannister", "grey": "stark", "gold": "baratheon"}
    switches = {"tides-of-battle": "on"}
    table = sit_down(place, http, game="first", seats=seats, switches=switches, seed="ab" * 32)
    assert table.seats == seats
    assert sorted(table.tokens) == sorted(seats)
    assert all(token.startswith("seat-first.") for token in table.tokens.values())
    told = table.get("").json()
    assert told["charter"]["seats"] == seats
    assert told["charter"]["chance"] == "stated"
    assert told["charter"]["switches"]["tides-of-battle"] == "on"
    assert (told["version"], told["status"], told["round"], told["phase"]) == (1, "playing", 1, "planning")
    assert [one["player"] for one in told["awaited"]] == ["baratheon", "lannister", "stark"]
    assert told["winner"] is None


def test_creating_answers_with_the_place_of_the_game(http: httpx.Client) -> None:
    headers = {"Authorization": f"Bearer {OPERATOR}"}
    answer = http.post("/v1/games", json={"players": 4}, headers=headers)
    assert answer.headers["location"] == f"/v1/games/{answer.json()['game']}"
    assert http.get(answer.headers["location"]).status_code == 200


def test_houses_are_dealt_by_the_first_ruling(quiet: Place, place: Place, http: httpx.Client) -> None:
    seats = {f"seat-{n}": house for n, house in enumerate(("baratheon", "lannister", "stark"))}
    undealt = sit_down(quiet, http, wait=None, seats=seats, deal=True)
    dealt = sit_down(place, http, seats=seats, deal=True)
    assert sorted(dealt.seats) == sorted(seats)
    assert sorted(dealt.seats.values()) == sorted(seats.values())
    assert dealt.seats == dealt.get("").json()["charter"]["seats"]
    with httpx.Client(base_url=quiet.url) as client:
        again = client.post(
            "/v1/games",
            json={"players": 3, "seats": seats, "deal": True},
            headers={"Authorization": f"Bearer {OPERATOR}"},
        )
    assert set(again.json()["seats"].values()) == {None}
    assert undealt.game != again.json()["game"]


def test_creating_twice_under_one_key_makes_one_game(http: httpx.Client) -> None:
    headers = {"Authorization": f"Bearer {OPERATOR}", "Idempotency-Key": "spring-2"}
    first = http.post("/v1/games", json={"players": 3}, headers=headers)
    second = http.post("/v1/games", json={"players": 3}, headers=headers)
    assert first.status_code == 201
    assert check_problem(second, 409, "game-exists")["params"]["game"] == first.json()["game"]


def test_a_letter_is_ruled_on_while_its_author_waits(table: Table) -> None:
    letter = table.letter("stark")
    answer = table.send("stark", letter)
    assert answer.status_code == 201
    assert answer.headers["preference-applied"] == "wait=20"
    assert answer.headers["etag"] == '"2"'
    told = answer.json()
    assert answer.headers["location"] == told["location"] == f"{table.path}/commands/2-0"
    assert (told["status"], told["inbox"], told["again"]) == ("ruled", "2-0", False)
    assert told["ruling"]["verdict"] == {"verdict": "accepted"}
    assert told["ruling"]["seq"] == 2
    assert told["ruling"]["sentences"][0].startswith("Stark has answered in secret: assign-orders.")


def test_a_structured_command_is_the_same_as_its_letter(table: Table) -> None:
    answer = table.send("stark", orders(table, "stark"))
    assert answer.status_code == 201
    own = table.get("/view", "stark").json()["own"]["answer"]
    table.send("stark", table.get("/view?at=1", "stark").json()["owes"][0]["notation"]["default"])
    assert table.get("/view", "stark").json()["own"]["answer"]["orders"].keys() == own["orders"].keys()


def test_without_a_preference_the_answer_is_202_and_the_place_of_the_ruling(table: Table) -> None:
    answer = table.send("stark", table.letter("stark"), wait=None)
    assert answer.status_code == 202
    assert answer.json()["status"] == "pending"
    assert "preference-applied" not in answer.headers
    with table.http.stream("GET", f"{table.path}/events?after=1", headers=table.bearer("stark")) as stream:
        next(line for line in stream.iter_lines() if line == "id: 2")
    told = table.http.get(answer.headers["location"], headers=table.bearer("stark")).json()
    assert (told["status"], told["ruling"]["seq"]) == ("ruled", 2)


def test_what_is_not_ruled_on_in_time_is_taken_in_all_the_same(quiet: Place) -> None:
    with httpx.Client(base_url=quiet.url, timeout=60) as client:
        table = sit_down(quiet, client, wait=None)
        answer = table.send("organiser", {"kind": "pass-deadline", "player": "stark", "question": 0}, wait=1)
        assert answer.status_code == 202
        assert "preference-applied" not in answer.headers
        told = table.http.get(answer.headers["location"])
        assert told.json() == {"game": table.game, "inbox": "2-0", "status": "pending"}
        assert told.headers["retry-after"]
        assert table.get("").json()["status"] == "beginning"
        assert table.get("/board").text == "The game has not begun.\n"
        check_problem(table.get("/entries/1"), 404, "no-such-version")


@pytest.mark.parametrize("prefer", ["wait=20", "respond-async, wait=20", 'WAIT="20"; x', "handling=strict,wait=20"])
def test_preferences_are_read_as_rfc_7240_writes_them(table: Table, prefer: str) -> None:
    answer = table.send("stark", table.letter("stark"), wait=None, prefer=prefer)
    assert (answer.status_code, answer.headers["preference-applied"]) == (201, "wait=20")


def test_a_round_is_played_by_letters_out_of_what_is_owed(table: Table) -> None:
    kinds = set()
    for _ in range(60):
        told = table.get("").json()
        awaited = told["awaited"][0]
        kinds.add(awaited["kind"])
        answer = table.send(awaited["player"], table.letter(awaited["player"]))
        assert answer.status_code == 201, answer.text
    assert len(kinds) >= 3
    assert table.get("").json()["round"] > 1


# Reading


def test_what_a_seat_owes_comes_with_options_default_rules_and_letters(table: Table) -> None:
    told = table.get("/owed", "stark")
    assert told.headers["etag"] == '"1"'
    owes = told.json()
    assert (owes["seat"], owes["house"]) == (table.seat("stark"), "stark")
    (question,) = owes["owes"]
    assert (question["kind"], question["secret"], question["house"]) == ("assign-orders", True, "stark")
    assert question["options"]["options"] == "assignments"
    assert "2E-DP-21" in question["rules"]
    assert question["default"]["kind"] == "assign-orders"
    assert question["notation"]["default"].startswith("orders ")
    assert len(question["notation"]["examples"]) == 5
    table.send("stark", question["notation"]["default"])
    after = table.get("/owed", "stark").json()
    assert after["owes"] == []
    # Until the last House has answered, the secret answer may be replaced.
    (again,) = after["replaceable"]
    assert again["answered"] and again["kind"] == "assign-orders"
    assert table.send("stark", again["notation"]["examples"][0]).status_code == 201


def test_a_view_shows_a_seat_its_own_secret_and_nobody_elses(table: Table) -> None:
    table.send("stark", table.letter("stark"))
    assert table.get("/view", "stark").json()["own"]["answer"]["kind"] == "assign-orders"
    for who in ("lannister", "organiser", "operator", None):
        told = table.get("/view", who).json()
        assert told["own"] == {}
        assert told["position"]["hidden"]["answers"] == {}
        assert told["house"] == (who if who == "lannister" else None)


def test_an_earlier_version_is_shown_without_hindsight(table: Table) -> None:
    before = table.get("/view", "stark")
    board = table.get("/board", "stark")
    table.send("stark", table.letter("stark"))
    assert table.get("/view?at=1", "stark").content == before.content
    assert table.get("/board?at=1", "stark").content == board.content
    assert table.get("/view?at=1", "stark").headers["etag"] == '"1"'
    assert table.get("/view?at=0").json()["position"]["round"] == 0
    assert table.get("/board", "stark").text.startswith("Round 1, planning phase")
    check_problem(table.get("/view?at=3"), 404, "no-such-version")
    check_problem(table.get("/board?at=-1"), 404, "no-such-version")


@pytest.mark.parametrize(
    "what", ["", "/owed", "/view", "/view?at=1", "/board", "/log", "/export", "/entries/1", "/commands/1-0"]
)
def test_what_is_known_is_not_sent_again(table: Table, what: str) -> None:
    first = table.get(what, "stark")
    assert first.headers["etag"] == '"1"'
    assert first.headers["vary"] == "Authorization"
    again = table.get(what, "stark", if_none_match='"9", W/"1"')
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", '"1"')
    assert table.get(what, "stark", if_none_match='"0"').content == first.content


def test_the_log_comes_in_pages_and_in_english(table: Table) -> None:
    for house in ("stark", "lannister"):
        table.send(house, table.letter(house))
    whole = table.get("/log").json()
    assert [entry["seq"] for entry in whole["entries"]] == [1, 2, 3]
    assert (whole["version"], whole["next"]) == (3, None)
    page = table.get("/log?after=1&limit=1").json()
    assert ([entry["seq"] for entry in page["entries"]], page["next"]) == ([2], 2)
    assert table.get("/log?after=3").json()["entries"] == []
    assert "A game of" in whole["entries"][0]["sentences"][0]
    assert table.get("/entries/2").json() == whole["entries"][1]
    assert whole["entries"][1]["command"] is None
    assert table.get("/entries/2", "stark").json()["command"]["kind"] == "assign-orders"


@pytest.mark.parametrize("who", [None, "stark", "organiser"])
def test_a_reader_can_check_the_chain_with_what_he_is_given(table: Table, who: str | None) -> None:
    for house in ("stark", "lannister", "baratheon"):
        table.send(house, table.letter(house))
    head = "0" * 64
    opened = 0
    for entry in table.get("/log", who).json()["entries"]:
        record = entry["record"]
        covered = bytes.fromhex(head) + record["public"].encode()
        for seal, part in zip(json.loads(record["public"])["sealed"], record["sealed"], strict=True):
            covered += bytes.fromhex(part["commitment"])
            if "salt" in part and seal["of"] != "submission":  # whose body is the submission, as the export holds it
                opened += 1
                bound = hashlib.sha256(bytes.fromhex(part["salt"]) + part["body"].encode()).hexdigest()
                assert bound == part["commitment"]
        assert json.loads(record["public"])["prev"] == head
        head = hashlib.sha256(covered).hexdigest()
        assert record["digest"] == head
    assert (opened > 0) == (who == "stark")


def test_the_export_is_for_the_callers_eyes_and_can_be_checked_offline(table: Table) -> None:
    for house in ("stark", "lannister"):
        table.send(house, table.letter(house))
    for who, submissions, opened in ((None, 0, 0), ("stark", 1, 3), ("organiser", 0, 0)):
        told = table.get("/export", who)
        read = list(export.parse(told.content.splitlines(keepends=True)))
        stored = [line.stored() for line in read if isinstance(line, export.EntryLine)]
        assert chain.check(stored) is None
        assert len(stored) == 3
        assert sum(isinstance(line, export.SubmissionLine) for line in read) == submissions
        assert sum(part.is_open for entry in stored for part in entry.sealed) == opened


def test_rules_are_read_by_their_identifiers(http: httpx.Client) -> None:
    told = http.get("/v1/rules/2e-raid-1").json()
    assert told["id"] == "2E-RAID-1"
    assert told["text"]
    assert told["section"]
    problem = check_problem(http.get("/v1/rules/2E-RAID-99"), 404, "rule-unknown")
    assert problem["params"]["suggestions"]


def test_a_healthy_server_says_so(http: httpx.Client) -> None:
    assert http.get("/healthz").json() == {"status": "ok", "engine": f"thrones/{ENGINE}"}


# Events


def heard(stream: httpx.Response, count: int) -> list[tuple[int, dict[str, Any]]]:
    """So many events of a stream, with their ids."""
    found: list[tuple[int, dict[str, Any]]] = []
    event: dict[str, str] = {}
    for line in stream.iter_lines():
        if line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            event[name] = value
        elif "data" in event:
            assert event["event"] == "entry"
            found.append((int(event["id"]), json.loads(event["data"])))
            event = {}
            if len(found) == count:
                return found
        else:
            event = {}
    raise AssertionError("the stream ended")


def test_entries_are_heard_as_they_are_written(table: Table) -> None:
    with table.http.stream("GET", f"{table.path}/events", headers=table.bearer("stark")) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        table.send("stark", table.letter("stark"))
        table.send("lannister", table.letter("lannister"))
        events = heard(stream, 2)
    assert [seq for seq, _ in events] == [2, 3]
    assert events[0][1] == table.get("/entries/2", "stark").json()
    assert events[0][1]["command"]["kind"] == "assign-orders"
    assert events[1][1]["command"] is None


def test_a_listener_goes_on_where_he_was_cut_off(table: Table) -> None:
    for house in ("stark", "lannister", "baratheon"):
        table.send(house, table.letter(house))
    for headers, after in (({"Last-Event-ID": "2"}, 3), ({"Last-Event-ID": "1"}, 2)):
        with table.http.stream("GET", f"{table.path}/events?after=0", headers=headers) as stream:
            assert heard(stream, 2)[0][0] == after
    with table.http.stream("GET", f"{table.path}/events?after=0") as stream:
        assert [seq for seq, _ in heard(stream, 4)] == [1, 2, 3, 4]
    check_problem(table.get("/events", Last_Event_ID="99"), 404, "no-such-version")
    check_problem(table.get("/events", Last_Event_ID="two"), 400, "bad-version")


def test_a_token_or_an_address_has_its_number_of_event_streams(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table.place.app.state.streams, "most", 2)

    def refused(who: str | None) -> bool:
        with table.http.stream("GET", f"{table.path}/events", headers=table.bearer(who)) as stream:
            if stream.status_code == 200:
                return False
            assert stream.status_code == 429
            assert int(stream.headers["retry-after"]) > 0
            assert json.loads(stream.read())["code"] == "too-many-streams"
            return True

    for who in ("stark", None):
        with ExitStack() as held:
            for _ in range(2):
                one = held.enter_context(table.http.stream("GET", f"{table.path}/events", headers=table.bearer(who)))
                assert one.status_code == 200
            assert refused(who)
            assert not refused("baratheon"), "another token has its own"
        for _ in range(500):
            if not refused(who):
                break
            time.sleep(0.02)
        assert not refused(who), "one that has ended does not count"


def test_a_silent_game_is_still_there(table: Table) -> None:
    with table.http.stream("GET", f"{table.path}/events") as stream:
        said = (line for line in stream.iter_lines() if line)
        assert [next(said) for _ in range(3)] == ["retry: 2000", ": still here", ": still here"]


def test_a_voided_token_hears_no_more(table: Table) -> None:
    with table.http.stream("GET", f"{table.path}/events", headers=table.bearer("stark")) as stream:
        seat = table.seat("stark")
        table.http.post(f"{table.path}/seats/{seat}/token", headers=table.bearer("organiser"))
        assert [line for line in stream.iter_lines() if line.startswith("data")] == []


# Twice, stale, at once


def test_the_same_key_is_taken_once(table: Table) -> None:
    letter = table.letter("stark")
    first = table.send("stark", letter, Idempotency_Key="mine-1")
    second = table.send("stark", letter, Idempotency_Key='"mine-1"')
    assert (first.status_code, second.status_code) == (201, 200)
    assert {**second.json(), "receipt": ""} == {**first.json(), "again": True, "receipt": ""}
    receipts = [read_receipt(answer.json()["receipt"], SIGNER.verifier) for answer in (first, second)]
    assert [one.checkpoint.size for one in receipts] == [1, 2]  # each bound to the chain of its moment
    assert {(one.inbox, one.submission) for one in receipts} == {("2-0", first.json()["digest"])}
    assert table.get("").json()["version"] == 2
    problem = check_problem(
        table.send("stark", orders(table, "lannister") | {"house": "stark"}, Idempotency_Key="mine-1"),
        422,
        "key-reused",
    )
    assert problem["params"] == {"key": "mine-1", "submission": "2-0"}
    other = table.send("lannister", table.letter("lannister"), Idempotency_Key="mine-1")
    assert other.status_code == 201


def test_a_short_letter_sent_again_says_what_it_said(table: Table) -> None:
    """It names no question; the second time it is read as of the version it was first sent at."""
    for house in ("stark", "lannister", "baratheon"):
        table.send(house, table.letter(house))
    awaited = table.get("").json()["awaited"][0]
    assert awaited["kind"] == "raven"
    first = table.send(awaited["player"], "look", Idempotency_Key="short")
    second = table.send(awaited["player"], "look", Idempotency_Key="short")
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["inbox"] == second.json()["inbox"]
    check_problem(table.send(awaited["player"], "look", Idempotency_Key="another"), 422, "unreadable-letter")


def test_the_same_command_twice_without_a_key_is_ruled_on_twice(table: Table) -> None:
    letter = table.letter("stark")
    assert [table.send("stark", letter).json()["inbox"] for _ in range(2)] == ["2-0", "3-0"]


def test_the_version_an_answer_was_written_against_is_recorded(table: Table) -> None:
    letters = {house: table.letter(house) for house in ("stark", "lannister", "baratheon")}
    table.send("stark", letters["stark"])
    table.send("lannister", letters["lannister"], If_Match='"1"')
    headers = {**table.bearer("baratheon"), "content-type": "text/plain", "prefer": "wait=20"}
    table.http.post(f"{table.path}/commands?seen=2", content=letters["baratheon"], headers=headers)
    seen = [json.loads(entry["record"]["public"])["seen"] for entry in table.get("/log").json()["entries"]]
    assert seen == [None, 1, 1, 2]
    check_problem(table.send("stark", letters["stark"], If_Match='"99"'), 404, "no-such-version")
    check_problem(table.send("stark", letters["stark"], If_Match="twelve"), 400, "bad-version")


def test_two_clients_at_once_are_each_taken_once(table: Table) -> None:
    letters = {house: table.letter(house) for house in ("stark", "lannister")}
    starting = threading.Barrier(8)

    def send(house: str) -> tuple[int, str]:
        starting.wait()
        answer = table.send(house, letters[house], Idempotency_Key="at-once")
        return answer.status_code, answer.json()["inbox"]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, ["stark", "lannister"] * 4))
    assert sorted(status for status, _ in answers) == [200] * 6 + [201] * 2
    assert sorted({inbox for _, inbox in answers}) == ["2-0", "3-0"]
    assert table.get("").json()["version"] == 3
    assert [one["player"] for one in table.get("").json()["awaited"]] == ["baratheon"]


# Refused in the ledger


def test_a_refused_ruling_names_its_rule_and_what_would_be_legal(table: Table) -> None:
    command = orders(table, "stark")
    command["orders"]["winterfell"] = "march-plus-1"
    command["orders"].pop("white-harbor")
    problem = check_problem(table.send("stark", command), 409, "orders-missing")
    assert "2E-PLN-2" in problem["rules"]
    assert problem["params"]["areas"] == ["white-harbor"]
    assert problem["entry"] == 2
    assert problem["submission"] == f"{table.path}/commands/2-0"
    (alternative,) = problem["alternatives"]
    assert alternative["options"]["areas"] == ["the-shivering-sea", "white-harbor", "winterfell"]
    assert table.send("stark", alternative["notation"]["default"]).status_code == 201


def test_a_refused_secret_command_is_visible_in_full_only_to_its_author(table: Table) -> None:
    command = orders(table, "stark")
    command["orders"]["winterfell"] = "raid-star"
    command["orders"]["the-reach"] = "support-0-a"
    problem = check_problem(table.send("stark", command), 409, "no-units-there")
    assert problem["params"]["area"] == "the-reach"
    own = table.http.get(problem["submission"], headers=table.bearer("stark")).json()
    receipt = read_receipt(problem.pop("receipt"), SIGNER.verifier)
    assert problem["submission"].endswith(receipt.inbox)
    assert own["refusal"] == problem
    assert own["ruling"]["command"]["orders"] == command["orders"]
    assert own["ruling"]["verdict"]["code"] == "no-units-there"
    for who in ("lannister", "organiser", "operator", None):
        for answer in (
            table.http.get(problem["submission"], headers=table.bearer(who)),
            table.get("/entries/2", who),
            table.get("/log", who),
            table.get("/export", who),
        ):
            assert answer.status_code == 200
            assert not re.search("no-units-there|the-reach.{0,20}support|raid-star", answer.text)
            assert "refused-in-secret" in answer.text


@pytest.mark.parametrize(
    ("said", "status", "code"),
    [
        ({"kind": "raid", "house": "stark", "area": "mordor"}, 422, "unknown-area"),
        ({"kind": "raid", "house": "targaryen", "area": "winterfell"}, 403, "not-your-seat"),
        ({"kind": "raid", "house": "lannister", "area": "lannisport"}, 403, "not-your-seat"),
        ({"kind": "raid", "house": "stark", "area": "winterfell"}, 409, "not-asked"),
        ({"kind": "assign-orders", "house": "stark", "orders": {"winterfell": "flee"}}, 422, "unknown-order"),
        ({"kind": "assign-orders", "house": "stark", "orders": {}, "question": 41}, 409, "question-closed"),
        ({"kind": "assign-orders", "house": "lannister", "orders": {}}, 403, "not-your-seat"),
        ({"kind": "house-card", "house": "stark", "area": "winterfell", "choice": "nobody"}, 409, "not-asked"),
        ({"kind": "casualties", "house": "stark", "area": "winterfell", "units": {"dragon": 1}}, 422, "unknown-unit"),
        ({"kind": "pass-deadline", "player": "lannister"}, 403, "not-your-seat"),
        ({"kind": "state-draws", "deck": "wildling", "cards": []}, 403, "not-your-seat"),
        ("lannister: raid lannisport -> nothing", 403, "not-your-seat"),
        ("raid winterfell -> nothing #41", 409, "question-closed"),
    ],
)
def test_whatever_can_be_read_is_ruled_on_and_the_game_goes_on(table: Table, said: Any, status: int, code: str) -> None:
    problem = check_problem(table.send("stark", said), status, code)
    assert problem["entry"] == 2
    assert table.send("stark", table.letter("stark")).status_code == 201


def test_the_organiser_passes_deadlines_and_nothing_else_of_the_players(table: Table) -> None:
    answer = table.send("organiser", {"kind": "pass-deadline", "player": "stark", "question": 0})
    assert answer.status_code == 201
    assert answer.json()["ruling"]["cause"] == "deadline"
    assert "deadline missed" in answer.json()["ruling"]["sentences"][0]
    check_problem(
        table.send("organiser", {"kind": "pass-deadline", "player": "stark", "question": 0}), 409, "not-awaited"
    )
    problem = check_problem(table.send("organiser", orders(table, "lannister")), 422, "wrong-shape")
    assert problem["params"]["at"] == "$.kind"
    check_problem(table.send("organiser", table.letter("lannister")), 403, "not-allowed")
    problem = check_problem(
        table.send("organiser", {"kind": "state-draws", "deck": "wildling", "cards": []}),
        409,
        "draws-are-not-stated-here",
    )
    assert problem["rules"] == ["2E-GEN-17"]


def test_draws_are_stated_where_chance_is_imposed(place: Place, http: httpx.Client) -> None:
    tables = SECOND_EDITION.tables
    decks = {"wildling": [card.id for card in tables.wildling_cards]}
    for number, cards in enumerate(tables.westeros_decks.values(), 1):
        decks[f"westeros-{number}"] = [card.id for card in cards for _ in range(card.count)]
    table = sit_down(place, http, chance="imposed", decks=decks)
    answer = table.send("organiser", {"kind": "state-draws", "deck": "wildling", "cards": decks["wildling"][:2]})
    assert answer.status_code == 201
    assert answer.json()["ruling"]["cause"] == "arbiter"
    assert decks["wildling"][0] not in table.get("/log", "stark").text


# Refused at the edge, and not recorded


@pytest.mark.parametrize(
    ("said", "status", "code", "told"),
    [
        (b"", 400, "body-missing", "empty"),
        (b"{", 400, "malformed-json", "truncated"),
        (b'{"kind":"raid",}', 400, "malformed-json", "byte 15"),
        (b"\xff\xfe", 400, "malformed-json", "byte 0"),
        (b"[" * 3000 + b"]" * 3000, 400, "malformed-json", "nested too deeply"),
        (b"[]", 422, "wrong-shape", "at $."),
        (b"{}", 422, "wrong-shape", "`kind`"),
        (b'{"kind":"flee"}', 422, "wrong-shape", "at $.kind"),
        (b'{"kind":"wildling-bid","house":"stark"}', 422, "wrong-shape", "`bid`"),
        (b'{"kind":"wildling-bid","house":"stark","bid":"3"}', 422, "wrong-shape", "at $.bid"),
        (b'{"kind":"wildling-bid","house":"stark","bid":3,"bidd":4}', 422, "wrong-shape", "`bidd`"),
        (b'{"kind":"wildling-bid","house":"stark","bid":1' + b"0" * 5000 + b"}", 422, "wrong-shape", "at $"),
        (
            b'{"kind":"march","house":"stark","area":"winterfell","moves":[{"to":"karhold","unit":{}}]}',
            422,
            "wrong-shape",
            "at $.moves[0]",
        ),
        ("flee the field", 422, "unreadable-letter", "orders AREA ORDER"),
        ("orders winnterfel march", 422, "unreadable-letter", "did you mean winterfell?"),
        ("orders winterfell march\nraid winterfell -> karhold", 422, "unreadable-letter", "more than one line"),
        ("seat: 1\nraid winterfell -> karhold", 422, "unreadable-letter", "more than one line"),
        ("# only a comment", 422, "unreadable-letter", "no answer"),
        ("x" * (MOST_LETTER_BYTES + 1), 413, "too-large", str(MOST_LETTER_BYTES)),
        (b'"' + b"x" * MOST_ANSWER_BYTES + b'"', 413, "too-large", str(MOST_ANSWER_BYTES)),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place_and_not_recorded(
    table: Table, said: Any, status: int, code: str, told: str
) -> None:
    problem = check_problem(table.send("stark", said), status, code)
    assert told in problem["detail"]
    assert table.place.desk.store.inbox_length(table.game) == 1


def test_a_body_without_a_length_is_cut_off_too(table: Table) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(64):
            yield b" " * (MOST_ANSWER_BYTES // 32)

    headers = {**table.bearer("stark"), "content-type": "application/json"}
    try:
        answer = table.http.post(f"{table.path}/commands", content=endless(), headers=headers)
    except (httpx.WriteError, httpx.RemoteProtocolError):
        return  # the server hung up while the rest was being sent
    check_problem(answer, 413, "too-large")


@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "code"),
    [
        ("GET", "/v1/games/nowhere", {}, 404, "game-unknown"),
        ("GET", "/v1/games/NO_GAME", {}, 404, "game-unknown"),
        ("GET", "/v1/games/a}b/view", {}, 404, "game-unknown"),
        ("GET", "/v1/nothing", {}, 404, "no-such-resource"),
        ("DELETE", "{game}", {}, 405, "method-not-allowed"),
        ("GET", "{game}/view?at=soon", {}, 400, "bad-parameter"),
        ("GET", "{game}/log?limit=0", {}, 400, "bad-parameter"),
        ("GET", "{game}/log?limit=9999", {}, 400, "bad-parameter"),
        ("GET", "{game}/log?after=7", {}, 404, "no-such-version"),
        ("GET", "{game}/entries/7", {}, 404, "no-such-version"),
        ("GET", "{game}/entries/first", {}, 400, "bad-parameter"),
        ("GET", "{game}/commands/7-0", {}, 404, "submission-unknown"),
        ("GET", "{game}/commands/first", {}, 404, "submission-unknown"),
        ("GET", "{game}/owed", {}, 401, "token-missing"),
        ("GET", "{game}/owed", {"Authorization": "Bearer organiser"}, 403, "not-allowed"),
        ("GET", "{game}/view", {"Authorization": "Bearer seat-of-nobody"}, 401, "token-unknown"),
        ("GET", "{game}/view", {"Authorization": "Basic c3Rhcms="}, 401, "token-malformed"),
        ("GET", "{game}/events", {"Authorization": "Bearer seat-of-nobody"}, 401, "token-unknown"),
        ("POST", "{game}/commands", {}, 401, "token-missing"),
        (
            "POST",
            "{game}/commands",
            {"Authorization": "Bearer stark", "Content-Type": "text/html"},
            415,
            "wrong-media-type",
        ),
        ("POST", "{game}/commands", {"Authorization": "Bearer stark", "Idempotency-Key": "a b"}, 400, "bad-key"),
        ("POST", "{game}/commands", {"Authorization": "Bearer stark", "Idempotency-Key": "k" * 201}, 400, "bad-key"),
        ("POST", "{game}/seats/nobody/token", {"Authorization": "Bearer organiser"}, 404, "seat-unknown"),
        ("POST", "{game}/organiser/token", {"Authorization": "Bearer stark"}, 403, "not-allowed"),
        ("POST", "{game}/organiser/token", {}, 401, "token-missing"),
        ("POST", "/v1/games", {}, 401, "token-missing"),
        ("POST", "/v1/games", {"Authorization": "Bearer stark"}, 403, "not-allowed"),
        ("POST", "/v1/games", {"Authorization": "Bearer operator"}, 422, "wrong-shape"),
    ],
)
def test_requests_that_go_nowhere_are_told_why(
    table: Table, method: str, path: str, headers: dict[str, str], status: int, code: str
) -> None:
    word = headers.get("Authorization", "").removeprefix("Bearer ")
    known = table.bearer(word) if word in ("stark", "organiser", "operator") else {}
    answer = table.http.request(method, path.replace("{game}", table.path), headers={**headers, **known}, content=b"{}")
    problem = check_problem(answer, status, code)
    if status == 401:
        assert answer.headers["www-authenticate"].startswith("Bearer")
    if code == "method-not-allowed":
        assert answer.headers["allow"]
    if known:
        assert known["Authorization"].removeprefix("Bearer ") not in json.dumps(problem)


@pytest.mark.parametrize(
    ("order", "code"),
    [
        ({"players": 7}, "wrong-number-of-players"),
        ({"players": "three"}, "wrong-shape"),
        ({"players": 3, "colour": "red"}, "wrong-shape"),
        ({"players": 3, "edition": "third"}, "unknown-edition"),
        ({"players": 3, "switches": {"tides": "on"}}, "unknown-switch"),
        ({"players": 3, "switches": {"raid-orders": "third"}}, "unknown-word"),
        ({"players": 3, "switches": {"house-cards": "first"}}, "variations-do-not-fit"),
        ({"players": 3, "tables": {"/houses/stark/supply": 9}}, "own-table-unfit"),
        ({"players": 3, "arbitration": {"mercy": True}}, "unknown-dispute-option"),
        ({"players": 3, "arbitration": {"appeal-stops": "nothing"}}, "unknown-dispute-word"),
        ({"players": 3, "arbitration": {"arbiter-may-play": "true"}}, "wrong-shape"),
        ({"players": 6, "edition": "first-edition"}, "wrong-number-of-players"),
        ({"players": 3, "seats": {}}, "wrong-shape"),
        ({"players": 3, "seats": {"one": "stark"}}, "seats-do-not-fit"),
        ({"players": 3, "seats": {"organiser": "stark", "b": "lannister", "c": "baratheon"}}, "bad-seat"),
        ({"players": 3, "game": "A Game"}, "bad-game-id"),
        ({"players": 3, "seed": "luck"}, "seed-missing"),
        ({"players": 3, "chance": "imposed"}, "draw-not-stated"),
        ({"players": 3, "chance": "imposed", "deal": True}, "dealing-needs-a-seed"),
    ],
)
def test_a_game_that_cannot_be_played_is_not_created(http: httpx.Client, order: dict[str, Any], code: str) -> None:
    answer = http.post("/v1/games", json=order, headers={"Authorization": f"Bearer {OPERATOR}"})
    check_problem(answer, 422, code)


def test_a_charter_is_made_of_words_and_told_in_english(http: httpx.Client) -> None:
    """What the list of charters offers is what a game is made of, and what it says of itself afterwards."""
    offered = http.get("/v1/charters")
    words = next(one["words"] for one in offered.json()["presets"] if one["id"] == "mixed-four")
    order = {
        "players": 4,
        "switches": {**words, "raid-orders": "first"},
        "tables": {"/links/-": ["crackclaw-point", "the-narrow-sea"]},
        "seed": "0b" * 32,
    }
    made = http.post("/v1/games", json=order, headers={"Authorization": f"Bearer {OPERATOR}", "Prefer": "wait=20"})
    assert made.status_code == 201, made.text
    game = f"/v1/games/{made.json()['game']}"
    told = http.get(f"{game}/charter")
    assert told.json()["preset"] == "mixed-four"
    assert told.json()["departures"] == ["raid-orders"]
    assert told.json()["own_tables"] == order["tables"]
    assert {"ports", "drowned-pyke"} <= set(http.get(game).json()["charter"]["assumed"])
    text = http.get(f"{game}/charter", headers={"Accept": "text/plain"})
    assert text.text.splitlines() == told.json()["sentences"]
    again = http.get(f"{game}/charter", headers={"If-None-Match": told.headers["etag"]})
    assert again.status_code == 304
    certificate = http.get(f"{game}/entries/1/certificate").json()
    assert "raid-orders = first" in certificate["played_by"]
    assert http.get("/v1/rules/1E-RAID-5").json()["id"] == "1E-RAID-5"


# Tokens


def test_a_new_token_takes_the_place_of_the_old_one_for_everybody_to_see(table: Table) -> None:
    seat = table.seat("stark")
    issued = table.http.post(f"{table.path}/seats/{seat}/token", headers=table.bearer("organiser"))
    assert issued.status_code == 201
    assert issued.headers["cache-control"] == "no-store"
    check_problem(table.get("/owed", "stark"), 401, "token-unknown")
    table.tokens[seat] = issued.json()["token"]
    assert table.get("/owed", "stark").status_code == 200
    organiser = table.http.post(f"{table.path}/organiser/token", headers=table.bearer("operator"))
    check_problem(table.get("/view", "organiser"), 401, "token-unknown")
    issues = table.get("/tokens").json()["issues"]
    assert [(one["who"], one["by"]) for one in issues[-2:]] == [(seat, "organiser"), ("organiser", "operator")]
    assert len(issues) == 6
    assert issued.json()["token"] not in table.get("/tokens").text
    assert organiser.json()["who"] == "organiser"


def test_a_token_is_good_for_its_own_game_only(table: Table, place: Place, http: httpx.Client) -> None:
    other = sit_down(place, http)
    for who in ("stark", "organiser"):
        answer = http.get(f"{table.path}/view", headers=other.bearer(who))
        check_problem(answer, 403, "token-of-another-game")
        answer = http.post(f"{table.path}/commands", headers=other.bearer(who), content=b"{}")
        check_problem(answer, 403, "token-of-another-game")


# Trouble behind the desk


def test_a_store_that_is_away_is_told_with_when_to_come_back(tmp_path: Any) -> None:
    away = Store.connect(f"unix://{tmp_path}/nowhere.sock", patience_seconds=0.1)
    with serving(away, None) as place, httpx.Client(base_url=place.url) as client:
        headers = {"Authorization": f"Bearer {OPERATOR}"}
        for answer in (
            client.get("/healthz"),
            client.get("/v1/games/one"),
            client.get("/v1/games/one/events"),
            client.post("/v1/games/one/commands", content=b"{}"),
            client.post("/v1/games", json={"players": 3}, headers=headers),
        ):
            check_problem(answer, 503, "store-away")
            assert answer.headers["retry-after"] == "2"
            assert "nowhere.sock" not in answer.text


def test_what_was_taken_in_is_acknowledged_though_the_store_goes_away_then(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: Any) -> bool:
        raise StoreAway("gone")

    letter = table.letter("stark")
    monkeypatch.setattr(table.place.app.state.watch, "reached", away)
    answer = table.send("stark", letter)
    assert (answer.status_code, answer.json()["status"]) == (202, "pending")


def test_a_listener_is_kept_while_the_store_is_away(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = table.place.app.state.watch.reached
    calls: list[int] = []

    async def away_at_first(game: str, version: int, timeout_seconds: float) -> bool:
        calls.append(version)
        if len(calls) == 1:
            raise StoreAway("gone")
        return bool(await honest(game, version, timeout_seconds))

    monkeypatch.setattr(table.place.app.state.watch, "reached", away_at_first)
    with table.http.stream("GET", f"{table.path}/events?after=0") as stream:
        lines = stream.iter_lines()
        assert next(line for line in lines if line.startswith("id")) == "id: 1"
        assert next(line for line in lines if line.startswith(":")) == ": the store is away"
        table.send("stark", table.letter("stark"))
        assert next(line for line in lines if line.startswith("id")) == "id: 2"


def test_a_mistake_of_ours_tells_neither_caller_nor_log_what_it_was_about(
    table: Table, monkeypatch: pytest.MonkeyPatch, lines: io.StringIO
) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("lannister bids s3cret")

    monkeypatch.setattr(Desk, "view", fail)
    answer = table.get("/view", "stark", x_correlation_id="find-me")
    check_problem(answer, 500, "internal")
    assert answer.headers["x-correlation-id"] == "find-me"
    assert "s3cret" not in answer.text + lines.getvalue()
    told = logged(lines, "find-me", 2)
    assert [line["event"] for line in told] == ["request-failed", "request"]
    assert told[0]["error"] == "RuntimeError"
    assert "test_http.py" in told[0]["where"]


def test_every_line_of_the_log_names_game_seat_and_correlation_and_no_token(table: Table, lines: io.StringIO) -> None:
    table.send("stark", table.letter("stark"), x_correlation_id="one-letter")
    told = logged(lines, "one-letter", 2)
    assert {line["event"] for line in told} == {"request", "ruled"}
    assert all((line["game"], line["seat"]) == (table.game, table.seat("stark")) for line in told)
    secrets = [table.organiser, OPERATOR, *table.tokens.values()]
    assert not any(secret in lines.getvalue() for secret in secrets)


# The description


def test_the_description_covers_every_route_and_all_its_references_lead_somewhere(http: httpx.Client) -> None:
    described = http.get("/openapi.json").json()
    assert described == json.loads(msgspec.json.encode(document(GROUPS)))
    assert described["openapi"] == "3.1.0"
    listed = {(path, method) for path, methods in described["paths"].items() for method in methods}
    assert set(operations(GROUPS)) == listed
    assert ("/healthz", "get") in listed
    for reference in re.findall(r'"\$ref":"([^"]+)"', json.dumps(described, separators=(",", ":"))):
        node: Any = described
        for step in reference.removeprefix("#/").split("/"):
            node = node[step]
    assert len(described["components"]["schemas"]["Fact"]["anyOf"][0]["anyOf"]) > 90
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            assert "503" in operation["responses"], (path, method)
            names = {one["name"] for one in operation.get("parameters", ()) if one["in"] == "path"}
            assert names == set(re.findall(r"{(\w+)}", path))


def test_answers_are_what_the_description_says(table: Table) -> None:
    table.send("stark", table.letter("stark"))
    kinds = {
        "": wire.Summary,
        "/tokens": wire.TokenIssues,
        "/owed": wire.Owes,
        "/view": wire.SeatView,
        "/log": wire.Log,
        "/entries/2": wire.Ruling,
        "/commands/2-0": wire.SubmissionStatus,
    }
    for what, kind in kinds.items():
        answer = table.get(what, "stark")
        assert json.loads(wire.to_bytes(msgspec.json.decode(answer.content, type=kind))) == answer.json()


def test_every_kind_of_options_is_described() -> None:
    for module in pkgutil.walk_packages(domain.thrones.__path__, "domain.thrones."):
        importlib.import_module(module.name)
    assert set(options_of("domain.thrones")) == set(wire.AnyOptions.__args__)


def test_a_letter_before_the_first_ruling_waits_for_it_or_is_told_why(
    quiet: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.routes.commands.BEGIN_SECONDS", 0.2)
    with httpx.Client(base_url=quiet.url, timeout=60) as client:
        table = sit_down(quiet, client, wait=None)
        told = check_problem(table.send("stark", "orders winterfell march+1", wait=None), 503, "not-begun")
        assert "Retry-After" in table.send("stark", "orders winterfell march+1", wait=None).headers
        assert "created" in told["detail"]
        monkeypatch.setattr("api.routes.commands.BEGIN_SECONDS", 60.0)
        with ThreadPoolExecutor(1) as beside:
            waits = beside.submit(table.send, "stark", "orders winterfell march+1", wait=None)
            adjudicate(quiet.desk.store, quiet.desk.judge, table.game)
            assert waits.result().status_code == 202


def test_whatever_can_be_read_answers_sensibly_before_the_first_ruling(quiet: Place) -> None:
    with httpx.Client(base_url=quiet.url, timeout=60) as client:
        table = sit_down(quiet, client, wait=None)
        routes = [one for _, routers in GROUPS for router in routers for one in router.routes]
        gets = [one.path for one in routes if "GET" in one.methods and one.path.startswith("/games/{game}")]
        assert len(gets) > 15
        fills = {"{inbox}": "1-0", "{seq}": "1", "{number}": "1", "{name}": "a", "{seat}": "stark"}
        for path in gets:
            if path.endswith("/events"):
                continue
            for sign, value in fills.items():
                path = path.replace(sign, value)
            for who in ("stark", "organiser", "operator", None):
                answer = table.get(path.removeprefix("/games/{game}"), who)
                assert answer.status_code < 500, (path, who, answer.text)
