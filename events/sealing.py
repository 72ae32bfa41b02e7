"""Sealed parts: what an entry holds for some eyes only, bound in public by SHA-256(salt ‖ body).

Every salt comes from the pepper of the game, 32 secret bytes, so that ruling again on the same command
gives the same bytes. The label holds the digest before the entry, the place, and the body itself: two
copies of a game that went different ways share no salt, so a part opened in one says nothing of the other.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable

import msgspec

from events.envelope import Part, Seal, Stored

_SALT = b"rookery/salt/1\x00"
_STATE = b"rookery/state/1\x00"

PEPPER = "pepper"
SUBMISSION = "submission"
"""What binds every byte of the submission that an entry answers. Its body stands in the inbox, and nowhere twice."""


def commitment(salt: bytes, body: bytes) -> str:
    """What binds a body in public."""
    return hashlib.sha256(salt + body).hexdigest()


def state_key(pepper: bytes, prev: str, seq: int) -> bytes:
    """The key of the digest over the hidden state after entry ``seq``."""
    return hmac.digest(pepper, _STATE + bytes.fromhex(prev) + seq.to_bytes(8, "big"), "sha256")


class Sealer:
    """Collects the sealed parts of one entry."""

    def __init__(self, pepper: bytes, prev: str, seq: int) -> None:
        self._pepper = pepper
        self._label = _SALT + bytes.fromhex(prev) + seq.to_bytes(8, "big")
        self.parts: list[Part] = []
        self.seals: list[Seal] = []

    def bind(self, audience: Iterable[str], submitted: bytes) -> None:
        """Add the part that binds the submission, without its body."""
        self.seal(SUBMISSION, audience, submitted)
        whole = self.parts.pop()
        self.parts.append(Part(whole.audience, whole.commitment, whole.salt))

    def carry(self, audience: Iterable[str], bound: Part) -> None:
        """Add the part that binds a submission which is not at hand, as it is on the record."""
        eyes = tuple(audience)
        self.parts.append(Part(eyes, bound.commitment, bound.salt))
        self.seals.append(Seal(SUBMISSION, eyes, bound.commitment))

    def seal(self, of: str, audience: Iterable[str], body: bytes) -> tuple[int, str]:
        """Add a part; its index and commitment."""
        index = len(self.parts)
        label = self._label + index.to_bytes(8, "big") + hashlib.sha256(body).digest()
        salt = hmac.digest(self._pepper, label, "sha256")
        eyes = tuple(audience)
        bound = commitment(salt, body)
        self.parts.append(Part(eyes, bound, salt.hex(), msgspec.Raw(body)))
        self.seals.append(Seal(of, eyes, bound))
        return index, bound


def redact(stored: Stored, seals: Iterable[Seal], player: str | None, privileged: bool = False) -> Stored:
    """What ``player`` may hold of an entry: all of it, with the bodies of other audiences taken out.

    None is the public. ``privileged`` opens what belongs to any player, and still nothing that is nobody's: the pepper,
    which would open all later parts, the seed, and the order of the decks.
    """
    parts = tuple(
        part
        if seal.of != PEPPER and (player in part.audience or (privileged and part.audience))
        else Part(part.audience, part.commitment)
        for seal, part in zip(seals, stored.sealed, strict=True)
    )
    return Stored(stored.public, parts, stored.digest)
