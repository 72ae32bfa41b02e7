"""What a doctor looks at: everything that a server of Rookery needs and that an operator can put right.

Each check tells one sentence. A *problem* loses something or stops somebody, a *warning* will some day; *unknown* is
what could not be asked.
"""

from __future__ import annotations

import resource
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
import redis

from api.tokens import OPERATOR_FILE, operator_token
from domain.kernel.printing import counted
from events import heads, journal
from events.durability import OLDEST, ask, check
from events.errors import KeptDamaged, RecordDamaged, RecordError, StoreAway
from events.losses import compare, held, held_one
from events.notes import KEY_FILE, Signer
from events.store import Parked, Store, awaited
from worker.pulse import feel

Level = Literal["ok", "warning", "problem", "unknown"]

SECRET_FILES = (OPERATOR_FILE, KEY_FILE, heads.FILE, journal.FILE, "backup.key")
SECRET_FILES_OF_SERVERS = ("valkey.conf", "address.json")
LEAST_FREE_BYTES = 64 << 20
SPARE_BYTES = 256 << 20
LEAST_DESCRIPTORS = 4096
CLOCK_WARNING_SECONDS, CLOCK_PROBLEM_SECONDS = 2.0, 60.0
SILENT_SECONDS = 30.0

# Whether the store runs scripts and lets them write: a full disk shows here first.
_TRY = "redis.call('SET', KEYS[1], '1', 'PX', 1000) return redis.call('DEL', KEYS[1])"


class Check(msgspec.Struct, frozen=True):
    """What one look found."""

    name: str
    level: Level
    says: str


def of_directory(directory: Path) -> Iterator[Check]:
    """The data directory: that it is there, who may read it, and how much room is left."""
    if not directory.is_dir():
        yield Check("directory", "problem", f"There is no data directory {directory}.")
        return
    mode = directory.stat().st_mode & 0o777
    if mode & 0o077:
        yield Check(
            "directory", "problem", f"{directory} is open to other users (mode {mode:o}). Run: chmod 700 {directory}"
        )
    else:
        yield Check("directory", "ok", f"{directory} is readable by its user only.")
    yield from _modes(directory)
    yield from _kept(directory)
    yield _room(directory)


def _modes(directory: Path) -> Iterator[Check]:
    places = [directory / name for name in SECRET_FILES]
    places += [directory / role / name for role in ("store", "queue") for name in SECRET_FILES_OF_SERVERS]
    open_ones = [path for path in places if path.exists() and path.stat().st_mode & 0o077]
    for path in open_ones:
        yield Check("keys", "problem", f"{path} is readable by other users. Run: chmod 600 {path}")
    if not open_ones:
        yield Check("keys", "ok", "Keys and tokens are readable by their user only.")


def _kept(directory: Path) -> Iterator[Check]:
    """Whether what the server needs of its directory at its start can be read."""
    try:
        if (directory / KEY_FILE).exists():
            Signer.of_directory(directory)
    except RecordError as error:
        yield Check("keys", "problem", str(error))
    try:
        if (directory / OPERATOR_FILE).exists() and not operator_token(directory):
            yield Check("keys", "problem", f"The operator's token {directory / OPERATOR_FILE} is empty.")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", "") or "it is not text"
        yield Check("keys", "problem", f"The operator's token {directory / OPERATOR_FILE} cannot be read: {why}.")


def _room(directory: Path) -> Check:
    """Rewriting the append-only file takes as much room again as it has."""
    free = shutil.disk_usage(directory).free
    store = sum(path.stat().st_size for path in (directory / "store").rglob("*") if path.is_file())
    said = f"{_size(free)} are free where {directory} lies, and the store has {_size(store)}."
    if free < LEAST_FREE_BYTES:
        return Check("disk", "problem", f"{said} It will soon take nothing more in.")
    if free < store + SPARE_BYTES:
        return Check("disk", "warning", f"{said} It needs as much again to tidy its file up.")
    return Check("disk", "ok", said)


def _size(count: int) -> str:
    return f"{count / (1 << 30):.1f} GiB" if count >= 1 << 30 else f"{count / (1 << 20):.0f} MiB"


def of_store(store: Store, allowed: str) -> Iterator[Check]:
    """What the store promises, whether it works, and what it has lost."""
    try:
        promise = ask(store)
        try:
            check(promise, allowed)
            level: Level = "ok" if promise.keeps == "durable" else "warning"
            yield Check("promise", level, promise.sentence)
        except RecordError as error:
            yield Check("promise", "problem", str(error))
        said = f"The store is {promise.server} {promise.version}"
        if promise.is_old:
            yield Check("version", "problem", f"{said}; it must be {OLDEST[0]}.{OLDEST[1]} or newer.")
        else:
            yield Check("version", "ok", f"{said}.")
        for remark in promise.remarks:
            yield Check("store", "warning", remark)
        yield from _tried(store.client)
        yield from of_games(store)
    except StoreAway as error:
        yield Check("store", "problem", str(error))


