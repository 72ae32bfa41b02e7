"""Pieces of other editions for the board of the first: read from their file, used by the charter's switches."""

from __future__ import annotations

from importlib.resources import files

import msgspec

from domain.thrones.tables.edition import Extras

EXTRAS = msgspec.json.decode(files(__package__).joinpath("extras.json").read_bytes(), type=Extras)
