"""A decision that no book has is declared in one folder, and passes through everything without another line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_new_decision_is_declared_in_one_place() -> None:
    """In a process of its own, since a kind has to be declared before the types of the record are made."""
    run = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-cov", "-p", "tests.weather.plugin")
    done = subprocess.run((*run, "tests/weather/checks.py"), cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_nothing_else_in_the_product_names_it() -> None:
    for package in ("domain", "events", "worker", "api"):
        for file in (ROOT / package).rglob("*.py"):
            assert "weather" not in file.read_text().casefold(), file
