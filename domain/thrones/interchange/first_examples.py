"""Worked examples of the first edition's exchange format (``"ruleset": "agot1e"``): set-ups, actions and trials.

Its words are read here; they go the way of the other format (:mod:`~domain.thrones.interchange.examples`): decisions as
commands, engine steps by starting a game or a position. What is expected is compared in
:mod:`~domain.thrones.interchange.first_results`. What is left out is completed by docs/positions.md, and noted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import msgspec

from domain.kernel.decision import Decision
from domain.kernel.facts import Answered, AnswerSealed, Fact
from domain.kernel.refusal import Refusal
from domain.thrones import commands as c
from domain.thrones import facts as f
from domain.thrones.armies import complies
from domain.thrones.cases import CaseError, Disagreement
from domain.thrones.edition import Edition
from domain.thrones.interchange.examples import MOST_DEFAULTS, Example, charter_words
from domain.thrones.interchange.first_results import ARMY_SIZES, compare_first, expects_nothing, states_of
from domain.thrones.known import check_names
from domain.thrones.pieces import TOKEN_OF_TRACK, TRACKS, Units, plus, routed
from domain.thrones.positions import Fight, Partial, Where
from domain.thrones.procedures.wildling_assault import DEBT, LOWEST_DEBT
from domain.thrones.ruleset import THRONES
from domain.thrones.state import Force, PlacedOrder, State

Json = dict[str, Any]

TRACK_KEYS = {"turn_order": "iron-throne", "fiefdoms": "fiefdoms", "kings_court": "kings-court"}
TOKENS = {"iron-throne": "iron-throne-token"} | {name: name for name in TOKEN_OF_TRACK.values()}
WILDLING_BIDS = ("wildlings", "wildling", "wildling-attack", "nights-watch")

STEP_OF_ACTION = {
    "assign": "planning",
    "raven": "planning/raven",
    "raid": "action/raid",
    "discard-raid": "action/raid",
    "march": "action/march",
    "support": "action/march",
    "play-card": "combat/cards",
    "retreat": "combat/retreat",
    "consolidate": "action/consolidate",
}
"""Where an example stands whose first action this is; those of the Westeros phase are found by the open card."""

CARD_OF_ACTION = {"muster": "mustering", "remove-units": "supply"}

WINNERS_UNITS: Units = {"knight": 4}
LOSERS_UNITS: Units = {"footman": 3}
"""A battle of which only the cards and the outcome are said: strong enough to win, enough to lose."""


class FirstExample(Example):
    """One run of an example of this format."""

    KEYS = (*Example.KEYS, "restored", "note")

    def _play(self) -> None:
        self._check_words()
        if expects_nothing(self.expected):
            raise CaseError("nothing expected")
        self.steps: list[State] = []
        self._start()
        for actions in _grouped(self.actions):
            self._carry_out(actions)
        self._go_on()
        compare_first(self)

    def _expects_refusal(self) -> bool:
        return False

    @property
    def setup(self) -> Json:
        found: Json = self.example.get("setup", {})
        return found

    @property
    def trials(self) -> list[Json]:
        """Actions that must be accepted or refused in the state reached."""
        listed = [*self.expected.get("legal", ()), *self.expected.get("illegal", ())]
        return [one for one in listed if "do" in one]

    # Beginning

    def _start(self) -> None:
        players = self.setup.get("players", self.edition.player_counts[-1])
        houses = players if isinstance(players, list) else self.edition.players(players).houses
        if any(action["do"] == "setup" for action in self.actions):
            rest = sorted(set(self.setup) - {"players", "config"})
            if rest:
                raise CaseError(f"set-up not understood: {', '.join(rest)}")
            self._set_up(tuple(sorted(houses)), self.setup.get("config", {}))
            return
        reading = Reading(self.example, self.edition, self.actions, self.trials)
        partial = reading.partial(tuple(sorted(houses)))
        self.notes += reading.notes
        self._start_from(partial)
        for house, bid in reading.bids.items():
            self._give(c.WildlingBid(house=house, bid=bid))
        if not self.actions and partial.at.step == "combat/cards":
            for house, card in sorted(self.setup["cards"].items()):
                self._give(c.HouseCardChoice(house, self._embattled, card))

    @property
    def _embattled(self) -> str:
        return self.state.combat.area if self.state.combat else ""

    # Actions

    def _carry_out(self, actions: Sequence[Json]) -> None:
        """Actions that are one answer, or one call for support."""
        name = actions[0]["do"]
        if name == "setup":
            _only(actions[0], "house")
        elif name == "resolve-card":
            _only(actions[0], "card")
            self._resolve({"do": name, "card": card_named(self.edition, actions[0]["card"])})
        elif name == "support":
            self._call_for_support(actions)
        elif name == "consolidate" and self._is_at_once(actions[0]):
            self._consolidate(actions[0])
        elif name == "take-power":
            facts, self.shown = self._taken(actions[0])
            self.facts += facts
        else:
            for answer in self.read_first(actions, self.state):
                self._give(answer, actions)

    def _is_at_once(self, action: Json) -> bool:
        """Whether nobody is asked: the whole step is meant, or all Houses consolidate together."""
        return self.edition.variations.consolidate_orders == "first" or not {"house", "area", "from"} & set(action)

    def _consolidate(self, action: Json) -> None:
        """The step comes, once everything before it is answered; an order that is named brings its Power."""
        _only(action, "house", "area", "from")
        self._resolve({"do": "resolve-westeros-card", "card": "consolidate"})
        area = action.get("area", action.get("from"))
        spent = [(fact.house, fact.area) for fact in self.facts if isinstance(fact, f.OrderResolved)]
        if area is not None and not any(area == one and action.get("house", house) == house for house, one in spent):
            raise Disagreement(f"nobody consolidates in {area}")

    def _steps_of(self, partial: Partial) -> set[str]:
        """An example that consolidates after raids or marches is about the position after all of them."""
        found = super()._steps_of(partial)
        last = self.actions[-1]["do"] if self.actions else ""
        return found | ({"raid", "march", "consolidate"} if last == "consolidate" else set())

    def read_first(self, actions: Sequence[Json], state: State) -> list[c.HouseAnswer]:
        """The answers of a group of actions."""
        name = actions[0]["do"]
        if name not in READERS:
            raise CaseError(f"unknown action {name}")
        for action in actions:
            _check_places(action, self.edition)
        return READERS[name](actions, state, self.edition)

    def _give(self, answer: c.HouseAnswer, actions: Sequence[Json] = ()) -> None:
        """Give an answer when it is asked for. What the rules have done already, as the only thing to do, counts."""
        for _ in range(MOST_DEFAULTS):
            if self._has_happened(answer):
                return
            owed = THRONES.decisions(self.state)
            if not owed or any((one.player, one.kind) == (answer.house, answer.kind) for one in owed):
                break
            self._default()
        self._wait_for(answer)
        if actions:
            # What an action leaves out, such as the embattled area, is read at the moment of its decision.
            answer = next(one for one in self.read_first(actions, self.state) if one.house == answer.house)
            self.answered.append((actions[0], self.state, answer))
        self.rule(answer)

    def _take(self, state: State, facts: Sequence[Fact], after: State) -> None:
        super()._take(state, facts, after)
        self.steps.append(after)

    def _has_happened(self, answer: c.HouseAnswer) -> bool:
        """Whether the rules have applied an answer, as the only one there was, or have come to the same themselves."""
        sealed = [one.answer for one in self.facts if isinstance(one, AnswerSealed)]
        if self._was_forced(answer) or answer in sealed:
            return True
        if isinstance(answer, c.RetreatArea):
            went = [one for one in self.last if isinstance(one, f.UnitsRetreated | f.UnitsReturned)]
            return any((one.house, one.to) == (answer.house, answer.choice) for one in went)
        return False

    def _call_for_support(self, actions: Sequence[Json]) -> None:
        """Every House declares for its orders as its turn comes, in whatever order they are listed."""
        waiting: dict[str, dict[str, str]] = {}
        for action in actions:
            _only(action, "house", "from", "side")
            _check_places(action, self.edition)
            waiting.setdefault(action["house"], {})[action["from"]] = action["side"]
        for _ in range(MOST_DEFAULTS):
            waiting = {house: orders for house, orders in waiting.items() if not self._counts(orders)}
            if not waiting:
                return
            owed = THRONES.decisions(self.state)
            asked = next((one for one in owed if one.kind in SUPPORT and one.player in waiting), None)
            if asked is None:
                if not owed or not any(one.kind in (*SUPPORT, "accept-support") for one in owed):
                    break
                self._default()
                continue
            answer = supporting(asked, waiting.pop(asked.player), self.state)
            self.answered.append((actions[0], self.state, answer))
            self.rule(answer)
            if not waiting:
                return
        raise Disagreement(f"{', '.join(sorted(waiting))} cannot support")

    def _counts(self, orders: Mapping[str, str]) -> bool:
        """Whether Support orders have counted though nobody was asked, as one's own do against a neutral force."""
        counted = [fact for fact in self.facts if isinstance(fact, f.StrengthCounted) and fact.stage == "neutral"]
        if not counted:
            return False
        areas = {line.area for line in counted[-1].lines if line.group == "support"}
        return set(orders) <= areas and {*orders.values()} == {counted[-1].house}

    def _default(self) -> None:
        """What the example does not speak of: the card that it says is played, else the default."""
        cards = self.setup.get("cards", {})
        for one in THRONES.decisions(self.state):
            if one.kind == "house-card" and one.player in cards:
                self.notes.append(f"card: {one.player} plays {cards[one.player]}")
                self.rule(c.HouseCardChoice(one.player, self._embattled, cards[one.player]))
                return
        super()._default()

    def _go_on(self) -> None:
        """A battle of which later values are expected goes on, by defaults: to its end, or only to what comes next."""
        values = self.expected.get("values", {})
        names = {name.split("-", 1)[-1] for name in values} | {*values}
        wanted = [kind for name, kind in LATE.items() if name in names]
        while self.state.combat is not None and wanted:
            if "next_step" in self.expected and all(
                any(isinstance(one, kind) for one in self.facts) for kind in wanted
            ):
                break
            self._default()
        while any(one.kind == "neutral-support" for one in THRONES.decisions(self.state)):
            self._default()
        if names & EARLY:
            for _ in range(MOST_DEFAULTS):
                if not any(one.kind in (*SUPPORT, "accept-support") for one in THRONES.decisions(self.state)):
                    break
                self._default()

    # Trials

    def try_action(self, action: Json) -> Refusal | None:
        """How an action is answered in the state reached, or instead of the answer that was given there."""
        if "position" in action:
            return self._try_position(action)
        if action["do"] == "take-power":
            return self._take_power(action)
        state, answer, forced = self._moment(action)
        try:
            check_names(THRONES.rules_of(state).edition, state, answer)
        except Refusal as refusal:
            if refusal.unknown:
                raise CaseError(self._told(refusal)) from refusal
        if forced is not None:
            return None if forced == answer else Refusal("not-the-only-answer", only=str(forced))
        try:
            self.decide(state, answer)
        except Refusal as refusal:
            return refusal
        return None

    def _try_position(self, action: Json) -> Refusal | None:
        _only({"do": "", **action}, "position")
        said = ARMY_SIZES.fullmatch(action["position"])
        if said is None:
            raise CaseError(f"position not understood: {action['position']}")
        limit = self.edition.supply_limit(int(said["supply"]))
        sizes = [int(one) for one in said["sizes"].split(",")]
        return None if complies(sizes, limit) else Refusal("over-supply", self.edition.law.cite(("2E-SUP-2",)))

    def _take_power(self, action: Json) -> Refusal | None:
        """Whose token comes when a House gains Power: its colour is not said by any answer, so the rule is asked."""
        _only(action, "house", "colour", "count")
        _, state = self._taken({**action, "colour": action["house"]})
        taken = [house for house in state.houses if state.pool(house, 0) < self.shown.pool(house, 0)]
        if action["colour"] not in state.houses:
            raise CaseError(f"unknown: {action['colour']}")
        return None if taken == [action["colour"]] else Refusal("not-a-token-of-this-house", ("1E-LIM-5",))

    def _taken(self, action: Json) -> tuple[tuple[Fact, ...], State]:
        """A House takes Power from its Pool."""
        house = action["house"]
        if house not in self.state.houses:
            raise CaseError(f"unknown: {house}")
        if action.get("colour", house) != house:
            raise Disagreement(f"{house} takes tokens of its own colour only")
        game = self.game
        game.gain_power(house, action.get("count", 1), "2E-GEN-8")
        return tuple(game.facts), game.state

    def _moment(self, action: Json) -> tuple[State, c.HouseAnswer, c.HouseAnswer | None]:
        """The state in which an action is tried: where its decision is open, latest first, else where it will be.

        What the rules have answered there themselves, because there was no other answer, comes with it.
        """
        if action["do"] == "muster":
            for _, state, given in reversed(self.answered):
                if isinstance(given, c.Muster) and given.house == action["house"]:
                    further = self.read_first([action], state)[0]
                    assert isinstance(further, c.Muster)
                    return state, msgspec.structs.replace(given, steps=(*given.steps, *further.steps)), None
        for state in (self.state, *(state for _, state, _ in reversed(self.answered))):
            found = self._asked_in(action, state)
            if found is not None:
                return state, found, None
        tried = self._tried(action, self.state)[0]
        for state, fact in zip(states_of(self), self.facts, strict=True):
            if isinstance(fact, Answered) and fact.how == "forced" and _same_question(fact.answer, tried):
                return state, tried, fact.answer
        return self._later(action, tried)

    def _later(self, action: Json, tried: c.HouseAnswer) -> tuple[State, c.HouseAnswer, c.HouseAnswer | None]:
        """Where the decision comes when the others answer by their defaults; in this round, or never."""
        kept = (self.state, self.shown, self.last, list(self.facts), list(self.notes))
        steps, commands = list(self.steps), list(self.commands)
        try:
            for _ in range(MOST_DEFAULTS):
                if (
                    not THRONES.decisions(self.state)
                    or self.state.is_over
                    or self.state.round > max(1, self.before.round)
                ):
                    break
                self._default()
                for fact in self.last:
                    if isinstance(fact, Answered) and fact.how == "forced" and _same_question(fact.answer, tried):
                        return self.state, tried, fact.answer
                found = self._asked_in(action, self.state)
                if found is not None:
                    return self.state, found, None
        finally:
            self.state, self.shown, self.last, self.facts, self.notes = kept
            self.steps, self.commands = steps, commands
        return self.state, tried, None

    def asked_here(self, action: Json) -> c.HouseAnswer | None:
        """What is tried, as an answer, where it is asked for in the state reached."""
        if action.get("do") not in (*READERS, "support") or action["do"] == "muster":
            return None
        return self._asked_in(action, self.state)

    def _tried(self, action: Json, state: State) -> list[c.HouseAnswer]:
        if action["do"] != "support":
            return self.read_first([action], state)
        _only(action, "house", "from", "side")
        _check_places(action, self.edition)
        for one in THRONES.decisions(state):
            if one.kind in SUPPORT and one.player == action["house"]:
                return [supporting(one, {action["from"]: action["side"]}, state)]
        return [c.Support(action["house"], state.combat.area if state.combat else "", {action["from"]: "attacker"})]

    def _asked_in(self, action: Json, state: State) -> c.HouseAnswer | None:
        """The action as an answer, where that is asked for."""
        for answer in self._tried(action, state):
            for one in THRONES.decisions(state):
                same = (one.player, one.kind, one.default.about) == (answer.house, answer.kind, answer.about)
                if same and self._owes(action, one):
                    return answer
        return None

    def _owes(self, action: Json, asked: Decision[Any]) -> bool:
        """Whether the debt that an action speaks of is the one that is asked for."""
        return "debt" not in action or getattr(asked.options, "debt", None) == action["debt"]


