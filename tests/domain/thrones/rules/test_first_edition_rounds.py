"""The rounds of a game by the first edition's book, all chapters but its battles (sections 1 to 14 and 16 to 19)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import msgspec
import pytest

from domain.kernel.commands import PassDeadline, StateDraws
from domain.kernel.refusal import Refusal
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from domain.thrones.language.start import Start
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.charter import Charter, Switches
from domain.thrones.tables.editions.composed import compose
from domain.thrones.tables.variations import FIRST_EDITION
from tests.domain.thrones.given import BARATHEON, GREYJOY, LANNISTER, STARK, TYRELL, Scene, given, march
from tests.domain.thrones.properties import Books
from tests.domain.thrones.rules import brute
from tests.domain.thrones.rules.test_options import agree

replace = msgspec.structs.replace
HOUSES = (BARATHEON, GREYJOY, LANNISTER, STARK, TYRELL)
QUIET = {f"westeros-{number}": f"w{number}-last-days-of-summer" for number in (1, 2, 3)}
TOKENS = compose(FIRST_EDITION).tokens
SEA = "the-golden-sound"


def first(board: Mapping[str, str] | None = None, *, players: int = 5, **more: Any) -> Scene:
    """A position that is played by the first edition's book."""
    return given(board, players=players, variations=more.pop("variations", FIRST_EDITION), **more)


def begun(players: int = 5, *, deal: bool = False, **words: str) -> Scene:
    """A game that has just begun."""
    variations = replace(FIRST_EDITION, **words)
    houses = tuple(sorted(compose(variations).players(players).houses))
    seats = {f"seat-{number}": house for number, house in enumerate(houses)}
    charter = Charter(
        "first-edition", houses, Switches(tiebreak="first-edition"), seats, "stated", variations=variations
    )
    ruling = THRONES.decide(THRONES.blank(), Start(charter=charter, seed="5" * 64, deal=deal))
    return Scene(ruling.state, ruling.facts)


def drawing(card: str, board: Mapping[str, str] | None = None, **more: Any) -> Scene:
    """A Westeros phase in which this card is drawn beside Last Days of Summer, each of which has an icon."""
    decks = {name: (card if name == f"westeros-{card[1]}" else quiet,) for name, quiet in QUIET.items()}
    board = board or {"winterfell": "stark: footman", "lannisport": "lannister: footman"}
    return first(board, step="westeros", decks=decks, **{"threat": 0, **more})


# Set-up (COMP, SETUP, PLAY)


def test_houses_begin_as_their_start_cards_say() -> None:
    scene = begun()
    state = scene.state
    assert state.houses == HOUSES
    for house, figures in compose(FIRST_EDITION).houses.items():
        assert {area: force.units for area, force in state.units.items() if force.house == house} == figures.units
        assert state.supply[house] == figures.supply
    assert set(state.power.values()) == {5} and {len(hand) for hand in state.hands.values()} == {7}
    assert state.tracks["iron-throne"][0] == BARATHEON == state.tokens["iron-throne-token"]
    assert state.tracks["kings-court"] == (LANNISTER, STARK, BARATHEON, GREYJOY, TYRELL)
    assert state.neutral == {"kings-landing": 5, "the-eyrie": 6, "sunspear": 5}
    assert (state.threat, state.round, state.garrisons) == (0, 1, {})
    assert [fact.threat for fact in scene.of(f.ThreatMoved)] == [0]
    assert sorted(state.hidden.decks) == ["westeros-1", "westeros-2", "westeros-3"]
    scene.citing("1E-SETUP-1", "1E-SETUP-2", "1E-SETUP-4", "1E-SETUP-5", "1E-SETUP-6", "1E-SETUP-7")
    scene.citing("1E-COMP-1", "1E-COMP-2", "1E-COMP-3", "1E-LIM-2", "1E-NEUT-1", "1E-COK-9")
    scene.never(f.GarrisonPlaced, f.WesterosCardDrawn)


def test_the_first_round_has_no_westeros_phase() -> None:
    scene = begun().citing("1E-ROUND-1")
    assert scene.state.phase == "planning"
    assert {decision.kind for decision in scene.owed} == {"assign-orders"}


def test_houses_may_be_dealt_by_chance() -> None:
    scene = begun(deal=True).citing("1E-SETUP-3")
    assert sorted(scene.state.charter.seats.values()) == list(HOUSES)
    assert list(scene.state.charter.seats.values()) != list(HOUSES)


@pytest.mark.parametrize("houses", [(BARATHEON, "martell", STARK), (STARK, TYRELL)])
def test_only_the_houses_of_the_book_are_played(houses: tuple[str, ...]) -> None:
    charter = Charter("first-edition", houses, chance="stated", variations=FIRST_EDITION)
    with pytest.raises(Refusal):
        THRONES.decide(THRONES.blank(), Start(charter=charter, seed="5" * 64))


def test_greyjoy_and_tyrell_exchange_places_at_court_with_five_houses_only() -> None:
    scene = begun(kings_court_errata="on")
    assert scene.state.tracks["kings-court"] == (LANNISTER, STARK, BARATHEON, TYRELL, GREYJOY)
    exchanged = [fact for fact in scene.of(f.TrackFilled) if fact.track == "kings-court"]
    assert "1E-SETUP-7" in exchanged[0].rules
    four = begun(4, kings_court_errata="on")
    assert four.state.tracks["kings-court"] == (LANNISTER, STARK, BARATHEON, TYRELL)
    assert not any("1E-SETUP-7" in fact.rules for fact in four.of(f.TrackFilled))


@pytest.mark.parametrize(
    ("players", "out", "forces", "stars"),
    [
        (4, (GREYJOY,), {"pyke": 3, "greywater-watch": 1, "ironmans-bay": 2}, (3, 3, 2, 1)),
        (
            3,
            (GREYJOY, TYRELL),
            {
                "pyke": 3,
                "greywater-watch": 1,
                "ironmans-bay": 2,
                "highgarden": 3,
                "dornish-marches": 1,
                "redwyne-straights": 1,
            },
            (3, 3, 2),
        ),
    ],
)
def test_what_an_unplayed_house_begins_with_is_neutral(
    players: int, out: tuple[str, ...], forces: dict[str, int], stars: tuple[int, ...]
) -> None:
    scene = begun(players).citing("1E-PLAY-1", "1E-PLAY-2", "1E-PLAY-3", "1E-PLAY-6")
    assert set(scene.state.houses) == set(HOUSES) - set(out)
    assert scene.state.neutral == {"kings-landing": 5, "the-eyrie": 6, "sunspear": 5, **forces}
    placed = {fact.area: fact.rules for fact in scene.of(f.NeutralForcePlaced)}
    assert {area for area, rules in placed.items() if "1E-PLAY-2" in rules} == set(forces)
    assert {area for area, rules in placed.items() if "1E-NEUT-1" in rules} == set(placed) - set(forces)
    game = THRONES.rules_of(scene.state).game(scene.state)
    assert tuple(game.stars(house) for house in scene.state.tracks["kings-court"]) == stars


def test_an_unplayed_house_has_no_home_and_no_marker() -> None:
    scene = first({"winterfell": "stark: footman"}, players=3, neutral={"highgarden": 3})
    game = THRONES.rules_of(scene.state).game(scene.state)
    assert game.controller("highgarden") is None and game.controller("pyke") is None
    assert set(scene.state.supply) == {BARATHEON, LANNISTER, STARK}
    taken = first({"the-reach": "lannister: 2 knight"}, players=3, orders={"the-reach": "march-0"}, turn=LANNISTER)
    taken.when(march(LANNISTER, "the-reach", ("highgarden", "2 knight")))
    left = first({"highgarden": "lannister: knight"}, players=3, orders={"highgarden": "march-0"}, turn=LANNISTER)
    left.when(march(LANNISTER, "highgarden", ("the-reach", "knight"))).citing("1E-PLAY-5")
    assert left.state.control.get("highgarden") is None


# Limits (LIM)


def test_pieces_are_limited() -> None:
    game = lambda scene: THRONES.rules_of(scene.state).game(scene.state)  # noqa: E731
    assert game(first()).reserve(STARK) == {"footman": 10, "knight": 4, "ship": 6}
    literal = first(variations=replace(FIRST_EDITION, ship_limit="five"))
    assert game(literal).reserve(STARK)["ship"] == 5


