"""What of a game's inbox is ruled on next; the same for who rules and for who tries."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from events.envelope import Submission, stream_id
from events.errors import KeptDamaged
from events.limits import PAGE_BYTES
from events.ruling import Judge, Line
from events.store import Store


def next_submissions(
    store: Store, judge: Judge, game: str, line: Line, most: int, hold_on: Callable[[], None]
) -> list[Submission]:
    """Submissions in their order, so many at most, or the act that moves the game to this engine.

    It is taken up before the letters that wait for it. Raises EngineLacking where there is none.
    """
    lacking = judge.lacking(line.state)
    if lacking is None:
        waiting = _in_order(store.submissions(game, line.taken, most), line.taken)
        return [one for one in _page(waiting) if one.number not in line.ahead]
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
