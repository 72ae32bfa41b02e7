"""Facts that an arbiter may state: each has its line in docs/taking-back.md, with an example that can be stated."""

from __future__ import annotations

import msgspec
import pytest

from api.bench import Bench
from api.games.thrones.refusals import explain
from api.games.thrones.sentences import Prose
from api.tokens import Caller
from domain.kernel.arbiter import Correct
from domain.kernel.facts import Fact
from domain.kernel.printing import counted
from domain.kernel.refusal import Refusal
from domain.thrones.language import facts as f
from domain.thrones.language.facts import STATABLE, CombatDecided
from domain.thrones.tables.editions.second import SECOND_EDITION
from tests.api.test_moments import GAME, Table
from tests.domain.thrones.review.statable_facts import EXAMPLES, PAGE, as_json, written

PROSE = Prose(SECOND_EDITION)
BEFORE: dict[type[Fact], tuple[Fact, ...]] = {
    f.CardsTaken: (f.CardsDiscarded(house="stark", cards=("robb-stark",)),),
    f.PowerTokenRemoved: (f.PowerTokenPlaced(house="stark", area="winterfell"),),
}
"""What has to happen before an example can."""

UNITS = ("footman", "knight", "ship", "siege-engine")


def test_the_table_of_the_page_is_that_of_the_facts() -> None:
    assert [type(one) for one in EXAMPLES] == [*STATABLE]
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page)
    for one in EXAMPLES:
        assert msgspec.json.decode(as_json(one), type=type(one)) == one


@pytest.fixture(scope="module")
def table() -> Table:
    """A game of three whose orders are in."""
    found = Table()
    for _ in range(3):
        found.answer()
    return found


def plan(table: Table, *raw: object) -> tuple[str, ...]:
    bench = Bench(table.desk, lambda receipt: None)
    command = msgspec.convert({"facts": raw, "reason": "", "kind": "correct"}, Correct)
    return bench.plan_correction(GAME, Caller("operator"), command).stated


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: type(one).__name__)
def test_every_example_names_what_there_is_and_can_be_stated(table: Table, example: Fact) -> None:
    for word in _names(msgspec.to_builtins(example)):
        assert word in PROSE.names or word in SECOND_EDITION.tokens or word in UNITS or word == "raid", word
    raw = msgspec.json.decode(as_json(example))
    before = [msgspec.json.decode(as_json(one)) for one in BEFORE.get(type(example), ())]
    if isinstance(example, CombatDecided):
        with pytest.raises(Refusal) as refused:
            plan(table, raw)
        assert explain(refused.value.code, refused.value.params, PROSE).endswith("no combat is under way.")
        return
    state = table.desk.line(GAME).state
    for field in {"order", "old"} & {*raw} if type(example) in (f.OrderRemoved, f.OrderReplaced) else ():
        raw[field] = state.orders[raw["area"]].token  # what the sample has laid there
    if isinstance(example, f.OrderReplaced):
        raw["new"] = next(one for one in SECOND_EDITION.tokens if one not in {x.token for x in state.orders.values()})
    assert plan(table, *before, raw)[0] == f"The arbiter states {counted(len(before) + 1, 'fact')}."


def _names(value: object) -> list[str]:
    if isinstance(value, dict):
        words = [one for key, one in value.items() if key not in ("fact", "rules")]
        keys = [key for one in words if isinstance(one, dict) for key in one]
        return [*keys, *(name for one in words for name in _names(one))]
    if isinstance(value, list | tuple):
        return [name for one in value for name in _names(one)]
    return [value] if isinstance(value, str) else []


def test_whoever_states_something_else_is_told_what_there_is(table: Table) -> None:
    for raw in ({"fact": "GameWon"}, {"fact": "PowerChanged", "house": "stark"}):
        with pytest.raises(Refusal) as refused:
            plan(table, raw)
        told = explain(refused.value.code, refused.value.params, PROSE)
        assert all(kind.__name__ in told for kind in STATABLE)
