"""Retreat and routing: step 6e of a combat (section 18.6)."""

from __future__ import annotations

from domain.kernel.procedure import Done, Next, Procedure, Wait
from domain.thrones.language import facts as f
from domain.thrones.language.answers import RetreatArea, RetreatLosses
from domain.thrones.language.pieces import AreaId, HouseId, Units, is_routed, size
from domain.thrones.rules.action.reach import reach
from domain.thrones.rules.armies import least_loss
from domain.thrones.rules.choices import SomeUnits, Words
from domain.thrones.rules.combat.cards.vocabulary import destroy_participating, noted, participating
from domain.thrones.rules.combat.casualties import default_units
from domain.thrones.rules.game import Game, decision

LEAVE = "leave"
"""Robb Stark's owner may leave the choice of the area to the loser (2E-DP-38)."""


def why_barred(game: Game, house: HouseId, area: AreaId) -> tuple[str, ...]:
    """The rules that keep retreating units out of an area; none if they may enter (2E-RET-6 to 2E-RET-8).

    By the first edition's book the printed shield alone keeps nobody out (1E-RET-4); a garrison does.
    """
    if area in game.state.neutral or game.is_closed(area):
        return ("2E-RET-7", "2E-NEU-1", "2E-NEU-9")
    if game.is_enemy_in(house, area):
        return ("2E-RET-6",)
    controller = game.controller(area)
    if game.board.is_port(area):
        return () if controller == house else ("2E-RET-8", "2E-PRT-2")
    if controller in (None, house):
        return ()
    if area in game.state.garrisons:
        return ("2E-RET-7",)
    if not game.readings.combat.shield_bars_retreat and area not in game.state.power_tokens:
        return ()
    return ("2E-RET-6", "2E-CTL-15")


def is_origin_barred(game: Game, house: HouseId, origin: AreaId) -> bool:
    """Whether a beaten attacker cannot go back, because the area he left is an enemy's now (2E-RET-3).

    By the first edition's book he always goes back (1E-RET-1).
    """
    if game.readings.combat.attacker_always_returns:
        return False
    return game.controller(origin) not in (None, house) or (
        game.board.is_port(origin) and game.controller(origin) != house
    )


def loss_in(game: Game, house: HouseId, area: AreaId, arriving: int) -> int:
    """How many of the arriving units supply and port limit cost in an area (2E-RET-9)."""
    others = {one: size(units) for one, units in game.state.forces_of(house).items()}
    combat = game.combat
    if house == combat.defender:
        others.pop(combat.area, None)
    return least_loss(others, area, arriving, game.supply_limit(house), game.room(area))


def returning_loss(game: Game, house: HouseId, origin: AreaId, arriving: int) -> int:
    """The loss of an attacker who goes back, unless the charter ignores supply then (2E-RET-4)."""
    if not game.readings.combat.supply_binds_returning:
        return 0
    return loss_in(game, house, origin, arriving)


def legal_areas(game: Game, house: HouseId, units: Units) -> tuple[tuple[AreaId, ...], int]:
    """Areas of the smallest loss that beaten units may go to, and that loss (2E-RET-5 to 2E-RET-10, 2E-HCS-2)."""
    combat = game.combat
    arriving = size(units)
    losses: dict[AreaId, int] = {}
    near = reach(game, house, combat.area)
    if house == combat.attacker and not is_origin_barred(game, house, combat.origin):
        losses[combat.origin] = returning_loss(game, house, combat.origin, arriving)
    for area in near:
        if area != combat.origin and not why_barred(game, house, area):
            losses[area] = loss_in(game, house, area, arriving)
    possible = {area: loss for area, loss in losses.items() if loss < arriving}
    if not possible:
        return (), 0
    least = min(possible.values())
    return tuple(sorted(area for area, loss in possible.items() if loss == least)), least


def barred_areas(game: Game, house: HouseId, legal: tuple[AreaId, ...]) -> dict[AreaId, tuple[str, ...]]:
    """Why the other areas next to a combat cannot be chosen."""
    combat = game.combat
    barred: dict[AreaId, tuple[str, ...]] = {}
    near = (*reach(game, house, combat.area), *game.board.neighbours[combat.area])
    for area in sorted({*near} - {*legal}):
        if area == combat.origin and house == combat.defender:
            barred[area] = ("2E-RET-7",)
        elif area == combat.origin and is_origin_barred(game, house, area):
            barred[area] = ("2E-RET-3",)
        elif area not in reach(game, house, combat.area):
            barred[area] = ("2E-RET-8",)
        else:
            barred[area] = why_barred(game, house, area) or ("2E-RET-9", "2E-RET-10")
    return barred