SUPPORT = ("support", "neutral-support")
LATE: dict[str, type[Fact]] = {
    "winner": f.CombatDecided,
    "loser": f.CombatDecided,
    "final-strength": f.CombatDecided,
    "casualties": f.CasualtiesCounted,
    "house-cards-played": f.HouseCardsRevealed,
}
"""Values that are there once a battle has come so far."""
EARLY = {"initial-strength", "support"}
"""Values that are there once all support is declared."""


def _same_question(one: c.HouseAnswer, other: c.HouseAnswer) -> bool:
    return (one.house, one.kind, one.about) == (other.house, other.kind, other.about)


def _only(action: Mapping[str, Any], *names: str) -> None:
    strange = sorted(set(action) - {"do", *names})
    if strange:
        raise CaseError(f"{action['do']}: not understood: {', '.join(strange)}")


def _check_places(action: Json, edition: Edition) -> None:
    """Raise a :class:`CaseError` for areas and Houses that do not exist."""
    areas = [action[key] for key in ("from", "to", "area", "place", "target") if action.get(key)]
    areas += [*action.get("targets", ()), *(move.get("to", "") for move in action.get("moves", ()))]
    unknown = [area for area in areas if area not in edition.board]
    unknown += [
        action[key] for key in ("house", "side", "colour") if key in action and action[key] not in edition.houses
    ]
    if unknown:
        raise CaseError(f"{action['do']}: unknown: {', '.join(map(str, unknown))}")


