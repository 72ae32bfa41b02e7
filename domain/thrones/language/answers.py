"""The answers to the 39 kinds of decision of section 26.

Kinds and answer words are the keys of section 26. Fields that name the question (an area, a track) come
with the answer, so that a late letter cannot answer the wrong one.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, get_args

import msgspec

from domain.kernel.bounds import AtMost
from domain.kernel.decision import Answer
from domain.thrones.language.pieces import MOST_AREAS, MOST_HOUSES, AreaId, Count, HouseId, OrderId, Unit, Units

Chosen = Annotated[dict[AreaId, Units], AtMost(MOST_AREAS)]
"""A set of units, by area."""

Supported = Literal["attacker", "defender", "withhold"]

YES, NO = ("yes", "y", "true", "ok"), ("no", "n", "false")
PASS = ("none", "no", "neither", "pass")


class HouseAnswer(Answer, frozen=True, kw_only=False):
    """An answer given by a House. Each kind says beside its fields how the notation writes it."""

    usage: ClassVar[str]
    heads: ClassVar[tuple[str, ...]] = ()
    """How the answer may begin, besides with its kind."""
    words: ClassVar[dict[str, tuple[str, ...]]] = {}
    """The closed list that it chooses from: the word of section 26 and what else is understood."""
    house: HouseId

    @property
    def player(self) -> str:
        return self.house


class WordAnswer(HouseAnswer, frozen=True):
    """An answer of one word out of a list."""

    choice: str


# Westeros phase (2E-DP-1 to 2E-DP-20)


class ThroneOfBlades(WordAnswer, frozen=True, tag="throne-of-blades"):
    """2E-DP-1: supply, mustering, nothing."""

    usage = "throne-of-blades supply|mustering|nothing"
    words = {"supply": (), "mustering": ("muster",), "nothing": PASS}


class DarkWings(WordAnswer, frozen=True, tag="dark-wings"):
    """2E-DP-2: clash-of-kings, collect-power, nothing."""

    usage = "dark-wings clash-of-kings|collect-power|nothing"
    words = {
        "clash-of-kings": ("clash", "cok", "bid", "bidding"),
        "collect-power": ("power", "collect", "gameofthrones"),
        "nothing": PASS,
    }


class PutToTheSword(WordAnswer, frozen=True, tag="put-to-the-sword"):
    """2E-DP-3: no-defense, no-march-plus-1, no-restriction."""

    usage = "put-to-the-sword no-defense|no-march-plus-1|no-restriction"
    words = {
        "no-defense": ("nodefence", "nodefenseorders", "nodefenceorders"),
        "no-march-plus-1": ("nomarch1", "nomarchplusone", "nospecialmarch", "nomarchstar"),
        "no-restriction": ("norestrictions", "none", "nothing"),
    }


class ReconcileSupply(HouseAnswer, frozen=True, tag="reconcile-supply"):
    """2E-DP-4: a minimal set of units to destroy."""

    usage = "reconcile-supply AREA: UNITS; AREA: UNITS"
    heads = (
        "destroy",
        "reconcile",
        "supply",
    )

    units: Chosen


class MusterStep(msgspec.Struct, frozen=True, omit_defaults=True):
    """Points of ``area`` bring ``unit`` into ``to``, instead of the Footman ``upgrade`` where that is given."""

    area: AreaId
    unit: Unit
    to: AreaId
    upgrade: Unit | None = None


class Muster(HouseAnswer, frozen=True, tag="muster"):
    """2E-DP-5: an ordered list of steps."""

    usage = "muster AREA: UNIT; UNIT from footman; ship @ PLACE"
    heads = ("recruit",)

    steps: Annotated[tuple[MusterStep, ...], AtMost(MOST_AREAS)] = ()


class InfluenceBid(HouseAnswer, frozen=True, tag="influence-bid"):
    """2E-DP-6: Power for one track."""

    usage = "bid TRACK NUMBER"
    secret = True
    heads = ("bid",)

    track: str
    bid: Count

    @property
    def about(self) -> tuple[str, ...]:
        return (self.track,)


class InfluenceTie(HouseAnswer, frozen=True, tag="influence-tie"):
    """2E-DP-7: every group of equal bids in the order chosen, highest bids first."""

    usage = "tie TRACK: HOUSE, HOUSE; HOUSE, HOUSE"
    heads = ("tie",)

    track: str
    groups: Annotated[tuple[Annotated[tuple[HouseId, ...], AtMost(MOST_HOUSES)], ...], AtMost(MOST_HOUSES)]

    @property
    def about(self) -> tuple[str, ...]:
        return (self.track,)


class WildlingBid(HouseAnswer, frozen=True, tag="wildling-bid"):
    """2E-DP-8: Power for the Night's Watch."""

    usage = "bid wildlings NUMBER"
    secret = True
    heads = ("bid",)

    bid: Count


