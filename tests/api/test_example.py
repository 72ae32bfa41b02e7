"""The example game: it is played line by line, and shows what it promises, each by its rule."""

from __future__ import annotations

from functools import cache

import msgspec
import pytest

from domain.kernel.facts import Answered, Fact
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from domain.thrones.language.start import Start
from domain.thrones.language.state import State
from domain.thrones.notation import format_answer, parse_line, split_letter
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.charter import Charter, Switches
from domain.thrones.tables.editions.second import SECOND_EDITION
from examples.search import FILE, GAME, SHOWN, WORDS, Played, letter, play, seed_of

HEAD, _, BODY = FILE.read_text(encoding="utf-8").partition("\n\n")
head = dict(line.split(": ", 1) for line in HEAD.splitlines() if not line.startswith("#"))
WINNER = "tyrell"
STANDINGS = (("tyrell", 6), ("lannister", 5), ("baratheon", 3), ("greyjoy", 2), ("martell", 2), ("stark", 1))
"""Houses, best first, with their areas with a Castle or Stronghold."""


class Ruled(msgspec.Struct, frozen=True):
    """One line of the file and what was ruled on it."""

    before: State
    answer: c.HouseAnswer
    facts: tuple[Fact, ...]
    after: State


@cache
def ruled() -> tuple[Ruled, ...]:
    """The file, played as a reader of examples/README.md would play it."""
    switches = {key.removeprefix("switch "): value for key, value in head.items() if key.startswith("switch ")}
    houses = tuple(sorted(SECOND_EDITION.players(int(head["players"])).houses))
    charter = Charter(head["edition"], houses, msgspec.convert(switches, Switches), chance="stated")
    ruling = THRONES.decide(THRONES.blank(), Start(charter=charter, seed=head["seed"]))
    lines: list[Ruled] = []
    for line in split_letter(BODY):
        before, owed = ruling.state, THRONES.decisions(ruling.state)
        answer = parse_line(line, house=None, lexicon=WORDS, open_decisions=owed)
        assert format_answer(answer, with_house=True) == line.text, "every line is canonical"
        ruling = THRONES.decide(before, answer)
        lines.append(Ruled(before, answer, ruling.facts, ruling.state))
    return tuple(lines)


def facts_of(kind: type[Fact], rule: str) -> list[tuple[Ruled, Fact]]:
    """Facts of a kind that cite a rule, each with the line that led to it."""
    return [(line, fact) for line in ruled() for fact in line.facts if isinstance(fact, kind) and rule in fact.rules]


def test_the_last_line_ends_the_game_with_the_tenth_round() -> None:
    *earlier, last = ruled()
    assert not any(line.after.is_over for line in earlier)
    assert (last.after.round, last.after.winner) == (10, WINNER)
    (won,) = [fact for fact in last.facts if isinstance(fact, f.GameWon)]
    assert won.reason == "rounds" and "2E-RND-3" in won.rules and "2E-VIC-5" in won.rules


def test_the_standings() -> None:
    assert tuple((one.house, one.castles) for one in ruled()[-1].after.ranking) == STANDINGS


def test_the_head_says_which_game_it_is() -> None:
    assert head == {
        "game": "six-players",
        "edition": "second-edition",
        "players": "6",
        "seed": seed_of(GAME),
        "switch tides-of-battle": "off",
    }


def test_the_file_is_what_the_search_program_writes() -> None:
    assert letter(found()) == FILE.read_text(encoding="utf-8"), f"python -m examples.search --write {GAME}"


@cache
def found() -> Played:
    """The game as the search program plays it."""
    return play(GAME)


@pytest.mark.parametrize("name", SHOWN)
def test_the_search_program_keeps_to_its_list(name: str) -> None:
    thing = SHOWN[name]
    assert len(thing.find(found())) >= thing.least
    assert all(thing.rule in fact.rules for fact in thing.find(found()) if thing.rule)


def test_no_forced_answer_is_in_the_file() -> None:
    for line in ruled():
        owed = THRONES.decisions(line.before)
        assert all(one.forced is None for one in owed if one.player == line.answer.house)


def test_every_round_is_told() -> None:
    assert {line.before.round for line in ruled()} == set(range(1, 11))


def test_a_raid_removes_an_order() -> None:
    raided = [(line, fact) for line, fact in facts_of(f.OrderRemoved, "2E-RAID-3") if fact.by]
    for line, fact in raided:
        assert isinstance(line.answer, c.Raid) and line.answer.target == fact.area
        assert fact.area in line.before.orders and fact.area not in line.after.orders
    assert len(raided) >= 3


