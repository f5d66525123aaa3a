"""Failures of ours, told once: the user's program runs on."""

from __future__ import annotations

import logging
from typing import Final

__all__ = ["log_once", "warn_once"]

_logger = logging.getLogger("spanscore")
_logged: Final[set[str]] = set()


def log_once(kind: str, message: str) -> None:
    """Log the exception being handled, once a kind."""
    if kind not in _logged:
        _logged.add(kind)
        _logger.warning("%s (logged once)", message, exc_info=True)


def warn_once(kind: str, message: str, *arguments: object) -> None:
    """Log a warning, once a kind."""
    if kind not in _logged:
        _logged.add(kind)
        _logger.warning(f"{message} (logged once)", *arguments)  # noqa: G004  # the message is ours, not data
