"""One short look at each chapter of the rules: what is done, and that it is said."""

from __future__ import annotations

import pytest

from domain.kernel.commands import PassDeadline
from domain.kernel.facts import SeedCommitted, SeedOpened
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from domain.thrones.language.start import Start
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.charter import Charter
from domain.thrones.tables.editions.second import SECOND_EDITION
from tests.domain.thrones.games import play, spec
from tests.domain.thrones.given import (
    BARATHEON,
    CAMP,
    FIELD,
    GREYJOY,
    HOUSES,
    LANNISTER,
    STARK,
    TYRELL,
    Scene,
    battle,
    given,
    march,
)

SEA, NEXT_SEA, PORT = "the-golden-sound", "sunset-sea", "port-of-lannisport"
LATER = {"the-eyrie": "tyrell: footman"}


def start(players: int = 6) -> Scene:
    houses = tuple(sorted(SECOND_EDITION.players(players).houses))
    ruling = THRONES.decide(THRONES.blank(), Start(charter=Charter("second-edition", houses), seed="07" * 32))
    return Scene(ruling.state, ruling.facts)


@pytest.mark.parametrize("players", [3, 4, 5, 6])
def test_set_up(players: int) -> None:
    scene = start(players)
    state, table = scene.state, SECOND_EDITION.players(players)
    assert state.round == 1 and state.threat == 2 and state.phase == "planning"
    assert all(state.power[house] == 5 and len(state.hands[house]) == 7 for house in state.houses)
    assert state.supply == {house: 1 if house == STARK else 2 for house in state.houses}
    assert state.victory == {house: 2 if house == STARK else 1 for house in state.houses}
    assert {SECOND_EDITION.houses[house].home for house in state.houses} == set(state.garrisons)
    assert set(state.garrisons.values()) == {2}
    assert set(state.neutral) == set(table.neutral_forces) | set(table.impassable)
    assert state.tracks == dict(table.influence)
    assert state.tokens["iron-throne-token"] == state.tracks["iron-throne"][0]
    assert state.tokens["valyrian-steel-blade"] == state.tracks["fiefdoms"][0]
    assert state.tokens["messenger-raven"] == state.tracks["kings-court"][0]
    assert state.units[PORT].house == LANNISTER
    assert {deck: len(cards) for deck, cards in state.hidden.decks.items()} == {
        "wildling": 9, "westeros-1": 10, "westeros-2": 10, "westeros-3": 10
    }  # fmt: skip
    assert scene.of(SeedCommitted) and not scene.of(SeedOpened)
    scene.citing("2E-SET-3", "2E-SET-4", "2E-SET-8", "2E-SET-13", "2E-SET-14", "2E-RND-2")


@pytest.mark.parametrize(
    ("screen", "players", "ship"), [("printed", 6, False), ("errata-4plus", 3, False), ("errata-4plus", 4, True)]
)
def test_the_ship_in_the_port_of_lannisport_is_a_switch(screen: str, players: int, ship: bool) -> None:
    houses = tuple(sorted(SECOND_EDITION.players(players).houses))
    charter = Charter("second-edition", houses, type(spec(0).charter.switches)(lannister_screen=screen))  # type: ignore[arg-type]
    state = THRONES.decide(THRONES.blank(), Start(charter=charter, seed="07" * 32)).state
    assert (PORT in state.units) is ship


def raid(board: dict[str, str], orders: dict[str, str], **more: object) -> Scene:
    return given({**board, **LATER}, step="raid", orders={**orders, "the-eyrie": "march-0"}, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "order", ["raid-a", "raid-star", "support-0-a", "support-plus-1", "consolidate-a", "consolidate-star"]
)
def test_a_raid_removes_an_order_and_pillages_power(order: str) -> None:
    scene = raid({CAMP: "lannister: footman", FIELD: "stark: footman"}, {CAMP: "raid-a", FIELD: order}, turn=LANNISTER)
    scene.when(c.Raid(house=LANNISTER, area=CAMP, target=FIELD))
    scene.then(
        f.OrderResolved(house=LANNISTER, area=CAMP, order="raid-a"),
        f.OrderRemoved(house=STARK, area=FIELD, order=order, by=LANNISTER),
    )
    pillaged = int(order.startswith("consolidate"))
    assert (scene.state.power[LANNISTER], scene.state.power[STARK]) == (5 + pillaged, 5 - pillaged)
    assert set(scene.state.orders) == {"the-eyrie"}
    scene.citing(
        "2E-RAID-1", "2E-RAID-3", *(("2E-RAID-8",) if pillaged else ()), *(("2E-RAID-9",) if "raid" in order else ())
    )


