"""Logs as games of ours: what is left out is inferred, what is told is compared, what cannot be is said."""

from __future__ import annotations

import random
from functools import cache

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.games.thrones.following import prose
from api.games.thrones.following.charter import charter_of, settings_of, variations_of
from api.games.thrones.following.compare import OURS_ALONE, same
from api.games.thrones.following.decks import deal, westeros_cards
from api.games.thrones.following.forecast import Forecast
from api.games.thrones.following.importer import Imported, figures, import_log
from api.games.thrones.following.orders import demands, lay
from api.games.thrones.logs import records as r
from api.games.thrones.logs.from_facts import Ruled, to_log
from api.games.thrones.logs.reader import read
from api.games.thrones.logs.writer import write
from domain.kernel.commands import Command
from domain.kernel.refusal import Refusal
from domain.thrones.bots import TEMPERAMENTS, Bot
from domain.thrones.language import answers as c
from domain.thrones.language.start import Start
from domain.thrones.language.state import State
from domain.thrones.rules.action.march_options import Destination, Marches, Origin
from domain.thrones.ruleset import THRONES, rules_by
from domain.thrones.tables.charter import AS_PRINTED, Charter, Switches, Variations
from domain.thrones.tables.editions.composed import compose, edition_of
from domain.thrones.tables.variations import MIXED_FOUR, PRESETS
from tests.api.games.thrones.logs.settings_of_records import SITE
from tests.sizes import sized

# Games of bots


@cache
def bots(preset: str, players: int, number: int) -> tuple[Charter, r.Log]:
    """A whole game of bots as a log."""
    edition = compose(PRESETS[preset].variations)
    houses = tuple(sorted(edition.players(players).houses))
    charter = Charter(preset, houses, PRESETS[preset].switches, chance="stated")
    if PRESETS[preset].variations != AS_PRINTED:
        charter = msgspec.structs.replace(charter, variations=PRESETS[preset].variations)
    chance = random.Random(f"{preset}/{players}/{number}")
    playing = {
        house: Bot(TEMPERAMENTS[chance.choice(sorted(TEMPERAMENTS))], edition.board, edition.tokens) for house in houses
    }
    command: Command = Start(charter=charter, seed=f"{number + 1:064x}")
    state = THRONES.blank()
    ruled = []
    while True:
        ruling = THRONES.decide(state, command)
        state = ruling.state
        minute = len(ruled)
        ruled.append(Ruled(f"2026-11-{1 + minute // 1440:02d}T{minute // 60 % 24:02d}:{minute % 60:02d}", ruling.facts))
        owed = THRONES.decisions(state)
        if not owed:
            break
        decision = owed[chance.randrange(len(owed))]
        command = playing[decision.player].answer(state, decision, chance.randrange)
    log = to_log(
        ruled,
        edition_of(charter),
        game=f"bots-{number}",
        name="bots",
        players={house: f"player-{house}" for house in houses},
        settings=settings_of(charter),
    )
    return charter, log


def as_the_site_tells_it(log: r.Log) -> r.Log:
    """Without what only our own logs tell."""
    left = [entry for entry in log.entries if not isinstance(entry.record, OURS_ALONE)]
    return msgspec.structs.replace(
        log, entries=tuple(msgspec.structs.replace(entry, number=n) for n, entry in enumerate(left, 1))
    )


@cache
def imported(preset: str, players: int, number: int, *, full: bool) -> Imported:
    log = bots(preset, players, number)[1]
    return import_log(read(write(log if full else as_the_site_tells_it(log))))


SMALL = ("second-edition", 3, 0)


def some_log(entries: int) -> str:
    """The first entries of a small game, as text."""
    log = bots(*SMALL)[1]
    return write(msgspec.structs.replace(log, entries=log.entries[:entries], ended=False))


# Charter and decks


def test_settings_of_the_site_are_the_charter_of_four_houses() -> None:
    assert variations_of(SITE) == MIXED_FOUR


def test_a_border_read_into_the_charter_leaves_what_is_assumed_of_others_told() -> None:
    log = msgspec.structs.replace(bots("mixed-four", 4, 1)[1], settings=SITE)
    found, _ = charter_of(log)
    assert isinstance(found.tables, dict)
    assert found.tables["/links/-"] == ["crackclaw-point", "the-narrow-sea"]
    assert isinstance(found.assumed, tuple)
    assert {"rivers", "southern-borders", "borders-left-out"} <= {*found.assumed}


