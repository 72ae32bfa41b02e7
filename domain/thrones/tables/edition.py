"""An edition: the tables of one rulebook, and which procedures it uses.

Rules ask an edition for a value or a function, never for its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

import msgspec

from domain.kernel.procedure import Procedure
from domain.thrones.language.pieces import (
    UNITS,
    AreaId,
    CardId,
    Deck,
    HouseCard,
    HouseId,
    OrderId,
    OrderToken,
    TidesCard,
    Unit,
    Units,
    WesterosCard,
    unit_type,
)
from domain.thrones.tables.board import Area, Board
from domain.thrones.tables.law import NO_CHANGE, Law
from domain.thrones.tables.readings import Readings


class UnitFigures(msgspec.Struct, frozen=True):
    """What a unit type costs and counts (2E-MUS-4, 2E-CBT-15)."""

    id: str
    name: str
    realm: str
    muster_cost: int
    upgrade_cost: int | None
    strength: int


class HouseFigures(msgspec.Struct, frozen=True):
    """A House: its home area, the limits of its pieces and what it starts with, errata apart."""

    id: HouseId
    name: str
    colour: str
    home: AreaId
    supply: int
    limits: dict[str, int]
    units: dict[AreaId, Units]
    errata_units: dict[AreaId, Units] = {}


class PlayerCount(msgspec.Struct, frozen=True):
    """What depends on the number of players (section 4, 1E-PLAY-1 to 1E-PLAY-6).

    ``victory_areas`` is stated only where it differs from the constant (1E-WIN-1).
    """

    count: int
    houses: tuple[HouseId, ...]
    neutral_forces: dict[AreaId, int]
    impassable: tuple[AreaId, ...]
    stars: tuple[int, ...]
    influence: dict[str, tuple[HouseId, ...]]
    victory_areas: int | None = None


class Constants(msgspec.Struct, frozen=True):
    """Numbers of the rulebook."""

    rounds: int
    victory_areas: int
    starting_power: int
    power_tokens: int
    garrison: int
    port_ships: int
    supply_maximum: int
    blade_bonus: int
    mustering_points: tuple[int, int, int]
    threat_track: tuple[int, ...]
    threat_start: int


class WildlingCard(msgspec.Struct, frozen=True):
    id: CardId
    name: str


class Assumption(msgspec.Struct, frozen=True):
    """What a file of tables states although no good source does, so that an organiser can replace it.

    ``confidence`` is ``unknown`` where nothing was found at all, ``inferred`` where it follows from something else,
    and ``single-source`` where one source stands alone or sources differ. ``where`` has JSON pointers into the tables;
    those of the extras lead into the first edition's tables with every extra put in. ``when`` says for which words of
    the variations a table plays by it, ``players`` with how many Houses, where not with any number.
    """

    id: str
    about: str
    text: str
    confidence: Literal["unknown", "inferred", "single-source"]
    where: tuple[str, ...]
    when: dict[str, tuple[str, ...]]
    players: tuple[int, ...] = ()


class Tables(msgspec.Struct, frozen=True):
    """An edition's data as it stands in its file."""

    id: str
    name: str
    constants: Constants
    areas: tuple[Area, ...]
    links: tuple[tuple[AreaId, AreaId], ...]
    houses: tuple[HouseFigures, ...]
    players: tuple[PlayerCount, ...]
    supply_limits: tuple[tuple[int, ...], ...]
    units: tuple[UnitFigures, ...]
    order_tokens: tuple[OrderToken, ...]
    house_cards: tuple[HouseCard, ...]
    westeros_decks: dict[str, tuple[WesterosCard, ...]]
    wildling_cards: tuple[WildlingCard, ...]
    tides_cards: tuple[TidesCard, ...]
    assumed: tuple[Assumption, ...] = ()


class DrownedPyke(msgspec.Struct, frozen=True):
    """The setting without Pyke: the areas that nobody enters, and the neutral force of the sea around it."""

    impassable: tuple[AreaId, ...]
    neutral_forces: dict[AreaId, int]


class Extras(msgspec.Struct, frozen=True):
    """Pieces and areas that a charter may add to the board of the first edition; ``oldtown_crown`` adds power icons."""

    id: str
    name: str
    ports: tuple[Area, ...]
    port_ships: int
    siege_engine: UnitFigures
    siege_engines: int
    garrison: int
    drowned_pyke: DrownedPyke
    oldtown_crown: dict[AreaId, int]
    assumed: tuple[Assumption, ...]


class SetupChapter(Protocol):
    def __call__(self, *, decks: dict[str, tuple[CardId, ...]]) -> Procedure: ...


