"""Taking in a game from elsewhere: an export or a bundle, under its own id or another."""

from __future__ import annotations

from collections.abc import Callable

from api.desk import Desk
from api.sharing import adopt
from events.bundle import unpack
from events.export import Imported, import_game


def take_in(desk: Desk, raw: bytes, name: str | None, settle: Callable[[str], object]) -> Imported:
    """Put a full record into the store, a bundle's checkpoints too; it goes on where it was.

    ``settle`` sees to what waits there for a ruling, as far as that can be done now.
    Raises RecordDamaged, FileDamaged or BundleDamaged before anything is written, GameExists, BadGameId, and
    SharedSeedExists when all is done but for its shared seed.
    """
    if raw[:2] == b"PK":
        found = unpack(raw)
        done = import_game(desk.store, found.lines, name, found.kept)
    else:
        done = import_game(desk.store, raw.splitlines(keepends=True), name)
    desk.ring(done.game)
    settle(done.game)
    adopt(desk, done.game)
    return done
