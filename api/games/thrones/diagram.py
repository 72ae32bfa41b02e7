"""A position as text: the board, the tracks, hands, and what is awaited."""

from __future__ import annotations

from api.games.thrones.sentences import Prose, part_in_words
from domain.kernel.docket import Struck
from domain.kernel.printing import one_line, printable
from domain.thrones.language.pieces import TOKEN_OF_TRACK, TRACKS, AreaId
from domain.thrones.language.state import Standing, State
from domain.thrones.language.view import View
from domain.thrones.notation import format_answer, short_order
from domain.thrones.rules.game import Game
from domain.thrones.tables.edition import Edition

SECTIONS = (("land", "Land"), ("sea", "Sea"), ("port", "Ports"))


def board(game: Game, view: View) -> str:
    """Areas, units, orders as far as this viewer may see them, tracks, hands and what is awaited."""
    state, prose = view.position, Prose(game.edition)
    parts = [_title(state, prose)]
    for kind, title in SECTIONS:
        rows = [_area(game, state, prose, area) for area in game.board.areas if game.board[area].kind == kind]
        shown = [row for row in rows if row]
        if shown:
            parts.append(f"{title}\n" + "\n".join(shown))
    parts.append(_tracks(state, prose, game.edition))
    parts.append(_houses(game, state, prose))
    parts.append(_awaited(state, prose, view))
    parts.append(_docket(state, prose))
    return printable("\n\n".join(part for part in parts if part))


def not_begun(state: State) -> str:
    """What there is to say of a game without a board: also whom a seed that is made together waits for."""
    joint = state.docket.joint
    if joint is None:
        return "The game has not begun."
    missing = [seat for seat in joint.seats if seat not in joint.commitments]
    what = "is bound to its part of the seed"
    if joint.closed:
        missing = sorted({*joint.commitments} - {*joint.shares, *joint.withheld})
        what = "has opened its part of the seed"
    return f"The game has not begun. It waits until everybody {what}; missing: {', '.join(missing) or 'nobody'}."


def _title(state: State, prose: Prose) -> str:
    origin = state.docket.origin
    fork = f"A fork of {origin.game} at entry {origin.version}: {one_line(origin.purpose)}.\n" if origin else ""
    if state.winner:
        return f"{fork}Round {state.round}. {prose.name(state.winner)} has won."
    if state.is_over:
        return f"{fork}Round {state.round}. A draw."
    step = prose.name(state.step)
    return f"{fork}Round {state.round}, {state.phase} phase: {step}. Wildling threat {state.threat}."


def _area(game: Game, state: State, prose: Prose, area: AreaId) -> str:
    """One line for an area in which something is."""
    force = state.units.get(area)
    words = [f"{prose.name(force.house)}: {prose.units(force.units)}"] if force else []
    order = state.orders.get(area)
    if order:
        words.append(f"order {short_order(order.token)}")
    if area in state.face_down:
        words.append("an order face down")
    if area in state.power_tokens:
        words.append(f"{prose.name(state.power_tokens[area])} Power token")
    if area in state.garrisons:
        words.append(f"garrison {state.garrisons[area]}")
    if area in state.neutral:
        neutral = state.neutral[area]
        words.append("impassable" if neutral == "impassable" else f"neutral force {neutral}")
    if not words:
        return ""
    marks = "*" * game.board[area].castle
    return f"  {game.board[area].name + marks:<28} {', '.join(words)}"


def _tracks(state: State, prose: Prose, edition: Edition) -> str:
    rows = []
    for track in TRACKS:
        order = state.tracks.get(track, ())
        token = TOKEN_OF_TRACK[track]
        holder = state.tokens.get(token)
        used = " (used)" if token in state.used else ""
        names = " > ".join(prose.name(house) for house in order) or "being bid for"
        rows.append(f"  {track:<12} {names}   [{token}: {prose.name(holder)}{used}]")
    if state.tracks.get("kings-court"):
        stars = edition.players(len(state.houses)).stars
        shown = zip(state.tracks["kings-court"], stars, strict=False)
        rows.append("  special orders: " + ", ".join(f"{prose.name(house)} {number}" for house, number in shown))
    return "Influence\n" + "\n".join(rows)


def _houses(game: Game, state: State, prose: Prose) -> str:
    rows = [f"  {'House':<10} {game.readings.victory.heading:>7} supply power pool  hand / discarded"]
    for house in state.turn_order if state.tracks.get("iron-throne") else state.houses:
        hand = ", ".join(prose.name(card) for card in game.edition.in_order(state.hands.get(house, ())))
        pile = ", ".join(prose.name(card) for card in state.discards.get(house, ()))
        rows.append(
            f"  {prose.name(house):<10} {state.victory.get(house, 0):>7} {state.supply.get(house, 0):>6}"
            f" {state.power.get(house, 0):>5} {game.pool(house):>4}  {hand or '-'} / {pile or '-'}"
        )
    return "Houses\n" + "\n".join(rows)


def _docket(state: State, prose: Prose) -> str:
    """What the arbiter has taken back, and what lies before him."""
    rows = [f"  struck out: {_range(one)}, by entry {one.by}" for one in state.docket.struck_now]
    rows += [
        f"  the correction of entry {one.entry} could not be made again; the arbiter decides"
        for one in state.docket.undecided
    ]
    rows += [
        f"  appeal {one.number} of {prose.name(one.player)} against entry {one.against} is open"
        + ("" if one.stops else ", and holds nothing up")
        for one in state.docket.open_appeals
    ]
    for doubt in state.docket.doubts:
        parts = "everything" if doubt.everything else ", ".join(part_in_words(prose, name) for name in doubt.names)
        rows.append(f"    it leaves in doubt: {parts or 'nothing that is asked about'}")
    return "\n".join(["Arbiter", *rows]) if rows else ""


def _range(one: Struck) -> str:
    return f"entry {one.first}" if one.first == one.last else f"entries {one.first} to {one.last}"


def _ranked_by(one: Standing, state: State, prose: Prose) -> tuple[str, ...]:
    """What the tie-break of this table counts, in its order."""
    castles, throne = prose.castles(one.castles), f"Iron Throne {one.iron_throne}"
    supply, power = f"supply {one.supply}", f"Power {one.power}"
    match state.charter.switches.tiebreak:
        case "first-edition":
            return castles, supply, power
        case "printed":
            return castles, f"Strongholds {one.strongholds}", supply, power, throne
    lands = f"{one.land_areas} land area{'' if one.land_areas == 1 else 's'}"
    return castles, lands, supply, throne


def _awaited(state: State, prose: Prose, view: View) -> str:
    if state.is_over:
        table = "\n".join(
            f"  {place}. {prose.name(one.house):<10} {', '.join(_ranked_by(one, state, prose))}"
            for place, one in enumerate(state.ranking, start=1)
        )
        return f"Standings\n{table}"
    rows = [f"  {prose.name(one.player)}: {one.kind}" for one in state.awaited]
    own = []
    if view.own.answer is not None:
        answer = format_answer(view.own.answer)
        own.append(f"  your answer is in, and can be replaced until the last one is: {answer} #{state.question}")
    if view.own.seen is not None:
        own.append(f"  you have seen {prose.name(view.own.seen)} on top of the wildling deck")
    if view.own.tides is not None:
        own.append(f"  you have drawn {prose.name(view.own.tides)}")
    return "\n".join([f"Awaited (question {state.question})", *rows, *own])
