"""Figures for Prometheus: right, of bounded number, and without anybody's secret or name."""

from __future__ import annotations

import ast
import re
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from api.desk import Desk
from api.metrics import CODES, PROBLEMS, Exporter
from api.serve import Server
from api.tokens import Tokens
from events.connecting import connect
from events.embedded import find
from events.keys import game_key
from events.store import Parked, Store
from tests.api.test_cli import ROOT, Rookery, until
from tests.recording import fake_store, new_game
from worker.figures import MOST, Address, Figures, address, by_words
from worker.figures import told as told_by
from worker.jobs import make_bell

CANARY = "canary"
COMMANDS = "/games/{game}/commands"


class Watched(Rookery):
    """A server that tells its figures."""

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "ROOKERY_METRICS": "127.0.0.1:0"}


Found = dict[tuple[str, ...], float]


def read(text: str) -> Found:
    """Samples by name and the values of their labels, in the order of the names of these."""
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def scraped(url: str) -> tuple[str, Found]:
    text = httpx.get(url, timeout=30).text
    return text, read(text)


# A real game


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    rookery = Watched(tmp_path_factory.mktemp("watched") / "data")
    with rookery.up() as server:
        yield {**server.said, "operator": Path(server.said["operator_token_file"]).read_text().strip()}


@pytest.mark.server
def test_figures_of_real_play(place: dict[str, Any]) -> None:
    """Whatever somebody may give a name is called canary; none of it is in the figures, and they are right."""
    game = f"{CANARY}-game"
    path = f"/v1/games/{game}"
    with httpx.Client(base_url=place["url"], timeout=60) as http:
        seats = {f"{CANARY}-a": "stark", f"{CANARY}-b": "lannister", f"{CANARY}-c": "baratheon"}
        operator = {"Authorization": f"Bearer {place['operator']}", "Prefer": "wait=30"}
        made = http.post("/v1/games", json={"game": game, "players": 3, "seats": seats}, headers=operator)
        assert made.status_code == 201, made.text
        tokens = made.json()["tokens"]
        stark = {"Authorization": f"Bearer {tokens[f'{CANARY}-a']}", "Prefer": "wait=30", "Content-Type": "text/plain"}

        orders = "orders winterfell march, white harbor march+1, shivering sea support"
        marked = {"Idempotency-Key": f"{CANARY}-key", "X-Correlation-Id": f"{CANARY}-id", "User-Agent": CANARY}
        assert http.post(f"{path}/commands?{CANARY}=1", content=orders, headers={**stark, **marked}).status_code == 201
        assert http.post(f"{path}/commands", content=orders, headers={**stark, **marked}).status_code == 200
        bad = http.post(f"{path}/commands", content="orders winterfell raid, white harbor raid*", headers=stark)
        assert bad.status_code == 409, bad.text
        unreadable = http.post(f"{path}/commands", content=f"orders {CANARY} march", headers=stark)
        assert unreadable.status_code == 422
        stranger = {**stark, "Authorization": f"Bearer {CANARY}"}
        assert http.post(f"{path}/commands", content=orders, headers=stranger).status_code == 401
        assert http.get(f"/{CANARY}").status_code == 404
        assert http.request(CANARY.upper(), path).status_code == 405

        with http.stream("GET", f"{path}/events", headers=stark) as stream:
            assert stream.status_code == 200, stream.read()
            heard = stream.iter_bytes()
            next(heard)
            assert scraped(place["metrics"])[1]["rookery_event_streams",] == 1
        until(lambda: scraped(place["metrics"])[1]["rookery_event_streams",] == 0, "the stream is no longer counted")
        version = http.get(path, headers=stark).json()["version"]

    until(
        lambda: scraped(place["metrics"])[1].get(("rookery_accept_to_ruling_seconds_count",)) == version, "it is told"
    )
    text, found = scraped(place["metrics"])
    posted = {key[3]: found[key] for key in found if key[:3] == ("rookery_http_requests_total", "POST", COMMANDS)}
    assert posted == {"202": 3, "401": 1, "422": 1}, "what a ruling says is in no answer's figure"
    assert found["rookery_http_requests_total", "GET", "none", "404"] == 1
    assert found["rookery_http_requests_total", "other", "/games/{game}", "405"] == 1
    assert found["rookery_http_problems_total", "token-unknown"] == 1
    assert found["rookery_submissions_total", "accepted"] == 3
    assert found["rookery_submissions_total", "unreadable-letter"] == 1
    assert found["rookery_rulings_total", "command", "accepted"] == 1
    assert found["rookery_rulings_total", "command", "refused"] == 1
    assert {key[1] for key in found if key[0] == "rookery_refusals_total"} == {"refused-in-secret"}
    assert found["rookery_accept_to_ruling_seconds_bucket", "+Inf"] == version
    assert 0 < found["rookery_accept_to_ruling_seconds_sum",] < 600
    assert (found["rookery_ready",], found["rookery_workers_alive",], found["rookery_waiting_games",]) == (1, 1, 0)
    assert (found["rookery_games",], found["rookery_parked_games",], found["rookery_held_games",]) == (1, 0, 0)
    assert (found["rookery_store_up",], found["rookery_store_script_ok",]) == (1, 1)
    assert found["rookery_store_keeps", "durable"] == 1 and found["rookery_store_keeps", "evicts"] == 0
    assert found["rookery_store_memory_limit_bytes",] > found["rookery_store_memory_bytes",] > 0

    secrets = [CANARY, place["operator"], made.json()["organiser"], *tokens.values(), "stark", "winterfell"]
    assert [one for one in secrets if one.lower() in text.lower()] == []


