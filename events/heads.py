"""The heads of games as this machine knows them, kept outside of the store, so that a store which forgets is found out.

Whatever is acknowledged here is noted in memory, which costs an append nothing, and is written to one small file in
the data directory by a thread, at most a second later: of each game the newest submission and the newest entry, by
number and digest. All processes of a data directory share the file. Whoever starts compares it with the store. A game
that is shorter than what was acknowledged, or another one, or gone, is *held*: its hash says what was lost, nobody
rules on it or adds to it, everybody may read it, until the operator goes on from what is left, on the record.

Heads belong to a store by its address, without the password. A store that is started again, with what it has left, is
noticed by its run id; then the thread compares before it writes anything.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from events.durability import run_of
from events.embedded import lies_in
from events.errors import RecordError
from events.losses import Head, Loss, compare, head_of, hold, larger, release_whole, relist
from events.store import Store

FILE = "heads.sqlite"
EMBEDDED = "embedded"
"""The name of the store that lies in the data directory itself, which may be moved."""

WRITE_SECONDS = 0.5
MOST_KNOWN = 10_000
"""How many games one process remembers besides the file."""

_UPSERT = """
INSERT INTO heads (store, game, inbox, submission, version, digest) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (store, game) DO UPDATE SET
  submission = CASE WHEN excluded.inbox > inbox THEN excluded.submission ELSE submission END,
  inbox = max(inbox, excluded.inbox),
  digest = CASE WHEN excluded.version > version THEN excluded.digest ELSE digest END,
  version = max(version, excluded.version)
"""

_REPLACE = "INSERT OR REPLACE INTO heads (store, game, inbox, submission, version, digest) VALUES (?, ?, ?, ?, ?, ?)"


_TABLE = """
CREATE TABLE IF NOT EXISTS heads (
  store TEXT, game TEXT, inbox INTEGER, submission TEXT, version INTEGER, digest TEXT, PRIMARY KEY (store, game)
) WITHOUT ROWID
"""


_ROW = (str, int, str, int, str)


class HeadsUnusable(RecordError):
    """The file of heads cannot be used."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"The file {path}, which remembers what was acknowledged, cannot be used: {why}.")


def name_of_store(url: str, directory: Path) -> str:
    """What a store is called among heads: its address without a password, or that it lies in the directory itself."""
    if lies_in(directory, url):
        return EMBEDDED
    split = urlsplit(url)
    return f"{split.scheme}://{split.hostname or ''}:{split.port or ''}{split.path}"


