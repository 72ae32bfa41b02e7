"""The outside of a log: bytes into text, text into the title, numbered entries, settings and notes.

Everything that can be wrong with a file is a :class:`~.records.Problem`; what is good is kept.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

import msgspec

from api.games.thrones.logs.dates import entry_date
from api.games.thrones.logs.grammar import begins_entry
from api.games.thrones.logs.records import PHASES, Problem

MOST_BYTES = 1 << 22
MOST_LINES = 50_000
MOST_LETTERS = 1000
MOST_LINES_OF_ENTRY = 50
"""More than any log has. What is longer is read up to here, so that no file keeps a reader for long."""


class Raw(msgspec.Struct, frozen=True):
    """One entry before its words are read. ``line`` is where it begins."""

    line: int
    number: int
    round: int
    phase: str
    player: str
    at: str
    lines: tuple[str, ...]


class Outside(msgspec.Struct):
    """What stands in a log, in its order."""

    game: str = ""
    name: str = ""
    raw: list[Raw] = []
    settings: list[tuple[int, str, str]] = []
    notes: list[str] = []
    created: str = ""
    ended: bool = False
    problems: list[Problem] = []


_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
"""Byte order marks."""


def decode(raw: bytes) -> tuple[str, list[Problem]]:
    """Bytes as text, whatever their encoding. Never fails."""
    problems = []
    if len(raw) > MOST_BYTES:
        problems.append(Problem(0, "too-long", f"{len(raw)} bytes", f"only the first {MOST_BYTES} are read"))
        raw = raw[:MOST_BYTES]
    encoding = _encoding(raw)
    text = raw.decode(encoding, errors="replace")
    if encoding not in ("utf-8", "utf-8-sig"):
        problems.append(Problem(0, "encoding", f"the file is not UTF-8 but {encoding}", "read as that"))
    if "\ufffd" in text:
        problems.append(Problem(0, "encoding", "some bytes are no characters", "they stand as \ufffd"))
    return text, problems


def _encoding(raw: bytes) -> str:
    for bom, encoding in _MARKS:
        if raw.startswith(bom):
            return encoding
    head = raw[:2000]
    if head.count(0) * 4 > len(head):
        return "utf-16-le" if head[1::2].count(0) >= head[::2].count(0) else "utf-16-be"
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        # A file cut off may end in the middle of a character.
        return "utf-8" if error.reason == "unexpected end of data" else "cp1252"
    return "utf-8"


_QUOTES = str.maketrans(
    {"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u00b4": "'", "`": "'", "\u2013": "-", "\u2212": "-"}
)


_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'", "#39": "'", "#039": "'", "nbsp": " "}


def clean(line: str) -> str:
    """One line with plain spaces and apostrophes; tabs stay."""
    line = re.sub(r"&(#?\w+);", lambda match: _ENTITIES.get(match[1], match[0]), line).translate(_QUOTES)
    kept = "".join(
        one if one == "\t" else " " if unicodedata.category(one) == "Zs" else one
        for one in line
        if one == "\t" or unicodedata.category(one) not in ("Cc", "Cf")
    )
    return re.sub(r" +", " ", kept)


_title = re.compile(r"\s*Events of Game\s+(\S+?):\s*\"?(.*?)\"?\s*", re.IGNORECASE)
_columns = re.compile(r"\s*#\s*(?:\t| Turn\b).*")
_entry = re.compile(r"\s*(\d{1,7})\s*\t\s*(\d{1,4})\s*\t([^\t]*)\t([^\t]*)\t(.*)")
_unnumbered = re.compile(rf" *(?:#? *\t)? *(\d{{1,4}}) *\t *({'|'.join(PHASES)}) *\t([^\t]*)\t(.*)")
_setting = re.compile(r"\s*(\S[^\t]*?)\s*\t\s*([^\t]*?)\s*")
_created = re.compile(r"\s*Created\s+(.*?)\s*", re.IGNORECASE)


def _bare(text: str, problems: list[Problem]) -> str:
    """A text without the marks of mail programs and of pages."""
    lines = [line for line in text.split("\n") if line.strip()]
    if sum(line.lstrip().startswith(">") for line in lines) * 2 > len(lines):
        problems.append(Problem(0, "quoted", "lines begin with the marks of a quotation", "read without them"))
        text = re.sub(r"(?m)^[ \t]*(?:>[ ]?)+", "", text)
    if re.search(r"<(?:br|td|tr|pre|div|p)\b[^>]{0,200}>", text, re.IGNORECASE):
        problems.append(Problem(0, "markup", "there are the marks of a page", "read without them"))
        text = re.sub(r"(?i)</t[dh]>\s*<t[dh]\b[^>]{0,200}>", "\t", text)
        text = re.sub(r"(?i)<(?:br|/tr|/p|/div)\b[^>]{0,200}>", "\n", text)
        text = re.sub(r"</?[A-Za-z!][^<>\n]{0,200}>", "", text)
    # Mail programs break lines, also inside the time.
    return re.sub(r"(\d{4}-[A-Za-z]{3}-\d{1,2},)[ ]*\r?\n[ ]*(\d{1,2}:\d\d)", r"\1 \2", text)


def split(text: str) -> Outside:
    """The parts of a log. Entries are in the order of their numbers, each once."""
    out = Outside()
    reader = _Reader(out)
    text = _bare(text, out.problems)
    is_spaced = "\t" not in text and len(text) > 0
    if is_spaced:
        out.problems.append(Problem(0, "no-tabs", "there are no tabs", "columns are told apart by their words"))
    for number, line in enumerate(re.split(r"\r\n|\n|\r|\x85|\u2028|\u2029", text), start=1):
        if number > MOST_LINES:
            out.problems.append(Problem(number, "too-long", f"more than {MOST_LINES} lines", "not read further"))
            break
        if len(line) > MOST_LETTERS:
            reader.problem(number, "line-too-long", f"{len(line)} letters", f"read up to letter {MOST_LETTERS}")
        cleaned = clean(line[:MOST_LETTERS])
        reader.take(number, _with_tabs(cleaned) if is_spaced else cleaned)
    reader.close(cut=True)
    _order(out)
    return out


_spaced_entry = re.compile(rf"\s*(\d+) +(\d+) +({'|'.join(PHASES)})(?: +(.*))?")
_spaced_time = re.compile(r"(.*\S) +(\d{4}-[A-Za-z]{3}-\d{1,2}, \d{1,2}:\d\d)\s*")
_spaced_setting = re.compile(r"\s*(.*\S) +(YES|NO)\s*")


def _with_tabs(line: str) -> str:
    """A line whose tabs have become spaces, with its tabs again. A player's name has one word, or is missing."""
    if match := _spaced_setting.fullmatch(line):
        return "\t".join(match.groups())
    if match := _spaced_time.fullmatch(line):
        line = "\t".join(match.groups())
    if match := _spaced_entry.fullmatch(line):
        text = match[4] or ""
        player, _, rest = text.partition(" ")
        head = text.split("\t")[0]
        if begins_entry(head) or not begins_entry(rest.split("\t")[0]):
            player, rest = "", text
        return "\t".join((match[1], match[2], match[3], player, rest))
    return line


