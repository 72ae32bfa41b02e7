"""Battles and House cards by the first edition's book (its section 15), rule by rule, and whole games of it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest

from domain.kernel import facts as kernel
from domain.kernel.commands import PassDeadline
from domain.thrones.bots import TEMPERAMENTS, Bot
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from domain.thrones.language.evolve import evolve
from domain.thrones.language.start import Start
from domain.thrones.language.state import State
from domain.thrones.rules.combat.cards.house_cards import FIRST_TEXTS
from domain.thrones.ruleset import THRONES, rules_by
from domain.thrones.tables.charter import AS_PRINTED, Charter, Switches, Variations
from domain.thrones.tables.editions.composed import CORRESPONDENCES, FIRST, compose
from domain.thrones.tables.variations import FIRST_EDITION
from tests.domain.thrones.given import (
    BARATHEON,
    CAMP,
    FIELD,
    GREYJOY,
    LANNISTER,
    MARTELL,
    STARK,
    TYRELL,
    Scene,
    battle,
    given,
    march,
)
from tests.domain.thrones.properties import SUPPLY_TABLE
from tests.domain.thrones.rules.test_options import agree

replace = msgspec.structs.replace
ROOT = Path(__file__).parents[4]
FACTS = json.loads((ROOT / "docs/rules/facts/agot1e.json").read_text(encoding="utf-8"))
CARDS: dict[str, dict[str, Any]] = {card["id"]: card for card in FACTS["house_cards"]}
PLAIN = {
    STARK: "house-mormont-lord",
    LANNISTER: "tyrion-lannister",
    BARATHEON: "ser-axell-florent",
    GREYJOY: "aeron-damphair",
    TYRELL: "margaery-tyrell",
}
"""A card without a text of each House; all but Lannister's of strength 1."""


def first(attacker: str, defender: str, *, variations: Variations = FIRST_EDITION, **more: Any) -> Scene:
    """A battle on the first edition's board."""
    return battle(attacker, defender, players=5, variations=variations, **more)


def plainly(scene: Scene, **cards: str) -> Scene:
    """Fight it out with cards that have no text, but for those said by House."""
    return scene.fight({**PLAIN, **cards})


def lines(scene: Scene, house: str, group: str, stage: str = "final") -> list[f.Line]:
    """The lines of a group in what was last counted for a House."""
    counted = [fact for fact in scene.of(f.StrengthCounted) if (fact.house, fact.stage) == (house, stage)][-1]
    return [line for line in counted.lines if line.group == group]


# Strength (1E-BAT-1 to 1E-BAT-9)


def test_units_order_and_support_make_the_initial_strength() -> None:
    scene = first(
        LANNISTER,
        STARK,
        attacking="2 footman, knight",
        defending="footman",
        order="march-plus-1",
        orders={FIELD: "defense-plus-2", "blackwater": "support-plus-1"},
        others={"blackwater": "lannister: footman"},
    )
    scene.when(c.Support(LANNISTER, area=FIELD, orders={"blackwater": "attacker"}))
    assert scene.strength(LANNISTER, "initial") == 2 + 2 + 1 + 1 + 1
    assert scene.strength(STARK, "initial") == 1 + 2
    scene.citing("1E-BAT-1", "1E-BAT-2", "1E-BAT-3", "1E-BAT-5", "1E-ORD-1", "1E-ORD-3")


@pytest.mark.parametrize("order", ["support-plus-1", "raid-star", "consolidate-star", "march-plus-1"])
def test_no_order_but_defense_helps_a_defender(order: str) -> None:
    scene = first(LANNISTER, STARK, orders={FIELD: order}).fight(until="house-card")
    assert scene.strength(STARK, "initial") == 2
    scene.citing("1E-BAT-4")


def test_both_choose_a_card_in_secret_when_the_strengths_are_known() -> None:
    scene = first(LANNISTER, STARK)
    assert {decision.player for decision in scene.owed} == {LANNISTER, STARK}
    assert all(decision.kind == "house-card" and decision.secret for decision in scene.owed)
    assert len(scene.of(f.StrengthCounted)) == 2
    plainly(scene).citing("1E-BAT-6", "1E-DP-15", "1E-HC-2")
    assert scene.state.combat is None


def test_the_blade_adds_one_once_a_round() -> None:
    scene = first(LANNISTER, STARK, tracks={"fiefdoms": (STARK,)})
    scene.fight(PLAIN, blade_strength="use").citing("1E-BAT-7")
    assert scene.strength(STARK) == 2 + 1 + 1
    again = first(LANNISTER, STARK, tracks={"fiefdoms": (STARK,)}, used=("valyrian-steel-blade",))
    assert plainly(again).strength(STARK) == 2 + 1


@pytest.mark.parametrize(("combat", "strength", "winner"), [("first", -1, LANNISTER), ("second", 0, STARK)])
def test_strength_has_no_floor(combat: Any, strength: int, winner: str) -> None:
    """Only a charter with Siege Engines comes below 0: they count nothing where there is no city."""
    scene = first(
        STARK,
        LANNISTER,
        attacking="siege-engine",
        defending="routed-footman",
        order="march-minus-1",
        variations=replace(FIRST_EDITION, combat=combat, siege_engines="on"),
        tracks={"fiefdoms": (STARK,)},
        used=("valyrian-steel-blade",),
        hands={STARK: (), LANNISTER: ()},
    ).fight()
    assert scene.strength(STARK) == strength and scene.strength(LANNISTER) == 0
    assert scene.winner == winner
    assert ("1E-BAT-8" in scene.cited) is (combat == "first")
    assert ("2E-CBT-27" in scene.cited) is (combat == "second")


@pytest.mark.parametrize("higher", [STARK, LANNISTER])
def test_a_tie_goes_by_the_fiefdoms_track(higher: str) -> None:
    scene = first(LANNISTER, STARK, defending="3 footman", tracks={"fiefdoms": (higher,)})
    plainly(scene).citing("1E-BAT-9")
    assert scene.strength(LANNISTER) == scene.strength(STARK) == 4
    assert scene.winner == higher


# The end of a battle (1E-BAT-10 to 1E-BAT-13)


def test_a_winning_attacker_takes_the_area_and_what_lay_there_goes() -> None:
    scene = first(
        LANNISTER,
        STARK,
        attacking="4 footman",
        orders={FIELD: "support-0-a"},
        power_tokens={FIELD: STARK},
    )
    plainly(scene).then(
        f.OrderRemoved(house=STARK, area=FIELD, order="support-0-a"),
        f.UnitsArrived(house=LANNISTER, to=FIELD, units={"footman": 4}),
        f.PowerTokenRemoved(house=STARK, area=FIELD),
        f.OrderResolved(house=LANNISTER, area=CAMP, order="march-0"),
    )
    scene.citing("1E-BAT-10", "1E-BAT-11", "1E-MARCH-7")
    assert scene.at(FIELD) == "lannister: 4 footman"
    assert CAMP not in scene.state.orders and FIELD not in scene.state.orders


