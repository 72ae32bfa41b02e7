"""Where a command finds its store: by URL, at a running server, or in servers started for its own time.

A data directory has one owner at a time. ``rookery up`` owns it as long as it runs and says so in
``server.json``; a command then is its client. Otherwise the command owns it while it runs, starts the
embedded servers and adjudicates by itself; two such commands come one after the other.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from api.cli.common import AWAY, REFUSED, REPEATED, Document, Failure, Options, made, usage
from api.desk import Desk
from api.running import running
from api.tokens import Caller, Tokens, operator_token
from domain.thrones.language.state import State
from domain.thrones.ruleset import THRONES
from events import layout
from events.connecting import BadStoreUrl, connect
from events.embedded import DirectoryInUse, Embedded, find
from events.envelope import Receipt, Stored
from events.errors import StoreAway
from events.heads import Heads, HeadsUnusable
from events.notes import Signer
from events.store import Store, awaited
from worker.adjudicate import LEASE_SECONDS, adjudicate
from worker.jobs import make_bell
from worker.settings import Settings, judges
from worker.sharing import see_to_shared
from worker.trial import Trial

PATIENCE_SECONDS = 10.0
"""How long a worker may take for a ruling before this process rules itself. Both at once do no harm."""

OWNER_SECONDS = 60.0
"""How long another command may keep the data directory."""


class Place:
    """A desk, and somebody who adjudicates. ``is_ours``: nobody else does, so this process must."""

    def __init__(self, desk: Desk, *, is_ours: bool, store_url: str, queue_url: str, data: Path | None) -> None:
        self.desk = desk
        self.is_ours = is_ours
        self.has_ruled = False
        self.store_url = store_url
        self.queue_url = queue_url
        self.data = data
        self.heads: Heads | None = None

    def remember(self, directory: Path) -> None:
        """Write down in a data directory what the store acknowledges to us. Where no server does, compare it first."""
        self.heads = Heads(directory, self.desk.store, self.store_url, compares=self.is_ours)
        if self.is_ours:
            self.heads.look()

    def close(self) -> None:
        """Let go of all connections."""
        if self.heads is not None:
            self.heads.close()
        self.desk.store.client.close()
        if self.desk.bell is not None:
            self.desk.bell.client.close()

    def settle(self, game: str) -> None:
        """Rule on what waits, if that is our work."""
        if self.is_ours:
            self.adjudicate(game)

    def adjudicate(self, game: str) -> None:
        judge = judges().get(self.desk.store.record(game).rules)
        if judge is None:
            return
        urls = {"ROOKERY_STORE": self.store_url, "ROOKERY_QUEUE": self.queue_url}
        trial = Trial(Settings.from_environment({**os.environ, **urls}))
        until = time.monotonic() + 2 * LEASE_SECONDS
        while True:
            done = adjudicate(self.desk.store, judge, game, warm=self.desk.warm, trial=trial)
            self.has_ruled |= bool(done.ruled)
            # Where nobody else works, the lease is that of a process which was killed: it runs out.
            if done.how != "busy" or not self.is_ours or time.monotonic() > until:
                return
            time.sleep(0.1)

    def see_to_shared(self) -> None:
        """Open shared seeds whose last table has ended, if that is our work."""
        if not self.is_ours:
            return
        rung: set[str] = set()
        while see_to_shared(self.desk.store, judges(), rung.add) and rung:
            for game in sorted(rung):
                self.adjudicate(game)
            rung.clear()

    def conclude(self) -> None:
        """After a command that ruled, also one that failed in the end: a table that has ended may open a seed."""
        if self.has_ruled:
            self.see_to_shared()

    def ruling(self, receipt: Receipt) -> Stored:
        """The entry that answers a submission."""
        self.settle(receipt.game)
        found = self.desk.ruling(receipt.game, receipt.inbox, 0 if self.is_ours else PATIENCE_SECONDS)
        if found is None and not self.is_ours:
            self.adjudicate(receipt.game)
            found = self.desk.ruling(receipt.game, receipt.inbox, PATIENCE_SECONDS)
        if found is None:
            record = self.desk.store.record(receipt.game)
            parked, waits = record.parked, record.waits
            why = (
                f"The game is parked since {parked.at}: {parked.error} at {parked.where}."
                if parked
                else f"It waits for {awaited(waits.engine)}."
                if waits
                else "No worker has ruled on it yet."
            )
            raise Failure(
                AWAY,
                "not-ruled",
                f"Submission {receipt.inbox} is in the store and stays there. {why}",
                inbox=receipt.inbox,
            )
        return found

    def caller(self, game: str, seat: str = "", token: str = "") -> Caller:
        """Who acts: the operator, unless a seat or a token narrows it."""
        self.desk.store.record(game)
        if token:
            caller = self.desk.tokens.caller(game, token)
            if caller is None:
                raise Failure(REFUSED, "not-allowed", f"This token is nobody's in game {game!r}.")
            if seat and caller.seat != self.seat(game, seat):
                raise Failure(REFUSED, "not-your-seat", f"The token does not speak for seat {seat!r}.")
            return caller
        return Caller("seat", self.seat(game, seat)) if seat else Caller("operator")

    def enter(self, game: str, seat: str = "", token: str = "") -> Caller:
        """Who acts in a game, in which all that waits is ruled on first if that is our work."""
        caller = self.caller(game, seat, token)
        self.settle(game)
        return caller

    def house(self, game: str, name: str) -> str:
        """The House of this seat, or that is called so."""
        state: State = self.desk.line(game).state
        return state.charter.seats.get(name) or self.desk.lexicon(game).houses.resolve(name, 1)

    def seat(self, game: str, name: str) -> str:
        """The seat that is called so, or that plays this House."""
        state: State = self.desk.line(game).state
        seats = THRONES.seats(state)
        if name in seats:
            return name
        houses = self.desk.lexicon(game).houses.find(name)
        found = [seat for seat, house in sorted(seats.items()) if house in houses]
        if len(found) == 1:
            return found[0]
        known = ", ".join(f"{seat} ({house})" for seat, house in sorted(seats.items())) or "none yet"
        raise usage(f"Game {game!r} has no seat {name!r}. There are: {known}.", seat=name)


@contextmanager
def place(options: Options, *, may_begin: bool = False, looks: bool = False) -> Iterator[Place]:
    """The place that the options name. ``may_begin``: a data directory may be made.

    ``looks``: for somebody who looks after the directory, so that keys and memories that cannot be read stop nothing.
    """
    directory = options.directory()
    if options.store:
        found = _by_url(options.store, options.queue)
        if options.data and directory.is_dir():
            _remember(found, directory, looks)
    else:
        if not may_begin and not (directory / "store").exists():
            raise usage(f"There is no data of Rookery in {directory}. --data names another directory.")
        servers = _own_or_find(directory)
        if isinstance(servers, Embedded):
            with _ours(directory, servers, looks) as ours:
                yield ours
            return
        found = _by_url(*servers)
        found.data = directory
        layout.check(found.desk.store)
        if not looks:
            found.desk.tokens = Tokens(found.desk.store, operator_token(directory))
            found.desk.signer = Signer.of_directory(directory)
        _remember(found, directory, looks)
    try:
        yield found
    finally:
        found.close()


def at_place(
    body: Callable[..., Document] | None = None, *, may_begin: bool = False, repeated: Sequence[str] = REPEATED
) -> Callable[..., Any]:
    """Makes a command of a body that is given its Out and the open Place that the options name."""
    if body is None:
        return partial(at_place, may_begin=may_begin, repeated=repeated)
    return made(body, repeated, partial(place, may_begin=may_begin))


@contextmanager
def _ours(directory: Path, servers: Embedded, looks: bool) -> Iterator[Place]:
    """A place whose servers are there for our own time."""
    try:
        store = Store.connect(servers.store_url)
        tokens = Tokens(store, "" if looks else operator_token(directory))
        desk = Desk(store, tokens, None, signer=None if looks else Signer.of_directory(directory))
        urls = {"store_url": servers.store_url, "queue_url": servers.queue_url}
        here = Place(desk, is_ours=True, data=directory, **urls)
        try:
            if looks:
                layout.check(store)
            else:
                layout.migrate(store)
            _remember(here, directory, looks)
            try:
                yield here
            except Failure:
                here.conclude()
                raise
            here.conclude()
        finally:
            here.close()
    finally:
        servers.stop()


def _remember(here: Place, directory: Path, looks: bool) -> None:
    try:
        here.remember(directory)
    except HeadsUnusable:
        if not looks:
            raise
        here.heads = None


def _by_url(store_url: str, queue_url: str = "") -> Place:
    try:
        store = Store.connect(store_url)
        bell = make_bell(connect(queue_url or store_url, patience_seconds=0.5))
    except BadStoreUrl as error:
        raise usage(str(error)) from error
    store.ping()
    layout.check(store)
    return Place(
        Desk(store, Tokens(store), bell),
        is_ours=False,
        store_url=store_url,
        queue_url=queue_url or store_url,
        data=None,
    )


def _own_or_find(directory: Path) -> Embedded | tuple[str, str]:
    """The servers of a data directory: ours for now, or those of somebody who stays."""
    began = time.monotonic()
    while True:
        try:
            return Embedded(directory).start()
        except DirectoryInUse:
            # Commands come one after the other; whoever is still there after a while has come to stay.
            waited = time.monotonic() - began
            if running(directory) is not None or waited > PATIENCE_SECONDS:
                urls = find(directory)
                if urls is not None:
                    return urls
                if running(directory) is not None and waited > PATIENCE_SECONDS:
                    raise StoreAway("a server runs on this data directory, but its stores are silent") from None
            if waited > OWNER_SECONDS:
                raise
            time.sleep(0.05)
