"""Coverage rests while slow tests run.

Measuring doubles the time of whole games played at random, and they reach nothing that shorter tests of the same
chapter do not.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from coverage import Coverage


class Measuring:
    """Stops the running measurement, if there is one, around every test that is marked as slow."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        measurement = Coverage.current() if item.get_closest_marker("slow") else None
        if measurement is None:
            return (yield)
        measurement.stop()
        try:
            return (yield)
        finally:
            measurement.start()
