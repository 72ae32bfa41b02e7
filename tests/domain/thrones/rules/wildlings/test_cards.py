"""The nine wildling cards, both outcomes of each (section 24.1)."""

from __future__ import annotations

from typing import Any

import pytest

from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from tests.domain.thrones.given import BARATHEON, GREYJOY, LANNISTER, MARTELL, STARK, TYRELL, Scene, given

TRACKS = ("iron-throne", "fiefdoms", "kings-court")
QUIET = {"westeros-1": ("w1-last-days-of-summer",), "westeros-2": ("w2-last-days-of-summer",)}


def attack(
    card: str,
    board: dict[str, str] | None = None,
    *,
    bids: dict[str, int] | None = None,
    threat: int = 4,
    then: tuple[str, ...] = (),
    **more: Any,
) -> Scene:
    """A wildling attack by card, of strength ``threat`` + 4, since two icons are drawn beside it.

    Who is not in ``bids`` bids 0.
    """
    decks = {**QUIET, "westeros-3": ("w3-wildlings-attack",), "wildling": (card, *then)}
    scene = given(board, step="westeros", decks=decks, threat=threat, **more)
    return bid(scene, bids or {})


def bid(scene: Scene, bids: dict[str, int]) -> Scene:
    attacks = len(scene.of(f.WildlingAttackBegan))
    while scene.owed and scene.owed[0].kind == "wildling-bid" and len(scene.of(f.WildlingAttackBegan)) == attacks:
        house = scene.owed[0].player
        scene.when(c.WildlingBid(house=house, bid=bids.get(house, 0)))
    return scene


LOST = {BARATHEON: 1, GREYJOY: 1, LANNISTER: 1, MARTELL: 1, TYRELL: 1}
"""Five bids of one: Stark is the lowest bidder, and the attack of strength 8 is lost."""
WON = {STARK: 5, LANNISTER: 3, TYRELL: 2}
"""Stark is the highest bidder, and the attack is beaten."""


def test_an_attack_is_won_by_bids_that_reach_its_strength() -> None:
    won = attack("silence-at-the-wall", bids={STARK: 5, LANNISTER: 3}).citing("2E-WLD-4", "2E-WLD-5", "2E-WLD-9")
    assert won.of(f.WildlingAttackDecided)[0].winner == "nights-watch"
    assert won.state.threat == 0
    lost = attack("silence-at-the-wall", bids={STARK: 5, LANNISTER: 2})
    assert lost.of(f.WildlingAttackDecided)[0].winner == "wildlings"


def test_silence_at_the_wall_changes_nothing() -> None:
    for bids in (LOST, WON):
        scene = attack("silence-at-the-wall", {"winterfell": "stark: 2 footman"}, bids=bids)
        scene.never(f.UnitsDestroyed, f.MarkerMoved, f.CardsTaken, f.CardsDiscarded).citing("2E-WLC-1")
        scene.then(f.WildlingCardRevealed(card="silence-at-the-wall"), f.WildlingCardBuried())
        assert scene.state.power[STARK] == 5 - bids.get(STARK, 0)
        assert scene.state.hidden.decks["wildling"][-1] == "silence-at-the-wall"


def test_the_threat_falls_by_two_spaces_after_a_defeat() -> None:
    assert attack("silence-at-the-wall", bids=LOST).state.threat == 4


def test_equal_decisive_bids_are_settled_by_the_iron_throne() -> None:
    scene = attack("silence-at-the-wall", bids={STARK: 5, LANNISTER: 5})
    assert scene.asks("wildling-tie").player == BARATHEON
    assert scene.words("wildling-tie") == (LANNISTER, STARK)
    scene.answer(STARK).then(f.BidderNamed(house=STARK, which="highest")).citing("2E-WLD-6", "2E-TRK-2")


def test_preemptive_raid_lowest_bidder_loses_two_units() -> None:
    scene = attack("preemptive-raid", {"winterfell": "stark: 2 footman, knight"}, bids=LOST)
    assert scene.asks("preemptive-raid").player == STARK
    assert scene.words("preemptive-raid") == ("destroy-units", "lose-influence")
    scene.answer("destroy-units")
    scene.answer({"units": {"winterfell": {"footman": 1, "knight": 1}}}).citing("2E-WLC-2", "2E-WLD-13")
    assert scene.at("winterfell") == "stark: footman"


def test_preemptive_raid_lowest_bidder_falls_two_places_where_he_stands_best() -> None:
    best = {"iron-throne": (BARATHEON, STARK), "fiefdoms": (LANNISTER, STARK), "kings-court": (MARTELL, TYRELL, STARK)}
    scene = attack("preemptive-raid", bids=LOST, tracks=best)
    scene.answer("lose-influence")
    assert scene.asks("preemptive-raid-track").player == BARATHEON
    assert scene.words("preemptive-raid-track") == ("iron-throne", "fiefdoms")
    scene.answer("fiefdoms").citing("2E-WLC-2", "2E-TRK-8")
    assert scene.state.tracks["fiefdoms"].index(STARK) == 3


