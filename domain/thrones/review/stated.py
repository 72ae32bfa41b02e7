"""What a stated fact takes away, moves or turns is there: an arbiter is told of a slip before anything changes.

Facts of the rules are right by construction. An arbiter writes by hand, and a fact that removes what is not there
would change nothing, or something else, and stand on the record as if it had.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from domain.kernel.facts import Fact
from domain.thrones.language import facts as f
from domain.thrones.language.pieces import (
    FOOTMEN_IN_SUPPORT,
    TOKEN_OF_TRACK,
    TRACKS,
    AreaId,
    CardId,
    HouseId,
    Units,
)
from domain.thrones.rules.game import Game

_RULE = re.compile(r"[0-9]E(-[A-Z0-9]{1,20}){1,4}|arbiter")
"""How rules are numbered in both books, and what every stated fact rests on besides."""

MOST_STRENGTH = 99
"""Of a garrison or a neutral force."""


def why_absent(game: Game, fact: Fact) -> str:
    """What a fact of :data:`STATABLE` names that does not exist, or is not there in this position; empty if all is."""
    return next(chain(_unknown(game, fact), PRESENT[type(fact)](game, fact)), "")


def _unknown(game: Game, fact: Any) -> Iterator[str]:
    """Names that mean nothing at this table, by the fields that all facts use alike."""
    for rule in fact.rules:
        if not _RULE.fullmatch(rule):
            yield f"“{rule}” is no rule"
    houses = game.state.houses
    for field in ("house", "winner", "loser", "by"):
        house = getattr(fact, field, None)
        is_compared = field == "house" and isinstance(fact, _WITH_WHAT_LIES_THERE)
        if isinstance(house, str) and house not in houses and not is_compared:
            yield f"there is no House {house} in this game; there are {_list(houses)}"
    for field in ("area", "to"):
        area = getattr(fact, field, None)
        if area is not None and area not in game.board:
            yield f"there is no area {area}"
    units = [*getattr(fact, "units", {}), *(getattr(fact, name) for name in _UNIT_FIELDS.get(type(fact), ()))]
    known = game.edition.unit_names
    for unit in units:
        if unit not in known:
            yield f"there is no unit {unit}; there are {_list(known)}"
    if any(count < 1 for count in getattr(fact, "units", {"": 1}).values()):
        yield "units are counted from 1"


_WITH_WHAT_LIES_THERE = (f.OrderRemoved, f.PowerTokenRemoved)
"""Their House is that of what lies in the area, which on an old record may be nobody's."""

_UNIT_FIELDS: dict[type[Fact], tuple[str, ...]] = {f.UnitReplaced: ("old", "new")}


def _free(game: Game, house: HouseId, area: AreaId) -> Iterator[str]:
    """Units can come into an area where no other House stands (2E-GEN-4)."""
    holder = game.state.house_in(area)
    if holder not in (None, house):
        yield f"units of {holder} stand in {area}"


def _units(game: Game, house: HouseId, area: AreaId, units: Units, *, marching: bool = False) -> Iterator[str]:
    march = game.state.march
    if marching:
        there: Units = march.units if march is not None and march.house == house and march.to == area else {}
        where = f"on its march to {area}"
    else:
        there = game.state.units_in(area) if game.state.house_in(area) == house else {}
        where = f"in {area}"
    if not units:
        yield "it names no unit"
    for unit, count in units.items():
        if there.get(unit, 0) < count:
            yield f"{house} has {there.get(unit, 0)} of {unit} {where}, not {count}"


def _moved(game: Game, fact: f.UnitsMoved) -> Iterator[str]:
    yield from _units(game, fact.house, fact.area, fact.units)
    yield from _free(game, fact.house, fact.to)


def _placed(game: Game, fact: f.UnitsPlaced) -> Iterator[str]:
    if not fact.units:
        yield "it names no unit"
    yield from _free(game, fact.house, fact.area)


def _order(game: Game, house: HouseId, area: AreaId, order: str) -> Iterator[str]:
    laid = game.state.orders.get(area)
    if laid is None:
        yield f"no order lies open in {area}"
    elif (laid.house, laid.token) != (house, order):
        yield f"the order in {area} is {laid.token} of {laid.house}"


def _order_replaced(game: Game, fact: f.OrderReplaced) -> Iterator[str]:
    yield from _order(game, fact.house, fact.area, fact.old)
    if fact.new not in game.edition.tokens:
        yield f"there is no order {fact.new}; there are {_list(game.edition.tokens)}"


def _cards(house: HouseId, cards: tuple[CardId, ...], there: Iterable[CardId], where: str) -> Iterator[str]:
    left = list(there)
    if not cards:
        yield "it names no card"
    for card in cards:
        if card not in left:
            yield f"{card} is not {where} of {house}, where there is {_list(left)}"
        else:
            left.remove(card)


def _taken(game: Game, fact: f.CardsTaken) -> Iterator[str]:
    """Wherever they are: discarded, in play, or nowhere, where an earlier correction has lost them."""
    hand = game.state.hands.get(fact.house, ())
    there = (card for card in game.edition.cards_of(fact.house) if card not in hand)
    yield from _cards(fact.house, fact.cards, there, "outside the hand")


def _discarded(game: Game, fact: f.CardsDiscarded) -> Iterator[str]:
    in_play = game.state.combat.cards.get(fact.house) if game.state.combat is not None else None
    hand = game.state.hands.get(fact.house, ())
    yield from _cards(fact.house, fact.cards, hand if in_play is None else (*hand, in_play), "in the hand")


