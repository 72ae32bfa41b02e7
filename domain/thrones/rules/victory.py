"""Victory (section 25)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NoReturn

from domain.kernel.chance import commitment
from domain.kernel.docket import SharedSeedAwaited
from domain.kernel.facts import SeedOpened
from domain.kernel.refusal import GameEnded
from domain.thrones.language import facts as f
from domain.thrones.language.pieces import HouseId
from domain.thrones.language.state import Standing
from domain.thrones.rules.game import Game


def standing(game: Game, house: HouseId) -> Standing:
    """What a House is ranked by: all land areas it controls count, seas and ports do not (2E-VIC-8)."""
    castles = game.castles_of(house)
    return Standing(
        house=house,
        castles=min(len(castles), game.victory_areas),
        strongholds=sum(game.board[area].castle == 2 for area in castles),
        land_areas=len(game.controlled(house)),
        supply=game.state.supply[house],
        power=game.state.power[house],
        iron_throne=game.state.position_of(house, "iron-throne"),
    )


def ranking(game: Game) -> tuple[Standing, ...]:
    """All Houses, best first (2E-VIC-5 to 2E-VIC-9)."""
    return tuple(sorted((standing(game, house) for house in game.state.houses), key=game.readings.victory.rank))


def by_errata(one: Standing) -> tuple[int, ...]:
    """All land areas before the supply marker and the Iron Throne track (2E-VIC-6, 2E-VIC-8)."""
    return (-one.castles, -one.land_areas, -one.supply, one.iron_throne)


def by_print(one: Standing) -> tuple[int, ...]:
    """Strongholds, the supply marker, available Power, the Iron Throne track (2E-VIC-7)."""
    return (-one.castles, -one.strongholds, -one.supply, -one.power, one.iron_throne)


def by_first_edition(one: Standing) -> tuple[int, ...]:
    """Areas with a city or stronghold, the supply marker, available Power; then it is a draw (1E-WIN-3, 1E-WIN-4)."""
    return (-one.castles, -one.supply, -one.power)


def declare_winner(game: Game, reason: Literal["areas", "rounds"], among: Iterable[HouseId] | None = None) -> NoReturn:
    """End the game at once, whatever step is running (2E-VIC-2)."""
    table, reading = ranking(game), game.readings.victory
    able = set(game.state.houses if among is None else among)
    first = next(one for one in table if one.house in able)
    winner = first.house
    tied = [one for one in table if one.house in able and one.castles == table[0].castles]
    rules = ["2E-VIC-2", "2E-VIC-3", "2E-RND-4"] if reason == "areas" else ["2E-VIC-5", "2E-RND-3"]
    rules += fewer_houses(game) if reason == "areas" else ()
    if len(tied) > 1:
        rules += reading.tie
        rules += ["2E-VIC-4"] if reason == "areas" else []
    equal = [one.house for one in tied if reading.rank(one) == reading.rank(first)]
    if reading.draws and len(equal) > 1:
        game.emit(f.GameDrawn(houses=tuple(sorted(equal)), ranking=table, reason=reason), *rules, "2E-VIC-9")
        open_seeds(game)
        raise GameEnded
    game.emit(f.GameWon(winner=winner, ranking=table, reason=reason), *rules, "2E-VIC-9")
    open_seeds(game)
    raise GameEnded


def fewer_houses(game: Game) -> tuple[str, ...]:
    """The rule by which fewer Houses win with another number of areas, where there is one."""
    few = len(game.state.charter.houses) < max(game.edition.player_counts)
    return game.readings.victory.fewer_houses if few else ()


def open_seeds(game: Game) -> None:
    """With the end every seed that was drawn from is opened (2E-GEN-17)."""
    if game.state.charter.chance != "imposed":
        shared = game.state.charter.shared_seed
        waits = shared is not None and game.state.docket.shared != "open"
        for seed in (*game.state.hidden.former, game.state.hidden.seed):
            if shared is not None and waits and commitment(seed) == shared.commitment:
                game.emit(SharedSeedAwaited(shared=shared.id), "2E-GEN-17")
                continue
            game.emit(SeedOpened(seed=seed), "2E-GEN-17")