def _tried(client: Any) -> Iterator[Check]:
    try:
        client.eval(_TRY, 1, "rookery:doctor")
        yield Check("scripts", "ok", "The store runs scripts and lets them write.")
    except redis.exceptions.RedisError as error:
        yield Check("scripts", "problem", f"The store does not do what it is asked: {error}.")
    for name, look in (("clock", _clock), ("memory", _memory), ("connections", _connections)):
        try:
            yield look(client)
        except (redis.exceptions.RedisError, KeyError, TypeError, ValueError):
            yield Check(name, "unknown", f"The store does not tell about its {name}.")


def _clock(client: Any) -> Check:
    before = time.time()
    seconds, micros = client.time()
    apart = abs(seconds + micros / 1e6 - (before + time.time()) / 2)
    said = f"The clocks of the store and of this machine are {apart:.1f} s apart."
    if apart > CLOCK_PROBLEM_SECONDS:
        return Check("clock", "problem", f"{said} Times on the record would be wrong; set them by NTP.")
    return Check("clock", "warning" if apart > CLOCK_WARNING_SECONDS else "ok", said)


def _memory(client: Any) -> Check:
    told = client.info("memory")
    used, most = int(told["used_memory"]), int(told.get("maxmemory", 0))
    if not most:
        return Check("memory", "ok", f"The store uses {_size(used)} of memory; no limit is set.")
    said = f"The store uses {_size(used)} of {_size(most)} of memory."
    if used > most * 0.95:
        return Check("memory", "problem", f"{said} Soon it refuses everything.")
    return Check("memory", "warning" if used > most * 0.8 else "ok", said)


def _connections(client: Any) -> Check:
    told = client.info("clients")
    now, most = int(told["connected_clients"]), int(told["maxclients"])
    return Check(
        "connections",
        "warning" if now > most * 0.8 else "ok",
        f"The store has {now} of {counted(most, 'connection')} in use.",
    )


def of_games(store: Store) -> Iterator[Check]:
    """Which games wait for their operator, and why."""
    games, lost = store.games(), held(store)
    for game in sorted({*games, *lost}):
        try:
            loss = lost.get(game) or held_one(store, game)
            parked = store.record(game).parked if loss is None else None
        except RecordDamaged as damage:
            yield Check("games", "problem", f"Game {game} is damaged. {damage} Nothing is ruled on there.")
            continue
        if loss is not None:
            yield Check(
                "lost",
                "problem",
                f"{loss.sentence} It is held. Put it back from a backup, or go on without:"
                f" rookery accept-loss {loss.game} --why …",
            )
        elif parked is not None:
            yield Check("games", "problem", f"Game {game} {_why(parked)} Nothing is ruled on there.")
    for game in store.waiting_for_engines():
        waits = store.waits(game)
        if waits is not None:
            yield Check("engines", "warning", f"Game {game} waits for {awaited(waits.engine)}.")
    yield Check("games", "ok", f"{counted(len(games), 'game')} in the store.")


def _why(parked: Parked) -> str:
    if parked.error == KeptDamaged.__name__:
        return f"is damaged. {KeptDamaged(parked.where)}"
    if parked.error == RecordDamaged.__name__:
        return f"is damaged. {parked.where.removesuffix('.')}."
    since = f" since {parked.at}" if parked.at else ""
    return f"is parked{since}: {parked.error} at {parked.where}."


def of_heads(directory: Path, store: Store, url: str) -> Iterator[Check]:
    """Whether what was acknowledged is remembered here, and still there."""
    file = heads.File(directory)
    name = heads.name_of_store(url, directory)
    try:
        known = file.read(name)
        others = [other for other in file.stores() if other != name]
    except RecordError as error:
        yield Check("heads", "problem", str(error))
        return
    for loss in compare(store, known):
        if held_one(store, loss.game) is None:
            yield Check("lost", "problem", loss.sentence)
    yield Check("heads", "ok", f"The last acknowledgements of {counted(len(known), 'game')} are remembered here.")
    for other in others:
        yield Check("heads", "warning", f"Acknowledgements of another store ({other}) are remembered here, too.")


def of_queue(connected: Callable[[], Any], *, is_served: bool) -> Iterator[Check]:
    """Whether the queue's server answers, and whether anybody works."""
    try:
        pulse = feel(connected())
    except (redis.exceptions.RedisError, OSError) as error:
        yield Check("queue", "problem", f"The queue's server does not answer: {error}.")
        return
    yield Check("queue", "ok", "The queue's server answers.")
    living = pulse.living(SILENT_SECONDS)
    if living:
        yield Check("workers", "ok", f"{counted(living, 'worker is', 'workers are')} alive.")
    elif is_served:
        yield Check("workers", "problem", "No worker gives a sign of life: nothing is ruled on.")
    else:
        yield Check("workers", "warning", "No server runs here now, so nothing is ruled on.")


def of_process() -> Iterator[Check]:
    """The limits of this machine."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    said = f"A process may have {soft} files and connections open here ({hard} if it asks)."
    few = hard != resource.RLIM_INFINITY and hard < LEAST_DESCRIPTORS
    yield Check("descriptors", "warning" if few else "ok", said)
