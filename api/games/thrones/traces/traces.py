"""Reference games (``reference-trace-1``): replayed on our engine, answer by answer, and compared.

A reference game records every answer, every draw and many full positions of a game that another
implementation played. :func:`replay` drives our engine with the answers and compares every recorded
position, every set of retreat areas and every result of a combat. What differs is either explained by a
known deliberate difference (a predicate with a rule) or reported as unexplained.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from api.games.thrones.traces.position import differences, in_words_of_trace, taken_over
from domain.kernel.commands import StateDraws
from domain.kernel.decision import Answer, Decision
from domain.kernel.facts import Answered, AnswerSealed, AnswerTaken, Fact
from domain.kernel.refusal import Refusal
from domain.kernel.ruleset import resume
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from domain.thrones.language.pieces import Units, is_routed, routed
from domain.thrones.language.start import Start
from domain.thrones.language.state import State
from domain.thrones.rules.wildlings.losses import Degrades
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.charter import Charter, Switches

Step = dict[str, Any]


class Difference(msgspec.Struct, frozen=True):
    """One disagreement: where, what, the rules of ours that led there, and its explanation if there is one.

    ``explained`` names the known difference (a key of :data:`EXPLANATIONS`), empty when none fits.
    """

    step: int
    what: str
    ours: Any
    theirs: Any
    rules: tuple[str, ...] = ()
    explained: str = ""


class Report(msgspec.Struct):
    """What a replay found."""

    name: str
    steps: int = 0
    used: int = 0
    checkpoints: int = 0
    retreats: int = 0
    retreats_recorded: int = 0
    combats: int = 0
    facts: int = 0
    commands: int = 0
    taken_over: int = 0
    winner: str = ""
    differences: list[Difference] = []
    unused: list[Step] = []

    @property
    def unexplained(self) -> list[Difference]:
        return [one for one in self.differences if not one.explained]


class Stuck(Exception):
    """The replay cannot go on: no recorded answer fits what our engine asks."""


def _force(force: Mapping[str, Any]) -> Units:
    """Units in the words of a reference game as ours."""
    units = {unit: count for unit, count in force.items() if unit not in ("routed", "house")}
    for unit, count in force.get("routed", {}).items():
        units[routed(unit)] = count
    return units


def _chosen(units: list[Mapping[str, Any]]) -> c.Chosen:
    return {one["area"]: _force(one["units"]) for one in units}


def _draws(steps: list[Step]) -> list[StateDraws]:
    """Every shuffle of the game in order: Westeros decks as recorded, Tides cards combat by combat."""
    stated: list[StateDraws] = []
    for number, step in enumerate(steps):
        for draw in step.get("draws", ()):
            if "shuffled" in draw:
                stated.append(StateDraws(deck=draw["deck"], cards=tuple(draw["shuffled"])))
        if step["kind"] == "tides-draw":
            cards = [card for draw in step["draws"] for card in draw["drawn"]]
            for later in steps[number + 1 :]:
                if later["kind"] in ("combat-result", "combat-begin", "game-end"):
                    break
                if later["kind"] == "blade-redraw":
                    cards += [card for draw in later.get("draws", ()) for card in draw["drawn"]]
            stated.append(StateDraws(deck="tides", cards=tuple(cards)))
    return stated


class Replay:
    """One reference game being replayed."""

    def __init__(self, trace: Mapping[str, Any], name: str) -> None:
        self.trace = trace
        self.steps: list[Step] = trace["steps"]
        self.checkpoints = trace["checkpoints"]
        self.report = Report(name=name, steps=len(self.steps))
        self.notes = {note["n"]: note["code"] for note in trace["notes"]}
        self.used: set[int] = set()
        self.retreats: set[int] = set()
        self.reached = 0
        self.floor = 0
        self.state = THRONES.blank()
        self.shown: list[Fact] = []
        self.done = False
        self.resumed: Mapping[str, Any] | None = None
        self.tides = [step["n"] for step in self.steps if step["kind"] == "tides-draw"]
        self.captured_before_the_combat = False

    # Driving

    def run(self) -> Report:
        setup = self.trace["setup"]
        charter = Charter(
            edition="second-edition",
            houses=tuple(sorted(setup["houses"])),
            switches=msgspec.convert(setup["switches"], Switches),
            chance="imposed",
        )
        decks = {
            deck: tuple(cards if deck == "wildling" else cards["draw"])
            for deck, cards in self.trace["initial"]["decks"].items()
            if deck != "tides"
        }
        try:
            self._rule(Start(charter=charter, decks=decks))
            for draws in _draws(self.steps):
                self._rule(draws)
            while not self.state.is_over and not self.done:
                try:
                    self._answer_one()
                except Stuck as stuck:
                    if not self._skip_to_next(str(stuck)):
                        raise
        except Stuck as stuck:
            self._differ("stuck", str(stuck), "", step=self.floor)
        self._finish()
        return self.report

    def _skip_to_next(self, why: str) -> bool:
        """Where the recording itself notes a difference, an answer that does not fit is part of it."""
        noted = self._noted()
        if not noted or self._next_label() not in ("march-end", "combat-end"):
            return False
        self._differ("an answer that does not fit", why, self._next_label(), explained=noted)
        self.resumed = self.checkpoints[self.reached]
        self._pass_checkpoint()
        self._go_on_from_recording(self.state, self.state)
        return True

    def _rule(self, command: Any) -> None:
        before = self.state
        ruling = THRONES.decide(before, command)
        self.report.commands += 1
        self.report.facts += len(ruling.facts)
        state = before
        for fact in ruling.facts:
            after = THRONES.evolve(state, fact)
            self.shown.append(fact)
            self._watch(state, fact, after)
            state = after
            if self.resumed is not None:
                self._go_on_from_recording(before, state)
                return
        self.state = ruling.state

    def _go_on_from_recording(self, before: State, state: State) -> None:
        """After an explained difference the recorded position is taken over and the next turn follows."""
        checkpoint, self.resumed = self.resumed, None
        assert checkpoint is not None
        self.report.taken_over += 1
        frames = before.frames[:2]
        turn = next(frame for frame in before.frames if frame["procedure"] == "MarchOrders")
        march = {"procedure": "MarchOrders", "step": "next_house", "last_position": turn["last_position"]}
        position = replace(taken_over(state, checkpoint["position"]), frames=(*frames, march), combat=None, march=None)
        ruling = resume(THRONES.rules_of(position), position)
        self.state = position
        for fact in ruling.facts:
            after = THRONES.evolve(self.state, fact)
            self.shown.append(fact)
            self._watch(self.state, fact, after)
            self.state = after

    def _answer_one(self) -> None:
        self._leave_out_tides()
        decisions = THRONES.decisions(self.state)
        for decision in decisions:
            answer = self._recorded(decision)
            if answer is None:
                continue
            try:
                self._rule(answer)
            except Refusal as refusal:
                raise Stuck(f"{answer} refused: {refusal}") from refusal
            return
        raise Stuck(f"no recorded answer to {[(one.player, one.kind) for one in decisions]}")

    def _leave_out_tides(self) -> None:
        """A combat that was skipped after a difference leaves its Tides cards in the recording; nobody draws them."""
        stated = self.state.hidden.stated
        waiting, left = stated.get("tides", ()), sum(number > self.floor for number in self.tides)
        if len(waiting) > left:
            kept = {deck: cards for deck, cards in stated.items() if deck != "tides"}
            kept |= {"tides": waiting[len(waiting) - left :]} if left else {}
            self.state = replace(self.state, hidden=replace(self.state.hidden, stated=kept))

    # Recorded answers

    def _segment(self, kind: str, house: str | None) -> list[Step]:
        """Unused steps of a kind up to the next checkpoint."""
        end = self.checkpoints[self.reached]["after"] if self.reached < len(self.checkpoints) else len(self.steps)
        return [
            step
            for step in self.steps[self.floor : end]
            if step["kind"] == kind and step["n"] not in self.used and (house is None or step["house"] == house)
        ]

    def _take(self, kind: str, house: str | None, fits: Callable[[Step], bool] = lambda step: True) -> Step | None:
        for step in self._segment(kind, house):
            if fits(step):
                self.used.add(step["n"])
                return step
        return None

    def _recorded(self, decision: Decision[Any]) -> Answer | None:
        """The recorded answer to a decision of ours, in our words."""
        return ANSWERS[decision.kind](self, decision)

    # Watching our facts

    def _watch(self, before: State, fact: Fact, after: State) -> None:
        label = self._boundary(before, fact)
        if label and not self.done:
            round_end = label in ("round-end", "marches-end", "before-clean-up", "westeros-end", "raids-end", "set-up")
            self._compare(label, before if round_end or label == "round-end" else after)
        if isinstance(fact, Answered | AnswerSealed) and self.forced(fact):
            self._use_forced(fact.answer)
        if isinstance(fact, f.UnitsDestroyed) and before.march is not None and "2E-PRT-13" in fact.rules:
            self.captured_before_the_combat = True
        if isinstance(fact, f.RetreatOffered):
            self._compare_retreat(fact.house, fact.areas)
        elif isinstance(fact, f.UnitsReturned) and fact.routed:
            self._compare_retreat(fact.house, (fact.to,))
        elif isinstance(fact, f.UnitsDestroyed) and {"2E-RET-3", "2E-RET-11"} & set(fact.rules):
            self._compare_retreat(fact.house, ())
        if isinstance(fact, f.IconsCounted) and after.combat and fact.house == after.combat.defender:
            self._compare_combat(after)

    def forced(self, fact: Fact) -> bool:
        """Whether our engine answered by itself what the recording may have asked."""
        if isinstance(fact, Answered):
            return fact.how == "forced"
        before = self.shown[-2] if len(self.shown) > 1 else None
        return isinstance(before, AnswerTaken) and before.how == "forced"

    def _use_forced(self, answer: Any) -> None:
        area = getattr(answer, "area", None) if isinstance(answer, c.Consolidate | c.Raid) else None
        if isinstance(answer, c.CardAbility):
            self._take("card-ability", answer.house, lambda one: one["ability"] == answer.ability)
        elif not isinstance(answer, c.RetreatArea | c.RetreatLosses):
            self._take(answer.kind, answer.house, lambda one: area is None or one["answer"]["area"] == area)

    def _boundary(self, before: State, fact: Fact) -> str:
        """The kind of recorded position that our facts have reached, if any."""
        if isinstance(fact, f.StepBegan):
            if fact.step == "assign-orders":
                return "set-up" if before.round == 1 else "westeros-end"
            return {"march": "raids-end", "consolidate": "marches-end", "clean-up": "before-clean-up"}.get(
                fact.step, ""
            )
        if isinstance(fact, f.OrdersRevealed):
            return "orders-revealed"
        if isinstance(fact, f.CombatEnded):
            return "combat-end"
        if isinstance(fact, f.OrderResolved) and before.step == "march" and before.combat is None:
            return "march-end"
        if isinstance(fact, f.RoundBegan) and before.round:
            return "round-end"
        return ""

    def _next_label(self) -> str:
        return self.checkpoints[self.reached]["label"] if self.reached < len(self.checkpoints) else ""

    def _compare(self, label: str, state: State) -> None:
        if self._next_label() != label:
            self._differ("moment", label, self._next_label())
            self.done = True
            return
        self._compare_position(label, state, self.checkpoints[self.reached])
        self._pass_checkpoint()

    def _pass_checkpoint(self) -> None:
        """The next stretch begins. What a noted difference left unasked in the last one is part of it."""
        after = self.checkpoints[self.reached]["after"]
        if self._noted():
            self.used.update(step["n"] for step in self.steps[self.floor : after])
        self.reached += 1
        self.floor = after
        self.captured_before_the_combat = False

    def _compare_position(self, label: str, state: State, checkpoint: Mapping[str, Any]) -> None:
        ours = in_words_of_trace(state, THRONES.rules_of(state).edition)
        theirs = dict(checkpoint["position"])
        if label == "orders-revealed":
            dummies = checkpoint.get("dummies", [])
            theirs["orders"] = {area: token for area, token in theirs["orders"].items() if area not in dummies}
            if dummies:
                self._differ("dummies", None, dummies, explained="dummy-orders")
        if label == "game-end":
            theirs = {key: value for key, value in theirs.items() if key not in ("orders", "blade_used")}
        self.report.checkpoints += 1
        found = list(differences(ours, theirs, ignore_routed=label == "game-end"))
        why = explanation(Moment(state, label, self._notes(), found))
        for key, mine, other in found:
            self._differ(f"{label}: {key}", mine, other, explained=why)
        if found and why and label in ("march-end", "combat-end") and not state.is_over:
            self.resumed = checkpoint

    def _notes(self) -> tuple[str, ...]:
        """Codes that the recording notes between the last checkpoint and the next.

        It does not note a port that an uncontested move of a march takes which also fights.
        """
        end = self.checkpoints[self.reached]["after"] if self.reached < len(self.checkpoints) else len(self.steps)
        unsaid = (CAPTURED_LATE,) if self.captured_before_the_combat else ()
        return (*unsaid, *(code for number, code in sorted(self.notes.items()) if self.floor < number <= end))

    def _noted(self) -> str:
        """The known difference that the recording notes between the last checkpoint and the next, if there is one."""
        return next((NOTED[code] for code in self._notes() if code in NOTED), "")

    def _compare_retreat(self, house: str, areas: tuple[str, ...]) -> None:
        """A recorded set of retreat areas; each record is compared once, with the first set of ours that fits it."""
        end = self.checkpoints[self.reached]["after"] if self.reached < len(self.checkpoints) else len(self.steps)
        for step in self.steps[self.floor : end]:
            if step["kind"] != "retreat-area" or step["answer"]["loser"] != house or step["n"] in self.retreats:
                continue
            self.retreats.add(step["n"])
            self.report.retreats += 1
            if sorted(step["answer"]["options"]) != sorted(areas):
                self._differ(
                    "retreat areas", list(areas), step["answer"]["options"], step["n"], explained=self._noted()
                )
            return

    def _compare_combat(self, state: State) -> None:
        """The recorded result of a combat against sums over our lines alone."""
        step = self._take("combat-result", None)
        combat = state.combat
        assert combat is not None
        if step is None:
            self._differ("combat", combat.area, None)
            return
        self.report.combats += 1
        if step["answer"]["winner"] != combat.winner:
            told = step["answer"]["winner"]
            self._differ("winner of a combat", combat.winner, told, step["n"], explained=self._noted())
        recent = self.shown[-40:]
        for house in combat.combatants:
            side = combat.side_of(house)
            final = [one for one in recent if isinstance(one, f.StrengthCounted) and one.house == house][-1]
            icons = [one for one in recent if isinstance(one, f.IconsCounted) and one.house == house]
            sums: dict[str, Any] = arithmetic(final)
            if icons:
                sums["swords"] = sum(line.amount for line in icons[-1].swords)
                sums["fortifications"] = sum(line.amount for line in icons[-1].fortifications)
            theirs = {key: step["answer"][str(side)][key] for key in sums}
            if sums != theirs:
                self._differ(f"combat {side}", sums, theirs, step["n"], explained=self._noted())

    # Differences

    def _differ(self, what: str, ours: Any, theirs: Any, step: int | None = None, explained: str = "") -> None:
        number = self.floor if step is None else step
        rules = tuple(rule for fact in self.shown[-3:] for rule in fact.rules)
        self.report.differences.append(Difference(number, what, ours, theirs, rules, explained))

    def _finish(self) -> None:
        report = self.report
        report.winner = self.state.winner or ""
        ended_behind = self.floor
        if self.state.is_over and not self.done:
            self._compare_end()
        report.used = len(self.used)
        recorded = {step["n"] for step in self.steps if step["kind"] == "retreat-area"}
        report.retreats_recorded = len(recorded)
        left = [
            step for step in self.steps if step["n"] not in self.used and step["house"] is not None and not step["auto"]
        ]
        by_areas = any(isinstance(fact, f.GameWon) and fact.reason == "areas" for fact in self.shown)
        for step in left:
            if by_areas and step["n"] > ended_behind:
                self._differ("asked after the end", None, step["kind"], step["n"], explained="won-at-once")
            elif step["kind"] == "card-ability" and _removes_nothing(step):
                self._differ("an order that goes anyway", None, "cersei-order", step["n"], explained="no-order-left")
            else:
                report.unused.append(step)

    def _compare_end(self) -> None:
        """The end: by rounds as recorded; by areas at once, while the recording finishes the march first."""
        if self._next_label() == "round-end":
            self._compare("round-end", self.state)
        early = ""
        if self._next_label() in ("march-end", "combat-end") and self.state.march is not None:
            early = "moment-of-control" if "seven-areas-before-the-combat" in self._notes() else ""
            self._differ("end before the combat", self.state.winner, self._next_label(), explained=early)
        elif self._next_label() in ("march-end", "combat-end"):
            self._compare(self._next_label(), self.state)
        if not early and self._next_label() == "game-end":
            self._compare("game-end", self.state)
        if self.trace["result"]["winner"] != self.state.winner:
            self._differ("winner", self.state.winner, self.trace["result"]["winner"], explained=early)


class Moment(msgspec.Struct, frozen=True):
    """A compared moment: our state, the kind of checkpoint, the recording's own notes, what differs."""

    state: State
    label: str
    notes: tuple[str, ...]
    found: list[tuple[str, Any, Any]]

    def keys(self) -> set[str]:
        return {key for key, _, _ in self.found}

    def areas(self, key: str) -> set[str]:
        return {area for name, mine, _ in self.found if name == key and isinstance(mine, dict) for area in mine}


