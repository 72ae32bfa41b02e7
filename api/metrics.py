"""Figures for Prometheus: how the server does, for its operator's eyes.

They are served at an address of their own (``ROOKERY_METRICS``), never at the one that guests come to. A label is a
word from a closed list, or the template of a route: no game, seat, player, text or secret is in any.
"""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, get_args

import msgspec
import redis
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from api.desk import Desk
from api.games.thrones.refusals import SENTENCES
from api.readiness import Limits, Readiness, readiness
from events.durability import Keeps, ask
from events.errors import RecordError
from events.health import Trouble
from events.journal import Journal
from worker.figures import BOUNDS, SETTING, Address, Figure, Figures, by_words, told
from worker.log import logger
from worker.settings import SETTINGS, BadSetting

PROBLEMS = (
    *(one for one in get_args(Trouble) if one),
    "store-full",
    "games-held",
    "rulings-late",
    "worker-silent",
    "no-worker",
    "queue-away",
)
"""Why a server is not ready. One that is missing here is told as ``other``."""

CODES = frozenset(SENTENCES) | {
    "bad-forwarded", "too-many-connections", "too-slow",
    "bad-game-id", "bad-key", "bad-parameter", "bad-request", "bad-version", "beyond-budget", "body-missing",
    "bundles-busy", "game-exists", "game-held", "game-unknown", "internal", "key-reused", "malformed-json",
    "malformed-text", "method-not-allowed", "no-key", "no-such-resource", "no-such-shared-seed", "no-such-version",
    "not-allowed", "not-begun", "not-started", "not-written-down", "over-quota", "plan-missing", "plan-out-of-date",
    "record-damaged", "rule-unknown", "ruling-broke-off", "seat-unknown", "server-full", "shared-seed-closed",
    "shared-seed-exists", "store-away", "store-refuses", "submission-unknown", "token-malformed", "token-missing",
    "token-of-another-game", "token-unknown", "too-large", "too-many-forks", "too-many-streams", "unreadable-letter",
    "wrong-media-type", "wrong-shape",
}  # fmt: skip
"""Codes of refusals and problems. One that is missing here is told as ``other``."""

BACKUPS = ("backup",)
DAMAGED = ("RecordDamaged", "KeptDamaged")
READ_SECONDS = 5.0


class _OfTheServer(Collector):
    """Everything that is asked when somebody looks."""

    def __init__(self, desk: Desk, figures: Figures, limits: Limits, version: str, journal: Journal | None) -> None:
        self.desk = desk
        self.figures = figures
        self.limits = limits
        self.version = version
        self.journal = journal

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        found = readiness(self.desk, self.limits)
        yield _labelled("rookery", "What runs", ("version", "engine"), {(self.version, found.engine): 1}, kind="info")
        yield from _of_readiness(found)
        yield from self._of_store(found)
        yield from self._of_workers()
        yield from _of_http(self.figures.counted())
        yield from self._of_backups()

    def _of_store(self, found: Readiness) -> Iterator[Metric]:
        trouble = self.desk.store.health.trouble()
        yield GaugeMetricFamily("rookery_store_up", "Whether the store answers", float(trouble != "store-away"))
        yield GaugeMetricFamily("rookery_store_script_ok", "Whether the store runs a script", float(not trouble))
        if self.desk.room is not None:
            level = self.desk.room.level()
            yield from _known("rookery_store_memory_bytes", "Memory that the store uses", level.used_bytes)
            yield from _known("rookery_store_memory_limit_bytes", "Memory that it may use", level.most_bytes)
            yield from _known("rookery_disk_free_bytes", "Room on the embedded store's disk", level.free_disk_bytes)
        if trouble == "store-away":
            return
        with suppress(RecordError):
            keeps: Keeps = ask(self.desk.store).keeps
            yield _one_of("rookery_store_keeps", "What an acknowledgement means", "promise", get_args(Keeps), (keeps,))
        with suppress(RecordError):
            parked = self.desk.store.why_parked()
            yield GaugeMetricFamily("rookery_parked_games", "Games that wait for the operator", len(parked))
            damaged = sum(one.error in DAMAGED for one in parked)
            yield GaugeMetricFamily("rookery_damaged_games", "Of these, games with a damaged record", damaged)
            yield GaugeMetricFamily("rookery_games", "Games in the store", len(self.desk.store.games()))

    def _of_workers(self) -> Iterator[Metric]:
        bell = self.desk.bell
        if bell is None:
            return
        try:
            found = told(bell.client)
        except (redis.exceptions.RedisError, OSError):
            return
        rulings = by_words(found, "rulings")
        yield _labelled("rookery_rulings", "Submissions ruled on", ("cause", "verdict"), rulings)
        refusals = by_words(found, "refusals", CODES)
        yield _labelled(
            "rookery_refusals", "Rulings that refuse, by the code that everybody may read", ("code",), refusals
        )
        yield _waited(found)

    def _of_backups(self) -> Iterator[Metric]:
        if self.journal is None:
            return
        with suppress(OSError, ValueError, msgspec.MsgspecError):
            made = [note.at for note in self.journal.notes() if note.what in BACKUPS]
            if made:
                yield GaugeMetricFamily(
                    "rookery_last_backup_timestamp_seconds",
                    "When the last backup was made",
                    datetime.fromisoformat(made[-1]).timestamp(),
                )


