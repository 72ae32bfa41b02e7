"""Shared seeds: which there are, and which tables draw from each. Keys lie beside the games, on the durable server.

    rookery:{SHARED}:seeds               set of all ids
    rookery:{SHARED}:unopened            set of those that somebody still has to see to
    rookery:{SHARED}:seed:<id>           hash: seed, commitment, created, key, rules, closed, opening, opened (times)
    rookery:{SHARED}:seed:<id>:tables    hash: game to the first submission of its inbox

They are in a partition of their own, so no script changes a seed and a game at once. The order of the steps stands in
for that, and each of them may be done twice.

A table is written down here, with all that it takes to create it, before its game is created. So no game draws from a
seed without being listed, and what a crash left half done is finished by whoever looks next.
"""

from __future__ import annotations

from typing import Any

import msgspec

from events import codec
from events.connecting import translated
from events.envelope import Submission, stream_id
from events.errors import GameExists, SharedSeedClosed, SharedSeedExists, SharedSeedUnknown
from events.keys import SHARED, UNOPENED, check_game_id, shared_key
from events.store import Store

# KEYS seed; ARGV key, then fields and values
_CREATE = """
if redis.call('EXISTS', KEYS[1]) == 1 then
  if ARGV[1] ~= '' and redis.call('HGET', KEYS[1], 'key') == ARGV[1] then return 'again' end
  return 'exists'
end
redis.call('HSET', KEYS[1], unpack(ARGV, 2))
return 'new'
"""

# KEYS seed tables; ARGV game submission
_JOIN = """
if redis.call('EXISTS', KEYS[1]) == 0 then return {'unknown'} end
local first = redis.call('HGET', KEYS[2], ARGV[1])
if first then return {'again', first} end
if redis.call('HEXISTS', KEYS[1], 'closed') == 1 then return {'closed'} end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
return {'new'}
"""

# KEYS tables; ARGV game submission
_LEAVE = """
if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then return redis.call('HDEL', KEYS[1], ARGV[1]) end
return 0
"""


class SharedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a shared seed. ``seed`` is secret until ``opened``. Empty times: not yet."""

    id: str
    seed: str
    commitment: str
    created: str
    rules: str
    closed: str = ""
    opening: str = ""
    opened: str = ""


class SharedSeeds:
    """All shared seeds of a store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._client: Any = store.client
        register = store.client.register_script
        self._create, self._join, self._leave = register(_CREATE), register(_JOIN), register(_LEAVE)

    @translated
    def create(self, record: SharedRecord, key: str = "") -> SharedRecord:
        """Keep a new seed. Under the same idempotency key: the first one. Raises SharedSeedExists, BadGameId."""
        check_game_id(record.id)
        fields = {**msgspec.structs.asdict(record), "key": key}
        flat = [item for name, value in fields.items() if value and name != "id" for item in (name, value)]
        self._client.sadd(UNOPENED, record.id)
        self._client.sadd(SHARED, record.id)
        if self._create(keys=[shared_key(record.id)], args=[key, *flat]) == b"exists":
            raise SharedSeedExists(record.id)
        return self.read(record.id)

    @translated
    def read(self, name: str) -> SharedRecord:
        """One shared seed. Raises SharedSeedUnknown."""
        found = {field.decode(): value.decode() for field, value in self._client.hgetall(shared_key(name)).items()}
        if not found:
            raise SharedSeedUnknown(name)
        return msgspec.convert({**found, "id": name}, SharedRecord)

    @translated
    def names(self) -> tuple[str, ...]:
        """All shared seeds, sorted."""
        return self._existing(SHARED)

    @translated
    def unopened(self) -> tuple[str, ...]:
        """Those that are not on the record of all their tables yet, sorted."""
        return self._existing(UNOPENED)

    def _existing(self, listed: str) -> tuple[str, ...]:
        names = sorted(name.decode() for name in self._client.smembers(listed))
        return tuple(name for name in names if self._client.exists(shared_key(name)))

    @translated
    def tables(self, name: str) -> dict[str, Submission]:
        """Games by id, sorted, each with the submission that begins it."""
        found = self._client.hgetall(shared_key(name, "tables"))
        return {
            game.decode(): codec.read_submission(stream_id(1), raw)
            for game, raw in sorted(found.items(), key=lambda pair: bytes(pair[0]))
        }

    @translated
    def join(self, name: str, game: str, opening: Submission) -> Submission:
        """Write down that a table is about to be created; what it is created with, which is the first that was said.

        Raises SharedSeedUnknown, SharedSeedClosed, and GameExists when the game is another one already.
        """
        check_game_id(game)
        raw = codec.write_submission(opening)
        answer = self._join(keys=[shared_key(name), shared_key(name, "tables")], args=[game, raw])
        if answer[0] == b"unknown":
            raise SharedSeedUnknown(name)
        if answer[0] == b"closed":
            raise SharedSeedClosed(name)
        if answer[0] == b"new":
            return opening
        first = codec.read_submission(stream_id(1), answer[1])
        if (first.key, first.body_hash) != (opening.key, opening.body_hash):
            raise GameExists(game)
        return first

    @translated
    def leave(self, name: str, game: str, opening: Submission) -> None:
        """There is another game of that id, so this table was not created."""
        self._leave(keys=[shared_key(name, "tables")], args=[game, codec.write_submission(opening)])

    @translated
    def adopt(self, record: SharedRecord, game: str, opening: Submission) -> None:
        """A table came from elsewhere. Its seed is kept here from now on, unless it is already; ``closed`` counts.

        Raises SharedSeedExists when the seed of that id is another one.
        """
        try:
            found = self.create(record)
        except SharedSeedExists:
            found = self.read(record.id)
            if found.seed != record.seed:
                raise
        if record.closed:
            self._client.hsetnx(shared_key(found.id), "closed", record.closed)
        self._client.hsetnx(shared_key(found.id, "tables"), game, codec.write_submission(opening))
        self._client.hdel(shared_key(found.id), "opened")
        self._client.sadd(UNOPENED, found.id)

    @translated
    def close(self, name: str, at: str) -> SharedRecord:
        """No more tables; the first time counts. Raises SharedSeedUnknown."""
        self.read(name)
        self._client.hsetnx(shared_key(name), "closed", at)
        return self.read(name)

    @translated
    def decide(self, name: str, at: str) -> None:
        """From here on the seed is being opened, and nothing stops that any more."""
        self._client.hsetnx(shared_key(name), "opening", at)

    @translated
    def settle(self, name: str, at: str) -> None:
        """The seed is on the record of every table."""
        self._client.hsetnx(shared_key(name), "opened", at)
        self._client.srem(UNOPENED, name)
