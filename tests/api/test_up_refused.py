"""What else than a setting keeps ``rookery up`` from starting: one sentence, an exit code, nothing left behind."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from api import serve
from events import embedded
from tests.api.test_cli import ROOT, Rookery

ADDRESSES = {
    "not ours": (("--host", "203.0.113.7", "--port", "0"), "203.0.113.7, port 0, cannot be listened at: "),
    "no name": (("--host", "a..b", "--port", "0"), "a..b, port 0, cannot be listened at: it is no address"),
    "unknown": (("--host", "nowhere.invalid", "--port", "0"), "nowhere.invalid, port 0, cannot be listened at: "),
    "no port": (("--port", "70000"), "'--port': Input should be less than or equal to 65535"),
    "below": (("--port", "-1"), "'--port': Input should be greater than or equal to 0"),
    "a word": (("--port", "http"), "'--port': Input should be a valid integer"),
}


@pytest.mark.parametrize("what", ADDRESSES)
def test_an_address_that_cannot_be_listened_at(tmp_path: Path, what: str) -> None:
    words, sentence = ADDRESSES[what]
    rookery = Rookery(tmp_path / "data")
    assert sentence in rookery.at_once("up", *words, code=2).err
    assert embedded.find(rookery.data) is None


def test_a_port_that_is_taken_or_forbidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rookery = Rookery(tmp_path / "data")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        said = rookery.at_once("up", "--port", port, code=2).err
        assert f"Port {port} of 127.0.0.1 is taken" in said

    def forbidden(*_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(serve.Listener, "bind", forbidden)
    said = rookery.at_once("up", "--port", "80", code=2).err
    assert "127.0.0.1, port 80, cannot be listened at: Permission denied" in said
    assert embedded.find(rookery.data) is None


def in_a_file(path: Path) -> Path:
    path.touch()
    return path / "data"


def a_file(path: Path) -> Path:
    path.touch()
    return path


def a_link_to_itself(path: Path) -> Path:
    path.symlink_to(path)
    return path


DIRECTORIES: tuple[Callable[[Path], Path], ...] = (
    in_a_file,
    a_file,
    a_link_to_itself,
    lambda path: Path("/proc/rookery"),
)


@pytest.mark.parametrize("made", DIRECTORIES)
def test_a_directory_that_cannot_be_written(tmp_path: Path, made: Callable[[Path], Path]) -> None:
    rookery = Rookery(made(tmp_path / "place"))
    assert "cannot be written to: " in rookery.at_once("up", "--port", "0", code=4).err


def test_a_directory_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests may run as root, whom no mode keeps out; so the system call says what it says to others."""
    real = os.open

    def refusing(path: str | Path, *rest: int, **named: int) -> int:
        if str(path).endswith("owner.lock"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return real(path, *rest, **named)

    monkeypatch.setattr(embedded.os, "open", refusing)
    rookery = Rookery(tmp_path / "data")
    assert "cannot be written to: Permission denied." in rookery.at_once("up", "--port", "0", code=4).err


def test_the_port_of_make_run_is_that_of_the_environment() -> None:
    told = {**os.environ, "PORT": "8811"}
    made = subprocess.run(["make", "-n", "run"], cwd=ROOT, env=told, capture_output=True, text=True, check=True)
    assert "--port 8811" in made.stdout
