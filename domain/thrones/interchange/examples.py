"""Worked examples in the exchange format ``agot2e-cases-1``: their words become positions, answers and comparisons.

Player decisions go through ``THRONES.decide``, queries through the functions that rules read the board with, engine
steps by starting a game or a position. Every key of an example is either understood or an error; nothing that it
expects is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from domain.kernel.commands import Command, PassDeadline, StateDraws
from domain.kernel.decision import Decision
from domain.kernel.facts import Answered, Fact
from domain.kernel.refusal import Refusal
from domain.kernel.ruleset import Ruling
from domain.thrones import commands as c
from domain.thrones import facts as f
from domain.thrones.armies import armies, complies
from domain.thrones.cards.house_cards import TEXTS
from domain.thrones.cards.vocabulary import participating
from domain.thrones.cases import CaseError, CaseReport, Disagreement, goes_on
from domain.thrones.edition import Edition
from domain.thrones.editions.composed import edition_of
from domain.thrones.game import Game
from domain.thrones.interchange.example_results import TOKENS, compare, expects_nothing
from domain.thrones.march_options import Marches
from domain.thrones.pieces import Units, counted, plus, routed
from domain.thrones.positions import Fight, Partial, PositionError, Where, charter_from, complete
from domain.thrones.procedures.marches import march_options
from domain.thrones.procedures.mustering import ship_places
from domain.thrones.procedures.raids import targets
from domain.thrones.procedures.retreat import legal_areas
from domain.thrones.procedures.support import eligible_orders
from domain.thrones.prose import Prose
from domain.thrones.refusals import explain
from domain.thrones.ruleset import THRONES
from domain.thrones.start import Start
from domain.thrones.state import Force, PlacedOrder, State
from domain.thrones.variations import BY_NAME

Json = dict[str, Any]

ENGINE_STEPS = (
    "setup",
    "place-neutral-forces",
    "place-influence-markers",
    "resolve-westeros-card",
    "draw-westeros-cards",
    "advance-wildlings",
    "move-influence",
    "clean-up",
)
SET_UPS = ENGINE_STEPS[:3]
OWN_STEPS = {
    "planning": ("assign-orders", "reveal-orders"),
    "action/consolidate": ("consolidate",),
    "action/clean-up": ("clean-up",),
    "westeros": ("draw",),
}
"""Steps that begin with the position itself, by where it stands."""

MOST_DEFAULTS = 200
"""A bound on decisions that an example leaves to their defaults."""


# Set-up


def charter_words(config: Mapping[str, str]) -> Json:
    """What a table plays otherwise than its preset, switches and variations told apart by their names."""
    varied = {name: word for name, word in config.items() if name in BY_NAME}
    return {"switches": {name: word for name, word in config.items() if name not in varied}, "variations": varied}


def read_setup(setup: Json, actions: Sequence[Json], edition: Edition) -> Partial:
    """The partial position that an example starts from."""
    setup = dict(setup)
    areas: Json = setup.pop("areas", {})
    given: Json = {
        "houses": tuple(sorted(setup.pop("players", ()))),
        **charter_words(setup.pop("config", {})),
        "tracks": {track: tuple(order) for track, order in setup.pop("tracks", {}).items()},
        "tokens": {_token(name): house for name, house in setup.pop("tokens", {}).items()},
        "used": tuple(_token(name) for name, side in setup.pop("token-state", {}).items() if side == "used"),
        "supply": setup.pop("supply", {}),
        "power": setup.pop("power", {}),
        "pool": setup.pop("pool", {}),
        "hands": {house: tuple(cards) for house, cards in setup.pop("hands", {}).items()},
        "discards": {house: tuple(cards) for house, cards in setup.pop("discards", {}).items()},
        "threat": setup.pop("wildling-threat", None),
        "round": setup.pop("round", None),
        "prohibited": tuple(setup.pop("prohibited", ())),
        "decks": _decks(setup),
        **_read_areas(areas, edition),
    }
    given["stated"] = {"tides": tuple(map(tuple, setup.pop("tides-draws", ())))}
    given["fight"] = _read_fight(setup.pop("combat", None), edition)
    cards = _open_cards(setup.pop("westeros-cards", ()), actions, edition)
    at = _where(setup, actions, cards)
    if at.step == "westeros/cards" or at.step == "westeros/threat":
        given["westeros_cards"] = cards
    if setup:
        raise CaseError(f"set-up not understood: {', '.join(sorted(setup))}")
    return Partial(at=at, **given)


def _token(name: str) -> str:
    if name not in TOKENS:
        raise CaseError(f"unknown dominance token {name}")
    return TOKENS[name]


def _decks(setup: Json) -> dict[str, tuple[str, ...]]:
    decks: dict[str, tuple[str, ...]] = {}
    top = setup.pop("wildling-deck-top", None)
    deck = tuple(setup.pop("wildling-deck", ()))
    if top or deck:
        decks["wildling"] = deck or (top,)
    for number in (1, 2, 3):
        cards = setup.pop(f"westeros-deck-{number}", None)
        if cards:
            decks[f"westeros-{number}"] = tuple(cards)
    return decks


def _read_areas(areas: Json, edition: Edition) -> Json:
    given: Json = {"units": {}, "garrisons": {}, "neutral": {}, "power_tokens": {}, "orders": {}}
    for area, said in areas.items():
        there = dict(said)
        house = there.pop("house", None)
        units = plus(_units(there.pop("units", {})), _units({"routed": there.pop("routed", {})}))
        order = there.pop("order", None)
        if units:
            given["units"][area] = Force(_owner(area, house), units)
        if order:
            given["orders"][area] = PlacedOrder(_owner(area, house), order)
        for key, field in (("garrison", "garrisons"), ("neutral-force", "neutral"), ("power-token", "power_tokens")):
            value = there.pop(key, None)
            if value:
                given[field][area] = value
        _read_controller(given, area, there, edition)
        if there:
            raise CaseError(f"{area}: not understood: {', '.join(sorted(there))}")
    return {**given, "empty": tuple(sorted(areas))}


def _read_controller(given: Json, area: str, there: Json, edition: Edition) -> None:
    """A House that controls an area without units does so by a Power token, where it is not at home."""
    controller = there.pop("controller", None)
    home = edition.board[area].home if area in edition.board else None
    if controller and area not in given["units"] and area not in given["power_tokens"] and controller != home:
        given["power_tokens"][area] = controller


def _owner(area: str, house: str | None) -> str:
    if house is None:
        raise CaseError(f"{area}: whose units and order are these?")
    return house


def _read_fight(combat: Json | None, edition: Edition) -> Fight | None:
    """A combat under way. Icons that are only counted are put on cards without a text."""
    if combat is None:
        return None
    said = dict(combat)
    attacker, defender = said.pop("attacker"), said.pop("defender")
    winner, loser = said.pop("winner", ""), said.pop("loser", "")
    winner = winner or ({attacker: defender, defender: attacker}[loser] if loser else "")
    retreating = said.pop("retreating", {})
    units = _units(said.pop("units", retreating if winner == defender else {}))
    cards: dict[str, str] = said.pop("cards", {})
    tides: dict[str, str] = {}
    swords, walls = said.pop("swords", None), said.pop("fortifications", None)
    if winner and not cards and (swords is not None or walls is not None):
        beaten = attacker if winner == defender else defender
        for house, icon, number in (
            (winner, "swords", _of(swords, winner)),
            (beaten, "fortifications", _of(walls, beaten)),
        ):
            card, drawn = _card_with(edition, house, icon, number)
            cards[house] = card
            tides |= {house: drawn} if drawn else {}
    fight = Fight(
        attacker=attacker,
        defender=defender,
        area=said.pop("area", ""),
        origin=said.pop("origin", ""),
        units=units,
        winner=winner,
        cards=cards,
        tides=tides,
        support=said.pop("support", {}),
    )
    if said:
        raise CaseError(f"combat: not understood: {', '.join(sorted(said))}")
    return fight


def _of(number: Any, house: str) -> int:
    return int(number.get(house, 0) if isinstance(number, dict) else number or 0)


def _card_with(edition: Edition, house: str, icon: str, number: int) -> tuple[str, str]:
    """A card without a text that shows so many icons, with a Tides card for what is missing."""
    plain = [card for card in edition.cards_of(house) if not TEXTS[card].effects]
    extra = {"": 0} | {card.id: getattr(card, icon) for card in edition.tides.values() if not card.skulls}
    for drawn, more in extra.items():
        for card in plain:
            if getattr(edition.cards[card], icon) + more == number:
                return card, drawn
    raise CaseError(f"no card of {house} shows {number} {icon}")


CARD_OF_ACTION = {
    "muster": "w1-mustering",
    "reconcile-supply": "w1-supply",
    "throne-of-blades": "w1-a-throne-of-blades",
    "dark-wings": "w2-dark-wings-dark-words",
    "put-to-the-sword": "w3-put-to-the-sword",
}


def _open_cards(given: Iterable[str], actions: Sequence[Json], edition: Edition) -> dict[str, str]:
    """The Westeros cards that lie open, by deck: those named, else the one that the first decision belongs to."""
    names = [*given, *(action["card"] for action in actions if action["do"] == "resolve-westeros-card")]
    if not names:
        names = [CARD_OF_ACTION[action["do"]] for action in actions if action["do"] in CARD_OF_ACTION][:1]
    cards: dict[str, str] = {}
    for name in names:
        deck = next((deck for deck, pile in edition.westeros_decks.items() if name in pile), None)
        if deck is None:
            raise CaseError(f"unknown Westeros card {name}")
        if cards.get(deck, name) != name:
            raise CaseError(f"two cards of {deck}")
        cards[deck] = name
    return cards


PHASES = {
    "planning": "planning",
    "planning/assign-orders": "planning",
    "planning/raven": "planning/raven",
    "planning/messenger-raven": "planning/raven",
    "westeros/threat": "westeros/threat",
    "westeros/cards": "westeros/cards",
    "westeros/wildlings": "westeros/wildlings",
    "westeros/clash-of-kings": "westeros/clash-of-kings",
    "action/raid": "action/raid",
    "action/march": "action/march",
    "action/consolidate": "action/consolidate",
    "action/consolidate-power": "action/consolidate",
    "action/clean-up": "action/clean-up",
    "action": "action/raid",
}
COMBAT_STEPS = {
    "combat/support": "combat/support",
    "combat/cards": "combat/cards",
    "combat/blade": "combat/blade",
    "combat/casualties": "combat/casualties",
    "combat/retreat": "combat/retreat",
    "combat/house-cards": "combat/cards",
    "combat/house-card": "combat/cards",
    "combat/valyrian-steel-blade": "combat/blade",
    "combat/call-for-support": "combat/support",
}
STEP_OF_ACTION = {
    "raven": "planning/raven",
    "raid": "action/raid",
    "march": "action/march",
    "neutral-support-request": "action/march",
    "consolidate": "action/consolidate",
    "clean-up": "action/clean-up",
    "wildling-bid": "westeros/wildlings",
    "influence-bid": "westeros/clash-of-kings",
}


def _path(phase: str, step: str) -> str:
    """Phase and step as one path from the phase down, whichever of them says how much of it.

    ``action/march`` with ``combat/retreat``, ``planning`` with ``planning/raven``, ``raven`` alone.
    """
    words = list(dict.fromkeys(word for word in f"{phase}/{step}".split("/") if word))
    paths = {*PHASES, *COMBAT_STEPS}
    endings = ["/".join(words[start:]) for start in range(len(words))]
    combat = next((path for path in endings if path in COMBAT_STEPS), "")
    if combat or "/".join(words) in ("", "westeros", *PHASES):
        return combat or "/".join(words)
    last = words[-1]
    found = [path for path in sorted(paths) if path.endswith(f"/{last}")]
    outer = [word for word in words[:-1] if word != "combat" and not any(word in path.split("/") for path in PHASES)]
    if len(found) != 1 or outer or (words[0] in ("planning", "westeros") and not found[0].startswith(words[0])):
        raise CaseError(f"{'step' if step else 'phase'} not understood: {step or phase}")
    return found[0]


def _where(setup: Json, actions: Sequence[Json], cards: Mapping[str, str]) -> Where:
    path = _path(str(setup.pop("phase", None) or ""), str(setup.pop("step", None) or ""))
    track, last = setup.pop("clash-track", ""), setup.pop("last", "")
    kinds = [action["do"] for action in actions]
    if path in COMBAT_STEPS:
        return Where(COMBAT_STEPS[path])
    if path in PHASES:
        return Where(PHASES[path], last=last, track=track)
    decisions = [kind for kind in kinds if not kind.startswith("query-") and kind not in ENGINE_STEPS]
    first = decisions[0] if decisions else ""
    if "advance-wildlings" in kinds:
        return Where("westeros/threat")
    if "draw-westeros-cards" in kinds:
        return Where("westeros")
    if track or (first == "influence-bid" and not cards):
        return Where("westeros/clash-of-kings", track=track)
    if cards:
        return Where("westeros/cards")
    if first in STEP_OF_ACTION:
        return Where(STEP_OF_ACTION[first], last=last)
    return Where("planning")


# Answers


class _Fields:
    """The fields of an action, each taken once; what is left over was not understood."""

    def __init__(self, action: Json) -> None:
        self.left = {key: value for key, value in action.items() if key not in ("do", "note")}
        self.name = str(action["do"])

    def take(self, *names: str, default: Any = None) -> Any:
        for name in names:
            if name in self.left:
                return self.left.pop(name)
        return default

    def need(self, *names: str) -> Any:
        value = self.take(*names)
        if value is None:
            raise CaseError(f"{self.name}: {' or '.join(names)} is missing")
        return value

    def finish(self) -> None:
        if self.left:
            raise CaseError(f"{self.name}: not understood: {', '.join(sorted(self.left))}")


def _units(value: Any) -> Units:
    """``{"knight": 1}`` or ``["knight", …]``; those under ``routed`` lie routed."""
    if not isinstance(value, dict):
        return counted(value)
    units: Units = {}
    for unit, number in value.items():
        inner = {routed(one): n for one, n in _units(number).items()} if unit == "routed" else {unit: number}
        units |= {one: units.get(one, 0) + n for one, n in inner.items()}
    return units


def _chosen(value: Any) -> dict[str, Units]:
    """``[[area, unit], …]`` or ``{area: units}``."""
    if isinstance(value, dict):
        return {area: _units(units) for area, units in value.items()}
    chosen: dict[str, Units] = {}
    for area, unit in value:
        chosen[area] = plus(chosen.get(area, {}), {unit: 1})
    return chosen


WORDS = ("choice", "option", "card", "house", "track", "area", "to", "target", "put")
USE_WORDS = {"blade-strength": ("use", "do-not-use"), "blade-redraw": ("use", "keep")}


def _word(fields: _Fields) -> str:
    yes = fields.take("use")
    if isinstance(yes, bool):
        return USE_WORDS[fields.name][0 if yes else 1]
    return str(yes or fields.need(*WORDS))


def read_answers(action: Json, state: State) -> list[c.HouseAnswer]:
    """The answers of one action; simultaneous submissions are several."""
    fields = _Fields(action)
    name = fields.name
    decisions = THRONES.decisions(state)
    if name in c.ABILITIES:
        fields.left["ability"] = name
        fields.left.setdefault("choice", fields.take("card", "track", "area", "from", "target"))
        name = "card-ability"
    answers = _READERS[name](fields, state, decisions) if name in _READERS else _plain_answer(name, fields, state)
    fields.finish()
    return answers


def _about(state: State) -> str:
    return state.combat.area if state.combat else ""


def _plain_answer(name: str, fields: _Fields, state: State) -> list[c.HouseAnswer]:
    """Answers of one word, with the embattled area where one belongs to them."""
    kinds = dict(zip(c.KINDS, c.ANSWERS, strict=True))
    if name not in kinds:
        raise CaseError(f"unknown action {name}")
    kind = kinds[name]
    house = fields.need("by")
    if issubclass(kind, c.CombatWord):
        return [kind(house=house, area=_about(state), choice=_word(fields))]
    if issubclass(kind, c.WordAnswer):
        return [kind(house=house, choice=_word(fields))]
    raise CaseError(f"{name} cannot be read")


def _bids(kind: type[c.HouseAnswer]) -> Callable[[_Fields, State, Any], list[c.HouseAnswer]]:
    def read(fields: _Fields, state: State, decisions: Sequence[Decision[Any]]) -> list[c.HouseAnswer]:
        bids = fields.take("bids") or {fields.need("by"): fields.need("bid", "power")}
        extra: Json = {}
        if kind is c.InfluenceBid:
            open_track = next((one.default.track for one in decisions if one.kind == "influence-bid"), "")
            extra["track"] = fields.take("track", default=open_track)
        return [
            msgspec.convert({"kind": _tag(kind), "house": house, "bid": bid, **extra}, kind)
            for house, bid in bids.items()
        ]

    return read


def _tag(kind: type[c.HouseAnswer]) -> str:
    return str(kind.__struct_config__.tag)


def _assign(fields: _Fields, state: State, decisions: Any) -> list[c.HouseAnswer]:
    house, orders = fields.take("by"), fields.need("orders")
    every = {house: orders} if house else orders
    return [c.AssignOrders(one, laid) for one, laid in every.items()]


def _house_cards(fields: _Fields, state: State, decisions: Any) -> list[c.HouseAnswer]:
    cards = fields.take("cards") or {fields.need("by"): fields.need("card", "choice")}
    return [c.HouseCardChoice(house, _about(state), card) for house, card in cards.items()]


def _support(fields: _Fields, state: State, decisions: Sequence[Decision[Any]]) -> list[c.HouseAnswer]:
    """Orders that are not named are withheld."""
    combat = state.combat
    orders: dict[str, c.Supported] = {}
    for area, whom in fields.need("orders").items():
        side = combat.side_of(whom) if combat and whom else None
        orders[area] = side or (whom if whom in ("attacker", "defender") else "withhold")
    house = fields.left.get("by")
    for one in decisions:
        if one.kind == "support" and one.player == house and set(orders) <= set(one.default.orders):
            orders = {area: orders.get(area, "withhold") for area in one.default.orders}
    return [c.Support(fields.need("by"), _about(state), orders)]


def _accept(fields: _Fields, state: State, decisions: Any) -> list[c.HouseAnswer]:
    orders = {area: yes in (True, "accept") for area, yes in fields.need("orders").items()}
    return [c.AcceptSupport(fields.need("by"), _about(state), orders)]


def _move(move: Json) -> c.Move:
    strange = sorted(set(move) - {"to", "units", "routed"})
    if strange or "to" not in move:
        raise CaseError(f"move not understood: {', '.join(strange) or 'it leads nowhere'}")
    units = _units(move.get("units", {}))
    for unit, number in _units({"routed": move.get("routed", {})}).items():
        units[unit] = units.get(unit, 0) + number
    return c.Move(move["to"], units)


def _march(fields: _Fields, state: State, decisions: Any) -> list[c.HouseAnswer]:
    moves = tuple(map(_move, fields.take("moves", default=())))
    leave = bool(fields.take("power-token", "leave-power", default=False))
    return [c.MarchOrder(fields.need("by"), fields.need("from", "area"), moves, leave)]


def _muster(fields: _Fields, state: State, decisions: Any) -> list[c.HouseAnswer]:
    steps = [msgspec.convert(step, c.MusterStep) for step in fields.take("steps", default=())]
    return [c.Muster(fields.need("by"), tuple(steps))]


def _influence_tie(fields: _Fields, state: State, decisions: Sequence[Decision[Any]]) -> list[c.HouseAnswer]:
    order = fields.need("order", "groups")
    groups = tuple(map(tuple, order)) if order and not isinstance(order[0], str) else (tuple(order),)
    track = next((one.default.track for one in decisions if one.kind == "influence-tie"), "")
    return [c.InfluenceTie(fields.need("by"), fields.take("track", default=track), groups)]


def _raven(fields: _Fields, state: State, decisions: Any) -> list[c.HouseAnswer]:
    area, order = fields.take("area"), fields.take("order")
    choice = fields.take("choice", default="replace" if order else "nothing")
    return [c.Raven(fields.need("by"), choice, area, order)]


def _raid(fields: _Fields, state: State, decisions: Any) -> list[c.HouseAnswer]:
    return [c.Raid(fields.need("by"), fields.need("from", "area"), fields.take("target"))]


def _request(fields: _Fields, state: State, decisions: Any) -> list[c.HouseAnswer]:
    return [c.NeutralSupportRequest(fields.need("by"), fields.take("from", "area"), fields.take("target"))]


def _neutral_support(fields: _Fields, state: State, decisions: Sequence[Decision[Any]]) -> list[c.HouseAnswer]:
    target = next((one.default.target for one in decisions if one.kind == "neutral-support"), "")
    orders = {area: bool(yes) and yes != "withhold" for area, yes in fields.need("orders").items()}
    return [c.NeutralSupport(fields.need("by"), fields.take("target", default=target), orders)]


def _capture(fields: _Fields, state: State, decisions: Any) -> list[c.HouseAnswer]:
    ships = fields.take("ships", "number", "count", default=0)
    return [c.CaptureShips(fields.need("by"), fields.need("port", "area"), ships)]


def _consolidate(fields: _Fields, state: State, decisions: Any) -> list[c.HouseAnswer]:
    return [c.Consolidate(fields.need("by"), fields.need("area", "from"), fields.take("mode", "use", default="power"))]


def _degrade(fields: _Fields, state: State, decisions: Any) -> list[c.HouseAnswer]:
    replaced = _chosen(fields.take("replace", "replaced", default={}))
    return [c.CrowKillersDegrade(fields.need("by"), replaced, _chosen(fields.take("destroy", "destroyed", default={})))]


def _some(kind: type[Any]) -> Callable[[_Fields, State, Any], list[c.HouseAnswer]]:
    """Units by area, or the units of the combat."""

    def read(fields: _Fields, state: State, decisions: Any) -> list[c.HouseAnswer]:
        house, units = fields.need("by"), fields.take("destroy", "units", "replace", default={})
        if issubclass(kind, c.CombatLosses):
            return [kind(house=house, area=_about(state), units=_units(units))]
        return [kind(house=house, units=_chosen(units))]

    return read


def _ability(fields: _Fields, state: State, decisions: Any) -> list[c.HouseAnswer]:
    ability = fields.need("ability")
    return [c.CardAbility(fields.need("by"), _about(state), str(fields.need(*WORDS)), ability)]


_READERS: dict[str, Callable[[_Fields, State, Sequence[Decision[Any]]], list[c.HouseAnswer]]] = {
    "influence-bid": _bids(c.InfluenceBid),
    "wildling-bid": _bids(c.WildlingBid),
    "assign-orders": _assign,
    "house-card": _house_cards,
    "support": _support,
    "accept-support": _accept,
    "march": _march,
    "muster": _muster,
    "influence-tie": _influence_tie,
    "raven": _raven,
    "raid": _raid,
    "neutral-support-request": _request,
    "neutral-support": _neutral_support,
    "capture-ships": _capture,
    "consolidate": _consolidate,
    "crow-killers-degrade": _degrade,
    "card-ability": _ability,
    "reconcile-supply": _some(c.ReconcileSupply),
    "destroy-units": _some(c.DestroyUnits),
    "horde-castle-units": _some(c.HordeCastleUnits),
    "crow-killers-upgrade": _some(c.CrowKillersUpgrade),
    "casualties": _some(c.Casualties),
    "skull-casualty": _some(c.SkullCasualty),
    "retreat-losses": _some(c.RetreatLosses),
}


# Running


class Example:
    """One run of an example at a table that began from ``preset``; :meth:`run` does not raise.

    What it says and nobody understands is a failure, as what does not agree. With ``known_rules`` an identifier
    that is none of them is not understood either.
    """

    KEYS: tuple[str, ...] = (
        "id",
        "title",
        "source",
        "kind",
        "assumed",
        "setup",
        "actions",
        "expected",
        "rules",
        "notes",
    )

    def __init__(self, example: Json, preset: str, known_rules: Container[str] | None = None) -> None:
        self.example = example
        self.preset = preset
        self.known_rules = known_rules
        self.assumed_draws: list[str] = []
        self.actions: list[Json] = example.get("actions", [])
        self.expected: Json = dict(example.get("expected", {}))
        self.notes: list[str] = []
        self.agreed: list[str] = []
        self.facts: list[Fact] = []
        self.queries: list[Any] = []
        self.submissions: list[Any] = []
        self.answered: list[tuple[Json, State, c.HouseAnswer]] = []
        self.refusal: Refusal | None = None
        self.partial: Partial | None = None
        self.commands: list[tuple[Command, tuple[Fact, ...]]] = []
        self.own_steps: set[str] = set()

    @cached_property
    def edition(self) -> Edition:
        """What the example is played by: the preset, and what its set-up says otherwise."""
        return edition_of(charter_from(self.preset, **charter_words(self.example.get("setup", {}).get("config", {}))))

    def run(self) -> CaseReport:
        """Try the example."""
        failed = ""
        try:
            self._play()
        except Disagreement as error:
            failed = str(error)
        except (CaseError, PositionError, msgspec.ValidationError) as error:
            failed = f"not understood: {error}"
        except Refusal as refusal:
            failed = self._told(refusal)
        except (LookupError, TypeError, ValueError, AttributeError, AssertionError, StopIteration) as error:
            failed = f"not understood: {type(error).__name__} {error}"
        if failed and self.assumed_draws:
            failed += f" (not stated, so taken in canonical order: the draws of {', '.join(self.assumed_draws)})"
        cited = {rule for fact in self.facts for rule in fact.rules}
        return CaseReport(
            id=str(self.example.get("id", "")),
            title=str(self.example.get("title", "")),
            passed=not failed,
            agreed=tuple(self.agreed),
            completed=tuple(self.notes),
            disagreement=failed,
            rules=tuple(sorted(cited)),
        )

    def _play(self) -> None:
        self._check_words()
        self._start()
        for action in self.actions:
            self._act(action)
        self._run_on()
        if expects_nothing(self.expected):
            raise CaseError("nothing expected")
        compare(self)
        self._no_other_refusal()

    def _check_words(self) -> None:
        unknown = set(self.example) - set(self.KEYS)
        if unknown:
            raise CaseError(", ".join(sorted(unknown)))
        if self.known_rules is not None:
            strange = sorted({rule for rule in self._cited_rules() if rule not in self.known_rules})
            if strange:
                raise CaseError(f"unknown rules: {', '.join(strange)}")

    def _cited_rules(self) -> Iterator[str]:
        yield from self.example.get("rules", ())
        for one in self.expected.get("results", ()):
            yield from one.get("rejected", ()) if isinstance(one, dict) else ()

    def _told(self, refusal: Refusal) -> str:
        """A refusal with its code, its rules, and what it says in English."""
        rules = f" [{', '.join(refusal.rules)}]" if refusal.rules else ""
        return f"refused: {refusal.code}{rules}: {explain(refusal.code, refusal.params, Prose(self.edition))}"

    def decide(self, state: State, command: Command) -> Ruling[State]:
        """Rule on a command. Draws that the example does not state are stated in canonical order and noted."""
        said: tuple[Fact, ...] = ()
        for _ in range(MOST_DEFAULTS):
            try:
                ruling = THRONES.decide(state, command)
            except Refusal as refusal:
                if refusal.code != "draw-not-stated":
                    raise
                deck, occasion = str(refusal.params["deck"]), str(refusal.params["occasion"])
                self._assume(deck, occasion)
                if isinstance(command, Start):
                    command = _with_draw(command, deck)
                    continue
                draws = THRONES.decide(state, StateDraws(deck, ()))
                state, said = draws.state, (*said, *draws.facts)
            else:
                return Ruling((*said, *ruling.facts), ruling.state)
        raise Disagreement("it shuffles for ever")

    def _assume(self, deck: str, occasion: str) -> None:
        if occasion not in self.assumed_draws:
            self.assumed_draws.append(occasion)
            self.notes.append(f"draws of the deck {deck} ({occasion}): not stated, canonical order")

    def read(self, action: Json, state: State) -> list[c.HouseAnswer]:
        return read_answers(action, state)

    def _no_other_refusal(self) -> None:
        """A refusal that nobody expects is a disagreement."""
        if self.refusal is not None and not self._expects_refusal():
            raise Disagreement(self._told(self.refusal))

    def _start(self) -> None:
        setup = self.example.get("setup", {})
        if any(action["do"] in SET_UPS for action in self.actions):
            self._start_game(setup)
            return
        self._start_from(read_setup(setup, self.actions, self.edition))

    def _start_from(self, partial: Partial) -> None:
        """Start from a position, completed by the rule of docs/positions.md."""
        self.partial = partial
        try:
            whole = complete(partial, self.preset)
        except PositionError as error:
            raise CaseError(f"{self.example['id']}: {error}") from error
        self.notes += whole.notes
        self.own_steps = self._steps_of(partial)
        command = Start(whole.state.charter, position=whole.state, hidden=whole.hidden, reason=self.example["id"])
        ruling = self.decide(THRONES.blank(), command)
        number = next(i for i, fact in enumerate(ruling.facts) if isinstance(fact, f.HiddenStated)) + 1
        self.before = _folded(THRONES.blank(), ruling.facts[:number])
        self._take(self.before, ruling.facts[number:], ruling.state)

    def _steps_of(self, partial: Partial) -> set[str]:
        """Steps that belong to the position: it is compared as it is after them."""
        return {*partial.westeros_cards.values(), *OWN_STEPS.get(partial.at.step, ())}

    def _start_game(self, setup: Json) -> None:
        setup = dict(setup)
        houses = tuple(sorted(setup.pop("players", self.edition.players(self.edition.player_counts[-1]).houses)))
        config = setup.pop("config", {})
        if setup:
            raise CaseError(f"set-up not understood: {', '.join(sorted(setup))}")
        self._set_up(houses, config)

    def _set_up(self, houses: tuple[str, ...], config: Mapping[str, str]) -> None:
        """Start a game with its set-up."""
        decks = {"wildling": self.edition.wildling_deck, **self.edition.westeros_decks}
        self.notes.append("decks: canonical order")
        charter = msgspec.structs.replace(charter_from(self.preset, **charter_words(config)), houses=houses)
        command = Start(charter, decks={deck: cards for deck, cards in decks.items() if cards})
        ruling = self.decide(THRONES.blank(), command)
        self.before = THRONES.blank()
        self._take(self.before, ruling.facts, ruling.state)

    def rule(self, command: Command) -> None:
        """Rule on a command in the state at hand, and take the ruling over."""
        ruling = self.decide(self.state, command)
        self.commands.append((command, ruling.facts))
        self._take(self.state, ruling.facts, ruling.state)

    def _take(self, state: State, facts: Sequence[Fact], after: State) -> None:
        """Take a ruling over: ``shown`` is the position before the game went on to another step."""
        self.facts += facts
        self.state = after
        self.last = tuple(facts)
        self.shown = state
        for fact in facts:
            own = isinstance(fact, f.StepBegan) and fact.step in self.own_steps
            if goes_on(self.shown, fact) and not own and self.shown.round:
                return
            self.shown = THRONES.evolve(self.shown, fact)

    @property
    def game(self) -> Game:
        return THRONES.rules_of(self.shown).game(self.shown)

    def _act(self, action: Json) -> None:
        name = action["do"]
        if name.startswith("query-"):
            self.queries.append(self._query(action))
            self.submissions.append(self.queries[-1])
        elif name == "move-influence":
            fields = _Fields(action)
            game = self.game
            game.move_marker(fields.need("house", "by"), fields.need("track"), fields.need("to"), "2E-TRK-8")
            fields.finish()
            self._take(self.shown, tuple(game.facts), game.state)
        elif name == "resolve-westeros-card":
            self._resolve(action)
        elif name in ENGINE_STEPS:
            _Fields(action).finish()
        else:
            self._submit(action)

    def _resolve(self, action: Json) -> None:
        """The card's turn has come, once everything before it is answered."""
        fields = _Fields(action)
        card = fields.need("card")
        fields.finish()
        for _ in range(MOST_DEFAULTS):
            if any(isinstance(fact, f.StepBegan) and fact.step == card for fact in self.facts):
                return
            self._default()
        raise Disagreement(f"{card} is never resolved")

    def _submit(self, action: Json) -> None:
        for answer in read_answers(action, self.state):
            if self._was_forced(answer):
                continue
            self._come_to(answer)
            # What an action leaves out, such as the embattled area, is read at the moment of its decision.
            answer = next(one for one in read_answers(action, self.state) if one.house == answer.house)
            self.answered.append((action, self.state, answer))
            try:
                self.rule(answer)
            except Refusal as refusal:
                if not self._expects_refusal():
                    raise
                self.refusal = refusal
                self.commands.append((answer, ()))
                self.submissions.append({"rejected": list(refusal.rules)})
                return
        self.submissions.append({"accepted": True})

    def _was_forced(self, answer: c.HouseAnswer) -> bool:
        """Whether the rules have applied this answer already, because there was no other."""
        return any(isinstance(fact, Answered) and fact.how == "forced" and fact.answer == answer for fact in self.last)

    def _come_to(self, answer: c.HouseAnswer) -> None:
        """Wait for the decision, unless a refusal is expected and it never comes."""
        kept = (self.state, self.shown, self.last, list(self.facts), list(self.notes), list(self.commands))
        try:
            self._wait_for(answer)
        except Disagreement:
            if not self._expects_refusal():
                raise
            self.state, self.shown, self.last, self.facts, self.notes, self.commands = kept

    def _expects_refusal(self) -> bool:
        """Whether the submission under way, or the last one, is expected to be refused."""
        results = self.expected.get("results", ())
        answers = sum(action["do"] not in ENGINE_STEPS for action in self.actions)
        place = len(self.submissions)
        if self.expected.get("accepted") is False and place >= answers - 1:
            return True
        if len(results) == answers and place < answers:
            results = results[place : place + 1]
        return any(isinstance(one, dict) and "rejected" in one for one in results)

    def _wait_for(self, answer: c.HouseAnswer) -> None:
        """Let the defaults answer for decisions that the example does not speak of."""
        for _ in range(MOST_DEFAULTS):
            owed = THRONES.decisions(self.state)
            if any(one.player == answer.house and one.kind == answer.kind for one in owed):
                return
            if not owed or self.state.is_over:
                raise Disagreement(f"{answer.house} is never asked for {answer.kind}")
            self._default()
        raise Disagreement(f"{answer.house} is never asked for {answer.kind}")

    def _default(self) -> None:
        owed = THRONES.decisions(self.state)
        if not owed:
            raise Disagreement("nobody is asked any more")
        self.notes.append(f"default: {owed[0].player} {owed[0].kind}")
        self.rule(PassDeadline(player=owed[0].player, question=self.state.question))

    def _run_on(self) -> None:
        """A combat whose outcome is expected goes on to its end by defaults."""
        combat = self.expected.get("combat")
        early = {"area", "attacker", "defender", "origin", "support", "initial-strength", "breakdown"}
        late = isinstance(combat, dict) and set(combat) - early
        while late and self.state.combat is not None:
            self._default()

    # Queries

    def _query(self, action: Json) -> Any:
        fields = _Fields(action)
        name = fields.name.removeprefix("query-")
        if name not in _QUERIES:
            raise CaseError(f"unknown query {name}")
        answer = _QUERIES[name](self, fields)
        fields.finish()
        return answer


