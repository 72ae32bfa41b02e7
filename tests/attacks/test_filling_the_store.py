"""One seat sends as much as it can: the store stays within its bounds, and other tables play on.

Settings are small here, so that what takes an opponent a day takes a second.
"""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
import redis

from api.desk import Desk
from api.readiness import Limits, readiness
from api.serve import Server
from api.tokens import Tokens
from domain.thrones.ruleset import THRONES
from events.connecting import connect
from events.embedded import Embedded, FileBroken
from events.envelope import submission
from events.errors import OverQuota, ServerFull, StoreRefuses
from events.health import Health, trouble
from events.keys import game_key
from events.limits import (
    COUNTED_BYTES,
    MOST_ACT_BYTES,
    MOST_ANSWER_BYTES,
    MOST_LETTER_BYTES,
    MOST_ORDER_BYTES,
    MOST_START_BYTES,
    Allowance,
    Quotas,
    most_bytes,
)
from events.room import Room
from events.ruling import Judge
from events.staging import restore
from events.store import Store
from tests import toy
from tests.api.serving import Place, Table, ruling, serving, sit_down, store_of
from tests.recording import AT, JUDGE, fake_store, new_game, submit
from worker.adjudicate import adjudicate
from worker.settings import BadSetting, quotas

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    with Embedded(tmp_path_factory.mktemp("filled")) as running:
        yield running


@pytest.fixture(scope="module")
def place(embedded: Embedded) -> Iterator[Place]:
    with ruling(embedded) as bell, serving(store_of(embedded), bell) as running:
        yield running


@pytest.fixture(scope="module")
def quiet(embedded: Embedded) -> Iterator[Place]:
    """Nobody rules here."""
    with serving(store_of(embedded), None) as running:
        yield running


@pytest.fixture(autouse=True)
def without_quotas(place: Place, quiet: Place) -> Iterator[None]:
    yield
    place.desk.quotas = quiet.desk.quotas = None
    place.desk.room = quiet.desk.room = None


@pytest.fixture
def http() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=60) as client:
        yield client


def at(place: Place, http: httpx.Client) -> Table:
    """A game there; the client is told where."""
    http.base_url = httpx.URL(place.url)
    return sit_down(place, http, seed="5e" * 32, wait=None if place.desk.bell is None else 20)


def bid(size: int = 0, house: str = "stark", kind: str = "wildling-bid") -> bytes:
    """A command of a House with so many bytes. Blanks are the cheapest to send."""
    head = b'{"kind":"%s","house":"%s","bid":1' % (kind.encode(), house.encode())
    return head + b" " * max(0, size - len(head) - 1) + b"}"


def quota_of(answer: httpx.Response) -> str:
    """Which quota refused, with a time to come again."""
    assert answer.status_code == 429, answer.text
    problem = answer.json()
    assert problem["code"] == "over-quota"
    assert 1 <= int(answer.headers["retry-after"]) == problem["params"]["retry_after"] <= 3600
    assert str(problem["params"]["most"]) in problem["detail"]
    return str(problem["params"]["quota"])


# Sizes


@pytest.mark.parametrize("is_told", [True, False], ids=["with its length", "in chunks"])
@pytest.mark.parametrize(
    ("who", "path", "media", "most"),
    [
        ("stark", "/commands", "application/json", MOST_ANSWER_BYTES),
        ("stark", "/commands", "text/plain", MOST_LETTER_BYTES),
        ("organiser", "/commands", "application/json", MOST_ACT_BYTES),
        ("stark", "/appeal", "application/json", MOST_ANSWER_BYTES),
        ("operator", "/rewind/plan", "application/json", MOST_ACT_BYTES),
        ("stark", "/fork", "application/json", MOST_ANSWER_BYTES),
        ("organiser", "/arbiters/luwin/token", "application/json", MOST_ORDER_BYTES),
        ("operator", "", "application/json", MOST_START_BYTES),
    ],
)
def test_what_is_too_large_is_told_before_it_is_read(
    quiet: Place, http: httpx.Client, who: str, path: str, media: str, most: int, is_told: bool
) -> None:
    table = at(quiet, http)
    read = []

    def pieces() -> Iterator[bytes]:
        for _ in range(most // 1024 + 64):
            read.append(1024)
            yield b" " * 1024

    headers = {**table.bearer(who), "content-type": media}
    url = f"{table.path}{path}" if path else "/v1/games"
    content: Any = b" " * (most + 1) if is_told else pieces()
    try:
        answer = http.post(url, content=content, headers=headers)
    except (httpx.WriteError, httpx.RemoteProtocolError):
        return  # the server hung up while the rest was being sent
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["params"]["most"]) == (413, "too-large", most)
    assert quiet.desk.store.inbox_length(table.game) == 1


