"""Assigning orders (2E-PLN-2 to 2E-PLN-12): what is legal, and what a missed deadline lays."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations

import msgspec
from msgspec.structs import replace

from domain.kernel.decision import Options, Pick
from domain.kernel.refusal import Problems, Refusal
from domain.thrones.language.answers import AssignOrders
from domain.thrones.language.pieces import MOST_AREAS, AreaId, HouseId, OrderId
from domain.thrones.rules.choices import shuffle
from domain.thrones.rules.game import Game
from domain.thrones.rules.planning.tokens import (
    card_against,
    legal_tokens,
    prohibited_tokens,
    token_limit,
    tokens_on_land_only,
)


class Assignments(Options[AssignOrders], frozen=True, tag="assignments"):
    """Order tokens for areas: ``required`` of ``areas`` get one of ``tokens`` (id to whether it has a star)."""

    areas: tuple[AreaId, ...]
    required: int
    tokens: dict[OrderId, bool]
    prohibited: tuple[OrderId, ...]
    stars: int

    @property
    def is_short(self) -> bool:
        return self.required < len(self.areas)

    @property
    def fewest(self) -> int:
        """So many orders at least."""
        return self.required

    @property
    def why_so_many(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The rules by which there are no fewer orders, and no more."""
        return ("2E-PLN-11",) if self.is_short else ("2E-PLN-2", "2E-PLN-8"), ("2E-PLN-11", "2E-PLN-12")

    def fits(self, area: AreaId, token: OrderId) -> bool:
        """Whether a token may lie in an area."""
        return True

    def check(self, answer: AssignOrders) -> None:
        problems = self._problems(answer)
        missing = [area for area in self.areas if area not in answer.orders]
        filled = len(self.areas) - len(missing)
        no_fewer, no_more = self.why_so_many
        if filled < self.fewest:
            problems.add("orders-missing", no_fewer, areas=missing, required=self.fewest)
        if filled > self.required:
            problems.add("too-many-orders", no_more, required=self.required)
        problems.refuse()

    def check_draft(self, answer: AssignOrders) -> None:
        """The part of the check that a tentative assignment must pass too."""
        self._problems(answer).refuse()

    def _problems(self, answer: AssignOrders) -> Problems:
        problems = Problems()
        if len(answer.orders) > MOST_AREAS:  # then some are for nowhere; it does not matter which
            stray = next(area for area in answer.orders if area not in self.areas)
            problems.add("no-units-there", ("2E-PLN-2", "2E-PLN-7"), area=stray, areas=list(self.areas))
            problems.refuse()
        for area in sorted(answer.orders):
            if area not in self.areas:
                problems.add("no-units-there", ("2E-PLN-2", "2E-PLN-7"), area=area, areas=list(self.areas))
        laid = [answer.orders[area] for area in sorted(answer.orders)]
        for token in sorted(set(laid)):
            if laid.count(token) > 1:
                problems.add("token-laid-twice", ("2E-PLN-4",), order=token)
            if token in self.prohibited:
                problems.add("order-prohibited", ("2E-PLN-6", *card_against(token)), order=token)
        stars = sum(self.tokens.get(token, False) for token in laid)
        if stars > self.stars:
            rules = ("2E-PLN-5", "2E-PLN-12") if self.is_short else ("2E-PLN-5",)
            problems.add("too-many-special-orders", rules, laid=stars, allowed=self.stars)
        return problems

    def sample(self, template: AssignOrders, pick: Pick) -> AssignOrders:
        areas = sorted(shuffle(list(self.areas), pick)[: self.required])
        tokens = shuffle(list(self.tokens), pick)
        orders: dict[AreaId, OrderId] = {}
        stars = self.stars
        plain_left = sum(not star for star in self.tokens.values())
        for position, area in enumerate(areas):
            after = len(areas) - position - 1
            for token in tokens:
                star = self.tokens[token]
                # A plain token may be needed later: never fall below what the rest of the areas needs.
                if star and stars == 0:
                    continue
                if not star and plain_left - 1 + min(stars, self._stars_left(tokens)) < after:
                    continue
                orders[area] = token
                tokens.remove(token)
                stars -= star
                plain_left -= not star
                break
        return replace(template, orders=orders, draft=False)

    def _stars_left(self, tokens: list[OrderId]) -> int:
        return sum(self.tokens[token] for token in tokens)

    def every(self, template: AssignOrders) -> Iterator[AssignOrders]:
        for count in range(self.fewest, self.required + 1):
            for areas in combinations(self.areas, count):
                for tokens in permutations(self.tokens, count):
                    orders = dict(zip(areas, tokens, strict=True))
                    few_stars = sum(self.tokens[token] for token in tokens) <= self.stars
                    if few_stars and all(self.fits(area, token) for area, token in orders.items()):
                        yield replace(template, orders=orders, draft=False)


