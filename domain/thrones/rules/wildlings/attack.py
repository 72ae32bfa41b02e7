"""Wildling attacks (section 24). What the nine cards do stands in :mod:`domain.thrones.rules.wildlings.cards`."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from domain.kernel.decision import Decision
from domain.kernel.procedure import Collect, Do, Done, Next, Procedure, Wait
from domain.thrones.language import facts as f
from domain.thrones.language.answers import WildlingBid, WildlingTie
from domain.thrones.language.pieces import THRONE, HouseId
from domain.thrones.rules.choices import Amount, Words
from domain.thrones.rules.control import Consequences
from domain.thrones.rules.game import Game, decision

Winner = Literal["nights-watch", "wildlings"]
PREEMPTIVE_STRENGTH = 6


class WildlingCardProcedure(Procedure, frozen=True):
    """What every wildling card knows: who won, who bid highest or lowest, who else takes part.

    Card procedures strike the lowest bidder first, completely, then everyone else in turn order (2E-WLD-8),
    or reward the highest bidder; after each House the consequences of 2E-CTL-16 follow (2E-WLD-12).
    """

    turns: ClassVar[tuple[str, ...]] = ("others",)

    winner: Winner
    bidder: HouseId
    participants: tuple[HouseId, ...]
    done: tuple[HouseId, ...] = ()

    def begin(self, game: Game) -> Next:
        if self.winner == "nights-watch":
            self._note(game, self.bidder, "highest")
            return self.at("highest")
        self._note(game, self.bidder, "lowest")
        return self.at("lowest")

    def _note(self, game: Game, house: HouseId, part: Literal["lowest", "other", "highest"]) -> None:
        order = ("2E-WLD-8",) if part == "other" else ("2E-WLD-5",)
        card = game.state.hidden.decks["wildling"][0]
        game.emit(f.PenaltySuffered(house=house, card=card, part=part), *order, self.rule)

    @property
    def rule(self) -> str:
        """The card's entry in section 24.1."""
        raise NotImplementedError  # every card names its rule

    def highest(self, game: Game) -> Next:
        """The reward of the highest bidder."""
        return Done()

    def lowest(self, game: Game) -> Next:
        """The penalty of the lowest bidder; ends in ``self.after(self.bidder)``."""
        return self.after(self.bidder)

    def other(self, game: Game, house: HouseId) -> Next:
        """The penalty of one House of everyone else; ends in ``self.after(house)``."""
        return self.after(house)

    def after(self, house: HouseId) -> Next:
        """The House's part is over: consequences, then the next one."""
        return Do(Consequences(), then=self.at("others", done=(*self.done, house)))

    def others(self, game: Game) -> Next:
        if self.winner == "nights-watch":
            return Done()
        for house in game.turns(self.done, among=self.participants):
            self._note(game, house, "other")
            return self.other(game, house)
        return Done()

    def acting(self, game: Game) -> HouseId:
        """The House whose part is being resolved."""
        if self.winner == "nights-watch" or self.bidder not in self.done:
            return self.bidder
        return game.turns(self.done, among=self.participants)[0]


def threat_after(game: Game, winner: Winner) -> int:
    """Where the threat token goes: to 0, or after a lost attack two spaces back (2E-WLD-9, 1E-WILD-10)."""
    track = game.edition.constants.threat_track
    back = game.readings.westeros.threat_back
    if winner == "nights-watch" or back is None:
        return track[0]
    return track[max(0, track.index(game.state.threat) - back)]


