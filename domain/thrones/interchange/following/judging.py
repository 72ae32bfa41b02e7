"""Who is right where a log and our ruling differ: what the log itself goes on with is the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from domain.thrones.edition import Edition
from domain.thrones.interchange.following.compare import Pairing
from domain.thrones.interchange.following.force import RULES_OF
from domain.thrones.interchange.following.slipping import Slipping
from domain.thrones.interchange.logs import records as r
from domain.thrones.interchange.logs.grammar import write_record

Right = Literal["rules", "log", "open"]

ENOUGH = 6
"""Entries behind a disagreement that have to be explained before it is judged."""
LOOKED_AT = 30
"""Entries behind a disagreement that are looked at."""

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
}
"""What rules decide on entries that our engine has otherwise, though nothing of it was in the way of what follows."""


NOTHING_HIDDEN = (
    r.Bid,
    r.WildlingBid,
    r.TrackOrdered,
    r.CardChosen,
    r.OrdersSet,
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
    theirs: r.AnyRecord
    ours: r.AnyRecord | None
    rules: tuple[str, ...]
    right: Right
    why: str


def judge(pairs: Sequence[Pairing], follower: Slipping, edition: Edition) -> list[Disagreement]:
    """Every entry that is not explained, judged by what follows it.

    The rules are right where the log itself goes on as we rule: where everything behind the entry is explained, and
    there is enough of it. Where an outcome had to be taken over for what follows, where the search has ended at its
    bound, or where too little follows, an inference of ours may be as wrong as the log, and the entry stays open.
    """
    place = {one.entry.number: number for number, one in enumerate(pairs)}
    found: list[Disagreement] = []
    for number, one in enumerate(pairs):
        if one.equal:
            continue
        slip = follower.slips.get(one.entry.number)
        forced = follower.judged.get(one.entry.number)
        rules = RULES_ABOUT.get(type(one.entry.record), ("2E-RND-1",))
        right: Right = "open"
        is_open = False
        if slip is not None:
            rules = RULES_OF.get(slip.misfit.kind, rules)
            shows = max(number, place.get(slip.misfit.entry, number))
            read = " ".join(write_record(slip.reading))
            why = f"{slip.misfit.what}; it would have to say: {read}"
        elif forced is not None:
            right, why, shows = forced.right, forced.why, number
        elif one.ours is None:
            why, shows = "nothing of the kind happens by the rules", number
        else:
            why, shows = "by the rules it is otherwise", number
            is_open = not (
                isinstance(one.entry.record, NOTHING_HIDDEN)
                or one.entry.number in follower.tolerated
                or follower.contradicts_itself(one.entry.record)
            )
        behind = pairs[shows + 1 : shows + 1 + LOOKED_AT]
        # Behind an entry that stays open the position may be another than at the table.
        is_open = is_open or follower.bound_hit or any(before.right == "open" for before in found)
        goes_on = _goes_on(behind, follower) and not is_open
        enough = sum(other.equal for other in behind) >= ENOUGH or isinstance(one.entry.record, r.GameWon)
        if forced is None and one.ours is not None and goes_on and enough:
            right, why = "rules", f"{why}, and what follows fits that"
        elif forced is None and goes_on and not enough:
            why = f"{why}; too little follows to tell who is right"
        found.append(
            Disagreement(one.entry.number, one.entry.record, one.ours, edition.law.cite(rules), right, why)
            if forced is None
            else Disagreement(one.entry.number, one.entry.record, one.ours, forced.rules, right, why)
        )
    return found


def _goes_on(behind: Sequence[Pairing], follower: Slipping) -> bool:
    """Whether nothing behind an entry stands against our ruling on it."""
    return all(
        one.equal
        or one.entry.number in follower.slips
        or (one.ours is not None and one.entry.number not in follower.judged)
        for one in behind
    )
