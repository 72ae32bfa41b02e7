"""Logging: structlog with game, seat, entry and correlation id on every line; JSON when nobody watches.

What a command says is never logged, only its kind: a log is read by people who play.
"""

from __future__ import annotations

import logging
import sys
from typing import Any, TextIO

import structlog


def configure(level: str = "info", stream: TextIO | None = None) -> None:
    """Set up structlog for this process: for eyes on a terminal, for programs elsewhere."""
    sink = stream or sys.stderr
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if sink.isatty():
        shared.append(structlog.dev.ConsoleRenderer())
    else:
        # Tracebacks without the values of locals, which may be somebody's secret.
        shared += [structlog.processors.dict_tracebacks, structlog.processors.JSONRenderer()]
    structlog.configure(
        processors=shared,
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(sink),
        cache_logger_on_first_use=False,
    )


def logger() -> Any:
    """The logger of the worker."""
    return structlog.get_logger()
