"""How many forks somebody may make of a game.

A fork is a whole game that the server keeps for ever, and its maker has the tokens of all its seats. So forks of a
fork count as made by whoever made the first of them, of the game that he sits in.
"""

from __future__ import annotations

from typing import Any

import msgspec

from api.tokens import Caller
from domain.kernel.printing import counted
from events.connecting import translated
from events.envelope import encode
from events.keys import game_key
from events.store import Store

MOST_FORKS = 20
"""Of one game by one seat, its organiser, or one arbiter. Setting: ``ROOKERY_FORKS``."""

_TAKE = """
local made = {}
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  if all[i + 1] == ARGV[2] then table.insert(made, all[i]) end
end
if #made >= tonumber(ARGV[3]) then return {'full', unpack(made)} end
return {'done', redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2])}
"""


class TooManyForks(Exception):
    """Whoever asks has made as many forks of a game as the server allows. ``forks`` are those he knows."""

    def __init__(self, most: int, forks: tuple[str, ...]) -> None:
        known = f"Go on in one of them ({', '.join(forks)}), or ask" if forks else "Ask"
        allowed = counted(most, "fork") if most else "no forks"
        super().__init__(
            f"This server allows everybody {allowed} of a game, forks of forks included, and they are made. {known} its"
            " operator, who is not bound by that and can set ROOKERY_FORKS."
        )
        self.most = most
        self.forks = forks


class Maker(msgspec.Struct, frozen=True):
    """To whom a fork counts: somebody in a game."""

    game: str
    who: str


class Quota:
    """The forks of all games in a store, by who has made them."""

    def __init__(self, store: Store) -> None:
        self._client: Any = store.client
        self._reading = store.reading
        self._take = store.client.register_script(_TAKE)

    @translated
    def maker(self, game: str, caller: Caller) -> Maker | None:
        """To whom a fork of a game by this caller counts; None for the operator, who is not bound."""
        if caller.role == "operator":
            return None
        first = self._client.get(game_key(game, "maker"))
        if first is not None:
            with self._reading(game, "whose fork it is"):
                return msgspec.json.decode(first, type=Maker)
        return Maker(game, f"seat {caller.seat}" if caller.seat is not None else caller.called)

    @translated
    def take(self, maker: Maker, fork: str, most: int, *, tell: bool) -> bool:
        """Count a fork before it is made; False when it is counted already. Raises TooManyForks, to ``tell`` which."""
        how, *made = self._take(keys=[game_key(maker.game, "forks")], args=[fork, maker.who, most])
        if how == b"full":
            raise TooManyForks(most, tuple(sorted(one.decode() for one in made)) if tell else ())
        return bool(made[0])

    @translated
    def give_back(self, maker: Maker, fork: str) -> None:
        """The fork was not made after all."""
        self._client.hdel(game_key(maker.game, "forks"), fork)

    @translated
    def sign(self, maker: Maker, fork: str) -> None:
        """Write down whose fork this is."""
        self._client.set(game_key(fork, "maker"), encode(maker))
