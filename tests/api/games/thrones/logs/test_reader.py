"""Play-by-mail logs: every kind of entry is read and written, and a bad file loses no more than is bad in it."""

from __future__ import annotations

import re
from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.games.thrones.logs import names, records
from api.games.thrones.logs.dates import entry_date
from api.games.thrones.logs.grammar import FORMS, SITE_ORDER, joined, read_record, write_record
from api.games.thrones.logs.lines import clean, decode
from api.games.thrones.logs.reader import read
from api.games.thrones.logs.records import Entry, Log
from api.games.thrones.logs.settings import SETTINGS, unplayed, words_of
from api.games.thrones.logs.writer import write
from domain.thrones.tables.charter import Switches, Variations

r = records

# All records that there can be

houses = st.sampled_from(names.HOUSES)
areas = st.sampled_from(names.AREAS)
cards = st.sampled_from(sorted(names.HOUSE_CARDS))
orders = st.sampled_from(sorted(names.ORDERS))
tracks = st.sampled_from(sorted(names.TRACKS))
numbers = st.integers(0, 20)
times = st.datetimes().map(lambda at: at.isoformat(timespec="minutes")).filter(lambda at: at[0] != "0")
westeros = st.sampled_from(names.WESTEROS_CARDS)
unheard = st.text("abcdefghij ", min_size=1).map(lambda text: "zz " + " ".join(text.split()) + "z")


def some(kinds: Any) -> st.SearchStrategy[dict[str, int]]:
    """Numbers of some kinds, at least one in all."""
    return st.dictionaries(st.sampled_from(sorted(kinds)), st.integers(1, 6), min_size=1)


units = some(names.UNITS)
musters = some(names.MUSTERED)
powers = st.dictionaries(houses, st.integers(-3, 20))
turns = st.permutations(names.HOUSES).flatmap(
    lambda line: st.integers(1, len(line)).map(lambda count: tuple(line[:count]))
)
other = st.sampled_from(("footman", "knight"))
EFFECTS: dict[type[r.Effect], st.SearchStrategy[Any]] = {
    r.OrderTakenOff: st.builds(r.OrderTakenOff, areas, orders),
    r.NoOrderTakenOff: st.just(r.NoOrderTakenOff()),
    r.OrderShifted: st.builds(r.OrderShifted, areas, orders, areas),
    r.CardDiscarded: st.builds(r.CardDiscarded, houses, numbers, cards),
    r.CardsTakenBack: st.builds(
        r.CardsTakenBack, houses, st.lists(st.tuples(numbers, cards), min_size=1, max_size=7).map(tuple)
    ),
    r.UnitUpgraded: st.builds(r.UnitUpgraded, areas),
    r.SupplyLimited: st.builds(r.SupplyLimited, houses, numbers),
    r.UnitsRaised: st.builds(r.UnitsRaised, houses, musters),
    r.UnitsRemoved: st.builds(r.UnitsRemoved, houses, units),
    r.UnitsExchanged: st.builds(r.UnitsExchanged, houses, st.integers(1, 9), other, other),
    r.MarkerMoved: st.builds(r.MarkerMoved, houses, tracks, st.sampled_from(("top", "bottom"))),
    r.MarkerLowered: st.builds(r.MarkerLowered, houses, tracks, numbers),
    r.PowerReturned: st.builds(r.PowerReturned, houses, numbers),
    r.PowerLost: st.builds(r.PowerLost, houses, numbers),
    r.Nothing: st.just(r.Nothing()),
    r.Told: st.builds(r.Told, unheard),
}
effects = st.lists(st.one_of(*EFFECTS.values()), max_size=3).map(tuple)

steps = st.lists(st.builds(r.Step, areas, units, st.booleans()), max_size=3).map(tuple)
attacks = st.builds(
    r.Attack, st.one_of(st.just(""), times), houses, houses, areas, areas, st.one_of(st.just({}), units)
)


@st.composite
def marches(draw: st.DrawFn) -> r.Marched:
    walked = draw(steps)
    attack = draw(attacks if not walked else st.one_of(st.none(), attacks))
    stop = True if walked else draw(st.booleans())
    return r.Marched(draw(houses), draw(areas), draw(st.sampled_from(("land", "sea"))), walked, attack, stop)