def test_a_winning_defender_keeps_his_order_and_his_token() -> None:
    scene = first(LANNISTER, STARK, defending="4 footman", orders={FIELD: "support-0-a"}, power_tokens={FIELD: STARK})
    plainly(scene)
    assert scene.state.orders[FIELD].token == "support-0-a" and scene.state.power_tokens[FIELD] == STARK
    assert CAMP not in scene.state.orders


@pytest.mark.parametrize(("combat", "stays"), [("first", False), ("second", True)])
def test_a_token_goes_even_when_nobody_is_left_to_enter(combat: Any, stays: bool) -> None:
    """Skulls of Tides of Battle may leave a winner without units."""
    scene = first(
        LANNISTER,
        STARK,
        attacking="footman",
        defending="routed-footman",
        power_tokens={FIELD: STARK},
        tides=("tides-skull", "tides-skull"),
        variations=replace(FIRST_EDITION, combat=combat),
    )
    plainly(scene)
    assert scene.winner == LANNISTER and scene.at(FIELD) == "" and scene.at(CAMP) == ""
    assert (scene.state.power_tokens.get(FIELD) == STARK) is stays


def test_the_battle_ends_with_the_defenders_last_unit() -> None:
    scene = first(
        TYRELL,
        STARK,
        attacking="footman",
        defending="footman",
        orders={FIELD: "defense-plus-2"},
        power_tokens={FIELD: STARK},
        tracks={"fiefdoms": (STARK,)},
    )
    plainly(scene, tyrell="ser-loras-tyrell", stark="eddard-stark").then(
        f.AbilityResolved(house=TYRELL, card="ser-loras-tyrell"),
        f.UnitsDestroyed(house=STARK, area=FIELD, units={"footman": 1}),
        f.CombatStopped(house=STARK),
        f.CombatDecided(winner=TYRELL, loser=STARK, totals={TYRELL: 0, STARK: 0}, tie=False),
        f.OrderRemoved(house=STARK, area=FIELD, order="defense-plus-2"),
        f.UnitsArrived(house=TYRELL, to=FIELD, units={"footman": 1}),
        f.PowerTokenRemoved(house=STARK, area=FIELD),
    )
    scene.never(f.BladeAdded, f.CasualtiesCounted, f.IconsCounted).citing("1E-BAT-12")
    assert scene.state.discards[TYRELL] == ("ser-loras-tyrell",) and scene.state.discards[STARK] == ("eddard-stark",)
    assert not {"2E-HCT-1", "2E-CBT-29"} & scene.cited


def test_the_battle_ends_with_the_attackers_last_unit() -> None:
    scene = first(STARK, TYRELL, attacking="footman", defending="knight", orders={FIELD: "raid-a"})
    plainly(scene, tyrell="ser-loras-tyrell", stark="eddard-stark")
    assert scene.winner == TYRELL
    assert scene.at(FIELD) == "tyrell: knight" and scene.at(CAMP) == ""
    assert scene.state.orders[FIELD].token == "raid-a" and CAMP not in scene.state.orders


@pytest.mark.parametrize(("switch", "stopped"), [("continue", False), ("end", True)])
def test_by_the_second_edition_the_switch_decides_whether_it_ends(switch: str, stopped: bool) -> None:
    scene = first(
        TYRELL,
        STARK,
        attacking="footman",
        defending="footman",
        variations=replace(FIRST_EDITION, combat="second"),
        mace_last_unit=switch,
    )
    plainly(scene, tyrell="ser-loras-tyrell")
    assert bool(scene.of(f.CombatStopped)) is stopped
    assert ("2E-CBT-29" in scene.cited) is stopped


def test_routed_units_alone_defend() -> None:
    scene = first(
        LANNISTER, STARK, attacking="footman", defending="2 routed-knight", orders={FIELD: "defense-plus-1-a"}
    )
    plainly(scene, stark="eddard-stark").citing("1E-BAT-13")
    assert scene.strength(STARK) == 0 + 1 + 3 and scene.winner == STARK
    assert scene.at(FIELD) == "stark: 2 routed-knight"


# Support (1E-SUPP)


def supported(support: Mapping[str, str], orders: Mapping[str, str], **more: Any) -> Scene:
    return first(LANNISTER, STARK, others=dict(support), orders=dict(orders), **more)


def test_support_is_whole_and_counts_in_any_number_of_battles() -> None:
    scene = supported({"blackwater": "tyrell: 2 footman, knight"}, {"blackwater": "support-plus-1"})
    decision = scene.asks("support")
    assert decision.options.orders == {"blackwater": ("attacker", "defender", "withhold")}
    scene.fight(PLAIN, support={"orders": {"blackwater": "defender"}}).citing("1E-SUPP-1", "1E-DP-13")
    assert scene.strength(STARK) == 2 + 1 + (4 + 1)
    assert scene.state.orders["blackwater"].token == "support-plus-1", "it stays for other battles (1E-SUPP-2)"


def test_nobody_supports_an_enemy_against_himself() -> None:
    scene = supported({"blackwater": "stark: footman"}, {"blackwater": "support-0-a"})
    decision = scene.asks("support")
    assert decision.options.orders == {"blackwater": ("defender", "withhold")}
    assert "1E-SUPP-3" in decision.options.rules
    scene.refused(replace(decision.default, orders={"blackwater": "attacker"}), "not-an-option", "1E-SUPP-3")


def test_a_combatant_may_decline_support() -> None:
    scene = supported({"blackwater": "tyrell: 2 footman"}, {"blackwater": "support-0-a"})
    scene.fight(until="accept-support", support={"orders": {"blackwater": "attacker"}})
    assert scene.owed[0].player == LANNISTER and "1E-SUPP-4" in scene.owed[0].rules
    scene.fight(PLAIN, accept_support={"orders": {"blackwater": False}})
    assert scene.strength(LANNISTER) == 2 + 2


def test_ships_support_land_and_sea_but_land_units_never_the_sea() -> None:
    land = supported({"the-golden-sound": "tyrell: 2 ship"}, {"the-golden-sound": "support-0-a"})
    land.fight(PLAIN, support={"orders": {"the-golden-sound": "defender"}}).citing("1E-SUPP-5", "1E-SUPP-6")
    assert land.strength(STARK) == 2 + 1 + 2
    sea = first(
        LANNISTER,
        STARK,
        attacking="ship",
        defending="ship",
        origin="the-golden-sound",
        area="sunset-sea",
        others={"ironmans-bay": "tyrell: ship", FIELD: "tyrell: knight", "redwyne-straights": "tyrell: ship"},
        orders={"ironmans-bay": "support-0-a", FIELD: "support-0-b", "redwyne-straights": "raid-a"},
    )
    assert list(sea.asks("support").options.orders) == ["ironmans-bay"]


def test_transport_makes_nobody_a_supporter() -> None:
    scene = supported({"the-golden-sound": "tyrell: ship", "riverrun": "tyrell: knight"}, {"riverrun": "support-0-a"})
    scene.asks("house-card")


def test_routed_units_add_nothing_to_support() -> None:
    scene = supported({"blackwater": "lannister: footman, routed-knight"}, {"blackwater": "support-plus-1"})
    plainly(scene).citing("1E-SUPP-7")
    assert sum(line.amount for line in lines(scene, LANNISTER, "support")) == 1 + 0 + 1


