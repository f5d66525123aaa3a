"""How single keys are compared in revision 2026-08, and what is the same within a tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from math import inf
from typing import Any, Final

from spanscore.errors import ConfigurationError
from spanscore.evaluators.static_json.flat import NonFinite, escaped

__all__ = ["Specs", "check_specs", "near_in_time", "path_of", "text_of", "time_of", "tolerance_of"]

Specs = Mapping[str, Mapping[str, Any]]
"""Top-level key -> how it is compared: ``mode`` and its settings."""
_MODES: Final = ("measure", "set_contained", "set_match", "timestamp")
_SETTINGS: Final = frozenset({"mode", "tolerance_s", "match_on", "n"})
_MAX_TOLERANCE_S: Final = 86_400.0
_TIMES: Final = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d")


def check_specs(metadata: Mapping[str, Any]) -> Specs:
    """Return the specs that ``{"keys": {key: spec}}`` holds; raise ConfigurationError for a bad one."""
    specs = metadata.get("keys") or {}
    if not isinstance(specs, Mapping):
        raise ConfigurationError(
            f"evaluation_metadata['keys'] is a {type(specs).__name__}; give {{key: {{'mode': ...}}}}"
        )
    for key, spec in specs.items():
        if not isinstance(spec, Mapping) or spec.get("mode") not in _MODES or not _SETTINGS.issuperset(spec):
            raise ConfigurationError(
                f"evaluation_metadata['keys'][{key!r}] must be an object with a mode of {', '.join(_MODES)}, "
                "and may have tolerance_s, match_on and n"
            )
        tolerance_s = spec.get("tolerance_s", 1)
        if isinstance(tolerance_s, bool) or not isinstance(tolerance_s, (int, float)) or not 0 < tolerance_s < inf:
            raise ConfigurationError(f"tolerance_s of {key!r} is {tolerance_s!r}; give seconds, more than 0")
    return specs


def path_of(key: str, *, compat: bool) -> str:
    """Return the key path of a top-level key, with compat "" for one that its specification cannot reach."""
    if compat:
        return "" if "." in key or "[" in key else f"answer.{key}"
    return f"answer.{escaped(key)}"


def tolerance_of(spec: Mapping[str, Any]) -> float:
    """Return the tolerance in seconds, at most a day; 0 for none, and for a bad one."""
    given = spec.get("tolerance_s")
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 < given < inf:
        return 0.0
    return float(min(given, _MAX_TOLERANCE_S))


def near_in_time(gold: datetime | None, model: datetime | None, tolerance_s: float) -> bool:
    """Return True if both are known and at most that far apart; never with a tolerance of 0."""
    return bool(tolerance_s and gold and model and abs((model - gold).total_seconds()) <= tolerance_s)


def text_of(value: Any) -> str:
    """Return Python's text form, trimmed and lower-cased."""
    return value if isinstance(value, NonFinite) else str(value).strip().lower()


def time_of(value: Any) -> datetime | None:
    """Return the time that a text in ISO 8601 tells, without a zone; None for anything else."""
    text = value.strip() if isinstance(value, str) else ""
    if len(text) < len("2026-08-01") or not text[:4].isdigit():
        return None
    for form in _TIMES:
        try:
            return datetime.strptime(text, form)  # noqa: DTZ007 - both sides lack a zone
        except ValueError:
            continue
    return None
