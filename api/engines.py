"""Another version of the rules engine, asked what it would make of recorded games: the blast radius of a change."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from events import codec
from events.envelope import encode
from events.export import EntryLine, parse

SCRIPT = Path(__file__).with_name("again.py")


class NoEngine(ValueError):
    """A path where no Rookery is, or one that does not run."""


class Differing(msgspec.Struct, frozen=True):
    """An entry that the other engine would have ruled on otherwise. ``what`` tells where, without any secret."""

    entry: int
    command: str
    what: tuple[str, ...]


class Radius(msgspec.Struct, frozen=True):
    """What another engine would rule otherwise in one game. ``running``: the game has not ended."""

    game: str
    engine: str
    entries: int
    running: bool
    differing: tuple[Differing, ...]


def compare(game: str, lines: Iterable[bytes], engine: Path) -> Radius:
    """Rule again on a full export with the engine at ``engine``: a checkout, or a directory it is installed in."""
    whole = list(lines)
    documents = _ask(whole, engine)
    said: dict[int, list[Any]] = {}
    for one in documents[1:]:
        said.setdefault(one.get("seq", 0), []).append(one)
    found, count = [], 0
    for line in parse(whole):
        if isinstance(line, EntryLine):
            count += 1
            differing = _entry(line, count, said.get(count))
            if differing is not None:
                found.append(differing)
    running = not any(one.get("over") for one in said.get(0, ()))
    return Radius(game, documents[0]["engine"], count, running, tuple(found))


def _ask(lines: list[bytes], engine: Path) -> list[Any]:
    """What the other engine prints; it finds its own modules first and knows nothing of ours."""
    if not (engine / "domain").is_dir():
        raise NoEngine(f"There is no Rookery in {engine}: a checkout or an installed version has the package domain.")
    environment = {**os.environ, "PYTHONPATH": str(engine.resolve()), "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryDirectory() as nowhere:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT.read_text(encoding="utf-8")],
            input=b"".join(lines),
            capture_output=True,
            cwd=nowhere,
            env=environment,
        )
    last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
    if done.returncode:
        raise NoEngine(f"The engine in {engine} does not run: {' '.join(last)}")
    documents = [json.loads(line) for line in done.stdout.splitlines()]
    if engine.resolve() not in Path(documents[0]["file"]).resolve().parents:
        raise NoEngine(f"Not the engine in {engine} has answered, but {documents[0]['file']}.")
    return documents


def _entry(line: EntryLine, number: int, said: list[Any] | None) -> Differing | None:
    stored = line.stored()
    entry = codec.entry(stored)
    raw = codec.raw_command(stored, entry)
    command = json.loads(raw).get("kind", "unreadable") if raw else "sealed"
    if not said:
        return Differing(number, command, ("it was not reached",))
    what = [one["fails"] for one in said if "fails" in one]
    if not what:
        what = list(_parts(stored, entry, said[0]))
    return Differing(number, command, tuple(what)) if what else None


def _parts(stored: Any, entry: Any, again: Any) -> Iterable[str]:
    """Fact by fact, where the rulings part; of facts for some eyes only not more than their names."""
    verdict = json.loads(encode(entry.verdict))
    if verdict != again["verdict"]:
        yield f"verdict: {_word(verdict)} is recorded, {_word(again['verdict'])} comes out"
    ours = list(_recorded(stored, entry))
    theirs = again["facts"]
    for index in range(max(len(ours), len(theirs))):
        old, secret = ours[index] if index < len(ours) else (None, False)
        new = theirs[index] if index < len(theirs) else None
        if _without_pin(old) != _without_pin(new):
            yield f"fact {index}: {_fact(old, new, secret)}"


def _without_pin(fact: Any) -> Any:
    """A fact without what its charter says of the engine: every engine writes its own there."""
    if not isinstance(fact, dict) or not isinstance(fact.get("charter"), dict):
        return fact
    return {**fact, "charter": {**fact["charter"], "engine": ""}}


def _recorded(stored: Any, entry: Any) -> Iterable[tuple[Any, bool]]:
    """The facts of an entry as plain data, and whether each is for some eyes only."""
    for raw in map(bytes, entry.facts):
        sealed = codec.sealed_fact(raw)
        body = raw if sealed is None else bytes(stored.sealed[sealed.sealed].body)
        yield json.loads(body), sealed is not None


def _fact(old: Any, new: Any, secret: bool) -> str:
    if old is None or new is None or old["fact"] != new["fact"]:
        return f"{old['fact'] if old else 'nothing'} is recorded, {new['fact'] if new else 'nothing'} comes out"
    names = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
    if secret:
        return f"{old['fact']} has another {', '.join(names)}"
    parts = [f"{name} {_short(old.get(name))} is recorded, {_short(new.get(name))} comes out" for name in names]
    return f"{old['fact']}: {'; '.join(parts)}"


def _word(verdict: Any) -> str:
    return str(verdict.get("code", verdict["verdict"]))


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else text[:160] + "…"
