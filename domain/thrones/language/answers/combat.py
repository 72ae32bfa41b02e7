"""Answers of combat (2E-DP-30 to 2E-DP-39); ``area`` is the embattled area."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

from domain.kernel.bounds import AtMost
from domain.thrones.language.answers.base import HouseAnswer, each_order
from domain.thrones.language.pieces import MOST_AREAS, AreaId, Units
from domain.thrones.spelling.names import NotationError, compact, either
from domain.thrones.spelling.reader import (
    Choose,
    Reader,
    asked,
    either_or,
    is_count_or_unit,
    placed_units,
    read_units,
    single_unit,
    with_arrows,
    word,
)
from domain.thrones.spelling.scan import Span
from domain.thrones.spelling.text import per_area, some_units
from domain.thrones.spelling.words import KEEP, LEAVE, NO, NONE, YES

Supported = Literal["attacker", "defender", "withhold"]


class CombatAnswer(HouseAnswer, frozen=True):
    area: AreaId

    @property
    def about(self) -> tuple[str, ...]:
        return (self.area,)


class CombatWord(CombatAnswer, frozen=True):
    """A word, card or area that a side of a combat chooses."""

    form = "{0.kind} {0.area}: {0.choice}"

    choice: str

    @classmethod
    def read(cls, reader: Reader, body: Span) -> HouseAnswer:
        if not body.cut(":") and (placed := placed_units(body)):  # play the-hound at blackwater
            named, place = placed[0]
            area, choice = reader.area(place), cls.chosen(reader, with_arrows(named).without_lead("->"))
        else:
            area, choice = area_and_choice(reader, body, cls.chosen, reader.question(cls), cls.usage)
        return cls(house=reader.house, area=area, choice=choice)


def area_and_choice(reader: Reader, body: Span, choose: Choose, question: Any, usage: str) -> tuple[AreaId, str]:
    """``blackwater: tywin-lannister``, or the choice alone where the combat is clear."""
    body = with_arrows(body)
    if cut := body.cut(":", "->"):
        named, rest = cut
        if named:
            return reader.area(named), choose(reader, rest.without_lead(":", "->"))
        body = rest
    if question is not None:
        try:
            return str(question.area), choose(reader, body)
        except NotationError:
            if len(body) < 2:
                raise
    if len(body) < 2:
        raise asked(usage, body.column)
    return reader.pair(body, reader.area, lambda span: choose(reader, span), usage)


class Support(CombatAnswer, frozen=True, tag="support"):
    """2E-DP-30: per eligible Support order: attacker, defender, withhold."""

    usage = "support AREA: AREA attacker|defender|withhold"
    words = {
        "attacker": ("attack", "attacking", "att", "a"),
        "defender": ("defend", "defending", "defence", "defense", "def", "d"),
        "withhold": ("no", "n", "none", "nobody", "noone", "neither", "nothing", "refuse", "withheld", "w"),
    }

    orders: Annotated[dict[AreaId, Supported], AtMost(MOST_AREAS)]

    @classmethod
    def read(cls, reader: Reader, body: Span) -> HouseAnswer:
        return cls(house=reader.house, **each_order(cls, reader, body, "area", {side: side for side in cls.words}))

    @property
    def written(self) -> str:
        return f"support {self.area}: {per_area(self.orders)}"


class AcceptSupport(CombatAnswer, frozen=True, tag="accept-support"):
    """2E-DP-31: per offered order: accept (true) or refuse."""

    usage = "accept-support AREA: AREA accept|refuse"
    heads = ("accept",)
    words = {"accept": (*YES, "accepted", "take"), "refuse": (*NO, "refused", "reject", "decline")}

    orders: Annotated[dict[AreaId, bool], AtMost(MOST_AREAS)]

    @property
    def written(self) -> str:
        words = {area: "accept" if accepted else "refuse" for area, accepted in self.orders.items()}
        return f"{self.kind} {self.area}: {per_area(words)}"

    @classmethod
    def read(cls, reader: Reader, body: Span) -> HouseAnswer:
        return cls(house=reader.house, **each_order(cls, reader, body, "area", {"accept": True, "refuse": False}))


class HouseCardChoice(CombatWord, frozen=True, tag="house-card"):
    """2E-DP-32: one card of the hand."""

    usage = "card AREA: CARD"
    form = "card {0.area}: {0.choice}"
    choose = Reader.card
    secret = True
    heads = ("card", "choose", "play")


# Abilities of House cards


def _footman(reader: Reader, span: Span) -> str:
    """Which Footman Renly Baratheon replaces: its area, and whether it is routed."""
    placed = placed_units(span)
    if placed and len(placed) == 1:
        units, place = placed[0]
        area, rest = reader.area(place), units
    else:
        area, rest = _area_first(reader, span)
    if rest:
        return f"{area} {single_unit(read_units(rest), rest)}"
    decision = reader.decision("card-ability")
    offered = () if decision is None else getattr(decision.options, "words", ())
    there = [option for option in offered if option.startswith(f"{area} ")]
    if len(there) > 1:
        raise NotationError(f'"{span.text}" could be {either(there)}', span.column)
    return there[0] if there else f"{area} footman"


def _area_first(reader: Reader, span: Span) -> tuple[AreaId, Span]:
    if any(is_count_or_unit(token) for token in span.tokens[1:]):
        return reader.area_then_units(span, CardAbility.usage)
    return reader.area(span), span.part(len(span))


def _one_unit(_reader: Reader, span: Span) -> str:
    return "footman" if span.key == "unrouted" else "routed-footman" if span.key == "routed" else single_unit(
        read_units(span), span
    )  # fmt: skip


def _offered(reader: Reader, span: Span) -> str:
    """One of the words that the open question offers, for an ability that spells nothing in a way of its own."""
    question = reader.decision("card-ability")
    words: tuple[str, ...] = getattr(question and question.options, "words", ())
    return word(span, dict.fromkeys(words, ()))


class Ability(NamedTuple):
    """What the answer to an ability is chosen from, and what else the ability is called."""

    choose: Choose
    names: tuple[str, ...] = ()


_CANCEL = {"cancel": (*YES, "use"), "leave": (*NO, "keep", "donotcancel", "dontcancel", "nothing")}
_CARD_OR_NONE = either_or(NONE, "none", Reader.card)
_AREA_OR_NONE = either_or(NONE, "none", Reader.area)

_SECOND = {
    "tyrion-cancel": Ability(lambda _reader, span: word(span, _CANCEL)),
    "tyrion-replacement": Ability(Reader.card),
    "aeron-swap": Ability(either_or(KEEP, "keep", Reader.card), ("aeron", "aerondamphair")),
    "doran-track": Ability(Reader.track, ("doran", "doranmartell")),
    "mace-footman": Ability(_one_unit, ("mace", "macetyrell")),
    "queen-of-thorns-order": Ability(_AREA_OR_NONE, ("queenofthorns", "qot")),
    "cersei-order": Ability(_AREA_OR_NONE, ("cersei", "cerseilannister")),
    "renly-upgrade": Ability(either_or(NONE, "none", _footman), ("renly", "renlybaratheon")),
    "patchface-discard": Ability(_CARD_OR_NONE, ("patchface",)),
}
_FIRST = {
    "luwin-retrieve": Ability(_CARD_OR_NONE, ("luwin", "maesterluwin")),
    "asha-order": Ability(_AREA_OR_NONE, ("asha", "ashagreyjoy")),
    "melisandre-discard": Ability(_CARD_OR_NONE, ("melisandre", "melisandreofasshai")),
    "loras-footman": Ability(_one_unit, ("loras", "serlorastyrell")),
}
_ABILITIES = {**_SECOND, **_FIRST}

ABILITIES = tuple(_SECOND)
"""The nine abilities of 2E-DP-33."""

ALL_ABILITIES = tuple(_ABILITIES)
"""With those of 1E-DP-16 that the second edition's cards do not ask for; Cersei's and Renly's are asked by both."""

