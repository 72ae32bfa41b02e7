"""The sentences of the log format: for each kind of record how it is read and how it is written, side by side.

An entry is a first line and continuation lines. A form takes the lines it understands; what is left over is the
``rest`` of the entry. Forms are tried in the order of :data:`FORMS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, assert_never

import msgspec

from api.games.thrones.logs import names as n
from api.games.thrones.logs import records as r
from api.games.thrones.logs.dates import attack_date, attack_date_word
from api.games.thrones.logs.known import unknown_names
from api.games.thrones.logs.meaning import SITE_ORDER, meaning
from api.games.thrones.logs.meaning import effects as meanings
from domain.thrones.language.pieces import HouseId, Units

Lines = Sequence[str]
Read = Callable[[re.Match[str], Lines], "tuple[r.AnyRecord, Lines] | None"]
Write = Callable[[Any], list[str]]


class Form(msgspec.Struct, frozen=True):
    """One kind of sentence."""

    kind: type[r.Record]
    head: re.Pattern[str]
    read: Read
    write: Write


class NotThis(Exception):
    """The words inside a sentence are not of the kind that belongs there."""


_SPOTS = {
    "H": r"(?P<{}>Baratheon|Greyjoy|Lannister|Martell|Stark|Tyrell)",
    "A": r"(?P<{}>\S(?:.*?\S)?)",
    "N": r"(?P<{}>[+-]?\d+)",
    "O": r"(?P<{}>(?:Special )?(?:March|Defen[sc]e|Support|Raid|Consolidate Power)(?: ?\([^)]*\))?)",
    "U": r"(?P<{}>\d+ [A-Z]\w+(?: Engines?)?(?:(?:, and|,| and) \d+ [A-Z]\w+(?: Engines?)?)*)",
    "T": r"(?P<{}>Iron Throne|Fiefdoms?|King'?s'? Court)",
    "X": r"(?P<{}>.+?)",
}


def sentence(text: str) -> re.Pattern[str]:
    """A pattern for a whole line.

    ``<H:house>`` is a House, A an area or name, N a number, O an order, U units, T a track, X anything; ``his``
    stands for any pronoun.
    """
    parts = re.split(r"<([A-Z]):(\w+)>", text)
    pattern = parts[0]
    for spot, name, rest in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        pattern += _SPOTS[spot].format(name) + rest
    return re.compile(re.sub(r"\bhis\b", "(?:his|her|their|its)", pattern))


# Words inside sentences


def house(text: str) -> HouseId:
    return text.lower()


def order(text: str) -> str:
    found = n.order_id(text)
    if found is None:
        raise NotThis(text)
    return found


def track(text: str) -> str:
    return {"i": "iron-throne", "f": "fiefdoms", "k": "kings-court"}[text[0].lower()]


def _type(text: str, words: Mapping[str, tuple[str, str]]) -> str:
    wanted = text.strip().lower().removesuffix(" unit").removesuffix(" units")
    for kind, (one, many) in words.items():
        if wanted in (one.lower(), many.lower(), one.lower() + "s", many.lower().replace("upgrades", "upgrade")):
            return kind
    raise NotThis(text)


def counted(parts: Iterable[str], words: Mapping[str, tuple[str, str]]) -> dict[str, int]:
    """Parts like ``2 Footmen`` as numbers by type."""
    found: dict[str, int] = {}
    for part in parts:
        match = re.fullmatch(r"\s*(\d+)\s+(.+?)\s*\.?\s*", part)
        if match is None:
            raise NotThis(part)
        kind = _type(match[2], words)
        found[kind] = found.get(kind, 0) + int(match[1])
    return {kind: found[kind] for kind in words if found.get(kind)}


def units(text: str) -> Units:
    """Units joined by commas and ``and``. Raises NotThis when there are none."""
    found = counted(re.split(r", and | and |, ", text), n.UNITS)
    if not found:
        raise NotThis(text)
    return found


def barred(text: str, words: Mapping[str, tuple[str, str]]) -> dict[str, int]:
    """Units between bars. Raises NotThis when there are none."""
    found = counted([part for part in text.split("|") if part.strip()], words)
    if not found:
        raise NotThis(text)
    return found


def several(count: int, kind: str, words: Mapping[str, tuple[str, str]]) -> str:
    return f"{count} {words[kind][count != 1]}"


def joined(force: Units, kinds: Sequence[str]) -> str:
    """Units as a sentence has them; nothing for none."""
    parts = [several(force[kind], kind, n.UNITS) for kind in kinds if force.get(kind)]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def with_bars(force: Mapping[str, int], words: Mapping[str, tuple[str, str]]) -> str:
    return "".join(f"{several(force[kind], kind, words)} | " for kind in words if force.get(kind)).rstrip()


def power_of(line: str) -> dict[HouseId, int]:
    """``- Stark(+2) - Tyrell(+3)``."""
    parts = re.findall(r"-\s*([A-Z]\w+)\s*\(([+-]?\d+)\)", line)
    if not parts or re.sub(r"-\s*[A-Z]\w+\s*\([+-]?\d+\)", "", line).strip():
        raise NotThis(line)
    found = {house(name): int(number) for name, number in parts}
    if set(found) - set(n.HOUSES):
        raise NotThis(line)
    return {one: found[one] for one in SITE_ORDER if one in found}


def power_line(power: Mapping[HouseId, int]) -> str:
    shown = [one for one in SITE_ORDER if one in power]
    if not shown:
        return "- no house could consolidate any power."
    return " ".join(f"- {n.house_word(one)}({power[one]:+d})" for one in shown)


def _is_nobody(line: str) -> bool:
    return re.fullmatch(r"- no (?:house|one)\b.*power.*", line) is not None


def marked(text: str) -> tuple[str, bool]:
    """A Westeros card and whether it is marked with a wildling icon."""
    bare = text.strip().strip("'").strip()
    icon = bare.endswith("(W)")
    return n.id_of(bare.removesuffix("(W)")), icon


def with_mark(card: str, icon: bool) -> str:
    return n.word(card) + (" (W)" if icon else "")


LAND_STEP = ("siege-engine", "knight", "footman", "ship")
ATTACK = ("footman", "knight", "siege-engine", "ship")
W = n.house_word


# Details


EFFECTS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], r.AnyEffect]], ...] = (
    (sentence(r"the <O:order> Order in <A:area> has been removed\.?"),
     lambda m: r.OrderTakenOff(n.id_of(m["area"]), order(m["order"]))),
    (sentence(r"no orders? (?:has|have) been removed\.?"), lambda m: r.NoOrderTakenOff()),
    (sentence(r"the <O:order> Order in <A:area> has been moved to <A:to>\."),
     lambda m: r.OrderShifted(n.id_of(m["area"]), order(m["order"]), n.id_of(m["to"]))),
    (sentence(r"<H:house> discarded the house card \(<N:strength>\) <A:card>\."),
     lambda m: r.CardDiscarded(house(m["house"]), int(m["strength"]), n.id_of(m["card"]))),
    (sentence(r"<H:house> took back the house cards?:? <X:cards> ?\|?\.?"),
     lambda m: r.CardsTakenBack(house(m["house"]), _cards(m["cards"]))),
    (sentence(r"an? (?:Footman|Footmen)(?: units?)? in <A:area> (?:has|have) been upgraded to a Knight\.?"),
     lambda m: r.UnitUpgraded(n.id_of(m["area"]))),
    (sentence(r"<H:house>'s new Supply limit is \[?<N:supply>\]?\.?"),
     lambda m: r.SupplyLimited(house(m["house"]), int(m["supply"]))),
    (sentence(r"<H:house> mustered new units: ?<X:units>"),
     lambda m: r.UnitsRaised(house(m["house"]), barred(m["units"], n.MUSTERED))),
    (sentence(r"<H:house> has been forced to remove some units: ?<X:units>"),
     lambda m: r.UnitsRemoved(house(m["house"]), barred(m["units"], n.UNITS))),
    (sentence(r"<H:house> replaced <N:count> (?P<old>Footm[ae]n|Knights?) by (?:a )?(?P<new>Footm[ae]n|Knights?)\."),
     lambda m: r.UnitsExchanged(house(m["house"]), int(m["count"]), _kind(m["old"]), _kind(m["new"]))),
    (sentence(r"<H:house> moved his token to the (?P<to>top|bottom) position of the <T:track> track\.?"),
     lambda m: r.MarkerMoved(house(m["house"]), track(m["track"]), "top" if m["to"] == "top" else "bottom")),
    (sentence(r"<H:house> moved his token to position \[<N:position>\] of the <T:track> track\."),
     lambda m: r.MarkerLowered(house(m["house"]), track(m["track"]), int(m["position"]))),
    (sentence(r"<H:house> returned \[?<N:power>\]? Power tokens? to his available Power\.?"),
     lambda m: r.PowerReturned(house(m["house"]), int(m["power"]))),
    (sentence(r"<H:house> lost \[?<N:power>\]? Power tokens?\.?"),
     lambda m: r.PowerLost(house(m["house"]), int(m["power"]))),
    (sentence(r"[Nn]othing happens\.?"), lambda m: r.Nothing()),
)  # fmt: skip
"""Lines of outcomes, without their dash."""


def _kind(text: str) -> Literal["footman", "knight"]:
    return "knight" if "Knight" in text else "footman"


def _cards(text: str) -> tuple[tuple[int, str], ...]:
    found = []
    for part in text.split("|"):
        match = re.fullmatch(r"\s*\((\d+)\) (.+?)\s*", part)
        if match is None:
            raise NotThis(text)
        found.append((int(match[1]), n.id_of(match[2])))
    return tuple(found)


def effect(line: str) -> r.AnyEffect:
    """One line of an outcome; what nobody knows is kept as it stands."""
    bare = re.sub(r"^-\s*", "", line)
    for pattern, read in EFFECTS:
        match = pattern.fullmatch(bare)
        if match is not None:
            try:
                return read(match)
            except NotThis:
                continue
    return r.Told(bare)


def effect_line(effect: r.AnyEffect) -> str:
    match effect:
        case r.OrderTakenOff():
            return f"- the {n.ORDERS[effect.order]} Order in {n.word(effect.area)} has been removed."
        case r.NoOrderTakenOff():
            return "- no orders have been removed."
        case r.OrderShifted():
            there = n.word(effect.to)
            return f"- the {n.ORDERS[effect.order]} Order in {n.word(effect.area)} has been moved to {there}."
        case r.CardDiscarded():
            return f"- {W(effect.house)} discarded the house card ({effect.strength}) {n.word(effect.card)}."
        case r.CardsTakenBack():
            cards = " | ".join(f"({strength}) {n.word(card)}" for strength, card in effect.cards)
            return f"- {W(effect.house)} took back the house cards: {cards} |"
        case r.UnitUpgraded():
            return f"- a Footman in {n.word(effect.area)} has been upgraded to a Knight."
        case r.SupplyLimited():
            return f"- {W(effect.house)}'s new Supply limit is [{effect.supply}]."
        case r.UnitsRaised():
            raised = with_bars(effect.units, n.MUSTERED).removesuffix(" |")
            return f"- {W(effect.house)} mustered new units: {raised}"
        case r.UnitsRemoved():
            return f"- {W(effect.house)} has been forced to remove some units: {with_bars(effect.units, n.UNITS)}"
        case r.UnitsExchanged():
            new = ("a " if effect.count == 1 else "") + n.UNITS[effect.new][effect.count != 1]
            return f"- {W(effect.house)} replaced {several(effect.count, effect.old, n.UNITS)} by {new}."
        case r.MarkerMoved():
            place = f"{effect.to} position of the {n.TRACKS[effect.track]} track"
            return f"- {W(effect.house)} moved his token to the {place}."
        case r.MarkerLowered():
            place = f"position [{effect.position}] of the {n.TRACKS[effect.track]} track"
            return f"- {W(effect.house)} moved his token to {place}."
        case r.PowerReturned():
            return f"- {W(effect.house)} returned [{effect.power}] Power tokens to his available Power."
        case r.PowerLost():
            return f"- {W(effect.house)} lost [{effect.power}] Power tokens."
        case r.Nothing():
            return "- Nothing happens."
        case r.Told():
            return f"- {effect.text}"
    assert_never(effect)


def _effects(lines: Lines, house: HouseId = "") -> tuple[r.AnyEffect, ...]:
    """Lines of an outcome of a House; those in other words by what they mean."""
    found: list[r.AnyEffect] = []
    for line in lines:
        told = effect(line)
        found += (meanings(told.text, house) or (told,)) if isinstance(told, r.Told) else (told,)
    return tuple(found)


# Entries that are one sentence


def plain(
    kind: type[r.Record], pattern: str, read: Callable[[re.Match[str]], r.AnyRecord], write: Callable[[Any], str]
) -> Form:
    return Form(kind, sentence(pattern), lambda m, more: (read(m), more), lambda x: [write(x)])


def of_house(kind: type[r.Record], pattern: str, words: str) -> Form:
    """A sentence about a House and nothing else."""
    make: Any = kind
    return plain(kind, f"<H:house> {pattern}", lambda m: make(house(m["house"])), lambda x: f"{W(x.house)} {words}")


# Entries with continuation lines

_step = sentence(
    r"- (?:to|for) <A:to> with <U:units>(?P<neutral> and defeated the deployed neutral (?:forces?|fleet) there)?"
    r"\.?(?P<battle> ?-> ?Battle!)?"
)
_attack = sentence(
    r"\[Attack\] (?:(?P<at>\d[^:]*:\d\d(?::\d\d)?): )?<H:house> is attacking <H:defender> in <A:area> from <A:origin>"
    r"(?: with <U:units>)?\.?"
)


def _marched(m: re.Match[str], more: Lines) -> tuple[r.AnyRecord, Lines] | None:
    steps: list[r.Step] = []
    attack: r.Attack | None = None
    left = list(more)
    begins = bool(m["battle"])
    while left and (found := _step.fullmatch(left[0])):
        steps.append(r.Step(n.id_of(found["to"]), units(found["units"]), bool(found["neutral"])))
        begins = begins or bool(found["battle"])
        left.pop(0)
    if left and (found := _attack.fullmatch(left[0])):
        attack = r.Attack(
            attack_date(found["at"] or ""),
            house(found["house"]),
            house(found["defender"]),
            n.id_of(found["area"]),
            n.id_of(found["origin"]),
            units(found["units"]) if found["units"] else {},
        )
        left.pop(0)
    if (begins and attack is None) or not (steps or attack):
        return None
    by: Literal["land", "sea"] = "land" if m["by"].startswith("marched") else "sea"
    stop = bool(m["stop"]) or bool(steps)
    return r.Marched(house(m["house"]), n.id_of(m["area"]), by, tuple(steps), attack, stop), left


def _write_marched(x: r.Marched) -> list[str]:
    verb = "marched out of" if x.by == "land" else "has sailed from" if x.steps else "has set sail from"
    # The site says "the Port of" only where the ships meet nobody.
    place = n.word(x.area)
    if x.by == "sea" and x.steps and x.area.startswith("port-"):
        place = f"the {place}"
    lines = [f"{W(x.house)} {verb} {place}"]
    for step in x.steps:
        neutral = f" and defeated the deployed neutral {'forces' if x.by == 'land' else 'fleet'} there"
        force = f" with {joined(step.units, LAND_STEP)}" if step.units else ""
        word = "to" if x.by == "land" else "for"
        lines.append(f"- {word} {n.word(step.to)}{force}{neutral if step.beat_neutral else ''}.")
    if x.attack is not None:
        lines[-1] += f"{'.' if x.stop and not x.steps else ''} -> Battle!"
        attack = x.attack
        force = f" with {joined(attack.units, ATTACK)}" if attack.units else ""
        time = f"{attack_date_word(attack.at)}: " if attack.at else ""
        place = f"in {n.word(attack.area)} from {n.word(attack.origin)}"
        lines.append(f"[Attack] {time}{W(attack.house)} is attacking {W(attack.defender)} {place}{force}")
    return lines


_killed = sentence(r"- Following units were killed: ?<X:units>")
_other_killed = sentence(r"- Following units of <H:house> were killed: ?<X:units>")
_HOW: dict[str, Literal["withdrew", "forced", "stuck", "lost"]] = {
    "withdrew": "withdrew", "was forced": "forced", "was not": "stuck", "": "lost",
}  # fmt: skip


def _lost(m: re.Match[str], more: Lines) -> tuple[r.AnyRecord, Lines]:
    left = list(more)
    killed: Units = {}
    winner, other = None, {}
    if left and (found := _killed.fullmatch(left[0])):
        killed = barred(found["units"], n.UNITS)
        left.pop(0)
    if left and (found := _other_killed.fullmatch(left[0])):
        winner, other = house(found["house"]), barred(found["units"], n.UNITS)
        left.pop(0)
    how = _HOW[m["how"] or ""]
    to = n.id_of(m["to"]) if m["to"] else None
    return r.BattleLost(house(m["house"]), how, to, killed, winner, other), left


def _write_lost(x: r.BattleLost) -> list[str]:
    to = n.word(x.to) if x.to else ""
    how = {
        "withdrew": f" and withdrew to {to}",
        "forced": f" and was forced to withdraw to {to}",
        "stuck": " and was not able to withdraw his units",
        "lost": "",
    }[x.how]
    lines = [f"{W(x.house)} lost the battle{how}."]
    if x.killed:
        lines.append(f"- Following units were killed: {with_bars(x.killed, n.UNITS)}")
    if x.other and x.winner:
        lines.append(f"- Following units of {W(x.winner)} were killed: {with_bars(x.other, n.UNITS)}")
    return lines


def _listed(make: Callable[[re.Match[str], dict[str, int]], r.AnyRecord]) -> Read:
    """A sentence and one line with what was mustered."""

    def read(m: re.Match[str], more: Lines) -> tuple[r.AnyRecord, Lines] | None:
        if not more:
            return None
        return make(m, barred(re.sub(r"^-\s*", "", more[0]), n.MUSTERED)), more[1:]

    return read


def _powers(make: Callable[[dict[HouseId, int]], r.AnyRecord]) -> Read:
    def read(m: re.Match[str], more: Lines) -> tuple[r.AnyRecord, Lines] | None:
        if not more:
            return None
        return make({} if _is_nobody(more[0]) else power_of(more[0])), more[1:]

    return read


def _track_ordered(m: re.Match[str], more: Lines) -> tuple[r.AnyRecord, Lines] | None:
    if not more:
        return None
    places = {int(place): house(name) for place, name in re.findall(r"\[(\d+)\] ([A-Z]\w+)", more[0])}
    line = tuple(places[place] for place in sorted(places))
    is_whole = sorted(places) == list(range(1, len(places) + 1)) and len(set(line)) == len(line) == more[0].count("[")
    if not is_whole or set(line) - set(n.HOUSES):
        return None
    return r.TrackOrdered(track(m["track"]), line, house(m["house"]) if m["house"] else None), more[1:]


def _write_track(x: r.TrackOrdered) -> list[str]:
    by = f"{W(x.by)} resolved tied bids. " if x.by else ""
    places = "".join(f"[{x.order.index(one) + 1}] {W(one)} | " for one in SITE_ORDER if one in x.order).rstrip()
    return [f"{by}New order of the {n.TRACKS[x.track]} track:", f"- {places}"]


def _supply(m: re.Match[str], more: Lines) -> tuple[r.AnyRecord, Lines]:
    removed = effect(more[0]) if more else None
    if isinstance(removed, r.UnitsRemoved) and removed.house == house(m["house"]):
        return r.SupplyCounted(removed.house, int(m["supply"]), removed.units), more[1:]
    return r.SupplyCounted(house(m["house"]), int(m["supply"])), more


def _write_supply(x: r.SupplyCounted) -> list[str]:
    removed = [effect_line(r.UnitsRemoved(x.house, x.removed))] if x.removed else []
    return [f"{W(x.house)} got new supplies ({x.supply}).", *removed]


def _raided(m: re.Match[str], more: Lines) -> tuple[r.AnyRecord, Lines]:
    targets = []
    for part in re.split(r",? and the ", m["targets"]):
        found = _target.fullmatch(part)
        if found is None:
            raise NotThis(part)
        targets.append((n.id_of(found["area"]), order(found["order"])))
    return r.Raided(house(m["house"]), tuple(targets)), more


_target = sentence(r"<O:order> Order in <A:area>")


def _choice(m: re.Match[str], more: Lines) -> tuple[r.AnyRecord, Lines]:
    card, icon = marked(m["card"])
    holder = next(token for token, words in n.HOLDERS.items() if words == m["holder"])
    if not m["choice"]:
        return r.WesterosChoice(card, icon, holder), more
    choice, choice_icon = marked(m["choice"])
    return r.WesterosChoice(card, icon, holder, choice, choice_icon), more


def _write_choice(x: r.WesterosChoice) -> list[str]:
    head = f"'{with_mark(x.card, x.icon)}' - The holder of the {n.HOLDERS[x.holder]} chose"
    if x.choice is None:
        return [f"{head} no effect or new event for this turn."]
    return [f"{head} the following event: '{with_mark(x.choice, x.choice_icon)}'"]


def _shown(m: re.Match[str], more: Lines) -> tuple[r.AnyRecord, Lines] | None:
    card, icon = marked(m["card"])
    return (r.WesterosCardShown(card, icon), more) if card in n.WESTEROS_CARDS else None


def _winner(m: re.Match[str]) -> r.AnyRecord:
    who = m["who"].strip()
    found = house(who.removeprefix("House "))
    return r.GameWon(found) if found in n.HOUSES else r.GameWon(None, who)


def _ability(m: re.Match[str]) -> r.AnyRecord:
    who = house(m["house"])
    return r.AbilityUsed(who, n.nicknamed(who, m["card"]), m["text"])


FORMS: tuple[Form, ...] = (
    of_house(r.OrdersSet, r"(?:has )?set his orders\.?", "set his orders."),
    of_house(
        r.RavenLooked,
        r"decided to look (?:in|into|at) the Wildling deck\.?",
        "decided to look in the Wildling deck.",
    ),
    of_house(r.RavenKept, r"knows things\.?", "knows things."),
    of_house(
        r.RavenBuried,
        r"placed the card at the bottom of the Wildling deck\.?",
        "placed the card at the bottom of the Wildling deck.",
    ),
    of_house(r.RavenUnused, r"did not use the [Mm]essenger [Rr]aven\.?", "did not use the messenger raven."),
    plain(
        r.RavenReplaced,
        r"<H:house> replaced the <O:old> Order in <A:area> (?:by|with) an? <O:new> Order\.?",
        lambda m: r.RavenReplaced(house(m["house"]), n.id_of(m["area"]), order(m["old"]), order(m["new"])),
        lambda x: (
            f"{W(x.house)} replaced the {n.ORDERS[x.old]} Order in {n.word(x.area)} by a {n.ORDERS[x.new]} Order."
        ),
    ),
    Form(
        r.Raided,
        sentence(r"<H:house> raided the <X:targets>\.?"),
        _raided,
        lambda x: [
            f"{W(x.house)} raided "
            + " and ".join(f"the {n.ORDERS[order]} Order in {n.word(area)}" for area, order in x.targets)
            + "."
        ],
    ),
    plain(
        r.RaidUnusable,
        r"Unusable <O:order> Orders? (?:has|have) been removed from <A:area>\.?",
        lambda m: r.RaidUnusable(n.id_of(m["area"]), order(m["order"])),
        lambda x: f"Unusable {n.ORDERS[x.order]} Order has been removed from {n.word(x.area)}.",
    ),
    plain(
        r.OrderGivenUp,
        r"<H:house> removed his <O:order> Order (?:in|from) <A:area>\.?",
        lambda m: r.OrderGivenUp(house(m["house"]), n.id_of(m["area"]), order(m["order"])),
        lambda x: f"{W(x.house)} removed his {n.ORDERS[x.order]} Order in {n.word(x.area)}.",
    ),
    Form(
        r.Marched,
        sentence(
            r"<H:house> (?P<by>marched out of|has sailed from|has set sail from) <A:area>(?P<stop>\.)?"
            r"(?P<battle> ?-> ?Battle!)?"
        ),
        _marched,
        _write_marched,
    ),
    plain(
        r.SupportGiven,
        r"<H:house> supports <H:to> with a fighting strength of <N:strength>\.?",
        lambda m: r.SupportGiven(house(m["house"]), house(m["to"]), int(m["strength"])),
        lambda x: f"{W(x.house)} supports {W(x.to)} with a fighting strength of {x.strength}.",
    ),
    of_house(
        r.SupportWithheld,
        r"(?:decided not to support|does not support|did not support|declined to support)\b.*",
        "decided not to support any house.",
    ),
    plain(
        r.SupportRefused,
        r"<H:house> (?:refused|declined|rejected) the support (?:of|from) <H:of>\.?",
        lambda m: r.SupportRefused(house(m["house"]), house(m["of"])),
        lambda x: f"{W(x.house)} refused the support of {W(x.of)}.",
    ),
    plain(
        r.CardChosen,
        r"<H:house> chose \(<N:strength>\) <A:card> to lead his forces\.?",
        lambda m: r.CardChosen(house(m["house"]), int(m["strength"]), n.id_of(m["card"])),
        lambda x: f"{W(x.house)} chose ({x.strength}) {n.word(x.card)} to lead his forces.",
    ),
    of_house(r.CardMissing, r"had no house card to lead his forces\.?", "had no house card to lead his forces."),
    plain(
        r.TidesDrawn,
        r"<H:house> drew the Tides of Battle card <A:card>\.?",
        lambda m: r.TidesDrawn(house(m["house"]), n.slug(m["card"])),
        lambda x: f"{W(x.house)} drew the Tides of Battle card {n.word(x.card)}.",
    ),
    of_house(r.BladeUsed, r"decided to use the Valyrian Steel Blade[!.]?", "decided to use the Valyrian Steel Blade!"),
    of_house(
        r.BladeDeclined,
        r"decided (?:to lose this battle by not using|not to use) the Valyrian Steel Blade[!.]?",
        "decided to lose this battle by not using the Valyrian Steel Blade.",
    ),
    plain(
        r.AbilityDeclined,
        r"<H:house> decided not to use <A:card>'s special ability[!.]?",
        lambda m: r.AbilityDeclined(house(m["house"]), n.nicknamed(house(m["house"]), m["card"])),
        lambda x: f"{W(x.house)} decided not to use {n.nickname(x.card)}'s special ability.",
    ),
    plain(
        r.CardCancelled,
        r"<H:house> used <A:card>'s special ability to cancel his opponent's house card"
        r" and returned it to his hand[!.]?",
        lambda m: r.CardCancelled(house(m["house"]), n.nicknamed(house(m["house"]), m["card"])),
        lambda x: (
            f"{W(x.house)} used {n.nickname(x.card)}'s special ability to cancel his opponent's house card"
            " and returned it to his hand!"
        ),
    ),
    plain(
        r.CardExchanged,
        r"<H:house> used <A:card>'s special ability to choose another house card[!.]?",
        lambda m: r.CardExchanged(house(m["house"]), n.nicknamed(house(m["house"]), m["card"])),
        lambda x: f"{W(x.house)} used {n.nickname(x.card)}'s special ability to choose another house card.",
    ),
    plain(
        r.RivalLowered,
        r"<H:house> used <A:card>'s special ability to move House <H:rival> to the bottom of the <T:track> track[!.]?",
        lambda m: r.RivalLowered(
            house(m["house"]), n.nicknamed(house(m["house"]), m["card"]), house(m["rival"]), track(m["track"])
        ),
        lambda x: (
            f"{W(x.house)} used {n.nickname(x.card)}'s special ability to move House {W(x.rival)}"
            f" to the bottom of the {n.TRACKS[x.track]} track."
        ),
    ),
    plain(
        r.AbilityUsed,
        r"<H:house> used <A:card>'s special ability <X:text>",
        _ability,
        lambda x: f"{W(x.house)} used {n.nickname(x.card)}'s special ability {x.text}",
    ),
    Form(
        r.AbilityResolved,
        sentence(r"<H:house> resolved \(<N:strength>\) <A:card>'s special ability\.?"),
        lambda m, more: (
            r.AbilityResolved(
                house(m["house"]), int(m["strength"]), n.id_of(m["card"]), _effects(more, house(m["house"]))
            ),
            (),
        ),
        lambda x: [
            f"{W(x.house)} resolved ({x.strength}) {n.word(x.card)}'s special ability.",
            *map(effect_line, x.effects),
        ],
    ),
    Form(
        r.BattleLost,
        sentence(
            r"<H:house> lost the battle"
            r"(?: and (?P<how>withdrew|was forced|was not)(?: to withdraw)?"
            r"(?: able to withdraw his units| to <A:to>))?\.?"
        ),
        _lost,
        _write_lost,
    ),
    plain(
        r.PowerTaken,
        r"<H:house> resolved his (?:special )?Consolidate Power(?: ?\(\*\))? Order(?: token)? in <A:area>\."
        r" New Power Tokens: <N:power>\.?",
        lambda m: r.PowerTaken(house(m["house"]), n.id_of(m["area"]), int(m["power"])),
        lambda x: (
            f"{W(x.house)} resolved his Consolidate Power Order in {n.word(x.area)}. New Power Tokens: {x.power:+d}"
        ),
    ),
    Form(
        r.SpecialMustered,
        sentence(
            r"<H:house> resolved his special Consolidate Power Order(?: token)? in <A:area> and mustered new units:"
        ),
        _listed(lambda m, force: r.SpecialMustered(house(m["house"]), n.id_of(m["area"]), force)),
        lambda x: [
            (
                f"{W(x.house)} resolved his special Consolidate Power Order token in {n.word(x.area)}"
                " and mustered new units:"
            ),
            f"- {with_bars(x.units, n.MUSTERED)}",
        ],
    ),
    Form(
        r.PowerConsolidated,
        sentence(r"Houses consolidate new powers?:"),
        _powers(r.PowerConsolidated),
        lambda x: ["Houses consolidate new power:", power_line(x.power)],
    ),
    Form(
        r.GameOfThronesPower,
        sentence(r"'?Game of Thrones'? - Houses consolidated new powers?:"),
        _powers(r.GameOfThronesPower),
        lambda x: ["Game of Thrones - Houses consolidated new powers:", power_line(x.power)],
    ),
    plain(
        r.WinterCame,
        r"'?Winter [Ii]s Coming'? - New events? came up\. Now: <A:card>",
        lambda m: r.WinterCame(*marked(m["card"])),
        lambda x: f"'Winter is Coming' - New events came up. Now: '{with_mark(x.card, x.icon)}'",
    ),
    Form(
        r.WesterosChoice,
        sentence(
            r"'?(?P<card>[A-Z].*?)'? - The holder of the (?P<holder>Iron Throne|Valyrian Steel Blade|Messenger Raven)"
            r" chose (?:no effect or new event for this turn\.?|the following event: <X:choice>)"
        ),
        _choice,
        _write_choice,
    ),
    Form(r.SupplyCounted, sentence(r"<H:house> got new supplies \(<N:supply>\)\.?"), _supply, _write_supply),
    Form(
        r.Mustered,
        sentence(r"<H:house> mustered new units:"),
        _listed(lambda m, force: r.Mustered(house(m["house"]), force)),
        lambda x: [f"{W(x.house)} mustered new units:", f"- {with_bars(x.units, n.MUSTERED)}"],
    ),
    plain(
        r.Bid,
        r"<H:house> exerted a power of \[<N:power>\] for the <T:track> track\.?",
        lambda m: r.Bid(house(m["house"]), track(m["track"]), int(m["power"])),
        lambda x: f"{W(x.house)} exerted a power of [{x.power}] for the {n.TRACKS[x.track]} track.",
    ),
    Form(
        r.TrackOrdered,
        sentence(r"(?:<H:house> resolved tied bids\. )?New order of the <T:track> track:"),
        _track_ordered,
        _write_track,
    ),
    plain(
        r.WildlingBid,
        r"Wildlings? Attack: <H:house> deployed a power of \[<N:power>\] against the [Ww]ildlings\.?",
        lambda m: r.WildlingBid(house(m["house"]), int(m["power"])),
        lambda x: f"Wildlings Attack: {W(x.house)} deployed a power of [{x.power}] against the wildlings.",
    ),
    plain(
        r.WildlingCardDrawn,
        r"Drawn Wildlings? card: <A:card>",
        lambda m: r.WildlingCardDrawn(n.id_of(m["card"].strip("'.").strip())),
        lambda x: f"Drawn Wildling card: {n.word(x.card)}",
    ),
    Form(
        r.WildlingsWon,
        sentence(r"The [Ww]ildlings overwhelmed <H:house>'s? troops[.!]?"),
        lambda m, more: (r.WildlingsWon(house(m["house"]), _effects(more, house(m["house"]))), ()),
        lambda x: [f"The Wildlings overwhelmed {W(x.house)}'s troops.", *map(effect_line, x.effects)],
    ),
    Form(
        r.WildlingsBeaten,
        sentence(r"The crowds of [Ww]ildlings have been blown away by the armies of Westeros[!.]?"),
        lambda m, more: (r.WildlingsBeaten(_effects(more)), ()),
        lambda x: [
            "The crowds of Wildlings have been blown away by the armies of Westeros!",
            *map(effect_line, x.effects),
        ],
    ),
    plain(r.NothingHappened, r"Nothing happens\.?", lambda m: r.NothingHappened(), lambda x: "Nothing happens."),
    plain(
        r.PowerTokenLeft,
        r"<H:house> left a Power token in <A:area>\.?",
        lambda m: r.PowerTokenLeft(house(m["house"]), n.id_of(m["area"])),
        lambda x: f"{W(x.house)} left a Power token in {n.word(x.area)}.",
    ),
    plain(
        r.ShipsCaptured,
        r"<H:house> captured <N:ships> Ships? in (?:the )?(?P<area>Port of .+?)\.?",
        lambda m: r.ShipsCaptured(house(m["house"]), n.id_of(m["area"]), int(m["ships"])),
        lambda x: f"{W(x.house)} captured {several(x.ships, 'ship', n.UNITS)} in {n.word(x.area)}.",
    ),
    plain(
        r.GameWon,
        r"<X:who> wins this game of thrones[!.]?",
        _winner,
        lambda x: f"{W(x.house) if x.house else x.player} wins this game of thrones!",
    ),
    plain(r.GameAborted, r"(?P<text>.*\b(?:GAME ABORTED|[Gg]ame (?:has been|was) aborted).*)",
          lambda m: r.GameAborted(m["text"]), lambda x: x.text),
    Form(
        r.WesterosCardShown,
        sentence(r"(?P<card>'?[A-Z][\w, ']*'?(?: ?\(W\))?'?)[.!]?"),
        _shown,
        lambda x: [with_mark(x.card, x.icon)],
    ),
)  # fmt: skip

_forms: Mapping[type[r.Record], Form] = {form.kind: form for form in FORMS}


def read_record(lines: Lines) -> tuple[r.AnyRecord, tuple[str, ...]]:
    """The record of an entry, given its lines, and the lines that do not belong to it.

    Where no sentence of the format fits, or one leaves a line or a name that nobody knows, its names may tell what it
    means (:mod:`.meaning`). Never fails: what stays unclear is an :class:`~.records.Unknown` with the whole text.
    """
    known = _by_form(lines)
    is_vague = known is not None and isinstance(known[0], r.AbilityUsed)
    if known is not None and not is_vague and not known[1] and not any(unknown_names(known[0])):
        return known
    found = meaning(lines)
    if found is not None and (known is None or is_vague or type(found) is type(known[0])):
        return found, ()
    return known or (r.Unknown("\n".join(lines)), ())


def _by_form(lines: Lines) -> tuple[r.AnyRecord, tuple[str, ...]] | None:
    head, more = lines[0], tuple(lines[1:])
    for form in FORMS:
        match = form.head.fullmatch(head)
        if match is None:
            continue
        try:
            found = form.read(match, more)
        except NotThis:
            continue
        if found is not None:
            return found[0], tuple(found[1])
    return None


def begins_entry(line: str) -> bool:
    """Whether a line is the first one of a known kind of entry."""
    return any(form.head.fullmatch(line) for form in FORMS)


def write_record(record: r.Record) -> list[str]:
    """The lines of an entry."""
    if isinstance(record, r.Unknown):
        return record.text.split("\n")
    return _forms[type(record)].write(record)
