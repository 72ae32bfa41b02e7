"""House cards of the first edition (section 15 of its book, HC)."""

from __future__ import annotations

from domain.thrones.language import facts as f
from domain.thrones.language.pieces import AreaId, HouseId
from domain.thrones.language.state import Combat
from domain.thrones.rules.combat.cards.vocabulary import (
    Applies,
    Asks,
    CardText,
    DoublesDefense,
    RaisesUnits,
    ZeroesPrintedStrength,
    ZeroesShipsInSupport,
    always,
    destroy_participating,
    end_if_destroyed,
    has_won,
    is_attacking,
    participating,
    text_in_play,
)
from domain.thrones.rules.game import Game

JAIMES_POWER = 2
MELISANDRES_PRICE = 1
FOOTMEN = ("footman", "routed-footman")


def used_cards(game: Game, combat: Combat, house: HouseId) -> tuple[str, ...]:
    """Luwin: the used pile, on which he does not lie yet himself (1E-HC-7)."""
    pile = game.edition.in_order(game.state.discards[house])
    return ("none", *pile) if pile else ()


def take_back(game: Game, combat: Combat, house: HouseId, word: str) -> None:
    if word != "none":
        game.emit(f.CardsTaken(house=house, cards=(word,)), "1E-HC-7")


def gain_two_power(game: Game, combat: Combat, house: HouseId) -> None:
    game.gain_power(house, JAIMES_POWER, "1E-HC-3")


def orders_of_loser(game: Game, combat: Combat, house: HouseId) -> tuple[AreaId, ...]:
    """Cersei: every order of the loser, those that the battle removes anyway included (1E-HC-10)."""
    loser = combat.opponent(house)
    return tuple(area for area, placed in sorted(game.state.orders.items()) if placed.house == loser)


def remove_order_of_loser(game: Game, combat: Combat, house: HouseId, word: str) -> None:
    _remove_order(game, house, word, "1E-HC-10")


def orders_beside(game: Game, combat: Combat, house: HouseId) -> tuple[str, ...]:
    """Asha: Support and Consolidate Power of other Houses in the land and sea areas next to the battle (1E-HC-9)."""
    areas = tuple(
        area
        for area in game.board.neighbours[combat.area]
        if (token := game.token(area))
        and token.type in ("support", "consolidate")
        and game.state.orders[area].house != house
        and not game.board.is_port(area)
    )
    return ("none", *areas) if areas else ()


def remove_order_beside(game: Game, combat: Combat, house: HouseId, word: str) -> None:
    if word != "none":
        _remove_order(game, house, word, "1E-HC-9")


def cards_to_burn(game: Game, combat: Combat, house: HouseId) -> tuple[str, ...]:
    """Melisandre: the loser's hand, if she can be paid; the card just played is not in it (1E-HC-8)."""
    hand = game.edition.in_order(game.state.hands[combat.opponent(house)])
    return ("none", *hand) if hand and game.state.power[house] >= MELISANDRES_PRICE else ()


def burn_card(game: Game, combat: Combat, house: HouseId, word: str) -> None:
    from domain.thrones.rules.combat.hands import refill

    if word == "none":
        return
    loser = combat.opponent(house)
    game.lose_power(house, MELISANDRES_PRICE, "1E-HC-8")
    game.emit(f.CardsDiscarded(house=loser, cards=(word,)), "1E-HC-8")
    refill(game, loser, (word,), "1E-USED-3")


def footmen_that_fought(game: Game, combat: Combat, house: HouseId) -> tuple[str, ...]:
    """Renly: one word per Footman of the battle that may become a Knight, as "area unit"; supporters do not fight."""
    units = participating(game, combat, house)
    footmen = tuple(f"{combat.area} {unit}" for unit in FOOTMEN if units.get(unit))
    return ("none", *footmen) if footmen and game.reserve(house)["knight"] else ()


def knight_footman(game: Game, combat: Combat, house: HouseId, word: str) -> None:
    if word == "none":
        return
    area, unit = word.split(" ")
    new = unit.replace("footman", "knight")
    marching = house == combat.attacker
    game.emit(f.UnitReplaced(house=house, area=area, old=unit, new=new, marching=marching), "1E-HC-3", "1E-LIM-1")


def footmen_of_opponent(game: Game, combat: Combat, house: HouseId) -> tuple[str, ...]:
    """Loras: a Footman of the opponent in the battle, routed or not."""
    units = participating(game, combat, combat.opponent(house))
    return tuple(unit for unit in FOOTMEN if units.get(unit))


def destroy_footman(game: Game, combat: Combat, house: HouseId, word: str) -> None:
    opponent = combat.opponent(house)
    destroy_participating(game, combat, opponent, {word: 1}, "1E-HC-2", "1E-HC-4")
    end_if_destroyed(game, combat, opponent, "1E-HC-2")


