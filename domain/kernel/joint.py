"""Joint seed: server and seats make the seed together before a game begins, so that nobody has chosen the draws.

The server commits to its part first. Then every seat commits to a part of its own, and when all have, or the
organiser goes on without the others, they open them. The seed is SHA-256 over the server's part and those of the
seats, in the order of the seats. The server's part stays sealed until the end, so a seat that sees the others'
parts before it opens its own learns nothing. *Not covered:* a seat and the operator together may choose
between two seeds, once, by not opening; the record names that seat.
"""

from __future__ import annotations

import hashlib

from domain.kernel.commands import Command
from domain.kernel.docket import Docket, Joint, ShareCommitted, ShareOpened, SharesClosed, ShareWithheld
from domain.kernel.facts import Fact
from domain.kernel.refusal import Refusal

_DOMAIN = b"rookery/share/1\x00"


class CommitShare(Command, frozen=True, tag="commit-share"):
    """A seat binds itself to its part of the seed: ``commitment`` is what :func:`share_commitment` gives."""

    seat: str
    commitment: str


class OpenShare(Command, frozen=True, tag="open-share"):
    """A seat opens its part, 32 bytes in hexadecimal."""

    seat: str
    share: str


class CloseShares(Command, frozen=True, tag="close-shares"):
    """The organiser goes on without those who are missing: first with committing, then with opening."""


def share_commitment(seat: str, share: str) -> str:
    """SHA-256 that binds a part to the seat that gives it, hexadecimal."""
    return hashlib.sha256(_DOMAIN + seat.encode() + b"\x00" + bytes.fromhex(share)).hexdigest()


def joint_seed(server: str, shares: dict[str, str]) -> str:
    """SHA-256(server's part ‖ parts of the seats, in the order of the seats), hexadecimal."""
    covered = hashlib.sha256(bytes.fromhex(server))
    for seat in sorted(shares):
        covered.update(bytes.fromhex(shares[seat]))
    return covered.hexdigest()


def take_share(docket: Docket, command: CommitShare | OpenShare | CloseShares) -> tuple[Fact, ...]:
    """The facts of one command before the game begins. Raises Refusal."""
    joint = docket.joint
    if joint is None or joint.done:
        raise Refusal("no-shares-wanted")
    if isinstance(command, CloseShares):
        return _close(joint)
    if isinstance(command, CommitShare):
        return _commit(joint, command)
    return _open(joint, command)


def _commit(joint: Joint, command: CommitShare) -> tuple[Fact, ...]:
    if command.seat in joint.commitments:
        raise Refusal("share-committed")
    if joint.closed:
        raise Refusal("shares-closed")
    _check_hex(command.commitment)
    facts: list[Fact] = [ShareCommitted(seat=command.seat, commitment=command.commitment)]
    if len(joint.commitments) + 1 == len(joint.seats):
        facts.append(SharesClosed())
    return tuple(facts)


def _open(joint: Joint, command: OpenShare) -> tuple[Fact, ...]:
    if not joint.closed:
        raise Refusal("shares-not-closed", missing=sorted(set(joint.seats) - set(joint.commitments)))
    if command.seat not in joint.commitments or command.seat in joint.shares:
        raise Refusal("share-not-wanted")
    _check_hex(command.share)
    if share_commitment(command.seat, command.share) != joint.commitments[command.seat]:
        raise Refusal("share-differs")
    return (ShareOpened(seat=command.seat, share=command.share),)


def _close(joint: Joint) -> tuple[Fact, ...]:
    if not joint.closed:
        return (SharesClosed(),)
    missing = sorted(set(joint.commitments) - set(joint.shares))
    return tuple(ShareWithheld(seat=seat) for seat in missing)


def _check_hex(text: str) -> None:
    if len(text) != 64 or set(text) - set("0123456789abcdef"):
        raise Refusal("not-32-bytes")
