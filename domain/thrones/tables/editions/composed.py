"""What a charter plays by, put together: tables of two books and of the extras, the chapters, the cards, the law."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

import msgspec
from msgspec.structs import replace

from domain.kernel.procedure import Procedure
from domain.kernel.refusal import Refusal
from domain.thrones.language.pieces import AreaId, Units, plus
from domain.thrones.rules.action.consolidation import ConsolidatePower
from domain.thrones.rules.action.consolidation_first import ConsolidateAtOnce
from domain.thrones.rules.action.marches import MarchOrders
from domain.thrones.rules.action.marches_first import MarchesThenSupport, ReconcileMarch
from domain.thrones.rules.action.phase import ActionPhase
from domain.thrones.rules.action.raids import Raids
from domain.thrones.rules.combat.abilities import Abilities
from domain.thrones.rules.combat.cards import house_cards
from domain.thrones.rules.combat.casualties import Casualties
from domain.thrones.rules.combat.cleanup import CombatCleanUp
from domain.thrones.rules.combat.combat import Combat, by_fiefdoms
from domain.thrones.rules.combat.retreat import Retreat
from domain.thrones.rules.combat.support import CallForSupport
from domain.thrones.rules.control import Consequences
from domain.thrones.rules.planning.phase import PlanningPhase
from domain.thrones.rules.setup import Play, Setup
from domain.thrones.rules.victory import by_errata, by_first_edition, by_print
from domain.thrones.rules.westeros import cards as westeros_cards
from domain.thrones.rules.westeros.bidding import ClashOfKings
from domain.thrones.rules.westeros.cards import RainsOnFootmen
from domain.thrones.rules.westeros.mustering import MusterIn, Mustering
from domain.thrones.rules.westeros.phase import WesterosPhase
from domain.thrones.rules.westeros.supply import Reconcile, Supply
from domain.thrones.rules.wildlings import cards as wildling_cards
from domain.thrones.rules.wildlings.assault import WildlingAssault
from domain.thrones.rules.wildlings.attack import WildlingAttack
from domain.thrones.tables import readings as r
from domain.thrones.tables.charter import AS_PRINTED, USUAL, Charter, Switches, Variations
from domain.thrones.tables.edition import Assumption, Chapters, Edition, HouseFigures, PlayerCount, Tables
from domain.thrones.tables.editions.extras import EXTRAS
from domain.thrones.tables.editions.own import problems_of
from domain.thrones.tables.law import Correspondence, Law
from domain.thrones.tables.variations import FIRST_EDITION, first_topics, second_alone, words_of

_here = files(__package__)

SECOND = msgspec.json.decode(_here.joinpath("second.json").read_bytes(), type=Tables)
FIRST = msgspec.json.decode(_here.joinpath("first.json").read_bytes(), type=Tables)
CORRESPONDENCES: dict[str, Correspondence] = msgspec.json.decode(
    _here.joinpath("first-law.json").read_bytes(), type=dict[str, Correspondence]
)

PROCEDURES: tuple[type[Procedure], ...] = (
    Setup,
    Play,
    WesterosPhase,
    PlanningPhase,
    ActionPhase,
    Raids,
    MarchOrders,
    MarchesThenSupport,
    ConsolidatePower,
    ConsolidateAtOnce,
    Combat,
    CallForSupport,
    Abilities,
    Casualties,
    Retreat,
    CombatCleanUp,
    Consequences,
    Supply,
    Reconcile,
    ReconcileMarch,
    Mustering,
    MusterIn,
    ClashOfKings,
    WildlingAttack,
    WildlingAssault,
    RainsOnFootmen,
    *{*westeros_cards.CARDS.values()},
    *wildling_cards.CARDS.values(),
)
"""Everything that can lie on the stack of a game, whatever it plays by."""


def compose(
    variations: Variations = AS_PRINTED, own: Mapping[str, Any] | None = None, switches: Switches = USUAL
) -> Edition:
    """The edition that a table plays. ``own`` replaces values of its tables, by JSON Pointer (RFC 6901).

    Raises Refusal ``own-table-unfit`` when a pointer leads nowhere or the value does not fit there.
    """
    return _composed(variations, switches, msgspec.json.encode(own or {}, order="sorted"))


def edition_of(charter: Charter) -> Edition:
    """The edition that a charter plays."""
    return compose(charter.agreed, charter.tables or None, charter.switches)


@lru_cache(maxsize=256)
def _composed(variations: Variations, switches: Switches, own: bytes) -> Edition:
    second_deck = variations.westeros_cards == "second"
    return Edition(
        _played(variations, own),
        readings=readings_of(variations, switches),
        law=Law(CORRESPONDENCES, first_topics(variations), second_alone(variations)),
        chapters=Chapters(
            setup=Setup,
            phases=(WesterosPhase, PlanningPhase, ActionPhase),
            raids=Raids,
            marches=MarchOrders if variations.neutral_attack == "second" else MarchesThenSupport,
            consolidation=ConsolidatePower if variations.consolidate_orders == "second" else ConsolidateAtOnce,
            wildlings=WildlingAttack if variations.wildling_cards == "second" else WildlingAssault,
            combat=Combat,
        ),
        westeros_cards=westeros_cards.CARDS if second_deck else westeros_cards.FIRST_CARDS,
        rule_of_card=westeros_cards.RULES if second_deck else westeros_cards.FIRST_RULES,
        wildling_procedures=wildling_cards.CARDS,
        card_texts=house_cards.TEXTS if variations.house_cards == "second" else house_cards.FIRST_TEXTS,
        procedures={str(procedure.__struct_config__.tag): procedure for procedure in PROCEDURES},
    )


@lru_cache(maxsize=64)
def _played(variations: Variations, own: bytes) -> Tables:
    return _amended(tables_of(variations), msgspec.json.decode(own))


# Readings


def readings_of(variations: Variations, switches: Switches) -> r.Readings:
    """How a table reads each chapter, by the words that it agreed on."""
    v = variations
    return r.Readings(
        setup=r.SetupReading(
            absent_houses_turn_neutral=("1E-PLAY-2",) if v.map == "first" else (),
            stars_of_fewer=("2E-TRK-7", "2E-SET-15") if v.stars == "second" else ("2E-TRK-6", "1E-PLAY-6"),
            court_exchanged=("1E-SETUP-7",) if v.kings_court_errata == "on" else (),
            errata_units_from={"errata": 0, "errata-4plus": 4, "printed": None}[switches.lannister_screen],
        ),
        planning=r.PlanningReading(
            may_leave_empty=("1E-PLAN-3",) if v.orders == "optional" else (),
            land_only=("consolidate",) if v.consolidate_orders == "first" else (),
            land_only_rules=("1E-ORD-6",) if v.consolidate_orders == "first" else (),
            entries=_entries(v),
            raven_looks=v.raven == "look",
        ),
        raids=_raids(v),
        marches=r.MarchesReading(
            weak_attack_is_refused=v.neutral_attack == "second",
            power_left_at_home=("1E-CTRL-3",) if v.map == "first" else (),
        ),
        combat=_combat(v, switches),
        westeros=_westeros(v, switches),
        victory=_victory(v, switches),
    )


def _entries(variations: Variations) -> dict[str, str]:
    """The first edition's entry of each kind of token that is read by its book."""
    books = {
        "march": ("1E-ORD-1", variations.map),
        "defense": ("1E-ORD-2", variations.map),
        "support": ("1E-ORD-3", variations.map),
        "raid": ("1E-ORD-4", variations.raid_orders),
        "consolidate": ("1E-ORD-5", variations.consolidate_orders),
    }
    return {kind: rule for kind, (rule, book) in books.items() if book == "first"}


