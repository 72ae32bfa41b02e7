"""What each fact does to the position. No rule lives here: a fact says what happened, this applies it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from domain.kernel import position
from domain.kernel.facts import Fact
from domain.kernel.position import nothing
from domain.thrones.language import facts as f
from domain.thrones.language.pieces import as_routed, as_standing, minus, plus
from domain.thrones.language.state import Combat, Force, Hidden, March, PlacedOrder, State

K = TypeVar("K")
V = TypeVar("V")

with_ = msgspec.structs.replace


def _put(mapping: Mapping[K, V], key: K, value: V) -> dict[K, V]:
    return {**mapping, key: value}


def _without(mapping: Mapping[K, V], *keys: K) -> dict[K, V]:
    return {key: value for key, value in mapping.items() if key not in keys}


def _hidden(state: State, **changes: Any) -> State:
    return with_(state, hidden=with_(state.hidden, **changes))


def _combat(state: State, **changes: Any) -> State:
    assert state.combat is not None
    return with_(state, combat=with_(state.combat, **changes))


def _add_units(state: State, house: str, area: str, units: Mapping[str, int]) -> State:
    if not any(units.values()):
        return state
    return with_(state, units=_put(state.units, area, Force(house, plus(state.units_in(area), units))))


def _take_units(state: State, area: str, units: Mapping[str, int]) -> State:
    left = minus(state.units_in(area), units)
    force = state.units.get(area)
    if left and force:
        return with_(state, units=_put(state.units, area, Force(force.house, left)))
    return with_(state, units=_without(state.units, area))


def _march_units(state: State, units: dict[str, int]) -> State:
    assert state.march is not None
    return with_(state, march=with_(state.march, units=units))


def _hand(state: State, house: str, *, more: tuple[str, ...] = (), fewer: tuple[str, ...] = ()) -> State:
    cards = tuple(sorted({*state.hands.get(house, ()), *more} - {*fewer}))
    return with_(state, hands=_put(state.hands, house, cards))


def _pile(state: State, house: str, *, more: tuple[str, ...] = (), fewer: tuple[str, ...] = ()) -> State:
    kept = tuple(card for card in state.discards.get(house, ()) if card not in fewer)
    return with_(state, discards=_put(state.discards, house, (*kept, *more)))


def _game_created(state: State, fact: f.GameCreated) -> State:
    return with_(
        state,
        charter=fact.charter,
        power=dict.fromkeys(fact.charter.houses, 0),
        hands=dict.fromkeys(fact.charter.houses, ()),
        discards=dict.fromkeys(fact.charter.houses, ()),
    )


def _deck_shuffled(state: State, fact: f.DeckShuffled) -> State:
    waiting = state.hidden.stated.get(fact.deck, ())[1:]
    stated = _put(state.hidden.stated, fact.deck, waiting) if waiting else _without(state.hidden.stated, fact.deck)
    hidden = with_(state.hidden, decks=_put(state.hidden.decks, fact.deck, fact.cards), stated=stated)
    return with_(
        state,
        hidden=hidden,
        westeros_discards=_without(state.westeros_discards, fact.deck),
        westeros_cards=_without(state.westeros_cards, fact.deck),
    )


def _draw(state: State, deck: str) -> State:
    """The top card leaves a deck."""
    return _hidden(state, decks=_put(state.hidden.decks, deck, state.hidden.decks.get(deck, ())[1:]))


def _westeros_card_drawn(state: State, fact: f.WesterosCardDrawn) -> State:
    return with_(_draw(state, fact.deck), westeros_cards=_put(state.westeros_cards, fact.deck, fact.card))


def _westeros_card_resolved(state: State, fact: f.WesterosCardResolved) -> State:
    pile = (*state.westeros_discards.get(fact.deck, ()), fact.card)
    return with_(
        state,
        westeros_discards=_put(state.westeros_discards, fact.deck, pile),
        westeros_cards=_without(state.westeros_cards, fact.deck),
    )


def _units_destroyed(state: State, fact: f.UnitsDestroyed) -> State:
    if fact.marching:
        assert state.march is not None
        return _march_units(state, minus(state.march.units, fact.units))
    return _take_units(state, fact.area, fact.units)


def _unit_replaced(state: State, fact: f.UnitReplaced) -> State:
    old, new = {fact.old: 1}, {fact.new: 1}
    if fact.marching:
        assert state.march is not None
        return _march_units(state, plus(minus(state.march.units, old), new))
    return _add_units(_take_units(state, fact.area, old), fact.house, fact.area, new)


def _bids_revealed(state: State, fact: f.BidsRevealed) -> State:
    power = {house: count - fact.bids.get(house, 0) for house, count in state.power.items()}
    return with_(state, power=power, bids=fact.bids)


def _bid_returned(state: State, fact: f.BidReturned) -> State:
    power = _put(state.power, fact.house, state.power[fact.house] + state.bids[fact.house])
    return with_(state, power=power, bids=_without(state.bids, fact.house))


def _wildling_card_buried(state: State, fact: f.WildlingCardBuried | f.WildlingCardReturned) -> State:
    deck = state.hidden.decks.get("wildling", ())
    return _hidden(state, decks=_put(state.hidden.decks, "wildling", (*deck[1:], *deck[:1])), seen={})


def _wildling_card_returned(state: State, fact: f.WildlingCardReturned) -> State:
    return _hidden(state, seen={}) if fact.to == "top" else _wildling_card_buried(state, fact)


def _orders_revealed(state: State, fact: f.OrdersRevealed) -> State:
    orders = {area: PlacedOrder(house, token) for house, laid in fact.orders.items() for area, token in laid.items()}
    return with_(state, orders={**state.orders, **orders}, face_down={})


def _order_replaced(state: State, fact: f.OrderReplaced) -> State:
    return with_(state, orders=_put(state.orders, fact.area, PlacedOrder(fact.house, fact.new)))


def _order_gone(state: State, fact: f.OrderResolved | f.OrderRemoved) -> State:
    return with_(state, orders=_without(state.orders, fact.area))


def _support_lost(state: State, fact: f.OrderRemoved) -> State:
    state = _order_gone(state, fact)
    if state.combat is None:
        return state
    return _combat(
        state,
        support=_without(state.combat.support, fact.area),
        offers=_without(state.combat.offers, fact.area),
    )


def _order_moved(state: State, fact: f.OrderMoved) -> State:
    placed = state.orders[fact.area]
    return with_(state, orders=_put(_without(state.orders, fact.area), fact.to, placed))


def _units_moved(state: State, fact: f.UnitsMoved) -> State:
    return _add_units(_take_units(state, fact.area, fact.units), fact.house, fact.to, fact.units)


def _units_departed(state: State, fact: f.UnitsDeparted) -> State:
    march = March(fact.house, fact.area, fact.order, fact.to, fact.units)
    return with_(_take_units(state, fact.area, fact.units), march=march)


def _units_arrived(state: State, fact: f.UnitsArrived) -> State:
    return with_(_add_units(state, fact.house, fact.to, fact.units), march=None)


def _units_returned(state: State, fact: f.UnitsReturned) -> State:
    units = as_routed(fact.units) if fact.routed else fact.units
    return with_(_add_units(state, fact.house, fact.to, units), march=None)


def _units_retreated(state: State, fact: f.UnitsRetreated) -> State:
    return _add_units(_take_units(state, fact.area, fact.units), fact.house, fact.to, as_routed(fact.units))


def _control_changed(state: State, fact: f.ControlChanged) -> State:
    control = _without(state.control, fact.area) if fact.new is None else _put(state.control, fact.area, fact.new)
    return with_(state, control=control)


def _combat_began(state: State, fact: f.CombatBegan) -> State:
    label = f"{fact.area}/{fact.attacker}"
    combat = Combat(area=fact.area, origin=fact.origin, attacker=fact.attacker, defender=fact.defender)
    return with_(state, combat=combat, combats=(*state.combats, label))


def _support_declared(state: State, fact: f.SupportDeclared) -> State:
    if fact.side is None or state.combat is None:
        return state
    if fact.offered:
        return _combat(state, offers=_put(state.combat.offers, fact.area, fact.side))
    return _combat(state, support=_put(state.combat.support, fact.area, fact.side))


def _support_answered(state: State, fact: f.SupportAnswered) -> State:
    assert state.combat is not None
    side = state.combat.offers[fact.area]
    offers = _without(state.combat.offers, fact.area)
    support = _put(state.combat.support, fact.area, side) if fact.accepted else state.combat.support
    return _combat(state, offers=offers, support=support)


def _house_cards_revealed(state: State, fact: f.HouseCardsRevealed) -> State:
    played = {house: card for house, card in fact.cards.items() if card is not None}
    for house, card in played.items():
        state = _hand(state, house, fewer=(card,))
    return _combat(state, cards=played)


def _house_card_cancelled(state: State, fact: f.HouseCardCancelled) -> State:
    assert state.combat is not None
    state = _combat(
        state,
        cards=_without(state.combat.cards, fact.house),
        cancelled=_put(state.combat.cancelled, fact.house, fact.card),
    )
    return _hand(state, fact.house, more=(fact.card,))


def _house_card_replaced(state: State, fact: f.HouseCardReplaced) -> State:
    assert state.combat is not None
    state = _combat(state, cards=_put(state.combat.cards, fact.house, fact.card))
    return _hand(state, fact.house, fewer=(fact.card,))


def _ability_cancelled(state: State, fact: f.AbilityCancelled) -> State:
    assert state.combat is not None
    already = state.combat.silenced or ()
    return _combat(state, silenced=(*already, fact.house))


def _cards_discarded(state: State, fact: f.CardsDiscarded) -> State:
    state = _pile(_hand(state, fact.house, fewer=fact.cards), fact.house, more=fact.cards)
    if state.combat is not None and state.combat.cards.get(fact.house) in fact.cards:
        return _combat(state, cards=_without(state.combat.cards, fact.house))
    return state


def _cards_taken(state: State, fact: f.CardsTaken) -> State:
    state = _pile(_hand(state, fact.house, more=fact.cards), fact.house, fewer=fact.cards)
    if state.combat is not None and state.combat.cards.get(fact.house) in fact.cards:
        return _combat(state, cards=_without(state.combat.cards, fact.house))
    return state


def _tides_card_drawn(state: State, fact: f.TidesCardDrawn) -> State:
    return _hidden(_draw(state, "tides"), tides=_put(state.hidden.tides, fact.house, fact.card))


def _tides_revealed(state: State, fact: f.TidesRevealed) -> State:
    return _combat(_hidden(state, tides={}, decks=_without(state.hidden.decks, "tides")), tides=fact.cards)


def _orders_taken_back(state: State, fact: f.OrdersTakenBack) -> State:
    return with_(state, orders={}, combats=())


def _units_stood_up(state: State, fact: f.UnitsStoodUp) -> State:
    return with_(
        state, units={area: Force(force.house, as_standing(force.units)) for area, force in state.units.items()}
    )


EVOLVERS: dict[type[Fact], Callable[[State, Any], State]] = {
    **position.EVOLVERS,
    f.GatheringBegan: nothing,
    f.GameCreated: _game_created,
    f.PositionStated: lambda s, x: with_(x.position, hidden=s.hidden, docket=s.docket),
    f.HiddenStated: lambda s, x: with_(s, hidden=x.hidden),
    f.NeutralForcePlaced: lambda s, x: with_(s, neutral=_put(s.neutral, x.area, x.strength)),
    f.NeutralForceRemoved: lambda s, x: with_(s, neutral=_without(s.neutral, x.area)),
    f.UnitsPlaced: lambda s, x: _add_units(s, x.house, x.area, x.units),
    f.GarrisonPlaced: lambda s, x: with_(s, garrisons=_put(s.garrisons, x.area, x.strength)),
    f.GarrisonRemoved: lambda s, x: with_(s, garrisons=_without(s.garrisons, x.area)),
    f.TrackFilled: lambda s, x: with_(s, tracks=_put(s.tracks, x.track, x.order)),
    f.MarkersRemoved: lambda s, x: with_(s, tracks={}),
    f.TokenTaken: lambda s, x: with_(s, tokens=_put(s.tokens, x.token, x.house)),
    f.TokenUsed: lambda s, x: with_(s, used=tuple(sorted({*s.used, x.token}))),
    f.TokensRefreshed: lambda s, x: with_(s, used=()),
    f.MarkerMoved: lambda s, x: with_(s, tracks=_put(s.tracks, x.track, x.order)),
    f.SupplySet: lambda s, x: with_(s, supply=_put(s.supply, x.house, x.supply)),
    f.VictorySet: lambda s, x: with_(s, victory=_put(s.victory, x.house, x.areas)),
    f.PowerChanged: lambda s, x: with_(s, power=_put(s.power, x.house, s.power[x.house] + x.by)),
    f.CardsTaken: _cards_taken,
    f.CardsDiscarded: _cards_discarded,
    f.ThreatMoved: lambda s, x: with_(s, threat=x.threat),
    f.DeckShuffled: _deck_shuffled,
    f.DeckRedrawn: lambda s, x: _hidden(s, decks=_put(s.hidden.decks, x.deck, x.cards)),
    f.RoundBegan: lambda s, x: with_(s, round=x.round),
    f.StepBegan: lambda s, x: with_(s, phase=x.phase, step=x.step),
    f.WesterosCardDrawn: _westeros_card_drawn,
    f.WesterosCardResolved: _westeros_card_resolved,
    f.OrdersProhibited: lambda s, x: with_(s, prohibited=(*s.prohibited, x.what)),
    f.ProhibitionsLifted: lambda s, x: with_(s, prohibited=()),
    f.SupplyCounted: nothing,
    f.UnitsDestroyed: _units_destroyed,
    f.UnitReplaced: _unit_replaced,
    f.UnitMustered: lambda s, x: _add_units(s, x.house, x.to, {x.unit: 1}),
    f.PowerAnnounced: nothing,
    f.BidsRevealed: _bids_revealed,
    f.BidsDiscarded: lambda s, x: with_(s, bids=_without(s.bids, *x.houses)),
    f.BidReturned: _bid_returned,
    f.WildlingAttackBegan: nothing,
    f.WildlingAttackDecided: nothing,
    f.BidderNamed: nothing,
    f.WildlingCardRevealed: nothing,
    f.WildlingCardBuried: _wildling_card_buried,
    f.WildlingCardSeen: lambda s, x: _hidden(s, seen=_put(s.hidden.seen, x.house, x.card)),
    f.WildlingCardReturned: _wildling_card_returned,
    f.PenaltySuffered: nothing,
    f.ShortageFound: nothing,
    f.TokensLaid: lambda s, x: with_(s, face_down={**s.face_down, **dict.fromkeys(x.areas, x.house)}),
    f.OrdersRevealed: _orders_revealed,
    f.OrderReplaced: _order_replaced,
    f.OrderResolved: _order_gone,
    f.OrderRemoved: _support_lost,
    f.OrderMoved: _order_moved,
    f.UnitsMoved: _units_moved,
    f.UnitsDeparted: _units_departed,
    f.UnitsArrived: _units_arrived,
    f.UnitsReturned: _units_returned,
    f.UnitsRetreated: _units_retreated,
    f.PowerTokenPlaced: lambda s, x: with_(
        s,
        power_tokens=_put(s.power_tokens, x.area, x.house),
        power=_put(s.power, x.house, s.power[x.house] - 1),
    ),
    f.PowerTokenRemoved: lambda s, x: with_(s, power_tokens=_without(s.power_tokens, x.area)),
    f.PowerTokenKept: nothing,
    f.ControlChanged: _control_changed,
    f.NeutralSupportAsked: nothing,
    f.NeutralSupportAnswered: nothing,
    f.StrengthCounted: nothing,
    f.IconsCounted: nothing,
    f.CombatBegan: _combat_began,
    f.SupportDeclared: _support_declared,
    f.SupportAnswered: _support_answered,
    f.HouseCardsRevealed: _house_cards_revealed,
    f.HouseCardCancelled: _house_card_cancelled,
    f.HouseCardReplaced: _house_card_replaced,
    f.AbilityCancelled: _ability_cancelled,
    f.AbilityResolved: nothing,
    f.AbilityNoted: nothing,
    f.TidesCardDrawn: _tides_card_drawn,
    f.TidesRevealed: _tides_revealed,
    f.BladeAdded: lambda s, x: _combat(s, blade=x.house),
    f.CombatDecided: lambda s, x: _combat(s, winner=x.winner),
    f.CombatStopped: lambda s, x: _combat(s, stopped=True),
    f.CasualtiesCounted: nothing,
    f.CasualtiesPrevented: nothing,
    f.RetreatOffered: nothing,
    f.CombatEnded: lambda s, x: with_(s, combat=None, march=None),
    f.UnitsStoodUp: _units_stood_up,
    f.OrdersTakenBack: _orders_taken_back,
    f.GameWon: lambda s, x: with_(s, winner=x.winner, ranking=x.ranking),
    f.GameDrawn: lambda s, x: with_(s, drawn=x.houses, ranking=x.ranking),
}
"""By type of fact. Folding hundreds of thousands of facts, a table is faster than a match."""


def evolve(state: State, fact: Fact) -> State:
    """The position after one fact."""
    return EVOLVERS[type(fact)](state, fact)


def redacted(state: State) -> State:
    """The position as everybody may see it."""
    return with_(state, hidden=Hidden())
