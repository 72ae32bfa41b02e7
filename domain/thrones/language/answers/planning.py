"""Answers of the planning phase (2E-DP-21 to 2E-DP-23)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec.structs import replace

from domain.kernel.bounds import AtMost
from domain.thrones.language.answers.base import HouseAnswer, WordAnswer
from domain.thrones.language.pieces import MOST_AREAS, AreaId, OrderId
from domain.thrones.spelling.names import NotationError, short_order
from domain.thrones.spelling.reader import Reader, with_arrows, word
from domain.thrones.spelling.scan import Span
from domain.thrones.spelling.text import per_area
from domain.thrones.spelling.words import NONE, PASS


def _draft(reader: Reader, body: Span) -> HouseAnswer:
    """A draft of orders, kept for a missed deadline only."""
    return replace(AssignOrders.read(reader, body.without_lead(":")), draft=True)


class AssignOrders(HouseAnswer, frozen=True, tag="assign-orders"):
    """2E-DP-21: an order token for every area. With ``draft`` it is kept for a missed deadline only (2E-DP-42)."""

    usage = "orders AREA ORDER, AREA ORDER"
    secret = True
    heads = ("order", "orders")
    also = dict.fromkeys(("draft", "draft orders", "tentative orders"), _draft)

    orders: Annotated[dict[AreaId, OrderId], AtMost(MOST_AREAS)]
    draft: bool = False

    @property
    def tentative(self) -> bool:
        return self.draft

    @property
    def written(self) -> str:
        shorts = {area: short_order(token) for area, token in self.orders.items()}
        return f"{'draft ' if self.draft else ''}orders {per_area(shorts)}"

    def canonical(self) -> AssignOrders:
        """With the twins of every token in canonical order of areas."""
        seen: dict[str, int] = {}
        orders = {}
        for area in sorted(self.orders):
            short = short_order(self.orders[area])
            seen[short] = seen.get(short, 0) + 1
            orders[area] = _twin(self.orders[area], seen[short])
        return replace(self, orders=orders)

    @classmethod
    def read(cls, reader: Reader, body: Span) -> HouseAnswer:
        if not body:
            raise cls.missing("the orders are", body)
        found: dict[AreaId, tuple[OrderId, ...]] = {}
        for item in [] if body.key in NONE else body.split(",", ";"):
            area, tokens = _area_and_order(reader, item)
            if area in found:
                raise NotationError(f"{area} is named twice", item.column)
            found[area] = tokens
        return cls(house=reader.house, orders=_twins_assigned(found))


def _area_and_order(reader: Reader, item: Span) -> tuple[AreaId, tuple[OrderId, ...]]:
    """``lannisport march+1``, ``lannisport: march+1``, ``march+1 @ lannisport``."""
    for index, token in enumerate(item.tokens):
        if index and (token.mark == "@" or token.text.casefold() in ("in", "at", "on")):
            return reader.area(item.part(index + 1)), reader.order(item.part(0, index))
    if cut := with_arrows(item).cut(":", "->"):
        return reader.area(cut[0]), reader.order(cut[1])
    if len(item) < 2:
        raise NotationError(f'"{item.text}" has no order', item.end, expected='"AREA ORDER"')
    return reader.pair(item, reader.area, reader.order, AssignOrders.usage)


def _twins_assigned(found: Mapping[AreaId, tuple[OrderId, ...]]) -> dict[AreaId, OrderId]:
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


def _twin(order: str, number: int) -> str:
    return f"{order[:-1]}{'a' if number == 1 else 'b'}" if order.endswith(("-a", "-b")) else order


class Raven(HouseAnswer, frozen=True, tag="raven"):
    """2E-DP-22: replace (``area``, ``order``), look, nothing."""

    usage = "raven replace AREA ORDER|look|nothing"
    heads = ("messenger raven",)
    words = {
        "look": ("peek", "lookatthewildlingcard", "lookatwildlingcard", "lookatcard", "lookatthecard", "wildlings"),
        "nothing": (*PASS, "keep"),
    }

    choice: Literal["replace", "look", "nothing"]
    area: AreaId | None = None
    order: OrderId | None = None

    @property
    def written(self) -> str:
        if self.choice != "replace":
            return f"raven {self.choice}"
        return f"raven replace {self.area} {short_order(self.order or '')}"

    def canonical(self) -> Raven:
        """With the first of twins."""
        return self if self.order is None else replace(self, order=_twin(self.order, 1))

    @classmethod
    def read(cls, reader: Reader, body: Span) -> HouseAnswer:
        if not body:
            raise cls.missing("the choice is", body)
        if body.key in ("top", "bottom"):
            return RavenCard(house=reader.house, choice=body.key)
        first = body.tokens[0].text.casefold()
        if first in ("replace", "swap", "change", "exchange"):
            return _replace_order(reader, body.part(1))
        try:
            choice = word(body, cls.words)
        except NotationError as mistake:
            if len(body) < 2:
                mistake.expected = f'"{cls.usage}"'
                raise
            return _replace_order(reader, body)
        return cls(house=reader.house, choice="look" if choice == "look" else "nothing")


def _replace_order(reader: Reader, body: Span) -> HouseAnswer:
    """The order put in place of another; of twins the one that is free."""
    tokens = tuple(token for token in body.tokens if token.text.casefold() not in ("with", "by"))
    area, twins = _area_and_order(reader, Span(tokens, body.column))
    answers = [
        Raven(house=reader.house, choice="replace", area=area, order=token)
        for token in [token for token in twins if token not in reader.used] or twins[:1]
    ]
    legal = [answer for answer in answers if reader.is_legal(answer)]
    return (legal or answers)[0]


class RavenCard(WordAnswer, frozen=True, tag="raven-card"):
    """2E-DP-23: top, bottom."""

    usage = "raven-card top|bottom"
    words = {"top": ("ontop", "keep", "leave"), "bottom": ("under", "onbottom", "tothebottom", "bury")}
