"""The exception tree. Set-up raises these; a running agent never sees one."""

from __future__ import annotations

__all__ = ["ConfigurationError", "EvaluationError", "MissingDependencyError", "OutputDecodeError", "SpanscoreError"]


class SpanscoreError(Exception):
    """Base of every exception that spanscore raises."""


class ConfigurationError(SpanscoreError, ValueError):
    """A setting is wrong; the message says what was given, what is allowed and what to do."""


class MissingDependencyError(SpanscoreError, ImportError):
    """An optional package is needed; the message names the extra and the pip command."""


class EvaluationError(SpanscoreError):
    """An evaluator produced no score. Raise it to give a message that may stand on a span.

    The message becomes the explanation of a score with label ``error``; messages of any other
    exception stay in the log, because they may hold paths or content.
    """


class OutputDecodeError(EvaluationError):
    """The evaluator needs JSON and the output is not, or was cut before it could be read."""