def _won_in_the_clean_up(moment: Moment) -> bool:
    """The game ended with the units in place: ports, orders and cards come later (2E-VIC-2, 2E-CTL-16, 2E-CUP-5)."""
    combat, state = moment.state.combat, moment.state
    ports = all(area.startswith("port-") for area in moment.areas("units"))
    if not state.is_over or combat is None or combat.winner is None:
        return state.is_over and moment.keys() <= {"orders", "units"} and ports
    cards = moment.areas("hands") | moment.areas("discards")
    return moment.keys() <= {"orders", "hands", "discards", "units"} and cards <= set(combat.combatants) and ports


def _ports_taken_at_once(moment: Moment) -> bool:
    """The ports of an area left behind changed hands before the combat, not after it (2E-CTL-16)."""
    noted = CAPTURED_LATE in moment.notes
    return noted and moment.keys() <= ON_THE_BOARD


def _skull_spared_routed(moment: Moment) -> bool:
    """A skull found only routed units of the winner, which it spares (2E-TOB-10)."""
    noted = "skull-destroys-a-routed-unit" in moment.notes
    return noted and moment.keys() <= {"units", "orders", "castles", "land_areas"}


ON_THE_BOARD = frozenset({"units", "orders", "garrisons", "power_tokens", "power_pool", "castles", "land_areas"})
"""What a combat may leave different when Ships in a port changed hands before it: a Support order less."""