def test_preemptive_raid_beaten_brings_a_second_attack_without_the_winner() -> None:
    scene = attack("preemptive-raid", bids=WON, then=("silence-at-the-wall",))
    second = scene.of(f.WildlingAttackBegan)[1]
    assert second.strength == 6 and STARK not in second.participants and len(second.participants) == 5
    bid(scene, {LANNISTER: 2, TYRELL: 3, MARTELL: 1}).citing("2E-WLC-10")
    assert scene.of(f.WildlingAttackDecided)[1].winner == "nights-watch"
    assert scene.state.threat == 0


def test_crow_killers_lowest_bidder_and_everyone_else() -> None:
    board = {"winterfell": "stark: 2 knight, routed-knight", "lannisport": "lannister: 3 knight"}
    scene = attack("crow-killers", board, bids=LOST)
    # All three Knights of Stark, without a question; Lannister has to choose nothing but the number.
    scene.passing("crow-killers-degrade").citing("2E-WLC-3")
    assert scene.at("winterfell") == "stark: 2 footman, routed-footman"
    assert scene.at("lannisport") == "lannister: 2 footman, knight"


def test_crow_killers_destroys_knights_for_whom_no_footman_is_left() -> None:
    board = {
        "winterfell": "stark: 2 knight",
        "karhold": "stark: 3 footman",
        "castle-black": "stark: 2 footman",
        "moat-cailin": "stark: 2 footman",
        "white-harbor": "stark: 2 footman",
        "the-stony-shore": "stark: knight",
    }
    scene = attack("crow-killers", board, bids=LOST)
    decision = scene.asks("crow-killers-degrade")
    assert len(list(decision.options.every(decision.default))) == 2
    scene.answer({"replaced": {"the-stony-shore": {"knight": 1}}, "destroyed": {"winterfell": {"knight": 2}}})
    scene.citing("2E-WLC-3", "2E-LIM-3")
    assert scene.at("winterfell") == "" and scene.at("the-stony-shore") == "stark: footman"


def test_crow_killers_highest_bidder_upgrades_two_footmen() -> None:
    scene = attack("crow-killers", {"winterfell": "stark: 2 footman, routed-footman"}, bids=WON)
    scene.asks("crow-killers-upgrade")
    scene.answer({"units": {"winterfell": {"footman": 1, "routed-footman": 1}}}).citing("2E-WLC-3")
    assert scene.at("winterfell") == "stark: footman, knight, routed-knight"


def test_rattleshirts_raiders_lower_supply_and_armies() -> None:
    board = {"winterfell": "stark: 3 footman", "lannisport": "lannister: 3 footman"}
    scene = attack("rattleshirts-raiders", board, bids=LOST, supply={STARK: 2, LANNISTER: 1})
    scene.passing("reconcile-supply").citing("2E-WLC-4", "2E-SUP-9", "2E-SUP-6")
    assert (scene.state.supply[STARK], scene.state.supply[LANNISTER], scene.state.supply[TYRELL]) == (0, 0, 5)
    assert scene.at("winterfell") == "stark: 2 footman" and scene.at("lannisport") == "lannister: 2 footman"


@pytest.mark.parametrize(("before", "after"), [(3, 4), (6, 6)])
def test_rattleshirts_raiders_raise_the_supply_of_the_highest_bidder(before: int, after: int) -> None:
    scene = attack("rattleshirts-raiders", bids=WON, supply={STARK: before})
    assert scene.state.supply[STARK] == after and scene.state.supply[LANNISTER] == 6
    scene.citing("2E-WLC-4")


def test_massing_on_the_milkwater_takes_the_strongest_cards() -> None:
    hands = {STARK: ("eddard-stark", "the-blackfish"), TYRELL: ("mace-tyrell",)}
    scene = attack("massing-on-the-milkwater", bids=LOST, hands=hands)
    assert scene.state.hands[STARK] == ("the-blackfish",) and scene.state.discards[STARK][-1] == "eddard-stark"
    asked = []
    while scene.owed and scene.owed[0].kind == "massing-discard":
        asked.append(scene.owed[0].player)
        scene.answer(scene.words("massing-discard")[-1])
    # Everyone else in turn order; Tyrell with one card is not affected.
    assert asked == [BARATHEON, LANNISTER, MARTELL, GREYJOY]
    assert scene.state.discards[LANNISTER] == ("tywin-lannister",)
    scene.citing("2E-WLC-5", "2E-WLD-8")


@pytest.mark.parametrize(("switch", "refreshed"), [("refresh", True), ("keep", False)])
def test_massing_on_a_hand_of_equal_cards_is_a_switch(switch: str, refreshed: bool) -> None:
    equal = ("greatjon-umber", "roose-bolton")
    scene = attack("massing-on-the-milkwater", bids=LOST, hands={STARK: equal}, massing_equal_hand=switch)
    assert (scene.state.discards[STARK] == equal) is refreshed
    assert len(scene.state.hands[STARK]) == (5 if refreshed else 2)