def test_a_victim_without_power_loses_nothing() -> None:
    scene = raid(
        {CAMP: "lannister: footman", FIELD: "stark: footman"},
        {CAMP: "raid-a", FIELD: "consolidate-a"},
        turn=LANNISTER,
        power={STARK: 0},
    )
    scene.when(c.Raid(house=LANNISTER, area=CAMP, target=FIELD)).then(f.PowerChanged(house=LANNISTER, by=1))
    assert scene.state.power[STARK] == 0


def test_only_a_star_raids_a_defense_order_and_nobody_a_march() -> None:
    board = {
        CAMP: "lannister: footman",
        FIELD: "stark: footman",
        "blackwater": "stark: footman",
        "harrenhal": "stark: footman",
    }
    orders = {FIELD: "defense-plus-2", "blackwater": "march-0", "harrenhal": "support-0-a"}
    plain = raid(board, {CAMP: "raid-a", **orders}, turn=LANNISTER)
    plain.refused(c.Raid(house=LANNISTER, area=CAMP, target=FIELD), "cannot-be-raided", "2E-RAID-4")
    plain.refused(c.Raid(house=LANNISTER, area=CAMP, target="blackwater"), "cannot-be-raided", "2E-RAID-4")
    plain.refused(c.Raid(house=LANNISTER, area=CAMP, target="lannisport"), "cannot-be-raided", "2E-RAID-2")
    plain.refused(c.Raid(house=LANNISTER, area=FIELD, target=None), "no-raid-order-there", "2E-RAID-1")
    star = raid(board, {CAMP: "raid-star", **orders}, turn=LANNISTER)
    star.when(c.Raid(house=LANNISTER, area=CAMP, target=FIELD)).citing("2E-RAID-4")
    assert FIELD not in star.state.orders and star.at(FIELD) == "stark: footman"


def test_a_raid_may_be_spent_on_nothing() -> None:
    scene = raid(
        {CAMP: "lannister: footman", FIELD: "stark: footman"}, {CAMP: "raid-a", FIELD: "support-0-a"}, turn=LANNISTER
    )
    scene.when(c.Raid(house=LANNISTER, area=CAMP)).citing("2E-RAID-6")
    assert CAMP not in scene.state.orders and FIELD in scene.state.orders
    alone = raid({CAMP: "lannister: footman"}, {CAMP: "raid-a"}, turn=LANNISTER).citing("2E-RAID-7", "2E-GEN-14")
    assert CAMP not in alone.state.orders


def test_raids_go_by_positions_of_the_iron_throne_track() -> None:
    board = {CAMP: "lannister: footman", FIELD: "stark: footman", "lannisport": "lannister: footman"}
    orders = {CAMP: "raid-a", FIELD: "raid-a", "lannisport": "raid-b"}
    scene = raid(board, orders, tracks={"iron-throne": (LANNISTER, STARK)})
    scene.when(c.Raid(house=LANNISTER, area="lannisport"))
    assert scene.asks("raid").player == STARK
    scene.when(c.Raid(house=STARK, area=FIELD)).passing("raid")
    assert scene.owed[0].kind == "march"


def consolidate(board: dict[str, str], orders: dict[str, str], **more: object) -> Scene:
    board = {**board, "winterfell": "tyrell: footman", "the-eyrie": "tyrell: footman"}
    orders = {**orders, "winterfell": "consolidate-star", "the-eyrie": "support-0-a"}
    return given(board, step="consolidate", orders=orders, **more)  # type: ignore[arg-type]


def test_consolidating_power_pays_by_the_kind_of_area() -> None:
    board = {
        "lannisport": "lannister: footman",
        CAMP: "lannister: footman",
        SEA: "lannister: ship",
        PORT: "lannister: ship",
    }
    orders = {"lannisport": "consolidate-a", CAMP: "consolidate-b"}
    scene = consolidate(board, orders, tracks={"iron-throne": (LANNISTER, TYRELL)})
    while scene.asks("consolidate").player != TYRELL:
        scene.passing("consolidate")
    # Lannisport has no icon: 1. Stoney Sept has one: 2. Nobody is asked, since the sequence does not matter.
    resolved = scene.of(f.OrderResolved)
    assert [fact.area for fact in resolved][:1] == ["lannisport"]
    scene.passing("consolidate")
    assert sum(fact.by for fact in scene.of(f.PowerChanged) if fact.house == LANNISTER) == 3
    scene.citing("2E-CP-2", "2E-CP-3", "2E-CP-10")


