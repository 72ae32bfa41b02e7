"""Puts the chapter of the weather into the product, and into the editions that are played in this process."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from domain.thrones import rules

rules.__path__.append(str(Path(__file__).parent / "chapter"))

from domain.thrones.rules import weather  # noqa: E402  # it is a part of the rules from here on
from domain.thrones.tables.edition import Edition  # noqa: E402
from domain.thrones.tables.editions import composed  # noqa: E402

_as_printed = composed._composed


def _with_weather(*agreed: Any) -> Edition:
    """The edition of a table, whose rounds have the weather before the planning phase."""
    edition = _as_printed(*agreed)
    phase = weather.steps.WeatherPhase
    first, *others = edition.chapters.phases
    chapters = dataclasses.replace(edition.chapters, phases=(first, phase, *others))
    return dataclasses.replace(edition, chapters=chapters, procedures={**edition.procedures, "WeatherPhase": phase})


composed._composed = _with_weather  # type: ignore[assignment]  # the same, without its cache
