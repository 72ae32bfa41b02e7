"""The charter: what was agreed when a game was created (section 0.4). It never changes silently."""

from __future__ import annotations

from typing import Literal

import msgspec

from domain.kernel.shared import SharedSeed
from domain.thrones.pieces import HouseId

ENGINE = "1"
"""Version of the rules engine. A change that would rule differently on a recorded command raises it."""


class Switches(msgspec.Struct, frozen=True, rename="kebab", forbid_unknown_fields=True):
    """The switches of section 0.4 with their defaults."""

    tiebreak: Literal["errata", "printed"] = "errata"
    tides_of_battle: Literal["off", "on"] = "off"
    lannister_screen: Literal["errata", "errata-4plus", "printed"] = "errata"
    dark_wings_ports: Literal["no", "yes"] = "no"
    massing_equal_hand: Literal["refresh", "keep"] = "refresh"
    ships_vs_salladhor: Literal["zero", "turn-order"] = "zero"
    mace_last_unit: Literal["continue", "end"] = "continue"
    token_after_empty_win: Literal["stays", "removed"] = "stays"
    attacker_retreat_supply: Literal["enforce", "ignore"] = "enforce"
    support_unit: Literal["per-order", "per-house"] = "per-order"


class Arbitration(msgspec.Struct, frozen=True, rename="kebab", forbid_unknown_fields=True, omit_defaults=True):
    """What was agreed about disputes.

    ``appeal_window`` is how many entries back an appeal may reach (0: any). ``kept_when`` says when a causal
    rewind keeps an answer: when its footprint is unchanged, or only when all that its author could see is.
    ``appeal_stops`` says what an open appeal holds up: the whole game, or only decisions that rest on what is in doubt.
    ``arbiter_may_play`` lets a player of the game arbitrate it; ``secrets_log`` says when players see who read
    secrets by privilege.
    """

    appeal_window: int = 0
    kept_when: Literal["footprint", "view"] = "footprint"
    appeal_stops: Literal["everything", "what-depends-on-it"] = "everything"
    arbiter_may_play: bool = False
    secrets_log: Literal["at-the-end", "at-once"] = "at-the-end"


class Charter(msgspec.Struct, frozen=True):
    """The record a game is played by.

    ``seats`` maps opaque seat ids to Houses. ``chance`` says where draws come from: ``seeded`` from a sealed
    seed that the server drew, ``stated`` from one that its operator gave (examples, tests), ``imposed`` from
    outside, stated by the organiser as they fall. ``shared`` names the seed, where it is one that several tables share.
    """

    edition: str
    houses: tuple[HouseId, ...]
    switches: Switches = Switches()
    seats: dict[str, HouseId] = {}
    chance: Literal["seeded", "stated", "imposed"] = "seeded"
    arbitration: Arbitration = Arbitration()
    engine: str = ENGINE
    shared: SharedSeed | msgspec.UnsetType = msgspec.UNSET

    @property
    def shared_seed(self) -> SharedSeed | None:
        """The seed that is shared with other tables."""
        return None if self.shared is msgspec.UNSET else self.shared
