"""Answers to wildling attacks (2E-DP-8 to 2E-DP-20)."""

from __future__ import annotations

from domain.thrones.language.answers.base import Chosen, HouseAnswer, UnitsAnswer, WordAnswer
from domain.thrones.language.answers.westeros import InfluenceBid, InfluenceTie
from domain.thrones.language.pieces import Count
from domain.thrones.spelling.names import NotationError
from domain.thrones.spelling.reader import Reader, bid_and_rest, either_or, words_only
from domain.thrones.spelling.scan import Span
from domain.thrones.spelling.text import chosen_units
from domain.thrones.spelling.words import NONE, WILDLINGS


def any_bid(reader: Reader, body: Span) -> HouseAnswer:
    """``bid``: for a track, or against the wildlings."""
    _, rest = bid_and_rest(body, InfluenceBid.usage)
    if rest:
        return (WildlingBid if words_only(rest, "a track").key in WILDLINGS else InfluenceBid).read(reader, body)
    both: list[type[HouseAnswer]] = [kind for kind in (InfluenceBid, WildlingBid) if reader.question(kind) is not None]
    if len(both) == 1:
        return both[0].read(reader, body)
    expected = f'"{InfluenceBid.usage}" or "{WildlingBid.usage}"'
    raise NotationError("this does not say what is bid for", body.column, expected=expected)


def any_tie(reader: Reader, body: Span) -> HouseAnswer:
    """``tie``: of a track, or of the wildlings' highest or lowest bidders."""
    for index in range(min(2, len(body)), 0, -1):
        if body.part(0, index).key in WILDLINGS:
            return WildlingTie.read(reader, body.part(index).without_lead(":"))
    wildlings = reader.question(WildlingTie) is not None and reader.question(InfluenceTie) is None
    return (WildlingTie if wildlings and not body.cut(":") else InfluenceTie).read(reader, body)


class WildlingBid(HouseAnswer, frozen=True, tag="wildling-bid"):
    """2E-DP-8: Power for the Night's Watch."""

    usage = "bid wildlings NUMBER"
    form = "bid wildlings {0.bid}"
    secret = True
    also = {"bid": any_bid}

    bid: Count

    @classmethod
    def read(cls, reader: Reader, body: Span) -> HouseAnswer:
        bid, rest = bid_and_rest(body, cls.usage)
        if rest and words_only(rest, cls.usage).key not in WILDLINGS:
            raise NotationError(f'"{rest.text}" means nothing here', rest.column, expected=f'"{cls.usage}"')
        return cls(house=reader.house, bid=bid)


class WildlingTie(WordAnswer, frozen=True, tag="wildling-tie"):
    """2E-DP-9: which of the tied Houses."""

    usage = "tie wildlings: HOUSE"
    form = "tie wildlings: {0.choice}"
    choose = Reader.other_house
    also = {"tie": any_tie}


class PreemptiveRaid(WordAnswer, frozen=True, tag="preemptive-raid"):
    """2E-DP-10: destroy-units, lose-influence."""

    usage = "preemptive-raid destroy-units|lose-influence"
    words = {
        "destroy-units": ("destroy", "destroytwounits", "destroy2units", "units"),
        "lose-influence": ("influence", "loseposition", "losepositions", "track", "lose2positions"),
    }


class PreemptiveRaidTrack(WordAnswer, frozen=True, tag="preemptive-raid-track"):
    """2E-DP-11: one of the tracks on which the lowest bidder stands best."""

    usage = "preemptive-raid-track TRACK"
    choose = Reader.track


class DestroyUnits(UnitsAnswer, frozen=True, tag="destroy-units"):
    """2E-DP-12: units anywhere."""

    usage = "destroy-units AREA: UNITS; AREA: UNITS"
    heads = ("destroy",)


class HordeCastleUnits(UnitsAnswer, frozen=True, tag="horde-castle-units"):
    """2E-DP-13: two units in one area with a Castle or Stronghold."""

    usage = "horde-castle-units AREA: UNITS"
    heads = ("destroy",)


class CrowKillersDegrade(HouseAnswer, frozen=True, tag="crow-killers-degrade"):
    """2E-DP-14: Knights that become Footmen, and those destroyed for want of Footmen."""

    usage = "crow-killers-degrade replace AREA: UNITS; destroy AREA: UNITS"
    heads = ("crow killers",)

    replaced: Chosen = {}
    destroyed: Chosen = {}

    @property
    def written(self) -> str:
        parts = [("replace", self.replaced), ("destroy", self.destroyed)]
        written = [f"{verb} {chosen_units(chosen)}" for verb, chosen in parts if any(chosen.values())]
        return f"{self.kind} {'; '.join(written) or 'none'}"

    @classmethod
    def read(cls, reader: Reader, body: Span) -> HouseAnswer:
        if not body:
            raise cls.missing("the units are", body, '"none"')
        if body.key in NONE:
            return cls(house=reader.house)
        # "replace" and "destroy" hold until the other one comes.
        parts: dict[str, list[Span]] = {"replace": [], "destroy": []}
        verb = "replace"
        for piece in body.split(";"):
            first = piece.tokens[0].text.casefold()
            if first in parts:
                verb, piece = first, piece.part(1).without_lead(":")
            parts[verb] += [piece] if piece else []
        replaced, destroyed = (reader.chosen(pieces, cls.usage) for pieces in parts.values())
        return cls(house=reader.house, replaced=replaced, destroyed=destroyed)


class CrowKillersUpgrade(UnitsAnswer, frozen=True, tag="crow-killers-upgrade"):
    """2E-DP-15: up to two Footmen that become Knights."""

    usage = "crow-killers-upgrade AREA: UNITS"
    heads = ("crow killers",)

    units: Chosen = {}


class MassingDiscard(WordAnswer, frozen=True, tag="massing-discard"):
    """2E-DP-16: one card of the hand."""

    usage = "massing-discard CARD"
    choose = Reader.card
    heads = ("discard",)


class KingBeyondRaise(WordAnswer, frozen=True, tag="king-beyond-raise"):
    """2E-DP-17: a track."""

    usage = "king-beyond-raise TRACK"
    choose = Reader.track
    heads = ("raise",)


class KingBeyondLower(WordAnswer, frozen=True, tag="king-beyond-lower"):
    """2E-DP-18: fiefdoms or kings-court."""

    usage = "king-beyond-lower TRACK"
    choose = Reader.track
    heads = ("lower",)


class MammothRetrieve(WordAnswer, frozen=True, tag="mammoth-retrieve"):
    """2E-DP-19: none, or a card of the discard pile."""

    usage = "mammoth-retrieve CARD|none"
    choose = either_or(NONE, "none", Reader.card)
    heads = ("retrieve",)


class HordeMusterArea(WordAnswer, frozen=True, tag="horde-muster-area"):
    """2E-DP-20: none, or a controlled area with a Castle or Stronghold."""

    usage = "horde-muster-area AREA|none"
    choose = either_or(NONE, "none", Reader.area)
    heads = ("horde muster",)
