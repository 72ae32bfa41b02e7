"""Facts in English: one sentence each, for logs, mails and certificates. Nothing here is needed to rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from domain.kernel import docket
from domain.kernel import facts as kernel
from domain.kernel.printing import one_line
from domain.thrones.language import facts as f
from domain.thrones.language.pieces import FOOTMEN_IN_SUPPORT, Units, in_order
from domain.thrones.notation import format_answer
from domain.thrones.ruleset import EDITIONS
from domain.thrones.tables.charter import Charter
from domain.thrones.tables.edition import Edition

OUTCOMES = {
    "declined": "declined",
    "upheld": "the ruling is upheld",
    "dismissed": "dismissed",
    "corrected": "the position is corrected",
    "rewound": "the game is taken back",
}

NUMBERS = ("no", "a", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def in_words(number: int) -> str:
    """A number in words, where they are short: a charter's own tables have larger ones than the books."""
    return NUMBERS[number] if 0 <= number < len(NUMBERS) else str(number)


class Prose:
    """Sentences with the names that an edition prints."""

    def __init__(self, edition: Edition) -> None:
        self.edition = edition
        self.names = {
            **{area.id: area.name for area in edition.board.areas.values()},
            **{house.id: house.name for house in edition.houses.values()},
            **{card.id: card.name for card in edition.cards.values()},
            **{card.id: card.name for deck in edition.tables.westeros_decks.values() for card in deck},
            **{card.id: card.name for card in edition.tables.wildling_cards},
            "iron-throne": "the Iron Throne track",
            "fiefdoms": "the Fiefdoms track",
            "kings-court": "the King's Court track",
            "iron-throne-token": "the Iron Throne",
            "valyrian-steel-blade": "the Valyrian Steel Blade",
            "messenger-raven": "the Messenger Raven",
            "wildlings": "the wildlings",
            "nights-watch": "the Night's Watch",
        }

    @classmethod
    def of_all(cls, *editions: Edition) -> Prose:
        """Names of several editions, for what is told outside of a game; the first one prints what they share."""
        prose = cls(editions[0])
        for edition in editions[1:]:
            prose.names = {**cls(edition).names, **prose.names}
        return prose

    def name(self, word: str | None) -> str:
        """The printed name of an id."""
        return "nobody" if word is None else self.names.get(word, word.replace("-", " "))

    def castles(self, number: int) -> str:
        """So many areas that count for victory."""
        one, several = self.edition.readings.victory.areas
        return f"{number} {one if number == 1 else several}"

    def listed(self, words: Iterable[str]) -> str:
        """Names joined as in a sentence."""
        names = [self.name(word) for word in words]
        return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1] if names else "nothing"

    def units(self, units: Units) -> str:
        """Units in words: two Footmen and a routed Knight."""
        parts = []
        for unit, count in in_order(units):
            lying = "routed " if unit.startswith("routed-") else ""
            word = unit.removeprefix("routed-").replace("-", " ").title()
            plural = word.replace("Footman", "Footmen") if "Footman" in word else word + "s"
            parts.append(f"{in_words(count)} {lying}{word if count == 1 else plural}")
        return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1] if parts else "no units"

    def order(self, token: str) -> str:
        """An order token in words. An arbiter may have stated one that this edition does not have."""
        order = self.edition.tokens.get(token)
        if order is None:
            return self.name(token)
        number = f" {order.modifier:+d}" if order.type in ("march", "defense") and order.modifier else ""
        kind = "Consolidate Power" if order.type == "consolidate" else order.type.title()
        return f"{'special ' if order.star else ''}{kind}{number}"

    def amounts(self, amounts: Mapping[str, int]) -> str:
        return ", ".join(f"{self.name(house)} {number}" for house, number in amounts.items())

    def sentence(self, fact: kernel.Fact) -> str:
        """One fact as a sentence without its rules; empty for bookkeeping that tells a reader nothing."""
        write = SENTENCES.get(type(fact))
        return one_line(write(self, fact)) if write else ""

    def line(self, fact: kernel.Fact) -> str:
        """The sentence with the rules it rests on in brackets."""
        sentence = self.sentence(fact)
        return f"{sentence} [{one_line(', '.join(dict.fromkeys(fact.rules)))}]" if sentence and fact.rules else sentence


