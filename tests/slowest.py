"""Processor seconds by file, those of processes that a test has started included: ``make slowest``.

A pytest plugin for one process. Wall time says little where other work runs beside the tests.
"""

from __future__ import annotations

import resource
import time
from collections import Counter
from collections.abc import Iterator

import pytest

SECONDS: Counter[str] = Counter()


def spent() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    before = spent()
    try:
        return (yield)
    finally:
        SECONDS[item.nodeid.partition("::")[0]] += spent() - before


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.section("processor seconds by file")
    for path, seconds in SECONDS.most_common(40):
        terminalreporter.write_line(f"{seconds:8.1f}  {path}")
    terminalreporter.write_line(f"{SECONDS.total():8.1f}  altogether")
