"""Signs of life. Every worker process leaves one at the queue's server, so that one which hangs is noticed.

The times are those of that server, so no two clocks are compared.
"""

from __future__ import annotations

from typing import Any

import msgspec

KEY = "rookery:pulse"
FORGOTTEN_AFTER_SECONDS = 600
"""A worker that has not been heard of for so long is gone, not silent."""

_NOW = """
local now = redis.call('TIME')
now = tonumber(now[1]) * 1000 + math.floor(tonumber(now[2]) / 1000)
"""

_BEAT = (
    _NOW
    + """
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - tonumber(ARGV[2]))
redis.call('ZREMRANGEBYSCORE', KEYS[1], '(' .. now, '+inf')
return 1
"""
)

# Nobody gives signs of life ahead of time: what does was written by somebody else, or before the clock was set back.
_FEEL = (
    _NOW
    + """
local found = {}
for _, worker in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now)) do
  table.insert(found, now - tonumber(redis.call('ZSCORE', KEYS[1], worker)))
end
return found
"""
)


class Pulse(msgspec.Struct, frozen=True):
    """For how long each worker has been silent, the liveliest first."""

    silent_seconds: tuple[float, ...]

    def living(self, within_seconds: float) -> int:
        """How many were heard of lately."""
        return sum(one <= within_seconds for one in self.silent_seconds)


def beat(client: Any, worker: str) -> None:
    """Leave a sign of life."""
    client.eval(_BEAT, 1, KEY, worker, FORGOTTEN_AFTER_SECONDS * 1000)


def leave(client: Any, worker: str) -> None:
    """A worker ends: nobody need look for it."""
    client.zrem(KEY, worker)


def feel(client: Any) -> Pulse:
    """The signs of life of all workers."""
    found = client.eval(_FEEL, 1, KEY)
    return Pulse(tuple(sorted(max(0, int(one)) / 1000 for one in found)))
