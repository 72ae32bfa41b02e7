"""Charters for people: made from a preset and what a table says otherwise, and explained in English."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from domain.kernel.refusal import Refusal
from domain.thrones.language.pieces import HouseId
from domain.thrones.tables.arbitration import DISPUTES, DisputeOption
from domain.thrones.tables.charter import AS_PRINTED, Charter, Switches, Variations
from domain.thrones.tables.edition import Assumption
from domain.thrones.tables.editions.composed import assumptions_of, compose
from domain.thrones.tables.variations import (
    NAMED,
    PRESETS,
    VARIATIONS,
    Preset,
    Variation,
    chosen,
    first_topics,
    without_effect,
    words_of,
)

SECOND = "second-edition"
"""The preset to begin from when nobody says another."""

BOOKS: tuple[Preset, ...] = tuple(preset for preset in PRESETS.values() if preset.is_book)

CHAPTERS: Mapping[str, str] = {
    "GEN": "terms",
    "MAP": "the map",
    "COMP": "pieces",
    "SET": "set-up",
    "RND": "the round",
    "LIM": "limits",
    "SUP": "supply",
    "MUS": "mustering",
    "COK": "Clash of Kings",
    "TRK": "influence tracks",
    "ACT": "the action phase",
    "MAR": "marches",
    "TRN": "ship transport",
    "CTL": "control",
    "DP": "defaults",
    "FEW": "fewer players",
    "CLN": "clean-up",
    "HID": "what is hidden",
    "ORD": "order tokens",
    "GOT": "Game of Thrones",
    "HC": "House cards",
    "HCX": "House cards",
    "HCB": "House cards",
    "HCL": "House cards",
    "HCS": "House cards",
    "HCM": "House cards",
    "HCG": "House cards",
    "HCT": "House cards",
    "WES": "the Westeros phase",
    "WEC": "Westeros cards",
    "WLD": "wildlings",
    "WLC": "wildling cards",
    "RAID": "raids",
    "CP": "Consolidate Power",
    "PLN": "planning",
    "RVN": "the Messenger Raven",
    "CBT": "combat",
    "CAS": "casualties",
    "RET": "retreat",
    "CUP": "the end of a combat",
    "NEU": "neutral forces",
    "GAR": "garrisons",
    "PRT": "ports",
    "VIC": "victory",
}
"""Chapters of the specification by the middle part of their rules' identifiers."""


def new_charter(
    edition: str,
    players: int,
    words: Mapping[str, str] | None = None,
    tables: Mapping[str, Any] | None = None,
) -> Charter:
    """A charter without seats: a preset, what is said otherwise (by name of switch or variation), and own tables.

    Raises Refusal for what does not exist or does not fit together.
    """
    if edition not in PRESETS:
        raise Refusal("unknown-edition", unknown=True, edition=edition, known=sorted(PRESETS))
    variations, switches = chosen(PRESETS[edition], words or {})
    played = compose(variations, tables)
    if players not in played.player_counts:
        counts = list(played.player_counts)
        cause = _in_the_way(variations, players)
        raise Refusal(
            "wrong-number-of-players", played.law.cite(("2E-SET-1",)), players=players, allowed=counts, **cause
        )
    charter = Charter(edition, tuple(sorted(played.players(players).houses)), switches)
    if variations != AS_PRINTED:
        charter = msgspec.structs.replace(charter, variations=variations)
    if tables:
        charter = msgspec.structs.replace(charter, tables=dict(sorted(tables.items())))
    return with_assumptions(charter)


def _in_the_way(variations: Variations, players: int) -> dict[str, Any]:
    """The word that takes the home of a House out of play, where so many could play without it."""
    open_to_all = msgspec.structs.replace(variations, drowned_pyke="off")
    if variations == open_to_all or players not in compose(open_to_all).player_counts:
        return {}
    return {"switch": "drowned-pyke", "word": variations.drowned_pyke}


def with_assumptions(charter: Charter) -> Charter:
    """The charter with what its data takes for granted, where there is anything to say."""
    found = tuple(one.id for one in assumptions_of(charter))
    return msgspec.structs.replace(charter, assumed=found or msgspec.UNSET)