@pytest.mark.parametrize(
    ("variations", "order"),
    [
        (FIRST_EDITION, [LANNISTER, STARK, TYRELL, GREYJOY]),
        (replace(FIRST_EDITION, combat="second"), [LANNISTER, STARK, TYRELL, GREYJOY]),
    ],
)
def test_all_declare_in_turn_order_combatants_and_others_alike(variations: Variations, order: list[str]) -> None:
    places = {"blackwater": "stark", "the-reach": "greyjoy", "highgarden": "tyrell", "lannisport": "lannister"}
    scene = first(
        LANNISTER,
        STARK,
        variations=variations,
        others={area: f"{house}: footman" for area, house in places.items()},
        orders=dict.fromkeys(places, "support-0-a"),
    )
    plainly(scene)
    assert [fact.house for fact in scene.of(f.SupportDeclared)] == order
    assert ("1E-SUPP-8" in scene.cited) is (variations.combat == "first")


# Rains of Autumn (1E-WCARD-11)


def test_in_the_rain_footmen_add_nothing_in_support() -> None:
    board = {"blackwater": "lannister: 2 footman, knight", "the-golden-sound": "lannister: ship"}
    orders = {"blackwater": "support-plus-1", "the-golden-sound": "support-0-a"}
    scene = plainly(supported(board, orders, prohibited=("footmen-in-support",)))
    assert sum(line.amount for line in lines(scene, LANNISTER, "support")) == 0 + 2 + 1 + 1
    assert sum(line.amount for line in lines(scene, LANNISTER, "units")) == 2, "those that fight are as strong as ever"
    scene.citing("1E-WCARD-11")


def test_in_the_rain_footmen_do_not_help_to_support_against_a_neutral_force() -> None:
    """By the second edition's way, where own support counts with the declaration."""
    variations = replace(FIRST_EDITION, neutral_attack="second")
    board = {CAMP: "lannister: 3 footman, knight", "blackwater": "lannister: footman"}
    scene = given(
        board,
        players=5,
        orders={CAMP: "march-0", "blackwater": "support-0-a"},
        turn=LANNISTER,
        neutral={FIELD: 4},
        variations=variations,
        prohibited=("footmen-in-support",),
    )
    joining = march(LANNISTER, CAMP, (FIELD, "footman, knight"), ("blackwater", "2 footman"))
    scene.refused(joining, "too-weak")
    scene.when(march(LANNISTER, CAMP, (FIELD, "2 footman, knight"), ("blackwater", "footman")))
    assert scene.at(FIELD) == "lannister: 2 footman, knight"


# The order of abilities (1E-HC-3)


@pytest.mark.parametrize(
    ("ability_order", "sequence", "rule"),
    [
        ("iron-throne", ["doran-martell", "mace-tyrell"], "2E-HCX-1"),
        ("fiefdoms", ["mace-tyrell", "doran-martell"], "1E-HC-3"),
    ],
)
def test_abilities_of_one_moment_go_by_the_track_agreed_on(ability_order: Any, sequence: list[str], rule: str) -> None:
    scene = battle(MARTELL, TYRELL, variations=replace(AS_PRINTED, ability_order=ability_order))
    scene.fight({MARTELL: "doran-martell", TYRELL: "mace-tyrell"}).citing(rule)
    assert [fact.card for fact in scene.of(f.AbilityResolved)] == sequence


def test_what_cancels_comes_before_what_applies_at_once() -> None:
    """Whoever is higher on the Fiefdoms track; only Tyrell has both, so the opponent's card is from the other book."""
    scene = first(STARK, TYRELL, tracks={"fiefdoms": (STARK,)})
    plainly(scene, stark="robb-stark", tyrell="queen-of-thorns").then(
        f.HouseCardsRevealed(cards={STARK: "robb-stark", TYRELL: "queen-of-thorns"}),
        f.AbilityResolved(house=TYRELL, card="queen-of-thorns"),
        f.AbilityCancelled(house=STARK, card="robb-stark"),
    )
    scene.citing("1E-HC-3", "1E-HC-6")


# The 35 cards


def test_the_first_edition_has_35_cards_with_texts_of_its_own() -> None:
    assert set(FIRST_TEXTS) == set(CARDS) and len(CARDS) == 35
    assert {card for card, text in FIRST_TEXTS.items() if text.effects} == {
        card for card, figures in CARDS.items() if figures["ability"]
    }
    rules = {text.rule for text in FIRST_TEXTS.values()}
    assert all(rule.startswith("1E-HC-") for rule in rules)


@pytest.mark.parametrize("card", sorted(CARDS))
def test_a_card_gives_what_is_printed_on_it(card: str) -> None:
    figures = CARDS[card]
    house = figures["house"]
    other = STARK if house != STARK else LANNISTER
    scene = plainly(first(house, other, attacking="2 ship", defending="2 ship", origin="the-golden-sound",
                          area="sunset-sea"), **{house: card})  # fmt: skip
    assert scene.card_strength(house) == figures["strength"]
    assert scene.icons(house) == (figures["swords"], figures["fortifications"])
    assert card in scene.state.discards[house] and card not in scene.state.hands[house]
    scene.citing("1E-HC-1", FIRST_TEXTS[card].rule, "1E-USED-1")


RAISED = [
    (STARK, "robb-stark", "knight", CAMP, FIELD, "blackwater"),
    (GREYJOY, "victarion-greyjoy", "ship", "the-golden-sound", "sunset-sea", "ironmans-bay"),
    (LANNISTER, "vargo-hoat", "footman", CAMP, FIELD, "blackwater"),
]


@pytest.mark.parametrize(("house", "card", "unit", "origin", "area", "beside"), RAISED)
def test_attacking_units_are_raised_and_supporters_are_not(
    house: str, card: str, unit: str, origin: str, area: str, beside: str
) -> None:
    other = TYRELL
    worth = {"knight": 2, "ship": 1, "footman": 1}[unit]
    stands = {"attacking": f"2 {unit}", "defending": "ship" if unit == "ship" else "footman"}
    scene = first(
        house, other, origin=origin, area=area, others={beside: f"{house}: {unit}"}, orders={beside: "support-0-a"},
        **stands,
    )  # fmt: skip
    plainly(scene, **{house: card}).citing("1E-HC-5")
    assert sum(line.amount for line in lines(scene, house, "units")) == 2 * (worth + 1)
    assert sum(line.amount for line in lines(scene, house, "support")) == worth
    defends = first(other, house, origin=origin, area=area, attacking=stands["defending"], defending=f"2 {unit}")
    plainly(defends, **{house: card})
    assert sum(line.amount for line in lines(defends, house, "units")) == 2 * worth


def test_catelyn_counts_her_defense_twice() -> None:
    scene = first(LANNISTER, STARK, orders={FIELD: "defense-plus-2"})
    plainly(scene, stark="catelyn-stark")
    assert scene.strength(STARK) == 2 + 2 + 2 + 0
    attacks = plainly(first(STARK, LANNISTER, order="march-plus-1"), stark="catelyn-stark")
    assert attacks.strength(STARK) == 2 + 1


