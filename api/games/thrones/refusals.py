"""Refusals in English: what was wrong, and what would be allowed instead. For letters, errors and logs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from api.games.thrones.sentences import OUTCOMES, Prose, counted_word, part_in_words
from domain.kernel.printing import one_line
from domain.thrones.language.facts import STATABLE
from domain.thrones.notation import short_order
from domain.thrones.tables.variations import NAMED

Params = Mapping[str, Any]


def explain(code: str, params: Params, prose: Prose) -> str:
    """A refusal as a sentence or two for each thing that is wrong, without its rules.

    Unknown codes are told as they are.
    """
    also = params.get("also", ())
    first = _explain(code, {key: value for key, value in params.items() if key != "also"}, prose)
    return one_line(" ".join([first, *(_explain(str(other["code"]), other, prose) for other in also)]))


def _explain(code: str, params: Params, prose: Prose) -> str:
    write = SENTENCES.get(code)
    try:
        if write is not None:
            return write(prose, params)
    except (KeyError, TypeError, AttributeError):
        pass  # recorded by another version, with other params
    told = ", ".join(f"{key}: {_plain(value)}" for key, value in params.items())
    return f"{code.replace('-', ' ').capitalize()}{f' ({told})' if told else ''}."


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_plain(one)}" for key, one in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value)) or "none"
    return str(value)


def _tokens(tokens: Iterable[str]) -> str:
    """Order tokens as letters name them, twins once."""
    return ", ".join(dict.fromkeys(map(short_order, tokens))) or "none"


def _or(words: Iterable[str]) -> str:
    """``a, b or c``."""
    listed = list(words)
    return " or ".join([", ".join(listed[:-1]), listed[-1]] if len(listed) > 1 else listed) or "nothing"


def _areas(p: Prose, areas: Iterable[str]) -> str:
    return _or(p.name(area) for area in areas)


def _armies(p: Prose, x: Params) -> str:
    return _plain(x["limit"]) or "none"


def _available(p: Prose, x: Params) -> str:
    """Units there are, in one place or by area."""
    units = x["available"]
    if units and all(isinstance(value, Mapping) for value in units.values()):
        return "; ".join(f"{p.name(area)}: {p.units(force)}" for area, force in units.items())
    return p.units(units)


def _wrong_number(p: Prose, x: Params) -> str:
    if "replace" in x:
        return f"{x['replace']} Knights are to be replaced and {x['destroy']} destroyed."
    wanted = x["required"] if "required" in x else f"{x['least']} to {x['most']}"
    return f"Units chosen: {x['chosen']}; needed: {wanted}."


def _not_an_option(p: Prose, x: Params) -> str:
    if "area" in x:
        return f"That is no answer for {p.name(x['area'])}. Possible: {_or(x['options'])}."
    return f"“{x['choice']}” is no answer here. Possible: {_or(x['options'])}."


def _not_asked(p: Prose, x: Params) -> str:
    return f"Nobody is asked for “{x['kind']}” now. Open: {_or(x['open'])}."


def _seat(p: Prose, x: Params) -> str:
    house = p.name(x["player"]) if x.get("player") else "the organiser or the arbiter"
    who = f"Seat {x['seat']}" if x.get("seat") else "The organiser"
    return f"{who} does not speak for {house}."


def _closed(p: Prose, x: Params) -> str:
    return f"Question {x['question']} is not open; the open one is {x['open']}."


def _another(p: Prose, x: Params) -> str:
    asked = ", ".join(map(p.name, x["open"])) or "nothing in particular"
    return f"The open question is about {asked}, not about {', '.join(map(p.name, x['answered']))}."


def _players(p: Prose, x: Params) -> str:
    allowed = f" It is for {_or(map(str, x['allowed']))}." if "allowed" in x else ""
    cause = f" With {x['switch']} = {x['word']} the home of a House is out of play." if "switch" in x else ""
    return f"The game is not for {x['players']} players.{allowed}{cause}"


def _turn(p: Prose, x: Params) -> str:
    return f"{p.name(x['player'])} is not asked now. Awaited: {p.listed(x['awaited'])}."


def _number(p: Prose, x: Params) -> str:
    return f"{x['number']} is not possible: {x['least']} to {x['most']}."


def _unknown(what: str, field: str) -> Callable[[Prose, Params], str]:
    def write(p: Prose, x: Params) -> str:
        known = f" Known: {_or(x['known'])}." if x.get("known") else ""
        return f"There is no {what} “{_plain(x[field])}”.{known}"

    return write


def _appeal_open(p: Prose, x: Params) -> str:
    if not x.get("doubts"):
        return f"The game stands still until appeal {_plain(x['appeals'])} is ruled on."
    doubts = ", ".join(part_in_words(p, name) for name in x["doubts"])
    return f"This waits until appeal {_plain(x['appeals'])} is ruled on, for it rests on what is in doubt: {doubts}."


def _names_of_facts() -> str:
    return ", ".join(sorted(kind.__name__ for kind in STATABLE))


def _no_such_appeal(p: Prose, x: Params) -> str:
    """Where an appeal is to be ruled on it must be open; elsewhere ``known`` lists all there are."""
    if "known" not in x:
        return f"No appeal {x['appeal']} is open."
    there = f"There are {', '.join(map(str, x['known']))}." if x["known"] else "There has been none."
    return f"This game has no appeal {x['appeal']}. {there}"


def _meant(x: Params) -> str:
    return f" Did you mean {_or(x['suggestions'])}?" if x["suggestions"] else ""


def _readings(switch: str) -> str:
    return "; ".join(f"{word}, {means}" for word, means in NAMED[switch].readings.items())


def _unknown_switch(p: Prose, x: Params) -> str:
    if "problem" in x:
        return f"The switches cannot be set so: {x['problem']}."
    return f"There is no switch “{x['switch']}”.{_meant(x)} There are {', '.join(x['known'])}."


def _unfit(p: Prose, x: Params) -> str:
    said, needed = NAMED[x["variation"]], NAMED[x["needs"]]
    means = "; ".join(f"{word}, {needed.readings[word]}" for word in x["words"])
    return (
        f"{said.name} = {x['word']} ({said.about}) needs {needed.name} = {_or(x['words'])} ({needed.about}: {means})."
    )


def _own_table(p: Prose, x: Params) -> str:
    if "pointer" in x:
        return f"The tables have nothing at “{x['pointer']}” to be replaced: {x['problem']}."
    return f"The own tables ({', '.join(x['pointers'])}) cannot be played by: {x['problem']}."


SENTENCES: dict[str, Callable[[Prose, Params], str]] = {
    # Arbiters and appeals
    "no-such-entry": lambda p, x: f"There is no entry {x['entry']} to go back to; the last one is {x['last']}.",
    "must-redraw": lambda p, x: "The seed is open already, so a rewind needs a new one: the draws are known.",
    "no-such-correction": lambda p, x: f"No correction of entry {_plain(x['entries'])} is there to be made again.",
    "nothing-stated": lambda p, x: "A correction states at least one fact.",
    "cannot-be-stated": lambda p, x: (
        f"Fact {x['fact']} of the correction does not fit the position: "
        f"{x['problem'] or 'what it changes is not there'}."
    ),
    "impossible-position": lambda p, x: f"The corrected position is impossible: {_plain(x['problems'])}.",
    "not-a-fact": lambda p, x: (
        f"This is not a fact that an arbiter can state: {x['problem']}. There are {_names_of_facts()}."
    ),
    "too-late-to-appeal": lambda p, x: (
        f"It is too late to appeal against entry {x['entry']}: "
        f"{counted_word(x['window'], 'ruling')} of the game or more have followed it."
    ),
    "appealed-already": lambda p, x: f"Your appeal {x['appeal']} against entry {x['entry']} is still open.",
    "appeal-settled": lambda p, x: (
        f"Your appeal {x['appeal']} against entry {x['entry']} has been ruled on: {OUTCOMES[x['outcome']]}."
    ),
    "too-many-appeals": lambda p, x: (
        f"Your appeals {_plain(x['appeals'])} are open, and nobody has more than {x['most']} open at once."
    ),
    "statement-missing": lambda p, x: "An appeal says what is wrong.",
    "opinion-missing": lambda p, x: "A ruling on an appeal comes with an opinion.",
    "rewinds-and-corrections-name-their-appeal": lambda p, x: (
        f"An appeal is {x['outcome']} by the rewind or correction that names it, not by an opinion alone."
    ),
    "no-such-appeal": _no_such_appeal,
    "plan-out-of-date": lambda p, x: (
        f"The plan was made for version {x['expected']}, and the record has {x['version']} entries by now. Plan anew."
    ),
    "arbiter-plays": lambda p, x: f"{p.name(x['house'])}'s player cannot arbitrate: the charter does not allow it.",
    "bad-name": lambda p, x: "A name has 1 to 64 of a-z, 0-9, '-', '_', '.'.",
    "reserved-name": lambda p, x: (
        f"No arbiter can be called “{x['name']}”: the record would read as if somebody else had acted. "
        "Only an arbiter who declares his seat may have its name or that of its House."
    ),
    "no-opinion-yet": lambda p, x: f"Appeal {x['appeal']} has not been ruled on.",
    "not-a-case": lambda p, x: f"That cannot be written as a case: {x['problem']}.",
    "reason-missing": lambda p, x: "An act of the arbiter comes with its reason.",
    "why-missing": lambda p, x: "Whoever reads secrets says why; it is written down.",
    "appeal-open": _appeal_open,
    "game-waited-for-its-engine": lambda p, x: (
        "While this deadline ran out, the game waited for its engine, and nobody could be heard. Set a new one."
    ),
    "pinned-to-another-engine": lambda p, x: (
        f"The game is to be ruled by the engine {x['engine']}; here {x['known']} runs. The organiser can amend it."
    ),
    "unknown-engine": lambda p, x: f"The rules engine here is {x['known']}, not {x['engine']}.",
    # The command itself
    "unreadable": lambda p, x: f"The command cannot be read: {x['detail']}.",
    "refused-in-secret": lambda p, x: "The answer was refused; its author can read why.",
    "not-your-seat": _seat,
    "text-too-long": lambda p, x: (
        f"{'An' if x['what'] == 'opinion' else 'A'} {x['what']} has at most {x['most']:,} characters,"
        f" not {x['length']:,}."
    ),
    "purpose-too-long": lambda p, x: f"The purpose of a fork has at most {x['most']} characters, not {x['length']}.",
    "no-shares-wanted": lambda p, x: "No parts of a seed are wanted here.",
    "share-committed": lambda p, x: "This seat is bound to its part of the seed already.",
    "shares-closed": lambda p, x: "The seed is made without those who have not bound themselves in time.",
    "shares-not-closed": lambda p, x: f"Parts are opened once all are bound; missing: {_plain(x['missing'])}.",
    "share-not-wanted": lambda p, x: "This seat is bound to no part, or has opened it already.",
    "share-differs": lambda p, x: "This is not the part that the seat has bound itself to.",
    "no-such-shared-seed": lambda p, x: f"There is no shared seed {x['shared']} here.",
    "shared-seed-in-use": lambda p, x: f"This table has not ended; the shared seed {x['shared']} stays sealed.",
    "shared-seed-open": lambda p, x: f"The shared seed {x['shared']} is open already.",
    "shared-seed-differs": lambda p, x: f"This is not the seed that {x['shared']} was committed to.",
    "shared-seed-alone": lambda p, x: (
        "With a shared seed there is no other: no joint or stated seed, no imposed draws, decks or position."
    ),
    "not-32-bytes": lambda p, x: "This takes 32 bytes as 64 hexadecimal digits.",
    "not-started": lambda p, x: (
        f"The game has not begun: its beginning waits for {x['waits_for']}."
        if "waits_for" in x
        else "The game has not begun."
    ),
    "already-started": lambda p, x: "The game has begun already.",
    "game-over": lambda p, x: "The game is over.",
    "question-closed": _closed,
    "not-due": lambda p, x: f"The question may be answered until {x['due']}; this deadline came at {x['at']}.",
    "not-an-instant": lambda p, x: f"“{x['due']}” is no instant such as 2025-01-31T18:00:00.000000Z.",
    "question-missing": lambda p, x: (
        f"A deadline names the question that it is about, and this one names none. Question {x['open']} is open now."
    ),
    "not-asked": _not_asked,
    "not-your-turn": _turn,
    "not-awaited": _turn,
    "another-question": _another,
    "no-drafts": lambda p, x: f"There are no drafts of “{x['kind']}”, only of orders.",
    # Names
    "unknown-house": lambda p, x: _unknown("House", "house" if "house" in x else "houses")(p, x),
    "unknown-area": _unknown("area", "area"),
    "unknown-order": _unknown("order", "order"),
    "unknown-unit": _unknown("unit", "unit"),
    "house-not-in-play": lambda p, x: f"{p.name(x['house'])} is not in this game, but {p.listed(x['houses'])} are.",
    # The charter
    "unknown-edition": _unknown("edition", "edition"),
    "unknown-switch": _unknown_switch,
    "unknown-word": lambda p, x: (
        f"{x['switch']} cannot be “{x['word']}”.{_meant(x)} It is {_or(x['known'])}: {_readings(x['switch'])}."
    ),
    "unknown-dispute-option": lambda p, x: (
        f"A charter says nothing about “{x['option']}” of disputes.{_meant(x)} There are {', '.join(x['known'])}."
    ),
    "unknown-dispute-word": lambda p, x: f"{x['option']} cannot be “{x['word']}”. It is {_or(x['known'])}.",
    "variations-do-not-fit": _unfit,
    "own-table-unfit": _own_table,
    "wrong-number-of-players": _players,
    "home-out-of-play": lambda p, x: (
        f"{p.name(x['house'])} cannot play: nobody may enter {p.name(x['area'])} at this table."
    ),
    "houses-do-not-fit": lambda p, x: f"So many players have {p.listed(x['allowed'])}.",
    "houses-not-in-order": lambda p, x: "The Houses of a charter stand in ascending order.",
    "seats-do-not-fit": lambda p, x: f"Every House needs one seat: {p.listed(x['houses'])}.",
    "bad-seat": lambda p, x: (
        f"“{x['seat']}” cannot be a seat: 1 to 64 of a-z, 0-9, '-', '_', '.', and not “organiser”."
    ),
    "dealing-needs-a-seed": lambda p, x: "Houses can be dealt only where chance comes from a seed.",
    "seed-missing": lambda p, x: "The seed has 64 hexadecimal digits.",
    "draws-are-not-stated-here": lambda p, x: "In this game draws come from its seed and cannot be stated.",
    "too-many-draws": lambda p, x: f"{x['most']:,} shuffles are stated ahead already; no more until some are used up.",
    "draw-not-stated": lambda p, x: f"The order of the deck {p.name(x['deck'])} has to be stated first.",
    "draw-impossible": lambda p, x: f"That cannot be drawn from {p.name(x['deck'])}: {x['problem']}.",
    # Any decision
    "not-an-option": _not_an_option,
    "order-on-the-board": lambda p, x: (
        f"{short_order(x['order'])} lies on the board already. Unused and possible: {_tokens(x['options'])}."
    ),
    "star-too-many": lambda p, x: (
        f"{short_order(x['order'])} would be a special order too many. Possible: {_tokens(x['options'])}."
    ),
    "out-of-range": _number,
    "units-not-there": lambda p, x: f"These units are not there to choose. There are {_available(p, x)}.",
    "wrong-number-of-units": _wrong_number,
    "not-the-eligible-orders": lambda p, x: f"Answer for exactly these orders: {_areas(p, x['orders'])}.",
    "one-declaration-for-all": lambda p, x: "All orders of a House are declared alike.",
    # Westeros phase
    "not-the-tied-groups": lambda p, x: f"The tied groups are {'; '.join(p.listed(one) for one in x['groups'])}.",
    "still-over-supply": lambda p, x: f"The armies still exceed the supply limit of {_armies(p, x)}.",
    "more-than-needed": lambda p, x: (
        f"{p.name(x['area'])} loses more than the supply limit demands."
        if "area" in x
        else f"One of these units can be left out, and the others are still worth {x['required']}."
    ),
    "worth-too-little": lambda p, x: f"These units are worth {x['worth']} in mustering; {x['required']} is owed.",
    "muster-something": lambda p, x: "This order must muster at least one unit.",
    # Planning
    "on-land-only": lambda p, x: f"{short_order(x['order'])} may not lie at sea.",
    "no-look": lambda p, x: "At this table the raven replaces an order and looks at no card.",
    "orders-missing": lambda p, x: f"Orders are missing in {p.listed(x['areas'])}; {x['required']} in all are needed.",
    "too-many-orders": lambda p, x: f"There are tokens for {x['required']} orders only.",
    "no-units-there": lambda p, x: f"{p.name(x['area'])} has no units of this House and gets no order.",
    "token-laid-twice": lambda p, x: f"The token {short_order(x['order'])} is laid more often than there are any.",
    "order-prohibited": lambda p, x: f"{short_order(x['order'])} is prohibited this round.",
    "too-many-special-orders": lambda p, x: f"Special orders laid: {x['laid']}; allowed: {x['allowed']}.",
    "no-order-there": lambda p, x: f"There is no order to replace there. Possible: {_areas(p, x['areas'])}.",
    # Raids, consolidating
    "no-raid-order-there": lambda p, x: (
        f"{p.name(x['area'])} has no Raid order. There is one in {_areas(p, x['areas'])}."
    ),
    "one-target-only": lambda p, x: f"The Raid order in {p.name(x['area'])} hits one target.",
    "two-different-targets": lambda p, x: "Two targets of one Raid order lie in two different areas.",
    "cannot-be-raided": lambda p, x: (
        f"{p.name(x['target'])} cannot be raided from there. Possible: {_areas(p, x['targets'])}."
    ),
    "no-consolidate-order-there": lambda p, x: (
        f"{p.name(x['area'])} has no Consolidate Power order. There is one in {_areas(p, x['areas'])}."
    ),
    "cannot-muster-there": lambda p, x: f"Nothing can be mustered with the order in {p.name(x['area'])}.",
    # Marches
    "no-march-order-there": lambda p, x: (
        f"{p.name(x['area'])} has no March order. There is one in {_areas(p, x['areas'])}."
    ),
    "no-units-named": lambda p, x: f"No units are named for {p.name(x['to'])}.",
    "destination-named-twice": lambda p, x: f"{p.name(x['to'])} is named twice.",
    "units-cannot-march": lambda p, x: f"These units cannot march from there. There are {_available(p, x)}.",
    "cannot-enter": lambda p, x: (
        f"{p.name(x['to'])} cannot be entered from there. Possible: {_areas(p, x['destinations'])}."
    ),
    "two-contested-areas": lambda p, x: (
        f"Only one march may lead into combat or against a neutral force, not both {p.listed(x['areas'])}."
    ),
    "too-weak": lambda p, x: f"{p.name(x['area'])} needs a strength of {x['required']}.",
    "no-power-token-there": lambda p, x: f"No Power token can be left in {p.name(x['area'])}.",
    "units-stay-behind": lambda p, x: f"Units stay in {p.name(x['area'])}, so no Power token is left there.",
    "port-full": lambda p, x: f"{p.name(x['area'])} would hold {x['ships']} Ships; it has room for {x['most']}.",
    "over-supply": lambda p, x: f"The armies would be {_plain(x['armies'])}; the supply limit is {_armies(p, x)}.",
    "cannot-ask-for-that": lambda p, x: "Support against that area cannot be asked for.",
    # Worked examples
    "not-the-only-answer": lambda p, x: f"The rules leave one answer only: {x['only']}.",
    "not-a-token-of-this-house": lambda p, x: "A House leaves Power tokens of its own only.",
}
"""A sentence by code, from the printed names and the params of the refusal."""
