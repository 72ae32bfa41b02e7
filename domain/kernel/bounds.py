"""Bounds: how much of anything a command may hold. They are written at its fields and held where it is decoded.

What no bound is written at has one all the same: a name, a number, a list of so many. So nobody can forget one. The
types of commands are also those of facts and positions on old records, which have no bounds; therefore nothing is held
by the types themselves, but by a twin of each that :func:`bounded` makes, and that is asked before the type is.
"""

from __future__ import annotations

from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, Meta

from domain.kernel.refusal import Refusal

MOST_NAME = 100
"""Characters of an id, a word, a name, a key."""

MOST_NUMBER = 1_000_000_000
"""Numbers of entries and questions, and whatever else is counted up."""

MOST_UNTYPED = 1_000_000
"""Numbers in a value that has no type of its own, up or down: they stand for pieces, never for entries."""

MOST_ITEMS = 1_000
"""Members of a list or a mapping."""

MOST_PROSE = 20_000
"""The most characters of a statement, a reason, an opinion: some ten pages."""

MOST_DEPTH = 7
"""How deep a value that has no type of its own goes: a stated fact, a table of a charter, the locals of a step."""

MOST_QUOTED = 1_000
"""Characters of one text, and members of one list, that a refusal says back."""


class Within(msgspec.Struct, frozen=True):
    """``Annotated[int, Within(0, 20)]``: a number out of these."""

    least: int
    most: int


class AtMost(msgspec.Struct, frozen=True):
    """``Annotated[str, AtMost(200)]``: so many characters, or members."""

    most: int


Prose = Annotated[str, AtMost(MOST_PROSE)]
"""What people write in their own words."""

Text = Annotated[str, AtMost(MOST_QUOTED)]
"""A line of text that is no name: a purpose, a digest, a list in words."""


@cache
def bounded(kind: Any) -> Any:
    """The type with a bound for every number, text and collection in it; for decoding, not for use.

    >>> msgspec.convert(10**15, bounded(int))
    Traceback (most recent call last):
    msgspec.ValidationError: Expected `int` <= 1000000000
    """
    return _bounded(kind, None)


def _bounded(kind: Any, said: Within | AtMost | None) -> Any:
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        own = next((one for one in parts[1:] if isinstance(one, Within | AtMost)), None)
        others = tuple(one for one in parts[1:] if isinstance(one, Meta))
        if any(one.max_length is not None for one in others):
            return kind  # a text that says itself how long it may be
        twin = _bounded(parts[0], own or said)
        return Annotated[(twin, *others)] if others else twin
    if origin in (Union, UnionType):
        return Union[tuple(_bounded(part, said) for part in parts)]  # noqa: UP007  # built from a list
    if kind is Any:
        return _anything(MOST_DEPTH)
    if kind is str:
        return Annotated[str, Meta(max_length=said.most if isinstance(said, AtMost) else MOST_NAME)]
    if kind in (int, float):
        least, most = (said.least, said.most) if isinstance(said, Within) else (-MOST_NUMBER, MOST_NUMBER)
        return Annotated[kind, Meta(ge=least, le=most)]
    if origin in (dict, list, tuple, frozenset, set):
        return _collection(origin, parts, said)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _twin(kind)
    if kind in (bool, None, type(None), msgspec.UnsetType) or origin is Literal:
        return kind
    raise TypeError(f"no bound is known for {kind!r}")  # a new kind of field: say here what bounds it


def _collection(origin: Any, parts: tuple[Any, ...], said: Within | AtMost | None) -> Any:
    if origin is tuple and parts[-1] is not Ellipsis:
        return tuple[tuple(_bounded(part, None) for part in parts)]  # type: ignore[misc]  # of a length of its own
    members = tuple(part if part is Ellipsis else _bounded(part, None) for part in parts)
    return Annotated[origin[members], Meta(max_length=said.most if isinstance(said, AtMost) else MOST_ITEMS)]


@cache
def _twin(kind: type[msgspec.Struct]) -> Any:
    """A record of the same shape. It keeps to what a position or a command looks like, and does nothing."""
    hints = get_type_hints(kind, include_extras=True)
    config = kind.__struct_config__
    fields = []
    for field in msgspec.structs.fields(kind):
        # That a field may be left out is all that a default says here.
        default: Any = {} if field.required else {"default": UNSET}
        fields.append((field.name, _bounded(hints[field.name], None), msgspec.field(name=field.encode_name, **default)))
    return msgspec.defstruct(
        kind.__name__,
        fields,
        module=kind.__module__,
        kw_only=True,
        tag=config.tag,
        tag_field=config.tag_field,
        forbid_unknown_fields=True,  # else it would say nothing of what stands there
    )


@cache
def _anything(depth: int) -> Any:
    """Any JSON value that goes no deeper than this."""
    plain: Any = (
        None
        | bool
        | Annotated[int, Meta(ge=-MOST_UNTYPED, le=MOST_UNTYPED)]
        | Annotated[float, Meta(ge=-MOST_UNTYPED, le=MOST_UNTYPED)]
        | Annotated[str, Meta(max_length=MOST_QUOTED)]
    )
    if not depth:
        return plain
    inner = _anything(depth - 1)
    key = Annotated[str, Meta(max_length=MOST_NAME)]
    size = Meta(max_length=MOST_ITEMS)
    return plain | Annotated[dict[key, inner], size] | Annotated[list[inner], size]  # type: ignore[valid-type]


def in_brief(value: Any) -> Any:
    """A value as a refusal says it back: cut where it is longer than anybody reads. What is short stays as it is."""
    if isinstance(value, str):
        return value if len(value) <= MOST_QUOTED else f"{value[:MOST_QUOTED]}…"
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if abs(value) <= MOST_NUMBER**2 else f"a number of {value.bit_length()} bits"
    if isinstance(value, dict):
        few = list(value.items())[:MOST_QUOTED] if len(value) > MOST_QUOTED else value.items()
        return {in_brief(name): in_brief(one) for name, one in few}
    if isinstance(value, list | tuple):
        return [in_brief(one) for one in value[:MOST_QUOTED]]
    return value


R = TypeVar("R", bound=Refusal)


def briefly(refusal: R) -> R:
    """A refusal that quotes no more than a reader can use, however long the command was."""
    refusal.params = {name: in_brief(value) for name, value in refusal.params.items()}
    return refusal
