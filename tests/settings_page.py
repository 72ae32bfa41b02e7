"""docs/settings.md, made from the settings themselves.

python -m tests.settings_page     # writes the page anew
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from events import limits
from worker.settings import SETTINGS, Setting

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "settings.md"

HEAD = """\
# Settings

Every setting is a variable of the environment, read at the start; an empty one is one that is not set. A value that
cannot be used ends the start in a sentence, and so does a variable that begins
with ROOKERY_ and is none of these. With systemd they stand in `/etc/rookery/rookery.env` (mode 0600), since
some may hold a password. Options of the same name on the command line come first. This page is made from the code
(`python -m tests.settings_page`), and a test holds it fresh.

| variable | default | takes | what it does |
| --- | --- | --- | --- |
"""


def known() -> set[str]:
    return set(SETTINGS)


def quotas() -> dict[str, str]:
    """What each quota is, as its own sentences say."""
    made = ast.parse(inspect.getsource(limits.Quotas)).body[0]
    assert isinstance(made, ast.ClassDef)
    found = {}
    for field, said in zip(made.body, made.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(said, ast.Expr) and isinstance(said.value, ast.Constant):
            assert isinstance(field.target, ast.Name)
            sentence = str(said.value.value)
            none = "" if "zero" in sentence else " 0: no limit."
            found[f"ROOKERY_{field.target.id.upper()}"] = f"{sentence}{none}"
    return found


def page() -> str:
    return HEAD + "\n".join(_rows()) + "\n"


def _rows() -> Iterator[str]:
    said = quotas()
    for one in sorted(SETTINGS.values(), key=lambda setting: setting.name):
        says = said.get(one.name) or _sentence(one)
        default = f"`{one.default}`" if one.default else "none"
        yield f"| `{one.name}` | {default} | {one.possible} | {says.replace('|', '/')} |"


def _sentence(one: Setting) -> str:
    secret = " It may hold a password, and is told by no message." if one.is_secret else ""
    return f"{one.says[:1].upper()}{one.says[1:]}.{secret}"


def read_anywhere() -> dict[str, str]:
    """Every variable that the program's text names, with a file that does."""
    found = {}
    for package in ("api", "worker", "events", "domain"):
        for file in sorted((ROOT / package).rglob("*.py")):
            for name in re.findall(r"ROOKERY_[A-Z][A-Z_]*[A-Z]", file.read_text(encoding="utf-8")):
                found[name] = str(file.relative_to(ROOT))
    return found


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
