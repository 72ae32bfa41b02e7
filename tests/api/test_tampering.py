"""Tampering: whatever is changed in a record, a bundle or a store, or told to two players in two ways, is named."""

from __future__ import annotations

import copy
import hashlib
import random
import re
from functools import cache
from pathlib import Path
from typing import Any

import fakeredis
import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from api.bundling import bundle
from api.desk import Desk
from api.proving import prove, prove_file
from api.tokens import Caller, Tokens
from domain.kernel.arbiter import Rewind
from domain.kernel.docket import Origin
from domain.thrones.ruleset import THRONES
from events import chain, codec, inspection, scripts
from events.bundle import (
    CHECKPOINTS,
    LEDGER,
    MANIFEST,
    NOTE,
    BundleDamaged,
    Manifest,
    hashes,
    manifest_line,
    pack,
    unpack,
)
from events.envelope import GENESIS, Stored, encode
from events.errors import FileDamaged, GameUnknown, RecordDamaged
from events.evidence import Book, Finding, Note, book_of, weigh
from events.export import EndLine, EntryLine, ExportLine, Header, SubmissionLine, export_game, import_game, parse
from events.keys import game_key
from events.notes import Checkpoint, Signer, origin, read_checkpoint
from events.ruling import Judge
from events.staging import restore
from events.store import Kept, Store
from events.verify import verify_store
from tests.sizes import sized
from worker.adjudicate import adjudicate

GAME = "winter"
JUDGE = Judge(THRONES)
SIGNER = Signer("rookery.test", Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
OTHER = Signer("rookery.test", Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33))))
KEYS = (SIGNER.verifier,)
SEATS = {"alice": "stark", "bob": "lannister", "carol": "baratheon"}


class Played(msgspec.Struct, frozen=True):
    """A game in a store of its own, with everything that players were given."""

    desk: Desk
    lines: tuple[bytes, ...]
    receipts: tuple[str, ...]
    checkpoints: tuple[str, ...]


def desk_on(store: Store, signer: Signer = SIGNER) -> Desk:
    times = (f"2025-01-01T12:{minute // 60:02}:{minute % 60:02}.000000Z" for minute in range(100_000))
    return Desk(store, Tokens(store), None, JUDGE, clock=lambda: next(times), signer=signer)


def go_on(desk: Desk, most: int, chance: random.Random) -> tuple[list[str], list[str]]:
    """Play so many answers by chance; the receipts and a checkpoint after each."""
    receipts, checkpoints = [], []
    adjudicate(desk.store, JUDGE, GAME)
    for _ in range(most):
        owed = THRONES.decisions(desk.line(GAME).state)
        if not owed:
            break
        decision = chance.choice(owed)
        seat = next(name for name, house in SEATS.items() if house == decision.player)
        answer = decision.sample(chance.randrange)
        receipts.append(desk.submit(GAME, Caller("seat", seat), encode(answer), key=f"{len(receipts)}-{most}").note)
        adjudicate(desk.store, JUDGE, GAME)
        checkpoints.append(desk.checkpoint(GAME)[1])
    return receipts, checkpoints


def new_desk(signer: Signer = SIGNER, seed: str = "5e" * 32) -> Desk:
    desk = desk_on(Store(fakeredis.FakeRedis()), signer)
    desk.create(edition="second-edition", players=3, seats=SEATS, game=GAME, seed=seed, key="begin")
    return desk


def played(most: int, number: int = 1) -> Played:
    desk = new_desk()
    receipts, checkpoints = go_on(desk, most, random.Random(number))
    return Played(desk, tuple(export_game(desk.store, GAME)), tuple(receipts), tuple(checkpoints))


@cache
def short() -> Played:
    return played(24)


@cache
def book() -> Book:
    """What notes on the short game are held against."""
    return book_of(short().lines)


@cache
def some(number: int) -> tuple[bytes, ...]:
    """The record of one of a few random games."""
    return played(6 * number, number).lines


@cache
def packed(full: bool) -> bytes:
    return bundle(short().desk, GAME, full=full, player=None if full else "stark", seats=() if full else ("alice",))


def notes(texts: tuple[str, ...], what: str) -> list[Note]:
    return [Note(f"{what} {number}", text) for number, text in enumerate(texts, 1)]


def all_notes(game: Played) -> list[Note]:
    return [*notes(game.receipts, "receipt"), *notes(game.checkpoints, "checkpoint")]


def whats(found: tuple[Finding, ...]) -> set[str]:
    return {one.what for one in found}


# Honest records


def test_an_honest_game_is_proven_with_everything_that_players_kept() -> None:
    game = short()
    proof = prove(game.lines, all_notes(game), KEYS)
    assert proof.is_confirmed, proof.findings
    assert proof.evidence == len(game.receipts) + len(game.checkpoints)
    assert proof.drawn.unproven >= 4 and not proof.drawn.proven  # the seed is sealed until the end
    assert any("not proven yet" in remark for remark in proof.remarks)


def test_once_a_game_has_ended_its_draws_are_proven_for_the_public_too(tmp_path: Path) -> None:
    game = played(10_000, number=3)
    proof = prove(game.lines, all_notes(game), KEYS)
    assert proof.is_confirmed, proof.findings[:3]
    assert proof.drawn.proven >= 4 and not proof.drawn.unproven
    path = tmp_path / "public.zip"
    path.write_bytes(bundle(game.desk, GAME, full=False))
    public = prove_file(path, all_notes(game), KEYS)
    assert public.is_confirmed, public.findings[:3]
    drawn = sum(line.count(b'"fact":"WesterosCardDrawn"') for line in game.lines)
    assert public.drawn.proven == drawn >= 27  # three decks in rounds 2 to 10, and again for whatever was shuffled
    assert public.report is None


