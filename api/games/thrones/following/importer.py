"""A play-by-mail log as a game of ours: followed, played over, compared, and reported on."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec
from msgspec.structs import replace

from api.games.thrones.following.assumptions import Assumption, counted, listed
from api.games.thrones.following.charter import (
    DOUBTFUL_BORDERS,
    OWN,
    Links,
    Reading,
    charter_of,
    readings_of,
    tables_of,
)
from api.games.thrones.following.compare import Pairing, pair
from api.games.thrones.following.decks import Dealt, deal
from api.games.thrones.following.follower import Follower
from api.games.thrones.following.guesses import guessed
from api.games.thrones.following.hypothesis import Hypothesis
from api.games.thrones.following.judging import Disagreement, judge
from api.games.thrones.following.replay import Replay, Ruled, script
from api.games.thrones.logs import records as r
from api.games.thrones.logs.from_facts import Ruled as Told
from api.games.thrones.logs.from_facts import to_log
from api.games.thrones.logs.grammar import write_record
from domain.kernel.arbiter import Correct
from domain.thrones.language.pieces import HouseId
from domain.thrones.language.state import State
from domain.thrones.tables.charter import Charter
from domain.thrones.tables.edition import Edition
from domain.thrones.tables.editions.composed import edition_of

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
    unlogged: tuple[r.Record, ...] = ()
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
    """A game as it was imported: its charter, the commands with the times of the log, and the report.

    ``is_cut``: a trial, which has ended where nothing explains an entry.
    """

    charter: Charter
    ruled: tuple[Ruled, ...]
    state: State
    report: Report
    is_cut: bool = False

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
    reading = _in_order(reading)
    unknown = _unknown(reading)
    trials: list[tuple[int, r.Reading, Imported]] = []
    for settings in tables_of(reading.log):
        told = replace(reading, log=replace(reading.log, settings=settings))
        for how in readings_of(told.log):
            trial = _import(told, how, (), guessed(told.log.entries)[0], is_trial=True)
            if not _wrong(trial.report) - unknown:
                return trial
            trials.append((min(_wrong(trial.report) - unknown), told, trial))
    # The way to play that explains the log furthest comes first, the others where they go further than it did.
    trials.sort(key=lambda one: -one[0])
    best: Imported | None = None
    played = reading
    for reach, told, trial in trials:
        if best is not None and (
            reach <= min(_wrong(best.report) - unknown, default=reach) or not _depends_on_reading(best.report, reading)
        ):
            continue
        found = _heard(told, trial.report.reading) if trial.is_cut else trial
        if best is None or _is_better(found.report, best.report):
            best, played = found, told
    assert best is not None, "there are readings"
    # Our source for the first edition's board may leave out a border that a march needs.
    lacks = best.report.reading == "site" and any(map(_lacks_border, best.report.notes))
    if lacks and _promises(played, "site", DOUBTFUL_BORDERS, best):
        found = _heard(played, "site", DOUBTFUL_BORDERS)
        best = found if _is_better(found.report, best.report) else best
    return best


def _lacks_border(note: str) -> bool:
    return "cannot-enter" in note and any(area in note for link in DOUBTFUL_BORDERS for area in link)


def _unknown(reading: r.Reading) -> set[int]:
    """Entries in words that are not known, which nothing explains."""
    return {entry.number for entry in reading.log.entries if isinstance(entry.record, r.Unknown)}


def _promises(reading: r.Reading, how: Reading, borders: Links, best: Imported, *, guesses: bool = True) -> bool:
    """Whether another way to play a table explains the first entry that the best one does not."""
    wrong = _wrong(best.report) - _unknown(reading)
    if not wrong:
        return False
    ends = next(entry.round for entry in reading.log.entries if entry.number in wrong)
    begun = tuple(entry for entry in reading.log.entries if entry.round <= ends + 1)
    told = replace(reading, log=replace(reading.log, entries=begun, ended=False))
    found = _import(told, how, borders, guessed(begun)[0] if guesses else begun, is_trial=True)
    return min(wrong) not in _wrong(found.report)


def _wrong(report: Report) -> set[int]:
    return {*report.open, *(one.entry for one in report.disagreements)}


def _depends_on_reading(report: Report, reading: r.Reading) -> bool:
    """Whether another reading of what the settings leave out could explain more: of ports, supply, and wildlings."""
    differs = [one.theirs for one in (*report.undecided, *report.disagreements)]
    about = (r.GameOfThronesPower, r.SupplyCounted, r.WildlingsWon, r.WildlingsBeaten, r.WildlingCardDrawn)
    known = report.entries - len(_unknown(reading))
    return any(isinstance(one, about) for one in differs) or report.explained < known * MOSTLY


def _in_order(reading: r.Reading) -> r.Reading:
    """Entries by their numbers, whatever the order of their lines."""
    entries = reading.log.entries
    ordered = tuple(sorted(entries, key=lambda entry: entry.number))
    if ordered == entries:
        return reading
    problem = r.Problem(
        0, "out-of-order", "entries do not stand in the order of their numbers", "taken by their numbers"
    )
    log = replace(reading.log, entries=ordered)
    return r.Reading(log, (*reading.problems, problem))


def _is_better(one: Report, other: Report) -> bool:
    return (one.explained, -one.corrections) > (other.explained, -other.corrections)


def _heard(reading: r.Reading, how: Reading, borders: Links = ()) -> Imported:
    """With guesses at entries in unknown words, and without them where that explains more."""
    entries, numbers = guessed(reading.log.entries)
    found = _import(reading, how, borders, entries)
    if numbers and _promises(reading, how, borders, found, guesses=False):
        other = _import(reading, how, borders, reading.log.entries)
        return other if _is_better(other.report, found.report) else found
    return found


def _import(
    reading: r.Reading, how: Reading, borders: Links, entries: tuple[r.Entry, ...], *, is_trial: bool = False
) -> Imported:
    """Follow ``entries``, those of the log as they are read or guessed, and compare with what the log has.

    A trial ends where the log cannot be followed by our rules.
    """
    log = replace(reading.log, entries=entries)
    charter, problems = charter_of(log, how, borders)
    edition = edition_of(charter)
    dealt = deal(log.entries, edition, tides=edition.readings.combat.tides)
    follower = Follower(log, charter, edition, dealt)
    found = follower.run(is_trial=is_trial)
    replay = Replay(edition, follower.pages)
    replay.run(script(found, edition))
    players = {house: seat for seat, house in charter.seats.items()}
    ours = to_log([Told(one.at, one.facts) for one in replay.ruled], edition, game="", name="", players=players)
    pairs, unlogged = pair(reading.log.entries, ours.entries)
    report = _report(reading, charter, edition, dealt, follower, found, replay, pairs)
    known = [one for one in reading.problems if not (one.code == "setting-unknown" and one.what.startswith(f"{OWN} "))]
    problems = [*known, *problems]
    explained = {one.entry.number for one in pairs if one.equal}
    misfits = [str(one) for one in follower.unexplained if one.entry not in explained]
    report = replace(
        report,
        problems=tuple(problems),
        unlogged=tuple(entry.record for entry in unlogged),
        reading=how,
        notes=(*dealt.problems, *misfits, *replay.problems),
    )
    return Imported(charter, tuple(replay.ruled), replay.state, report, follower.is_cut)


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
    taken = [entry for entry in follower.pages.entries if entry.number in _unknown(reading) & replay.used]
    words = (Assumption("unknown-words", one.round, one.number, write_record(one.record)[0]) for one in taken)
    assumed = (*listed(charter, edition, dealt, follower, found, replay.ruled), *words)
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
