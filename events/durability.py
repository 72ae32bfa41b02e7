"""What an acknowledgement means on a store: asked of the servers themselves, told as data and as a sentence.

    durable   on the disk before it is acknowledged
    lags      may lose what the last moments brought, when the machine loses its power
    forgets   may lose everything, or all since the last snapshot, when the server is started again
    evicts    throws keys away while it runs
    unknown   the server does not tell (managed stores hide their settings)

The queue's server needs none of this: what it forgets is rung again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec
import redis

from events.connecting import translated
from events.errors import RecordError
from events.store import Store

Keeps = Literal["durable", "lags", "forgets", "evicts", "unknown"]
KINDS: tuple[Keeps, ...] = ("durable", "lags", "unknown", "forgets", "evicts")
"""From the best to the worst: of a cluster counts the worst of its servers."""

Allowed = Literal["", "lags", "forgets", "unknown"]
ALLOWED: tuple[Allowed, ...] = ("", "lags", "forgets", "unknown")
"""What an operator may allow besides a durable store. Eviction is never allowed."""

SETTING = "ROOKERY_STORE_MAY"

OLDEST = (6, 2)
"""The oldest server that the scripts and streams here are made for."""

_ASKED = ("appendonly", "appendfsync", "no-appendfsync-on-rewrite", "save", "min-replicas-to-write")


class Promise(msgspec.Struct, frozen=True, kw_only=True):
    """What a store promises. ``remarks`` are sentences on what else an operator should know."""

    keeps: Keeps
    sentence: str
    server: str = ""
    version: str = ""
    run: str = ""
    """The server's id for this run of it; another one means that it was started again."""
    remarks: tuple[str, ...] = ()

    @property
    def is_old(self) -> bool:
        """Whether the server is too old for this Rookery."""
        found = tuple(int(part) for part in self.version.split(".")[:2] if part.isdigit())
        return bool(found) and found < OLDEST

    def is_allowed(self, allowed: str) -> bool:
        """Whether to go on with it, where the operator has allowed what ``allowed`` names."""
        if self.keeps in ("durable", allowed):
            return True
        return self.keeps == "lags" and allowed == "forgets"


class StoreForgets(RecordError):
    """A store promises less than an acknowledgement says, and nobody has allowed that."""

    def __init__(self, promise: Promise) -> None:
        if promise.keeps == "evicts":
            help_ = "Set maxmemory-policy to noeviction there: then a full store refuses, and nothing is lost."
        elif promise.is_old:
            help_ = f"Rookery needs Valkey, or Redis {OLDEST[0]}.{OLDEST[1]} or newer."
        else:
            help_ = (
                "Set appendonly yes and appendfsync always there, or allow it with"
                f" {SETTING}={promise.keeps}: then an acknowledgement means no more than that."
            )
        super().__init__(f"{promise.sentence} {help_}")
        self.promise = promise


def check(promise: Promise, allowed: str = "") -> Promise:
    """The promise itself, where it is good enough. Raises :class:`StoreForgets`."""
    if promise.is_old or not promise.is_allowed(allowed):
        raise StoreForgets(promise)
    return promise


@translated
def ask(store: Store) -> Promise:
    """What a store promises; of a cluster, the least that one of its primaries does."""
    client = store.client
    if isinstance(client, redis.RedisCluster):
        found = [_ask(one) for one in _primaries(client)]
        worst = max(found, key=lambda one: KINDS.index(one.keeps))
        return msgspec.structs.replace(
            worst,
            sentence=f"Of {len(found)} servers of the cluster the worst counts. {worst.sentence}",
            run=" ".join(sorted(one.run for one in found)),
            remarks=tuple(dict.fromkeys(remark for one in found for remark in one.remarks)),
        )
    return _ask(client)


@translated
def run_of(store: Store) -> str:
    """The ids of this run of the store's servers: one that is started again has another. Empty: it does not tell."""
    client = store.client
    nodes = _primaries(client) if isinstance(client, redis.RedisCluster) else [client]
    try:
        return " ".join(sorted(str(node.info("server").get("run_id", "")) for node in nodes))
    except redis.exceptions.ResponseError:
        return ""


def _primaries(cluster: Any) -> list[Any]:
    return [cluster.get_redis_connection(node) for node in cluster.get_primaries()]