def most_players(edition: str, words: Mapping[str, str] | None = None) -> int:
    """The largest number of Houses that a preset is for, so changed. Raises Refusal."""
    if edition not in PRESETS:
        raise Refusal("unknown-edition", unknown=True, edition=edition, known=sorted(PRESETS))
    return max(compose(chosen(PRESETS[edition], words or {})[0]).player_counts)


def houses_of(edition: str, players: int, words: Mapping[str, str] | None = None) -> tuple[HouseId, ...]:
    """The Houses that play, ascending. Raises Refusal."""
    return new_charter(edition, players, words).houses


# Explaining


class Choice(msgspec.Struct, frozen=True):
    """One switch or variation on which a table and a book differ: both words with what they mean."""

    name: str
    about: str
    word: str
    means: str
    book_word: str
    book_means: str


class Assumed(msgspec.Struct, frozen=True):
    """What the tables state although no good source does."""

    id: str
    about: str
    confidence: str
    text: str


class Explanation(msgspec.Struct, frozen=True):
    """How a charter differs from its book.

    ``preset`` is the nearest one and ``departures`` the names on which they differ; ``book`` is the nearer book and
    ``differs`` everything on which they differ. ``without_effect`` has words that the preset has otherwise and that
    change nothing at this table, with the words that other switches would need; they count nowhere else.
    ``first_chapters`` go by the first edition's rules, the others by the second's. ``own_tables`` are the organiser's
    values by pointer. ``sentences`` tell all of it in English.
    """

    edition: str
    preset: str
    departures: tuple[str, ...]
    without_effect: dict[str, dict[str, tuple[str, ...]]]
    book: str
    differs: tuple[Choice, ...]
    first_chapters: tuple[str, ...]
    own_tables: dict[str, Any]
    assumed: tuple[Assumed, ...]
    sentences: tuple[str, ...]

    @property
    def is_as_printed(self) -> bool:
        """Whether the table plays a book as it is printed."""
        return not self.differs and not self.own_tables


class SwitchTold(msgspec.Struct, frozen=True):
    """A switch or variation: what its words mean, what a word needs, and what each preset says.

    ``matters`` has what others must say for any of its words to have an effect.
    """

    name: str
    about: str
    readings: dict[str, str]
    needs: dict[str, dict[str, tuple[str, ...]]]
    matters: dict[str, tuple[str, ...]]
    chapters: tuple[str, ...]
    presets: dict[str, str]


class PresetTold(msgspec.Struct, frozen=True):
    """A charter to begin from, with every word of it."""

    id: str
    name: str
    is_book: bool
    players: tuple[int, ...]
    words: dict[str, str]


class Catalogue(msgspec.Struct, frozen=True):
    """Everything that a charter can say."""

    presets: tuple[PresetTold, ...]
    switches: tuple[SwitchTold, ...]
    disputes: tuple[DisputeOption, ...]


def catalogue() -> Catalogue:
    """All presets, and all switches and variations with their readings."""
    return Catalogue(
        presets=tuple(
            PresetTold(one.id, one.name, one.is_book, compose(one.variations).player_counts, _words(one))
            for one in PRESETS.values()
        ),
        switches=tuple(
            SwitchTold(
                name=name,
                about=one.about,
                readings=one.readings,
                needs=one.needs,
                matters=one.matters,
                chapters=_chapters(one.topics),
                presets={preset.id: _words(preset)[name] for preset in PRESETS.values()},
            )
            for name, one in NAMED.items()
        ),
        disputes=DISPUTES,
    )


def explain_charter(charter: Charter) -> Explanation:
    """How a charter differs from its book, what is assumed, and which rules it touches."""
    words = charter_words(charter)
    preset = _nearest(words, PRESETS.values(), charter.edition)
    book = _nearest(words, BOOKS, charter.edition)
    variations = charter.agreed
    explained = Explanation(
        edition=charter.edition,
        preset=preset.id,
        departures=_departures(words, preset),
        without_effect={
            name: missing for name, missing in without_effect(words).items() if words[name] != _words(preset)[name]
        },
        book=book.id,
        differs=_choices(words, book),
        first_chapters=_chapters(tuple(topic for one in VARIATIONS for topic in one.topics), first_topics(variations)),
        own_tables=charter.tables if isinstance(charter.tables, dict) else {},
        assumed=tuple(_assumed(one) for one in assumptions_of(charter)),
        sentences=(),
    )
    return msgspec.structs.replace(explained, sentences=tuple(_sentences(explained, words)))


