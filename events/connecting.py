"""Reaching a server or a cluster: what its URL may say, a client made of it, and its errors in our words."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

import redis
from redis.backoff import ExponentialBackoff
from redis.retry import Retry

from events.errors import KeptDamaged, StoreAway, StoreRefuses

P = ParamSpec("P")
R = TypeVar("R")

ANSWER_SECONDS = 10.0
"""How long a server may take for an answer, and so twice the longest that a blocking call may wait."""

PROBE_SECONDS = 2.0
"""How long a server may take to show that it is well."""

STORE_SCHEMES = "redis://, rediss://, unix:// or cluster://"
_WORDS = {
    "db": r"\d{1,5}",
    "username": r".+",
    "password": r".+",
    "client_name": r"[!-~]+",
    "ssl_cert_reqs": r"none|optional|required",
    "ssl_check_hostname": r"(?i:true|false|yes|no|0|1)",
    "ssl_ca_certs": r".+",
    "ssl_certfile": r".+",
    "ssl_keyfile": r".+",
}
"""What may stand behind the question mark of a store's URL, and how it looks."""
_FILES = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")


class BadStoreUrl(ValueError):
    """A URL that names no store. The text tells what is wrong with it and never the URL, which may hold a password."""


def check_url(url: str) -> None:
    """Raise :class:`BadStoreUrl` unless a client can be made of a URL. Nothing is sent."""
    scheme, mark, rest = url.partition("://")
    if not mark or f"{scheme}://" not in re.split(r", | or ", STORE_SCHEMES):
        raise BadStoreUrl(f"This is not the URL of a store: one begins with {STORE_SCHEMES}.")
    if not url.isprintable() or " " in url:
        raise BadStoreUrl("The URL of a store holds a space or a control character; write it as %20 and so on.")
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
        (host or "").encode("idna")
    except ValueError as error:
        raise BadStoreUrl("The URL of a store has a host or a port that cannot be read.") from error
    if parts.fragment or "#" in rest:
        raise BadStoreUrl("The URL of a store holds a #; in a password it is written %23.")
    _check_place(scheme, host, port, parts.path)
    if re.search(r"%(?![0-9A-Fa-f]{2})", rest):
        raise BadStoreUrl("The URL of a store holds a % that begins no %XX; in a password it is written %25.")
    try:
        unquote(rest, errors="strict")
    except UnicodeDecodeError as error:
        raise BadStoreUrl("The URL of a store has %XX that are no UTF-8.") from error
    words = [one for one in _WORDS if scheme == "rediss" or not one.startswith("ssl")]
    if scheme == "cluster":
        words.remove("db")
    seen = set()
    for word, value in parse_qsl(parts.query, keep_blank_values=True):
        if word not in words:
            raise BadStoreUrl(
                f"The URL of a store knows no {word[:40]!r}; behind the ? of this one may stand {', '.join(words)}."
            )
        if word in seen:
            raise BadStoreUrl(f"The URL of a store says {word!r} twice.")
        seen.add(word)
        if not re.fullmatch(_WORDS[word], value):
            raise BadStoreUrl(f"The URL of a store has a value of {word!r} that cannot be used.")
        if word in _FILES and not os.access(value, os.R_OK):
            raise BadStoreUrl(f"The URL of a store names a file in {word!r} that cannot be read.")


def _check_place(scheme: str, host: str | None, port: int | None, path: str) -> None:
    if scheme == "unix":
        if host or not path.strip("/"):
            raise BadStoreUrl("A unix:// URL names the path of a socket: unix:///run/valkey.sock.")
        return
    if not host:
        raise BadStoreUrl(f"The URL of a store names a host: {scheme}://host:6379.")
    if port == 0:
        raise BadStoreUrl("The URL of a store has port 0, where nobody listens.")
    if not re.fullmatch(r"/?(\d{1,5})?", path):
        raise BadStoreUrl("Behind the host of a store's URL stands the number of a database, or nothing.")
    if scheme == "cluster" and path.strip("/0"):
        raise BadStoreUrl("A cluster has database 0 only.")


def connect(url: str, *, patience_seconds: float = 2.0, answer_seconds: float | None = None) -> Any:
    """A client for a server by URL: redis://, rediss://, unix://, or cluster://host:port for a cluster.

    A call on a connection that broke is made again; one that a hanging server does not answer is not, since the next
    would hang as long. Whether it was done is not known then, so whoever asked repeats it under the same key.
    """
    check_url(url)
    patience = ANSWER_SECONDS if answer_seconds is None else answer_seconds
    options: dict[str, Any] = {"protocol": 2, "socket_timeout": patience, "socket_connect_timeout": min(5, patience)}
    if url.startswith("cluster://"):
        try:
            return redis.RedisCluster.from_url("redis://" + url.removeprefix("cluster://"), **options)
        except redis.exceptions.RedisClusterException as error:
            raise StoreAway("no node of the cluster does") from error
    tries = max(1, int(patience_seconds / 0.1))
    if url.startswith("unix://"):
        options.pop("socket_connect_timeout")
    again = (redis.exceptions.ConnectionError, redis.exceptions.BusyLoadingError)
    return redis.Redis.from_url(
        url,
        retry=Retry(ExponentialBackoff(cap=0.1, base=0.01), tries, supported_errors=again),
        **options,
    )


def translated(method: Callable[P, R]) -> Callable[P, R]:
    """Turn the client's exceptions into ours."""

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except redis.exceptions.TimeoutError as error:
            raise StoreAway(f"nothing came back in {ANSWER_SECONDS:g} seconds, and what it did is not known") from error
        except (redis.exceptions.ConnectionError, redis.exceptions.RedisClusterException, OSError) as error:
            raise StoreAway(str(error)) from error
        except redis.exceptions.RedisError as error:
            raise StoreRefuses(str(error)) from error

    return call


@contextmanager
def of_kind(what: str) -> Iterator[None]:
    """Around calls for something of a game: a key of another kind in its place is damage of this game alone."""
    try:
        yield
    except redis.exceptions.ResponseError as error:
        if "WRONGTYPE" in str(error):
            raise KeptDamaged(what) from error
        raise
