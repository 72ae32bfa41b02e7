"""How much the large tests try: enough to find faults with ``make test``, much more with ``make test-all``."""

from __future__ import annotations

import os
from typing import TypeVar

T = TypeVar("T")

ALL = os.environ.get("ROOKERY_TESTS", "") == "all"
"""Whether this is ``make test-all``."""


def sized(usual: T, everything: T) -> T:
    """What a test tries: as usual, or all of it."""
    return everything if ALL else usual
