"""Other adjudicators as real processes: ours passes, and whatever a bad one does is one sentence about one case."""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path

import msgspec
import pytest

from api.adjudicators import Adjudicator, Limits, NoAdjudicator, score_cases
from api.games.thrones.cases.cases import Case
from api.games.thrones.cases.protocol import Score
from tests.api.test_cli import ROOT, Rookery, rookery
from tests.contents import suite

__all__ = ["rookery"]

CASES = suite()
PATIENT = Limits(seconds=600, start_seconds=600, grace_seconds=0.1)
"""No test waits for these, unless something hangs that must not."""

RUDE = """
import json, os, subprocess, sys, time

def say(**reply):
    print(json.dumps(reply), flush=True)

for line in sys.stdin:
    request = json.loads(line)
    number = request["id"]
    if request["type"] == "hello":
        editions = {"second-edition": {"tides-of-battle": ["on"]}}
        say(type="hello", id=0, protocol="cases/1", editions=editions, position=["units"])
    elif request["number"] == 1:
        MANNERS
    else:
        say(type="skip", id=number, reason="enough")
"""


def rude(tmp_path: Path, manners: str) -> list[str]:
    """An adjudicator that misbehaves at case 1 and skips all others."""
    script = tmp_path / "rude.py"
    script.write_text(RUDE.replace("MANNERS", manners))
    return [sys.executable, "-S", str(script)]


def scores(command: list[str], limits: Limits, cases: list[Case]) -> list[Score]:
    with Adjudicator(command, limits) as adjudicator:
        return list(score_cases(adjudicator, cases))


def test_our_own_engine_passes_every_case_over_pipes() -> None:
    found = scores([sys.executable, "-m", "api", "cases", "serve"], PATIENT, CASES)
    only_read = {case.id for case in CASES if not case.steps and case.begin.reads and not case.begin.legal}
    assert [one.reason for one in found if one.outcome != "passed" and one.id not in only_read] == []
    assert {one.outcome for one in found if one.id in only_read} == {"passed", "skipped"}
    assert [one.number for one in found] == [case.number for case in CASES]
    assert all(one.rules == one.cited for one in found)


@pytest.mark.parametrize(
    ("manners", "reason"),
    [
        ("os._exit(3)", "it ended, exit code 3"),
        ("sys.exit('no idea')", "it ended, exit code 1: no idea"),
        ("os.kill(os.getpid(), 9)", "it ended, killed by signal 9"),
        ("os.close(1); time.sleep(600)", "it has closed its output"),
        ("print('Loading ...', flush=True)", "no reply of the protocol (JSON is malformed"),
        ("os.write(1, bytes([255, 10]))", "no reply of the protocol ("),
        ("say(type='ruling', id=number)", "no reply of the protocol (Object missing required field `verdict`"),
        ("say(type='skip', id=77)", "it answers request 77 instead of 1"),
        ("say(type='view', id=number, position={})", "it gives no ruling"),
        ("say(type='ruling', id=number, verdict='accepted')", "what it accepts leads to no position"),
        ("say(type='error', id=number, reason='oops')", "it made a mistake: oops"),
        ("os.write(1, b'x' * 3_000_000); time.sleep(600)", "a line of more than 100000 bytes: xxx"),
    ],
)
def test_whatever_breaks_is_told_and_the_next_case_is_tried(tmp_path: Path, manners: str, reason: str) -> None:
    limits = Limits(seconds=600, start_seconds=600, grace_seconds=0.1, most_bytes=100_000)
    if "ended" in reason:
        limits = Limits(seconds=600, start_seconds=600, grace_seconds=600)
    first, second = scores(rude(tmp_path, manners), limits, CASES[:2])
    assert first.outcome == "broken"
    assert first.reason.startswith(reason), first.reason
    assert (second.outcome, second.reason) == ("skipped", "enough")


def test_more_lines_than_were_asked_for_break_the_next_case(tmp_path: Path) -> None:
    twice = "os.write(1, (json.dumps({'type': 'skip', 'id': number}) + '\\n').encode() * 2)"
    first, second = scores(rude(tmp_path, twice), PATIENT, CASES[:2])
    assert first.outcome == "skipped"
    assert second.outcome == "broken"
    assert second.reason.startswith("it says more than it was asked: {")


def test_a_hanging_one_is_left_after_its_time_and_given_up_in_the_end(tmp_path: Path) -> None:
    limits = Limits(seconds=0.2, start_seconds=600, give_up=1)
    found = scores(rude(tmp_path, "time.sleep(600)"), limits, CASES[:3])
    assert [one.outcome for one in found] == ["broken"] * 3
    assert [one.reason for one in found] == ["no answer within 0.2 seconds", *["not tried after 1 breakdowns"] * 2]