@pytest.mark.parametrize("cause", ["command", "deadline", "arbiter", "system"])
def test_the_store_itself_refuses_what_is_too_large(cause: Any) -> None:
    store = fake_store()
    new_game(store)
    most = most_bytes(cause)
    for size, is_taken in ((most, True), (most + 1, False)):
        sent = submission(bid(size), seat=None, cause=cause)
        if is_taken:
            store.submit("toy-1", sent)
        else:
            with pytest.raises(Exception, match=f"{most} is the most"):
                store.submit("toy-1", sent)
    assert store.inbox_length("toy-1") == 2


# Quotas


def test_one_seat_sends_as_much_as_it_can_and_other_tables_play_on(place: Place, http: httpx.Client) -> None:
    each = math.ceil(60_000 / COUNTED_BYTES)
    place.desk.quotas = Quotas(seat_per_hour=12 * each, seat_unruled=50 * each, game_bytes=1 << 30)
    table, other = at(place, http), at(place, http)
    store = place.desk.store
    sent = [table.send("stark", bid(60_000), wait=None, Idempotency_Key=f"k-{number}") for number in range(20)]
    assert [one.status_code for one in sent] == [202] * 12 + [429] * 8
    assert {quota_of(one) for one in sent[12:]} == {"often"}
    assert store.inbox_length(table.game) == 13
    again = table.send("stark", bid(60_000), wait=None, Idempotency_Key="k-0")
    assert (again.status_code, again.json()["again"]) == (202, True), "a known key always gets its receipt"
    assert again.json()["receipt"] != "" and again.json()["digest"] == sent[0].json()["digest"]
    assert table.send("lannister", bid(house="lannister"), wait=None).status_code == 202, "quotas are per seat"
    assert other.send("stark", other.letter("stark")).status_code == 201, "and per game"


def test_one_seat_does_not_fill_its_own_table_in_an_hour() -> None:
    """240 answers of 60 kB lie there twice each: after an hour no seat of the table could send anything more."""
    store = fake_store()
    new_game(store)
    allowed = Quotas(seat_unruled=0).seat()

    def taken(seat: str, size: int) -> int:
        for number in range(241):
            try:
                store.submit("toy-1", submission(bid(size), seat=seat), None, allowed)
            except OverQuota:
                return number
        raise AssertionError("nobody may send so much")

    assert taken("seat-1", 60_000) == 240 // math.ceil(60_000 / COUNTED_BYTES)
    assert int(store.client.hget(game_key("toy-1", "game"), "bytes")) < allowed.game_bytes // 30
    assert taken("seat-2", 100) == 240, "what is small counts as one"


def test_what_waits_for_a_ruling_is_bounded_for_each_seat_and_never_stops_a_deadline(
    quiet: Place, http: httpx.Client
) -> None:
    table = at(quiet, http)
    adjudicate(quiet.desk.store, quiet.desk.judge, table.game)
    quiet.desk.quotas = Quotas(seat_unruled=3, acts_unruled=2)
    answers = [table.send("stark", bid(), wait=None) for _ in range(5)]
    assert [one.status_code for one in answers] == [202] * 3 + [429] * 2
    assert quota_of(answers[-1]) == "unruled"
    assert table.send("lannister", bid(house="lannister"), wait=None).status_code == 202
    deadline = {"kind": "pass-deadline", "player": "baratheon", "question": 0}
    assert [table.send("organiser", deadline, wait=None).status_code for _ in range(9)] == [202] * 9
    adjudicate(quiet.desk.store, quiet.desk.judge, table.game)
    assert table.send("stark", bid(), wait=None).status_code == 202, "what was ruled on waits no more"


