"""Rules that whole games seldom meet, each in a position of its own."""

from __future__ import annotations

import msgspec
import pytest

from domain.kernel.commands import PassDeadline
from domain.kernel.refusal import Refusal
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from domain.thrones.language import kinds
from domain.thrones.language.start import Start
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.charter import Charter
from domain.thrones.tables.editions.second import SECOND_EDITION
from tests.domain.thrones.given import (
    BARATHEON,
    CAMP,
    FIELD,
    GREYJOY,
    HOUSES,
    LANNISTER,
    MARTELL,
    STARK,
    TYRELL,
    battle,
    given,
    march,
)

SEA, NEXT_SEA, PORT = "the-golden-sound", "sunset-sea", "port-of-lannisport"


def test_a_hand_that_is_empty_plays_no_card() -> None:
    scene = battle(LANNISTER, STARK, hands={STARK: ()}).fight({LANNISTER: "the-hound"}).citing("2E-CBT-22")
    assert scene.card_strength(STARK) == 0 and scene.icons(STARK) == (0, 0)
    assert scene.strength(STARK) == 2


def test_a_seventh_castle_wins_at_once_and_ties_go_to_more_land() -> None:
    castles = [area.id for area in SECOND_EDITION.board.areas.values() if area.castle and not area.home]
    castles.remove("harrenhal")
    tokens = dict.fromkeys(castles[:6], STARK) | dict.fromkeys(castles[6:13], TYRELL)
    board = {
        CAMP: "stark: footman",
        "castle-black": "stark: footman",
        "winterfell": "lannister: footman",
        "highgarden": "lannister: footman",
    }
    scene = given(board, orders={CAMP: "march-0"}, turn=STARK, power_tokens=tokens)
    scene.when(march(STARK, CAMP, ("harrenhal", "footman"))).citing("2E-VIC-2", "2E-VIC-3", "2E-VIC-4", "2E-RND-4")
    assert scene.state.winner == STARK
    assert scene.state.victory[STARK] == scene.state.victory[TYRELL] == 7


def test_an_empty_deck_is_made_of_its_discards() -> None:
    """It cannot happen in ten rounds, only in a longer game that is configured (2E-LIM-6)."""
    scene = given({"winterfell": "stark: footman"}, step="planning", threat=0)
    deck = "westeros-2"
    calm = "w2-last-days-of-summer"
    hidden = msgspec.structs.replace(scene.state.hidden, decks={**_decks(), deck: ()})
    position = msgspec.structs.replace(
        scene.state,
        westeros_cards={},
        westeros_discards={deck: SECOND_EDITION.westeros_decks[deck]},
        threat=0,
        frames=({"procedure": "Play", "step": "phases", "phase": 1}, {"procedure": "WesterosPhase"}),
        hidden=hidden,
    )
    charter = msgspec.structs.replace(scene.state.charter, chance="seeded")
    start = Start(charter=charter, seed="00" * 32, position=position, hidden=hidden, reason="a test")
    facts = THRONES.decide(THRONES.blank(), start).facts
    shuffled = next(fact for fact in facts if isinstance(fact, f.DeckShuffled))
    assert "2E-LIM-6" in shuffled.rules and sorted(shuffled.cards) == sorted(SECOND_EDITION.westeros_decks[deck])
    assert calm in shuffled.cards


def _decks() -> dict[str, tuple[str, ...]]:
    decks = dict(SECOND_EDITION.westeros_decks)
    calm = ("w1-last-days-of-summer", "w3-web-of-lies")
    for deck, top in (("westeros-1", calm[0]), ("westeros-3", calm[1])):
        rest = list(decks[deck])
        rest.remove(top)
        decks[deck] = (top, *rest)
    return {"wildling": SECOND_EDITION.wildling_deck, **decks}


@pytest.mark.parametrize(
    ("charter", "code", "rule"),
    [
        (Charter("second-edition", (LANNISTER, BARATHEON, STARK)), "houses-not-in-order", "2E-GEN-16"),
        (Charter("second-edition", (LANNISTER, STARK)), "wrong-number-of-players", "2E-SET-1"),
        (Charter("second-edition", (GREYJOY, LANNISTER, STARK)), "houses-do-not-fit", "2E-SET-1"),
        (Charter("second-edition", HOUSES, seats={"a": STARK}), "seats-do-not-fit", "2E-SET-2"),
    ],
)
def test_a_charter_that_no_game_can_be_played_by_is_refused(charter: Charter, code: str, rule: str) -> None:
    with pytest.raises(Refusal) as refusal:
        THRONES.decide(THRONES.blank(), Start(charter=charter, seed="00" * 32))
    assert refusal.value.code == code and rule in refusal.value.rules


