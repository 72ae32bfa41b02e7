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
from domain.thrones.interchange.following.answers import MARCHES, Pages, answer, is_march, is_raid, killed
from domain.thrones.interchange.following.decks import Dealt
from domain.thrones.interchange.following.force import CERTAIN, RULES_OF, correction, missing, mustered, outcome
from domain.thrones.interchange.following.forecast import Forecast
from domain.thrones.interchange.following.hypothesis import Hypothesis, Misfit, OutOfEntries, Step, with_
from domain.thrones.interchange.following.musters import weighed
from domain.thrones.interchange.following.orders import Laid, as_tokens, demands, lay, told_orders
from domain.thrones.interchange.following.replay import Nobody
from domain.thrones.interchange.following.support import Change, changes_for
from domain.thrones.interchange.logs import records as r
from domain.thrones.interchange.logs.names import order_of_token
from domain.thrones.pieces import AreaId, HouseId, Units, plus, size
from domain.thrones.procedures.control import announce_control, announce_victory_markers
from domain.thrones.procedures.mustering import Progress, muster_options
from domain.thrones.ruleset import THRONES, ThronesOf, rules_by
from domain.thrones.start import Start
from domain.thrones.state import State

MOST_COMMANDS = 6_000
"""A bound on the commands of one import, tries included. Beyond it nothing is tried again; at twice as many it ends."""
MOST_TRIES = 60
"""Revisions of the hidden choices of one battle."""
MOST_FORCED = 150
"""Entries whose outcome is taken over against our ruling, before an import gives up."""
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


def units_of(record: r.AnyRecord) -> Units:
    """Units that an entry needs in one area."""
    if not isinstance(record, r.Marched):
        return {}
    found: Units = {}
    for step in record.steps:
        found = plus(found, step.units)
    return plus(found, record.attack.units) if record.attack is not None else found