def test_the_bytes_of_a_game_are_bounded_also_of_one_that_nobody_has_counted() -> None:
    store = fake_store()
    new_game(store)
    allowed = Allowance(game_bytes=20_000)
    for _ in range(3):
        store.submit("toy-1", submission(bid(5_000), seat="seat-1"), None, allowed)
    store.client.hdel(game_key("toy-1", "game"), "bytes")  # as older versions left it
    with pytest.raises(OverQuota, match="20000 bytes"):
        store.submit("toy-1", submission(bid(5_000), seat="seat-2"), None, allowed)
    assert store.inbox_length("toy-1") == 4
    counted = int(store.client.hget(game_key("toy-1", "game"), "bytes"))
    assert 15_000 < counted < 17_000
    arbiter = msgspec.structs.replace(allowed, spare=1.25)
    store.submit("toy-1", submission(bid(5_000), seat=None, cause="arbiter"), None, arbiter)
    adjudicate(store, JUDGE, "toy-1")
    assert store.cursor("toy-1") == store.inbox_length("toy-1"), "rulings are never refused"
    with pytest.raises(OverQuota):
        store.submit("toy-1", submission(bid(5_000), seat=None, cause="arbiter"), None, arbiter)


def test_a_game_may_have_a_bound_of_its_own() -> None:
    store = fake_store()
    opening = submission(toy.Begin(seats={"seat-1": "red"}, seed="5e" * 32), seat=None, cause="system", at=AT)
    store.create("fork", "toy", "1", opening, most=3_000)
    with pytest.raises(OverQuota, match="3000 bytes"):
        store.submit("fork", submission(bid(5_000), seat="seat-1"), None, Allowance(game_bytes=1 << 30))


def test_what_was_sent_an_hour_ago_does_not_count_and_a_lost_count_refuses_nobody() -> None:
    store = fake_store()
    new_game(store)
    allowed = Allowance(per_hour=2)
    sent = game_key("toy-1", "sent:seat-1")

    def send() -> None:
        store.submit("toy-1", submission(bid(), seat="seat-1"), None, allowed)

    send()
    send()
    with pytest.raises(OverQuota) as caught:
        send()
    assert 3590 <= caught.value.retry_seconds <= 3600
    now = int(store.client.time()[0])
    store.client.lset(sent, -1, f"2 {now - 3601}")
    send()
    assert store.client.llen(sent) == 2, "no more is kept than is asked for"
    store.client.delete(sent)
    send()
    store.client.delete(sent)
    store.client.lpush(sent, f"1 {now + 9_000}", f"2 {now + 9_000}")
    send()  # the clock has gone back: nobody is locked out for that


def test_tokens_and_names_of_arbiters_are_bounded(place: Place, http: httpx.Client) -> None:
    table = at(place, http)
    place.desk.quotas = Quotas(tokens_per_hour=7, arbiters=2)  # three seats and the organiser have theirs

    def name(arbiter: str, who: str = "organiser") -> httpx.Response:
        return http.post(f"{table.path}/arbiters/{arbiter}/token", headers=table.bearer(who))

    assert [name(one).status_code for one in ("luwin", "pycelle")] == [201, 201]
    assert quota_of(name("qyburn")) == "arbiters"
    assert name("luwin").status_code == 201
    assert quota_of(name("luwin")) == "tokens"
    assert name("qyburn", "operator").status_code == 201, "the operator is bound by nothing of that"


@pytest.mark.parametrize("said", ["-1", "many", "1e9", "12 kB"])
def test_a_quota_that_is_no_number_is_refused_in_a_sentence(said: str) -> None:
    assert quotas({"ROOKERY_SEAT_PER_HOUR": "7"}).seat_per_hour == 7
    with pytest.raises(BadSetting, match=r"ROOKERY_GAME_BYTES is .* takes a whole number"):
        quotas({"ROOKERY_GAME_BYTES": said})


