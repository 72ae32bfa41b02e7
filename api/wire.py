"""What goes over the wire: the documents of requests and answers, as records that OpenAPI is made from."""

from __future__ import annotations

from functools import reduce
from itertools import islice
from operator import or_
from typing import Annotated, Any, Literal

import msgspec

from api.bench import ReadOfSecrets
from api.desk import LogEntry, StruckOut
from api.tokens import Issue
from domain.kernel.agreed import Arbitration
from domain.kernel.bounds import AtMost, bounded
from domain.kernel.commands import Command, StateDraws
from domain.kernel.decision import options_of
from domain.kernel.docket import Origin
from domain.kernel.facts import Awaited
from domain.kernel.game import Held
from domain.kernel.joint import CloseShares
from domain.thrones.language.kinds import AnyAnswer
from domain.thrones.language.state import Hidden, Standing, State
from domain.thrones.language.view import Owed, Own
from domain.thrones.notation import format_answer
from domain.thrones.ruleset import THRONES
from domain.thrones.tables.charter import Charter
from domain.thrones.tables.charters import SECOND
from events.envelope import Accepted, Part, Refused, SealedFact, Stored, encode
from events.store import Kept

JSON = "application/json"
PROBLEM = "application/problem+json"
TEXT = "text/plain; charset=utf-8"
LINES = "application/x-ndjson"
ZIP = "application/zip"
STREAM = "text/event-stream"

MOST_EXAMPLES = 5
MOST_LOOKED_AT = 40

AnyOptions: Any = reduce(or_, options_of("domain.thrones"))
AnyCommand: Any = THRONES.command_type
Said = Annotated[str, AtMost(1 << 20)]
"""What somebody says in his own words; how much of it goes on the record, he is told in a sentence."""
AnyFact: Any = Annotated[Any, msgspec.Meta(extra_json_schema={"$ref": "#/components/schemas/Fact"})]
"""A fact, or the placeholder of one for other eyes."""

NAMED: dict[str, tuple[Any, ...]] = {"Fact": (THRONES.fact_type, SealedFact)}
"""Schemas that records refer to by name, because no union of msgspec can hold them."""


