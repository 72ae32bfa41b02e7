"""Everything on one machine: embedded stores, workers and HTTP in one command, each started again when it dies.

The order matters. Up: the stores, then the workers, then HTTP. Down, on Ctrl-C: HTTP takes nothing more, the
workers finish the ruling they are at, the stores close last. Whatever is killed in between loses nothing: what was
acknowledged is on the disk, and the next start adopts what still runs.
"""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import uvicorn

from api.apart import Apart
from api.desk import Desk
from api.listening import SHORTAGES, Limits, Listener, configuration, fitting, raise_descriptors
from api.quota import MOST_FORKS
from api.running import SERVER_FILE, BadAddress, PortTaken, Running, running
from api.tokens import OPERATOR_FILE, Tokens, operator_token
from events.connecting import connect
from events.durability import SETTING, Promise
from events.embedded import ROLES, DirectoryInUse, Embedded, EmbeddedError, External, Role
from events.heads import Heads
from events.journal import Journal
from events.limits import Quotas
from events.losses import Loss
from events.notes import Signer
from events.room import Room
from events.store import Store
from worker.budget import words_for
from worker.figures import Address, Figures
from worker.jobs import make_bell
from worker.log import logger
from worker.remembering import promised, remembering
from worker.settings import Settings, judges, setting

if TYPE_CHECKING:
    from api.metrics import Exporter

GRACE_SECONDS = 10.0
"""How long requests and rulings under way may take at the end."""