def test_massing_gives_the_highest_bidder_his_discard_pile() -> None:
    scene = attack("massing-on-the-milkwater", bids=WON, hands={STARK: ("eddard-stark",)})
    assert len(scene.state.hands[STARK]) == 7 and scene.state.discards[STARK] == ()


def test_a_king_beyond_the_wall_lowers_markers() -> None:
    scene = attack("a-king-beyond-the-wall", bids=LOST)
    assert all(scene.state.tracks[track][-1] == STARK for track in TRACKS)
    assert scene.asks("king-beyond-lower").player == BARATHEON
    assert scene.words("king-beyond-lower") == ("fiefdoms", "kings-court")
    scene.answer("kings-court").passing("king-beyond-lower").citing("2E-WLC-6", "2E-FEW-4")
    lower = [(fact.house, fact.track) for fact in scene.of(f.MarkerMoved) if fact.house != STARK]
    assert lower[0] == (BARATHEON, "kings-court")
    assert [house for house, _ in lower] == [BARATHEON, LANNISTER, MARTELL, GREYJOY, TYRELL]


def test_a_king_beyond_the_wall_raises_the_highest_bidder_on_one_track() -> None:
    scene = attack("a-king-beyond-the-wall", bids=WON)
    assert scene.words("king-beyond-raise") == TRACKS
    scene.answer("fiefdoms").citing("2E-WLC-6", "2E-TRK-9")
    assert scene.state.tracks["fiefdoms"][0] == STARK and scene.state.tokens["valyrian-steel-blade"] == STARK


def test_mammoth_riders_destroy_three_units_and_two_of_everyone_else() -> None:
    board = {"winterfell": "stark: 4 footman", "the-shivering-sea": "stark: ship", "lannisport": "lannister: 3 knight"}
    scene = attack("mammoth-riders", board, bids=LOST)
    scene.asks("destroy-units")
    scene.answer({"units": {"winterfell": {"footman": 2}, "the-shivering-sea": {"ship": 1}}})
    scene.passing("destroy-units").citing("2E-WLC-7", "2E-WLD-13")
    assert scene.at("winterfell") == "stark: 2 footman" and scene.at("the-shivering-sea") == ""
    assert scene.at("lannisport") == "lannister: knight"


@pytest.mark.parametrize("word", ["none", "eddard-stark"])
def test_mammoth_riders_give_a_card_back(word: str) -> None:
    scene = attack("mammoth-riders", bids=WON, hands={STARK: ("the-blackfish",)})
    assert scene.words("mammoth-retrieve")[0] == "none" and len(scene.words("mammoth-retrieve")) == 7
    scene.answer(word)
    assert ("eddard-stark" in scene.state.hands[STARK]) is (word != "none")


def test_the_horde_descends_on_one_castle() -> None:
    board = {
        "winterfell": "stark: 2 footman, knight",
        "white-harbor": "stark: footman",
        "karhold": "stark: 2 footman",
        "lannisport": "lannister: footman, knight",
    }
    scene = attack("the-horde-descends", board, bids=LOST)
    decision = scene.asks("horde-castle-units")
    assert {area for answer in decision.options.every(decision.default) for area in answer.units} == {"winterfell"}
    scene.answer({"units": {"winterfell": {"footman": 1, "knight": 1}}})
    scene.passing("destroy-units").citing("2E-WLC-8")
    assert scene.at("winterfell") == "stark: footman" and scene.at("lannisport") == "lannister: knight"


def test_the_horde_takes_two_units_anywhere_where_no_castle_holds_two() -> None:
    scene = attack("the-horde-descends", {"karhold": "stark: 2 footman, knight"}, bids=LOST)
    scene.passing("destroy-units").citing("2E-WLC-8")
    assert scene.at("karhold") == "stark: knight"


def test_the_horde_lets_the_highest_bidder_muster_in_one_area() -> None:
    scene = attack("the-horde-descends", {"winterfell": "stark: footman"}, bids=WON)
    assert scene.words("horde-muster-area") == ("none", "winterfell")
    scene.answer("winterfell")
    scene.asks("muster")
    scene.answer({"steps": (c.MusterStep("winterfell", "knight", "winterfell"),)}).citing("2E-WLC-8", "2E-MUS-4")
    assert scene.at("winterfell") == "stark: footman, knight"


def test_skinchanger_scout_takes_power_but_not_the_bids() -> None:
    scene = attack("skinchanger-scout", bids=LOST, power={STARK: 7, TYRELL: 2}).citing("2E-WLC-9", "2E-WLD-10")
    assert scene.state.power == {BARATHEON: 2, GREYJOY: 2, LANNISTER: 2, MARTELL: 2, STARK: 0, TYRELL: 0}


def test_skinchanger_scout_returns_the_highest_bid() -> None:
    scene = attack("skinchanger-scout", bids=WON).citing("2E-WLC-9")
    assert scene.state.power[STARK] == 5 and scene.state.power[LANNISTER] == 2
