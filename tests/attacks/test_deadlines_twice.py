"""A missed deadline that is sent twice must not take the next decision away."""

from __future__ import annotations

import pytest

from domain.kernel.commands import PassDeadline
from domain.kernel.refusal import Refusal
from domain.thrones.ruleset import THRONES
from tests.domain.thrones.games import spec
from tests.domain.thrones.review.rewinds import book_of


def test_every_deadline_of_a_game_counts_once_however_often_it_is_sent() -> None:
    book = book_of(spec(0))
    again = 0
    for entry in range(1, book.version):
        state = book.cut(entry).now
        for decision in THRONES.decisions(state):
            passed = PassDeadline(player=decision.player, question=state.question)
            after = THRONES.decide(state, passed, book.cut(entry)).state
            with pytest.raises(Refusal) as refused:
                THRONES.decide(after, passed, book.cut(entry))
            assert refused.value.code in ("question-closed", "not-awaited", "game-over")
            again += 1
    assert again > 50


def test_a_deadline_without_its_question_is_refused() -> None:
    book = book_of(spec(0))
    state = next(book.cut(entry).now for entry in range(1, book.version) if THRONES.decisions(book.cut(entry).now))
    with pytest.raises(Refusal) as refused:
        THRONES.decide(state, PassDeadline(player=THRONES.decisions(state)[0].player), book)
    assert refused.value.code == "question-missing"
