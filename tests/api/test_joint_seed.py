"""The seed that server and seats make together: bound, opened, proven; refusals in a table."""

from __future__ import annotations

import hashlib
import random
from typing import Any

import fakeredis
import pytest

from api.bundling import bundle
from api.proving import prove
from api.tokens import Caller
from domain.kernel.commands import Command
from domain.kernel.joint import CloseShares, CommitShare, OpenShare, joint_seed, share_commitment
from domain.thrones.ruleset import THRONES
from events import codec
from events.bundle import unpack
from events.envelope import Refused, encode
from events.export import export_game, import_game
from events.store import Store
from tests.api.test_tampering import GAME, JUDGE, SEATS, desk_on, go_on
from worker.adjudicate import adjudicate

SHARES = {seat: f"{number:064x}" for number, seat in enumerate(SEATS, 1)}
SERVER = "5e" * 32


class Table:
    """A game that is still to begin."""

    def __init__(self, deal: bool = False, edition: str = "second-edition") -> None:
        self.desk = desk_on(Store(fakeredis.FakeRedis()))
        self.desk.create(
            edition=edition, players=3, seats=SEATS, game=GAME, seed=SERVER, key="begin", joint=True, deal=deal
        )
        adjudicate(self.desk.store, JUDGE, GAME)

    def send(self, who: str, command: Command) -> str:
        """What becomes of a command: a code when it is refused."""
        caller = Caller("organiser") if who == "organiser" else Caller("seat", who)
        receipt = self.desk.submit(GAME, caller, encode(command), cause="arbiter")
        adjudicate(self.desk.store, JUDGE, GAME)
        stored = self.desk.ruling(GAME, receipt.inbox)
        assert stored is not None
        verdict = codec.entry(stored).verdict
        return verdict.code if isinstance(verdict, Refused) else ""

    def commit(self, *seats: str) -> None:
        for seat in seats:
            assert not self.send(seat, CommitShare(seat, share_commitment(seat, SHARES[seat])))

    def open(self, *seats: str) -> None:
        for seat in seats:
            assert not self.send(seat, OpenShare(seat, SHARES[seat]))

    @property
    def state(self) -> Any:
        return self.desk.line(GAME).state


def test_the_seed_is_made_of_all_parts_and_proven_to_everybody() -> None:
    table = Table()
    table.commit(*SEATS)
    table.open("carol", "alice")
    assert not table.state.charter.edition and not THRONES.decisions(table.state)
    table.open("bob")
    parts = [SERVER, *(SHARES[seat] for seat in sorted(SEATS))]
    assert table.state.hidden.seed == hashlib.sha256(bytes.fromhex("".join(parts))).hexdigest()
    assert table.state.charter.seats == SEATS
    go_on(table.desk, 10_000, random.Random(3))
    full = prove(list(export_game(table.desk.store, GAME)))
    assert full.is_confirmed and not full.drawn.unproven, full.findings[:3]
    public = prove(list(export_game(table.desk.store, GAME, full=False)))
    assert public.is_confirmed and public.drawn.proven >= 20, public.findings[:3]


def test_houses_are_dealt_by_the_seed_of_all() -> None:
    dealt = set()
    for last in ("00" * 32, "01" * 32, "02" * 32, "03" * 32):
        table = Table(deal=True)
        table.commit("alice", "bob")
        assert not table.send("carol", CommitShare("carol", share_commitment("carol", last)))
        table.open("alice", "bob")
        assert not table.send("carol", OpenShare("carol", last))
        dealt.add(tuple(sorted(table.state.charter.seats.items())))
    assert len(dealt) > 1


def test_the_organiser_goes_on_without_those_who_are_missing_and_the_record_names_them() -> None:
    table = Table()
    table.commit("alice", "bob")
    assert not table.send("organiser", CloseShares())
    table.open("alice")
    assert not table.send("organiser", CloseShares())
    assert table.state.hidden.seed == joint_seed(SERVER, {"alice": SHARES["alice"]})
    assert table.state.docket.joint.withheld == ("bob",)
    assert table.state.charter.edition
    assert prove(list(export_game(table.desk.store, GAME))).is_confirmed


