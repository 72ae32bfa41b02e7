"""A play-by-mail log as a game of ours: followed, played over, compared, and reported on."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from domain.kernel.arbiter import Correct
from domain.thrones.charter import Charter
from domain.thrones.edition import Edition
from domain.thrones.editions.composed import edition_of
from domain.thrones.interchange.following.assumptions import Assumption, counted, listed
from domain.thrones.interchange.following.charter import (
    DOUBTFUL_BORDERS,
    OWN,
    UNNAMED,
    Links,
    Reading,
    charter_of,
    readings_of,
    settings_of,
)
from domain.thrones.interchange.following.compare import Pairing, pair
from domain.thrones.interchange.following.decks import Dealt, deal
from domain.thrones.interchange.following.follower import Follower
from domain.thrones.interchange.following.hypothesis import Hypothesis
from domain.thrones.interchange.following.judging import Disagreement, judge
from domain.thrones.interchange.following.replay import Replay, Ruled, script
from domain.thrones.interchange.logs import records as r
from domain.thrones.interchange.logs.from_facts import Ruled as Told
from domain.thrones.interchange.logs.from_facts import to_log
from domain.thrones.pieces import HouseId
from domain.thrones.state import State

MOSTLY = 0.9
"""The part of a log that is explained unless it was played by other rules."""


class Report(msgspec.Struct, frozen=True):
    """What an import found.

    ``entries`` is the number of entries in the log, ``explained`` of those that our engine adjudicates and that say
    the same; ``assumed`` is what the log leaves out, one by one, and ``assumptions`` counts it by kind; ``corrections``
    counts what was taken over from the log against our ruling. ``open`` are entries that were neither adjudicated nor
    judged; ``undecided`` has what is known of each. ``unlogged`` is what our engine would have told, and
    the log does not.
    """

    entries: int
    explained: int
    assumptions: dict[str, int]
    corrections: int
    disagreements: tuple[Disagreement, ...] = ()
    open: tuple[int, ...] = ()
    undecided: tuple[Disagreement, ...] = ()
    unlogged: tuple[r.AnyRecord, ...] = ()
    assumed: tuple[Assumption, ...] = ()
    problems: tuple[r.Problem, ...] = ()
    notes: tuple[str, ...] = ()
    reading: Reading = "site"
    bound_hit: bool = False
    ended: bool = False
    winner: HouseId | None = None

    @property
    def is_whole(self) -> bool:
        """Whether every entry is explained or a judged disagreement."""
        return not self.open


class Imported(msgspec.Struct, frozen=True):
    """A game as it was imported: its charter, the commands with the times of the log, and the report."""

    charter: Charter
    ruled: tuple[Ruled, ...]
    state: State
    report: Report

    def accepted(self, entries: Collection[int]) -> tuple[tuple[Ruled, ...], int]:
        """The commands up to the first correction that was not accepted, and the entry that it takes over.

        ``entries`` are those whose outcome is accepted against our ruling. Without a correction that was not, all
        commands, and 0. What comes behind a correction rests on it.
        """
        for place, one in enumerate(self.ruled):
            if one.takes_over and one.takes_over not in entries:
                return self.ruled[:place], one.takes_over
        return self.ruled, 0

    @property
    def taken_over(self) -> tuple[int, ...]:
        """Entries whose outcome is a correction, in order."""
        return tuple(dict.fromkeys(one.takes_over for one in self.ruled if one.takes_over))


def import_log(reading: r.Reading) -> Imported:
    """Import what was read. Never fails: what cannot be followed stands in the report, and what was good is kept."""
    best: Imported | None = None
    reading = _in_order(reading)
    for settings in (reading.log.settings,) if reading.log.settings else UNNAMED:
        told = msgspec.structs.replace(reading, log=msgspec.structs.replace(reading.log, settings=settings))
        for how in readings_of(told.log):
            found = _import(told, how)
            if best is None or _is_better(found.report, best.report):
                best = found
            if not _depends_on_reading(best.report):
                return best
    assert best is not None, "there are readings"
    if best.report.reading == "site" and any("cannot-enter" in note for note in best.report.notes):
        # Our source for the first edition's board may leave out a border that a march needs.
        found = _import(msgspec.structs.replace(reading, log=_played(reading.log, best)), "site", DOUBTFUL_BORDERS)
        best = found if _is_better(found.report, best.report) else best
    return best


def _depends_on_reading(report: Report) -> bool:
    """Whether another reading of what the settings leave out could explain more: of ports, supply, and wildlings."""
    differs = [one.theirs for one in (*report.undecided, *report.disagreements)]
    about = (r.GameOfThronesPower, r.SupplyCounted, r.Mustered, r.WildlingsWon, r.WildlingsBeaten, r.WildlingCardDrawn)
    return any(isinstance(one, about) for one in differs) or report.explained < report.entries * MOSTLY


def _in_order(reading: r.Reading) -> r.Reading:
    """Entries by their numbers, whatever the order of their lines."""
    entries = reading.log.entries
    ordered = tuple(sorted(entries, key=lambda entry: entry.number))
    if ordered == entries:
        return reading
    problem = r.Problem(
        0, "out-of-order", "entries do not stand in the order of their numbers", "taken by their numbers"
    )
    log = msgspec.structs.replace(reading.log, entries=ordered)
    return r.Reading(log, (*reading.problems, problem))


def _is_better(one: Report, other: Report) -> bool:
    return (one.explained, -one.corrections) > (other.explained, -other.corrections)


def _played(log: r.Log, found: Imported) -> r.Log:
    """The log with the settings that it was imported by."""
    return log if log.settings else msgspec.structs.replace(log, settings=settings_of(found.charter))


def _import(reading: r.Reading, how: Reading, borders: Links = ()) -> Imported:
    log = reading.log
    charter, problems = charter_of(log, how, borders)
    edition = edition_of(charter)
    dealt = deal(log.entries, edition, tides=charter.switches.tides_of_battle == "on")
    follower = Follower(log, charter, edition, dealt)
    found = follower.run()
    replay = Replay(edition, follower.pages)
    replay.run(script(found, edition))
    players = {house: seat for seat, house in charter.seats.items()}
    ours = to_log([Told(one.at, one.facts) for one in replay.ruled], edition, game="", name="", players=players)
    pairs, unlogged = pair(log.entries, ours.entries)
    report = _report(reading, charter, edition, dealt, follower, found, replay, pairs)
    known = [one for one in reading.problems if not (one.code == "setting-unknown" and one.what.startswith(f"{OWN} "))]
    problems = [*known, *problems]
    report = msgspec.structs.replace(
        report,
        problems=tuple(problems),
        unlogged=tuple(entry.record for entry in unlogged),
        reading=how,
        notes=(*dealt.problems, *(str(one) for one in follower.unfit), *replay.problems),
    )
    return Imported(charter, tuple(replay.ruled), replay.state, report)


def _report(
    reading: r.Reading,
    charter: Charter,
    edition: Edition,
    dealt: Dealt,
    follower: Follower,
    found: Hypothesis,
    replay: Replay,
    pairs: list[Pairing],
) -> Report:
    state = replay.state
    log = reading.log
    assumed = listed(charter, edition, dealt, follower, found, replay.ruled)
    judged = judge(pairs, follower, edition, state)
    return Report(
        entries=len(log.entries),
        explained=sum(one.equal for one in pairs),
        assumptions=counted(assumed),
        assumed=assumed,
        corrections=sum(isinstance(one.command, Correct) for one in replay.ruled),
        disagreements=tuple(one for one in judged if one.right != "open"),
        open=tuple(one.entry for one in judged if one.right == "open"),
        undecided=tuple(one for one in judged if one.right == "open"),
        bound_hit=follower.bound_hit,
        ended=state.is_over,
        winner=state.winner,
    )


def figures(report: Report) -> Mapping[str, int]:
    """The numbers of a report."""
    return {
        "entries": report.entries,
        "explained": report.explained,
        "assumptions": sum(report.assumptions.values()),
        "corrections": report.corrections,
        "disagreements": len(report.disagreements),
        "open": len(report.open),
    }
