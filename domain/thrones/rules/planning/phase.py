"""The planning phase (section 12): orders assigned, revealed, and the Messenger Raven."""

from __future__ import annotations

from typing import Any

from domain.kernel.decision import Decision
from domain.kernel.procedure import Collect, Done, Next, Procedure, Wait
from domain.thrones.language import facts as f
from domain.thrones.language.answers import AssignOrders, Raven, RavenCard
from domain.thrones.language.pieces import RAVEN, HouseId
from domain.thrones.rules.choices import Words
from domain.thrones.rules.game import Game, decision
from domain.thrones.rules.planning.assignment import areas_and_tokens, assignments, default_orders
from domain.thrones.rules.planning.raven import raven_options
from domain.thrones.rules.planning.tokens import tokens_cited, tokens_on_land_only


class PlanningPhase(Procedure, frozen=True, tag=True):
    """Assign orders, reveal them, the raven (2E-PLN-1)."""

    in_turn: bool = False

    def begin(self, game: Game) -> Next:
        game.emit(f.StepBegan(phase="planning", step="assign-orders"), "2E-PLN-1")
        if game.readings.planning.may_leave_empty:
            return self.at("assign")
        short = game.recount(areas_and_tokens)
        for house, areas, tokens in short:
            if areas > tokens:
                shortage = f.ShortageFound(house=house, areas=areas, tokens=tokens)
                game.emit(shortage, "2E-PLN-9", "2E-PLN-10", "2E-LIM-4")
        return self.at("assign", in_turn=any(areas > tokens for _, areas, tokens in short))

    def assign(self, game: Game) -> Next:
        """Simultaneously, or in turn when a House is short of tokens (2E-PLN-3, 2E-PLN-10)."""
        questions: list[Decision[Any]] = []
        for house in game.houses:
            options = assignments(game, house)
            if not options.areas:
                continue
            answer = AssignOrders(house=house, orders=default_orders(game, house, options))
            rules = ["2E-DP-21", "2E-PLN-2", "2E-PLN-4", "2E-PLN-5", "2E-PLN-7", "2E-ORD-6"]
            rules += ["2E-PLN-10", "2E-PLN-11"] if self.in_turn else ["2E-PLN-3", "2E-GEN-15"]
            rules += ["2E-PLN-6"] if options.prohibited else []
            rules += game.readings.planning.may_leave_empty
            rules += game.readings.planning.land_only_rules if tokens_on_land_only(game) else ()
            rules += ["2E-PRT-4"] if any(game.board.is_port(area) for area in options.areas) else []
            rules += ["2E-DP-42"]
            questions.append(decision(answer, options, *rules, asked_anyway=True))
        return Collect(tuple(questions), then="reveal", in_turn=self.in_turn)

    def sealed(self, game: Game, answer: AssignOrders) -> None:
        """Later Houses see in which areas tokens lie (2E-PLN-10)."""
        game.emit(f.TokensLaid(house=answer.house, areas=tuple(sorted(answer.orders))), "2E-PLN-10")

    def reveal(self, game: Game, answers: dict[HouseId, AssignOrders]) -> Next:
        game.emit(f.StepBegan(phase="planning", step="reveal-orders"), "2E-PLN-1")
        orders = {house: answers[house].orders for house in game.houses if house in answers}
        first = tokens_cited(game, (token for laid in orders.values() for token in laid.values()))
        game.emit(f.OrdersRevealed(orders=orders), "2E-PLN-13", "2E-PLN-8", "2E-ORD-1", "2E-ORD-2", *first)
        game.emit(f.StepBegan(phase="planning", step="messenger-raven"), "2E-PLN-1", "2E-RVN-1")
        return self.at("raven")

    def raven(self, game: Game) -> Next:
        """2E-DP-22: the holder replaces one of his orders, looks at the top wildling card, or neither.

        Where there is nothing to look at, and no token may replace another, there is nothing to ask (2E-GEN-14).
        """
        holder = game.state.tokens[RAVEN]
        if not game.state.is_unused(RAVEN):
            return self.at("lift")
        answer = Raven(house=holder, choice="nothing")
        may_look = game.readings.planning.raven_looks
        question = decision(
            answer, raven_options(game, holder), "2E-DP-22", "2E-RVN-1", "2E-RVN-2", asked_anyway=may_look
        )
        return Wait(question, then="raven_used")

    def raven_used(self, game: Game, answer: Raven) -> Next:
        if answer.choice == "nothing":
            return self.at("lift")
        game.emit(f.TokenUsed(token=RAVEN, house=answer.house), "2E-RVN-4")
        if answer.choice == "look":
            card = game.state.hidden.decks["wildling"][0]
            game.emit(f.WildlingCardSeen(house=answer.house, card=card), "2E-RVN-3", "2E-HID-1")
            return self.at("raven_card")
        assert answer.area is not None and answer.order is not None
        old = game.state.orders[answer.area].token
        replaced = f.OrderReplaced(house=answer.house, area=answer.area, old=old, new=answer.order)
        game.emit(replaced, "2E-RVN-2", "2E-RVN-5")
        return self.at("lift")

    def raven_card(self, game: Game) -> Next:
        """2E-DP-23: back on top, or under the deck; which of them is public (2E-RVN-5)."""
        answer = RavenCard(house=game.state.tokens[RAVEN], choice="top")
        options = Words(("top", "bottom"), ("2E-RVN-3",))
        question = decision(answer, options, "2E-DP-23", "2E-RVN-3", "2E-RVN-5", asked_anyway=True)
        return Wait(question, then="raven_card_returned")

    def raven_card_returned(self, game: Game, answer: RavenCard) -> Next:
        game.emit(f.WildlingCardReturned(to=answer.choice), "2E-RVN-3", "2E-RVN-5")  # type: ignore[arg-type]  # the options have checked the word
        return self.at("lift")

    def lift(self, game: Game) -> Next:
        """Prohibitions end with the planning phase (2E-WES-7); by the first edition's cards with the round."""
        if game.state.prohibited and game.readings.westeros.prohibitions_last == "planning":
            game.emit(f.ProhibitionsLifted(), "2E-WES-7")
        return Done()
