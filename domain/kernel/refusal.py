"""Why a command is not carried out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class Refusal(Exception):
    """A well-formed command that the rules do not allow now.

    ``code`` is a stable word for programs, ``rules`` are the identifiers that are broken,
    ``params`` hold what the reader needs to do better (plain JSON values). ``unknown``
    marks a command that names something which does not exist at all.
    A refused command leaves no trace in the state.
    """

    def __init__(self, code: str, rules: Iterable[str] = (), *, unknown: bool = False, **params: Any) -> None:
        super().__init__(code)
        self.code = code
        self.rules = tuple(rules)
        self.params = params
        self.unknown = unknown

    def __str__(self) -> str:
        details = ", ".join(f"{key}: {value}" for key, value in self.params.items())
        cited = f" [{', '.join(self.rules)}]" if self.rules else ""
        return f"{self.code}{f' ({details})' if details else ''}{cited}"


class Problems:
    """Everything that is wrong with one answer, so that its author need not find out one by one."""

    def __init__(self) -> None:
        self._found: list[Refusal] = []

    def add(self, code: str, rules: Iterable[str], **params: Any) -> None:
        """Note one broken rule."""
        self._found.append(Refusal(code, rules, **params))

    def refuse(self) -> None:
        """Raise one refusal that names all rules, with the first problem's code and the others in ``also``."""
        if not self._found:
            return
        first, *others = self._found
        for other in others:
            told = {"code": other.code, "rules": list(other.rules), **other.params}
            first.params.setdefault("also", []).append(told)
        first.rules = tuple(dict.fromkeys(rule for one in self._found for rule in one.rules))
        raise first


class GameEnded(Exception):
    """Raised by a rule that ends the game at once, whatever step is running. The runner clears the stack."""
