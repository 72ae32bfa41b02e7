"""Our own games as play-by-mail logs: everything that the format has words for, and the same when read again."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache
from typing import TypeVar, cast

import pytest

from api.games.thrones.logs import records as r
from api.games.thrones.logs.from_facts import UNTOLD, Ruled, is_told, to_log
from api.games.thrones.logs.reader import read
from api.games.thrones.logs.writer import write
from domain.kernel.commands import Command
from domain.kernel.facts import Answered, AnswerTaken, Fact
from domain.thrones.bots import TEMPERAMENTS, Bot
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from domain.thrones.language.evolve import EVOLVERS
from domain.thrones.language.start import Start
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.charter import Charter
from domain.thrones.tables.editions.second import SECOND_EDITION
from domain.thrones.tables.variations import PRESETS
from tests.domain.thrones.games import play, spec

F = TypeVar("F", bound=Fact)

GAMES = (0, 1, 2, 3, 7)
"""Three to six players, without and with Tides of Battle."""


@cache
def ruled(number: int) -> tuple[Ruled, ...]:
    return tuple(
        Ruled(f"2026-11-{1 + nth // 1440:02d}T{nth // 60 % 24:02d}:{nth % 60:02d}", entry.ruling.facts)
        for nth, entry in enumerate(play(spec(number)))
    )


@cache
def exported(number: int) -> r.Log:
    players = {house: f"the-{house}" for house in spec(number).charter.houses}
    return to_log(ruled(number), SECOND_EDITION, game=str(number), name="Bots", players=players)


def kinds(number: int) -> Counter[type[r.Record]]:
    return Counter(type(entry.record) for entry in exported(number).entries)


def facts(number: int, wanted: type[F]) -> list[F]:
    return [fact for one in ruled(number) for fact in one.facts if isinstance(fact, wanted)]


@pytest.mark.parametrize("number", GAMES)
def test_a_game_is_read_again_as_it_was_written(number: int) -> None:
    found = read(write(exported(number)))
    assert found.log == exported(number)
    assert [one.code for one in found.problems] == ["no-settings"]


@pytest.mark.parametrize("number", GAMES)
def test_every_round_and_every_combat_is_there(number: int) -> None:
    told = kinds(number)
    assert told[r.PowerConsolidated] == len(facts(number, f.RoundBegan))
    assert told[r.BattleLost] == len(facts(number, f.CombatBegan))
    attacks = [entry for entry in exported(number).entries if getattr(entry.record, "attack", None)]
    assert len(attacks) == len(facts(number, f.CombatBegan))
    assert told[r.WildlingCardDrawn] == len(facts(number, f.WildlingCardRevealed))
    assert told[r.SupplyCounted] == len(facts(number, f.SupplyCounted))
    assert told[r.GameWon] == 1


@pytest.mark.parametrize("number", GAMES)
def test_all_orders_bids_and_moves_are_told(number: int) -> None:
    told = kinds(number)
    assert told[r.Bid] + told[r.WildlingBid] == sum(len(one.bids) for one in facts(number, f.BidsRevealed))
    given = [one for one in facts(number, AnswerTaken) if one.kind == "assign-orders"]
    assert told[r.OrdersSet] == len(given)
    steps = sum(len(entry.record.steps) for entry in exported(number).entries if isinstance(entry.record, r.Marched))
    assert steps == len(facts(number, f.UnitsMoved)) + len(facts(number, f.NeutralForceRemoved))
    raids = sum(len(entry.record.targets) for entry in exported(number).entries if isinstance(entry.record, r.Raided))
    answers = [one.answer for one in facts(number, Answered)]
    assert raids == sum(isinstance(answer, c.Raid) and answer.target is not None for answer in answers)


@pytest.mark.parametrize("number", GAMES)
def test_what_is_mustered_and_killed_adds_up(number: int) -> None:
    entries = [entry.record for entry in exported(number).entries]
    raised = sum(sum(one.units.values()) for one in entries if isinstance(one, r.Mustered | r.SpecialMustered))
    free = sum(
        sum(effect.units.values())
        for one in entries
        for effect in getattr(one, "effects", ())
        if isinstance(effect, r.UnitsRaised)
    )
    upgraded = [one for one in facts(number, f.UnitReplaced) if {"2E-MUS-4", "2E-MUS-10"} & set(one.rules)]
    assert raised + free == len(facts(number, f.UnitMustered)) + len(upgraded)


@pytest.mark.parametrize("number", GAMES)
def test_all_that_die_in_combat_are_told(number: int) -> None:
    died, is_combat = 0, False
    for fact in (fact for one in ruled(number) for fact in one.facts):
        is_combat = (is_combat or isinstance(fact, f.CombatBegan)) and not isinstance(fact, f.CombatEnded)
        if is_combat and isinstance(fact, f.UnitsDestroyed):
            died += sum(fact.units.values())
    lost = [entry.record for entry in exported(number).entries if isinstance(entry.record, r.BattleLost)]
    assert sum(sum(one.killed.values()) + sum(one.other.values()) for one in lost) == died


FIVE = ("baratheon", "greyjoy", "lannister", "stark", "tyrell")
FOUR = ("baratheon", "lannister", "stark", "tyrell")


@cache
def other_table(preset: str, houses: tuple[str, ...]) -> tuple[tuple[Fact, ...], r.Log]:
    """A game by another preset: its facts and its log."""
    chosen = PRESETS[preset]
    charter = Charter(preset, houses, chosen.switches, variations=chosen.variations)
    chance = random.Random(preset)
    state, command = THRONES.blank(), cast(Command, Start(charter=charter, seed="7" * 64))
    rulings: list[Ruled] = []
    while True:
        ruling = THRONES.decide(state, command)
        rulings.append(Ruled("2026-11-01T12:00", ruling.facts))
        state = ruling.state
        owed = THRONES.decisions(state)
        if not owed:
            break
        edition = THRONES.rules_of(state).edition
        bot = Bot(TEMPERAMENTS["warlike"], edition.board, edition.tokens)
        command = bot.answer(state, owed[chance.randrange(len(owed))], chance.randrange)
    log = to_log(rulings, edition, game="other", name="Bots", players={})
    return tuple(fact for one in rulings for fact in one.facts), log


TABLES = (("first-edition", FIVE), ("mixed-four", FOUR))


@pytest.mark.parametrize(("preset", "houses"), TABLES)
def test_other_tables_are_exported_too(preset: str, houses: tuple[str, ...]) -> None:
    _, log = other_table(preset, houses)
    assert read(write(log)).log == log
    assert log.ended


@pytest.mark.parametrize(("preset", "houses"), TABLES)
def test_all_that_is_consolidated_is_told(preset: str, houses: tuple[str, ...]) -> None:
    happened, log = other_table(preset, houses)
    is_step, gained = False, 0
    for fact in happened:
        if isinstance(fact, f.StepBegan):
            is_step = fact.step == "consolidate"
        if is_step and isinstance(fact, f.PowerChanged):
            gained += fact.by
    entries = [entry.record for entry in log.entries]
    told = sum(sum(one.power.values()) for one in entries if isinstance(one, r.PowerConsolidated))
    assert told + sum(one.power for one in entries if isinstance(one, r.PowerTaken)) == gained > 0


def test_without_wildling_cards_the_outcome_is_told_all_the_same() -> None:
    happened, log = other_table("first-edition", FIVE)
    told = [entry.record for entry in log.entries if isinstance(entry.record, r.WildlingsWon | r.WildlingsBeaten)]
    answers = [fact.answer for fact in happened if isinstance(fact, Answered)]
    assert len(told) == sum(isinstance(answer, c.DestroyUnits | c.MammothRetrieve) for answer in answers) > 0


def test_times_and_players_are_those_of_the_record() -> None:
    first = exported(1).entries[0]
    assert (first.player, first.at, first.phase) == ("the-lannister", "2026-11-01T00:02", "PLANNING")
    assert {entry.player for entry in exported(1).entries} <= {"", *(f"the-{one}" for one in spec(1).charter.houses)}


def test_a_log_tells_no_more_than_a_spectator_knows() -> None:
    """The same log comes out of the facts that everybody may read."""
    public = tuple(
        Ruled(one.at, tuple(fact for fact in one.facts if fact.audience is None)) for one in ruled(2)
    )  # fmt: skip
    players = {house: f"the-{house}" for house in spec(2).charter.houses}
    assert to_log(public, SECOND_EDITION, game="2", name="Bots", players=players) == exported(2)


def test_a_game_that_goes_on_has_no_end() -> None:
    half = ruled(1)[: len(ruled(1)) // 2]
    log = to_log(half, SECOND_EDITION, game="1", name="Bots", players={})
    assert not log.ended
    kept = [entry.record for entry in log.entries]
    whole = [entry.record for entry in exported(1).entries]
    assert kept[:-3] == whole[: len(kept) - 3]


def test_every_kind_of_fact_is_told_or_left_out_for_a_reason() -> None:
    untold = {name for listed in UNTOLD.values() for name in listed}
    told = {fact.__name__ for fact in EVOLVERS if is_told(fact)}
    assert not told & untold
    assert {fact.__name__ for fact in EVOLVERS} <= told | untold
