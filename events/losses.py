"""Games that lost something which was acknowledged: how they are found, held, and gone on with.

rookery:{P<nn>}:lost                 hash: game to what it lost, of every game that is held; missing ones, too
rookery:{P<nn>}:<game>:game  lost    the same, beside the game: nobody is given its lease, and nothing is added to it
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from itertools import islice
from typing import Any, Literal

import msgspec

from events.connecting import of_kind, translated
from events.envelope import Receipt, Submission, encode, number_of, stream_id, utc_now
from events.errors import RecordError
from events.keys import LOST, UNRULED, game_key, list_key, list_keys
from events.store import DESCRIPTION, Store

AT_ONCE = 100
"""How many games are compared in one round trip."""

What = Literal["game-missing", "inbox-shorter", "inbox-differs", "ledger-shorter", "ledger-differs"]


class Head(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far a game is: its newest submission and newest entry, by number and digest. 0: nothing known."""

    inbox: int = 0
    submission: str = ""
    version: int = 0
    digest: str = ""


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """What a game lost: what was acknowledged, and what is there. ``submission`` in it is for the operator only."""

    game: str
    at: str
    what: tuple[What, ...]
    acknowledged: Head
    found: Head

    @property
    def sentence(self) -> str:
        """What was lost, for people."""
        told = [] if self.what else ["the note of what it lost cannot be read"]
        for one in self.what:
            match one:
                case "game-missing":
                    told.append("the whole game is gone")
                case "inbox-shorter":
                    first = self.found.inbox + 1
                    told.append(f"{_numbers('submission', first, self.acknowledged.inbox)} gone")
                case "inbox-differs":
                    told.append(f"submission {self.acknowledged.inbox} is not the one that was acknowledged")
                case "ledger-shorter":
                    first = self.found.version + 1
                    told.append(f"{_numbers('entry', first, self.acknowledged.version)} gone")
                case "ledger-differs":
                    told.append(f"entry {self.acknowledged.version} is not the one that was ruled")
        return f"Game {self.game} lost what was acknowledged: {', '.join(told)}."


def _numbers(what: str, first: int, last: int) -> str:
    plural = {"entry": "entries"}.get(what, f"{what}s")
    return f"{what} {last} is" if first >= last else f"{plural} {first} to {last} are"


def larger(one: Head, other: Head) -> Head:
    """Of two heads of a game, what is known of the newest submission and the newest entry."""
    inbox = one if one.inbox >= other.inbox else other
    ledger = one if one.version >= other.version else other
    return Head(inbox.inbox, inbox.submission, ledger.version, ledger.digest)


@translated
def compare(store: Store, heads: Mapping[str, Head]) -> list[Loss]:
    """Which games do not hold what was acknowledged. Reads two elements of each, many games at once."""
    found: list[Loss] = []
    waiting = iter(sorted(heads.items()))
    while some := list(islice(waiting, AT_ONCE)):
        with store.client.pipeline(transaction=False) as asked:
            for game, head in some:
                asked.exists(game_key(game, "game"))
                for what, number in (("inbox", head.inbox), ("ledger", head.version)):
                    asked.xrange(game_key(game, what), stream_id(number), stream_id(number), count=1)
            told = asked.execute()
        for at, (game, head) in enumerate(some):
            lacks = _differs(head, *told[3 * at : 3 * at + 3])
            if lacks:
                found.append(Loss(game=game, at=utc_now(), what=lacks, acknowledged=head, found=head_of(store, game)))
    return found


def _differs(head: Head, exists: int, inbox: list[Any], ledger: list[Any]) -> tuple[What, ...]:
    if not exists:
        return ("game-missing",)
    what: list[What] = []
    if head.inbox:
        if not inbox:
            what.append("inbox-shorter")
        elif hashlib.sha256(inbox[0][1].get(b"submission", b"")).hexdigest() != head.submission:
            what.append("inbox-differs")
    if head.version:
        if not ledger:
            what.append("ledger-shorter")
        elif ledger[0][1].get(b"digest", b"").decode(errors="replace") != head.digest:
            what.append("ledger-differs")
    return tuple(what)


