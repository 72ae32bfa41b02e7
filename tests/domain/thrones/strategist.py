"""A player that plans its rounds: targets first, then the orders that reach, support and guard them.

Bots sample what is legal and march without sense, so their games say little about games of people. This one takes what
is worth taking, keeps what it holds, musters where it fights and leaves Power tokens where an area is worth one. It
reads the position and the options of a decision, so that all its answers are legal; chance is the caller's.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from itertools import islice, product
from typing import Any

import msgspec
from msgspec.structs import replace

from api.games.thrones.following.charter import settings_of
from api.games.thrones.logs import records as r
from api.games.thrones.logs.from_facts import Ruled, to_log
from domain.kernel.decision import Decision, Pick
from domain.kernel.refusal import Refusal
from domain.kernel.ruleset import Ruling
from domain.thrones.language import answers as c
from domain.thrones.language.pieces import AreaId, HouseId, OrderId, Units, counted, each, size, unit_type
from domain.thrones.language.start import Start
from domain.thrones.language.state import State
from domain.thrones.rules.action.march_options import Marches, Origin
from domain.thrones.rules.westeros.mustering import MusterOptions, Progress
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.charter import Charter
from domain.thrones.tables.edition import Edition
from domain.thrones.tables.editions.composed import compose, edition_of
from domain.thrones.tables.variations import PRESETS

VALUE = {"footman": 1, "ship": 1, "knight": 2, "siege-engine": 2}
DEAR = {"footman": 2, "ship": 3, "siege-engine": 4, "knight": 5}
MOST_MARCHES = 400


class Temper(msgspec.Struct, frozen=True):
    """How a strategist plays, in tenths: readiness to fight, care for what it holds, love of ships, of Power."""

    nerve: int
    care: int
    sails: int
    thrift: int
    order: int


def temper(chance: random.Random) -> Temper:
    return Temper(*(chance.randint(2, 10) for _ in range(5)))


class Strategist:
    """Answers for one House."""

    def __init__(self, edition: Edition, house: HouseId, temper: Temper) -> None:
        self.edition, self.board, self.house, self.temper = edition, edition.board, house, temper

    def answer(self, state: State, decision: Decision[Any], pick: Pick) -> c.HouseAnswer:
        """A legal answer to a decision."""
        how = getattr(self, f"_{decision.kind.replace('-', '_')}", None)
        found: c.HouseAnswer | None = how(state, decision, pick) if how is not None else None
        return decision.sample(pick) if found is None else found

    # What things are worth

    def _worth(self, state: State, area: AreaId) -> int:
        place = self.board[area]
        if self.board.is_land(area):
            return 1 + 3 * place.castle + 2 * place.power + 2 * place.supply
        coast = [one for one in self.board.neighbours[area] if state.control.get(one) == self.house]
        return 1 + min(3, sum(self.board.has_castle(one) for one in coast))

    def _strength(self, units: Units, to: AreaId | None = None) -> int:
        """What units count, attacking ``to`` or defending."""
        siege = 4 if to is not None and self.board.has_castle(to) else 0
        kinds = [unit_type(unit) for unit in each(units)]
        return sum(siege if kind == "siege-engine" else VALUE[kind] for kind in kinds)

    def _foe(self, state: State, area: AreaId) -> int | None:
        """The strength that is met in an area; None where nobody is."""
        force = state.units.get(area)
        garrison = state.garrisons.get(area, 0) if state.control.get(area) != self.house else 0
        if force is not None and force.house != self.house:
            return self._strength(force.units) + garrison
        return garrison or None

    def _threat(self, state: State, area: AreaId) -> int:
        """The strongest enemy army next to an area that could enter it."""
        near = [one for one in self.board.neighbours[area] if self.board.is_land(one) == self.board.is_land(area)]
        return max((self._strength(state.units_in(one), area) for one in near if self._is_foe(state, one)), default=0)

    def _is_foe(self, state: State, area: AreaId) -> bool:
        return state.house_in(area) not in (None, self.house)

    def _gain(self, state: State, to: AreaId, strength: int) -> float:
        """What it is worth to go there with so much strength, support included."""
        neutral = state.neutral.get(to)
        if neutral is not None:
            return self._worth(state, to) + 2 if isinstance(neutral, int) and strength >= neutral else -9
        foe = self._foe(state, to)
        if foe is None:
            mine = state.control.get(to) == self.house or state.house_in(to) == self.house
            guard = self._threat(state, to) * self.temper.care / 30
            return guard if mine else self._worth(state, to) + guard / 2
        odds = 0.5 + (strength - foe) / 5 + (self.temper.nerve - 5) / 20
        dead = 2 * size(state.units_in(to))
        if self.board.is_port(to):
            return -9
        return min(1.0, odds) * (self._worth(state, to) + dead) - (3 if odds < 0.5 else 0) - max(0.0, 1 - odds) * 4

    # Planning

    def _reach(self, state: State, area: AreaId) -> tuple[AreaId, ...]:
        board = self.board
        if board.is_port(area):
            return (board.sea_of(area),)
        if board.is_sea(area):
            return tuple(one for one in board.neighbours[area] if board.is_sea(one))
        found, seen = {one for one in board.neighbours[area] if board.is_land(one)}, set[AreaId]()
        waves = [area]
        while waves:
            for one in board.neighbours[waves.pop()]:
                if board.is_sea(one) and one not in seen and state.house_in(one) == self.house:
                    seen.add(one)
                    waves.append(one)
                    found.update(other for other in board.neighbours[one] if board.is_land(other))
        return tuple(sorted(found - {area}))

    def _targets(self, state: State, area: AreaId, taken: set[AreaId]) -> list[tuple[float, AreaId]]:
        units = state.units_in(area)
        found = []
        for to in self._reach(state, area):
            friends = [one for one in self.board.neighbours[to] if one != area and state.house_in(one) == self.house]
            support = max((self._strength(state.units_in(one), to) for one in friends), default=0)
            gain = self._gain(state, to, self._strength(units, to) + support)
            found.append((gain - 3 * (to in taken), to))
        return sorted(found, reverse=True)

    def _assign_orders(self, state: State, decision: Decision[Any], pick: Pick) -> c.HouseAnswer | None:
        options: Any = decision.options
        tokens = self.edition.tokens
        left = [token for token in options.tokens if token not in options.prohibited]
        stars = options.stars
        orders: dict[AreaId, OrderId] = {}
        taken: set[AreaId] = set()

        def lay(area: AreaId, kind: str, *, star: bool) -> bool:
            nonlocal stars
            fit = [token for token in left if tokens[token].type == kind and (stars > 0 or not tokens[token].star)]
            if not fit or area in orders or len(orders) >= options.required:
                return False
            token = sorted(fit, key=lambda one: (tokens[one].star != star, -tokens[one].modifier, one))[0]
            left.remove(token)
            stars -= tokens[token].star
            orders[area] = token
            return True

        plans = []
        for area in options.areas:
            best = self._targets(state, area, taken)[:2]
            spread = best[1][0] / 2 if len(best) > 1 and size(state.units_in(area)) > 1 else 0
            risk = self._worth(state, area) * self._threat(state, area) * self.temper.care / 120
            plans.append((best[0][0] + spread - risk + pick(30) / 10, area) if best else (-9.0, area))
        for value, area in sorted(plans, reverse=True)[: 2 + (self.temper.nerve > 4) + (pick(10) < self.temper.nerve)]:
            again = self._targets(state, area, taken)
            if value > 1 and again and again[0][0] > 0:
                fights = self._foe(state, again[0][1]) is not None or again[0][1] in state.neutral
                if lay(area, "march", star=fights):
                    taken.add(again[0][1])
        fought = {to for to in taken if self._foe(state, to) is not None or to in state.neutral}
        rest = []
        for area in options.areas:
            place, near = self.board[area], self.board.neighbours[area]
            helps = sum(self._strength(state.units_in(area), to) + 1 for to in fought if to in near)
            guarded = sum(self._threat(state, one) > 0 for one in near if state.house_in(one) == self.house)
            threat = self._threat(state, area)
            raids = sum(self._is_foe(state, one) for one in near if self.board.is_land(area) <= self.board.is_land(one))
            wish = {
                "support": 3 * helps + guarded + threat / 2,
                "defense": threat * (1 + self.temper.care / 10) if not self.board.is_port(area) else 0.0,
                "raid": min(3, raids) * (1.6 if self.board.is_sea(area) else 0.9),
                "consolidate": (1 + place.power) * self.temper.thrift / 4 + 2 * place.castle
                if self.board.is_land(area)
                else 1.0 * self.board.is_port(area),
            }
            rest += [(value + pick(20) / 10, area, kind) for kind, value in wish.items()]
        for _, area, kind in sorted(rest, reverse=True):
            lay(area, kind, star=kind != "consolidate" or self.board.has_castle(area))
        for area in options.areas:
            for kind in ("support", "defense", "raid", "consolidate", "march"):
                lay(area, kind, star=False)
        found = replace(decision.default, orders=dict(sorted(orders.items())), draft=False)
        return found if _is_legal(decision, found) else None

    def _raven(self, state: State, decision: Decision[Any], pick: Pick) -> c.HouseAnswer | None:
        word = ("look", "look", "look", "nothing", "replace")[pick(5)]
        fit = [one for one in decision.options.every(decision.default) if one.choice == word]
        return fit[pick(len(fit))] if fit else None

    # Actions

    def _raid(self, state: State, decision: Decision[Any], pick: Pick) -> c.HouseAnswer | None:
        kinds = {"support": 4, "raid": 3, "consolidate": 5, "defense": 2}
        choices = list(decision.options.every(decision.default))

        def liking(one: c.Raid) -> int:
            placed = [state.orders[area] for area in (one.target, one.second) if area in state.orders]
            return sum(kinds.get(self.edition.tokens[order.token].type, 1) for order in placed)

        return max(choices, key=lambda one: (liking(one), pick(9)))

    def _march(self, state: State, decision: Decision[Any], pick: Pick) -> c.HouseAnswer | None:
        options = decision.options
        assert isinstance(options, Marches)
        best, most = None, -99.0
        for area in sorted(options.origins):
            for answer in islice(self._ways(state, options, area), MOST_MARCHES):
                value = self._value(state, options, answer) + pick(10) / 20
                if value > most and options.is_legal(answer):
                    best, most = answer, value
        if best is not None and best.moves:
            token = replace(best, leave_power=True)
            gone = self._worth(state, best.area)
            if gone + pick(3) > 6 - self.temper.care / 4 and options.is_legal(token):
                return token
        return best

    def _ways(self, state: State, options: Marches, area: AreaId) -> Iterator[c.MarchOrder]:
        """Ways to spread the units of an area over the most promising destinations."""
        origin = options.origins[area]
        yield c.MarchOrder(self.house, area)
        units = list(each(origin.units))
        order = self._strength_of_order(state, area)
        gains = sorted(
            ((self._gain(state, to, self._strength(origin.units, to) + order + 2), to) for to in origin.to),
            reverse=True,
        )
        places: list[AreaId | None] = [None, *(to for _, to in gains[: 4 if len(units) < 4 else 3])]
        seen = set()
        for goals in product(places, repeat=len(units)):
            going: dict[AreaId, list[str]] = {}
            for unit, to in zip(units, goals, strict=True):
                if to is not None:
                    going.setdefault(to, []).append(unit)
            moves = tuple(c.Move(to, counted(going[to])) for to in sorted(going))
            key = str(moves)
            if moves and key not in seen:
                seen.add(key)
                yield c.MarchOrder(self.house, area, moves)

    def _strength_of_order(self, state: State, area: AreaId) -> int:
        placed = state.orders.get(area)
        return self.edition.tokens[placed.token].modifier if placed is not None else 0

    def _value(self, state: State, options: Marches, answer: c.MarchOrder) -> float:
        origin: Origin = options.origins[answer.area]
        if not answer.moves:
            return -0.5
        value, gone = 0.0, 0
        for move in answer.moves:
            near = [one for one in self.board.neighbours[move.to] if one != answer.area and one in state.orders]
            mine = [one for one in near if state.orders[one].house == self.house]
            support = sum(
                self._strength(state.units_in(one), move.to) + self._strength_of_order(state, one)
                for one in mine
                if self.edition.tokens[state.orders[one].token].type == "support"
            )
            strength = self._strength(move.units, move.to) + support + self._strength_of_order(state, answer.area)
            guard = state.orders.get(move.to)
            if guard is not None and guard.house != self.house:
                token = self.edition.tokens[guard.token]
                strength -= token.modifier if token.type == "defense" else 0
            value += self._gain(state, move.to, strength)
            gone += size(move.units)
        if gone == size(origin.units) and not origin.stuck:
            value -= (
                self._worth(state, answer.area) * (0.2 + self._threat(state, answer.area) / 8) * self.temper.care / 8
            )
        elif self._threat(state, answer.area):
            value -= gone * self.temper.care / 20
        return value

    def _consolidate(self, state: State, decision: Decision[Any], pick: Pick) -> c.HouseAnswer | None:
        choices = list(decision.options.every(decision.default))
        musters = [one for one in choices if one.use == "muster"]
        if musters and pick(10) < 8:
            return musters[0]
        return next((one for one in choices if one.use == "power"), None)

    def _capture_ships(self, state: State, decision: Decision[Any], pick: Pick) -> c.HouseAnswer | None:
        return max(decision.options.every(decision.default), key=lambda one: one.ships)

    def _muster(self, state: State, decision: Decision[Any], pick: Pick) -> c.HouseAnswer | None:
        options = decision.options
        assert isinstance(options, MusterOptions)
        progress, steps = Progress(options), []
        while open_steps := progress.legal_steps():
            step = max(open_steps, key=lambda one: self._need(state, progress, one) + pick(20) / 10)
            progress.take(step)
            steps.append(step)
        found = c.Muster(self.house, tuple(steps))
        return found if _is_legal(decision, found) else None

    def _need(self, state: State, progress: Progress, step: c.MusterStep) -> float:
        threat = min(4, self._threat(state, step.to))
        if step.unit == "ship":
            seas = [step.to] if self.board.is_sea(step.to) else list(self.board.neighbours[step.to])
            foes = sum(self._is_foe(state, one) for sea in seas for one in self.board.neighbours[sea])
            empty = sum(state.house_in(sea) is None for sea in seas)
            return (foes + 2 * empty) * self.temper.sails / 8 - progress.sizes.get(step.to, 0)
        prizes = sum(
            state.control.get(one) != self.house and self.board.is_land(one) for one in self.board.neighbours[step.area]
        )
        kind = unit_type(step.unit)
        best = {"footman": 1.0, "knight": 1.6 + self.temper.nerve / 8, "siege-engine": self.temper.nerve / 6}[kind]
        return best + threat / 2 + prizes / 3 + (1.5 if step.upgrade else 0)

    # Westeros

    def _reconcile_supply(self, state: State, decision: Decision[Any], pick: Pick) -> c.HouseAnswer | None:
        def price(answer: Any) -> float:
            return (
                sum(
                    DEAR[unit_type(unit)] + self._threat(state, area) / 4
                    for area, units in answer.units.items()
                    for unit in each(units)
                )
                + pick(10) / 10
            )

        return min(islice(decision.options.every(decision.default), 200), key=price)

    _destroy_units = _reconcile_supply
    _horde_castle_units = _reconcile_supply

    def _influence_bid(self, state: State, decision: Decision[Any], pick: Pick) -> c.HouseAnswer | None:
        most = state.power.get(self.house, 0)
        share = {"iron-throne": 3, "fiefdoms": 3, "kings-court": 5}[decision.default.track]
        bid = most * share * (4 + pick(8)) // (60 + 3 * self.temper.thrift)
        return replace(decision.default, bid=min(most, bid + pick(2)))

    def _wildling_bid(self, state: State, decision: Decision[Any], pick: Pick) -> c.HouseAnswer | None:
        most = state.power.get(self.house, 0)
        fair = 1 + state.threat // len(state.charter.houses)
        return replace(decision.default, bid=max(0, min(most, fair + pick(4) - 2)))

    def _dark_wings(self, state: State, decision: Decision[Any], pick: Pick) -> c.HouseAnswer | None:
        return replace(
            decision.default, choice=("clash-of-kings", "collect-power", "collect-power", "nothing")[pick(4)]
        )

    def _throne_of_blades(self, state: State, decision: Decision[Any], pick: Pick) -> c.HouseAnswer | None:
        return replace(decision.default, choice=("mustering", "mustering", "supply", "nothing")[pick(4)])

    # Battles

    def _support(self, state: State, decision: Decision[Any], pick: Pick) -> c.HouseAnswer | None:
        combat: Any = state.combat
        side = combat.side_of(self.house)
        if side is None:
            side = ("attacker", "defender")[pick(2)] if pick(8) == 0 else "withhold"
        words = {area: side if side in able else "withhold" for area, able in decision.options.orders.items()}
        return replace(decision.default, orders=words)

    def _accept_support(self, state: State, decision: Decision[Any], pick: Pick) -> c.HouseAnswer | None:
        return replace(decision.default, orders=dict.fromkeys(decision.default.orders, True))

    def _neutral_support_request(self, state: State, decision: Decision[Any], pick: Pick) -> c.HouseAnswer | None:
        return replace(decision.default, area=None, target=None)

    def _house_card(self, state: State, decision: Decision[Any], pick: Pick) -> c.HouseAnswer | None:
        """A strong card where the battle is close, a weak one where it is decided or goes for little."""
        combat: Any = state.combat
        mine = self.house == combat.attacker
        units = state.march.units if state.march is not None else {}
        defenders = state.units_in(combat.area)
        ahead = self._strength(units, combat.area) - self._strength(defenders)
        ahead = ahead if mine else -ahead
        prize = self._worth(state, combat.area) + size(units) + size(defenders)
        wanted = 4 if abs(ahead) <= 1 else 2 if abs(ahead) <= 3 else 1
        wanted -= prize < 4
        cards = self.edition.cards
        return min(
            decision.options.every(decision.default),
            key=lambda one: (abs(cards[one.choice].strength - wanted) + pick(3), one.choice),
        )

    def _blade_strength(self, state: State, decision: Decision[Any], pick: Pick) -> c.HouseAnswer | None:
        return replace(decision.default, choice="use" if pick(4) else "do-not-use")

    def _casualties(self, state: State, decision: Decision[Any], pick: Pick) -> c.HouseAnswer | None:
        return min(
            decision.options.every(decision.default),
            key=lambda one: sum(DEAR[unit_type(unit)] for unit in each(one.units)),
        )

    _skull_casualty = _casualties
    _retreat_losses = _casualties

    def _retreat_area(self, state: State, decision: Decision[Any], pick: Pick) -> c.HouseAnswer | None:
        def liking(one: Any) -> float:
            to = one.choice
            if to not in self.board:
                return -1
            mine = state.control.get(to) == self.house or state.house_in(to) == self.house
            return 3 * mine + self._worth(state, to) / 3 + size(state.units_in(to)) + pick(10) / 5

        return max(decision.options.every(decision.default), key=liking)


def _is_legal(decision: Decision[Any], answer: c.HouseAnswer) -> bool:
    try:
        decision.options.check(answer)
    except Refusal:
        return False
    return True


def play(charter: Charter, number: int, state: State) -> Iterator[tuple[c.HouseAnswer, Ruling[State]]]:
    """Play a position on to the end of the game, answer by answer."""
    chance = random.Random(f"strategists/{charter.edition}/{number}")
    edition = edition_of(charter)
    players = {house: Strategist(edition, house, temper(chance)) for house in charter.houses}
    while owed := THRONES.decisions(state):
        decision = owed[chance.randrange(len(owed))]
        answer = players[decision.player].answer(state, decision, chance.randrange)
        ruling = THRONES.decide(state, answer)
        yield answer, ruling
        state = ruling.state


class Played(msgspec.Struct, frozen=True):
    """A whole game of strategists: its charter, the answers with the positions after them, and what was ruled."""

    charter: Charter
    answers: tuple[tuple[c.HouseAnswer, State], ...]
    ruled: tuple[Ruled, ...]

    def log(self, rulings: int | None = None) -> r.Log:
        """The game, or its beginning, as a log of the site."""
        players = {house: f"player-{house}" for house in self.charter.houses}
        return to_log(
            self.ruled[:rulings],
            edition_of(self.charter),
            game="strategists",
            name="strategists",
            players=players,
            settings=settings_of(self.charter),
        )


@cache
def game(preset: str, players: int, number: int) -> Played:
    """Game number so-and-so of a table, a minute for each answer."""
    table = PRESETS[preset]
    houses = tuple(sorted(compose(table.variations).players(players).houses))
    charter = Charter(preset, houses, table.switches, chance="stated", variations=table.variations)
    start = THRONES.decide(THRONES.blank(), Start(charter=charter, seed=f"{number + 1:064x}"))
    answers, ruled = [], [Ruled("2026-11-01T00:00", start.facts)]
    for answer, ruling in play(charter, number, start.state):
        at = f"2026-11-{1 + len(ruled) // 1440:02d}T{len(ruled) // 60 % 24:02d}:{len(ruled) % 60:02d}"
        answers.append((answer, ruling.state))
        ruled.append(Ruled(at, ruling.facts))
    return Played(charter, tuple(answers), tuple(ruled))
