"""Commands that keep running: up and worker."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer

from api.cli.common import AWAY, Data, Document, Failure, Options, Out, QueueUrl, StoreUrl, command, usage
from api.cli.play import told
from api.cli.read import ending, picture
from api.example import EXAMPLE, Example, NotAnExample, Player, read
from api.games.thrones.sentences import Prose
from api.quota import MOST_FORKS
from api.serve import Server, limits
from api.tokens import PUBLIC
from domain.kernel.printing import counted
from events.durability import ask, check
from events.embedded import data_directory, find
from events.envelope import Receipt, Stored
from events.store import Store
from worker import log, run
from worker.figures import SETTING as METRICS
from worker.settings import Settings, judges, quotas, setting

PORT = 8642
LAST_RULINGS = 5


class Interrupted(Exception):
    """The server is told to stop while the example is being played."""


@command
def up(
    out: Out,
    data: Data = "",
    store: StoreUrl = "",
    queue: QueueUrl = "",
    port: Annotated[int, typer.Option(help="The port of HTTP; 0 takes any free one.", min=0, max=65535)] = PORT,
    host: Annotated[str, typer.Option(help="The address of HTTP.")] = "127.0.0.1",
    workers: Annotated[int, typer.Option(help="Worker processes; 0: they run elsewhere.", min=0, max=64)] = 1,
    name: Annotated[
        str,
        typer.Option(help="The name it signs by; it stays with its key.", show_default="rookery"),
    ] = "",
    forks: Annotated[
        int, typer.Option(envvar="ROOKERY_FORKS", help="How many forks of a game a seat may make.", min=0)
    ] = MOST_FORKS,
    example: Annotated[bool, typer.Option("--example", help="Play the example game first.")] = False,
) -> Document:
    """Start everything on this machine: stores (unless one is named), workers, HTTP. Ctrl-C ends it."""
    level = setting("ROOKERY_LOG") or "warning"
    log.configure(level)
    recorded = _recorded() if example else None
    directory = Options(data).directory()
    if queue and not store:
        raise usage("ROOKERY_QUEUE and --queue go with a store by URL: name that, too, by ROOKERY_STORE or --store.")
    server = Server(
        directory,
        host=host,
        port=port,
        workers=workers,
        log=level,
        name=name,
        forks=forks,
        quotas=quotas(),
        store_url=store,
        queue_url=queue,
        limits=limits(),
        metrics=setting(METRICS),
    )
    with _told_to_stop() as stop:
        server.start()
        try:
            _greet(out, server)
            if recorded is None:
                out.say("Ctrl-C ends it; games go on with the next start.")
                server.watch(stop)
            else:
                _with_example(out, server, recorded, stop)
        finally:
            with suppress(OSError):  # the terminal may be gone
                out.say("Stopping: no more requests, rulings under way are finished.")
            server.stop()
            with suppress(OSError):
                out.say("Stopped. Nothing is lost; `rookery up` goes on from here.")


def _greet(out: Out, server: Server) -> None:
    if server.adopted:
        names = " and ".join(server.adopted)
        out.say(f"An earlier server was killed and left its {names} running: taken over, nothing is lost.")
    out.say(f"Rookery listens at {server.url}", style="bold")
    if server.metrics_url:
        out.say(f"Figures for Prometheus: {server.metrics_url}")
    out.say(f"Data: {server.directory}")
    if server.is_external:
        out.say(
            "The record is in the store that ROOKERY_STORE or --store names; no embedded server runs. Here: the key,"
        )
        out.say(f"the operator's token, {counted(len(server.workers), 'worker')} and HTTP.")
    if server.limits.connections < server.wished.connections:
        out.say(
            f"This process may have few open files:"
            f" it takes {counted(server.limits.connections, 'connection')} at once."
        )
    out.say(f"Operator's token: {server.operator_file}")
    if server.promise is not None:
        out.say(server.promise.sentence, style="" if server.promise.keeps == "durable" else "bold")
    for loss in server.lost:
        out.say(f"{loss.sentence} It is held: `rookery doctor` tells more.", style="bold")
    out.document(
        {
            "url": server.url,
            "metrics": server.metrics_url,
            "data": str(server.directory),
            "operator_token_file": str(server.operator_file),
            "adopted": server.adopted,
            "promise": server.promise,
            "held": [loss.game for loss in server.lost],
            "pids": server.pids(),
        }
    )


@contextmanager
def _told_to_stop() -> Iterator[threading.Event]:
    """An event that Ctrl-C and its like set; a second one changes nothing, the end has begun."""
    stop = threading.Event()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, lambda *_: stop.set()) for number in numbers]
    try:
        yield stop
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _recorded() -> Example:
    try:
        return read(EXAMPLE.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise usage(f"The example game is not there: {EXAMPLE} is missing.") from None
    except NotAnExample as error:
        raise usage(f"{EXAMPLE}: {error}") from error


def _with_example(out: Out, server: Server, recorded: Example, stop: threading.Event) -> None:
    """Play in a thread of its own, so that the server is looked after meanwhile."""
    problems: list[Exception] = []

    def play() -> None:
        try:
            _play(out, server, recorded, stop)
        except Interrupted:
            out.say("The example game stops here; with the next start it goes on.")
        except Exception as error:  # noqa: BLE001 - told below, by the main thread
            problems.append(error)
            stop.set()

    thread = threading.Thread(target=play, name="example", daemon=True)
    thread.start()
    server.watch(stop)
    thread.join(10)
    if problems:
        raise problems[0]


def _play(out: Out, server: Server, recorded: Example, stop: threading.Event) -> None:
    desk = server.desk()

    def ruling(receipt: Receipt) -> Stored:
        while not stop.is_set():
            found = desk.ruling(receipt.game, receipt.inbox, 1.0)
            if found is not None:
                return found
        raise Interrupted

    player = Player(desk, recorded, ruling)
    player.begin()
    if player.sent and player.sent < player.total:
        out.say(f"The example game is here up to answer {player.sent}: it goes on.")
    shown = 0
    with out.progress("The example game", player.total) as progress:
        for sent in player.play():
            if stop.is_set():
                raise Interrupted
            if sent.is_refused:
                raise Failure(
                    AWAY,
                    "example-refused",
                    f"Answer {player.sent} of the example game was refused: {sent.reason} Has somebody else played?",
                )
            progress(player.sent)
            current = player.state.round
            if current != shown and not out.errors.is_terminal:
                out.say(f"Round {current} …")
            shown = current
    _show_end(out, player)
    out.say(f"\nRookery goes on listening at {server.url}; Ctrl-C ends it.", style="bold")


def _show_end(out: Out, player: Player) -> None:
    """Who wins, the standings, the last rulings with their rules, and the board."""
    desk, game, state = player.desk, player.example.game, player.state
    prose = Prose(desk.edition(state))
    version, seen = desk.view(game, PUBLIC)
    out.say(f"\nThe last rulings of {game}", style="bold")
    for entry in desk.log(game, PUBLIC, max(0, version - LAST_RULINGS)):
        out.say(f"  entry {entry.seq}")
        for sentence in told(entry):
            out.say(f"    {sentence}")
    out.say()
    out.say(picture(seen))
    out.say()
    out.say(ending(prose, state), style="bold")
    out.document(
        {
            "game": game,
            "version": version,
            "winner": state.winner,
            "drawn": list(state.drawn or ()),
            "ranking": state.ranking,
        }
    )


def worker(
    data: Data = "",
    store: StoreUrl = "",
    queue: QueueUrl = "",
    bells: Annotated[int, typer.Option(envvar="ROOKERY_BELLS", help="Sessions that may work side by side.")] = 1,
) -> None:
    """Run a worker process for a store by URL, or for the server of a data directory."""
    urls = (store, queue or store) if store else find(Path(data) if data else data_directory())
    if urls is None:
        raise Failure(AWAY, "no-server", "No server runs in the data directory. Start one, or name a store by --store.")
    for url in urls:
        Store.connect(url).ping()
    own = {} if store and not data else {"ROOKERY_DATA": str(Path(data) if data else data_directory())}
    told = {"ROOKERY_STORE": urls[0], "ROOKERY_QUEUE": urls[1], "ROOKERY_BELLS": str(bells)}
    settings = Settings.from_environment({**os.environ, **own, **told})
    judges(settings.rules)
    check(ask(Store.connect(urls[0])), settings.store_may)
    os.environ.update(settings.environment())
    run.main()
