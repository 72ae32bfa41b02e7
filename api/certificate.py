"""Ruling certificates: one ledger entry explained, so that nobody has to take anybody's word for it.

What was decided by whom, each rule with its text, the arithmetic as a table, the draws with their proof,
the facts in order, the board before and after. The same certificate is a resource for programs and one
self-contained text for people.
"""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from api.desk import Desk, LogEntry, NoSuchVersion, StruckOut
from api.games.thrones.refusals import explain
from api.games.thrones.rulebook import Rule, parse_rules
from api.games.thrones.sentences import Prose
from api.provenance import CardDrawn, cards_drawn, lines_of, occasion_of, seed_of
from api.tokens import Caller
from domain.kernel.chance import commitment
from domain.kernel.facts import Answered, AnswerSealed, Fact, SeedOpened
from domain.kernel.printing import counted, one_line, printable
from domain.thrones.language import facts as f
from domain.thrones.language.state import State
from domain.thrones.notation import format_answer
from domain.thrones.tables.charter import Charter
from domain.thrones.tables.charters import BOOKS, in_one_line
from events import codec
from events.envelope import Accepted, Refused, Stored

WIDTH = 78
RULES_FILES = tuple(Path(__file__).parents[1] / "docs" / "rules" / f"{preset.id}.md" for preset in BOOKS)


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
    """A shuffle. ``commitment`` = SHA-256(salt ‖ body) binds it from the moment of the ruling.

    Once the seed is open, ``salt`` and ``body`` are there, and ``proof`` tells how the order follows from the seed.
    """

    deck: str
    occasion: str
    commitment: str
    proof: str
    order: tuple[str, ...] = ()
    salt: str = ""
    body: str = ""


class Certificate(msgspec.Struct, frozen=True):
    """Everything about one entry that its reader may see."""

    game: str
    entry: int
    at: str
    by: str
    decided: tuple[str, ...]
    verdict: Accepted | Refused
    why: str
    rules: tuple[Cited, ...]
    sums: tuple[Sum, ...]
    draws: tuple[Draw, ...]
    happened: tuple[str, ...]
    before: str
    after: str
    prev: str
    digest: str
    struck: StruckOut | None = None
    cards: tuple[CardDrawn, ...] = ()
    played_by: str = ""
    """What the table plays otherwise than the second edition as printed."""


def certify(desk: Desk, game: str, caller: Caller, seq: int, at: int | None = None) -> Certificate:
    """The certificate of an entry for the eyes of a caller, as it was at version ``at``.

    Later rewinds and the opened seed are known later. Raises NoSuchVersion, GameUnknown.
    """
    now: State = desk.line(game, at).state
    version = desk.store.version(game) if at is None else at
    if not 0 < seq <= version:
        raise NoSuchVersion(seq, version)
    stored = next(iter(desk.store.entries(game, seq - 1, 1)))
    after: State = desk.line(game, seq).state
    charter = desk.agreed(game)
    prose = desk.prose(game)
    read = desk.readable(stored, desk.house_of(now, caller), prose)
    seeds = _seeds(desk, game) if now.is_disclosed else ()
    return certificate(
        game,
        desk.marked(game, read, desk.struck_out(game, at)),
        prev=codec.entry(stored).prev,
        prose=prose,
        rulebook=rulebook(),
        boards=(desk.board(game, caller, seq - 1)[1], desk.board(game, caller, seq)[1]),
        draws=tuple(_draws(desk, stored, after, seeds)),
        cards=cards_drawn(desk, game, seq, after.docket, read.facts, prose=prose, seeds=seeds, chance=charter.chance),
        state=after,
        charter=charter,
    )


