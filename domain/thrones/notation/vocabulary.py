"""The words that begin an answer and the words an answer is made of, with their synonyms."""

from __future__ import annotations

from domain.thrones.language.answers import ALL_ABILITIES, ANSWERS, KINDS, NO, YES
from domain.thrones.notation.words import compact

DRAFT = "draft"
"""Reads as ``assign-orders``, but is kept for a missed deadline only."""

USAGE: dict[str, str] = {kind: answer.usage for kind, answer in zip(KINDS, ANSWERS, strict=True)}
"""How each kind is written, for people who wrote it otherwise."""

_BY_HEAD: dict[str, tuple[str, ...]] = {head: (head,) for head in (*KINDS, *ALL_ABILITIES)}
for _answer in ANSWERS:
    for _head in _answer.heads:
        _BY_HEAD[_head] = (*_BY_HEAD.get(_head, ()), str(_answer.__struct_config__.tag))
for _head in ("draft", "draft orders", "tentative orders"):
    _BY_HEAD[_head] = (DRAFT,)
HEADS = {compact(head): (head, kinds) for head, kinds in _BY_HEAD.items()}
"""How an answer may begin (without spaces and hyphens): its spelling, and the kinds it may be."""

NOTHING = ("nothing", "none", "no", "nobody", "nowhere", "notarget", "nomove", "nomoves", "hold", "pass", "stay")
WORDS: dict[str, dict[str, tuple[str, ...]]] = {
    **{kind: answer.words for kind, answer in zip(KINDS, ANSWERS, strict=True) if answer.words},
    "tyrion-cancel": {"cancel": (*YES, "use"), "leave": (*NO, "keep", "donotcancel", "dontcancel", "nothing")},
}
"""The closed lists: the word of section 26 and what else is understood."""

KEEP = ("keep", "no", "n", "none", "nothing", "leave", "stay")
NONE = ("none", "no", "n", "nothing", "nobody", "neither", "nowhere", "pass", "skip")
LEAVE = ("leave", "leaveittotheloser", "leaveittohim", "leavetoloser", "loserchooses", "letloserchoose")
LEAVE_POWER = ("leavepower", "leavepowertoken", "leaveapowertoken", "leavethepowertoken", "leavetoken", "leaveatoken",
               "powertoken", "placepowertoken", "placepower", "leave1power", "leaveonepower")  # fmt: skip

ABILITY_WORDS: dict[str, str] = {
    **{compact(ability): ability for ability in ALL_ABILITIES},
    "aeron": "aeron-swap",
    "aerondamphair": "aeron-swap",
    "doran": "doran-track",
    "doranmartell": "doran-track",
    "mace": "mace-footman",
    "macetyrell": "mace-footman",
    "queenofthorns": "queen-of-thorns-order",
    "qot": "queen-of-thorns-order",
    "cersei": "cersei-order",
    "cerseilannister": "cersei-order",
    "renly": "renly-upgrade",
    "renlybaratheon": "renly-upgrade",
    "patchface": "patchface-discard",
    "luwin": "luwin-retrieve",
    "maesterluwin": "luwin-retrieve",
    "asha": "asha-order",
    "ashagreyjoy": "asha-order",
    "melisandre": "melisandre-discard",
    "melisandreofasshai": "melisandre-discard",
    "loras": "loras-footman",
    "serlorastyrell": "loras-footman",
}

WILDLINGS = ("wildlings", "wildling", "thewildlings", "nightswatch", "thenightswatch", "watch", "wildlingattack")

NUMBERS = {word: number for number, word in enumerate(
    ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
)}  # fmt: skip
UNIT_WORDS: dict[str, str] = {
    word: unit
    for unit, words in {
        "footman": ("f", "fm", "foot", "footman", "footmen", "footmans"),
        "ship": ("s", "sh", "ship", "ships"),
        "siege-engine": ("se", "siege", "sieges", "siegeengine", "siegeengines", "engine", "engines"),
        "knight": ("k", "kn", "knight", "knights"),
    }.items()
    for word in words
}
