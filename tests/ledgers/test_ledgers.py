"""What was once recorded is read, replayed and ruled alike for ever; an engine that rules otherwise is told where."""

from __future__ import annotations

import compileall
import lzma
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from api.cli import run
from api.engines import NoEngine, Radius, _fact, compare
from domain.kernel.arbiter import Amend
from domain.kernel.commands import PassDeadline
from domain.thrones.language.facts import GameCreated
from domain.thrones.language.state import State
from domain.thrones.ruleset import THRONES, Thrones
from domain.thrones.tables.behaviour import BEHAVIOUR
from domain.thrones.tables.charter import Charter
from domain.thrones.tables.charters import explain_charter
from events import codec
from events.codec import Codec
from events.envelope import Entry, Part, Refused, Submission, encode, number_of, submission
from events.export import EntryLine, export_game, import_game, parse
from events.ruling import Judge
from events.store import Store
from events.upcasters import UPCASTERS, VERSION
from events.verify import Elsewhere, Report, verify_chain, verify_export, verify_store
from tests.ledgers.make import (
    CHARTERS,
    DISPUTED,
    GAMES,
    HERE,
    INDEX,
    REWOUND,
    Golden,
    commands,
    of_this_engine,
    recorded,
)
from tests.ledgers.samples import Sample, read, types
from tests.recording import AT
from worker.adjudicate import Warm, adjudicate

ROOT = Path(__file__).parents[2]
INDEXED = msgspec.json.decode(INDEX.read_bytes(), type=dict[str, Golden])
SAMPLES = read()
NEXT = "next"
"""The pin of an engine after ours."""
OURS = THRONES.engine_of(State(charter=commands(0)[0].charter))  # type: ignore[attr-defined]  # it begins the game
"""Our pin for the games of bots below."""


@cache
def lines(game: str) -> tuple[bytes, ...]:
    return tuple(lzma.decompress((HERE / f"{game}.jsonl.xz").read_bytes()).splitlines(keepends=True))


@cache
def verified(game: str) -> Report:
    return verify_export(Judge(THRONES), lines(game))


def test_every_ledger_is_indexed_and_there() -> None:
    assert (
        {*GAMES, *CHARTERS, REWOUND, DISPUTED}
        <= set(INDEXED)
        == {path.name.removesuffix(".jsonl.xz") for path in HERE.glob("*.xz")}
    )


@pytest.mark.slow
def test_each_edition_has_a_ledger_that_the_present_engine_has_ruled() -> None:
    """When this fails the rules have changed: `python -m tests.ledgers.make` writes new ones; the old stay to fold."""
    for game in of_this_engine():
        assert game in INDEXED
        report = verified(game)
        assert report.is_confirmed and not report.elsewhere, report.disagreement
        assert b'{"line":"entry","public":{"v":2,' in lines(game)[-2]


@pytest.mark.slow
@pytest.mark.parametrize("game", sorted(INDEXED))
def test_a_golden_ledger_replays_and_is_ruled_alike(game: str) -> None:
    known = INDEXED[game]
    report = verified(game)
    assert report.disagreement is None, report.disagreement
    assert (report.entries, report.facts, report.head) == (known.entries, known.facts, known.head)
    judge = Judge(THRONES)
    line = judge.begin()
    for one in parse(lines(game)):
        if isinstance(one, EntryLine):
            line = judge.evolve(line, one.stored())
    assert line.state.is_over and line.state.winner == known.winner


def test_a_game_made_today_is_ruled_alike() -> None:
    """What an older engine ruled is only folded above; this is adjudicated again, entry by entry."""
    store = recorded("fresh", commands(0))
    report = verify_store(store, Judge(THRONES), "fresh")
    assert report.is_confirmed, report.disagreement
    assert report.engines == (OURS,) and not report.elsewhere


def charter_of(game: str) -> Charter:
    first = entry(game, 1)
    [begun] = [fact for fact in Codec(THRONES).facts(first.stored()) if isinstance(fact, GameCreated)]
    return begun.charter


