"""A child of rulings apart whose rules do harm where the reason or the opinion says which, or a fork has that name."""

from __future__ import annotations

from typing import Any, get_args

from api.apart import main
from domain.kernel.arbiter import Past
from domain.kernel.ruleset import Ruling
from domain.thrones.language.start import Start
from domain.thrones.ruleset import Thrones
from tests.worker.poison import How, take

_decide = Thrones.decide


def decide(self: Thrones, state: Any, command: Any, past: Past | None = None, at: str = "") -> Ruling[Any]:
    said = getattr(command, "reason", "") or getattr(command, "opinion", "")
    how = command.origin.purpose if isinstance(command, Start) and command.origin else said
    if how in get_args(How):
        take(how)
    return _decide(self, state, command, past, at)


if __name__ == "__main__":
    setattr(Thrones, "decide", decide)  # noqa: B010 - a method is not assigned to
    main()
