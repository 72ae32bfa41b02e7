"""What an import takes for granted because the log does not tell it, one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from api.games.thrones.following.charter import site_readings
from api.games.thrones.following.decks import Dealt
from api.games.thrones.following.follower import Follower
from api.games.thrones.following.hypothesis import Hypothesis
from api.games.thrones.following.replay import Ruled
from domain.thrones.language.answers import HouseAnswer
from domain.thrones.language.facts import RoundBegan
from domain.thrones.language.start import Start
from domain.thrones.notation.format import format_answer
from domain.thrones.spelling.names import short_order
from domain.thrones.tables.charter import Charter
from domain.thrones.tables.edition import Edition


class Assumption(msgspec.Struct, frozen=True):
    """One thing that no entry tells.

    Its kind (:data:`.prose.ASSUMED`), the round (0: the whole game), the entry that it goes with (0: none), and
    what was assumed: an answer in the words in which players send it.
    """

    kind: str
    round: int
    entry: int
    what: str


def listed(
    charter: Charter, edition: Edition, dealt: Dealt, follower: Follower, found: Hypothesis, ruled: Sequence[Ruled]
) -> tuple[Assumption, ...]:
    """Every assumption of an import: of the charter, of the decks, of each round."""
    return (
        *_of_the_charter(charter),
        *_of_the_decks(dealt, edition),
        *_of_orders(follower, found),
        *_of_answers(ruled),
    )


def counted(assumed: Iterable[Assumption]) -> dict[str, int]:
    """How many there are of each kind."""
    return dict(sorted(Counter(one.kind for one in assumed).items()))


def _of_the_charter(charter: Charter) -> Iterator[Assumption]:
    yield Assumption("starting-layout", 0, 0, f"as {charter.edition} has it for {len(charter.houses)} Houses")
    for kind, number in site_readings(charter).items():
        for _ in range(number):
            yield Assumption(kind, 0, 0, "read from other games of the site")


def _of_the_decks(dealt: Dealt, edition: Edition) -> Iterator[Assumption]:
    for deck in dealt.decks:
        yield Assumption("deck-orders", 0, 0, f"{deck}, as far as no card was shown")
    for draws in dealt.shuffles:
        yield Assumption("deck-orders", 0, 0, f"{draws.deck} after a shuffle, as far as no card was shown")
    for deck, number in dealt.assumed:
        if deck == "tides":
            yield Assumption("tides-cards", number, 0, "a battle with cards without effect")
        elif number:
            yield Assumption("westeros-cards", number, 0, f"the card of {deck}")


def _of_orders(follower: Follower, found: Hypothesis) -> Iterator[Assumption]:
    for (number, house), areas in sorted(follower.guessed(found).items()):
        for area in areas:
            yield Assumption("orders", number, 0, f"{house}: {area} {short_order(found.laid[number, house][area])}")


def _of_answers(ruled: Sequence[Ruled]) -> Iterator[Assumption]:
    number = 1
    for one in ruled:
        what = format_answer(one.command, with_house=True) if isinstance(one.command, HouseAnswer) else ""
        for kind in one.assumed:
            if not isinstance(one.command, Start):
                yield Assumption(kind, number, one.entry, what)
        number = next((fact.round for fact in reversed(one.facts) if isinstance(fact, RoundBegan)), number)
