"""Set-up (section 4), and the frame of a whole game (section 5)."""

from __future__ import annotations

from typing import ClassVar

from domain.kernel.procedure import Do, Done, Next, Procedure
from domain.thrones.language import facts as f
from domain.thrones.language.pieces import TRACKS, AreaId, HouseId, Units
from domain.thrones.rules.control import announce_control, announce_victory_markers
from domain.thrones.rules.game import Game
from domain.thrones.rules.victory import declare_winner
from domain.thrones.tables.edition import PlayerCount


def players(game: Game) -> PlayerCount:
    return game.edition.players(len(game.state.houses))


def units_of_absent_houses(game: Game) -> frozenset[AreaId]:
    """Where units of Houses that are not played stand as a neutral force, on the first edition's board (1E-PLAY-2)."""
    if not game.readings.setup.absent_houses_turn_neutral:
        return frozenset()
    absent = (house for house in game.edition.houses.values() if house.id not in game.state.houses)
    return frozenset(area for house in absent for area in house.units)


def place_neutral_forces(game: Game) -> None:
    """2E-SET-6, 2E-SET-7."""
    table = players(game)
    fewer = () if table.count == max(game.edition.player_counts) else ("2E-FEW-1",)
    absent = units_of_absent_houses(game)
    for area, strength in sorted(table.neutral_forces.items()):
        placed = f.NeutralForcePlaced(area=area, strength=strength)
        if area in absent:
            game.emit(placed, *game.readings.setup.absent_houses_turn_neutral, "2E-NEU-1", "2E-CTL-13", *fewer)
        else:
            game.emit(placed, "2E-SET-6", "2E-SET-7", "2E-COMP-4", "2E-NEU-1", "2E-CTL-13", *fewer)
    for area in sorted(table.impassable):
        placed = f.NeutralForcePlaced(area=area, strength="impassable")
        game.emit(placed, "2E-SET-6", "2E-SET-7", "2E-FEW-2", "2E-NEU-9", *fewer)


def place_influence_markers(game: Game) -> None:
    """2E-SET-8: Houses not in play are left out and the others move up; position 1 takes the token."""
    table = players(game)
    fewer = () if table.count == max(game.edition.player_counts) else ("2E-FEW-1", "2E-FEW-4")
    stars: tuple[str, ...] = ("2E-TRK-6",)
    if len(table.stars) < max(game.edition.player_counts):
        stars = game.readings.setup.stars_of_fewer
    exchanged = game.readings.setup.court_exchanged if not fewer else ()
    for track in TRACKS:
        rules = ["2E-SET-8", *fewer]
        if track == "kings-court":
            rules += [*stars, *exchanged]
        game.emit(f.TrackFilled(track=track, order=table.influence[track]), *rules)
        game.pass_token(track, "2E-SET-8")


def starting_units(game: Game, house: HouseId) -> dict[AreaId, Units]:
    """2E-SET-10, with the errata of 2E-SET-11 as the charter has it."""
    figures = game.edition.houses[house]
    errata_from = game.readings.setup.errata_units_from
    if errata_from is not None and len(game.state.houses) >= errata_from:
        return {**figures.units, **figures.errata_units}
    return figures.units


class Setup(Procedure, frozen=True, tag=True):
    """Everything that is done once before round 1. ``decks`` has orders that are imposed from outside."""

    decks: dict[str, tuple[str, ...]] = {}

    def begin(self, game: Game) -> Next:
        self._decks(game)
        game.emit(f.ThreatMoved(threat=game.edition.constants.threat_start), "2E-SET-3", "2E-COMP-5")
        place_neutral_forces(game)
        place_influence_markers(game)
        for house in game.state.houses:
            self._house(game, house)
        announce_control(game)
        announce_victory_markers(game)
        return Done()

    def _decks(self, game: Game) -> None:
        piles = {"wildling": game.edition.wildling_deck, **game.edition.westeros_decks}
        for deck, cards in piles.items():
            if not cards:
                continue
            rule = "2E-SET-3" if deck == "wildling" else "2E-SET-4"
            if deck in self.decks:
                imposed = f.DeckShuffled(deck=deck, occasion="imposed", cards=self.decks[deck])
                game.emit(imposed, rule, "2E-GEN-17")
            else:
                game.shuffle(deck, cards, f"{deck}/set-up", rule, "2E-COMP-4")

    def _house(self, game: Game, house: HouseId) -> None:
        figures = game.edition.houses[house]
        game.emit(f.SupplySet(house=house, supply=figures.supply), "2E-SET-9", "2E-COMP-3")
        errata = figures.errata_units
        for area, units in sorted(starting_units(game, house).items()):
            rules = ("2E-SET-10", "2E-SET-11") if area in errata else ("2E-SET-10", "2E-COMP-1")
            game.emit(f.UnitsPlaced(house=house, area=area, units=units), *rules)
        if game.edition.constants.garrison:
            garrison = f.GarrisonPlaced(area=figures.home, strength=game.edition.constants.garrison)
            game.emit(garrison, "2E-SET-12", "2E-GEN-11", "2E-CTL-14")
        game.gain_power(house, game.edition.constants.starting_power, "2E-SET-13", "2E-GEN-7")
        game.emit(f.CardsTaken(house=house, cards=game.edition.cards_of(house)), "2E-SET-14", "2E-COMP-3")


class Play(Procedure, frozen=True, tag=True):
    """A whole game: set-up, then rounds of three phases (2E-RND-1)."""

    turns: ClassVar[tuple[str, ...]] = ("phases", "round")

    decks: dict[str, tuple[str, ...]] = {}
    phase: int = 0

    def begin(self, game: Game) -> Next:
        setup = game.edition.chapters.setup(decks=self.decks)
        return Do(setup, then=self.at("round", decks={}))

    def round(self, game: Game) -> Next:
        """The round marker moves; the first Westeros phase is skipped (2E-RND-2, 2E-SET-5)."""
        if game.state.round >= game.edition.constants.rounds:
            # The test of 2E-WES-2 and the end of 2E-RND-3 are one moment.
            declare_winner(game, "rounds")
        first = game.state.round == 0
        rules = ("2E-SET-5", "2E-RND-1", "2E-RND-2") if first else ("2E-WES-1", "2E-RND-1", "2E-CLN-4", "2E-WES-2")
        game.emit(f.RoundBegan(round=game.state.round + 1), *rules)
        return self.at("phases", phase=1 if first else 0)

    def phases(self, game: Game) -> Next:
        phases = game.edition.chapters.phases
        if self.phase == len(phases):
            return self.at("round", phase=0)
        return Do(phases[self.phase](), then=self.at("phases", phase=self.phase + 1))
