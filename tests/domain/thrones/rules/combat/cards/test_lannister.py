"""The seven cards of Lannister (section 27.2)."""

from __future__ import annotations

import pytest

from domain.thrones.language import facts as f
from tests.domain.thrones.given import BARATHEON, CAMP, FIELD, GREYJOY, LANNISTER, MARTELL, STARK, TYRELL, battle
from tests.domain.thrones.rules.combat.cards.plain import counts_as_printed

TYWIN, KEVAN, TYRION, CERSEI = "tywin-lannister", "ser-kevan-lannister", "tyrion-lannister", "cersei-lannister"


def test_tywin_gains_two_power_for_winning() -> None:
    scene = battle(LANNISTER, STARK, attacking="3 footman")
    scene.fight({LANNISTER: TYWIN, STARK: "ser-rodrick-cassel"}).citing("2E-HCL-1")
    scene.then(f.PowerChanged(house=LANNISTER, by=2))
    assert scene.state.power[LANNISTER] == 7


def test_tywin_gains_nothing_for_losing_and_only_what_the_pool_holds() -> None:
    lost = battle(LANNISTER, STARK, defending="4 knight").fight({LANNISTER: TYWIN, STARK: "eddard-stark"})
    lost.never(f.PowerChanged)
    full = battle(LANNISTER, STARK, attacking="4 knight", power={LANNISTER: 19})
    full.fight({LANNISTER: TYWIN, STARK: "ser-rodrick-cassel"}).citing("2E-LIM-2")
    assert full.state.power[LANNISTER] == 20


def test_gregor_is_as_printed() -> None:
    counts_as_printed(LANNISTER, "ser-gregor-clegane", 3, 3, 0, "2E-HCL-2")


def test_the_hound_is_as_printed() -> None:
    counts_as_printed(LANNISTER, "the-hound", 2, 0, 2, "2E-HCL-3")


def test_jaime_is_as_printed() -> None:
    counts_as_printed(LANNISTER, "ser-jaime-lannister", 2, 1, 0, "2E-HCL-4")


def test_kevan_makes_footmen_count_two_in_attack_own_support_included() -> None:
    others = {"blackwater": "lannister: footman, routed-footman", "the-reach": "stark: footman"}
    scene = battle(
        LANNISTER,
        BARATHEON,
        attacking="2 footman, knight",
        others=others,
        orders={"blackwater": "support-0-a", "the-reach": "support-0-a"},
    )
    scene.fight({LANNISTER: KEVAN, BARATHEON: "melisandre"}, support={"orders": {"the-reach": "attacker"}})
    scene.citing("2E-HCL-5", "2E-CBT-17")
    # Marching 2 x 2 + 2, supporting 2 + 0, Stark's Footman 1, the card 1.
    assert scene.strength(LANNISTER) == 6 + 2 + 1 + 1


def test_kevan_does_nothing_in_defence() -> None:
    scene = battle(STARK, LANNISTER).fight({LANNISTER: KEVAN, STARK: "ser-rodrick-cassel"})
    assert scene.strength(LANNISTER) == 2 + 1


def test_tyrion_sends_the_opponents_card_back_and_another_must_be_chosen() -> None:
    scene = battle(LANNISTER, STARK)
    scene.fight({LANNISTER: TYRION, STARK: "eddard-stark"}, until="tyrion-replacement", tyrion_cancel="cancel")
    assert "eddard-stark" not in scene.words("tyrion-replacement")
    assert scene.owed[0].player == STARK
    scene.fight(tyrion_replacement="greatjon-umber").citing("2E-HCL-6", "2E-HC-3", "2E-HC-9")
    scene.then(f.HouseCardCancelled(house=STARK, card="eddard-stark"))
    assert scene.card_strength(STARK) == 2
    assert "eddard-stark" in scene.state.hands[STARK]
    assert scene.state.discards[STARK] == ("greatjon-umber",)


def test_tyrion_may_leave_the_card() -> None:
    scene = battle(LANNISTER, STARK).fight({LANNISTER: TYRION, STARK: "eddard-stark"}, tyrion_cancel="leave")
    assert scene.card_strength(STARK) == 4


