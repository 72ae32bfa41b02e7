"""The options of a march (2E-DP-25): which units of which March order may go where, and what limits them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Literal

import msgspec
from msgspec.structs import replace

from domain.kernel.decision import Options, Pick
from domain.kernel.refusal import Problems, Refusal
from domain.thrones.language.answers import MarchOrder, Move
from domain.thrones.language.pieces import (
    MOST_AREAS,
    MOST_KINDS,
    AreaId,
    Unit,
    Units,
    counted,
    each,
    in_order,
    minus,
    plus,
    size,
)
from domain.thrones.rules.armies import complies
from domain.thrones.rules.choices import subsets


class Destination(msgspec.Struct, frozen=True, omit_defaults=True):
    """An area that units may enter.

    ``contested`` tells of a fight: with a House, or with a neutral force of ``required`` strength. Against
    the latter ``strength`` has the value of each unit type, ``bonus`` the number on the March order and
    ``support`` the strength of Support orders that count; units sent into those of ``own`` add to them, but for
    the types in ``idle``, which give nothing in support. ``room`` is the most units the area may take.
    """

    contested: Literal["", "combat", "neutral"] = ""
    required: int = 0
    strength: dict[Unit, int] = {}
    bonus: int = 0
    support: dict[AreaId, int] = {}
    own: tuple[AreaId, ...] = ()
    idle: tuple[Unit, ...] = ()
    room: int | None = None

    def total(self, moves: dict[AreaId, Units], to: AreaId) -> int:
        """Strength against the neutral force when these moves are made together (2E-NEU-3, 2E-NEU-5)."""
        fighting = self._value(moves.get(to, {})) + self.bonus + sum(self.support.values())
        joining = (moves.get(area, {}) for area in self.own)
        return fighting + sum(
            self._value({unit: count for unit, count in units.items() if unit not in self.idle}) for units in joining
        )

    def _value(self, units: Units) -> int:
        return sum(self.strength.get(unit, 0) * count for unit, count in in_order(units))


class Origin(msgspec.Struct, frozen=True, omit_defaults=True):
    """A March order: the units that can move, how many stay in any case, where they may go.

    ``barred`` names rules for areas next to it that cannot be entered, ``far`` for all others, ``no_power`` the
    rules that forbid leaving a Power token.
    """

    units: Units
    stuck: int
    to: dict[AreaId, Destination]
    barred: dict[AreaId, tuple[str, ...]] = {}
    far: tuple[str, ...] = ()
    no_power: tuple[str, ...] = ()


class Marches(Options[MarchOrder], frozen=True, tag="marches"):
    """March orders of a House with every legal declaration. ``sizes`` are its units by area, ``limit`` its supply."""

    origins: dict[AreaId, Origin]
    sizes: dict[AreaId, int]
    limit: tuple[int, ...]

    def check(self, answer: MarchOrder) -> None:
        origin = self.origins.get(answer.area)
        if origin is None:
            raise Refusal("no-march-order-there", ("2E-MAR-1",), area=answer.area, areas=sorted(self.origins))
        moves = self._moves(answer, origin)
        problems = Problems()
        self._check_destinations(problems, moves, origin)
        for to in sorted(moves):
            if to in origin.to:
                self._check_neutral(problems, moves, to, origin.to[to])
        self._check_sizes(problems, answer.area, moves, origin)
        if answer.leave_power:
            if origin.no_power:
                problems.add("no-power-token-there", origin.no_power, area=answer.area)
            if origin.stuck or sum(size(units) for units in moves.values()) < size(origin.units):
                problems.add("units-stay-behind", ("2E-MAR-8", "2E-CTL-4"), area=answer.area)
        problems.refuse()

    def _moves(self, answer: MarchOrder, origin: Origin) -> dict[AreaId, Units]:
        moves: dict[AreaId, Units] = {}
        moving: Units = {}
        strangers = False
        for move in answer.moves[:MOST_AREAS]:  # of more than there are areas, some go to the same one, or to none
            if len(move.units) > MOST_KINDS:
                few = dict(islice(move.units.items(), MOST_KINDS))
                raise Refusal("units-cannot-march", ("2E-MAR-1",), units=few, available=origin.units)
            if not move.units or any(count < 1 for count in move.units.values()):
                raise Refusal("no-units-named", ("2E-MAR-1",), to=move.to)
            if move.to in moves:
                raise Refusal("destination-named-twice", ("2E-MAR-1",), to=move.to)
            moves[move.to] = move.units
            moving = plus(moving, move.units)
            strangers = strangers or not move.units.keys() <= origin.units.keys()
        try:
            if strangers:
                raise ValueError("units that are not there at all")
            minus(origin.units, moving)
        except ValueError:
            named = {unit: count for move in moves.values() for unit, count in move.items()}
            # Routed units are called routed, but whoever does not say so may mean them all the same.
            routed = any(unit.startswith("routed-") for unit in named) or origin.stuck
            rules = ("2E-MAR-1", "2E-MAR-4") if routed else ("2E-MAR-1",)
            raise Refusal("units-cannot-march", rules, units=named, available=origin.units) from None
        if len(moves) < len(answer.moves):
            raise Refusal("cannot-enter", origin.far, to=answer.moves[-1].to, destinations=sorted(origin.to))
        return moves

    def _check_destinations(self, problems: Problems, moves: dict[AreaId, Units], origin: Origin) -> None:
        for to in sorted(moves):
            if to not in origin.to:
                rules = origin.barred.get(to, origin.far)
                problems.add("cannot-enter", rules, to=to, destinations=sorted(origin.to))
        contested = [to for to in sorted(moves) if to in origin.to and origin.to[to].contested]
        if len(contested) > 1:
            rules = ("2E-MAR-5", "2E-NEU-8") if any(origin.to[to].required for to in contested) else ("2E-MAR-5",)
            problems.add("two-contested-areas", rules, areas=contested)

    def _check_neutral(self, problems: Problems, moves: dict[AreaId, Units], to: AreaId, there: Destination) -> None:
        if there.contested == "neutral" and there.total(moves, to) < there.required:
            problems.add(
                "too-weak",
                ("2E-NEU-2", "2E-NEU-3"),
                area=to,
                required=there.required,
                strength=there.total(moves, to),
            )

    def _check_sizes(self, problems: Problems, area: AreaId, moves: dict[AreaId, Units], origin: Origin) -> None:
        after = self.after(area, moves)
        for to in sorted(moves):
            room = origin.to[to].room if to in origin.to else None
            if room is not None and after[to] > room:
                problems.add("port-full", ("2E-PRT-3",), area=to, ships=after[to], most=room)
        # Moving nothing is always possible (2E-MAR-14), whatever the armies look like.
        if moves and not complies(after.values(), self.limit):
            problems.add(
                "over-supply",
                ("2E-MAR-7", "2E-SUP-8", "2E-SUP-3"),
                limit=list(self.limit),
                armies=sorted(after.values())[::-1],
            )

    def after(self, area: AreaId, moves: dict[AreaId, Units]) -> dict[AreaId, int]:
        """Units by area after all declared moves, those for a contested area counted there (2E-MAR-7)."""
        after = dict(self.sizes)
        for to, units in moves.items():
            after[area] -= size(units)
            after[to] = after.get(to, 0) + size(units)
        return after

    def is_legal(self, answer: MarchOrder) -> bool:
        try:
            self.check(answer)
        except Refusal:
            return False
        return True

    def sample(self, template: MarchOrder, pick: Pick) -> MarchOrder:
        for _ in range(24):
            area = sorted(self.origins)[pick(len(self.origins))]
            answer = replace(template, area=area, moves=self._some_moves(self.origins[area], pick), leave_power=False)
            if self.is_legal(answer):
                with_power = replace(answer, leave_power=True)
                return with_power if pick(2) and self.is_legal(with_power) else answer
        return replace(template, moves=(), leave_power=False)

    def _some_moves(self, origin: Origin, pick: Pick) -> tuple[Move, ...]:
        if not origin.to or pick(8) == 0:
            return ()
        places = sorted(origin.to)
        # A few destinations at a time: whole armies march together more often than they scatter.
        few: list[AreaId | None] = [places[pick(len(places))] for _ in range(1 + pick(3))]
        few += [None] * (pick(3) == 0)
        going: dict[AreaId, list[Unit]] = {}
        for unit in each(origin.units):
            to = few[pick(len(few))]
            if to is not None:
                going.setdefault(to, []).append(unit)
        return tuple(Move(to, counted(going[to])) for to in sorted(going))

    def every(self, template: MarchOrder) -> Iterator[MarchOrder]:
        for area in sorted(self.origins):
            origin = self.origins[area]
            for split in _splits(origin.units, sorted(origin.to)):
                moves = tuple(Move(to, units) for to, units in split.items() if units)
                for leave in (False, True):
                    answer = replace(template, area=area, moves=moves, leave_power=leave)
                    if self.is_legal(answer):
                        yield answer


def _splits(units: Units, places: list[AreaId]) -> Iterator[dict[AreaId, Units]]:
    """Every way to send units to places, some staying."""
    if not places:
        yield {}
        return
    for count in range(size(units) + 1):
        for going in subsets(units, count):
            for rest in _splits(minus(units, going), places[1:]):
                yield {places[0]: going, **rest}
