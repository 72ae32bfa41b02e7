"""Commands for whoever runs the server: doctor, accept-loss, backup, restore."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from api import doctor as look
from api import saving
from api.bench import check_length
from api.cli.arbiter import bench
from api.cli.common import (
    AWAY,
    DISAGREES,
    Data,
    Document,
    Failure,
    GameId,
    Options,
    Out,
    command,
    plain,
    usage,
    with_options,
)
from api.cli.place import Place, at_place, place
from api.cli.play import elsewhere
from api.running import running
from api.sharing import adopt
from api.tokens import Caller
from domain.kernel.arbiter import AcceptLoss, ReadSecrets
from domain.kernel.printing import counted
from domain.thrones.language.state import State
from events import codec, heads, losses
from events.backup import Done, Restore
from events.backup import backup as frames
from events.connecting import connect
from events.durability import SETTING
from events.embedded import EmbeddedError
from events.envelope import Submission, submission
from events.errors import GameHeld, RecordDamaged, RecordError, StoreAway, StoreRefuses
from events.journal import Journal
from events.losses import NotHeld
from events.notes import Signer
from events.recipients import BadKey, recipient


@with_options
def doctor(
    out: Out,
    options: Options,
) -> Document:
    """Look at everything this server needs: directory, disk, keys, store, games, workers. Exit code 1: a problem."""
    directory = options.directory_of_store()
    found = list(look.of_process())
    if directory is not None:
        found += look.of_directory(directory)
    if directory is None or options.store or directory.is_dir():
        try:
            # A store that is gone altogether is started empty: then what it held is known by its heads.
            with place(options, may_begin=_was_begun(directory), looks=True) as here:
                found += _of_place(here, directory)
        except (EmbeddedError, StoreAway, StoreRefuses, Failure) as error:
            found.append(look.Check("store", "problem", str(error)))
    out.table(("", "", ""), ((one.level, one.name, one.says) for one in found))
    problems = sum(one.level == "problem" for one in found)
    if problems:
        told = counted(problems, "problem")
        raise Failure(DISAGREES, "problems", f"{told}: see above." if not out.json else told, checks=plain(found))
    out.say("All is well.")
    return {"well": True, "checks": found}


def _was_begun(directory: Path | None) -> bool:
    return directory is not None and (directory / heads.FILE).exists()


def _of_place(here: Place, directory: Path | None) -> list[look.Check]:
    found = list(look.of_store(here.desk.store, os.environ.get(SETTING, "")))
    for game in here.desk.store.games():
        with suppress(RecordError):  # what is damaged is told above
            engine = elsewhere(here.desk.line(game).state)
            if engine:
                said = f"Game {game} is ruled by {engine}, not by the engine here: a worker of that one, or amend."
                found.append(look.Check("engine", "warning", said))
    if directory is not None:
        found += look.of_heads(directory, here.desk.store, here.store_url)
    served = not here.is_ours and (directory is None or running(directory) is not None)
    found += look.of_queue(lambda: connect(here.queue_url, patience_seconds=0.5), is_served=served)
    return found


@with_options
def accept_loss(
    out: Out,
    options: Options,
    game: GameId,
    why: Annotated[str, typer.Option(help="Why the game goes on without it; it is recorded.", show_default=False)],
) -> Document:
    """Go on with a game whose store has lost what was acknowledged. What is missing goes on its record."""
    if not why.strip():
        raise usage("Say why the game goes on without what it lost: --why.")
    check_length("reason", why)
    directory = options.directory()
    with place(options, may_begin=_was_begun(directory)) as here:
        if here.heads is not None:
            here.heads.look()
        loss = losses.held_one(here.desk.store, game)
        if loss is None:
            here.desk.store.record(game)
            raise NotHeld(game)
        entry = _go_on(here, loss, why.strip())
    out.say(loss.sentence)
    out.say("It goes on without; that is on its record." if entry else "Nothing of it is left; it is forgotten here.")
    return {"game": game, "lost": loss.what, "entry": entry, "sentence": loss.sentence}


def _go_on(here: Place, loss: losses.Loss, why: str) -> int | None:
    """Let a held game go on; the entry that says so, or None where nothing is left of the game."""
    store, game = here.desk.store, loss.game
    is_gone = not store.exists(game)
    left = losses.head_of(store, game)
    if here.data is not None:
        known = {"lost": loss.what, "acknowledged": loss.acknowledged, "left": left}
        Journal(here.data).write("accept-loss", game=game, why=why, **known)
    if here.heads is not None:
        if is_gone:
            here.heads.file.forget(here.heads.name, game)
        else:
            here.heads.file.replace(here.heads.name, game, left)
    if is_gone:
        losses.accept(store, loss, None)
        return None
    act = AcceptLoss(
        who="the operator",
        why=why,
        submissions=loss.acknowledged.inbox,
        entries=loss.acknowledged.version,
        digest=loss.acknowledged.digest,
        left_submissions=left.inbox,
        left_entries=left.version,
    )
    receipt = losses.accept(store, loss, submission(act, seat=None, at=here.desk.clock(), cause="system"))
    here.desk.ring(game)
    assert receipt is not None, "a game that is left has an inbox"
    return codec.entry(here.ruling(receipt)).seq


@at_place
def unpark(out: Out, here: Place, game: GameId) -> Document:
    """Let a parked game go on, once what it was parked for is mended. Its ledger is checked first."""
    why = here.desk.store.record(game).parked
    was_parked = here.desk.store.unpark(game)
    if was_parked and here.data is not None:
        Journal(here.data).write("unpark", game=game, error=why.error if why else "", where=why.where if why else "")
    here.desk.ring(game)
    here.settle(game)
    out.say(f"Game {game} goes on." if was_parked else f"Game {game} was not parked.")
    return {"game": game, "was_parked": was_parked}


# Backups


@command
def backup_key(
    out: Out,
    file: Annotated[str, typer.Argument(help="Where to write the private key. Keep it off the server.")],
    data: Data = "",
) -> Document:
    """Make a pair of keys for backups. The private one goes into a file, the public one into the data directory."""
    path = Path(file)
    if os.path.lexists(path):
        raise usage(f"{file} is there already: a key is never overwritten.")
    text, public = saving.make_key()
    saving.write(path, iter([text.encode()]), None)
    directory = Options(data).directory()
    kept = directory.is_dir()
    if kept:
        saving.write(directory / saving.RECIPIENT_FILE, iter([f"{public}\n".encode()]), None)
    out.say(f"The private key is in {path}. Without it no backup can be read: keep it in another place.")
    out.say(f"Backups go to {public}{' from now on' if kept else ' with --to'}.")
    return {"private_key_file": str(path), "public_key": public, "used_by": str(directory) if kept else None}


@with_options
def backup(
    out: Out,
    options: Options,
    file: Annotated[str, typer.Argument(help="Where to write.", show_default=False)],
    to: Annotated[
        str,
        typer.Option(
            envvar="ROOKERY_BACKUP_TO",
            help="The public key to encrypt to, or a file with it.",
            show_default="that of backup-key",
        ),
    ] = "",
    unencrypted: Annotated[bool, typer.Option("--unencrypted", help="Every secret lies open in the file.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if there is one.")] = False,
) -> Document:
    """Back up everything, while play goes on: games, tokens, keys, shared seeds. The server's journal says so."""
    if not force and os.path.lexists(file):
        raise usage(f"{file} is there already. --force overwrites it.", file=file)
    directory = options.directory_of_store()
    known = None if directory is None else directory / saving.RECIPIENT_FILE
    if not to and not unencrypted and known is not None and known.is_file():
        to = str(known)
    if not to and not unencrypted:
        raise usage("A backup holds every secret: make a key with `rookery backup-key`, or say --unencrypted.")
    public = None if unencrypted else _key(lambda: recipient(to))
    games: list[Done] = []
    with place(options) as here:
        if directory is not None:
            Journal(directory).write("backup-began", file=str(Path(file).absolute()))
        signer = Signer.of_directory(directory) if directory is not None else None
        pieces = frames(here.desk.store, saving.files_of(directory) if directory else (), games.append, signer)
        by = signer.verifier if signer is not None else None
        try:
            size, digest = saving.write(Path(file), pieces, public)
        except OSError as error:
            raise Failure(
                AWAY, "not-written", f"The backup was not written, and nothing is left of it: {_why(error)}."
            ) from error
        if directory is not None:
            about = {"file": str(Path(file).absolute()), "games": len(games), "bytes": size, "sha256": digest}
            whose = {"to": None if public is None else str(public), "signed_by": by.fingerprint if by else None}
            Journal(directory).write("backup", **about, **whose)
    damaged = [f"{one.game}: {one.damaged}" for one in games if one.damaged]
    how = "in the clear" if public is None else f"encrypted to {public}"
    out.say(f"{counted(len(games), 'game')}, {counted(size, 'byte')} in {file}, {how}.")
    if by is not None:
        out.say(f"Signed by {by.name}, key {by.fingerprint}. Keep that elsewhere: a new machine asks for it.")
    else:
        out.say("Not signed: the key is in the data directory, which --data names.", style="bold")
    for one in damaged:
        out.say(f"Damaged already, and so in the backup: {one}", style="bold")
    return {
        "file": file,
        "games": {one.game: {"version": one.head.version, "inbox": one.head.inbox} for one in games},
        "bytes": size,
        "sha256": digest,
        "encrypted": public is not None,
        "signed_by": by.fingerprint if by is not None else None,
        "damaged": damaged,
    }