CAPTURED_LATE = "port-captured-only-after-the-combat"

NOTED = {
    "seven-areas-before-the-combat": "moment-of-control",
    CAPTURED_LATE: "moment-of-control",
    "skull-destroys-a-routed-unit": "skull-hits-routed",
}
"""Codes of a recording's own notes that can change what follows up to the next checkpoint."""


EXPLANATIONS: dict[str, tuple[str, int, Callable[[Moment], bool] | None]] = {
    "dummy-orders": ("2E-PLN-9", 1, None),
    "asked-in-vain": ("2E-NEU-6", 5, None),
    "won-at-once": ("2E-VIC-2", 6, _won_in_the_clean_up),
    "moment-of-control": ("2E-CTL-16", 6, _ports_taken_at_once),
    "skull-hits-routed": ("2E-TOB-10", 7, _skull_spared_routed),
    "no-order-left": ("2E-HCL-7", 10, None),
}
"""Known deliberate differences: the rule that we follow, their number in the notes on reference games, and
the test of a compared moment (None: told by the recording's own words where it is met)."""


def _removes_nothing(step: Step) -> bool:
    """Whether an answer says that the loser keeps his orders; he has none but those that the combat removes anyway."""
    return step["ability"] == "cersei-order" and step["answer"]["use"] is False


