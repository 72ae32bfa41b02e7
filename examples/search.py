"""How the example game was found: captains play numbered games, and the liveliest that shows everything is kept.

``python -m examples.search --games 130`` plays games 1 to 130 and names the best; ``--write 17`` writes game 17 to
``six-players.letter``; without either the recorded game is compared with the file. A game follows from its number
alone: seed, temperaments and every choice are drawn from it.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import msgspec

from domain.kernel.decision import Decision, Pick
from domain.kernel.facts import Answered, Fact
from domain.thrones.bots import TEMPERAMENTS, Bot
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from domain.thrones.language.pieces import TRACKS, size, unit_type
from domain.thrones.language.start import Start
from domain.thrones.language.state import State
from domain.thrones.notation import format_answer, lexicon, parse
from domain.thrones.rules.action.march_options import Marches
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.charter import Charter
from domain.thrones.tables.editions.second import SECOND_EDITION

GAME = 13
"""The number of the game in the file, the best of the first 130: change it together with the file, by ``--write``."""

FILE = Path(__file__).with_name("six-players.letter")
BOARD, TOKENS = SECOND_EDITION.board, SECOND_EDITION.tokens
HOUSES = tuple(sorted(SECOND_EDITION.players(6).houses))
CHARACTERS = ("grasping", "lordly", "warlike")
WORDS = lexicon(
    areas={area.id: area.name for area in BOARD.areas.values()},
    houses={house.id: house.name for house in SECOND_EDITION.houses.values()},
    cards={card.id: card.name for card in SECOND_EDITION.cards.values()},
    tokens=tuple(TOKENS.values()),
)
"""How the answers are read."""

WESTEROS = {card.id: card.name for deck in SECOND_EDITION.tables.westeros_decks.values() for card in deck}

# The captains


class Captain(Bot):
    """A bot that looks at many answers, takes the best, and marches for castles, icons and the front."""

    def answer(self, state: State, decision: Decision[Any], pick: Pick) -> c.HouseAnswer:
        tries = {"assign-orders": 90, "march": 120, "house-card": 1}.get(decision.kind, 16)
        self.whim = pick(4)
        answers: list[c.HouseAnswer] = [decision.sample(pick) for _ in range(tries)]
        return max(answers, key=lambda answer: self.liking(state, decision, answer))

    def liking(self, state: State, decision: Decision[Any], answer: c.HouseAnswer) -> int:
        match answer:
            case c.AssignOrders():
                return self._plan(state, answer)
            case c.MarchOrder():
                return self._campaign(state, decision, answer)
            case c.Raid():
                return self._booty(state, answer)
            case c.Raven():
                return self._exchange(state, answer) if answer.choice == "replace" else int(answer.choice == "look")
            case c.Muster():
                return self._levy(state, answer)
            case c.Consolidate():
                return 3 * (answer.use == "muster") + BOARD[answer.area].power - (state.power.get(answer.house, 0) < 2)
            case c.InfluenceBid() | c.WildlingBid():
                return -abs(answer.bid - self._price(state, answer))
            case c.Support():
                return sum(self._favour(state, answer.house, side) for side in answer.orders.values())
            case c.AcceptSupport():
                return sum(answer.orders.values())
            case c.NeutralSupport():
                return sum(answer.orders.values()) * (self.temperament.help - 2)
            case c.NeutralSupportRequest():
                return self._worth(answer.house, answer.target) if answer.target else 5
            case c.BladeStrength():
                return (answer.choice == "use") == self._blade_decides(state, answer.house)
            case c.CombatLosses():
                return -sum(self._price_of(unit) * count for unit, count in answer.units.items())
            case c.ReconcileSupply() | c.DestroyUnits() | c.HordeCastleUnits():
                chosen = answer.units.values()
                return -sum(self._price_of(unit) * count for units in chosen for unit, count in units.items())
            case c.RetreatArea():
                return self._refuge(state, answer)
            case _:
                return super().liking(state, decision, answer)
        raise AssertionError("every answer is liked or not")

    whim = 0
    """How much more than usual this one answer may cost: bids would all be alike without it."""

    # Land, sea and what they are worth

    def _worth(self, house: str, area: str) -> int:
        place = BOARD[area]
        if place.kind != "land":
            return 2 + sum(BOARD[other].home == house for other in BOARD.neighbours[area])
        return 2 + 7 * place.castle + 2 * place.power + 2 * place.supply

    def _foes(self, state: State, house: str, area: str) -> int:
        return sum(state.house_in(other) not in (None, house) for other in BOARD.neighbours[area])

    def _power_of(self, units: Mapping[str, int], target: str) -> int:
        figures = {"knight": 2, "siege-engine": 4 * BOARD.has_castle(target)}
        return sum(figures.get(unit, 1) * count for unit, count in units.items() if not unit.startswith("routed-"))

    def _price_of(self, unit: str) -> int:
        return 2 * {"knight": 2, "siege-engine": 2}.get(unit_type(unit), 1) - unit.startswith("routed-")

    def _distance(self, state: State, house: str, start: str) -> int:
        """Steps to the nearest goal: a castle that is not ours on land, an enemy fleet or a foreign coast at sea."""
        at_sea = not BOARD.is_land(start)
        seen, wave = {start}, [start]
        for steps in range(9):
            if any(self._is_goal(state, house, area) for area in wave):
                return steps
            near = [other for area in wave for other in BOARD.neighbours[area]]
            wave = sorted({area for area in near if BOARD.is_land(area) != at_sea} - seen)
            seen |= set(wave)
        return 9

    def _is_goal(self, state: State, house: str, area: str) -> bool:
        if BOARD.is_land(area):
            return BOARD.has_castle(area) and state.control.get(area) != house
        return state.house_in(area) not in (None, house)

    # Orders

    def _plan(self, state: State, answer: c.AssignOrders) -> int:
        return sum(self._order(state, answer, area) for area in answer.orders)

    def _order(self, state: State, answer: c.AssignOrders, area: str) -> int:
        token = TOKENS[answer.orders[area]]
        foes, units = self._foes(state, answer.house, area), size(state.units_in(area))
        taste = self.temperament.orders.get(token.type, 1)
        near = [other for other in BOARD.neighbours[area] if other in answer.orders]
        marches = sum(TOKENS[answer.orders[other]].type == "march" for other in near)
        land = BOARD.is_land(area)
        match token.type:
            case "march":
                reach = [other for other in BOARD.neighbours[area] if BOARD.is_land(other) == land]
                prizes = [
                    self._worth(answer.house, other) for other in reach if self._is_prize(state, answer.house, other)
                ]
                use = 3 * units + max(prizes) if prizes else units
                return use + token.modifier * (2 if foes else 1) + taste
            case "support":
                return 4 * min(2, marches) + 2 * min(2, foes) + 2 * token.star + taste
            case "raid":
                return 3 * min(2, foes) + taste if foes else -3
            case "consolidate":
                if BOARD.is_sea(area):
                    return -6
                poor = 3 if state.power.get(answer.house, 0) < 4 else 0
                gain = 4 + 2 * BOARD[area].power + poor
                return gain + taste + (9 if BOARD.has_castle(area) and land else -2) * token.star
            case "defense":
                threatened = min(3, foes) * (1 + BOARD.has_castle(area))
                return threatened + token.modifier if foes else -4
        raise AssertionError("there are five order types")

    def _is_prize(self, state: State, house: str, area: str) -> bool:
        holder = state.control.get(area) if BOARD.is_land(area) else state.house_in(area)
        return holder != house and not BOARD.is_port(area)

    def _exchange(self, state: State, answer: c.Raven) -> int:
        """What a Messenger Raven's new order gains over the old one."""
        assert answer.area is not None and answer.order is not None
        mine = {area: placed.token for area, placed in state.orders.items() if placed.house == answer.house}
        old = c.AssignOrders(answer.house, mine)
        new = c.AssignOrders(answer.house, {**mine, answer.area: answer.order})
        return self._plan(state, new) - self._plan(state, old)

    def _booty(self, state: State, answer: c.Raid) -> int:
        if answer.target is None:
            return 0
        kind = TOKENS[state.orders[answer.target].token].type
        return {"consolidate": 4, "support": 3, "raid": 2}.get(kind, 1) + state.victory.get(
            state.orders[answer.target].house, 0
        )

    # Marches

    def _campaign(self, state: State, decision: Decision[Any], answer: c.MarchOrder) -> int:
        assert isinstance(decision.options, Marches)
        origin = decision.options.origins[answer.area]
        gain = sum(self._move(state, answer, move, origin.to[move.to].contested) for move in answer.moves)
        going = sum(size(move.units) for move in answer.moves)
        if going == size(state.units_in(answer.area)) and not answer.leave_power and BOARD.is_land(answer.area):
            home = BOARD[answer.area].home == answer.house
            lost = self._worth(answer.house, answer.area)
            gain -= 4 * bool(self._foes(state, answer.house, answer.area)) if home else lost
        return gain - 2 * answer.leave_power

    def _move(self, state: State, answer: c.MarchOrder, move: c.Move, contested: str) -> int:
        house = answer.house
        prize = 2 * self._worth(house, move.to) if self._is_prize(state, house, move.to) else 0
        if contested == "combat":
            return (prize + 2 * self.temperament.fight) * self._chances(state, answer, move) // 3 - 6
        if contested:
            return prize + self.temperament.neutral
        nearer = self._distance(state, house, answer.area) - self._distance(state, house, move.to)
        siege = sum(count for unit, count in move.units.items() if unit == "siege-engine")
        alone = siege == size(move.units) and state.house_in(move.to) != house
        return prize + 2 * nearer * size(move.units) - 5 * alone - (2 if not prize and nearer <= 0 else 0)

    def _chances(self, state: State, answer: c.MarchOrder, move: c.Move) -> int:
        """-2 to 3: how the attack looks, with the supports that lie on the board."""
        mine = self._power_of(move.units, move.to) + TOKENS[state.orders[answer.area].token].modifier
        units = {unit: count for unit, count in state.units_in(move.to).items() if unit != "siege-engine"}
        other = self._power_of(units, move.to) + state.garrisons.get(move.to, 0)
        holder = state.house_in(move.to) or state.control.get(move.to)
        placed = state.orders.get(move.to)
        other += TOKENS[placed.token].modifier if placed and TOKENS[placed.token].type == "defense" else 0
        for area in BOARD.neighbours[move.to]:
            support = state.orders.get(area)
            if support and TOKENS[support.token].type == "support" and self._counts(area, move.to):
                strength = self._power_of(state.units_in(area), move.to) + TOKENS[support.token].modifier
                mine += strength * (support.house == answer.house)
                other += strength * (support.house == holder)
        return max(-2, min(3, mine - other + 1))

    def _counts(self, area: str, target: str) -> bool:
        return not BOARD.is_port(area) if BOARD.is_land(target) else not BOARD.is_land(area)

    # Musters, bids, support, the Blade

    def _levy(self, state: State, answer: c.Muster) -> int:
        total = 0
        for step in answer.steps:
            costs = 1 if step.upgrade or step.unit in ("footman", "ship") else 2
            fleet = size(state.units_in(step.to)) + sum(other.to == step.to for other in answer.steps)
            total += 4 * costs + (step.unit == "knight")
            total -= 3 * fleet * BOARD.is_port(step.to) if step.unit == "ship" else 0
            total -= 4 if step.unit == "ship" and fleet > 2 else 0
            total -= 3 * (step.unit == "siege-engine") * state.units_in(step.area).get("siege-engine", 0)
        return total

    def _price(self, state: State, answer: c.InfluenceBid | c.WildlingBid) -> int:
        """What a bid should be: a share of the attack, or of the Power for the tracks still to come."""
        power = state.power.get(answer.house, 0)
        likes = self.temperament
        if isinstance(answer, c.WildlingBid):
            return min(power, state.threat // 6 + (likes.lavish > 1) - (likes.miserly > 1) + self.whim - 1)
        left = len(TRACKS) - list[str](TRACKS).index(answer.track)
        return min(power, power // (left + (likes.miserly > 1)) + self.whim - 1)

    def _favour(self, state: State, house: str, side: str) -> int:
        """Own combats first; otherwise whoever has fewer castles is helped, by those who like to help."""
        assert state.combat is not None
        if side == "withhold":
            return 0
        if state.combat.side_of(house):
            return 5
        friend = state.combat.of("attacker" if side == "attacker" else "defender")
        rival = state.combat.opponent(friend)
        return self.temperament.help - 2 + state.victory.get(rival, 0) - state.victory.get(friend, 0)

    def _refuge(self, state: State, answer: c.RetreatArea) -> int:
        """Among friends and far from foes; a winner who may choose sends the beaten away from there."""
        assert state.combat is not None
        if answer.choice not in BOARD:
            return -1
        loser = state.combat.loser or answer.house
        safe = 3 * (state.house_in(answer.choice) == loser) - self._foes(state, loser, answer.choice)
        return safe if loser == answer.house else -safe

    def _blade_decides(self, state: State, house: str) -> bool:
        """Whether one more point turns the combat, by the totals that everybody knows at this moment."""
        totals = self.known
        if not totals or state.combat is None:
            return False
        rival = state.combat.opponent(house)
        before_tie = state.position_of(house, "fiefdoms") < state.position_of(rival, "fiefdoms")
        gap = totals[rival] - totals[house]
        return gap == 1 if before_tie else gap == 0

    known: Mapping[str, int] = {}
    """Strengths counted last, by House."""


# Playing


class Entry(msgspec.Struct, frozen=True):
    """One answer as it stands in the letter, what was ruled on it, and the positions around it."""

    before: State
    text: str
    facts: tuple[Fact, ...]
    after: State


class Played(msgspec.Struct, dict=True):
    """A whole game."""

    number: int
    opening: tuple[Fact, ...]
    entries: list[Entry]

    @cached_property
    def facts(self) -> list[Fact]:
        """Everything that was ruled."""
        return [*self.opening, *(fact for entry in self.entries for fact in entry.facts)]

    def of(self, kind: type[Any], rule: str = "") -> list[Any]:
        """Facts of a kind that cite a rule."""
        return [fact for fact in self.facts if isinstance(fact, kind) and (not rule or rule in fact.rules)]

    @property
    def end(self) -> State:
        return self.entries[-1].after


def seed_of(number: int) -> str:
    """The seed of a game, as its operator gives it."""
    return hashlib.sha256(f"rookery/example/{number}".encode()).hexdigest()


def dice(label: str) -> Pick:
    """Numbers from 0 to n-1, the same on every machine."""
    count = 0

    def pick(bound: int) -> int:
        nonlocal count
        count += 1
        return int.from_bytes(hashlib.sha256(f"{label}/{count}".encode()).digest()[:8], "big") % bound

    return pick


def play(number: int) -> Played:
    """Game so-and-so to its end."""
    pick = dice(f"rookery/example/{number}/captains")
    captains = {house: Captain(TEMPERAMENTS[CHARACTERS[pick(3)]], BOARD, TOKENS) for house in HOUSES}
    charter = Charter("second-edition", HOUSES, chance="stated")
    ruling = THRONES.decide(THRONES.blank(), Start(charter=charter, seed=seed_of(number)))
    game = Played(number, ruling.facts, [])
    while owed := THRONES.decisions(ruling.state):
        state, decision = ruling.state, owed[0]
        captain = captains[decision.player]
        counted = [fact for fact in ruling.facts if isinstance(fact, f.StrengthCounted) and fact.stage == "known"]
        captain.known = {fact.house: fact.total for fact in counted}
        text = format_answer(captain.answer(state, decision, pick), with_house=True)
        ruling = THRONES.decide(state, parse(text, house=None, lexicon=WORDS, open_decisions=owed))
        game.entries.append(Entry(state, text, ruling.facts, ruling.state))
    return game


# What the example shows


def _raided(game: Played) -> list[Any]:
    return [fact for fact in game.of(f.OrderRemoved, "2E-RAID-3") if fact.by]


def _pillaged(game: Played) -> list[Any]:
    return [fact for fact in game.of(f.PowerChanged, "2E-RAID-8") if fact.by > 0]


def _robbed(game: Played) -> list[Any]:
    return [fact for fact in game.of(f.PowerChanged, "2E-RAID-8") if fact.by < 0]


def _helped(game: Played) -> list[Any]:
    return [fact for fact in game.of(f.SupportAnswered, "2E-CBT-13") if fact.accepted]


def _carried(game: Played) -> list[Any]:
    return game.of(f.UnitsMoved, "2E-TRN-1")


def _mustered(game: Played) -> list[Any]:
    westeros = [entry for entry in game.entries if entry.before.phase == "westeros"]
    return [fact for entry in westeros for fact in entry.facts if isinstance(fact, f.UnitMustered)]


def _settled(game: Played) -> list[Any]:
    return [fact for fact in game.of(Answered, "2E-COK-4") if fact.how == "given"]


def _attacks(winner: str) -> Callable[[Played], list[Any]]:
    def decided(game: Played) -> list[Any]:
        return [fact for fact in game.of(f.WildlingAttackDecided) if fact.winner == winner and fact.strength]

    return decided


def _fallen(game: Played) -> list[Any]:
    return [fact for fact in game.of(f.CasualtiesCounted, "2E-CAS-5") if fact.number]


def _abilities(game: Played) -> list[Any]:
    """One for each card."""
    return list({fact.card: fact for fact in game.of(f.AbilityResolved)}.values())


def _of(kind: type[Any], rule: str) -> Callable[[Played], list[Any]]:
    return lambda game: game.of(kind, rule)


class Thing(msgspec.Struct, frozen=True):
    """Something the example shows: facts that cite ``rule``, at least ``least`` of them."""

    rule: str
    find: Callable[[Played], list[Any]]
    least: int = 1


SHOWN: dict[str, Thing] = {
    "a raid removes an order": Thing("2E-RAID-3", _raided, 3),
    "pillage: a raider takes Power": Thing("2E-RAID-8", _pillaged, 2),
    "pillage: a House loses Power": Thing("2E-RAID-8", _robbed),
    "support of a third House is accepted": Thing("2E-CBT-13", _helped, 2),
    "a beaten defender retreats": Thing("2E-RET-5", _of(f.UnitsRetreated, "2E-RET-5"), 3),
    "a beaten attacker goes back": Thing("2E-RET-2", _of(f.UnitsReturned, "2E-RET-2"), 2),
    "units fall to swords": Thing("2E-CAS-5", _fallen),
    "ships carry an army": Thing("2E-TRN-1", _carried, 2),
    "units are mustered by a Westeros card": Thing("2E-MUS-4", _mustered, 5),
    "units are mustered by a special Consolidate Power order": Thing("2E-CP-9", _of(f.UnitMustered, "2E-CP-9"), 2),
    "the throne settles a tie of bids": Thing("2E-COK-4", _settled),
    "the wildlings win": Thing("2E-WLD-4", _attacks("wildlings")),
    "the Night's Watch wins": Thing("2E-WLD-4", _attacks("nights-watch")),
    "ships are captured in a port": Thing("2E-PRT-13", _of(f.UnitsPlaced, "2E-PRT-13")),
    "a neutral force falls": Thing("2E-NEU-7", _of(f.NeutralForceRemoved, "2E-NEU-7")),
    "the raven replaces an order": Thing("2E-RVN-2", _of(f.OrderReplaced, "2E-RVN-2")),
    "the raven sees a wildling card": Thing("2E-RVN-3", _of(f.WildlingCardReturned, "2E-RVN-3")),
    "the Valyrian Steel Blade is used": Thing("2E-CBT-25", _of(f.BladeAdded, "2E-CBT-25")),
    "House cards have their say": Thing("", _abilities, 10),
    "the tenth round ends with a winner": Thing("2E-RND-3", _of(f.GameWon, "2E-RND-3")),
}


def missing(game: Played) -> list[str]:
    """What a game does not show."""
    return [name for name, thing in SHOWN.items() if len(thing.find(game)) < thing.least]


def liveliness(game: Played) -> int:
    """Combats, castles that change hands and new leaders count; marches that go nowhere count against a game."""
    combats = len(game.of(f.CombatDecided))
    castles = [fact for fact in game.of(f.ControlChanged) if BOARD.has_castle(fact.area) and fact.old and fact.new]
    idle = sum(entry.text.endswith(" nothing") for entry in game.entries)
    leads = [_leader(entry.after) for entry in game.entries]
    changes = sum(one != other for one, other in pairwise(leads))
    first, second = game.end.ranking[:2]
    return combats + 3 * len(castles) - 2 * idle + 2 * min(changes, 8) - 4 * (first.castles - second.castles)


def _leader(state: State) -> str:
    return max(state.victory, key=lambda house: (state.victory[house], house), default="")


# Writing


def letter(game: Played) -> str:
    """The game as a file: a head, a blank line, then one answer in each line with comments between them."""
    head = [
        f"# A whole game of six Houses: game {game.number} of examples/search.py.",
        "# What the head means stands in examples/README.md.",
        "game: six-players",
        "edition: second-edition",
        f"players: {len(HOUSES)}",
        f"seed: {seed_of(game.number)}",
        "switch tides-of-battle: off",
    ]
    return "\n".join([*head, *_body(game)]) + "\n"


def _body(game: Played) -> Iterator[str]:
    heading, drawn = "", [fact.card for fact in game.opening if isinstance(fact, f.WesterosCardDrawn)]
    for entry in game.entries:
        before = _heading(entry.before, drawn)
        if before != heading:
            yield from ("", f"# {before}")
            heading = before
        yield entry.text
        drawn = [fact.card for fact in entry.facts if isinstance(fact, f.WesterosCardDrawn)] or drawn
        yield from (f"# {remark}" for fact in entry.facts if (remark := _remark(fact)))


def _heading(state: State, drawn: list[str]) -> str:
    match state.phase:
        case "westeros":
            return f"Round {state.round}, Westeros phase: {', '.join(WESTEROS[card] for card in drawn)}"
        case "action":
            steps = {"raid": "raids", "march": "marches", "consolidate": "power"}
            return f"Round {state.round}, action phase: {steps[state.step]}"
        case phase:
            return f"Round {state.round}, {phase} phase"


def _remark(fact: Fact) -> str:
    match fact:
        case f.CombatDecided():
            how = ", by the Fiefdoms track" if fact.tie else ""
            return f"{fact.winner} beats {fact.loser}, {fact.totals[fact.winner]} to {fact.totals[fact.loser]}{how}"
        case f.WildlingAttackDecided():
            winner = "the Night's Watch holds" if fact.winner == "nights-watch" else "the wildlings win"
            return f"{winner}, {fact.watch} against {fact.strength}"
        case f.NeutralForceRemoved():
            return f"the neutral force in {fact.area} is gone"
        case f.GameWon():
            return f"{fact.winner} wins"
        case _:
            return ""


def _judged(number: int) -> tuple[int, int, list[str]]:
    game = play(number)
    return liveliness(game), number, missing(game)


def search(games: int, workers: int) -> None:
    """Play games 1 to so-and-so; of those that show everything the liveliest is best, the first of equals."""
    best: tuple[int, int] | None = None
    with Pool(workers) as pool:
        for worth, number, lacks in pool.imap(_judged, range(1, games + 1)):
            print(f"game {number}: {worth}", f"without: {'; '.join(lacks)}" if lacks else "complete", flush=True)
            if not lacks and (best is None or worth > best[0]):
                best = worth, number
    print(f"write it: python -m examples.search --write {best[1]}" if best else "none of them shows everything")


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m examples.search", description="Find and write the example game.")
    options.add_argument("--games", type=int, help="play that many games and name the best")
    options.add_argument("--workers", type=int, default=2, help="processes that play (default 2)")
    options.add_argument("--write", type=int, metavar="NUMBER", help="write this game to the file")
    chosen = options.parse_args()
    if chosen.games:
        search(chosen.games, chosen.workers)
        return 0
    game = play(chosen.write or GAME)
    for name, thing in SHOWN.items():
        print(f"{len(thing.find(game)):4} {name}" + (f" ({thing.rule})" if thing.rule else ""))
    for fact, count in sorted(Counter(type(fact).__name__ for fact in game.facts).items()):
        print(f"{count:6} {fact}")
    print(f"{len(game.entries)} answers; {game.end.winner} wins")
    if chosen.write:
        FILE.write_text(letter(game), encoding="utf-8")
        if chosen.write != GAME:
            print(f"put GAME = {chosen.write} into {Path(__file__).name}")
        return 0
    same = FILE.read_text(encoding="utf-8") == letter(game)
    print("the file is this game" if same else f"the file differs: python -m examples.search --write {GAME}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
