"""Programs of the system that some tests need besides Python.

Where one is missing, its tests are left out, and a closing line of the run says what to install. In continuous
integration (``CI`` is set) a missing one is a failure: `.ci/run` installs them all.
"""

from __future__ import annotations

import os
import shutil

import pytest

PACKAGES = {"promtool": "prometheus", "caddy": "caddy", "systemd-analyze": "systemd"}
"""Program to the package of Debian that has it."""


def program(name: str) -> str:
    """The path of a program, or the end of the test that asks for it."""
    found = shutil.which(name)
    if found is None:
        told = f"{name} is missing (Debian's package {PACKAGES[name]})"
        if os.environ.get("CI"):
            pytest.fail(told)
        pytest.skip(told)
    return found


def missing() -> list[str]:
    """Packages that are not here."""
    return sorted(package for name, package in PACKAGES.items() if shutil.which(name) is None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The closing line, where something was left out."""
    left_out = [one for one in terminalreporter.getreports("skipped") if "Debian's package" in str(one.longrepr)]
    if left_out:
        terminalreporter.write_line(
            f"{len(left_out)} tests of deploy/ were left out. To run them: apt-get install --no-install-recommends"
            f" {' '.join(missing())}",
            yellow=True,
        )
