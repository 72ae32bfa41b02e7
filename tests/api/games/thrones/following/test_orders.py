"""Hidden orders of a round: what raids that came to nothing say of the orders next to them."""

from __future__ import annotations

import msgspec
import pytest

from api.games.thrones.following.orders import are_idle, demands
from api.games.thrones.logs import records as r
from domain.thrones.ruleset import rules_by
from tests.api.games.thrones.following.test_importer import entry, planning


@pytest.mark.parametrize(("raid", "defends"), [("raid", False), ("raid-star", True)])
def test_a_raid_order_that_its_house_gave_up_had_a_target(raid: str, defends: bool) -> None:
    state = planning()
    target = "crackclaw-point"
    assert state.house_in(target) is None
    state = msgspec.structs.replace(state, units={**state.units, target: state.units["lannisport"]})
    game = rules_by(state.charter).game(state)
    origin = next(area for area in state.areas_of("baratheon") if target in game.board.neighbours[area])
    wanted = demands(game, [entry(1, 1, r.OrderGivenUp("baratheon", origin, raid), "RAID")])
    for kind, may_be in (("support-0", True), ("consolidate", True), ("march-0", False), ("defense-plus-1", defends)):
        assert are_idle(game, wanted, {origin: raid, target: kind}) == may_be
