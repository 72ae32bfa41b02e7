"""What a sentence means whose wording is not known: read off the names in it and a few verbs.

Many kinds of entries were met in no log, and no table tells all of them. A rule here has the names that a record
needs, neither more nor fewer, and the words that tell it from other records with the same names. Where no rule fits,
or a line says something that no rule uses, nothing is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

from api.games.thrones.logs import names as n
from api.games.thrones.logs import records as r
from api.games.thrones.logs.said import STRENGTHS, Said, said
from domain.thrones.language.pieces import HouseId


class Rule(msgspec.Struct, frozen=True):
    """A kind of sentence: the letters of its names in alphabetical order, words it has, words it must not have."""

    letters: str
    words: tuple[str, ...]
    read: Callable[[Said], Any]
    without: str = ""

    def take(self, text: Said) -> Any | None:
        """What the text says by this rule; None where it says something else."""
        if not re.fullmatch(self.letters, "".join(sorted(text.kinds))) or not all(map(text.has, self.words)):
            return None
        return None if self.without and text.has(self.without) else self.read(text)


NOT = (
    r"(?:not|no|none|nothing|never|without|neither|nobody|unable|cannot|(?:do|doe?s|did|ca|could|wo|would|is|was|were|ha[sd]|have)nt)\b"
    r"|(?:declin|refus|reject|withh|forgo|abstain|renounc)\w*"
)
GONE = (
    r"(?:remov|discard|cancel|destroy|eliminat|sacrific|disband|kill|lost\b|loses?\b|threw|thrown?)"
    r"|t(?:ook|aken) (?:off|away)"
)
BACK = r"(?:return|regain|retriev|recover|reclaim)\w*|(?:t(?:ake|ook|aken|akes)|g[eo]t|gets|receiv\w+|put)\b.*\bback"
MUSTER = r"(?:muster|recruit|rais|train|built|build)"
EXCHANGE = r"(?:replac|exchang|upgrad|promot|downgrad|degrad|turn|became|becom|swap|trade|convert)"
HELP = r"(?:support|help|aid)"
REFUSE = r"(?:refus|reject|declin|deni|turned down|not (?:accept|want|use|take))"
FIGHT = r"(?:battle|combat|fight)"
TEXT = r"(?:abilit|text|effect|special)"


def who(text: Said) -> HouseId:
    """Who acts: the House behind ``by``, or else the first one."""
    found: HouseId = text.after(r"by (?=H)", "H") or text.all("H")[0]
    return found


def first(kind: str) -> Callable[[Said], Any]:
    return lambda text: text.all(kind)[0]


area, order, card, number = first("A"), first("O"), first("C"), first("N")


def _units(make: Callable[[Said, dict[str, int]], Any], kinds: Sequence[str]) -> Callable[[Said], Any]:
    """A record of units, where all that are told are of these kinds."""

    def read(text: Said) -> Any:
        found = text.counted()
        return make(text, found) if found and set(found) <= set(kinds) else None

    return read


def _forces(make: Callable[[Said, dict[str, int]], Any]) -> Callable[[Said], Any]:
    return _units(make, tuple(n.UNITS))


def _musters(make: Callable[[Said, dict[str, int]], Any]) -> Callable[[Said], Any]:
    return _units(make, tuple(n.MUSTERED))


# Lines of outcomes


def _exchanged(text: Said) -> r.AnyEffect | None:
    """So many units of one type for another; the first one told is the old one, but for what a verb says."""
    counted = iter(text.all("U"))
    told = [
        next(counted)[0] if word == "U" else "knight" if "knight" in word else "footman"
        for word in re.findall(r"U|footm[ae]n|knight", text.frame)
    ]
    one_way = text.has("upgrad|promot|downgrad|degrad")
    if not set(told) <= {"footman", "knight"} or (len(set(told)) == 1 and not one_way):
        return None
    old: Literal["footman", "knight"] = "knight" if told[0] == "knight" else "footman"
    if text.has("upgrad|promot"):
        old = "footman"
    elif text.has("downgrad|degrad"):
        old = "knight"
    return r.UnitsExchanged(who(text), text.all("U")[0][1], old, "footman" if old == "knight" else "knight")


def _upgraded(text: Said) -> r.AnyEffect | None:
    kinds = {kind for kind, _ in text.all("U")}
    is_one = kinds == {"footman"} and text.has("knight")
    return r.UnitUpgraded(area(text)) if is_one or kinds == {"footman", "knight"} else None


def _marker(text: Said) -> r.AnyEffect | None:
    house, track, numbers = text.all("H")[0], text.all("T")[0], text.all("N")
    if text.has("top|first|highest|1st"):
        return None if numbers else r.MarkerMoved(house, track, "top")
    if text.has("bottom|last|lowest|end of"):
        return None if numbers else r.MarkerMoved(house, track, "bottom")
    is_place = numbers and not text.has("N (?:position|place|step|spot)")
    return r.MarkerLowered(house, track, numbers[-1]) if is_place else None


def _discarded(text: Said) -> tuple[r.AnyEffect, ...]:
    return tuple(r.CardDiscarded(who(text), worth, one) for one, worth in text.all("C"))


def _removed(text: Said, units: dict[str, int]) -> r.AnyEffect | None:
    is_whole = text.all("N") in ([], [sum(units.values())])
    return r.UnitsRemoved(who(text), units) if is_whole else None


EFFECTS: tuple[Rule, ...] = (
    Rule("AAO", ("mov|shift|transfer",), lambda t: r.OrderShifted(area(t), order(t), t.all("A")[1])),
    Rule("AH{0,2}O", (GONE,), lambda t: r.OrderTakenOff(area(t), order(t)), NOT),
    Rule("H?", (r"(?:no|not|none)\b.*\border",), lambda t: r.NoOrderTakenOff()),
    Rule("C+H", (GONE,), _discarded, rf"{BACK}|not\b"),
    Rule("C+H", (BACK,), lambda t: r.CardsTakenBack(who(t), tuple((worth, one) for one, worth in t.all("C")))),
    Rule("AH?UU?", (EXCHANGE,), _upgraded),
    Rule("HN", ("suppl|barrel",), lambda t: r.SupplyLimited(who(t), number(t))),
    Rule("HU+", (MUSTER,), _musters(lambda t, units: r.UnitsRaised(who(t), units)), GONE),
    Rule("HUU?", (rf"{EXCHANGE}|receiv|got",), _exchanged),
    Rule("A*HN?U+", (rf"{GONE}|g[ai]ve",), _forces(_removed), f"{MUSTER}|{EXCHANGE}|receiv|gain|got"),
    Rule("HN{0,2}T", ("token|marker|mov|drop|lower|sink|sank|place|position|top|bottom|track",), _marker),
    Rule("HN", ("power", BACK), lambda t: r.PowerReturned(who(t), number(t))),
    Rule("HN", ("power", rf"{GONE}|pays?|paid|g[ai]ve|drop"), lambda t: r.PowerLost(who(t), number(t))),
    Rule("H?", (r"nothing|no effect|without (?:any )?effect|not affected|unaffected",), lambda t: r.Nothing()),
)  # fmt: skip


def effects(line: str, house: HouseId = "") -> tuple[r.AnyEffect, ...]:
    """What a line of an outcome says, if that is clear; ``house`` is whom it concerns where it names none."""
    for words in (line, f"{house.capitalize()} {line}") if house else (line,):
        for rule in EFFECTS:
            found: r.AnyEffect | tuple[r.AnyEffect, ...] | None = rule.take(said(words))
            if found is not None:
                return found if isinstance(found, tuple) else (found,)
    return ()


def _effects(lines: Sequence[str], house: HouseId) -> tuple[r.AnyEffect, ...]:
    bare = [re.sub(r"^\s*[-*\u2022]\s*", "", line) for line in lines]
    return tuple(one for line in bare for one in effects(line, house) or (r.Told(line),))


def _parts(lines: Sequence[str]) -> tuple[Said, list[str]]:
    """What an entry begins with, and the sentences and lines behind it."""
    head, *inline = re.split(r"(?<=[.!:])\s+", lines[0].strip())
    return said(head), [part for part in (*inline, *lines[1:]) if part.strip()]


_BEATEN = (
    r"wildlings? (?:have been|has been|were|was|are) "
    r"|wildlings? (?:lost|lose)\b|(?:beaten|defeated|repel\w*|repuls\w*|withstood|fended off|drove back) the wildling"
    r"|nights? watch (?:has |have )?(?:won|wins|victor|prevail|beat|defeated|held)|victory of the nights? watch"
)
_OVERRUN = (
    r"overwhelm|overr[au]n|wildlings? (?:have |has )?(?:won|wins?|defeat|beat|victor|br[eo]a?k|crush)"
    r"|wildlings? victory|victory of the wildling|nights? watch (?:was |has been |is )?(?:lost|loses|defeated|beaten)"
)


def _wildlings(lines: Sequence[str]) -> r.Record | None:
    """What a wildling card did to one House, or brought the highest bidder."""
    head, parts = _parts(lines)
    if not head.has("wildling|nights? watch") or set(head.kinds) - set("HL"):
        return None
    houses = head.all("H") or [house for part in parts for house in said(part).all("H")]
    house = houses[0] if houses else ""
    if head.has(_BEATEN):
        return r.WildlingsBeaten(_effects(parts, house))
    return r.WildlingsWon(house, _effects(parts, house)) if head.has(_OVERRUN) and house else None


def _card_text(lines: Sequence[str]) -> r.Record | None:
    """A card text and what it did."""
    head, parts = _parts(lines)
    if head.kinds not in ("HC", "CH") or not head.has(TEXT) or head.has(NOT) or not parts:
        return None
    (name, strength), house = card(head), head.all("H")[0]
    done = _effects(parts, house)
    if any(isinstance(one, r.Told) for one in done):
        return None
    moved = done[0]
    if isinstance(moved, r.MarkerMoved) and moved.house != house and moved.to == "bottom":
        return r.RivalLowered(house, name, moved.house, moved.track)
    return r.AbilityResolved(house, STRENGTHS.get(name, strength), name, done)


# Entries


def _withheld(text: Said) -> r.Record | None:
    """Support that is not given, or not taken: ``refused the support of`` another is the latter."""
    houses = text.all("H")
    offers = rf"{HELP}\w* (?:offer(?:ed)? )?(?:of|from|by) H|H (?:{HELP}|offer)"
    is_refused = text.has(rf"{REFUSE}\w*(?: \w+)*? (?:{offers})") or text.has(rf"(?:{offers})\b.*{REFUSE}")
    if len(houses) == 1 or not is_refused or text.has(rf"{REFUSE}\w* to (?:{HELP}|give)\w* H"):
        return r.SupportWithheld(houses[0])
    other = text.after(rf"{HELP}\w* (?:offer(?:ed)? )?(?:of|from|by) (?=H)", "H") or text.after(
        rf"(?=H (?:{HELP}|offer))", "H"
    )
    return r.SupportRefused(next(house for house in houses if house != other), other) if len(set(houses)) == 2 else None


def _support(text: Said) -> r.Record | None:
    """Who supports whom: ``from`` and ``by`` stand before the one who gives."""
    giver = text.after(r"(?:by|from) (?=H)", "H") or text.all("H")[0]
    other = next((house for house in text.all("H") if house != giver), None)
    return None if other is None else r.SupportGiven(giver, other, number(text))


def own_card(text: Said) -> str:
    """The card whose text is used: of several the one of the House that acts."""
    cards: list[str] = [name for name, _ in text.all("C")]
    return next((name for name in cards if n.HOUSE_CARDS.get(name) == text.all("H")[0]), cards[0])


def _cancelled(text: Said) -> r.Record | None:
    name = own_card(text)
    return r.CardCancelled(text.all("H")[0], name) if name == "tyrion-lannister" else None


def _lowered(text: Said) -> r.Record | None:
    house = text.all("H")[0]
    other = next((one for one in text.all("H") if one != house), None)
    return None if other is None else r.RivalLowered(house, own_card(text), other, text.all("T")[0])


def _replaced(text: Said) -> r.Record:
    old = text.after(r"instead of|in place of|replacing", "O") or order(text)
    new = next((one for one in text.all("O") if one != old), old)
    return r.RavenReplaced(who(text), area(text), old, new)


def raided(text: Said) -> r.Record | None:
    """What was raided; from where does not count."""
    areas, orders = text.all("A"), text.all("O")
    if text.has(r"from A"):
        areas.remove(text.after(r"from (?=A)", "A"))
    if len(areas) != len(orders) or not 1 <= len(areas) <= 2:
        return None
    return r.Raided(who(text), tuple(zip(areas, orders, strict=True)))


def _unusable(text: Said) -> r.Record | None:
    return r.RaidUnusable(area(text), order(text)) if order(text).startswith("raid") else None


def march(text: Said) -> r.Record | None:
    """Moves without a combat: where from, then an area and units for each."""
    origin = text.after(r"(?:out of|from|left|leaves|leaving) (?=A)", "A") or area(text)
    told = [(letter, name) for letter, name in zip(text.kinds, text.names, strict=True) if letter != "H"]
    told.remove(("A", origin))
    kinds = "".join(letter for letter, _ in told)
    if not re.fullmatch(r"(?:AU+)+|(?:U+A)+", kinds):
        return None
    if kinds[0] == "U":
        told = [
            one
            for part in re.finditer(r"U+A", kinds)
            for one in (told[part.end() - 1], *told[part.start() : part.end() - 1])
        ]
    moves: list[tuple[str, dict[str, int]]] = []
    for letter, name in told:
        if letter == "A":
            moves.append((name, {}))
        else:
            moves[-1][1][name[0]] = moves[-1][1].get(name[0], 0) + name[1]
    if any(not set(units) <= set(n.UNITS) for _, units in moves):
        return None
    beat = text.has(r"(?:defeat|beat|overc|conquer)\w*\b.*neutral|neutral\b.*(?:defeat|beat|overc|conquer)")
    steps = [r.Step(to, {kind: units[kind] for kind in n.UNITS if kind in units}, beat) for to, units in moves]
    by: Literal["land", "sea"] = "sea" if any("ship" in units for _, units in moves) else "land"
    return None if beat and len(steps) > 1 else r.Marched(text.all("H")[0], origin, by, tuple(steps))


_WON = r"H (?:has )?(?:won|wins|beats?|defeats|victor|defeated H|is (?:the )?victor|is (?:the )?winner)"


def _lost(text: Said) -> r.Record | None:
    houses = text.all("H")
    loser = text.after(r"(?:defeat|loss) (?:of|for) (?=H)", "H") or houses[0]
    winner = text.after(r"(?:victory of|won by|beaten by|defeated by) (?=H)", "H") or text.after(rf"(?={_WON})", "H")
    if winner is not None:
        loser = next((house for house in houses if house != winner), None)
    to = text.after(r"(?:withdr[ae]w\w*|retreat\w*|fled|flees?|escap\w*|f[ea]lls? back|return\w*)(?: \w+)*? (?=A)", "A")
    place = text.after(rf"{FIGHT} (?:of|in|for|at) (?=A)", "A")
    killed = text.counted()
    if loser is None or set(killed) - set(n.UNITS) or set(text.all("A")) - {to, place}:
        return None
    how: Literal["withdrew", "forced", "stuck", "lost"] = "lost"
    if to is not None:
        how = "forced" if text.has("forced") else "withdrew"
    elif text.has(r"(?:not|unable|cannot|nowhere|no)\b.*(?:withdr|retreat|escap|flee|able)"):
        how = "stuck"
    return r.BattleLost(loser, how, to, killed)


def power(text: Said) -> r.Record | None:
    kind = r.GameOfThronesPower if "W" in text.kinds else r.PowerConsolidated
    if text.has(r"no house|nobody|no one|none"):
        return kind({}) if set(text.kinds) <= {"W"} else None
    if not re.fullmatch("W?(?:HN)+", text.kinds):
        return None
    gained = dict(zip(text.all("H"), text.all("N"), strict=True))
    return kind({house: gained[house] for house in SITE_ORDER if house in gained})


SITE_ORDER: tuple[HouseId, ...] = ("baratheon", "lannister", "stark", "tyrell", "greyjoy", "martell")
"""The order in which the format lists Houses."""


def track(text: Said) -> r.Record | None:
    """A track by its places, or from the first to the last; who breaks ties is named before."""
    kinds, houses, numbers = text.kinds.replace("T", "", 1), text.all("H"), text.all("N")
    by = None
    if text.has(r"H (?:has |have )?(?:resolv|br[eo]a?k|decid|settl)") or text.has(r"tie\w*\b.*\bby H"):
        by = houses.pop(0)
        kinds = kinds.replace("H", "", 1)
    if numbers:
        places = dict(zip(numbers, houses, strict=False))
        if not re.fullmatch("(?:NH)+|(?:HN)+", kinds) or sorted(places) != [*range(1, len(houses) + 1)]:
            return None
        houses = [places[place] for place in sorted(places)]
    is_whole = len(houses) > 1 and len(set(houses)) == len(houses)
    return r.TrackOrdered(text.all("T")[0], tuple(houses), by) if is_whole else None


def _winter(text: Said) -> r.Record | None:
    old, new = text.all("W")
    if old != "winter-is-coming" or new == old:
        return None
    return r.WinterCame(new, bool(re.findall(r"W(\W{0,2}\(w\))?", text.frame)[1]))


_CHOOSES = {
    "a-throne-of-blades": "iron-throne-token",
    "dark-wings-dark-words": "messenger-raven",
    "put-to-the-sword": "valyrian-steel-blade",
}


def _choice(text: Said) -> r.Record | None:
    """A Westeros card with what its holder chose, or that he chose nothing."""
    icons = dict(zip(text.all("W"), re.findall(r"W( ?\(w\))?", text.frame), strict=True))
    asks = [name for name in icons if name in _CHOOSES]
    others = [name for name in icons if name not in _CHOOSES]
    plain = re.findall(r"\b(supply|mustering)\b", text.frame)
    is_none = text.has(r"(?:no|nothing|none|neither|not)\b")
    if len(asks) != 1 or len(others) + len(plain) + is_none != 1:
        return None
    choice = (others or plain or [None])[0]
    return r.WesterosChoice(asks[0], bool(icons[asks[0]]), _CHOOSES[asks[0]], choice, bool(others and icons[others[0]]))


def _tides(text: Said) -> r.Record | None:
    kind = next((word for word in ("skull", "sword", "fortification") if text.has(word)), None)
    kind = kind or {0: "zero", 2: "two", 3: "three"}.get(text.one("N"))
    return None if kind is None else r.TidesDrawn(text.all("H")[0], f"tides-{kind}")


def _captured(text: Said) -> r.Record | None:
    is_port = area(text).startswith("port-of-") and set(text.counted()) == {"ship"}
    return r.ShipsCaptured(who(text), area(text), text.counted()["ship"]) if is_port else None


def _one_supply(text: Said, units: dict[str, int]) -> r.Record | None:
    return r.SupplyCounted(who(text), number(text), units) if len(set(text.all("H"))) == 1 else None


RULES: tuple[Rule, ...] = (
    # Planning and the raven
    Rule("H", (r"(?:set|plac|g[ai]ve|assign|chang|submit|issu|laid|confirm)\w*\b.*\borders",),
         lambda t: r.OrdersSet(who(t)),
         rf"{NOT}|replac|raven|remov"),
    Rule("H", ("bottom", "wildling|deck"), lambda t: r.RavenBuried(who(t)), r"not\b"),
    Rule("H", (r"(?:look|peek|view|inspect|examin)\w*\b.*\b(?:wildling|card|deck)",),
         lambda t: r.RavenLooked(who(t)), NOT),
    Rule("H", ("top|unchanged", "card|deck|wildling"), lambda t: r.RavenKept(who(t)), r"not\b"),
    Rule("AHOO", ("replac|exchang|swap|chang|substitut|instead|in place|switch",), _replaced),
    Rule("H", ("raven", rf"{NOT}|pass|skip"), lambda t: r.RavenUnused(who(t))),
    # Raids and marches
    Rule("AH?O", (r"unus|useless|no (?:valid )?target|without (?:a )?target|not (?:be used|usable)|nothing to raid",),
         _unusable),
    Rule("A+HH{0,2}N?O+", (r"raid(?:s|ed)?\b",), raided, "unus|remov"),
    Rule("AHO", (rf"{GONE}|g[ai]ves? up|withdr",), lambda t: r.OrderGivenUp(who(t), area(t), order(t)), TEXT),
    Rule("AA+HU+", ("march|sail|mov|went|sent|travel|advanc",),
         march, rf"attack|battle|raid|{MUSTER}|retreat|withdr|{GONE}"),
    # Combat
    Rule("HH?", (HELP, NOT), _withheld),
    Rule("HHN", (HELP,), _support, NOT),
    Rule("HN{0,2}", ("tides? of battle|tides? card|battle card",), _tides, NOT),
    Rule("HN?", ("blade", NOT), lambda t: r.BladeDeclined(who(t))),
    Rule("HN?", ("blade",), lambda t: r.BladeUsed(who(t))),
    Rule("C+H", (r"cancel|return\w*\b.*hand",), _cancelled, r"not\b|declin"),
    Rule("CH", (NOT, rf"{TEXT}|use"), lambda t: r.AbilityDeclined(who(t), own_card(t))),
    Rule("C+H", (rf"{TEXT}|exchang|swap", r"(?:another|other|different|new)\b.*card|exchang|swap"),
         lambda t: r.CardExchanged(who(t), own_card(t))),
    Rule("CHHT", ("bottom|last|lowest|end",), _lowered),
    Rule("CH", (r"(?:ch[oa]o?s|select|pick|play|lead|led|command|reveal|appoint|sen[dt]|us)\w*",),
         lambda t: r.CardChosen(who(t), card(t)[1], card(t)[0]), rf"{TEXT}|discard|hand|{BACK}|{NOT}"),
    Rule("H", (r"(?:no|not|without|cannot)\b.*\bcards?\b",),
         lambda t: r.CardMissing(who(t)), f"raven|wildling|deck|{TEXT}"),
    Rule("A{0,2}HH?U*", (rf"(?:los[et]s?|loss of) (?:\w+ )?{FIGHT}|(?:defeat\w*|beaten|won|wins?|victor\w*|beats?)\b",),
         _lost, "wildling|game|neutral|order|throne"),
    # Power and mustering
    Rule("AHN|AHNO", (r"consolidat|power|O\b",), lambda t: r.PowerTaken(who(t), area(t), number(t)), "left|raid|leav"),
    Rule("AHO?U+", (MUSTER,), _musters(lambda t, units: r.SpecialMustered(who(t), area(t), units)), GONE),
    Rule("H*N*W?", ("power", "consolidat|collect|gain|receiv|new|earn|income"),
         power, "wildling|bid|support|lost|token in"),
    # Westeros
    Rule("WW", ("new|now|came|come|drawn|shuffl|reshuffl|instead",), _winter),
    Rule("T?W+", (r"ch[oa]o?s|decid|select|pick|event|effect",), _choice),
    Rule("HN", ("suppl",), lambda t: r.SupplyCounted(who(t), number(t)), "wildling"),
    Rule("HH?NU+", ("suppl", GONE), _forces(_one_supply)),
    Rule("HU+", (MUSTER,), _musters(lambda t, units: r.Mustered(who(t), units)), f"{GONE}|wildling"),
    Rule("HNT", ("bid|exert|power|offer|paid|pays|spen",),
         lambda t: r.Bid(who(t), t.all("T")[0], number(t)), "position|tied"),
    Rule("H+N*T", ("order|track|position|turn|now|tie",), track),
    Rule("HNW?", ("wildling|nights? watch|W", "bid|deploy|power|sen[dt]|spen|paid|exert|offer|commit|strength"),
         lambda t: r.WildlingBid(who(t), number(t)), rf"{GONE}|{BACK}"),
    Rule("L", ("wildling|drawn|drew|card|reveal|L",), lambda t: r.WildlingCardDrawn(t.all("L")[0])),
    Rule("", (r"nothing happen|no effect|without (?:any )?effect",), lambda t: r.NothingHappened()),
    # Control and the end
    Rule("AH", ("power", "token|marker", "left|leav|plac|put|kept|keep|establish"),
         lambda t: r.PowerTokenLeft(who(t), area(t)), rf"{NOT}|remov"),
    Rule("AHH?U+", (r"captur|seiz|t[oa]ok|tak|gain|replac|convert|conquer|claim|got",),
         _captured, "march|sail|lost the"),
    Rule("HW?", (r"(?:wins?|won|winner|victor\w*)",), lambda t: r.GameWon(who(t)),
         r"battle|combat|fight|bid|wildling|auction|tie|round|nights|not\b"),
)  # fmt: skip
"""Entries of one sentence, by their names and words. The first that fits counts."""

_ENDED = (
    r"abandon|abort|cancel|terminat|annul|(?:a|in) draw\b|drawn game|(?:no|without (?:a )?) ?winner"
    r"|(?:was|been) (?:deleted|closed)"
)


def meaning(lines: Sequence[str]) -> r.Record | None:
    """What an entry says in words that are not known; None where that is not clear.

    A line that goes on and names nothing says something that no record has.
    """
    if any("[Attack]" in line for line in lines):
        return None
    for line in lines[1:]:
        text = said(line)
        if not text.kinds and not text.has("nothing|no |none|not "):
            return None
    for whole in (_wildlings, _card_text):
        found = whole(lines)
        if found is not None:
            return found
    text = said(" ".join(re.sub(r"^\s*[-*\u2022]\s*", "", line).strip().rstrip("|").strip() for line in lines))
    if text.has("game") and text.has(_ENDED) and not set(text.kinds) - set("HNW") and len(lines) == 1:
        return r.GameAborted(lines[0])
    won = re.fullmatch(r"(\S+) (?:has )?(?:won|wins|is the winner of) (?:this|the) game\b[\w ]*[.!]?", lines[0])
    if won and not text.all("H") and len(lines) == 1 and not re.fullmatch(NOT, won[1].lower()):
        return r.GameWon(None, won[1])
    for rule in RULES:
        record: r.Record | None = rule.take(text)
        if record is not None:
            return record
    return None
