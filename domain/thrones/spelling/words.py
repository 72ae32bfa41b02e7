"""Words that many kinds of answer are made of, with their synonyms."""

from __future__ import annotations

YES, NO = ("yes", "y", "true", "ok"), ("no", "n", "false")
PASS = ("none", "no", "neither", "pass")
NOTHING = ("nothing", "none", "no", "nobody", "nowhere", "notarget", "nomove", "nomoves", "hold", "pass", "stay")
KEEP = ("keep", "no", "n", "none", "nothing", "leave", "stay")
NONE = ("none", "no", "n", "nothing", "nobody", "neither", "nowhere", "pass", "skip")
LEAVE = ("leave", "leaveittotheloser", "leaveittohim", "leavetoloser", "loserchooses", "letloserchoose")
LEAVE_POWER = ("leavepower", "leavepowertoken", "leaveapowertoken", "leavethepowertoken", "leavetoken", "leaveatoken",
               "powertoken", "placepowertoken", "placepower", "leave1power", "leaveonepower")  # fmt: skip

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
