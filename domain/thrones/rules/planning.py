"""The planning phase (section 12): orders assigned, revealed, and the Messenger Raven."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec.structs import replace

from domain.kernel.decision import Decision
from domain.kernel.procedure import Collect, Done, Next, Procedure, Wait
from domain.kernel.refusal import Refusal
from domain.thrones.language import facts as f
from domain.thrones.language.answers import AssignOrders, Raven, RavenCard
from domain.thrones.language.pieces import RAVEN, AreaId, HouseId, OrderId, OrderToken
from domain.thrones.rules.game import Game, decision
from domain.thrones.rules.options import Assignments, BoundAssignments, BoundReplacements, Replacements, Words


def is_prohibited(game: Game, token: OrderToken) -> bool:
    """Whether a card forbids assigning this token (2E-PLN-6): its type, or March +1 alone (2E-WEC-14)."""
    prohibited = game.state.prohibited
    return token.type in prohibited or (token.id == "march-plus-1" and "march-plus-1" in prohibited)


def legal_tokens(game: Game) -> dict[OrderId, bool]:
    """Tokens that may be assigned, in canonical order, and whether they have a star."""
    return {token.id: token.star for token in game.edition.tokens.values() if not is_prohibited(game, token)}


def token_limit(game: Game, house: HouseId) -> int:
    """The number m of 2E-PLN-9: how many legal tokens a House can lay at most."""
    tokens = legal_tokens(game)
    plain = sum(not star for star in tokens.values())
    return plain + min(game.stars(house), len(tokens) - plain)


def assignments(game: Game, house: HouseId) -> Assignments:
    """Every legal assignment of a House (2E-PLN-2 to 2E-PLN-12)."""
    areas = game.state.areas_of(house)
    prohibited = tuple(token.id for token in game.edition.tokens.values() if is_prohibited(game, token))
    plain = Assignments(
        areas=areas,
        required=min(len(areas), token_limit(game, house)),
        tokens=legal_tokens(game),
        prohibited=prohibited,
        stars=game.stars(house),
    )
    land_only = tokens_on_land_only(game)
    may_leave_empty = game.readings.planning.may_leave_empty
    if not may_leave_empty and not land_only:
        return plain
    bound = BoundAssignments(
        **msgspec.structs.asdict(plain),
        land=tuple(area for area in areas if game.board.is_land(area)),
        land_only=land_only,
    )
    able = len(bound.complete(list(bound.areas), list(bound.tokens)))
    return replace(bound, required=able, least=0 if may_leave_empty else able)


def tokens_on_land_only(game: Game) -> tuple[OrderId, ...]:
    """Tokens that may not lie at sea (1E-ORD-6)."""
    kinds = game.readings.planning.land_only
    return tuple(token.id for token in game.edition.tokens.values() if token.type in kinds)


def tokens_cited(game: Game, tokens: Iterable[OrderId]) -> tuple[str, ...]:
    """The entries of the kinds of token that are laid, in a book that has one for each."""
    kinds = {game.edition.tokens[token].type for token in tokens}
    return tuple(rule for kind, rule in game.readings.planning.entries.items() if kind in kinds)


def areas_and_tokens(game: Game) -> list[tuple[HouseId, int, int]]:
    """How many areas each House could give orders in, and how many tokens it can lay (2E-PLN-9)."""
    return [(house, len(game.state.areas_of(house)), token_limit(game, house)) for house in game.houses]


def default_orders(game: Game, house: HouseId, options: Assignments) -> dict[AreaId, OrderId]:
    """2E-DP-42: what was kept, then the first legal unused token for each area in canonical order."""
    kept = game.state.hidden.drafts.get(house)
    orders: dict[AreaId, OrderId] = dict(kept.orders) if kept is not None and fits(options, kept) else {}
    stars = options.stars - sum(options.tokens[token] for token in orders.values())
    plain = [token for token, star in options.tokens.items() if not star]
    special = [token for token, star in options.tokens.items() if star]
    left = [token for token in (*plain, *special) if token not in orders.values()]
    if isinstance(options, BoundAssignments):
        return _default_bound(options, orders, left)
    for area in options.areas:
        if area in orders or len(orders) == options.required:
            continue
        token = next(one for one in left if stars or not options.tokens[one])
        left.remove(token)
        stars -= options.tokens[token]
        orders[area] = token
    return orders


def _default_bound(
    options: BoundAssignments, kept: dict[AreaId, OrderId], left: list[OrderId]
) -> dict[AreaId, OrderId]:
    """The same where not every token may lie everywhere: what was kept goes on only if the rest still can."""
    open_areas = [area for area in options.areas if area not in kept]
    stars = options.stars - sum(options.tokens[token] for token in kept.values())
    rest = replace(options, stars=stars)
    orders = {**kept, **rest.fill(open_areas, left, options.required - len(kept))}
    if len(orders) < options.least:
        orders = options.complete(list(options.areas), list(options.tokens))
    return dict(sorted(orders.items()))


def fits(options: Assignments, draft: AssignOrders) -> bool:
    """Whether a draft is still legal as far as it goes; a correction may have changed that."""
    try:
        options.check_draft(draft)
    except Refusal:
        return False
    return True


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
        laid = sorted(placed.token for placed in game.state.orders.values() if placed.house == holder)
        prohibited = tuple(token.id for token in game.edition.tokens.values() if is_prohibited(game, token))
        may_look, on_land = game.readings.planning.raven_looks, tokens_on_land_only(game)
        options = Replacements(replacements(game, holder), tuple(laid), prohibited)
        if not may_look or on_land:
            at_sea = tuple(area for area, placed in sorted(game.state.orders.items()) if placed.house == holder)
            options = BoundReplacements(
                **msgspec.structs.asdict(options),
                look=may_look,
                sea=tuple(area for area in at_sea if not game.board.is_land(area)),
                land_only=on_land,
            )
        rules = ("2E-DP-22", "2E-RVN-1", "2E-RVN-2")
        return Wait(decision(answer, options, *rules, asked_anyway=may_look), then="raven_used")

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


def replacements(game: Game, holder: HouseId) -> dict[AreaId, tuple[OrderId, ...]]:
    """Unused tokens that may replace each of the holder's orders (2E-RVN-2)."""
    own = {area: placed.token for area, placed in sorted(game.state.orders.items()) if placed.house == holder}
    stars = sum(game.edition.tokens[token].star for token in own.values())
    found: dict[AreaId, tuple[OrderId, ...]] = {}
    on_land = tokens_on_land_only(game)
    for area, old in own.items():
        room = game.stars(holder) - stars + game.edition.tokens[old].star
        tokens = legal_tokens(game)
        found[area] = tuple(
            token
            for token, star in tokens.items()
            if token not in own.values()
            and (not star or room > 0)
            and (token not in on_land or game.board.is_land(area))
        )
    return {area: tokens for area, tokens in found.items() if tokens}