class WildlingTie(WordAnswer, frozen=True, tag="wildling-tie"):
    """2E-DP-9: which of the tied Houses."""

    usage = "tie wildlings: HOUSE"
    heads = ("tie",)


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


class DestroyUnits(HouseAnswer, frozen=True, tag="destroy-units"):
    """2E-DP-12: units anywhere."""

    usage = "destroy-units AREA: UNITS; AREA: UNITS"
    heads = ("destroy",)

    units: Chosen


class HordeCastleUnits(HouseAnswer, frozen=True, tag="horde-castle-units"):
    """2E-DP-13: two units in one area with a Castle or Stronghold."""

    usage = "horde-castle-units AREA: UNITS"
    heads = ("destroy",)

    units: Chosen


class CrowKillersDegrade(HouseAnswer, frozen=True, tag="crow-killers-degrade"):
    """2E-DP-14: Knights that become Footmen, and those destroyed for want of Footmen."""

    usage = "crow-killers-degrade replace AREA: UNITS; destroy AREA: UNITS"
    heads = ("crow killers",)

    replaced: Chosen = {}
    destroyed: Chosen = {}


class CrowKillersUpgrade(HouseAnswer, frozen=True, tag="crow-killers-upgrade"):
    """2E-DP-15: up to two Footmen that become Knights."""

    usage = "crow-killers-upgrade AREA: UNITS"
    heads = ("crow killers",)

    units: Chosen = {}


class MassingDiscard(WordAnswer, frozen=True, tag="massing-discard"):
    """2E-DP-16: one card of the hand."""

    usage = "massing-discard CARD"
    heads = ("discard",)


class KingBeyondRaise(WordAnswer, frozen=True, tag="king-beyond-raise"):
    """2E-DP-17: a track."""

    usage = "king-beyond-raise TRACK"
    heads = ("raise",)


class KingBeyondLower(WordAnswer, frozen=True, tag="king-beyond-lower"):
    """2E-DP-18: fiefdoms or kings-court."""

    usage = "king-beyond-lower TRACK"
    heads = ("lower",)


class MammothRetrieve(WordAnswer, frozen=True, tag="mammoth-retrieve"):
    """2E-DP-19: none, or a card of the discard pile."""

    usage = "mammoth-retrieve CARD|none"
    heads = ("retrieve",)


class HordeMusterArea(WordAnswer, frozen=True, tag="horde-muster-area"):
    """2E-DP-20: none, or a controlled area with a Castle or Stronghold."""

    usage = "horde-muster-area AREA|none"
    heads = ("horde muster",)


# Planning phase (2E-DP-21 to 2E-DP-23)


class AssignOrders(HouseAnswer, frozen=True, tag="assign-orders"):
    """2E-DP-21: an order token for every area. With ``draft`` it is kept for a missed deadline only (2E-DP-42)."""

    usage = "orders AREA ORDER, AREA ORDER"
    secret = True
    heads = (
        "order",
        "orders",
    )

    orders: Annotated[dict[AreaId, OrderId], AtMost(MOST_AREAS)]
    draft: bool = False

    @property
    def tentative(self) -> bool:
        return self.draft