def test_what_is_not_in_reserve_cannot_be_mustered() -> None:
    board = {"winterfell": "stark: knight", "karhold": "stark: knight", "castle-black": "stark: 2 knight"}
    scene = drawing("w1-mustering", board).passing_until("muster", STARK)
    bought = c.Muster(house=STARK, steps=(c.MusterStep("winterfell", "knight", "winterfell"),))
    scene.refused(bought, "none-in-reserve", "1E-LIM-1", "1E-LIM-2")


def test_power_is_limited_by_the_tokens_of_a_house() -> None:
    scene = first(
        {"stoney-sept": "lannister: footman"},
        step="consolidate",
        orders={"stoney-sept": "consolidate-a"},
        power={LANNISTER: 17},
        power_tokens={"riverrun": LANNISTER, "harrenhal": LANNISTER},
    )
    # Two tokens lie on the board and 17 are available: one of two comes in.
    assert scene.state.power[LANNISTER] == 18
    gained = [fact for fact in scene.of(f.PowerChanged) if fact.house == LANNISTER]
    assert [fact.by for fact in gained] == [1] and {"1E-LIM-4", "1E-LIM-5"} <= set(gained[0].rules)


# The Westeros phase (WEST, WCARD)


def test_icons_move_the_wildlings_before_any_card_is_resolved() -> None:
    scene = drawing("w1-last-days-of-summer").citing("1E-WEST-1", "1E-WEST-2", "1E-WCARD-2")
    assert scene.state.threat == 6 and scene.state.round == 2
    kinds = [type(fact) for fact in scene.facts]
    assert kinds.index(f.ThreatMoved) < kinds.index(f.WesterosCardResolved)
    assert [fact.deck for fact in scene.of(f.WesterosCardResolved)] == sorted(QUIET)
    assert all("1E-WEST-1" in fact.rules for fact in scene.of(f.WesterosCardResolved))


@pytest.mark.parametrize(("threat", "ignored"), [(6, 0), (10, 2), (12, 3)])
def test_the_last_space_stops_the_wildlings_and_brings_no_attack(threat: int, ignored: int) -> None:
    scene = drawing("w1-last-days-of-summer", threat=threat).citing("1E-WEST-4")
    assert scene.state.threat == 12
    assert [fact.ignored for fact in scene.of(f.ThreatMoved)] == [ignored]
    scene.never(f.WildlingAttackBegan).asks("assign-orders")


@pytest.mark.parametrize("number", [1, 2, 3])
def test_winter_is_coming_shuffles_its_deck_and_its_replacement_counts(number: int) -> None:
    deck, winter, calm = f"westeros-{number}", f"w{number}-winter-is-coming", f"w{number}-last-days-of-summer"
    tops = {name: (quiet,) for name, quiet in QUIET.items()} | {deck: (winter,)}
    scene = first({"winterfell": "stark: footman"}, step="planning", threat=0, decks=tops, round=1)
    scene.when(StateDraws(deck=deck, cards=(winter,)), StateDraws(deck=deck, cards=(calm,)))
    scene.when(c.AssignOrders(house=STARK, orders={})).passing("raven")
    assert [fact.card for fact in scene.of(f.WesterosCardDrawn) if fact.deck == deck] == [winter, winter, calm]
    assert len([fact for fact in scene.of(f.DeckShuffled) if fact.deck == deck]) == 2
    scene.citing("1E-WCARD-1", "1E-WEST-3")
    assert scene.state.threat == 6


def test_a_mammoth_on_a_winter_that_is_shuffled_back_counts_too() -> None:
    own = {"/westeros_decks/III/6/icons": 1}
    scene = begun()
    charter = replace(scene.state.charter, tables=own, chance="imposed")
    decks = {name: tuple(sorted(cards)) for name, cards in compose(FIRST_EDITION).westeros_decks.items()}
    for name, top in (QUIET | {"westeros-3": "w3-winter-is-coming"}).items():
        rest = list(decks[name])
        rest.remove(top)
        decks[name] = (top, *rest)
    ruling = THRONES.decide(THRONES.blank(), Start(charter=charter, decks=decks))
    scene = Scene(ruling.state).when(StateDraws(deck="westeros-3", cards=("w3-last-days-of-summer",)))
    for _ in range(200):
        if scene.state.round == 2:
            break
        scene.when(PassDeadline(player=scene.owed[0].player, question=scene.state.question))
    moved = scene.of(f.ThreatMoved)
    assert [(fact.icons, fact.threat) for fact in moved] == [(1, 2), (3, 8)]
    assert "1E-WEST-3" in moved[0].rules


def test_supply_counts_the_icons_of_controlled_areas() -> None:
    board = {"winterfell": "stark: 3 footman", "karhold": "stark: 2 footman", "castle-black": "stark: knight"}
    scene = drawing("w1-supply", board, power_tokens={"the-fingers": GREYJOY})
    assert [scene.state.supply[house] for house in (STARK, LANNISTER, GREYJOY)] == [1, 2, 2]
    scene.citing("1E-WCARD-3", "1E-SUP-2", "1E-SUP-3", "1E-CTRL-8").asks("assign-orders")


def test_supply_takes_no_more_than_needed() -> None:
    board = {"winterfell": "stark: 3 footman", "karhold": "stark: 3 footman", "castle-black": "stark: knight"}
    scene = drawing("w1-supply", board)
    decision = scene.asks("reconcile-supply")
    assert decision.player == STARK and {"1E-DP-1", "1E-SUP-3"} <= set(decision.rules)
    too_many = c.ReconcileSupply(house=STARK, units={"winterfell": {"footman": 2}, "karhold": {"footman": 1}})
    scene.refused(too_many, "more-than-needed", "1E-SUP-3")
    scene.refused(c.ReconcileSupply(house=STARK, units={}), "still-over-supply", "1E-SUP-1", "1E-SUP-2")
    scene.when(c.ReconcileSupply(house=STARK, units={"winterfell": {"footman": 1}}))
    assert scene.at("winterfell") == "stark: 2 footman"


def test_icons_gained_in_the_action_phase_wait_for_the_next_card() -> None:
    decks = {name: (quiet,) for name, quiet in QUIET.items()}
    board, orders = {"winterfell": "stark: footman"}, {"winterfell": "march-0"}
    scene = first(board, orders=orders, supply={STARK: 1}, turn=STARK, decks=decks)
    scene.when(march(STARK, "winterfell", ("the-stony-shore", "footman")))
    assert scene.state.supply[STARK] == 1
    scene.never(f.SupplySet)
    drawing("w1-supply").citing("1E-SUP-4")


def test_houses_muster_one_after_the_other_in_turn_order() -> None:
    scene = drawing("w1-mustering", {"lannisport": "lannister: footman"})
    asked = []
    while scene.owed[0].kind == "muster":
        asked.append(scene.owed[0].player)
        scene.answer({"steps": ()})
    assert asked == [BARATHEON, LANNISTER, STARK, TYRELL, GREYJOY]
    scene.citing("1E-WCARD-4")


def test_game_of_thrones_pays_for_crowns() -> None:
    scene = drawing("w2-game-of-thrones", {"winterfell": "stark: footman", "karhold": "stark: footman"})
    assert scene.state.power[STARK] == 7 and scene.state.power[TYRELL] == 5
    scene.citing("1E-WCARD-6")


@pytest.mark.parametrize(
    ("card", "rule", "order", "kind"),
    [
        ("w3-sea-of-storms", "1E-WCARD-8", "raid-a", "raid"),
        ("w3-storm-of-swords", "1E-WCARD-9", "defense-plus-1-a", "defense"),
        ("w3-feast-for-crows", "1E-WCARD-10", "consolidate-a", "consolidate"),
    ],
)
def test_a_card_of_deck_three_bans_a_type_of_order(card: str, rule: str, order: str, kind: str) -> None:
    scene = drawing(card, {"stoney-sept": "lannister: footman"}).citing(rule)
    scene.refused(c.AssignOrders(house=LANNISTER, orders={"stoney-sept": order}), "order-prohibited", rule)
    scene.when(c.AssignOrders(house=LANNISTER, orders={"stoney-sept": "support-0-a"}))
    decision = scene.asks("raven")
    tokens = {answer.order for answer in decision.options.every(decision.default) if answer.order}
    assert tokens and kind not in {TOKENS[token].type for token in tokens}
    banned = c.Raven(house=LANNISTER, choice="replace", area="stoney-sept", order=order)
    scene.refused(banned, "order-prohibited", "1E-WCARD-12", rule)
    scene.passing("raven")
    assert scene.state.round == 3 and not scene.state.prohibited


