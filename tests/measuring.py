"""Where coverage rests: while slow tests run, and those of the outside but one.

Measuring doubles the time of whole games played at random and of servers that are driven from outside, and they reach
nothing that shorter tests of the same chapter do not. Nor do the cases that are to fail: they go the same way as those
that pass. Of the outside, the tests of the HTTP routes are measured.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from coverage import Coverage

MEASURED_OUTSIDE = "test_http.py"


def is_measured(item: pytest.Item) -> bool:
    """Whether what a test reaches is counted."""
    if item.get_closest_marker("slow"):
        return False
    return item.path.parent.name != "api" or item.path.name == MEASURED_OUTSIDE


class Measuring:
    """Stops the running measurement, if there is one, around every test that is not measured."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        measurement = None if is_measured(item) else Coverage.current()
        if measurement is None:
            return (yield)
        measurement.stop()
        try:
            return (yield)
        finally:
            measurement.start()
