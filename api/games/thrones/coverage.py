"""Which rules are implemented, which are tested, and which are definitions that need neither: the table of all rules.

A rule is implemented when a fact, a refusal or an open decision carries its identifier while the tests run; the
record of that, the list of exemptions and the mutants that tests killed are files beside the tests. Reading them is
the caller's work.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec


class Exemption(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why a rule is a pure definition, and a test that depends on it."""

    because: str
    test: str


class Row(msgspec.Struct, frozen=True):
    """One rule of the table. ``carried`` says by what: fact, refusal, decision; ``test`` in which test.

    That test need not fail without the rule. ``failed`` are tests that were seen to, with the rule switched off.
    """

    rule: str
    carried: tuple[str, ...]
    test: str
    failed: tuple[str, ...] = ()
    because: str = ""

    @property
    def killed(self) -> bool:
        """Whether some test was shown to notice when the rule is switched off."""
        return bool(self.failed)

    @property
    def is_implemented(self) -> bool:
        return bool(self.carried)

    @property
    def is_exempt(self) -> bool:
        return bool(self.because)


def coverage(
    rules: Iterable[str],
    carried: Mapping[str, Mapping[str, str]],
    exempt: Mapping[str, Exemption],
    killers: Mapping[str, Iterable[str]] | None = None,
) -> tuple[Row, ...]:
    """The table, in the order of the specification.

    ``carried`` has, for a rule, the first test by each way of carrying it; ``killers`` has, for a rule, tests
    that failed when it was switched off.
    """
    killers = killers or {}
    rows = []
    for rule in rules:
        ways = carried.get(rule, {})
        exemption = exempt.get(rule)
        failed = tuple(killers.get(rule, ()))
        if ways:
            rows.append(Row(rule, tuple(ways), min(ways.values()), failed))
        elif exemption is not None:
            rows.append(Row(rule, (), exemption.test, failed, exemption.because))
        else:
            rows.append(Row(rule, (), "", failed))
    return tuple(rows)


def missing(rows: Iterable[Row]) -> tuple[str, ...]:
    """Rules that are neither implemented nor exempt."""
    return tuple(row.rule for row in rows if not (row.is_implemented or row.is_exempt))