def test_one_that_does_not_read_is_left_after_its_time(tmp_path: Path) -> None:
    script = tmp_path / "deaf.py"
    hello = '{"type":"hello","id":0,"protocol":"cases/1","editions":{"second-edition":{}}}'
    script.write_text(f"import time\nprint({hello!r}, flush=True)\ntime.sleep(600)\n")
    more_than_a_pipe_holds = msgspec.structs.replace(CASES[0], title="x" * 2_000_000)
    limits = Limits(seconds=0.2, start_seconds=600)
    found = scores([sys.executable, "-S", str(script)], limits, [more_than_a_pipe_holds])
    assert found[0].reason == "it does not read within 0.2 seconds"


def test_what_it_started_ends_with_it(tmp_path: Path) -> None:
    mark = tmp_path / "child"
    child = f"open({str(mark)!r}, 'w').write(str(subprocess.Popen(['sleep', '600']).pid)); say(type='skip', id=number)"
    assert scores(rude(tmp_path, child), PATIENT, CASES[:1])[0].outcome == "skipped"
    left = int(mark.read_text())
    until = time.monotonic() + 300
    while is_alive(left) and time.monotonic() < until:
        time.sleep(0.01)
    assert not is_alive(left)


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (["/nowhere/to/be/found"], "cannot be started: No such file"),
        (["true"], "does not speak the protocol: it ended, exit code 0"),
        (["cat"], "does not speak the protocol: no reply"),
        (["echo", '{"type":"skip","id":0}'], "does not speak the protocol: it does not introduce itself"),
        (["echo", '{"type":"hello","id":0,"protocol":"x","editions":{}}'], "does not speak the protocol: it speaks x"),
    ],
)
def test_what_is_no_adjudicator_is_told_at_once(command: list[str], why: str) -> None:
    with pytest.raises(NoAdjudicator) as told:
        scores(command, Limits(seconds=600, start_seconds=600, grace_seconds=600), CASES[:1])
    assert str(told.value).startswith(why), told.value


WRONG = """
import sys
from api.games.thrones.cases.adjudicator import CaseAdjudicator
adjudicator = CaseAdjudicator()
for line in sys.stdin.buffer:
    reply = adjudicator.answer_line(line).replace(b'"winner":"baratheon"', b'"winner":"stark"')
    sys.stdout.buffer.write(reply + b"\\n")
    sys.stdout.buffer.flush()
"""


def test_the_command_scores_by_chapter(rookery: Rookery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    command = shlex.join([sys.executable, str(tmp_path / "wrong.py")])
    run = ("cases", "run", "--against", command, "--seconds", "600", "--start-seconds", "600")
    told = rookery.at_once(*run, "--chapter", "victory", "--chapter", "13.1", "--json", code=1).json
    assert told["adjudicator"]["name"] == "Rookery"
    assert {one["id"] for one in told["cases"] if one["outcome"] == "failed"} == {"C004", "C006"}
    chapters = [("17", "victory"), ("13.1", "raid"), ("25", "victory")]
    there = {place: sum((case.section, case.chapter) == place for case in CASES) for place in chapters}
    assert [(row["section"], row["chapter"], row["passed"], row["failed"]) for row in told["chapters"]] == [
        (*place, there[place] - failed, failed) for place, failed in zip(chapters, (0, 0, 2), strict=True)
    ]
    assert [row["edition"] for row in told["chapters"]] == ["first-edition", "second-edition", "second-edition"]
    assert (told["passed"], told["failed"], told["skipped"], told["broken"]) == (sum(there.values()) - 2, 2, 0, 0)


def test_the_table_tells_what_was_skipped(rookery: Rookery, tmp_path: Path) -> None:
    command = shlex.join(rude(tmp_path, "os._exit(3)"))
    place = ROOT / "tests" / "cases" / "power"
    told = rookery.at_once("cases", "run", place, "--against", command, "--verbose", code=1).out
    assert "1  C093a broken: it ended, exit code 3" in told
    assert "2  C093b skipped: enough (0 compared, 0 not to be seen)" in told
    assert "2 cases: 0 passed, 0 failed, 1 skipped, 1 broken." in told


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--against", "/nowhere"), "/nowhere cannot be started: No such file or directory."),
        (("--against", "'"), "The command cannot be read"),
        (("--against", " "), "The command is empty."),
        (("--against", "cat", "--chapter", "songs"), "There are no cases of songs there."),
        (("--chapter", "songs"), "There are no cases of songs there."),
        (("--against", "cat", "{bad}"), "is no case"),
    ],
)
def test_wrong_usage(rookery: Rookery, tmp_path: Path, arguments: tuple[str, ...], why: str) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("{nonsense")
    filled = [argument.format(bad=bad) if argument == "{bad}" else argument for argument in arguments]
    assert why in rookery.at_once("cases", "run", *filled, code=2).err


def test_serve_answers_line_by_line(rookery: Rookery) -> None:
    letter = '{"type":"hello","id":0,"protocol":"cases/1"}\nnonsense\n'
    first, second = rookery.at_once("cases", "serve", letter=letter).out.splitlines()
    assert json.loads(first)["editions"]["second-edition"]["tides-of-battle"] == ["off", "on"]
    assert json.loads(second)["type"] == "error"
