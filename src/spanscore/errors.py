"""The exception tree. Set-up raises these; a running agent never sees one."""

from __future__ import annotations

from typing import Any

__all__ = [
    "ConfigurationError",
    "EvaluationError",
    "JudgeBudgetError",
    "JudgeCallError",
    "JudgeError",
    "JudgeResponseError",
    "JudgeTimeoutError",
    "MissingDependencyError",
    "OutputDecodeError",
    "SpanscoreError",
]


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


class JudgeError(EvaluationError):
    """A judge gave no verdict; the kinds below say why. It is a state, never a score.

    Attributes:
        usage: what its calls used all the same (`Usage`); None if there was no call.
    """

    usage: Any = None


class JudgeBudgetError(JudgeError):
    """A call might have passed a hard budget, so it was not made."""


class JudgeCallError(JudgeError):
    """The endpoint was not reached, or answered with an error.

    Attributes:
        status: HTTP status; None if there was no answer.
        code: the endpoint's own word for the error, such as ``insufficient_quota``.
        param: the part of the request that it does not take, such as ``response_format``.
        retry_after_s: how long it asks to be left alone, in seconds.
        transient: whether the same call may succeed later.
        sent: whether the endpoint may have got the request, and charge for it.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        param: str | None = None,
        retry_after_s: float | None = None,
        transient: bool = False,
        sent: bool = True,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param
        self.retry_after_s = retry_after_s
        self.transient = transient
        self.sent = sent


class JudgeTimeoutError(JudgeError):
    """There was no verdict before the deadline."""


class JudgeResponseError(JudgeError):
    """The judge answered, and the answer is no valid verdict."""