@pytest.mark.parametrize(("enemy", "gain"), [("", 1), ("greyjoy: ship", 0)])
def test_a_port_pays_unless_its_sea_is_hostile(enemy: str, gain: int) -> None:
    board = {"lannisport": "lannister: footman", PORT: "lannister: ship", **({SEA: enemy} if enemy else {})}
    scene = consolidate(board, {PORT: "consolidate-star"}, tracks={"iron-throne": (LANNISTER, TYRELL)})
    assert scene.state.power[LANNISTER] == 5 + gain
    scene.citing("2E-CP-7", "2E-CP-8")


def test_a_sea_pays_nothing() -> None:
    scene = consolidate({SEA: "lannister: ship"}, {SEA: "consolidate-a"}, tracks={"iron-throne": (LANNISTER, TYRELL)})
    assert scene.state.power[LANNISTER] == 5
    scene.citing("2E-CP-4")


def test_the_star_musters_instead_in_a_stronghold() -> None:
    scene = consolidate({}, {})
    scene.when(c.Consolidate(house=TYRELL, area="winterfell", use="muster")).asks("muster")
    scene.answer({"steps": (c.MusterStep("winterfell", "footman", "winterfell"),)}).citing("2E-CP-5", "2E-CP-9")
    assert scene.of(f.UnitMustered) and not [x for x in scene.of(f.PowerChanged) if x.house == TYRELL and x.by == 2]
    missed = consolidate({}, {})
    missed.when(c.Consolidate(house=TYRELL, area="winterfell", use="muster"))
    missed.when(PassDeadline(player=TYRELL, question=missed.state.question))
    missed.then(f.PowerChanged(house=TYRELL, by=2))


def test_clean_up_takes_orders_back_and_stands_units_up() -> None:
    board = {CAMP: "lannister: routed-footman", FIELD: "lannister: footman"}
    scene = given(board, step="consolidate", orders={FIELD: "support-0-a"}, used=("messenger-raven",))
    scene.then(
        f.OrdersTakenBack(), f.UnitsStoodUp(), f.TokensRefreshed(tokens=("messenger-raven",)), f.RoundBegan(round=3)
    )
    assert scene.state.orders == {} and scene.state.used == () and scene.at(CAMP) == "lannister: footman"
    scene.citing("2E-CLN-1", "2E-CLN-2", "2E-CLN-3", "2E-CLN-4")


def test_the_raven_is_used_once_and_openly() -> None:
    board = {"lannisport": "lannister: footman", "winterfell": "stark: footman"}
    orders = {"lannisport": "march-0", "winterfell": "march-0"}
    scene = given(board, step="raven", orders=orders)
    scene.when(c.Raven(house=LANNISTER, choice="replace", area="lannisport", order="support-plus-1"))
    scene.then(
        f.TokenUsed(token="messenger-raven", house=LANNISTER),
        f.OrderReplaced(house=LANNISTER, area="lannisport", old="march-0", new="support-plus-1"),
    )
    assert scene.state.orders["lannisport"].token == "support-plus-1"
    for word, place in (("top", 0), ("bottom", -1)):
        scene = given(board, step="raven", orders=orders, decks={"wildling": ("crow-killers",)})
        scene.when(c.Raven(house=LANNISTER, choice="look"))
        seen = scene.of(f.WildlingCardSeen)[-1]
        assert seen.card == "crow-killers" and seen.audience == (LANNISTER,)
        scene.when(c.RavenCard(house=LANNISTER, choice=word)).then(f.WildlingCardReturned(to=word))  # type: ignore[arg-type]
        assert scene.state.hidden.decks["wildling"][place] == "crow-killers"
        scene.citing("2E-RVN-3", "2E-RVN-4", "2E-RVN-5")


