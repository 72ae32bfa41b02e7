"""Strength of a side: steps 2, 3d and 5 of a combat (section 18.3), line by line.

Every unit, order, Support order, garrison, card, blade and Tides card that counts is a line with its rules,
so that a total can be checked by anybody from the facts alone.
"""

from __future__ import annotations

from domain.thrones.language import facts as f
from domain.thrones.language.facts import Line
from domain.thrones.language.pieces import (
    FOOTMEN_IN_SUPPORT,
    AreaId,
    HouseId,
    Unit,
    Units,
    in_order,
    is_routed,
    unit_type,
)
from domain.thrones.language.state import Combat, Side
from domain.thrones.rules.combat.cards.vocabulary import (
    Bonus,
    DoublesDefense,
    RaisesUnits,
    ZeroesPrintedStrength,
    ZeroesShips,
    ZeroesShipsInSupport,
    effects_in_play,
    in_ability_order,
    participating,
    text_in_play,
)
from domain.thrones.rules.game import Game


def base_value(game: Game, unit: Unit, target: AreaId, side: Side) -> tuple[int, tuple[str, ...]]:
    """What a unit counts before any card (2E-CBT-15 to 2E-CBT-17)."""
    if is_routed(unit):
        return 0, ("2E-CBT-17", "2E-RET-13")
    if unit == "siege-engine":
        counts = side == "attacker" and game.board.has_castle(target)
        return (game.edition.unit_figures[unit].strength if counts else 0), ("2E-CBT-15", "2E-CBT-16")
    return game.edition.unit_figures[unit_type(unit)].strength, ("2E-CBT-15",)


def value_of(
    game: Game,
    combat: Combat | None,
    unit: Unit,
    owner: HouseId,
    target: AreaId,
    side: Side,
    *,
    in_support: bool = False,
) -> tuple[int, tuple[str, ...]]:
    """What a unit counts with the cards in play, fighting or ``in_support``.

    Cards that disagree are applied in the order of their texts (2E-HC-5), unless the charter lets zeroed Ships
    stay at 0.
    """
    value, rules = base_value(game, unit, target, side)
    if is_routed(unit):
        return value, (*rules, *(game.readings.combat.routed_support if in_support else ()))
    zeroed = False
    for house in in_ability_order(game, combat) if combat is not None else ():
        assert combat is not None
        for effect in effects_in_play(game, combat, house):
            rule = text_in_play(game, combat, house)
            assert rule is not None
            if (
                isinstance(effect, ZeroesShips)
                and unit == "ship"
                and owner != house
                and effect.when(game, combat, house)
            ):
                value, zeroed = 0, True
                rules = (*rules, rule.rule, "2E-HCX-17", "2E-HC-10")
            against = in_support and side != combat.side_of(house)
            if isinstance(effect, ZeroesShipsInSupport) and unit == "ship" and against:
                value, rules = 0, (*rules, rule.rule)
            raises = isinstance(effect, RaisesUnits) and unit == effect.unit and owner == house
            if (
                raises
                and isinstance(effect, RaisesUnits)
                and (effect.in_support or not in_support)
                and side == combat.side_of(house)
                and effect.when(game, combat, house)
            ):
                value += 1
                rules = (*rules, rule.rule, "2E-HCX-17")
    if zeroed and game.readings.combat.zeroed_ships_stay_zero:
        value = 0
    if in_support and unit == "footman" and footmen_do_not_support(game):
        value, rules = 0, (*rules, "1E-WCARD-11")
    return value, rules


def footmen_do_not_support(game: Game) -> bool:
    """Rains of Autumn of the first edition's deck (1E-WCARD-11)."""
    return FOOTMEN_IN_SUPPORT in game.state.prohibited


def unit_lines(
    game: Game, combat: Combat | None, group: str, units: Units, owner: HouseId, at: AreaId, target: AreaId, side: Side
) -> list[Line]:
    """One line per type and state of unit."""
    lines = []
    for unit, count in in_order(units):
        value, rules = value_of(game, combat, unit, owner, target, side, in_support=group == "support")
        lines.append(Line(group, unit, value * count, rules, at, owner, count))
    return lines


def support_lines(game: Game, combat: Combat | None, area: AreaId, target: AreaId, side: Side) -> list[Line]:
    """What one Support order gives: the units of its area, +1 if it is special (2E-CBT-20)."""
    placed = game.state.orders[area]
    lines = unit_lines(game, combat, "support", game.state.units_in(area), placed.house, area, target, side)
    lines = [_with_rules(line, "2E-CBT-11", "2E-CBT-20", "2E-ORD-4") for line in lines]
    bonus = game.edition.tokens[placed.token].modifier
    if bonus:
        rules = ("2E-CBT-20", "2E-ORD-2", *game.readings.combat.special_support)
        lines.append(Line("support", placed.token, bonus, rules, area, placed.house))
    return lines


def _with_rules(line: Line, *rules: str) -> Line:
    return Line(line.group, line.item, line.amount, (*line.rules, *rules), line.area, line.house, line.count)


def _order_lines(game: Game, combat: Combat, house: HouseId) -> list[Line]:
    """The March order of the attacker, the Defense order of the defender."""
    if house == combat.attacker:
        assert game.state.march is not None
        token = game.edition.tokens[game.state.march.order]
        rules = ("2E-CBT-18", "2E-MAR-13", *game.readings.combat.march_order)
        return [Line("order", token.id, token.modifier, rules, combat.origin)]
    token_there = game.token(combat.area)
    if token_there is None or token_there.type != "defense" or game.state.orders[combat.area].house != house:
        return []
    lines = [Line("order", token_there.id, token_there.modifier, ("2E-CBT-19", "2E-ORD-3"), combat.area)]
    if any(isinstance(effect, DoublesDefense) for effect in effects_in_play(game, combat, house)):
        card = text_in_play(game, combat, house)
        assert card is not None
        lines.append(Line("order", card.card, token_there.modifier, (card.rule,), combat.area))
    return lines


