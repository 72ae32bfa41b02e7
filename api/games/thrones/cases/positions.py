"""Completing positions: a case or an import says part of a position, one written rule says the rest.

The rule is docs/positions.md. Whatever it fills in is reported as a note, so that nobody takes it for something
that the author of the case said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec
from msgspec import UNSET

from domain.kernel.facts import Frame
from domain.kernel.procedure import Procedure
from domain.kernel.refusal import Refusal
from domain.thrones.language.pieces import (
    TOKEN_OF_TRACK,
    TRACKS,
    UNITS,
    AreaId,
    CardId,
    Deck,
    HouseId,
    Unit,
    Units,
    size,
    unit_type,
)
from domain.thrones.language.state import Combat, Force, Hidden, March, PlacedOrder, State
from domain.thrones.rules.action.phase import ActionPhase
from domain.thrones.rules.armies import complies
from domain.thrones.rules.combat.casualties import Casualties
from domain.thrones.rules.combat.retreat import Retreat
from domain.thrones.rules.combat.support import CallForSupport
from domain.thrones.rules.game import Game
from domain.thrones.rules.planning.phase import PlanningPhase
from domain.thrones.rules.setup import Play
from domain.thrones.rules.westeros.bidding import ClashOfKings
from domain.thrones.rules.westeros.cards import ClashOfKingsCard, LastDaysOfSummer, WildlingsAttackCard
from domain.thrones.rules.westeros.phase import WINTER_IS_COMING, WesterosPhase
from domain.thrones.ruleset import ThronesOf
from domain.thrones.tables.charter import AS_PRINTED, Charter
from domain.thrones.tables.edition import Edition, PlayerCount
from domain.thrones.tables.editions.composed import edition_of
from domain.thrones.tables.variations import PRESETS, chosen, words_of

COMBAT_STEPS = ("support", "cards", "blade", "casualties", "retreat")
STEPS = (
    "planning",
    "planning/raven",
    "westeros",
    "westeros/threat",
    "westeros/cards",
    "westeros/wildlings",
    "westeros/clash-of-kings",
    "action/raid",
    "action/march",
    "action/consolidate",
    "action/clean-up",
    *(f"combat/{step}" for step in COMBAT_STEPS),
)
"""Where a completed position can stand."""


class PositionError(ValueError):
    """A partial position that names what does not exist, or contradicts itself."""


class Where(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Where the game stands: one of :data:`STEPS`.

    ``last`` is the House that acted last in a step of turns; ``track`` the track that is bid for next.
    """

    step: str = "planning"
    last: HouseId = ""
    track: str = ""


