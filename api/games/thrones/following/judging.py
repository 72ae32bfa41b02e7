"""Who is right where a log and our ruling differ: what the log itself goes on with is the evidence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import msgspec

from api.games.thrones.following.compare import Pairing
from api.games.thrones.following.force import RULES_OF
from api.games.thrones.following.slipping import Slipping
from api.games.thrones.following.slips import Slip
from api.games.thrones.logs import records as r
from api.games.thrones.logs.grammar import write_record
from api.games.thrones.sentences import Prose
from domain.thrones.language.pieces import HouseId
from domain.thrones.language.state import State
from domain.thrones.tables.edition import Edition

Right = Literal["rules", "log", "open"]

ENOUGH = 6
"""Entries behind a disagreement that have to be explained before it is judged."""
LOOKED_AT = 30
"""Entries behind a disagreement that are looked at."""

OF_HANDS = (r.CardDiscarded, r.CardsTakenBack)
"""What card texts do to hands, which are open."""
CLEARLY = 2
"""By how many areas that count for victory a winner must be ahead, for Power tokens not to matter."""

RULES_ABOUT: dict[type[r.Record], tuple[str, ...]] = {
    r.Bid: ("2E-COK-2",),
    r.WildlingBid: ("2E-WLD-3",),
    r.TrackOrdered: ("2E-COK-3", "2E-COK-4"),
    r.CardChosen: ("2E-CBT-21",),
    r.BattleLost: RULES_OF["battle"],
    r.Marched: ("2E-MAR-1",),
    r.OrderGivenUp: ("2E-ACT-2",),
    r.Raided: RULES_OF["raid"],
    r.RaidUnusable: RULES_OF["raid"],
    r.PowerTaken: ("2E-CP-3",),
    r.PowerConsolidated: ("2E-CP-3",),
    r.GameOfThronesPower: RULES_OF["income"],
    r.SupplyCounted: RULES_OF["supply"],
    r.Mustered: RULES_OF["muster"],
    r.SpecialMustered: ("2E-CP-5", "2E-MUS-3"),
    r.RavenReplaced: RULES_OF["raven"],
    r.GameWon: ("2E-VIC-2", "2E-VIC-5"),
    r.WildlingsWon: ("2E-WLD-5",),
    r.WildlingsBeaten: ("2E-WLD-5",),
    r.WildlingCardDrawn: ("2E-WLD-7",),
    r.OrdersSet: ("2E-PLN-2",),
    r.RavenLooked: ("2E-RVN-1",),
    r.RavenKept: ("2E-RVN-3",),
    r.RavenBuried: ("2E-RVN-3",),
    r.RavenUnused: ("2E-RVN-1",),
    r.BladeUsed: ("2E-CBT-24",),
    r.BladeDeclined: ("2E-CBT-24",),
    r.AbilityResolved: ("2E-HC-1",),
    r.AbilityDeclined: ("2E-HC-8",),
    r.CardCancelled: ("2E-HC-3",),
    r.CardExchanged: ("2E-HC-4",),
    r.SupportGiven: ("2E-CBT-20",),
    r.WesterosChoice: ("2E-TRK-2",),
}
"""What rules decide on entries that our engine has otherwise, though nothing of it was in the way of what follows."""


NOTHING_HIDDEN = (
    r.Bid,
    r.WildlingBid,
    r.TrackOrdered,
    r.CardChosen,
    r.OrdersSet,
    r.BladeUsed,
    r.BladeDeclined,
    r.RavenLooked,
    r.RavenKept,
    r.RavenBuried,
    r.PowerTaken,
    r.GameWon,
    r.WildlingCardDrawn,
    r.WesterosChoice,
)
"""Entries that rest on nothing that is hidden: where ours says something else, theirs cannot be."""


class Disagreement(msgspec.Struct, frozen=True):
    """An entry where the log and our ruling differ: both, our rules, and who is right, with the reason."""

    entry: int
    theirs: r.Record
    ours: r.Record | None
    rules: tuple[str, ...]
    right: Right
    why: str


def judge(pairs: Sequence[Pairing], follower: Slipping, edition: Edition, end: State) -> list[Disagreement]:
    """Every entry that is not explained, judged by what follows it.

    The rules are right where the log itself goes on as we rule: where everything behind the entry is explained, and
    there is enough of it. Where an outcome had to be taken over for what follows, where the search has ended at its
    bound, or where too little follows, an inference of ours may be as wrong as the log, and the entry stays open.
    ``end`` is the position that the log was followed to.
    """
    place = {one.entry.number: number for number, one in enumerate(pairs)}
    houses = Counter(house for one in pairs if not one.equal for house in _houses(one, follower))
    sayings = Counter(_saying(one) for one in pairs if not one.equal)
    found: list[Disagreement] = []
    for number, one in enumerate(pairs):
        if one.equal:
            continue
        slip, forced = follower.slips.get(one.entry.number), follower.judged.get(one.entry.number)
        if forced is not None and slip is None:
            rules, right, why = forced.rules, forced.right, forced.why
        else:
            shows = number if slip is None else max(number, place.get(slip.misfit.entry, number))
            right, evidence = "open", ""
            if one.ours is not None and (slip is not None or _rests_on_nothing_hidden(one, follower)):
                right, evidence = _weigh(pairs[shows + 1 : shows + 1 + LOOKED_AT], one, follower, end)
                if any(before.right == "open" for before in found):
                    right, evidence = "open", "an entry before it is undecided, so the position may be another"
                elif slip is not None and one.entry.number in follower.rivals:
                    other = follower.rivals[one.entry.number]
                    right, evidence = "open", f"entry {other} may be the wrong one as well"
                elif slip is None and sayings[_saying(one)] > 1:
                    right, evidence = "open", "more than one entry says so"
                elif slip is not None and any(houses[house] > 1 for house in _houses(one, follower)):
                    right, evidence = "open", "more than one entry of the House would have to be wrong"
            rules = edition.law.cite(_rules(one, slip))
            reason = _reason(one, slip, follower)
            why = f"{reason}; {evidence}" if evidence else reason
        found.append(
            Disagreement(one.entry.number, one.entry.record, one.ours, rules, right, _named(why, follower.prose))
        )
    return found


def _named(why: str, prose: Prose) -> str:
    """A reason with printed names for ids."""
    return re.sub(r"[a-z][a-z'-]+", lambda word: prose.names.get(word[0], word[0]), why)


def _saying(one: Pairing) -> tuple[type[r.Record], HouseId]:
    """What an entry says, as far as others may say the same."""
    return type(one.entry.record), getattr(one.entry.record, "house", None) or ""


def _houses(one: Pairing, follower: Slipping) -> set[HouseId]:
    """The Houses that a difference is about, but where nothing of it is hidden."""
    if _rests_on_nothing_hidden(one, follower):
        return set()
    slip = follower.slips.get(one.entry.number)
    told = {getattr(one.entry.record, "house", None) or ""}
    return (told if slip is None else {*told, slip.misfit.house, slip.misfit.foe}) - {""}


def _rests_on_nothing_hidden(one: Pairing, follower: Slipping) -> bool:
    """Whether an entry that was in nobody's way can be judged all the same."""
    record = one.entry.record
    return (
        isinstance(record, NOTHING_HIDDEN)
        or (isinstance(record, r.AbilityResolved) and all(isinstance(effect, OF_HANDS) for effect in record.effects))
        or one.entry.number in follower.tolerated
        or follower.contradicts_itself(one.entry.number, one.entry.record)
    )


