"""What must hold at every entry of every game, checked in one pass.

The checks count, fold and sum for themselves wherever they can, so that they do not repeat the engine's opinion.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from api.games.thrones.rulebook import parse_rules
from domain.kernel import facts as kernel
from domain.kernel.commands import PassDeadline
from domain.kernel.decision import Decision
from domain.kernel.position import nothing
from domain.kernel.refusal import Refusal
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from domain.thrones.language import kinds
from domain.thrones.language.evolve import EVOLVERS, evolve
from domain.thrones.language.state import State
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.charter import AS_PRINTED, Switches, Variations
from domain.thrones.tables.editions.composed import CORRESPONDENCES, edition_of
from domain.thrones.tables.editions.second import SECOND_EDITION
from domain.thrones.tables.variations import FIRST_EDITION
from tests.domain.thrones.games import Entry, Spec, play

ROOT = Path(__file__).parents[3]
DATA: dict[str, Any] = json.loads((ROOT / "domain/thrones/tables/editions/second.json").read_text(encoding="utf-8"))
AREAS: dict[str, Any] = {area["id"]: area for area in DATA["areas"]}
BOOKS = {
    name: frozenset(parse_rules((ROOT / f"docs/rules/{name}.md").read_text(encoding="utf-8")))
    for name in ("second-edition", "first-edition")
}
SHARED = frozenset(rule for rule, found in CORRESPONDENCES.items() if found == "shared")
"""Conventions that both editions are played by."""


def citable(variations: Variations, switches: Switches) -> frozenset[str]:
    """What may be cited at a table: one book where all goes by one, both where they are mixed."""
    if variations == AS_PRINTED and switches.tiebreak != "first-edition":
        return BOOKS["second-edition"]
    if variations == FIRST_EDITION:
        return BOOKS["first-edition"] | SHARED
    return BOOKS["first-edition"] | BOOKS["second-edition"]


BOOKKEEPING = (kernel.Awaiting, kernel.DrawsStated, f.PositionStated, f.HiddenStated)
"""Facts of the runner and of the organiser, which no rule of the game produces."""

SUPPLY_TABLE = ((2, 2), (3, 2), (3, 2, 2), (3, 2, 2, 2), (3, 3, 2, 2), (4, 3, 2, 2), (4, 3, 2, 2, 2))
"""2E-SUP-1, written out once more."""


def respects_supply(sizes: list[int], supply: int) -> bool:
    """2E-SUP-2, written once more."""
    armies = sorted((size for size in sizes if size >= 2), reverse=True)
    allowed = SUPPLY_TABLE[supply]
    return len(armies) <= len(allowed) and all(armies[i] <= allowed[i] for i in range(len(armies)))


def controller(state: State, area: str, places: Mapping[str, Any] = AREAS) -> str | None:
    """2E-CTL-1 and 2E-CTL-2, written once more, on the board with these ``places``."""
    place = places[area]
    if place["kind"] == "port":
        return controller(state, place["land"], places)
    if area in state.units:
        return state.units[area].house
    if place["kind"] == "sea" or area in state.neutral:
        return None
    if area in state.power_tokens:
        return state.power_tokens[area]
    home = place.get("home")
    return home if home in state.charter.houses else None


def lines_of(fact: kernel.Fact) -> tuple[f.Line, ...]:
    """The lines of sums that a fact carries."""
    if isinstance(fact, f.StrengthCounted):
        return fact.lines
    return (*fact.swords, *fact.fortifications) if isinstance(fact, f.IconsCounted) else ()


def losing(state: State) -> bool:
    """Whether Houses are losing units to the wildlings one after the other (1E-WILD-7)."""
    return any(frame["procedure"] == "WildlingAssault" for frame in state.frames)


def waits_for_support(state: State) -> bool:
    """Whether units that march against a neutral force still stand where they came from (1E-NEUT-6)."""
    return any(frame["procedure"] == "MarchesThenSupport" and frame.get("force") for frame in state.frames)


class Reached:
    """Kinds of decision and abilities that came up, asked or forced, over many games."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.abilities: Counter[str] = Counter()
        self.asked: set[str] = set()

    def note(self, entry: Entry) -> None:
        for decision in entry.owed:
            self._count(decision.default)
            self.asked.add(getattr(decision.default, "ability", decision.kind))
        for fact in entry.ruling.facts:
            if isinstance(fact, kernel.Answered | kernel.AnswerSealed):
                self._count(fact.answer)

    def _count(self, answer: Any) -> None:
        self.kinds[answer.kind] += 1
        if isinstance(answer, c.CardAbility):
            self.abilities[answer.ability] += 1

    def add(self, other: Reached) -> None:
        self.kinds.update(other.kinds)
        self.abilities.update(other.abilities)
        self.asked |= other.asked

    def only_forced(self) -> list[str]:
        """What came up only with a single legal answer, so that nobody was asked."""
        seen = [kind for kind in kinds.KINDS if self.kinds[kind]] + [one for one in c.ABILITIES if self.abilities[one]]
        return [one for one in seen if one != "card-ability" and one not in self.asked]

    def never(self) -> list[str]:
        """What never came up."""
        never = [kind for kind in kinds.KINDS if not self.kinds[kind]]
        return never + [ability for ability in c.ABILITIES if not self.abilities[ability]]


