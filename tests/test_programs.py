"""What happens where a program of the system is missing, and that continuous integration installs each."""

from __future__ import annotations

import shutil

import pytest

from tests.programs import PACKAGES, missing, program
from tests.test_settings_page import ROOT


def test_a_missing_program_leaves_its_tests_out_and_fails_in_continuous_integration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="prometheus"):
        program("promtool")
    assert missing() == sorted(PACKAGES.values())
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="caddy"):
        program("caddy")


def test_continuous_integration_installs_every_program() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert 'export CI="${CI:-true}"' in script
    for name, package in PACKAGES.items():
        assert f"command -v {name} >/dev/null || missing+=({package})" in script