def test_orders_are_revealed_together() -> None:
    scene = given({"lannisport": "lannister: footman", "winterfell": "stark: footman"}, step="planning")
    scene.when(c.AssignOrders(house=STARK, orders={"winterfell": "march-0"}))
    assert scene.state.orders == {} and THRONES.public(scene.state).hidden.answers == {}
    # Until the last one is in, an answer may be replaced.
    scene.when(c.AssignOrders(house=STARK, orders={"winterfell": "raid-a"}))
    for orders, code in (
        ({}, "orders-missing"),
        ({"lannisport": "march-0", CAMP: "raid-a"}, "no-units-there"),
        ({"lannisport": "tower-1"}, "unknown-order"),
    ):
        scene.refused(c.AssignOrders(house=LANNISTER, orders=orders), code)
    scene.when(c.AssignOrders(house=LANNISTER, orders={"lannisport": "march-plus-1"}))
    scene.then(f.OrdersRevealed(orders={LANNISTER: {"lannisport": "march-plus-1"}, STARK: {"winterfell": "raid-a"}}))
    scene.citing("2E-PLN-13", "2E-PLN-8").asks("raven")


def test_bids_are_announced_revealed_and_discarded() -> None:
    decks = {
        "westeros-1": ("w1-last-days-of-summer",),
        "westeros-2": ("w2-clash-of-kings",),
        "westeros-3": ("w3-web-of-lies",),
    }
    scene = given({"winterfell": "stark: footman"}, step="westeros", threat=0, decks=decks, power={TYRELL: 0})
    power = {house: 0 if house == TYRELL else 5 for house in HOUSES}
    scene.then(f.MarkersRemoved(), f.PowerAnnounced(power=power)).citing("2E-HID-3", "2E-COK-1")
    assert TYRELL not in [one.player for one in scene.owed]
    bids = {house: number for number, house in enumerate(HOUSES) if house != TYRELL}
    for house in (house for house in HOUSES if house != TYRELL):
        scene.when(c.InfluenceBid(house=house, track="iron-throne", bid=bids[house]))
    scene.asks("influence-tie").default  # noqa: B018  # Baratheon and Tyrell both bid nothing
    scene.passing("influence-tie")
    scene.then(
        f.BidsRevealed(about="iron-throne", bids={**bids, TYRELL: 0}),
        f.TrackFilled(track="iron-throne", order=(STARK, "martell", LANNISTER, GREYJOY, BARATHEON, TYRELL)),
        f.TokenTaken(token="iron-throne-token", house=STARK),
    )
    assert scene.of(f.BidsDiscarded) and scene.state.bids == {} and scene.state.power[STARK] == 1


def test_the_threat_at_its_end_brings_an_attack_at_once() -> None:
    decks = {
        "westeros-1": ("w1-last-days-of-summer",),
        "westeros-2": ("w2-last-days-of-summer",),
        "westeros-3": ("w3-web-of-lies",),
    }
    scene = given({"winterfell": "stark: footman"}, step="westeros", threat=10, decks=decks)
    scene.then(f.ThreatMoved(threat=12, icons=3, ignored=2)).citing("2E-WES-4", "2E-WES-5", "2E-WLD-2")
    power = dict.fromkeys(HOUSES, 5)
    scene.then(f.PowerAnnounced(power=power)).asks("wildling-bid")


def test_a_garrison_fights_alone_and_is_gone_for_good_when_it_loses() -> None:
    board = {"the-reach": "stark: 3 footman", "the-eyrie": "greyjoy: footman"}
    orders = {"the-reach": "march-0", "the-eyrie": "march-0"}
    scene = given(board, orders=orders, turn=STARK, garrisons=(TYRELL,))
    scene.when(march(STARK, "the-reach", ("highgarden", "3 footman"))).citing("2E-GAR-2")
    scene.fight({STARK: "eddard-stark", TYRELL: "margaery-tyrell"}).citing("2E-GAR-1", "2E-GAR-3", "2E-CAS-1")
    assert scene.strength(TYRELL) == 2 + 1 and "highgarden" not in scene.state.garrisons
    assert scene.at("highgarden") == "stark: 3 footman"


def test_siege_engines_count_against_castles_only_and_never_retreat() -> None:
    castle = battle(STARK, LANNISTER, attacking="siege-engine, footman", area="lannisport").fight()
    assert castle.strength(STARK, "initial") == 4 + 1
    field = battle(STARK, LANNISTER, attacking="siege-engine, footman", defending="4 knight").fight()
    assert field.strength(STARK, "initial") == 1
    assert field.at(CAMP) == "stark: routed-footman"
    field.citing("2E-CBT-16", "2E-CAS-2", "2E-RET-2")


