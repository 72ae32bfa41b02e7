"""What every game gets from the kernel, shown on the toy: a real store, ruled on by the worker, verified at the end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from domain.kernel.agreed import Arbitration
from domain.kernel.arbiter import Amend, Correct, FileAppeal, ReadSecrets, Rewind, RuleOnAppeal
from domain.kernel.chance import commitment
from domain.kernel.commands import PassDeadline, SetDue, StateDraws
from domain.kernel.docket import AnswerOffered, Origin, SecretsReadOpened
from domain.kernel.facts import Fact, SeedOpened
from domain.kernel.joint import CloseShares, CommitShare, OpenShare, joint_seed, share_commitment
from domain.kernel.refusal import Refusal
from domain.kernel.shared import OpenSharedSeed, SharedSeed
from events import codec
from events.chain import digest
from events.envelope import Accepted, Cause, Refused, submission
from events.keys import game_key
from events.ruling import Judge
from events.store import Store
from events.verify import verify_store
from tests import toy
from tests.recording import AT, JUDGE, PEPPER, SEAT_OF, SEATS, SEED, embedded, real_store  # noqa: F401 - fixtures
from worker.adjudicate import adjudicate

pytestmark = pytest.mark.server
GAME = "toy-1"
ACT: dict[str, Any] = {"by": "luwin"}


class Played:
    """A game in the store, and what was said about it."""

    def __init__(self, store: Store, opening: Any) -> None:
        self.store = store
        began = submission(opening, seat=None, cause="system", at=AT, key="begin")
        store.create(GAME, "toy", "1", began, pepper=PEPPER)
        adjudicate(store, JUDGE, GAME)

    def say(self, command: Any, cause: Cause = "command", at: str = AT) -> str:
        """The code of the refusal; empty for what was accepted."""
        player = toy.RULES.player_of(command)
        seat = SEAT_OF.get(player or "", player) if cause == "command" and player else None
        self.store.submit(GAME, submission(command, seat=seat, cause=cause, at=at))
        adjudicate(self.store, JUDGE, GAME)
        verdict = self.entry().verdict
        if isinstance(verdict, Refused) and verdict.sealed is not None:
            stored = self.store.entry(GAME, self.store.version(GAME))
            assert stored is not None
            return str(json.loads(bytes(stored.sealed[verdict.sealed].body))["code"])
        return "" if isinstance(verdict, Accepted) else verdict.code

    def act(self, command: Any) -> str:
        return self.say(command, "arbiter")

    def entry(self) -> Any:
        stored = self.store.entry(GAME, self.store.version(GAME))
        assert stored is not None
        return codec.entry(stored)

    def facts(self) -> tuple[Fact, ...]:
        stored = self.store.entry(GAME, self.store.version(GAME))
        assert stored is not None
        return tuple(JUDGE.codec.facts(stored))

    @property
    def state(self) -> toy.ToyState:
        state: toy.ToyState = self.store.line(GAME, JUDGE).state
        return state

    def bid(self, **coins: int) -> None:
        for player, count in coins.items():
            assert self.say(toy.Bid(by=player, coins=count)) == ""

    def end(self) -> None:
        """Every open question gets its default until the game is over."""
        while owed := toy.owed(self.state):
            assert self.say(owed[0].default) == ""

    def verified(self) -> None:
        found = verify_store(self.store, JUDGE, GAME)
        assert found.disagreement is None, found.disagreement


def begin(**more: Any) -> toy.Begin:
    return toy.Begin(seats=SEATS, seed=SEED, rounds=3, **more)


def test_an_open_appeal_stops_the_table_until_it_is_ruled_on(real_store: Store) -> None:  # noqa: F811
    played = Played(real_store, begin())
    played.bid(red=1, green=2)
    assert played.say(FileAppeal(house="red", against=2, statement="That was another card.")) == ""
    assert played.say(toy.Bid(by="blue", coins=1)) == "appeal-open"
    assert played.say(PassDeadline(player="blue", question=played.state.question), "deadline") == "appeal-open"
    assert played.act(RuleOnAppeal(appeal=1, outcome="declined", opinion="It was not.", **ACT)) == ""
    played.bid(blue=1)
    assert played.say(FileAppeal(house="red", against=2, statement="And yet.")) == "appeal-settled"
    played.end()
    played.verified()


def test_a_rewind_keeps_what_rests_on_the_same_and_asks_the_rest_anew(real_store: Store) -> None:  # noqa: F811
    played = Played(real_store, begin())
    played.bid(red=1, green=2, blue=3)
    kept = toy.Keep(by="blue", keep=False)
    assert played.say(kept) == ""
    poorer = {"fact": "CoinsChanged", "player": "green", "by": -1}
    back = Rewind(to=1, reason="Green had two.", causal=True, correction=(poorer,), unseen=True, present=True, **ACT)
    assert played.act(back) == ""
    offered = [fact for fact in played.facts() if isinstance(fact, AnswerOffered)]
    assert {fact.player: fact.kept for fact in offered} == {"red": True, "green": False, "blue": True}
    assert [one.player for one in toy.owed(played.state)] == ["green"]
    played.bid(green=2)
    assert isinstance(played.facts()[-1], Fact) and played.state.question == 5  # the choice was kept, too
    played.end()
    played.verified()


def test_a_seed_that_is_open_is_drawn_from_no_more(real_store: Store) -> None:  # noqa: F811
    played = Played(real_store, begin())
    played.end()
    assert any(isinstance(fact, SeedOpened) for fact in played.facts())
    assert played.act(Rewind(to=2, reason="Once more.", unseen=True, **ACT)) == "must-redraw"
    assert played.act(Rewind(to=2, reason="Once more.", seed="77" * 32, unseen=True, **ACT)) == ""
    assert not played.state.is_over and played.state.seeds[-1] == "77" * 32
    played.end()
    played.verified()


def test_a_correction_is_checked_and_carried_out(real_store: Store) -> None:  # noqa: F811
    played = Played(real_store, begin())
    for facts, code in (
        ([{"fact": "CoinsChanged", "player": "white", "by": 1}], "cannot-be-stated"),
        ([{"fact": "CoinsChanged", "player": "red", "by": -9}], "impossible-position"),
        ([{"fact": "GameOver", "winner": "red"}], "not-a-fact"),
        ([], "nothing-stated"),
        ([{"fact": "CoinsChanged", "player": "red", "by": 2}], ""),
    ):
        assert played.act(Correct(facts=tuple(facts), reason="r", unseen=True, present=True, **ACT)) == code
    assert played.state.coins["red"] == 5
    played.bid(red=5)
    played.end()
    played.verified()


def test_drafts_and_missed_deadlines(real_store: Store) -> None:  # noqa: F811
    played = Played(real_store, begin())
    assert played.say(toy.Bid(by="red", coins=3, draft=True)) == ""
    assert played.state.drafts["red"].coins == 3 and not played.state.answers
    assert played.say(PassDeadline(player="red"), "deadline") == "question-missing"
    number = played.state.question
    for player in ("red", "green", "blue"):
        assert played.say(PassDeadline(player=player, question=number), "deadline") == ""
    assert played.say(PassDeadline(player="red", question=number), "deadline") == "question-closed"
    played.end()
    played.verified()


def test_a_deadline_passes_when_it_is_due_and_once(real_store: Store) -> None:  # noqa: F811
    played = Played(real_store, begin())
    early, due, late = (f"2025-01-0{day}T12:00:00.000000Z" for day in (2, 3, 4))
    in_time = "2025-01-03T11:59:59.999999Z"
    number = played.state.question

    def passes(player: str, at: str, question: int = number) -> str:
        return played.say(PassDeadline(player=player, question=question), "deadline", at)

    assert played.say(SetDue(question=number, due=due), "command") == "not-your-seat"
    assert played.say(SetDue(question=number + 1, due=due), "system") == "question-closed"
    assert played.say(SetDue(question=number, due="tomorrow"), "system") == "not-an-instant"
    assert played.say(SetDue(question=number, due=due), "system") == ""
    for moment in (early, "2025-01-03T13:59:00+02:00", "2025-01-03T11:59:59Z", in_time):
        assert passes("red", moment) == "not-due"
    assert played.say(toy.Bid(by="green", coins=2), at=in_time) == ""
    assert passes("red", due) == ""
    assert played.state.answers["green"].coins == 2 and played.state.answers["red"].coins == 0
    assert passes("red", late) == passes("green", late) == "not-awaited"
    assert played.say(SetDue(question=number, due=""), "system", late) == ""  # from now on as the organiser likes
    assert passes("blue", late) == ""
    assert passes("blue", late) == "question-closed"
    last = played.state.question
    assert passes(toy.owed(played.state)[0].player, late, last) == ""  # what was due was the question before
    played.end()
    played.verified()


def test_a_deadline_that_is_written_as_earlier_than_it_came_is_found(real_store: Store) -> None:  # noqa: F811
    """The ruling rests on the time of its entry, so that no other one can be put in its place."""
    played = Played(real_store, begin())
    number, due = played.state.question, "2025-01-03T12:00:00.000000Z"
    assert played.say(SetDue(question=number, due=due), "system") == ""
    assert played.say(PassDeadline(player="red", question=number), "deadline", due) == ""
    version = real_store.version(GAME)
    stored = real_store.entry(GAME, version)
    assert stored is not None
    public = stored.public.replace(due.encode(), b"2025-01-02T12:00:00.000000Z", 1)
    prev = codec.entry(stored).prev
    parts = codec.write_parts(stored.sealed)
    fields = {"public": public, "sealed": parts, "digest": digest(prev, public, stored.sealed)}
    key = game_key(GAME, "ledger")
    rows = real_store.client.xrange(key)
    real_store.client.delete(key)
    for name, row in [*rows[:-1], (rows[-1][0], fields)]:
        real_store.client.xadd(key, row, id=name)
    found = verify_store(real_store, JUDGE, GAME).disagreement
    assert found is not None and found.seq == version


def test_seats_make_the_seed_together(real_store: Store) -> None:  # noqa: F811
    played = Played(real_store, toy.Gather(seats=SEATS, seed=SEED, rounds=2))
    shares = {"seat-1": "11" * 32, "seat-2": "22" * 32}
    for seat, share in shares.items():
        assert played.say(CommitShare(seat=seat, commitment=share_commitment(seat, share))) == ""
    assert played.say(CloseShares(), "system") == ""
    for seat, share in shares.items():
        assert played.say(OpenShare(seat=seat, share=share)) == ""
    assert played.state.charter.edition == "toy" and played.state.seeds[-1] == joint_seed(SEED, shares)
    played.end()
    played.verified()


def test_a_shared_seed_is_opened_when_the_last_table_has_ended(real_store: Store) -> None:  # noqa: F811
    played = Played(real_store, begin(shared=SharedSeed("cup", commitment(SEED))))
    assert toy.RULES.shared_seed(played.state) == (SharedSeed("cup", commitment(SEED)), "playing")
    assert played.say(OpenSharedSeed(shared="cup"), "system") == "shared-seed-in-use"
    played.end()
    assert not any(isinstance(fact, SeedOpened) for fact in played.facts())
    assert played.say(OpenSharedSeed(shared="league"), "system") == "no-such-shared-seed"
    assert played.say(OpenSharedSeed(shared="cup"), "system") == ""
    assert played.say(OpenSharedSeed(shared="cup"), "system") == "shared-seed-open"
    played.verified()


def test_reads_by_privilege_are_told_at_the_end(real_store: Store) -> None:  # noqa: F811
    played = Played(real_store, begin())
    assert played.act(ReadSecrets(who="luwin", what="the deck", why="a dispute")) == ""
    assert played.say(StateDraws(deck="deck", cards=("card-01",)), "system") == "draws-are-not-stated-here"
    played.end()
    opened = next(fact for fact in played.facts() if isinstance(fact, SecretsReadOpened))
    assert [one.who for one in opened.reads] == ["luwin"]
    played.verified()


def test_an_arbiter_who_plays_needs_the_tables_consent(real_store: Store) -> None:  # noqa: F811
    richer = ({"fact": "CoinsChanged", "player": "red", "by": 1},)
    played = Played(real_store, begin(arbitration=Arbitration(arbiter_may_play=False)))
    assert played.act(Correct(facts=richer, reason="r", by="red", plays="red")) == "arbiter-plays"


def test_a_game_stays_with_its_engine_until_it_is_amended(real_store: Store) -> None:  # noqa: F811
    played = Played(real_store, begin())
    assert toy.RULES.pinned(played.state) == toy.RULES.engine_of(played.state) == "toy/1"
    assert played.act(Amend(engine="toy/2", reason="r", **ACT)) == "unknown-engine"

    class Newer(toy.ToyRules):
        version = "2"

    newer = Judge(Newer())
    played.store.submit(GAME, submission(toy.Bid(by="red", coins=1), seat="seat-1", at=AT))
    assert adjudicate(played.store, newer, GAME).ruled == 0
    assert played.store.waiting_for_engines() == (GAME,)
    played.store.submit(GAME, submission(Amend(engine="toy/2", reason="r", **ACT), seat=None, cause="arbiter", at=AT))
    assert adjudicate(played.store, newer, GAME).ruled == 2  # the act first, then the letter that waited for it
    assert toy.RULES.pinned(played.store.line(GAME, newer).state) == "toy/2"


def test_imposed_draws_are_stated_as_they_fall_and_nobody_sees_them_before(real_store: Store) -> None:  # noqa: F811
    played = Played(real_store, toy.Begin(seats=SEATS, rounds=3, chance="imposed", decks={"deck": ("card-07",)}))
    played.bid(red=1, green=2, blue=3)
    kept = toy.Keep(by="blue", keep=True)
    assert played.say(kept) == "draw-not-stated"
    assert played.say(StateDraws(deck="deck", cards=("card-02", "card-05")), "system") == ""
    shown = codec.entry(played.store.entry(GAME, played.store.version(GAME)))  # type: ignore[arg-type]  # just made
    assert b"card-02" not in bytes(shown.command) + b"".join(map(bytes, shown.facts))
    assert played.say(kept) == ""
    assert played.state.hands == {"blue": ("card-07",)} and played.state.hidden.looked["green"] == "card-02"
    played.end()
    assert not any(isinstance(fact, SeedOpened) for fact in played.facts())
    played.verified()


def test_a_fork_says_whose_it_is_and_goes_on_from_there(real_store: Store) -> None:  # noqa: F811
    first = Played(real_store, begin())
    first.bid(red=1, green=2, blue=3)
    there, origin = first.state, Origin(game="toy-0", version=4, digest="ab" * 32, purpose="What if?")
    real_store.client.flushall()
    fork = Played(real_store, begin(position=there, hidden=there.hidden, reason="a fork", origin=origin, game=GAME))
    assert fork.state.docket.origin == origin and not there.docket.origin
    assert (fork.state.round, fork.state.coins) == (there.round, there.coins)
    assert [(one.player, one.kind) for one in toy.owed(fork.state)] == [("blue", "keep")]
    fork.end()
    fork.verified()


def test_nobody_chooses_what_a_shared_seed_deals() -> None:
    cup = SharedSeed("cup", commitment(SEED))
    for wrong, code in (
        (begin(shared=SharedSeed("cup", commitment("77" * 32))), "shared-seed-differs"),
        (begin(shared=cup, decks={"deck": ("card-01",)}), "shared-seed-alone"),
        (begin(shared=cup, chance="stated"), "shared-seed-alone"),
        (toy.Begin(seats=SEATS, seed="a guess"), "seed-missing"),
        (toy.Begin(seats={"seat-1": "red"}, seed=SEED), "wrong-players"),
    ):
        with pytest.raises(Refusal) as caught:
            toy.RULES.decide(toy.RULES.blank(), wrong)
        assert caught.value.code == code
