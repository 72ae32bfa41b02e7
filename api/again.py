"""Rules again on every entry of an export, with whatever engine the path finds, and prints what it would have ruled.

:mod:`api.engines` hands this file as text to a Python that finds another version of Rookery, so it uses only what
every version has. Each entry is ruled on in the position that is on the record, whatever came out before it.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterator
from typing import Any

import msgspec

import domain
from domain.thrones.ruleset import THRONES
from events import codec
from events.envelope import Stored, Submission, encode
from events.export import EntryLine, parse
from events.ruling import Judge


def tell(document: Any) -> None:
    sys.stdout.write(json.dumps(document) + "\n")


def looking_back(judge: Any, kept: list[Stored]) -> dict[str, Any]:
    """The argument that lets a ruling look into the record; there was none before arbiters."""
    if "past" not in inspect.signature(judge.rule).parameters:
        return {}
    from events.past import Record  # older versions do not have it

    return {"past": Record(judge, lambda after, upto: iter(kept[after:upto]))}


def submission(entry: Any, raw: bytes) -> Any:
    fields = {name: getattr(entry, name) for name in ("v", "at", "cause", "seat", "seen", "causation", "correlation")}
    return Submission(**fields, key="", command=msgspec.Raw(raw), inbox=entry.inbox)


def opened(stored: Any, entry: Any) -> list[Any]:
    """The facts of an entry as plain data, sealed ones open."""
    found = []
    for raw in map(bytes, entry.facts):
        placeholder = codec.sealed_fact(raw)
        found.append(json.loads(raw if placeholder is None else bytes(stored.sealed[placeholder.sealed].body)))
    return found


def rule_again(judge: Any, line: Any, entry: Any, stored: Any, pepper: bytes, more: dict[str, Any]) -> Any:
    raw = codec.raw_command(stored, entry)
    if raw is None:
        return {"seq": entry.seq, "fails": "its command is sealed"}
    try:
        ruled = judge.rule(line, submission(entry, raw), pepper, entry.engine, **more)[0]
    except Exception as error:  # noqa: BLE001 - whatever this engine raises is the answer
        return {"seq": entry.seq, "fails": f"{type(error).__name__} in the rules"}
    again = codec.entry(ruled)
    verdict = json.loads(encode(again.verdict))
    return {"seq": entry.seq, "verdict": verdict, "facts": opened(ruled, again)}


def entries() -> Iterator[Any]:
    for line in parse(sys.stdin.buffer):
        if isinstance(line, EntryLine):
            yield line.stored()


def main() -> None:
    judge: Any = Judge(THRONES)
    tell({"engine": judge.engine, "file": domain.__file__})
    line, pepper = judge.begin(), b""
    kept: list[Stored] = []
    more = looking_back(judge, kept)
    for stored in entries():
        entry = codec.entry(stored)
        pepper = pepper or codec.raw_pepper(stored, entry) or b""
        if more:
            more["past"].version = len(kept)
        tell(rule_again(judge, line, entry, stored, pepper, more))
        try:
            line = judge.evolve(line, stored)
        except Exception as error:  # noqa: BLE001 - and here the record is closed to it
            tell({"seq": entry.seq, "fails": f"it cannot read the record ({type(error).__name__})", "stops": True})
            return
        kept.append(stored)
    tell({"over": bool(THRONES.is_over(line.state))})


if __name__ == "__main__":
    main()