@st.composite
def defeats(draw: st.DrawFn) -> r.BattleLost:
    how: Any = draw(st.sampled_from(("withdrew", "forced", "stuck", "lost")))
    to = draw(areas) if how in ("withdrew", "forced") else None
    fell = draw(st.one_of(st.just({}), units))
    winner = draw(st.one_of(st.none(), houses))
    return r.BattleLost(draw(houses), how, to, fell, winner, draw(units) if winner else {})


asked = cards.filter(lambda card: names.nicknamed(names.HOUSE_CARDS[card], names.nickname(card)) == card)


@st.composite
def texts(draw: st.DrawFn, kind: Any, *more: st.SearchStrategy[Any]) -> Any:
    card = draw(asked)
    return kind(names.HOUSE_CARDS[card], card, *(draw(one) for one in more))


@st.composite
def choices(draw: st.DrawFn) -> r.WesterosChoice:
    choice = draw(st.one_of(st.none(), westeros))
    icon = draw(st.booleans()) if choice else False
    return r.WesterosChoice(
        draw(westeros), draw(st.booleans()), draw(st.sampled_from(sorted(names.HOLDERS))), choice, icon
    )


handles = st.from_regex(r"[a-z0-9_.-]+", fullmatch=True).filter(lambda who: who not in names.HOUSES)

RECORDS: dict[type[r.Record], st.SearchStrategy[Any]] = {
    **{
        kind: st.builds(kind, houses)
        for kind in (
            r.OrdersSet,
            r.RavenLooked,
            r.RavenKept,
            r.RavenBuried,
            r.RavenUnused,
            r.SupportWithheld,
            r.CardMissing,
            r.BladeUsed,
            r.BladeDeclined,
        )
    },
    r.RavenReplaced: st.builds(r.RavenReplaced, houses, areas, orders, orders),
    r.Raided: st.builds(r.Raided, houses, st.lists(st.tuples(areas, orders), min_size=1, max_size=2).map(tuple)),
    r.RaidUnusable: st.builds(r.RaidUnusable, areas, st.sampled_from(("raid", "raid-star"))),
    r.OrderGivenUp: st.builds(r.OrderGivenUp, houses, areas, orders),
    r.Marched: marches(),
    r.SupportGiven: st.builds(r.SupportGiven, houses, houses, numbers),
    r.SupportRefused: st.builds(r.SupportRefused, houses, houses),
    r.CardChosen: st.builds(r.CardChosen, houses, numbers, cards),
    r.TidesDrawn: st.builds(r.TidesDrawn, houses, st.sampled_from(names.TIDES_CARDS)),
    r.AbilityDeclined: texts(r.AbilityDeclined),
    r.CardCancelled: texts(r.CardCancelled),
    r.CardExchanged: texts(r.CardExchanged),
    r.RivalLowered: texts(r.RivalLowered, houses, tracks),
    r.AbilityUsed: texts(r.AbilityUsed, unheard),
    r.BattleLost: defeats(),
    r.AbilityResolved: st.builds(r.AbilityResolved, houses, numbers, cards, effects),
    r.PowerTaken: st.builds(r.PowerTaken, houses, areas, numbers),
    r.SpecialMustered: st.builds(r.SpecialMustered, houses, areas, musters),
    r.PowerConsolidated: st.builds(r.PowerConsolidated, powers),
    r.WinterCame: st.builds(r.WinterCame, westeros, st.booleans()),
    r.WesterosCardShown: st.builds(r.WesterosCardShown, westeros, st.booleans()),
    r.WesterosChoice: choices(),
    r.SupplyCounted: st.builds(r.SupplyCounted, houses, numbers, st.one_of(st.just({}), units)),
    r.Mustered: st.builds(r.Mustered, houses, musters),
    r.GameOfThronesPower: st.builds(r.GameOfThronesPower, powers),
    r.Bid: st.builds(r.Bid, houses, tracks, numbers),
    r.TrackOrdered: st.builds(r.TrackOrdered, tracks, turns, st.one_of(st.none(), houses)),
    r.WildlingBid: st.builds(r.WildlingBid, houses, numbers),
    r.WildlingCardDrawn: st.builds(r.WildlingCardDrawn, st.sampled_from(names.WILDLING_CARDS)),
    r.WildlingsWon: st.builds(r.WildlingsWon, houses, effects),
    r.WildlingsBeaten: st.builds(r.WildlingsBeaten, effects),
    r.NothingHappened: st.just(r.NothingHappened()),
    r.PowerTokenLeft: st.builds(r.PowerTokenLeft, houses, areas),
    r.ShipsCaptured: st.builds(
        r.ShipsCaptured, houses, areas.filter(lambda area: area.startswith("port-")), st.integers(1, 6)
    ),
    r.GameWon: st.one_of(st.builds(r.GameWon, houses), st.builds(r.GameWon, st.none(), handles)),
    r.GameAborted: st.builds(r.GameAborted, unheard.map(lambda text: f"GAME ABORTED {text}")),
    r.Unknown: st.builds(r.Unknown, st.lists(unheard, min_size=1, max_size=3).map("\n- ".join)),
}  # fmt: skip


