"""Call for support: step 1 of a combat (section 18.2), and the same against neutral forces (2E-NEU-5)."""

from __future__ import annotations

from typing import ClassVar

from domain.kernel.procedure import Done, Next, Procedure, Wait
from domain.thrones.language import facts as f
from domain.thrones.language.answers import AcceptSupport, Support, Supported
from domain.thrones.language.pieces import AreaId, HouseId
from domain.thrones.language.state import Combat, Side
from domain.thrones.rules.choices import PerOrder, YesNo
from domain.thrones.rules.game import Game, decision


def eligible_orders(game: Game, target: AreaId) -> dict[HouseId, tuple[AreaId, ...]]:
    """Support orders that may support in ``target``, by House (2E-CBT-4 to 2E-CBT-7).

    Into land from land and sea; into a sea area from sea areas and ports on it. Transport does not count.
    """
    kinds = ("land", "sea") if game.board.is_land(target) else ("sea", "port")
    found: dict[HouseId, tuple[AreaId, ...]] = {}
    for area in game.board.neighbours[target]:
        token = game.token(area)
        if token and token.type == "support" and game.board[area].kind in kinds:
            house = game.state.orders[area].house
            found[house] = (*found.get(house, ()), area)
    return found


def _eligibility_rule(game: Game, target: AreaId) -> str:
    return "2E-CBT-5" if game.board.is_land(target) else "2E-CBT-6"


def _words(combat: Combat, house: HouseId) -> tuple[str, ...]:
    """Combatants support only themselves (2E-CBT-10)."""
    side = combat.side_of(house)
    return (side, "withhold") if side else ("attacker", "defender", "withhold")


class CallForSupport(Procedure, frozen=True, tag=True):
    """In turn order each House declares for its eligible orders; offers are answered before the next declares."""

    turns: ClassVar[tuple[str, ...]] = ("begin", "answer_offers")

    declared: tuple[HouseId, ...] = ()

    def begin(self, game: Game) -> Next:
        combat = game.combat
        eligible = eligible_orders(game, combat.area)
        for house in game.turns(self.declared, among=eligible):
            words = _words(combat, house)
            default: Supported = combat.side_of(house) or "withhold"
            answer = Support(house=house, area=combat.area, orders=dict.fromkeys(eligible[house], default))
            at_once = game.readings.combat.support_for_all_orders
            rules = ("2E-CBT-8", "2E-CBT-9", "2E-CBT-10")
            where = _eligibility_rule(game, combat.area)
            which = ("2E-CBT-4", where, "2E-CBT-7")
            options = PerOrder(dict.fromkeys(eligible[house], words), at_once, rules, which)
            cited = ("2E-DP-30", "2E-CBT-4", where, "2E-CBT-7", "2E-CBT-8")
            return Wait(decision(answer, options, *cited, asked_anyway=True), then="declare")
        return Done()

    def declare(self, game: Game, answer: Support) -> Next:
        combat = game.combat
        side = combat.side_of(answer.house)
        for area in sorted(answer.orders):
            word = answer.orders[area]
            chosen: Side | None = None if word == "withhold" else word
            offered = side is None and chosen is not None
            declared = f.SupportDeclared(house=answer.house, area=area, side=chosen, offered=offered)
            who = ("2E-CBT-10",) if side else ("2E-CBT-9", "2E-CBT-12") if offered else ("2E-CBT-9",)
            port = ("2E-PRT-7",) if game.board.is_port(area) else ()
            game.emit(declared, "2E-CBT-8", "2E-CBT-11", *who, *port)
        return self.at("answer_offers", declared=(*self.declared, answer.house))

    def answer_offers(self, game: Game) -> Next:
        """The attacker first, then the defender (2E-CBT-12)."""
        combat = game.combat
        sides: tuple[Side, Side] = ("attacker", "defender")
        for side in sides:
            offers = tuple(sorted(area for area, offered in combat.offers.items() if offered == side))
            if offers:
                answer = AcceptSupport(house=combat.of(side), area=combat.area, orders=dict.fromkeys(offers, True))
                options = YesNo(offers, rules=("2E-CBT-12",))
                return Wait(decision(answer, options, "2E-DP-31", "2E-CBT-12", asked_anyway=True), then="answered")
        return self.at("begin")

    def answered(self, game: Game, answer: AcceptSupport) -> Next:
        for area in sorted(answer.orders):
            house = game.state.orders[area].house
            fact = f.SupportAnswered(house=house, area=area, accepted=answer.orders[area])
            game.emit(fact, "2E-CBT-12", *(("2E-CBT-13", "2E-CBT-14") if answer.orders[area] else ()))
        return self.at("answer_offers")
