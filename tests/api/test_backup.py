"""Backups: of everything, while play goes on; put back whole or not at all; nothing of a bad file is put back."""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from api import saving
from api.tokens import Tokens
from events import backup as parts
from events.backup import BackupDamaged, Done, Frames, Restore
from events.embedded import Embedded
from events.envelope import Receipt
from events.errors import GameExists, StoreAway, StoreRefuses
from events.heads import Heads
from events.journal import Journal
from events.keys import LAYOUT, SHARED, UNRULED, game_key, list_keys, shared_key
from events.losses import head_of
from events.store import Store
from tests import toy
from tests.api.test_cli import ROOT, Rookery
from tests.recording import JUDGE, SEAT_OF, new_game, played, submit
from worker.adjudicate import adjudicate

pytestmark = pytest.mark.server

_LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, 12_000))
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Runs a command that may write no larger file: a disk that is full."""

GAMES = ("toy-1", "toy-2", "toy-3")


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Embedded, Embedded]]:
    with Embedded(tmp_path_factory.mktemp("one")) as one, Embedded(tmp_path_factory.mktemp("other")) as other:
        yield one, other


@pytest.fixture
def source(servers: tuple[Embedded, Embedded]) -> Iterator[Store]:
    yield from _emptied(servers[0])


@pytest.fixture
def target(servers: tuple[Embedded, Embedded]) -> Iterator[Store]:
    yield from _emptied(servers[1])


def _emptied(servers: Embedded) -> Iterator[Store]:
    store = Store.connect(servers.store_url)
    store.client.flushall()
    yield store
    store.client.close()


def _everything(store: Store, *without: str) -> dict[str, Any]:
    """All that lies in a store, key by key."""
    found: dict[str, Any] = {}
    for key in sorted(store.client.scan_iter()):
        name = key.decode()
        passing = ("lease", "snapshot", *without)
        if name.rpartition(":")[2] in passing or name in (LAYOUT, "rookery:probe", *list_keys(UNRULED)):
            continue
        match store.client.type(key).decode():
            case "hash":
                found[name] = {field: one for field, one in store.client.hgetall(key).items() if field != b"restored"}
            case "list":
                found[name] = store.client.lrange(key, 0, -1)
            case "set":
                found[name] = store.client.smembers(key)
            case "stream":
                found[name] = store.client.xrange(key)
            case "zset":
                found[name] = store.client.zrange(key, 0, -1, withscores=True)
            case _:
                found[name] = store.client.get(key)
    return found


def _filled(store: Store) -> None:
    for number, game in enumerate(GAMES):
        played(store, game, rounds=2, seed=number)
        Tokens(store).issue(game, "seat-1")
        Tokens(store).issue_arbiter(game, "luwin")
    store.client.set(game_key("toy-1", "a-part-of-later"), b"\x00\xff")
    store.client.zadd(game_key("toy-2", "another"), {"a": 1.5})
    store.client.sadd(game_key("toy-2", "a-third"), "x", "y")
    store.client.hset(shared_key("cup"), mapping={"seed": "ab", "commitment": "cd"})
    store.client.sadd(SHARED, "cup")
    submit(store, toy.Bid(by="red", coins=0), "seat-1", "toy-3")  # one that waits for its ruling


def _bytes(store: Store) -> bytes:
    return b"".join(parts.backup(store, ()))


def _put_back(store: Store, raw: bytes, **options: Any) -> Restore:
    putting = Restore(store, hashlib.sha256(raw).hexdigest(), **options)
    frames = Frames(putting)
    frames.write(raw)
    frames.close()
    return putting


def test_everything_comes_back_also_what_nobody_has_heard_of(source: Store, target: Store) -> None:
    _filled(source)
    _put_back(target, _bytes(source))
    assert _everything(target) == _everything(source)
    assert set(target.unruled()) == set(GAMES)
    for game in GAMES:
        assert adjudicate(target, JUDGE, game).how == "drained"
        assert target.line(game, JUDGE).head == head_of(target, game).digest
    assert head_of(target, "toy-3").version == head_of(source, "toy-3").version + 1


def test_a_game_is_cut_at_one_moment_while_play_goes_on(source: Store, target: Store) -> None:
    """Between any two frames of the backup everybody plays on."""
    for game in GAMES:
        new_game(source, game, rounds=4)
        adjudicate(source, JUDGE, game)
    frames = []
    moves = 0
    for frame in parts.backup(source, ()):
        frames.append(frame)
        for game in GAMES:
            owed = toy.owed(source.line(game, JUDGE).state)
            if owed:
                submit(source, owed[0].sample(lambda most: most - 1), SEAT_OF[owed[0].player], game, key=f"k{moves}")
                moves += 1
                if moves % 2:
                    adjudicate(source, JUDGE, game)
    assert moves > 20
    raw = b"".join(frames)
    found = parts.Contents()
    checked = Frames(found)
    checked.write(raw)
    checked.close()
    assert not any(done.damaged for done in found.games.values())
    _put_back(target, raw)
    for game in GAMES:
        inbox, version = target.inbox_length(game), target.version(game)
        assert version <= target.cursor(game) <= inbox
        numbers = {int(value.split()[0]) for value in target.client.hgetall(game_key(game, "keys")).values()}
        assert numbers == set(range(1, inbox + 1))
        whole = list(source.entries(game))
        assert list(target.entries(game)) == whole[:version]
        assert adjudicate(target, JUDGE, game).how == "drained"


def test_every_cut_and_every_changed_byte_is_noticed_before_anything_is_put_back(source: Store) -> None:
    played(source, "toy-1", rounds=1)
    raw = _bytes(source)

    def check(some: bytes) -> None:
        frames = Frames(parts.Contents())
        frames.write(some)
        frames.close()

    check(raw)
    for at in range(0, len(raw), max(1, len(raw) // 300)):
        with pytest.raises(BackupDamaged):
            check(raw[:at])
        changed = bytearray(raw)
        changed[at] ^= 1
        with pytest.raises(BackupDamaged):
            check(bytes(changed))
    with pytest.raises(BackupDamaged, match="behind its end"):
        check(raw + b"\x00")


def test_a_restore_that_is_killed_anywhere_leaves_whole_games_or_none_and_is_finished_by_the_next(
    source: Store, target: Store
) -> None:
    _filled(source)
    raw = _bytes(source)
    ends = [0]
    while ends[-1] < len(raw):
        ends.append(ends[-1] + 4 + int.from_bytes(raw[ends[-1] : ends[-1] + 4], "big"))
    wanted = _everything(source)
    for end in ends[1:-1:3]:
        target.client.flushall()
        frames = Frames(Restore(target, hashlib.sha256(raw).hexdigest()))
        frames.write(raw[:end])
        for game in target.games():
            assert head_of(target, game) == head_of(source, game)
        _put_back(target, raw)
        for key in target.client.scan_iter(match="*staged:*"):
            assert target.client.ttl(key) > 0, "what was left half done goes by itself"
            target.client.delete(key)
        assert _everything(target) == wanted


def test_an_existing_game_is_never_restored_over(source: Store, target: Store) -> None:
    played(source, "toy-1", rounds=1)
    raw = _bytes(source)
    new_game(target, "toy-1")
    before = _everything(target)
    with pytest.raises(GameExists):
        _put_back(target, raw)
    with pytest.raises(GameExists):
        _put_back(target, raw, only="toy-1")
    assert _everything(target) == before


def test_a_damaged_game_is_told_and_does_not_keep_the_others_from_being_backed_up(source: Store, target: Store) -> None:
    _filled(source)
    source.client.xdel(game_key("toy-2", "ledger"), "3-0")
    told: list[Done] = []
    raw = b"".join(parts.backup(source, (), told.append))
    assert [one.game for one in told if one.damaged] == ["toy-2"]
    assert set(_put_back(target, raw).put_back) == set(GAMES)


def test_a_backup_takes_the_memory_of_a_page_not_of_a_game(source: Store) -> None:
    new_game(source, "toy-1")
    for number in range(300):
        submit(source, toy.Bid(by="red", coins=number), "seat-1", "toy-1")
    assert max(map(len, parts.backup(source, ()))) < 2 * parts.ROWS * 600


# The command line


@pytest.fixture
def rookery(tmp_path: Path) -> Rookery:
    return Rookery(tmp_path / "data")


def test_a_server_is_backed_up_while_it_runs_and_goes_on_elsewhere(rookery: Rookery, tmp_path: Path) -> None:
    made = rookery.at_once("new", "--players", "3", "--game", "winter", "--json").json
    token = next(iter(made["tokens"].values()))
    rookery.at_once("backup", tmp_path / "no.age", code=2)
    key, file = tmp_path / "away" / "backup.key", tmp_path / "winter.age"
    key.parent.mkdir()
    rookery.at_once("backup-key", key)
    assert key.stat().st_mode & 0o777 == 0o600
    with rookery.up():
        done = rookery.at_once("backup", file, "--json").json
    assert file.stat().st_mode & 0o777 == 0o600 and done["encrypted"] and list(done["games"]) == ["winter"]
    assert done["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert token.encode() not in file.read_bytes() and b"winter" not in file.read_bytes()
    rookery.at_once("backup", file, code=2)
    before = rookery.at_once("checkpoint", "winter").out
    entries = rookery.at_once("show", "winter", "--json").json["version"]
    assert entries == 1, "no reading of secrets stands in the game"
    assert [note.what for note in Journal(rookery.data).notes()] == ["backup-began", "backup"]

    elsewhere = Rookery(tmp_path / "elsewhere")
    elsewhere.at_once("restore", file, code=2)
    rookery.at_once("backup-key", tmp_path / "other.key")
    assert "cannot be opened" in elsewhere.at_once("restore", file, "--key", tmp_path / "other.key", code=1).err
    cut = tmp_path / "cut.age"
    cut.write_bytes(file.read_bytes()[:-7])
    assert "breaks off" in elsewhere.at_once("restore", cut, "--key", key, code=1).err
    assert not elsewhere.data.exists(), "nothing is written for a file that is not whole"

    told = elsewhere.at_once("restore", file, "--key", key, code=1).err
    assert done["signed_by"] in told and "--signed-by" in told, "nothing here knows who has signed it"
    stranger = "-".join(["aaaa"] * 5)
    assert "another than" in elsewhere.at_once("restore", file, "--key", key, "--signed-by", stranger, code=1).err
    both = ("--signed-by", done["signed_by"], "--trust-unchecked")
    elsewhere.at_once("restore", file, "--key", key, *both, code=2)
    elsewhere.at_once("restore", file, "--key", key, "--signed-by", "nobody", code=2)
    assert not elsewhere.data.exists(), "nothing is written for a file that may be anybody's"

    assert done["signed_by"] == rookery.at_once("key", "--json").json["fingerprint"]
    elsewhere.at_once("restore", file, "--key", key, "--signed-by", done["signed_by"])
    (restored,) = Journal(elsewhere.data).notes()
    assert restored.about["signer_is_known"] and restored.about["signed_by"] == done["signed_by"]
    assert elsewhere.at_once("checkpoint", "winter").out == before, "the signing key is the same"
    elsewhere.at_once("verify", "winter")
    elsewhere.at_once("doctor")
    assert (elsewhere.data / "operator.token").read_text() == (rookery.data / "operator.token").read_text()
    elsewhere.at_once("show", "winter", "--token", token)
    elsewhere.at_once("restore", file, "--key", key)  # once more changes nothing
    assert elsewhere.at_once("show", "winter", "--json").json["version"] == 1

    elsewhere.at_once("restore", file, "--key", key, "--game", "winter", "--as", "copy", code=2)
    elsewhere.at_once("restore", file, "--key", key, "--game", "winter", "--as", "copy", "--why", "to look at it")
    for game in ("winter", "copy"):
        (read,) = elsewhere.at_once("secrets", game, "--json").json["reads"]
        assert read["entry"] == 2, "the copy holds every secret, and both records say so"
    elsewhere.at_once("show", "copy", "--token", token, code=3)
    assert not elsewhere.at_once("games", "--json").json["games"][0]["held"]
    elsewhere.at_once("verify", "copy")
    new = elsewhere.at_once("token", "copy", next(iter(made["tokens"])), "--json").json["token"]
    elsewhere.at_once("show", "copy", "--token", new)
    elsewhere.at_once("restore", file, "--key", key, "--game", "nobody", code=2)


def test_a_store_with_games_of_its_own_takes_single_games_only(rookery: Rookery, tmp_path: Path) -> None:
    rookery.at_once("new", "--players", "3", "--game", "winter")
    file = tmp_path / "open.backup"
    rookery.at_once("backup", file, "--unencrypted")
    assert file.stat().st_mode & 0o777 == 0o600
    other = Rookery(tmp_path / "other")
    other.at_once("new", "--players", "3", "--game", "summer")
    assert "is another" in other.at_once("restore", file, code=1).err
    assert "is another" in other.at_once("restore", file, "--trust-unchecked", code=1).err
    by = ("--signed-by", rookery.at_once("key", "--json").json["fingerprint"])
    assert "new directory" in other.at_once("restore", file, *by, code=2).err
    assert "not empty" in other.at_once("restore", file, *by, "--keep-keys", code=2).err
    own = (other.data / "signing.key").read_text()
    other.at_once("restore", file, *by, "--game", "winter")
    assert {one["game"] for one in other.at_once("games", "--json").json["games"]} == {"summer", "winter"}
    assert (other.data / "signing.key").read_text() == own


def test_a_backup_without_a_signature_is_put_back_on_an_explicit_word_only(
    rookery: Rookery, source: Store, servers: tuple[Embedded, Embedded], tmp_path: Path
) -> None:
    """One of the time before there were signatures, and one of a store without a data directory."""
    _filled(source)
    new, old = tmp_path / "new.backup", tmp_path / "old.backup"
    at = ("--store", servers[0].store_url, "--data", "")
    assert "Not signed" in rookery.at_once("backup", new, "--unencrypted", *at).out
    _write_as_before(new, old)
    for file in (new, old):
        there = Rookery(tmp_path / f"from-{file.stem}")
        assert "not signed" in there.at_once("restore", file, code=1).err
        by = ("--signed-by", "-".join(["aaaa"] * 5))
        assert "not signed" in there.at_once("restore", file, *by, code=1).err
        assert not there.data.exists()
        assert "was not checked" in there.at_once("restore", file, "--trust-unchecked").out
        (restored,) = Journal(there.data).notes()
        assert restored.about["signer_is_known"] is False and restored.about["signed_by"] is None


def _write_as_before(file: Path, old: Path) -> None:
    """A backup in the form that it had before there were signatures."""
    frames: list[dict[str, Any]] = []
    raw, covered = file.read_bytes(), b""
    while raw:
        size = 4 + int.from_bytes(raw[:4], "big")
        frames.append(msgspec.msgpack.decode(raw[4:size]))
        raw = raw[size:]
    del frames[0]["signer"], frames[-1]["note"]
    frames[0]["format"] = "rookery-backup/1"
    for frame in frames:
        if frame["type"] == "end":
            frame["sha256"] = hashlib.sha256(covered).hexdigest()
        body = msgspec.msgpack.encode(frame)
        covered += len(body).to_bytes(4, "big") + body
    old.write_bytes(covered)


def test_a_damaged_game_is_named_among_the_others_and_has_a_copy_put_beside_it(
    rookery: Rookery, tmp_path: Path
) -> None:
    for game in ("summer", "winter"):
        rookery.at_once("new", "--players", "3", "--game", game)
    file = tmp_path / "open.backup"
    rookery.at_once("backup", file, "--unencrypted")
    with Embedded(rookery.data) as servers:
        client = Store.connect(servers.store_url).client
        ledger = game_key("winter", "ledger")
        [(name, fields)] = client.xrange(ledger)
        client.delete(ledger)
        client.xadd(ledger, {**fields, b"public": fields[b"public"].replace(b'"cause"', b'"Cause"')}, id=name)
    listed = {one["game"]: one["damaged"] for one in rookery.at_once("games", "--json").json["games"]}
    assert listed["summer"] is None and "Entry 1" in listed["winter"]
    mended = ("--game", "winter", "--as", "winter-mended", "--why", "the disk")
    assert "the journal alone tells" in rookery.at_once("restore", file, *mended).out
    rookery.at_once("verify", "winter-mended")


def test_a_backup_that_is_older_than_what_was_acknowledged_is_told(rookery: Rookery, tmp_path: Path) -> None:
    made = rookery.at_once("new", "--players", "3", "--game", "winter", "--json").json
    file = tmp_path / "open.backup"
    rookery.at_once("backup", file, "--unencrypted")
    rookery.at_once("deadline", "winter", next(iter(made["seats"].values())))
    shutil.rmtree(rookery.data / "store")
    assert "is held" in rookery.at_once("restore", file).out
    rookery.at_once("doctor", code=1)
    rookery.at_once("accept-loss", "winter", "--why", "the backup is of yesterday")
    rookery.at_once("doctor")
    rookery.at_once("verify", "winter")


def test_a_backup_that_is_killed_leaves_no_file_under_its_name(rookery: Rookery, tmp_path: Path) -> None:
    rookery.at_once("new", "--players", "3", "--game", "winter")
    file = tmp_path / "killed.backup"
    begun = threading.Event()

    def pieces() -> Iterator[bytes]:
        yield b"x" * 100_000
        begun.set()
        os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if not child:
        saving.write(file, pieces(), None)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert not file.exists()
    rookery.at_once("backup", file, "--unencrypted")
    assert not list(tmp_path.glob(".*.new")), "the next backup takes the draft's place"


def test_a_full_disk_ends_a_backup_in_a_sentence_and_leaves_nothing(
    rookery: Rookery, source: Store, servers: tuple[Embedded, Embedded], tmp_path: Path
) -> None:
    _filled(source)
    command = [sys.executable, "-m", "api", "backup", str(tmp_path / "full.backup"), "--unencrypted"]
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED, *command, "--store", servers[0].store_url],
        env={**rookery.environment(), "ROOKERY_DATA": ""},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 4, done.stderr
    assert "was not written" in done.stderr and "Traceback" not in done.stderr
    assert not list(tmp_path.glob("*full*"))
    assert not list(tmp_path.glob(".*full*"))


def test_a_store_whose_disk_is_full_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    servers = Embedded(tmp_path / "data").start()
    try:
        store = Store.connect(servers.store_url, patience_seconds=0.2)
        heads = Heads(servers.directory, store, servers.store_url)
        new_game(store, "toy-1")
        size = max((servers.directory / "store" / "appendonlydir").glob("*.incr.aof")).stat().st_size
        resource.prlimit(servers.pid("store"), resource.RLIMIT_FSIZE, (size + 4000, size + 4000))
        taken = _fill(store)
        assert taken
        servers.revive()  # there is room again
        assert heads.look() == []
        assert head_of(store, "toy-1").inbox >= int(taken[-1].inbox.partition("-")[0])
        submit(store, toy.Bid(by="red", coins=0), "seat-1")
        heads.close()
        store.client.close()
    finally:
        servers.stop()


def _fill(store: Store) -> list[Receipt]:
    """Submissions until the store takes no more; those that it acknowledged."""
    taken: list[Receipt] = []
    with suppress(StoreAway, StoreRefuses):
        while len(taken) < 1000:
            taken.append(submit(store, toy.Bid(by="red", coins=len(taken)), "seat-1"))
    assert len(taken) < 1000, "its file may not grow that far"
    return taken