@pytest.mark.parametrize("full", [True, False])
def test_a_bundle_is_proven_without_a_server(full: bool, tmp_path: Path) -> None:
    path = tmp_path / "winter.zip"
    path.write_bytes(packed(full))
    proof = prove_file(path, all_notes(short()), KEYS)
    assert proof.is_confirmed, proof.findings
    assert (proof.full, proof.report is not None) == (full, full)


def test_the_same_game_gives_the_same_bundle() -> None:
    game = short()
    moved = desk_on(Store(fakeredis.FakeRedis()))
    import_game(moved.store, unpack(packed(True)).lines, None, unpack(packed(True)).kept)
    assert bundle(game.desk, GAME, full=True) == packed(True) == bundle(moved, GAME, full=True)


def test_a_bundle_goes_on_at_another_server() -> None:
    there = desk_on(Store(fakeredis.FakeRedis()), OTHER)
    import_game(there.store, unpack(packed(True)).lines)
    receipts, _ = go_on(there, 5, random.Random(7))
    kept = [*all_notes(short()), *notes(tuple(receipts), "new receipt")]
    proof = prove(list(export_game(there.store, GAME)), kept, (SIGNER.verifier, OTHER.verifier))
    assert proof.is_confirmed, proof.findings
    assert proof.evidence == len(kept)


# Changes in the file


@settings(max_examples=sized(30, 150), deadline=None)
@given(st.data())
def test_any_change_of_an_export_is_named(data: st.DataObject) -> None:
    lines = list(short().lines)
    index = data.draw(st.integers(0, len(lines) - 1))
    how = data.draw(st.sampled_from(["byte", "remove", "swap", "insert", "truncate"]))
    if how == "byte":
        lines[index] = _changed(lines[index], data, but=b"\n\r")
    elif how == "remove":
        del lines[index]
    elif how == "swap":
        other = data.draw(st.integers(0, len(lines) - 1).filter(lambda one: one != index))
        lines[index], lines[other] = lines[other], lines[index]
    elif how == "insert":
        lines.insert(index, lines[data.draw(st.integers(0, len(lines) - 1))])
    else:
        lines = lines[:index]
    proof = prove(lines, [], KEYS)
    assert not proof.is_confirmed
    assert all(one.detail for one in proof.findings)


def _changed(raw: bytes, data: st.DataObject, but: bytes = b"") -> bytes:
    at = data.draw(st.integers(0, len(raw) - 1).filter(lambda at: raw[at] not in but))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != raw[at] and value not in but))
    return raw[:at] + bytes([byte]) + raw[at + 1 :]


