"""A stated fact with one word or number in it that means something else, or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from domain.kernel.facts import Fact

UNKNOWN = ("nobody-knows", "", "\x1b[31mred\u202e", "march-plus-1", "stark", "x" * 100)
NUMBERS = (0, -1, 999, -999)


def otherwise(value: Any) -> Iterator[Any]:
    """The same value with one thing in it that is another."""
    match value:
        case bool() | None:
            yield not value
        case str():
            yield from UNKNOWN
        case int():
            yield from NUMBERS
        case list() | tuple():
            yield []
            for place, one in enumerate(value):
                yield from ([*value[:place], other, *value[place + 1 :]] for other in otherwise(one))
        case dict():
            for name, one in value.items():
                yield from ({**value, name: other} for other in otherwise(one))
                yield from ({other: one} for other in UNKNOWN)


def nonsense(example: Fact) -> Iterator[dict[str, Any]]:
    """Facts of one kind as somebody may state them."""
    plain: dict[str, Any] = msgspec.to_builtins(example)
    for name, value in plain.items():
        if name != "fact":
            yield from ({**plain, name: other} for other in otherwise(value))
    yield {**plain, "rules": ["nobody-knows", "\x1b[31mred\u202e"]}