@pytest.mark.server
def test_figures_are_not_where_guests_come_to(place: dict[str, Any]) -> None:
    assert httpx.get(f"{place['url']}/metrics").status_code == 404
    assert httpx.get(place["metrics"].replace("/metrics", "/")).status_code == 404
    assert place["metrics"].startswith("http://127.0.0.1:")


def test_nobody_tells_figures_unless_told_to(rookery: Rookery) -> None:
    with rookery.up() as server:
        assert server.said["metrics"] == ""


@pytest.fixture
def rookery(tmp_path: Path) -> Rookery:
    return Rookery(tmp_path / "data")


# Addresses


@pytest.mark.parametrize(
    "text",
    ["0.0.0.0:9642", "[::]:9642", "8.8.8.8:9642", "[2001:4860::1]:9642", "9642", "here:1", "127.0.0.1:70000", "unix:x"],
)
def test_an_address_that_the_public_may_reach_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whoever reads settings says what is possible
        address(text)


def test_a_bad_address_ends_the_start_in_a_sentence(tmp_path: Path) -> None:
    class Public(Rookery):
        def environment(self) -> dict[str, str]:
            return {**super().environment(), "ROOKERY_METRICS": "0.0.0.0:9642"}

    rookery = Public(tmp_path / "data")
    assert "ROOKERY_METRICS" in rookery("up", "--port", "0", code=2).err