def initial_lines(game: Game, combat: Combat, house: HouseId) -> list[Line]:
    """Units, order, support and garrison as they count at this moment (2E-CBT-18, 2E-CBT-19)."""
    side = combat.side_of(house)
    assert side is not None
    at = combat.origin if side == "attacker" else combat.area
    lines = unit_lines(game, combat, "units", participating(game, combat, house), house, at, combat.area, side)
    lines += _order_lines(game, combat, house)
    for area in sorted(combat.support):
        if combat.support[area] == side:
            lines += support_lines(game, combat, area, combat.area, side)
    garrison = game.state.garrisons.get(combat.area, 0)
    if side == "defender" and garrison and game.shield(combat.area) == house:
        lines.append(Line("garrison", "garrison", garrison, ("2E-CBT-19", "2E-GAR-1"), combat.area))
    return lines


def card_lines(game: Game, combat: Combat, house: HouseId) -> list[Line]:
    """The House card in play: its printed strength and what its text adds, together not below 0 (2E-CBT-27).

    No printed card comes below 0; one of a charter's own tables can.
    """
    text = text_in_play(game, combat, house)
    if text is None:
        return []
    printed = game.edition.cards[text.card].strength
    rules: tuple[str, ...] = (text.rule, "2E-CBT-26", "2E-HC-1")
    opponent = combat.opponent(house)
    if any(isinstance(effect, ZeroesPrintedStrength) for effect in effects_in_play(game, combat, opponent)):
        balon = text_in_play(game, combat, opponent)
        assert balon is not None
        printed, rules = 0, (*rules, balon.rule)
    lines = [Line("card", text.card, printed, rules, house=house)]
    for effect in text.effects:
        if isinstance(effect, Bonus) and effect.strength and effect.when(game, combat, house):
            kept = ("2E-HCX-14",) if printed < game.edition.cards[text.card].strength else ()
            why = (text.rule, "2E-HC-5", "2E-HCX-4", *kept)
            lines.append(Line("card", text.card, effect.strength, why, house=house))
    sum_, floor = total(lines), game.readings.combat.strength_floor
    if floor is not None and sum_ < floor:
        lines.append(Line("card", text.card, floor - sum_, game.readings.combat.below_floor, house=house))
    return lines


def final_lines(game: Game, combat: Combat, house: HouseId) -> list[Line]:
    """Everything that counts in step 5 (2E-CBT-26)."""
    lines = initial_lines(game, combat, house) + card_lines(game, combat, house)
    if combat.blade == house:
        lines.append(
            Line("blade", "valyrian-steel-blade", game.edition.constants.blade_bonus, ("2E-CBT-25", "2E-TRK-4"))
        )
    drawn = combat.tides.get(house)
    if drawn:
        lines.append(Line("tides", drawn, game.edition.tides[drawn].strength, ("2E-TOB-8", "2E-TOB-2")))
    return lines


def total(lines: list[Line]) -> int:
    """The sum of the lines, which may be below 0."""
    return sum(line.amount for line in lines)


def count(game: Game, combat: Combat, stage: str, house: HouseId) -> int:
    """Record the strength of one side at a stage of the combat."""
    lines = initial_lines(game, combat, house) if stage == "initial" else final_lines(game, combat, house)
    rules = {
        "initial": ("2E-CBT-18",) if house == combat.attacker else ("2E-CBT-19",),
        "known": ("2E-CBT-24", "2E-CBT-26"),
        "final": ("2E-CBT-26",),
    }[stage]
    reading = game.readings.combat
    if stage == "initial":
        rules = (*rules, *reading.initial)
    sum_, floor = total(lines), reading.strength_floor
    if sum_ < (floor or 0):
        # Only a final strength is raised to the floor, where there is one.
        rules = (*rules, *reading.below_floor)
        sum_ = floor if stage == "final" and floor is not None else sum_
    counted = f.StrengthCounted(stage=stage, house=house, area=combat.area, lines=tuple(lines), total=sum_)  # type: ignore[arg-type]  # stage is one of the three keys above
    game.emit(counted, *rules)
    return sum_


def icon_lines(game: Game, combat: Combat, house: HouseId, icon: str) -> tuple[Line, ...]:
    """Swords or fortifications: printed, from the text, from the Tides card (2E-CAS-5)."""
    lines = []
    text = text_in_play(game, combat, house)
    if text is not None:
        printed = getattr(game.edition.cards[text.card], icon)
        if printed:
            lines.append(Line(icon, text.card, printed, (text.rule, "2E-CAS-5", "2E-HC-11")))
        for effect in text.effects:
            extra = getattr(effect, icon, 0) if isinstance(effect, Bonus) else 0
            if extra and isinstance(effect, Bonus) and effect.when(game, combat, house):
                lines.append(Line(icon, text.card, extra, (text.rule, "2E-CAS-5", "2E-HC-5")))
    drawn = combat.tides.get(house)
    if drawn and getattr(game.edition.tides[drawn], icon):
        lines.append(Line(icon, drawn, getattr(game.edition.tides[drawn], icon), ("2E-TOB-8", "2E-CAS-5")))
    return tuple(lines)