def _rules(one: Pairing, slip: Slip | None) -> tuple[str, ...]:
    by_kind = RULES_ABOUT.get(type(one.entry.record), ())
    return by_kind if slip is None or type(one.entry.record) in RULES_ABOUT else RULES_OF.get(slip.misfit.kind, by_kind)


def _reason(one: Pairing, slip: Slip | None, follower: Slipping) -> str:
    if slip is None and follower.contradicts_itself(one.entry.number, one.entry.record):
        return "the entry says two things that do not go together"
    if slip is None:
        return "by the rules it is otherwise" if one.ours is not None else "nothing of the kind happens by the rules"
    what = slip.misfit.what.rstrip(".")
    return what if one.ours is not None else f"{what}; it would have to say: {' '.join(write_record(slip.reading))}"


def _weigh(behind: Sequence[Pairing], one: Pairing, follower: Slipping, end: State) -> tuple[Right, str]:
    """Whether what follows an entry speaks for our ruling, in words."""
    if follower.bound_hit:
        return "open", "the search has ended at its bound"
    if not _goes_on(behind, follower):
        return "open", "what follows does not fit our ruling either"
    if isinstance(one.entry.record, r.GameWon):
        return _weigh_victory(one.entry.record, follower, end)
    explained = sum(other.equal for other in behind)
    if explained < ENOUGH:
        return "open", "too little follows to tell who is right"
    return "rules", f"the {explained} entries behind it fit our ruling"


def _weigh_victory(told: r.GameWon, follower: Slipping, end: State) -> tuple[Right, str]:
    """The winner is counted on the board, but for areas that a Power token holds, which may lie elsewhere."""
    game = follower.rules.game(end)
    ours, theirs = (len(game.castles_of(house or "")) for house in (end.winner, told.house))
    if told.house is None or ours - theirs < CLEARLY:
        return "open", "a Power token somewhere would decide it"
    return "rules", f"he holds {ours} against {theirs}"


def _goes_on(behind: Sequence[Pairing], follower: Slipping) -> bool:
    """Whether nothing behind an entry stands against our ruling on it."""
    return all(
        one.equal
        or one.entry.number in follower.slips
        or (one.ours is not None and one.entry.number not in follower.judged)
        for one in behind
    )