class Fight(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A combat under way, as far as it is said: the ``Combat`` of a state with the marching units."""

    attacker: HouseId
    defender: HouseId
    area: AreaId = ""
    origin: AreaId = ""
    units: Units = {}
    winner: HouseId = ""
    cards: dict[HouseId, CardId] = {}
    tides: dict[HouseId, CardId] = {}
    support: dict[AreaId, Literal["attacker", "defender"]] = {}


class Partial(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Part of a position, in the words of ``position/1`` (docs/cases.md).

    ``switches`` and ``variations`` say where its table plays otherwise than the preset that the case names, and
    ``tables`` what it replaces in that preset's data, as a charter does. ``empty`` names areas that hold nothing;
    ``decks`` has the cards on top of decks, ``pool`` the Power Pools, ``stated`` the draws of coming shuffles.
    """

    at: Where = Where()
    houses: tuple[HouseId, ...] = ()
    switches: dict[str, str] = {}
    variations: dict[str, str] = {}
    tables: dict[str, Any] = {}
    round: int | None = None
    units: dict[AreaId, Force] = {}
    empty: tuple[AreaId, ...] = ()
    garrisons: dict[AreaId, int] = {}
    neutral: dict[AreaId, int | Literal["impassable"]] = {}
    power_tokens: dict[AreaId, HouseId] = {}
    orders: dict[AreaId, PlacedOrder] = {}
    tracks: dict[str, tuple[HouseId, ...]] = {}
    tokens: dict[str, HouseId] = {}
    used: tuple[str, ...] = ()
    supply: dict[HouseId, int] = {}
    power: dict[HouseId, int] = {}
    pool: dict[HouseId, int] = {}
    hands: dict[HouseId, tuple[CardId, ...]] = {}
    discards: dict[HouseId, tuple[CardId, ...]] = {}
    westeros_discards: dict[Deck, tuple[CardId, ...]] = {}
    westeros_cards: dict[Deck, CardId] = {}
    decks: dict[Deck, tuple[CardId, ...]] = {}
    stated: dict[Deck, tuple[tuple[CardId, ...], ...]] = {}
    threat: int | None = None
    prohibited: tuple[str, ...] = ()
    fight: Fight | None = None


class Completed(msgspec.Struct, frozen=True):
    """A whole position, its hidden part, and what the rule of docs/positions.md filled in."""

    state: State
    hidden: Hidden
    notes: tuple[str, ...]


def complete(partial: Partial, preset: str) -> Completed:
    """The whole position, at a table that began from ``preset``. Raises :class:`PositionError`."""
    charter = charter_from(preset, partial.switches, partial.variations, partial.tables)
    try:
        edition = edition_of(charter)
    except Refusal as refusal:
        raise PositionError(str(refusal)) from refusal
    return _Completion(partial, charter, edition).run()


def charter_from(
    preset: str,
    switches: Mapping[str, str] | None = None,
    variations: Mapping[str, str] | None = None,
    tables: Mapping[str, Any] | None = None,
) -> Charter:
    """The charter, without Houses, of a table that begins from a preset and changes it.

    Raises :class:`PositionError` for a preset or a word that does not exist, or for words that do not fit together.
    """
    if preset not in PRESETS:
        raise PositionError(f"unknown preset {preset}; known are {', '.join(sorted(PRESETS))}")
    try:
        varied, switched = chosen(PRESETS[preset], {**(switches or {}), **(variations or {})})
    except Refusal as refusal:
        raise PositionError(f"no table plays like this: {refusal}") from refusal
    return Charter(
        preset,
        (),
        switched,
        chance="imposed",
        variations=UNSET if varied == AS_PRINTED else varied,
        tables=dict(tables) if tables else UNSET,
    )


def changes_from(charter: Charter) -> dict[str, Any]:
    """The fields of a :class:`Partial` that make this charter out of its preset; each is left out when it is empty."""
    base = PRESETS[charter.edition]
    varied = charter.agreed
    changes: dict[str, dict[str, Any]] = {
        "switches": _differing(words_of(charter.switches), words_of(base.switches)),
        "variations": _differing(words_of(varied), words_of(base.variations)),
        "tables": charter.tables if isinstance(charter.tables, dict) else {},
    }
    return {name: value for name, value in changes.items() if value}


def _differing(words: Mapping[str, str], usual: Mapping[str, str]) -> dict[str, str]:
    return {name: word for name, word in words.items() if word != usual[name]}


class _Completion:
    """One run of the rule; every method fills in one part and notes what it did."""

    def __init__(self, partial: Partial, charter: Charter, edition: Edition) -> None:
        self.partial = partial
        self.charter = charter
        self.edition = edition
        self.notes: list[str] = []
        _check_names(partial, edition)
        self.houses = self._houses()
        self.table: PlayerCount = edition.players(len(self.houses))
        self.named = _named_areas(partial)

    def run(self) -> Completed:
        partial = self.partial
        tracks = self._tracks()
        fight, march = self._fight()
        orders = dict(partial.orders)
        units = dict(partial.units)
        if march is not None:
            orders.setdefault(march.origin, PlacedOrder(march.house, march.order))
        hands, discards = self._cards(fight)
        state = State(
            charter=msgspec.structs.replace(self.charter, houses=self.houses),
            round=self._round(),
            phase=partial.at.step.split("/")[0].replace("combat", "action"),
            step=_engine_step(partial.at.step, self.edition),
            units=units,
            garrisons=self._garrisons(),
            neutral=self._neutral(),
            orders=orders,
            tracks=tracks,
            tokens=self._tokens(tracks),
            used=tuple(sorted(partial.used)),
            supply=self._supply(march),
            hands=hands,
            discards=discards,
            westeros_discards=partial.westeros_discards,
            threat=self._threat(),
            prohibited=partial.prohibited,
            march=march,
            combat=fight,
            combats=(f"{fight.area}/{fight.attacker}",) if fight else (),
            question=1,
        )
        power_tokens = self._power_tokens(state)
        state = msgspec.structs.replace(state, power_tokens=power_tokens, power=self._power(power_tokens))
        state, hidden = self._decks(state)
        state = self._derived(state)
        frames = tuple(_plain(frame) for frame in self._frames(state))
        if partial.at.step == "westeros/clash-of-kings":
            done = TRACKS[: TRACKS.index(self._track())]
            state = msgspec.structs.replace(state, tracks={track: state.tracks[track] for track in done})
        return Completed(msgspec.structs.replace(state, frames=frames), hidden, tuple(self.notes))

    def note(self, text: str) -> None:
        self.notes.append(text)

    # Houses, tracks, tokens

    def _houses(self) -> tuple[HouseId, ...]:
        """As given; else those of a track that lists a whole table; else all Houses of the rulebook."""
        tables = [self.edition.players(count) for count in self.edition.player_counts]
        lists = [self.partial.houses] if self.partial.houses else list(self.partial.tracks.values())
        for houses in lists:
            for table in tables:
                if not self.partial.houses and not _named_houses(self.partial) <= set(table.houses):
                    continue
                if sorted(houses) == sorted(table.houses):
                    self._must_play(table.houses)
                    if not self.partial.houses:
                        self.note(f"players: {', '.join(sorted(houses))}, the Houses of a whole track")
                    return tuple(sorted(houses))
        if self.partial.houses:
            raise PositionError(f"no game has exactly these Houses: {', '.join(self.partial.houses)}")
        self.note("players: all Houses")
        return tuple(sorted(tables[-1].houses))

    def _must_play(self, houses: Iterable[HouseId]) -> None:
        stray = sorted(_named_houses(self.partial) - set(houses))
        if stray:
            raise PositionError(f"not in this game: {', '.join(stray)}")

    def _tracks(self) -> dict[str, tuple[HouseId, ...]]:
        tracks: dict[str, tuple[HouseId, ...]] = {}
        for track in TRACKS:
            given = self.partial.tracks.get(track, ())
            holder = self.partial.tokens.get(TOKEN_OF_TRACK[track])
            first = given or ((holder,) if holder else ())
            rest = tuple(house for house in self.table.influence[track] if house not in first)
            if rest:
                self.note(f"{track}: {', '.join(rest)} in set-up order{' behind those named' if first else ''}")
            tracks[track] = (*first, *rest)
        return tracks

    def _tokens(self, tracks: Mapping[str, tuple[HouseId, ...]]) -> dict[str, HouseId]:
        return {token: self.partial.tokens.get(token, tracks[track][0]) for track, token in TOKEN_OF_TRACK.items()}

    def _track(self) -> str:
        return self.partial.at.track or TRACKS[0]

    # The board

    def _round(self) -> int:
        if self.partial.round is not None:
            return self.partial.round
        # In round 1 there is no Westeros phase.
        number = 2 if self.partial.at.step.startswith("westeros") else 1
        self.note(f"round: {number}")
        return number

    def _garrisons(self) -> dict[AreaId, int]:
        """As given; a home area that the position names otherwise has none; the others have theirs."""
        garrisons = dict(self.partial.garrisons)
        for house in self.houses:
            home = self.edition.houses[house].home
            if home not in self.named and self.edition.constants.garrison:
                garrisons[home] = self.edition.constants.garrison
                self.note(f"{home}: garrison {garrisons[home]}, since the position does not name the area")
        return dict(sorted(garrisons.items()))

    def _neutral(self) -> dict[AreaId, int | Literal["impassable"]]:
        """As given, and the set-up's in areas that the position does not name."""
        placed: dict[AreaId, int | Literal["impassable"]] = {**self.table.neutral_forces}
        placed.update(dict.fromkeys(self.table.impassable, "impassable"))
        rest = {area: value for area, value in placed.items() if area not in self.named}
        if rest:
            self.note("neutral forces as at set-up: " + ", ".join(f"{area} {rest[area]}" for area in sorted(rest)))
        return dict(sorted({**rest, **self.partial.neutral}.items()))

    def _supply(self, march: March | None) -> dict[HouseId, int]:
        """As given; else the highest, so that a limit nobody mentions binds nobody."""
        highest = self.edition.constants.supply_maximum
        supply = {house: self.partial.supply.get(house, highest) for house in self.houses}
        missing = [house for house in self.houses if house not in self.partial.supply]
        if missing:
            self.note(f"supply {highest}: {', '.join(missing)}")
        for house in self.houses:
            sizes = {area: size(force.units) for area, force in self.partial.units.items() if force.house == house}
            if march and march.house == house:
                sizes[march.to] = size(march.units)
            if not complies(sizes.values(), self.edition.supply_limit(supply[house])):
                self.note(f"{house} is over its supply limit, as the position says")
        return supply

    # Power

    def _power_tokens(self, state: State) -> dict[AreaId, HouseId]:
        """As given; where Power and Pool leave tokens over, they lie in areas that nobody names and nothing counts."""
        tokens = dict(self.partial.power_tokens)
        for house in self.houses:
            if house not in self.partial.power or house not in self.partial.pool:
                continue
            there = sum(owner == house for owner in tokens.values())
            missing = self.edition.constants.power_tokens - self.partial.power[house] - self.partial.pool[house] - there
            if missing < 0:
                raise PositionError(f"{house} has more than {self.edition.constants.power_tokens} Power tokens")
            free = [area for area in self._plain_areas(state) if area not in tokens]
            if missing > len(free):
                raise PositionError(f"there is no room for {missing} more Power tokens of {house}")
            for area in free[:missing]:
                tokens[area] = house
                self.note(f"{area}: a Power token of {house}, which neither its Power nor its Pool holds")
        return dict(sorted(tokens.items()))

    def _plain_areas(self, state: State) -> list[AreaId]:
        return [
            area
            for area in self.edition.board.land
            if area not in self.named
            and area not in state.neutral
            and not self.edition.board.has_castle(area)
            and self.edition.board[area].home is None
        ]

    def _power(self, power_tokens: Mapping[AreaId, HouseId]) -> dict[HouseId, int]:
        power: dict[HouseId, int] = {}
        every = self.edition.constants.power_tokens
        missing = []
        for house in self.houses:
            left = every - sum(owner == house for owner in power_tokens.values())
            if house in self.partial.power:
                power[house] = self.partial.power[house]
            elif house in self.partial.pool:
                power[house] = left - self.partial.pool[house]
            else:
                power[house] = min(self.edition.constants.starting_power, left)
                missing.append(house)
            if not 0 <= power[house] <= left:
                raise PositionError(f"{house} cannot have {power[house]} Power")
        if missing:
            self.note(f"Power {self.edition.constants.starting_power}: {', '.join(missing)}")
        return power

    # Cards

    def _cards(
        self, fight: Combat | None
    ) -> tuple[dict[HouseId, tuple[CardId, ...]], dict[HouseId, tuple[CardId, ...]]]:
        """A hand that is given is the whole hand; else every card that is not discarded or in play."""
        hands, discards = {}, {}
        full = []
        for house in self.houses:
            gone = set(self.partial.discards.get(house, ()))
            gone |= {fight.cards[house]} if fight and house in fight.cards else set()
            if house in self.partial.hands:
                hand = self.partial.hands[house]
            else:
                hand = tuple(card for card in self.edition.cards_of(house) if card not in gone)
                full.append(house)
            if gone & set(hand):
                raise PositionError(f"{house} has cards both in hand and out of it: {sorted(gone & set(hand))}")
            hands[house] = tuple(sorted(hand))
            discards[house] = self.partial.discards.get(house, ())
        if full:
            self.note(f"hand of every card not named elsewhere: {', '.join(full)}")
        return hands, discards

    def _threat(self) -> int:
        if self.partial.threat is not None:
            return self.partial.threat
        self.note(f"wildling threat: {self.edition.constants.threat_start}")
        return self.edition.constants.threat_start

    def _decks(self, state: State) -> tuple[State, Hidden]:
        """Canonical order under the cards on top; what lies open or discarded is not in a deck."""
        decks: dict[Deck, tuple[CardId, ...]] = {}
        piles = {"wildling": tuple(sorted(self.edition.wildling_deck)), **self.edition.westeros_decks}
        cards = dict(self.partial.westeros_cards)
        for deck, pile in piles.items():
            if not pile and deck not in self.partial.decks:
                continue
            out = list(self.partial.westeros_discards.get(deck, ()))
            out += [cards[deck]] if deck in cards else []
            top = self.partial.decks.get(deck, ())
            rest = list(pile)
            for card in (*out, *top):
                if card not in rest:
                    raise PositionError(f"{card} is not in the {deck} deck as often as the position says")
                rest.remove(card)
            decks[deck] = (*top, *rest)
        self.note("decks: canonical order under the cards named")
        cards, decks = self._open_cards(cards, decks)
        hidden = Hidden(decks=decks, stated=dict(sorted(self.partial.stated.items())))
        return msgspec.structs.replace(state, westeros_cards=dict(sorted(cards.items()))), hidden

    def _open_cards(
        self, cards: dict[Deck, CardId], decks: dict[Deck, tuple[CardId, ...]]
    ) -> tuple[dict[Deck, CardId], dict[Deck, tuple[CardId, ...]]]:
        """The Westeros cards that lie open where the game stands, from the top of a deck where none is named."""
        needed: tuple[Deck, ...] = ()
        names = tuple(self.edition.westeros_decks)
        if self.partial.at.step in ("westeros/threat", "westeros/cards"):
            needed = names[self._first_deck() :]
        elif self.partial.at.step == "westeros/wildlings":
            cards, needed = {names[2]: card_with(self.edition, WildlingsAttackCard)} | cards, names[2:]
        elif self.partial.at.step == "westeros/clash-of-kings":
            cards, needed = {names[1]: card_with(self.edition, ClashOfKingsCard)} | cards, names[1:]
        for deck in needed:
            if cards.get(deck) in WINTER_IS_COMING:
                raise PositionError(f"{cards[deck]} does not stay open: another card has taken its place")
            if deck in self.partial.westeros_cards:
                continue
            if deck not in cards:
                cards[deck] = _quiet_card(self.edition, decks[deck])
                self.note(f"{deck}: {cards[deck]} lies open")
            pile = list(decks[deck])
            if cards[deck] not in pile:
                raise PositionError(f"{cards[deck]} cannot lie open: the position has it elsewhere")
            pile.remove(cards[deck])
            decks[deck] = tuple(pile)
        return {deck: cards[deck] for deck in cards if deck in needed}, decks

    def _first_deck(self) -> int:
        """The deck whose card is resolved first: at the step of the cards, the first that is named."""
        names = tuple(self.edition.westeros_decks)
        if self.partial.at.step == "westeros/threat" or not self.partial.westeros_cards:
            return 0
        return min(names.index(deck) for deck in self.partial.westeros_cards)

    # Combat

    def _fight(self) -> tuple[Combat | None, March | None]:
        fight = self.partial.fight
        if fight is None:
            if self.partial.at.step.startswith("combat/"):
                raise PositionError("where is the combat?")
            return None, None
        if fight.attacker == fight.defender:
            raise PositionError(f"{fight.attacker} does not fight against itself")
        if self.partial.at.step in ("combat/casualties", "combat/retreat") and not fight.winner:
            raise PositionError(f"who has won the combat? At {self.partial.at.step} that is decided")
        if fight.winner not in ("", fight.attacker, fight.defender):
            raise PositionError(f"{fight.winner} cannot win a combat of {fight.attacker} and {fight.defender}")
        area = fight.area or self._embattled(fight)
        origin = fight.origin or self._origin(fight, area)
        units = fight.units
        if not units:
            units = {"ship": 1} if self.edition.board.is_sea(area) else {"footman": 1}
            self.note(f"{fight.attacker} marched with {next(iter(units))}")
        march = March(fight.attacker, origin, self._march_token(fight.attacker, origin), area, units)
        combat = Combat(
            area=area,
            origin=origin,
            attacker=fight.attacker,
            defender=fight.defender,
            support=fight.support,
            cards=fight.cards,
            tides=fight.tides,
            winner=fight.winner or None,
        )
        return combat, march

    def _embattled(self, fight: Fight) -> AreaId:
        held = [area for area, force in sorted(self.partial.units.items()) if force.house == fight.defender]
        if not held:
            raise PositionError(f"where does {fight.defender} defend?")
        self.note(f"embattled area: {held[0]}, the first with units of {fight.defender}")
        return held[0]

    def _origin(self, fight: Fight, area: AreaId) -> AreaId:
        """An area next to it that the attacker holds, else one that nobody names."""
        board = self.edition.board
        kinds = ("land",) if board.is_land(area) else ("sea", "port")
        near = [other for other in board.neighbours[area] if board[other].kind in kinds]
        own = [
            other for other in near if other in self.partial.units and self.partial.units[other].house == fight.attacker
        ]
        free = [other for other in near if other not in self.named and board[other].home is None]
        if not (own or free):
            raise PositionError(f"where did {fight.attacker} march from?")
        self.note(f"origin of the march: {(own or free)[0]}")
        return (own or free)[0]

    def _march_token(self, house: HouseId, origin: AreaId) -> str:
        placed = self.partial.orders.get(origin)
        if placed is not None:
            return placed.token
        used = {placed.token for placed in self.partial.orders.values() if placed.house == house}
        marches = [token.id for token in self.edition.tokens.values() if token.type == "march"]
        token = next((one for one in marches if one not in used), marches[0])
        self.note(f"order of the march: {token}")
        return token

    # What follows from the rest

    def _derived(self, state: State) -> State:
        """Control and victory markers are recomputed (2E-CTL-16)."""
        game = Game(ThronesOf(self.edition), state, self.edition)
        control = {area: game.controller(area) for area in self.edition.board.land}
        victory = {house: min(len(game.castles_of(house)), game.victory_areas) for house in self.houses}
        self._check_reserves(game)
        return msgspec.structs.replace(
            state, control={area: house for area, house in control.items() if house}, victory=victory
        )

    def _check_reserves(self, game: Game) -> None:
        for house in self.houses:
            for kind, left in game.reserve(house).items():
                if left < 0:
                    raise PositionError(f"{house} has no {-left} more {kind}")

    def _frames(self, state: State) -> list[Procedure]:
        """The stack of procedures, outermost first."""
        at = self.partial.at
        phase, _, step = at.step.partition("/")
        last = state.position_of(at.last, "iron-throne") if at.last else 0
        if phase == "planning":
            return [Play(step="phases", phase=2), PlanningPhase(step="raven" if step else "begin")]
        if phase == "westeros":
            return [Play(step="phases", phase=1), *self._westeros(state, step)]
        play = Play(step="phases", phase=3)
        chapters = self.edition.chapters
        after = {"raid": "marches", "march": "consolidate", "consolidate": "clean_up"}
        if step == "clean-up":
            return [play, ActionPhase(step="clean_up")]
        if phase == "action":
            turns = {"raid": chapters.raids, "march": chapters.marches, "consolidate": chapters.consolidation}
            return [play, ActionPhase(step=after[step]), _in_turns(turns[step], last)]
        assert state.combat is not None
        last = state.position_of(state.combat.attacker, "iron-throne")
        marches = _in_turns(chapters.marches, last)
        return [play, ActionPhase(step="consolidate"), marches, *self._combat_frames(state.combat, step)]

    def _westeros(self, state: State, step: str) -> list[Procedure]:
        if step == "wildlings":
            card = WildlingsAttackCard(step="over")
            attack = self.edition.chapters.wildlings(cause="card")
            return [WesterosPhase(step="put_away", resolved=2), card, attack]
        if step == "clash-of-kings":
            bids = ClashOfKings(step="announce", track=TRACKS.index(self._track()), former=state.tracks)
            return [WesterosPhase(step="put_away", resolved=1), ClashOfKingsCard(step="over"), bids]
        if step == "cards":
            return [WesterosPhase(step="cards", resolved=self._first_deck())]
        return [WesterosPhase(step=step or "begin")]

    def _combat_frames(self, combat: Combat, step: str) -> list[Procedure]:
        frames: dict[str, tuple[str, Procedure | None]] = {
            "support": ("initial_strength", CallForSupport()),
            "cards": ("initial_strength", None),
            "blade": ("known_strength", None),
            "casualties": ("retreat", Casualties()),
            "retreat": ("clean_up", Retreat()),
        }
        outer, inner = frames[step]
        fight = self.edition.chapters.combat(step=outer, area=combat.area, defender=combat.defender)  # type: ignore[call-arg]  # a combat is told where and against whom
        return [fight, inner] if inner else [fight]


def _in_turns(chapter: type[Procedure], last: int) -> Procedure:
    """A step of the action phase once it has begun; one in which Houses take turns knows who acted last."""
    if "last_position" not in chapter.__struct_fields__:
        return chapter()
    return chapter(step="next_house", last_position=last)  # type: ignore[call-arg]  # its fields have just been looked at


def card_with(edition: Edition, effect: type[Procedure]) -> CardId:
    """The Westeros card of an edition that does this."""
    return next(card for card, procedure in edition.westeros_cards.items() if procedure is effect)


def _plain(frame: Procedure) -> Frame:
    plain: Frame = msgspec.json.decode(msgspec.json.encode(frame))
    return plain


def _quiet_card(edition: Edition, deck: tuple[CardId, ...]) -> CardId:
    """A card of the deck that asks nobody anything: one without effect, else the last in canonical order."""
    quiet = [card for card in deck if edition.westeros_cards.get(card) is LastDaysOfSummer]
    return (quiet or [deck[-1]])[0]


def _engine_step(step: str, edition: Edition) -> str:
    """The word of the position for a step of :data:`STEPS`."""
    words = {
        "planning": "assign-orders",
        "planning/raven": "messenger-raven",
        "westeros": "draw",
        "westeros/threat": "draw",
        "westeros/cards": "draw",
        "westeros/wildlings": card_with(edition, WildlingsAttackCard),
        "westeros/clash-of-kings": card_with(edition, ClashOfKingsCard),
    }
    return words.get(step, "march" if step.startswith("combat/") else step.partition("/")[2])


def _named_areas(partial: Partial) -> set[AreaId]:
    named = {*partial.units, *partial.empty, *partial.garrisons, *partial.neutral}
    named |= {*partial.power_tokens, *partial.orders}
    if partial.fight:
        named |= {partial.fight.area, partial.fight.origin} - {""}
    return named


def _named_units(partial: Partial) -> list[Units]:
    return [*(force.units for force in partial.units.values()), partial.fight.units if partial.fight else {}]


def _is_unit(edition: Edition, unit: Unit) -> bool:
    """Whether the table plays with such units."""
    return unit in UNITS and unit_type(unit) in edition.unit_figures


def _named_houses(partial: Partial) -> set[HouseId]:
    named = {force.house for force in partial.units.values()} | {*partial.power_tokens.values()}
    named |= {placed.house for placed in partial.orders.values()} | {*partial.tokens.values()}
    for houses in (partial.supply, partial.power, partial.pool, partial.hands, partial.discards):
        named |= set(houses)
    for order in partial.tracks.values():
        named |= set(order)
    named |= {partial.at.last} - {""}
    return named | ({partial.fight.attacker, partial.fight.defender} if partial.fight else set())


def _check_names(partial: Partial, edition: Edition) -> None:
    if partial.at.step not in STEPS:
        raise PositionError(f"unknown step {partial.at.step}; known are {', '.join(STEPS)}")
    supported = set(partial.fight.support) if partial.fight else set()
    unknown = sorted((_named_areas(partial) | supported) - set(edition.board.areas))
    unknown += sorted((_named_houses(partial) | set(partial.houses)) - set(edition.houses))
    unknown += sorted({unit for units in _named_units(partial) for unit in units if not _is_unit(edition, unit)})
    unknown += sorted({placed.token for placed in partial.orders.values()} - set(edition.tokens))
    in_play = partial.fight.cards if partial.fight else {}
    cards = {*in_play.values()} | {
        card for pile in (*partial.hands.values(), *partial.discards.values()) for card in pile
    }
    unknown += sorted(cards - set(edition.cards))
    unknown += sorted(set(partial.tracks) - set(TRACKS)) + sorted({*partial.tokens, *partial.used} - _TOKENS)
    _check_decks(partial, edition)
    if unknown:
        raise PositionError(f"unknown: {', '.join(unknown)}")
    for pile in (partial.hands, partial.discards):
        for house, own in pile.items():
            strange = [card for card in own if edition.cards[card].house != house]
            if strange:
                raise PositionError(f"not cards of {house}: {', '.join(strange)}")


def _check_decks(partial: Partial, edition: Edition) -> None:
    known = ("wildling", "tides", *edition.westeros_decks)
    for field in ("decks", "stated", "westeros_discards", "westeros_cards"):
        unknown = sorted(set(getattr(partial, field)) - {*known})
        if unknown:
            raise PositionError(f"{field}: unknown: {', '.join(unknown)}; known are {', '.join(known)}")


_TOKENS = set(TOKEN_OF_TRACK.values())
