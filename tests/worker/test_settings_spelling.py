"""A setting that is misspelt ends the start; otherwise what was meant would silently not be done."""

from __future__ import annotations

import pytest

from worker.settings import ELSEWHERE, SETTINGS, BadSetting, check


@pytest.mark.parametrize("name", SETTINGS)
def test_a_misspelt_setting_is_refused_with_the_one_that_was_meant(name: str) -> None:
    with pytest.raises(BadSetting, match=name):
        check({name[:-1] + "QX": "1"} if name == "ROOKERY_LOG" else {name + "X": "1"})


def test_what_others_read_is_let_be() -> None:
    check(dict.fromkeys(ELSEWHERE, "1"))
    with pytest.raises(BadSetting, match=r"docs/settings\.md"):
        check({"ROOKERY_XYZXYZXYZXYZXYZXYZ": "1"})