class Raven(HouseAnswer, frozen=True, tag="raven"):
    """2E-DP-22: replace (``area``, ``order``), look, nothing."""

    usage = "raven replace AREA ORDER|look|nothing"
    heads = ("messenger raven",)
    words = {
        "look": ("peek", "lookatthewildlingcard", "lookatwildlingcard", "lookatcard", "lookatthecard", "wildlings"),
        "nothing": (*PASS, "keep"),
    }

    choice: Literal["replace", "look", "nothing"]
    area: AreaId | None = None
    order: OrderId | None = None


class RavenCard(WordAnswer, frozen=True, tag="raven-card"):
    """2E-DP-23: top, bottom."""

    usage = "raven-card top|bottom"
    words = {"top": ("ontop", "keep", "leave"), "bottom": ("under", "onbottom", "tothebottom", "bury")}


# Action phase outside combat (2E-DP-24 to 2E-DP-29)


class Raid(HouseAnswer, frozen=True, tag="raid"):
    """2E-DP-24: a Raid order and its target or none; ``second`` for an order that takes two (1E-RAID-2)."""

    usage = "raid AREA -> AREA|nothing [, AREA]"

    area: AreaId
    target: AreaId | None = None
    second: AreaId | None = None


class Move(msgspec.Struct, frozen=True):
    """Units that go to one destination."""

    to: AreaId
    units: Units


class MarchOrder(HouseAnswer, frozen=True, tag="march"):
    """2E-DP-25: a March order with all its moves."""

    usage = "march AREA: UNITS -> AREA; UNITS -> AREA; leave power"
    heads = ("move",)

    area: AreaId
    moves: Annotated[tuple[Move, ...], AtMost(MOST_AREAS)] = ()
    leave_power: bool = False


class NeutralSupportRequest(HouseAnswer, frozen=True, tag="neutral-support-request"):
    """2E-DP-26: the March order in ``area`` against the neutral force in ``target``, or neither."""

    usage = "neutral-support-request AREA -> AREA"
    heads = (
        "ask",
        "ask support",
        "request support",
    )

    area: AreaId | None = None
    target: AreaId | None = None


class NeutralSupport(HouseAnswer, frozen=True, tag="neutral-support"):
    """2E-DP-27: grant (true) or withhold, per order; ``target`` is the neutral force."""

    usage = "neutral-support AREA: AREA grant|withhold"
    heads = ("grant",)
    words = {"grant": (*YES, "give", "support", "granted"), "withhold": (*NO, "refuse", "deny", "none")}

    target: AreaId
    orders: Annotated[dict[AreaId, bool], AtMost(MOST_AREAS)]

    @property
    def about(self) -> tuple[str, ...]:
        return (self.target,)


class CaptureShips(HouseAnswer, frozen=True, tag="capture-ships"):
    """2E-DP-28: how many Ships to place in a captured port."""

    usage = "capture-ships PORT NUMBER"
    heads = ("capture",)

    port: AreaId
    ships: Count

    @property
    def about(self) -> tuple[str, ...]:
        return (self.port,)


class Consolidate(HouseAnswer, frozen=True, tag="consolidate"):
    """2E-DP-29: a Consolidate Power order, for Power or to muster."""

    usage = "consolidate AREA power|muster"
    heads = (
        "consolidate power",
        "cp",
        "power",
    )
    words = {"power": ("cp", "collect", "tokens"), "muster": ("mustering", "recruit")}

    area: AreaId
    use: Literal["power", "muster"] = "power"


# Combat (2E-DP-30 to 2E-DP-39); ``area`` is the embattled area


class CombatAnswer(HouseAnswer, frozen=True):
    area: AreaId

    @property
    def about(self) -> tuple[str, ...]:
        return (self.area,)


class CombatWord(CombatAnswer, frozen=True):
    choice: str


class Support(CombatAnswer, frozen=True, tag="support"):
    """2E-DP-30: per eligible Support order: attacker, defender, withhold."""

    usage = "support AREA: AREA attacker|defender|withhold"
    words = {
        "attacker": ("attack", "attacking", "att", "a"),
        "defender": ("defend", "defending", "defence", "defense", "def", "d"),
        "withhold": ("no", "n", "none", "nobody", "noone", "neither", "nothing", "refuse", "withheld", "w"),
    }

    orders: Annotated[dict[AreaId, Supported], AtMost(MOST_AREAS)]


