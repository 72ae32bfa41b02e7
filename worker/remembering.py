"""What every process does that works with a store: ask what it promises, and remember what it has acknowledged."""

from __future__ import annotations

from pathlib import Path

from events import layout
from events.durability import Promise, ask, check
from events.heads import Heads
from events.losses import Loss
from events.store import Store
from worker.log import logger


def promised(store: Store, allowed: str) -> Promise:
    """What an acknowledgement of this store means, in the log, too. Raises StoreForgets where it means too little.

    Then the store's keys are brought to the layout of this version: see :func:`events.layout.migrate`.
    """
    promise = check(ask(store), allowed)
    say = logger().info if promise.keeps == "durable" else logger().warning
    say("store-promise", keeps=promise.keeps, means=promise.sentence, server=f"{promise.server} {promise.version}")
    for remark in promise.remarks:
        logger().warning("store-remark", remark=remark)
    if moved := layout.migrate(store):
        logger().info("layout-migrated", layout=layout.VERSION, keys=moved)
    return promise


def remembering(directory: Path, store: Store, url: str) -> Heads:
    """The store's witness, which tells the log whatever is found to be lost. Not started yet."""
    return Heads(directory, store, url, tell=_tell, trouble=_trouble)


def _tell(loss: Loss) -> None:
    logger().error("game-held", game=loss.game, what=loss.what, means=loss.sentence)


def _trouble(why: str) -> None:
    logger().error("heads-not-kept", why=why)
