"""Tokens: who may speak for a seat, organise a game, or create games.

A token is shown once, when it is issued; the store keeps its SHA-256. Issuing again makes the old one
void, and is written down for everybody to see: whoever can issue a seat's token can sit down there. Tokens of
a game live beside its streams on the durable server, the operator's token in a file that only its user can read.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from events.connecting import translated
from events.envelope import encode
from events.keys import game_key
from events.store import Store

ORGANISER = "organiser"
ARBITER = "arbiter"
OPERATOR_FILE = "operator.token"


class Caller(msgspec.Struct, frozen=True):
    """Who asks: the public, a seat, the organiser or an arbiter of one game, or the operator of the server.

    An arbiter has a ``name``; ``plays`` is his seat, where he plays in the game himself. He does not speak for it.
    """

    role: str = "public"
    seat: str | None = None
    name: str = ""
    plays: str = ""

    @property
    def is_organiser(self) -> bool:
        """Whether the caller may run the game: its organiser, or the operator."""
        return self.role in (ORGANISER, "operator")

    @property
    def is_arbiter(self) -> bool:
        """Whether the caller may take back, correct and rule on appeals: an arbiter, or the operator."""
        return self.role in (ARBITER, "operator")

    @property
    def called(self) -> str:
        """The caller as the record names him."""
        return f"{ARBITER} {self.name}" if self.role == ARBITER else self.role


PUBLIC = Caller()


def digest(token: str) -> str:
    """What the store keeps of a token. Tokens have 256 random bits, so a plain hash is enough."""
    return hashlib.sha256(token.encode()).hexdigest()


def operator_token(directory: Path) -> str:
    """The operator's token of a data directory, made on first use and readable by its user only."""
    path = directory / OPERATOR_FILE
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text().strip()
    token = "operator-" + secrets.token_urlsafe(32)
    with os.fdopen(descriptor, "w") as file:
        file.write(token + "\n")
    return token


class Issue(msgspec.Struct, frozen=True, omit_defaults=True):
    """A token was issued: for a seat, the organiser or ``arbiter:NAME`` (``plays``: his seat), by whom, when."""

    who: str
    by: str
    at: str
    plays: str = ""


def _random() -> str:
    return secrets.token_urlsafe(32)


class Tokens:
    """Tokens of all games in a store. ``operator`` is the operator's token, empty where there is none."""

    def __init__(
        self,
        store: Store,
        operator: str = "",
        *,
        make: Callable[[], str] = _random,
        clock: Callable[[], str] | None = None,
    ) -> None:
        self._client: Any = store.client
        self._reading = store.reading
        self._operator = operator
        self._make = make
        self._clock = clock or store.now

    @translated
    def issue(self, game: str, who: str, by: str = "operator") -> str:
        """A new token for a seat or the organiser; any earlier one is void from now on."""
        token = f"{'organiser' if who == ORGANISER else 'seat'}-{game}.{self._make()}"
        with self._client.pipeline(transaction=True) as both:
            both.hset(game_key(game, "tokens"), who, digest(token))
            both.rpush(game_key(game, "issues"), encode(Issue(who, by, self._clock())))
            both.execute()
        return token

    @translated
    def issue_arbiter(self, game: str, name: str, plays: str = "", by: str = "operator") -> str:
        """A new token for an arbiter. ``plays`` is his seat, if he has one; the charter says whether he may."""
        token = f"{ARBITER}-{game}.{self._make()}"
        who = f"{ARBITER}:{name}"
        with self._client.pipeline(transaction=True) as both:
            both.hset(game_key(game, "tokens"), who, digest(token))
            both.hset(game_key(game, "arbiters"), name, plays)
            both.rpush(game_key(game, "issues"), encode(Issue(who, by, self._clock(), plays)))
            both.execute()
        return token

    @translated
    def issues(self, game: str) -> tuple[Issue, ...]:
        """Every token that was ever issued for a game, oldest first."""
        with self._reading(game, "the list of tokens"):
            return tuple(
                msgspec.json.decode(raw, type=Issue) for raw in self._client.lrange(game_key(game, "issues"), 0, -1)
            )

    @translated
    def issued_before(self, game: str, count: int) -> str:
        """When the token was issued that is so many from the last one; empty where there are fewer."""
        raw = self._client.lindex(game_key(game, "issues"), -count)
        with self._reading(game, "the list of tokens"):
            return "" if raw is None else msgspec.json.decode(raw, type=Issue).at

    @translated
    def arbiters(self, game: str) -> tuple[str, ...]:
        """The names of a game's arbiters, sorted."""
        with self._reading(game, "the list of arbiters"):
            return tuple(sorted(name.decode() for name in self._client.hkeys(game_key(game, "arbiters"))))

    @translated
    def caller(self, game: str, token: str | None) -> Caller | None:
        """Whose token this is for a game; None when it is nobody's."""
        if token is None:
            return PUBLIC
        if self.is_operator(token):
            return Caller("operator")
        wanted = digest(token).encode()
        for who, kept in self._client.hgetall(game_key(game, "tokens")).items():
            if hmac.compare_digest(kept, wanted):
                name = who.decode(errors="replace")
                if name.startswith(f"{ARBITER}:"):
                    name = name.removeprefix(f"{ARBITER}:")
                    plays = self._client.hget(game_key(game, "arbiters"), name) or b""
                    return Caller(ARBITER, None, name, plays.decode(errors="replace"))
                return Caller(ORGANISER) if name == ORGANISER else Caller("seat", name)
        return None

    def is_for_another_game(self, game: str, token: str) -> bool:
        """Whether a token that is nobody's here is good elsewhere; its holder may be told so."""
        named = token.partition("-")[2].rpartition(".")[0]
        return named not in ("", game) and self.caller(named, token) is not None

    def is_operator(self, token: str | None) -> bool:
        return (
            bool(self._operator) and token is not None and hmac.compare_digest(token.encode(), self._operator.encode())
        )
