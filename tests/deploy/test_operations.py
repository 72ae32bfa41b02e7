"""docs/operations.md: every command of the run book, in its order, against a real server that really breaks."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from events.embedded import find
from events.store import Parked, Store
from tests.api.test_cli import ROOT, Rookery, Up, until

PAGE = ROOT / "docs" / "operations.md"
pytestmark = pytest.mark.server


class Machine(Rookery):
    """A machine with a data directory, a stick, a place for backups, and a service manager of one service."""

    def __init__(self, root: Path) -> None:
        super().__init__(root / "var/lib/rookery")
        self.root = root
        self.server: Up | None = None
        self.fingerprint = ""
        for place in ("var/lib/rookery-backups", "media/stick"):
            (root / place).mkdir(parents=True)

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "ROOKERY_METRICS": "127.0.0.1:0"}

    def here(self, word: str) -> str:
        """A path of the page on this machine; and the fingerprint that the last backup told for that of the page."""
        if re.fullmatch(r"[a-z2-7]{4}(-[a-z2-7]{4}){4}", word):
            assert self.fingerprint, "a backup was made before"
            return self.fingerprint
        return re.sub(r"^/(var|media)/", f"{self.root}/\\1/", word)

    def run(self, line: str) -> None:
        program, *words = map(self.here, shlex.split(line, comments=True))
        match program, words:
            case "rookery", _:
                before = BEFORE.get((words[0], self.chapter))
                if before is not None:
                    before(self)
                code = 1 if (words[0], self.chapter) in TELLS_OF_TROUBLE and before is not None else 0
                told = self.at_once(*words, code=code).out
                if words[0] == "backup":
                    [self.fingerprint] = re.findall(r"Signed by rookery, key (\S+)\. ", told)
            case "systemctl", ["start", "rookery"]:
                assert self.server is None
                self.server = up = self.up()
                until(lambda: httpx.get(f"{up.said['url']}/readyz").status_code == 200, "it is ready")
            case "systemctl", ["stop", "rookery"]:
                self.stop()
            case "curl", [url]:
                assert self.server is not None
                told = self.server.said
                real = url.replace("http://127.0.0.1:8642", told["url"])
                real = real.replace("http://127.0.0.1:9642/metrics", told["metrics"])
                until(lambda: httpx.get(real).status_code == 200, url)
            case "rm", [path]:
                Path(path).unlink()
            case _:
                raise AssertionError(f"nobody knows how to run: {line}")

    def stop(self) -> None:
        if self.server is not None:
            self.server.end()
            self.server.__exit__()
            self.server = None

    chapter = ""


def park(machine: Machine) -> None:
    found = find(machine.data)
    assert found is not None
    store = Store.connect(found[0])
    lease = None
    while lease is None:
        lease = store.acquire("winter", 10)
    store.park(lease, Parked(at="2026-01-01T00:00:00Z", inbox="", kind="", error="KeyError", where="rules.py:1"))
    store.release(lease)


def lose(machine: Machine) -> None:
    """What was acknowledged last is gone from the store's file when the server starts again."""
    machine.stop()
    file = max((machine.data / "store" / "appendonlydir").glob("*.incr.aof"))
    size = file.stat().st_size
    machine.at_once("deadline", "winter", "stark")
    os.truncate(file, size)
    machine.server = machine.up()


BEFORE: dict[tuple[str, str], Callable[[Machine], None]] = {
    ("doctor", "A parked game"): park,
    ("doctor", "A lost tail"): lose,
}
"""What breaks before a command of a chapter is run for the first time."""

TELLS_OF_TROUBLE = set(BEFORE)


def blocks(page: str) -> list[tuple[str, list[str]]]:
    """Chapters with the lines of their blocks, in order."""
    found = []
    for chapter in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        heading = chapter.partition("\n")[0]
        for body in re.findall(r"^```console\n([\s\S]*?)^```$", chapter, re.MULTILINE):
            lines = body.splitlines()
            assert all(line.startswith("$ ") for line in lines)
            found.append((heading, [line[2:] for line in lines]))
    return found


def test_the_run_book(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    chapters = blocks(PAGE.read_text(encoding="utf-8"))
    assert {"Start", "Restore", "A parked game", "A lost tail"} <= {heading for heading, _ in chapters}
    broken = set(BEFORE)
    try:
        for heading, lines in chapters:
            machine.chapter = heading
            for line in lines:
                machine.run(line)
                done = (line.split()[1], heading)
                if done in broken:
                    broken.discard(done)
                    machine.chapter = f"{heading}, later"
        assert not broken, "everything that this test breaks was looked at"
        token = machine.data / "operator.token"
        assert token.exists() and token.stat().st_mode & 0o077 == 0
    finally:
        machine.stop()
