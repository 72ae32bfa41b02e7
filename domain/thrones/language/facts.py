"""The facts of the game: plain past-tense records, the language of the ledger.

What each fact does to the position stands in :mod:`domain.thrones.language.evolve`. A fact that only explains
(arithmetic, declarations) changes nothing there.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from domain.kernel.facts import NOBODY, Fact
from domain.thrones.language.pieces import AreaId, CardId, Deck, HouseId, OrderId, Unit, Units
from domain.thrones.language.state import Hidden, Side, Standing, State
from domain.thrones.tables.charter import Charter

# Set-up and positions


class GameCreated(Fact, frozen=True, tag=True):
    """The first fact of every game."""

    charter: Charter


class GatheringBegan(Fact, frozen=True, tag=True):
    """A game is agreed on; it begins once the seed has been made together. ``deal``: Houses are dealt by it."""

    charter: Charter
    deal: bool = False


class PositionStated(Fact, frozen=True, tag=True):
    """A whole position replaces the state: given starts, imports, rewinds, corrections and cases."""

    position: State
    reason: str


class HiddenStated(Fact, frozen=True, tag=True):
    """The hidden part of a stated position."""

    hidden: Hidden

    @property
    def audience(self) -> tuple[str, ...] | None:
        return NOBODY


class NeutralForcePlaced(Fact, frozen=True, tag=True):
    area: AreaId
    strength: int | Literal["impassable"]


class NeutralForceRemoved(Fact, frozen=True, tag=True):
    area: AreaId


class UnitsPlaced(Fact, frozen=True, tag=True):
    """Units come into play from the reserve (set-up, captured ports)."""

    house: HouseId
    area: AreaId
    units: Units


class GarrisonPlaced(Fact, frozen=True, tag=True):
    area: AreaId
    strength: int


class GarrisonRemoved(Fact, frozen=True, tag=True):
    area: AreaId
    house: HouseId


class TrackFilled(Fact, frozen=True, tag=True):
    """The markers of a track, from position 1."""

    track: str
    order: tuple[HouseId, ...]


class MarkersRemoved(Fact, frozen=True, tag=True):
    """Clash of Kings: all influence markers leave their tracks."""


class TokenTaken(Fact, frozen=True, tag=True):
    """A dominance token passes; its used or unused side stays as it is."""

    token: str
    house: HouseId


class TokenUsed(Fact, frozen=True, tag=True):
    token: str
    house: HouseId


class TokensRefreshed(Fact, frozen=True, tag=True):
    """Dominance tokens are turned to their unused side."""

    tokens: tuple[str, ...]


class MarkerMoved(Fact, frozen=True, tag=True):
    """An influence marker is inserted at another position; ``order`` is the track after it."""

    track: str
    house: HouseId
    position: int
    order: tuple[HouseId, ...]


class SupplySet(Fact, frozen=True, tag=True):
    house: HouseId
    supply: int


class VictorySet(Fact, frozen=True, tag=True):
    """The victory marker: areas with a Castle or Stronghold under control."""

    house: HouseId
    areas: int


class PowerChanged(Fact, frozen=True, tag=True):
    """Available Power moves from (+) or to (−) the Power Pool."""

    house: HouseId
    by: int


class CardsTaken(Fact, frozen=True, tag=True):
    """House cards come into hand, out of the discard pile where they lie there."""

    house: HouseId
    cards: tuple[CardId, ...]


class CardsDiscarded(Fact, frozen=True, tag=True):
    """House cards go to the owner's discard pile, in this order."""

    house: HouseId
    cards: tuple[CardId, ...]


class ThreatMoved(Fact, frozen=True, tag=True):
    """The wildling threat token stands on the space with this number."""

    threat: int
    icons: int = 0
    ignored: int = 0


class DeckShuffled(Fact, frozen=True, tag=True):
    """A deck is shuffled, its discards included; ``cards`` is the new order from the top."""

    deck: Deck
    occasion: str
    cards: tuple[CardId, ...]

    @property
    def audience(self) -> tuple[str, ...] | None:
        return NOBODY


