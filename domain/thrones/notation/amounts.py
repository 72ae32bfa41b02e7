"""Reading bids, ties and numbers of Ships."""

from __future__ import annotations

from typing import Any

from domain.thrones.language import answers as c
from domain.thrones.notation import vocabulary as v
from domain.thrones.notation.reader import (
    Reader,
    asked,
    number,
    words_only,
)
from domain.thrones.notation.scan import Span
from domain.thrones.notation.words import NotationError, compact


def influence_bid(reader: Reader, body: Span) -> c.HouseAnswer:
    bid, rest = _bid(body, "influence-bid")
    question = reader.question(c.InfluenceBid)
    if not rest and question is None:
        raise asked("influence-bid", body.column)
    return c.InfluenceBid(house=reader.house, track=reader.track(rest) if rest else question.track, bid=bid)


def wildling_bid(reader: Reader, body: Span) -> c.HouseAnswer:
    bid, rest = _bid(body, "wildling-bid")
    if rest and words_only(rest, v.USAGE["wildling-bid"]).key not in v.WILDLINGS:
        raise NotationError(f'"{rest.text}" means nothing here', rest.column, expected=f'"{v.USAGE["wildling-bid"]}"')
    return c.WildlingBid(house=reader.house, bid=bid)


def _bid(body: Span, kind: str) -> tuple[int, Span]:
    """The number in a bid and the words around it: ``fiefdoms 3``, ``3 power on the fiefdoms``."""
    tokens = tuple(
        token
        for token in body.tokens
        if token.mark != ":" and token.text.casefold() not in ("power", "tokens", "token")
    )
    plain = Span(tokens, body.column)
    numbers = [
        i for i, token in enumerate(tokens)
        if token.text.casefold() in v.NUMBERS or compact(token.text) in ("nothing", "none") or token.text[:1].isdigit()
        or token.text[:1] in "+-"
    ]  # fmt: skip
    if len(numbers) != 1:
        problem = "the number is missing" if not numbers else "there is more than one number"
        raise NotationError(problem, body.column, expected=f'"{v.USAGE[kind]}"')
    at = numbers[0]
    bid = 0 if compact(tokens[at].text) in ("nothing", "none") else number(plain.part(at, at + 1))
    rest = tokens[:at] + tokens[at + 1 :]
    return bid, Span(rest, rest[0].column if rest else body.column)


def any_bid(reader: Reader, body: Span) -> c.HouseAnswer:
    """``bid``: for a track, or against the wildlings."""
    _, rest = _bid(body, "influence-bid")
    if rest:
        return (wildling_bid if words_only(rest, "a track").key in v.WILDLINGS else influence_bid)(reader, body)
    both = [kind for kind in ("influence-bid", "wildling-bid") if reader.decision(kind)]
    if len(both) == 1:
        return (influence_bid if both[0] == "influence-bid" else wildling_bid)(reader, body)
    raise NotationError(
        "this does not say what is bid for",
        body.column,
        expected=f'"{v.USAGE["influence-bid"]}" or "{v.USAGE["wildling-bid"]}"',
    )


def influence_tie(reader: Reader, body: Span) -> c.HouseAnswer:
    question = reader.question(c.InfluenceTie)
    if cut := body.cut(":"):
        track, rest = reader.track(cut[0]), cut[1]
    else:
        track, rest = _track_first(reader, body, question)
    if rest.key in v.NONE:
        return c.InfluenceTie(house=reader.house, track=track, groups=())
    groups = tuple(tuple(reader.other_house(name) for name in group.split(",", ">")) for group in rest.split(";"))
    if not groups:
        raise NotationError("the Houses are missing", rest.column, expected=f'"{v.USAGE["influence-tie"]}"')
    return c.InfluenceTie(house=reader.house, track=track, groups=groups)


def _track_first(reader: Reader, body: Span, question: Any) -> tuple[str, Span]:
    for index in range(min(3, len(body)), 0, -1):
        if reader.lexicon.tracks.find(body.part(0, index).text):
            return reader.track(body.part(0, index)), body.part(index)
    if question is None:
        raise asked("influence-tie", body.column)
    return str(question.track), body


def any_tie(reader: Reader, body: Span) -> c.HouseAnswer:
    """``tie``: of a track, or of the wildlings' highest or lowest bidders."""
    for index in range(min(2, len(body)), 0, -1):
        if body.part(0, index).key in v.WILDLINGS:
            return _wildling_tie(reader, body.part(index).without_lead(":"))
    wildlings = reader.decision("wildling-tie") is not None and reader.decision("influence-tie") is None
    return (_wildling_tie if wildlings and not body.cut(":") else influence_tie)(reader, body)


def _wildling_tie(reader: Reader, body: Span) -> c.HouseAnswer:
    return c.WildlingTie(house=reader.house, choice=reader.other_house(body))


def capture(reader: Reader, body: Span) -> c.HouseAnswer:
    tokens = tuple(token for token in body.tokens if token.mark != ":" and compact(token.text) not in ("ship", "ships"))
    body = Span(tokens, body.column)
    question = reader.question(c.CaptureShips)
    if len(body) == 1 and question is not None:
        return c.CaptureShips(house=reader.house, port=question.port, ships=_ships(body))
    if len(body) < 2:
        raise asked("capture-ships", body.column)
    port, ships = reader.pair(body, reader.area, _ships, v.USAGE["capture-ships"])
    return c.CaptureShips(house=reader.house, port=port, ships=ships)


def _ships(span: Span) -> int:
    return 0 if span.key in ("none", "nothing") else number(span, "a number of Ships")
