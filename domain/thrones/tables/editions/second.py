"""The second edition."""

from __future__ import annotations

from domain.thrones.tables.editions.composed import compose

SECOND_EDITION = compose()
