"""Twin games: the same play on two servers, but for one secret, and everything that anybody else gets to see.

Both sides have the same ids, tokens, keys and clock. Salts come from a secret of each game and differ; so do, for
that reason, commitments and what is hashed over them. Only these are blanked before answers are compared.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import fakeredis
import msgspec
import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from api.app import create_app
from api.desk import Desk
from api.tokens import ORGANISER, Tokens
from domain.thrones.language.start import Start
from domain.thrones.ruleset import THRONES
from events.envelope import encode, submission
from events.notes import Signer
from events.ruling import Judge
from events.store import Store
from tests.api.asgi import Answer, Client
from tests.sizes import sized
from worker.adjudicate import Warm, adjudicate

GAME = "twin"
AT = "2025-01-01T12:00:00.000000Z"
OPERATOR = "operator-of-both"
JUDGE = Judge(THRONES)
SIGNER = Signer("twins", Ed25519PrivateKey.from_private_bytes(bytes(range(32))))

_DIGESTS = re.compile(rb'(\\?"(?:digest|prev|commitment|salt|hidden|head|sha256)\\?":\\?")[0-9a-f]{64}(?=\\?")')
_NOTES = re.compile("(twins/twin(?:\n|\\\\n)[0-9]+(?:\n|\\\\n)|— twins )[0-9A-Za-z+/=]{44,92}".encode())
_SEED_SENTENCE = re.compile("(The seed of all draws is sealed; its commitment is )[0-9a-f]{16}(?=…)".encode())


def blanked(body: bytes) -> bytes:
    """Without what follows from the secrets that every game has of its own; of a bundle, its parts."""
    if not body.startswith(b"PK"):
        return _blanked(body)
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        parts = [name.encode() + b"\n" + _blanked(archive.read(name)) for name in archive.namelist()]
    # The manifest has the hash of each part, the note over it that of the manifest.
    return re.sub(rb"(manifest )[0-9a-f]{64}", rb"\1", b"\n".join(parts))


def _blanked(body: bytes) -> bytes:
    """Without the salted commitments and the digests that follow from them.

    digest: the head of the chain after an entry; prev: the same of the entry before; commitment: of a sealed part
    and of the seed; salt: of a part that the reader may open, made with a secret of the game out of the digest
    before it; hidden: the keyed digest of the hidden position; head and sha256: the last line of an export;
    in signed notes the head of the chain and the signature over it.
    """
    return _SEED_SENTENCE.sub(rb"\1", _NOTES.sub(rb"\1", _DIGESTS.sub(rb"\1", body)))


class Step(msgspec.Struct, frozen=True):
    """One request that changes something: who sends it, what it says on either side, whether as a letter, and where.

    ``version`` is what it was planned for.
    """

    who: str
    left: bytes
    right: bytes
    is_letter: bool = False
    wait: bool = False
    path: str = "commands"
    version: int | None = None


class Side:
    """One of the two servers, with a game that was started by ``start``."""

    def __init__(self, make_desk: Callable[[Store, Tokens], Desk] | None = None) -> None:
        self.store = Store(fakeredis.FakeRedis())
        self.made = 0
        tokens = Tokens(self.store, OPERATOR, make=self._make, clock=lambda: AT)
        build = make_desk or (lambda store, tokens: Desk(store, tokens, None, JUDGE, clock=lambda: AT, signer=SIGNER))
        self.desk = build(self.store, tokens)
        self.client = Client(create_app(self.desk, heartbeat_seconds=5))
        self.warm = Warm()
        self.tokens: dict[str, str] = {"public": "", "operator": OPERATOR}
        self.lines: list[dict[str, Any]] = []

    def _make(self) -> str:
        self.made += 1
        return f"{self.made:043d}"

    def listening(self) -> None:
        """Have log lines come to this side."""

        def keep(_: Any, __: str, line: Any) -> Any:
            self.lines.append(dict(line))
            raise structlog.DropEvent

        structlog.configure(
            processors=[structlog.contextvars.merge_contextvars, structlog.processors.add_log_level, keep],
            cache_logger_on_first_use=False,
        )

    def begin(self, start: Start) -> None:
        opening = submission(start, seat=None, cause="system", at=AT, key="opening")
        self.store.create(GAME, THRONES.name, THRONES.version, opening)
        for seat in sorted(start.charter.seats):
            self.tokens[seat] = self.desk.tokens.issue(GAME, seat)
        self.tokens[ORGANISER] = self.desk.tokens.issue(GAME, ORGANISER)
        self.adjudicate()

    def adjudicate(self) -> None:
        self.listening()
        outcome = adjudicate(self.store, JUDGE, GAME, warm=self.warm)
        assert outcome.how == "drained", self.store.record(GAME).parked

    async def send(self, step: Step, body: bytes, key: str) -> Answer:
        """Send a step, have it ruled on, and get the answer that its author gets under the same key again."""
        self.listening()
        headers = {"idempotency-key": key, "content-type": "text/plain" if step.is_letter else "application/json"}
        if step.version is not None:
            headers["if-match"] = f'"{step.version}"'
        path = f"/v1/games/{GAME}/{step.path}"
        first = await self.client.post(path, self.tokens[step.who] or None, body, headers)
        self.adjudicate()
        if first.status != 202:
            return first
        return await self.client.post(path, self.tokens[step.who], body, {**headers, "prefer": "wait=5"})

    async def get(self, path: str, who: str, headers: dict[str, str] | None = None) -> Answer:
        self.listening()
        return await self.client.get(path, self.tokens[who] or None, headers)


class Difference(AssertionError):
    """Somebody else could tell the twins apart."""


def same(what: str, left: Answer, right: Answer) -> None:
    """Raise Difference unless two answers are the same byte by byte, but for digests."""
    if left.status != right.status:
        raise Difference(f"{what}: {left.status} and {right.status}: {left.body!r} {right.body!r}")
    if _headers(left) != _headers(right):
        raise Difference(f"{what}: {left.headers} and {right.headers}")
    one, other = blanked(left.body), blanked(right.body)
    if one != other:
        at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
        raise Difference(f"{what}: …{one[max(0, at - 80) : at + 80]!r} and …{other[max(0, at - 80) : at + 80]!r}")


def _headers(answer: Answer) -> list[tuple[str, str]]:
    """Digests of the same length are packed to more bytes or fewer."""
    is_packed = answer.body.startswith(b"PK")
    return [pair for pair in answer.headers if not (is_packed and pair[0] == "content-length")]


class Twins:
    """Two sides in step. ``owner`` is the seat whose secret differs; everybody else is an observer."""

    def __init__(self, owner: str | None, make_desk: Callable[[Store, Tokens], Desk] | None = None) -> None:
        self.left, self.right = Side(make_desk), Side(make_desk)
        self.owner = owner
        self.compared = 0

    def begin(self, left: Start, right: Start) -> None:
        self.left.begin(left)
        self.right.begin(right)
        self.logs()

    @property
    def observers(self) -> list[str]:
        return [who for who in self.left.tokens if who != self.owner]

    def some(self, turn: int) -> list[str]:
        """The observers of one step: all who hold no seat, and two seats in turn, so that each looks now and then."""
        seats = [who for who in self.observers if who.startswith("seat-")]
        two = {seats[(2 * turn + nth) % len(seats)] for nth in range(2)}
        return [who for who in self.observers if who in two or who not in seats]

    async def play(self, steps: Sequence[Step]) -> None:
        """Take all steps on both sides, and compare everything after each; first and last for everybody."""
        await self.look()
        for number, step in enumerate(steps):
            left = await self.left.send(step, step.left, f"key-{number}")
            right = await self.right.send(step, step.right, f"key-{number}")
            if step.who != self.owner:
                self.same(f"step {number} of {step.who}", left, right)
            self.logs()
            await self.look(self.observers if number == len(steps) - 1 else sized(self.some(number), self.observers))
        await self.look_back()

    def same(self, what: str, left: Answer, right: Answer) -> None:
        self.compared += 1
        same(what, left, right)

    def logs(self) -> None:
        """No line of the log tells the twins apart, not even one about the owner's own requests."""
        one, other = encode(self.left.lines), encode(self.right.lines)
        if one != other:
            pairs = zip(self.left.lines, self.right.lines, strict=False)
            raise Difference(f"log lines: {next(((a, b) for a, b in pairs if a != b), 'their number')}")
        self.left.lines.clear()
        self.right.lines.clear()

    async def both(self, path: str, who: str, headers: dict[str, str] | None = None) -> None:
        what = f"{who} gets {path} {headers or ''}"
        self.same(what, await self.left.get(path, who, headers), await self.right.get(path, who, headers))

    async def look(self, observers: Sequence[str] = ()) -> None:
        """Every endpoint, for every observer, or for these, at the present version."""
        version = self.left.store.version(GAME)
        if version != self.right.store.version(GAME):
            raise Difference("the number of entries")
        for who in observers or self.observers:
            for path in paths(version):
                await self.both(path, who)
            await self.both(f"/v1/games/{GAME}/view", who, {"if-none-match": f'"{version}"'})
            await self.both(f"/v1/games/{GAME}/owed", who, {"if-none-match": f'"{version - 1}"'})
            await self._events(who, version)
            await self._mistakes(who)
        self.logs()

    async def _events(self, who: str, version: int) -> None:
        answers = []
        for side in (self.left, self.right):
            side.listening()
            path, headers = f"/v1/games/{GAME}/events", {"last-event-id": str(version - 1)}
            answers.append(await side.client.events(path, side.tokens[who] or None, version, headers))
        self.same(f"{who} hears entry {version}", *answers)

    async def _mistakes(self, who: str) -> None:
        """Requests that fail, none of which is recorded."""
        for path, body, kind in mistakes():
            answers = []
            for side in (self.left, self.right):
                side.listening()
                answers.append(
                    await side.client.post(
                        path, side.tokens[who] or None, body, {"content-type": kind, "prefer": "wait=1"}
                    )
                )
            assert answers[0].status >= 400, (who, path, body, answers[0])
            self.same(f"{who} posts {body!r} to {path}", *answers)

    async def look_back(self) -> None:
        """Every earlier version and every entry once more, from the end."""
        version = self.left.store.version(GAME)
        for who in self.observers:
            for at in range(version + 2):
                for path in (f"view?at={at}", f"board?at={at}", f"entries/{at}", f"commands/{at}-0", f"log?after={at}"):
                    await self.both(f"/v1/games/{GAME}/{path}", who)
            await self.both(f"/v1/games/{GAME}/log?limit=1", who)
        self.logs()


