"""The command that creates a game, and where a game starts from a given position."""

from __future__ import annotations

from domain.kernel.bounds import Prose
from domain.kernel.commands import Command
from domain.kernel.docket import Origin
from domain.thrones.language.pieces import CardId
from domain.thrones.language.state import Hidden, State
from domain.thrones.tables.charter import Charter


class Start(Command, frozen=True, tag="start"):
    """Create a game.

    ``seed`` is 32 bytes in hexadecimal out of the caller's own chance; with imposed chance it stays empty and
    ``decks`` gives the orders of the decks from the top. ``position`` starts from a given position instead
    of the set-up, with its ``hidden`` part and the reason; a fork says with ``origin`` whose it is. With ``deal``
    the Houses of the charter's seats are dealt by chance (2E-SET-2). ``game`` is the id that it is created by.
    """

    charter: Charter
    seed: str = ""
    decks: dict[str, tuple[CardId, ...]] = {}
    position: State | None = None
    hidden: Hidden | None = None
    reason: Prose = ""
    deal: bool = False
    origin: Origin | None = None
    game: str = ""


class Gather(Command, frozen=True, tag="gather"):
    """Create a game whose seed server and seats make together; ``seed`` is the server's part."""

    charter: Charter
    seed: str
    deal: bool = False
    game: str = ""