@functools.cache
def rulebook() -> dict[str, Rule]:
    """Every rule of both books; none where the files were not installed."""
    found: dict[str, Rule] = {}
    for file in RULES_FILES:
        found |= parse_rules(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return found


def certificate(
    game: str,
    entry: LogEntry,
    *,
    prev: str,
    prose: Prose,
    rulebook: Mapping[str, Rule],
    boards: tuple[str, str],
    draws: tuple[Draw, ...],
    cards: tuple[CardDrawn, ...],
    state: State,
    charter: Charter,
) -> Certificate:
    """The certificate of an entry as it may be read."""
    facts = [fact for fact in entry.facts if isinstance(fact, Fact)]
    rules = dict.fromkeys(rule for fact in entry.facts for rule in _rules(fact))
    why = ""
    if isinstance(entry.verdict, Refused):
        rules = dict.fromkeys((*entry.verdict.rules, *rules))
        why = explain(entry.verdict.code, entry.verdict.params, prose)
    return Certificate(
        game=game,
        entry=entry.seq,
        at=entry.at,
        by=_by(entry, state, prose),
        decided=tuple(_decided(facts)),
        verdict=entry.verdict,
        why=why,
        rules=tuple(
            Cited(rule, rulebook[rule].section, rulebook[rule].text) for rule in sorted(rules) if rule in rulebook
        ),
        sums=tuple(_sums(facts, prose)),
        draws=draws,
        cards=cards,
        happened=entry.sentences,
        before=boards[0],
        after=boards[1],
        prev=prev,
        digest=entry.digest,
        struck=entry.struck,
        played_by=in_one_line(charter) if charter.edition else "",
    )


def _rules(fact: Any) -> Iterator[str]:
    yield from fact.rules
    for name in ("lines", "swords", "fortifications"):
        for line in getattr(fact, name, ()) if not isinstance(getattr(fact, name, ()), int) else ():
            yield from line.rules


def _by(entry: LogEntry, state: State, prose: Prose) -> str:
    house = state.charter.seats.get(entry.seat) if entry.seat else None
    if house:
        return prose.name(house)
    said = msgspec.json.decode(entry.command) if isinstance(entry.command, msgspec.Raw) else None
    name, plays = (said.get("by", ""), said.get("plays", "")) if isinstance(said, dict) else ("", "")
    if plays:
        name += f"{', who' if name else ''} plays {prose.name(plays)}"
    who = {"command": "a player", "deadline": "the organiser", "arbiter": "the arbiter", "system": "Rookery"}
    return who[entry.cause] + (f" ({name})" if name else "")


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
            rules = prose.edition.law.cite(("2E-CAS-4",))
            lines = (("swords of the winner", fact.swords, rules),)
            lines += (("fortifications of the loser", -fact.fortifications, rules),)
            yield Sum(f"{prose.name(fact.house)}, casualties (of {counted(fact.eligible, 'unit')})", lines, fact.number)


def _seeds(desk: Desk, game: str) -> tuple[str, ...]:
    """The seeds that have been opened to everybody."""
    found: list[str] = []
    for stored in desk.store.entries(game):
        if b'"fact":"SeedOpened"' in stored.public:
            found += [fact.seed for fact in desk.judge.codec.facts(stored) if isinstance(fact, SeedOpened)]
    return tuple(dict.fromkeys(found))


def _draws(desk: Desk, stored: Stored, after: State, seeds: tuple[str, ...]) -> Iterator[Draw]:
    """The shuffles of an entry. They are nobody's to read until the seed is open; then everybody may check them."""
    read = codec.entry(stored)
    for raw in map(bytes, read.facts):
        placeholder = codec.sealed_fact(raw)
        if placeholder is None or placeholder.fact not in ("DeckShuffled", "DeckRedrawn"):
            continue
        part = stored.sealed[placeholder.sealed]
        if not seeds:
            yield Draw("a deck", "sealed", part.commitment, "committed to; provable once the seed is open")
            continue
        fact = desk.judge.codec.fact(bytes(part.body), read.v)
        occasion = occasion_of(fact, read.seq, after.docket)
        told = "the seed that it was drawn from has not been opened"
        if after.charter.chance == "imposed":
            told = "stated from outside"
        seed = seed_of(occasion, fact.cards, seeds)
        if seed:
            told = f"follows from seed {seed}, which was committed to as {commitment(seed)}"
        yield Draw(fact.deck, occasion, part.commitment, told, fact.cards, part.salt, bytes(part.body).decode())


def as_text(found: Certificate) -> str:
    """One self-contained text that can be pasted into a forum."""
    refused = isinstance(found.verdict, Refused)
    head = f"RULING {found.entry} of game {found.game}\n{found.at}, on what {found.by} sent: "
    parts = [head + ("REFUSED" if refused else "carried out")]
    if found.played_by:
        parts.append(_wrapped(found.played_by))
    if found.struck is not None:
        parts.append(f"STRUCK OUT by entry {found.struck.by}: {one_line(found.struck.reason)}")
    if isinstance(found.verdict, Refused):
        rules = f" [{', '.join(found.verdict.rules)}]" if found.verdict.rules else ""
        parts.append(f"Why refused\n{_wrapped(found.why + rules)}")
    if found.decided:
        parts.append("Decided\n" + "\n".join(_wrapped(line) for line in found.decided))
    if found.happened:
        parts.append("What happened\n" + "\n".join(_wrapped(line) for line in found.happened))
    parts += [_table(one) for one in found.sums]
    if found.draws:
        parts.append("Draws\n" + "\n".join(map(_drawn, found.draws)))
    if found.cards:
        rows = [[_wrapped(told), *(f"    {line}" for line in fixed)] for told, fixed in lines_of(found.cards)]
        parts.append("Cards drawn\n" + "\n".join(line for row in rows for line in row))
    if found.rules:
        parts.append("Rules\n" + "\n".join(_wrapped(f"{rule.id}: {rule.text}") for rule in found.rules))
    parts.append(f"BOARD BEFORE\n{found.before}")
    parts.append(f"BOARD AFTER\n{found.after}")
    parts.append(f"Chain: entry {found.entry} is {found.digest}\n       after    {found.prev}")
    return printable("\n\n".join(parts) + "\n")


def _table(one: Sum) -> str:
    rows = [f"  {what:<46} {amount:>+4}  {', '.join(rules)}" for what, amount, rules in one.lines]
    return "\n".join([one.title, *rows, f"  {'total':<46} {one.total:>4}"])


def _drawn(one: Draw) -> str:
    lines = [_wrapped(f"{one.deck} ({one.occasion}): {one.proof}."), f"    commitment {one.commitment}"]
    if one.salt:
        lines += [f"    salt       {one.salt}", f"    body       {one.body}"]
    return "\n".join(lines)


def _wrapped(text: str) -> str:
    return textwrap.fill(
        " ".join(text.split()), WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
    )
