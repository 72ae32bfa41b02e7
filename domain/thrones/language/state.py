"""The position: everything a game is at one moment, as one versioned document (``position/1``).

Snapshots, cases, corrections, forks and digests all use this document. What not everybody may see is in
one place, :class:`Hidden`. The records here are plain; questions that need a rule are asked elsewhere
(:mod:`domain.thrones.control`, :mod:`domain.thrones.supply` …).
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from domain.kernel.docket import Docket
from domain.kernel.facts import Awaited, Frame
from domain.kernel.position import BoardState
from domain.thrones.language.answers import AssignOrders
from domain.thrones.language.kinds import AnyAnswer
from domain.thrones.language.pieces import AreaId, CardId, Deck, HouseId, OrderId, Units
from domain.thrones.tables.charter import Charter

Side = Literal["attacker", "defender"]


class Force(msgspec.Struct, frozen=True):
    """The units of one House in one area."""

    house: HouseId
    units: Units


class PlacedOrder(msgspec.Struct, frozen=True):
    """An order token on the board."""

    house: HouseId
    token: OrderId


class March(msgspec.Struct, frozen=True):
    """Units that left ``origin`` for a contested area and have not arrived (2E-MAR-9)."""

    house: HouseId
    origin: AreaId
    order: OrderId
    to: AreaId
    units: Units


class Combat(msgspec.Struct, frozen=True):
    """A combat under way. The attacker's units are those of the march.

    ``support`` has the Support orders that count, ``offers`` those a combatant has not yet answered.
    ``cards`` are the House cards in play, ``cancelled`` those sent back to hand. ``stopped`` combats end at
    once (``mace-last-unit = end``, 1E-BAT-12). ``silenced`` are Houses whose card has lost its text (1E-HC-6).
    """

    area: AreaId
    origin: AreaId
    attacker: HouseId
    defender: HouseId
    support: dict[AreaId, Side] = {}
    offers: dict[AreaId, Side] = {}
    cards: dict[HouseId, CardId] = {}
    cancelled: dict[HouseId, CardId] = {}
    tides: dict[HouseId, CardId] = {}
    blade: HouseId | None = None
    winner: HouseId | None = None
    stopped: bool = False
    silenced: tuple[HouseId, ...] | UnsetType = UNSET

    def is_silenced(self, house: HouseId) -> bool:
        """Whether the text of the House's card has no effect in this combat."""
        return self.silenced is not UNSET and house in self.silenced

    def side_of(self, house: HouseId) -> Side | None:
        return "attacker" if house == self.attacker else "defender" if house == self.defender else None

    def of(self, side: Side) -> HouseId:
        return self.attacker if side == "attacker" else self.defender

    def opponent(self, house: HouseId) -> HouseId:
        """The other combatant (2E-GEN-12)."""
        return self.defender if house == self.attacker else self.attacker

    @property
    def combatants(self) -> tuple[HouseId, HouseId]:
        return (self.attacker, self.defender)

    @property
    def loser(self) -> HouseId | None:
        return None if self.winner is None else self.opponent(self.winner)


class Standing(msgspec.Struct, frozen=True):
    """One line of the final ranking (2E-VIC-5 to 2E-VIC-9)."""

    house: HouseId
    castles: int
    strongholds: int
    land_areas: int
    supply: int
    power: int
    iron_throne: int


class Hidden(msgspec.Struct, frozen=True):
    """What not everybody may see (2E-HID-1): the seed, the order of decks, sealed answers, cards seen alone.

    ``former`` are other seeds that the game has drawn from, which rewinds have replaced or taken back.
    """

    seed: str = ""
    former: tuple[str, ...] = ()
    decks: dict[Deck, tuple[CardId, ...]] = {}
    answers: dict[HouseId, AnyAnswer] = {}
    drafts: dict[HouseId, AssignOrders] = {}
    seen: dict[HouseId, CardId] = {}
    tides: dict[HouseId, CardId] = {}
    stated: dict[Deck, tuple[tuple[CardId, ...], ...]] = {}