def concerns(record: r.AnyRecord, house: HouseId, state: State) -> bool:
    """Whether an entry asks something of the orders of a House."""
    if getattr(record, "house", None) == house and not isinstance(record, r.CardChosen | r.BattleLost):
        return True
    return any(state.house_in(area) == house for area in told_orders(record))


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
        self.passed_over: set[int] = set()
        self.free_power: set[int] = set()
        self.by_default: set[tuple[int, HouseId]] = set()
        self.hopeless: set[tuple[str, int, HouseId]] = set()
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
                    found = self._forced(here, misfit) if len(self.unfit) < MOST_FORCED else None
                if found is None:
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
        return self._rule(here, self._soonest(here, questions))

    def _soonest(self, here: Hypothesis, questions: tuple[Decision[Any], ...]) -> Step:
        """Of answers that are owed at once, the one that the log has first."""
        steps = [answer(self.pages, here, question) for question in questions]
        return min(steps, key=lambda step: (self.pages.place.get(step.entry, -1), steps.index(step)))

    def _decide(self, here: Hypothesis, step: Step) -> tuple[Hypothesis, tuple[Fact, ...]]:
        self.commands += 1
        self.bound_hit = self.bound_hit or self.commands > MOST_COMMANDS
        if self.commands > 2 * MOST_COMMANDS:
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
            return self._with_firm(after, here, step, facts)
        for repaired in self._tokens_otherwise(here, misfit):
            other, facts = self._decide(repaired, step)
            if self._income(repaired, facts) is None:
                return self._with_firm(other, repaired, step, facts)
        raise misfit

    def _with_firm(self, after: Hypothesis, before: Hypothesis, step: Step, facts: Iterable[Fact]) -> Hypothesis:
        """Tokens left behind, or not, that what has just happened rests on."""
        firm = set(after.firm)
        latest = {area: number for number, (_, area) in sorted(before.vacated.items())}
        if isinstance(step.command, c.Muster):
            firm.update(latest[one.area] for one in step.command.steps if one.area in latest)
        pays_supply = {fact.house for fact in facts if isinstance(fact, f.SupplyCounted)}
        pays_power = any(
            isinstance(fact, f.WesterosCardResolved) and fact.card == "w2-game-of-thrones" for fact in facts
        )
        pays_power = pays_power or (isinstance(step.command, c.DarkWings) and step.command.choice == "collect-power")
        if pays_supply or pays_power:
            for area, number in latest.items():
                place = self.edition.board[area]
                if (place.supply and before.vacated[number][0] in pays_supply) or (place.power and pays_power):
                    firm.add(number)
        return with_(after, firm=frozenset(firm)) if firm != after.firm else after

    # Planning

    def _round(self, here: Hypothesis) -> list[r.Entry]:
        return [
            entry
            for entry in self.pages.by_round.get(here.state.round, ())
            if entry.phase not in ("WESTEROS", "PLANNING") and entry.number not in self.passed_over
        ]

    def _plan(
        self,
        here: Hypothesis,
        questions: Iterable[Decision[Any]],
        forced: Mapping[AreaId, tuple[str, ...]] | None = None,
    ) -> Hypothesis:
        entries = self._round(here)
        if not entries:
            raise OutOfEntries
        game = self.rules.game(here.state)
        wanted = demands(game, entries)
        if here.state.round in self.free_power:
            wanted = replace(wanted, power=None)
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
        set_at = {record.house: entry.number for entry, record in self.pages.unused(here, r.OrdersSet)}
        houses = [question.player for question in questions]
        for house in sorted(houses, key=lambda house: set_at.get(house, 0)):
            laid = lay(game, house, wanted, forced)
            if laid is None and (planning.round, house) in self.by_default:
                default: Any = next(one for one in THRONES.decisions(here.state) if one.player == house).default
                laid = Laid({area: order_of_token(token) for area, token in default.orders.items()}, {}, 0)
            if laid is None:
                raise Misfit("orders", entries[0].number, f"no orders of {house} fit the round", house)
            tokens = as_tokens(laid.orders, self.edition.tokens)
            step = Step(c.AssignOrders(house, tokens), set_at.get(house, 0))
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
                step = self._soonest(after, THRONES.decisions(after.state))
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
        return self._with_firm(self._settle(after, entry, before, left), here, step, facts)

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
        if self.bound_hit:
            return
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
        if start is None or self.replanning or not here.pinned or self.bound_hit:
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
            if owner != record.house and here.left[number] == bool(record.to) and number not in here.firm:
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
            raise Misfit(
                "blade", entry.number, f"the Blade would {'' if ours else 'not '}have turned it", decided.loser
            )

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
            for other in self._castles_held(here, house):
                again = THRONES.decisions(other.state)
                if again and again[0].kind == "muster" and again[0].player == house:
                    chosen = self._ranked(other, again[0], entry, units)
                    if chosen:
                        here, question = other, again[0]
                        break
        if not chosen:
            raise Misfit("muster", entry.number, f"{house} cannot muster {dict(units)}", house)
        if len(chosen) > 1:
            self.points.append(Point(here, question, entry.number, house, chosen[0][1], tuple(chosen[1:])))
        assumed = ("muster-places",) if len(chosen) > 1 else ()
        return self._rule(here, Step(chosen[0][1], entry.number, assumed))

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
        """Go back to a muster that could have gone otherwise, the nearest first, until the entry fits."""
        known = (misfit.kind, misfit.entry, misfit.house)
        if self.bound_hit or known in self.hopeless:
            return None
        self.hopeless.add(known)
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
        found = [muster for _, _, muster in helping[:MOST_OTHERS]]
        if misfit.what.split()[1:2] != ["lost"]:
            # Not who won but what became of the units differs: armies elsewhere may have been others.
            found += [muster for _, muster in point.others[:MOST_OTHERS] if muster not in found]
        return found

    def _reach(self, here: Hypothesis, goal: int) -> Hypothesis:
        """Follow the log until an entry has been taken up."""
        while not any(self.pages.place[number] >= goal for number in here.used) or here.state.combat is not None:
            here = self.go_on(here)
        return here

    # Where nothing helps

    def _forced(self, here: Hypothesis, misfit: Misfit) -> Hypothesis | None:
        """As :meth:`_force`; income that differs after it is a matter of its own."""
        for _ in range(8):
            try:
                return self._force(here, misfit)
            except Misfit as other:
                if other.kind not in ("income", "supply") or other.entry in self.tolerated:
                    return None
                self.tolerated.add(other.entry)
        return None

    def _force(self, here: Hypothesis, misfit: Misfit) -> Hypothesis | None:
        """Take over what the log says where no hidden choice explains it, or pass over what cannot be."""
        certain: Literal["rules", "open"] = "rules" if misfit.kind in CERTAIN else "open"
        judged = Judged(RULES_OF.get(misfit.kind, ()), certain, misfit.what)
        entry = self.pages.by_number.get(misfit.entry)
        questions = THRONES.decisions(here.state)
        if not questions:
            return None
        question = questions[0]
        if misfit.kind == "power" and entry is not None:
            self.judged[entry.number] = judged
            short = f.PowerChanged(house=misfit.house, by=int(misfit.area))
            corrected = self._corrected(here, [short], entry.number)
            if corrected is not None:
                return corrected
            owed = next(one for one in questions if one.player == misfit.house)
            most = {"bid": here.state.power[misfit.house]}
            return self._rule(here, Step(replace(owed.default, **most), entry.number))
        if question.kind == "raid":
            options: Any = question.options
            told = self.pages.first(here, r.Raided, r.OrderGivenUp, fits=is_raid)
            mine = told is not None and told[1].house == question.player
            if told is not None and mine:
                self.judged[told[0].number] = judged
            number = told[0].number if told is not None and mine else 0
            return self._rule(here, Step(c.Raid(question.player, next(iter(options.orders))), number))
        if question.kind == "muster":
            return self._force_muster(here, question, judged)
        if question.kind == "assign-orders":
            return self._force_orders(here, misfit, judged)
        if question.kind in ("march", "neutral-support-request"):
            return self._force_march(here, question, judged)
        if entry is not None and entry.number not in here.used:
            self.judged[entry.number] = judged
            return with_(here, used=here.used | {entry.number})
        return None

    def _corrected(self, here: Hypothesis, facts: list[Fact], entry: int) -> Hypothesis | None:
        """The position with facts stated; None where they cannot be."""
        if not facts:
            return here
        command = correction(facts, entry)
        try:
            ruling = THRONES.decide(here.state, command, Nobody())
        except Refusal as refusal:
            self.trail.append(f"entry {entry}: {refusal.code} {refusal.params}")
            return None
        return here.take(ruling.state, Step(command, 0))

    def _force_muster(self, here: Hypothesis, question: Decision[Any], judged: Judged) -> Hypothesis | None:
        house = question.player
        found = self.pages.first(here, r.Mustered, fits=lambda one: one.house == house)
        entry = self.pages.by_number[here.mustering] if here.mustering else found[0] if found else None
        options: Any = question.options
        least = tuple(Progress(options).legal_steps()[:1]) if options.must else ()
        after = self._rule(with_(here, mustering=0), Step(c.Muster(house, least), entry.number if entry else 0))
        if entry is None:
            return after
        self.judged[entry.number] = judged
        game = self.rules.game(after.state)
        units = getattr(entry.record, "units", {})
        facts = mustered(after.state, self.edition, house, units, game.castles_of(house))
        return self._corrected(after, facts, entry.number) or after

    def _force_orders(self, here: Hypothesis, misfit: Misfit, judged: Judged) -> Hypothesis | None:
        """Leave out of a round what its orders cannot bring about, one entry after the other."""
        number = misfit.entry
        if misfit.kind == "absent" and number not in self.passed_over:
            self.passed_over.add(number)
            self.judged[number] = judged
            entry = self.pages.by_number[number]
            units = units_of(entry.record)
            fact = missing(here.state, misfit.house, misfit.area, units) if misfit.house and units else None
            if fact is not None and misfit.area in self.edition.board:
                corrected = self._corrected(here, [fact], number)
                if corrected is not None:
                    self.passed_over.discard(number)
                    return corrected
            return here
        if misfit.kind == "orders":
            for entry in reversed(self._round(here)):
                if entry.number not in self.passed_over and concerns(entry.record, misfit.house, here.state):
                    self.passed_over.add(entry.number)
                    self.judged[entry.number] = judged
                    return here
            if here.state.round not in self.free_power:
                self.free_power.add(here.state.round)
                return here
            if (here.state.round, misfit.house) not in self.by_default:
                self.by_default.add((here.state.round, misfit.house))
                return here
        return None

    def _force_march(self, here: Hypothesis, question: Decision[Any], judged: Judged) -> Hypothesis | None:
        """A march that cannot be: the House whose turn it is passes an order, and the log's outcome is stated."""
        found = self.pages.first(here, *MARCHES, fits=is_march)
        if question.kind == "neutral-support-request":
            here = self._rule(here, Step(c.NeutralSupportRequest(question.player), 0))
            question = THRONES.decisions(here.state)[0]
        told = found[1] if found is not None else None
        options: Any = question.options
        if told is not None and told.house == question.player and told.area in options.origins:
            area = told.area
        else:
            later = {record.area for _, record in self.pages.unused(here, *MARCHES)}
            area = min(options.origins, key=lambda one: (one in later, one))
        mine = told is not None and told.house == question.player
        number = found[0].number if found is not None and mine else 0
        here = self._rule(here, Step(c.MarchOrder(question.player, area), number))
        if found is None or not mine:
            return here
        entry = found[0]
        group = self.pages.battles.get(entry.number, ())
        here = with_(here, used=here.used | {entry.number, *(one.number for one in group)}, battle=0, words={})
        for one in (entry, *group):
            self.judged[one.number] = judged
        if not isinstance(told, r.Marched):
            return here
        return self._corrected(here, outcome(here.state, self.edition, told, group), entry.number) or here

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
            if house != misfit.house or number in here.firm:
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
