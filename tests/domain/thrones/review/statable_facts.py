"""The table of docs/taking-back.md: facts that an arbiter may state, their fields, and an example of each.

python -m tests.domain.thrones.review.statable_facts     # writes it anew
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from domain.kernel.facts import Fact
from domain.thrones.language import facts as f

PAGE = Path(__file__).parents[4] / "docs" / "taking-back.md"
BEGIN, END = "<!-- facts -->", "<!-- end of facts -->"

EXAMPLES: tuple[Fact, ...] = (
    f.NeutralForcePlaced(area="the-eyrie", strength=6),
    f.NeutralForceRemoved(area="the-eyrie"),
    f.UnitsPlaced(house="stark", area="winterfell", units={"footman": 1, "siege-engine": 1}),
    f.UnitsDestroyed(house="stark", area="winterfell", units={"knight": 1}),
    f.UnitReplaced(house="lannister", area="stoney-sept", old="footman", new="knight"),
    f.UnitsMoved(house="stark", area="winterfell", to="karhold", units={"footman": 1}),
    f.GarrisonPlaced(area="winterfell", strength=2),
    f.GarrisonRemoved(area="winterfell", house="stark"),
    f.TrackFilled(track="fiefdoms", order=("stark", "baratheon", "lannister")),
    f.TokenTaken(token="messenger-raven", house="stark"),
    f.TokenUsed(token="valyrian-steel-blade", house="stark"),
    f.TokensRefreshed(tokens=("valyrian-steel-blade", "messenger-raven")),
    f.SupplySet(house="stark", supply=3),
    f.PowerChanged(house="baratheon", by=-1),
    f.CardsTaken(house="stark", cards=("robb-stark",)),
    f.CardsDiscarded(house="stark", cards=("robb-stark",)),
    f.ThreatMoved(threat=4),
    f.OrdersProhibited(what="raid"),
    f.ProhibitionsLifted(),
    f.OrderRemoved(house="stark", area="winterfell", order="march-plus-1"),
    f.OrderReplaced(house="stark", area="winterfell", old="march-plus-1", new="march-0"),
    f.PowerTokenPlaced(house="stark", area="winterfell"),
    f.PowerTokenRemoved(house="stark", area="winterfell"),
    f.CombatDecided(winner="stark", loser="lannister", totals={"stark": 5, "lannister": 4}, tie=False),
)
"""One of each; words are those of the second edition."""


def table() -> Iterator[str]:
    yield "| Fact | Fields | Example |"
    yield "| --- | --- | --- |"
    for example in EXAMPLES:
        hints = get_type_hints(type(example))
        defaults = {field.name: not field.required for field in msgspec.structs.fields(type(example))}
        names = [name for name in type(example).__struct_fields__ if name != "rules"]
        told = ", ".join(f"`{one}`: {_words(hints[one])}{' (optional)' if defaults[one] else ''}" for one in names)
        yield f"| `{type(example).__name__}` | {told or 'none'} | `{as_json(example)}` |"


def as_json(fact: Fact) -> str:
    """As an arbiter writes it."""
    return re.sub(r"([:,])(?=\S)", r"\1 ", msgspec.json.encode(fact).decode())


def _words(kind: Any) -> str:
    """What a field holds. Names are ids of the game: houses, areas, cards, units, orders, tokens, tracks."""
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return " or ".join(_words(one) for one in inside)
    if origin is Literal:
        return " or ".join(f"`{one}`" for one in inside)
    if origin is tuple:
        return f"list of {_words(inside[0])}s"
    if origin is dict:
        return f"{_words(inside[0])} to {_words(inside[1])}"
    return {bool: "true or false", int: "number", str: "name", types.NoneType: "null"}[kind]


def written(page: str) -> str:
    """The page with its table as the data has it."""
    assert BEGIN in page and END in page
    told = "\n".join(table())
    return re.sub(f"{BEGIN}.*?{END}", lambda _: f"{BEGIN}\n{told}\n{END}", page, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
