"""What begins an answer and what reads the rest, from what every kind declares."""

from __future__ import annotations

from domain.thrones.language.kinds import ANSWERS, KINDS
from domain.thrones.spelling.names import compact
from domain.thrones.spelling.reader import Read

USAGE: dict[str, str] = {kind: answer.usage for kind, answer in zip(KINDS, ANSWERS, strict=True)}
"""How each kind is written, for people who wrote it otherwise."""

READERS: dict[str, Read] = {
    **{kind: answer.read for kind, answer in zip(KINDS, ANSWERS, strict=True)},
    **{head: read for answer in ANSWERS for head, read in answer.also.items()},
}
"""How the rest of an answer is read, by its kind, and by the other words that begin one."""

_BY_HEAD: dict[str, tuple[str, ...]] = {head: (head,) for head in READERS}
for _kind, _answer in zip(KINDS, ANSWERS, strict=True):
    for _head in _answer.heads:
        _BY_HEAD[_head] = (*_BY_HEAD.get(_head, ()), _kind)
HEADS = {compact(head): (head, kinds) for head, kinds in _BY_HEAD.items()}
"""How an answer may begin (without spaces and hyphens): its spelling, and the kinds it may be."""
