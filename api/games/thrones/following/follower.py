"""The follower: plays a log over on our engine, entry by entry, and finds what the log leaves out.

Where the log leaves a choice (orders, the places of mustered units, support, Power tokens left behind) the likeliest
is taken first. When a later entry does not fit, the choices it rests on are revised, the nearest first, within a bound.
Past choices that nothing has rested on yet are revised in place: the game is played once more at the end, by
:mod:`.replay`, with everything known from the beginning.
"""

from __future__ import annotations

from api.games.thrones.following.answers import MARCHES, answer
from api.games.thrones.following.driver import UNTOLD
from api.games.thrones.following.hypothesis import Hypothesis, Misfit, OutOfEntries, Step, with_
from api.games.thrones.following.losses import GIVEN_UP
from api.games.thrones.following.slipping import Slipping
from api.games.thrones.logs import records as r
from domain.thrones.language import answers as c
from domain.thrones.language.start import Start
from domain.thrones.ruleset import THRONES

TOLERATED = (*UNTOLD, "track", "wildlings", "winner")
"""Misfits behind which our ruling stands, since nothing else comes of what the log says."""
MOST_FORCED = 150
"""Entries whose outcome is taken over against our ruling, before an import gives up."""


class Follower(Slipping):
    """One log being followed from its first entry to its last."""

    def run(self, *, is_trial: bool = False) -> Hypothesis:
        """Follow the log to its end, or as far as it can be followed; a trial ends where nothing explains an entry."""
        here = self._start()
        while True:
            try:
                here = self.go_on(here)
            except OutOfEntries as end:
                return end.reached if isinstance(end.reached, Hypothesis) else here
            except Misfit as misfit:
                found = self._revise_musters(here, misfit)
                if found is None and is_trial:
                    self.is_cut = True
                    return here
                found = found or self._looked_less_far(here, misfit)
                if found is None:
                    self.unexplained.append(misfit)
                if found is None and misfit.kind not in (*UNTOLD, "winner"):
                    found = self._read_otherwise(here, misfit)
                if found is None and misfit.kind in TOLERATED and misfit.entry not in self.tolerated:
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
        self.begun = here.steps
        return here

    def go_on(self, here: Hypothesis) -> Hypothesis:
        """Answer one question (or one group of them that belongs together)."""
        questions = THRONES.decisions(here.state)
        if not questions:
            self._check_end(here)
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
        step = self._soonest(here, questions)
        if isinstance(step.command, GIVEN_UP):
            owed = next(one for one in questions if one.player == step.command.house)
            return self._give_up(here, owed, step)
        return self._rule(here, step)

    def _check_end(self, here: Hypothesis) -> None:
        """A game that is over too early, or won by another: somebody has too many Castles, or too few."""
        last = max((self.pages.place[number] for number in here.used), default=-1)
        number = here.state.round
        later = [one for one in self.pages.entries[last + 1 :] if one.round > number or isinstance(one.record, MARCHES)]
        if here.state.is_over and later:
            raise Misfit("ended", later[0].number, f"{here.state.winner} has won", here.state.winner or "")
        ends = [one for one in self.pages.entries[last + 1 :] if isinstance(one.record, r.GameWon)]
        for entry in ends if here.state.is_over else ():
            told = getattr(entry.record, "house", None) or here.state.winner
            if told != here.state.winner and entry.number not in self.tolerated:
                winner = here.state.winner or ""
                raise Misfit("winner", entry.number, f"{winner} has won", winner, foe=told or "")
