"""Whether a charter can be played: its preset, its own tables, its Houses and seats (2E-SET-1, section 0.4)."""

from __future__ import annotations

import msgspec

from domain.kernel.bounds import MOST_NAME
from domain.kernel.refusal import Refusal
from domain.thrones.language.pieces import MOST_AREAS
from domain.thrones.tables.charter import AS_PRINTED, Charter
from domain.thrones.tables.edition import Edition
from domain.thrones.tables.editions.composed import edition_of
from domain.thrones.tables.variations import PRESETS, check_variations


def check_charter(charter: Charter) -> None:
    """Raise a refusal for a charter that no game can be played by (2E-SET-1, section 0.4)."""
    if charter.edition not in PRESETS:
        raise Refusal("unknown-edition", unknown=True, edition=charter.edition, known=sorted(PRESETS))
    check_variations(charter.variations or AS_PRINTED)
    edition = edition_of(charter)
    _check_sizes(charter, edition)
    try:
        _check_table(charter, edition)
    except Refusal as refusal:
        raise edition.law.of_refusal(refusal) from None


def _check_sizes(charter: Charter, edition: Edition) -> None:
    """Own tables make no board on which a legal answer would be larger than a command may be."""
    tables = edition.tables
    ids = [one.id for rows in (tables.areas, tables.house_cards) for one in rows]
    problem = ""
    if len(tables.areas) > MOST_AREAS:
        problem = f"a board has at most {MOST_AREAS} areas, not {len(tables.areas)}"
    elif any(len(one) > MOST_NAME for one in ids):
        problem = f"an id has at most {MOST_NAME} characters"
    if problem:
        own = {} if charter.tables is msgspec.UNSET else charter.tables
        raise Refusal("own-table-unfit", pointers=sorted(own), problem=problem)


def _check_table(charter: Charter, edition: Edition) -> None:
    """Houses and seats."""
    unknown = sorted(set(charter.houses) - set(edition.houses))
    if unknown:
        raise Refusal("unknown-house", ("2E-SET-1",), unknown=True, houses=unknown, known=sorted(edition.houses))
    if len(charter.houses) not in edition.player_counts:
        raise Refusal("wrong-number-of-players", ("2E-SET-1",), players=len(charter.houses))
    if sorted(charter.houses) != sorted(edition.players(len(charter.houses)).houses):
        table = edition.players(len(charter.houses)).houses
        raise Refusal("houses-do-not-fit", ("2E-SET-1",), houses=sorted(charter.houses), allowed=sorted(table))
    closed = edition.players(len(charter.houses)).impassable
    for house in charter.houses:
        if edition.houses[house].home in closed:
            raise Refusal("home-out-of-play", ("2E-FEW-2",), house=house, area=edition.houses[house].home)
    if tuple(sorted(charter.houses)) != charter.houses:
        raise Refusal("houses-not-in-order", ("2E-GEN-16",), houses=sorted(charter.houses))
    if charter.seats and sorted(charter.seats.values()) != sorted(charter.houses):
        raise Refusal("seats-do-not-fit", ("2E-SET-2",), houses=sorted(charter.houses))