NAMES = {compact(name): key for key, ability in _ABILITIES.items() for name in (key, *ability.names)}
"""What abilities are called, by the letters of the name."""


def chosen_for(ability: str) -> Choose:
    """How the answer to an ability is read."""
    return _ABILITIES[ability].choose if ability in _ABILITIES else _offered


def ability_by_name(ability: str, reader: Reader, body: Span) -> HouseAnswer:
    """The answer to an ability whose name has been read."""
    question = reader.question(CardAbility)
    if question is not None and question.ability != ability:
        question = None
    area, choice = area_and_choice(reader, body, chosen_for(ability), question, CardAbility.usage)
    return CardAbility(house=reader.house, area=area, ability=ability, choice=choice)


class CardAbility(CombatWord, frozen=True, tag="card-ability"):
    """2E-DP-33: an ability, by its key; the words are those of section 27."""

    usage = "ability AREA ABILITY: ANSWER"
    heads = ("ability",)
    form = "ability {0.area} {0.ability}: {0.choice}"
    also = {ability: partial(ability_by_name, ability) for ability in ALL_ABILITIES}

    ability: str

    @property
    def about(self) -> tuple[str, ...]:
        return (self.area, self.ability)

    @classmethod
    def read(cls, reader: Reader, body: Span) -> HouseAnswer:
        question = reader.question(cls)
        found = _find_ability(body, question)
        if question is not None:
            # First as an answer to the open question: the card that replaces another may be one with an ability.
            try:
                return ability_by_name(question.ability, reader, body)
            except NotationError:
                if found is None:
                    raise
        if found is None:
            raise NotationError("no ability is named here", body.column, expected=either(ALL_ABILITIES))
        start, stop, ability = found
        before, after = body.part(0, start), body.part(stop)
        if not before:
            return ability_by_name(ability, reader, after)
        before = Span(tuple(token for token in before.tokens if token.mark != ":"), before.column)
        area, choice = reader.area(before), chosen_for(ability)(reader, after.without_lead(":"))
        return cls(house=reader.house, area=area, ability=ability, choice=choice)


