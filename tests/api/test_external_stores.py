"""``rookery up`` on stores that somebody else looks after: play, kills, trouble, and no secret seen."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from events.embedded import Embedded
from tests.api.test_cli import Rookery

ROOT = Path(__file__).parents[2]


def until(holds: Callable[[], Any], what: str) -> Any:
    for _ in range(1200):
        if found := holds():
            return found
        time.sleep(0.05)
    raise AssertionError(f"it never came about: {what}")


def family(pid: int) -> set[int]:
    """A process and all that descend from it."""
    parents = {}
    for one in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(one.parent.name)] = int(one.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


class Up:
    """``rookery up``, told of its stores by the environment."""

    def __init__(self, directory: Path, **told: str) -> None:
        self.directory = directory
        self.log = directory.parent / "up.log"
        ours = {name: value for name, value in os.environ.items() if not name.startswith("ROOKERY_")}
        environment = {**ours, **told, "ROOKERY_DATA": str(directory), "ROOKERY_LOG": "debug", "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "api", "up", "--port", "0", "--json"]
        with self.log.open("ab") as sink:
            self.process = subprocess.Popen(
                command, env=environment, stdout=subprocess.PIPE, stderr=sink, stdin=subprocess.DEVNULL, text=True
            )
        assert self.process.stdout is not None
        self.said = json.loads(self.process.stdout.readline())
        self.url = self.said["url"]
        self.operator = Path(self.said["operator_token_file"]).read_text().strip()

    def end(self, how: int = signal.SIGINT) -> None:
        self.process.send_signal(how)
        self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def __enter__(self) -> Up:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.end(signal.SIGKILL)

    def ask(self, method: str, path: str, token: str = "", **given: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        headers |= {"Prefer": "wait=20"} | given.pop("headers", {})
        return httpx.request(method, self.url + path, headers=headers, timeout=60, **given)

    def is_ready(self) -> bool:
        return self.ask("GET", "/readyz").status_code == 200


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    """Two servers on ports, each with a password."""
    with Embedded(tmp_path_factory.mktemp("stores"), listen="tcp") as servers:
        yield servers


def owed(up: Up, game: str, token: str) -> Any:
    return up.ask("GET", f"/v1/games/{game}/owed", token).json()["owes"]


def play(up: Up, game: str, tokens: dict[str, str], most: int) -> int:
    """Send the first legal answer for whoever owes one; how many were accepted."""
    done = 0
    for token in tokens.values():
        owes = owed(up, game, token)
        if owes and done < most:
            letter = owes[0]["notation"]["examples"][0]
            answer = up.ask(
                "POST", f"/v1/games/{game}/commands", token, content=letter, headers={"Content-Type": "text/plain"}
            )
            assert answer.status_code == 201, answer.text
            done += 1
    return done


def test_play_kills_and_trouble_on_external_stores_and_no_secret_is_seen(stores: Embedded, tmp_path: Path) -> None:
    secrets = {url.partition("://:")[2].partition("@")[0] for url in (stores.store_url, stores.queue_url)}
    told = {"ROOKERY_STORE": stores.store_url, "ROOKERY_QUEUE": stores.queue_url}
    with Up(tmp_path / "data", **told) as up:
        made = up.ask("POST", "/v1/games", up.operator, json={"players": 3}).json()
        game, tokens = made["game"], made["tokens"]
        assert play(up, game, tokens, 1) == 1
        before = up.ask("GET", f"/v1/games/{game}").json()["version"]
        secrets |= {up.operator, *tokens.values(), made["organiser"]}
        assert len(secrets) == 7
        assert all(len(one) > 20 for one in secrets)

        # Tokens in places where they do not belong are not repeated.
        for stray in (up.operator, *tokens.values(), made["organiser"]):
            up.ask("GET", f"/v1/games/{stray}", "x" + stray)
            up.ask("GET", f"/v1/games/{game}?token={stray}", stray, headers={"X-Request-Id": "a"})

        # No embedded server was started; every process says nothing on its command line.
        assert not (tmp_path / "data" / "store").exists()
        ours = family(up.process.pid)
        assert len(ours) >= 2, "up and its worker"
        lines = [Path(f"/proc/{pid}/cmdline").read_bytes().decode() for pid in ours]
        assert any("worker" in line for line in lines)
        assert not [line for line in lines for secret in secrets if secret in line]

        # A kill loses nothing, and what was left running ends.
        up.end(signal.SIGKILL)
        until(lambda: not [pid for pid in ours if Path(f"/proc/{pid}/cmdline").exists()], "its worker ends, too")

    with Up(tmp_path / "data", **told) as up:
        until(up.is_ready, "it is ready")
        assert up.ask("GET", f"/v1/games/{game}").json()["version"] == before
        assert play(up, game, tokens, 1) == 1
        assert up.ask("GET", f"/v1/games/{game}").json()["version"] > before

        # A store that hangs is seen by readiness and told once; when it is back, so is everything.
        os.kill(stores.pid("store"), signal.SIGSTOP)
        try:
            until(lambda: not up.is_ready(), "readiness sees it")
            assert up.ask("GET", "/readyz").json()["problems"][0] == "store-away"
            until(lambda: "The store server, which is not ours" in up.log.read_text(), "the log tells of it")
        finally:
            os.kill(stores.pid("store"), signal.SIGCONT)
        until(up.is_ready, "it is ready again")
        assert play(up, game, tokens, 1) == 1
        up.end()
        assert up.process.returncode in (0, 130)
    log = up.log.read_text()
    assert "Traceback" not in log
    assert not [line for line in log.splitlines() for secret in secrets if secret in line]
    assert stores.directory.exists()
    assert Embedded.pid(stores, "store"), "the stores live on"


def test_stores_that_do_not_answer_end_a_start_in_a_sentence(tmp_path: Path) -> None:
    rookery = Rookery(tmp_path / "data")
    for url, code in (
        ("redis://:hunter2canary@127.0.0.1:1/0", 4),
        ("unix://:hunter2canary@/nowhere/valkey.sock", 4),
        ("cluster://:hunter2canary@127.0.0.1:1", 4),
        ("rediss://:hunter2canary@127.0.0.1:1", 4),
        ("rediss://:hunter2canary@127.0.0.1:1?nonsense=1", 2),
        ("redis://:hunter2canary@127.0.0.1:port", 2),
    ):
        commands = (("up", "--port", "0", "--store", url), ("worker", "--store", url), ("games", "--store", url))
        for command in commands[: 1 if code == 4 else 3]:
            said = rookery.at_once(*command, code=code)
            assert "hunter2canary" not in said.out + said.err
            assert "Traceback" not in said.err
    assert "go with a store" in rookery.at_once("up", "--queue", "redis://h", code=2).err
