"""Commands on what players keep as proof: key, checkpoint."""

from __future__ import annotations

from api.cli.common import Data, GameId, Json, Out, QueueUrl, StoreUrl
from api.cli.place import place


def key(data: Data = "", store: StoreUrl = "", queue: QueueUrl = "", json: Json = False) -> None:
    """Print the public key that this server's receipts and checkpoints are checked with."""
    out = Out(json)
    with place(data, store, queue, may_begin=True) as here:
        found = here.desk.key()
    out.say(found.text())
    out.document({"name": found.name, "key": found.text()})


def checkpoint(game: GameId, data: Data = "", store: StoreUrl = "", queue: QueueUrl = "", json: Json = False) -> None:
    """Print a signed checkpoint: how long the record of a game is, and the digest of its last entry."""
    out = Out(json)
    with place(data, store, queue) as here:
        here.caller(game)
        here.settle(game)
        version, note = here.desk.checkpoint(game)
    out.say(note.removesuffix("\n"))
    out.document({"game": game, "version": version, "checkpoint": note})
