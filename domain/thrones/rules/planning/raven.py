"""The Messenger Raven (2E-RVN): which order may be replaced by what."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from domain.kernel.decision import Options, Pick
from domain.kernel.refusal import Refusal
from domain.thrones.language.answers import Raven
from domain.thrones.language.pieces import AreaId, HouseId, OrderId
from domain.thrones.rules.game import Game
from domain.thrones.rules.planning.tokens import card_against, legal_tokens, prohibited_tokens, tokens_on_land_only


class Replacements(Options[Raven], frozen=True, tag="replacements"):
    """The raven: replace the order of an area by one of its tokens, look, or nothing (2E-RVN-1).

    ``laid`` are the holder's tokens on the board, ``prohibited`` those a card forbids.
    """

    orders: dict[AreaId, tuple[OrderId, ...]]
    laid: tuple[OrderId, ...] = ()
    prohibited: tuple[OrderId, ...] = ()

    def check(self, answer: Raven) -> None:
        if answer.choice == "look" and not self.may_look:
            raise Refusal("no-look", ("1E-RAVEN-1", "1E-RAVEN-2"))
        if answer.choice != "replace":
            return
        if answer.area not in self.orders or answer.area is None:
            raise Refusal("no-order-there", ("2E-RVN-2",), area=answer.area, areas=sorted(self.orders))
        if answer.order not in self.orders[answer.area]:
            code, rules = self._why_not(answer.area, answer.order)
            raise Refusal(code, rules, order=answer.order, options=list(self.orders[answer.area]))

    def _why_not(self, area: AreaId, order: OrderId | None) -> tuple[str, tuple[str, ...]]:
        """Why a token cannot be put there: it lies on the board, is prohibited, or would be a star too many."""
        if order in self.laid:
            return "order-on-the-board", ("2E-RVN-2", "2E-PLN-4")
        if order in self.prohibited:
            return "order-prohibited", ("2E-RVN-2", "2E-PLN-6", *card_against(order))
        return "star-too-many", ("2E-RVN-2", "2E-PLN-5")

    @property
    def may_look(self) -> bool:
        return True

    def sample(self, template: Raven, pick: Pick) -> Raven:
        choices = list(self.every(template))
        word = ("replace", "look", "nothing")[pick(3)]
        fitting = [answer for answer in choices if answer.choice == word] or choices
        return fitting[pick(len(fitting))]

    def every(self, template: Raven) -> Iterator[Raven]:
        for area in sorted(self.orders):
            for order in self.orders[area]:
                yield replace(template, choice="replace", area=area, order=order)
        if self.may_look:
            yield replace(template, choice="look", area=None, order=None)
        yield replace(template, choice="nothing", area=None, order=None)


class BoundReplacements(Replacements, frozen=True, tag="bound-replacements"):
    """As replacements, where there may be no ``look``, or ``land_only`` tokens may not lie at ``sea`` (1E-RAVEN-2)."""

    look: bool = True
    sea: tuple[AreaId, ...] = ()
    land_only: tuple[OrderId, ...] = ()

    @property
    def may_look(self) -> bool:
        return self.look

    def _why_not(self, area: AreaId, order: OrderId | None) -> tuple[str, tuple[str, ...]]:
        if order in self.land_only and area in self.sea and order not in (*self.laid, *self.prohibited):
            return "on-land-only", ("1E-ORD-6", "1E-RAVEN-2")
        return super()._why_not(area, order)


def raven_options(game: Game, holder: HouseId) -> Replacements:
    """What the holder of the raven may do with it."""
    own = {area: placed.token for area, placed in sorted(game.state.orders.items()) if placed.house == holder}
    plain = Replacements(replacements(game, holder, own), tuple(sorted(own.values())), prohibited_tokens(game))
    may_look, on_land = game.readings.planning.raven_looks, tokens_on_land_only(game)
    if may_look and not on_land:
        return plain
    sea = tuple(area for area in own if not game.board.is_land(area))
    return BoundReplacements(**msgspec.structs.asdict(plain), look=may_look, sea=sea, land_only=on_land)


def replacements(game: Game, holder: HouseId, own: dict[AreaId, OrderId]) -> dict[AreaId, tuple[OrderId, ...]]:
    """Unused tokens that may replace each of the holder's ``own`` orders (2E-RVN-2)."""
    stars = sum(game.edition.tokens[token].star for token in own.values())
    found: dict[AreaId, tuple[OrderId, ...]] = {}
    on_land = tokens_on_land_only(game)
    for area, old in own.items():
        room = game.stars(holder) - stars + game.edition.tokens[old].star
        tokens = legal_tokens(game)
        found[area] = tuple(
            token
            for token, star in tokens.items()
            if token not in own.values()
            and (not star or room > 0)
            and (token not in on_land or game.board.is_land(area))
        )
    return {area: tokens for area, tokens in found.items() if tokens}