def test_rains_of_autumn_takes_the_strength_of_footmen_in_support_until_the_round_ends() -> None:
    board = {"the-reach": "tyrell: 2 knight", "blackwater": "lannister: 3 footman"}
    scene = drawing("w3-rains-of-autumn", board, neutral={"kings-landing": 5}).citing("1E-WCARD-11")
    scene.when(c.AssignOrders(house=TYRELL, orders={"the-reach": "march-0"}))
    scene.when(c.AssignOrders(house=LANNISTER, orders={"blackwater": "support-0-a"}))
    scene.passing("raven")
    # 4 and nothing from three Footmen: nobody is asked, and the march fails.
    scene.when(march(TYRELL, "the-reach", ("kings-landing", "2 knight")))
    assert scene.at("the-reach") == "tyrell: 2 knight" and scene.state.neutral["kings-landing"] == 5
    assert scene.state.round == 3 and not scene.state.prohibited


# Mustering (MUST)


def muster(steps: tuple[c.MusterStep, ...], house: str = STARK) -> c.Muster:
    return c.Muster(house=house, steps=steps)


def step(area: str, unit: str, to: str = "", upgrade: str | None = None) -> c.MusterStep:
    return c.MusterStep(area, unit, to or area, upgrade)


MUSTERS: list[tuple[tuple[c.MusterStep, ...], str, tuple[str, ...]]] = [
    ((step("karhold", "footman"),), "cannot-muster-there", ("1E-MUST-1", "1E-MUST-2")),
    ((step("winterfell", "knight"), step("winterfell", "footman")), "not-enough-points", ("1E-MUST-2", "1E-MUST-3")),
    ((step("winterfell", "knight", upgrade="footman"),) * 2, "no-footman-to-upgrade", ("1E-MUST-3",)),
    ((step("winterfell", "footman", "karhold"),), "not-in-the-area", ("1E-MUST-4",)),
    ((step("winterfell", "ship", "bay-of-ice"),), "cannot-place-ship", ("1E-MUST-4",)),
    ((step("winterfell", "footman"),), "over-supply", ("1E-MUST-5",)),
]


@pytest.mark.parametrize(("steps", "code", "rules"), MUSTERS)
def test_mustering_is_refused(steps: tuple[c.MusterStep, ...], code: str, rules: tuple[str, ...]) -> None:
    board = {"winterfell": "stark: footman", "karhold": "stark: 2 footman", "bay-of-ice": "lannister: ship"}
    board["castle-black"] = "stark: 2 footman"
    supply = {STARK: 0} if code == "over-supply" else {}
    cards = {"westeros-1": ("w1-mustering",), "westeros-2": ("w2-last-days-of-summer",)}
    scene = first(board, step="westeros", decks=cards, supply=supply).passing_until("muster", STARK)
    scene.refused(muster(steps), code, *rules)


def test_mustering_buys_by_the_price_list() -> None:
    board = {"winterfell": "stark: footman", "white-harbor": "stark: footman", "the-shivering-sea": "stark: ship"}
    scene = drawing("w1-mustering", board).passing_until("muster", STARK)
    assert "1E-DP-2" in scene.asks("muster").rules
    steps = (step("winterfell", "knight", upgrade="footman"), step("winterfell", "ship", "bay-of-ice"))
    scene.when(muster((*steps, step("white-harbor", "footman"))))
    assert [scene.at(area) for area in ("winterfell", "bay-of-ice", "white-harbor")] == [
        "stark: knight",
        "stark: ship",
        "stark: 2 footman",
    ]
    scene.citing("1E-MUST-2", "1E-MUST-3", "1E-MUST-4")


def test_a_first_ship_may_be_legal_where_a_second_is_not() -> None:
    board = {"lannisport": "lannister: 2 footman", "riverrun": "lannister: 2 footman", SEA: "lannister: ship"}
    scene = drawing("w1-mustering", board, supply={LANNISTER: 0}).passing_until("muster", LANNISTER)
    scene.refused(muster((step("lannisport", "ship", SEA),), LANNISTER), "over-supply", "1E-MUST-5")
    scene.when(muster((step("riverrun", "ship", "ironmans-bay"),), LANNISTER))
    assert scene.at("ironmans-bay") == "lannister: ship"


def test_a_sea_with_a_neutral_fleet_takes_no_ships() -> None:
    forces = {"ironmans-bay": 2, "pyke": 3}
    scene = drawing("w1-mustering", {"riverrun": "lannister: footman"}, players=4, neutral=forces)
    scene.passing_until("muster", LANNISTER)
    refused = muster((step("riverrun", "ship", "ironmans-bay"),), LANNISTER)
    scene.refused(refused, "cannot-place-ship", "1E-MUST-4")
    scene.when(muster((step("riverrun", "ship", SEA),), LANNISTER))
    assert scene.at(SEA) == "lannister: ship"


def test_siege_engines_are_unknown() -> None:
    scene = drawing("w1-mustering").passing_until("muster", STARK)
    for unknown in (step("winterfell", "siege-engine"), step("winterfell", "siege-engine", upgrade="footman")):
        refusal = scene.refused(muster((unknown,)), "unknown-unit", "1E-COMP-4")
        assert refusal.unknown and "siege-engine" not in refusal.params["known"]


# Clash of Kings (COK)


def test_tracks_are_bid_for_one_after_the_other() -> None:
    scene = drawing("w2-clash-of-kings").citing("1E-WCARD-5", "1E-COK-1")
    assert all(decision.secret and "1E-DP-3" in decision.rules for decision in scene.owed)
    for track in ("iron-throne", "fiefdoms", "kings-court"):
        while scene.owed[0].kind == "influence-bid":
            house = scene.owed[0].player
            bid = {STARK: 2, TYRELL: 1, LANNISTER: 1}.get(house, 0)
            scene.when(c.InfluenceBid(house=house, track=track, bid=min(bid, scene.state.power[house])))
        if track == "iron-throne":
            decision = scene.asks("influence-tie")
            assert decision.player == BARATHEON and {"1E-DP-4", "1E-COK-4"} <= set(decision.rules)
            wrong = c.InfluenceTie(house=BARATHEON, track=track, groups=((STARK, LANNISTER), (TYRELL,)))
            scene.refused(wrong, "not-the-tied-groups", "1E-COK-4")
            groups = ((TYRELL, LANNISTER), (GREYJOY, BARATHEON))
            scene.when(c.InfluenceTie(house=BARATHEON, track=track, groups=groups))
            assert scene.state.tracks[track] == (STARK, TYRELL, LANNISTER, GREYJOY, BARATHEON)
            assert scene.state.tokens["iron-throne-token"] == STARK
        elif scene.owed[0].kind == "influence-tie":
            assert scene.owed[0].player == STARK
            scene.passing("influence-tie")
    assert scene.state.power[STARK] == 0 and scene.state.power[TYRELL] == 2 and not scene.state.bids
    scene.citing("1E-COK-2", "1E-COK-3", "1E-COK-5", "1E-COK-6", "1E-COK-7", "1E-COK-8")


# Wildlings (WILD)


def attack(board: Mapping[str, str], bids: Mapping[str, int], *, threat: int = 4, **more: Any) -> Scene:
    """A wildling attack; two icons are turned up beside the card."""
    scene = drawing("w3-wildling-attack", board, threat=threat, **more)
    while scene.owed[0].kind == "wildling-bid":
        house = scene.owed[0].player
        scene.when(c.WildlingBid(house=house, bid=bids.get(house, 0)))
    return scene


def test_all_bid_in_secret_against_the_strength_on_the_track() -> None:
    scene = drawing("w3-wildling-attack", threat=4)
    assert {decision.player for decision in scene.owed} == set(HOUSES)
    assert all(decision.secret and {"1E-DP-5", "1E-WILD-3"} <= set(decision.rules) for decision in scene.owed)
    assert [fact.strength for fact in scene.of(f.WildlingAttackBegan)] == [8]
    scene.citing("1E-WCARD-7", "1E-WILD-1", "1E-WILD-2")


