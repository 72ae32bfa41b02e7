"""What a play-by-mail log says: one record for each kind of entry.

Ids are ours (:mod:`.names` has the words). Orders are token ids without the letter of a copy, units and musters
are numbers by type. A record says what its entry says and no more; what an entry leaves out is not here.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from domain.thrones.language.pieces import AreaId, CardId, HouseId, Units

Order = str
Muster = dict[str, int]
"""Numbers by :data:`.names.MUSTERED`."""


class Record(msgspec.Struct, frozen=True, tag=True, tag_field="record", omit_defaults=True):
    """One thing that a log tells."""


# Planning and the raven


class OrdersSet(Record, frozen=True):
    house: HouseId


class RavenLooked(Record, frozen=True):
    """The holder of the raven looks at the top wildling card. What he does with it follows."""

    house: HouseId


class RavenKept(Record, frozen=True):
    """The card looked at goes back on top."""

    house: HouseId


class RavenBuried(Record, frozen=True):
    """The card looked at goes to the bottom."""

    house: HouseId


class RavenReplaced(Record, frozen=True):
    house: HouseId
    area: AreaId
    old: Order
    new: Order


class RavenUnused(Record, frozen=True):
    house: HouseId


# Raids and marches


class Raided(Record, frozen=True):
    """From where is not told."""

    house: HouseId
    targets: tuple[tuple[AreaId, Order], ...]


class RaidUnusable(Record, frozen=True):
    """A Raid order without a target, taken off by the site. Whose it is, is not told."""

    area: AreaId
    order: Order = "raid"


class OrderGivenUp(Record, frozen=True):
    """A House takes off its own order unresolved."""

    house: HouseId
    area: AreaId
    order: Order


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """Units that go to one area without a combat."""

    to: AreaId
    units: Units
    beat_neutral: bool = False


class Attack(msgspec.Struct, frozen=True, omit_defaults=True):
    """The combat that a march begins. ``at`` is the time of the announcement."""

    at: str
    house: HouseId
    defender: HouseId
    area: AreaId
    origin: AreaId
    units: Units


class Marched(Record, frozen=True):
    """A March order: steps in the order told, then at most one combat.

    ``stop``: the sentence has its full stop before the arrow of a combat. It is missing in some marches in which
    the last units leave; see docs/logs.md.
    """

    house: HouseId
    area: AreaId
    by: Literal["land", "sea"]
    steps: tuple[Step, ...] = ()
    attack: Attack | None = None
    stop: bool = True


# Combat


class SupportGiven(Record, frozen=True):
    house: HouseId
    to: HouseId
    strength: int


class SupportWithheld(Record, frozen=True):
    """A House keeps its support to itself. Not seen in a log of the site."""

    house: HouseId


class SupportRefused(Record, frozen=True):
    """A combatant will not have the support of another House. Not seen in a log of the site."""

    house: HouseId
    of: HouseId


class CardChosen(Record, frozen=True):
    """A House card, after the reveal or as a replacement."""

    house: HouseId
    strength: int
    card: CardId


class CardMissing(Record, frozen=True):
    """A House with no card to play. Not seen in a log of the site."""

    house: HouseId


class TidesDrawn(Record, frozen=True):
    """A Tides of Battle card. Not seen in a log of the site."""

    house: HouseId
    card: CardId


class BladeUsed(Record, frozen=True):
    house: HouseId


class BladeDeclined(Record, frozen=True):
    """The Blade would have turned the combat and was not used."""

    house: HouseId


class AbilityDeclined(Record, frozen=True):
    house: HouseId
    card: CardId


class CardCancelled(Record, frozen=True):
    """A card text sends the opponent's card back to his hand."""

    house: HouseId
    card: CardId


class CardExchanged(Record, frozen=True):
    """A card text lets its owner choose another card."""

    house: HouseId
    card: CardId


class RivalLowered(Record, frozen=True):
    """A card text moves the opponent to the bottom of a track."""

    house: HouseId
    card: CardId
    rival: HouseId
    track: str


class AbilityUsed(Record, frozen=True):
    """A card text was used, in words that are not known."""

    house: HouseId
    card: CardId
    text: str


class BattleLost(Record, frozen=True):
    """The loser and what became of his units. ``lost`` says no more than that.

    ``killed`` lists the loser's losses of the whole combat; ``other`` are the winner's, not seen in a log of the site.
    """

    house: HouseId
    how: Literal["withdrew", "forced", "stuck", "lost"]
    to: AreaId | None = None
    killed: Units = {}
    winner: HouseId | None = None
    other: Units = {}


# Parts of outcomes


class Effect(msgspec.Struct, frozen=True, tag=True, tag_field="effect"):
    """One line of what a card text or a wildling card does."""


class OrderTakenOff(Effect, frozen=True):
    area: AreaId
    order: Order


class NoOrderTakenOff(Effect, frozen=True):
    pass


class OrderShifted(Effect, frozen=True):
    """An order lies in another area now. Not seen in a log of the site."""

    area: AreaId
    order: Order
    to: AreaId


class CardDiscarded(Effect, frozen=True):
    """``house`` is who does it, whosever card it is."""

    house: HouseId
    strength: int
    card: CardId


class CardsTakenBack(Effect, frozen=True):
    """Not seen in a log of the site."""

    house: HouseId
    cards: tuple[tuple[int, CardId], ...]


class UnitUpgraded(Effect, frozen=True):
    """A Footman becomes a Knight."""

    area: AreaId


class SupplyLimited(Effect, frozen=True):
    house: HouseId
    supply: int


class UnitsRaised(Effect, frozen=True):
    """A free muster."""

    house: HouseId
    units: Muster


