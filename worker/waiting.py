"""What of a game's inbox is ruled on next; the same for who rules and for who tries."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from events.envelope import Submission
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
        waiting = store.submissions(game, line.taken, most)
        return [one for one in _page(waiting) if one.number not in line.ahead]
    for one in store.submissions(game, line.taken):
        hold_on()
        if one.number not in line.ahead and judge.may_go_ahead(line.state, one):
            return [one]
    raise lacking


def _page(submissions: Iterator[Submission]) -> Iterator[Submission]:
    """As many as have about a page of bytes together; one in any case."""
    size = 0
    for one in submissions:
        yield one
        size += len(bytes(one.command))
        if size >= PAGE_BYTES:
            return