def attacks_a_defense(game: Game, combat: Combat, house: HouseId) -> bool:
    """Brienne: the opponent has a Defense order in the embattled area."""
    token = game.token(combat.area)
    return combat.attacker == house and token is not None and token.type == "defense"


def discard_defense(game: Game, combat: Combat, house: HouseId) -> None:
    _remove_order(game, house, combat.area, "1E-HC-2")


def _remove_order(game: Game, by: HouseId, area: AreaId, *rules: str) -> None:
    placed = game.state.orders[area]
    game.emit(f.OrderRemoved(house=placed.house, area=area, order=placed.token, by=by), *rules)


def has_an_opposing_text(game: Game, combat: Combat, house: HouseId) -> bool:
    """Queen of Thorns: there is an ability to cancel."""
    text = text_in_play(game, combat, combat.opponent(house))
    return text is not None and bool(text.effects)


def cancel_text(game: Game, combat: Combat, house: HouseId) -> None:
    opponent = combat.opponent(house)
    cancelled = f.AbilityCancelled(house=opponent, card=combat.cards[opponent])
    game.emit(cancelled, "1E-HC-6", "1E-HC-3")


CARDS = (
    # Stark
    CardText("eddard-stark", "1E-HC-1"),
    CardText("robb-stark", "1E-HC-5", (RaisesUnits("knight", is_attacking, in_support=False),)),
    CardText("greatjon-umber", "1E-HC-1"),
    CardText("house-mormont-lord", "1E-HC-1"),
    CardText("ser-rodrick-cassel", "1E-HC-1"),
    CardText("catelyn-stark", "1E-HC-2", (DoublesDefense(),)),
    CardText(
        "maester-luwin",
        "1E-HC-7",
        (Asks("win-or-lose", "luwin-retrieve", has_won, used_cards, take_back, default="none"),),
    ),
    # Lannister
    CardText("tywin-lannister", "1E-HC-1"),
    CardText("ser-jaime-lannister", "1E-HC-3", (Applies("win-or-lose", has_won, gain_two_power),)),
    CardText("tyrion-lannister", "1E-HC-1"),
    CardText("kevan-lannister", "1E-HC-1"),
    CardText("house-lannister-captain", "1E-HC-1"),
    CardText("vargo-hoat", "1E-HC-5", (RaisesUnits("footman", is_attacking, in_support=False),)),
    CardText(
        "cersei-lannister",
        "1E-HC-10",
        (Asks("win-or-lose", "cersei-order", has_won, orders_of_loser, remove_order_of_loser),),
    ),
    # Baratheon
    CardText("stannis-baratheon", "1E-HC-1"),
    CardText(
        "renly-baratheon",
        "1E-HC-3",
        (Asks("win-or-lose", "renly-upgrade", has_won, footmen_that_fought, knight_footman, default="none"),),
    ),
    CardText("ser-davos-seaworth", "1E-HC-1"),
    CardText("ser-axell-florent", "1E-HC-1"),
    CardText("house-florent-lord", "1E-HC-1"),
    CardText("salladhor-saan", "1E-HC-4", (ZeroesShipsInSupport(),)),
    CardText(
        "melisandre-of-asshai",
        "1E-HC-8",
        (Asks("win-or-lose", "melisandre-discard", has_won, cards_to_burn, burn_card, default="none"),),
    ),
    # Greyjoy
    CardText("euron-crows-eye", "1E-HC-1"),
    CardText(
        "asha-greyjoy",
        "1E-HC-9",
        (Asks("win-or-lose", "asha-order", has_won, orders_beside, remove_order_beside, default="none"),),
    ),
    CardText("theon-greyjoy", "1E-HC-1"),
    CardText("aeron-damphair", "1E-HC-1"),
    CardText("house-blacktyde-captain", "1E-HC-1"),
    CardText("victarion-greyjoy", "1E-HC-5", (RaisesUnits("ship", is_attacking, in_support=False),)),
    CardText("balon-greyjoy", "1E-HC-4", (ZeroesPrintedStrength(),)),
    # Tyrell
    CardText("mace-tyrell", "1E-HC-1"),
    CardText(
        "ser-loras-tyrell",
        "1E-HC-4",
        (Asks("immediately", "loras-footman", always, footmen_of_opponent, destroy_footman),),
    ),
    CardText("ser-garlan-tyrell", "1E-HC-1"),
    CardText("house-tyrell-captain", "1E-HC-1"),
    CardText("margaery-tyrell", "1E-HC-1"),
    CardText("brienne-of-tarth", "1E-HC-2", (Applies("immediately", attacks_a_defense, discard_defense),)),
    CardText("queen-of-thorns", "1E-HC-6", (Applies("cancel", has_an_opposing_text, cancel_text),)),
)
