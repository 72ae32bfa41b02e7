"""Shared seed: several tables of a tournament draw from one seed, so that all have the same decks in the same order.

Whoever knows the seed, or the order of a deck at one table, knows it at all of them. So no table opens the seed with
its own end: it waits, and when the last table has ended, the seed is opened on the record of each. A table that has
ended never draws from the seed again, since it may be opened at any moment: a rewind from there draws anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from domain.kernel.chance import commitment
from domain.kernel.commands import Command
from domain.kernel.facts import SeedOpened
from domain.kernel.refusal import Refusal
from domain.kernel.ruleset import Game

Stage = Literal["playing", "ended", "open"]
"""Of a table: it is being played, it has ended and waits for the others, the shared seed is open on its record."""


class SharedSeed(msgspec.Struct, frozen=True):
    """Which seed a table shares with others, and what binds it: see :func:`domain.kernel.chance.commitment`."""

    id: str
    commitment: str


class OpenSharedSeed(Command, frozen=True, tag="open-shared-seed"):
    """Every table has ended: open the seed here. The server sends this; the seed itself is already in the record."""

    shared: str


def open_shared_seed(
    game: Game[Any], command: OpenSharedSeed, shared: SharedSeed | None, seeds: Iterable[str], *rules: str
) -> None:
    """Open the shared seed of a table, which is one of ``seeds``. Raises Refusal.

    Also where an arbiter has just taken the end back: other tables may have opened it by now, and nothing is drawn from
    it any more.
    """
    docket = game.state.docket
    if shared is None or shared.id != command.shared:
        raise Refusal("no-such-shared-seed", unknown=True, shared=command.shared)
    if not game.state.is_over and not docket.shared:
        raise Refusal("shared-seed-in-use", rules, shared=shared.id)
    if docket.shared == "open":
        raise Refusal("shared-seed-open", rules, shared=shared.id)
    seed = next(one for one in seeds if one and commitment(one) == shared.commitment)
    game.emit(SeedOpened(seed=seed), *rules)
