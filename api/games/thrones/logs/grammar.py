"""The sentences of the log format: for each kind of record how it is read and how it is written, side by side.

An entry is a first line and continuation lines. A form takes the lines it understands; what is left over is the
``rest`` of the entry. Forms are tried in the order of :data:`FORMS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from api.games.thrones.logs import names as n
from api.games.thrones.logs import records as r
from api.games.thrones.logs.dates import attack_date, attack_date_word
from api.games.thrones.logs.known import unknown_names
from api.games.thrones.logs.meaning import SITE_ORDER, meaning
from api.games.thrones.logs.meaning import effects as meanings
from domain.thrones.language.pieces import HouseId, Units

Lines = Sequence[str]
Read = Callable[[re.Match[str], Lines], tuple[Any, Lines] | None]
Write = Callable[[Any], list[str]]


class Form(msgspec.Struct, frozen=True):
    """One kind of sentence."""

    kind: type[Any]
    head: re.Pattern[str]
    read: Read
    write: Write


class NotThis(Exception):
    """The words inside a sentence are not of the kind that belongs there."""


def sentence(text: str) -> re.Pattern[str]:
    """A pattern for a whole line.

    ``<H:house>`` is a House, A an area or name, N a number, O an order, U units, T a track, X anything; ``his``
    stands for any pronoun.
    """
    parts = re.split(r"<([A-Z]):(\w+)>", text)
    pattern = parts[0]
    for spot, name, rest in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        pattern += f"(?P<{name}>{SPOTS[spot].pattern}){rest}"
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


# Names and numbers inside sentences


class Spot(msgspec.Struct, frozen=True):
    """What may stand in one place of a sentence: its pattern, how it is read, given whom it is about, and written."""

    pattern: str
    read: Callable[[str, HouseId], Any] = lambda text, _: text
    write: Callable[[Any], str] = str


_NAME, _NUMBER = r"\S(?:.*?\S)?", r"[+-]?\d+"
_UNITS = r"\d+ [A-Z]\w+(?: Engines?)?"

SPOTS: dict[str, Spot] = {
    "H": Spot("Baratheon|Greyjoy|Lannister|Martell|Stark|Tyrell", lambda text, _: house(text), W),
    "A": Spot(_NAME, lambda text, _: n.id_of(text), n.word),
    "C": Spot(_NAME, lambda text, of: n.nicknamed(of, text), n.nickname),
    "I": Spot(_NAME, lambda text, _: n.slug(text), n.word),
    "Q": Spot("Port of .+?", lambda text, _: n.id_of(text), n.word),
    "N": Spot(_NUMBER, lambda text, _: int(text)),
    "P": Spot(_NUMBER, lambda text, _: int(text), lambda power: f"{power:+d}"),
    "S": Spot(f"{_NUMBER} Ships?", lambda text, _: int(text.split()[0]), lambda ships: several(ships, "ship", n.UNITS)),
    "O": Spot(
        r"(?:Special )?(?:March|Defen[sc]e|Support|Raid|Consolidate Power)(?: ?\([^)]*\))?",
        lambda text, _: order(text),
        n.ORDERS.__getitem__,
    ),
    "U": Spot(f"{_UNITS}(?:(?:, and|,| and) {_UNITS})*"),
    "T": Spot("Iron Throne|Fiefdoms?|King'?s'? Court", lambda text, _: track(text), n.TRACKS.__getitem__),
    "K": Spot("Footm[ae]n|Knights?", lambda text, _: "knight" if "Knight" in text else "footman"),
    "E": Spot("top|bottom"),
    "X": Spot(".+?"),
    "B": Spot(".+?", lambda text, _: barred(text, n.UNITS), lambda force: with_bars(force, n.UNITS)),
    "M": Spot(".+", lambda text, _: barred(text, n.MUSTERED), lambda force: with_bars(force, n.MUSTERED)),
    "F": Spot(
        ".+", lambda text, _: barred(text, n.MUSTERED), lambda force: with_bars(force, n.MUSTERED).removesuffix(" |")
    ),
    "R": Spot(".+?", lambda text, _: _cards(text), lambda cards: _cards_line(cards)),
    "G": Spot(".*", lambda line, _: {} if _is_nobody(line) else power_of(line), lambda power: power_line(power)),
}
"""By letter: Houses, areas and names, cards by one word, Tides cards, ports, numbers, Power gained, Ships, orders,
units, tracks, Footmen or Knights, ends of a track, anything, units between bars, musters (free ones end without a bar),
cards, Power by House."""

_PART = re.compile(r"<([A-Z]):(\w+)>|\{([^|}]*)\|([^}]*)\}")


def told(kind: type[Any], *lines: str, effects: bool = False, write: Write | None = None) -> Form:
    """The form of a record whose sentence has its fields in it, each line read and written by the same words.

    ``<H:house>`` is a field and what it may be (:data:`SPOTS`); of ``{by|by|with}`` the first is written, and the
    pattern behind it is read. ``his`` stands for any pronoun, and a full stop or exclamation mark at the end may be
    missing. With ``effects``, all lines that follow are what came of it.
    """
    heads = [_pattern(line) for line in lines]
    spots = {name: SPOTS[letter] for line in lines for letter, name, *_ in _PART.findall(line) if name}

    def read(m: re.Match[str], more: Lines) -> tuple[Any, Lines] | None:
        found = dict(m.groupdict())
        for head, line in zip(heads[1:], more, strict=False):
            match = head.fullmatch(line)
            if match is None:
                return None
            found |= match.groupdict()
        if len(found) < len(spots):
            return None
        of = house(found.get("house", ""))
        fields = {name: spot.read(found[name], of) for name, spot in spots.items()}
        if effects:
            return kind(**fields, effects=_effects(more, of)), ()
        return kind(**fields), more[len(lines) - 1 :]

    def written(x: Any) -> list[str]:
        own = [_PART.sub(lambda m: SPOTS[m[1]].write(getattr(x, m[2])) if m[1] else m[3], line) for line in lines]
        return [*own, *map(effect_line, x.effects)] if effects else own

    return Form(kind, heads[0], read, write or written)


def _pattern(line: str) -> re.Pattern[str]:
    pattern, at = "", 0
    for part in _PART.finditer(line):
        letter, name, _, other = part.groups()
        pattern += re.escape(line[at : part.start()])
        pattern += f"(?P<{name}>{SPOTS[letter].pattern})" if letter else f"(?:{other})"
        at = part.end()
    rest = re.sub(r"([.!])$", "", line[at:])
    end = {".": "[.]?", "!": "[.!]?"}.get(line[at:][-1:], "")
    return re.compile(re.sub(r"\bhis\b", "(?:his|her|their|its)", pattern + re.escape(rest) + end))


# Details


def _exchange(x: r.UnitsExchanged) -> list[str]:
    new = ("a " if x.count == 1 else "") + n.UNITS[x.new][x.count != 1]
    return [f"{W(x.house)} replaced {several(x.count, x.old, n.UNITS)} by {new}."]


EFFECTS: tuple[Form, ...] = (
    told(r.OrderTakenOff, "the <O:order> Order in <A:area> has been removed."),
    told(r.NoOrderTakenOff, "no {orders have|orders? (?:has|have)} been removed."),
    told(r.OrderShifted, "the <O:order> Order in <A:area> has been moved to <A:to>{.|[.]}"),
    told(r.CardDiscarded, "<H:house> discarded the house card (<N:strength>) <A:card>{.|[.]}"),
    told(r.CardsTakenBack, r"<H:house> took back the house {cards:|cards?:?} <R:cards>{| ?\|?[.]?}"),
    told(
        r.UnitUpgraded,
        "{a Footman|an? (?:Footman|Footmen)(?: units?)?} in <A:area> {has|has|have} been upgraded to a Knight.",
    ),
    told(r.SupplyLimited, r"<H:house>'s new Supply limit is {[|\[?}<N:supply>{]|\]?}."),
    told(r.UnitsRaised, "<H:house> mustered new units:{ | ?}<F:units>"),
    told(r.UnitsRemoved, "<H:house> has been forced to remove some units:{ | ?}<B:units>"),
    told(r.UnitsExchanged, "<H:house> replaced <N:count> <K:old> by {|(?:a )?}<K:new>{.|[.]}", write=_exchange),
    told(r.MarkerMoved, "<H:house> moved his token to the <E:to> position of the <T:track> track."),
    told(r.MarkerLowered, "<H:house> moved his token to position [<N:position>] of the <T:track> track{.|[.]}"),
    told(r.PowerReturned, r"<H:house> returned {[|\[?}<N:power>{]|\]?} Power {tokens|tokens?} to his available Power."),
    told(r.PowerLost, r"<H:house> lost {[|\[?}<N:power>{]|\]?} Power {tokens|tokens?}."),
    told(r.Nothing, "{Nothing|[Nn]othing} happens."),
)
"""Lines of outcomes, without their dash."""


def _cards(text: str) -> tuple[tuple[int, str], ...]:
    found = []
    for part in text.split("|"):
        match = re.fullmatch(r"\s*\((\d+)\) (.+?)\s*", part)
        if match is None:
            raise NotThis(text)
        found.append((int(match[1]), n.id_of(match[2])))
    return tuple(found)


def _cards_line(cards: Iterable[tuple[int, str]]) -> str:
    return "".join(f"({strength}) {n.word(card)} | " for strength, card in cards).rstrip()


def effect(line: str) -> r.Effect:
    """One line of an outcome; what nobody knows is kept as it stands."""
    bare = re.sub(r"^-\s*", "", line)
    found = _by_form(EFFECTS, (bare,))
    return found[0] if found is not None else r.Told(bare)


def effect_line(effect: r.Effect) -> str:
    return f"- {effect.text}" if isinstance(effect, r.Told) else f"- {_forms[type(effect)].write(effect)[0]}"


def _effects(lines: Lines, house: HouseId = "") -> tuple[r.Effect, ...]:
    """Lines of an outcome of a House; those in other words by what they mean."""
    found: list[r.Effect] = []
    for line in lines:
        told = effect(line)
        found += (meanings(told.text, house) or (told,)) if isinstance(told, r.Told) else (told,)
    return tuple(found)


# Entries with continuation lines

_step = sentence(
    r"- (?:to|for) <A:to> with <U:units>(?P<neutral> and defeated the deployed neutral (?:forces?|fleet) there)?"
    r"\.?(?P<battle> ?-> ?Battle!)?"
)
_attack = sentence(
    r"\[Attack\] (?:(?P<at>\d[^:]*:\d\d(?::\d\d)?): )?<H:house> is attacking <H:defender> in <A:area> from <A:origin>"
    r"(?: with <U:units>)?\.?"
)


def _marched(m: re.Match[str], more: Lines) -> tuple[r.Record, Lines] | None:
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


def _lost(m: re.Match[str], more: Lines) -> tuple[r.Record, Lines]:
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


def _track_ordered(m: re.Match[str], more: Lines) -> tuple[r.Record, Lines] | None:
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


def _supply(m: re.Match[str], more: Lines) -> tuple[r.Record, Lines]:
    removed = effect(more[0]) if more else None
    if isinstance(removed, r.UnitsRemoved) and removed.house == house(m["house"]):
        return r.SupplyCounted(removed.house, int(m["supply"]), removed.units), more[1:]
    return r.SupplyCounted(house(m["house"]), int(m["supply"])), more


def _write_supply(x: r.SupplyCounted) -> list[str]:
    removed = [effect_line(r.UnitsRemoved(x.house, x.removed))] if x.removed else []
    return [f"{W(x.house)} got new supplies ({x.supply}).", *removed]


def _raided(m: re.Match[str], more: Lines) -> tuple[r.Record, Lines]:
    targets = []
    for part in re.split(r",? and the ", m["targets"]):
        found = _target.fullmatch(part)
        if found is None:
            raise NotThis(part)
        targets.append((n.id_of(found["area"]), order(found["order"])))
    return r.Raided(house(m["house"]), tuple(targets)), more


def _write_raided(x: r.Raided) -> list[str]:
    targets = " and ".join(f"the {n.ORDERS[order]} Order in {n.word(area)}" for area, order in x.targets)
    return [f"{W(x.house)} raided {targets}."]


_target = sentence(r"<O:order> Order in <A:area>")


def _choice(m: re.Match[str], more: Lines) -> tuple[r.Record, Lines]:
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


def _shown(m: re.Match[str], more: Lines) -> tuple[r.Record, Lines] | None:
    card, icon = marked(m["card"])
    return (r.WesterosCardShown(card, icon), more) if card in n.WESTEROS_CARDS else None


def _winner(m: re.Match[str]) -> r.Record:
    who = m["who"].strip()
    found = house(who.removeprefix("House "))
    return r.GameWon(found) if found in n.HOUSES else r.GameWon(None, who)


FORMS: tuple[Form, ...] = (
    told(r.OrdersSet, "<H:house> {|(?:has )?}set his orders."),
    told(r.RavenLooked, "<H:house> decided to look {in|in|into|at} the Wildling deck."),
    told(r.RavenKept, "<H:house> knows things."),
    told(r.RavenBuried, "<H:house> placed the card at the bottom of the Wildling deck."),
    told(r.RavenUnused, "<H:house> did not use the {messenger raven|[Mm]essenger [Rr]aven}."),
    told(r.RavenReplaced, "<H:house> replaced the <O:old> Order in <A:area> {by|by|with} {a|an?} <O:new> Order."),
    Form(r.Raided, sentence(r"<H:house> raided the <X:targets>\.?"), _raided, _write_raided),
    told(r.RaidUnusable, "Unusable <O:order> {Order has|Orders? (?:has|have)} been removed from <A:area>."),
    told(r.OrderGivenUp, "<H:house> removed his <O:order> Order {in|in|from} <A:area>."),
    Form(
        r.Marched,
        sentence(
            r"<H:house> (?P<by>marched out of|has sailed from|has set sail from) <A:area>(?P<stop>\.)?"
            r"(?P<battle> ?-> ?Battle!)?"
        ),
        _marched,
        _write_marched,
    ),
    told(r.SupportGiven, "<H:house> supports <H:to> with a fighting strength of <N:strength>."),
    told(
        r.SupportWithheld,
        "<H:house> {decided not to support any house.|(?:decided not to support|does not support|did not support"
        r"|declined to support)\b.*}",
    ),
    told(r.SupportRefused, "<H:house> {refused|refused|declined|rejected} the support {of|of|from} <H:of>."),
    told(r.CardChosen, "<H:house> chose (<N:strength>) <A:card> to lead his forces."),
    told(r.CardMissing, "<H:house> had no house card to lead his forces."),
    told(r.TidesDrawn, "<H:house> drew the Tides of Battle card <I:card>."),
    told(r.BladeUsed, "<H:house> decided to use the Valyrian Steel Blade!"),
    told(
        r.BladeDeclined,
        "<H:house> decided {to lose this battle by not using|to lose this battle by not using|not to use}"
        " the Valyrian Steel Blade{.|[.!]?}",
    ),
    told(r.AbilityDeclined, "<H:house> decided not to use <C:card>'s special ability{.|[.!]?}"),
    told(
        r.CardCancelled,
        "<H:house> used <C:card>'s special ability to cancel his opponent's house card and returned it to his hand!",
    ),
    told(r.CardExchanged, "<H:house> used <C:card>'s special ability to choose another house card{.|[.!]?}"),
    told(
        r.RivalLowered,
        "<H:house> used <C:card>'s special ability to move House <H:rival> to the bottom of the <T:track>"
        " track{.|[.!]?}",
    ),
    told(r.AbilityUsed, "<H:house> used <C:card>'s special ability <X:text>"),
    told(r.AbilityResolved, "<H:house> resolved (<N:strength>) <A:card>'s special ability.", effects=True),
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
    told(
        r.PowerTaken,
        r"<H:house> resolved his {|(?:special )?}Consolidate Power{|(?: ?\(\*\))?} Order{|(?: token)?} in <A:area>."
        " New Power Tokens: <P:power>{|[.]?}",
    ),
    told(
        r.SpecialMustered,
        "<H:house> resolved his special Consolidate Power Order{ token|(?: token)?} in <A:area>"
        " and mustered new units:",
        r"{- |(?:-\s*)?}<M:units>",
    ),
    told(r.PowerConsolidated, "Houses consolidate new {power|powers?}:", "<G:power>"),
    told(
        r.GameOfThronesPower,
        "{|'?}Game of Thrones{|'?} - Houses consolidated new {powers|powers?}:",
        "<G:power>",
    ),
    Form(
        r.WinterCame,
        sentence(r"'?Winter [Ii]s Coming'? - New events? came up\. Now: <A:card>"),
        lambda m, more: (r.WinterCame(*marked(m["card"])), more),
        lambda x: [f"'Winter is Coming' - New events came up. Now: '{with_mark(x.card, x.icon)}'"],
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
    told(r.Mustered, "<H:house> mustered new units:", r"{- |(?:-\s*)?}<M:units>"),
    told(r.Bid, "<H:house> exerted a power of [<N:power>] for the <T:track> track."),
    Form(
        r.TrackOrdered,
        sentence(r"(?:<H:house> resolved tied bids\. )?New order of the <T:track> track:"),
        _track_ordered,
        _write_track,
    ),
    told(
        r.WildlingBid,
        "{Wildlings|Wildlings?} Attack: <H:house> deployed a power of [<N:power>] against the {w|[Ww]}ildlings.",
    ),
    told(r.WildlingCardDrawn, "Drawn {Wildling|Wildlings?} card: <A:card>"),
    told(r.WildlingsWon, "The {W|[Ww]}ildlings overwhelmed <H:house>'{s|s?} troops{.|[.!]?}", effects=True),
    told(
        r.WildlingsBeaten,
        "The crowds of {W|[Ww]}ildlings have been blown away by the armies of Westeros!",
        effects=True,
    ),
    told(r.NothingHappened, "Nothing happens."),
    told(r.PowerTokenLeft, "<H:house> left a Power token in <A:area>."),
    told(r.ShipsCaptured, "<H:house> captured <S:ships> in {|(?:the )?}<Q:area>."),
    Form(
        r.GameWon,
        sentence(r"<X:who> wins this game of thrones[!.]?"),
        lambda m, more: (_winner(m), more),
        lambda x: [f"{W(x.house) if x.house else x.player} wins this game of thrones!"],
    ),
    Form(
        r.GameAborted,
        sentence(r"(?P<text>.*\b(?:GAME ABORTED|[Gg]ame (?:has been|was) aborted).*)"),
        lambda m, more: (r.GameAborted(m["text"]), more),
        lambda x: [x.text],
    ),
    Form(
        r.WesterosCardShown,
        sentence(r"(?P<card>'?[A-Z][\w, ']*'?(?: ?\(W\))?'?)[.!]?"),
        _shown,
        lambda x: [with_mark(x.card, x.icon)],
    ),
)

_forms: Mapping[type[Any], Form] = {form.kind: form for form in (*FORMS, *EFFECTS)}


def read_record(lines: Lines) -> tuple[r.Record, tuple[str, ...]]:
    """The record of an entry, given its lines, and the lines that do not belong to it.

    Where no sentence of the format fits, or one leaves a line or a name that nobody knows, its names may tell what it
    means (:mod:`.meaning`). Never fails: what stays unclear is an :class:`~.records.Unknown` with the whole text.
    """
    known = _by_form(FORMS, lines)
    is_vague = known is not None and isinstance(known[0], r.AbilityUsed)
    if known is not None and not is_vague and not known[1] and not any(unknown_names(known[0])):
        return known
    found = meaning(lines)
    if found is not None and (known is None or is_vague or type(found) is type(known[0])):
        return found, ()
    return known or (r.Unknown("\n".join(lines)), ())


def _by_form(forms: Iterable[Form], lines: Lines) -> tuple[Any, tuple[str, ...]] | None:
    head, more = lines[0], tuple(lines[1:])
    for form in forms:
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
