"""Sessions: what an RQ job does. It rules on the games that ring, stays warm a while, and hands over.

No wake-up is lost:

* whoever submits, rings *after* the store has the submission: the game goes onto the bell, a list, and if
  no session holds the bell's watch, a job is put into RQ's queue;
* a session that ends lets go of the watch first and looks at the bell again after that;
* what a crash swallows (bells and jobs live on a forgetful server) the sweeper rings again, from the list of
  games with unruled submissions that the durable store keeps.

Games are spread over a number of bells, so that a game comes back to a session that knows it.
"""

from __future__ import annotations

import re
import time
import uuid
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import structlog

from events.errors import GameUnknown, KeptDamaged, RecordDamaged, RecordError, StoreAway, StoreRefuses
from events.inspection import Wrong, kinds
from events.keys import is_game_id
from events.ruling import Judge
from events.store import LONGEST_WAIT_SECONDS, Store
from worker.adjudicate import Spent, Warm, adjudicate, leave, never, stop
from worker.budget import UNLIMITED, Budget
from worker.log import logger
from worker.trial import Trial

WATCH_SECONDS = 10.0
"""How long a watch lasts without a sign of life. A session renews it."""

LATER_SECONDS = 10.0
"""How long a game that may end its worker lets others go before."""

SPENT = "spent"
"""Why a session ended whose process should end."""

_RULES = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

Enqueue = Callable[[int], None]
"""Puts a job for the session of one bell into RQ's queue."""

_LET_GO = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
"""

_RENEW = """
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] and held ~= 'due' then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', tonumber(ARGV[2]))
return 1
"""


class Bell:
    """Where games ring for a session, on the queue's server."""

    def __init__(
        self,
        client: Any,
        enqueue: Enqueue,
        *,
        bells: int = 1,
        watch_seconds: float = WATCH_SECONDS,
        engine: str = "",
    ) -> None:
        """``engine`` is whose bells they are: beside workers of another one on the same server, each hears its own."""
        self.client = client
        self.bells = bells
        self.engine = engine
        self._whose = f"{engine}:" if engine else ""
        self._enqueue = enqueue
        self._watch_ms = int(watch_seconds * 1000)
        self._let_go = client.register_script(_LET_GO)
        self._renew = client.register_script(_RENEW)

    def number_of(self, game: str) -> int:
        """Which bell a game rings."""
        return zlib.crc32(game.encode()) % self.bells

    def ring(self, game: str) -> None:
        """Tell a session that something waits. Call it after the store has acknowledged."""
        number = self.number_of(game)
        self.client.rpush(self._list(number), game)
        self.summon(number)

    def summon(self, number: int) -> None:
        """Have a session for this bell, unless one is there or on its way."""
        if self.client.set(self._watch(number), "due", nx=True, px=self._watch_ms):
            self._enqueue(number)

    def take_watch(self, number: int, holder: str) -> bool:
        """Begin or go on watching a bell; False when another session does."""
        return bool(self._renew(keys=[self._watch(number)], args=[holder, self._watch_ms]))

    def leave_watch(self, number: int, holder: str) -> None:
        self._let_go(keys=[self._watch(number)], args=[holder])

    def next_game(self, number: int, wait_seconds: float = 0.0) -> str | None:
        """The next game that rang; its further rings are taken with it, since one drain answers all."""
        if wait_seconds > 0:
            found = self.client.blpop([self._list(number)], timeout=min(wait_seconds, LONGEST_WAIT_SECONDS))
            game = found[1] if found else None
        else:
            game = self.client.lpop(self._list(number))
        if game is None:
            return None
        self.client.lrem(self._list(number), 0, game)
        name = str(game.decode(errors="replace"))
        return name if is_game_id(name) else None

    @property
    def lists(self) -> dict[str, str]:
        """The keys of all bells, with the kind that each has on the server."""
        return {self._list(number): "list" for number in range(self.bells)}

    def drop_endless_watches(self) -> tuple[str, ...]:
        """Drop watches that nobody wrote who watches, since they would keep every session away for ever; their keys."""
        keys = [self._watch(number) for number in range(self.bells)]
        endless = tuple(key for key in keys if self.client.pttl(key) == -1)
        for key in endless:
            self.client.delete(key)
        return endless

    def is_silent(self, number: int) -> bool:
        return not self.client.llen(self._list(number))

    def _list(self, number: int) -> str:
        return f"rookery:bell:{{{self._whose}{number}}}"

    def _watch(self, number: int) -> str:
        return f"rookery:watch:{{{self._whose}{number}}}"


class Session(msgspec.Struct, frozen=True):
    """What a session did."""

    ruled: int
    drains: int
    why: str


