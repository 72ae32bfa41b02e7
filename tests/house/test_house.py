"""The measures of ``make house`` count what they say they count, on files that are made up here."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from events.codec import entry
from events.envelope import Accepted
from events.ruling import Line
from tests.house import __main__ as house
from tests.house import finds, walks
from tests.house.lines import ROOT, Function, beside, read, source

MADE_UP = '''\
"""A file.

With a docstring of three lines.
"""

from here import there  # 1

LIMIT = 3  # 2
"""What the limit means: no code."""

TEXT = """  # 3 to 5, the empty line is a part of the value

ends here"""


class Thing:
    """A docstring."""  # nothing else stands on this line

    # A comment.
    def method(self) -> int:
        """Only a docstring above the code."""

        return there(  # one statement on three lines
            LIMIT,
        )


async def outer(
    name: str,
) -> None:
    def inner() -> None:
        pass
    inner(); inner()
'''


def test_a_line_counts_where_something_stands_that_is_neither_comment_nor_docstring() -> None:
    assert sorted(source("api/made_up.py", MADE_UP).code) == [
        6,
        8,
        11,
        12,
        13,
        16,
        20,
        23,
        24,
        25,
        28,
        29,
        30,
        31,
        32,
        33,
    ]
    assert source("api/a.py", "").code == source("api/a.py", "# nothing\n\n").code == frozenset()


def test_functions_are_as_long_as_their_code_and_what_is_defined_inside_counts_with_them() -> None:
    assert list(source("api/made_up.py", MADE_UP).functions()) == [Function("Thing.method", 4), Function("outer", 6)]


def test_data_and_templates_are_counted_apart(tmp_path: Path) -> None:
    for name, content in {"a.py": b"x = 1\n", "b.json": b"{}\n", "c.xz": b"\0\n", "d.html": b"<p>\n<p>\n"}.items():
        (tmp_path / "api").mkdir(exist_ok=True)
        (tmp_path / "api" / name).write_bytes(content)
    assert beside(tmp_path, "api") == {
        "data": {"files": 2, "bytes": 5, "lines": 1},
        "templates": {"files": 1, "bytes": 8, "lines": 2},
    }


def test_a_name_is_unused_when_nothing_says_it() -> None:
    one = source(
        "domain/x.py",
        "import lost\n"
        "KEPT = 1\n"
        "LOST = 2\n"
        "class Frame:\n"
        "    def step(self): return KEPT\n"
        "    def other(self): return 'step'\n"
        "    def __len__(self): return 0\n"
        "@routes.get('/')\n"
        "def route(): return Frame()\n"
        "def tried(): ...\n"
        "def near(): ...\n"
        "def far(): ...\n",
    )
    other = source("domain/y.py", "from domain.x import near\nnear()\nfar = near\nfar()\n")
    tests = source("tests/x.py", "from domain.x import tried\ntried()\n")
    assert [find.what for find in finds.unused([one, other], [tests])] == ["LOST", "other", "tried (tests)", "far"]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("if isinstance(x, A): f()\nelif isinstance(x, B): g()", 1),
        ("if isinstance(x, A): f()\nelif isinstance(x, B): g()\nelse: h()", 0),
        ("if isinstance(x, A): f()", 0),
        ("if isinstance(x, A): f()\nelif isinstance(y, B): g()", 0),
        ("if isinstance(x, A): return 1\nif isinstance(x, B): return 2\nreturn 3", 1),
        ("if isinstance(x, A): return 1\nif isinstance(x, B): return 2\nassert_never(x)", 0),
        ("if isinstance(x, A): return 1\nif isinstance(x, B): return 2\nraise TypeError", 0),
        ("if isinstance(x, A): return 1\nif isinstance(x, B): return 2\nif isinstance(x, C): return 3", 1),
        ("match x:\n case A(): f()\n case B(): g()", 1),
        ("match x:\n case A(): f()\n case _: g()", 0),
    ],
)
def test_a_ladder_is_found_where_nothing_is_said_of_the_rest(body: str, found: int) -> None:
    text = "def it(x, y):\n" + "".join(f"    {line}\n" for line in body.split("\n"))
    assert len(finds.ladders([source("api/x.py", text)])) == found


def test_imports_of_a_game_are_found_outside_the_domain_and_those_inside_functions_everywhere() -> None:
    chess = source("domain/chess/rules.py", "import domain.chess.board\ndef late():\n    import json\n")
    kernel = source("domain/kernel/facts.py", "")
    page = source("api/page.py", "from domain.chess import board\nfrom domain.kernel import facts\n")
    assert finds.imports_of_games([chess, kernel, page]) == {"api/page.py": ["domain.chess"]}
    assert list(map(str, finds.hidden_imports([chess, kernel, page]))) == ["domain/chess/rules.py:3  import json"]


def test_a_word_counts_where_rules_ask_for_it_and_not_where_editions_are_made() -> None:
    text = "a = game.variations.combat == 'first'\nb = words.raven != 'look'\nc = game.combat\nd = its.switches.other\n"
    found = finds.words_compared([source("domain/x/a.py", text), source("domain/x/editions/b.py", text)])
    assert list(map(str, found)) == ["domain/x/a.py:1  game.variations.combat", "domain/x/a.py:2  words.raven"]


def test_no_rule_asks_for_a_word_of_the_charter() -> None:
    asked = finds.words_compared(read(ROOT, "domain"))
    assert not asked, "give the edition a field that says what the word means (domain/thrones/tables/readings.py)"


def test_a_change_of_module_is_a_call_into_another_module_of_ours(tmp_path: Path) -> None:
    (tmp_path / "api").mkdir()
    space: dict[str, object] = {}
    for name, text in {
        "low.py": "def low(x): return same(x)\ndef same(x): return x",
        "high.py": "def high(): return low(1) + sum(map(low, [1, 2]))",
    }.items():
        exec(compile(text, str(tmp_path / "api" / name), "exec"), space)
    walk = walks.walk(space["high"], tmp_path)  # type: ignore[arg-type]
    pairs = {"api/high.py -> api/low.py": 3}
    assert walk == walks.Walk(("api/high.py", "api/low.py"), changes=3, calls=7, pairs=pairs)


def test_what_the_scenes_do_is_legal_and_passes_the_same_modules_every_time() -> None:
    for scene in walks.scenes().values():
        line = Line(walks.read_position(bytes(scene.position)), version=1)
        for raw in scene.commands:
            stored, line = walks.ruled(line, walks.stored_submission(bytes(raw), line.taken + 1))
            assert isinstance(entry(stored).verdict, Accepted)
    assert walks.scenes()["combat"].commands[1:]
    assert line.version == 1, "the last scene only looks"
    assert walks.walks() == walks.walks()


def test_the_record_before_the_redesign_has_the_figures_that_are_compared(tmp_path: Path) -> None:
    (tmp_path / "api").mkdir()
    (tmp_path / "api" / "made_up.py").write_text(MADE_UP, encoding="utf-8")
    before = msgspec.convert(json.loads(house.BEFORE.read_text(encoding="utf-8"))["figures"], type=dict[str, int])
    assert set(before) == set(house.figures(house.measure(tmp_path)))
