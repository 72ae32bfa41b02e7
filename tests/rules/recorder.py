"""Which rules are carried while the tests run: by an emitted fact, a raised refusal, or an open decision.

A pytest plugin. It listens in three places of the kernel and remembers, for every identifier, how it was carried and
the first test (by name) that carried it. Under xdist every worker reports to the process that started it.
``pytest --write-rules`` stores the result in tests/rules/coverage.json; any other run of the whole suite checks
that every rule the file claims was carried again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from domain.kernel import ruleset
from domain.kernel.procedure import Collect, Wait
from domain.kernel.refusal import Refusal

FILE = Path(__file__).with_name("coverage.json")
WAYS = ("fact", "refusal", "decision")


class Recorder:
    """What was carried so far: rule to way to the first test."""

    def __init__(self) -> None:
        self.test = ""
        self.carried: dict[str, dict[str, str]] = {}

    def note(self, way: str, rules: Iterable[str], test: str | None = None) -> None:
        name = self.test if test is None else test
        for rule in rules:
            ways = self.carried.setdefault(rule, {})
            if name and (way not in ways or name < ways[way]):
                ways[way] = name

    def merge(self, carried: dict[str, dict[str, str]]) -> None:
        for rule, ways in carried.items():
            for way, test in ways.items():
                self.note(way, (rule,), test)

    def listen(self) -> None:
        """Wrap the places where facts are emitted, refusals made and decisions opened."""
        emit, init, set_, run = ruleset.Game.emit, Refusal.__init__, Refusal.__setattr__, ruleset._run

        def emitting(game: Any, fact: Any, *rules: str) -> None:
            emit(game, fact, *rules)
            self.note("fact", rules_of(game.facts[-1]))

        def refusing(refusal: Any, code: str, rules: Iterable[str] = (), **more: Any) -> None:
            init(refusal, code, rules, **more)
            self.note("refusal", refusal.rules)

        def setting(refusal: Any, name: str, value: Any) -> None:
            set_(refusal, name, value)
            if name == "rules":
                self.note("refusal", value)

        def running(game: Any, frame: Any) -> Any:
            result = run(game, frame)
            # Decisions are shown by the law of their table.
            cite = game.edition.law.cite if hasattr(game, "edition") else tuple
            if isinstance(result, Wait):
                self.note("decision", cite(result.decision.rules))
            elif isinstance(result, Collect):
                for decision in result.decisions:
                    self.note("decision", cite(decision.rules))
            return result

        ruleset.Game.emit = emitting  # type: ignore[method-assign]  # listening in
        Refusal.__init__ = refusing  # type: ignore[method-assign]  # listening in
        Refusal.__setattr__ = setting  # type: ignore[method-assign, assignment]  # listening in
        ruleset._run = running


def rules_of(fact: Any) -> Iterator[str]:
    """The rules a fact carries, those of the lines of its sums included."""
    yield from fact.rules
    for name in ("lines", "swords", "fortifications"):
        lines = getattr(fact, name, ())
        if isinstance(lines, tuple):
            for line in lines:
                yield from line.rules


RECORDER = Recorder()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-rules", action="store_true", help="store the rules that the tests carry")


def pytest_configure(config: pytest.Config) -> None:
    RECORDER.listen()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    RECORDER.test = item.nodeid.split("[")[0]
    try:
        return (yield)
    finally:
        RECORDER.test = ""


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    RECORDER.merge(getattr(node, "workeroutput", {}).get("rules", {}))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["rules"] = RECORDER.carried
        return
    if session.config.getoption("--write-rules"):
        table = {
            rule: {way: RECORDER.carried[rule][way] for way in WAYS if way in RECORDER.carried[rule]}
            for rule in sorted(RECORDER.carried)
        }
        FILE.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    elif exitstatus == 0 and _is_whole(session.config):
        claimed = set(json.loads(FILE.read_text(encoding="utf-8")))
        lost = sorted(claimed - set(RECORDER.carried))
        if lost:
            print(f"\nno longer carried by any test: {', '.join(lost)} (tests/rules/coverage.json)")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _is_whole(config: pytest.Config) -> bool:
    """Whether the whole suite ran, so that what is missing is missing."""
    chosen = config.getoption("keyword") or config.getoption("markexpr") or config.getoption("lf", default=False)
    testpaths = [str(config.rootpath / path) for path in config.getini("testpaths")]
    given = [str((config.invocation_params.dir / argument).resolve()) for argument in config.args]
    return not chosen and given == testpaths