def _raids(variations: Variations) -> r.RaidsReading:
    # The first edition has a rule for each kind of order that may be resolved without effect.
    idle = ("2E-ACT-3",) if variations.map == "second" else ("1E-RAID-4",)
    if variations.raid_orders == "second":
        return r.RaidsReading(idle=idle)
    return r.RaidsReading(
        special_raids_defense=False,
        beyond_raids=("1E-RAID-3",),
        twice=("1E-RAID-2",),
        special=("1E-ORD-4",),
        pillage="1E-RAID-5",
        victim_pays=False,
        pool_empty=("1E-RAID-5", "2E-LIM-2"),
        far=("1E-RAID-7",),
        idle=idle,
        over=("1E-RAID-9",),
    )


def _combat(variations: Variations, switches: Switches) -> r.CombatReading:
    by_throne = variations.ability_order == "iron-throne"
    reading = r.CombatReading(
        tie_rank=by_fiefdoms,
        tides=switches.tides_of_battle == "on",
        support_for_all_orders=switches.support_unit == "per-house",
        supply_binds_returning=switches.attacker_retreat_supply == "enforce",
        stops_without_units=switches.mace_last_unit == "end",
        token_stays=switches.token_after_empty_win == "stays",
        texts_by="iron-throne" if by_throne else "fiefdoms",
        texts_by_rule="2E-HCX-1" if by_throne else "1E-HC-3",
        zeroed_ships_stay_zero=switches.ships_vs_salladhor == "zero",
        last_discard_stays=variations.card_return == "all-but-last",
    )
    if variations.combat == "second":
        return reading
    return dataclasses.replace(
        reading,
        strength_floor=None,
        below_floor=("1E-BAT-8",),
        initial=("1E-BAT-5",),
        march_order=("1E-ORD-1",),
        special_support=("1E-ORD-3",),
        routed_support=("1E-SUPP-7",),
        routed_alone=("1E-BAT-13",),
        routed_die="when-they-retreat",
        rise_before_consolidation=("1E-RET-10",),
        shield_bars_retreat=False,
        attacker_always_returns=True,
        stops_without_units=True,
        stopped=("1E-BAT-12",),
        decided_without_units="1E-BAT-12",
        token_stays=False,
        nobody_enters="1E-BAT-11",
    )


