"""How every exception is told on the command line: an exit code, a word for programs, a sentence."""

from __future__ import annotations

import traceback

from api.bench import PlanOutOfDate
from api.cli.common import AWAY, BUG, DISAGREES, REFUSED, USAGE, Failure, cited, usage
from api.desk import NoSuchVersion, NotAllowed, NotAMoment, Unsigned
from api.games.thrones.refusals import explain
from api.games.thrones.sentences import NAMES
from api.quota import TooManyForks
from api.running import BadAddress, PortTaken
from api.saving import NotTrusted
from domain.kernel.refusal import Refusal
from domain.thrones.notation import NotationError
from events.backup import BackupChanged, BackupDamaged
from events.bundle import BundleDamaged
from events.connecting import BadStoreUrl
from events.durability import StoreForgets
from events.embedded import EmbeddedError
from events.errors import (
    FileDamaged,
    GameExists,
    GameHeld,
    KeptDamaged,
    KeyConflict,
    OverQuota,
    RecordDamaged,
    RecordError,
    ServerFull,
    SharedSeedClosed,
    SharedSeedExists,
    StoreAway,
    StoreRefuses,
)
from events.heads import HeadsUnusable
from events.layout import LayoutConflict, LayoutNewer, LayoutOlder
from events.losses import NotHeld
from worker.settings import BadSetting


def failure(error: Exception) -> Failure:
    """Any exception as a failure with its exit code."""
    match error:
        case Failure():
            return error
        case NotationError():
            place = {"line": error.line, "column": error.column, "suggestions": list(error.suggestions)}
            text = f"{str(error)[:1].upper()}{str(error)[1:]}"
            return Failure(USAGE, "notation", text if text.endswith(("?", "!", ".")) else f"{text}.", **place)
        case Refusal():
            return refused(error)
        case TooManyForks():
            return Failure(REFUSED, "too-many-forks", str(error), most=error.most, forks=list(error.forks))
        case NotAllowed():
            return Failure(REFUSED, "not-allowed", str(error))
        case NotAMoment():
            return usage(str(error), at=error.at)
        case PlanOutOfDate():
            versions = {"expected": error.expected, "version": error.version}
            return Failure(REFUSED, "plan-out-of-date", f"{error} Nothing was recorded; plan anew.", **versions)
        case Unsigned():
            return Failure(USAGE, "no-key", str(error))
        case OverQuota() | ServerFull():
            return Failure(REFUSED, _word(error), str(error))
        case KeyConflict() | GameExists() | SharedSeedExists() | SharedSeedClosed():
            return Failure(REFUSED, _word(error), str(error))
        case PortTaken() | BadAddress():
            return Failure(USAGE, _word(error), str(error))
        case BadSetting() | BadStoreUrl():
            return usage(str(error))
        case GameHeld():
            return Failure(REFUSED, "game-held", f"{error} `rookery doctor` tells what is missing.", game=error.game)
        case StoreAway() | StoreRefuses() | EmbeddedError() | StoreForgets() | HeadsUnusable():
            return Failure(AWAY, _word(error), str(error))
        case LayoutOlder() | LayoutNewer() | LayoutConflict():
            return Failure(AWAY, _word(error), str(error))
        case BackupDamaged() | BackupChanged():
            return Failure(DISAGREES, _word(error), str(error))
        case NotTrusted():
            return Failure(DISAGREES, "backup-not-trusted", str(error))
        case KeptDamaged():
            return Failure(DISAGREES, "record-damaged", f"The record is damaged. {error}", kept=error.what)
        case RecordDamaged():
            return Failure(DISAGREES, "record-damaged", f"The record is damaged. {_sentence(error)}", entry=error.seq)
        case FileDamaged() | BundleDamaged():
            return Failure(DISAGREES, _word(error), f"The record is damaged. {_sentence(error)}")
        case NotHeld():
            return Failure(REFUSED, "not-held", str(error), game=error.game)
        case RecordError() | NoSuchVersion():
            return Failure(USAGE, _word(error), str(error))
        case UnicodeDecodeError():
            return Failure(USAGE, "not-text", "The file is not text in UTF-8.")
        case OSError():
            name = f"{error.filename}: " if error.filename else ""
            return Failure(USAGE, "file", f"{name}{error.strerror or error}.")
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{frame.filename}:{frame.lineno}"
    return Failure(
        BUG, "bug", f"Rookery made a mistake: {type(error).__name__} at {where}. ROOKERY_DEBUG=1 shows all of it."
    )


def refused(refusal: Refusal) -> Failure:
    """A refusal outside of a game: of a charter, of names."""
    message = explain(refusal.code, refusal.params, NAMES)
    exit_code = USAGE if refusal.unknown else REFUSED
    return Failure(
        exit_code, refusal.code, message + cited(refusal.rules), rules=list(refusal.rules), params=refusal.params
    )


def _sentence(error: Exception) -> str:
    told = str(error)
    return told if told.endswith(".") else f"{told}."


def _word(error: Exception) -> str:
    """GameUnknown as game-unknown."""
    name = type(error).__name__
    return "".join(
        f"-{letter.lower()}" if letter.isupper() and at else letter.lower() for at, letter in enumerate(name)
    )