def _dominance(game: Game, *tokens: str) -> Iterator[str]:
    for token in tokens:
        if token not in TOKEN_OF_TRACK.values():
            yield f"there is no token {token}; there are {_list(TOKEN_OF_TRACK.values())}"


def _used(game: Game, fact: f.TokenUsed) -> Iterator[str]:
    yield from _dominance(game, fact.token)
    if game.state.tokens.get(fact.token) != fact.house:
        yield f"{fact.token} is held by {game.state.tokens.get(fact.token, 'nobody')}"


def _turned(game: Game, fact: f.TokensRefreshed) -> Iterator[str]:
    """All used tokens are turned, whichever are named."""
    yield from _dominance(game, *fact.tokens)
    for token in game.state.used:
        if token not in fact.tokens:
            yield f"{token} is used and would be turned, too"


def _track(game: Game, fact: f.TrackFilled) -> Iterator[str]:
    if fact.track not in TRACKS:
        yield f"there is no track {fact.track}; there are {_list(TRACKS)}"
    for house in fact.order:
        if house not in game.state.houses:
            yield f"there is no House {house} in this game; there are {_list(game.state.houses)}"


def _prohibited(game: Game, fact: f.OrdersProhibited) -> Iterator[str]:
    """A type of order, or one of the two things more that Westeros cards forbid."""
    types = dict.fromkeys(token.type for token in game.edition.tokens.values())
    known = (*types, "march-plus-1", FOOTMEN_IN_SUPPORT)
    if fact.what not in known:
        yield f"{fact.what} cannot be prohibited; {_list(known)} can"


def _garrison_placed(game: Game, fact: f.GarrisonPlaced) -> Iterator[str]:
    if fact.area not in game.board.shields:
        yield f"{fact.area} is nobody's home; homes are {_list(game.board.shields)}"
    if not 1 <= fact.strength <= MOST_STRENGTH:
        yield f"a garrison has a strength of 1 to {MOST_STRENGTH}"


def _garrison_removed(game: Game, fact: f.GarrisonRemoved) -> Iterator[str]:
    yield from _in("garrisons", "garrison")(game, fact)
    home = game.board.shields.get(fact.area, fact.house)
    if home != fact.house:
        yield f"the garrison in {fact.area} is of {home}"


def _neutral_force_placed(game: Game, fact: f.NeutralForcePlaced) -> Iterator[str]:
    if game.board.is_port(fact.area):
        yield f"{fact.area} is a port, where no neutral force stands"
    if isinstance(fact.strength, int) and not 0 <= fact.strength <= MOST_STRENGTH:
        yield f"a neutral force has a strength of 0 to {MOST_STRENGTH}"


def _power_token_placed(game: Game, fact: f.PowerTokenPlaced) -> Iterator[str]:
    owner = game.state.power_tokens.get(fact.area)
    if owner is not None:
        yield f"a Power token of {owner} lies in {fact.area} already"


def _power_token_removed(game: Game, fact: f.PowerTokenRemoved) -> Iterator[str]:
    owner = game.state.power_tokens.get(fact.area)
    if owner != fact.house:
        yield f"the Power token in {fact.area} is of {owner}" if owner else f"no Power token lies in {fact.area}"


def _decided(game: Game, fact: f.CombatDecided) -> Iterator[str]:
    combat = game.state.combat
    if combat is None:
        yield "no combat is under way"
    elif sorted((fact.winner, fact.loser)) != sorted(combat.combatants):
        yield f"the combat is between {_list(combat.combatants)}"
    elif set(fact.totals) - set(combat.combatants):
        yield f"totals are those of {_list(combat.combatants)}"


def _in(pieces: str, what: str) -> Callable[[Game, Any], Iterator[str]]:
    """A piece of which an area has at most one, by the part of the position that holds it."""

    def present(game: Game, fact: Any) -> Iterator[str]:
        if fact.area not in getattr(game.state, pieces):
            yield f"there is no {what} in {fact.area}"

    return present


def _nothing_more(game: Game, fact: Fact) -> Iterator[str]:
    """Its names are all that can be wrong with it; numbers are judged with the position that comes of them."""
    return iter(())


PRESENT: dict[type[Fact], Callable[[Game, Any], Iterator[str]]] = {
    f.NeutralForcePlaced: _neutral_force_placed,
    f.NeutralForceRemoved: _in("neutral", "neutral force"),
    f.UnitsPlaced: _placed,
    f.UnitsDestroyed: lambda game, x: _units(game, x.house, x.area, x.units, marching=x.marching),
    f.UnitReplaced: lambda game, x: _units(game, x.house, x.area, {x.old: 1}, marching=x.marching),
    f.UnitsMoved: _moved,
    f.GarrisonPlaced: _garrison_placed,
    f.GarrisonRemoved: _garrison_removed,
    f.TrackFilled: _track,
    f.TokenTaken: lambda game, x: _dominance(game, x.token),
    f.TokenUsed: _used,
    f.TokensRefreshed: _turned,
    f.SupplySet: _nothing_more,
    f.PowerChanged: _nothing_more,
    f.CardsTaken: _taken,
    f.CardsDiscarded: _discarded,
    f.ThreatMoved: _nothing_more,
    f.OrdersProhibited: _prohibited,
    f.ProhibitionsLifted: _nothing_more,
    f.OrderRemoved: lambda game, x: _order(game, x.house, x.area, x.order),
    f.OrderReplaced: _order_replaced,
    f.PowerTokenPlaced: _power_token_placed,
    f.PowerTokenRemoved: _power_token_removed,
    f.CombatDecided: _decided,
}
"""For each kind of fact that may be stated: what besides its names must be there. A test holds it whole."""


def _list(names: Iterable[str]) -> str:
    return ", ".join(names) or "nothing"
