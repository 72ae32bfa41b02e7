"""The examples of docs/http.md, run in their order against a real server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.app import GROUPS
from api.openapi import operations
from events.embedded import Embedded
from tests.api.serving import OPERATOR, Place, ruling, serving, store_of

PAGE = Path(__file__).parents[2] / "docs" / "http.md"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with Embedded(tmp_path) as embedded, ruling(embedded) as bell, serving(store_of(embedded), bell) as running:
        yield running


def blocks() -> list[tuple[str, dict[str, str], str]]:
    """First line, headers and body of every example."""
    found = []
    for block in re.findall(r"```http\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        head, _, body = block.partition("\n\n")
        first, *headers = head.strip().splitlines()
        found.append((first, dict(line.split(": ", 1) for line in headers), body.strip()))
    return found


def check_part(told: Any, shown: Any, where: str) -> None:
    """What is shown is there; a page shows a part only. A list is shown in order, perhaps its beginning."""
    if shown == "…":
        assert told, where
    elif isinstance(shown, dict):
        for name, value in shown.items():
            assert name in told, f"{where}.{name}"
            check_part(told[name], value, f"{where}.{name}")
    elif isinstance(shown, list):
        for index, value in enumerate(shown):
            check_part(told[index], value, f"{where}[{index}]")
    else:
        assert told == shown, where


def asked(http: httpx.Client, request: tuple[str, dict[str, str], str], known: dict[str, str]) -> httpx.Response:
    first, headers, body = request
    method, path = first.split()
    sent = {name: re.sub(r"\$([A-Z]+)", lambda found: known[found[1]], value) for name, value in headers.items()}
    if method == "POST":
        sent.setdefault("Content-Type", "application/json")
    with http.stream(method, path, headers=sent, content=body.encode() or None) as answer:
        if not answer.headers["content-type"].startswith("text/event-stream"):
            answer.read()
            return answer
        lines = answer.iter_lines()
        event = next(line for line in lines if line.startswith("id: "))
        return httpx.Response(answer.status_code, headers=answer.headers, text=f"{event}\n{next(lines)}\n{next(lines)}")


def test_every_example_of_the_page_comes_out_as_shown(place: Place) -> None:
    known = {"OPERATOR": OPERATOR}
    examples = blocks()
    assert len(examples) >= 44
    with httpx.Client(base_url=place.url, timeout=60) as http:
        for request, shown in zip(examples[::2], examples[1::2], strict=True):
            first, headers, body = shown
            answer = asked(http, request, known)
            assert answer.status_code == int(first.split()[1]), (request, answer.text)
            for name, value in headers.items():
                assert answer.headers[name] == value, (request, name)
            if body.startswith("{"):
                check_part(answer.json(), json.loads(body), request[0])
            else:
                pattern = re.escape(body).replace("…", ".*")
                assert re.match(pattern, answer.text), answer.text
            if request[0] == "POST /v1/games":
                told = answer.json()
                known |= {seat.upper(): token for seat, token in told["tokens"].items()}
                known["ORGANISER"] = told["organiser"]
            named = re.fullmatch(r"POST \S+/arbiters/(\w+)/token", request[0])
            if named is not None:
                known[named[1].upper()] = answer.json()["token"]


def test_every_act_of_a_dispute_is_shown_with_its_body() -> None:
    shown = {first.split()[1].rpartition("/")[2] for first, _, body in blocks() if first.startswith("POST") and body}
    acts = {path for path, method in operations(GROUPS) if method == "post" and "/arbiters/" not in path}
    wanted = ("appeal", "rewind", "plan", "correct", "rule-on-appeal", "amend")
    assert set(wanted) <= shown and {one.rpartition("/")[2] for one in acts} >= set(wanted)


def test_the_page_lists_every_route() -> None:
    page = PAGE.read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(GET|POST) ([^`?]+)", page, re.MULTILINE))
    assert listed == {(method.upper(), path) for path, method in operations(GROUPS)}
