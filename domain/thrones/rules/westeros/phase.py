"""The Westeros phase (section 6): the round marker, three cards, the wildling threat."""

from __future__ import annotations

from typing import ClassVar

from domain.kernel.procedure import Do, Done, Next, Procedure
from domain.thrones.language import facts as f
from domain.thrones.language.pieces import CardId, Deck
from domain.thrones.rules.game import Game

WINTER_IS_COMING = ("w1-winter-is-coming", "w2-winter-is-coming", "w3-winter-is-coming")
MOST_WINTERS = 1000
"""A bound on Winter is Coming drawn again and again; with one such card in ten it is never met."""


class WesterosPhase(Procedure, frozen=True, tag=True):
    """Steps (2) to (4) of 2E-WES-1; the round has begun with the marker's move."""

    turns: ClassVar[tuple[str, ...]] = ("cards",)

    resolved: int = 0

    def begin(self, game: Game) -> Next:
        game.emit(f.StepBegan(phase="westeros", step="draw"), "2E-WES-1")
        for deck in game.edition.westeros_decks:
            self._draw(game, deck)
        return self.at("threat")

    def _draw(self, game: Game, deck: Deck) -> None:
        """The top card, and another one from the whole deck while it is Winter is Coming (2E-WES-3)."""
        for _ in range(MOST_WINTERS):
            if not game.state.hidden.decks[deck]:
                self._reshuffle(game, deck, "2E-LIM-6")
            card = game.state.hidden.decks[deck][0]
            game.emit(f.WesterosCardDrawn(deck=deck, card=card), "2E-WES-1", "2E-GEN-17")
            if card not in WINTER_IS_COMING:
                return
            rule = "2E-WEC-5" if card == WINTER_IS_COMING[0] else "2E-WEC-9"
            self._count_icons(game, card)
            self._reshuffle(game, deck, "2E-WES-3", rule)
        raise AssertionError("Winter is Coming cannot come for ever")

    def _count_icons(self, game: Game, card: CardId) -> None:
        """Winter is Coming, which is shuffled back, moves the threat where every card drawn does (1E-WEST-3)."""
        counted = game.readings.westeros.replaced_icons_count
        if counted and game.edition.icons[card]:
            self._move(game, game.edition.icons[card], *counted)

    def _move(self, game: Game, icons: int, *rules: str) -> int:
        """Move the threat, at most to the last space. Returns where it stands."""
        track = game.edition.constants.threat_track
        place = track.index(game.state.threat)
        after = min(place + icons, len(track) - 1)
        ignored = place + icons - after
        moved = f.ThreatMoved(threat=track[after], icons=icons, ignored=ignored)
        reading = game.readings.westeros
        stop = reading.last_space if after == len(track) - 1 else ()
        game.emit(moved, *rules, *stop, *(reading.beyond_last_space if ignored else ()))
        return after

    def _reshuffle(self, game: Game, deck: Deck, *rules: str) -> None:
        """The whole deck, its discards and the card just drawn."""
        drawn = game.state.westeros_cards.get(deck)
        cards = (
            *game.state.hidden.decks[deck],
            *game.state.westeros_discards.get(deck, ()),
            *((drawn,) if drawn else ()),
        )
        nth = sum(isinstance(fact, f.DeckShuffled) and fact.deck == deck for fact in game.facts) + 1
        game.shuffle(deck, cards, f"{deck}/round-{game.state.round}/{nth}", *rules)

    def threat(self, game: Game) -> Next:
        """Icons of the final cards move the threat (2E-WES-4); at the last space the wildlings attack at once."""
        icons = sum(game.edition.icons[card] for card in game.state.westeros_cards.values())
        if not icons:
            return self.at("cards")
        replaced = any(isinstance(fact, f.WesterosCardDrawn) and fact.card in WINTER_IS_COMING for fact in game.facts)
        reading = game.readings.westeros
        after = self._move(game, icons, "2E-WES-4", *(reading.replaced_icons_count if replaced else ()))
        # By the first edition's book, and where tables agree on it, attacks come by card alone (1E-WEST-4).
        is_full = after == len(game.edition.constants.threat_track) - 1
        if is_full and reading.full_threat_attacks:
            return Do(game.edition.chapters.wildlings(cause="threat"), then=self.at("cards"))
        return self.at("cards")

    def cards(self, game: Game) -> Next:
        """Deck I, then II, then III, each completely before the next."""
        decks = tuple(game.edition.westeros_decks)
        if self.resolved == len(decks):
            return Done()
        deck = decks[self.resolved]
        card = game.state.westeros_cards[deck]
        game.emit(f.StepBegan(phase="westeros", step=card), "2E-WES-1", game.edition.rule_of_card[card])
        procedure = game.edition.westeros_cards[card]()
        return Do(procedure, then=self.at("put_away"))

    def put_away(self, game: Game) -> Next:
        deck = tuple(game.edition.westeros_decks)[self.resolved]
        card: CardId = game.state.westeros_cards[deck]
        game.emit(f.WesterosCardResolved(deck=deck, card=card), *game.readings.westeros.resolved)
        return self.at("cards", resolved=self.resolved + 1)
