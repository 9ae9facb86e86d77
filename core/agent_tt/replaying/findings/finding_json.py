"""What a replay found as JSON, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_tt.model import Call
from agent_tt.replaying.divergence import ChangedPart, Finding, Near

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.replaying.findings.notes import Note

__all__ = ["finding_from", "finding_shape", "note_shapes"]


def note_shapes(notes: Sequence[Note]) -> list[Wire]:
    """Give notes as JSON."""
    return [{"kind": note.kind, "text": note.text, "count": note.count} for note in notes]


def finding_shape(finding: Finding) -> dict[str, Wire]:
    """Give a finding as JSON."""
    return {
        "kind": finding.kind,
        "message": finding.message,
        "hint": finding.hint,
        "step": finding.step,
        "call": finding.call,
        "lane": finding.lane,
        "lane_seq": finding.lane_seq,
        "call_kind": finding.call_kind,
        "name": finding.name,
        "file": finding.site.get("file"),
        "line": finding.site.get("line"),
        "asked": finding.asked,
        "recorded": finding.recorded,
        "changes": _changes(finding.changes),
        "nearest": [_near_shape(near) for near in finding.nearest],
    }


def finding_from(shape: dict[str, Any]) -> Finding:
    """Read what `finding_shape` gave."""
    fields = dict(shape)
    site = {key: fields.pop(key) for key in ("file", "line")}
    fields["site"] = {key: value for key, value in site.items() if value is not None}
    fields["changes"] = _changed_parts(shape["changes"])
    fields["nearest"] = tuple(_near(near) for near in shape["nearest"])
    return Finding(**fields)


def _changed_parts(shapes: list[dict[str, Any]]) -> tuple[ChangedPart, ...]:
    from agent_tt.comparing.values.words import Segment

    return tuple(
        ChangedPart(item["path"], item["old"], item["new"], tuple(Segment(kind, text) for kind, text in item["words"]))
        for item in shapes
    )


def _near(shape: dict[str, Any]) -> Near:
    call = Call(
        step=shape["step"],
        number=shape["call"],
        kind=shape["kind"],
        name=shape["name"],
        status=shape["status"],
        lane=shape["lane"],
        args=shape["args"],
    )
    return Near(call, shape["likeness"], _changed_parts(shape["changes"]))


def _changes(changes: Sequence[ChangedPart]) -> list[Wire]:
    if not changes:
        return []
    from agent_tt.replaying.findings.question_likeness import shown_words

    return [
        {
            "path": change.path,
            "old": change.old,
            "new": change.new,
            "words": [[segment.kind, segment.text] for segment in shown_words(change.words)],
        }
        for change in changes
    ]


def _near_shape(near: Near) -> dict[str, Wire]:
    return {**_call_shape(near.call), "likeness": round(near.likeness, 3), "changes": _changes(near.changes)}


def _call_shape(call: Call) -> dict[str, Wire]:
    return {
        "step": call.step,
        "call": call.number,
        "lane": call.lane,
        "kind": call.kind,
        "name": call.name,
        "status": call.status,
        "args": call.args,
    }