def _westeros(variations: Variations, switches: Switches) -> r.WesterosReading:
    reading = r.WesterosReading(
        prohibitions_last="planning" if variations.westeros_cards == "second" else "round",
        resolved=("2E-WES-8",) if variations.westeros_cards == "second" else ("1E-WEST-1",),
        full_threat_attacks=variations.full_track == "attack",
        dark_wings_pay_ports=switches.dark_wings_ports == "yes",
        equal_hand_is_kept=switches.massing_equal_hand == "keep",
    )
    if variations.wildling_strength == "second":
        return reading
    return dataclasses.replace(
        reading,
        replaced_icons_count=("1E-WEST-3",),
        last_space=("1E-WEST-4",),
        beyond_last_space=(),
        full_threat_attacks=False,
        threat_back=None,
    )


def _victory(variations: Variations, switches: Switches) -> r.VictoryReading:
    reading = {
        "errata": r.VictoryReading(by_errata),
        "printed": r.VictoryReading(by_print, tie=("2E-VIC-7",)),
        "first-edition": r.VictoryReading(by_first_edition, tie=("1E-WIN-3", "1E-WIN-4"), draws=True),
    }[switches.tiebreak]
    if variations.victory == "first":
        reading = dataclasses.replace(reading, fewer_houses=("1E-PLAY-4",))
    if variations.map == "first":
        called = ("city or stronghold", "cities and strongholds")
        reading = dataclasses.replace(reading, areas=called, heading="cities")
    return reading


# Tables


def tables_of(variations: Variations) -> Tables:
    """The data of both books and the extras as the variations choose them."""
    base = FIRST if variations.map == "first" else SECOND
    cards = {"first": FIRST, "second": SECOND}
    tables = replace(
        base,
        name=base.name if variations in (AS_PRINTED, FIRST_EDITION) else f"{base.name}, with changes",
        house_cards=tuple(
            card
            for card in cards[variations.house_cards].house_cards
            if card.house in {house.id for house in base.houses}
        ),
        westeros_decks=cards[variations.westeros_cards].westeros_decks,
        wildling_cards=SECOND.wildling_cards if variations.wildling_cards == "second" else (),
        tides_cards=SECOND.tides_cards,
        units=SECOND.units if variations.siege_engines == "on" else FIRST.units,
        players=tuple(_players(one, variations) for one in base.players),
        constants=replace(
            base.constants,
            garrison=SECOND.constants.garrison if variations.garrisons == "on" else 0,
            port_ships=SECOND.constants.port_ships,
            threat_start=cards[variations.wildling_strength].constants.threat_start,
            victory_areas=6 if variations.victory == "six" else base.constants.victory_areas,
        ),
        houses=tuple(_house(house, variations) for house in base.houses),
    )
    for change in _CHANGES:
        tables = change(tables, variations)
    return replace(tables, assumed=tuple(_assumed(tables, variations)))


def assumptions_of(charter: Charter) -> tuple[Assumption, ...]:
    """What the tables of a charter take for granted without a good source, where it does not put its own values."""
    variations = charter.agreed
    tables = tables_of(variations)
    own = charter.tables if isinstance(charter.tables, dict) else {}
    replaced = [_pointed(_as_written(tables), pointer) for pointer in own]
    return tuple(
        one
        for one in tables.assumed
        if (not one.players or len(charter.houses) in one.players)
        and not all(any(_is_within(where, pointer) for pointer in replaced) for where in one.where)
    )


