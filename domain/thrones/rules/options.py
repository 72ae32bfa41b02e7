"""Options: every legal answer of a decision as data (section 26).

Each class checks an answer, samples one and lists all. What an option class says is legal *is* what is
legal: the reducer has no second opinion. Checks run in the order in which they stand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import permutations, product
from typing import Any

from msgspec.structs import replace

from domain.kernel.decision import Options, Pick
from domain.kernel.refusal import Problems, Refusal
from domain.thrones.language import answers as c
from domain.thrones.language.pieces import (
    MOST_AREAS,
    AreaId,
    HouseId,
    OrderId,
    Unit,
    Units,
    counted,
    each,
    in_order,
    minus,
    plus,
    size,
)
from domain.thrones.rules.armies import complies, minimal_reductions

Chosen = dict[AreaId, Units]

CARDS_AGAINST = {
    "defense": "2E-WEC-13",
    "march": "2E-WEC-14",
    "raid": "2E-WEC-15",
    "support": "2E-WEC-16",
    "consolidate": "2E-WEC-17",
}
"""The Westeros card that prohibits tokens, by the first word of their ids."""


def card_against(order: OrderId | None) -> tuple[str, ...]:
    """The rule of the card by which a token is prohibited."""
    rule = CARDS_AGAINST.get((order or "").partition("-")[0])
    return (rule,) if rule else ()


def shuffle(items: list[Any], pick: Pick) -> list[Any]:
    """The items in an order that ``pick`` decides."""
    pile = list(items)
    for last in range(len(pile) - 1, 0, -1):
        other = pick(last + 1)
        pile[last], pile[other] = pile[other], pile[last]
    return pile


def subsets(units: Mapping[Unit, int], count: int) -> Iterator[Units]:
    """Every choice of ``count`` units, in canonical order of the units taken first."""
    kinds = list(in_order(units))

    def take(index: int, left: int) -> Iterator[dict[Unit, int]]:
        if left == 0:
            yield {}
        elif index < len(kinds):
            unit, there = kinds[index]
            for number in range(min(there, left), -1, -1):
                for rest in take(index + 1, left - number):
                    yield {unit: number, **rest} if number else rest

    return take(0, count)


def chosen_subsets(pool: Mapping[AreaId, Units], count: int) -> Iterator[Chosen]:
    """Every choice of ``count`` units from several areas."""
    areas = sorted(pool)

    def take(index: int, left: int) -> Iterator[Chosen]:
        if left == 0:
            yield {}
        elif index < len(areas):
            area = areas[index]
            for number in range(min(size(pool[area]), left), -1, -1):
                for units in subsets(pool[area], number):
                    for rest in take(index + 1, left - number):
                        yield {area: units, **rest} if units else rest

    return take(0, count)


def singles(chosen: Mapping[AreaId, Units]) -> list[tuple[AreaId, Unit]]:
    """Every single unit of a choice, by area and in canonical order."""
    return [(area, unit) for area in sorted(chosen) for unit in each(chosen[area])]


def gathered(units: list[tuple[AreaId, Unit]]) -> Chosen:
    """The reverse of :func:`singles`."""
    return {area: counted(unit for where, unit in units if where == area) for area in sorted({a for a, _ in units})}


def total(chosen: Mapping[AreaId, Units]) -> int:
    return sum(size(units) for units in chosen.values())


def is_part(chosen: Mapping[AreaId, Units], pool: Mapping[AreaId, Units]) -> bool:
    """Whether all units of a choice are there. It ends at the first that is not, and counts none of them one by one."""
    return len(chosen) <= MOST_AREAS and all(
        count > 0 and count <= pool.get(area, {}).get(unit, 0)
        for area, units in chosen.items()
        for unit, count in units.items()
    )


class Words(Options[Any], frozen=True, tag="words"):
    """One word out of a list. ``rules`` say why there is no other, ``barred`` why some words in particular are not."""

    words: tuple[str, ...]
    rules: tuple[str, ...] = ()
    barred: dict[str, tuple[str, ...]] = {}

    def check(self, answer: Any) -> None:
        if answer.choice not in self.words:
            rules = self.barred.get(answer.choice, self.rules)
            raise Refusal("not-an-option", rules, choice=answer.choice, options=list(self.words))

    def sample(self, template: Any, pick: Pick) -> Any:
        return replace(template, choice=self.words[pick(len(self.words))])

    def every(self, template: Any) -> Iterator[Any]:
        return (replace(template, choice=word) for word in self.words)


class Amount(Options[Any], frozen=True, tag="amount"):
    """A whole number from 0 to ``most``, in the field ``field`` of the answer."""

    field: str
    most: int
    rules: tuple[str, ...] = ()

    def check(self, answer: Any) -> None:
        number = getattr(answer, self.field)
        if not 0 <= number <= self.most:
            raise Refusal("out-of-range", self.rules, number=number, least=0, most=self.most)

    def sample(self, template: Any, pick: Pick) -> Any:
        return replace(template, **{self.field: pick(self.most + 1)})

    def every(self, template: Any) -> Iterator[Any]:
        return (replace(template, **{self.field: number}) for number in range(self.most + 1))


class Groups(Options[c.InfluenceTie], frozen=True, tag="groups"):
    """Every order of the Houses inside each group of equal bids (2E-COK-4)."""

    groups: tuple[tuple[HouseId, ...], ...]

    def check(self, answer: c.InfluenceTie) -> None:
        if not self._are_tied(answer.groups):
            raise Refusal("not-the-tied-groups", ("2E-COK-4",), groups=[list(group) for group in self.groups])

    def _are_tied(self, groups: tuple[tuple[HouseId, ...], ...]) -> bool:
        return list(map(len, groups[:MOST_AREAS])) == list(map(len, self.groups)) and all(
            sorted(one) == sorted(other) for one, other in zip(groups, self.groups, strict=True)
        )

    def sample(self, template: c.InfluenceTie, pick: Pick) -> c.InfluenceTie:
        return replace(template, groups=tuple(tuple(shuffle(list(group), pick)) for group in self.groups))

    def every(self, template: c.InfluenceTie) -> Iterator[c.InfluenceTie]:
        for groups in product(*(permutations(group) for group in self.groups)):
            yield replace(template, groups=groups)


class Assignments(Options[c.AssignOrders], frozen=True, tag="assignments"):
    """Order tokens for areas: ``required`` of ``areas`` get one of ``tokens`` (id to whether it has a star)."""

    areas: tuple[AreaId, ...]
    required: int
    tokens: dict[OrderId, bool]
    prohibited: tuple[OrderId, ...]
    stars: int

    @property
    def is_short(self) -> bool:
        return self.required < len(self.areas)

    def check(self, answer: c.AssignOrders) -> None:
        problems = self._problems(answer)
        filled = [area for area in self.areas if area in answer.orders]
        if len(filled) < self.required:
            missing = [area for area in self.areas if area not in answer.orders]
            rules = ("2E-PLN-11",) if self.is_short else ("2E-PLN-2", "2E-PLN-8")
            problems.add("orders-missing", rules, areas=missing, required=self.required)
        if len(filled) > self.required:
            problems.add("too-many-orders", ("2E-PLN-11", "2E-PLN-12"), required=self.required)
        problems.refuse()

    def check_draft(self, answer: c.AssignOrders) -> None:
        """The part of the check that a tentative assignment must pass too."""
        self._problems(answer).refuse()

    def _problems(self, answer: c.AssignOrders) -> Problems:
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

    def sample(self, template: c.AssignOrders, pick: Pick) -> c.AssignOrders:
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

    def every(self, template: c.AssignOrders) -> Iterator[c.AssignOrders]:
        for areas in _combinations(self.areas, self.required):
            for tokens in permutations(self.tokens, self.required):
                if sum(self.tokens[token] for token in tokens) <= self.stars:
                    yield replace(template, orders=dict(zip(areas, tokens, strict=True)), draft=False)


def _combinations(items: tuple[str, ...], count: int) -> Iterator[tuple[str, ...]]:
    if count == 0:
        yield ()
        return
    for index in range(len(items) - count + 1):
        for rest in _combinations(items[index + 1 :], count - 1):
            yield (items[index], *rest)


class SomeUnits(Options[Any], frozen=True, tag="some-units"):
    """Exactly ``count`` of the units in one place, in the field ``units``."""

    units: Units
    count: int
    rules: tuple[str, ...] = ()

    def check(self, answer: Any) -> None:
        if not is_part({"": answer.units}, {"": self.units}):
            raise Refusal("units-not-there", self.rules, units=answer.units, available=self.units)
        if size(answer.units) != self.count:
            raise Refusal("wrong-number-of-units", self.rules, chosen=size(answer.units), required=self.count)

    def sample(self, template: Any, pick: Pick) -> Any:
        return replace(template, units=counted(shuffle(list(each(self.units)), pick)[: self.count]))

    def every(self, template: Any) -> Iterator[Any]:
        return (replace(template, units=units) for units in subsets(self.units, self.count))


class UnitsAnywhere(Options[Any], frozen=True, tag="units-anywhere"):
    """From ``least`` to ``most`` units out of several areas, in the field ``units``."""

    pool: Chosen
    least: int
    most: int
    rules: tuple[str, ...] = ()

    def check(self, answer: Any) -> None:
        if not is_part(answer.units, self.pool):
            raise Refusal("units-not-there", self.rules, units=answer.units, available=self.pool)
        if not self.least <= total(answer.units) <= self.most:
            raise Refusal(
                "wrong-number-of-units", self.rules, chosen=total(answer.units), least=self.least, most=self.most
            )

    def sample(self, template: Any, pick: Pick) -> Any:
        count = self.least + pick(self.most - self.least + 1)
        return replace(template, units=gathered(shuffle(singles(self.pool), pick)[:count]))

    def every(self, template: Any) -> Iterator[Any]:
        for count in range(self.least, self.most + 1):
            for units in chosen_subsets(self.pool, count):
                yield replace(template, units=units)


class UnitsInOneArea(Options[Any], frozen=True, tag="units-in-one-area"):
    """Exactly ``count`` units of one of the areas, in the field ``units``."""

    pool: Chosen
    count: int
    rules: tuple[str, ...] = ()

    def check(self, answer: Any) -> None:
        if len(answer.units) != 1 or not is_part(answer.units, self.pool):
            raise Refusal("units-not-there", self.rules, units=answer.units, available=self.pool)
        if total(answer.units) != self.count:
            raise Refusal("wrong-number-of-units", self.rules, chosen=total(answer.units), required=self.count)

    def sample(self, template: Any, pick: Pick) -> Any:
        area = sorted(self.pool)[pick(len(self.pool))]
        units = counted(shuffle(list(each(self.pool[area])), pick)[: self.count])
        return replace(template, units={area: units})

    def every(self, template: Any) -> Iterator[Any]:
        for area in sorted(self.pool):
            for units in subsets(self.pool[area], self.count):
                yield replace(template, units={area: units})


class MinimalLosses(Options[c.ReconcileSupply], frozen=True, tag="minimal-losses"):
    """Every minimal set of units after whose destruction the House complies with its limit (2E-SUP-6)."""

    forces: Chosen
    limit: tuple[int, ...]

    def _sizes(self, lost: Mapping[AreaId, Units]) -> dict[AreaId, int]:
        return {area: size(units) - size(lost.get(area, {})) for area, units in self.forces.items()}

    def check(self, answer: c.ReconcileSupply) -> None:
        if not is_part(answer.units, self.forces):
            raise Refusal("units-not-there", ("2E-SUP-5",), units=answer.units, available=self.forces)
        sizes = self._sizes(answer.units)
        if not complies(sizes.values(), self.limit):
            raise Refusal("still-over-supply", ("2E-SUP-2", "2E-SUP-5"), limit=list(self.limit))
        for area in sorted(answer.units):
            if area not in sizes:
                raise Refusal("units-not-there", ("2E-SUP-5",), units=answer.units, available=self.forces)
            if complies({**sizes, area: sizes[area] + 1}.values(), self.limit):
                raise Refusal("more-than-needed", ("2E-SUP-6",), area=area, limit=list(self.limit))

    def sample(self, template: c.ReconcileSupply, pick: Pick) -> c.ReconcileSupply:
        lost: list[tuple[AreaId, Unit]] = []
        left = singles({area: units for area, units in self.forces.items() if size(units) > 1})
        while not complies(self._sizes(gathered(lost)).values(), self.limit):
            lost.append(left.pop(pick(len(left))))
        for unit in shuffle(lost, pick):
            fewer = list(lost)
            fewer.remove(unit)
            if complies(self._sizes(gathered(fewer)).values(), self.limit):
                lost = fewer
        return replace(template, units=gathered(lost))

    def every(self, template: c.ReconcileSupply) -> Iterator[c.ReconcileSupply]:
        areas = sorted(area for area, units in self.forces.items() if size(units) > 1)
        sizes = [size(self.forces[area]) for area in areas]
        for reduction in minimal_reductions(sizes, self.limit):
            choices = [list(subsets(self.forces[area], n)) for area, n in zip(areas, reduction, strict=True)]
            for taken in product(*choices):
                units = {area: units for area, units in zip(areas, taken, strict=True) if units}
                yield replace(template, units=units)


class Degrades(Options[c.CrowKillersDegrade], frozen=True, tag="degrades"):
    """``count`` Knights become Footmen as far as ``footmen`` in reserve last; the rest is destroyed (2E-WLC-3)."""

    knights: Chosen
    count: int
    footmen: int

    @property
    def replaced(self) -> int:
        return min(self.count, self.footmen)

    def check(self, answer: c.CrowKillersDegrade) -> None:
        if not (is_part(answer.replaced, self.knights) and is_part(answer.destroyed, self.knights)):
            raise Refusal("units-not-there", ("2E-WLC-3",), available=self.knights)
        both = {
            area: plus(answer.replaced.get(area, {}), answer.destroyed.get(area, {}))
            for area in {*answer.replaced, *answer.destroyed}
        }
        if not is_part(both, self.knights):
            raise Refusal("units-not-there", ("2E-WLC-3",), available=self.knights)
        if total(both) != self.count or total(answer.replaced) != self.replaced:
            raise Refusal(
                "wrong-number-of-units",
                ("2E-WLC-3", "2E-LIM-3"),
                replace=self.replaced,
                destroy=self.count - self.replaced,
            )

    def sample(self, template: c.CrowKillersDegrade, pick: Pick) -> c.CrowKillersDegrade:
        taken = shuffle(singles(self.knights), pick)[: self.count]
        return replace(template, replaced=gathered(taken[: self.replaced]), destroyed=gathered(taken[self.replaced :]))

    def every(self, template: c.CrowKillersDegrade) -> Iterator[c.CrowKillersDegrade]:
        for changed in chosen_subsets(self.knights, self.replaced):
            left = {area: minus(units, changed.get(area, {})) for area, units in self.knights.items()}
            for destroyed in chosen_subsets(left, self.count - self.replaced):
                yield replace(template, replaced=changed, destroyed=destroyed)


class PerOrder(Options[Any], frozen=True, tag="per-order"):
    """For every order a word. With ``same`` all third-party orders of the House go one way (``support-unit``).

    ``eligible`` are the rules that say which orders these are.
    """

    orders: dict[AreaId, tuple[str, ...]]
    same: bool = False
    rules: tuple[str, ...] = ()
    eligible: tuple[str, ...] = ()

    def check(self, answer: Any) -> None:
        if answer.orders.keys() != self.orders.keys():
            raise Refusal("not-the-eligible-orders", self.eligible or self.rules, orders=sorted(self.orders))
        for area in sorted(answer.orders):
            if answer.orders[area] not in self.orders[area]:
                raise Refusal("not-an-option", self.rules, area=area, options=list(self.orders[area]))
        if self.same and len(set(answer.orders.values())) > 1:
            raise Refusal("one-declaration-for-all", ("2E-CBT-9",), orders=sorted(self.orders))

    def sample(self, template: Any, pick: Pick) -> Any:
        if self.same:
            words = next(iter(self.orders.values()))
            return replace(template, orders=dict.fromkeys(sorted(self.orders), words[pick(len(words))]))
        return replace(template, orders={area: words[pick(len(words))] for area, words in sorted(self.orders.items())})

    def every(self, template: Any) -> Iterator[Any]:
        areas = sorted(self.orders)
        for words in product(*(self.orders[area] for area in areas)):
            if not self.same or len(set(words)) <= 1:
                yield replace(template, orders=dict(zip(areas, words, strict=True)))


class YesNo(Options[Any], frozen=True, tag="yes-no"):
    """For every order yes or no, in the field ``orders``."""

    orders: tuple[AreaId, ...]
    same: bool = False
    rules: tuple[str, ...] = ()

    def check(self, answer: Any) -> None:
        if answer.orders.keys() != set(self.orders):
            raise Refusal("not-the-eligible-orders", self.rules, orders=sorted(self.orders))
        if self.same and len(set(answer.orders.values())) > 1:
            raise Refusal("one-declaration-for-all", ("2E-CBT-9",), orders=sorted(self.orders))

    def sample(self, template: Any, pick: Pick) -> Any:
        if self.same:
            return replace(template, orders=dict.fromkeys(self.orders, pick(2) == 0))
        return replace(template, orders={area: pick(2) == 0 for area in self.orders})

    def every(self, template: Any) -> Iterator[Any]:
        for words in product((True, False), repeat=len(self.orders)):
            if not self.same or len(set(words)) <= 1:
                yield replace(template, orders=dict(zip(self.orders, words, strict=True)))


class BoundAssignments(Assignments, frozen=True, tag="bound-assignments"):
    """Order tokens where areas may stay without one, or some tokens lie on land alone.

    At least ``least`` and at most ``required`` of ``areas`` get one; ``land_only`` tokens lie in areas of ``land``
    (1E-PLAN-3, 1E-ORD-6).
    """

    least: int = 0
    land: tuple[AreaId, ...] = ()
    land_only: tuple[OrderId, ...] = ()

    def fits(self, area: AreaId, token: OrderId) -> bool:
        """Whether a token may lie in an area."""
        return token not in self.land_only or area in self.land

    def check(self, answer: c.AssignOrders) -> None:
        problems = self._problems(answer)
        filled = [area for area in self.areas if area in answer.orders]
        if len(filled) < self.least:
            missing = [area for area in self.areas if area not in answer.orders]
            problems.add("orders-missing", ("2E-PLN-2", "2E-PLN-8"), areas=missing, required=self.least)
        if len(filled) > self.required:
            rules = ("2E-PLN-11", "2E-PLN-12") if self.least else ("1E-PLAN-4",)
            problems.add("too-many-orders", rules, required=self.required)
        problems.refuse()

    def _problems(self, answer: c.AssignOrders) -> Problems:
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

    def sample(self, template: c.AssignOrders, pick: Pick) -> c.AssignOrders:
        areas, tokens = shuffle(list(self.areas), pick), shuffle(list(self.tokens), pick)
        # Most tables order most areas; what is legal may still leave any of them without.
        most = self.required if pick(3) else self.least + pick(self.required - self.least + 1)
        orders = self.fill(areas, tokens, most)
        if len(orders) < self.least:
            orders = self.complete(areas, tokens)
        return replace(template, orders=dict(sorted(orders.items())), draft=False)

    def every(self, template: c.AssignOrders) -> Iterator[c.AssignOrders]:
        for count in range(self.least, self.required + 1):
            for areas in _combinations(self.areas, count):
                for tokens in permutations(self.tokens, count):
                    orders = dict(zip(areas, tokens, strict=True))
                    if sum(self.tokens[token] for token in tokens) <= self.stars and all(
                        self.fits(area, token) for area, token in orders.items()
                    ):
                        yield replace(template, orders=orders, draft=False)


class Replacements(Options[c.Raven], frozen=True, tag="replacements"):
    """The raven: replace the order of an area by one of its tokens, look, or nothing (2E-RVN-1).

    ``laid`` are the holder's tokens on the board, ``prohibited`` those a card forbids.
    """

    orders: dict[AreaId, tuple[OrderId, ...]]
    laid: tuple[OrderId, ...] = ()
    prohibited: tuple[OrderId, ...] = ()

    def check(self, answer: c.Raven) -> None:
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

    def sample(self, template: c.Raven, pick: Pick) -> c.Raven:
        choices = list(self.every(template))
        word = ("replace", "look", "nothing")[pick(3)]
        fitting = [answer for answer in choices if answer.choice == word] or choices
        return fitting[pick(len(fitting))]

    def every(self, template: c.Raven) -> Iterator[c.Raven]:
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


class RaidChoices(Options[c.Raid], frozen=True, tag="raids"):
    """Raid orders and the legal targets of each; no target is always legal (2E-RAID-6)."""

    orders: dict[AreaId, tuple[AreaId, ...]]
    barred: dict[AreaId, dict[AreaId, tuple[str, ...]]] = {}

    def check(self, answer: c.Raid) -> None:
        if answer.area not in self.orders:
            raise Refusal("no-raid-order-there", ("2E-RAID-1",), area=answer.area, areas=sorted(self.orders))
        if answer.target is not None and answer.target not in self.orders[answer.area]:
            rules = self.barred.get(answer.area, {}).get(answer.target, ("2E-RAID-2", "2E-RAID-5"))
            raise Refusal("cannot-be-raided", rules, target=answer.target, targets=list(self.orders[answer.area]))
        if answer.second is not None and not self.takes_two(answer.area):
            raise Refusal("one-target-only", ("2E-RAID-1",), area=answer.area)

    def takes_two(self, area: AreaId) -> bool:
        """Whether the order of an area may hit two targets in one go."""
        return False

    def sample(self, template: c.Raid, pick: Pick) -> c.Raid:
        choices = list(self.every(template))
        return choices[pick(len(choices))]

    def every(self, template: c.Raid) -> Iterator[c.Raid]:
        for area in sorted(self.orders):
            for target in (*self.orders[area], None):
                yield replace(template, area=area, target=target)


class DoubleRaidChoices(RaidChoices, frozen=True, tag="double-raids"):
    """As raids; the orders in ``double`` may take two targets in one go (1E-RAID-2)."""

    double: tuple[AreaId, ...] = ()

    def takes_two(self, area: AreaId) -> bool:
        return area in self.double

    def check(self, answer: c.Raid) -> None:
        super().check(answer)
        if answer.second is None:
            return
        if answer.target is None or answer.second == answer.target:
            raise Refusal("two-different-targets", ("1E-RAID-2",), target=answer.target, second=answer.second)
        super().check(replace(answer, target=answer.second, second=None))

    def every(self, template: c.Raid) -> Iterator[c.Raid]:
        for answer in super().every(replace(template, second=None)):
            yield answer
            if answer.area in self.double and answer.target is not None:
                for second in self.orders[answer.area]:
                    if second > answer.target:
                        yield replace(answer, second=second)


class ConsolidateChoices(Options[c.Consolidate], frozen=True, tag="consolidates"):
    """Consolidate Power orders, and what each may be used for."""

    orders: dict[AreaId, tuple[str, ...]]

    def check(self, answer: c.Consolidate) -> None:
        if answer.area not in self.orders:
            raise Refusal("no-consolidate-order-there", ("2E-CP-1",), area=answer.area, areas=sorted(self.orders))
        if answer.use not in self.orders[answer.area]:
            raise Refusal("cannot-muster-there", ("2E-CP-5", "2E-CP-6", "2E-CP-8"), area=answer.area)

    def sample(self, template: c.Consolidate, pick: Pick) -> c.Consolidate:
        choices = list(self.every(template))
        return choices[pick(len(choices))]

    def every(self, template: c.Consolidate) -> Iterator[c.Consolidate]:
        for area in sorted(self.orders):
            for use in self.orders[area]:
                yield replace(template, area=area, use=use)


class Requests(Options[c.NeutralSupportRequest], frozen=True, tag="requests"):
    """March orders and neutral forces that support can be asked for (2E-NEU-6); neither means do not ask."""

    targets: dict[AreaId, tuple[AreaId, ...]]

    def check(self, answer: c.NeutralSupportRequest) -> None:
        if answer.area is None and answer.target is None:
            return
        if answer.area is None or answer.target not in self.targets.get(answer.area, ()):
            raise Refusal("cannot-ask-for-that", ("2E-NEU-6",), targets=self.targets)

    def sample(self, template: c.NeutralSupportRequest, pick: Pick) -> c.NeutralSupportRequest:
        choices = list(self.every(template))
        return choices[pick(len(choices))]

    def every(self, template: c.NeutralSupportRequest) -> Iterator[c.NeutralSupportRequest]:
        yield replace(template, area=None, target=None)
        for area in sorted(self.targets):
            for target in self.targets[area]:
                yield replace(template, area=area, target=target)
