"""Charters: made of a preset and words, told in English, with an organiser's own tables in them."""

from __future__ import annotations

import random
from itertools import islice
from typing import Any

import msgspec
import pytest

from api.games.thrones.following.charter import switches_of, variations_of
from api.games.thrones.refusals import explain
from api.games.thrones.sentences import Prose
from domain.kernel.agreed import Arbitration
from domain.kernel.refusal import Refusal
from domain.thrones.bots import TEMPERAMENTS
from domain.thrones.language.start import Start
from domain.thrones.rules.invariants import problems
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.arbitration import DISPUTES, arbitration_of
from domain.thrones.tables.charter import AS_PRINTED, Switches, Variations
from domain.thrones.tables.charters import (
    CHAPTERS,
    catalogue,
    charter_words,
    explain_charter,
    in_one_line,
    most_players,
    new_charter,
)
from domain.thrones.tables.editions.composed import FIRST, assumptions_of, compose, edition_of
from domain.thrones.tables.editions.extras import EXTRAS
from domain.thrones.tables.variations import NAMED, PRESETS, SWITCHES, VARIATIONS, words_of
from tests.api.games.thrones.logs.settings_of_records import SITE
from tests.domain.thrones.games import CHOICES, Spec, play, some_variations
from tests.domain.thrones.tables.charter_page import PAGE, written

BORDER = {"/links/-": ["crackclaw-point", "the-narrow-sea"]}


def sentence(refusal: Refusal) -> str:
    return explain(refusal.code, refusal.params, Prose(compose()))


