"""The follower: plays a log over on our engine, entry by entry, and finds what the log leaves out.

Where the log leaves a choice (orders, the places of mustered units, support, Power tokens left behind) the likeliest
is taken first. When a later entry does not fit, the choices it rests on are revised, the nearest first, within a bound.
Past choices that nothing has rested on yet are revised in place: the game is played once more at the end, by
:mod:`.replay`, with everything known from the beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

from msgspec.structs import replace

from domain.kernel.decision import Decision
from domain.kernel.facts import Answered, Fact
from domain.kernel.refusal import Refusal
from domain.thrones import commands as c
from domain.thrones import facts as f
from domain.thrones.charter import Charter
from domain.thrones.edition import Edition
from domain.thrones.interchange.following.answers import MARCHES, Pages, answer, is_march, killed
from domain.thrones.interchange.following.decks import Dealt
from domain.thrones.interchange.following.forecast import Forecast
from domain.thrones.interchange.following.hypothesis import Hypothesis, Misfit, OutOfEntries, Step, with_
from domain.thrones.interchange.following.musters import weighed
from domain.thrones.interchange.following.orders import as_tokens, demands, lay, told_orders
from domain.thrones.interchange.following.support import Change, changes_for
from domain.thrones.interchange.logs import records as r
from domain.thrones.pieces import AreaId, HouseId, Units, plus, size
from domain.thrones.procedures.control import announce_control, announce_victory_markers
from domain.thrones.procedures.mustering import muster_options
from domain.thrones.ruleset import THRONES, ThronesOf, rules_by
from domain.thrones.start import Start
from domain.thrones.state import State

MOST_COMMANDS = 12_000
"""A bound on the commands of one import, tries included."""
MOST_TRIES = 60
"""Revisions of the hidden choices of one battle."""
MOST_POINTS = 9
MOST_OTHERS = 6
"""How many musters back, and how many other ways of each, are tried for an entry that does not fit."""


@dataclass(frozen=True)
class Judged:
    """Why an entry cannot be as the log has it, or as we rule it: rules, who is right, and the reason."""

    rules: tuple[str, ...]
    right: Literal["rules", "log", "open"]
    why: str


@dataclass(frozen=True)
class Point:
    """A muster that could have gone otherwise."""

    before: Hypothesis
    decision: Decision[Any]
    entry: int
    house: HouseId
    taken: c.Muster
    others: tuple[tuple[int, c.Muster], ...]


class Follower:
    """One log being followed."""

    def __init__(self, log: r.Log, charter: Charter, edition: Edition, dealt: Dealt) -> None:
        self.pages = Pages(log.entries)
        self.charter = charter
        self.edition = edition
        self.rules: ThronesOf = rules_by(charter)
        self.dealt = dealt
        self.points: list[Point] = []
        self.commands = 0
        self.bound_hit = False
        self.replanning = 0
        self.unfit: list[Misfit] = []
        self.trail: list[str] = []
        self.tolerated: set[int] = set()
        self.judged: dict[int, Judged] = {}

    # The way

    def run(self) -> Hypothesis:
        """Follow the log to its end, or as far as it can be followed."""
        here = self._start()
        while True:
            try:
                here = self.go_on(here)
            except OutOfEntries as end:
                return end.reached if isinstance(end.reached, Hypothesis) else here
            except Misfit as misfit:
                found = self._revise_musters(here, misfit)
                if found is None and misfit.kind in ("income", "supply") and misfit.entry not in self.tolerated:
                    self.tolerated.add(misfit.entry)
                    self.trail.append(f"tolerated {misfit}")
                    continue
                if found is None:
                    self.unfit.append(misfit)
                    return here
                here = found

    def _start(self) -> Hypothesis:
        here = Hypothesis(THRONES.blank())
        here = self._decide(here, Step(Start(charter=self.charter, decks=self.dealt.decks), 0))[0]
        for draws in self.dealt.shuffles:
            here = self._decide(here, Step(draws, 0))[0]
        return here

    def go_on(self, here: Hypothesis) -> Hypothesis:
        """Answer one question (or one group of them that belongs together)."""
        questions = THRONES.decisions(here.state)
        if not questions:
            raise OutOfEntries
        first = questions[0]
        if first.kind == "assign-orders":
            return self._plan(here, questions)
        if first.kind == "march":
            return self._march(here, first)
        if first.kind == "neutral-support-request":
            return self._ask_support(here, first)
        if first.kind == "muster":
            return self._muster(here, first)
        if first.kind == "horde-muster-area":
            return self._horde(here, first)
        if first.kind == "consolidate":
            step = answer(self.pages, here, first)
            musters = isinstance(step.command, c.Consolidate) and step.command.use == "muster"
            return with_(self._rule(here, step), mustering=step.entry if musters else 0)
        return self._rule(here, answer(self.pages, here, first))

    def _decide(self, here: Hypothesis, step: Step) -> tuple[Hypothesis, tuple[Fact, ...]]:
        self.commands += 1
        if self.commands > MOST_COMMANDS:
            self.bound_hit = True
            raise OutOfEntries
        try:
            ruling = THRONES.decide(here.state, step.command)
        except Refusal as refusal:
            raise Misfit(
                "refused", step.entry, f"{refusal.code} {refusal.params}", getattr(step.command, "house", "")
            ) from refusal
        return here.take(ruling.state, step), ruling.facts

    def _rule(self, here: Hypothesis, step: Step) -> Hypothesis:
        """A command, and what it brought compared with what the log says of income and supply."""
        try:
            after, facts = self._decide(here, step)
        except Misfit:
            if not isinstance(step.command, c.InfluenceBid | c.WildlingBid):
                raise
            house = step.command.house
            short = step.command.bid - here.state.power[house]
            short_of = Misfit("power", step.entry, f"{house} has {here.state.power[house]} Power", house, str(short))
            for repaired in self._tokens_otherwise(here, short_of):
                return self._decide(repaired, step)[0]
            raise short_of from None
        misfit = self._income(here, facts)
        if misfit is None:
            return after
        for repaired in self._tokens_otherwise(here, misfit):
            other, facts = self._decide(repaired, step)
            if self._income(repaired, facts) is None:
                return other
        raise misfit

    # Planning

    def _round(self, here: Hypothesis) -> list[r.Entry]:
        return [
            entry
            for entry in self.pages.by_round.get(here.state.round, ())
            if entry.phase not in ("WESTEROS", "PLANNING")
        ]

    def _plan(
        self, here: Hypothesis, questions: Iterable[Decision[Any]], forced: Mapping[AreaId, tuple[str, ...]] | None = None
    ) -> Hypothesis:
        entries = self._round(here)
        if not entries:
            raise OutOfEntries
        game = self.rules.game(here.state)
        wanted = demands(game, entries)
        planning = here.state
        if wanted.absent:
            number, house, area = wanted.absent[0]
            raise Misfit("absent", number, f"{house or 'nobody'} has no units in {area}", house, area)
        if any(number == planning.round for number, _ in here.laid):
            # Orders are assigned in turn where a House is short of tokens; this is not the first of them.
            forced = {area: (kind,) for area, kind in here.pinned.items()}
        else:
            pinned = {area: kinds[0] for area, kinds in (forced or {}).items()}
            here = with_(here, planning=planning, planned_from=here, pinned=pinned, battle=0, words={})
        here = with_(here, demands=wanted)
        houses = [question.player for question in questions]
        for house in houses:
            laid = lay(game, house, wanted, forced)
            if laid is None:
                raise Misfit("orders", entries[0].number, f"no orders of {house} fit the round", house)
            told = self.pages.first(here, r.OrdersSet, fits=lambda one, house=house: one.house == house)
            tokens = as_tokens(laid.orders, self.edition.tokens)
            step = Step(c.AssignOrders(house, tokens), told[0].number if told else 0)
            here, _ = self._decide(here, step)
            here = with_(
                here,
                laid={**here.laid, (planning.round, house): laid.orders},
                sources={**here.sources, **laid.sources},
            )
        return here

    def guessed(self, found: Hypothesis) -> dict[tuple[int, HouseId], tuple[AreaId, ...]]:
        """Areas whose order no entry of the round tells, by round and House."""
        told: dict[int, set[AreaId]] = {}
        for number, entries in self.pages.by_round.items():
            told[number] = {area for entry in entries for area in told_orders(entry.record)}
        return {
            (number, house): tuple(area for area in sorted(orders) if area not in told.get(number, set()))
            for (number, house), orders in found.laid.items()
        }

    def _lay_otherwise(self, here: Hypothesis, changes: Mapping[AreaId, str]) -> Hypothesis | None:
        """The same position with other hidden orders of this round; None if nobody could have laid them."""
        assert here.planning is not None and here.demands is not None
        game = self.rules.game(here.planning)
        edited = self.rules.game(here.state)
        laid_now = dict(here.laid)
        sources = dict(here.sources)
        owners = sorted({here.planning.units[area].house for area in changes if area in here.planning.units})
        for house in owners:
            key = (here.state.round, house)
            pins = {area: (kind,) for area, kind in here.pinned.items()}
            wanted = {area: (kind,) for area, kind in changes.items()}
            raided = {area: (laid_now[key][area],) for number, area in here.sources.items()
                      if number in here.used and area in laid_now[key]}  # fmt: skip
            laid = lay(game, house, here.demands, {**raided, **pins, **wanted})
            if laid is None or any(laid.orders.get(area) != kind for area, kind in changes.items()
                                   if here.planning.units[area].house == house):  # fmt: skip
                return None
            laid_now[key] = laid.orders
            sources.update({number: area for number, area in laid.sources.items() if number not in here.used})
            tokens = as_tokens(laid.orders, self.edition.tokens)
            for area, placed in sorted(here.state.orders.items()):
                new = tokens.get(area)
                if placed.house == house and new and new != placed.token:
                    edited.emit(f.OrderReplaced(house=house, area=area, old=placed.token, new=new))
        return with_(here, state=edited.state, laid=laid_now, sources=sources)

    # Marches and battles

    def _march(self, here: Hypothesis, question: Decision[Any]) -> Hypothesis:
        found = self.pages.first(here, *MARCHES, fits=is_march)
        if found is None:
            if not self.pages.goes_on(here):
                raise OutOfEntries
            raise Misfit(
                "march-left", 0, f"{question.player} has a March order that the log does not tell of", question.player
            )
        entry, record = found
        if record.house != question.player:
            raise Misfit("turn", entry.number, f"it is the turn of {question.player}", question.player, record.area)
        here = with_(here, battle=entry.number, words={})
        try:
            return self._attempt(here, entry)
        except Misfit as misfit:
            if misfit.kind not in ("battle", "refused", "retreat", "ability", "blade"):
                raise
            first = misfit
        nearly = here if first.kind == "blade" else None
        for other in self._otherwise(here, entry, first):
            try:
                return self._attempt(other, entry)
            except Misfit as misfit:
                if misfit.kind == "blade" and nearly is None:
                    nearly = other
        again = self._planned_otherwise(here, entry, first)
        if again is not None:
            return again
        if nearly is not None and self.replanning != entry.number:
            return self._attempt(nearly, entry, strict=False)
        attack = record.attack if isinstance(record, r.Marched) else None
        if attack is not None and first.kind in ("battle", "retreat"):
            lost = next(
                (one.record.house for one in self.pages.battles[entry.number] if isinstance(one.record, r.BattleLost)),
                "",
            )
            winner = attack.defender if lost == attack.house else attack.house
            raise Misfit("battle", first.entry, first.what, winner, attack.area, lost)
        raise first

    def _ask_support(self, here: Hypothesis, question: Decision[Any]) -> Hypothesis:
        """Ask others for support against a neutral force only where the march that follows would be too weak."""
        step = answer(self.pages, here, question)
        plain = self._rule(here, step)
        found = self.pages.first(here, *MARCHES, fits=is_march)
        questions = THRONES.decisions(plain.state)
        beats = found is not None and any(one.beat_neutral for one in getattr(found[1], "steps", ()))
        if not beats or found is None or found[1].house != question.player or questions[0].kind != "march":
            return plain
        try:
            return self._march(plain, questions[0])
        except Misfit as misfit:
            first = misfit
        options = changes_for(self.rules.game(here.state), here, self.edition, found[0], ())
        granted = [one for one in options if "granted" in one.words.values()]
        for count in (1, 2):
            for change in _combined(granted, count):
                orders = {area: kind for one in change for area, kind in one.orders.items()}
                other = self._lay_otherwise(here, orders) if orders else here
                if other is None:
                    continue
                words = {area: word for one in change for area, word in one.words.items()}
                other = with_(other, words=words)
                try:
                    while THRONES.decisions(other.state)[0].kind in ("neutral-support-request", "neutral-support"):
                        other = self._rule(other, answer(self.pages, other, THRONES.decisions(other.state)[0]))
                    return self._march(other, THRONES.decisions(other.state)[0])
                except Misfit:
                    continue
        raise first

    def _attempt(self, here: Hypothesis, entry: r.Entry, *, strict: bool = True) -> Hypothesis:
        """One march with its battle, compared with what the log says of it."""
        question = THRONES.decisions(here.state)[0]
        facts: list[Fact] = []
        if question.kind != "march":
            raise Misfit("turn", entry.number, f"{question.kind} is asked instead")
        step, left = self._march_step(here, question, entry)
        before = here.state
        after, new = self._decide(here, step)
        facts += new
        try:
            while after.state.combat is not None:
                questions = THRONES.decisions(after.state)
                step = answer(self.pages, after, questions[0])
                after, new = self._decide(after, step)
                facts += new
        except OutOfEntries as end:
            end.reached = after
            raise
        self._compare_battle(entry, facts)
        if strict:
            self._compare_blade(entry, facts)
        misfit = self._income(here, facts)
        if misfit is not None:
            raise misfit
        return self._settle(after, entry, before, left)

    def _march_step(self, here: Hypothesis, question: Decision[Any], entry: r.Entry) -> tuple[Step, bool | None]:
        record = entry.record
        house = question.player
        options: Any = question.options
        if isinstance(record, r.OrderGivenUp):
            return Step(c.MarchOrder(house, record.area), entry.number), None
        assert isinstance(record, r.Marched)
        moves: dict[AreaId, Units] = {}
        for step in record.steps:
            moves[step.to] = plus(moves.get(step.to, {}), step.units)
        if record.attack is not None:
            moves[record.attack.area] = plus(moves.get(record.attack.area, {}), record.attack.units)
        origin = options.origins.get(record.area)
        if origin is None:
            raise Misfit("refused", entry.number, f"no March order in {record.area}", house, record.area)
        left: bool | None = None
        if not origin.no_power and not origin.stuck and sum(map(size, moves.values())) == size(origin.units):
            left = here.left.get(entry.number)
            if left is None:
                left = not record.stop if record.attack is not None and not record.steps else True
        command = c.MarchOrder(house, record.area, tuple(c.Move(to, units) for to, units in moves.items()), bool(left))
        return Step(command, entry.number, ("power-token",) if left is not None else ()), left

    def _settle(self, after: Hypothesis, entry: r.Entry, before: State, left: bool | None) -> Hypothesis:
        """What a march that came out as told fixes: the orders it rested on, and a token that may have been left."""
        record: Any = entry.record
        pinned = dict(after.pinned)
        board = self.edition.board
        laid = {area: kind for (number, _), orders in after.laid.items() if number == before.round
                for area, kind in orders.items()}  # fmt: skip
        targets = [record.area]
        if isinstance(record, r.Marched):
            targets += [step.to for step in record.steps if step.beat_neutral]
            if record.attack is not None:
                targets.append(record.attack.area)
        for target in targets:
            if target in laid:
                pinned[target] = laid[target]
        for target in targets[1:]:
            for near in board.neighbours[target] if target in board else ():
                if laid.get(near, "").startswith("support") and near in before.orders:
                    pinned[near] = laid[near]
        vacated = dict(after.vacated)
        flags = dict(after.left)
        if left is not None:
            vacated[entry.number] = (record.house, record.area)
            flags[entry.number] = left
        return with_(after, pinned=pinned, vacated=vacated, left=flags, battle=0, words={})

    def _otherwise(self, here: Hypothesis, entry: r.Entry, first: Misfit) -> Iterator[Hypothesis]:
        """Other hidden orders and declarations of support that the battle may have been fought with."""
        yield from self._retreats_otherwise(here, entry)
        tried = 0
        options = changes_for(
            self.rules.game(here.state), here, self.edition, entry, self.pages.battles.get(entry.number, ())
        )
        for count in (1, 2, 3):
            for change in _combined(options, count):
                if tried >= MOST_TRIES:
                    return
                orders = {area: kind for one in change for area, kind in one.orders.items()}
                other = self._lay_otherwise(here, orders) if orders else here
                if other is None:
                    continue
                tried += 1
                words = {area: word for one in change for area, word in one.words.items()}
                yield with_(other, words=words)

    def _planned_otherwise(self, here: Hypothesis, entry: r.Entry, first: Misfit) -> Hypothesis | None:
        """The whole round once more with one order laid otherwise, although earlier battles rest on it."""
        start = here.planned_from
        if start is None or self.replanning or not here.pinned:
            return None
        group = self.pages.battles.get(entry.number, ())
        closer = first.kind == "blade" and any(isinstance(one.record, r.BladeDeclined) for one in group)
        game = self.rules.game(here.state)
        loose = with_(here, pinned={})
        options = changes_for(game, loose, self.edition, entry, group, closer=closer)
        goal = self.pages.place[entry.number]
        self.replanning = entry.number
        points = list(self.points)
        try:
            for change in [one for one in options if one.orders][:MOST_OTHERS]:
                forced = {area: (kind,) for area, kind in change.orders.items()}
                try:
                    other = self._plan(start, THRONES.decisions(start.state), forced)
                    return self._reach(other, goal)
                except (Misfit, OutOfEntries):
                    self.points = list(points)
            return None
        finally:
            self.replanning = 0

    def _retreats_otherwise(self, here: Hypothesis, entry: r.Entry) -> Iterator[Hypothesis]:
        """Power tokens of others that open or close a way to retreat, left or not left earlier."""
        told = next(
            (one for one in self.pages.battles.get(entry.number, ()) if isinstance(one.record, r.BattleLost)), None
        )
        if told is None or not isinstance(entry.record, r.Marched) or entry.record.attack is None:
            return
        record: Any = told.record
        latest = {area: number for number, (_, area) in sorted(here.vacated.items())}
        near = self.edition.board.neighbours.get(entry.record.attack.area, ())
        for area in (record.to,) if record.to else near:
            number = latest.get(area)
            if number is None or area in here.state.units:
                continue
            owner = here.vacated[number][0]
            if owner != record.house and here.left[number] == bool(record.to):
                other = self._with_tokens(here, owner, (number,))
                if other is not None:
                    yield other

    def _compare_battle(self, entry: r.Entry, facts: list[Fact]) -> None:
        told = next(
            (one for one in self.pages.battles.get(entry.number, ()) if isinstance(one.record, r.BattleLost)), None
        )
        decided = next((fact for fact in facts if isinstance(fact, f.CombatDecided)), None)
        if told is None:
            if decided is not None:
                raise Misfit("battle", entry.number, "nobody lost the battle")
            return
        record = told.record
        assert isinstance(record, r.BattleLost)
        if decided is None:
            return
        if decided.loser != record.house:
            raise Misfit("battle", told.number, f"{decided.loser} lost by {decided.totals}", record.house)
        lost: Units = {}
        to: AreaId | None = None
        for fact in facts:
            if isinstance(fact, f.CombatEnded):
                break
            if isinstance(fact, f.UnitsDestroyed) and fact.house == record.house:
                lost = plus(lost, killed(fact.units))
            elif isinstance(fact, f.UnitsRetreated | f.UnitsReturned) and fact.house == record.house:
                to = fact.to
        if lost != record.killed:
            raise Misfit("battle", told.number, f"killed {lost} instead of {record.killed}", record.house)
        # A beaten attacker "withdraws" to his origin even when nobody is left to do so.
        nobody_left = to is None and record.how == "withdrew" and record.house == decided_attacker(facts)
        if not nobody_left and (
            (to is None) != (record.how in ("stuck", "lost")) or (to is not None and to != record.to)
        ):
            raise Misfit("battle", told.number, f"withdrew to {to} instead of {record.to}", record.house)

    def _compare_blade(self, entry: r.Entry, facts: list[Fact]) -> None:
        """A log tells when the Blade would have turned a battle and was not used, and only then."""
        decided = next((fact for fact in facts if isinstance(fact, f.CombatDecided)), None)
        if decided is None:
            return
        kept = any(
            isinstance(fact, Answered)
            and isinstance(fact.answer, c.BladeStrength)
            and fact.answer.house == decided.loser
            and fact.answer.choice != "use"
            for fact in facts
        )
        ours = kept and decided.totals[decided.loser] + 1 >= decided.totals[decided.winner]
        group = self.pages.battles.get(entry.number, ())
        theirs = any(isinstance(one.record, r.BladeDeclined) for one in group)
        if ours != theirs:
            raise Misfit("blade", entry.number, f"the Blade would {'' if ours else 'not '}have turned it", decided.loser)

    # Musters

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
            raise Misfit("muster", entry.number, f"{house} cannot muster {dict(units)}", house)
        if len(chosen) > 1:
            self.points.append(Point(here, question, entry.number, house, chosen[0][1], tuple(chosen[1:])))
        assumed = ("muster-places",) if len(chosen) > 1 else ()
        return self._rule(here, Step(chosen[0][1], entry.number, assumed))

    def _ranked(
        self, here: Hypothesis, question: Decision[Any], entry: r.Entry, units: Mapping[str, int]
    ) -> list[tuple[int, c.Muster]]:
        house = question.player
        options: Any = question.options
        return weighed(options, here.state.forces_of(house), self._forecast(here, house, entry), house, units)

    def _forecast(self, here: Hypothesis, house: HouseId, entry: r.Entry) -> Forecast:
        others = {area: force.house for area, force in here.state.units.items() if force.house != house}
        later = self.pages.entries[self.pages.place[entry.number] + 1 :]
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
        ways = []
        for area in question.options.words:  # type: ignore[attr-defined]  # a choice of one word
            if area != "none":
                options = muster_options(game, house, (area,))
                best = weighed(options, here.state.forces_of(house), forecast, house, units)
                ways += [(best[0][0], area)] if best else []
        if not ways or not units:
            return self._rule(here, step)
        return self._rule(here, Step(replace(step.command, choice=min(ways)[1]), 0, ("muster-places",)))

    def _revise_musters(self, here: Hypothesis, misfit: Misfit) -> Hypothesis | None:
        """Go back to a muster that could have gone otherwise, the nearest first, and see whether the entry fits then."""
        goal = self.pages.place.get(misfit.entry, self.pages.place[max(here.used)] if here.used else 0)
        points = self.points
        near = [number for number in range(len(points)) if points[number].house in (misfit.house, misfit.foe)]
        near = near or list(range(len(points)))
        for number in sorted(near[-MOST_POINTS:], reverse=True):
            point = points[number]
            for other in self._other_ways(point, misfit):
                self.points = list(points[:number])
                try:
                    found = self._reach(
                        with_(self._rule(point.before, Step(other, point.entry, ("muster-places",)))), goal
                    )
                except (Misfit, OutOfEntries):
                    continue
                if found is not None:
                    self.trail.append(f"revised the muster of entry {point.entry} for {misfit}")
                    return found
        self.points = points
        return None

    def _other_ways(self, point: Point, misfit: Misfit) -> list[c.Muster]:
        """Other ways to muster, those first that would help where the entry did not fit."""
        area = misfit.area
        if misfit.kind not in ("battle", "retreat") or area not in self.edition.board:
            return [muster for _, muster in point.others[:MOST_OTHERS]]
        near = self.edition.board.neighbours[area]
        value = {"footman": 1, "ship": 1, "knight": 2}

        def strength(muster: c.Muster) -> float:
            total = 0.0
            for step in muster.steps:
                gain = value.get(step.unit, 0) - (1 if step.upgrade else 0)
                total += gain if step.to == area else gain / 4 if step.to in near else 0
            return total

        sign = 1 if point.house == misfit.house else -1
        now = strength(point.taken)
        helping = [(against, -sign * (strength(muster) - now), muster) for against, muster in point.others
                   if sign * (strength(muster) - now) > 0]  # fmt: skip
        helping.sort(key=lambda one: one[:2])
        return [muster for _, _, muster in helping[:MOST_OTHERS]]

    def _reach(self, here: Hypothesis, goal: int) -> Hypothesis:
        """Follow the log until an entry has been taken up."""
        while not any(self.pages.place[number] >= goal for number in here.used) or here.state.combat is not None:
            here = self.go_on(here)
        return here

    # Income and supply

    def _income(self, here: Hypothesis, facts: Iterable[Fact]) -> Misfit | None:
        """The first supply or income that is not what the log says."""
        number = here.state.round
        step = here.state.step
        gained: dict[HouseId, int] = {}
        for fact in facts:
            if isinstance(fact, f.RoundBegan):
                number = fact.round
            elif isinstance(fact, f.StepBegan):
                step = fact.step
                gained = {}
            elif isinstance(fact, f.SupplyCounted):
                for entry in self.pages.by_round.get(number, ()):
                    record = entry.record
                    if isinstance(record, r.SupplyCounted) and record.house == fact.house:
                        ours = min(sum(fact.icons.values()), self.edition.constants.supply_maximum)
                        if ours != record.supply and entry.number not in self.tolerated:
                            return Misfit(
                                "supply",
                                entry.number,
                                f"{record.house} has {ours}",
                                record.house,
                                str(record.supply - ours),
                            )
            elif (
                isinstance(fact, f.PowerChanged)
                and fact.by > 0
                and step in ("w2-game-of-thrones", "w2-dark-wings-dark-words")
            ):
                gained[fact.house] = gained.get(fact.house, 0) + fact.by
            elif isinstance(fact, f.WesterosCardResolved) and step in (
                "w2-game-of-thrones",
                "w2-dark-wings-dark-words",
            ):
                for entry in self.pages.by_round.get(number, ()):
                    if isinstance(entry.record, r.GameOfThronesPower) and entry.number not in self.tolerated:
                        for house in self.charter.houses:
                            differs = entry.record.power.get(house, 0) - gained.get(house, 0)
                            if differs:
                                return Misfit(
                                    "income",
                                    entry.number,
                                    f"{house} gained {gained.get(house, 0)}",
                                    house,
                                    str(differs),
                                )
        return None

    def _tokens_otherwise(self, here: Hypothesis, misfit: Misfit) -> Iterator[Hypothesis]:
        """Positions in which Power tokens were left elsewhere, so that a count comes out as told.

        ``misfit.area`` holds the difference: supply, income, or Power that a bid needs.
        """
        wanted = int(misfit.area)
        worth = self._worth_of_tokens(here, misfit)
        ways = [
            (sum(abs(worth[number][1]) for number in numbers), numbers)
            for count in (1, 2, 3, 4)
            for numbers in combinations(sorted(worth), count)
            if sum(worth[number][0] for number in numbers) == wanted
        ]
        for _, numbers in sorted(ways, key=lambda way: (len(way[1]), way[0]))[:MOST_OTHERS]:
            other = self._with_tokens(here, misfit.house, numbers)
            if other is not None:
                yield other

    def _worth_of_tokens(self, here: Hypothesis, misfit: Misfit) -> dict[int, tuple[int, int]]:
        """For each march that could have left a token otherwise: what that would change, and how much else."""
        latest = {area: number for number, (_, area) in sorted(here.vacated.items())}
        worth: dict[int, tuple[int, int]] = {}
        for number, (house, area) in sorted(here.vacated.items()):
            if house != misfit.house:
                continue
            place = self.edition.board[area]
            icons = place.supply if misfit.kind == "supply" else place.power
            left = here.left[number]
            if misfit.kind == "power":
                if left:
                    worth[number] = (1, place.castle + place.power + place.supply)
            elif latest[area] == number and area not in here.state.units:
                owner = here.state.power_tokens.get(area)
                if icons and (owner == house if left else owner is None):
                    worth[number] = (-icons if left else icons, 0)
        return worth

    def _with_tokens(self, here: Hypothesis, house: HouseId, numbers: Iterable[int]) -> Hypothesis | None:
        edited = self.rules.game(here.state)
        flags = dict(here.left)
        for number in numbers:
            area = here.vacated[number][1]
            flags[number] = not flags[number]
            if flags[number]:
                if edited.state.power[house] < 1 or area in edited.state.power_tokens:
                    return None
                edited.emit(f.PowerTokenPlaced(house=house, area=area))
            else:
                if edited.state.power_tokens.get(area) == house:
                    edited.emit(f.PowerTokenRemoved(house=house, area=area))
                edited.emit(f.PowerChanged(house=house, by=1))
        announce_control(edited)
        announce_victory_markers(edited)
        return with_(here, state=edited.state, left=flags)


def decided_attacker(facts: Iterable[Fact]) -> HouseId:
    return next((fact.attacker for fact in facts if isinstance(fact, f.CombatBegan)), "")


def _combined(options: list[Change], count: int) -> Iterator[tuple[Change, ...]]:
    for chosen in combinations(options, count):
        keys = [key for one in chosen for key in (*one.orders, *(f"word {area}" for area in one.words))]
        if len(set(keys)) == len(keys):
            yield chosen
