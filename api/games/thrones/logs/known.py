"""Names in a record that no edition has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from api.games.thrones.logs import names as n

_AREA_FIELDS = ("area", "to", "origin")
_CARD_FIELDS = ("card", "choice")
_CARDS = {*n.HOUSE_CARDS, *n.WESTEROS_CARDS, *n.WILDLING_CARDS, *n.TIDES_CARDS}


def unknown_names(value: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """Areas and cards in a record that no edition has."""
    if isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from unknown_names(getattr(value, name), name)
    elif field == "targets":
        for area, _ in value:
            yield from unknown_names(area, "area")
    elif field == "cards":
        for _, card in value:
            yield from unknown_names(card, "card")
    elif isinstance(value, tuple):
        for one in value:
            yield from unknown_names(one)
    elif isinstance(value, str):
        if field in _AREA_FIELDS and value not in ("top", "bottom", *n.AREAS, *n.HOUSES):
            yield "area", value
        elif field in _CARD_FIELDS and value not in _CARDS:
            yield "card", value
