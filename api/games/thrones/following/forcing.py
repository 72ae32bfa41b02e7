"""Entries that no hidden choice explains: their outcome is taken over, or they are passed over."""

from __future__ import annotations

from typing import Any, Literal

from msgspec.structs import replace

from api.games.thrones.following.answers import MARCHES, is_march, is_raid
from api.games.thrones.following.driver import BIDS, CERTAIN, UNTOLD, Judged
from api.games.thrones.following.force import RULES_OF, missing, mustered, outcome
from api.games.thrones.following.hypothesis import Hypothesis, Misfit, Step, with_
from api.games.thrones.following.orders import demands, lay, told_orders
from api.games.thrones.following.placing import Placing
from api.games.thrones.logs import records as r
from domain.kernel.decision import Decision
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from domain.thrones.language.pieces import HouseId, Units, plus
from domain.thrones.language.state import State
from domain.thrones.rules.westeros.mustering import Progress
from domain.thrones.ruleset import THRONES


def units_of(record: r.Record) -> Units:
    """Units that an entry needs in one area."""
    if not isinstance(record, r.Marched):
        return {}
    found: Units = {}
    for step in record.steps:
        found = plus(found, step.units)
    return plus(found, record.attack.units) if record.attack is not None else found


def concerns(record: r.Record, house: HouseId, state: State) -> bool:
    """Whether an entry asks something of the orders of a House."""
    if getattr(record, "house", None) == house and not isinstance(record, r.CardChosen | r.BattleLost):
        return True
    return any(state.house_in(area) == house for area in told_orders(record))


class Forcing(Placing):
    """What is done where nothing helps."""

    def _forced(self, here: Hypothesis, misfit: Misfit) -> Hypothesis | None:
        """As :meth:`_force`; income that differs after it is a matter of its own."""
        for _ in range(8):
            try:
                return self._force(here, misfit)
            except Misfit as other:
                if other.kind not in UNTOLD or other.entry in self.tolerated:
                    return None
                self.tolerated.add(other.entry)
        return None

    def _force(self, here: Hypothesis, misfit: Misfit) -> Hypothesis | None:
        """Take over what the log says where no hidden choice explains it, or pass over what cannot be."""
        # Behind an entry that was taken over, the position may be another than at the table.
        is_certain = misfit.kind in CERTAIN and not self.judged
        certain: Literal["rules", "open"] = "rules" if is_certain else "open"
        judged = Judged(self.edition.law.cite(RULES_OF.get(misfit.kind, ())), certain, misfit.what)
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
            owed = next((one for one in questions if one.player == misfit.house and one.kind in BIDS), None)
            if owed is None:
                self.tolerated.add(entry.number)
                return here
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
            concerned = [
                entry for entry in reversed(self._round(here)) if concerns(entry.record, misfit.house, here.state)
            ]
            # One entry without which orders can be laid; if there is none, the last of them.
            for entry in sorted(concerned, key=lambda one: not self._fits_without(here, misfit.house, one.number)):
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

    def _fits_without(self, here: Hypothesis, house: HouseId, number: int) -> bool:
        """Whether orders of a House can be laid for all entries of the round but one."""
        game = self.rules.game(here.state)
        wanted = demands(game, [entry for entry in self._round(here) if entry.number != number])
        return not wanted.absent and lay(game, house, wanted, None) is not None

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