def test_against_tyrion_a_hand_of_one_card_plays_none() -> None:
    scene = battle(LANNISTER, STARK, hands={STARK: ("eddard-stark",)})
    scene.fight({LANNISTER: TYRION}, tyrion_cancel="cancel").never(f.HouseCardReplaced)
    assert scene.card_strength(STARK) == 0 and scene.icons(STARK) == (0, 0)
    assert scene.state.hands[STARK] == ("eddard-stark",)


@pytest.mark.parametrize(
    ("house", "card"),
    [(GREYJOY, "aeron-damphair"), (MARTELL, "doran-martell"), (TYRELL, "mace-tyrell"), (TYRELL, "queen-of-thorns")],
)
def test_tyrion_stops_every_immediate_ability(house: str, card: str) -> None:
    other = {GREYJOY: "euron-crows-eye", MARTELL: "darkstar", TYRELL: "randyll-tarly"}[house]
    scene = battle(house, LANNISTER)
    scene.fight({house: card, LANNISTER: TYRION}, tyrion_cancel="cancel", tyrion_replacement=other)
    assert [fact.card for fact in scene.of(f.AbilityResolved)] == [TYRION]
    assert scene.of(f.HouseCardReplaced)[-1].card == other


@pytest.mark.parametrize(
    ("house", "card"), [(STARK, "roose-bolton"), (MARTELL, "arianne-martell"), (BARATHEON, "patchface")]
)
def test_a_cancelled_card_has_no_effect_in_any_step(house: str, card: str) -> None:
    others = {STARK: "ser-rodrick-cassel", MARTELL: "nymeria-sand", BARATHEON: "melisandre"}
    scene = battle(LANNISTER, house, attacking="4 knight", defending="footman")
    scene.fight({house: card, LANNISTER: TYRION}, tyrion_cancel="cancel", tyrion_replacement=others[house])
    scene.never(f.AbilityNoted).citing("2E-HCX-5")
    assert scene.at(FIELD) == "lannister: 4 knight"
    assert card in scene.state.hands[house] and scene.state.discards[house] == (others[house],)


def test_cersei_removes_any_order_of_the_loser_but_those_that_go_anyway() -> None:
    others = {"winterfell": "stark: footman", "the-shivering-sea": "stark: ship"}
    scene = battle(
        LANNISTER,
        STARK,
        attacking="3 knight",
        others=others,
        orders={"winterfell": "raid-a", "the-shivering-sea": "march-0", FIELD: "defense-plus-1-a"},
    )
    scene.fight({LANNISTER: CERSEI, STARK: "ser-rodrick-cassel"}, until="cersei-order")
    assert scene.words("cersei-order") == ("none", "the-shivering-sea", "winterfell")
    scene.fight(cersei_order="winterfell").citing("2E-HCL-7")
    assert "winterfell" not in scene.state.orders and "the-shivering-sea" in scene.state.orders


def test_cersei_beats_an_attacker_but_not_his_march_order() -> None:
    scene = battle(STARK, LANNISTER, defending="4 knight", others={"winterfell": "stark: footman"})
    scene.fight({LANNISTER: CERSEI, STARK: "ser-rodrick-cassel"}).never(f.CardsTaken)
    assert scene.winner == LANNISTER
    assert [fact.card for fact in scene.of(f.AbilityResolved)] in ([], [CERSEI])
    assert scene.at(CAMP) == "stark: 2 routed-footman"


def test_winning_and_losing_abilities_are_both_resolved_in_turn_order() -> None:
    for throne in ((LANNISTER, STARK), (STARK, LANNISTER)):
        scene = battle(
            LANNISTER,
            STARK,
            attacking="4 knight",
            tracks={"iron-throne": throne},
            hands={STARK: ("roose-bolton", "eddard-stark")},
        )
        scene.fight({LANNISTER: TYWIN, STARK: "roose-bolton"})
        resolved = [fact.house for fact in scene.of(f.AbilityResolved)]
        assert resolved == list(throne)
        assert scene.state.power[LANNISTER] == 7
        assert len(scene.state.hands[STARK]) == 7
