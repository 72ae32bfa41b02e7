"""The engine being driven: commands, and what they bring of supply and income beside what the log says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, islice
from typing import Any, Literal

from api.games.thrones.following.answers import Pages, answer
from api.games.thrones.following.decks import Dealt
from api.games.thrones.following.force import correction
from api.games.thrones.following.hypothesis import Chain, Hypothesis, Misfit, OutOfEntries, Step, with_
from api.games.thrones.following.losses import GivenUp
from api.games.thrones.following.replay import Nobody
from api.games.thrones.following.slips import Slip
from api.games.thrones.following.support import Change
from api.games.thrones.logs import records as r
from api.games.thrones.refusals import explain
from api.games.thrones.sentences import Prose
from domain.kernel.decision import Decision
from domain.kernel.facts import Answered, AnswerTaken, Fact
from domain.kernel.refusal import Refusal
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from domain.thrones.language.pieces import AreaId, HouseId, size
from domain.thrones.rules.armies import complies
from domain.thrones.rules.control import announce_control, announce_victory_markers
from domain.thrones.ruleset import THRONES, ThronesOf, rules_by
from domain.thrones.tables.charter import Charter
from domain.thrones.tables.edition import Edition

MOST_COMMANDS = 10_000
"""A bound on the commands of one import, tries included. Beyond it nothing is tried again; at twice as many it ends."""
MOST_OTHERS = 6
"""How many musters back, and how many other ways of each, are tried for an entry that does not fit."""

UNTOLD = ("income", "supply", "spent", "armies")
"""Misfits of what our ruling brings beside an entry: the log can be followed all the same."""
COUNTED = ("power", *UNTOLD)
"""Misfits in what is counted, which Power tokens bring about rather than musters."""
BIDS = ("influence-bid", "wildling-bid")

CERTAIN = ("card", "track", "wildlings")
"""Misfits in what rests on nothing hidden: hands are open, and so are bids once they are revealed."""


@dataclass(frozen=True)
class Judged:
    """Why an entry cannot be as the log has it, or as we rule it: rules, who is right, and the reason."""

    rules: tuple[str, ...]
    right: Literal["rules", "log", "open"]
    why: str


Chosen = c.Muster | c.HordeMusterArea | GivenUp
"""What may be chosen without a word of where: units mustered, the area to muster in, units given up."""


@dataclass(frozen=True)
class Point:
    """Units mustered or given up, which could have been others, or elsewhere. ``others`` have what speaks against."""

    before: Hypothesis
    entry: int
    house: HouseId
    taken: Step
    others: tuple[tuple[int, Chosen], ...]


@dataclass(frozen=True)
class Departure:
    """A march from which all units went, and after which a Power token may have been left or not."""

    before: Hypothesis
    entry: int
    house: HouseId
    area: AreaId
    left: bool


def combined(options: list[Change], count: int) -> Iterator[tuple[Change, ...]]:
    for chosen in combinations(options, count):
        keys = [key for one in chosen for key in (*one.orders, *(f"word {area}" for area in one.words))]
        if len(set(keys)) == len(keys):
            yield chosen


class Driver:
    """One log being followed: what every part of it needs."""

    def __init__(self, log: r.Log, charter: Charter, edition: Edition, dealt: Dealt) -> None:
        self.pages = Pages(log.entries)
        self.charter = charter
        self.edition = edition
        self.rules: ThronesOf = rules_by(charter)
        self.dealt = dealt
        self.prose = Prose(edition)
        self.points: list[Point | Departure] = []
        self.commands = 0
        self.bound_hit = False
        self.replanning = 0
        self.unfit: list[Misfit] = []
        self.unexplained: list[Misfit] = []
        self.trail: list[str] = []
        self.passed_over: set[int] = set()
        self.free_power: set[int] = set()
        self.by_default: set[tuple[int, HouseId]] = set()
        self.hopeless: set[tuple[str, int, HouseId]] = set()
        self.tolerated: set[int] = set()
        self.judged: dict[int, Judged] = {}
        self.is_cut = False
        self.slips: dict[int, Slip] = {}
        self.rivals: dict[int, int] = {}
        self.begun: Chain | None = None
        self.stop_at = 2 * MOST_COMMANDS
        self.spent_on_readings = 0
        self.forecasts = 0
        self.looks_until: int | None = None
        self.looked: set[tuple[str, int, HouseId]] = set()
        self.at_once = 0

    def go_on(self, here: Hypothesis) -> Hypothesis:
        """Answer one question, or one group of them that belongs together."""
        raise NotImplementedError  # the whole follower knows all kinds of questions

    def _soonest(self, here: Hypothesis, questions: tuple[Decision[Any], ...]) -> Step:
        """Of answers that are owed at once, the one that the log has first."""
        steps = [answer(self.pages, here, question) for question in questions]
        return min(steps, key=lambda step: (self.pages.place.get(step.entry, -1), steps.index(step)))

    def _decide(self, here: Hypothesis, step: Step) -> tuple[Hypothesis, tuple[Fact, ...]]:
        self.commands += 1
        self.bound_hit = self.bound_hit or self.commands > MOST_COMMANDS
        if self.commands > self.stop_at:
            raise OutOfEntries
        try:
            ruling = THRONES.decide(here.state, step.command)
        except Refusal as refusal:
            raise Misfit(
                "refused",
                step.entry,
                explain(refusal.code, refusal.params, self.prose),
                getattr(step.command, "house", ""),
                str(refusal.params.get("to") or getattr(step.command, "area", None) or ""),
                code=refusal.code,
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
        self._compare_auction(here, after, facts)
        misfit = self._counted(here, after, facts)
        if misfit is None:
            return self._with_firm(after, here, step, facts)
        found = self._counted_otherwise(here, step, misfit, set())
        if found is None:
            raise misfit
        return found

    def _counted_otherwise(
        self, here: Hypothesis, step: Step, misfit: Misfit, mended: set[tuple[str, HouseId]]
    ) -> Hypothesis | None:
        """The command once more with Power tokens left elsewhere, of one House after the other."""
        mended = mended | {(misfit.kind, misfit.house)}
        for repaired in self._tokens_otherwise(here, misfit):
            after, facts = self._decide(repaired, step)
            other = self._counted(repaired, after, facts)
            if other is None:
                return self._with_firm(after, repaired, step, facts)
            if (other.kind, other.house) not in mended:
                found = self._counted_otherwise(repaired, step, other, mended)
                if found is not None:
                    return found
        return None

    def _with_firm(self, after: Hypothesis, before: Hypothesis, step: Step, facts: Iterable[Fact]) -> Hypothesis:
        """Tokens left behind, or not, that what has just happened rests on."""
        firm = set(after.firm)
        # Where units stand, a token below them decides nothing.
        latest = {area: number for number, (_, area) in sorted(before.vacated.items())
                  if area not in before.state.units}  # fmt: skip
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
        spare: dict[int, tuple[HouseId, int | None]]
        spare = {entry.number: (record.house, None) for entry, record, is_asked in self._bids_begun(after, facts)
                 if not is_asked}  # fmt: skip
        if isinstance(step.command, c.InfluenceBid | c.WildlingBid) and step.entry:
            house, least = step.command.house, max(1, step.command.bid)
            spare[step.entry] = (house, before.state.power[house] - least)
        if firm == after.firm and not spare:
            return after
        return with_(after, firm=frozenset(firm), spare={**after.spare, **spare}, used=after.used | {*spare})

    def _reach(self, here: Hypothesis, goal: int) -> Hypothesis:
        """Follow the log until an entry has been taken up."""
        while not self._has_reached(here, goal):
            here = self.go_on(here)
        return here

    def _has_reached(self, here: Hypothesis, goal: int) -> bool:
        if here.mustering:
            return False
        return (here.state.combat or here.state.march) is None and any(
            self.pages.place[number] >= goal for number in here.used
        )

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
        return here.take(ruling.state, Step(command, 0, takes_over=entry))

    def _compare_auction(self, here: Hypothesis, after: Hypothesis, facts: tuple[Fact, ...]) -> None:
        """What bids brought: the new order of a track, or who has won against the wildlings.

        Nothing is hidden in it, so the bids or what is told of their outcome say something that cannot be.
        """
        auctions = {fact.about for fact in facts if isinstance(fact, f.BidsRevealed)}
        tied = {fact.answer.track for fact in facts if isinstance(fact, Answered)
                and isinstance(fact.answer, c.InfluenceTie)}  # fmt: skip
        for fact in facts:
            if isinstance(fact, f.TrackFilled) and fact.track in auctions | tied:
                for entry, record in self.pages.unused(here, r.TrackOrdered):
                    if record.track == fact.track and record.order != fact.order and entry.number not in self.tolerated:
                        raise Misfit("track", entry.number, f"the order is {', '.join(fact.order)}")
            elif isinstance(fact, f.WildlingAttackDecided):
                told = self._outcome_told(after)
                wins = isinstance(told.record, r.WildlingsBeaten) if told is not None else None
                if told is not None and wins != (fact.winner == "nights-watch") and told.number not in self.tolerated:
                    raise Misfit("wildlings", told.number, f"{fact.watch} against {fact.strength}")

    def _outcome_told(self, after: Hypothesis) -> r.Entry | None:
        """The entry that tells who has won the attack just bid for. A card may bring another attack at once."""
        last = max((self.pages.place[number] for number in after.used), default=-1)
        for entry in self.pages.entries[last + 1 :]:
            if entry.round != after.state.round or isinstance(entry.record, r.WildlingBid):
                break
            if isinstance(entry.record, r.WildlingsWon | r.WildlingsBeaten):
                return entry
        return None

    def _counted(self, here: Hypothesis, after: Hypothesis, facts: Sequence[Fact]) -> Misfit | None:
        """The first supply, income, or Power for a bid that is not what the log says."""
        return self._armies(after, facts) or self._income(here, facts) or self._power_for_bids(after, facts)

    def _armies(self, after: Hypothesis, facts: Sequence[Fact]) -> Misfit | None:
        """A House that has to give up units for supply although it is told to give up none, or the other way round."""
        counted = {fact.house for fact in facts if isinstance(fact, f.SupplyCounted)}
        for entry in self.pages.by_round.get(after.state.round, ()) if counted else ():
            record = entry.record
            if not isinstance(record, r.SupplyCounted) or record.house not in counted or entry.number in self.tolerated:
                continue
            house = record.house
            sizes = {area: size(units) for area, units in after.state.forces_of(house).items()}
            for fact in facts:
                if isinstance(fact, f.UnitsDestroyed) and fact.house == house:
                    sizes[fact.area] = sizes.get(fact.area, 0) + size(fact.units)
            over = not complies(
                sizes.values(), self.edition.supply_limit(min(record.supply, self.edition.constants.supply_maximum))
            )
            if over != bool(record.removed):
                is_so = "has" if over else "does not have"
                return Misfit("armies", entry.number, f"{house} {is_so} too many armies for its supply", house, "0")
        return None

    def _power_for_bids(self, after: Hypothesis, facts: Iterable[Fact]) -> Misfit | None:
        """Who has no Power is not asked for a bid: the site then bids for the House, and the entry has no player."""
        for entry, record, is_asked in self._bids_begun(after, facts):
            has, house = after.state.power[record.house], record.house
            if entry.number in self.tolerated:
                continue
            if not is_asked and (record.power or entry.player):
                kind = "power" if record.power else "spent"
                return Misfit(kind, entry.number, f"{house} has no Power", house, str(max(1, record.power)))
            if is_asked and self.pages.tells_bidders and not entry.player and not record.power:
                return Misfit("spent", entry.number, f"{house} has {has} Power", house, str(-has))
        return None

    def _bids_begun(
        self, after: Hypothesis, facts: Iterable[Fact]
    ) -> Iterator[tuple[r.Entry, r.Bid | r.WildlingBid, bool]]:
        """The entries of an auction that has just begun, each with whether the House is asked for its bid."""
        forced = {fact.player for fact in facts
                  if isinstance(fact, AnswerTaken) and fact.kind in BIDS and fact.how == "forced"}  # fmt: skip
        asked = {one.player: one.default for one in THRONES.decisions(after.state) if one.kind in BIDS}
        tracks = {getattr(default, "track", "") for default in asked.values()}
        if not asked:
            # Nobody has Power: the auction is over already.
            tracks = {fact.about.replace("wildlings", "") for fact in facts if isinstance(fact, f.BidsRevealed)}
        for house in self.charter.houses:
            if house in forced or house in asked:
                found = next((one for one in self.pages.unused(after, r.Bid, r.WildlingBid)
                              if one[1].house == house and getattr(one[1], "track", "") in tracks), None)  # fmt: skip
                if found is not None:
                    yield found[0], found[1], house in asked

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

        ``misfit.area`` holds the difference: supply, income, or Power that a bid needs, and more does no harm.
        """
        if misfit.kind == "armies":
            return
        wanted = int(misfit.area)
        worth = self._worth_of_tokens(here, misfit)
        ways = [
            (sum(abs(worth[number][1]) for number in numbers), numbers)
            for count in (1, 2, 3, 4)
            for numbers in combinations(sorted(worth), count)
            if sum(worth[number][0] for number in numbers) == wanted
        ]
        ways.sort(key=lambda way: (len(way[1]), way[0]))
        others = chain.from_iterable(self._with_tokens_paid(here, misfit, numbers, worth) for _, numbers in ways)
        yield from islice(others, MOST_OTHERS)

    def _with_tokens_paid(
        self, here: Hypothesis, misfit: Misfit, numbers: tuple[int, ...], worth: Mapping[int, object]
    ) -> Iterator[Hypothesis]:
        """The position with other tokens left; where bids leave no Power for that, one more goes the other way."""
        other = self._with_tokens(here, misfit.house, numbers)
        if other is not None:
            yield other
        elif misfit.kind in ("supply", "income"):
            for number, (house, _) in sorted(here.vacated.items()):
                if house == misfit.house and number not in here.firm and number not in worth:
                    other = self._with_tokens(here, house, (number, *numbers))
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
            if misfit.kind in ("power", "spent"):
                if left == (int(misfit.area) > 0) and (left or self._may_have_token(here, number)):
                    worth[number] = (
                        1 if left else -1,
                        (place.castle + place.power + place.supply) * (1 if left else -1),
                    )
            elif latest[area] == number and area not in here.state.units:
                owner = here.state.power_tokens.get(area)
                if icons and (owner == house if left else owner is None):
                    worth[number] = (-icons if left else icons, 0)
        return worth

    def _was_entered(self, here: Hypothesis, number: int) -> bool:
        """Whether others have come to the area, and gone again, since a march left it."""
        house, area = here.vacated[number]
        owner = here.state.power_tokens.get(area, house)
        return owner != house or any(
            one > number and other == area and who != house for one, (who, other) in here.vacated.items()
        )

    def _may_have_token(self, here: Hypothesis, number: int) -> bool:
        """Whether a Power token left by this march would be on the board now, or have gone when others came."""
        house, area = here.vacated[number]
        later = [one for one, (_, other) in here.vacated.items() if other == area and one > number]
        return not later or here.vacated[min(later)][0] != house

    def _with_tokens(self, here: Hypothesis, house: HouseId, numbers: Iterable[int]) -> Hypothesis | None:
        """The position with other tokens left; None where the House could not have paid for them and its bids.

        Where it had no Power to spare, a token that nothing rests on was not left before.
        """
        numbers = tuple(numbers)
        found = self._flipped(here, house, numbers)
        if found is not None or all(here.left[number] for number in numbers):
            return found
        first = min(number for number in numbers if not here.left[number])
        for spared in self._spared(here, house, first, numbers):
            found = self._flipped(here, house, (spared, *numbers))
            if found is not None:
                return found
        return None

    def _spared(self, here: Hypothesis, house: HouseId, first: int, besides: Sequence[int] = ()) -> list[int]:
        """Marches before a first whose Power token may as well not have been left, the least of areas first."""
        able = [
            number
            for number, (owner, _) in here.vacated.items()
            if owner == house and here.left[number] and number < first and number not in {*besides, *here.firm}
        ]
        return sorted(able, key=lambda number: (self._value_of(here.vacated[number][1]), number))[:MOST_OTHERS]

    def _value_of(self, area: AreaId) -> int:
        place = self.edition.board[area]
        return 2 * place.castle + place.power + place.supply + 2 * bool(self.edition.board.port_of.get(area))

    def _flipped(self, here: Hypothesis, house: HouseId, numbers: Sequence[int]) -> Hypothesis | None:
        """The position with these tokens left, or not left, the other way."""
        spare = dict(here.spare)
        for entry, (bidder, power) in here.spare.items():
            change = sum(1 if here.left[number] else -1 for number in numbers if number < entry)
            if bidder == house and change:
                if power is None or power + change < 0:
                    return None
                spare[entry] = (bidder, power + change)
        edited = self.rules.game(here.state)
        flags = dict(here.left)
        for number in numbers:
            area = here.vacated[number][1]
            flags[number] = not flags[number]
            if flags[number]:
                if edited.state.power[house] < 1:
                    return None
                if edited.state.house_in(area) not in (None, house) or self._was_entered(here, number):
                    # It is gone by now.
                    edited.emit(f.PowerChanged(house=house, by=-1))
                    continue
                if area in edited.state.power_tokens:
                    return None
                edited.emit(f.PowerTokenPlaced(house=house, area=area))
            else:
                if edited.state.power_tokens.get(area) == house:
                    edited.emit(f.PowerTokenRemoved(house=house, area=area))
                edited.emit(f.PowerChanged(house=house, by=1))
        announce_control(edited)
        announce_victory_markers(edited)
        return with_(here, state=edited.state, left=flags, spare=spare)
