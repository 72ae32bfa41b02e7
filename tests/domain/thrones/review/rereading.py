"""What an answer of each kind rests on, written down once more from the rules: the independent check of footprints.

For an answer and the position it is given in, :func:`rests_on` names what by the rules goes into its options and its
ruling, generously where a fight or a retreat is concerned. A kept answer must find all of it equal on both lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from domain.thrones.language import answers as c
from domain.thrones.language.state import State
from tests.domain.thrones.properties import AREAS, controller
from tests.domain.thrones.rules.brute import NEIGHBOURS, STARS, reserve, sizes


def area(state: State, name: str) -> dict[str, Any]:
    """What stands and lies in an area, and whose it is."""
    return {
        "units": state.units.get(name),
        "order": state.orders.get(name),
        "garrison": state.garrisons.get(name),
        "neutral": state.neutral.get(name),
        "token": state.power_tokens.get(name),
        "controller": controller(state, name),
    }


def supporters(state: State, name: str) -> dict[str, Any]:
    """Support orders next to an area that may count there, with the units that would support."""
    kinds = ("land", "sea") if AREAS[name]["kind"] == "land" else ("sea", "port")
    return {
        near: (placed, state.units.get(near))
        for near in sorted(NEIGHBOURS[name])
        if (placed := state.orders.get(near)) and placed.token.startswith("support") and AREAS[near]["kind"] in kinds
    }


def forces(state: State, house: str) -> dict[str, Any]:
    """A House's units, on the way too."""
    march = state.march if state.march and state.march.house == house else None
    return {"units": state.forces_of(house), "march": march}


def armies(state: State, house: str) -> dict[str, Any]:
    """What supply and the reserve let a House add."""
    return {"sizes": sizes(state, house), "supply": state.supply[house], "reserve": reserve(state, house)}


def is_contested(state: State, house: str, name: str) -> bool:
    """Whether entering an area means a fight (2E-MAR-5, 2E-GAR-2, 2E-NEU-2)."""
    holder = state.house_in(name)
    guarded = name in state.garrisons and AREAS[name].get("home") != house
    return holder not in (None, house) or (holder is None and guarded) or name in state.neutral


def castles(state: State, house: str) -> dict[str, Any]:
    return {name: area(state, name) for name in AREAS if AREAS[name].get("castle") and controller(state, name) == house}


def fight(state: State) -> dict[str, Any]:
    """Everything that decides a combat except the cards in hand."""
    combat = state.combat
    assert combat is not None
    return {
        "combat": combat,
        "march": state.march,
        "there": area(state, combat.area),
        "support": supporters(state, combat.area),
        "fiefdoms": state.tracks["fiefdoms"],
        "blade": (state.tokens["valyrian-steel-blade"], "valyrian-steel-blade" in state.used),
    }


def around(state: State) -> dict[str, Any]:
    """Where beaten units may go: who is in or owns the areas next to a combat, and the loser's armies."""
    combat = state.combat
    assert combat is not None and combat.loser is not None
    next_to = {
        near: (state.house_in(near), controller(state, near), near in state.neutral)
        for near in sorted(NEIGHBOURS[combat.area])
    }
    return {**fight(state), "next to it": next_to, "armies": (sizes(state, combat.loser), state.supply[combat.loser])}


def rests_on(state: State, answer: Any) -> dict[str, Any]:
    """By name, what the answer rests on."""
    return dict(_parts(state, answer))


