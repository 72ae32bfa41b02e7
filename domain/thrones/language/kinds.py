"""Every kind of answer that has been declared, for the types of the record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Union

from domain.kernel.decision import kind_of
from domain.thrones.language import answers as _declared  # noqa: F401  # the kinds of the books
from domain.thrones.language.answers.base import DECLARED, HouseAnswer

ANSWERS: tuple[type[HouseAnswer], ...] = tuple(DECLARED)
"""The kinds of decision, those of the books in the order of section 26."""

KINDS: tuple[str, ...] = tuple(map(kind_of, ANSWERS))

if TYPE_CHECKING:
    AnyAnswer = HouseAnswer
else:
    AnyAnswer: Any = Union[ANSWERS]  # noqa: UP007  # built from a list
"""Any answer; the tag tells which."""