def refused(*said: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        new_charter(*said)
    return caught.value


def test_the_page_has_every_switch_with_its_readings() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert written(page) == page, "python -m tests.domain.thrones.tables.charter_page"
    assert all(means in page for one in NAMED.values() for means in one.readings.values())


@pytest.mark.parametrize(("kind", "told"), [(Switches, SWITCHES), (Variations, VARIATIONS)])
def test_every_word_of_a_charter_is_told(kind: type[Any], told: tuple[Any, ...]) -> None:
    fields = {field.encode_name: field.type.__args__ for field in msgspec.structs.fields(kind)}
    assert {one.name: tuple(one.readings) for one in told} == fields


def test_needs_name_words_that_there_are() -> None:
    for one in NAMED.values():
        for word, needs in one.needs.items():
            assert word in one.readings
            assert all(set(words) <= set(NAMED[other].readings) for other, words in needs.items())
        assert all(set(words) < set(NAMED[other].readings) for other, words in one.matters.items())
        assert set(one.topics) <= set(CHAPTERS)


def test_a_second_edition_charter_says_nothing_new() -> None:
    charter = new_charter("second-edition", 3)
    assert charter.variations is charter.tables is charter.assumed is msgspec.UNSET
    assert in_one_line(charter) == ""


def test_a_charter_stores_only_the_words_that_differ() -> None:
    charter = new_charter("mixed-four", 4, {"card-return": "all-but-last", "drowned-pyke": "off"})
    assert isinstance(charter.variations, Variations)
    printed, words = words_of(AS_PRINTED), words_of(charter.variations)
    stored = msgspec.json.decode(msgspec.json.encode(charter.variations))
    assert stored == {name: word for name, word in words.items() if word != printed[name]}
    assert "drowned-pyke" not in stored
    assert stored["map"] == "first"


def test_the_preset_for_four_is_what_records_say() -> None:
    preset = PRESETS["mixed-four"]
    assert variations_of(SITE) == preset.variations
    assert switches_of(SITE, preset.switches) == preset.switches


def test_without_a_number_as_many_play_as_can() -> None:
    assert [most_players(preset) for preset in ("second-edition", "first-edition", "mixed-four")] == [6, 5, 4]
    assert most_players("second-edition", {"map": "first"}) == 5


@pytest.mark.parametrize(
    ("said", "code", "words"),
    [
        (("third", 3), "unknown-edition", "no edition “third”"),
        (("second-edition", 3, {"raid-oders": "first"}), "unknown-switch", "Did you mean raid-orders"),
        (("second-edition", 3, {"tides": "on"}), "unknown-switch", "Did you mean tides-of-battle?"),
        (("second-edition", 3, {"raid-orders": "frist"}), "unknown-word", "Did you mean first?"),
        (("second-edition", 3, {"raid-orders": 7}), "unknown-word", "one target"),
        (("second-edition", 3, {"house-cards": "first"}), "variations-do-not-fit", "needs map = first"),
        (("second-edition", 3, {"wildling-cards": "first"}), "variations-do-not-fit", "raven = look"),
        (("second-edition", 7), "wrong-number-of-players", "It is for 3, 4, 5 or 6"),
        (("first-edition", 6), "wrong-number-of-players", "It is for 3, 4 or 5"),
        (("mixed-four", 5), "wrong-number-of-players", "It is for 3 or 4"),
        (("second-edition", 3, {}, {"/links/x": 1}), "own-table-unfit", "nothing at “/links/x”"),
    ],
)
def test_what_cannot_be_played_is_told_with_what_can(said: tuple[Any, ...], code: str, words: str) -> None:
    refusal = refused(*said)
    assert refusal.code == code
    assert words in sentence(refusal)


def test_everything_that_does_not_fit_is_told_at_once() -> None:
    told = sentence(
        refused("second-edition", 3, {"ports": "off", "siege-engines": "off", "siege-engine-limit": "none"})
    )
    assert "greyjoy-start = port" in told
    assert "siege-engine-limit = none" in told
    assert "siege-engines = on" in told


def test_a_refusal_cites_the_book_of_the_table() -> None:
    assert refused("second-edition", 7).rules == ("2E-SET-1",)
    assert {rule[:3] for rule in refused("first-edition", 7).rules} == {"1E-"}


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_found_as_it_is(name: str) -> None:
    told = explain_charter(new_charter(name, most_players(name)))
    assert told.preset == name
    assert told.departures == ()
    assert told.is_as_printed == PRESETS[name].is_book


def test_the_nearest_preset_is_found_whatever_a_charter_began_from() -> None:
    words = charter_words(new_charter("first-edition", 4, {"raid-orders": "second"}))
    by_hand = new_charter("second-edition", 4, words)
    told = explain_charter(by_hand)
    assert (told.edition, told.preset, told.book) == ("second-edition", "first-edition", "first-edition")
    assert told.departures == ("raid-orders",)
    assert "raids" not in told.first_chapters
    assert "combat" in told.first_chapters


def test_a_difference_is_told_with_both_readings() -> None:
    told = explain_charter(new_charter("first-edition", 3, {"raid-orders": "second"}, BORDER))
    text = "\n".join(told.sentences)
    readings = NAMED["raid-orders"].readings
    assert readings["second"] in text
    assert readings["first"] in text
    assert 'Own table: /links/- is ["crackclaw-point","the-narrow-sea"].' in text
    line = in_one_line(new_charter("first-edition", 3, {"raid-orders": "second"}, BORDER))
    assert "raid-orders = second" in line
    assert "own /links/-" in line


def test_a_table_is_compared_with_its_preset_too() -> None:
    told = explain_charter(new_charter("mixed-four", 4, {"drowned-pyke": "off"}))
    readings = NAMED["drowned-pyke"].readings
    [sentence_] = [one for one in told.sentences if one.startswith("drowned-pyke = ")]
    assert readings["off"] in sentence_
    assert f"By mixed-four (on): {readings['on']}." in sentence_


@pytest.mark.parametrize(
    ("name", "word", "needs"),
    [
        ("full-track", "wait", "wildling-strength = second"),
        ("massing-equal-hand", "keep", "wildling-cards = second"),
        ("lannister-screen", "printed", "map = second and ports = on"),
        ("dark-wings-ports", "yes", "westeros-cards = second and ports = on"),
        ("ships-vs-salladhor", "turn-order", "house-cards = second"),
        ("mace-last-unit", "end", "combat = second"),
        ("token-after-empty-win", "removed", "combat = second"),
    ],
)
def test_a_word_without_effect_is_no_difference_and_is_told(name: str, word: str, needs: str) -> None:
    charter = new_charter("first-edition", 5, {name: word})
    told = explain_charter(charter)
    assert (list(told.without_effect), told.departures, told.differs) == ([name], (), ())
    assert told.preset == "first-edition" and told.is_as_printed
    said = f"{name} = {word} has no effect at this table: only with {needs} would it have one."
    assert [one for one in told.sentences if one.startswith(name)] == [said]
    assert name not in in_one_line(charter)
    told = explain_charter(new_charter("second-edition", 5, {name: word}))
    assert told.without_effect == {} and told.departures == (name,)


def test_what_has_no_effect_in_the_book_is_not_told_as_its_reading() -> None:
    told = explain_charter(new_charter("first-edition", 5, {"wildling-strength": "second", "full-track": "wait"}))
    [said] = [one for one in told.differs if one.name == "full-track"]
    assert (said.word, said.book_means) == ("wait", "has no effect there")


def test_a_house_without_a_home_is_told_as_the_cause() -> None:
    closed = "With drowned-pyke = on the home of a House is out of play."
    assert closed in sentence(refused("first-edition", 5, {"drowned-pyke": "on"}))
    assert closed not in sentence(refused("first-edition", 6, {"drowned-pyke": "on"}))
    assert closed not in sentence(refused("first-edition", 6))


def test_the_catalogue_has_every_word() -> None:
    found = catalogue()
    assert {one.id for one in found.presets} == set(PRESETS)
    assert {one.name: one.readings for one in found.switches} == {one.name: one.readings for one in NAMED.values()}
    for preset in found.presets:
        assert preset.words == {one.name: one.presets[preset.id] for one in found.switches}


# What is assumed


def assumed(*said: Any) -> set[str]:
    charter = new_charter(*said)
    return set(charter.assumed or ())


def test_assumptions_are_those_of_what_is_played() -> None:
    first = {one.id for one in FIRST.assumed}
    assert assumed("first-edition", 3) == first - {"last-on-the-throne"}
    assert assumed("first-edition", 5) == first - {"stars-of-few"}
    decks = {"westeros-copies", "wildling-icons"}
    assert not decks & assumed("mixed-four", 4)
    assert assumed("second-edition", 6, {"westeros-cards": "first"}) == decks
    assert {one.id for one in EXTRAS.assumed} <= assumed("mixed-four", 4)
    assert assumed("first-edition", 3, {"ports": "on"}) - assumed("first-edition", 3) == {"ports"}
    assert "ship-limit" not in assumed("first-edition", 3, {"ship-limit": "five"})


def test_every_assumption_comes_with_words_that_there_are() -> None:
    for one in (*FIRST.assumed, *EXTRAS.assumed):
        assert one.when
        assert all(set(words) < set(NAMED[name].readings) for name, words in one.when.items())


def test_an_own_table_takes_the_place_of_what_was_assumed() -> None:
    assert "borders-left-out" in assumed("first-edition", 3, {}, BORDER)
    tables = edition_of(new_charter("first-edition", 3)).tables
    links = [list(link) for link in tables.links]
    assert not {"rivers", "borders-left-out", "southern-borders"} & assumed("first-edition", 3, {}, {"/links": links})
    supply = {f"/houses/{house.id}/supply": 1 for house in tables.houses}
    assert "starting-supply" not in assumed("first-edition", 3, {}, supply)
    supply.pop("/houses/stark/supply")
    assert "starting-supply" in assumed("first-edition", 3, {}, supply)


def test_the_crown_of_oldtown_is_pointed_at_on_either_board() -> None:
    for edition in ("first-edition", "second-edition"):
        charter = new_charter(edition, 3, {"oldtown-crown": "on"})
        [crown] = [one for one in assumptions_of(charter) if one.id == "oldtown-crown"]
        [pointer] = crown.where
        assert edition_of(charter).tables.areas[int(pointer.split("/")[2])].id == "oldtown"
        assert "oldtown-crown" not in assumed(edition, 3, {"oldtown-crown": "on"}, {"/areas/oldtown/power": 2})


def test_the_first_entry_tells_what_is_assumed() -> None:
    charter = new_charter("first-edition", 3)
    ruling = THRONES.decide(THRONES.blank(), Start(charter=charter, seed="07" * 32))
    told = Prose(edition_of(charter)).line(ruling.facts[0])
    assert "Assumed: number of copies of each Westeros card;" in told
    assert "2E-" not in told


# Played


def covering(words: dict[str, set[str]]) -> list[tuple[Variations, Switches]]:
    """Charters by chance until every word of every switch and variation is in one of them."""
    chance = random.Random("every word")
    found = []
    while any(words.values()):
        variations = some_variations(chance)
        switches = Switches(**{name: chance.choice(values) for name, values in CHOICES.items()})  # type: ignore[arg-type]
        said = {*(words_of(variations) | words_of(switches)).items()}
        if any((name, word) in said for name, left in words.items() for word in left):
            found.append((variations, switches))
            words = {name: {word for word in left if (name, word) not in said} for name, left in words.items()}
    return found


CHARTERS = covering({name: set(one.readings) for name, one in NAMED.items()})


@pytest.mark.parametrize("number", range(len(CHARTERS)))
def test_every_word_is_played(number: int) -> None:
    """The opening of a game by bots for each of a few charters that say every word between them."""
    variations, switches = CHARTERS[number]
    counts = compose(variations).player_counts
    words = words_of(variations) | words_of(switches)
    charter = new_charter("second-edition", counts[number % len(counts)], words)
    assert charter_words(charter) == {name: words[name] for name in NAMED}
    moods = sorted(TEMPERAMENTS) * 2
    entries = list(islice(play(Spec(number, charter, tuple(moods[: len(charter.houses)]))), 60))
    last = entries[-1].ruling.state
    assert len(entries) == 60 or last.is_over
    prose = Prose(edition_of(charter))
    for entry in entries:
        assert not problems(THRONES.rules_of(last).game(entry.ruling.state))
        assert all(fact.rules for fact in entry.ruling.facts if prose.sentence(fact))


# Own tables


def test_own_values_are_played_by() -> None:
    own = {**BORDER, "/houses/stark/supply": 2, "/westeros_decks/I/0/count": 4, "/constants/victory_areas": 6}
    edition = edition_of(new_charter("first-edition", 3, {}, own))
    assert edition.board.are_adjacent("crackclaw-point", "the-narrow-sea")
    assert edition.houses["stark"].supply == 2
    assert next(iter(edition.tables.westeros_decks.values()))[0].count == 4
    state = THRONES.decide(
        THRONES.blank(), Start(charter=new_charter("first-edition", 3, {}, own), seed="07" * 32)
    ).state
    assert state.supply["stark"] == 2


def test_rows_are_named_by_number_or_by_id() -> None:
    by_id = compose(own={"/houses/stark/supply": 2}).tables
    number = [house.id for house in by_id.houses].index("stark")
    assert compose(own={f"/houses/{number}/supply": 2}).tables == by_id


@pytest.mark.parametrize(
    "pointer",
    ["", "/", "houses", "/houses/-1/supply", "/houses/99", "/houses/nobody/supply", "/areas/0/casle", "/rounds/-/x"],
)
def test_a_place_that_is_not_there_is_told(pointer: str) -> None:
    refusal = refused("first-edition", 3, {}, {pointer: 1})
    assert (refusal.code, refusal.unknown, refusal.params["pointer"]) == ("own-table-unfit", True, pointer)


@pytest.mark.parametrize(
    ("own", "problem"),
    [
        ({"/constants": 5}, "Expected `object`"),
        ({"/houses/stark/supply": "two"}, "Expected `int`"),
        ({"/houses/stark/supply": 12}, "beyond the track"),
        ({"/houses/stark/supply": -1}, "possible are 0 to 99"),
        ({"/links/-": ["winterfell", "nowhere"]}, "area nowhere is not known"),
        ({"/links/-": ["winterfell", "winterfell"]}, "next to itself"),
        ({"/constants/rounds": 12}, "fewer cards than there are rounds"),
        ({"/constants/rounds": 0}, "at least one round"),
        ({"/constants/threat_start": 5}, "no space 5"),
        ({"/areas/winterfell/castle": 3}, "Castle of size 3"),
        ({"/areas/pyke/home": "stark"}, "not marked as the home of greyjoy"),
        ({"/houses/stark/units": {"winterfell": {"ship": 1}}}, "cannot start in winterfell"),
        ({"/houses/stark/units": {"winterfell": {"footman": 11}}}, "more than it has"),
        ({"/houses/stark/id": "targaryen"}, "targaryen"),
        ({"/houses/stark/motto": "x"}, "there is no such value"),
        ({"/players/0/stars": [3]}, "for every position"),
        ({"/players/0/houses": ["stark", "stark", "lannister"]}, "as many Houses"),
        ({"/players/0/influence/fiefdoms": ["stark"]}, "lists other Houses"),
        ({"/players/1/count": 3}, "need"),
        ({"/supply_limits": [[2, 2]]}, "every space of the track"),
        ({"/order_tokens/0/id": "fire"}, "order token fire is not known"),
        ({"/units/0/id": "dragon"}, "dragon is not known"),
        ({"/westeros_decks/I/0/id": "dragons"}, "Westeros card dragons is not known"),
        ({"/westeros_decks": {}}, "three Westeros decks"),
        ({"/house_cards": []}, "has no House card"),
        ({"/areas/1/id": "castle-black"}, "twice"),
        ({"/areas/0": {"id": "castle-black", "name": "Castle Black", "kind": "land", "forts": 1}}, "not a field"),
    ],
)
def test_values_that_no_game_can_be_played_by_are_refused(own: dict[str, Any], problem: str) -> None:
    refusal = refused("first-edition", 3, {}, own)
    assert refusal.code == "own-table-unfit"
    assert problem in sentence(refusal)


def test_disputes_have_their_options_in_words() -> None:
    assert [one.name for one in DISPUTES] and catalogue().disputes == DISPUTES
    fields = {field.encode_name: field for field in msgspec.structs.fields(Arbitration)}
    assert {one.name for one in DISPUTES} == set(fields)
    for one in DISPUTES:
        assert one.default == next(iter(one.readings))
        assert arbitration_of({one.name: one.default}) == Arbitration()
        for word in one.readings:
            found = arbitration_of({one.name: "7" if word == "N" else word})
            assert (found == Arbitration()) == (word == one.default)
        if hasattr(fields[one.name].type, "__args__"):
            assert set(fields[one.name].type.__args__) == set(one.readings)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"appeal-stop": "everything"}, "Did you mean appeal-stops"),
        ({"mercy": "yes"}, "There are appeal-window, appeal-stops, appeals-open, appeals-lost, kept-when,"),
        ({"appeal-stops": "nothing"}, "cannot be “nothing”. It is everything or what-depends-on-it."),
        ({"appeal-window": "soon"}, "appeal-window cannot be “soon”. It is 0 or N."),
        ({"appeals-open": "0"}, "appeals-open cannot be “0”. It is 3 or N."),
        ({"appeals-lost": "-1"}, "appeals-lost cannot be “-1”. It is 3 or N."),
        ({"appeal-window": "-1"}, "appeal-window cannot be “-1”. It is 0 or N."),
    ],
)
def test_other_words_about_disputes_are_refused_with_those_there_are(said: dict[str, str], told: str) -> None:
    with pytest.raises(Refusal) as refused:
        arbitration_of(said)
    assert told in sentence(refused.value)
