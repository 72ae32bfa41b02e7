"""Mustering (section 8)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import msgspec
from msgspec.structs import replace

from domain.kernel.decision import Options, Pick
from domain.kernel.procedure import Do, Done, Next, Procedure, Wait
from domain.kernel.refusal import Refusal
from domain.thrones.language import facts as f
from domain.thrones.language.answers import Muster, MusterStep
from domain.thrones.language.pieces import AreaId, HouseId, is_routed, routed, unit_type
from domain.thrones.rules.armies import complies
from domain.thrones.rules.game import Game, decision
from domain.thrones.rules.westeros.income import collect

UPGRADES = ("knight", "siege-engine")


class MusterArea(msgspec.Struct, frozen=True, omit_defaults=True):
    """An area that musters: its points, where its Ships may go, Footmen that stood there at the start."""

    points: int
    ships_to: tuple[AreaId, ...] = ()
    footmen: int = 0
    routed_footmen: int = 0


class Costs(msgspec.Struct, frozen=True):
    """Points by unit type, new and as an upgrade (2E-MUS-4)."""

    new: dict[str, int]
    upgrade: dict[str, int]


class Progress:
    """What a muster has used so far: each step is tested in the state left by the steps before (2E-MUS-9)."""

    def __init__(self, options: MusterOptions) -> None:
        self.options = options
        self.points = {area: there.points for area, there in options.areas.items()}
        self.reserve = dict(options.reserve)
        self.sizes = dict(options.sizes)
        self.footmen = {
            (area, unit): count
            for area, there in options.areas.items()
            for unit, count in (("footman", there.footmen), ("routed-footman", there.routed_footmen))
        }

    def cost(self, step: MusterStep) -> int:
        table = self.options.costs.upgrade if step.upgrade else self.options.costs.new
        return table.get(step.unit.removeprefix("routed-"), 0)

    def problem(self, step: MusterStep) -> tuple[str, tuple[str, ...]] | None:
        """Why a step is illegal now: a code and rules; None if it is legal."""
        there = self.options.areas.get(step.area)
        if there is None:
            return "cannot-muster-there", ("2E-MUS-1", "2E-MUS-2")
        return self._wrong_kind(step) or self._wrong_place(step, there) or self._too_much(step)

    def _wrong_kind(self, step: MusterStep) -> tuple[str, tuple[str, ...]] | None:
        if step.upgrade is None:
            return None if step.unit in self.options.costs.new else ("no-such-muster", ("2E-MUS-4",))
        if step.upgrade not in ("footman", "routed-footman") or unit_type(step.unit) not in self.options.costs.upgrade:
            return "no-such-upgrade", ("2E-MUS-4",)
        if is_routed(step.unit) != is_routed(step.upgrade):
            return "stays-as-it-is", ("2E-MUS-11",)
        if not self.footmen.get((step.area, step.upgrade)):
            return "no-footman-to-upgrade", ("2E-MUS-11",)
        return None

    def _wrong_place(self, step: MusterStep, there: MusterArea) -> tuple[str, tuple[str, ...]] | None:
        if step.unit == "ship":
            if step.to in there.ships_to:
                return None
            return "cannot-place-ship", ("2E-MUS-6", "2E-MUS-8") if not there.ships_to else ("2E-MUS-6",)
        return None if step.to == step.area else ("not-in-the-area", ("2E-MUS-5",))

    def _too_much(self, step: MusterStep) -> tuple[str, tuple[str, ...]] | None:
        if self.cost(step) > self.points[step.area]:
            return "not-enough-points", ("2E-MUS-3", "2E-MUS-4")
        if self.reserve.get(step.unit.removeprefix("routed-"), 0) < 1:
            return "none-in-reserve", ("2E-LIM-1", "2E-COMP-1")
        if step.upgrade is not None:
            return None
        after = self.sizes.get(step.to, 0) + 1
        if step.to in self.options.room and after > self.options.room[step.to]:
            return "port-full", ("2E-PRT-3", "2E-MUS-9")
        if not complies({**self.sizes, step.to: after}.values(), self.options.limit):
            return "over-supply", ("2E-SUP-8", "2E-MUS-9")
        return None

    def take(self, step: MusterStep) -> None:
        """Carry a legal step out."""
        self.points[step.area] -= self.cost(step)
        self.reserve[step.unit.removeprefix("routed-")] -= 1
        if step.upgrade is None:
            self.sizes[step.to] = self.sizes.get(step.to, 0) + 1
            return
        # The Footman returns to the reserve and serves later steps; it was one of those that stood here (2E-MUS-10).
        self.footmen[(step.area, step.upgrade)] -= 1
        self.reserve["footman"] += 1

    def legal_steps(self) -> list[MusterStep]:
        """Every step that is legal now, in canonical order."""
        return [step for step in self._candidates() if self.problem(step) is None]

    def _candidates(self) -> Iterator[MusterStep]:
        for area in sorted(self.options.areas):
            if not self.points[area]:
                continue
            there = self.options.areas[area]
            for unit in ("footman", "siege-engine", "knight"):
                yield MusterStep(area, unit, area)
            for to in there.ships_to:
                yield MusterStep(area, "ship", to)
            for old in ("footman", "routed-footman"):
                for new in UPGRADES:
                    yield MusterStep(area, routed(new) if is_routed(old) else new, area, old)


class MusterOptions(Options[Muster], frozen=True, tag="muster"):
    """Every legal ordered list of muster steps; with ``must`` at least one (2E-CP-6).

    ``sizes`` are the House's units by area, ``limit`` its supply, ``room`` what ports may hold.
    """

    areas: dict[AreaId, MusterArea]
    reserve: dict[str, int]
    sizes: dict[AreaId, int]
    limit: tuple[int, ...]
    room: dict[AreaId, int]
    costs: Costs
    must: bool = False

    def check(self, answer: Muster) -> None:
        progress = Progress(self)
        for number, step in enumerate(answer.steps, start=1):
            problem = progress.problem(step)
            if problem:
                code, rules = problem
                raise Refusal(code, rules, step=number, area=step.area, unit=step.unit, to=step.to)
            progress.take(step)
        if self.must and not answer.steps:
            raise Refusal("muster-something", ("2E-CP-6",))

    def sample(self, template: Muster, pick: Pick) -> Muster:
        progress = Progress(self)
        steps: list[MusterStep] = []
        while legal := progress.legal_steps():
            may_stop = bool(steps) or not self.must
            if may_stop and pick(6) == 0:
                break
            step = legal[pick(len(legal))]
            progress.take(step)
            steps.append(step)
        return replace(template, steps=tuple(steps))

    def every(self, template: Muster) -> Iterator[Muster]:
        def lists(steps: tuple[MusterStep, ...]) -> Iterator[tuple[MusterStep, ...]]:
            if steps or not self.must:
                yield steps
            progress = Progress(self)
            for step in steps:
                progress.take(step)
            for step in progress.legal_steps():
                yield from lists((*steps, step))

        return (replace(template, steps=steps) for steps in lists(()))


def ship_places(game: Game, house: HouseId, area: AreaId) -> tuple[AreaId, ...]:
    """Where an area's Ships may be placed: its port, adjacent sea areas without enemy Ships (2E-MUS-6, 2E-MUS-7)."""
    port = game.board.port_of.get(area)
    seas = [
        sea
        for sea in game.board.neighbours[area]
        if game.board.is_sea(sea) and not game.is_enemy_in(house, sea) and not game.is_held_by_fleet(sea)
    ]
    return tuple(sorted([*seas, *([port] if port else [])]))


