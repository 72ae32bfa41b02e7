"""What options say is legal, compared with a second writing of the rules on small positions and in whole games."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, permutations, product
from typing import Any

import msgspec
import pytest

from domain.kernel.decision import Decision
from domain.kernel.refusal import Refusal
from domain.thrones.language import answers as c
from domain.thrones.language.state import State
from tests.domain.thrones.games import play, spec
from tests.domain.thrones.given import BARATHEON, CAMP, FIELD, GREYJOY, LANNISTER, STARK, Scene, battle, given
from tests.domain.thrones.properties import AREAS
from tests.domain.thrones.rules import brute

replace = msgspec.structs.replace
SEA, NEXT_SEA, PORT = "the-golden-sound", "sunset-sea", "port-of-lannisport"


def key(answer: Any) -> str:
    """An answer without what does not matter: the sequence of moves, of areas, of units."""
    if isinstance(answer, c.MarchOrder):
        answer = replace(answer, moves=tuple(sorted(answer.moves, key=lambda move: move.to)))
    return msgspec.json.encode(answer, order="deterministic").decode()


def passes(decision: Decision[Any], answer: Any) -> bool:
    try:
        decision.check(answer)
    except Refusal:
        return False
    return True


def agree(decision: Decision[Any], candidates: Iterable[Any], legal: Callable[[Any], bool]) -> set[str]:
    """``check`` accepts, ``every`` lists and ``sample`` reaches exactly the candidates that are legal."""
    every_candidate = {key(answer): answer for answer in candidates}
    expected = {name for name, answer in every_candidate.items() if legal(answer)}
    accepted = {name for name, answer in every_candidate.items() if passes(decision, answer)}
    assert accepted == expected, (
        f"wrongly accepted {sorted(accepted - expected)[:3]}, refused {sorted(expected - accepted)[:3]}"
    )
    assert expected and len(expected) < len(every_candidate), "there are legal and illegal candidates"
    listed = {}
    for answer in decision.options.every(decision.default):
        assert key(answer) not in listed, "nothing is listed twice"
        listed[key(answer)] = answer
    assert set(listed) & set(every_candidate) == expected
    assert all(legal(answer) for name, answer in listed.items() if name not in every_candidate)
    _agree_on_samples(decision, set(listed))
    return expected


def _agree_on_samples(decision: Decision[Any], listed: set[str]) -> None:
    """Samples are legal; where there are not too many legal answers, every one of them comes up."""
    chance = random.Random(2)
    missing = set(listed)
    for _ in range(400 * len(listed) if len(listed) <= 150 else 2000):
        sampled = key(decision.sample(chance.randrange))
        assert sampled in listed
        missing.discard(sampled)
        if not missing:
            return
    assert len(listed) > 150, f"never sampled: {sorted(missing)[:3]}"


# Marches


def marches(state: State, house: str, area: str, places: Iterable[str]) -> Iterator[c.MarchOrder]:
    """Every unit of an area to every one of some places, or staying; with and without a Power token."""
    units = brute.singles(state.units[area].units)
    for going in product((None, *places), repeat=len(units)):
        moves: dict[str, dict[str, int]] = {}
        for unit, to in zip(units, going, strict=True):
            if to is not None:
                there = moves.setdefault(to, {})
                there[unit] = there.get(unit, 0) + 1
        for power in (False, True):
            yield c.MarchOrder(
                house=house, area=area, moves=tuple(c.Move(to, moves[to]) for to in moves), leave_power=power
            )


def agree_on_march(scene: Scene, house: str, area: str, places: Iterable[str]) -> set[str]:
    decision = scene.asks("march")
    assert decision.player == house
    candidates = list(marches(scene.state, house, area, places))
    candidates.append(c.MarchOrder(house=house, area=FIELD))
    return agree(decision, candidates, lambda answer: brute.may_march(scene.state, answer))


@pytest.mark.parametrize("supply", [0, 1, 6])
def test_marches_split_units_under_supply(supply: int) -> None:
    board = {
        CAMP: "lannister: 2 footman, knight",
        FIELD: "lannister: footman",
        "blackwater": "stark: footman",
        "harrenhal": "tyrell: knight",
    }
    scene = given(board, orders={CAMP: "march-0"}, turn=LANNISTER, supply={LANNISTER: supply})
    agree_on_march(scene, LANNISTER, CAMP, (FIELD, "blackwater", "harrenhal", "riverrun", "lannisport", "pyke", SEA))


def test_routed_units_stay_and_forbid_a_power_token() -> None:
    scene = given({CAMP: "lannister: footman, routed-footman"}, orders={CAMP: "march-0"}, turn=LANNISTER)
    agree_on_march(scene, LANNISTER, CAMP, (FIELD, "harrenhal"))


@pytest.mark.parametrize(
    ("area", "power", "tokens"),
    [(CAMP, 5, {}), (CAMP, 0, {}), (CAMP, 1, {CAMP: LANNISTER}), ("lannisport", 5, {}), (SEA, 5, {}), (PORT, 5, {})],
)
def test_a_power_token_is_left_only_where_it_may(area: str, power: int, tokens: dict[str, str]) -> None:
    unit = "footman" if AREAS[area]["kind"] == "land" else "ship"
    scene = given(
        {area: f"lannister: 2 {unit}"},
        orders={area: "march-0"},
        turn=LANNISTER,
        power={LANNISTER: power},
        power_tokens=tokens,
    )
    agree_on_march(scene, LANNISTER, area, (FIELD, CAMP, "lannisport", SEA, NEXT_SEA, PORT))


def test_garrisons_units_tokens_and_shields_are_told_apart() -> None:
    scene = given(
        {"seagard": "lannister: 2 footman, knight", "the-twins": "stark: footman"},
        orders={"seagard": "march-0"},
        turn=LANNISTER,
        garrisons=(STARK, GREYJOY),
        power_tokens={"riverrun": GREYJOY, "moat-cailin": STARK},
    )
    agree_on_march(scene, LANNISTER, "seagard", ("the-twins", "riverrun", "moat-cailin", "greywater-watch", "pyke"))


@pytest.mark.slow
@pytest.mark.parametrize("order", ["march-minus-1", "march-0", "march-plus-1"])
@pytest.mark.parametrize("support", ["support-0-a", "support-plus-1", "raid-a"])
def test_neutral_forces_are_entered_with_enough_strength(order: str, support: str) -> None:
    board = {CAMP: "lannister: footman, knight, siege-engine", "blackwater": "lannister: footman"}
    scene = given(
        board,
        orders={CAMP: order, "blackwater": support},
        turn=LANNISTER,
        neutral={"harrenhal": 6, "riverrun": 4, FIELD: 3},
    )
    agree_on_march(scene, LANNISTER, CAMP, ("harrenhal", "riverrun", FIELD, "blackwater"))


def test_support_that_was_granted_counts_against_the_neutral_force_asked_for() -> None:
    board = {CAMP: "lannister: footman, knight", "blackwater": "stark: knight", "crackclaw-point": "stark: footman"}
    scene = given(
        board,
        orders={CAMP: "march-0", "blackwater": "support-0-a", "crackclaw-point": "support-plus-1"},
        turn=LANNISTER,
        neutral={"harrenhal": 5, FIELD: 5},
    )
    decision = scene.asks("neutral-support-request")
    targets = ["harrenhal", FIELD]
    requests = [c.NeutralSupportRequest(house=LANNISTER, area=area, target=to) for area in AREAS for to in AREAS]
    requests.append(c.NeutralSupportRequest(house=LANNISTER))
    agree(decision, requests, lambda one: one.area is None or (one.area == CAMP and one.target in targets))
    scene.answer({"area": CAMP, "target": "harrenhal"})
    decision = scene.asks("neutral-support")
    grants = [
        replace(decision.default, orders=dict(zip(areas, words, strict=True)))
        for areas in (("blackwater", "crackclaw-point"), ("blackwater",), ("blackwater", CAMP))
        for words in product((True, False), repeat=len(areas))
    ]
    agree(decision, grants, lambda one: set(one.orders) == {"blackwater", "crackclaw-point"})
    scene.when(replace(decision.default, orders={"blackwater": True, "crackclaw-point": False}))
    candidates = list(marches(scene.state, LANNISTER, CAMP, ("harrenhal", FIELD, "blackwater")))
    agree(
        scene.asks("march"),
        candidates,
        lambda answer: brute.may_march(
            scene.state,
            answer,
            ("blackwater",) if any(move.to == "harrenhal" for move in answer.moves) else (),
        ),
    )


def test_ships_carry_units_over_their_own_chain_only() -> None:
    board = {
        "pyke": "greyjoy: footman, knight",
        "ironmans-bay": "greyjoy: ship",
        NEXT_SEA: "greyjoy: routed-ship",
        SEA: "lannister: ship",
        "port-of-pyke": "greyjoy: ship",
        "west-summer-sea": "tyrell: ship",
    }
    scene = given(board, orders={"pyke": "march-0"}, turn=GREYJOY)
    places = (
        "flints-finger",
        "seagard",
        "riverrun",
        FIELD,
        "lannisport",
        "greywater-watch",
        "highgarden",
        "ironmans-bay",
    )
    agree_on_march(scene, GREYJOY, "pyke", places)


def test_ships_move_between_seas_and_their_own_ports() -> None:
    board = {SEA: "lannister: 3 ship", PORT: "lannister: ship", NEXT_SEA: "greyjoy: ship"}
    scene = given(board, orders={SEA: "march-0"}, turn=LANNISTER)
    agree_on_march(scene, LANNISTER, SEA, (PORT, NEXT_SEA, "ironmans-bay", "lannisport", "port-of-pyke"))
    foreign = given({"ironmans-bay": "lannister: 2 ship"}, orders={"ironmans-bay": "march-0"}, turn=LANNISTER)
    agree_on_march(foreign, LANNISTER, "ironmans-bay", ("port-of-pyke", NEXT_SEA, SEA, "pyke"))


def test_impassable_areas_and_their_ports_are_closed() -> None:
    scene = given(
        {FIELD: "lannister: footman, knight"},
        players=3,
        orders={FIELD: "march-0"},
        turn=LANNISTER,
        neutral={"highgarden": "impassable", "oldtown": "impassable", "the-reach": 3},
    )
    agree_on_march(scene, LANNISTER, FIELD, ("highgarden", "the-reach", CAMP, "blackwater"))
    ship = given(
        {"redwyne-straights": "lannister: 2 ship"},
        players=3,
        orders={"redwyne-straights": "march-0"},
        turn=LANNISTER,
        neutral={"highgarden": "impassable", "oldtown": "impassable"},
    )
    agree_on_march(ship, LANNISTER, "redwyne-straights", ("port-of-oldtown", "west-summer-sea", "highgarden"))


# Mustering


def musters(house: str, areas: Iterable[str], most: int) -> Iterator[c.Muster]:
    steps = [
        c.MusterStep(area, unit, to, upgrade)
        for area in areas
        for to in sorted({area, *brute.NEIGHBOURS[area]} - {"harrenhal", "riverrun"})
        for upgrade, units in (
            (None, ("footman", "knight", "ship", "siege-engine", "routed-knight")),
            ("footman", ("knight", "siege-engine", "ship")),
            ("routed-footman", ("knight", "routed-knight")),
        )
        for unit in units
    ]
    for length in range(most + 1):
        for chosen in product(steps, repeat=length):
            yield c.Muster(house=house, steps=chosen)


def mustering(board: dict[str, str], house: str, **more: Any) -> Scene:
    decks = {
        "westeros-1": ("w1-mustering",),
        "westeros-2": ("w2-last-days-of-summer",),
        "westeros-3": ("w3-web-of-lies",),
    }
    scene = given(board, step="westeros", decks=decks, threat=0, tracks={"iron-throne": (house,)}, **more)
    assert scene.asks("muster").player == house
    return scene


@pytest.mark.parametrize(
    ("board", "supply"),
    [
        ({"lannisport": "lannister: footman, routed-footman"}, 6),
        ({"lannisport": "lannister: 2 footman"}, 0),
        ({"lannisport": "lannister: knight", PORT: "lannister: 2 ship", SEA: "greyjoy: ship"}, 1),
        ({PORT: "lannister: 3 ship", SEA: "lannister: ship"}, 6),
        (
            {
                CAMP: "lannister: 4 knight",
                FIELD: "lannister: knight, 2 siege-engine",
                "lannisport": "lannister: footman",
            },
            6,
        ),
    ],
)
def test_a_stronghold_musters_step_by_step(board: dict[str, str], supply: int) -> None:
    scene = mustering(board, LANNISTER, supply={LANNISTER: supply})
    agree(
        scene.owed[0],
        musters(LANNISTER, ("lannisport", CAMP), 2),
        lambda answer: brute.may_muster(scene.state, LANNISTER, AREAS, answer.steps),
    )


def test_points_of_two_areas_are_not_pooled() -> None:
    board = {"crackclaw-point": "lannister: footman", "harrenhal": "lannister: footman", "lannisport": "stark: footman"}
    scene = mustering(board, LANNISTER)
    areas = ("crackclaw-point", "harrenhal")
    agree(
        scene.owed[0],
        musters(LANNISTER, areas, 2),
        lambda answer: brute.may_muster(scene.state, LANNISTER, AREAS, answer.steps),
    )


def test_the_star_of_consolidate_power_must_muster_something() -> None:
    board = {"lannisport": "lannister: footman", "harrenhal": "lannister: footman"}
    scene = given(board, step="consolidate", orders={"lannisport": "consolidate-star"})
    scene.answer({"use": "muster"})
    agree(
        scene.asks("muster"),
        musters(LANNISTER, ("lannisport", "harrenhal"), 2),
        lambda answer: bool(answer.steps) and brute.may_muster(scene.state, LANNISTER, ("lannisport",), answer.steps),
    )


# Supply


@pytest.mark.parametrize("supply", [0, 1, 2])
@pytest.mark.parametrize(
    "board",
    [
        {"winterfell": "stark: 3 footman, knight", "karhold": "stark: 2 knight"},
        {
            "winterfell": "stark: 2 footman, knight",
            "karhold": "stark: 2 knight",
            "white-harbor": "stark: footman, knight",
        },
        {
            "winterfell": "stark: 2 footman",
            "the-shivering-sea": "stark: 3 ship",
            "port-of-white-harbor": "stark: 2 ship",
        },
    ],
)
def test_supply_takes_every_minimal_set_and_no_other(board: dict[str, str], supply: int) -> None:
    decks = {
        "westeros-1": ("w1-last-days-of-summer",),
        "westeros-2": ("w2-last-days-of-summer",),
        "westeros-3": ("w3-wildlings-attack",),
        "wildling": ("rattleshirts-raiders",),
    }
    # One step down for everyone but the lowest bidder, who is Greyjoy here.
    scene = given(board, step="westeros", decks=decks, threat=8, supply={STARK: supply + 1})
    while scene.owed and scene.owed[0].kind == "wildling-bid":
        scene.when(c.WildlingBid(house=scene.owed[0].player, bid=int(scene.owed[0].player != GREYJOY)))
    forces = {area: dict(force.units) for area, force in scene.state.units.items()}
    if not scene.owed or scene.owed[0].kind != "reconcile-supply":
        minimal = [one for one in brute.choices_by_area(forces) if brute.is_minimal(scene.state, STARK, one)]
        assert len(minimal) == 1
        return
    candidates = [c.ReconcileSupply(house=STARK, units=units) for units in brute.choices_by_area(forces)]
    agree(scene.owed[0], candidates, lambda answer: brute.is_minimal(scene.state, STARK, answer.units))


# Orders


def assignments(house: str, areas: Iterable[str]) -> Iterator[c.AssignOrders]:
    places = tuple(areas)
    for tokens in product((None, *brute.TOKENS), repeat=len(places)):
        orders = {area: token for area, token in zip(places, tokens, strict=True) if token}
        yield c.AssignOrders(house=house, orders=orders)


@pytest.mark.parametrize("position", [1, 3, 4, 6])
@pytest.mark.parametrize("prohibited", [(), ("defense",), ("march-plus-1", "raid")])
def test_orders_are_assigned_within_stars_and_prohibitions(position: int, prohibited: tuple[str, ...]) -> None:
    court = [BARATHEON, GREYJOY, LANNISTER, "martell", "tyrell"]
    court.insert(position - 1, STARK)
    scene = given(
        {"winterfell": "stark: footman", "the-shivering-sea": "stark: ship"},
        step="planning",
        tracks={"kings-court": tuple(court)},
        prohibited=prohibited,
    )
    decision = next(one for one in scene.owed if one.player == STARK)
    candidates = assignments(STARK, ("winterfell", "the-shivering-sea", "karhold"))
    agree(decision, candidates, lambda answer: brute.may_assign(scene.state, STARK, answer.orders))


@pytest.mark.parametrize(("position", "short"), [(6, True), (1, False)])
def test_a_short_house_assigns_exactly_what_it_can(position: int, short: bool) -> None:
    """Only March orders are left: two, and a third for whoever has a star."""
    court = [BARATHEON, GREYJOY, LANNISTER, "martell", "tyrell"]
    court.insert(position - 1, STARK)
    scene = given(
        {"winterfell": "stark: footman", "karhold": "stark: footman", "white-harbor": "stark: footman"},
        step="planning",
        tracks={"kings-court": tuple(court)},
        prohibited=("defense", "support", "consolidate", "raid"),
    )
    decision = scene.owed[0]
    agree(
        decision,
        assignments(STARK, ("winterfell", "karhold", "white-harbor")),
        lambda answer: brute.may_assign(scene.state, STARK, answer.orders),
    )
    assert ("2E-PLN-10" in decision.rules) is short


def test_a_raid_reaches_what_the_book_says() -> None:
    board = {
        SEA: "lannister: ship",
        "lannisport": "greyjoy: footman",
        PORT: "greyjoy: ship",
        NEXT_SEA: "greyjoy: ship",
        FIELD: "lannister: footman",
        "blackwater": "stark: footman",
        "the-reach": "stark: footman",
        CAMP: "stark: footman",
        "riverrun": "tyrell: footman",
        "west-summer-sea": "tyrell: ship",
        "highgarden": "tyrell: footman",
    }
    orders = {
        SEA: "raid-star",
        "lannisport": "defense-plus-1-a",
        PORT: "consolidate-a",
        NEXT_SEA: "support-0-a",
        FIELD: "raid-a",
        "blackwater": "consolidate-star",
        "the-reach": "raid-a",
        CAMP: "defense-plus-2",
        "riverrun": "march-0",
        "west-summer-sea": "support-0-a",
        "highgarden": "support-plus-1",
    }
    scene = given(board, step="raid", orders=orders, turn=LANNISTER)
    decision = scene.asks("raid")
    candidates = [c.Raid(house=LANNISTER, area=area, target=to) for area in AREAS for to in (None, *AREAS)]
    agree(decision, candidates, lambda answer: brute.may_raid(scene.state, answer))
    port = given(
        {PORT: "lannister: ship", SEA: "greyjoy: ship", "lannisport": "lannister: footman"},
        step="raid",
        orders={PORT: "raid-a", SEA: "support-0-a"},
        turn=LANNISTER,
    )
    candidates = [c.Raid(house=LANNISTER, area=area, target=to) for area in AREAS for to in (None, *AREAS)]
    agree(port.asks("raid"), candidates, lambda answer: brute.may_raid(port.state, answer))


@pytest.mark.parametrize("position", [1, 4, 6])
def test_the_raven_replaces_an_order_by_an_unused_legal_one(position: int) -> None:
    court = [BARATHEON, GREYJOY, LANNISTER, "martell", "tyrell"]
    court.insert(position - 1, STARK)
    tracks = {"kings-court": tuple(court)}
    board = {"winterfell": "stark: footman", "karhold": "stark: footman", "lannisport": "lannister: footman"}
    orders = {"winterfell": "march-0", "karhold": "support-0-a", "lannisport": "raid-a"}
    if position == 1:
        orders["karhold"] = "support-plus-1"
    scene = given(board, step="raven", orders=orders, tracks=tracks, prohibited=("raid",))
    decision = scene.asks("raven")
    house = decision.player
    candidates: list[c.Raven] = [
        c.Raven(house=house, choice="replace", area=area, order=order) for area in board for order in brute.TOKENS
    ]
    candidates += [c.Raven(house=house, choice="replace"), c.Raven(house=house, choice="look")]
    candidates.append(c.Raven(house=house, choice="nothing"))

    def legal(answer: c.Raven) -> bool:
        if answer.choice != "replace":
            return True
        return bool(answer.area and answer.order) and brute.may_replace(
            scene.state, house, str(answer.area), str(answer.order)
        )

    agree(decision, candidates, legal)


# Combat


@pytest.mark.parametrize(
    ("origin", "area", "unit"),
    [(CAMP, FIELD, "footman"), (NEXT_SEA, SEA, "ship"), ("harrenhal", "riverrun", "footman")],
)
def test_support_comes_from_where_it_can(origin: str, area: str, unit: str) -> None:
    places = {
        "lannisport": "footman",
        PORT: "ship",
        SEA: "ship",
        NEXT_SEA: "ship",
        "ironmans-bay": "ship",
        "west-summer-sea": "ship",
        "riverrun": "footman",
        "the-reach": "footman",
        "blackwater": "footman",
        "harrenhal": "footman",
        "pyke": "footman",
    }
    others = {where: f"stark: {what}" for where, what in places.items() if where not in (origin, area)}
    orders = {where: f"support-0-{letter}" for where, letter in zip(others, "abababababab", strict=False)}
    scene = battle(
        LANNISTER,
        BARATHEON,
        attacking=f"2 {unit}",
        defending=unit,
        origin=origin,
        area=area,
        others=others,
        orders=orders,
    )
    decision = scene.asks("support")
    eligible = [where for where, house in brute.supports(scene.state, area).items() if house == STARK]
    assert sorted(decision.default.orders) == eligible
    words = ("attacker", "defender", "withhold")
    candidates = [
        replace(decision.default, orders=dict(zip(eligible, said, strict=True)))
        for said in islice(product((*words, "both"), repeat=len(eligible)), 3000)
    ]
    candidates += [replace(decision.default, orders={where: "attacker"}) for where in others]
    if len(eligible) <= 4:
        agree(
            decision,
            candidates,
            lambda answer: sorted(answer.orders) == eligible and set(answer.orders.values()) <= set(words),
        )
    else:
        for answer in candidates:
            legal = sorted(answer.orders) == eligible and set(answer.orders.values()) <= set(words)
            assert passes(decision, answer) is legal


def test_a_combatant_supports_only_himself_and_offers_may_be_refused() -> None:
    board = {"lannisport": "lannister: footman", "blackwater": "stark: footman", "the-reach": "stark: footman"}
    orders = {"lannisport": "support-0-a", "blackwater": "support-0-a", "the-reach": "support-0-b"}
    scene = battle(LANNISTER, BARATHEON, others=board, orders=orders)
    decision = scene.asks("support")
    candidates = [
        replace(decision.default, orders={"lannisport": word}) for word in ("attacker", "defender", "withhold")
    ]
    agree(decision, candidates, lambda answer: answer.orders["lannisport"] != "defender")
    scene.answer({"orders": {"lannisport": "attacker"}})
    scene.answer({"orders": {"blackwater": "attacker", "the-reach": "defender"}})
    for house, area in ((LANNISTER, "blackwater"), (BARATHEON, "the-reach")):
        decision = scene.asks("accept-support")
        assert decision.player == house
        candidates = [
            replace(decision.default, orders=orders)
            for orders in ({area: True}, {area: False}, {}, {area: True, CAMP: True})
        ]
        agree(decision, candidates, lambda answer, area=area: set(answer.orders) == {area})
        scene.answer({"orders": {area: False}})


def test_support_may_be_one_declaration_per_house() -> None:
    board = {"blackwater": "stark: footman", "the-reach": "stark: footman"}
    orders = {"blackwater": "support-0-a", "the-reach": "support-0-b"}
    scene = battle(LANNISTER, BARATHEON, others=board, orders=orders, support_unit="per-house")
    decision = scene.asks("support")
    words = ("attacker", "defender", "withhold")
    candidates = [
        replace(decision.default, orders={"blackwater": one, "the-reach": other}) for one in words for other in words
    ]
    agree(decision, candidates, lambda answer: len(set(answer.orders.values())) == 1)


def test_casualties_are_any_units_that_can_be_casualties() -> None:
    everything = {"footman": 3, "knight": 2, "routed-footman": 1, "ship": 1}
    scene = battle(LANNISTER, STARK, attacking="4 knight", defending="2 footman, 2 knight")
    scene.fight({LANNISTER: "ser-gregor-clegane", STARK: "greatjon-umber"}, until="casualties")
    decision = scene.asks("casualties")
    legal = brute.of_size({"footman": 2, "knight": 2}, 3)
    candidates = [replace(decision.default, units=units) for units in brute.choices(everything)]
    agree(decision, candidates, lambda answer: answer.units in legal)


def test_a_skull_takes_one_unit_that_is_not_routed() -> None:
    scene = battle(
        LANNISTER,
        STARK,
        attacking="footman, knight, siege-engine",
        defending="footman",
        tides=("tides-zero", "tides-skull"),
    )
    scene.fight({LANNISTER: "ser-gregor-clegane", STARK: "the-blackfish"}, until="skull-casualty")
    decision = scene.asks("skull-casualty")
    assert decision.player == LANNISTER
    everything = {"footman": 1, "knight": 1, "siege-engine": 1, "routed-footman": 1}
    candidates = [replace(decision.default, units=units) for units in brute.choices(everything)]
    agree(decision, candidates, lambda answer: sum(answer.units.values()) == 1 and "routed-footman" not in answer.units)


RETREATS: list[dict[str, Any]] = [
    {},
    {"others": {"blackwater": "baratheon: footman", "the-reach": "lannister: footman"}},
    {"power_tokens": {"blackwater": LANNISTER, "the-reach": BARATHEON}},
    {"neutral": {"blackwater": 3}},
    {"supply": {BARATHEON: 0}, "others": {"blackwater": "baratheon: 2 footman", "the-reach": "baratheon: footman"}},
    {
        "supply": {BARATHEON: 0},
        "others": {"blackwater": "baratheon: 2 footman", "kingswood": "baratheon: 2 footman"},
        "power_tokens": {"the-reach": LANNISTER},
    },
    {"others": {SEA: "baratheon: ship", "ironmans-bay": "baratheon: routed-ship"}},
    {"others": {SEA: "stark: ship"}, "garrisons": (LANNISTER, "tyrell")},
]


@pytest.mark.parametrize("robb", [False, True])
@pytest.mark.parametrize("more", RETREATS)
def test_beaten_defenders_go_where_the_loss_is_smallest(more: dict[str, Any], robb: bool) -> None:
    winner = STARK if robb else LANNISTER
    card = "robb-stark" if robb else "the-hound"
    scene = battle(winner, BARATHEON, attacking="4 knight", **more)
    scene.fight({winner: card, BARATHEON: "brienne-of-tarth"}, until="retreat-area")
    if scene.state.combat is None:
        # One area or none: nobody was asked. What was done must still be the only legal thing.
        offered = [fact for fact in scene.facts if type(fact).__name__ == "RetreatOffered"]
        assert len(offered) <= 1 and all(len(fact.areas) == 1 for fact in offered)
        return
    areas, _ = brute.retreats(scene.state, BARATHEON)
    decision = scene.asks("retreat-area")
    candidates = [replace(decision.default, choice=area) for area in (*AREAS, "leave")]
    agree(decision, candidates, lambda answer: answer.choice in areas or (robb and answer.choice == "leave"))


@pytest.mark.parametrize("origin", [CAMP, "highgarden", "lannisport"])
def test_robb_sends_a_beaten_attacker_where_he_may_go(origin: str) -> None:
    scene = battle(BARATHEON, STARK, defending="4 knight", origin=origin, power_tokens={"blackwater": LANNISTER})
    scene.fight({STARK: "robb-stark", BARATHEON: "brienne-of-tarth"}, until="retreat-area")
    allowed = origin == CAMP
    areas, _ = brute.retreats(scene.state, BARATHEON, allowed)
    decision = scene.asks("retreat-area")
    candidates = [replace(decision.default, choice=area) for area in (*AREAS, "leave")]
    agree(decision, candidates, lambda answer: answer.choice in areas or answer.choice == "leave")


def test_the_losses_of_a_retreat_are_any_units_of_their_number() -> None:
    scene = battle(
        LANNISTER,
        BARATHEON,
        attacking="4 knight",
        defending="2 footman, knight",
        supply={BARATHEON: 0},
        others={"blackwater": "stark: footman", "the-reach": "stark: footman", "highgarden": "stark: footman"},
        power_tokens={"lannisport": BARATHEON},
    )
    scene.fight({LANNISTER: "the-hound", BARATHEON: "brienne-of-tarth"}, until="retreat-losses")
    decision = scene.asks("retreat-losses")
    candidates = [
        replace(decision.default, units=units) for units in brute.choices({"footman": 3, "knight": 1, "ship": 1})
    ]
    legal = brute.of_size({"footman": 2, "knight": 1}, 1)
    agree(decision, candidates, lambda answer: answer.units in legal)


# Bids and wildlings


def test_ties_are_settled_by_every_order_inside_each_group() -> None:
    decks = {"westeros-1": ("w1-supply",), "westeros-2": ("w2-clash-of-kings",), "westeros-3": ("w3-web-of-lies",)}
    scene = given({"winterfell": "stark: footman"}, step="westeros", decks=decks, threat=0)
    bids = {STARK: 2, LANNISTER: 2, GREYJOY: 1, BARATHEON: 0, "martell": 0, "tyrell": 0}
    bid_options = scene.owed[0]
    candidates = [replace(bid_options.default, bid=bid) for bid in range(-2, 9)]
    agree(bid_options, candidates, lambda answer: 0 <= answer.bid <= 5)
    for house, bid in bids.items():
        scene.when(c.InfluenceBid(house=house, track="iron-throne", bid=bid))
    decision = scene.asks("influence-tie")
    groups = [(STARK, LANNISTER), (BARATHEON, "martell", "tyrell")]
    candidates = [
        replace(decision.default, groups=(one, other))
        for one in permutations((STARK, LANNISTER, GREYJOY), 2)
        for other in permutations((BARATHEON, "martell", "tyrell", GREYJOY), 3)
    ]
    candidates += [replace(decision.default, groups=(groups[0],)), replace(decision.default, groups=())]
    agree(
        decision,
        candidates,
        lambda answer: [set(group) for group in answer.groups] == [set(group) for group in groups],
    )


def wildlings(card: str, board: dict[str, str], *, won: bool) -> Scene:
    decks = {
        "westeros-1": ("w1-last-days-of-summer",),
        "westeros-2": ("w2-last-days-of-summer",),
        "westeros-3": ("w3-wildlings-attack",),
        "wildling": (card,),
    }
    scene = given(board, step="westeros", decks=decks, threat=2)
    while scene.owed[0].kind == "wildling-bid":
        house = scene.owed[0].player
        scene.when(c.WildlingBid(house=house, bid=(5 if won else 0) if house == STARK else 1))
    return scene


KNIGHTS = {"winterfell": "stark: 2 knight, routed-knight", "karhold": "stark: 2 knight, footman"}


def test_crow_killers_degrade_all_knights_as_far_as_footmen_last() -> None:
    board = KNIGHTS | {
        "castle-black": "stark: 4 footman",
        "moat-cailin": "stark: 2 footman",
        "white-harbor": "stark: footman",
    }
    scene = wildlings("crow-killers", board, won=False)
    decision = scene.asks("crow-killers-degrade")
    knights = {"winterfell": {"knight": 2, "routed-knight": 1}, "karhold": {"knight": 2}}
    some = list(brute.choices_by_area(knights))
    candidates = [replace(decision.default, replaced=one, destroyed=other) for one in some for other in some]

    def number(chosen: dict[str, dict[str, int]]) -> int:
        return sum(sum(units.values()) for units in chosen.values())

    def legal(answer: c.CrowKillersDegrade) -> bool:
        for area, units in knights.items():
            for unit, count in units.items():
                taken = answer.replaced.get(area, {}).get(unit, 0) + answer.destroyed.get(area, {}).get(unit, 0)
                if taken != count:
                    return False
        return number(answer.replaced) == 2 and number(answer.destroyed) == 3

    agree(decision, candidates, legal)


def test_crow_killers_upgrade_up_to_two_footmen() -> None:
    board = {"winterfell": "stark: 2 footman, routed-footman, knight", "karhold": "stark: footman"}
    scene = wildlings("crow-killers", board, won=True)
    decision = scene.asks("crow-killers-upgrade")
    forces = {"winterfell": {"footman": 3, "routed-footman": 1, "knight": 1}, "karhold": {"footman": 1}}
    candidates = [replace(decision.default, units=units) for units in brute.choices_by_area(forces)]

    def legal(answer: c.CrowKillersUpgrade) -> bool:
        units = [unit for there in answer.units.values() for unit in brute.singles(there)]
        return len(units) <= 2 and "knight" not in units and answer.units.get("winterfell", {}).get("footman", 0) <= 2

    agree(decision, candidates, legal)


def test_units_are_destroyed_anywhere_or_in_one_castle() -> None:
    board = {"winterfell": "stark: 2 footman, knight", "karhold": "stark: 2 footman", "white-harbor": "stark: 2 knight"}
    forces = {
        "winterfell": {"footman": 2, "knight": 1},
        "karhold": {"footman": 2},
        "white-harbor": {"knight": 2, "ship": 1},
    }
    total = lambda answer: sum(sum(units.values()) for units in answer.units.values())  # noqa: E731
    no_ship = lambda answer: "ship" not in answer.units.get("white-harbor", {})  # noqa: E731
    for card, kind, legal in (
        ("mammoth-riders", "destroy-units", lambda answer: total(answer) == 3 and no_ship(answer)),
        (
            "the-horde-descends",
            "horde-castle-units",
            lambda answer: (
                total(answer) == 2 and no_ship(answer) and len(answer.units) == 1 and "karhold" not in answer.units
            ),
        ),
    ):
        scene = wildlings(card, board, won=False)
        decision = scene.asks(kind)
        candidates = [replace(decision.default, units=units) for units in brute.choices_by_area(forces)]
        agree(decision, candidates, legal)


# Whole games


@pytest.mark.slow
@pytest.mark.parametrize("number", range(6))
def test_options_agree_with_the_second_writing_in_whole_games(number: int) -> None:
    """Random answers, mostly illegal, to every march, raid, muster, assignment and retreat of a game."""
    chance = random.Random(number)
    for entry in play(spec(number)):
        for decision in entry.owed:
            for answer in _guesses(entry.before, decision, chance):
                expected = _legal(entry.before, decision, answer)
                if expected is not None:
                    assert passes(decision, answer) is expected, answer
            sampled = decision.sample(chance.randrange)
            assert passes(decision, sampled)
            few = list(islice(decision.options.every(decision.default), 200))
            assert all(passes(decision, answer) for answer in few)
            if len(few) < 200:
                assert key(sampled) in {key(answer) for answer in few}


def _guesses(state: State, decision: Decision[Any], chance: random.Random) -> Iterator[Any]:
    yield decision.default
    for _ in range(3):
        yield decision.sample(chance.randrange)
    house = decision.player
    near = sorted(AREAS)
    match decision.default:
        case c.MarchOrder():
            for _ in range(12):
                area = chance.choice(sorted(decision.options.origins))
                places = [*sorted(brute.NEIGHBOURS[area]), chance.choice(near)]
                units = brute.singles(state.units[area].units)
                moves: dict[str, dict[str, int]] = {}
                for unit in units:
                    to = chance.choice([None, *places])
                    if to is not None:
                        there = moves.setdefault(to, {})
                        there[unit] = there.get(unit, 0) + 1
                yield c.MarchOrder(
                    house=house,
                    area=area,
                    moves=tuple(c.Move(to, moves[to]) for to in moves),
                    leave_power=chance.random() < 0.5,
                )
        case c.Raid():
            for _ in range(8):
                area = chance.choice(sorted(state.orders))
                yield c.Raid(house=house, area=area, target=chance.choice(sorted(brute.NEIGHBOURS[area])))
        case c.AssignOrders():
            for _ in range(6):
                orders = dict(decision.sample(chance.randrange).orders)
                orders[chance.choice(sorted(orders))] = chance.choice(sorted(brute.TOKENS))
                yield replace(decision.default, orders=orders)
        case c.Muster():
            for _ in range(6):
                steps = list(decision.sample(chance.randrange).steps)
                area = chance.choice(sorted(AREAS))
                chance.shuffle(steps)
                extra = c.MusterStep(area, chance.choice(sorted(brute.COSTS)), chance.choice([area, *near]))
                yield replace(decision.default, steps=tuple(steps))
                yield replace(decision.default, steps=(*steps, extra))
                yield replace(decision.default, steps=(*steps, *steps[:1]))


def _legal(state: State, decision: Decision[Any], answer: Any) -> bool | None:
    match answer:
        case c.MarchOrder():
            if len(decision.options.origins) < sum(
                placed.house == answer.house and brute.TOKENS[placed.token]["type"] == "march"
                for placed in state.orders.values()
            ):
                return None  # support was asked for: only one March order can be resolved
            granted = [frame.get("granted", ()) for frame in state.frames if frame["procedure"] == "MarchOrders"]
            return None if granted and granted[0] else brute.may_march(state, answer)
        case c.Raid():
            return brute.may_raid(state, answer)
        case c.AssignOrders():
            return brute.may_assign(state, answer.house, answer.orders)
        case c.Muster():
            if decision.options.must or len(decision.options.areas) < len(
                [area for area in AREAS if AREAS[area]["castle"] and brute.controller(state, area) == answer.house]
            ):
                return None
            return brute.may_muster(state, answer.house, AREAS, answer.steps)
        case c.RetreatArea():
            combat = state.combat
            assert combat is not None and combat.loser is not None
            if combat.loser == combat.attacker or answer.choice == "leave":
                return None
            return answer.choice in brute.retreats(state, combat.loser)[0]
        case c.ReconcileSupply():
            return brute.is_minimal(state, answer.house, answer.units)
    return None