class UnitsRemoved(Effect, frozen=True):
    """Units given up. Seen for supply."""

    house: HouseId
    units: Units


class UnitsExchanged(Effect, frozen=True):
    """Units of one type become another. Not seen in a log of the site."""

    house: HouseId
    count: int
    old: Literal["footman", "knight"]
    new: Literal["footman", "knight"]


class MarkerMoved(Effect, frozen=True):
    """An influence marker goes to the top or bottom of a track. The bottom was not seen in a log of the site."""

    house: HouseId
    track: str
    to: Literal["top", "bottom"]


class MarkerLowered(Effect, frozen=True):
    """An influence marker drops to a position. Not seen in a log of the site."""

    house: HouseId
    track: str
    position: int


class PowerReturned(Effect, frozen=True):
    house: HouseId
    power: int


class PowerLost(Effect, frozen=True):
    """Not seen in a log of the site."""

    house: HouseId
    power: int


class Nothing(Effect, frozen=True):
    pass


class Told(Effect, frozen=True):
    """A line in words that are not known."""

    text: str


AnyEffect = (
    OrderTakenOff
    | NoOrderTakenOff
    | OrderShifted
    | CardDiscarded
    | CardsTakenBack
    | UnitUpgraded
    | SupplyLimited
    | UnitsRaised
    | UnitsRemoved
    | UnitsExchanged
    | MarkerMoved
    | MarkerLowered
    | PowerReturned
    | PowerLost
    | Nothing
    | Told
)


class AbilityResolved(Record, frozen=True):
    """A card text that did something."""

    house: HouseId
    strength: int
    card: CardId
    effects: tuple[AnyEffect, ...] = ()


# Power and mustering


class PowerTaken(Record, frozen=True):
    """A special Consolidate Power order that brings Power where it could have mustered."""

    house: HouseId
    area: AreaId
    power: int


class SpecialMustered(Record, frozen=True):
    """A special Consolidate Power order that musters. Where the units went is not told."""

    house: HouseId
    area: AreaId
    units: Muster


class PowerConsolidated(Record, frozen=True):
    """What all other Consolidate Power orders of the round brought."""

    power: dict[HouseId, int]


# Westeros phase


class WinterCame(Record, frozen=True):
    """Winter is Coming shuffled its deck, and what was drawn instead. ``icon``: the card is marked (W)."""

    card: CardId
    icon: bool


class WesterosCardShown(Record, frozen=True):
    """A card without entries of its own."""

    card: CardId
    icon: bool


class WesterosChoice(Record, frozen=True):
    """The holder of a token chooses what a card does; no ``choice`` is no effect."""

    card: CardId
    icon: bool
    holder: str
    choice: CardId | None = None
    choice_icon: bool = False


class SupplyCounted(Record, frozen=True):
    house: HouseId
    supply: int
    removed: Units = {}


class Mustered(Record, frozen=True):
    """A muster of one House in all its areas. Where is not told. Nothing at all has no entry on the site."""

    house: HouseId
    units: Muster


class GameOfThronesPower(Record, frozen=True):
    power: dict[HouseId, int]


class Bid(Record, frozen=True):
    house: HouseId
    track: str
    power: int


class TrackOrdered(Record, frozen=True):
    """A track after its bids; ``by`` broke ties."""

    track: str
    order: tuple[HouseId, ...]
    by: HouseId | None = None


class WildlingBid(Record, frozen=True):
    house: HouseId
    power: int


class WildlingCardDrawn(Record, frozen=True):
    card: CardId


class WildlingsWon(Record, frozen=True):
    """What one House suffers."""

    house: HouseId
    effects: tuple[AnyEffect, ...] = ()


class WildlingsBeaten(Record, frozen=True):
    """What the highest bidder gets. No entry at all was seen where he got nothing."""

    effects: tuple[AnyEffect, ...] = ()


class NothingHappened(Record, frozen=True):
    """A wildling card without effect."""


# Control


class PowerTokenLeft(Record, frozen=True):
    """Not seen in a log of the site."""

    house: HouseId
    area: AreaId


class ShipsCaptured(Record, frozen=True):
    """Not seen in a log of the site."""

    house: HouseId
    area: AreaId
    ships: int


# The end, and the rest


class GameWon(Record, frozen=True):
    """``player`` is named where the log does not name a House."""

    house: HouseId | None = None
    player: str = ""


class GameAborted(Record, frozen=True):
    text: str


class Unknown(Record, frozen=True):
    """An entry in words that are not known, line by line."""

    text: str


PHASES = ("PLANNING", "RAVEN", "RAID", "MARCH", "BATTLE", "POWER", "WESTEROS", "GAME END")


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One numbered entry.

    ``player`` is empty where the site acted by itself. ``at`` is in ISO form to the minute, empty where there is
    none. ``rest`` are lines of the entry that were not understood.
    """

    number: int
    round: int
    phase: str
    player: str
    record: Record
    at: str = ""
    rest: tuple[str, ...] = ()


class Log(msgspec.Struct, frozen=True, omit_defaults=True):
    """One log: its title, its entries, its settings by name, and the lines that stand around them."""

    game: str
    name: str
    entries: tuple[Entry, ...]
    settings: dict[str, bool] = {}
    notes: tuple[str, ...] = ()
    created: str = ""
    ended: bool = True


class Problem(msgspec.Struct, frozen=True):
    """Something that is wrong with a log: the line (from 1; 0 for the whole file), what it is, what was done."""

    line: int
    code: str
    what: str
    done: str


class Reading(msgspec.Struct, frozen=True):
    """A log as far as it could be read, and what was wrong with it."""

    log: Log
    problems: tuple[Problem, ...] = ()
