"""``python -m tests.fuzz --games 1000 --seed 0``: whole random games with every property checked.

With ``--variations`` they are games by the first edition's book, by the other presets and by mixtures of the books.

Games are numbered; the seed is the number of the first. A failure names its game, so that it can be played again.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections import Counter

from tests.domain.thrones.games import spec, spec_of_variations
from tests.domain.thrones.properties import Reached, check_game


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Play and check whole random games.")
    options.add_argument("--games", type=int, default=100, help="how many games (default 100)")
    options.add_argument("--seed", type=int, default=0, help="number of the first game (default 0)")
    options.add_argument("--keep-going", action="store_true", help="do not stop at the first failure")
    options.add_argument(
        "--variations", action="store_true", help="games by other books and mixtures instead of the second edition"
    )
    chosen = options.parse_args()
    make = spec_of_variations if chosen.variations else spec

    again = "--variations " if chosen.variations else ""
    reached, winners, failed = Reached(), Counter[str](), list[int]()
    each: dict[int, set[str]] = {}
    for number in range(chosen.seed, chosen.seed + chosen.games):
        game = make(number)
        try:
            here = Reached()
            winners[check_game(game, here).winner or "nobody"] += 1
            reached.add(here)
            each[number] = set(here.kinds) | set(here.abilities)
        except Exception:  # noqa: BLE001  # any failure of any game is what is looked for
            failed.append(number)
            traceback.print_exc()
            print(f"\ngame {number} failed: python -m tests.fuzz {again}--games 1 --seed {number}", flush=True)
            if not chosen.keep_going:
                break
        _progress(number - chosen.seed + 1, chosen.games)
    print(f"{sum(winners.values())} games held, {len(failed)} failed {failed or ''}")
    print("won by", ", ".join(f"{house} {count}" for house, count in winners.most_common()) or "nobody")
    print("never reached:", ", ".join(reached.never()) or "nothing")
    print("reached only where one answer was left:", ", ".join(reached.only_forced()) or "nothing")
    print("all that was reached is in the games", *_cover(each))
    return 1 if failed else 0


def _cover(each: dict[int, set[str]]) -> list[int]:
    """A few games that together reach what all of them reach."""
    missing, chosen = set[str]().union(*each.values()), list[int]()
    while missing:
        best = max(each, key=lambda number: (len(each[number] & missing), -number))
        chosen.append(best)
        missing -= each[best]
    return chosen


def _progress(done: int, games: int) -> None:
    """A line that is rewritten on a terminal, and one line in a hundred elsewhere."""
    if sys.stdout.isatty():
        print(f"\r{done} of {games} games", end="\n" if done == games else "", flush=True)
    elif done % 100 == 0 or done == games:
        print(f"{done} of {games} games", flush=True)


if __name__ == "__main__":
    sys.exit(main())
