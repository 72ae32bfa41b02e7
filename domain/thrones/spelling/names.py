"""The names a letter may use, and the mistake it makes with them.

A :class:`Lexicon` knows one edition's areas, Houses, cards, tracks and order tokens by id, by English name and
by abbreviation. Exact names win; a word that could mean two things is refused with all of them.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from domain.thrones.language.pieces import TRACKS, AreaId, CardId, HouseId, OrderId, OrderToken

LONGEST_NAME = 60
"""No name is as long: longer ones are cut short in messages and get no suggestions."""


LONGEST_TEXT = 200
"""Nothing that is longer is looked up as a name, however it is spaced."""


class NotationError(Exception):
    """A letter that cannot be read, or could be read in two ways.

    ``column`` counts from 1; ``line`` is set where a whole letter is read. ``expected`` says what would have been
    understood there, ``suggestions`` are ids or phrases that were perhaps meant.
    """

    def __init__(
        self,
        problem: str,
        column: int,
        *,
        expected: str = "",
        suggestions: Iterable[str] | Callable[[], Iterable[str]] = (),
    ) -> None:
        super().__init__(problem)
        self.problem = re.sub(rf'"([^"]{{{LONGEST_NAME}}})[^"]+"', r'"\1…"', problem)
        self.column = column
        self.expected = expected
        self.line: int | None = None
        self._suggestions = suggestions

    @property
    def suggestions(self) -> tuple[str, ...]:
        """Looked for when somebody asks: many readings are tried and given up before one is found."""
        return tuple(self._suggestions() if callable(self._suggestions) else self._suggestions)

    @property
    def message(self) -> str:
        """The mistake in words, without its place."""
        parts = [self.problem]
        if self.expected:
            parts.append(f"expected {self.expected}")
        if suggestions := self.suggestions:
            parts.append(f"did you mean {either(suggestions)}?")
        return "; ".join(parts)

    def __str__(self) -> str:
        place = f"column {self.column}" if self.line is None else f"line {self.line}, column {self.column}"
        return f"{place}: {self.message}"


def either(words: Sequence[str]) -> str:
    """``a, b or c``."""
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def compact(text: str) -> str:
    """A name without case, accents, spaces and punctuation: what exact names are compared by."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in plain if letter.isascii() and letter.isalnum())


def words_of(text: str) -> tuple[str, ...]:
    """The words of a name, without a leading "the"."""
    words = tuple(filter(None, (compact(word) for word in re.split(r"[\s_\-]+", text))))
    return words[1:] if len(words) > 1 and words[0] == "the" else words


SMALL_WORDS = ("of", "the")
TITLES = ("ser", "lord", "lady", "prince", "princess", "king")

AREA_ABBREVIATIONS = {
    "bw": "blackwater",
    "bwb": "blackwater-bay",
    "cc": "crackclaw-point",
    "ds": "dragonstone",
    "hg": "highgarden",
    "hh": "harrenhal",
    "lp": "lannisport",
    "ot": "oldtown",
    "redwynestraits": "redwyne-straights",
    "rr": "riverrun",
    "sf": "starfall",
    "sg": "seagard",
    "sp": "sunspear",
    "stonysept": "stoney-sept",
    "wf": "winterfell",
    "whiteharbour": "white-harbor",
    "yw": "yronwood",
}
CARD_NICKNAMES = {
    "bronzeviper": "the-red-viper",
    "imp": "tyrion-lannister",
    "kingslayer": "ser-jaime-lannister",
    "knightofflowers": "ser-loras-tyrell",
    "mountain": "ser-gregor-clegane",
    "ned": "eddard-stark",
    "oberyn": "the-red-viper",
    "olenna": "queen-of-thorns",
    "onionknight": "ser-davos-seaworth",
    "sandor": "the-hound",
}
TRACK_NAMES = {"iron-throne": "Iron Throne", "fiefdoms": "Fiefdoms", "kings-court": "King's Court"}
TRACK_NICKNAMES = {
    "blade": "fiefdoms",
    "fief": "fiefdoms",
    "fiefs": "fiefdoms",
    "valyriansteelblade": "fiefdoms",
    "raven": "kings-court",
    "messengerraven": "kings-court",
    "kingscourttrack": "kings-court",
    "fiefdomstrack": "fiefdoms",
    "ironthronetrack": "iron-throne",
}


