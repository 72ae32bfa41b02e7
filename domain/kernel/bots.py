"""A bot that knows no strategy: it picks a legal answer from the options of each open decision."""

from __future__ import annotations

from typing import Any

from domain.kernel.decision import Answer, Decision, Pick


def any_answer(decisions: tuple[Decision[Any], ...], pick: Pick) -> Answer:
    """Some legal answer to some open decision."""
    decision = decisions[pick(len(decisions))]
    answer: Answer = decision.sample(pick)
    return answer