@pytest.mark.parametrize(("watch", "won"), [(7, False), (8, True), (9, True)])
def test_equal_strength_is_a_victory_of_the_watch(watch: int, won: bool) -> None:
    scene = attack({"winterfell": "stark: footman"}, {STARK: 5, LANNISTER: watch - 5})
    decided = scene.of(f.WildlingAttackDecided)[0]
    assert (decided.watch, decided.winner) == (watch, "nights-watch" if won else "wildlings")
    scene.passing("wildling-tie", "destroy-units").citing("1E-WILD-4", "1E-WILD-10")
    assert scene.state.threat == 0 and not scene.state.bids
    assert scene.state.power[STARK] == 0 and scene.state.power[LANNISTER] == 5 - (watch - 5)


def test_the_highest_bidder_may_take_a_used_card_back() -> None:
    hand = ("eddard-stark", "robb-stark")
    scene = attack({"winterfell": "stark: footman"}, {STARK: 5, LANNISTER: 4}, hands={STARK: hand})
    decision = scene.asks("mammoth-retrieve")
    used = scene.state.discards[STARK]
    assert decision.player == STARK and {"1E-DP-7", "1E-WILD-5"} <= set(decision.rules)
    assert scene.words("mammoth-retrieve") == ("none", *compose(FIRST_EDITION).in_order(used))
    assert decision.default == c.MammothRetrieve(house=STARK, choice="none"), "inaction, as by 2E-DP-19"
    scene.refused(c.MammothRetrieve(house=STARK, choice=hand[0]), "not-an-option", "1E-WILD-5")
    scene.answer(used[-1])
    assert used[-1] in scene.state.hands[STARK] and used[-1] not in scene.state.discards[STARK]


def test_the_highest_bidder_may_leave_his_used_cards() -> None:
    """A single one too: to take it is a choice, for a card in hand can delay the refill."""
    hand = tuple(compose(FIRST_EDITION).cards_of(STARK)[1:])
    scene = attack({"winterfell": "stark: footman"}, {STARK: 5, LANNISTER: 4}, hands={STARK: hand})
    assert len(scene.words("mammoth-retrieve")) == 2
    scene.answer("none").never(f.CardsTaken).asks("assign-orders")
    assert sorted(scene.state.hands[STARK]) == sorted(hand)


def test_without_used_cards_the_highest_bidder_gains_nothing() -> None:
    scene = attack({"winterfell": "stark: footman"}, {STARK: 5, LANNISTER: 4})
    scene.never(f.CardsTaken).asks("assign-orders")


@pytest.mark.parametrize(("won", "names"), [(True, "highest"), (False, "lowest")])
def test_the_iron_throne_names_one_of_tied_bidders(won: bool, names: str) -> None:
    hands = {house: tuple(compose(FIRST_EDITION).cards_of(house)[:6]) for house in (STARK, TYRELL)}
    bids = {STARK: 5, TYRELL: 5} if won else {STARK: 1, LANNISTER: 1, GREYJOY: 1}
    scene = attack({"winterfell": "stark: 5 footman"}, bids, hands=hands)
    decision = scene.asks("wildling-tie")
    assert decision.player == BARATHEON and "1E-DP-6" in decision.rules
    assert set(scene.words("wildling-tie")) == ({STARK, TYRELL} if won else {BARATHEON, TYRELL})
    scene.answer(TYRELL)
    named = scene.of(f.BidderNamed)[0]
    assert (named.house, named.which) == (TYRELL, names) and "1E-WILD-5" in named.rules


LOSSES = {
    "winterfell": "stark: 3 footman, knight",
    "the-shivering-sea": "stark: 2 ship",
    "lannisport": "lannister: knight",
    "pyke": "greyjoy: footman",
    "highgarden": "tyrell: 2 footman",
}


def test_a_lost_attack_costs_all_in_turn_order_and_the_lowest_bidder_twice_as_much() -> None:
    scene = attack(LOSSES, {BARATHEON: 1, LANNISTER: 1, TYRELL: 1, GREYJOY: 1})
    asked = []
    while scene.owed[0].kind == "destroy-units":
        asked.append(scene.owed[0].player)
        scene.passing("destroy-units")
    assert asked == [STARK], "a Knight alone, two Footmen and less than the debt leave no choice"
    lost = {fact.house: sum(fact.units.values()) for fact in scene.of(f.UnitsDestroyed)}
    assert list(lost) == [LANNISTER, STARK, TYRELL, GREYJOY]
    assert [scene.at(area) for area in ("lannisport", "pyke", "highgarden")] == ["", "", ""]
    assert scene.at("winterfell") == "stark: knight" and scene.at("the-shivering-sea") == "stark: ship"
    scene.citing("1E-DP-8", "1E-WILD-6", "1E-WILD-7", "1E-WILD-8", "1E-WILD-9", "1E-WILD-10")


@pytest.mark.parametrize("lowest", [True, False])
def test_a_debt_is_paid_by_sets_from_which_nothing_can_be_left_out(lowest: bool) -> None:
    board = {"winterfell": "stark: 3 footman, knight", "the-shivering-sea": "stark: 2 ship", "karhold": "stark: knight"}
    bids = dict.fromkeys(HOUSES, 1) | ({STARK: 0} if lowest else {GREYJOY: 0, STARK: 2})
    scene = attack(board, bids)
    decision = scene.asks("destroy-units")
    forces = {
        "winterfell": {"footman": 4, "knight": 1},
        "the-shivering-sea": {"ship": 2},
        "karhold": {"knight": 2},
    }
    worth = {"footman": 1, "knight": 2, "ship": 1}

    def value(units: list[tuple[str, str]]) -> int:
        return sum(worth[unit] for _, unit in units)

    def legal(answer: c.DestroyUnits) -> bool:
        units = [(area, unit) for area, there in answer.units.items() for unit in brute.singles(there)]
        there = all(
            count <= scene.state.units[area].units.get(unit, 0)
            for area, some in answer.units.items()
            for unit, count in some.items()
        )
        debt = 4 if lowest else 2
        needless = any(value(units) - worth[unit] >= debt for _, unit in units)
        return there and value(units) >= debt and not needless

    candidates = [replace(decision.default, units=units) for units in brute.choices_by_area(forces)]
    agree(decision, candidates, legal)
    needless = {"winterfell": {"footman": 1, "knight": 1}, "karhold": {"knight": 1}}
    scene.refused(replace(decision.default, units=needless), "more-than-needed", "1E-WILD-8")
    scene.refused(replace(decision.default, units={}), "worth-too-little", "1E-WILD-6")


def test_control_follows_when_all_have_lost() -> None:
    """Baratheon would hold seven areas between Lannister's losses and its own, and has not won."""
    board = {
        "lannisport": "lannister: footman",
        "dragonstone": "baratheon: knight",
        "seagard": "lannister: footman",
        **dict.fromkeys(("storms-end", "the-eyrie", "crackclaw-point", "harrenhal"), "baratheon: footman"),
    }
    tokens = {"moat-cailin": BARATHEON}
    scene = attack(board, {}, power_tokens=tokens, tracks={"iron-throne": (LANNISTER,)})
    scene.passing("wildling-tie", "destroy-units")
    kinds = [type(fact) for fact in scene.facts]
    last_loss = len(kinds) - kinds[::-1].index(f.UnitsDestroyed)
    assert f.ControlChanged not in kinds[kinds.index(f.WildlingAttackBegan) : last_loss]
    assert f.ControlChanged in kinds[last_loss:]
    assert "1E-WIN-5" in next(fact for fact in scene.facts[last_loss:] if isinstance(fact, f.ControlChanged)).rules


# Control (CTRL) and marches (MARCH, SHIP, MAP)


def test_units_and_tokens_and_shields_control() -> None:
    scene = first(
        {"winterfell": "stark: footman", "harrenhal": "stark: footman"},
        power_tokens={"riverrun": STARK, "lannisport": STARK, "seagard": TYRELL},
        orders={"winterfell": "march-0"},
        turn=STARK,
    )
    game = THRONES.rules_of(scene.state).game(scene.state)
    owners = [game.controller(area) for area in ("harrenhal", "riverrun", "lannisport", "pyke", "karhold", SEA)]
    assert owners == [STARK, STARK, STARK, GREYJOY, None, None]
    scene.when(march(STARK, "winterfell", ("karhold", "footman")))
    assert scene.state.control["winterfell"] == STARK, "the shield"
    scene.citing("1E-CTRL-1")


def leaving(area: str, to: str, *, leave_power: bool, **more: Any) -> Scene:
    scene = first({area: "stark: footman"}, orders={area: "march-0"}, turn=STARK, **more)
    return scene.when(march(STARK, area, (to, "footman"), leave_power=leave_power))


