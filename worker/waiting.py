"""What of a game's inbox is ruled on next; the same for who rules and for who tries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

from events.envelope import Submission, stream_id
from events.errors import FromTheFuture, KeptDamaged
from events.limits import PAGE_BYTES
from events.ruling import Judge, Line
from events.store import Store


def next_submissions(
    store: Store, judge: Judge, game: str, line: Line, most: int, hold_on: Callable[[], None]
) -> list[Submission]:
    """Submissions in their order, so many at most, or the act that moves the game to this engine.

    It is taken up before the letters that wait for it. Raises EngineLacking where there is none, and FromTheFuture
    where what comes first was written by a newer Rookery.
    """
    lacking = judge.lacking(line.state)
    if lacking is None:
        found: list[Submission] = []
        try:
            for one in _page(_in_order(store.submissions(game, line.taken, most), line.taken)):
                if one.number not in line.ahead:
                    found.append(one)
        except (FromTheFuture, KeptDamaged):
            if not found:  # otherwise what is in front of it is ruled on, and then it comes first
                raise
        return found
    with suppress(FromTheFuture):  # what lies behind it is for whoever can read it
        for one in _in_order(store.submissions(game, line.taken), line.taken):
            hold_on()
            if one.number not in line.ahead and judge.may_go_ahead(line.state, one):
                return [one]
    raise lacking


def _in_order(submissions: Iterator[Submission], after: int) -> Iterator[Submission]:
    """Each in its place: nothing is ruled on where a submission before it is gone. Raises KeptDamaged."""
    for number, one in enumerate(submissions, after + 1):
        if one.inbox != stream_id(number):
            raise KeptDamaged(f"submission {number}")
        yield one


def _page(submissions: Iterator[Submission]) -> Iterator[Submission]:
    """As many as have about a page of bytes together; one in any case."""
    size = 0
    for one in submissions:
        yield one
        size += len(bytes(one.command))
        if size >= PAGE_BYTES:
            return