@pytest.mark.parametrize(("word", "total"), [("use", 1), ("do-not-use", 0)])
def test_the_blade_adds_one_and_is_used_up(word: str, total: int) -> None:
    scene = battle(STARK, LANNISTER, tracks={"fiefdoms": (STARK,)})
    scene.fight({STARK: "ser-rodrick-cassel", LANNISTER: "the-hound"}, blade_strength=word)
    assert scene.strength(STARK) == 2 + 1 + total
    assert ("valyrian-steel-blade" in scene.state.used) is bool(total)
    assert scene.of(f.StrengthCounted)[2].stage == "known"
    scene.citing("2E-CBT-24")


def test_tides_cards_count_like_house_cards_and_the_blade_may_replace_one() -> None:
    scene = battle(STARK, LANNISTER, tides=("tides-zero", "tides-sword", "tides-three"), tracks={"fiefdoms": (STARK,)})
    scene.fight({STARK: "ser-rodrick-cassel", LANNISTER: "the-hound"}, blade_redraw="use")
    assert scene.strength(STARK) == 2 + 1 + 3 and scene.strength(LANNISTER) == 2 + 2 + 1
    assert scene.icons(LANNISTER) == (1, 2)
    scene.citing("2E-TOB-3", "2E-TOB-4", "2E-TOB-5", "2E-TOB-6", "2E-TOB-8")
    assert scene.of(f.TidesCardDrawn)[0].audience == (STARK,)


def test_support_is_declared_in_turn_order_and_kept() -> None:
    board = {"blackwater": "tyrell: knight", SEA: "greyjoy: ship"}
    scene = battle(STARK, LANNISTER, others=board, orders={"blackwater": "support-plus-1", SEA: "support-0-a"})
    assert scene.asks("support").player == GREYJOY
    scene.answer({"orders": {SEA: "defender"}})
    assert scene.asks("accept-support").player == LANNISTER
    scene.answer({"orders": {SEA: True}})
    assert scene.asks("support").player == TYRELL
    scene.answer({"orders": {"blackwater": "attacker"}}).answer({"orders": {"blackwater": True}})
    scene.fight({STARK: "ser-rodrick-cassel", LANNISTER: "the-hound"}).citing(
        "2E-CBT-8", "2E-CBT-12", "2E-CBT-20", "2E-ORD-4"
    )
    assert scene.strength(STARK) == 2 + 3 + 1 and scene.strength(LANNISTER) == 2 + 1 + 2
    assert {"blackwater", SEA} <= set(scene.state.orders)


def test_equal_strength_goes_by_the_fiefdoms() -> None:
    for first in (STARK, LANNISTER):
        scene = battle(STARK, LANNISTER, tracks={"fiefdoms": (BARATHEON, first)})
        scene.fight({STARK: "greatjon-umber", LANNISTER: "the-hound"}).citing("2E-TRK-3", "2E-CBT-28")
        assert scene.winner == first


def test_a_neutral_force_is_removed_and_entered() -> None:
    board = {CAMP: "lannister: 2 knight", "the-eyrie": "greyjoy: footman"}
    scene = given(board, orders={CAMP: "march-0", "the-eyrie": "march-0"}, turn=LANNISTER, neutral={FIELD: 4})
    scene.when(march(LANNISTER, CAMP, (FIELD, "2 knight"), leave_power=True))
    scene.then(
        f.UnitsDeparted(house=LANNISTER, area=CAMP, to=FIELD, units={"knight": 2}, order="march-0"),
        f.PowerTokenPlaced(house=LANNISTER, area=CAMP),
        f.NeutralForceRemoved(area=FIELD),
        f.UnitsArrived(house=LANNISTER, to=FIELD, units={"knight": 2}),
        f.OrderResolved(house=LANNISTER, area=CAMP, order="march-0"),
    )
    assert scene.strength(LANNISTER, "neutral") == 4 and scene.state.power[LANNISTER] == 4


def test_the_last_round_ends_the_game_and_opens_the_seed() -> None:
    last = list(play(spec(0)))[-1].ruling
    assert last.state.is_over and last.state.round == 10
    assert any(isinstance(fact, SeedOpened) and fact.seed == spec(0).seed for fact in last.facts)
    won = next(fact for fact in last.facts if isinstance(fact, f.GameWon))
    assert {"2E-VIC-5", "2E-VIC-9", "2E-RND-3"} <= set(won.rules) or "2E-VIC-2" in won.rules
    assert sorted(one.house for one in won.ranking) == sorted(last.state.houses)
    assert won.ranking[0].house == won.winner


