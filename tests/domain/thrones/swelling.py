"""Swollen commands, made from the types: every number, text, key, list and depth blown up, one at a time.

Work is counted in steps of the interpreter, lines and calls, so that no test depends on how quick a machine is.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, inspect

T = TypeVar("T")

HUGE = (10**15, -(10**15), 10**30)
LONG = 100_000
"""Characters of a swollen text."""

MANY = 30_000
"""Members of a swollen collection."""

DEEP = 300


class TooManySteps(BaseException):
    """Not an Exception: nothing on the way may take it for a refusal."""


def steps(work: Callable[[], T], most: int) -> tuple[int, T]:
    """How many lines and calls something takes, and what it gives. Raises TooManySteps beyond ``most``."""
    count = 0

    def step() -> None:
        nonlocal count
        count += 1
        if count > most:
            raise TooManySteps(f"more than {most} steps")

    def trace(frame: types.FrameType, event: str, arg: Any) -> Any:
        step()
        return trace

    def called(frame: types.FrameType, event: str, arg: Any) -> None:
        if event == "c_call":
            step()

    before = sys.gettrace(), sys.getprofile()
    sys.setprofile(called)
    sys.settrace(trace)
    try:
        found = work()
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
    return count, found


def sample(kind: inspect.Type) -> Any:
    """A small value of a type, with something in every field and collection."""
    match kind:
        case inspect.StructType():
            return kind.cls(**{field.name: sample(field.type) for field in kind.fields})
        case inspect.UnionType():
            return sample(fullest(kind))
        case inspect.LiteralType():
            return kind.values[0]
        case inspect.DictType():
            return {sample(kind.key_type): sample(kind.value_type)}
        case inspect.VarTupleType() | inspect.ListType():
            return (sample(kind.item_type),)
        case inspect.TupleType():
            return tuple(map(sample, kind.item_types))
        case inspect.IntType():
            return 1
        case inspect.StrType():
            return "word"
        case inspect.BoolType():
            return True
        case inspect.AnyType():
            return 1
    raise TypeError(f"no sample of {kind}")


def fullest(kind: inspect.UnionType) -> inspect.Type:
    """The member of a union that holds most: None and UNSET hold nothing."""
    return max(kind.types, key=lambda one: not isinstance(one, inspect.NoneType))


def swollen(value: Any, kind: inspect.Type, path: str = "$") -> Iterator[tuple[str, Any]]:
    """Copies of a value, in each of which one thing is swollen, and where. Nothing is validated on the way."""
    value = sample(kind) if value is UNSET else value
    match kind:
        case inspect.StructType():
            for field in kind.fields:
                for place, other in swollen(getattr(value, field.name), field.type, f"{path}.{field.name}"):
                    yield place, msgspec.structs.replace(value, **{field.name: other})
        case inspect.UnionType():
            for one in kind.types:
                is_empty = value is None or value is UNSET
                if not isinstance(one, inspect.NoneType) and (is_empty or _is_of(value, one)):
                    yield from swollen(sample(one) if is_empty else value, one, path)
        case inspect.DictType():
            yield from _swollen_dict(value or {sample(kind.key_type): sample(kind.value_type)}, kind, path)
        case inspect.VarTupleType() | inspect.ListType():
            value = tuple(value) or (sample(kind.item_type),)
            yield f"{path} many", value[:1] * MANY
            yield from _members(value, [kind.item_type] * len(value), path)
        case inspect.TupleType():
            yield from _members(tuple(value), kind.item_types, path)
        case inspect.IntType():
            yield from ((f"{path} {huge:.0e}", huge) for huge in HUGE)
        case inspect.StrType():
            yield f"{path} long", "x" * LONG
        case inspect.LiteralType():
            yield f"{path} long", ("x" * LONG if isinstance(kind.values[0], str) else 10**30)
        case inspect.AnyType():
            yield from anything(path)
        case inspect.BoolType() | inspect.NoneType():
            pass
        case _:
            raise TypeError(f"{path} is a {kind}, and nothing swells it")


def _swollen_dict(value: dict[Any, Any], kind: inspect.DictType, path: str) -> Iterator[tuple[str, Any]]:
    key, one = next(iter(value.items()))
    yield f"{path} many", {**value, **{f"{key}{number}": one for number in range(MANY)}}
    yield f"{path} long key", {**value, "x" * LONG: one}
    for place, other in swollen(one, kind.value_type, f"{path}[...]"):
        yield place, {**value, key: other}


def _members(value: tuple[Any, ...], kinds: Any, path: str) -> Iterator[tuple[str, Any]]:
    for index, (one, kind) in enumerate(zip(value, kinds, strict=True)):
        for place, other in swollen(one, kind, f"{path}[{index}]"):
            yield place, (*value[:index], other, *value[index + 1 :])


def anything(path: str) -> Iterator[tuple[str, Any]]:
    """Swollen values where the type allows any."""
    deep: Any = 1
    for _ in range(DEEP):
        deep = [deep]
    yield f"{path} deep", deep
    yield f"{path} many", [1] * MANY
    yield f"{path} many keys", {str(number): 1 for number in range(MANY)}
    yield f"{path} long key", {"x" * LONG: 1}
    yield f"{path} long", {"a": ["x" * LONG]}
    yield from ((f"{path} {huge:.0e}", {"a": [huge]}) for huge in HUGE)


def _is_of(value: Any, kind: inspect.Type) -> bool:
    """Whether a value is of a member of a union; they differ in kind, as decoding demands."""
    match kind:
        case inspect.StructType():
            return type(value) is kind.cls
        case inspect.LiteralType():
            return value in kind.values
        case inspect.IntType():
            return isinstance(value, int) and not isinstance(value, bool)
        case inspect.StrType():
            return isinstance(value, str)
        case inspect.BoolType():
            return isinstance(value, bool)
        case inspect.DictType():
            return isinstance(value, dict)
        case inspect.VarTupleType() | inspect.ListType() | inspect.TupleType():
            return isinstance(value, list | tuple)
    return False


def hollow(value: Any, kind: inspect.Type) -> Iterator[Any]:
    """Copies of a value in each of which one thing is empty, or counts nothing."""
    match kind:
        case inspect.StructType():
            for field in kind.fields:
                for other in hollow(getattr(value, field.name), field.type):
                    yield msgspec.structs.replace(value, **{field.name: other})
        case inspect.UnionType():
            for one in kind.types:
                if _is_of(value, one):
                    yield from hollow(value, one)
        case inspect.DictType():
            yield {}
            for key, one in value.items():
                for other in hollow(one, kind.value_type):
                    yield {**value, key: other}
                    yield {**value, f"{key}-not-there": other}
        case inspect.VarTupleType():
            yield ()
            for index, one in enumerate(value):
                for other in hollow(one, kind.item_type):
                    yield (*value[:index], other, *value[index + 1 :])
        case inspect.IntType():
            yield from (0, -1, 1)
        case inspect.StrType():
            yield ""