class AcceptSupport(CombatAnswer, frozen=True, tag="accept-support"):
    """2E-DP-31: per offered order: accept (true) or refuse."""

    usage = "accept-support AREA: AREA accept|refuse"
    heads = ("accept",)
    words = {"accept": (*YES, "accepted", "take"), "refuse": (*NO, "refused", "reject", "decline")}

    orders: Annotated[dict[AreaId, bool], AtMost(MOST_AREAS)]


class HouseCardChoice(CombatWord, frozen=True, tag="house-card"):
    """2E-DP-32: one card of the hand."""

    usage = "card AREA: CARD"
    secret = True
    heads = (
        "card",
        "choose",
        "play",
    )


class CardAbility(CombatWord, frozen=True, tag="card-ability"):
    """2E-DP-33: one of nine abilities, by its key; the words are those of section 27."""

    usage = "ability AREA ABILITY: ANSWER"
    heads = ("ability",)

    ability: str

    @property
    def about(self) -> tuple[str, ...]:
        return (self.area, self.ability)


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
    units: Units


class Casualties(CombatLosses, frozen=True, tag="casualties"):
    """2E-DP-36: the loser's units destroyed by swords."""

    usage = "losses AREA: UNITS"
    heads = (
        "lose",
        "losses",
    )


class SkullCasualty(CombatLosses, frozen=True, tag="skull-casualty"):
    """2E-DP-37: one unit destroyed by a skull."""

    usage = "skull AREA: UNIT"
    heads = (
        "lose",
        "skull",
    )


class RetreatArea(CombatWord, frozen=True, tag="retreat-area"):
    """2E-DP-38: a legal area; with Robb Stark also ``leave``, to leave the choice to the loser."""

    usage = "retreat AREA -> AREA"
    heads = ("retreat",)


class RetreatLosses(CombatLosses, frozen=True, tag="retreat-losses"):
    """2E-DP-39: retreating units destroyed so that the rest can go."""

    usage = "retreat-losses AREA: UNITS"
    heads = ("lose",)


AnyAnswer = (
    ThroneOfBlades
    | DarkWings
    | PutToTheSword
    | ReconcileSupply
    | Muster
    | InfluenceBid
    | InfluenceTie
    | WildlingBid
    | WildlingTie
    | PreemptiveRaid
    | PreemptiveRaidTrack
    | DestroyUnits
    | HordeCastleUnits
    | CrowKillersDegrade
    | CrowKillersUpgrade
    | MassingDiscard
    | KingBeyondRaise
    | KingBeyondLower
    | MammothRetrieve
    | HordeMusterArea
    | AssignOrders
    | Raven
    | RavenCard
    | Raid
    | MarchOrder
    | NeutralSupportRequest
    | NeutralSupport
    | CaptureShips
    | Consolidate
    | Support
    | AcceptSupport
    | HouseCardChoice
    | CardAbility
    | BladeRedraw
    | BladeStrength
    | Casualties
    | SkullCasualty
    | RetreatArea
    | RetreatLosses
)
"""Any answer; the tag tells which."""

ANSWERS: tuple[type[HouseAnswer], ...] = get_args(AnyAnswer)
"""The 39 kinds of decision in the order of section 26."""

KINDS: tuple[str, ...] = tuple(str(answer.__struct_config__.tag) for answer in ANSWERS)

ABILITIES = (
    "tyrion-cancel",
    "tyrion-replacement",
    "aeron-swap",
    "doran-track",
    "mace-footman",
    "queen-of-thorns-order",
    "cersei-order",
    "renly-upgrade",
    "patchface-discard",
)
"""The nine abilities of 2E-DP-33."""

FIRST_EDITION_ABILITIES = ("luwin-retrieve", "asha-order", "melisandre-discard", "loras-footman")
"""Abilities of 1E-DP-16 that the second edition's cards do not ask for; Cersei's and Renly's are asked by both."""

ALL_ABILITIES = (*ABILITIES, *FIRST_EDITION_ABILITIES)