@translated
def head_of(store: Store, game: str) -> Head:
    """How far a game is in the store. What is damaged there has another digest, and stops nobody."""
    inbox = store.client.xrevrange(game_key(game, "inbox"), count=1)
    ledger = store.client.xrevrange(game_key(game, "ledger"), count=1)
    return Head(
        *(
            (number_of(inbox[0][0].decode()), hashlib.sha256(inbox[0][1].get(b"submission", b"")).hexdigest())
            if inbox
            else (0, "")
        ),
        *(
            (number_of(ledger[0][0].decode()), ledger[0][1].get(b"digest", b"").decode(errors="replace"))
            if ledger
            else (0, "")
        ),
    )


@translated
def hold(store: Store, loss: Loss) -> Loss:
    """Hold a game. Where it is held already, what others know to be lost counts as well; the loss as it stands now."""
    before = held_one(store, loss.game)
    if before is not None and before.what:
        what = tuple(dict.fromkeys((*before.what, *loss.what)))
        acknowledged = larger(before.acknowledged, loss.acknowledged)
        loss = msgspec.structs.replace(before, what=what, acknowledged=acknowledged)
    store.client.hset(list_key(LOST, loss.game), loss.game, encode(loss))
    store.mark_lost(loss.game, encode(loss))
    return loss


@translated
def held(store: Store) -> dict[str, Loss]:
    """Every game that is held, and why."""
    with store.client.pipeline(transaction=False) as asked:
        for key in list_keys(LOST):
            asked.hgetall(key)
        found = {game: raw for part in asked.execute() for game, raw in part.items()}
    return {
        game.decode(errors="replace"): _read(game.decode(errors="replace"), raw)
        for game, raw in sorted(found.items(), key=lambda pair: bytes(pair[0]))
    }


@translated
def held_one(store: Store, game: str) -> Loss | None:
    """Why one game is held, None if it is not: also one that only says so itself, since a list can be damaged."""
    raw = store.client.hget(list_key(LOST, game), game)
    if raw is None:
        with of_kind(DESCRIPTION):
            raw = store.client.hget(game_key(game, "game"), "lost")
    return None if raw is None else _read(game, raw)


def _read(game: str, raw: bytes) -> Loss:
    """What a game lost. It is held all the same if nobody can read that; then it says nothing of what."""
    try:
        found = msgspec.json.decode(raw, type=Loss)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return Loss(game=game, at="", what=(), acknowledged=Head(), found=Head())
    return msgspec.structs.replace(found, game=game)


@translated
def accept(store: Store, loss: Loss, said: Submission | None) -> Receipt | None:
    """Let a held game go on from what is left; ``said`` goes into its inbox in the same step, if there still is one."""
    receipt = None if said is None else store.accept_loss(loss.game, said)
    store.client.hdel(list_key(LOST, loss.game), loss.game)
    return receipt


@translated
def relist(store: Store) -> None:
    """List again every game that says itself that it is held: readiness, figures and starts look at the list alone.

    What is of another kind in the place of a part of the list is dropped, since nobody can read it or add to it.
    """
    for key in list_keys(LOST):
        if store.client.type(key) not in (b"hash", b"none"):
            store.client.delete(key)
    games = store.games()
    with store.client.pipeline(transaction=False) as asked:
        for game in games:
            asked.hget(game_key(game, "game"), "lost")
        told = asked.execute(raise_on_error=False)
    for game, raw in zip(games, told, strict=True):
        if isinstance(raw, bytes):  # a description of another kind is told by whoever reads that game
            store.client.hsetnx(list_key(LOST, game), game, raw)


@translated
def release_whole(store: Store) -> tuple[str, ...]:
    """Let games go on that have come back whole, since somebody has put back what was missing; which ones."""
    whole = []
    for game, loss in held(store).items():
        if loss.what and not compare(store, {game: loss.acknowledged}):
            store.client.hdel(game_key(game, "game"), "lost")
            store.client.hdel(list_key(LOST, game), game)
            store.client.sadd(list_key(UNRULED, game), game)
            whole.append(game)
    return tuple(whole)


class NotHeld(RecordError):
    """A game has lost nothing that anybody here knows of."""

    def __init__(self, game: str) -> None:
        super().__init__(f"Game {game!r} is not held: nothing that was acknowledged is missing from it.")
        self.game = game