def test_a_power_token_keeps_an_area_that_all_units_leave() -> None:
    kept = leaving("karhold", "castle-black", leave_power=True).citing("1E-CTRL-3")
    assert kept.state.power_tokens == {"karhold": STARK} and kept.state.power[STARK] == 4
    lost = leaving("karhold", "castle-black", leave_power=False).citing("1E-CTRL-3", "1E-CTRL-2")
    assert "karhold" not in lost.state.control
    back = leaving("castle-black", "karhold", leave_power=False, power_tokens={"karhold": STARK}).citing("1E-CTRL-4")
    assert back.state.power_tokens == {"karhold": STARK}


def test_no_power_token_is_left_at_sea() -> None:
    scene = first({"bay-of-ice": "stark: ship"}, orders={"bay-of-ice": "march-0"}, turn=STARK)
    march_out = march(STARK, "bay-of-ice", ("sunset-sea", "ship"), leave_power=True)
    scene.refused(march_out, "no-power-token-there", "1E-CTRL-3")


def test_a_power_token_may_be_left_at_home() -> None:
    """No rule forbids it; whoever takes the area takes the token off, and the shield goes on to control."""
    scene = leaving("winterfell", "karhold", leave_power=True).citing("1E-CTRL-3")
    assert scene.state.power_tokens == {"winterfell": STARK} and scene.state.power[STARK] == 4
    assert scene.state.control["winterfell"] == STARK
    taken = first(
        {"karhold": "lannister: footman"},
        orders={"karhold": "march-0"},
        turn=LANNISTER,
        power_tokens={"winterfell": STARK},
    ).when(march(LANNISTER, "karhold", ("winterfell", "footman")))
    assert not taken.state.power_tokens and taken.state.control["winterfell"] == LANNISTER


def test_entering_where_only_a_token_lies_is_no_battle() -> None:
    scene = leaving("winterfell", "karhold", leave_power=False, power_tokens={"karhold": TYRELL})
    scene.citing("1E-CTRL-4", "1E-CTRL-5").never(f.CombatBegan)
    assert not scene.state.power_tokens and scene.state.control["karhold"] == STARK


def test_a_home_area_falls_back_when_an_enemy_leaves_it() -> None:
    scene = leaving("lannisport", "riverrun", leave_power=False).citing("1E-CTRL-7")
    assert scene.state.control["lannisport"] == LANNISTER


def test_seas_are_held_by_ships_alone() -> None:
    scene = first({"bay-of-ice": "stark: ship"}, orders={"bay-of-ice": "march-0"}, turn=STARK)
    scene.when(march(STARK, "bay-of-ice", ("sunset-sea", "ship"))).citing("1E-CTRL-6", "1E-MARCH-1")
    assert not scene.state.control.get("bay-of-ice")


MARCHES: list[tuple[dict[str, str], tuple[tuple[str, str], ...], str, tuple[str, ...]]] = [
    ({}, (("lannisport", "footman"),), "cannot-enter", ("1E-MARCH-1", "1E-SHIP-1")),
    ({}, (("bay-of-ice", "footman"),), "cannot-enter", ("1E-MAP-1",)),
    ({}, (("karhold", "4 footman"),), "units-cannot-march", ("1E-MARCH-1",)),
    (
        {"winterfell": "stark: 2 routed-footman"},
        (("karhold", "routed-footman"),),
        "units-cannot-march",
        ("1E-MARCH-6",),
    ),
    (
        {"karhold": "lannister: footman", "castle-black": "tyrell: footman"},
        (("karhold", "footman"), ("castle-black", "footman")),
        "two-contested-areas",
        ("1E-MARCH-2", "1E-MARCH-3"),
    ),
    ({"karhold": "stark: 2 footman"}, (("karhold", "footman"),), "over-supply", ("1E-SUP-5", "1E-SUP-6")),
    ({"bay-of-ice": "lannister: ship"}, (("flints-finger", "footman"),), "cannot-enter", ("1E-SHIP-1", "1E-SHIP-2")),
]


@pytest.mark.parametrize(("board", "moves", "code", "rules"), MARCHES)
def test_marches_are_refused(
    board: dict[str, str], moves: tuple[tuple[str, str], ...], code: str, rules: tuple[str, ...]
) -> None:
    supply = {STARK: 0} if code == "over-supply" else {}
    scene = first(
        {"winterfell": "stark: 3 footman" if not supply else "stark: 2 footman", **board},
        orders={"winterfell": "march-0"},
        turn=STARK,
        supply=supply,
    )
    scene.refused(march(STARK, "winterfell", *moves), code, *rules)


def test_a_river_parts_areas() -> None:
    scene = first({"riverrun": "lannister: footman"}, orders={"riverrun": "march-0"}, turn=LANNISTER)
    scene.refused(march(LANNISTER, "riverrun", ("the-twins", "footman")), "cannot-enter", "1E-RIV-1")


def test_one_attack_in_an_order_of_either_kind() -> None:
    board = {"the-reach": "tyrell: 4 knight", "blackwater": "stark: footman"}
    scene = first(board, orders={"the-reach": "march-0"}, turn=TYRELL, neutral={"kings-landing": 5})
    both = march(TYRELL, "the-reach", ("kings-landing", "3 knight"), ("blackwater", "knight"))
    scene.refused(both, "two-contested-areas", "1E-MARCH-2", "1E-MARCH-3")


def test_units_march_apart_and_on() -> None:
    board = {"winterfell": "stark: 3 footman", "moat-cailin": "stark: footman", "lannisport": "lannister: footman"}
    orders = {"winterfell": "march-plus-1", "moat-cailin": "march-0", "lannisport": "march-0"}
    scene = first(board, orders=orders, turn=STARK)
    scene.when(march(STARK, "winterfell", ("karhold", "footman"), ("moat-cailin", "footman")))
    assert scene.at("winterfell") == "stark: footman"
    scene.citing("1E-MARCH-1", "1E-MARCH-5", "1E-MARCH-7", "1E-ACT-2")
    assert scene.owed[0].player == LANNISTER, "in turns"
    scene.when(march(LANNISTER, "lannisport"))
    scene.when(march(STARK, "moat-cailin", ("greywater-watch", "2 footman")))
    assert scene.at("greywater-watch") == "stark: 2 footman"


def test_own_ships_carry_any_number_of_times() -> None:
    board = {"winterfell": "stark: 2 footman", "bay-of-ice": "stark: ship", "sunset-sea": "stark: ship"}
    orders = {"winterfell": "march-0", "sunset-sea": "raid-a"}
    scene = first(board, orders=orders, turn=STARK)
    scene.when(march(STARK, "winterfell", ("oldtown", "footman"), ("highgarden", "footman")))
    assert scene.at("oldtown") == scene.at("highgarden") == "stark: footman"
    scene.citing("1E-SHIP-1", "1E-SHIP-3")


def test_transport_starts_one_attack() -> None:
    board = {"winterfell": "stark: 2 knight", "bay-of-ice": "stark: ship", "flints-finger": "lannister: footman"}
    scene = first(board, orders={"winterfell": "march-0"}, turn=STARK)
    scene.when(march(STARK, "winterfell", ("flints-finger", "2 knight"))).citing("1E-SHIP-4", "1E-SHIP-1")
    assert scene.state.combat is not None


@pytest.mark.parametrize("island", ["dragonstone", "pyke", "the-arbor"])
def test_islands_are_reached_and_left_over_sea_and_support_nothing(island: str) -> None:
    board = compose(FIRST_EDITION).board
    assert not [near for near in board.neighbours[island] if board.is_land(near)]
    sea = board.neighbours[island][0]
    shore = next(near for near in board.neighbours[sea] if board.is_land(near) and near != island)
    scene = first({island: "stark: footman"}, orders={island: "march-0"}, turn=STARK)
    scene.refused(march(STARK, island, (shore, "footman")), "cannot-enter", "1E-SHIP-1")
    carried = first({island: "stark: footman", sea: "stark: ship"}, orders={island: "march-0"}, turn=STARK)
    assert carried.when(march(STARK, island, (shore, "footman"))).at(shore) == "stark: footman"
    ordered = first({island: "stark: footman"}, step="planning")
    ordered.when(c.AssignOrders(house=STARK, orders={island: "support-0-a"}))
    fight = {island: "stark: footman", sea: "lannister: ship"}
    other = next(near for near in board.neighbours[sea] if board.is_sea(near))
    lonely = first(
        {**fight, other: "tyrell: ship"}, orders={island: "support-0-a", other: "march-0"}, turn=TYRELL
    ).when(march(TYRELL, other, (sea, "ship")))
    assert "support" not in {decision.kind for decision in lonely.owed}


