"""Which reader reads which kind of answer."""

from __future__ import annotations

from domain.thrones.language import answers as c
from domain.thrones.notation import vocabulary as v
from domain.thrones.notation.action import consolidate, march, per_order, raid, request
from domain.thrones.notation.amounts import any_bid, any_tie, capture, influence_bid, influence_tie, wildling_bid
from domain.thrones.notation.choices import ability_answer, combat_word, named_ability, word_answer
from domain.thrones.notation.forces import combat_units, degrade, muster, units_by_area
from domain.thrones.notation.orders import draft_orders, orders, raven
from domain.thrones.notation.reader import Read

READERS: dict[str, Read] = {
    **{
        str(answer.__struct_config__.tag): word_answer(answer)
        for answer in c.ANSWERS
        if issubclass(answer, c.WordAnswer)
    },
    "reconcile-supply": units_by_area(c.ReconcileSupply, "reconcile-supply"),
    "muster": muster,
    "influence-bid": influence_bid,
    "influence-tie": influence_tie,
    "wildling-bid": wildling_bid,
    "destroy-units": units_by_area(c.DestroyUnits, "destroy-units"),
    "horde-castle-units": units_by_area(c.HordeCastleUnits, "horde-castle-units"),
    "crow-killers-degrade": degrade,
    "crow-killers-upgrade": units_by_area(c.CrowKillersUpgrade, "crow-killers-upgrade"),
    "assign-orders": orders,
    "raven": raven,
    "raid": raid,
    "march": march,
    "neutral-support-request": request,
    "neutral-support": per_order(
        c.NeutralSupport, v.WORDS["neutral-support"], {"grant": True, "withhold": False}, "target"
    ),
    "capture-ships": capture,
    "consolidate": consolidate,
    "support": per_order(c.Support, v.WORDS["support"], {choice: choice for choice in v.WORDS["support"]}, "area"),
    "accept-support": per_order(c.AcceptSupport, v.WORDS["accept-support"], {"accept": True, "refuse": False}, "area"),
    **{
        str(answer.__struct_config__.tag): combat_word(answer)
        for answer in c.ANSWERS
        if issubclass(answer, c.CombatWord) and answer is not c.CardAbility
    },
    "card-ability": ability_answer,
    **{
        str(answer.__struct_config__.tag): combat_units(answer)
        for answer in c.ANSWERS
        if issubclass(answer, c.CombatLosses)
    },
    v.DRAFT: draft_orders,
    **{ability: named_ability(ability) for ability in c.ALL_ABILITIES},
}
"""How the rest of an answer is read, by its kind, and by the other words that begin one."""

ALIKE: dict[tuple[str, ...], Read] = {
    ("influence-bid", "wildling-bid"): any_bid,
    ("influence-tie", "wildling-tie"): any_tie,
}
"""Beginnings shared by two kinds that the rest tells apart."""
