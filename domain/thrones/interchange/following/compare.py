"""Two logs of one game side by side: what was imported, and what our engine says happened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from domain.thrones.interchange.logs import records as r

OURS_ALONE = (
    r.SupportGiven,
    r.SupportWithheld,
    r.SupportRefused,
    r.PowerTokenLeft,
    r.ShipsCaptured,
    r.CardMissing,
    r.TidesDrawn,
    r.NothingHappened,
)
"""What our record tells and logs of the site do not."""


class Pairing(msgspec.Struct, frozen=True):
    """An entry of the log and what our engine has for it; ``equal`` if it says the same."""

    entry: r.Entry
    ours: r.AnyRecord | None
    equal: bool


def normal(record: r.AnyRecord) -> r.AnyRecord:
    """A record without what says nothing about the game: the time in an announcement, the full stop before an arrow."""
    if isinstance(record, r.Marched):
        attack = None if record.attack is None else replace(record.attack, at="")
        return replace(record, attack=attack, stop=True, steps=tuple(sorted(record.steps, key=lambda step: step.to)))
    if isinstance(record, r.BattleLost):
        # A beaten attacker "withdraws" also when nobody is left to do so.
        gone = record.how == "withdrew" and record.killed
        return replace(record, winner=None, other={}) if not gone else replace(record, winner=None, other={})
    if isinstance(record, r.TrackOrdered):
        # Who broke a tie is not told where the site broke it.
        return replace(record, by=None)
    if isinstance(record, r.RaidUnusable):
        return replace(record, order="raid")
    return record


def same(theirs: r.AnyRecord, ours: r.AnyRecord) -> bool:
    """Whether our record says all that theirs does."""
    one, other = normal(theirs), normal(ours)
    if one == other:
        return True
    if isinstance(one, r.BattleLost) and isinstance(other, r.BattleLost):
        told = one.house == other.house and one.killed == other.killed
        return told and one.how == "withdrew" and other.how in ("stuck", "lost")
    if isinstance(one, r.WildlingsBeaten | r.WildlingsWon) and type(one) is type(other):
        return sorted(map(repr, one.effects)) == sorted(map(repr, other.effects)) and getattr(one, "house", "") == getattr(
            other, "house", ""
        )
    if isinstance(one, r.AbilityResolved) and isinstance(other, r.AbilityDeclined):
        return one.card == other.card and one.effects == (r.NoOrderTakenOff(),)
    return False


def pair(theirs: Sequence[r.Entry], ours: Iterable[r.Entry]) -> tuple[list[Pairing], list[r.Entry]]:
    """Each entry of the log with ours, round by round; and what only we have."""
    left: dict[int, list[r.Entry]] = {}
    for entry in ours:
        left.setdefault(entry.round, []).append(entry)
    pairs: dict[int, Pairing] = {}
    for entry in theirs:
        here = left.get(entry.round, [])
        found = next((number for number, one in enumerate(here) if same(entry.record, one.record)), None)
        if found is not None:
            pairs[entry.number] = Pairing(entry, here.pop(found).record, equal=True)
    for entry in theirs:
        if entry.number in pairs:
            continue
        here = left.get(entry.round, [])
        found = next((number for number, one in enumerate(here) if _is_about(entry.record, one.record)), None)
        pairs[entry.number] = Pairing(entry, None if found is None else here.pop(found).record, equal=False)
    rest = [entry for number in sorted(left) for entry in left[number] if not isinstance(entry.record, OURS_ALONE)]
    return [pairs[entry.number] for entry in theirs], rest


def _is_about(theirs: r.AnyRecord, ours: r.AnyRecord) -> bool:
    """Whether two records tell of the same thing, though not the same of it."""
    if type(theirs) is not type(ours):
        return False
    keys = ("house", "area", "track", "card")
    return all(getattr(theirs, key, None) == getattr(ours, key, None) for key in keys if key != "card" or not hasattr(theirs, "house"))
