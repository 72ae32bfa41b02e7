"""Every setting that comes from the environment: one table, read in one place.

A value that cannot be used ends a command before it has done anything, in a sentence with the variable, the value
(unless it may hold a secret) and what is possible.
"""

from __future__ import annotations

import difflib
import importlib
import ipaddress
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from events import durability
from events.connecting import check_url
from events.limits import Quotas
from events.recipients import BadKey, recipient
from events.ruling import Judge
from worker import figures

DEFAULT_RULES = "domain.thrones.ruleset:THRONES"


LEVELS = ("debug", "info", "warning", "error", "critical")


class Setting(msgspec.Struct, frozen=True):
    """A variable of the environment. ``read`` raises ValueError for what it cannot take."""

    name: str
    default: str
    read: Callable[[str], Any]
    possible: str
    says: str
    is_secret: bool = False


class BadSetting(ValueError):
    """A variable with a value that cannot be used. The text is a sentence for the operator."""

    def __init__(self, setting: Setting, value: str, why: str = "") -> None:
        said = "has a value" if setting.is_secret else f"is {value[:80]!r}, a value"
        super().__init__(
            f"{setting.name} {said} that cannot be used: {why.rstrip('.') or f'it takes {setting.possible}'}."
        )


def _variable(field: str) -> str:
    return f"ROOKERY_{field.upper()}"


def _number(least: int, most: int) -> tuple[Callable[[str], int], str]:
    def read(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,15}", text) or not least <= int(text) <= most:
            raise ValueError
        return int(text)

    return read, f"a whole number from {least} to {most}"


def _seconds(least: float, most: float) -> tuple[Callable[[str], float], str]:
    def read(text: str) -> float:
        if not re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,15})?", text):
            raise ValueError
        value = float(text)
        if not least <= value <= most:
            raise ValueError
        return value

    return read, f"seconds from {least:g} to {most:g}"


LEAST_MEMORY_MB = 256
"""With less not even an idle worker comes about."""


def _memory(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text) or 0 < int(text) < LEAST_MEMORY_MB:
        raise ValueError
    return int(text)


def _level(text: str) -> str:
    if text.lower() not in LEVELS:
        raise ValueError
    return text.lower()


def _url(text: str) -> str:
    if text:
        check_url(text)
    return text


def _recipient(text: str) -> str:
    """The text as it is, once it is known to name a key that can be encrypted to."""
    try:
        recipient(text)
    except BadKey as error:
        raise ValueError from error
    return text


