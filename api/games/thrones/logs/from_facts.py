"""Our ledger as a play-by-mail log: every fact for which the format has words becomes a record.

Only public facts are read, so that a log tells nothing that a spectator does not know. The format puts some things
elsewhere than our record has them; the exporter follows the format: the battle is lost before the texts that follow
from it, ordinary Consolidate Power orders are told together, and Winter is Coming when its deck has its turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_origin, get_type_hints

import msgspec

from api.games.thrones.logs import records as r
from api.games.thrones.logs.names import order_of_token
from domain.kernel import facts as kernel
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from domain.thrones.language.pieces import AreaId, CardId, Deck, HouseId, OrderId, Units, by_type, plus, unit_type
from domain.thrones.tables.edition import Edition


class Ruled(msgspec.Struct, frozen=True):
    """What one entry of the ledger ruled. ``at`` is the time in ISO form."""

    at: str
    facts: tuple[kernel.Fact, ...]


def to_log(
    ruled: Iterable[Ruled],
    edition: Edition,
    *,
    game: str,
    name: str,
    players: Mapping[HouseId, str],
    settings: Mapping[str, bool] | None = None,
    created: str = "",
) -> r.Log:
    """The log of a game, from the entries of its line of play: what was struck out has to be left out before."""
    exporter = _Exporter(edition, players)
    for entry in ruled:
        exporter.at = entry.at[:16]
        for fact in entry.facts:
            exporter.take(fact)
    exporter.close()
    return r.Log(
        game,
        name,
        tuple(exporter.entries),
        dict(settings or {}),
        created=created,
        ended=exporter.is_over,
    )


_QUIET = (
    "last-days-of-summer",
    "feast-for-crows",
    "rains-of-autumn",
    "sea-of-storms",
    "storm-of-swords",
    "web-of-lies",
)
"""Westeros cards that the format announces by their name alone."""

_CHOICES: dict[str, CardId | None] = {
    "supply": "w1-supply",
    "mustering": "w1-mustering",
    "clash-of-kings": "w2-clash-of-kings",
    "collect-power": "w2-game-of-thrones",
    "no-defense": "w3-storm-of-swords",
    "no-march-plus-1": "w3-rains-of-autumn",
    "nothing": None,
    "no-restriction": None,
}

_DECLINES = ("none", "keep", "leave")
_TAKES_ORDERS = ("cersei-lannister", "queen-of-thorns")


class _Outcome(msgspec.Struct):
    """What wildlings do to one House, or the House that beat them is given."""

    house: HouseId
    is_highest: bool
    card: CardId = ""
    effects: list[r.AnyEffect] = []


class _Battle(msgspec.Struct):
    attacker: HouseId
    defender: HouseId
    supporters: dict[AreaId, HouseId] = {}
    withheld: set[HouseId] = set()
    cards: dict[HouseId, CardId] = {}
    blade_declined_by: HouseId | None = None
    decided: f.CombatDecided | None = None
    stopped: HouseId | None = None
    losses: dict[HouseId, Units] = {}
    to: AreaId | None = None
    chooser: HouseId | None = None
    later: list[tuple[r.Record, HouseId]] = []

    def opponent(self, house: HouseId) -> HouseId:
        return self.defender if house == self.attacker else self.attacker


class _Exporter:
    """The state of an export: where in the game we are, and what waits for its place."""

    def __init__(self, edition: Edition, players: Mapping[HouseId, str]) -> None:
        self.edition = edition
        self.players = players
        self.entries: list[r.Entry] = []
        self.at = ""
        self.round = 1
        self.step = ""
        self.is_over = False
        self.orders: dict[AreaId, OrderId] = {}
        self.spent = ""
        self.answer: c.HouseAnswer | None = None
        self.how: kernel.How = "given"
        self.given: dict[tuple[str, HouseId], bool] = {}
        self.winters: dict[Deck, CardId] = {}
        self.seen_winter: set[Deck] = set()
        self.supplies: dict[HouseId, int] = {}
        self.removed: dict[HouseId, Units] = {}
        self.muster: tuple[HouseId, dict[str, int]] | None = None
        self.special: AreaId | None = None
        self.bulk: dict[HouseId, int] | None = None
        self.income: dict[HouseId, int] | None = None
        self.tie: HouseId | None = None
        self.auction: str | None = None
        self.bids: dict[HouseId, int] = {}
        self.outcome: _Outcome | None = None
        self.is_assault = False
        self.is_silent = False
        self.raid: c.HouseAnswer | None = None
        self.raven: HouseId = ""
        self.march: tuple[HouseId, AreaId, list[r.Step], f.UnitsDeparted | None] | None = None
        self.left_token = False
        self.battle: _Battle | None = None
        self.ability: tuple[HouseId, CardId, list[r.AnyEffect]] | None = None

    def put(self, phase: str, record: r.Record, house: HouseId | None = None) -> None:
        """One more entry. Without a House it is the site's own."""
        player = self.players.get(house, "") if house else ""
        self.entries.append(r.Entry(len(self.entries) + 1, self.round, phase, player, record, self.at))

    def by(self, house: HouseId) -> HouseId | None:
        """The House, if it gave the answer itself."""
        return house if self.how in ("given", "kept") else None

    def take(self, fact: kernel.Fact) -> None:
        if self.muster is not None and not isinstance(fact, f.UnitMustered | f.UnitReplaced):
            self._close_muster()
        if self.ability is not None and not isinstance(fact, _EFFECTS_OF_TEXTS):
            self._close_ability()
        if self.outcome is not None and isinstance(fact, _AFTER_OUTCOME):
            self._close_outcome()
        write = _TAKEN.get(type(fact))
        if write is not None:
            write(self, fact)

    def close(self) -> None:
        """What still waits when the record ends."""
        self._close_muster()
        self._close_ability()
        self._close_outcome()
        self._close_march()
        self._close_battle()
        self._close_step()

    # The round

    def round_began(self, x: f.RoundBegan) -> None:
        self._close_step()
        self.round = x.round
        self.winters.clear()
        self.seen_winter.clear()
        self.given.clear()

    def step_began(self, x: f.StepBegan) -> None:
        self._close_march()
        self._close_step()
        self.step = x.step
        if x.step == "consolidate":
            self.bulk = {}
        if x.step.endswith("game-of-thrones"):
            self.income = {}
        if x.phase == "westeros" and x.step != "draw":
            self._card_began(x.step)

    def _close_step(self) -> None:
        if self.bulk is not None:
            self.put("POWER", r.PowerConsolidated(self.bulk))
            self.bulk = None
        self._close_supply()
        self._close_income()

    def answered(self, x: kernel.Answered[Any]) -> None:
        self.answer, self.how = x.answer, x.how
        answer = x.answer
        match answer:
            case c.Raven():
                self.raven = answer.house
                if answer.choice == "look":
                    self.put("RAVEN", r.RavenLooked(answer.house), self.by(answer.house))
                elif answer.choice == "nothing":
                    self.put("RAVEN", r.RavenUnused(answer.house), self.by(answer.house))
            case c.ThroneOfBlades() | c.DarkWings() | c.PutToTheSword():
                self._chosen(answer)
            case c.InfluenceTie():
                self.tie = answer.house
            case c.Muster():
                self.muster = (answer.house, {})
            case c.MarchOrder():
                self.march = (answer.house, answer.area, [], None) if answer.moves else None
                self.left_token = False
            case c.Consolidate():
                self.special = answer.area if answer.use == "muster" else None
            case c.DestroyUnits() | c.MammothRetrieve() if self.is_assault:
                self._close_outcome()
                self.outcome = _Outcome(answer.house, isinstance(answer, c.MammothRetrieve))
            case c.BladeStrength() if self.battle is not None:
                self.battle.blade_declined_by = answer.house if answer.choice != "use" else None
            case c.RetreatArea() if self.battle is not None and answer.choice not in _DECLINES:
                self.battle.chooser = answer.house
            case c.Support() if self.battle is not None:
                if answer.house not in (self.battle.attacker, self.battle.defender):
                    self.battle.withheld.add(answer.house)
            case _:
                pass

    def answer_taken(self, x: kernel.AnswerTaken) -> None:
        is_new = (x.kind, x.player) not in self.given
        self.given[x.kind, x.player] = x.how in ("given", "kept")
        self.how = x.how
        if x.kind == "assign-orders" and is_new:
            self.put("PLANNING", r.OrdersSet(x.player), self.by(x.player))

    # Westeros phase

    def westeros_drawn(self, x: f.WesterosCardDrawn) -> None:
        if x.card.endswith("winter-is-coming"):
            self.seen_winter.add(x.deck)
        elif x.deck in self.seen_winter:
            self.winters[x.deck] = x.card

    def _card_began(self, card: CardId) -> None:
        deck = f"westeros-{card[1]}"
        icon = self.edition.icons[card] > 0
        if self.winters.pop(deck, None) == card:
            self.put("WESTEROS", r.WinterCame(card[3:], icon))
        if card[3:] in _QUIET:
            self.put("WESTEROS", r.WesterosCardShown(card[3:], icon))

    def _chosen(self, answer: c.WordAnswer) -> None:
        holders = {
            c.ThroneOfBlades: "iron-throne-token",
            c.DarkWings: "messenger-raven",
            c.PutToTheSword: "valyrian-steel-blade",
        }
        chosen = _CHOICES[answer.choice]
        icon = self.edition.icons[self.step] > 0
        choice_icon = chosen is not None and self.edition.icons[chosen] > 0
        record = r.WesterosChoice(
            self.step[3:], icon, holders[type(answer)], chosen[3:] if chosen else None, choice_icon
        )
        self.put("WESTEROS", record, self.by(answer.house))
        if answer.choice == "collect-power":
            self.income = {}

    def card_resolved(self, x: f.WesterosCardResolved) -> None:
        self._close_supply()
        self._close_income()

    def supply_counted(self, x: f.SupplyCounted) -> None:
        self.supplies[x.house] = min(sum(x.icons.values()), self.edition.constants.supply_maximum)

    def _close_supply(self) -> None:
        for house, supply in self.supplies.items():
            removed = self.removed.get(house, {})
            self.put("WESTEROS", r.SupplyCounted(house, supply, removed), house if removed else None)
        self.supplies.clear()
        self.removed.clear()

    def _close_income(self) -> None:
        if self.income is not None:
            self.put("WESTEROS", r.GameOfThronesPower(self.income))
            self.income = None

    def bids_revealed(self, x: f.BidsRevealed) -> None:
        self.tie = None
        self.bids = dict(x.bids)
        wildlings = x.about == "wildlings"
        kind = "wildling-bid" if wildlings else "influence-bid"
        self.auction = None if wildlings else x.about
        for house, bid in x.bids.items():
            record = r.WildlingBid(house, bid) if wildlings else r.Bid(house, x.about, bid)
            self.put("WESTEROS", record, house if self.given.get((kind, house)) else None)

    def track_filled(self, x: f.TrackFilled) -> None:
        if self.auction == x.track:
            self.put("WESTEROS", r.TrackOrdered(x.track, x.order, self.tie), self.tie)
            self.auction = None

    def attack_decided(self, x: f.WildlingAttackDecided) -> None:
        """Without a card, the answers that follow are the outcome."""
        self.is_assault = True

    def wildling_card(self, x: f.WildlingCardRevealed) -> None:
        self.put("WESTEROS", r.WildlingCardDrawn(x.card))
        self.is_silent = self.is_assault = False

    def penalty(self, x: f.PenaltySuffered) -> None:
        self.outcome = _Outcome(x.house, x.part == "highest", x.card)

    def bids_discarded(self, x: f.BidsDiscarded) -> None:
        self.is_assault = False

    def _close_outcome(self) -> None:
        if self.outcome is None:
            return
        outcome, self.outcome = self.outcome, None
        if outcome.card == "silence-at-the-wall":
            if not self.is_silent:
                self.put("WESTEROS", r.NothingHappened())
            self.is_silent = True
        elif not outcome.is_highest:
            self.put("WESTEROS", r.WildlingsWon(outcome.house, tuple(outcome.effects or (r.Nothing(),))))
        elif outcome.effects:
            self.put("WESTEROS", r.WildlingsBeaten(tuple(outcome.effects)), outcome.house)

    # Musters

    def unit_mustered(self, x: f.UnitMustered) -> None:
        if self.muster is not None:
            self._raise(x.unit)

    def unit_replaced(self, x: f.UnitReplaced) -> None:
        old: Any = unit_type(x.old)
        new: Any = unit_type(x.new)
        if self.muster is not None:
            self._raise(f"{new}-upgrade")
        elif self.ability is not None:
            self.ability[2].append(r.UnitUpgraded(x.area))
        elif self.outcome is not None and old in ("footman", "knight") and new in ("footman", "knight"):
            effects = self.outcome.effects
            last = effects[-1] if effects else None
            if isinstance(last, r.UnitsExchanged) and last.house == x.house:
                effects[-1] = msgspec.structs.replace(last, count=last.count + 1)
            else:
                effects.append(r.UnitsExchanged(x.house, 1, old, new))

    def _raise(self, what: str) -> None:
        assert self.muster is not None
        raised = self.muster[1]
        raised[what] = raised.get(what, 0) + 1

    def _close_muster(self) -> None:
        if self.muster is None:
            return
        (house, units), self.muster = self.muster, None
        if not units:
            return
        if self.outcome is not None:
            self.outcome.effects.append(r.UnitsRaised(house, units))
        elif self.special is not None:
            self.put("POWER", r.SpecialMustered(house, self.special, units), self.by(house))
            self.special = None
        else:
            self.put("WESTEROS", r.Mustered(house, units), self.by(house))

    # Orders

    def orders_revealed(self, x: f.OrdersRevealed) -> None:
        self.orders = {area: order for laid in x.orders.values() for area, order in laid.items()}

    def order_replaced(self, x: f.OrderReplaced) -> None:
        self.orders[x.area] = x.new
        record = r.RavenReplaced(x.house, x.area, order_of_token(x.old), order_of_token(x.new))
        self.put("RAVEN", record, self.by(x.house))

    def wildling_card_returned(self, x: f.WildlingCardReturned) -> None:
        record = r.RavenKept(self.raven) if x.to == "top" else r.RavenBuried(self.raven)
        self.put("RAVEN", record, self.by(self.raven))

    def order_removed(self, x: f.OrderRemoved) -> None:
        self.orders.pop(x.area, None)
        if self.ability is not None:
            self.ability[2].append(r.OrderTakenOff(x.area, order_of_token(x.order)))
        elif self.step == "raid" and x.by is not None:
            raided: tuple[tuple[AreaId, str], ...] = ((x.area, order_of_token(x.order)),)
            last = self.entries[-1].record
            if self.raid is self.answer and isinstance(last, r.Raided):
                raided = (*last.targets, *raided)
                self.entries.pop()
            self.raid = self.answer
            self.put("RAID", r.Raided(x.by, raided), self.by(x.by))

    def order_moved(self, x: f.OrderMoved) -> None:
        self.orders[x.to] = self.orders.pop(x.area)

    def order_resolved(self, x: f.OrderResolved) -> None:
        self.orders.pop(x.area, None)
        order = self.spent = order_of_token(x.order)
        answer = self.answer
        if isinstance(answer, c.Raid) and answer.area == x.area and answer.target is None:
            # Where it can matter we ask which of several orders without a target is spent; logs tell no choice then.
            if self.how == "given" and "2E-RAID-7" not in x.rules:
                self.put("RAID", r.OrderGivenUp(x.house, x.area, order), x.house)
            else:
                self.put("RAID", r.RaidUnusable(x.area, order))
        elif self.march is not None and self.march[:2] == (x.house, x.area):
            # Others may have been asked in between: for a lost port, for support against a neutral force.
            self._close_march()
        elif isinstance(answer, c.MarchOrder) and answer.area == x.area and not answer.moves:
            self.put("MARCH", r.OrderGivenUp(x.house, x.area, order), self.by(x.house))

    def units_moved(self, x: f.UnitsMoved) -> None:
        if self.march is not None:
            self.march[2].append(r.Step(x.to, by_type(x.units)))

    def units_departed(self, x: f.UnitsDeparted) -> None:
        if self.march is not None:
            self.march = (*self.march[:3], x)

    def neutral_beaten(self, x: f.NeutralForceRemoved) -> None:
        if self.march is not None and self.march[3] is not None:
            self.march[2].append(r.Step(x.area, by_type(self.march[3].units), beat_neutral=True))

    def token_placed(self, x: f.PowerTokenPlaced) -> None:
        self.left_token = True

    def _close_march(self, attack: r.Attack | None = None) -> None:
        if self.march is None:
            return
        (house, area, steps, _), self.march = self.march, None
        if not (steps or attack):
            return
        stop = not self.left_token or bool(steps) or attack is None
        by = "land" if self.edition.board.is_land(area) else "sea"
        self.put("MARCH", r.Marched(house, area, by, tuple(steps), attack, stop), self.by(house))  # type: ignore[arg-type]  # one of the two words

    # Combat

    def combat_began(self, x: f.CombatBegan) -> None:
        departed = self.march[3] if self.march is not None else None
        units = by_type(departed.units) if departed is not None else {}
        self._close_march(r.Attack(self.at, x.attacker, x.defender, x.area, x.origin, units))
        self.battle = _Battle(x.attacker, x.defender)

    def support_declared(self, x: f.SupportDeclared) -> None:
        if self.battle is not None and x.side is not None:
            self.battle.supporters[x.area] = x.house
            self.battle.withheld.discard(x.house)

    def support_answered(self, x: f.SupportAnswered) -> None:
        if self.battle is not None and not x.accepted:
            self.put("BATTLE", r.SupportRefused(x.house, self.battle.supporters.pop(x.area)), self.by(x.house))

    def strength_counted(self, x: f.StrengthCounted) -> None:
        battle = self.battle
        if battle is None or x.stage != "initial":
            return
        support: dict[HouseId, int] = {}
        for line in x.lines:
            owner = line.house or battle.supporters.get(line.area or "")
            if line.group == "support" and owner and owner not in (battle.attacker, battle.defender):
                support[owner] = support.get(owner, 0) + line.amount
        for house, strength in support.items():
            self.put("BATTLE", r.SupportGiven(house, x.house, strength), house)
        if x.house == battle.defender:
            for house in sorted(battle.withheld):
                self.put("BATTLE", r.SupportWithheld(house), house)

    def cards_revealed(self, x: f.HouseCardsRevealed) -> None:
        for house, card in x.cards.items():
            if card is None:
                self.put("BATTLE", r.CardMissing(house))
            else:
                self._choose(house, card, house if self.given.get(("house-card", house)) else None)

    def _choose(self, house: HouseId, card: CardId, by: HouseId | None) -> None:
        assert self.battle is not None
        self.battle.cards[house] = card
        self.put("BATTLE", r.CardChosen(house, self.edition.cards[card].strength, card), by)

    def card_cancelled(self, x: f.HouseCardCancelled) -> None:
        assert self.battle is not None
        house = self.battle.opponent(x.house)
        self.put("BATTLE", r.CardCancelled(house, self.battle.cards[house]), self.by(house))

    def card_replaced(self, x: f.HouseCardReplaced) -> None:
        assert self.battle is not None
        if isinstance(self.answer, c.CardAbility) and self.answer.ability == "aeron-swap":
            self.put("BATTLE", r.CardExchanged(x.house, self.battle.cards[x.house]), self.by(x.house))
        self._choose(x.house, x.card, self.by(x.house))

    def tides_revealed(self, x: f.TidesRevealed) -> None:
        for house, card in x.cards.items():
            self.put("BATTLE", r.TidesDrawn(house, card))

    def blade_added(self, x: f.BladeAdded) -> None:
        self.put("BATTLE", r.BladeUsed(x.house), self.by(x.house))

    def ability_resolved(self, x: f.AbilityResolved) -> None:
        answer = self.answer
        is_asked = isinstance(answer, c.CardAbility) and answer.house == x.house
        if is_asked and answer.choice in _DECLINES and x.card not in _TAKES_ORDERS:  # type: ignore[union-attr]  # it is a CardAbility
            self._told(r.AbilityDeclined(x.house, x.card), x.house)
        else:
            self.ability = (x.house, x.card, [])

    def _close_ability(self) -> None:
        if self.ability is None:
            return
        (house, card, effects), self.ability = self.ability, None
        if card in _TAKES_ORDERS and not effects:
            effects.append(r.NoOrderTakenOff())
        if effects:
            self._told(r.AbilityResolved(house, self.edition.cards[card].strength, card, tuple(effects)), house)

    def _told(self, record: r.Record, house: HouseId) -> None:
        """What a text does once the battle is decided comes after the battle."""
        if self.battle is not None and (self.battle.decided or self.battle.stopped):
            self.battle.later.append((record, house))
        else:
            self.put("BATTLE", record, self.by(house))

    def combat_decided(self, x: f.CombatDecided) -> None:
        battle = self.battle
        if battle is None:
            return
        battle.decided = x
        is_near = x.totals[x.loser] + 1 >= x.totals[x.winner]
        if is_near and battle.blade_declined_by == x.loser:
            self.put("BATTLE", r.BladeDeclined(x.loser), self.by(x.loser))

    def combat_stopped(self, x: f.CombatStopped) -> None:
        if self.battle is not None:
            self.battle.stopped = x.house

    def units_retreated(self, x: f.UnitsRetreated) -> None:
        if self.battle is not None:
            self.battle.to = x.to

    def units_returned(self, x: f.UnitsReturned) -> None:
        if self.battle is not None and x.routed:
            self.battle.to = x.to

    def units_destroyed(self, x: f.UnitsDestroyed) -> None:
        units = by_type(x.units)
        if self.battle is not None:
            self.battle.losses[x.house] = plus(self.battle.losses.get(x.house, {}), units)
        elif self.outcome is not None:
            effects = self.outcome.effects
            last = effects[-1] if effects else None
            if isinstance(last, r.UnitsRemoved) and last.house == x.house:
                effects[-1] = msgspec.structs.replace(last, units=plus(last.units, units))
            else:
                effects.append(r.UnitsRemoved(x.house, units))
        elif x.house in self.supplies:
            self.removed[x.house] = plus(self.removed.get(x.house, {}), units)

    def combat_ended(self, x: f.CombatEnded) -> None:
        self._close_ability()
        self._close_battle()

    def _close_battle(self) -> None:
        battle, self.battle = self.battle, None
        if battle is None or not (battle.decided or battle.stopped):
            return
        loser = battle.decided.loser if battle.decided else battle.stopped
        assert loser is not None
        winner = battle.opponent(loser)
        killed, other = battle.losses.get(loser, {}), battle.losses.get(winner, {})
        if battle.to is not None:
            how: Any = "forced" if battle.chooser == winner else "withdrew"
        else:
            how = "stuck" if killed else "lost"
        record = r.BattleLost(loser, how, battle.to, killed, winner if other else None, other)
        self.put("BATTLE", record, winner if how == "forced" else loser)
        for later, house in battle.later:
            self.put("BATTLE", later, house)

    # Parts of outcomes

    def supply_set(self, x: f.SupplySet) -> None:
        if self.outcome is not None:
            self.outcome.effects.append(r.SupplyLimited(x.house, x.supply))

    def marker_moved(self, x: f.MarkerMoved) -> None:
        if self.ability is not None:
            house, card, _ = self.ability
            self.ability = None
            self.put("BATTLE", r.RivalLowered(house, card, x.house, x.track), self.by(house))
        elif self.outcome is not None:
            if x.position in (1, len(x.order)):
                moved: r.AnyEffect = r.MarkerMoved(x.house, x.track, "top" if x.position == 1 else "bottom")
            else:
                moved = r.MarkerLowered(x.house, x.track, x.position)
            self.outcome.effects.append(moved)

    def cards_taken(self, x: f.CardsTaken) -> None:
        own = self.ability is not None and self.ability[0] == x.house
        effects = self.ability[2] if self.ability and own else self.outcome.effects if self.outcome else None
        if effects is not None:
            cards = tuple((self.edition.cards[card].strength, card) for card in x.cards)
            effects.append(r.CardsTakenBack(x.house, cards))

    def cards_discarded(self, x: f.CardsDiscarded) -> None:
        effects = self.ability[2] if self.ability else self.outcome.effects if self.outcome else None
        if effects is not None:
            house = self.ability[0] if self.ability else x.house
            effects += [r.CardDiscarded(house, self.edition.cards[card].strength, card) for card in x.cards]

    def bid_returned(self, x: f.BidReturned) -> None:
        if self.outcome is not None and self.bids.get(x.house):
            self.outcome.effects.append(r.PowerReturned(x.house, self.bids[x.house]))

    def power_changed(self, x: f.PowerChanged) -> None:
        if self.outcome is not None:
            if x.by < 0:
                self.outcome.effects.append(r.PowerLost(x.house, -x.by))
        elif self.income is not None:
            self.income[x.house] = self.income.get(x.house, 0) + x.by
        elif self.bulk is not None:
            answer = self.answer
            if (
                isinstance(answer, c.Consolidate)
                and self.how != "forced"
                and self.spent == "consolidate-star"
                and self.edition.board.has_castle(answer.area)
            ):
                self.put("POWER", r.PowerTaken(x.house, answer.area, x.by), self.by(x.house))
            else:
                self.bulk[x.house] = self.bulk.get(x.house, 0) + x.by

    def game_won(self, x: f.GameWon) -> None:
        self.close()
        self.put("GAME END", r.GameWon(x.winner))
        self.is_over = True