def _of_readiness(found: Readiness) -> Iterator[Metric]:
    yield GaugeMetricFamily("rookery_ready", "Whether everything works", float(found.status == "ready"))
    there = tuple(one if one in PROBLEMS else "other" for one in found.problems)
    yield _one_of("rookery_problem", "Why not", "code", (*PROBLEMS, "other"), there)
    yield from _known("rookery_workers_alive", "Workers heard of lately", found.workers)
    yield from _known(
        "rookery_worker_silent_seconds", "For how long the liveliest is silent", found.worker_silent_seconds
    )
    yield from _known("rookery_waiting_games", "Games with submissions without a ruling", found.waiting_games)
    yield from _known("rookery_oldest_waiting_seconds", "For how long the oldest waits", found.oldest_waiting_seconds)
    yield from _known("rookery_trial_games", "Games that have ended whoever worked at them", found.games_on_trial)
    yield from _known(
        "rookery_waiting_for_engine_games", "Games that wait for a worker of another engine", found.waiting_for_engine
    )
    yield from _known("rookery_held_games", "Games that lost something acknowledged", found.held_games)


def _of_http(found: Mapping[Figure, float]) -> Iterator[Metric]:
    requests = by_words(found, "requests")
    yield _labelled("rookery_http_requests", "Answers to requests", ("method", "route", "status"), requests)
    problems = by_words(found, "problems", CODES)
    yield _labelled("rookery_http_problems", "Problem documents that were sent", ("code",), problems)
    submissions = by_words(found, "submissions", CODES | {"accepted"})
    yield _labelled("rookery_submissions", "Commands that came in over HTTP", ("outcome",), submissions)
    yield GaugeMetricFamily("rookery_event_streams", "Event streams that are open", found.get(("streams",), 0))
    restarts = by_words(found, "restarts", ("worker", "store", "queue"))
    yield _labelled("rookery_restarts", "Processes that were started again", ("process",), restarts)


def _waited(found: Mapping[Figure, float]) -> Metric:
    buckets: list[tuple[str, float]] = []
    sum_of = 0.0
    for place, bound in enumerate(BOUNDS):
        sum_of += found.get((f"waited-{place}",), 0)
        buckets.append((str(bound), sum_of))
    buckets.append(("+Inf", found.get(("waited-count",), 0)))
    return HistogramMetricFamily(
        "rookery_accept_to_ruling_seconds",
        "From acceptance to ruling",
        buckets=buckets,
        sum_value=found.get(("waited-sum",), 0),
    )


def _labelled(name: str, says: str, labels: tuple[str, ...], found: Mapping[Figure, float], kind: str = "") -> Metric:
    family: Any = (
        GaugeMetricFamily(f"{name}_info", says, labels=labels)
        if kind == "info"
        else CounterMetricFamily(name, says, labels=labels)
    )
    for words, value in sorted(found.items()):
        if len(words) == len(labels):  # what stands at the queue's server need not be ours
            family.add_metric(words, value)
    return family  # type: ignore[no-any-return]  # one of two families


def _one_of(name: str, says: str, label: str, possible: Iterable[str], there: tuple[str, ...]) -> Metric:
    """A figure for each word of a closed list: 1 for those that hold."""
    family = GaugeMetricFamily(name, says, labels=(label,))
    for one in possible:
        family.add_metric((one,), float(one in there))
    return family


def _known(name: str, says: str, value: float | None) -> Iterator[Metric]:
    if value is not None:
        yield GaugeMetricFamily(name, says, value)


class Exporter:
    """Answers GET /metrics at an address of its own, in threads, until it is closed."""

    def __init__(
        self,
        where: Address,
        desk: Desk,
        figures: Figures,
        *,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        version: str = "",
        journal: Journal | None = None,
    ) -> None:
        """Raises BadSetting when the address cannot be used."""
        registry = CollectorRegistry()
        registry.register(_OfTheServer(desk, figures, limits, version, journal))
        lock = threading.Lock()

        def page() -> bytes:
            with lock:  # whoever asks twice at once waits: a look asks the store
                return generate_latest(registry)

        self._path = Path(where.path) if where.path else None
        try:
            self._server = _unix(where.path, _handler(page)) if where.path else _tcp(where, _handler(page))
        except OSError as error:
            said = where.path or f"{where.host}:{where.port}"
            raise BadSetting(SETTINGS[SETTING], said, error.strerror or str(error)) from error
        host = f"[{where.host}]" if ":" in where.host else where.host
        self.url = f"unix:{self._path}" if self._path else f"http://{host}:{self._server.server_port}/metrics"
        self._thread = threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)
        if self._path is not None:
            self._path.unlink(missing_ok=True)


class _Quiet(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever asks goes away in the middle, or a mistake of ours: told by its type alone, never by its text."""
        error = sys.exception()
        if not isinstance(error, OSError):
            logger().error("figures-failed", error=type(error).__name__)


class _Unix(_Quiet):
    address_family = socket.AF_UNIX

    def server_bind(self) -> None:
        self.socket.bind(self.server_address)
        self.server_name, self.server_port = "localhost", 0


class _Six(_Quiet):
    address_family = socket.AF_INET6


def _tcp(where: Address, handler: type[BaseHTTPRequestHandler]) -> ThreadingHTTPServer:
    kind = _Six if ":" in where.host else _Quiet
    return kind((where.host, where.port), handler)


def _unix(path: str, handler: type[BaseHTTPRequestHandler]) -> ThreadingHTTPServer:
    """A socket for the server's own user and group; one that a killed server has left is taken away."""
    if Path(path).is_socket():
        Path(path).unlink()
    server = _Unix(path, handler)  # type: ignore[arg-type]  # of a unix socket the address is a path
    Path(path).chmod(0o660)
    return server


def _handler(page: Callable[[], bytes]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = READ_SECONDS
        server_version, sys_version = "rookery", ""

        def do_GET(self) -> None:
            found = self.path.partition("?")[0] == "/metrics"
            body = page() if found else b"Figures are at /metrics.\n"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", CONTENT_TYPE_LATEST if found else "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """A look at figures is no news."""

    return Handler
