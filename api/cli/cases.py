"""``rookery cases``: our own engine or somebody else's tried with the cases."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from api.adjudicators import Adjudicator, Limits, NoAdjudicator, score_cases
from api.cli.common import DISAGREES, Document, Group, Out, command, plain, usage
from api.games.thrones.cases.adjudicator import CaseAdjudicator
from api.games.thrones.cases.cases import Case, CaseError, CaseReport, decode_case, run_case
from api.games.thrones.cases.protocol import Score
from domain.kernel.printing import counted
from domain.kernel.refusal import Refusal

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "cases"
EXAMPLES = {"format": "agot2e-cases-1", "ruleset": "agot1e"}
"""How the head of a file of worked examples began, in either format."""
OUTCOMES = ("passed", "failed", "skipped", "broken")

cases = typer.Typer(
    cls=Group, help="Numbered positions with what must follow, and what must not.", no_args_is_help=True
)


@cases.command("run")
@command
def run_cases(
    out: Out,
    files: Annotated[
        list[Path] | None, typer.Argument(help="Files or directories.", show_default="tests/cases")
    ] = None,
    chapter: Annotated[
        list[str], typer.Option(help="Only cases of this chapter, or of this section of the rules, such as 18.")
    ] = [],  # noqa: B006 - typer copies it
    against: Annotated[
        str, typer.Option(metavar="CMD", help="Put them to another adjudicator, started by this command.")
    ] = "",
    seconds: Annotated[float, typer.Option(help="How long it may take for an answer.", min=0, max=86400)] = 10,
    start_seconds: Annotated[float, typer.Option(help="How long it may take to begin.", min=0, max=86400)] = 30,
    most_bytes: Annotated[int, typer.Option(help="How long one of its lines may be.", min=1)] = 4 << 20,
    give_up: Annotated[int, typer.Option(help="Stop trying after so many breakdowns.", min=1)] = 10,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Also print what was filled in, what agreed, what was skipped.")
    ] = False,
) -> Document:
    """Run cases and print a table; with --against a table by chapter of how another adjudicator rules on them."""
    paths = _case_files(files or [CASES])
    if against:
        limits = Limits(seconds, start_seconds, most_bytes=most_bytes, give_up=give_up)
        return _run_against(out, _split(against), limits, paths, chapter, verbose)
    return _run_own(out, paths, chapter, verbose)


@cases.command("serve")
def serve_cases() -> None:
    """Answer as an adjudicator by the protocol of docs/cases.md, on standard input and output."""
    adjudicator = CaseAdjudicator()
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(adjudicator.answer_line(line) + b"\n")
        sys.stdout.buffer.flush()


# Our own engine


def _run_own(out: Out, paths: list[Path], chapters: list[str], verbose: bool) -> Document:
    reports: list[tuple[str, CaseReport]] = []
    with out.progress("Cases", len(paths)) as progress:
        for number, path in enumerate(paths, start=1):
            reports += [(str(path), report) for report in _run_file(path, chapters)]
            progress(number)
    _must_be_some(reports, chapters)
    failed = [report for _, report in reports if not report.passed]
    out.table(
        ("Case", "", "Title", "Agreed", "Filled in"),
        [
            (one.id, "ok" if one.passed else "FAILED", one.title, len(one.agreed), len(one.completed))
            for _, one in reports
        ],
    )
    if verbose:
        for _, one in reports:
            out.say(f"\n{one.id}  {one.title}", style="bold")
            for note in one.completed:
                out.say(f"  filled in: {note}")
            for note in one.agreed:
                out.say(f"  agreed: {note}")
    for one in failed:
        out.say(f"{one.id}: {one.disagreement}", style="red")
    out.say(f"{len(reports) - len(failed)} of {counted(len(reports), 'case')} passed.")
    document = {
        "cases": [{"file": file, **plain(report)} for file, report in reports],
        "passed": len(reports) - len(failed),
        "failed": len(failed),
    }
    return document, DISAGREES if failed else 0


def _case_files(given: Iterable[Path]) -> list[Path]:
    found: list[Path] = []
    for path in given:
        if path.is_dir():
            found += sorted(path.rglob("*.json"))
        elif path.is_file():
            found.append(path)
        else:
            raise usage(f"There is no file or directory {path}.")
    if not found:
        raise usage("There are no cases there.")
    return found


def _run_file(path: Path, chapters: list[str]) -> Iterator[CaseReport]:
    """The case of a file. What cannot be tried fails, in its own row."""
    try:
        case = _decode(path.read_bytes())
        if _is_of(case, chapters):
            yield run_case(case)
    except OSError as error:
        yield _untried(path, error.strerror or str(error))
    except (CaseError, RecursionError) as error:
        yield _untried(path, str(error))
    except (Refusal, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        yield _untried(path, f"{type(error).__name__} {error}")


def _decode(raw: bytes) -> Case:
    """A case. A file of worked examples, in a format that was read once, is refused with a hint at what to do."""
    try:
        document = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CaseError(str(error)) from error
    if isinstance(document, dict) and EXAMPLES.items() & {(key, str(value)) for key, value in document.items()}:
        raise CaseError("worked examples are read as cases only, one file each, in the format of docs/cases.md")
    return decode_case(raw)


def _untried(path: Path, why: str) -> CaseReport:
    return CaseReport(
        id=path.stem, title="", passed=False, agreed=(), completed=(), disagreement=f"{path} cannot be tried: {why}."
    )


def _is_of(case: Case, chapters: list[str]) -> bool:
    """Whether a case belongs to one of the chapters: by their words, or by sections that theirs is part of."""
    return not chapters or any(
        case.chapter == one or case.section == one or case.section.startswith(f"{one}.") for one in chapters
    )


def _must_be_some(found: Iterable[object], chapters: list[str]) -> None:
    if not list(found):
        raise usage(f"There are no cases of {' or '.join(chapters)} there.")


# Another adjudicator


def _run_against(
    out: Out, command: list[str], limits: Limits, paths: list[Path], chapters: list[str], verbose: bool
) -> Document:
    put = sorted(
        (case for case in _decoded(paths) if _is_of(case, chapters)),
        key=lambda case: (not case.number, case.number, case.id),
    )
    _must_be_some(put, chapters)
    scores: list[Score] = []
    with Adjudicator(command, limits) as adjudicator, out.progress("Cases", len(put)) as progress:
        try:
            for score in score_cases(adjudicator, put):
                scores.append(score)
                progress(len(scores))
        except NoAdjudicator as error:
            raise usage(f"{shlex.join(command)} {error}.") from error
        other = adjudicator.introduction
    assert other is not None
    rows = _by_chapter(scores)
    many = len({score.edition for score in scores}) > 1
    out.say(f"{other.name or 'The adjudicator'} {other.version}".strip(), style="bold")
    out.table(
        ("Section", "Chapter", *map(str.capitalize, OUTCOMES), "Rules cited"),
        [
            (
                f"{row['edition']} {row['section']}" if many else row["section"],
                row["chapter"],
                *(row[outcome] or "-" for outcome in OUTCOMES),
                f"{row['cited']} of {row['rules']}" if row["rules"] else "-",
            )
            for row in rows
        ],
    )
    for score in scores:
        _tell(out, score, verbose)
    total = {outcome: sum(row[outcome] for row in rows) for outcome in OUTCOMES}
    out.say(f"{counted(len(scores), 'case')}: {', '.join(f'{number} {outcome}' for outcome, number in total.items())}.")
    document = {"adjudicator": plain(other), "cases": plain(scores), "chapters": rows, **total}
    return document, DISAGREES if total["failed"] or total["broken"] else 0


def _split(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise usage(f"The command cannot be read: {error}.") from error
    if not words:
        raise usage("The command is empty.")
    return words


def _decoded(paths: Iterable[Path]) -> Iterator[Case]:
    for path in paths:
        raw = path.read_bytes()
        try:
            yield _decode(raw)
        except (CaseError, RecursionError) as error:
            raise usage(f"{path} is no case: {error}.") from error


def _by_chapter(scores: Iterable[Score]) -> list[dict[str, Any]]:
    """A row for every chapter of an edition, in the order of its sections."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for score in scores:
        row = rows.setdefault(
            (score.edition, score.chapter),
            {"edition": score.edition, "section": score.section, "chapter": score.chapter}
            | dict.fromkeys((*OUTCOMES, "rules", "cited"), 0),
        )
        row[score.outcome] += 1
        row["rules"] += len(score.rules)
        row["cited"] += len(score.cited)
    return sorted(rows.values(), key=lambda row: (row["edition"], _numbers(row["section"]), row["chapter"]))


def _numbers(section: str) -> list[int]:
    return [int(part) if part.isdecimal() else 0 for part in section.split(".")]


def _tell(out: Out, score: Score, verbose: bool) -> None:
    name = f"{score.number or '-'}  {score.id}"
    if score.outcome in ("failed", "broken"):
        out.say(f"{name} {score.outcome}: {score.reason}", style="red")
        for difference in score.differences[1:] if verbose else ():
            out.say(f"    {difference}", style="red")
    elif verbose:
        reason = f": {score.reason}" if score.reason else ""
        out.say(f"{name} {score.outcome}{reason} ({score.compared} compared, {score.unseen} not to be seen)")