def test_every_kind_of_record_and_of_effect_is_tried() -> None:
    assert set(RECORDS) == set(r.Record.__subclasses__())
    assert set(EFFECTS) == set(get_args(r.AnyEffect))


def test_every_kind_of_record_has_one_form() -> None:
    assert sorted(form.kind.__name__ for form in FORMS) == sorted(
        kind.__name__ for kind in RECORDS if kind is not r.Unknown
    )


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
def test_a_record_is_read_from_what_is_written(kind: type[r.Record]) -> None:
    @settings(max_examples=12, database=None)
    @given(RECORDS[kind])
    def is_read_again(record: Any) -> None:
        assert read_record(write_record(record)) == (record, ())

    is_read_again()


@pytest.mark.parametrize("area", names.AREAS)
def test_every_area_has_one_word(area: str) -> None:
    assert names.id_of(names.word(area)) == area
    assert names.id_of(f"the {names.word(area)}") == area


@pytest.mark.parametrize("card", [*names.HOUSE_CARDS, *names.WILDLING_CARDS, *names.WESTEROS_CARDS])
def test_every_card_has_one_word(card: str) -> None:
    assert names.id_of(names.word(card)) == card


players = st.text("abcdefgh_-.0123456789", max_size=8)


@st.composite
def logs(draw: st.DrawFn) -> Log:
    entries = []
    for number, record in enumerate(draw(st.lists(st.one_of(*RECORDS.values()), max_size=6)), start=1):
        phase = draw(st.sampled_from(records.PHASES))
        entries.append(Entry(number, draw(st.integers(1, 10)), phase, draw(players), record, draw(times)))
    chosen = draw(st.dictionaries(st.sampled_from(sorted(SETTINGS)), st.booleans()))
    created = draw(st.sampled_from(("", "2022-Jan-31 11:30:54 UTC+1")))
    notes = draw(st.sampled_from(((), ("RATED GAME",))))
    return Log(draw(players.map("g".__add__)), draw(players), tuple(entries), chosen, notes, created)


@settings(max_examples=25, database=None)
@given(logs())
def test_a_log_is_read_from_what_is_written(log: Log) -> None:
    found = read(write(log))
    assert found.log == log
    assert {one.code for one in found.problems} <= {
        "round-back",
        "entry-unknown",
        "no-settings",
        "no-entries",
        "other-language",
    }


# Words that other logs have

FIGHT = (
    "[Attack] 2020/02/03, 04:05: Martell is attacking Tyrell in Starfall from Salt Shore"
    " with 2 Footmen, 1 Knight and 1 Siege Engines"
)