def _grouped(actions: Sequence[Json]) -> Iterator[list[Json]]:
    """Mustering and losses of one House are one answer, however many actions it takes; so is a call for support."""

    def together(numbered: tuple[int, Json]) -> Any:
        number, action = numbered
        if action["do"] in ("muster", "remove-units"):
            return action["do"], action.get("house")
        return action["do"] if action["do"] == "support" else number

    for _, group in groupby(enumerate(actions), key=together):
        yield [action for _, action in group]


def card_named(edition: Edition, name: str) -> str:
    """A Westeros card by its name without the number of its deck."""
    found = [card for pile in edition.westeros_decks.values() for card in dict.fromkeys(pile) if _is_named(card, name)]
    if not found:
        raise CaseError(f"unknown Westeros card {name}")
    return found[0]


def _is_named(card: str, name: str) -> bool:
    return card == name or card.partition("-")[2] == name


def supporting(asked: Decision[Any], orders: Mapping[str, str], state: State) -> c.HouseAnswer:
    """A House's answer to a call for support: these orders for these Houses, its others withheld."""
    unknown = sorted(set(orders) - set(asked.default.orders))
    if asked.kind == "neutral-support":
        whom = next((str(frame["house"]) for frame in reversed(state.frames) if frame.get("target")), "")
        given = {area: orders.get(area, "") == whom for area in (*asked.default.orders, *unknown)}
        return c.NeutralSupport(asked.player, asked.default.target, given)
    assert state.combat is not None
    sides: dict[str, c.Supported] = dict.fromkeys(asked.default.orders, "withhold")
    for area, whom in orders.items():
        side = state.combat.side_of(whom)
        if side is None:
            raise CaseError(f"{whom} does not fight there")
        sides[area] = side
    return c.Support(asked.player, state.combat.area, sides)


