"""The seven cards of Martell (section 27.4)."""

from __future__ import annotations

import pytest

from domain.thrones.language import facts as f
from tests.domain.thrones.given import BARATHEON, CAMP, FIELD, GREYJOY, LANNISTER, MARTELL, STARK, TYRELL, battle
from tests.domain.thrones.rules.combat.cards.plain import counts_as_printed

ARIANNE, NYMERIA, DORAN = "arianne-martell", "nymeria-sand", "doran-martell"


def test_the_red_viper_is_as_printed() -> None:
    counts_as_printed(MARTELL, "the-red-viper", 4, 2, 1, "2E-HCM-1")


def test_areo_is_as_printed() -> None:
    counts_as_printed(MARTELL, "areo-hotah", 3, 0, 1, "2E-HCM-2")


def test_obara_is_as_printed() -> None:
    counts_as_printed(MARTELL, "obara-sand", 2, 1, 0, "2E-HCM-3")


def test_darkstar_is_as_printed() -> None:
    counts_as_printed(MARTELL, "darkstar", 2, 1, 0, "2E-HCM-4")


def test_arianne_keeps_the_winner_out() -> None:
    scene = battle(STARK, MARTELL, attacking="4 knight", orders={FIELD: "defense-plus-1-a"})
    scene.fight({STARK: "greatjon-umber", MARTELL: ARIANNE}).citing("2E-HCM-5")
    scene.then(f.UnitsReturned(house=STARK, to=CAMP, units={"knight": 4}, routed=False)).never(f.UnitsArrived)
    assert scene.at(FIELD) == "" and scene.at(CAMP) == "stark: 4 knight"
    # One of Martell's Footmen fell to the Greatjon's sword, the other one had to go; its order is gone.
    assert FIELD not in scene.state.orders
    assert "martell: routed-footman" in [scene.at(area) for area in ("blackwater", "the-reach")]


@pytest.mark.parametrize(("switch", "stays"), [("stays", True), ("removed", False)])
def test_arianne_leaves_martells_power_token_as_the_switch_says(switch: str, stays: bool) -> None:
    scene = battle(STARK, MARTELL, attacking="4 knight", power_tokens={FIELD: MARTELL}, token_after_empty_win=switch)
    scene.fight({STARK: "ser-rodrick-cassel", MARTELL: ARIANNE})
    assert (scene.state.power_tokens.get(FIELD) == MARTELL) is stays
    kind = f.PowerTokenKept if stays else f.PowerTokenRemoved
    scene.then(kind(house=MARTELL, area=FIELD)).citing("2E-CUP-4")


def test_arianne_makes_the_attacker_respect_supply_when_he_goes_back() -> None:
    """The army may fight in the field, but not stand beside the comrades it left behind (2E-RET-4)."""
    scene = battle(STARK, MARTELL, attacking="3 footman", marching="2 footman", supply={STARK: 0})
    scene.fight({STARK: "eddard-stark", MARTELL: ARIANNE}).never(f.UnitsArrived).citing("2E-RET-4")
    assert scene.at(CAMP) == "stark: 2 footman"
    scene = battle(
        STARK,
        MARTELL,
        attacking="3 footman",
        marching="2 footman",
        supply={STARK: 0},
        attacker_retreat_supply="ignore",
    )
    scene.fight({STARK: "eddard-stark", MARTELL: ARIANNE})
    assert scene.at(CAMP) == "stark: 3 footman"


def test_arianne_does_nothing_when_martell_attacks_or_wins() -> None:
    attacking = battle(MARTELL, STARK, defending="4 knight")
    attacking.fight({MARTELL: ARIANNE, STARK: "ser-rodrick-cassel"}).never(f.AbilityNoted)
    winning = battle(STARK, MARTELL, defending="4 knight").fight({STARK: "ser-rodrick-cassel", MARTELL: ARIANNE})
    winning.never(f.AbilityNoted)
    assert winning.at(CAMP) == "stark: 2 routed-footman"