SENTENCES: tuple[tuple[tuple[str, ...], r.Record], ...] = (
    (("Martell set her orders.",), r.OrdersSet("martell")),
    (
        ("Greyjoy marched out of Pyke", "- to Seagard with 1 Knights.", "- to Riverrun with 2 Footmen."),
        r.Marched("greyjoy", "pyke", "land", (r.Step("seagard", {"knight": 1}), r.Step("riverrun", {"footman": 2}))),
    ),
    (
        (
            "Martell marched out of Salt Shore",
            "- to Storm\u2019s End with 1 Footman. -> Battle!",
            FIGHT,
        ),
        r.Marched(
            "martell",
            "salt-shore",
            "land",
            (r.Step("storms-end", {"footman": 1}),),
            r.Attack(
                "2020-02-03T04:05",
                "martell",
                "tyrell",
                "starfall",
                "salt-shore",
                {"footman": 2, "knight": 1, "siege-engine": 1},
            ),
        ),
    ),
    (
        ("Greyjoy has sailed from the Port of Pyke", "- for the Port of Storm's End with 3 Ships."),
        r.Marched("greyjoy", "port-of-pyke", "sea", (r.Step("port-of-storms-end", {"ship": 3}),)),
    ),
    (
        ("Lannister raided the Raid(*) Order in Bay of Ice and the Defense(+2) Order in The Twins.",),
        r.Raided("lannister", (("bay-of-ice", "raid-star"), ("the-twins", "defense-plus-2"))),
    ),
    (
        ("Martell lost the battle.", "- Following units were killed: 1 Knights | 2 Ships |"),
        r.BattleLost("martell", "lost", None, {"knight": 1, "ship": 2}),
    ),
    (("Greyjoy decided not to use Aeron's special ability.",), r.AbilityDeclined("greyjoy", "aeron-damphair")),
    (("Greyjoy chose (2) Theon Greyjoy to lead his forces.",), r.CardChosen("greyjoy", 2, "theon-greyjoy")),
    (("Stark chose (1) House Mormont Lord to lead his forces.",), r.CardChosen("stark", 1, "house-mormont-lord")),
    (
        ("Tyrell resolved (0) The Queen of Thorns's special ability.", "- no orders have been removed."),
        r.AbilityResolved("tyrell", 0, "queen-of-thorns", (r.NoOrderTakenOff(),)),
    ),
    (("Wildling Attack (W)",), r.WesterosCardShown("wildling-attack", True)),
    (("popular.player_9 wins this game of thrones!",), r.GameWon(None, "popular.player_9")),
)


@pytest.mark.parametrize(("lines", "record"), SENTENCES, ids=[lines[0][:50] for lines, _ in SENTENCES])
def test_spellings_of_other_logs_are_understood(lines: tuple[str, ...], record: r.Record) -> None:
    assert read_record([clean(line) for line in lines]) == (record, ())


def test_a_march_of_which_no_units_are_known_is_written() -> None:
    record = r.Marched("stark", "winterfell", "land", (r.Step("karhold", {}),))
    assert write_record(record) == ["Stark marched out of Winterfell", "- to Karhold."]
    assert joined({}, ("footman",)) == ""


def test_words_that_nobody_knows_are_kept() -> None:
    assert read_record(["Stark invites all to a feast."]) == (r.Unknown("Stark invites all to a feast."), ())
    found, rest = read_record(["Stark set his orders.", "- and sang."])
    assert (found, rest) == (r.OrdersSet("stark"), ("- and sang.",))


@pytest.mark.parametrize(
    "lines",
    [
        ["Stark mustered new units:"],
        ["Stark mustered new units:", "- 2 Dragons |"],
        ["Stark marched out of Winterfell"],
        ["Stark marched out of Winterfell. -> Battle!"],
        ["New order of the Fiefdoms track:", "- [1] Stark | [1] Tyrell |"],
        ["Houses consolidate new power:", "- Targaryen(+2)"],
        ["Stark removed his Dragon Order in Winterfell."],
    ],
)
def test_half_an_entry_is_unknown_and_whole(lines: list[str]) -> None:
    assert read_record(lines) == (r.Unknown("\n".join(lines)), ())


# Bad files