# Reading actions


def read_units(said: Mapping[str, Any]) -> Units:
    """``units`` and ``routed`` of an action or an area."""
    lying = {routed(unit): number for unit, number in said.get("routed", {}).items()}
    return plus(said.get("units", {}), lying) if lying else dict(said.get("units", {}))


def _muster(actions: Sequence[Json], state: State, edition: Edition) -> list[c.HouseAnswer]:
    steps = []
    for action in actions:
        _only(action, "house", "area", "buy", "place")
        area, bought = str(action["area"]), str(action["buy"])
        upgrade = bought == "upgrade"
        steps.append(
            c.MusterStep(
                area=area,
                unit="knight" if upgrade else bought,
                to=str(action.get("place", area)),
                upgrade="footman" if upgrade else None,
            )
        )
    return [c.Muster(actions[0]["house"], tuple(steps))]


def _removal(actions: Sequence[Json], state: State, edition: Edition) -> list[c.HouseAnswer]:
    """Units given up, for whatever they are asked for: supply, a wildling attack, a battle."""
    house, units = actions[0]["house"], dict[str, Units]()
    for action in actions:
        _only(action, "house", "area", "units", "routed", "debt")
        units[action["area"]] = plus(units.get(action["area"], {}), read_units(action))
    owed = [one for one in THRONES.decisions(state) if one.player == house]
    losses = next((one.default for one in owed if isinstance(one.default, c.CombatLosses)), None)
    if losses is not None:
        return [msgspec.structs.replace(losses, units=units.get(losses.area, {}))]
    if "debt" in actions[0] or any(one.kind == "destroy-units" for one in owed):
        return [c.DestroyUnits(house, units)]
    return [c.ReconcileSupply(house, units)]


