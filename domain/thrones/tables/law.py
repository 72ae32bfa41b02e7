"""Which specification a ruling cites.

Rules are written once and cite the second edition's identifiers. Where a table plays a chapter by the first
edition's book, and both books say the same there, what is cited is that book's rule: a table of correspondences
says which. Code that follows the first edition alone cites its rules directly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar

import msgspec

from domain.kernel.decision import Decision
from domain.kernel.facts import Fact
from domain.kernel.refusal import Refusal
from domain.thrones.language import facts as f

Correspondence = tuple[str, ...] | Literal["shared", "second"]
"""Rules of the first edition that say the same; ``shared``: a convention of both; ``second``: that edition's alone."""

CITING = frozenset({"rules", "eligible", "barred", "far", "no_power", "origins"})
"""Fields of options that name rules: alone, by what they bar, or (``origins``) inside of parts with such fields."""

F = TypeVar("F", bound=Fact)
S = TypeVar("S", bound=msgspec.Struct)


class Law:
    """Cites for one table: chapters named in ``topics`` go by the first edition's book, the others by the second's.

    A topic is the middle part of an identifier of the second edition (``RAID`` in ``2E-RAID-1``). ``kept`` are rules
    that only that edition has and whose subject the table plays all the same, such as ports on the first one's board.
    """

    def __init__(
        self,
        correspondences: Mapping[str, Correspondence],
        topics: frozenset[str],
        kept: frozenset[str] = frozenset(),
    ) -> None:
        self._first = {
            rule: () if found == "second" else (rule,) if found == "shared" else found
            for rule, found in correspondences.items()
            if rule.split("-")[1] in topics and rule not in kept
        }

    def __bool__(self) -> bool:
        """Whether anything is cited otherwise than it is written."""
        return bool(self._first)

    def cite(self, rules: Iterable[str]) -> tuple[str, ...]:
        """The identifiers to cite, each once, in order; never nothing where something was cited."""
        written = tuple(rules)
        cited = tuple(dict.fromkeys(one for rule in written for one in self._first.get(rule, (rule,))))
        return cited or written

    def of_fact(self, fact: F) -> F:
        """The fact with everything that it cites cited by this law, line by line."""
        if isinstance(fact, f.StrengthCounted):
            fact = msgspec.structs.replace(fact, lines=self._lines(fact.lines))
        if isinstance(fact, f.IconsCounted):
            fact = msgspec.structs.replace(
                fact, swords=self._lines(fact.swords), fortifications=self._lines(fact.fortifications)
            )
        return msgspec.structs.replace(fact, rules=self.cite(fact.rules)) if fact.rules else fact

    def _lines(self, lines: tuple[f.Line, ...]) -> tuple[f.Line, ...]:
        return tuple(msgspec.structs.replace(line, rules=self.cite(line.rules)) for line in lines)

    def of_refusal(self, refusal: Refusal) -> Refusal:
        """The refusal, and the further problems that it names, with what they break."""
        refusal.rules = self.cite(refusal.rules)
        for also in refusal.params.get("also", ()):
            also["rules"] = list(self.cite(also["rules"]))
        return refusal

    def of_decision(self, decision: Decision[Any]) -> Decision[Any]:
        """A decision for people to read: its rules, and those that its options name."""
        options = self._options(decision.options)
        return msgspec.structs.replace(decision, rules=self.cite(decision.rules), options=options)

    def _options(self, options: S) -> S:
        """Options, or a part of them, with their citing fields cited by this law."""
        told = {name: self._told(getattr(options, name)) for name in options.__struct_fields__ if name in CITING}
        return msgspec.structs.replace(options, **told)

    def _told(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: self._told(one) for key, one in value.items()}
        return self._options(value) if isinstance(value, msgspec.Struct) else self.cite(value)


NO_CHANGE = Law({}, frozenset())
"""Everything is cited as it is written."""
