"""The log read otherwise in one thing, where no hidden choice explains what it says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from api.games.thrones.following import driver
from api.games.thrones.following.answers import Pages
from api.games.thrones.following.driver import Departure, Point
from api.games.thrones.following.forcing import Forcing, concerns
from api.games.thrones.following.hypothesis import Hypothesis, Misfit, OutOfEntries
from api.games.thrones.following.orders import demands
from api.games.thrones.following.slips import Slip, readings
from api.games.thrones.logs import records as r
from domain.thrones.language.state import State

HORIZON = 30
FAR_HORIZON = 150
"""Entries behind a misfit that a reading has to explain before it is taken without looking further: of most, and of
what shows only once in a round, as who holds a token does."""
LEAST = 6
"""Entries behind a misfit without which a reading is not taken at all, unless the log ends before."""
FARTHEST_BACK = 90
"""Entries before a misfit that may be its reason."""
MOST_COMMANDS = 12_000
"""A bound on the commands of all readings of a log together. A sixth of it may go into one misfit, and another into the
whole search for it."""

MOST_PLAIN, MOST_WHOLE = 600, 1_200
"""A bound on the commands of one reading, without and with the whole search."""
MOST_BACK = 6
"""Musters back from which the log is followed again with a reading."""
PER_FORECAST = 25
"""Commands that take as long as it takes to rank the ways of one muster."""
MOST_CLOSER = 8
"""Readings under which a battle comes out otherwise, though not yet as told, that get the whole search."""

Suspect = tuple[r.Entry, r.Record]
Kept = tuple[Pages, list[Point | Departure], set[tuple[str, int, str]], int, int, bool]

OF_POWER = (r.PowerConsolidated, r.GameOfThronesPower, r.PowerTaken, r.Bid, r.WildlingBid)
OF_CARDS = (r.CardChosen, r.AbilityResolved, r.CardCancelled, r.CardExchanged)
OF_UNITS = (r.Marched, r.BattleLost, r.Mustered, r.SpecialMustered, r.SupplyCounted, r.AbilityResolved,
            r.WildlingsWon, r.WildlingsBeaten, r.OrderGivenUp, r.Raided, r.CardChosen, r.RavenReplaced)  # fmt: skip


@dataclass(frozen=True)
class Followed:
    """How far the log can be followed under a reading: as a place in it, and everything that it was followed with.

    ``moved`` are Power tokens that had to lie otherwise for it.
    """

    reached: int
    moved: int
    there: Hypothesis
    pages: Pages
    points: list[Point | Departure]
    slip: Slip

    @property
    def rank(self) -> tuple[int, int]:
        return self.reached, -self.moved


class Slipping(Forcing):
    """Readings of single entries."""

    def _read_otherwise(self, here: Hypothesis, misfit: Misfit) -> Hypothesis | None:
        """The position behind a misfit once one entry is read otherwise; None where no reading helps."""
        goal = self._goal(here, misfit)
        horizon = FAR_HORIZON if misfit.kind == "raven" else HORIZON
        suspects: list[Suspect] = []
        agreeing: list[Suspect] = []
        for entry in self._suspects(here, misfit, goal):
            contradicts = self.contradicts_itself(entry.number, entry.record)
            others = readings(entry.record, self.edition, self.charter.houses)
            suspects += [
                (entry, one) for one in others if contradicts or not self.contradicts_itself(entry.number, one)
            ]
            agreeing += [
                (entry, one) for one in others if contradicts and not self.contradicts_itself(entry.number, one)
            ]
        # First what is about the entry itself, then what would bring somebody to the place where it does not fit.
        at_hand = {one.number for one in self._at_hand(here, misfit)}
        suspects.sort(key=lambda one: (one[0].number not in at_hand, not _newly_names(misfit.area, *one)))
        found, _ = self._best_reading(here, misfit, (goal, horizon), agreeing[:MOST_CLOSER], whole=True)
        if found is None:
            found, closer = self._best_reading(here, misfit, (goal, horizon), suspects, whole=False)
            if found is None or found.reached < min(goal + horizon, len(self.pages.entries) - 1):
                other, _ = self._best_reading(here, misfit, (goal, horizon), closer[:MOST_CLOSER], whole=True)
                found = max(
                    (one for one in (found, other) if one is not None), key=lambda one: one.reached, default=None
                )
        if found is None:
            return None
        if misfit.kind == "card":
            self._look_for_rival(here, misfit, (goal, horizon), found)
        there, self.pages, self.points, slip = found.there, found.pages, found.points, found.slip
        self.slips.setdefault(slip.entry.number, slip)
        self.trail.append(f"entry {slip.entry.number} read as {slip.reading} for {misfit}")
        return there

    def _look_for_rival(self, here: Hypothesis, misfit: Misfit, seen: tuple[int, int], found: Followed) -> None:
        """A card that is told twice: where the other time may be the wrong one as well, nobody can tell which is."""
        card = getattr(self.pages.by_number[misfit.entry].record, "card", "")
        twice = [one for one in self.pages.entries
                 if isinstance(one.record, r.CardChosen) and one.record.card == card]  # fmt: skip
        for other in twice:
            if other.number != found.slip.entry.number and found.slip.entry in twice:
                others = readings(other.record, self.edition, self.charter.houses)
                pairs = [(other, one) for one in others if not self.contradicts_itself(other.number, one)
                         or self.contradicts_itself(other.number, other.record)]  # fmt: skip
                rival, _ = self._best_reading(here, misfit, seen, pairs, whole=False)
                if rival is not None and rival.reached >= found.reached:
                    self.rivals[found.slip.entry.number] = other.number
                    return

    def _best_reading(
        self, here: Hypothesis, misfit: Misfit, seen: tuple[int, int], suspects: list[Suspect], *, whole: bool
    ) -> tuple[Followed | None, list[Suspect]]:
        """The first reading that explains enough, or the one that explains most; and those that come closer.

        Unless the ``whole`` search is wanted, a battle that does not fit is fought only as it would be now, which is a
        hundred times faster.
        """
        head = self._head(misfit.entry)
        end = len(self.pages.entries) - 1
        goal, horizon = seen
        enough, least = min(goal + horizon, end), min(goal + LEAST, end)
        kept = self._keep()
        before = self.spent_on_readings
        best: Followed | None = None
        closer: list[Suspect] = []
        for entry, reading in suspects:
            spent = self.spent_on_readings
            if spent > MOST_COMMANDS or spent - before > MOST_COMMANDS // 6:
                break
            self.at_once = self.replanning = 0 if whole else head
            self.stop_at = self.commands + (MOST_WHOLE if whole else MOST_PLAIN)
            if best is not None and best.reached >= enough and entry is not best.slip.entry:
                break
            found, reached, other = self._tried(here, entry, reading, enough, whole=whole)
            moved = _moved(here, found) if found is not None else 0
            if found is not None and reached >= least and (best is None or (reached, -moved) > best.rank):
                best = Followed(reached, moved, found, self.pages, self.points, Slip(entry, reading, misfit))
            elif (
                other is not None
                and str(other) != str(misfit)
                and (other.kind == "orders" or (self._head(other.entry) == head if head else reached >= goal))
            ):
                closer.append((entry, reading))
            self._restore(kept)
            if best is not None and best.reached >= enough and not best.moved:
                break
        return best, closer

    def _head(self, number: int) -> int:
        """The march of the battle that an entry tells of, or 0."""
        return self.pages.heads.get(number, 0)

    def _keep(self) -> Kept:
        return self.pages, list(self.points), set(self.hopeless), self.commands, self.forecasts, self.bound_hit

    def _restore(self, kept: Kept) -> None:
        pages, points, hopeless, commands, forecasts, bound_hit = kept
        self.spent_on_readings += max(self.commands - commands, 8) + PER_FORECAST * (self.forecasts - forecasts)
        self.pages, self.points, self.hopeless = pages, list(points), set(hopeless)
        self.commands, self.forecasts, self.bound_hit = commands, forecasts, bound_hit
        self.at_once = self.replanning = 0
        self.stop_at = 2 * driver.MOST_COMMANDS

    def _goal(self, here: Hypothesis, misfit: Misfit) -> int:
        """The place of the entry that did not fit, or of the last one that was taken up."""
        place = self.pages.place.get(misfit.entry)
        if place is not None and misfit.kind != "orders":
            return place
        return max((self.pages.place[number] for number in here.used), default=-1) + 1

    def _suspects(self, here: Hypothesis, misfit: Misfit, goal: int) -> list[r.Entry]:
        """Entries that may say something wrong, the likeliest first.

        Those that contradict themselves, then the one that does not fit and what is about the same thing, then those
        before that are about the same Houses, the nearest first.
        """
        houses = {misfit.house, misfit.foe} - {""}
        kinds = OF_POWER if misfit.kind == "power" else OF_CARDS if misfit.kind == "card" else OF_UNITS
        earlier = reversed(self.pages.entries[max(0, goal - FARTHEST_BACK) : goal])
        found = self._at_hand(here, misfit)
        found += [
            entry
            for entry in earlier
            if isinstance(entry.record, kinds)
            and (
                not houses
                or _names(entry.record, houses, here.state)
                or (entry.number not in self.slips and self.contradicts_itself(entry.number, entry.record))
            )
        ]
        unique = {entry.number: entry for entry in found if entry.number not in self.slips}
        return sorted(unique.values(), key=lambda entry: not self.contradicts_itself(entry.number, entry.record))

    def contradicts_itself(self, number: int, record: r.Record) -> bool:
        """Whether an entry says the same thing twice and differently, or names a House that is not in the battle."""
        if isinstance(record, r.CardChosen | r.AbilityResolved):
            card = self.edition.cards.get(record.card)
            if card is None or card.house != record.house or card.strength != record.strength:
                return True
        if isinstance(record, r.Marched) and record.attack is not None:
            return (record.attack.house, record.attack.origin) != (record.house, record.area)
        head = self._head(number)
        if head and isinstance(record, r.CardChosen | r.BattleLost):
            march: Any = self.pages.by_number[head].record
            return record.house not in (march.attack.house, march.attack.defender)
        return False

    def _at_hand(self, here: Hypothesis, misfit: Misfit) -> list[r.Entry]:
        """The entry that does not fit, and those that are about the same thing."""
        told = self.pages.by_number.get(misfit.entry)
        if misfit.kind == "orders":
            concerned = [one for one in self._round(here) if concerns(one.record, misfit.house, here.state)
                         or isinstance(one.record, r.PowerConsolidated)]  # fmt: skip
            return concerned[::-1]
        if told is None:
            return []
        if misfit.kind == "raven":
            # Who holds it was settled when the track was filled.
            orders = [one for one in self.pages.entries[: self.pages.place[told.number]]
                      if isinstance(one.record, r.TrackOrdered) and one.record.track == "kings-court"]  # fmt: skip
            return [*orders[-1:], told]
        if isinstance(told.record, r.TrackOrdered):
            bids = [one for one in self.pages.by_round[told.round]
                    if isinstance(one.record, r.Bid) and one.record.track == told.record.track]  # fmt: skip
            return [told, *bids]
        if misfit.kind == "wildlings":
            return [told, *(one for one in self.pages.by_round[told.round] if isinstance(one.record, r.WildlingBid))]
        head = self._head(told.number)
        if head:
            return [told, *(one for one in (*self.pages.battles[head], self.pages.by_number[head]) if one is not told)]
        return [told]

    def _tried(
        self, here: Hypothesis, entry: r.Entry, reading: r.Record, enough: int, *, whole: bool
    ) -> tuple[Hypothesis | None, int, Misfit | None]:
        """Follow the log with one entry read otherwise; how far, as a place in the log, and what does not fit there.

        With ``whole`` what was hidden earlier is revised too, once.
        """
        self.pages = self.pages.reading(entry.number, reading)
        start = self._before(here, entry)
        if start is None:
            return None, -1, None
        self.hopeless = set()
        best = self._as_far(start, enough, whole=whole)
        if whole and best[1] < enough:
            # What the entry said was evidence for earlier choices too.
            houses = (getattr(entry.record, "house", ""), getattr(reading, "house", ""))
            musters = [one for one in self.points if isinstance(one, Point) and one.house in houses]
            for point in musters[-MOST_BACK:][::-1]:
                other = self._as_far(point.before, enough, whole=False)
                best = other if other[1] > best[1] else best
                if best[1] >= enough:
                    break
        self.points = best[3]
        return best[:3]

    def _as_far(
        self, start: Hypothesis, enough: int, *, whole: bool
    ) -> tuple[Hypothesis, int, Misfit | None, list[Point | Departure]]:
        """Follow the log from a position as far as it goes, but no farther than enough."""
        points = self.points
        self.points = [point for point in points if point.entry in start.used]
        there = start
        try:
            while True:
                try:
                    while not self._has_reached(there, enough):
                        there = self.go_on(there)
                    return there, enough, None, self.points
                except OutOfEntries as end:
                    there = end.reached or there
                    # The end of a game is told, not answered.
                    is_end = self._place(there) >= len(self.pages.entries) - 2
                    return there, enough if is_end else self._place(there), None, self.points
                except Misfit as other:
                    again = self._revise_musters(there, other) if whole else None
                    if again is None:
                        place = self.pages.place.get(other.entry, -1)
                        reached = min(self._place(there), place) if place >= 0 else self._place(there)
                        return there, reached, other, self.points
                    there, whole = again, False
        finally:
            self.points = points

    def _place(self, here: Hypothesis) -> int:
        return max((self.pages.place[number] for number in here.used), default=-1)

    def _before(self, here: Hypothesis, entry: r.Entry) -> Hypothesis | None:
        """Where to go on from when an entry says something else: before it, or before the orders it asks for."""
        head = self._head(entry.number)
        # What was never taken up belongs right behind the last thing that was and stands before it.
        is_new = entry.number not in here.used
        limit = self.pages.place[entry.number] if is_new else len(self.pages.entries)
        there: Hypothesis | None = here
        while there is not None and (
            entry.number in there.used
            or head in there.used
            or there.state.combat is not None
            or self._place(there) > limit
        ):
            there = there.past
        while (
            is_new
            and there is not None
            and there.past is not None
            and there.steps is not self.begun
            and self._place(there.past) == self._place(there)
        ):
            there = there.past
        if there is None or there.planning is None or there.demands is None or there.planned_from is None:
            return there
        if there.state.round == there.planning.round == entry.round and there.state.orders:
            wanted = demands(self.rules.game(there.planning), self._round(there))
            if wanted != there.demands:
                return there.planned_from
        return there


def _newly_names(area: str, entry: r.Entry, reading: r.Record) -> bool:
    """Whether a reading names an area that the entry does not."""
    return bool(area) and repr(area) in repr(reading) and repr(area) not in repr(entry.record)


def _moved(before: Hypothesis, after: Hypothesis) -> int:
    """Power tokens that were left at one time and not at the other."""
    return sum(after.left.get(number, left) != left for number, left in before.left.items())


def _names(record: r.Record, houses: set[str], state: State) -> bool:
    """Whether an entry is about one of these Houses."""
    if getattr(record, "house", None) in houses:
        return True
    if isinstance(record, r.Marched) and record.attack is not None and record.attack.defender in houses:
        return True
    if isinstance(record, r.PowerConsolidated | r.GameOfThronesPower):
        return True
    if isinstance(record, r.WildlingsBeaten):
        return any(getattr(effect, "house", None) in houses for effect in record.effects)
    return any(concerns(record, house, state) for house in houses)
