"""What a worker process is told by its environment.

ROOKERY_STORE   URL of the server with the record
ROOKERY_QUEUE   URL of the server with RQ's keys; the same one when it is left out
ROOKERY_RULES   the games it knows, "module:attribute" separated by commas
ROOKERY_BELLS   how many sessions may work side by side (1)
ROOKERY_LOG     what is logged: debug, info, warning, error (info)
ROOKERY_DATA    the data directory: where it remembers what it has acknowledged (nowhere)
ROOKERY_STORE_MAY  what is allowed of a store that is not durable: lags, forgets or unknown (nothing)
ROOKERY_TIED    set by a parent that holds our standard input open: end when it is closed
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping

import msgspec

from events import durability
from events.ruling import Judge

DEFAULT_RULES = "domain.thrones.ruleset:THRONES"


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

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Settings:
        """Read the variables above, and ``ROOKERY_LINGER_SECONDS`` and so on for the rest."""
        given: dict[str, object] = {}
        for field in ("linger_seconds", "longest_seconds", "lease_seconds", "watch_seconds", "sweep_seconds"):
            if f"ROOKERY_{field.upper()}" in environment:
                given[field] = float(environment[f"ROOKERY_{field.upper()}"])
        store_url = environment["ROOKERY_STORE"]
        return msgspec.convert(
            {
                "store_url": store_url,
                "queue_url": environment.get("ROOKERY_QUEUE", store_url),
                "rules": tuple(environment.get("ROOKERY_RULES", DEFAULT_RULES).split(",")),
                "bells": int(environment.get("ROOKERY_BELLS", "1")),
                "data": environment.get("ROOKERY_DATA", ""),
                "store_may": durability.allowed(environment.get(durability.SETTING, "")),
                **given,
            },
            cls,
        )

    def environment(self) -> dict[str, str]:
        """The variables that tell another process the same."""
        told = {
            "ROOKERY_STORE": self.store_url,
            "ROOKERY_QUEUE": self.queue_url,
            "ROOKERY_RULES": ",".join(self.rules),
            "ROOKERY_BELLS": str(self.bells),
            "ROOKERY_DATA": self.data,
            durability.SETTING: self.store_may,
        }
        for field in ("linger_seconds", "longest_seconds", "lease_seconds", "watch_seconds", "sweep_seconds"):
            told[f"ROOKERY_{field.upper()}"] = str(getattr(self, field))
        return told


def judges(rules: tuple[str, ...] = (DEFAULT_RULES,)) -> dict[str, Judge]:
    """The games a process knows, by the name of their rules."""
    found = {}
    for place in rules:
        module, _, attribute = place.partition(":")
        judge = Judge(getattr(importlib.import_module(module), attribute))
        found[judge.rules.name] = judge
    return found
