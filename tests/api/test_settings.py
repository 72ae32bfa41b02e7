# ruff: noqa: E501 - tables of URLs
"""Every setting of the table with values that it cannot take, and every place where settings are read."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from api import cli
from events.connecting import BadStoreUrl, check_url
from worker import run
from worker.settings import DEFAULT_RULES, LEVELS, SETTINGS, BadSetting, Settings, check, quotas, setting

ROOT = Path(__file__).parents[2]
CANARY = "hunter2canary"
ANYTHING = {"ROOKERY_DATA", "ROOKERY_DEBUG", "ROOKERY_TIED"}
"""Settings that take any text; the command that uses one says what is wrong with it."""
NO_NUMBERS = (
    "x",
    "-1",
    "1e3",
    "0x10",
    "1_000",
    "٣",
    "nan",
    "inf",
    "+1",
    "1,5",
    "9" * 16,
    "1 2",
    "\x00",
    "1\n2",
    "½",
    "--",
)
OTHERS = {
    "ROOKERY_STORE": (f"http://:{CANARY}@h", CANARY, f"redis://:{CANARY}@h:x", f"rediss://:{CANARY}@h?nonsense=1"),
    "ROOKERY_QUEUE": (f"http://:{CANARY}@h", CANARY, f"redis://:{CANARY}@h:0", f"redis://:{CANARY}#@h"),
    "ROOKERY_STORE_MAY": ("x", "lags,forgets", "LAGS", "1"),
    "ROOKERY_RULES": ("x", "a:b:c", "a.b", ":", "os;system:x", f"{DEFAULT_RULES},"),
    "ROOKERY_LOG": ("verbose", "10", "warning,error", "wärning"),
    "ROOKERY_BACKUP_TO": (
        "xyz",
        CANARY,
        "AGE-SECRET-KEY-1" + CANARY.upper(),
        "age1" + "q" * 58,
        __file__,
        "/nowhere",
        "/",
    ),
    "ROOKERY_METRICS": ("x", "8.8.8.8:9642", "0.0.0.0:9642", "127.0.0.1:x", ":", "http://127.0.0.1:1"),
    "ROOKERY_WORKER_MEMORY_MB": ("x", "-1", "1", "255", "1.5"),
    "ROOKERY_TRUSTED_PROXIES": ("x", "1.2.3", "10.0.0.1/8", "1.2.3.4:80", "localhost", "1.2.3.4 5.6.7.8", "::g"),
}


def bad() -> list[tuple[str, str]]:
    rows = []
    for name, declared in SETTINGS.items():
        if name in ANYTHING:
            continue
        assert name in OTHERS or declared.possible.startswith(("a whole number", "seconds")), (
            f"{name} has no bad values"
        )
        if name in OTHERS:
            values = OTHERS[name]
        else:
            least, most = declared.possible.rpartition("from ")[2].split(" to ")
            values = (*NO_NUMBERS, str(float(most) * 10), *([f"{float(least) / 10:g}"] if float(least) else []))
            if "whole" in declared.possible:
                values = (*values, "1.5", str(int(most) + 1))
        rows += [(name, value) for value in values]
    return rows


@pytest.mark.parametrize("name", [name for name in SETTINGS if name not in ANYTHING])
def test_a_bad_value_is_one_sentence_that_names_the_variable_and_what_is_possible(name: str) -> None:
    for value in [value for declared, value in bad() if declared == name]:
        refused(name, value)


def refused(name: str, value: str) -> None:
    with pytest.raises(BadSetting) as found:
        check({"ROOKERY_STORE": "redis://h", name: value})
    said = str(found.value)
    assert said.startswith(f"{name} ")
    assert said.endswith(".")
    assert not said.endswith("..")
    assert said.isprintable()
    assert len(said) < 400
    if SETTINGS[name].is_secret:
        assert CANARY not in said
        assert value not in said
    else:
        assert repr(value[:80]) in said
        assert SETTINGS[name].possible in said


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in list(os.environ):
        if name.startswith("ROOKERY_"):
            monkeypatch.delenv(name)
    return monkeypatch


@pytest.mark.parametrize("command", [["games"], ["up"], ["worker"], ["doctor"], ["new", "--players", "3"]])
def test_every_command_ends_before_it_does_anything(
    command: list[str], environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {name: value for name, value in bad() if "\x00" not in value}.items():
        with environment.context() as one:
            one.setenv(name, value)
            assert cli.run(command) == 2
        said = capsys.readouterr()
        told = " ".join((said.out + said.err).split())
        assert told.startswith(f"{name} ")
        assert "Traceback" not in told
        assert CANARY not in told


def test_a_worker_ends_before_it_does_anything(
    environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environment.setattr(run, "_stop_on_signals", lambda: None)
    environment.setenv("ROOKERY_STORE", "redis://127.0.0.1:1")
    for name, value in {name: value for name, value in bad() if "\x00" not in value}.items():
        with environment.context() as one:
            one.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                run.main()
        assert ended.value.code == 2
        said = capsys.readouterr()
        assert said.err.startswith(f"{name} ")
        assert said.err.count("\n") == 1
        assert CANARY not in said.err + said.out


@pytest.mark.parametrize("rules", ["nowhere.at.all:RULES", "domain.thrones.ruleset:NOTHING"])
def test_rules_that_cannot_be_imported_end_a_worker_in_a_sentence(rules: str) -> None:
    told = {**os.environ, "ROOKERY_STORE": "redis://127.0.0.1:1", "ROOKERY_RULES": rules}
    done = subprocess.run([sys.executable, "-m", "worker.run"], env=told, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(f"ROOKERY_RULES is '{rules}', a value that cannot be used: ")
    assert "Traceback" not in done.stderr


def test_an_empty_variable_is_one_that_is_not_set_and_spaces_around_a_value_do_not_count() -> None:
    for name in SETTINGS:
        assert setting(name, {name: ""}) == setting(name, {name: "  "}) == setting(name, {})
    assert setting("ROOKERY_CONNECTIONS", {"ROOKERY_CONNECTIONS": " 77 "}) == 77
    assert setting("ROOKERY_LOG", {"ROOKERY_LOG": "Debug"}) in LEVELS
    assert quotas({"ROOKERY_GAME_BYTES": ""}) == quotas({})


def test_every_default_is_possible_and_every_variable_of_the_code_is_in_the_table() -> None:
    check({})
    named = {
        name
        for package in ("api", "worker", "events")
        for source in (ROOT / package).rglob("*.py")
        for name in re.findall(r"ROOKERY_[A-Z_]*[A-Z]", source.read_text(encoding="utf-8"))
    }
    assert named <= SETTINGS.keys()
    assert Settings.from_environment({"ROOKERY_STORE": "redis://h"}).queue_url == "redis://h"
    with pytest.raises(BadSetting, match="ROOKERY_STORE has a value that cannot be used: a worker needs a store"):
        Settings.from_environment({})


BAD_URLS = (
    "", "h", "h:6379", "//h", "://h", "http://h", "REDIS://h", "redis:/h", "redis:h", "redis:///0", "redis://", "redis://:6379",
    "redis://h:0", "redis://h:-1", "redis://h:65536", "redis://h:x", "redis://h:٣", "redis://h: 1", "redis://[::1", "redis://::1]",
    "redis://[1.2.3.4]:1", "redis://a..b", "redis://" + "a" * 70, "redis://h/x", "redis://h/1/2", "redis://h/-1",
    "redis://h?nonsense=1", "rediss://h?nonsense=1", "rediss://h?ssl_cert_reqs=maybe", "rediss://h?ssl_check_hostname=x",
    "rediss://h?ssl_ca_certs=/nowhere.pem", "rediss://h?ssl_keyfile=", "redis://h?ssl_cert_reqs=none", "redis://h?db=x",
    "redis://h?db=1&db=2", "redis://h?socket_timeout=0", "redis://h?health_check_interval=x", "redis://h?protocol=3",
    "redis://:a%@h", "redis://:a%zz@h", "redis://:%ff@h", "redis://:a#b@h", "redis://:a b@h", "redis://h\n", "redis://h\x00",
    "unix://", "unix:///", "unix://h/path", "unix:///s.sock?nonsense=1", "unix:///s.sock?db=-1", "cluster://", "cluster://h/1",
    "cluster://h?db=1", "sentinel://h", "valkey://h", "redis+tls://h",
)  # fmt: skip


@pytest.mark.parametrize("url", BAD_URLS)
def test_a_url_that_names_no_store_is_refused_in_a_sentence_without_its_password(url: str) -> None:
    told = url.replace("@", f"{CANARY}@")
    with pytest.raises(BadStoreUrl) as found:
        check_url(told)
    said = str(found.value)
    assert said.endswith(".")
    assert said.isprintable()
    assert CANARY not in said


GOOD_URLS = (
    "redis://h", "redis://h:6379", "redis://h:6379/", "redis://h/7", "redis://[::1]:6379/0", "redis://[fe80::1%25eth0]", "redis://1.2.3.4",
    "redis://user:pass@h", "redis://:p%40%23%25%2F%3A@h", "redis://h?db=3", "redis://h?client_name=rookery", "rediss://h:6380/0",
    f"rediss://h?ssl_cert_reqs=required&ssl_check_hostname=true&ssl_ca_certs={__file__}", "unix:///run/valkey.sock",
    "unix:///run/a%20b.sock?db=0", "unix://:pass@/run/valkey.sock", "unix:///s?username=a&password=b%26", "cluster://h:6379",
    "cluster://:p@h/0", "redis://bücher.example",
)  # fmt: skip


@pytest.mark.parametrize("url", GOOD_URLS)
def test_a_url_that_names_a_store_is_taken(url: str) -> None:
    check_url(url)
