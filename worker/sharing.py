"""Seeing to shared seeds: tables whose creation was interrupted, and seeds whose last table has ended.

A seed is opened in steps: what is decided is written down first, then every table is sent the command that opens it,
under a key of its own, and when it stands on the record of each, the work is done. Killed in between, the next look
goes on; two that look at once do no harm.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping

import msgspec

from domain.kernel.shared import OpenSharedSeed, SharedSeed, Stage
from events.envelope import Submission, submission
from events.errors import GameExists, RecordError
from events.ruling import Judge
from events.shared import SharedRecord, SharedSeeds
from events.store import Store
from worker.adjudicate import Warm
from worker.log import logger

Ring = Callable[[str], None]
"""Has a game's submissions ruled on."""


def see_to_shared(
    store: Store,
    judges: Mapping[str, Judge],
    ring: Ring,
    *,
    warm: Warm | None = None,
    clock: Callable[[], str] | None = None,
) -> int:
    """Do what is to be done about shared seeds now; how many are still to be opened."""
    look = _Look(store, judges, ring, Warm() if warm is None else warm, clock or store.now)
    waiting = 0
    for name in look.seeds.unopened():
        try:
            waiting += not look.see_to(name)
        except RecordError as error:
            waiting += 1
            logger().warning("shared-seed-waits", shared=name, error=type(error).__name__)
    return waiting


class _Look:
    """One look at shared seeds. Lines of tables are kept, so that the next look folds only what is new."""

    def __init__(
        self, store: Store, judges: Mapping[str, Judge], ring: Ring, warm: Warm, clock: Callable[[], str]
    ) -> None:
        self.store = store
        self.judges = judges
        self.ring = ring
        self.warm = warm
        self.clock = clock
        self.seeds = SharedSeeds(store)

    def see_to(self, name: str) -> bool:
        """Whether the seed is on the record of every table and nothing is left to do."""
        record = self.seeds.read(name)
        tables = self.seeds.tables(name)
        for game, opening in tables.items():
            if not self.store.exists(game):
                self._create(record, game, opening)
        if not record.closed:
            return False
        stages = {game: stage for game in tables if (stage := self._stage(record, game, tables[game]))}
        if not record.opening:
            if "playing" in stages.values():
                return False
            self.seeds.decide(name, self.clock())
        for game in sorted(game for game, stage in stages.items() if stage == "ended"):
            self._open(record, game)
        if any(stage != "open" for stage in stages.values()):
            return False
        self.seeds.settle(name, self.clock())
        logger().info("shared-seed-opened", shared=name, tables=len(stages))
        return True

    def _create(self, record: SharedRecord, game: str, opening: Submission) -> None:
        """Finish what was interrupted."""
        try:
            self.store.create(game, record.rules, self.judges[record.rules].rules.version, opening)
        except GameExists:
            self.seeds.leave(record.id, game, opening)
            return
        self.ring(game)

    def _stage(self, record: SharedRecord, game: str, opening: Submission) -> Stage | None:
        """How far a table is; None for a game that is none of them. One that the engine here may not rule on waits."""
        judge = self.judges[record.rules]
        line = self.store.line(game, judge, warm=self.warm.get(game) or self.store.snapshot(game, judge))
        self.warm.put(game, line)
        use = judge.rules.shared_seed(line.state)
        if line.version and (use is None or use[0] != SharedSeed(record.id, record.commitment)):
            self.seeds.leave(record.id, game, opening)
            return None
        if use is None or judge.rules.pinned(line.state) not in ("", judge.rules.engine_of(line.state)):
            return "playing"
        return use[1]

    def _open(self, record: SharedRecord, game: str) -> None:
        """Send the command that opens the seed, once. Nobody guesses its key, so nobody else has used it."""
        key = hashlib.sha256(f"rookery/open-shared/1\x00{record.id}\x00{record.seed}".encode()).hexdigest()
        sent = submission(OpenSharedSeed(record.id), seat=None, cause="system", key=key)
        self.store.submit(game, msgspec.structs.replace(sent, correlation=record.id))
        self.ring(game)
