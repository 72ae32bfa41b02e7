"""Somebody who may write to the store and to files, and has no key: what he forges is named in its place.

And the other way round: what honest servers do, an upgrade included, is no forgery.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import fakeredis
import msgspec
import pytest

from api.proving import prove
from domain.thrones.ruleset import THRONES
from events import chain, codec
from events.envelope import Refused, Stored, encode
from events.errors import FileDamaged, KeptDamaged, RecordDamaged
from events.export import EntryLine, ExportLine, Header, SubmissionLine, export_game, import_game, parse
from events.keys import GAMES, PARKED, UNRULED, game_key, list_key
from events.ruling import Line
from events.sealing import Sealer
from events.store import Store
from events.verify import verify_store
from tests import recording, toy
from tests.api.test_tampering import GAME, JUDGE, closed, desk_on, go_on, new_desk, played, remade, some
from tests.ledgers.test_ledgers import Newer, amend, commands, recorded, say
from worker.adjudicate import adjudicate
from worker.session import Bell, sweep

# Files, with the chain and all counts made anew


def public() -> list[bytes]:
    return list(export_game(played(18, 3).desk.store, GAME, full=False))


def with_entry(lines: list[bytes], seq: int, old: bytes, new: bytes) -> list[bytes]:
    """The file with one entry changed, and all behind it chained anew."""
    made, number = [], 0
    for raw in lines:
        number += raw.startswith(b'{"line":"entry"')
        if number == seq and raw.startswith(b'{"line":"entry"'):
            assert old in raw
            raw = raw.replace(old, new, 1)
        made.append(raw)
    return remade(made)


def with_submission(lines: list[bytes], old: bytes, new: bytes) -> list[bytes]:
    start = b'{"line":"submission","inbox":"5-0"'
    assert any(raw.startswith(start) and old in raw for raw in lines)
    return remade([raw.replace(old, new, 1) if raw.startswith(start) else raw for raw in lines])


SPELLINGS = [b"5-7", b"05-0", b"5", b"5-0 of my own", "５-0".encode(), b"x-0", b"-5-0"]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_number_of_the_inbox_has_one_spelling(spelling: bytes) -> None:
    for lines in (list(some(3)), public()):
        forged = with_entry(lines, 5, b'"inbox":"5-0"', b'"inbox":"%s"' % spelling)
        [finding] = prove(forged).findings
        assert finding.entry == 5 and "no submission" in finding.detail
    forged = with_submission(list(some(3)), b'"inbox":"5-0"', b'"inbox":"%s"' % spelling)
    [finding] = prove(forged).findings
    assert finding.what == "line 6"
    with pytest.raises(FileDamaged):
        import_game(Store(fakeredis.FakeRedis()), forged)


def test_no_older_schema_stands_behind_a_newer_one_in_a_redacted_file() -> None:
    for version in (b"1", b"0"):
        [finding] = prove(with_entry(public(), 5, b'"v":2', b'"v":%s' % version)).findings
        assert finding.entry == 5 and "schema" in finding.detail


@pytest.mark.parametrize("placeholder", [b'"command":{"sealed":99', b'"command":{"sealed":"x"', b'"command":{"seal":1'])
def test_a_placeholder_of_nothing_is_a_finding_in_a_redacted_file(placeholder: bytes) -> None:
    [finding] = prove(with_entry(public(), 4, b'"command":{"sealed":1', placeholder)).findings
    assert finding.entry == 4


def test_a_submission_from_the_future_is_a_finding_in_every_file() -> None:
    shown = list(export_game(played(18, 3).desk.store, GAME, full=False, player="lannister", seats=("bob",)))
    for lines in (list(some(3)), shown):
        assert prove(with_submission(lines, b'{"v":2', b'{"v":99')).findings


def refused_elsewhere(at: int) -> list[bytes]:
    """An answer that was accepted becomes one that another engine has refused; salts and digests are right."""
    read = list(parse(some(3)))
    sent = [one for one in read if isinstance(one, SubmissionLine)]
    entries = [one.stored() for one in read if isinstance(one, EntryLine)][:at]
    first, last = codec.entry(entries[0]), codec.entry(entries[-1])
    pepper = codec.raw_pepper(entries[0], first)
    assert pepper is not None and last.facts
    line: Line = JUDGE.begin()
    for stored in entries[:-1]:
        line = JUDGE.evolve(line, stored)
    one = sent[at - 1].read()
    assert one.seat is not None
    sealer = Sealer(pepper, line.head, at)
    sealer.bind((THRONES.seats(line.state)[one.seat],), codec.write_submission(one))
    forged = msgspec.structs.replace(
        last,
        engine="thrones/aaaaaaaaaaaaaaaa",
        verdict=Refused("unknown-area", ("2E-MAR-1",), {}),
        facts=(),
        sealed=tuple(sealer.seals),
        state=JUDGE.digest_of(line.state, pepper, line.head, at),
    )
    raw, parts = encode(forged), tuple(sealer.parts)
    entries[-1] = Stored(raw, parts, chain.digest(line.head, raw, parts))
    told: list[ExportLine] = [one for one in read if isinstance(one, Header)] + sent[:at]  # type: ignore[operator]
    told += [EntryLine(msgspec.Raw(one.public), one.sealed, one.digest) for one in entries]
    return closed([encode(one) + b"\n" for one in told])


def test_no_engine_that_was_not_agreed_is_a_witness_of_a_refusal() -> None:
    forged = refused_elsewhere(7)
    store = Store(fakeredis.FakeRedis())
    import_game(store, forged)
    go_on(desk_on(store), 3, random.Random(3))
    for lines in (forged, list(export_game(store, GAME))):
        [finding] = prove(lines).findings
        assert (finding.what, finding.entry) == ("engine", 7)


# The store


def waiting(most: int = 6, more: int = 3) -> Store:
    """A game with some letters that wait."""
    store = recording.fake_store()
    recording.played(store, most=most)
    [owed, *_] = toy.owed(store.line("toy-1", recording.JUDGE).state)
    for number in range(more):
        recording.submit(store, owed.sample(lambda _: 0), recording.SEAT_OF[owed.player], key=f"late-{number}")
    return store


@contextmanager
def stands_still(store: Store) -> Iterator[None]:
    """The game is parked, for ever and without a ruling, and says why."""
    before = store.version("toy-1")
    yield
    assert adjudicate(store, recording.JUDGE, "toy-1").how == "parked"
    assert store.version("toy-1") == before
    assert store.record("toy-1").parked is not None and store.settle("toy-1")
    assert not verify_store(store, recording.JUDGE, "toy-1").is_confirmed


def test_nothing_is_ruled_on_behind_a_letter_that_is_gone() -> None:
    store = waiting()
    with stands_still(store):
        store.client.xdel(game_key("toy-1", "inbox"), f"{store.version('toy-1') + 1}-0")
    store = waiting(more=0)
    with stands_still(store):
        store.client.xadd(game_key("toy-1", "inbox"), {"submission": b"{}"}, id=f"{store.version('toy-1')}-1")
        recording.submit(store, toy.Bid(by="red", coins=1), "seat-1", key="behind it")
    store = waiting(more=0)
    with stands_still(store):
        store.client.xadd(game_key("toy-1", "inbox"), {"submission": b"{}"}, id=f"{store.version('toy-1') + 5}-0")


@pytest.mark.parametrize("cursor", [b"soon", b"", b"-1", b"1e3", b"999999", b"0"])
def test_a_false_cursor_stops_its_game_and_no_other(cursor: bytes) -> None:
    store = waiting()
    rung: list[int] = []
    with stands_still(store):
        store.client.hset(game_key("toy-1", "game"), "cursor", cursor)
        recording.new_game(store, "toy-2")
        assert sweep(store, Bell(store.client, rung.append), thorough=True) == 2


@pytest.mark.parametrize("field", ["waits", "unreleased", "bytes"])
def test_a_false_mark_keeps_no_other_game_waiting(field: str) -> None:
    store = waiting()
    store.client.hset(game_key("toy-1", "game"), field, b"soon")
    recording.submit(store, toy.Bid(by="red", coins=1), "seat-1", key="more")
    recording.new_game(store, "toy-2")
    assert sweep(store, Bell(store.client, [].append), thorough=True) == 2
    assert len(store.waiting_since()) == 2 and store.waiting_for_engines() == ()
    assert isinstance(store.suspicious(), tuple)
    assert not verify_store(store, recording.JUDGE, "toy-1").is_confirmed


@pytest.mark.parametrize("field", ["parked", "lost"])
def test_an_empty_mark_is_a_mark(field: str) -> None:
    store = waiting()
    store.client.hset(game_key("toy-1", "game"), field, b"")
    before = store.version("toy-1")
    assert adjudicate(store, recording.JUDGE, "toy-1").how == "parked" and store.version("toy-1") == before


def test_a_false_snapshot_of_what_is_answered_stops_no_game() -> None:
    """It has the right position, and says of the newest entry that it went ahead."""
    store = waiting()
    line = store.line("toy-1", recording.JUDGE)
    store.save_snapshot(
        "toy-1", recording.JUDGE, Line(line.state, line.version, line.taken - 1, line.head, (line.taken,))
    )
    assert adjudicate(store, recording.JUDGE, "toy-1").how == "drained"
    assert verify_store(store, recording.JUDGE, "toy-1").is_confirmed


@pytest.mark.parametrize("fields", [{"submission": b""}, {"another": b"x"}])
def test_an_empty_submission_is_refused_and_bound_like_any_other(fields: dict[str, bytes]) -> None:
    store = waiting(more=0)
    store.client.xadd(game_key("toy-1", "inbox"), fields, id=f"{store.version('toy-1') + 1}-0")
    recording.submit(store, toy.Bid(by="red", coins=1), "seat-1", key="more")
    assert adjudicate(store, recording.JUDGE, "toy-1").ruled == 2
    lines = list(export_game(store, "toy-1"))
    assert store.record("toy-1").parked is None
    copy = recording.fake_store()
    import_game(copy, lines)
    assert list(export_game(copy, "toy-1")) == lines
    assert verify_store(copy, recording.JUDGE, "toy-1").is_confirmed


@pytest.mark.parametrize("key", ["game", "inbox", "ledger", "keys", "checkpoints"])
def test_a_part_of_a_game_that_is_a_key_of_another_kind_is_named(key: str) -> None:
    store = waiting()
    store.client.delete(game_key("toy-1", key))
    store.client.set(game_key("toy-1", key), "x")
    found = verify_store(store, recording.JUDGE, "toy-1").disagreement
    assert found is not None and (found.place, found.what) == (key, "kind")


def test_a_letter_from_the_future_is_a_finding_and_hides_no_other_game() -> None:
    store = waiting(more=0)
    number = store.version("toy-1") + 1
    store.client.xadd(game_key("toy-1", "inbox"), {"submission": b'{"v":99}'}, id=f"{number}-0")
    store.client.sadd(list_key(UNRULED, "toy-1"), "toy-1")
    recording.new_game(store, "toy-2")
    assert store.waiting_since() == (recording.AT,)
    found = verify_store(store, recording.JUDGE, "toy-1").disagreement
    assert found is not None and found.place == f"submission {number}"


def test_junk_in_the_lists_of_games_stops_nobody() -> None:
    store = waiting()
    for name in (GAMES, UNRULED, PARKED):
        store.client.sadd(list_key(name, "nobody"), b"\xff\xfe", b"x y", b"nobody")
    assert store.games() == ("toy-1",) and store.parked() == ()
    assert set(store.unruled()) == {"toy-1", "nobody"} and len(store.waiting_since()) == 1
    assert sweep(store, Bell(store.client, [].append), thorough=True) == 1


# Honest records


OLD: list[tuple[str, Any]] = [
    ("a text beyond today's bounds", {"kind": "march", "house": "lannister", "area": "y" * 5000, "moves": []}),
    ("a player beyond them", {"kind": "raven", "house": "x" * 3000, "choice": "look"}),
    ("a number beyond them", {"kind": "wildling-bid", "house": "lannister", "bid": 10**12}),
    ("nothing special", {"kind": "raven", "house": "lannister", "choice": "look"}),
]


def put_old(store: Store, game: str, commands: list[Any], at: Callable[[int], str], seat: str) -> None:
    """Letters that an older version took in, and did not come to rule on."""
    first = store.inbox_length(game) + 1
    for number, command in enumerate(commands, first):
        raw = codec.write_submission(
            msgspec.structs.replace(recording.submission(command, seat=seat, at=at(number), key=f"old-{number}"), v=1)
        )
        one = codec.read_submission(f"{number}-0", raw)
        store.client.xadd(game_key(game, "inbox"), {"submission": raw}, id=one.inbox)
        store.client.hset(game_key(game, "keys"), f"{seat}\x00{one.key}", f"{number} {one.body_hash}")


@pytest.mark.parametrize(("what", "command"), OLD, ids=[what for what, _ in OLD])
def test_letters_that_waited_through_an_upgrade_are_ruled_on_alike_again(what: str, command: Any) -> None:
    desk = new_desk()
    go_on(desk, 3, random.Random(3))
    put_old(desk.store, GAME, [command], lambda _: "2026-01-01T00:00:00.000000Z", "bob")
    adjudicate(desk.store, JUDGE, GAME)
    go_on(desk, 2, random.Random(4))
    assert verify_store(desk.store, JUDGE, GAME).disagreement is None
    assert prove(list(export_game(desk.store, GAME))).is_confirmed


def test_an_export_holds_what_went_ahead_of_its_last_entry() -> None:
    said = commands(0)[:10]
    store = recorded("pinned", said[:5])
    say(store, said[5])
    say(store, said[6])
    amend(store)
    newer: Any = type(JUDGE)(Newer())
    begun = store.version("pinned")
    adjudicate(store, newer, "pinned")
    for at in range(begun, store.version("pinned") + 1):
        copy = recording.fake_store()
        import_game(copy, list(export_game(store, "pinned", at=at)), f"copy-{at}")
        assert verify_store(copy, newer, f"copy-{at}").disagreement is None
        assert copy.version(f"copy-{at}") == at


def test_damage_is_named_where_it_was_met() -> None:
    store = waiting()
    number = store.version("toy-1") + 1
    store.client.xdel(game_key("toy-1", "inbox"), f"{number}-0")
    adjudicate(store, recording.JUDGE, "toy-1")
    parked = store.record("toy-1").parked
    assert parked is not None and parked.error == RecordDamaged.__name__
    assert parked.where == str(KeptDamaged(f"submission {number}"))