def _is_within(where: str, pointer: str) -> bool:
    return where == pointer or where.startswith(f"{pointer}/")


def _assumed(tables: Tables, variations: Variations) -> Iterator[Assumption]:
    """What both files assume, as far as it is played. Areas have other places on another board."""
    words = words_of(variations)
    places = {area.id: place for place, area in enumerate(tables.areas)}
    for one in (*FIRST.assumed, *EXTRAS.assumed):
        if all(words[name] in fitting for name, fitting in one.when.items()):
            crowned = one.id == "oldtown-crown"
            where = tuple(f"/areas/{places[area]}/power" for area in EXTRAS.oldtown_crown) if crowned else one.where
            yield replace(one, where=where)


def _players(count: PlayerCount, variations: Variations) -> PlayerCount:
    stars = {"first": (3, 3, 2, 1, 0, 0), "second": (3, 3, 2, 1, 0, 0) if count.count > 4 else (3, 2, 1, 0)}
    eight = variations.victory == "first" and count.count == 3
    return replace(
        count,
        stars=stars[variations.stars][: max(count.count, len(count.stars))],
        victory_areas=8 if eight else None,
    )


def _house(house: HouseFigures, variations: Variations) -> HouseFigures:
    limits = {**house.limits, "knight": 5 if variations.knight_limit == "five" else 4}
    limits["ship"] = 6 if variations.ship_limit == "six" else 5
    limits.pop("siege-engine", None)
    if variations.siege_engines == "on":
        limits["siege-engine"] = 2 if variations.siege_engine_limit == "two" else 99
    return replace(house, limits={kind: limits[kind] for kind in SECOND.houses[0].limits if kind in limits})


def _with_units(tables: Tables, house: str, change: Callable[[dict[AreaId, Units]], dict[AreaId, Units]]) -> Tables:
    return replace(
        tables,
        houses=tuple(replace(one, units=change(one.units)) if one.id == house else one for one in tables.houses),
    )


def _moved(units: dict[AreaId, Units], ship_from: AreaId, to: AreaId) -> dict[AreaId, Units]:
    """One Ship starts elsewhere."""
    if ship_from not in units:
        return units
    left = units[ship_from]["ship"] - 1
    rest = {area: there for area, there in units.items() if area != ship_from}
    rest |= {ship_from: {"ship": left}} if left else {}
    return {**rest, to: plus(rest.get(to, {}), {"ship": 1})}


def _ports(tables: Tables, variations: Variations) -> Tables:
    """Ports added to a board without them, or taken off it; Ships that would start in one start on its sea."""
    there = {area.id: area for area in tables.areas if area.kind == "port"}
    if variations.ports == "on" and not there:
        links = [(str(area), port.id) for port in EXTRAS.ports for area in (port.land, port.sea)]
        return replace(
            tables,
            areas=(*tables.areas, *EXTRAS.ports),
            links=(*tables.links, *((min(link), max(link)) for link in links)),
        )
    if variations.ports == "off" and there:
        for house in tables.houses:
            for port in there.keys() & house.units.keys():
                sea = str(there[port].sea)
                tables = _with_units(tables, house.id, lambda units, port=port, sea=sea: _moved(units, port, sea))  # type: ignore[misc]
        return replace(
            tables,
            areas=tuple(area for area in tables.areas if area.kind != "port"),
            links=tuple(link for link in tables.links if not {*link} & there.keys()),
            houses=tuple(
                replace(house, errata_units={a: u for a, u in house.errata_units.items() if a not in there})
                for house in tables.houses
            ),
        )
    return tables


def _greyjoy(tables: Tables, variations: Variations) -> Tables:
    """Where Greyjoy's second Ship starts."""
    port, sea = "port-of-pyke", "ironmans-bay"
    if variations.greyjoy_start == "sea":
        return _with_units(tables, "greyjoy", lambda units: _moved(units, port, sea))
    holds = any(house.units.get(port) for house in tables.houses)
    return tables if holds else _with_units(tables, "greyjoy", lambda units: _moved(units, sea, port))


def _lannister(tables: Tables, variations: Variations) -> Tables:
    """One more Ship for Lannister."""
    if variations.lannister_ship == "none":
        return tables
    at = "port-of-lannisport" if variations.ports == "on" else "the-golden-sound"
    return _with_units(tables, "lannister", lambda units: {**units, at: plus(units.get(at, {}), {"ship": 1})})


