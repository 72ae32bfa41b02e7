"""Backups by somebody who has the public key for them, perhaps true ones as well, but not the signing key."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from api import saving
from api.saving import Checked, NotTrusted, SignedBy, check_signer
from events import backup
from events.backup import BackupChanged, BackupDamaged, Begin, Done, End, Frames, Game, Restore
from events.notes import KEY_FILE, Signer
from events.recipients import recipient
from tests import recording

SERVER = Signer("rookery.test", Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
OTHER = Signer("rookery.test", Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33))))
PRIVATE, PUBLIC = saving.make_key()

Frame = backup.Frame
Forging = Callable[[list[Frame]], list[Frame]]


def true_one(rounds: int = 3, signer: Signer | None = SERVER) -> list[Frame]:
    store = recording.fake_store()
    recording.played(store, "toy-1", rounds=rounds, most=4)
    recording.new_game(store, "toy-2")
    found: list[Frame] = []
    reading = Frames(found.append)
    for some in backup.backup(store, [backup.File("operator.token", b"a token")], signer=signer):
        reading.write(some)
    reading.close()
    return found


def covered(told: list[Frame], note: Callable[[str], str] | None = None) -> list[Frame]:
    """The same with an end that fits; ``note`` signs it, else its note stays as it is."""
    *front, end = told
    assert isinstance(end, End)
    games = sum(isinstance(one, Done) for one in front)
    sha256 = hashlib.sha256(raw(front)).hexdigest()
    return [*front, End(games, sha256, note(backup._bound(games, sha256)) if note is not None else end.note)]


def raw(told: list[Frame]) -> bytes:
    bodies = map(backup._encode, told)
    return b"".join(len(body).to_bytes(4, "big") + body for body in bodies)


def begun(told: list[Frame], **changes: str) -> list[Frame]:
    return [msgspec.structs.replace(told[0], **changes), *told[1:]]


def games_exchanged(told: list[Frame]) -> list[Frame]:
    first, second = (at for at, one in enumerate(told) if isinstance(one, Game))
    last = next(at for at, one in enumerate(told) if at > second and isinstance(one, Done)) + 1
    return [*told[:first], *told[second:last], *told[first:second], *told[last:]]


def without_last_game(told: list[Frame]) -> list[Frame]:
    begin = max(at for at, one in enumerate(told) if isinstance(one, Game))
    end = max(at for at, one in enumerate(told) if isinstance(one, Done)) + 1
    return [*told[:begin], *told[end:]]


def unnoted(told: list[Frame]) -> list[Frame]:
    return covered(told, lambda text: "")


def with_own_token(told: list[Frame]) -> list[Frame]:
    return [backup.File(one.name, b"a token of his own") if isinstance(one, backup.File) else one for one in told]


FORGED: dict[str, tuple[type[Exception], str, Forging]] = {
    "by the public key alone": (NotTrusted, "not signed", lambda told: unnoted(begun(told, signer=""))),
    "signed by a key of his own": (NotTrusted, "by rookery.test, key", lambda told: true_one(signer=OTHER)),
    "the server's key, and no signature": (BackupDamaged, "is missing", unnoted),
    "the server's key, signed by his own": (
        BackupDamaged,
        "does not hold",
        lambda told: covered(with_own_token(told), OTHER.sign),
    ),
    "the server's key, nonsense for a signature": (
        BackupDamaged,
        "does not hold",
        lambda told: covered(told, lambda text: f"{text}\n— rookery.test AAAA\n"),
    ),
    "the signature of another backup": (
        BackupDamaged,
        "something else",
        lambda told: covered([*with_own_token(told)[:-1], true_one(rounds=2)[-1]]),
    ),
    "a checkpoint for a signature": (
        BackupDamaged,
        "something else",
        lambda told: covered(told, lambda text: SERVER.checkpoint("toy-1", 1, "ab" * 32)),
    ),
    "records in another order": (BackupDamaged, "something else", lambda told: covered(games_exchanged(told))),
    "records in another order, under the old end": (BackupDamaged, "not those", games_exchanged),
    "a game left out": (BackupDamaged, "something else", lambda told: covered(without_last_game(told))),
    "another time": (BackupDamaged, "something else", lambda told: covered(begun(told, at="2030-01-01T00:00:00Z"))),
    "a token of his own": (BackupDamaged, "something else", lambda told: covered(with_own_token(told))),
    "without its end": (BackupDamaged, "breaks off", lambda told: told[:-1]),
    "of the time before signatures": (
        NotTrusted,
        "not signed",
        lambda told: unnoted(begun(told, format=backup.UNSIGNED_FORMAT, signer="")),
    ),
    "of the time before signatures, and yet signed": (
        BackupDamaged,
        "nobody signs",
        lambda told: covered(begun(told, format=backup.UNSIGNED_FORMAT)),
    ),
    "a signature of nobody": (BackupDamaged, "does not say whose", lambda told: covered(begun(told, signer=""))),
    "a key that is none": (BackupDamaged, "is none", lambda told: covered(begun(told, signer="rookery+ab+cd"))),
    "a name that writes on the terminal": (
        BackupDamaged,
        "nobody signs",
        lambda told: covered(begun(told, signer=Signer("\x1b[2J x", OTHER._key).verifier.text())),
    ),
}


@pytest.fixture
def private(tmp_path: Path) -> Path:
    path = tmp_path / "private.key"
    path.write_text(PRIVATE)
    return path


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A data directory of the server."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / KEY_FILE).write_text(f"{bytes(range(32)).hex()}\nrookery.test\n")
    return tmp_path / "data"


def written(path: Path, told: list[Frame]) -> Path:
    saving.write(path, iter([raw(told)]), recipient(PUBLIC))
    return path


@pytest.mark.parametrize("what", FORGED)
def test_a_backup_by_somebody_else_is_refused_whatever_is_known_here(
    what: str, directory: Path, private: Path, tmp_path: Path
) -> None:
    error, why, forge = FORGED[what]
    file, key = written(tmp_path / "forged.age", forge(true_one())), saving.identity(private)
    named = [SignedBy(SERVER.verifier.fingerprint), SignedBy(SERVER.verifier.text())]
    for signed_by, known in [
        (None, directory),
        (named[0], None),
        (named[1], None),
        (named[0], directory),
        (None, None),
    ]:
        with pytest.raises(error, match=why) as refused:
            check_signer(Checked(file, key).signer, signed_by, known, unchecked=False)
        said = str(refused.value)
        assert said.isprintable() and said.endswith("Nothing was put back.")


@pytest.mark.parametrize("what", [what for what in FORGED if FORGED[what][0] is BackupDamaged])
def test_what_does_not_hold_is_not_taken_on_trust_either(what: str, private: Path, tmp_path: Path) -> None:
    file = written(tmp_path / "forged.age", FORGED[what][2](true_one()))
    with pytest.raises(BackupDamaged):
        Checked(file, saving.identity(private))


def test_the_servers_own_backup_is_known_by_each_form_of_its_key(
    directory: Path, private: Path, tmp_path: Path
) -> None:
    signer = Checked(written(tmp_path / "true.age", true_one()), saving.identity(private)).signer
    (tmp_path / "server.key").write_text(f"{SERVER.verifier.text()}\n")
    plain = SERVER.verifier.fingerprint
    for text in (plain, plain.upper(), plain.replace("-", ""), SERVER.verifier.text(), str(tmp_path / "server.key")):
        assert check_signer(signer, SignedBy(text), None, unchecked=False)
    assert check_signer(signer, None, directory, unchecked=False)
    assert SERVER.verifier.fingerprint != OTHER.verifier.fingerprint
    for text in ("", plain[:-1], "rookery.test", str(private), "0" * 20):
        with pytest.raises(saving.BadKey):
            SignedBy(text)


def test_an_explicit_word_takes_what_cannot_be_checked_and_nothing_that_was_checked(directory: Path) -> None:
    other = OTHER.verifier
    assert not check_signer(None, None, None, unchecked=True)
    assert not check_signer(None, None, directory, unchecked=True)
    assert not check_signer(other, None, None, unchecked=True)
    with pytest.raises(NotTrusted):
        check_signer(other, None, directory, unchecked=True)


@pytest.mark.parametrize("what", ["by the public key alone", "signed by a key of his own", "a token of his own"])
def test_a_file_that_is_exchanged_after_it_was_checked_is_not_put_back(
    what: str, private: Path, tmp_path: Path
) -> None:
    told = true_one()
    file = written(tmp_path / "true.age", told)
    checked = Checked(file, saving.identity(private))
    written(file, FORGED[what][2](told))
    store = recording.fake_store()
    with pytest.raises(BackupChanged):
        checked.put(Restore(store, checked.digest))
    assert store.games() == ()
    written(file, told)
    checked.put(Restore(store, checked.digest))
    assert store.games() == ("toy-1", "toy-2")


def test_an_exchanged_file_that_breaks_off_puts_back_what_was_checked_alone(private: Path, tmp_path: Path) -> None:
    told = true_one()
    file = written(tmp_path / "true.age", told)
    checked = Checked(file, saving.identity(private))
    first = next(at for at, one in enumerate(told) if isinstance(one, Done)) + 1
    written(file, told[:first])
    store = recording.fake_store()
    with pytest.raises(BackupChanged):
        checked.put(Restore(store, checked.digest))
    assert store.games() == ("toy-1",)


def test_the_beginning_says_who_signs() -> None:
    begin = true_one()[0]
    assert isinstance(begin, Begin)
    assert begin.signer == SERVER.verifier.text()
