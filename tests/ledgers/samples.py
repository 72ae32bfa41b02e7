"""A sample of everything that schema version 1 writes on the record, with every field and with as few as possible.

python -m tests.ledgers.samples     # adds samples of what is new; those that are there are never written again
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
from msgspec import inspect

from domain.thrones.language.state import Hidden, State
from domain.thrones.ruleset import THRONES
from events.envelope import Entry, Part, Submission, encode
from events.upcasters import UPCASTERS

FILE = Path(__file__).with_name("samples-1.jsonl")


class Sample(msgspec.Struct, frozen=True):
    """``kind`` is what upcasters call it; ``raw`` the bytes as they stood on the record."""

    kind: str
    name: str
    whole: bool
    raw: msgspec.Raw


def read() -> list[Sample]:
    return [msgspec.json.decode(line, type=Sample) for line in FILE.read_bytes().splitlines()]


def types() -> Iterator[tuple[str, str, Any]]:
    """Everything on the record: kind, name, type."""
    for command in get_args(THRONES.command_type):
        yield "command", str(command.__struct_config__.tag), command
    for fact in get_args(THRONES.fact_type):
        yield "fact", str(fact.__struct_config__.tag if isinstance(fact, type) else fact.__origin__.__name__), fact
    yield "state", "State", State
    yield "hidden", "Hidden", Hidden
    yield "submission", "Submission", Submission
    yield "entry", "Entry", Entry
    yield "part", "Part", Part


def value(kind: inspect.Type, name: str, *, whole: bool) -> Any:
    """Some plain value of a type, the same every time."""
    match kind:
        case inspect.StructType():
            return struct(kind, whole=whole)
        case inspect.UnionType():
            some = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
            return value(some[0] if whole else kind.types[-1], name, whole=whole)
        case inspect.LiteralType():
            return kind.values[-1]
        case inspect.VarTupleType():
            return [value(kind.item_type, name, whole=whole)] if whole else []
        case inspect.TupleType():
            return [value(one, name, whole=whole) for one in kind.item_types]
        case inspect.DictType():
            key = value(kind.key_type, f"a-{name}", whole=whole)
            return {key: value(kind.value_type, name, whole=whole)} if whole else {}
        case inspect.BoolType():
            return whole
        case inspect.IntType():
            return 3 if whole else 0
        case inspect.StrType():
            return name.replace("_", "-")
        case inspect.RawType() | inspect.AnyType():
            return {"some": name} if whole else None
        case inspect.NoneType():
            return None
    raise AssertionError(f"{name}: there are no {kind} on the record")


def struct(kind: inspect.StructType, *, whole: bool) -> dict[str, Any]:
    found: dict[str, Any] = {} if kind.tag_field is None else {kind.tag_field: kind.tag}
    for field in kind.fields:
        if whole or field.required:
            found[field.encode_name] = value(field.type, field.name, whole=whole)
    return found


def sample(kind: str, name: str, of: Any, *, whole: bool) -> Sample:
    """As our codec writes it: in its order, without what it leaves out."""
    described = inspect.type_info(of)
    assert isinstance(described, inspect.StructType)
    plain = struct(described, whole=whole)
    return Sample(kind, name, whole, msgspec.Raw(encode(msgspec.json.decode(msgspec.json.encode(plain), type=of))))


def main() -> None:
    there = {(one.kind, one.name, one.whole) for one in read()} if FILE.exists() else set()
    assert UPCASTERS.is_as_today(1), "another form has a file of its own"
    with FILE.open("ab") as lines:
        for kind, name, of in types():
            for whole in (True, False):
                if (kind, name, whole) not in there:
                    lines.write(encode(sample(kind, name, of, whole=whole)) + b"\n")


if __name__ == "__main__":
    main()
