"""A game that nobody here can rule on: everybody is told what it waits for."""

from __future__ import annotations

import socket

import fakeredis
import pytest

from api.desk import Desk
from api.doctor import of_games
from api.games.thrones.refusals import explain
from api.games.thrones.sentences import NAMES
from api.metrics import Exporter
from api.tokens import Caller, Tokens
from domain.kernel.refusal import Refusal
from domain.thrones.ruleset import THRONES
from events.ruling import Judge
from events.store import Store
from events.verify import verify_store
from tests.api.serving import OPERATOR, SIGNER
from worker.adjudicate import leave
from worker.figures import Address, Figures
from worker.settings import BadSetting

GAME = "winter"
SEATS = {"alice": "stark", "bob": "lannister", "carol": "baratheon"}


@pytest.fixture
def desk() -> Desk:
    """A server with a game that no worker has begun."""
    store = Store(fakeredis.FakeRedis())
    found = Desk(store, Tokens(store, OPERATOR, clock=store.now), None, Judge(THRONES), signer=SIGNER)
    found.create(edition="second-edition", players=3, seats=SEATS, game=GAME)
    return found


def test_a_letter_to_a_game_that_nobody_here_can_begin_says_so(desk: Desk) -> None:
    for engine, said in (
        ("", "The game has not begun."),
        ("thrones/0123", "its beginning waits for a worker of thrones/0123, or for rookery amend."),
        ("battles", "its beginning waits for a worker that knows the game battles."),
        ("schema-9", "its beginning waits for a newer Rookery, one that reads schema 9."),
    ):
        if engine:
            leave(desk.store, GAME, engine, "thrones/here")
        with pytest.raises(Refusal) as refused:
            desk.read_letter(GAME, Caller("seat", "alice"), "march winterfell -> karhold: footman")
        assert explain(refused.value.code, refused.value.params, NAMES).endswith(said)


def test_doctor_names_what_games_wait_for(desk: Desk) -> None:
    assert not [one for one in of_games(desk.store) if one.level != "ok"]
    leave(desk.store, GAME, "thrones/0123", "thrones/here")
    (found,) = [one for one in of_games(desk.store) if one.level != "ok"]
    assert (found.name, found.level) == ("engines", "warning")
    assert found.says == "Game winter waits for a worker of thrones/0123, or for rookery amend."


def test_a_held_game_without_entries_is_a_finding(desk: Desk) -> None:
    judge = Judge(THRONES)
    assert verify_store(desk.store, judge, GAME).disagreement is None
    assert desk.store.mark_lost(GAME, b"{}")
    found = verify_store(desk.store, judge, GAME).disagreement
    assert found is not None and (found.seq, found.what) == (1, "lost")


def test_an_address_of_figures_that_somebody_else_uses_is_a_setting_that_cannot_be_used(desk: Desk) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BadSetting) as refused:
            Exporter(Address("127.0.0.1", port), desk, Figures())
        assert f"127.0.0.1:{port}" in str(refused.value) and "in use" in str(refused.value)