def _rules(text: str) -> tuple[str, ...]:
    places = tuple(text.split(","))
    if not all(re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", place) for place in places):
        raise ValueError
    return places


def _networks(text: str) -> tuple[Any, ...]:
    return tuple(ipaddress.ip_network(one.strip()) for one in text.split(",") if one.strip())


_URL = "a URL such as redis://host:6379, rediss://, unix:///path or cluster://host:6379"

SETTINGS: dict[str, Setting] = {
    one.name: one
    for one in (
        Setting("ROOKERY_DATA", "", str, "a path", "the data directory; empty: ~/.local/share/rookery"),
        Setting("ROOKERY_STORE", "", _url, _URL, "the server with the record; empty: an embedded one", is_secret=True),
        Setting(
            "ROOKERY_QUEUE", "", _url, _URL, "the server with the queue; empty: that of the record", is_secret=True
        ),
        Setting(
            durability.SETTING,
            "",
            durability.allowed,
            "lags, forgets or unknown",
            "what a store may be that is not durable",
        ),
        Setting("ROOKERY_RULES", DEFAULT_RULES, _rules, "module:attribute, more of them with commas", "games it knows"),
        Setting("ROOKERY_LOG", "", _level, ", ".join(LEVELS), "what is logged; up: warning, worker: info, else error"),
        Setting(
            "ROOKERY_BACKUP_TO",
            "",
            _recipient,
            "a public key that begins with age1, or a file with one",
            "whom backups are encrypted to",
            is_secret=True,  # who sets it to his private key by mistake does not find that in a log
        ),
        Setting("ROOKERY_DEBUG", "", str, "anything", "show where in the program a mistake of ours is"),
        Setting(
            "ROOKERY_TIED", "", str, "anything", "set by a parent that holds standard input: end when it is closed"
        ),
        Setting("ROOKERY_BELLS", "1", *_number(1, 64), "sessions that may work side by side"),
        Setting("ROOKERY_FORKS", "20", *_number(0, 999_999_999), "forks of a game that a seat may make"),
        Setting("ROOKERY_LINGER_SECONDS", "5", *_seconds(0, 3600), "how long a session waits for more work"),
        Setting("ROOKERY_LONGEST_SECONDS", "60", *_seconds(0.1, 86_400), "after which a session hands over"),
        Setting("ROOKERY_LEASE_SECONDS", "10", *_seconds(0.1, 3600), "how long a game is its worker's without a sign"),
        Setting("ROOKERY_WATCH_SECONDS", "10", *_seconds(0.1, 3600), "after which a bell without a session rings anew"),
        Setting("ROOKERY_SWEEP_SECONDS", "5", *_seconds(0.1, 3600), "between looks for what a crash left behind"),
        Setting("ROOKERY_RULING_SECONDS", "10", *_seconds(0, 3600), "of processor time for one ruling, 0 for any"),
        Setting(
            "ROOKERY_WORKER_MEMORY_MB",
            "1024",
            _memory,
            f"0 or a number of MiB from {LEAST_MEMORY_MB} on",
            "data of a process that rules, 0 for any",
        ),
        Setting("ROOKERY_HEAD_SECONDS", "10", *_seconds(0.1, 3600), "for the head of a request, from its first byte"),
        Setting("ROOKERY_BODY_SECONDS", "30", *_seconds(0.1, 3600), "for a body that comes slower than 1 kB/s"),
        Setting("ROOKERY_IDLE_SECONDS", "5", *_seconds(0.1, 3600), "for a connection between requests"),
        Setting("ROOKERY_WRITE_SECONDS", "30", *_seconds(0.1, 3600), "for a client that takes less than 1 kB/s"),
        Setting("ROOKERY_CONNECTIONS", "1000", *_number(16, 60_000), "connections at once, as descriptors allow"),
        Setting("ROOKERY_ADDRESS_CONNECTIONS", "100", *_number(1, 60_000), "of these from an address, or IPv6 /64"),
        Setting("ROOKERY_STREAMS", "16", *_number(0, 60_000), "event streams of a token, or of an address without"),
        Setting(
            "ROOKERY_TRUSTED_PROXIES",
            "",
            _networks,
            "addresses or networks such as 127.0.0.1,10.0.0.0/8",
            "proxies whose X-Forwarded-For is believed",
        ),
        Setting(
            figures.SETTING,
            "",
            figures.address,
            figures.POSSIBLE,
            "where figures for Prometheus are told; empty: nowhere",
        ),
    )
}
SETTINGS |= {
    _variable(field): Setting(
        _variable(field), str(default), *_number(0, 10**15 - 1), "a quota, 0 for none; docs/limits.md tells of it"
    )
    for field, default in msgspec.to_builtins(Quotas()).items()
}


def setting(name: str, environment: Mapping[str, str] | None = None) -> Any:
    """The value of a variable, or its default. Raises BadSetting. An empty variable is one that is not set."""
    declared = SETTINGS[name]
    given = ((os.environ if environment is None else environment).get(name) or "").strip()
    if not given and not declared.default:
        return declared.read("") if declared.read in (_url, _networks, str, figures.address) else ""
    try:
        return declared.read(given or declared.default)
    except ValueError as error:
        why = str(error) if declared.read is _url else ""
        raise BadSetting(declared, given, why) from None


ELSEWHERE = tuple(map(_variable, ("site", "upstream", "kills", "kills_seed", "reference", "tests")))
"""Variables of the same prefix that others read: the proxy in front, and the tests."""


class UnknownSetting(BadSetting):
    """A variable that looks like a setting and is none: most likely misspelt, so what was meant would not be done."""

    def __init__(self, name: str) -> None:
        near = difflib.get_close_matches(name, SETTINGS, 1)
        meant = f" Do you mean {near[0]}?" if near else " docs/settings.md lists all."
        ValueError.__init__(self, f"There is no setting {name[:80]}.{meant}")


def check(environment: Mapping[str, str] | None = None) -> None:
    """Raise BadSetting for the first variable that cannot be used, or that begins like a setting and is none."""
    for name in sorted(os.environ if environment is None else environment):
        if name.startswith("ROOKERY_") and name not in SETTINGS and name not in ELSEWHERE:
            raise UnknownSetting(name)
    for name in SETTINGS:
        setting(name, environment)


def quotas(environment: Mapping[str, str] | None = None) -> Quotas:
    """What guests may fill. Raises BadSetting."""
    return Quotas(**{field: setting(_variable(field), environment) for field in Quotas.__struct_fields__})


_SECONDS = ("linger_seconds", "longest_seconds", "lease_seconds", "watch_seconds", "sweep_seconds", "ruling_seconds")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    store_url: str
    queue_url: str
    rules: tuple[str, ...] = (DEFAULT_RULES,)
    bells: int = 1
    data: str = ""
    store_may: durability.Allowed = ""
    linger_seconds: float = 5.0
    longest_seconds: float = 60.0
    lease_seconds: float = 10.0
    watch_seconds: float = 10.0
    sweep_seconds: float = 5.0
    ruling_seconds: float = 10.0
    worker_memory_mb: int = 1024

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Settings:
        """What a worker is told. Raises BadSetting."""
        store_url = setting("ROOKERY_STORE", environment)
        if not store_url:
            raise BadSetting(SETTINGS["ROOKERY_STORE"], "", "a worker needs a store, by its URL")
        return cls(
            store_url=store_url,
            queue_url=setting("ROOKERY_QUEUE", environment) or store_url,
            rules=setting("ROOKERY_RULES", environment),
            data=setting("ROOKERY_DATA", environment),
            store_may=setting(durability.SETTING, environment),
            bells=setting("ROOKERY_BELLS", environment),
            worker_memory_mb=setting("ROOKERY_WORKER_MEMORY_MB", environment),
            **{field: setting(_variable(field), environment) for field in _SECONDS},
        )

    def environment(self) -> dict[str, str]:
        """The variables that tell another process the same."""
        told = {
            "ROOKERY_STORE": self.store_url,
            "ROOKERY_QUEUE": self.queue_url,
            "ROOKERY_RULES": ",".join(self.rules),
            "ROOKERY_BELLS": str(self.bells),
            "ROOKERY_DATA": self.data,
            "ROOKERY_WORKER_MEMORY_MB": str(self.worker_memory_mb),
            durability.SETTING: self.store_may,
        }
        for field in _SECONDS:
            told[_variable(field)] = str(getattr(self, field))
        return told


def judges(rules: tuple[str, ...] = (DEFAULT_RULES,)) -> dict[str, Judge]:
    """The games a process knows, by the name of their rules. Raises BadSetting for what cannot be imported."""
    found = {}
    for place in rules:
        module, _, attribute = place.partition(":")
        try:
            judge = Judge(getattr(importlib.import_module(module), attribute))
        except (ImportError, AttributeError) as error:
            raise BadSetting(SETTINGS["ROOKERY_RULES"], place, f"there is nothing to import at {place[:80]}") from error
        found[judge.rules.name] = judge
    return found
