"""The words of the log format for Houses, areas, pieces, orders and cards, and our ids for them.

An id is the name in small letters with hyphens, so that a name is read without a table; what the format spells
otherwise, and what apostrophes hide, stands in the tables here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from domain.thrones.language.pieces import AreaId, CardId, HouseId, OrderId, Unit
from domain.thrones.tables.editions.composed import FIRST, SECOND

HOUSES: tuple[HouseId, ...] = tuple(sorted(house.id for house in SECOND.houses))

TRACKS: dict[str, str] = {"iron-throne": "Iron Throne", "fiefdoms": "Fiefdoms", "kings-court": "King's Court"}

HOLDERS: dict[str, str] = {
    "iron-throne-token": "Iron Throne",
    "valyrian-steel-blade": "Valyrian Steel Blade",
    "messenger-raven": "Messenger Raven",
}

ORDERS: dict[str, str] = {
    "march-minus-1": "March(-1)",
    "march-0": "March",
    "march-plus-1": "March(+1)",
    "defense-plus-1": "Defense(+1)",
    "defense-plus-2": "Defense(+2)",
    "support-0": "Support",
    "support-plus-1": "Support(+1)",
    "raid": "Raid",
    "raid-star": "Raid(*)",
    "consolidate": "Consolidate Power",
    "consolidate-star": "Consolidate Power(*)",
}
"""Order tokens as the format prints them; the key is the id of the token without the letter of its copy."""

UNITS: dict[Unit, tuple[str, str]] = {
    "footman": ("Footman", "Footmen"),
    "knight": ("Knight", "Knights"),
    "siege-engine": ("Siege Engine", "Siege Engines"),
    "ship": ("Ship", "Ships"),
}

MUSTERED: dict[str, tuple[str, str]] = {
    "footman": UNITS["footman"],
    "knight-upgrade": ("Upgrades to a Knight", "Upgrades to a Knight"),
    "siege-engine-upgrade": ("Upgrades to a Siege Engine", "Upgrades to a Siege Engine"),
    "knight": UNITS["knight"],
    "siege-engine": UNITS["siege-engine"],
    "ship": UNITS["ship"],
}
"""What a muster lists, in the order in which it does."""

AREAS: tuple[AreaId, ...] = tuple(sorted({area.id for tables in (FIRST, SECOND) for area in tables.areas}))
HOUSE_CARDS: dict[CardId, HouseId] = {card.id: card.house for tables in (FIRST, SECOND) for card in tables.house_cards}
"""Both editions' cards; where they give one card to two Houses, the second edition's owner."""
WESTEROS_CARDS: tuple[CardId, ...] = tuple(
    dict.fromkeys(card.id[3:] for tables in (SECOND, FIRST) for deck in tables.westeros_decks.values() for card in deck)
)
"""Westeros cards without the number of their deck, which the format does not tell."""
TIDES_CARDS: tuple[CardId, ...] = tuple(card.id for card in SECOND.tides_cards)
WILDLING_CARDS: tuple[CardId, ...] = tuple(card.id for card in SECOND.wildling_cards)

SPELLED: dict[str, str] = {
    "storms-end": "Storms End",
    "port-of-storms-end": "Port of Storms End",
    "dagmar-cleftjaw": "Dagmer Cleftjaw",
    "theon-greyjoy": "Theon Grejoy",
    "put-to-the-sword": "Put To the Sword",
    "winter-is-coming": "Winter is Coming",
}
"""Where the format does not spell as we do."""

OTHERWISE: dict[str, str] = {
    "the-queen-of-thorns": "queen-of-thorns",
    "sir-rodrik-cassel": "ser-rodrick-cassel",
    "ser-rodrik-cassel": "ser-rodrick-cassel",
    "blackfish": "the-blackfish",
    "hound": "the-hound",
    "red-viper": "the-red-viper",
    "cercei-lannister": "cersei-lannister",
    "margery-tyrell": "margaery-tyrell",
    "lord-mormont": "house-mormont-lord",
    "blacktyde-captain": "house-blacktyde-captain",
    "lannister-captain": "house-lannister-captain",
    "robert-baratheon": "house-florent-lord",
    "tyrell-captain": "house-tyrell-captain",
    "the-boneway-pass": "the-boneway",
    "redwyne-straits": "redwyne-straights",
    "stony-sept": "stoney-sept",
    "mountains-of-the-moon": "the-mountains-of-the-moon",
    "wildlings-attacks": "wildlings-attack",
    "massing-on-the-milk-water": "massing-on-the-milkwater",
    "pre-emptive-raid": "preemptive-raid",
    "skin-changer-scout": "skinchanger-scout",
    "rattleshirt-raiders": "rattleshirts-raiders",
    "king-beyond-the-wall": "a-king-beyond-the-wall",
    "horde-descends": "the-horde-descends",
}
"""Spellings of other hands."""

_printed: dict[str, str] = {}
for _tables in (FIRST, SECOND):
    _printed |= {area.id: area.name for area in _tables.areas}
    _printed |= {card.id: card.name for card in _tables.house_cards}
    _printed |= {card.id: card.name for card in _tables.wildling_cards}
    _printed |= {card.id[3:]: card.name for deck in _tables.westeros_decks.values() for card in deck}

_small_words = ("of", "the", "to", "on", "for", "at", "is")


def slug(name: str) -> str:
    """A name as an id: small letters, no apostrophes, hyphens between words."""
    return "-".join(re.findall(r"[^\W_]+", name.lower().replace("'", "")))


def word(name: str) -> str:
    """The format's word for an id."""
    if name in SPELLED or name in _printed:
        return SPELLED.get(name) or _printed[name]
    words = name.split("-")
    return " ".join(one if one in _small_words and at else one.capitalize() for at, one in enumerate(words))