class Retreat(Procedure, frozen=True, tag=True):
    """The loser's surviving units leave, all to the same area (2E-RET-1)."""

    area: AreaId = ""
    left_to_loser: bool = False

    def begin(self, game: Game) -> Next:
        combat = game.combat
        assert combat.loser is not None and combat.winner is not None
        if game.readings.combat.routed_die == "when-they-retreat":
            self._destroy_routed(game)
        units = participating(game, combat, combat.loser)
        if not size(units):
            return Done()
        robb = noted(game, combat, combat.winner, "retreat-area")
        if combat.loser == combat.attacker and (robb is None or self.left_to_loser):
            return self.at("go_back")
        areas, loss = legal_areas(game, combat.loser, units)
        if not areas:
            if combat.loser == combat.attacker:
                return self.at("go_back")
            self._destroy(game, units, "2E-RET-11", "2E-RET-6", "2E-RET-9")
            return Done()
        rules = ["2E-RET-5", "2E-RET-6", "2E-RET-7", "2E-RET-8", "2E-RET-9", "2E-RET-10"]
        if combat.loser == combat.attacker:
            rules = ["2E-HCS-2", "2E-RET-6", "2E-RET-10", "2E-HCX-16"]
        offered = f.RetreatOffered(house=combat.loser, areas=areas, loss=loss)
        if not self.left_to_loser:
            game.emit(offered, *rules, *(("2E-HCS-2",) if robb else ()))
        return self.at("choose")

    def choose(self, game: Game) -> Next:
        """2E-DP-38: the loser, or with Robb Stark the winner, who may leave it to the loser."""
        combat = game.combat
        assert combat.loser is not None and combat.winner is not None
        units = participating(game, combat, combat.loser)
        areas, _ = legal_areas(game, combat.loser, units)
        if not areas:
            return self.at("begin")
        robb = noted(game, combat, combat.winner, "retreat-area") is not None and not self.left_to_loser
        decider = combat.winner if robb else combat.loser
        answer = RetreatArea(house=decider, area=combat.area, choice=areas[0])
        # A single area is taken without asking; for a beaten attacker whose origin is barred, leaving
        # the choice to him means that his units are destroyed, so that stays a choice (2E-HCX-16).
        doomed = combat.loser == combat.attacker and combat.origin not in areas
        words = (*areas, LEAVE) if robb and (len(areas) > 1 or doomed) else areas
        rules = ("2E-DP-38", "2E-RET-12", *(("2E-HCS-2",) if robb else ()))
        barred = barred_areas(game, combat.loser, areas)
        options = Words(words, ("2E-RET-5", "2E-RET-6", "2E-RET-10"), barred)
        return Wait(decision(answer, options, *rules), then="chosen")

    def chosen(self, game: Game, answer: RetreatArea) -> Next:
        if answer.choice == LEAVE:
            return self.at("begin", left_to_loser=True)
        return self.at("losses", area=answer.choice)

    def go_back(self, game: Game) -> Next:
        """A beaten attacker returns to the origin unless it is barred (2E-RET-2, 2E-RET-3)."""
        combat = game.combat
        if is_origin_barred(game, combat.attacker, combat.origin):
            self._destroy(game, participating(game, combat, combat.attacker), "2E-RET-3", "2E-RET-11")
            return Done()
        return self.at("losses", area=combat.origin)

    def _loss(self, game: Game, house: HouseId, arriving: int) -> int:
        combat = game.combat
        if house == combat.attacker and self.area == combat.origin:
            return returning_loss(game, house, self.area, arriving)
        return loss_in(game, house, self.area, arriving)

    def losses(self, game: Game) -> Next:
        """2E-DP-39: the loser chooses which units supply or the port limit cost."""
        combat = game.combat
        assert combat.loser is not None
        units = participating(game, combat, combat.loser)
        loss = self._loss(game, combat.loser, size(units))
        if loss == 0:
            return self.at("move")
        answer = RetreatLosses(house=combat.loser, area=combat.area, units=default_units(units, loss))
        rules = ("2E-RET-4", "2E-RET-9") if combat.loser == combat.attacker else ("2E-RET-9", "2E-RET-12")
        return Wait(decision(answer, SomeUnits(units, loss, rules), "2E-DP-39", *rules, "2E-DP-41"), then="lose")

    def lose(self, game: Game, answer: RetreatLosses) -> Next:
        rule = "2E-RET-4" if answer.house == game.combat.attacker else "2E-RET-9"
        self._destroy(game, answer.units, rule, "2E-SUP-8")
        return self.at("move")

    def move(self, game: Game) -> Next:
        combat = game.combat
        assert combat.loser is not None
        units = participating(game, combat, combat.loser)
        if not size(units):
            return Done()
        rules = ("2E-RET-1", "2E-RET-13", "2E-RET-15")
        if combat.loser == combat.attacker:
            back = ("2E-RET-2",) if self.area == combat.origin else ("2E-HCS-2",)
            game.emit(f.UnitsReturned(house=combat.loser, to=self.area, units=units, routed=True), *back, *rules)
        else:
            gone = f.UnitsRetreated(house=combat.loser, area=combat.area, to=self.area, units=units)
            game.emit(gone, "2E-RET-5", *rules, "2E-CTL-5")
        return Done()

    def _destroy_routed(self, game: Game) -> None:
        """Units that have retreated in this round already die when they must again (1E-RET-8)."""
        combat = game.combat
        assert combat.loser is not None
        units = participating(game, combat, combat.loser)
        self._destroy(game, {unit: count for unit, count in units.items() if is_routed(unit)}, "1E-RET-8")

    def _destroy(self, game: Game, units: Units, *rules: str) -> None:
        combat = game.combat
        assert combat.loser is not None
        destroy_participating(game, combat, combat.loser, units, *rules)