def test_balon_takes_the_printed_strength_and_leaves_the_icons() -> None:
    scene = plainly(first(GREYJOY, LANNISTER), greyjoy="balon-greyjoy", lannister="tywin-lannister")
    assert scene.strength(LANNISTER) == 2 and scene.icons(LANNISTER) == (2, 0)
    scene.citing("1E-HC-4")


def test_salladhor_takes_ships_that_support_the_opponent_only() -> None:
    scene = first(
        BARATHEON,
        STARK,
        attacking="2 ship",
        defending="2 ship",
        origin="the-golden-sound",
        area="sunset-sea",
        others={"ironmans-bay": "stark: 2 ship", "redwyne-straights": "tyrell: 2 ship"},
        orders={"ironmans-bay": "support-plus-1", "redwyne-straights": "support-0-a"},
    )
    scene.fight(
        {**PLAIN, BARATHEON: "salladhor-saan"},
        support={"orders": {"ironmans-bay": "defender", "redwyne-straights": "attacker"}},
    )
    assert scene.strength(STARK) == 2 + 1 + (0 + 1), "those that fight count, and so does the special token"
    assert scene.strength(BARATHEON) == 2 + 0 + 2
    scene.citing("1E-HC-4")


def test_jaime_gains_two_power_when_he_wins() -> None:
    won = plainly(first(LANNISTER, STARK, attacking="4 footman"), lannister="ser-jaime-lannister")
    won.then(f.PowerChanged(house=LANNISTER, by=2))
    lost = plainly(first(LANNISTER, STARK, defending="4 knight"), lannister="ser-jaime-lannister")
    lost.never(f.PowerChanged)


def test_brienne_discards_the_defense_order_she_attacks() -> None:
    scene = first(TYRELL, STARK, orders={FIELD: "defense-plus-2"})
    plainly(scene, tyrell="brienne-of-tarth", stark="catelyn-stark").then(
        f.AbilityResolved(house=TYRELL, card="brienne-of-tarth"),
        f.OrderRemoved(house=STARK, area=FIELD, order="defense-plus-2", by=TYRELL),
    )
    assert scene.strength(STARK) == 2, "Catelyn has nothing left to count twice"


@pytest.mark.parametrize(
    ("attacker", "defender", "orders"),
    [(TYRELL, STARK, {FIELD: "support-0-a"}), (TYRELL, STARK, {}), (STARK, TYRELL, {FIELD: "defense-plus-1-a"})],
)
def test_brienne_does_nothing_else(attacker: str, defender: str, orders: dict[str, str]) -> None:
    scene = first(attacker, defender, attacking="footman", defending="4 footman", orders=orders)
    plainly(scene, tyrell="brienne-of-tarth").never(f.AbilityResolved)
    assert set(scene.state.orders) >= set(orders)


CANCELLED = [
    (LANNISTER, "ser-jaime-lannister", f.PowerChanged),
    (LANNISTER, "cersei-lannister", f.AbilityResolved),
    (GREYJOY, "asha-greyjoy", f.AbilityResolved),
    (STARK, "maester-luwin", f.CardsTaken),
]


@pytest.mark.parametrize(("house", "card", "fact"), CANCELLED)
def test_queen_of_thorns_cancels_what_would_come_after_a_victory(house: str, card: str, fact: type[Any]) -> None:
    full = CARDS[card]
    hands = {house: tuple(one for one in CARDS if CARDS[one]["house"] == house and one != "eddard-stark")}
    board = {"blackwater": "tyrell: footman"}
    scene = first(house, TYRELL, attacking="4 knight", others=board, orders={"blackwater": "support-0-a"}, hands=hands)
    scene.fight({house: card, TYRELL: "queen-of-thorns"}).then(f.AbilityCancelled(house=house, card=card))
    assert scene.winner == house and scene.strength(house) == 8 + full["strength"]
    assert not [one for one in scene.of(fact) if getattr(one, "card", card) == card]
    assert scene.state.orders["blackwater"].token == "support-0-a"
    assert card in scene.state.discards[house]


def test_queen_of_thorns_leaves_strength_and_icons() -> None:
    scene = first(STARK, TYRELL, attacking="2 knight")
    plainly(scene, stark="robb-stark", tyrell="queen-of-thorns").citing("1E-HC-6")
    assert scene.strength(STARK) == 4 + 2
    catelyn = first(TYRELL, STARK, orders={FIELD: "defense-plus-1-a"})
    assert plainly(catelyn, stark="catelyn-stark", tyrell="queen-of-thorns").strength(STARK) == 2 + 1
    balon = first(TYRELL, GREYJOY)
    plainly(balon, greyjoy="balon-greyjoy", tyrell="queen-of-thorns")
    assert balon.card_strength(GREYJOY) == 0
    plain = first(TYRELL, STARK)
    plainly(plain, stark="eddard-stark", tyrell="queen-of-thorns").never(f.AbilityCancelled, f.AbilityResolved)
    assert plain.icons(STARK) == (0, 2)


def test_loras_may_take_a_routed_footman_and_lets_the_knights_fight_on() -> None:
    scene = first(TYRELL, STARK, defending="footman, routed-footman, knight")
    scene.fight({TYRELL: "ser-loras-tyrell", STARK: "eddard-stark"}, until="loras-footman")
    assert scene.words("loras-footman") == ("footman", "routed-footman")
    assert scene.owed[0].default.choice == "footman"
    scene.fight(loras_footman="routed-footman")
    assert scene.strength(STARK) == 1 + 2 + 3
    knights = first(TYRELL, STARK, defending="2 knight")
    plainly(knights, tyrell="ser-loras-tyrell", stark="catelyn-stark")
    knights.never(f.UnitsDestroyed)
    assert knights.strength(STARK) == 4 + 0


def test_luwin_takes_back_a_used_card_but_not_himself() -> None:
    hand = ("maester-luwin", "catelyn-stark")
    scene = first(STARK, LANNISTER, attacking="4 knight", hands={STARK: hand})
    scene.fight({STARK: "maester-luwin", LANNISTER: PLAIN[LANNISTER]}, until="luwin-retrieve")
    used = {card for card, figures in CARDS.items() if figures["house"] == STARK} - set(hand)
    assert set(scene.words("luwin-retrieve")) == {"none", *used}
    scene.fight(luwin_retrieve="eddard-stark").citing("1E-HC-7", "1E-DP-16")
    assert set(scene.state.hands[STARK]) == {"catelyn-stark", "eddard-stark"}
    assert "maester-luwin" in scene.state.discards[STARK]


def test_luwin_has_nothing_to_take_back_at_first() -> None:
    plainly(first(STARK, LANNISTER, attacking="4 knight"), stark="maester-luwin").never(f.CardsTaken)


def test_melisandre_is_paid_and_chooses_from_the_losers_hand() -> None:
    scene = first(BARATHEON, STARK, attacking="4 knight", power={BARATHEON: 1})
    scene.fight({BARATHEON: "melisandre-of-asshai", STARK: "eddard-stark"}, until="melisandre-discard")
    assert "eddard-stark" not in scene.words("melisandre-discard")
    assert set(scene.words("melisandre-discard")) == {"none", *scene.state.hands[STARK]}
    scene.fight(melisandre_discard="robb-stark").then(
        f.PowerChanged(house=BARATHEON, by=-1), f.CardsDiscarded(house=STARK, cards=("robb-stark",))
    )
    assert scene.state.power[BARATHEON] == 0
    assert set(scene.state.discards[STARK]) == {"robb-stark", "eddard-stark"}
    scene.citing("1E-HC-8")