class State(BoardState, frozen=True):
    """A position. Mappings by area or House hold no empty entries; tracks list Houses from position 1."""

    format: Literal["position/1"] = "position/1"
    charter: Charter = Charter("", ())
    round: int = 0
    phase: str = ""
    step: str = ""
    units: dict[AreaId, Force] = {}
    garrisons: dict[AreaId, int] = {}
    neutral: dict[AreaId, int | Literal["impassable"]] = {}
    power_tokens: dict[AreaId, HouseId] = {}
    orders: dict[AreaId, PlacedOrder] = {}
    face_down: dict[AreaId, HouseId] = {}
    tracks: dict[str, tuple[HouseId, ...]] = {}
    tokens: dict[str, HouseId] = {}
    used: tuple[str, ...] = ()
    supply: dict[HouseId, int] = {}
    power: dict[HouseId, int] = {}
    bids: dict[HouseId, int] = {}
    hands: dict[HouseId, tuple[CardId, ...]] = {}
    discards: dict[HouseId, tuple[CardId, ...]] = {}
    westeros_discards: dict[Deck, tuple[CardId, ...]] = {}
    westeros_cards: dict[Deck, CardId] = {}
    threat: int = 0
    prohibited: tuple[str, ...] = ()
    victory: dict[HouseId, int] = {}
    control: dict[AreaId, HouseId] = {}
    march: March | None = None
    combat: Combat | None = None
    combats: tuple[str, ...] = ()
    winner: HouseId | None = None
    ranking: tuple[Standing, ...] = ()
    drawn: tuple[HouseId, ...] | UnsetType = UNSET
    docket: Docket = Docket()
    frames: tuple[Frame, ...] = ()
    question: int = 0
    awaited: tuple[Awaited, ...] = ()
    hidden: Hidden = Hidden()

    @property
    def is_over(self) -> bool:
        return self.winner is not None or self.drawn is not UNSET

    @property
    def houses(self) -> tuple[HouseId, ...]:
        """Houses in play, in ascending order of ids."""
        return self.charter.houses

    @property
    def turn_order(self) -> tuple[HouseId, ...]:
        """Houses by the Iron Throne track (2E-GEN-6)."""
        return self.order_on("iron-throne")

    def order_on(self, track: str) -> tuple[HouseId, ...]:
        """Houses in the order of a track; while it is bid for, in the order from before its markers were taken off."""
        if track in self.tracks:
            return self.tracks[track]
        former: list[HouseId] = next(frame["former"][track] for frame in self.frames if "former" in frame)
        return tuple(former)

    def position_of(self, house: HouseId, track: str) -> int:
        """Position on a track, from 1."""
        return self.order_on(track).index(house) + 1

    def units_in(self, area: AreaId) -> Units:
        force = self.units.get(area)
        return force.units if force else {}

    def house_in(self, area: AreaId) -> HouseId | None:
        """The House whose units are in the area (2E-GEN-4)."""
        force = self.units.get(area)
        return force.house if force else None

    def areas_of(self, house: HouseId) -> tuple[AreaId, ...]:
        """Areas with units of the House, ascending."""
        return tuple(sorted(area for area, force in self.units.items() if force.house == house))

    def forces_of(self, house: HouseId) -> dict[AreaId, Units]:
        """The House's units on the board by area, ascending."""
        return {area: self.units[area].units for area in self.areas_of(house)}

    def order_of(self, house: HouseId, area: AreaId) -> OrderId | None:
        placed = self.orders.get(area)
        return placed.token if placed and placed.house == house else None

    def holds(self, house: HouseId, token: str) -> bool:
        return self.tokens.get(token) == house

    def is_unused(self, token: str) -> bool:
        return token not in self.used

    def tokens_on_board(self, house: HouseId) -> int:
        return sum(owner == house for owner in self.power_tokens.values())

    def pool(self, house: HouseId, tokens: int) -> int:
        """Power tokens of the House in the Power Pool, of ``tokens`` that it has in all (2E-COMP-2)."""
        return tokens - self.power.get(house, 0) - self.bids.get(house, 0) - self.tokens_on_board(house)
