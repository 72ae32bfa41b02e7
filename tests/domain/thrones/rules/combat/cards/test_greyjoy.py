"""The seven cards of Greyjoy (section 27.5)."""

from __future__ import annotations

import pytest

from domain.thrones.language import facts as f
from tests.domain.thrones.given import BARATHEON, GREYJOY, LANNISTER, STARK, TYRELL, battle
from tests.domain.thrones.rules.combat.cards.plain import counts_as_printed

VICTARION, THEON, BALON = "victarion-greyjoy", "theon-greyjoy", "balon-greyjoy"
ASHA, AERON = "asha-greyjoy", "aeron-damphair"
SEA, NEXT_SEA, THIRD_SEA = "the-golden-sound", "sunset-sea", "west-summer-sea"


def test_euron_is_as_printed() -> None:
    counts_as_printed(GREYJOY, "euron-crows-eye", 4, 1, 0, "2E-HCG-1")


def test_victarion_makes_ships_count_two_in_attack_own_support_included() -> None:
    scene = battle(
        GREYJOY,
        LANNISTER,
        attacking="2 ship",
        defending="ship",
        origin=SEA,
        area=NEXT_SEA,
        others={THIRD_SEA: "greyjoy: ship, routed-ship", "bay-of-ice": "stark: ship"},
        orders={THIRD_SEA: "support-0-a", "bay-of-ice": "support-0-a"},
    )
    scene.fight({GREYJOY: VICTARION, LANNISTER: "the-hound"}, support={"orders": {"bay-of-ice": "attacker"}})
    scene.citing("2E-HCG-2")
    # Marching 2 x 2, supporting 2 + 0, Stark's Ship 1, the card 3.
    assert scene.strength(GREYJOY) == 4 + 2 + 1 + 3


def test_victarion_does_nothing_in_defence() -> None:
    scene = battle(LANNISTER, GREYJOY, attacking="ship", defending="2 ship", origin=SEA, area=NEXT_SEA)
    scene.fight({GREYJOY: VICTARION, LANNISTER: "the-hound"})
    assert scene.strength(GREYJOY) == 2 + 3


@pytest.mark.parametrize(("area", "bonus"), [("lannisport", 1), ("searoad-marches", 0)])
def test_theon_is_stronger_where_he_defends_a_castle(area: str, bonus: int) -> None:
    scene = battle(LANNISTER, GREYJOY, area=area).fight({GREYJOY: THEON, LANNISTER: "the-hound"}).citing("2E-HCG-3")
    assert scene.card_strength(GREYJOY) == 2 + bonus
    assert scene.icons(GREYJOY) == (bonus, 0)


def test_theon_does_nothing_in_attack() -> None:
    scene = battle(GREYJOY, LANNISTER, area="lannisport").fight({GREYJOY: THEON, LANNISTER: "the-hound"})
    assert scene.card_strength(GREYJOY) == 2 and scene.icons(GREYJOY) == (0, 0)


def test_balon_takes_the_printed_strength_but_neither_icons_nor_text() -> None:
    scene = battle(GREYJOY, STARK).fight({GREYJOY: BALON, STARK: "eddard-stark"}).citing("2E-HCG-4")
    assert scene.card_strength(STARK) == 0 and scene.card_strength(GREYJOY) == 2
    assert scene.icons(STARK) == (2, 0)
    text = battle(GREYJOY, LANNISTER, defending="4 knight").fight({GREYJOY: BALON, LANNISTER: "tywin-lannister"})
    assert text.card_strength(LANNISTER) == 0
    assert text.state.power[LANNISTER] == 7


def test_asha_has_icons_while_nobody_supports_her() -> None:
    alone = battle(GREYJOY, STARK).fight({GREYJOY: ASHA, STARK: "ser-rodrick-cassel"}).citing("2E-HCG-5")
    assert alone.icons(GREYJOY) == (2, 1)
    for word, icons in (("attacker", (0, 0)), ("withhold", (2, 1))):
        scene = battle(GREYJOY, STARK, others={SEA: "greyjoy: ship"}, orders={SEA: "support-0-a"})
        scene.fight({GREYJOY: ASHA, STARK: "ser-rodrick-cassel"}, support={"orders": {SEA: word}})
        assert scene.icons(GREYJOY) == icons


