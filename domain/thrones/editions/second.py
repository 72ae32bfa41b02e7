"""The second edition."""

from __future__ import annotations

from importlib.resources import files

import msgspec

from domain.thrones.cards import house_cards, westeros_cards, wildling_cards
from domain.thrones.edition import Edition, Tables
from domain.thrones.procedures.abilities import Abilities
from domain.thrones.procedures.action_phase import ActionPhase
from domain.thrones.procedures.bidding import ClashOfKings
from domain.thrones.procedures.casualties import Casualties
from domain.thrones.procedures.cleanup import CombatCleanUp
from domain.thrones.procedures.combat import Combat
from domain.thrones.procedures.consolidation import ConsolidatePower
from domain.thrones.procedures.control import Consequences
from domain.thrones.procedures.marches import MarchOrders
from domain.thrones.procedures.mustering import MusterIn, Mustering
from domain.thrones.procedures.planning_phase import PlanningPhase
from domain.thrones.procedures.raids import Raids
from domain.thrones.procedures.retreat import Retreat
from domain.thrones.procedures.setup import Play, Setup
from domain.thrones.procedures.supply import Reconcile, Supply
from domain.thrones.procedures.support import CallForSupport
from domain.thrones.procedures.westeros_phase import WesterosPhase
from domain.thrones.procedures.wildlings import WildlingAttack

TABLES = msgspec.json.decode(files(__package__).joinpath("second.json").read_bytes(), type=Tables)

SECOND_EDITION = Edition(
    TABLES,
    setup=Setup,
    phases=(WesterosPhase, PlanningPhase, ActionPhase),
    westeros_cards=westeros_cards.CARDS,
    rule_of_card=westeros_cards.RULES,
    wildling_cards=wildling_cards.CARDS,
    card_texts=house_cards.TEXTS,
    procedures=(
        Play,
        Raids,
        MarchOrders,
        ConsolidatePower,
        Combat,
        CallForSupport,
        Abilities,
        Casualties,
        Retreat,
        CombatCleanUp,
        Consequences,
        Supply,
        Reconcile,
        Mustering,
        MusterIn,
        ClashOfKings,
        WildlingAttack,
    ),
)
