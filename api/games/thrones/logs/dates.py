"""The two forms in which a log writes the time, and ISO form to the minute, in which we keep it.

The site writes the time of one zone and does not say which in an entry.
"""

from __future__ import annotations

import re

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_entry = re.compile(r"(\d{4})-([A-Za-z]{3})[a-z]*-(\d{1,2}),? +(\d{1,2}):(\d\d)(?::\d\d)?")
_attack = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2}),? +(\d{1,2}):(\d\d)(?::\d\d)?")
_iso = re.compile(r"(\d{4})-(\d\d)-(\d\d)[T,]? ?(\d\d):(\d\d)(?::\d\d)?")


def entry_date(text: str) -> str:
    """``2021-Nov-24, 19:52`` in ISO form; empty for what is no time."""
    match = _entry.fullmatch(text.strip())
    if match and match[2].title() in MONTHS:
        return _checked(match[1], MONTHS.index(match[2].title()) + 1, match[3], match[4], match[5])
    match = _iso.fullmatch(text.strip()) or _attack.fullmatch(text.strip())
    return _checked(*match.groups()) if match else ""


def attack_date(text: str) -> str:
    """``2021/11/24, 19:52`` in ISO form; empty for what is no time."""
    match = _attack.fullmatch(text.strip())
    return _checked(*match.groups()) if match else entry_date(text)


def entry_date_word(at: str) -> str:
    year, month, day, time = _parts(at)
    return f"{year}-{MONTHS[int(month) - 1]}-{day}, {time}"


def attack_date_word(at: str) -> str:
    year, month, day, time = _parts(at)
    return f"{year}/{month}/{day}, {time}"


def _parts(at: str) -> tuple[str, str, str, str]:
    return at[:4], at[5:7], at[8:10], at[11:16]


def _checked(year: str, month: str | int, day: str, hour: str, minute: str) -> str:
    """The moment in ISO form; empty where there is none of that name."""
    y, m, d, h, n = int(year), int(month), int(day), int(hour), int(minute)
    is_moment = y > 0 and 1 <= m <= 12 and 1 <= d <= _days(y, m) and h < 24 and n < 60
    return f"{y:04d}-{m:02d}-{d:02d}T{h:02d}:{n:02d}" if is_moment else ""


def _days(year: int, month: int) -> int:
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 28 + is_leap if month == 2 else 30 if month in (4, 6, 9, 11) else 31
