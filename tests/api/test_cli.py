"""The command line: real processes on real stores, every command once, every kind of mistake."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import logging
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
import structlog

from api.cli import COMMANDS, run
from events import chain, codec
from events.embedded import Embedded, find
from events.envelope import GENESIS, Stored, encode
from events.export import EndLine, EntryLine, parse
from events.store import Store
from tests.api.serving import serving
from worker.settings import Settings

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.server
COMMAND_NAMES = [*COMMANDS]


LOG = """\
Events of Game 4711: "Winter evenings"
#\t Turn \t Game Phase \t Player \t Log Entry \t Date
1 \t1\tPLANNING\tanna\tStark set his orders.\t2021-Nov-25, 12:01
2 \t1\tPLANNING\tbo\tBaratheon set his orders.\t2021-Nov-25, 12:02
3 \t1\tPLANNING\tcy\tLannister set his orders.\t2021-Nov-25, 12:04
4 \t1\tRAID\tcy\tLannister did not use the messenger raven.\t2021-Nov-25, 12:23
5 \t1\tMARCH\tbo\tBaratheon marched out of Kingswood
- to Storms End with 1 Footman.\t2021-Nov-25, 12:23
"""


class Result:
    """What a command left behind."""

    def __init__(self, out: str, err: str) -> None:
        self.out = out
        self.err = err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Rookery:
    """The command line on one data directory."""

    def __init__(self, data: Path) -> None:
        self.data = data

    def environment(self) -> dict[str, str]:
        ours = {name: value for name, value in os.environ.items() if not name.startswith("ROOKERY_")}
        return {**ours, "ROOKERY_DATA": str(self.data), "PYTHONPATH": str(ROOT), "COLUMNS": "200"}

    def __call__(self, *arguments: str | Path, code: int = 0, letter: str = "") -> Result:
        """Run a command to its end."""
        command = [sys.executable, "-m", "api", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, env=self.environment(), input=letter)
        return self._checked(arguments, done.returncode, code, Result(done.stdout, done.stderr))

    def at_once(self, *arguments: str | Path, code: int = 0, letter: str = "") -> Result:
        """The same in this process, for the many small ones: a process takes a second to start."""
        ours = {name: value for name, value in os.environ.items() if name.startswith("ROOKERY_")}
        streams = [io.TextIOWrapper(io.BytesIO(letter.encode()), encoding="utf-8")]
        streams += [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
        before = sys.stdin, sys.stdout, sys.stderr, logging.getLogger().handlers, logging.getLogger().level
        for name in ours:
            del os.environ[name]
        os.environ["ROOKERY_DATA"] = str(self.data)
        sys.stdin, sys.stdout, sys.stderr = streams
        try:
            found = run([str(argument) for argument in arguments])
        finally:
            sys.stdin, sys.stdout, sys.stderr, logging.getLogger().handlers, level = before
            logging.getLogger().setLevel(level)
            structlog.reset_defaults()
            del os.environ["ROOKERY_DATA"]
            os.environ.update(ours)
        out, err = (stream.buffer.getvalue().decode() for stream in streams[1:])  # type: ignore[attr-defined]  # BytesIO
        return self._checked(arguments, found, code, Result(out, err))

    @staticmethod
    def _checked(arguments: tuple[str | Path, ...], found: int, code: int, result: Result) -> Result:
        """Whatever happens, there is no traceback; a mistake takes a sentence or two."""
        assert found == code, f"{arguments}: {found}\n{result.out}\n{result.err}"
        assert "Traceback" not in result.err
        if code:
            assert len(result.err.strip().splitlines()) <= 1, result.err
        return result

    def up(self, *arguments: str) -> Up:
        return Up(self, *arguments)


class Up:
    """``rookery up`` in the background."""

    def __init__(self, rookery: Rookery, *arguments: str) -> None:
        self.log = rookery.data.parent / f"up-{time.monotonic_ns()}.log"
        with self.log.open("wb") as sink:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "api", "up", *(arguments or ("--port", "0")), "--json"],
                env=rookery.environment(),
                stdout=subprocess.PIPE,
                stderr=sink,
                text=True,
            )
        assert self.process.stdout is not None
        first = self.process.stdout.readline()
        assert first, self.errors()
        self.said: dict[str, Any] = json.loads(first)

    def __enter__(self) -> Up:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.end()

    def end(self, number: int = signal.SIGINT) -> None:
        """Ctrl-C, or another signal, and wait."""
        self.process.send_signal(number)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        if number != signal.SIGKILL:
            assert self.process.returncode == 0, self.errors()

    def next_document(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def errors(self) -> str:
        return self.log.read_text()


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[-1].split()[0] != "Z"
    except OSError:
        return False


def until(holds: Any, what: str) -> None:
    """Wait, for a minute at most, until something comes about."""
    for _ in range(3000):
        if holds():
            return
        time.sleep(0.02)
    raise AssertionError(f"it never came about: {what}")


@pytest.fixture
def rookery(tmp_path: Path) -> Rookery:
    return Rookery(tmp_path / "data")


SEATS = ("--seat", "alice=stark", "--seat", "bob=lannister", "--seat", "carol=baratheon")
NEW = ("new", "--players", "3", "--game", "g", "--seed", "5", *SEATS)
ORDERS = "stark: orders winterfell march, white harbor march+1, shivering sea support\n"


# One game without a server


def test_a_game_by_letters(rookery: Rookery, tmp_path: Path) -> None:
    """Nobody runs a server: every command starts the stores for its own time and adjudicates."""
    made = rookery(*NEW, "--json").json
    assert made["seats"] == {"alice": "stark", "bob": "lannister", "carol": "baratheon"}
    assert set(made["tokens"]) == {"alice", "bob", "carol"} and made["organiser"]
    assert (rookery.data / "operator.token").stat().st_mode & 0o077 == 0

    letter = tmp_path / "orders.letter"
    letter.write_text("game: g\n\n" + ORDERS)
    sent = rookery("submit", letter)
    assert "Stark has answered in secret: assign-orders. [2E-DP-21" in sent.out
    assert "orders the-shivering-sea support, white-harbor march+1, winterfell march #0" in sent.out

    assert "your answer is in" in rookery.at_once("show", "g", "--seat", "stark").out
    public = rookery.at_once("show", "g").out
    assert "your answer is in" not in public and "an order face down" not in public.partition("Sea")[2]
    seen = rookery.at_once("show", "g", "--token", made["tokens"]["alice"], "--at", "1", "--json").json
    assert (seen["version"], seen["view"]["house"], seen["view"]["own"]) == (1, "stark", {})
    owed = rookery.at_once("show", "g", "--seat", "bob").out
    assert "Question 0, assign-orders, waits for your answer" in owed

    told = rookery("deadline", "g", "Lannister").out
    assert "deadline missed" in told and "2E-GEN-19" in told
    log = rookery.at_once("log", "g", "--after", "1", "--json").json
    assert [entry["cause"] for entry in log["entries"]] == ["command", "deadline"]
    assert "Stark has answered in secret" in rookery.at_once("log", "g").out

    replayed = rookery.at_once("replay", "g", "--to", "2", "--json").json
    assert replayed["version"] == 2 and replayed["facts"] > 20 and "facts_per_second" in replayed
    assert "Round 1, planning phase" in rookery.at_once("replay", "g").out
    assert rookery.at_once("verify", "g", "--json").json["entries"] == 3
    assert rookery.at_once("games", "--json").json["games"][0]["version"] == 3

    full, redacted = tmp_path / "g.jsonl", tmp_path / "public.jsonl"
    assert "with every secret" in rookery("export", "g", full, "--why", "backup").out
    assert full.stat().st_mode & 0o077 == 0
    assert "confirmed" in rookery.at_once("verify", full).out
    rookery.at_once("export", "g", redacted, "--public")
    assert "redacted" in rookery.at_once("verify", redacted).out
    own = rookery.at_once("export", "g", "--seat", "alice").out
    assert "march-plus-1" in own and "march-plus-1" not in redacted.read_text()
    assert "march-plus-1" not in rookery.at_once("export", "g", "--token", made["organiser"]).out

    back = rookery("import", full, "--as", "h", "--json").json
    assert (back["game"], back["imported"], back["unruled"]) == ("h", 4, 0)
    token = rookery.at_once("token", "h", "stark").out.strip()
    assert rookery.at_once("show", "h", "--token", token, "--json").json["view"]["house"] == "stark"
    assert find(rookery.data) is None, "nothing is left running"


def test_seats_may_be_dealt(rookery: Rookery) -> None:
    seats = ("--seat", "a", "--seat", "b", "--seat", "c", "--seat", "d")
    made = rookery.at_once(
        "new", "--players", "4", "--deal", *seats, "--seed", "7", "--switch", "tides-of-battle=on", "--json"
    )
    assert sorted(made.json["seats"]) == ["a", "b", "c", "d"]
    assert sorted(made.json["seats"].values()) == ["baratheon", "greyjoy", "lannister", "stark"]


def test_the_version_is_told(rookery: Rookery) -> None:
    assert re.fullmatch(r"rookery \d+\.\d+\.\d+, rules engine [0-9a-f]{16}\n", rookery.at_once("--version").out)


def test_an_export_overwrites_nothing_unless_told_to(table: tuple[Rookery, dict[str, str]], tmp_path: Path) -> None:
    rookery, _ = table
    file = tmp_path / "kept.jsonl"
    file.write_text("dear")
    assert "--force" in rookery.at_once("export", "g", file, code=2).err and file.read_text() == "dear"
    rookery.at_once("export", "g", file, "--force", "--why", "backup")
    assert file.read_text().startswith("{")
    rookery.at_once("new", "--players", "3", "--game", "short", *SEATS)
    assert "the ledger has 1 entry." in rookery.at_once("show", "short", "--at", "9", code=2).err


def test_two_commands_at_once_come_one_after_the_other(rookery: Rookery) -> None:
    rookery(*NEW)
    letters = [f"lannister: orders lannisport march{star}" for star in ("", "+1", "-1")]
    results: list[Result] = []

    def send(letter: str) -> None:
        results.append(rookery("submit", "-", "--game", "g", "--json", letter=letter, code=3))

    threads = [threading.Thread(target=send, args=(letter,)) for letter in letters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.json["sent"][0]["entry"]["seq"] for one in results) == [2, 3, 4]


# Bad input


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Rookery, dict[str, str]]]:
    """A server with a game in it, for many commands."""
    rookery = Rookery(tmp_path_factory.mktemp("table") / "data")
    with rookery.up():
        tokens: dict[str, str] = rookery(*NEW, "--json").json["tokens"]
        yield rookery, tokens


LETTERS = [
    ("lannister: orders wintrfell march", 2, 'Line 1, column 19: no area "wintrfell"; did you mean winterfell?'),
    ("game: g\n\nlanister: orders winterfell march", 2, "Line 3, column 1: .*did you mean lannister:"),
    ("lannister: card winterfell: the-hond", 2, "did you mean the-hound"),
    ("lannister: orders lannisport mrch", 2, 'no order "mrch"'),
    ("orders lannisport march", 2, "does not say whose answer"),
    ("lannister: {", 2, "Line 1"),
    ('{"kind": "raid", "house": "stark"', 2, "line 1 is not JSON"),
    ('{"kind": "raid", "house": "stark"}', 3, "The command cannot be read: .*missing required field `area`"),
    ('{"kind": "joust", "house": "stark"}', 3, "The command cannot be read: .*joust"),
    ('{"kind": "raid", "house": "targaryen", "area": "winterfell"}', 2, "There is no House “targaryen”"),
    ('{"kind": "raid", "house": "stark", "area": "atlantis"}', 3, "There is no area “atlantis”"),
    ("tyrell: orders highgarden march", 3, "Tyrell is not in this game"),
    ("lannister: orders winterfell march", 3, "Winterfell has no units of this House.*2E-PLN-2"),
    ("seat: alice\nlannister: orders lannisport march", 3, "Seat alice does not speak for Lannister"),
    ("seat: nobody\nlannister: orders lannisport march", 2, "no seat 'nobody'"),
    ("token: abc\nlannister: orders lannisport march", 3, "token is nobody's"),
    ("stark: raid winterfell -> nothing", 3, "Nobody is asked for “raid” now.*2E-DP-43"),
    ("stark: orders winterfell march #77", 3, "Question 77 is not open"),
    ("game: other\nstark: orders winterfell march", 2, "There is no game 'other'"),
    ("game: Ü\nstark: orders winterfell march", 2, "There is no game"),
    ("# nothing but a remark", 2, "holds no answer"),
]


@pytest.mark.parametrize(("letter", "code", "message"), LETTERS)
def test_bad_letters(table: tuple[Rookery, dict[str, str]], letter: str, code: int, message: str) -> None:
    rookery, _ = table
    result = rookery.at_once("submit", "-", "--game", "g", "--json", letter=letter, code=code)
    told = result.json
    found = told["message"] if "message" in told else told["sent"][0]["reason"] + str(told["sent"][0]["rules"])
    assert re.search(message, found), found


COMMANDS = [
    (("show", "nope"), 2, "There is no game 'nope'"),
    (("show", "g", "--at", "999"), 2, "There is no version 999"),
    (("show", "g", "--seat", "tyrell"), 2, r"no seat 'tyrell'.*alice \(stark\)"),
    (("show", "g", "--token", "x"), 3, "token is nobody's"),
    (("log", "g", "--after", "-1"), 2, "There is no version -1"),
    (("replay", "g", "--to", "999"), 2, "There is no version 999"),
    (("deadline", "g", "tyrell"), 3, "Tyrell is not asked now"),
    (("deadline", "g", "targaryen"), 2, 'no House "targaryen"'),
    (("token", "g", "nobody"), 2, "no seat 'nobody'"),
    (("new", "--game", "g", "--players", "3"), 3, "'g' already exists"),
    (("new", "--game", "-x y"), 2, "is not a game id"),
    (("new", "--players", "7"), 3, "not for 7 players"),
    (("new", "--players", "six"), 2, "--players"),
    (("new", "--switch", "tides=on"), 2, r"no switch “tides”\. Did you mean tides-of-battle\?"),
    (("new", "--switch", "tides-of-battle=maybe"), 2, "tides-of-battle cannot be “maybe”"),
    (("new", "--switch", "house-cards=first"), 3, "needs map = first"),
    (("new", "--edition", "first-edition", "--players", "6"), 3, "for 3, 4 or 5"),
    (("new", "--tables", "/nowhere"), 2, "/nowhere: No such file"),
    (("charter", "--edition", "third"), 2, "There is no edition “third”"),
    (("charter", "--switch", "raid-orders=first", "--switch", "raid_orders=second"), 2, "'raid_orders' is given twice"),
    (("charter", "nope"), 2, "There is no game 'nope'"),
    (("new", "--switch", "tides-of-battle"), 2, "NAME=VALUE"),
    (("new", "--seed", "xyz"), 2, "A seed is a number"),
    (("new", "--edition", "third"), 2, "There is no edition “third”"),
    (("new", "--players", "3", "--seat", "organiser=stark"), 3, "cannot be a seat"),
    (("new", "--players", "3", "--seat", "a=strak"), 2, r"did you mean stark\?$"),
    (("games", "--store", "http://x"), 2, "redis://, rediss://, unix:// or cluster://"),
    (("new", "--players", "3", "--seat", "a=stark"), 3, "Every House needs one seat"),
    (("new", "--players", "3", "--deal", "--seat", "a"), 2, "need 3 different seats"),
    (("new", "--deal", "--imposed"), 3, "Houses can be dealt only"),
    (("export", "nope", "x"), 2, "There is no game 'nope'"),
    (("export", "g", "x", "--seat", "x"), 2, "no seat 'x'"),
    (("export", "g"), 2, "With --json, name a file"),
    (("export", "g", "x"), 2, "say why with --why"),
    (("export", "g", "/nowhere/at/all", "--why", "x"), 2, "/nowhere/at"),
    (("import", "/nowhere"), 2, "/nowhere: No such file"),
    (("verify", "nope"), 2, "There is no game 'nope'"),
    (("verify", "nope.jsonl"), 2, "There is no file nope.jsonl"),
    (("submit", "/nowhere"), 2, "/nowhere: No such file"),
    (("frobnicate",), 2, "No such command 'frobnicate'"),
    (("sample", "--players", "2"), 3, "not for 2"),
    (("sample", "--temperament", "jolly"), 2, "no temperament 'jolly'"),
    (("trace", "/nowhere"), 2, "There is no file /nowhere"),
    (("cases", "run", "/nowhere"), 2, "There is no file or directory /nowhere"),
    (("rules", "9E"), 2, "There is no rule"),
]


@pytest.mark.parametrize(("arguments", "code", "message"), COMMANDS, ids=lambda value: str(value)[:40])
def test_bad_arguments(
    table: tuple[Rookery, dict[str, str]], arguments: tuple[str, ...], code: int, message: str
) -> None:
    rookery, _ = table
    told = rookery.at_once(*arguments, "--json", code=code)
    assert re.search(message, told.json["message"]), told.json["message"]
    assert told.json["message"].strip() == told.err.strip()


def test_a_token_speaks_for_its_seat_only(table: tuple[Rookery, dict[str, str]]) -> None:
    rookery, tokens = table
    letter = f"token: {tokens['bob']}\nstark: orders winterfell march"
    told = rookery.at_once("submit", "-", "--game", "g", "--json", letter=letter, code=3).json
    assert told["sent"][0]["reason"] == "Seat bob does not speak for Stark."
    assert told["sent"][0]["entry"]["verdict"]["code"] == "not-your-seat"
    told = rookery.at_once(
        "submit", "-", "--seat", "alice", "--game", "g", "--json", letter=f"seat: bob\n{ORDERS}", code=3
    ).json
    assert told["error"] == "not-your-seat"
    assert (
        rookery.at_once("deadline", "g", "stark", "--token", tokens["bob"], "--json", code=3).json["error"]
        == "not-allowed"
    )


def test_a_letter_stops_at_the_first_refusal_unless_told_otherwise(table: tuple[Rookery, dict[str, str]]) -> None:
    rookery, _ = table
    rookery.at_once("new", "--players", "3", "--game", "stops", *SEATS)
    letter = f"game: stops\n\nlannister: orders winterfell march\n{ORDERS}baratheon: orders none\n"
    told = rookery.at_once("submit", "-", letter=letter, code=3)
    assert (
        "Refused. Winterfell has no units of this House" in told.out
        and "Stopped there: 2 lines were not sent." in told.out
    )
    told = rookery.at_once("submit", "-", "--keep-going", "--json", letter=letter, code=3)
    assert [one["refused"] for one in told.json["sent"]] == [True, False, True]
    assert told.json["refused"] == 2

    halfway = f"game: stops\n\n{ORDERS}lannister: orders lannisprt march\n"
    told = rookery.at_once("submit", "-", "--json", letter=halfway, code=2)
    assert told.json["line"] == 4 and len(told.json["sent"]) == 1, "what was ruled on before is told"
    assert told.json["suggestions"][0] == "lannisport"
    assert (told.json["left"], [one["line"] for one in told.json["unread"]]) == (1, [4])


def test_a_letter_goes_on_behind_what_cannot_be_read_if_told_so(table: tuple[Rookery, dict[str, str]]) -> None:
    rookery, _ = table
    rookery.at_once("new", "--players", "3", "--game", "unread", *SEATS)
    letter = f"game: unread\n\nlannister: dance\n{{nonsense\n{ORDERS}"
    stopped = rookery.at_once("submit", "-", letter=letter, code=2)
    assert "Stopped there: 3 lines were not sent, counting the one with the mistake." in stopped.out
    told = rookery.at_once("submit", "-", "--keep-going", "--json", letter=letter, code=2).json
    assert ([one["line"] for one in told["unread"]], told["refused"], told["left"]) == ([3, 4], 0, 0)
    assert [(one["line"], one["refused"]) for one in told["sent"]] == [(5, False)]
    spoken = rookery.at_once("submit", "-", "--keep-going", letter=letter + "lannister: orders none\n", code=3)
    assert "line 3  Not sent." in spoken.out and "line 4  Not sent." in spoken.out


def test_the_same_letter_twice_counts_once(table: tuple[Rookery, dict[str, str]]) -> None:
    rookery, _ = table
    rookery.at_once("new", "--players", "3", "--game", "twice", *SEATS)
    first = rookery.at_once("submit", "-", "--game", "twice", "--key", "k", "--json", letter=ORDERS).json["sent"][0]
    again = rookery.at_once("submit", "-", "--game", "twice", "--key", "k", "--json", letter=ORDERS).json["sent"][0]
    assert (first["again"], again["again"]) == (False, True)
    assert first["entry"] == again["entry"]
    other = rookery.at_once("submit", "-", "--game", "twice", "--key", "k", letter=ORDERS.replace("+1", "-1"), code=3)
    assert "was used before, for another command" in other.err
    future = rookery.at_once("submit", "-", "--game", "twice", "--seen", "99", letter=ORDERS, code=2)
    assert "There is no version 99" in future.err


def test_an_answer_to_a_question_that_is_closed_is_refused(table: tuple[Rookery, dict[str, str]]) -> None:
    rookery, _ = table
    rookery.at_once("new", "--players", "3", "--game", "late", *SEATS)
    for house in ("stark", "lannister", "baratheon"):
        rookery.at_once("deadline", "late", house)
    late = rookery.at_once("submit", "-", "--game", "late", "--json", letter=ORDERS.strip() + " #0\n", code=3).json[
        "sent"
    ][0]
    assert late["entry"]["verdict"]["code"] == "question-closed"
    late = rookery.at_once("submit", "-", "--game", "late", "--json", letter=ORDERS, code=3).json["sent"][0]
    assert late["entry"]["verdict"]["code"] == "not-asked"


def test_files_that_are_not_what_they_should_be(table: tuple[Rookery, dict[str, str]], tmp_path: Path) -> None:
    rookery, _ = table
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00game")
    assert "not text" in rookery.at_once("submit", binary, code=2).err
    assert "cannot be read" in rookery.at_once("import", binary, code=1).err
    assert "cannot be read" in rookery.at_once("verify", binary, code=1).err
    redacted = tmp_path / "public.jsonl"
    rookery.at_once("export", "g", redacted, "--public")
    assert "only a full export can go on" in rookery.at_once("import", redacted, "--as", "r", code=1).err
    for name, content in (("a.json", b"{"), ("b.json", b'{"format": "other"}'), ("c.json.gz", b"no gzip")):
        (tmp_path / name).write_bytes(content)
        rookery.at_once("trace", tmp_path / name, code=2)
    (tmp_path / "d.json.gz").write_bytes(gzip.compress(b'{"format": "reference-trace-1"}'))
    assert "does not hold what a reference game holds" in rookery.at_once("trace", tmp_path / "d.json.gz", code=2).err
    assert "cannot be tried" in rookery.at_once("cases", "run", tmp_path / "a.json", code=1).out


def test_clients_may_go_away(table: tuple[Rookery, dict[str, str]]) -> None:
    rookery, _ = table
    command = f"{sys.executable} -m api log g | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=rookery.environment())
    assert done.stdout.startswith("1  ") and done.stderr == ""


# Forgery


def forged(lines: list[bytes], seq: int) -> list[bytes]:
    """An export in which one fact of one entry is another, and the whole chain and the end are made anew."""
    found: list[bytes] = []
    head = GENESIS
    for line in parse(lines):
        if isinstance(line, EntryLine):
            stored = line.stored()
            entry = msgspec.structs.replace(codec.entry(stored), prev=head)
            if entry.seq == seq:
                facts = tuple(msgspec.Raw(bytes(fact).replace(b'"by":1', b'"by":2')) for fact in entry.facts)
                assert facts != entry.facts
                entry = msgspec.structs.replace(entry, facts=facts)
            public = encode(entry)
            head = chain.digest(head, public, stored.sealed)
            made = Stored(public, stored.sealed, head)
            line = EntryLine(msgspec.Raw(made.public), made.sealed, made.digest)
        elif isinstance(line, EndLine):
            covered = hashlib.sha256(b"".join(found)).hexdigest()
            line = EndLine(line.entries, line.submissions, head, covered)
        found.append(encode(line) + b"\n")
    return found


def test_a_forged_fact_is_named_though_the_whole_chain_was_made_anew(rookery: Rookery, tmp_path: Path) -> None:
    rookery.at_once("sample", "--players", "3", "--seed", "2", "--data", rookery.data, "--game", "s")
    honest = tmp_path / "s.jsonl"
    rookery.at_once("export", "s", honest)
    lines = honest.read_bytes().splitlines(keepends=True)
    entries = [line.stored() for line in parse(lines) if isinstance(line, EntryLine)]
    seq = next(
        number
        for number, stored in enumerate(entries, start=1)
        if any(b'"by":1' in bytes(fact) for fact in codec.entry(stored).facts) and number > 20
    )
    false = tmp_path / "false.jsonl"
    false.write_bytes(b"".join(forged(lines, seq)))
    told = rookery.at_once("verify", false, "--json", code=1)
    assert told.json["disagreement"]["seq"] == seq
    assert f"Entry {seq} disagrees (fact " in told.err
    rookery.at_once("import", false, "--as", "false")
    assert rookery.at_once("verify", "false", "--json", code=1).json["disagreement"]["seq"] == seq
    assert rookery.at_once("verify", "s", "--json").json["confirmed"] is True

    damaged = tmp_path / "damaged.jsonl"
    damaged.write_bytes(honest.read_bytes().replace(b'"verdict":"accepted"', b'"verdict":"ACCEPTED"', 1))
    assert "Entry 1" in rookery.at_once("verify", damaged, code=1).err


# Without a store


def test_sample(rookery: Rookery) -> None:
    game = ("sample", "--players", "3", "--seed", "4", "--switch", "tides-of-battle=on")
    told = rookery(*game, "--json").json
    again = rookery.at_once(*game, "--json").json
    assert told["ranking"] == again["ranking"] and told["winner"] == told["ranking"][0]["house"]
    through = rookery.at_once(
        "sample", "--players", "3", "--seed", "4", "--switch", "tides-of-battle=on", "--data", rookery.data
    )
    assert f"{told['winner'].title()} wins in round {told['round']}, after {told['entries']} entries." in through.out
    assert "sample-3-4: confirmed" in rookery.at_once("verify", "sample-3-4").out


def test_a_first_edition_game_is_like_any_other(rookery: Rookery, tmp_path: Path) -> None:
    """Played by bots through the store, then read, verified, explained, bundled and imported elsewhere."""
    own = tmp_path / "own.json"
    own.write_text(json.dumps({"/links/-": ["crackclaw-point", "the-narrow-sea"]}))
    charter = ("--edition", "first-edition", "--players", "3", "--switch", "card-return=all", "--tables", own)
    told = rookery.at_once("sample", *charter, "--seed", "5", "--data", rookery.data, "--game", "first", "--json").json
    in_process = rookery.at_once("sample", *charter, "--seed", "5", "--json").json
    assert [told[one] for one in ("winner", "ranking", "entries")] == [
        in_process[one] for one in ("winner", "ranking", "entries")
    ]
    assert "first: confirmed" in rookery.at_once("verify", "first").out
    explained = rookery.at_once("charter", "first", "--json").json
    assert (explained["preset"], explained["departures"]) == ("first-edition", ["card-return"])
    assert explained["own_tables"] == {"/links/-": ["crackclaw-point", "the-narrow-sea"]}
    assert "Vargo Hoat" in rookery.at_once("show", "first").out
    log = rookery.at_once("log", "first").out
    assert "Assumed: " in log
    assert "1E-WIN" in log
    why = rookery.at_once("why", "first", "2").out
    assert "card-return = all" in " ".join(why.split())
    assert re.search("^  1E-[A-Z]+-[0-9]+: ", why, re.MULTILINE)
    bundle = tmp_path / "first.zip"
    rookery.at_once("export", "first", bundle, "--bundle")
    assert "confirmed" in rookery.at_once("verify", bundle).out
    other = Rookery(tmp_path / "other")
    other.at_once("import", bundle)
    assert "first: confirmed" in other.at_once("verify", "first").out
    assert other.at_once("charter", "first", "--json").json == explained


def test_a_play_by_mail_log_becomes_a_game(rookery: Rookery, tmp_path: Path) -> None:
    """Exported, cut off, imported: a game like any other that can go on."""
    rookery.at_once("new", "--game", "told", "--players", "3", "--seed", "7" * 64, "--json")
    path = tmp_path / "told.log"
    rookery.at_once("export", "told", path, "--format", "log")
    assert rookery.at_once("import", path, "--format", "log", code=1).err  # nothing has happened yet
    path.write_text(LOG)
    found = rookery.at_once("import", path, "--format", "log", "--as", "again", "--json").json
    assert found["figures"] == {
        "entries": 5, "explained": 5, "assumptions": found["figures"]["assumptions"],
        "corrections": 0, "disagreements": 0, "open": 0,
    }  # fmt: skip
    assert found["game"] == "again"
    assert not found["ended"]
    assert rookery.at_once("verify", "again", "--json").json["confirmed"]
    assert "2021-11-25T12:23" in rookery.at_once("export", "again", "-", "--why", "to look at").out
    assert rookery.at_once("export", "again", "-", "--format", "letter", code=2).err
    path.write_text(LOG.replace("1 Footman", "7 Footmen"))
    worse = rookery.at_once("import", path, "--format", "log", "--as", "worse", "--json", code=1)
    assert "neither adjudicated" in worse.err


def test_sample_starts_nothing(rookery: Rookery) -> None:
    assert "wins in round" in rookery.at_once("sample", "--players", "3", "--seed", "4", "--temperament", "warlike").out
    assert not rookery.data.exists()


def test_cases(rookery: Rookery, tmp_path: Path) -> None:
    some = sorted((ROOT / "tests" / "cases").glob("*/*.json"))
    some = [path for path in some if path.parent.name != "sources"]
    told = rookery("cases", "run", *some[:3], "--json").json
    assert (told["passed"], told["failed"]) == (3, 0)
    wrong = json.loads(some[0].read_text())
    wrong["rules"] = [*wrong["rules"], "2E-XXX-1"]
    (tmp_path / "wrong.json").write_text(json.dumps(wrong))
    assert "FAILED" in rookery.at_once("cases", "run", tmp_path, code=1).out
    (tmp_path / "bad.json").write_text("{nonsense")
    (tmp_path / "good.json").write_bytes(some[1].read_bytes())
    (tmp_path / "odd.json").write_text('{"format": "agot2e-cases-1", "cases": 3}')
    (tmp_path / "gone.json").symlink_to(tmp_path / "nowhere")
    told = rookery.at_once("cases", "run", tmp_path, "--json", code=1).json
    assert {one["id"]: one["passed"] for one in told["cases"]} == {
        "bad": False,
        "gone": False,
        some[1].stem: True,
        "odd": False,
        some[0].stem: False,
    }
    assert "cannot be tried" in rookery.at_once("cases", "run", tmp_path, code=1).out
    told_of = rookery.at_once("cases", "run", tmp_path / "odd.json", code=1).out
    assert "worked examples are read as cases only" in " ".join(told_of.split())


TRACES = sorted(Path(os.environ.get("ROOKERY_REFERENCE", ROOT.parent / "shared" / "traces")).glob("3p-*.json.gz"))

if TRACES:

    def test_trace(rookery: Rookery, tmp_path: Path) -> None:
        told = rookery("trace", TRACES[0], "--json").json
        assert told["disagree"] == [] and told["totals"]["checkpoints"] > 100
        changed = json.loads(gzip.decompress(TRACES[0].read_bytes()))
        changed["checkpoints"][5]["position"]["wildling_threat"] = 11
        (tmp_path / "changed.json").write_text(json.dumps(changed))
        told_of = rookery.at_once("trace", tmp_path / "changed.json", code=1)
        assert "unexplained, behind step" in told_of.out and "theirs: 11" in told_of.out


def test_rules(rookery: Rookery) -> None:
    told = rookery("rules", "--json").json
    assert len(told["rules"]) == 478 and told["missing"] == []
    assert told["implemented"] + told["exempt"] == 478
    shown = [one for one in told["rules"] if one["failed"]]
    assert 0 < told["shown_by_mutation"] == len(shown) and "::" in shown[0]["failed"][0]
    assert "2E-RAID-8" in rookery.at_once("rules", "2E-RAID", "--text").out
    one = rookery.at_once("rules", "2E-CTL-7").out
    assert "Carried in" in one and "fails:" in one
    assert "1 rule: 1 implemented, 1 shown to be tested by mutation, 0 exempt, 0 missing." in one


def test_rules_of_the_first_edition(rookery: Rookery) -> None:
    told = rookery("rules", "--edition", "first-edition", "--json").json
    assert len(told["rules"]) == 204 and told["missing"] == []
    assert told["implemented"] + told["exempt"] == 204
    assert {one["rule"][:3] for one in told["rules"]} == {"1E-"}
    assert "1E-RAID-5" in rookery.at_once("rules", "1E-RAID", "--text").out


def test_help_names_the_exit_codes(rookery: Rookery) -> None:
    assert "Exit codes" in rookery.at_once("--help").out


def run_page(rookery: Rookery, page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Run the examples of a page in its order; the commands that it shows."""
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    monkeypatch.chdir(tmp_path)
    done = set()
    fingerprint = ""
    for language, body in re.findall(r"^```(.+)\n([\s\S]*?)^```$", page, re.MULTILINE):
        kind, _, file = language.partition(" ")
        if kind in ("letter", "json") and file:
            Path(file).write_text(body)
            continue
        for line in body.splitlines():
            words = shlex.split(line.removeprefix("$ rookery "))
            if "--signed-by" in words:
                words[words.index("--signed-by") + 1] = fingerprint
            told = rookery.at_once(*words).out
            if words[0] == "backup":
                [fingerprint] = re.findall(r"Signed by rookery, key (\S+)\. ", told)
            done.add(words[0])
    return done