def test_against_arianne_loras_moves_no_order() -> None:
    scene = battle(TYRELL, MARTELL, attacking="4 knight")
    scene.fight({TYRELL: "ser-loras-tyrell", MARTELL: ARIANNE}).citing("2E-HCX-11").never(f.OrderMoved)
    assert FIELD not in scene.state.orders and CAMP not in scene.state.orders


def test_nymeria_has_a_fortification_in_defence_and_a_sword_in_attack() -> None:
    attack = battle(MARTELL, STARK).fight({MARTELL: NYMERIA, STARK: "ser-rodrick-cassel"}).citing("2E-HCM-6")
    assert attack.icons(MARTELL) == (1, 0)
    defence = battle(STARK, MARTELL).fight({MARTELL: NYMERIA, STARK: "ser-rodrick-cassel"})
    assert defence.icons(MARTELL) == (0, 1)
    assert attack.card_strength(MARTELL) == defence.card_strength(MARTELL) == 1


@pytest.mark.parametrize("track", ["iron-throne", "fiefdoms", "kings-court"])
def test_doran_moves_the_opponent_to_the_bottom_of_a_track(track: str) -> None:
    scene = battle(MARTELL, LANNISTER, tracks={track: (LANNISTER, STARK)})
    scene.fight({MARTELL: DORAN, LANNISTER: "the-hound"}, until="doran-track")
    assert scene.words("doran-track") == ("iron-throne", "fiefdoms", "kings-court")
    scene.fight(doran_track=track).citing("2E-HCM-7", "2E-HC-4", "2E-TRK-8", "2E-TRK-9")
    assert scene.state.tracks[track][-1] == LANNISTER and scene.state.tracks[track][0] == STARK
    token = {"iron-throne": "iron-throne-token", "fiefdoms": "valyrian-steel-blade", "kings-court": "messenger-raven"}
    assert scene.state.tokens[token[track]] == STARK


def test_doran_decides_the_tie_of_his_own_combat() -> None:
    scene = battle(MARTELL, LANNISTER, attacking="4 footman", tracks={"fiefdoms": (LANNISTER, MARTELL)}, used=())
    scene.fight({MARTELL: DORAN, LANNISTER: "the-hound"}, doran_track="fiefdoms", blade_strength="do-not-use")
    assert scene.strength(MARTELL) == scene.strength(LANNISTER) == 4
    assert scene.winner == MARTELL


def test_doran_passes_the_blade_which_serves_at_once() -> None:
    scene = battle(MARTELL, LANNISTER, tracks={"fiefdoms": (LANNISTER, MARTELL)})
    scene.fight({MARTELL: DORAN, LANNISTER: "the-hound"}, until="blade-strength", doran_track="fiefdoms")
    assert scene.owed[0].player == MARTELL


def test_doran_has_no_choice_against_whoever_is_last_everywhere() -> None:
    last = dict.fromkeys(("iron-throne", "fiefdoms", "kings-court"), (MARTELL, STARK, GREYJOY, BARATHEON, TYRELL))
    scene = battle(MARTELL, LANNISTER, tracks=last)
    scene.fight({MARTELL: DORAN, LANNISTER: "the-hound"}, until="doran-track").never(f.MarkerMoved)
    assert scene.state.combat is None


def test_doran_does_not_take_an_ability_away() -> None:
    """Moved down the Iron Throne track, the other one still acts (2E-HCX-6)."""
    scene = battle(MARTELL, TYRELL, tracks={"iron-throne": (MARTELL, TYRELL)})
    scene.fight({MARTELL: DORAN, TYRELL: "mace-tyrell"}, doran_track="iron-throne").citing("2E-HCX-6")
    assert [fact.house for fact in scene.of(f.AbilityResolved)] == [MARTELL, TYRELL]
    scene.then(f.UnitsDestroyed(house=MARTELL, area=FIELD, units={"footman": 1}, marching=True))