# A full server


def test_a_full_server_refuses_guests_and_still_rules_and_comes_up_again(tmp_path: Path) -> None:
    most = 12 << 20
    with Embedded(tmp_path, most_bytes=most) as servers:
        store = Store.connect(servers.store_url)
        assert int(store.client.info("memory")["maxmemory"]) == most
        assert store.client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        new_game(store)
        adjudicate(store, JUDGE, "toy-1")
        room = Room(store.client, clock=_ticking())
        sent = 0
        while not room.is_closed_to_guests():
            assert sent < 1000, "it is full some time"
            store.submit("toy-1", submission(bid(60_000), seat="seat-1", key=f"k-{sent}"))
            sent += 1
        closed = Allowance(is_closed=True)
        with pytest.raises(ServerFull):
            store.submit("toy-1", submission(bid(60_000), seat="seat-1"), None, closed)
        assert store.submit("toy-1", submission(bid(60_000), seat="seat-1", key="k-0"), None, closed).again
        assert not room.is_full()
        submit(store, toy.Bid(by="red", coins=1), "seat-2")  # what is in reserve is there
        new_game(store, "toy-2")
        adjudicate(store, JUDGE, "toy-2")
        assert store.cursor("toy-2") == 1
        length = store.inbox_length("toy-1")
        os.kill(servers.pid("store"), signal.SIGKILL)
        _until(lambda: "store" in servers.tend().started)
        assert store.inbox_length("toy-1") == length == sent + 2
        assert store.health.trouble() == ""
        store.client.close()


def test_over_http_a_full_server_is_a_503_and_a_deadline_gets_through(quiet: Place, http: httpx.Client) -> None:
    table = at(quiet, http)
    adjudicate(quiet.desk.store, quiet.desk.judge, table.game)
    first = table.send("stark", bid(), wait=None, Idempotency_Key="k")
    quiet.desk.room = Room(quiet.desk.store.client, most_bytes=1)
    answer = table.send("stark", bid(), wait=None)
    assert (answer.status_code, answer.json()["code"], answer.headers["retry-after"]) == (503, "server-full", "60")
    assert table.send("stark", bid(), wait=None, Idempotency_Key="k").json()["inbox"] == first.json()["inbox"]
    deadline = {"kind": "pass-deadline", "player": "baratheon", "question": 0}
    assert table.send("organiser", deadline, wait=None).status_code == 202
    for path in (f"{table.path}/fork", "/v1/games", "/v1/import"):
        refused = http.post(
            path, json={"players": 3} if path == "/v1/games" else {"why": "x"}, headers=table.bearer("operator")
        )
        assert (refused.status_code, refused.json()["code"]) == (503, "server-full"), path
    assert "store-full" in readiness(quiet.desk, Limits()).problems


def test_a_disk_that_is_nearly_full_counts(tmp_path: Path) -> None:
    client = fake_store().client
    assert Room(client, directory=tmp_path, reserve_bytes=1 << 60).is_full()
    assert not Room(client, directory=tmp_path, reserve_bytes=1).is_closed_to_guests()


# Stores that are ill


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Embedded]:
    """Servers of which one that hangs is noticed soon."""
    monkeypatch.setattr("events.embedded.ASKED_EVERY_SECONDS", 0.05)
    monkeypatch.setattr("events.health.FRESH_SECONDS", 0.0)
    embedded = Embedded(tmp_path, hang_seconds=0.3).start()
    try:
        yield embedded
    finally:
        embedded.stop()


def _until(holds: Callable[[], Any]) -> None:
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until, "it never came about"
        time.sleep(0.02)


def _ticking() -> Callable[[], float]:
    """A clock by which every question is a new one."""
    ticks = iter(range(10**9))
    return lambda: float(next(ticks) * 10)