def explanation(moment: Moment) -> str:
    """The known difference that a moment falls under, or nothing."""
    if not moment.found:
        return ""
    return next((name for name, (_, _, test) in EXPLANATIONS.items() if test and test(moment)), "")


def arithmetic(fact: f.StrengthCounted) -> dict[str, int]:
    """A side's sums by group, from the lines alone."""
    sums = dict.fromkeys(("units", "order", "support", "garrison", "card", "blade", "tides"), 0)
    for line in fact.lines:
        sums[line.group] += line.amount
    total = max(0, sum(sums.values()))
    return {
        "unit_strength": sums["units"],
        "order": sums["order"],
        "support": sums["support"],
        "garrison": sums["garrison"],
        "house_card_strength": sums["card"],
        "blade": sums["blade"],
        "total": total,
    }


# How each kind of decision is answered from the recording


def _taken(
    make: Callable[[Any], dict[str, Any]], fits: Callable[[Any, Any], bool] = lambda default, step: True
) -> Callable[[Replay, Decision[Any]], Answer | None]:
    """The answer of the next recorded step of the kind that fits our default, with what ``make`` reads off it."""

    def read(replay: Replay, decision: Decision[Any]) -> Answer | None:
        step = replay._take(decision.kind, decision.player, lambda one: fits(decision.default, one["answer"]))
        return None if step is None else _with(decision, **make(step["answer"]))

    return read


