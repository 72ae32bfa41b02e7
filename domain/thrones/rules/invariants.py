"""What must be true of every position between two questions (2E-COMP-1 to 2E-COMP-3, 2E-GEN-4, 2E-PRT-2, 2E-PRT-3)."""

from __future__ import annotations

from collections.abc import Iterator

from domain.thrones.language.pieces import TRACKS, UNITS, size
from domain.thrones.rules.game import Game


def problems(game: Game) -> tuple[str, ...]:
    """Invariants that the position breaks, in words; none for a possible position."""
    return (*_pieces(game), *_places(game), *_tracks(game), *_cards(game))


def _pieces(game: Game) -> Iterator[str]:
    state = game.state
    for house in state.houses:
        for kind, left in game.reserve(house).items():
            if left < 0:
                yield f"{house} has {-left} more of {kind} in play than it owns"
        counts = {"available Power": state.power.get(house, 0), "Power Pool": game.pool(house)}
        for name, count in counts.items():
            if count < 0:
                yield f"{house} has {count} in its {name}"
        supply = state.supply.get(house, 0)
        if not 0 <= supply <= game.edition.constants.supply_maximum:
            yield f"{house} has supply {supply}"


def _places(game: Game) -> Iterator[str]:
    state, board = game.state, game.board
    for area, force in sorted(state.units.items()):
        if area not in board:
            yield f"there is no area {area}"
            continue
        if force.house not in state.houses:
            yield f"{force.house} is not in the game"
        if not size(force.units) or any(count < 1 or unit not in UNITS for unit, count in force.units.items()):
            yield f"the units of {area} cannot be counted"
        ships = any(unit.endswith("ship") for unit in force.units)
        on_land = any(not unit.endswith("ship") for unit in force.units)
        if (board.is_land(area) and ships) or (not board.is_land(area) and on_land):
            yield f"units of the wrong kind stand in {area}"
        if board.is_port(area) and size(force.units) > game.edition.constants.port_ships:
            yield f"{area} holds more than {game.edition.constants.port_ships} Ships"
        if board.is_port(area) and game.controller(board.land_of(area)) != force.house:
            yield f"Ships of {force.house} lie in {area}, which it does not own"
        if area in state.neutral:
            yield f"units and a neutral force stand in {area}"
    for area in sorted(state.power_tokens):
        if area not in board or not board.is_land(area):
            yield f"a Power token lies in {area}"
    for area, placed in sorted(state.orders.items()):
        if area not in board or placed.token not in game.edition.tokens:
            yield f"there is no order {placed.token} for {area}"
        elif state.house_in(area) not in (None, placed.house):
            yield f"an order of {placed.house} lies under other units in {area}"
    for house in state.houses:
        laid = sorted(placed.token for placed in state.orders.values() if placed.house == house)
        if len(set(laid)) < len(laid):
            yield f"{house} has laid a token twice"


def _tracks(game: Game) -> Iterator[str]:
    state = game.state
    for track in TRACKS:
        order = state.tracks.get(track)
        if order is not None and sorted(order) != sorted(state.houses):
            yield f"the {track} track does not hold every House once"
    if state.threat not in game.edition.constants.threat_track:
        yield f"the wildling threat cannot stand at {state.threat}"


def _cards(game: Game) -> Iterator[str]:
    state = game.state
    in_play = state.combat.cards if state.combat else {}
    for house in state.houses:
        held = [*state.hands.get(house, ()), *state.discards.get(house, ())]
        held += [in_play[house]] if house in in_play else []
        if sorted(held) != sorted(game.edition.cards_of(house)):
            yield f"{house}'s House cards are not its seven"