def _bid(actions: Sequence[Json], state: State, edition: Edition) -> list[c.HouseAnswer]:
    (action,) = actions
    _only(action, "house", "track", "bids", "bid")
    bids: dict[str, int] = action["bids"] if "bids" in action else {action["house"]: action["bid"]}
    asked = [one.default.track for one in THRONES.decisions(state) if one.kind == "influence-bid"]
    track = action.get("track", asked[0] if asked else "wildlings")
    if track in WILDLING_BIDS:
        return [c.WildlingBid(house, bid) for house, bid in bids.items()]
    return [c.InfluenceBid(house, TRACK_KEYS.get(track, track), bid) for house, bid in bids.items()]


def _tie(actions: Sequence[Json], state: State, edition: Edition) -> list[c.HouseAnswer]:
    """An order of tied Houses; where several groups are tied, it is that of the group which it names."""
    (action,) = actions
    _only(action, "house", "order", "track", "choice")
    unknown = sorted({*action.get("order", ())} - {*edition.houses})
    if unknown:
        raise CaseError(f"break-tie: unknown: {', '.join(unknown)}")
    for one in THRONES.decisions(state):
        if one.kind == "wildling-tie" and one.player == action["house"]:
            return [c.WildlingTie(action["house"], action.get("choice") or action["order"][0])]
        if one.kind == "influence-tie" and one.player == action["house"]:
            order = tuple(action["order"])
            groups = tuple(order if set(group) & set(order) else group for group in one.default.groups)
            return [
                c.InfluenceTie(action["house"], action.get("track", one.default.track), tuple(dict.fromkeys(groups)))
            ]
    return [c.InfluenceTie(action["house"], action.get("track", ""), (tuple(action.get("order", ())),))]


