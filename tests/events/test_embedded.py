"""The embedded servers: one owner, one server per directory, found again after any kill."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from events import embedded as launcher
from events.connecting import connect
from events.embedded import (
    DirectoryInUse,
    DirectoryNotWritable,
    Embedded,
    PortTaken,
    ServerFailed,
    ServerHangs,
    find,
)

pytestmark = pytest.mark.server

HOLD = """
import sys, time
from events.embedded import Embedded
servers = Embedded(sys.argv[1]).start()
print(servers.store_url, flush=True)
time.sleep(600)
"""

ROOT = Path(__file__).parents[2]


def _other_rookery(directory: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(directory)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("unix://")
    return process


def _kill(process: subprocess.Popen[str], with_signal: int = signal.SIGKILL) -> None:
    process.send_signal(with_signal)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def _until(holds: Callable[[], bool]) -> None:
    for _ in range(3000):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("it never came about")


def _write(url: str, value: str) -> None:
    client = connect(url)
    client.set("kept", value)
    client.close()


def _read(url: str) -> bytes | None:
    client = connect(url)
    found: bytes | None = client.get("kept")
    client.close()
    return found


def test_the_record_outlives_the_servers_and_the_queue_does_not(tmp_path: Path) -> None:
    with Embedded(tmp_path) as servers:
        client = connect(servers.store_url)
        assert client.config_get("appendfsync") == {"appendfsync": "always"}
        assert client.config_get("appendonly") == {"appendonly": "yes"}
        client.close()
        _write(servers.store_url, "a")
        _write(servers.queue_url, "b")
        assert find(tmp_path) == (servers.store_url, servers.queue_url)
    assert find(tmp_path) is None
    with Embedded(tmp_path) as servers:
        assert servers.adopted == ()
        assert _read(servers.store_url) == b"a"
        assert _read(servers.queue_url) is None


def test_others_may_not_read_the_directory(tmp_path: Path) -> None:
    with Embedded(tmp_path / "data"):
        for path in (tmp_path / "data", tmp_path / "data" / "store"):
            assert stat.S_IMODE(path.stat().st_mode) == 0o700
        assert stat.S_IMODE((tmp_path / "data" / "store" / "address.json").stat().st_mode) == 0o600


def test_a_directory_has_one_owner(tmp_path: Path) -> None:
    other = _other_rookery(tmp_path)
    try:
        with pytest.raises(DirectoryInUse, match=f"process {other.pid}"):
            Embedded(tmp_path).start()
        assert find(tmp_path) is not None, "others may still look"
    finally:
        _kill(other)
        Embedded(tmp_path).start().stop()


def test_servers_of_a_killed_parent_are_adopted(tmp_path: Path) -> None:
    other = _other_rookery(tmp_path)
    before = int((tmp_path / "store" / "server.pid").read_text())
    _kill(other)
    with Embedded(tmp_path) as servers:
        assert servers.adopted == ("store", "queue")
        assert servers.pid("store") == before
        _write(servers.store_url, "a")
    _until(lambda: not _is_alive(before))


def test_no_second_server_starts_while_the_first_lives_but_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = _other_rookery(tmp_path)
    pid = int((tmp_path / "store" / "server.pid").read_text())
    _kill(other)
    with monkeypatch.context() as patch:
        patch.setattr(launcher, "_answers", lambda url: False)  # a stopped one would, but only after a long timeout
        with pytest.raises(ServerHangs, match=f"process {pid}"):
            Embedded(tmp_path, patience_seconds=0.2).start()
    with Embedded(tmp_path) as servers:
        assert servers.pid("store") == pid


def test_ctrl_c_meets_the_parent_first(tmp_path: Path) -> None:
    """The servers are in a session of their own, where the terminal's signals do not reach."""
    with Embedded(tmp_path) as servers:
        for role in launcher.ROLES:
            assert os.getsid(servers.pid(role)) == servers.pid(role) != os.getsid(0)


def test_a_killed_server_is_started_again_with_what_it_had(tmp_path: Path) -> None:
    with Embedded(tmp_path) as servers:
        _write(servers.store_url, "a")
        for role in launcher.ROLES:
            os.kill(servers.pid(role), signal.SIGKILL)
            started: list[str] = []

            def revived(role: str = role, started: list[str] = started) -> bool:
                started.extend(servers.revive())
                return role in started

            _until(revived)
        assert _read(servers.store_url) == b"a"
        assert servers.revive() == ()


def test_servers_left_on_purpose_are_found_by_the_next_parent(tmp_path: Path) -> None:
    first = Embedded(tmp_path).start()
    first.detach()
    with Embedded(tmp_path) as servers:
        assert servers.adopted == ("store", "queue")


@pytest.mark.parametrize("place", ["file/data", "/proc/rookery"])
def test_a_directory_that_cannot_be_written_is_refused(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DirectoryNotWritable, match="cannot be written"):
        Embedded(tmp_path / place).start()


def test_a_directory_of_somebody_else_is_refused() -> None:
    """As an ordinary user, also where the tests run as root, who may write everywhere."""
    script = (
        "import os, tempfile\n"
        "from events.embedded import DirectoryNotWritable, Embedded\n"
        "home = tempfile.mkdtemp()\n"
        "os.chmod(home, 0o500)\n"
        "os.geteuid() == 0 and os.setuid(65534)\n"
        "try:\n"
        "    Embedded(home).start()\n"
        "except DirectoryNotWritable as error:\n"
        "    print(error)\n"
    )
    told = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "cannot be written" in told.stdout


def test_a_taken_port_is_refused_and_free_ports_are_found(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PortTaken, match=str(port)):
            Embedded(tmp_path, store_port=port).start()
    with Embedded(tmp_path, listen="tcp") as servers:
        assert servers.store_url.startswith("redis://:")
        _write(servers.store_url, "a")


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "store" / "appendonlydir").mkdir(parents=True)
    (tmp_path / "store" / "appendonlydir" / "appendonly.aof.manifest").write_text("nonsense\n")
    with pytest.raises(ServerFailed, match="store server did not start"):
        Embedded(tmp_path).start()
    assert find(tmp_path) is None


@pytest.mark.parametrize("name", ['with space "quoted" and ünïcode', "x" * 120])
def test_any_path_will_do(tmp_path: Path, name: str) -> None:
    with Embedded(tmp_path / name) as servers:
        _write(servers.store_url, "a")
        assert _read(servers.store_url) == b"a"


def test_the_directory_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ROOKERY_DATA", str(tmp_path / "here"))
    assert Embedded().directory == tmp_path / "here"


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().split(")")[-1].split()[0] != "Z"
