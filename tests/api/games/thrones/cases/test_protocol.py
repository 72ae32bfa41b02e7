"""What is asked of other adjudicators and how it is compared, without any process."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, get_args

import msgspec
import pytest

from api.games.thrones.cases import protocol
from api.games.thrones.cases.adjudicator import CaseAdjudicator
from api.games.thrones.cases.cases import Asked, Case, CaseError, Excluded, Expect, Refused, decode_case, run_case
from api.games.thrones.cases.positions import Partial, changes_from, complete
from api.games.thrones.cases.protocol import (
    AnyReply,
    AnyRequest,
    Broken,
    Greet,
    Introduction,
    Mistaken,
    Put,
    Ruled,
    Score,
    Skipped,
    introduced,
    put,
    spelled_out,
)
from tests.contents import PAGE, files, suite

CASES = {case.id: case for case in suite()}
Answerer = Callable[[AnyRequest], AnyReply]


def ours() -> tuple[Introduction, Answerer]:
    answer = CaseAdjudicator().answer
    return introduced(answer(Greet(id=0))), answer


def altered(change: Callable[[AnyRequest, Ruled], AnyReply]) -> Answerer:
    """Our adjudicator with its rulings changed on the way out."""
    _, answer = ours()

    def altering(request: AnyRequest) -> AnyReply:
        reply = answer(request)
        return change(request, reply) if isinstance(reply, Ruled) else reply

    return altering


def score(case: Case, other: Introduction, answer: Answerer) -> Score:
    putting = put(case, other)
    try:
        request = next(putting)
        while True:
            request = putting.send(answer(request))
    except StopIteration as done:
        found: Score = done.value
        return found


def always(reply: AnyReply) -> Answerer:
    return lambda request: reply


def with_power(request: AnyRequest, reply: Ruled) -> Ruled:
    """A House too rich, everywhere."""
    if reply.position is None:
        return reply
    power = {house: number + 1 for house, number in reply.position["power"].items()}
    step_over = None if reply.step_over is None else {**reply.step_over, "power": power}
    return msgspec.structs.replace(reply, position={**reply.position, "power": power}, step_over=step_over)


def test_a_wrong_adjudicator_fails_exactly_where_it_is_wrong() -> None:
    other, _ = ours()
    cases = [case for case in CASES.values() if case.chapter in ("raid", "raven", "consolidate", "power", "siege")]
    failed = {case.id for case in cases if score(case, other, altered(with_power)).outcome == "failed"}
    assert failed == {case.id for case in cases if expects_power(case)} != set()


def expects_power(case: Case) -> bool:
    return any("power" in expect.position for expect in (case.begin, *(step.expect for step in case.steps)))


def test_what_differs_is_told_with_the_wrong_outcome_that_was_found() -> None:
    def keeps_the_marker(request: AnyRequest, reply: Ruled) -> Ruled:
        position = None if reply.position is None else {**reply.position, "used": []}
        return msgspec.structs.replace(reply, position=position, step_over=None)

    found = score(CASES["C123"], ours()[0], altered(keeps_the_marker))
    assert found.outcome == "failed"
    assert found.reason == "step 1: position used = ['valyrian-steel-blade']: found []"

    wrong = msgspec.structs.replace(CASES["C123"], steps=tuple(_only_asked(step) for step in CASES["C123"].steps))
    found = score(wrong, ours()[0], altered(keeps_the_marker))
    assert found.reason == "step 2: the excluded outcome holds: the Blade comes to Tyrell unused"


def _only_asked(step: Any) -> Any:
    return msgspec.structs.replace(step, expect=Expect(asked=step.expect.asked))


def test_refusals_are_compared_as_verdicts_and_rules_are_counted_apart() -> None:
    other, answer = ours()
    whole = score(CASES["C131a"], other, answer)
    assert (whole.outcome, whole.rules) == ("passed", whole.cited)

    def silent(request: AnyRequest, reply: Ruled) -> Ruled:
        return msgspec.structs.replace(reply, rules=(), reason="no")

    found = score(CASES["C131a"], other, altered(silent))
    assert (found.outcome, found.cited) == ("passed", ())
    assert set(found.rules) == set(whole.rules) != set()
    unruled = msgspec.structs.replace(other, speaks=("decisions", "trials"))
    assert score(CASES["C131a"], unruled, answer).rules == ()

    def lenient(request: AnyRequest, reply: Ruled) -> Ruled:
        return msgspec.structs.replace(reply, verdict="accepted", position={})

    assert score(CASES["C131a"], other, altered(lenient)).reason.endswith(": refused: accepted")


def test_open_decisions_and_trials_are_compared_where_it_speaks_of_them() -> None:
    other, answer = ours()

    def lost(request: AnyRequest, reply: Ruled) -> Ruled:
        return msgspec.structs.replace(reply, open=())

    case = CASES["C147"]
    assert "not asked lannister influence-tie" in score(case, other, altered(lost)).reason

    def forbids(request: AnyRequest, reply: Ruled) -> Ruled:
        return msgspec.structs.replace(reply, verdict="refused") if isinstance(request, protocol.Try) else reply

    assert "legal: lannister: tie" in score(case, other, altered(forbids)).reason
    mute = msgspec.structs.replace(other, speaks=())
    found = score(case, mute, altered(lambda request, reply: forbids(request, lost(request, reply))))
    assert found.outcome == "passed"
    assert found.unseen > score(case, other, answer).unseen


def test_a_case_about_nothing_that_it_reports_is_skipped() -> None:
    other, answer = ours()
    plain = msgspec.structs.replace(other, facts=(), speaks=())
    found = score(CASES["C032"], plain, answer)
    assert (found.outcome, found.compared) == ("skipped", 0)
    totals = msgspec.structs.replace(plain, facts=("StrengthCounted", "CombatDecided"))
    assert score(CASES["C032"], totals, answer).outcome == "passed"


def test_sums_may_come_without_lines() -> None:
    def bare(request: AnyRequest, reply: Ruled) -> Ruled:
        facts = [{key: value for key, value in fact.items() if key != "lines"} for fact in reply.facts]
        return msgspec.structs.replace(reply, facts=tuple(facts))

    assert score(CASES["C032"], ours()[0], altered(bare)).outcome == "passed"

    def wrong(request: AnyRequest, reply: Ruled) -> Ruled:
        counted = [{**fact, "total": 99} if "total" in fact else fact for fact in bare(request, reply).facts]
        return msgspec.structs.replace(reply, facts=tuple(counted))

    assert score(CASES["C032"], ours()[0], altered(wrong)).outcome == "failed"


def test_without_the_position_at_the_end_of_a_step_what_has_changed_since_is_not_compared() -> None:
    other, _ = ours()

    def late(request: AnyRequest, reply: Ruled) -> Ruled:
        return msgspec.structs.replace(reply, step_over=None)

    unseen = 0
    for case in CASES.values():
        if case.chapter in ("raven", "consolidate", "routed"):
            found = score(case, other, altered(late))
            assert found.outcome == "passed", found
            unseen += found.unseen
    assert unseen


def test_editions_and_switches_that_it_does_not_play_are_skipped() -> None:
    other, answer = ours()
    none = msgspec.structs.replace(other, editions={"another": {}})
    assert score(CASES["C032"], none, answer).reason == "it does not play second-edition"
    printed = msgspec.structs.replace(other, editions={"second-edition": {}})
    assert score(CASES["C124a"], printed, answer).reason == "it does not play tides-of-battle = on"
    first = msgspec.structs.replace(other, editions={"first-edition": {"house-cards": ("second",)}})
    assert score(CASES["C159a"], first, answer).reason == "it does not play victory = six"
    assert score(CASES["C152a"], first, answer).outcome == "passed"
    assert score(CASES["C159b"], first, answer).outcome == "passed"
    assert score(CASES["C005a"], printed, answer).outcome == "passed"


def test_a_case_is_played_by_the_preset_that_it_names_and_what_it_changes() -> None:
    other, answer = ours()
    case = CASES["C159b"]
    position = msgspec.structs.replace(case.position, tables={"/areas/0/power": 2})
    own = msgspec.structs.replace(case, position=position)
    assert score(own, other, answer).outcome == "passed"
    plain = msgspec.structs.replace(other, speaks=("decisions",))
    assert score(own, plain, answer).reason == "it does not play by tables of a case's own"
    # Four Houses on the first board have seven areas to win with as well, and no Greyjoy among them.
    mixed = msgspec.structs.replace(case, edition="mixed-four")
    assert run_case(mixed).passed
    found = score(mixed, other, answer)
    assert (found.outcome, found.edition) == ("passed", "mixed-four")
    asked = spelled_out(mixed, complete(mixed.position, "mixed-four"))[0]
    assert asked["neutral"]["ironmans-bay"]


def test_what_is_read_of_a_position_is_ours_alone() -> None:
    other, answer = ours()
    found = score(CASES["supply-limit-three"], other, answer)
    assert (found.outcome, found.unseen) == ("skipped", 5)
    assert found.reason == "it reports nothing that this case is about"


def test_a_legal_answer_that_is_refused_fails_a_worked_example() -> None:
    def forbids(request: AnyRequest, reply: Ruled) -> Ruled:
        return msgspec.structs.replace(reply, verdict="refused") if isinstance(request, protocol.Try) else reply

    other, answer = ours()
    assert score(CASES["1e-more-march-refused"], other, answer).outcome == "passed"
    assert "legal: " in score(CASES["1e-more-march-refused"], other, altered(forbids)).reason


def test_it_may_skip_at_any_time_and_a_mistake_of_its_own_breaks_the_case() -> None:
    other, _ = ours()
    for reply in (Skipped(id=1, reason="ports"), Skipped(id=1)):
        found = score(CASES["C005a"], other, always(reply))
        assert (found.outcome, found.reason) == ("skipped", reply.reason or "it says so")
    for wrong in (Mistaken(id=1, reason="division by zero"), other):
        with pytest.raises(Broken):
            score(CASES["C005a"], other, always(wrong))


@pytest.mark.parametrize(
    "position",
    [{}, {"units": 5, "power": [1]}, {"units": {"seagard": None}}, {"hands": {"stark": [1, "a", None]}, "units": {}}],
)
def test_positions_of_any_shape_fail_and_do_no_harm(position: dict[str, Any]) -> None:
    def shaped(request: AnyRequest, reply: Ruled) -> Ruled:
        return msgspec.structs.replace(reply, position=position, step_over=None, facts=({"fact": 1}, {}))

    for name in ("C005b", "C133a", "C025c"):
        assert score(CASES[name], ours()[0], altered(shaped)).outcome == "failed"


def test_a_case_that_our_own_engine_cannot_follow_is_an_error() -> None:
    other, answer = ours()
    case = CASES["C123"]
    wrong = msgspec.structs.replace(
        case, steps=(msgspec.structs.replace(case.steps[0], do=("greyjoy: march pyke: nothing",) * 2),)
    )
    with pytest.raises(CaseError, match="C123"):
        score(wrong, other, answer)


def test_wrong_outcomes_that_only_rules_tell_apart_are_nobodys_fault() -> None:
    case = CASES["C131a"]
    rules = Expect(refused=Refused(("2E-RAID-1",)), asked=(Asked("greyjoy", "assign-orders"),))
    told = msgspec.structs.replace(case, excludes=(Excluded("by another rule", 1, rules),))
    assert score(told, *ours()).outcome == "passed"


def test_positions_are_sent_so_that_nothing_is_left_to_complete() -> None:
    for case in CASES.values():
        whole = complete(case.position, case.edition)
        position, draws = spelled_out(case, whole)
        said = {**position, **draws, "houses": whole.state.houses, **changes_from(whole.state.charter)}
        if case.set_up:
            assert not position
            continue
        again = complete(msgspec.convert(said, Partial, from_attributes=True), case.edition)
        assert (again.state, again.hidden) == (whole.state, whole.hidden), case.id


def test_another_version_of_the_protocol_is_refused() -> None:
    adjudicator = CaseAdjudicator()
    for unknown in ("cases/2", ""):
        line = json.dumps({"type": "hello", "id": 5, "protocol": unknown}).encode()
        reply = msgspec.json.decode(adjudicator.answer_line(line), type=AnyReply)
        assert reply == Mistaken(id=5, reason=f"unknown protocol {unknown}; known is cases/1")
    assert isinstance(adjudicator.answer(Greet(id=6)), Introduction)


def test_what_is_no_request_is_answered_with_an_error() -> None:
    adjudicator = CaseAdjudicator()
    for line in (
        b"",
        b"{",
        b"\xff",
        b'"\xff"',
        b"[" * 100_000,
        b"[1]",
        b'{"type":"sing","id":7}',
        b'{"type":"answer"}',
    ):
        reply = msgspec.json.decode(adjudicator.answer_line(line), type=AnyReply)
        assert isinstance(reply, Mistaken)
        assert reply.id == (7 if b"sing" in line else 0)
    assert adjudicator.answer(protocol.Pass(id=3, house="stark")) == Mistaken(id=3, reason="no case has begun")
    unknown = Put(
        id=4, number=0, case="", title="", chapter="", charter={"edition": "x"}, set_up=False, position={}, draws={}
    )
    assert isinstance(adjudicator.answer(unknown), Skipped)
    strange = msgspec.structs.replace(unknown, charter={"edition": "second-edition"}, position={"weather": "fine"})
    assert isinstance(adjudicator.answer(strange), Skipped)
    other = msgspec.structs.replace(unknown, charter={"edition": "second-edition", "weather": "fine"})
    assert adjudicator.answer(other) == Skipped(id=4, reason="a charter with other weather")


def test_our_adjudicator_tries_without_changing_anything() -> None:
    _, answer = ours()
    case = CASES["C147"]
    requests: list[AnyRequest] = []

    def recording(request: AnyRequest) -> AnyReply:
        requests.append(request)
        return answer(request)

    assert score(case, ours()[0], recording).outcome == "passed"
    tried = next(one for one in requests if isinstance(one, protocol.Try))
    adjudicator = CaseAdjudicator()
    for request in requests[: requests.index(tried)]:
        adjudicator.answer(request)
    before = adjudicator.state
    assert before is not None
    reply = adjudicator.answer(tried)
    assert isinstance(reply, Ruled)
    assert (reply.verdict, reply.position) == ("accepted", None)
    assert adjudicator.state == before
    assert isinstance(adjudicator.answer(protocol.Look(id=9, house="frey")), Mistaken)


def test_the_page_names_every_message_with_every_field() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    for message in (*get_args(AnyRequest), *get_args(AnyReply)):
        tag = message.__struct_config__.tag
        named = [row for row in rows if row.startswith(f"| `{tag}` |")]
        assert any(all(f"`{field}`" in row for field in message.__struct_fields__) for row in named), tag
    listed = "\n".join(rows)
    assert all(f"`{field}`" in listed for field in protocol.FIELDS)


def test_a_case_expects_no_field_that_the_page_does_not_name() -> None:
    for path in files():
        case = decode_case(path.read_bytes())
        for expect in (case.begin, *(step.expect for step in case.steps)):
            assert set(expect.position) <= set(protocol.FIELDS), case.id