def muster_options(game: Game, house: HouseId, areas: tuple[AreaId, ...], *, must: bool = False) -> MusterOptions:
    """What a House may muster in these areas, which it controls and which have a Castle or Stronghold."""
    figures = game.edition.unit_figures
    there = {
        area: MusterArea(
            points=game.edition.constants.mustering_points[game.board[area].castle],
            ships_to=ship_places(game, house, area),
            footmen=game.state.units_in(area).get("footman", 0),
            routed_footmen=game.state.units_in(area).get("routed-footman", 0),
        )
        for area in areas
    }
    return MusterOptions(
        areas=there,
        reserve=game.reserve(house),
        sizes=game.sizes(house),
        limit=game.supply_limit(house),
        room=dict.fromkeys(game.board.ports, game.edition.constants.port_ships),
        costs=Costs(
            new={unit.id: unit.muster_cost for unit in figures.values()},
            upgrade={unit.id: unit.upgrade_cost for unit in figures.values() if unit.upgrade_cost is not None},
        ),
        must=must,
    )


def can_muster(game: Game, house: HouseId, area: AreaId) -> bool:
    """Whether at least one muster step is legal in an area."""
    return bool(Progress(muster_options(game, house, (area,))).legal_steps())


def places_for_a_ship(game: Game, house: HouseId, area: AreaId) -> set[AreaId]:
    """Where a muster in an area may put a Ship; what else it musters first only takes away from that."""
    steps = Progress(muster_options(game, house, (area,))).legal_steps()
    return {step.to for step in steps if step.unit == "ship"}


