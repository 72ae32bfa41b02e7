"""Which engine a charter is ruled by: a pin of behaviour, not a number that somebody has to remember to raise.

``editions/behaviour.json`` holds two digests for each preset, and for each word that departs from it: one of the
effective values, one of the rulings on a frozen corpus. It is made by ``make pins``, and a test holds it fresh. The pin
of a charter is put together from those that it touches, and from its own values. See docs/engine.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from typing import Any

import msgspec

from domain.thrones.tables.charter import AS_PRINTED, Charter, Switches, Variations
from domain.thrones.tables.variations import PRESETS, words_of

PIN_LETTERS = 16
"""How much of a SHA-256 a pin is: two behaviours that differ by chance alone agree in one of 2^64 pairs."""


class Digests(msgspec.Struct, frozen=True):
    """What a preset, or a word in it, plays by: digests of its values and of its rulings on the corpus."""

    values: str
    rulings: str


class Behaviour(msgspec.Struct, frozen=True):
    """The digests of all presets; those of words by preset, and there as ``name=word``."""

    presets: dict[str, Digests]
    words: dict[str, dict[str, Digests]]


def digest(document: Any) -> str:
    """SHA-256 over the canonical form of plain data."""
    return hashlib.sha256(msgspec.json.encode(document, order="sorted")).hexdigest()[:PIN_LETTERS]


def departing(charter: Charter) -> Iterator[str]:
    """The words in which a charter departs from its preset, as ``name=word``, sorted."""
    preset = PRESETS[charter.edition]
    variations = charter.variations if isinstance(charter.variations, Variations) else AS_PRINTED
    agreed = words_of(variations) | words_of(charter.switches)
    usual = words_of(preset.variations) | words_of(preset.switches)
    for name, word in sorted(agreed.items()):
        if word != usual[name]:
            yield f"{name}={word}"


def parts(charter: Charter, behaviour: Behaviour | None = None) -> dict[str, Any]:
    """What the pin of a charter is put together from, by name."""
    known = behaviour or BEHAVIOUR
    found: dict[str, Any] = {charter.edition: known.presets.get(charter.edition)}
    for word in departing(charter):
        found[word] = known.words.get(charter.edition, {}).get(word)  # a word without digests is one that is being made
    if isinstance(charter.tables, dict) and charter.tables:
        found["tables"] = digest(charter.tables)
    return found


def pin(charter: Charter, behaviour: Behaviour | None = None) -> str:
    """The pin of this code for a charter."""
    if behaviour is not None:
        return digest(parts(charter, behaviour))
    own = charter.tables if isinstance(charter.tables, dict) else {}
    variations = charter.variations if isinstance(charter.variations, Variations) else AS_PRINTED
    return _pin(charter.edition, variations, charter.switches, msgspec.json.encode(own, order="sorted"))


@lru_cache(maxsize=256)
def _pin(edition: str, variations: Variations, switches: Switches, own: bytes) -> str:
    charter = Charter(edition, (), switches, variations=variations, tables=msgspec.json.decode(own))
    return digest(parts(charter))


def _read() -> Behaviour:
    return msgspec.json.decode(files(__package__).joinpath("editions/behaviour.json").read_bytes(), type=Behaviour)


BEHAVIOUR = _read()

ENGINE = digest(BEHAVIOUR)
"""The engine of this code as a whole, whatever is played: it signs what is refused before a charter is agreed on."""