def test_settings_that_are_all_on_are_the_second_edition() -> None:
    everything = {name: True for name in SITE if name.startswith("2nd")}
    assert variations_of(everything, "books") == Variations(lannister_ship="extra")


def test_settings_that_are_all_off_are_the_first_edition() -> None:
    found = variations_of(dict.fromkeys(SITE, False), "books")
    assert found == msgspec.structs.replace(PRESETS["first-edition"].variations, card_return="all")


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_our_own_logs_name_their_charter_in_full(preset: str) -> None:
    charter, log = bots(preset, 4, 1) if preset == "mixed-four" else bots(preset, 3, 0)
    found, problems = charter_of(log, "own")
    assert problems == []
    assert (found.edition, found.houses, found.switches) == (charter.edition, charter.houses, charter.switches)
    assert found.variations == charter.variations
    assert found.chance == "imposed"


def test_expansion_rules_that_nobody_plays_here_are_reported() -> None:
    log = msgspec.structs.replace(bots(*SMALL)[1], settings={**SITE, "ACoK Battle Variant": True})
    assert [one.code for one in charter_of(log)[1]] == ["setting-not-played"]


def entry(number: int, round_: int, record: r.Record, phase: str = "WESTEROS") -> r.Entry:
    return r.Entry(number, round_, phase, "", record)


def test_the_cards_of_a_westeros_phase_are_read_off_what_they_did() -> None:
    told = (
        r.WinterCame("a-throne-of-blades", True),
        r.WesterosChoice("a-throne-of-blades", True, "iron-throne-token", "mustering"),
        r.Mustered("stark", {"footman": 1}),
        r.Bid("stark", "iron-throne", 0),
        r.WildlingBid("stark", 1),
    )
    assert westeros_cards(told, compose(AS_PRINTED)) == {
        "westeros-1": ["w1-winter-is-coming", "w1-a-throne-of-blades"],
        "westeros-2": ["w2-clash-of-kings"],
        "westeros-3": ["w3-wildlings-attack"],
    }


def test_quiet_cards_of_several_decks_are_told_apart_by_their_order() -> None:
    quiet = r.WesterosCardShown("last-days-of-summer", False)
    told = (quiet, r.WinterCame("last-days-of-summer", False), quiet, quiet)
    assert westeros_cards(told, compose(PRESETS["first-edition"].variations)) == {
        "westeros-1": ["w1-last-days-of-summer"],
        "westeros-2": ["w2-winter-is-coming", "w2-last-days-of-summer"],
        "westeros-3": ["w3-last-days-of-summer"],
    }


def test_the_wildling_deck_remembers_which_cards_were_buried() -> None:
    told = (
        entry(1, 2, r.RavenBuried("stark")),
        entry(2, 2, r.WildlingCardDrawn("crow-killers")),
        entry(3, 3, r.WildlingCardDrawn("mammoth-riders")),
    )
    deck = deal(told, compose(AS_PRINTED)).decks["wildling"]
    assert deck[1:3] == ("crow-killers", "mammoth-riders")
    assert sorted(deck) == sorted(compose(AS_PRINTED).wildling_deck)


def test_a_card_that_cannot_be_on_top_is_a_problem() -> None:
    told = (entry(1, 2, r.WildlingCardDrawn("crow-killers")), entry(2, 3, r.WildlingCardDrawn("crow-killers")))
    assert deal(told, compose(AS_PRINTED)).problems


# Orders and places


def planning() -> State:
    charter = Charter("second-edition", ("baratheon", "lannister", "stark"), chance="imposed")
    return THRONES.decide(THRONES.blank(), Start(charter=charter, decks=deal((), compose(AS_PRINTED)).decks)).state


def laid(*told: r.Record) -> dict[str, str] | None:
    state = planning()
    game = rules_by(state.charter).game(state)
    found = lay(game, "stark", demands(game, [entry(n, 1, one, "MARCH") for n, one in enumerate(told, 1)]))
    return None if found is None else found.orders


