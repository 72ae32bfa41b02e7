"""The toy, with commands that kill or hold up whoever rules on them."""

from __future__ import annotations

import ctypes
import os
import time
from typing import Any, Literal

from domain.kernel.arbiter import Past
from domain.kernel.commands import Command
from domain.kernel.ruleset import Ruling
from tests import toy

How = Literal["loops", "power", "eats", "bytes", "ends", "recurses", "falls", "sleeps"]


class Poison(Command, frozen=True, tag="poison"):
    how: How


def take(how: How) -> None:
    """Do the harm. None of it asks whether it may go on."""
    match how:
        case "loops":
            while True:
                pass
        case "power":  # one step of the interpreter, which no signal handler and no thread interrupts
            print(7 ** (1 << 40))
        case "eats":
            kept: list[bytes] = []
            while True:
                kept.append(bytes(1 << 26))
        case "bytes":
            print(len(b"x" * (1 << 45)))
        case "ends":
            os._exit(0)
        case "recurses":
            take(how)
        case "falls":
            ctypes.string_at(0)
        case "sleeps":
            time.sleep(3600)


class PoisonRules(toy.ToyRules):
    command_type: Any = toy.ToyCommand | Poison

    def decide(self, state: toy.ToyState, command: Any, past: Past | None = None, at: str = "") -> Ruling[Any]:
        if isinstance(command, Poison):
            take(command.how)
        return super().decide(state, command, past, at)


RULES = PoisonRules()