def _ask(client: Any) -> Promise:
    told = _told(client)
    config, hidden = _config(client)
    keeps, sentence = judge(config, told, hidden)
    return Promise(
        keeps=keeps,
        sentence=sentence,
        server="Valkey" if "valkey_version" in told else "Redis",
        version=told.get("valkey_version") or told.get("redis_version", ""),
        run=told.get("run_id", ""),
        remarks=tuple(_remarks(config, told)),
    )


def _told(client: Any) -> dict[str, str]:
    """What INFO tells, section by section: a managed store may hide one."""
    found: dict[str, str] = {}
    for section in ("server", "memory", "persistence", "replication"):
        try:
            found |= {str(name): str(value) for name, value in client.info(section).items()}
        except (redis.exceptions.ResponseError, redis.exceptions.NoPermissionError):
            continue
    return found


def _config(client: Any) -> tuple[dict[str, str], bool]:
    """The settings that count, and whether some were withheld."""
    found: dict[str, str] = {}
    for name in _ASKED:
        try:
            answer = client.config_get(name)
        except (redis.exceptions.ResponseError, redis.exceptions.NoPermissionError):
            return found, True
        found |= {str(key): str(value) for key, value in answer.items()}
    for name in ("maxmemory", "maxmemory-policy"):
        try:
            found |= {str(key): str(value) for key, value in client.config_get(name).items()}
        except (redis.exceptions.ResponseError, redis.exceptions.NoPermissionError):
            return found, True
    return found, "appendonly" not in found or "appendfsync" not in found


def judge(config: Mapping[str, str], told: Mapping[str, str], hidden: bool) -> tuple[Keeps, str]:
    """What settings promise, and the sentence that says so."""
    policy = config.get("maxmemory-policy") or told.get("maxmemory_policy", "")
    limit = config.get("maxmemory") or told.get("maxmemory", "0")
    if policy not in ("", "noeviction") and limit not in ("", "0"):
        return "evicts", (
            f"The store throws keys away when its memory is full (maxmemory-policy {policy}): games would be lost while"
            " it runs."
        )
    if hidden:
        return "unknown", (
            "The store does not tell how it keeps what it acknowledges (CONFIG is not allowed): whether an"
            " acknowledgement outlives a crash is for whoever runs it to say."
        )
    if config["appendonly"] != "yes":
        since = "everything since its last snapshot" if config.get("save") else "everything"
        return "forgets", f"The store keeps no append-only file (appendonly no): a restart loses {since}."
    if config["appendfsync"] == "everysec":
        return "lags", (
            "The store writes to the disk once a second (appendfsync everysec): a crash of the machine loses up to two"
            " seconds of what was acknowledged."
        )
    if config["appendfsync"] != "always":
        return "lags", (
            f"The store leaves it to the system when it writes to the disk (appendfsync {config['appendfsync']}): a"
            " crash of the machine loses half a minute or more of what was acknowledged."
        )
    if config.get("no-appendfsync-on-rewrite") == "yes":
        return "lags", (
            "The store does not wait for the disk while it rewrites its file (no-appendfsync-on-rewrite yes): a crash"
            " of the machine meanwhile loses what was acknowledged since."
        )
    return "durable", "What is acknowledged is on the store's disk (appendfsync always)."


def _remarks(config: Mapping[str, str], told: Mapping[str, str]) -> Iterable[str]:
    policy = config.get("maxmemory-policy") or told.get("maxmemory_policy", "")
    if policy not in ("", "noeviction") and (config.get("maxmemory") or told.get("maxmemory", "0")) in ("", "0"):
        yield f"maxmemory-policy is {policy}; as soon as a maxmemory is set there, the store throws games away."
    if told.get("role") in ("slave", "replica"):
        yield "The store is a replica: it takes nothing in."
    elif int(told.get("connected_slaves", "0") or 0) or config.get("min-replicas-to-write", "0") not in ("", "0"):
        yield "The store has replicas: when one takes over, it lacks what had not reached it yet."
    if told.get("aof_last_write_status", "ok") != "ok":
        yield "The store could not write to its disk of late: it refuses to take anything in until it can."
    if told.get("aof_last_bgrewrite_status", "ok") != "ok":
        yield "The store could not rewrite its append-only file of late; look at its disk."


def allowed(given: str) -> Allowed:
    """The value of the setting. Raises ValueError with a sentence."""
    found = next((one for one in ALLOWED if one == given.strip()), None)
    if found is None:
        known = ", ".join(one for one in ALLOWED if one)
        raise ValueError(f"{SETTING} is one of {known}, or nothing, not {given!r}")
    return found
