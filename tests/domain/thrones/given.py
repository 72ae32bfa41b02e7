"""``given(...).when(...).then(...)``: a position in a few words, what is answered, and the facts that must follow.

Only what a test says stands on the board. Everything else is plain: all Houses of the player count, all cards in
hand, five Power, the highest supply, no garrisons, no neutral forces, tracks as at set-up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from domain.kernel import facts as kernel
from domain.kernel.commands import Command, PassDeadline, StateDraws
from domain.kernel.decision import Decision
from domain.kernel.refusal import Refusal
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from domain.thrones.language.pieces import TOKEN_OF_TRACK
from domain.thrones.language.start import Start
from domain.thrones.language.state import Force, Hidden, PlacedOrder, State
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.charter import AS_PRINTED, Charter, Switches, Variations
from domain.thrones.tables.edition import Edition
from domain.thrones.tables.editions.composed import compose
from tests.domain.thrones.properties import controller

BARATHEON, GREYJOY, LANNISTER, MARTELL, STARK, TYRELL = HOUSES = (
    "baratheon",
    "greyjoy",
    "lannister",
    "martell",
    "stark",
    "tyrell",
)
CAMP, FIELD = "stoney-sept", "searoad-marches"
"""Two land areas next to each other, without Castle, port or home shield: where most fights of the tests are."""

STEPS: dict[str, list[dict[str, Any]]] = {
    "westeros": [{"procedure": "Play", "step": "phases", "phase": 1}, {"procedure": "WesterosPhase"}],
    "planning": [{"procedure": "Play", "step": "phases", "phase": 2}, {"procedure": "PlanningPhase"}],
    "raven": [{"procedure": "Play", "step": "phases", "phase": 2}, {"procedure": "PlanningPhase", "step": "raven"}],
    "raid": [
        {"procedure": "Play", "step": "phases", "phase": 3},
        {"procedure": "ActionPhase", "step": "marches"},
        {"procedure": "Raids", "step": "next_house"},
    ],
    "march": [
        {"procedure": "Play", "step": "phases", "phase": 3},
        {"procedure": "ActionPhase", "step": "consolidate"},
        {"procedure": "MarchOrders", "step": "next_house"},
    ],
    "consolidate": [
        {"procedure": "Play", "step": "phases", "phase": 3},
        {"procedure": "ActionPhase", "step": "clean_up"},
        {"procedure": "ConsolidatePower", "step": "next_house"},
    ],
}


def units(text: str) -> dict[str, int]:
    """``"2 footman, knight"`` as numbers by unit."""
    found: dict[str, int] = {}
    for part in text.split(","):
        count, _, unit = part.strip().rpartition(" ")
        found[unit] = found.get(unit, 0) + int(count or 1)
    return found


def given(
    board: Mapping[str, str] | None = None,
    *,
    step: str = "march",
    players: int = 6,
    orders: Mapping[str, str] | None = None,
    turn: str = "",
    round: int = 2,  # the word of the position
    garrisons: Iterable[str] = (),
    neutral: Mapping[str, Any] | None = None,
    power_tokens: Mapping[str, str] | None = None,
    power: Mapping[str, int] | None = None,
    supply: Mapping[str, int] | None = None,
    tracks: Mapping[str, tuple[str, ...]] | None = None,
    used: Iterable[str] = (),
    hands: Mapping[str, tuple[str, ...]] | None = None,
    threat: int = 2,
    decks: Mapping[str, tuple[str, ...]] | None = None,
    prohibited: tuple[str, ...] = (),
    tides: tuple[str, ...] = (),
    variations: Variations = AS_PRINTED,
    **switches: str,
) -> Scene:
    """A position. ``board`` has ``"house: 2 footman, knight"`` by area; ``decks`` the cards on top of decks.

    ``hands`` of a House leave its other cards in the discard pile. With ``tides`` the next Tides cards are stated.
    ``variations`` say where the table plays otherwise than the second edition.
    """
    edition = compose(variations)
    table = edition.players(players)
    houses = tuple(sorted(table.houses))
    if tides:
        switches["tides_of_battle"] = "on"
    charter = Charter(
        "second-edition",
        houses,
        Switches(**switches),  # type: ignore[arg-type]  # a test's own words
        chance="imposed",
        variations=UNSET if variations == AS_PRINTED else variations,
    )
    forces = {area: _force(text) for area, text in (board or {}).items()}
    full = dict(table.influence)
    for track, first in (tracks or {}).items():
        full[track] = (*first, *(house for house in table.influence[track] if house not in first))
    cards = {house: tuple(sorted(edition.cards_of(house))) for house in houses}
    state = State(
        charter=charter,
        round=round,
        phase="action",
        step=step,
        units=forces,
        garrisons={edition.houses[house].home: 2 for house in sorted(garrisons)},
        neutral=dict(neutral or {}),
        power_tokens=dict(power_tokens or {}),
        orders={area: PlacedOrder(forces[area].house, token) for area, token in (orders or {}).items()},
        tracks=full,
        tokens={token: full[track][0] for track, token in TOKEN_OF_TRACK.items()},
        used=tuple(sorted(used)),
        supply=dict.fromkeys(houses, 6) | dict(supply or {}),
        power=dict.fromkeys(houses, 5) | dict(power or {}),
        hands=cards | {house: tuple(sorted(hand)) for house, hand in (hands or {}).items()},
        discards={
            house: tuple(card for card in cards[house] if hands and house in hands and card not in hands[house])
            for house in houses
        },
        threat=threat,
        prohibited=prohibited,
        question=1,
    )
    places: dict[str, Any] = msgspec.to_builtins({area.id: area for area in edition.tables.areas})
    owners = {area: controller(state, area, places) for area, place in places.items() if place["kind"] == "land"}
    castles = {
        house: sum(bool(places[area].get("castle")) for area in owners if owners[area] == house) for house in houses
    }
    frames = [dict(frame) for frame in STEPS[step]]
    # Where a table plays a chapter in other steps, the frame is that of its procedure.
    played = {"MarchOrders": edition.chapters.marches, "ConsolidatePower": edition.chapters.consolidation}
    chapter = played.get(frames[-1]["procedure"])
    if chapter is not None and chapter.__name__ != frames[-1]["procedure"]:
        frames[-1]["procedure"] = chapter.__name__
        frames[-1]["step"] = frames[-1]["step"] if hasattr(chapter, frames[-1]["step"]) else "begin"
    if turn:
        frames[-1]["last_position"] = full["iron-throne"].index(turn)
    state = msgspec.structs.replace(
        state,
        control={area: owner for area, owner in owners.items() if owner},
        victory=castles,
        frames=tuple(frames),
    )
    hidden = Hidden(decks=_stacked(edition, decks or {}))
    ruling = THRONES.decide(THRONES.blank(), Start(charter=charter, position=state, hidden=hidden, reason="a test"))
    scene = Scene(ruling.state, ruling.facts)
    if tides:
        scene._take(StateDraws(deck="tides", cards=tides))
    return scene


def _force(text: str) -> Force:
    house, _, there = text.partition(":")
    return Force(house.strip(), units(there))


def _stacked(edition: Edition, tops: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    decks = {"wildling": edition.wildling_deck, **edition.westeros_decks}
    found = {}
    for deck, cards in decks.items():
        rest = list(cards)
        for card in tops.get(deck, ()):
            rest.remove(card)
        found[deck] = (*tops.get(deck, ()), *rest)
    return found


class Scene:
    """A position being played on, and the facts since it was given."""

    def __init__(self, state: State, facts: Iterable[kernel.Fact] = ()) -> None:
        self.state = state
        self.facts = list(facts)

    # Acting

    def when(self, *commands: Command) -> Scene:
        """Rule on commands, one after the other."""
        for command in commands:
            self._take(command)
        return self

    def _take(self, command: Command) -> None:
        ruling = THRONES.decide(self.state, command)
        self.state = ruling.state
        self.facts += ruling.facts

    def answer(self, said: Any) -> Scene:
        """Answer the first open question: a word, or the fields that differ from its default."""
        self._take(_say(self.owed[0].default, said))
        return self

    def refused(self, command: Command, code: str, *rules: str) -> Refusal:
        """The command is refused with this code, citing at least these rules, and nothing changes."""
        before = self.state
        with pytest.raises(Refusal) as refusal:
            THRONES.decide(self.state, command)
        assert refusal.value.code == code, refusal.value
        assert set(rules) <= set(refusal.value.rules), refusal.value
        assert self.state == before
        return refusal.value

    def passing(self, *kinds: str) -> Scene:
        """Let deadlines pass while what is asked is of these kinds."""
        while self.owed and self.owed[0].kind in kinds:
            self._take(PassDeadline(player=self.owed[0].player, question=self.state.question))
        return self

    def passing_until(self, kind: str, player: str) -> Scene:
        """Let deadlines pass until this House is asked this."""
        for _ in range(40):
            if (self.owed[0].kind, self.owed[0].player) == (kind, player):
                return self
            self._take(PassDeadline(player=self.owed[0].player, question=self.state.question))
        raise AssertionError(f"{player} is asked {kind}")

    @property
    def owed(self) -> tuple[Decision[Any], ...]:
        return THRONES.decisions(self.state)

    def asks(self, kind: str) -> Decision[Any]:
        """The only open question, which must be of this kind (or this ability)."""
        assert self.owed, f"{kind} is asked"
        decision = self.owed[0]
        assert kind in (decision.kind, getattr(decision.default, "ability", "")), decision
        return decision

    def words(self, kind: str) -> tuple[str, ...]:
        """The words that the open question may be answered with."""
        decision = self.asks(kind)
        return tuple(answer.choice for answer in decision.options.every(decision.default))

    def fight(self, cards: Mapping[str, str] | None = None, *, until: str = "", **answers: Any) -> Scene:
        """Fight the combat that is open to its end, or until a question of the kind or ability ``until``.

        ``cards`` by House; ``answers`` by kind or ability with ``_`` for ``-``, as a word or as the fields of the
        answer. What is not said is answered by its default.
        """
        said = {name.replace("_", "-"): answer for name, answer in answers.items()}
        for _ in range(60):
            if self.state.combat is None:
                return self
            decision = self.owed[0]
            key = getattr(decision.default, "ability", decision.kind)
            if key == until:
                return self
            answer = decision.default
            if key == "house-card":
                card = (cards or {}).get(decision.player)
                answer = msgspec.structs.replace(answer, choice=card) if card else answer
            elif key in said:
                answer = _say(answer, said[key])
            self._take(answer)
        raise AssertionError("a combat ends")

    # Looking

    def then(self, *expected: kernel.Fact) -> Scene:
        """These facts happened, in this order, among others; the rules they cite are not compared."""
        found = iter(self.facts)
        for wanted in expected:
            bare = msgspec.structs.replace(wanted, rules=())
            if not any(msgspec.structs.replace(fact, rules=()) == bare for fact in found):
                same = [fact for fact in self.facts if type(fact) is type(wanted)]
                raise AssertionError(f"{bare} did not happen (in this order). Of its type there were: {same}")
        return self

    def never(self, *kinds: type[kernel.Fact]) -> Scene:
        """No fact of these types happened."""
        assert not [fact for fact in self.facts if isinstance(fact, kinds)]
        return self

    def citing(self, *rules: str) -> Scene:
        """Some fact cites each of these rules."""
        assert set(rules) <= self.cited, set(rules) - self.cited
        return self

    @property
    def cited(self) -> set[str]:
        """Every rule that a fact since the beginning cites, lines of sums included."""
        found = {rule for fact in self.facts for rule in fact.rules}
        for fact in self.of(f.StrengthCounted):
            found |= {rule for line in fact.lines for rule in line.rules}
        for fact in self.of(f.IconsCounted):
            found |= {rule for line in (*fact.swords, *fact.fortifications) for rule in line.rules}
        return found

    def of(self, kind: type[Any]) -> list[Any]:
        """All facts of a type, in order."""
        return [fact for fact in self.facts if isinstance(fact, kind)]

    def strength(self, house: str, stage: str = "final") -> int:
        """The last total counted for a House."""
        totals = [fact.total for fact in self.of(f.StrengthCounted) if (fact.house, fact.stage) == (house, stage)]
        return int(totals[-1])

    def card_strength(self, house: str) -> int:
        """What the House card added to the final strength."""
        counts = [fact for fact in self.of(f.StrengthCounted) if (fact.house, fact.stage) == (house, "final")]
        return sum(line.amount for line in counts[-1].lines if line.group == "card")

    def icons(self, house: str) -> tuple[int, int]:
        """Swords and fortifications of a House."""
        counted = [fact for fact in self.of(f.IconsCounted) if fact.house == house][-1]
        return sum(line.amount for line in counted.swords), sum(line.amount for line in counted.fortifications)

    @property
    def winner(self) -> str:
        return str(self.of(f.CombatDecided)[-1].winner)

    def at(self, area: str) -> str:
        """What stands in an area: ``"stark: 2 footman, knight"``, or nothing."""
        force = self.state.units.get(area)
        if force is None:
            return ""
        there = ", ".join(f"{count} {unit}" if count > 1 else unit for unit, count in force.units.items())
        return f"{force.house}: {there}"


def _say(answer: Any, said: Any) -> Any:
    if isinstance(said, str):
        return msgspec.structs.replace(answer, choice=said)
    if set(said) == {"orders"}:
        return msgspec.structs.replace(
            answer, orders={area: said["orders"].get(area, word) for area, word in answer.orders.items()}
        )
    return msgspec.structs.replace(answer, **said)


def march(house: str, area: str, *moves: tuple[str, str], leave_power: bool = False) -> c.MarchOrder:
    """A march: ``march(STARK, CAMP, (FIELD, "2 footman"))``."""
    return c.MarchOrder(
        house=house, area=area, moves=tuple(c.Move(to, units(there)) for to, there in moves), leave_power=leave_power
    )


def battle(
    attacker: str,
    defender: str,
    *,
    attacking: str = "2 footman",
    defending: str = "2 footman",
    order: str = "march-0",
    origin: str = CAMP,
    area: str = FIELD,
    orders: Mapping[str, str] | None = None,
    others: Mapping[str, str] | None = None,
    marching: str = "",
    **more: Any,
) -> Scene:
    """A march into the field that has just begun a combat; ``others`` stand elsewhere.

    ``marching`` is said where not all of ``attacking`` march.

    A bystander still has a march of his own to make, so that the round does not end with the combat.
    """
    board = {origin: f"{attacker}: {attacking}", area: f"{defender}: {defending}", **(others or {})}
    busy = {text.partition(":")[0] for text in board.values()}
    table = compose(more.get("variations", AS_PRINTED)).players(more.get("players", 6))
    bystander = next(house for house in sorted(table.houses) if house not in busy)
    board["the-eyrie"] = f"{bystander}: footman"
    scene = given(board, orders={origin: order, "the-eyrie": "march-0", **(orders or {})}, turn=attacker, **more)
    return scene.when(march(attacker, origin, (area, marching or attacking)))