def _with_draw(command: Start, deck: str) -> Start:
    """The start with one more shuffle of a deck stated: no card on top, so its canonical order."""
    if command.hidden is None:
        raise CaseError(f"the draws of the deck {deck} are not stated")
    stated = {**command.hidden.stated, deck: (*command.hidden.stated.get(deck, ()), ())}
    hidden = msgspec.structs.replace(command.hidden, stated=dict(sorted(stated.items())))
    return msgspec.structs.replace(command, hidden=hidden)


def _folded(state: State, facts: Iterable[Fact]) -> State:
    for fact in facts:
        state = THRONES.evolve(state, fact)
    return state


def _march_destinations(example: Example, fields: _Fields) -> list[str]:
    game, origin, unit = example.game, fields.need("from"), fields.need("unit")
    house = game.state.house_in(origin)
    assert house is not None
    options: Marches = march_options(game, house, origin)
    one = c.MarchOrder(house, origin)
    there = options.origins[origin].to
    return [
        to for to in sorted(there) if options.is_legal(msgspec.structs.replace(one, moves=(c.Move(to, {unit: 1}),)))
    ]


def _stars(example: Example, fields: _Fields) -> Any:
    house = fields.take("by")
    game = example.game
    return game.stars(house) if house else {one: game.stars(one) for one in game.houses}