def _problems(store: Store) -> tuple[str, ...]:
    desk = Desk(store, Tokens(store), None, Judge(THRONES))
    return tuple(one for one in readiness(desk, Limits()).problems if one.startswith("store"))


def test_a_store_out_of_memory_is_told_and_not_restarted_and_loses_nothing(servers: Embedded) -> None:
    store = Store.connect(servers.store_url)
    new_game(store)
    submit(store, toy.Bid(by="red", coins=1), "seat-1")
    store.client.config_set("maxmemory", 1)
    assert store.client.ping()
    assert _problems(store) == ("store-out-of-memory",)
    with pytest.raises(StoreRefuses):
        submit(store, toy.Bid(by="red", coins=1), "seat-1")
    pid = servers.pid("store")
    said: list[str] = []
    for _ in range(10):
        said += servers.tend().problems
        time.sleep(0.06)
    assert len(said) == 1 and "no memory left" in said[0]
    assert servers.pid("store") == pid
    store.client.config_set("maxmemory", 0)
    assert _problems(store) == ()
    assert store.inbox_length("toy-1") == 2
    store.client.close()


def _read_only(client: Any) -> None:
    client.execute_command("REPLICAOF", "127.0.0.1", "1")


def _unwritable(client: Any) -> None:
    """Snapshots fail since a directory has their name, and the server is told to mind."""
    (Path(client.config_get("dir")["dir"]) / "dump.rdb").mkdir()
    client.config_set("save", "3600 1000000")
    client.config_set("stop-writes-on-bgsave-error", "yes")
    client.bgsave()
    _until(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err")


def _without_scripts(client: Any) -> None:
    client.execute_command("ACL", "SETUSER", "default", "-eval", "-evalsha")


@pytest.mark.parametrize(
    ("harm", "code"),
    [(_read_only, "store-read-only"), (_unwritable, "store-cannot-write"), (_without_scripts, "store-refuses")],
)
def test_a_store_that_cannot_run_a_script_that_writes_is_seen_while_it_answers(
    servers: Embedded, harm: Callable[[Any], None], code: str
) -> None:
    store = Store.connect(servers.store_url)
    assert _problems(store) == ()
    harm(store.client)
    assert store.client.info("server"), "it answers"
    assert _problems(store) == (code,)
    store.client.close()


def test_a_store_that_hangs_in_a_script_is_seen_and_ended(servers: Embedded) -> None:
    store = Store.connect(servers.store_url)
    new_game(store)
    store.client.config_set("busy-reply-threshold", 50)

    def loop() -> None:
        with pytest.raises(redis.exceptions.RedisError):
            redis.Redis.from_url(servers.store_url, retry=None).eval("while true do end", 0)

    thread = threading.Thread(target=loop)
    thread.start()
    _until(lambda: _problems(store) == ("store-busy",))
    _until(lambda: "store" in servers.tend().started)
    thread.join()
    assert _problems(store) == ()
    assert store.inbox_length("toy-1") == 1
    store.client.close()


@pytest.mark.parametrize("how", ["stopped", "killed", "without scripts"])
def test_a_store_that_is_of_no_use_is_started_again_with_all_that_was_acknowledged(servers: Embedded, how: str) -> None:
    store = Store.connect(servers.store_url)
    new_game(store)
    receipt = submit(store, toy.Bid(by="red", coins=1), "seat-1", key="k")
    pid = servers.pid("store")
    if how == "without scripts":
        _without_scripts(store.client)
    else:
        os.kill(pid, signal.SIGSTOP if how == "stopped" else signal.SIGKILL)
    _until(lambda: "store" in servers.tend().started)
    assert servers.pid("store") != pid
    again = submit(store, toy.Bid(by="red", coins=1), "seat-1", key="k")
    assert (again.again, again.digest) == (True, receipt.digest)
    store.client.close()


def test_a_store_that_was_adopted_is_looked_after_like_ones_own(tmp_path: Path) -> None:
    first = Embedded(tmp_path).start()
    first.detach()
    with Embedded(tmp_path, most_bytes=64 << 20) as second:
        assert second.adopted == ("store", "queue")
        assert connect(second.store_url).config_get("maxmemory") == {"maxmemory": str(64 << 20)}
        os.kill(second.pid("store"), signal.SIGKILL)
        _until(lambda: "store" in second.tend().started)
        assert trouble(lambda: connect(second.store_url)) == ""


def test_a_file_that_cannot_be_read_is_told_with_what_to_do_at_the_start_and_later(tmp_path: Path) -> None:
    with Embedded(tmp_path) as servers:
        store = Store.connect(servers.store_url)
        new_game(store)
        for number in range(20):
            submit(store, toy.Bid(by="red", coins=number), "seat-1")
        store.client.close()
        os.kill(servers.pid("store"), signal.SIGKILL)
        file = next((tmp_path / "store" / "appendonlydir").glob("*.incr.aof"))
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) // 2] + b"\x00garbage\x00" + whole[len(whole) // 2 + 9 :])
        said: list[str] = []
        _until(lambda: said.extend(servers.tend().problems) or said)
        assert "Copy" in said[0] and "valkey-check-aof" in said[0]
        for _ in range(5):
            assert servers.tend() == servers.tend(), "it waits before it tries again"
        file.write_bytes(whole)
        servers._tended["store"].not_before = 0.0
        _until(lambda: "store" in servers.tend().started)
        os.kill(servers.pid("store"), signal.SIGKILL)
        file.write_bytes(whole[: len(whole) // 2] + b"\x00garbage\x00" + whole[len(whole) // 2 + 9 :])
    with pytest.raises(FileBroken, match="valkey-check-aof"):
        Embedded(tmp_path).start()


def test_a_store_that_ends_for_want_of_room_says_so_each_time_it_is_started(servers: Embedded, tmp_path: Path) -> None:
    os.kill(servers.pid("store"), signal.SIGKILL)
    with (tmp_path / "store" / "valkey.log").open("a") as log:  # as it writes before it ends
        log.write("1:M 01 Jan 2025 12:00:00.000 # Error writing to the AOF file: No space left on device\n")
        log.write("1:M 01 Jan 2025 12:00:00.000 # Can't recover from AOF write error. Exiting...\n")
    said: list[str] = []
    _until(lambda: (done := servers.tend(), said.extend(done.problems)) and "store" in done.started)
    assert len(said) == 1 and str(tmp_path / "store") in said[0] and "Make room" in said[0]


def test_a_whole_server_keeps_its_quotas_and_looks_after_its_store(tmp_path: Path, http: httpx.Client) -> None:
    server = Server(tmp_path, quotas=Quotas(seat_per_hour=2, store_bytes=64 << 20, fork_bytes=500_000))
    server.stores._hang = 0.3
    stop = threading.Event()
    server.start()
    watching = threading.Thread(target=server.watch, args=(stop,))
    try:
        http.base_url = httpx.URL(server.url)
        operator = {"Authorization": f"Bearer {server.operator_file.read_text().strip()}"}
        made = http.post("/v1/games", json={"players": 3}, headers={**operator, "Prefer": "wait=20"}).json()
        house = dict(made["seats"])
        seat = sorted(house)[0]
        mine = {"Authorization": f"Bearer {made['tokens'][seat]}", "Content-Type": "application/json"}

        def send(key: str) -> httpx.Response:
            path = f"/v1/games/{made['game']}/commands"
            return http.post(path, content=bid(house=house[seat]), headers={**mine, "Idempotency-Key": key})

        first = send("first")
        assert (first.status_code, send("second").status_code) == (202, 202)
        assert quota_of(send("third")) == "often"
        fork = http.post(f"/v1/games/{made['game']}/fork", json={}, headers=mine).json()["game"]
        store = server.desk().store
        assert store.client.hget(game_key(fork, "game"), "most") == b"500000"
        assert store.client.info("memory")["maxmemory"] == 64 << 20
        pid = server.stores.pid("store")
        os.kill(pid, signal.SIGSTOP)
        watching.start()
        _until(lambda: _pid(server) not in (0, pid))
        _until(lambda: http.get("/healthz").status_code == 200)
        again = send("first")
        assert (again.status_code, again.json()["digest"]) == (202, first.json()["digest"])
        store.client.close()
    finally:
        stop.set()
        if watching.is_alive():
            watching.join()
        server.stop()


def _pid(server: Server) -> int:
    try:
        return server.stores.pid("store")
    except (OSError, ValueError):
        return 0


def test_health_is_asked_for_at_most_once_a_second() -> None:
    now = [0.0]
    asked: list[int] = []
    client = fake_store().client

    class Counting:
        def eval(self, *args: Any) -> Any:
            asked.append(1)
            return client.eval(*args)

    health = Health(Counting, lambda: now[0])
    assert [health.trouble() for _ in range(50)] == [""] * 50
    assert len(asked) == 1
    now[0] = 1.5
    health.trouble()
    assert len(asked) == 2


# Pages


def test_pages_of_the_log_and_of_events_are_bounded_by_bytes(
    place: Place, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = at(place, http)
    for _ in range(6):
        table.send("stark", bid(20_000))
    monkeypatch.setattr("api.routes.ledger.PAGE_BYTES", 50_000)
    seen: list[int] = []
    url, pages = f"{table.path}/log", 0
    while url:
        answer = http.get(url, headers=table.bearer("stark"))
        told = answer.json()
        assert len(answer.content) < 200_000
        seen += [one["seq"] for one in told["entries"]]
        url = answer.links["next"]["url"] if told["next"] else ""
        assert ("next" in answer.links) == (told["next"] is not None)
        pages += 1
    assert seen == list(range(1, 8))
    assert pages > 2
    with http.stream("GET", f"{table.path}/events?after=0", headers=table.bearer("stark")) as stream:
        ids = (line.removeprefix("id: ") for line in stream.iter_lines() if line.startswith("id: "))
        assert [next(ids) for _ in range(7)] == [str(one) for one in range(1, 8)]


def test_streams_are_read_and_ruled_on_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    store = fake_store()
    new_game(store)
    for _ in range(150):
        submit(store, bid(4_000), "seat-1")
    monkeypatch.setattr("events.store.PAGE_BYTES", 40_000)
    monkeypatch.setattr("worker.waiting.PAGE_BYTES", 40_000)
    pages: list[int] = []
    page = store._page
    monkeypatch.setattr(store, "_page", lambda *args: pages.append(len(found := page(*args))) or found)
    assert len(list(store.submissions("toy-1"))) == 151
    assert max(pages) <= 16
    appended: list[int] = []
    append = store.append
    monkeypatch.setattr(store, "append", lambda *args: appended.append(len(args[2])) or append(*args))
    adjudicate(store, JUDGE, "toy-1")
    assert sum(appended) == 151
    assert max(appended) <= 11, "ten of them, and the small one that begins the game"


def test_an_import_is_staged_and_one_that_breaks_off_leaves_nothing_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    store = fake_store()
    new_game(store)
    for _ in range(40):
        submit(store, bid(4_000), "seat-1")
    inbox = list(store.submissions("toy-1"))
    monkeypatch.setattr("events.staging.PAGE_BYTES", 20_000)
    fields = {"rules": "toy", "version": "1", "created": AT, "pepper": "00" * 32, "cursor": "0"}
    with pytest.raises(RuntimeError):
        restore(store, "half", fields, [], _breaking_off(inbox))
    left = list(store.client.keys(game_key("half", "*")))
    assert left and all(store.client.ttl(key) > 0 for key in left)
    assert not store.exists("half")
    restore(store, "half", fields, [], inbox)
    assert list(store.submissions("half")) == inbox
    kept = [game_key("half", what) for what in ("game", "inbox", "keys")]
    assert [store.client.ttl(key) for key in kept] == [-1, -1, -1]


def _breaking_off(inbox: list[Any]) -> Iterator[Any]:
    yield from inbox[:30]
    raise RuntimeError
