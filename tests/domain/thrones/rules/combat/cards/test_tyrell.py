"""The seven cards of Tyrell (section 27.6)."""

from __future__ import annotations

import pytest

from domain.thrones.language import facts as f
from tests.domain.thrones.given import BARATHEON, CAMP, FIELD, LANNISTER, STARK, TYRELL, battle, march
from tests.domain.thrones.rules.combat.cards.plain import counts_as_printed

MACE, LORAS, QUEEN = "mace-tyrell", "ser-loras-tyrell", "queen-of-thorns"
SEA, NEXT_SEA = "the-golden-sound", "sunset-sea"


def test_mace_destroys_a_footman_before_strength_is_counted() -> None:
    scene = battle(TYRELL, STARK).fight({TYRELL: MACE, STARK: "greatjon-umber"}).citing("2E-HCT-1", "2E-HC-4")
    scene.then(f.UnitsDestroyed(house=STARK, area=FIELD, units={"footman": 1}))
    assert scene.strength(STARK) == 1 + 2


def test_mace_may_take_a_routed_footman() -> None:
    scene = battle(TYRELL, STARK, defending="footman, routed-footman")
    scene.fight({TYRELL: MACE, STARK: "greatjon-umber"}, until="mace-footman")
    assert scene.words("mace-footman") == ("footman", "routed-footman")
    assert scene.owed[0].default.choice == "footman"
    scene.fight(mace_footman="routed-footman")
    assert scene.strength(STARK) == 1 + 2


def test_mace_does_nothing_where_no_footman_is() -> None:
    scene = battle(TYRELL, STARK, defending="knight, siege-engine").fight({TYRELL: MACE, STARK: "greatjon-umber"})
    assert scene.strength(STARK) == 2 + 2


@pytest.mark.parametrize(("switch", "goes_on"), [("continue", True), ("end", False)])
@pytest.mark.parametrize("attacks", [True, False])
def test_what_happens_after_mace_took_the_last_unit_is_a_switch(switch: str, goes_on: bool, attacks: bool) -> None:
    if attacks:
        scene = battle(TYRELL, STARK, defending="footman", mace_last_unit=switch)
    else:
        scene = battle(STARK, TYRELL, attacking="footman", mace_last_unit=switch)
    scene.fight({TYRELL: MACE, STARK: "eddard-stark"}).citing("2E-HCT-1")
    assert bool(scene.of(f.CombatStopped)) is not goes_on
    assert [fact.stage for fact in scene.of(f.StrengthCounted)].count("final") == (2 if goes_on else 0)
    assert scene.winner == TYRELL
    assert scene.at(FIELD) == "tyrell: 2 footman"
    assert MACE in scene.state.discards[TYRELL] and "eddard-stark" in scene.state.discards[STARK]


@pytest.mark.parametrize(("house", "card"), [(LANNISTER, "ser-kevan-lannister"), (BARATHEON, "renly-baratheon")])
def test_a_footman_mace_destroyed_neither_counts_nor_is_upgraded(house: str, card: str) -> None:
    scene = battle(house, TYRELL, attacking="footman, 3 knight", defending="footman")
    scene.fight({house: card, TYRELL: MACE}).citing("2E-HCX-8").never(f.UnitReplaced)
    assert scene.strength(house) == 6 + {LANNISTER: 1, BARATHEON: 3}[house]


def test_loras_carries_his_march_order_into_the_area_he_won() -> None:
    scene = battle(TYRELL, STARK, attacking="4 knight").fight({TYRELL: LORAS, STARK: "ser-rodrick-cassel"})
    scene.then(f.OrderMoved(house=TYRELL, area=CAMP, to=FIELD)).citing("2E-HCT-2")
    assert scene.state.orders[FIELD].token == "march-0"
    assert scene.at(FIELD) == "tyrell: 4 knight"
    assert CAMP not in scene.state.orders
    # When it is Tyrell's turn again, the same order can be resolved once more.
    scene.passing("neutral-support-request").when(march(scene.owed[0].player, "the-eyrie"))
    scene.when(march(TYRELL, FIELD, (CAMP, "4 knight")))
    scene.then(f.UnitsMoved(house=TYRELL, area=FIELD, to=CAMP, units={"knight": 4}))


