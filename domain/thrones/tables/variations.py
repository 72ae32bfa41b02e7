"""What tables agree on, one by one: each variation with its readings, what it needs, and the chapters it moves.

The two books are two sets of readings (:data:`PRESETS`); a charter may take any other set whose needs are met.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from domain.kernel.agreed import Arbitration
from domain.kernel.refusal import Problems, Refusal
from domain.thrones.tables.charter import AS_PRINTED, Switches, Variations


@dataclass(frozen=True)
class Variation:
    """One thing that tables agree on.

    ``readings`` says in a sentence what each word means. ``needs`` names, for a word, what other variations must
    say for it to make sense. ``topics`` are the chapters of the specification (the middle part of its identifiers)
    that go by the first edition's book when the word is one of ``first``. ``alone`` are rules of the second edition
    without a counterpart, of chapters that another variation moves: they are cited unless the word is one of ``first``.
    ``matters`` names what other variations must say for any of its words to have an effect.
    """

    name: str
    about: str
    readings: dict[str, str]
    needs: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    topics: tuple[str, ...] = ()
    first: tuple[str, ...] = ("first",)
    alone: tuple[str, ...] = ()
    matters: dict[str, tuple[str, ...]] = field(default_factory=dict)


MARKERS_MOVE = ("2E-TRK-8", "2E-TRK-9", "2E-TRK-10", "2E-TRK-11")
"""Markers that a card moves along an influence track."""

BY_SWITCH = ("2E-VIC-6", "2E-VIC-7", "2E-VIC-8", "2E-DP-34", "2E-DP-37")
"""Rules that a switch of the charter brings into a game, and that are cited only then."""

VARIATIONS: tuple[Variation, ...] = (
    Variation(
        "map",
        "the board, its areas, start positions and neutral forces",
        {
            "second": "the second edition's board, three to six Houses",
            "first": "the first edition's board, three to five Houses; what an unplayed House starts with is neutral",
        },
        topics=(
            *("GEN", "MAP", "COMP", "SET", "RND", "LIM", "SUP", "MUS", "COK", "TRK", "ACT", "MAR", "TRN", "CTL"),
            *("DP", "FEW", "CLN", "HID", "ORD", "GOT"),
        ),
    ),
    Variation(
        "house-cards",
        "the House cards",
        {
            "second": "the second edition's cards, strengths 0 to 4",
            "first": "the first edition's cards, strengths 0 to 3",
        },
        needs={"first": {"map": ("first",)}},
        topics=("HC", "HCX", "HCB", "HCL", "HCS", "HCM", "HCG", "HCT"),
        alone=MARKERS_MOVE,
    ),
    Variation(
        "card-return",
        "a House that has played its last card",
        {
            "all-but-last": "takes back all its cards but the one played last",
            "all": "takes back all its cards, the one played last too",
        },
    ),
    Variation(
        "ability-order",
        "whose card text comes first",
        {
            "iron-throne": "the House higher on the Iron Throne track",
            "fiefdoms": "the House higher on the Fiefdoms track",
        },
    ),
    Variation(
        "westeros-cards",
        "the three Westeros decks",
        {
            "second": "the second edition's, three cards with a choice among them",
            "first": "the first edition's; Rains of Autumn takes the strength of Footmen in support",
        },
        topics=("WES", "WEC"),
        alone=("2E-LIM-6", "2E-WES-3", "2E-WES-8", "2E-DP-1", "2E-DP-2", "2E-DP-3"),
    ),
    Variation(
        "wildling-cards",
        "what a wildling attack does",
        {
            "second": "one of nine wildling cards decides",
            "first": "a win gives the highest bidder a used card; a loss costs units worth 2, the lowest bidder 4",
        },
        topics=("WLD", "WLC"),
        alone=(
            *("2E-SUP-9", "2E-DP-10", "2E-DP-11", *(f"2E-DP-{number}" for number in range(13, 21))),
            *MARKERS_MOVE,
        ),
    ),
    Variation(
        "wildling-strength",
        "the wildling track",
        {
            "second": "starts at 2; the last space brings an attack at once; a lost attack sets it two spaces back",
            "first": "starts at 0; attacks come by card alone; after any attack it goes back to 0",
        },
        alone=("2E-WES-5", "2E-WES-6"),
    ),
    Variation(
        "full-track",
        "the last space of the wildling track",
        {
            "attack": "brings an attack at once, where the track is the second edition's",
            "wait": "brings nothing; attacks come by card alone",
        },
        matters={"wildling-strength": ("second",)},
    ),
    Variation(
        "raid-orders",
        "the special Raid order and pillage",
        {
            "second": "one target, which may be a Defense order; a raided Consolidate Power costs a Power token",
            "first": "up to two targets, no Defense order; the raider gains Power, the victim loses the order",
        },
        topics=("RAID",),
    ),
    Variation(
        "consolidate-orders",
        "Consolidate Power",
        {
            "second": "in turn order, also at sea; the special order may muster in its area instead",
            "first": "all at once, on land only; the special order brings nothing extra",
        },
        topics=("CP",),
        alone=("2E-ORD-6", "2E-DP-29"),
    ),
    Variation(
        "orders",
        "areas with units",
        {
            "compulsory": "each gets an order, as far as tokens last",
            "optional": "may go without an order",
        },
        topics=("PLN",),
        first=("optional",),
        alone=("2E-LIM-4",),
    ),
    Variation(
        "raven",
        "the Messenger Raven",
        {
            "look": "replaces an order, or looks at the top wildling card",
            "replace": "replaces an order",
        },
        needs={"look": {"wildling-cards": ("second",)}},
        topics=("RVN",),
        first=("replace",),
        alone=("2E-DP-23",),
    ),
    Variation(
        "stars",
        "special orders by position on the King's Court track",
        {
            "second": "3 3 2 1 0 0 with five or six Houses, 3 2 1 0 with fewer",
            "first": "3 3 2 1 0, as far as there are Houses",
        },
        alone=("2E-SET-15", "2E-TRK-7"),
    ),
    Variation(
        "combat",
        "the small print of battle",
        {
            "second": "a final strength below 0 counts as 0; the routed die before casualties are taken",
            "first": "strength may fall below 0; the routed are no casualties and die when they must retreat",
        },
        topics=("CBT", "CAS", "RET", "CUP"),
    ),
    Variation(
        "neutral-attack",
        "support against a neutral force",
        {
            "second": "is asked for before the march is declared; a march too weak is refused",
            "first": "is declared after the march; units too weak stay where they were and the order is spent",
        },
        topics=("NEU",),
        alone=("2E-DP-26",),
    ),
    Variation(
        "garrisons",
        "garrisons",
        {"on": "of strength 2 in home areas", "off": "none"},
        topics=("GAR",),
        first=("off",),
        alone=("2E-SET-12", "2E-CTL-14", "2E-CAS-1"),
    ),
    Variation(
        "ports",
        "ports",
        {"on": "of the board, with their rules", "off": "none"},
        topics=("PRT",),
        first=("off",),
        alone=("2E-MAP-5", "2E-MUS-7", "2E-TRN-6", "2E-DP-28"),
    ),
    Variation(
        "siege-engines",
        "Siege Engines",
        {"on": "may be mustered", "off": "none"},
        first=("off",),
        alone=("2E-CBT-16", "2E-RET-14"),
    ),
    Variation(
        "siege-engine-limit",
        "how many Siege Engines a House may have",
        {"two": "two", "none": "as many as it can pay for"},
        needs={"none": {"siege-engines": ("on",)}},
    ),
    Variation("knight-limit", "how many Knights a House may have", {"five": "five", "four": "four"}),
    Variation("ship-limit", "how many Ships a House may have", {"six": "six", "five": "five"}),
    Variation(
        "greyjoy-start",
        "Greyjoy's second Ship at the start",
        {"port": "in the port of Pyke", "sea": "in Ironman's Bay"},
        needs={"port": {"ports": ("on",)}},
    ),
    Variation(
        "lannister-ship",
        "one more Ship for Lannister at the start",
        {"none": "no", "extra": "in the port of Lannisport, or in The Golden Sound where there are no ports"},
    ),
    Variation(
        "kings-court-errata",
        "Greyjoy and Tyrell on the first edition's King's Court track",
        {"off": "Greyjoy fourth, Tyrell fifth", "on": "Tyrell fourth, Greyjoy fifth, with five Houses"},
        needs={"on": {"map": ("first",)}},
    ),
    Variation(
        "victory",
        "areas with a castle, city or stronghold that win at once",
        {
            "seven": "7",
            "first": "7, with three Houses 8",
            "six": "6, a shorter game",
        },
        topics=("VIC",),
    ),
    Variation(
        "drowned-pyke",
        "Pyke",
        {"off": "an area like any other", "on": "impassable, its port too, with a neutral fleet in Ironman's Bay"},
        needs={"on": {"map": ("first",)}},
    ),
    Variation(
        "oldtown-crown",
        "Oldtown",
        {"off": "as printed", "on": "one more power icon"},
    ),
)

BY_NAME: Mapping[str, Variation] = {variation.name: variation for variation in VARIATIONS}

SWITCHES: tuple[Variation, ...] = (
    Variation(
        "tiebreak",
        "ties at the end",
        {
            "errata": "most land areas, then supply, then the Iron Throne track",
            "printed": "most Strongholds, then supply, then available Power, then the Iron Throne track",
            "first-edition": "supply, then available Power; still equal, the game is drawn",
        },
    ),
    Variation(
        "tides-of-battle",
        "Tides of Battle cards",
        {"off": "are not used", "on": "each side of a combat draws one"},
    ),
    Variation(
        "lannister-screen",
        "the Ship that Lannister has in the port of Lannisport at the start, on the second edition's board",
        {
            "errata": "is there with any number of Houses",
            "errata-4plus": "is there with four Houses or more",
            "printed": "is not there",
        },
        matters={"map": ("second",), "ports": ("on",)},
    ),
    Variation(
        "dark-wings-ports",
        "Power from ports when Dark Wings, Dark Words pays for power icons",
        {"no": "is not paid", "yes": "is paid"},
        matters={"westeros-cards": ("second",), "ports": ("on",)},
    ),
    Variation(
        "massing-equal-hand",
        "Massing on the Milkwater, when all cards in hand are of one strength",
        {"refresh": "all are discarded and the hand is taken back", "keep": "nothing is discarded"},
        matters={"wildling-cards": ("second",)},
    ),
    Variation(
        "ships-vs-salladhor",
        "Salladhor Saan against Victarion Greyjoy",
        {"zero": "Ships count 0", "turn-order": "both texts apply in turn order"},
        matters={"house-cards": ("second",)},
    ),
    Variation(
        "mace-last-unit",
        "Mace Tyrell, when he destroys the opponent's last unit",
        {"continue": "the combat goes on with support, orders and cards", "end": "the combat ends at once"},
        matters={"combat": ("second",)},
    ),
    Variation(
        "token-after-empty-win",
        "a Power token in an area that is won but that no unit enters",
        {"stays": "stays, and a home shield keeps its effect", "removed": "goes; nobody controls the area"},
        matters={"combat": ("second",)},
    ),
    Variation(
        "attacker-retreat-supply",
        "an attacker whose retreat exceeds his supply or a port",
        {"enforce": "destroys as many of the retreating units as needed", "ignore": "may exceed it"},
    ),
    Variation(
        "support-unit",
        "a House with several Support orders",
        {"per-order": "declares for each order alone", "per-house": "declares once for all its orders"},
    ),
)
"""The switches of section 0.4, told like the variations: to whoever plays, both are words of one agreement."""

NAMED: Mapping[str, Variation] = {one.name: one for one in (*SWITCHES, *VARIATIONS)}
"""Everything that a table can say otherwise, by name."""


@dataclass(frozen=True)
class Preset:
    """A charter to begin from. ``is_book``: it is what a rulebook says, not what a table has made of two."""

    id: str
    name: str
    variations: Variations
    switches: Switches
    is_book: bool = False


FIRST_EDITION = Variations(
    map="first",
    house_cards="first",
    ability_order="fiefdoms",
    westeros_cards="first",
    wildling_cards="first",
    wildling_strength="first",
    raid_orders="first",
    consolidate_orders="first",
    orders="optional",
    raven="replace",
    stars="first",
    combat="first",
    neutral_attack="first",
    garrisons="off",
    ports="off",
    siege_engines="off",
    knight_limit="four",
    greyjoy_start="sea",
    victory="first",
)

MIXED_FOUR = Variations(
    map="first",
    # At a table of this charter the track stood on its last space for two rounds, and nobody attacked.
    full_track="wait",
    stars="first",
    greyjoy_start="sea",
    drowned_pyke="on",
    oldtown_crown="on",
)

PRESETS: Mapping[str, Preset] = {
    "second-edition": Preset(
        "second-edition",
        "A Game of Thrones: The Board Game, second edition",
        AS_PRINTED,
        Switches(),
        is_book=True,
    ),
    "first-edition": Preset(
        "first-edition",
        "A Game of Thrones: The Board Game, first edition",
        FIRST_EDITION,
        Switches(tiebreak="first-edition"),
        is_book=True,
    ),
    "mixed-four": Preset(
        "mixed-four",
        "four Houses on the first edition's board by the second edition's rules",
        MIXED_FOUR,
        # Dark Wings, Dark Words brought Power for ports at the tables that this charter is taken from.
        Switches(dark_wings_ports="yes"),
    ),
}


def words_of(agreed: Variations | Switches | Arbitration) -> dict[str, str]:
    """Every variation, switch, or option of disputes, by name with the word that is chosen; of a number its digits."""
    values = {info.encode_name: getattr(agreed, info.name) for info in msgspec.structs.fields(type(agreed))}
    return {
        name: word if isinstance(word, str) else msgspec.json.encode(word).decode() for name, word in values.items()
    }


def chosen(preset: Preset, words: Mapping[str, str]) -> tuple[Variations, Switches]:
    """What a preset plays with some words said otherwise: switches and variations, by name.

    Raises Refusal ``unknown-switch`` or ``unknown-word`` with what may have been meant, ``variations-do-not-fit``.
    """
    agreed = words_of(preset.variations) | words_of(preset.switches)
    for written, word in words.items():
        name = written.replace("_", "-").lower()
        if name not in NAMED:
            begun = [one for one in NAMED if name and one.startswith(name[:40])]
            close = list(dict.fromkeys([*begun, *difflib.get_close_matches(name[:40], list(NAMED), 3, 0.6)]))[:3]
            raise Refusal("unknown-switch", unknown=True, switch=written[:40], suggestions=close, known=list(NAMED))
        readings = list(NAMED[name].readings)
        if word not in readings:
            close = difflib.get_close_matches(str(word)[:40], readings, 1, 0.6)
            raise Refusal(
                "unknown-word", unknown=True, switch=name, word=str(word)[:40], suggestions=close, known=readings
            )
        agreed[name] = word
    own = {one.name for one in SWITCHES}
    printed = words_of(AS_PRINTED)  # left out, so that one agreement is always written in the same bytes
    differing = {name: word for name, word in agreed.items() if name not in own and word != printed[name]}
    variations = msgspec.convert(differing, Variations)
    check_variations(variations)
    return variations, msgspec.convert({name: word for name, word in agreed.items() if name in own}, Switches)


def first_topics(variations: Variations) -> frozenset[str]:
    """Chapters that go by the first edition's book."""
    words = words_of(variations)
    return frozenset(topic for one in VARIATIONS if words[one.name] in one.first for topic in one.topics)


def second_alone(variations: Variations) -> frozenset[str]:
    """Rules that only the second edition has and whose subject is played at this table, whatever its chapters go by."""
    words = words_of(variations)
    return frozenset(BY_SWITCH).union(*(one.alone for one in VARIATIONS if words[one.name] not in one.first))


def without_effect(words: Mapping[str, str]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Of a whole agreement what has no effect, by name, with what other variations would have to say."""
    found = {
        one.name: {other: fitting for other, fitting in one.matters.items() if words[other] not in fitting}
        for one in NAMED.values()
    }
    return {name: missing for name, missing in found.items() if missing}


def unmet(variations: Variations) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    """What does not fit together: a variation, its word, and which other would have to say one of these words."""
    words = words_of(variations)
    for one in VARIATIONS:
        for other, fitting in one.needs.get(words[one.name], {}).items():
            if words[other] not in fitting:
                yield one.name, words[one.name], other, fitting


def check_variations(variations: Variations) -> None:
    """Raise a refusal that names everything that does not fit together."""
    problems = Problems()
    for name, word, other, fitting in unmet(variations):
        problems.add("variations-do-not-fit", (), variation=name, word=word, needs=other, words=list(fitting))
    problems.refuse()
