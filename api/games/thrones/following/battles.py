"""Marches and battles: fought as the log has them, and again with other hidden choices when they come out otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from api.games.thrones.following.answers import MARCHES, answer, is_march, killed
from api.games.thrones.following.driver import COUNTED, MOST_OTHERS, Departure, combined
from api.games.thrones.following.hypothesis import Hypothesis, Misfit, OutOfEntries, Step, with_
from api.games.thrones.following.planning import Planning
from api.games.thrones.following.support import changes_for
from api.games.thrones.logs import records as r
from api.games.thrones.logs.grammar import joined
from domain.kernel.decision import Decision
from domain.kernel.facts import Answered, Fact
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from domain.thrones.language.pieces import AreaId, HouseId, Units, plus, size
from domain.thrones.language.state import State
from domain.thrones.ruleset import THRONES

MOST_TRIES = 60
"""Revisions of the hidden choices of one battle."""


def _listed(units: Units) -> str:
    return joined(units, tuple(units)) or "none"


def decided_attacker(facts: Iterable[Fact]) -> HouseId:
    return next((fact.attacker for fact in facts if isinstance(fact, f.CombatBegan)), "")


class Battles(Planning):
    """Marches, with their battles."""

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
            if misfit.kind not in ("battle", "refused", "retreat", "ability", "blade") or self.at_once == entry.number:
                raise
            first = misfit
        nearly = here if first.kind == "blade" else None
        counted: Misfit | None = None
        # A march that met nobody may have had any strength; that it had another is tried last.
        loose = with_(here, pinned={area: kind for area, kind in here.pinned.items() if area not in here.quiet})
        starts = (here, loose) if len(loose.pinned) < len(here.pinned) else (here,)
        for other in chain.from_iterable(self._otherwise(start, entry, first) for start in starts):
            try:
                return self._attempt(other, entry)
            except Misfit as misfit:
                if misfit.kind == "blade" and nearly is None:
                    nearly = other
                if misfit.kind in COUNTED and first.kind != "blade":
                    counted = counted or misfit
        if counted is not None:
            # The battle fits; what is counted after it does not, which is a matter of Power tokens.
            raise counted
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
            for change in combined(granted, count):
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
        """One march with its battle, and what is counted after it, with Power tokens where they have to be."""
        here = self._paid(here, entry)
        try:
            return self._marched(here, entry, strict=strict)
        except Misfit as misfit:
            if misfit.kind not in COUNTED:
                raise
            for other in self._left_otherwise(here, entry, misfit):
                try:
                    return self._marched(other, entry, strict=strict)
                except Misfit:
                    continue
            raise

    def _paid(self, here: Hypothesis, entry: r.Entry) -> Hypothesis:
        """Power for a token that the sentence tells: another one was not left before, where there is none."""
        record = entry.record
        if not isinstance(record, r.Marched) or record.stop or record.attack is None or record.steps:
            return here
        if entry.number in here.left or not self._lacks_power(here, record.house, record.area):
            return here
        lacking = Misfit("power", entry.number, f"{record.house} has no Power", record.house, "1")
        return next(self._tokens_otherwise(here, lacking), here)

    def _left_otherwise(self, here: Hypothesis, entry: r.Entry, misfit: Misfit) -> Iterator[Hypothesis]:
        """Power tokens left by this march, or by those before it, other than was assumed."""
        if isinstance(entry.record, r.Marched) and entry.record.house == misfit.house:
            for left in (False, True):
                if here.left.get(entry.number) is not left:
                    yield with_(here, left={**here.left, entry.number: left})
        yield from self._tokens_otherwise(here, misfit)

    def _marched(self, here: Hypothesis, entry: r.Entry, *, strict: bool) -> Hypothesis:
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
            # Between the march and the battle a port may change hands.
            while (after.state.combat or after.state.march) is not None and not after.state.is_over:
                step = self._soonest(after, THRONES.decisions(after.state))
                after, new = self._decide(after, step)
                facts += new
        except OutOfEntries as end:
            group = self.pages.battles.get(entry.number, ())
            if (group[-1] if group else entry).number != self.pages.last:
                raise Misfit("battle", entry.number, "the log goes on without the end of the battle") from end
            end.reached = after
            raise
        self._compare_cards(entry, facts)
        self._compare_moves(entry, after.state)
        self._compare_battle(entry, facts)
        if strict:
            self._compare_blade(entry, facts)
        misfit = self._counted(here, after, facts)
        if misfit is not None:
            raise misfit
        if left is not None:
            record: Any = entry.record
            self.points.append(Departure(here, entry.number, record.house, record.area, left))
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
        all_go = not origin.stuck and sum(map(size, moves.values())) == size(origin.units)
        if all_go and not origin.no_power:
            left = here.left.get(entry.number)
            if left is None:
                # A token is worth its price where nothing else keeps the area; at home the shield does.
                at_home = self.rules.game(here.state).shield(record.area) == house
                shows = not record.stop if record.attack is not None and not record.steps else True
                left = shows and not at_home
        elif all_go and self._lacks_power(here, house, record.area):
            left = False
        command = c.MarchOrder(house, record.area, tuple(c.Move(to, units) for to, units in moves.items()), bool(left))
        return Step(command, entry.number, ("power-token",) if left is not None else ()), left

    def _lacks_power(self, here: Hypothesis, house: HouseId, area: AreaId) -> bool:
        """Whether a Power token could be left in an area, had the House but one."""
        state = here.state
        bare = self.edition.board.is_land(area) and area not in state.power_tokens
        return bare and not state.power[house] and self.rules.game(state).shield(area) != house

    def _settle(self, after: Hypothesis, entry: r.Entry, before: State, left: bool | None) -> Hypothesis:
        """What a march that came out as told fixes: the orders it rested on, and a token that may have been left."""
        record: Any = entry.record
        pinned = dict(after.pinned)
        board = self.edition.board
        laid = {area: kind for (number, _), orders in after.laid.items() if number == before.round
                for area, kind in orders.items()}  # fmt: skip
        targets = []
        if isinstance(record, r.Marched):
            targets += [step.to for step in record.steps if step.beat_neutral]
            if record.attack is not None:
                targets.append(record.attack.area)
        carried = after.demands.carried if after.demands is not None else {}
        for target in (carried.get(record.area, record.area), *targets):
            if target in laid:
                pinned[target] = laid[target]
        for target in targets:
            for near in board.neighbours[target] if target in board else ():
                if laid.get(near, "").startswith("support") and near in before.orders:
                    pinned[near] = laid[near]
        vacated = dict(after.vacated)
        flags = dict(after.left)
        if left is not None:
            vacated[entry.number] = (record.house, record.area)
            flags[entry.number] = left
        quiet = after.quiet | {record.area} if isinstance(record, r.Marched) and not targets else after.quiet
        return with_(after, pinned=pinned, quiet=quiet, vacated=vacated, left=flags, battle=0, words={})

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
            for change in combined(options, count):
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

    def _compare_cards(self, entry: r.Entry, facts: Iterable[Fact]) -> None:
        """The last card of a hand is played without a question: it is the one that is told, or none that is told."""
        for fact in facts:
            if isinstance(fact, f.HouseCardsRevealed):
                for house, card in fact.cards.items():
                    told = [one for one in self.pages.battles.get(entry.number, ())
                            if isinstance(one.record, r.CardChosen) and one.record.house == house]  # fmt: skip
                    if card is not None and told and all(getattr(one.record, "card", "") != card for one in told):
                        cards = " and ".join(str(getattr(one.record, "card", "")) for one in told)
                        raise Misfit("card", told[0].number, f"{cards} is not in hand, only {card}", house)

    def _compare_moves(self, entry: r.Entry, state: State) -> None:
        """A march that a neutral force has thrown back did not go where the log has it."""
        record = entry.record
        if not isinstance(record, r.Marched):
            return
        for step in record.steps:
            if step.beat_neutral and state.house_in(step.to) != record.house:
                raise Misfit("battle", entry.number, f"{record.house} did not beat {step.to}", record.house, step.to)

    def _compare_battle(self, entry: r.Entry, facts: list[Fact]) -> None:
        told = next(
            (one for one in self.pages.battles.get(entry.number, ()) if isinstance(one.record, r.BattleLost)), None
        )
        decided = next((fact for fact in facts if isinstance(fact, f.CombatDecided)), None)
        if told is None:
            if decided is not None:
                raise Misfit("battle", entry.number, "the log does not tell who lost the battle")
            return
        record = told.record
        assert isinstance(record, r.BattleLost)
        if decided is None:
            return
        if decided.loser != record.house:
            ours, theirs = decided.totals[decided.loser], decided.totals[decided.winner]
            strengths = f"{ours} against {theirs}{', by the Fiefdoms track' if ours == theirs else ''}"
            raise Misfit("battle", told.number, f"{decided.loser} lost with {strengths}", record.house)
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
            what = f"the killed of {record.house} are {_listed(lost)}, not {_listed(record.killed)}"
            raise Misfit("battle", told.number, what, record.house)
        # A beaten attacker "withdraws" to his origin even when nobody is left to do so.
        nobody_left = to is None and record.how == "withdrew" and record.house == decided_attacker(facts)
        if not nobody_left and (
            (to is None) != (record.how in ("stuck", "lost")) or (to is not None and to != record.to)
        ):
            raise Misfit(
                "battle",
                told.number,
                f"{record.house} withdraws to {to or 'no area'}, not to {record.to or 'no area'}",
                record.house,
            )

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
