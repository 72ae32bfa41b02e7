"""Reading order tokens: their assignment and the Messenger Raven."""

from __future__ import annotations

from collections.abc import Mapping

from domain.thrones.language import answers as c
from domain.thrones.language.pieces import AreaId, OrderId
from domain.thrones.notation import vocabulary as v
from domain.thrones.notation.reader import (
    Reader,
    with_arrows,
    word,
)
from domain.thrones.notation.scan import Span
from domain.thrones.notation.words import NotationError


def orders(reader: Reader, body: Span) -> c.HouseAnswer:
    return _assign(reader, body, draft=False)


def draft_orders(reader: Reader, body: Span) -> c.HouseAnswer:
    return _assign(reader, body.without_lead(":"), draft=True)


def _assign(reader: Reader, body: Span, *, draft: bool) -> c.HouseAnswer:
    if not body:
        raise NotationError("the orders are missing", body.column, expected=f'"{v.USAGE["assign-orders"]}"')
    found: dict[AreaId, tuple[OrderId, ...]] = {}
    for item in [] if body.key in v.NONE else body.split(",", ";"):
        area, tokens = _area_and_order(reader, item)
        if area in found:
            raise NotationError(f"{area} is named twice", item.column)
        found[area] = tokens
    return c.AssignOrders(house=reader.house, orders=twins_assigned(found), draft=draft)


def _area_and_order(reader: Reader, item: Span) -> tuple[AreaId, tuple[OrderId, ...]]:
    """``lannisport march+1``, ``lannisport: march+1``, ``march+1 @ lannisport``."""
    for index, token in enumerate(item.tokens):
        if index and (token.mark == "@" or token.text.casefold() in ("in", "at", "on")):
            return reader.area(item.part(index + 1)), reader.order(item.part(0, index))
    if cut := with_arrows(item).cut(":", "->"):
        return reader.area(cut[0]), reader.order(cut[1])
    if len(item) < 2:
        raise NotationError(f'"{item.text}" has no order', item.end, expected='"AREA ORDER"')
    return reader.pair(item, reader.area, reader.order, v.USAGE["assign-orders"])


def twins_assigned(found: Mapping[AreaId, tuple[OrderId, ...]]) -> dict[AreaId, OrderId]:
    """One token per area: the twins of a kind in ascending order of areas, beside those that are named in full.

    A third order of a kind gets the last twin again, which 2E-PLN-4 refuses.
    """
    used = {tokens[0] for tokens in found.values() if len(tokens) == 1}
    orders = {}
    for area in sorted(found):
        tokens = found[area]
        free = [token for token in tokens if token not in used]
        orders[area] = tokens[0] if len(tokens) == 1 else (free or tokens[-1:])[0]
        used.add(orders[area])
    return orders


def raven(reader: Reader, body: Span) -> c.HouseAnswer:
    if not body:
        raise NotationError("the choice is missing", body.column, expected=f'"{v.USAGE["raven"]}"')
    if body.key in ("top", "bottom"):
        return c.RavenCard(house=reader.house, choice=body.key)
    first = body.tokens[0].text.casefold()
    if first in ("replace", "swap", "change", "exchange"):
        return _replace_order(reader, body.part(1))
    try:
        choice = word(body, v.WORDS["raven"])
    except NotationError as mistake:
        if len(body) < 2:
            mistake.expected = f'"{v.USAGE["raven"]}"'
            raise
        return _replace_order(reader, body)
    return c.Raven(house=reader.house, choice="look" if choice == "look" else "nothing")


def _replace_order(reader: Reader, body: Span) -> c.HouseAnswer:
    """The order put in place of another; of twins the one that is free."""
    tokens = tuple(token for token in body.tokens if token.text.casefold() not in ("with", "by"))
    area, twins = _area_and_order(reader, Span(tokens, body.column))
    answers = [
        c.Raven(house=reader.house, choice="replace", area=area, order=token)
        for token in [token for token in twins if token not in reader.used] or twins[:1]
    ]
    legal = [answer for answer in answers if reader.is_legal(answer)]
    return (legal or answers)[0]
