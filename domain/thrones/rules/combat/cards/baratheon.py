"""House cards of Baratheon (section 27.1)."""

from __future__ import annotations

from domain.thrones.language import facts as f
from domain.thrones.language.pieces import HouseId
from domain.thrones.language.state import Combat
from domain.thrones.rules.combat.cards.vocabulary import (
    Asks,
    Bonus,
    CardText,
    ZeroesShips,
    always,
    has_won,
    is_supported,
    participating,
)
from domain.thrones.rules.game import Game


def stands_behind_opponent(game: Game, combat: Combat, house: HouseId) -> bool:
    """Stannis: the opponent is nearer to position 1 of the Iron Throne track at this moment."""
    state = game.state
    mine, other = (state.position_of(one, "iron-throne") for one in (house, combat.opponent(house)))
    return other < mine


def stannis_is_discarded(game: Game, combat: Combat, house: HouseId) -> bool:
    return "stannis-baratheon" in game.state.discards.get(house, ())


def upgradable_footmen(game: Game, combat: Combat, house: HouseId) -> tuple[str, ...]:
    """Renly: one word per Footman that may become a Knight, as "area unit"; "none" leaves them."""
    if not game.reserve(house)["knight"]:
        return ()
    side = combat.side_of(house)
    places = {combat.area: participating(game, combat, house)}
    for area, supported in combat.support.items():
        if supported == side and game.state.orders[area].house == house:
            places[area] = game.state.units_in(area)
    footmen = [
        f"{area} {unit}"
        for area, units in sorted(places.items())
        for unit in ("footman", "routed-footman")
        if units.get(unit)
    ]
    return ("none", *footmen) if footmen else ()


def upgrade_footman(game: Game, combat: Combat, house: HouseId, word: str) -> None:
    if word == "none":
        return
    area, unit = word.split(" ")
    marching = area == combat.area and house == combat.attacker
    new = unit.replace("footman", "knight")
    game.emit(f.UnitReplaced(house=house, area=area, old=unit, new=new, marching=marching), "2E-HCB-2")


def hand_to_look_at(game: Game, combat: Combat, house: HouseId) -> tuple[str, ...]:
    """Patchface: the opponent's hand as it is after the clean-up."""
    hand = game.edition.in_order(game.state.hands[combat.opponent(house)])
    return ("none", *hand) if hand else ()


def discard_from_opponent(game: Game, combat: Combat, house: HouseId, word: str) -> None:
    from domain.thrones.rules.combat.hands import discard

    if word != "none":
        discard(game, combat.opponent(house), (word,), "2E-HCB-7")


CARDS = (
    CardText("stannis-baratheon", "2E-HCB-1", (Bonus(stands_behind_opponent, strength=1),)),
    CardText(
        "renly-baratheon",
        "2E-HCB-2",
        (Asks("win-or-lose", "renly-upgrade", has_won, upgradable_footmen, upgrade_footman, default="none"),),
    ),
    CardText("ser-davos-seaworth", "2E-HCB-3", (Bonus(stannis_is_discarded, strength=1, swords=1),)),
    CardText("brienne-of-tarth", "2E-HCB-4"),
    CardText("salladhor-saan", "2E-HCB-5", (ZeroesShips(is_supported),)),
    CardText("melisandre", "2E-HCB-6"),
    CardText(
        "patchface",
        "2E-HCB-7",
        (Asks("after", "patchface-discard", always, hand_to_look_at, discard_from_opponent, default="none"),),
    ),
)