class Worker:
    """One worker process, started again when it ends by itself, each time after a longer pause."""

    def __init__(self, number: int, environment: dict[str, str]) -> None:
        self.number = number
        self.environment = environment
        self.process: subprocess.Popen[bytes] | None = None
        self._began = 0.0
        self._pause_seconds = 0.0

    def see_to_it(self) -> bool:
        """Start the process unless it runs; whether it had to be started again."""
        if self.process is None:
            self._start()
            return False
        code = self.process.poll()
        if code is None:
            return False
        now = time.monotonic()
        if now - self._began > 10:
            self._pause_seconds = 0.0
        if now - self._began < self._pause_seconds:
            return False
        why = words_for(code)
        logger().warning("worker-died", worker=self.number, pid=self.process.pid, code=code, why=why or None)
        self._close()
        self._start()
        self._pause_seconds = min(5.0, max(0.2, self._pause_seconds * 2))
        return True

    def _start(self) -> None:
        self._began = time.monotonic()
        # A session of its own, so that Ctrl-C meets the parent; a pipe, so that it ends with the parent.
        self.process = subprocess.Popen(
            [sys.executable, "-m", "worker.run"], env=self.environment, stdin=subprocess.PIPE, start_new_session=True
        )

    def stop(self, until: float) -> None:
        """Let it finish what it is at. One that takes too long is killed: what it had not ruled on still waits."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._close()
        self.process = None

    def _close(self) -> None:
        assert self.process is not None and self.process.stdin is not None, "it was started with a pipe"
        self.process.stdin.close()


class Server:
    """A whole Rookery on one data directory. Start it, watch over it, stop it."""

    def __init__(
        self,
        directory: Path,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        workers: int = 1,
        log: str = "warning",
        app: Callable[[Desk], Any] | None = None,
        name: str = "",
        forks: int = MOST_FORKS,
        quotas: Quotas = Quotas(),  # noqa: B008 - frozen
        store_url: str = "",
        queue_url: str = "",
        limits: Limits = Limits(),  # noqa: B008 - frozen
        metrics: Address | None = None,
    ) -> None:
        self.directory = directory.absolute()
        self.quotas = quotas
        self.is_external = bool(store_url)
        self.stores = (
            External(self.directory, store_url, queue_url or store_url)
            if store_url
            else Embedded(self.directory, most_bytes=quotas.store_bytes)
        )
        self.limits = self.wished = limits
        self.host = host
        self.port = port
        self.log = log
        self.bells = max(1, workers)
        self._most_workers = workers
        self.workers: list[Worker] = []
        self.name = name
        self.forks = forks
        self.figures = Figures()
        self.metrics = metrics
        self._exporter: Exporter | None = None
        self._app = app or (lambda desk: _application(desk, self.limits.streams, self.figures))
        self._socket: socket.socket | None = None
        self._http: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        self._failed: BaseException | None = None
        self._heads: Heads | None = None
        self._apart: Apart | None = None
        self.promise: Promise | None = None
        self.lost: tuple[Loss, ...] = ()

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    @property
    def adopted(self) -> tuple[Role, ...]:
        """The stores that an earlier server had left running."""
        return self.stores.adopted

    @property
    def operator_file(self) -> Path:
        return self.directory / OPERATOR_FILE

    def start(self) -> None:
        """Raises EmbeddedError with a sentence for the operator; then nothing is left running."""
        self.limits = fitting(self.wished, raise_descriptors())
        self._own()
        try:
            self._ask_for_stores()
            operator_token(self.directory)
            Signer.of_directory(self.directory, self.name)
            self._socket = _listening(self.host, self.port)
            self.port = self._socket.getsockname()[1]
            self._remember()
            settings = Settings.from_environment(
                {
                    "ROOKERY_SWEEP_SECONDS": "2",
                    **os.environ,
                    "ROOKERY_DATA": str(self.directory),
                    "ROOKERY_STORE": self.stores.store_url,
                    "ROOKERY_QUEUE": self.stores.queue_url,
                    "ROOKERY_BELLS": str(self.bells),
                }
            )
            judges(settings.rules)
            environment = {**os.environ, **settings.environment(), "ROOKERY_TIED": "1", "ROOKERY_LOG": self.log}
            self.workers = [Worker(number, environment) for number in range(self._most_workers)]
            self.look()
            self._apart = Apart(self.stores.store_url, settings.ruling_seconds, settings.worker_memory_mb)
            self._listen()
            self._tell_figures()
            self._say_so()
        except BaseException:
            self.stop()
            raise

    def _ask_for_stores(self) -> None:
        """Raises StoreAway when stores by URL do not answer: a start is not begun without them."""
        if self.is_external:
            for url in (self.stores.store_url, self.stores.queue_url):
                store = Store.connect(url)
                try:
                    store.ping()
                finally:
                    store.client.close()

    def _own(self) -> None:
        """Own the directory. A command at work in it is waited for, another server is not."""
        until = time.monotonic() + GRACE_SECONDS
        while True:
            try:
                self.stores.start()
                return
            except DirectoryInUse:
                if running(self.directory) is not None or time.monotonic() > until:
                    raise
                time.sleep(0.05)

    def _remember(self) -> None:
        """Ask the store what it promises, and compare with it what was acknowledged; before anybody rules."""
        store = Store.connect(self.stores.store_url)
        self.promise = promised(store, setting(SETTING))
        self._heads = remembering(self.directory, store, self.stores.store_url)
        self.lost = tuple(self._heads.start())

    def desk(self, quotas: Quotas | None = None) -> Desk:
        """A desk of its own for one thread; ``quotas`` where guests come to it."""
        store = Store.connect(self.stores.store_url)
        store.witness = self._heads
        bell = make_bell(connect(self.stores.queue_url), bells=self.bells)
        signer = Signer.of_directory(self.directory)
        room = Room(store.client, directory=self.directory, reserve_bytes=self.quotas.disk_reserve_bytes)
        tokens = Tokens(store, operator_token(self.directory))
        return Desk(store, tokens, bell, signer=signer, most_forks=self.forks, quotas=quotas, room=room)

    def _listen(self) -> None:
        desk = self.desk(self.quotas)
        desk.apart = self._apart
        application = self._app(desk)
        config = configuration(application, self.limits, grace_seconds=int(GRACE_SECONDS / 2))
        self._http = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._serve, name="http", daemon=True)
        self._thread.start()
        while not self._http.started:
            if not self._thread.is_alive():
                raise EmbeddedError(f"HTTP did not start: {self._failed or 'see the log'}.")
            time.sleep(0.01)

    def _serve(self) -> None:
        assert self._http is not None and self._socket is not None, "there is something to serve"
        try:
            self._http.run(sockets=[self._socket])
        except (Exception, SystemExit) as error:  # noqa: BLE001 - told by whoever watches
            self._failed = error

    def _tell_figures(self) -> None:
        if self.metrics is None:
            return
        from api.metrics import Exporter  # what nobody asks for need not be loaded

        journal = Journal(self.directory)
        desk = self.desk(self.quotas)
        self._exporter = Exporter(self.metrics, desk, self.figures, version=version("rookery"), journal=journal)

    @property
    def metrics_url(self) -> str:
        """Where figures are told; empty: nowhere."""
        return "" if self._exporter is None else self._exporter.url

    def _say_so(self) -> None:
        path = self.directory / SERVER_FILE
        draft = path.with_suffix(".new")
        draft.write_bytes(msgspec.json.encode(Running(os.getpid(), self.url)))
        draft.replace(path)

    def look(self) -> None:
        """Start again whatever has died or hangs. Raises EmbeddedError when HTTP has ended.

        A want of descriptors or memory passes; what it kept from being started is started by a later look.
        """
        try:
            tended = self.stores.tend()
            for role in tended.started:
                logger().warning("store-started", role=role)
                self.figures.count("restarts", role)
            for problem in tended.problems:
                logger().error("store-in-trouble", problem=problem)
            for worker in self.workers:
                if worker.see_to_it():
                    self.figures.count("restarts", "worker")
        except OSError as error:
            if self._thread is None or error.errno not in SHORTAGES:
                raise
            logger().warning("cannot-start-now", error=error.strerror)
        if self._thread is not None and not self._thread.is_alive():
            raise EmbeddedError(f"HTTP has ended: {self._failed or 'see the log'}.")

    def watch(self, stop: threading.Event) -> None:
        """Look after everything until told to stop."""
        while not stop.wait(0.2):
            self.look()

    def stop(self) -> None:
        """Shut down in order; what waits to be ruled on is ruled on after the next start."""
        (self.directory / SERVER_FILE).unlink(missing_ok=True)
        if self._http is not None and self._thread is not None:
            self._http.should_exit = True
            self._thread.join(GRACE_SECONDS)
        if self._apart is not None:
            self._apart.close()
        if self._exporter is not None:
            self._exporter.close()
        if self._socket is not None:
            self._socket.close()
        until = time.monotonic() + GRACE_SECONDS
        for worker in self.workers:
            if worker.process is not None and worker.process.poll() is None:
                worker.process.terminate()
        for worker in self.workers:
            worker.stop(until)
        if self._heads is not None:
            self._heads.close()
        self.stores.stop()

    def pids(self) -> dict[str, int]:
        """Every process of this server, by name."""
        found: dict[str, int] = {} if self.is_external else {role: self.stores.pid(role) for role in ROLES}
        found |= {f"worker-{one.number}": one.process.pid for one in self.workers if one.process is not None}
        apart = () if self._apart is None else self._apart.pids()
        found |= {f"apart-{number}": pid for number, pid in enumerate(apart)}
        return found


def limits(environment: Mapping[str, str] | None = None) -> Limits:
    """The limits of HTTP as the environment has them."""
    names = ("head_seconds", "body_seconds", "idle_seconds", "write_seconds")
    counts = ("connections", "address_connections", "streams")
    given = {name: setting(f"ROOKERY_{name.upper()}", environment) for name in (*names, *counts)}
    return Limits(**given, proxies=setting("ROOKERY_TRUSTED_PROXIES", environment))


def _listening(host: str, port: int) -> Listener:
    """A socket bound to the address, so that a taken port is told before anything else begins."""
    listener: Listener | None = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = Listener(family, kind, protocol)
        listener.keep_a_spare()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        if listener is not None:
            listener.close()
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(host, port) from error
        raise BadAddress(host, port, error.strerror or str(error)) from error
    except (OverflowError, ValueError) as error:  # a name that is none, a port beyond all
        raise BadAddress(host, port, "it is no address") from error
    listener.set_inheritable(False)
    return listener


def _application(desk: Desk, streams: int, figures: Figures) -> Any:
    from api.app import create_app

    return create_app(desk, streams=streams, figures=figures)
