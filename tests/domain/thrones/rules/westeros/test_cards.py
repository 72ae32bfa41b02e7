"""The Westeros cards (section 6.1)."""

from __future__ import annotations

from typing import Any

import pytest

from domain.kernel.commands import StateDraws
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from tests.domain.thrones.given import BARATHEON, GREYJOY, HOUSES, LANNISTER, MARTELL, STARK, TYRELL, Scene, given

QUIET = {"westeros-1": "w1-last-days-of-summer", "westeros-2": "w2-last-days-of-summer", "westeros-3": "w3-web-of-lies"}
BOARD = {"winterfell": "stark: footman", "lannisport": "lannister: footman"}


def drawing(card: str, board: dict[str, str] | None = None, **more: Any) -> Scene:
    """A Westeros phase in which this card is drawn beside quiet ones."""
    deck = f"westeros-{card[1]}"
    decks = {name: (card if name == deck else quiet,) for name, quiet in QUIET.items()}
    return given(board or BOARD, step="westeros", threat=0, decks=decks, **more)


def test_supply_counts_icons_and_then_armies() -> None:
    board = {"winterfell": "stark: 3 footman", "widows-watch": "stark: footman", "lannisport": "lannister: 3 footman"}
    scene = drawing("w1-supply", board, power_tokens={"the-stony-shore": STARK, "karhold": STARK})
    scene.passing("reconcile-supply").citing("2E-WEC-1", "2E-SUP-4", "2E-SUP-1")
    # Winterfell, Widow's Watch and the Stony Shore have an icon each; Lannisport two.
    assert (scene.state.supply[STARK], scene.state.supply[LANNISTER], scene.state.supply[TYRELL]) == (3, 2, 2)


def test_supply_destroys_what_the_new_limit_does_not_feed() -> None:
    scene = drawing("w1-supply", {"winterfell": "stark: 3 footman, knight", "karhold": "stark: 2 knight"})
    scene.asks("reconcile-supply")
    scene.refused(c.ReconcileSupply(house=STARK, units={"winterfell": {"footman": 2}}), "more-than-needed", "2E-SUP-6")
    scene.refused(c.ReconcileSupply(house=STARK, units={"karhold": {"knight": 1}}), "still-over-supply", "2E-SUP-2")
    scene.answer({"units": {"winterfell": {"footman": 1}}}).citing("2E-SUP-5", "2E-SUP-6")
    assert scene.at("winterfell") == "stark: 2 footman, knight"


def test_mustering_asks_every_house_in_turn_order() -> None:
    scene = drawing("w1-mustering")
    asked = []
    while scene.owed[0].kind == "muster":
        asked.append(scene.owed[0].player)
        scene.answer({"steps": ()})
    assert asked == [BARATHEON, LANNISTER, STARK, MARTELL, GREYJOY, TYRELL]
    scene.citing("2E-WEC-2")


@pytest.mark.parametrize(
    ("word", "kind"), [("supply", "assign-orders"), ("mustering", "muster"), ("nothing", "assign-orders")]
)
def test_a_throne_of_blades_is_the_choice_of_the_iron_throne(word: str, kind: str) -> None:
    scene = drawing("w1-a-throne-of-blades")
    assert scene.asks("throne-of-blades").player == BARATHEON
    scene.answer(word).citing("2E-WEC-3").asks(kind)
    assert bool(scene.of(f.SupplyCounted)) is (word == "supply")


@pytest.mark.parametrize(
    ("card", "rule"), [("w1-last-days-of-summer", "2E-WEC-4"), ("w2-last-days-of-summer", "2E-WEC-8")]
)
def test_last_days_of_summer_has_an_icon_and_no_effect(card: str, rule: str) -> None:
    scene = drawing(card).citing(rule)
    # One icon each on both Last Days of Summer and on Web of Lies.
    assert scene.state.threat == 6
    scene.asks("assign-orders")


@pytest.mark.parametrize(
    ("deck", "card", "rule"), [("1", "w1-winter-is-coming", "2E-WEC-5"), ("2", "w2-winter-is-coming", "2E-WEC-9")]
)
def test_winter_is_coming_shuffles_its_deck_and_is_replaced(deck: str, card: str, rule: str) -> None:
    tops = {name: (quiet,) for name, quiet in QUIET.items()} | {f"westeros-{deck}": (card,)}
    calm = f"w{deck}-last-days-of-summer"
    scene = given(BOARD, step="planning", threat=0, decks=tops, round=1)
    scene.when(StateDraws(deck=f"westeros-{deck}", cards=(card,)), StateDraws(deck=f"westeros-{deck}", cards=(calm,)))
    for house in (LANNISTER, STARK):
        area = {LANNISTER: "lannisport", STARK: "winterfell"}[house]
        scene.when(c.AssignOrders(house=house, orders={area: "defense-plus-1-a"}))
    scene.passing("raven").citing(rule, "2E-WES-3")
    drawn = [fact.card for fact in scene.of(f.WesterosCardDrawn) if fact.deck == f"westeros-{deck}"]
    assert drawn == [card, card, calm]
    assert scene.state.threat == 6 and scene.state.round == 2


def test_clash_of_kings_fills_three_tracks_one_after_the_other() -> None:
    scene = drawing("w2-clash-of-kings")
    bids = {STARK: 3, TYRELL: 2, LANNISTER: 2}
    for track in ("iron-throne", "fiefdoms", "kings-court"):
        while scene.owed[0].kind == "influence-bid":
            house = scene.owed[0].player
            amount = min(bids.get(house, 0), scene.state.power[house])
            scene.when(c.InfluenceBid(house=house, track=track, bid=amount))
        scene.passing("influence-tie")
    scene.citing("2E-WEC-6", "2E-COK-3", "2E-COK-4", "2E-COK-6", "2E-COK-7")
    filled = {fact.track: fact.order for fact in scene.of(f.TrackFilled)}
    # Lannister stood before Tyrell, and the default keeps that; then all who bid nothing.
    assert filled["iron-throne"] == (STARK, LANNISTER, TYRELL, BARATHEON, MARTELL, GREYJOY)
    assert scene.state.tokens["iron-throne-token"] == STARK
    assert scene.state.power[STARK] == 0 and scene.state.power[LANNISTER] == 0