class Names:
    """One vocabulary: how everything of one kind may be called."""

    def __init__(self, what: str, names: Mapping[str, str], nicknames: Mapping[str, str]) -> None:
        self.what = what
        self.names = dict(sorted(names.items()))
        self._exact: dict[str, list[str]] = {}
        self._short: dict[str, list[str]] = {}
        self._words: dict[str, tuple[tuple[str, ...], ...]] = {}
        for id_, name in self.names.items():
            both = tuple(dict.fromkeys((words_of(id_), words_of(name))))
            for key in (compact(id_), compact(name), *("".join(words) for words in both)):
                _add(self._exact, key, id_)
            for words in both:
                for initials in _initials(words):
                    _add(self._short, initials, id_)
            self._words[id_] = both
        for nickname, id_ in nicknames.items():
            if id_ in self.names:
                _add(self._short, nickname, id_)
        # "Port of X" is named by X, so it takes part in a search only where the letter says "port".
        self._ports: dict[str, str] = {}
        for id_, variants in self._words.items():
            for words in variants:
                if words[:2] == ("port", "of"):
                    for land in self._exact.get("".join(words[2:]), ()):
                        self._ports[land] = id_

    def find(self, text: str) -> tuple[str, ...]:
        """Everything ``text`` may mean, judged by the best way of reading it: exact, abbreviated, in part."""
        if len(text) > LONGEST_TEXT:
            return ()
        words = words_of(text)
        exact = self._exact.get(compact(text)) or self._exact.get("".join(words))
        if exact:
            return tuple(exact)
        if "port" in words and self._ports:
            rest = " ".join(word for word in words if word not in ("port", "of"))
            lands = self.find(rest) if rest else tuple(self._ports)
            return tuple(self._ports[land] for land in lands if land in self._ports)
        if short := self._short.get(compact(text)) or self._short.get("".join(words)):
            return tuple(short)
        if not words or sum(map(len, words)) < 3:
            return ()
        ports = set(self._ports.values())
        searched = [id_ for id_ in self.names if id_ not in ports]
        return tuple(id_ for id_ in searched if any(_within(words, name) for name in self._words[id_]))

    def port_of(self, land: str) -> str | None:
        """The port that is called after this area."""
        return self._ports.get(land)

    def resolve(self, text: str, column: int) -> str:
        """The one thing meant. Raises NotationError when there is none, or more than one."""
        found = self.find(text)
        if len(found) == 1:
            return found[0]
        if found:
            raise NotationError(f'"{text}" could be {either(found)}', column)
        words = words_of(text[:LONGEST_TEXT])
        lands = self.find(" ".join(word for word in words if word not in ("port", "of"))) if "port" in words else ()
        if len(lands) == 1:
            raise NotationError(f"{lands[0]} has no port", column)
        raise NotationError(f'no {self.what} "{text}"', column, suggestions=lambda: self.similar(text))

    def similar(self, text: str) -> tuple[str, ...]:
        """Ids with a name like ``text``."""
        if len(text) > LONGEST_NAME:
            return ()
        close = difflib.get_close_matches(compact(text), list(self._exact), n=3, cutoff=0.7)
        return tuple(dict.fromkeys(id_ for key in close for id_ in self._exact[key]))[:3]


def _add(index: dict[str, list[str]], key: str, id_: str) -> None:
    if id_ not in index.setdefault(key, []):
        index[key].append(id_)


def _initials(words: tuple[str, ...]) -> tuple[str, ...]:
    """``motm`` and ``mm`` for the Mountains of the Moon; without titles too."""
    plain = tuple(word for word in words if word not in SMALL_WORDS)
    untitled = tuple(word for word in plain if word not in TITLES)
    return tuple(dict.fromkeys("".join(w[0] for w in some) for some in (words, plain, untitled) if len(some) > 1))


def _within(query: tuple[str, ...], name: tuple[str, ...]) -> bool:
    """Whether the words of ``query`` begin words of ``name`` in the same order."""
    rest = iter(name)
    return all(any(word.startswith(asked) for word in rest) for asked in query)


# Orders

