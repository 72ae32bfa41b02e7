"""A toy game on the kernel: three players bid secretly for cards of a shuffled deck.

Each round the top card is looked at by the player of the turn, everybody bids coins in secret, and the
highest bidder says in public whether he keeps the card. It has all that the record must cope with: sealed
facts for one player and for nobody, secret and public answers, refusals of both kinds, forced answers,
missed deadlines, and a mistake that can be switched on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Union

import msgspec

from domain.kernel import chance, position
from domain.kernel.agreed import Arbitration
from domain.kernel.arbiter import Footprint, Past
from domain.kernel.commands import Command, PassDeadline
from domain.kernel.decision import Answer, Decision, Options
from domain.kernel.docket import Docket, Origin, SharedSeedAwaited
from domain.kernel.facts import NOBODY, Answered, AnswerSealed, Awaited, DraftKept, Fact, Frame, SeedOpened
from domain.kernel.game import COMMANDS, BoardGame, Table
from domain.kernel.procedure import Collect, Do, Done, Next, Procedure, Wait
from domain.kernel.refusal import Refusal
from domain.kernel.rewinding import encode_options
from domain.kernel.ruleset import Citations, Game, Ruling, open_decisions, open_question
from domain.kernel.shared import SharedSeed

PLAYERS = ("blue", "green", "red")
CARDS = tuple(f"card-{number:02}" for number in range(1, 13))
COINS_A_ROUND = 3


class ToyCharter(msgspec.Struct, frozen=True, omit_defaults=True):
    edition: str = ""
    seats: dict[str, str] = {}
    rounds: int = 0
    engine: str = ""
    chance: str = "seeded"
    arbitration: Arbitration = Arbitration()
    shared_seed: SharedSeed | None = None


class Begin(Command, frozen=True, tag="begin"):
    """Start a game. ``seats`` says who sits where, ``seed`` is the secret of every shuffle.

    Where chance is imposed there is none, and ``decks`` has the order of the first deck, ``deck``. ``position`` starts
    in the middle of a game.
    """

    deal: ClassVar[bool] = False

    seats: dict[str, str]
    seed: str = ""
    rounds: int = 4
    arbitration: Arbitration = Arbitration()
    shared: SharedSeed | None = None
    chance: str = "seeded"
    decks: dict[str, tuple[str, ...]] = {}
    position: ToyState | None = None
    hidden: ToyHidden | None = None
    reason: str = ""
    origin: Origin | None = None
    game: str = ""

    @property
    def charter(self) -> ToyCharter:
        return ToyCharter("toy", self.seats, self.rounds, "", self.chance, self.arbitration, self.shared)


class Gather(Command, frozen=True, tag="gather"):
    """Agree on a game whose seed server and seats make together."""

    deal: ClassVar[bool] = False

    seats: dict[str, str]
    seed: str
    rounds: int = 4
    game: str = ""

    @property
    def charter(self) -> ToyCharter:
        return ToyCharter("toy", self.seats, self.rounds)


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


class TableGathered(Fact, frozen=True, tag=True):
    charter: ToyCharter
    deal: bool = False


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


class Rounds(Procedure, frozen=True, kw_only=True, tag="rounds"):
    """One auction after the other. ``first`` is the order of the first deck where chance is imposed."""

    first: tuple[str, ...] = ()

    def begin(self, game: Game[ToyState]) -> Next:
        state = game.state
        if state.round == state.charter.rounds:
            return self.at("count")
        if not state.hidden.deck:
            game.emit(DeckShuffled(cards=_shuffled(state, self.first)), "TOY-BEGIN-3")
        game.emit(RoundBegun(round=state.round + 1), "TOY-ROUND-1")
        for player in PLAYERS:
            game.emit(CoinsChanged(player=player, by=COINS_A_ROUND), "TOY-ROUND-2")
        looker = PLAYERS[state.round % len(PLAYERS)]
        game.emit(CardLookedAt(player=looker, card=game.state.hidden.deck[0]), "TOY-LOOK-1")
        return Do(Auction(), self.at("begin", first=()))

    def count(self, game: Game[ToyState]) -> Next:
        best = max(PLAYERS, key=lambda player: (len(game.state.hands.get(player, ())), player))
        shared = game.state.charter.shared_seed
        if shared is not None:
            game.emit(SharedSeedAwaited(shared=shared.id), "TOY-END-2")
        elif game.state.hidden.seed:
            game.emit(SeedOpened(seed=game.state.hidden.seed), "TOY-END-2")
        game.emit(GameOver(winner=best), "TOY-END-1")
        return Done()


def _shuffled(state: ToyState, first: tuple[str, ...]) -> tuple[str, ...]:
    """The next deck: by the seed, or as it was stated."""
    if state.charter.chance != "imposed":
        return chance.shuffled(state.hidden.seed, f"deck/{state.round}", CARDS)
    found = first or next(iter(state.hidden.stated.get("deck", ())), ())
    if not found:
        raise Refusal("draw-not-stated", ("TOY-BEGIN-3",), deck="deck")
    return found


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


def _deck_shuffled(state: ToyState, fact: DeckShuffled) -> ToyState:
    left = state.hidden.stated.get("deck", ())[1:]
    shuffled: ToyState = position.with_hidden(state, deck=fact.cards, stated={"deck": left} if left else {})
    return shuffled


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
    DeckShuffled: _deck_shuffled,
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
        created=("TOY-BEGIN-1",),
        gathered=("TOY-BEGIN-1",),
    )
    statable: Any = CoinsChanged | CardTaken
    position_stated = PositionStated
    hidden_stated = HiddenStated

    @property
    def procedures(self) -> dict[str, type[Procedure]]:
        return {"rounds": Rounds, "auction": Auction}

    def evolve(self, state: ToyState, fact: Fact) -> ToyState:
        return EVOLVERS[type(fact)](state, fact)

    def game(self, state: ToyState) -> Game[ToyState]:
        return Game(self, state)

    def root(self, command: Begin) -> Procedure:
        return Rounds(first=command.decks.get("deck", ()))

    def shuffle_again(self, game: Game[ToyState], seed: str) -> None:
        cards = chance.shuffled(seed, "deck/redrawn", tuple(sorted(game.state.hidden.deck)))
        game.emit(DeckShuffled(cards=cards), "TOY-SEED")

    def why_absent(self, game: Game[ToyState], fact: Any) -> str:
        return "" if fact.player in (*PLAYERS, None) else f"there is no player {fact.player}"

    def problems(self, state: ToyState) -> tuple[str, ...]:
        return tuple(f"{player} owes coins" for player, coins in state.coins.items() if coins < 0)

    def replaced(self, before: ToyState, after: ToyState, now: ToyState) -> tuple[str, ...]:
        changed = [one for one in ("coins", "hands") if getattr(before, one) != getattr(after, one)]
        return tuple(one for one in changed if getattr(before, one) != getattr(now, one))

    def follows(self, game: Game[ToyState]) -> tuple[Procedure, ...]:
        return ()

    def rests_on(self, state: ToyState, answer: Answer, *, unseen: bool) -> Footprint:
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
    game_created = GameBegun
    gathering_began = TableGathered

    def rules_of(self, state: ToyState) -> ToyTable:
        return RULESET

    def rules_for(self, command: Begin | Gather) -> ToyTable:
        return RULESET

    def decide(self, state: ToyState, command: Any, past: Past | None = None, at: str = "") -> Ruling[ToyState]:
        if isinstance(command, Crash):
            raise RuntimeError("a mistake in the rules")
        return super().decide(state, command, past, at)

    def check_charter(self, charter: ToyCharter) -> None:
        if sorted(charter.seats.values()) != list(PLAYERS):
            raise Refusal("wrong-players", ("TOY-BEGIN-1",), players=sorted(charter.seats.values()))

    def gathered(self, past: Past) -> Begin:
        charter = next(fact.charter for fact in past.facts(1) if isinstance(fact, TableGathered))
        return Begin(seats=charter.seats, rounds=charter.rounds)

    def evolve(self, state: ToyState, fact: Any) -> ToyState:
        return EVOLVERS[type(fact)](state, fact)


RULES = ToyRules()


def owed(state: ToyState) -> tuple[Decision[Any], ...]:
    """The decisions that are open."""
    if not state.frames or state.is_over:
        return ()
    return open_decisions(RULESET, state)


__all__ = ["RULES", "Begin", "Bid", "Crash", "Keep", "PassDeadline", "ToyRules", "open_question", "owed"]
