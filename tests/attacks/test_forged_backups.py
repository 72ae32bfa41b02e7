"""A backup that somebody has put together, a store that somebody has written into, and heads that he has edited."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from events import backup, losses
from events.backup import BackupDamaged, Contents, Frames, Restore
from events.heads import FILE, Heads, HeadsUnusable
from events.keys import LOST, game_key, list_key
from events.store import Store
from events.verify import verify_store
from tests import recording

Change = Callable[[list[backup.Frame]], list[backup.Frame]]


def game() -> Store:
    store = recording.fake_store()
    recording.played(store, most=4)
    recording.new_game(store, "toy-2")
    return store


def frames(store: Store) -> list[backup.Frame]:
    found: list[backup.Frame] = []
    reading = Frames(found.append)
    for some in backup.backup(store, []):
        reading.write(some)
    reading.close()
    return found


def made(told: list[backup.Frame]) -> bytes:
    """A file of these frames that is whole and covered."""
    raw, games = b"", 0
    for one in told:
        if isinstance(one, backup.End):
            one = backup.End(games, hashlib.sha256(raw).hexdigest())
        body = backup._encode(one)
        raw += len(body).to_bytes(4, "big") + body
        games += isinstance(one, backup.Done)
    return raw


def put_back(raw: bytes) -> Store:
    for sink in (Contents(), Restore(store := recording.fake_store(), "ab" * 32)):
        reading = Frames(sink)
        reading.write(raw)
        reading.close()
    return store


def rows(what: str, change: Callable[[tuple[backup.Row, ...]], list[backup.Row]]) -> Change:
    def changed(told: list[backup.Frame]) -> list[backup.Frame]:
        return [
            msgspec.structs.replace(one, rows=tuple(change(one.rows)))
            if isinstance(one, backup.Part) and one.what == what
            else one
            for one in told
        ]

    return changed


def inside(*more: backup.Frame) -> Change:
    return lambda told: [
        one for frame in told for one in ((frame, *more) if isinstance(frame, backup.Game) else (frame,))
    ]


FORGED: dict[str, Change] = {
    "an element with half a field": rows("ledger", lambda found: [found[0][:-1], *found[1:]]),
    "an element of nothing": rows("ledger", lambda found: [(), *found[1:]]),
    "an entry without a number": rows("ledger", lambda found: [(b"x", *found[0][1:]), *found[1:]]),
    "a letter without a number": rows("inbox", lambda found: [(b"\xff", *found[0][1:]), *found[1:]]),
    "a cursor that is none": rows("game", lambda found: [(a, b"soon" if a == b"cursor" else b) for a, b in found]),
    "a field without a value": rows("game", lambda found: [(b"cursor",), *found]),
    "a game of no id": lambda told: [
        msgspec.structs.replace(one, game="x}:y") if isinstance(one, backup.Game | backup.Done) else one for one in told
    ],
    "a lease": inside(backup.Part("lease", "string", ((b"5 x",),))),
    "a key elsewhere": inside(backup.Part("a}:b", "string", ((b"x",),))),
    "a description that is none": inside(backup.Part("game", "string", ((b"x",),))),
    "what is no shared seed": lambda told: [
        *told[:-1],
        backup.Shared("rookery:{toy-1}:game", "hash", ((b"parked", b"{}"),)),
        told[-1],
    ],
}


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_backup_is_refused_in_a_sentence_before_anything_is_written(what: str) -> None:
    told = frames(game())
    assert verify_store(put_back(made(told)), recording.JUDGE, "toy-1").is_confirmed
    with pytest.raises(BackupDamaged):
        put_back(made(FORGED[what](told)))


@pytest.mark.parametrize(
    ("what", "field", "value"), [("game", "cursor", b"soon"), ("keys", "seat-1\x00x", b""), ("keys", "y", b"soon 1")]
)
def test_a_damaged_game_keeps_no_other_from_being_copied(what: str, field: str, value: bytes) -> None:
    store = game()
    store.client.hset(game_key("toy-1", what), field, value)
    store.client.xadd(game_key("toy-1", "inbox"), {"other": b"x"}, id="77-0")
    for key in ("rookery:{P07}:X Y:game", game_key("toy-1", "").encode() + b"\xff\xfe", b"rookery:{\xff}:a:game"):
        store.client.hset(key, "a", "b")
    told = frames(store)
    assert {one.game: bool(one.damaged) for one in told if isinstance(one, backup.Done)} == {
        "toy-1": True,
        "toy-2": False,
    }
    back = put_back(made(told))
    assert back.client.hget(game_key("toy-1", what), field) == value
    assert verify_store(back, recording.JUDGE, "toy-2").is_confirmed
    assert not verify_store(back, recording.JUDGE, "toy-1").is_confirmed


@pytest.mark.parametrize("value", [b"", b"{}", b"soon", b"[]", b"\xff"])
def test_a_note_of_what_was_lost_that_nobody_can_read_holds_its_game(value: bytes, tmp_path: Path) -> None:
    store = game()
    store.client.hset(list_key(LOST, "toy-1"), "toy-1", value)
    assert "cannot be read" in losses.held(store)["toy-1"].sentence
    assert losses.release_whole(store) == () and "toy-1" in losses.held(store)
    heads = Heads(tmp_path, store, "redis://localhost:1")
    heads.submitted("toy-1", store.inbox_length("toy-1") + 1, "ab")
    assert [loss.what for loss in heads.look()] == [("inbox-shorter",)]
    assert losses.held(store)["toy-1"].acknowledged.submission == "ab"


@pytest.mark.parametrize(
    "change", ["inbox = 'soon'", "inbox = -5", "version = NULL", "submission = x'ff'", "game = x'ff'"]
)
def test_edited_heads_are_refused_in_a_sentence(change: str, tmp_path: Path) -> None:
    store = game()
    heads = Heads(tmp_path, store, "redis://localhost:1")
    heads.submitted("toy-1", 1, "ab")
    heads.close()
    with sqlite3.connect(tmp_path / FILE) as file:
        file.execute(f"UPDATE heads SET {change}")
    with pytest.raises(HeadsUnusable, match="not as it was written"):
        Heads(tmp_path, store, "redis://localhost:1").look()