def test_the_board_ends_at_castle_black() -> None:
    board = compose(FIRST_EDITION).board
    assert board.neighbours["castle-black"] == ("bay-of-ice", "karhold", "the-shivering-sea", "winterfell")


# Planning (PLAN, ORD, RAVEN)

PLANNED = {"winterfell": "stark: footman", "karhold": "stark: footman", "bay-of-ice": "stark: ship"}


def assigned(orders: Mapping[str, str]) -> c.AssignOrders:
    return c.AssignOrders(house=STARK, orders=dict(orders))


@pytest.mark.parametrize(
    ("orders", "code", "rules"),
    [
        ({"white-harbor": "march-0"}, "no-units-there", ("1E-PLAN-2",)),
        ({"winterfell": "march-0", "karhold": "march-0"}, "token-laid-twice", ("1E-PLAN-4",)),
        ({"winterfell": "march-plus-1", "karhold": "raid-star"}, "too-many-special-orders", ("1E-PLAN-4",)),
        ({"bay-of-ice": "consolidate-a"}, "on-land-only", ("1E-ORD-6",)),
        ({"bay-of-ice": "consolidate-star"}, "on-land-only", ("1E-ORD-6",)),
    ],
)
def test_orders_are_refused(orders: dict[str, str], code: str, rules: tuple[str, ...]) -> None:
    scene = first(PLANNED, step="planning", tracks={"kings-court": (LANNISTER, TYRELL, GREYJOY, STARK, BARATHEON)})
    scene.refused(assigned(orders), code, *rules)
    scene.refused(replace(assigned(orders), draft=True), code, *rules)


def test_areas_may_go_without_an_order_and_every_type_goes_anywhere_else() -> None:
    scene = first(PLANNED, step="planning")
    decision = scene.asks("assign-orders")
    assert {"1E-DP-9", "1E-PLAN-2", "1E-PLAN-3", "1E-ORD-6"} <= set(decision.rules) and decision.secret
    scene.when(assigned({"bay-of-ice": "raid-star"}))
    assert scene.of(f.OrdersRevealed)[0].orders == {STARK: {"bay-of-ice": "raid-star"}}
    scene.citing("1E-PLAN-1", "1E-ORD-4", "1E-ORD-7")
    assert not set(scene.of(f.OrdersRevealed)[0].rules) & {"1E-ORD-1", "1E-ORD-2", "1E-ORD-3", "1E-ORD-5"}


@pytest.mark.parametrize("position", [1, 4, 5])
@pytest.mark.parametrize("prohibited", [(), ("defense",), ("consolidate", "raid")])
def test_options_of_orders_are_all_that_is_legal(position: int, prohibited: tuple[str, ...]) -> None:
    court = [house for house in HOUSES if house != STARK]
    court.insert(position - 1, STARK)
    board = {"winterfell": "stark: footman", "bay-of-ice": "stark: ship"}
    scene = first(board, step="planning", tracks={"kings-court": tuple(court)}, prohibited=prohibited)
    decision = scene.owed[0]
    candidates = [
        assigned({area: token for area, token in zip((*board, "karhold"), laid, strict=True) if token})
        for laid in product((None, *TOKENS), (None, *TOKENS), (None, "march-0"))
    ]

    def legal(answer: c.AssignOrders) -> bool:
        tokens = [TOKENS[token] for token in answer.orders.values()]
        at_sea = answer.orders.get("bay-of-ice")
        return (
            set(answer.orders) <= set(board)
            and len({token.id for token in tokens}) == len(tokens)
            and not {token.type for token in tokens} & set(prohibited)
            and sum(token.star for token in tokens) <= (3, 3, 2, 1, 0)[position - 1]
            and not (at_sea and TOKENS[at_sea].type == "consolidate")
        )

    agree(decision, candidates, legal)


def test_what_is_owed_says_how_few_and_how_many_areas_get_an_order() -> None:
    """The page on HTTP explains the fields of this document."""
    options = msgspec.to_builtins(first(PLANNED, step="planning").asks("assign-orders").options)
    assert [options[name] for name in ("options", "least", "required")] == ["bound-assignments", 0, 3]


def test_the_default_order_fills_what_it_can() -> None:
    """Seven Ships and no land: Consolidate Power stays in hand, the last area goes without."""
    seas = ("bay-of-ice", "sunset-sea", SEA, "ironmans-bay", "redwyne-straights", "summer-sea", "sea-of-dorne")
    court = (LANNISTER, TYRELL, GREYJOY, BARATHEON, STARK)
    scene = first(
        dict.fromkeys(seas, "stark: ship"),
        step="planning",
        tracks={"kings-court": court},
        prohibited=("defense", "raid"),
        variations=replace(FIRST_EDITION, ship_limit="six"),
    )
    scene.passing("assign-orders")
    laid = scene.of(f.OrdersRevealed)[0].orders[STARK]
    assert {TOKENS[token].type for token in laid.values()} == {"march", "support"} and len(laid) == 4


def test_tables_with_compulsory_orders_keep_land_for_consolidate_power() -> None:
    variations = replace(FIRST_EDITION, orders="compulsory")
    scene = first(PLANNED, step="planning", variations=variations)
    decision = scene.owed[0]
    some = ("march-0", "raid-a", "consolidate-a", "consolidate-b", None)
    candidates = [
        assigned({area: token for area, token in zip(PLANNED, laid, strict=True) if token})
        for laid in product(some, some, some)
    ]

    def legal(answer: c.AssignOrders) -> bool:
        tokens = list(answer.orders.values())
        at_sea = answer.orders.get("bay-of-ice", "")
        return len(set(tokens)) == len(tokens) == 3 and not at_sea.startswith("consolidate")

    assert set(candidates_accepted(decision, candidates)) == {
        msgspec.json.encode(answer) for answer in candidates if legal(answer)
    }


def candidates_accepted(decision: Any, candidates: list[Any]) -> Iterator[bytes]:
    for answer in candidates:
        try:
            decision.check(answer)
        except Refusal:
            continue
        yield msgspec.json.encode(answer)


@pytest.mark.parametrize("star", [False, True])
def test_the_raven_replaces_an_order_and_looks_at_nothing(star: bool) -> None:
    orders = {"winterfell": "march-plus-1" if star else "march-0", "karhold": "support-0-a", "bay-of-ice": "raid-a"}
    court = (STARK, LANNISTER, TYRELL, GREYJOY, BARATHEON)
    scene = first(PLANNED, step="raven", orders=orders, tracks={"kings-court": court})
    decision = scene.asks("raven")
    assert decision.player == STARK and {"1E-DP-10", "1E-RAVEN-1", "1E-RAVEN-2"} <= set(decision.rules)
    blank = c.Raven(house=STARK, choice="replace")
    candidates = [replace(blank, area=area, order=token) for area in (*PLANNED, "castle-black") for token in TOKENS]
    candidates += [blank, c.Raven(house=STARK, choice="look"), c.Raven(house=STARK, choice="nothing")]

    def legal(answer: c.Raven) -> bool:
        if answer.choice != "replace":
            return answer.choice == "nothing"
        if answer.area not in orders or answer.order is None or answer.order in orders.values():
            return False
        return not (answer.area == "bay-of-ice" and TOKENS[answer.order].type == "consolidate")

    agree(decision, candidates, legal)
    scene.refused(c.Raven(house=STARK, choice="look"), "no-look", "1E-RAVEN-2")
    at_sea = replace(blank, area="bay-of-ice", order="consolidate-a")
    scene.refused(at_sea, "on-land-only", "1E-ORD-6", "1E-RAVEN-2")
    scene.when(replace(blank, area="karhold", order="consolidate-a")).citing("1E-RAVEN-1")
    assert [fact.new for fact in scene.of(f.OrderReplaced)] == ["consolidate-a"]