class File:
    """The file with the heads of a data directory. Small: a row for each game."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / FILE

    def read(self, store: str) -> dict[str, Head]:
        """The heads of one store; none where there is no file yet."""
        if not self.path.exists():
            return {}
        with self._open() as file:
            rows = file.execute(
                "SELECT game, inbox, submission, version, digest FROM heads WHERE store = ?", (store,)
            ).fetchall()
        if not all(isinstance(one, kind) for row in rows for one, kind in zip(row, _ROW, strict=True)):
            raise HeadsUnusable(self.path, "a row of it is not as it was written")
        if any(inbox < 0 or version < 0 for _, inbox, _, version, _ in rows):
            raise HeadsUnusable(self.path, "a row of it is not as it was written")
        return {game: Head(*rest) for game, *rest in rows}

    def stores(self) -> dict[str, int]:
        """Of how many games heads are kept, by store."""
        if not self.path.exists():
            return {}
        with self._open() as file:
            return dict(file.execute("SELECT store, count(*) FROM heads GROUP BY store").fetchall())

    def write(self, store: str, heads: Mapping[str, Head]) -> None:
        """Keep heads; of each part the one with the larger number stays, and the first of two with the same."""
        self._write(_UPSERT, store, heads)

    def replace(self, store: str, game: str, head: Head) -> None:
        """Keep exactly this head of a game."""
        self._write(_REPLACE, store, {game: head})

    def forget(self, store: str, game: str) -> None:
        """Remember nothing more of a game."""
        with self._open() as file:
            file.execute("DELETE FROM heads WHERE store = ? AND game = ?", (store, game))

    def _write(self, statement: str, store: str, heads: Mapping[str, Head]) -> None:
        if not heads:
            return
        rows = [(store, game, *msgspec.structs.astuple(one)) for game, one in sorted(heads.items())]
        with self._open() as file:
            file.executemany(statement, rows)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """The file, for one transaction. Raises :class:`HeadsUnusable`."""
        try:
            # Its user only: the digest of a submission is enough to guess a bid.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            file = sqlite3.connect(self.path, timeout=30)
            try:
                file.execute("PRAGMA synchronous = FULL")
                with file:
                    file.execute(_TABLE)
                    yield file
            finally:
                file.close()
        except (OSError, sqlite3.Error) as error:
            raise HeadsUnusable(self.path, str(error)) from error


class Heads:
    """What one process notes of one store. Made, it is the store's witness; :meth:`start` compares and goes on writing.

    A short command need not be started: what it notes is written when it is closed, and it ``compares`` only where no
    server does. ``tell`` hears of every game that is held, ``trouble`` when the file cannot be written to.
    """

    def __init__(
        self,
        directory: Path,
        store: Store,
        url: str,
        *,
        tell: Callable[[Loss], None] = lambda loss: None,
        trouble: Callable[[str], None] = lambda why: None,
        write_seconds: float = WRITE_SECONDS,
        compares: bool = True,
    ) -> None:
        self.file = File(directory)
        self.name = name_of_store(url, directory)
        self._store = store
        self._tell = tell
        self._trouble = trouble
        self._write_seconds = write_seconds
        self._compares = compares
        self._known: OrderedDict[str, Head] = OrderedDict()
        self._fresh: dict[str, Head] = {}
        self._suspect: set[str] = set()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._run = ""
        self._is_troubled = False
        store.witness = self

    # What the store tells

    def submitted(self, game: str, number: int, digest: str) -> None:
        """A submission was acknowledged."""
        self._note(game, Head(inbox=number, submission=digest))

    def appended(self, game: str, version: int, digest: str) -> None:
        """An entry was acknowledged."""
        self._note(game, Head(version=version, digest=digest))

    def is_behind(self, game: str, version: int) -> bool:
        """Whether a ledger of this length lacks an entry that was acknowledged; then the game is held."""
        with self._lock:
            known = self._known.get(game, Head())
        if version >= known.version:
            return False
        return bool(self._hold({game: known}))

    def _note(self, game: str, news: Head) -> None:
        """A number that does not grow is looked into: it may be an acknowledgement that overtook another, or a loss."""
        with self._lock:
            known = self._known.get(game, Head())
            if 0 < news.inbox <= known.inbox or 0 < news.version <= known.version:
                self._suspect.add(game)
                self._wake.set()
                return
            if game in self._suspect:
                return  # what it had before is compared first
            self._known[game] = self._fresh[game] = larger(known, news)
            self._known.move_to_end(game)
            while len(self._known) > MOST_KNOWN:
                self._known.popitem(last=False)

    # The file

    def start(self) -> list[Loss]:
        """Compare everything with the store, then write down what comes, in a thread. What is lost."""
        losses = self.look()
        self._thread = threading.Thread(target=self._keep, name="heads", daemon=True)
        self._thread.start()
        return losses

    def close(self) -> None:
        """Write down what is not written yet."""
        self._ending.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        self._turn()

    def look(self) -> list[Loss]:
        """Compare all that was ever acknowledged here, file and memory, with the store; hold what lost something.

        What was held and is whole again goes on.
        """
        self._run = run_of(self._store)
        with self._lock:
            known = dict(self._known)
        relist(self._store)
        losses = {loss.game: loss for heads in (self.file.read(self.name), known) for loss in self._hold(heads)}
        release_whole(self._store)
        return list(losses.values())

    def _hold(self, heads: Mapping[str, Head]) -> list[Loss]:
        found = []
        for loss in compare(self._store, heads):
            self.file.write(self.name, {loss.game: loss.acknowledged})
            found.append(hold(self._store, loss))
            with self._lock:  # the file and the store remember it, and the operator may accept it
                for remembered in (self._known, self._fresh):
                    remembered.pop(loss.game, None)
                self._suspect.discard(loss.game)
            self._tell(found[-1])
        return found

    def _keep(self) -> None:
        while not self._ending.is_set():
            self._wake.wait(self._write_seconds)
            self._wake.clear()
            try:
                self._turn()
            except Exception as error:  # noqa: BLE001 - whatever it is, what comes next is remembered all the same
                self._trouble(f"{type(error).__name__} while heads were compared")

    def _turn(self) -> None:
        """Write down what is new; before that, compare where the store was started again or a number did not grow."""
        with suppress(RecordError):  # the store is away; what it had acknowledged before is written down all the same
            self._compare_again()
        with self._lock:
            fresh = {game: head for game, head in self._fresh.items() if game not in self._suspect}
            for game in fresh:
                del self._fresh[game]
        try:
            self.file.write(self.name, fresh)
            self._is_troubled = False
        except HeadsUnusable as error:
            with self._lock:
                self._fresh = {game: larger(head, self._fresh.get(game, Head())) for game, head in fresh.items()} | {
                    game: head for game, head in self._fresh.items() if game not in fresh
                }
            if not self._is_troubled:
                self._trouble(str(error))
            self._is_troubled = True

    def _compare_again(self) -> None:
        if self._compares and run_of(self._store) != self._run:
            self.look()
        with self._lock:
            suspect = {game: self._known[game] for game in self._suspect if game in self._known}
        if not suspect:
            return
        lost = {loss.game for loss in self._hold(suspect)}
        there = {game: head_of(self._store, game) for game in suspect if game not in lost}
        with self._lock:
            self._suspect -= suspect.keys()
            for game, head in there.items():
                self._known[game] = self._fresh[game] = larger(self._known.get(game, Head()), head)