def test_nobody_adds_anything_and_the_server_is_alone() -> None:
    table = Table()
    assert not table.send("organiser", CloseShares())
    assert table.state.hidden.seed == joint_seed(SERVER, {})


@pytest.mark.parametrize(
    ("before", "who", "command", "code"),
    [
        ("", "alice", CommitShare("bob", "00" * 32), "not-your-seat"),
        ("", "alice", CommitShare("alice", "00"), "not-32-bytes"),
        ("", "alice", CloseShares(), "not-your-seat"),
        ("", "alice", OpenShare("alice", SHARES["alice"]), "shares-not-closed"),
        ("commit", "alice", CommitShare("alice", "00" * 32), "share-committed"),
        # Once the game has begun, seats speak for Houses.
        ("close", "alice", CommitShare("alice", "00" * 32), "not-your-seat"),
        ("close", "organiser", CloseShares(), "no-shares-wanted"),
        ("all", "alice", OpenShare("alice", SHARES["bob"]), "share-differs"),
        ("all", "alice", OpenShare("alice", "x"), "not-32-bytes"),
        ("begun", "alice", OpenShare("alice", SHARES["alice"]), "not-your-seat"),
    ],
)
def test_refusals(before: str, who: str, command: Command, code: str) -> None:
    table = Table()
    if before == "commit":
        table.commit("alice")
    if before == "close":
        table.send("organiser", CloseShares())
    if before in ("all", "begun"):
        table.commit(*SEATS)
    if before == "begun":
        table.open(*SEATS)
    assert table.send(who, command) == code


def test_a_seed_that_is_not_made_of_the_parts_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that takes another seed is found by its rulings, and by the seeds once they are open."""
    table = Table()
    table.commit(*SEATS)
    table.open("alice", "bob")
    with monkeypatch.context() as forging:
        forging.setattr("domain.kernel.game.joint_seed", lambda server, shares: "66" * 32)
        table.open("carol")
    go_on(table.desk, 10_000, random.Random(3))
    full = prove(list(export_game(table.desk.store, GAME)))
    assert full.report is not None and full.report.disagreement is not None and full.report.disagreement.seq == 7
    public = prove(list(export_game(table.desk.store, GAME, full=False)))
    assert [one.detail for one in public.findings] == [
        "the seed is not the one that server and seats have made together"
    ]


def test_a_game_that_is_still_to_begin_can_be_read_moved_and_packed() -> None:
    table = Table()
    table.commit("alice")
    told = "The game has not begun. It waits until everybody is bound to its part of the seed; missing: bob, carol."
    assert table.desk.board(GAME, Caller("seat", "alice"))[1] == told
    assert [one.sentences[0] for one in table.desk.log(GAME, Caller())][1].startswith("Seat alice is bound")
    there = desk_on(Store(fakeredis.FakeRedis()))
    import_game(there.store, unpack(bundle(table.desk, GAME, full=True)).lines)
    table.desk = there
    table.commit("bob", "carol")
    table.open(*SEATS)
    assert table.state.charter.edition


def test_seats_read_what_is_agreed_before_they_add_to_the_seed() -> None:
    table = Table(edition="first-edition")
    assert table.desk.agreed(GAME).edition == "first-edition"
    [entry] = table.desk.log(GAME, Caller("public"))
    assert "First Edition is agreed on" in entry.sentences[0]
    assert "number of copies of each Westeros card" in entry.sentences[0]
    table.commit(*SEATS)
    table.open(*SEATS)
    assert table.state.charter == table.desk.agreed(GAME)
    assert table.state.round == 1


def test_a_game_that_is_still_to_begin_says_whom_it_waits_for() -> None:
    table = Table()

    def missing() -> str:
        return table.desk.board(GAME, Caller())[1].rpartition("; ")[2]

    assert missing() == "missing: alice, bob, carol."
    table.commit("carol")
    assert missing() == "missing: alice, bob."
    table.commit("alice")
    assert not table.send("organiser", CloseShares())
    assert missing() == "missing: alice, carol.", "bob is left out"
    table.open("carol")
    assert "everybody has opened its part" in table.desk.board(GAME, Caller("organiser"))[1]
    assert missing() == "missing: alice."
