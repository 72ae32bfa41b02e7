"""The game as rules see it: the position, the edition's tables, and the questions that many chapters ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from domain.kernel.chance import shuffled, stated
from domain.kernel.decision import Decision, Options
from domain.kernel.facts import Fact
from domain.kernel.refusal import Refusal
from domain.kernel.ruleset import Game as KernelGame
from domain.kernel.ruleset import Ruleset
from domain.thrones.language import facts as f
from domain.thrones.language.answers import HouseAnswer
from domain.thrones.language.pieces import (
    TOKEN_OF_TRACK,
    AreaId,
    Deck,
    HouseId,
    OrderToken,
    Track,
    Units,
    by_type,
    plus,
    size,
)
from domain.thrones.language.state import Combat, State
from domain.thrones.tables.board import Board
from domain.thrones.tables.edition import Edition

A = TypeVar("A", bound=HouseAnswer)
T = TypeVar("T")


class Game(KernelGame[State]):
    """One command being ruled on, with the edition it is played by."""

    def __init__(self, ruleset: Ruleset[State], state: State, edition: Edition) -> None:
        super().__init__(ruleset, state)
        self.edition = edition
        self.readings = edition.readings
        self.board: Board = edition.board
        self._law = edition.law or None

    def emit(self, fact: Fact, *rules: str) -> None:
        """Record a fact with the rules behind it, cited by the law of this table, and apply it."""
        law = self._law
        if law is not None:
            fact, rules = law.of_fact(fact), law.cite(rules)
        super().emit(fact, *rules)

    def recount(self, work: Callable[[Game], T]) -> T:
        """Do something all over the board that no single ruling depends on; footprints leave it out."""
        return work(self)

    @property
    def combat(self) -> Combat:
        """The combat under way."""
        assert self.state.combat is not None
        return self.state.combat

    @property
    def houses(self) -> tuple[HouseId, ...]:
        """Houses in turn order, the order of the moment (2E-GEN-6)."""
        return self.state.turn_order

    # Control (2E-CTL-1, 2E-CTL-2)

    def controller(self, area: AreaId) -> HouseId | None:
        """Who controls an area, or None."""
        board, state = self.board, self.state
        if board.is_port(area):
            return self.controller(board.land_of(area))
        holder = state.house_in(area)
        if holder is not None or board.is_sea(area):
            return holder
        if area in state.neutral:
            return None
        return state.power_tokens.get(area) or self.shield(area)

    def shield(self, area: AreaId) -> HouseId | None:
        """The House in play whose home area this is (2E-CTL-10, 2E-FEW-3)."""
        home = self.board.shields.get(area)
        return home if home in self.state.houses else None

    def controlled(self, house: HouseId) -> tuple[AreaId, ...]:
        """Land areas under control of the House, ascending."""
        return tuple(area for area in self.board.land if self.controller(area) == house)

    def castles_of(self, house: HouseId) -> tuple[AreaId, ...]:
        """Controlled areas with a Castle or Stronghold (2E-VIC-1)."""
        return tuple(area for area in self.board.castles if self.controller(area) == house)

    def is_enemy_in(self, house: HouseId, area: AreaId) -> bool:
        """Whether units of another House stand in the area (2E-GEN-2)."""
        holder = self.state.house_in(area)
        return holder is not None and holder != house

    def is_closed(self, area: AreaId) -> bool:
        """Whether an impassable token closes the area, or the port of its land area (2E-FEW-2)."""
        if self.board.is_port(area):
            return self.is_closed(self.board.land_of(area))
        return self.state.neutral.get(area) == "impassable"

    def is_held_by_fleet(self, sea: AreaId) -> bool:
        """Whether neutral Ships of an unplayed House hold a sea area (1E-PLAY-2)."""
        table = self.edition.players(len(self.state.charter.houses))
        return sea in table.neutral_forces and sea in self.state.neutral

    # Pieces (2E-COMP-1, 2E-LIM-1)

    def in_play(self, house: HouseId) -> dict[str, int]:
        """Pieces of the House on the board or marching, by type."""
        used: Units = {}
        for units in self.state.forces_of(house).values():
            used = plus(used, units)
        if self.state.march and self.state.march.house == house:
            used = plus(used, self.state.march.units)
        return by_type(used)

    def reserve(self, house: HouseId) -> dict[str, int]:
        """Pieces of the House that can come into play, by type."""
        used = self.in_play(house)
        limits = self.edition.houses[house].limits
        return {kind: limits[kind] - used.get(kind, 0) for kind in limits}

    def pool(self, house: HouseId) -> int:
        """Power tokens of the House in the Power Pool (2E-COMP-2)."""
        return self.state.pool(house, self.edition.constants.power_tokens)

    # Supply (2E-SUP-1)

    def supply_limit(self, house: HouseId) -> tuple[int, ...]:
        return self.edition.supply_limit(self.state.supply[house])

    def sizes(self, house: HouseId) -> dict[AreaId, int]:
        """Units by area, those bound for a contested area counted there (2E-SUP-3, 2E-MAR-7)."""
        sizes = {area: size(units) for area, units in self.state.forces_of(house).items()}
        march = self.state.march
        if march and march.house == house and size(march.units):
            sizes[march.to] = sizes.get(march.to, 0) + size(march.units)
        return sizes

    def room(self, area: AreaId) -> int | None:
        """The most units an area may hold, None where only supply limits it (2E-PRT-3)."""
        return self.edition.constants.port_ships if self.board.is_port(area) else None

    # Orders and stars

    def token(self, area: AreaId) -> OrderToken | None:
        """The order token lying face up in an area."""
        placed = self.state.orders.get(area)
        return self.edition.tokens[placed.token] if placed else None

    def orders_of(self, house: HouseId, kind: str) -> tuple[AreaId, ...]:
        """Areas with an order of this type of the House, ascending."""
        return tuple(
            area
            for area, placed in sorted(self.state.orders.items())
            if placed.house == house and self.edition.tokens[placed.token].type == kind
        )

    def stars(self, house: HouseId) -> int:
        """Special orders that the House's King's Court position allows (2E-TRK-5)."""
        table = self.edition.players(len(self.state.houses)).stars
        return table[self.state.position_of(house, "kings-court") - 1]

    @property
    def victory_areas(self) -> int:
        """Areas with a Castle or Stronghold that win at once (2E-VIC-3)."""
        few = self.edition.players(len(self.state.charter.houses)).victory_areas
        return self.edition.constants.victory_areas if few is None else few

    # Small changes that several chapters make

    def gain_power(self, house: HouseId, count: int, *rules: str) -> int:
        """Gain up to ``count`` Power, as far as the Pool lasts (2E-LIM-2). Returns what was gained."""
        gained = min(count, self.pool(house))
        if gained < count:
            rules = (*rules, "2E-LIM-2", "2E-COMP-2")
        if gained:
            self.emit(f.PowerChanged(house=house, by=gained), *rules, "2E-GEN-8")
        return gained

    def lose_power(self, house: HouseId, count: int, *rules: str) -> int:
        """Discard up to ``count`` available Power (2E-GEN-8). Returns what was discarded."""
        lost = min(count, self.state.power[house])
        if lost:
            self.emit(f.PowerChanged(house=house, by=-lost), *rules, "2E-GEN-8")
        return lost

    def destroy(self, house: HouseId, area: AreaId, units: Units, *rules: str) -> None:
        """Units on the board return to the reserve (2E-GEN-9)."""
        if size(units):
            self.emit(f.UnitsDestroyed(house=house, area=area, units=units), *rules, "2E-GEN-9")

    def move_marker(self, house: HouseId, track: Track | str, position: int, *rules: str) -> None:
        """Insert a marker at a position; the Houses in between shift, the token follows (2E-TRK-8, 2E-TRK-9)."""
        order = list(self.state.tracks[track])
        order.remove(house)
        order.insert(position - 1, house)
        if tuple(order) == self.state.tracks[track]:
            return
        moved = {"kings-court": "2E-TRK-10", "iron-throne": "2E-TRK-11"}.get(track)
        self.emit(
            f.MarkerMoved(track=track, house=house, position=position, order=tuple(order)),
            *rules,
            "2E-TRK-8",
            *((moved,) if moved else ()),
        )
        self.pass_token(track, "2E-TRK-9")

    def pass_token(self, track: Track | str, *rules: str) -> None:
        """The House in position 1 holds the track's dominance token."""
        first = self.state.tracks[track][0]
        if not self.state.holds(first, TOKEN_OF_TRACK[track]):
            holds = {"iron-throne": "2E-TRK-1", "fiefdoms": "2E-TRK-3", "kings-court": "2E-TRK-5"}[track]
            self.emit(f.TokenTaken(token=TOKEN_OF_TRACK[track], house=first), *rules, holds)

    # Chance (2E-GEN-17)

    def shuffle(self, deck: Deck, cards: Iterable[str], occasion: str, *rules: str) -> None:
        """Shuffle a deck by the seed, or as stated from outside."""
        pile = tuple(sorted(cards))
        if self.state.charter.chance != "imposed":
            order = shuffled(self.state.hidden.seed, occasion, pile)
        else:
            waiting = self.state.hidden.stated.get(deck)
            if not waiting:
                raise Refusal("draw-not-stated", ("2E-GEN-17",), deck=deck, occasion=occasion)
            order = _stated(waiting[0], pile, deck)
        self.emit(f.DeckShuffled(deck=deck, occasion=occasion, cards=order), *rules, "2E-GEN-17")

    def turns(self, done: Iterable[HouseId], among: Iterable[HouseId] | None = None) -> tuple[HouseId, ...]:
        """Houses that have still to act, in the turn order of the moment."""
        past = set(done)
        allowed = set(self.houses if among is None else among)
        return tuple(house for house in self.houses if house in allowed and house not in past)


def _stated(wanted: tuple[str, ...], pile: tuple[str, ...], deck: Deck) -> tuple[str, ...]:
    try:
        return stated(wanted, pile)
    except ValueError as error:
        raise Refusal("draw-impossible", ("2E-GEN-17",), deck=deck, problem=str(error)) from error


def decision(
    default: A,
    options: Options[A],
    *rules: str,
    asked_anyway: bool = False,
    forced: A | None = None,
    facts: Mapping[str, object] | None = None,
) -> Decision[A]:
    """A decision whose only legal answer, if there is just one, is applied without asking (2E-GEN-14).

    ``asked_anyway`` is for the points where section 26 says "never"; ``forced`` for those with another test.
    """
    if forced is None and not asked_anyway:
        forced = options.only(default)
    return Decision(default=default, options=options, rules=rules, forced=forced, facts=dict(facts or {}))
