"""A hypothesis: one way in which a logged game may have gone so far. Nothing in it is ever changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from dataclasses import replace as with_

from api.games.thrones.following.orders import Demands, Kind
from domain.kernel.commands import Command
from domain.thrones.language.pieces import AreaId, HouseId
from domain.thrones.language.state import State

__all__ = ["Hypothesis", "Misfit", "OutOfEntries", "Step", "with_"]


@dataclass(frozen=True)
class Step:
    """One command with the entry it comes from (0: from none), and what was assumed with it.

    ``takes_over`` is the entry whose outcome a correction states (0: this is none).
    """

    command: Command
    entry: int
    assumed: tuple[str, ...] = ()
    note: str = ""
    takes_over: int = 0


@dataclass(frozen=True)
class Chain:
    """Steps, the last one first."""

    last: Step
    before: Chain | None

    def __iter__(self) -> Iterator[Step]:
        chain: Chain | None = self
        while chain is not None:
            yield chain.last
            chain = chain.before


@dataclass(frozen=True)
class Hypothesis:
    """A position, the steps that led to it, and what is inferred for steps taken long ago.

    ``used`` are entries that have been taken up. ``laid`` has the orders of each round and House, ``pinned`` those of
    this round that outcomes already rest on, ``quiet`` of these where a march met nobody; ``planned_from`` is where
    the round was planned, ``past`` the hypothesis before the last step. ``left`` tells for the entry of a march whether
    a Power token was left, ``vacated`` whose march left which area, and ``firm`` are those that later entries rest on.
    ``spare`` has for the entry of a bid the House and the Power that it could have lacked; None where it had no Power,
    and so could have had no more.
    """

    state: State
    steps: Chain | None = None
    used: frozenset[int] = frozenset()
    laid: Mapping[tuple[int, HouseId], Mapping[AreaId, Kind]] = field(default_factory=dict)
    sources: Mapping[int, AreaId] = field(default_factory=dict)
    pinned: Mapping[AreaId, Kind] = field(default_factory=dict)
    quiet: frozenset[AreaId] = frozenset()
    left: Mapping[int, bool] = field(default_factory=dict)
    vacated: Mapping[int, tuple[HouseId, AreaId]] = field(default_factory=dict)
    firm: frozenset[int] = frozenset()
    spare: Mapping[int, tuple[HouseId, int | None]] = field(default_factory=dict)
    demands: Demands | None = None
    planning: State | None = None
    planned_from: Hypothesis | None = None
    battle: int = 0
    words: Mapping[AreaId, str] = field(default_factory=dict)
    mustering: int = 0
    past: Hypothesis | None = None

    def take(self, state: State, step: Step, *entries: int) -> Hypothesis:
        return with_(self, state=state, steps=Chain(step, self.steps), past=self,
                     used=self.used | {step.entry, *entries} - {0})  # fmt: skip

    def in_order(self) -> list[Step]:
        return list(self.steps or ())[::-1]


class Misfit(Exception):
    """What the log says does not fit the hypothesis. ``entry`` is where, ``kind`` why.

    ``house`` is whose hidden choices may be wrong; after a battle it is who should have won, ``foe`` who lost. ``code``
    is that of a refusal.
    """

    def __init__(
        self,
        kind: str,
        entry: int,
        what: str,
        house: HouseId = "",
        area: AreaId = "",
        foe: HouseId = "",
        code: str = "",
    ) -> None:
        super().__init__(f"entry {entry}: {kind}: {what}{f' [{code} {area}]' if code else ''}")
        self.kind = kind
        self.entry = entry
        self.what = what
        self.house = house
        self.area = area
        self.foe = foe
        self.code = code


class OutOfEntries(Exception):
    """The log ends here; what is open stays open. ``reached`` is how far a group of answers came."""

    reached: Hypothesis | None = None