_EFFECTS_OF_TEXTS = (
    f.OrderRemoved,
    f.OrderMoved,
    f.UnitReplaced,
    f.MarkerMoved,
    f.TokenTaken,
    f.CardsDiscarded,
    f.CardsTaken,
    f.PowerChanged,
    f.UnitsDestroyed,
)
"""Facts that may follow from a House card's text."""

_AFTER_OUTCOME = (
    f.PenaltySuffered,
    f.ThreatMoved,
    f.BidsDiscarded,
    f.WildlingCardBuried,
    f.WildlingAttackBegan,
    f.StepBegan,
)
"""Facts that end what a wildling card does to one House."""

_TAKEN: dict[type[kernel.Fact], Callable[[_Exporter, Any], None]] = {
    get_origin(kind) or kind: method
    for method in vars(_Exporter).values()
    if callable(method) and (kind := get_type_hints(method).get("x"))
}
"""What is done with a fact: the method of the exporter whose ``x`` is of its kind."""

_UNTOLD = {
    "the set-up; an importer takes it from the settings and from what follows": (
        "GameCreated GameNamed GatheringBegan PositionStated NeutralForcePlaced UnitsPlaced GarrisonPlaced"
    ),
    "hidden, or the means of proving what was hidden": (
        "AnswerSealed DraftKept AnswersOpened SeedSealed SeedCommitted SeedOpened DrawsStated HiddenStated "
        "DeckShuffled DeckRedrawn WildlingCardSeen TidesCardDrawn SharesWanted ShareCommitted SharesClosed "
        "ShareOpened ShareWithheld SharedSeedAwaited"
    ),
    "follows from what is told": (
        "Awaiting GarrisonRemoved MarkersRemoved TokenTaken TokenUsed TokensRefreshed VictorySet ThreatMoved "
        "OrdersProhibited ProhibitionsLifted PowerAnnounced WildlingAttackBegan WildlingCardBuried UnitsArrived "
        "PowerTokenKept PowerTokenRemoved ControlChanged IconsCounted AbilityNoted AbilityCancelled "
        "CasualtiesCounted CasualtiesPrevented RetreatOffered UnitsStoodUp OrdersTakenBack"
    ),
    "the format has no words for it": (
        "BidderNamed ShortageFound TokensLaid NeutralSupportAsked NeutralSupportAnswered GameDrawn"
    ),
    "about the record and not the game": (
        "Rewound Corrected AnswerOffered AnswerVoided CorrectionOffered CorrectionDecided AppealFiled AppealRuled "
        "InDoubt DueSet EngineAmended PrivilegeUsed SecretsRead SecretsReadOpened LossAccepted Forked"
    ),
}

UNTOLD: dict[str, tuple[str, ...]] = {why: tuple(names.split()) for why, names in _UNTOLD.items()}
"""Facts that no record tells, and why."""


def is_told(fact: type[kernel.Fact]) -> bool:
    """Whether a kind of fact comes into a log."""
    return fact in _TAKEN
