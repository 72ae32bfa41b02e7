"""Army sizes and the supply limit (2E-GEN-5, 2E-SUP-1 to 2E-SUP-3): arithmetic on numbers alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from domain.kernel.ruleset import EndlessRuling

MOST_REDUCTIONS = 200_000
"""Ways to shrink armies that are looked at: 23 units, all that a House has, can be shrunk in some 4,000 ways."""


def armies(sizes: Iterable[int]) -> tuple[int, ...]:
    """Sizes of the armies, largest first; lone units are none (2E-GEN-5)."""
    return tuple(sorted((size for size in sizes if size > 1), reverse=True))


def complies(sizes: Iterable[int], limit: Sequence[int]) -> bool:
    """The compliance test of 2E-SUP-2."""
    found = armies(sizes)
    return len(found) <= len(limit) and all(size <= most for size, most in zip(found, limit, strict=False))


def least_loss(others: Mapping[str, int], area: str, arriving: int, limit: Sequence[int], room: int | None) -> int:
    """How many of ``arriving`` units must at least be lost so that the rest may stand in ``area``.

    ``others`` are the House's units by area, the arriving ones not among them; ``room`` is the most units
    that ``area`` may hold, if there is such a limit (2E-RET-9).
    """
    there = others.get(area, 0)
    for loss in range(arriving):
        after = there + arriving - loss
        if (room is None or after <= room) and complies({**others, area: after}.values(), limit):
            return loss
    return arriving


def minimal_reductions(sizes: Sequence[int], limit: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every minimal way to shrink armies to the limit, as numbers taken from each (2E-SUP-6).

    A lone unit is no army, so no army shrinks below one.
    """
    for number, reduction in enumerate(product(*(range(size) for size in sizes))):
        if number >= MOST_REDUCTIONS:
            raise EndlessRuling("no House has so many armies")
        left = [size - less for size, less in zip(sizes, reduction, strict=True)]
        if complies(left, limit) and not any(
            less and complies([*left[:index], left[index] + 1, *left[index + 1 :]], limit)
            for index, less in enumerate(reduction)
        ):
            yield reduction
