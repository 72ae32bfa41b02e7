"""Clash of Kings (section 9): secret bids for the three influence tracks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import permutations, product
from typing import Any, ClassVar

from msgspec.structs import replace

from domain.kernel.decision import Decision, Options, Pick
from domain.kernel.procedure import Collect, Done, Next, Procedure, Wait
from domain.kernel.refusal import Refusal
from domain.thrones.language import facts as f
from domain.thrones.language.answers import InfluenceBid, InfluenceTie
from domain.thrones.language.pieces import MOST_AREAS, THRONE, TRACKS, HouseId
from domain.thrones.rules.choices import Amount, shuffle
from domain.thrones.rules.game import Game, decision


class Groups(Options[InfluenceTie], frozen=True, tag="groups"):
    """Every order of the Houses inside each group of equal bids (2E-COK-4)."""

    groups: tuple[tuple[HouseId, ...], ...]

    def check(self, answer: InfluenceTie) -> None:
        if not self._are_tied(answer.groups):
            raise Refusal("not-the-tied-groups", ("2E-COK-4",), groups=[list(group) for group in self.groups])

    def _are_tied(self, groups: tuple[tuple[HouseId, ...], ...]) -> bool:
        return list(map(len, groups[:MOST_AREAS])) == list(map(len, self.groups)) and all(
            sorted(one) == sorted(other) for one, other in zip(groups, self.groups, strict=True)
        )

    def sample(self, template: InfluenceTie, pick: Pick) -> InfluenceTie:
        return replace(template, groups=tuple(tuple(shuffle(list(group), pick)) for group in self.groups))

    def every(self, template: InfluenceTie) -> Iterator[InfluenceTie]:
        for groups in product(*(permutations(group) for group in self.groups)):
            yield replace(template, groups=groups)


def equal_bids(bids: dict[HouseId, int], order: Iterable[HouseId]) -> tuple[tuple[HouseId, ...], ...]:
    """Houses by descending bid, those with equal bids together, in ``order`` inside a group."""
    places = list(order)
    amounts = sorted(set(bids.values()), reverse=True)
    return tuple(tuple(house for house in places if bids[house] == amount) for amount in amounts)


class ClashOfKings(Procedure, frozen=True, tag=True):
    """Bids for one track after the other, each completed before the next (2E-COK-1).

    ``former`` keeps the order of the tracks before the markers were removed.
    """

    turns: ClassVar[tuple[str, ...]] = ("announce",)

    track: int = 0
    former: dict[str, tuple[HouseId, ...]] = {}
    bids: dict[HouseId, int] = {}

    @property
    def name(self) -> str:
        return TRACKS[self.track]

    def begin(self, game: Game) -> Next:
        former = dict(game.state.tracks)
        game.emit(f.MarkersRemoved(), "2E-COK-1")
        return self.at("announce", former=former)

    def announce(self, game: Game) -> Next:
        """Every House says how much Power it has (2E-COK-2)."""
        power = {house: game.state.power[house] for house in game.state.houses}
        game.emit(f.PowerAnnounced(power=power), "2E-COK-2", "2E-HID-3")
        return self.at("bid")

    def weighed(self, game: Game) -> None:
        """Everybody's Power is announced; the holder of the Iron Throne token will settle ties."""
        for house in self.former[self.name]:
            game.state.power.get(house)
        game.state.tokens.get(THRONE)

    def bid(self, game: Game) -> Next:
        """2E-DP-6: secret and simultaneous; without available Power the bid is 0 (2E-COK-8)."""
        questions: list[Decision[Any]] = []
        for house in self.former[self.name]:
            answer = InfluenceBid(house=house, track=self.name, bid=0)
            rules = ["2E-DP-6", "2E-COK-2", "2E-GEN-15", "2E-GEN-7"]
            rules += [] if game.state.power[house] else ["2E-COK-8"]
            options = Amount("bid", game.state.power[house], ("2E-COK-2", "2E-GEN-7"))
            questions.append(decision(answer, options, *rules))
        return Collect(tuple(questions), then="reveal")

    def reveal(self, game: Game, answers: dict[HouseId, InfluenceBid]) -> Next:
        bids = {house: answers[house].bid for house in self.former[self.name]}
        game.emit(f.BidsRevealed(about=self.name, bids=bids), "2E-COK-2")
        return self.at("tie", bids=bids)

    def tie(self, game: Game) -> Next:
        """2E-DP-7: the holder of the Iron Throne token orders the Houses inside each group (2E-COK-4, 2E-COK-5)."""
        groups = tuple(group for group in equal_bids(self.bids, self.former[self.name]) if len(group) > 1)
        if not groups:
            return self.at("fill")
        answer = InfluenceTie(house=game.state.tokens[THRONE], track=self.name, groups=groups)
        rules = ("2E-DP-7", "2E-COK-4", "2E-COK-5", "2E-TRK-2")
        return Wait(decision(answer, Groups(groups), *rules), then="settle")

    def settle(self, game: Game, answer: InfluenceTie) -> Next:
        ranks = {house: rank for group in answer.groups for rank, house in enumerate(group)}
        return self._fill(game, sorted(self.bids, key=lambda house: (-self.bids[house], ranks.get(house, 0))))

    def fill(self, game: Game) -> Next:
        return self._fill(game, sorted(self.bids, key=lambda house: -self.bids[house]))

    def _fill(self, game: Game, order: list[HouseId]) -> Next:
        fewer = ("2E-COK-9",) if len(order) < max(game.edition.player_counts) else ()
        filled = f.TrackFilled(track=self.name, order=tuple(order))
        game.emit(filled, "2E-COK-3", *fewer)
        game.pass_token(self.name, "2E-COK-7")
        game.emit(f.BidsDiscarded(houses=tuple(sorted(game.state.bids))), "2E-COK-6")
        if self.track + 1 == len(TRACKS):
            return Done()
        return self.at("announce", track=self.track + 1, bids={})