@pytest.mark.parametrize(("accepted", "icons"), [(True, (0, 0)), (False, (2, 1))])
def test_asha_may_refuse_what_is_offered(accepted: bool, icons: tuple[int, int]) -> None:
    scene = battle(GREYJOY, STARK, others={SEA: "tyrell: ship"}, orders={SEA: "support-0-a"})
    scene.fight(
        {GREYJOY: ASHA, STARK: "ser-rodrick-cassel"},
        support={"orders": {SEA: "attacker"}},
        accept_support={"orders": {SEA: accepted}},
    )
    assert scene.icons(GREYJOY) == icons


def test_queen_of_thorns_gives_asha_her_icons() -> None:
    scene = battle(GREYJOY, TYRELL, others={SEA: "greyjoy: ship"}, orders={SEA: "support-0-a"})
    scene.fight({GREYJOY: ASHA, TYRELL: "queen-of-thorns"}).citing("2E-HCX-9")
    assert scene.icons(GREYJOY) == (2, 1)


def test_dagmar_is_as_printed() -> None:
    counts_as_printed(GREYJOY, "dagmar-cleftjaw", 1, 1, 1, "2E-HCG-6")


def test_aeron_may_be_exchanged_for_two_power() -> None:
    scene = battle(GREYJOY, STARK)
    scene.fight({GREYJOY: AERON, STARK: "ser-rodrick-cassel"}, until="aeron-swap")
    assert scene.words("aeron-swap")[0] == "keep" and AERON not in scene.words("aeron-swap")
    scene.fight(aeron_swap="euron-crows-eye").citing("2E-HCG-7", "2E-HCX-2")
    scene.then(
        f.PowerChanged(house=GREYJOY, by=-2),
        f.CardsDiscarded(house=GREYJOY, cards=(AERON,)),
        f.HouseCardReplaced(house=GREYJOY, card="euron-crows-eye"),
    )
    assert scene.card_strength(GREYJOY) == 4 and scene.icons(GREYJOY) == (1, 0)
    assert scene.state.discards[GREYJOY] == (AERON, "euron-crows-eye")


def test_the_card_that_comes_for_aeron_is_asked_in_every_later_moment() -> None:
    """A continuous ability looks at the card in play (2E-HCX-4)."""
    scene = battle(GREYJOY, STARK).fight({GREYJOY: AERON, STARK: "eddard-stark"}, aeron_swap=BALON)
    assert scene.card_strength(STARK) == 0


def test_aeron_stays_without_two_power_or_another_card() -> None:
    for more in ({"power": {GREYJOY: 1}}, {"hands": {GREYJOY: (AERON,)}}):
        scene = battle(GREYJOY, STARK, **more)
        scene.fight({GREYJOY: AERON, STARK: "ser-rodrick-cassel"}, until="aeron-swap")
        assert scene.state.combat is None
        scene.never(f.HouseCardReplaced)


def test_after_aeron_the_new_card_is_the_last_one_discarded() -> None:
    scene = battle(GREYJOY, STARK, hands={GREYJOY: (AERON, BALON)})
    scene.fight({GREYJOY: AERON, STARK: "ser-rodrick-cassel"}, aeron_swap=BALON).citing("2E-HC-12")
    assert scene.state.discards[GREYJOY] == (BALON,)
    assert AERON in scene.state.hands[GREYJOY] and len(scene.state.hands[GREYJOY]) == 6


def test_aeron_loses_to_tyrion_who_acts_before() -> None:
    scene = battle(GREYJOY, LANNISTER)
    scene.fight({GREYJOY: AERON, LANNISTER: "tyrion-lannister"}, tyrion_cancel="cancel", tyrion_replacement=BALON)
    assert scene.state.power[GREYJOY] == 5 and AERON in scene.state.hands[GREYJOY]


def test_balon_against_a_card_with_a_bonus_is_in_the_tests_of_baratheon() -> None:
    """2E-HCX-14 from Greyjoy's side: text bonuses of the opponent stay."""
    scene = battle(GREYJOY, BARATHEON, tracks={"iron-throne": (GREYJOY, BARATHEON)})
    scene.fight({GREYJOY: BALON, BARATHEON: "stannis-baratheon"})
    assert scene.card_strength(BARATHEON) == 1
