"""A game that nobody here can rule on: everybody is told what it waits for."""

from __future__ import annotations

import asyncio
from pathlib import Path

import fakeredis
import pytest

from api.app import create_app
from api.desk import Desk
from api.doctor import of_games
from api.games.thrones.refusals import explain
from api.games.thrones.sentences import NAMES
from api.routes import commands
from api.tokens import Caller, Tokens
from domain.kernel.refusal import Refusal
from domain.thrones.ruleset import THRONES, Thrones
from events.errors import GameHeld, RecordDamaged
from events.ruling import Judge
from events.store import Store
from events.verify import verify_store
from tests.api.asgi import Client
from tests.api.serving import OPERATOR, SIGNER
from tests.api.test_cli import Rookery
from worker.adjudicate import leave, stop

GAME = "winter"
LETTER = "game: winter\nhouse: stark\norders winterfell march"
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


def test_a_letter_to_a_game_that_is_parked_or_lost_at_its_beginning_says_so(desk: Desk) -> None:
    stop(desk.store, GAME, RecordDamaged(1, "it does not fit"))
    with pytest.raises(Refusal) as refused:
        desk.read_letter(GAME, Caller("seat", "alice"), "pass")
    said = explain(refused.value.code, refused.value.params, NAMES)
    assert said == "The game has not begun: its beginning waits for its operator, since it is parked."
    assert desk.store.mark_lost(GAME, b"{}")
    with pytest.raises(GameHeld):
        desk.read_letter(GAME, Caller("seat", "alice"), "pass")


def test_http_sends_nobody_back_in_a_moment_where_the_beginning_waits(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "BEGIN_SECONDS", 0.1)
    client = Client(create_app(desk))
    token = desk.tokens.issue(GAME, "alice")
    for engine, says, after in (
        ("", "in a moment", "2"),
        ("schema-9", "its beginning waits for a newer Rookery", "600"),
    ):
        if engine:
            leave(desk.store, GAME, engine, "thrones/here")
        told = asyncio.run(client.post(f"/v1/games/{GAME}/commands", token, b"pass", {"content-type": "text/plain"}))
        assert (told.status, told.json()["code"], told.header("retry-after")) == (503, "not-begun", after)
        assert says in told.json()["detail"]


@pytest.fixture
def rookery(tmp_path: Path) -> Rookery:
    """A data directory with a game of the engine here."""
    found = Rookery(tmp_path / "data")
    found.at_once("new", "--players", "3", "--game", GAME)
    return found


def test_games_and_doctor_name_the_engine_that_a_game_waits_for(
    rookery: Rookery, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinned = rookery.at_once("amend", GAME, "--reason", "r", "--json").json["games"][0]["from"]
    assert pinned.startswith("thrones/")
    monkeypatch.setattr(Thrones, "engine_of", lambda rules, state: "thrones/newer")

    (told,) = rookery.at_once("games", "--json").json["games"]
    assert (told["waits_for_engine"], told["ruled_by"]) == (None, pinned)
    assert f"ruled by {pinned}, another engine than the one here" in _flat(rookery.at_once("games").out)
    (said,) = [one for one in rookery.at_once("doctor", "--json").json["checks"] if one["name"] == "engine"]
    assert said["level"] == "warning"
    assert said["says"] == f"Game {GAME} is ruled by {pinned}, not by the engine here: a worker of that one, or amend."

    sent = rookery.at_once("submit", "-", letter=LETTER, code=4)
    assert f"It waits for a worker of {pinned}, or for rookery amend." in _flat(sent.err)
    assert "not sent" not in sent.out, "it is in the store"
    (told,) = rookery.at_once("games", "--json").json["games"]
    assert (told["waits_for_engine"], told["unruled"]) == (pinned, 1)
    assert f"waits for a worker of {pinned}" in _flat(rookery.at_once("games").out)


def _flat(text: str) -> str:
    """A table breaks what it has no room for."""
    return " ".join(text.split())


def test_amend_says_what_the_ids_of_engines_are(rookery: Rookery, monkeypatch: pytest.MonkeyPatch) -> None:
    same = rookery.at_once("amend", GAME, "--reason", "r").out
    assert "An engine is named after how it rules: thrones/" in same
    assert "already: amended or not, it goes on as it does." in same
    monkeypatch.setattr(Thrones, "engine_of", lambda rules, state: "thrones/newer")
    told = rookery.at_once("amend", GAME, "--reason", "r").out
    assert f"thrones/newer on those played like {GAME}." in told
    assert "; once amended, by thrones/newer, from its next entry on." in told
