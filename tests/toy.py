"""A toy game on the kernel: three players bid secretly for cards of a shuffled deck.

Each round the top card is looked at by the player of the turn, everybody bids coins in secret, and the
highest bidder says in public whether he keeps the card. It has all that the record must cope with: sealed
facts for one player and for nobody, secret and public answers, refusals of both kinds, forced answers,
missed deadlines, and a mistake that can be switched on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from domain.kernel import chance
from domain.kernel.arbiter import Past
from domain.kernel.commands import Command, PassDeadline
from domain.kernel.decision import Answer, Decision, Options
from domain.kernel.docket import Docket
from domain.kernel.facts import (
    NOBODY,
    Answered,
    AnswerSealed,
    AnswersOpened,
    AnswerTaken,
    Awaiting,
    DraftKept,
    Fact,
    Frame,
    SeedCommitted,
    SeedOpened,
    SeedSealed,
)
from domain.kernel.procedure import Collect, Do, Done, Next, Procedure, Wait
from domain.kernel.refusal import Refusal
from domain.kernel.ruleset import (
    Citations,
    Game,
    Ruling,
    begin,
    miss_deadline,
    open_decisions,
    open_question,
    rule_on,
)

PLAYERS = ("blue", "green", "red")
CARDS = tuple(f"card-{number:02}" for number in range(1, 13))
COINS_A_ROUND = 3


class Begin(Command, frozen=True, tag="begin"):
    """Start a game. ``seats`` says who sits where, ``seed`` is the secret of every shuffle."""

    seats: dict[str, str]
    seed: str
    rounds: int = 4


class Crash(Command, frozen=True, tag="crash"):
    """A command that meets a mistake in the rules."""


class Bid(Answer, frozen=True, tag="bid"):
    secret = True

    by: str
    coins: int

    @property
    def player(self) -> str:
        return self.by


class Keep(Answer, frozen=True, tag="keep"):
    by: str
    keep: bool

    @property
    def player(self) -> str:
        return self.by


ToyCommand = Begin | Crash | Bid | Keep | PassDeadline
ToyAnswer = Bid | Keep


class UpTo(Options[Bid], frozen=True, tag="up-to"):
    coins: int

    def check(self, answer: Bid) -> None:
        if not 0 <= answer.coins <= self.coins:
            raise Refusal("too-many-coins", ("TOY-BID-1",), coins=answer.coins, most=self.coins)

    def sample(self, template: Bid, pick: Any) -> Bid:
        return msgspec.structs.replace(template, coins=pick(self.coins + 1))

    def every(self, template: Bid) -> Iterator[Bid]:
        for coins in range(self.coins + 1):
            yield msgspec.structs.replace(template, coins=coins)


class YesOrNo(Options[Keep], frozen=True, tag="yes-or-no"):
    def check(self, answer: Keep) -> None:
        pass

    def sample(self, template: Keep, pick: Any) -> Keep:
        return msgspec.structs.replace(template, keep=bool(pick(2)))

    def every(self, template: Keep) -> Iterator[Keep]:
        for keep in (False, True):
            yield msgspec.structs.replace(template, keep=keep)


class GameBegun(Fact, frozen=True, tag=True):
    seats: dict[str, str]
    rounds: int


class DeckShuffled(Fact, frozen=True, tag=True):
    cards: tuple[str, ...]

    @property
    def audience(self) -> tuple[str, ...] | None:
        return NOBODY


class RoundBegun(Fact, frozen=True, tag=True):
    round: int


class CardLookedAt(Fact, frozen=True, tag=True):
    player: str
    card: str

    @property
    def audience(self) -> tuple[str, ...] | None:
        return (self.player,)


class CoinsChanged(Fact, frozen=True, tag=True):
    player: str
    by: int


class CardTaken(Fact, frozen=True, tag=True):
    player: str | None
    card: str


class GameOver(Fact, frozen=True, tag=True):
    winner: str


ToyFact = (
    Answered[Keep]
    | AnswerSealed[Bid]
    | DraftKept[Bid]
    | AnswerTaken
    | AnswersOpened
    | Awaiting
    | SeedSealed
    | SeedCommitted
    | SeedOpened
    | GameBegun
    | DeckShuffled
    | RoundBegun
    | CardLookedAt
    | CoinsChanged
    | CardTaken
    | GameOver
)


class ToyState(msgspec.Struct, frozen=True, kw_only=True):
    seats: dict[str, str] = {}
    rounds: int = 0
    round: int = 0
    seed: str = ""
    commitment: str = ""
    deck: tuple[str, ...] = ()
    coins: dict[str, int] = {}
    hands: dict[str, tuple[str, ...]] = {}
    looked: dict[str, str] = {}
    frames: tuple[Frame, ...] = ()
    question: int = 0
    answers: dict[str, Bid] = {}
    winner: str = ""
    docket: Docket = Docket()

    @property
    def drafts(self) -> dict[str, Any]:
        return {}

    @property
    def is_over(self) -> bool:
        return bool(self.winner)


class ToyHidden(msgspec.Struct, frozen=True, kw_only=True):
    seed: str
    deck: tuple[str, ...]
    looked: dict[str, str]
    answers: dict[str, Bid]


class Rounds(Procedure, frozen=True, kw_only=True, tag="rounds"):
    """One auction after the other."""

    def begin(self, game: Game[ToyState]) -> Next:
        state = game.state
        if state.round == state.rounds or not state.deck:
            return self.at("count")
        game.emit(RoundBegun(round=state.round + 1), "TOY-ROUND-1")
        for player in PLAYERS:
            game.emit(CoinsChanged(player=player, by=COINS_A_ROUND), "TOY-ROUND-2")
        looker = PLAYERS[state.round % len(PLAYERS)]
        game.emit(CardLookedAt(player=looker, card=state.deck[0]), "TOY-LOOK-1")
        return Do(Auction(), self)

    def count(self, game: Game[ToyState]) -> Next:
        best = max(PLAYERS, key=lambda player: (len(game.state.hands.get(player, ())), player))
        game.emit(SeedOpened(seed=game.state.seed), "TOY-END-2")
        game.emit(GameOver(winner=best), "TOY-END-1")
        return Done()


class Auction(Procedure, frozen=True, kw_only=True, tag="auction"):
    winner: str = ""

    def begin(self, game: Game[ToyState]) -> Next | Collect:
        return self.at("bids")

    def bids(self, game: Game[ToyState]) -> Next:
        return Collect(tuple(_bid_decision(game.state, player) for player in PLAYERS), then="opened")

    def opened(self, game: Game[ToyState], bids: dict[str, Bid]) -> Next:
        for player in PLAYERS:
            if bids[player].coins:
                game.emit(CoinsChanged(player=player, by=-bids[player].coins), "TOY-BID-2")
        return self.at("choice", winner=max(PLAYERS, key=lambda player: (bids[player].coins, player)))

    def choice(self, game: Game[ToyState]) -> Next:
        decision = Decision(default=Keep(by=self.winner, keep=True), options=YesOrNo(), rules=("TOY-KEEP-1",))
        return Wait(decision, then="kept")

    def kept(self, game: Game[ToyState], answer: Keep) -> Next:
        card = game.state.deck[0]
        game.emit(CardTaken(player=answer.by if answer.keep else None, card=card), "TOY-KEEP-2")
        return Done()


def _bid_decision(state: ToyState, player: str) -> Decision[Bid]:
    coins = state.coins[player]
    nothing = Bid(by=player, coins=0)
    return Decision(
        default=nothing,
        options=UpTo(coins),
        rules=("TOY-BID-1",),
        forced=None if coins else nothing,
    )


def _evolve(state: ToyState, fact: Any) -> ToyState:
    change = msgspec.structs.replace
    match fact:
        case GameBegun():
            return change(state, seats=fact.seats, rounds=fact.rounds, coins=dict.fromkeys(PLAYERS, 0))
        case SeedSealed():
            return change(state, seed=fact.seed)
        case SeedCommitted():
            return change(state, commitment=fact.commitment)
        case DeckShuffled():
            return change(state, deck=fact.cards)
        case RoundBegun():
            return change(state, round=fact.round)
        case CardLookedAt():
            return change(state, looked={**state.looked, fact.player: fact.card})
        case CoinsChanged():
            return change(state, coins={**state.coins, fact.player: state.coins[fact.player] + fact.by})
        case CardTaken():
            hands = state.hands
            if fact.player is not None:
                hands = {**hands, fact.player: (*hands.get(fact.player, ()), fact.card)}
            return change(state, deck=state.deck[1:], hands=hands)
        case GameOver():
            return change(state, winner=fact.winner)
        case AnswerSealed():
            return change(state, answers={**state.answers, fact.player: fact.answer})
        case AnswersOpened():
            return change(state, answers={})
        case Awaiting():
            return change(state, frames=fact.frames, question=fact.question)
        case Answered() | AnswerTaken() | SeedOpened() | DraftKept():
            return state
    raise AssertionError(f"a toy knows no {type(fact).__name__}")


class ToyRuleset:
    """The toy as the kernel sees it."""

    @property
    def procedures(self) -> dict[str, type[Procedure]]:
        return {"rounds": Rounds, "auction": Auction}

    @property
    def citations(self) -> Citations:
        return Citations(
            forced=("TOY-FORCED",),
            missed=("TOY-MISSED",),
            given=("TOY-TURN",),
            sealed=("TOY-SEALED",),
            whole=("TOY-WHOLE",),
        )

    def evolve(self, state: ToyState, fact: Fact) -> ToyState:
        return _evolve(state, fact)

    def game(self, state: ToyState) -> Game[ToyState]:
        return Game(self, state)


RULESET = ToyRuleset()


class ToyRules:
    """The toy as the record sees it."""

    name = "toy"
    version = "1"
    command_type: Any = ToyCommand
    fact_type: Any = ToyFact
    state_type: type = ToyState
    hidden_type: type = ToyHidden

    def blank(self) -> ToyState:
        return ToyState()

    def decide(self, state: ToyState, command: Any, past: Past | None = None) -> Ruling[Any]:
        match command:
            case Begin():
                return self._begin(state, command)
            case Crash():
                raise RuntimeError("a mistake in the rules")
            case PassDeadline():
                return miss_deadline(RULESET, state, command.player, command.question)
        if not state.frames and not state.is_over:
            raise Refusal("not-begun")
        return rule_on(RULESET, state, command)

    def _begin(self, state: ToyState, command: Begin) -> Ruling[Any]:
        if state.seats:
            raise Refusal("begun-already")
        if sorted(command.seats.values()) != list(PLAYERS):
            raise Refusal("wrong-players", ("TOY-BEGIN-1",), players=sorted(command.seats.values()))
        game: Game[ToyState] = RULESET.game(state)
        game.emit(GameBegun(seats=command.seats, rounds=command.rounds), "TOY-BEGIN-1")
        game.emit(SeedSealed(seed=command.seed), "TOY-BEGIN-2")
        game.emit(SeedCommitted(commitment=chance.commitment(command.seed)), "TOY-BEGIN-2")
        cards = CARDS * (command.rounds // len(CARDS) + 1)
        game.emit(DeckShuffled(cards=chance.shuffled(command.seed, "deck", cards)), "TOY-BEGIN-3")
        return begin(game, Rounds())

    def evolve(self, state: ToyState, fact: Any) -> ToyState:
        return _evolve(state, fact)

    def public(self, state: ToyState) -> ToyState:
        return msgspec.structs.replace(state, seed="", deck=(), looked={}, answers={})

    def hidden(self, state: ToyState) -> ToyHidden:
        return ToyHidden(seed=state.seed, deck=state.deck, looked=state.looked, answers=state.answers)

    def seats(self, state: ToyState) -> dict[str, str]:
        return state.seats

    def player_of(self, command: Any) -> str | None:
        return command.player if isinstance(command, Bid | Keep) else None

    def is_secret(self, state: ToyState, command: Any) -> bool:
        return isinstance(command, Bid | Begin)

    def engine_of(self, state: ToyState) -> str:
        return f"{self.name}/{self.version}"

    def pinned(self, state: ToyState) -> str:
        return state.docket.engine

    def is_over(self, state: ToyState) -> bool:
        return state.is_over

    def shared_seed(self, state: ToyState) -> None:
        return None


RULES = ToyRules()


def owed(state: ToyState) -> tuple[Decision[Any], ...]:
    """The decisions that are open."""
    if not state.frames or state.is_over:
        return ()
    return open_decisions(RULESET, state)


__all__ = ["RULES", "Begin", "Bid", "Crash", "Keep", "PassDeadline", "ToyRules", "open_question", "owed"]