class GameOrder(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A game to be created.

    ``edition`` is the preset to begin from, and ``switches`` what the table plays otherwise, by name (presets, names
    and words are those of ``GET /v1/charters``). ``tables`` replaces data by the organiser's own: JSON Pointer → value.
    ``seats`` maps seat ids to Houses; without it every House gets a seat. With ``deal`` the Houses are dealt to the
    seats by chance. A ``seed`` (64 hexadecimal digits) makes every draw known to whoever gave it, and the charter
    says so. With imposed chance ``decks`` states the decks from the top. ``arbitration`` is what is agreed about
    disputes. With ``joint`` the seats add parts of their own to the seed before the game begins. ``shared`` names a
    seed that several tables share, instead of one of its own.
    """

    players: int
    edition: str = SECOND
    switches: dict[str, str] = {}
    tables: dict[str, Any] = {}
    seats: Annotated[dict[str, str], msgspec.Meta(min_length=1)] | None = None
    deal: bool = False
    game: str | None = None
    seed: str = ""
    chance: Literal["seeded", "imposed"] = "seeded"
    decks: dict[str, tuple[str, ...]] = {}
    arbitration: Arbitration = Arbitration()
    joint: bool = False
    shared: str = ""


class GameCreated(msgspec.Struct, frozen=True):
    """A new game. The tokens are shown this once. ``seats`` has null while Houses are still to be dealt."""

    game: str
    seats: dict[str, str | None]
    tokens: dict[str, str]
    organiser: str


class NewToken(msgspec.Struct, frozen=True):
    """A token, shown this once; any earlier one for the same place is void."""

    game: str
    who: str
    token: str


class TokenIssues(msgspec.Struct, frozen=True):
    """Whose token was issued, by whom and when, oldest first."""

    game: str
    issues: tuple[Issue, ...]


class Summary(msgspec.Struct, frozen=True):
    """A game as everybody may know it. ``parked``: it waits for the server's operator. ``origin`` is that of a fork.

    ``held``: the server's store lost a part of it, and nothing is added before the operator has decided.

    ``drawn`` are the Houses that share a game which nobody has won. ``waits_for_engine``: what was submitted waits,
    since the workers that have looked are not the ones for it. It is the engine of the game (``thrones/`` and a pin),
    which a worker of that engine rules on, or one of another once the game is amended; the name of a game alone, where
    no worker knows that game; or ``schema-`` and a number: a newer Rookery, one that reads this schema, has written it.
    """

    game: str
    version: int
    status: Literal["beginning", "playing", "over"]
    parked: bool
    created: str
    charter: Charter
    round: int
    phase: str
    step: str
    question: int
    awaited: tuple[Awaited, ...]
    winner: str | None
    ranking: tuple[Standing, ...]
    origin: Origin | None
    drawn: tuple[str, ...] = ()
    held: bool = False
    waits_for_engine: str | None = None


class Notation(msgspec.Struct, frozen=True):
    """Answers as text, ready to be sent: the default, and the first few that are legal."""

    default: str
    examples: tuple[str, ...]


class Question(msgspec.Struct, frozen=True):
    """A decision that a seat owes. ``default`` is what a missed deadline gives; ``answered``: may be replaced."""

    question: int
    kind: str
    house: str
    about: tuple[str, ...]
    secret: bool
    answered: bool
    rules: tuple[str, ...]
    options: AnyOptions
    default: AnyAnswer
    facts: dict[str, Any]
    notation: Notation
    waits_for: tuple[Held, ...] = ()


class Owes(msgspec.Struct, frozen=True):
    """What a seat owes at a version, and what it has answered in secret and may still replace."""

    game: str
    version: int
    seat: str
    house: str | None
    owes: tuple[Question, ...]
    replaceable: tuple[Question, ...]


class SeatView(msgspec.Struct, frozen=True):
    """A position as one House sees it, or everybody (``house`` null), at one version and without hindsight."""

    game: str
    version: int
    house: str | None
    position: State
    own: Own
    owes: tuple[Question, ...]
    replaceable: tuple[Question, ...]


class OpenPart(msgspec.Struct, frozen=True, omit_defaults=True):
    """A sealed part. Whoever may read it has ``salt`` and ``body``: commitment = SHA-256(salt ‖ body)."""

    audience: tuple[str, ...]
    commitment: str
    salt: str = ""
    body: str = ""


class Record(msgspec.Struct, frozen=True):
    """An entry as it is stored, for whoever checks the chain.

    digest = SHA-256(previous digest ‖ public ‖ commitments), where ``public`` and ``body`` are UTF-8 of these strings.
    """

    public: str
    sealed: tuple[OpenPart, ...]
    digest: str


class Ruling(msgspec.Struct, frozen=True, omit_defaults=True):
    """One ledger entry for the eyes of one caller: read, told in English, and as it is stored.

    ``checkpoint``, where a round begins with it: a signed note of the chain up to this entry. ``struck``: a rewind has
    taken the entry back.
    """

    seq: int
    at: str
    cause: Literal["command", "deadline", "arbiter", "system"]
    seat: str | None
    inbox: str
    correlation: str
    verdict: Accepted | Refused
    command: Any
    facts: tuple[AnyFact, ...]
    sentences: tuple[str, ...]
    record: Record
    checkpoint: str = ""
    struck: StruckOut | None = None


class Log(msgspec.Struct, frozen=True):
    """Ledger entries behind ``after``. ``next`` is what to put into ``after`` for more, null at the end."""

    game: str
    version: int
    after: int
    next: int | None
    entries: tuple[Ruling, ...]


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """What went wrong (RFC 9457).

    Of a refused ruling also the submission, the entry, and what would be legal. ``rules`` are the identifiers broken.
    """

    type: str
    title: str
    status: int
    code: str
    detail: str
    rules: tuple[str, ...] = ()
    params: dict[str, Any] = {}
    submission: str = ""
    entry: int | None = None
    receipt: str = ""
    alternatives: tuple[Question, ...] = ()


class Submitted(msgspec.Struct, frozen=True, omit_defaults=True):
    """A submission that was taken in. ``digest`` is SHA-256 of it as it is stored, ``receipt`` a signed note of that.

    ``again``: it had been received before under the same key. ``ruling`` is there when it came in time.
    """

    game: str
    inbox: str
    at: str
    digest: str
    again: bool
    status: Literal["pending", "ruled"]
    location: str
    ruling: Ruling | None = None
    receipt: str = ""


class SubmissionStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of a submission, as the caller may read it. ``refusal`` explains a refused one."""

    game: str
    inbox: str
    status: Literal["pending", "ruled"]
    ruling: Ruling | None = None
    refusal: Problem | None = None


class ArbiterOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A token for an arbiter. ``seat`` is his, where he plays in the game himself; the charter says whether he may."""

    seat: str = ""


class RewindOrder(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Take a game back to the state after entry ``to``.

    ``correction`` states facts there. With ``causal`` the struck-out answers are offered again and kept where nothing
    they rest on has changed, and struck-out corrections too, but those of the entries ``without``. With ``redraw`` what
    is not yet drawn is drawn anew. ``why`` is for a plan that opens answers which are still sealed.
    """

    to: int
    reason: Said = ""
    causal: bool = False
    correction: tuple[dict[str, Any], ...] = ()
    without: tuple[int, ...] = ()
    redraw: bool = False
    appeal: int | None = None
    opinion: Said = ""
    why: Said = ""


class CorrectionOrder(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """State facts on the present position.

    ``instead_of`` are entries whose struck-out corrections could not be made again and are decided about with this.
    """

    facts: tuple[dict[str, Any], ...] = ()
    instead_of: tuple[int, ...] = ()
    reason: Said = ""
    appeal: int | None = None
    opinion: Said = ""


class AppealOrder(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Appeal against the ruling of an entry."""

    against: int
    statement: Said


class OpinionOrder(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rule on an appeal without taking anything back; the organiser, too, may dismiss what was filed in bad faith."""

    appeal: int
    outcome: Literal["declined", "upheld", "dismissed"]
    opinion: Said


class AmendOrder(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Move the game to the rules engine of this server; where ``engine`` is given, only if that is it.

    Charters write it without the name of the game, entries with it: ``thrones/…``.
    """

    engine: str = ""
    reason: Said


class SecretsReadList(msgspec.Struct, frozen=True):
    """Reads by privilege, oldest first."""

    game: str
    version: int
    reads: tuple[ReadOfSecrets, ...]


class ImportedGame(msgspec.Struct, frozen=True):
    """A game that was taken in, at which version; so many submissions still waited for a ruling."""

    game: str
    version: int
    unruled: int


class Checkpoints(msgspec.Struct, frozen=True):
    """Signed notes: for how many entries each was signed, and its text."""

    game: str
    version: int
    checkpoints: tuple[Kept, ...]


class TwoSides(msgspec.Struct, frozen=True):
    """A game as a House knew it (``known``), beside the truth: the position, and what was hidden in it."""

    game: str
    version: int
    house: str
    known: SeatView
    truth: State
    hidden: Hidden


class RuleText(msgspec.Struct, frozen=True):
    """One rule of the rulebook as this server plays it."""

    id: str
    section: str
    text: str
    sources: tuple[str, ...]


class Health(msgspec.Struct, frozen=True):
    status: Literal["ok"]
    engine: str


class MissedDeadline(Command, frozen=True, tag="pass-deadline"):
    """The organiser's word that a House has missed the deadline of a question: sent twice, it counts once."""

    player: str
    question: int


OrganiserCommand = MissedDeadline | StateDraws | CloseShares
"""What the organiser may send; a House's answers are its seat's."""


def to_bytes(value: Any) -> bytes:
    """A document, deterministic down to the byte."""
    return encode(value)


def question(owed: Owed) -> Question:
    """What a seat owes, with answers as text."""
    return Question(
        question=owed.question,
        kind=owed.kind,
        house=owed.house,
        about=owed.about,
        secret=owed.secret,
        answered=owed.answered,
        rules=owed.rules,
        options=owed.options,
        default=owed.default,
        facts=owed.facts,
        notation=Notation(_text(owed, owed.default), _examples(owed)),
        waits_for=owed.waits_for,
    )


def _examples(owed: Owed) -> tuple[str, ...]:
    """The first few legal answers. Twins of an order token print alike and are one answer to a reader."""
    texts = (_text(owed, answer) for answer in islice(owed.options.every(owed.default), MOST_LOOKED_AT))
    return tuple(islice(dict.fromkeys(texts), MOST_EXAMPLES))


def _text(owed: Owed, answer: Any) -> str:
    return format_answer(msgspec.structs.replace(answer, question=owed.question))


def record(stored: Stored) -> Record:
    """An entry, already redacted, as it is stored."""
    return Record(stored.public.decode(), tuple(_part(part) for part in stored.sealed), stored.digest)


def _part(part: Part) -> OpenPart:
    return OpenPart(part.audience, part.commitment, part.salt, bytes(part.body).decode())


def ruling(read: LogEntry, stored: Stored) -> Ruling:
    """An entry as its reader gets it."""
    return Ruling(
        seq=read.seq,
        at=read.at,
        cause=read.cause,
        seat=read.seat,
        inbox=read.inbox,
        correlation=read.correlation,
        verdict=read.verdict,
        command=read.command,
        facts=read.facts,
        sentences=read.sentences,
        record=record(stored),
        checkpoint=read.checkpoint,
        struck=read.struck,
    )


def strictly(raw: Any, kind: Any) -> Any:
    """A decoded JSON value as a record of ``kind``; unlike plain conversion it takes no field that is not there.

    Nothing in it is larger than a command may hold. A misspelt optional field would otherwise change what an answer
    says without anybody noticing.
    Raises msgspec.ValidationError.
    """
    msgspec.convert(raw, bounded(kind))
    value = msgspec.convert(raw, kind)
    _check_fields(raw, value, "$")
    return value


def _check_fields(raw: Any, value: Any, path: str) -> None:
    if isinstance(value, msgspec.Struct):
        known = dict(zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True))
        tag = value.__struct_config__.tag_field
        for name in raw:
            if name in known:
                _check_fields(raw[name], getattr(value, known[name]), f"{path}.{name}")
            elif name != tag:
                raise msgspec.ValidationError(f"Object contains unknown field `{name}` - at `{path}`")
    elif isinstance(value, list | tuple):
        for index, (one, other) in enumerate(zip(raw, value, strict=True)):
            _check_fields(one, other, f"{path}[{index}]")
    elif isinstance(value, dict):
        for name, one in value.items():
            if name in raw:
                _check_fields(raw[name], one, f"{path}[...]")
