"""Damaged logs out of a good one: what files go through on their way, one kind of damage at a time, from a seed."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from api.games.thrones.logs import names as n
from api.games.thrones.logs.reader import read

Damaged = tuple[str, bytes]
_BEGINS = re.compile(r"\d+ *\t")


def damaged(text: str, seed: int) -> Iterator[Damaged]:
    """Every kind of damage, with its name; whatever is chosen for it comes from the seed."""
    chance = random.Random(seed)
    yield from _cut(text, chance)
    yield from _lines(text, chance)
    yield from _entries(text, chance)
    yield from _figures(text, chance)
    yield from _settings(text, chance)
    yield from _letters(text, chance)


def _parts(text: str) -> tuple[list[str], list[list[str]], list[str]]:
    """The lines before the entries, those of each entry, and those behind."""
    lines = text.split("\n")
    end = next((at for at, line in enumerate(lines) if line.startswith("END LOG")), len(lines))
    begins = [at for at in range(end) if _BEGINS.match(lines[at])]
    if not begins:
        return lines, [], []
    stops = [*begins[1:], end]
    blocks = [lines[at:stop] for at, stop in zip(begins, stops, strict=True)]
    return lines[: begins[0]], blocks, lines[end:]


def _whole(head: list[str], blocks: list[list[str]], tail: list[str]) -> bytes:
    return "\n".join((*head, *(line for block in blocks for line in block), *tail)).encode()


def _cut(text: str, chance: random.Random) -> Iterator[Damaged]:
    raw = text.encode()
    end = raw.index(b"END LOG")
    for share in (1, 4, 7, 10):
        at = chance.randrange(end * (share - 1) // 10, end * share // 10)
        yield f"cut-{share}", raw[:at]
    yield "cut-in-settings", raw[: chance.randrange(end + 20, len(raw) - 80)]
    yield "cut-at-start", raw[chance.randrange(end // 4, end // 2) :]
    yield "empty", b""
    yield "binary", bytes(chance.randrange(256) for _ in range(5000))
    holed = bytearray(raw)
    for _ in range(40):
        holed[chance.randrange(len(holed))] = chance.randrange(256)
    yield "noise", bytes(holed)


def _lines(text: str, chance: random.Random) -> Iterator[Damaged]:
    head, blocks, tail = _parts(text)
    lines = text.split("\n")
    shuffled = lines[:]
    chance.shuffle(shuffled)
    yield "lines-shuffled", "\n".join(shuffled).encode()
    yield "lines-reversed", "\n".join(reversed(lines)).encode()
    for count in (1, 20):
        fewer, more = lines[:], lines[:]
        for _ in range(count):
            fewer.pop(chance.randrange(2, len(fewer) - 30))
            at = chance.randrange(2, len(more) - 30)
            more.insert(at, more[at])
        yield f"lines-lost-{count}", "\n".join(fewer).encode()
        yield f"lines-doubled-{count}", "\n".join(more).encode()
    mixed = blocks[:]
    chance.shuffle(mixed)
    yield "entries-shuffled", _whole(head, mixed, tail)
    for size in (3, 12, 60):
        at = chance.randrange(len(blocks) // 8, max(len(blocks) // 8 + 1, len(blocks) - size))
        yield f"block-lost-{size}", _whole(head, blocks[:at] + blocks[at + size :], tail)
    at = chance.randrange(len(blocks) - 20)
    yield "block-doubled", _whole(head, blocks[: at + 20] + blocks[at:], tail)
    yield "twice", (text + text).encode()
    yield "no-header", _whole([], blocks, tail)
    numberless = [[_BEGINS.sub("\t", block[0], count=1), *block[1:]] for block in blocks]
    yield "no-numbers", _whole(head, numberless, tail)
    yield "no-times", re.sub(r"\t\d{4}-\w{3}-\d\d, \d\d:\d\d", "\t", text).encode()
    yield "no-time-column", re.sub(r"\t\d{4}-\w{3}-\d\d, \d\d:\d\d", "", text).encode()
    renumbered = [
        [re.sub(r"^\d+", str(number), block[0]), *block[1:]]
        for number, block in enumerate(blocks[:at] + blocks[at + 1 :], 1)
    ]
    yield "lost-and-renumbered", _whole(head, renumbered, tail)


def _by_kind(text: str) -> dict[str, list[int]]:
    """Places of entries by kind of record."""
    found: dict[str, list[int]] = {}
    for at, entry in enumerate(read(text).log.entries):
        found.setdefault(type(entry.record).__name__, []).append(at)
    return found


def _entries(text: str, chance: random.Random) -> Iterator[Damaged]:
    head, blocks, tail = _parts(text)
    for kind, places in sorted(_by_kind(text).items()):
        at = chance.choice(places)
        yield f"without-{kind}", _whole(head, blocks[:at] + blocks[at + 1 :], tail)


def _figures(text: str, chance: random.Random) -> Iterator[Damaged]:
    """One figure, unit, area, House, card or order changed in one entry of each kind."""
    head, blocks, tail = _parts(text)
    houses = [house.capitalize() for house in n.HOUSES if house.capitalize() in text]
    areas = [n.word(area) for area in n.AREAS if not area.startswith("port-") and f" {n.word(area)}" in text]
    cards = [n.word(card) for card in n.HOUSE_CARDS if n.word(card) in text]
    swaps = {"number": r"(?<=[ \[(+])\d(?=[\]) ])", "house": "|".join(houses), "area": "|".join(areas),
             "unit": "Footm[ae]n|Knights?|Ships?", "card": "|".join(cards),
             "order": r"(?:March|Support|Raid|Defense|Consolidate Power)(?:\([^)]*\))?(?= Order)"}  # fmt: skip
    others = {"house": houses, "area": areas, "card": cards, "unit": ["Footman", "Knight", "Ship", "Siege Engine"],
              "order": ["March", "Support", "Raid", "Consolidate Power"],
              "number": [*"0123456789"]}  # fmt: skip
    for kind, places in sorted(_by_kind(text).items()):
        for what, pattern in swaps.items():
            if len(others[what]) < 2:
                continue
            able = [at for at in places if re.search(pattern, _said(blocks[at]))]
            if not able:
                continue
            at = chance.choice(able)
            block = "\n".join(blocks[at])
            spots = [one for one in re.finditer(pattern, block) if one.start() >= block.index(_said(blocks[at])[:10])]
            spot = chance.choice(spots)
            new = chance.choice([one for one in others[what] if one != spot[0]])
            changed = block[: spot.start()] + new + block[spot.end() :]
            yield f"other-{what}-{kind}", _whole(head, [*blocks[:at], changed.split("\n"), *blocks[at + 1 :]], tail)


def _said(block: list[str]) -> str:
    """The words of an entry, without its number, player and time."""
    return "\t".join("\n".join(block).split("\t")[4:5])


def _settings(text: str, chance: random.Random) -> Iterator[Damaged]:
    head, blocks, tail = _parts(text)
    yield "no-settings", _whole(head, blocks, ["END LOG"])
    yield "no-end", _whole(head, blocks, [])
    on_off = [at for at, line in enumerate(tail) if line.endswith(("YES", "NO"))]
    for number in range(3):
        at = chance.choice(on_off)
        line = tail[at]
        other = line.removesuffix("YES") + "NO" if line.endswith("YES") else line.removesuffix("NO") + "YES"
        name = re.sub(r"\W+", "-", line.split("\t")[0].strip().lower())
        yield f"setting-other-{name}", _whole(head, blocks, [*tail[:at], other, *tail[at + 1 :]])
        if number == 0:
            yield "setting-both", _whole(head, blocks, [*tail[: at + 1], other, *tail[at + 1 :]])
            yield "setting-lost", _whole(head, blocks, [*tail[:at], *tail[at + 1 :]])
            unclear = line.rsplit("\t", 1)[0] + "\tMAYBE"
            yield "setting-unclear", _whole(head, blocks, [*tail[:at], unclear, *tail[at + 1 :]])
            yield "setting-unknown", _whole(head, blocks, [*tail[:at], "Custom Dragons \tYES", *tail[at:]])


_GERMAN = {"set his orders": "hat Befehle erteilt", "marched out of": "zog aus",
           "lost the battle": "verlor die Schlacht",
           "mustered new units": "hob neue Einheiten aus", "chose": "wählte", "exerted a power of": "bot Macht",
           "has sailed from": "segelte von", "Houses consolidate new power": "Häuser sammeln Macht",
           "got new supplies": "erhielt Vorräte", "raided the": "überfiel"}  # fmt: skip


def _letters(text: str, chance: random.Random) -> Iterator[Damaged]:
    german = text
    for english, word in _GERMAN.items():
        german = german.replace(english, word)
    yield "german", german.encode()
    lines, others = text.split("\n"), german.split("\n")
    some = [other if chance.random() < 0.05 else line for line, other in zip(lines, others, strict=True)]
    yield "german-here-and-there", "\n".join(some).encode()
    yield "utf-16", text.encode("utf-16")
    yield "utf-16-be-bare", text.encode("utf-16-be")
    yield "latin-1", text.replace("player-1", "José-ñ").encode("latin-1")
    yield "crlf", text.replace("\n", "\r\n").encode()
    yield "cr", text.replace("\n", "\r").encode()
    yield "spaces", text.replace("\t", "    ").encode()
    yield "quoted", "".join(f"> {line}\n" for line in lines).encode()
    yield "quoted-twice", "".join(f">> {line}\n" for line in lines).encode()
    html = text.replace("->", "-&gt;").replace("'", "&#39;").replace("\n", "<br>\n")
    yield "html", f"<html><body><pre>{html}</pre></body></html>".encode()
    cells = "\n".join(
        "<tr><td>" + "</td><td>".join(line.split("\t")) + "</td></tr>" if "\t" in line else line + "<br/>"
        for line in lines
    )
    yield "html-table", f"<table>{cells}</table>".encode()
    yield "wrapped", "\n".join(_wrapped(line) for line in lines).encode()
    yield "small-letters", text.lower().encode()
    yield "no-dashes", text.replace("\n- ", "\n").encode()


def _wrapped(line: str) -> str:
    """A line as mail programs break it."""
    if len(line) <= 76 or " " not in line[40:76]:
        return line
    at = line.rindex(" ", 0, 76)
    return f"{line[:at]}\n{line[at + 1 :]}"
