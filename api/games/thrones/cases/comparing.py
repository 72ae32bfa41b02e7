"""What a case compares: facts in their order, parts of positions, what a House alone may see.

Everything here takes plain JSON values, so that it serves what other adjudicators report as well. Each comparison is
told with what was looked for and what is wrong with it, which is empty where nothing is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from domain.kernel.facts import Fact


def in_order(patterns: Iterable[Mapping[str, Any]], plain: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Look for facts in this order, others between them: what was looked for, and what is wrong with it or nothing."""
    position = 0
    for pattern in patterns:
        found = next((i for i in range(position, len(plain)) if matches(pattern, plain[i])), None)
        alike = [fact for fact in plain if fact.get("fact") == pattern["fact"]]
        yield f"fact {_short(pattern)}", "" if found is not None else f"not found in order; there are {alike or 'none'}"
        position = found + 1 if found is not None else position


def nowhere(patterns: Iterable[Mapping[str, Any]], plain: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Look for facts that must not be there."""
    for pattern in patterns:
        there = next((fact for fact in plain if matches(pattern, fact)), None)
        yield f"no fact {_short(pattern)}", f"found {there}" if there else ""


def plain_fact(fact: Fact) -> dict[str, Any]:
    """A fact as JSON values, defaults and audience included, so that a pattern can name them."""
    audience = None if fact.audience is None else list(fact.audience)
    plain: dict[str, Any] = {"fact": str(fact.__struct_config__.tag), "audience": audience}
    for name in fact.__struct_fields__:
        plain[name] = msgspec.to_builtins(getattr(fact, name))
    return plain


def rules_in(plain: Any) -> Iterator[str]:
    """The rules of a fact and of every line in it."""
    if isinstance(plain, dict):
        yield from plain.get("rules", ())
        for value in plain.values():
            yield from rules_in(value)
    elif isinstance(plain, list | tuple):
        for value in plain:
            yield from rules_in(value)


def matches(pattern: Any, value: Any) -> bool:
    """Whether ``value`` has everything that ``pattern`` says: mappings in part, ``rules`` in part, the rest wholly."""
    if isinstance(pattern, dict) and isinstance(value, dict):
        return all(
            set(wanted) <= set(value.get(key, ()))
            if key == "rules"
            else (key in value and matches(wanted, value[key])) or (wanted is None and key not in value)
            for key, wanted in pattern.items()
        )
    if isinstance(pattern, list) and isinstance(value, list | tuple):
        return len(pattern) == len(value) and all(map(matches, pattern, value))
    return bool(pattern == value)


def fragment(name: str, said: Mapping[str, Any], whole: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Compare part of a position: fields, then entries of a mapping; what an entry holds must be equal."""
    for field, wanted in sorted(said.items()):
        there = whole[field]
        if isinstance(wanted, dict) and isinstance(there, dict):
            for key, value in sorted(wanted.items()):
                found = there.get(key)
                same = _sorted(field, found) == _sorted(field, value)
                yield f"{name} {field} {key} = {value}", "" if same else f"found {found}"
        else:
            yield f"{name} {field} = {wanted}", "" if _plain(wanted) == _plain(there) else f"found {there}"


def own_part(house: str, said: Mapping[str, Any], there: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Compare what a House alone may see; an answer or a draft agrees in the fields that are given."""
    for key, value in sorted(said.items()):
        found = there.get(key)
        yield f"own {house} {key} = {value}", "" if matches(value, found) else f"found {found}"


def _plain(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def _sorted(field: str, value: Any) -> Any:
    """Hands are sets; everything else has its order."""
    plain = _plain(value)
    return sorted(plain, key=str) if field == "hands" and isinstance(plain, list) else plain


def _short(pattern: Mapping[str, Any]) -> str:
    rest = ", ".join(f"{key}={value}" for key, value in pattern.items() if key != "fact")
    return f"{pattern['fact']}({rest})"