class _Reader:
    """Line by line: before the entries, in them, in the settings behind them."""

    def __init__(self, out: Outside) -> None:
        self.out = out
        self.open: Raw | None = None
        self.part = "title"

    def problem(self, line: int, code: str, what: str, done: str) -> None:
        self.out.problems.append(Problem(line, code, what[:200], done))

    def take(self, number: int, line: str) -> None:
        bare = line.strip()
        if not bare:
            return
        if match := _title.fullmatch(line):
            if self.out.raw or self.out.game:
                self.close(cut=True)
                self.problem(number, "second-title", bare, "read on; an entry that is there already is left out")
            else:
                self.out.game, self.out.name = match[1], match[2]
            self.part = "entries"
        elif match := _entry.fullmatch(line):
            self._begin(number, *match.groups())
        elif match := _unnumbered.fullmatch(line):
            self._begin_unnumbered(number, match)
        elif _columns.fullmatch(line):
            self.part = "entries"
        elif re.fullmatch(r"END LOG\W*", bare, re.IGNORECASE):
            self.close(cut=True)
            self.out.ended = True
            self.part = "settings"
        elif re.fullmatch(r"Game Settings?", bare, re.IGNORECASE):
            self.close(cut=True)
            self.part = "settings"
        elif match := _created.fullmatch(line):
            self.close(cut=True)
            self.out.created = match[1]
        elif self.open is not None:
            self._continue(number, line)
        elif self.part == "settings":
            self._after(number, line)
        else:
            self.problem(number, "stray-line", bare, "left out: it belongs to no entry")

    def _begin_unnumbered(self, number: int, match: re.Match[str]) -> None:
        """An entry that has lost its number takes the one behind the entry before."""
        self.close(cut=True)
        own = self.out.raw[-1].number + 1 if self.out.raw else 1
        if not any(one.code == "no-number" for one in self.out.problems):
            self.problem(number, "no-number", match[4][:120], "entries without a number are counted on")
        self._begin(number, str(own), *match.groups())

    def _begin(self, number: int, own: str, turn: str, phase_words: str, player: str, rest: str) -> None:
        self.close(cut=True)
        self.part = "entries"
        *words, last = rest.split("\t")
        at = entry_date(last) if words else ""
        text = "\t".join(words) if words else last
        if words and not at and last.strip():
            self.problem(number, "no-time", last.strip(), "the entry has no time")
        phase = " ".join(phase_words.split()).upper()
        if phase not in PHASES:
            self.problem(number, "unknown-phase", phase, "kept")
        head = " ".join(text.split())
        self.open = Raw(number, int(own), int(turn), phase, player.strip(), at, (head,))
        if words:
            self.close()

    def _continue(self, number: int, line: str) -> None:
        assert self.open is not None
        *words, last = line.split("\t")
        at = entry_date(last) if words else ""
        if words and not at and last.strip():
            self.problem(number, "no-time", last.strip(), "the entry has no time")
        text = " ".join(("\t".join(words) if words else last).split())
        if len(self.open.lines) == MOST_LINES_OF_ENTRY:
            self.problem(number, "entry-too-long", text, "the entry ends here")
            self.close()
            return
        if text and not re.match(r"\W", text):
            # What goes on begins with a dash or a bracket; anything else was broken off the line before.
            *before, broken = self.open.lines
            self.open = msgspec.structs.replace(self.open, lines=(*before, f"{broken} {text}"), at=at)
        elif text:
            self.open = msgspec.structs.replace(self.open, lines=(*self.open.lines, text), at=at)
        else:
            self.open = msgspec.structs.replace(self.open, at=at)
        if words:
            self.close()

    def _after(self, number: int, line: str) -> None:
        bare = " ".join(line.split())
        match = _setting.fullmatch(line)
        if match:
            self.out.settings.append((number, match[1], match[2]))
        else:
            self.out.notes.append(bare)

    def close(self, *, cut: bool = False) -> None:
        """The entry at hand is complete; with ``cut`` it ended without its time."""
        if self.open is None:
            return
        if cut:
            self.problem(self.open.line, "entry-cut", self.open.lines[0], "kept as far as it goes, without its time")
        self.out.raw.append(self.open)
        self.open = None


