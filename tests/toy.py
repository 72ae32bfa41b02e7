"""A toy game on the kernel: three players bid secretly for cards of a shuffled deck.

Each round the top card is looked at by the player of the turn, everybody bids coins in secret, and the
highest bidder says in public whether he keeps the card. It has all that the record must cope with: sealed
facts for one player and for nobody, secret and public answers, refusals of both kinds, forced answers,
missed deadlines, and a mistake that can be switched on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Union

import msgspec

from domain.kernel import chance, position
from domain.kernel.agreed import Arbitration
from domain.kernel.arbiter import Footprint, Past
from domain.kernel.commands import Command, PassDeadline
from domain.kernel.decision import Answer, Decision, Options
from domain.kernel.docket import Docket, SharedSeedAwaited, SharesWanted
from domain.kernel.facts import NOBODY, Answered, AnswerSealed, Awaited, DraftKept, Fact, Frame, SeedOpened
from domain.kernel.game import COMMANDS, BoardGame, Table
from domain.kernel.procedure import Collect, Do, Done, Next, Procedure, Wait
from domain.kernel.refusal import Refusal
from domain.kernel.rewinding import encode_options
from domain.kernel.ruleset import Citations, Game, Ruling, begin, open_decisions, open_question
from domain.kernel.shared import SharedSeed

PLAYERS = ("blue", "green", "red")
CARDS = tuple(f"card-{number:02}" for number in range(1, 13))
COINS_A_ROUND = 3


class Begin(Command, frozen=True, tag="begin"):
    """Start a game. ``seats`` says who sits where, ``seed`` is the secret of every shuffle."""

    seats: dict[str, str]
    seed: str
    rounds: int = 4
    arbitration: Arbitration = Arbitration()
    shared: SharedSeed | None = None


class Gather(Command, frozen=True, tag="gather"):
    """Agree on a game whose seed server and seats make together."""

    seats: dict[str, str]
    seed: str
    rounds: int = 4


class Crash(Command, frozen=True, tag="crash"):
    """A command that meets a mistake in the rules."""


class Bid(Answer, frozen=True, tag="bid", omit_defaults=True):
    secret = True

    by: str
    coins: int
    draft: bool = False

    @property
    def tentative(self) -> bool:
        return self.draft

    @property
    def player(self) -> str:
        return self.by


class Keep(Answer, frozen=True, tag="keep"):
    by: str
    keep: bool

    @property
    def player(self) -> str:
        return self.by


ToyCommand: Any = Union[(Begin, Gather, Crash, Bid, Keep, *COMMANDS)]  # built from a list
ToyAnswer = Bid | Keep


class UpTo(Options[Bid], frozen=True, tag="up-to"):
    coins: int

    def check(self, answer: Bid) -> None:
        if not 0 <= answer.coins <= self.coins:
            raise Refusal("too-many-coins", ("TOY-BID-1",), coins=answer.coins, most=self.coins)

    def check_draft(self, answer: Bid) -> None:
        self.check(answer)

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


class ToyCharter(msgspec.Struct, frozen=True, omit_defaults=True):
    edition: str = ""
    seats: dict[str, str] = {}
    rounds: int = 0
    engine: str = ""
    chance: str = "seeded"
    arbitration: Arbitration = Arbitration()
    shared_seed: SharedSeed | None = None


class TableGathered(Fact, frozen=True, tag=True):
    charter: ToyCharter


class GameBegun(Fact, frozen=True, tag=True):
    charter: ToyCharter


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


class ToyHidden(msgspec.Struct, frozen=True, kw_only=True):
    seed: str = ""
    former: tuple[str, ...] = ()
    deck: tuple[str, ...] = ()
    looked: dict[str, str] = {}
    answers: dict[str, Bid] = {}
    drafts: dict[str, Bid] = {}
    stated: dict[str, tuple[tuple[str, ...], ...]] = {}


class ToyState(position.BoardState, frozen=True, kw_only=True):
    charter: ToyCharter = ToyCharter()
    round: int = 0
    coins: dict[str, int] = {}
    hands: dict[str, tuple[str, ...]] = {}
    winner: str = ""
    docket: Docket = Docket()
    frames: tuple[Frame, ...] = ()
    question: int = 0
    awaited: tuple[Awaited, ...] = ()
    hidden: ToyHidden = ToyHidden()

    @property
    def is_over(self) -> bool:
        return bool(self.winner)


class PositionStated(Fact, frozen=True, tag=True):
    position: ToyState
    reason: str


class HiddenStated(Fact, frozen=True, tag=True):
    hidden: ToyHidden

    @property
    def audience(self) -> tuple[str, ...] | None:
        return NOBODY


STATABLE: Any = CoinsChanged | CardTaken


class Rounds(Procedure, frozen=True, kw_only=True, tag="rounds"):
    """One auction after the other."""

    def begin(self, game: Game[ToyState]) -> Next:
        state = game.state
        if state.round == state.charter.rounds or not state.hidden.deck:
            return self.at("count")
        game.emit(RoundBegun(round=state.round + 1), "TOY-ROUND-1")
        for player in PLAYERS:
            game.emit(CoinsChanged(player=player, by=COINS_A_ROUND), "TOY-ROUND-2")
        looker = PLAYERS[state.round % len(PLAYERS)]
        game.emit(CardLookedAt(player=looker, card=state.hidden.deck[0]), "TOY-LOOK-1")
        return Do(Auction(), self)

    def count(self, game: Game[ToyState]) -> Next:
        best = max(PLAYERS, key=lambda player: (len(game.state.hands.get(player, ())), player))
        shared = game.state.charter.shared_seed
        seed = SeedOpened(seed=game.state.hidden.seed) if shared is None else SharedSeedAwaited(shared=shared.id)
        game.emit(seed, "TOY-END-2")
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
        card = game.state.hidden.deck[0]
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


change = msgspec.structs.replace


def _card_taken(state: ToyState, fact: CardTaken) -> ToyState:
    hands = state.hands
    if fact.player is not None:
        hands = {**hands, fact.player: (*hands.get(fact.player, ()), fact.card)}
    taken: ToyState = position.with_hidden(change(state, hands=hands), deck=state.hidden.deck[1:])
    return taken


EVOLVERS: dict[type[Fact], Callable[[ToyState, Any], ToyState]] = {
    **position.EVOLVERS,
    TableGathered: position.nothing,
    GameBegun: lambda s, x: change(s, charter=x.charter, coins=dict.fromkeys(PLAYERS, 0)),
    PositionStated: lambda s, x: change(x.position, docket=s.docket, hidden=s.hidden),
    HiddenStated: lambda s, x: change(s, hidden=x.hidden),
    DeckShuffled: lambda s, x: position.with_hidden(s, deck=x.cards),
    RoundBegun: lambda s, x: change(s, round=x.round),
    CardLookedAt: lambda s, x: position.with_hidden(s, looked={**s.hidden.looked, x.player: x.card}),
    CoinsChanged: lambda s, x: change(s, coins={**s.coins, x.player: s.coins[x.player] + x.by}),
    CardTaken: _card_taken,
    GameOver: lambda s, x: change(s, winner=x.winner),
}
TYPED: dict[Any, Any] = {Answered: Answered[Keep], AnswerSealed: AnswerSealed[Bid], DraftKept: DraftKept[Bid]}


class ToyTable(Table[ToyState]):
    """The rules of the toy, as the kernel needs them."""

    citations = Citations(
        forced=("TOY-FORCED",),
        missed=("TOY-MISSED",),
        given=("TOY-TURN",),
        sealed=("TOY-SEALED",),
        whole=("TOY-WHOLE",),
        seeds=("TOY-SEED",),
    )

    @property
    def procedures(self) -> dict[str, type[Procedure]]:
        return {"rounds": Rounds, "auction": Auction}

    def evolve(self, state: ToyState, fact: Fact) -> ToyState:
        return EVOLVERS[type(fact)](state, fact)

    def game(self, state: ToyState) -> Game[ToyState]:
        return Game(self, state)

    def restated(self, state: ToyState, position: ToyState, reason: str) -> tuple[Fact, ...]:
        bare = msgspec.structs.replace(RULES.public(position), docket=Docket())
        known = dict.fromkeys((*position.hidden.former, *state.seeds))
        former = tuple(seed for seed in known if seed not in ("", position.hidden.seed))
        hidden = msgspec.structs.replace(RULES.hidden(position), former=former)
        return PositionStated(position=bare, reason=reason), HiddenStated(hidden=hidden)

    def redraw(self, game: Game[ToyState], seed: str) -> None:
        if seed in game.state.seeds:
            raise Refusal("seed-missing")
        game.seal_seed(seed)
        game.emit(DeckShuffled(cards=chance.shuffled(seed, "deck", tuple(sorted(game.state.hidden.deck)))), "TOY-SEED")

    def must_redraw(self, state: ToyState, position: ToyState, opened: frozenset[str]) -> bool:
        return position.hidden.seed in opened

    def stated_fact(self, raw: dict[str, Any]) -> Fact:
        try:
            fact: Fact = msgspec.convert(raw, STATABLE)
        except msgspec.ValidationError as error:
            raise Refusal("not-a-fact", unknown=True, problem=str(error)) from error
        return msgspec.structs.replace(fact, rules=("arbiter",))

    def why_absent(self, game: Game[ToyState], fact: Any) -> str:
        return "" if fact.player in (*PLAYERS, None) else f"there is no player {fact.player}"

    def problems(self, state: ToyState) -> tuple[str, ...]:
        return tuple(f"{player} owes coins" for player, coins in state.coins.items() if coins < 0)

    def replaced(self, before: ToyState, after: ToyState, now: ToyState) -> tuple[str, ...]:
        changed = [one for one in ("coins", "hands") if getattr(before, one) != getattr(after, one)]
        return tuple(one for one in changed if getattr(before, one) != getattr(now, one))

    def follows(self, game: Game[ToyState]) -> tuple[Procedure, ...]:
        return ()

    def footprint(self, state: ToyState, answer: Answer, *, unseen: bool = False) -> Footprint:
        """A bid rests on what it may be; whether to keep a card, on the card."""
        for decision in open_decisions(self, state, replaceable=True):
            if (decision.player, decision.kind) == (answer.player, answer.kind):
                if not (unseen and answer.secret):
                    decision.check(answer)
                return Footprint(encode_options(decision.options), {"card": state.hidden.deck[:1]})
        raise Refusal("not-asked")

    def occasion(self, state: ToyState) -> int:
        return state.round


RULESET = ToyTable()


class ToyRules(BoardGame[ToyState]):
    """The toy as the record sees it."""

    name = "toy"
    version = "1"
    command_type: Any = ToyCommand
    fact_type: Any = Union[tuple(TYPED.get(fact, fact) for fact in EVOLVERS)]  # noqa: UP007  # built from a table
    state_type: type = ToyState
    hidden_type: type = ToyHidden
    beginnings = (Begin, Gather)

    def blank(self) -> ToyState:
        return ToyState()

    def rules_of(self, state: ToyState) -> ToyTable:
        return RULESET

    def rules_for(self, command: Begin | Gather) -> ToyTable:
        return RULESET

    def decide(self, state: ToyState, command: Any, past: Past | None = None, at: str = "") -> Ruling[ToyState]:
        if isinstance(command, Crash):
            raise RuntimeError("a mistake in the rules")
        return super().decide(state, command, past, at)

    def begin(self, state: ToyState, command: Begin | Gather) -> Ruling[ToyState]:
        if state.charter.seats or (isinstance(command, Gather) and state.docket.joint is not None):
            raise Refusal("begun-already")
        if sorted(command.seats.values()) != list(PLAYERS):
            raise Refusal("wrong-players", ("TOY-BEGIN-1",), players=sorted(command.seats.values()))
        charter = ToyCharter("toy", command.seats, command.rounds, self.version)
        game: Game[ToyState] = RULESET.game(state)
        if isinstance(command, Gather):
            game.emit(TableGathered(charter=charter), "TOY-BEGIN-1")
            game.emit(SharesWanted(seats=tuple(sorted(command.seats))), "TOY-SEED")
            game.seal_seed(command.seed)
            return Ruling(tuple(game.facts), game.state)
        charter = msgspec.structs.replace(charter, arbitration=command.arbitration, shared_seed=command.shared)
        game.emit(GameBegun(charter=charter), "TOY-BEGIN-1")
        game.seal_seed(command.seed)
        cards = CARDS * (command.rounds // len(CARDS) + 1)
        game.emit(DeckShuffled(cards=chance.shuffled(command.seed, "deck", cards)), "TOY-BEGIN-3")
        return begin(game, Rounds())

    def gathered(self, past: Past) -> Begin:
        charter = next(fact.charter for fact in past.facts(1) if isinstance(fact, TableGathered))
        return Begin(seats=charter.seats, seed="", rounds=charter.rounds)

    def evolve(self, state: ToyState, fact: Any) -> ToyState:
        return EVOLVERS[type(fact)](state, fact)

    def public(self, state: ToyState) -> ToyState:
        public: ToyState = position.redacted(state)
        return public

    def hidden(self, state: ToyState) -> ToyHidden:
        return state.hidden


RULES = ToyRules()


def owed(state: ToyState) -> tuple[Decision[Any], ...]:
    """The decisions that are open."""
    if not state.frames or state.is_over:
        return ()
    return open_decisions(RULESET, state)


__all__ = ["RULES", "Begin", "Bid", "Crash", "Keep", "PassDeadline", "ToyRules", "open_question", "owed"]
