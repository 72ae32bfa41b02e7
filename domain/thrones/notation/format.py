"""Answers as canonical text. It always names its question, so that a late letter cannot answer the wrong one."""

from __future__ import annotations

from domain.thrones.language.answers import HouseAnswer


def format_answer(answer: HouseAnswer, *, with_house: bool = False) -> str:
    """The canonical text of an answer; ``with_house`` puts ``lannister:`` in front."""
    house = f"{answer.house}: " if with_house else ""
    question = "" if answer.question is None else f" #{answer.question}"
    return f"{house}{answer.written}{question}"