def test_a_power_token_on_an_enemy_home_overrides_its_shield() -> None:
    board = {"highgarden": "stark: footman", "the-eyrie": "greyjoy: footman"}
    scene = given(board, orders={"highgarden": "march-0", "the-eyrie": "march-0"}, turn=STARK)
    scene.when(march(STARK, "highgarden", ("the-reach", "footman"), leave_power=True))
    assert scene.state.control["highgarden"] == STARK
    tyrell = given(board, orders={"highgarden": "march-0", "the-eyrie": "march-0"}, turn=STARK)
    tyrell.when(march(STARK, "highgarden", ("the-reach", "footman"))).citing("2E-CTL-10", "2E-CTL-11", "2E-MAR-10")
    assert tyrell.state.control["highgarden"] == TYRELL


def test_units_destroyed_on_an_enemy_home_leave_it_to_the_token_that_lies_there() -> None:
    """A Martell loses to Arianne's rule: the token overrides the shield when the units are gone (2E-CTL-12)."""
    scene = battle(
        LANNISTER,
        MARTELL,
        attacking="4 knight",
        defending="footman",
        area="highgarden",
        origin=FIELD,
        power_tokens={"highgarden": MARTELL},
    )
    scene.fight({LANNISTER: "the-hound", MARTELL: "arianne-martell"})
    assert scene.state.control["highgarden"] == MARTELL


def test_the_home_of_a_house_that_does_not_play_is_an_ordinary_area() -> None:
    board = {"sunspear": "stark: footman", "the-eyrie": "greyjoy: footman"}
    scene = given(board, players=5, orders={"sunspear": "march-0", "the-eyrie": "march-0"}, turn=STARK)
    scene.when(march(STARK, "sunspear", ("yronwood", "footman"))).citing("2E-FEW-3")
    assert "sunspear" not in scene.state.control


def test_entering_an_area_with_a_friendly_token_or_order_leaves_both_in_place() -> None:
    board = {CAMP: "lannister: 2 footman", FIELD: "lannister: footman", "the-eyrie": "greyjoy: footman"}
    orders = {CAMP: "march-0", FIELD: "support-0-a", "the-eyrie": "march-0"}
    scene = given(board, orders=orders, turn=LANNISTER, power_tokens={FIELD: LANNISTER})
    scene.when(march(LANNISTER, CAMP, (FIELD, "2 footman"))).citing("2E-MAR-12", "2E-MAR-15")
    assert scene.state.orders[FIELD].token == "support-0-a" and scene.state.power_tokens[FIELD] == LANNISTER


def test_units_that_march_into_an_area_with_a_march_order_may_go_on() -> None:
    board = {CAMP: "lannister: footman", FIELD: "lannister: footman", "the-eyrie": "greyjoy: footman"}
    orders = {CAMP: "march-0", FIELD: "march-minus-1", "the-eyrie": "march-0"}
    scene = given(board, orders=orders, turn=LANNISTER, tracks={"iron-throne": (LANNISTER, GREYJOY)})
    scene.when(march(LANNISTER, CAMP, (FIELD, "footman")))
    scene.when(march(GREYJOY, "the-eyrie")).when(march(LANNISTER, FIELD, ("blackwater", "2 footman")))
    scene.then(f.UnitsMoved(house=LANNISTER, area=FIELD, to="blackwater", units={"footman": 2})).citing("2E-MAR-11")


def test_ships_fight_for_a_sea_and_transport_into_a_fight() -> None:
    sea = battle(GREYJOY, LANNISTER, attacking="2 ship", defending="ship", origin=NEXT_SEA, area=SEA)
    sea.citing("2E-MAR-17").fight({GREYJOY: "euron-crows-eye", LANNISTER: "the-hound"})
    land = battle(
        GREYJOY,
        LANNISTER,
        origin="pyke",
        area="riverrun",
        others={"ironmans-bay": "greyjoy: routed-ship"},
    )
    land.citing("2E-TRN-1", "2E-TRN-2", "2E-TRN-5")


def test_transport_needs_own_ships_at_sea() -> None:
    board = {"pyke": "greyjoy: footman", "ironmans-bay": "lannister: ship", "port-of-pyke": "greyjoy: ship"}
    scene = given(board, orders={"pyke": "march-0"}, turn=GREYJOY)
    scene.refused(march(GREYJOY, "pyke", ("riverrun", "footman")), "cannot-enter", "2E-TRN-1", "2E-TRN-4", "2E-TRN-6")


def test_no_tides_card_is_drawn_against_a_neutral_force() -> None:
    board = {CAMP: "lannister: 2 footman", "the-eyrie": "greyjoy: footman"}
    orders = {CAMP: "march-0", "the-eyrie": "march-0"}
    scene = given(board, orders=orders, turn=LANNISTER, neutral={FIELD: 2}, tides_of_battle="on")
    scene.when(march(LANNISTER, CAMP, (FIELD, "2 footman"))).citing("2E-TOB-11", "2E-NEU-4", "2E-NEU-7")
    scene.never(f.TidesCardDrawn, f.HouseCardsRevealed)