def session(
    store: Store,
    judges: Mapping[str, Judge],
    bell: Bell,
    number: int = 0,
    *,
    warm: Warm | None = None,
    linger_seconds: float = 5.0,
    longest_seconds: float = 60.0,
    lease_seconds: float = 10.0,
    must_stop: Callable[[], bool] = never,
    others_wait: Callable[[], bool] = never,
    budget: Budget = UNLIMITED,
    trial: Trial | None = None,
) -> Session:
    """Rule on what rings at one bell until it has been silent for a while, the time is over, or it must stop.

    ``others_wait`` tells whether jobs wait behind this one: then it does not linger.
    """
    warm = Warm() if warm is None else warm
    holder = uuid.uuid4().hex
    began = heard = time.monotonic()
    ruled = drains = 0
    later: dict[str, float] = {}
    with structlog.contextvars.bound_contextvars(session=holder[:8], bell=number):
        if not bell.take_watch(number, holder):
            return Session(0, 0, "watched")
        try:
            while True:
                if must_stop():
                    why = "stopped"
                    break
                if time.monotonic() - began > longest_seconds:
                    why = "long enough"
                    break
                if not bell.take_watch(number, holder):
                    why = "relieved"
                    break
                game = bell.next_game(number)
                if game is not None and game not in later and store.unreleased(game):
                    later[game] = time.monotonic()
                    continue
                if later and (game is None or time.monotonic() - next(iter(later.values())) > LATER_SECONDS):
                    if game is not None:
                        bell.ring(game)
                    game = next(iter(later))
                if game is None:
                    if others_wait():
                        why = "others wait"
                        break
                    # Only after a look: however late a busy machine lets us come here, what has rung is heard.
                    if time.monotonic() - heard > linger_seconds:
                        why = "silence"
                        break
                    game = bell.next_game(number, min(1.0, max(0.01, linger_seconds)))
                if game is None:
                    continue
                later.pop(game, None)
                ruled += _drain(store, judges, game, warm, bell.engine, lease_seconds, must_stop, budget, trial)
                drains += 1
                heard = time.monotonic()
        except Spent:
            why = SPENT
        finally:
            _keep_snapshots(store, judges, warm)
            bell.leave_watch(number, holder)
            for game in later:
                bell.ring(game)
            # After letting go: a ring between the last look and now found the watch still held.
            if not bell.is_silent(number):
                bell.summon(number)
        logger().info("session-ended", why=why, drains=drains, ruled=ruled)
    return Session(ruled, drains, why)


def _drain(
    store: Store,
    judges: Mapping[str, Judge],
    game: str,
    warm: Warm,
    here: str,
    lease_seconds: float,
    must_stop: Callable[[], bool],
    budget: Budget,
    trial: Trial | None,
) -> int:
    """Adjudicate one game. What goes wrong with one game does not end the session; the sweeper rings again."""
    try:
        rules = store.record(game).rules
        judge = judges.get(rules)
        if judge is None:
            if not _RULES.fullmatch(rules):
                raise KeptDamaged("the name of its rules")
            leave(store, game, rules, here, lease_seconds)
            return 0
        return adjudicate(
            store,
            judge,
            game,
            warm=warm,
            lease_seconds=lease_seconds,
            must_stop=must_stop,
            budget=budget,
            trial=trial,
        ).ruled
    except GameUnknown:
        logger().warning("game-unknown", game=game)
        return 0
    except StoreAway:
        raise
    except RecordDamaged as damage:
        warm.drop(game)
        stop(store, game, damage)
        return 0
    except RecordError as error:
        warm.drop(game)
        if isinstance(error, StoreRefuses) and (wrong := _of_another_kind(store, game)):
            stop(store, game, KeptDamaged(wrong))
            return 0
        logger().error("adjudication-failed", game=game, error=type(error).__name__, detail=str(error))
        return 0


def _of_another_kind(store: Store, game: str) -> str:
    """Which key of a game is of another kind, so that no script works with it; empty where none is."""
    try:
        kinds(store, game)
    except Wrong as wrong:
        return f"the {wrong.place}"
    return ""


def _keep_snapshots(store: Store, judges: Mapping[str, Judge], warm: Warm) -> None:
    """What is warm now is one snapshot and few entries away for whoever comes next."""
    try:
        for game in warm.unkept():
            warm.keep(store, judges[store.record(game).rules], game)
    except RecordError as error:
        logger().warning("snapshot-failed", error=type(error).__name__)  # it only saves time


def sweep(store: Store, bell: Bell, *, thorough: bool = False) -> int:
    """Ring for every game with unruled submissions; how many. ``thorough`` looks at all games, listed or not.

    Where our engine was found to be the wrong one, it is not rung for again before something more is submitted; a
    thorough look asks again, since what was found is no more than a note.
    """
    if thorough:
        store.relist()
    rung = 0
    for game in store.unruled():
        if (thorough or _may_be_ours(store, bell, game)) and not store.settle(game):
            bell.ring(game)
            rung += 1
    return rung


def _may_be_ours(store: Store, bell: Bell, game: str) -> bool:
    """Whether nobody of our engine has found that what waits in a game is for others."""
    waits = store.waits(game)
    try:
        is_seen = waits is not None and waits.inbox >= store.inbox_length(game)
    except KeptDamaged:
        return True  # whoever rules parks it
    return not is_seen or waits is None or waits.here not in (bell.engine, *bell.engine.split("+"))