def _word(field: str = "choice") -> Callable[[Replay, Decision[Any]], Answer | None]:
    return _taken(lambda told: {"choice": told[field]})


def _with(decision: Decision[Any], **fields: Any) -> Answer:
    answer: Answer = msgspec.structs.replace(decision.default, **fields)
    return answer


def _orders(told: Mapping[str, Any]) -> dict[str, Any]:
    orders = {area: token for area, token in told["orders"].items() if area not in told["dummies"]}
    return {"orders": orders, "draft": False}


def _raven(told: Mapping[str, Any]) -> dict[str, Any]:
    if told["choice"] != "replace":
        return {"choice": told["choice"]}
    return {"choice": "replace", "area": told["area"], "order": told["new"]}


def _march(told: Mapping[str, Any]) -> dict[str, Any]:
    moves = tuple(c.Move(move["to"], _force(move["units"])) for move in told["moves"])
    return {"area": told["area"], "moves": moves, "leave_power": told["leave_power_token"]}


def _request(replay: Replay, decision: Decision[Any]) -> Answer:
    step = replay._take("neutral-support-request", decision.player)
    while step is not None:
        then, area = step["answer"]["then"], step["answer"]["areas"][0]
        if then and then["contested"] == area:
            return _with(decision, area=then["march"], target=area)
        replay._differ("support asked in vain", None, area, step["n"], explained="asked-in-vain")
        while replay._take("neutral-support", None, lambda one, area=area: one["answer"]["area"] == area):  # type: ignore[misc]  # area is bound now
            pass
        step = replay._take("neutral-support-request", decision.player)
    return decision.default  # type: ignore[no-any-return]  # the default does not ask