_ids: Mapping[str, str] = {slug(text): name for name, text in SPELLED.items()}


def id_of(name: str) -> str:
    """Our id for a name in a log, of an area or a card; a name that nobody knows becomes an id all the same."""
    found = slug(name.strip())
    for prefix in ("the-port-of-", "port-of-the-"):
        if found.startswith(prefix):
            found = "port-of-" + found.removeprefix(prefix)
    known = _ids.get(found) or OTHERWISE.get(found) or found
    for other in (f"the-{known}", known.removeprefix("the-")):
        if known not in _known and other in _known:
            return other
    return known


_known = {*AREAS, *HOUSE_CARDS, *WESTEROS_CARDS, *WILDLING_CARDS}


def house_word(house: HouseId) -> str:
    return house.capitalize()


def order_id(text: str) -> str | None:
    """An order in the format's words (``March(+1)``) as ours; None for what is no order."""
    found = re.sub(r"\s+", "", text.lower()).removesuffix("order").replace("defence", "defense")
    return _orders.get(found)


_orders: Mapping[str, str] = {
    **{re.sub(r"\s+", "", words.lower()): order for order, words in ORDERS.items()},
    "march(0)": "march-0",
    "march(+0)": "march-0",
    "defense": "defense-plus-1",
    "defense(*)": "defense-plus-2",
    "support(0)": "support-0",
    "support(+0)": "support-0",
    "support(*)": "support-plus-1",
    "march(*)": "march-plus-1",
    "consolidatepower(+0)": "consolidate",
    "specialraid": "raid-star",
    "specialconsolidatepower": "consolidate-star",
}


def order_of_token(token: OrderId) -> str:
    """The order that a token of ours is, whichever copy it is."""
    return re.sub(r"-[ab]$", "", token)


_second_cards = {card.id for card in SECOND.house_cards}


def nicknamed(house: HouseId, name: str) -> CardId:
    """The card of a House that the format calls by one word of its name (``Tyrion``)."""
    short = slug(name)
    own = [card for card, owner in HOUSE_CARDS.items() if owner == house]
    for cards in (own, HOUSE_CARDS):
        found = [card for card in cards if f"-{short}-" in f"-{card}-"]
        if found:
            return min(found, key=lambda card: (card != short, card not in _second_cards, card))
    return id_of(name)


def nickname(card: CardId) -> str:
    """The one word by which the format calls a card whose owner decides about its text, if one word is enough."""
    house = HOUSE_CARDS.get(card, "")
    words = [one for one in word(card).split() if one not in ("Ser", "The", "House", "of")]
    return next((one for one in words if nicknamed(house, one) == card), word(card))
