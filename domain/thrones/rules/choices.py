"""What the options of several chapters are made of, and the choices that more than one of them offers (section 26).

Each class checks an answer and lists all. What an option class says is legal *is* what is legal: the reducer has no
second opinion. Checks run in the order in which they stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

from msgspec.structs import replace

from domain.kernel.decision import Options, Pick
from domain.kernel.refusal import Refusal
from domain.thrones.language.answers import Chosen
from domain.thrones.language.pieces import MOST_AREAS, AreaId, Unit, Units, counted, each, in_order, size


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

    def every(self, template: Any) -> Iterator[Any]:
        return (replace(template, **{self.field: number}) for number in range(self.most + 1))


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


class PerOrder(Options[Any], frozen=True, tag="per-order"):
    """For every order a word. With ``same`` all third-party orders of the House go one way (``support-unit``).

    ``eligible`` are the rules that say which orders these are.
    """

    orders: dict[AreaId, tuple[str, ...]]
    same: bool = False
    rules: tuple[str, ...] = ()
    eligible: tuple[str, ...] = ()

    def check(self, answer: Any) -> None:
        _check_orders(answer, self.orders, self.eligible or self.rules)
        for area in sorted(answer.orders):
            if answer.orders[area] not in self.orders[area]:
                raise Refusal("not-an-option", self.rules, area=area, options=list(self.orders[area]))
        _check_one_way(answer, self.same)

    def sample(self, template: Any, pick: Pick) -> Any:
        return _some_way(template, dict(sorted(self.orders.items())), self.same, pick)

    def every(self, template: Any) -> Iterator[Any]:
        return _every_way(template, dict(sorted(self.orders.items())), self.same)


class YesNo(Options[Any], frozen=True, tag="yes-no"):
    """For every order yes or no, in the field ``orders``."""

    orders: tuple[AreaId, ...]
    same: bool = False
    rules: tuple[str, ...] = ()

    def check(self, answer: Any) -> None:
        _check_orders(answer, self.orders, self.rules)
        _check_one_way(answer, self.same)

    def sample(self, template: Any, pick: Pick) -> Any:
        return _some_way(template, dict.fromkeys(self.orders, (True, False)), self.same, pick)

    def every(self, template: Any) -> Iterator[Any]:
        return _every_way(template, dict.fromkeys(self.orders, (True, False)), self.same)


def _check_orders(answer: Any, orders: Iterable[AreaId], rules: tuple[str, ...]) -> None:
    if answer.orders.keys() != set(orders):
        raise Refusal("not-the-eligible-orders", rules, orders=sorted(orders))


def _check_one_way(answer: Any, same: bool) -> None:
    if same and len(set(answer.orders.values())) > 1:
        raise Refusal("one-declaration-for-all", ("2E-CBT-9",), orders=sorted(answer.orders))


def _some_way(template: Any, offered: Mapping[AreaId, tuple[Any, ...]], same: bool, pick: Pick) -> Any:
    if same:
        words = next(iter(offered.values()))
        return replace(template, orders=dict.fromkeys(offered, words[pick(len(words))]))
    return replace(template, orders={area: words[pick(len(words))] for area, words in offered.items()})


def _every_way(template: Any, offered: Mapping[AreaId, tuple[Any, ...]], same: bool) -> Iterator[Any]:
    for words in product(*offered.values()):
        if not same or len(set(words)) <= 1:
            yield replace(template, orders=dict(zip(offered, words, strict=True)))