@pytest.mark.parametrize("full", [True, False])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_changed_byte_of_a_bundle_is_told(full: bool, data: st.DataObject, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.mktemp("bundle") / "winter.zip"
    path.write_bytes(_changed(packed(full), data))
    try:
        proof = prove_file(path, [], KEYS)
    except BundleDamaged:
        return
    # What says nothing, such as the date of a part, changes no part: that is told, but is no damage.
    assert not proof.is_confirmed or any("packed otherwise" in one for one in proof.remarks)


@settings(max_examples=sized(24, 150), deadline=None)
@given(data=st.data())
def test_any_changed_part_of_a_bundle_is_named_though_the_manifest_was_made_anew(
    data: st.DataObject, tmp_path_factory: Any
) -> None:
    full = data.draw(st.booleans())
    parts = dict(unpack(packed(full)).parts)
    name = data.draw(st.sampled_from(sorted(set(parts) - {MANIFEST, NOTE})))
    how = data.draw(st.sampled_from(["byte", "remove", "add", "truncate"]))
    if how == "byte":
        parts[name] = _changed(parts[name], data)
    elif how == "remove" and name != LEDGER:
        del parts[name]
    elif how == "add":
        parts[f"{name}.more"] = b"more"
    else:
        parts[name] = parts[name][: data.draw(st.integers(0, len(parts[name]) - 1))]
    path = tmp_path_factory.mktemp("bundle") / "winter.zip"
    path.write_bytes(pack(signed_anew(parts, None)))
    proof = prove_file(path, [], KEYS)
    assert not proof.is_confirmed
    path.write_bytes(pack(signed_anew(parts, OTHER)))
    assert "signature" in whats(prove_file(path, [], KEYS).findings)


def signed_anew(parts: dict[str, bytes], signer: Signer | None, **said: Any) -> dict[str, bytes]:
    """A manifest that fits the parts, signed anew, or with the old signature."""
    old = msgspec.structs.replace(msgspec.json.decode(parts[MANIFEST], type=Manifest), **said)
    listed = {name: body for name, body in parts.items() if name not in (MANIFEST, NOTE)}
    raw = encode(msgspec.structs.replace(old, parts=hashes(listed))) + b"\n"
    made = {**parts, MANIFEST: raw}
    if signer is not None:
        text = Checkpoint(origin(signer.name, GAME), old.entries, old.head).text() + manifest_line(raw)
        made[NOTE] = signer.sign(text).encode()
    return made


def test_a_bundle_signed_by_another_key_is_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "winter.zip"
    path.write_bytes(bundle(desk_with(short().desk.store, OTHER), GAME, full=True))
    assert prove_file(path).is_confirmed  # by the key that it names itself, which the remark says
    assert any(OTHER.verifier.text() in remark for remark in prove_file(path).remarks)
    found = prove_file(path, [], KEYS).findings
    assert [(one.what, one.name) for one in found] == [("signature", NOTE)]


def desk_with(store: Store, signer: Signer) -> Desk:
    return desk_on(store, signer)


# A forger who makes everything anew


def remade(lines: list[bytes]) -> list[bytes]:
    """An export whose entries are numbered, chained and counted anew, so that nothing of its form is wrong."""
    made: list[bytes] = []
    head, seq, submissions = GENESIS, 0, 0
    for raw in lines:
        line = msgspec.json.decode(raw, type=ExportLine)
        if isinstance(line, EntryLine):
            stored, seq = line.stored(), seq + 1
            told = msgspec.json.decode(stored.public)  # as plain data: what was forged need not be of any schema
            public = stored.public.replace(f'"prev":"{told["prev"]}"'.encode(), f'"prev":"{head}"'.encode())
            public = public.replace(b'"seq":%d,' % told["seq"], b'"seq":%d,' % seq, 1)
            head = chain.digest(head, public, stored.sealed)
            made.append(encode(EntryLine(msgspec.Raw(public), stored.sealed, head)) + b"\n")
        elif isinstance(line, EndLine):
            covered = hashlib.sha256(b"".join(made)).hexdigest()
            made.append(encode(EndLine(seq, submissions, head, covered)) + b"\n")
        else:
            submissions += isinstance(line, SubmissionLine)
            made.append(raw)
    return made


def test_what_was_not_changed_is_remade_as_it_was() -> None:
    assert remade(list(some(1))) == list(some(1))


@settings(max_examples=sized(40, 150), deadline=None)
@given(st.data())
def test_a_change_is_named_though_the_whole_chain_was_made_anew(data: st.DataObject) -> None:
    """Form and chain are right then; what is named is what the rules, or the submissions, say otherwise."""
    lines = list(some(data.draw(st.integers(1, 3))))
    kind = data.draw(st.sampled_from(["submission", "entry"]))
    own = [at for at, raw in enumerate(lines) if raw.startswith(b'{"line":"%s"' % kind.encode())]
    index = data.draw(st.sampled_from(own))
    how = data.draw(st.sampled_from(["remove", "swap", "insert", "change"]))
    if how == "remove":
        del lines[index]
    elif how == "swap":
        other = data.draw(st.sampled_from([at for at in own if at != index]))
        lines[index], lines[other] = lines[other], lines[index]
    elif how == "insert":
        lines.insert(data.draw(st.sampled_from(own)), lines[index])
    else:
        lines[index] = otherwise(lines[index])
    forged = remade(lines)
    if how == "remove" and kind == "entry" and index == own[-1]:
        assert prove(forged).is_confirmed  # a record that has not come to it yet; whoever has a checkpoint knows better
        return
    proof = prove(forged)
    assert not proof.is_confirmed
    assert all(one.detail for one in proof.findings)


def otherwise(raw: bytes) -> bytes:
    """An entry or a submission with the time of another."""
    at = raw.index(b'"at":"') + 6
    return raw[:at] + b"2024" + raw[at + 4 :]


@settings(max_examples=sized(8, 23), deadline=None)
@given(st.integers(1, 23))
def test_a_record_that_was_cut_short_and_closed_again_misses_what_was_signed(kept: int) -> None:
    game = short()
    cut = _cut(list(game.lines), kept)
    assert prove(cut).is_confirmed
    found = prove(cut, notes(game.checkpoints[kept - 1 :], "mine"), KEYS).findings
    assert len(found) == len(game.checkpoints) - kept + 1
    assert {(one.what, one.entry) for one in found} == {("checkpoint", kept + 1)}
    assert not prove(cut, notes(game.receipts[kept - 1 :], "mine"), KEYS).is_confirmed


def closed(made: list[bytes]) -> list[bytes]:
    """The lines with a last one that fits."""
    counts = [sum(raw.startswith(b'{"line":"%s"' % kind) for raw in made) for kind in (b"entry", b"submission")]
    head = [msgspec.json.decode(raw, type=EntryLine).digest for raw in made if raw.startswith(b'{"line":"entry"')]
    covered = hashlib.sha256(b"".join(made)).hexdigest()
    return [*made, encode(EndLine(counts[0], counts[1], head[-1] if head else GENESIS, covered)) + b"\n"]


def test_a_record_without_its_submissions_says_what_is_missing() -> None:
    bare = closed([raw for raw in short().lines[:-1] if not raw.startswith(b'{"line":"submission"')])
    found = prove(bare).findings
    assert [(one.what, one.entry) for one in found] == [("inbox", 1)]
    assert "all submissions are missing" in found[0].detail
    some_left = closed([raw for raw in short().lines[:-1] if not raw.startswith(b'{"line":"submission","inbox":"7-0"')])
    found = prove(some_left).findings
    assert [(one.what, one.entry) for one in found] == [("inbox", 7)]
    assert "submission 7-0" in found[0].detail and "the others are 1 to 6, 8 to 25" in found[0].detail


# Its name


def renamed(lines: tuple[bytes, ...], **said: Any) -> list[bytes]:
    header = msgspec.structs.replace(msgspec.json.decode(lines[0], type=Header), **said)
    return closed([encode(header) + b"\n", *lines[1:-1]])


@pytest.mark.parametrize("full", [True, False])
def test_a_record_under_another_name_is_named(full: bool, tmp_path: Path) -> None:
    lines = tuple(export_game(short().desk.store, GAME, full=full))
    for said in ({"game": "summer"}, {"copy_of": "summer"}, {"copy_of": GAME}):
        forged = renamed(lines, **said)
        found = prove(forged).findings
        assert found and "line 1" in str(found[0]).lower(), found
        with pytest.raises(FileDamaged):
            import_game(Store(fakeredis.FakeRedis()), forged)
    parts = dict(unpack(packed(full)).parts)
    parts[LEDGER] = b"".join(renamed(tuple(unpack(packed(full)).lines), game="summer"))
    path = tmp_path / "summer.zip"
    path.write_bytes(pack(signed_anew(parts, SIGNER, game="summer")))
    assert not prove_file(path).is_confirmed


EYES: dict[str, dict[str, Any]] = {
    "full": {"full": True},
    "public": {"full": False},
    "stark": {"full": False, "player": "stark", "seats": ("alice",)},
    "arbiter": {"full": False, "privileged": True, "seats": tuple(SEATS)},
}
FORGED: dict[str, tuple[Any, ...]] = {
    "game": ("summer",),
    "rules": ("chess",),
    "full": (True, False),
    "player": (None, "stark", "lannister"),
    "privileged": (True, False),
    "copy_of": ("", GAME, "summer"),
    "origin": (Origin(game="other", version=3, digest="ab" * 32, purpose="study", hidden=True),),
    "version": (msgspec.UNSET, "", "another"),
    "created": (msgspec.UNSET, "2024-01-01T00:00:00.000000Z"),
    "pepper": (msgspec.UNSET, None, "00" * 32),
    "format": ("rookery-game/1", "rookery-game/2", "rookery-game/3"),
}


def in_format(number: int, lines: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """An export as its format writes it: the first one said more in its header."""
    if number == 2:
        return lines
    first = next(codec.entry(line.stored()) for line in parse(lines) if isinstance(line, EntryLine))
    more = {"created": first.at, "version": first.engine.partition("/")[2], "pepper": None}
    return tuple(renamed(lines, format="rookery-game/1", **more))


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("number", [1, 2])
def test_whatever_a_header_says_otherwise_is_named_though_all_after_it_was_made_anew(number: int, eyes: str) -> None:
    lines = in_format(number, tuple(export_game(short().desk.store, GAME, **EYES[eyes])))
    assert prove(lines).is_confirmed, prove(lines).findings
    honest = msgspec.json.decode(lines[0], type=Header)
    assert {*FORGED} == {*Header.__struct_fields__}
    for field, values in FORGED.items():
        for value in values:
            if value == getattr(honest, field):
                continue
            forged = renamed(lines, **{field: value})
            found = prove(forged).findings
            assert found, (field, value)
            if eyes == "full":
                with pytest.raises(FileDamaged):
                    import_game(Store(fakeredis.FakeRedis()), forged)


def test_a_file_that_says_it_is_redacted_is_ruled_on_again_where_its_secret_lies_open() -> None:
    """The whole record is there, and one entry of it was forged, with the chain made anew."""
    lines = renamed(short().lines, full=False)
    at = next(index for index, raw in enumerate(lines) if b'"fact":"RoundBegan"' in raw)
    lines[at] = otherwise(lines[at])
    proof = prove(remade(lines))
    assert proof.report is not None and proof.report.disagreement is not None
    assert proof.report.disagreement.seq == sum(raw.startswith(b'{"line":"entry"') for raw in lines[: at + 1])


MANIFESTED: dict[str, tuple[Any, ...]] = {
    "format": ("rookery-bundle/2",),
    "game": ("summer",),
    "rules": ("chess",),
    "engine": ("thrones/another",),
    "full": (True, False),
    "player": (None, "stark", "lannister"),
    "entries": (24, 26),
    "head": ("ab" * 32,),
    "key": (OTHER.verifier.text(), "nonsense"),
    "charter": (msgspec.Raw(b"null"), msgspec.Raw(b"{}")),
    "origin": FORGED["origin"],
}


@pytest.mark.parametrize("full", [True, False])
def test_whatever_a_manifest_says_otherwise_is_named_though_nobody_signed_it(full: bool, tmp_path: Path) -> None:
    parts = {name: body for name, body in unpack(packed(full)).parts.items() if name != NOTE}
    path = tmp_path / "winter.zip"
    path.write_bytes(pack(signed_anew(parts, None, key="")))
    honest = prove_file(path)
    assert honest.is_confirmed, honest.findings
    assert any("not signed" in one for one in honest.remarks)
    said = msgspec.json.decode(unpack(path.read_bytes()).parts[MANIFEST], type=Manifest)
    assert {*MANIFESTED, "parts"} == {*Manifest.__struct_fields__}
    for field, values in MANIFESTED.items():
        for value in values:
            if value == getattr(said, field):
                continue
            path.write_bytes(pack(signed_anew(parts, None, **{"key": "", field: value})))
            if field == "format":
                with pytest.raises(BundleDamaged):
                    prove_file(path)
                continue
            assert prove_file(path).findings, (field, value)


@pytest.mark.parametrize(
    "how", ["another signature", "a line twice", "number", "spelling", "bytes", "nothing", "origin"]
)
def test_the_note_of_a_bundle_has_its_one_signature_in_one_spelling(how: str, tmp_path: Path) -> None:
    parts = dict(unpack(packed(True)).parts)
    note = parts[NOTE]
    last = note.splitlines(keepends=True)[-1]
    assert all(one.part != NOTE for one in unpack(packed(True)).manifest.parts)
    text = note.partition(b"\n\n")[0] + b"\n"
    body = Checkpoint("", 0, "").text().encode() if how == "nothing" else text
    parts[NOTE] = {
        "another signature": note + OTHER.sign("x\n").splitlines()[-1].encode() + b"\n",
        "a line twice": note + last,
        "number": SIGNER.sign(text.decode().replace("\n25\n", "\n025\n")).encode(),
        "spelling": note.removesuffix(b"\n") + b"  \n",
        "bytes": note.replace(b"\n\n", b"\n\n\xff\n"),
        "nothing": body,
        "origin": SIGNER.sign(text.decode().replace(f"/{GAME}\n", "/summer\n")).encode(),
    }[how]
    assert parts[NOTE] != note
    path = tmp_path / "winter.zip"
    path.write_bytes(pack(parts))
    found = prove_file(path, [], KEYS).findings
    assert [(one.what, one.name) for one in found] == [("signature", NOTE)], found


def test_a_copy_says_of_which_game_it_is_one() -> None:
    store = Store(fakeredis.FakeRedis())
    import_game(store, short().lines, "copy")
    lines = list(export_game(store, "copy"))
    proof = prove(lines, all_notes(short()), KEYS)
    assert proof.is_confirmed and proof.game == "copy", proof.findings
    assert "This is a copy of game winter under the id copy." in proof.remarks
    import_game(store, lines, "copy-of-copy")
    assert any("copy of game winter" in one for one in prove(list(export_game(store, "copy-of-copy"))).remarks)
    # Back under its own name it is no copy.
    other = Store(fakeredis.FakeRedis())
    import_game(other, lines, GAME)
    assert tuple(export_game(other, GAME)) == short().lines


# Another history


def test_a_chain_made_anew_over_another_ending_meets_the_checkpoints() -> None:
    """The record is true in itself; only what players kept shows that it is another one."""
    game = short()
    kept = 12
    other = desk_on(Store(fakeredis.FakeRedis()))
    lines = list(game.lines)
    import_game(other.store, _cut(lines, kept))
    go_on(other, 20, random.Random(99))
    forged = list(export_game(other.store, GAME))
    assert prove(forged).is_confirmed
    book = book_of(forged)
    for number, note in enumerate(game.checkpoints, 2):
        found = weigh([Note("mine", note)], KEYS, book).findings
        assert whats(found) == (set() if number <= kept else {"checkpoint"}), number
        assert all(one.entry == number for one in found)
    for number, note in enumerate(game.receipts, 2):
        found = weigh([Note("mine", note)], KEYS, book).findings
        assert whats(found) == (set() if number <= kept else {"receipt"}), number


def _cut(lines: list[bytes], upto: int) -> list[bytes]:
    """A true export of the first entries."""
    store = Store(fakeredis.FakeRedis())
    entries = [line.stored() for line in parse(lines) if isinstance(line, EntryLine)][:upto]
    inbox = [line.read() for line in parse(lines) if isinstance(line, SubmissionLine)][:upto]
    import_game(store, lines, "whole")
    pepper = store.pepper("whole").hex()
    fields = {"rules": "thrones", "version": THRONES.version, "created": inbox[0].at, "pepper": pepper}
    restore(store, GAME, {**fields, "cursor": str(upto)}, entries, inbox)
    return list(export_game(store, GAME))


@settings(max_examples=sized(5, 30), deadline=None)
@given(st.integers(2, 20), st.integers(1, 1000))
def test_two_histories_shown_to_two_players_are_named(fork: int, number: int) -> None:
    game = short()
    sides = []
    for turn in range(2):
        desk = desk_on(Store(fakeredis.FakeRedis()))
        import_game(desk.store, _cut(list(game.lines), fork))
        sides.append((desk, *go_on(desk, 4, random.Random(number * 2 + turn))))
    (left, left_receipts, left_points), (right, right_receipts, right_points) = sides
    records = [list(export_game(desk.store, GAME)) for desk in (left, right)]
    differ = [i for i, (one, other) in enumerate(zip(left_points, right_points, strict=False)) if one != other]
    if not differ:
        return  # chance made the same answers
    first = differ[0]
    # Each record is true in itself, and each player's notes fit the record that he was shown.
    assert all(prove(record).is_confirmed for record in records)
    assert prove(records[0], notes(tuple(left_points), "left"), KEYS).is_confirmed
    # The other's notes do not, whatever the record is.
    assert "checkpoint" in whats(prove(records[0], notes(tuple(right_points[first:]), "right"), KEYS).findings)
    assert "receipt" in whats(prove(records[1], notes(tuple(left_receipts[first:]), "left"), KEYS).findings)
    # And the notes alone, without any record, say that there are two.
    alone = weigh([Note("left", left_points[first]), Note("right", right_points[first])], KEYS, None)
    assert whats(alone.findings) == {"two histories"}
    sent = weigh([Note("left", left_receipts[first]), Note("right", right_receipts[first])], KEYS, None)
    assert whats(sent.findings) == {"two histories"}


def test_a_submission_that_was_acknowledged_and_lost_is_missed() -> None:
    game = short()
    store = Store(fakeredis.FakeRedis())
    import_game(store, game.lines)
    desk = desk_on(store)
    owed = THRONES.decisions(desk.line(GAME).state)[0]
    seat = next(name for name, house in SEATS.items() if house == owed.player)
    note = desk.submit(GAME, Caller("seat", seat), encode(owed.sample(lambda bound: 0)), key="late").note
    waiting = prove(list(export_game(store, GAME)), [Note("mine", note)], KEYS)
    assert waiting.is_confirmed and any("waits for a ruling" in remark for remark in waiting.remarks)
    lost = prove(game.lines, [Note("mine", note)], KEYS)
    assert [str(one) for one in lost.findings] == ["mine: receipt: submission 26-0 is not in the inbox"]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_note_that_was_changed_or_signed_by_another_does_not_count(data: st.DataObject) -> None:
    game = short()
    text = data.draw(st.sampled_from([*game.receipts, *game.checkpoints]))
    head = text.partition("\n\n")[0].encode()
    changed = (_changed(head, data, but=b"\n") + text.encode()[len(head) :]).decode(errors="replace")
    assert whats(weigh([Note("mine", changed)], KEYS, book()).findings) == {"signature"}
    forged = Note("mine", OTHER.sign(text.partition("\n\n")[0] + "\n"))
    assert whats(weigh([forged], KEYS, book()).findings) == {"signature"}
    assert read_checkpoint(forged.text, OTHER.verifier)


# Draws


def test_decks_that_do_not_follow_from_the_seed_are_named_card_by_card() -> None:
    """The operator stacks a deck and makes everything anew: the rules alone cannot tell, the open seed does."""
    desk = desk_on(Store(fakeredis.FakeRedis()))
    edition = THRONES.rules_of(short().desk.line(GAME).state).edition
    deck, cards = next(iter(edition.westeros_decks.items()))
    desk.create(
        edition="second-edition",
        players=3,
        seats=SEATS,
        game=GAME,
        seed="5e" * 32,
        key="x",
        decks={deck: tuple(sorted(cards))},
    )
    go_on(desk, 10_000, random.Random(5))
    full = prove(list(export_game(desk.store, GAME)))
    assert full.drawn.imposed == 1
    public = prove(list(export_game(desk.store, GAME, full=False)))
    assert whats(public.findings) == {"draw"}
    assert f"of deck {deck} that follows from the seed" in public.findings[0].detail


def test_draws_are_proven_across_a_rewind_that_redraws() -> None:
    desk = new_desk()
    go_on(desk, 40, random.Random(4))
    back = Rewind(to=20, reason="a wrong ruling", seed="77" * 32, by="maester")
    desk.submit(GAME, Caller("operator"), encode(back), cause="arbiter", key="back")
    go_on(desk, 10_000, random.Random(5))
    lines = list(export_game(desk.store, GAME))
    proof = prove(lines)
    assert proof.is_confirmed, proof.findings[:3]
    assert sum(b"DeckRedrawn" in line for line in lines) == 1
    assert proof.drawn.proven >= 8 and not proof.drawn.unproven  # both seeds are open
    public = prove(list(export_game(desk.store, GAME, full=False)))
    assert public.is_confirmed and public.drawn.proven, public.findings


def test_a_commitment_to_another_seed_is_named() -> None:
    game = short()
    lines = list(parse(game.lines))
    entries = [line.stored() for line in lines if isinstance(line, EntryLine)]
    public = entries[0].public
    at = public.index(b'"commitment":"', public.index(b"SeedCommitted")) + len(b'"commitment":"')
    forged = Stored(public[:at] + b"00" * 32 + public[at + 64 :], entries[0].sealed, "")
    proof = prove(_rewritten(game.lines, forged))
    assert "draw" in whats(proof.findings) and not proof.is_confirmed


def _rewritten(lines: tuple[bytes, ...], first: Stored) -> list[bytes]:
    """An export whose first entry was forged and whose chain was made anew."""
    made: list[bytes] = []
    head = GENESIS
    for line in parse(lines):
        if isinstance(line, EntryLine):
            stored = first if head == GENESIS else line.stored()
            entry = codec.entry(stored)
            public = stored.public.replace(entry.prev.encode(), head.encode()) if head != GENESIS else stored.public
            head = chain.digest(head, public, stored.sealed)
            made.append(encode(EntryLine(msgspec.Raw(public), stored.sealed, head)) + b"\n")
        elif isinstance(line, EndLine):
            covered = hashlib.sha256(b"".join(made)).hexdigest()
            made.append(encode(msgspec.structs.replace(line, head=head, sha256=covered)) + b"\n")
        else:
            made.append(encode(line) + b"\n")
    return made


# The store


STREAMS = ("ledger", "inbox", "checkpoints")
OPERATIONAL = {b"fence", b"unreleased", b"bytes", b"version"}
"""Fields of a game that follow from nothing and of which only the form is checked; docs/record.md says of each what its
change can do. ``most``, ``parked`` and ``lost`` are such, too, and this game has none of them."""


def stored_whole() -> Store:
    """The game in a store, with all the notes that were signed for it."""
    store = Store(fakeredis.FakeRedis())
    import_game(store, short().lines, None, unpack(packed(True)).kept)
    store.client.hset(game_key(GAME, "game"), mapping={"fence": 3, "bytes": 1000})
    return store


def named(store: Store) -> str:
    """What verification finds; never an exception, and never nothing."""
    report = verify_store(store, JUDGE, GAME, keys=KEYS)
    found = report.disagreement
    assert found is not None
    assert found.detail and (found.seq or found.place != "file"), found
    return str(found)


def rewrite(store: Store, what: str, rows: list[tuple[bytes, list[tuple[bytes, bytes]]]]) -> None:
    """A stream of these elements, each a list of fields: one may be there twice."""
    key = game_key(GAME, what)
    store.client.delete(key)
    for name, fields in rows:
        store.client.execute_command("XADD", key, name, *(part for pair in fields for part in pair))


def rows_of(store: Store, what: str) -> list[tuple[bytes, list[tuple[bytes, bytes]]]]:
    return [(name, list(fields.items())) for name, fields in store.client.xrange(game_key(GAME, what))]


def test_the_game_as_it_was_stored_is_confirmed() -> None:
    store = stored_whole()
    assert verify_store(store, JUDGE, GAME, keys=KEYS).disagreement is None
    assert store.record(GAME).parked is None


@settings(max_examples=sized(27, 150), deadline=None)
@given(st.data())
def test_any_change_in_the_store_is_named(data: st.DataObject) -> None:
    store = stored_whole()
    what = data.draw(st.sampled_from(STREAMS))
    rows = rows_of(store, what)
    before = copy.deepcopy(rows)
    index = data.draw(st.integers(0, len(rows) - 1))
    how = data.draw(st.sampled_from(["byte", "name", "field", "twice", "remove", "swap", "insert", "truncate", "id"]))
    name, fields = rows[index]
    at = data.draw(st.integers(0, len(fields) - 1))
    field, value = fields[at]
    if how == "byte":
        fields[at] = (field, _changed(value, data))
    elif how == "name":
        fields[at] = (_changed(field, data), value)
    elif how == "field":
        fields.insert(at, (b"more", b"bytes"))
    elif how == "twice":
        fields.insert(at, (field, data.draw(st.sampled_from([value, b"another"]))))
    elif how == "remove":
        del rows[index]
    elif how == "swap":
        other = data.draw(st.integers(0, len(rows) - 1).filter(lambda one: one != index))
        rows[index] = (name, before[other][1])
        rows[other] = (rows[other][0], before[index][1])
    elif how == "insert":
        other = data.draw(st.integers(0, len(rows) - 2))  # behind the last it would be one more that waits
        rows.insert(other, (b"", before[index][1]))
        rows = [(b"%d-0" % number, fields) for number, (_, fields) in enumerate(rows, 1)]
    elif how == "id":
        rows.insert(index + 1, (name.replace(b"-0", b"-1"), before[index][1]))
    else:
        rows = rows[:index]
    rewrite(store, what, rows)
    named(store)


@settings(max_examples=sized(20, 100), deadline=None)
@given(st.data())
def test_any_change_beside_the_streams_is_named(data: st.DataObject) -> None:
    store = stored_whole()
    key = game_key(GAME, data.draw(st.sampled_from(["game", "keys"])))
    fields = sorted(store.client.hgetall(key).items())
    field, value = data.draw(st.sampled_from([one for one in fields if one[0] not in OPERATIONAL]))
    how = data.draw(st.sampled_from(["byte", "name", "remove", "more", "empty"]))
    if how == "byte":
        store.client.hset(key, field, _changed(value, data))
    elif how == "name":
        store.client.hdel(key, field)
        store.client.hset(key, _changed(field, data), value)
    elif how == "remove":
        store.client.hdel(key, field)
    elif how == "empty":
        store.client.hset(key, field, b"")
    else:
        store.client.hset(key, field + b"x", value)
    named(store)


def test_every_kind_of_mark_and_number_has_a_form() -> None:
    for field in ("fence", "unreleased", "bytes", "most", "parked", "lost", "cursor", "noted", "version"):
        for value in (b"\xff\xfe", b"{}", b"-1"):
            store = stored_whole()
            store.client.hset(game_key(GAME, "game"), field, value)
            named(store)


def test_bytes_all_over_the_store_are_bound() -> None:
    """One changed byte at places spread over every element of every stream."""
    chance = random.Random(6)
    clean = stored_whole()
    for what in STREAMS:
        rows = rows_of(clean, what)
        for index in range(0, len(rows), 12):
            for at, (field, value) in enumerate(rows[index][1]):
                for place in {0, len(value) - 1, chance.randrange(len(value))}:
                    store = stored_whole()
                    changed = value[:place] + bytes([value[place] ^ chance.choice((1, 32, 128))]) + value[place + 1 :]
                    rows_now = copy.deepcopy(rows)
                    rows_now[index][1][at] = (field, changed)
                    rewrite(store, what, rows_now)
                    named(store)


def test_every_field_that_a_script_writes_into_a_game_is_looked_at() -> None:
    text = "\n".join(value for name, value in vars(scripts).items() if name.isupper() and isinstance(value, str))
    written = set(re.findall(r"redis\.call\('H(?:SET|SETNX|INCRBY)', (?:KEYS\[1\]|game), '([a-z-]+)'", text))
    assert {"cursor", "noted", "parked", "lost", "waits", "fence", "bytes"} <= written <= set(inspection.FORMS)


@pytest.mark.parametrize("how", ["byte", "remove"])
@pytest.mark.parametrize("full", [True, False])
def test_no_line_of_a_game_whose_inbox_was_changed_is_given_out(full: bool, how: str) -> None:
    store = stored_whole()
    rows = rows_of(store, "inbox")
    if how == "remove":
        del rows[9]
    else:
        field, value = rows[9][1][0]
        rows[9][1][0] = (field, value.replace(b'"key":"', b'"key":"x', 1))
    rewrite(store, "inbox", rows)
    with pytest.raises(RecordDamaged, match="Entry 10: submission 10-0"):
        next(export_game(store, GAME, full=full))
    assert store.record(GAME).parked is not None
    with pytest.raises(RecordDamaged):
        store.unpark(GAME)


@pytest.mark.parametrize("key", ["inbox", "ledger", "keys", "checkpoints"])
def test_a_part_of_a_game_that_is_gone_is_named(key: str) -> None:
    store = stored_whole()
    store.client.delete(game_key(GAME, key))
    named(store)


def test_a_chain_made_anew_in_the_store_meets_the_checkpoints_kept_there() -> None:
    """Whoever gets at the store and has no key can play another game there, but not sign it."""
    game = short()
    other = desk_on(Store(fakeredis.FakeRedis()), OTHER)
    import_game(other.store, _cut(list(game.lines), 12))
    go_on(other, 20, random.Random(99))
    for kept in game.desk.store.checkpoints(GAME):
        other.store.client.xadd("kept", {"note": kept.note}, id=f"{kept.size}-0")
    other.store.client.rename("kept", game_key(GAME, "checkpoints"))
    assert "checkpoint 13-0" in named(other.store)
    kept = stored_notes(other.store)
    proof = prove(list(export_game(other.store, GAME)), [], KEYS, None, kept)
    assert {(one.what, one.entry) for one in proof.findings} == {("checkpoint", size) for size in range(13, 26)}


def stored_notes(store: Store) -> list[Note]:
    return [Note(f"checkpoint {one.size}", one.note) for one in store.checkpoints(GAME)]


@settings(max_examples=sized(12, 80), deadline=None)
@given(st.data())
def test_any_change_of_a_kept_checkpoint_is_named(data: st.DataObject) -> None:
    notes_there = stored_notes(short().desk.store)
    index = data.draw(st.integers(0, len(notes_there) - 1))
    text = notes_there[index].text.encode()
    body = text.partition(b"\n\n")[0]
    changed = _changed(body, data, but=b"\n") + text[len(body) :]
    notes_there[index] = Note(notes_there[index].name, changed.decode(errors="replace"))
    proof = prove(short().lines, [], KEYS, None, notes_there)
    assert [(one.what, one.name) for one in proof.findings] == [("signature", notes_there[index].name)]


def test_checkpoints_are_kept_with_the_receipts_and_never_replaced() -> None:
    game = short()
    store = Store(fakeredis.FakeRedis())
    import_game(store, game.lines)
    desk = desk_on(store)
    assert list(store.checkpoints(GAME)) == []
    owed = THRONES.decisions(desk.line(GAME).state)[0]
    caller = Caller("seat", next(name for name, house in SEATS.items() if house == owed.player))
    receipt = desk.submit(GAME, caller, encode(owed.default), key="once")
    version, root = store.head(GAME)
    first = list(store.checkpoints(GAME))
    assert [one.size for one in first] == [version]
    assert read_checkpoint(first[0].note, SIGNER.verifier).root == root
    assert read_checkpoint(receipt.note, SIGNER.verifier) == read_checkpoint(first[0].note, SIGNER.verifier)
    for size in (version, version - 1, 1):
        store.keep_checkpoint(GAME, Kept(size, "another"))
    assert desk.submit(GAME, caller, encode(owed.default), key="once").again
    assert list(store.checkpoints(GAME)) == first
    store.keep_checkpoint(GAME, Kept(version + 1, "later"))
    assert [one.size for one in store.checkpoints(GAME)] == [version, version + 1]
    with pytest.raises(GameUnknown):
        store.keep_checkpoint("nobody", Kept(1, "x"))


def test_checkpoints_move_along_and_are_told_when_their_key_is_missing(tmp_path: Path) -> None:
    found = unpack(packed(True))
    assert [one.size for one in found.kept] == list(range(1, 26))
    there = desk_on(Store(fakeredis.FakeRedis()), OTHER)
    import_game(there.store, found.lines, None, found.kept)
    go_on(there, 3, random.Random(8))
    path = tmp_path / "moved.zip"
    path.write_bytes(bundle(there, GAME, full=True))
    assert [one.size for one in unpack(path.read_bytes()).kept] == list(range(1, 29))
    both = prove_file(path, [], (SIGNER.verifier, OTHER.verifier))
    assert both.is_confirmed and both.evidence == 28, both.findings
    one = prove_file(path, [], (OTHER.verifier,))
    assert one.is_confirmed and one.evidence == 3, one.findings
    assert any("25 checkpoints were signed with a key that is not given: rookery.test" in told for told in one.remarks)


def test_checkpoints_of_another_record_are_not_taken_in() -> None:
    parts = dict(unpack(packed(True)).parts)
    other = SIGNER.checkpoint(GAME, 3, "ab" * 32)
    for notes_text, why in ((other, "does not begin with the 3 entries"), ("no note", "not a checkpoint")):
        parts[CHECKPOINTS] = notes_text.encode()
        with pytest.raises(BundleDamaged, match=why):
            assert unpack(pack(signed_anew(parts, SIGNER))).kept


def test_a_file_without_its_end_is_named() -> None:
    found = prove(short().lines[:-1]).findings
    assert "the file ends before its end" in str(found[0])
