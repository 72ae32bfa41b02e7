"""What a log answers to each kind of question, and what is answered where it says nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import replace

from api.games.thrones.following.hypothesis import Hypothesis, Misfit, OutOfEntries, Step
from api.games.thrones.logs import records as r
from api.games.thrones.logs.names import order_of_token
from domain.kernel.decision import Answer, Decision
from domain.thrones.language import answers as c
from domain.thrones.language.pieces import AreaId, HouseId, Units, in_order

Found = tuple[r.Entry, Any]


class Pages:
    """The entries of a log by round, and the search for those that answer a question."""

    def __init__(self, entries: tuple[r.Entry, ...]) -> None:
        self.entries = entries
        self.by_number = {entry.number: entry for entry in entries}
        self.by_round: dict[int, list[r.Entry]] = {}
        for entry in entries:
            self.by_round.setdefault(entry.round, []).append(entry)
        self.place = {entry.number: place for place, entry in enumerate(entries)}
        self.tells_support = any(isinstance(one.record, r.SupportGiven | r.SupportWithheld) for one in entries)
        self.tells_bidders = any(isinstance(one.record, r.Bid | r.WildlingBid) and one.player for one in entries)
        self.battles = dict(self._battles())
        self.heads = {
            one.number: head for head, group in self.battles.items() for one in (self.by_number[head], *group)
        }
        self.last = entries[-1].number if entries else 0
        self.ranked: dict[str, list[tuple[int, c.Muster]]] = {}

    def reading(self, number: int, record: r.Record) -> Pages:
        """The same log with one entry that says something else."""
        return Pages(
            tuple(replace(entry, record=record) if entry.number == number else entry for entry in self.entries)
        )

    def _battles(self) -> Iterator[tuple[int, tuple[r.Entry, ...]]]:
        for place, entry in enumerate(self.entries):
            if isinstance(entry.record, r.Marched) and entry.record.attack is not None:
                group = []
                for later in self.entries[place + 1 :]:
                    if (
                        later.round != entry.round
                        or isinstance(later.record, MARCHES)
                        or later.phase not in ("BATTLE", "MARCH")
                    ):
                        break
                    group.append(later)
                yield entry.number, tuple(group)

    def unused(self, hypothesis: Hypothesis, *kinds: type[r.Record]) -> Iterator[Found]:
        """Entries of these kinds in the round of the position that have not been taken up."""
        for entry in self.by_round.get(hypothesis.state.round, ()):
            if entry.number not in hypothesis.used and isinstance(entry.record, kinds):
                yield entry, entry.record

    def first(
        self, hypothesis: Hypothesis, *kinds: type[r.Record], fits: Callable[[Any], bool] = lambda record: True
    ) -> Found | None:
        return next((found for found in self.unused(hypothesis, *kinds) if fits(found[1])), None)

    def in_battle(self, hypothesis: Hypothesis, *kinds: type[r.Record]) -> Iterator[Found]:
        for entry in self.battles.get(hypothesis.battle, ()):
            if entry.number not in hypothesis.used and isinstance(entry.record, kinds):
                yield entry, entry.record

    def told_in_battle(self, hypothesis: Hypothesis, *kinds: type[r.Record]) -> Iterator[Found]:
        for entry in self.battles.get(hypothesis.battle, ()):
            if isinstance(entry.record, kinds):
                yield entry, entry.record

    def goes_on(self, hypothesis: Hypothesis) -> bool:
        """Whether anything that the log tells comes after what was taken up so far."""
        last = max((self.place[number] for number in hypothesis.used), default=-1)
        return last + 1 < len(self.entries)


MARCHES = (r.Marched, r.OrderGivenUp)


def is_march(record: r.Record) -> bool:
    """A march, or a March order given up."""
    return isinstance(record, r.Marched) or (isinstance(record, r.OrderGivenUp) and record.order.startswith("march"))


def is_raid(record: r.Record) -> bool:
    """A raid, or a Raid order given up."""
    return isinstance(record, r.Raided) or (isinstance(record, r.OrderGivenUp) and record.order.startswith("raid"))


def answer(pages: Pages, hypothesis: Hypothesis, decision: Decision[Any]) -> Step:
    """The answer of the log to a question, or the weakest one.

    Raises OutOfEntries where the log ends, Misfit where it says something that cannot be.
    """
    return _ANSWERS[decision.kind](pages, hypothesis, decision)


def _told(pages: Pages, hypothesis: Hypothesis, found: Found | None, default: Answer, what: str, **values: Any) -> Step:
    """A step from an entry; without one the default, if the log goes on."""
    if found is None:
        if not pages.goes_on(hypothesis):
            raise OutOfEntries
        return Step(default, 0, (what,))
    return Step(replace(default, **values), found[0].number)


# Westeros phase

_WORDS = {
    "supply": "supply",
    "mustering": "mustering",
    "clash-of-kings": "clash-of-kings",
    "game-of-thrones": "collect-power",
    "storm-of-swords": "no-defense",
    "rains-of-autumn": "no-march-plus-1",
}


def _choice(pages: Pages, hypothesis: Hypothesis, decision: Decision[Any]) -> Step:
    cards = {
        "throne-of-blades": "a-throne-of-blades",
        "dark-wings": "dark-wings-dark-words",
        "put-to-the-sword": "put-to-the-sword",
    }
    found = pages.first(hypothesis, r.WesterosChoice, fits=lambda one: one.card == cards[decision.kind])
    none = "no-restriction" if decision.kind == "put-to-the-sword" else "nothing"
    word = none if found is None or found[1].choice is None else _WORDS.get(found[1].choice, none)
    return _told(pages, hypothesis, found, replace(decision.default, choice=none), "choice-of-card", choice=word)


def _bid(pages: Pages, hypothesis: Hypothesis, decision: Decision[Any]) -> Step:
    house, track = decision.player, decision.default.track
    found = pages.first(hypothesis, r.Bid, fits=lambda one: one.house == house and one.track == track)
    bid = found[1].power if found else 0
    return _told(pages, hypothesis, found, replace(decision.default, bid=0), "bid", bid=bid)


def _bid_tie(pages: Pages, hypothesis: Hypothesis, decision: Decision[Any]) -> Step:
    default: Any = decision.default
    found = pages.first(hypothesis, r.TrackOrdered, fits=lambda one: one.track == default.track)
    if found is None:
        return _told(pages, hypothesis, None, default, "tie")
    order = found[1].order
    groups = tuple(
        tuple(sorted(group, key=lambda house: order.index(house) if house in order else 9)) for group in default.groups
    )
    return Step(replace(default, groups=groups), found[0].number)


def _wildling_bid(pages: Pages, hypothesis: Hypothesis, decision: Decision[Any]) -> Step:
    found = pages.first(hypothesis, r.WildlingBid, fits=lambda one: one.house == decision.player)
    bid = found[1].power if found else 0
    return _told(pages, hypothesis, found, replace(decision.default, bid=0), "bid", bid=bid)


def _after_wildlings(pages: Pages, hypothesis: Hypothesis) -> list[r.Entry]:
    """Entries that tell what the wildling card did."""
    return [entry for entry, _ in pages.unused(hypothesis, r.WildlingsWon, r.WildlingsBeaten, r.NothingHappened)]


def _wildling_tie(pages: Pages, hypothesis: Hypothesis, decision: Decision[Any]) -> Step:
    words = decision.options.words  # type: ignore[attr-defined]  # a choice of one word
    again = {record.house for _, record in pages.unused(hypothesis, r.WildlingBid)}
    exempt = [house for house in words if house not in again]
    if again and len(exempt) == 1:
        # Against the next attack the highest bidder is not asked (2E-WLC-2).
        return Step(replace(decision.default, choice=exempt[0]), 0)
    for entry in _after_wildlings(pages, hypothesis):
        if isinstance(entry.record, r.WildlingsBeaten):
            for effect in entry.record.effects:
                house = getattr(effect, "house", None)
                if house in words:
                    return Step(replace(decision.default, choice=house), 0)
        elif isinstance(entry.record, r.WildlingsWon) and entry.record.house in words:
            return Step(replace(decision.default, choice=entry.record.house), 0)
    return _told(pages, hypothesis, None, decision.default, "tie")


def effects_of(pages: Pages, hypothesis: Hypothesis, house: HouseId) -> Iterator[tuple[int, Any]]:
    """What the wildling card did to a House, with the entry that tells it."""
    for entry in _after_wildlings(pages, hypothesis):
        for effect in entry.record.effects if isinstance(entry.record, r.WildlingsWon | r.WildlingsBeaten) else ():
            if getattr(effect, "house", house) == house:
                yield entry.number, effect


def _effects(pages: Pages, hypothesis: Hypothesis, house: HouseId, kind: type[Any]) -> Iterator[Any]:
    return (effect for _, effect in effects_of(pages, hypothesis, house) if isinstance(effect, kind))


def _wildling_word(pages: Pages, hypothesis: Hypothesis, decision: Decision[Any]) -> Step:
    """Words that wildling cards ask for, read off what happened."""
    words = decision.options.words  # type: ignore[attr-defined]  # a choice of one word
    house = decision.player
    guesses: list[str] = []
    if decision.kind == "preemptive-raid-track":
        # The holder of the Iron Throne chooses the track on which another House sinks.
        for other in hypothesis.state.charter.houses:
            guesses += [sunk.track for sunk in _effects(pages, hypothesis, other, r.MarkerMoved) if sunk.to == "bottom"]
            guesses += [sunk.track for sunk in _effects(pages, hypothesis, other, r.MarkerLowered)]
    for moved in _effects(pages, hypothesis, house, r.MarkerMoved):
        guesses += [moved.track, *(("lose-influence",) if moved.to == "bottom" else ())]
    for lowered in _effects(pages, hypothesis, house, r.MarkerLowered):
        guesses += [lowered.track, "lose-influence"]
    for _ in _effects(pages, hypothesis, house, r.UnitsRemoved):
        guesses.append("destroy-units")
    for thrown in _effects(pages, hypothesis, house, r.CardDiscarded):
        guesses.append(thrown.card)
    for taken in _effects(pages, hypothesis, house, r.CardsTakenBack):
        guesses += [card for _, card in taken.cards]
    for guess in guesses:
        if guess in words:
            return Step(replace(decision.default, choice=guess), 0)
    if "none" in words and decision.kind != "horde-muster-area":
        return _told(pages, hypothesis, None, replace(decision.default, choice="none"), "wildling-choice")
    if decision.kind == "horde-muster-area":
        raised = next(_effects(pages, hypothesis, house, r.UnitsRaised), None)
        if raised is None:
            return _told(pages, hypothesis, None, replace(decision.default, choice="none"), "wildling-choice")
        return Step(decision.default, 0, ("wildling-choice",))
    default: Any = decision.default
    if decision.kind in _ENDS:
        # A marker that is there already does not move, and nothing is told of it.
        state = hypothesis.state
        end = 1 if _ENDS[decision.kind] == "top" else len(state.houses)
        still = next((track for track in words if state.position_of(house, track) == end), default.choice)
        default = replace(default, choice=still)
    return _told(pages, hypothesis, None, default, "wildling-choice")


_ENDS = {"king-beyond-raise": "top", "king-beyond-lower": "bottom"}


def _given_up(pages: Pages, hypothesis: Hypothesis, decision: Decision[Any]) -> Step:
    """Units given up: any that pay. Which it were, later entries say."""
    return _told(pages, hypothesis, None, decision.default, "units-given-up")


# Planning


def _raven(pages: Pages, hypothesis: Hypothesis, decision: Decision[Any]) -> Step:
    default: Any = decision.default
    found = pages.first(hypothesis, r.RavenLooked, r.RavenReplaced, r.RavenUnused)
    if found is not None and found[1].house != default.house:
        raise Misfit("raven", found[0].number, f"the Messenger Raven is {default.house}'s", found[1].house)
    if found is None:
        # What became of the card tells that somebody has looked at it.
        kept = pages.first(hypothesis, r.RavenKept, r.RavenBuried, fits=lambda one: one.house == default.house)
        if kept is not None:
            return Step(replace(default, choice="look"), 0, ("raven",))
        return _told(pages, hypothesis, None, default, "raven")
    entry, record = found
    if isinstance(record, r.RavenReplaced):
        tokens = decision.options.orders.get(record.area, ())  # type: ignore[attr-defined]  # the options of the raven
        token = next((one for one in tokens if order_of_token(one) == record.new), None)
        if token is None:
            raise Misfit("raven", entry.number, f"{record.new} cannot replace an order", record.house, record.area)
        return Step(replace(default, choice="replace", area=record.area, order=token), entry.number)
    word = "look" if isinstance(record, r.RavenLooked) else "nothing"
    return Step(replace(default, choice=word), entry.number)


def _raven_card(pages: Pages, hypothesis: Hypothesis, decision: Decision[Any]) -> Step:
    found = pages.first(hypothesis, r.RavenKept, r.RavenBuried)
    word = "bottom" if found and isinstance(found[1], r.RavenBuried) else "top"
    return _told(pages, hypothesis, found, replace(decision.default, choice="top"), "raven-card", choice=word)


# Actions


def _raid(pages: Pages, hypothesis: Hypothesis, decision: Decision[Any]) -> Step:
    options: Any = decision.options
    house = decision.player
    found = pages.first(hypothesis, r.Raided, r.OrderGivenUp, fits=is_raid)
    if found is not None and found[1].house == house and isinstance(found[1], r.OrderGivenUp):
        if found[1].area in options.orders:
            return Step(c.Raid(house, found[1].area), found[0].number)
        raise Misfit("raid", found[0].number, f"no Raid order in {found[1].area}", house, found[1].area)
    if found is not None and found[1].house == house:
        entry, record = found
        targets = [area for area, _ in record.targets]
        area = hypothesis.sources.get(entry.number, "")
        able = [one for one in options.orders if all(target in options.orders[one] for target in targets)]
        if area not in able:
            if not able:
                raise Misfit("raid", entry.number, f"no order can raid {' and '.join(targets)}", house, targets[0])
            area = able[0]
        command = c.Raid(house, area, targets[0], targets[1] if len(targets) > 1 else None)
        return Step(command, entry.number, ("raid-from",) if len(able) > 1 else ())
    if found is None and not pages.goes_on(hypothesis):
        raise OutOfEntries
    later = {area for number, area in hypothesis.sources.items() if number not in hypothesis.used}
    told = {record.area: entry.number for entry, record in pages.unused(hypothesis, r.RaidUnusable)}
    mine = sorted(options.orders, key=lambda one: (one in later, one not in told, bool(options.orders[one]), one))
    area = mine[0]
    if area in later:
        raise Misfit("raid", found[0].number if found else 0, f"{house} has to raid from {area} first", house, area)
    return Step(c.Raid(house, area), told.get(area, 0), () if area in told else ("raid-unused",))


def _neutral_request(pages: Pages, hypothesis: Hypothesis, decision: Decision[Any]) -> Step:
    options: Any = decision.options
    found = pages.first(hypothesis, *MARCHES, fits=is_march)
    if "granted" in hypothesis.words.values() and found is not None and isinstance(found[1], r.Marched):
        for step in found[1].steps:
            if step.beat_neutral and step.to in options.targets.get(found[1].area, ()):
                return Step(c.NeutralSupportRequest(decision.player, found[1].area, step.to), 0, ("support",))
    return Step(c.NeutralSupportRequest(decision.player), 0)


def _neutral_support(pages: Pages, hypothesis: Hypothesis, decision: Decision[Any]) -> Step:
    default: Any = decision.default
    orders = {area: hypothesis.words.get(area) == "granted" for area in default.orders}
    return Step(replace(default, orders=orders), 0, ("support",) if any(orders.values()) else ())


def _consolidate(pages: Pages, hypothesis: Hypothesis, decision: Decision[Any]) -> Step:
    options: Any = decision.options
    house = decision.player
    found = pages.first(hypothesis, r.SpecialMustered, r.PowerTaken, fits=lambda one: one.house == house)
    if found is not None:
        entry, record = found
        if record.area in options.orders:
            use = "muster" if isinstance(record, r.SpecialMustered) else "power"
            return Step(c.Consolidate(house, record.area, use), entry.number)  # type: ignore[arg-type]  # one of the two words
        raise Misfit("consolidate", entry.number, f"no such order in {record.area}", house, record.area)
    if not pages.goes_on(hypothesis):
        raise OutOfEntries
    return Step(c.Consolidate(house, next(iter(options.orders))), 0)


def _capture(pages: Pages, hypothesis: Hypothesis, decision: Decision[Any]) -> Step:
    found = pages.first(hypothesis, r.ShipsCaptured, fits=lambda one: one.house == decision.player)
    if found is not None:
        return Step(replace(decision.default, ships=found[1].ships), found[0].number)
    return Step(decision.default, 0, ("ships-captured",))


# Combat


def _support(pages: Pages, hypothesis: Hypothesis, decision: Decision[Any]) -> Step:
    default: Any = decision.default
    combat = hypothesis.state.combat
    assert combat is not None
    side = combat.side_of(default.house)
    told = {record.to: entry.number for entry, record in pages.told_in_battle(hypothesis, r.SupportGiven)
            if record.house == default.house}  # fmt: skip
    orders: dict[AreaId, str] = {}
    for area in default.orders:
        word = hypothesis.words.get(area)
        if word not in (side, "withhold", *(("attacker", "defender") if side is None else ())):
            word = None
        if word is None and side is None:
            # The support of others is told, that of the combatants is not.
            word = next((combat.side_of(to) for to in told), None)
        orders[area] = word or side or "withhold"
    declined = side is not None and any(word == "withhold" for word in orders.values())
    given = side is None and not told and any(word != "withhold" for word in orders.values())
    assumed = (("support-declined",) if declined else ()) + (("support-given",) if given else ())
    number = next(iter(told.values()), 0)
    return Step(replace(default, orders=orders), number, assumed)


def _accept(pages: Pages, hypothesis: Hypothesis, decision: Decision[Any]) -> Step:
    default: Any = decision.default
    refused = {record.of for _, record in pages.told_in_battle(hypothesis, r.SupportRefused)
               if record.house == default.house}  # fmt: skip
    state = hypothesis.state
    return Step(replace(default, orders={area: state.orders[area].house not in refused for area in default.orders}), 0)


def _card(pages: Pages, hypothesis: Hypothesis, decision: Decision[Any]) -> Step:
    for entry, record in pages.in_battle(hypothesis, r.CardChosen):
        if record.house == decision.player:
            if record.card not in decision.options.words:  # type: ignore[attr-defined]  # a choice of one word
                raise Misfit("card", entry.number, f"{record.card} is not in hand", record.house)
            return Step(replace(decision.default, choice=record.card), entry.number)
    if not pages.goes_on(hypothesis) or _ends_in_battle(pages, hypothesis):
        raise OutOfEntries
    return Step(decision.default, 0, ("card",))


def _ends_in_battle(pages: Pages, hypothesis: Hypothesis) -> bool:
    group = pages.battles.get(hypothesis.battle, ())
    last = group[-1].number if group else hypothesis.battle
    return last == pages.last


def _ability(pages: Pages, hypothesis: Hypothesis, decision: Decision[Any]) -> Step:
    default: Any = decision.default
    words = decision.options.words  # type: ignore[attr-defined]  # a choice of one word
    house = default.house
    if default.ability == "tyrion-replacement":
        for entry, record in pages.in_battle(hypothesis, r.CardChosen):
            if record.house == house and record.card in words:
                return Step(replace(default, choice=record.card), entry.number)
    if default.ability == "tyrion-cancel":
        for entry, record in pages.in_battle(hypothesis, r.CardCancelled):
            if record.house == house:
                return Step(replace(default, choice="cancel"), entry.number)
    for entry, record in pages.in_battle(hypothesis, r.CardExchanged):
        if record.house == house and default.ability == "aeron-swap":
            for other, chosen in pages.in_battle(hypothesis, r.CardChosen):
                if chosen.house == house and chosen.card in words:
                    return Step(replace(default, choice=chosen.card), entry.number, (), str(other.number))
    for entry, record in pages.in_battle(hypothesis, r.RivalLowered):
        if record.house == house and record.track in words:
            return Step(replace(default, choice=record.track), entry.number)
    for entry, record in pages.in_battle(hypothesis, r.AbilityResolved):
        if record.house != house:
            continue
        for effect in record.effects:
            guess = ""
            match effect:
                case r.OrderTakenOff():
                    guess = effect.area
                case r.CardDiscarded():
                    guess = effect.card
                case r.CardsTakenBack():
                    guess = next((card for _, card in effect.cards if card in words), "")
                case r.UnitUpgraded():
                    guess = next((word for word in words if word.split()[0] == effect.area), "")
                case _:
                    guess = "none"
            if guess in words:
                return Step(replace(default, choice=guess), entry.number)
    for entry, record in pages.in_battle(hypothesis, r.AbilityDeclined):
        if record.house == house:
            for word in ("leave", "keep", "none"):
                if word in words:
                    return Step(replace(default, choice=word), entry.number)
    if _ends_in_battle(pages, hypothesis) and not any(pages.told_in_battle(hypothesis, r.BattleLost)):
        raise OutOfEntries
    for word in ("leave", "keep", "none"):
        if word in words:
            return Step(replace(default, choice=word), 0)
    return Step(default, 0, ("ability",))


def _blade(pages: Pages, hypothesis: Hypothesis, decision: Decision[Any]) -> Step:
    # There is one Blade: whoever the entry names, its holder is asked.
    for entry, record in pages.in_battle(hypothesis, r.BladeUsed, r.BladeDeclined):
        used = isinstance(record, r.BladeUsed)
        return Step(replace(decision.default, choice="use" if used else "do-not-use"), entry.number)
    if _ends_in_battle(pages, hypothesis) and not any(pages.told_in_battle(hypothesis, r.BattleLost)):
        raise OutOfEntries
    return Step(decision.default, 0)


def _losses(pages: Pages, hypothesis: Hypothesis, decision: Decision[Any]) -> Step:
    """Losses out of what the log says was killed, as far as they are not dead already."""
    options: Any = decision.options
    for _, record in pages.told_in_battle(hypothesis, r.BattleLost):
        told = record.killed if record.house == decision.player else record.other
        for choice in options.every(decision.default):
            if all(count <= told.get(unit.removeprefix("routed-"), 0) for unit, count in in_order(choice.units)):
                return Step(choice, 0)
        return Step(decision.default, 0, ("losses",))
    raise OutOfEntries


def _retreat(pages: Pages, hypothesis: Hypothesis, decision: Decision[Any]) -> Step:
    for entry, record in pages.told_in_battle(hypothesis, r.BattleLost):
        words = decision.options.words  # type: ignore[attr-defined]  # a choice of one word
        if record.to in words:
            return Step(replace(decision.default, choice=record.to), 0)
        what = f"{record.house} has to withdraw to {' or '.join(words)}{f', not to {record.to}' if record.to else ''}"
        raise Misfit("retreat", entry.number, what, record.house)
    raise OutOfEntries


def _blade_redraw(pages: Pages, hypothesis: Hypothesis, decision: Decision[Any]) -> Step:
    return Step(decision.default, 0, ("redraw",))


def killed(units: Units) -> Units:
    """Losses in the words of a log, where nobody is called routed."""
    found: Units = {}
    for unit, count in in_order(units):
        kind = unit.removeprefix("routed-")
        found[kind] = found.get(kind, 0) + count
    return found


_ANSWERS: dict[str, Callable[[Pages, Hypothesis, Decision[Any]], Step]] = {
    "throne-of-blades": _choice,
    "dark-wings": _choice,
    "put-to-the-sword": _choice,
    "reconcile-supply": _given_up,
    "influence-bid": _bid,
    "influence-tie": _bid_tie,
    "wildling-bid": _wildling_bid,
    "wildling-tie": _wildling_tie,
    "preemptive-raid": _wildling_word,
    "preemptive-raid-track": _wildling_word,
    "destroy-units": _given_up,
    "horde-castle-units": _given_up,
    "crow-killers-degrade": _given_up,
    "crow-killers-upgrade": _given_up,
    "massing-discard": _wildling_word,
    "king-beyond-raise": _wildling_word,
    "king-beyond-lower": _wildling_word,
    "mammoth-retrieve": _wildling_word,
    "horde-muster-area": _wildling_word,
    "raven": _raven,
    "raven-card": _raven_card,
    "raid": _raid,
    "neutral-support-request": _neutral_request,
    "neutral-support": _neutral_support,
    "capture-ships": _capture,
    "consolidate": _consolidate,
    "support": _support,
    "accept-support": _accept,
    "house-card": _card,
    "card-ability": _ability,
    "blade-redraw": _blade_redraw,
    "blade-strength": _blade,
    "casualties": _losses,
    "skull-casualty": _losses,
    "retreat-area": _retreat,
    "retreat-losses": _losses,
}
