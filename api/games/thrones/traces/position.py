"""Positions in the words of reference games, and how two of them differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from domain.thrones.language.pieces import BLADE, Units, is_routed, routed, unit_type
from domain.thrones.language.state import Force, PlacedOrder, State
from domain.thrones.rules.game import Game
from domain.thrones.rules.victory import standing
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.edition import Edition

VICTORY_AREAS = 7
"""The recordings count Castles beyond the seven of the second edition's victory track on (2E-VIC-1)."""


def _force(units: Units) -> dict[str, Any]:
    force: dict[str, Any] = {unit: count for unit, count in sorted(units.items()) if not is_routed(unit)}
    lying = {unit_type(unit): count for unit, count in sorted(units.items()) if is_routed(unit)}
    return {**force, "routed": lying} if lying else force


def in_words_of_trace(state: State, edition: Edition) -> dict[str, Any]:
    """Our position as a reference game would write it down."""
    game = Game(THRONES.rules_of(state), state, edition)
    return {
        "round": state.round,
        "units": {area: {"house": force.house, **_force(force.units)} for area, force in state.units.items()},
        "garrisons": dict(state.garrisons),
        "neutral": dict(state.neutral),
        "power_tokens": dict(state.power_tokens),
        "available_power": dict(state.power),
        "power_pool": {house: game.pool(house) for house in state.houses},
        "supply": dict(state.supply),
        "castles": {house: standing(game, house).castles for house in state.houses},
        "land_areas": {house: standing(game, house).land_areas for house in state.houses},
        "tracks": {track: list(order) for track, order in state.tracks.items()},
        "tokens": dict(state.tokens),
        "blade_used": BLADE in state.used,
        "hands": {house: sorted(cards) for house, cards in state.hands.items()},
        "discards": {house: sorted(cards) for house, cards in state.discards.items()},
        "wildling_threat": state.threat,
        "orders": {area: _plain(order.token) for area, order in state.orders.items()},
        "decks": {
            **{
                deck: {"draw": list(cards), "discard": sorted(state.westeros_discards.get(deck, ()))}
                for deck, cards in state.hidden.decks.items()
                if deck.startswith("westeros")
            },
            "wildling": list(state.hidden.decks.get("wildling", ())),
        },
    }


def _plain(token: str) -> str:
    """An order token without telling twins apart."""
    return token.removesuffix("-a").removesuffix("-b")


def _normal(key: str, value: Any, ignore_routed: bool) -> Any:
    if key == "orders":
        return {area: _plain(token) for area, token in value.items()}
    if key == "castles":
        return {house: min(areas, VICTORY_AREAS) for house, areas in value.items()}
    if key == "units" and ignore_routed:
        return {area: {**_standing(force)} for area, force in value.items()}
    if key == "decks":
        return {
            deck: {"draw": cards["draw"], "discard": sorted(cards["discard"])} if isinstance(cards, dict) else cards
            for deck, cards in value.items()
            if deck != "tides"
        }
    return value


def _standing(force: Mapping[str, Any]) -> dict[str, Any]:
    """A force as it is once all stand."""
    up = {unit: count for unit, count in force.items() if unit != "routed"}
    for unit, count in force.get("routed", {}).items():
        up[unit] = up.get(unit, 0) + count
    return up


def differences(
    ours: Mapping[str, Any], theirs: Mapping[str, Any], *, ignore_routed: bool = False
) -> Iterator[tuple[str, Any, Any]]:
    """Keys of a recorded position in which ours differs, with both values narrowed to what differs."""
    for key, value in theirs.items():
        mine, other = (_normal(key, one, ignore_routed) for one in (ours.get(key), value))
        if mine == other:
            continue
        if isinstance(mine, dict) and isinstance(other, dict):
            keys = sorted(one for one in {*mine, *other} if mine.get(one) != other.get(one))
            yield key, {one: mine.get(one) for one in keys}, {one: other.get(one) for one in keys}
        else:
            yield key, mine, other


def taken_over(state: State, position: Mapping[str, Any]) -> State:
    """Our state with everything that a recorded position tells; frames and hidden parts stay ours."""
    units = {}
    for area, force in position["units"].items():
        counts: Units = {unit: count for unit, count in force.items() if unit not in ("house", "routed")}
        for unit, count in force.get("routed", {}).items():
            counts[routed(unit)] = count
        units[area] = Force(force["house"], counts)
    orders = {
        area: PlacedOrder(position["units"][area]["house"], token)
        for area, token in position["orders"].items()
        if area in position["units"]
    }
    used = tuple(token for token in state.used if token != BLADE)
    return replace(
        state,
        units=units,
        garrisons=dict(position["garrisons"]),
        neutral=dict(position["neutral"]),
        power_tokens=dict(position["power_tokens"]),
        power=dict(position["available_power"]),
        supply=dict(position["supply"]),
        tracks={track: tuple(order) for track, order in position["tracks"].items()},
        tokens=dict(position["tokens"]),
        used=tuple(sorted((*used, BLADE))) if position["blade_used"] else used,
        hands={house: tuple(cards) for house, cards in position["hands"].items()},
        discards={house: tuple(cards) for house, cards in position["discards"].items()},
        threat=position["wildling_threat"],
        orders=orders,
    )
