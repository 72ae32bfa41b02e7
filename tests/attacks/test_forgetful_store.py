"""A store that forgets, at the command line: it is refused, or found out and held, and gone on with on the record."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from events.connecting import connect
from events.embedded import Embedded, find
from events.journal import Journal
from events.keys import LOST, list_key
from events.store import Store
from tests.api.test_cli import ROOT, Rookery

pytestmark = pytest.mark.server


@pytest.fixture
def rookery(tmp_path: Path) -> Rookery:
    return Rookery(tmp_path / "data")


@pytest.fixture
def store(embedded: Embedded) -> Iterator[Store]:
    found = Store.connect(embedded.store_url)
    yield found
    for name, value in (("appendfsync", "always"), ("maxmemory", "0"), ("maxmemory-policy", "noeviction")):
        found.client.config_set(name, value)
    found.client.close()


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    with Embedded(tmp_path_factory.mktemp("external")) as running:
        yield running


def _cut(data: Path, count: int) -> None:
    file = max((data / "store" / "appendonlydir").glob("*.incr.aof"))
    os.truncate(file, file.stat().st_size - count)


def test_a_cut_tail_is_told_held_and_accepted_on_the_record(rookery: Rookery) -> None:
    for game in ("summer", "winter"):
        tokens = rookery.at_once("new", "--players", "3", "--game", game, "--json").json["tokens"]
    rookery.at_once("doctor")
    version = rookery.at_once("show", "winter", "--json").json["version"]
    _cut(rookery.data, 900)

    sick = rookery.at_once("doctor", "--json", code=1).json
    lost = [one["says"] for one in sick["checks"] if one["name"] == "lost"]
    assert len(lost) == 1 and "Game winter lost" in lost[0] and "accept-loss winter" in lost[0]
    with rookery.up() as up:
        assert up.said["held"] == ["winter"]
        assert up.said["promise"]["keeps"] == "durable"
        ready = httpx.get(f"{up.said['url']}/readyz")
        assert ready.status_code == 503 and "games-held" in ready.json()["problems"]
        assert ready.json()["held_games"] == 1
        told = httpx.get(f"{up.said['url']}/v1/games/winter").json()
        assert told["held"] is True and told["version"] < version
        assert httpx.get(f"{up.said['url']}/v1/games/summer").json()["held"] is False
        refused = httpx.post(
            f"{up.said['url']}/v1/games/winter/commands",
            content=b'{"kind":"wildling-bid","house":"stark","bid":1}',
            headers={
                "content-type": "application/json",
                "authorization": f"Bearer {next(iter(tokens.values()))}",
            },
        )
        assert refused.status_code == 503 and refused.json()["code"] == "game-held", refused.text

    rookery.at_once("accept-loss", "summer", "--why", "nothing", code=3)
    rookery.at_once("accept-loss", "winter", "--why", " ", code=2)
    done = rookery.at_once("accept-loss", "winter", "--why", "the disk failed", "--json").json
    assert done["entry"] is not None
    log = rookery.at_once("log", "winter").out
    assert "The server lost a part of this game" in log and "the disk failed" in log
    assert rookery.at_once("verify", "winter", "--json").json["confirmed"]
    rookery.at_once("doctor")
    rookery.at_once("accept-loss", "winter", "--why", "again", code=3)
    (note,) = Journal(rookery.data).notes()
    assert (note.what, note.about["game"], note.about["why"]) == ("accept-loss", "winter", "the disk failed")


def test_a_game_that_says_itself_that_it_is_held_is_told_and_goes_on(rookery: Rookery) -> None:
    """The list of held games is damaged, or was cut with the tail of the store's file; the game's own note stands."""
    for game in ("summer", "winter"):
        rookery.at_once("new", "--players", "3", "--game", game)
    rookery.at_once("doctor")
    _cut(rookery.data, 900)
    with rookery.up() as up:
        assert up.said["held"] == ["winter"]
        client = connect(find(rookery.data)[0])  # type: ignore[index]  # it runs
        assert client.delete(list_key(LOST, "winter")) == 1
        client.close()
        sick = rookery("doctor", "--json", code=1).json
        lost = [one["says"] for one in sick["checks"] if one["name"] == "lost"]
        assert len(lost) == 1 and "Game winter lost" in lost[0]
        assert rookery("accept-loss", "winter", "--why", "the disk failed", "--json").json["entry"] is not None
    rookery.at_once("doctor")


@pytest.mark.parametrize("junk", [lambda client, key: client.delete(key), lambda client, key: client.set(key, "x")])
def test_a_list_of_held_games_that_is_gone_or_none_is_made_anew_at_the_start(
    rookery: Rookery, junk: Callable[[Any, str], Any]
) -> None:
    for game in ("summer", "winter"):
        rookery.at_once("new", "--players", "3", "--game", game)
    rookery.at_once("doctor")
    _cut(rookery.data, 900)
    with rookery.up() as up:
        assert up.said["held"] == ["winter"]
        client = connect(find(rookery.data)[0])  # type: ignore[index]  # it runs
        junk(client, list_key(LOST, "winter"))
        client.close()
    with rookery.up() as up:
        ready = httpx.get(f"{up.said['url']}/readyz").json()
        assert "games-held" in ready["problems"] and ready["held_games"] == 1
        assert rookery("accept-loss", "winter", "--why", "the disk failed", "--json").json["entry"] is not None
    rookery.at_once("doctor")


def test_a_store_that_is_gone_loses_every_game_and_says_so(rookery: Rookery) -> None:
    rookery.at_once("new", "--players", "3", "--game", "winter")
    shutil.rmtree(rookery.data / "store")
    sick = rookery.at_once("doctor", "--json", code=1).json
    assert any("the whole game is gone" in one["says"] for one in sick["checks"])
    rookery.at_once("new", "--players", "3", "--game", "winter", code=3)
    rookery.at_once("accept-loss", "winter", "--why", "there is no copy")
    rookery.at_once("new", "--players", "3", "--game", "winter")
    rookery.at_once("doctor")


@pytest.mark.parametrize(
    ("settings", "says", "may"),
    [
        ({"appendfsync": "everysec"}, "up to two seconds", "lags"),
        ({"maxmemory": "1gb", "maxmemory-policy": "allkeys-lru"}, "throws keys away", ""),
    ],
)
def test_a_worker_and_a_doctor_refuse_a_store_that_forgets(
    rookery: Rookery, store: Store, embedded: Embedded, settings: dict[str, str], says: str, may: str
) -> None:
    for name, value in settings.items():
        store.client.config_set(name, value)
    urls = ("--store", embedded.store_url, "--queue", embedded.queue_url)
    assert says in rookery.at_once("worker", *urls, code=4).err
    assert says in rookery.at_once("doctor", *urls, code=1).out
    environment = {
        **rookery.environment(),
        "ROOKERY_STORE": embedded.store_url,
        "ROOKERY_QUEUE": embedded.queue_url,
    }
    done = subprocess.run([sys.executable, "-m", "worker.run"], env=environment, capture_output=True, cwd=ROOT)
    last = json.loads(done.stderr.splitlines()[-1])
    assert done.returncode == 4 and last["event"] == "worker-refuses" and says in last["why"]
    if not may:
        return
    allowed = {**environment, "ROOKERY_STORE_MAY": may}
    with subprocess.Popen(
        [sys.executable, "-m", "worker.run"], env=allowed, stderr=subprocess.PIPE, cwd=ROOT
    ) as worker:
        assert worker.stderr is not None
        told = (json.loads(line) for line in worker.stderr)
        promise = next(line for line in told if line["event"] == "store-promise")
        assert promise["level"] == "warning" and says in promise["means"]
        worker.terminate()
        worker.stderr.read()
    assert worker.returncode == 0
