"""What every table agrees on, whatever it plays."""

from __future__ import annotations

from typing import Literal

import msgspec


class Arbitration(msgspec.Struct, frozen=True, rename="kebab", forbid_unknown_fields=True, omit_defaults=True):
    """What was agreed about disputes.

    ``appeal_window`` is how many rulings of the game back an appeal may reach (0: any). ``kept_when`` says when a
    causal rewind keeps an answer: when its footprint is unchanged, or only when all that its author could see is.
    ``appeal_stops`` says what an open appeal holds up: the whole game, or only decisions that rest on what is in doubt.
    ``appeals_open`` is how many appeals a seat may have open at once; after ``appeals_lost`` that have changed nothing
    its further ones hold nothing up. ``arbiter_may_play`` lets a player of the game arbitrate it; ``secrets_log`` says
    when players see who read secrets by privilege.
    """

    appeal_window: int = 0
    appeals_open: int = 3
    appeals_lost: int = 3
    kept_when: Literal["footprint", "view"] = "footprint"
    appeal_stops: Literal["everything", "what-depends-on-it"] = "everything"
    arbiter_may_play: bool = False
    secrets_log: Literal["at-the-end", "at-once"] = "at-the-end"
