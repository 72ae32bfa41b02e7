"""The charter: what was agreed when a game was created (section 0.4). It never changes silently."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from domain.kernel.agreed import Arbitration
from domain.kernel.bounds import Text
from domain.kernel.shared import SharedSeed
from domain.thrones.language.pieces import HouseId


class Switches(msgspec.Struct, frozen=True, rename="kebab", forbid_unknown_fields=True):
    """The switches of section 0.4 with their defaults."""

    tiebreak: Literal["errata", "printed", "first-edition"] = "errata"
    tides_of_battle: Literal["off", "on"] = "off"
    lannister_screen: Literal["errata", "errata-4plus", "printed"] = "errata"
    dark_wings_ports: Literal["no", "yes"] = "no"
    massing_equal_hand: Literal["refresh", "keep"] = "refresh"
    ships_vs_salladhor: Literal["zero", "turn-order"] = "zero"
    mace_last_unit: Literal["continue", "end"] = "continue"
    token_after_empty_win: Literal["stays", "removed"] = "stays"
    attacker_retreat_supply: Literal["enforce", "ignore"] = "enforce"
    support_unit: Literal["per-order", "per-house"] = "per-order"


USUAL = Switches()
"""Every switch at its default."""


class Variations(msgspec.Struct, frozen=True, rename="kebab", forbid_unknown_fields=True, omit_defaults=True):
    """Where a table plays otherwise than the second edition: each field is one thing that tables agree on.

    The defaults are the second edition, so that a charter stores only what differs. What each word means, and what
    it needs, stands in :mod:`domain.thrones.tables.variations`; the first edition is a set of these words.
    """

    map: Literal["second", "first"] = "second"
    house_cards: Literal["second", "first"] = "second"
    card_return: Literal["all-but-last", "all"] = "all-but-last"
    ability_order: Literal["iron-throne", "fiefdoms"] = "iron-throne"
    westeros_cards: Literal["second", "first"] = "second"
    wildling_cards: Literal["second", "first"] = "second"
    wildling_strength: Literal["second", "first"] = "second"
    full_track: Literal["attack", "wait"] = "attack"
    raid_orders: Literal["second", "first"] = "second"
    consolidate_orders: Literal["second", "first"] = "second"
    orders: Literal["compulsory", "optional"] = "compulsory"
    raven: Literal["look", "replace"] = "look"
    stars: Literal["second", "first"] = "second"
    combat: Literal["second", "first"] = "second"
    neutral_attack: Literal["second", "first"] = "second"
    garrisons: Literal["on", "off"] = "on"
    ports: Literal["on", "off"] = "on"
    siege_engines: Literal["on", "off"] = "on"
    siege_engine_limit: Literal["two", "none"] = "two"
    knight_limit: Literal["five", "four"] = "five"
    ship_limit: Literal["six", "five"] = "six"
    greyjoy_start: Literal["port", "sea"] = "port"
    lannister_ship: Literal["none", "extra"] = "none"
    kings_court_errata: Literal["off", "on"] = "off"
    victory: Literal["seven", "first", "six"] = "seven"
    drowned_pyke: Literal["off", "on"] = "off"
    oldtown_crown: Literal["off", "on"] = "off"


AS_PRINTED = Variations()
"""The second edition."""


Chance = Literal["seeded", "stated", "imposed"]
"""Where draws come from."""


class Charter(msgspec.Struct, frozen=True):
    """The record a game is played by.

    ``seats`` maps opaque seat ids to Houses. ``chance`` says where draws come from: ``seeded`` from a sealed
    seed that the server drew, ``stated`` from one that its operator gave (examples, tests), ``imposed`` from
    outside, stated by the organiser as they fall. ``shared`` names the seed, where it is one that several tables share.

    ``edition`` is the preset that the charter began from; rules never ask for it. ``variations`` says where the
    table plays otherwise than the second edition. ``tables`` replaces data of the edition by the organiser's own:
    JSON Pointer (RFC 6901) into the edition's tables to the new value. ``assumed`` lists what the data takes for
    granted without a source, for players to know. All three are absent where there is nothing to say.

    ``engine`` is the pin of the behaviour that the game is ruled by (:mod:`domain.thrones.tables.behaviour`). Whoever
    makes a charter leaves it empty; the rules that begin the game write their own.
    """

    edition: str
    houses: tuple[HouseId, ...]
    switches: Switches = Switches()
    seats: dict[str, HouseId] = {}
    chance: Chance = "seeded"
    arbitration: Arbitration = Arbitration()
    engine: str = ""
    shared: SharedSeed | msgspec.UnsetType = msgspec.UNSET
    variations: Variations | UnsetType = UNSET
    tables: dict[str, Any] | UnsetType = UNSET
    assumed: tuple[Text, ...] | UnsetType = UNSET

    @property
    def agreed(self) -> Variations:
        """Where the table plays otherwise than the second edition."""
        return self.variations or AS_PRINTED

    @property
    def shared_seed(self) -> SharedSeed | None:
        """The seed that is shared with other tables."""
        return None if self.shared is msgspec.UNSET else self.shared
