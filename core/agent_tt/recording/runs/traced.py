"""The span of OpenTelemetry in which a run begins, where the program traces itself."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from agent_tt.model.facts import RunFacts

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire

__all__ = ["said_of_span"]


def said_of_span() -> dict[str, Wire]:
    """The fact of it, as W3C's Trace Context writes a `traceparent`; empty where there is none.

    Nothing is imported: who traces has loaded it.
    """
    api = sys.modules.get("opentelemetry.trace")
    try:
        span = None if api is None else api.get_current_span().get_span_context()
        if span is None or not span.is_valid:
            return {}
        said = f"00-{span.trace_id:032x}-{span.span_id:016x}-{int(span.trace_flags):02x}"
    except Exception:  # noqa: BLE001  a program may have put something else there; its run is recorded all the same
        return {}
    return RunFacts.traceparent.entry(said)