def charter_words(charter: Charter) -> dict[str, str]:
    """Every switch and variation by name with the word that a charter plays."""
    variations = charter.agreed
    return _agreed(variations, charter.switches)


def in_one_line(charter: Charter) -> str:
    """What a table plays otherwise than the second edition as printed; empty where it is played so."""
    told = explain_charter(charter)
    if told.is_as_printed and told.book == SECOND:
        return ""
    preset = PRESETS[told.preset]
    words = charter_words(charter)
    said = [f"{name} = {words[name]}" for name in told.departures]
    said += [f"own {pointer}" for pointer in told.own_tables]
    return f"Played by: {preset.name}{'; ' + ', '.join(said) if said else ''}."


def _agreed(variations: Variations, switches: Switches) -> dict[str, str]:
    said = words_of(variations) | words_of(switches)
    return {name: said[name] for name in NAMED}


def _words(preset: Preset) -> dict[str, str]:
    return _agreed(preset.variations, preset.switches)


def _departures(words: Mapping[str, str], preset: Preset) -> tuple[str, ...]:
    there, idle = _words(preset), without_effect(words)
    return tuple(name for name, word in words.items() if there[name] != word and name not in idle)


def _nearest(words: Mapping[str, str], presets: Any, begun_from: str) -> Preset:
    """The preset with the fewest departures; among equals the one that the charter began from, then in their order."""
    found: Preset = min(presets, key=lambda one: (len(_departures(words, one)), one.id != begun_from))
    return found


def _choices(words: Mapping[str, str], preset: Preset) -> tuple[Choice, ...]:
    """Everything on which a table and a preset differ."""
    there = _words(preset)
    idle = without_effect(there)
    return tuple(
        _choice(NAMED[name], words[name], there[name], has_effect=name not in idle)
        for name in _departures(words, preset)
    )


def _choice(one: Variation, word: str, book_word: str, *, has_effect: bool) -> Choice:
    book_means = one.readings[book_word] if has_effect else "has no effect there"
    return Choice(one.name, one.about, word, one.readings[word], book_word, book_means)


def _assumed(one: Assumption) -> Assumed:
    return Assumed(one.id, one.about, one.confidence, one.text)


def _chapters(topics: tuple[str, ...], among: frozenset[str] | None = None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(CHAPTERS[topic] for topic in topics if among is None or topic in among))


CONFIDENCE = {
    "unknown": "no source tells",
    "inferred": "inferred",
    "single-source": "one source, or sources differ",
}


def _sentences(told: Explanation, words: Mapping[str, str]) -> Iterator[str]:
    preset, book = PRESETS[told.preset], PRESETS[told.book]
    own = " and the organiser's own tables" if told.own_tables else ""
    if told.departures:
        number = "one thing" if len(told.departures) == 1 else f"{len(told.departures)} things"
        yield f"The nearest preset is {preset.id}: {preset.name}. The table plays {number} otherwise{own}."
    elif told.own_tables:
        yield f"The table plays {preset.id}: {preset.name}, with the organiser's own tables."
    else:
        yield f"The table plays {preset.id}: {preset.name}."
    if not preset.is_book:
        for one in _choices(words, preset):
            there = f"By {preset.id} ({one.book_word}): {one.book_means}."
            yield f"{one.name} = {one.word}: {one.about}: {one.means}. {there}"
    for name, missing in told.without_effect.items():
        needed = " and ".join(f"{other} = {' or '.join(fitting)}" for other, fitting in missing.items())
        yield f"{name} = {words[name]} has no effect at this table: only with {needed} would it have one."
    if told.differs and not preset.is_book:
        yield f"The nearer book is {book.id}: {book.name}."
    for one in told.differs:
        yield (f"{one.name} = {one.word}: {one.about}: {one.means}. By the book ({one.book_word}): {one.book_means}.")
    for pointer, value in told.own_tables.items():
        yield f"Own table: {pointer} is {msgspec.json.encode(value).decode()}."
    if told.first_chapters:
        yield f"By the first edition's rules (1E) go: {', '.join(told.first_chapters)}. By the second's (2E) all else."
    for said in told.assumed:
        yield f"Assumed ({CONFIDENCE[said.confidence]}): {said.about}. {said.text} [{said.id}]"
