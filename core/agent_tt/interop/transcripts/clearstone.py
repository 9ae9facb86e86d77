"""Checkpoints of clearstone (`.ckpt`): a span, those around it, and the state of the agent as a pickle.

A pickle is a program; it is never opened, so the state stays sealed. What it hides is said: how large it is, and the
class that it was made of. So is what clearstone could write of a span's input or output only as a pickle.

Source of the format: github.com/Sancauid/clearstone-sdk, clearstone/debugging/checkpoint.py, serialization/hybrid.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.interop.transcripts.spans import Span, tell_trace
from agent_tt.interop.transcripts.telling import wire
from agent_tt.model import ErrorInfo
from agent_tt.providers.loose import dicts, first_line, mapping, parse, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.transcript import Transcript
    from agent_tt.providers.shapes import Json

__all__ = ["read_clearstone", "span_of"]

_STATE: Final = "agent_state_pickle_b64"
_SHOWN: Final = ("kind", "status", "error_stacktrace", "events", "links", "policy_decisions", "instrumentation_name",
                 "instrumentation_version")  # fmt: skip


def read_clearstone(document: Document) -> Sequence[Transcript] | None:
    """Read a checkpoint of clearstone as a run, its pickle unopened; None where the document has another format."""
    whole = mapping(document.value)
    about, current = mapping(whole.get("metadata")), mapping(whole.get("current_span"))
    if _STATE not in whole or not current or not text(about.get("checkpoint_id")):
        return None
    made_of = text(about.get("agent_class_path")) or "an unknown class"
    size = len(text(whole.get(_STATE))) * 3 // 4
    flaws = [
        f"the state of the agent ({made_of}) is sealed: it is a pickle of some {size:,} bytes, which is never opened"
    ]
    found = [span_of(span, flaws) for span in (*dicts(whole.get("upstream_spans")), current)]
    told = tell_trace(text(about["checkpoint_id"]), {span.id: span for span in found}, "clearstone")
    told.metadata |= {key: wire(value) for key, value in about.items()}
    told.status, told.error = "unknown", None  # it was in the middle of its work
    told.flaws += [(len(told.steps), flaw) for flaw in flaws]
    return [told]


def span_of(span: dict[str, Json], flaws: list[str]) -> Span:
    """A span of clearstone; what of it is sealed is said among the flaws."""
    name, says = text(span.get("name")), dict(mapping(span.get("attributes")))
    for key, shown in (("input_snapshot", "input"), ("output_snapshot", "output")):
        if span.get(key) is not None:
            says[shown] = _opened(span[key], f"the {shown} of {name or 'a span'}", flaws)
    says |= {key: span[key] for key in _SHOWN if span.get(key)}
    error = text(span.get("error_message"))
    failed = error or text(span.get("status")).endswith("ERROR")
    return Span(
        id=text(span.get("span_id")),
        trace=text(span.get("trace_id")),
        parent=text(span.get("parent_span_id")),
        name=name,
        start_us=_micros(span.get("start_time_ns")),
        end_us=_micros(span.get("end_time_ns")),
        says=says,
        error=ErrorInfo("Error", first_line(error)) if failed else None,
    )


def _micros(nanoseconds: Json) -> int | None:
    return nanoseconds // 1000 if isinstance(nanoseconds, int) and 0 < nanoseconds < 1 << 63 else None


def _opened(snapshot: Json, what: str, flaws: list[str]) -> Json:
    """What a snapshot holds as JSON; of anything else what it is."""
    kept = mapping(snapshot)
    if kept.get("captured") is False:
        return {"left_out": kept.get("reason"), "type": kept.get("type")}
    inner = mapping(parse(text(kept.get("data"))))
    if inner.get("__type__") == "json":
        return inner.get("value")
    if inner.get("__type__") == "pickle":
        size = len(text(inner.get("value"))) * 3 // 4
        flaws.append(f"{what} is sealed: it is a pickle of some {size:,} bytes, which is never opened")
        return {"sealed": "pickle", "bytes": size, "python_version": inner.get("python_version")}
    return inner or snapshot