def test_the_new_holder_settles_the_ties_of_the_later_tracks() -> None:
    scene = drawing("w2-clash-of-kings")
    for house in HOUSES:
        scene.when(c.InfluenceBid(house=house, track="iron-throne", bid=int(house == STARK)))
    assert scene.asks("influence-tie").player == BARATHEON
    scene.passing("influence-tie")
    for house in HOUSES:
        scene.when(c.InfluenceBid(house=house, track="fiefdoms", bid=0))
    assert scene.asks("influence-tie").player == STARK
    scene.citing("2E-COK-5")


def test_game_of_thrones_pays_icons_and_open_ports() -> None:
    board = {
        "winterfell": "stark: footman",
        "port-of-winterfell": "stark: ship",
        "lannisport": "lannister: footman",
        "port-of-lannisport": "lannister: ship",
        "the-golden-sound": "greyjoy: ship",
        "stoney-sept": "lannister: footman",
    }
    scene = drawing("w2-game-of-thrones", board, power_tokens={"karhold": STARK}).citing("2E-WEC-7", "2E-GOT-1")
    # Stark: Winterfell 1, Karhold 1, its port 1. Lannister: Stoney Sept 1; Greyjoy's Ship blocks the port.
    assert scene.state.power[STARK] == 5 + 3
    assert scene.state.power[LANNISTER] == 5 + 1
    assert scene.state.power[GREYJOY] == 5 + 1


@pytest.mark.parametrize(("switch", "income"), [("no", 1), ("yes", 2)])
def test_dark_wings_collects_power_and_ports_are_a_switch(switch: str, income: int) -> None:
    board = {"winterfell": "stark: footman", "port-of-winterfell": "stark: ship"}
    scene = drawing("w2-dark-wings-dark-words", board, dark_wings_ports=switch)
    assert scene.asks("dark-wings").player == LANNISTER
    assert scene.words("dark-wings") == ("clash-of-kings", "collect-power", "nothing")
    scene.answer("collect-power").citing("2E-WEC-10")
    assert scene.state.power[STARK] == 5 + income
    assert scene.state.used == ()


def test_dark_wings_may_be_a_clash_of_kings_or_nothing() -> None:
    drawing("w2-dark-wings-dark-words").answer("clash-of-kings").asks("influence-bid")
    drawing("w2-dark-wings-dark-words").answer("nothing").never(f.PowerChanged).asks("assign-orders")


def test_wildlings_attack_comes_with_the_strength_of_the_moment() -> None:
    scene = drawing("w3-wildlings-attack")
    # The two quiet cards moved the threat to 4 before.
    scene.then(
        f.WildlingAttackBegan(
            cause="card", strength=4, participants=(BARATHEON, LANNISTER, STARK, MARTELL, GREYJOY, TYRELL)
        )
    )
    scene.citing("2E-WEC-11").asks("wildling-bid")


@pytest.mark.parametrize(
    ("word", "prohibited"),
    [("no-defense", ("defense",)), ("no-march-plus-1", ("march-plus-1",)), ("no-restriction", ())],
)
def test_put_to_the_sword_is_the_choice_of_the_blade(word: str, prohibited: tuple[str, ...]) -> None:
    scene = drawing("w3-put-to-the-sword", tracks={"fiefdoms": (MARTELL,)})
    assert scene.asks("put-to-the-sword").player == MARTELL
    scene.answer(word).citing("2E-WEC-12")
    assert scene.state.prohibited == prohibited and scene.state.used == ()


@pytest.mark.parametrize(
    ("card", "rule", "forbidden", "allowed"),
    [
        ("w3-storm-of-swords", "2E-WEC-13", ("defense-plus-1-a", "defense-plus-2"), "march-0"),
        ("w3-rains-of-autumn", "2E-WEC-14", ("march-plus-1",), "march-0"),
        ("w3-sea-of-storms", "2E-WEC-15", ("raid-a", "raid-star"), "support-0-a"),
        ("w3-web-of-lies", "2E-WEC-16", ("support-0-a", "support-plus-1"), "raid-a"),
        ("w3-feast-for-crows", "2E-WEC-17", ("consolidate-a", "consolidate-star"), "defense-plus-2"),
    ],
)
def test_a_card_of_deck_three_forbids_orders_for_one_planning_phase(
    card: str, rule: str, forbidden: tuple[str, ...], allowed: str
) -> None:
    scene = drawing(card, tracks={"kings-court": (STARK,)}).citing(rule, "2E-WES-7")
    for order in forbidden:
        answer = c.AssignOrders(house=STARK, orders={"winterfell": order})
        scene.refused(answer, "order-prohibited", "2E-PLN-6")
    scene.when(c.AssignOrders(house=STARK, orders={"winterfell": allowed}))
    scene.when(c.AssignOrders(house=LANNISTER, orders={"lannisport": "march-0"}))
    scene.asks("raven")
    replaced = scene.refused(
        c.Raven(house=STARK, choice="replace", area="winterfell", order=forbidden[-1]), "order-prohibited", "2E-PLN-6"
    )
    assert forbidden[-1] not in replaced.params["options"]
    scene.answer("nothing").then(f.ProhibitionsLifted())
    assert scene.state.prohibited == ()