def _court(tables: Tables, variations: Variations) -> Tables:
    """Greyjoy and Tyrell exchange positions on the King's Court track (1E-SETUP-7)."""
    if variations.kings_court_errata == "off":
        return tables

    def exchanged(count: PlayerCount) -> PlayerCount:
        swap = {"greyjoy": "tyrell", "tyrell": "greyjoy"}
        court = count.influence["kings-court"]
        if count.count < max(one.count for one in tables.players):
            return count
        return replace(
            count, influence={**count.influence, "kings-court": tuple(swap.get(house, house) for house in court)}
        )

    return replace(tables, players=tuple(exchanged(count) for count in tables.players))


def _pyke(tables: Tables, variations: Variations) -> Tables:
    """Pyke is out of play, and a neutral fleet lies before it; so nobody can play the House whose home it is."""
    if variations.drowned_pyke == "off":
        return tables
    board = {area.id for area in tables.areas}
    closed = tuple(area for area in EXTRAS.drowned_pyke.impassable if area in board and not area.startswith("port"))
    without_home = {house.id for house in tables.houses if house.home in closed}

    def drowned(count: PlayerCount) -> PlayerCount:
        forces = {area: value for area, value in count.neutral_forces.items() if area not in closed}
        forces |= EXTRAS.drowned_pyke.neutral_forces
        return replace(count, neutral_forces=forces, impassable=tuple(sorted({*count.impassable, *closed})))

    return replace(
        tables, players=tuple(drowned(count) for count in tables.players if not without_home & {*count.houses})
    )


def _oldtown(tables: Tables, variations: Variations) -> Tables:
    if variations.oldtown_crown == "off":
        return tables
    crowns = EXTRAS.oldtown_crown
    return replace(
        tables,
        areas=tuple(replace(area, power=area.power + crowns.get(area.id, 0)) for area in tables.areas),
    )


_CHANGES = (_ports, _greyjoy, _lannister, _court, _pyke, _oldtown)


def _amended(tables: Tables, own: dict[str, Any]) -> Tables:
    """Tables with an organiser's own values in them."""
    if not own:
        return tables
    plain = _as_written(tables)
    for pointer, value in sorted(own.items(), key=lambda one: _in_order(one[0])):
        *path, last = _pointed(plain, pointer).split("/")[1:]
        place = plain
        for step in path:
            place = place[int(step)] if isinstance(place, list) else place[_plain(step)]
        if not isinstance(place, list):
            place[_plain(last)] = value
        elif int(last) == len(place):
            place.append(value)
        else:
            place[int(last)] = value
    try:
        amended = msgspec.convert(plain, Tables)
    except msgspec.ValidationError as error:
        raise Refusal("own-table-unfit", pointers=sorted(own), problem=str(error)) from error
    wrong = next(problems_of(amended, plain, tables), None)
    if wrong is not None:
        raise Refusal("own-table-unfit", pointers=sorted(own), problem=wrong)
    return amended


def _as_written(tables: Tables) -> Any:
    """Tables as they stand in a file."""
    return msgspec.json.decode(msgspec.json.encode(tables))


def _in_order(pointer: str) -> list[tuple[int, str]]:
    """Pointers in the order in which they are carried out, whatever their order in the charter."""
    return [(int(step), "") if step.isdecimal() else (-1, step) for step in pointer.split("/")]


def _plain(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")


def _pointed(plain: Any, pointer: str) -> str:
    """A pointer with every row of a table by its number; an organiser may name a row by its id, and ``-`` a new one.

    Raises Refusal where nothing is there: an organiser replaces what is there, and a slip of the pen is told.
    """
    unfit = Refusal("own-table-unfit", unknown=True, pointer=pointer, problem="there is no such value")
    if not pointer.startswith("/") or pointer == "/":
        raise unfit
    steps, place = pointer.split("/")[1:], plain
    for at, step in enumerate(steps):
        if isinstance(place, list):
            ids = {
                row["id"]: number
                for number, row in enumerate(place)
                if isinstance(row, dict) and isinstance(row.get("id"), str)
            }
            number = len(place) if step == "-" else int(step) if step.isdecimal() else ids.get(_plain(step), -1)
            is_new = number == len(place) and at == len(steps) - 1
            if not (0 <= number < len(place) or is_new):
                raise unfit
            steps[at] = str(number)
            place = None if is_new else place[number]
        elif isinstance(place, dict) and _plain(step) in place:
            place = place[_plain(step)]
        else:
            raise unfit
    return "/" + "/".join(steps)