def _grant(replay: Replay, decision: Decision[Any]) -> Answer:
    default = decision.default
    step = replay._take("neutral-support", decision.player, lambda one: one["answer"]["area"] == default.target)
    grant = bool(step and step["answer"]["grant"])
    return _with(decision, orders=dict.fromkeys(default.orders, grant))


def _support(replay: Replay, decision: Decision[Any]) -> Answer | None:
    step = replay._take("support", decision.player)
    default = decision.default
    combat = replay.state.combat
    assert combat is not None
    if step is None:
        return decision.default  # type: ignore[no-any-return]  # own support is taken for granted by the recording
    answer = step["answer"]
    side = combat.side_of(decision.player)
    if side:
        refused = answer["accepted"] is False
        word = side if answer["for"] and not refused else "withhold"
        if refused:
            replay._take("accept-support", decision.player, lambda one: one["answer"]["from"] == decision.player)
    else:
        word = answer["for"] or "withhold"
    return _with(decision, orders=dict.fromkeys(default.orders, word))


def _accept(replay: Replay, decision: Decision[Any]) -> Answer:
    refused = {
        step["house"]
        for step in replay.steps[replay.floor : replay.floor + 80]
        if step["kind"] == "support"
        and step["n"] in replay.used
        and step["answer"]["accepted"] is False
        and step["n"] > replay.floor
    }
    orders = {area: replay.state.orders[area].house not in refused for area in decision.default.orders}
    for step in replay._segment("accept-support", decision.player):
        replay.used.add(step["n"])
    return _with(decision, orders=orders)


