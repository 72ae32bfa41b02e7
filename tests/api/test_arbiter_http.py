"""The arbiter over HTTP: a real server on a port, a real Valkey, a real worker."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import msgspec
import pytest

from domain.kernel.arbiter import Correct, Rewind
from events.embedded import Embedded
from events.envelope import encode
from events.verify import verify_store
from tests.api.serving import OPERATOR, Place, ruling, serving, sit_down, store_of
from tests.api.test_http import check_problem


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with (
        Embedded(tmp_path_factory.mktemp("arbiter")) as embedded,
        ruling(embedded) as bell,
        serving(store_of(embedded), bell) as running,
    ):
        yield running


@pytest.fixture(scope="module")
def http(place: Place) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=place.url, timeout=60) as client:
        yield client


class Court:
    """A game of three whose orders are in, and an arbiter."""

    def __init__(self, place: Place, http: httpx.Client, **order: Any) -> None:
        self.table = sit_down(place, http, seed="5e" * 32, **order)
        self.arbiter = self.token("luwin")

    def token(self, name: str, by: str | None = "organiser", code: int = 201, **order: Any) -> str:
        answer = self.table.http.post(
            f"{self.table.path}/arbiters/{name}/token", json=order, headers=self.table.bearer(by)
        )
        assert answer.status_code == code, answer.text
        return str(answer.json().get("token", answer.json().get("code")))

    def orders(self) -> None:
        for house in ("stark", "lannister", "baratheon"):
            assert self.table.send(house, self.table.letter(house)).status_code == 201

    def post(
        self,
        what: str,
        body: Any,
        token: str | None = None,
        version: int | None = None,
        headers: dict[str, str] | None = None,
    ) -> httpx.Response:
        sent = {"Authorization": f"Bearer {token or self.arbiter}", "Prefer": "wait=20", **(headers or {})}
        if version is not None:
            sent["If-Match"] = f'"{version}"'
        return self.table.http.post(f"{self.table.path}/{what}", json=body, headers=sent)

    def get(self, what: str, token: str | None = None) -> httpx.Response:
        return self.table.http.get(
            f"{self.table.path}/{what}", headers={"Authorization": f"Bearer {token or self.arbiter}"}
        )

    @property
    def version(self) -> int:
        return int(self.table.get("").json()["version"])

    def sound(self) -> bool:
        report = verify_store(self.table.place.desk.store, self.table.place.desk.judge, self.table.game)
        return report.is_confirmed


@pytest.fixture
def court(place: Place, http: httpx.Client) -> Court:
    return Court(place, http)


POWER = {"fact": "PowerChanged", "house": "stark", "by": 1}


# Certificates and time travel


def test_a_certificate_explains_a_ruling_as_data_and_as_text(court: Court) -> None:
    court.orders()
    told = court.table.get("/entries/4/certificate").json()
    assert (told["entry"], told["by"]) == (4, "Baratheon")
    assert {"2E-PLN-2"} <= {rule["id"] for rule in told["rules"]}
    assert all(rule["text"] for rule in told["rules"])
    assert "Baratheon: assign-orders" in told["before"] and ", order " in told["after"]
    text = court.table.get("/entries/4/certificate", accept="text/plain")
    assert text.headers["content-type"].startswith("text/plain")
    assert text.text.startswith("RULING 4 of game") and "BOARD AFTER" in text.text
    check_problem(court.table.get("/entries/99/certificate"), 404, "no-such-version")


def test_a_certificate_shows_everybody_only_what_he_may_see(court: Court) -> None:
    court.table.send("stark", court.table.letter("stark"))
    own = court.table.get("/entries/2/certificate", "stark").json()
    assert "orders" in own["decided"][0]
    for other in (None, "lannister", "organiser", "operator"):
        assert court.table.get("/entries/2/certificate", other).json()["decided"] == []
    first = court.table.get("/entries/1/certificate").json()
    assert len(first["draws"]) == 4
    assert all((one["order"], one["salt"], one["body"]) == ([], "", "") for one in first["draws"])


def test_every_reading_takes_a_time(court: Court) -> None:
    court.orders()
    moments = [entry["at"] for entry in court.table.get("/log").json()["entries"]]
    for what in ("/view", "/board", "", "/log"):
        answer = court.table.http.get(f"{court.table.path}{what}", params={"at": moments[1]})
        assert answer.status_code == 200
        assert answer.headers["etag"].strip('"').split("-")[0] == "2"
    assert court.table.http.get(f"{court.table.path}/view?at=2020-01-01T00:00:00Z").json()["version"] == 0
    east = moments[1].replace("Z", "+00:00")
    assert court.table.http.get(f"{court.table.path}/view?at={east}").json()["version"] == 2
    for wrong in ("yesterday", "2025-01-31T18:00:00", "1.5"):
        check_problem(court.table.get(f"/view?at={wrong}"), 400, "bad-parameter")
    assert court.table.get(f"/owed?at={moments[1]}", "stark").json()["owes"] == []
    assert [one["seq"] for one in court.table.get("/log?at=2").json()["entries"]] == [1, 2]


# Who may


ROUTES: tuple[tuple[str, Any], ...] = (
    ("rewind/plan", {"to": 1}),
    ("rewind", {"to": 1, "reason": "because"}),
    ("correct/plan", {"facts": [POWER]}),
    ("correct", {"facts": [POWER], "reason": "because"}),
    ("rule-on-appeal", {"appeal": 1, "outcome": "declined", "opinion": "no"}),
    ("amend", {"reason": "because"}),
)


@pytest.mark.parametrize(("what", "body"), ROUTES)
def test_nobody_else_does_an_arbiters_work(court: Court, what: str, body: Any) -> None:
    court.orders()
    version = court.version
    amends = what == "amend"
    for who in ("stark",) if amends else ("stark", "organiser"):
        token = court.table.bearer(who)["Authorization"].removeprefix("Bearer ")
        problem = check_problem(court.post(what, body, token, version), 403, "not-allowed")
        assert problem["params"]["needed"] == ("the organiser or an arbiter" if amends else "an arbiter")
    answer = court.table.http.post(f"{court.table.path}/{what}", json=body)
    check_problem(answer, 401, "token-missing")
    assert court.version == version


@pytest.mark.parametrize(
    "command",
    [Rewind(to=1, reason="mine"), Correct(facts=(POWER,), reason="mine"), Rewind(to=1, reason="x", seed="ab" * 32)],
)
def test_an_arbiters_command_of_a_seat_is_refused_in_the_ledger(court: Court, command: Any) -> None:
    court.orders()
    answer = court.table.send("stark", msgspec.to_builtins(command))
    assert answer.status_code in (403, 409)
    assert court.table.get("/log?after=4").json()["entries"][0]["verdict"]["verdict"] == "refused"
    assert court.table.get("").json()["round"] == 1


def test_an_arbiter_answers_for_nobody_and_passes_no_deadline(court: Court) -> None:
    for said in (
        {"kind": "pass-deadline", "player": "stark"},
        {"kind": "raid", "house": "stark", "area": "winterfell"},
    ):
        check_problem(court.post("commands", said), 403, "not-allowed")
    check_problem(court.get("owed"), 403, "not-allowed")
    assert court.get("view").json()["house"] is None


def test_who_plays_may_arbitrate_only_where_the_charter_says_so(place: Place, http: httpx.Client) -> None:
    court = Court(place, http)
    assert court.token("ned", code=403, seat=court.table.seat("stark")) == "arbiter-plays"
    assert court.token("ned", code=404, seat="nobody") == "seat-unknown"
    assert court.token("ned", by="stark", code=403) == "not-allowed"
    # A token from before such a rule does not help: the bench and the ruling look again.
    player = place.desk.tokens.issue_arbiter(court.table.game, "robb", court.table.seat("stark"))
    check_problem(court.post("rewind/plan", {"to": 1}, player), 403, "arbiter-plays")
    friendly = Court(place, http, arbitration={"arbiter-may-play": True})
    friendly.orders()
    token = friendly.token("ned", seat=friendly.table.seat("stark"))
    assert friendly.post("correct", {"facts": [POWER], "reason": "missing"}, token, 4).status_code == 201
    entry = friendly.table.get("/entries/5").json()
    assert (entry["command"]["by"], entry["command"]["plays"]) == ("ned", "stark")
    told = friendly.table.get("/entries/5/certificate").json()
    assert told["by"] == "the arbiter (ned, who plays Stark)"
    issues = friendly.table.get("/tokens").json()["issues"]
    assert [one["plays"] for one in issues if one["who"] == "arbiter:ned"] == [friendly.table.seat("stark")]


def test_no_arbiter_has_a_name_that_reads_like_somebody_elses(place: Place, http: httpx.Client) -> None:
    court = Court(place, http, arbitration={"arbiter-may-play": True})
    own, other = court.table.seat("stark"), court.table.seat("lannister")
    offices = ("operator", "organiser", "organizer", "arbiter", "server", "system", "oper-ator")
    for name in (*offices, own, other, "stark", "lan-nister", "greyjoy", "martell"):
        assert court.token(name, code=422) == "reserved-name", name
    for name in ("operator", other, "lannister"):
        assert court.token(name, code=422, seat=own) == "reserved-name", name
    for name in (own, "stark"):
        assert court.token(name, seat=own)
    for name in ("Luwin", "a b", "x" * 65, "n\u200bed"):
        assert court.token(name, code=422) == "bad-name", name
    assert court.token("the.operators-friend")
    older = place.desk.tokens.issue_arbiter(court.table.game, "operator")
    check_problem(court.post("correct", {"facts": [POWER], "reason": "x"}, older, 1), 422, "reserved-name")


def test_a_new_token_makes_the_old_one_of_that_arbiter_void(court: Court) -> None:
    other = court.token("pycelle")
    again = court.token("luwin", by="operator")
    assert court.get("view", again).status_code == court.get("view", other).status_code == 200
    check_problem(court.get("view"), 401, "token-unknown")


# Secrets


def test_a_perspective_before_the_end_is_recorded_with_its_reason(court: Court) -> None:
    court.table.send("stark", court.table.letter("stark"))
    check_problem(court.get("perspective?house=lannister"), 422, "why-missing")
    for who in ("stark", "organiser", None):
        assert court.table.get("/perspective?house=lannister&why=curious", who).status_code in (401, 403)
    assert court.version == 2
    told = court.get("perspective?house=lannister&why=a dispute about orders").json()
    assert told["known"]["own"] == {} and told["known"]["house"] == "lannister"
    assert "stark" in told["hidden"]["answers"]
    assert told["hidden"]["seed"] == "" and told["hidden"]["decks"] == {}
    log = court.table.get("/log?after=2").json()["entries"]
    assert [fact["fact"] for fact in log[0]["facts"]] == ["PrivilegeUsed", "SecretsRead"]
    for who in (None, "stark", "organiser", "operator"):
        assert "a dispute" not in court.table.get("/log", who).text
        assert "luwin" not in court.table.get("/log", who).text
    reads = court.table.get("/secrets-read").json()["reads"]
    assert reads == [{"entry": 3, "at": log[0]["at"], "who": None, "what": None, "why": None}]
    assert court.sound()


def test_the_charter_may_open_the_list_at_once(place: Place, http: httpx.Client) -> None:
    court = Court(place, http, arbitration={"secrets-log": "at-once"})
    court.get("perspective?house=stark&why=a dispute")
    read = court.table.get("/secrets-read").json()["reads"][0]
    assert (read["who"], read["why"]) == ("arbiter luwin", "a dispute")
    assert "version 1" in read["what"]


# Plans and acts


def test_a_plan_is_made_and_applied(court: Court) -> None:
    court.orders()
    raven = court.table.get("").json()["awaited"][0]
    court.table.send(raven["player"], court.table.letter(raven["player"]))
    version = court.version
    order = {"to": 4, "reason": "Stark's Power was miscounted", "causal": True, "correction": [POWER]}
    answer = court.post("rewind/plan", order)
    plan = answer.json()
    assert answer.headers["etag"] == f'"{version}"'
    assert plan["struck"] == [5]
    assert (plan["kept"], plan["asked_anew"], plan["offered_later"]) == (1, 0, 0)
    assert court.version == version, "a plan of what is public leaves no trace"
    done = court.post("rewind", order, version=version)
    assert done.status_code == 201, done.text
    facts = [fact["fact"] for fact in done.json()["ruling"]["facts"]]
    assert facts[0] == "Rewound" and "PowerChanged" in facts and "AnswerOffered" in facts
    log = court.table.get("/log").json()["entries"]
    assert log[4]["struck"] == {"by": 6, "reason": "Stark's Power was miscounted"}
    assert all("struck" not in entry for entry in log if entry["seq"] != 5)
    struck = court.table.get("/entries/5", if_none_match='"5"')
    assert (struck.status_code, struck.headers["etag"]) == (200, '"5-struck-6"')
    assert "STRUCK OUT by entry 6" in court.table.get("/entries/5/certificate", accept="text/plain").text
    assert "struck out: entry 5, by entry 6" in court.table.get("/board").text
    assert "arbiter (luwin)" in court.table.get("/entries/6/certificate").json()["by"]
    assert court.sound()


def test_a_plan_that_opens_sealed_answers_needs_a_reason_and_is_recorded(court: Court) -> None:
    court.table.send("stark", court.table.letter("stark"))
    order = {"to": 1, "causal": True}
    check_problem(court.post("rewind/plan", order), 422, "why-missing")
    assert court.version == 2
    plan = court.post("rewind/plan", {**order, "why": "is it kept?"}).json()
    assert plan["version"] == court.version == 3
    assert [(one["house"], one["outcome"]) for one in plan["answers"]] == [("stark", "kept")]
    assert plan["answers"][0]["said"].startswith("orders ")
    assert len(court.table.get("/secrets-read").json()["reads"]) == 1


def test_an_act_without_a_plan_or_a_reason_is_refused(court: Court) -> None:
    court.orders()
    check_problem(court.post("rewind", {"to": 1, "reason": "x"}), 428, "plan-missing")
    check_problem(court.post("rewind", {"to": 1}, version=4), 422, "reason-missing")
    check_problem(court.post("rewind/plan", {"to": 4}), 422, "no-such-entry")
    check_problem(court.post("correct/plan", {"facts": [{"fact": "GameWon"}]}), 422, "not-a-fact")
    check_problem(court.post("rewind", {"to": 1, "resaon": "x"}, version=4), 422, "wrong-shape")
    assert court.version == 4


def test_a_plan_out_of_date_is_refused_and_leaves_no_trace(court: Court) -> None:
    court.orders()
    problem = check_problem(court.post("rewind", {"to": 1, "reason": "x"}, version=3), 409, "plan-out-of-date")
    assert problem["params"] == {"expected": 3, "version": 4}
    assert "entry" not in problem
    assert court.version == 4


def test_what_overtakes_an_act_between_desk_and_ruling_makes_it_a_refused_entry(court: Court) -> None:
    """The edge looked, and then somebody was quicker: the ruling looks again, also for a sealed command."""
    court.orders()
    before = court.version - 1
    for seed in ("", "ab" * 32):
        version = court.version
        late = encode(Rewind(to=1, reason="late", expected=before, seed=seed, by="luwin"))
        desk = court.table.place.desk
        caller = desk.tokens.caller(court.table.game, court.arbiter)
        assert caller is not None
        receipt = desk.submit(court.table.game, caller, late, cause="arbiter")
        assert desk.ruling(court.table.game, receipt.inbox, 20) is not None
        code = court.table.get(f"/entries/{version + 1}").json()["verdict"]["code"]
        assert code == ("refused-in-secret" if seed else "plan-out-of-date")
    assert court.sound()


def test_entries_that_change_nothing_keep_no_arbiter_from_acting(court: Court) -> None:
    """Whoever sends junk after every plan: the plan holds all the same, and the rewind strikes the junk out, too."""
    court.orders()
    version = court.version
    stark = court.table.bearer("stark")["Authorization"].removeprefix("Bearer ")
    for _ in range(3):
        check_problem(court.post("appeal", {"against": 1, "statement": ""}, stark), 409, "statement-missing")
    assert court.get("perspective?house=stark&why=to+look").status_code == 200
    assert court.version == version + 4
    done = court.post("rewind", {"to": 2, "reason": "a wrong order"}, version=version)
    assert done.status_code == 201, done.text
    assert done.json()["ruling"]["facts"][0]["last"] == version + 4
    late = court.post("rewind", {"to": 1, "reason": "a wrong order"}, version=version)
    assert check_problem(late, 409, "plan-out-of-date")["params"] == {"expected": version, "version": version + 5}
    assert court.sound()


def test_the_organiser_may_amend(court: Court) -> None:
    organiser = court.table.bearer("organiser")["Authorization"].removeprefix("Bearer ")
    done = court.post("amend", {"reason": "agreed"}, organiser)
    assert done.status_code == 201, done.text
    assert done.json()["ruling"]["command"]["by"] == "organiser"


def test_of_two_arbiters_at_once_one_wins_and_the_other_is_told(court: Court) -> None:
    court.orders()
    version = court.version
    tokens = [court.arbiter, court.token("pycelle")]

    def act(number: int) -> httpx.Response:
        body = {"to": 2 + number % 2, "reason": f"as arbiter {number} sees it", "redraw": number > 1}
        return court.post("rewind", body, tokens[number % 2], version)

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(act, range(4)))
    won = [one for one in answers if one.status_code == 201]
    assert len(won) == 1, [one.text for one in answers]
    for lost in answers:
        if lost is not won[0]:
            assert check_problem(lost, 409, "plan-out-of-date")["params"]["expected"] == version
    accepted = [
        entry
        for entry in court.table.get(f"/log?after={version}").json()["entries"]
        if entry["verdict"]["verdict"] == "accepted"
    ]
    assert [entry["facts"][0]["fact"] for entry in accepted] == ["Rewound"]
    assert court.sound()


def test_an_arbiter_and_a_player_at_once(court: Court) -> None:
    """Whoever comes second is refused: the arbiter's plan is out of date, or the player's question is closed."""
    court.orders()
    for _ in range(4):
        version = court.version
        awaited = court.table.get("").json()["awaited"][0]["player"]
        owes = court.table.get("/owed", awaited).json()
        said = {**owes["owes"][0]["default"], "question": owes["owes"][0]["question"]}
        plan = {"to": 3, "reason": "too early", "causal": True}
        with ThreadPoolExecutor(2) as pool:
            arbiter = pool.submit(court.post, "rewind", plan, None, version)
            player = pool.submit(court.table.send, awaited, said)
            codes = (arbiter.result().status_code, player.result().status_code)
        assert codes in ((201, 409), (409, 201)), (arbiter.result().text, player.result().text)
        lost = arbiter.result() if codes[0] == 409 else player.result()
        assert lost.json()["code"] in ("plan-out-of-date", "question-closed")
    assert court.sound()


def test_a_redraw_takes_a_new_seed_that_nobody_sees(court: Court) -> None:
    court.orders()
    answer = court.post("rewind", {"to": 1, "reason": "the decks are known", "redraw": True}, version=4)
    told = answer.json()["ruling"]
    assert answer.status_code == 201 and told["facts"][0]["redrawn"]
    assert told["command"] is None, "it holds the seed"
    committed = [fact for fact in told["facts"] if fact.get("fact") == "SeedCommitted"]
    assert len(committed) == 1
    problem = court.post("rewind", {"to": 77, "reason": "x", "redraw": True}, version=5)
    assert check_problem(problem, 409, "no-such-entry")["entry"] == 6, "the arbiter is told, though it is sealed"
    assert court.sound()


def test_a_repetition_under_its_key_counts_once(court: Court) -> None:
    court.orders()
    order = {"to": 2, "reason": "once", "redraw": True}
    first = court.post("rewind", order, version=4, headers={"Idempotency-Key": "one"})
    again = court.post("rewind", order, version=4, headers={"Idempotency-Key": "one"})
    assert (first.status_code, again.status_code) == (201, 200), again.text
    assert first.json()["inbox"] == again.json()["inbox"]


# Appeals


def test_an_appeal_stops_the_game_until_the_arbiter_has_ruled(court: Court) -> None:
    court.orders()
    stark = court.table.bearer("stark")["Authorization"].removeprefix("Bearer ")
    check_problem(court.post("appeal", {"against": 4, "statement": "x"}), 403, "not-allowed")
    check_problem(court.post("appeal", {"against": 9, "statement": "x"}, stark), 409, "no-such-entry")
    filed = court.post("appeal", {"against": 4, "statement": "these are not my orders"}, stark)
    assert filed.status_code == 201, filed.text
    awaited = court.table.get("").json()["awaited"][0]["player"]
    check_problem(court.table.send(awaited, court.table.letter(awaited)), 409, "appeal-open")
    missed = {"kind": "pass-deadline", "player": awaited, "question": court.table.get("").json()["question"]}
    check_problem(court.table.send("organiser", missed), 409, "appeal-open")
    assert "appeal 1 of Stark against entry 4 is open" in court.table.get("/board").text
    ruled = court.post("rule-on-appeal", {"appeal": 1, "outcome": "upheld", "opinion": "They are."})
    assert ruled.status_code == 201
    again = court.post("rule-on-appeal", {"appeal": 1, "outcome": "declined", "opinion": "No."})
    check_problem(again, 409, "no-such-appeal")
    assert court.table.send(awaited, court.table.letter(awaited)).status_code == 201
    assert any("The ruling is upheld" in s or "the ruling is upheld" in s for s in ruled.json()["ruling"]["sentences"])


LAID = {
    "stark": "orders winterfell march+1, white harbor consolidate, shivering sea support",
    "lannister": "orders lannisport defense, stoney sept march, golden sound raid, port of lannisport support",
    "baratheon": "orders dragonstone support, kingswood defense, shipbreaker bay consolidate",
}


def test_an_appeal_may_hold_up_only_what_depends_on_it(place: Place, http: httpx.Client) -> None:
    """Lannister's march is appealed. Stark marches on; Lannister's next orders wait, and say for what."""
    court = Court(place, http, arbitration={"appeal-stops": "what-depends-on-it"})
    table = court.table
    for house, letter in LAID.items():
        sent = table.send(house, letter)
        assert sent.status_code == 201, sent.text
    assert table.send("lannister", "raven nothing").status_code == 201
    assert table.send("lannister", "march stoney sept: footman -> riverrun").status_code == 201
    stark = table.bearer("stark")["Authorization"].removeprefix("Bearer ")
    filed = court.post("appeal", {"against": 6, "statement": "he may not go there"}, stark)
    told = [sentence for sentence in filed.json()["ruling"]["sentences"] if "leaves in doubt" in sentence]
    assert len(told) == 1 and "Lannister's forces" in told[0] and "who holds Riverrun" in told[0]
    assert "it leaves in doubt: " in table.get("/board").text
    marched = table.send("stark", "march winterfell: knight -> moat cailin")
    assert marched.status_code == 201, marched.text
    for _ in range(9):  # the Westeros phase and the wildlings, which do not ask where Lannister stands
        awaited = table.get("").json()["awaited"][0]
        if awaited["kind"] == "assign-orders":
            break
        owed = table.get("/owed", awaited["player"]).json()["owes"][0]
        assert owed["waits_for"] == [] and table.send(awaited["player"], owed["notation"]["default"]).is_success, owed
    assert {one["kind"] for one in table.get("").json()["awaited"]} == {"assign-orders"}
    for house in ("stark", "baratheon"):
        assert table.get("/owed", house).json()["owes"][0]["waits_for"] == []
        assert table.send(house, table.letter(house)).status_code == 201
    (held,) = table.get("/owed", "lannister").json()["owes"][0]["waits_for"]
    assert held["appeal"] == 1 and "areas[lannister]" in held["names"]
    refused = table.send("lannister", table.letter("lannister"))
    problem = check_problem(refused, 409, "appeal-open")
    assert problem["params"]["appeals"] == [1] and "rests on what is in doubt" in problem["detail"]
    question = table.get("").json()["question"]
    deadline = {"kind": "pass-deadline", "player": "lannister", "question": question}
    check_problem(table.send("organiser", deadline), 409, "appeal-open")
    ruled = court.post("rule-on-appeal", {"appeal": 1, "outcome": "upheld", "opinion": "He may."})
    assert ruled.status_code == 201
    assert table.get("/owed", "lannister").json()["owes"][0]["waits_for"] == []
    assert table.send("lannister", table.letter("lannister")).status_code == 201
    assert court.sound()


def test_corrections_in_what_is_struck_out(court: Court) -> None:
    """The plan lists them; they are made again in their turn, left out, or left to the arbiter, who decides."""
    court.orders()
    assert court.post("correct", {"facts": [POWER], "reason": "missing"}, version=4).status_code == 201
    order = {"to": 2, "reason": "again", "causal": True}
    (planned,) = court.post("rewind/plan", {**order, "causal": False}).json()["corrections"]
    assert (planned["entry"], planned["outcome"], planned["reason"]) == (5, "struck out", "missing")
    made = court.post("rewind/plan", order).json()
    assert made["corrections"] == [{**planned, "outcome": "made again"}] and made["remarks"] == []
    assert planned["stated"] == ["Stark gains 1 Power. [arbiter]"]
    power = court.table.get("/view").json()["position"]["power"]["stark"]
    done = court.post("rewind", order, version=5, headers={"Idempotency-Key": "once"})
    assert done.status_code == 201 and "is made again" in " ".join(done.json()["ruling"]["sentences"])
    again = court.post("rewind", order, version=5, headers={"Idempotency-Key": "once"})
    assert (again.status_code, again.json()["inbox"]) == (200, done.json()["inbox"]), again.text
    assert court.table.get("/view").json()["position"]["power"]["stark"] == power

    assert court.post("rewind", {**order, "without": [5]}, version=6).status_code == 201
    assert court.table.get("/view").json()["position"]["power"]["stark"] == power - 1
    assert court.post("rewind", {**order, "to": 6, "correction": [POWER]}, version=7).status_code == 201
    stated = {**order, "to": 2, "correction": [POWER]}
    planned, other = court.post("rewind/plan", stated).json()["corrections"]
    assert (planned["entry"], planned["outcome"]) == (5, "the arbiter's to decide")
    assert planned["differs"] == ["power[stark]"]
    assert (other["entry"], other["outcome"]) == (8, "made again"), "it found one Power more when it was made"
    assert court.post("rewind", stated, version=8).status_code == 201
    assert "the correction of entry 5 could not be made again" in court.table.get("/board").text
    check_problem(court.post("correct", {"reason": "x", "instead_of": [7]}, version=9), 409, "no-such-correction")
    check_problem(court.post("correct", {"reason": "x"}, version=10), 409, "nothing-stated")
    decided = court.post("correct", {"reason": "once is enough", "instead_of": [5]}, version=11)
    assert decided.status_code == 201, decided.text
    assert "could not be made again" not in court.table.get("/board").text
    assert court.sound()


def test_an_engine_is_amended_only_to_the_one_that_runs(court: Court) -> None:
    for unknown in ("thrones/99", "99"):
        check_problem(court.post("amend", {"engine": unknown, "reason": "x"}), 422, "unknown-engine")
    engine = f"thrones/{court.table.get('').json()['charter']['engine']}"
    assert court.post("amend", {"engine": engine, "reason": "a fix"}).status_code == 201
    told = court.post("amend", {"engine": engine.rpartition("/")[2], "reason": "as the charter writes it"})
    assert told.status_code == 201 and court.table.get("/entries/5").json()["command"]["engine"] == engine


def test_the_operator_may_arbitrate(court: Court) -> None:
    court.orders()
    done = court.post("correct", {"facts": [POWER], "reason": "missing"}, OPERATOR, 4)
    assert done.status_code == 201
    assert court.table.get("/entries/5").json()["command"]["by"] == "operator"


def test_the_organiser_ends_an_appeal_filed_in_bad_faith_and_no_other_way(court: Court) -> None:
    court.orders()
    stark = court.table.bearer("stark")["Authorization"].removeprefix("Bearer ")
    assert court.post("appeal", {"against": 4, "statement": "just because"}, stark).status_code == 201
    organiser = court.table.bearer("organiser")["Authorization"].removeprefix("Bearer ")
    opinion = {"appeal": 1, "outcome": "dismissed", "opinion": "It names nothing."}
    check_problem(court.post("rule-on-appeal", {**opinion, "outcome": "upheld"}, organiser), 403, "not-allowed")
    check_problem(court.post("rule-on-appeal", opinion, stark), 403, "not-allowed")
    assert court.post("rule-on-appeal", opinion, organiser).status_code == 201
    awaited = court.table.get("").json()["awaited"][0]["player"]
    assert court.table.send(awaited, court.table.letter(awaited)).status_code == 201
