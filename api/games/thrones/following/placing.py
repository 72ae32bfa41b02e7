"""Musters: the likeliest places first, and others when a later entry does not fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from msgspec.structs import replace

from api.games.thrones.following import losses
from api.games.thrones.following.answers import answer
from api.games.thrones.following.battles import Battles
from api.games.thrones.following.driver import CERTAIN, COUNTED, MOST_OTHERS, Chosen, Departure, Point
from api.games.thrones.following.forecast import Forecast
from api.games.thrones.following.hypothesis import Hypothesis, Misfit, OutOfEntries, Step, with_
from api.games.thrones.following.musters import after, weighed
from api.games.thrones.logs import names as n
from api.games.thrones.logs import records as r
from api.games.thrones.logs.grammar import with_bars
from domain.kernel.decision import Decision
from domain.thrones.language import answers as c
from domain.thrones.language.pieces import HouseId, Units
from domain.thrones.rules.westeros.mustering import muster_options
from domain.thrones.ruleset import THRONES

MOST_POINTS = 9


class Placing(Battles):
    """Musters."""

    def _muster(self, here: Hypothesis, question: Decision[Any]) -> Hypothesis:
        house = question.player
        entry: r.Entry | None = None
        units: Mapping[str, int] = {}
        if here.mustering:
            entry = self.pages.by_number[here.mustering]
            units = getattr(entry.record, "units", {})
        else:
            found = self.pages.first(here, r.Mustered, fits=lambda one: one.house == house)
            if found is not None:
                entry, units = found[0], found[1].units
            else:
                raised = self.pages.first(here, r.WildlingsBeaten)
                for effect in raised[1].effects if raised else ():
                    if isinstance(effect, r.UnitsRaised) and effect.house == house:
                        entry, units = raised[0], effect.units  # type: ignore[index]  # it was found
        if entry is None:
            if not self.pages.goes_on(here):
                raise OutOfEntries
            return self._rule(here, Step(c.Muster(house), 0))
        here = with_(here, mustering=0)
        chosen = self._ranked(here, question, entry, units)
        if not chosen:
            for other in self._castles_held(here, house):
                again = THRONES.decisions(other.state)
                if again and again[0].kind == "muster" and again[0].player == house:
                    chosen = self._ranked(other, again[0], entry, units)
                    if chosen:
                        here, question = other, again[0]
                        break
        if not chosen:
            kinds = with_bars(units, n.MUSTERED).removesuffix(" |").replace(" | ", ", ")
            raise Misfit("muster", entry.number, f"{house} cannot muster {kinds}", house)
        return self._likeliest(here, entry.number, chosen, Step(chosen[0][1], entry.number, ("muster-places",)))

    def _give_up(self, here: Hypothesis, question: Decision[Any], step: Step) -> Hypothesis:
        """Units given up for supply or to wildlings: those that later entries miss least."""
        number, ways = losses.choices(self.pages, here, question)
        house = question.player
        if not ways and number and number not in self.tolerated:
            raise Misfit("armies", number, f"{house} does not have the units to give up", house, "0")
        if not ways:
            return self._rule(here, step)
        forecast = self._forecast(here, house, self.pages.by_number[number])
        forces = here.state.forces_of(house)
        against = forecast.weigh([losses.after(forces, way) for way in ways])
        chosen = sorted(zip(against, ways, strict=True), key=lambda one: one[0])
        return self._likeliest(here, number, chosen, Step(chosen[0][1], 0, step.assumed))

    def _likeliest(self, here: Hypothesis, number: int, chosen: Sequence[tuple[int, Chosen]], step: Step) -> Hypothesis:
        """The first of these commands; the others are kept for when a later entry does not fit."""
        if len(chosen) > 1:
            house = step.command.house  # type: ignore[attr-defined]  # answers of a House
            self.points.append(Point(here, number, house, step, tuple(chosen[1:])))
        return self._rule(here, step if len(chosen) > 1 else with_(step, assumed=()))

    def _castles_held(self, here: Hypothesis, house: HouseId) -> Iterator[Hypothesis]:
        """Positions in which Power tokens keep Castles that the House has left."""
        latest = {area: number for number, (_, area) in sorted(here.vacated.items())}
        able = [
            number
            for area, number in sorted(latest.items())
            if here.vacated[number][0] == house
            and not here.left[number]
            and number not in here.firm
            and area not in here.state.units
            and self.edition.board.has_castle(area)
        ]
        for count in (1, 2):
            for numbers in combinations(able, count):
                other = self._with_tokens(here, house, numbers)
                if other is not None:
                    yield other

    def _ranked(
        self, here: Hypothesis, question: Decision[Any], entry: r.Entry, units: Mapping[str, int]
    ) -> list[tuple[int, c.Muster]]:
        house = question.player
        options: Any = question.options
        forces = here.state.forces_of(house)
        doubtful = {area for _, area in here.vacated.values() if area not in here.state.units}
        # Going back asks the same of the same pieces many times over.
        others = sorted((area, force.house) for area, force in here.state.units.items() if force.house != house)
        held = (self.rules.game(here.state).controlled(house), sorted(doubtful), here.state.supply[house])
        key = repr((entry.number, self.looks_until, house, units, options, forces, others, held))
        known = self.pages.ranked.get(key)
        if known is None:
            self.forecasts += 1
            known = weighed(options, forces, self._forecast(here, house, entry), house, units, doubtful)
            self.pages.ranked[key] = known
        return known

    def _forecast(self, here: Hypothesis, house: HouseId, entry: r.Entry) -> Forecast:
        others = {area: force.house for area, force in here.state.units.items() if force.house != house}
        later = self.pages.entries[self.pages.place[entry.number] + 1 : self.looks_until]
        game = self.rules.game(here.state)
        limits = self.edition.houses[house].limits
        return Forecast(self.edition, house, later, others, game.controlled(house), here.state.supply[house], limits)

    def _horde(self, here: Hypothesis, question: Decision[Any]) -> Hypothesis:
        """Where the wildlings' beaten horde lets a House muster: the area from which later entries go on best."""
        step = answer(self.pages, here, question)
        found = self.pages.first(here, r.WildlingsBeaten)
        if found is None or question.options.words == ("none",):  # type: ignore[attr-defined]  # a choice of one word
            return self._rule(here, step)
        entry, house = found[0], question.player
        units = next((one.units for one in found[1].effects if isinstance(one, r.UnitsRaised)), {})
        forecast = self._forecast(here, house, entry)
        game = self.rules.game(here.state)
        ways: list[tuple[int, Chosen]] = []
        default: Any = question.default
        for area in question.options.words:  # type: ignore[attr-defined]  # a choice of one word
            if area != "none":
                options = muster_options(game, house, (area,))
                best = weighed(options, here.state.forces_of(house), forecast, house, units)
                ways += [(best[0][0], replace(default, choice=area))] if best else []
        if not ways or not units:
            return self._rule(here, step)
        ways.sort(key=lambda one: one[0])
        return self._likeliest(here, entry.number, ways, Step(ways[0][1], 0, ("muster-places",)))

    def _revise_musters(self, here: Hypothesis, misfit: Misfit) -> Hypothesis | None:
        """Go back to a muster that could have gone otherwise, the nearest first, until the entry fits."""
        known = (misfit.kind, misfit.entry, misfit.house)
        if self.bound_hit or known in self.hopeless or misfit.kind in CERTAIN:
            return None
        self.hopeless.add(known)
        goal = self.pages.place.get(misfit.entry, self.pages.place[max(here.used)] if here.used else 0)
        points = self.points
        houses = (misfit.house, misfit.foe)
        places = [number for number, point in enumerate(points) if isinstance(point, Point)]
        near = [number for number in places if points[number].house in houses] or places
        tokens = [
            number
            for number, point in enumerate(points)
            if isinstance(point, Departure)
            and (point.house in houses or not misfit.house)
            and self._matters(point, misfit)
        ]
        tried = [*near[-MOST_POINTS:], *tokens[-MOST_POINTS:]]
        counted = misfit.kind in COUNTED
        tried.sort(key=lambda one: (counted and one in near, -one))
        # Where an entry fits in the end but another House's does not, that is a matter of its own.
        nearly: tuple[Hypothesis, list[Point | Departure], int] | None = None
        for number in tried:
            for start, told in self._other_starts(here, points[number], misfit):
                self.points = list(points[:number])
                found, is_whole = self._followed(start, told, goal, misfit)
                if found is None:
                    continue
                if is_whole:
                    self.trail.append(f"revised entry {points[number].entry} for {misfit}")
                    return found
                nearly = nearly or (found, self.points, points[number].entry)
        self.points = points
        if nearly is None:
            return None
        found, self.points, entry = nearly
        self.trail.append(f"revised entry {entry} for {misfit}, another misfit in view")
        return found

    def _looked_less_far(self, here: Hypothesis, misfit: Misfit) -> Hypothesis | None:
        """Follow the log again from a muster that is ranked by nothing behind the entry that does not fit.

        What is told wrongly there speaks against the right places just as what is told rightly speaks for them. Once
        for each misfit: one that only shows behind the entry would bring the same look again without end.
        """
        if self.bound_hit or misfit.kind in COUNTED or misfit.kind in CERTAIN or misfit.entry not in self.pages.place:
            return None
        known = (misfit.kind, misfit.entry, misfit.house)
        if known in self.looked:
            return None
        self.looked.add(known)
        goal = self.pages.place[misfit.entry]
        points, houses = self.points, (misfit.house, misfit.foe)
        near = [number for number, point in enumerate(points) if isinstance(point, Point) and point.house in houses]
        self.looks_until = goal + 1
        try:
            for number in near[-MOST_POINTS:][::-1]:
                self.points = list(points[:number])
                found, is_whole = self._followed(points[number].before, None, goal, misfit)
                if found is not None and is_whole:
                    self.trail.append(f"looked less far from entry {points[number].entry} for {misfit}")
                    return found
        finally:
            self.looks_until = None
        self.points = points
        return None

    def _followed(
        self, here: Hypothesis, told: Step | None, goal: int, misfit: Misfit
    ) -> tuple[Hypothesis | None, bool]:
        """How far the log can be followed up to an entry: to it, or to where what another House did does not fit."""
        try:
            if told is not None:
                here = self._rule(here, told)
            while not self._has_reached(here, goal):
                here = self.go_on(here)
        except Misfit as other:
            place = self.pages.place.get(other.entry, -1)
            is_another = misfit.kind in COUNTED and other.house != misfit.house and place >= goal
            return (here if is_another else None), False
        except OutOfEntries:
            return (here, True) if misfit.kind == "winner" else (None, False)
        return here, True

    def _matters(self, point: Departure, misfit: Misfit) -> bool:
        """Whether a Power token there, or the ships that are lost without it, could matter to what did not fit."""
        place = self.edition.board[point.area]
        port = bool(self.edition.board.port_of.get(point.area))
        match misfit.kind:
            case "power":
                return point.left
            case "spent":
                return point.left == (int(misfit.area) > 0)
            case "income":
                return port or bool(place.power)
            case "supply":
                return bool(place.supply)
            case "muster" | "ended" | "winner":
                return port or bool(place.castle)
            case "battle" | "retreat":
                return port or misfit.area in self.edition.board.neighbours[point.area]
            case "absent" if misfit.area in self.edition.board and self.edition.board.is_port(misfit.area):
                return self.edition.board.land_of(misfit.area) == point.area
            case _:
                return port

    def _other_starts(
        self, here: Hypothesis, point: Point | Departure, misfit: Misfit
    ) -> Iterator[tuple[Hypothesis, Step | None]]:
        """Where to go on from when this choice is made otherwise, and with which command."""
        if isinstance(point, Point):
            for other in self._other_ways(point, misfit):
                yield point.before, with_(point.taken, command=other)
            return
        later = {number: left for number, left in here.left.items() if number > point.entry}
        left = not here.left.get(point.entry, point.left)
        start = with_(point.before, left={**point.before.left, **later, point.entry: left})
        if not left or start.state.power[point.house]:
            yield start, None
            return
        # There was no Power left for it: another token was not left before.
        for spared in self._spared(start, point.house, point.entry):
            freed = self._flipped(start, point.house, (spared,))
            if freed is not None:
                yield freed, None

    def _other_ways(self, point: Point, misfit: Misfit) -> list[Chosen]:
        """Other ways to muster or give up, those first that would help where the entry did not fit."""
        area = misfit.area
        if misfit.kind not in ("battle", "retreat") or area not in self.edition.board:
            return [way for _, way in point.others[:MOST_OTHERS]]
        near = self.edition.board.neighbours[area]
        value = {"footman": 1, "ship": 1, "knight": 2}
        forces = point.before.state.forces_of(point.house)

        def strength(way: Chosen) -> float:
            stand: Mapping[str, Units] = forces
            if isinstance(way, c.Muster):
                stand = after(forces, way)
            elif not isinstance(way, c.HordeMusterArea):
                stand = losses.after(forces, way)
            total = 0.0
            for there, units in stand.items():
                power = sum(value.get(unit, 0) * count for unit, count in units.items())
                total += power if there == area else power / 4 if there in near else 0
            return total

        sign = 1 if point.house == misfit.house else -1
        taken: Any = point.taken.command
        now = strength(taken)
        helping = [(against, -sign * (strength(way) - now), way) for against, way in point.others
                   if sign * (strength(way) - now) > 0]  # fmt: skip
        helping.sort(key=lambda one: one[:2])
        found = [way for _, _, way in helping[:MOST_OTHERS]]
        if misfit.what.split()[1:2] != ["lost"]:
            # Not who won but what became of the units differs: armies elsewhere may have been others.
            found += [way for _, way in point.others[:MOST_OTHERS] if way not in found]
        return found