def test_ships_in_a_port_support_a_fight_at_sea_and_obey_defense_orders_in_vain() -> None:
    scene = battle(
        GREYJOY,
        LANNISTER,
        attacking="2 ship",
        defending="ship",
        origin=NEXT_SEA,
        area=SEA,
        others={PORT: "lannister: ship", "lannisport": "lannister: footman"},
        orders={PORT: "support-0-a"},
    )
    scene.fight({GREYJOY: "dagmar-cleftjaw", LANNISTER: "the-hound"}).citing("2E-PRT-7")
    assert scene.strength(LANNISTER) == 1 + 1 + 2
    planning = given({PORT: "lannister: ship", "lannisport": "lannister: footman"}, step="planning")
    assert "2E-PRT-4" in planning.asks("assign-orders").rules
    planning.when(c.AssignOrders(house=LANNISTER, orders={PORT: "defense-plus-1-a", "lannisport": "march-0"}))


def test_a_missed_deadline_takes_the_default_of_its_kind() -> None:
    board = {"winterfell": "stark: 4 footman", "karhold": "stark: 3 knight"}
    decks = {"westeros-1": ("w1-supply",), "westeros-2": ("w2-last-days-of-summer",), "westeros-3": ("w3-web-of-lies",)}
    scene = given(board, step="westeros", decks=decks, threat=0, power_tokens={"white-harbor": STARK})
    if scene.owed[0].kind == "reconcile-supply":
        assert "2E-DP-40" in scene.owed[0].rules
        scene.when(PassDeadline(player=STARK, question=scene.state.question))
    planning = given({"winterfell": "stark: footman", "karhold": "stark: footman"}, step="planning")
    assert "2E-DP-42" in planning.owed[0].rules
    planning.when(PassDeadline(player=STARK, question=planning.state.question)).citing("2E-GEN-19")
    placed = {area: order.token for area, order in planning.state.orders.items()}
    assert placed == {"karhold": "defense-plus-1-a", "winterfell": "defense-plus-1-b"}


def test_a_port_changes_hands_with_its_land() -> None:
    scene = battle(
        GREYJOY,
        LANNISTER,
        attacking="3 knight",
        defending="footman",
        area="lannisport",
        others={PORT: "lannister: 2 ship"},
        orders={PORT: "raid-a"},
    )
    scene.fight({GREYJOY: "euron-crows-eye", LANNISTER: "ser-kevan-lannister"}, capture_ships={"ships": 1})
    scene.citing("2E-PRT-13", "2E-PRT-14", "2E-PRT-16", "2E-CTL-2")
    assert scene.at(PORT) == "greyjoy: ship" and PORT not in scene.state.orders


def test_ships_without_an_owner_of_their_port_are_lost() -> None:
    board = {"oldtown": "lannister: footman", "port-of-oldtown": "lannister: ship", "the-eyrie": "greyjoy: footman"}
    scene = given(board, orders={"oldtown": "march-0", "the-eyrie": "march-0"}, turn=LANNISTER)
    scene.when(march(LANNISTER, "oldtown", ("three-towers", "footman"))).citing("2E-PRT-15")
    assert scene.at("port-of-oldtown") == ""


def test_hands_discards_and_power_are_public_all_the_time() -> None:
    """2E-HID-2 and 2E-HID-4: what a redacted position still shows, in the middle of a combat too."""
    scene = battle(LANNISTER, STARK, hands={STARK: ("eddard-stark", "the-blackfish")})
    shown = THRONES.public(scene.state)
    assert shown.hands == scene.state.hands and shown.discards == scene.state.discards
    assert len(shown.discards[STARK]) == 5 and shown.power == scene.state.power
    assert shown.units == scene.state.units and shown.orders == scene.state.orders
    for fact in (f.CardsDiscarded(house=STARK, cards=()), f.CardsTaken(house=STARK, cards=())):
        assert fact.audience is None


def test_nothing_can_be_given_lent_or_promised() -> None:
    """2E-HID-5 and 2E-HID-6: the answers of section 26 are all there is, and none names a receiver."""
    assert len(kinds.ANSWERS) == 39
    for answer in kinds.ANSWERS:
        names = {field.name for field in msgspec.structs.fields(answer)}
        assert not names & {"receiver", "gift", "partner", "promise"}
    scene = given({"winterfell": "stark: footman"}, step="planning")
    scene.refused(c.WildlingBid(house=STARK, bid=1), "not-asked", "2E-DP-43")
    scene.refused(c.AssignOrders(house=LANNISTER, orders={}), "not-your-turn", "2E-DP-43")