def _assign(actions: Sequence[Json], state: State, edition: Edition) -> list[c.HouseAnswer]:
    """Orders by area, or tokens alone: those lie in the House's areas, one each."""
    (action,) = actions
    _only(action, "house", "orders")
    orders = action["orders"]
    if not isinstance(orders, dict):
        orders = dict(zip(state.areas_of(action["house"]), orders, strict=False))
        if len(orders) < len(action["orders"]):
            raise CaseError("there are not enough areas for these orders")
    return [c.AssignOrders(action["house"], orders)]


def _raid(actions: Sequence[Json], state: State, edition: Edition) -> list[c.HouseAnswer]:
    (action,) = actions
    _only(action, "house", "from", "targets", "target")
    hit = action.get("targets", [action["target"]] if action.get("target") else [])
    if len(hit) > 2:
        raise CaseError("a Raid order takes two targets at the most")
    target, second = (*hit, None, None)[:2]
    return [c.Raid(action["house"], action["from"], target, second)]


def _march(actions: Sequence[Json], state: State, edition: Edition) -> list[c.HouseAnswer]:
    (action,) = actions
    _only(action, "house", "from", "moves", "token")
    moves = []
    for move in action.get("moves", ()):
        _only({"do": "move", **move}, "to", "units", "routed")
        moves.append(c.Move(move["to"], read_units(move)))
    return [c.MarchOrder(action["house"], action["from"], tuple(moves), bool(action.get("token")))]


def _card(actions: Sequence[Json], state: State, edition: Edition) -> list[c.HouseAnswer]:
    (action,) = actions
    _only(action, "house", "card")
    return [c.HouseCardChoice(action["house"], state.combat.area if state.combat else "", action["card"])]


def _retreat(actions: Sequence[Json], state: State, edition: Edition) -> list[c.HouseAnswer]:
    (action,) = actions
    _only(action, "house", "from", "to")
    area = action.get("from", state.combat.area if state.combat else "")
    return [c.RetreatArea(action["house"], area, action["to"])]


def _consolidate(actions: Sequence[Json], state: State, edition: Edition) -> list[c.HouseAnswer]:
    (action,) = actions
    _only(action, "house", "area", "from")
    return [c.Consolidate(action["house"], action.get("area") or action["from"])]


READERS: dict[str, Callable[[Sequence[Json], State, Edition], list[c.HouseAnswer]]] = {
    "muster": _muster,
    "remove-units": _removal,
    "bid": _bid,
    "break-tie": _tie,
    "assign": _assign,
    "raid": _raid,
    "discard-raid": _raid,
    "march": _march,
    "play-card": _card,
    "retreat": _retreat,
    "consolidate": _consolidate,
}


# Reading set-ups


