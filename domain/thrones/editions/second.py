"""The second edition."""

from __future__ import annotations

from domain.thrones.editions.composed import compose

SECOND_EDITION = compose()
