"""Shared by all tests: the record of which rules they carry."""

from __future__ import annotations

from tests.rules.recorder import (
    pytest_addoption,
    pytest_configure,
    pytest_runtest_protocol,
    pytest_sessionfinish,
    pytest_testnodedown,
)

__all__ = [
    "pytest_addoption",
    "pytest_configure",
    "pytest_runtest_protocol",
    "pytest_sessionfinish",
    "pytest_testnodedown",
]