def test_an_address_that_is_taken_ends_the_start_in_a_sentence_and_leaves_nothing_running(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        where = f"127.0.0.1:{other.getsockname()[1]}"

        class Taken(Rookery):
            def environment(self) -> dict[str, str]:
                return {**super().environment(), "ROOKERY_METRICS": where}

        rookery = Taken(tmp_path / "data")
        told = rookery("up", "--port", "0", code=2).err
    assert "ROOKERY_METRICS" in told and where in told and "Address already in use" in told
    assert find(rookery.data) is None


def test_addresses() -> None:
    assert address("") is None
    assert address("localhost:9642") == address("127.0.0.1:9642") == Address("127.0.0.1", 9642)
    assert address("[::1]:1") == Address("::1", 1) and address("10.0.0.3:1") == Address("10.0.0.3", 1)
    assert address("unix:/run/rookery/metrics.sock") == Address(path="/run/rookery/metrics.sock")


@pytest.mark.server
def test_a_socket_of_its_own(tmp_path: Path) -> None:
    """Also where a server that was killed has left one; whoever sends half a request keeps nobody else waiting."""
    path = tmp_path / "m.sock"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    server = Server(tmp_path / "data", metrics=Address(path=str(path)))
    server.start()
    try:
        assert stat.S_IMODE(path.stat().st_mode) == 0o660
        with socket.socket(socket.AF_UNIX) as half, httpx.Client(transport=httpx.HTTPTransport(uds=str(path))) as http:
            half.connect(str(path))
            half.sendall(b"GET /metr")
            found = read(http.get("http://rookery/metrics", timeout=30).text)
        assert found["rookery_store_up",] == 1 and "rookery_last_backup_timestamp_seconds" not in {
            key[0] for key in found
        }
    finally:
        server.stop()
    assert not path.exists()


# Stores in trouble


def test_games_that_are_parked_or_damaged_are_counted() -> None:
    store = fake_store()
    for game, error in (("one", "ValueError"), ("two", "RecordDamaged"), ("three", "")):
        new_game(store, game)
        if error:
            lease = store.acquire(game, 10)
            assert lease is not None
            store.park(lease, Parked(at="2026-01-01T00:00:00Z", inbox="", kind="", error=error, where=""))
    assert sorted(one.error for one in store.why_parked()) == ["RecordDamaged", "ValueError"]
    store.client.hset(game_key("two", "game"), "parked", "{}")
    assert sorted(one.error for one in store.why_parked()) == ["KeptDamaged", "ValueError"]


@pytest.mark.server
def test_figures_are_told_while_everything_is_away() -> None:
    """Then they say so. Nothing that depends on the store is told as if it were known."""
    store = Store.connect("redis://:canary@127.0.0.1:1", patience_seconds=0.1)
    bell = make_bell(connect("redis://127.0.0.1:1", patience_seconds=0.1))
    exporter = Exporter(Address("127.0.0.1", 0), Desk(store, Tokens(store, CANARY), bell), Figures())
    try:
        text, found = scraped(exporter.url)
    finally:
        exporter.close()
    assert (found["rookery_store_up",], found["rookery_store_script_ok",], found["rookery_ready",]) == (0, 0, 0)
    assert found["rookery_problem", "store-away"] == 1 and found["rookery_problem", "queue-away"] == 1
    told = {key[0] for key in found}
    assert not told & {"rookery_games", "rookery_parked_games", "rookery_held_games", "rookery_workers_alive"}
    assert CANARY not in text


# Counting


class Client:
    """A queue's server that is away at first."""

    def __init__(self) -> None:
        self.is_away = True
        self.kept: dict[bytes, bytes] = {}

    def eval(self, script: str, keys: int, key: str, *told: Any) -> None:
        if self.is_away:
            raise ConnectionError
        for field, by in zip(told[::2], told[1::2], strict=True):
            self.kept[field.encode()] = str(float(self.kept.get(field.encode(), 0)) + by).encode()

    def hgetall(self, key: str) -> dict[bytes, bytes]:
        return self.kept


def test_what_could_not_be_told_is_told_later() -> None:
    figures, client = Figures(), Client()
    figures.ruled("command", "", "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:03+00:00")
    with pytest.raises(ConnectionError):
        figures.tell(client)
    client.is_away = False
    figures.ruled("command", "not-your-seat", "2026-01-01T00:00:00+00:00", "2025-12-31T23:59:59+00:00")
    figures.tell(client)
    figures.tell(client)
    found = told_by(client)
    assert by_words(found, "rulings") == {("command", "accepted"): 1, ("command", "refused"): 1}
    assert by_words(found, "refusals", CODES) == {("not-your-seat",): 1}
    assert found["waited-count",] == 2 and found["waited-sum",] == 3, "no clock makes a wait shorter than none"


def test_the_number_of_figures_is_bounded() -> None:
    figures = Figures()
    for number in range(10 * MOST):
        figures.count("problems", f"code-{number}")
        figures.count("problems", f"what somebody said {number}")
    found = figures.counted()
    assert len(found) <= MOST + 1
    assert sum(found.values()) == 20 * MOST
    assert by_words(found, "problems", CODES) == {("other",): 20 * MOST}


def test_every_code_that_http_answers_with_is_known() -> None:
    """Codes stand as text in calls of Edge and _problem; those of rules have a sentence."""
    said = set()
    for file in (ROOT / "api").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in (
                "Edge",
                "_problem",
                "unauthenticated",
            ):
                words = [one.value for one in node.args[:2] if isinstance(one, ast.Constant)]
                said |= {one for one in words if isinstance(one, str) and re.fullmatch(r"[a-z]+(-[a-z]+)*", one)}
    assert len(said) > 30
    assert said <= CODES


def test_every_problem_of_readiness_is_known() -> None:
    said = set(re.findall(r'problems\.append\("([a-z-]+)"\)', (ROOT / "api/readiness.py").read_text(encoding="utf-8")))
    assert said and said <= set(PROBLEMS)
