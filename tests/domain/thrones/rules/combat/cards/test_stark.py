"""The seven cards of Stark (section 27.3)."""

from __future__ import annotations

import pytest

from domain.thrones.language import facts as f
from tests.domain.thrones.given import BARATHEON, CAMP, FIELD, LANNISTER, MARTELL, STARK, TYRELL, battle
from tests.domain.thrones.rules.combat.cards.plain import counts_as_printed

ROBB, ROOSE, BLACKFISH, CATELYN = "robb-stark", "roose-bolton", "the-blackfish", "catelyn-stark"


def test_eddard_is_as_printed() -> None:
    counts_as_printed(STARK, "eddard-stark", 4, 2, 0, "2E-HCS-1")


def test_robb_chooses_where_beaten_defenders_go() -> None:
    scene = battle(STARK, LANNISTER, attacking="4 knight", others={"the-reach": "tyrell: footman"})
    scene.fight({STARK: ROBB, LANNISTER: "the-hound"}, until="retreat-area")
    assert scene.owed[0].player == STARK
    words = scene.words("retreat-area")
    assert CAMP not in words and "the-reach" not in words
    # Home shields of Tyrell bar highgarden; Lannister's own home is free.
    assert words == ("blackwater", "lannisport", "leave")
    scene.fight(retreat_area="blackwater").citing("2E-HCS-2", "2E-RET-12")
    assert scene.at("blackwater") == "lannister: 2 routed-footman"


def test_robb_may_leave_the_choice_to_the_loser() -> None:
    scene = battle(STARK, LANNISTER, attacking="4 knight")
    scene.fight({STARK: ROBB, LANNISTER: "the-hound"}, until="retreat-area")
    assert scene.owed[0].player == STARK
    scene.answer("leave")
    assert scene.owed[0].player == LANNISTER
    assert "leave" not in scene.words("retreat-area")


def test_robb_as_winning_defender_may_send_the_attacker_elsewhere() -> None:
    scene = battle(LANNISTER, STARK, defending="4 knight")
    scene.fight({STARK: ROBB, LANNISTER: "the-hound"}, until="retreat-area")
    assert scene.owed[0].player == STARK
    assert CAMP in scene.words("retreat-area") and "blackwater" in scene.words("retreat-area")
    scene.fight(retreat_area="blackwater").citing("2E-HCS-2")
    assert scene.at("blackwater") == "lannister: 2 routed-footman"


@pytest.mark.parametrize(("word", "saved"), [("the-reach", True), ("leave", False)])
def test_robb_may_save_an_attacker_who_cannot_go_back(word: str, saved: bool) -> None:
    """The origin was an enemy home area left without a Power token (2E-RET-3, 2E-HCX-16)."""
    scene = battle(LANNISTER, STARK, defending="4 knight", origin="highgarden")
    scene.fight({STARK: ROBB, LANNISTER: "the-hound"}, until="retreat-area")
    assert "highgarden" not in scene.words("retreat-area")
    scene.fight(retreat_area=word).citing("2E-HCX-16")
    assert (scene.at("the-reach") == "lannister: 2 routed-footman") is saved
    if not saved:
        scene.then(f.UnitsDestroyed(house=LANNISTER, area=FIELD, units={"footman": 2}, marching=True))
        scene.citing("2E-RET-3")


def test_roose_takes_his_whole_discard_pile_back_when_he_loses() -> None:
    scene = battle(LANNISTER, STARK, attacking="4 knight", hands={STARK: (ROOSE, CATELYN)})
    scene.fight({LANNISTER: "the-hound", STARK: ROOSE}).citing("2E-HCS-3")
    assert len(scene.state.hands[STARK]) == 7 and scene.state.discards[STARK] == ()


def test_roose_is_discarded_when_he_wins() -> None:
    scene = battle(LANNISTER, STARK, defending="4 knight", hands={STARK: (ROOSE, CATELYN)})
    scene.fight({LANNISTER: "the-hound", STARK: ROOSE})
    assert scene.state.hands[STARK] == (CATELYN,) and scene.state.discards[STARK][-1] == ROOSE


@pytest.mark.parametrize(
    ("winner", "card"),
    [(LANNISTER, "cersei-lannister"), (BARATHEON, "renly-baratheon"), (LANNISTER, "tywin-lannister")],
)
def test_roose_and_a_winning_ability_do_not_disturb_each_other(winner: str, card: str) -> None:
    others = {"winterfell": "stark: footman"}
    scene = battle(
        winner,
        STARK,
        attacking="3 knight, footman",
        others=others,
        orders={"winterfell": "raid-a"},
        hands={STARK: (ROOSE, CATELYN)},
    )
    scene.fight({winner: card, STARK: ROOSE}, cersei_order="winterfell", renly_upgrade=f"{FIELD} footman")
    assert {fact.card for fact in scene.of(f.AbilityResolved)} == {card, ROOSE}
    assert len(scene.state.hands[STARK]) == 7
    scene.citing("2E-HCX-12")


def test_greatjon_is_as_printed() -> None:
    counts_as_printed(STARK, "greatjon-umber", 2, 1, 0, "2E-HCS-4")


def test_rodrick_is_as_printed() -> None:
    counts_as_printed(STARK, "ser-rodrick-cassel", 1, 0, 2, "2E-HCS-5")


def test_the_blackfish_suffers_no_swords() -> None:
    scene = battle(LANNISTER, STARK, attacking="4 knight", defending="2 footman, routed-footman, siege-engine")
    scene.fight({LANNISTER: "ser-gregor-clegane", STARK: BLACKFISH}, retreat_area="blackwater")
    scene.then(f.CasualtiesPrevented(house=STARK, card=BLACKFISH)).citing("2E-HCS-6", "2E-HCX-13", "2E-CAS-2")
    # What cannot retreat is destroyed all the same.
    assert scene.at("blackwater") == "stark: 2 routed-footman"


def test_the_blackfish_suffers_no_skull_and_no_mace() -> None:
    scene = battle(TYRELL, STARK, tides=("tides-skull", "tides-zero"))
    scene.fight({TYRELL: "mace-tyrell", STARK: BLACKFISH}, retreat_area="blackwater").citing("2E-HCX-13")
    scene.then(f.CasualtiesPrevented(house=STARK, card=BLACKFISH)).never(f.UnitsDestroyed)


def test_catelyn_doubles_the_defense_order() -> None:
    for order, strength in (("defense-plus-1-a", 2), ("defense-plus-2", 4)):
        scene = battle(LANNISTER, STARK, orders={FIELD: order})
        scene.fight({LANNISTER: "the-hound", STARK: CATELYN}).citing("2E-HCS-7")
        assert scene.strength(STARK) == 2 + strength
    for scene in (battle(LANNISTER, STARK), battle(STARK, LANNISTER, orders={FIELD: "defense-plus-2"})):
        scene.fight({LANNISTER: "the-hound", STARK: CATELYN})
        assert scene.strength(STARK) == 2


def test_robb_against_arianne() -> None:
    """His units go back, Martell's go where he says, and not to that origin (2E-HCX-10)."""
    scene = battle(STARK, MARTELL, attacking="4 knight")
    scene.fight({STARK: ROBB, MARTELL: "arianne-martell"}, until="retreat-area")
    assert scene.owed[0].player == STARK and CAMP not in scene.words("retreat-area")
    scene.fight(retreat_area="blackwater").citing("2E-HCX-10")
    assert scene.at(CAMP) == "stark: 4 knight"
    assert scene.at("blackwater") == "martell: 2 routed-footman"
    assert scene.at(FIELD) == ""