ORDER_WORDS: dict[str, tuple[str, ...]] = {
    "march": ("march", "m", "mar"),
    "defense": ("defense", "defence", "def", "d"),
    "support": ("support", "supp", "sup", "s"),
    "consolidate": ("consolidate", "consolidatepower", "cp", "con", "cons", "c"),
    "raid": ("raid", "r"),
}


def short_order(token: OrderId) -> str:
    """An order in canonical text: ``march-plus-1`` is march+1, ``raid-star`` raid*, both twins of Raid raid."""
    text = re.sub(r"-[ab]$", "", token)
    if text.startswith("defense-plus-1"):
        return "defense"
    if text.startswith("support-plus-1"):
        return "support*"
    return text.replace("-star", "*").replace("-plus-", "+").replace("-minus-", "-").removesuffix("-0")


def order_key(text: str) -> str:
    """An order as it is looked up: ``Special March``, ``march *`` and ``march-star`` are alike."""
    key = re.sub(r"[\s_'.]+", "", text.casefold())
    key = re.sub(r"-?(special|starred|star|\*)-?", "*", key)
    key = re.sub(r"-?plus-?", "+", key)
    key = re.sub(r"-?minus-?", "-", key).replace("-+", "+")
    return f"{key[1:]}*" if key.startswith("*") else key


class Orders:
    """The order tokens of one edition and what they may be called."""

    def __init__(self, tokens: Sequence[OrderToken]) -> None:
        self.tokens = tuple(token.id for token in tokens)
        self._exact = {order_key(token.id): token.id for token in tokens}
        self._alike: dict[str, list[OrderId]] = {}
        for token in tokens:
            _add(self._alike, short_order(token.id), token.id)
        self._short: dict[str, str] = {}
        for token in tokens:
            only_star = token.star and sum(other.star and other.type == token.type for other in tokens) == 1
            for word in ORDER_WORDS.get(token.type, (token.type,)):
                for ending in _endings(token, only_star):
                    self._short.setdefault(order_key(word + ending), short_order(token.id))

    def find(self, text: str) -> tuple[OrderId, ...]:
        """The tokens ``text`` may mean: one, both twins in canonical order, or none."""
        key = order_key(text)
        if key in self._exact:
            return (self._exact[key],)
        return tuple(self._alike[self._short[key]]) if key in self._short else ()

    def resolve(self, text: str, column: int) -> tuple[OrderId, ...]:
        found = self.find(text)
        if found:
            return found
        raise NotationError(f'no order "{text}"', column, suggestions=lambda: self.similar(text))

    def similar(self, text: str) -> tuple[str, ...]:
        """Short forms like ``text``, or all of them."""
        key = order_key(text[:LONGEST_NAME])
        close = difflib.get_close_matches(key, list(self._short), 4, 0.7)
        return tuple(dict.fromkeys(self._short[close_key] for close_key in close)) or tuple(self._alike)


def _endings(token: OrderToken, only_star: bool) -> Iterable[str]:
    """What may follow the name of the type for this token."""
    short = short_order(token.id)
    yield short[len(token.type) :]
    if token.modifier:
        yield f"{token.modifier:+d}"
        if token.star:
            yield f"{token.modifier:+d}*"
    elif not token.star and token.type in ("march", "support"):
        yield from ("+0", "-0", "0")
    if only_star:
        yield "*"


@dataclass(frozen=True)
class Lexicon:
    """Every name of one edition."""

    areas: Names
    houses: Names
    cards: Names
    tracks: Names
    orders: Orders


def lexicon(
    *,
    areas: Mapping[AreaId, str],
    houses: Mapping[HouseId, str],
    cards: Mapping[CardId, str],
    tokens: Sequence[OrderToken],
) -> Lexicon:
    """A lexicon from an edition's tables: English names by id, and the order tokens in canonical sequence."""
    tracks: dict[str, str] = {track: TRACK_NAMES.get(track, track) for track in TRACKS}
    return Lexicon(
        areas=Names("area", areas, AREA_ABBREVIATIONS),
        houses=Names("House", houses, {compact(f"house {name}"): id_ for id_, name in houses.items()}),
        cards=Names("House card", cards, CARD_NICKNAMES),
        tracks=Names("track", tracks, TRACK_NICKNAMES),
        orders=Orders(tokens),
    )