def test_loras_leaves_the_order_when_he_defends_or_loses() -> None:
    defending = battle(STARK, TYRELL, defending="4 knight").fight({TYRELL: LORAS, STARK: "ser-rodrick-cassel"})
    losing = battle(TYRELL, STARK, defending="4 knight").fight({TYRELL: LORAS, STARK: "ser-rodrick-cassel"})
    for scene in (defending, losing):
        scene.never(f.OrderMoved)
        assert CAMP not in scene.state.orders


def test_loras_without_units_left_moves_no_order() -> None:
    """His only unit falls to a skull (settled A-38)."""
    scene = battle(TYRELL, STARK, attacking="knight", defending="footman", tides=("tides-three", "tides-skull"))
    scene.fight({TYRELL: LORAS, STARK: "ser-rodrick-cassel"}).citing("2E-TOB-9").never(f.OrderMoved)
    assert scene.winner == TYRELL and scene.at(FIELD) == ""
    assert FIELD not in scene.state.orders and CAMP not in scene.state.orders


def test_garlan_is_as_printed() -> None:
    counts_as_printed(TYRELL, "ser-garlan-tyrell", 2, 2, 0, "2E-HCT-3")


def test_randyll_is_as_printed() -> None:
    counts_as_printed(TYRELL, "randyll-tarly", 2, 1, 0, "2E-HCT-4")


def test_alester_is_as_printed() -> None:
    counts_as_printed(TYRELL, "alester-florent", 1, 0, 1, "2E-HCT-5")


def test_margaery_is_as_printed() -> None:
    counts_as_printed(TYRELL, "margaery-tyrell", 1, 0, 1, "2E-HCT-6")


def test_queen_of_thorns_removes_an_order_of_the_opponent_next_to_the_field() -> None:
    others = {
        SEA: "stark: ship",
        "blackwater": "stark: footman",
        "the-reach": "lannister: footman",
        "winterfell": "stark: footman",
    }
    orders = {
        SEA: "support-0-a",
        "blackwater": "raid-a",
        "the-reach": "support-0-a",
        "winterfell": "raid-b",
        FIELD: "defense-plus-2",
    }
    scene = battle(TYRELL, STARK, others=others, orders=orders)
    scene.fight({TYRELL: QUEEN, STARK: "eddard-stark"}, until="queen-of-thorns-order")
    assert scene.words("queen-of-thorns-order") == ("blackwater", SEA)
    scene.fight(queen_of_thorns_order=SEA).citing("2E-HCT-7", "2E-HCX-9", "2E-HC-4")
    # The Ship no longer supports; the Defense order in the area itself was out of reach.
    assert scene.strength(STARK) == 2 + 2 + 4
    assert SEA not in scene.state.orders and "blackwater" in scene.state.orders


def test_queen_of_thorns_cannot_remove_the_march_order_she_is_attacked_with() -> None:
    scene = battle(STARK, TYRELL).fight({TYRELL: QUEEN, STARK: "eddard-stark"}, until="queen-of-thorns-order")
    assert scene.state.combat is None
    scene.never(f.OrderRemoved)


def test_queen_of_thorns_reaches_ports_of_an_embattled_sea() -> None:
    scene = battle(
        TYRELL,
        LANNISTER,
        attacking="2 ship",
        defending="ship",
        origin=NEXT_SEA,
        area=SEA,
        others={"port-of-lannisport": "lannister: ship", "lannisport": "lannister: footman"},
        orders={"port-of-lannisport": "support-0-a"},
    )
    scene.fight({TYRELL: QUEEN, LANNISTER: "the-hound"})
    scene.then(f.OrderRemoved(house=LANNISTER, area="port-of-lannisport", order="support-0-a", by=TYRELL))
    assert scene.strength(LANNISTER) == 1 + 2