class DeckRedrawn(Fact, frozen=True, tag=True):
    """What lies in a deck is shuffled again under a new seed; discards stay where they are."""

    deck: Deck
    cards: tuple[CardId, ...]

    @property
    def audience(self) -> tuple[str, ...] | None:
        return NOBODY


# Rounds and the Westeros phase


class RoundBegan(Fact, frozen=True, tag=True):
    round: int


class StepBegan(Fact, frozen=True, tag=True):
    """A phase and a step of it."""

    phase: str
    step: str


class WesterosCardDrawn(Fact, frozen=True, tag=True):
    deck: Deck
    card: CardId


class WesterosCardResolved(Fact, frozen=True, tag=True):
    """A Westeros card is carried out and goes to the discard pile of its deck."""

    deck: Deck
    card: CardId


class OrdersProhibited(Fact, frozen=True, tag=True):
    """Until the end of this Planning phase: an order type, or ``march-plus-1``.

    By the first edition's cards until the end of the round, and ``footmen-in-support`` too: Footmen give nothing there.
    """

    what: str


class ProhibitionsLifted(Fact, frozen=True, tag=True):
    """The prohibitions of this round's deck III card are over."""


class SupplyCounted(Fact, frozen=True, tag=True):
    """Supply icons in all areas a House controls."""

    house: HouseId
    icons: dict[AreaId, int]


class UnitsDestroyed(Fact, frozen=True, tag=True):
    """Units return to the reserve. With ``marching`` they were on their way to a contested area."""

    house: HouseId
    area: AreaId
    units: Units
    marching: bool = False


class UnitReplaced(Fact, frozen=True, tag=True):
    """One unit is replaced by another type in its place."""

    house: HouseId
    area: AreaId
    old: Unit
    new: Unit
    marching: bool = False


class UnitMustered(Fact, frozen=True, tag=True):
    """One unit comes from the reserve, paid by ``area``."""

    house: HouseId
    area: AreaId
    unit: Unit
    to: AreaId
    points: int


class PowerAnnounced(Fact, frozen=True, tag=True):
    """Every bidder's available Power, said aloud before a bid."""

    power: dict[HouseId, int]


class BidsRevealed(Fact, frozen=True, tag=True):
    """All bids of one auction at once; they stop being available Power."""

    about: str
    bids: dict[HouseId, int]


class BidsDiscarded(Fact, frozen=True, tag=True):
    """Committed bids go to the Power Pool."""

    houses: tuple[HouseId, ...]


class BidReturned(Fact, frozen=True, tag=True):
    """A committed bid becomes available Power again."""

    house: HouseId


class WildlingAttackBegan(Fact, frozen=True, tag=True):
    cause: str
    strength: int
    participants: tuple[HouseId, ...]


class WildlingAttackDecided(Fact, frozen=True, tag=True):
    strength: int
    watch: int
    winner: Literal["nights-watch", "wildlings"]


class BidderNamed(Fact, frozen=True, tag=True):
    """The decisive bidder of a wildling attack."""

    house: HouseId
    which: Literal["highest", "lowest"]


class WildlingCardRevealed(Fact, frozen=True, tag=True):
    card: CardId


class WildlingCardBuried(Fact, frozen=True, tag=True):
    """The top wildling card goes under its deck."""


class WildlingCardSeen(Fact, frozen=True, tag=True):
    """What the holder of the raven saw on top of the wildling deck."""

    house: HouseId
    card: CardId

    @property
    def audience(self) -> tuple[str, ...] | None:
        return (self.house,)


class WildlingCardReturned(Fact, frozen=True, tag=True):
    """The card looked at goes back: ``top`` or ``bottom``."""

    to: Literal["top", "bottom"]


class PenaltySuffered(Fact, frozen=True, tag=True):
    """The part of a wildling card that a House is struck or rewarded by, and whether it could be."""

    house: HouseId
    card: CardId
    part: Literal["lowest", "other", "highest"]


# Planning


class ShortageFound(Fact, frozen=True, tag=True):
    """A House with units in more areas than it has legal tokens: all assign in turn."""

    house: HouseId
    areas: int
    tokens: int


class TokensLaid(Fact, frozen=True, tag=True):
    """Where a House laid tokens, face down, when orders are assigned in turn."""

    house: HouseId
    areas: tuple[AreaId, ...]