def test_orders_do_what_the_round_tells_of_them() -> None:
    march = r.Marched("stark", "winterfell", "land", (r.Step("karhold", {"footman": 1}),))
    found = laid(march, r.OrderGivenUp("stark", "white-harbor", "march-minus-1"), r.PowerConsolidated({}))
    assert found is not None
    assert (found["winterfell"], found["white-harbor"]) == ("march-0", "march-minus-1")
    assert found["the-shivering-sea"] == "support-0"


def test_power_that_was_consolidated_comes_from_an_order() -> None:
    found = laid(r.PowerConsolidated({"stark": 2}))
    assert found is not None
    assert found["winterfell"] == "consolidate"


def test_no_orders_fit_what_cannot_be() -> None:
    assert laid(r.PowerConsolidated({"stark": 9})) is None


def test_what_no_raid_could_take_off_is_no_support() -> None:
    state = planning()
    game = rules_by(state.charter).game(state)
    wanted = demands(game, [entry(1, 1, r.RaidUnusable("the-shivering-sea"), "RAID")])
    assert wanted.fixed == {"the-shivering-sea": ("raid",)}


def test_units_are_mustered_where_they_are_needed_later() -> None:
    later = (
        entry(2, 2, r.Marched("stark", "port-of-winterfell", "sea", (r.Step("bay-of-ice", {"ship": 1}),)), "MARCH"),
    )
    edition = compose(AS_PRINTED)
    forecast = Forecast(edition, "stark", later, {}, ("winterfell",), 1, {})
    in_port, at_sea = {"port-of-winterfell": {"ship": 1}}, {"the-shivering-sea": {"ship": 1}}
    against = forecast.weigh([in_port, at_sea])
    assert against[0] < against[1]


# Whole games


def test_a_game_comes_back_from_its_log() -> None:
    found = imported(*SMALL, full=True)
    charter, log = bots(*SMALL)
    assert found.report.entries == len(log.entries)
    assert found.report.explained >= found.report.entries - 1
    assert found.report.corrections == 0
    [won] = (entry.record for entry in log.entries if isinstance(entry.record, r.GameWon))
    assert found.report.winner == won.house
    assert found.charter.houses == charter.houses


def test_what_the_site_does_not_tell_is_inferred() -> None:
    report = imported(*SMALL, full=False).report
    assert report.explained >= report.entries - 1
    assert report.assumptions["orders"] > report.assumptions["muster-places"] > 0


def test_the_ledger_of_an_import_is_ruled_again_to_the_same_facts() -> None:
    found = imported(*SMALL, full=False)
    state = THRONES.blank()
    for one in found.ruled:
        ruling = THRONES.decide(state, one.command)
        assert ruling.facts == one.facts
        state = ruling.state
    assert state == found.state
    times = [one.at for one in found.ruled]
    assert times == sorted(times)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "players", "number"), [("second-edition", 4, 0), ("second-edition", 5, 1), ("mixed-four", 4, 2)]
)
def test_games_of_other_tables_come_back_as_far_as_can_be(preset: str, players: int, number: int) -> None:
    report = imported(preset, players, number, full=True).report
    assert report.explained >= report.entries - 1
    assert report.explained + len(report.disagreements) + len(report.open) == report.entries
    assert figures(report)["explained"] == report.explained


@pytest.mark.slow
def test_tokens_left_and_forces_that_hold_are_inferred_where_they_show_later() -> None:
    """Nothing tells in such a log who left a Power token, nor by what strength a neutral force was beaten."""
    report = imported("first-edition", 5, 0, full=False).report
    assert report.explained >= report.entries - 1
    assert report.corrections == 0


@pytest.mark.slow
@pytest.mark.parametrize("game", sized([("first-edition", 3, 2)], [("first-edition", 3, 2), ("first-edition", 4, 2)]))
def test_what_our_own_engine_has_ruled_is_never_judged_against_the_log(game: tuple[str, int, int]) -> None:
    """Where our inference goes wrong the log of a game of ours is right: such entries stay undecided."""
    report = imported(*game, full=False).report
    assert report.undecided
    assert not report.disagreements
    cited = {rule for one in report.undecided for rule in one.rules}
    assert cited
    assert all(rule.startswith("1E-") for rule in cited)