def _compliance(example: Example, fields: _Fields) -> bool:
    game, house = example.game, fields.need("by")
    return complies(fields.take("armies", default=game.sizes(house).values()), game.supply_limit(house))


def _retreats(example: Example, fields: _Fields) -> list[str]:
    game = example.game
    combat = game.state.combat
    assert combat is not None and combat.loser is not None
    house = fields.take("by", default=combat.loser)
    return list(legal_areas(game, house, participating(game, combat, house))[0])


def _eligible_support(example: Example, fields: _Fields) -> list[str]:
    area, house = fields.need("area", "target"), fields.take("by")
    eligible = eligible_orders(example.game, area)
    return sorted(one for owner, areas in eligible.items() if house in (None, owner) for one in areas)


_QUERIES: dict[str, Callable[[Example, _Fields], Any]] = {
    "controller": lambda example, fields: example.game.controller(fields.need("area")),
    "supply-limit": lambda example, fields: list(example.game.supply_limit(fields.need("by"))),
    "compliance": _compliance,
    "armies": lambda example, fields: list(armies(example.game.sizes(fields.need("by")).values())),
    "stars": _stars,
    "march-destinations": _march_destinations,
    "ship-placements": lambda example, fields: list(ship_places(example.game, fields.need("by"), fields.need("area"))),
    "raid-targets": lambda example, fields: list(targets(example.game, fields.need("from", "area"))),
    "retreat-areas": _retreats,
    "adjacent": lambda example, fields: example.game.board.are_adjacent(fields.need("from"), fields.need("to")),
    "victory": lambda example, fields: len(example.game.castles_of(fields.need("by"))),
    "reserve": lambda example, fields: example.game.reserve(fields.need("by")),
    "adjacent-areas": lambda example, fields: list(example.game.board.neighbours[fields.need("area", "from")]),
    "eligible-support": _eligible_support,
    "pool": lambda example, fields: example.game.pool(fields.need("by")),
    "power": lambda example, fields: example.shown.power[fields.need("by")],
}