def _ability(replay: Replay, decision: Decision[Any]) -> Answer | None:
    key = decision.default.ability
    step = replay._take("card-ability", decision.player, lambda one: one["ability"] == key)
    if step is None:
        return _with(decision, choice=decision.default.choice) if _may_lack(key) else None
    answer = step["answer"]
    if key == "tyrion-cancel":
        return _with(decision, choice="cancel" if answer["use"] else "leave")
    if answer.get("use") is False:
        return _with(decision, choice="keep" if key == "aeron-swap" else "none")
    if key == "mace-footman":
        return _with(decision, choice=next(iter(_force(answer["units"]))))
    if key == "renly-upgrade":
        one = answer["units"][0]
        combat = replay.state.combat
        assert combat is not None
        # The recording counts marching units in the area they come from.
        marching = decision.player == combat.attacker and one["area"] == combat.origin
        area = combat.area if marching else one["area"]
        return _with(decision, choice=f"{area} {next(iter(_force(one['units'])))}")
    return _with(decision, choice=answer.get("card") or answer.get("track") or answer.get("area"))


def _may_lack(key: str) -> bool:
    return key in ("cersei-order", "renly-upgrade", "patchface-discard", "aeron-swap")


def _blade(yes: str, no: str) -> Callable[[Replay, Decision[Any]], Answer]:
    def read(replay: Replay, decision: Decision[Any]) -> Answer:
        step = replay._take(decision.kind, decision.player)
        return _with(decision, choice=yes if step and step["answer"]["use"] else no)

    return read


_units = _taken(lambda told: {"units": _force(told["units"])})
_units_anywhere = _taken(lambda told: {"units": _chosen(told["units"])})


def _muster(replay: Replay, decision: Decision[Any]) -> Answer:
    step = replay._take("muster", decision.player)
    steps = step["answer"]["steps"] if step else ()
    return _with(decision, steps=tuple(_muster_step(one) for one in steps))


def _muster_step(step: Mapping[str, Any]) -> c.MusterStep:
    old = step["from"]
    if old is None:
        return c.MusterStep(step["area"], step["to"], step["place"])
    kind, _, state = old.partition(":")
    lying = state == "routed"
    return c.MusterStep(
        step["area"],
        routed(step["to"]) if lying and not is_routed(step["to"]) else step["to"],
        step["place"],
        routed(kind) if lying else kind,
    )