def test_what_is_exported_again_says_the_same() -> None:
    found = imported(*SMALL, full=True)
    told = to_log(
        [Ruled(one.at, one.facts) for one in found.ruled], edition_of(found.charter), game="", name="", players={}
    )
    theirs = [entry.record for entry in bots(*SMALL)[1].entries]
    ours = [entry.record for entry in told.entries]
    missing = [one for one in theirs if not any(same(one, other) for other in ours)]
    assert len(missing) <= 1


# Bad logs


def test_a_log_without_its_end_is_a_game_that_stays_open() -> None:
    report = import_log(read(some_log(120))).report
    assert report.explained == report.entries == 120
    assert not report.ended


def test_a_log_without_settings_tries_what_tables_play() -> None:
    log = msgspec.structs.replace(bots(*SMALL)[1], settings={}, entries=bots(*SMALL)[1].entries[:60], ended=False)
    report = import_log(read(write(log))).report
    assert report.explained == report.entries == 60


def test_entries_out_of_order_are_taken_by_their_numbers() -> None:
    lines = some_log(40).split("\n")
    first = next(number for number, line in enumerate(lines) if line.startswith("1 "))
    lines[first], lines[first + 1] = lines[first + 1], lines[first]
    assert import_log(read("\n".join(lines))).report.explained == 40


def test_an_outcome_that_cannot_be_is_taken_over_and_never_counts() -> None:
    """A march of more Footmen than there are: the log has its way, as a correction."""
    log = bots(*SMALL)[1]
    number, march = next(
        (place, one) for place, one in enumerate(log.entries) if isinstance(one.record, r.Marched) and one.record.steps
    )
    record = march.record
    assert isinstance(record, r.Marched)
    more = msgspec.structs.replace(record, steps=(r.Step(record.steps[0].to, {"footman": 3}), *record.steps[1:]))
    changed = (
        *log.entries[:number],
        msgspec.structs.replace(march, record=more),
        *log.entries[number + 1 : number + 4],
    )
    report = import_log(read(write(msgspec.structs.replace(log, entries=changed, ended=False)))).report
    assert report.corrections >= 1
    assert march.number in (*report.open, *(one.entry for one in report.disagreements))
    assert report.explained < report.entries
    assert not report.is_whole


@settings(max_examples=sized(8, 40), deadline=None)
@given(st.integers(5, 70), st.randoms(use_true_random=False))
def test_a_bad_log_never_fails(entries: int, chance: random.Random) -> None:
    lines = some_log(entries).split("\n")
    for _ in range(chance.randrange(1, 4)):
        one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
        match chance.randrange(3):
            case 0:
                lines[one], lines[other] = lines[other], lines[one]
            case 1:
                lines[one] = ""
            case _:
                lines[one] = lines[one].replace("1", str(chance.randrange(10)))
    report = import_log(read("\n".join(lines))).report
    assert report.explained + len(report.disagreements) + len(report.open) == report.entries
    assert all(prose.told(report))


def test_a_report_names_every_kind_of_assumption() -> None:
    report = imported(*SMALL, full=False).report
    assert set(report.assumptions) <= set(prose.ASSUMED)
    assert any("explained by the rules" in line for line in prose.told(report))


# What came up on the way


def test_units_that_are_nowhere_are_refused_in_a_march_of_several_moves() -> None:
    origin = Origin({"knight": 2}, 0, {"riverrun": Destination(), "seagard": Destination()})
    marches = Marches({"lannisport": origin}, {"lannisport": 2}, (3, 2))
    moves = (c.Move("riverrun", {"siege-engine": 1}), c.Move("seagard", {"knight": 1}))
    with pytest.raises(Refusal, match="units-cannot-march"):
        marches.check(c.MarchOrder("lannister", "lannisport", moves))


def test_a_full_wildling_track_may_wait_for_a_card() -> None:
    charter = Charter("second-edition", ("baratheon", "lannister", "stark"), Switches(), chance="imposed")
    waiting = msgspec.structs.replace(charter, variations=Variations(full_track="wait"))
    assert not edition_of(waiting).readings.westeros.full_threat_attacks
    assert edition_of(charter).readings.westeros.full_threat_attacks
