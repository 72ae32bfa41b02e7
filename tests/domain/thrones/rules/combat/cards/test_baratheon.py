"""The seven cards of Baratheon (section 27.1)."""

from __future__ import annotations

import pytest

from domain.thrones.language import facts as f
from tests.domain.thrones.given import BARATHEON, CAMP, FIELD, GREYJOY, LANNISTER, MARTELL, STARK, TYRELL, battle
from tests.domain.thrones.rules.combat.cards.plain import counts_as_printed

STANNIS, RENLY, DAVOS = "stannis-baratheon", "renly-baratheon", "ser-davos-seaworth"
SALLADHOR, PATCHFACE = "salladhor-saan", "patchface"
SEA, NEXT_SEA = "the-golden-sound", "sunset-sea"
ALL = (STANNIS, RENLY, DAVOS, "brienne-of-tarth", SALLADHOR, "melisandre", PATCHFACE)


@pytest.mark.parametrize(("throne", "strength"), [((STARK, BARATHEON), 5), ((BARATHEON, STARK), 4)])
def test_stannis_is_stronger_against_whoever_stands_before_him(throne: tuple[str, ...], strength: int) -> None:
    scene = battle(BARATHEON, STARK, tracks={"iron-throne": throne})
    scene.fight({BARATHEON: STANNIS, STARK: "eddard-stark"}).citing("2E-HCB-1")
    assert scene.card_strength(BARATHEON) == strength


def test_stannis_keeps_his_bonus_against_balon() -> None:
    scene = battle(BARATHEON, GREYJOY, tracks={"iron-throne": (GREYJOY, BARATHEON)})
    scene.fight({BARATHEON: STANNIS, GREYJOY: "balon-greyjoy"}).citing("2E-HCX-14")
    assert scene.card_strength(BARATHEON) == 1


def test_doran_may_give_stannis_his_bonus() -> None:
    scene = battle(BARATHEON, MARTELL, tracks={"iron-throne": (BARATHEON, MARTELL)})
    scene.fight({BARATHEON: STANNIS, MARTELL: "doran-martell"}, doran_track="iron-throne").citing("2E-HCX-7")
    assert scene.card_strength(BARATHEON) == 5


def test_renly_makes_a_knight_of_a_footman_that_took_part() -> None:
    scene = battle(BARATHEON, STARK, attacking="2 footman, knight")
    scene.fight({BARATHEON: RENLY, STARK: "ser-rodrick-cassel"}, until="renly-upgrade")
    assert scene.words("renly-upgrade") == ("none", f"{FIELD} footman")
    scene.fight(renly_upgrade=f"{FIELD} footman")
    scene.then(f.UnitReplaced(house=BARATHEON, area=FIELD, old="footman", new="knight", marching=True))
    assert scene.at(FIELD) == "baratheon: footman, 2 knight"
    scene.citing("2E-HCB-2")


def test_renly_reaches_footmen_that_supported_but_no_others() -> None:
    others = {"lannisport": "baratheon: footman", "blackwater": "baratheon: footman", "the-reach": "baratheon: footman"}
    scene = battle(
        BARATHEON,
        STARK,
        attacking="knight",
        others=others,
        orders={"blackwater": "support-0-a", "the-reach": "support-0-b"},
    )
    scene.fight(
        {BARATHEON: RENLY, STARK: "ser-rodrick-cassel"},
        until="renly-upgrade",
        support={"orders": {"blackwater": "attacker", "the-reach": "withhold"}},
    )
    assert scene.words("renly-upgrade") == ("none", "blackwater footman")
    scene.fight(renly_upgrade="blackwater footman")
    assert scene.at("blackwater") == "baratheon: knight"


def test_renly_keeps_a_routed_footman_routed() -> None:
    scene = battle(STARK, BARATHEON, attacking="footman", defending="routed-footman, knight")
    scene.fight({BARATHEON: RENLY, STARK: "ser-rodrick-cassel"}, renly_upgrade=f"{FIELD} routed-footman")
    assert scene.at(FIELD) == "baratheon: knight, routed-knight"


def test_renly_does_nothing_without_a_knight_in_reserve_or_a_victory() -> None:
    others = {"the-arbor": "baratheon: 4 knight"}
    scene = battle(BARATHEON, STARK, attacking="footman, knight", others=others)
    scene.fight({BARATHEON: RENLY, STARK: "ser-rodrick-cassel"}).never(f.UnitReplaced)
    assert scene.winner == BARATHEON
    lost = battle(BARATHEON, STARK, defending="4 knight").fight({BARATHEON: RENLY, STARK: "eddard-stark"})
    lost.never(f.UnitReplaced, f.AbilityResolved)


@pytest.mark.parametrize(("hand", "strength", "swords"), [(ALL, 2, 0), (ALL[1:], 3, 1)])
def test_davos_is_stronger_once_stannis_is_discarded(hand: tuple[str, ...], strength: int, swords: int) -> None:
    scene = battle(BARATHEON, STARK, hands={BARATHEON: hand})
    scene.fight({BARATHEON: DAVOS, STARK: "ser-rodrick-cassel"}).citing("2E-HCB-3")
    assert scene.card_strength(BARATHEON) == strength
    assert scene.icons(BARATHEON) == (swords, 0)


def test_davos_keeps_his_bonus_against_balon() -> None:
    scene = battle(BARATHEON, GREYJOY, hands={BARATHEON: ALL[1:]})
    scene.fight({BARATHEON: DAVOS, GREYJOY: "balon-greyjoy"}).citing("2E-HCX-14")
    assert scene.card_strength(BARATHEON) == 1