def test_the_raven_takes_a_star_only_if_one_is_free() -> None:
    orders = {"winterfell": "march-plus-1", "karhold": "support-plus-1", "bay-of-ice": "raid-star"}
    scene = first(PLANNED, step="raven", orders=orders, tracks={"kings-court": (STARK,)})
    fourth = c.Raven(house=STARK, choice="replace", area="karhold", order="consolidate-star")
    scene.when(fourth)
    again = {**PLANNED, "white-harbor": "stark: footman"}
    scene = first(again, step="raven", orders={**orders, "white-harbor": "march-0"}, tracks={"kings-court": (STARK,)})
    scene.refused(replace(fourth, area="white-harbor"), "star-too-many", "1E-PLAN-4")


def test_a_raven_without_an_order_to_replace_is_not_asked() -> None:
    scene = first({"winterfell": "stark: footman"}, step="raven", tracks={"kings-court": (LANNISTER,)})
    scene.never(f.TokenUsed)
    assert "raven" not in {decision.kind for decision in scene.owed}


# Raids (RAID)

RAIDED = {
    SEA: "lannister: ship",
    "sunset-sea": "greyjoy: ship",
    "ironmans-bay": "greyjoy: ship",
    "riverrun": "stark: footman",
    "searoad-marches": "tyrell: footman",
    "lannisport": "lannister: footman",
    "stoney-sept": "stark: footman",
}
RAIDED_ORDERS = {
    SEA: "raid-star",
    "sunset-sea": "support-0-a",
    "ironmans-bay": "march-0",
    "riverrun": "consolidate-a",
    "searoad-marches": "consolidate-star",
    "lannisport": "raid-a",
    "stoney-sept": "defense-plus-2",
}


def raids(**more: Any) -> Scene:
    return first(RAIDED, step="raid", orders=RAIDED_ORDERS, turn=BARATHEON, **more)


def test_raids_take_one_target_and_the_special_order_up_to_two() -> None:
    scene = raids()
    decision = scene.asks("raid")
    assert decision.player == LANNISTER and {"1E-DP-11", "1E-ACT-2"} <= set(decision.rules)
    areas = (None, *RAIDED)
    candidates = [
        c.Raid(house=LANNISTER, area=area, target=one, second=other)
        for area in (*RAIDED, "winterfell")
        for one in areas
        for other in areas
        if one is None or other is None or one < other
    ]
    able = {
        SEA: {"sunset-sea", "riverrun", "searoad-marches"},
        "lannisport": {"riverrun", "searoad-marches"},
    }

    def legal(answer: c.Raid) -> bool:
        targets = {answer.target, answer.second} - {None}
        if answer.area not in able or not targets <= able[answer.area]:
            return False
        if answer.second is not None:
            return answer.area == SEA and answer.target is not None and answer.target != answer.second
        return True

    agree(decision, candidates, legal)
    either = c.Raid(house=LANNISTER, area=SEA, target="sunset-sea", second="riverrun")
    decision.check(either)


@pytest.mark.parametrize(
    ("area", "target", "second", "code", "rule"),
    [
        (SEA, "ironmans-bay", None, "cannot-be-raided", "1E-RAID-3"),
        ("lannisport", "stoney-sept", None, "cannot-be-raided", "1E-RAID-3"),
        (SEA, "riverrun", "ironmans-bay", "cannot-be-raided", "1E-RAID-3"),
        (SEA, "riverrun", "riverrun", "two-different-targets", "1E-RAID-2"),
        (SEA, None, "riverrun", "two-different-targets", "1E-RAID-2"),
        ("lannisport", "riverrun", "searoad-marches", "one-target-only", "1E-RAID-1"),
        ("lannisport", "sunset-sea", None, "cannot-be-raided", "1E-RAID-7"),
        (SEA, "lannisport", None, "cannot-be-raided", "1E-RAID-1"),
        ("riverrun", None, None, "no-raid-order-there", "1E-RAID-1"),
    ],
)
def test_raids_are_refused(area: str, target: str | None, second: str | None, code: str, rule: str) -> None:
    raids().refused(c.Raid(house=LANNISTER, area=area, target=target, second=second), code, rule)


def test_a_raid_on_land_does_not_reach_a_sea() -> None:
    board = {"lannisport": "lannister: footman", SEA: "greyjoy: ship"}
    scene = first(board, step="raid", orders={"lannisport": "raid-a", SEA: "support-0-a"}, turn=BARATHEON)
    # Nothing else is in reach: the order goes without a question.
    scene.citing("1E-RAID-4", "1E-RAID-9").never(f.OrderRemoved)
    (spent,) = scene.of(f.OrderResolved)
    assert "1E-RAID-4" in spent.rules and not any(rule.startswith("1E-MARCH") for rule in spent.rules)
    land = {**board, "riverrun": "stark: footman"}
    orders = {"lannisport": "raid-a", SEA: "support-0-a", "riverrun": "support-0-a"}
    scene = first(land, step="raid", orders=orders, turn=BARATHEON)
    scene.refused(c.Raid(house=LANNISTER, area="lannisport", target=SEA), "cannot-be-raided", "1E-RAID-6")


def test_pillage_pays_for_each_order_and_costs_the_victim_nothing_else() -> None:
    scene = raids(power={STARK: 3, TYRELL: 3, LANNISTER: 5})
    scene.when(c.Raid(house=LANNISTER, area=SEA, target="riverrun", second="searoad-marches"))
    assert [scene.state.power[house] for house in (LANNISTER, STARK, TYRELL)] == [7, 3, 3]
    assert not {"riverrun", "searoad-marches", SEA} & set(scene.state.orders)
    gains = scene.of(f.PowerChanged)
    assert [fact.by for fact in gains] == [1, 1] and all("1E-RAID-5" in fact.rules for fact in gains)
    scene.citing("1E-RAID-1", "1E-RAID-2", "1E-RAID-5", "1E-RAID-6", "1E-ORD-4")


def test_pillage_with_all_power_in_hand_cites_why_nothing_is_gained() -> None:
    scene = raids(power={LANNISTER: 20})
    scene.when(c.Raid(house=LANNISTER, area=SEA, target="riverrun")).never(f.PowerChanged)
    (removed,) = scene.of(f.OrderRemoved)
    assert {"1E-RAID-5", "1E-LIM-4"} <= set(removed.rules) and scene.state.power[LANNISTER] == 20
    scene = raids(power={LANNISTER: 19}).when(c.Raid(house=LANNISTER, area=SEA, target="riverrun"))
    assert "1E-LIM-4" not in scene.of(f.OrderRemoved)[0].rules


def test_a_raid_may_be_discarded() -> None:
    scene = raids().when(c.Raid(house=LANNISTER, area=SEA)).citing("1E-RAID-4")
    assert SEA not in scene.state.orders and "riverrun" in scene.state.orders


def test_a_raided_raid_is_not_resolved() -> None:
    board = {SEA: "lannister: ship", "sunset-sea": "greyjoy: ship"}
    scene = first(board, step="raid", orders={SEA: "raid-a", "sunset-sea": "raid-b"}, turn=BARATHEON)
    scene.when(c.Raid(house=LANNISTER, area=SEA, target="sunset-sea")).citing("1E-RAID-8", "1E-RAID-9", "1E-ACT-1")
    assert [fact.house for fact in scene.of(f.OrderResolved)] == [LANNISTER]


# Neutral forces (NEUT)

FORCE = {"kings-landing": 5}


def against(
    units: str = "2 knight", order: str = "march-0", *, support: str = "", moves: str = "", **more: Any
) -> Scene:
    """Tyrell marches from The Reach against King's Landing; Lannister may support from Blackwater."""
    board = {"the-reach": f"tyrell: {units}", **more.pop("others", {})}
    orders = {"the-reach": order, **more.pop("orders", {})}
    if support:
        board["blackwater"] = f"lannister: {support}"
        orders["blackwater"] = "support-0-a"
    scene = first(board, orders=orders, turn=TYRELL, neutral=FORCE, **more)
    return scene.when(march(TYRELL, "the-reach", ("kings-landing", moves or units)))


def fell(scene: Scene) -> bool:
    return "kings-landing" not in scene.state.neutral


