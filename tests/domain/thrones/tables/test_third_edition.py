"""A third edition, made here and nowhere else: other values, another function, tables and a card of its own."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from domain.kernel.ruleset import open_decisions, rule_on
from domain.thrones.language import facts as f
from domain.thrones.language.pieces import HouseCard, HouseId
from domain.thrones.language.state import Combat
from domain.thrones.rules.combat.cards.vocabulary import Asks, CardText, always
from domain.thrones.rules.game import Game
from domain.thrones.ruleset import ThronesOf
from domain.thrones.tables.edition import Edition
from domain.thrones.tables.editions.composed import compose
from tests.domain.thrones.given import LANNISTER, STARK, Scene, battle


def by_court(game: Game, house: HouseId) -> int:
    return game.state.position_of(house, "kings-court")


def alms(game: Game, combat: Combat, house: HouseId, word: str) -> None:
    if word == "gain":
        game.gain_power(house, 2, "3E-HCS-1")


ALMS = Asks("immediately", "alms", always, lambda *_: ("gain", "nothing"), alms, default="nothing")


def third_edition() -> Edition:
    second = compose()
    septon = HouseCard("septon", STARK, "Septon", strength=2, swords=0, fortifications=0)
    tables = replace(
        second.tables,
        supply_limits=((1,), *second.tables.supply_limits[1:]),
        house_cards=(*second.tables.house_cards, septon),
    )
    combat = dataclasses.replace(second.readings.combat, tie_rank=by_court, tie=("3E-CBT-1",))
    texts: Mapping[str, Any] = {**second.card_texts, "septon": CardText("septon", "3E-HCS-1", (ALMS,))}
    return dataclasses.replace(
        second, tables=tables, readings=dataclasses.replace(second.readings, combat=combat), card_texts=texts
    )


THIRD = ThronesOf(third_edition())


def fought(scene: Scene, cards: Mapping[str, str], alms: str = "nothing") -> tuple[Scene, list[str]]:
    """The combat played to its end by the third edition, and which abilities were asked for."""
    asked = []
    while scene.state.combat is not None:
        decision = open_decisions(THIRD, scene.state)[0]
        answer = decision.default
        if decision.kind == "house-card":
            answer = msgspec.structs.replace(answer, choice=cards[decision.player])
        if decision.kind == "card-ability":
            asked.append(answer.ability)
            answer = msgspec.structs.replace(answer, choice=alms)
        ruling = rule_on(THIRD, scene.state, answer)
        scene = Scene(ruling.state, [*scene.facts, *ruling.facts])
    return scene, asked


def tied() -> Scene:
    """Lannister is first on the Fiefdoms track, Stark on the King's Court track, and each brings a card of 2."""
    scene = battle(STARK, LANNISTER, tracks={"fiefdoms": (LANNISTER, STARK), "kings-court": (STARK, LANNISTER)})
    hands = {**scene.state.hands, STARK: ("septon",), LANNISTER: ("the-hound", "ser-jaime-lannister")}
    return Scene(replace(scene.state, hands=hands), scene.facts)


def test_a_tie_is_broken_as_the_edition_says() -> None:
    scene, _ = fought(tied(), {STARK: "septon", LANNISTER: "ser-jaime-lannister"})
    decided = scene.of(f.CombatDecided)[-1]
    assert (decided.tie, decided.winner) == (True, STARK)
    assert "3E-CBT-1" in decided.rules
    assert "2E-TRK-3" not in decided.rules


def test_a_card_with_a_choice_is_asked_about_and_does_what_is_chosen() -> None:
    for word, gained in (("gain", 2), ("nothing", 0)):
        before = tied()
        scene, asked = fought(before, {STARK: "septon", LANNISTER: "ser-jaime-lannister"}, word)
        assert asked == ["alms"]
        assert scene.state.power[STARK] - before.state.power[STARK] == gained


def test_armies_are_limited_by_the_supply_table_of_the_edition() -> None:
    state = tied().state
    poor = replace(state, supply={**state.supply, STARK: 0})
    assert THIRD.game(poor).supply_limit(STARK) == (1,)
