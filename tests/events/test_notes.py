"""Signed notes: what is signed opens with the right key alone, and tells prefixes from other histories."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.notes import (
    KEY_FILE,
    BadKey,
    BadName,
    Checkpoint,
    NoteInvalid,
    Signer,
    Verifier,
    is_prefix,
    read_checkpoint,
    read_receipt,
)

ROOT = "ab" * 32


@pytest.fixture
def signer(tmp_path: Path) -> Signer:
    return Signer.of_directory(tmp_path, "rookery.test")


def test_the_key_is_kept_and_belongs_to_its_user_alone(tmp_path: Path) -> None:
    first = Signer.of_directory(tmp_path, "rookery.test")
    assert Signer.of_directory(tmp_path, "rookery.test").verifier == first.verifier
    assert stat.S_IMODE((tmp_path / "signing.key").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["signing.key"]


def test_a_name_stays_with_its_key(tmp_path: Path) -> None:
    first = Signer.of_directory(tmp_path)
    assert first.name == "rookery"
    with pytest.raises(BadName, match="already"):
        Signer.of_directory(tmp_path, "example.org")
    with pytest.raises(BadName, match="letters"):
        Signer.of_directory(tmp_path / "..", "two words")


def test_a_checkpoint_has_three_lines_and_a_signature(signer: Signer) -> None:
    note = signer.checkpoint("g1", 7, ROOT)
    text, _, signature = note.partition("\n\n")
    assert text.splitlines()[:2] == ["rookery.test/g1", "7"]
    assert signature.startswith("— rookery.test ")
    assert read_checkpoint(note, signer.verifier) == Checkpoint("rookery.test/g1", 7, ROOT)


def test_a_receipt_binds_the_submission_to_the_chain_of_that_moment(signer: Signer) -> None:
    receipt = read_receipt(signer.receipt("g1", 7, ROOT, "8-0", "cd" * 32), signer.verifier)
    assert (receipt.checkpoint.size, receipt.inbox, receipt.submission) == (7, "8-0", "cd" * 32)


def test_another_key_of_the_same_name_does_not_open_a_note(signer: Signer, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Signer.of_directory(tmp_path / "other", "rookery.test")
    with pytest.raises(NoteInvalid, match="has not signed"):
        read_checkpoint(signer.checkpoint("g1", 7, ROOT), other.verifier)


@given(st.integers(min_value=0), st.integers(min_value=1, max_value=255))
def test_any_changed_byte_is_noticed(place: int, change: int) -> None:
    note = SIGNED.encode()
    place %= len(note)
    forged = note[:place] + bytes([note[place] ^ change]) + note[place + 1 :]
    try:
        text = forged.decode()
    except UnicodeDecodeError:
        return
    try:
        found = read_checkpoint(text, SIGNER.verifier)
    except NoteInvalid:
        return
    # Bits that base64 ignores, and line ends within the signature block, change no meaning.
    assert found == Checkpoint("rookery.test/g1", 7, ROOT)


def _signer() -> Signer:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Signer("rookery.test", Ed25519PrivateKey.from_private_bytes(bytes(range(32))))


SIGNER = _signer()
SIGNED = SIGNER.checkpoint("g1", 7, ROOT)


def test_a_key_is_handed_round_as_one_line() -> None:
    assert Verifier.parse(SIGNER.verifier.text()) == SIGNER.verifier
    with pytest.raises(NoteInvalid):
        Verifier.parse(SIGNER.verifier.text()[:-6])


def test_two_histories_are_told_apart() -> None:
    signed = read_checkpoint(SIGNED, SIGNER.verifier)
    assert is_prefix(signed, {6: "00" * 32, 7: ROOT, 8: "11" * 32})
    assert not is_prefix(signed, {7: "22" * 32})
    assert not is_prefix(signed, {6: "00" * 32})
    assert is_prefix(Checkpoint("rookery.test/g1", 0, "00" * 32), {})


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"ab rookery\n", b"zz rookery\n", b"one two three"])
def test_a_file_that_is_no_key_is_refused_in_a_sentence_that_says_nothing_of_it(tmp_path: Path, content: bytes) -> None:
    (tmp_path / KEY_FILE).write_bytes(content)
    with pytest.raises(BadKey, match="put it back from a backup"):
        Signer.of_directory(tmp_path)