def _parts(state: State, answer: Any) -> Iterator[tuple[str, Any]]:  # one branch per kind of decision
    house = answer.house
    tracks, tokens = state.tracks, state.tokens
    match answer:
        case c.AssignOrders():
            yield "areas", state.areas_of(house)
            yield "stars", STARS[len(state.houses)][tracks["kings-court"].index(house)]
            yield "prohibited", state.prohibited
        case c.Raven():
            yield "raven", tokens["messenger-raven"]
            yield "orders", {name: placed for name, placed in state.orders.items() if placed.house == house}
            yield "stars", STARS[len(state.houses)][tracks["kings-court"].index(house)]
            if answer.choice == "look":
                yield "card", state.hidden.decks["wildling"][0]
        case c.RavenCard():
            yield "card", state.hidden.seen
        case c.Raid():
            yield "order", state.orders[answer.area]
            if answer.target:
                yield "target", state.orders[answer.target]
                if state.orders[answer.target].token.startswith("consolidate"):
                    yield "Power", [state.power[one] for one in (house, state.orders[answer.target].house)]
        case c.MarchOrder():
            yield "origin", area(state, answer.area)
            yield "armies", armies(state, house)
            for move in answer.moves:
                yield move.to, area(state, move.to)
                if is_contested(state, house, move.to):
                    yield f"support in {move.to}", supporters(state, move.to)
            if answer.leave_power:
                yield "Power", state.power[house]
        case c.NeutralSupportRequest():
            yield "armies", armies(state, house)
            if answer.target:
                yield "target", (area(state, answer.target), supporters(state, answer.target))
        case c.NeutralSupport():
            yield "target", area(state, answer.target)
            yield "orders", {name: (state.orders[name], state.units.get(name)) for name in answer.orders}
        case c.CaptureShips():
            yield "port", area(state, answer.port)
            yield "armies", armies(state, house)
        case c.Consolidate():
            yield "order", state.orders[answer.area]
            yield "Power", state.pool(house, 20)
            if AREAS[answer.area]["kind"] == "port":
                yield "blocked", {near: state.house_in(near) for near in sorted(NEIGHBOURS[answer.area])}
            if answer.use == "muster":
                yield "there", area(state, answer.area)
                yield "armies", armies(state, house)
        case c.HouseCardChoice():
            assert state.combat is not None
            yield "fight", fight(state)
            yield "hands", {one: state.hands[one] for one in state.combat.combatants}
        case c.RetreatArea() | c.RetreatLosses():
            yield "fight", around(state)
        case c.Support() | c.AcceptSupport() | c.CombatWord() | c.CombatLosses():
            yield "fight", fight(state)
            yield "tides", state.hidden.tides.get(house)
            if isinstance(answer, c.CardAbility) and answer.ability in ("tyrion-replacement", "aeron-swap"):
                yield "hand", (state.hands[house], state.power[house])
        case c.InfluenceBid():
            yield "Power", state.power
            yield "throne", tokens["iron-throne-token"]
        case c.WildlingBid():
            yield "Power", state.power
            yield "strength", state.threat
        case c.InfluenceTie() | c.WildlingTie():
            yield "bids", state.bids
            yield "throne", tokens["iron-throne-token"]
        case c.ReconcileSupply():
            yield "forces", forces(state, house)
            yield "supply", state.supply[house]
        case c.DestroyUnits() | c.HordeCastleUnits():
            yield "forces", forces(state, house)
        case c.CrowKillersDegrade() | c.CrowKillersUpgrade():
            yield "forces", forces(state, house)
        case c.Muster() | c.HordeMusterArea():
            yield "armies", armies(state, house)
            yield "castles", castles(state, house)
        case c.PreemptiveRaid():
            yield "bids", state.bids
        case c.PreemptiveRaidTrack() | c.KingBeyondRaise() | c.KingBeyondLower():
            yield "track", tracks[answer.choice]
        case c.MassingDiscard():
            yield "hand", state.hands[house]
        case c.MammothRetrieve():
            yield "discards", state.discards[house]
        case c.ThroneOfBlades() | c.DarkWings() | c.PutToTheSword():
            word = {"throne-of-blades": "iron-throne-token", "dark-wings": "messenger-raven"}
            yield "holder", tokens[word.get(answer.kind, "valyrian-steel-blade")]
        case _:
            raise AssertionError(f"{answer.kind} rests on something")