def _find_ability(body: Span, question: Any) -> tuple[int, int, str] | None:
    names = NAMES if question is None else {**NAMES, compact(question.ability): question.ability}
    for start in range(len(body)):
        for stop in range(min(start + 4, len(body)), start, -1):
            part = body.part(start, stop)
            if all(token.mark == "word" for token in part.tokens) and part.key in names:
                return start, stop, names[part.key]
    return None


class BladeRedraw(CombatWord, frozen=True, tag="blade-redraw"):
    """2E-DP-34: use, keep."""

    usage = "blade-redraw AREA: use|keep"
    heads = ("blade",)
    words = {"use": (*YES, "redraw"), "keep": (*NO, "leave", "donotuse", "dontuse")}


class BladeStrength(CombatWord, frozen=True, tag="blade-strength"):
    """2E-DP-35: use, do-not-use."""

    usage = "blade-strength AREA: use|do-not-use"
    heads = ("blade",)
    words = {"use": (*YES,), "do-not-use": (*NO, "keep", "dontuse", "save", "notuse")}


class CombatLosses(CombatAnswer, frozen=True):
    """Units of one side of a combat that are destroyed."""

    units: Units

    @property
    def written(self) -> str:
        return f"{self.usage.split()[0]} {self.area}: {some_units(self.units)}"

    @classmethod
    def read(cls, reader: Reader, body: Span) -> HouseAnswer:
        question = reader.question(cls)
        if placed := placed_units(body):
            if len(placed) > 1:
                raise asked(cls.usage, placed[1][0].column)
            return cls(house=reader.house, area=reader.area(placed[0][1]), units=read_units(placed[0][0]))
        if question is not None and body and not body.cut(":"):
            try:
                return cls(house=reader.house, area=question.area, units=read_units(body))
            except NotationError:
                if is_count_or_unit(body.tokens[0]) or len(body) < 2:
                    raise
        area, rest = reader.area_then_units(body, cls.usage)
        return cls(house=reader.house, area=area, units=read_units(rest))


class Casualties(CombatLosses, frozen=True, tag="casualties"):
    """2E-DP-36: the loser's units destroyed by swords."""

    usage = "losses AREA: UNITS"
    heads = ("lose", "losses")


class SkullCasualty(CombatLosses, frozen=True, tag="skull-casualty"):
    """2E-DP-37: one unit destroyed by a skull."""

    usage = "skull AREA: UNIT"
    heads = ("lose", "skull")


class RetreatArea(CombatWord, frozen=True, tag="retreat-area"):
    """2E-DP-38: a legal area; with Robb Stark also ``leave``, to leave the choice to the loser."""

    usage = "retreat AREA -> AREA"
    form = "retreat {0.area} -> {0.choice}"
    choose = either_or(LEAVE, "leave", Reader.area)
    heads = ("retreat",)


class RetreatLosses(CombatLosses, frozen=True, tag="retreat-losses"):
    """2E-DP-39: retreating units destroyed so that the rest can go."""

    usage = "retreat-losses AREA: UNITS"
    heads = ("lose",)
