"""The rules specification as data: every numbered rule with its text, its sources and its heading.

The specification is written for people, in Markdown. A rule begins with its identifier, in bold at the start
of a line, of a list item or in the first cell of a table row. The text of a paragraph runs to its ``*Source:*``,
tables included; that of a list item is its line, up to the sources in brackets at its end. Texts are kept as they
stand. Reading the file is the caller's work.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

_IDENTIFIER = re.compile(r"[0-9]E-[A-Z]+-[0-9]+")
_HEADING = re.compile(r"##+ (?P<title>.+)")
_PARAGRAPH = re.compile(rf"\*\*(?P<id>{_IDENTIFIER.pattern})\*\* — (?P<text>.+)")
_ITEM = re.compile(
    rf"- \*\*(?P<id>{_IDENTIFIER.pattern})\*\* (?P<text>.+?)(?: \[(?P<sources>[^\]]+)\]\.?)?$", re.MULTILINE
)
_ROW = re.compile(rf"\| (?:\*\*)?(?P<id>{_IDENTIFIER.pattern})(?:\*\*)? \| (?P<text>.+) \|")
_SOURCE = re.compile(r"\s*\*Source:\* (?P<sources>.+)")


class Rule(msgspec.Struct, frozen=True):
    """One rule. ``section`` is the heading it stands under, number included.

    The text of a rule that stands only in a table is the rest of its row. A rule without sources of its own
    rests on what the head of its section says.
    """

    id: str
    text: str
    sources: tuple[str, ...]
    section: str


def parse_rules(text: str) -> dict[str, Rule]:
    """Every rule of the specification by identifier, in the order in which they first appear.

    A table may list rules that are written out below it; what is written out counts.
    Raises ValueError when a rule is written out twice.
    """
    rules: dict[str, Rule] = {}
    written: set[str] = set()
    for section, block in _blocks(text):
        head = _PARAGRAPH.match(block) or _ITEM.match(block)
        if head:
            identifier = head["id"]
            if identifier in written:
                raise ValueError(f"{identifier} is written out twice")
            written.add(identifier)
            rules[identifier] = (
                _item(head, section) if head.re is _ITEM else _rule(identifier, block[head.start("text") :], section)
            )
        for row in _ROW.finditer(block):
            rules.setdefault(row["id"], Rule(row["id"], row["text"], (), section))
    return rules


def cited_in(text: str) -> tuple[str, ...]:
    """The identifiers that a text names, each once, in the order of their first appearance."""
    return tuple(dict.fromkeys(_IDENTIFIER.findall(text)))


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """The text in pieces that begin at a heading or a written-out rule, each with the heading above it."""
    section, lines = "", list[str]()
    for line in text.splitlines():
        heading = _HEADING.match(line)
        if heading or _PARAGRAPH.match(line) or _ITEM.match(line):
            yield section, "\n".join(lines)
            lines = []
        if heading:
            section = heading["title"]
        else:
            lines.append(line)
    yield section, "\n".join(lines)


def _rule(identifier: str, body: str, section: str) -> Rule:
    """A written-out rule. What follows its sources is explanation; without sources the rule is one paragraph."""
    source = _SOURCE.search(body)
    if source is None:
        return Rule(identifier, body.split("\n\n")[0].strip(), (), section)
    return Rule(identifier, body[: source.start()].strip(), _sources(source["sources"].rstrip(".")), section)


def _item(item: re.Match[str], section: str) -> Rule:
    """A rule that is one item of a list."""
    return Rule(item["id"], item["text"], _sources(item["sources"]) if item["sources"] else (), section)


def _sources(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(";"))
