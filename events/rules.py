"""What the record and the worker ask of a game. They know that there is a ruleset, not which one."""

from __future__ import annotations

from typing import Any, Protocol

from domain.kernel.arbiter import Past
from domain.kernel.ruleset import Ruling
from domain.kernel.shared import SharedSeed, Stage


class Rules(Protocol):
    """A game as the record sees it. Every method is pure: no clock, no chance, no change of its arguments.

    ``public``, ``hidden`` and ``seats`` also answer for the blank state, since the first command may be refused.
    """

    @property
    def name(self) -> str:
        """The game, a short word: "thrones"."""

    @property
    def version(self) -> str:
        """The engine of this code as a whole: what signs while no game is agreed on."""

    @property
    def command_type(self) -> Any:
        """The msgspec union of all commands, with the tag field "kind"."""

    @property
    def fact_type(self) -> Any:
        """The msgspec union of all facts, with the tag field "fact"."""

    @property
    def state_type(self) -> type:
        """The game's position document, a frozen msgspec Struct."""

    @property
    def hidden_type(self) -> type:
        """The hidden part of the position, a frozen msgspec Struct."""

    def blank(self) -> Any:
        """The state before the first entry."""

    def decide(self, state: Any, command: Any, past: Past | None = None) -> Ruling[Any]:
        """Rule on a command, with the record for what looks back. Raises :class:`domain.kernel.refusal.Refusal`."""

    def evolve(self, state: Any, fact: Any) -> Any:
        """The state after one fact."""

    def public(self, state: Any) -> Any:
        """The position with everything hidden blanked."""

    def hidden(self, state: Any) -> Any:
        """The hidden part: seed, orders of decks, sealed answers."""

    def seats(self, state: Any) -> dict[str, str]:
        """Seat id to player."""

    def player_of(self, command: Any) -> str | None:
        """The player a command speaks for; None for commands of the organiser and the system."""

    def is_secret(self, state: Any, command: Any) -> bool:
        """Whether what the command says belongs to its author alone for now."""

    def pinned(self, state: Any) -> str:
        """The engine that a game is to be ruled by, as entries name it; empty where none is agreed."""

    def engine_of(self, state: Any) -> str:
        """The engine that this code is for a game, as entries name it; for the blank state :attr:`version`."""

    def is_over(self, state: Any) -> bool:
        """Whether the game has ended."""

    def shared_seed(self, state: Any) -> tuple[SharedSeed, Stage] | None:
        """The seed that a table shares with others, and how far it is with it."""