SAMPLE = Log(
    "g-1",
    "Ni\u00f1o's game",
    (
        Entry(1, 1, "PLANNING", "jos\u00e9", r.OrdersSet("stark"), "2021-11-24T19:52"),
        Entry(2, 1, "MARCH", "jos\u00e9", r.Marched("stark", "winterfell", "land", (
            r.Step("karhold", {"footman": 1}), r.Step("moat-cailin", {"knight": 1}))), "2021-11-24T19:59"),
        Entry(3, 1, "POWER", "", r.PowerConsolidated({"stark": 2, "martell": 1}), "2021-11-24T20:00"),
        Entry(4, 2, "WESTEROS", "jos\u00e9", r.Mustered("stark", {"footman": 2, "ship": 1}), "2021-11-25T08:01"),
        Entry(5, 2, "GAME END", "", r.GameWon("stark"), "2021-11-25T08:02"),
    ),
    {"2nd Edition Map": True, "ACoK Ports": False},
    ("RATED GAME",),
    "2022-Jan-31 11:30:54 UTC+1",
)  # fmt: skip
TEXT = write(SAMPLE)


def codes(source: bytes | str) -> list[str]:
    return [one.code for one in read(source).problems]


def test_a_good_log_has_no_problems() -> None:
    assert codes(TEXT) == []
    assert read(TEXT.encode()).log == SAMPLE


@pytest.mark.parametrize(
    ("encoding", "problems"),
    [
        ("utf-8-sig", []),
        ("latin-1", ["encoding"]),
        ("cp1252", ["encoding"]),
        ("utf-16", ["encoding"]),
        ("utf-16-le", ["encoding"]),
        ("utf-16-be", ["encoding"]),
        ("utf-32", ["encoding"]),
    ],
)
def test_other_encodings_are_read_and_said(encoding: str, problems: list[str]) -> None:
    raw = TEXT.encode(encoding)
    assert read(raw).log == SAMPLE
    assert codes(raw) == problems


@pytest.mark.parametrize(
    ("old", "new"), [("\n", "\r\n"), ("\n", "\r"), (" ", "\u00a0"), ("'", "\u2019"), ("\n", "\n\n"), ("\t", " \t ")]
)
def test_what_letters_and_clipboards_do_to_a_text_does_not_matter(old: str, new: str) -> None:
    assert read(TEXT.replace(old, new)) == read(TEXT)


def test_a_text_copied_out_of_a_page_is_read() -> None:
    copied = TEXT.replace("->", "-&gt;").replace("'", "&#39;")
    assert read(copied).log == SAMPLE


def test_a_text_whose_tabs_have_become_spaces_is_read() -> None:
    found = read(TEXT.replace("\t", "  "))
    assert found.log == SAMPLE
    assert [one.code for one in found.problems] == ["no-tabs"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("".join(f"> {line}\n" for line in TEXT.split("\n")), "quoted"),
        ("".join(f">>{line}\n" for line in TEXT.split("\n")), "quoted"),
        (TEXT.replace("->", "-&gt;").replace("\n", "<br>\n"), "markup"),
        ("<tr><td>" + TEXT.replace("\t", "</td><td>").replace("\n", "</td></tr>\n<tr><td>"), "markup"),
        (re.sub(r"(?m)^\d+ \t", "\t", TEXT), "no-number"),
        (re.sub(r"(?m)^\d+ \t", "", TEXT), "no-number"),
    ],
)
def test_what_mail_and_pages_add_or_take_is_put_right_and_said(text: str, problem: str) -> None:
    found = read(text)
    assert found.log == SAMPLE
    assert [one.code for one in found.problems] == [problem]


def test_lines_that_mail_has_broken_are_joined() -> None:
    broken = TEXT.replace("with 1 Footman", "with\n1 Footman").replace("Nov-24, 19:59", "Nov-24,\n19:59")
    assert read(broken) == read(TEXT)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (TEXT + "x" * 2000, "line-too-long"),
        (TEXT + "\n" * 60_000, "too-long"),
        (TEXT.replace("END LOG", "6 \t2\tRAID\t\tzz\n" + "- zz\n" * 60 + "END LOG"), "entry-too-long"),
        (TEXT + " " * (1 << 22), "too-long"),
    ],
    ids=["line", "lines", "entry", "bytes"],
)
def test_what_is_too_long_is_read_up_to_there(text: str, problem: str) -> None:
    found = read(text.encode())
    assert found.log.entries[:5] == SAMPLE.entries
    assert problem in {one.code for one in found.problems}