def test_the_examples_of_the_page_on_charters(
    rookery: Rookery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs/charters.md").read_text(encoding="utf-8")
    assert run_page(rookery, page, tmp_path, monkeypatch) == {"new", "charter"}


def test_the_examples_of_the_readme(rookery: Rookery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    done = run_page(rookery, page, tmp_path, monkeypatch)
    assert {"new", "submit", "show", "log", "verify", "deadline"} <= done


def test_the_page_on_the_command_line(rookery: Rookery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command of docs/cli.md that can be run to its end is, in the order of the page."""
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    done = run_page(rookery, page, tmp_path, monkeypatch)
    assert done | {"up", "worker", "trace", "diff", "accept-loss"} == set(COMMAND_NAMES)
    assert all(f"`{name}" in page or f"rookery {name}" in page for name in COMMAND_NAMES)


# up


def test_up_says_where_it_is_and_leaves_nothing_behind(rookery: Rookery) -> None:
    with rookery.up() as server:
        assert server.said["url"].startswith("http://127.0.0.1:")
        assert Path(server.said["operator_token_file"]).stat().st_mode & 0o077 == 0
        pids = server.said["pids"]
        assert all(map(is_alive, pids.values())) and set(pids) == {"store", "queue", "worker-0"}
        rookery.at_once(*NEW)
        assert rookery.at_once("verify", "g", "--json").json["entries"] == 1
        server.end()
        assert server.errors() == ""
        assert not any(map(is_alive, pids.values()))
        assert not (rookery.data / "server.json").exists()
    assert rookery.at_once("games", "--json").json["games"][0]["game"] == "g"


def test_a_second_server_is_told_who_is_there(rookery: Rookery) -> None:
    with rookery.up() as server:
        told = rookery("up", "--port", "0", code=4)
        assert f"in use by another Rookery (process {server.process.pid})" in told.err
        port = server.said["url"].rpartition(":")[2]
        other = Rookery(rookery.data.parent / "other")
        taken = other("up", "--port", port, code=2).err
        assert f"Port {port} of 127.0.0.1 is taken" in taken
        assert "make run PORT=" in taken and "rookery up --port" in taken
        made = subprocess.run(["make", "-n", "run", "PORT=8701"], cwd=ROOT, capture_output=True, text=True, check=True)
        assert "rookery up --example --port 8701" in made.stdout
        assert find(other.data) is None, "the stores of the one that failed are gone"
    assert "cannot be listened at" in rookery("up", "--host", "203.0.113.7", "--port", "0", code=2).err


@pytest.mark.parametrize("place", ["file/data", "/proc/rookery"])
def test_a_directory_that_cannot_be_written(rookery: Rookery, tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    for command in (("up",), ("new",)):
        assert "cannot be written to" in rookery.at_once(*command, "--data", tmp_path / place, code=4).err


def test_no_data_is_told_apart_from_no_game(rookery: Rookery) -> None:
    assert "There is no data of Rookery in" in rookery.at_once("show", "g", code=2).err
    assert not rookery.data.exists()


def test_a_worker_that_is_killed_is_started_again(rookery: Rookery) -> None:
    with rookery.up() as server:
        rookery.at_once(*NEW)
        os.kill(server.said["pids"]["worker-0"], signal.SIGKILL)
        assert rookery.at_once("submit", "-", "--game", "g", "--json", letter=ORDERS).json["refused"] == 0
        until(lambda: "worker-died" in server.errors(), "the worker's death is told")
        assert json.loads(server.errors().splitlines()[0])["code"] == -signal.SIGKILL


def test_a_store_that_is_killed_is_started_again(rookery: Rookery) -> None:
    with rookery.up() as server:
        rookery.at_once(*NEW)
        os.kill(server.said["pids"]["store"], signal.SIGKILL)
        until(lambda: "store-started" in server.errors(), "the store is there again")
        assert rookery.at_once("games", "--json").json["games"][0]["game"] == "g"


def test_a_server_that_is_killed_is_taken_over_by_the_next(rookery: Rookery) -> None:
    with rookery.up() as first:
        rookery.at_once(*NEW)
        first.end(signal.SIGKILL)
        pids = first.said["pids"]
        until(lambda: not is_alive(pids["worker-0"]), "the worker ends with its parent")
        assert is_alive(pids["store"])
    with rookery.up() as second:
        assert second.said["adopted"] == ["store", "queue"]
        assert second.said["pids"]["store"] == pids["store"]
        assert rookery.at_once("submit", "-", "--game", "g", "--json", letter=ORDERS).json["refused"] == 0
        second.end()
        assert not is_alive(pids["store"])


@pytest.mark.slow
def test_the_example_is_broken_off_and_goes_on(rookery: Rookery) -> None:
    """Ctrl-C in mid-game, kill -9 in mid-game, the end; every answer counts once."""
    example = ("--port", "0", "--example")

    def entries() -> int:
        urls = find(rookery.data)
        if urls is None:
            return 0
        store = Store.connect(urls[0])
        version = store.version("six-players")
        store.client.close()
        return version

    with rookery.up(*example) as server:
        until(lambda: entries() > 30, "the game is under way")
        server.end()
    halfway = rookery.at_once("verify", "six-players", "--json").json["entries"]
    assert 30 < halfway < 500
    with rookery.up(*example) as server:
        until(lambda: entries() > halfway + 30, "the game goes on")
        server.end(signal.SIGKILL)
    with rookery.up(*example) as server:
        done = server.next_document()
        assert done["winner"] == "tyrell" and done["ranking"][0]["house"] == "tyrell"
        with socket.create_connection(("127.0.0.1", int(server.said["url"].rpartition(":")[2]))):
            pass  # it goes on listening
    log = rookery.at_once("log", "six-players", "--json").json["entries"]
    assert all(entry["verdict"]["verdict"] == "accepted" for entry in log)
    assert len({entry["inbox"] for entry in log}) == len(log) == done["version"]
    with rookery.up(*example) as server:
        assert server.next_document()["version"] == done["version"], "it is shown, not played again"


# Stores by URL


def test_a_store_by_url(rookery: Rookery, tmp_path: Path) -> None:
    with Embedded(tmp_path / "elsewhere") as servers:
        urls = ("--store", servers.store_url, "--queue", servers.queue_url)
        environment = {
            **rookery.environment(),
            **Settings(store_url=servers.store_url, queue_url=servers.queue_url).environment(),
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "api", "worker"], env=environment, stderr=subprocess.PIPE, text=True
        )
        try:
            told = rookery.at_once("sample", "--players", "3", "--seed", "1", *urls, "--json").json
            assert told["winner"] and told["game"] == "sample-3-1"
            assert rookery.at_once("verify", "sample-3-1", *urls, "--json").json["entries"] == told["entries"]
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait() == 0
            assert process.stderr is not None
            lines = process.stderr.read().splitlines()
            process.stderr.close()
        assert all("event" in json.loads(line) for line in lines), "logs are JSON where nobody watches"
        assert any(json.loads(line)["event"] == "worker-ended" for line in lines)
        assert not rookery.data.exists()


def test_a_store_that_is_away(rookery: Rookery, tmp_path: Path) -> None:
    away = ("--store", f"unix://{tmp_path}/nothing.sock")
    for command in (("show", "g"), ("new",), ("verify", "g"), ("worker",), ("sample",)):
        assert "does not answer" in rookery.at_once(*command, *away, code=4).err
    assert "is not the URL of a store" in rookery.at_once("games", "--store", "http://x", code=2).err
    assert "No server runs" in rookery.at_once("worker", code=4).err


def test_a_store_that_hangs(rookery: Rookery, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("events.connecting.ANSWER_SECONDS", 0.3)
    monkeypatch.setattr("api.cli.place.PATIENCE_SECONDS", 0.3)
    with Embedded(rookery.data) as servers, serving(Store.connect(servers.store_url), None) as here:
        assert httpx.get(f"{here.url}/healthz").status_code == 200
        os.kill(servers.pid("store"), signal.SIGSTOP)
        try:
            answer = httpx.get(f"{here.url}/healthz", timeout=60)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
            assert "does not answer" in rookery.at_once("games", "--store", servers.store_url, code=4).err
            (rookery.data / "server.json").write_text(json.dumps({"pid": os.getpid(), "url": here.url}))
            assert "does not answer" in rookery.at_once("games", code=4).err
        finally:
            os.kill(servers.pid("store"), signal.SIGCONT)
        assert httpx.get(f"{here.url}/healthz", timeout=60).status_code == 200
