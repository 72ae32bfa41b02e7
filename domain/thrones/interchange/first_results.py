"""What a worked example of the first edition's format expects, key by key, compared with what happened.

The numbers that it names under ``values`` have a small grammar, :data:`VALUES`: a House, an area or a side of the
battle inside a name says whose number it is; a name without a House is about the House of the example.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any, Protocol

from msgspec.structs import replace

from domain.kernel.facts import Answered, Fact
from domain.kernel.refusal import Refusal
from domain.thrones import commands as c
from domain.thrones import facts as f
from domain.thrones.armies import armies
from domain.thrones.cards.vocabulary import participating
from domain.thrones.cases import CaseError, Disagreement
from domain.thrones.edition import Edition
from domain.thrones.game import Game
from domain.thrones.interchange.example_results import (
    TOKENS,
    Happened,
    acted,
    compare_areas,
    compare_by,
    game_of,
    progress_of,
    same,
)
from domain.thrones.options import SomeUnits
from domain.thrones.pieces import TRACKS, Units, is_routed, size
from domain.thrones.procedures.marches import march_options
from domain.thrones.procedures.raids import targets
from domain.thrones.procedures.retreat import legal_areas
from domain.thrones.procedures.strength import support_lines, unit_lines
from domain.thrones.procedures.support import eligible_orders
from domain.thrones.ruleset import THRONES
from domain.thrones.state import PlacedOrder, State

Json = dict[str, Any]

ARMY_SIZES = re.compile(r"army sizes (?P<sizes>\d+(?:,\d+)*) at supply (?P<supply>\d+)")

STEPS = {
    "house-cards": "house-card",
    "blade": "blade-strength",
    "retreat": "retreat-area",
    "planning": "assign-orders",
    "raids": "raid",
    "marches": "march",
    "consolidation": "consolidate",
}
"""Names of steps that are not the key of their decision or of their step."""

MOST_STEPS = 200
"""A bound on the answers of one battle."""


class Played(Happened, Protocol):
    """What the comparison reads of an example besides."""

    steps: list[State]
    last: tuple[Fact, ...]
    notes: list[str]

    @property
    def edition(self) -> Edition: ...

    @property
    def setup(self) -> Json: ...

    def try_action(self, action: Json) -> Refusal | None: ...


def compare_first(happened: Played) -> None:
    """Raise a :class:`Disagreement` at the first thing that does not hold in an example of the first edition."""
    compare_by(COMPARISONS, happened)


def expects_nothing(expected: Json) -> bool:
    """Whether an expectation holds whatever happens."""
    return not any(value not in ({}, []) for value in expected.values())


# The board


def _areas(happened: Played, wanted: Json) -> None:
    """An area with nothing in it is empty."""
    for area, said in wanted.items():
        there = {"power-token" if key == "token" else key: value for key, value in (said or {}).items()}
        compare_areas(happened, {area: there or {"units": {}, "house": None}})


def _removed_orders(happened: Played, wanted: Sequence[str]) -> None:
    for area in wanted:
        laid = any(area in state.orders for state in (happened.before, *happened.steps))
        if not laid or area in happened.shown.orders:
            raise Disagreement(f"the order in {area} {'is still there' if laid else 'was never there'}")


def _reachable(happened: Played, wanted: Json) -> None:
    """Land areas into which a unit may march by the order that lies there."""
    said = dict(wanted)
    origin, to = said.pop("from"), said.pop("to")
    if said:
        raise CaseError(f"reachable: not understood: {', '.join(sorted(said))}")
    game = game_of(happened.before)
    house = game.state.house_in(origin)
    if house is None or origin not in game.orders_of(house, "march"):
        raise CaseError(f"nobody marches from {origin}")
    options = march_options(game, house, origin)
    movable = options.origins[origin].units
    one = c.MarchOrder(house, origin)
    found = [
        area
        for area in sorted(options.origins[origin].to)
        if any(options.is_legal(_with_move(one, area, unit)) for unit in movable)
    ]
    same("reachable", sorted(to), found)


def _with_move(march: c.MarchOrder, to: str, unit: str) -> c.MarchOrder:
    return c.MarchOrder(march.house, march.area, (c.Move(to, {unit: 1}),))


def _power(happened: Played, wanted: Json) -> None:
    for house, number in wanted.items():
        same(f"Power of {house}", number, happened.shown.power.get(house))


def _holders(happened: Played, wanted: Json) -> None:
    for token, house in wanted.items():
        same(f"holder of {token}", house, happened.shown.tokens.get(TOKENS[token]))


def _neutral(happened: Played, wanted: Json) -> None:
    """What stood there and is null now is out of the game."""
    for area, force in wanted.items():
        if area not in happened.edition.board:
            raise CaseError(f"unknown area {area}")
        if force is None and area not in happened.before.neutral:
            raise Disagreement(f"{area} had no neutral force")
        same(f"neutral force in {area}", force, happened.shown.neutral.get(area))


# Trials


def _tried(legal: bool) -> Callable[[Played, Sequence[Json]], None]:
    def compare_trials(happened: Played, wanted: Sequence[Json]) -> None:
        for action in wanted:
            if not isinstance(action, dict):
                raise CaseError(f"no action: {action}")
            refusal = happened.try_action(action)
            if legal and refusal is not None:
                raise Disagreement(f"{action} is refused: {refusal}")
            if not legal and refusal is None:
                raise Disagreement(f"{action} is accepted")

    return compare_trials


def _next_step(happened: Played, wanted: str) -> None:
    """The decision that is asked for, or the step that begins after the position that is compared."""
    asked = {one.kind for one in THRONES.decisions(happened.state)}
    began = [fact.step for fact in happened.facts if isinstance(fact, f.StepBegan)]
    shown = sum(1 for fact in _facts_until_shown(happened) if isinstance(fact, f.StepBegan))
    following = began[shown] if shown < len(began) else None
    word = STEPS.get(wanted, wanted)
    if word != following and word not in asked:
        raise Disagreement(f"next step: expected {wanted}, found {following}, asked are {', '.join(sorted(asked))}")


def _facts_until_shown(happened: Played) -> list[Fact]:
    """The facts before the step that follows on the position that is compared."""
    facts, state = [], happened.before
    for fact in happened.facts:
        if isinstance(fact, f.StepBegan) and state == happened.shown:
            break
        facts.append(fact)
        state = THRONES.evolve(state, fact)
    return facts


# What must happen to a beaten defender


def _if_defender_loses(happened: Played, wanted: Json) -> None:
    """Every pair of cards is played; wherever the defender loses, it must be so."""
    fates = {key: value for key, value in wanted.items() if key != "may-be-casualty"}
    if not fates or any(value != "destroyed" or not is_routed(unit) for unit, value in fates.items()):
        raise CaseError(f"not understood: {wanted}")
    start = _before_cards(happened)
    assert start.combat is not None
    attacker, defender, area = start.combat.attacker, start.combat.defender, start.combat.area
    lost = 0
    for one, other in product(start.hands[attacker], start.hands[defender]):
        cards = {attacker: one, defender: other}
        facts, offered = _fought_out(happened, start, cards)
        decided = [fact for fact in facts if isinstance(fact, f.CombatDecided)]
        if not decided or decided[-1].loser != defender:
            continue
        lost += 1
        for unit in fates:
            there = start.units_in(area).get(unit, 0)
            destroyed = [one for one in facts if isinstance(one, f.UnitsDestroyed) and one.house == defender]
            gone = sum(fact.units.get(unit, 0) for fact in destroyed)
            if not there or gone != there:
                raise Disagreement(f"{one} against {other}: of {there} {unit} {gone} are destroyed")
            if "may-be-casualty" in wanted:
                same(f"{unit} may be a casualty", wanted["may-be-casualty"], unit in offered)
    if not lost:
        raise Disagreement("the defender never loses")
    happened.notes.append(f"every pair of cards is played; in {lost} the defender loses")


def _before_cards(happened: Played) -> State:
    """The battle where its cards are chosen, all support by its defaults."""
    state = happened.state
    for _ in range(MOST_STEPS):
        owed = THRONES.decisions(state)
        if state.combat is None or not owed:
            break
        if owed[0].kind == "house-card":
            return state
        state = happened.decide(state, owed[0].default).state
    raise CaseError("no battle waits for its cards")


def _fought_out(happened: Played, state: State, cards: Mapping[str, str]) -> tuple[list[Fact], set[str]]:
    """A battle with these cards, by defaults: its facts, and every unit that could be chosen as a casualty."""
    facts: list[Fact] = []
    offered: set[str] = set()
    for _ in range(MOST_STEPS):
        if state.combat is None:
            return facts, offered
        one = THRONES.decisions(state)[0]
        answer = one.default
        if isinstance(one.options, SomeUnits) and one.kind == "casualties":
            offered |= set(one.options.units)
        if one.kind == "house-card":
            answer = c.HouseCardChoice(one.player, one.default.area, cards[one.player])
        ruling = happened.decide(state, answer)
        state = ruling.state
        facts += ruling.facts
        for fact in ruling.facts:
            if isinstance(fact, Answered) and fact.how == "forced" and isinstance(fact.answer, c.Casualties):
                offered |= set(fact.answer.units)
    raise Disagreement("the battle does not end")


# Values


def _values(happened: Played, wanted: Json) -> None:
    for name, value in wanted.items():
        for pattern, found in _patterns(happened.edition):
            match = pattern.fullmatch(name)
            if match is not None:
                same(name, value, found(happened, match.groupdict()))
                break
        else:
            raise CaseError(f"value not understood: {name}")


def _subject(happened: Played, said: Mapping[str, Any]) -> str:
    """The House that a value is about: named, else the one that acts first, else the only one there is."""
    if said.get("house"):
        return str(said["house"])
    for action in happened.actions:
        if "house" in action:
            return str(action["house"])
    houses = {str(there["house"]) for there in happened.setup.get("areas", {}).values() if "house" in there}
    if len(houses) == 1:
        return houses.pop()
    raise CaseError("whose value is this?")


def _game(happened: Played) -> Game:
    return game_of(happened.shown)


def _of(kind: type[Any], happened: Played, what: str) -> Any:
    found = [fact for fact in happened.facts if isinstance(fact, kind)]
    if not found:
        raise Disagreement(f"{what}: there is no {kind.__name__}")
    return found[-1]


def _strength(happened: Played, said: Mapping[str, Any]) -> int:
    """What a side counts at a stage, or the part of it that is support."""
    began = _of(f.CombatBegan, happened, "strength")
    house = said.get("house") or getattr(began, said["side"])
    stage = said.get("stage") or "initial"
    counted = [
        fact
        for fact in happened.facts
        if isinstance(fact, f.StrengthCounted) and (fact.house, fact.stage, fact.area) == (house, stage, began.area)
    ]
    if not counted:
        raise Disagreement(f"the {stage} strength of {house} is never counted")
    if said.get("group"):
        return sum(line.amount for line in counted[-1].lines if line.group == said["group"])
    return int(counted[-1].total)


def _marching(with_support: bool) -> Callable[[Played, Mapping[str, Any]], int]:
    """Strength against a neutral force."""

    def found(happened: Played, said: Mapping[str, Any]) -> int:
        counted = [fact for fact in happened.facts if isinstance(fact, f.StrengthCounted) and fact.stage == "neutral"]
        if not counted:
            raise Disagreement("nobody marches against a neutral force")
        return sum(line.amount for line in counted[-1].lines if with_support or line.group != "support")

    return found


def _support_from(happened: Played, said: Mapping[str, Any]) -> int:
    """What the Support order of an area gives, in the battle that was fought or in any next to it."""
    counted = [fact for fact in happened.facts if isinstance(fact, f.StrengthCounted) and fact.stage != "known"]
    lines = [
        line for fact in counted[-2:] for line in fact.lines if line.group == "support" and line.area == said["area"]
    ]
    if not lines:
        game = game_of(happened.before)
        beside = next((one for one in _supported(game, said["area"])), None)
        lines = support_lines(game, None, said["area"], beside, "attacker") if beside else []
    return sum(line.amount for line in lines)


def _supported(game: Game, area: str) -> list[str]:
    """Areas in which a Support order that lies in ``area`` can support."""
    if area not in game.state.orders:
        token = next(token.id for token in game.edition.tokens.values() if token.type == "support")
        order = PlacedOrder(game.houses[0], token)
        state = _with_orders(game.state, {**game.state.orders, area: order})
        game = game_of(state)
    return [
        other
        for other in sorted(game.board.neighbours[area])
        if not game.board.is_port(other) and any(area in found for found in eligible_orders(game, other).values())
    ]


def _with_orders(state: State, orders: dict[str, PlacedOrder]) -> State:
    return replace(state, orders=dict(sorted(orders.items())))


def _worth_in_battle(happened: Played, said: Mapping[str, Any]) -> int:
    """What units count by themselves, in an attack on an area without a castle."""
    game = game_of(happened.before)
    board = game.board
    target = next(area for area in board.land if not board.has_castle(area))
    units = read_counted(said["units"])
    lines = unit_lines(game, None, "units", units, game.houses[0], target, target, "attacker")
    return sum(line.amount for line in lines)


PLURALS = {"footmen": "footman", "knights": "knight", "ships": "ship", "siege-engines": "siege-engine"}


def read_counted(text: str) -> Units:
    """``2-knights-1-footman``."""
    units: Units = {}
    for number, word in re.findall(r"(\d+)-((?:routed-)?[a-z]+(?:-[a-z]+)?)(?=-\d|$)", text):
        lying, unit = word.startswith("routed-"), word.removeprefix("routed-")
        unit = PLURALS.get(unit, unit)
        name = f"routed-{unit}" if lying else unit
        units[name] = units.get(name, 0) + int(number)
    return units


def _to_remove(happened: Played, said: Mapping[str, Any]) -> int:
    """How many units a House over its limit must give up."""
    asked = [one.default for state in happened.steps for one in THRONES.decisions(state)]
    forced = [fact.answer for fact in happened.facts if isinstance(fact, Answered) and fact.how == "forced"]
    for answer in (*asked, *forced):
        if isinstance(answer, c.ReconcileSupply) and answer.house == said["house"]:
            return sum(size(units) for units in answer.units.values())
    return 0


def _points(happened: Played, said: Mapping[str, Any]) -> int:
    """Points of an area when its House is asked, or those left when it has mustered."""
    if said.get("left"):
        return progress_of(happened).points.get(said["area"], 0)
    options = progress_of(happened).options
    return options.areas[said["area"]].points if said["area"] in options.areas else 0


def _targets(happened: Played, said: Mapping[str, Any]) -> list[str]:
    """What a Raid order could have hit, when it last lay there."""
    for state in reversed((happened.before, *states_of(happened))):
        game = game_of(state)
        token = game.token(said["area"]) if state.charter.edition else None
        if token is not None and token.type == "raid":
            return list(targets(game, said["area"]))
    raise Disagreement(f"there was no Raid order in {said['area']}")


def states_of(happened: Played) -> list[State]:
    """Every state on the way, fact by fact."""
    states, state = [], happened.before
    for fact in happened.facts:
        state = THRONES.evolve(state, fact)
        states.append(state)
    return states


def _fewest_seas(happened: Played, said: Mapping[str, Any]) -> int | None:
    """The shortest chain of seas between two land areas, whoever has Ships there."""
    board = happened.edition.board
    reached = {sea for sea in board.neighbours[said["area"]] if board.is_sea(sea)}
    seen, number = set(reached), 1
    while reached:
        if any(said["other"] in board.neighbours[sea] for sea in reached):
            return number
        reached = {other for sea in reached for other in board.neighbours[sea] if board.is_sea(other)} - seen
        seen |= reached
        number += 1
    return None


def _icons(field: str) -> Callable[[Played, Mapping[str, Any]], int]:
    """Icons that an area brings to whoever controls it."""

    def found(happened: Played, said: Mapping[str, Any]) -> int:
        game, area = _game(happened), said["area"]
        house = said.get("house")
        if area not in happened.setup.get("areas", {}) and not house:
            return int(getattr(game.board[area], field))
        controller = game.controller(area)
        if controller is None or (house and controller != house):
            return 0
        return int(getattr(game.board[area], field))

    return found


def _success(happened: Played, said: Mapping[str, Any]) -> bool:
    against = [fact.area for fact in happened.facts if isinstance(fact, f.StrengthCounted) and fact.stage == "neutral"]
    return any(isinstance(fact, f.NeutralForceRemoved) and fact.area in against for fact in happened.facts)


def _retreats(happened: Played, said: Mapping[str, Any]) -> list[str]:
    for state in (happened.state, *reversed(happened.steps), happened.before):
        combat = state.combat
        if combat is not None and combat.loser is not None:
            game = game_of(state)
            return sorted(legal_areas(game, combat.loser, participating(game, combat, combat.loser))[0])
    raise Disagreement("nobody has to retreat")


def _attack(field: str) -> Callable[[Played, Mapping[str, Any]], Any]:
    return lambda happened, said: getattr(_of(f.WildlingAttackDecided, happened, field), field)


def _bidder(happened: Played, said: Mapping[str, Any]) -> str:
    named = [fact for fact in happened.facts if isinstance(fact, f.BidderNamed) and fact.which == said["which"]]
    if not named:
        raise Disagreement(f"there is no {said['which']} bidder")
    return named[-1].house


def _revealed(happened: Played, said: Mapping[str, Any]) -> int:
    return sum(
        card is not None
        for fact in happened.facts
        if isinstance(fact, f.HouseCardsRevealed)
        for card in fact.cards.values()
    )


def _gained(happened: Played, said: Mapping[str, Any]) -> int:
    house = _subject(happened, said)
    return happened.shown.power[house] - happened.before.power.get(house, 0)


VALUES: tuple[tuple[str, Callable[[Played, Mapping[str, Any]], Any]], ...] = (
    ("{track}", lambda h, s: h.shown.tracks[s["track"]]),
    ("(?:{house}-)?{track}-position", lambda h, s: h.shown.position_of(_subject(h, s), s["track"])),
    ("(?:{house}-)?available-power", lambda h, s: h.shown.power[_subject(h, s)]),
    ("{house}-power", lambda h, s: h.shown.power[s["house"]]),
    ("(?:{house}-)?power-gained", _gained),
    ("(?:{house}-)?(?:house-)?cards-in-hand", lambda h, s: len(h.shown.hands[_subject(h, s)])),
    ("(?:{house}-)?used-cards", lambda h, s: len(h.shown.discards[_subject(h, s)])),
    ("(?:{house}-)?supply-icons-from-{area}", _icons("supply")),
    ("(?:{house}-)?power-icons-from-{area}", _icons("power")),
    ("{house}-supply", lambda h, s: h.shown.supply[s["house"]]),
    ("{house}-army-sizes", lambda h, s: armies(_game(h).sizes(s["house"]).values())),
    ("{house}-supply-limit", lambda h, s: _game(h).supply_limit(s["house"])),
    ("{house}-units-to-remove", _to_remove),
    ("(?:{house}-)?special-orders", lambda h, s: _game(h).stars(_subject(h, s))),
    ("{house}-areas", lambda h, s: len(_game(h).castles_of(s["house"]))),
    ("points-(?P<left>left-)?{area}", _points),
    ("houses-asked-in-order", lambda h, s: acted(h)),
    ("targets-of-{area}", _targets),
    ("battles-started", lambda h, s: sum(isinstance(fact, f.CombatBegan) for fact in h.facts)),
    ("fewest-seas-from-{area}-to-{other}", _fewest_seas),
    (r"strength-of-(?P<units>\d.*)", _worth_in_battle),
    ("support-from-{area}", _support_from),
    ("(?:{side}|{house})-(?P<stage>initial|final)-strength", _strength),
    ("(?:{side}|{house})-(?P<group>support)", _strength),
    ("winner", lambda h, s: _of(f.CombatDecided, h, "winner").winner),
    ("loser", lambda h, s: _of(f.CombatDecided, h, "loser").loser),
    ("casualties", lambda h, s: _of(f.CasualtiesCounted, h, "casualties").number),
    ("retreat-areas", _retreats),
    ("marching-strength", _marching(with_support=False)),
    ("with-support", _marching(with_support=True)),
    ("house-cards-played", _revealed),
    ("success", _success),
    ("areas-{area}-can-support", lambda h, s: _supported(game_of(h.before), s["area"])),
    ("controller-of-{area}", lambda h, s: _game(h).controller(s["area"])),
    ("instant-win", lambda h, s: _game(h).victory_areas),
    ("round", lambda h, s: h.shown.round),
    ("wildlings", lambda h, s: h.shown.threat),
    ("wildling-strength", _attack("strength")),
    ("nights-watch-strength", _attack("watch")),
    ("wildling-attack-won-by", _attack("winner")),
    ("(?P<which>highest|lowest)-bidder", _bidder),
)
"""Names of values, and where each is read; words in braces stand for any House, area, track, or side of a battle."""


@cache
def _patterns(edition: Edition) -> tuple[tuple[re.Pattern[str], Callable[[Played, Mapping[str, Any]], Any]], ...]:
    areas = "|".join(sorted(edition.board.areas, key=len, reverse=True))
    words = {
        "house": f"(?P<house>{'|'.join(edition.houses)})",
        "area": f"(?P<area>{areas})",
        "other": f"(?P<other>{areas})",
        "track": f"(?P<track>{'|'.join(TRACKS)})",
        "side": "(?P<side>attacker|defender)",
    }
    found = []
    for name, read in VALUES:
        pattern = name
        for word, means in words.items():
            pattern = pattern.replace(f"{{{word}}}", means)
        found.append((re.compile(pattern), read))
    return tuple(found)


COMPARISONS: dict[str, Callable[[Played, Any], None]] = {
    "areas": _areas,
    "values": _values,
    "legal": _tried(legal=True),
    "illegal": _tried(legal=False),
    "removed_orders": _removed_orders,
    "reachable": _reachable,
    "power": _power,
    "holders": _holders,
    "neutral": _neutral,
    "next_step": _next_step,
    "if_defender_loses": _if_defender_loses,
}
