"""The words that begin an answer and the words an answer is made of, with their synonyms."""

from __future__ import annotations

from domain.thrones.language.answers import ALL_ABILITIES, ANSWERS, KINDS
from domain.thrones.notation.words import compact

DRAFT = "draft"
"""Reads as ``assign-orders``, but is kept for a missed deadline only."""

USAGE: dict[str, str] = {kind: answer.usage for kind, answer in zip(KINDS, ANSWERS, strict=True)}
"""How each kind is written, for people who wrote it otherwise."""

_MORE_HEADS: dict[str, tuple[str, ...]] = {
    "ability": ("card-ability",),
    "accept": ("accept-support",),
    "ask": ("neutral-support-request",),
    "ask support": ("neutral-support-request",),
    "bid": ("influence-bid", "wildling-bid"),
    "blade": ("blade-redraw", "blade-strength"),
    "capture": ("capture-ships",),
    "card": ("house-card",),
    "choose": ("house-card",),
    "consolidate power": ("consolidate",),
    "cp": ("consolidate",),
    "crow killers": ("crow-killers-degrade", "crow-killers-upgrade"),
    "destroy": ("reconcile-supply", "destroy-units", "horde-castle-units"),
    "discard": ("massing-discard",),
    "draft": (DRAFT,),
    "draft orders": (DRAFT,),
    "grant": ("neutral-support",),
    "horde muster": ("horde-muster-area",),
    "lose": ("casualties", "skull-casualty", "retreat-losses"),
    "losses": ("casualties",),
    "lower": ("king-beyond-lower",),
    "messenger raven": ("raven",),
    "move": ("march",),
    "order": ("assign-orders",),
    "orders": ("assign-orders",),
    "play": ("house-card",),
    "power": ("consolidate",),
    "raise": ("king-beyond-raise",),
    "reconcile": ("reconcile-supply",),
    "recruit": ("muster",),
    "request support": ("neutral-support-request",),
    "retreat": ("retreat-area",),
    "retrieve": ("mammoth-retrieve",),
    "skull": ("skull-casualty",),
    "supply": ("reconcile-supply",),
    "tentative orders": (DRAFT,),
    "tie": ("influence-tie", "wildling-tie"),
}
HEADS: dict[str, tuple[str, tuple[str, ...]]] = {
    compact(head): (head, kinds)
    for head, kinds in {
        **{kind: (kind,) for kind in KINDS},
        **_MORE_HEADS,
        **{ability: (ability,) for ability in ALL_ABILITIES},
    }.items()
}
"""How an answer may begin (without spaces and hyphens): its spelling, and the kinds it may be."""

NOTHING = ("nothing", "none", "no", "nobody", "nowhere", "notarget", "nomove", "nomoves", "hold", "pass", "stay")
_YES, _NO = ("yes", "y", "true", "ok"), ("no", "n", "false")
_NOTHING = ("none", "no", "neither", "pass")

WORDS: dict[str, dict[str, tuple[str, ...]]] = {
    "throne-of-blades": {"supply": (), "mustering": ("muster",), "nothing": _NOTHING},
    "dark-wings": {
        "clash-of-kings": ("clash", "cok", "bid", "bidding"),
        "collect-power": ("power", "collect", "gameofthrones"),
        "nothing": _NOTHING,
    },
    "put-to-the-sword": {
        "no-defense": ("nodefence", "nodefenseorders", "nodefenceorders"),
        "no-march-plus-1": ("nomarch1", "nomarchplusone", "nospecialmarch", "nomarchstar"),
        "no-restriction": ("norestrictions", "none", "nothing"),
    },
    "preemptive-raid": {
        "destroy-units": ("destroy", "destroytwounits", "destroy2units", "units"),
        "lose-influence": ("influence", "loseposition", "losepositions", "track", "lose2positions"),
    },
    "raven": {
        "look": ("peek", "lookatthewildlingcard", "lookatwildlingcard", "lookatcard", "lookatthecard", "wildlings"),
        "nothing": (*_NOTHING, "keep"),
    },
    "raven-card": {"top": ("ontop", "keep", "leave"), "bottom": ("under", "onbottom", "tothebottom", "bury")},
    "neutral-support": {"grant": (*_YES, "give", "support", "granted"), "withhold": (*_NO, "refuse", "deny", "none")},
    "consolidate": {"power": ("cp", "collect", "tokens"), "muster": ("mustering", "recruit")},
    "support": {
        "attacker": ("attack", "attacking", "att", "a"),
        "defender": ("defend", "defending", "defence", "defense", "def", "d"),
        "withhold": ("no", "n", "none", "nobody", "noone", "neither", "nothing", "refuse", "withheld", "w"),
    },
    "accept-support": {"accept": (*_YES, "accepted", "take"), "refuse": (*_NO, "refused", "reject", "decline")},
    "blade-redraw": {"use": (*_YES, "redraw"), "keep": (*_NO, "leave", "donotuse", "dontuse")},
    "blade-strength": {"use": (*_YES,), "do-not-use": (*_NO, "keep", "dontuse", "save", "notuse")},
    "tyrion-cancel": {"cancel": (*_YES, "use"), "leave": (*_NO, "keep", "donotcancel", "dontcancel", "nothing")},
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