def _order(out: Outside) -> None:
    """Entries by number; what is told twice is left out, what is missing is said."""
    kept: dict[int, Raw] = {}
    for raw in out.raw:
        first = kept.setdefault(raw.number, raw)
        if first is raw:
            continue
        if _is_same(first, raw):
            done = "the second one is left out"
            out.problems.append(Problem(raw.line, "entry-twice", f"entry {raw.number} is told twice", done))
        else:
            better = raw if first.at == "" and raw.at else first
            kept[raw.number] = better
            other = first if better is raw else raw
            what = f"two entries have the number {raw.number}; the other one: {other.lines[0][:120]}"
            out.problems.append(Problem(other.line, "number-twice", what, "left out"))
    placed = sorted(kept.values(), key=lambda raw: raw.line)
    for before, after in pairwise(placed):
        if after.number < before.number:
            what = f"entry {after.number} stands behind entry {before.number}"
            out.problems.append(Problem(after.line, "out-of-order", what, "put in the order of the numbers"))
    out.raw = [kept[number] for number in sorted(kept)]
    for start, end in _gaps(out.raw):
        what = f"entry {start} is" if start == end else f"entries {start} to {end} are"
        out.problems.append(Problem(0, "entries-missing", f"{what} missing", "read on without"))
    for before, after in pairwise(out.raw):
        if after.round < before.round:
            what = f"entry {after.number} is of round {after.round}, entry {before.number} of round {before.round}"
            out.problems.append(Problem(after.line, "round-back", what, "kept"))


def _is_same(one: Raw, other: Raw) -> bool:
    return (one.round, one.phase, one.player, one.at, one.lines) == (
        other.round,
        other.phase,
        other.player,
        other.at,
        other.lines,
    )


def _gaps(raw: list[Raw]) -> Iterator[tuple[int, int]]:
    wanted = 1
    for one in raw:
        if one.number > wanted:
            yield wanted, one.number - 1
        wanted = one.number + 1