@with_options
def restore(
    out: Out,
    options: Options,
    file: Annotated[str, typer.Argument(help="A backup.", show_default=False)],
    key: Annotated[str, typer.Option(help="The file with the private key.")] = "",
    game: Annotated[str, typer.Option(help="Only this game, into a store that may have others.")] = "",
    name: Annotated[str, typer.Option("--as", help="Another id for it: a copy without tokens.")] = "",
    why: Annotated[str, typer.Option(help="Why a copy under another id is made, which holds every secret.")] = "",
    keep_keys: Annotated[
        bool, typer.Option("--keep-keys", help="This data directory keeps its own signing key and operator's token.")
    ] = False,
    signed_by: Annotated[
        str,
        typer.Option(
            "--signed-by",
            help="Who has to have signed it: a fingerprint, or the line of `rookery key`, or a file with one.",
            show_default="the key of the data directory",
        ),
    ] = "",
    trust_unchecked: Annotated[
        bool,
        typer.Option("--trust-unchecked", help="Take one that is not signed, or by a key that nothing here knows."),
    ] = False,
) -> Document:
    """Put a backup back: everything into an empty store, or one game. It is read and checked as a whole before that."""
    path = Path(file)
    if name and not game:
        raise usage("--as goes with --game: one game gets another id.")
    if name and name != game and not why.strip():
        raise usage("A copy under another id holds every secret of the game: say why with --why, which is recorded.")
    if name == game:
        name = ""
    check_length("reason", why)
    if signed_by and trust_unchecked:
        raise usage("--signed-by checks who has signed, and --trust-unchecked does without: say one of them.")
    signed = _key(lambda: saving.SignedBy(signed_by)) if signed_by else None
    if saving.is_encrypted(path) and not key:
        raise usage(f"{file} is encrypted: name the file with its private key by --key.")
    private = _key(lambda: saving.identity(Path(key))) if saving.is_encrypted(path) else None
    backed_up = saving.Checked(path, private)
    found, digest = backed_up.contents, backed_up.digest
    directory = options.directory_of_store()
    is_known = saving.check_signer(backed_up.signer, signed, directory, trust_unchecked)
    if game and game not in found.games:
        raise usage(f"There is no game {game!r} in {file}; there are: {', '.join(found.games) or 'none'}.")
    if not game and directory is not None:
        other = saving.differing(directory, found.files)
        if other and not keep_keys:
            raise usage(
                f"{directory} has its own {' and '.join(other)}: restore into a new directory, or say --keep-keys."
            )
        saving.put_files(directory, found.files)
    with place(options, may_begin=True) as here:
        if not game:
            others = [one for one in here.desk.store.games() if here.desk.store.restored_from(one) != digest]
            if others:
                some = ", ".join(others[:5])
                raise usage(f"The store is not empty: it has {some}. Restore single games with --game, or elsewhere.")
        untold = _tell_original(here, game, name, why) if name else ""
        said = _read_by_copy(game, why) if name else None
        putting = Restore(here.desk.store, digest, only=game, name=name, said=said)
        backed_up.put(putting)
        lost = _settle(here, putting)
        if directory is not None:
            by = {
                "signed_by": backed_up.signer.fingerprint if backed_up.signer is not None else None,
                "signer_is_known": is_known,
            }
            about = {"file": str(path.absolute()), "sha256": digest, "games": sorted(putting.put_back)}
            Journal(directory).write("restore", **about, **by, game=game, name=name, why=why)
    many = len(putting.put_back) + len(putting.there)
    out.say(f"{counted(many, 'game is', 'games are')} back, as of {found.at}.")
    if not is_known:
        out.say("Who has made this backup was not checked.", style="bold")
    for loss in lost:
        out.say(f"{loss.sentence} The backup is older than that; it is held.", style="bold")
    if untold:
        out.say(untold)
    if name:
        out.say("Give its seats tokens with: rookery token GAME SEAT")
    return {
        "games": sorted([*putting.put_back, *putting.there]),
        "at": found.at,
        "sha256": digest,
        "signer_is_known": is_known,
        "held": [loss.game for loss in lost],
        "damaged": [one.game for one in putting.put_back.values() if one.damaged],
    }


