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

from domain.kernel.agreed import Arbitration
from domain.kernel.shared import SharedSeed
from domain.thrones.tables.charter import Chance, Charter, Switches, Variations
from domain.thrones.tables.variations import PRESETS, words_of

PIN_LETTERS = 16
"""How much of a SHA-256 a pin is: two behaviours that differ by chance alone agree in one of 2^64 pairs."""

ANY_NUMBER = "N"
"""The word of an option that takes a number, where any but the usual one is meant."""

OWN_SEED, SHARED_SEED, JOINT_SEED = "own", "shared", "joint"
"""Whose seed a game draws from: its own, that of several tables, or its own made by server and seats together."""


class Digests(msgspec.Struct, frozen=True):
    """What a preset, or a word in it, plays by: digests of its values and of its rulings on the corpus."""

    values: str
    rulings: str


class Behaviour(msgspec.Struct, frozen=True):
    """The digests of all presets; those of words by preset, and there as ``name=word``.

    ``seed=joint`` is a word that no charter says: how server and seats make a seed together is ruled on before the game
    begins. So it is part of :data:`ENGINE` only.
    """

    presets: dict[str, Digests]
    words: dict[str, dict[str, Digests]]


def digest(document: Any) -> str:
    """SHA-256 over the canonical form of plain data."""
    return hashlib.sha256(msgspec.json.encode(document, order="sorted")).hexdigest()[:PIN_LETTERS]


def words_agreed(charter: Charter) -> dict[str, str]:
    """All that a charter says in words, by name: how the game is played, how disputes are, where draws come from."""
    variations = charter.agreed
    return {
        **words_of(variations),
        **words_of(charter.switches),
        **words_of(charter.arbitration),
        "chance": charter.chance,
        "seed": OWN_SEED if charter.shared_seed is None else SHARED_SEED,
    }


def departing(charter: Charter) -> Iterator[str]:
    """The words in which a charter departs from its preset, as ``name=word``, sorted."""
    preset = PRESETS[charter.edition]
    usual = words_agreed(Charter(charter.edition, (), preset.switches, variations=preset.variations))
    for name, word in sorted(words_agreed(charter).items()):
        if word != usual[name]:
            yield f"{name}={word}"


def parts(charter: Charter, behaviour: Behaviour | None = None) -> dict[str, Any]:
    """What the pin of a charter is put together from, by name."""
    known = behaviour or BEHAVIOUR
    found: dict[str, Any] = {charter.edition: known.presets.get(charter.edition)}
    for word in departing(charter):
        name, _, said = word.partition("=")
        played = f"{name}={ANY_NUMBER}" if said.isdecimal() else word
        # A word without digests is one that is being made. A number is part of the pin by its name.
        found[word] = known.words.get(charter.edition, {}).get(played)
    if isinstance(charter.tables, dict) and charter.tables:
        found["tables"] = digest(charter.tables)
    return found


def pin(charter: Charter, behaviour: Behaviour | None = None) -> str:
    """The pin of this code for a charter."""
    if behaviour is not None:
        return digest(parts(charter, behaviour))
    own = charter.tables if isinstance(charter.tables, dict) else {}
    variations = charter.agreed
    is_shared = charter.shared_seed is not None
    agreed = (charter.switches, variations, charter.arbitration, charter.chance, is_shared)
    return _pin(charter.edition, *agreed, msgspec.json.encode(own, order="sorted"))


@lru_cache(maxsize=256)
def _pin(
    edition: str,
    switches: Switches,
    variations: Variations,
    arbitration: Arbitration,
    chance: Chance,
    is_shared: bool,
    own: bytes,
) -> str:
    shared = SharedSeed("", "") if is_shared else msgspec.UNSET
    tables = msgspec.json.decode(own)
    charter = Charter(edition, (), switches, {}, chance, arbitration, "", shared, variations, tables)
    return digest(parts(charter))


def _read() -> Behaviour:
    return msgspec.json.decode(files(__package__).joinpath("editions/behaviour.json").read_bytes(), type=Behaviour)


BEHAVIOUR = _read()

ENGINE = digest(BEHAVIOUR)
"""The engine of this code as a whole, whatever is played: it signs what is refused before a charter is agreed on."""