def paths(version: int) -> Iterator[str]:
    """Everything that can be read of a game, at its present version."""
    for path in (
        "",
        "/tokens",
        "/view",
        f"/view?at={version}",
        "/owed",
        "/board",
        "/log",
        "/export",
        "/checkpoint",
        "/checkpoints",
        "/secrets-read",
        "/bundle",
    ):
        yield f"/v1/games/{GAME}{path}"
    yield f"/v1/games/{GAME}/board?at={version}"
    yield f"/v1/games/{GAME}/log?after={version - 1}"
    yield f"/v1/games/{GAME}/entries/{version}"
    yield f"/v1/games/{GAME}/entries/{version + 1}"
    yield f"/v1/games/{GAME}/entries/{version}/certificate"
    yield f"/v1/games/{GAME}/export?at={version - 1}"
    yield f"/v1/games/{GAME}/commands/{version}-0"
    yield f"/v1/games/{GAME}/commands/{version + 1}-0"
    yield f"/v1/games/{GAME}/view?at=no"
    yield f"/v1/games/{GAME}/none"


def mistakes() -> Iterator[tuple[str, bytes, str]]:
    """Bodies that cannot be taken, and routes that are not this caller's: path, body, type."""
    commands = f"/v1/games/{GAME}/commands"
    yield commands, b"flee the field", "text/plain"
    yield commands, b"stark: bid fiefdums 1", "text/plain"
    yield commands, b"card winterfell: the-hand-himself", "text/plain"
    yield commands, b"{", "application/json"
    yield commands, b'{"kind":"wildling-bid","house":"stark","bid":"all"}', "application/json"
    yield commands, b"<bid/>", "application/xml"
    yield "/v1/games", b'{"players":9}', "application/json"