@pytest.mark.parametrize(("power", "asked"), [(0, False), (5, True)])
def test_melisandre_does_nothing_unpaid(power: int, asked: bool) -> None:
    scene = first(BARATHEON, STARK, attacking="4 knight", power={BARATHEON: power})
    scene.fight({**PLAIN, BARATHEON: "melisandre-of-asshai"}, until="melisandre-discard")
    assert (scene.state.combat is not None) is asked
    scene.fight()
    assert scene.state.power[BARATHEON] == power
    assert scene.state.discards[STARK] == (PLAIN[STARK],)


def test_renly_makes_a_knight_of_a_footman_that_fought() -> None:
    board = {"blackwater": "baratheon: footman"}
    scene = first(BARATHEON, STARK, attacking="4 footman", others=board, orders={"blackwater": "support-0-a"})
    scene.fight({**PLAIN, BARATHEON: "renly-baratheon"}, until="renly-upgrade")
    assert scene.words("renly-upgrade") == ("none", f"{FIELD} footman"), "supporters do not fight"
    scene.fight(renly_upgrade=f"{FIELD} footman")
    assert scene.at(FIELD) == "baratheon: 3 footman, knight"
    none_left = first(BARATHEON, STARK, attacking="3 footman", others={"blackwater": "baratheon: 4 knight"})
    none_left.fight({**PLAIN, BARATHEON: "renly-baratheon"}, until="renly-upgrade")
    assert none_left.state.combat is None, "there is no Knight left to ask about"
    assert none_left.at(FIELD) == "baratheon: 3 footman"


def test_renly_defends_with_routed_footmen_too() -> None:
    scene = first(STARK, BARATHEON, attacking="footman", defending="footman, routed-footman, 2 knight")
    scene.fight({**PLAIN, BARATHEON: "renly-baratheon"}, until="renly-upgrade")
    scene.fight(renly_upgrade=f"{FIELD} routed-footman")
    assert scene.at(FIELD) == "baratheon: footman, 2 knight, routed-knight"


def test_asha_takes_any_houses_support_or_consolidate_beside_the_battle() -> None:
    board = {
        "blackwater": "tyrell: footman",
        "highgarden": "stark: footman",
        "the-reach": "lannister: footman",
        "the-golden-sound": "stark: ship",
        "lannisport": "greyjoy: footman",
        "harrenhal": "stark: footman",
    }
    orders = {
        "blackwater": "support-0-a",
        "highgarden": "consolidate-a",
        "the-reach": "raid-a",
        "the-golden-sound": "support-0-a",
        "lannisport": "support-0-b",
        "harrenhal": "support-0-b",
    }
    scene = first(GREYJOY, STARK, attacking="4 knight", others=board, orders=orders)
    scene.fight({**PLAIN, GREYJOY: "asha-greyjoy"}, until="asha-order")
    assert scene.words("asha-order") == ("none", "blackwater", "highgarden", "the-golden-sound")
    scene.fight(asha_order="blackwater").then(
        f.OrderRemoved(house=TYRELL, area="blackwater", order="support-0-a", by=GREYJOY)
    )
    scene.citing("1E-HC-9")


def test_asha_finds_orders_on_land_and_sea_but_not_in_ports() -> None:
    board = {
        "port-of-lannisport": "lannister: ship",
        "sunset-sea": "lannister: ship",
        "lannisport": "lannister: footman",
    }
    scene = first(
        GREYJOY,
        STARK,
        attacking="4 ship",
        defending="ship",
        origin="ironmans-bay",
        area="the-golden-sound",
        others=board,
        orders=dict(zip(sorted(board), ("support-0-a", "support-0-b", "support-plus-1"), strict=True)),
        variations=replace(FIRST_EDITION, ports="on"),
    )
    scene.fight({**PLAIN, GREYJOY: "asha-greyjoy"}, until="asha-order")
    assert scene.words("asha-order") == ("none", "lannisport", "sunset-sea")


def test_asha_may_leave_everything() -> None:
    scene = first(
        GREYJOY, STARK, attacking="4 knight", others={"blackwater": "tyrell: footman"},
        orders={"blackwater": "support-0-a"},
    )  # fmt: skip
    plainly(scene, greyjoy="asha-greyjoy")
    assert "blackwater" in scene.state.orders


def test_cersei_must_remove_an_order_of_the_loser() -> None:
    scene = first(
        LANNISTER,
        STARK,
        attacking="4 knight",
        others={"winterfell": "stark: footman", "blackwater": "tyrell: footman"},
        orders={FIELD: "raid-a", "winterfell": "march-0", "blackwater": "raid-b"},
    )
    scene.fight({**PLAIN, LANNISTER: "cersei-lannister"}, until="cersei-order")
    assert scene.words("cersei-order") == (FIELD, "winterfell")
    scene.refused(replace(scene.owed[0].default, choice="none"), "not-an-option", "1E-HC-10")
    scene.fight(cersei_order="winterfell").citing("1E-HC-10")
    assert set(scene.state.orders) == {"blackwater", "the-eyrie"}


def test_cersei_may_name_the_march_of_a_beaten_attacker() -> None:
    """It lies in the embattled area by the book (1E-MARCH-7), and is all that he has."""
    scene = first(STARK, LANNISTER, defending="4 knight")
    plainly(scene, lannister="cersei-lannister")
    scene.then(f.OrderRemoved(house=STARK, area=CAMP, order="march-0", by=LANNISTER)).never(f.OrderResolved)
    without = first(LANNISTER, STARK, attacking="4 knight")
    plainly(without, lannister="cersei-lannister").never(f.OrderRemoved)


# Casualties (1E-CAS)


def test_casualties_are_swords_less_fortifications_and_the_losers_choice() -> None:
    scene = first(LANNISTER, STARK, attacking="4 knight", defending="2 footman, 2 knight")
    scene.fight({LANNISTER: "tywin-lannister", STARK: "ser-rodrick-cassel"}, until="casualties")
    decision = scene.asks("casualties")
    assert decision.player == STARK and decision.options.units == {"footman": 2, "knight": 2}
    scene.fight(casualties={"units": {"knight": 1}}).citing("1E-CAS-1", "1E-CAS-2")
    scene.then(f.UnitsDestroyed(house=STARK, area=FIELD, units={"knight": 1}))
    spared = first(LANNISTER, STARK, attacking="4 knight")
    spared.fight({LANNISTER: "house-lannister-captain", STARK: "eddard-stark"}).never(f.UnitsDestroyed)