def test_the_ledgers_differ_in_what_they_show() -> None:
    text = {game: b"".join(lines(game)) for game in INDEXED}
    assert b'"fact":"TidesRevealed"' in text["five-players-tides"]
    for word in (b'"fact":"Rewound"', b'"fact":"Corrected"', b'"kept":true', b'"kept":false', b'"how":"kept"'):
        assert word in text[REWOUND]
    for word in (b'"fact":"InDoubt"', b'"code":"appeal-open"', b'"made":true', b'"made":false', b"CorrectionDecided"):
        assert word in text[DISPUTED]
    charters = {game: explain_charter(charter_of(game)) for game in CHARTERS}
    assert {game: (told.preset, told.is_as_printed) for game, told in charters.items()} == {
        "first-edition": ("first-edition", True),
        "mixed-four": ("mixed-four", False),
        "two-books": ("second-edition", False),
    }
    assert charters["two-books"].own_tables
    assert charters["mixed-four"].assumed
    assert INDEXED["first-edition"].winner is None, "it is drawn"
    assert b'"fact":"GameDrawn"' in text["first-edition"]
    assert b'"how":"default"' in b"".join(text.values()) and b'"fact":"DraftKept"' in b"".join(text.values())


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda one: f"{one.kind}-{one.name}-{'whole' if one.whole else 'bare'}")
def test_a_sample_is_read_and_written_as_it_was(sample: Sample) -> None:
    """When this fails, the schema has changed: raise VERSION and write an upcaster, do not touch the sample."""
    raw = bytes(sample.raw)
    decoded = decode(sample, raw)
    if UPCASTERS.is_as_today(1):
        assert encode(decoded) == raw
    else:
        assert encode(decode(sample, encode(decoded), VERSION)) == encode(decoded)


def decode(sample: Sample, raw: bytes, version: int = 1) -> Any:
    known = Codec(THRONES)
    match sample.kind:
        case "command":
            return known.command(raw, version)
        case "fact":
            return known.fact(raw, version)
        case "state":
            return known.state(raw, version)
        case "hidden":
            return msgspec.json.decode(raw, type=THRONES.hidden_type)
        case "submission":
            return msgspec.json.decode(UPCASTERS.lift("submission", version, raw), type=Submission)
        case "entry":
            return msgspec.json.decode(UPCASTERS.lift("entry", version, raw), type=Entry)
    return msgspec.json.decode(raw, type=Part)


