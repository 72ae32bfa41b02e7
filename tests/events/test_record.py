"""The record: sealed parts, redaction, tampering, verification, export and import."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events import chain, codec
from events.chain import Chain
from events.envelope import GENESIS, Entry, Part, SealedFact, Stored, encode, number_of
from events.errors import FileDamaged, GameExists, RecordDamaged
from events.export import export_game, import_game
from events.keys import game_key
from events.ruling import Judge
from events.sealing import Sealer, commitment
from events.store import Store
from events.upcasters import Upcasters
from events.verify import Report, verify, verify_chain, verify_export, verify_store
from tests import toy
from tests.recording import JUDGE, PEPPER, SEATS, fake_store, new_game, played, submit
from worker.adjudicate import adjudicate

GAME = "toy-1"


def _game() -> tuple[Store, list[Stored], list[bytes]]:
    """A played game with two submissions that nobody has ruled on yet."""
    store = fake_store()
    entries = played(store, rounds=2)
    submit(store, toy.Bid(by="red", coins=1), "seat-1", key="late")
    submit(store, toy.Keep(by="blue", keep=True), "seat-3")
    return store, entries, list(export_game(store, GAME))


STORE, ENTRIES, LINES = _game()
FIRST_ENTRY_LINE = next(index for index, line in enumerate(LINES) if line.startswith(b'{"line":"entry"'))


def _entry(stored: Stored) -> Entry:
    return codec.entry(stored)


# Sealed parts


def test_ruling_again_gives_the_same_bytes() -> None:
    other = fake_store()
    assert played(other, rounds=2) == ENTRIES


def test_salts_differ_by_place_body_and_history() -> None:
    def salt(prev: str, seq: int, body: bytes, before: int = 0) -> str:
        sealer = Sealer(PEPPER, prev, seq)
        for _ in range(before):
            sealer.seal("fact", (), b"0")
        sealer.seal("fact", (), body)
        return sealer.parts[-1].salt

    salts = [
        salt(GENESIS, 1, b"1"),
        salt(GENESIS, 2, b"1"),
        salt("1" * 64, 1, b"1"),
        salt(GENESIS, 1, b"2"),
        salt(GENESIS, 1, b"1", before=1),
    ]
    assert len(set(salts)) == 5
    assert salt(GENESIS, 1, b"1") == salts[0]


def test_the_public_part_says_nothing_of_a_secret() -> None:
    """Twin games that differ in one bid, of which only commitments and digests tell."""
    twins = []
    for coins in (1, 2):
        store = fake_store()
        new_game(store)
        submit(store, toy.Bid(by="red", coins=coins), "seat-1")
        submit(store, toy.Bid(by="red", coins=900 + coins), "seat-1")
        adjudicate(store, JUDGE, GAME)
        twins.append([_without_digests(_entry(codec.redact(one, "blue"))) for one in store.entries(GAME)])
    assert twins[0] == twins[1]


def _without_digests(entry: Entry) -> bytes:
    document = msgspec.json.decode(encode(entry))

    def blank(value: object) -> object:
        if isinstance(value, dict):
            return {key: blank(one) for key, one in value.items() if key not in ("commitment", "hidden", "prev")}
        return [blank(one) for one in value] if isinstance(value, list) else value

    return encode(blank(document))


def test_a_commitment_cannot_be_guessed_from_its_body() -> None:
    stored = ENTRIES[1]
    part = stored.sealed[0]
    hidden = codec.redact(stored, "nobody").sealed[0]
    assert not hidden.is_open and not hidden.salt
    assert commitment(b"", bytes(part.body)) != part.commitment
    assert commitment(bytes(32), bytes(part.body)) != part.commitment


# Redaction


@pytest.mark.parametrize("player", [None, "red", "green", "blue"])
def test_a_reader_gets_his_parts_with_salt_and_only_them(player: str | None) -> None:
    opened = 0
    for stored in ENTRIES:
        shown = codec.redact(stored, player)
        assert (shown.public, shown.digest) == (stored.public, stored.digest)
        for ours, theirs in zip(stored.sealed, shown.sealed, strict=True):
            assert theirs.is_open == (player in ours.audience)
            assert theirs == (ours if theirs.is_open else Part(ours.audience, ours.commitment))
            opened += theirs.is_open
    assert bool(opened) == (player is not None)
    assert chain.check([codec.redact(stored, player) for stored in ENTRIES]) is None


def test_a_privilege_opens_what_is_anybodys_and_not_what_is_nobodys() -> None:
    opened = 0
    for stored in ENTRIES:
        shown = codec.redact(stored, None, privileged=True)
        for part in shown.sealed:
            assert part.is_open == bool(part.audience)
            opened += part.is_open
        assert PEPPER.hex().encode() not in codec.write_parts(shown.sealed)
    assert opened


def test_facts_of_a_redacted_entry_are_facts_and_placeholders() -> None:
    mine = next(
        one for one in ENTRIES if any(seal.of == "fact" and "red" in seal.audience for seal in _entry(one).sealed)
    )
    ours = JUDGE.codec.facts(codec.redact(mine, "red"))
    theirs = JUDGE.codec.facts(codec.redact(mine, "green"))
    closed = [fact for fact in theirs if isinstance(fact, SealedFact)]
    assert closed and len(ours) == len(theirs)
    assert len([fact for fact in ours if isinstance(fact, SealedFact)]) < len(closed)


@pytest.mark.parametrize("player", [None, "red"])
def test_a_redacted_export_holds_no_secret_of_others_and_its_chain_verifies(player: str | None) -> None:
    seats = {seat for seat, one in SEATS.items() if one == player}
    lines = list(export_game(STORE, GAME, full=False, player=player, seats=seats))
    assert verify_chain(lines) is None
    text = b"".join(lines)
    assert PEPPER.hex().encode() not in text
    closed = [part for one in ENTRIES for part in one.sealed if player not in part.audience]
    assert closed and not any(part.salt.encode() in text for part in closed)
    with pytest.raises(FileDamaged, match="redacted"):
        import_game(fake_store(), lines)


# Verification


def test_an_honest_record_is_confirmed() -> None:
    for report in (verify_store(STORE, JUDGE, GAME), verify_export(JUDGE, LINES), verify(JUDGE, ENTRIES)):
        assert report.is_confirmed, report.disagreement
        assert report.entries == len(ENTRIES) and report.facts > 0 and report.head == ENTRIES[-1].digest


def _rechained(entries: list[Stored], pepper: bytes = PEPPER) -> list[Stored]:
    """What a forger who holds all secrets would write: every digest computed anew."""
    head = GENESIS
    found = []
    for stored in entries:
        public = encode(msgspec.structs.replace(_entry(stored), prev=head))
        digest = chain.digest(head, public, stored.sealed)
        found.append(Stored(public, stored.sealed, digest))
        head = digest
    return found


Forgery = Callable[[Stored], Stored]


def _forged_fact(stored: Stored) -> Stored:
    entry = _entry(stored)
    facts = tuple(
        msgspec.Raw(bytes(raw).replace(b'"by":3', b'"by":4').replace(b'"keep":true', b'"keep":false'))
        for raw in entry.facts
    )
    return Stored(encode(msgspec.structs.replace(entry, facts=facts)), stored.sealed, "")


def _dropped_fact(stored: Stored) -> Stored:
    entry = _entry(stored)
    return Stored(encode(msgspec.structs.replace(entry, facts=entry.facts[:-1])), stored.sealed, "")


def _added_fact(stored: Stored) -> Stored:
    entry = _entry(stored)
    gift = msgspec.Raw(encode(toy.CoinsChanged(player="red", by=1)))
    return Stored(encode(msgspec.structs.replace(entry, facts=(*entry.facts, gift))), stored.sealed, "")


def _forged_state(stored: Stored) -> Stored:
    entry = _entry(stored)
    state = msgspec.structs.replace(entry.state, public="0" * 64)
    return Stored(encode(msgspec.structs.replace(entry, state=state)), stored.sealed, "")


def _forged_time(stored: Stored) -> Stored:
    return Stored(encode(msgspec.structs.replace(_entry(stored), at="2025-01-01T12:00:01.000000Z")), stored.sealed, "")


@pytest.mark.parametrize("forge", [_forged_fact, _dropped_fact, _added_fact, _forged_state])
@pytest.mark.parametrize("seq", range(1, len(ENTRIES) + 1))
def test_a_forged_entry_is_named_though_the_whole_chain_was_computed_anew(forge: Forgery, seq: int) -> None:
    forged = [forge(one) if _entry(one).seq == seq else one for one in ENTRIES]
    if forged[seq - 1].public == ENTRIES[seq - 1].public or len(_entry(ENTRIES[seq - 1]).facts) < 1 <= (
        forge is _dropped_fact
    ):
        return  # nothing to forge here
    rewritten = _rechained(forged)
    assert chain.check(rewritten) is None
    report = verify(JUDGE, rewritten)
    assert report.disagreement is not None and report.disagreement.seq == seq


def test_a_forged_sealed_fact_is_named_though_salts_and_state_digests_were_made_anew() -> None:
    """The forger has the pepper: he changes a sealed bid and makes commitment, digests of state and chain anew."""
    seq, index = next(
        (_entry(one).seq, number)
        for one in ENTRIES
        for number, seal in enumerate(_entry(one).sealed)
        if seal.of == "fact" and b'"AnswerSealed"' in bytes(one.sealed[number].body)
    )
    entries = _rewritten_bid(seq, index)
    assert chain.check(entries) is None
    report = verify(JUDGE, entries)
    assert report.disagreement is not None and report.disagreement.seq == seq
    assert report.disagreement.what.startswith("fact")


def _rewritten_bid(seq: int, index: int) -> list[Stored]:
    line = JUDGE.begin()
    found: list[Stored] = []
    for stored in ENTRIES:
        entry = msgspec.structs.replace(_entry(stored), prev=line.head)
        parts = list(stored.sealed)
        raws = [bytes(raw) for raw in entry.facts]
        seals = list(entry.sealed)
        if entry.seq == seq:
            body = bytes(parts[index].body).replace(b'"coins":', b'"coins":1')
            bound = commitment(bytes.fromhex(parts[index].salt), body)
            raws = [raw.replace(parts[index].commitment.encode(), bound.encode()) for raw in raws]
            parts[index] = msgspec.structs.replace(parts[index], commitment=bound, body=msgspec.Raw(body))
            seals[index] = msgspec.structs.replace(seals[index], commitment=bound)
        entry = msgspec.structs.replace(entry, facts=tuple(map(msgspec.Raw, raws)), sealed=tuple(seals))
        draft = Stored(encode(entry), tuple(parts), GENESIS)
        state = JUDGE.evolve(line, draft).state
        entry = msgspec.structs.replace(entry, state=JUDGE.digest_of(state, PEPPER, line.head, entry.seq))
        public = encode(entry)
        found.append(Stored(public, tuple(parts), chain.digest(line.head, public, parts)))
        line = JUDGE.evolve(line, found[-1])
    return found


def test_a_forged_time_is_named_by_the_inbox() -> None:
    inbox = {one.number: one for one in STORE.submissions(GAME)}
    forged = _rechained([_forged_time(one) if _entry(one).seq == 4 else one for one in ENTRIES])
    report = verify(JUDGE, forged, inbox=inbox)
    assert report.disagreement is not None and (report.disagreement.seq, report.disagreement.what) == (4, "at")


def test_other_rules_disagree_where_they_first_matter() -> None:
    class Generous(toy.ToyRules):
        def decide(self, state: toy.ToyState, command: object, past: object = None, at: str = "") -> object:  # type: ignore[override]  # a test's shortcut
            if isinstance(command, toy.Keep) and state.round == 2:
                command = msgspec.structs.replace(command, keep=not command.keep)
            return super().decide(state, command)

    report = verify(Judge(Generous()), ENTRIES)  # type: ignore[arg-type]  # as above
    assert report.disagreement is not None
    named = _entry(ENTRIES[report.disagreement.seq - 1])
    assert b'"kind":"keep"' in bytes(named.command)


# Tampering: whatever is changed, it is noticed, and the place is named


def _damage_of(lines: list[bytes]) -> tuple[int, Report]:
    report = verify_export(JUDGE, lines)
    assert report.disagreement is not None
    return report.disagreement.seq, report


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_changed_byte_of_an_export_is_noticed_and_its_entry_named(data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(LINES) - 1))
    at = data.draw(st.integers(0, len(LINES[index]) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != LINES[index][at]))
    line = bytearray(LINES[index])
    line[at] = byte
    text = b"".join([*LINES[:index], bytes(line), *LINES[index + 1 :]])
    lines = text.splitlines(keepends=True) if byte in b"\r" else text.split(b"\n")
    again = [one + b"\n" for one in lines[:-1]] + ([lines[-1]] if lines[-1] else []) if byte not in b"\r" else lines
    seq, report = _damage_of(again)
    assert not report.is_confirmed
    if FIRST_ENTRY_LINE <= index < len(LINES) - 1 and at > 20:
        assert seq == index - FIRST_ENTRY_LINE + 1


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_removed_swapped_repeated_or_cut_line_is_noticed_and_named(data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(LINES) - 1))
    how = data.draw(st.sampled_from(["remove", "swap", "repeat", "cut", "cut inside"]))
    lines = copy.copy(LINES)
    if how == "remove":
        del lines[index]
    elif how == "swap":
        other = data.draw(st.integers(0, len(LINES) - 1).filter(lambda one: one != index))
        lines[index], lines[other] = lines[other], lines[index]
        index = min(index, other)
    elif how == "repeat":
        lines.insert(index, lines[index])
        index += 1
    elif how == "cut":
        lines = lines[:index]
    else:
        lines = [*lines[:index], lines[index][: data.draw(st.integers(1, len(lines[index]) - 1))]]
    seq, report = _damage_of(lines)
    assert not report.is_confirmed
    if how in ("remove", "repeat") and FIRST_ENTRY_LINE <= index < len(LINES) - 1:
        assert seq in (index - FIRST_ENTRY_LINE + 1, 0)


def _stored_rows(store: Store) -> list[tuple[str, dict[bytes, bytes]]]:
    return [(name.decode(), fields) for name, fields in store.client.xrange(game_key(GAME, "ledger"))]


def _with_rows(rows: list[tuple[str, dict[bytes, bytes]]]) -> Store:
    """A copy of the game whose ledger stream holds these rows."""
    store = fake_store()
    import_game(store, LINES)
    store.client.delete(game_key(GAME, "ledger"))
    for name, fields in rows:
        store.client.xadd(game_key(GAME, "ledger"), fields, id=name)
    return store


ROWS = _stored_rows(STORE)


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_any_tampering_in_the_store_is_noticed_and_the_first_bad_entry_named(data: st.DataObject) -> None:
    rows = [(name, dict(fields)) for name, fields in ROWS]
    index = data.draw(st.integers(0, len(rows) - 1))
    how = data.draw(st.sampled_from(["byte", "remove", "swap", "insert", "truncate", "renumber"]))
    bad = index + 1
    if how == "byte":
        field = data.draw(st.sampled_from([b"public", b"sealed", b"digest"]))
        value = bytearray(rows[index][1][field])
        at = data.draw(st.integers(0, len(value) - 1))
        value[at] ^= data.draw(st.integers(1, 255))
        rows[index][1][field] = bytes(value)
    elif how == "remove":
        del rows[index]
    elif how == "swap":
        other = data.draw(st.integers(0, len(rows) - 1).filter(lambda one: one != index))
        (name, ours), (their_name, theirs) = rows[index], rows[other]
        rows[index], rows[other] = (name, theirs), (their_name, ours)
        bad = min(index, other) + 1
    elif how == "insert":
        rows.insert(index, rows[data.draw(st.integers(0, len(rows) - 1))])
        rows = [(f"{number}-0", fields) for number, (_, fields) in enumerate(rows, 1)]
        bad = next(n for n, (_, fields) in enumerate(rows, 1) if n > len(ROWS) or fields != ROWS[n - 1][1])
    elif how == "truncate":
        rows = rows[:index]
    else:
        rows = [*rows[:index], *((f"{number_of(name) + 1}-0", fields) for name, fields in rows[index:])]
    report = verify_store(_with_rows(rows), JUDGE, GAME)
    assert report.disagreement is not None
    assert report.disagreement.seq == bad, (how, report.disagreement)


def test_a_submission_changed_after_its_ruling_is_named() -> None:
    inbox = {one.number: one for one in STORE.submissions(GAME)}
    command = msgspec.Raw(b'{"kind":"bid","by":"red","coins":2,"question":77}')
    inbox[3] = msgspec.structs.replace(inbox[3], command=command)
    report = verify(JUDGE, ENTRIES, inbox=inbox)
    assert report.disagreement is not None and (report.disagreement.seq, report.disagreement.what) == (3, "command")
    del inbox[3]
    report = verify(JUDGE, ENTRIES, inbox=inbox)
    assert report.disagreement is not None and (report.disagreement.seq, report.disagreement.what) == (3, "inbox")


def test_the_chain_names_the_first_bad_entry() -> None:
    checker = Chain()
    checker.add(ENTRIES[0])
    with pytest.raises(RecordDamaged) as caught:
        checker.add(ENTRIES[2])
    assert caught.value.seq == 2


# Export and import


def _states(store: Store, game: str) -> Iterator[bytes]:
    yield encode(store.line(game, JUDGE).state)
    yield from (one.public for one in store.entries(game))


@pytest.mark.parametrize("name", [None, "another"])
def test_an_imported_game_is_the_same_and_goes_on(name: str | None) -> None:
    original, other = fake_store(), fake_store()
    played(original, rounds=2, most=9)
    submit(original, toy.Bid(by="red", coins=1), "seat-1", key="late")
    imported = import_game(other, list(export_game(original, GAME)), name)
    game = name or GAME
    assert (imported.game, imported.version, imported.unruled) == (game, original.version(GAME), 1)
    assert list(_states(other, game)) == list(_states(original, GAME))
    assert other.unruled() == (game,)
    assert submit(other, toy.Bid(by="red", coins=1), "seat-1", game, key="late").again
    adjudicate(original, JUDGE, GAME)
    adjudicate(other, JUDGE, game)
    assert list(_states(other, game)) == list(_states(original, GAME))
    assert verify_store(other, JUDGE, game).is_confirmed
    submit(other, toy.Bid(by="green", coins=0), "seat-2", game)
    assert adjudicate(other, JUDGE, game).ruled == 1


def test_an_export_of_an_import_is_the_same_file() -> None:
    other = fake_store()
    import_game(other, LINES)
    assert list(export_game(other, GAME)) == LINES


def test_a_game_without_entries_can_move_too() -> None:
    original, other = fake_store(), fake_store()
    new_game(original)
    lines = list(export_game(original, GAME))
    assert PEPPER.hex().encode() not in b"".join(lines)
    import_game(other, lines)
    for store in (original, other):
        adjudicate(store, JUDGE, GAME)
        assert verify_store(store, JUDGE, GAME).is_confirmed
    # Nothing rests on the pepper yet, so the game gets another one where it goes on.
    assert original.pepper(GAME) != other.pepper(GAME)


def test_import_refuses_a_game_that_exists_and_a_damaged_file() -> None:
    with pytest.raises(GameExists):
        import_game(STORE, LINES)
    store = fake_store()
    with pytest.raises(RecordDamaged) as caught:
        import_game(store, [*LINES[: FIRST_ENTRY_LINE + 1], *LINES[FIRST_ENTRY_LINE + 2 :]])
    assert caught.value.seq == 2
    assert store.games() == ()


def test_an_export_of_another_game_is_told_apart() -> None:
    class Chess(toy.ToyRules):
        name = "chess"

    report = verify_export(Judge(Chess()), LINES)
    assert report.disagreement is not None and "chess" in report.disagreement.detail


@pytest.mark.server
def test_a_long_game_moves_to_a_real_server(real_store: Store) -> None:
    store = fake_store()
    entries = played(store, rounds=30, seed=random.Random(7).randrange(100))
    import_game(real_store, export_game(store, GAME))
    assert list(real_store.entries(GAME)) == entries
    assert verify_store(real_store, JUDGE, GAME).is_confirmed


# Upcasters


def test_older_forms_are_lifted_step_by_step_and_stored_bytes_stay() -> None:
    upcasters = Upcasters(current=3)

    @upcasters.register("fact", 1)
    def upcast_v1_v2(fact: dict[str, object]) -> dict[str, object]:
        return {**fact, "by": fact.pop("amount")} if fact["fact"] == "CoinsChanged" else fact

    @upcasters.register("fact", 2)
    def upcast_v2_v3(fact: dict[str, object]) -> dict[str, object]:
        return {**fact, "player": str(fact["player"]).lower()} if fact["fact"] == "CoinsChanged" else fact

    old = b'{"fact":"CoinsChanged","player":"RED","amount":3}'
    lifted = upcasters.lift("fact", 1, old)
    assert JUDGE.codec.fact(lifted) == toy.CoinsChanged(player="red", by=3)
    assert upcasters.lift("fact", 3, old) is old
    assert upcasters.lift("command", 1, old) is old
    with pytest.raises(Exception, match="schema version 4"):
        upcasters.lift("fact", 4, old)


def test_a_ledger_of_an_older_schema_is_read_folded_and_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole path: entries of version 2 under a Rookery of version 3 that renamed a field of a fact."""
    from events import ruling
    from events import verify as verification

    upcasters = Upcasters(current=3)

    @upcasters.register("entry", 2)
    def entry_v2_v3(entry: dict[str, object]) -> dict[str, object]:
        return entry

    @upcasters.register("fact", 2)
    def fact_v2_v3(fact: dict[str, object]) -> dict[str, object]:
        return {**fact, "by": fact.pop("amount")} if "amount" in fact else fact

    old = _rechained([_in_old_words(one) for one in ENTRIES])
    for module in (codec, ruling, verification):
        monkeypatch.setattr(module, "UPCASTERS", upcasters)
        monkeypatch.setattr(module, "VERSION", 3, raising=False)
    report = verify(JUDGE, old)
    assert report.is_confirmed, report.disagreement
    line = JUDGE.begin()
    for stored in old:
        line = JUDGE.evolve(line, stored)
    assert toy.RULES.is_over(line.state)


def _in_old_words(stored: Stored) -> Stored:
    entry = _entry(stored)
    facts = tuple(
        msgspec.Raw(raw.replace(b'"by":', b'"amount":') if b"CoinsChanged" in raw else raw)
        for raw in map(bytes, entry.facts)
    )
    return Stored(encode(msgspec.structs.replace(entry, facts=facts)), stored.sealed, "")