class Reading:
    """One set-up becomes a partial position. What is made up for it is noted; ``bids`` bring the debt that is tried."""

    def __init__(self, example: Json, edition: Edition, actions: Sequence[Json], trials: Sequence[Json]) -> None:
        self.setup: Json = dict(example.get("setup", {}))
        self.expected: Json = example.get("expected", {})
        self.assumed: list[str] = [str(one) for one in example.get("assumed", ())]
        self.edition = edition
        self.actions = actions
        self.trials = trials
        self.notes: list[str] = []
        self.bids: dict[str, int] = {}
        self.given: Json = {"units": {}, "orders": {}, "power_tokens": {}}

    def partial(self, houses: tuple[str, ...]) -> Partial:
        setup, given = self.setup, self.given
        self.areas = setup.pop("areas", {})
        for area, said in self.areas.items():
            self._area(area, dict(said))
        given["houses"] = houses
        setup.pop("players", None)
        given |= charter_words(setup.pop("config", {}))
        given["tracks"] = {track: tuple(setup.pop(key)) for key, track in TRACK_KEYS.items() if key in setup}
        given["tokens"] = {_token(name): house for name, house in setup.pop("holders", {}).items()}
        given["neutral"] = {area: force for area, force in setup.pop("neutral", {}).items() if force is not None}
        given["supply"], given["power"] = setup.pop("supply", {}), setup.pop("power", {})
        given["threat"], given["round"] = setup.pop("wildlings", None), setup.pop("round", None)
        self.cards: dict[str, str] = setup.pop("cards", {})
        given["discards"] = {house: tuple(cards) for house, cards in setup.pop("used", {}).items()}
        if setup:
            raise CaseError(f"set-up not understood: {', '.join(sorted(setup))}")
        self._stand()
        self._room_for_orders()
        self._clear(houses)
        return Partial(**{name: value for name, value in given.items() if value is not None})

    def _area(self, area: str, there: Json) -> None:
        house, units, order = there.pop("house", None), read_units(there), there.pop("order", None)
        token = there.pop("token", None)
        for key in ("units", "routed"):
            there.pop(key, None)
        if there:
            raise CaseError(f"{area}: not understood: {', '.join(sorted(there))}")
        if (units or order) and house is None:
            raise CaseError(f"{area}: whose units and order are these?")
        if units:
            self.given["units"][area] = Force(house, units)
        if order:
            self.given["orders"][area] = PlacedOrder(house, order)
        if token:
            self.given["power_tokens"][area] = token

    def _clear(self, houses: Sequence[str]) -> None:
        """Areas that are not listed are empty, so that neither garrison nor neutral force stands in them."""
        table = self.edition.players(len(houses))
        homes = [self.edition.houses[house].home for house in houses]
        named = {*self.given["units"], *self.given["orders"], *self.given["power_tokens"], *self.given["neutral"]}
        cleared = sorted({*self.areas, *table.neutral_forces, *table.impassable, *homes} - named)
        self.given["empty"] = tuple(cleared)
        gone = sorted({*table.neutral_forces, *table.impassable} & set(cleared))
        if gone:
            self.notes.append(f"without neutral force, as areas not listed are empty: {', '.join(gone)}")

    # Where it stands

    def _stand(self) -> None:
        kinds = [action["do"] for action in (*self.actions, *self.trials)]
        first = next((kind for kind in kinds if kind != "take-power"), "")
        cards = [card_named(self.edition, one["card"]) for one in self.actions if one["do"] == "resolve-card"]
        bid = next((one for one in self.actions if one["do"] in ("bid", "break-tie")), None)
        debts = [one["debt"] for one in (*self.actions, *self.trials) if "debt" in one]
        if cards:
            pass
        elif bid is not None and first in ("bid", "break-tie"):
            self._bidding(bid)
            return
        elif debts:
            self._defeat(debts, next(one["house"] for one in (*self.actions, *self.trials) if "debt" in one))
            return
        elif first in CARD_OF_ACTION:
            cards = [card_named(self.edition, CARD_OF_ACTION[first])]
        if cards:
            self.given["at"] = Where("westeros/cards")
            self.given["westeros_cards"] = {
                deck: card for deck, pile in self.edition.westeros_decks.items() for card in cards if card in pile
            }
            return
        if "reachable" in self.expected:
            first = "march"
        step = STEP_OF_ACTION.get(first, "planning")
        last = ""
        if step in ("action/raid", "action/march"):
            last = self._before_first()
        if first == "retreat":
            legal = [one for one in self.expected.get("legal", ()) if one.get("do") == "retreat"]
            ways = {one["to"] for one in (*self.actions, *legal) if one["do"] == "retreat"}
            self._beaten(next(one for one in (*self.actions, *self.trials) if one["do"] == "retreat"), ways)
        elif len(self.cards) == 2 and first in ("", "play-card"):
            step = "combat/cards"
            self._battle()
        self.given["at"] = Where(step, last=last)

    def _before_first(self) -> str:
        """The House whose turn has just been, so that the first that acts is asked first; none for the first House."""
        actor = next((one["house"] for one in (*self.actions, *self.trials) if "house" in one), "")
        table = self.edition.players(len(self.given["houses"])).influence["iron-throne"]
        named = self.given["tracks"].get("iron-throne", ())
        holder = self.given["tokens"].get(TOKENS["iron-throne"], "")
        order = [*(named or ([holder] if holder else []))]
        order += [house for house in table if house not in order]
        if actor not in order or actor == order[0]:
            return ""
        self.notes.append(f"{actor} has the turn")
        return str(order[order.index(actor) - 1])

    def _bidding(self, bid: Json) -> None:
        track = bid.get("track", "wildlings" if bid["do"] == "bid" else "iron-throne")
        if track in WILDLING_BIDS:
            self.given["at"] = Where("westeros/wildlings")
            return
        track = TRACK_KEYS.get(track, track)
        if track not in TRACKS:
            raise CaseError(f"unknown track {track}")
        self.given["at"] = Where("westeros/clash-of-kings", track=track)

    def _defeat(self, debts: Sequence[int], debtor: str) -> None:
        """A lost attack of the wildlings, at which the House has bid so that this is what it owes."""
        if set(debts) not in ({DEBT}, {LOWEST_DEBT}):
            raise CaseError(f"nobody owes {' and '.join(map(str, sorted(set(debts))))}")
        lowest = debts[0] == LOWEST_DEBT
        self.given["at"] = Where("westeros/wildlings")
        if self.given["threat"] is None:
            self.given["threat"] = self.edition.constants.threat_track[-1]
        self.bids = {house: int((house == debtor) != lowest) for house in self.given["houses"]}
        said = ", ".join(f"{house} {bid}" for house, bid in self.bids.items())
        self.notes.append(f"the wildlings have won at {self.given['threat']}, so that this is owed; bids: {said}")

    def _beaten(self, retreat: Json, ways_back: set[str]) -> None:
        """A battle just lost in an area: by whom, and where the attack came from, is made up where nobody says it."""
        house, area = retreat["house"], retreat["from"]
        ways = self._ways(area)
        enemies = [one for one in ways if one in self.given["units"] and self.given["units"][one].house != house]
        free = [one for one in ways if one not in self.areas and not self.edition.board[one].home]
        origin = next((one for one in (*enemies, *free) if one not in ways_back), None)
        if origin is None:
            raise CaseError(f"where was {area} attacked from?")
        held = self.given["units"].get(origin)
        attacker = held.house if held else next(one for one in self.given["houses"] if one != house)
        fight = Fight(attacker, house, area, origin, units=_one(self.edition, area), winner=attacker, cards=self.cards)
        self.given["fight"] = fight
        self.notes.append(f"{attacker} has won in {area}, having marched from {origin}")

    def _ways(self, area: str) -> list[str]:
        board = self.edition.board
        kind = "land" if board.is_land(area) else "sea"
        return sorted(other for other in board.neighbours[area] if board[other].kind == kind)

    def _battle(self) -> None:
        """A battle of which the cards are said: the outcome that is expected, or said in words, is brought by units."""
        attacker, defender = self.cards
        winner = self.expected.get("values", {}).get("winner", self._said_winner())
        if winner is not None and winner not in self.cards:
            raise CaseError(f"{winner} does not fight")
        area, origin = self._field()
        units = {house: WINNERS_UNITS if house == winner else LOSERS_UNITS for house in self.cards}
        self.given["units"][area] = Force(defender, units[defender])
        self.given["fight"] = Fight(attacker, defender, area, origin, units=units[attacker])
        told = "; ".join(
            f"{house} {' '.join(f'{n} {unit}' for unit, n in units[house].items())}" for house in self.cards
        )
        self.notes.append(f"a battle in {area}, attacked from {origin}: {told}")

    def _said_winner(self) -> str | None:
        """Who wins by what the example assumes in words."""
        said = " ".join(self.assumed).lower().replace(" ", "-")
        return next((house for house in self.cards if f"{house}-wins" in said), None)

    def _field(self) -> tuple[str, str]:
        """Two areas next to each other that nobody names, that are nobody's home and have nothing to lose."""
        plain = [one for one in self.edition.board.land if self._is_plain(one)]
        return next((one, other) for one in plain for other in self._ways(one) if other in plain)

    def _is_plain(self, area: str) -> bool:
        place = self.edition.board[area]
        return area not in self.areas and not place.home and not place.castle and area not in self.given["neutral"]

    def _room_for_orders(self) -> None:
        """A Footman wherever a token is to lie that no area is named for."""
        for house in dict.fromkeys(one["house"] for one in (*self.actions, *self.trials) if one["do"] == "assign"):
            tried = [one for one in (*self.actions, *self.trials) if one["do"] == "assign" and one["house"] == house]
            wanted = max((len(one["orders"]) for one in tried if not isinstance(one["orders"], dict)), default=0)
            there = sum(force.house == house for force in self.given["units"].values())
            free = [
                area for area in self.edition.board.land if self._is_plain(area) and area not in self.given["units"]
            ]
            for area in free[: max(0, wanted - there)]:
                self.given["units"][area] = Force(house, {"footman": 1})
                self.notes.append(f"{area}: a Footman of {house}, so that an order may lie there")


def _token(name: str) -> str:
    if name not in TOKENS:
        raise CaseError(f"unknown token {name}")
    return TOKENS[name]


def _one(edition: Edition, area: str) -> Units:
    return {"footman": 1} if edition.board.is_land(area) else {"ship": 1}
