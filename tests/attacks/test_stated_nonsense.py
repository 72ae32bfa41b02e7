"""An arbiter states facts that name what there is not. Whatever the rules take, everybody can go on reading the game.

A correction that removed an order of no edition was accepted; from then on the log, its entry, the certificate and the
event stream of that table were a mistake of the server, for ever.
"""

from __future__ import annotations

import msgspec
import pytest

from api.bench import Bench
from api.certificate import as_text, certify
from api.games.thrones.sentences import Prose
from api.tokens import Caller
from domain.kernel.arbiter import Correct
from domain.kernel.facts import Fact
from domain.kernel.refusal import Refusal
from domain.thrones.tables.editions.composed import compose
from domain.thrones.tables.variations import PRESETS
from events.envelope import Accepted, encode
from tests.api.test_moments import GAME, Table
from tests.domain.thrones.review.nonsense import UNKNOWN, nonsense
from tests.domain.thrones.review.statable_facts import EXAMPLES

OPERATOR = Caller("operator", None, "gm")
NOBODY = Caller("public")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_a_stated_fact_is_told_in_words_whatever_it_names(preset: str, example: Fact) -> None:
    prose = Prose(compose(PRESETS[preset].variations))
    for raw in nonsense(example):
        try:
            fact = msgspec.convert(raw, type(example))
        except msgspec.ValidationError:
            continue
        assert prose.line(fact).isprintable(), raw


def test_a_game_stays_readable_after_every_correction_that_the_rules_took() -> None:
    """On old records such corrections were carried out; whoever sends one through the server today is refused."""
    table = Table()
    for _ in range(3):
        table.answer()
    bench = Bench(table.desk, lambda receipt: None)
    orders = [{"fact": "OrderRemoved", "house": "stark", "area": "winterfell", "order": word} for word in UNKNOWN]
    for raw in orders:
        command = msgspec.convert({"facts": [raw], "reason": "r", "kind": "correct"}, Correct)
        with pytest.raises(Refusal, match="cannot-be-stated"):
            bench.plan_correction(GAME, OPERATOR, command)
        table.desk.submit(GAME, OPERATOR, encode(command), cause="arbiter")
        table.rule()
    read = list(table.desk.log(GAME, NOBODY))
    assert sum(entry.cause == "arbiter" and isinstance(entry.verdict, Accepted) for entry in read) == len(orders)
    for entry in read:
        assert as_text(certify(table.desk, GAME, NOBODY, entry.seq, None))