class WildlingsChapter(Protocol):
    def __call__(self, *, cause: Literal["threat", "card"]) -> Procedure: ...


class CombatChapter(Protocol):
    def __call__(self, *, area: AreaId, defender: HouseId) -> Procedure: ...


@dataclass(frozen=True)
class Chapters:
    """Which procedure a game runs for each chapter of its book.

    Where the books differ in a value, one procedure asks for it (:mod:`domain.thrones.tables.readings`); where they
    differ in their steps, each has its own procedure, and this says which of them is played.
    """

    setup: SetupChapter
    phases: tuple[type[Procedure], ...]
    raids: type[Procedure]
    marches: type[Procedure]
    consolidation: type[Procedure]
    wildlings: WildlingsChapter
    combat: CombatChapter


@dataclass(frozen=True, eq=False)
class Edition:
    """What one table plays by: tables indexed, readings, the chapters' procedures, the cards' texts, the law."""

    tables: Tables
    readings: Readings
    chapters: Chapters
    westeros_cards: Mapping[CardId, type[Procedure]]
    rule_of_card: Mapping[CardId, str]
    wildling_procedures: Mapping[CardId, type[Procedure]]
    # House card texts are written in a vocabulary that needs the game, and so this class: read them with text_of.
    card_texts: Mapping[CardId, Any]
    procedures: dict[str, type[Procedure]]
    law: Law = NO_CHANGE

    @cached_property
    def constants(self) -> Constants:
        return self.tables.constants

    @cached_property
    def board(self) -> Board:
        return Board(self.tables.areas, self.tables.links)

    @cached_property
    def houses(self) -> dict[HouseId, HouseFigures]:
        return {house.id: house for house in self.tables.houses}

    @cached_property
    def unit_figures(self) -> dict[str, UnitFigures]:
        return {unit.id: unit for unit in self.tables.units}

    @cached_property
    def unit_names(self) -> tuple[Unit, ...]:
        """Units that can stand on the board, each also lying routed, in canonical order (2E-GEN-3)."""
        return tuple(unit for unit in UNITS if unit_type(unit) in self.unit_figures)

    @cached_property
    def tokens(self) -> dict[OrderId, OrderToken]:
        """Order tokens in canonical order (2E-ORD-2)."""
        return {token.id: token for token in self.tables.order_tokens}

    @cached_property
    def cards(self) -> dict[CardId, HouseCard]:
        return {card.id: card for card in self.tables.house_cards}

    @cached_property
    def tides(self) -> dict[CardId, TidesCard]:
        return {card.id: card for card in self.tables.tides_cards}

    @cached_property
    def icons(self) -> dict[CardId, int]:
        """Wildling icons by Westeros card."""
        return {card.id: card.icons for deck in self.tables.westeros_decks.values() for card in deck}

    @cached_property
    def westeros_decks(self) -> dict[Deck, tuple[CardId, ...]]:
        """Deck ``westeros-1`` to ``westeros-3``, every copy listed."""
        return {
            f"westeros-{number}": tuple(card.id for card in deck for _ in range(card.count))
            for number, deck in enumerate(self.tables.westeros_decks.values(), start=1)
        }

    @cached_property
    def wildling_deck(self) -> tuple[CardId, ...]:
        return tuple(card.id for card in self.tables.wildling_cards)

    @cached_property
    def tides_deck(self) -> tuple[CardId, ...]:
        return tuple(card.id for card in self.tables.tides_cards for _ in range(card.count))

    @cached_property
    def _players(self) -> dict[int, PlayerCount]:
        return {players.count: players for players in self.tables.players}

    def players(self, count: int) -> PlayerCount:
        """What depends on the number of players. Raises KeyError for a number the rulebook does not know."""
        return self._players[count]

    @cached_property
    def player_counts(self) -> tuple[int, ...]:
        return tuple(sorted(self._players))

    def supply_limit(self, supply: int) -> tuple[int, ...]:
        """Army sizes allowed at a position of the supply marker, largest first (2E-SUP-1)."""
        return self.tables.supply_limits[supply]

    def cards_of(self, house: HouseId) -> tuple[CardId, ...]:
        """The House's cards in canonical order (2E-GEN-16)."""
        return self.in_order(card.id for card in self.tables.house_cards if card.house == house)

    def in_order(self, cards: Iterable[CardId]) -> tuple[CardId, ...]:
        """House cards by printed strength, then by id (2E-GEN-16)."""
        return tuple(sorted(cards, key=lambda card: (self.cards[card].strength, card)))