def test_pillage_moves_a_power() -> None:
    paid = [(line, fact) for line, fact in facts_of(f.PowerChanged, "2E-RAID-8") if fact.by == 1]
    assert paid
    for line, fact in paid:
        assert fact.house == line.answer.house
        assert line.before.orders[line.answer.target].token.startswith("consolidate")
    assert [fact for _, fact in facts_of(f.PowerChanged, "2E-RAID-8") if fact.by == -1], "and somebody loses one"


def test_support_of_a_third_house_is_accepted() -> None:
    accepted = [(line, fact) for line, fact in facts_of(f.SupportAnswered, "2E-CBT-13") if fact.accepted]
    assert accepted
    for line, fact in accepted:
        assert line.before.combat and fact.house not in line.before.combat.combatants
    counted = [
        part
        for line in ruled()
        for fact in line.facts
        if isinstance(fact, f.StrengthCounted) and fact.stage == "final"
        for part in fact.lines
        if part.group == "support" and part.house != fact.house and part.amount > 0
    ]
    assert counted, "and counts in the final strength"


def test_a_beaten_house_retreats() -> None:
    retreats = facts_of(f.UnitsRetreated, "2E-RET-5")
    assert len(retreats) >= 3
    for line, fact in retreats:
        assert "2E-RET-13" in fact.rules
        assert line.before.house_in(fact.area) == fact.house


def test_a_beaten_attacker_goes_back() -> None:
    assert facts_of(f.UnitsReturned, "2E-RET-2")


def test_units_fall_to_swords() -> None:
    assert [fact for _, fact in facts_of(f.CasualtiesCounted, "2E-CAS-5") if fact.number]


def test_ships_carry_an_army() -> None:
    board = SECOND_EDITION.board
    carried = facts_of(f.UnitsMoved, "2E-TRN-1")
    assert carried
    assert all(not board.are_adjacent(fact.area, fact.to) for _, fact in carried)


def test_units_are_mustered_by_a_westeros_card() -> None:
    mustered = [(line, fact) for line, fact in facts_of(f.UnitMustered, "2E-MUS-4") if "2E-CP-9" not in fact.rules]
    assert [line for line, _ in mustered if line.before.step in ("w1-mustering", "w1-a-throne-of-blades")]


def test_units_are_mustered_by_a_special_consolidate_power_order() -> None:
    assert [line for line, _ in facts_of(f.UnitMustered, "2E-CP-9") if line.before.step == "consolidate"]


def test_the_throne_settles_a_tie_in_a_clash_of_kings() -> None:
    settled = [(line, fact) for line, fact in facts_of(Answered, "2E-COK-4") if fact.how == "given"]
    assert settled
    for line, _ in settled:
        assert isinstance(line.answer, c.InfluenceTie)
        assert line.answer.house == line.before.tokens["iron-throne-token"]


@pytest.mark.parametrize("winner", ["wildlings", "nights-watch"])
def test_a_wildling_attack_is_lost_and_one_is_won(winner: str) -> None:
    decided = [fact for _, fact in facts_of(f.WildlingAttackDecided, "2E-WLD-4") if fact.winner == winner]
    assert [fact for fact in decided if fact.strength]
    assert all((fact.watch >= fact.strength) == (winner == "nights-watch") for fact in decided)


def test_ships_are_captured_in_a_port() -> None:
    captured = facts_of(f.UnitsPlaced, "2E-PRT-13")
    assert captured
    for line, fact in captured:
        assert SECOND_EDITION.board.is_port(fact.area)
        assert line.after.house_in(fact.area) == fact.house
    assert facts_of(f.UnitsDestroyed, "2E-PRT-13"), "those of the former owner are removed"


def test_a_neutral_force_falls() -> None:
    for line, fact in (fallen := facts_of(f.NeutralForceRemoved, "2E-NEU-7")):
        assert fact.area in line.before.neutral and fact.area not in line.after.neutral
    assert fallen


def test_the_raven_replaces_an_order_and_sees_a_card() -> None:
    for line, fact in (replaced := facts_of(f.OrderReplaced, "2E-RVN-2")):
        assert line.before.tokens["messenger-raven"] == fact.house
    assert replaced
    assert facts_of(f.WildlingCardReturned, "2E-RVN-3")


def test_the_valyrian_steel_blade_turns_a_combat() -> None:
    (line, fact), *_ = facts_of(f.BladeAdded, "2E-CBT-25")
    assert line.before.tokens["valyrian-steel-blade"] == fact.house
    (decided,) = [one for one in line.facts if isinstance(one, f.CombatDecided)]
    assert decided.winner == fact.house


def test_house_cards_have_their_say() -> None:
    said = {fact.card for line in ruled() for fact in line.facts if isinstance(fact, f.AbilityResolved)}
    chosen = {line.answer.ability for line in ruled() if isinstance(line.answer, c.CardAbility)}
    assert len(said) >= 10 and len(chosen) >= 3