class OrdersRevealed(Fact, frozen=True, tag=True):
    """All order tokens face up."""

    orders: dict[HouseId, dict[AreaId, OrderId]]


class OrderReplaced(Fact, frozen=True, tag=True):
    house: HouseId
    area: AreaId
    old: OrderId
    new: OrderId


# Action


class OrderResolved(Fact, frozen=True, tag=True):
    """An order was carried out (or passed) and leaves the board."""

    house: HouseId
    area: AreaId
    order: OrderId


class OrderRemoved(Fact, frozen=True, tag=True):
    """An order leaves the board unresolved."""

    house: HouseId
    area: AreaId
    order: OrderId
    by: HouseId | None = None


class OrderMoved(Fact, frozen=True, tag=True):
    """An order token is put into another area."""

    house: HouseId
    area: AreaId
    to: AreaId


class UnitsMoved(Fact, frozen=True, tag=True):
    """Units march without a fight."""

    house: HouseId
    area: AreaId
    to: AreaId
    units: Units


class UnitsDeparted(Fact, frozen=True, tag=True):
    """Units leave for the contested area of their March order and have not arrived yet."""

    house: HouseId
    area: AreaId
    to: AreaId
    units: Units
    order: OrderId


class UnitsArrived(Fact, frozen=True, tag=True):
    """The marching units enter the area they fought for."""

    house: HouseId
    to: AreaId
    units: Units


class UnitsReturned(Fact, frozen=True, tag=True):
    """The marching units go back to an area, routed if they retreat."""

    house: HouseId
    to: AreaId
    units: Units
    routed: bool


class UnitsRetreated(Fact, frozen=True, tag=True):
    """Beaten defenders go to another area and become routed."""

    house: HouseId
    area: AreaId
    to: AreaId
    units: Units


class PowerTokenPlaced(Fact, frozen=True, tag=True):
    house: HouseId
    area: AreaId


class PowerTokenRemoved(Fact, frozen=True, tag=True):
    """A Power token returns to its owner's Pool."""

    house: HouseId
    area: AreaId


class PowerTokenKept(Fact, frozen=True, tag=True):
    """An area was won and nobody has entered it: its Power token stays."""

    house: HouseId
    area: AreaId


class ControlChanged(Fact, frozen=True, tag=True):
    """A land area has another controller, or none."""

    area: AreaId
    old: HouseId | None
    new: HouseId | None


class NeutralSupportAsked(Fact, frozen=True, tag=True):
    house: HouseId
    area: AreaId
    target: AreaId


class NeutralSupportAnswered(Fact, frozen=True, tag=True):
    house: HouseId
    orders: dict[AreaId, bool]


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of a sum: what counted, how much it gave, and the rules that say so.

    ``group`` is one of units, order, support, garrison, card, blade, tides. ``area`` is where it stands,
    ``house`` whose it is where that is not the side itself; ``count`` things of ``each`` make ``amount``.
    """

    group: str
    item: str
    amount: int
    rules: tuple[str, ...]
    area: AreaId | None = None
    house: HouseId | None = None
    count: int = 1


class StrengthCounted(Fact, frozen=True, tag=True):
    """The strength of one side at one moment of a combat or against a neutral force.

    ``stage`` is initial, known (before the Blade), final or neutral. ``total`` is the sum of the lines;
    only a final strength below 0 counts as 0, and only by the second edition's book (2E-CBT-27, 1E-BAT-8).
    """

    stage: Literal["initial", "known", "final", "neutral"]
    house: HouseId
    area: AreaId
    lines: tuple[Line, ...]
    total: int


class IconsCounted(Fact, frozen=True, tag=True):
    """Swords and fortifications of one side when the winner is known."""

    house: HouseId
    swords: tuple[Line, ...]
    fortifications: tuple[Line, ...]


class CombatBegan(Fact, frozen=True, tag=True):
    attacker: HouseId
    defender: HouseId
    area: AreaId
    origin: AreaId
    order: OrderId


class SupportDeclared(Fact, frozen=True, tag=True):
    """One Support order: for a side, or withheld. An offer counts only once it is accepted."""

    house: HouseId
    area: AreaId
    side: Side | None
    offered: bool = False


class SupportAnswered(Fact, frozen=True, tag=True):
    """A combatant accepts or refuses the offer of one Support order."""

    house: HouseId
    area: AreaId
    accepted: bool


class HouseCardsRevealed(Fact, frozen=True, tag=True):
    """Cards leave the hands and are in play; None for an empty hand."""

    cards: dict[HouseId, CardId | None]


class HouseCardCancelled(Fact, frozen=True, tag=True):
    """A card in play goes back to its owner's hand and has no effect in this combat."""

    house: HouseId
    card: CardId