@pytest.mark.parametrize(("word", "falls"), [(True, True), (False, False)])
def test_support_of_others_decides_against_a_neutral_force(word: bool, falls: bool) -> None:
    scene = against(support="footman")
    decision = scene.asks("neutral-support")
    assert decision.player == LANNISTER and {"1E-DP-20", "1E-NEUT-2"} <= set(decision.rules)
    assert not any(decision.default.orders.values())
    scene.answer({"orders": {"blackwater": word}})
    assert fell(scene) is falls
    assert scene.at("kings-landing" if falls else "the-reach") == "tyrell: 2 knight"
    scene.citing("1E-NEUT-2", "1E-NEUT-3", "1E-NEUT-4", "1E-MARCH-4")
    scene.citing("1E-NEUT-5" if falls else "1E-NEUT-6")
    scene.never(f.CombatBegan)
    assert "the-reach" not in scene.state.orders


@pytest.mark.parametrize(
    ("units", "order", "support", "falls"),
    [
        ("2 knight", "march-plus-1", "footman", True),
        ("2 knight", "march-plus-1", "", True),
        ("2 knight", "march-minus-1", "footman", False),
        ("2 knight", "march-0", "", False),
    ],
)
def test_nobody_is_asked_whose_answer_could_change_nothing(units: str, order: str, support: str, falls: bool) -> None:
    scene = against(units, order, support=support)
    scene.never(f.NeutralSupportAnswered)
    assert fell(scene) is falls


def test_own_support_counts_by_itself() -> None:
    scene = against(others={"kingswood": "tyrell: footman"}, orders={"kingswood": "support-0-a"})
    assert fell(scene)


def test_a_power_token_is_left_only_when_the_units_really_leave() -> None:
    for order, falls in (("march-plus-1", True), ("march-0", False)):
        scene = first({"the-reach": "tyrell: 2 knight"}, orders={"the-reach": order}, turn=TYRELL, neutral=FORCE)
        scene.when(march(TYRELL, "the-reach", ("kings-landing", "2 knight"), leave_power=True))
        assert scene.state.power_tokens == ({"the-reach": TYRELL} if falls else {})


def test_the_other_moves_of_a_march_that_fails_stand() -> None:
    scene = first({"the-reach": "tyrell: 3 footman"}, orders={"the-reach": "march-0"}, turn=TYRELL, neutral=FORCE)
    scene.when(march(TYRELL, "the-reach", ("kings-landing", "footman"), ("searoad-marches", "footman")))
    assert (scene.at("the-reach"), scene.at("searoad-marches")) == ("tyrell: 2 footman", "tyrell: footman")
    scene.citing("1E-NEUT-6")


def test_a_failed_attack_may_cost_what_supply_does_not_feed() -> None:
    board = {
        "the-reach": "tyrell: 3 footman",
        "highgarden": "tyrell: 2 footman",
        "oldtown": "tyrell: 2 footman",
        "blackwater": "tyrell: footman",
    }
    scene = first(board, orders={"the-reach": "march-0"}, turn=TYRELL, neutral=FORCE, supply={TYRELL: 2})
    scene.when(march(TYRELL, "the-reach", ("kings-landing", "footman"), ("blackwater", "footman")))
    decision = scene.asks("reconcile-supply")
    assert {"1E-DP-1", "1E-SUP-5"} <= set(decision.rules)
    scene.when(c.ReconcileSupply(house=TYRELL, units={"highgarden": {"footman": 1}})).citing("1E-SUP-5")
    assert scene.at("highgarden") == "tyrell: footman" and "the-reach" not in scene.state.orders


def test_a_neutral_fleet_is_beaten_by_ships() -> None:
    board = {SEA: "lannister: 2 ship", "winterfell": "stark: footman"}
    scene = first(board, players=4, orders={SEA: "march-0"}, turn=LANNISTER, neutral={"ironmans-bay": 2})
    scene.when(march(LANNISTER, SEA, ("ironmans-bay", "2 ship"))).citing("1E-NEUT-5")
    assert scene.at("ironmans-bay") == "lannister: 2 ship"


# Consolidation (CP) and the end of the round (ACT)


def test_all_collect_at_once_and_the_special_order_like_any_other() -> None:
    board = {"winterfell": "stark: footman", "stoney-sept": "lannister: footman", "lannisport": "lannister: footman"}
    orders = {"winterfell": "consolidate-star", "stoney-sept": "consolidate-a", "lannisport": "consolidate-star"}
    scene = first(board, step="consolidate", orders=orders).citing("1E-CP-1", "1E-CP-3", "1E-ORD-5", "1E-ACT-3")
    assert (scene.state.power[STARK], scene.state.power[LANNISTER]) == (5 + 2, 5 + 2 + 1)
    assert "consolidate" not in {decision.kind for decision in scene.owed} and not scene.state.orders


def test_an_order_that_is_gone_collects_nothing() -> None:
    scene = raids().when(c.Raid(house=LANNISTER, area=SEA, target="riverrun"))
    scene.when(c.Raid(house=LANNISTER, area="lannisport"))
    for _ in range(20):
        if scene.state.phase != "action":
            break
        scene.when(PassDeadline(player=scene.owed[0].player, question=scene.state.question))
    # Tyrell collects 1 on land without a crown; Stark's order in Riverrun was raided.
    assert (scene.state.power[STARK], scene.state.power[TYRELL]) == (5, 6)


def test_a_round_takes_back_orders_and_refreshes_tokens() -> None:
    scene = first({"winterfell": "stark: footman"}, step="consolidate", used=("messenger-raven",), round=3)
    scene.citing("1E-ACT-3", "1E-ROUND-1")
    assert scene.state.round == 4 and not scene.state.used


# Winning (WIN)


def nearly(players: int, held: int) -> Scene:
    """Stark holds so many areas with a city or stronghold and is about to take one more."""
    areas = ["winterfell", "moat-cailin", "white-harbor", "seagard", "riverrun", "crackclaw-point", "flints-finger"]
    board = dict.fromkeys(areas[:held], "stark: footman")
    board["stoney-sept"] = "stark: footman"
    scene = first(board, players=players, orders={"stoney-sept": "march-0"}, turn=STARK, round=3)
    return scene.when(march(STARK, "stoney-sept", ("harrenhal", "footman")))


@pytest.mark.parametrize(("players", "needed"), [(5, 7), (4, 7), (3, 8)])
def test_areas_win_at_once(players: int, needed: int) -> None:
    won = nearly(players, needed - 1).citing("1E-WIN-1", "1E-WIN-5")
    assert won.state.winner == STARK and won.of(f.GameWon)[0].reason == "areas"
    assert ("1E-PLAY-4" in won.of(f.GameWon)[0].rules) is (players < 5)
    assert nearly(players, needed - 2).state.winner is None


def at_the_end(board: Mapping[str, str], **more: Any) -> Scene:
    return first(board, step="consolidate", round=10, tiebreak="first-edition", **more)


def test_after_ten_rounds_most_areas_win() -> None:
    scene = at_the_end({"seagard": "stark: footman"}).citing("1E-ROUND-2", "1E-WIN-2")
    assert scene.state.winner == STARK and scene.of(f.GameWon)[0].reason == "rounds"


EVEN = {"supply": dict.fromkeys(HOUSES, 3), "power": dict.fromkeys(HOUSES, 5)}


@pytest.mark.parametrize(
    ("more", "winner"),
    [
        ({"supply": {TYRELL: 4}}, TYRELL),
        ({"power": {GREYJOY: 6}}, GREYJOY),
        ({"supply": {TYRELL: 4}, "power": {GREYJOY: 6}}, TYRELL),
    ],
)
def test_ties_go_by_supply_and_power(more: dict[str, dict[str, int]], winner: str) -> None:
    even = {name: {**EVEN[name], **more.get(name, {})} for name in EVEN}
    scene = at_the_end({}, **even).citing("1E-WIN-3", "1E-WIN-4")
    assert scene.state.winner == winner


def test_who_is_level_in_everything_draws() -> None:
    scene = at_the_end({}, **EVEN).citing("1E-WIN-3", "1E-WIN-4")
    drawn = scene.of(f.GameDrawn)[0]
    assert drawn.houses == HOUSES == scene.state.drawn and drawn.reason == "rounds"
    assert scene.state.is_over and scene.state.winner is None and not scene.owed
    partly = at_the_end({"seagard": "stark: footman", "riverrun": "tyrell: footman"}, **EVEN)
    assert partly.state.drawn == (STARK, TYRELL)


# The tests themselves


def test_books_count_what_was_seen() -> None:
    """The counting of the properties is not empty for these games."""
    books = Books(HOUSES)
    for fact in begun().facts:
        books.enter(fact)
    assert books.units[STARK] == {"footman": 2, "knight": 1, "ship": 1} and books.pool[STARK] == 15