class Books:
    """Pieces and Power counted from the facts alone, beside the state."""

    def __init__(self, houses: tuple[str, ...]) -> None:
        self.units: dict[str, Counter[str]] = {house: Counter() for house in houses}
        self.pool: Counter[str] = Counter(dict.fromkeys(houses, 20))
        self.tokens: Counter[str] = Counter()
        self.bids: Counter[str] = Counter()

    def enter(self, fact: kernel.Fact) -> None:
        match fact:
            case f.UnitsPlaced():
                self._units(fact.house, fact.units, 1)
            case f.UnitMustered():
                self._units(fact.house, {fact.unit: 1}, 1)
            case f.UnitsDestroyed():
                self._units(fact.house, fact.units, -1)
            case f.UnitReplaced():
                self._units(fact.house, {fact.old: 1}, -1)
                self._units(fact.house, {fact.new: 1}, 1)
            case f.PowerChanged():
                self.pool[fact.house] -= fact.by
            case f.PowerTokenPlaced():
                self.tokens[fact.house] += 1
            case f.PowerTokenRemoved():
                self.tokens[fact.house] -= 1
                self.pool[fact.house] += 1
            case f.BidsRevealed():
                self.bids.update(fact.bids)
            case f.BidsDiscarded():
                for house in fact.houses:
                    self.pool[house] += self.bids.pop(house, 0)
            case f.BidReturned():
                self.bids.pop(fact.house, 0)

    def _units(self, house: str, units: dict[str, int], sign: int) -> None:
        for unit, count in units.items():
            self.units[house][unit.removeprefix("routed-")] += sign * count


