"""Order tokens: which of them may be laid, and where (2E-PLN-4 to 2E-PLN-9)."""

from __future__ import annotations

from collections.abc import Iterable

from domain.thrones.language.pieces import HouseId, OrderId, OrderToken
from domain.thrones.rules.game import Game

CARDS_AGAINST = {
    "defense": "2E-WEC-13",
    "march": "2E-WEC-14",
    "raid": "2E-WEC-15",
    "support": "2E-WEC-16",
    "consolidate": "2E-WEC-17",
}
"""The Westeros card that prohibits tokens, by the first word of their ids."""


def card_against(order: OrderId | None) -> tuple[str, ...]:
    """The rule of the card by which a token is prohibited."""
    rule = CARDS_AGAINST.get((order or "").partition("-")[0])
    return (rule,) if rule else ()


def is_prohibited(game: Game, token: OrderToken) -> bool:
    """Whether a card forbids assigning this token (2E-PLN-6): its type, or March +1 alone (2E-WEC-14)."""
    prohibited = game.state.prohibited
    return token.type in prohibited or (token.id == "march-plus-1" and "march-plus-1" in prohibited)


def legal_tokens(game: Game) -> dict[OrderId, bool]:
    """Tokens that may be assigned, in canonical order, and whether they have a star."""
    return {token.id: token.star for token in game.edition.tokens.values() if not is_prohibited(game, token)}


def prohibited_tokens(game: Game) -> tuple[OrderId, ...]:
    """Tokens that a card forbids."""
    return tuple(token.id for token in game.edition.tokens.values() if is_prohibited(game, token))


def token_limit(game: Game, house: HouseId) -> int:
    """The number m of 2E-PLN-9: how many legal tokens a House can lay at most."""
    tokens = legal_tokens(game)
    plain = sum(not star for star in tokens.values())
    return plain + min(game.stars(house), len(tokens) - plain)


def tokens_on_land_only(game: Game) -> tuple[OrderId, ...]:
    """Tokens that may not lie at sea (1E-ORD-6)."""
    kinds = game.readings.planning.land_only
    return tuple(token.id for token in game.edition.tokens.values() if token.type in kinds)


def tokens_cited(game: Game, tokens: Iterable[OrderId]) -> tuple[str, ...]:
    """The entries of the kinds of token that are laid, in a book that has one for each."""
    kinds = {game.edition.tokens[token].type for token in tokens}
    return tuple(rule for kind, rule in game.readings.planning.entries.items() if kind in kinds)
