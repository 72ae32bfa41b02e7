"""Chance: every draw comes from one seed by HMAC-SHA-256 over the occasion it is made for.

The label names the occasion (deck, round, area …) and a counter runs within it only. One combat more or
less therefore shifts no later draw, and anybody who knows the seed can check each draw alone.

Source: RFC 2104 (HMAC); R. Durstenfeld, "Algorithm 235: Random permutation", CACM 7 (1964).
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")

_DOMAIN = b"rookery/chance/1\x00"


def commitment(seed: str) -> str:
    """Hexadecimal SHA-256 of a seed (itself hexadecimal, 32 bytes), published before the first draw."""
    return hashlib.sha256(_DOMAIN + bytes.fromhex(seed)).hexdigest()


def _words(seed: str, occasion: str) -> Iterator[int]:
    """Endless 64-bit words for one occasion."""
    key = bytes.fromhex(seed)
    counter = 0
    while True:
        block = hmac.new(
            key, _DOMAIN + occasion.encode() + b"\x00" + counter.to_bytes(8, "big"), hashlib.sha256
        ).digest()
        for start in range(0, 32, 8):
            yield int.from_bytes(block[start : start + 8], "big")
        counter += 1


def _below(words: Iterator[int], bound: int) -> int:
    """Uniform from 0 to bound-1; words that would favour small numbers are thrown away."""
    limit = (1 << 64) - (1 << 64) % bound
    word = next(words)
    while word >= limit:
        word = next(words)
    return word % bound


def shuffled(seed: str, occasion: str, items: Sequence[T]) -> tuple[T, ...]:
    """A uniform permutation of ``items`` for this occasion; the items' given order is part of the result's proof."""
    words = _words(seed, occasion)
    pile = list(items)
    for last in range(len(pile) - 1, 0, -1):
        other = _below(words, last + 1)
        pile[last], pile[other] = pile[other], pile[last]
    return tuple(pile)


def stated(wanted: Sequence[str], items: Sequence[str]) -> tuple[str, ...]:
    """``items`` with the stated draws on top, in the order given, and the rest in the order it had.

    Raises ValueError when a stated card is not among the items.
    """
    rest = list(items)
    for card in wanted:
        if card not in rest:
            raise ValueError(f"{card} is not in the deck")
        rest.remove(card)
    return (*wanted, *rest)
