"""What an example of ``agot2e-cases-1`` expects, key by key, compared with what happened."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from domain.kernel.commands import Command
from domain.kernel.decision import Decision
from domain.kernel.facts import Answered, Fact
from domain.kernel.refusal import Refusal
from domain.kernel.ruleset import Ruling
from domain.thrones import commands as c
from domain.thrones import facts as f
from domain.thrones.armies import armies
from domain.thrones.cards.vocabulary import participating
from domain.thrones.cases import CaseError, Disagreement
from domain.thrones.game import Game
from domain.thrones.pieces import BLADE, TOKEN_OF_TRACK, Units, is_routed, plus, unit_type
from domain.thrones.procedures.mustering import MusterOptions, Progress
from domain.thrones.procedures.raids import targets
from domain.thrones.procedures.retreat import legal_areas
from domain.thrones.ruleset import THRONES
from domain.thrones.state import State

Json = dict[str, Any]

WHOLE = (
    "armies-after", "armies-before", "attacks", "legal-retreat-areas", "legal-targets", "neutral-forces", "orders-left",
    "power-change", "skipped", "tied-highest", "tied-lowest", "turns",
)  # fmt: skip
"""Expectations that are compared as a whole, so that even an empty one says something."""

OUTCOMES = {"nights-watch": "nights-watch-victory", "wildlings": "wildling-victory"}
TOKENS = {"iron-throne": "iron-throne-token"} | {name: name for name in TOKEN_OF_TRACK.values()}


class Happened(Protocol):
    """What the comparison reads of an example that was played."""

    example: Json
    expected: Json
    actions: list[Json]
    agreed: list[str]
    facts: list[Fact]
    queries: list[Any]
    submissions: list[Any]
    answered: list[tuple[Json, State, c.HouseAnswer]]
    refusal: Refusal | None
    before: State
    shown: State
    state: State

    def read(self, action: Json, state: State) -> list[c.HouseAnswer]: ...

    def decide(self, state: State, command: Command) -> Ruling[State]: ...


def game_of(state: State) -> Game:
    return THRONES.rules_of(state).game(state)


H = TypeVar("H", bound="Happened")


def compare_by(comparisons: Mapping[str, Callable[[H, Any], None]], happened: H) -> None:
    """Raise a :class:`Disagreement` at the first thing that does not hold. No key is passed over."""
    for key, wanted in happened.expected.items():
        if key not in comparisons:
            raise CaseError(f"expectation not understood: {key}")
        comparisons[key](happened, wanted)
        happened.agreed.append(key)


def compare(happened: Happened) -> None:
    """Raise a :class:`Disagreement` at the first thing that does not hold in an example of the second edition."""
    compare_by(COMPARISONS, happened)


def expects_nothing(expected: Json) -> bool:
    """Whether an expectation holds whatever happens: it says nothing, or of nothing in particular."""
    return not any(value not in ({}, []) or key in WHOLE for key, value in expected.items())


def same(what: str, wanted: Any, found: Any) -> None:
    plain = msgspec.json.decode(msgspec.json.encode(found))
    if wanted != plain:
        raise Disagreement(f"{what}: expected {wanted}, found {plain}")


def _entries(what: str, wanted: Mapping[str, Any], found: Callable[[str], Any]) -> None:
    """Every entry that is expected."""
    for key, value in wanted.items():
        same(f"{what} of {key}", value, found(key))


def _facts(happened: Happened, kind: type[Any]) -> list[Any]:
    return [fact for fact in happened.facts if isinstance(fact, kind)]


def _last(happened: Happened, kind: type[Any], what: str) -> Any:
    found = _facts(happened, kind)
    if not found:
        raise Disagreement(f"{what}: there is no {kind.__name__}")
    return found[-1]


def _house(happened: Happened) -> str:
    """The House an example is about: the first that decides or is asked about."""
    for action in happened.actions:
        if "by" in action:
            return str(action["by"])
    supply: Json = happened.example.get("setup", {}).get("supply", {})
    if len(supply) == 1:
        return next(iter(supply))
    raise CaseError("whose armies are these?")


# The board


def compare_areas(happened: Happened, wanted: Json) -> None:
    for area, said in wanted.items():
        there = dict(said)
        units = happened.shown.units_in(area)
        if "units" in there or "routed" in there:
            standing = {unit: n for unit, n in units.items() if not is_routed(unit)}
            lying = {unit_type(unit): n for unit, n in units.items() if is_routed(unit)}
            same(f"{area}: units", _counted(there.pop("units", {})), standing)
            same(f"{area}: routed units", _counted(there.pop("routed", {})), lying)
        if "house" in there:
            same(f"{area}: House", there.pop("house"), happened.shown.house_in(area))
        for key in list(there):
            if key not in AREA_KEYS:
                raise CaseError(f"{area}: expectation not understood: {key}")
            wanted_there = there[key]
            if key == "garrison" and isinstance(wanted_there, int) and wanted_there == 0:
                wanted_there = None
            same(f"{area}: {key}", wanted_there, AREA_KEYS[key](happened.shown, area))


def _counted(units: Json) -> Json:
    return {unit: number for unit, number in units.items() if number}


def _order(state: State, area: str) -> str | None:
    placed = state.orders.get(area)
    return placed.token if placed else None


AREA_KEYS: dict[str, Callable[[State, str], Any]] = {
    "order": _order,
    "garrison": lambda state, area: state.garrisons.get(area),
    "neutral-force": lambda state, area: state.neutral.get(area),
    "power-token": lambda state, area: state.power_tokens.get(area),
    "controller": lambda state, area: game_of(state).controller(area),
}


def _tracks(happened: Happened, wanted: Json) -> None:
    _entries("track", wanted, lambda track: happened.shown.tracks.get(track))


def _tokens(happened: Happened, wanted: Json) -> None:
    _entries("token", wanted, lambda token: happened.shown.tokens.get(TOKENS[token]))


def _token_state(happened: Happened, wanted: Json) -> None:
    side = {True: "unused", False: "used"}
    _entries("token", wanted, lambda token: side[happened.shown.is_unused(TOKENS[token])])


def _by_house(field: str) -> Callable[[Happened, Json], None]:
    def compare_field(happened: Happened, wanted: Json) -> None:
        _entries(field, wanted, lambda house: getattr(happened.shown, field).get(house))

    return compare_field


def _hands(happened: Happened, wanted: Json) -> None:
    for house, cards in wanted.items():
        same(f"hand of {house}", sorted(cards), sorted(happened.shown.hands[house]))


def _orders_left(happened: Happened, wanted: Json) -> None:
    same("orders left", wanted, {area: placed.token for area, placed in happened.shown.orders.items()})


def _changes(happened: Happened) -> dict[str, int]:
    after, before = happened.shown.power, happened.before.power
    return {house: after[house] - before.get(house, 0) for house in sorted(after)}


def _gain(happened: Happened, wanted: Json) -> None:
    _entries("gain", wanted, lambda house: _changes(happened).get(house))


def _power_change(happened: Happened, wanted: Json) -> None:
    same("change of Power", wanted, {house: by for house, by in _changes(happened).items() if by})


def _armies(moment: str) -> Callable[[Happened, Any], None]:
    def compare_armies(happened: Happened, wanted: Any) -> None:
        state = happened.before if moment == "before" else happened.shown
        same(f"armies {moment}", wanted, armies(game_of(state).sizes(_house(happened)).values()))

    return compare_armies


def _limit(moment: str) -> Callable[[Happened, Any], None]:
    def compare_limit(happened: Happened, wanted: Any) -> None:
        state = happened.before if moment == "before" else happened.shown
        same(f"supply limit {moment}", wanted, game_of(state).supply_limit(_house(happened)))

    return compare_limit


# Answers


def _results(happened: Happened, wanted: Sequence[Any]) -> None:
    """The answers to queries and submissions, or to the queries alone."""
    found = happened.submissions if len(wanted) == len(happened.submissions) else happened.queries
    if len(wanted) != len(found):
        raise Disagreement(f"results: expected {len(wanted)}, found {len(found)}")
    for number, (one, other) in enumerate(zip(wanted, found, strict=True), start=1):
        if isinstance(one, dict) and set(one) == {"rejected"}:
            rules = other.get("rejected", []) if isinstance(other, dict) else []
            if not set(one["rejected"]) <= set(rules):
                raise Disagreement(f"result {number}: expected a refusal by {one['rejected']}, found {other}")
        else:
            same(f"result {number}", one, other)


def _accepted(happened: Happened, wanted: bool) -> None:
    last = happened.submissions[-1] if happened.submissions else None
    same("accepted", wanted, last == {"accepted": True})


def _last_answer(happened: Happened) -> tuple[Json, State, c.HouseAnswer]:
    if not happened.answered:
        raise Disagreement("nobody has answered anything")
    return happened.answered[-1]


def _also(legal: bool) -> Callable[[Happened, Sequence[Any]], None]:
    """Other answers to the last decision: units, or fields that differ from the action."""

    def compare_answers(happened: Happened, wanted: Sequence[Any]) -> None:
        action, state, answer = _last_answer(happened)
        for one in wanted:
            other = (
                {**action, **one} if isinstance(one, dict) and set(one) & set(action) else {**action, "destroy": one}
            )
            command = next(one for one in happened.read(other, state) if one.house == answer.house)
            try:
                happened.decide(state, command)
            except Refusal as refusal:
                if legal:
                    raise Disagreement(f"{one} is refused: {refusal}") from refusal
                continue
            if not legal:
                raise Disagreement(f"{one} is accepted")

    return compare_answers


def _decision(happened: Happened, kind: str) -> tuple[State, Decision[Any]]:
    """The last decision of a kind that was answered or is open."""
    states = [state for _, state, _ in happened.answered] + [happened.state]
    for state in reversed(states):
        for one in THRONES.decisions(state):
            if one.kind == kind:
                return state, one
    raise Disagreement(f"nobody is asked for {kind}")


def _required(happened: Happened, wanted: int) -> None:
    _, state, answer = _last_answer(happened)
    asked = next(one for one in THRONES.decisions(state) if one.player == answer.house and one.kind == answer.kind)
    same("number of units required", wanted, getattr(asked.options, "count", None))


def _next(happened: Happened, wanted: Json) -> None:
    said = dict(wanted)
    step = said.pop("step", None)
    if step:
        began = [f"{fact.phase}/{fact.step}" for fact in _facts(happened, f.StepBegan)]
        following = began[_steps_before_shown(happened) :]
        same("next step", step.replace("consolidate-power", "consolidate"), following[0] if following else None)
    if not said:
        return
    kind, by = said.pop("do", None), said.pop("by", None)
    for one in THRONES.decisions(happened.state):
        fields = {key: getattr(one.default, key, None) for key in said}
        if kind in (None, one.kind) and by in (None, one.player) and fields == said:
            return
    asked = [(one.player, one.kind) for one in THRONES.decisions(happened.state)]
    raise Disagreement(f"next: expected {wanted}, asked are {asked}")


def _steps_before_shown(happened: Happened) -> int:
    """How many steps had begun when the position was taken that is compared."""
    state, count = happened.before, 0
    for fact in happened.facts:
        if isinstance(fact, f.StepBegan) and state == happened.shown:
            return count
        count += isinstance(fact, f.StepBegan)
        state = THRONES.evolve(state, fact)
    return count


TURNS = ("raid", "march", "consolidate")


def acted(happened: Happened) -> list[str]:
    return [fact.answer.house for fact in happened.facts if isinstance(fact, Answered) and fact.answer.kind in TURNS]


def _turns(happened: Happened, wanted: Any) -> None:
    same("turns", wanted, acted(happened))


def _skipped(happened: Happened, wanted: Any) -> None:
    took_turns = acted(happened)
    same("skipped", wanted, [house for house in happened.before.turn_order if house not in took_turns])


def _forced(happened: Happened, wanted: Sequence[Json]) -> None:
    """Answers that the rules applied, with the rule that the facts after it cite."""
    for one in wanted:
        if not isinstance(one, dict):
            raise CaseError(f"forced: not an action: {one}")
        action = {key: value for key, value in one.items() if key != "reason"}
        rules = _rules_of_forced(happened, action)
        if rules is None or ("reason" in one and one["reason"] not in rules):
            raise Disagreement(f"not forced: {one}; the rules cited are {rules}")


def _rules_of_forced(happened: Happened, action: Json) -> set[str] | None:
    for number, fact in enumerate(happened.facts):
        if not isinstance(fact, Answered) or fact.how != "forced":
            continue
        if fact.answer in happened.read(action, happened.before):
            rest = happened.facts[number + 1 :]
            end = next((i for i, one in enumerate(rest) if isinstance(one, Answered)), len(rest))
            return {rule for one in (fact, *rest[:end]) for rule in one.rules}
    return None


# Mustering, raids, retreats


def _muster(happened: Happened) -> tuple[MusterOptions, c.Muster]:
    for _, state, answer in reversed(happened.answered):
        if isinstance(answer, c.Muster):
            for one in THRONES.decisions(state):
                if one.kind == "muster" and one.player == answer.house:
                    assert isinstance(one.options, MusterOptions)
                    return one.options, answer
    raise Disagreement("nobody has mustered")


def progress_of(happened: Happened) -> Progress:
    options, answer = _muster(happened)
    progress = Progress(options)
    for step in answer.steps:
        progress.take(step)
    return progress


def _points(happened: Happened, wanted: Json) -> None:
    options, _ = _muster(happened)
    _entries("mustering points", wanted, lambda area: options.areas[area].points if area in options.areas else 0)


def _points_lost(happened: Happened, wanted: Json) -> None:
    left = progress_of(happened).points
    _entries("points lost", wanted, lambda area: left.get(area, 0))


def _further_steps(happened: Happened, wanted: Json) -> None:
    steps = progress_of(happened).legal_steps()
    _entries("further steps", wanted, lambda area: [msgspec.to_builtins(step) for step in steps if step.area == area])


def _raid_targets(happened: Happened, wanted: Any) -> None:
    state, answer = next(
        (state, answer) for _, state, answer in reversed(happened.answered) if isinstance(answer, c.Raid)
    )
    same("legal targets", wanted, targets(game_of(state), answer.area))


def _retreat_areas(happened: Happened, wanted: Any) -> None:
    offered = _facts(happened, f.RetreatOffered)
    if offered:
        same("retreat areas", sorted(wanted), offered[-1].areas)
        return
    state, _ = _decision(happened, "retreat-area")
    game = game_of(state)
    combat = game.state.combat
    assert combat is not None and combat.loser is not None
    same("retreat areas", sorted(wanted), legal_areas(game, combat.loser, participating(game, combat, combat.loser))[0])


def _survivors(happened: Happened, wanted: Json) -> None:
    """Participating units once the casualties are destroyed, before anybody retreats."""
    state, survivors = happened.before, dict[str, Units]()
    for fact in happened.facts:
        state = THRONES.evolve(state, fact)
        combat = state.combat
        if combat and isinstance(fact, f.CasualtiesCounted | f.UnitsDestroyed):
            survivors |= {house: participating(game_of(state), combat, house) for house in combat.combatants}
    _entries("survivors", wanted, survivors.get)


# Combat


def _combat(happened: Happened, wanted: Any) -> None:
    fights = _facts(happened, f.CombatBegan)
    if isinstance(wanted, bool):
        same("combat", wanted, bool(fights))
        return
    for key, value in wanted.items():
        if key not in COMBAT_KEYS:
            raise CaseError(f"combat: expectation not understood: {key}")
        COMBAT_KEYS[key](happened, value)


def _began(field: str) -> Callable[[Happened, Any], None]:
    def compare_field(happened: Happened, wanted: Any) -> None:
        same(field, wanted, getattr(_last(happened, f.CombatBegan, field), field))

    return compare_field


def _counts(happened: Happened, stage: str) -> dict[str, f.StrengthCounted]:
    """The last count of each side at a stage."""
    return {fact.house: fact for fact in _facts(happened, f.StrengthCounted) if fact.stage == stage}


def _totals(stage: str, *without: str) -> Callable[[Happened, Json], None]:
    def compare_totals(happened: Happened, wanted: Json) -> None:
        counts = _counts(happened, stage)

        def total(house: str) -> int | None:
            if house not in counts:
                return None
            return max(0, sum(line.amount for line in counts[house].lines if line.group not in without))

        _entries(f"{stage} strength", wanted, total)

    return compare_totals


def _support(happened: Happened, wanted: Json) -> None:
    found: dict[str, int] = {}
    for count in _counts(happened, "initial").values():
        for line in count.lines:
            if line.group == "support" and line.area:
                found[line.area] = found.get(line.area, 0) + line.amount
    same("support", wanted, found)


def _breakdown(happened: Happened, wanted: Json) -> None:
    late = any(key in groups for groups in wanted.values() for key in ("card", "blade", "tides"))
    counts = _counts(happened, "final" if late else "initial")
    for house, groups in wanted.items():
        lines = counts[house].lines if house in counts else ()
        for group, amount in groups.items():
            if group not in ("units", "order", "support", "garrison", "card", "blade", "tides"):
                raise CaseError(f"breakdown: expectation not understood: {group}")
            same(f"{group} of {house}", amount, sum(line.amount for line in lines if line.group == group))


def _tie_break(happened: Happened, wanted: Any) -> None:
    same("tie-break", wanted, "fiefdoms" if _last(happened, f.CombatDecided, "tie-break").tie else None)


def _decided(field: str) -> Callable[[Happened, Any], None]:
    def compare_field(happened: Happened, wanted: Any) -> None:
        same(field, wanted, getattr(_last(happened, f.CombatDecided, field), field))

    return compare_field


def _icons(field: str) -> Callable[[Happened, Json], None]:
    def compare_icons(happened: Happened, wanted: Json) -> None:
        counts = {fact.house: fact for fact in _facts(happened, f.IconsCounted)}
        _entries(field, wanted, lambda house: sum(line.amount for line in getattr(counts[house], field)))

    return compare_icons


def _casualties(happened: Happened, wanted: Any) -> None:
    counted: f.CasualtiesCounted = _last(happened, f.CasualtiesCounted, "casualties")
    if not isinstance(wanted, dict):
        same("casualties", wanted, counted.number)
        return
    for house, number in wanted.items():
        lost = _destroyed(happened, house, "2E-CAS-6", "2E-TOB-9")
        same(f"casualties of {house}", number, lost if isinstance(number, dict) else sum(lost.values()))


def _destroyed(happened: Happened, house: str, *written: str) -> Units:
    """Units destroyed by these rules of the second edition, or by what the table cites in their place."""
    rules = game_of(happened.state).edition.law.cite(written)
    lost: Units = {}
    for fact in _facts(happened, f.UnitsDestroyed):
        if fact.house == house and set(rules) & set(fact.rules):
            lost = plus(lost, fact.units)
    return lost


def _destroyed_as_routed(happened: Happened, wanted: Json) -> None:
    def lying(house: str) -> Units:
        lost = _destroyed(happened, house, "2E-CAS-2")
        return {unit_type(unit): number for unit, number in lost.items() if is_routed(unit)}

    _entries("destroyed as routed", wanted, lying)


def _destroyed_siege(happened: Happened, wanted: Json) -> None:
    def engines(house: str) -> Units:
        lost = _destroyed(happened, house, "2E-CAS-2")
        return {unit: number for unit, number in lost.items() if unit == "siege-engine"}

    _entries("destroyed Siege Engines", wanted, engines)


def _retreat(happened: Happened, wanted: Json) -> None:
    went = {fact.house: fact.to for fact in _facts(happened, f.UnitsRetreated)}
    went |= {fact.house: fact.to for fact in _facts(happened, f.UnitsReturned) if fact.routed}
    _entries("retreat", wanted, went.get)


COMBAT_KEYS: dict[str, Callable[[Happened, Any], None]] = {
    "area": _began("area"),
    "origin": _began("origin"),
    "attacker": _began("attacker"),
    "defender": _began("defender"),
    "support": _support,
    "initial-strength": _totals("initial"),
    "strength-after-abilities-without-cards": _totals("final", "card", "blade", "tides"),
    "final-strength": _totals("final"),
    "breakdown": _breakdown,
    "tie-break": _tie_break,
    "winner": _decided("winner"),
    "loser": _decided("loser"),
    "swords": _icons("swords"),
    "fortifications": _icons("fortifications"),
    "casualties": _casualties,
    "destroyed-as-routed": _destroyed_as_routed,
    "destroyed-siege-engines": _destroyed_siege,
    "retreat": _retreat,
}


def _blade_offered(happened: Happened, wanted: bool) -> None:
    kinds = [fact.answer.kind for fact in happened.facts if isinstance(fact, Answered)]
    kinds += [one.kind for one in THRONES.decisions(happened.state)]
    same("Blade offered", wanted, "blade-strength" in kinds or "blade-redraw" in kinds)


def _neutral_attack(happened: Happened, wanted: Json) -> None:
    """A neutral force beaten, or too strong: then the refusal has the numbers."""
    counted = _facts(happened, f.StrengthCounted)
    against = next((fact for fact in reversed(counted) if fact.stage == "neutral"), None)
    beaten = [fact.area for fact in _facts(happened, f.NeutralForceRemoved)]
    found: Json = {"success": against is not None and against.area in beaten}
    if against is not None:
        groups = {group: sum(line.amount for line in against.lines if line.group == group) for group in GROUPS}
        found |= {**groups, "area": against.area, "required": happened.before.neutral.get(against.area)}
        found |= {"total": against.total, "house-cards": bool(_facts(happened, f.HouseCardsRevealed))}
        used = any(fact.token == BLADE for fact in _facts(happened, f.TokenUsed))
        asked = any(isinstance(one, Answered) and one.answer.kind == "blade-strength" for one in happened.facts)
        found["blade-allowed"] = used or asked
    elif happened.refusal is not None:
        params = happened.refusal.params
        found |= {key: params[name] for key, name in REFUSED_ATTACK.items() if name in params}
    for key, value in wanted.items():
        if key not in found:
            raise CaseError(f"neutral-attack: expectation not understood: {key}")
        same(f"neutral attack: {key}", value, found[key])


GROUPS = ("units", "order", "support")
REFUSED_ATTACK = {"area": "area", "required": "required", "total": "strength"}


# Wildlings


def _attacks_of(happened: Happened) -> list[Json]:
    """Every wildling attack, from its strength to the threat after it."""
    attacks: list[Json] = []
    state = happened.before
    for fact in happened.facts:
        state = THRONES.evolve(state, fact)
        if isinstance(fact, f.WildlingAttackDecided):
            outcome = OUTCOMES[fact.winner]
            attacks.append({"strength": fact.strength, "nights-watch": fact.watch, "outcome": outcome})
            decisive = max(state.bids.values()) if fact.winner == "nights-watch" else min(state.bids.values())
            tied = [house for house in sorted(state.bids) if state.bids[house] == decisive]
            attacks[-1]["tied-highest" if fact.winner == "nights-watch" else "tied-lowest"] = tied
        elif isinstance(fact, f.BidderNamed):
            attacks[-1][f"{fact.which}-bidder"] = fact.house
        elif isinstance(fact, f.WildlingCardRevealed):
            attacks[-1]["card"] = fact.card
        elif isinstance(fact, f.WildlingCardBuried) and attacks:
            attacks[-1]["threat-after"] = state.threat
    return attacks


def _attacks(happened: Happened, wanted: Sequence[Json]) -> None:
    found = _attacks_of(happened)
    same("number of attacks", len(wanted), len(found))
    for number, (one, other) in enumerate(zip(wanted, found, strict=True), start=1):
        _entries(f"attack {number}", one, other.get)


def _attack(key: str) -> Callable[[Happened, Any], None]:
    def compare_attack(happened: Happened, wanted: Any) -> None:
        attacks = _attacks_of(happened)
        found = attacks[-1].get(key) if attacks else None
        same(key, sorted(wanted) if isinstance(wanted, list) else wanted, found)

    return compare_attack


def _ignored_icons(happened: Happened, wanted: int) -> None:
    moved = [fact for fact in _facts(happened, f.ThreatMoved) if fact.icons]
    same("ignored icons", wanted, moved[-1].ignored if moved else 0)


COMPARISONS: dict[str, Callable[[Happened, Any], None]] = {
    "accepted": _accepted,
    "also-legal": _also(True),
    "also-illegal": _also(False),
    "areas": compare_areas,
    "armies-after": _armies("after"),
    "armies-before": _armies("before"),
    "attacks": _attacks,
    "blade-offered": _blade_offered,
    "combat": _combat,
    "controller": lambda h, w: _entries("controller", w, lambda area: game_of(h.shown).controller(area)),
    "discards": _by_house("discards"),
    "forced": _forced,
    "further-legal-steps": _further_steps,
    "gain": _gain,
    "garrisons": lambda h, w: _entries(
        "garrison", {area: number or None for area, number in w.items()}, lambda area: h.shown.garrisons.get(area)
    ),
    "hands": _hands,
    "highest-bidder": _attack("highest-bidder"),
    "ignored-icons": _ignored_icons,
    "legal-retreat-areas": _retreat_areas,
    "legal-targets": _raid_targets,
    "limit-after": _limit("after"),
    "limit-before": _limit("before"),
    "lowest-bidder": _attack("lowest-bidder"),
    "mustering-points": _points,
    "neutral-attack": _neutral_attack,
    "neutral-forces": lambda h, w: same(
        "neutral forces", dict(sorted(w.items())), dict(sorted(h.shown.neutral.items()))
    ),
    "next": _next,
    "nights-watch": _attack("nights-watch"),
    "orders-left": _orders_left,
    "outcome": _attack("outcome"),
    "points-lost": _points_lost,
    "pool": lambda h, w: _entries("Pool", w, game_of(h.shown).pool),
    "power": _by_house("power"),
    "power-change": _power_change,
    "required": _required,
    "results": _results,
    "round": lambda h, w: same("round", w, h.shown.round),
    "skipped": _skipped,
    "stars": lambda h, w: _entries("stars", w, game_of(h.shown).stars),
    "strength": _attack("strength"),
    "supply": _by_house("supply"),
    "survivors": _survivors,
    "tied-highest": _attack("tied-highest"),
    "tied-lowest": _attack("tied-lowest"),
    "token-state": _token_state,
    "tokens": _tokens,
    "tracks": _tracks,
    "turns": _turns,
    "victory": _by_house("victory"),
    "wildling-threat": lambda h, w: same("wildling threat", w, h.shown.threat),
    "winner": lambda h, w: same("winner of the game", w, h.state.winner),
}
