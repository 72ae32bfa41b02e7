"""Logging: structlog with game, seat, entry and correlation id on every line; JSON when nobody watches.

What a command says is never logged, only its kind: a log is read by people who play.
"""

from __future__ import annotations

import logging
import sys
from typing import Any, TextIO

import structlog
from structlog.tracebacks import ExceptionDictTransformer

_TRACEBACKS = structlog.processors.ExceptionRenderer(ExceptionDictTransformer(show_locals=False))
"""Tracebacks without the values of locals, which may be somebody's secret."""


class _Bridge(logging.Handler):
    """What libraries say through the standard library's logging, as lines like our own."""

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        level = record.levelno if record.levelno in _LEVELS else logging.INFO
        said = {"exc_info": error} if error is not None else {}
        structlog.get_logger().log(level, record.getMessage(), logger=record.name, **said)


_LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL)


def configure(level: str = "info", stream: TextIO | None = None) -> None:
    """Set up structlog for this process: for eyes on a terminal, for programs elsewhere."""
    sink = stream or sys.stderr
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if sink.isatty():
        shared.append(structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback))
    else:
        shared += [_TRACEBACKS, structlog.processors.JSONRenderer()]
    structlog.configure(
        processors=shared,
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(sink),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    root.handlers = [*(one for one in root.handlers if not isinstance(one, _Bridge)), _Bridge()]
    root.setLevel(max(logging.WARNING, logging.getLevelNamesMapping()[level.upper()]))


def logger() -> Any:
    """The logger of the worker."""
    return structlog.get_logger()