@settings(max_examples=80, database=None)
@given(st.integers(0, len(TEXT.encode())))
def test_a_log_that_is_cut_off_keeps_what_was_good(length: int) -> None:
    found = read(TEXT.encode()[:length])
    kept = found.log.entries
    assert kept[:-1] == SAMPLE.entries[: max(0, len(kept) - 1)]
    if "END LOG" not in TEXT.encode()[:length].decode(errors="ignore"):
        assert "cut-off" in {one.code for one in found.problems}


def test_the_entry_that_is_cut_says_so() -> None:
    cut = TEXT[: TEXT.index("- to Moat")]
    found = read(cut)
    assert [entry.number for entry in found.log.entries] == [1, 2]
    assert codes(cut) == ["cut-off", "no-settings", "entry-cut"]
    assert found.problems[-1].line == 4


def moved(text: str, first: str, behind: str) -> str:
    """The lines from one that begins with ``first`` up to the next entry, put behind another one."""
    lines = text.split("\n")
    at = next(number for number, line in enumerate(lines) if line.startswith(first))
    end = next(number for number in range(at + 1, len(lines)) if lines[number][:1].isdigit())
    taken = lines[at:end]
    rest = lines[:at] + lines[end:]
    to = next(number for number, line in enumerate(rest) if line.startswith(behind))
    return "\n".join((*rest[:to], *taken, *rest[to:]))


def test_entries_in_another_order_are_put_right() -> None:
    found = read(moved(TEXT, "1 ", "5 "))
    assert found.log == SAMPLE
    assert [one.code for one in found.problems] == ["out-of-order"]


def test_a_line_torn_from_its_entry_is_left_out_and_said() -> None:
    lines = TEXT.split("\n")
    step = lines.pop(4)
    found = read("\n".join((*lines[:2], step, *lines[2:])))
    assert [one.code for one in found.problems] == ["stray-line"]
    assert found.problems[0].line == 3


def test_entries_told_twice_are_told_once() -> None:
    entries = TEXT.split("\n")
    doubled = "\n".join((*entries[:3], *entries[2:]))
    assert read(doubled).log == SAMPLE
    assert codes(doubled) == ["entry-twice"]


def test_two_entries_with_one_number_are_a_problem() -> None:
    other_one = TEXT.replace("5 \t2\tGAME END\t\tStark", "1 \t2\tGAME END\t\tStark")
    assert codes(other_one) == ["number-twice"]
    assert [entry.number for entry in read(other_one).log.entries] == [1, 2, 3, 4]


def test_a_log_pasted_twice_is_one_log() -> None:
    assert read(TEXT + TEXT).log.entries == SAMPLE.entries
    assert set(codes(TEXT + TEXT)) == {"entry-twice", "second-title"}


def test_missing_entries_are_counted() -> None:
    without = TEXT.replace("1 \t1\tPLANNING\tjos\u00e9\tStark set his orders.\t2021-Nov-24, 19:52\n", "")
    assert [one.what for one in read(without).problems] == ["entry 1 is missing"]


def test_another_language_is_noticed_and_kept() -> None:
    german = TEXT
    for english, word in (("set his orders", "hat Befehle erteilt"), ("Houses", "H\u00e4user"), ("wins", "gewinnt"),
                          ("marched out of", "zog aus"), ("mustered new units", "hob aus")):  # fmt: skip
        german = german.replace(english, word)
    found = read(german)
    assert {one.code for one in found.problems} == {"entry-unknown", "other-language"}
    assert found.log.entries[0].record == r.Unknown("Stark hat Befehle erteilt.")