def test_brienne_is_as_printed() -> None:
    counts_as_printed(BARATHEON, "brienne-of-tarth", 2, 1, 1, "2E-HCB-4")


def test_salladhor_takes_the_strength_of_every_other_ship_once_baratheon_is_supported() -> None:
    others = {SEA: "greyjoy: ship", NEXT_SEA: "baratheon: ship", "west-summer-sea": "lannister: 2 ship"}
    orders = {SEA: "support-plus-1", NEXT_SEA: "support-0-a", "west-summer-sea": "support-0-a"}
    scene = battle(BARATHEON, LANNISTER, others=others, orders=orders)
    scene.fight({BARATHEON: SALLADHOR, LANNISTER: "the-hound"}, support={"orders": {SEA: "attacker"}})
    # Two Footmen, his own Ship, the star of Greyjoy's order but not its Ship, and the card.
    assert scene.strength(BARATHEON) == 2 + 1 + 1 + 1
    assert scene.strength(LANNISTER) == 2 + 0 + 2
    scene.citing("2E-HCB-5", "2E-HCX-17", "2E-CBT-13")


def test_salladhor_does_nothing_unsupported() -> None:
    scene = battle(BARATHEON, LANNISTER, others={SEA: "lannister: ship"}, orders={SEA: "support-0-a"})
    scene.fight({BARATHEON: SALLADHOR, LANNISTER: "the-hound"})
    assert scene.strength(LANNISTER) == 2 + 1 + 2


@pytest.mark.parametrize(("switch", "strength"), [("zero", 0), ("turn-order", 2)])
def test_salladhor_against_victarion_is_a_switch(switch: str, strength: int) -> None:
    scene = battle(
        GREYJOY,
        BARATHEON,
        attacking="2 ship",
        defending="ship",
        origin=SEA,
        area=NEXT_SEA,
        others={"west-summer-sea": "baratheon: ship"},
        orders={"west-summer-sea": "support-0-a"},
        tracks={"iron-throne": (BARATHEON, GREYJOY)},
        ships_vs_salladhor=switch,
    )
    scene.fight({GREYJOY: "victarion-greyjoy", BARATHEON: SALLADHOR})
    assert scene.strength(GREYJOY) == strength + 3


def test_queen_of_thorns_may_take_the_support_salladhor_needs() -> None:
    scene = battle(
        TYRELL,
        BARATHEON,
        others={SEA: "baratheon: ship", NEXT_SEA: "tyrell: ship"},
        orders={SEA: "support-0-a", NEXT_SEA: "support-0-a"},
    )
    scene.fight({TYRELL: "queen-of-thorns", BARATHEON: SALLADHOR}).citing("2E-HCX-9")
    assert scene.strength(TYRELL) == 2 + 1
    assert scene.strength(BARATHEON) == 2 + 1


def test_melisandre_is_as_printed() -> None:
    counts_as_printed(BARATHEON, "melisandre", 1, 1, 0, "2E-HCB-6")


@pytest.mark.parametrize("attacks", [True, False])
def test_patchface_discards_a_card_of_the_opponents_hand_whoever_won(attacks: bool) -> None:
    scene = battle(BARATHEON, STARK) if attacks else battle(STARK, BARATHEON)
    scene.fight({BARATHEON: PATCHFACE, STARK: "greatjon-umber"}, until="patchface-discard")
    assert "greatjon-umber" not in scene.words("patchface-discard")
    assert "none" in scene.words("patchface-discard")
    scene.fight(patchface_discard="eddard-stark").citing("2E-HCB-7", "2E-HC-7")
    assert scene.state.discards[STARK] == ("greatjon-umber", "eddard-stark")


def test_patchface_sees_the_refilled_hand_and_empties_it_for_good() -> None:
    scene = battle(BARATHEON, STARK, hands={STARK: ("greatjon-umber",)})
    scene.fight({BARATHEON: PATCHFACE}, until="patchface-discard")
    assert set(scene.words("patchface-discard")) - {"none"} == set(scene.state.hands[STARK])
    assert len(scene.state.hands[STARK]) == 6
    scene.fight(patchface_discard="eddard-stark")
    assert scene.state.discards[STARK] == ("greatjon-umber", "eddard-stark")


def test_patchface_discards_the_last_card_of_a_hand() -> None:
    scene = battle(BARATHEON, STARK, hands={STARK: ("greatjon-umber", "eddard-stark")})
    scene.fight({BARATHEON: PATCHFACE, STARK: "greatjon-umber"}, patchface_discard="eddard-stark").citing("2E-HC-12")
    assert scene.state.discards[STARK] == ("eddard-stark",)
    assert len(scene.state.hands[STARK]) == 6


def test_patchface_sees_the_hand_after_the_clean_up() -> None:
    """Roose Bolton is back in hand, Aeron and his replacement are in the pile (2E-HCX-15)."""
    roose = battle(BARATHEON, STARK, attacking="4 knight")
    roose.fight({BARATHEON: PATCHFACE, STARK: "roose-bolton"}, until="patchface-discard")
    assert "roose-bolton" in roose.words("patchface-discard")
    roose.fight().citing("2E-HCX-15")
    aeron = battle(BARATHEON, GREYJOY)
    aeron.fight(
        {BARATHEON: PATCHFACE, GREYJOY: "aeron-damphair"}, until="patchface-discard", aeron_swap="balon-greyjoy"
    )
    assert not {"aeron-damphair", "balon-greyjoy"} & set(aeron.words("patchface-discard"))
    assert aeron.state.units[CAMP if aeron.winner == GREYJOY else FIELD].house == BARATHEON