def test_a_footman_is_upgraded_where_it_stands() -> None:
    scene = given(
        {"lannisport": "lannister: footman, routed-footman", "the-eyrie": "tyrell: footman"},
        step="consolidate",
        orders={"lannisport": "consolidate-star", "the-eyrie": "support-0-a"},
    )
    scene.when(c.Consolidate(house=LANNISTER, area="lannisport", use="muster"))
    upgrades = (
        c.MusterStep("lannisport", "knight", "lannisport", "footman"),
        c.MusterStep("lannisport", "routed-siege-engine", "lannisport", "routed-footman"),
    )
    scene.refused(c.Muster(house=LANNISTER, steps=(*upgrades, *upgrades)), "no-footman-to-upgrade", "2E-MUS-11")
    scene.answer({"steps": upgrades})
    scene.then(
        f.UnitReplaced(house=LANNISTER, area="lannisport", old="footman", new="knight"),
        f.UnitReplaced(house=LANNISTER, area="lannisport", old="routed-footman", new="routed-siege-engine"),
    )


def test_who_enters_takes_the_token_of_the_former_owner_away() -> None:
    fought = battle(STARK, LANNISTER, attacking="4 knight", power_tokens={FIELD: LANNISTER}).fight()
    fought.then(f.PowerTokenRemoved(house=LANNISTER, area=FIELD)).citing("2E-CUP-3", "2E-CTL-7")
    board = {CAMP: "stark: footman", "the-eyrie": "greyjoy: footman"}
    scene = given(board, orders={CAMP: "march-0", "the-eyrie": "march-0"}, turn=STARK, power_tokens={FIELD: LANNISTER})
    scene.when(march(STARK, CAMP, (FIELD, "footman"))).then(f.PowerTokenRemoved(house=LANNISTER, area=FIELD))
    assert scene.state.power_tokens == {} and scene.state.control[FIELD] == STARK


def test_a_beaten_defender_loses_his_order_and_the_winner_his_march() -> None:
    scene = battle(STARK, LANNISTER, attacking="4 knight", orders={FIELD: "support-0-a"}).fight()
    scene.then(
        f.OrderRemoved(house=LANNISTER, area=FIELD, order="support-0-a"),
        f.UnitsArrived(house=STARK, to=FIELD, units={"knight": 4}),
        f.OrderResolved(house=STARK, area=CAMP, order="march-0"),
        f.CombatEnded(area=FIELD),
    )
    scene.citing("2E-CUP-1", "2E-CUP-2", "2E-CUP-6", "2E-CUP-7")
    held = battle(STARK, LANNISTER, defending="4 knight", orders={FIELD: "support-0-a"}).fight()
    assert held.state.orders[FIELD].token == "support-0-a"


def test_only_consolidate_power_orders_are_consolidated() -> None:
    scene = consolidate({}, {})
    scene.refused(c.Consolidate(house=TYRELL, area="the-eyrie"), "no-consolidate-order-there", "2E-CP-1")
    scene.refused(c.Consolidate(house=LANNISTER, area="winterfell"), "not-your-turn", "2E-DP-43")


def test_a_shortage_is_announced_and_orders_are_laid_in_turn() -> None:
    board = {"winterfell": "stark: footman", "karhold": "stark: footman", "white-harbor": "stark: footman"}
    court = (BARATHEON, GREYJOY, LANNISTER, "martell", TYRELL, STARK)
    scene = given(
        {**board, "lannisport": "lannister: footman"},
        step="planning",
        tracks={"kings-court": court, "iron-throne": (STARK, LANNISTER)},
        prohibited=("defense", "support", "consolidate", "raid"),
    )
    scene.then(f.ShortageFound(house=STARK, areas=3, tokens=2)).citing("2E-PLN-9", "2E-PLN-10", "2E-LIM-4")
    assert [one.player for one in scene.owed] == [STARK]
    scene.refused(c.AssignOrders(house=LANNISTER, orders={"lannisport": "march-0"}), "not-your-turn")
    scene.when(c.AssignOrders(house=STARK, orders={"karhold": "march-0", "winterfell": "march-minus-1"}))
    scene.then(f.TokensLaid(house=STARK, areas=("karhold", "winterfell")))
    assert [one.player for one in scene.owed] == [LANNISTER]
