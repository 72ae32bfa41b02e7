"""The rule of docs/positions.md: what it fills in, what it refuses, and that every position goes on to the end."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from api.games.thrones.cases.positions import STEPS, Fight, Partial, PositionError, Where, changes_from, complete
from domain.kernel.bots import any_answer
from domain.thrones.language.start import Start
from domain.thrones.language.state import Force, PlacedOrder, State
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.charter import Switches
from domain.thrones.tables.editions.composed import edition_of
from domain.thrones.tables.editions.second import SECOND_EDITION
from domain.thrones.tables.variations import PRESETS

STARK_AT_HOME = {"winterfell": Force("stark", {"footman": 1}), "moat-cailin": Force("stark", {"knight": 2})}
FIGHT = Fight(attacker="lannister", defender="stark", area="moat-cailin", origin="seagard", units={"knight": 1})


def completed(partial: Partial) -> State:
    return complete(partial, "second-edition").state


def standing_at(step: str) -> Partial:
    orders = {
        "winterfell": PlacedOrder("stark", "raid-a"),
        "moat-cailin": PlacedOrder("stark", "march-0"),
        "karhold": PlacedOrder("stark", "consolidate-a"),
    }
    units = {**STARK_AT_HOME, "karhold": Force("stark", {"footman": 1})}
    if step.startswith("combat/"):
        settled = step in ("combat/casualties", "combat/retreat")
        cards = {"lannister": "tywin-lannister", "stark": "greatjon-umber"} if step not in EARLY else {}
        fight = msgspec.structs.replace(FIGHT, winner="lannister" if settled else "", cards=cards)
        return Partial(at=Where(step), units=units, fight=fight)
    return Partial(at=Where(step), units=units, orders={} if step == "planning" else orders)


EARLY = ("combat/support", "combat/cards")


def _fighting(**said: Any) -> Partial:
    return Partial(at=Where("combat/blade"), fight=msgspec.structs.replace(FIGHT, **said))


def _open(step: str, deck: str, card: str) -> Partial:
    return Partial(at=Where(f"westeros/{step}"), westeros_cards={deck: card})


@pytest.mark.parametrize("preset", sorted(PRESETS))
@pytest.mark.parametrize("step", STEPS)
def test_a_completed_position_goes_on_to_the_end_of_the_game(step: str, preset: str) -> None:
    whole = complete(standing_at(step), preset)
    charter = msgspec.structs.replace(whole.state.charter, chance="seeded")
    command = Start(charter, seed="5a" * 32, position=whole.state, hidden=whole.hidden, reason="test")
    state = THRONES.decide(THRONES.blank(), command).state
    assert state.is_over or THRONES.decisions(state)
    chance = random.Random(f"{preset} {step}")
    for _ in range(4000):
        if state.is_over:
            break
        state = THRONES.decide(state, any_answer(THRONES.decisions(state), chance.randrange)).state
    assert state.is_over
    assert state.round <= 10


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_a_position_is_played_by_the_preset_that_is_named(preset: str) -> None:
    state = complete(Partial(), preset).state
    base = PRESETS[preset]
    assert (state.charter.edition, state.charter.switches) == (preset, base.switches)
    edition = edition_of(state.charter)
    assert state.charter.agreed == base.variations
    assert state.houses == tuple(sorted(edition.players(edition.player_counts[-1]).houses))
    assert state.threat == edition.constants.threat_start
    assert bool(state.garrisons) is (base.variations.garrisons == "on")
    assert all(len(hand) == 7 and set(hand) <= set(edition.cards) for hand in state.hands.values())


def test_a_preset_may_be_changed_word_by_word_and_in_its_tables() -> None:
    changed = Partial(
        switches={"tides-of-battle": "on"},
        variations={"victory": "six", "house-cards": "second"},
        tables={"/constants/starting_power": 7},
    )
    state = complete(changed, "first-edition").state
    edition = edition_of(state.charter)
    assert state.charter.switches == Switches(tiebreak="first-edition", tides_of_battle="on")
    assert (edition.constants.victory_areas, edition.constants.starting_power) == (6, 7)
    assert set(state.power.values()) == {7}
    assert "doran-martell" not in edition.cards and "roose-bolton" in state.hands["stark"]
    changes = changes_from(state.charter)
    assert changes == {
        "switches": {"tides-of-battle": "on"},
        "variations": {"house-cards": "second", "victory": "six"},
        "tables": {"/constants/starting_power": 7},
    }
    again = complete(Partial(**changes), "first-edition")
    assert again.state == state


@pytest.mark.parametrize(
    ("preset", "partial"),
    [
        ("third-edition", Partial()),
        ("first-edition", Partial(variations={"weather": "fine"})),
        ("first-edition", Partial(variations={"victory": "one"})),
        ("second-edition", Partial(switches={"tiebreak": "chance"})),
        ("second-edition", Partial(variations={"house-cards": "first"})),
        ("first-edition", Partial(tables={"/constants/castles": 3})),
        ("first-edition", Partial(units={"the-boneway": Force("stark", {"footman": 1})})),
        ("first-edition", Partial(units={"winterfell": Force("stark", {"siege-engine": 1})})),
        ("first-edition", Partial(decks={"wildling": ("mammoth-riders",)})),
    ],
)
def test_what_no_table_plays_is_an_error(preset: str, partial: Partial) -> None:
    with pytest.raises(PositionError):
        complete(partial, preset)


def test_the_facts_of_a_start_lead_to_its_state() -> None:
    whole = complete(standing_at("action/raid"), "second-edition")
    command = Start(whole.state.charter, position=whole.state, hidden=whole.hidden, reason="test")
    ruling = THRONES.decide(THRONES.blank(), command)
    state = THRONES.blank()
    for fact in ruling.facts:
        state = THRONES.evolve(state, fact)
    assert state == ruling.state
    assert [one.player for one in THRONES.decisions(state)] == ["stark"]


def test_nothing_said_is_a_board_without_units() -> None:
    state = completed(Partial())
    assert state.houses == ("baratheon", "greyjoy", "lannister", "martell", "stark", "tyrell")
    assert state.units == {}
    assert state.neutral == {"kings-landing": 5, "the-eyrie": 6}
    assert set(state.garrisons.values()) == {2}
    assert state.control == {SECOND_EDITION.houses[house].home: house for house in state.houses}
    assert set(state.supply.values()) == {6}
    assert set(state.power.values()) == {5}
    assert state.victory == dict.fromkeys(state.houses, 1)
    assert all(len(hand) == 7 for hand in state.hands.values())


def test_a_track_of_a_whole_table_says_who_plays() -> None:
    state = completed(Partial(tracks={"fiefdoms": ("stark", "greyjoy", "lannister", "baratheon")}))
    assert state.houses == ("baratheon", "greyjoy", "lannister", "stark")


def test_a_track_named_in_part_goes_on_in_set_up_order() -> None:
    state = completed(Partial(tracks={"iron-throne": ("tyrell", "stark")}, tokens={"messenger-raven": "greyjoy"}))
    assert state.tracks["iron-throne"] == ("tyrell", "stark", "baratheon", "lannister", "martell", "greyjoy")
    assert state.tracks["kings-court"][0] == "greyjoy"
    assert state.tokens["iron-throne-token"] == "tyrell"


def test_a_named_home_area_has_no_garrison_and_a_named_area_no_neutral_force() -> None:
    state = completed(Partial(units=STARK_AT_HOME, empty=("the-eyrie",), garrisons={"pyke": 2}))
    assert "winterfell" not in state.garrisons
    assert state.garrisons["pyke"] == 2
    assert "the-eyrie" not in state.neutral


def test_power_tokens_that_nobody_accounts_for_lie_where_nothing_counts_them() -> None:
    state = completed(Partial(power={"stark": 10}, pool={"stark": 7}, power_tokens={"karhold": "stark"}))
    assert sum(owner == "stark" for owner in state.power_tokens.values()) == 3
    assert state.pool("stark", 20) == 7
    assert state.victory["stark"] == 1


def test_a_named_hand_is_the_whole_hand() -> None:
    state = completed(Partial(hands={"stark": ("robb-stark",)}, discards={"tyrell": ("mace-tyrell",)}))
    assert (state.hands["stark"], state.discards["stark"]) == (("robb-stark",), ())
    assert len(state.hands["tyrell"]) == 6


@pytest.mark.parametrize(
    ("partial", "problem"),
    [
        (Partial(at=Where("lunch")), "unknown step lunch"),
        (Partial(empty=("essos",)), "unknown: essos"),
        (Partial(units={"winterfell": Force("stark", {"dragon": 1})}), "unknown: dragon"),
        (Partial(units={"winterfell": Force("targaryen", {"knight": 1})}), "unknown: targaryen"),
        (Partial(hands={"stark": ("mace-tyrell",)}), "not cards of stark: mace-tyrell"),
        (Partial(hands={"stark": ("robb-stark",)}, discards={"stark": ("robb-stark",)}), "both in hand and out of it"),
        (Partial(houses=("stark", "tyrell")), "no game has exactly these Houses"),
        (Partial(houses=("baratheon", "lannister", "stark"), power={"tyrell": 3}), "not in this game: tyrell"),
        (Partial(power={"stark": 21}), "stark cannot have 21 Power"),
        (Partial(power={"stark": 15}, pool={"stark": 6}), "stark has more than 20 Power tokens"),
        (Partial(units={"winterfell": Force("stark", {"siege-engine": 3})}), "stark has no 1 more siege-engine"),
        (Partial(decks={"wildling": ("mammoth-riders", "mammoth-riders")}), "mammoth-riders is not in the wildling"),
        (
            Partial(decks={"I": ("w1-supply",)}),
            "decks: unknown: I; known are wildling, tides, westeros-1, westeros-2, westeros-3",
        ),
        (Partial(stated={"II": (("w2-game-of-thrones",),)}), "stated: unknown: II; known are wildling"),
        (Partial(westeros_discards={"III": ()}), "westeros_discards: unknown: III; known are wildling"),
        (Partial(westeros_cards={"I": "w1-supply"}), "westeros_cards: unknown: I; known are wildling"),
        (Partial(at=Where("combat/retreat")), "where is the combat"),
        (Partial(at=Where("combat/casualties"), fight=FIGHT), "who has won the combat"),
        (Partial(at=Where("combat/retreat"), fight=FIGHT), "who has won the combat"),
        (_fighting(winner="tyrell"), "tyrell cannot win a combat of lannister and stark"),
        (_fighting(defender="lannister"), "lannister does not fight against itself"),
        (_fighting(cards={"stark": "nobody"}), "unknown: nobody"),
        (_fighting(support={"essos": "attacker"}), "unknown: essos"),
        (_open("cards", "westeros-1", "w1-winter-is-coming"), "w1-winter-is-coming does not stay open"),
        (_open("threat", "westeros-2", "w2-winter-is-coming"), "w2-winter-is-coming does not stay open"),
        (
            Partial(at=Where("westeros/clash-of-kings"), westeros_discards={"westeros-2": ("w2-clash-of-kings",) * 3}),
            "w2-clash-of-kings cannot lie open",
        ),
    ],
)
def test_what_contradicts_itself_is_refused(partial: Partial, problem: str) -> None:
    with pytest.raises(PositionError, match=problem):
        complete(partial, "second-edition")


def test_what_was_filled_in_is_noted() -> None:
    notes = complete(Partial(), "second-edition").notes
    assert "players: all Houses" in notes
    assert any(note.startswith("neutral forces as at set-up") for note in notes)
    assert any(note.startswith("Power 5") for note in notes)
