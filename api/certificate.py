"""Ruling certificates: one ledger entry explained, so that nobody has to take anybody's word for it.

What was decided by whom, each rule with its text, the arithmetic as a table, the draws with their proof,
the facts in order, the board before and after. The same certificate is a resource for programs and one
self-contained text for people.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from api.desk import LogEntry
from domain.kernel.chance import commitment, shuffled
from domain.kernel.facts import Answered, AnswerSealed, Fact
from domain.thrones import facts as f
from domain.thrones.notation import format_answer
from domain.thrones.prose import Prose
from domain.thrones.rulebook import Rule
from domain.thrones.state import State
from events.envelope import Refused

WIDTH = 78


class Cited(msgspec.Struct, frozen=True):
    """A rule that the ruling applied, with its text in our words."""

    id: str
    section: str
    text: str


class Sum(msgspec.Struct, frozen=True):
    """One sum of the ruling, line by line: what counted, how much, by which rules."""

    title: str
    lines: tuple[tuple[str, int, tuple[str, ...]], ...]
    total: int


class Draw(msgspec.Struct, frozen=True):
    """A shuffle. ``proof`` tells how it follows from the seed; before the seed is open it can only be committed to."""

    deck: str
    occasion: str
    proof: str
    order: tuple[str, ...] = ()


class Certificate(msgspec.Struct, frozen=True):
    """Everything about one entry that its reader may see."""

    game: str
    entry: int
    at: str
    by: str
    decided: tuple[str, ...]
    verdict: Any
    rules: tuple[Cited, ...]
    sums: tuple[Sum, ...]
    draws: tuple[Draw, ...]
    happened: tuple[str, ...]
    before: str
    after: str
    prev: str
    digest: str


def certificate(
    game: str,
    entry: LogEntry,
    *,
    prev: str,
    prose: Prose,
    rulebook: Mapping[str, Rule],
    boards: tuple[str, str],
    seed: str,
    state: State,
) -> Certificate:
    """The certificate of an entry as it may be read. ``seed`` is the game's once it is open, else empty."""
    facts = [fact for fact in entry.facts if isinstance(fact, Fact)]
    rules = dict.fromkeys(rule for fact in entry.facts for rule in _rules(fact))
    if isinstance(entry.verdict, Refused):
        rules = dict.fromkeys((*entry.verdict.rules, *rules))
    return Certificate(
        game=game,
        entry=entry.seq,
        at=entry.at,
        by=_by(entry, state, prose),
        decided=tuple(_decided(facts)),
        verdict=entry.verdict,
        rules=tuple(
            Cited(rule, rulebook[rule].section, rulebook[rule].text) for rule in sorted(rules) if rule in rulebook
        ),
        sums=tuple(_sums(facts, prose)),
        draws=tuple(_draws(entry, seed)),
        happened=entry.sentences,
        before=boards[0],
        after=boards[1],
        prev=prev,
        digest=entry.digest,
    )


def _rules(fact: Any) -> Iterator[str]:
    yield from fact.rules
    for name in ("lines", "swords", "fortifications"):
        for line in getattr(fact, name, ()) if not isinstance(getattr(fact, name, ()), int) else ():
            yield from line.rules


def _by(entry: LogEntry, state: State, prose: Prose) -> str:
    house = state.charter.seats.get(entry.seat) if entry.seat else None
    who = {"command": "a player", "deadline": "the clock", "arbiter": "the arbiter", "system": "Rookery"}
    return prose.name(house) if house else who.get(entry.cause, entry.cause)


def _decided(facts: list[Fact]) -> Iterator[str]:
    for fact in facts:
        if isinstance(fact, Answered):
            yield f"{format_answer(fact.answer, with_house=True)} ({fact.how})"
        elif isinstance(fact, AnswerSealed):
            yield format_answer(fact.answer, with_house=True)


def _named(line: f.Line, prose: Prose) -> str:
    count = f" ×{line.count}" if line.count > 1 else ""
    area = f" in {prose.name(line.area)}" if line.area else ""
    return prose.name(line.item) + count + area


def _sums(facts: list[Fact], prose: Prose) -> Iterator[Sum]:
    for fact in facts:
        if isinstance(fact, f.StrengthCounted):
            lines = tuple((_named(line, prose), line.amount, line.rules) for line in fact.lines)
            yield Sum(f"{prose.name(fact.house)}, {fact.stage} strength", lines, fact.total)
        elif isinstance(fact, f.IconsCounted):
            for name, icons in (("swords", fact.swords), ("fortifications", fact.fortifications)):
                if icons:
                    lines = tuple((prose.name(line.item), line.amount, line.rules) for line in icons)
                    yield Sum(f"{prose.name(fact.house)}, {name}", lines, sum(line.amount for line in icons))
        elif isinstance(fact, f.CasualtiesCounted):
            lines = (("swords of the winner", fact.swords, ("2E-CAS-4",)),)
            lines += (("fortifications of the loser", -fact.fortifications, ("2E-CAS-4",)),)
            yield Sum(f"{prose.name(fact.house)}, casualties (of {fact.eligible} units)", lines, fact.number)


def _draws(entry: LogEntry, seed: str) -> Iterator[Draw]:
    for fact in entry.facts:
        if isinstance(fact, f.DeckShuffled):
            again = seed and shuffled(seed, fact.occasion, tuple(sorted(fact.cards))) == fact.cards
            told = f"follows from the seed under commitment {commitment(seed)}" if again else "does not follow"
            yield Draw(fact.deck, fact.occasion, told if seed else "open to its reader", fact.cards)
        elif not isinstance(fact, Fact) and fact.fact == "DeckShuffled":
            yield Draw("a deck", "sealed", f"committed to as {fact.commitment}; provable once the seed is open")


def as_text(found: Certificate) -> str:
    """One self-contained text that can be pasted into a forum."""
    refused = isinstance(found.verdict, Refused)
    parts = [
        f"RULING {found.entry} of game {found.game}\n{found.at}, on what {found.by} sent: "
        + ("REFUSED" if refused else "carried out"),
    ]
    if refused:
        parts.append(f"Why: {found.verdict.code} [{', '.join(found.verdict.rules)}]")
    if found.decided:
        parts.append("Decided\n" + "\n".join(f"  {line}" for line in found.decided))
    for one in found.sums:
        rows = [f"  {what:<46} {amount:>+4}  {', '.join(rules)}" for what, amount, rules in one.lines]
        parts.append("\n".join([one.title, *rows, f"  {'total':<46} {one.total:>4}"]))
    if found.draws:
        parts.append("Draws\n" + "\n".join(f"  {one.deck} ({one.occasion}): {one.proof}" for one in found.draws))
    parts.append("What happened\n" + "\n".join(f"  {line}" for line in found.happened))
    parts.append("Rules\n" + "\n".join(_wrapped(f"{rule.id}: {rule.text}") for rule in found.rules))
    parts.append(f"Board before\n{found.before}")
    parts.append(f"Board after\n{found.after}")
    parts.append(f"Chain: entry {found.entry} is {found.digest}\n       after    {found.prev}")
    return "\n\n".join(parts) + "\n"


def _wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), WIDTH, initial_indent="  ", subsequent_indent="    ")