def test_only_the_loser_takes_casualties_and_supporters_never_do() -> None:
    board = {"blackwater": "stark: footman"}
    scene = first(
        LANNISTER,
        STARK,
        attacking="4 knight",
        defending="2 knight",
        others=board,
        orders={"blackwater": "support-0-a"},
    )
    scene.fight({LANNISTER: "tywin-lannister", STARK: "greatjon-umber"}).citing("1E-BAT-10", "1E-CAS-4")
    assert scene.at("blackwater") == "stark: footman" and scene.at(FIELD) == "lannister: 4 knight"
    assert [fact.house for fact in scene.of(f.UnitsDestroyed)] == [STARK]


def test_the_routed_are_no_casualties_and_die_when_they_must_retreat() -> None:
    scene = first(LANNISTER, STARK, attacking="4 knight", defending="2 footman, routed-knight")
    scene.fight({LANNISTER: "house-lannister-captain", STARK: "greatjon-umber"})
    scene.then(
        f.UnitsDestroyed(house=STARK, area=FIELD, units={"footman": 1}),
        f.UnitsDestroyed(house=STARK, area=FIELD, units={"routed-knight": 1}),
    )
    scene.citing("1E-CAS-3", "1E-RET-8")
    assert sum(force.house == STARK and "routed-footman" in force.units for force in scene.state.units.values()) == 1


# Retreat (1E-RET)


def test_beaten_attackers_go_back_to_where_they_came_from_and_are_routed() -> None:
    scene = plainly(first(LANNISTER, STARK, defending="4 knight", attacking="3 footman", marching="2 footman"))
    scene.then(f.UnitsReturned(house=LANNISTER, to=CAMP, units={"footman": 2}, routed=True))
    assert scene.at(CAMP) == "lannister: footman, 2 routed-footman"
    scene.citing("1E-RET-1", "1E-RET-9")


@pytest.mark.parametrize("tokens", [{}, {"highgarden": LANNISTER}])
def test_attackers_go_back_to_an_enemy_home_too(tokens: dict[str, str]) -> None:
    """1E-RET-1 knows no exception; by the second edition's book they die there without a token (2E-RET-3)."""
    scene = first(LANNISTER, STARK, defending="4 knight", origin="highgarden", power_tokens=tokens)
    assert plainly(scene).at("highgarden") == "lannister: 2 routed-footman"
    scene.citing("1E-RET-1")
    other = replace(FIRST_EDITION, combat="second")
    scene = first(LANNISTER, STARK, defending="4 knight", origin="highgarden", power_tokens=tokens, variations=other)
    assert plainly(scene).at("highgarden") == ("lannister: 2 routed-footman" if tokens else "")


def test_a_garrison_keeps_the_beaten_out_of_an_enemy_home() -> None:
    """Where a table plays garrisons, an enemy home with one is not empty."""
    for garrisons, areas in ((), {"highgarden", "lannisport"}), ((TYRELL,), {"lannisport"}):
        scene = first(
            LANNISTER,
            STARK,
            attacking="4 knight",
            variations=replace(FIRST_EDITION, garrisons="on"),
            garrisons=garrisons,
            others={"the-reach": "tyrell: footman", "blackwater": "tyrell: footman"},
        )
        scene.fight(PLAIN, until="retreat-area")
        assert set(scene.of(f.RetreatOffered)[0].areas) == areas


@pytest.mark.parametrize(
    ("others", "more", "areas"),
    [
        ({}, {}, {"blackwater", "highgarden", "lannisport", "the-reach"}),
        ({"highgarden": "tyrell: footman"}, {}, {"blackwater", "lannisport", "the-reach"}),
        ({"blackwater": "tyrell: footman"}, {}, {"highgarden", "lannisport", "the-reach"}),
        ({"blackwater": "stark: footman"}, {}, {"blackwater", "highgarden", "lannisport", "the-reach"}),
        ({}, {"power_tokens": {"blackwater": GREYJOY}}, {"highgarden", "lannisport", "the-reach"}),
        ({}, {"power_tokens": {"highgarden": TYRELL}}, {"blackwater", "lannisport", "the-reach"}),
        (
            {},
            {"power_tokens": {"blackwater": STARK, "highgarden": STARK}},
            {"blackwater", "highgarden", "lannisport", "the-reach"},
        ),
        ({}, {"neutral": {"the-reach": 3}}, {"blackwater", "highgarden", "lannisport"}),
        (
            {"sunset-sea": "stark: ship"},
            {},
            {"blackwater", "flints-finger", "highgarden", "lannisport", "oldtown", "the-reach"},
        ),
        (
            {"the-golden-sound": "stark: routed-ship"},
            {},
            {"blackwater", "highgarden", "lannisport", "riverrun", "the-reach"},
        ),
    ],
)
def test_where_defenders_may_go(others: dict[str, str], more: dict[str, Any], areas: set[str]) -> None:
    scene = first(LANNISTER, STARK, attacking="4 knight", others=others, **more)
    scene.fight(PLAIN, until="retreat-area")
    offered = scene.of(f.RetreatOffered)[0]
    assert set(offered.areas) == areas
    scene.citing("1E-RET-2", "1E-RET-3", "1E-RET-4", "1E-RET-5")
    if len(areas) > 1:
        scene.refused(replace(scene.owed[0].default, choice=CAMP), "not-an-option", "1E-RET-3")
        scene.refused(replace(scene.owed[0].default, choice="harrenhal"), "not-an-option")


def test_defenders_without_a_way_out_are_destroyed() -> None:
    board = dict.fromkeys(("blackwater", "the-reach", "highgarden", "lannisport"), "tyrell: footman")
    scene = first(LANNISTER, STARK, attacking="4 knight", others=board)
    plainly(scene).then(f.UnitsDestroyed(house=STARK, area=FIELD, units={"footman": 2}))
    scene.citing("1E-RET-7")


def test_ships_retreat_to_seas() -> None:
    scene = first(
        LANNISTER, STARK, attacking="4 ship", defending="ship", origin="the-golden-sound", area="sunset-sea",
        others={"ironmans-bay": "greyjoy: ship"},
    )  # fmt: skip
    scene.fight(PLAIN, until="retreat-area")
    assert set(scene.words("retreat-area")) == {"bay-of-ice", "redwyne-straights"}


def test_the_area_that_costs_nobody_comes_first_and_else_the_fewest_die() -> None:
    shut = {"highgarden": TYRELL, "lannisport": LANNISTER}
    free = first(
        LANNISTER,
        STARK,
        attacking="4 knight",
        others={"blackwater": "stark: footman", "winterfell": "stark: 2 footman"},
        supply={STARK: 0},
        power_tokens=shut,
    )
    plainly(free).citing("1E-RET-6").then(f.RetreatOffered(house=STARK, areas=("the-reach",), loss=0))
    # At supply 0 there may be two armies of two, and there are: one unit may go on its own.
    board = {"blackwater": "stark: 2 footman", "winterfell": "stark: 2 footman"}
    full = plainly(first(LANNISTER, STARK, attacking="4 knight", others=board, supply={STARK: 0}, power_tokens=shut))
    full.then(
        f.RetreatOffered(house=STARK, areas=("the-reach",), loss=1),
        f.UnitsDestroyed(house=STARK, area=FIELD, units={"footman": 1}),
    )
    assert full.at("the-reach") == "stark: routed-footman"
    crowded = first(
        LANNISTER,
        STARK,
        attacking="4 knight",
        defending="2 footman",
        others={"blackwater": "stark: footman", "winterfell": "stark: 2 footman", "the-reach": "tyrell: footman"},
        supply={STARK: 0},
        power_tokens=shut,
    )
    crowded.fight(PLAIN, until="retreat-losses")
    assert crowded.of(f.RetreatOffered)[0].loss == 1
    crowded.fight()
    assert crowded.at("blackwater") == "stark: footman, routed-footman"