class Properties:
    """Goes along with one game and checks every entry. Raises AssertionError with what is wrong."""

    def __init__(self, game: Spec, *, thorough: bool = True) -> None:
        self.game = game
        self.thorough = thorough
        self.folded = THRONES.blank()
        self.books = Books(game.charter.houses)
        self.round = 0
        self.edition = edition_of(game.charter)
        self.places: dict[str, Any] = {area.id: msgspec.to_builtins(area) for area in self.edition.tables.areas}
        self.citable = citable(game.charter.agreed, game.charter.switches)

    def check(self, entry: Entry) -> None:
        facts = self._round_trip(entry)
        self._readjudicate(entry, facts)
        self._fold(facts)
        state = entry.ruling.state
        assert self.folded == state, "evolve alone rebuilds the state, frames included"
        assert msgspec.json.decode(msgspec.json.encode(state), type=State) == state
        self._check_pieces(state)
        self._check_power(state)
        self._check_places(state)
        self._check_supply(state)
        self._check_control(state)
        self._check_decisions(state)
        assert state.round <= 10
        self.round = state.round

    def _round_trip(self, entry: Entry) -> tuple[kernel.Fact, ...]:
        """The facts as they come back from storage."""
        stored = msgspec.json.encode(entry.ruling.facts)
        facts: tuple[kernel.Fact, ...] = msgspec.json.decode(stored, type=tuple[THRONES.fact_type, ...])  # type: ignore[valid-type, name-defined]  # a union built from a table
        assert facts == entry.ruling.facts
        assert msgspec.json.encode(facts) == stored
        return facts

    def _readjudicate(self, entry: Entry, facts: tuple[kernel.Fact, ...]) -> None:
        """The same command on the state as it comes back from storage gives the same bytes."""
        before = msgspec.json.decode(msgspec.json.encode(entry.before), type=State)
        command = msgspec.json.decode(msgspec.json.encode(entry.command), type=THRONES.command_type)
        assert command == entry.command
        again = THRONES.decide(before, command)
        assert msgspec.json.encode(again.facts) == msgspec.json.encode(facts), "re-adjudication equals the record"

    def _fold(self, facts: tuple[kernel.Fact, ...]) -> None:
        for fact in facts:
            before = self.folded
            self._check_arrival(before, fact)
            self.folded = evolve(before, fact)
            self.books.enter(fact)
            if not isinstance(fact, BOOKKEEPING):
                changes = EVOLVERS[type(fact)] is not nothing and self.folded != before
                assert fact.rules or not changes, f"{fact} cites its rule"
            assert set(fact.rules) <= self.citable, f"{fact} cites {set(fact.rules) - self.citable}"
            for line in lines_of(fact):
                assert line.rules and set(line.rules) <= self.citable, f"{line} in {fact}"
            if isinstance(fact, f.StrengthCounted):
                counted = sum(line.amount for line in fact.lines)
                assert fact.total == (counted if self._goes_below_zero(fact) else max(0, counted))

    def _goes_below_zero(self, fact: f.StrengthCounted) -> bool:
        """2E-CBT-27: only a final strength counts as 0 then; 1E-BAT-8: not even that."""
        return self.edition.readings.combat.strength_floor is None or fact.stage != "final"

    def _check_arrival(self, before: State, fact: kernel.Fact) -> None:
        """No area ever gets units of two Houses, nor ships on land, nor land units at sea."""
        to = {
            f.UnitsPlaced: "area",
            f.UnitMustered: "to",
            f.UnitsMoved: "to",
            f.UnitsArrived: "to",
            f.UnitsReturned: "to",
            f.UnitsRetreated: "to",
        }.get(type(fact))
        if to is None:
            return
        area, house = getattr(fact, to), fact.house  # type: ignore[attr-defined]  # all of them have one
        assert before.house_in(area) in (None, house), f"{fact} meets {before.units[area]}"
        assert area not in before.neutral, f"{fact} enters a neutral force"

    def _check_pieces(self, state: State) -> None:
        """Board and marching units are what came into play, and what is left in reserve is not negative."""
        seen: dict[str, Counter[str]] = {house: Counter() for house in state.houses}
        for force in state.units.values():
            assert force.units and all(count > 0 for count in force.units.values())
            for unit, count in force.units.items():
                seen[force.house][unit.removeprefix("routed-")] += count
        if state.march:
            for unit, count in state.march.units.items():
                seen[state.march.house][unit.removeprefix("routed-")] += count
        for house in state.houses:
            assert seen[house] == +self.books.units[house], f"units of {house}"
            limits = self.edition.houses[house].limits
            assert all(count <= limits[kind] for kind, count in seen[house].items()), f"reserve of {house}"

    def _check_power(self, state: State) -> None:
        for house in state.houses:
            board = sum(owner == house for owner in state.power_tokens.values())
            assert board == self.books.tokens[house]
            assert state.bids.get(house, 0) == self.books.bids[house]
            total = state.power[house] + board + state.bids.get(house, 0) + self.books.pool[house]
            assert total == 20, f"{house} has {total} Power tokens"
            assert state.power[house] >= 0 and self.books.pool[house] >= 0

    def _check_places(self, state: State) -> None:
        # By the first edition's book control follows when all Houses have lost units to the wildlings.
        capturing = any(awaited.kind == "capture-ships" for awaited in state.awaited) or losing(state)
        for area, force in state.units.items():
            on_land = self.places[area]["kind"] == "land"
            assert all(("ship" in unit) != on_land for unit in force.units), f"{force} in {area}"
            if self.places[area]["kind"] == "port":
                assert sum(force.units.values()) <= 3
                assert capturing or controller(state, area, self.places) == force.house, f"{force} in {area}"
        for area, placed in state.orders.items():
            assert state.house_in(area) in (placed.house, None)
        for area, owner in state.power_tokens.items():
            assert self.places[area]["kind"] == "land"
            assert state.combat or state.house_in(area) in (owner, None), area
        for house in state.houses:
            tokens = [placed.token for placed in state.orders.values() if placed.house == house]
            assert len(tokens) == len(set(tokens))
            cards = state.hands[house] + state.discards[house]
            if not state.combat:
                assert sorted(cards) == sorted(
                    card.id for card in self.edition.tables.house_cards if card.house == house
                )
        for track in state.tracks.values():
            assert sorted(track) == sorted(state.houses)

    def _check_supply(self, state: State) -> None:
        """Armies are within the limit except while a House is being told to reconcile."""
        waiting = {frame["procedure"] for frame in state.frames}
        if (
            waiting & {"Reconcile", "ReconcileMarch", "Supply"}
            or waits_for_support(state)
            or self.game.charter.switches.attacker_retreat_supply == "ignore"
        ):
            return
        for house in state.houses:
            sizes = {area: sum(force.units.values()) for area, force in state.units.items() if force.house == house}
            if state.march and state.march.house == house:
                sizes[state.march.to] = sizes.get(state.march.to, 0) + sum(state.march.units.values())
            assert not state.supply or respects_supply(list(sizes.values()), state.supply[house]), f"{house}: {sizes}"

    def _check_control(self, state: State) -> None:
        """What was announced is what the board says, whenever no march is half done."""
        if state.march or state.combat or losing(state):
            return
        needed = self.edition.constants.victory_areas
        if self.game.charter.agreed.victory == "first" and len(state.houses) == 3:
            needed = 8
        for area, place in self.places.items():
            if place["kind"] == "land":
                assert state.control.get(area) == controller(state, area, self.places), area
        for house in state.houses:
            castles = sum(
                bool(place.get("castle")) and controller(state, area, self.places) == house
                for area, place in self.places.items()
            )
            assert state.victory[house] == min(needed, castles)
        assert max(state.victory.values()) < needed or state.is_over

    def _check_decisions(self, state: State) -> None:
        owed = THRONES.decisions(state)
        assert bool(owed) != state.is_over
        assert [(one.player, one.kind) for one in owed] == [(one.player, one.kind) for one in state.awaited]
        for decision in owed:
            assert decision.kind in kinds.KINDS and decision.rules and set(decision.rules) <= self.citable, (
                decision.rules
            )
            self._check_default(state, decision)

    def _check_default(self, state: State, decision: Decision[Any]) -> None:
        """The default is legal, but for the muster of 2E-CP-6, where it stands for taking Power instead."""
        try:
            decision.check(decision.default)
        except Refusal as refusal:
            if decision.kind != "muster" or "2E-CP-6" not in refusal.rules:
                raise AssertionError(f"{decision.default} is the default") from refusal
        if self.thorough:
            missed = THRONES.decide(state, PassDeadline(player=decision.player, question=state.question))
            taken = next(fact for fact in missed.facts if isinstance(fact, kernel.Answered | kernel.AnswerTaken))
            assert taken.how == "default" and "2E-GEN-19" in taken.rules


def check_game(game: Spec, reached: Reached | None = None, *, thorough: bool = True) -> State:
    """Play a whole game and check everything."""
    properties = Properties(game, thorough=thorough)
    entry = None
    for entry in play(game):
        properties.check(entry)
        if reached is not None:
            reached.note(entry)
    assert entry is not None and entry.ruling.state.is_over and entry.ruling.state.round <= 10
    return entry.ruling.state


__all__ = ["SECOND_EDITION", "Properties", "Reached", "check_game"]
