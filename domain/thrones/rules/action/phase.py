"""The action phase (section 13) and the clean-up at its end (section 17)."""

from __future__ import annotations

from typing import ClassVar

from domain.kernel.procedure import Do, Done, Next, Procedure
from domain.thrones.language import facts as f
from domain.thrones.language.pieces import is_routed
from domain.thrones.rules.game import Game


def stand_up(game: Game, *rules: str) -> None:
    """All routed units stand up, if there are any."""
    if any(is_routed(unit) for force in game.state.units.values() for unit in force.units):
        game.emit(f.UnitsStoodUp(), *rules)


class ActionPhase(Procedure, frozen=True, tag=True):
    """Raids, marches, Consolidate Power, clean-up (2E-ACT-1)."""

    turns: ClassVar[tuple[str, ...]] = ("marches", "consolidate", "clean_up")

    def begin(self, game: Game) -> Next:
        return Do(game.edition.chapters.raids(), then=self.at("marches"))

    def marches(self, game: Game) -> Next:
        return Do(game.edition.chapters.marches(), then=self.at("consolidate"))

    def consolidate(self, game: Game) -> Next:
        rise = game.readings.combat.rise_before_consolidation
        if rise:
            stand_up(game, *rise)
        return Do(game.edition.chapters.consolidation(), then=self.at("clean_up"))

    def clean_up(self, game: Game) -> Next:
        game.emit(f.StepBegan(phase="action", step="clean-up"), "2E-ACT-1")
        game.emit(f.OrdersTakenBack(), "2E-CLN-1", "2E-ORD-5")
        stand_up(game, "2E-CLN-2")
        if game.readings.westeros.prohibitions_last == "round" and game.state.prohibited:
            game.emit(f.ProhibitionsLifted(), "1E-ROUND-1")
        if game.state.used:
            game.emit(f.TokensRefreshed(tokens=game.state.used), "2E-CLN-3")
        return Done()