def test_settings_that_nobody_knows_are_reported() -> None:
    found = read(TEXT.replace("ACoK Ports \tNO", "House Rule 7 \tYES\n2nd edition map \tMAYBE"))
    assert found.log.settings == {"2nd Edition Map": True, "House Rule 7": True}
    assert [(one.code, one.line) for one in found.problems] == [("setting-unknown", 16), ("setting-unclear", 17)]


def test_times_and_phases_that_are_none_are_reported() -> None:
    odd = TEXT.replace("2021-Nov-24, 19:52", "2021-Onz-24, 19:52").replace("PLANNING", "THINKING")
    found = read(odd)
    assert [one.code for one in found.problems] == ["no-time", "unknown-phase"]
    assert found.log.entries[0].phase == "THINKING"


@pytest.mark.parametrize(
    ("written", "at"),
    [
        ("2024-Feb-29, 23:59", "2024-02-29T23:59"),
        ("2000-feb-29, 0:05", "2000-02-29T00:05"),
        ("2021-Feb-29, 10:00", ""),
        ("1900-Feb-29, 10:00", ""),
        ("2021-Apr-31, 10:00", ""),
        ("2021-Dec-31, 24:00", ""),
        ("2021-12-31, 10:00", "2021-12-31T10:00"),
        ("yesterday", ""),
    ],
)
def test_days_are_those_of_the_calendar(written: str, at: str) -> None:
    assert entry_date(written) == at


def test_areas_and_cards_that_nobody_knows_are_reported() -> None:
    odd = TEXT.replace("Karhold", "Valyria")
    assert [(one.code, one.what) for one in read(odd).problems] == [("unknown-area", "entry 2: Valyria")]
    odd = TEXT.replace("Stark set his orders.", "Stark chose (9) Hodor to lead his forces.")
    assert [(one.code, one.what) for one in read(odd).problems] == [("unknown-card", "entry 1: Hodor")]


def test_something_else_altogether_is_no_log() -> None:
    found = read(b"\x00\xff\x00 not a log")
    assert found.log.entries == ()
    assert "no-entries" in {one.code for one in found.problems}


@settings(max_examples=150, database=None)
@given(st.binary(max_size=300))
def test_reading_never_fails_on_bytes(raw: bytes) -> None:
    assert read(raw).log.entries == ()
    assert isinstance(decode(raw)[0], str)


@settings(max_examples=60, database=None)
@given(st.lists(st.sampled_from([*TEXT.split("\n"), "zz", "\t\t", "3 \t1\tRAID\t\t"]), max_size=30))
def test_reading_never_fails_on_lines_in_any_order(lines: list[str]) -> None:
    found = read("\n".join(lines))
    numbers = [entry.number for entry in found.log.entries]
    assert numbers == sorted(set(numbers))


# Settings


def test_settings_choose_words_of_a_charter() -> None:
    chosen = {"2nd Edition Map": False, "2nd Edition Tiebreaker": False, "2nd Edition Tiebreaker 2019": True}
    assert words_of(chosen) == {"map": "first", "tiebreak": "errata"}
    assert words_of({"2nd Edition Raid/CP Orders": True}) == {"raid-orders": "second", "consolidate-orders": "second"}
    assert words_of({}) == {}


def test_settings_that_no_charter_can_say_are_named() -> None:
    assert unplayed({"ACoK Battle Variant": True, "ACoK Ports": True, "House Rule 7": True}) == (
        "ACoK Battle Variant",
        "House Rule 7",
    )
    assert unplayed({"ACoK Battle Variant": False, "House Rule 7": False}) == ()


WORDS = {
    field.encode_name: get_args(get_type_hints(kind)[field.name])
    for kind in (Variations, Switches)
    for field in msgspec.structs.fields(kind)
}


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_chooses_words_that_a_charter_knows(name: str) -> None:
    for answer in (True, False):
        for variation, word in words_of({name: answer}).items():
            assert word in WORDS[variation]


def test_houses_are_listed_in_the_order_of_the_site() -> None:
    assert sorted(SITE_ORDER) == list(names.HOUSES)
    assert write_record(r.TrackOrdered("fiefdoms", ("stark", "baratheon")))[1] == "- [2] Baratheon | [1] Stark |"