def _key(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except BadKey as error:
        raise usage(str(error)) from error


def _why(error: OSError) -> str:
    return error.strerror or str(error)


def _read_by_copy(game: str, why: str) -> Submission:
    """What stands first on the record of a copy: that its maker may read everything."""
    act = ReadSecrets(who="operator", what=f"a copy of {game}, every secret included", why=why.strip())
    return submission(act, seat=None, cause="system", key=secrets.token_hex(16))


def _tell_original(here: Place, game: str, name: str, why: str) -> str:
    """Where the original is here and still has secrets, its record tells that they are copied.

    A record that is damaged or held takes nothing, and a copy is what helps then: the journal alone tells.
    Returns what to say about that.
    """
    if not here.desk.store.exists(game) or here.desk.store.exists(name):
        return ""
    try:
        here.settle(game)
        state: State = here.desk.line(game).state
        if state.charter.edition and not state.is_disclosed:
            bench(here).write_down(game, Caller("operator"), "a copy under another id, every secret included", why)
    except (RecordDamaged, GameHeld):
        return f"The record of {game} takes no entry now, so the journal alone tells that its secrets were copied."
    return ""


def _settle(here: Place, putting: Restore) -> list[losses.Loss]:
    """Remember what is there now, compare it with what was acknowledged before, and go on."""
    if here.heads is not None:
        here.heads.file.write(here.heads.name, {game: done.head for game, done in putting.put_back.items()})
        found = here.heads.look()
    else:
        losses.release_whole(here.desk.store)
        found = []
    for game in (*putting.put_back, *putting.there):
        here.desk.ring(game)
        here.settle(game)
        if putting.only:
            adopt(here.desk, game)
    return [loss for loss in found if loss.game in putting.put_back or loss.game in putting.there]
