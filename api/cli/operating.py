"""Commands for whoever runs the server: doctor, accept-loss."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from api import doctor as look
from api.bench import check_length
from api.cli.common import DISAGREES, Data, Failure, GameId, Json, Out, QueueUrl, StoreUrl, plain, usage
from api.cli.place import Place, place
from api.serve import running
from domain.kernel.arbiter import AcceptLoss
from events import codec, heads, losses
from events.durability import SETTING
from events.embedded import EmbeddedError, data_directory
from events.envelope import submission
from events.errors import StoreAway, StoreRefuses
from events.journal import Journal
from events.losses import NotHeld
from events.store import connect


def doctor(data: Data = "", store: StoreUrl = "", queue: QueueUrl = "", json: Json = False) -> None:
    """Look at everything this server needs: directory, disk, keys, store, games, workers. Exit code 1: a problem."""
    out = Out(json)
    directory = Path(data).absolute() if data or not store else None
    if directory is not None and not data:
        directory = data_directory().absolute()
    found = list(look.of_process())
    if directory is not None:
        found += look.of_directory(directory)
    if directory is None or store or directory.is_dir():
        try:
            # A store that is gone altogether is started empty: then what it held is known by its heads.
            with place(data, store, queue, may_begin=_was_begun(directory)) as here:
                found += _of_place(here, directory)
        except (EmbeddedError, StoreAway, StoreRefuses, Failure) as error:
            found.append(look.Check("store", "problem", str(error)))
    out.table(("", "", ""), ((one.level, one.name, one.says) for one in found))
    problems = sum(one.level == "problem" for one in found)
    if problems:
        told = "1 problem" if problems == 1 else f"{problems} problems"
        raise Failure(DISAGREES, "problems", f"{told}: see above." if not json else told, checks=plain(found))
    out.say("All is well.")
    out.document({"well": True, "checks": found})


def _was_begun(directory: Path | None) -> bool:
    return directory is not None and (directory / heads.FILE).exists()


def _of_place(here: Place, directory: Path | None) -> list[look.Check]:
    found = list(look.of_store(here.desk.store, os.environ.get(SETTING, "")))
    if directory is not None:
        found += look.of_heads(directory, here.desk.store, here.store_url)
    served = not here.is_ours and (directory is None or running(directory) is not None)
    found += look.of_queue(lambda: connect(here.queue_url, patience_seconds=0.5), is_served=served)
    return found


def accept_loss(
    game: GameId,
    why: Annotated[str, typer.Option(help="Why the game goes on without it; it is recorded.", show_default=False)],
    data: Data = "",
    store: StoreUrl = "",
    queue: QueueUrl = "",
    json: Json = False,
) -> None:
    """Go on with a game whose store has lost what was acknowledged. What is missing goes on its record."""
    out = Out(json)
    if not why.strip():
        raise usage("Say why the game goes on without what it lost: --why.")
    check_length("reason", why)
    directory = Path(data).absolute() if data else data_directory().absolute()
    with place(data, store, queue, may_begin=_was_begun(directory)) as here:
        if here.heads is not None:
            here.heads.look()
        loss = losses.held(here.desk.store).get(game)
        if loss is None:
            here.desk.store.record(game)
            raise NotHeld(game)
        entry = _go_on(here, loss, why.strip())
    out.say(loss.sentence)
    out.say("It goes on without; that is on its record." if entry else "Nothing of it is left; it is forgotten here.")
    out.document({"game": game, "lost": loss.what, "entry": entry, "sentence": loss.sentence})


def _go_on(here: Place, loss: losses.Loss, why: str) -> int | None:
    """Let a held game go on; the entry that says so, or None where nothing is left of the game."""
    store, game = here.desk.store, loss.game
    is_gone = not store.exists(game)
    left = losses.head_of(store, game)
    if here.data is not None:
        known = {"lost": loss.what, "acknowledged": loss.acknowledged, "left": left}
        Journal(here.data).write("accept-loss", game=game, why=why, **known)
    if here.heads is not None:
        if is_gone:
            here.heads.file.forget(here.heads.name, game)
        else:
            here.heads.file.replace(here.heads.name, game, left)
    if is_gone:
        losses.accept(store, loss, None)
        return None
    act = AcceptLoss(
        who="the operator",
        why=why,
        submissions=loss.acknowledged.inbox,
        entries=loss.acknowledged.version,
        digest=loss.acknowledged.digest,
        left_submissions=left.inbox,
        left_entries=left.version,
    )
    receipt = losses.accept(store, loss, submission(act, seat=None, at=here.desk.clock(), cause="system"))
    here.desk.ring(game)
    assert receipt is not None, "a game that is left has an inbox"
    return codec.entry(here.ruling(receipt)).seq