@pytest.mark.parametrize(
    ("switch", "back"), [("enforce", "lannister: footman"), ("ignore", "lannister: footman, routed-footman")]
)
def test_beaten_attackers_obey_supply_too(switch: str, back: str) -> None:
    """At supply 1 there may be two armies; while one unit fights, another has made the second one elsewhere."""
    scene = given(
        {CAMP: "lannister: 3 footman", "lannisport": "lannister: footman", "riverrun": "lannister: 2 footman",
         FIELD: "stark: 3 knight", "blackwater": "stark: footman"},
        players=5,
        variations=FIRST_EDITION,
        orders={CAMP: "march-0", "blackwater": "march-0"},
        turn=LANNISTER,
        supply={LANNISTER: 1},
        attacker_retreat_supply=switch,
    )  # fmt: skip
    scene.when(march(LANNISTER, CAMP, (FIELD, "footman"), ("lannisport", "footman")))
    assert plainly(scene, stark="catelyn-stark").at(CAMP) == back
    assert ("1E-RET-6" in scene.cited) is (switch == "enforce")


def test_routed_units_stand_up_after_the_last_march() -> None:
    scene = given(
        {CAMP: "stark: footman, routed-footman", FIELD: "stark: footman", "blackwater": "lannister: footman"},
        players=5,
        variations=FIRST_EDITION,
        orders={CAMP: "march-0", FIELD: "consolidate-a"},
        turn=STARK,
    )
    scene.refused(march(STARK, CAMP, ("riverrun", "routed-footman")), "units-cannot-march", "1E-MARCH-6")
    scene.when(march(STARK, CAMP)).citing("1E-RET-10")
    kinds = [type(fact) for fact in scene.facts]
    assert kinds.index(f.UnitsStoodUp) < kinds.index(f.PowerChanged), "before Power is consolidated"
    assert scene.at(CAMP) == "stark: 2 footman"


# Used cards (1E-USED)


@pytest.mark.parametrize(("word", "back"), [("all-but-last", 6), ("all", 7)])
def test_a_house_that_has_used_its_last_card_takes_the_others_back(word: Any, back: int) -> None:
    scene = first(
        STARK, LANNISTER, hands={STARK: ("eddard-stark",)}, variations=replace(FIRST_EDITION, card_return=word)
    )
    plainly(scene, stark="eddard-stark").citing("1E-USED-1", "1E-USED-2")
    assert len(scene.state.hands[STARK]) == back
    assert scene.state.discards[STARK] == (("eddard-stark",) if back == 6 else ())


def test_a_hand_that_melisandre_empties_is_refilled_without_the_card_she_took() -> None:
    hand = ("catelyn-stark", "eddard-stark")
    scene = first(BARATHEON, STARK, attacking="4 knight", hands={STARK: hand})
    scene.fight({BARATHEON: "melisandre-of-asshai", STARK: "eddard-stark"}, melisandre_discard="catelyn-stark")
    scene.citing("1E-USED-3")
    assert len(scene.state.hands[STARK]) == 5
    assert set(scene.state.discards[STARK]) == set(hand)


# Mixed tables


def test_second_edition_cards_play_on_the_first_board_by_either_book() -> None:
    for combat in ("first", "second"):
        variations = replace(FIRST_EDITION, house_cards="second", combat=combat)
        scene = first(STARK, LANNISTER, attacking="2 knight", variations=variations)
        scene.fight({STARK: "robb-stark", LANNISTER: "the-hound"}, until="retreat-area")
        assert scene.owed[0].player == STARK, "Robb's text of the second edition"
        scene.fight().citing("2E-HCS-2")
        assert scene.strength(STARK) == 4 + 3


def test_mace_of_the_second_edition_ends_a_battle_by_the_first_book() -> None:
    scene = first(
        TYRELL, STARK, attacking="footman", defending="footman", variations=replace(FIRST_EDITION, house_cards="second")
    )
    scene.fight({TYRELL: "mace-tyrell", STARK: "eddard-stark"}).citing("1E-BAT-12", "2E-HCT-1")
    assert scene.winner == TYRELL and scene.at(FIELD) == "tyrell: footman"


def test_siege_engines_of_the_loser_die_and_the_routed_are_no_reason() -> None:
    scene = first(
        LANNISTER,
        STARK,
        attacking="footman, siege-engine",
        defending="4 knight",
        variations=replace(FIRST_EDITION, siege_engines="on"),
    )
    plainly(scene, stark="eddard-stark")
    gone = next(fact for fact in scene.of(f.UnitsDestroyed) if fact.units == {"siege-engine": 1})
    assert "2E-RET-14" in gone.rules and "1E-RET-8" not in gone.rules
    assert scene.at(CAMP) == "lannister: routed-footman"


# Options and a second writing of the rules

BOARD = {area.id: area for area in FIRST.areas}
BORDERS: dict[str, set[str]] = {area: set() for area in BOARD}
for one, other in FIRST.links:
    BORDERS[one].add(other)
    BORDERS[other].add(one)


def carries(state: State, house: str, start: str) -> set[str]:
    """1E-SHIP-1: the land areas at the end of chains of own Ships."""
    seen: set[str] = set()
    edge, coast = [area for area in BORDERS[start] if BOARD[area].kind == "sea"], set()
    while edge:
        sea = edge.pop()
        if sea in seen or state.house_in(sea) != house:
            continue
        seen.add(sea)
        coast |= {area for area in BORDERS[sea] if BOARD[area].kind == "land"}
        edge += [area for area in BORDERS[sea] if BOARD[area].kind == "sea"]
    return coast - {start}


def is_open(state: State, house: str, area: str) -> bool:
    """1E-RET-2 and 1E-RET-4."""
    if area in state.neutral:
        return False
    if area in state.units:
        return state.units[area].house == house
    return state.power_tokens.get(area) in (None, house)


def fits(state: State, house: str, gone: str, area: str, arriving: int) -> bool:
    """1E-SUP-2."""
    sizes = {one: sum(force.units.values()) for one, force in state.units.items() if force.house == house}
    sizes.pop(gone, None)
    sizes[area] = sizes.get(area, 0) + arriving
    armies = sorted((size for size in sizes.values() if size > 1), reverse=True)
    allowed = SUPPLY_TABLE[state.supply[house]]
    return len(armies) <= len(allowed) and all(army <= most for army, most in zip(armies, allowed, strict=False))


def retreats(state: State) -> set[str]:
    """1E-RET-2 to 1E-RET-7 for a beaten defender whose units have all to go."""
    combat = state.combat
    assert combat is not None
    house, area = combat.defender, combat.area
    number = sum(state.units[area].units.values())
    near = {one for one in BORDERS[area] if BOARD[one].kind == BOARD[area].kind}
    near |= carries(state, house, area) if BOARD[area].kind == "land" else set()
    possible = [one for one in near - {combat.origin} if is_open(state, house, one)]
    for loss in range(number):
        found = {one for one in possible if fits(state, house, area, one, number - loss)}
        if found:
            return found
    return set()


