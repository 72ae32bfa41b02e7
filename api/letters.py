"""Letters: a text with headers and answers, sent in line by line, each ruled on before the next is read.

What a line means may depend on what the game asks, so a letter cannot be read as a whole beforehand.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from api.desk import Desk, LogEntry
from api.games.thrones.refusals import explain
from api.games.thrones.sentences import Prose
from api.tokens import Caller
from domain.kernel.refusal import Refusal
from domain.thrones.language.answers import HouseAnswer
from domain.thrones.language.state import State
from domain.thrones.notation import Line, NotationError, format_answer, house_in_header, parse_line, split_letter
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.editions.composed import edition_of
from events.envelope import Receipt, Refused, Stored, encode
from events.errors import BadCommand

Await = Callable[[Receipt], Stored]
"""Gives the ruling on a submission, however long that takes."""

Authorise = Callable[[str, str, str], Caller]
"""Who acts in a game, by seat and token, either of which may be empty."""


class Sent(msgspec.Struct, frozen=True):
    """One line that was sent in, and what was ruled on it.

    ``reason`` is the refusal in English, ``receipt`` the signed receipt, if the server has a key.
    """

    line: int
    game: str
    seat: str | None
    house: str
    text: str
    again: bool
    inbox: str
    entry: LogEntry
    reason: str
    rules: tuple[str, ...]
    receipt: str = ""

    @property
    def is_refused(self) -> bool:
        return isinstance(self.entry.verdict, Refused)


class Unread(msgspec.Struct, frozen=True):
    """One line that could not be sent in, and why: nobody can read it, or it may not be said by whoever said it."""

    line: int
    problem: Exception


class Unclear(NotationError):
    """A line that can be read, but not whose it is or for which game."""


class Letter:
    """A letter being sent. ``game``, ``seat`` and ``token`` hold for lines before which no header says otherwise.

    ``key`` makes the lines known to the store, so that the letter may come twice; ``sent`` answers are in already.
    """

    def __init__(
        self,
        desk: Desk,
        text: str,
        *,
        authorise: Authorise,
        ruling: Await,
        game: str = "",
        seat: str = "",
        token: str = "",
        key: str = "",
        seen: int | None = None,
        sent: int = 0,
    ) -> None:
        self.desk = desk
        self.lines = split_letter(text)
        self.authorise = authorise
        self.ruling = ruling
        self.game = game
        self.seat = seat
        self.token = token
        self.house: Line | None = None
        self.key = key
        self.seen = seen
        self.sent = sent
        self.correlation = f"letter-{secrets.token_hex(6)}"

    def answers(self) -> int:
        """How many lines are answers."""
        return sum(line.header is None for line in self.lines)

    def send(self) -> Iterator[Sent]:
        """Send line by line. Raises NotationError with the place of what cannot be read."""
        for sent in self.send_all():
            if isinstance(sent, Unread):
                raise sent.problem
            yield sent

    def send_all(self) -> Iterator[Sent | Unread]:
        """Send line by line, past lines that cannot be read; each of those is told of in its place."""
        count = 0
        for line in self.lines:
            if line.header is None:
                count += 1
                if count > self.sent:
                    yield self._sent_or_unread(line, f"{self.key}-{count}" if self.key else "")
            elif line.header.key == "game":
                self.game, self.house = line.header.value, None
            elif line.header.key == "seat":
                self.seat, self.house = line.header.value, None
            elif line.header.key == "token":
                self.token, self.house = line.header.value, None
            elif line.header.key == "house":
                self.house = line

    def _sent_or_unread(self, line: Line, key: str) -> Sent | Unread:
        try:
            return self._send(line, key)
        except (NotationError, BadCommand) as problem:
            return Unread(line.number, problem)

    def _send(self, line: Line, key: str) -> Sent:
        if not self.game:
            raise _unclear(line, "this does not say for which game it is", '"game: ID" above it')
        caller = self.authorise(self.game, self.seat, self.token)
        position = self.desk.line(self.game)
        state: State = position.state
        self.desk.check_begun(self.game, state)
        if line.text.lstrip().startswith("{"):
            house, raw, text = self._structured(line, state, caller)
        else:
            answer = self._read(line, state, caller)
            house, raw, text = answer.house, encode(answer), format_answer(answer)
        if caller.role == "operator":
            caller = _for(house, state)
        raw = self._as_before(caller, key, raw)
        receipt = self.desk.submit(
            self.game,
            caller,
            raw,
            key=key,
            seen=self.seen if self.seen is not None else position.version,
            cause="arbiter",
            correlation=self.correlation,
        )
        return self._told(line, caller, house, text, receipt)

    def _read(self, line: Line, state: State, caller: Caller) -> HouseAnswer:
        """The answer, pinned to the open question that it is for."""
        words = self.desk.lexicon(self.game)
        house = self.desk.house_of(state, caller)
        if self.house is not None:
            house = house_in_header(self.house, words)
        owed = THRONES.decisions(state, replaceable=True)
        answer = parse_line(line, house=house, lexicon=words, open_decisions=owed)
        is_open = any((one.player, one.kind) == (answer.house, answer.kind) for one in owed)
        if answer.question is None and is_open:
            answer = msgspec.structs.replace(answer, question=state.question)
        return answer

    def _as_before(self, caller: Caller, key: str, raw: bytes) -> bytes:
        """What came before under the same key, if it differs only in the question: that one may be closed by now."""
        before = self.desk.sent_before(self.game, caller, key)
        if before is None:
            return raw
        return bytes(before.command) if _unpinned(bytes(before.command)) == _unpinned(raw) else raw

    def _structured(self, line: Line, state: State, caller: Caller) -> tuple[str, bytes, str]:
        """A command as JSON; whatever it says is ruled on."""
        raw = line.text.encode()
        try:
            command: Any = msgspec.json.decode(raw)
        except (msgspec.DecodeError, RecursionError) as error:
            raise BadCommand(f"line {line.number} is not JSON ({error})") from error
        house = command.get("house") if isinstance(command.get("house"), str) else None
        return house or self.desk.house_of(state, caller) or "", raw, str(command.get("kind", "?"))

    def _told(self, line: Line, caller: Caller, house: str, text: str, receipt: Receipt) -> Sent:
        stored = self.ruling(receipt)
        state: State = self.desk.line(self.game).state
        prose = Prose(self.desk.edition(state))
        entry = self.desk.readable(stored, self.desk.house_of(state, caller), prose)
        verdict = entry.verdict
        reason, rules = "", tuple[str, ...]()
        if isinstance(verdict, Refused):
            reason, rules = explain(verdict.code, verdict.params, prose), verdict.rules
        return Sent(
            line=line.number,
            game=self.game,
            seat=caller.seat,
            house=house,
            text=text,
            again=receipt.again,
            inbox=receipt.inbox,
            entry=entry,
            reason=reason,
            rules=rules,
            receipt=receipt.note,
        )


def _for(house: str, state: State) -> Caller:
    """Whoever keeps the server speaks for any House that somebody plays. Raises Refusal."""
    seats = {played: seat for seat, played in sorted(state.charter.seats.items())}
    if house in seats:
        return Caller("seat", seats[house])
    edition = edition_of(state.charter)
    known = edition.houses
    if house in known:
        rules = edition.law.cite(("2E-SET-1",))
        raise Refusal("house-not-in-play", rules, house=house, houses=list(state.houses))
    raise Refusal("unknown-house", unknown=True, house=house, known=sorted(known))


def _unpinned(raw: bytes) -> Any:
    """A command without the number of its question."""
    command: Any = msgspec.json.decode(raw)
    return {name: value for name, value in command.items() if name != "question"}


def _unclear(line: Line, problem: str, expected: str) -> Unclear:
    mistake = Unclear(problem, 1, expected=expected)
    mistake.line = line.number
    return mistake
