"""Files of worked examples: which format a file has, which edition it is about, and the run of each example."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from domain.thrones.cases import CaseError
from domain.thrones.interchange.examples import Example
from domain.thrones.interchange.first_examples import FirstExample
from domain.thrones.variations import PRESETS


class Format(NamedTuple):
    """How a file says what it is: ``key`` has ``value``. Its examples are played from ``preset``, unless it says."""

    key: str
    value: str
    preset: str
    example: type[Example]


FORMATS = (
    Format("format", "agot2e-cases-1", "second-edition", Example),
    Format("ruleset", "agot1e", "first-edition", FirstExample),
)


def format_of(document: Any) -> Format | None:
    """The format of a decoded file; None for what has no worked examples."""
    if not isinstance(document, dict):
        return None
    return next((one for one in FORMATS if document.get(one.key) == one.value), None)


def examples_in(document: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str, type[Example]]]:
    """The examples of a file, each with the preset that it is played from and its reader. Raises :class:`CaseError`."""
    found = format_of(document)
    if found is None:
        raise CaseError("it has no worked examples")
    examples, preset = document.get("cases"), document.get("edition", found.preset)
    if not isinstance(examples, list) or not all(isinstance(one, dict) for one in examples):
        raise CaseError(f'a file in the format {found.value} has a list of "cases"')
    if preset not in PRESETS:
        raise CaseError(f"unknown edition {preset}")
    for example in examples:
        yield example, preset, found.example
