"""A span that is current while a tool runs, and that nothing has to detach."""

from __future__ import annotations

from opentelemetry.context import Context, attach, get_current

__all__ = ["Ambient"]


class Ambient:
    """Makes a context the current one, until `leave`; from then on it is as if it had never been.

    Callbacks cannot detach what they attached: the end may be reported in another thread or task, or
    never. So the context object itself takes back what it held before when the run is over, wherever
    it was copied to by then, and no span outlives its run as the current one.
    """

    __slots__ = ("_before", "_context")

    def __init__(self, context: Context) -> None:
        self._before = get_current()
        self._context = Context(context)
        attach(self._context)

    def leave(self) -> None:
        """Take the span back, from any thread; never raises."""
        context, before = self._context, self._before
        if get_current() is context:
            attach(before)
        dict.update(context, before)  # a Context refuses changes, for the sake of those who share it
        for key in context.keys() - before.keys():
            dict.pop(context, key, None)
        self._before = context