class Attack(Procedure, frozen=True):
    """What every attack begins with: bids, and the bidder who counts. What follows is the business of ``card``."""

    cause: Literal["threat", "card", "preemptive-raid"]
    left_out: tuple[HouseId, ...] = ()
    bids: dict[HouseId, int] = {}
    winner: Winner = "wildlings"
    bidder: HouseId = ""

    def participants(self, game: Game) -> tuple[HouseId, ...]:
        return tuple(house for house in game.houses if house not in self.left_out)

    def strength(self, game: Game) -> int:
        return PREEMPTIVE_STRENGTH if self.cause == "preemptive-raid" else game.state.threat

    def begin(self, game: Game) -> Next:
        began = f.WildlingAttackBegan(
            cause=self.cause, strength=self.strength(game), participants=self.participants(game)
        )
        rules = {"threat": ("2E-WLD-1", "2E-WES-5"), "card": ("2E-WLD-1", "2E-WES-6", "2E-WEC-11")}
        game.emit(began, *rules.get(self.cause, ("2E-WLC-10",)), "2E-WLD-2")
        power = {house: game.state.power[house] for house in self.participants(game)}
        game.emit(f.PowerAnnounced(power=power), "2E-WLD-3", "2E-HID-3")
        return self.at("bid")

    def weighed(self, game: Game) -> None:
        """The strength of the wildlings, and what everybody has to bid."""
        self.strength(game)
        for house in self.participants(game):
            game.state.power.get(house)
        game.state.tokens.get(THRONE)

    def bid(self, game: Game) -> Next:
        """2E-DP-8."""
        questions: list[Decision[Any]] = []
        for house in self.participants(game):
            options = Amount("bid", game.state.power[house], ("2E-WLD-3", "2E-GEN-7"))
            answer = WildlingBid(house=house, bid=0)
            rules = ("2E-DP-8", "2E-WLD-3", "2E-GEN-15")
            questions.append(decision(answer, options, *rules))
        return Collect(tuple(questions), then="reveal")

    def reveal(self, game: Game, answers: dict[HouseId, WildlingBid]) -> Next:
        bids = {house: answers[house].bid for house in self.participants(game)}
        game.emit(f.BidsRevealed(about="wildlings", bids=bids), "2E-WLD-3")
        strength, watch = self.strength(game), sum(bids.values())
        winner: Winner = "nights-watch" if watch >= strength else "wildlings"
        decided = f.WildlingAttackDecided(strength=strength, watch=watch, winner=winner)
        game.emit(decided, "2E-WLD-4", "2E-WLD-2")
        return self.at("tie", bids=bids, winner=winner)

    def tie(self, game: Game) -> Next:
        """2E-DP-9: the holder of the Iron Throne token names one of the tied bidders (2E-WLD-6)."""
        decisive = max(self.bids.values()) if self.winner == "nights-watch" else min(self.bids.values())
        tied = tuple(house for house in game.houses if self.bids.get(house) == decisive)
        default = tied[0] if self.winner == "nights-watch" else tied[-1]
        if len(tied) == 1:
            return self._name(game, tied[0])
        answer = WildlingTie(house=game.state.tokens[THRONE], choice=default)
        rules = ("2E-DP-9", "2E-WLD-6", "2E-TRK-2")
        return Wait(decision(answer, Words(tied, ("2E-WLD-6",)), *rules), then="named")

    def named(self, game: Game, answer: WildlingTie) -> Next:
        return self._name(game, answer.choice)

    def _name(self, game: Game, house: HouseId) -> Procedure:
        which: Literal["highest", "lowest"] = "highest" if self.winner == "nights-watch" else "lowest"
        game.emit(f.BidderNamed(house=house, which=which), "2E-WLD-5", "2E-WLD-6")
        return self.at("card", bidder=house)

    def card(self, game: Game) -> Next:
        raise NotImplementedError  # every kind of attack says what follows the bids


class WildlingAttack(Attack, frozen=True, tag=True):
    """One attack: bids, the decisive bidder, the card, the threat token (2E-WLD-1 to 2E-WLD-11)."""

    def card(self, game: Game) -> Next:
        """The top card is revealed and its applicable part resolved (2E-WLD-7)."""
        card = game.state.hidden.decks["wildling"][0]
        procedure = game.edition.wildling_procedures[card](
            winner=self.winner,  # type: ignore[call-arg]  # all of them share the fields of WildlingCardProcedure
            bidder=self.bidder,
            participants=self.participants(game),
        )
        game.emit(f.WildlingCardRevealed(card=card), "2E-WLD-7")
        return Do(procedure, then=self.at("threat"))

    def threat(self, game: Game) -> Next:
        """The token goes to 0, or two spaces back (2E-WLD-9); bids and card are put away."""
        after = threat_after(game, self.winner)
        if after != game.state.threat:
            game.emit(f.ThreatMoved(threat=after), "2E-WLD-9", *(("2E-WLC-10",) if self.left_out else ()))
        game.emit(f.BidsDiscarded(houses=tuple(sorted(game.state.bids))), "2E-WLD-10")
        card = game.state.hidden.decks["wildling"][0]
        game.emit(f.WildlingCardBuried(), "2E-WLD-11")
        if card == "preemptive-raid" and self.winner == "nights-watch":
            return WildlingAttack(cause="preemptive-raid", left_out=(*self.left_out, self.bidder))
        return Done()
