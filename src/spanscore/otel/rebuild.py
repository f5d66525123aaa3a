"""A finished span with more attributes and events, or without content.

The SDK freezes a span before any processor hears of its end, and the constructor of ReadableSpan
is not promised to users. So it is called here and nowhere else; a contract test runs this module
on the oldest and the newest SDK that we support.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.trace import Status

from spanscore import attributes as names

__all__ = ["rebuild", "without_content"]

_MESSAGE_EVENTS: Final = (
    "gen_ai.content.",
    "gen_ai.system.",
    "gen_ai.user.",
    "gen_ai.assistant.",
    "gen_ai.tool.",
    "gen_ai.choice",
)


class _RebuiltSpan(ReadableSpan):
    """Keeps the counts of what the original had dropped; plain containers would report none."""

    def __init__(
        self, original: ReadableSpan, attributes: Mapping[str, Any], events: Sequence[Event], status: Status
    ) -> None:
        super().__init__(
            name=original.name,
            context=original.context,
            parent=original.parent,
            resource=original.resource,
            attributes=attributes,
            events=events,
            links=original.links,
            kind=original.kind,
            status=status,
            start_time=original.start_time,
            end_time=original.end_time,
            instrumentation_scope=original.instrumentation_scope,
        )
        self._dropped = (original.dropped_attributes, original.dropped_events, original.dropped_links)

    @property
    def dropped_attributes(self) -> int:
        return self._dropped[0]

    @property
    def dropped_events(self) -> int:
        return self._dropped[1]

    @property
    def dropped_links(self) -> int:
        return self._dropped[2]


def rebuild(
    span: ReadableSpan, added: Mapping[str, Any], events: Sequence[tuple[str, Mapping[str, Any]]] = ()
) -> ReadableSpan:
    """Return ``span`` with the attributes ``added`` and ``events`` (name, attributes) at its end time.

    Span limits do not apply to what is added, so nothing of the user's is evicted.
    """
    attributes = _copied(span.attributes)
    attributes.update(added)
    new = [Event(name, attributes=found, timestamp=span.end_time) for name, found in events]
    return _RebuiltSpan(span, attributes, (*span.events, *new), span.status)


def without_content(span: ReadableSpan) -> ReadableSpan:
    """Return ``span`` without any attribute, event field or status text that may hold content."""
    events = tuple(_stripped_event(event) for event in span.events)
    return _RebuiltSpan(span, _stripped(span.attributes or {}), events, Status(span.status.status_code))


def _copied(found: Mapping[str, Any] | None) -> dict[str, Any]:
    copy = getattr(found, "copy", None)  # ten times faster than item by item
    copied = copy() if copy is not None else None
    return copied if type(copied) is dict else dict(found or {})


def _stripped(found: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in found.items() if not names.is_content(key)}


def _stripped_event(event: Event) -> Event:
    kept = {} if event.name.startswith(_MESSAGE_EVENTS) else _stripped(event.attributes or {})
    return Event(event.name, attributes=kept, timestamp=event.timestamp)