def cost_of(game: Game, step: MusterStep) -> int:
    figures = game.edition.unit_figures[step.unit.removeprefix("routed-")]
    return (figures.upgrade_cost or 0) if step.upgrade else figures.muster_cost


class MusterIn(Procedure, frozen=True, tag=True):
    """One House musters (2E-DP-5) in all its areas, or in ``area`` alone.

    ``instead_of_power`` is set when the order of 2E-CP-5 is used: then something must be mustered, and a missed
    deadline turns the order into Power.
    """

    house: HouseId
    area: AreaId = ""
    instead_of_power: bool = False

    def begin(self, game: Game) -> Next:
        areas = (self.area,) if self.area else game.castles_of(self.house)
        options = muster_options(game, self.house, areas, must=self.instead_of_power)
        if not Progress(options).legal_steps():
            return Done()
        rules = ["2E-DP-5", "2E-MUS-1", "2E-MUS-2", "2E-MUS-9", "2E-MUS-12"]
        rules += ["2E-CP-5", "2E-CP-6"] if self.instead_of_power else []
        facts: dict[str, object] = {"points": {area: there.points for area, there in options.areas.items()}}
        question = decision(Muster(house=self.house), options, *rules, asked_anyway=True, facts=facts)
        return Wait(question, then="muster")

    def muster(self, game: Game, answer: Muster) -> Next:
        for step in answer.steps:
            self._step(game, step)
        if self.instead_of_power and not answer.steps:
            collect(game, self.house, self.area)
        return Done()

    def _step(self, game: Game, step: MusterStep) -> None:
        action = ("2E-CP-9",) if self.instead_of_power else ()
        if step.upgrade:
            replaced = f.UnitReplaced(house=self.house, area=step.area, old=step.upgrade, new=step.unit)
            game.emit(replaced, "2E-MUS-4", "2E-MUS-10", "2E-MUS-11")
            return
        rules = ["2E-MUS-3", "2E-MUS-4"]
        if step.unit == "ship":
            rules += ["2E-MUS-6", "2E-PRT-10", "2E-MUS-7"] if game.board.is_port(step.to) else ["2E-MUS-6"]
        else:
            rules += ["2E-MUS-5"]
        mustered = f.UnitMustered(
            house=self.house, area=step.area, unit=step.unit, to=step.to, points=cost_of(game, step)
        )
        game.emit(mustered, *rules, *action)


class Mustering(Procedure, frozen=True, tag=True):
    """All Houses muster in turn order (2E-MUS-1)."""

    turns: ClassVar[tuple[str, ...]] = ("begin",)

    done: tuple[HouseId, ...] = ()

    def begin(self, game: Game) -> Next:
        for house in game.turns(self.done):
            return Do(MusterIn(house=house), then=self.at("begin", done=(*self.done, house)))
        return Done()
