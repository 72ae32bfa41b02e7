"""Damaged logs: what is good in them is imported, what is not is said, and nothing fails."""

from __future__ import annotations

import msgspec
import pytest

from api.games.thrones.following import prose
from api.games.thrones.following.charter import UNNAMED, charter_of, tables_of
from api.games.thrones.following.guesses import guessed
from api.games.thrones.following.importer import import_log
from api.games.thrones.logs import records as r
from api.games.thrones.logs.reader import read
from api.games.thrones.logs.writer import write
from tests.api.games.thrones.following.test_importer import SMALL, bots, some_log
from tests.api.games.thrones.logs.damage import damaged
from tests.api.games.thrones.logs.settings_of_records import SITE

pytestmark = pytest.mark.slow

REPLACED = {"set his orders": "hat Befehle erteilt", "marched out of": "zog aus", "chose": "nahm",
            "lost the battle": "verlor", "mustered new units": "hob aus", "raided the": "griff zu:"}  # fmt: skip

SHORT = write(msgspec.structs.replace(bots(*SMALL)[1], entries=bots(*SMALL)[1].entries[:40]))

FEW = ("lines-shuffled", "no-numbers", "setting-both", "german", "html-table", "empty", "binary", "other-house-Marched")


@pytest.mark.parametrize("name", FEW)
def test_no_damage_fails(name: str) -> None:
    raw = dict(damaged(SHORT, 3))
    reading = read(raw[name])
    if not reading.log.entries:
        assert "no-entries" in {one.code for one in reading.problems}
        return
    report = import_log(reading).report
    assert report.explained + len(report.disagreements) + len(report.open) == report.entries
    assert all(prose.told(report))


def test_entries_in_another_language_are_taken_by_their_names_and_never_explained() -> None:
    text = some_log(120)
    for english, word in REPLACED.items():
        text = text.replace(english, word)
    reading = read(text)
    unknown = {entry.number for entry in reading.log.entries if isinstance(entry.record, r.Unknown)}
    assert len(unknown) > 20
    report = import_log(reading).report
    assert report.explained == 120 - len(unknown)
    assert set(report.open) == unknown
    assert report.assumptions["unknown-words"] >= 10
    assert not report.corrections


@pytest.mark.parametrize(
    ("phase", "text", "record"),
    [
        ("MARCH", "Stark zog aus Winterfell\n- nach Karhold mit 1 Footman", r.Marched(
            "stark", "winterfell", "land", (r.Step("karhold", {"footman": 1}),))),
        ("RAID", "Stark griff zu: Support Order in Bay of Ice", r.Raided("stark", (("bay-of-ice", "support-0"),))),
        ("POWER", "Stark hob aus in Winterfell: 1 Ship", r.SpecialMustered("stark", "winterfell", {"ship": 1})),
        ("WESTEROS", "Stark bietet [3] auf Iron Throne", r.Bid("stark", "iron-throne", 3)),
        ("BATTLE", "Stark verlor, nach Karhold", r.BattleLost("stark", "withdrew", "karhold")),
        ("BATTLE", "Stark nahm (2) Roose Bolton", r.CardChosen("stark", 2, "roose-bolton")),
    ],
)  # fmt: skip
def test_a_guess_goes_by_the_phase_and_the_names(phase: str, text: str, record: r.Record) -> None:
    unread = r.Entry(1, 2, phase, "p", r.Unknown(text))
    assert guessed((unread,))[0][0].record == record
    other = msgspec.structs.replace(unread, phase="GAME END")
    assert guessed((other,)) == ((other,), frozenset())


def test_settings_that_are_lost_are_those_of_tables_like_it() -> None:
    log = bots(*SMALL)[1]
    some = {name: SITE[name] for name in sorted(SITE)[:5]}
    ways = tables_of(msgspec.structs.replace(log, settings=some))
    assert all(way[name] == on for way in ways for name, on in some.items())
    assert ways[0] == {**UNNAMED[0], **some}
    assert tables_of(msgspec.structs.replace(log, settings=SITE)) == (SITE,)


def test_a_name_in_one_entry_is_no_house_at_the_table() -> None:
    log = bots(*SMALL)[1]
    first = msgspec.structs.replace(log.entries[0], record=r.OrdersSet("martell"))
    odd = msgspec.structs.replace(log, entries=(first, *log.entries[1:]))
    assert charter_of(odd, "own")[0].houses == charter_of(log, "own")[0].houses


def test_who_put_a_card_back_has_looked_at_it() -> None:
    log = read(some_log(90)).log
    left = tuple(entry for entry in log.entries if not isinstance(entry.record, r.RavenLooked))
    assert len(left) < len(log.entries)
    report = import_log(r.Reading(msgspec.structs.replace(log, entries=left))).report
    assert report.explained == report.entries == len(left)
