"""docs/settings.md has every setting that is read anywhere, as the code has it."""

from __future__ import annotations

import ast
import re

from tests.settings_page import PAGE, ROOT, known, page, quotas, read_anywhere
from worker.settings import SETTINGS


def test_the_page_is_as_the_code() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.settings_page writes it anew"


def test_every_variable_that_is_read_is_a_setting() -> None:
    unknown = {name: file for name, file in read_anywhere().items() if name not in known()}
    assert not unknown
    assert len(known()) > 25 and len(quotas()) > 8


def test_the_environment_is_read_by_these_names_only() -> None:
    """A name that is put together (f"ROOKERY_{field}") stands where the settings are made, and nowhere else."""
    places = []
    for package in ("api", "worker", "events", "domain"):
        for file in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.JoinedStr) and any(
                    isinstance(part, ast.Constant) and str(part.value).endswith("ROOKERY_") for part in node.values
                ):
                    places.append(str(file.relative_to(ROOT)))
    assert set(places) <= {"worker/settings.py", "api/serve.py", "events/limits.py"}


def test_other_pages_name_no_other_variables() -> None:
    tests_only = {
        "ROOKERY_TESTS",
        "ROOKERY_KILLS",
        "ROOKERY_KILLS_SEED",
        "ROOKERY_REFERENCE",
        "ROOKERY_SITE",
        "ROOKERY_UPSTREAM",
    }
    for file in (*(ROOT / "docs").glob("*.md"), ROOT / "README.md", *(ROOT / "deploy").rglob("*.*")):
        if file.is_file():
            named = set(re.findall(r"ROOKERY_[A-Z][A-Z_]*[A-Z]", file.read_text(encoding="utf-8")))
            assert named <= known() | tests_only, file


def test_every_setting_says_what_it_takes_and_does() -> None:
    assert all(one.possible and one.says and one.name == name for name, one in SETTINGS.items())