_bid = _taken(
    lambda told: {"bid": told["bid"]},
    lambda default, told: getattr(default, "track", None) in (None, told.get("track")),
)


def _degrade(replay: Replay, decision: Decision[Any]) -> Answer | None:
    parts: dict[str, c.Chosen] = {"replace": {}, "destroy": {}}
    found = False
    while step := replay._take("crow-killers-degrade", decision.player):
        parts[step["answer"]["part"]] = _chosen(step["answer"]["units"])
        found = True
    if not found:
        return None
    options = decision.options
    assert isinstance(options, Degrades)
    if options.replaced and not parts["replace"]:
        # Where only what is destroyed was asked, every other Knight becomes a Footman without a word.
        parts["replace"] = _others(options.knights, parts["destroy"])
    return _with(decision, replaced=parts["replace"], destroyed=parts["destroy"])


def _others(units: c.Chosen, taken: c.Chosen) -> c.Chosen:
    """What is left of units by area."""
    left = {
        area: {unit: count - taken.get(area, {}).get(unit, 0) for unit, count in counts.items()}
        for area, counts in units.items()
    }
    kept = {area: {unit: count for unit, count in counts.items() if count} for area, counts in left.items()}
    return {area: counts for area, counts in kept.items() if counts}


def _horde_area(replay: Replay, decision: Decision[Any]) -> Answer:
    for step in replay._segment("muster", decision.player):
        if step["answer"]["why"] == "the-horde-descends" and step["answer"]["steps"]:
            return _with(decision, choice=step["answer"]["steps"][0]["area"])
    return _with(decision, choice="none")


ANSWERS: dict[str, Callable[[Replay, Decision[Any]], Answer | None]] = {
    "throne-of-blades": _word(),
    "dark-wings": _word(),
    "put-to-the-sword": _word(),
    "reconcile-supply": _units_anywhere,
    "muster": _muster,
    "influence-bid": _bid,
    "influence-tie": _taken(
        lambda told: {"groups": tuple(map(tuple, told["groups"]))},
        lambda default, told: told["track"] == default.track,
    ),
    "wildling-bid": _bid,
    "wildling-tie": _word(),
    "preemptive-raid": _word(),
    "preemptive-raid-track": _word(),
    "destroy-units": _units_anywhere,
    "horde-castle-units": _units_anywhere,
    "crow-killers-degrade": _degrade,
    "crow-killers-upgrade": _units_anywhere,
    "massing-discard": _word("card"),
    "king-beyond-raise": _word(),
    "king-beyond-lower": _word(),
    "mammoth-retrieve": _taken(lambda told: {"choice": told["card"] if told["use"] else "none"}),
    "horde-muster-area": _horde_area,
    "assign-orders": _taken(_orders),
    "raven": _taken(_raven),
    "raven-card": _word(),
    "raid": _taken(lambda told: {"area": told["area"], "target": told["target"]}),
    "march": _taken(_march),
    "neutral-support-request": _request,
    "neutral-support": _grant,
    "capture-ships": _taken(lambda told: {"ships": told["ships"]}, lambda default, told: told["port"] == default.port),
    # In the sequence of the recording, which may matter (2E-CP-10).
    "consolidate": _taken(lambda told: {"area": told["area"], "use": told["use"]}),
    "support": _support,
    "accept-support": _accept,
    "house-card": _word("card"),
    "card-ability": _ability,
    "blade-redraw": _blade("use", "keep"),
    "blade-strength": _blade("use", "do-not-use"),
    "casualties": _units,
    "skull-casualty": _units,
    "retreat-area": _word("area"),
    "retreat-losses": _units,
}


def replay(trace: Mapping[str, Any], name: str) -> Report:
    """Replay one decoded reference game and report what differs."""
    return Replay(trace, name).run()
