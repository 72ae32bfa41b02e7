"""Two logs of one game side by side: what was imported, and what our engine says happened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from api.games.thrones.logs import records as r

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
    ours: r.Record | None
    equal: bool


def normal(record: r.Record) -> r.Record:
    """A record without what says nothing about the game: the time in an announcement, the full stop before an arrow."""
    if isinstance(record, r.Marched):
        attack = None if record.attack is None else replace(record.attack, at="")
        return replace(record, attack=attack, stop=True, steps=tuple(sorted(record.steps, key=lambda step: step.to)))
    if isinstance(record, r.BattleLost):
        return replace(record, winner=None, other={})
    if isinstance(record, r.TrackOrdered):
        # Who broke a tie is not told where the site broke it.
        return replace(record, by=None)
    if isinstance(record, r.RaidUnusable):
        return replace(record, order="raid")
    return record


def same(theirs: r.Record, ours: r.Record) -> bool:
    """Whether our record says all that theirs does."""
    one, other = normal(theirs), normal(ours)
    if one == other:
        return True
    if isinstance(one, r.BattleLost) and isinstance(other, r.BattleLost):
        # A beaten attacker "withdraws" also when nobody is left to do so.
        told = one.house == other.house and one.killed == other.killed
        return told and one.how == "withdrew" and other.how in ("stuck", "lost")
    if isinstance(one, r.WildlingsBeaten | r.WildlingsWon) and type(one) is type(other):
        return sorted(map(repr, one.effects)) == sorted(map(repr, other.effects)) and getattr(
            one, "house", ""
        ) == getattr(other, "house", "")
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
    _income_told_apart(theirs, left, pairs)
    for about in (_is_about, _is_of_the_kind):
        for entry in theirs:
            if entry.number in pairs:
                continue
            here = left.get(entry.round, [])
            found = next((number for number, one in enumerate(here) if about(entry.record, one.record)), None)
            if found is not None:
                pairs[entry.number] = Pairing(entry, here.pop(found).record, equal=False)
    for entry in theirs:
        pairs.setdefault(entry.number, Pairing(entry, None, equal=False))
    rest = [entry for number in sorted(left) for entry in left[number] if not isinstance(entry.record, OURS_ALONE)]
    return [pairs[entry.number] for entry in theirs], rest


def _income_told_apart(theirs: Sequence[r.Entry], left: dict[int, list[r.Entry]], pairs: dict[int, Pairing]) -> None:
    """Power of a round that one log tells in one sum and the other order by order."""
    for number, ours in left.items():
        open_ones = [entry for entry in theirs if entry.round == number and entry.number not in pairs]
        mine = [entry for entry in open_ones if isinstance(entry.record, r.PowerTaken | r.PowerConsolidated)]
        other = [entry for entry in ours if isinstance(entry.record, r.PowerTaken | r.PowerConsolidated)]
        if mine and other and _income(mine) == _income(other):
            for entry in mine:
                pairs[entry.number] = Pairing(entry, other[-1].record, equal=True)
            for entry in other:
                ours.remove(entry)


def _income(entries: Iterable[r.Entry]) -> dict[str, int]:
    total: dict[str, int] = {}
    for entry in entries:
        record = entry.record
        if isinstance(record, r.PowerTaken):
            total[record.house] = total.get(record.house, 0) + record.power
        elif isinstance(record, r.PowerConsolidated):
            for house, power in record.power.items():
                total[house] = total.get(house, 0) + power
    return {house: power for house, power in total.items() if power}


def _is_of_the_kind(theirs: r.Record, ours: r.Record) -> bool:
    """Whether two records that nothing else is left for tell of the same kind of thing."""
    return type(theirs) is type(ours) and not isinstance(theirs, r.Unknown)


def _is_about(theirs: r.Record, ours: r.Record) -> bool:
    """Whether two records tell of the same thing, though not the same of it."""
    if type(theirs) is not type(ours):
        return False
    keys = ("house", "area", "track", "card")
    return all(
        getattr(theirs, key, None) == getattr(ours, key, None)
        for key in keys
        if key != "card" or not hasattr(theirs, "house")
    )