def test_there_is_a_sample_of_everything() -> None:
    """``python -m tests.ledgers.samples`` adds what is missing."""
    there = {(one.kind, one.name, one.whole) for one in SAMPLES}
    assert there >= {(kind, name, whole) for kind, name, _ in types() for whole in (True, False)}
    assert len(there) == len(SAMPLES)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another checkout, in which Knights count 3."""
    checkout = tmp_path_factory.mktemp("engine")
    for package in ("domain", "events"):
        shutil.copytree(ROOT / package, checkout / package, ignore=shutil.ignore_patterns("__pycache__"))
    table = checkout / "domain/thrones/tables/editions/second.json"
    text = table.read_text(encoding="utf-8")
    before = msgspec.json.decode(text)
    units = {unit["id"]: unit for unit in before["units"]}
    units["knight"]["strength"] = 3
    table.write_text(msgspec.json.encode(before).decode(), encoding="utf-8")
    pins = checkout / "domain/thrones/tables/editions/behaviour.json"
    pins.write_bytes(pins.read_bytes().replace(BEHAVIOUR.presets["second-edition"].values.encode(), b"another"))
    compileall.compile_dir(checkout, quiet=2)
    return checkout


@pytest.fixture(scope="module")
def radius(other: Path) -> Radius:
    return compare(REWOUND, lines(REWOUND), other)


def test_the_same_engine_has_no_blast_radius() -> None:
    radius = compare("three-players", lines("three-players"), ROOT)
    assert (radius.entries, radius.differing, radius.running) == (INDEXED["three-players"].entries, (), False)


def test_a_changed_rule_is_found_where_it_matters_and_nowhere_else(radius: Radius) -> None:
    assert radius.engine != Judge(THRONES).engine and 0 < len(radius.differing) < radius.entries / 3
    strengths = [one for one in radius.differing if any("StrengthCounted" in what for what in one.what)]
    assert len(strengths) > 3
    for one in strengths:
        assert b"knight" in bytes(entry(REWOUND, one.entry).public), "only where a Knight counts"


def entry(game: str, number: int) -> EntryLine:
    return [one for one in parse(lines(game)) if isinstance(one, EntryLine)][number - 1]


def test_of_sealed_facts_nothing_is_told_but_what_they_are() -> None:
    sealed = {"fact": "AnswerSealed", "player": "stark", "answer": {"kind": "wildling-bid", "bid": 3}}
    again = {**sealed, "answer": {"kind": "wildling-bid", "bid": 4}}
    assert _fact(sealed, again, secret=True) == "AnswerSealed has another answer"
    assert "4" in _fact(sealed, again, secret=False)


def test_a_path_without_an_engine_is_told(tmp_path: Path) -> None:
    with pytest.raises(NoEngine, match="There is no Rookery"):
        compare("three-players", lines("three-players"), tmp_path)
    (tmp_path / "domain").mkdir()
    with pytest.raises(NoEngine, match="Not the engine"):
        compare("three-players", lines("three-players"), tmp_path)


def test_rookery_diff(other: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "three.jsonl"
    file.write_bytes(b"".join(lines("three-players")))
    assert run(["diff", str(file), "--engine", str(ROOT)]) == 0
    assert f"{INDEXED['three-players'].entries} entries come out the same" in capfd.readouterr().out
    golden = HERE / f"{REWOUND}.jsonl.xz"
    assert run(["diff", str(file), str(golden), "--engine", str(other), "--json"]) == 1
    told = msgspec.json.decode(capfd.readouterr().out)
    assert told["touched"] >= 1 and told["running"] == 0 and len(told["games"]) == 2
    assert run(["diff", str(file), "--engine", str(tmp_path)]) == 2
    assert run(["diff", str(file)]) == 2


def test_what_a_command_says_is_part_of_an_entry() -> None:
    first = entry("three-players", 1)
    read_ = codec.entry(first.stored())
    assert codec.raw_command(first.stored(), read_) and read_.engine == "thrones/1"


class Newer(Thrones):
    """The same rules under another pin."""

    version = NEXT

    def engine_of(self, state: State) -> str:
        return f"thrones/{NEXT}"


def entries_of(store: Store, game: str) -> list[Entry]:
    return [codec.entry(stored) for stored in store.entries(game)]


def say(store: Store, command: Any) -> None:
    store.submit("pinned", submission(command, seat=f"seat-{command.player}", at=AT))


def amend(store: Store, engine: str = f"thrones/{NEXT}") -> None:
    store.submit("pinned", submission(Amend(engine=engine, reason="A fix."), seat=None, cause="arbiter", at=AT))


def test_letters_wait_for_the_engine_of_their_game_and_an_act_that_moves_it_goes_ahead() -> None:
    said = commands(0)[:10]
    store = recorded("pinned", said[:5])
    judge, newer = Judge(THRONES), Judge(Newer())
    begun = store.version("pinned")
    say(store, said[5])
    store.submit("pinned", submission(PassDeadline(player="stark", question=0), seat=None, cause="deadline", at=AT))
    for engine in ("thrones/9", f"thrones/{NEXT}x"):
        amend(store, engine)  # nobody's
    for _ in range(2):
        done = adjudicate(store, newer, "pinned", warm=Warm())
        assert (done.how, done.ruled, store.version("pinned"), store.unruled_tail("pinned")) == ("waits", 0, begun, 4)
    waits = store.waits("pinned")
    assert waits is not None and waits.engine == OURS and waits.here == f"thrones/{NEXT}"
    assert store.waiting_for_engines() == ("pinned",) and not store.waiting_since()

    amend(store)
    done = adjudicate(store, newer, "pinned", warm=Warm())
    assert (done.how, done.ruled, store.unruled_tail("pinned"), store.waits("pinned")) == ("drained", 5, 0, None)
    told = entries_of(store, "pinned")[begun:]
    first = begun + 1
    assert [number_of(one.inbox) for one in told] == [first + 4, first, first + 1, first + 2, first + 3]
    assert {one.engine for one in told} == {f"thrones/{NEXT}"}
    verdicts = [one.verdict.code if isinstance(one.verdict, Refused) else "" for one in told]
    assert verdicts == ["", "", "game-waited-for-its-engine", "unknown-engine", "unknown-engine"]
    line = store.line("pinned", judge)
    assert (line.taken, line.ahead) == (store.inbox_length("pinned"), ())

    say(store, said[6])
    assert adjudicate(store, judge, "pinned", warm=Warm()).how == "waits", "and the older engine rules no more"
    adjudicate(store, newer, "pinned", warm=Warm())
    assert entries_of(store, "pinned")[-1].facts
    for verifier in (judge, newer):
        report = verify_store(store, verifier, "pinned")
        assert report.is_confirmed, report.disagreement
        assert set(report.engines) == {OURS, f"thrones/{NEXT}"}
    assert verify_chain(list(export_game(store, "pinned"))) is None


def test_nothing_is_lost_when_the_worker_dies_between_the_act_and_the_letters() -> None:
    said = commands(0)[:10]
    store = recorded("pinned", said[:5])
    newer = Judge(Newer())
    say(store, said[5])
    say(store, said[6])
    amend(store)
    looks = iter([False, True])
    done = adjudicate(store, newer, "pinned", must_stop=lambda: next(looks))
    assert (done.how, done.ruled) == ("stopped", 1)
    line = store.line("pinned", newer)
    assert line.ahead == (line.taken + 3,) and store.unruled_tail("pinned") == 3
    store.save_snapshot("pinned", newer, line)
    assert store.snapshot("pinned", newer) is None and not store.false_snapshots, "no entry tells what is answered here"
    copy = import_game(store, list(export_game(store, "pinned")), "copy")
    assert copy.unruled == 3 and adjudicate(store, newer, "copy", warm=Warm()).ruled == 2
    assert adjudicate(store, newer, "pinned", warm=Warm()).ruled == 2
    assert store.line("pinned", newer).taken == store.inbox_length("pinned")
    assert verify_store(store, newer, "pinned").is_confirmed


def test_only_an_act_that_moves_the_game_may_go_ahead() -> None:
    """A record in which a letter overtakes another is found, with its chain intact."""
    said = commands(0)[:10]
    store = recorded("pinned", said[:5])
    judge = Judge(THRONES)
    say(store, said[5])
    say(store, said[6])
    lease = store.acquire("pinned", 10)
    assert lease is not None
    line = store.line("pinned", judge)
    late = list(store.submissions("pinned", line.taken))[1]
    forged, after, _ = judge.rule(line, late, store.pepper("pinned"))
    store.append(lease, line, [forged], after.taken)
    found = verify_store(store, judge, "pinned").disagreement
    assert found is not None and (found.seq, found.what) == (line.version + 1, "inbox")
    assert verify_chain(list(export_game(store, "pinned"))) is not None


class Stricter(Newer):
    """The next version cites a rule more, so that it would rule otherwise on everything."""

    def decide(self, state: Any, command: Any, past: Any = None, at: str = "") -> Any:
        ruling = super().decide(state, command, past, at)
        facts = (replace(ruling.facts[0], rules=(*ruling.facts[0].rules, "2E-GEN-1")), *ruling.facts[1:])
        return replace(ruling, facts=facts)


class Lawless(Thrones):
    """An engine that nobody has agreed to."""

    version = "99"

    def engine_of(self, state: State) -> str:
        return "thrones/99"

    def pinned(self, state: Any) -> str:
        return ""


def amended() -> tuple[Store, list[Any]]:
    """A game whose first six entries one engine has ruled, and the rest the next; and what was said."""
    said = commands(0)[:10]
    store = recorded("pinned", said[:5])
    newer = Judge(Stricter())
    store.submit(
        "pinned", submission(Amend(engine=f"thrones/{NEXT}", reason="A fix."), seat=None, cause="arbiter", at=AT)
    )
    adjudicate(store, newer, "pinned", warm=Warm())
    for one in said[5:8]:
        store.submit("pinned", submission(one, seat=f"seat-{one.player}", at=AT))  # type: ignore[attr-defined]
        adjudicate(store, newer, "pinned", warm=Warm())
    return store, said


def test_of_another_engine_the_record_is_checked_and_its_rulings_are_left_to_it() -> None:
    store, _ = amended()
    version = store.version("pinned")
    before = len([one for one in entries_of(store, "pinned") if one.engine == OURS])
    assert 0 < before < version
    by_newer, by_older = (verify_store(store, Judge(rules), "pinned") for rules in (Stricter(), THRONES))
    assert by_newer.is_confirmed and by_older.is_confirmed
    assert by_newer.elsewhere == (Elsewhere(1, before, OURS),)
    assert by_older.elsewhere == (Elsewhere(before + 1, version, f"thrones/{NEXT}"),)
    assert str(by_newer.elsewhere[0]) == (
        f"entries 1–{before} were ruled by {OURS} and were not adjudicated again here; verify them with that version"
    )
    assert verify_store(store, Judge(Newer()), "pinned").disagreement is not None, "what the next one rules is compared"


def test_an_engine_that_was_not_agreed_on_is_no_witness() -> None:
    store, said = amended()
    version = store.version("pinned")
    store.submit("pinned", submission(said[8], seat=f"seat-{said[8].player}", at=AT))
    adjudicate(store, Judge(Lawless()), "pinned", warm=Warm())
    assert entries_of(store, "pinned")[-1].facts
    for rules in (THRONES, Stricter()):
        found = verify_store(store, Judge(rules), "pinned").disagreement
        assert found is not None and (found.seq, found.what) == (version + 1, "engine")


def test_verify_says_which_entries_another_engine_has_ruled(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    store, _ = amended()
    file = tmp_path / "amended.jsonl"
    file.write_bytes(b"".join(export_game(store, "pinned")))
    assert run(["verify", str(file)]) == 0
    told = capfd.readouterr().out
    assert f"were ruled by thrones/{NEXT} and were not adjudicated again here; verify them with that version" in told
    assert run(["verify", str(file), "--json"]) == 0
    document = msgspec.json.decode(capfd.readouterr().out)
    assert [one["engine"] for one in document["elsewhere"]] == [f"thrones/{NEXT}"] and document["confirmed"]