@pytest.mark.parametrize("number", range(12))
def test_retreats_agree_with_a_second_writing(number: int) -> None:
    """Stark is beaten in the field; who stands around it is drawn."""
    chance = random.Random(f"retreat/{number}")
    around = ["blackwater", "the-reach", "highgarden", "lannisport", "riverrun", "oldtown", "winterfell"]
    others, tokens = {}, {}
    for area in around:
        house = chance.choice((STARK, STARK, TYRELL, GREYJOY, "", "", ""))
        if house and chance.randrange(2):
            others[area] = f"{house}: {chance.randrange(1, 4)} footman"
        elif house:
            tokens[area] = house
    for sea in ("the-golden-sound", "sunset-sea"):
        if chance.randrange(2):
            others[sea] = f"{chance.choice((STARK, TYRELL))}: ship"
    scene = first(
        LANNISTER,
        STARK,
        attacking="4 knight",
        defending="3 footman",
        others=others,
        power_tokens=tokens,
        supply={STARK: chance.randrange(7)},
    )
    scene.fight(until="house-card")
    expected = retreats(scene.state)
    scene.fight({LANNISTER: "tyrion-lannister", STARK: "catelyn-stark"}, until="retreat-area")
    offered = scene.of(f.RetreatOffered)
    assert {area for fact in offered for area in fact.areas} == expected
    if len(expected) > 1:
        decision = scene.asks("retreat-area")
        every = [replace(decision.default, choice=area) for area in (*BOARD, "leave")]
        agree(decision, every, lambda answer: answer.choice in expected)


def orders_of_all(state: State) -> Iterator[tuple[str, str, str]]:
    tokens = {token.id: token.type for token in FIRST.order_tokens}
    for area, placed in state.orders.items():
        yield area, placed.house, tokens[placed.token]


def test_words_of_abilities_agree_with_a_second_writing() -> None:
    board = {
        "blackwater": "tyrell: footman",
        "highgarden": "stark: footman",
        "the-reach": "stark: footman",
        "the-golden-sound": "stark: ship",
        "winterfell": "stark: footman",
        "harrenhal": "baratheon: footman",
    }
    orders = {
        "blackwater": "support-0-a",
        "highgarden": "consolidate-a",
        "the-reach": "raid-a",
        FIELD: "defense-plus-2",
        "the-golden-sound": "support-plus-1",
        "winterfell": "march-0",
        "harrenhal": "support-0-b",
    }
    used = ("eddard-stark", "robb-stark")
    rest = tuple(card for card, figures in CARDS.items() if figures["house"] == STARK and card not in used)

    def asked(house: str, card: str, ability: str, loser: str = STARK) -> Scene:
        scene = first(
            house, loser, attacking="4 knight", defending="2 footman, routed-footman", others=board, orders=orders,
            hands={STARK: rest},
        )  # fmt: skip
        return scene.fight({**PLAIN, house: card, loser: PLAIN[loser]}, until=ability)

    def compare(scene: Scene, legal: Iterable[str], everything: Iterable[str]) -> None:
        decision, words = scene.owed[0], set(legal)
        candidates = [replace(decision.default, choice=word) for word in dict.fromkeys((*everything, *words))]
        agree(decision, candidates, lambda answer: answer.choice in words)

    cersei = asked(LANNISTER, "cersei-lannister", "cersei-order")
    hers = {area for area, house, _ in orders_of_all(cersei.state) if house == STARK}
    compare(cersei, hers, (*BOARD, "none"))

    asha = asked(GREYJOY, "asha-greyjoy", "asha-order")
    near = {
        area
        for area, house, kind in orders_of_all(asha.state)
        if area in BORDERS[FIELD] and house != GREYJOY and kind in ("support", "consolidate")
    }
    compare(asha, {"none", *near}, BOARD)

    melisandre = asked(BARATHEON, "melisandre-of-asshai", "melisandre-discard")
    compare(melisandre, {"none", *rest} - {PLAIN[STARK]}, CARDS)

    loras = asked(TYRELL, "ser-loras-tyrell", "loras-footman")
    compare(loras, {"footman", "routed-footman"}, ("none", "knight", "routed-knight", "ship"))

    luwin = first(STARK, LANNISTER, attacking="4 knight", hands={STARK: rest})
    luwin.fight({STARK: "maester-luwin", LANNISTER: PLAIN[LANNISTER]}, until="luwin-retrieve")
    compare(luwin, {"none", *used}, CARDS)

    renly = first(BARATHEON, STARK, attacking="footman, 3 knight", others=board, orders=orders)
    renly.fight({**PLAIN, BARATHEON: "renly-baratheon"}, until="renly-upgrade")
    places = [f"{area} {unit}" for area, unit in product(BOARD, ("footman", "routed-footman", "knight"))]
    compare(renly, {"none", f"{FIELD} footman"}, places)


# Whole games

SHARED = {rule for rule, found in CORRESPONDENCES.items() if found == "shared"}
TEXTLESS = (kernel.Awaiting, f.WesterosCardResolved)
"""Bookkeeping that cites nothing in either edition."""


@pytest.mark.parametrize("number", range(10))
def test_random_games_end_and_cite_the_first_book(number: int) -> None:
    """Three to five Houses play by bots; nothing is impossible, nothing is cited that the table does not play by."""
    players = 3 + number % 3
    edition = compose(FIRST_EDITION)
    houses = tuple(sorted(edition.players(players).houses))
    charter = Charter(
        "first-edition", houses, Switches(tiebreak="first-edition"), variations=FIRST_EDITION, chance="stated"
    )
    chance = random.Random(f"first/{number}")
    bots = {
        house: Bot(TEMPERAMENTS[chance.choice(sorted(TEMPERAMENTS))], edition.board, edition.tokens) for house in houses
    }
    rules = rules_by(charter)
    ruling = THRONES.decide(THRONES.blank(), Start(charter=charter, seed=f"{number:064x}"))
    state, folded = ruling.state, THRONES.blank()
    cited: set[str] = set()
    asked: set[str] = set()
    for _ in range(4000):
        for fact in ruling.facts:
            folded = evolve(folded, fact)
            assert fact.rules or isinstance(fact, TEXTLESS), fact
        cited |= Scene(state, ruling.facts).cited
        assert folded == state and rules.problems(state) == ()
        if state.is_over:
            break
        owed = THRONES.decisions(state)
        decision = owed[chance.randrange(len(owed))]
        asked |= set(decision.rules)
        command: Any = bots[decision.player].answer(state, decision, chance.randrange)
        if chance.randrange(60) == 0:
            command = PassDeadline(player=decision.player, question=state.question)
        elif state.combat is not None:
            assert rules.footprint(state, command).options
        ruling = THRONES.decide(state, command)
        state = ruling.state
    assert state.is_over
    assert {rule for rule in cited | asked if rule.startswith("2E-")} <= SHARED