class HouseCardReplaced(Fact, frozen=True, tag=True):
    """A card from hand comes into play after the reveal."""

    house: HouseId
    card: CardId


class AbilityCancelled(Fact, frozen=True, tag=True):
    """The text of a House card in play has no effect in this combat; its strength and icons stay."""

    house: HouseId
    card: CardId


class AbilityResolved(Fact, frozen=True, tag=True):
    """The text of a House card was applied, or had nothing to apply to."""

    house: HouseId
    card: CardId


class AbilityNoted(Fact, frozen=True, tag=True):
    """A win-or-lose ability that takes effect in a later step of this combat."""

    house: HouseId
    card: CardId


class TidesCardDrawn(Fact, frozen=True, tag=True):
    """A Tides of Battle card, seen by its drawer alone until the reveal."""

    house: HouseId
    card: CardId

    @property
    def audience(self) -> tuple[str, ...] | None:
        return (self.house,)


class TidesRevealed(Fact, frozen=True, tag=True):
    cards: dict[HouseId, CardId]


class BladeAdded(Fact, frozen=True, tag=True):
    """The Valyrian Steel Blade adds 1 to its holder's final strength in this combat."""

    house: HouseId


class CombatDecided(Fact, frozen=True, tag=True):
    """Who won, with both totals; ``tie`` tells that the Fiefdoms track decided."""

    winner: HouseId
    loser: HouseId
    totals: dict[HouseId, int]
    tie: bool


class CombatStopped(Fact, frozen=True, tag=True):
    """The combat ends at once because a card destroyed the last unit of a side."""

    house: HouseId


class CasualtiesCounted(Fact, frozen=True, tag=True):
    """How many units the loser must give up: swords less fortifications, at most what is left."""

    house: HouseId
    swords: int
    fortifications: int
    eligible: int
    number: int


class CasualtiesPrevented(Fact, frozen=True, tag=True):
    """A card keeps its owner from suffering casualties."""

    house: HouseId
    card: CardId


class RetreatOffered(Fact, frozen=True, tag=True):
    """Where the beaten units may go: the areas of the smallest loss, and that loss."""

    house: HouseId
    areas: tuple[AreaId, ...]
    loss: int


class CombatEnded(Fact, frozen=True, tag=True):
    area: AreaId


class UnitsStoodUp(Fact, frozen=True, tag=True):
    """All routed units stand up."""


class OrdersTakenBack(Fact, frozen=True, tag=True):
    """All orders left on the board return to their Houses."""


class GameWon(Fact, frozen=True, tag=True):
    winner: HouseId
    ranking: tuple[Standing, ...]
    reason: Literal["areas", "rounds"]


class GameDrawn(Fact, frozen=True, tag=True):
    """The game ends without a winner: these Houses are level in all that counts (1E-WIN-3)."""

    houses: tuple[HouseId, ...]
    ranking: tuple[Standing, ...]
    reason: Literal["areas", "rounds"]


STATABLE: tuple[type[Fact], ...] = (
    NeutralForcePlaced,
    NeutralForceRemoved,
    UnitsPlaced,
    UnitsDestroyed,
    UnitReplaced,
    UnitsMoved,
    GarrisonPlaced,
    GarrisonRemoved,
    TrackFilled,
    TokenTaken,
    TokenUsed,
    TokensRefreshed,
    SupplySet,
    PowerChanged,
    CardsTaken,
    CardsDiscarded,
    ThreatMoved,
    OrdersProhibited,
    ProhibitionsLifted,
    OrderRemoved,
    OrderReplaced,
    PowerTokenPlaced,
    PowerTokenRemoved,
    CombatDecided,
)
"""Facts that an arbiter may state in a correction."""