def counted_word(number: int, word: str) -> str:
    """1 unit, 2 units."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def _strength(p: Prose, x: f.StrengthCounted) -> str:
    parts = [
        f"{p.name(line.item)}{' in ' + p.name(line.area) if line.area else ''} {line.amount:+d}" for line in x.lines
    ]
    stage = {"initial": "initial", "known": "known", "final": "final", "neutral": "marching"}[x.stage]
    return f"{p.name(x.house)}'s {stage} strength is {x.total}: {', '.join(parts) or 'nothing'}."


def _icons(p: Prose, x: f.IconsCounted) -> str:
    swords = sum(line.amount for line in x.swords)
    walls = sum(line.amount for line in x.fortifications)
    shown = f"{counted_word(swords, 'sword')} and {counted_word(walls, 'fortification')}"
    return f"{p.name(x.house)} shows {shown}." if swords or walls else ""


def _answered(p: Prose, x: kernel.Answered[Any]) -> str:
    how = {
        "given": "",
        "kept": " (kept from the struck-out line)",
        "forced": " (the only legal answer)",
        "default": " (deadline missed: the default)",
    }[x.how]
    return f"{p.name(x.answer.player)}: {format_answer(x.answer)}{how}."


def _taken(p: Prose, x: kernel.AnswerTaken) -> str:
    how = {
        "given": "",
        "kept": " (kept from the struck-out line)",
        "forced": " (the only legal answer)",
        "default": " (deadline missed: the default)",
    }[x.how]
    return f"{p.name(x.player)} has answered in secret: {x.kind}{how}."


def _support(p: Prose, x: f.SupportDeclared) -> str:
    if x.side is None:
        return f"{p.name(x.house)} withholds the support of {p.name(x.area)}."
    word = "offers the support of" if x.offered else "supports from"
    return f"{p.name(x.house)} {word} {p.name(x.area)} {'to' if x.offered else 'for'} the {x.side}."


def _revealed(p: Prose, x: f.HouseCardsRevealed) -> str:
    parts = [f"{p.name(house)} plays {p.name(card) if card else 'no card'}" for house, card in x.cards.items()]
    return "; ".join(parts) + "."


def _orders(p: Prose, x: f.OrdersRevealed) -> str:
    parts = [
        f"{p.name(house)}: "
        + (", ".join(f"{p.name(area)} {p.order(token)}" for area, token in sorted(laid.items())) or "none")
        for house, laid in x.orders.items()
    ]
    return "Orders are revealed. " + "; ".join(parts) + "."


def _agreed(p: Prose, charter: Charter, what: str) -> str:
    """What is played, and what its data takes for granted."""
    about = {one.id: one.about for one in p.edition.tables.assumed}
    assumed = [about.get(one, one.replace("-", " ")) for one in charter.assumed or ()]
    granted = f" Assumed: {'; '.join(assumed)}." if assumed else ""
    return f"A game of {p.edition.tables.name} {what}: {p.listed(charter.houses)}.{granted}"


def _won(p: Prose, x: f.GameWon) -> str:
    areas = next((one.castles for one in x.ranking if one.house == x.winner), None)
    several = p.edition.readings.victory.areas[1]
    number = "enough" if areas is None else in_words(areas)
    why = f"controls {number} {several}" if x.reason == "areas" else "leads after the last round"
    return f"{p.name(x.winner)} {why} and wins."


def _rewound(p: Prose, x: docket.Rewound) -> str:
    draws = " Everything not yet drawn is drawn anew." if x.redrawn else ""
    struck = f"entry {x.first} is" if x.first == x.last else f"entries {x.first} to {x.last} are"
    return f"The game stands again as after entry {x.to}; {struck} struck out{_because(x.reason)}.{draws}"


def _offered(p: Prose, x: docket.AnswerOffered) -> str:
    what = f"{p.name(x.player)}'s answer of entry {x.given.entry} ({x.kind})"
    if x.kept:
        return f"{what} rests on nothing that has changed and is kept."
    return f"{what} is asked anew; what differs: {', '.join(x.differs)}."


def _correction(p: Prose, x: docket.CorrectionOffered) -> str:
    if x.made:
        return f"The correction of entry {x.given.entry} finds what it replaced as it was, and is made again."
    differs = ", ".join(part_in_words(p, name) for name in x.differs)
    return f"The correction of entry {x.given.entry} is the arbiter's to decide; what differs: {differs}."


def part_in_words(p: Prose, name: str) -> str:
    """A part of a position that an appeal leaves in doubt."""
    field, _, key = name.removesuffix("]").partition("[")
    what = PARTS.get(field, field)
    return what.format(p.name(key)) if key and "{}" in what else f"{what} ({p.name(key)})" if key else what


def _in_doubt(p: Prose, x: docket.InDoubt) -> str:
    doubt = x.doubt
    if doubt.everything:
        return f"Appeal {doubt.appeal} leaves everything in doubt: the game stands still."
    if not doubt.names:
        return f"Appeal {doubt.appeal} leaves nothing in doubt that a later answer rests on."
    return f"Appeal {doubt.appeal} leaves in doubt: {', '.join(part_in_words(p, name) for name in doubt.names)}."


def _reads(p: Prose, x: docket.SecretsReadOpened) -> str:
    told = "; ".join(f"entry {one.entry}, {one.who}: {one.what}, because {_clause(one.why)}" for one in x.reads)
    return f"Secrets were read by privilege: {told}."


def _lost(p: Prose, x: docket.LossAccepted) -> str:
    gone = [
        f"{what} {known} is gone" if left == known - 1 else f"{several} {left + 1} to {known} are gone"
        for what, several, known, left in (
            ("submission", "submissions", x.submissions, x.left_submissions),
            ("entry", "entries", x.entries, x.left_entries),
        )
        if left < known
    ]
    told = " and ".join(gone) or f"what stands as entry {x.entries} is another one"
    who = x.who[:1].upper() + x.who[1:]
    return f"The server lost a part of this game: {told}. {who} goes on without{_because(x.why)}."


def _because(reason: str) -> str:
    """The reason, where there is one, for the end of a sentence."""
    said = _clause(reason)
    return f": {said}" if said else ""


def _corrected(count: int, reason: str) -> str:
    what = counted_word(count, "fact") if count else "no fact"
    return f"The arbiter states {what}{_because(reason)}."


def _clause(text: str) -> str:
    """What somebody wrote, for the middle of a sentence."""
    return " ".join(one_line(text).split()).rstrip(".")


PARTS = {
    "answers": "{}'s sealed answer",
    "areas": "where {} stands",
    "bids": "{}'s bid",
    "combat": "the combat",
    "decks": "the {} deck",
    "discards": "{}'s discards",
    "forces": "{}'s forces",
    "garrisons": "the garrison of {}",
    "hands": "{}'s hand",
    "holder": "who holds {}",
    "laid": "{}'s orders",
    "march": "the march",
    "neutral": "the neutral force of {}",
    "orders": "the order in {}",
    "owned": "{}'s Power tokens on the board",
    "power": "{}'s Power",
    "power_tokens": "the Power token in {}",
    "procedure": "what it began ({})",
    "prohibited": "forbidden orders",
    "seen": "the card that {} has seen",
    "supply": "{}'s supply",
    "threat": "the wildling threat",
    "tides": "{}'s Tides card",
    "tokens": "who holds {}",
    "tracks": "the {} track",
    "units": "the units in {}",
    "used": "whether {} is used",
    "westeros_cards": "the Westeros card {}",
    "westeros_discards": "the discards of Westeros deck {}",
}
"""Parts of a position by name."""

SENTENCES: dict[type[kernel.Fact], Callable[[Prose, Any], str]] = {
    kernel.Answered: _answered,
    kernel.AnswerTaken: _taken,
    kernel.SeedCommitted: lambda p, x: f"The seed of all draws is sealed; its commitment is {x.commitment[:16]}….",
    kernel.SeedOpened: lambda p, x: f"The seed is opened: {x.seed}.",
    docket.Rewound: _rewound,
    docket.Corrected: lambda p, x: _corrected(x.count, x.reason),
    docket.AnswerOffered: _offered,
    docket.CorrectionOffered: _correction,
    docket.CorrectionDecided: lambda p, x: f"The arbiter has decided about the correction of entry {x.given.entry}.",
    docket.AnswerVoided: lambda p, x: (
        f"{p.name(x.player)}'s {'draft' if x.draft else 'sealed answer'} ({x.kind}) is void: "
        "what it was chosen from has changed."
    ),
    docket.AppealFiled: lambda p, x: (
        f"Appeal {x.number}: {p.name(x.player)} appeals against entry {x.against}: {_clause(x.statement)}."
        + ("" if x.stops else " It holds nothing up, since earlier ones have changed nothing.")
    ),
    docket.AppealRuled: lambda p, x: f"Appeal {x.number}: {OUTCOMES[x.outcome]}. Opinion: {_clause(x.opinion) or '-'}.",
    docket.InDoubt: _in_doubt,
    docket.DueSet: lambda p, x: (
        f"Question {x.question} may be answered {f'until {x.due}' if x.due else 'at any time'}."
    ),
    docket.EngineAmended: lambda p, x: f"From here on {x.engine} rules on the game{_because(x.reason)}.",
    docket.PrivilegeUsed: lambda p, x: (
        "Secrets are read by privilege"
        + ("; who read what, and why, is opened when the game ends." if x.sealed else ".")
    ),
    docket.SecretsRead: lambda p, x: f"{x.who} reads {x.what}{_because(x.why)}.",
    docket.SecretsReadOpened: _reads,
    docket.LossAccepted: _lost,
    docket.GameNamed: lambda p, x: f"The id of the game is {x.game}.",
    docket.Forked: lambda p, x: (
        f"This game is a fork of {x.origin.game} at entry {x.origin.version}: {_clause(x.origin.purpose)}."
    ),
    docket.SharesWanted: lambda p, x: f"The seed is made together with the seats {', '.join(x.seats)}.",
    docket.ShareCommitted: lambda p, x: f"Seat {x.seat} is bound to its part of the seed: {x.commitment[:16]}….",
    docket.SharesClosed: lambda p, x: "All parts of the seed are bound; now they are opened.",
    docket.ShareOpened: lambda p, x: f"Seat {x.seat} opens its part of the seed: {x.share}.",
    docket.ShareWithheld: lambda p, x: f"Seat {x.seat} withholds its part of the seed; the seed is made without it.",
    docket.SharedSeedAwaited: lambda p, x: (
        f"The seed is shared with other tables ({x.shared}) and stays sealed until the last of them has ended."
    ),
    f.GatheringBegan: lambda p, x: _agreed(p, x.charter, "is agreed on"),
    f.GameCreated: lambda p, x: _agreed(p, x.charter, "begins"),
    f.PositionStated: lambda p, x: f"The position is stated{_because(x.reason)}.",
    f.NeutralForcePlaced: lambda p, x: (
        f"{p.name(x.area)} is impassable."
        if x.strength == "impassable"
        else f"A neutral force of {x.strength} stands in {p.name(x.area)}."
    ),
    f.NeutralForceRemoved: lambda p, x: f"The neutral force of {p.name(x.area)} is beaten.",
    f.UnitsPlaced: lambda p, x: f"{p.name(x.house)} places {p.units(x.units)} in {p.name(x.area)}.",
    f.GarrisonPlaced: lambda p, x: f"A garrison of {x.strength} holds {p.name(x.area)}.",
    f.GarrisonRemoved: lambda p, x: f"The garrison of {p.name(x.area)} is gone for good.",
    f.TrackFilled: lambda p, x: f"On {p.name(x.track)} stand {p.listed(x.order)}.",
    f.MarkersRemoved: lambda p, x: "All influence markers are taken off their tracks.",
    f.TokenTaken: lambda p, x: f"{p.name(x.house)} holds {p.name(x.token)}.",
    f.TokenUsed: lambda p, x: f"{p.name(x.house)} uses {p.name(x.token)}.",
    f.TokensRefreshed: lambda p, x: f"{p.listed(x.tokens).capitalize()}: unused again.",
    f.MarkerMoved: lambda p, x: f"{p.name(x.house)} moves to position {x.position} of {p.name(x.track)}.",
    f.SupplySet: lambda p, x: f"{p.name(x.house)}'s supply is {x.supply}.",
    f.VictorySet: lambda p, x: f"{p.name(x.house)} controls {p.castles(x.areas)}.",
    f.PowerChanged: lambda p, x: f"{p.name(x.house)} {'gains' if x.by > 0 else 'discards'} {abs(x.by)} Power.",
    f.CardsTaken: lambda p, x: f"{p.name(x.house)} takes {p.listed(x.cards)} into hand.",
    f.CardsDiscarded: lambda p, x: f"{p.name(x.house)} discards {p.listed(x.cards)}.",
    f.ThreatMoved: lambda p, x: f"The wildling threat stands at {x.threat}.",
    f.DeckShuffled: lambda p, x: f"The {p.name(x.deck)} deck is shuffled.",
    f.RoundBegan: lambda p, x: f"Round {x.round} begins.",
    f.WesterosCardDrawn: lambda p, x: f"{p.name(x.card)} is drawn.",
    f.OrdersProhibited: lambda p, x: (
        "This round Footmen give no strength in support."
        if x.what == FOOTMEN_IN_SUPPORT
        else f"This round no {p.name(x.what)} order may be assigned."
    ),
    f.SupplyCounted: lambda p, x: f"{p.name(x.house)} counts {sum(x.icons.values())} supply icons.",
    f.UnitsDestroyed: lambda p, x: f"{p.name(x.house)} loses {p.units(x.units)} in {p.name(x.area)}.",
    f.UnitReplaced: lambda p, x: f"{p.name(x.house)}'s {p.name(x.old)} in {p.name(x.area)} becomes a {p.name(x.new)}.",
    f.UnitMustered: lambda p, x: f"{p.name(x.house)} musters a {p.name(x.unit).title()} in {p.name(x.to)}.",
    f.PowerAnnounced: lambda p, x: f"Available Power: {p.amounts(x.power)}.",
    f.BidsRevealed: lambda p, x: f"Bids for {p.name(x.about)}: {p.amounts(x.bids)}.",
    f.BidReturned: lambda p, x: f"{p.name(x.house)} gets its bid back.",
    f.WildlingAttackBegan: lambda p, x: f"The wildlings attack with strength {x.strength}.",
    f.WildlingAttackDecided: lambda p, x: f"The Watch has {x.watch} against {x.strength}: {p.name(x.winner)} win.",
    f.BidderNamed: lambda p, x: f"{p.name(x.house)} counts as the {x.which} bidder.",
    f.WildlingCardRevealed: lambda p, x: f"The wildling card is {p.name(x.card)}.",
    f.WildlingCardSeen: lambda p, x: f"{p.name(x.house)} sees {p.name(x.card)}.",
    f.WildlingCardReturned: lambda p, x: f"The wildling card goes to the {x.to} of its deck.",
    f.ShortageFound: lambda p, x: f"{p.name(x.house)} has units in {x.areas} areas and {x.tokens} legal tokens.",
    f.TokensLaid: lambda p, x: f"{p.name(x.house)} lays tokens in {p.listed(x.areas)}.",
    f.OrdersRevealed: _orders,
    f.OrderReplaced: lambda p, x: f"{p.name(x.house)} replaces the order in {p.name(x.area)} by {p.order(x.new)}.",
    f.OrderResolved: lambda p, x: f"{p.name(x.house)}'s {p.order(x.order)} in {p.name(x.area)} is resolved.",
    f.OrderRemoved: lambda p, x: f"{p.name(x.house)}'s {p.order(x.order)} in {p.name(x.area)} is removed.",
    f.OrderMoved: lambda p, x: f"{p.name(x.house)}'s order moves from {p.name(x.area)} to {p.name(x.to)}.",
    f.UnitsMoved: lambda p, x: f"{p.name(x.house)} marches {p.units(x.units)} from {p.name(x.area)} to {p.name(x.to)}.",
    f.UnitsDeparted: lambda p, x: (
        f"{p.name(x.house)} sends {p.units(x.units)} from {p.name(x.area)} against {p.name(x.to)}."
    ),
    f.UnitsArrived: lambda p, x: f"{p.name(x.house)} enters {p.name(x.to)} with {p.units(x.units)}.",
    f.UnitsReturned: lambda p, x: (
        f"{p.name(x.house)} takes {p.units(x.units)} back to {p.name(x.to)}{', routed' if x.routed else ''}."
    ),
    f.UnitsRetreated: lambda p, x: (
        f"{p.name(x.house)} retreats with {p.units(x.units)} from {p.name(x.area)} to {p.name(x.to)}."
    ),
    f.PowerTokenPlaced: lambda p, x: f"{p.name(x.house)} leaves a Power token in {p.name(x.area)}.",
    f.PowerTokenKept: lambda p, x: f"Nobody enters {p.name(x.area)}: the Power token of {p.name(x.house)} stays there.",
    f.PowerTokenRemoved: lambda p, x: f"{p.name(x.house)}'s Power token leaves {p.name(x.area)}.",
    f.ControlChanged: lambda p, x: f"{p.name(x.area)} is controlled by {p.name(x.new)}.",
    f.NeutralSupportAsked: lambda p, x: (
        f"{p.name(x.house)} asks for support from {p.name(x.area)} against {p.name(x.target)}."
    ),
    f.NeutralSupportAnswered: lambda p, x: (
        f"{p.name(x.house)} {'grants' if any(x.orders.values()) else 'withholds'} support."
    ),
    f.StrengthCounted: _strength,
    f.IconsCounted: _icons,
    f.CombatBegan: lambda p, x: (
        f"{p.name(x.attacker)} attacks {p.name(x.defender)} in {p.name(x.area)} from {p.name(x.origin)}."
    ),
    f.SupportDeclared: _support,
    f.SupportAnswered: lambda p, x: f"The support of {p.name(x.area)} is {'accepted' if x.accepted else 'refused'}.",
    f.HouseCardsRevealed: _revealed,
    f.HouseCardCancelled: lambda p, x: f"{p.name(x.card)} goes back to {p.name(x.house)}'s hand without effect.",
    f.AbilityCancelled: lambda p, x: f"The text of {p.name(x.house)}'s {p.name(x.card)} has no effect in this combat.",
    f.HouseCardReplaced: lambda p, x: f"{p.name(x.house)} plays {p.name(x.card)} instead.",
    f.AbilityNoted: lambda p, x: f"{p.name(x.card)} will take effect.",
    f.TidesCardDrawn: lambda p, x: f"{p.name(x.house)} draws {p.name(x.card)}.",
    f.TidesRevealed: lambda p, x: "; ".join(f"{p.name(h)} shows {p.name(card)}" for h, card in x.cards.items()) + ".",
    f.BladeAdded: lambda p, x: f"The Blade adds 1 for {p.name(x.house)}.",
    f.CombatDecided: lambda p, x: f"{p.name(x.winner)} wins the combat{' on the Fiefdoms track' if x.tie else ''}.",
    f.CombatStopped: lambda p, x: f"{p.name(x.house)} has no unit left and the combat stops.",
    f.CasualtiesCounted: lambda p, x: (
        f"{p.name(x.house)} must give up {counted_word(x.number, 'unit')}"
        f" ({counted_word(x.swords, 'sword')}, {counted_word(x.fortifications, 'fortification')})."
        if x.number
        else ""
    ),
    f.CasualtiesPrevented: lambda p, x: f"{p.name(x.card)} spares {p.name(x.house)} casualties.",
    f.RetreatOffered: lambda p, x: (
        f"{p.name(x.house)} may retreat to {p.listed(x.areas)}{f', losing {x.loss}' if x.loss else ''}."
    ),
    f.UnitsStoodUp: lambda p, x: "Routed units stand up.",
    f.GameWon: _won,
    f.GameDrawn: lambda p, x: f"{p.listed(x.houses)} are level in all that counts: the game is a draw.",
}

NAMES = Prose.of_all(*EDITIONS.values())
"""Sentences for what is refused outside of any game."""
