"""What remembers verdicts: VerdictCache, on disk, and Cassette, for CI."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from spanscore.errors import ConfigurationError, JudgeError
from spanscore.json_text import parse, serialise

if TYPE_CHECKING:
    import sqlite3

__all__ = ["Cassette", "VerdictCache", "VerdictStore"]


class VerdictStore(Protocol):
    """Remembers verdicts; called on threads that may wait."""

    def fetch(self, key: str, repeat: int) -> Mapping[str, Any] | None:
        """Return what was kept under a key, or None."""
        ...

    def keep(self, key: str, repeat: int, verdict: Mapping[str, Any]) -> None:
        """Keep a verdict, a JSON object; failures are never given."""
        ...


@dataclass(slots=True, kw_only=True, eq=False)
class VerdictCache:
    """Verdicts in one SQLite file, for as long as it exists.

    A verdict is found again under the same rubric, model, parameters and rendered input. Failures
    are not kept, and a repeat is neither kept nor served: it would hide the judge's noise. The file
    holds justifications, which quote content. Several processes may share it.

    Args:
        path: the file; it is made where there is none.

    Raises:
        ConfigurationError: the file cannot be opened, or is none of ours.
    """

    path: str | PathLike[str]
    _connection: sqlite3.Connection = field(init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        import sqlite3

        try:
            self._connection = sqlite3.connect(self.path, timeout=10, check_same_thread=False, isolation_level=None)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.execute("CREATE TABLE IF NOT EXISTS verdicts (key TEXT PRIMARY KEY, verdict TEXT) STRICT")
        except sqlite3.Error as error:
            raise ConfigurationError(f"the cache of verdicts {self.path} cannot be opened: {error}") from error

    def fetch(self, key: str, repeat: int) -> Mapping[str, Any] | None:
        """Return the verdict under a key, or None; always None for a repeat."""
        if repeat:
            return None
        with self._lock:
            row = self._connection.execute("SELECT verdict FROM verdicts WHERE key = ?", (key,)).fetchone()
        return None if row is None else parse(row[0].encode())

    def keep(self, key: str, repeat: int, verdict: Mapping[str, Any]) -> None:
        """Keep a verdict, unless it is a repeat."""
        if not repeat:
            with self._lock:
                self._connection.execute(
                    "INSERT OR REPLACE INTO verdicts VALUES (?, ?)", (key, serialise(verdict).decode())
                )

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()


@dataclass(slots=True, kw_only=True, eq=False)
class Cassette:
    """Verdicts in a file of JSON lines, to be committed and played in CI: no model is called.

    Unlike a cache it keeps repeats, each for itself. The file holds justifications.

    Args:
        path: the file.
        record: ask the model for what is not there, and add it. Otherwise that is the error `JudgeError`.

    Raises:
        ConfigurationError: the file is not there to be played, or is no cassette.
    """

    path: str | PathLike[str]
    record: bool = False
    _verdicts: dict[tuple[str, int], Mapping[str, Any]] = field(default_factory=dict, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        file = Path(self.path)
        if self.record and not file.exists():
            return
        try:
            for line in file.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                self._verdicts[entry["key"], entry["repeat"]] = entry["verdict"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigurationError(
                f"the cassette {file} cannot be read ({type(error).__name__}); make one with record=True"
            ) from error

    def fetch(self, key: str, repeat: int) -> Mapping[str, Any] | None:
        """Return the verdict, or None if it is to be recorded.

        Raises:
            JudgeError: it is not there, and nothing is recorded.
        """
        found = self._verdicts.get((key, repeat))
        if found is None and not self.record:
            raise JudgeError("the verdict is not on the cassette; record it again with record=True")
        return found

    def keep(self, key: str, repeat: int, verdict: Mapping[str, Any]) -> None:
        """Add a verdict to the file."""
        with self._lock:
            if (key, repeat) in self._verdicts:
                return
            self._verdicts[key, repeat] = verdict
            with Path(self.path).open("ab") as file:
                file.write(serialise({"key": key, "repeat": repeat, "verdict": verdict}) + b"\n")
