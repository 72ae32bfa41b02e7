"""The report of an import in English."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from api.games.thrones.following.importer import Report
from api.games.thrones.following.judging import Disagreement
from api.games.thrones.logs.grammar import write_record

ASSUMED = {
    "bid": "bids that the log does not tell, taken as 0",
    "borders": "borders of the board that our source leaves out",
    "card": "House cards that the log does not tell",
    "choice-of-card": "choices of Westeros cards that the log does not tell",
    "deck-orders": "orders of decks, as far as no card was shown",
    "full-track-waits": "a full wildling track waits for a card",
    "losses": "units given up that the log does not tell",
    "muster-places": "musters whose places were inferred from later entries",
    "orders": "order tokens of which no entry tells",
    "ports-pay-with-dark-wings": "ports pay with Dark Wings, Dark Words",
    "power-token": "areas left with or without a Power token",
    "raid-from": "raids that could have come from several areas",
    "raid-unused": "Raid orders taken off although they had a target",
    "raven": "what the holder of the raven did, where the log does not tell",
    "raven-card": "what became of a wildling card that was looked at, where the log does not tell",
    "ships-captured": "Ships placed in captured ports",
    "starting-layout": "the starting layout of the charter",
    "starting-supply": "supply that begins with the barrels of the starting areas",
    "support": "support against neutral forces",
    "support-declined": "support that was not given",
    "support-given": "support given to another House",
    "tides-cards": "battles whose Tides of Battle cards the log does not tell, taken as cards without effect",
    "tie": "ties broken in a way that the log does not tell",
    "units-exchanged": "units exchanged in places that the log does not tell",
    "units-given-up": "units given up in places that the log does not tell",
    "unknown-words": "entries in words that are not known, taken by the names in them",
    "westeros-cards": "Westeros cards that no entry shows",
    "wildling-choice": "choices for wildling cards that the log does not tell",
}
"""What each kind of assumption is about."""


MOST_ALIKE = 20
"""Problems of one kind that are told one by one."""
LONGEST = 200
"""Letters of what is quoted from a log."""


def told(report: Report, *, every: bool = False) -> Iterator[str]:
    """The report, line by line; ``every`` lists each assumption."""
    yield f"{report.explained} of {report.entries} entries are explained by the rules."
    if report.assumptions:
        yield "Assumed, because the log does not tell:"
        for kind, count in report.assumptions.items():
            yield f"  {count:4d}  {ASSUMED.get(kind, kind.replace('-', ' '))}"
            for each in report.assumed if every else ():
                if each.kind == kind:
                    where = f"entry {each.entry}" if each.entry else f"round {each.round}" if each.round else "the game"
                    yield f"        {where}: {each.what}"
    if report.corrections:
        yield f"{report.corrections} outcomes of the log stand against our ruling, and what follows rests on them."
    for one in (*report.disagreements, *report.undecided):
        yield from _disagreement(one)
    if report.open:
        numbers = ", ".join(map(str, report.open[:40]))
        yield f"Neither adjudicated nor judged: entries {numbers}{' …' if len(report.open) > 40 else ''}."
    seen: Counter[str] = Counter()
    for problem in report.problems:
        seen[problem.code] += 1
        if seen[problem.code] <= MOST_ALIKE:
            where = f"line {problem.line}: " if problem.line else ""
            yield f"{where}{_shortened(problem.what)} ({problem.code}); {problem.done}."
    for code, count in seen.items():
        if count > MOST_ALIKE:
            yield f"{count - MOST_ALIKE} more of that kind ({code})."
    if report.bound_hit:
        yield "The search reached its bound before the end of the log."
    if report.winner:
        yield f"{report.winner.capitalize()} has won."
    elif not report.ended:
        yield "The game is open: it can go on from here."


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def _disagreement(one: Disagreement) -> Iterator[str]:
    right = {"rules": "the rules are right", "log": "the log is right", "open": "undecided"}[one.right]
    rules = f" ({', '.join(one.rules)})" if one.rules else ""
    yield f"Entry {one.entry}, {right}: {one.why}{rules}."
    yield f"  log: {' '.join(write_record(one.theirs))}"
    if one.ours is not None:
        yield f"  we:  {' '.join(write_record(one.ours))}"
