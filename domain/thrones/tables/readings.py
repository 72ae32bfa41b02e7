"""How an edition reads each chapter where the books, or the tables that agreed otherwise, differ in a value.

The defaults are the second edition's. A field of rules is law: what is cited where the field's case arises, or the
rules that allow what other books do not know, and nothing where it is not known. Where editions differ in steps,
they have other procedures (``Chapters``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from domain.thrones.language.pieces import HouseId
from domain.thrones.language.state import Standing

Rules = tuple[str, ...]


@dataclass(frozen=True)
class SetupReading:
    """``errata_units_from`` is the number of Houses from which the errata's units are placed, None for never."""

    absent_houses_turn_neutral: Rules = ()
    stars_of_fewer: Rules = ("2E-TRK-7", "2E-SET-15")
    court_exchanged: Rules = ()
    errata_units_from: int | None = 0


@dataclass(frozen=True)
class PlanningReading:
    """``land_only`` are the kinds of token that may not lie at sea, ``entries`` what is cited for a kind of token."""

    may_leave_empty: Rules = ()
    land_only: tuple[str, ...] = ()
    land_only_rules: Rules = ()
    entries: Mapping[str, str] = field(default_factory=dict)
    raven_looks: bool = True


@dataclass(frozen=True)
class RaidsReading:
    """A special Raid order either reaches a Defense order too, or it raids ``twice``."""

    special_raids_defense: bool = True
    beyond_raids: Rules = ("2E-RAID-3", "2E-RAID-4")
    twice: Rules = ()
    special: Rules = ()
    pillage: str = "2E-RAID-8"
    victim_pays: bool = True
    pool_empty: Rules = ()
    far: Rules = ()
    idle: Rules = ("2E-ACT-3",)
    over: Rules = ()


@dataclass(frozen=True)
class MarchesReading:
    """``weak_attack_is_refused``: a march against a neutral force must reach its value when it is declared."""

    weak_attack_is_refused: bool = True
    power_left_at_home: Rules = ()


@dataclass(frozen=True)
class CombatReading:
    """``tie_rank`` tells who wins a tie: the House of the lower rank. ``strength_floor`` None: strengths below 0 stand.

    ``last_discard_stays``: a hand that is refilled leaves the card that was discarded last.
    """

    tie_rank: Callable[[Any, HouseId], int]
    tie: Rules = ("2E-TRK-3",)
    strength_floor: int | None = 0
    below_floor: Rules = ("2E-CBT-27",)
    tides: bool = False
    support_for_all_orders: bool = False
    initial: Rules = ()
    march_order: Rules = ()
    special_support: Rules = ()
    routed_support: Rules = ()
    routed_alone: Rules = ()
    routed_die: Literal["as-casualties", "when-they-retreat"] = "as-casualties"
    rise_before_consolidation: Rules = ()
    shield_bars_retreat: bool = True
    attacker_always_returns: bool = False
    supply_binds_returning: bool = True
    stops_without_units: bool = False
    stopped: Rules = ()
    decided_without_units: str = "2E-CBT-29"
    token_stays: bool = True
    nobody_enters: str = "2E-CUP-4"
    texts_by: Literal["iron-throne", "fiefdoms"] = "iron-throne"
    texts_by_rule: str = "2E-HCX-1"
    zeroed_ships_stay_zero: bool = True
    last_discard_stays: bool = True


@dataclass(frozen=True)
class WesterosReading:
    """``threat_back`` is how far a lost attack moves the threat back, None for all the way."""

    prohibitions_last: Literal["planning", "round"] = "planning"
    resolved: Rules = ("2E-WES-8",)
    replaced_icons_count: Rules = ()
    last_space: Rules = ()
    beyond_last_space: Rules = ("2E-WES-5",)
    full_threat_attacks: bool = True
    threat_back: int | None = 2
    dark_wings_pay_ports: bool = False
    equal_hand_is_kept: bool = False


@dataclass(frozen=True)
class VictoryReading:
    """``areas`` is what the board's book calls areas that count for victory, one and several; ``heading`` for short.

    ``rank`` orders the Houses, best first; ``draws``: those of the winner's rank share the victory.
    """

    rank: Callable[[Standing], tuple[int, ...]]
    tie: Rules = ("2E-VIC-6", "2E-VIC-8")
    draws: bool = False
    fewer_houses: Rules = ()
    areas: tuple[str, str] = ("Castle or Stronghold", "Castles and Strongholds")
    heading: str = "castles"


@dataclass(frozen=True)
class Readings:
    """One edition's readings, chapter by chapter."""

    combat: CombatReading
    victory: VictoryReading
    setup: SetupReading = SetupReading()
    planning: PlanningReading = PlanningReading()
    raids: RaidsReading = RaidsReading()
    marches: MarchesReading = MarchesReading()
    westeros: WesterosReading = WesterosReading()
