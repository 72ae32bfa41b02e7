"""Shared by all tests: the record of which rules they carry, and what is measured while they run."""

from __future__ import annotations

from collections.abc import Iterator

import hypothesis
import pytest
import structlog

from tests.measuring import Measuring
from tests.programs import pytest_terminal_summary
from tests.rules import recorder
from tests.rules.recorder import (
    pytest_addoption,
    pytest_runtest_protocol,
    pytest_sessionfinish,
    pytest_testnodedown,
)

__all__ = [
    "pytest_addoption",
    "pytest_runtest_protocol",
    "pytest_sessionfinish",
    "pytest_terminal_summary",
    "pytest_testnodedown",
]


hypothesis.settings.register_profile("usual", derandomize=True, database=None, deadline=None)
hypothesis.settings.register_profile("explore", database=None, deadline=None, max_examples=1000, print_blob=True)
# `make test` is the same every time. `make fuzz` explores: there --hypothesis-profile says so, and comes after this.
hypothesis.settings.load_profile("usual")


def pytest_configure(config: pytest.Config) -> None:
    recorder.pytest_configure(config)
    config.pluginmanager.register(Measuring())


@pytest.fixture(autouse=True)
def _fresh_logs() -> Iterator[None]:
    """Whatever a test has configured for its log lines ends with it: their stream is closed by then."""
    yield
    structlog.reset_defaults()
