"""Power tokens left behind: what a log tells of them is what Houses can pay for later, and who is not asked."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from api.games.thrones.following.charter import settings_of
from api.games.thrones.following.importer import Imported, import_log
from api.games.thrones.following.orders import demands, lay
from api.games.thrones.logs import records as r
from domain.thrones.language import answers as c
from domain.thrones.ruleset import rules_by
from domain.thrones.tables.charter import Charter
from tests.api.games.thrones.following.test_importer import entry, planning

HOUSES = ("baratheon", "lannister", "stark")
AWAY = r.Marched("stark", "white-harbor", "land", (r.Step("widows-watch", {"footman": 1}),))


def imported(told: Sequence[r.Entry]) -> Imported:
    """The game of these entries, all of which are explained."""
    entries = tuple(msgspec.structs.replace(one, number=number) for number, one in enumerate(told, 1))
    charter = Charter("second-edition", HOUSES, chance="stated")
    found = import_log(r.Reading(r.Log("1", "", entries, settings_of(charter)), ()))
    assert found.report.explained == found.report.entries
    return found


def left(bids: dict[str, tuple[int, int]], *, asked: bool) -> list[bool]:
    """Whether Power tokens were left by Stark in round 1, whose Houses bid so for two tracks in round 2."""
    told = [entry(1, 1, AWAY, "MARCH"), entry(2, 1, r.PowerConsolidated({}), "POWER")]
    for number, track in enumerate(("iron-throne", "fiefdoms")):
        for house, power in bids.items():
            player = house if power[number] or asked else ""
            told.append(r.Entry(len(told) + 1, 2, "WESTEROS", player, r.Bid(house, track, power[number])))
        order = tuple(sorted(HOUSES, key=lambda house: -bids[house][number]))
        told.append(entry(len(told) + 1, 2, r.TrackOrdered(track, order)))
    found = imported(told)
    return [one.command.leave_power for one in found.ruled if isinstance(one.command, c.MarchOrder)]


def test_who_bids_all_his_power_has_left_no_token() -> None:
    assert left({"baratheon": (2, 1), "lannister": (3, 2), "stark": (4, 1)}, asked=True) == [False]


def test_who_is_not_asked_has_no_power() -> None:
    assert left({"baratheon": (2, 1), "lannister": (3, 2), "stark": (4, 0)}, asked=False) == [True]
    assert left({"baratheon": (2, 1), "lannister": (3, 2), "stark": (4, 0)}, asked=True) == [False]


def laid(power: int, *told: r.Record, forced: dict[str, tuple[str, ...]] | None = None) -> bool:
    """Whether Stark can have laid orders that bring what is told."""
    state = msgspec.structs.replace(planning(), power={**planning().power, "stark": power})
    game = rules_by(state.charter).game(state)
    return (
        lay(game, "stark", demands(game, [entry(n, 1, one, "POWER") for n, one in enumerate(told, 1)]), forced)
        is not None
    )


def test_power_with_an_entry_of_its_own_is_not_in_the_sum() -> None:
    raven = r.RavenReplaced("stark", "winterfell", "defense-plus-1", "consolidate")
    assert laid(5, raven, r.PowerTaken("stark", "winterfell", 2), r.PowerConsolidated({}))
    assert not laid(5, raven, r.PowerConsolidated({}))


def test_who_runs_out_of_power_tokens_gains_less_than_is_due() -> None:
    forced = {"winterfell": ("consolidate",)}
    assert laid(19, r.PowerConsolidated({"stark": 1}), forced=forced)
    assert not laid(5, r.PowerConsolidated({"stark": 1}), forced=forced)


def test_a_token_that_must_lie_is_paid_for_by_another() -> None:
    """The bid of all that is left says that one of two tokens was left, income of a later round which."""

    def away(area: str, to: str) -> r.Marched:
        return r.Marched("stark", area, "land", (r.Step(to, {"footman": 1}),))

    def bids(track: str, power: int) -> list[r.Entry]:
        told = {"stark": power, "baratheon": 2 - bool(power), "lannister": 0}
        found = [r.Entry(0, 3, "WESTEROS", "" if house == "stark" and not power else house, r.Bid(house, track, bid))
                 for house, bid in told.items()]  # fmt: skip
        order = tuple(sorted(told, key=lambda house: -told[house]))
        return [*found, entry(0, 3, r.TrackOrdered(track, order))]

    told = [
        entry(0, 1, away("winterfell", "karhold"), "MARCH"),
        entry(0, 1, r.PowerConsolidated({}), "POWER"),
        entry(0, 2, away("karhold", "winterfell"), "MARCH"),
        entry(0, 2, away("white-harbor", "widows-watch"), "MARCH"),
        entry(0, 2, r.PowerConsolidated({}), "POWER"),
        *bids("iron-throne", 4),
        *bids("fiefdoms", 0),
        *bids("kings-court", 0),
        entry(0, 3, r.PowerConsolidated({}), "POWER"),
        entry(0, 4, r.GameOfThronesPower({"baratheon": 2, "lannister": 2, "stark": 2})),
    ]
    found = imported(told)
    left = {one.command.area: one.command.leave_power for one in found.ruled if isinstance(one.command, c.MarchOrder)}
    assert left["karhold"]
    assert not left["white-harbor"]
