"""What people wrote is printed so that it cannot act."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.games.thrones.refusals import explain
from api.games.thrones.sentences import Prose
from domain.kernel.docket import AppealFiled, Corrected, EngineAmended, Rewound
from domain.kernel.facts import Fact
from domain.kernel.printing import one_line, printable, printable_json
from domain.thrones.language.facts import PositionStated
from domain.thrones.language.state import State
from domain.thrones.tables.editions.second import SECOND_EDITION

PROSE = Prose(SECOND_EDITION)
BIDI = {"BN", "LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def is_harmless(text: str) -> bool:
    return not any(
        (unicodedata.category(one) in ("Cc", "Zl", "Zp", "Cs") and one not in "\t\n")
        or (unicodedata.category(one) == "Cf" and unicodedata.bidirectional(one) in BIDI - {"BN"})
        for one in text
    )


@given(st.text(st.characters(exclude_categories=())))
def test_no_control_is_left_and_nothing_else_is_changed(text: str) -> None:
    told = printable(text)
    assert is_harmless(told)
    kept = "".join(one for one in text if is_harmless(one) and one not in "\u061c\u200e\u200f")
    rest = iter(told)
    assert all(one in rest for one in kept), "what is harmless stays, in its order"
    assert "\n" not in one_line(text) and is_harmless(one_line(text))


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_a_json_document_says_the_same(text: str) -> None:
    told = printable_json(json.dumps(text, ensure_ascii=False))
    assert json.loads(told) == text and is_harmless(told)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("plain – “text”", "plain – “text”"),
        ("\x1b[2J\x07", r"\x1b[2J\x07"),
        ("a\u202eb\u2066", r"a\u202eb\u2066"),
        ("\x00\x9b1m\x7f", r"\x00\x9b1m\x7f"),
        ("two\nlines", "two\nlines"),
        ("carriage\rreturn", r"carriage\x0dreturn"),
    ],
)
def test_controls_are_shown(text: str, told: str) -> None:
    assert printable(text) == told


@pytest.mark.parametrize(
    ("fact", "sentence"),
    [
        (Corrected(reason="", count=1), "The arbiter states 1 fact."),
        (Corrected(reason="Agreed.", count=2), "The arbiter states 2 facts: Agreed."),
        (Corrected(reason="Let it be.", count=0), "The arbiter states no fact: Let it be."),
        (PositionStated(position=State(), reason="The handicap."), "The position is stated: The handicap."),
        (EngineAmended(engine="thrones/2", reason=" "), "From here on thrones/2 rules on the game."),
        (
            AppealFiled(number=1, against=2, player="stark", statement="no\x1b[1A\n7  forged"),
            r"Appeal 1: Stark appeals against entry 2: no\x1b[1A 7 forged.",
        ),
        (
            Rewound(to=1, first=2, last=2, reason="\u202eback."),
            r"The game stands again as after entry 1; entry 2 is struck out: \u202eback.",
        ),
    ],
)
def test_sentences_show_what_was_written(fact: Fact, sentence: str) -> None:
    assert PROSE.sentence(fact) == sentence


def test_refusals_show_what_was_written() -> None:
    told = explain("unknown-area", {"area": "\x1b]0;x\x07\nentry 9"}, PROSE)
    assert told == r"There is no area “\x1b]0;x\x07 entry 9”."
