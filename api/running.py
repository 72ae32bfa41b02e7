"""The server of a data directory as other processes find it, and why none could be started there."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from events.embedded import EmbeddedError

SERVER_FILE = "server.json"


class PortTaken(EmbeddedError):
    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            f"Port {port} of {host} is taken by another program. Choose another with `make run PORT=8700` or"
            " `rookery up --port 8700`; 0 takes any free one."
        )


class BadAddress(EmbeddedError):
    def __init__(self, host: str, port: int, why: str) -> None:
        super().__init__(f"{host}, port {port}, cannot be listened at: {why}.")


class Running(msgspec.Struct, frozen=True):
    """A server that owns a data directory, as it says in there."""

    pid: int
    url: str


def running(directory: Path) -> Running | None:
    """The server that owns a data directory now, if one does."""
    try:
        said = msgspec.json.decode((directory / SERVER_FILE).read_bytes(), type=Running)
        owner = int((directory / "owner.lock").read_text() or 0)
    except (OSError, ValueError, msgspec.MsgspecError):
        return None
    return said if said.pid == owner and _is_alive(owner) else None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