class BoundAssignments(Assignments, frozen=True, tag="bound-assignments"):
    """Order tokens where areas may stay without one, or some tokens lie on land alone.

    At least ``least`` and at most ``required`` of ``areas`` get one; ``land_only`` tokens lie in areas of ``land``
    (1E-PLAN-3, 1E-ORD-6).
    """

    least: int = 0
    land: tuple[AreaId, ...] = ()
    land_only: tuple[OrderId, ...] = ()

    def fits(self, area: AreaId, token: OrderId) -> bool:
        return token not in self.land_only or area in self.land

    @property
    def fewest(self) -> int:
        return self.least

    @property
    def why_so_many(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return ("2E-PLN-2", "2E-PLN-8"), ("2E-PLN-11", "2E-PLN-12") if self.least else ("1E-PLAN-4",)

    def _problems(self, answer: AssignOrders) -> Problems:
        problems = super()._problems(answer)
        for area, token in sorted(answer.orders.items()):
            if area in self.areas and not self.fits(area, token):
                problems.add("on-land-only", ("1E-ORD-6",), area=area, order=token)
        return problems

    def fill(self, areas: list[AreaId], tokens: list[OrderId], most: int) -> dict[AreaId, OrderId]:
        """Give tokens to areas, each the first that may lie there, until ``most`` are laid."""
        orders: dict[AreaId, OrderId] = {}
        left, stars = list(tokens), self.stars
        for area in areas:
            token = next((one for one in left if self.fits(area, one) and (stars or not self.tokens[one])), None)
            if token is None or len(orders) == most:
                continue
            left.remove(token)
            stars -= self.tokens[token]
            orders[area] = token
        return orders

    def complete(self, areas: list[AreaId], tokens: list[OrderId]) -> dict[AreaId, OrderId]:
        """As many tokens as can be laid: sea areas first, and on land the tokens that lie nowhere else."""
        by_need = sorted(areas, key=lambda area: area in self.land)
        plain_first = sorted(tokens, key=lambda token: (self.tokens[token], token not in self.land_only))
        at_sea = self.fill([area for area in by_need if area not in self.land], plain_first, self.required)
        left = [token for token in plain_first if token not in at_sea.values()]
        used = sum(self.tokens[token] for token in at_sea.values())
        on_land = replace(self, stars=self.stars - used).fill(
            [area for area in by_need if area in self.land], left, self.required - len(at_sea)
        )
        return {**at_sea, **on_land}

    def sample(self, template: AssignOrders, pick: Pick) -> AssignOrders:
        areas, tokens = shuffle(list(self.areas), pick), shuffle(list(self.tokens), pick)
        # Most tables order most areas; what is legal may still leave any of them without.
        most = self.required if pick(3) else self.least + pick(self.required - self.least + 1)
        orders = self.fill(areas, tokens, most)
        if len(orders) < self.least:
            orders = self.complete(areas, tokens)
        return replace(template, orders=dict(sorted(orders.items())), draft=False)


def assignments(game: Game, house: HouseId) -> Assignments:
    """Every legal assignment of a House (2E-PLN-2 to 2E-PLN-12)."""
    areas = game.state.areas_of(house)
    plain = Assignments(
        areas=areas,
        required=min(len(areas), token_limit(game, house)),
        tokens=legal_tokens(game),
        prohibited=prohibited_tokens(game),
        stars=game.stars(house),
    )
    land_only = tokens_on_land_only(game)
    may_leave_empty = game.readings.planning.may_leave_empty
    if not may_leave_empty and not land_only:
        return plain
    bound = BoundAssignments(
        **msgspec.structs.asdict(plain),
        land=tuple(area for area in areas if game.board.is_land(area)),
        land_only=land_only,
    )
    able = len(bound.complete(list(bound.areas), list(bound.tokens)))
    return replace(bound, required=able, least=0 if may_leave_empty else able)


def areas_and_tokens(game: Game) -> list[tuple[HouseId, int, int]]:
    """How many areas each House could give orders in, and how many tokens it can lay (2E-PLN-9)."""
    return [(house, len(game.state.areas_of(house)), token_limit(game, house)) for house in game.houses]


def default_orders(game: Game, house: HouseId, options: Assignments) -> dict[AreaId, OrderId]:
    """2E-DP-42: what was kept, then the first legal unused token for each area in canonical order."""
    kept = game.state.hidden.drafts.get(house)
    orders: dict[AreaId, OrderId] = dict(kept.orders) if kept is not None and fits(options, kept) else {}
    stars = options.stars - sum(options.tokens[token] for token in orders.values())
    plain = [token for token, star in options.tokens.items() if not star]
    special = [token for token, star in options.tokens.items() if star]
    left = [token for token in (*plain, *special) if token not in orders.values()]
    if isinstance(options, BoundAssignments):
        return _default_bound(options, orders, left)
    for area in options.areas:
        if area in orders or len(orders) == options.required:
            continue
        token = next(one for one in left if stars or not options.tokens[one])
        left.remove(token)
        stars -= options.tokens[token]
        orders[area] = token
    return orders


def _default_bound(
    options: BoundAssignments, kept: dict[AreaId, OrderId], left: list[OrderId]
) -> dict[AreaId, OrderId]:
    """The same where not every token may lie everywhere: what was kept goes on only if the rest still can."""
    open_areas = [area for area in options.areas if area not in kept]
    stars = options.stars - sum(options.tokens[token] for token in kept.values())
    rest = replace(options, stars=stars)
    orders = {**kept, **rest.fill(open_areas, left, options.required - len(kept))}
    if len(orders) < options.least:
        orders = options.complete(list(options.areas), list(options.tokens))
    return dict(sorted(orders.items()))


def fits(options: Assignments, draft: AssignOrders) -> bool:
    """Whether a draft is still legal as far as it goes; a correction may have changed that."""
    try:
        options.check_draft(draft)
    except Refusal:
        return False
    return True
